/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef RP_PROBER_H
#define RP_PROBER_H

/**
 * @file rp_prober.h
 * The prober: who is probed when, every probe in flight, and how each one ends.
 * A pure state machine: the caller moves datagrams and events.
 *
 * One turn of the owning lcore:
 *
 *   rp_prober_observe()       once, with whether everything was drained
 *   rp_prober_event()         per event of the prober's queue pair
 *   rp_prober_expire()        deadlines
 *   rp_prober_send()          fills an outbox; tx_burst; rp_prober_taken()
 *
 * Thread:  the prober lcore owns everything here. Targets are made by the control
 *          thread and handed over; rp_prober_stats() may be copied by the owner only.
 * Memory:  fixed at create; targets are heap and travel by pointer.
 * Time:    host ticks and NIC ticks as typed; results in ns.
 *
 * Invariant after every call: attempted = sum of states + pending.
 */

#include <stdbool.h>
#include <stdint.h>

#include "rp_dgram.h"
#include "rp_flow.h"
#include "rp_probe.h"
#include "rp_state.h"

#define RP_BURST 32

struct rp_prober;

/**
 * One target. Made by rp_target_create(), filled by the control thread, handed to
 * the prober, and handed back in a RP_RESULT_RETIRED once nothing is in flight.
 */
struct rp_target {
	uint32_t slot; /* stable number of the target, < max_targets */
	struct rp_gid gid;
	uint32_t qpn;
	uint32_t qkey;
	uint32_t generation; /* as the controller knew it; 0 unknown */
	const struct rp_peer *peer;
	uint64_t period_ticks;
	uint8_t tclass;
	uint8_t sl;
	bool hw_stamps;    /* the responder stamps in hardware */
	uint32_t n_labels; /* 1 .. RP_FLOW_LABELS_MAX */
	/* prober: rw from here on */
	uint32_t in_flight;
	uint64_t sent;           /* picks the labels */
	struct rp_tsc first_due; /* of a target whose peer is not ready yet */
	bool seen_due;
	bool removed;
	uint32_t label[]; /* n_labels forward, then n_labels reply */
};

/** All zero but n_labels. @return NULL without memory */
struct rp_target *rp_target_create(uint32_t n_labels);
void rp_target_destroy(struct rp_target *target);

struct rp_prober_conf {
	struct rp_sample_conf sample;
	bool hw_stamps;       /* of our own port */
	uint32_t slots;       /* in flight and late: power of two, 2 .. 2^22 */
	uint32_t max_targets; /* 1 .. 2^20 */
	uint64_t seed;        /* of the phases */
	uint32_t epoch;       /* high half of our sequences, random per start */
};

enum rp_result_kind {
	RP_RESULT_SETTLED, /* a probe has its final state */
	RP_RESULT_LATE,    /* an answer came after the deadline; rtt_ns >= 0 when complete */
	RP_RESULT_EXTRA,   /* one of enum rp_extra happened */
	RP_RESULT_RETIRED, /* a removed or replaced target is free: target */
};

/** What the control thread learns. Two cache lines: a ring element. */
struct rp_result {
	uint8_t kind;    /* enum rp_result_kind */
	uint8_t state;   /* SETTLED: enum rp_state */
	uint8_t invalid; /* SETTLED + INVALID: enum rp_invalid */
	uint8_t extra;   /* EXTRA: enum rp_extra */
	uint8_t stamps;  /* enum rp_stamps */
	bool imprecise;
	bool reply_known; /* the ACK left with the label asked for */
	uint16_t sport;   /* forward */
	uint16_t reply_sport;
	uint32_t slot; /* of the target */
	uint32_t qpn;
	uint32_t generation;      /* of the target record that was probed */
	uint32_t seen_generation; /* of the responder that answered; 0 none */
	uint32_t counter;         /* low half of the sequence */
	union {
		int64_t rtt_ns;           /* -1: none */
		struct rp_target *target; /* RETIRED */
	};
	int64_t prober_ns;
	int64_t responder_ns;
	struct rp_stamp_set at; /* t1 is always there: the probe's window */
} RP_CACHE_ALIGNED;

static_assert(sizeof(struct rp_result) == 2 * RP_CACHE_LINE, "ring element of two cache lines");

#define RP_RESULTS_MAX       (2 * RP_BURST)
#define RP_RESULTS_PER_EVENT 4

/**
 * What the calls of a turn produced. The caller empties it in time: an event needs
 * room for RP_RESULTS_PER_EVENT, a send and the taken after it for RP_BURST each.
 */
struct rp_results {
	uint32_t n;
	struct rp_result r[RP_RESULTS_MAX];
};

/** Datagrams of one burst with their payloads. */
struct rp_outbox {
	uint16_t n;
	struct rp_tx tx[RP_BURST];
	uint8_t payload[RP_BURST][RP_PAYLOAD_LEN];
};

/* X(enum suffix, counter name): ACKs that belong to no probe of ours */
#define RP_UNMATCHED(X)                                                                            \
	X(UNKNOWN, "unknown")                                                                      \
	X(EPOCH, "epoch")                                                                          \
	X(PEER, "peer")                                                                            \
	X(NOT_ACK, "not_ack")

enum rp_unmatched {
#define X(sym, name) RP_UNMATCHED_##sym,
	RP_UNMATCHED(X)
#undef X
	RP_UNMATCHED_N,
};

/* X(enum suffix, counter name): why a probe ended as send_error */
#define RP_SEND_ERRORS(X)                                                                          \
	X(QUEUE_FULL, "queue_full")                                                                \
	X(NO_SLOT, "no_slot")                                                                      \
	X(COMPLETION, "completion")

enum rp_send_error {
#define X(sym, name) RP_SEND_ERROR_##sym,
	RP_SEND_ERRORS(X)
#undef X
	RP_SEND_ERROR_N,
};

const char *rp_unmatched_name(enum rp_unmatched reason);
const char *rp_send_error_name(enum rp_send_error reason);

/* All but pending and the gauges only rise. */
struct rp_prober_stats {
	uint64_t attempted;
	uint64_t pending;
	struct rp_counts counts;
	uint64_t invalid[RP_INVALID_N];
	uint64_t send_error[RP_SEND_ERROR_N];
	uint64_t unmatched[RP_UNMATCHED_N];
	uint64_t bad_payload[RP_PAYLOAD_N];
	uint64_t unknown_flags;     /* payloads with flag bits of a later version */
	uint64_t stale_completions; /* TX_DONE of a probe that is gone */
	uint64_t stalls;
	uint64_t schedule_skipped;
	uint64_t schedule_lag_ticks; /* sum over all probes sent */
	uint64_t schedule_lag_max_ticks;
	uint64_t targets; /* gauge */
};

/** @return 0, -EINVAL, -ENOMEM */
int rp_prober_create(const struct rp_prober_conf *conf, struct rp_prober **ret_prober);

/** Destroys the targets it still owns, too. */
void rp_prober_destroy(struct rp_prober *prober);

/**
 * Add @p target, or replace the one in its slot. A replaced target keeps its phase,
 * its label position and its probes in flight; the old struct comes back RETIRED.
 * @return 0, -ENOSPC (slot), -EINVAL (period 1 .. 2^53, peer); then the caller keeps it
 */
int rp_prober_put(struct rp_prober *prober, struct rp_target *target, struct rp_tsc now,
	struct rp_results *out);

/** Stop probing @p slot. @return 0, -ENOENT */
int rp_prober_remove(struct rp_prober *prober, uint32_t slot, struct rp_results *out);

/**
 * Once per turn, before any event of the turn: @p now is this turn's reading,
 * @p drained_at the last time at which completion queue and rings were all seen
 * empty (earlier turns). A gap of more than a quarter of the timeout suspends all
 * probes in flight and skips the schedule to @p now.
 */
void rp_prober_observe(struct rp_prober *prober, struct rp_tsc now, struct rp_tsc drained_at);

/** At most RP_RESULTS_PER_EVENT results. @p now becomes T6. */
void rp_prober_event(struct rp_prober *prober, const struct rp_ev *ev, struct rp_tsc now,
	struct rp_results *out);

/** Settle what is past its deadline, as far as @p out has room. */
void rp_prober_expire(struct rp_prober *prober, struct rp_tsc now, struct rp_results *out);

/**
 * Fill @p box with the probes that are due, T1 = @p now. Probes that cannot be sent
 * settle at once. Stops when @p box or @p out is full.
 */
void rp_prober_send(
	struct rp_prober *prober, struct rp_tsc now, struct rp_outbox *box, struct rp_results *out);

/** The transport took the first @p taken of @p box: the rest are send errors. */
void rp_prober_taken(struct rp_prober *prober, const struct rp_outbox *box, uint16_t taken,
	struct rp_results *out);

/** When the next probe is due, for sleeping. @return false: nothing is scheduled */
bool rp_prober_next_due(const struct rp_prober *prober, struct rp_tsc *ret_due);

/**
 * Every probe sent before this has its final state, and its result is in what was
 * handed out: @p now when nothing is in flight.
 */
struct rp_tsc rp_prober_settled_until(const struct rp_prober *prober, struct rp_tsc now);

/** Anything in flight, or settled less than another timeout ago? */
bool rp_prober_is_idle(const struct rp_prober *prober);

const struct rp_prober_stats *rp_prober_stats(const struct rp_prober *prober);

#endif /* RP_PROBER_H */
