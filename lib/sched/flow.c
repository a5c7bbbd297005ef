/* SPDX-License-Identifier: BSD-3-Clause */

#include "rp_flow.h"

#include <errno.h>
#include <string.h>

#include "rp_base.h"
#include "rp_be.h"

#define FNV_PRIME   0x01000193u
#define PORTS       16384
#define ROTATING_OF 5 /* every fifth label moves with the epoch */

uint32_t
rp_fnv1a(uint32_t hash, const void *data, size_t len)
{
	const uint8_t *p = data;

	while (len-- > 0)
		hash = (hash ^ *p++) * FNV_PRIME;
	return hash;
}

uint32_t
rp_flow_seed(const struct rp_gid *requester, const struct rp_gid *target)
{
	char text[RP_GID_TEXT_MAX];
	uint32_t hash;

	rp_gid_format(requester, text);
	hash = rp_fnv1a(RP_FNV_INIT, text, strlen(text));
	rp_gid_format(target, text);
	return rp_fnv1a(hash, text, strlen(text));
}

uint64_t
rp_flow_epoch(int64_t unix_s, uint32_t period_s)
{
	return unix_s < 0 ? 0 : (uint64_t)unix_s / period_s;
}

static uint32_t
candidate(uint32_t seed, uint32_t i, uint64_t epoch, uint32_t attempt)
{
	uint8_t bytes[20];
	size_t len = 8;

	rp_store_be32(bytes, seed);
	rp_store_be32(bytes + 4, i);
	if (i % ROTATING_OF == 0) {
		rp_store_be64(bytes + len, epoch);
		len += 8;
	}
	if (attempt > 0) {
		rp_store_be32(bytes + len, attempt);
		len += 4;
	}
	return rp_fnv1a(RP_FNV_INIT, bytes, len) & RP_FLOW_LABEL_MAX;
}

int
rp_flow_expand(uint32_t seed, uint64_t epoch, uint32_t n, uint32_t *ret_label)
{
	uint64_t used[PORTS / 64] = {0};

	if (n == 0 || n > RP_FLOW_LABELS_MAX)
		return -EINVAL;
	/* The stable labels first: what rotates must not displace what stays. */
	for (int rotating = 0; rotating <= 1; rotating++) {
		for (uint32_t i = 0; i < n; i++) {
			uint32_t label, port, attempt = 0;

			if ((i % ROTATING_OF == 0) != (rotating == 1))
				continue;
			do {
				label = candidate(seed, i, epoch, attempt++);
				port = rp_flow_sport(label) & 0x3FFFu;
			} while (label == 0 || (used[port / 64] >> port % 64 & 1) != 0);
			used[port / 64] |= UINT64_C(1) << port % 64;
			ret_label[i] = label;
		}
	}
	return 0;
}
