/* SPDX-License-Identifier: BSD-3-Clause */

#include "rp_time.h"
#include "ut.h"

static uint64_t
any_hz(struct rp_rng *rng)
{
	uint64_t hz = 61 + (rp_rng_next(rng) >> (24 + rp_rng_below(rng, 40)));

	return hz > UINT64_C(1) << 40 ? UINT64_C(1) << 40 : hz;
}

/* |mult / 2^40 - 1e9 / hz| <= half a unit of mult, so ns is off by ticks / 2^41 and a half. */
static void
rp_rate_to_ns__any_rate__is_within_the_stated_rounding(void)
{
	struct rp_rng rng = ut_rng(1);

	for (int i = 0; i < 100000; i++) {
		uint64_t hz = any_hz(&rng);
		struct rp_rate rate = rp_rate_make(hz, 64);
		uint64_t ticks = rp_rng_next(&rng) >> rp_rng_below(&rng, 64);
		unsigned __int128 exact_q = (unsigned __int128)ticks * RP_NS_PER_S / hz;
		unsigned __int128 bound = (ticks >> (RP_RATE_SHIFT + 1)) + 2, diff;
		int64_t ns = rp_rate_to_ns(&rate, ticks);

		if (exact_q + bound > INT64_MAX)
			continue;
		diff = exact_q > (unsigned __int128)ns ? exact_q - (unsigned __int128)ns
						       : (unsigned __int128)ns - exact_q;
		if (!UT_TRUE(diff <= bound)) {
			UT_EQ_U(hz, 0);
			UT_EQ_U(ticks, 0);
			return;
		}
	}
}

static void
rp_rate_to_ns__gigahertz_rates__are_exact_over_a_day(void)
{
	static const uint64_t hz[] = {1000000000, 500000000, 250000000, 125000000, 2000000000};

	for (size_t i = 0; i < RP_ARRAY_LEN(hz); i++) {
		struct rp_rate rate = rp_rate_make(hz[i], 64);

		UT_EQ(rp_rate_to_ns(&rate, 86400 * hz[i]), 86400 * RP_NS_PER_S);
		UT_EQ(rp_rate_to_ns(&rate, hz[i] + 2),
			RP_NS_PER_S + 2 * RP_NS_PER_S / (int64_t)hz[i]);
	}
}

static void
rp_rate_to_ns__mellanox_clock__is_six_point_four_per_tick(void)
{
	struct rp_rate rate = rp_rate_make(156250000, 41);

	UT_EQ(rp_rate_to_ns(&rate, 5), 32);
	UT_EQ(rp_rate_to_ns(&rate, 1), 6);
	UT_EQ(rp_rate_to_ns(&rate, 2), 13);
	UT_EQ(rp_rate_to_ns(&rate, 156250000), RP_NS_PER_S);
	UT_HEX(rate.mask, (UINT64_C(1) << 41) - 1);
}

static void
rp_rate_to_ns__beyond_63_bits__saturates(void)
{
	struct rp_rate rate = rp_rate_make(61, 64);

	UT_EQ(rp_rate_to_ns(&rate, UINT64_MAX), INT64_MAX);
	rate = rp_rate_make(UINT64_C(1) << 40, 64);
	UT_TRUE(rp_rate_to_ns(&rate, UINT64_MAX) < INT64_MAX);
}

static void
rp_rate_to_ticks__any_duration__is_the_floor_and_returns(void)
{
	struct rp_rng rng = ut_rng(2);

	for (int i = 0; i < 50000; i++) {
		uint64_t hz = any_hz(&rng);
		struct rp_rate rate = rp_rate_make(hz, 64);
		int64_t ns = (int64_t)(rp_rng_next(&rng) >> (20 + rp_rng_below(&rng, 40)));
		uint64_t ticks = rp_rate_to_ticks(&rate, ns);
		unsigned __int128 want = (unsigned __int128)ns * hz / 1000000000u;

		if (!UT_EQ_U(ticks, (uint64_t)want))
			return;
	}
}

/* The masks that devices have, and every other one in reach. */
static void
rp_ticks_elapsed__any_mask_across_the_wrap__is_the_signed_difference(void)
{
	struct rp_rng rng = ut_rng(3);

	for (unsigned int bits = 32; bits <= 64; bits++) {
		struct rp_rate rate = rp_rate_make(1000000000, bits);

		for (int i = 0; i < 2000; i++) {
			uint64_t from = rp_rng_next(&rng) & rate.mask;
			/* Shorter than half the range, either way, and often tiny. */
			int64_t d = (int64_t)((rp_rng_next(&rng) & rate.mask / 2) >>
				rp_rng_below(&rng, bits));
			uint64_t to;

			if (rp_rng_below(&rng, 2) == 0)
				d = -d;
			if (rp_rng_below(&rng, 4) == 0)
				from = (uint64_t) - (int64_t)rp_rng_below(&rng, 100) & rate.mask;
			to = (from + (uint64_t)d) & rate.mask;
			if (!UT_EQ(rp_ticks_elapsed(&rate, from, to).v, d)) {
				UT_EQ(bits, 0);
				return;
			}
		}
	}
}

static void
rp_ticks_elapsed__bits_above_the_mask__are_ignored(void)
{
	struct rp_rate rate = rp_rate_make(1000000000, 48);
	struct rp_nic from = {UINT64_C(0xABCD000000000010)}, to = {UINT64_C(0x1234000000000015)};

	UT_EQ(rp_nic_elapsed(&rate, from, to).v, 5);
	UT_EQ(rp_nic_elapsed(&rate, to, from).v, -5);
}

static void
rp_tsc_since__earlier_or_equal_stamp__is_zero(void)
{
	struct rp_tsc a = {UINT64_MAX - 4}, b = {10};

	UT_EQ(rp_tsc_since(a, b), 15);
	UT_EQ(rp_tsc_since(b, a), 0);
	UT_EQ(rp_tsc_since(a, a), 0);
	UT_TRUE(rp_tsc_before(a, b));
	UT_FALSE(rp_tsc_before(b, a));
	UT_FALSE(rp_tsc_before(a, a));
	UT_EQ(rp_tsc_add(a, 15).ticks, b.ticks);
}

static void
rp_tsc_elapsed__two_stamps__is_signed_ns(void)
{
	struct rp_rate rate = rp_rate_make(2500000000u, 64);
	struct rp_tsc a = {UINT64_MAX - 1249}, b = {1250};

	UT_EQ(rp_tsc_elapsed(&rate, a, b).v, 1000);
	UT_EQ(rp_tsc_elapsed(&rate, b, a).v, -1000);
}

static void
rp_remote_elapsed__counter_wraps_between__is_modulo_2_64(void)
{
	struct rp_remote t3 = {UINT64_MAX - 99}, t4 = {400};

	UT_EQ(rp_remote_elapsed(t3, t4).v, 500);
	UT_EQ(rp_remote_elapsed(t4, t3).v, -500);
}

static void
rp_ns_sub__outside_values__do_not_overflow(void)
{
	UT_EQ(rp_ns_sub((struct rp_ns){7}, (struct rp_ns){9}).v, -2);
	UT_EQ(rp_ns_sub((struct rp_ns){INT64_MIN}, (struct rp_ns){1}).v, INT64_MAX);
}

/* Any offset between the clocks, any skew that the bound allows: the RTT comes out. */
static void
network_rtt__random_clocks__is_the_true_one(void)
{
	struct rp_rng rng = ut_rng(4);

	for (int i = 0; i < 20000; i++) {
		struct rp_rate prober = rp_rate_make(156250000, 41);
		struct rp_rate responder = rp_rate_make(1000000000, 63);
		uint64_t out = 500 + rp_rng_below(&rng, 100000),
			 back = 500 + rp_rng_below(&rng, 100000);
		uint64_t stay = rp_rng_below(&rng, 1000000);
		uint64_t t2 = rp_rng_next(&rng) & prober.mask,
			 t3 = rp_rng_next(&rng) & responder.mask;
		uint64_t t5 = (t2 + (out + stay + back) * 10 / 64) & prober.mask;
		uint64_t t4 = (t3 + stay) & responder.mask;
		struct rp_remote r3 = {rp_rng_next(&rng)}, r4 = r3;
		struct rp_ns rtt;

		/* as the responder sends it: ns that only their difference means something */
		r4.ns += (uint64_t)rp_nic_elapsed(
			&responder, (struct rp_nic){t3}, (struct rp_nic){t4})
				 .v;
		rtt = rp_ns_sub(rp_nic_elapsed(&prober, (struct rp_nic){t2}, (struct rp_nic){t5}),
			rp_remote_elapsed(r3, r4));
		if (!UT_NEAR((double)rtt.v, (double)(out + back), 7))
			return;
	}
}

static const struct ut_test tests[] = {
	UT(rp_rate_to_ns__any_rate__is_within_the_stated_rounding),
	UT(rp_rate_to_ns__gigahertz_rates__are_exact_over_a_day),
	UT(rp_rate_to_ns__mellanox_clock__is_six_point_four_per_tick),
	UT(rp_rate_to_ns__beyond_63_bits__saturates),
	UT(rp_rate_to_ticks__any_duration__is_the_floor_and_returns),
	UT(rp_ticks_elapsed__any_mask_across_the_wrap__is_the_signed_difference),
	UT(rp_ticks_elapsed__bits_above_the_mask__are_ignored),
	UT(rp_tsc_since__earlier_or_equal_stamp__is_zero),
	UT(rp_tsc_elapsed__two_stamps__is_signed_ns),
	UT(rp_remote_elapsed__counter_wraps_between__is_modulo_2_64),
	UT(rp_ns_sub__outside_values__do_not_overflow),
	UT(network_rtt__random_clocks__is_the_true_one),
};

UT_MAIN("time", tests)
