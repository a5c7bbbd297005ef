/* SPDX-License-Identifier: BSD-3-Clause */

#include <stdio.h>

#include "rp_be.h"
#include "rp_icrc.h"
#include "rp_payload.h"
#include "rp_roce.h"
#include "ut.h"

#define FRAME_MAX (RP_ROCE_HDR_MAX + RP_ROCE_PAYLOAD_MAX + 3 + RP_ROCE_ICRC_LEN)

static void
fill(struct rp_rng *rng, void *to, size_t len)
{
	uint8_t *p = to;

	while (len-- > 0)
		*p++ = (uint8_t)rp_rng_next(rng);
}

static struct rp_roce_fields
any_fields(struct rp_rng *rng)
{
	struct rp_roce_fields f = {
		.vlan_tci = rp_rng_below(rng, 2) == 0 ? RP_ROCE_NO_VLAN
						      : (uint16_t)(rp_rng_next(rng) & 0xEFFF),
		.tclass = (uint8_t)rp_rng_next(rng),
		.hop_limit = (uint8_t)(1 + rp_rng_below(rng, 255)),
		.sport = (uint16_t)(RP_ROCE_SPORT_MIN | rp_rng_below(rng, 0x4000)),
		.opcode = rp_rng_below(rng, 2) == 0 ? RP_ROCE_OP_UD_SEND : RP_ROCE_OP_UD_SEND_IMM,
		.solicited = rp_rng_below(rng, 2) != 0,
		.migreq = rp_rng_below(rng, 2) != 0,
		.pkey = (uint16_t)rp_rng_next(rng),
		.dqpn = (uint32_t)rp_rng_below(rng, 1 << 24),
		.psn = (uint32_t)rp_rng_below(rng, 1 << 24),
		.sqpn = (uint32_t)rp_rng_below(rng, 1 << 24),
		.qkey = (uint32_t)rp_rng_next(rng),
	};

	fill(rng, f.dst_mac, 6);
	fill(rng, f.src_mac, 6);
	fill(rng, f.src.b, 16);
	fill(rng, f.dst.b, 16);
	if (rp_rng_below(rng, 2) == 0) {
		f.src = rp_gid_from_ipv4(f.src.b);
		f.dst = rp_gid_from_ipv4(f.dst.b);
	} else {
		f.flow_label = (uint32_t)rp_rng_below(rng, 1 << 20);
	}
	if (f.opcode == RP_ROCE_OP_UD_SEND_IMM)
		f.imm = (uint32_t)rp_rng_next(rng);
	return f;
}

static void
expect_same_fields(const struct rp_roce_fields *got, const struct rp_roce_fields *want)
{
	UT_MEM(got->dst_mac, want->dst_mac, 6);
	UT_MEM(got->src_mac, want->src_mac, 6);
	UT_MEM(got->src.b, want->src.b, 16);
	UT_MEM(got->dst.b, want->dst.b, 16);
	UT_HEX(got->vlan_tci, want->vlan_tci);
	UT_HEX(got->tclass, want->tclass);
	UT_EQ(got->hop_limit, want->hop_limit);
	UT_HEX(got->flow_label, want->flow_label);
	UT_HEX(got->sport, want->sport);
	UT_HEX(got->opcode, want->opcode);
	UT_EQ(got->solicited, want->solicited);
	UT_EQ(got->migreq, want->migreq);
	UT_HEX(got->pkey, want->pkey);
	UT_HEX(got->dqpn, want->dqpn);
	UT_HEX(got->psn, want->psn);
	UT_HEX(got->sqpn, want->sqpn);
	UT_HEX(got->qkey, want->qkey);
	UT_HEX(got->imm, want->imm);
}

static void
rp_roce_parse__any_built_frame__gives_the_fields_back(void)
{
	struct rp_rng rng = ut_rng(1);

	for (int i = 0; i < 5000; i++) {
		struct rp_roce_fields f = any_fields(&rng);
		size_t payload_len = rp_rng_below(&rng, 10) == 0
			? rp_rng_below(&rng, RP_ROCE_PAYLOAD_MAX + 1)
			: rp_rng_below(&rng, 70);
		uint8_t *payload = malloc(payload_len + 1);
		size_t len = rp_roce_frame_len(&f, payload_len);
		uint8_t *frame = malloc(len);
		struct rp_roce_view v;

		fill(&rng, payload, payload_len);
		UT_EQ(rp_roce_build(frame, &f, payload, payload_len), len);
		UT_EQ(rp_roce_parse(frame, len, &v), RP_ROCE_OK);
		expect_same_fields(&v.f, &f);
		UT_EQ(v.is_ipv6, !rp_gid_is_ipv4(&f.src));
		UT_EQ(v.payload_len, payload_len);
		UT_EQ(v.pad, (4 - payload_len % 4) % 4);
		UT_EQ(v.icrc_off + RP_ROCE_ICRC_LEN, len);
		UT_MEM(frame + v.payload_off, payload, payload_len);
		UT_HEX(v.icrc, rp_roce_icrc(frame, &v));
		free(payload);
		free(frame);
	}
}

static void
rp_roce_build_headers__any_frame__equals_the_head_of_build(void)
{
	struct rp_rng rng = ut_rng(2);
	uint8_t whole[FRAME_MAX], head[FRAME_MAX], payload[64] = {0};

	for (int i = 0; i < 2000; i++) {
		struct rp_roce_fields f = any_fields(&rng);
		size_t n = rp_rng_below(&rng, sizeof(payload));
		size_t len = rp_roce_build(whole, &f, payload, n);
		size_t head_len = len - n - (4 - n % 4) % 4 - RP_ROCE_ICRC_LEN;

		memset(head, 0xA5, sizeof(head));
		UT_EQ(rp_roce_build_headers(head, &f, n), len);
		UT_MEM(head, whole, head_len);
		UT_EQ(head[head_len], 0xA5);
		UT_TRUE(head_len <= RP_ROCE_HDR_MAX);
	}
}

static struct rp_roce_fields
plain(const char *src, const char *dst)
{
	struct rp_roce_fields f = {
		.dst_mac = {2, 0, 0, 0, 0, 2},
		.src_mac = {2, 0, 0, 0, 0, 1},
		.vlan_tci = RP_ROCE_NO_VLAN,
		.hop_limit = 64,
		.sport = 0xC123,
		.opcode = RP_ROCE_OP_UD_SEND,
		.pkey = RP_ROCE_PKEY_DEFAULT,
		.dqpn = 0x123,
		.psn = 1,
		.sqpn = 0x456,
		.qkey = 0x11111111,
	};

	if (rp_gid_parse(src, &f.src) != 0 || rp_gid_parse(dst, &f.dst) != 0)
		abort();
	return f;
}

static void
rp_roce_build__contradicting_fields__are_refused(void)
{
	static uint8_t buf[2 * FRAME_MAX], payload[RP_ROCE_PAYLOAD_MAX + 1];
	const struct rp_roce_fields good = plain("10.0.0.1", "10.0.0.2");
	struct rp_roce_fields f = good;

	UT_TRUE(rp_roce_build(buf, &f, payload, RP_ROCE_PAYLOAD_MAX) > 0);
	UT_EQ(rp_roce_build(buf, &f, payload, RP_ROCE_PAYLOAD_MAX + 1), 0);
	f = plain("10.0.0.1", "fd77::2");
	UT_EQ(rp_roce_build(buf, &f, payload, 4), 0);
	f = plain("fd77::1", "10.0.0.2");
	UT_EQ(rp_roce_build(buf, &f, payload, 4), 0);
	f = good, f.hop_limit = 0;
	UT_EQ(rp_roce_build(buf, &f, payload, 4), 0);
	f = good, f.flow_label = 1 << 20;
	UT_EQ(rp_roce_build(buf, &f, payload, 4), 0);
	f = good, f.dqpn = 1 << 24;
	UT_EQ(rp_roce_build(buf, &f, payload, 4), 0);
	f = good, f.sqpn = 1 << 24;
	UT_EQ(rp_roce_build(buf, &f, payload, 4), 0);
	f = good, f.psn = 1 << 24;
	UT_EQ(rp_roce_build(buf, &f, payload, 4), 0);
	f = good, f.opcode = 0x04;
	UT_EQ(rp_roce_build(buf, &f, payload, 4), 0);
}

/*
 * One change to a good frame, and the verdict that it must get. Offsets count
 * from the start of an untagged frame with 40 bytes of payload (106 or 126 bytes).
 */
static const struct mutation {
	const char *name;
	enum rp_roce_verdict want;
	bool v6;
	uint16_t len; /* 0: unchanged */
	struct {
		uint16_t at;
		uint8_t value;
	} set[3]; /* at 0 ends the list */
	bool new_checksum;
} mutations[] = {
	{"unchanged v4", RP_ROCE_OK, false, .len = 0},
	{"unchanged v6", RP_ROCE_OK, true, .len = 0},
	{"cut in the MACs", RP_ROCE_SHORT_ETH, false, .len = 13},
	{"empty", RP_ROCE_SHORT_ETH, false, .len = 1},
	{"tag cut off", RP_ROCE_SHORT_ETH, false, 17, {{12, 0x81}, {13, 0x00}}},
	{"two tags", RP_ROCE_VLAN_STACKED, false, 0, {{12, 0x81}, {16, 0x81}, {17, 0x00}}},
	{"service tag", RP_ROCE_VLAN_STACKED, false, 0, {{12, 0x88}, {13, 0xA8}}},
	{"service tag inside", RP_ROCE_VLAN_STACKED, false, 0,
		{{12, 0x81}, {16, 0x88}, {17, 0xA8}}},
	{"ARP", RP_ROCE_NOT_ROCE, false, 0, {{12, 0x08}, {13, 0x06}}},
	{"v4 header cut", RP_ROCE_SHORT_IP, false, .len = 33},
	{"v6 header cut", RP_ROCE_SHORT_IP, true, .len = 53},
	{"version 6 as v4", RP_ROCE_IP_VERSION, false, 0, {{14, 0x65}}},
	{"version 4 as v6", RP_ROCE_IP_VERSION, true, 0, {{14, 0x40}}},
	{"options", RP_ROCE_IP_OPTIONS, false, 0, {{14, 0x46}}},
	{"IHL under 5", RP_ROCE_IP_LENGTH, false, 0, {{14, 0x44}}},
	{"hop-by-hop", RP_ROCE_IP_OPTIONS, true, 0, {{20, 0}, {21, 64}}},
	{"routing header", RP_ROCE_IP_OPTIONS, true, 0, {{20, 43}}},
	{"destination options", RP_ROCE_IP_OPTIONS, true, 0, {{20, 60}}},
	{"more fragments", RP_ROCE_IP_FRAGMENT, false, 0, {{20, 0x20}}, true},
	{"fragment offset", RP_ROCE_IP_FRAGMENT, false, 0, {{21, 0x01}}, true},
	{"fragment header", RP_ROCE_IP_FRAGMENT, true, 0, {{20, 44}}},
	{"TCP", RP_ROCE_NOT_ROCE, false, 0, {{23, 6}}, true},
	{"ICMPv6", RP_ROCE_NOT_ROCE, true, 0, {{20, 58}}},
	{"total length over the frame", RP_ROCE_IP_LENGTH, false, 0, {{16, 0x01}}, true},
	{"total length under the header", RP_ROCE_IP_LENGTH, false, 0, {{17, 19}}, true},
	{"payload length over the frame", RP_ROCE_IP_LENGTH, true, 0, {{18, 0x01}}},
	{"frame cut by one", RP_ROCE_IP_LENGTH, false, .len = 105},
	{"v6 frame cut by one", RP_ROCE_IP_LENGTH, true, .len = 125},
	{"checksum", RP_ROCE_IP_CHECKSUM, false, 0, {{24, 0x55}}},
	{"TTL 0", RP_ROCE_IP_TTL, false, 0, {{22, 0}, {15, 4}}, true},
	{"hop limit 0", RP_ROCE_IP_TTL, true, 0, {{15, 0}, {21, 0}, {14, 0x60}}},
	{"mapped source", RP_ROCE_IP_ADDRESS, true, .len = 1},
	{"mapped target", RP_ROCE_IP_ADDRESS, true, .len = 2},
	{"port 4790", RP_ROCE_NOT_ROCE, false, 0, {{37, 0xB6}}},
	{"UDP under 8", RP_ROCE_UDP_LENGTH, false, 0, {{17, 27}}, true},
	{"UDP longer than IP", RP_ROCE_UDP_LENGTH, false, 0, {{39, 93}}},
	{"UDP shorter than IP", RP_ROCE_UDP_LENGTH, true, 0, {{59, 68}}},
	{"BTH cut", RP_ROCE_SHORT_BTH, false, 0, {{17, 20 + 8 + 15}, {39, 8 + 15}}, true},
	{"transport version", RP_ROCE_TVER, false, 0, {{43, 0x01}}},
	{"RC opcode", RP_ROCE_OPCODE, false, 0, {{42, 0x04}}},
	{"congestion notification", RP_ROCE_OPCODE, false, 0, {{42, 0x81}}},
	{"DETH cut", RP_ROCE_SHORT_DETH, false, 0, {{17, 20 + 8 + 20}, {39, 8 + 20}}, true},
	{"immediate cut", RP_ROCE_SHORT_DETH, false, 0,
		{{17, 20 + 8 + 24}, {39, 8 + 24}, {42, 0x65}}, true},
	{"pad of nothing", RP_ROCE_PAD, false, 0, {{17, 20 + 8 + 24}, {39, 8 + 24}, {43, 0x10}},
		true},
	{"not a multiple of 4", RP_ROCE_PAD, false, 0, {{17, 20 + 8 + 63}, {39, 8 + 63}}, true},
	{"pad 3", RP_ROCE_OK, false, 0, {{43, 0x30}}},
	{"all BTH reserved bits", RP_ROCE_OK, false, 0, {{46, 0xFF}, {50, 0xFF}}},
	{"UDP checksum", RP_ROCE_OK, false, 0, {{40, 0xAC}}},
	{"no don't-fragment", RP_ROCE_OK, false, 0, {{20, 0x00}}, true},
};

static enum rp_roce_verdict
parse_mutation(const struct mutation *m, struct rp_roce_view *v)
{
	struct rp_roce_fields f =
		m->v6 ? plain("fd77::1", "fd77::2") : plain("10.0.0.1", "10.0.0.2");
	uint8_t payload[RP_PAYLOAD_LEN] = {0}, whole[256], *frame;
	size_t len = rp_roce_build(whole, &f, payload, sizeof(payload));
	enum rp_roce_verdict verdict;

	if (m->want == RP_ROCE_IP_ADDRESS)
		memcpy(whole + (m->len == 1 ? 22 : 38), "\0\0\0\0\0\0\0\0\0\0\xFF\xFF\x0A\0\0\1",
			16);
	else if (m->len != 0)
		len = m->len;
	for (size_t i = 0; i < RP_ARRAY_LEN(m->set) && m->set[i].at != 0; i++)
		whole[m->set[i].at] = m->set[i].value;
	if (m->new_checksum) {
		rp_store_be16(whole + 24, 0);
		rp_store_be16(whole + 24, rp_inet_checksum(whole + 14, RP_ROCE_IPV4_LEN, 0));
	}
	frame = malloc(len);
	memcpy(frame, whole, len);
	verdict = rp_roce_parse(frame, len, v);
	free(frame);
	return verdict;
}

static void
rp_roce_parse__table_of_mutations__reaches_every_verdict(void)
{
	bool reached[RP_ROCE_VERDICT_N] = {false};

	for (size_t i = 0; i < RP_ARRAY_LEN(mutations); i++) {
		struct rp_roce_view v;
		enum rp_roce_verdict got = parse_mutation(&mutations[i], &v);

		reached[got] = true;
		if (!UT_STR(rp_roce_verdict_name(got), rp_roce_verdict_name(mutations[i].want)))
			printf("  %s\n", mutations[i].name);
	}
	for (int v = 0; v < RP_ROCE_VERDICT_N; v++)
		if (!UT_TRUE(reached[v]))
			printf("  never %s\n", rp_roce_verdict_name((enum rp_roce_verdict)v));
}

static void
rp_roce_parse__any_prefix_of_a_frame__is_refused_by_name(void)
{
	struct rp_rng rng = ut_rng(3);

	for (int i = 0; i < 200; i++) {
		struct rp_roce_fields f = any_fields(&rng);
		uint8_t whole[FRAME_MAX], payload[40] = {0};
		size_t len = rp_roce_build(whole, &f, payload, sizeof(payload));

		for (size_t cut = 0; cut < len; cut++) {
			uint8_t *frame = malloc(cut + (cut == 0));
			struct rp_roce_view v;

			memcpy(frame, whole, cut);
			if (!UT_TRUE(rp_roce_parse(frame, cut, &v) != RP_ROCE_OK))
				printf("  cut at %zu\n", cut);
			free(frame);
		}
	}
}

static void
rp_roce_parse__ethernet_padding__is_not_part_of_the_packet(void)
{
	struct rp_roce_fields f = plain("10.0.0.1", "10.0.0.2");
	uint8_t frame[256];
	struct rp_roce_view v;
	size_t len = rp_roce_build(frame, &f, NULL, 0);

	memset(frame + len, 0xEE, 20);
	UT_EQ(rp_roce_parse(frame, len + 20, &v), RP_ROCE_OK);
	UT_EQ(v.icrc_off + RP_ROCE_ICRC_LEN, len);
	UT_EQ(v.payload_len, 0);
	UT_HEX(v.icrc, rp_roce_icrc(frame, &v));
}

static void
rp_roce_parse__tag_with_drop_bit__keeps_priority_and_id(void)
{
	struct rp_roce_fields f = plain("10.0.0.1", "10.0.0.2");
	uint8_t frame[256];
	struct rp_roce_view v;
	size_t len;

	f.vlan_tci = 0x6064;
	len = rp_roce_build(frame, &f, NULL, 0);
	frame[14] |= 0x10;
	UT_EQ(rp_roce_parse(frame, len, &v), RP_ROCE_OK);
	UT_HEX(v.f.vlan_tci, 0x6064);
	frame[14] = frame[15] = 0xFF;
	UT_EQ(rp_roce_parse(frame, len, &v), RP_ROCE_OK);
	UT_TRUE(v.f.vlan_tci != RP_ROCE_NO_VLAN);
}

static void
rp_roce_parse__longer_than_any_frame__is_refused_with_a_clean_view(void)
{
	struct rp_roce_view v;
	uint8_t *frame = calloc(1, 65536);
	static const struct rp_roce_view zero;

	memset(&v, 0xA5, sizeof(v));
	UT_EQ(rp_roce_parse(frame, 65536, &v), RP_ROCE_IP_LENGTH);
	UT_EQ(v.icrc_off, zero.icrc_off);
	UT_EQ(v.payload_len, zero.payload_len);
	free(frame);
}

static void
rp_inet_checksum__rfc_1071_example__and_odd_length(void)
{
	static const uint8_t data[] = {0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7};
	static const uint8_t odd[] = {0x12, 0x34, 0x56};

	UT_HEX(rp_inet_checksum(data, sizeof(data), 0), 0xFFFF & ~0xddf2);
	UT_HEX(rp_inet_checksum(odd, 3, 0), 0xFFFF & ~(0x1234 + 0x5600));
	UT_HEX(rp_inet_checksum(odd, 0, 0x1FFFE), 0);
}

static void
check_view(const uint8_t *frame, size_t len, const struct rp_roce_view *v)
{
	UT_TRUE(v->bth_off < v->payload_off);
	UT_EQ(v->payload_off + v->payload_len + v->pad, v->icrc_off);
	UT_TRUE(v->icrc_off + RP_ROCE_ICRC_LEN <= (int)len);
	UT_TRUE(v->f.hop_limit != 0);
	UT_EQ(rp_gid_is_ipv4(&v->f.src), !v->is_ipv6);
	UT_EQ(rp_gid_is_ipv4(&v->f.dst), !v->is_ipv6);
	(void)rp_roce_icrc(frame, v);
}

/* Lower both lengths alike, so that the headers behind UDP are cut, not the frame. */
static void
shorten(struct rp_rng *rng, uint8_t *whole, const struct rp_roce_fields *f, size_t ip, size_t n)
{
	size_t l4 = rp_roce_frame_len(f, n) - ip - (rp_gid_is_ipv4(&f->src) ? 20 : 40);
	uint16_t udp_len = (uint16_t)(8 + rp_rng_below(rng, l4 - 8 + 1));

	if (rp_gid_is_ipv4(&f->src)) {
		rp_store_be16(whole + ip + 2, (uint16_t)(20 + udp_len));
		rp_store_be16(whole + ip + 20 + 4, udp_len);
	} else {
		rp_store_be16(whole + ip + 4, udp_len);
		rp_store_be16(whole + ip + 40 + 4, udp_len);
	}
}

/* A frame that came close to being good: most of the parser's depth is there. */
static uint8_t *
mutant(struct rp_rng *rng, size_t *ret_len)
{
	struct rp_roce_fields f = any_fields(rng);
	uint8_t whole[RP_ROCE_HDR_MAX + 64 + 8], payload[64], *frame;
	size_t n = rp_rng_below(rng, sizeof(payload) + 1), len, ip, flips;

	fill(rng, payload, sizeof(payload));
	len = rp_roce_build(whole, &f, payload, n);
	ip = f.vlan_tci == RP_ROCE_NO_VLAN ? 14 : 18;
	if (rp_rng_below(rng, 16) == 0)
		shorten(rng, whole, &f, ip, n);
	if (!rp_gid_is_ipv4(&f.src) && rp_rng_below(rng, 64) == 0)
		memcpy(whole + ip + 8, rp_gid_from_ipv4(payload).b, 16);
	if (rp_rng_below(rng, 64) == 0)
		memcpy(whole + 12, "\x81\x00\x00\x01\x88\xA8", 6);
	flips = rp_rng_below(rng, 4);
	for (size_t i = 0; i < flips; i++) {
		size_t at = 12 + rp_rng_below(rng, len - 12);

		whole[at] = rp_rng_below(rng, 2) == 0
			? (uint8_t)rp_rng_next(rng)
			: whole[at] ^ (uint8_t)(1 << rp_rng_below(rng, 8));
	}
	if (rp_gid_is_ipv4(&f.src) && rp_rng_below(rng, 4) != 0) {
		rp_store_be16(whole + ip + 10, 0);
		rp_store_be16(whole + ip + 10, rp_inet_checksum(whole + ip, 20, 0));
	}
	if (rp_rng_below(rng, 8) == 0)
		len = rp_rng_below(rng, len + 1);
	frame = malloc(len + (len == 0));
	memcpy(frame, whole, len);
	*ret_len = len;
	return frame;
}

static void
rp_roce_parse__a_million_random_and_mutated_frames__each_has_one_verdict(void)
{
	const uint64_t total = 1000000;
	uint64_t count[RP_ROCE_VERDICT_N] = {0}, sum = 0, bad_icrc = 0;
	struct rp_rng rng = ut_rng(4);

	for (uint64_t i = 0; i < total; i++) {
		size_t len = rp_rng_below(&rng, 160);
		uint8_t *frame;
		struct rp_roce_view v;
		enum rp_roce_verdict verdict;

		if (i % 4 == 0) {
			frame = malloc(len + (len == 0));
			fill(&rng, frame, len);
		} else {
			frame = mutant(&rng, &len);
		}
		verdict = rp_roce_parse(frame, len, &v);
		if (!UT_TRUE(verdict < RP_ROCE_VERDICT_N)) {
			free(frame);
			return;
		}
		count[verdict]++;
		if (verdict == RP_ROCE_OK) {
			struct rp_payload msg;

			check_view(frame, len, &v);
			bad_icrc += v.icrc != rp_roce_icrc(frame, &v);
			UT_TRUE(rp_payload_decode(frame + v.payload_off, v.payload_len, 4096,
					&msg) < RP_PAYLOAD_N);
		}
		free(frame);
	}
	for (int v = 0; v < RP_ROCE_VERDICT_N; v++) {
		sum += count[v];
		printf("  %-18s %" PRIu64 "\n", rp_roce_verdict_name((enum rp_roce_verdict)v),
			count[v]);
		UT_TRUE(count[v] > 0);
	}
	UT_EQ(sum, total);
	UT_TRUE(bad_icrc > 0 && bad_icrc < count[RP_ROCE_OK]);
}

static void
rp_roce_verdict_name__each_verdict__is_a_distinct_counter_name(void)
{
	for (int i = 0; i < RP_ROCE_VERDICT_N; i++) {
		const char *name = rp_roce_verdict_name((enum rp_roce_verdict)i);

		UT_TRUE(strlen(name) > 0 &&
			strspn(name, "abcdefghijklmnopqrstuvwxyz_") == strlen(name));
		for (int k = 0; k < i; k++)
			UT_TRUE(strcmp(name, rp_roce_verdict_name((enum rp_roce_verdict)k)) != 0);
	}
}

static const struct ut_test tests[] = {
	UT(rp_roce_parse__any_built_frame__gives_the_fields_back),
	UT(rp_roce_build_headers__any_frame__equals_the_head_of_build),
	UT(rp_roce_build__contradicting_fields__are_refused),
	UT(rp_roce_parse__table_of_mutations__reaches_every_verdict),
	UT(rp_roce_parse__any_prefix_of_a_frame__is_refused_by_name),
	UT(rp_roce_parse__ethernet_padding__is_not_part_of_the_packet),
	UT(rp_roce_parse__tag_with_drop_bit__keeps_priority_and_id),
	UT(rp_roce_parse__longer_than_any_frame__is_refused_with_a_clean_view),
	UT(rp_inet_checksum__rfc_1071_example__and_odd_length),
	UT(rp_roce_parse__a_million_random_and_mutated_frames__each_has_one_verdict),
	UT(rp_roce_verdict_name__each_verdict__is_a_distinct_counter_name),
};

UT_MAIN("roce", tests)
