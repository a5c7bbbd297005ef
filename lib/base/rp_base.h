/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef RP_BASE_H
#define RP_BASE_H

/**
 * @file rp_base.h
 * Attributes and small helpers that every room uses.
 *
 * Thread:  n/a. Memory: n/a. Time: n/a.
 */

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Bytes of a cache line on every CPU we build for. */
#define RP_CACHE_LINE 64

#define RP_ARRAY_LEN(a)  (sizeof(a) / sizeof((a)[0]))
#define RP_UNUSED        __attribute__((unused))
#define RP_COLD          __attribute__((cold, noinline))
#define RP_PRINTF(f, a)  __attribute__((format(printf, f, a)))
#define RP_CACHE_ALIGNED __attribute__((aligned(RP_CACHE_LINE)))

#define rp_likely(x)   __builtin_expect(!!(x), 1)
#define rp_unlikely(x) __builtin_expect(!!(x), 0)

#define rp_container_of(ptr, type, member) ((type *)(void *)((char *)(ptr)-offsetof(type, member)))

static inline uint64_t
rp_min_u64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static inline uint64_t
rp_max_u64(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static inline bool
rp_is_pow2(uint64_t v)
{
	return v != 0 && (v & (v - 1)) == 0;
}

/** Smallest power of two >= @p v; @p v in 1 .. 2^63. */
static inline uint64_t
rp_pow2_ceil(uint64_t v)
{
	return v <= 1 ? 1 : UINT64_C(1) << (64 - __builtin_clzll(v - 1));
}

#endif /* RP_BASE_H */
