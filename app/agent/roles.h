/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef ROLES_H
#define ROLES_H

/**
 * @file roles.h
 * What an lcore does: turns of the roles placed on it, and how it idles.
 *
 * Thread:  worker_main() on its lcore; the rest on the control thread.
 * Memory:  fixed. Time: host ticks.
 */

#include <stdatomic.h>

#include "device.h"

/** The roles of one device that this lcore runs. */
struct slice {
	struct device *dev;
	bool role[PLACE_ROLE_N];
};

struct worker {
	uint32_t lcore_id;
	uint32_t n_slices;
	struct slice slice[PREFLIGHT_DEVICES_MAX];
	const struct rp_host_clock *clock;
	enum agent_idle idle; /* never AUTO */
	const _Atomic bool *stop;
	/* worker: rw, control: ro */
	_Atomic uint64_t turns;
	_Atomic uint64_t busy_ticks; /* of turns that did work */
	_Atomic uint64_t slept_ticks;
} RP_CACHE_ALIGNED;

/** @p arg is a struct worker: runs until its *stop. For rte_eal_remote_launch(). */
int worker_main(void *arg);

/** One turn of all slices. @return units of work done; *ret_due the next probe */
uint32_t worker_turn(
	struct worker *worker, struct rp_tsc now, struct rp_tsc *ret_due, bool *ret_has_due);

#endif /* ROLES_H */
