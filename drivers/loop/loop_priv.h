/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef LOOP_PRIV_H
#define LOOP_PRIV_H

/**
 * @file loop_priv.h
 * Inside of the loop driver: the fabric moves items, the ports make and read them.
 *
 * Thread:  one. Memory: items come from the fabric's pool. Time: virtual ns.
 */

#include "rp_loop.h"
#include "rp_rng.h"

#define LOOP_BUCKETS 256

/** A datagram or a completion on its way to a poll. */
struct loop_item {
	int64_t at_ns;
	uint64_t order; /* of making: breaks ties */
	struct loop_item *next;
	struct loop_qp *owner; /* completions; NULL for datagrams */
	uint32_t dst_qpn;
	uint32_t qkey;
	struct rp_ev ev;
};

struct loop_fabric_rule {
	struct rp_loop_rule rule;
	struct loop_fabric_rule *older;
};

struct rp_loop_fabric {
	int64_t now_ns;
	uint64_t next_order;
	uint32_t next_qpn; /* never used twice: a reopened port has new numbers */
	struct rp_rng rng;
	struct loop_item *items;
	struct loop_item *free;
	struct loop_item **heap; /* by (at_ns, order) */
	uint32_t heap_len;
	struct loop_port *bucket[LOOP_BUCKETS];
	struct loop_fabric_rule *newest_rule;
	rp_loop_filter_fn filter;
	void *filter_arg;
	int64_t resolve_ns;
	struct rp_loop_totals totals;
};

struct loop_peer {
	struct rp_peer base;
	int64_t opened_ns;
	bool used;
};

struct loop_qp {
	struct rp_qp base;
	uint32_t tx_depth;
	uint32_t in_flight; /* taken and not yet polled */
};

struct loop_stats {
	uint64_t tx_frames;
	uint64_t tx_errors;
	uint64_t tx_full;
	uint64_t rx_frames;
	uint64_t rx_no_buffer;
	uint64_t drop_qpn;
	uint64_t drop_qkey;
	uint64_t peer_refreshes;
};

struct loop_port {
	struct rp_port base;
	struct rp_loop_fabric *fabric;
	struct loop_port *next; /* in its bucket */
	struct rp_loop_clock nic;
	struct rp_loop_clock host;
	bool software_stamps;
	bool link_up;
	bool next_event_up; /* events alternate; how many wait is the eventfd's count */
	int event_fd;
	struct loop_qp *qp[RP_ROLE_N];
	struct loop_item *head; /* arrived, not yet polled */
	struct loop_item **tail;
	uint32_t rx_waiting;
	uint32_t rx_depth;
	struct loop_peer *peer;
	uint32_t n_peers;
	uint32_t n_unready;
	struct loop_stats stats;
	char device[64];
};

static inline struct loop_port *
loop_port_of(struct rp_port *port)
{
	return rp_container_of(port, struct loop_port, base);
}

uint64_t loop_clock_at(const struct rp_loop_clock *clock, int64_t now_ns);

/** NULL when the pool is empty. */
struct loop_item *loop_item_get(struct rp_loop_fabric *fabric);
void loop_item_put(struct rp_loop_fabric *fabric, struct loop_item *item);

/** Hand @p item over at its at_ns. */
void loop_schedule(struct rp_loop_fabric *fabric, struct loop_item *item);

/** Put everything that is due into its port's queue. */
void loop_deliver_due(struct rp_loop_fabric *fabric);

/** Carry @p tx from @p qp through filter and rules. */
void loop_transmit(struct loop_qp *qp, const struct rp_tx *tx, const struct rp_loop_action *action);

/** Forget what is under way to @p qp, or waits for it. */
void loop_flush(struct loop_qp *qp);

struct loop_port *loop_port_find(const struct rp_loop_fabric *fabric, const struct rp_gid *gid);
void loop_attach(struct loop_port *port);
void loop_detach(struct loop_port *port);

#endif /* LOOP_PRIV_H */
