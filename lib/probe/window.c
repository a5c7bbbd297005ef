/* SPDX-License-Identifier: BSD-3-Clause */

#include "rp_window.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rp_base.h"

#define NONE          UINT32_MAX
#define ROWS_GRACE_NS (RP_NS_PER_S / 2) /* the responder flushes rows a few per turn */
#define SLEW_PER_MS   100               /* 1 % */
#define CATCH_UP_MAX  8                 /* windows that are opened one by one after a stop */

struct rp_windows {
	struct rp_windows_conf conf;
	struct rp_windows_stats stats;
	struct rp_window **open; /* oldest first */
	size_t n_open;
	size_t cap_open;
	uint64_t next_id;
	/* anchor of the controller's clock */
	struct rp_tsc anchor;
	int64_t anchor_ms;
	uint64_t ms_ticks; /* of one window */
	uint64_t keep_ticks;
	bool realign; /* the next window takes its label from the clock */
};

static uint64_t
ticks_of_ms(const struct rp_windows *w, int64_t ms)
{
	return rp_rate_to_ticks(&w->conf.host, ms * RP_NS_PER_MS);
}

static int64_t
ms_at(const struct rp_windows *w, struct rp_tsc at)
{
	return w->anchor_ms + rp_tsc_elapsed(&w->conf.host, w->anchor, at).v / RP_NS_PER_MS;
}

static void
window_free(struct rp_window *win)
{
	for (size_t i = 0; i < win->n_rows; i++) {
		rp_shist_fini(&win->row[i].rtt);
		rp_shist_fini(&win->row[i].prober);
		rp_shist_fini(&win->row[i].responder);
		rp_shist_fini(&win->row[i].late);
	}
	free(win->row);
	free(win->row_of_slot);
	free(win->source);
	free(win);
}

/*
 * Length in ms of the window that starts at @start_ms, when the controller's clock
 * shows @clock_ms there: the nominal length, bent towards the next boundary.
 */
static uint32_t
length_of(const struct rp_windows *w, int64_t start_ms, int64_t clock_ms)
{
	int64_t nominal = w->conf.window_ms, slew = nominal / SLEW_PER_MS;
	int64_t error = clock_ms - start_ms; /* > 0: we are behind, shorten */

	if (error > slew)
		error = slew;
	if (error < -slew)
		error = -slew;
	return (uint32_t)(nominal - error);
}

static struct rp_window *
open_window(struct rp_windows *w, struct rp_tsc start, int64_t expected_ms)
{
	int64_t nominal = w->conf.window_ms, clock_ms = ms_at(w, start), length;
	struct rp_window *win;

	if (w->n_open == w->cap_open) {
		size_t cap = w->cap_open == 0 ? 4 : w->cap_open * 2;
		struct rp_window **grown = realloc(w->open, cap * sizeof(struct rp_window *));

		if (grown == NULL)
			return NULL;
		w->open = grown;
		w->cap_open = cap;
	}
	win = calloc(1, sizeof(*win));
	if (win == NULL)
		return NULL;
	win->row_of_slot = malloc(w->conf.max_targets * sizeof(*win->row_of_slot));
	if (win->row_of_slot == NULL) {
		free(win);
		return NULL;
	}
	memset(win->row_of_slot, 0xFF, w->conf.max_targets * sizeof(*win->row_of_slot));

	if (expected_ms >= 0 && llabs(clock_ms - expected_ms) <= nominal / 2) {
		win->start_ms = expected_ms;
		length = length_of(w, expected_ms, clock_ms);
	} else {
		/* The first one, or the clock jumped: run to its next boundary. */
		win->start_ms = clock_ms;
		length = nominal - clock_ms % nominal;
		/* A sliver joins the whole one behind it. */
		if (length < nominal / 10)
			length += nominal;
	}
	win->id = w->next_id++;
	win->ms = (uint32_t)length;
	win->start = start;
	win->end = rp_tsc_add(start, ticks_of_ms(w, length));
	w->open[w->n_open++] = win;
	return win;
}

int
rp_windows_create(const struct rp_windows_conf *conf, struct rp_tsc now, int64_t now_ms,
	struct rp_windows **ret_windows)
{
	struct rp_windows *w;

	if (conf->window_ms < 1000 || conf->window_ms > 3600000 || conf->timeout_ns <= 0 ||
		conf->max_targets == 0 || now_ms < 0)
		return -EINVAL;
	w = calloc(1, sizeof(*w));
	if (w == NULL)
		return -ENOMEM;
	w->conf = *conf;
	w->anchor = now;
	w->anchor_ms = now_ms;
	w->keep_ticks = rp_rate_to_ticks(&conf->host, 2 * conf->timeout_ns + ROWS_GRACE_NS);
	if (open_window(w, now, -1) == NULL) {
		rp_windows_destroy(w);
		return -ENOMEM;
	}
	*ret_windows = w;
	return 0;
}

void
rp_windows_destroy(struct rp_windows *windows)
{
	if (windows == NULL)
		return;
	for (size_t i = 0; i < windows->n_open; i++)
		window_free(windows->open[i]);
	free(windows->open);
	free(windows);
}

void
rp_windows_adjust(struct rp_windows *windows, struct rp_tsc now, int64_t now_ms)
{
	windows->anchor = now;
	windows->anchor_ms = now_ms;
}

void
rp_windows_realign(struct rp_windows *windows, struct rp_tsc now, int64_t now_ms)
{
	struct rp_window *last = windows->open[windows->n_open - 1];

	rp_windows_adjust(windows, now, now_ms);
	if (rp_tsc_before(now, last->end)) {
		last->end = now;
		last->ms = (uint32_t)(rp_tsc_elapsed(&windows->conf.host, last->start, now).v /
			RP_NS_PER_MS);
	}
	windows->realign = true;
}

uint64_t
rp_windows_turn(struct rp_windows *windows, struct rp_tsc now)
{
	struct rp_window *last = windows->open[windows->n_open - 1];
	uint64_t far = CATCH_UP_MAX * ticks_of_ms(windows, windows->conf.window_ms);

	while (!rp_tsc_before(now, last->end)) {
		/* A label at the boundary, whatever the slew did to the length. */
		int64_t nominal = windows->conf.window_ms;
		int64_t next_ms = (last->start_ms / nominal + 1) * nominal;
		struct rp_tsc start = last->end;
		struct rp_window *win;

		/* The process stood still: nothing was sent, nothing is missing. */
		if (rp_tsc_since(last->end, now) > far) {
			start = now;
			next_ms = -1;
		}
		win = open_window(windows, start, windows->realign ? -1 : next_ms);
		if (win == NULL) {
			windows->stats.no_memory++;
			last->end = rp_tsc_add(now, 1);
			break;
		}
		windows->realign = false;
		last = win;
	}
	return last->id;
}

static struct rp_window *
window_at(struct rp_windows *w, struct rp_tsc at)
{
	/* Newest first: nearly everything belongs to the last two. */
	for (size_t i = w->n_open; i-- > 0;)
		if (!rp_tsc_before(at, w->open[i]->start))
			return w->open[i];
	return NULL;
}

static struct rp_window_row *
row_for(struct rp_window *win, const struct rp_result *r)
{
	uint32_t *first = &win->row_of_slot[r->slot];
	struct rp_window_row *row;

	for (uint32_t i = *first; i != NONE; i = win->row[i].next) {
		row = &win->row[i];
		if (row->qpn == r->qpn && row->generation == r->generation &&
			row->stamps == (enum rp_stamps)r->stamps)
			return row;
	}
	if (win->n_rows == win->cap_rows) {
		size_t cap = win->cap_rows == 0 ? 16 : win->cap_rows * 2;
		struct rp_window_row *grown = realloc(win->row, cap * sizeof(*grown));

		if (grown == NULL)
			return NULL;
		win->row = grown;
		win->cap_rows = cap;
	}
	row = &win->row[win->n_rows];
	*row = (struct rp_window_row){
		.slot = r->slot,
		.qpn = r->qpn,
		.generation = r->generation,
		.stamps = (enum rp_stamps)r->stamps,
		.next = *first,
	};
	*first = (uint32_t)win->n_rows++;
	return row;
}

static int
book_settled(struct rp_window_row *row, const struct rp_result *r)
{
	int rc = 0;

	row->counts.state[r->state]++;
	if (r->state != RP_STATE_OK)
		return 0;
	if (r->imprecise) {
		row->counts.extra[RP_EXTRA_IMPRECISE]++;
		return 0;
	}
	rc |= rp_shist_add(&row->rtt, (uint64_t)r->rtt_ns);
	rc |= rp_shist_add(&row->prober, (uint64_t)r->prober_ns);
	rc |= rp_shist_add(&row->responder, (uint64_t)r->responder_ns);
	return rc;
}

void
rp_windows_book(struct rp_windows *windows, const struct rp_result *result)
{
	struct rp_window_row *row;
	struct rp_window *win;
	int rc = 0;

	if (result->kind == RP_RESULT_RETIRED)
		return;
	win = window_at(windows, result->at.t1);
	if (win == NULL) {
		windows->stats.too_late++;
		return;
	}
	row = row_for(win, result);
	if (row == NULL) {
		windows->stats.no_memory++;
		return;
	}
	if (result->kind == RP_RESULT_SETTLED)
		rc = book_settled(row, result);
	else if (result->kind == RP_RESULT_EXTRA)
		row->counts.extra[result->extra]++;
	else if (result->rtt_ns >= 0)
		rc = rp_shist_add(&row->late, (uint64_t)result->rtt_ns);
	windows->stats.booked++;
	if (rc != 0)
		windows->stats.no_memory++;
}

void
rp_windows_book_source(struct rp_windows *windows, const struct rp_want *row)
{
	struct rp_window *win = NULL;
	struct rp_window_source *s;

	for (size_t i = windows->n_open; i-- > 0 && win == NULL;)
		if (windows->open[i]->id == row->window)
			win = windows->open[i];
	if (win == NULL) {
		windows->stats.too_late++;
		return;
	}
	if (win->n_sources == RP_WINDOW_SOURCES_MAX) {
		windows->stats.sources_dropped++;
		return;
	}
	if (win->n_sources == win->cap_sources) {
		size_t cap = win->cap_sources == 0 ? 16 : win->cap_sources * 2;
		struct rp_window_source *grown = realloc(win->source, cap * sizeof(*grown));

		if (grown == NULL) {
			windows->stats.no_memory++;
			return;
		}
		win->source = grown;
		win->cap_sources = cap;
	}
	s = &win->source[win->n_sources++];
	*s = (struct rp_window_source){
		.gid = row->gid,
		.qpn = row->qpn,
		.received = row->received,
		.ack1_sent = row->ack1_sent,
		.ack2_sent = row->ack2_sent,
		.refused = row->refused,
	};
}

static void
close_oldest(struct rp_windows *w, rp_window_fn fn, void *arg)
{
	struct rp_window *win = w->open[0];

	fn(arg, win);
	w->n_open--;
	memmove(w->open, w->open + 1, w->n_open * sizeof(struct rp_window *));
	window_free(win);
}

static bool
is_complete(const struct rp_windows *w, const struct rp_window *win, struct rp_tsc now,
	const struct rp_window_progress *progress)
{
	return rp_tsc_since(win->end, now) > w->keep_ticks &&
		!rp_tsc_before(progress->settled_until, win->end) && win->id < progress->rows_until;
}

void
rp_windows_close(struct rp_windows *windows, struct rp_tsc now,
	const struct rp_window_progress *progress, rp_window_fn fn, void *arg)
{
	rp_windows_turn(windows, now);
	/* The running window stays, whatever its length. */
	while (windows->n_open > 1 && is_complete(windows, windows->open[0], now, progress))
		close_oldest(windows, fn, arg);
}

void
rp_windows_flush(struct rp_windows *windows, struct rp_tsc now, rp_window_fn fn, void *arg)
{
	struct rp_window *last;

	rp_windows_turn(windows, now);
	last = windows->open[windows->n_open - 1];
	last->end = now;
	last->ms =
		(uint32_t)(rp_tsc_elapsed(&windows->conf.host, last->start, now).v / RP_NS_PER_MS);
	while (windows->n_open > 1)
		close_oldest(windows, fn, arg);
	fn(arg, windows->open[0]);
	window_free(windows->open[0]);
	windows->n_open = 0;
}

const struct rp_windows_stats *
rp_windows_stats(const struct rp_windows *windows)
{
	return &windows->stats;
}
