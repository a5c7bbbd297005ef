/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "loop_priv.h"
#include "rp_flow.h"
#include "rp_opt.h"
#include "rp_roce.h"

#define DEVICE_PREFIX "loop"
#define MAX_BURST     64

/* The completion of one send; a refused one says why in @status. */
static void
complete(struct loop_qp *qp, struct loop_item *item, const struct rp_tx *tx, uint8_t status,
	const struct rp_loop_action *action)
{
	struct loop_port *port = loop_port_of(qp->base.port);
	int64_t now_ns = port->fabric->now_ns;
	struct rp_ev *ev = &item->ev;

	item->owner = qp;
	item->at_ns = now_ns + action->done_delay_ns;
	ev->kind = status == 0 ? RP_EV_TX_DONE : RP_EV_TX_ERR;
	ev->status = status;
	ev->role = (uint8_t)qp->base.role;
	ev->cookie = tx->cookie;
	ev->host.ticks = loop_clock_at(&port->host, now_ns);
	if (status != 0) {
		port->stats.tx_errors++;
	} else {
		ev->stamp.ticks = loop_clock_at(&port->nic, now_ns);
		port->stats.tx_frames++;
	}
	if (action->no_tx_stamp || status != 0)
		ev->flags = RP_EV_F_NO_STAMP;
	loop_schedule(port->fabric, item);
}

static uint8_t
refuse(const struct loop_port *port, const struct rp_tx *tx)
{
	if (tx->len == 0 || tx->len > port->base.caps.max_payload_bytes)
		return RP_TX_REFUSED_LENGTH;
	if (!rp_peer_is_ready(tx->peer))
		return RP_TX_REFUSED_PEER;
	if (!port->link_up)
		return RP_TX_REFUSED_LINK;
	return 0;
}

static void
send_one(struct loop_qp *qp, struct loop_item *completion, const struct rp_tx *tx)
{
	struct loop_port *port = loop_port_of(qp->base.port);
	struct rp_loop_fabric *fabric = port->fabric;
	struct rp_loop_action action = {0};
	uint8_t status = refuse(port, tx);

	if (status == 0 && fabric->filter != NULL) {
		const struct rp_loop_dgram dgram = {
			.src = &port->base.gid,
			.dst = &tx->peer->gid,
			.sport = rp_flow_sport(tx->flow_label),
			.src_qpn = qp->base.qpn,
			.dst_qpn = tx->qpn,
			.payload = tx->payload,
			.len = tx->len,
		};

		fabric->filter(fabric->filter_arg, &dgram, &action);
		if (action.tx_error)
			status = action.tx_status == 0 ? 1 : action.tx_status;
	}
	complete(qp, completion, tx, status, &action);
	if (status == 0)
		loop_transmit(qp, tx, &action);
}

static uint16_t
tx_burst(struct rp_qp *base, const struct rp_tx *tx, uint16_t n)
{
	struct loop_qp *qp = rp_container_of(base, struct loop_qp, base);
	struct loop_port *port = loop_port_of(base->port);
	uint16_t i;

	for (i = 0; i < n; i++) {
		struct loop_item *completion;

		if (qp->in_flight == qp->tx_depth)
			break;
		completion = loop_item_get(port->fabric);
		if (completion == NULL)
			break;
		qp->in_flight++;
		send_one(qp, completion, &tx[i]);
	}
	port->stats.tx_full += (uint64_t)(n - i);
	return i;
}

static void
resolve_peers(struct loop_port *port)
{
	struct rp_loop_fabric *fabric = port->fabric;

	for (uint32_t i = 0; i < port->n_peers; i++) {
		struct loop_peer *peer = &port->peer[i];
		struct loop_port *other;

		if (!peer->used || rp_peer_is_ready(&peer->base) ||
			fabric->now_ns - peer->opened_ns < fabric->resolve_ns)
			continue;
		other = loop_port_find(fabric, &peer->base.gid);
		if (other == NULL || !other->link_up || !port->link_up)
			continue;
		atomic_store_explicit(&peer->base.ready, 1, memory_order_release);
		port->n_unready--;
	}
}

static uint16_t
poll(struct rp_port *base, struct rp_ev *ev, uint16_t n)
{
	struct loop_port *port = loop_port_of(base);
	int64_t now_ns = port->fabric->now_ns;
	struct rp_tsc host = {loop_clock_at(&port->host, now_ns)};
	uint16_t got = 0;

	loop_deliver_due(port->fabric);
	if (port->n_unready > 0)
		resolve_peers(port);
	for (; got < n && port->head != NULL; got++) {
		struct loop_item *item = port->head;

		port->head = item->next;
		if (port->head == NULL)
			port->tail = &port->head;
		ev[got] = item->ev;
		if (item->owner != NULL) {
			item->owner->in_flight--;
		} else {
			port->rx_waiting--;
			ev[got].host = host;
			if (port->software_stamps)
				ev[got].stamp.ticks = loop_clock_at(&port->nic, now_ns);
		}
		loop_item_put(port->fabric, item);
	}
	for (uint16_t i = 0; i < got; i++)
		ev[i].burst = got;
	return got;
}

static struct rp_caps
caps_of(const struct rp_loop_clock *nic, bool software_stamps)
{
	struct rp_caps caps = {
		.flags = RP_CAP_SPORT_PER_SEND | RP_CAP_CLOCK_READ | RP_CAP_EVENT_FD |
			RP_CAP_VIRTUAL_TIME,
		.max_payload_bytes = RP_ROCE_PAYLOAD_MAX,
		.max_burst = MAX_BURST,
		.rate = rp_rate_make(nic->hz, nic->bits),
		.clock_error_ppb = (uint32_t)abs(nic->skew_ppb),
	};

	if (!software_stamps)
		caps.flags |= RP_CAP_HW_TX_STAMP | RP_CAP_HW_RX_STAMP;
	return caps;
}

static struct rp_loop_clock
clock_with_defaults(struct rp_loop_clock clock)
{
	if (clock.hz == 0)
		clock.hz = (uint64_t)RP_NS_PER_S;
	if (clock.bits == 0)
		clock.bits = 64;
	return clock;
}

static int
probe(const char *device, struct rp_caps *ret_caps, char *why)
{
	if (strncmp(device, DEVICE_PREFIX, strlen(DEVICE_PREFIX)) != 0) {
		snprintf(why, RP_OPT_WHY_MAX, "%s is not a loop device: names start with \"%s\"",
			device, DEVICE_PREFIX);
		return -ENODEV;
	}
	*ret_caps = caps_of(&(struct rp_loop_clock){(uint64_t)RP_NS_PER_S, 64, 0, 0}, false);
	return 0;
}

static int
check_conf(const struct rp_port_conf *conf, char *why)
{
	const struct rp_loop_conf *loop = conf->driver_data;
	const char *bad = NULL;

	if (loop == NULL || loop->fabric == NULL)
		bad = "driver_data holds no fabric";
	else if (conf->clock == NULL)
		bad = "no host clock";
	else if (!rp_gid_is_unicast(&conf->gid))
		bad = "its address is not a unicast one";
	else if (!rp_is_pow2(conf->rx_depth))
		bad = "rx_depth is not a power of two";
	else if (conf->max_peers == 0)
		bad = "max_peers is 0";
	else if (loop->nic.bits != 0 && (loop->nic.bits < 32 || loop->nic.bits > 64))
		bad = "clock bits are not 32 to 64";
	if (bad != NULL) {
		snprintf(why, RP_OPT_WHY_MAX, "%s: %s", conf->device, bad);
		return -EINVAL;
	}
	if (loop_port_find(loop->fabric, &conf->gid) != NULL) {
		snprintf(why, RP_OPT_WHY_MAX, "%s: the fabric has a port with this address",
			conf->device);
		return -EADDRINUSE;
	}
	return 0;
}

static void
port_free(struct loop_port *port)
{
	if (port->event_fd >= 0)
		close(port->event_fd);
	free(port->peer);
	free(port);
}

static int
port_open(const struct rp_port_conf *conf, struct rp_port **ret_port, char *why)
{
	const struct rp_loop_conf *loop = conf->driver_data;
	struct loop_port *port;
	int rc = check_conf(conf, why);

	if (rc != 0)
		return rc;
	port = aligned_alloc(RP_CACHE_LINE, sizeof(*port));
	if (port == NULL)
		return -ENOMEM;
	*port = (struct loop_port){
		.fabric = loop->fabric,
		.nic = clock_with_defaults(loop->nic),
		.host = loop->host,
		.software_stamps = loop->software_stamps,
		.link_up = true,
		.event_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC | EFD_SEMAPHORE),
		.rx_depth = conf->rx_depth,
		.n_peers = conf->max_peers,
	};
	port->peer = calloc(conf->max_peers, sizeof(*port->peer));
	if (port->peer == NULL || port->event_fd < 0) {
		snprintf(why, RP_OPT_WHY_MAX, "%s: no memory or descriptor left", conf->device);
		port_free(port);
		return -ENOMEM;
	}
	port->tail = &port->head;
	port->host.hz = conf->clock->rate.hz;
	port->host.bits = 64;
	snprintf(port->device, sizeof(port->device), "%s", conf->device);
	port->base.poll = poll;
	port->base.ops = &rp_loop_ops;
	port->base.caps = caps_of(&port->nic, port->software_stamps);
	port->base.gid = conf->gid;
	port->base.device = port->device;
	loop_attach(port);
	*ret_port = &port->base;
	return 0;
}

static void
port_close(struct rp_port *base)
{
	struct loop_port *port = loop_port_of(base);

	loop_detach(port);
	port_free(port);
}

static int
qp_open(struct rp_port *base, const struct rp_qp_conf *conf, struct rp_qp **ret_qp, char *why)
{
	struct loop_port *port = loop_port_of(base);
	struct loop_qp *qp;

	if (!rp_is_pow2(conf->tx_depth) || conf->qkey >> 31 != 0 || conf->role >= RP_ROLE_N) {
		snprintf(why, RP_OPT_WHY_MAX,
			"%s: tx_depth is a power of two, and bit 31 of qkey is clear",
			port->device);
		return -EINVAL;
	}
	if (port->qp[conf->role] != NULL) {
		snprintf(why, RP_OPT_WHY_MAX, "%s: the role has its queue pair", port->device);
		return -EBUSY;
	}
	qp = aligned_alloc(RP_CACHE_LINE, sizeof(*qp));
	if (qp == NULL)
		return -ENOMEM;
	*qp = (struct loop_qp){
		.base = {tx_burst, base, port->fabric->next_qpn++, conf->qkey, conf->role},
		.tx_depth = conf->tx_depth,
	};
	port->qp[conf->role] = qp;
	*ret_qp = &qp->base;
	return 0;
}

static void
qp_close(struct rp_qp *base)
{
	struct loop_qp *qp = rp_container_of(base, struct loop_qp, base);

	loop_port_of(base->port)->qp[base->role] = NULL;
	loop_flush(qp);
	free(qp);
}

static int
peer_open(struct rp_port *base, const struct rp_gid *gid, struct rp_peer **ret_peer)
{
	struct loop_port *port = loop_port_of(base);

	if (!rp_gid_is_unicast(gid) || rp_gid_equal(gid, &base->gid) ||
		rp_gid_is_ipv4(gid) != rp_gid_is_ipv4(&base->gid))
		return -EINVAL;
	for (uint32_t i = 0; i < port->n_peers; i++) {
		struct loop_peer *peer = &port->peer[i];

		if (peer->used)
			continue;
		*peer = (struct loop_peer){{*gid, 0}, port->fabric->now_ns, true};
		port->n_unready++;
		*ret_peer = &peer->base;
		return 0;
	}
	return -ENOSPC;
}

static void
peer_close(struct rp_port *base, struct rp_peer *peer)
{
	struct loop_port *port = loop_port_of(base);

	if (!rp_peer_is_ready(peer))
		port->n_unready--;
	rp_container_of(peer, struct loop_peer, base)->used = false;
}

static void
peer_refresh(struct rp_port *base, struct rp_peer *peer)
{
	(void)peer;
	loop_port_of(base)->stats.peer_refreshes++;
}

static void
stats(struct rp_port *base, rp_stat_fn emit, void *arg)
{
	const struct loop_stats *s = &loop_port_of(base)->stats;

	emit(arg, "tx_frames", s->tx_frames);
	emit(arg, "tx_errors", s->tx_errors);
	emit(arg, "tx_full", s->tx_full);
	emit(arg, "rx_frames", s->rx_frames);
	emit(arg, "rx_no_buffer", s->rx_no_buffer);
	emit(arg, "drop_qpn", s->drop_qpn);
	emit(arg, "drop_qkey", s->drop_qkey);
	emit(arg, "peer_refreshes", s->peer_refreshes);
}

static int
clock_read(struct rp_port *base, struct rp_clock_pair *ret_pair)
{
	ret_pair->before = rp_loop_host_now(base);
	ret_pair->at = rp_loop_port_now(base);
	ret_pair->after = ret_pair->before;
	return 0;
}

static int
event_fd(struct rp_port *base)
{
	return loop_port_of(base)->event_fd;
}

static int
event_read(struct rp_port *base, struct rp_port_event *ret_event)
{
	struct loop_port *port = loop_port_of(base);
	uint64_t one;

	if (read(port->event_fd, &one, sizeof(one)) != (ssize_t)sizeof(one))
		return -EAGAIN;
	ret_event->kind = port->next_event_up ? RP_PORT_UP : RP_PORT_DOWN;
	port->next_event_up = !port->next_event_up;
	return 0;
}

static bool
link_up(struct rp_port *base)
{
	return loop_port_of(base)->link_up;
}

void
rp_loop_port_link_set(struct rp_port *base, bool up)
{
	struct loop_port *port = loop_port_of(base);
	const uint64_t one = 1;
	ssize_t written;

	if (port->link_up == up)
		return;
	port->link_up = up;
	written = write(port->event_fd, &one, sizeof(one));
	assert(written == (ssize_t)sizeof(one));
	(void)written;
}

struct rp_nic
rp_loop_port_now(const struct rp_port *base)
{
	const struct loop_port *port = (const struct loop_port *)base;

	return (struct rp_nic){loop_clock_at(&port->nic, port->fabric->now_ns)};
}

struct rp_tsc
rp_loop_host_now(const struct rp_port *base)
{
	const struct loop_port *port = (const struct loop_port *)base;

	return (struct rp_tsc){loop_clock_at(&port->host, port->fabric->now_ns)};
}

struct rp_host_clock
rp_loop_host_clock(uint64_t hz)
{
	return (struct rp_host_clock){.rate = rp_rate_make(hz, 64)};
}

const struct rp_transport_ops rp_loop_ops = {
	.name = "loop",
	.probe = probe,
	.open = port_open,
	.close = port_close,
	.qp_open = qp_open,
	.qp_close = qp_close,
	.peer_open = peer_open,
	.peer_close = peer_close,
	.peer_refresh = peer_refresh,
	.stats = stats,
	.clock_read = clock_read,
	.event_fd = event_fd,
	.event_read = event_read,
	.link_up = link_up,
};
