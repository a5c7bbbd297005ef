/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef RP_HIST_H
#define RP_HIST_H

/**
 * @file rp_hist.h
 * Log-linear histogram of durations: 64 buckets per octave from 100 ns to 10 s,
 * so a bucket is at most 1/64 = 1.5625 % wide. Values outside are counted apart
 * and keep their exact minimum and maximum. Histograms merge exactly.
 *
 * Two forms with the same buckets: dense (struct rp_hist, constant-time add, for
 * one of a kind) and sparse (struct rp_shist, for thousands of paths).
 *
 * Thread:  one owner. Memory: dense is fixed; sparse grows on the heap.
 * Time:    ns.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RP_HIST_MIN_NS  UINT64_C(100)
#define RP_HIST_MAX_NS  UINT64_C(10000000000)
#define RP_HIST_SUB     64   /* buckets per octave */
#define RP_HIST_BUCKETS 1703 /* bucket 0 holds 100 ns, the last one 10 s */

/** Bucket of @p ns; RP_HIST_MIN_NS <= ns <= RP_HIST_MAX_NS. */
static inline uint32_t
rp_hist_bucket(uint64_t ns)
{
	uint32_t octave = 63 - (uint32_t)__builtin_clzll(ns); /* 6 .. 33 */

	return (octave - 6) * RP_HIST_SUB + (uint32_t)(ns >> (octave - 6)) - RP_HIST_SUB -
		(uint32_t)(RP_HIST_MIN_NS - RP_HIST_SUB);
}

/** Smallest and largest value of bucket @p b < RP_HIST_BUCKETS. */
uint64_t rp_hist_low(uint32_t b);
uint64_t rp_hist_high(uint32_t b);

/** What both forms know of all their values. */
struct rp_hist_sum {
	uint64_t n; /* all values, those out of range included */
	uint64_t under;
	uint64_t over;
	uint64_t min_ns; /* exact; meaningless while n is 0 */
	uint64_t max_ns;
};

struct rp_hist {
	struct rp_hist_sum sum;
	uint64_t bucket[RP_HIST_BUCKETS];
};

struct rp_shist_entry {
	uint32_t bucket;
	uint32_t count;
};

/** All zero is an empty histogram. */
struct rp_shist {
	struct rp_hist_sum sum;
	struct rp_shist_entry *entry; /* by rising bucket, counts > 0 */
	uint32_t n;
	uint32_t cap;
};

void rp_hist_add(struct rp_hist *h, uint64_t ns);
void rp_hist_merge(struct rp_hist *to, const struct rp_hist *from);
void rp_hist_merge_sparse(struct rp_hist *to, const struct rp_shist *from);

/**
 * Nearest-rank quantile in integers: rank = ceil(n * num / den), 1 <= rank <= n.
 * The answer is the upper end of the rank's bucket, within [min, max]; a rank
 * among the values below or above the range answers min or max.
 *
 * @return false when empty, or num > den, or den is 0
 */
bool rp_hist_quantile(const struct rp_hist *h, uint64_t num, uint64_t den, uint64_t *ret_ns);

/** @return 0, -ENOMEM (the value is not counted) */
int rp_shist_add(struct rp_shist *h, uint64_t ns);
int rp_shist_merge(struct rp_shist *to, const struct rp_shist *from);

/**
 * Append one bucket read from outside. Buckets must rise.
 * @return 0, -EINVAL (range, order, zero count), -ENOMEM
 */
int rp_shist_append(struct rp_shist *h, uint32_t bucket, uint32_t count);

bool rp_shist_quantile(const struct rp_shist *h, uint64_t num, uint64_t den, uint64_t *ret_ns);

/** Forget the values, keep the memory. */
void rp_shist_clear(struct rp_shist *h);
void rp_shist_fini(struct rp_shist *h);

#endif /* RP_HIST_H */
