/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef SOFTROCE_ICRC_H
#define SOFTROCE_ICRC_H

/**
 * @file softroce_icrc.h
 * ICRC with the SIMD CRC of DPDK, which has no seed and so wants prefix and
 * masked headers in one piece. Equal to rp_icrc() for every length (tested).
 *
 * Thread:  sr_icrc_init() once before any lcore computes one; then any.
 * Memory:  the caller's scratch buffer, one per lcore. Time: n/a.
 */

#include <rte_net_crc.h>

#include "rp_icrc.h"
#include "rp_roce.h"

/** Longest run that an ICRC covers here: IPv6 and the largest payload with pad. */
#define SR_COVERED_MAX                                                                             \
	(RP_ROCE_IPV6_LEN + RP_ROCE_UDP_LEN + RP_ROCE_BTH_LEN + RP_ROCE_DETH_LEN +                 \
		RP_ROCE_IMM_LEN + RP_ROCE_PAYLOAD_MAX)

struct sr_scratch {
	uint8_t b[RP_ICRC_PREFIX + SR_COVERED_MAX];
};

/** Choose the fastest CRC of this CPU; DPDK falls back to its tables by itself. */
static inline void
sr_icrc_init(void)
{
#if defined(RTE_ARCH_ARM64)
	rte_net_crc_set_alg(RTE_NET_CRC_NEON);
#else
	rte_net_crc_set_alg(RTE_NET_CRC_SSE42);
#endif
}

/** @p len bytes from the IP header up to the ICRC, at most SR_COVERED_MAX */
static inline uint32_t
sr_icrc(struct sr_scratch *scratch, const uint8_t *l3, size_t len)
{
	rp_icrc_copy_masked(scratch->b, l3, len);
	return rte_net_crc_calc(scratch->b, (uint32_t)(RP_ICRC_PREFIX + len), RTE_NET_CRC32_ETH);
}

#endif /* SOFTROCE_ICRC_H */
