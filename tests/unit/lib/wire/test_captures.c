/* SPDX-License-Identifier: BSD-3-Clause */

#include <stdio.h>

#include "rp_be.h"
#include "rp_flow.h"
#include "rp_icrc.h"
#include "rp_pcap.h"
#include "rp_roce.h"
#include "ut.h"

/* What another implementation, the kernel's rxe, put on the wire. */
static const struct {
	const char *name;
	int frames;
} captures[] = {
	{"send_lat_ud_v4", 10},
	{"send_lat_ud_v6", 10},
	{"ud_pingpong_ll6", 8},
	{"ud_pingpong_v4", 8},
	{"ud_pingpong_v6", 8},
	{"udvec_ll6", 24},
	{"udvec_v4", 24},
	{"udvec_v6", 24},
};

static struct rp_pcap *
open_capture(const char *name, const char *ext)
{
	struct rp_pcap *pcap = NULL;
	char file[128], why[256] = "";

	snprintf(file, sizeof(file), "captures/%s.%s", name, ext);
	if (rp_pcap_open(ut_data(file), &pcap, why) != 0) {
		printf("%s: %s\n", file, why);
		abort();
	}
	return pcap;
}

/*
 * We send IPv4 id 0, rxe a running one. The id is put into our frame, with the
 * header checksum and the ICRC that follow from it; all else must be equal.
 */
static void
take_over_id(uint8_t *frame, size_t len, const uint8_t *captured)
{
	uint8_t *ip = frame + RP_ROCE_ETH_LEN;
	size_t covered = len - RP_ROCE_ETH_LEN - RP_ROCE_ICRC_LEN;

	memcpy(ip + 4, captured + RP_ROCE_ETH_LEN + 4, 2);
	rp_store_be16(ip + 10, 0);
	rp_store_be16(ip + 10, rp_inet_checksum(ip, RP_ROCE_IPV4_LEN, 0));
	rp_store_le32(frame + len - RP_ROCE_ICRC_LEN, rp_icrc(ip, covered));
}

static void
rp_roce_build__every_captured_frame__is_rebuilt_byte_for_byte(void)
{
	for (size_t i = 0; i < RP_ARRAY_LEN(captures); i++) {
		struct rp_pcap *pcap = open_capture(captures[i].name, "pcap");
		struct rp_pcap_frame frame;
		char why[256];
		int n = 0;

		while (rp_pcap_next(pcap, &frame, why) == 1) {
			struct rp_roce_view v;
			uint8_t again[2048];
			size_t len;

			n++;
			UT_EQ(frame.len, frame.wire_len);
			if (!UT_EQ(rp_roce_parse(frame.data, frame.len, &v), RP_ROCE_OK))
				continue;
			UT_HEX(v.icrc, rp_roce_icrc(frame.data, &v));
			len = rp_roce_build(again, &v.f, frame.data + v.payload_off, v.payload_len);
			UT_EQ(len, frame.len);
			if (!v.is_ipv6)
				take_over_id(again, len, frame.data);
			if (!UT_MEM(again, frame.data, len))
				printf("  %s frame %d\n", captures[i].name, n);
		}
		UT_EQ(n, captures[i].frames);
		rp_pcap_close(pcap);
	}
}

static void
rp_roce_icrc__one_flipped_bit_of_a_captured_frame__is_noticed(void)
{
	struct rp_pcap *pcap = open_capture("udvec_v6", "pcap");
	struct rp_rng rng = ut_rng(1);
	struct rp_pcap_frame frame;
	char why[256];

	while (rp_pcap_next(pcap, &frame, why) == 1) {
		uint8_t copy[2048];
		struct rp_roce_view v;
		size_t at;

		rp_roce_parse(frame.data, frame.len, &v);
		memcpy(copy, frame.data, frame.len);
		at = v.bth_off + 8 + rp_rng_below(&rng, frame.len - v.bth_off - 8);
		copy[at] ^= (uint8_t)(1 << rp_rng_below(&rng, 8));
		UT_EQ(rp_roce_parse(copy, frame.len, &v), RP_ROCE_OK);
		UT_TRUE(v.icrc != rp_roce_icrc(copy, &v));
	}
	rp_pcap_close(pcap);
}

/* One line of udvec_*.txt: what was asked for, and what the receiver was told. */
struct asked {
	unsigned int sqpn, dqpn, flow, tclass, hop, len, imm, solicited;
	unsigned int byte_len, src_qp, flags, imm_value;
	uint8_t grh[40];
};

static bool
read_asked(FILE *f, struct asked *a)
{
	char line[1024], grh[128];

	while (fgets(line, sizeof(line), f) != NULL) {
		if (sscanf(line,
			    "sqpn %x dqpn %x flow %x tclass %x hop %u len %u imm %u sol %u -> recv "
			    "status 0 op 128 byte_len %u src_qp %x flags %x imm %x sl 0 "
			    "pkey_index 0 grh %127s",
			    &a->sqpn, &a->dqpn, &a->flow, &a->tclass, &a->hop, &a->len, &a->imm,
			    &a->solicited, &a->byte_len, &a->src_qp, &a->flags, &a->imm_value,
			    grh) == 13) {
			ut_hex(grh, a->grh, sizeof(a->grh));
			return true;
		}
	}
	return false;
}

static void
expect_as_received(const struct rp_pcap_frame *frame, const struct asked *a)
{
	struct rp_roce_view v;
	const uint8_t *payload;
	size_t ip_len;

	UT_EQ(rp_roce_parse(frame->data, frame->len, &v), RP_ROCE_OK);
	UT_HEX(v.f.sqpn, a->src_qp);
	UT_HEX(v.f.sqpn, a->sqpn);
	UT_HEX(v.f.dqpn, a->dqpn);
	UT_EQ(v.payload_len, a->len);
	UT_EQ(v.payload_len + 40, a->byte_len); /* behind the 40-byte GRH area */
	UT_EQ(v.f.opcode == RP_ROCE_OP_UD_SEND_IMM, (a->flags & 2) != 0);
	UT_EQ(v.f.opcode == RP_ROCE_OP_UD_SEND_IMM, a->imm != 0);
	UT_HEX(v.f.imm, a->imm_value);
	UT_EQ(v.f.solicited, a->solicited != 0);
	UT_HEX(v.f.tclass, a->tclass);
	UT_HEX(v.f.qkey, 0x11111111);
	UT_HEX(v.f.pkey, RP_ROCE_PKEY_DEFAULT);
	/* rxe 6.1 sends 64 and label 0 whatever was asked for. */
	UT_EQ(v.f.hop_limit, 64);
	UT_EQ(v.f.flow_label, 0);
	payload = frame->data + v.payload_off;
	for (unsigned int i = 0; i < v.payload_len; i++)
		if (!UT_EQ(payload[i], i & 0xFF))
			break;
	/* The receiver saw the IP header of this very frame (IPv4: in the last 20 bytes). */
	ip_len = v.is_ipv6 ? 40 : 20;
	UT_MEM(frame->data + v.l3_off, a->grh + 40 - ip_len, ip_len);
}

static void
rp_roce_parse__udvec_frames__agree_with_the_completions_of_the_receiver(void)
{
	static const char *const name[] = {"udvec_v4", "udvec_v6", "udvec_ll6"};

	for (size_t i = 0; i < RP_ARRAY_LEN(name); i++) {
		struct rp_pcap *pcap = open_capture(name[i], "pcap");
		struct rp_pcap_frame frame;
		struct asked asked = {0};
		char file[128], why[256];
		int n = 0;
		FILE *f;

		snprintf(file, sizeof(file), "captures/%s.txt", name[i]);
		f = fopen(ut_data(file), "re");
		if (f == NULL)
			abort();
		while (rp_pcap_next(pcap, &frame, why) == 1) {
			if (!UT_TRUE(read_asked(f, &asked)))
				break;
			n++;
			expect_as_received(&frame, &asked);
		}
		UT_EQ(n, 24);
		/* The 25th was over the MTU: it completed and never left. */
		UT_FALSE(read_asked(f, &asked));
		fclose(f);
		rp_pcap_close(pcap);
	}
}

static void
rp_roce_parse__udvec_source_ports__one_per_queue_pair_in_the_range(void)
{
	struct rp_pcap *pcap = open_capture("udvec_v4", "pcap");
	uint16_t port_of[4] = {0};
	uint32_t first = 0;
	struct rp_pcap_frame frame;
	char why[256];

	while (rp_pcap_next(pcap, &frame, why) == 1) {
		struct rp_roce_view v;
		uint32_t qp;

		rp_roce_parse(frame.data, frame.len, &v);
		first = first == 0 ? v.f.sqpn : first;
		qp = v.f.sqpn - first;
		if (!UT_TRUE(qp < 4))
			break;
		UT_TRUE(v.f.sport >= RP_ROCE_SPORT_MIN);
		UT_EQ(rp_flow_sport(rp_flow_label_of(v.f.sport)), v.f.sport);
		if (port_of[qp] != 0)
			UT_HEX(v.f.sport, port_of[qp]);
		port_of[qp] = v.f.sport;
	}
	for (int i = 0; i < 4; i++)
		for (int k = 0; k < i; k++)
			UT_TRUE(port_of[i] != port_of[k]);
	rp_pcap_close(pcap);
}

static const struct ut_test tests[] = {
	UT(rp_roce_build__every_captured_frame__is_rebuilt_byte_for_byte),
	UT(rp_roce_icrc__one_flipped_bit_of_a_captured_frame__is_noticed),
	UT(rp_roce_parse__udvec_frames__agree_with_the_completions_of_the_receiver),
	UT(rp_roce_parse__udvec_source_ports__one_per_queue_pair_in_the_range),
};

UT_MAIN("captures", tests)
