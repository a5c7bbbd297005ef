/* SPDX-License-Identifier: BSD-3-Clause */

#include "rp_icrc.h"

#include <string.h>

#include "rp_base.h"
#include "rp_be.h"
#include "rp_roce.h"

#define POLY 0xEDB88320u

/*
 * Register after RP_ICRC_PREFIX bytes of ones, from an all-ones start: a seed that
 * saves those bytes.
 */
#define PREFIX_REGISTER 0xDEBB20E3u

/* Longest run of headers that holds masked bytes: IPv6 + UDP + BTH. */
#define MASKED_MAX (RP_ROCE_IPV6_LEN + RP_ROCE_UDP_LEN + RP_ROCE_BTH_LEN)

/* Filled before main() and constant from then on, so that any thread may read it. */
static uint32_t crc_table[8][256];

__attribute__((constructor)) static void
fill_tables(void)
{
	for (uint32_t i = 0; i < 256; i++) {
		uint32_t c = i;

		for (int k = 0; k < 8; k++)
			c = c >> 1 ^ (POLY & (0u - (c & 1u)));
		crc_table[0][i] = c;
	}
	for (uint32_t i = 0; i < 256; i++)
		for (int t = 1; t < 8; t++)
			crc_table[t][i] =
				crc_table[t - 1][i] >> 8 ^ crc_table[0][crc_table[t - 1][i] & 0xFF];
}

/* Slice by eight, from register @reg, without the final inversion. */
static uint32_t
update(uint32_t reg, const uint8_t *p, size_t len)
{
	while (len >= 8) {
		uint32_t a = reg ^ rp_load_le32(p);
		uint32_t b = rp_load_le32(p + 4);

		reg = crc_table[7][a & 0xFF] ^ crc_table[6][a >> 8 & 0xFF] ^
			crc_table[5][a >> 16 & 0xFF] ^ crc_table[4][a >> 24] ^
			crc_table[3][b & 0xFF] ^ crc_table[2][b >> 8 & 0xFF] ^
			crc_table[1][b >> 16 & 0xFF] ^ crc_table[0][b >> 24];
		p += 8;
		len -= 8;
	}
	while (len-- > 0)
		reg = reg >> 8 ^ crc_table[0][(reg ^ *p++) & 0xFF];
	return reg;
}

uint32_t
rp_crc32(const uint8_t *data, size_t len)
{
	return ~update(0xFFFFFFFFu, data, len);
}

/* Ones over the fields that routers may change; @hdr holds IP, UDP and BTH. */
static void
mask_headers(uint8_t *hdr, bool is_ipv6)
{
	uint8_t *udp = hdr + (is_ipv6 ? RP_ROCE_IPV6_LEN : RP_ROCE_IPV4_LEN);

	if (is_ipv6) {
		hdr[0] |= 0x0F; /* traffic class and flow label: the low 28 bits */
		memset(hdr + 1, 0xFF, 3);
		hdr[7] = 0xFF; /* hop limit */
	} else {
		hdr[1] = 0xFF;  /* TOS */
		hdr[8] = 0xFF;  /* TTL */
		hdr[10] = 0xFF; /* checksum */
		hdr[11] = 0xFF;
	}
	udp[6] = 0xFF; /* checksum */
	udp[7] = 0xFF;
	udp[RP_ROCE_UDP_LEN + 4] = 0xFF; /* FECN, BECN, reserved */
}

void
rp_icrc_copy_masked(uint8_t *dst, const uint8_t *l3, size_t len)
{
	memset(dst, 0xFF, RP_ICRC_PREFIX);
	memcpy(dst + RP_ICRC_PREFIX, l3, len);
	mask_headers(dst + RP_ICRC_PREFIX, l3[0] >> 4 == 6);
}

uint32_t
rp_icrc(const uint8_t *l3, size_t len)
{
	bool is_ipv6 = l3[0] >> 4 == 6;
	size_t masked =
		(is_ipv6 ? RP_ROCE_IPV6_LEN : RP_ROCE_IPV4_LEN) + RP_ROCE_UDP_LEN + RP_ROCE_BTH_LEN;
	uint8_t hdr[MASKED_MAX];
	uint32_t reg;

	memcpy(hdr, l3, masked);
	mask_headers(hdr, is_ipv6);
	reg = update(PREFIX_REGISTER, hdr, masked);
	return ~update(reg, l3 + masked, len - masked);
}
