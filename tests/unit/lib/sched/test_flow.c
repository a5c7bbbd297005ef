/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <stdio.h>

#include "rp_be.h"
#include "rp_flow.h"
#include "ut.h"

static void
rp_flow_sport__published_pairs__are_met(void)
{
	UT_HEX(rp_flow_sport(0x00123), 0xC123);
	UT_HEX(rp_flow_sport(0x04000), 0xC001);
	UT_HEX(rp_flow_sport(0x04001), 0xC000);
	UT_HEX(rp_flow_sport(0x03FFF), 0xFFFF);
	UT_HEX(rp_flow_sport(0xFFFFF), 0xFFC0);
}

static void
rp_flow_label_of__every_port__has_a_label_that_is_not_zero(void)
{
	for (uint32_t port = 0xC000; port <= 0xFFFF; port++) {
		uint32_t label = rp_flow_label_of((uint16_t)port);

		if (!UT_TRUE(label != 0 && label <= RP_FLOW_LABEL_MAX) ||
			!UT_HEX(rp_flow_sport(label), port))
			return;
	}
	UT_HEX(rp_flow_label_of(0xC000), 0x4001);
}

static void
rp_fnv1a__published_values__are_met(void)
{
	UT_HEX(rp_fnv1a(RP_FNV_INIT, "", 0), 0x811c9dc5);
	UT_HEX(rp_fnv1a(RP_FNV_INIT, "a", 1), 0xe40c292c);
	UT_HEX(rp_fnv1a(RP_FNV_INIT, "foobar", 6), 0xbf9cf968);
	UT_HEX(rp_fnv1a(rp_fnv1a(RP_FNV_INIT, "foo", 3), "bar", 3), 0xbf9cf968);
}

static uint32_t
seed_of(const char *requester, const char *target)
{
	struct rp_gid r, t;

	if (rp_gid_parse(requester, &r) != 0 || rp_gid_parse(target, &t) != 0)
		abort();
	return rp_flow_seed(&r, &t);
}

static void
rp_flow_seed__known_pair__is_the_value_computed_apart(void)
{
	UT_HEX(seed_of("10.77.0.1", "fd77::2"), 0xd8e6d7db);
	UT_HEX(seed_of("fd77::2", "10.77.0.1"), 0xa4281e1f);
}

/* Values of a few lines of Python written from the protocol document. */
static void
rp_flow_expand__known_seed__gives_the_labels_computed_apart(void)
{
	static const uint32_t want[16] = {0x5d26e, 0x6aff2, 0x6ae5f, 0x6accc, 0x6ab39, 0x867cd,
		0x6a813, 0x6a680, 0x6be1d, 0x6bc8a, 0x06678, 0x6b964, 0x6b7d1, 0x6b63e, 0x6b4ab,
		0x87b4f};
	static const uint32_t next[4] = {0x5d401, 0x8663a, 0x0680b, 0x879bc};
	static uint32_t many[RP_FLOW_LABELS_MAX];
	static uint8_t bytes[4 * RP_FLOW_LABELS_MAX];
	uint32_t got[16];

	UT_OK(rp_flow_expand(0xd8e6d7db, 472222, 16, got));
	for (int i = 0; i < 16; i++)
		UT_HEX(got[i], want[i]);
	UT_OK(rp_flow_expand(0xd8e6d7db, 472223, 16, got));
	for (int i = 0; i < 16; i++)
		UT_HEX(got[i], i % 5 == 0 ? next[i / 5] : want[i]);

	/* The largest set, with 593 collisions resolved on the way. */
	UT_OK(rp_flow_expand(0x12345678, 1, RP_FLOW_LABELS_MAX, many));
	for (size_t i = 0; i < RP_FLOW_LABELS_MAX; i++)
		rp_store_be32(bytes + 4 * i, many[i]);
	UT_HEX(rp_fnv1a(RP_FNV_INIT, bytes, sizeof(bytes)), 0xfc8f3ba0);
}

static void
rp_flow_expand__any_seed__distinct_ports_and_four_fifths_stay(void)
{
	struct rp_rng rng = ut_rng(1);

	for (int round = 0; round < 300; round++) {
		uint32_t n = 1 + (uint32_t)rp_rng_below(&rng, 600),
			 seed = (uint32_t)rp_rng_next(&rng);
		uint64_t epoch = rp_rng_next(&rng) >> rp_rng_below(&rng, 64);
		uint32_t now[600], later[600], moved = 0;
		bool used[65536] = {false};

		UT_OK(rp_flow_expand(seed, epoch, n, now));
		UT_OK(rp_flow_expand(seed, epoch + 1, n, later));
		for (uint32_t i = 0; i < n; i++) {
			uint16_t port = rp_flow_sport(now[i]);

			UT_TRUE(now[i] != 0 && now[i] <= RP_FLOW_LABEL_MAX);
			UT_FALSE(used[port]);
			used[port] = true;
			if (i % 5 != 0)
				UT_HEX(later[i], now[i]);
			moved += later[i] != now[i];
		}
		/* All of the rotating fifth, but for a rare repetition by chance. */
		UT_TRUE(moved <= (n + 4) / 5);
		UT_TRUE(moved + 2 >= (n + 4) / 5);
	}
}

static void
rp_flow_expand__smaller_set__is_stable_when_it_grows(void)
{
	uint32_t few[20], many[40];

	UT_OK(rp_flow_expand(99, 5, 20, few));
	UT_OK(rp_flow_expand(99, 5, 40, many));
	for (int i = 0; i < 20; i++)
		if (i % 5 != 0)
			UT_HEX(many[i], few[i]);
}

static void
rp_flow_expand__size_out_of_range__is_refused(void)
{
	uint32_t label[1] = {7};

	UT_EQ(rp_flow_expand(1, 1, 0, label), -EINVAL);
	UT_EQ(rp_flow_expand(1, 1, RP_FLOW_LABELS_MAX + 1, label), -EINVAL);
	UT_EQ(label[0], 7);
}

static void
rp_flow_epoch__around_a_period__changes_at_its_start(void)
{
	UT_EQ(rp_flow_epoch(0, 3600), 0);
	UT_EQ(rp_flow_epoch(3599, 3600), 0);
	UT_EQ(rp_flow_epoch(3600, 3600), 1);
	UT_EQ(rp_flow_epoch(-5, 3600), 0);
	UT_EQ(rp_flow_epoch(INT64_C(1) << 40, 1), INT64_C(1) << 40);
}

static void
rp_flow_pick__k_squared_probes__visit_every_pair_once(void)
{
	for (uint32_t k = 1; k <= 40; k++) {
		bool seen[40][40] = {{false}};

		for (uint64_t i = 0; i < (uint64_t)k * k; i++) {
			uint32_t forward, reply;

			rp_flow_pick(i, k, &forward, &reply);
			if (!UT_TRUE(forward < k && reply < k) || !UT_FALSE(seen[forward][reply]))
				return;
			seen[forward][reply] = true;
		}
	}
}

static void
rp_coverage_labels__protocol_table__is_met(void)
{
	static const struct {
		uint32_t n, k99, k90;
	} row[] = {{4, 21, 13}, {8, 51, 33}, {16, 115, 79}, {32, 255, 181}, {64, 557, 408},
		{128, 1206, 906}};

	for (size_t i = 0; i < RP_ARRAY_LEN(row); i++) {
		double reached = 0;

		UT_EQ(rp_coverage_labels(row[i].n, 0.99, 100000, &reached), row[i].k99);
		UT_TRUE(reached >= 0.99);
		UT_TRUE(rp_coverage(row[i].n, row[i].k99 - 1) < 0.99);
		UT_EQ(rp_coverage_labels(row[i].n, 0.90, 100000, &reached), row[i].k90);
		UT_TRUE(rp_coverage(row[i].n, row[i].k90 - 1) < 0.90);
	}
}

/* The alternating sum is exact enough for few paths. */
static void
rp_coverage__few_paths__agrees_with_inclusion_and_exclusion(void)
{
	for (uint32_t n = 1; n <= 12; n++) {
		for (uint32_t k = 0; k < 80; k++) {
			double want = 0, choose = 1;

			for (uint32_t i = 0; i <= n; i++) {
				double term = choose;

				for (uint32_t p = 0; p < k; p++)
					term *= 1 - (double)i / n;
				want += i % 2 == 0 ? term : -term;
				choose = choose * (n - i) / (i + 1);
			}
			if (!UT_NEAR(rp_coverage(n, k), want, 1e-9))
				return;
		}
	}
}

static void
rp_coverage__random_draws__agree_with_a_simulation(void)
{
	struct rp_rng rng = ut_rng(2);
	const int runs = 20000;
	int all = 0;

	for (int r = 0; r < runs; r++) {
		uint32_t seen = 0;

		for (int i = 0; i < 50; i++)
			seen |= 1u << rp_rng_below(&rng, 16);
		all += seen == 0xFFFF;
	}
	/* sigma is below 0.0036: six of them */
	UT_NEAR((double)all / runs, rp_coverage(16, 50), 0.022);
}

static void
rp_coverage_labels__1024_paths__works_and_more_is_refused(void)
{
	double reached = 7;
	uint32_t k = rp_coverage_labels(1024, 0.99, 100000, &reached);

	UT_TRUE(k > 11000 && k < 12500);
	UT_TRUE(reached >= 0.99 && reached < 0.9901);
	UT_TRUE(rp_coverage(1024, k - 1) < 0.99);
	UT_EQ(rp_coverage_labels(1025, 0.99, 100000, &reached), 0);
	UT_NEAR(reached, 0, 0);
	UT_EQ(rp_coverage_labels(0, 0.99, 100000, &reached), 0);
	UT_NEAR(rp_coverage(0, 5), 0, 0);
	UT_NEAR(rp_coverage(1025, 5), 0, 0);
}

static void
rp_coverage_labels__cap_bites__says_what_is_reached(void)
{
	double reached = 0;

	UT_EQ(rp_coverage_labels(32, 0.99, 128, &reached), 128);
	UT_TRUE(reached > 0 && reached < 0.99);
	UT_NEAR(reached, rp_coverage(32, 128), 1e-12);
	UT_EQ(rp_coverage_labels(1, 0.99, 128, &reached), 1);
	UT_NEAR(reached, 1, 0);
}

static const struct ut_test tests[] = {
	UT(rp_flow_sport__published_pairs__are_met),
	UT(rp_flow_label_of__every_port__has_a_label_that_is_not_zero),
	UT(rp_fnv1a__published_values__are_met),
	UT(rp_flow_seed__known_pair__is_the_value_computed_apart),
	UT(rp_flow_expand__known_seed__gives_the_labels_computed_apart),
	UT(rp_flow_expand__any_seed__distinct_ports_and_four_fifths_stay),
	UT(rp_flow_expand__smaller_set__is_stable_when_it_grows),
	UT(rp_flow_expand__size_out_of_range__is_refused),
	UT(rp_flow_epoch__around_a_period__changes_at_its_start),
	UT(rp_flow_pick__k_squared_probes__visit_every_pair_once),
	UT(rp_coverage_labels__protocol_table__is_met),
	UT(rp_coverage__few_paths__agrees_with_inclusion_and_exclusion),
	UT(rp_coverage__random_draws__agree_with_a_simulation),
	UT(rp_coverage_labels__1024_paths__works_and_more_is_refused),
	UT(rp_coverage_labels__cap_bites__says_what_is_reached),
};

UT_MAIN("flow", tests)
