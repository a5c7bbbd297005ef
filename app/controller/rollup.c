/* SPDX-License-Identifier: BSD-3-Clause */

#include "rollup.h"

#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "rp_base.h"
#include "rp_log.h"
#include "rp_text.h"

#define RP_LOG_COMPONENT "store"

#define KEEP_MS      (5 * ROLLUP_MS)
#define ROWS_PER_PUT 1000u

struct entry {
	struct rp_table_node node;
	int64_t minute_ms;
	struct rp_gid source, target;
	bool dirty;
	struct rp_api_row row;
};

static uint32_t
hash_key(int64_t minute_ms, const struct rp_gid *source, const struct rp_gid *target)
{
	return rp_gid_hash(target, rp_gid_hash(source, (uint64_t)minute_ms));
}

static struct entry *
find(const struct rollup_cache *cache, int64_t minute_ms, const struct rp_gid *source,
	const struct rp_gid *target, const struct rp_api_row *row)
{
	struct rp_table_node *node =
		rp_table_first(&cache->rows, hash_key(minute_ms, source, target));

	for (; node != NULL; node = rp_table_next(node)) {
		struct entry *e = rp_container_of(node, struct entry, node);

		if (e->minute_ms == minute_ms && rp_gid_equal(&e->source, source) &&
			rp_gid_equal(&e->target, target) && e->row.type == row->type &&
			e->row.stamps == row->stamps)
			return e;
	}
	return NULL;
}

static void
entry_free(struct entry *e)
{
	rp_api_row_fini(&e->row);
	free(e);
}

/*
 * What the store knows of @e already. A row that cannot be read, damaged or of a
 * newer release, must not hold up the reports of its minute: it is written anew.
 */
static int
load(struct rollup_cache *cache, struct entry *e, struct sql *sql)
{
	char source[RP_GID_TEXT_MAX], target[RP_GID_TEXT_MAX];
	struct rp_api_row row = {0};
	struct rp_api_err err;
	const char *text;
	int rc = sql_query(sql, SQL_ROLLUP_GET, "issii", e->minute_ms,
		rp_gid_format(&e->source, source), rp_gid_format(&e->target, target),
		(int64_t)e->row.type, (int64_t)e->row.stamps);

	if (rc == 0)
		rc = sql_step(sql, SQL_ROLLUP_GET);
	if (rc != 1)
		return rc;
	text = sql_text(sql, SQL_ROLLUP_GET, 0);
	rc = rp_api_decode_row(text, strlen(text), &row, &err);
	sql_reset(sql, SQL_ROLLUP_GET);
	if (rc == -EINVAL) {
		atomic_fetch_add(&cache->skipped, 1);
		rp_log_rl(RP_LOG_ERROR, "row of %s to %s cannot be read and is left out: %s%s%s",
			source, target, err.field, rp_text_gap(err.field), err.message);
		return 0;
	}
	if (rc != 0)
		return rc;
	row.type = e->row.type;
	row.stamps = e->row.stamps;
	e->row = row;
	return 0;
}

static int
merge(struct rp_api_row *to, const struct rp_api_row *from)
{
	int rc = rp_shist_merge(&to->rtt, &from->rtt);

	if (rc == 0)
		rc = rp_shist_merge(&to->prober, &from->prober);
	if (rc == 0)
		rc = rp_shist_merge(&to->responder, &from->responder);
	if (rc == 0)
		rc = rp_shist_merge(&to->late, &from->late);
	if (rc == 0)
		rp_counts_add(&to->counts, &from->counts);
	return rc;
}

int
rollup_add(struct rollup_cache *cache, struct sql *sql, const struct rp_gid *source,
	const struct rp_gid *target, int64_t start_ms, const struct rp_api_row *row)
{
	int64_t minute_ms = start_ms - start_ms % ROLLUP_MS;
	struct entry *e = find(cache, minute_ms, source, target, row);
	int rc;

	if (e == NULL) {
		e = calloc(1, sizeof(*e));
		if (e == NULL)
			return -ENOMEM;
		e->minute_ms = minute_ms;
		e->source = *source;
		e->target = *target;
		e->row.type = row->type;
		e->row.stamps = row->stamps;
		rc = load(cache, e, sql);
		if (rc == 0)
			rc = rp_table_insert(
				&cache->rows, &e->node, hash_key(minute_ms, source, target));
		if (rc != 0) {
			entry_free(e);
			return rc;
		}
	}
	e->dirty = true;
	if (minute_ms > cache->newest_ms)
		cache->newest_ms = minute_ms;
	return merge(&e->row, row);
}

static int
put(struct rp_buf *json, struct sql *sql)
{
	int rc = 0;

	rp_buf_puts(json, "]");
	if (rp_buf_failed(json))
		rc = -ENOMEM;
	if (rc == 0)
		rc = sql_run(sql, SQL_ROLLUP_PUT, "s", rp_buf_text(json));
	rp_buf_fini(json);
	return rc;
}

static void
add_row(struct rp_buf *json, const struct entry *e)
{
	char source[RP_GID_TEXT_MAX], target[RP_GID_TEXT_MAX];

	rp_buf_printf(json, "%s[%" PRId64 ",\"%s\",\"%s\",%d,%d,", json->len == 0 ? "[" : ",",
		e->minute_ms, rp_gid_format(&e->source, source), rp_gid_format(&e->target, target),
		(int)e->row.type, (int)e->row.stamps);
	rp_api_encode_row(&e->row, json);
	rp_buf_puts(json, "]");
}

int
rollup_flush(struct rollup_cache *cache, struct sql *sql)
{
	struct rp_buf json = {0};
	struct rp_table_node *node;
	size_t pos = 0, n = 0;
	int rc = 0;

	for (node = rp_table_walk(&cache->rows, &pos, NULL); node != NULL && rc == 0;
		node = rp_table_walk(&cache->rows, &pos, node)) {
		const struct entry *e = rp_container_of(node, struct entry, node);

		if (!e->dirty)
			continue;
		add_row(&json, e);
		if (++n % ROWS_PER_PUT == 0)
			rc = put(&json, sql);
	}
	if (rc == 0 && json.len > 0)
		rc = put(&json, sql);
	rp_buf_fini(&json);
	return rc;
}

/* Free the entries before @before_ms. */
static void
drop(struct rollup_cache *cache, int64_t before_ms)
{
	struct rp_table_node *node, *next;
	size_t pos = 0;

	for (node = rp_table_walk(&cache->rows, &pos, NULL); node != NULL; node = next) {
		struct entry *e = rp_container_of(node, struct entry, node);

		next = rp_table_walk(&cache->rows, &pos, node);
		e->dirty = false;
		if (e->minute_ms >= before_ms)
			continue;
		rp_table_remove(&cache->rows, node);
		entry_free(e);
	}
}

void
rollup_committed(struct rollup_cache *cache)
{
	drop(cache, cache->newest_ms - KEEP_MS);
}

void
rollup_forget(struct rollup_cache *cache)
{
	drop(cache, INT64_MAX);
	rp_table_fini(&cache->rows);
	cache->rows = (struct rp_table){0};
	cache->newest_ms = 0;
}
