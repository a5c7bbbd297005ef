/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef PLAN_H
#define PLAN_H

/**
 * @file plan.h
 * Who probes whom: a pure function of the active RNICs, the parameters and the
 * time, so that every controller of a cluster computes the same.
 *
 * ToR mesh:  all RNICs of one ToR, not on one host, of one address family and
 *            scope, on one rail where both name it.
 * Inter-ToR: each RNIC has sample_size slots. A slot picks a remote ToR, and an
 *            RNIC in it, by rendezvous hashing over (RNIC, slot, epoch); once per
 *            rotation one slot of an RNIC moves to its next epoch. Reverse edges
 *            give each ToR min_sources source ToRs whatever the slots chose.
 *
 * Thread:  plan_build() and all readers: any; a plan never changes.
 * Memory:  a plan copies what it needs; names point into it.
 * Time:    seconds since the epoch, from the caller.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rp_api.h"

/** One active RNIC. Names point into memory that outlives the plan (plan_names). */
struct plan_rnic {
	struct rp_gid gid;
	uint32_t qpn;
	uint32_t qkey;
	uint32_t generation;
	bool hw_stamps;
	const char *host; /* hostname: RNICs of one host do not probe each other */
	const char *tor;
	const char *rail; /* "" unknown */
	const char *device;
};

struct plan_params {
	uint32_t sample_size;  /* 0 .. 64 */
	uint32_t min_sources;  /* 0 .. 64 */
	uint32_t rotation_sec; /* >= 10 */
	uint32_t unspecified_max;
	uint32_t flow_labels; /* per pair, 1 .. 4096 */
};

struct plan; /* opaque */

/**
 * @param rnic  GIDs are distinct; copied, with their names
 * @return 0, -ENOMEM
 */
int plan_build(const struct plan_params *params, const struct plan_rnic *rnic, size_t n,
	int64_t now_s, struct plan **ret_plan);
void plan_free(struct plan *plan);

/** Time from which plan_build() may answer otherwise for the same RNICs. */
int64_t plan_valid_until(const struct plan *plan);

/** Time quantum of rotations: all that happen within one are applied at its start. */
uint32_t plan_quantum(const struct plan_params *params);

/** @return index of @p gid, or -ENOENT */
int plan_find(const struct plan *plan, const struct rp_gid *gid);

/** Content of the answer for RNIC @p i as 32 hexadecimal digits. */
void plan_etag(const struct plan *plan, int i, char ret_etag[RP_API_ETAG_MAX]);

/**
 * Targets and sources of RNIC @p i, in a fixed order.
 * @return 0, -ENOMEM; release with rp_api_pinglist_fini()
 */
int plan_pinglist(const struct plan *plan, int i, struct rp_api_pinglist *ret_list);

#endif /* PLAN_H */
