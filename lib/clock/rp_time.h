/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef RP_TIME_H
#define RP_TIME_H

/**
 * @file rp_time.h
 * One type per clock, and the only subtractions that mean something.
 *
 * A probe carries stamps of four clocks: both hosts' and both NICs'. A
 * difference across two of them is a number without meaning, so each clock has
 * its own type and only like may be subtracted from like. The result is a
 * struct rp_ns, the one type that may be mixed.
 *
 * Thread:  a struct rp_rate is written before it is shared, or by one writer
 *          that replaces the whole of it (see rp_tsc.h).
 * Memory:  n/a.
 * Time:    nanoseconds, signed; ticks as the type says.
 */

#include <stdbool.h>
#include <stdint.h>

/** Host clock: TSC ticks, or ns of CLOCK_MONOTONIC_RAW where the TSC is not usable. */
struct rp_tsc {
	uint64_t ticks;
};

/** Clock of one NIC port, free-running ticks. A software port uses the host's ticks. */
struct rp_nic {
	uint64_t ticks;
};

/** Nanoseconds of a peer's NIC clock, as they came over the wire. */
struct rp_remote {
	uint64_t ns;
};

/** A difference of two stamps of one clock. */
struct rp_ns {
	int64_t v;
};

#define RP_NS_PER_S  INT64_C(1000000000)
#define RP_NS_PER_MS INT64_C(1000000)
#define RP_NS_PER_US INT64_C(1000)

/** Fraction bits of struct rp_rate. */
#define RP_RATE_SHIFT 40

/**
 * Rate of a tick counter: ns = ticks * mult / 2^RP_RATE_SHIFT, in 128 bits.
 * The rounding of mult is at most hz / 2^71, about 1e-12 at 2.5 GHz: far below
 * what any crystal keeps.
 */
struct rp_rate {
	uint64_t mult;
	uint64_t hz;   /* 61 .. 2^40 */
	uint64_t mask; /* valid bits of the counter */
};

/** @p hz 61 .. 2^40, @p bits 2 .. 64. */
static inline struct rp_rate
rp_rate_make(uint64_t hz, unsigned int bits)
{
	unsigned __int128 num = (unsigned __int128)RP_NS_PER_S << RP_RATE_SHIFT;

	return (struct rp_rate){
		.mult = (uint64_t)((num + hz / 2) / hz),
		.hz = hz,
		.mask = bits >= 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1,
	};
}

/** Whole ns of @p ticks, rounded to nearest, saturating at 2^63-1. */
static inline int64_t
rp_rate_to_ns(const struct rp_rate *rate, uint64_t ticks)
{
	unsigned __int128 ns = ((unsigned __int128)ticks * rate->mult +
				       ((unsigned __int128)1 << (RP_RATE_SHIFT - 1))) >>
		RP_RATE_SHIFT;

	return ns > (unsigned __int128)INT64_MAX ? INT64_MAX : (int64_t)ns;
}

/** Ticks of @p ns >= 0, rounded down. Divides: not for the hot path. */
static inline uint64_t
rp_rate_to_ticks(const struct rp_rate *rate, int64_t ns)
{
	return (uint64_t)((unsigned __int128)ns * rate->hz / (uint64_t)RP_NS_PER_S);
}

/**
 * Signed ns of a masked difference: more than half of the counter's range means
 * that @p to lies before @p from.
 */
static inline struct rp_ns
rp_ticks_elapsed(const struct rp_rate *rate, uint64_t from, uint64_t to)
{
	uint64_t d = (to - from) & rate->mask;

	if (d > rate->mask / 2)
		return (struct rp_ns){-rp_rate_to_ns(rate, (from - to) & rate->mask)};
	return (struct rp_ns){rp_rate_to_ns(rate, d)};
}

/** Ticks that a later stamp @p to lies after @p from; 0 when it does not. */
static inline uint64_t
rp_tsc_since(struct rp_tsc from, struct rp_tsc to)
{
	int64_t d = (int64_t)(to.ticks - from.ticks);

	return d > 0 ? (uint64_t)d : 0;
}

static inline bool
rp_tsc_before(struct rp_tsc a, struct rp_tsc b)
{
	return (int64_t)(a.ticks - b.ticks) < 0;
}

static inline struct rp_tsc
rp_tsc_add(struct rp_tsc t, uint64_t ticks)
{
	return (struct rp_tsc){t.ticks + ticks};
}

static inline struct rp_ns
rp_tsc_elapsed(const struct rp_rate *rate, struct rp_tsc from, struct rp_tsc to)
{
	return rp_ticks_elapsed(rate, from.ticks, to.ticks);
}

/** Both stamps are of the same NIC port; @p rate is that port's. */
static inline struct rp_ns
rp_nic_elapsed(const struct rp_rate *rate, struct rp_nic from, struct rp_nic to)
{
	return rp_ticks_elapsed(rate, from.ticks, to.ticks);
}

/** Modulo 2^64: a peer's counter may wrap between the two. */
static inline struct rp_ns
rp_remote_elapsed(struct rp_remote from, struct rp_remote to)
{
	return (struct rp_ns){(int64_t)(to.ns - from.ns)};
}

static inline struct rp_ns
rp_ns_sub(struct rp_ns a, struct rp_ns b)
{
	return (struct rp_ns){(int64_t)((uint64_t)a.v - (uint64_t)b.v)};
}

#endif /* RP_TIME_H */
