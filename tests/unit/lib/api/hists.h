/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef HISTS_H
#define HISTS_H

/** @file hists.h Histograms that go through a message and come back. */

#include "rp_hist.h"
#include "ut.h"

static inline void
random_hist(struct rp_rng *rng, struct rp_shist *h)
{
	static const uint64_t span[] = {200, 100000, 20000000000};
	uint64_t n = rp_rng_below(rng, 3) == 0 ? 0 : rp_rng_below(rng, 50);

	for (uint64_t i = 0; i < n; i++)
		rp_shist_add(h, rp_rng_below(rng, span[rp_rng_below(rng, RP_ARRAY_LEN(span))]));
}

static inline void
check_hist(const struct rp_shist *got, const struct rp_shist *want)
{
	UT_EQ_U(got->sum.n, want->sum.n);
	UT_EQ_U(got->n, want->n);
	if (want->sum.n == 0)
		return;
	UT_EQ_U(got->sum.under, want->sum.under);
	UT_EQ_U(got->sum.over, want->sum.over);
	UT_EQ_U(got->sum.min_ns, want->sum.min_ns);
	UT_EQ_U(got->sum.max_ns, want->sum.max_ns);
	for (uint32_t i = 0; i < want->n; i++) {
		UT_EQ_U(got->entry[i].bucket, want->entry[i].bucket);
		UT_EQ_U(got->entry[i].count, want->entry[i].count);
	}
}

#endif /* HISTS_H */
