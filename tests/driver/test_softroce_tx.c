/* SPDX-License-Identifier: BSD-3-Clause */

/* What softroce puts on the wire, and what it does when the wire is full. */

#include <stdio.h>

#include <rte_malloc.h>

#include "rp_be.h"
#include "rp_flow.h"
#include "wire_port.h"

#define WIRE_SLOTS (RING_RIG_SLOTS - 1)

static uint8_t payload[RP_ROCE_PAYLOAD_MAX];
static struct rp_peer *peer;

static bool
begin(bool ipv6, uint16_t vlan, bool one_lcore)
{
	struct rp_gid other;

	for (size_t i = 0; i < sizeof(payload); i++)
		payload[i] = (uint8_t)(i * 5 + 3);
	wire_defaults(ipv6);
	wp.conf.vlan = vlan;
	wp.conf.one_lcore = one_lcore;
	if (!wire_open())
		return false;
	other = wire_gid(ipv6 ? "fd00:9::2" : "10.9.0.2");
	peer = wire_ready_peer(&other);
	return peer != NULL;
}

static struct rp_tx
datagram(uint16_t len, uint64_t cookie)
{
	return (struct rp_tx){
		.peer = peer,
		.payload = payload,
		.cookie = cookie,
		.qpn = 0xABCDEF,
		.qkey = 0x12345678,
		.flow_label = 0x54321,
		.len = len,
		.tclass = 0x6A,
		.sl = 5,
	};
}

/* What the frame of @tx has to be, by the reference builder. */
static size_t
reference(uint8_t *frame, const struct rp_tx *tx, enum rp_role role, uint32_t psn)
{
	struct rp_roce_fields f = wire_fields(role);

	memcpy(f.dst_mac, wire_peer_mac, 6);
	memcpy(f.src_mac, wire_own_mac, 6);
	f.dst = f.src;
	f.src = wp.conf.gid;
	if (wp.conf.vlan != 0)
		f.vlan_tci = (uint16_t)(tx->sl << 13 | wp.conf.vlan);
	f.tclass = tx->tclass;
	f.flow_label = rp_gid_is_ipv4(&f.src) ? 0 : tx->flow_label;
	f.sport = rp_flow_sport(tx->flow_label);
	f.dqpn = tx->qpn;
	f.psn = psn;
	f.sqpn = wp.qp[role]->qpn;
	f.qkey = tx->qkey;
	return rp_roce_build(frame, &f, tx->payload, tx->len);
}

static void
every_length(bool ipv6, uint16_t vlan)
{
	uint8_t got[WIRE_FRAME_MAX], want[WIRE_FRAME_MAX];
	uint16_t max;

	if (!begin(ipv6, vlan, true))
		goto close;
	max = (uint16_t)wp.port->caps.max_payload_bytes;
	UT_TRUE(max >= 100);
	for (uint16_t len = 1; len <= max; len++) {
		struct rp_tx tx = datagram(len, len);
		size_t n;

		tx.flow_label = len * 977u & RP_FLOW_LABEL_MAX;
		tx.tclass = (uint8_t)(len * 13);
		UT_EQ(rp_qp_tx_burst(wp.qp[RP_ROLE_PROBER], &tx, 1), 1);
		n = wire_tx(got);
		if (!UT_EQ_U(n, reference(want, &tx, RP_ROLE_PROBER, len - 1u)) ||
			!UT_MEM(got, want, n))
			break;
		wire_turn();
	}
close:
	wire_close();
}

static void
tx__frame_is_byte_for_byte_the_reference_over_ipv4(void)
{
	every_length(false, 0);
}

static void
tx__frame_is_byte_for_byte_the_reference_over_ipv6(void)
{
	every_length(true, 0);
}

static void
tx__vlan_frame_carries_tag_and_priority(void)
{
	every_length(false, 10);
	every_length(true, 4094);
}

static void
tx__roles_use_their_own_queue_and_numbers(void)
{
	uint8_t frame[WIRE_FRAME_MAX];
	struct rp_roce_view view;
	size_t len;

	if (!begin(false, 0, false))
		goto close;
	for (enum rp_role role = 0; role < RP_ROLE_N; role++) {
		struct rp_tx tx = datagram(RP_PAYLOAD_LEN, 1);

		UT_EQ(rp_qp_tx_burst(wp.qp[role], &tx, 1), 1);
		len = ring_rig_take(&wp.wire, role == RP_ROLE_PROBER ? 1 : 0, frame, sizeof(frame));
		if (!UT_TRUE(len > 0))
			continue;
		UT_EQ(rp_roce_parse(frame, len, &view), RP_ROCE_OK);
		UT_HEX(view.f.sqpn, wp.qp[role]->qpn);
		UT_EQ_U(view.f.psn, 0);
	}
	UT_TRUE(wp.qp[RP_ROLE_PROBER]->qpn != wp.qp[RP_ROLE_RESPONDER]->qpn);
close:
	wire_close();
}

/* Leave @room slots on queue @q of the wire. */
static void
fill_wire(unsigned int q, unsigned int room)
{
	static uint8_t frame[64];
	struct rte_mbuf *m;

	while (rte_ring_free_count(wp.wire.from_port[q]) > room) {
		m = rte_pktmbuf_alloc(wp.wire.pool);
		if (!UT_TRUE(m != NULL))
			return;
		memcpy(rte_pktmbuf_append(m, sizeof(frame)), frame, sizeof(frame));
		rte_ring_enqueue(wp.wire.from_port[q], m);
	}
}

static void
tx__full_ethdev_gives_short_count_and_no_gap_in_psn(void)
{
	uint8_t frame[WIRE_FRAME_MAX];
	struct rp_tx tx[20];
	uint32_t level;
	size_t len;
	struct rp_roce_view view;

	if (!begin(false, 0, true))
		goto close;
	level = rte_mempool_avail_count(sr_port_of(wp.port)->pool);
	fill_wire(1, 7);
	for (size_t i = 0; i < RP_ARRAY_LEN(tx); i++)
		tx[i] = datagram(RP_PAYLOAD_LEN, i);
	UT_EQ(rp_qp_tx_burst(wp.qp[RP_ROLE_PROBER], tx, RP_ARRAY_LEN(tx)), 7);
	UT_EQ(rp_qp_tx_burst(wp.qp[RP_ROLE_PROBER], tx + 7, 13), 0);
	UT_EQ_U(wire_stat("tx_full"), 26);
	wire_turn();
	UT_EQ(wp.n_ev, 7);
	for (uint64_t i = 0; i < wp.n_ev; i++)
		UT_EQ_U(wp.ev[i].cookie, i);
	wire_flush();
	UT_EQ_U(rte_mempool_avail_count(sr_port_of(wp.port)->pool), level);
	UT_EQ(rp_qp_tx_burst(wp.qp[RP_ROLE_PROBER], tx + 7, 1), 1);
	len = wire_tx(frame);
	UT_EQ(rp_roce_parse(frame, len, &view), RP_ROCE_OK);
	UT_EQ_U(view.f.psn, 7);
close:
	wire_close();
}

static void
tx__empty_mempool_gives_short_count_and_is_counted(void)
{
	static struct rte_mbuf *all[8192];
	struct rte_mempool *pool;
	struct rp_tx tx;
	unsigned int n = 0;

	if (!begin(false, 0, true))
		goto close;
	pool = sr_port_of(wp.port)->pool;
	tx = datagram(RP_PAYLOAD_LEN, 1);
	while (n < RP_ARRAY_LEN(all) && (all[n] = rte_pktmbuf_alloc(pool)) != NULL)
		n++;
	UT_EQ(rp_qp_tx_burst(wp.qp[RP_ROLE_PROBER], &tx, 1), 0);
	UT_EQ_U(wire_stat("tx_no_buffer"), 1);
	UT_EQ_U(wire_stat("tx_full"), 1);
	rte_pktmbuf_free_bulk(all, n);
	UT_EQ(rp_qp_tx_burst(wp.qp[RP_ROLE_PROBER], &tx, 1), 1);
close:
	wire_close();
}

static void
tx__refused_sends_keep_their_place_in_the_order(void)
{
	struct rp_tx tx[5];
	static const uint8_t kind[5] = {
		RP_EV_TX_DONE, RP_EV_TX_ERR, RP_EV_TX_ERR, RP_EV_TX_DONE, RP_EV_TX_ERR};

	if (!begin(false, 0, true))
		goto close;
	for (size_t i = 0; i < 5; i++) {
		tx[i] = datagram(RP_PAYLOAD_LEN, 100 + i);
		if (kind[i] == RP_EV_TX_ERR)
			tx[i].len = 0;
	}
	UT_EQ(rp_qp_tx_burst(wp.qp[RP_ROLE_PROBER], tx, 5), 5);
	wire_turn();
	if (!UT_EQ(wp.n_ev, 5))
		goto close;
	for (size_t i = 0; i < 5; i++) {
		UT_EQ(wp.ev[i].kind, kind[i]);
		UT_EQ_U(wp.ev[i].cookie, 100 + i);
		UT_EQ(wp.ev[i].flags, kind[i] == RP_EV_TX_ERR ? RP_EV_F_NO_STAMP : 0);
	}
	UT_EQ_U(wire_stat("tx_frames"), 2);
	UT_EQ_U(wire_stat("tx_errors"), 3);
close:
	wire_close();
}

static void
tx__stamp_lies_between_call_and_return(void)
{
	struct rp_tx tx;
	struct rp_tsc before, after;

	if (!begin(false, 0, true))
		goto close;
	tx = datagram(RP_PAYLOAD_LEN, 1);
	before = rp_host_now(&wp.clock);
	UT_EQ(rp_qp_tx_burst(wp.qp[RP_ROLE_PROBER], &tx, 1), 1);
	after = rp_host_now(&wp.clock);
	wire_turn();
	UT_EQ(wp.n_ev, 1);
	UT_FALSE(rp_tsc_before(wp.ev[0].host, before));
	UT_FALSE(rp_tsc_before(after, wp.ev[0].host));
	UT_EQ_U(wp.ev[0].stamp.ticks, wp.ev[0].host.ticks);
	UT_EQ_U(wp.port->caps.rate.hz, wp.clock.rate.hz);
	UT_EQ(wp.port->caps.flags & (RP_CAP_HW_TX_STAMP | RP_CAP_HW_RX_STAMP), 0);
close:
	wire_close();
}

static void
tx__link_down_ends_in_tx_err_until_it_is_up_again(void)
{
	struct rp_tx tx;

	if (!begin(false, 0, true))
		goto close;
	tx = datagram(RP_PAYLOAD_LEN, 1);
	UT_TRUE(rp_port_link_up(wp.port));
	rte_eth_dev_set_link_down(wp.wire.port_id);
	UT_FALSE(rp_port_link_up(wp.port));
	UT_EQ(rp_qp_tx_burst(wp.qp[RP_ROLE_PROBER], &tx, 1), 1);
	wire_turn();
	if (UT_EQ(wp.n_ev, 1)) {
		UT_EQ(wp.ev[0].kind, RP_EV_TX_ERR);
		UT_EQ(wp.ev[0].status, RP_TX_REFUSED_LINK);
	}
	rte_eth_dev_set_link_up(wp.wire.port_id);
	UT_TRUE(rp_port_link_up(wp.port));
	UT_EQ(rp_qp_tx_burst(wp.qp[RP_ROLE_PROBER], &tx, 1), 1);
	wire_turn();
	if (UT_EQ(wp.n_ev, 1))
		UT_EQ(wp.ev[0].kind, RP_EV_TX_DONE);
close:
	wire_close();
}

static void
limits__payload_follows_mtu_and_room(void)
{
	/* A frame of 256 bytes: Ethernet, tag, IPv6, UDP, BTH, DETH, ImmDt, pad, ICRC. */
	UT_EQ_U(sr_max_payload(1500, 256), 156);
	UT_EQ_U(sr_max_payload(1500, 2048), 1024);
	UT_EQ_U(sr_max_payload(1095, 2048), 512);
	UT_EQ_U(sr_max_payload(1096, 2048), 1024);
	UT_EQ_U(sr_max_payload(9000, 2048), 1024);
	UT_EQ_U(sr_max_payload(9000, 9216), 4096);
	UT_EQ_U(sr_max_payload(300, 2048), 228);
	UT_EQ_U(sr_max_payload(128, 256), 56);
}

static void
limits__mtu_below_a_probe_is_refused_by_name(void)
{
	const struct rte_eth_conf small = {.rxmode = {.mtu = 100}};
	const struct rte_eth_conf usual = {.rxmode = {.mtu = RTE_ETHER_MTU}};
	struct rp_port *port = NULL;

	wire_defaults(false);
	UT_OK(rte_eth_dev_configure(wp.wire.port_id, 1, 1, &small));
	UT_EQ(rp_softroce_ops.open(&wp.conf, &port, wp.why), -EINVAL);
	UT_HAS(wp.why, "MTU of 100");
	UT_OK(rte_eth_dev_configure(wp.wire.port_id, 1, 1, &usual));
	UT_TRUE(begin(false, 0, true));
	wire_close();
}

static void
open__errors_name_the_fix(void)
{
	struct rp_port *port = NULL;

	wire_defaults(false);
	wp.conf.device = "net_memif7";
	UT_EQ(rp_softroce_ops.open(&wp.conf, &port, wp.why), -ENODEV);
	UT_HAS(wp.why, "--vdev=net_memif7");
	UT_HAS(wp.why, wp.wire.device);
	wire_defaults(false);
	wp.conf.vlan = 4095;
	UT_EQ(rp_softroce_ops.open(&wp.conf, &port, wp.why), -EINVAL);
	UT_HAS(wp.why, "vlan");
	wire_defaults(false);
	wp.conf.mac[0] |= 1;
	UT_EQ(rp_softroce_ops.open(&wp.conf, &port, wp.why), -EINVAL);
	UT_HAS(wp.why, "MAC");
	wire_defaults(false);
	wp.conf.max_peers = 1u << 30;
	UT_EQ(rp_softroce_ops.open(&wp.conf, &port, wp.why), -ENOMEM);
	UT_HAS(wp.why, "max_peers");
	wire_defaults(false);
	wp.conf.rx_depth = 65536;
	UT_EQ(rp_softroce_ops.open(&wp.conf, &port, wp.why), -EINVAL);
	UT_HAS(wp.why, "32768");
	/* Nothing of that holds on to the ethdev. */
	if (begin(false, 0, true)) {
		UT_EQ(rp_softroce_ops.open(&wp.conf, &port, wp.why), -EBUSY);
		UT_HAS(wp.why, "in use");
	}
	wire_close();
}

static void
open__without_memory_names_the_pool(void)
{
	void *hog[128] = {NULL};
	struct rp_port *port = NULL;
	size_t n = 0;

	while (n < RP_ARRAY_LEN(hog) && (hog[n] = rte_malloc("hog", 1 << 20, 0)) != NULL)
		n++;
	if (UT_TRUE(n > 2 && n < RP_ARRAY_LEN(hog))) {
		rte_free(hog[--n]);
		rte_free(hog[--n]);
		wire_defaults(false);
		wp.conf.rx_depth = 32768;
		UT_EQ(rp_softroce_ops.open(&wp.conf, &port, wp.why), -ENOMEM);
		UT_HAS(wp.why, "rx_depth 32768");
	}
	while (n > 0)
		rte_free(hog[--n]);
	UT_TRUE(begin(false, 0, true));
	wire_close();
}

static void
counters__do_not_fall_when_a_queue_pair_is_closed(void)
{
	struct rp_qp_conf conf = {RP_ROLE_PROBER, RP_PROBER_QKEY, 128};
	struct rp_tx tx;

	if (!begin(false, 0, true))
		goto close;
	tx = datagram(RP_PAYLOAD_LEN, 1);
	UT_EQ(rp_qp_tx_burst(wp.qp[RP_ROLE_PROBER], &tx, 1), 1);
	wp.port->ops->qp_close(wp.qp[RP_ROLE_PROBER]);
	UT_EQ_U(wire_stat("tx_frames"), 1);
	UT_OK(wp.port->ops->qp_open(wp.port, &conf, &wp.qp[RP_ROLE_PROBER], wp.why));
	UT_EQ(rp_qp_tx_burst(wp.qp[RP_ROLE_PROBER], &tx, 1), 1);
	UT_EQ_U(wire_stat("tx_frames"), 2);
close:
	wire_close();
}

static const struct ut_test tests[] = {
	UT(tx__frame_is_byte_for_byte_the_reference_over_ipv4),
	UT(tx__frame_is_byte_for_byte_the_reference_over_ipv6),
	UT(tx__vlan_frame_carries_tag_and_priority),
	UT(tx__roles_use_their_own_queue_and_numbers),
	UT(tx__full_ethdev_gives_short_count_and_no_gap_in_psn),
	UT(tx__empty_mempool_gives_short_count_and_is_counted),
	UT(tx__refused_sends_keep_their_place_in_the_order),
	UT(tx__stamp_lies_between_call_and_return),
	UT(tx__link_down_ends_in_tx_err_until_it_is_up_again),
	UT(limits__payload_follows_mtu_and_room),
	UT(limits__mtu_below_a_probe_is_refused_by_name),
	UT(open__errors_name_the_fix),
	UT(open__without_memory_names_the_pool),
	UT(counters__do_not_fall_when_a_queue_pair_is_closed),
};

int
main(int argc, char **argv)
{
	wire_init(1, 2);
	return ut_main("softroce_tx", tests, RP_ARRAY_LEN(tests), argc, argv);
}
