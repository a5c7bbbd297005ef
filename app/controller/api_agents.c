/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api.h"
#include "rp_log.h"
#include "rp_text.h"

#define RP_LOG_COMPONENT "api"

#define BUSY_SEC 1

/* agent_id of the path; false: a 400 was replied. */
static bool
path_agent_id(struct rp_http_request *req, const char **ret_id)
{
	*ret_id = rp_http_request_param(req, "agent_id");
	if (rp_api_name_is_valid(*ret_id, false))
		return true;
	rp_http_reply_error(req, 400, "invalid", "agent_id",
		"agent_id must be 1..128 bytes of printable text without '/'");
	return false;
}

static void
reply_conflict(struct rp_http_request *req, const char *agent_id, enum registry_verdict verdict,
	const struct registry_conflict *conflict)
{
	static const char *const reasons[] = {
		[REGISTRY_SUPERSEDED] = "its boot_id was superseded",
		[REGISTRY_STALE_SET] = "its set_seq did not rise",
		[REGISTRY_AGENT_BUSY] = "agent_id is in use by host ",
		[REGISTRY_GID_BUSY] = "one of its GIDs is in use by agent ",
	};
	char field[32];

	rp_log_rl(RP_LOG_WARN, "agent %s at %s: refused, %s%s", agent_id, rp_http_request_peer(req),
		reasons[verdict], verdict >= REGISTRY_AGENT_BUSY ? conflict->holder : "");
	switch (verdict) {
	case REGISTRY_SUPERSEDED:
		rp_http_reply_error(req, 409, "superseded", "boot_id",
			"a newer process of this agent has registered, or this one has left");
		break;
	case REGISTRY_STALE_SET:
		rp_http_reply_error(req, 409, "stale_set", "set_seq",
			"set_seq must rise with every change of the set");
		break;
	case REGISTRY_AGENT_BUSY:
		rp_http_reply_error(req, 409, "agent_id_conflict", "agent_id",
			"agent_id is in use by host %s", conflict->holder);
		break;
	default:
		snprintf(field, sizeof(field), "rnics[%zu].gid", conflict->rnic);
		rp_http_reply_error(req, 409, "gid_conflict", field,
			"the GID is in use by agent %s", conflict->holder);
		break;
	}
}

/* The GIDs that an agent has just declared. */
struct declared {
	struct rp_gid gid[RP_API_RNICS_MAX];
	size_t n;
};

static int
make_reply(
	struct controller *c, const struct declared *declared, int64_t now_ms, struct rp_buf *out)
{
	struct rp_api_etag etag[RP_API_RNICS_MAX];
	struct rp_api_register_reply reply = {.registered = true,
		.etag = etag,
		.heartbeat_sec = (uint32_t)c->conf.heartbeat_sec,
		.server_time_ms = now_ms};
	struct plan_ref *ref = controller_plan(c, now_ms);

	if (ref == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < declared->n; i++) {
		int at = plan_find(ref->plan, &declared->gid[i]);

		if (at < 0)
			continue;
		etag[reply.n_etags].gid = declared->gid[i];
		plan_etag(ref->plan, at, etag[reply.n_etags].etag);
		reply.n_etags++;
	}
	plan_put(ref);
	rp_api_encode_register_reply(&reply, out);
	return 0;
}

struct put_job {
	struct rp_http_request *req;
	struct rp_buf reply;
};

/*
 * The store's answer does not change ours: the registry in memory is what
 * pinglists come from, and the store goes on trying.
 */
static void
on_saved(struct store_job *job RP_UNUSED, int rc RP_UNUSED, void *arg)
{
	struct put_job *put = arg;

	api_reply_json(put->req, &put->reply);
	free(put);
}

static struct store_job *
make_save(const struct registry_agent *agent, struct rp_http_request *req, struct rp_buf *reply)
{
	struct store_job *job = store_job_new(STORE_SAVE_AGENT);
	struct put_job *put = calloc(1, sizeof(*put));
	size_t bytes = agent->set.n_rnics * sizeof(*agent->set.rnic);
	struct rp_api_rnic *rnic = malloc(bytes + 1);

	if (job == NULL || put == NULL || rnic == NULL) {
		store_job_free(job);
		free(put);
		free(rnic);
		return NULL;
	}
	*put = (struct put_job){req, *reply};
	job->done = on_saved;
	job->arg = put;
	memcpy(job->agent_id, agent->agent_id, sizeof(job->agent_id));
	memcpy(job->old_boot, agent->old_boot, sizeof(job->old_boot));
	job->now_ms = agent->last_seen_ms;
	job->set = agent->set;
	if (bytes > 0)
		memcpy(rnic, agent->set.rnic, bytes);
	job->set.rnic = rnic;
	return job;
}

/*
 * Hand the agent as it is now to the store; the reply goes out with the commit.
 * Jobs enter the queue under the lock, so in the order of the changes.
 * @return 1 nothing to save, 0 saving, -errno
 */
static int
save(struct controller *c, struct rp_http_request *req, const char *agent_id, struct rp_buf *reply)
{
	struct registry_agent *agent;
	struct store_job *job;
	int rc = 1;

	pthread_mutex_lock(&c->state);
	agent = registry_find(&c->registry, agent_id);
	if (agent != NULL && agent->unsaved) {
		job = make_save(agent, req, reply);
		rc = job == NULL ? -ENOMEM : store_submit(c->store, job);
		if (rc == 0) {
			agent->unsaved = false;
		} else if (job != NULL) {
			free(job->arg);
			store_job_free(job);
		}
	}
	pthread_mutex_unlock(&c->state);
	return rc;
}

static int
apply(struct controller *c, const char *agent_id, struct rp_api_register *msg, int64_t now_ms,
	enum registry_verdict *ret_verdict, struct registry_conflict *ret_conflict,
	struct declared *ret_declared)
{
	int rc;

	for (size_t i = 0; i < msg->n_rnics; i++)
		ret_declared->gid[i] = msg->rnic[i].gid;
	ret_declared->n = msg->n_rnics;
	pthread_mutex_lock(&c->state);
	rc = registry_put(&c->registry, agent_id, msg, now_ms, ret_verdict, ret_conflict);
	if (rc == 0 && *ret_verdict == REGISTRY_CHANGED)
		registry_find(&c->registry, agent_id)->unsaved = true;
	pthread_mutex_unlock(&c->state);
	rp_api_register_fini(msg);
	return rc;
}

static void
put_agent(struct controller *c, struct rp_http_request *req, const char *agent_id,
	struct rp_api_register *msg)
{
	int64_t now_ms = controller_now_ms();
	enum registry_verdict verdict = REGISTRY_SAME;
	struct registry_conflict conflict = {0};
	struct declared declared;
	struct rp_buf reply = {0};
	int rc = apply(c, agent_id, msg, now_ms, &verdict, &conflict, &declared);

	if (rc == 0 && verdict > REGISTRY_CHANGED) {
		reply_conflict(req, agent_id, verdict, &conflict);
		return;
	}
	if (rc == 0)
		rc = make_reply(c, &declared, now_ms, &reply);
	if (rc == 0)
		rc = save(c, req, agent_id, &reply);
	if (rc == 0)
		return;
	if (rc == 1) {
		api_reply_json(req, &reply);
		return;
	}
	rp_buf_fini(&reply);
	if (rc == -EAGAIN)
		api_reply_busy(req, BUSY_SEC, "too many writes are waiting");
	else
		api_reply_no_memory(req);
}

void
api_agent_put(struct rp_http_request *req, void *arg)
{
	struct controller *c = arg;
	struct rp_api_register msg;
	struct rp_api_err err = {0};
	const char *agent_id, *body;
	size_t len;
	int rc;

	if (!path_agent_id(req, &agent_id) || !api_json_body(req, &body, &len))
		return;
	rc = rp_api_decode_register(body, len, &msg, &err);
	if (rc == -EINVAL)
		rp_http_reply_error(req, 400, "invalid", err.field, "%s%s%s", err.field,
			rp_text_gap(err.field), err.message);
	else if (rc != 0)
		api_reply_no_memory(req);
	else
		put_agent(c, req, agent_id, &msg);
}

static void
on_deleted(struct store_job *job RP_UNUSED, int rc RP_UNUSED, void *arg)
{
	rp_http_reply(arg, 204, NULL, NULL);
}

/*
 * The store takes the job before the registry forgets, so that a refusal changes
 * nothing. @p req may be answered, and gone, as soon as the store has the job.
 */
static int
delete_agent(struct controller *c, struct rp_http_request *req, const char *agent_id,
	const char *boot_id)
{
	struct store_job *job = store_job_new(STORE_DELETE_AGENT);
	int64_t now_ms = controller_now_ms();
	char boot[RP_API_UUID_MAX];
	int rc;

	if (job == NULL)
		return -ENOMEM;
	snprintf(job->agent_id, sizeof(job->agent_id), "%s", agent_id);
	snprintf(boot, sizeof(boot), "%s", boot_id);
	job->done = on_deleted;
	job->arg = req;
	pthread_mutex_lock(&c->state);
	rc = registry_check_delete(&c->registry, agent_id, boot_id, now_ms);
	if (rc == 0) {
		char id[RP_API_NAME_MAX];

		memcpy(id, job->agent_id, sizeof(id));
		rc = store_submit(c->store, job);
		if (rc == 0)
			registry_delete(&c->registry, id, boot, now_ms);
	}
	pthread_mutex_unlock(&c->state);
	if (rc != 0)
		store_job_free(job);
	return rc;
}

void
api_agent_delete(struct rp_http_request *req, void *arg)
{
	const char *boot_id = rp_http_request_query(req, "boot_id");
	const char *agent_id;
	int rc;

	if (!path_agent_id(req, &agent_id))
		return;
	if (boot_id == NULL) {
		rp_http_reply_error(req, 400, "invalid", "boot_id", "boot_id is missing");
		return;
	}
	rc = delete_agent(arg, req, agent_id, boot_id);
	if (rc == -EALREADY)
		rp_http_reply(req, 204, NULL, NULL);
	else if (rc == -ENOENT)
		rp_http_reply_error(req, 404, "not_found", "agent_id", "no such agent");
	else if (rc == -EPERM)
		rp_http_reply_error(req, 409, "superseded", "boot_id",
			"another process of this agent is registered");
	else if (rc == -EAGAIN)
		api_reply_busy(req, BUSY_SEC, "too many writes are waiting");
	else if (rc != 0)
		api_reply_no_memory(req);
}

static void
put_string(struct rp_buf *out, const char *key, const char *value)
{
	rp_buf_printf(out, ",\"%s\":", key);
	rp_buf_json_string(out, value);
}

static void
put_rnic(struct rp_buf *out, const struct registry_rnic *rnic)
{
	const struct rp_api_rnic *r = rnic->decl;
	char gid[RP_GID_TEXT_MAX], ip[RP_GID_TEXT_MAX];

	rp_buf_printf(out,
		"{\"gid\":\"%s\",\"ip\":\"%s\",\"qpn\":%" PRIu32 ",\"qkey\":%" PRIu32
		",\"generation\":%" PRIu32,
		rp_gid_format(&r->gid, gid), rp_gid_format_ip(&r->gid, ip), r->qpn, r->qkey,
		r->generation);
	put_string(out, "device", r->device);
	put_string(out, "driver", r->driver);
	put_string(out, "tor_id", registry_tor(rnic));
	put_string(out, "rail", r->rail);
	rp_buf_printf(out, ",\"stamps\":\"%s\",\"state\":\"%s\",\"speed_gbps\":%.15g}",
		r->hw_stamps ? "hw" : "sw", r->up ? "up" : "down", r->speed_gbps);
}

static void
put_agent_record(
	struct controller *c, const struct registry_agent *a, int64_t now_ms, struct rp_buf *out)
{
	size_t n = 0;

	rp_buf_puts(out, "{\"agent_id\":");
	rp_buf_json_string(out, a->agent_id);
	put_string(out, "hostname", a->set.hostname);
	put_string(out, "agent_ip", a->set.agent_ip);
	put_string(out, "tor_id", a->set.tor_id);
	put_string(out, "version", a->set.version);
	put_string(out, "boot_id", a->set.boot_id);
	rp_buf_printf(out,
		",\"set_seq\":%" PRIu64 ",\"last_seen_ms\":%" PRId64 ",\"age_ms\":%" PRId64
		",\"state\":\"%s\",\"rnics\":[",
		a->set.set_seq, a->last_seen_ms, now_ms - a->last_seen_ms,
		registry_is_active(&c->registry, a, now_ms) ? "active" : "inactive");
	for (size_t i = 0; i < a->set.n_rnics; i++) {
		if (a->rnic[i].decl == NULL)
			continue;
		if (n++ > 0)
			rp_buf_puts(out, ",");
		put_rnic(out, &a->rnic[i]);
	}
	rp_buf_puts(out, "]}");
}

void
api_agent_get(struct rp_http_request *req, void *arg)
{
	struct controller *c = arg;
	const struct registry_agent *agent;
	struct rp_buf out = {0};
	const char *agent_id;

	if (!path_agent_id(req, &agent_id))
		return;
	pthread_mutex_lock(&c->state);
	agent = registry_find(&c->registry, agent_id);
	if (agent != NULL)
		put_agent_record(c, agent, controller_now_ms(), &out);
	pthread_mutex_unlock(&c->state);
	if (agent == NULL)
		rp_http_reply_error(req, 404, "not_found", "agent_id", "no such agent");
	else
		api_reply_json(req, &out);
}

void
api_agents_get(struct rp_http_request *req, void *arg)
{
	struct controller *c = arg;
	int64_t now_ms = controller_now_ms();
	struct registry_agent **list;
	struct rp_buf out = {0};
	size_t n = 0;

	rp_buf_printf(&out, "{\"server_time_ms\":%" PRId64 ",\"agents\":[", now_ms);
	pthread_mutex_lock(&c->state);
	list = registry_list(&c->registry, &n);
	for (size_t i = 0; list != NULL && i < n; i++) {
		if (i > 0)
			rp_buf_puts(&out, ",");
		put_agent_record(c, list[i], now_ms, &out);
	}
	pthread_mutex_unlock(&c->state);
	rp_buf_puts(&out, "]}");
	if (list == NULL) {
		rp_buf_fini(&out);
		api_reply_no_memory(req);
		return;
	}
	free(list);
	api_reply_json(req, &out);
}

static void
make_target(struct controller *c, const struct registry_rnic *rnic, struct rp_api_target *t)
{
	const struct rp_api_rnic *r = rnic->decl;

	t->gid = r->gid;
	t->qpn = r->qpn;
	t->qkey = r->qkey;
	t->generation = r->generation;
	t->hw_stamps = r->hw_stamps;
	t->type = RP_API_TOR_MESH;
	t->flow_label_count = c->plan_params.flow_labels;
	memcpy(t->hostname, rnic->agent->set.hostname, sizeof(t->hostname));
	snprintf(t->tor_id, sizeof(t->tor_id), "%s", registry_tor(rnic));
	memcpy(t->device, r->device, sizeof(t->device));
	t->service_level = -1;
	t->traffic_class = -1;
}

void
api_rnic_get(struct rp_http_request *req, void *arg)
{
	struct controller *c = arg;
	struct rp_api_target target = {0};
	const struct registry_rnic *rnic;
	struct rp_buf out = {0};
	struct rp_gid gid;
	bool found = false;

	if (rp_gid_parse(rp_http_request_param(req, "gid"), &gid) != 0) {
		rp_http_reply_error(req, 400, "invalid", "gid", "gid must be a GID or IP address");
		return;
	}
	pthread_mutex_lock(&c->state);
	rnic = registry_find_gid(&c->registry, &gid);
	if (rnic != NULL && registry_is_active(&c->registry, rnic->agent, controller_now_ms())) {
		make_target(c, rnic, &target);
		found = true;
	}
	pthread_mutex_unlock(&c->state);
	if (!found) {
		rp_http_reply_error(req, 404, "not_found", "gid", "no active RNIC has this GID");
		return;
	}
	rp_api_encode_target(&target, &out);
	api_reply_json(req, &out);
}
