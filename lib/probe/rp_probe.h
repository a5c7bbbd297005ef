/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef RP_PROBE_H
#define RP_PROBE_H

/**
 * @file rp_probe.h
 * Six stamps, the three durations they give, and when a sample is valid.
 *
 *   network RTT     (T5 - T2) - (T4 - T3)   prober NIC minus responder NIC
 *   prober delay    (T6 - T1) - (T5 - T2)   prober host minus prober NIC
 *   responder delay  T4 - T3                responder NIC
 *
 * Each bracket lives in one clock; no other difference exists.
 *
 * Thread:  any. Memory: the caller's. Time: as typed, results in ns.
 */

#include <stdbool.h>
#include <stdint.h>

#include "rp_state.h"
#include "rp_time.h"

/*
 * Why a complete sample is not valid, in the order of the checks. Append only.
 * X(enum suffix, counter name)
 */
#define RP_INVALIDS(X)                                                                             \
	X(NONE, "none")                                                                            \
	X(STAMP, "missing_stamp")                                                                  \
	X(GENERATION, "generation_changed")                                                        \
	X(RESPONDER_NEGATIVE, "responder_negative")                                                \
	X(RESPONDER_TOO_LONG, "responder_exceeds_round")                                           \
	X(RTT_TOO_LONG, "rtt_over_timeout")                                                        \
	X(PROBER_NEGATIVE, "prober_negative")

enum rp_invalid {
#define X(sym, name) RP_INVALID_##sym,
	RP_INVALIDS(X)
#undef X
	RP_INVALID_N,
};

const char *rp_invalid_name(enum rp_invalid invalid);

struct rp_stamp_set {
	struct rp_tsc t1;    /* host, just before the doorbell */
	struct rp_nic t2;    /* prober NIC, probe sent */
	struct rp_remote t3; /* responder NIC, probe received */
	struct rp_remote t4; /* responder NIC, ACK 1 sent */
	struct rp_nic t5;    /* prober NIC, ACK 1 received */
	struct rp_tsc t6;    /* host, ACK 2 handled */
};

struct rp_sample {
	struct rp_ns rtt;
	struct rp_ns prober;
	struct rp_ns responder;
};

/** What the formulas need to know of the two local clocks. */
struct rp_sample_conf {
	struct rp_rate host;
	struct rp_rate nic;
	int64_t timeout_ns;
	uint32_t clock_error_ppb; /* of the two NIC clocks against each other */
};

/** Default of clock_error_ppb: two free-running crystals, 100 ppm each. */
#define RP_CLOCK_ERROR_PPB 200000u

/** @return RP_INVALID_NONE and the durations, or the first rule that is broken */
enum rp_invalid rp_sample_compute(const struct rp_sample_conf *conf,
	const struct rp_stamp_set *stamps, struct rp_sample *ret_sample);

/**
 * The clocks' relative error over the responder's delay exceeds 5 % of the RTT
 * and 100 ns: the sample is counted apart.
 */
bool rp_sample_is_imprecise(const struct rp_sample_conf *conf, const struct rp_sample *sample);

#endif /* RP_PROBE_H */
