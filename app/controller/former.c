/* SPDX-License-Identifier: BSD-3-Clause */

#include "former.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rp_base.h"
#include "rp_flow.h"

static uint32_t
hash_name(const char *name)
{
	return rp_fnv1a(RP_FNV_INIT, name, strlen(name));
}

void
former_init(struct former *f, int64_t keep_ms)
{
	*f = (struct former){.keep_ms = keep_ms};
	TAILQ_INIT(&f->gids);
	TAILQ_INIT(&f->agents);
}

static void
drop_gid(struct former *f, struct former_gid *g)
{
	TAILQ_REMOVE(&f->gids, g, link);
	rp_table_remove(&f->by_gid, &g->node);
	free(g);
}

static void
drop_agent(struct former *f, struct former_agent *a)
{
	TAILQ_REMOVE(&f->agents, a, link);
	rp_table_remove(&f->by_id, &a->node);
	free(a);
}

void
former_fini(struct former *f)
{
	while (!TAILQ_EMPTY(&f->gids))
		drop_gid(f, TAILQ_FIRST(&f->gids));
	while (!TAILQ_EMPTY(&f->agents))
		drop_agent(f, TAILQ_FIRST(&f->agents));
	rp_table_fini(&f->by_gid);
	rp_table_fini(&f->by_id);
}

static struct former_gid *
find_gid(const struct former *f, const char *agent_id, const struct rp_gid *gid)
{
	struct rp_table_node *node = rp_table_first(&f->by_gid, rp_gid_hash(gid, 0));
	struct former_gid *last = NULL;

	for (; node != NULL; node = rp_table_next(node)) {
		struct former_gid *g = rp_container_of(node, struct former_gid, node);

		if (rp_gid_equal(&g->gid, gid) &&
			(agent_id == NULL || strcmp(g->agent_id, agent_id) == 0) &&
			(last == NULL || g->until_ms > last->until_ms))
			last = g;
	}
	return last;
}

static struct former_agent *
find_agent(const struct former *f, const char *agent_id)
{
	struct rp_table_node *node = rp_table_first(&f->by_id, hash_name(agent_id));

	for (; node != NULL; node = rp_table_next(node)) {
		struct former_agent *a = rp_container_of(node, struct former_agent, node);

		if (strcmp(a->agent_id, agent_id) == 0)
			return a;
	}
	return NULL;
}

void
former_add_gid(struct former *f, const char *agent_id, const struct rp_gid *gid, const char *host,
	const char *tor, int64_t now_ms)
{
	struct former_gid *g = find_gid(f, agent_id, gid), *oldest;

	if (g != NULL)
		drop_gid(f, g);
	while ((oldest = TAILQ_FIRST(&f->gids)) != NULL &&
		(oldest->until_ms <= now_ms || f->by_gid.n >= FORMER_GIDS_MAX))
		drop_gid(f, oldest);
	g = calloc(1, sizeof(*g));
	if (g == NULL)
		return;
	g->until_ms = now_ms + f->keep_ms;
	g->gid = *gid;
	snprintf(g->agent_id, sizeof(g->agent_id), "%s", agent_id);
	snprintf(g->host, sizeof(g->host), "%s", host);
	snprintf(g->tor, sizeof(g->tor), "%s", tor);
	if (rp_table_insert(&f->by_gid, &g->node, rp_gid_hash(gid, 0)) != 0)
		free(g);
	else
		TAILQ_INSERT_TAIL(&f->gids, g, link);
}

const struct former_gid *
former_find_gid(
	const struct former *f, const char *agent_id, const struct rp_gid *gid, int64_t now_ms)
{
	const struct former_gid *g = find_gid(f, agent_id, gid);

	return g != NULL && now_ms < g->until_ms ? g : NULL;
}

void
former_add_agent(
	struct former *f, const char *agent_id, const char (*boot)[RP_API_UUID_MAX], int64_t now_ms)
{
	struct former_agent *a, *oldest;

	former_drop_agent(f, agent_id);
	while ((oldest = TAILQ_FIRST(&f->agents)) != NULL &&
		(oldest->until_ms <= now_ms || f->by_id.n >= FORMER_AGENTS_MAX))
		drop_agent(f, oldest);
	a = calloc(1, sizeof(*a));
	if (a == NULL)
		return;
	a->until_ms = now_ms + f->keep_ms;
	snprintf(a->agent_id, sizeof(a->agent_id), "%s", agent_id);
	memcpy(a->boot, boot, sizeof(a->boot));
	if (rp_table_insert(&f->by_id, &a->node, hash_name(agent_id)) != 0)
		free(a);
	else
		TAILQ_INSERT_TAIL(&f->agents, a, link);
}

const struct former_agent *
former_find_agent(const struct former *f, const char *agent_id, int64_t now_ms)
{
	const struct former_agent *a = find_agent(f, agent_id);

	return a != NULL && now_ms < a->until_ms ? a : NULL;
}

void
former_drop_agent(struct former *f, const char *agent_id)
{
	struct former_agent *a = find_agent(f, agent_id);

	if (a != NULL)
		drop_agent(f, a);
}
