/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef WINDOWS_H
#define WINDOWS_H

/**
 * @file windows.h
 * Results in memory: for each path (source GID, target GID, type, stamps) the last
 * N windows. Questions merge the windows they cover; histograms merge exactly.
 *
 * Thread:  the caller locks.
 * Memory:  heap; windows leave when newer ones push them out or age does, and
 *          names with their last path.
 * Time:    milliseconds since the epoch, of window starts.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rp_api.h"
#include "rp_table.h"

/** Names of one end of a path as they were when it was known last. */
struct windows_end {
	struct rp_gid gid;
	const char *host;
	const char *tor;
	bool guess; /* of windows_add(): nobody holds the GID now, the names serve a new path only */
};

/** Merged windows of one path. */
struct windows_path {
	struct windows_end source;
	struct windows_end target;
	enum rp_api_type type;
	enum rp_stamps stamps;
	uint32_t n_windows;
	int64_t first_ms; /* start of the oldest merged window */
	int64_t last_ms;  /* end of the newest */
	struct rp_counts counts;
	struct rp_shist rtt;
	struct rp_shist prober;
	struct rp_shist responder;
	struct rp_shist late;
};

struct windows {
	uint32_t retention;
	struct rp_table paths;
	struct rp_table names;
	size_t n_windows;
};

/** @p retention 1 .. 1440 windows of each path */
void windows_init(struct windows *w, uint32_t retention);
void windows_fini(struct windows *w);

/**
 * Add one row. Rows of one path and one window start (parts of a report) merge.
 * The histograms of @p row are taken over on success.
 * @return 0, -ENOMEM
 */
int windows_add(struct windows *w, const struct windows_end *source,
	const struct windows_end *target, int64_t start_ms, uint32_t window_ms,
	struct rp_api_row *row);

/** Which windows a question is about: from_ms <= start < to_ms; NULL GIDs mean all. */
struct windows_query {
	const struct rp_gid *source;
	const struct rp_gid *target;
	int64_t from_ms;
	int64_t to_ms;
};

/**
 * Merge and hand over one path after the other, in no order.
 * @param each  its struct is valid during the call only; a negative return stops
 * @return 0, -ENOMEM, or what @p each returned
 */
int windows_visit(const struct windows *w, const struct windows_query *query,
	int (*each)(const struct windows_path *path, void *arg), void *arg);

/** Start of the newest window kept that starts by @p until_ms, or 0. */
int64_t windows_newest(const struct windows *w, int64_t until_ms);

/** Drop windows that start before @p before_ms, and paths without windows. */
void windows_expire(struct windows *w, int64_t before_ms);

#endif /* WINDOWS_H */
