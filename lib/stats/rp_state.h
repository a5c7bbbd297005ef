/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef RP_STATE_H
#define RP_STATE_H

/**
 * @file rp_state.h
 * Final states of a probe and the counters beside them: one list for the state
 * machine, the report, the metrics and the tables.
 *
 * Invariant at every instant:
 *   attempted = sum of all states + pending
 *
 * Thread:  n/a. Memory: n/a. Time: n/a.
 */

#include <stdint.h>

/*
 * X(enum suffix, report column, metric reason, counts against the fabric)
 * The order is the order of the report's columns: append only.
 * ack2_lost counts only where the responder's own row proves that ACK 2 left.
 */
#define RP_STATES(X)                                                                               \
	X(OK, "ok", "", 0)                                                                         \
	X(INVALID, "invalid", "invalid_rtt", 0)                                                    \
	X(LOST, "lost", "timeout", 1)                                                              \
	X(ACK1_LOST, "ack1_lost", "ack1_lost", 1)                                                  \
	X(ACK2_LOST, "ack2_lost", "ack2_lost", 0)                                                  \
	X(SEND_ERROR, "send_error", "send_error", 0)                                               \
	X(UNRESOLVED, "unresolved", "unresolved", 0)                                               \
	X(SUSPENDED, "suspended", "suspended", 0)

enum rp_state {
#define X(sym, column, reason, fabric) RP_STATE_##sym,
	RP_STATES(X)
#undef X
	RP_STATE_N,
};

/*
 * Counters beside the states; they change no final state. Append only.
 * late is of probes that count against the fabric and so can be taken off again;
 * late_ack2 is of ack2_lost, which only the responder's row makes a loss.
 */
#define RP_EXTRAS(X)                                                                               \
	X(LATE, "late")                                                                            \
	X(DUPLICATE, "duplicate")                                                                  \
	X(REORDERED, "reordered")                                                                  \
	X(IMPRECISE, "imprecise")                                                                  \
	X(LATE_ACK2, "late_ack2")

enum rp_extra {
#define X(sym, column) RP_EXTRA_##sym,
	RP_EXTRAS(X)
#undef X
	RP_EXTRA_N,
};

/** Stamp source of a sample (design: hw and mixed are never merged). */
enum rp_stamps {
	RP_STAMPS_SW,
	RP_STAMPS_HW,
	RP_STAMPS_MIXED,
	RP_STAMPS_N,
};

const char *rp_state_name(enum rp_state state);
const char *rp_state_reason(enum rp_state state);
const char *rp_extra_name(enum rp_extra extra);
const char *rp_stamps_name(enum rp_stamps stamps);

/** Counts of one path in one window, or over any time. */
struct rp_counts {
	uint64_t state[RP_STATE_N];
	uint64_t extra[RP_EXTRA_N];
};

void rp_counts_add(struct rp_counts *to, const struct rp_counts *from);

/** Probes with a final state. */
uint64_t rp_counts_settled(const struct rp_counts *c);

/**
 * Numerator and denominator of the fabric loss ratio (docs/data-path.md):
 * (lost + ack1_lost - late) / (ok + invalid + lost + ack1_lost + ack2_lost),
 * without the ack2_lost that only the responder's row can prove.
 */
void rp_counts_fabric_loss(const struct rp_counts *c, uint64_t *ret_lost, uint64_t *ret_of);

#endif /* RP_STATE_H */
