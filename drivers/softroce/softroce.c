/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <pthread.h>
#include <stdio.h>

#include <rte_malloc.h>

#include "rp_log.h"
#include "rp_opt.h"
#include "rp_rng.h"
#include "softroce_priv.h"

#define RP_LOG_COMPONENT "softroce"

/* 0 and 1 are special in InfiniBand, the last one is multicast; low ones are guessed. */
#define QPN_MIN   0x000100u
#define QPN_COUNT 0xFFFE00u

static int
probe(const char *device, struct rp_caps *ret_caps, char *why)
{
	uint16_t id;
	int rc = sr_ethdev_find(device, &id, why);

	if (rc != 0)
		return rc;
	*ret_caps = (struct rp_caps){
		.flags = RP_CAP_SPORT_PER_SEND,
		.max_payload_bytes = RP_PAYLOAD_LEN,
		.max_burst = SR_BURST,
	};
	return 0;
}

static int
check_conf(const struct rp_port_conf *conf, char *why)
{
	const char *bad = NULL;

	if (conf->clock == NULL)
		bad = "no host clock";
	else if (!rp_is_pow2(conf->rx_depth))
		bad = "rx_depth is not a power of two";
	else if (conf->rx_depth > SR_RX_DEPTH_MAX)
		bad = "rx_depth is over 32768";
	else if (conf->vlan > 4094)
		bad = "vlan is not 0 to 4094";
	if (bad == NULL)
		return 0;
	snprintf(why, RP_OPT_WHY_MAX, "port %s: %s", conf->device, bad);
	return -EINVAL;
}

static int
make_own_ring(struct sr_port *port, char *why)
{
	char name[RTE_RING_NAMESIZE];

	snprintf(name, sizeof(name), "sr%u_own", port->port_id);
	port->own_ring = rte_ring_create(name, SR_OWN_RING, port->socket_id,
		RING_F_SP_ENQ | RING_F_SC_DEQ | RING_F_EXACT_SZ);
	if (port->own_ring != NULL)
		return 0;
	snprintf(why, RP_OPT_WHY_MAX, "port %s: no memory for a ring", port->device);
	return -ENOMEM;
}

static void
port_free(struct sr_port *port)
{
	rte_ring_free(port->own_ring);
	sr_neigh_fini(port);
	pthread_mutex_destroy(&port->ethdev_lock);
	rte_free(port);
}

static int
port_open(const struct rp_port_conf *conf, struct rp_port **ret_port, char *why)
{
	static pthread_once_t crc_chosen = PTHREAD_ONCE_INIT;
	struct sr_port *port;
	uint16_t id;
	int rc, socket_id;

	pthread_once(&crc_chosen, sr_icrc_init);
	rc = check_conf(conf, why);
	if (rc == 0)
		rc = sr_ethdev_find(conf->device, &id, why);
	if (rc != 0)
		return rc;
	socket_id = rte_eth_dev_socket_id(id);
	port = rte_zmalloc_socket("sr_port", sizeof(*port), RTE_CACHE_LINE_SIZE, socket_id);
	if (port == NULL) {
		snprintf(why, RP_OPT_WHY_MAX, "port %s: no memory", conf->device);
		return -ENOMEM;
	}
	port->port_id = id;
	port->socket_id = socket_id;
	port->clock = conf->clock;
	port->vlan = conf->vlan;
	port->one_lcore = conf->one_lcore;
	port->link_fd = -1;
	pthread_mutex_init(&port->ethdev_lock, NULL);
	snprintf(port->device, sizeof(port->device), "%s", conf->device);
	port->base.poll = sr_poll;
	port->base.ops = &rp_softroce_ops;
	port->base.device = port->device;
	port->base.caps = (struct rp_caps){
		.flags = RP_CAP_SPORT_PER_SEND,
		.max_burst = SR_BURST,
		.rate = conf->clock->rate,
		.clock_error_ppb = conf->clock->error_ppb,
	};
	rc = sr_neigh_init(port, conf, why);
	if (rc == 0)
		rc = sr_ethdev_open(port, conf, why);
	if (rc == 0) {
		rc = make_own_ring(port, why);
		if (rc != 0)
			sr_ethdev_close(port);
	}
	if (rc != 0) {
		port_free(port);
		return rc;
	}
	*ret_port = &port->base;
	return 0;
}

static void
port_close(struct rp_port *base)
{
	struct sr_port *port = sr_port_of(base);
	void *m;

	while (rte_ring_sc_dequeue(port->own_ring, &m) == 0)
		rte_pktmbuf_free(m);
	sr_ethdev_close(port);
	port_free(port);
}

static struct rte_ring *
qp_ring(const struct sr_qp *qp, const char *what, unsigned int elem_size)
{
	const struct sr_port *port = sr_port_of(qp->base.port);
	char name[RTE_RING_NAMESIZE];

	snprintf(name, sizeof(name), "sr%u_%s%d", port->port_id, what, (int)qp->base.role);
	return rte_ring_create_elem(name, elem_size, qp->tx_depth, port->socket_id,
		RING_F_SP_ENQ | RING_F_SC_DEQ | RING_F_EXACT_SZ);
}

/* Random, so that a peer that restarted is not taken for its former self. */
static uint32_t
draw_qpn(const struct sr_port *port)
{
	uint32_t word, qpn;

	do {
		rp_random_bytes(&word, sizeof(word));
		qpn = QPN_MIN + word % QPN_COUNT;
	} while (qpn == port->key[RP_ROLE_PROBER].qpn || qpn == port->key[RP_ROLE_RESPONDER].qpn);
	return qpn;
}

static void
qp_free(struct sr_qp *qp)
{
	rte_ring_free(qp->done);
	rte_ring_free(qp->queue);
	rte_free(qp);
}

/* How the queue pair's frames reach the ethdev. */
static rp_tx_burst_fn
choose_path(const struct sr_port *port, enum rp_role role, bool *ret_queued, uint16_t *ret_txq)
{
	*ret_queued = role == RP_ROLE_PROBER && port->n_txq == 1 && !port->one_lcore;
	*ret_txq = role == RP_ROLE_PROBER && port->n_txq > 1 ? 1 : 0;
	if (role == RP_ROLE_RESPONDER)
		return sr_tx_responder;
	return *ret_queued ? sr_tx_queued : sr_tx_direct;
}

static int
check_qp(const struct sr_port *port, const struct rp_qp_conf *conf, char *why)
{
	if (conf->role >= RP_ROLE_N || !rp_is_pow2(conf->tx_depth) || conf->qkey >> 31 != 0) {
		snprintf(why, RP_OPT_WHY_MAX,
			"port %s: tx_depth is a power of two, and bit 31 of qkey is clear",
			port->device);
		return -EINVAL;
	}
	if (port->qp[conf->role] != NULL) {
		snprintf(why, RP_OPT_WHY_MAX, "port %s: the role has its queue pair", port->device);
		return -EBUSY;
	}
	return 0;
}

static int
qp_open(struct rp_port *base, const struct rp_qp_conf *conf, struct rp_qp **ret_qp, char *why)
{
	struct sr_port *port = sr_port_of(base);
	struct sr_qp *qp;
	bool queued;
	int rc = check_qp(port, conf, why);

	if (rc != 0)
		return rc;
	qp = rte_zmalloc_socket("sr_qp", sizeof(*qp), RTE_CACHE_LINE_SIZE, port->socket_id);
	if (qp == NULL)
		goto no_memory;
	qp->base.port = base;
	qp->base.role = conf->role;
	qp->base.qkey = conf->qkey;
	qp->base.qpn = draw_qpn(port);
	qp->base.tx_burst = choose_path(port, conf->role, &queued, &qp->txq);
	qp->tx_depth = conf->tx_depth;
	qp->done = qp_ring(qp, "done", sizeof(struct sr_done));
	if (queued)
		qp->queue = qp_ring(qp, "queue", sizeof(struct sr_queued));
	if (qp->done == NULL || (queued && qp->queue == NULL)) {
		qp_free(qp);
		goto no_memory;
	}
	port->key[conf->role] = (struct sr_rx_key){qp->base.qpn, qp->base.qkey};
	port->qp[conf->role] = qp;
	*ret_qp = &qp->base;
	return 0;
no_memory:
	snprintf(why, RP_OPT_WHY_MAX, "port %s: no memory for a queue of %u", port->device,
		conf->tx_depth);
	return -ENOMEM;
}

struct counter_row {
	const char *name;
	size_t offset; /* in struct sr_port or struct sr_qp */
	size_t closed; /* qp_rows: of its sum over closed queue pairs, in struct sr_port */
};

static const struct counter_row qp_rows[] = {
#define X(field)                                                                                   \
	{#field, offsetof(struct sr_qp, owner.field), offsetof(struct sr_port, closed_owner.field)},
	SR_OWNER_COUNTERS(X)
#undef X
#define X(field)                                                                                   \
	{#field, offsetof(struct sr_qp, sender.field),                                             \
		offsetof(struct sr_port, closed_sender.field)},
		SR_SENDER_COUNTERS(X)
#undef X
};

static const struct counter_row port_rows[] = {
#define X(field) {#field, offsetof(struct sr_port, responder.field), 0},
	SR_RESPONDER_COUNTERS(X)
#undef X
#define X(field) {#field, offsetof(struct sr_port, cq.field), 0},
		SR_CQ_COUNTERS(X)
#undef X
};

static sr_counter *
counter_at(void *object, size_t offset)
{
	return (sr_counter *)(void *)((char *)object + offset);
}

static uint64_t
read_counter(void *object, size_t offset)
{
	return atomic_load_explicit(counter_at(object, offset), memory_order_relaxed);
}

/* Counters never fall: what the queue pair counted stays with the port. */
static void
retire_counters(struct sr_port *port, struct sr_qp *qp)
{
	for (size_t i = 0; i < RP_ARRAY_LEN(qp_rows); i++)
		sr_count(counter_at(port, qp_rows[i].closed), read_counter(qp, qp_rows[i].offset));
}

/* Frames that the responder has not handed over are given up. */
static void
free_queued(struct sr_port *port, struct sr_qp *qp)
{
	struct sr_backlog *b = &port->backlog;
	struct sr_queued q;

	while (b->at < b->n)
		rte_pktmbuf_free(b->q[b->at++].m);
	while (rte_ring_sc_dequeue_elem(qp->queue, &q, sizeof(q)) == 0)
		rte_pktmbuf_free(q.m);
}

static void
qp_close(struct rp_qp *base)
{
	struct sr_qp *qp = sr_qp_of(base);
	struct sr_port *port = sr_port_of(base->port);

	port->key[base->role] = (struct sr_rx_key){0, 0};
	port->qp[base->role] = NULL;
	if (qp->queue != NULL)
		free_queued(port, qp);
	retire_counters(port, qp);
	qp_free(qp);
}

static void
emit_qps(struct sr_port *port, rp_stat_fn emit, void *arg)
{
	for (size_t i = 0; i < RP_ARRAY_LEN(qp_rows); i++) {
		uint64_t sum = read_counter(port, qp_rows[i].closed);

		for (enum rp_role role = 0; role < RP_ROLE_N; role++)
			if (port->qp[role] != NULL)
				sum += read_counter(port->qp[role], qp_rows[i].offset);
		emit(arg, qp_rows[i].name, sum);
	}
}

static void
emit_port(struct sr_port *port, rp_stat_fn emit, void *arg)
{
	static const char *const verdict[] = {
#define X(sym, name) "drop_" name,
		RP_ROCE_VERDICTS(X)
#undef X
	};

	for (size_t i = 0; i < RP_ARRAY_LEN(port_rows); i++)
		emit(arg, port_rows[i].name, read_counter(port, port_rows[i].offset));
	for (size_t i = RP_ROCE_OK + 1; i < RP_ARRAY_LEN(verdict); i++)
		emit(arg, verdict[i], read_counter(&port->cq.verdict[i], 0));
}

/* Some drivers extend their counters as they are read: one reader at a time. */
static void
emit_ethdev(struct sr_port *port, rp_stat_fn emit, void *arg)
{
	struct rte_eth_stats eth = {0};
	int rc;

	pthread_mutex_lock(&port->ethdev_lock);
	rc = rte_eth_stats_get(port->port_id, &eth);
	pthread_mutex_unlock(&port->ethdev_lock);
	if (rc != 0)
		return;
	emit(arg, "rx_missed", eth.imissed);
	emit(arg, "rx_no_buffer", eth.rx_nombuf);
	emit(arg, "ethdev_rx_errors", eth.ierrors);
	emit(arg, "ethdev_tx_errors", eth.oerrors);
}

/* Once per rise, by whichever reader saw it first. */
static void
log_conflicts(struct sr_port *port)
{
	uint64_t n = read_counter(&port->cq.address_conflicts, 0);
	uint64_t logged = atomic_load_explicit(&port->conflicts_logged, memory_order_relaxed);
	char own[RP_GID_TEXT_MAX];

	if (n <= logged || !atomic_compare_exchange_strong(&port->conflicts_logged, &logged, n))
		return;
	rp_log_rl(RP_LOG_WARN, "port %s: another station uses or wants our address %s (%llu times)",
		port->device, rp_gid_format_ip(&port->base.gid, own), (unsigned long long)n);
}

static void
stats(struct rp_port *base, rp_stat_fn emit, void *arg)
{
	struct sr_port *port = sr_port_of(base);

	emit_qps(port, emit, arg);
	emit_port(port, emit, arg);
	emit_ethdev(port, emit, arg);
	log_conflicts(port);
}

/* Also tells the senders: what a dead port swallows is not loss in the fabric. */
static bool
link_up(struct rp_port *base)
{
	struct sr_port *port = sr_port_of(base);
	bool up = sr_ethdev_link_up(port);

	atomic_store_explicit(&port->link_down, !up, memory_order_relaxed);
	return up;
}

const struct rp_transport_ops rp_softroce_ops = {
	.name = "softroce",
	.probe = probe,
	.open = port_open,
	.close = port_close,
	.qp_open = qp_open,
	.qp_close = qp_close,
	.peer_open = sr_peer_open,
	.peer_close = sr_peer_close,
	.peer_refresh = sr_peer_refresh,
	.stats = stats,
	.link_up = link_up,
};
