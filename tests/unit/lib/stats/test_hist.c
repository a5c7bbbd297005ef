/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <stdio.h>

#include "rp_hist.h"
#include "ut.h"

static void
rp_hist_low__all_buckets__are_contiguous_and_cover_the_range(void)
{
	UT_EQ_U(rp_hist_low(0), RP_HIST_MIN_NS);
	for (uint32_t b = 0; b + 1 < RP_HIST_BUCKETS; b++)
		if (!UT_EQ_U(rp_hist_high(b) + 1, rp_hist_low(b + 1)))
			return;
	UT_TRUE(rp_hist_low(RP_HIST_BUCKETS - 1) <= RP_HIST_MAX_NS);
	UT_TRUE(rp_hist_high(RP_HIST_BUCKETS - 1) >= RP_HIST_MAX_NS);
}

static void
rp_hist_low__every_bucket__is_at_most_a_64th_wide(void)
{
	for (uint32_t b = 0; b < RP_HIST_BUCKETS; b++) {
		uint64_t low = rp_hist_low(b), width = rp_hist_high(b) - low + 1;

		if (!UT_TRUE(width * 64 <= low))
			printf("  bucket %u: %" PRIu64 " wide at %" PRIu64 "\n", b, width, low);
	}
}

static void
rp_hist_bucket__both_edges_and_any_value__lie_in_their_bucket(void)
{
	struct rp_rng rng = ut_rng(1);

	for (uint32_t b = 0; b < RP_HIST_BUCKETS; b++) {
		UT_EQ(rp_hist_bucket(rp_hist_low(b)), b);
		if (rp_hist_high(b) <= RP_HIST_MAX_NS)
			UT_EQ(rp_hist_bucket(rp_hist_high(b)), b);
	}
	UT_EQ(rp_hist_bucket(RP_HIST_MAX_NS), RP_HIST_BUCKETS - 1);
	for (int i = 0; i < 100000; i++) {
		uint64_t ns = RP_HIST_MIN_NS +
			(rp_rng_next(&rng) >> rp_rng_below(&rng, 64)) %
				(RP_HIST_MAX_NS - RP_HIST_MIN_NS + 1);
		uint32_t b = rp_hist_bucket(ns);

		if (!UT_TRUE(b < RP_HIST_BUCKETS && rp_hist_low(b) <= ns && ns <= rp_hist_high(b)))
			return;
	}
}

/* Log-uniform over more than the range, so that under and over are hit. */
static uint64_t
any_ns(struct rp_rng *rng)
{
	return rp_rng_next(rng) >> (28 + rp_rng_below(rng, 36));
}

static int
by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static void
expect_same(const struct rp_hist *dense, const struct rp_shist *sparse)
{
	uint64_t in_buckets = 0;
	uint32_t at = 0;

	UT_EQ_U(sparse->sum.n, dense->sum.n);
	UT_EQ_U(sparse->sum.under, dense->sum.under);
	UT_EQ_U(sparse->sum.over, dense->sum.over);
	if (dense->sum.n > 0) {
		UT_EQ_U(sparse->sum.min_ns, dense->sum.min_ns);
		UT_EQ_U(sparse->sum.max_ns, dense->sum.max_ns);
	}
	for (uint32_t b = 0; b < RP_HIST_BUCKETS; b++) {
		in_buckets += dense->bucket[b];
		if (dense->bucket[b] == 0)
			continue;
		if (at >= sparse->n || sparse->entry == NULL) {
			UT_FALSE("a bucket is missing");
			return;
		}
		UT_EQ(sparse->entry[at].bucket, b);
		UT_EQ_U(sparse->entry[at].count, dense->bucket[b]);
		at++;
	}
	UT_EQ(at, sparse->n);
	UT_EQ_U(in_buckets + dense->sum.under + dense->sum.over, dense->sum.n);
}

static struct rp_hist h, part, merged;
static uint64_t value[4000];

static void
rp_hist_quantile__random_values__is_the_sorted_one_within_its_bucket(void)
{
	struct rp_rng rng = ut_rng(2);

	for (int round = 0; round < 200; round++) {
		size_t n = 1 + rp_rng_below(&rng, RP_ARRAY_LEN(value));
		struct rp_shist sparse = {0};

		memset(&h, 0, sizeof(h));
		for (size_t i = 0; i < n; i++) {
			value[i] = any_ns(&rng);
			rp_hist_add(&h, value[i]);
			UT_OK(rp_shist_add(&sparse, value[i]));
		}
		qsort(value, n, sizeof(value[0]), by_value);
		UT_EQ_U(h.sum.min_ns, value[0]);
		UT_EQ_U(h.sum.max_ns, value[n - 1]);
		for (int q = 0; q < 50; q++) {
			uint64_t den = 1 + rp_rng_below(&rng, 10000);
			uint64_t num = rp_rng_below(&rng, den + 1), dense_ns = 0, sparse_ns = 1;
			size_t rank = (n * num + den - 1) / den;
			uint64_t want = value[rank == 0 ? 0 : rank - 1];

			UT_TRUE(rp_hist_quantile(&h, num, den, &dense_ns));
			UT_TRUE(rp_shist_quantile(&sparse, num, den, &sparse_ns));
			UT_EQ_U(sparse_ns, dense_ns);
			if (want < RP_HIST_MIN_NS)
				UT_EQ_U(dense_ns, value[0]);
			else if (want > RP_HIST_MAX_NS)
				UT_EQ_U(dense_ns, value[n - 1]);
			else if (!UT_TRUE(dense_ns >= want &&
					 dense_ns <= rp_hist_high(rp_hist_bucket(want))))
				return;
		}
		expect_same(&h, &sparse);
		rp_shist_fini(&sparse);
	}
}

static void
rp_hist_merge__parts_in_any_split__equal_adding_all(void)
{
	struct rp_rng rng = ut_rng(3);

	for (int round = 0; round < 50; round++) {
		struct rp_shist whole = {0}, sum = {0};
		uint64_t parts = 1 + rp_rng_below(&rng, 6);

		memset(&h, 0, sizeof(h));
		memset(&merged, 0, sizeof(merged));
		for (uint64_t p = 0; p < parts; p++) {
			struct rp_shist sparse = {0};

			memset(&part, 0, sizeof(part));
			for (uint64_t i = rp_rng_below(&rng, 400); i > 0; i--) {
				uint64_t ns = any_ns(&rng);

				rp_hist_add(&h, ns);
				rp_hist_add(&part, ns);
				UT_OK(rp_shist_add(&sparse, ns));
				UT_OK(rp_shist_add(&whole, ns));
			}
			if (p % 2 == 0)
				rp_hist_merge(&merged, &part);
			else
				rp_hist_merge_sparse(&merged, &sparse);
			UT_OK(rp_shist_merge(&sum, &sparse));
			rp_shist_fini(&sparse);
		}
		UT_MEM(merged.bucket, h.bucket, sizeof(h.bucket));
		expect_same(&merged, &sum);
		expect_same(&h, &whole);
		rp_shist_fini(&whole);
		rp_shist_fini(&sum);
	}
}

static void
rp_hist_add__values_at_the_limits__are_counted_where_they_belong(void)
{
	static const uint64_t ns[] = {
		0, 99, 100, UINT64_C(10000000000), UINT64_C(10000000001), UINT64_MAX};

	memset(&h, 0, sizeof(h));
	for (size_t i = 0; i < RP_ARRAY_LEN(ns); i++)
		rp_hist_add(&h, ns[i]);
	UT_EQ(h.sum.n, 6);
	UT_EQ(h.sum.under, 2);
	UT_EQ(h.sum.over, 2);
	UT_EQ(h.bucket[0], 1);
	UT_EQ(h.bucket[RP_HIST_BUCKETS - 1], 1);
	UT_EQ_U(h.sum.min_ns, 0);
	UT_EQ_U(h.sum.max_ns, UINT64_MAX);
}

static void
rp_hist_quantile__nothing_to_answer__is_false(void)
{
	struct rp_shist sparse = {0};
	uint64_t ns = 7;

	memset(&h, 0, sizeof(h));
	UT_FALSE(rp_hist_quantile(&h, 1, 2, &ns));
	UT_FALSE(rp_shist_quantile(&sparse, 1, 2, &ns));
	rp_hist_add(&h, 5000);
	UT_FALSE(rp_hist_quantile(&h, 3, 2, &ns));
	UT_FALSE(rp_hist_quantile(&h, 0, 0, &ns));
	UT_EQ(ns, 7);
	UT_TRUE(rp_hist_quantile(&h, 0, 1, &ns));
	UT_EQ(ns, 5000);
}

static void
rp_hist_quantile__one_value__is_exact(void)
{
	memset(&h, 0, sizeof(h));
	rp_hist_add(&h, 123456);
	for (uint64_t q = 0; q <= 100; q++) {
		uint64_t ns = 0;

		UT_TRUE(rp_hist_quantile(&h, q, 100, &ns));
		UT_EQ(ns, 123456);
	}
}

static void
rp_hist_quantile__sum_from_outside_disagrees__answers_the_maximum(void)
{
	struct rp_shist sparse = {.sum = {.n = 10, .min_ns = 200, .max_ns = 900}};
	uint64_t ns = 0;

	memset(&h, 0, sizeof(h));
	h.sum = sparse.sum;
	UT_OK(rp_shist_append(&sparse, rp_hist_bucket(300), 1));
	UT_TRUE(rp_shist_quantile(&sparse, 99, 100, &ns));
	UT_EQ(ns, 900);
	UT_TRUE(rp_hist_quantile(&h, 99, 100, &ns));
	UT_EQ(ns, 900);
	rp_shist_fini(&sparse);
}

static void
rp_shist_append__from_outside__must_rise_and_count(void)
{
	struct rp_shist s = {0};

	UT_OK(rp_shist_append(&s, 0, 1));
	UT_OK(rp_shist_append(&s, 5, UINT32_MAX));
	UT_EQ(rp_shist_append(&s, 5, 1), -EINVAL);
	UT_EQ(rp_shist_append(&s, 4, 1), -EINVAL);
	UT_EQ(rp_shist_append(&s, 6, 0), -EINVAL);
	UT_EQ(rp_shist_append(&s, RP_HIST_BUCKETS, 1), -EINVAL);
	UT_EQ(s.n, 2);
	UT_OK(rp_shist_append(&s, RP_HIST_BUCKETS - 1, 1));
	UT_EQ(s.n, 3);
	rp_shist_fini(&s);
}

static void
rp_shist_add__count_at_its_limit__saturates(void)
{
	struct rp_shist s = {0};

	UT_OK(rp_shist_append(&s, rp_hist_bucket(500), UINT32_MAX));
	UT_OK(rp_shist_add(&s, 500));
	UT_EQ_U(s.entry[0].count, UINT32_MAX);
	UT_EQ(s.n, 1);
	rp_shist_fini(&s);
}

static void
rp_shist_clear__used_again__keeps_its_memory(void)
{
	struct rp_shist s = {0};
	uint32_t cap;

	for (uint64_t ns = 100; ns < 200; ns++)
		UT_OK(rp_shist_add(&s, ns));
	cap = s.cap;
	rp_shist_clear(&s);
	UT_EQ(s.n, 0);
	UT_EQ(s.sum.n, 0);
	UT_EQ(s.cap, cap);
	UT_OK(rp_shist_add(&s, 100));
	UT_EQ(s.sum.min_ns, 100);
	rp_shist_fini(&s);
	UT_TRUE(s.entry == NULL && s.cap == 0);
}

static const struct ut_test tests[] = {
	UT(rp_hist_low__all_buckets__are_contiguous_and_cover_the_range),
	UT(rp_hist_low__every_bucket__is_at_most_a_64th_wide),
	UT(rp_hist_bucket__both_edges_and_any_value__lie_in_their_bucket),
	UT(rp_hist_quantile__random_values__is_the_sorted_one_within_its_bucket),
	UT(rp_hist_merge__parts_in_any_split__equal_adding_all),
	UT(rp_hist_add__values_at_the_limits__are_counted_where_they_belong),
	UT(rp_hist_quantile__nothing_to_answer__is_false),
	UT(rp_hist_quantile__one_value__is_exact),
	UT(rp_hist_quantile__sum_from_outside_disagrees__answers_the_maximum),
	UT(rp_shist_append__from_outside__must_rise_and_count),
	UT(rp_shist_add__count_at_its_limit__saturates),
	UT(rp_shist_clear__used_again__keeps_its_memory),
};

UT_MAIN("hist", tests)
