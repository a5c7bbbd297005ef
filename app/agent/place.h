/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef PLACE_H
#define PLACE_H

/**
 * @file place.h
 * Which lcores exist, on which CPUs, and which role runs on which. Pure: no EAL,
 * so that mistakes are named before EAL starts.
 *
 * Thread:  control, at start. Memory: by value. Time: n/a.
 * Errors:  -EINVAL with one line in @p why (RP_OPT_WHY_MAX).
 */

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>

#define PLACE_LCORES_MAX 128 /* RTE_MAX_LCORE of Debian's DPDK */

struct place_lcore {
	uint32_t id;
	cpu_set_t cpus;
};

struct place_plan {
	struct place_lcore lcore[PLACE_LCORES_MAX]; /* by rising id */
	uint32_t n;
	uint32_t main_id;
};

enum place_role {
	PLACE_CQ,
	PLACE_PROBER,
	PLACE_RESPONDER,
	PLACE_ROLE_N,
};

const char *place_role_name(enum place_role role);

/** Lcore id of each role of one device. */
struct place_roles {
	uint32_t lcore[PLACE_ROLE_N];
};

/** EAL's -l ("0,2-3"), -c ("0x5"), --lcores ("0@1,(2-3)@(4-5)"). @p opt as typed */
int place_parse(const char *opt, const char *arg, struct place_plan *ret_plan, char *why);

/** --main-lcore; without it the lowest id is main. */
int place_set_main(struct place_plan *plan, const char *arg, char *why);

/** All CPUs are there and allowed to this process. */
int place_check_cpus(const struct place_plan *plan, const cpu_set_t *allowed, char *why);

/** Another lcore of the plan may run on a CPU of @p id. @return its id, or -1 */
int place_overlap(const struct place_plan *plan, uint32_t id);

/** Form of a roles text: "cq@1,prober@2,responder@3", all three, once each; '+' for ','. */
int place_check(const char *roles, char *why);

/**
 * Roles of device @p device of @p n_devices. @p roles "" places by rule: one worker
 * runs all three; two share CQ + responder and prober; three or more one each,
 * devices spread over them.
 */
int place_assign(const struct place_plan *plan, const char *roles, uint32_t device,
	struct place_roles *ret_roles, char *why);

/** "0-2,5" of a CPU set, for messages. @return @p text */
const char *place_format_cpus(const cpu_set_t *cpus, char *text, size_t len);

#endif /* PLACE_H */
