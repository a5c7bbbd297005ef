/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef TARGETS_H
#define TARGETS_H

/**
 * @file targets.h
 * Whom one device probes: pinglists become commands to the prober. A target keeps
 * its slot, phase, peer and probes in flight for as long as it stays in the list.
 *
 * Thread:  control. Memory: heap. Time: milliseconds of agent_mono_ms().
 */

#include <stdbool.h>
#include <stdint.h>

#include "device.h"
#include "rp_api.h"
#include "rp_rng.h"

struct target_entry {
	bool used;
	bool leaving;   /* removed, its struct is still with the prober */
	uint32_t given; /* structs handed to the prober and not retired yet */
	struct rp_api_target info;
	struct rp_peer *peer; /* one reference per struct given */
	double rate_pps;
	/* a peer that seems restarted */
	uint32_t lost_in_row;
	bool asking;
	int64_t ask_at_ms; /* 0: not due */
	uint32_t ask_wait_ms;
	int64_t free_at_ms; /* not used: when the slot may be given away */
	bool seen;          /* by the list being applied */
	bool dirty;         /* the prober does not know its present state yet */
};

struct targets {
	struct device *dev;
	const struct agent_conf *conf;
	struct target_entry *entry; /* by slot; DEVICE_MAX_TARGETS */
	uint32_t n_used;
	uint32_t high; /* slots at and above were never used */
	uint64_t host_hz;
	int64_t linger_ms; /* an unused slot keeps its identity for so long */
	struct rp_rng rng; /* jitter */
	double scale;      /* of all rates: max_probe_pps */
	uint64_t label_epoch;
	uint32_t n_dirty;
	bool stop_pending; /* the command to remove all found no room */
	uint64_t failed;   /* targets that could not be probed: no slot, no address, ring full */
};

int targets_init(struct targets *targets, struct device *dev, const struct agent_conf *conf,
	uint64_t host_hz);
void targets_fini(struct targets *targets);

/** Make @p list the set of targets. */
void targets_apply(struct targets *targets, const struct rp_api_pinglist *list, int64_t now_ms);

/** A fresh record of one target (GET /v1/rnics/{gid}). */
void targets_refresh(struct targets *targets, const struct rp_api_target *record);

/** The rotating labels move when the epoch does. */
void targets_rotate(struct targets *targets, int64_t unix_s);

/** Hand over what could not be handed over before. Once per turn. */
void targets_retry(struct targets *targets);

/** Follow a result: RETIRED frees, SETTLED feeds the restart detection. */
void targets_on_result(struct targets *targets, const struct rp_result *result, int64_t now_ms);

/** A sign of life of @p gid: ask about it at once if it had gone silent. */
void targets_on_sign(struct targets *targets, const struct rp_gid *gid, int64_t now_ms);

/** Next target whose record should be asked for, or NULL. It is marked as asking. */
struct target_entry *targets_next_ask(struct targets *targets, int64_t now_ms);

/** The question was answered or failed. */
void targets_asked(struct targets *targets, const struct rp_gid *gid, int64_t now_ms);

/** Stop probing. */
void targets_stop(struct targets *targets);

/** Nothing is with the prober any more. */
bool targets_all_retired(const struct targets *targets);

#endif /* TARGETS_H */
