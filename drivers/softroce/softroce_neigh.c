/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Next hops. Control makes and removes neighbours and peers, the CQ lcore looks
 * them up and learns addresses. A chain is only ever changed by one store, so that
 * a reader sees it before or after; what was unlinked is used again only when the
 * CQ lcore has left the neighbours since (quiesce()).
 *
 * The timers walk the neighbours there are, a few per poll, from when the earliest
 * is due. Whatever makes one due earlier, or moves it in the list, asks for a walk.
 */

#include <errno.h>
#include <sched.h>
#include <stdio.h>

#include <rte_malloc.h>

#include "rp_be.h"
#include "rp_log.h"
#include "rp_opt.h"
#include "softroce_priv.h"

#define RP_LOG_COMPONENT "softroce"

#define SCAN_PERIOD_MS   10
#define SCAN_LATE_MS     100
#define SCAN_PACE_SHIFT  8 /* a period more for each so many neighbours */
#define BACKOFF_FIRST_S  1
#define BACKOFF_MAX_S    30
#define REFRESH_MIN_S    30
#define REFRESH_SPREAD_S 30
#define HINT_EVERY_S     1
#define ANNOUNCES        3
#define ANNOUNCE_EVERY_S 1

static uint64_t
ticks_of_s(const struct sr_port *port, uint64_t s)
{
	return port->clock->rate.hz * s;
}

static void
enter(struct sr_port *port)
{
	uint32_t turn = atomic_load_explicit(&port->in_neigh, memory_order_relaxed);

	atomic_store_explicit(&port->in_neigh, turn + 1, memory_order_relaxed);
	/* pairs with the fence in quiesce(): either it sees us, or we see its unlinking */
	atomic_thread_fence(memory_order_seq_cst);
}

static void
leave(struct sr_port *port)
{
	uint32_t turn = atomic_load_explicit(&port->in_neigh, memory_order_relaxed);

	atomic_store_explicit(&port->in_neigh, turn + 1, memory_order_release);
}

/* Until no walk that began before is under way. */
static void
quiesce(struct sr_port *port)
{
	uint32_t turn;

	atomic_thread_fence(memory_order_seq_cst);
	turn = atomic_load_explicit(&port->in_neigh, memory_order_acquire);
	while ((turn & 1) != 0 &&
		atomic_load_explicit(&port->in_neigh, memory_order_acquire) == turn)
		sched_yield();
}

static _Atomic(struct sr_neigh *) *
bucket_of(struct sr_port *port, const struct rp_gid *ip)
{
	return &port->bucket[rp_gid_hash(ip, 0) & port->bucket_mask];
}

static struct sr_neigh *
neigh_find(struct sr_port *port, const struct rp_gid *ip)
{
	struct sr_neigh *neigh = atomic_load_explicit(bucket_of(port, ip), memory_order_acquire);

	while (neigh != NULL && !rp_gid_equal(&neigh->ip, ip))
		neigh = atomic_load_explicit(&neigh->next, memory_order_acquire);
	return neigh;
}

/* release: the walk that sees this sees what it is wanted for */
static void
want_scan(struct sr_port *port)
{
	atomic_store_explicit(&port->scan_asked, true, memory_order_release);
}

static void
ask_for(struct sr_port *port, struct sr_neigh *neigh)
{
	atomic_store_explicit(&neigh->ask, true, memory_order_relaxed);
	want_scan(port);
}

static void
activate(struct sr_port *port, struct sr_neigh *neigh)
{
	neigh->at = atomic_load_explicit(&port->n_active, memory_order_relaxed);
	atomic_store_explicit(&port->active[neigh->at], neigh, memory_order_relaxed);
	atomic_store_explicit(&port->n_active, neigh->at + 1, memory_order_release);
}

/* The last takes its place. A walk under way may miss that one: it gets another. */
static void
deactivate(struct sr_port *port, struct sr_neigh *neigh)
{
	uint32_t end = atomic_load_explicit(&port->n_active, memory_order_relaxed) - 1;
	struct sr_neigh *last = atomic_load_explicit(&port->active[end], memory_order_relaxed);

	last->at = neigh->at;
	atomic_store_explicit(&port->active[neigh->at], last, memory_order_release);
	atomic_store_explicit(&port->n_active, end, memory_order_release);
	want_scan(port);
}

/* One per peer is enough: they cannot run out before the peers do. */
static struct sr_neigh *
neigh_make(struct sr_port *port, const struct rp_gid *ip)
{
	_Atomic(struct sr_neigh *) *bucket = bucket_of(port, ip);
	struct sr_neigh *neigh = port->free_neigh;

	port->free_neigh = neigh->next_free;
	neigh->ip = *ip;
	neigh->backoff_s = BACKOFF_FIRST_S;
	neigh->asked = (struct rp_tsc){0};
	atomic_store_explicit(&neigh->mac, 0, memory_order_relaxed);
	atomic_store_explicit(&neigh->peers, NULL, memory_order_relaxed);
	atomic_store_explicit(&neigh->next, atomic_load_explicit(bucket, memory_order_relaxed),
		memory_order_relaxed);
	atomic_store_explicit(bucket, neigh, memory_order_release);
	atomic_store_explicit(&neigh->ask, true, memory_order_relaxed);
	activate(port, neigh);
	want_scan(port);
	return neigh;
}

static void
neigh_drop(struct sr_port *port, struct sr_neigh *neigh)
{
	_Atomic(struct sr_neigh *) *link = bucket_of(port, &neigh->ip);

	if (--neigh->refs > 0)
		return;
	while (atomic_load_explicit(link, memory_order_relaxed) != neigh)
		link = &atomic_load_explicit(link, memory_order_relaxed)->next;
	deactivate(port, neigh);
	atomic_store_explicit(link, atomic_load_explicit(&neigh->next, memory_order_relaxed),
		memory_order_release);
	quiesce(port);
	neigh->next_free = port->free_neigh;
	port->free_neigh = neigh;
}

/* On the link itself, or through the gateway. */
static int
next_hop(const struct sr_port *port, const struct rp_gid *gid, struct rp_gid *ret_hop)
{
	char peer[RP_GID_TEXT_MAX], own[RP_GID_TEXT_MAX];

	if (rp_gid_is_link_local(gid) || port->prefix_len == 0 ||
		rp_gid_same_prefix(gid, &port->base.gid, port->prefix_len)) {
		*ret_hop = *gid;
		return 0;
	}
	if (rp_gid_is_zero(&port->gateway)) {
		rp_warn("port %s: %s lies outside of %s/%u and no gateway is set", port->device,
			rp_gid_format_ip(gid, peer), rp_gid_format_ip(&port->base.gid, own),
			port->prefix_len);
		return -EHOSTUNREACH;
	}
	*ret_hop = port->gateway;
	return 0;
}

static void
make_template(const struct sr_port *port, struct sr_peer *peer)
{
	const struct rp_roce_fields fields = {
		.src_mac = {port->mac[0], port->mac[1], port->mac[2], port->mac[3], port->mac[4],
			port->mac[5]},
		.vlan_tci = port->vlan == 0 ? RP_ROCE_NO_VLAN : port->vlan,
		.src = port->base.gid,
		.dst = peer->base.gid,
		.hop_limit = SR_HOP_LIMIT,
		.sport = RP_ROCE_SPORT_MIN,
		.opcode = RP_ROCE_OP_UD_SEND,
		.migreq = true,
		.pkey = RP_ROCE_PKEY_DEFAULT,
	};
	uint8_t *l3;

	memset(peer->hdr, 0, sizeof(peer->hdr));
	rp_roce_build_headers(peer->hdr, &fields, 0);
	peer->l3_off = RP_ROCE_ETH_LEN + (port->vlan == 0 ? 0 : RP_ROCE_VLAN_LEN);
	peer->is_ipv6 = port->is_ipv6;
	peer->ip_sum = 0;
	if (port->is_ipv6)
		return;
	l3 = peer->hdr + peer->l3_off;
	rp_store_be16(l3 + 2, 0);
	rp_store_be16(l3 + 10, 0);
	for (size_t i = 0; i < RP_ROCE_IPV4_LEN; i += 2)
		peer->ip_sum += rp_load_be16(l3 + i);
}

static void
link_peer(struct sr_neigh *neigh, struct sr_peer *peer)
{
	struct sr_peer *first = atomic_load_explicit(&neigh->peers, memory_order_relaxed);

	peer->link = &neigh->peers;
	atomic_store_explicit(&peer->next, first, memory_order_relaxed);
	if (first != NULL)
		first->link = &peer->next;
	atomic_store_explicit(&neigh->peers, peer, memory_order_seq_cst);
}

static void
unlink_peer(struct sr_peer *peer)
{
	struct sr_peer *next = atomic_load_explicit(&peer->next, memory_order_relaxed);

	if (next != NULL)
		next->link = peer->link;
	atomic_store_explicit(peer->link, next, memory_order_release);
}

static void
attach(struct sr_port *port, struct sr_peer *peer, const struct rp_gid *hop)
{
	struct sr_neigh *neigh = neigh_find(port, hop);

	if (neigh == NULL)
		neigh = neigh_make(port, hop);
	neigh->refs++;
	peer->neigh = neigh;
	link_peer(neigh, peer);
	/*
	 * seq_cst with the store in link_peer(), as the pair in sr_neigh_learn(): an address that arrives just now
	 * is seen here, or its learning sees the peer. Both is fine.
	 */
	if (atomic_load_explicit(&neigh->mac, memory_order_seq_cst) != 0)
		atomic_store_explicit(&peer->base.ready, 1, memory_order_release);
}

int
sr_peer_open(struct rp_port *base, const struct rp_gid *gid, struct rp_peer **ret_peer)
{
	struct sr_port *port = sr_port_of(base);
	struct sr_peer *peer = port->free_peer;
	struct rp_gid hop;
	int rc;

	if (!rp_gid_is_unicast(gid) || rp_gid_equal(gid, &base->gid) ||
		rp_gid_is_ipv4(gid) == port->is_ipv6)
		return -EINVAL;
	rc = next_hop(port, gid, &hop);
	if (rc != 0)
		return rc;
	if (peer == NULL)
		return -ENOSPC;
	port->free_peer = peer->next_free;
	peer->base.gid = *gid;
	atomic_store_explicit(&peer->base.ready, 0, memory_order_relaxed);
	make_template(port, peer);
	attach(port, peer, &hop);
	*ret_peer = &peer->base;
	return 0;
}

void
sr_peer_close(struct rp_port *base, struct rp_peer *base_peer)
{
	struct sr_port *port = sr_port_of(base);
	struct sr_peer *peer = rp_container_of(base_peer, struct sr_peer, base);

	unlink_peer(peer);
	quiesce(port);
	neigh_drop(port, peer->neigh);
	peer->next_free = port->free_peer;
	port->free_peer = peer;
}

void
sr_peer_refresh(struct rp_port *base, struct rp_peer *peer)
{
	ask_for(sr_port_of(base), rp_container_of(peer, struct sr_peer, base)->neigh);
}

void
sr_neigh_learn(struct sr_port *port, const struct rp_gid *ip, const uint8_t mac[6], bool may_move,
	struct rp_tsc now)
{
	uint64_t old, new = sr_mac_pack(mac).v;
	struct sr_neigh *neigh;
	struct sr_peer *peer;

	enter(port);
	neigh = neigh_find(port, ip);
	if (neigh == NULL)
		goto out;
	old = atomic_load_explicit(&neigh->mac, memory_order_relaxed);
	if (old != 0 && old != new && !may_move)
		goto out;
	neigh->backoff_s = BACKOFF_FIRST_S;
	neigh->due = rp_tsc_add(now,
		ticks_of_s(port, REFRESH_MIN_S) +
			rp_rng_below(&port->rng, ticks_of_s(port, REFRESH_SPREAD_S)));
	if (old == new)
		goto out;
	sr_count(old == 0 ? &port->cq.neigh_resolved : &port->cq.neigh_moved, 1);
	atomic_store_explicit(&neigh->mac, new, memory_order_seq_cst);
	if (old != 0)
		goto out;
	peer = atomic_load_explicit(&neigh->peers, memory_order_seq_cst);
	for (; peer != NULL; peer = atomic_load_explicit(&peer->next, memory_order_acquire))
		atomic_store_explicit(&peer->base.ready, 1, memory_order_release);
out:
	leave(port);
}

void
sr_neigh_hint(
	struct sr_port *port, const struct rp_gid *ip, const uint8_t mac[6], struct rp_tsc now)
{
	struct sr_neigh *neigh;

	enter(port);
	neigh = neigh_find(port, ip);
	/* Not more than once a second, or frames of others would make us flood the link. */
	if (neigh != NULL &&
		atomic_load_explicit(&neigh->mac, memory_order_relaxed) != sr_mac_pack(mac).v &&
		rp_tsc_since(neigh->asked, now) >= ticks_of_s(port, HINT_EVERY_S))
		ask_for(port, neigh);
	leave(port);
}

static void
note_due(struct sr_port *port, struct rp_tsc due)
{
	if (rp_tsc_before(due, port->next_due))
		port->next_due = due;
}

static bool
is_due(const struct sr_neigh *neigh, struct rp_tsc now)
{
	return atomic_load_explicit(&neigh->ask, memory_order_relaxed) ||
		!rp_tsc_before(now, neigh->due);
}

/* @return false when no buffer is left */
static bool
ask(struct sr_port *port, struct sr_neigh *neigh, struct rp_tsc now)
{
	if (!sr_own_ask(port, &neigh->ip))
		return false;
	atomic_store_explicit(&neigh->ask, false, memory_order_relaxed);
	sr_count(&port->cq.neigh_requests, 1);
	neigh->asked = now;
	neigh->due = rp_tsc_add(now, ticks_of_s(port, neigh->backoff_s));
	neigh->backoff_s = (uint32_t)rp_min_u64(2 * neigh->backoff_s, BACKOFF_MAX_S);
	return true;
}

/*
 * Many neighbours are walked less often: what is due is seconds apart, and what
 * was asked for begins a walk of its own.
 */
static void
end_scan(struct sr_port *port, struct rp_tsc now, uint32_t n)
{
	uint64_t pause = port->scan_period * (1 + (n >> SCAN_PACE_SHIFT));

	if (port->announces_left > 0)
		note_due(port, port->announce_due);
	port->scan_due = rp_tsc_add(now, pause);
	if (rp_tsc_before(port->scan_due, port->next_due))
		port->scan_due = port->next_due;
	port->scanning = false;
}

/* SR_SCAN_CHUNK neighbours, up to the first that is asked. */
static void
scan(struct sr_port *port, struct rp_tsc now)
{
	bool asked = false;
	uint32_t n;

	enter(port);
	/* acquire: pairs with activate() */
	n = atomic_load_explicit(&port->n_active, memory_order_acquire);
	for (unsigned int i = 0; i < SR_SCAN_CHUNK && port->scan_at < n && !asked; i++) {
		struct sr_neigh *neigh =
			atomic_load_explicit(&port->active[port->scan_at], memory_order_acquire);

		asked = is_due(neigh, now);
		if (asked && !ask(port, neigh, now))
			break;
		note_due(port, neigh->due);
		port->scan_at++;
	}
	leave(port);
	if (port->scan_at >= n)
		end_scan(port, now, n);
}

/* @return true when it sent a frame */
static bool
announce_if_due(struct sr_port *port, struct rp_tsc now)
{
	if (port->announces_left == 0 || rp_tsc_before(now, port->announce_due) ||
		!sr_own_announce(port))
		return false;
	port->announces_left--;
	port->announce_due = rp_tsc_add(now, ticks_of_s(port, ANNOUNCE_EVERY_S));
	return true;
}

/* On an idle poll, or when none was idle for long. */
static bool
may_scan(struct sr_port *port, struct rp_tsc now, bool busy, bool asked)
{
	if (!port->scanning && !asked && rp_tsc_before(now, port->scan_due))
		return false;
	if (!port->scanning && !port->scan_wanted) {
		port->scan_wanted = true;
		port->scan_late = rp_tsc_add(now, port->scan_patience);
	}
	return !busy || !rp_tsc_before(now, port->scan_late);
}

static void
begin_scan(struct sr_port *port, struct rp_tsc now)
{
	port->scanning = true;
	port->scan_wanted = false;
	port->scan_at = 0;
	port->next_due = rp_tsc_add(now, ticks_of_s(port, BACKOFF_MAX_S));
}

void
sr_neigh_turn(struct sr_port *port, struct rp_tsc now, bool busy)
{
	bool asked = atomic_load_explicit(&port->scan_asked, memory_order_relaxed);

	if (rp_likely(!may_scan(port, now, busy, asked)))
		return;
	if (!port->scanning) {
		/* One operation, and acquire: a flag set before it is seen by this walk. */
		if (asked)
			atomic_exchange_explicit(&port->scan_asked, false, memory_order_acq_rel);
		begin_scan(port, now);
		if (announce_if_due(port, now))
			return;
	}
	scan(port, now);
}

static int
check_addresses(const struct rp_port_conf *conf, char *why)
{
	unsigned int bits = rp_gid_is_ipv4(&conf->gid) ? 32 : 128;
	const char *bad = NULL;

	if (!rp_gid_is_unicast(&conf->gid))
		bad = "its address is not a unicast one: softroce owns an address of its own, "
		      "set it in the configuration";
	else if (conf->prefix_len > bits)
		bad = "the prefix is longer than the address";
	else if (conf->max_peers == 0)
		bad = "max_peers is 0";
	else if (rp_gid_is_zero(&conf->gateway))
		return 0;
	else if (!rp_gid_is_unicast(&conf->gateway) || rp_gid_equal(&conf->gateway, &conf->gid) ||
		rp_gid_is_ipv4(&conf->gateway) != rp_gid_is_ipv4(&conf->gid))
		bad = "the gateway is not another unicast address of the same family";
	else if (!rp_gid_is_link_local(&conf->gateway) &&
		!rp_gid_same_prefix(&conf->gateway, &conf->gid, conf->prefix_len))
		bad = "the gateway lies outside of the address's prefix";
	if (bad == NULL)
		return 0;
	snprintf(why, RP_OPT_WHY_MAX, "port %s: %s", conf->device, bad);
	return -EINVAL;
}

/* As many buckets as peers, so that a chain is short. */
static int
make_tables(struct sr_port *port)
{
	uint32_t n = port->n_peers, n_buckets = rte_align32pow2(n);

	port->neigh = rte_calloc_socket(
		"sr_neigh", n, sizeof(*port->neigh), RTE_CACHE_LINE_SIZE, port->socket_id);
	port->peer = rte_calloc_socket(
		"sr_peer", n, sizeof(*port->peer), RTE_CACHE_LINE_SIZE, port->socket_id);
	port->active = rte_calloc_socket(
		"sr_active", n, sizeof(*port->active), RTE_CACHE_LINE_SIZE, port->socket_id);
	port->bucket = rte_calloc_socket("sr_bucket", n_buckets, sizeof(*port->bucket),
		RTE_CACHE_LINE_SIZE, port->socket_id);
	if (port->neigh == NULL || port->peer == NULL || port->active == NULL ||
		port->bucket == NULL)
		return -ENOMEM;
	port->bucket_mask = n_buckets - 1;
	while (n-- > 0) {
		port->neigh[n].next_free = port->free_neigh;
		port->free_neigh = &port->neigh[n];
		port->peer[n].next_free = port->free_peer;
		port->free_peer = &port->peer[n];
	}
	return 0;
}

int
sr_neigh_init(struct sr_port *port, const struct rp_port_conf *conf, char *why)
{
	uint64_t seed;
	int rc = check_addresses(conf, why);

	if (rc != 0)
		return rc;
	port->base.gid = conf->gid;
	port->is_ipv6 = !rp_gid_is_ipv4(&conf->gid);
	port->prefix_len = conf->prefix_len;
	port->gateway = conf->gateway;
	port->n_peers = conf->max_peers;
	port->announces_left = ANNOUNCES;
	port->scan_period = rp_rate_to_ticks(&port->clock->rate, SCAN_PERIOD_MS * RP_NS_PER_MS);
	port->scan_patience = rp_rate_to_ticks(&port->clock->rate, SCAN_LATE_MS * RP_NS_PER_MS);
	rp_random_bytes(&seed, sizeof(seed));
	rp_rng_init(&port->rng, seed);
	sr_own_init(port);
	rc = make_tables(port);
	if (rc != 0)
		snprintf(why, RP_OPT_WHY_MAX,
			"port %s: no memory for %u peers: lower max_peers or give EAL more memory",
			conf->device, conf->max_peers);
	return rc;
}

void
sr_neigh_fini(struct sr_port *port)
{
	rte_free(port->neigh);
	rte_free(port->peer);
	rte_free(port->active);
	rte_free(port->bucket);
}
