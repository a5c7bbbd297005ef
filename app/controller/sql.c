/* SPDX-License-Identifier: BSD-3-Clause */

#include "sql.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "rp_base.h"
#include "rp_log.h"

#define RP_LOG_COMPONENT "store"

#define BUSY_TIMEOUT_MS 5000
#define WHY_MAX         256

/* "WHERE true" keeps the parser from taking ON for a join. */
static const char *const text[SQL_N] = {
	[SQL_BEGIN] = "BEGIN IMMEDIATE",
	[SQL_COMMIT] = "COMMIT",
	[SQL_ROLLBACK] = "ROLLBACK",
	[SQL_AGENT_PUT] =
		"INSERT INTO agents (agent_id, boot_id, old_boots, set_seq, hostname, agent_ip,"
		" tor_id, version, last_seen_ms) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)"
		" ON CONFLICT (agent_id) DO UPDATE SET boot_id = excluded.boot_id,"
		" old_boots = excluded.old_boots, set_seq = excluded.set_seq,"
		" hostname = excluded.hostname, agent_ip = excluded.agent_ip,"
		" tor_id = excluded.tor_id, version = excluded.version,"
		" last_seen_ms = excluded.last_seen_ms"
		" WHERE agents.boot_id <> excluded.boot_id OR agents.set_seq <= excluded.set_seq",
	[SQL_AGENT_DELETE] = "DELETE FROM agents WHERE agent_id = ?1",
	[SQL_AGENT_TOUCH] =
		"UPDATE agents SET last_seen_ms = (SELECT json_extract(value, '$[1]')"
		" FROM json_each(?1) WHERE json_extract(value, '$[0]') = agents.agent_id)"
		" WHERE agent_id IN (SELECT json_extract(value, '$[0]') FROM json_each(?1))",
	[SQL_RNIC_PUT] =
		"INSERT INTO rnics (gid, agent_id, position, qpn, qkey, generation, device, driver,"
		" tor_id, rail, hw_stamps, up, speed_gbps)"
		" SELECT json_extract(value, '$[0]'), ?1, key, json_extract(value, '$[1]'),"
		" json_extract(value, '$[2]'), json_extract(value, '$[3]'),"
		" json_extract(value, '$[4]'), json_extract(value, '$[5]'),"
		" json_extract(value, '$[6]'), json_extract(value, '$[7]'),"
		" json_extract(value, '$[8]'), json_extract(value, '$[9]'),"
		" json_extract(value, '$[10]') FROM json_each(?2) WHERE true"
		" ON CONFLICT (gid) DO UPDATE SET agent_id = excluded.agent_id,"
		" position = excluded.position, qpn = excluded.qpn, qkey = excluded.qkey,"
		" generation = excluded.generation, device = excluded.device,"
		" driver = excluded.driver, tor_id = excluded.tor_id, rail = excluded.rail,"
		" hw_stamps = excluded.hw_stamps, up = excluded.up,"
		" speed_gbps = excluded.speed_gbps",
	[SQL_RNIC_DELETE] = "DELETE FROM rnics WHERE agent_id = ?1",
	[SQL_LEDGER_PUT] =
		"INSERT INTO report_ledger (agent_id, boot_id, report_seq, part, received_ms)"
		" VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT DO NOTHING",
	[SQL_ROLLUP_GET] = "SELECT row FROM path_rollup_1m WHERE minute_ms = ?1 AND source_gid = ?2"
			   " AND target_gid = ?3 AND type = ?4 AND stamps = ?5",
	[SQL_ROLLUP_PUT] =
		"INSERT INTO path_rollup_1m (minute_ms, source_gid, target_gid, type, stamps, row)"
		" SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]'),"
		" json_extract(value, '$[2]'), json_extract(value, '$[3]'),"
		" json_extract(value, '$[4]'), json_extract(value, '$[5]')"
		" FROM json_each(?1) WHERE true ON CONFLICT (minute_ms, source_gid, target_gid,"
		" type, stamps) DO UPDATE SET row = excluded.row",
	[SQL_LEDGER_EXPIRE] = "DELETE FROM report_ledger WHERE received_ms < ?1",
	[SQL_ROLLUP_EXPIRE] = "DELETE FROM path_rollup_1m WHERE minute_ms < ?1",
	[SQL_AGENT_LIST] =
		"SELECT agent_id, boot_id, old_boots, set_seq, hostname, agent_ip, tor_id, version,"
		" last_seen_ms FROM agents",
	[SQL_RNIC_LIST] =
		"SELECT gid, qpn, qkey, generation, device, driver, tor_id, rail, hw_stamps, up,"
		" speed_gbps FROM rnics WHERE agent_id = ?1 ORDER BY position",
	[SQL_ROLLUP_LIST] =
		"SELECT minute_ms, source_gid, target_gid, type, stamps, row FROM path_rollup_1m"
		" WHERE minute_ms >= ?1 ORDER BY minute_ms",
};

/* Step i takes the schema from version i to i + 1. */
static const char *const migration[SQL_SCHEMA_VERSION][5] = {
	{
		"CREATE TABLE agents (agent_id TEXT NOT NULL PRIMARY KEY, boot_id TEXT NOT NULL,"
		" old_boots TEXT NOT NULL, set_seq INTEGER NOT NULL, hostname TEXT NOT NULL,"
		" agent_ip TEXT NOT NULL, tor_id TEXT NOT NULL, version TEXT NOT NULL,"
		" last_seen_ms INTEGER NOT NULL) STRICT, WITHOUT ROWID",
		"CREATE TABLE rnics (gid TEXT NOT NULL PRIMARY KEY, agent_id TEXT NOT NULL,"
		" position INTEGER NOT NULL, qpn INTEGER NOT NULL, qkey INTEGER NOT NULL,"
		" generation INTEGER NOT NULL, device TEXT NOT NULL, driver TEXT NOT NULL,"
		" tor_id TEXT NOT NULL, rail TEXT NOT NULL, hw_stamps INTEGER NOT NULL,"
		" up INTEGER NOT NULL, speed_gbps REAL NOT NULL) STRICT, WITHOUT ROWID",
		"CREATE TABLE report_ledger (agent_id TEXT NOT NULL, boot_id TEXT NOT NULL,"
		" report_seq INTEGER NOT NULL, part INTEGER NOT NULL, received_ms INTEGER NOT NULL,"
		" PRIMARY KEY (agent_id, boot_id, report_seq, part)) STRICT, WITHOUT ROWID",
		"CREATE TABLE path_rollup_1m (minute_ms INTEGER NOT NULL, source_gid TEXT NOT NULL,"
		" target_gid TEXT NOT NULL, type INTEGER NOT NULL, stamps INTEGER NOT NULL,"
		" row TEXT NOT NULL, PRIMARY KEY (minute_ms, source_gid, target_gid, type, stamps))"
		" STRICT, WITHOUT ROWID",
		"CREATE INDEX rnics_by_agent ON rnics (agent_id)",
	},
};

static int
fail(sqlite3 *db, int code, const char *what)
{
	rp_log_rl(RP_LOG_ERROR, "%s: %s", what, sqlite3_errmsg(db));
	return (code & 0xFF) == SQLITE_FULL ? -ENOSPC : -EIO;
}

/* Why the file cannot be opened, and what to do with one that is no store. */
static int
refuse(sqlite3 *db, char *why)
{
	int code = sqlite3_errcode(db) & 0xFF;
	bool damaged = code == SQLITE_NOTADB || code == SQLITE_CORRUPT;

	snprintf(why, WHY_MAX, "%s%s", sqlite3_errmsg(db),
		damaged ? ": restore it, or move it away" : "");
	return -EIO;
}

static int
execute(sqlite3 *db, const char *statement, char *why)
{
	return sqlite3_exec(db, statement, NULL, NULL, NULL) == SQLITE_OK ? 0 : refuse(db, why);
}

/* First column of the first row as a number; NULL is 0. */
static int
ask(sqlite3 *db, const char *query, int64_t *ret_value, char *why)
{
	sqlite3_stmt *stmt;
	int rc = 0;

	if (sqlite3_prepare_v2(db, query, -1, &stmt, NULL) != SQLITE_OK)
		return refuse(db, why);
	if (sqlite3_step(stmt) == SQLITE_ROW)
		*ret_value = sqlite3_column_int64(stmt, 0);
	else
		rc = refuse(db, why);
	sqlite3_finalize(stmt);
	return rc;
}

static int
migrate_step(sqlite3 *db, int64_t from, char *why)
{
	char note[96];
	int rc = execute(db, "BEGIN IMMEDIATE", why);

	for (size_t i = 0; i < RP_ARRAY_LEN(migration[0]) && rc == 0; i++)
		if (migration[from][i] != NULL)
			rc = execute(db, migration[from][i], why);
	snprintf(note, sizeof(note), "INSERT INTO schema_version (version) VALUES (%lld)",
		(long long)from + 1);
	if (rc == 0)
		rc = execute(db, note, why);
	if (rc == 0)
		return execute(db, "COMMIT", why);
	sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
	return rc;
}

static int
migrate(sqlite3 *db, char *why)
{
	int64_t version = 0, tables = 0;
	int rc = execute(db,
		"CREATE TABLE IF NOT EXISTS schema_version (version INTEGER NOT NULL PRIMARY KEY)"
		" STRICT",
		why);

	if (rc == 0)
		rc = ask(db, "SELECT max(version) FROM schema_version", &version, why);
	if (rc == 0)
		rc = ask(db, "SELECT count(*) FROM sqlite_master WHERE type = 'table'", &tables,
			why);
	if (rc != 0)
		return rc;
	if (version == 0 && tables > 1) {
		snprintf(why, WHY_MAX,
			"it has tables but no schema version: not a store, or a damaged one: restore "
			"it, or move it away");
		return -EIO;
	}
	if (version > SQL_SCHEMA_VERSION) {
		snprintf(why, WHY_MAX,
			"its schema is version %lld, this program knows up to %d: use a newer "
			"rpingmesh-controller, or another store",
			(long long)version, SQL_SCHEMA_VERSION);
		return -EPROTO;
	}
	for (; version < SQL_SCHEMA_VERSION && rc == 0; version++)
		rc = migrate_step(db, version, why);
	return rc;
}

static int
set_up(sqlite3 *db, char *why)
{
	static const char *const pragma[] = {
		"PRAGMA synchronous = NORMAL",
		"PRAGMA journal_size_limit = 67108864",
		"PRAGMA temp_store = MEMORY",
		"PRAGMA trusted_schema = OFF",
	};
	sqlite3_stmt *stmt;
	bool wal = false;
	int rc = 0, code;

	sqlite3_extended_result_codes(db, 1);
	sqlite3_busy_timeout(db, BUSY_TIMEOUT_MS);
	sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	/* Network file systems refuse WAL without an error. */
	code = sqlite3_prepare_v2(db, "PRAGMA journal_mode = WAL", -1, &stmt, NULL);
	if (code == SQLITE_OK)
		code = sqlite3_step(stmt);
	if (code == SQLITE_ROW)
		wal = strcmp((const char *)sqlite3_column_text(stmt, 0), "wal") == 0;
	sqlite3_finalize(stmt);
	if (!wal && code == SQLITE_ROW) {
		snprintf(why, WHY_MAX, "no write-ahead log here: use a local file system");
		return -EIO;
	}
	if (!wal)
		return refuse(db, why);
	for (size_t i = 0; i < RP_ARRAY_LEN(pragma) && rc == 0; i++)
		rc = execute(db, pragma[i], why);
	return rc;
}

int
sql_open(const char *path, struct sql *ret_sql, char *why)
{
	struct sql sql = {0};
	int rc = 0;

	if (sqlite3_open_v2(path, &sql.db,
		    SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
		    NULL) != SQLITE_OK)
		rc = refuse(sql.db, why);
	if (rc == 0)
		rc = set_up(sql.db, why);
	if (rc == 0)
		rc = migrate(sql.db, why);
	for (int i = 0; i < SQL_N && rc == 0; i++) {
		if (sqlite3_prepare_v3(sql.db, text[i], -1, SQLITE_PREPARE_PERSISTENT, &sql.stmt[i],
			    NULL) != SQLITE_OK)
			rc = refuse(sql.db, why);
	}
	if (rc != 0)
		sql_close(&sql);
	else
		*ret_sql = sql;
	return rc;
}

void
sql_close(struct sql *sql)
{
	for (int i = 0; i < SQL_N; i++)
		sqlite3_finalize(sql->stmt[i]);
	sqlite3_close(sql->db);
	*sql = (struct sql){0};
}

static int
bind(struct sql *sql, sqlite3_stmt *stmt, const char *format, va_list ap)
{
	int code = SQLITE_OK;

	for (int i = 1; *format != '\0' && code == SQLITE_OK; format++, i++) {
		if (*format == 'i')
			code = sqlite3_bind_int64(stmt, i, va_arg(ap, int64_t));
		else
			code = sqlite3_bind_text(
				stmt, i, va_arg(ap, const char *), -1, SQLITE_STATIC);
	}
	return code == SQLITE_OK ? 0 : fail(sql->db, code, "bind");
}

int
sql_query(struct sql *sql, enum sql_id id, const char *format, ...)
{
	va_list ap;
	int rc;

	va_start(ap, format);
	rc = bind(sql, sql->stmt[id], format, ap);
	va_end(ap);
	return rc;
}

void
sql_reset(struct sql *sql, enum sql_id id)
{
	sqlite3_reset(sql->stmt[id]);
	sqlite3_clear_bindings(sql->stmt[id]);
}

int
sql_step(struct sql *sql, enum sql_id id)
{
	int code = sqlite3_step(sql->stmt[id]);
	int rc = 0;

	if (code == SQLITE_ROW)
		return 1;
	if (code != SQLITE_DONE)
		rc = fail(sql->db, code, text[id]);
	sql_reset(sql, id);
	return rc;
}

int
sql_run(struct sql *sql, enum sql_id id, const char *format, ...)
{
	va_list ap;
	int rc;

	va_start(ap, format);
	rc = bind(sql, sql->stmt[id], format, ap);
	va_end(ap);
	return rc != 0 ? rc : sql_step(sql, id);
}

int64_t
sql_int(const struct sql *sql, enum sql_id id, int column)
{
	return sqlite3_column_int64(sql->stmt[id], column);
}

double
sql_double(const struct sql *sql, enum sql_id id, int column)
{
	return sqlite3_column_double(sql->stmt[id], column);
}

const char *
sql_text(const struct sql *sql, enum sql_id id, int column)
{
	const unsigned char *value = sqlite3_column_text(sql->stmt[id], column);

	return value == NULL ? "" : (const char *)value;
}

int
sql_changes(const struct sql *sql)
{
	return sqlite3_changes(sql->db);
}
