/* SPDX-License-Identifier: BSD-3-Clause */

#include "rp_gid.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>

static const uint8_t mapped_prefix[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};

int
rp_gid_parse(const char *text, struct rp_gid *ret_gid)
{
	uint8_t v4[4];

	if (strlen(text) >= RP_GID_TEXT_MAX)
		return -EINVAL;
	if (inet_pton(AF_INET, text, v4) == 1) {
		*ret_gid = rp_gid_from_ipv4(v4);
		return 0;
	}
	return inet_pton(AF_INET6, text, ret_gid->b) == 1 ? 0 : -EINVAL;
}

const char *
rp_gid_format(const struct rp_gid *gid, char text[RP_GID_TEXT_MAX])
{
	uint16_t group[8];
	int best = -1, best_len = 1;
	char *p = text, *end = text + RP_GID_TEXT_MAX;

	/* Own code and not inet_ntop(): that one writes ::1.2.3.4 for some native addresses. */
	if (rp_gid_is_ipv4(gid)) {
		snprintf(text, RP_GID_TEXT_MAX, "::ffff:%u.%u.%u.%u", gid->b[12], gid->b[13],
			gid->b[14], gid->b[15]);
		return text;
	}
	for (int i = 0; i < 8; i++)
		group[i] = (uint16_t)(gid->b[2 * i] << 8 | gid->b[2 * i + 1]);
	for (int i = 0; i < 8; i++) {
		int n = 0;

		while (i + n < 8 && group[i + n] == 0)
			n++;
		if (n > best_len) {
			best = i;
			best_len = n;
		}
		i += n;
	}
	*p = '\0';
	for (int i = 0; i < 8; i++) {
		if (i == best) {
			p += snprintf(p, (size_t)(end - p), "::");
			i += best_len - 1;
			continue;
		}
		p += snprintf(p, (size_t)(end - p), "%s%x", p > text && p[-1] != ':' ? ":" : "",
			group[i]);
	}
	return text;
}

const char *
rp_gid_format_ip(const struct rp_gid *gid, char text[RP_GID_TEXT_MAX])
{
	if (!rp_gid_is_ipv4(gid))
		return rp_gid_format(gid, text);
	snprintf(text, RP_GID_TEXT_MAX, "%u.%u.%u.%u", gid->b[12], gid->b[13], gid->b[14],
		gid->b[15]);
	return text;
}

struct rp_gid
rp_gid_from_ipv4(const uint8_t addr[4])
{
	struct rp_gid gid;

	memcpy(gid.b, mapped_prefix, sizeof(mapped_prefix));
	memcpy(gid.b + 12, addr, 4);
	return gid;
}

bool
rp_gid_is_ipv4(const struct rp_gid *gid)
{
	return memcmp(gid->b, mapped_prefix, sizeof(mapped_prefix)) == 0;
}

bool
rp_gid_is_zero(const struct rp_gid *gid)
{
	static const struct rp_gid zero;
	static const uint8_t any[4];

	return rp_gid_equal(gid, &zero) ||
		(rp_gid_is_ipv4(gid) && memcmp(gid->b + 12, any, sizeof(any)) == 0);
}

bool
rp_gid_is_link_local(const struct rp_gid *gid)
{
	if (rp_gid_is_ipv4(gid))
		return gid->b[12] == 169 && gid->b[13] == 254;
	return gid->b[0] == 0xFE && (gid->b[1] & 0xC0) == 0x80;
}

bool
rp_gid_is_multicast(const struct rp_gid *gid)
{
	if (rp_gid_is_ipv4(gid))
		return (gid->b[12] & 0xF0) == 0xE0 ||
			memcmp(gid->b + 12, "\xFF\xFF\xFF\xFF", 4) == 0;
	return gid->b[0] == 0xFF;
}

bool
rp_gid_is_loopback(const struct rp_gid *gid)
{
	static const struct rp_gid one = {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}};

	return rp_gid_equal(gid, &one) || (rp_gid_is_ipv4(gid) && gid->b[12] == 127);
}

bool
rp_gid_is_unicast(const struct rp_gid *gid)
{
	return !rp_gid_is_zero(gid) && !rp_gid_is_multicast(gid) && !rp_gid_is_loopback(gid);
}

bool
rp_gid_same_prefix(const struct rp_gid *a, const struct rp_gid *b, unsigned int prefix_len)
{
	unsigned int bits = prefix_len, bytes;

	if (rp_gid_is_ipv4(a) != rp_gid_is_ipv4(b))
		return false;
	if (rp_gid_is_ipv4(a))
		bits += 96;
	if (bits > 128)
		bits = 128;
	bytes = bits / 8;
	if (memcmp(a->b, b->b, bytes) != 0)
		return false;
	return bits % 8 == 0 || ((a->b[bytes] ^ b->b[bytes]) >> (8 - bits % 8)) == 0;
}

uint32_t
rp_gid_hash(const struct rp_gid *gid, uint64_t seed)
{
	uint64_t lo, hi, h;

	memcpy(&hi, gid->b, 8);
	memcpy(&lo, gid->b + 8, 8);
	h = (hi ^ seed) * UINT64_C(0x9e3779b97f4a7c15);
	h = (h ^ (h >> 32) ^ lo) * UINT64_C(0xbf58476d1ce4e5b9);
	h = (h ^ (h >> 29)) * UINT64_C(0x94d049bb133111eb);
	return (uint32_t)(h >> 32);
}
