/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef FORMER_H
#define FORMER_H

/**
 * @file former.h
 * The registry's memory of what was there a moment ago: which agent held which
 * GID and what it was called, so that last windows are taken under the right
 * names, and which processes have left, so that a late word of theirs does not
 * bring them back. Bounded by time and by number; the oldest goes first.
 *
 * Thread:  the caller locks.
 * Memory:  heap; what was found is valid until the next change.
 * Time:    now_ms, milliseconds since the epoch, from the caller.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "rp_api.h"
#include "rp_table.h"

#define FORMER_GIDS_MAX   32768u
#define FORMER_AGENTS_MAX 16384u

/** Old boot_ids of an agent that are remembered, newest first. */
#define REGISTRY_OLD_BOOTS 4

struct former_gid {
	struct rp_table_node node;
	TAILQ_ENTRY(former_gid) link;
	int64_t until_ms;
	struct rp_gid gid;
	char agent_id[RP_API_NAME_MAX];
	char host[RP_API_NAME_MAX];
	char tor[RP_API_NAME_MAX];
};

struct former_agent {
	struct rp_table_node node;
	TAILQ_ENTRY(former_agent) link;
	int64_t until_ms;
	char agent_id[RP_API_NAME_MAX];
	char boot[REGISTRY_OLD_BOOTS][RP_API_UUID_MAX];
};

struct former {
	int64_t keep_ms;
	struct rp_table by_gid;
	struct rp_table by_id;
	TAILQ_HEAD(, former_gid) gids; /* oldest first */
	TAILQ_HEAD(, former_agent) agents;
};

void former_init(struct former *f, int64_t keep_ms);
void former_fini(struct former *f);

/** An agent loses a GID. For want of memory it is forgotten. */
void former_add_gid(struct former *f, const char *agent_id, const struct rp_gid *gid,
	const char *host, const char *tor, int64_t now_ms);

/** Who held @p gid last, or of @p agent_id when that is not NULL. NULL: nobody. */
const struct former_gid *former_find_gid(
	const struct former *f, const char *agent_id, const struct rp_gid *gid, int64_t now_ms);

/** An agent leaves. @p boot  REGISTRY_OLD_BOOTS texts, newest first */
void former_add_agent(struct former *f, const char *agent_id, const char (*boot)[RP_API_UUID_MAX],
	int64_t now_ms);

const struct former_agent *former_find_agent(
	const struct former *f, const char *agent_id, int64_t now_ms);

/** It is back: its boot_ids are the registry's business again. */
void former_drop_agent(struct former *f, const char *agent_id);

#endif /* FORMER_H */
