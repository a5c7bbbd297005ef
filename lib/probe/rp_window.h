/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef RP_WINDOW_H
#define RP_WINDOW_H

/**
 * @file rp_window.h
 * Reporting windows: results booked by the send time of their probe, closed two
 * timeouts after the window's end, when every probe of it has its final state: the
 * lcores say so, because a host that was stopped for a while catches up in any order.
 *
 * Boundaries lie at multiples of the window length on the controller's clock. They
 * live in host ticks, so a step of any wall clock moves no result: the mapping is
 * slewed by at most 1 % per window, and only a jump of more than half a window
 * realigns, with one window of another length.
 *
 * Thread:  control. Memory: rows grow on the heap, released at close.
 * Time:    host ticks inside; milliseconds since the epoch for the report.
 */

#include <stddef.h>
#include <stdint.h>

#include "rp_hist.h"
#include "rp_prober.h"
#include "rp_responder.h"

/** One target as it was probed; a new QPN or stamp source begins another row. */
struct rp_window_row {
	uint32_t slot;
	uint32_t qpn;
	uint32_t generation;
	enum rp_stamps stamps;
	uint32_t next; /* other rows of the slot */
	struct rp_counts counts;
	struct rp_shist rtt;
	struct rp_shist prober;
	struct rp_shist responder;
	struct rp_shist late;
};

struct rp_window_source {
	struct rp_gid gid;
	uint32_t qpn;
	uint64_t received, ack1_sent, ack2_sent, refused;
};

struct rp_window {
	uint64_t id; /* rises by one per window of this process */
	struct rp_tsc start;
	struct rp_tsc end;
	int64_t start_ms;
	uint32_t ms;
	struct rp_window_row *row;
	size_t n_rows, cap_rows;
	uint32_t *row_of_slot; /* first row, or UINT32_MAX */
	struct rp_window_source *source;
	size_t n_sources, cap_sources;
};

/** Responder rows of one window; addresses can be forged, memory must not follow. */
#define RP_WINDOW_SOURCES_MAX 16384

struct rp_windows;

struct rp_windows_conf {
	struct rp_rate host;
	uint32_t window_ms; /* 1000 .. 3600000 */
	int64_t timeout_ns;
	uint32_t max_targets; /* as the prober's */
};

struct rp_windows_stats {
	uint64_t booked;
	uint64_t too_late; /* results and rows of windows that were closed already */
	uint64_t no_memory;
	uint64_t sources_dropped; /* rows beyond RP_WINDOW_SOURCES_MAX of one window */
};

/** @param now, now_ms  the same instant on both clocks. @return 0, -EINVAL, -ENOMEM */
int rp_windows_create(const struct rp_windows_conf *conf, struct rp_tsc now, int64_t now_ms,
	struct rp_windows **ret_windows);
void rp_windows_destroy(struct rp_windows *windows);

/** A new reading of the controller's clock. */
void rp_windows_adjust(struct rp_windows *windows, struct rp_tsc now, int64_t now_ms);

/**
 * The controller's clock became known: the running window ends at @p now and the next
 * one gets its label from that clock.
 */
void rp_windows_realign(struct rp_windows *windows, struct rp_tsc now, int64_t now_ms);

/** Open the windows up to @p now. @return id of the current one */
uint64_t rp_windows_turn(struct rp_windows *windows, struct rp_tsc now);

/** SETTLED, LATE and EXTRA results; others are ignored. */
void rp_windows_book(struct rp_windows *windows, const struct rp_result *result);

/** RP_WANT_ROW of the responder. */
void rp_windows_book_source(struct rp_windows *windows, const struct rp_want *row);

typedef void (*rp_window_fn)(void *arg, const struct rp_window *window);

/** How far the lcores have come. Read before the rings are drained. */
struct rp_window_progress {
	struct rp_tsc settled_until; /* rp_prober_settled_until() */
	uint64_t rows_until;         /* rp_responder_rows_until() */
};

/**
 * Hand every window that is complete to @p fn, oldest first, and release it: its end
 * lies two timeouts and a half second before @p now (for late answers and the
 * responder's rows), and @p progress has passed it.
 */
void rp_windows_close(struct rp_windows *windows, struct rp_tsc now,
	const struct rp_window_progress *progress, rp_window_fn fn, void *arg);

/** Shutdown: hand over everything, the running window cut at @p now included. */
void rp_windows_flush(struct rp_windows *windows, struct rp_tsc now, rp_window_fn fn, void *arg);

const struct rp_windows_stats *rp_windows_stats(const struct rp_windows *windows);

#endif /* RP_WINDOW_H */
