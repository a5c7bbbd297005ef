/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef REPORT_H
#define REPORT_H

/**
 * @file report.h
 * Closed windows as report messages, and the queue of those not yet taken by the
 * controller.
 *
 * Thread:  control. Memory: the spool is bounded; the oldest report goes first and
 *          is counted.
 * Time:    milliseconds.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "device.h"
#include "rp_buf.h"
#include "rp_window.h"

struct targets;

/** Counters of a device when the last window closed: the next one reports the rise. */
struct report_base {
	uint64_t ring_drops;
	uint64_t rx_no_buffer;
	uint64_t schedule_skipped;
	uint64_t busy_ticks;
	uint64_t at_ticks;
};

/** Who reports; the same in every report of a process. */
struct report_id {
	const char *agent_id;
	const char *boot_id;
};

/** What the host itself did wrong in the window. */
struct report_local {
	uint64_t ring_drops;
	uint64_t rx_no_buffer;
	uint64_t schedule_skipped;
	double cpu_ratio;
};

/** Estimated JSON of one part: half of what a controller takes by default. */
#define REPORT_PART_BYTES (512u << 10)

typedef int (*report_part_fn)(void *arg, struct rp_buf *json);

/**
 * Encode @p window, in as many parts as keep each near REPORT_PART_BYTES, and hand each
 * to @p fn, which may take the buffer over (and empty it).
 * @return 0, -ENOMEM, or what @p fn returned
 */
int report_encode(const struct report_id *id, uint64_t seq, const struct rp_window *window,
	const struct device *dev, const struct targets *targets, const struct report_local *local,
	report_part_fn fn, void *arg);

#define SPOOL_REPORTS_MAX 360
#define SPOOL_BYTES_MAX   (64u << 20)

struct spool_item {
	char *json;
	size_t len;
	uint64_t seq;
};

struct spool {
	struct spool_item item[SPOOL_REPORTS_MAX]; /* ring: first .. first+n-1 */
	uint32_t first;
	uint32_t n;
	size_t bytes;
	uint64_t next_seq;
	uint64_t dropped; /* the spool was full */
	uint64_t refused; /* the controller refused for good */
	uint64_t accepted;
	bool sending;
	uint64_t sending_seq;
	int64_t retry_at_ms;
	uint32_t backoff_ms;
};

/** Takes @p json over (rp_buf data). */
void spool_push(struct spool *spool, char *json, size_t len, uint64_t seq);
/** The oldest, or NULL. Valid until it is popped. */
const struct spool_item *spool_head(const struct spool *spool);
void spool_pop(struct spool *spool);
void spool_fini(struct spool *spool);

#endif /* REPORT_H */
