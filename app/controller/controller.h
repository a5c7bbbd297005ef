/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef CONTROLLER_H
#define CONTROLLER_H

/**
 * @file controller.h
 * The program: what it owns, and which lock covers what.
 *
 * Thread:  HTTP loops run the handlers, the store's writer the callbacks of its
 *          jobs, main the signals and the duties of controller_tick().
 * Locks:   plan_build_lock before state; state, windows_lock and plan_lock are
 *          leaves: none of them is awaited while another is held.
 * Time:    wall clock, ms since the epoch.
 */

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "options.h"
#include "plan.h"
#include "registry.h"
#include "rp_http_server.h"
#include "store.h"
#include "windows.h"

/** A published plan; freed when the last reader lets go. */
struct plan_ref {
	struct plan *plan;
	_Atomic uint32_t refs;
};

struct controller {
	struct controller_conf conf;
	struct plan_params plan_params;
	int64_t started_ms;
	int64_t last_touch_ms; /* main: duties of controller_tick() */
	int64_t last_expire_ms;

	pthread_mutex_t state;
	struct registry registry;

	pthread_mutex_t plan_build_lock; /* one build at a time */
	pthread_mutex_t plan_lock;       /* covers the fields down to the next lock */
	struct plan_ref *plan;
	uint64_t plan_version;     /* of the registry it was built from */
	int64_t plan_active_until; /* ms: an agent it counts on falls silent then */
	int64_t plan_not_before;   /* ms: earliest next build */
	int64_t plan_took_ns;
	uint64_t plan_builds;
	uint64_t plan_build_ns;

	pthread_mutex_t windows_lock;
	struct windows windows;

	struct store *store;
	struct rp_http_server *agent_server;
	struct rp_http_server *ui_server;

	_Atomic uint64_t reports_accepted;
	_Atomic uint64_t reports_duplicate;
	_Atomic uint64_t reports_invalid;
	_Atomic uint64_t reports_refused; /* 503: the sender keeps them */
	_Atomic uint64_t rows;
};

int64_t controller_now_ms(void);

/**
 * Registry and windows from the store, listeners, threads.
 * @param conf  taken over
 * @param why   STORE_WHY_MAX bytes: one line
 * @return an exit code of rp_conf.h
 */
int controller_start(struct controller *c, const struct controller_conf *conf, char *why);

/** Mirror of controller_start(), also after its failure. */
void controller_stop(struct controller *c);

/** Duties of once a second: ages, last_seen of agents, retention. */
void controller_tick(struct controller *c);

/**
 * The current plan, built anew first if it is outdated. No lock is held. While a
 * long build runs elsewhere, or too soon after one, the plan before is returned.
 * @return a reference for plan_put(), or NULL on no memory
 */
struct plan_ref *controller_plan(struct controller *c, int64_t now_ms);
void plan_put(struct plan_ref *ref);

/** Add the rows of an accepted report to the windows; takes their histograms. */
void controller_add_rows(struct controller *c, struct rp_api_report *report);

/** Routes of the two listeners, in api.c. */
extern const struct rp_http_route agent_routes[];
extern const size_t n_agent_routes;
extern const struct rp_http_route ui_routes[];
extern const size_t n_ui_routes;

#endif /* CONTROLLER_H */
