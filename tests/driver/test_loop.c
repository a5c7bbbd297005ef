/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <poll.h>
#include <stdio.h>

#include "conform.h"
#include "loop_priv.h"
#include "rp_opt.h"

#define CAPACITY 4096
#define STEP_NS  1000

static struct rp_loop_fabric *fabric;
static struct rp_host_clock host_clock;
static struct rp_loop_conf loop_conf[2];
static struct rp_loop_clock nic_clock[2], host_offset[2];
static bool software_stamps;
static uint32_t capacity = CAPACITY;
static uint64_t seed = 1;
static uint16_t sport_seen;

static void
watch_sport(void *arg, const struct rp_loop_dgram *dgram, struct rp_loop_action *action)
{
	struct rp_gid first = conform_gid(0, false);

	(void)arg, (void)action;
	if (rp_gid_equal(dgram->src, &first))
		sport_seen = dgram->sport;
}

static void
rig_up(void)
{
	UT_OK(rp_loop_fabric_open(seed, capacity, &fabric));
	host_clock = rp_loop_host_clock((uint64_t)RP_NS_PER_S);
	rp_loop_filter_set(fabric, watch_sport, NULL);
}

static void
rig_down(void)
{
	rp_loop_fabric_close(fabric);
	fabric = NULL;
}

static void
rig_conf(unsigned int i, struct rp_port_conf *ret_conf)
{
	loop_conf[i] = (struct rp_loop_conf){
		.fabric = fabric,
		.nic = nic_clock[i],
		.host = host_offset[i],
		.software_stamps = software_stamps,
	};
	ret_conf->clock = &host_clock;
	ret_conf->driver_data = &loop_conf[i];
}

static void
rig_step(void)
{
	rp_loop_advance(fabric, STEP_NS);
}

static uint32_t
rig_buffers(void)
{
	uint32_t n = 0;

	for (const struct loop_item *item = fabric->free; item != NULL; item = item->next)
		n++;
	return n;
}

static uint16_t
rig_last_sport(void)
{
	return sport_seen;
}

static const struct conform_rig rig = {
	.ops = &rp_loop_ops,
	.conf = rig_conf,
	.up = rig_up,
	.down = rig_down,
	.step = rig_step,
	.buffers = rig_buffers,
	.last_sport = rig_last_sport,
	.device = {"loop0", "loop1"},
};

static const struct conform_opts defaults = CONFORM_DEFAULTS;
static uint8_t payload[RP_PAYLOAD_LEN] = {1, 2, 3};

static bool
begin(void)
{
	memset(nic_clock, 0, sizeof(nic_clock));
	memset(host_offset, 0, sizeof(host_offset));
	software_stamps = false;
	capacity = CAPACITY;
	seed = 1;
	return conform_up(&defaults);
}

static void
add_rule(unsigned int from, struct rp_loop_path path)
{
	struct rp_loop_rule rule = {
		.src = conform_gid(from, false),
		.dst = conform_gid(1 - from, false),
		.path = path,
	};

	UT_OK(rp_loop_rule_add(fabric, &rule));
}

/* @p from's role to the other side's: one datagram. */
static void
send_from(unsigned int from, enum rp_role role, enum rp_role to, uint64_t cookie)
{
	struct rp_tx tx = {
		.peer = conform_side[from].peer,
		.payload = payload,
		.cookie = cookie,
		.qpn = conform_side[1 - from].qp[to]->qpn,
		.qkey = to == RP_ROLE_PROBER ? RP_PROBER_QKEY : CONFORM_RESPONDER_QKEY,
		.flow_label = 1,
		.len = sizeof(payload),
	};

	UT_EQ(rp_qp_tx_burst(conform_side[from].qp[role], &tx, 1), 1);
}

static uint16_t
drain(unsigned int i, struct rp_ev *ev, uint16_t max)
{
	return rp_port_poll(conform_side[i].port, ev, max);
}

/* One probe and its ACK; the responder dwells. @return (T5-T2)-(T4-T3) */
static int64_t
round_trip(int64_t forward_ns, int64_t dwell_ns, int64_t back_ns)
{
	struct rp_ev ev[4], t2, t3, t4, t5;
	struct rp_port *a = conform_side[0].port, *b = conform_side[1].port;

	send_from(0, RP_ROLE_PROBER, RP_ROLE_RESPONDER, 1);
	UT_EQ(drain(0, ev, 4), 1);
	t2 = ev[0];
	rp_loop_advance(fabric, forward_ns - 1);
	UT_EQ(drain(1, ev, 4), 0);
	/* Polled late: the stamp is that of the arrival. */
	rp_loop_advance(fabric, 1 + dwell_ns);
	UT_EQ(drain(1, ev, 4), 1);
	t3 = ev[0];
	send_from(1, RP_ROLE_RESPONDER, RP_ROLE_PROBER, 2);
	UT_EQ(drain(1, ev, 4), 1);
	t4 = ev[0];
	rp_loop_advance(fabric, back_ns);
	UT_EQ(drain(0, ev, 4), 1);
	t5 = ev[0];
	return rp_ns_sub(rp_nic_elapsed(&a->caps.rate, t2.stamp, t5.stamp),
		rp_nic_elapsed(&b->caps.rate, t3.stamp, t4.stamp))
		.v;
}

static void
rtt__is_the_sum_of_both_delays_to_the_nanosecond(void)
{
	if (begin()) {
		add_rule(0, (struct rp_loop_path){.delay_ns = 12345});
		add_rule(1, (struct rp_loop_path){.delay_ns = 6789});
		UT_EQ(round_trip(12345, 777, 6789), 12345 + 6789);
		UT_EQ(round_trip(12345, 0, 6789), 12345 + 6789);
		UT_EQ(round_trip(12345, 10000000, 6789), 12345 + 6789);
	}
	conform_down();
}

static void
rtt__holds_across_counter_wrap_and_offsets(void)
{
	memset(nic_clock, 0, sizeof(nic_clock));
	nic_clock[0] = (struct rp_loop_clock){.bits = 32, .offset = UINT32_MAX - 5000};
	nic_clock[1] = (struct rp_loop_clock){.bits = 48, .offset = (UINT64_C(1) << 48) - 12800};
	if (conform_up(&defaults)) {
		add_rule(0, (struct rp_loop_path){.delay_ns = 9000});
		add_rule(1, (struct rp_loop_path){.delay_ns = 9000});
		UT_HEX(conform_side[0].port->caps.rate.mask, UINT32_MAX);
		UT_EQ(round_trip(9000, 3000, 9000), 18000);
	}
	conform_down();
}

static void
rtt__of_skewed_and_slow_clocks_is_off_by_what_the_header_says(void)
{
	memset(nic_clock, 0, sizeof(nic_clock));
	nic_clock[0] = (struct rp_loop_clock){.hz = 156250000};
	nic_clock[1] = (struct rp_loop_clock){.skew_ppb = 100000};
	if (conform_up(&defaults)) {
		add_rule(0, (struct rp_loop_path){.delay_ns = 20000});
		add_rule(1, (struct rp_loop_path){.delay_ns = 30000});
		UT_EQ_U(conform_side[0].port->caps.rate.hz, 156250000);
		UT_EQ_U(conform_side[1].port->caps.clock_error_ppb, 100000);
		/* Dwell of 1 ms reads 100 ns too long at 100 ppm; a tick is 6.4 ns. */
		UT_NEAR((double)round_trip(20000, 1000000, 30000), 50000 - 100, 7);
	}
	conform_down();
}

static void
host_stamps__are_of_send_and_of_poll(void)
{
	struct rp_ev ev[2];
	int64_t at;

	memset(nic_clock, 0, sizeof(nic_clock));
	host_offset[1] = (struct rp_loop_clock){.offset = 5000000000u};
	if (conform_up(&defaults)) {
		add_rule(0, (struct rp_loop_path){.delay_ns = 100});
		at = rp_loop_now_ns(fabric);
		send_from(0, RP_ROLE_PROBER, RP_ROLE_RESPONDER, 1);
		rp_loop_advance(fabric, 250);
		UT_EQ(drain(0, ev, 2), 1);
		UT_EQ(ev[0].host.ticks, at);
		UT_EQ(drain(1, ev, 2), 1);
		UT_EQ_U(ev[0].host.ticks, (uint64_t)at + 250 + 5000000000u);
		UT_EQ(ev[0].stamp.ticks, at + 100);
		UT_EQ_U(rp_loop_host_now(conform_side[1].port).ticks, ev[0].host.ticks);
	}
	conform_down();
	memset(host_offset, 0, sizeof(host_offset));
}

static void
software_stamps__are_taken_by_the_poll(void)
{
	struct rp_ev ev[2];
	int64_t at;

	software_stamps = true;
	if (conform_up(&defaults)) {
		UT_EQ(conform_side[1].port->caps.flags & (RP_CAP_HW_RX_STAMP | RP_CAP_HW_TX_STAMP),
			0);
		at = rp_loop_now_ns(fabric);
		send_from(0, RP_ROLE_PROBER, RP_ROLE_RESPONDER, 1);
		rp_loop_advance(fabric, 900);
		UT_EQ(drain(1, ev, 2), 1);
		UT_EQ(ev[0].stamp.ticks, at + 900);
	}
	conform_down();
	software_stamps = false;
}

static void
clock_read__gives_both_clocks_of_this_instant(void)
{
	struct rp_clock_pair pair;

	memset(nic_clock, 0, sizeof(nic_clock));
	nic_clock[0] = (struct rp_loop_clock){.offset = 1000};
	if (conform_up(&defaults)) {
		UT_OK(rp_port_clock_read(conform_side[0].port, &pair));
		UT_EQ_U(pair.at.ticks, pair.before.ticks + 1000);
		UT_EQ_U(pair.after.ticks, pair.before.ticks);
	}
	conform_down();
	memset(nic_clock, 0, sizeof(nic_clock));
}

/* Drops what carries this first byte; sees everything. */
struct picky {
	uint8_t first_byte;
	struct rp_loop_action action;
	unsigned int seen;
};

static void
pick(void *arg, const struct rp_loop_dgram *dgram, struct rp_loop_action *action)
{
	struct picky *p = arg;

	p->seen++;
	if (dgram->payload[0] == p->first_byte)
		*action = p->action;
}

/* The probe of two that carries 9 gets @p action. @return events of side 1 */
static size_t
filtered_pair(struct rp_loop_action action)
{
	struct picky picky = {9, action, 0};

	rp_loop_filter_set(fabric, pick, &picky);
	payload[0] = 9;
	send_from(0, RP_ROLE_PROBER, RP_ROLE_RESPONDER, 1);
	payload[0] = 8;
	send_from(0, RP_ROLE_PROBER, RP_ROLE_RESPONDER, 2);
	conform_settle();
	UT_EQ(picky.seen, 2);
	rp_loop_filter_set(fabric, NULL, NULL);
	return conform_count(1, RP_EV_RX);
}

static void
filter__drops_one_kind_of_datagram(void)
{
	if (begin()) {
		UT_EQ(filtered_pair((struct rp_loop_action){.drop = true}), 1);
		UT_EQ(conform_nth(1, RP_EV_RX, 0)->payload[0], 8);
		UT_EQ(conform_count(0, RP_EV_TX_DONE), 2);
		UT_EQ_U(rp_loop_totals(fabric)->filtered, 1);
	}
	conform_down();
}

static void
filter__duplicates_and_delays(void)
{
	if (begin()) {
		UT_EQ(filtered_pair((struct rp_loop_action){.duplicates = 2, .delay_ns = 50000}),
			4);
		UT_EQ(conform_nth(1, RP_EV_RX, 0)->payload[0], 8);
		UT_EQ_U(conform_nth(1, RP_EV_RX, 1)->stamp.ticks,
			conform_nth(1, RP_EV_RX, 0)->stamp.ticks + 50000);
	}
	conform_down();
}

static void
filter__makes_send_errors_and_late_or_bare_completions(void)
{
	if (begin()) {
		UT_EQ(filtered_pair((struct rp_loop_action){.tx_error = true, .tx_status = 0x15}),
			1);
		UT_EQ(conform_nth(0, RP_EV_TX_ERR, 0)->status, 0x15);
		UT_EQ_U(conform_nth(0, RP_EV_TX_ERR, 0)->cookie, 1);
		UT_EQ(conform_count(0, RP_EV_TX_DONE), 1);

		conform_side[0].n = conform_side[1].n = 0;
		UT_EQ(filtered_pair((struct rp_loop_action){
			      .done_delay_ns = 70000, .no_tx_stamp = true, .no_rx_stamp = true}),
			2);
		UT_EQ_U(conform_nth(0, RP_EV_TX_DONE, 0)->cookie, 2);
		UT_EQ_U(conform_nth(0, RP_EV_TX_DONE, 1)->cookie, 1);
		UT_EQ(conform_nth(0, RP_EV_TX_DONE, 1)->flags, RP_EV_F_NO_STAMP);
		UT_EQ_U(conform_nth(0, RP_EV_TX_DONE, 1)->host.ticks,
			conform_nth(0, RP_EV_TX_DONE, 0)->host.ticks);
		UT_EQ(conform_nth(1, RP_EV_RX, 0)->flags, RP_EV_F_NO_STAMP);
	}
	conform_down();
}

static void
rules__the_newest_match_counts_and_ports_select(void)
{
	struct rp_loop_rule by_port = {.sport = 0xC002, .path = {.loss_ppm = 1000000}};

	if (begin()) {
		add_rule(0, (struct rp_loop_path){.loss_ppm = 1000000});
		add_rule(0, (struct rp_loop_path){0});
		UT_OK(rp_loop_rule_add(fabric, &by_port));
		for (uint32_t label = 1; label <= 3; label++) {
			struct rp_tx tx = conform_probe(payload, sizeof(payload), label);

			tx.flow_label = label;
			UT_EQ(rp_qp_tx_burst(conform_side[0].qp[RP_ROLE_PROBER], &tx, 1), 1);
		}
		conform_settle();
		UT_EQ(conform_count(1, RP_EV_RX), 2);
		UT_EQ_U(rp_loop_totals(fabric)->lost, 1);
		rp_loop_rules_clear(fabric);
		conform_side[1].n = 0;
		send_from(0, RP_ROLE_PROBER, RP_ROLE_RESPONDER, 9);
		conform_settle();
		UT_EQ(conform_count(1, RP_EV_RX), 1);
	}
	conform_down();
}

/* @return hash of what side 1 saw of 2000 datagrams on a bad path */
static uint64_t
bad_path(uint64_t with_seed)
{
	const struct rp_loop_path path = {
		.delay_ns = 5000,
		.jitter_ns = 3000,
		.loss_ppm = 100000,
		.duplicate_ppm = 50000,
		.reorder_ppm = 50000,
		.reorder_ns = 40000,
	};
	const struct rp_loop_totals *totals;
	uint64_t hash = 0, out_of_order = 0, last = 0;

	seed = with_seed;
	if (!conform_up(&defaults)) {
		conform_down();
		return 0;
	}
	add_rule(0, path);
	for (uint32_t i = 1; i <= 2000; i++) {
		memcpy(payload, &i, sizeof(i));
		send_from(0, RP_ROLE_PROBER, RP_ROLE_RESPONDER, i);
		conform_turn();
	}
	conform_settle();
	for (size_t i = 0; i < conform_side[1].n; i++) {
		const struct rp_ev *ev = &conform_side[1].ev[i];
		uint32_t number;

		memcpy(&number, ev->payload, sizeof(number));
		out_of_order += number < last;
		last = number;
		hash = hash * 31 + number + ev->stamp.ticks;
	}
	totals = rp_loop_totals(fabric);
	UT_NEAR((double)totals->lost, 200, 60);
	UT_NEAR((double)totals->duplicated, 90, 45);
	UT_TRUE(out_of_order > 50);
	UT_EQ_U(totals->delivered, conform_side[1].n);
	UT_EQ_U(totals->sent + totals->duplicated,
		totals->lost + totals->filtered + totals->no_port + totals->fabric_full +
			totals->refused + totals->delivered);
	conform_down();
	return hash;
}

static void
bad_path__is_a_function_of_the_seed(void)
{
	uint64_t first = bad_path(7);

	UT_EQ_U(bad_path(7), first);
	UT_TRUE(bad_path(8) != first);
	seed = 1;
}

static void
next_ns__names_the_next_arrival(void)
{
	int64_t now;
	struct rp_ev ev[2];

	if (begin()) {
		conform_settle();
		UT_EQ(rp_loop_next_ns(fabric), INT64_MAX);
		add_rule(0, (struct rp_loop_path){.delay_ns = 4000});
		now = rp_loop_now_ns(fabric);
		send_from(0, RP_ROLE_PROBER, RP_ROLE_RESPONDER, 1);
		UT_EQ(rp_loop_next_ns(fabric), now);
		UT_EQ(drain(0, ev, 2), 1);
		UT_EQ(rp_loop_next_ns(fabric), now + 4000);
	}
	conform_down();
}

static void
receive_buffers__running_dry_is_counted(void)
{
	if (begin()) {
		for (uint32_t i = 0; i < defaults.rx_depth + 5; i++) {
			struct rp_ev ev;

			send_from(0, RP_ROLE_PROBER, RP_ROLE_RESPONDER, i);
			UT_EQ(drain(0, &ev, 1), 1);
		}
		rp_loop_advance(fabric, 1);
		UT_EQ_U(conform_stat(1, "rx_no_buffer"), 5);
		conform_settle();
		UT_EQ(conform_count(1, RP_EV_RX), defaults.rx_depth);
	}
	conform_down();
}

static void
fabric__full_pool_takes_no_send(void)
{
	uint32_t taken = 0;

	capacity = 16;
	if (conform_up(&defaults)) {
		for (uint32_t i = 0; i < 40; i++) {
			struct rp_tx tx = conform_probe(payload, sizeof(payload), i);

			taken += rp_qp_tx_burst(conform_side[0].qp[RP_ROLE_PROBER], &tx, 1);
		}
		UT_EQ(taken, 8);
		conform_settle();
		UT_EQ(conform_count(1, RP_EV_RX), 8);
		UT_EQ(conform_count(0, RP_EV_TX_DONE), 8);
	}
	conform_down();
	capacity = 1;
	if (conform_up(&defaults)) {
		struct rp_tx tx = conform_probe(payload, sizeof(payload), 1);

		UT_EQ(rp_qp_tx_burst(conform_side[0].qp[RP_ROLE_PROBER], &tx, 1), 1);
		UT_EQ_U(rp_loop_totals(fabric)->fabric_full, 1);
	}
	conform_down();
	capacity = CAPACITY;
	UT_EQ(rp_loop_fabric_open(1, 0, &fabric), -EINVAL);
	UT_EQ(rp_loop_fabric_open(1, (1u << 24) + 1, &fabric), -EINVAL);
}

static void
link__down_fails_sends_loses_arrivals_and_raises_events(void)
{
	struct rp_port_event event;
	struct pollfd fd;

	if (begin()) {
		struct rp_port *port = conform_side[1].port;

		fd = (struct pollfd){rp_port_event_fd(port), POLLIN, 0};
		UT_EQ(poll(&fd, 1, 0), 0);
		UT_EQ(rp_port_event_read(port, &event), -EAGAIN);
		rp_loop_port_link_set(port, false);
		rp_loop_port_link_set(port, false);
		UT_FALSE(rp_port_link_up(port));
		UT_EQ(poll(&fd, 1, 0), 1);
		send_from(0, RP_ROLE_PROBER, RP_ROLE_RESPONDER, 1);
		send_from(1, RP_ROLE_RESPONDER, RP_ROLE_PROBER, 2);
		conform_settle();
		UT_EQ(conform_count(1, RP_EV_RX), 0);
		UT_EQ_U(rp_loop_totals(fabric)->no_port, 1);
		if (UT_EQ(conform_count(1, RP_EV_TX_ERR), 1))
			UT_EQ(conform_nth(1, RP_EV_TX_ERR, 0)->status, RP_TX_REFUSED_LINK);
		rp_loop_port_link_set(port, true);
		UT_TRUE(rp_port_link_up(port));
		UT_OK(rp_port_event_read(port, &event));
		UT_EQ(event.kind, RP_PORT_DOWN);
		UT_OK(rp_port_event_read(port, &event));
		UT_EQ(event.kind, RP_PORT_UP);
		UT_EQ(rp_port_event_read(port, &event), -EAGAIN);
	}
	conform_down();
}

static void
resolve__takes_its_time_and_needs_an_owner(void)
{
	struct rp_peer *late = NULL;
	struct rp_port *port;

	if (begin()) {
		struct rp_gid gid = conform_gid(1, false);

		port = conform_side[0].port;
		rp_loop_resolve_set(fabric, 5000000);
		UT_OK(port->ops->peer_open(port, &gid, &late));
		conform_settle();
		UT_FALSE(rp_peer_is_ready(late));
		conform_settle();
		conform_settle();
		UT_TRUE(rp_peer_is_ready(late));
		/* A refresh keeps what is known. */
		port->ops->peer_refresh(port, late);
		UT_TRUE(rp_peer_is_ready(late));
		UT_EQ_U(conform_stat(0, "peer_refreshes"), 1);
		port->ops->peer_close(port, late);
	}
	conform_down();
}

static void
restart__of_a_port_gives_new_numbers_and_old_datagrams_miss(void)
{
	struct rp_port_conf conf;
	struct rp_qp_conf qp_conf = {RP_ROLE_RESPONDER, CONFORM_RESPONDER_QKEY, 64};
	struct conform_side *side = &conform_side[1];
	char why[RP_OPT_WHY_MAX];
	uint32_t old;

	if (!begin())
		goto down;
	add_rule(0, (struct rp_loop_path){.delay_ns = 10000});
	send_from(0, RP_ROLE_PROBER, RP_ROLE_RESPONDER, 1);
	old = side->qp[RP_ROLE_RESPONDER]->qpn;
	for (enum rp_role role = 0; role < RP_ROLE_N; role++)
		rp_loop_ops.qp_close(side->qp[role]);
	rp_loop_ops.close(side->port);
	side->peer = NULL;
	side->qp[RP_ROLE_PROBER] = NULL;
	conf = conform_port_conf(1, &defaults);
	UT_OK(rp_loop_ops.open(&conf, &side->port, why));
	UT_OK(rp_loop_ops.qp_open(side->port, &qp_conf, &side->qp[RP_ROLE_RESPONDER], why));
	UT_TRUE(side->qp[RP_ROLE_RESPONDER]->qpn != old);
	conform_settle();
	UT_EQ(conform_count(1, RP_EV_RX), 0);
	UT_EQ_U(conform_stat(1, "drop_qpn"), 1);
down:
	conform_down();
}

static void
open__refuses_a_second_owner_of_an_address_and_a_missing_fabric(void)
{
	struct rp_port_conf conf;
	struct rp_port *port = NULL;
	char why[RP_OPT_WHY_MAX] = "";

	if (begin()) {
		conf = conform_port_conf(1, &defaults);
		UT_EQ(rp_loop_ops.open(&conf, &port, why), -EADDRINUSE);
		conf.driver_data = NULL;
		UT_EQ(rp_loop_ops.open(&conf, &port, why), -EINVAL);
		UT_HAS(why, "fabric");
	}
	conform_down();
}

static const struct ut_test tests[] = {
	CONFORM_TESTS UT(rtt__is_the_sum_of_both_delays_to_the_nanosecond),
	UT(rtt__holds_across_counter_wrap_and_offsets),
	UT(rtt__of_skewed_and_slow_clocks_is_off_by_what_the_header_says),
	UT(host_stamps__are_of_send_and_of_poll),
	UT(software_stamps__are_taken_by_the_poll),
	UT(clock_read__gives_both_clocks_of_this_instant),
	UT(filter__drops_one_kind_of_datagram),
	UT(filter__duplicates_and_delays),
	UT(filter__makes_send_errors_and_late_or_bare_completions),
	UT(rules__the_newest_match_counts_and_ports_select),
	UT(bad_path__is_a_function_of_the_seed),
	UT(next_ns__names_the_next_arrival),
	UT(receive_buffers__running_dry_is_counted),
	UT(fabric__full_pool_takes_no_send),
	UT(link__down_fails_sends_loses_arrivals_and_raises_events),
	UT(resolve__takes_its_time_and_needs_an_owner),
	UT(restart__of_a_port_gives_new_numbers_and_old_datagrams_miss),
	UT(open__refuses_a_second_owner_of_an_address_and_a_missing_fabric),
};

int
main(int argc, char **argv)
{
	conform_rig = &rig;
	return ut_main("driver_loop", tests, RP_ARRAY_LEN(tests), argc, argv);
}
