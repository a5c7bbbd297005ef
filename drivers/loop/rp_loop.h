/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef RP_LOOP_H
#define RP_LOOP_H

/**
 * @file rp_loop.h
 * The loop driver: ports joined by a fabric in memory, in virtual time, with
 * programmed delay, loss, duplication, reordering and clock errors.
 *
 * A fabric is made by the test. Its ports are opened through rp_loop_ops with
 * rp_port_conf.driver_data pointing at a struct rp_loop_conf, and are ordinary
 * ports from then on.
 *
 * What a test may demand to the nanosecond. Let t be the virtual time of a
 * tx_burst and D(a, b) the delay that the fabric gave the datagram from a to b:
 *
 *   TX_DONE stamp  = clock of the sending port at t
 *   RX stamp       = clock of the receiving port at t + D, whenever it is polled
 *                    (with software_stamps: at the poll)
 *   network RTT    = (T5 - T2) - (T4 - T3) = D(prober, responder) + D(responder, prober)
 *
 * The RTT holds exactly for clocks of 1 GHz without skew, whatever their offset
 * and width. A clock of another rate reads floor(), so each of the two
 * differences is within one tick of the truth; a clock that is skewed by s ppb
 * stretches its own bracket by s / 1e9.
 *
 * Thread:  one; a fabric and all its ports belong to the caller's thread.
 * Memory:  a datagram pool of fixed size is made with the fabric.
 * Time:    virtual nanoseconds since the fabric was made, moved by the caller
 *          only. Everything is a function of the seed and the calls made.
 */

#include "rp_transport.h"

extern const struct rp_transport_ops rp_loop_ops;

struct rp_loop_fabric;

/** Ticks at virtual time t: offset + floor(t * hz * (1 + skew)), masked. */
struct rp_loop_clock {
	uint64_t hz;       /* nominal; caps.rate says this. 0: 1 GHz */
	unsigned int bits; /* 32 .. 64 valid bits; 0: 64 */
	uint64_t offset;   /* ticks at time 0 */
	int32_t skew_ppb;  /* true rate against the nominal one */
};

/** rp_port_conf.driver_data of a loop port. Copied by open. */
struct rp_loop_conf {
	struct rp_loop_fabric *fabric; /* outlives the port */
	struct rp_loop_clock nic;
	struct rp_loop_clock host; /* rp_ev.host and clock_read; hz and bits as in conf.clock */
	bool software_stamps;      /* no RP_CAP_HW_*: receive stamps are taken by poll */
};

/** What one direction does to a datagram. All zero: delivered at once. */
struct rp_loop_path {
	int64_t delay_ns;
	int64_t jitter_ns;      /* 0 .. jitter_ns more, uniform */
	uint32_t loss_ppm;      /* of a million */
	uint32_t duplicate_ppm; /* a second copy, with its own jitter */
	uint32_t reorder_ppm;   /* delayed by reorder_ns more, so that later ones overtake */
	int64_t reorder_ns;
};

/** Which datagrams follow @c path; zero fields match all. */
struct rp_loop_rule {
	struct rp_gid src;
	struct rp_gid dst;
	uint16_t sport;
	struct rp_loop_path path;
};

/** A datagram about to leave, as the filter sees it. */
struct rp_loop_dgram {
	const struct rp_gid *src;
	const struct rp_gid *dst;
	uint16_t sport;
	uint32_t src_qpn;
	uint32_t dst_qpn;
	const uint8_t *payload;
	uint16_t len;
};

/** What the filter decides, on top of the rules. Comes in as all zero: pass. */
struct rp_loop_action {
	bool drop;
	uint16_t duplicates;   /* further copies */
	int64_t delay_ns;      /* added to the path's */
	int64_t done_delay_ns; /* TX_DONE is found this much later; its stamp is the same */
	bool tx_error;         /* TX_ERR instead of TX_DONE, and nothing leaves */
	uint8_t tx_status;     /* rp_ev.status of it */
	bool no_tx_stamp;      /* RP_EV_F_NO_STAMP on the completion */
	bool no_rx_stamp;
};

typedef void (*rp_loop_filter_fn)(
	void *arg, const struct rp_loop_dgram *dgram, struct rp_loop_action *action);

/** Every datagram that was taken is in exactly one of these, or still under way. */
struct rp_loop_totals {
	uint64_t sent;       /* taken with TX_DONE; the sum of the others adds duplicates */
	uint64_t duplicated; /* copies made */
	uint64_t lost;       /* by a rule */
	uint64_t filtered;   /* dropped by the filter */
	uint64_t no_port;    /* nobody has the address, or its link is down */
	uint64_t fabric_full;
	uint64_t refused; /* by the receiving port: QPN, Q_Key, no buffer */
	uint64_t delivered;
};

/**
 * @param seed      of loss, duplication, reordering and jitter
 * @param capacity  datagrams and completions under way or unread; beyond it
 *                  datagrams are dropped as fabric_full and sends are not taken
 * @return 0, -EINVAL (capacity 0 or over 2^24), -ENOMEM
 */
int rp_loop_fabric_open(uint64_t seed, uint32_t capacity, struct rp_loop_fabric **ret_fabric);

/** All ports closed before. NULL is allowed. */
void rp_loop_fabric_close(struct rp_loop_fabric *fabric);

/** Move time on by @p ns >= 0. */
void rp_loop_advance(struct rp_loop_fabric *fabric, int64_t ns);

int64_t rp_loop_now_ns(const struct rp_loop_fabric *fabric);

/**
 * Time of the next arrival or completion anywhere, for tests that jump;
 * INT64_MAX when nothing is under way.
 */
int64_t rp_loop_next_ns(const struct rp_loop_fabric *fabric);

/** Of the rules that match, the one added last counts. @return 0, -ENOMEM */
int rp_loop_rule_add(struct rp_loop_fabric *fabric, const struct rp_loop_rule *rule);
void rp_loop_rules_clear(struct rp_loop_fabric *fabric);

/** Called for each datagram sent, before the rules. NULL: none. */
void rp_loop_filter_set(struct rp_loop_fabric *fabric, rp_loop_filter_fn filter, void *arg);

/** Time that a peer_open of an attached address takes to become ready (0 at first). */
void rp_loop_resolve_set(struct rp_loop_fabric *fabric, int64_t ns);

const struct rp_loop_totals *rp_loop_totals(const struct rp_loop_fabric *fabric);

/*
 * Of a port that was opened through rp_loop_ops.
 */

/** Down: sends end in TX_ERR, arrivals are lost. Raises a port event. */
void rp_loop_port_link_set(struct rp_port *base, bool up);

struct rp_nic rp_loop_port_now(const struct rp_port *base);
struct rp_tsc rp_loop_host_now(const struct rp_port *base);

/** A host clock of @p hz for rp_port_conf.clock: rate only, it must not be read. */
struct rp_host_clock rp_loop_host_clock(uint64_t hz);

#endif /* RP_LOOP_H */
