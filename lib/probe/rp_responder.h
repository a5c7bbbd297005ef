/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef RP_RESPONDER_H
#define RP_RESPONDER_H

/**
 * @file rp_responder.h
 * The responder: ACK 1 at once, ACK 2 when ACK 1's send completion brings T4.
 * A pure state machine: the caller moves datagrams and events.
 *
 * Many probes are in flight at a time; a slow completion never holds up the next
 * probe. A probe from an address that is not resolved yet is parked and answered
 * when it is: the wait lies inside T4 - T3.
 *
 * It is not an open reflector: only well-formed probes from unicast addresses that
 * are not our own are answered, two ACKs of the probe's size each, max_pps in all.
 * Every refusal has a counter.
 *
 * Thread:  the responder lcore owns everything here.
 * Memory:  fixed at create.
 * Time:    host ticks and NIC ticks as typed.
 */

#include <stdbool.h>
#include <stdint.h>

#include "rp_dgram.h"
#include "rp_prober.h" /* struct rp_outbox */

struct rp_responder;

struct rp_responder_conf {
	struct rp_rate host;
	struct rp_rate nic;
	struct rp_gid own;
	uint32_t generation;  /* random per queue pair, never 0 */
	uint32_t max_sources; /* addresses known at a time: power of two, 2 .. 2^16 */
	uint32_t in_flight;   /* probes between ACK 1 and ACK 2: power of two, 2 .. 2^16 */
	uint32_t max_pps;     /* probes answered per second, 1 .. 10^7 */
	uint8_t tclass;
	uint8_t sl;
	bool registered_only;   /* answer only the sources of rp_responder_allow() */
	uint32_t default_label; /* of replies to peers that ask for none; not 0 */
};

#define RP_PARKED_MAX      256
#define RP_PARKED_PER_PEER 4
#define RP_PARKED_NS       (2 * RP_NS_PER_S)

/* X(enum suffix, counter name): probes that get no answer, or not both */
#define RP_REFUSALS(X)                                                                             \
	X(LENGTH, "length")                                                                        \
	X(VERSION, "version")                                                                      \
	X(MSG_TYPE, "msg_type")                                                                    \
	X(ACK_TYPE, "ack_type")                                                                    \
	X(NOT_PROBE, "not_probe")                                                                  \
	X(SOURCE, "source_address")                                                                \
	X(SOURCE_QPN, "source_qpn")                                                                \
	X(RATE, "rate")                                                                            \
	X(NOT_REGISTERED, "not_registered")                                                        \
	X(SOURCES_FULL, "sources_full")                                                            \
	X(PARK_FULL, "park_full")                                                                  \
	X(PARK_EXPIRED, "park_expired")                                                            \
	X(UNRESOLVABLE, "unresolvable")                                                            \
	X(IN_FLIGHT_FULL, "in_flight_full")

enum rp_refusal {
#define X(sym, name) RP_REFUSAL_##sym,
	RP_REFUSALS(X)
#undef X
	RP_REFUSAL_N,
};

const char *rp_refusal_name(enum rp_refusal refusal);

struct rp_responder_stats {
	uint64_t received;  /* datagrams of the responder's queue pair */
	uint64_t ack1_sent; /* send completions */
	uint64_t ack2_sent;
	uint64_t refused[RP_REFUSAL_N];
	uint64_t ack1_failed; /* error completions, or no stamp for T4 */
	uint64_t ack2_failed;
	uint64_t lost_completions; /* slots reclaimed after a second */
	uint64_t stale_completions;
	uint64_t unknown_flags;
	uint64_t parked;    /* gauge */
	uint64_t sources;   /* gauge */
	uint64_t in_flight; /* gauge */
};

/** What the responder asks of the control thread. */
enum rp_want_kind {
	RP_WANT_PEER,    /* resolve gid, then rp_responder_resolved() */
	RP_WANT_RELEASE, /* peer is not used any more */
	RP_WANT_ROW,     /* a source's counts of a window that has ended */
	RP_WANT_SIGN,    /* a source probes again after a silence, or from a new queue pair */
};

/** Fixed size, a ring element. */
struct rp_want {
	uint8_t kind;
	struct rp_gid gid;
	const struct rp_peer *peer; /* RELEASE */
	uint64_t window;            /* ROW */
	uint32_t qpn;               /* ROW: the source's prober QP, as last seen */
	uint32_t received, ack1_sent, ack2_sent, refused; /* ROW */
} RP_CACHE_ALIGNED;

static_assert(sizeof(struct rp_want) == RP_CACHE_LINE, "ring element of one cache line");

#define RP_WANTS_MAX       64
#define RP_WANTS_PER_EVENT 4

/** A source that was quiet for so long gives a sign of life with its next probe. */
#define RP_SILENCE_NS (3 * RP_NS_PER_S)

struct rp_wants {
	uint32_t n;
	struct rp_want w[RP_WANTS_MAX];
};

/** @return 0, -EINVAL, -ENOMEM */
int rp_responder_create(const struct rp_responder_conf *conf, struct rp_responder **ret_responder);
void rp_responder_destroy(struct rp_responder *responder);

/**
 * An event of the responder's queue pair. Needs room for one datagram in @p box and
 * RP_WANTS_PER_EVENT entries in @p wants.
 * @param window  number of the current window, for the rows
 */
void rp_responder_event(struct rp_responder *responder, const struct rp_ev *ev, uint64_t window,
	struct rp_outbox *box, struct rp_wants *wants);

/** The answer to RP_WANT_PEER; @p peer NULL: it cannot be resolved. */
void rp_responder_resolved(
	struct rp_responder *responder, const struct rp_gid *gid, const struct rp_peer *peer);

/**
 * Once per turn: answer parked probes whose peer has become ready, drop those that
 * waited too long, reclaim slots, emit rows of past windows. Bounded by the room in
 * @p box and @p wants.
 */
void rp_responder_tick(struct rp_responder *responder, struct rp_tsc now, uint64_t window,
	struct rp_outbox *box, struct rp_wants *wants);

/** Replace the set of registered sources; @p gid is copied. At most max_sources. */
int rp_responder_allow(struct rp_responder *responder, const struct rp_gid *gid, uint32_t n);

/**
 * Does @p tx still belong to a probe? One that waited for the transport may outlive its
 * answer, which is reclaimed; then its peer may be gone and it must not be sent.
 */
bool rp_responder_is_current(const struct rp_responder *responder, const struct rp_tx *tx);

/** The transport did not take @p tx and never will (shutdown). Any @p tx of ours. */
void rp_responder_dropped(struct rp_responder *responder, const struct rp_tx *tx);

const struct rp_responder_stats *rp_responder_stats(const struct rp_responder *responder);

/** All rows of windows below this one have been handed out. */
uint64_t rp_responder_rows_until(const struct rp_responder *responder);

/** Nothing in flight and nothing parked. */
bool rp_responder_is_idle(const struct rp_responder *responder);

#endif /* RP_RESPONDER_H */
