/* SPDX-License-Identifier: BSD-3-Clause */

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "loop_priv.h"
#include "rp_flow.h"

#define CAPACITY_MAX (1u << 24)
#define FIRST_QPN    0x100u
#define MILLION      1000000u

uint64_t
loop_clock_at(const struct rp_loop_clock *clock, int64_t now_ns)
{
	unsigned __int128 ticks = (unsigned __int128)now_ns * clock->hz *
		(uint64_t)(RP_NS_PER_S + clock->skew_ppb) /
		((unsigned __int128)RP_NS_PER_S * (uint64_t)RP_NS_PER_S);
	uint64_t mask = clock->bits >= 64 ? UINT64_MAX : (UINT64_C(1) << clock->bits) - 1;

	return (clock->offset + (uint64_t)ticks) & mask;
}

struct loop_item *
loop_item_get(struct rp_loop_fabric *fabric)
{
	struct loop_item *item = fabric->free;

	if (item == NULL)
		return NULL;
	fabric->free = item->next;
	*item = (struct loop_item){.order = fabric->next_order++};
	return item;
}

void
loop_item_put(struct rp_loop_fabric *fabric, struct loop_item *item)
{
	item->next = fabric->free;
	fabric->free = item;
}

static bool
item_before(const struct loop_item *a, const struct loop_item *b)
{
	return a->at_ns != b->at_ns ? a->at_ns < b->at_ns : a->order < b->order;
}

static void
heap_sift_up(struct rp_loop_fabric *fabric, uint32_t i)
{
	struct loop_item **heap = fabric->heap, *item = heap[i];

	while (i > 0 && item_before(item, heap[(i - 1) / 2])) {
		heap[i] = heap[(i - 1) / 2];
		i = (i - 1) / 2;
	}
	heap[i] = item;
}

static void
heap_sift_down(struct rp_loop_fabric *fabric, uint32_t i)
{
	struct loop_item **heap = fabric->heap, *item = heap[i];
	uint32_t n = fabric->heap_len, child;

	while ((child = 2 * i + 1) < n) {
		if (child + 1 < n && item_before(heap[child + 1], heap[child]))
			child++;
		if (!item_before(heap[child], item))
			break;
		heap[i] = heap[child];
		i = child;
	}
	heap[i] = item;
}

void
loop_schedule(struct rp_loop_fabric *fabric, struct loop_item *item)
{
	fabric->heap[fabric->heap_len++] = item;
	heap_sift_up(fabric, fabric->heap_len - 1);
}

static struct loop_item *
heap_pop(struct rp_loop_fabric *fabric)
{
	struct loop_item *first = fabric->heap[0];

	fabric->heap[0] = fabric->heap[--fabric->heap_len];
	if (fabric->heap_len > 0)
		heap_sift_down(fabric, 0);
	return first;
}

static void
queue_append(struct loop_port *port, struct loop_item *item)
{
	item->next = NULL;
	*port->tail = item;
	port->tail = &item->next;
}

static struct loop_qp *
qp_find(const struct loop_port *port, uint32_t qpn)
{
	for (size_t i = 0; i < RP_ROLE_N; i++)
		if (port->qp[i] != NULL && port->qp[i]->base.qpn == qpn)
			return port->qp[i];
	return NULL;
}

/* The counter that refuses @p item at @p port, or NULL with its queue pair. */
static uint64_t *
refusal(struct loop_port *port, const struct loop_item *item, struct loop_qp **ret_qp)
{
	struct loop_qp *qp = qp_find(port, item->dst_qpn);

	if (qp == NULL)
		return &port->stats.drop_qpn;
	if (qp->base.qkey != item->qkey)
		return &port->stats.drop_qkey;
	if (port->rx_waiting == port->rx_depth)
		return &port->stats.rx_no_buffer;
	*ret_qp = qp;
	return NULL;
}

static void
arrive(struct rp_loop_fabric *fabric, struct loop_item *item)
{
	struct loop_port *port = loop_port_find(fabric, &item->ev.dst);
	struct loop_qp *qp = NULL;
	uint64_t *refused;

	if (port == NULL || !port->link_up) {
		fabric->totals.no_port++;
		loop_item_put(fabric, item);
		return;
	}
	refused = refusal(port, item, &qp);
	if (refused != NULL) {
		(*refused)++;
		fabric->totals.refused++;
		loop_item_put(fabric, item);
		return;
	}
	item->ev.role = (uint8_t)qp->base.role;
	item->ev.stamp.ticks = loop_clock_at(&port->nic, item->at_ns);
	port->rx_waiting++;
	port->stats.rx_frames++;
	fabric->totals.delivered++;
	queue_append(port, item);
}

void
loop_deliver_due(struct rp_loop_fabric *fabric)
{
	while (fabric->heap_len > 0 && fabric->heap[0]->at_ns <= fabric->now_ns) {
		struct loop_item *item = heap_pop(fabric);

		if (item->owner == NULL)
			arrive(fabric, item);
		else
			queue_append(loop_port_of(item->owner->base.port), item);
	}
}

static const struct rp_loop_path *
path_of(const struct rp_loop_fabric *fabric, const struct rp_gid *src, const struct rp_gid *dst,
	uint16_t sport)
{
	static const struct rp_loop_path direct = {0};

	for (const struct loop_fabric_rule *r = fabric->newest_rule; r != NULL; r = r->older) {
		if ((rp_gid_is_zero(&r->rule.src) || rp_gid_equal(&r->rule.src, src)) &&
			(rp_gid_is_zero(&r->rule.dst) || rp_gid_equal(&r->rule.dst, dst)) &&
			(r->rule.sport == 0 || r->rule.sport == sport))
			return &r->rule.path;
	}
	return &direct;
}

static bool
draw(struct rp_loop_fabric *fabric, uint32_t ppm)
{
	return ppm > 0 && rp_rng_below(&fabric->rng, MILLION) < ppm;
}

static void
launch_copy(struct loop_qp *qp, const struct rp_tx *tx, const struct rp_loop_action *action,
	const struct rp_loop_path *path)
{
	struct loop_port *port = loop_port_of(qp->base.port);
	struct rp_loop_fabric *fabric = port->fabric;
	struct loop_item *item = loop_item_get(fabric);
	size_t copied = tx->len < RP_PAYLOAD_LEN ? tx->len : RP_PAYLOAD_LEN;

	if (item == NULL) {
		fabric->totals.fabric_full++;
		return;
	}
	item->at_ns = fabric->now_ns + path->delay_ns + action->delay_ns;
	if (path->jitter_ns > 0)
		item->at_ns += (int64_t)rp_rng_below(&fabric->rng, (uint64_t)path->jitter_ns + 1);
	if (draw(fabric, path->reorder_ppm))
		item->at_ns += path->reorder_ns;
	item->dst_qpn = tx->qpn;
	item->qkey = tx->qkey;
	item->ev.kind = RP_EV_RX;
	item->ev.flags = action->no_rx_stamp ? RP_EV_F_NO_STAMP : 0;
	item->ev.len = tx->len;
	item->ev.src_qpn = qp->base.qpn;
	item->ev.flow_label = rp_gid_is_ipv4(&port->base.gid) ? 0 : tx->flow_label;
	item->ev.src = port->base.gid;
	item->ev.dst = tx->peer->gid;
	memcpy(item->ev.payload, tx->payload, copied);
	loop_schedule(fabric, item);
}

void
loop_transmit(struct loop_qp *qp, const struct rp_tx *tx, const struct rp_loop_action *action)
{
	struct loop_port *port = loop_port_of(qp->base.port);
	struct rp_loop_fabric *fabric = port->fabric;
	const struct rp_loop_path *path =
		path_of(fabric, &port->base.gid, &tx->peer->gid, rp_flow_sport(tx->flow_label));
	uint32_t copies = 1u + action->duplicates;

	fabric->totals.sent++;
	if (action->drop) {
		fabric->totals.filtered++;
		return;
	}
	if (draw(fabric, path->loss_ppm)) {
		fabric->totals.lost++;
		return;
	}
	if (draw(fabric, path->duplicate_ppm))
		copies++;
	fabric->totals.duplicated += copies - 1;
	for (uint32_t i = 0; i < copies; i++)
		launch_copy(qp, tx, action, path);
}

static void
flush_heap(struct rp_loop_fabric *fabric, const struct loop_qp *qp)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < fabric->heap_len; i++) {
		if (fabric->heap[i]->owner == qp)
			loop_item_put(fabric, fabric->heap[i]);
		else
			fabric->heap[kept++] = fabric->heap[i];
	}
	fabric->heap_len = kept;
	for (uint32_t i = kept / 2; i-- > 0;)
		heap_sift_down(fabric, i);
}

void
loop_flush(struct loop_qp *qp)
{
	struct loop_port *port = loop_port_of(qp->base.port);
	struct loop_item *item = port->head, *next;

	flush_heap(port->fabric, qp);
	port->head = NULL;
	port->tail = &port->head;
	for (; item != NULL; item = next) {
		next = item->next;
		if (item->ev.role != qp->base.role) {
			queue_append(port, item);
			continue;
		}
		if (item->owner == NULL)
			port->rx_waiting--;
		loop_item_put(port->fabric, item);
	}
}

static struct loop_port **
bucket_of(struct rp_loop_fabric *fabric, const struct rp_gid *gid)
{
	return &fabric->bucket[rp_gid_hash(gid, 0) % LOOP_BUCKETS];
}

struct loop_port *
loop_port_find(const struct rp_loop_fabric *fabric, const struct rp_gid *gid)
{
	struct loop_port *port = fabric->bucket[rp_gid_hash(gid, 0) % LOOP_BUCKETS];

	while (port != NULL && !rp_gid_equal(&port->base.gid, gid))
		port = port->next;
	return port;
}

void
loop_attach(struct loop_port *port)
{
	struct loop_port **bucket = bucket_of(port->fabric, &port->base.gid);

	port->next = *bucket;
	*bucket = port;
}

void
loop_detach(struct loop_port *port)
{
	struct loop_port **link = bucket_of(port->fabric, &port->base.gid);

	while (*link != port)
		link = &(*link)->next;
	*link = port->next;
}

int
rp_loop_fabric_open(uint64_t seed, uint32_t capacity, struct rp_loop_fabric **ret_fabric)
{
	struct rp_loop_fabric *fabric;

	if (capacity == 0 || capacity > CAPACITY_MAX)
		return -EINVAL;
	fabric = calloc(1, sizeof(*fabric));
	if (fabric == NULL)
		return -ENOMEM;
	fabric->items = aligned_alloc(RP_CACHE_LINE, capacity * sizeof(*fabric->items));
	fabric->heap = calloc(capacity, sizeof(struct loop_item *));
	if (fabric->items == NULL || fabric->heap == NULL) {
		rp_loop_fabric_close(fabric);
		return -ENOMEM;
	}
	for (uint32_t i = capacity; i-- > 0;)
		loop_item_put(fabric, &fabric->items[i]);
	fabric->next_qpn = FIRST_QPN;
	rp_rng_init(&fabric->rng, seed);
	*ret_fabric = fabric;
	return 0;
}

void
rp_loop_fabric_close(struct rp_loop_fabric *fabric)
{
	if (fabric == NULL)
		return;
	rp_loop_rules_clear(fabric);
	free(fabric->heap);
	free(fabric->items);
	free(fabric);
}

void
rp_loop_advance(struct rp_loop_fabric *fabric, int64_t ns)
{
	assert(ns >= 0);
	fabric->now_ns += ns;
	loop_deliver_due(fabric);
}

int64_t
rp_loop_now_ns(const struct rp_loop_fabric *fabric)
{
	return fabric->now_ns;
}

int64_t
rp_loop_next_ns(const struct rp_loop_fabric *fabric)
{
	return fabric->heap_len > 0 ? fabric->heap[0]->at_ns : INT64_MAX;
}

int
rp_loop_rule_add(struct rp_loop_fabric *fabric, const struct rp_loop_rule *rule)
{
	struct loop_fabric_rule *entry = malloc(sizeof(*entry));

	if (entry == NULL)
		return -ENOMEM;
	entry->rule = *rule;
	entry->older = fabric->newest_rule;
	fabric->newest_rule = entry;
	return 0;
}

void
rp_loop_rules_clear(struct rp_loop_fabric *fabric)
{
	while (fabric->newest_rule != NULL) {
		struct loop_fabric_rule *entry = fabric->newest_rule;

		fabric->newest_rule = entry->older;
		free(entry);
	}
}

void
rp_loop_filter_set(struct rp_loop_fabric *fabric, rp_loop_filter_fn filter, void *arg)
{
	fabric->filter = filter;
	fabric->filter_arg = arg;
}

void
rp_loop_resolve_set(struct rp_loop_fabric *fabric, int64_t ns)
{
	fabric->resolve_ns = ns;
}

const struct rp_loop_totals *
rp_loop_totals(const struct rp_loop_fabric *fabric)
{
	return &fabric->totals;
}
