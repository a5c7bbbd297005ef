/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "api.h"
#include "rp_flow.h"

#define PLAN_SEC 1

enum {
	TYPE_ALL = RP_API_TYPE_N,
};

/* Keep the targets of one type only. */
static void
filter(struct rp_api_pinglist *list, int type)
{
	size_t n = 0;

	for (size_t i = 0; i < list->n_targets; i++)
		if (type == TYPE_ALL || list->target[i].type == (enum rp_api_type)type)
			list->target[n++] = list->target[i];
	list->n_targets = n;
}

/* A part of a list has a tag of its own. */
static void
tag_part(char etag[RP_API_ETAG_MAX], int type)
{
	char head[9];

	if (type == TYPE_ALL)
		return;
	snprintf(head, sizeof(head), "%08x",
		(unsigned int)rp_fnv1a((uint32_t)type + 1, etag, strlen(etag)));
	memcpy(etag, head, 8);
}

static bool
etag_matches(const struct rp_http_request *req, const char *quoted)
{
	const char *known = rp_http_request_header(req, "If-None-Match");

	return known != NULL && (strcmp(known, "*") == 0 || strstr(known, quoted) != NULL);
}

static void
reply(struct rp_http_request *req, const struct plan *plan, int at, int type)
{
	char etag[RP_API_ETAG_MAX], quoted[RP_API_ETAG_MAX + 2];
	struct rp_api_pinglist list;
	struct rp_buf out = {0};

	plan_etag(plan, at, etag);
	tag_part(etag, type);
	snprintf(quoted, sizeof(quoted), "\"%s\"", etag);
	rp_http_reply_header(req, "ETag", quoted);
	rp_http_reply_header(req, "Cache-Control", "no-cache");
	if (etag_matches(req, quoted)) {
		rp_http_reply(req, 304, NULL, NULL);
		return;
	}
	if (plan_pinglist(plan, at, &list) != 0) {
		api_reply_no_memory(req);
		return;
	}
	filter(&list, type);
	rp_api_encode_pinglist(&list, &out);
	rp_api_pinglist_fini(&list);
	rp_http_reply(req, 200, "application/json", &out);
}

enum whose {
	WHOSE_OURS,
	WHOSE_DOWN, /* registered, but its port is down: nothing to probe */
	WHOSE_NONE,
};

/* The state lock is held. */
static enum whose
look_up(struct controller *c, const char *agent_id, const struct rp_gid *gid, int64_t now_ms)
{
	const struct registry_rnic *rnic = registry_find_gid(&c->registry, gid);

	if (rnic == NULL || strcmp(rnic->agent->agent_id, agent_id) != 0 ||
		!registry_is_active(&c->registry, rnic->agent, now_ms))
		return WHOSE_NONE;
	return rnic->decl->up ? WHOSE_OURS : WHOSE_DOWN;
}

static void
reply_empty(struct rp_http_request *req, const struct rp_gid *gid)
{
	struct rp_api_pinglist list = {.gid = *gid};
	struct rp_buf out = {0};

	rp_http_reply_header(req, "ETag", "\"0\"");
	rp_http_reply_header(req, "Cache-Control", "no-cache");
	if (etag_matches(req, "\"0\"")) {
		rp_http_reply(req, 304, NULL, NULL);
		return;
	}
	rp_api_encode_pinglist(&list, &out);
	rp_http_reply(req, 200, "application/json", &out);
}

void
api_pinglist_get(struct rp_http_request *req, void *arg)
{
	static const char *const types[] = {"tor_mesh", "inter_tor", NULL};
	struct controller *c = arg;
	const char *agent_id = rp_http_request_query(req, "agent_id");
	int64_t now_ms = controller_now_ms();
	struct plan_ref *ref;
	enum whose whose;
	struct rp_gid gid;
	int type = TYPE_ALL, at;
	bool set;

	if (agent_id == NULL) {
		rp_http_reply_error(req, 400, "invalid", "agent_id", "agent_id is missing");
		return;
	}
	if (!api_query_gid(req, "gid", true, &gid, &set) ||
		!api_query_enum(req, "type", types, &type))
		return;
	pthread_mutex_lock(&c->state);
	whose = look_up(c, agent_id, &gid, now_ms);
	pthread_mutex_unlock(&c->state);
	ref = controller_plan(c, now_ms);
	at = ref == NULL ? -ENOMEM : plan_find(ref->plan, &gid);
	if (whose == WHOSE_NONE)
		rp_http_reply_error(req, 404, "not_registered", "gid",
			"this agent has not registered this GID");
	else if (ref == NULL)
		api_reply_no_memory(req);
	else if (whose == WHOSE_DOWN)
		reply_empty(req, &gid);
	else if (at < 0)
		api_reply_busy(req, PLAN_SEC, "the plan with this RNIC is not ready yet");
	else
		reply(req, ref->plan, at, type);
	plan_put(ref);
}
