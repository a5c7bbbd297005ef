/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef ROLLUP_H
#define ROLLUP_H

/**
 * @file rollup.h
 * One-minute rows of the store that are still growing. Rows are written whole, so
 * that a repeated write changes nothing; what they were is read once.
 *
 * Thread:  the store's writer. Memory: heap; about the rows of the last minutes.
 * Time:    ms since the epoch.
 */

#include "rp_api.h"
#include "rp_table.h"
#include "sql.h"

#define ROLLUP_MS INT64_C(60000)

struct rollup_cache {
	struct rp_table rows;
	int64_t newest_ms;
	_Atomic uint64_t skipped; /* rows of the store that could not be read */
};

/** Merge @p row, which stays the caller's, into its minute. @return 0, -ENOMEM, as sql.h */
int rollup_add(struct rollup_cache *cache, struct sql *sql, const struct rp_gid *source,
	const struct rp_gid *target, int64_t start_ms, const struct rp_api_row *row);

/** Write what changed since the last commit, within the open transaction. */
int rollup_flush(struct rollup_cache *cache, struct sql *sql);

/** The transaction was committed: forget old minutes. */
void rollup_committed(struct rollup_cache *cache);

/** The transaction was rolled back, or the end: forget all rows. */
void rollup_forget(struct rollup_cache *cache);

#endif /* ROLLUP_H */
