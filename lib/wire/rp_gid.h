/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef RP_GID_H
#define RP_GID_H

/**
 * @file rp_gid.h
 * RoCEv2 GIDs: an IPv6 address, or an IPv4 address as ::ffff:a.b.c.d.
 *
 * Thread:  any. Memory: by value. Time: n/a.
 * Text:    RFC 5952; an IPv4-mapped GID prints as ::ffff:10.0.0.1 (section 5).
 */

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/** Longest GID text with its NUL (INET6_ADDRSTRLEN). */
#define RP_GID_TEXT_MAX 46

struct rp_gid {
	uint8_t b[16];
};

/** Accepts IPv6 text in any legal form, and dotted IPv4. @return 0, -EINVAL */
int rp_gid_parse(const char *text, struct rp_gid *ret_gid);

/** Canonical text. @return @p text */
const char *rp_gid_format(const struct rp_gid *gid, char text[RP_GID_TEXT_MAX]);

/** The address as a person writes it: dotted for IPv4. @return @p text */
const char *rp_gid_format_ip(const struct rp_gid *gid, char text[RP_GID_TEXT_MAX]);

/** @p addr is the address in network byte order, as in an IPv4 header. */
struct rp_gid rp_gid_from_ipv4(const uint8_t addr[4]);

static inline bool
rp_gid_equal(const struct rp_gid *a, const struct rp_gid *b)
{
	return memcmp(a->b, b->b, sizeof(a->b)) == 0;
}

bool rp_gid_is_ipv4(const struct rp_gid *gid);
bool rp_gid_is_zero(const struct rp_gid *gid);
bool rp_gid_is_link_local(const struct rp_gid *gid); /* fe80::/10, 169.254/16 */
bool rp_gid_is_multicast(const struct rp_gid *gid);  /* ff00::/8, 224/4, 255.255.255.255 */
bool rp_gid_is_loopback(const struct rp_gid *gid);   /* ::1, 127/8 */

/** May be the source or target of a probe: none of the four exclusions, not zero. */
bool rp_gid_is_unicast(const struct rp_gid *gid);

/** First @p prefix_len bits of the address (0..32 for IPv4, 0..128 else) are equal. */
bool rp_gid_same_prefix(const struct rp_gid *a, const struct rp_gid *b, unsigned int prefix_len);

/** Mixes all 16 bytes with @p seed, for hash tables. */
uint32_t rp_gid_hash(const struct rp_gid *gid, uint64_t seed);

#endif /* RP_GID_H */
