/* SPDX-License-Identifier: BSD-3-Clause */

#include <stdio.h>

#include "rp_be.h"
#include "rp_icrc.h"
#include "rp_roce.h"
#include "ut.h"

/* The definition, bit by bit and most significant bit first: no table, no reflection. */
static uint32_t
crc32_by_bits(const uint8_t *data, size_t len)
{
	uint32_t reg = 0xFFFFFFFFu, out = 0;

	for (size_t i = 0; i < len * 8; i++) {
		uint32_t bit = data[i / 8] >> i % 8 & 1u;

		reg = reg >> 31 != bit ? reg << 1 ^ 0x04C11DB7u : reg << 1;
	}
	for (int i = 0; i < 32; i++)
		out |= (reg >> i & 1u) << (31 - i);
	return ~out;
}

/* The masking rule, written from the header diagrams. */
static uint32_t
icrc_by_bits(const uint8_t *l3, size_t len)
{
	uint8_t buf[8 + 8192];
	size_t ip = l3[0] >> 4 == 6 ? 40 : 20;
	static const uint8_t v4[] = {1, 8, 10, 11}, v6[] = {1, 2, 3, 7};
	const uint8_t *mutable = ip == 20 ? v4 : v6;

	memset(buf, 0xFF, 8);
	memcpy(buf + 8, l3, len);
	for (int i = 0; i < 4; i++)
		buf[8 + mutable[i]] = 0xFF;
	if (ip == 40)
		buf[8] |= 0x0F;
	buf[8 + ip + 6] = buf[8 + ip + 7] = 0xFF;
	buf[8 + ip + 8 + 4] = 0xFF;
	return crc32_by_bits(buf, 8 + len);
}

static void
rp_crc32__check_string__is_the_catalogue_value(void)
{
	UT_HEX(rp_crc32((const uint8_t *)"123456789", 9), 0xCBF43926);
	UT_HEX(rp_crc32(NULL, 0), 0);
}

static void
rp_crc32__random_length_and_alignment__equals_the_bitwise_reference(void)
{
	struct rp_rng rng = ut_rng(1);

	for (int i = 0; i < 3000; i++) {
		size_t len = rp_rng_below(&rng, 300), shift = rp_rng_below(&rng, 8);
		uint8_t *buf = malloc(shift + len + 1);

		for (size_t k = 0; k < shift + len; k++)
			buf[k] = (uint8_t)rp_rng_next(&rng);
		UT_HEX(rp_crc32(buf + shift, len), crc32_by_bits(buf + shift, len));
		free(buf);
	}
}

static void
rp_icrc__random_packets__equal_the_bitwise_reference(void)
{
	struct rp_rng rng = ut_rng(2);

	for (int i = 0; i < 2000; i++) {
		bool v6 = rp_rng_below(&rng, 2) != 0;
		size_t min = (v6 ? 40 : 20) + 8 + 12;
		size_t len = min +
			(rp_rng_below(&rng, 20) == 0 ? rp_rng_below(&rng, 4200)
						     : rp_rng_below(&rng, 100));
		uint8_t *l3 = malloc(len), *copy = malloc(RP_ICRC_PREFIX + len);

		for (size_t k = 0; k < len; k++)
			l3[k] = (uint8_t)rp_rng_next(&rng);
		l3[0] = (uint8_t)(v6 ? 0x60 | (l3[0] & 0x0F) : 0x45);
		UT_HEX(rp_icrc(l3, len), icrc_by_bits(l3, len));
		rp_icrc_copy_masked(copy, l3, len);
		UT_HEX(rp_crc32(copy, RP_ICRC_PREFIX + len), icrc_by_bits(l3, len));
		free(l3);
		free(copy);
	}
}

/* Routers may change these and no others: every single bit of the headers. */
static void
rp_icrc__each_header_bit__counts_unless_it_is_mutable(void)
{
	for (int v6 = 0; v6 <= 1; v6++) {
		size_t ip = v6 ? 40 : 20, len = ip + 8 + 12 + 8;
		uint8_t l3[80] = {0};
		uint32_t want;

		l3[0] = v6 ? 0x60 : 0x45;
		want = rp_icrc(l3, len);
		/* The version nibble chooses the rule itself. */
		for (size_t bit = 4; bit < len * 8; bit++) {
			size_t at = bit / 8;
			bool mutable = v6 ? bit < 32 || at == 7
					  : at == 1 || at == 8 || at == 10 || at == 11;

			mutable |= at == ip + 6 || at == ip + 7 || at == ip + 8 + 4;
			l3[at] ^= (uint8_t)(0x80 >> bit % 8);
			if (!UT_EQ(rp_icrc(l3, len) == want, mutable))
				printf("  v6 %d byte %zu\n", v6, at);
			l3[at] ^= (uint8_t)(0x80 >> bit % 8);
		}
	}
}

#define PAYLOAD_3B                                                                                 \
	"000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"                         \
	"202122232425262728292a2b2c2d2e2f303132333435363738393a3b"

/* L3 bytes up to the ICRC, and the ICRC as on the wire. A and B were made by others. */
static const struct {
	const char *name, *l3, *icrc;
} vectors[] = {
	{"A: congestion notification, captured from hardware",
		"45c2003c718c4000401191610a0011010a001201 000012b700280000 8100ffff40000118"
		"00000000 00000000000000000000000000000000",
		"82fd002a"},
	{"B: UC send with a UDP checksum",
		"45010040047840004011b4d5c0a80007c0a80007 c00012b7002caca2 2460ffff000000d3"
		"00cf1710 4630818be28935d90e9a95505401be885e500000",
		"78f353f3"},
	{"C: UD send over IPv4",
		"45000070000040004011267b0a0000010a000002 c12312b7005c0000 6400ffff00000123"
		"00000001 1111111100000456" PAYLOAD_3B,
		"7db9092d"},
	{"C': with MigReq",
		"45000070000040004011267b0a0000010a000002 c12312b7005c0000 6440ffff00000123"
		"00000001 1111111100000456" PAYLOAD_3B,
		"643dbd64"},
	{"D: pad",
		"4500003c00004000401126af0a0000010a000002 c12312b700280000 6470ffff00000123"
		"00000001 1111111100000456 68656c6c6f000000",
		"b598fc7c"},
	{"E: IPv6",
		"60000123005c1140 fd000000000000000000000000000001 fd000000000000000000000000000002"
		"c12312b7005c0000 6400ffff00000123 00000001 1111111100000456" PAYLOAD_3B,
		"abe2d94c"},
	{"F: no payload",
		"4500003400004000401126b70a0000010a000002 c12312b700200000 6400ffff00000123"
		"00000001 1111111100000456",
		"b22e6d77"},
	{"G: immediate",
		"4500003800004000401126b30a0000010a000002 c12312b700240000 6500ffff00000123"
		"00000001 1111111100000456 deadbeef",
		"276a76f6"},
};

static void
rp_icrc__published_vectors__are_met(void)
{
	for (size_t i = 0; i < RP_ARRAY_LEN(vectors); i++) {
		uint8_t l3[256], want[4], got[4];
		size_t len = ut_hex(vectors[i].l3, l3, sizeof(l3));

		ut_hex(vectors[i].icrc, want, sizeof(want));
		rp_store_le32(got, rp_icrc(l3, len));
		if (!UT_MEM(got, want, 4))
			printf("  %s\n", vectors[i].name);
		rp_store_le32(got, icrc_by_bits(l3, len));
		UT_MEM(got, want, 4);
	}
}

static void
rp_roce_parse__published_ud_vectors__are_ok_and_rebuilt_bit_by_bit(void)
{
	static const uint8_t macs[12] = {2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1};

	/* A and B are no UD sends. */
	for (size_t i = 2; i < RP_ARRAY_LEN(vectors); i++) {
		uint8_t frame[256], again[256];
		struct rp_roce_view v;
		size_t len;

		memcpy(frame, macs, 12);
		rp_store_be16(frame + 12, vectors[i].l3[0] == '6' ? 0x86DD : 0x0800);
		len = 14 + ut_hex(vectors[i].l3, frame + 14, sizeof(frame) - 18);
		len += ut_hex(vectors[i].icrc, frame + len, 4);
		if (!UT_EQ(rp_roce_parse(frame, len, &v), RP_ROCE_OK))
			printf("  %s\n", vectors[i].name);
		UT_HEX(v.icrc, rp_roce_icrc(frame, &v));
		UT_HEX(v.f.sport, 0xC123);
		UT_HEX(v.f.dqpn, 0x123);
		UT_HEX(v.f.sqpn, 0x456);
		UT_HEX(v.f.qkey, 0x11111111);
		UT_EQ(v.f.psn, 1);
		UT_EQ(rp_roce_frame_len(&v.f, v.payload_len), len);
		UT_EQ(rp_roce_build(again, &v.f, frame + v.payload_off, v.payload_len), len);
		UT_MEM(again, frame, len);
	}
}

static void
rp_roce_parse__vectors_of_other_services__are_an_opcode(void)
{
	for (size_t i = 0; i < 2; i++) {
		uint8_t frame[256] = {2};
		struct rp_roce_view v;
		size_t len;

		rp_store_be16(frame + 12, 0x0800);
		len = 14 + ut_hex(vectors[i].l3, frame + 14, sizeof(frame) - 18);
		len += ut_hex(vectors[i].icrc, frame + len, 4);
		UT_EQ(rp_roce_parse(frame, len, &v), RP_ROCE_OPCODE);
		UT_HEX(v.f.opcode, i == 0 ? 0x81 : 0x24);
	}
}

static const struct ut_test tests[] = {
	UT(rp_crc32__check_string__is_the_catalogue_value),
	UT(rp_crc32__random_length_and_alignment__equals_the_bitwise_reference),
	UT(rp_icrc__random_packets__equal_the_bitwise_reference),
	UT(rp_icrc__each_header_bit__counts_unless_it_is_mutable),
	UT(rp_icrc__published_vectors__are_met),
	UT(rp_roce_parse__published_ud_vectors__are_ok_and_rebuilt_bit_by_bit),
	UT(rp_roce_parse__vectors_of_other_services__are_an_opcode),
};

UT_MAIN("icrc", tests)
