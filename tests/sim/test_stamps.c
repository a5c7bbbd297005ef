/* SPDX-License-Identifier: BSD-3-Clause */

/* RTT arithmetic end to end: offsets, skews, widths, over the loop fabric. */

#include "rig.h"
#include "ut.h"

#define US RP_NS_PER_US
#define MS RP_NS_PER_MS
#define S  RP_NS_PER_S

static void
program_delay(struct rig *rig, uint32_t from, uint32_t to, int64_t ns)
{
	struct rp_loop_rule rule = {.src = rig_gid(from), .dst = rig_gid(to), .path.delay_ns = ns};

	UT_OK(rp_loop_rule_add(rig->fabric, &rule));
}

static struct rp_loop_clock
random_clock(struct rp_rng *rng, uint64_t hz, int32_t skew_ppb)
{
	static const unsigned int bits[] = {32, 41, 48, 63, 64};

	return (struct rp_loop_clock){
		.hz = hz,
		.bits = bits[rp_rng_below(rng, RP_ARRAY_LEN(bits))],
		.offset = rp_rng_next(rng),
		.skew_ppb = skew_ppb,
	};
}

static void
rtt__any_offset_and_width__is_the_programmed_delay_to_the_nanosecond(void)
{
	struct rp_rng rng = ut_rng(1);

	for (int round = 0; round < 50; round++) {
		struct rig_host_conf a = {.nic = random_clock(&rng, 1000000000, 0)};
		struct rig_host_conf b = {.nic = random_clock(&rng, 1000000000, 0)};
		int64_t there = (int64_t)rp_rng_below(&rng, 5 * MS) + 1;
		int64_t back = (int64_t)rp_rng_below(&rng, 5 * MS) + 1;
		uint64_t ok = 0;
		struct rig rig;

		a.host.offset = rp_rng_next(&rng);
		rig_open(&rig, ut_seed);
		rig_add(&rig, &a);
		rig_add(&rig, &b);
		program_delay(&rig, 0, 1, there);
		program_delay(&rig, 1, 0, back);
		rig_probe(&rig, 0, 1, 100, 4);
		/* 4.3 s is where a 32-bit counter at 1 GHz wraps. */
		rig_run(&rig, 300 * MS, 137 * US);
		rp_loop_advance(rig.fabric, 0);
		for (uint32_t i = 0; i < rig.host[0].n_results; i++) {
			const struct rp_result *r = &rig.host[0].result[i];

			if (r->state == RP_STATE_OK && UT_EQ(r->rtt_ns, there + back))
				ok++;
		}
		UT_TRUE(ok >= 25);
		UT_EQ(rig_stats(&rig, 0)->counts.state[RP_STATE_INVALID], 0);
		rig_close(&rig);
	}
}

static void
rtt__32_bit_clocks_across_their_wrap__stays_exact(void)
{
	struct rig_host_conf conf = {.nic = {.bits = 32, .offset = 0xFFF00000u}};
	struct rig rig;

	rig_open(&rig, ut_seed);
	rig_add(&rig, &conf);
	conf.nic.offset = 0xFF000000u;
	rig_add(&rig, &conf);
	program_delay(&rig, 0, 1, 1500);
	program_delay(&rig, 1, 0, 2500);
	rig_probe(&rig, 0, 1, 1000, 1);
	rig_run(&rig, 10 * S, 250 * US);
	for (uint32_t i = 0; i < rig.host[0].n_results; i++)
		if (rig.host[0].result[i].state == RP_STATE_OK)
			UT_EQ(rig.host[0].result[i].rtt_ns, 4000);
	UT_TRUE(rig_stats(&rig, 0)->counts.state[RP_STATE_OK] > 9900);
	UT_EQ(rig_stats(&rig, 0)->counts.state[RP_STATE_INVALID], 0);
	rig_close(&rig);
}

static void
rtt__skewed_clocks__within_skew_times_the_brackets_and_a_tick(void)
{
	struct rp_rng rng = ut_rng(2);

	for (int round = 0; round < 50; round++) {
		static const uint64_t rates[] = {1000000000, 156250000, 500000000};
		int32_t skew_a = (int32_t)rp_rng_below(&rng, 200001) - 100000;
		int32_t skew_b = (int32_t)rp_rng_below(&rng, 200001) - 100000;
		uint64_t hz_a = rates[rp_rng_below(&rng, 3)], hz_b = rates[rp_rng_below(&rng, 3)];
		struct rig_host_conf a = {.nic = random_clock(&rng, hz_a, skew_a)};
		struct rig_host_conf b = {.nic = random_clock(&rng, hz_b, skew_b)};
		int64_t there = (int64_t)rp_rng_below(&rng, 2 * MS) + 1000;
		int64_t back = (int64_t)rp_rng_below(&rng, 2 * MS) + 1000;
		double skew = (abs(skew_a) > abs(skew_b) ? abs(skew_a) : abs(skew_b)) / 1e9;
		double ticks = 1e9 / (double)hz_a + 1e9 / (double)hz_b;
		uint64_t ok = 0;
		struct rig rig;

		rig_open(&rig, ut_seed);
		rig_add(&rig, &a);
		rig_add(&rig, &b);
		program_delay(&rig, 0, 1, there);
		program_delay(&rig, 1, 0, back);
		rig_probe(&rig, 0, 1, 100, 4);
		rig_run(&rig, 200 * MS, 89 * US);
		for (uint32_t i = 0; i < rig.host[0].n_results; i++) {
			const struct rp_result *r = &rig.host[0].result[i];
			double brackets;

			if (r->state != RP_STATE_OK)
				continue;
			brackets = (double)(there + back) + 2 * (double)r->responder_ns;
			UT_NEAR((double)r->rtt_ns, (double)(there + back),
				skew * brackets + ticks + 1);
			ok++;
		}
		UT_TRUE(ok >= 15);
		rig_close(&rig);
	}
}

static void
responder_delay__a_slow_responder__is_not_in_the_rtt(void)
{
	struct rig_host_conf conf = {0};
	struct rig rig;

	rig_open(&rig, ut_seed);
	rig_add(&rig, &conf);
	rig_add(&rig, &conf);
	program_delay(&rig, 0, 1, 3000);
	program_delay(&rig, 1, 0, 3000);
	rig_probe(&rig, 0, 1, 50, 1);
	/* Turns every 2 ms: that long T3 waits for ACK 1. */
	rig_run(&rig, 1 * S, 2 * MS);
	for (uint32_t i = 0; i < rig.host[0].n_results; i++) {
		const struct rp_result *r = &rig.host[0].result[i];

		if (r->state != RP_STATE_OK)
			continue;
		UT_EQ(r->rtt_ns, 6000);
		UT_TRUE(r->responder_ns > 1 * MS);
		UT_TRUE(r->prober_ns > 1 * MS);
		/* 200 ppm of 2 ms is 400 ns, more than 5 % of 6 us and than 100 ns. */
		UT_TRUE(r->imprecise);
	}
	UT_EQ(rig_stats(&rig, 0)->counts.extra[RP_EXTRA_IMPRECISE],
		rig_stats(&rig, 0)->counts.state[RP_STATE_OK]);
	UT_TRUE(rig_stats(&rig, 0)->counts.state[RP_STATE_OK] > 40);
	rig_close(&rig);
}

static void
stamps__labels_follow_both_ends(void)
{
	static const struct {
		bool a_sw, b_sw;
		enum rp_stamps want;
	} cases[] = {
		{false, false, RP_STAMPS_HW},
		{true, true, RP_STAMPS_SW},
		{true, false, RP_STAMPS_MIXED},
		{false, true, RP_STAMPS_MIXED},
	};

	for (size_t c = 0; c < RP_ARRAY_LEN(cases); c++) {
		struct rig_host_conf a = {.software_stamps = cases[c].a_sw};
		struct rig_host_conf b = {.software_stamps = cases[c].b_sw};
		struct rig rig;

		rig_open(&rig, ut_seed);
		rig_add(&rig, &a);
		rig_add(&rig, &b);
		rig_probe(&rig, 0, 1, 100, 1);
		rig_run(&rig, 100 * MS, 50 * US);
		UT_TRUE(rig_stats(&rig, 0)->counts.state[RP_STATE_OK] >= 8);
		for (uint32_t i = 0; i < rig.host[0].n_results; i++)
			UT_EQ(rig.host[0].result[i].stamps, cases[c].want);
		rig_close(&rig);
	}
}

static const struct ut_test tests[] = {
	UT(rtt__any_offset_and_width__is_the_programmed_delay_to_the_nanosecond),
	UT(rtt__32_bit_clocks_across_their_wrap__stays_exact),
	UT(rtt__skewed_clocks__within_skew_times_the_brackets_and_a_tick),
	UT(responder_delay__a_slow_responder__is_not_in_the_rtt),
	UT(stamps__labels_follow_both_ends),
};

UT_MAIN("stamps", tests)
