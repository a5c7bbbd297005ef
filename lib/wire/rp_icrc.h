/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef RP_ICRC_H
#define RP_ICRC_H

/**
 * @file rp_icrc.h
 * Invariant CRC of RoCEv2 (IBTA annex A17.3.3): Ethernet CRC-32 over eight
 * bytes of ones, the IP, UDP and IB headers with the mutable fields as ones,
 * and the payload with its pad. On the wire least significant byte first.
 *
 * Thread:  any. Memory: the caller's. Time: n/a.
 */

#include <stddef.h>
#include <stdint.h>

/** Bytes of ones in front, for the LRH of the InfiniBand rule. */
#define RP_ICRC_PREFIX 8

/** Plain reflected CRC-32 (0xEDB88320, start and end inverted), 8 tables. */
uint32_t rp_crc32(const uint8_t *data, size_t len);

/**
 * Copy the covered bytes behind the prefix with the mutable fields as ones, so
 * that any CRC-32 over RP_ICRC_PREFIX + @p len bytes of @p dst is the ICRC.
 *
 * @param l3   IPv4 (IHL 5) or IPv6 header, then UDP, BTH, ...
 * @param len  bytes from @p l3 up to the ICRC: at least IP + UDP + BTH
 * @param dst  RP_ICRC_PREFIX + len bytes
 */
void rp_icrc_copy_masked(uint8_t *dst, const uint8_t *l3, size_t len);

/** ICRC of @p len bytes from the IP header; same conditions. No buffer needed. */
uint32_t rp_icrc(const uint8_t *l3, size_t len);

#endif /* RP_ICRC_H */
