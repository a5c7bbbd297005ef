/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef RP_DGRAM_H
#define RP_DGRAM_H

/**
 * @file rp_dgram.h
 * What the probe machines and the transport drivers exchange: a datagram to
 * send, and a completion event. Both are plain data without any driver type.
 *
 * Thread:  values; a struct rp_ev crosses lcores by copy through a ring.
 * Memory:  struct rp_tx points at the caller's payload, which is copied before
 *          tx_burst returns; struct rp_ev carries the start of the payload.
 * Time:    NIC ticks of the receiving port and host ticks, as typed.
 */

#include <assert.h>
#include <stdatomic.h>
#include <stdint.h>

#include "rp_base.h"
#include "rp_gid.h"
#include "rp_payload.h"
#include "rp_time.h"

/** The two queue pairs of a device. The prober's Q_Key is fixed by the protocol. */
enum rp_role {
	RP_ROLE_PROBER,
	RP_ROLE_RESPONDER,
	RP_ROLE_N,
};

#define RP_PROBER_QKEY 0x11111111u

/**
 * Head of every driver's peer. Made on the control thread; the driver sets
 * @c ready once it has a link-layer address, and never clears it: a peer that
 * stops answering keeps its last address, so that a dead host is loss.
 */
struct rp_peer {
	struct rp_gid gid;
	_Atomic uint8_t ready;
};

static inline bool
rp_peer_is_ready(const struct rp_peer *peer)
{
	/* acquire: pairs with the driver's release after the address is complete */
	return atomic_load_explicit(&peer->ready, memory_order_acquire) != 0;
}

/** One datagram to send. */
struct rp_tx {
	const struct rp_peer *peer;
	const uint8_t *payload;
	uint64_t cookie;     /* comes back in TX_DONE / TX_ERR */
	uint32_t qpn;        /* destination */
	uint32_t qkey;       /* destination's */
	uint32_t flow_label; /* 20 bits, not 0; the source port follows (rp_flow.h) */
	uint16_t len;        /* payload bytes, 1 .. caps.max_payload_bytes */
	uint8_t tclass;
	uint8_t sl;
};

enum rp_ev_kind {
	RP_EV_TX_DONE = 1, /* stamp: T2 of a probe, T4 of an ACK */
	RP_EV_TX_ERR,      /* the datagram did not leave; no stamp */
	RP_EV_RX,          /* stamp: T3 of a probe, T5 of an ACK */
};

enum rp_ev_flag {
	RP_EV_F_NO_STAMP = 1 << 0, /* the device gave no usable stamp */
};

/** One completion. Two cache lines, asserted: it is a ring element. */
struct rp_ev {
	uint8_t kind;        /* enum rp_ev_kind */
	uint8_t role;        /* enum rp_role: whose queue pair */
	uint8_t flags;       /* enum rp_ev_flag */
	uint8_t status;      /* TX_ERR: raw syndrome of the device */
	uint16_t len;        /* RX: payload bytes on the wire; may exceed the copy below */
	uint16_t burst;      /* events of the same poll: bounds the error of software stamps */
	uint32_t src_qpn;    /* RX */
	uint32_t flow_label; /* RX over IPv6; else 0 */
	struct rp_nic stamp;
	struct rp_tsc host; /* read just after the poll that found it; TX_*: of the send */
	uint64_t cookie;    /* TX_* */
	struct rp_gid src;  /* RX */
	struct rp_gid dst;  /* RX: one of ours */
	uint8_t payload[RP_PAYLOAD_LEN]; /* RX: first bytes, zero behind len */
} RP_CACHE_ALIGNED;

static_assert(sizeof(struct rp_ev) == 2 * RP_CACHE_LINE, "ring element of two cache lines");

#endif /* RP_DGRAM_H */
