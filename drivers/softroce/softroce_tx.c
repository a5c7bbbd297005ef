/* SPDX-License-Identifier: BSD-3-Clause */

#include "rp_be.h"
#include "rp_flow.h"
#include "softroce_priv.h"

#define BTH_MIGREQ 0x40

/*
 * RFC 1071 over the prebuilt header and the two fields that vary; TOS shares its
 * word with the version, which is part of the prebuilt sum.
 */
static inline uint16_t
ipv4_checksum(const struct sr_peer *peer, uint8_t tclass, uint16_t total)
{
	uint32_t sum = peer->ip_sum + tclass + total;

	sum = (sum & 0xFFFF) + (sum >> 16);
	sum = (sum & 0xFFFF) + (sum >> 16);
	return (uint16_t)~sum;
}

static inline uint8_t *
patch_ip(uint8_t *l3, const struct sr_peer *peer, const struct rp_tx *tx, uint16_t udp_len)
{
	uint16_t total;

	if (peer->is_ipv6) {
		rp_store_be32(l3,
			6u << 28 | (uint32_t)tx->tclass << 20 |
				(tx->flow_label & RP_FLOW_LABEL_MAX));
		rp_store_be16(l3 + 4, udp_len);
		return l3 + RP_ROCE_IPV6_LEN;
	}
	total = (uint16_t)(RP_ROCE_IPV4_LEN + udp_len);
	l3[1] = tx->tclass;
	rp_store_be16(l3 + 2, total);
	rp_store_be16(l3 + 10, ipv4_checksum(peer, tx->tclass, total));
	return l3 + RP_ROCE_IPV4_LEN;
}

/* The whole frame of @tx into the empty @m. */
static inline void
build(struct sr_qp *qp, struct rte_mbuf *m, const struct rp_tx *tx, uint32_t psn)
{
	const struct sr_peer *peer = (const struct sr_peer *)(const void *)tx->peer;
	uint8_t *frame = rte_pktmbuf_mtod(m, uint8_t *), *l3 = frame + peer->l3_off, *p, *icrc;
	uint16_t pad = (0u - tx->len) & 3u;
	uint16_t udp_len = (uint16_t)(SR_UDP_OVERHEAD + tx->len + pad);
	struct sr_mac mac = {atomic_load_explicit(&peer->neigh->mac, memory_order_relaxed)};

	memcpy(frame, peer->hdr, SR_HDR_ROOM);
	sr_mac_unpack(mac, frame);
	if (peer->l3_off > RP_ROCE_ETH_LEN)
		frame[RP_ROCE_ETH_LEN] |= (uint8_t)((tx->sl & 7) << 5); /* PCP */

	p = patch_ip(l3, peer, tx, udp_len);
	rp_store_be16(p, rp_flow_sport(tx->flow_label));
	rp_store_be16(p + 4, udp_len);
	p += RP_ROCE_UDP_LEN;
	p[1] = (uint8_t)(BTH_MIGREQ | pad << 4);
	rp_store_be24(p + 5, tx->qpn);
	rp_store_be24(p + 9, psn);
	p += RP_ROCE_BTH_LEN;
	rp_store_be32(p, tx->qkey);
	rp_store_be24(p + 5, qp->base.qpn);
	p += RP_ROCE_DETH_LEN;

	memcpy(p, tx->payload, tx->len);
	memset(p + tx->len, 0, pad);
	icrc = p + tx->len + pad;
	rp_store_le32(icrc, sr_icrc(&qp->scratch, l3, (size_t)(icrc - l3)));
	m->data_len = (uint16_t)(icrc + RP_ROCE_ICRC_LEN - frame);
	m->pkt_len = m->data_len;
}

static inline uint8_t
refusal(const struct sr_port *port, const struct rp_tx *tx)
{
	if (rp_unlikely(tx->len == 0 || tx->len > port->base.caps.max_payload_bytes))
		return RP_TX_REFUSED_LENGTH;
	if (rp_unlikely(!rp_peer_is_ready(tx->peer)))
		return RP_TX_REFUSED_PEER;
	if (rp_unlikely(atomic_load_explicit(&port->link_down, memory_order_relaxed)))
		return RP_TX_REFUSED_LINK;
	return 0;
}

/* The done ring has room for tx_depth, which bounds what is in flight. */
static inline void
push_done(struct sr_qp *qp, const struct sr_done *done, unsigned int n)
{
	rte_ring_sp_enqueue_bulk_elem(qp->done, done, sizeof(*done), n, NULL);
}

/* Hand @n frames over; the stamp is read as late as possible. */
static inline uint16_t
transmit(struct sr_port *port, uint16_t txq, struct rte_mbuf **m, uint16_t n,
	struct rp_tsc *ret_stamp)
{
	*ret_stamp = rp_host_now(port->clock);
	return rte_eth_tx_burst(port->port_id, txq, m, n);
}

static inline uint16_t
send_direct(struct sr_qp *qp, struct rte_mbuf **m, const struct rp_tx *tx, uint16_t n)
{
	struct sr_done done[SR_BURST];
	struct rp_tsc stamp;
	uint16_t sent = transmit(sr_port_of(qp->base.port), qp->txq, m, n, &stamp);

	if (rp_unlikely(sent < n))
		rte_pktmbuf_free_bulk(m + sent, (unsigned int)(n - sent));
	if (rp_unlikely(sent == 0))
		return 0;
	for (uint16_t i = 0; i < sent; i++)
		done[i] = (struct sr_done){tx[i].cookie, stamp.ticks, 0};
	push_done(qp, done, sent);
	sr_count(&qp->sender.tx_frames, sent);
	return sent;
}

/* The queue has room for tx_depth too. */
static inline uint16_t
send_queued(struct sr_qp *qp, struct rte_mbuf **m, const struct rp_tx *tx, uint16_t n)
{
	struct sr_queued q[SR_BURST];

	for (uint16_t i = 0; i < n; i++)
		q[i] = (struct sr_queued){m[i], tx[i].cookie, 0};
	rte_ring_sp_enqueue_bulk_elem(qp->queue, q, sizeof(q[0]), n, NULL);
	return n;
}

static inline void
refuse(struct sr_qp *qp, const struct rp_tx *tx, uint8_t status, bool queued)
{
	const struct sr_queued q = {NULL, tx->cookie, status};
	const struct sr_done done = {tx->cookie, 0, status};

	/* Through the queue as well: the done ring has one producer. */
	if (queued) {
		rte_ring_sp_enqueue_bulk_elem(qp->queue, &q, sizeof(q), 1, NULL);
		return;
	}
	push_done(qp, &done, 1);
	sr_count(&qp->sender.tx_errors, 1);
}

/* Up to SR_BURST sends that nothing speaks against. */
static inline uint16_t
send_run(struct sr_qp *qp, const struct rp_tx *tx, uint16_t n, bool queued)
{
	struct sr_port *port = sr_port_of(qp->base.port);
	struct rte_mbuf *m[SR_BURST];
	uint16_t sent;

	if (rp_unlikely(rte_pktmbuf_alloc_bulk(port->pool, m, n) != 0)) {
		sr_count(&qp->owner.tx_no_buffer, n);
		return 0;
	}
	for (uint16_t i = 0; i < n; i++)
		build(qp, m[i], &tx[i], qp->psn + i);
	sent = queued ? send_queued(qp, m, tx, n) : send_direct(qp, m, tx, n);
	qp->psn += sent;
	return sent;
}

static inline __attribute__((always_inline)) uint16_t
tx_burst(struct sr_qp *qp, const struct rp_tx *tx, uint16_t n, bool queued)
{
	const struct sr_port *port = sr_port_of(qp->base.port);
	/* acquire: pairs with the release in poll_done() */
	uint32_t polled = atomic_load_explicit(&qp->polled, memory_order_acquire);
	uint32_t room = qp->tx_depth - (qp->taken - polled);
	uint16_t limit = (uint16_t)rp_min_u64(n, room), taken = 0;

	while (taken < limit) {
		uint16_t max = (uint16_t)rp_min_u64(limit - taken, SR_BURST), run = 0, sent;
		uint8_t status = 0;

		while (run < max && (status = refusal(port, &tx[taken + run])) == 0)
			run++;
		if (run > 0) {
			sent = send_run(qp, tx + taken, run, queued);
			taken += sent;
			if (rp_unlikely(sent < run))
				break;
		}
		if (rp_unlikely(status != 0)) {
			refuse(qp, &tx[taken], status, queued);
			taken++;
		}
	}
	qp->taken += taken;
	if (rp_unlikely(taken < n))
		sr_count(&qp->owner.tx_full, (uint64_t)(n - taken));
	return taken;
}

uint16_t
sr_tx_direct(struct rp_qp *base, const struct rp_tx *tx, uint16_t n)
{
	return tx_burst(sr_qp_of(base), tx, n, false);
}

uint16_t
sr_tx_queued(struct rp_qp *base, const struct rp_tx *tx, uint16_t n)
{
	return tx_burst(sr_qp_of(base), tx, n, true);
}

/* ARP, NDP and ICMP: best effort, their senders repeat. */
static inline void
send_own(struct sr_port *port, uint16_t txq)
{
	struct rte_mbuf *m[SR_BURST];
	uint16_t n, sent;

	n = (uint16_t)rte_ring_sc_dequeue_burst(port->own_ring, (void **)m, SR_BURST, NULL);
	if (rp_likely(n == 0))
		return;
	sent = rte_eth_tx_burst(port->port_id, txq, m, n);
	sr_count(&port->responder.own_frames, sent);
	if (sent < n) {
		sr_count(&port->responder.own_dropped, (uint64_t)(n - sent));
		rte_pktmbuf_free_bulk(m + sent, (unsigned int)(n - sent));
	}
}

/* Frames of the backlog up to the next refused send. @return false: the ethdev is full */
static inline bool
send_backlog_run(struct sr_port *port, struct sr_qp *qp, uint16_t txq)
{
	struct sr_backlog *b = &port->backlog;
	const struct sr_queued *q = b->q + b->at;
	struct rte_mbuf *m[SR_BURST];
	struct sr_done done[SR_BURST];
	struct rp_tsc stamp;
	uint16_t n = 0, sent;

	while (n < b->n - b->at && q[n].m != NULL) {
		m[n] = q[n].m;
		n++;
	}
	if (n == 0)
		return true;
	sent = transmit(port, txq, m, n, &stamp);
	if (rp_unlikely(sent == 0))
		return false;
	for (uint16_t i = 0; i < sent; i++)
		done[i] = (struct sr_done){q[i].cookie, stamp.ticks, 0};
	push_done(qp, done, sent);
	sr_count(&qp->sender.tx_frames, sent);
	b->at += sent;
	return sent == n;
}

/* What the prober queued because the ethdev has one transmit queue. */
static inline void
send_backlog(struct sr_port *port, struct sr_qp *qp, uint16_t txq)
{
	struct sr_backlog *b = &port->backlog;

	if (b->at == b->n) {
		b->at = 0;
		b->n = (uint16_t)rte_ring_sc_dequeue_burst_elem(
			qp->queue, b->q, sizeof(b->q[0]), SR_BURST, NULL);
	}
	while (b->at < b->n) {
		if (!send_backlog_run(port, qp, txq))
			return;
		if (b->at < b->n) {
			const struct sr_queued *q = &b->q[b->at++];
			const struct sr_done done = {q->cookie, 0, q->status};

			push_done(qp, &done, 1);
			sr_count(&qp->sender.tx_errors, 1);
		}
	}
}

uint16_t
sr_tx_responder(struct rp_qp *base, const struct rp_tx *tx, uint16_t n)
{
	struct sr_qp *qp = sr_qp_of(base), *prober;
	struct sr_port *port = sr_port_of(base->port);

	send_own(port, qp->txq);
	prober = port->qp[RP_ROLE_PROBER];
	if (prober != NULL && prober->queue != NULL)
		send_backlog(port, prober, qp->txq);
	return n > 0 ? tx_burst(qp, tx, n, false) : 0;
}
