/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <ftw.h>
#include <math.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "rp_tsc.h"
#include "ut.h"

/* The true counter position of the reference lies anywhere inside its bracket. */
static void
rp_clock_fit__any_brackets__true_rate_is_within_the_bound(void)
{
	struct rp_rng rng = ut_rng(1);

	for (int i = 0; i < 100000; i++) {
		uint64_t true_mhz = 1 + rp_rng_below(&rng, 5000);
		long double hz = (long double)true_mhz * 1e6L * (1 + rp_rng_unit(&rng) * 1e-3L);
		int64_t ns = (int64_t)(rp_rng_next(&rng) >> (64 - 24 - rp_rng_below(&rng, 16)));
		uint64_t w1 = rp_rng_below(&rng, 2000), w2 = rp_rng_below(&rng, 2000);
		uint64_t start = rp_rng_next(&rng) >> 2;
		uint64_t at1 = rp_rng_below(&rng, w1 + 1), at2 = rp_rng_below(&rng, w2 + 1);
		struct rp_clock_sample a, b;
		uint64_t end, got;
		uint32_t ppb;
		long double off;

		ns += 10 * RP_NS_PER_MS;
		end = start + (uint64_t)(hz * (long double)ns / 1e9L);
		a = (struct rp_clock_sample){start - at1, start - at1 + w1, 12345};
		b = (struct rp_clock_sample){end - at2, end - at2 + w2, 12345 + ns};
		UT_OK(rp_clock_fit(&a, &b, &got, &ppb));
		off = fabsl(hz / (long double)got - 1) * 1e9L;
		if (!UT_TRUE(off <= (long double)ppb)) {
			printf("  hz %Lf got %" PRIu64 " ns %" PRId64 " w %" PRIu64 " %" PRIu64
			       ": off %Lf, bound %u\n",
				hz, got, ns, w1, w2, off, ppb);
			return;
		}
	}
}

/* 10000.99 ticks in 10 ms, each bracket off by three of its five ticks the worst way. */
static void
rp_clock_fit__odd_brackets_and_a_cut_tick__bound_holds(void)
{
	struct rp_clock_sample a = {1000, 1005, 0}, b = {10995, 11000, 10 * RP_NS_PER_MS};
	uint64_t hz;
	uint32_t ppb;

	UT_OK(rp_clock_fit(&a, &b, &hz, &ppb));
	UT_EQ(hz, 999500);
	UT_TRUE((1000099 - hz) * UINT64_C(1000000000) / hz < ppb);
}

static void
rp_clock_fit__tight_brackets_one_second_apart__bound_is_tight(void)
{
	struct rp_clock_sample a = {1000, 1040, 0}, b = {2500001000, 2500001040, RP_NS_PER_S};
	uint64_t hz;
	uint32_t ppb;

	UT_OK(rp_clock_fit(&a, &b, &hz, &ppb));
	UT_EQ(hz, 2500000000u);
	/* 41 of 2.5e9 ticks, 1 ns of 1 s, and the roundings */
	UT_TRUE(ppb >= 18 && ppb <= 22);
}

static void
rp_clock_fit__samples_not_apart__is_refused(void)
{
	struct rp_clock_sample a = {1000, 1010, 500}, same_ns = {2000, 2010, 500};
	struct rp_clock_sample before = {2000, 2010, 400}, no_ticks = {1000, 1010, 900};
	struct rp_clock_sample backwards = {0, 10, 900};
	struct rp_clock_sample nearly_stopped = {1001, 1011, 3 * RP_NS_PER_S};
	uint64_t hz = 77;
	uint32_t ppb = 77;

	UT_EQ(rp_clock_fit(&a, &same_ns, &hz, &ppb), -EINVAL);
	UT_EQ(rp_clock_fit(&a, &before, &hz, &ppb), -EINVAL);
	UT_EQ(rp_clock_fit(&a, &no_ticks, &hz, &ppb), -EINVAL);
	UT_EQ(rp_clock_fit(&a, &backwards, &hz, &ppb), -EINVAL);
	UT_EQ(rp_clock_fit(&a, &nearly_stopped, &hz, &ppb), -EINVAL);
	UT_EQ(hz, 77);
	UT_EQ(ppb, 77);
}

static void
rp_clock_fit__hopeless_brackets__bound_saturates(void)
{
	uint64_t half = UINT64_C(1) << 59;
	struct rp_clock_sample a = {0, 2 * half, 0}, b = {half + 1, half + 1, 1};
	uint64_t hz;
	uint32_t ppb;

	UT_OK(rp_clock_fit(&a, &b, &hz, &ppb));
	UT_EQ_U(ppb, UINT32_MAX);
}

/* A machine made of files. */
static char root[64];

static void
put_file(const char *name, const char *text)
{
	char path[256];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", root, name);
	for (char *slash = path + strlen(root) + 1; (slash = strchr(slash, '/')) != NULL; slash++) {
		*slash = '\0';
		mkdir(path, 0700);
		*slash = '/';
	}
	f = fopen(path, "w");
	if (f == NULL || fputs(text, f) < 0 || fclose(f) != 0)
		abort();
}

static int
remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	(void)st, (void)flag, (void)ftw;
	return remove(path);
}

static void
drop_root(void)
{
	nftw(root, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

#define SOURCE "sys/devices/system/clocksource/clocksource0/current_clocksource"

static void
make_root(const char *cpuinfo, const char *source)
{
	snprintf(root, sizeof(root), "/tmp/rp-tsc-XXXXXX");
	if (mkdtemp(root) == NULL)
		abort();
	if (cpuinfo != NULL)
		put_file("proc/cpuinfo", cpuinfo);
	if (source != NULL)
		put_file(SOURCE, source);
}

static const char *
distrust(const char *cpuinfo, const char *source, char *why, size_t len)
{
	const char *verdict;

	make_root(cpuinfo, source);
	verdict = rp_tsc_distrust(root, why, len);
	drop_root();
	return verdict;
}

#define GOOD_CPU "processor\t: 0\nflags\t\t: fpu tsc constant_tsc rep_good nonstop_tsc aes\n\n"

static void
rp_tsc_distrust__fake_machines__says_why(void)
{
#if defined(__x86_64__)
	static const char no_flag[] = "the CPU does not report constant_tsc and nonstop_tsc";
	static const char no_source[] = "the kernel does not use the TSC as its clock source";
	static const struct {
		const char *cpuinfo, *source, *want;
	} row[] = {
		{GOOD_CPU, "tsc\n", NULL},
		{GOOD_CPU, "kvm-clock\n", NULL},
		{GOOD_CPU, NULL, NULL},
		{GOOD_CPU, "hpet\n", no_source},
		{GOOD_CPU, "acpi_pm\n", no_source},
		{GOOD_CPU, "jiffies\n", no_source},
		{GOOD_CPU, "refined-jiffies\n", no_source},
		{"flags\t: tsc constant_tsc aes\n", "tsc\n", no_flag},
		{"flags\t: tsc nonstop_tsc aes\n", "tsc\n", no_flag},
		{"flags\t: xconstant_tsc nonstop_tscx\n", "tsc\n", no_flag},
		{"bugs\t: constant_tsc nonstop_tsc\n", "tsc\n", no_flag},
		{"", "tsc\n", no_flag},
		{NULL, "tsc\n", no_flag},
	};

	for (size_t i = 0; i < RP_ARRAY_LEN(row); i++) {
		char why[96] = "";
		const char *got = distrust(row[i].cpuinfo, row[i].source, why, sizeof(why));

		if (row[i].want == NULL ? !UT_TRUE(got == NULL) : !UT_STR(got, row[i].want))
			printf("  case %zu\n", i);
	}
#else
	char why[96];

	UT_TRUE(distrust("", "", why, sizeof(why)) == NULL);
#endif
}

static void
rp_host_clock_init__distrusted_tsc__falls_back_to_the_kernel_clock(void)
{
#if defined(__x86_64__)
	struct rp_host_clock clock;
	struct timespec ts;
	struct rp_tsc now;

	UT_OK(rp_host_clock_init(&clock, 10, "/nonexistent"));
	UT_FALSE(clock.uses_tsc);
	UT_HAS(clock.why, "constant_tsc");
	UT_EQ(clock.rate.hz, 1000000000u);
	UT_EQ(clock.error_ppb, 0);
	now = rp_host_now(&clock);
	clock_gettime(CLOCK_MONOTONIC_RAW, &ts);
	UT_NEAR((double)ts.tv_sec * 1e9 + (double)ts.tv_nsec, (double)now.ticks, 1e9);
	rp_host_clock_refine(&clock);
	UT_EQ(clock.error_ppb, 0);
#endif
}

static void
rp_host_clock_init__trusted_tsc__reads_forward_and_keeps_its_rate(void)
{
	struct rp_host_clock clock;
	struct rp_tsc last;
	uint64_t hz;
	uint32_t error;

	make_root(GOOD_CPU, "tsc\n");
	UT_OK(rp_host_clock_init(&clock, 20, root));
	drop_root();
	UT_TRUE(clock.uses_tsc);
	UT_STR(clock.why, "");
	hz = clock.rate.hz;
	error = clock.error_ppb;
	last = rp_host_now(&clock);
	for (int i = 0; i < 100000; i++) {
		struct rp_tsc now = rp_host_now(&clock);

		if (!UT_FALSE(rp_tsc_before(now, last)))
			return;
		last = now;
	}
	rp_host_clock_refine(&clock);
	UT_EQ(clock.rate.hz, hz);
	UT_TRUE(clock.error_ppb <= error);
}

/* Moved back by what the rate says, the anchor confirms the rate better than the bound did. */
static void
rp_host_clock_refine__anchor_far_in_the_past__narrows_the_error(void)
{
	struct rp_host_clock clock;

	make_root(GOOD_CPU, "tsc\n");
	UT_OK(rp_host_clock_init(&clock, 10, root));
	drop_root();
	UT_TRUE(clock.uses_tsc);
	clock.error_ppb = UINT32_MAX;
	clock.anchor_ns -= 1000 * RP_NS_PER_S;
	clock.anchor_ticks -= 1000 * clock.rate.hz;
	rp_host_clock_refine(&clock);
	UT_TRUE(clock.error_ppb > 0);
	UT_TRUE(clock.error_ppb < 1000);
}

static const struct ut_test tests[] = {
	UT(rp_clock_fit__any_brackets__true_rate_is_within_the_bound),
	UT(rp_clock_fit__odd_brackets_and_a_cut_tick__bound_holds),
	UT(rp_clock_fit__tight_brackets_one_second_apart__bound_is_tight),
	UT(rp_clock_fit__samples_not_apart__is_refused),
	UT(rp_clock_fit__hopeless_brackets__bound_saturates),
	UT(rp_tsc_distrust__fake_machines__says_why),
	UT(rp_host_clock_init__distrusted_tsc__falls_back_to_the_kernel_clock),
	UT(rp_host_clock_init__trusted_tsc__reads_forward_and_keeps_its_rate),
	UT(rp_host_clock_refine__anchor_far_in_the_past__narrows_the_error),
};

UT_MAIN("tsc", tests)
