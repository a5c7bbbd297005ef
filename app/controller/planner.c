/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "controller.h"
#include "rp_log.h"

#define RP_LOG_COMPONENT "planner"

#define PLAN_REST      10 /* time between two builds, in durations of a build */
#define SHORT_BUILD_NS 20000000

void
plan_put(struct plan_ref *ref)
{
	if (ref == NULL || atomic_fetch_sub(&ref->refs, 1) > 1)
		return;
	plan_free(ref->plan);
	free(ref);
}

/* Input of one build: names are copied, so that the registry may change meanwhile. */
struct snapshot {
	struct plan_rnic *rnic;
	size_t n;
	char *names, *to;
	uint64_t version;
	int64_t active_until;
};

static const char *
keep_name(struct snapshot *s, const char *name)
{
	const char *kept = s->to;

	s->to = stpcpy(s->to, name) + 1;
	return kept;
}

/* RNICs that may take part: up, and not taken over by another agent. */
static void
add_rnics(struct snapshot *s, const struct registry_agent *agent)
{
	for (size_t i = 0; i < agent->set.n_rnics; i++) {
		const struct rp_api_rnic *decl = agent->rnic[i].decl;

		if (decl == NULL || !decl->up)
			continue;
		s->rnic[s->n++] = (struct plan_rnic){decl->gid, decl->qpn, decl->qkey,
			decl->generation, decl->hw_stamps, keep_name(s, agent->set.hostname),
			keep_name(s, registry_tor(&agent->rnic[i])), keep_name(s, decl->rail),
			keep_name(s, decl->device)};
	}
}

static int
take_snapshot(struct controller *c, int64_t now_ms, struct snapshot *s)
{
	struct registry *reg = &c->registry;
	struct rp_table_node *node;
	size_t pos = 0;

	*s = (struct snapshot){.active_until = INT64_MAX};
	pthread_mutex_lock(&c->state);
	s->version = reg->version;
	s->rnic = calloc(reg->by_gid.n + 1, sizeof(*s->rnic));
	s->names = s->to = malloc(reg->by_gid.n * 4 * RP_API_NAME_MAX + 1);
	if (s->rnic == NULL || s->names == NULL) {
		pthread_mutex_unlock(&c->state);
		return -ENOMEM;
	}
	for (node = rp_table_walk(&reg->by_id, &pos, NULL); node != NULL;
		node = rp_table_walk(&reg->by_id, &pos, node)) {
		struct registry_agent *agent = rp_container_of(node, struct registry_agent, node);

		if (!registry_is_active(reg, agent, now_ms))
			continue;
		if (agent->last_seen_ms + reg->active_ms < s->active_until)
			s->active_until = agent->last_seen_ms + reg->active_ms;
		add_rnics(s, agent);
	}
	pthread_mutex_unlock(&c->state);
	return 0;
}

static void
publish(struct controller *c, struct plan_ref *ref, const struct snapshot *s, int64_t now_ms,
	int64_t took_ns)
{
	struct plan_ref *old;

	pthread_mutex_lock(&c->plan_lock);
	old = c->plan;
	c->plan = ref;
	c->plan_version = s->version;
	c->plan_active_until = s->active_until;
	c->plan_not_before = took_ns < SHORT_BUILD_NS ? 0 : now_ms + PLAN_REST * took_ns / 1000000;
	c->plan_took_ns = took_ns;
	c->plan_builds++;
	c->plan_build_ns += (uint64_t)took_ns;
	pthread_mutex_unlock(&c->plan_lock);
	plan_put(old);
}

static void
build_plan(struct controller *c, int64_t now_ms)
{
	struct plan_ref *ref = calloc(1, sizeof(*ref));
	struct timespec start, end;
	struct snapshot s;
	int rc;

	clock_gettime(CLOCK_MONOTONIC, &start);
	rc = take_snapshot(c, now_ms, &s);
	if (ref == NULL)
		rc = -ENOMEM;
	if (rc == 0)
		rc = plan_build(&c->plan_params, s.rnic, s.n, now_ms / 1000, &ref->plan);
	free(s.rnic);
	free(s.names);
	if (rc != 0) {
		rp_log_rl(RP_LOG_ERROR, "out of memory: the plan stays as it was");
		free(ref);
		return;
	}
	clock_gettime(CLOCK_MONOTONIC, &end);
	atomic_store(&ref->refs, 1);
	publish(c, ref, &s, now_ms,
		(int64_t)(end.tv_sec - start.tv_sec) * 1000000000 + end.tv_nsec - start.tv_nsec);
}

static bool
plan_is_outdated(struct controller *c, int64_t now_ms)
{
	uint64_t version;
	bool outdated;

	pthread_mutex_lock(&c->state);
	version = c->registry.version;
	pthread_mutex_unlock(&c->state);
	pthread_mutex_lock(&c->plan_lock);
	/* Many changes in a row share a build, or a big fleet would do nothing else. */
	outdated = c->plan == NULL ||
		(now_ms >= c->plan_not_before &&
			(c->plan_version != version || now_ms >= c->plan_active_until ||
				now_ms / 1000 >= plan_valid_until(c->plan->plan)));
	pthread_mutex_unlock(&c->plan_lock);
	return outdated;
}

/* Wait for a short build of another thread, go on without a long one. */
static bool
lock_build(struct controller *c)
{
	bool wait;

	pthread_mutex_lock(&c->plan_lock);
	wait = c->plan == NULL || c->plan_took_ns < SHORT_BUILD_NS;
	pthread_mutex_unlock(&c->plan_lock);
	if (!wait)
		return pthread_mutex_trylock(&c->plan_build_lock) == 0;
	pthread_mutex_lock(&c->plan_build_lock);
	return true;
}

struct plan_ref *
controller_plan(struct controller *c, int64_t now_ms)
{
	struct plan_ref *ref;

	if (plan_is_outdated(c, now_ms) && lock_build(c)) {
		if (plan_is_outdated(c, now_ms))
			build_plan(c, now_ms);
		pthread_mutex_unlock(&c->plan_build_lock);
	}
	pthread_mutex_lock(&c->plan_lock);
	ref = c->plan;
	if (ref != NULL)
		atomic_fetch_add(&ref->refs, 1);
	pthread_mutex_unlock(&c->plan_lock);
	return ref;
}
