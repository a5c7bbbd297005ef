/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef RP_RNG_H
#define RP_RNG_H

/**
 * @file rp_rng.h
 * Seedable generator for phases, jitter, sampling and tests. Not for secrets:
 * those come from rp_random_bytes().
 *
 * Thread:  one owner per struct rp_rng. Memory: the caller's. Time: n/a.
 */

#include <stddef.h>
#include <stdint.h>

struct rp_rng {
	uint64_t state;
};

static inline void
rp_rng_init(struct rp_rng *rng, uint64_t seed)
{
	rng->state = seed;
}

/** Next 64 bits (splitmix64: Steele, Lea, Flood 2014). */
static inline uint64_t
rp_rng_next(struct rp_rng *rng)
{
	uint64_t z = (rng->state += UINT64_C(0x9e3779b97f4a7c15));

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

/** Uniform in 0 .. n-1 up to a bias of n / 2^64; @p n > 0. */
static inline uint64_t
rp_rng_below(struct rp_rng *rng, uint64_t n)
{
	return (uint64_t)(((unsigned __int128)rp_rng_next(rng) * n) >> 64);
}

/** Uniform in [0, 1). */
static inline double
rp_rng_unit(struct rp_rng *rng)
{
	return (double)(rp_rng_next(rng) >> 11) * 0x1.0p-53;
}

/** Fill @p buf from the kernel's generator. Cannot fail on Linux >= 3.17. */
void rp_random_bytes(void *buf, size_t len);

#endif /* RP_RNG_H */
