/* SPDX-License-Identifier: BSD-3-Clause */

#include <ctype.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "conform.h"
#include "rp_opt.h"

#define TURNS_MAX 200000
#define POLL_MAX  32

static char why[RP_OPT_WHY_MAX];
static const struct conform_opts defaults = CONFORM_DEFAULTS;
static uint8_t pattern[4096];

static void
fill_pattern(void)
{
	for (size_t i = 0; i < sizeof(pattern); i++)
		pattern[i] = (uint8_t)(i * 7 + 1);
}

static uint16_t
send_probe(const struct rp_tx *tx)
{
	return rp_qp_tx_burst(conform_side[0].qp[RP_ROLE_PROBER], tx, 1);
}

/* Ports up, payload bytes ready. */
static bool
begin(void)
{
	fill_pattern();
	return conform_up(&defaults);
}

void
conform__table_is_valid(void)
{
	if (begin())
		ut_check(
			rp_driver_validate(conform_rig->ops, &conform_side[0].port->caps, why) == 0,
			__FILE__, __LINE__, "%s", why);
	conform_down();
}

void
conform__probe_of_device_has_no_effect(void)
{
	struct rp_caps caps = {0};

	conform_rig->up();
	for (int i = 0; i < 3; i++)
		UT_OK(conform_rig->ops->probe(conform_rig->device[0], &caps, why));
	/* Unknown before open where it is the host clock's. */
	if (caps.rate.hz == 0)
		caps.rate = rp_rate_make((uint64_t)RP_NS_PER_S, 64);
	UT_OK(rp_driver_validate(conform_rig->ops, &caps, why));
	why[0] = '\0';
	UT_EQ(conform_rig->ops->probe("nosuch0", &caps, why), -ENODEV);
	UT_HAS(why, "nosuch0");
	conform_rig->down();
	/* Still opens afterwards. */
	begin();
	conform_down();
}

static void
open_must_fail(const struct rp_port_conf *conf, int rc)
{
	struct rp_port *port = NULL;

	why[0] = '\0';
	UT_EQ(conform_rig->ops->open(conf, &port, why), rc);
	UT_HAS(why, conf->device);
	UT_TRUE(port == NULL);
}

void
conform__open_refuses_bad_configuration(void)
{
	struct rp_port_conf good, bad;

	conform_rig->up();
	good = conform_port_conf(0, &defaults);
	bad = good;
	bad.rx_depth = 3;
	open_must_fail(&bad, -EINVAL);
	bad.rx_depth = 0;
	open_must_fail(&bad, -EINVAL);
	bad = good;
	bad.max_peers = 0;
	open_must_fail(&bad, -EINVAL);
	bad = good;
	bad.clock = NULL;
	open_must_fail(&bad, -EINVAL);
	bad = good;
	UT_OK(rp_gid_parse("224.0.0.1", &bad.gid));
	open_must_fail(&bad, -EINVAL);
	bad.gid = (struct rp_gid){{0}};
	open_must_fail(&bad, -EINVAL);
	conform_rig->down();
}

void
conform__qp_open_refuses_bad_configuration(void)
{
	struct rp_qp_conf conf = {RP_ROLE_PROBER, RP_PROBER_QKEY, 64};
	struct rp_qp *qp = NULL;
	struct rp_port *port;

	if (begin()) {
		port = conform_side[0].port;
		UT_EQ(port->ops->qp_open(port, &conf, &qp, why), -EBUSY);
		port->ops->qp_close(conform_side[0].qp[RP_ROLE_PROBER]);
		conform_side[0].qp[RP_ROLE_PROBER] = NULL;
		conf.tx_depth = 48;
		UT_EQ(port->ops->qp_open(port, &conf, &qp, why), -EINVAL);
		conf.tx_depth = 64;
		conf.qkey = 0x80000001u;
		UT_EQ(port->ops->qp_open(port, &conf, &qp, why), -EINVAL);
		UT_TRUE(qp == NULL);
	}
	conform_down();
}

void
conform__peers_become_ready(void)
{
	/* conform_up() demands it. */
	if (begin()) {
		struct rp_gid other = conform_gid(1, false);

		UT_MEM(conform_side[0].peer->gid.b, other.b, 16);
	}
	conform_down();
}

static int
open_peer_text(const char *text, struct rp_peer **ret_peer)
{
	struct rp_port *port = conform_side[0].port;
	struct rp_gid gid;

	UT_OK(rp_gid_parse(text, &gid));
	return port->ops->peer_open(port, &gid, ret_peer);
}

void
conform__peer_open_refuses_own_foreign_family_and_multicast(void)
{
	struct rp_peer *peer = NULL;

	if (begin()) {
		UT_EQ(open_peer_text("10.9.0.1", &peer), -EINVAL);
		UT_EQ(open_peer_text("fd00:9::2", &peer), -EINVAL);
		UT_EQ(open_peer_text("224.0.0.1", &peer), -EINVAL);
		UT_EQ(open_peer_text("127.0.0.1", &peer), -EINVAL);
		UT_EQ(open_peer_text("0.0.0.0", &peer), -EINVAL);
		UT_TRUE(peer == NULL);
	}
	conform_down();
}

void
conform__peer_slots_end_at_max_peers_and_are_reused(void)
{
	struct rp_peer *peer[8] = {NULL}, *extra = NULL;
	struct rp_port *port;
	char text[32];

	if (!begin()) {
		conform_down();
		return;
	}
	port = conform_side[0].port;
	/* One of eight is taken by the suite's own. */
	for (unsigned int i = 0; i < 7; i++) {
		snprintf(text, sizeof(text), "10.9.0.%u", 100 + i);
		UT_OK(open_peer_text(text, &peer[i]));
		UT_FALSE(rp_peer_is_ready(peer[i]));
	}
	UT_EQ(open_peer_text("10.9.0.200", &extra), -ENOSPC);
	port->ops->peer_close(port, peer[3]);
	UT_OK(open_peer_text("10.9.0.200", &peer[3]));
	UT_FALSE(rp_peer_is_ready(peer[3]));
	conform_settle();
	UT_FALSE(rp_peer_is_ready(peer[3]));
	UT_TRUE(rp_peer_is_ready(conform_side[0].peer));
	for (unsigned int i = 0; i < 7; i++)
		port->ops->peer_close(port, peer[i]);
	conform_down();
}

static void
one_datagram(bool ipv6)
{
	struct conform_opts opts = CONFORM_DEFAULTS;
	struct rp_gid src = conform_gid(0, ipv6), dst = conform_gid(1, ipv6);
	struct rp_tx tx;
	const struct rp_ev *ev;

	fill_pattern();
	opts.ipv6 = ipv6;
	if (!conform_up(&opts))
		goto down;
	tx = conform_probe(pattern, RP_PAYLOAD_LEN, 77);
	UT_EQ(send_probe(&tx), 1);
	if (!UT_TRUE(conform_await(1, RP_EV_RX, 1)) || !UT_TRUE(conform_await(0, RP_EV_TX_DONE, 1)))
		goto down;
	ev = conform_nth(1, RP_EV_RX, 0);
	UT_EQ(ev->role, RP_ROLE_RESPONDER);
	UT_EQ(ev->len, RP_PAYLOAD_LEN);
	UT_EQ(ev->burst, 1);
	UT_EQ_U(ev->src_qpn, conform_side[0].qp[RP_ROLE_PROBER]->qpn);
	UT_HEX(ev->flow_label, ipv6 ? tx.flow_label : 0);
	UT_MEM(ev->src.b, src.b, 16);
	UT_MEM(ev->dst.b, dst.b, 16);
	UT_MEM(ev->payload, pattern, RP_PAYLOAD_LEN);
	ev = conform_nth(0, RP_EV_TX_DONE, 0);
	UT_EQ(ev->role, RP_ROLE_PROBER);
	UT_EQ_U(ev->cookie, 77);
down:
	conform_down();
}

void
conform__datagram_arrives_with_its_addresses(void)
{
	one_datagram(false);
}

void
conform__datagram_arrives_over_ipv6(void)
{
	one_datagram(true);
}

void
conform__both_roles_reach_both_roles(void)
{
	static const uint32_t qkey[RP_ROLE_N] = {RP_PROBER_QKEY, CONFORM_RESPONDER_QKEY};

	if (!begin())
		goto down;
	for (enum rp_role from = 0; from < RP_ROLE_N; from++) {
		for (enum rp_role to = 0; to < RP_ROLE_N; to++) {
			struct rp_tx tx = conform_probe(pattern, RP_PAYLOAD_LEN, from * 2 + to);
			const struct rp_ev *ev;
			size_t n = from * RP_ROLE_N + to;

			tx.qpn = conform_side[1].qp[to]->qpn;
			tx.qkey = qkey[to];
			UT_EQ(rp_qp_tx_burst(conform_side[0].qp[from], &tx, 1), 1);
			if (!UT_TRUE(conform_await(1, RP_EV_RX, n + 1)) ||
				!UT_TRUE(conform_await(0, RP_EV_TX_DONE, n + 1)))
				goto down;
			ev = conform_nth(1, RP_EV_RX, n);
			UT_EQ(ev->role, to);
			UT_EQ_U(ev->src_qpn, conform_side[0].qp[from]->qpn);
			UT_EQ(conform_nth(0, RP_EV_TX_DONE, n)->role, from);
		}
	}
down:
	conform_down();
}

/* Send @p n numbered datagrams in bursts of @p burst; all must arrive in order. */
static void
stream(uint64_t n, uint16_t burst, uint16_t poll_max)
{
	uint8_t number[16][RP_PAYLOAD_LEN];
	struct rp_tx tx[16];
	uint64_t sent = 0;

	for (size_t t = 0; t < TURNS_MAX && conform_count(1, RP_EV_RX) < n; t++) {
		uint16_t want = (uint16_t)rp_min_u64(burst, n - sent);

		for (uint16_t i = 0; i < want; i++) {
			uint64_t cookie = sent + i;

			memcpy(number[i], pattern, RP_PAYLOAD_LEN);
			memcpy(number[i], &cookie, sizeof(cookie));
			tx[i] = conform_probe(number[i], RP_PAYLOAD_LEN, cookie);
		}
		if (want > 0)
			sent += rp_qp_tx_burst(conform_side[0].qp[RP_ROLE_PROBER], tx, want);
		conform_turn_max(poll_max);
	}
	conform_settle();
	UT_EQ_U(conform_count(1, RP_EV_RX), n);
	UT_EQ_U(conform_count(0, RP_EV_TX_DONE), n);
	UT_EQ_U(conform_count(0, RP_EV_TX_ERR), 0);
	for (uint64_t i = 0, rx = 0; i < conform_side[1].n; i++) {
		uint64_t got;

		memcpy(&got, conform_side[1].ev[i].payload, sizeof(got));
		if (!UT_EQ_U(got, rx++))
			break;
	}
	for (uint64_t i = 0, done = 0; i < conform_side[0].n; i++)
		if (!UT_EQ_U(conform_side[0].ev[i].cookie, done++))
			break;
}

void
conform__each_send_completes_once_and_in_order(void)
{
	if (begin())
		stream(40, 8, POLL_MAX);
	conform_down();
}

void
conform__payload_is_copied_before_return(void)
{
	uint8_t payload[RP_PAYLOAD_LEN];
	struct rp_tx tx;

	if (begin()) {
		memset(payload, 0x5a, sizeof(payload));
		tx = conform_probe(payload, sizeof(payload), 1);
		UT_EQ(send_probe(&tx), 1);
		memset(payload, 0, sizeof(payload));
		memset(&tx, 0xff, sizeof(tx));
		if (UT_TRUE(conform_await(1, RP_EV_RX, 1))) {
			memset(payload, 0x5a, sizeof(payload));
			UT_MEM(conform_nth(1, RP_EV_RX, 0)->payload, payload, sizeof(payload));
		}
	}
	conform_down();
}

void
conform__full_queue_gives_short_count(void)
{
	struct rp_qp *qp;
	uint32_t taken = 0;
	uint64_t full;

	if (!begin())
		goto down;
	qp = conform_side[0].qp[RP_ROLE_PROBER];
	full = conform_stat(0, "tx_full");
	for (uint32_t i = 0; i < defaults.tx_depth + 10; i++) {
		struct rp_tx tx = conform_probe(pattern, RP_PAYLOAD_LEN, i);

		taken += rp_qp_tx_burst(qp, &tx, 1);
	}
	UT_EQ_U(taken, defaults.tx_depth);
	UT_EQ_U(conform_stat(0, "tx_full"), full + 10);
	/* The responder's queue has its own depth. */
	{
		struct rp_tx tx = conform_probe(pattern, RP_PAYLOAD_LEN, 1000);

		UT_EQ(rp_qp_tx_burst(conform_side[0].qp[RP_ROLE_RESPONDER], &tx, 1), 1);
	}
	UT_TRUE(conform_await(0, RP_EV_TX_DONE, defaults.tx_depth + 1));
	UT_TRUE(conform_await(1, RP_EV_RX, defaults.tx_depth + 1));
	{
		struct rp_tx tx = conform_probe(pattern, RP_PAYLOAD_LEN, 1001);

		UT_EQ(send_probe(&tx), 1);
	}
	UT_TRUE(conform_await(0, RP_EV_TX_DONE, defaults.tx_depth + 2));
	conform_settle();
	UT_EQ_U(conform_count(0, RP_EV_TX_DONE), defaults.tx_depth + 2);
down:
	conform_down();
}

void
conform__rings_wrap(void)
{
	/* Ten times round every ring of either depth, in steps that divide neither. */
	if (begin())
		stream(10 * defaults.rx_depth + 3, 7, POLL_MAX);
	conform_down();
}

void
conform__small_polls_lose_nothing(void)
{
	if (begin())
		stream(200, 5, 3);
	conform_down();
}

static void
refused_on_arrival(struct rp_tx *tx, const char *counter)
{
	uint64_t before = conform_stat(1, counter);

	UT_EQ(send_probe(tx), 1);
	UT_TRUE(conform_await(0, RP_EV_TX_DONE, 1));
	conform_settle();
	UT_EQ_U(conform_stat(1, counter), before + 1);
	UT_EQ_U(conform_count(1, RP_EV_RX), 0);
}

void
conform__wrong_qpn_is_dropped_and_counted(void)
{
	if (begin()) {
		struct rp_tx tx = conform_probe(pattern, RP_PAYLOAD_LEN, 1);

		tx.qpn ^= 0x800000;
		refused_on_arrival(&tx, "drop_qpn");
	}
	conform_down();
}

void
conform__wrong_qkey_is_dropped_and_counted(void)
{
	if (begin()) {
		struct rp_tx tx = conform_probe(pattern, RP_PAYLOAD_LEN, 1);

		tx.qkey = RP_PROBER_QKEY;
		refused_on_arrival(&tx, "drop_qkey");
	}
	conform_down();
}

void
conform__long_datagram_keeps_its_length(void)
{
	uint16_t len;

	if (begin()) {
		len = (uint16_t)conform_side[0].port->caps.max_payload_bytes;
		UT_TRUE(len > RP_PAYLOAD_LEN);
		for (size_t i = 0; i < 5; i++) {
			struct rp_tx tx = conform_probe(pattern, (uint16_t)(len - i), 1);

			UT_EQ(send_probe(&tx), 1);
			if (!UT_TRUE(conform_await(1, RP_EV_RX, i + 1)))
				break;
			UT_EQ(conform_nth(1, RP_EV_RX, i)->len, len - (uint16_t)i);
			UT_MEM(conform_nth(1, RP_EV_RX, i)->payload, pattern, RP_PAYLOAD_LEN);
		}
	}
	conform_down();
}

void
conform__short_datagram_is_zero_behind_its_length(void)
{
	static const uint8_t zero[RP_PAYLOAD_LEN];

	if (begin()) {
		for (uint16_t len = 1; len < RP_PAYLOAD_LEN; len++) {
			struct rp_tx tx = conform_probe(pattern, len, len);
			const struct rp_ev *ev;

			UT_EQ(send_probe(&tx), 1);
			if (!UT_TRUE(conform_await(1, RP_EV_RX, len)))
				break;
			ev = conform_nth(1, RP_EV_RX, len - 1u);
			UT_EQ(ev->len, len);
			UT_MEM(ev->payload, pattern, len);
			UT_MEM(ev->payload + len, zero, (size_t)RP_PAYLOAD_LEN - len);
		}
	}
	conform_down();
}

static void
refused_on_send(const struct rp_tx *tx, uint8_t status)
{
	size_t before = conform_count(0, RP_EV_TX_ERR);

	UT_EQ(send_probe(tx), 1);
	conform_settle();
	if (!UT_EQ_U(conform_count(0, RP_EV_TX_ERR), before + 1))
		return;
	UT_EQ(conform_nth(0, RP_EV_TX_ERR, before)->status, status);
	UT_EQ_U(conform_nth(0, RP_EV_TX_ERR, before)->cookie, tx->cookie);
	UT_EQ_U(conform_count(0, RP_EV_TX_DONE), 0);
	UT_EQ_U(conform_count(1, RP_EV_RX), 0);
}

void
conform__refused_length_ends_in_one_tx_err(void)
{
	if (begin()) {
		struct rp_tx tx = conform_probe(pattern, 0, 5);

		refused_on_send(&tx, RP_TX_REFUSED_LENGTH);
		tx.len = (uint16_t)(conform_side[0].port->caps.max_payload_bytes + 1);
		tx.cookie = 6;
		refused_on_send(&tx, RP_TX_REFUSED_LENGTH);
	}
	conform_down();
}

void
conform__unready_peer_ends_in_one_tx_err(void)
{
	struct rp_peer *nobody = NULL;

	if (begin() && UT_OK(open_peer_text("10.9.0.99", &nobody))) {
		struct rp_tx tx = conform_probe(pattern, RP_PAYLOAD_LEN, 5);

		tx.peer = nobody;
		refused_on_send(&tx, RP_TX_REFUSED_PEER);
		conform_side[0].port->ops->peer_close(conform_side[0].port, nobody);
	}
	conform_down();
}

void
conform__source_port_follows_the_label(void)
{
	static const struct {
		uint32_t label;
		uint16_t sport;
	} row[] = {
		{0x00001, 0xC001},
		{0x03FFF, 0xFFFF},
		{0x04001, 0xC000},
		{0x12345, 0xE341},
		{0xFFFFF, 0xFFC0},
	};

	if (begin() && (conform_side[0].port->caps.flags & RP_CAP_SPORT_PER_SEND) != 0) {
		for (size_t i = 0; i < RP_ARRAY_LEN(row); i++) {
			struct rp_tx tx = conform_probe(pattern, RP_PAYLOAD_LEN, i);

			tx.flow_label = row[i].label;
			UT_EQ(send_probe(&tx), 1);
			if (!UT_TRUE(conform_await(1, RP_EV_RX, i + 1)))
				break;
			UT_HEX(conform_rig->last_sport(), row[i].sport);
		}
	}
	conform_down();
}

void
conform__buffers_are_constant(void)
{
	uint32_t before;

	if (begin()) {
		struct rp_tx tx = conform_probe(pattern, RP_PAYLOAD_LEN, 1);

		conform_settle();
		before = conform_rig->buffers();
		stream(1000, 8, POLL_MAX);
		tx.qkey = 1;
		for (int i = 0; i < 50; i++) {
			send_probe(&tx);
			conform_turn();
		}
		conform_settle();
		UT_EQ_U(conform_rig->buffers(), before);
	}
	conform_down();
}

void
conform__close_with_work_in_flight_returns_all(void)
{
	for (int round = 0; round < 3; round++) {
		if (begin()) {
			for (uint64_t i = 0; i < 40; i++) {
				struct rp_tx tx = conform_probe(pattern, RP_PAYLOAD_LEN, i);

				UT_EQ(send_probe(&tx), 1);
			}
		}
		conform_down();
	}
}

struct stat_list {
	char name[128][48];
	uint64_t value[128];
	size_t n;
};

static void
stat_collect(void *arg, const char *name, uint64_t value)
{
	struct stat_list *list = arg;

	if (list->n < RP_ARRAY_LEN(list->value)) {
		snprintf(list->name[list->n], sizeof(list->name[0]), "%s", name);
		list->value[list->n++] = value;
	}
}

static void
check_stat_name(const struct stat_list *list, size_t i)
{
	UT_TRUE(islower((unsigned char)list->name[i][0]));
	for (const char *c = list->name[i]; *c != '\0'; c++)
		ut_check(islower((unsigned char)*c) || isdigit((unsigned char)*c) || *c == '_',
			__FILE__, __LINE__, "counter name \"%s\"", list->name[i]);
	for (size_t k = 0; k < i; k++)
		ut_check(strcmp(list->name[k], list->name[i]) != 0, __FILE__, __LINE__,
			"counter %s twice", list->name[i]);
}

void
conform__stats_have_lower_case_names_and_never_fall(void)
{
	static struct stat_list first, second;
	struct rp_port *port;

	first.n = second.n = 0;
	if (begin()) {
		port = conform_side[0].port;
		port->ops->stats(port, stat_collect, &first);
		stream(64, 8, POLL_MAX);
		port->ops->stats(port, stat_collect, &second);
		UT_TRUE(first.n > 0);
		UT_EQ_U(first.n, second.n);
		for (size_t i = 0; i < first.n; i++) {
			check_stat_name(&first, i);
			UT_STR(second.name[i], first.name[i]);
			ut_check(second.value[i] >= first.value[i], __FILE__, __LINE__,
				"counter %s fell", first.name[i]);
		}
		UT_EQ_U(conform_stat(0, "tx_frames"), 64);
		UT_EQ_U(conform_stat(1, "rx_frames"), 64);
	}
	conform_down();
}

struct stat_reader {
	struct rp_port *port;
	_Atomic bool stop;
	uint64_t fell;
};

static void *
read_stats(void *arg)
{
	struct stat_reader *r = arg;
	struct stat_list list[2];

	list[0].n = list[1].n = 0;
	for (unsigned int i = 0; !atomic_load(&r->stop); i++) {
		struct stat_list *now = &list[i % 2], *last = &list[(i + 1) % 2];

		now->n = 0;
		r->port->ops->stats(r->port, stat_collect, now);
		for (size_t k = 0; k < last->n; k++)
			r->fell += now->value[k] < last->value[k];
	}
	return NULL;
}

/* The agent's control and telemetry threads. */
void
conform__stats_have_two_readers_while_polled(void)
{
	struct stat_reader reader[2];
	pthread_t thread[2];

	if (begin()) {
		for (size_t i = 0; i < RP_ARRAY_LEN(thread); i++) {
			reader[i] = (struct stat_reader){.port = conform_side[1].port};
			UT_OK(pthread_create(&thread[i], NULL, read_stats, &reader[i]));
		}
		stream(256, 8, POLL_MAX);
		for (size_t i = 0; i < RP_ARRAY_LEN(thread); i++) {
			atomic_store(&reader[i].stop, true);
			UT_OK(pthread_join(thread[i], NULL));
			UT_EQ_U(reader[i].fell, 0);
		}
		UT_EQ_U(conform_stat(1, "rx_frames"), 256);
	}
	conform_down();
}

void
conform__stamps_of_a_queue_pair_do_not_step_back(void)
{
	if (begin()) {
		const struct rp_rate *rate = &conform_side[0].port->caps.rate;
		struct rp_nic last = {0};

		stream(200, 8, POLL_MAX);
		for (size_t i = 0; i < conform_side[0].n; i++) {
			const struct rp_ev *ev = &conform_side[0].ev[i];

			UT_EQ(ev->flags & RP_EV_F_NO_STAMP, 0);
			if (i > 0)
				UT_TRUE(rp_nic_elapsed(rate, last, ev->stamp).v >= 0);
			last = ev->stamp;
		}
	}
	conform_down();
}

void
conform__empty_burst_sends_nothing(void)
{
	if (begin()) {
		UT_EQ(rp_qp_tx_burst(conform_side[0].qp[RP_ROLE_RESPONDER], NULL, 0), 0);
		UT_EQ(rp_qp_tx_burst(conform_side[0].qp[RP_ROLE_PROBER], NULL, 0), 0);
		conform_settle();
		UT_EQ_U(conform_side[0].n, 0);
		UT_EQ_U(conform_side[1].n, 0);
	}
	conform_down();
}

void
conform__split_lcores_deliver_like_one(void)
{
	struct conform_opts opts = CONFORM_DEFAULTS;

	fill_pattern();
	opts.two_lcores = true;
	if (conform_up(&opts))
		stream(3 * defaults.rx_depth, 7, POLL_MAX);
	conform_down();
}
