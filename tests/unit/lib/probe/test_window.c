/* SPDX-License-Identifier: BSD-3-Clause */

#include "rp_window.h"

#include <errno.h>

#include "ut.h"

#define MS 1000000u /* host ticks: 1 GHz */

static struct rp_windows *w;
static const struct rp_window_progress all = {{INT64_MAX}, UINT64_MAX};

static void
open_at(int64_t now_ms)
{
	struct rp_windows_conf conf = {
		.host = rp_rate_make(1000000000, 64),
		.window_ms = 10000,
		.timeout_ns = 500 * RP_NS_PER_MS,
		.max_targets = 8,
	};

	UT_OK(rp_windows_create(&conf, (struct rp_tsc){1000 * (uint64_t)MS}, now_ms, &w));
}

/* Ticks at @ms after the windows were made. */
static struct rp_tsc
at(int64_t ms)
{
	return (struct rp_tsc){(uint64_t)(1000 + ms) * MS};
}

static struct rp_result
settled(int64_t sent_ms, uint32_t slot, enum rp_state state)
{
	return (struct rp_result){
		.kind = RP_RESULT_SETTLED,
		.state = (uint8_t)state,
		.slot = slot,
		.qpn = 5,
		.rtt_ns = 1000,
		.prober_ns = 2000,
		.responder_ns = 3000,
		.at.t1 = at(sent_ms),
	};
}

struct closed {
	uint32_t n;
	int64_t start_ms[16];
	uint32_t ms[16];
	uint64_t ok[16], lost[16], late[16], received[16];
	size_t rows[16], sources[16];
};

static void
on_window(void *arg, const struct rp_window *win)
{
	struct closed *c = arg;
	uint32_t i = c->n++;

	c->start_ms[i] = win->start_ms;
	c->ms[i] = win->ms;
	c->rows[i] = win->n_rows;
	c->sources[i] = win->n_sources;
	for (size_t r = 0; r < win->n_rows; r++) {
		c->ok[i] += win->row[r].counts.state[RP_STATE_OK];
		c->lost[i] += win->row[r].counts.state[RP_STATE_LOST];
		c->late[i] += win->row[r].late.sum.n;
	}
	for (size_t s = 0; s < win->n_sources; s++)
		c->received[i] += win->source[s].received;
}

static void
book__by_send_time__not_by_the_time_it_settled(void)
{
	struct closed c = {0};
	struct rp_result r;

	open_at(100003000); /* 3 s into a window */
	r = settled(6999, 1, RP_STATE_OK);
	rp_windows_turn(w, at(7400));
	rp_windows_book(w, &r);
	r = settled(7000, 1, RP_STATE_LOST);
	rp_windows_book(w, &r);
	rp_windows_close(w, at(8499), &all, on_window, &c);
	UT_EQ(c.n, 0);
	rp_windows_close(w, at(8501), &all, on_window, &c);
	UT_EQ(c.n, 1);
	UT_EQ(c.start_ms[0], 100003000);
	UT_EQ(c.ms[0], 7000);
	UT_EQ(c.ok[0], 1);
	UT_EQ(c.lost[0], 0);
	rp_windows_close(w, at(18600), &all, on_window, &c);
	UT_EQ(c.n, 2);
	UT_EQ(c.start_ms[1], 100010000);
	UT_EQ(c.ms[1], 10000);
	UT_EQ(c.lost[1], 1);
	r = settled(6999, 1, RP_STATE_OK);
	rp_windows_book(w, &r);
	UT_EQ(rp_windows_stats(w)->too_late, 1);
	rp_windows_destroy(w);
}

static void
close__lcores_that_lag__are_waited_for(void)
{
	struct rp_window_progress progress = all;
	struct closed c = {0};

	open_at(100000000);
	rp_windows_turn(w, at(10000));
	/* Much later, but the prober was stopped with a probe of this window in flight. */
	progress.settled_until = at(9999);
	rp_windows_close(w, at(12000), &progress, on_window, &c);
	UT_EQ(c.n, 0);
	progress = all;
	progress.rows_until = 0; /* and the responder with its rows */
	rp_windows_close(w, at(12000), &progress, on_window, &c);
	UT_EQ(c.n, 0);
	progress.rows_until = 1;
	progress.settled_until = at(10000);
	rp_windows_close(w, at(12000), &progress, on_window, &c);
	UT_EQ(c.n, 1);
	rp_windows_destroy(w);
}

static void
book__every_kind__in_its_place(void)
{
	struct closed c = {0};
	struct rp_result r;

	open_at(100000000);
	for (int i = 0; i < 5; i++) {
		r = settled(10 + i, 1, RP_STATE_OK);
		rp_windows_book(w, &r);
	}
	r.imprecise = true; /* counted, but its duration is not merged */
	rp_windows_book(w, &r);
	r = settled(20, 1, RP_STATE_OK);
	r.stamps = RP_STAMPS_HW; /* another row */
	rp_windows_book(w, &r);
	r.stamps = RP_STAMPS_SW;
	r.qpn = 6; /* and another */
	rp_windows_book(w, &r);
	r = settled(30, 2, RP_STATE_OK);
	r.kind = RP_RESULT_LATE;
	rp_windows_book(w, &r);
	r.kind = RP_RESULT_EXTRA;
	r.extra = RP_EXTRA_DUPLICATE;
	rp_windows_book(w, &r);
	r.kind = RP_RESULT_RETIRED;
	rp_windows_book(w, &r);
	UT_EQ(rp_windows_stats(w)->booked, 10);
	rp_windows_flush(w, at(500), on_window, &c);
	UT_EQ(c.n, 1);
	UT_EQ(c.rows[0], 4);
	UT_EQ(c.ok[0], 8);
	UT_EQ(c.late[0], 1);
	UT_EQ(c.ms[0], 500);
	rp_windows_destroy(w);
}

static void
book_source__by_window_id__late_rows_counted(void)
{
	struct rp_want row = {.kind = RP_WANT_ROW, .received = 7};
	struct closed c = {0};

	open_at(100000000);
	row.window = rp_windows_turn(w, at(0));
	rp_windows_turn(w, at(10100));
	rp_windows_book_source(w, &row);
	row.window = 99;
	rp_windows_book_source(w, &row);
	UT_EQ(rp_windows_stats(w)->too_late, 1);
	rp_windows_close(w, at(11600), &all, on_window, &c);
	UT_EQ(c.n, 1);
	UT_EQ(c.received[0], 7);
	rp_windows_destroy(w);
}

static void
adjust__small_error__slewed_by_at_most_a_percent(void)
{
	struct closed c = {0};

	open_at(100000000);
	rp_windows_turn(w, at(10000));
	/* The controller's clock is 250 ms ahead of what we thought. */
	rp_windows_adjust(w, at(15000), 100015250);
	rp_windows_close(w, at(80000), &all, on_window, &c);
	UT_EQ(c.start_ms[0], 100000000);
	UT_EQ(c.ms[0], 10000);
	UT_EQ(c.ms[1], 10000); /* was open already */
	UT_EQ(c.ms[2], 9900);
	UT_EQ(c.ms[3], 9900);
	UT_EQ(c.ms[4], 9950);
	UT_EQ(c.ms[5], 10000);
	for (uint32_t i = 1; i < c.n; i++)
		UT_EQ(c.start_ms[i], 100000000 + 10000 * (int64_t)i);
	rp_windows_destroy(w);
}

static void
adjust__a_jump__realigns_with_one_odd_window(void)
{
	struct closed c = {0};

	open_at(100000000);
	rp_windows_adjust(w, at(5000), 200003000); /* shows 200008000 at the window's end */
	rp_windows_close(w, at(60000), &all, on_window, &c);
	UT_EQ(c.ms[0], 10000);
	UT_EQ(c.start_ms[1], 200008000);
	UT_EQ(c.ms[1], 2000);
	UT_EQ(c.start_ms[2], 200010000);
	UT_EQ(c.ms[2], 10000);
	rp_windows_destroy(w);
}

static void
turn__after_a_long_stop__one_window_and_not_thousands(void)
{
	struct closed c = {0};
	uint64_t id;

	open_at(100000000);
	rp_windows_adjust(w, at(100), 100000100);
	id = rp_windows_turn(w, at(3600000 + 4000));
	UT_EQ_U(id, 1);
	rp_windows_flush(w, at(3600000 + 7000), on_window, &c);
	UT_EQ(c.n, 2);
	UT_EQ(c.start_ms[1], 103604000);
	UT_EQ(c.ms[1], 3000);
	rp_windows_destroy(w);
}

static void
realign__the_clock_becomes_known__labels_from_it_at_once(void)
{
	struct closed c = {0};

	open_at(777000); /* the host's own idea */
	rp_windows_realign(w, at(200), 100003000);
	rp_windows_close(w, at(60000), &all, on_window, &c);
	UT_EQ(c.ms[0], 200);
	UT_EQ(c.start_ms[1], 100003000);
	UT_EQ(c.ms[1], 7000);
	UT_EQ(c.start_ms[2], 100010000);
	rp_windows_destroy(w);
}

static void
book_source__more_than_a_window_takes__counted(void)
{
	struct rp_want row = {.kind = RP_WANT_ROW, .received = 1};
	struct closed c = {0};

	open_at(100000000);
	row.window = rp_windows_turn(w, at(0));
	for (uint32_t i = 0; i < RP_WINDOW_SOURCES_MAX + 3; i++)
		rp_windows_book_source(w, &row);
	UT_EQ_U(rp_windows_stats(w)->sources_dropped, 3);
	rp_windows_flush(w, at(10), on_window, &c);
	UT_EQ_U(c.received[0], RP_WINDOW_SOURCES_MAX);
	rp_windows_destroy(w);
}

static void
windows__ticks_never_overlap_nor_leave_a_gap(void)
{
	struct rp_rng rng = ut_rng(1);
	struct rp_result r;
	struct closed c = {0};
	uint64_t booked = 0, seen = 0;

	open_at(100001234);
	for (int64_t ms = 0; ms < 120000; ms += 50) {
		if (rp_rng_below(&rng, 100) == 0)
			rp_windows_adjust(w, at(ms),
				100001234 + ms + (int64_t)rp_rng_below(&rng, 40000) - 20000);
		r = settled(ms, (uint32_t)rp_rng_below(&rng, 8), RP_STATE_OK);
		rp_windows_turn(w, at(ms));
		rp_windows_book(w, &r);
		booked++;
		c.n = 0;
		memset(&c, 0, sizeof(c));
		rp_windows_close(w, at(ms), &all, on_window, &c);
		for (uint32_t i = 0; i < c.n; i++)
			seen += c.ok[i];
	}
	memset(&c, 0, sizeof(c));
	rp_windows_flush(w, at(120000), on_window, &c);
	for (uint32_t i = 0; i < c.n; i++)
		seen += c.ok[i];
	UT_EQ(seen, booked);
	UT_EQ(rp_windows_stats(w)->too_late, 0);
	rp_windows_destroy(w);
}

static void
create__limits__refused(void)
{
	struct rp_windows_conf conf = {rp_rate_make(1000000000, 64), 999, 1, 1};

	UT_EQ(rp_windows_create(&conf, (struct rp_tsc){0}, 0, &w), -EINVAL);
	conf.window_ms = 3600001;
	UT_EQ(rp_windows_create(&conf, (struct rp_tsc){0}, 0, &w), -EINVAL);
	conf.window_ms = 1000;
	conf.timeout_ns = 0;
	UT_EQ(rp_windows_create(&conf, (struct rp_tsc){0}, 0, &w), -EINVAL);
	conf.timeout_ns = 1;
	conf.max_targets = 0;
	UT_EQ(rp_windows_create(&conf, (struct rp_tsc){0}, 0, &w), -EINVAL);
	conf.max_targets = 1;
	UT_EQ(rp_windows_create(&conf, (struct rp_tsc){0}, -1, &w), -EINVAL);
	rp_windows_destroy(NULL);
}

static const struct ut_test tests[] = {
	UT(book__by_send_time__not_by_the_time_it_settled),
	UT(close__lcores_that_lag__are_waited_for),
	UT(book__every_kind__in_its_place),
	UT(book_source__by_window_id__late_rows_counted),
	UT(adjust__small_error__slewed_by_at_most_a_percent),
	UT(adjust__a_jump__realigns_with_one_odd_window),
	UT(turn__after_a_long_stop__one_window_and_not_thousands),
	UT(realign__the_clock_becomes_known__labels_from_it_at_once),
	UT(book_source__more_than_a_window_takes__counted),
	UT(windows__ticks_never_overlap_nor_leave_a_gap),
	UT(create__limits__refused),
};

UT_MAIN("window", tests)
