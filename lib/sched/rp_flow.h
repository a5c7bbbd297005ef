/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef RP_FLOW_H
#define RP_FLOW_H

/**
 * @file rp_flow.h
 * Flow labels, the UDP source ports they stand for, and how many of them cover
 * all equal-cost paths.
 *
 * Thread:  any. Memory: the caller's. Time: epoch numbers only.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rp_gid.h"

#define RP_FLOW_LABEL_MAX  0xFFFFFu
#define RP_FLOW_LABELS_MAX 4096 /* of one set */

/** Label of port 0xC000: label 0 would let some hardware draw a random port. */
#define RP_FLOW_LABEL_PORT0 0x4001u

/** Linux and rdma-core: 0xC000 | ((fl & 0x3FFF) ^ ((fl & 0xFC000) >> 14)). */
static inline uint16_t
rp_flow_sport(uint32_t label)
{
	return (uint16_t)(0xC000u | ((label & 0x3FFFu) ^ ((label & 0xFC000u) >> 14)));
}

/** A label, never 0, of @p sport in 0xC000 .. 0xFFFF. */
static inline uint32_t
rp_flow_label_of(uint16_t sport)
{
	uint32_t label = sport & 0x3FFFu;

	return label == 0 ? RP_FLOW_LABEL_PORT0 : label;
}

/** FNV-1a 32 of @p len bytes, continuing from @p hash (start: RP_FNV_INIT). */
#define RP_FNV_INIT 0x811c9dc5u
uint32_t rp_fnv1a(uint32_t hash, const void *data, size_t len);

/** Seed of the pair: FNV-1a of the requester's GID text, then the target's. */
uint32_t rp_flow_seed(const struct rp_gid *requester, const struct rp_gid *target);

/** Number of the rotation period that @p unix_s lies in; @p period_s > 0. */
uint64_t rp_flow_epoch(int64_t unix_s, uint32_t period_s);

/**
 * Expand (seed, n) to @p n labels with distinct ports, none of them 0. The labels
 * i with i mod 5 == 0 change with @p epoch, the others never do.
 *
 * @param n  1 .. RP_FLOW_LABELS_MAX
 * @return 0, -EINVAL
 */
int rp_flow_expand(uint32_t seed, uint64_t epoch, uint32_t n, uint32_t *ret_label);

/**
 * Which labels probe number @p i of a target uses: forward i mod k, reply
 * (i + i div k) mod k of the reverse set, so that both directions vary apart.
 */
static inline void
rp_flow_pick(uint64_t i, uint32_t k, uint32_t *ret_forward, uint32_t *ret_reply)
{
	*ret_forward = (uint32_t)(i % k);
	*ret_reply = (uint32_t)((i + i / k) % k);
}

/**
 * Probability that @p k distinct source ports cover all of @p n equal-cost paths,
 * by the occupancy recurrence (positive terms only). @p n 1 .. 1024
 */
double rp_coverage(uint32_t n, uint32_t k);

/**
 * Smallest k with rp_coverage(n, k) >= @p probability, at most @p cap.
 * @param ret_reached  coverage of the answer; less than asked for when the cap bites
 */
uint32_t rp_coverage_labels(uint32_t n, double probability, uint32_t cap, double *ret_reached);

#endif /* RP_FLOW_H */
