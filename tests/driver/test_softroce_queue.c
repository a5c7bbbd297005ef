/* SPDX-License-Identifier: BSD-3-Clause */

/* One transmit queue for two lcores: the prober's frames go through the responder. */

#include "rp_be.h"
#include "wire_port.h"

static uint8_t payload[RP_PAYLOAD_LEN] = {7};
static struct rp_peer *peer;

static bool
begin(bool one_lcore)
{
	struct rp_gid other = wire_gid("10.9.0.2");

	wire_defaults(false);
	wp.conf.one_lcore = one_lcore;
	if (!wire_open())
		return false;
	peer = wire_ready_peer(&other);
	return peer != NULL;
}

static uint16_t
send_prober(uint16_t n, uint64_t first_cookie, uint16_t len)
{
	struct rp_tx tx[160];

	for (uint16_t i = 0; i < n; i++)
		tx[i] = (struct rp_tx){
			.peer = peer,
			.payload = payload,
			.cookie = first_cookie + i,
			.qpn = 9,
			.qkey = 9,
			.flow_label = 1,
			.len = len,
		};
	return rp_qp_tx_burst(wp.qp[RP_ROLE_PROBER], tx, n);
}

static void
responder_turn(void)
{
	UT_EQ(rp_qp_tx_burst(wp.qp[RP_ROLE_RESPONDER], NULL, 0), 0);
}

static uint16_t
poll_only(void)
{
	wp.n_ev = rp_port_poll(wp.port, wp.ev, RP_ARRAY_LEN(wp.ev));
	return wp.n_ev;
}

static void
queue__frames_leave_with_the_responder_and_are_stamped_then(void)
{
	struct rp_tsc queued;

	if (!begin(false))
		goto close;
	UT_EQ(send_prober(3, 1, RP_PAYLOAD_LEN), 3);
	queued = rp_host_now(&wp.clock);
	UT_EQ(wire_flush(), 0);
	UT_EQ(poll_only(), 0);
	responder_turn();
	UT_EQ(wire_flush(), 3);
	UT_EQ(poll_only(), 3);
	for (unsigned int i = 0; i < 3; i++) {
		UT_EQ(wp.ev[i].kind, RP_EV_TX_DONE);
		UT_EQ(wp.ev[i].role, RP_ROLE_PROBER);
		UT_EQ_U(wp.ev[i].cookie, i + 1);
		UT_FALSE(rp_tsc_before(wp.ev[i].host, queued));
	}
close:
	wire_close();
}

static void
queue__one_lcore_shares_the_ethdev_queue_directly(void)
{
	if (begin(true)) {
		UT_EQ(send_prober(3, 1, RP_PAYLOAD_LEN), 3);
		UT_EQ(wire_flush(), 3);
		UT_EQ(poll_only(), 3);
	}
	wire_close();
}

static void
queue__depth_counts_what_waits_in_the_queue(void)
{
	if (!begin(false))
		goto close;
	UT_EQ(send_prober(160, 0, RP_PAYLOAD_LEN), 128);
	UT_EQ(send_prober(1, 0, RP_PAYLOAD_LEN), 0);
	for (int i = 0; i < 4; i++)
		responder_turn();
	/* Sent, but nobody has heard of it yet. */
	UT_EQ(wire_flush(), 128);
	UT_EQ(send_prober(1, 0, RP_PAYLOAD_LEN), 0);
	UT_EQ(poll_only(), 128);
	UT_EQ(send_prober(160, 0, RP_PAYLOAD_LEN), 128);
close:
	wire_close();
}

static void
queue__refused_sends_keep_their_place(void)
{
	if (!begin(false))
		goto close;
	UT_EQ(send_prober(1, 1, RP_PAYLOAD_LEN), 1);
	UT_EQ(send_prober(1, 2, 0), 1);
	UT_EQ(send_prober(1, 3, RP_PAYLOAD_LEN), 1);
	UT_EQ(poll_only(), 0);
	responder_turn();
	UT_EQ(poll_only(), 3);
	UT_EQ(wp.ev[1].kind, RP_EV_TX_ERR);
	UT_EQ(wp.ev[1].status, RP_TX_REFUSED_LENGTH);
	for (unsigned int i = 0; i < 3; i++)
		UT_EQ_U(wp.ev[i].cookie, i + 1);
	UT_EQ_U(wire_stat("tx_errors"), 1);
close:
	wire_close();
}

static void
fill_wire(unsigned int room)
{
	while (rte_ring_free_count(wp.wire.from_port[0]) > room) {
		struct rte_mbuf *m = rte_pktmbuf_alloc(wp.wire.pool);

		if (!UT_TRUE(m != NULL))
			return;
		rte_pktmbuf_append(m, 60);
		rte_ring_enqueue(wp.wire.from_port[0], m);
	}
}

static void
queue__full_ethdev_holds_frames_back_and_loses_none(void)
{
	if (!begin(false))
		goto close;
	fill_wire(5);
	UT_EQ(send_prober(40, 0, RP_PAYLOAD_LEN), 40);
	responder_turn();
	UT_EQ(poll_only(), 5);
	responder_turn();
	UT_EQ(poll_only(), 0);
	wire_flush();
	responder_turn();
	UT_EQ(poll_only(), 27);
	UT_EQ_U(wp.ev[0].cookie, 5);
	responder_turn();
	UT_EQ(poll_only(), 8);
	UT_EQ_U(wp.ev[7].cookie, 39);
	UT_EQ(wire_flush(), 35);
close:
	wire_close();
}

static void
queue__closing_gives_waiting_frames_back(void)
{
	uint32_t level;

	if (!begin(false))
		goto close;
	level = rte_mempool_avail_count(sr_port_of(wp.port)->pool);
	fill_wire(1);
	UT_EQ(send_prober(100, 0, RP_PAYLOAD_LEN), 100);
	UT_EQ(send_prober(1, 0, 0), 1);
	/* One on the wire, some held back, the rest queued. */
	responder_turn();
	wp.port->ops->qp_close(wp.qp[RP_ROLE_PROBER]);
	wp.qp[RP_ROLE_PROBER] = NULL;
	wire_flush();
	UT_EQ_U(rte_mempool_avail_count(sr_port_of(wp.port)->pool), level);
	responder_turn();
	UT_EQ(wire_flush(), 0);
close:
	wire_close();
}

static const struct ut_test tests[] = {
	UT(queue__frames_leave_with_the_responder_and_are_stamped_then),
	UT(queue__one_lcore_shares_the_ethdev_queue_directly),
	UT(queue__depth_counts_what_waits_in_the_queue),
	UT(queue__refused_sends_keep_their_place),
	UT(queue__full_ethdev_holds_frames_back_and_loses_none),
	UT(queue__closing_gives_waiting_frames_back),
};

int
main(int argc, char **argv)
{
	wire_init(1, 1);
	return ut_main("softroce_queue", tests, RP_ARRAY_LEN(tests), argc, argv);
}
