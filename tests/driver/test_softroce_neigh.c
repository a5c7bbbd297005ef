/* SPDX-License-Identifier: BSD-3-Clause */

/* Next hops and their timers. */

#include <errno.h>

#include "rp_be.h"
#include "wire_own.h"

static void
neigh__mac_moves_by_its_own_reply_only(void)
{
	uint8_t frame[WIRE_FRAME_MAX];
	struct rp_gid gid = wire_gid("10.9.0.2");
	struct rp_roce_fields f;
	struct rp_peer *peer;

	if (!wire_begin_quiet(false))
		goto close;
	peer = wire_ready_peer(&gid);
	UT_EQ_U(wire_stat("neigh_resolved"), 1);
	UT_TRUE(wire_send_and_take(peer) > 0);
	UT_MEM(wire_sent, wire_peer_mac, 6);

	/* A probe, a request and a reply of somebody else from another MAC. */
	f = wire_fields(RP_ROLE_RESPONDER);
	memcpy(f.src_mac, wire_other_mac, 6);
	wire_rx(frame, rp_roce_build(frame, &f, wire_other_mac, 6));
	UT_EQ(wp.n_ev, 1);
	wire_rx(frame, wire_arp(frame, 1, "10.9.0.2", wire_other_mac, "10.9.0.1"));
	wire_rx(frame, wire_arp(frame, 2, "10.9.0.3", wire_other_mac, "10.9.0.1"));
	wire_flush();
	UT_TRUE(wire_send_and_take(peer) > 0);
	UT_MEM(wire_sent, wire_peer_mac, 6);
	UT_EQ_U(wire_stat("neigh_moved"), 0);

	wire_rx(frame, wire_arp(frame, 2, "10.9.0.2", wire_other_mac, "10.9.0.1"));
	wire_flush();
	UT_TRUE(wire_send_and_take(peer) > 0);
	UT_MEM(wire_sent, wire_other_mac, 6);
	UT_EQ_U(wire_stat("neigh_moved"), 1);
	UT_TRUE(rp_peer_is_ready(peer));
close:
	wire_close();
}

static void
backs_off(bool ipv6, const char *target)
{
	static const double at_s[] = {0, 1, 3, 7, 15, 31, 61, 91, 121};
	struct rp_gid gid = wire_gid(target);
	struct rp_peer *peer = NULL;
	struct wire_steps s;
	size_t n = 0;

	if (!wire_begin(ipv6))
		goto close;
	UT_OK(wp.port->ops->peer_open(wp.port, &gid, &peer));
	s = wire_steps_start();
	while (wire_steps_s(&s) < 130) {
		wire_step(&s);
		if (wire_take_requests(target) == 0)
			continue;
		if (UT_TRUE(n < RP_ARRAY_LEN(at_s)))
			UT_NEAR(wire_steps_s(&s), at_s[n], 0.03 * (double)(n + 1));
		n++;
	}
	UT_EQ(n, RP_ARRAY_LEN(at_s));
	UT_EQ_U(wire_stat("neigh_requests"), RP_ARRAY_LEN(at_s));
	UT_FALSE(rp_peer_is_ready(peer));
close:
	wire_close();
}

static void
neigh__requests_back_off_from_1_to_30_seconds(void)
{
	backs_off(false, "10.9.0.2");
	backs_off(true, "fd00:9::2");
}

static void
neigh__known_address_is_refreshed_every_30_to_60_seconds(void)
{
	struct rp_gid gid = wire_gid("10.9.0.2");
	uint8_t frame[WIRE_FRAME_MAX];
	struct rp_peer *peer = NULL;
	struct wire_steps s;
	double last = 0;
	unsigned int n = 0;
	size_t len;

	if (!wire_begin(false))
		goto close;
	UT_OK(wp.port->ops->peer_open(wp.port, &gid, &peer));
	len = wire_claim(frame, &gid, wire_peer_mac);
	s = wire_steps_start();
	while (wire_steps_s(&s) < 600) {
		wire_step(&s);
		if (wire_take_requests("10.9.0.2") == 0)
			continue;
		if (n++ > 0)
			UT_NEAR(wire_steps_s(&s) - last, 45, 15.1);
		last = wire_steps_s(&s);
		sr_own_rx(sr_port_of(wp.port), frame, (uint32_t)len, s.now);
	}
	UT_TRUE(n >= 10 && n <= 21);
	/* It falls silent: asked again and again, and the address is kept. */
	n = 0;
	s.start = s.now;
	while (wire_steps_s(&s) < 120) {
		wire_step(&s);
		n += wire_take_requests("10.9.0.2");
	}
	UT_TRUE(n >= 5);
	UT_TRUE(rp_peer_is_ready(peer));
	/* A refresh asks at once. */
	wp.port->ops->peer_refresh(wp.port, peer);
	wire_step(&s);
	UT_EQ(wire_take_requests("10.9.0.2"), 1);
close:
	wire_close();
}

static void
neigh__claim_of_another_mac_is_verified_once_a_second(void)
{
	struct rp_gid gid = wire_gid("10.9.0.2");
	uint8_t frame[WIRE_FRAME_MAX];
	struct sr_port *port;
	struct wire_steps s;
	unsigned int n = 0;
	size_t len;

	if (!wire_begin_quiet(false))
		goto close;
	port = sr_port_of(wp.port);
	wire_ready_peer(&gid);
	s = wire_steps_start();
	wire_step(&s);
	wire_take_requests("10.9.0.2");
	/* A hundred gratuitous requests a second, for two seconds. */
	while (wire_steps_s(&s) < 2) {
		len = wire_arp(frame, 1, "10.9.0.2", wire_other_mac, "10.9.0.2");
		sr_own_rx(port, frame, (uint32_t)len, s.now);
		wire_step(&s);
		n += wire_take_requests("10.9.0.2");
	}
	UT_TRUE(n >= 1 && n <= 3);
	UT_EQ_U(wire_stat("neigh_moved"), 0);
close:
	wire_close();
}

static void
neigh__gateway_serves_what_is_off_the_link(void)
{
	struct rp_gid far1 = wire_gid("10.77.0.5"), far2 = wire_gid("192.168.1.1");
	struct rp_gid near = wire_gid("10.9.0.200"), gateway = wire_gid("10.9.0.254");
	struct rp_peer *peer[3] = {NULL};
	uint8_t frame[WIRE_FRAME_MAX];
	struct wire_steps s;

	wire_defaults(false);
	wp.conf.gateway = gateway;
	if (!wire_open())
		goto close;
	UT_OK(wp.port->ops->peer_open(wp.port, &far1, &peer[0]));
	UT_OK(wp.port->ops->peer_open(wp.port, &far2, &peer[1]));
	s = wire_steps_start();
	wire_step(&s);
	/* One request, for both. */
	UT_EQ(wire_take_requests("10.9.0.254"), 1);
	UT_EQ_U(wire_stat("neigh_requests"), 1);
	UT_OK(wp.port->ops->peer_open(wp.port, &near, &peer[2]));
	wire_step(&s);
	UT_EQ(wire_take_requests("10.9.0.200"), 1);

	wire_rx(frame, wire_claim(frame, &gateway, wire_other_mac));
	UT_TRUE(rp_peer_is_ready(peer[0]));
	UT_TRUE(rp_peer_is_ready(peer[1]));
	UT_FALSE(rp_peer_is_ready(peer[2]));
	wire_flush();
	UT_TRUE(wire_send_and_take(peer[1]) > 0);
	UT_MEM(wire_sent, wire_other_mac, 6);
	UT_HEX(rp_load_be32(wire_sent + WIRE_L3 + 16), 0xC0A80101);

	/* A peer of a known gateway is ready at once, also when others have left. */
	wp.port->ops->peer_close(wp.port, peer[0]);
	UT_OK(wp.port->ops->peer_open(wp.port, &far1, &peer[0]));
	UT_TRUE(rp_peer_is_ready(peer[0]));
	wp.port->ops->peer_close(wp.port, peer[0]);
	wp.port->ops->peer_close(wp.port, peer[1]);
	UT_OK(wp.port->ops->peer_open(wp.port, &far1, &peer[0]));
	UT_FALSE(rp_peer_is_ready(peer[0]));
close:
	wire_close();
}

static void
neigh__without_gateway_far_peers_are_refused(void)
{
	struct rp_gid far = wire_gid("10.9.1.1"), near = wire_gid("10.9.0.255");
	struct rp_peer *peer = NULL;

	if (!wire_begin(false))
		goto close;
	UT_EQ(wp.port->ops->peer_open(wp.port, &far, &peer), -EHOSTUNREACH);
	UT_TRUE(peer == NULL);
	UT_OK(wp.port->ops->peer_open(wp.port, &near, &peer));
close:
	wire_close();
	/* No prefix: everything is on the link. */
	wire_defaults(false);
	wp.conf.prefix_len = 0;
	if (wire_open())
		UT_OK(wp.port->ops->peer_open(wp.port, &far, &peer));
	wire_close();
}

static void
refuse_open(const char *part)
{
	struct rp_port *port = NULL;

	UT_EQ(rp_softroce_ops.open(&wp.conf, &port, wp.why), -EINVAL);
	UT_HAS(wp.why, part);
}

static void
neigh__impossible_addresses_are_refused_by_name(void)
{
	static const char *const gateways[] = {"10.9.1.254", "fd00:9::fe", "10.9.0.1", "224.0.0.1"};

	for (size_t i = 0; i < RP_ARRAY_LEN(gateways); i++) {
		wire_defaults(false);
		wp.conf.gateway = wire_gid(gateways[i]);
		refuse_open("gateway");
	}
	wire_defaults(false);
	wp.conf.prefix_len = 33;
	refuse_open("prefix");
	wire_defaults(true);
	wp.conf.prefix_len = 129;
	refuse_open("prefix");
	wire_defaults(false);
	wp.conf.gid = wire_gid("127.0.0.1");
	refuse_open("address");
}

static void
neigh__slots_are_safe_to_reuse(void)
{
	struct rp_peer *peer[16] = {NULL};
	uint8_t frame[WIRE_FRAME_MAX];
	struct rp_gid gid = wire_gid("10.9.0.2");
	struct rp_rng rng = ut_rng(1);

	if (!wire_begin_quiet(false))
		goto close;
	for (unsigned int i = 0; i < 20000; i++) {
		size_t k = rp_rng_below(&rng, RP_ARRAY_LEN(peer));

		gid.b[15] = (uint8_t)(2 + rp_rng_below(&rng, 40));
		if (peer[k] != NULL) {
			wp.port->ops->peer_close(wp.port, peer[k]);
			peer[k] = NULL;
		} else if (UT_OK(wp.port->ops->peer_open(wp.port, &gid, &peer[k]))) {
			wire_rx(frame, wire_claim(frame, &gid, wire_peer_mac));
			wire_flush();
			UT_TRUE(rp_peer_is_ready(peer[k]));
			UT_MEM(peer[k]->gid.b, gid.b, 16);
		}
	}
	for (size_t k = 0; k < RP_ARRAY_LEN(peer); k++)
		if (peer[k] != NULL)
			wp.port->ops->peer_close(wp.port, peer[k]);
	for (size_t k = 0; k <= sr_port_of(wp.port)->bucket_mask; k++)
		UT_TRUE(atomic_load(&sr_port_of(wp.port)->bucket[k]) == NULL);
close:
	wire_close();
}

#define MANY 16384

static struct rp_peer *many[MANY];

static struct rp_gid
nth_gid(uint32_t i)
{
	struct rp_gid gid = wp.conf.gid;

	rp_store_be32(gid.b + 12, 0x0A0A0000 + i);
	return gid;
}

static void
open_many(void)
{
	for (uint32_t i = 0; i < MANY; i++) {
		struct rp_gid gid = nth_gid(i);

		if (many[i] == NULL && wp.port->ops->peer_open(wp.port, &gid, &many[i]) != 0)
			ut_check(false, __FILE__, __LINE__, "peer %u is refused", i);
	}
}

static void
close_some(struct rp_rng *rng, uint32_t n)
{
	while (n > 0) {
		uint32_t at = (uint32_t)rp_rng_below(rng, MANY), i = at;

		while (many[i] == NULL)
			i = (i + 1) % MANY;
		wp.port->ops->peer_close(wp.port, many[i]);
		many[i] = NULL;
		n--;
	}
}

/* Neighbours in the buckets; none of these may be long. */
static uint32_t
count_neighbours(void)
{
	struct sr_port *port = sr_port_of(wp.port);
	uint32_t total = 0, longest = 0;

	for (uint32_t k = 0; k <= port->bucket_mask; k++) {
		const struct sr_neigh *neigh = atomic_load(&port->bucket[k]);
		uint32_t n = 0;

		for (; neigh != NULL; neigh = atomic_load(&neigh->next))
			n++;
		total += n;
		longest = n > longest ? n : longest;
	}
	UT_TRUE(longest <= 12);
	return total;
}

static void
count_free(uint32_t neighbours, uint32_t peers)
{
	const struct sr_port *port = sr_port_of(wp.port);

	for (const struct sr_neigh *n = port->free_neigh; n != NULL; n = n->next_free)
		neighbours--;
	for (const struct sr_peer *p = port->free_peer; p != NULL; p = p->next_free)
		peers--;
	UT_EQ(neighbours, 0);
	UT_EQ(peers, 0);
}

static void
opens_all(bool through_gateway)
{
	struct rp_gid one_more = nth_gid(MANY);
	struct rp_rng rng = ut_rng(2);
	struct rp_peer *peer = NULL;

	wire_defaults(false);
	wp.conf.max_peers = MANY;
	wp.conf.prefix_len = through_gateway ? 24 : 8;
	if (through_gateway)
		wp.conf.gateway = wire_gid("10.9.0.254");
	memset(many, 0, sizeof(many));
	if (!wire_open())
		goto close;
	for (unsigned int round = 0; round < 3; round++) {
		open_many();
		UT_EQ(wp.port->ops->peer_open(wp.port, &one_more, &peer), -ENOSPC);
		UT_EQ(count_neighbours(), through_gateway ? 1 : MANY);
		count_free(through_gateway ? MANY - 1 : 0, 0);
		for (uint32_t i = 0; i < MANY; i++) {
			struct rp_gid gid = nth_gid(i);

			if (!UT_TRUE(rp_gid_equal(&many[i]->gid, &gid)))
				break;
		}
		close_some(&rng, round == 0 ? MANY / 2 : MANY);
	}
	UT_EQ(count_neighbours(), 0);
	count_free(MANY, MANY);
close:
	wire_close();
}

static void
neigh__all_peers_can_come_and_go(void)
{
	opens_all(false);
	opens_all(true);
}

/* One turn at @now: how many neighbours it looked at, and that it was few and one frame. */
static uint32_t
turn(struct rp_tsc now, bool busy)
{
	struct sr_port *port = sr_port_of(wp.port);
	uint64_t asked = atomic_load(&port->cq.neigh_requests);
	uint32_t at;

	if (!port->scanning)
		port->scan_at = 0;
	at = port->scan_at;
	sr_neigh_turn(port, now, busy);
	UT_TRUE(atomic_load(&port->cq.neigh_requests) - asked <= 1);
	rp_qp_tx_burst(wp.qp[RP_ROLE_RESPONDER], NULL, 0);
	UT_TRUE(wire_flush() <= 1);
	UT_TRUE(port->scan_at - at <= SR_SCAN_CHUNK);
	return port->scan_at - at;
}

/* Turns within @ms, one each 10 us. @return neighbours looked at */
static uint32_t
turns(struct rp_tsc *now, unsigned int ms, bool busy)
{
	uint64_t step = rp_rate_to_ticks(&wp.clock.rate, 10 * RP_NS_PER_US);
	uint32_t n = 0;

	for (unsigned int i = 0; i < ms * 100; i++) {
		*now = rp_tsc_add(*now, step);
		n += turn(*now, busy);
	}
	return n;
}

static bool
begin_with(uint32_t max_peers, uint32_t n, struct rp_tsc *ret_now)
{
	wire_defaults(false);
	wp.conf.max_peers = max_peers;
	wp.conf.prefix_len = 8;
	memset(many, 0, sizeof(many));
	if (!wire_open())
		return false;
	sr_port_of(wp.port)->announces_left = 0;
	*ret_now = rp_tsc_add(rp_host_now(&wp.clock), wp.clock.rate.hz);
	for (uint32_t i = 0; i < n; i++) {
		struct rp_gid gid = nth_gid(i);

		if (!UT_OK(wp.port->ops->peer_open(wp.port, &gid, &many[i])))
			return false;
	}
	return true;
}

static void
neigh__timers_look_at_few_neighbours_per_poll(void)
{
	struct rp_tsc now;

	/* Four peers cost what four peers cost, whatever could be opened. */
	if (!begin_with(2 * MANY, 4, &now))
		goto close;
	UT_TRUE(turns(&now, 10, false) <= 8);
	UT_EQ_U(wire_stat("neigh_requests"), 4);
	UT_EQ(turns(&now, 900, false), 0);
	UT_TRUE(turns(&now, 200, false) <= 16);
	UT_EQ_U(wire_stat("neigh_requests"), 8);
	wire_close();

	/* Many are looked at less often than all in each period. */
	if (!begin_with(2 * MANY, MANY, &now))
		goto close;
	turns(&now, 200, false);
	UT_EQ_U(wire_stat("neigh_requests"), MANY);
	UT_TRUE(turns(&now, 1000, false) <= 2 * MANY);
close:
	wire_close();
}

static void
neigh__busy_polls_leave_the_timers_to_idle_ones(void)
{
	struct rp_tsc now;

	if (!begin_with(16, 4, &now))
		goto close;
	UT_EQ(turns(&now, 95, true), 0);
	UT_EQ(turn(now, false), 1);
	/* Without an idle one for long, they do not starve. */
	turns(&now, 20, true);
	UT_EQ_U(wire_stat("neigh_requests"), 4);
	UT_EQ(turns(&now, 900, true), 0);
	turns(&now, 250, true);
	UT_EQ_U(wire_stat("neigh_requests"), 8);
close:
	wire_close();
}

/* What moved in the list meanwhile is asked all the same. */
static void
neigh__none_is_forgotten_when_others_leave(void)
{
	struct rp_rng rng = ut_rng(3);
	struct rp_tsc now;

	if (!begin_with(64, 64, &now))
		goto close;
	for (unsigned int i = 0; i < 2000; i++) {
		uint32_t k = (uint32_t)rp_rng_below(&rng, 64);
		struct rp_gid gid = nth_gid(k);

		if (many[k] != NULL)
			wp.port->ops->peer_close(wp.port, many[k]);
		many[k] = NULL;
		now = rp_tsc_add(now, 1000);
		turn(now, false);
		if (rp_rng_below(&rng, 4) > 0)
			UT_OK(wp.port->ops->peer_open(wp.port, &gid, &many[k]));
	}
	turns(&now, 20, false);
	for (uint32_t k = 0; k < 64; k++) {
		const struct sr_neigh *neigh;

		if (many[k] == NULL)
			continue;
		neigh = rp_container_of(many[k], struct sr_peer, base)->neigh;
		UT_FALSE(atomic_load(&neigh->ask));
		UT_TRUE(rp_tsc_before(now, neigh->due));
		UT_TRUE(atomic_load(&sr_port_of(wp.port)->active[neigh->at]) == neigh);
	}
close:
	wire_close();
}

static const struct ut_test tests[] = {
	UT(neigh__mac_moves_by_its_own_reply_only),
	UT(neigh__requests_back_off_from_1_to_30_seconds),
	UT(neigh__known_address_is_refreshed_every_30_to_60_seconds),
	UT(neigh__claim_of_another_mac_is_verified_once_a_second),
	UT(neigh__gateway_serves_what_is_off_the_link),
	UT(neigh__without_gateway_far_peers_are_refused),
	UT(neigh__impossible_addresses_are_refused_by_name),
	UT(neigh__slots_are_safe_to_reuse),
	UT(neigh__all_peers_can_come_and_go),
	UT(neigh__timers_look_at_few_neighbours_per_poll),
	UT(neigh__busy_polls_leave_the_timers_to_idle_ones),
	UT(neigh__none_is_forgotten_when_others_leave),
};

int
main(int argc, char **argv)
{
	wire_init(1, 2);
	return ut_main("softroce_neigh", tests, RP_ARRAY_LEN(tests), argc, argv);
}
