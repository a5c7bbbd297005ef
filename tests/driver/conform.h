/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef CONFORM_H
#define CONFORM_H

/**
 * @file conform.h
 * What every driver must do, as one suite over two ports that reach each other.
 *
 * A driver's test program fills a struct conform_rig and lists CONFORM_TESTS.
 *
 * Thread:  one. Memory: the rig owns its ports. Time: step() lets it pass.
 */

#include "rp_transport.h"
#include "ut.h"

#define CONFORM_EVENTS 8192

struct conform_opts {
	bool ipv6;
	bool two_lcores; /* clears rp_port_conf.one_lcore */
	uint32_t tx_depth;
	uint32_t rx_depth;
	uint32_t max_peers;
};

struct conform_side {
	struct rp_port *port;
	struct rp_qp *qp[RP_ROLE_N];
	struct rp_peer *peer; /* the other side */
	struct rp_ev ev[CONFORM_EVENTS];
	size_t n;
};

struct conform_rig {
	const struct rp_transport_ops *ops;
	/** Fill ret_conf for port @p i (0, 1); all but depths, peers and addresses. */
	void (*conf)(unsigned int i, struct rp_port_conf *ret_conf);
	/** Once before and after the ports of a test. */
	void (*up)(void);
	void (*down)(void);
	/** Let a little time pass. */
	void (*step)(void);
	/** Buffers that are free, over all ports; constant when nothing is under way. */
	uint32_t (*buffers)(void);
	/** UDP source port of the last datagram that left port 0. */
	uint16_t (*last_sport)(void);
	const char *device[2];
};

/** Set by the test program. */
extern const struct conform_rig *conform_rig;

extern struct conform_side conform_side[2];

#define CONFORM_DEFAULTS                                                                           \
	{                                                                                          \
		.tx_depth = 64, .rx_depth = 256, .max_peers = 8                                    \
	}

#define CONFORM_RESPONDER_QKEY 0x22222222u

/** Bring both ports and their queue pairs up; peers are ready after it. */
bool conform_up(const struct conform_opts *opts);
void conform_down(void);

/** One turn of all roles on both sides; events are kept in conform_side. */
void conform_turn(void);

/** The same, with polls of at most @p max events. */
void conform_turn_max(uint16_t max);

/** Turns until side @p i has @p n events of @p kind. @return whether it got there */
bool conform_await(unsigned int i, enum rp_ev_kind kind, size_t n);

/** Turns that are ample for anything under way to end. */
void conform_settle(void);

size_t conform_count(unsigned int i, enum rp_ev_kind kind);
const struct rp_ev *conform_nth(unsigned int i, enum rp_ev_kind kind, size_t nth);

/** A datagram of @p len bytes of @p payload from side 0's prober to side 1's responder. */
struct rp_tx conform_probe(const uint8_t *payload, uint16_t len, uint64_t cookie);

/** Value of counter @p name of side @p i; fails the test when there is none. */
uint64_t conform_stat(unsigned int i, const char *name);

/** What conform_up() opens port @p i with. */
struct rp_port_conf conform_port_conf(unsigned int i, const struct conform_opts *opts);

struct rp_gid conform_gid(unsigned int i, bool ipv6);

#define CONFORM_NAMES(X)                                                                           \
	X(conform__table_is_valid)                                                                 \
	X(conform__probe_of_device_has_no_effect)                                                  \
	X(conform__open_refuses_bad_configuration)                                                 \
	X(conform__qp_open_refuses_bad_configuration)                                              \
	X(conform__peers_become_ready)                                                             \
	X(conform__peer_open_refuses_own_foreign_family_and_multicast)                             \
	X(conform__peer_slots_end_at_max_peers_and_are_reused)                                     \
	X(conform__datagram_arrives_with_its_addresses)                                            \
	X(conform__datagram_arrives_over_ipv6)                                                     \
	X(conform__both_roles_reach_both_roles)                                                    \
	X(conform__each_send_completes_once_and_in_order)                                          \
	X(conform__payload_is_copied_before_return)                                                \
	X(conform__full_queue_gives_short_count)                                                   \
	X(conform__rings_wrap)                                                                     \
	X(conform__small_polls_lose_nothing)                                                       \
	X(conform__wrong_qpn_is_dropped_and_counted)                                               \
	X(conform__wrong_qkey_is_dropped_and_counted)                                              \
	X(conform__long_datagram_keeps_its_length)                                                 \
	X(conform__short_datagram_is_zero_behind_its_length)                                       \
	X(conform__refused_length_ends_in_one_tx_err)                                              \
	X(conform__unready_peer_ends_in_one_tx_err)                                                \
	X(conform__source_port_follows_the_label)                                                  \
	X(conform__buffers_are_constant)                                                           \
	X(conform__close_with_work_in_flight_returns_all)                                          \
	X(conform__stats_have_lower_case_names_and_never_fall)                                     \
	X(conform__stats_have_two_readers_while_polled)                                            \
	X(conform__stamps_of_a_queue_pair_do_not_step_back)                                        \
	X(conform__empty_burst_sends_nothing)                                                      \
	X(conform__split_lcores_deliver_like_one)

#define CONFORM_DECLARE(name) void name(void);
CONFORM_NAMES(CONFORM_DECLARE)
#undef CONFORM_DECLARE

#define CONFORM_ROW(name) UT(name),
#define CONFORM_TESTS     CONFORM_NAMES(CONFORM_ROW)

#endif /* CONFORM_H */
