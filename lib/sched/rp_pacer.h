/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef RP_PACER_H
#define RP_PACER_H

/**
 * @file rp_pacer.h
 * Who is due now: an open-loop schedule with a fixed cadence per entry.
 *
 * Each entry has a period and a random phase and keeps both for ever. After a
 * stall nothing is caught up: what was missed is counted as skipped, and every
 * entry goes on at its own next time.
 *
 * Thread:  belongs to one prober lcore.
 * Memory:  fixed at create.
 * Time:    host ticks.
 *
 * A 4-ary heap by due time: docs/adr/0005 says why not a timing wheel.
 */

#include <stdbool.h>
#include <stdint.h>

#include "rp_rng.h"
#include "rp_time.h"

struct rp_pacer;

/** @param cap  entries, 1 .. 2^20. @return 0, -EINVAL, -ENOMEM */
int rp_pacer_create(uint32_t cap, uint64_t seed, struct rp_pacer **ret_pacer);
void rp_pacer_destroy(struct rp_pacer *pacer);

/**
 * Add entry @p id with a random phase inside its first period after @p now.
 * @param period_ticks  1 .. 2^53
 * @return 0, -EINVAL, -EEXIST, -ENOSPC
 */
int rp_pacer_add(struct rp_pacer *pacer, uint32_t id, uint64_t period_ticks, struct rp_tsc now);

/** Add with a known next time: an unchanged target keeps its phase. */
int rp_pacer_add_at(struct rp_pacer *pacer, uint32_t id, uint64_t period_ticks, struct rp_tsc due);

/** Next time of @p id. @return false when it is not there */
bool rp_pacer_next_of(const struct rp_pacer *pacer, uint32_t id, struct rp_tsc *ret_due);

/** @return 0, -ENOENT */
int rp_pacer_remove(struct rp_pacer *pacer, uint32_t id);

/** Due time of the next entry. @return false when there is none */
bool rp_pacer_next(const struct rp_pacer *pacer, struct rp_tsc *ret_due);

struct rp_pacer_due {
	uint32_t id;
	uint32_t skipped;   /* periods of this entry that were missed before this one */
	uint64_t lag_ticks; /* how long after its scheduled time it is handed out */
};

/**
 * Take the next entry that is due at @p now and schedule its following time.
 * An entry that is late by a whole period or more is not handed out late: its
 * missed times are reported in ret_due->skipped of the next regular one.
 *
 * @return false when nothing is due
 */
bool rp_pacer_take(struct rp_pacer *pacer, struct rp_tsc now, struct rp_pacer_due *ret_due);

/**
 * After a stall: move every entry that is due before @p now to its next regular
 * time. @return times skipped
 */
uint64_t rp_pacer_skip_to(struct rp_pacer *pacer, struct rp_tsc now);

/** Periods that were skipped since create. */
uint64_t rp_pacer_skipped(const struct rp_pacer *pacer);

#endif /* RP_PACER_H */
