/* SPDX-License-Identifier: BSD-3-Clause */

#include "conform.h"

#include "rp_opt.h"

#define TURNS_MAX 200000
#define SETTLE    2000
#define POLL_MAX  32

const struct conform_rig *conform_rig;
struct conform_side conform_side[2];

static char why[RP_OPT_WHY_MAX];

struct rp_gid
conform_gid(unsigned int i, bool ipv6)
{
	static const char *const text[2][2] = {
		{"10.9.0.1", "10.9.0.2"}, {"fd00:9::1", "fd00:9::2"}};
	struct rp_gid gid = {{0}};

	UT_OK(rp_gid_parse(text[ipv6][i], &gid));
	return gid;
}

struct rp_port_conf
conform_port_conf(unsigned int i, const struct conform_opts *opts)
{
	struct rp_port_conf conf = {
		.device = conform_rig->device[i],
		.gid = conform_gid(i, opts->ipv6),
		.prefix_len = opts->ipv6 ? 64 : 24,
		.gid_index = -1,
		.port_num = 1,
		.rx_depth = opts->rx_depth,
		.max_peers = opts->max_peers,
		.numa_node = -1,
		.one_lcore = !opts->two_lcores,
	};

	conform_rig->conf(i, &conf);
	return conf;
}

static bool
open_qp(struct conform_side *side, enum rp_role role, uint32_t tx_depth)
{
	const struct rp_qp_conf conf = {
		.role = role,
		.qkey = role == RP_ROLE_PROBER ? RP_PROBER_QKEY : CONFORM_RESPONDER_QKEY,
		.tx_depth = tx_depth,
	};

	why[0] = '\0';
	return ut_check(side->port->ops->qp_open(side->port, &conf, &side->qp[role], why) == 0,
		__FILE__, __LINE__, "qp_open: %s", why);
}

static bool
open_side(unsigned int i, const struct conform_opts *opts)
{
	struct conform_side *side = &conform_side[i];
	struct rp_port_conf conf = conform_port_conf(i, opts);

	side->n = 0;
	why[0] = '\0';
	if (!ut_check(conform_rig->ops->open(&conf, &side->port, why) == 0, __FILE__, __LINE__,
		    "open: %s", why))
		return false;
	for (enum rp_role role = 0; role < RP_ROLE_N; role++)
		if (!open_qp(side, role, opts->tx_depth))
			return false;
	return true;
}

bool
conform_up(const struct conform_opts *opts)
{
	memset(conform_side, 0, sizeof(conform_side));
	conform_rig->up();
	for (unsigned int i = 0; i < 2; i++)
		if (!open_side(i, opts))
			return false;
	for (unsigned int i = 0; i < 2; i++) {
		struct conform_side *side = &conform_side[i];
		struct rp_gid other = conform_gid(1 - i, opts->ipv6);

		if (!UT_OK(side->port->ops->peer_open(side->port, &other, &side->peer)))
			return false;
	}
	for (size_t t = 0; t < TURNS_MAX &&
		!(rp_peer_is_ready(conform_side[0].peer) && rp_peer_is_ready(conform_side[1].peer));
		t++)
		conform_turn();
	return UT_TRUE(rp_peer_is_ready(conform_side[0].peer)) &&
		UT_TRUE(rp_peer_is_ready(conform_side[1].peer));
}

void
conform_down(void)
{
	for (unsigned int i = 0; i < 2; i++) {
		struct conform_side *side = &conform_side[i];

		if (side->port == NULL)
			continue;
		if (side->peer != NULL)
			side->port->ops->peer_close(side->port, side->peer);
		for (enum rp_role role = 0; role < RP_ROLE_N; role++)
			if (side->qp[role] != NULL)
				side->port->ops->qp_close(side->qp[role]);
		side->port->ops->close(side->port);
		side->port = NULL;
	}
	conform_rig->down();
}

static uint16_t
poll_side(struct conform_side *side, uint16_t max)
{
	size_t room = CONFORM_EVENTS - side->n;
	uint16_t got;

	got = rp_port_poll(side->port, &side->ev[side->n], (uint16_t)rp_min_u64(room, max));
	side->n += got;
	return got;
}

void
conform_turn_max(uint16_t max)
{
	for (unsigned int i = 0; i < 2; i++) {
		struct conform_side *side = &conform_side[i];

		if (side->qp[RP_ROLE_RESPONDER] != NULL)
			rp_qp_tx_burst(side->qp[RP_ROLE_RESPONDER], NULL, 0);
		poll_side(side, max);
	}
	conform_rig->step();
}

void
conform_turn(void)
{
	conform_turn_max(POLL_MAX);
}

size_t
conform_count(unsigned int i, enum rp_ev_kind kind)
{
	size_t count = 0;

	for (size_t k = 0; k < conform_side[i].n; k++)
		count += conform_side[i].ev[k].kind == kind;
	return count;
}

const struct rp_ev *
conform_nth(unsigned int i, enum rp_ev_kind kind, size_t nth)
{
	for (size_t k = 0; k < conform_side[i].n; k++)
		if (conform_side[i].ev[k].kind == kind && nth-- == 0)
			return &conform_side[i].ev[k];
	return NULL;
}

bool
conform_await(unsigned int i, enum rp_ev_kind kind, size_t n)
{
	size_t have = conform_count(i, kind);

	for (size_t t = 0; t < TURNS_MAX && have < n; t++) {
		size_t before = conform_side[i].n;

		conform_turn();
		for (size_t k = before; k < conform_side[i].n; k++)
			have += conform_side[i].ev[k].kind == kind;
	}
	return have >= n;
}

void
conform_settle(void)
{
	for (size_t t = 0; t < SETTLE; t++)
		conform_turn();
}

struct rp_tx
conform_probe(const uint8_t *payload, uint16_t len, uint64_t cookie)
{
	return (struct rp_tx){
		.peer = conform_side[0].peer,
		.payload = payload,
		.cookie = cookie,
		.qpn = conform_side[1].qp[RP_ROLE_RESPONDER]->qpn,
		.qkey = CONFORM_RESPONDER_QKEY,
		.flow_label = 0x12345,
		.len = len,
	};
}

struct stat_query {
	const char *name;
	uint64_t value;
	unsigned int found;
};

static void
stat_match(void *arg, const char *name, uint64_t value)
{
	struct stat_query *q = arg;

	if (strcmp(name, q->name) == 0) {
		q->value = value;
		q->found++;
	}
}

uint64_t
conform_stat(unsigned int i, const char *name)
{
	struct stat_query q = {name, 0, 0};
	struct rp_port *port = conform_side[i].port;

	port->ops->stats(port, stat_match, &q);
	ut_check(q.found == 1, __FILE__, __LINE__, "counter %s found %u times", name, q.found);
	return q.value;
}
