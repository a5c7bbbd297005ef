/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef RP_TSC_H
#define RP_TSC_H

/**
 * @file rp_tsc.h
 * The host clock: the TSC calibrated against CLOCK_MONOTONIC_RAW, or
 * CLOCK_MONOTONIC_RAW itself where the TSC is not trustworthy.
 *
 * rte_get_tsc_hz() is rounded to 10 MHz, up to 0.2 % off: it is not used.
 *
 * Thread:  rp_host_clock_init() and _refine() on the control thread; reading on
 *          any. The rate is fixed at init, so that all differences of a process
 *          are of one scale; refine() only narrows the published error.
 * Memory:  the caller's struct.
 * Time:    ticks; rate in struct rp_rate; error in parts per billion.
 */

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "rp_base.h"
#include "rp_time.h"

struct rp_host_clock {
	struct rp_rate rate;
	bool uses_tsc;
	/* Bound of |true rate / rate - 1|; 0 for the fallback, which is its own reference. */
	uint32_t error_ppb;
	char why[96]; /* why the fallback was taken; "" with the TSC */
	/* anchor of the calibration, for refine */
	uint64_t anchor_ticks;
	int64_t anchor_ns;
	int64_t anchor_width_ns;
};

/** One calibration sample: a reference reading between two counter readings. */
struct rp_clock_sample {
	uint64_t ticks_before;
	uint64_t ticks_after;
	int64_t ref_ns;
};

/**
 * Calibrate for about @p ms milliseconds (10 .. 1000) and choose the clock.
 *
 * @param root  "" in production; tests give a folder that holds fake
 *              proc/cpuinfo and sys/.../current_clocksource
 * @return 0; never fails: without a usable TSC it takes the fallback
 */
int rp_host_clock_init(struct rp_host_clock *clock, unsigned int ms, const char *root);

/** Measure again against the anchor; lowers error_ppb as the interval grows. */
void rp_host_clock_refine(struct rp_host_clock *clock);

/**
 * Why the TSC of the machine under @p root must not be used, or NULL when it may:
 * needs the flags constant_tsc and nonstop_tsc, and a kernel that has not marked
 * it unstable.
 */
const char *rp_tsc_distrust(const char *root, char *why, size_t len);

/**
 * Rate and error bound from two samples (pure; the first and the last of a run).
 * @return 0, -EINVAL when they do not lie apart
 */
int rp_clock_fit(const struct rp_clock_sample *first, const struct rp_clock_sample *last,
	uint64_t *ret_hz, uint32_t *ret_error_ppb);

static inline uint64_t
rp_ticks_raw(void)
{
#if defined(__x86_64__)
	return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
	uint64_t v;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(v));
	return v;
#else
	return 0;
#endif
}

static inline struct rp_tsc
rp_host_now(const struct rp_host_clock *clock)
{
	struct timespec ts;

	if (rp_likely(clock->uses_tsc))
		return (struct rp_tsc){rp_ticks_raw()};
	clock_gettime(CLOCK_MONOTONIC_RAW, &ts);
	return (struct rp_tsc){(uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec};
}

#endif /* RP_TSC_H */
