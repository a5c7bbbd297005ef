/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef SESSION_H
#define SESSION_H

/**
 * @file session.h
 * The agent's side of the control plane: registration and heartbeat, pinglists,
 * records of restarted peers, reports. A missing controller never ends the agent:
 * everything is tried again with full jitter, for ever.
 *
 * Thread:  control; nothing here blocks.
 * Memory:  one instance in struct agent.
 * Time:    milliseconds of agent_mono_ms(); controller time learnt from its answers.
 */

#include <stdbool.h>
#include <stdint.h>

#include "rp_api.h"
#include "rp_rng.h"

struct agent;

enum session_state {
	SESSION_UNREGISTERED,
	SESSION_REGISTERED,
	SESSION_SUPERSEDED, /* another process is this agent now: no probing */
	SESSION_LEAVING,
	SESSION_LEFT,
};

struct session {
	enum session_state state;
	char boot_id[RP_API_UUID_MAX];
	uint64_t set_seq;
	uint32_t controller; /* index into controller_addr */
	bool registering;
	bool was_registered; /* there is somebody who takes our reports */
	bool leave_sent;
	int64_t leave_at_ms;
	int64_t next_register_ms;
	uint32_t backoff_ms;
	uint32_t heartbeat_sec;
	int64_t controller_offset_ms; /* controller's wall clock - CLOCK_MONOTONIC */
	bool offset_known;
	struct rp_rng rng;
	uint64_t failures; /* calls without a usable answer */
	uint32_t failed_in_row;
	uint32_t asking; /* records being asked for */
};

void session_init(struct agent *agent);

/** Start what is due. */
void session_turn(struct agent *agent);

/** Leave: DELETE at the controller. */
void session_leave(struct agent *agent);

/** Left, or there is nobody to tell. */
bool session_has_left(const struct agent *agent);

/** Reports wait, and the controller takes them. */
bool session_can_deliver(const struct agent *agent);

#endif /* SESSION_H */
