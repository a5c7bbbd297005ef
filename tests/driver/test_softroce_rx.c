/* SPDX-License-Identifier: BSD-3-Clause */

/* Every refusal of a received frame, one mutation of a good one each. */

#include <stdio.h>

#include "rp_be.h"
#include "wire_port.h"

#define ETH 14 /* offsets in an untagged IPv4 frame */
#define UDP (ETH + 20)
#define BTH (UDP + 8)

static uint8_t payload[RP_ROCE_PAYLOAD_MAX];

struct mutation {
	const char *name;
	const char *counter;
	void (*fields)(struct rp_roce_fields *f);
	void (*bytes)(uint8_t *frame, size_t *len);
	size_t payload_len; /* 0: a probe */
};

static void
fix_checksum(uint8_t *frame)
{
	rp_store_be16(frame + ETH + 10, 0);
	rp_store_be16(frame + ETH + 10, rp_inet_checksum(frame + ETH, 20, 0));
}

/* An IPv4 datagram of @udp_len bytes behind the IP header, whole in itself. */
static void
shorten_to(uint8_t *frame, size_t *len, uint16_t udp_len)
{
	rp_store_be16(frame + ETH + 2, (uint16_t)(20 + udp_len));
	rp_store_be16(frame + UDP + 4, udp_len);
	fix_checksum(frame);
	*len = (size_t)UDP + udp_len;
}

/* IPv6 and UDP, from ::ffff:10.9.0.2: what an IPv4 peer's GID looks like. */
static void
mapped(uint8_t *frame, size_t *len)
{
	rp_store_be16(frame + 12, 0x86DD);
	memset(frame + ETH, 0, 80);
	frame[ETH] = 0x60;
	frame[ETH + 5] = 40;
	frame[ETH + 6] = 17;
	frame[ETH + 7] = 64;
	memset(frame + ETH + 18, 0xFF, 2);
	rp_store_be32(frame + ETH + 20, 0x0A090002);
	*len = ETH + 80;
}

#define FIELDS(name, statement)                                                                    \
	static void name(struct rp_roce_fields *f)                                                 \
	{                                                                                          \
		statement;                                                                         \
	}

#define BYTES(name, statement)                                                                     \
	static void name(uint8_t *frame, size_t *len)                                              \
	{                                                                                          \
		(void)frame, (void)len;                                                            \
		statement;                                                                         \
	}

FIELDS(other_mac, f->dst_mac[5] ^= 0x40)
FIELDS(group_mac, memset(f->dst_mac, 0xFF, 6))
FIELDS(tag_5, f->vlan_tci = 5)
FIELDS(tag_4095, f->vlan_tci = 4095)
FIELDS(dst_other, f->dst = wire_gid("10.9.0.77"))
FIELDS(dst_broadcast, f->dst = wire_gid("255.255.255.255"))
FIELDS(src_own, f->src = wp.conf.gid)
FIELDS(src_zero, f->src = wire_gid("0.0.0.0"))
FIELDS(src_multicast, f->src = wire_gid("224.1.2.3"))
FIELDS(src_broadcast, f->src = wire_gid("255.255.255.255"))
FIELDS(src_loopback, f->src = wire_gid("127.0.0.1"))
FIELDS(qpn_other, f->dqpn ^= 0x100000)
FIELDS(qpn_zero, f->dqpn = 0)
FIELDS(qpn_multicast, f->dqpn = 0xFFFFFF)
FIELDS(pkey_other, f->pkey = 0x8001)
FIELDS(qkey_other, f->qkey ^= 1)
FIELDS(qkey_of_prober, f->qkey = RP_PROBER_QKEY)
BYTES(cut_13, *len = 13)
BYTES(cut_6, *len = 6)
BYTES(cut_0, *len = 0)
BYTES(qinq, rp_store_be16(frame + 12, 0x88A8))
BYTES(cut_ip, *len = ETH + 19)
BYTES(version_6, frame[ETH] = 0x65)
BYTES(options, frame[ETH] = 0x46; fix_checksum(frame))
BYTES(fragment_first, frame[ETH + 6] |= 0x20; fix_checksum(frame))
BYTES(fragment_later, frame[ETH + 7] |= 1; fix_checksum(frame))
BYTES(cut_by_one, *len -= 1)
BYTES(cut_in_half, *len /= 2)
BYTES(total_short, rp_store_be16(frame + ETH + 2, 19); fix_checksum(frame))
BYTES(checksum, frame[ETH + 10] ^= 1)
BYTES(ttl_zero, frame[ETH + 8] = 0; fix_checksum(frame))
BYTES(udp_long, frame[UDP + 5] += 1)
BYTES(udp_short, frame[UDP + 5] -= 4)
BYTES(cut_bth, shorten_to(frame, len, 8 + 12))
BYTES(tver, frame[BTH + 1] |= 1)
BYTES(rc_send, frame[BTH] = 0x04)
BYTES(ud_unknown, frame[BTH] = 0x66)
BYTES(cut_deth, shorten_to(frame, len, 8 + 12 + 8))
BYTES(pad_without, shorten_to(frame, len, 8 + 12 + 8 + 4); frame[BTH + 1] |= 0x30)
BYTES(odd_length, shorten_to(frame, len, 8 + 12 + 8 + 4 + 3))
BYTES(udp_other_port, rp_store_be16(frame + UDP + 2, 4790))
BYTES(tcp, frame[ETH + 9] = 6; fix_checksum(frame))
BYTES(lldp, rp_store_be16(frame + 12, 0x88CC))
BYTES(ipv6_type, rp_store_be16(frame + 12, 0x86DD); frame[ETH] = 0x60)
BYTES(ipv6_mapped, rp_store_be16(frame + 12, 0x86DD); rp_store_be32(frame + ETH, 0x60000000);
	rp_store_be16(frame + ETH + 4, (uint16_t)(*len - ETH - 40)); frame[ETH + 6] = 17;
	frame[ETH + 7] = 64; memcpy(frame + ETH + 8, wire_gid("10.9.0.2").b, 16);
	memcpy(frame + ETH + 24, wp.conf.gid.b, 16))
BYTES(icrc_last, frame[*len - 1] ^= 0x80)
BYTES(icrc_payload, frame[BTH + 20 + 39] ^= 1)
BYTES(icrc_sport, frame[UDP] ^= 1)
BYTES(icrc_psn, frame[BTH + 11] ^= 1)
BYTES(icrc_sqpn, frame[BTH + 19] ^= 1)
BYTES(icmp_unknown, frame[ETH + 9] = 1; fix_checksum(frame))
BYTES(arp_short, rp_store_be16(frame + 12, 0x0806); *len = ETH + 27)
BYTES(arp_garbage, rp_store_be16(frame + 12, 0x0806))

static const struct mutation mutations[] = {
	{"destination MAC of another", "drop_dst_mac", other_mac, NULL, 0},
	{"broadcast MAC", "drop_dst_mac", group_mac, NULL, 0},
	{"Ethernet header cut", "drop_short_ethernet", NULL, cut_13, 0},
	{"MAC only", "drop_short_ethernet", NULL, cut_6, 0},
	{"nothing", "drop_short_ethernet", NULL, cut_0, 0},
	{"two tags", "drop_vlan_stacked", NULL, qinq, 0},
	{"IP header cut", "drop_short_ip", NULL, cut_ip, 0},
	{"IP version", "drop_ip_version", NULL, version_6, 0},
	{"IP options", "drop_ip_options", NULL, options, 0},
	{"first fragment", "drop_ip_fragment", NULL, fragment_first, 0},
	{"later fragment", "drop_ip_fragment", NULL, fragment_later, 0},
	{"one byte missing", "drop_ip_length", NULL, cut_by_one, 0},
	{"half missing", "drop_ip_length", NULL, cut_in_half, 0},
	{"total below the header", "drop_ip_length", NULL, total_short, 0},
	{"IP checksum", "drop_ip_checksum", NULL, checksum, 0},
	{"IPv4 address in IPv6", "drop_ip_address", NULL, mapped, 0},
	{"TTL 0", "drop_ip_ttl", NULL, ttl_zero, 0},
	{"IPv4-mapped in IPv6", "drop_ip_address", NULL, ipv6_mapped, 0},
	{"UDP longer than IP", "drop_udp_length", NULL, udp_long, 0},
	{"UDP shorter than IP", "drop_udp_length", NULL, udp_short, 0},
	{"BTH without ICRC", "drop_short_bth", NULL, cut_bth, 0},
	{"transport version", "drop_transport_version", NULL, tver, 0},
	{"RC opcode", "drop_opcode", NULL, rc_send, 0},
	{"reserved UD opcode", "drop_opcode", NULL, ud_unknown, 0},
	{"DETH without ICRC", "drop_short_deth", NULL, cut_deth, 0},
	{"pad of nothing", "drop_pad", NULL, pad_without, 0},
	{"length no multiple of four", "drop_pad", NULL, odd_length, 0},
	{"another UDP port", "drop_not_roce", NULL, udp_other_port, 0},
	{"TCP", "drop_not_roce", NULL, tcp, 0},
	{"LLDP", "drop_not_roce", NULL, lldp, 0},
	{"IPv6 to an IPv4 port", "drop_not_roce", NULL, ipv6_type, 0},
	{"a VLAN tag", "drop_vlan", tag_5, NULL, 0},
	{"the reserved VLAN", "drop_vlan", tag_4095, NULL, 0},
	{"another destination address", "drop_dst_address", dst_other, NULL, 0},
	{"broadcast address", "drop_dst_address", dst_broadcast, NULL, 0},
	{"our own address as source", "drop_src_address", src_own, NULL, 0},
	{"source zero", "drop_src_address", src_zero, NULL, 0},
	{"source multicast", "drop_src_address", src_multicast, NULL, 0},
	{"source broadcast", "drop_src_address", src_broadcast, NULL, 0},
	{"source loopback", "drop_src_address", src_loopback, NULL, 0},
	{"unknown QPN", "drop_qpn", qpn_other, NULL, 0},
	{"QPN 0", "drop_qpn", qpn_zero, NULL, 0},
	{"multicast QPN", "drop_qpn", qpn_multicast, NULL, 0},
	{"P_Key", "drop_pkey", pkey_other, NULL, 0},
	{"Q_Key", "drop_qkey", qkey_other, NULL, 0},
	{"Q_Key of the other queue pair", "drop_qkey", qkey_of_prober, NULL, 0},
	{"payload over the limit", "drop_payload_length", NULL, NULL, 1200},
	{"ICRC itself", "drop_icrc", NULL, icrc_last, 0},
	{"a payload bit", "drop_icrc", NULL, icrc_payload, 0},
	{"a source port bit", "drop_icrc", NULL, icrc_sport, 0},
	{"a PSN bit", "drop_icrc", NULL, icrc_psn, 0},
	{"a source QPN bit", "drop_icrc", NULL, icrc_sqpn, 0},
	{"ICMP of no use", "drop_icmp", NULL, icmp_unknown, 0},
	{"ARP cut", "drop_arp", NULL, arp_short, 0},
	{"ARP garbage", "drop_arp", NULL, arp_garbage, 0},
};

static bool
begin(bool ipv6)
{
	for (size_t i = 0; i < sizeof(payload); i++)
		payload[i] = (uint8_t)(i * 3 + 1);
	wire_defaults(ipv6);
	return wire_open();
}

static size_t
good_frame(uint8_t *frame, enum rp_role role)
{
	struct rp_roce_fields f = wire_fields(role);

	return rp_roce_build(frame, &f, payload, RP_PAYLOAD_LEN);
}

static void
mutate(const struct mutation *m)
{
	struct rp_roce_fields f = wire_fields(RP_ROLE_RESPONDER);
	uint8_t frame[WIRE_FRAME_MAX];
	static struct wire_stats before;
	size_t len;

	if (m->fields != NULL)
		m->fields(&f);
	len = rp_roce_build(
		frame, &f, payload, m->payload_len == 0 ? RP_PAYLOAD_LEN : m->payload_len);
	if (m->bytes != NULL)
		m->bytes(frame, &len);
	wire_snapshot(&before);
	wire_rx(frame, len);
	ut_check(wp.n_ev == 0, __FILE__, __LINE__, "%s: %u events", m->name, wp.n_ev);
	wire_only_moved(&before, m->counter, m->name);
	UT_EQ_U(ring_rig_free(&wp.wire), wp.wire.pool->size);
}

static void
rx__each_mutation_moves_its_counter_and_nothing_else(void)
{
	if (begin(false)) {
		wire_turn();
		wire_flush();
		for (size_t i = 0; i < RP_ARRAY_LEN(mutations); i++)
			mutate(&mutations[i]);
	}
	wire_close();
}

static void
rx__every_drop_counter_has_a_mutation(void)
{
	/* Chains and NDP have tests of their own. */
	static const char *const elsewhere[] = {"drop_segments", "drop_nd"};
	static struct wire_stats stats;

	if (begin(false)) {
		wire_snapshot(&stats);
		for (size_t i = 0; i < stats.n; i++) {
			bool covered = strncmp(stats.name[i], "drop_", 5) != 0;

			for (size_t k = 0; k < RP_ARRAY_LEN(mutations); k++)
				covered |= strcmp(mutations[k].counter, stats.name[i]) == 0;
			for (size_t k = 0; k < RP_ARRAY_LEN(elsewhere); k++)
				covered |= strcmp(elsewhere[k], stats.name[i]) == 0;
			ut_check(covered, __FILE__, __LINE__, "%s has no mutation", stats.name[i]);
		}
	}
	wire_close();
}

static void
accepted(const uint8_t *frame, size_t len, enum rp_role role)
{
	wire_rx(frame, len);
	if (!UT_EQ(wp.n_ev, 1))
		return;
	UT_EQ(wp.ev[0].kind, RP_EV_RX);
	UT_EQ(wp.ev[0].role, role);
	UT_EQ(wp.ev[0].len, RP_PAYLOAD_LEN);
	UT_EQ_U(wp.ev[0].src_qpn, 0x456);
	UT_MEM(wp.ev[0].payload, payload, RP_PAYLOAD_LEN);
}

static void
rx__what_routers_and_other_stacks_change_is_accepted(void)
{
	uint8_t frame[WIRE_FRAME_MAX];
	struct rp_roce_fields f;
	size_t len;

	if (!begin(false))
		goto close;
	len = good_frame(frame, RP_ROLE_PROBER);
	accepted(frame, len, RP_ROLE_PROBER);
	len = good_frame(frame, RP_ROLE_RESPONDER);
	/* TOS and TTL on the way, Ethernet padding behind. */
	frame[ETH + 1] = 0x6A;
	frame[ETH + 8] = 3;
	fix_checksum(frame);
	memset(frame + len, 0xEE, 12);
	accepted(frame, len + 12, RP_ROLE_RESPONDER);
	/* ECN marks of a switch. */
	frame[BTH + 4] |= 0xC0;
	accepted(frame, len, RP_ROLE_RESPONDER);
	f = wire_fields(RP_ROLE_RESPONDER);
	f.migreq = false;
	f.pkey = 0x7FFF;
	f.solicited = true;
	f.opcode = RP_ROCE_OP_UD_SEND_IMM;
	f.imm = 0xdeadbeef;
	f.vlan_tci = 0x6000; /* priority tag */
	accepted(frame, rp_roce_build(frame, &f, payload, RP_PAYLOAD_LEN), RP_ROLE_RESPONDER);
close:
	wire_close();
}

static void
rx__chain_of_buffers_is_refused_whole(void)
{
	uint8_t frame[WIRE_FRAME_MAX];
	static struct wire_stats before;
	size_t len;

	if (begin(false)) {
		len = good_frame(frame, RP_ROLE_RESPONDER);
		wire_snapshot(&before);
		ring_rig_inject_chain(&wp.wire, frame, len, 60);
		wire_turn();
		UT_EQ(wp.n_ev, 0);
		wire_only_moved(&before, "drop_segments", "chain");
		UT_EQ_U(ring_rig_free(&wp.wire), wp.wire.pool->size);
	}
	wire_close();
}

static void
rx__vlan_port_takes_its_tag_only(void)
{
	uint8_t frame[WIRE_FRAME_MAX];
	struct rp_roce_fields f;

	wire_defaults(false);
	wp.conf.vlan = 10;
	for (size_t i = 0; i < sizeof(payload); i++)
		payload[i] = (uint8_t)i;
	if (!wire_open())
		goto close;
	f = wire_fields(RP_ROLE_RESPONDER);
	accepted(frame, rp_roce_build(frame, &f, payload, RP_PAYLOAD_LEN), RP_ROLE_RESPONDER);
	f.vlan_tci = 0xA00A; /* with a priority */
	accepted(frame, rp_roce_build(frame, &f, payload, RP_PAYLOAD_LEN), RP_ROLE_RESPONDER);
	f.vlan_tci = RP_ROCE_NO_VLAN;
	wire_rx(frame, rp_roce_build(frame, &f, payload, RP_PAYLOAD_LEN));
	f.vlan_tci = 0;
	wire_rx(frame, rp_roce_build(frame, &f, payload, RP_PAYLOAD_LEN));
	f.vlan_tci = 11;
	wire_rx(frame, rp_roce_build(frame, &f, payload, RP_PAYLOAD_LEN));
	UT_EQ_U(wire_stat("drop_vlan"), 3);
	UT_EQ_U(wire_stat("rx_frames"), 2);
close:
	wire_close();
}

static void
rx__every_queue_is_polled(void)
{
	uint8_t frame[WIRE_FRAME_MAX];
	size_t len;

	if (begin(false)) {
		len = good_frame(frame, RP_ROLE_RESPONDER);
		for (unsigned int round = 0; round < 3; round++) {
			for (unsigned int q = 0; q < wp.wire.n_rxq; q++)
				ring_rig_inject(&wp.wire, q, frame, len);
			wire_turn();
			UT_EQ(wp.n_ev, wp.wire.n_rxq);
			for (unsigned int i = 0; i < wp.n_ev; i++)
				UT_EQ(wp.ev[i].burst, wp.n_ev);
		}
		/* One event at a time: no queue is forgotten. */
		for (unsigned int q = 0; q < wp.wire.n_rxq; q++)
			ring_rig_inject(&wp.wire, q, frame, len);
		for (unsigned int q = 0; q < wp.wire.n_rxq; q++)
			UT_EQ(rp_port_poll(wp.port, wp.ev, 1), 1);
		UT_EQ(rp_port_poll(wp.port, wp.ev, 1), 0);
	}
	wire_close();
}

static void
rx__work_of_one_poll_is_bounded(void)
{
	uint8_t frame[WIRE_FRAME_MAX] = {0};
	size_t len;

	if (begin(false)) {
		for (int i = 0; i < SR_POLL_BURSTS * SR_BURST; i++)
			ring_rig_inject(&wp.wire, 0, frame, 60);
		len = good_frame(frame, RP_ROLE_RESPONDER);
		ring_rig_inject(&wp.wire, 0, frame, len);
		wire_turn();
		UT_EQ(wp.n_ev, 0);
		wire_turn();
		UT_EQ(wp.n_ev, 1);
	}
	wire_close();
}

static size_t
random_frame(struct rp_rng *rng, uint8_t *frame)
{
	size_t len;

	if (rp_rng_below(rng, 4) == 0) {
		len = rp_rng_below(rng, 1500);
		for (size_t i = 0; i < len; i++)
			frame[i] = (uint8_t)rp_rng_next(rng);
		return len;
	}
	/* A good frame of any kind with a few bytes changed gets further. */
	if (rp_rng_below(rng, 2) == 0)
		len = good_frame(frame, RP_ROLE_RESPONDER);
	else
		len = wire_claim(frame, &wp.conf.gid, wire_peer_mac);
	if (rp_rng_below(rng, 4) == 0)
		frame[12 + rp_rng_below(rng, 2)] = (uint8_t)rp_rng_next(rng);
	for (uint64_t n = 1 + rp_rng_below(rng, 4); n > 0; n--)
		frame[rp_rng_below(rng, len)] = (uint8_t)rp_rng_next(rng);
	if (rp_rng_below(rng, 4) == 0)
		len = rp_rng_below(rng, len);
	return len;
}

static void
survive_random_frames(bool ipv6, unsigned int n)
{
	struct rp_rng rng = ut_rng(ipv6);
	uint8_t frame[WIRE_FRAME_MAX];
	struct rp_peer *peer;
	struct rp_gid other;
	uint32_t level;
	size_t len;

	if (!begin(ipv6))
		goto close;
	other = wire_gid(ipv6 ? "fd00:9::2" : "10.9.0.2");
	peer = wire_ready_peer(&other);
	level = rte_mempool_avail_count(sr_port_of(wp.port)->pool);
	for (unsigned int i = 0; i < n; i++) {
		len = random_frame(&rng, frame);
		wire_rx(frame, len);
		wire_flush();
	}
	UT_EQ_U(ring_rig_free(&wp.wire), wp.wire.pool->size);
	UT_EQ_U(rte_mempool_avail_count(sr_port_of(wp.port)->pool), level);
	for (unsigned int i = 0; i < 1000; i++) {
		struct rp_tx tx = {.peer = peer,
			.payload = payload,
			.cookie = i,
			.qpn = 5,
			.qkey = 6,
			.flow_label = 1,
			.len = RP_PAYLOAD_LEN};

		accepted(frame, good_frame(frame, RP_ROLE_RESPONDER), RP_ROLE_RESPONDER);
		UT_EQ(rp_qp_tx_burst(wp.qp[RP_ROLE_PROBER], &tx, 1), 1);
		wire_turn();
		UT_EQ(wp.n_ev, 1);
		UT_TRUE(wire_tx(frame) > 0);
		wire_flush();
	}
close:
	wire_close();
}

static void
rx__survives_100000_random_frames_over_ipv4(void)
{
	survive_random_frames(false, 100000);
}

static void
rx__survives_100000_random_frames_over_ipv6(void)
{
	survive_random_frames(true, 100000);
}

static void
icrc__simd_equals_table_for_every_length(void)
{
	static struct sr_scratch scratch;
	static uint8_t l3[SR_COVERED_MAX];
	struct rp_rng rng = ut_rng(9);

	for (size_t i = 0; i < sizeof(l3); i++)
		l3[i] = (uint8_t)rp_rng_next(&rng);
	for (unsigned int version = 4; version <= 6; version += 2) {
		l3[0] = (uint8_t)(version << 4 | 5);
		for (size_t len = (version == 4 ? 40 : 60); len <= sizeof(l3); len++)
			if (!UT_HEX(sr_icrc(&scratch, l3, len), rp_icrc(l3, len)))
				return;
	}
}

static const struct ut_test tests[] = {
	UT(rx__each_mutation_moves_its_counter_and_nothing_else),
	UT(rx__every_drop_counter_has_a_mutation),
	UT(rx__what_routers_and_other_stacks_change_is_accepted),
	UT(rx__chain_of_buffers_is_refused_whole),
	UT(rx__vlan_port_takes_its_tag_only),
	UT(rx__every_queue_is_polled),
	UT(rx__work_of_one_poll_is_bounded),
	UT(rx__survives_100000_random_frames_over_ipv4),
	UT(rx__survives_100000_random_frames_over_ipv6),
	UT(icrc__simd_equals_table_for_every_length),
};

int
main(int argc, char **argv)
{
	wire_init(3, 2);
	return ut_main("softroce_rx", tests, RP_ARRAY_LEN(tests), argc, argv);
}
