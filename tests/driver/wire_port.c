/* SPDX-License-Identifier: BSD-3-Clause */

#include "wire_port.h"

#include <stdio.h>

#include "rp_be.h"

struct wire_port wp;

const uint8_t wire_own_mac[6] = {0x02, 0, 0, 0, 9, 1};
const uint8_t wire_peer_mac[6] = {0x02, 0, 0, 0, 9, 2};

struct rp_gid
wire_gid(const char *text)
{
	struct rp_gid gid = {{0}};

	UT_OK(rp_gid_parse(text, &gid));
	return gid;
}

void
wire_init(unsigned int n_rxq, unsigned int n_txq)
{
	ring_rig_eal();
	rp_host_clock_init(&wp.clock, 20, "");
	ring_rig_wire(&wp.wire, "wire", n_rxq, n_txq);
}

void
wire_defaults(bool ipv6)
{
	wp.conf = (struct rp_port_conf){
		.device = wp.wire.device,
		.prefix_len = ipv6 ? 64 : 24,
		.has_mac = true,
		.gid_index = -1,
		.rx_depth = 256,
		.max_peers = 16,
		.numa_node = -1,
		.one_lcore = true,
		.clock = &wp.clock,
	};
	rp_gid_parse(ipv6 ? "fd00:9::1" : "10.9.0.1", &wp.conf.gid);
	memcpy(wp.conf.mac, wire_own_mac, 6);
}

static bool
open_qp(enum rp_role role)
{
	const struct rp_qp_conf conf = {
		.role = role,
		.qkey = role == RP_ROLE_PROBER ? RP_PROBER_QKEY : WIRE_RESPONDER_QKEY,
		.tx_depth = 128,
	};

	return UT_OK(wp.port->ops->qp_open(wp.port, &conf, &wp.qp[role], wp.why));
}

bool
wire_open(void)
{
	wp.port = NULL;
	memset(wp.qp, 0, sizeof(wp.qp));
	wire_flush();
	if (!ut_check(rp_softroce_ops.open(&wp.conf, &wp.port, wp.why) == 0, __FILE__, __LINE__,
		    "open: %s", wp.why))
		return false;
	return open_qp(RP_ROLE_PROBER) && open_qp(RP_ROLE_RESPONDER);
}

void
wire_close(void)
{
	if (wp.port == NULL)
		return;
	for (enum rp_role role = 0; role < RP_ROLE_N; role++)
		if (wp.qp[role] != NULL)
			wp.port->ops->qp_close(wp.qp[role]);
	wp.port->ops->close(wp.port);
	wp.port = NULL;
	wire_flush();
}

void
wire_turn(void)
{
	rp_qp_tx_burst(wp.qp[RP_ROLE_RESPONDER], NULL, 0);
	wp.n_ev = rp_port_poll(wp.port, wp.ev, RP_ARRAY_LEN(wp.ev));
	rp_qp_tx_burst(wp.qp[RP_ROLE_RESPONDER], NULL, 0);
}

void
wire_rx(const uint8_t *frame, size_t len)
{
	ring_rig_inject(&wp.wire, 0, frame, len);
	wire_turn();
}

size_t
wire_tx(uint8_t frame[WIRE_FRAME_MAX])
{
	for (unsigned int q = 0; q < RING_RIG_QUEUES_MAX && wp.wire.from_port[q] != NULL; q++) {
		size_t len = ring_rig_take(&wp.wire, q, frame, WIRE_FRAME_MAX);

		if (len > 0)
			return len;
	}
	return 0;
}

unsigned int
wire_flush(void)
{
	uint8_t frame[WIRE_FRAME_MAX];
	unsigned int n = 0;

	while (wire_tx(frame) > 0)
		n++;
	return n;
}

static bool
is_ipv6(void)
{
	return !rp_gid_is_ipv4(&wp.conf.gid);
}

struct rp_roce_fields
wire_fields(enum rp_role role)
{
	struct rp_roce_fields f = {
		.vlan_tci = wp.conf.vlan == 0 ? RP_ROCE_NO_VLAN : wp.conf.vlan,
		.src = wire_gid(is_ipv6() ? "fd00:9::2" : "10.9.0.2"),
		.dst = wp.conf.gid,
		.hop_limit = 64,
		.sport = 0xC123,
		.opcode = RP_ROCE_OP_UD_SEND,
		.migreq = true,
		.pkey = RP_ROCE_PKEY_DEFAULT,
		.dqpn = wp.qp[role]->qpn,
		.psn = 1,
		.sqpn = 0x456,
		.qkey = role == RP_ROLE_PROBER ? RP_PROBER_QKEY : WIRE_RESPONDER_QKEY,
	};

	memcpy(f.dst_mac, wire_own_mac, 6);
	memcpy(f.src_mac, wire_peer_mac, 6);
	return f;
}

static size_t
put_ethernet(uint8_t *frame, const uint8_t *dst, const uint8_t *src, uint16_t type)
{
	memcpy(frame, dst, 6);
	memcpy(frame + 6, src, 6);
	if (wp.conf.vlan == 0) {
		rp_store_be16(frame + 12, type);
		return 14;
	}
	rp_store_be16(frame + 12, 0x8100);
	rp_store_be16(frame + 14, wp.conf.vlan);
	rp_store_be16(frame + 16, type);
	return 18;
}

static size_t
claim_ipv4(uint8_t *frame, const struct rp_gid *ip, const uint8_t *mac)
{
	uint8_t *p = frame + put_ethernet(frame, wire_own_mac, mac, 0x0806);

	rp_store_be32(p, 0x00010800);
	rp_store_be32(p + 4, 0x06040002);
	memcpy(p + 8, mac, 6);
	memcpy(p + 14, ip->b + 12, 4);
	memcpy(p + 18, wire_own_mac, 6);
	memcpy(p + 24, wp.conf.gid.b + 12, 4);
	return (size_t)(p + 28 - frame);
}

static size_t
claim_ipv6(uint8_t *frame, const struct rp_gid *ip, const uint8_t *mac)
{
	uint8_t *p = frame + put_ethernet(frame, wire_own_mac, mac, 0x86DD), *icmp = p + 40;
	uint8_t pseudo[72] = {0};

	memset(p, 0, 72);
	p[0] = 0x60;
	p[5] = 32;
	p[6] = 58;
	p[7] = 255;
	memcpy(p + 8, ip->b, 16);
	memcpy(p + 24, wp.conf.gid.b, 16);
	icmp[0] = 136;
	icmp[4] = 0x60;
	memcpy(icmp + 8, ip->b, 16);
	icmp[24] = 2;
	icmp[25] = 1;
	memcpy(icmp + 26, mac, 6);
	memcpy(pseudo, p + 8, 32);
	pseudo[35] = 32;
	pseudo[39] = 58;
	memcpy(pseudo + 40, icmp, 32);
	rp_store_be16(icmp + 2, rp_inet_checksum(pseudo, sizeof(pseudo), 0));
	return (size_t)(icmp + 32 - frame);
}

size_t
wire_claim(uint8_t *frame, const struct rp_gid *ip, const uint8_t *mac)
{
	return is_ipv6() ? claim_ipv6(frame, ip, mac) : claim_ipv4(frame, ip, mac);
}

struct rp_peer *
wire_ready_peer(const struct rp_gid *gid)
{
	uint8_t frame[WIRE_FRAME_MAX];
	struct rp_peer *peer = NULL;

	if (!UT_OK(wp.port->ops->peer_open(wp.port, gid, &peer)))
		return NULL;
	wire_turn();
	wire_rx(frame, wire_claim(frame, gid, wire_peer_mac));
	UT_TRUE(rp_peer_is_ready(peer));
	wire_flush();
	return peer;
}

static void
collect(void *arg, const char *name, uint64_t value)
{
	struct wire_stats *stats = arg;

	if (!UT_TRUE(stats->n < RP_ARRAY_LEN(stats->value)))
		return;
	snprintf(stats->name[stats->n], sizeof(stats->name[0]), "%s", name);
	stats->value[stats->n++] = value;
}

void
wire_snapshot(struct wire_stats *ret_stats)
{
	ret_stats->n = 0;
	wp.port->ops->stats(wp.port, collect, ret_stats);
}

uint64_t
wire_stat(const char *name)
{
	static struct wire_stats stats;

	wire_snapshot(&stats);
	for (size_t i = 0; i < stats.n; i++)
		if (strcmp(stats.name[i], name) == 0)
			return stats.value[i];
	ut_check(false, __FILE__, __LINE__, "no counter %s", name);
	return 0;
}

void
wire_only_moved(const struct wire_stats *before, const char *name, const char *what)
{
	static struct wire_stats after;

	wire_snapshot(&after);
	for (size_t i = 0; i < after.n; i++) {
		uint64_t rise = after.value[i] - before->value[i];
		bool named = strcmp(after.name[i], name) == 0;

		if (named)
			ut_check(rise == 1, __FILE__, __LINE__, "%s: %s rose by %" PRIu64, what,
				name, rise);
		else if (strncmp(after.name[i], "drop_", 5) == 0 ||
			strcmp(after.name[i], "rx_frames") == 0)
			ut_check(rise == 0, __FILE__, __LINE__, "%s: %s rose by %" PRIu64 " too",
				what, after.name[i], rise);
	}
}
