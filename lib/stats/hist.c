/* SPDX-License-Identifier: BSD-3-Clause */

#include "rp_hist.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Sum of a width is at most this many values before the count saturates. */
#define COUNT_MAX UINT32_MAX

uint64_t
rp_hist_low(uint32_t b)
{
	uint32_t i = b + (uint32_t)(RP_HIST_MIN_NS - RP_HIST_SUB);

	return (uint64_t)(i % RP_HIST_SUB + RP_HIST_SUB) << (i / RP_HIST_SUB);
}

uint64_t
rp_hist_high(uint32_t b)
{
	return rp_hist_low(b + 1) - 1;
}

/* Count @ns in the sum. Returns whether it belongs into a bucket too. */
static bool
add_to_sum(struct rp_hist_sum *sum, uint64_t ns)
{
	if (sum->n == 0 || ns < sum->min_ns)
		sum->min_ns = ns;
	if (sum->n == 0 || ns > sum->max_ns)
		sum->max_ns = ns;
	sum->n++;
	if (ns < RP_HIST_MIN_NS)
		sum->under++;
	else if (ns > RP_HIST_MAX_NS)
		sum->over++;
	else
		return true;
	return false;
}

static void
merge_sums(struct rp_hist_sum *to, const struct rp_hist_sum *from)
{
	if (from->n == 0)
		return;
	if (to->n == 0 || from->min_ns < to->min_ns)
		to->min_ns = from->min_ns;
	if (to->n == 0 || from->max_ns > to->max_ns)
		to->max_ns = from->max_ns;
	to->n += from->n;
	to->under += from->under;
	to->over += from->over;
}

void
rp_hist_add(struct rp_hist *h, uint64_t ns)
{
	if (add_to_sum(&h->sum, ns))
		h->bucket[rp_hist_bucket(ns)]++;
}

void
rp_hist_merge(struct rp_hist *to, const struct rp_hist *from)
{
	merge_sums(&to->sum, &from->sum);
	for (uint32_t b = 0; b < RP_HIST_BUCKETS; b++)
		to->bucket[b] += from->bucket[b];
}

void
rp_hist_merge_sparse(struct rp_hist *to, const struct rp_shist *from)
{
	merge_sums(&to->sum, &from->sum);
	for (uint32_t i = 0; i < from->n; i++)
		to->bucket[from->entry[i].bucket] += from->entry[i].count;
}

/*
 * Rank of the quantile, and whether min or max already answers it: *ret_ns is
 * set then. Returns 0 for "no answer", 1 for "answered", 2 for "walk the buckets".
 */
static int
locate(const struct rp_hist_sum *sum, uint64_t num, uint64_t den, uint64_t *ret_rank,
	uint64_t *ret_ns)
{
	uint64_t rank;

	if (sum->n == 0 || den == 0 || num > den)
		return 0;
	rank = (uint64_t)(((unsigned __int128)sum->n * num + den - 1) / den);
	if (rank == 0)
		rank = 1;
	if (rank <= sum->under) {
		*ret_ns = sum->min_ns;
		return 1;
	}
	if (rank > sum->n - sum->over) {
		*ret_ns = sum->max_ns;
		return 1;
	}
	*ret_rank = rank - sum->under;
	return 2;
}

static uint64_t
clamp(const struct rp_hist_sum *sum, uint64_t ns)
{
	if (ns > sum->max_ns)
		return sum->max_ns;
	return ns < sum->min_ns ? sum->min_ns : ns;
}

bool
rp_hist_quantile(const struct rp_hist *h, uint64_t num, uint64_t den, uint64_t *ret_ns)
{
	uint64_t rank = 0, seen = 0;
	int how = locate(&h->sum, num, den, &rank, ret_ns);

	if (how < 2)
		return how == 1;
	for (uint32_t b = 0; b < RP_HIST_BUCKETS; b++) {
		seen += h->bucket[b];
		if (seen >= rank) {
			*ret_ns = clamp(&h->sum, rp_hist_high(b));
			return true;
		}
	}
	/* Counts and sum disagree: they came from outside. */
	*ret_ns = h->sum.max_ns;
	return true;
}

bool
rp_shist_quantile(const struct rp_shist *h, uint64_t num, uint64_t den, uint64_t *ret_ns)
{
	uint64_t rank = 0, seen = 0;
	int how = locate(&h->sum, num, den, &rank, ret_ns);

	if (how < 2)
		return how == 1;
	for (uint32_t i = 0; i < h->n; i++) {
		seen += h->entry[i].count;
		if (seen >= rank) {
			*ret_ns = clamp(&h->sum, rp_hist_high(h->entry[i].bucket));
			return true;
		}
	}
	*ret_ns = h->sum.max_ns;
	return true;
}

static int
reserve(struct rp_shist *h, uint32_t n)
{
	uint32_t cap = h->cap == 0 ? 8 : h->cap;
	struct rp_shist_entry *grown;

	if (n <= h->cap)
		return 0;
	while (cap < n)
		cap *= 2;
	grown = realloc(h->entry, cap * sizeof(*grown));
	if (grown == NULL)
		return -ENOMEM;
	h->entry = grown;
	h->cap = cap;
	return 0;
}

/* Index of the first entry whose bucket is not below @bucket. */
static uint32_t
lower_bound(const struct rp_shist *h, uint32_t bucket)
{
	uint32_t lo = 0, hi = h->n;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (h->entry[mid].bucket < bucket)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static int
add_count(struct rp_shist *h, uint32_t bucket, uint32_t count)
{
	uint32_t i = lower_bound(h, bucket);
	int rc;

	if (i < h->n && h->entry[i].bucket == bucket) {
		uint32_t room = COUNT_MAX - h->entry[i].count;

		h->entry[i].count += count < room ? count : room;
		return 0;
	}
	rc = reserve(h, h->n + 1);
	if (rc != 0)
		return rc;
	memmove(&h->entry[i + 1], &h->entry[i], (h->n - i) * sizeof(h->entry[0]));
	h->entry[i] = (struct rp_shist_entry){bucket, count};
	h->n++;
	return 0;
}

int
rp_shist_add(struct rp_shist *h, uint64_t ns)
{
	if (ns >= RP_HIST_MIN_NS && ns <= RP_HIST_MAX_NS) {
		int rc = add_count(h, rp_hist_bucket(ns), 1);

		if (rc != 0)
			return rc;
	}
	add_to_sum(&h->sum, ns);
	return 0;
}

int
rp_shist_merge(struct rp_shist *to, const struct rp_shist *from)
{
	/* Room first, so that a failure leaves the histogram as it was. */
	int rc = reserve(to, to->n + from->n);

	if (rc != 0)
		return rc;
	for (uint32_t i = 0; i < from->n; i++)
		add_count(to, from->entry[i].bucket, from->entry[i].count);
	merge_sums(&to->sum, &from->sum);
	return 0;
}

int
rp_shist_append(struct rp_shist *h, uint32_t bucket, uint32_t count)
{
	int rc;

	if (bucket >= RP_HIST_BUCKETS || count == 0 ||
		(h->n > 0 && bucket <= h->entry[h->n - 1].bucket))
		return -EINVAL;
	rc = reserve(h, h->n + 1);
	if (rc != 0)
		return rc;
	h->entry[h->n++] = (struct rp_shist_entry){bucket, count};
	return 0;
}

void
rp_shist_clear(struct rp_shist *h)
{
	h->sum = (struct rp_hist_sum){0};
	h->n = 0;
}

void
rp_shist_fini(struct rp_shist *h)
{
	free(h->entry);
	*h = (struct rp_shist){0};
}
