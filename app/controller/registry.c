/* SPDX-License-Identifier: BSD-3-Clause */

#include "registry.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rp_base.h"
#include "rp_flow.h"

static uint32_t
hash_name(const char *name)
{
	return rp_fnv1a(RP_FNV_INIT, name, strlen(name));
}

static uint32_t
hash_gid(const struct rp_gid *gid)
{
	return rp_gid_hash(gid, 0);
}

void
registry_init(struct registry *reg, int64_t active_ms, int64_t stale_ms)
{
	*reg = (struct registry){.active_ms = active_ms, .stale_ms = stale_ms, .version = 1};
	former_init(&reg->former, stale_ms);
}

struct registry_agent *
registry_find(const struct registry *reg, const char *agent_id)
{
	struct rp_table_node *node = rp_table_first(&reg->by_id, hash_name(agent_id));

	for (; node != NULL; node = rp_table_next(node)) {
		struct registry_agent *agent = rp_container_of(node, struct registry_agent, node);

		if (strcmp(agent->agent_id, agent_id) == 0)
			return agent;
	}
	return NULL;
}

struct registry_rnic *
registry_find_gid(const struct registry *reg, const struct rp_gid *gid)
{
	struct rp_table_node *node = rp_table_first(&reg->by_gid, hash_gid(gid));

	for (; node != NULL; node = rp_table_next(node)) {
		struct registry_rnic *rnic = rp_container_of(node, struct registry_rnic, node);

		if (rp_gid_equal(&rnic->decl->gid, gid))
			return rnic;
	}
	return NULL;
}

bool
registry_is_active(const struct registry *reg, const struct registry_agent *agent, int64_t now_ms)
{
	return now_ms - agent->last_seen_ms < reg->active_ms;
}

const char *
registry_tor(const struct registry_rnic *rnic)
{
	if (rnic->decl->tor_id[0] != '\0')
		return rnic->decl->tor_id;
	return rnic->agent->set.tor_id[0] != '\0' ? rnic->agent->set.tor_id
						  : REGISTRY_TOR_UNSPECIFIED;
}

static void
drop_rnics(struct registry *reg, struct registry_agent *agent)
{
	for (size_t i = 0; agent->rnic != NULL && i < agent->set.n_rnics; i++)
		if (agent->rnic[i].decl != NULL)
			rp_table_remove(&reg->by_gid, &agent->rnic[i].node);
	free(agent->rnic);
	agent->rnic = NULL;
	rp_api_register_fini(&agent->set);
}

static void
remember_rnic(struct registry *reg, const struct registry_rnic *rnic, int64_t now_ms)
{
	former_add_gid(&reg->former, rnic->agent->agent_id, &rnic->decl->gid,
		rnic->agent->set.hostname, registry_tor(rnic), now_ms);
}

static bool
has_gid(const struct rp_api_register *set, const struct rp_gid *gid)
{
	for (size_t i = 0; i < set->n_rnics; i++)
		if (rp_gid_equal(&set->rnic[i].gid, gid))
			return true;
	return false;
}

/* The GIDs that @agent gives up: all, or those that are not in @next. */
static void
remember_rnics(struct registry *reg, const struct registry_agent *agent,
	const struct rp_api_register *next, int64_t now_ms)
{
	for (size_t i = 0; i < agent->set.n_rnics; i++)
		if (agent->rnic[i].decl != NULL &&
			(next == NULL || !has_gid(next, &agent->rnic[i].decl->gid)))
			remember_rnic(reg, &agent->rnic[i], now_ms);
}

static void
forget(struct registry *reg, struct registry_agent *agent)
{
	drop_rnics(reg, agent);
	rp_table_remove(&reg->by_id, &agent->node);
	free(agent);
	reg->version++;
}

void
registry_fini(struct registry *reg)
{
	struct rp_table_node *node, *next;
	size_t pos = 0;

	for (node = rp_table_walk(&reg->by_id, &pos, NULL); node != NULL; node = next) {
		next = rp_table_walk(&reg->by_id, &pos, node);
		forget(reg, rp_container_of(node, struct registry_agent, node));
	}
	rp_table_fini(&reg->by_id);
	rp_table_fini(&reg->by_gid);
	former_fini(&reg->former);
}

/* Index of RNICs of @set. Its memory moves to @agent on success. */
static int
take_set(struct registry *reg, struct registry_agent *agent, struct rp_api_register *set)
{
	struct registry_rnic *rnic = calloc(set->n_rnics + 1, sizeof(*rnic));

	if (rnic == NULL)
		return -ENOMEM;
	drop_rnics(reg, agent);
	agent->set = *set;
	agent->rnic = rnic;
	*set = (struct rp_api_register){0};
	for (size_t i = 0; i < agent->set.n_rnics; i++) {
		if (rp_table_insert(
			    &reg->by_gid, &rnic[i].node, hash_gid(&agent->set.rnic[i].gid)) != 0)
			return -ENOMEM;
		rnic[i].agent = agent;
		rnic[i].decl = &agent->set.rnic[i];
	}
	return 0;
}

static struct registry_agent *
add_agent(struct registry *reg, const char *agent_id)
{
	struct registry_agent *agent = calloc(1, sizeof(*agent));

	if (agent == NULL)
		return NULL;
	strncpy(agent->agent_id, agent_id, sizeof(agent->agent_id) - 1);
	if (rp_table_insert(&reg->by_id, &agent->node, hash_name(agent_id)) != 0) {
		free(agent);
		return NULL;
	}
	return agent;
}

static bool
same_rnic(const struct rp_api_rnic *a, const struct rp_api_rnic *b)
{
	return rp_gid_equal(&a->gid, &b->gid) && a->qpn == b->qpn && a->qkey == b->qkey &&
		a->generation == b->generation && a->hw_stamps == b->hw_stamps && a->up == b->up &&
		a->speed_gbps == b->speed_gbps && strcmp(a->device, b->device) == 0 &&
		strcmp(a->driver, b->driver) == 0 && strcmp(a->tor_id, b->tor_id) == 0 &&
		strcmp(a->rail, b->rail) == 0;
}

static bool
same_set(const struct rp_api_register *a, const struct rp_api_register *b)
{
	if (a->n_rnics != b->n_rnics || strcmp(a->hostname, b->hostname) != 0 ||
		strcmp(a->agent_ip, b->agent_ip) != 0 || strcmp(a->tor_id, b->tor_id) != 0 ||
		strcmp(a->version, b->version) != 0)
		return false;
	for (size_t i = 0; i < a->n_rnics; i++)
		if (!same_rnic(&a->rnic[i], &b->rnic[i]))
			return false;
	return true;
}

static bool
boot_is_old(const char (*old_boot)[RP_API_UUID_MAX], const char *boot_id)
{
	for (size_t i = 0; i < REGISTRY_OLD_BOOTS; i++)
		if (strcmp(old_boot[i], boot_id) == 0)
			return true;
	return false;
}

/* A PUT may be under way still when the DELETE after it has been served. */
static bool
boot_has_left(const struct registry *reg, const char *agent_id, const char *boot_id, int64_t now_ms)
{
	const struct former_agent *a = former_find_agent(&reg->former, agent_id, now_ms);

	return a != NULL && boot_is_old(a->boot, boot_id);
}

/* What the agent's own history says about @msg. */
static enum registry_verdict
judge_identity(const struct registry *reg, const struct registry_agent *agent,
	const struct rp_api_register *msg, int64_t now_ms)
{
	if (strcmp(agent->set.boot_id, msg->boot_id) == 0) {
		if (msg->set_seq < agent->set.set_seq)
			return REGISTRY_STALE_SET;
		/* Some agents count heartbeats: a number alone is no change. */
		if (same_set(&agent->set, msg))
			return REGISTRY_SAME;
		return msg->set_seq > agent->set.set_seq ? REGISTRY_CHANGED : REGISTRY_STALE_SET;
	}
	if (boot_is_old(agent->old_boot, msg->boot_id))
		return REGISTRY_SUPERSEDED;
	/* A new process of the same host is a restart; of another host, a mistake. */
	if (strcmp(agent->set.hostname, msg->hostname) != 0 &&
		registry_is_active(reg, agent, now_ms))
		return REGISTRY_AGENT_BUSY;
	return REGISTRY_CHANGED;
}

/* Whether a live agent other than @agent holds a GID of @msg. */
static bool
gid_is_busy(const struct registry *reg, const struct registry_agent *agent,
	const struct rp_api_register *msg, int64_t now_ms, struct registry_conflict *ret_conflict)
{
	for (size_t i = 0; i < msg->n_rnics; i++) {
		struct registry_rnic *held = registry_find_gid(reg, &msg->rnic[i].gid);

		if (held == NULL || held->agent == agent ||
			!registry_is_active(reg, held->agent, now_ms))
			continue;
		ret_conflict->rnic = i;
		memcpy(ret_conflict->holder, held->agent->agent_id, sizeof(ret_conflict->holder));
		return true;
	}
	return false;
}

/* The silent holder of a GID loses it: its set shrinks by that RNIC. */
static void
take_gids(struct registry *reg, const struct registry_agent *agent,
	const struct rp_api_register *msg, int64_t now_ms)
{
	for (size_t i = 0; i < msg->n_rnics; i++) {
		struct registry_rnic *held = registry_find_gid(reg, &msg->rnic[i].gid);

		if (held == NULL || held->agent == agent)
			continue;
		remember_rnic(reg, held, now_ms);
		rp_table_remove(&reg->by_gid, &held->node);
		held->decl = NULL;
	}
}

static void
push_boot(char (*old_boot)[RP_API_UUID_MAX], const char *boot_id)
{
	if (boot_id[0] == '\0')
		return;
	memmove(old_boot[1], old_boot[0], (REGISTRY_OLD_BOOTS - 1) * sizeof(old_boot[0]));
	memcpy(old_boot[0], boot_id, sizeof(old_boot[0]));
}

/* A new agent, with what is remembered of one that left under its name. */
static struct registry_agent *
come_back(struct registry *reg, const char *agent_id, int64_t now_ms)
{
	const struct former_agent *left = former_find_agent(&reg->former, agent_id, now_ms);
	struct registry_agent *agent = add_agent(reg, agent_id);

	if (agent != NULL && left != NULL)
		memcpy(agent->old_boot, left->boot, sizeof(agent->old_boot));
	if (agent != NULL)
		former_drop_agent(&reg->former, agent_id);
	return agent;
}

static bool
has_lost_gid(const struct registry_agent *agent)
{
	for (size_t i = 0; i < agent->set.n_rnics; i++)
		if (agent->rnic[i].decl == NULL)
			return true;
	return false;
}

static enum registry_verdict
judge(const struct registry *reg, const char *agent_id, const struct registry_agent *agent,
	const struct rp_api_register *msg, int64_t now_ms, struct registry_conflict *ret_conflict)
{
	enum registry_verdict verdict = REGISTRY_CHANGED;

	if (agent != NULL)
		verdict = judge_identity(reg, agent, msg, now_ms);
	else if (boot_has_left(reg, agent_id, msg->boot_id, now_ms))
		verdict = REGISTRY_SUPERSEDED;
	/* Heard again after a silence in which it lost a GID: it claims that back. */
	if (verdict == REGISTRY_SAME && has_lost_gid(agent))
		verdict = REGISTRY_CHANGED;
	if (verdict == REGISTRY_AGENT_BUSY)
		memcpy(ret_conflict->holder, agent->set.hostname, sizeof(ret_conflict->holder));
	if (verdict == REGISTRY_CHANGED && gid_is_busy(reg, agent, msg, now_ms, ret_conflict))
		return REGISTRY_GID_BUSY;
	return verdict;
}

int
registry_put(struct registry *reg, const char *agent_id, struct rp_api_register *msg,
	int64_t now_ms, enum registry_verdict *ret_verdict, struct registry_conflict *ret_conflict)
{
	struct registry_agent *agent = registry_find(reg, agent_id);
	enum registry_verdict verdict = judge(reg, agent_id, agent, msg, now_ms, ret_conflict);

	if (verdict == REGISTRY_SAME) {
		if (!registry_is_active(reg, agent, now_ms))
			reg->version++;
		agent->set.set_seq = msg->set_seq;
		agent->last_seen_ms = now_ms;
		agent->touched = true;
	} else if (verdict == REGISTRY_CHANGED) {
		if (agent == NULL)
			agent = come_back(reg, agent_id, now_ms);
		if (agent == NULL)
			return -ENOMEM;
		take_gids(reg, agent, msg, now_ms);
		remember_rnics(reg, agent, msg, now_ms);
		if (strcmp(agent->set.boot_id, msg->boot_id) != 0)
			push_boot(agent->old_boot, agent->set.boot_id);
		if (take_set(reg, agent, msg) != 0)
			return -ENOMEM;
		agent->last_seen_ms = now_ms;
		reg->version++;
	} else {
		reg->conflicts++;
	}
	*ret_verdict = verdict;
	return 0;
}

int
registry_restore(struct registry *reg, const char *agent_id,
	const char (*old_boot)[RP_API_UUID_MAX], int64_t last_seen_ms, struct rp_api_register *set)
{
	struct registry_agent *agent;

	if (registry_find(reg, agent_id) != NULL)
		return -EEXIST;
	for (size_t i = 0; i < set->n_rnics; i++)
		if (registry_find_gid(reg, &set->rnic[i].gid) != NULL)
			return -EEXIST;
	agent = add_agent(reg, agent_id);
	if (agent == NULL || take_set(reg, agent, set) != 0)
		return -ENOMEM;
	memcpy(agent->old_boot, old_boot, sizeof(agent->old_boot));
	agent->last_seen_ms = last_seen_ms;
	reg->version++;
	return 0;
}

int
registry_check_delete(
	const struct registry *reg, const char *agent_id, const char *boot_id, int64_t now_ms)
{
	const struct registry_agent *agent = registry_find(reg, agent_id);

	if (agent == NULL)
		return boot_has_left(reg, agent_id, boot_id, now_ms) ? -EALREADY : -ENOENT;
	return strcmp(boot_id, agent->set.boot_id) == 0 ? 0 : -EPERM;
}

int
registry_delete(struct registry *reg, const char *agent_id, const char *boot_id, int64_t now_ms)
{
	struct registry_agent *agent = registry_find(reg, agent_id);
	int rc = registry_check_delete(reg, agent_id, boot_id, now_ms);

	if (agent == NULL || rc != 0)
		return rc;
	remember_rnics(reg, agent, NULL, now_ms);
	push_boot(agent->old_boot, agent->set.boot_id);
	former_add_agent(&reg->former, agent_id, agent->old_boot, now_ms);
	forget(reg, agent);
	return 0;
}

bool
registry_may_report(
	const struct registry *reg, const char *agent_id, const struct rp_gid *gid, int64_t now_ms)
{
	const struct registry_rnic *rnic = registry_find_gid(reg, gid);

	return (rnic != NULL && strcmp(rnic->agent->agent_id, agent_id) == 0) ||
		former_find_gid(&reg->former, agent_id, gid, now_ms) != NULL;
}

bool
registry_expire_one(struct registry *reg, int64_t now_ms, char *ret_agent_id)
{
	struct rp_table_node *node;
	size_t pos = 0;

	for (node = rp_table_walk(&reg->by_id, &pos, NULL); node != NULL;
		node = rp_table_walk(&reg->by_id, &pos, node)) {
		struct registry_agent *agent = rp_container_of(node, struct registry_agent, node);

		if (now_ms - agent->last_seen_ms < reg->stale_ms)
			continue;
		memcpy(ret_agent_id, agent->agent_id, sizeof(agent->agent_id));
		remember_rnics(reg, agent, NULL, now_ms);
		forget(reg, agent);
		return true;
	}
	return false;
}

static int
by_agent_id(const void *a, const void *b)
{
	const struct registry_agent *const *x = a, *const *y = b;

	return strcmp((*x)->agent_id, (*y)->agent_id);
}

struct registry_agent **
registry_list(const struct registry *reg, size_t *ret_n)
{
	struct registry_agent **list = calloc(reg->by_id.n + 1, sizeof(*list));
	struct rp_table_node *node;
	size_t pos = 0, n = 0;

	if (list == NULL)
		return NULL;
	for (node = rp_table_walk(&reg->by_id, &pos, NULL); node != NULL;
		node = rp_table_walk(&reg->by_id, &pos, node))
		list[n++] = rp_container_of(node, struct registry_agent, node);
	qsort(list, n, sizeof(struct registry_agent *), by_agent_id);
	*ret_n = n;
	return list;
}
