/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <stdio.h>

#include "rp_pacer.h"
#include "ut.h"

static struct rp_pacer *
make(uint32_t cap)
{
	struct rp_pacer *pacer = NULL;

	if (rp_pacer_create(cap, ut_seed, &pacer) != 0)
		abort();
	return pacer;
}

/* What the contract says, as an unsorted list. */
struct model {
	uint64_t due, period, skipped;
};

/* Late by a whole period: on to the first time after now. */
static void
model_skip(struct model *m, uint64_t now, uint64_t *total)
{
	if ((int64_t)(now - m->due) < 0 || now - m->due < m->period)
		return;
	while ((int64_t)(now - m->due) >= 0) {
		m->due += m->period;
		m->skipped++;
		(*total)++;
	}
}

static void
rp_pacer_take__random_schedules_across_the_wrap__equal_the_model(void)
{
	struct rp_rng rng = ut_rng(1);

	for (int round = 0; round < 300; round++) {
		uint32_t n = 1 + (uint32_t)rp_rng_below(&rng, 40);
		struct rp_pacer *pacer = make(n);
		struct model model[40] = {{0, 0, 0}};
		uint64_t now = UINT64_MAX - rp_rng_below(&rng, 20000), skipped = 0;

		for (uint32_t i = 0; i < n; i++) {
			model[i].period = 1 + rp_rng_below(&rng, 1000);
			model[i].due = now + rp_rng_below(&rng, 1000);
			UT_OK(rp_pacer_add_at(
				pacer, i, model[i].period, (struct rp_tsc){model[i].due}));
		}
		for (int step = 0; step < 200; step++) {
			struct rp_pacer_due due;
			struct rp_tsc next;

			now += rp_rng_below(&rng, 10) == 0 ? rp_rng_below(&rng, 3000)
							   : rp_rng_below(&rng, 60);
			while (rp_pacer_take(pacer, (struct rp_tsc){now}, &due)) {
				struct model *m = &model[due.id];

				model_skip(m, now, &skipped);
				UT_EQ_U(now - due.lag_ticks, m->due);
				UT_EQ(due.skipped, m->skipped);
				UT_TRUE(due.lag_ticks < m->period);
				m->skipped = 0;
				m->due += m->period;
			}
			for (uint32_t i = 0; i < n; i++) {
				model_skip(&model[i], now, &skipped);
				UT_TRUE(rp_pacer_next_of(pacer, i, &next));
				if (!UT_EQ_U(next.ticks, model[i].due))
					return;
				UT_TRUE((int64_t)(next.ticks - now) > 0);
			}
			UT_EQ_U(rp_pacer_skipped(pacer), skipped);
		}
		rp_pacer_destroy(pacer);
	}
}

static void
rp_pacer_take__polled_often__rate_is_exact_and_phase_is_kept(void)
{
	static const uint64_t period[] = {1000, 333, 77777, 10007};
	struct rp_pacer *pacer = make(4);
	uint64_t first[4], n[4] = {0};
	const uint64_t start = UINT64_MAX - 5000000, span = 100000000;

	for (uint32_t i = 0; i < 4; i++) {
		struct rp_tsc due;

		UT_OK(rp_pacer_add(pacer, i, period[i], (struct rp_tsc){start}));
		UT_TRUE(rp_pacer_next_of(pacer, i, &due));
		first[i] = due.ticks - start;
		UT_TRUE(first[i] < period[i]);
	}
	for (uint64_t t = 0; t < span; t += 250) {
		struct rp_pacer_due due;

		while (rp_pacer_take(pacer, (struct rp_tsc){start + t}, &due)) {
			UT_EQ_U(t - due.lag_ticks, first[due.id] + n[due.id] * period[due.id]);
			UT_TRUE(due.lag_ticks < 250);
			n[due.id]++;
		}
	}
	for (uint32_t i = 0; i < 4; i++)
		UT_EQ_U(n[i], (span - 250 - first[i]) / period[i] + 1);
	UT_EQ(rp_pacer_skipped(pacer), 0);
	rp_pacer_destroy(pacer);
}

static void
rp_pacer_take__any_polling__never_two_times_of_an_entry_within_its_period(void)
{
	struct rp_rng rng = ut_rng(2);
	struct rp_pacer *pacer = make(64);
	uint64_t last[64], period[64], now = 1000;
	bool seen[64] = {false};

	for (uint32_t i = 0; i < 64; i++) {
		period[i] = 50 + rp_rng_below(&rng, 5000);
		UT_OK(rp_pacer_add(pacer, i, period[i], (struct rp_tsc){now}));
	}
	for (int step = 0; step < 20000; step++) {
		struct rp_pacer_due due;
		int burst[64] = {0};

		now += rp_rng_below(&rng, 20) == 0 ? rp_rng_below(&rng, 20000)
						   : rp_rng_below(&rng, 100);
		while (rp_pacer_take(pacer, (struct rp_tsc){now}, &due)) {
			uint64_t scheduled = now - due.lag_ticks;

			/* at most one per entry and moment: no burst after any stall */
			UT_EQ(++burst[due.id], 1);
			if (seen[due.id] &&
				!UT_EQ_U(scheduled - last[due.id],
					(1 + due.skipped) * period[due.id]))
				return;
			seen[due.id] = true;
			last[due.id] = scheduled;
		}
	}
	rp_pacer_destroy(pacer);
}

static void
rp_pacer_skip_to__long_stall__nothing_is_due_before_its_next_regular_time(void)
{
	struct rp_pacer *pacer = make(1000);
	struct rp_pacer_due due;
	uint64_t skipped, handed = 0;

	for (uint32_t i = 0; i < 1000; i++)
		UT_OK(rp_pacer_add_at(pacer, i, 1000, (struct rp_tsc){i}));
	skipped = rp_pacer_skip_to(pacer, (struct rp_tsc){10500});
	/* ids 0..499 were due 11 times, at i .. 10000 + i; the others 10 times */
	UT_EQ_U(skipped, 500 * 11 + 500 * 10);
	UT_EQ_U(rp_pacer_skipped(pacer), skipped);
	while (rp_pacer_take(pacer, (struct rp_tsc){10500}, &due)) {
		UT_EQ(due.id, 500);
		UT_EQ(due.lag_ticks, 0);
		UT_EQ(due.skipped, 10);
		handed++;
	}
	UT_EQ(handed, 1);
	UT_EQ(rp_pacer_skip_to(pacer, (struct rp_tsc){10500}), 0);
	rp_pacer_destroy(pacer);
}

static void
rp_pacer_take__late_by_a_period_exactly__is_skipped(void)
{
	struct rp_pacer *pacer = make(1);
	struct rp_pacer_due due;

	UT_OK(rp_pacer_add_at(pacer, 0, 100, (struct rp_tsc){1000}));
	UT_FALSE(rp_pacer_take(pacer, (struct rp_tsc){999}, &due));
	UT_TRUE(rp_pacer_take(pacer, (struct rp_tsc){1099}, &due));
	UT_EQ(due.lag_ticks, 99);
	UT_EQ(due.skipped, 0);
	UT_FALSE(rp_pacer_take(pacer, (struct rp_tsc){1200}, &due));
	UT_EQ(rp_pacer_skipped(pacer), 2);
	UT_TRUE(rp_pacer_take(pacer, (struct rp_tsc){1300}, &due));
	UT_EQ(due.skipped, 2);
	UT_EQ(due.lag_ticks, 0);
	rp_pacer_destroy(pacer);
}

static void
rp_pacer_take__one_dead_slow_entry__does_not_touch_the_others(void)
{
	struct rp_pacer *pacer = make(2);
	uint64_t fast = 0;

	UT_OK(rp_pacer_add_at(pacer, 0, 10, (struct rp_tsc){0}));
	UT_OK(rp_pacer_add_at(pacer, 1, UINT64_C(1) << 53, (struct rp_tsc){0}));
	for (uint64_t t = 0; t < 100000; t++) {
		struct rp_pacer_due due;

		while (rp_pacer_take(pacer, (struct rp_tsc){t}, &due))
			fast += due.id == 0;
	}
	UT_EQ(fast, 10000);
	rp_pacer_destroy(pacer);
}

static void
rp_pacer_take__skipped_more_than_32_bits__saturates_per_entry(void)
{
	struct rp_pacer *pacer = make(1);
	struct rp_pacer_due due;

	UT_OK(rp_pacer_add_at(pacer, 0, 2, (struct rp_tsc){0}));
	UT_FALSE(rp_pacer_take(pacer, (struct rp_tsc){(UINT64_C(1) << 40) + 1}, &due));
	UT_EQ_U(rp_pacer_skipped(pacer), (UINT64_C(1) << 39) + 1);
	UT_TRUE(rp_pacer_take(pacer, (struct rp_tsc){(UINT64_C(1) << 40) + 2}, &due));
	UT_EQ_U(due.skipped, UINT32_MAX);
	rp_pacer_destroy(pacer);
}

static void
rp_pacer_add__phases_of_many_entries__fill_the_period_evenly(void)
{
	struct rp_pacer *pacer = make(10000);
	uint32_t tenth[10] = {0};

	for (uint32_t i = 0; i < 10000; i++) {
		struct rp_tsc due;

		UT_OK(rp_pacer_add(pacer, i, 1000, (struct rp_tsc){5000}));
		UT_TRUE(rp_pacer_next_of(pacer, i, &due));
		if (!UT_TRUE(due.ticks >= 5000 && due.ticks < 6000))
			return;
		tenth[(due.ticks - 5000) / 100]++;
	}
	/* 1000 expected, sigma 30 */
	for (int i = 0; i < 10; i++)
		UT_NEAR(tenth[i], 1000, 300);
	rp_pacer_destroy(pacer);
}

static void
rp_pacer_create__limits__are_checked(void)
{
	struct rp_pacer *pacer = NULL;

	UT_EQ(rp_pacer_create(0, 1, &pacer), -EINVAL);
	UT_EQ(rp_pacer_create((1u << 20) + 1, 1, &pacer), -EINVAL);
	UT_TRUE(pacer == NULL);
	UT_OK(rp_pacer_create(1u << 20, 1, &pacer));
	UT_OK(rp_pacer_add(pacer, (1u << 20) - 1, 5, (struct rp_tsc){0}));
	rp_pacer_destroy(pacer);
	rp_pacer_destroy(NULL);
}

static void
rp_pacer_add__bad_entry__is_refused_with_its_code(void)
{
	struct rp_pacer *pacer = make(4);
	struct rp_tsc due = {77}, now = {100};

	UT_EQ(rp_pacer_add(pacer, 0, 0, now), -EINVAL);
	UT_EQ(rp_pacer_add(pacer, 0, (UINT64_C(1) << 53) + 1, now), -EINVAL);
	UT_EQ(rp_pacer_add_at(pacer, 0, 0, now), -EINVAL);
	UT_EQ(rp_pacer_add(pacer, 4, 10, now), -ENOSPC);
	UT_FALSE(rp_pacer_next(pacer, &due));
	UT_FALSE(rp_pacer_next_of(pacer, 0, &due));
	UT_FALSE(rp_pacer_next_of(pacer, 4, &due));
	UT_EQ(due.ticks, 77);
	UT_OK(rp_pacer_add(pacer, 0, UINT64_C(1) << 53, now));
	UT_EQ(rp_pacer_add(pacer, 0, 10, now), -EEXIST);
	UT_TRUE(rp_pacer_next(pacer, &due));
	rp_pacer_destroy(pacer);
}

static void
rp_pacer_remove__random_adds_and_removes__leave_the_order_of_the_rest(void)
{
	struct rp_rng rng = ut_rng(3);
	struct rp_pacer *pacer = make(50);
	uint64_t due[50] = {0};
	bool there[50] = {false};

	for (int step = 0; step < 50000; step++) {
		uint32_t id = (uint32_t)rp_rng_below(&rng, 50);
		struct rp_tsc next;
		uint64_t want = UINT64_MAX;

		if (there[id]) {
			UT_OK(rp_pacer_remove(pacer, id));
			UT_FALSE(rp_pacer_next_of(pacer, id, &next));
		} else {
			due[id] = rp_rng_below(&rng, 1000);
			UT_OK(rp_pacer_add_at(pacer, id, 10, (struct rp_tsc){due[id]}));
		}
		there[id] = !there[id];
		for (uint32_t i = 0; i < 50; i++) {
			UT_EQ(rp_pacer_next_of(pacer, i, &next), there[i]);
			if (there[i]) {
				UT_EQ_U(next.ticks, due[i]);
				want = due[i] < want ? due[i] : want;
			}
		}
		UT_EQ(rp_pacer_next(pacer, &next), want != UINT64_MAX);
		if (want != UINT64_MAX && !UT_EQ_U(next.ticks, want))
			return;
	}
	rp_pacer_destroy(pacer);
}

static void
rp_pacer_remove__entry_that_is_not_there__is_enoent(void)
{
	struct rp_pacer *pacer = make(2);

	UT_EQ(rp_pacer_remove(pacer, 0), -ENOENT);
	UT_EQ(rp_pacer_remove(pacer, 2), -ENOENT);
	UT_OK(rp_pacer_add_at(pacer, 0, 10, (struct rp_tsc){0}));
	UT_OK(rp_pacer_remove(pacer, 0));
	UT_EQ(rp_pacer_remove(pacer, 0), -ENOENT);
	rp_pacer_destroy(pacer);
}

static const struct ut_test tests[] = {
	UT(rp_pacer_take__random_schedules_across_the_wrap__equal_the_model),
	UT(rp_pacer_take__polled_often__rate_is_exact_and_phase_is_kept),
	UT(rp_pacer_take__any_polling__never_two_times_of_an_entry_within_its_period),
	UT(rp_pacer_skip_to__long_stall__nothing_is_due_before_its_next_regular_time),
	UT(rp_pacer_take__late_by_a_period_exactly__is_skipped),
	UT(rp_pacer_take__one_dead_slow_entry__does_not_touch_the_others),
	UT(rp_pacer_take__skipped_more_than_32_bits__saturates_per_entry),
	UT(rp_pacer_add__phases_of_many_entries__fill_the_period_evenly),
	UT(rp_pacer_create__limits__are_checked),
	UT(rp_pacer_add__bad_entry__is_refused_with_its_code),
	UT(rp_pacer_remove__random_adds_and_removes__leave_the_order_of_the_rest),
	UT(rp_pacer_remove__entry_that_is_not_there__is_enoent),
};

UT_MAIN("pacer", tests)
