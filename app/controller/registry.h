/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef REGISTRY_H
#define REGISTRY_H

/**
 * @file registry.h
 * Who is there: agents and their RNICs as last declared. Pure: a function of the
 * calls and their clock, no I/O.
 *
 * Thread:  the caller locks.
 * Memory:  heap; agents found are valid until the next change.
 * Time:    now_ms, milliseconds since the epoch, from the caller.
 */

#include <stdbool.h>
#include <stdint.h>

#include "former.h"
#include "rp_api.h"
#include "rp_table.h"

#define REGISTRY_TOR_UNSPECIFIED "unspecified"

struct registry_agent {
	struct rp_table_node node;
	char agent_id[RP_API_NAME_MAX];
	char old_boot[REGISTRY_OLD_BOOTS][RP_API_UUID_MAX];
	int64_t last_seen_ms;
	bool touched; /* last_seen_ms is newer than the store's */
	bool unsaved; /* the set could not be handed to the store yet */
	struct rp_api_register set;
	struct registry_rnic *rnic; /* set.n_rnics of them, same order */
};

struct registry_rnic {
	struct rp_table_node node;
	struct registry_agent *agent;
	const struct rp_api_rnic *decl; /* NULL: another agent took the GID over */
};

struct registry {
	int64_t active_ms;
	int64_t stale_ms;
	struct rp_table by_id;
	struct rp_table by_gid;
	struct former former; /* for stale_ms */
	uint64_t version;     /* changes whenever a plan may change */
	uint64_t conflicts;
};

enum registry_verdict {
	REGISTRY_SAME,       /* heartbeat: nothing new */
	REGISTRY_CHANGED,    /* applied */
	REGISTRY_SUPERSEDED, /* 409: a newer process has registered, or this one has left */
	REGISTRY_STALE_SET,  /* 409: set_seq is not above the one applied */
	REGISTRY_AGENT_BUSY, /* 409: another live host holds the agent_id */
	REGISTRY_GID_BUSY,   /* 409: another live agent holds a GID of the set */
};

struct registry_conflict {
	size_t rnic;                  /* REGISTRY_GID_BUSY: index into the set */
	char holder[RP_API_NAME_MAX]; /* agent_id, or hostname for REGISTRY_AGENT_BUSY */
};

/** @p active_ms <= @p stale_ms */
void registry_init(struct registry *reg, int64_t active_ms, int64_t stale_ms);
void registry_fini(struct registry *reg);

/**
 * Apply a full declarative set. Nothing is changed by a conflict.
 *
 * @param msg  its arrays are taken over when the verdict is REGISTRY_CHANGED
 * @param ret_verdict   set on success
 * @param ret_conflict  set for the last two verdicts
 * @return 0, -ENOMEM
 */
int registry_put(struct registry *reg, const char *agent_id, struct rp_api_register *msg,
	int64_t now_ms, enum registry_verdict *ret_verdict, struct registry_conflict *ret_conflict);

/**
 * Put back what the store kept: no rules, no change of last_seen.
 * @param old_boot  REGISTRY_OLD_BOOTS texts
 * @return 0, -EEXIST (agent_id or a GID is there already), -ENOMEM
 */
int registry_restore(struct registry *reg, const char *agent_id,
	const char (*old_boot)[RP_API_UUID_MAX], int64_t last_seen_ms, struct rp_api_register *set);

/**
 * What registry_delete() will say.
 * @param boot_id  must be its current one
 * @return 0, -EALREADY (it has left), -ENOENT, -EPERM (another boot_id)
 */
int registry_check_delete(
	const struct registry *reg, const char *agent_id, const char *boot_id, int64_t now_ms);

/** Forget an agent, but its boot_ids. @return as registry_check_delete() */
int registry_delete(
	struct registry *reg, const char *agent_id, const char *boot_id, int64_t now_ms);

/** Whether @p agent_id holds @p gid, or held it less than stale_ms ago. */
bool registry_may_report(
	const struct registry *reg, const char *agent_id, const struct rp_gid *gid, int64_t now_ms);

struct registry_agent *registry_find(const struct registry *reg, const char *agent_id);
struct registry_rnic *registry_find_gid(const struct registry *reg, const struct rp_gid *gid);

bool registry_is_active(
	const struct registry *reg, const struct registry_agent *agent, int64_t now_ms);

/** The RNIC's own ToR, else its agent's, else "unspecified". */
const char *registry_tor(const struct registry_rnic *rnic);

/**
 * Step through agents that became stale and forget each.
 * @param ret_agent_id  RP_API_NAME_MAX bytes
 * @return false when there is none left
 */
bool registry_expire_one(struct registry *reg, int64_t now_ms, char *ret_agent_id);

/** All agents sorted by agent_id. @return heap array of @p ret_n pointers, NULL on no memory */
struct registry_agent **registry_list(const struct registry *reg, size_t *ret_n);

#endif /* REGISTRY_H */
