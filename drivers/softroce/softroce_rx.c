/* SPDX-License-Identifier: BSD-3-Clause */

#include <rte_prefetch.h>

#include "softroce_priv.h"

#define PKEY_BASE 0x7FFF /* without the membership bit: we are a full member */

static inline uint16_t
poll_done(struct sr_port *port, enum rp_role role, struct rp_ev *ev, uint16_t n)
{
	struct sr_qp *qp = port->qp[role];
	struct sr_done done[SR_BURST];
	uint16_t total = 0, got;

	if (qp == NULL)
		return 0;
	do {
		uint16_t want = (uint16_t)rp_min_u64(n - total, SR_BURST);

		got = (uint16_t)rte_ring_sc_dequeue_burst_elem(
			qp->done, done, sizeof(done[0]), want, NULL);
		for (uint16_t i = 0; i < got; i++) {
			struct rp_ev *e = &ev[total + i];

			*e = (struct rp_ev){
				.kind = done[i].status == 0 ? RP_EV_TX_DONE : RP_EV_TX_ERR,
				.role = (uint8_t)role,
				.flags = done[i].status == 0 ? 0 : RP_EV_F_NO_STAMP,
				.status = (uint8_t)done[i].status,
				.stamp = {done[i].stamp},
				.host = {done[i].stamp},
				.cookie = done[i].cookie,
			};
		}
		total += got;
	} while (got == SR_BURST && total < n);
	if (total > 0) {
		uint32_t polled = atomic_load_explicit(&qp->polled, memory_order_relaxed);

		/* release: the room in the rings that sr_tx_*() concludes from it is there */
		atomic_store_explicit(&qp->polled, polled + total, memory_order_release);
	}
	return total;
}

/* Tag 0 carries a priority only. */
static inline bool
vlan_matches(const struct sr_port *port, uint16_t tci)
{
	return (tci == RP_ROCE_NO_VLAN ? 0 : tci & 0x0FFF) == port->vlan;
}

static inline bool
role_of(const struct sr_port *port, uint32_t qpn, enum rp_role *ret_role)
{
	for (enum rp_role role = 0; role < RP_ROLE_N; role++) {
		if (port->key[role].qpn == qpn && qpn != 0) {
			*ret_role = role;
			return true;
		}
	}
	return false;
}

/* The counter that refuses a well-formed frame, or NULL with its role. */
static inline sr_counter *
refusal(struct sr_port *port, const uint8_t *frame, const struct rp_roce_view *view,
	enum rp_role *ret_role)
{
	struct sr_cq_stats *cq = &port->cq;
	const struct rp_roce_fields *f = &view->f;

	if ((frame[0] & 1) != 0)
		return &cq->drop_dst_mac;
	if (!vlan_matches(port, f->vlan_tci))
		return &cq->drop_vlan;
	if (!rp_gid_equal(&f->dst, &port->base.gid))
		return &cq->drop_dst_address;
	if (!rp_gid_is_unicast(&f->src) || rp_gid_equal(&f->src, &port->base.gid))
		return &cq->drop_src_address;
	if (!role_of(port, f->dqpn, ret_role))
		return &cq->drop_qpn;
	if ((f->pkey & PKEY_BASE) != PKEY_BASE)
		return &cq->drop_pkey;
	if (f->qkey != port->key[*ret_role].qkey)
		return &cq->drop_qkey;
	/* Before the ICRC, whose scratch buffer it bounds. */
	if (view->payload_len > port->base.caps.max_payload_bytes)
		return &cq->drop_payload_length;
	if (sr_icrc(&port->scratch, frame + view->l3_off, (size_t)view->icrc_off - view->l3_off) !=
		view->icrc)
		return &cq->drop_icrc;
	return NULL;
}

static inline void
fill_event(struct rp_ev *ev, const uint8_t *frame, const struct rp_roce_view *view,
	enum rp_role role, struct rp_tsc now)
{
	uint16_t copied = (uint16_t)rp_min_u64(view->payload_len, RP_PAYLOAD_LEN);

	*ev = (struct rp_ev){
		.kind = RP_EV_RX,
		.role = (uint8_t)role,
		.len = view->payload_len,
		.src_qpn = view->f.sqpn,
		.flow_label = view->f.flow_label,
		.stamp = {now.ticks},
		.host = now,
		.src = view->f.src,
		.dst = view->f.dst,
	};
	memcpy(ev->payload, frame + view->payload_off, copied);
}

/* @return 1 with an event, 0 when the frame ended here; never frees it */
static inline uint16_t
receive(struct sr_port *port, const struct rte_mbuf *m, struct rp_ev *ev, struct rp_tsc now)
{
	const uint8_t *frame = rte_pktmbuf_mtod(m, const uint8_t *);
	enum rp_roce_verdict verdict;
	struct rp_roce_view view;
	enum rp_role role = RP_ROLE_PROBER;
	sr_counter *refused;

	if (rp_unlikely(m->nb_segs > 1)) {
		sr_count(&port->cq.drop_segments, 1);
		return 0;
	}
	if (rp_unlikely(
		    m->data_len >= 6 && memcmp(frame, port->mac, 6) != 0 && (frame[0] & 1) == 0)) {
		sr_count(&port->cq.drop_dst_mac, 1);
		return 0;
	}
	verdict = rp_roce_parse(frame, m->data_len, &view);
	if (rp_unlikely(verdict == RP_ROCE_NOT_ROCE)) {
		sr_own_rx(port, frame, m->data_len, now);
		return 0;
	}
	if (rp_unlikely(verdict != RP_ROCE_OK)) {
		sr_count(&port->cq.verdict[verdict], 1);
		return 0;
	}
	refused = refusal(port, frame, &view, &role);
	if (rp_unlikely(refused != NULL)) {
		sr_count(refused, 1);
		return 0;
	}
	fill_event(ev, frame, &view, role, now);
	return 1;
}

/* One burst of one queue; never more frames than @n events could hold. */
static inline uint16_t
poll_burst(struct sr_port *port, uint16_t rxq, struct rp_ev *ev, uint16_t n, uint16_t *ret_frames,
	struct rp_tsc *ret_now)
{
	struct rte_mbuf *m[SR_BURST];
	uint16_t frames, got = 0;

	frames = rte_eth_rx_burst(port->port_id, rxq, m, (uint16_t)rp_min_u64(n, SR_BURST));
	*ret_now = rp_host_now(port->clock);
	*ret_frames = frames;
	for (uint16_t i = 0; i < frames; i++)
		rte_prefetch0(rte_pktmbuf_mtod(m[i], void *));
	for (uint16_t i = 0; i < frames; i++)
		got += receive(port, m[i], &ev[got], *ret_now);
	if (frames > 0)
		rte_pktmbuf_free_bulk(m, frames);
	sr_count(&port->cq.rx_frames, got);
	return got;
}

/* Until the queue is empty, @n events are there, or too much of it was rubbish. */
static inline uint16_t
poll_queue(struct sr_port *port, uint16_t rxq, struct rp_ev *ev, uint16_t n, struct rp_tsc *ret_now)
{
	uint16_t total = 0, asked, frames;
	unsigned int bursts = 0;

	do {
		asked = (uint16_t)rp_min_u64(n - total, SR_BURST);
		total += poll_burst(port, rxq, ev + total, asked, &frames, ret_now);
	} while (frames == asked && total < n && ++bursts < SR_POLL_BURSTS);
	return total;
}

uint16_t
sr_poll(struct rp_port *base, struct rp_ev *ev, uint16_t n)
{
	struct sr_port *port = sr_port_of(base);
	struct rp_tsc now = {0};
	uint16_t got = 0, polled = 0;

	for (enum rp_role role = 0; role < RP_ROLE_N && got < n; role++)
		got += poll_done(port, role, ev + got, (uint16_t)(n - got));
	for (; polled < port->n_rxq && got < n; polled++) {
		got += poll_queue(port, port->next_rxq, ev + got, (uint16_t)(n - got), &now);
		if (++port->next_rxq == port->n_rxq)
			port->next_rxq = 0;
	}
	if (polled > 0)
		sr_neigh_turn(port, now, got > 0);
	for (uint16_t i = 0; i < got; i++)
		ev[i].burst = got;
	return got;
}
