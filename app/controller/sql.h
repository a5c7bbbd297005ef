/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef SQL_H
#define SQL_H

/**
 * @file sql.h
 * The store's statements and the few SQLite calls behind them. One text for
 * embedded and distributed SQLite: no pragma, no clock, no RETURNING in it, and
 * every bulk write is one statement with one JSON parameter.
 *
 * Thread:  one owner per connection. Memory: heap. Time: ms in all columns _ms.
 * Errors:  -EIO with the cause logged (rate-limited), -ENOSPC for a full disk.
 */

#include <sqlite3.h>
#include <stdint.h>

#define SQL_SCHEMA_VERSION 1

enum sql_id {
	SQL_BEGIN,
	SQL_COMMIT,
	SQL_ROLLBACK,
	SQL_AGENT_PUT,
	SQL_AGENT_DELETE,
	SQL_AGENT_TOUCH,
	SQL_RNIC_PUT,
	SQL_RNIC_DELETE,
	SQL_LEDGER_PUT,
	SQL_ROLLUP_GET,
	SQL_ROLLUP_PUT,
	SQL_LEDGER_EXPIRE,
	SQL_ROLLUP_EXPIRE,
	SQL_AGENT_LIST,
	SQL_RNIC_LIST,
	SQL_ROLLUP_LIST,
	SQL_N,
};

struct sql {
	sqlite3 *db;
	sqlite3_stmt *stmt[SQL_N];
};

/**
 * Open, set up, migrate, prepare.
 * @param why  256 bytes
 * @return 0, -EIO, -EPROTO (the schema is newer than this program)
 */
int sql_open(const char *path, struct sql *ret_sql, char *why);
void sql_close(struct sql *sql);

/**
 * Run a statement that gives no rows.
 * @param format  one letter per argument: i int64_t, s const char *
 */
int sql_run(struct sql *sql, enum sql_id id, const char *format, ...);

/** Bind as sql_run() and leave the statement before its first row. */
int sql_query(struct sql *sql, enum sql_id id, const char *format, ...);
/** @return 1 a row, 0 none left (the statement is reset), -errno (as well) */
int sql_step(struct sql *sql, enum sql_id id);
int64_t sql_int(const struct sql *sql, enum sql_id id, int column);
double sql_double(const struct sql *sql, enum sql_id id, int column);
const char *sql_text(const struct sql *sql, enum sql_id id, int column); /* never NULL */
void sql_reset(struct sql *sql, enum sql_id id);

/** Rows that the last statement changed. */
int sql_changes(const struct sql *sql);

#endif /* SQL_H */
