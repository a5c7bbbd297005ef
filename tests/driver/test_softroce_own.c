/* SPDX-License-Identifier: BSD-3-Clause */

/* What the owner of an address says and hears: ARP, NDP, echo. */

#include "rp_be.h"
#include "wire_own.h"

static void
arp__request_for_our_address_is_answered(void)
{
	uint8_t frame[WIRE_FRAME_MAX];

	if (!wire_begin_quiet(false))
		goto close;
	wire_rx(frame, wire_arp(frame, 1, "10.9.0.2", wire_peer_mac, "10.9.0.1"));
	if (!UT_EQ_U(wire_tx(wire_sent), 60))
		goto close;
	UT_MEM(wire_sent, wire_peer_mac, 6);
	UT_MEM(wire_sent + 6, wire_own_mac, 6);
	UT_HEX(rp_load_be16(wire_sent + 12), 0x0806);
	UT_EQ(rp_load_be16(wire_sent + WIRE_L3 + 6), 2);
	UT_MEM(wire_sent + WIRE_L3 + 8, wire_own_mac, 6);
	UT_HEX(rp_load_be32(wire_sent + WIRE_L3 + 14), 0x0A090001);
	UT_MEM(wire_sent + WIRE_L3 + 18, wire_peer_mac, 6);
	UT_HEX(rp_load_be32(wire_sent + WIRE_L3 + 24), 0x0A090002);
	UT_EQ_U(wire_stat("arp_requests"), 1);
	UT_EQ_U(wire_stat("own_frames"), 2); /* the first announcement, the answer */
	/* For others: no answer. */
	wire_rx(frame, wire_arp(frame, 1, "10.9.0.2", wire_peer_mac, "10.9.0.3"));
	UT_EQ_U(wire_tx(wire_sent), 0);
	UT_EQ_U(wire_stat("arp_requests"), 1);
close:
	wire_close();
}

static void
arp__malformed_messages_are_dropped_by_name(void)
{
	static const struct {
		size_t off;
		uint8_t value;
	} bad[] = {{WIRE_L3 + 1, 2}, {WIRE_L3 + 2, 9}, {WIRE_L3 + 4, 5}, {WIRE_L3 + 5, 16},
		{WIRE_L3 + 7, 3}, {WIRE_L3 + 8, 0x03}};
	uint8_t frame[WIRE_FRAME_MAX];
	static struct wire_stats before;
	size_t len;

	if (!wire_begin_quiet(false))
		goto close;
	for (size_t i = 0; i < RP_ARRAY_LEN(bad); i++) {
		len = wire_arp(frame, 1, "10.9.0.2", wire_peer_mac, "10.9.0.1");
		frame[bad[i].off] = bad[i].value;
		wire_snapshot(&before);
		wire_rx(frame, len);
		wire_only_moved(&before, "drop_arp", "ARP");
		UT_EQ(wire_flush(), 0);
	}
close:
	wire_close();
}

static void
arp__answers_have_a_budget(void)
{
	uint8_t frame[WIRE_FRAME_MAX];
	struct sr_port *port;
	struct rp_tsc now;
	size_t len;
	unsigned int answers = 0;

	if (!wire_begin_quiet(false))
		goto close;
	port = sr_port_of(wp.port);
	now = rp_tsc_add(rp_host_now(&wp.clock), wp.clock.rate.hz);
	len = wire_arp(frame, 1, "10.9.0.2", wire_peer_mac, "10.9.0.1");
	for (int i = 0; i < 200; i++)
		sr_own_rx(port, frame, (uint32_t)len, now);
	for (int i = 0; i < 10; i++) {
		rp_qp_tx_burst(wp.qp[RP_ROLE_RESPONDER], NULL, 0);
		answers += wire_flush();
	}
	UT_EQ(answers, 64);
	UT_EQ_U(wire_stat("reply_limited"), 136);
	/* A tenth of a second later: a hundred more, of which the burst is 64. */
	now = rp_tsc_add(now, wp.clock.rate.hz / 10);
	for (int i = 0; i < 64; i++)
		sr_own_rx(port, frame, (uint32_t)len, now);
	UT_EQ_U(wire_stat("reply_limited"), 136);
close:
	wire_close();
}

static void
own__frames_without_buffer_or_room_are_counted(void)
{
	static struct rte_mbuf *all[8192];
	uint8_t frame[WIRE_FRAME_MAX];
	struct sr_port *port;
	unsigned int n = 0;
	size_t len;

	if (!wire_begin_quiet(false))
		goto close;
	port = sr_port_of(wp.port);
	len = wire_arp(frame, 1, "10.9.0.2", wire_peer_mac, "10.9.0.1");
	while (n < RP_ARRAY_LEN(all) && (all[n] = rte_pktmbuf_alloc(port->pool)) != NULL)
		n++;
	wire_rx(frame, len);
	UT_EQ_U(wire_stat("own_no_buffer"), 1);
	rte_pktmbuf_free_bulk(all, n);

	/* Nobody takes them off the ring. */
	for (struct rp_tsc now = rp_host_now(&wp.clock); wire_stat("own_no_buffer") == 1;
		now = rp_tsc_add(now, wp.clock.rate.hz / 100)) {
		sr_own_rx(port, frame, (uint32_t)len, now);
		if (!UT_TRUE(wire_stat("arp_requests") < 2 * SR_OWN_RING))
			break;
	}
	UT_EQ_U(wire_stat("arp_requests"), SR_OWN_RING + 2);
close:
	wire_close();
}

static void
own__frames_that_the_ethdev_refuses_are_counted(void)
{
	uint8_t frame[WIRE_FRAME_MAX];

	if (!wire_begin_quiet(false))
		goto close;
	while (rte_ring_free_count(wp.wire.from_port[0]) > 0) {
		struct rte_mbuf *m = rte_pktmbuf_alloc(wp.wire.pool);

		if (!UT_TRUE(m != NULL))
			goto close;
		rte_pktmbuf_append(m, 60);
		rte_ring_enqueue(wp.wire.from_port[0], m);
	}
	wire_rx(frame, wire_arp(frame, 1, "10.9.0.2", wire_peer_mac, "10.9.0.1"));
	UT_EQ_U(wire_stat("own_dropped"), 1);
	UT_EQ_U(ring_rig_free(&wp.wire), wp.wire.pool->size - (RING_RIG_SLOTS - 1));
close:
	wire_close();
}

static void
announce__three_times_a_second_apart(void)
{
	struct wire_steps s;
	double at_s[4] = {0};
	size_t n = 0;

	if (!wire_begin(false))
		goto close;
	s = wire_steps_start();
	while (wire_steps_s(&s) < 10) {
		wire_step(&s);
		if (wire_take_requests("10.9.0.1") > 0 && UT_TRUE(n < 3))
			at_s[n++] = wire_steps_s(&s);
	}
	UT_EQ(n, 3);
	UT_NEAR(at_s[1] - at_s[0], 1, 0.02);
	UT_NEAR(at_s[2] - at_s[1], 1, 0.02);
	wire_close();
	if (!wire_begin(true))
		goto close;
	wire_turn();
	if (UT_EQ_U(wire_tx(wire_sent), 86)) {
		UT_HEX(rp_load_be32(wire_sent), 0x33330000);
		UT_EQ(wire_sent[WIRE_ICMP6], 136);
		UT_HEX(wire_sent[WIRE_ICMP6 + 4], 0x20);
		UT_MEM(wire_sent + WIRE_ICMP6 + 8, wp.conf.gid.b, 16);
		UT_MEM(wire_sent + WIRE_ICMP6 + 26, wire_own_mac, 6);
		UT_TRUE(wire_icmp6_is_right(wire_sent));
	}
close:
	wire_close();
}

static void
conflict__is_counted_and_answered_every_10_seconds(void)
{
	uint8_t frame[WIRE_FRAME_MAX];
	struct sr_port *port;
	struct rp_tsc now;
	size_t len;

	if (!wire_begin_quiet(false))
		goto close;
	port = sr_port_of(wp.port);
	now = rp_tsc_add(rp_host_now(&wp.clock), wp.clock.rate.hz);
	len = wire_arp(frame, 2, "10.9.0.1", wire_other_mac, "10.9.0.9");
	for (int i = 0; i < 5; i++)
		sr_own_rx(port, frame, (uint32_t)len, now);
	UT_EQ(wire_take_requests("10.9.0.1"), 1);
	UT_EQ_U(wire_stat("address_conflicts"), 5);
	now = rp_tsc_add(now, 11 * wp.clock.rate.hz);
	sr_own_rx(port, frame, (uint32_t)len, now);
	UT_EQ(wire_take_requests("10.9.0.1"), 1);
	/* Our own frames, come back. */
	len = wire_arp(frame, 1, "10.9.0.1", wire_own_mac, "10.9.0.1");
	sr_own_rx(port, frame, (uint32_t)len, now);
	UT_EQ_U(wire_stat("address_conflicts"), 6);
close:
	wire_close();
}

static void
nd__solicitation_is_answered(void)
{
	uint8_t frame[WIRE_FRAME_MAX];

	if (!wire_begin_quiet(true))
		goto close;
	wire_rx(frame, wire_solicit(frame, "fd00:9::2", "fd00:9::1"));
	if (!UT_EQ_U(wire_tx(wire_sent), 86))
		goto close;
	UT_MEM(wire_sent, wire_peer_mac, 6);
	UT_EQ(wire_sent[WIRE_L3 + 7], 255);
	UT_EQ(wire_sent[WIRE_ICMP6], 136);
	UT_HEX(wire_sent[WIRE_ICMP6 + 4], 0x60);
	UT_MEM(wire_sent + WIRE_ICMP6 + 8, wp.conf.gid.b, 16);
	UT_EQ(wire_sent[WIRE_ICMP6 + 24], 2);
	UT_MEM(wire_sent + WIRE_ICMP6 + 26, wire_own_mac, 6);
	UT_TRUE(wire_icmp6_is_right(wire_sent));
	UT_EQ_U(wire_stat("nd_solicits"), 1);
	wire_rx(frame, wire_solicit(frame, "fd00:9::2", "fd00:9::3"));
	UT_EQ_U(wire_tx(wire_sent), 0);
close:
	wire_close();
}

static void
nd__duplicate_detection_of_our_address_is_defended(void)
{
	uint8_t frame[WIRE_FRAME_MAX];

	if (!wire_begin_quiet(true))
		goto close;
	wire_solicit(frame, "fd00:9::2", "fd00:9::1");
	memset(frame + WIRE_L3 + 8, 0, 16);
	wire_fix_icmp6(frame, 24); /* from nowhere, without the option */
	wire_rx(frame, WIRE_ICMP6 + 24);
	if (UT_EQ_U(wire_tx(wire_sent), 86)) {
		UT_HEX(rp_load_be32(wire_sent), 0x33330000);
		UT_HEX(wire_sent[WIRE_ICMP6 + 4], 0x20);
	}
	UT_EQ_U(wire_stat("address_conflicts"), 1);
	/* And somebody who has it already. */
	wire_rx(frame, wire_claim(frame, &wp.conf.gid, wire_other_mac));
	UT_EQ_U(wire_stat("address_conflicts"), 2);
close:
	wire_close();
}

static void
nd_reject(const uint8_t *frame, size_t len, const char *counter, const char *what)
{
	static struct wire_stats before;

	wire_snapshot(&before);
	wire_rx(frame, len);
	wire_only_moved(&before, counter, what);
	UT_EQ(wire_flush(), 0);
}

static void
nd__invalid_messages_are_dropped_by_name(void)
{
	uint8_t frame[WIRE_FRAME_MAX];
	size_t len;

	if (!wire_begin_quiet(true))
		goto close;
	len = wire_solicit(frame, "fd00:9::2", "fd00:9::1");
	frame[WIRE_L3 + 7] = 254;
	nd_reject(frame, len, "drop_nd", "hop limit");
	len = wire_solicit(frame, "fd00:9::2", "fd00:9::1");
	frame[WIRE_ICMP6 + 2] ^= 1;
	nd_reject(frame, len, "drop_icmp", "checksum");
	len = wire_solicit(frame, "fd00:9::2", "fd00:9::1");
	frame[WIRE_ICMP6 + 1] = 1;
	wire_fix_icmp6(frame, 32);
	nd_reject(frame, len, "drop_nd", "code");
	wire_solicit(frame, "fd00:9::2", "fd00:9::1");
	wire_fix_icmp6(frame, 23);
	nd_reject(frame, WIRE_ICMP6 + 23, "drop_nd", "length");
	len = wire_solicit(frame, "fd00:9::2", "fd00:9::1");
	frame[WIRE_ICMP6 + 25] = 0;
	wire_fix_icmp6(frame, 32);
	nd_reject(frame, len, "drop_nd", "option of no length");
	len = wire_solicit(frame, "fd00:9::2", "fd00:9::1");
	frame[WIRE_ICMP6 + 25] = 2;
	wire_fix_icmp6(frame, 32);
	nd_reject(frame, len, "drop_nd", "option beyond the end");
	len = wire_solicit(frame, "fd00:9::2", "fd00:9::1");
	frame[WIRE_ICMP6 + 8] = 0xFF;
	wire_fix_icmp6(frame, 32);
	nd_reject(frame, len, "drop_nd", "multicast target");
	len = wire_solicit(frame, "ff02::5", "fd00:9::1");
	nd_reject(frame, len, "drop_nd", "multicast source");
	len = wire_solicit(frame, "fd00:9::1", "fd00:9::1");
	nd_reject(frame, len, "drop_nd", "our own source");
	len = wire_solicit(frame, "fd00:9::2", "fd00:9::1");
	memset(frame + WIRE_L3 + 8, 0, 16);
	wire_fix_icmp6(frame, 32);
	nd_reject(frame, len, "drop_nd", "option from nowhere");
	len = wire_solicit(frame, "fd00:9::2", "fd00:9::1");
	nd_reject(frame, len - 1, "drop_icmp", "cut");
close:
	wire_close();
}

static void
nd__advertisement_moves_a_mac_with_override_only(void)
{
	uint8_t frame[WIRE_FRAME_MAX];
	struct rp_gid gid = wire_gid("fd00:9::2");
	struct rp_peer *peer;
	size_t len;

	if (!wire_begin_quiet(true))
		goto close;
	peer = wire_ready_peer(&gid);
	len = wire_claim(frame, &gid, wire_other_mac);
	frame[WIRE_ICMP6 + 4] = 0x40;
	wire_fix_icmp6(frame, 32);
	wire_rx(frame, len);
	wire_flush();
	UT_TRUE(wire_send_and_take(peer) > 0);
	UT_MEM(wire_sent, wire_peer_mac, 6);
	wire_rx(frame, wire_claim(frame, &gid, wire_other_mac));
	wire_flush();
	UT_TRUE(wire_send_and_take(peer) > 0);
	UT_MEM(wire_sent, wire_other_mac, 6);
	UT_EQ_U(wire_stat("neigh_moved"), 1);
close:
	wire_close();
}

static size_t
echo4(uint8_t *frame, size_t n)
{
	size_t len = WIRE_L3 + 20 + 8 + n;

	memset(frame, 0, len);
	memcpy(frame, wire_own_mac, 6);
	memcpy(frame + 6, wire_peer_mac, 6);
	rp_store_be16(frame + 12, 0x0800);
	frame[WIRE_L3] = 0x45;
	rp_store_be16(frame + WIRE_L3 + 2, (uint16_t)(len - WIRE_L3));
	frame[WIRE_L3 + 8] = 9;
	frame[WIRE_L3 + 9] = 1;
	rp_store_be32(frame + WIRE_L3 + 12, 0x0A090002);
	rp_store_be32(frame + WIRE_L3 + 16, 0x0A090001);
	rp_store_be16(frame + WIRE_L3 + 10, rp_inet_checksum(frame + WIRE_L3, 20, 0));
	frame[WIRE_ICMP4] = 8;
	rp_store_be32(frame + WIRE_ICMP4 + 4, 0x12340001);
	for (size_t i = 0; i < n; i++)
		frame[WIRE_ICMP4 + 8 + i] = (uint8_t)i;
	rp_store_be16(frame + WIRE_ICMP4 + 2, rp_inet_checksum(frame + WIRE_ICMP4, 8 + n, 0));
	return len;
}

static void
echo__is_answered_over_ipv4(void)
{
	uint8_t frame[WIRE_FRAME_MAX];
	size_t len, got;

	if (!wire_begin_quiet(false))
		goto close;
	for (size_t n = 0; n <= 200; n += 50) {
		len = echo4(frame, n);
		wire_rx(frame, len);
		got = wire_tx(wire_sent);
		UT_EQ_U(got, rp_max_u64(len, 60));
		UT_MEM(wire_sent, wire_peer_mac, 6);
		UT_MEM(wire_sent + 6, wire_own_mac, 6);
		UT_HEX(rp_load_be32(wire_sent + WIRE_L3 + 12), 0x0A090001);
		UT_HEX(rp_load_be32(wire_sent + WIRE_L3 + 16), 0x0A090002);
		UT_EQ(wire_sent[WIRE_L3 + 8], 64);
		UT_EQ(wire_sent[WIRE_ICMP4], 0);
		UT_MEM(wire_sent + WIRE_ICMP4 + 4, frame + WIRE_ICMP4 + 4, 4 + n);
		UT_EQ(rp_inet_checksum(wire_sent + WIRE_L3, 20, 0), 0);
		UT_EQ(rp_inet_checksum(wire_sent + WIRE_ICMP4, 8 + n, 0), 0);
	}
	UT_EQ_U(wire_stat("icmp_echoes"), 5);
close:
	wire_close();
}

static void
echo__refusals_over_ipv4_are_counted(void)
{
	uint8_t frame[WIRE_FRAME_MAX];
	size_t len;

	if (!wire_begin_quiet(false))
		goto close;
	len = echo4(frame, 32);
	frame[WIRE_ICMP4 + 9] ^= 1;
	nd_reject(frame, len, "drop_icmp", "ICMP checksum");
	len = echo4(frame, 32);
	frame[WIRE_L3 + 10] ^= 1;
	nd_reject(frame, len, "drop_icmp", "IP checksum");
	len = echo4(frame, 1000);
	nd_reject(frame, len, "drop_icmp", "longer than a buffer");
	len = echo4(frame, 32);
	nd_reject(frame, len - 1, "drop_icmp", "cut");
	len = echo4(frame, 32);
	frame[WIRE_ICMP4] = 13;
	rp_store_be16(frame + WIRE_ICMP4 + 2, 0);
	rp_store_be16(frame + WIRE_ICMP4 + 2, rp_inet_checksum(frame + WIRE_ICMP4, 40, 0));
	nd_reject(frame, len, "drop_icmp", "another type");
	len = echo4(frame, 32);
	rp_store_be32(frame + WIRE_L3 + 12, 0xE0000001);
	rp_store_be16(frame + WIRE_L3 + 10, 0);
	rp_store_be16(frame + WIRE_L3 + 10, rp_inet_checksum(frame + WIRE_L3, 20, 0));
	nd_reject(frame, len, "drop_icmp", "multicast source");
close:
	wire_close();
}

static void
echo__answers_have_a_budget(void)
{
	uint8_t frame[WIRE_FRAME_MAX];
	struct rp_tsc now;
	size_t len;

	if (!wire_begin_quiet(false))
		goto close;
	len = echo4(frame, 8);
	now = rp_tsc_add(rp_host_now(&wp.clock), wp.clock.rate.hz);
	for (int i = 0; i < 50; i++)
		sr_own_rx(sr_port_of(wp.port), frame, (uint32_t)len, now);
	UT_EQ_U(wire_stat("icmp_echoes"), 20);
	UT_EQ_U(wire_stat("echo_limited"), 30);
	now = rp_tsc_add(now, wp.clock.rate.hz / 10);
	for (int i = 0; i < 11; i++)
		sr_own_rx(sr_port_of(wp.port), frame, (uint32_t)len, now);
	UT_NEAR((double)wire_stat("icmp_echoes"), 30, 1);
close:
	wire_close();
}

static void
echo__is_answered_over_ipv6(void)
{
	uint8_t frame[WIRE_FRAME_MAX];
	struct rp_gid from = wire_gid("fd00:9::2");

	if (!wire_begin_quiet(true))
		goto close;
	wire_claim(frame, &from, wire_peer_mac);
	frame[WIRE_ICMP6] = 128;
	for (size_t i = 4; i < 64; i++)
		frame[WIRE_ICMP6 + i] = (uint8_t)i;
	wire_fix_icmp6(frame, 64);
	wire_rx(frame, WIRE_ICMP6 + 64);
	if (UT_EQ_U(wire_tx(wire_sent), WIRE_ICMP6 + 64)) {
		UT_MEM(wire_sent, wire_peer_mac, 6);
		UT_EQ(wire_sent[WIRE_ICMP6], 129);
		UT_MEM(wire_sent + WIRE_L3 + 8, wp.conf.gid.b, 16);
		UT_MEM(wire_sent + WIRE_L3 + 24, from.b, 16);
		UT_MEM(wire_sent + WIRE_ICMP6 + 4, frame + WIRE_ICMP6 + 4, 60);
		UT_TRUE(wire_icmp6_is_right(wire_sent));
	}
	UT_EQ_U(wire_stat("icmp_echoes"), 1);
close:
	wire_close();
}

static void
vlan__own_frames_carry_the_tag(void)
{
	struct rp_gid gid = wire_gid("10.9.0.2");
	struct rp_peer *peer = NULL;
	uint8_t frame[WIRE_FRAME_MAX];

	wire_defaults(false);
	wp.conf.vlan = 10;
	if (!wire_open())
		goto close;
	wire_turn();
	UT_EQ_U(wire_tx(wire_sent), 60);
	UT_HEX(rp_load_be32(wire_sent + 12), 0x8100000A);
	UT_HEX(rp_load_be16(wire_sent + 16), 0x0806);
	wire_flush();
	UT_OK(wp.port->ops->peer_open(wp.port, &gid, &peer));
	wire_turn();
	UT_EQ_U(wire_tx(wire_sent), 60);
	UT_HEX(rp_load_be32(wire_sent + 12), 0x8100000A);
	wire_rx(frame, wire_claim(frame, &gid, wire_peer_mac));
	UT_TRUE(rp_peer_is_ready(peer));
close:
	wire_close();
}

static const struct ut_test tests[] = {
	UT(arp__request_for_our_address_is_answered),
	UT(arp__malformed_messages_are_dropped_by_name),
	UT(arp__answers_have_a_budget),
	UT(own__frames_without_buffer_or_room_are_counted),
	UT(own__frames_that_the_ethdev_refuses_are_counted),
	UT(announce__three_times_a_second_apart),
	UT(conflict__is_counted_and_answered_every_10_seconds),
	UT(nd__solicitation_is_answered),
	UT(nd__duplicate_detection_of_our_address_is_defended),
	UT(nd__invalid_messages_are_dropped_by_name),
	UT(nd__advertisement_moves_a_mac_with_override_only),
	UT(echo__is_answered_over_ipv4),
	UT(echo__refusals_over_ipv4_are_counted),
	UT(echo__answers_have_a_budget),
	UT(echo__is_answered_over_ipv6),
	UT(vlan__own_frames_carry_the_tag),
};

int
main(int argc, char **argv)
{
	wire_init(1, 2);
	return ut_main("softroce_own", tests, RP_ARRAY_LEN(tests), argc, argv);
}
