/* SPDX-License-Identifier: BSD-3-Clause */

#include "session.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent.h"
#include "rp_http_url.h"
#include "rp_log.h"
#include "rp_text.h"

#define RP_LOG_COMPONENT "session"

#define CALL_TIMEOUT_MS 10000
#define BACKOFF_MIN_MS  250
#define BACKOFF_MAX_MS  30000
#define ASKING_MAX      16
#define EMPTY_FETCH_MS  5000

static bool
call(struct agent *agent, const char *method, const struct rp_buf *path, const char *body,
	size_t body_len, const char *header, rp_http_done_fn done, void *arg)
{
	const struct rp_opt_list *list = &agent->conf.controller_addr;
	struct rp_buf url = {0};
	struct rp_http_call c = {
		.method = method,
		.body = body,
		.body_len = body_len,
		.header = header,
		.timeout_ms = CALL_TIMEOUT_MS,
		.done = done,
		.arg = arg,
	};
	bool ok;

	rp_buf_puts(&url, list->text[agent->session.controller % list->n]);
	while (url.len > 0 && url.data[url.len - 1] == '/')
		url.data[--url.len] = '\0';
	rp_buf_puts(&url, rp_buf_text(path));
	c.url = rp_buf_text(&url);
	ok = !rp_buf_failed(&url) && !rp_buf_failed(path) &&
		rp_http_client_start(agent->http, &c) == 0;
	rp_buf_fini(&url);
	return ok;
}

/* Full jitter: anywhere between nothing and the back-off. */
static int64_t
jittered(struct session *s, uint32_t *backoff_ms)
{
	uint32_t wait = *backoff_ms < BACKOFF_MIN_MS ? BACKOFF_MIN_MS : *backoff_ms;

	*backoff_ms = wait * 2 > BACKOFF_MAX_MS ? BACKOFF_MAX_MS : wait * 2;
	return agent_mono_ms() + 50 + (int64_t)rp_rng_below(&s->rng, wait);
}

static const char *
hint(int status)
{
	if (status == 409)
		return " (is --agent-id or an address given twice?)";
	return status >= 300 && status < 400
		? "a redirect, which is not followed: name the controller itself"
		: "";
}

static void
note_failure(struct agent *agent, const char *what, const struct rp_http_answer *answer)
{
	struct session *s = &agent->session;

	s->failures++;
	s->failed_in_row++;
	if (answer->status == 0) {
		rp_log_rl(RP_LOG_WARN, "controller %s: %s failed: %s",
			agent->conf.controller_addr
				.text[s->controller % agent->conf.controller_addr.n],
			what, answer->error);
		/* The next one in the list, if there is one. */
		s->controller++;
	} else {
		struct rp_api_refusal r;

		if (rp_api_decode_refusal(answer->body, answer->body_len, &r) != 0)
			snprintf(r.message, sizeof(r.message), "%.200s", answer->body);
		rp_log_rl(RP_LOG_WARN, "controller %s: %s refused with %d: %s%s",
			agent->conf.controller_addr
				.text[s->controller % agent->conf.controller_addr.n],
			what, answer->status, r.message, hint(answer->status));
	}
}

static void
note_success(struct agent *agent)
{
	agent->session.failed_in_row = 0;
}

static struct agent_device *
device_by_gid(struct agent *agent, const struct rp_gid *gid)
{
	for (uint32_t i = 0; i < agent->n_devices; i++)
		if (rp_gid_equal(&agent->device[i].dev.port->gid, gid))
			return &agent->device[i];
	return NULL;
}

/* ---- registration ---- */

static void
fill_rnic(const struct agent_device *d, struct rp_api_rnic *rnic)
{
	const struct rp_caps *caps = &d->dev.port->caps;

	*rnic = (struct rp_api_rnic){
		.gid = d->dev.port->gid,
		.qpn = d->dev.qp[RP_ROLE_RESPONDER]->qpn,
		.qkey = d->dev.qp[RP_ROLE_RESPONDER]->qkey,
		.generation = d->dev.generation,
		.hw_stamps = (caps->flags & RP_CAP_HW_TX_STAMP) != 0 &&
			(caps->flags & RP_CAP_HW_RX_STAMP) != 0,
		.up = rp_port_link_up(d->dev.port),
	};
	snprintf(rnic->device, sizeof(rnic->device), "%s", d->dev.plan->name);
	snprintf(rnic->driver, sizeof(rnic->driver), "%s", d->dev.port->ops->name);
	snprintf(rnic->tor_id, sizeof(rnic->tor_id), "%s", d->dev.tor_id);
	snprintf(rnic->rail, sizeof(rnic->rail), "%s", d->dev.plan->conf->rail);
}

static void
learn_time(struct agent *agent, int64_t server_ms)
{
	struct session *s = &agent->session;

	for (uint32_t i = 0; i < agent->n_devices; i++) {
		struct rp_tsc now = rp_host_now(&agent->clock);

		/* So far the labels were the host's own idea. */
		if (s->offset_known)
			rp_windows_adjust(agent->device[i].windows, now, server_ms);
		else
			rp_windows_realign(agent->device[i].windows, now, server_ms);
	}
	s->controller_offset_ms = server_ms - agent_mono_ms();
	s->offset_known = true;
}

static bool
is_superseded(const struct rp_http_answer *answer)
{
	struct rp_api_refusal r;

	return answer->status == 409 &&
		rp_api_decode_refusal(answer->body, answer->body_len, &r) == 0 &&
		strcmp(r.code, "superseded") == 0;
}

static void
on_registered(const struct rp_http_answer *answer, void *arg)
{
	struct agent *agent = arg;
	struct session *s = &agent->session;
	struct rp_api_register_reply reply;
	struct rp_api_err err;

	s->registering = false;
	if (is_superseded(answer)) {
		if (s->state != SESSION_SUPERSEDED)
			rp_error(
				"another process registered as %s: this one stops probing; give each its own --agent-id",
				agent->conf.agent_id);
		s->state = SESSION_SUPERSEDED;
		for (uint32_t i = 0; i < agent->n_devices; i++)
			targets_apply(&agent->device[i].targets, &(struct rp_api_pinglist){0},
				agent_mono_ms());
		return;
	}
	if (answer->status != 200 ||
		rp_api_decode_register_reply(answer->body, answer->body_len, &reply, &err) != 0) {
		if (answer->status == 200)
			rp_log_rl(RP_LOG_WARN, "controller's answer: %s%s%s", err.field,
				rp_text_gap(err.field), err.message);
		else
			note_failure(agent, "registration", answer);
		s->next_register_ms = jittered(s, &s->backoff_ms);
		if (answer->retry_after_sec > 0)
			s->next_register_ms = agent_mono_ms() + answer->retry_after_sec * 1000;
		return;
	}
	note_success(agent);
	s->was_registered = true;
	if (s->state == SESSION_UNREGISTERED) {
		s->state = SESSION_REGISTERED;
		rp_info("registered as %s with %u devices, heartbeat every %u s",
			agent->conf.agent_id, agent->n_devices, reply.heartbeat_sec);
	}
	s->backoff_ms = 0;
	s->heartbeat_sec = reply.heartbeat_sec;
	s->next_register_ms = agent_mono_ms() + reply.heartbeat_sec * INT64_C(1000);
	learn_time(agent, reply.server_time_ms);
	for (size_t i = 0; i < reply.n_etags; i++) {
		struct agent_device *d = device_by_gid(agent, &reply.etag[i].gid);

		if (d != NULL)
			snprintf(d->wanted_etag, sizeof(d->wanted_etag), "%s", reply.etag[i].etag);
	}
	rp_api_register_reply_fini(&reply);
}

static void
send_register(struct agent *agent)
{
	struct session *s = &agent->session;
	struct rp_api_register msg = {.n_rnics = agent->n_devices};
	struct rp_buf path = {0}, body = {0};

	msg.rnic = calloc(agent->n_devices, sizeof(*msg.rnic));
	if (msg.rnic != NULL) {
		snprintf(msg.boot_id, sizeof(msg.boot_id), "%s", s->boot_id);
		msg.set_seq = ++s->set_seq;
		snprintf(msg.hostname, sizeof(msg.hostname), "%s", agent->conf.hostname);
		rp_gid_format_ip(&agent->device[0].dev.port->gid, msg.agent_ip);
		snprintf(msg.tor_id, sizeof(msg.tor_id), "%s", agent->conf.tor_id);
		snprintf(msg.version, sizeof(msg.version), "%s", RP_VERSION);
		for (uint32_t i = 0; i < agent->n_devices; i++)
			fill_rnic(&agent->device[i], &msg.rnic[i]);
		rp_api_encode_register(&msg, &body);
		rp_buf_puts(&path, "/v1/agents/");
		rp_http_url_add(&path, agent->conf.agent_id);
		s->registering = call(agent, "PUT", &path, rp_buf_text(&body), body.len, NULL,
			on_registered, agent);
	}
	if (!s->registering)
		s->next_register_ms = jittered(s, &s->backoff_ms);
	free(msg.rnic);
	rp_buf_fini(&path);
	rp_buf_fini(&body);
}

/* ---- pinglists ---- */

struct device_call {
	struct agent *agent;
	struct agent_device *device;
	struct rp_gid gid; /* what was asked for */
};

static struct device_call *
device_call(struct agent *agent, struct agent_device *d, const struct rp_gid *gid)
{
	struct device_call *dc = calloc(1, sizeof(*dc));

	if (dc != NULL)
		*dc = (struct device_call){agent, d, *gid};
	return dc;
}

static void
plan_fetch(struct agent *agent, struct agent_device *d)
{
	int64_t period = agent->conf.pinglist_update_interval_sec * 1000;

	/* The first of a fleet waits for the others, not for its turn. */
	if (d->targets.n_used == 0 && period > EMPTY_FETCH_MS)
		period = EMPTY_FETCH_MS;
	/* +-10 %, so that a fleet that started together drifts apart. */
	d->next_fetch_ms = agent_mono_ms() + period - period / 10 +
		(int64_t)rp_rng_below(&agent->session.rng, (uint64_t)period / 5 + 1);
}

/* With responder_peers = "registered": who may probe us. */
static void
allow_sources(struct agent *agent, struct agent_device *d, const struct rp_api_pinglist *list)
{
	size_t n = list->n_sources < DEVICE_MAX_SOURCES ? list->n_sources : DEVICE_MAX_SOURCES;
	struct source_set *set;

	if (agent->conf.responder_peers != AGENT_PEERS_REGISTERED)
		return;
	set = malloc(sizeof(*set) + n * sizeof(set->gid[0]));
	if (set == NULL)
		return;
	set->n = (uint32_t)n;
	if (n > 0)
		memcpy(set->gid, list->source, n * sizeof(set->gid[0]));
	/* The lcore has not taken the one before: it comes again with the next list. */
	if (device_allow(&d->dev, set) != 0) {
		free(set);
		d->etag[0] = '\0';
	}
}

static void
on_pinglist(const struct rp_http_answer *answer, void *arg)
{
	struct device_call *dc = arg;
	struct agent *agent = dc->agent;
	struct agent_device *d = dc->device;
	struct rp_api_pinglist list;
	struct rp_api_err err;

	free(dc);
	d->fetching = false;
	if (answer->status == 304) {
		note_success(agent);
		d->fetch_backoff_ms = 0;
		snprintf(d->wanted_etag, sizeof(d->wanted_etag), "%s", d->etag);
		plan_fetch(agent, d);
		return;
	}
	if (answer->status == 200 &&
		rp_api_decode_pinglist(answer->body, answer->body_len, &list, &err) == 0) {
		note_success(agent);
		if (agent->session.state == SESSION_REGISTERED)
			targets_apply(&d->targets, &list, agent_mono_ms());
		snprintf(d->etag, sizeof(d->etag), "%s", answer->etag);
		snprintf(d->wanted_etag, sizeof(d->wanted_etag), "%s", answer->etag);
		allow_sources(agent, d, &list);
		rp_api_pinglist_fini(&list);
		d->fetch_backoff_ms = 0;
		plan_fetch(agent, d);
		return;
	}
	if (answer->status == 200)
		rp_log_rl(RP_LOG_WARN, "%s: pinglist is not usable, the old one stays: %s%s%s",
			d->dev.plan->name, err.field, rp_text_gap(err.field), err.message);
	else
		note_failure(agent, "pinglist", answer);
	/* A controller that lost us wants a registration first. */
	if (answer->status == 404 && agent->session.state == SESSION_REGISTERED)
		agent->session.next_register_ms = agent_mono_ms();
	d->next_fetch_ms = jittered(&agent->session, &d->fetch_backoff_ms);
}

static void
send_fetch(struct agent *agent, struct agent_device *d)
{
	struct device_call *dc = device_call(agent, d, &d->dev.port->gid);
	struct rp_buf path = {0};
	char header[64];

	rp_buf_puts(&path, "/v1/pinglist?agent_id=");
	rp_http_url_add(&path, agent->conf.agent_id);
	rp_buf_puts(&path, "&gid=");
	rp_http_url_add(&path, d->dev.gid_text);
	snprintf(header, sizeof(header), "If-None-Match: \"%s\"", d->etag);
	d->fetching = dc != NULL &&
		call(agent, "GET", &path, NULL, 0, *d->etag == '\0' ? NULL : header, on_pinglist,
			dc);
	if (!d->fetching) {
		free(dc);
		d->next_fetch_ms = jittered(&agent->session, &d->fetch_backoff_ms);
	}
	rp_buf_fini(&path);
}

/* ---- records of single RNICs ---- */

static void
on_record(const struct rp_http_answer *answer, void *arg)
{
	struct device_call *dc = arg;
	struct rp_api_target record;
	struct rp_api_err err;

	dc->agent->session.asking--;
	if (answer->status == 200 &&
		rp_api_decode_target(answer->body, answer->body_len, &record, &err) == 0)
		targets_refresh(&dc->device->targets, &record);
	else if (answer->status == 404)
		/* It left: the list without it is there to be fetched. */
		dc->device->next_fetch_ms =
			agent_mono_ms() + (int64_t)rp_rng_below(&dc->agent->session.rng, 1000);
	targets_asked(&dc->device->targets, &dc->gid, agent_mono_ms());
	free(dc);
}

static void
send_ask(struct agent *agent, struct agent_device *d, const struct target_entry *e)
{
	struct device_call *dc = device_call(agent, d, &e->info.gid);
	char text[RP_GID_TEXT_MAX];
	struct rp_buf path = {0};

	rp_buf_puts(&path, "/v1/rnics/");
	rp_http_url_add(&path, rp_gid_format(&e->info.gid, text));
	if (dc != NULL && call(agent, "GET", &path, NULL, 0, NULL, on_record, dc)) {
		agent->session.asking++;
	} else {
		targets_asked(&d->targets, &e->info.gid, agent_mono_ms());
		free(dc);
	}
	rp_buf_fini(&path);
}

/* ---- reports ---- */

static void
on_report(const struct rp_http_answer *answer, void *arg)
{
	struct agent *agent = arg;
	struct spool *spool = &agent->spool;
	bool final = answer->status >= 400 && answer->status < 500 && answer->status != 408 &&
		answer->status != 429;
	bool is_head;

	/* While it was under way, a full spool may have dropped it. */
	is_head = spool->n > 0 && spool_head(spool)->seq == spool->sending_seq;
	spool->sending = false;
	if (answer->status == 200 || answer->status == 202) {
		note_success(agent);
		spool->accepted++;
		spool->backoff_ms = 0;
		if (is_head)
			spool_pop(spool);
		return;
	}
	note_failure(agent, "report", answer);
	if (final) {
		spool->refused++;
		if (is_head)
			spool_pop(spool);
		return;
	}
	spool->retry_at_ms = jittered(&agent->session, &spool->backoff_ms);
	if (answer->retry_after_sec > 0)
		spool->retry_at_ms = agent_mono_ms() + answer->retry_after_sec * 1000;
}

static void
send_report(struct agent *agent)
{
	const struct spool_item *item = spool_head(&agent->spool);
	struct rp_buf path = {0};

	rp_buf_puts(&path, "/v1/reports");
	agent->spool.sending_seq = item->seq;
	agent->spool.sending =
		call(agent, "POST", &path, item->json, item->len, NULL, on_report, agent);
	if (!agent->spool.sending)
		agent->spool.retry_at_ms = jittered(&agent->session, &agent->spool.backoff_ms);
	rp_buf_fini(&path);
}

/* ---- life ---- */

void
session_init(struct agent *agent)
{
	struct session *s = &agent->session;
	uint8_t b[16];
	uint64_t seed;

	rp_random_bytes(b, sizeof(b));
	b[6] = (uint8_t)((b[6] & 0x0F) | 0x40); /* RFC 4122, version 4 */
	b[8] = (uint8_t)((b[8] & 0x3F) | 0x80);
	snprintf(s->boot_id, sizeof(s->boot_id),
		"%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", b[0], b[1],
		b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13], b[14],
		b[15]);
	rp_random_bytes(&seed, sizeof(seed));
	rp_rng_init(&s->rng, seed);
	s->heartbeat_sec = 60;
	/* The first call comes at once; what follows a failure is jittered. */
	s->next_register_ms = agent_mono_ms();
}

static void
on_left(const struct rp_http_answer *answer, void *arg)
{
	struct agent *agent = arg;
	struct session *s = &agent->session;

	s->leave_sent = false;
	if (answer->status == 0 || answer->status == 429 || answer->status >= 500) {
		note_failure(agent, "leaving", answer);
		s->leave_at_ms = agent_mono_ms() + BACKOFF_MIN_MS;
		return;
	}
	s->state = SESSION_LEFT;
}

static void
send_leave(struct agent *agent)
{
	struct session *s = &agent->session;
	struct rp_buf path = {0};

	rp_buf_puts(&path, "/v1/agents/");
	rp_http_url_add(&path, agent->conf.agent_id);
	rp_buf_puts(&path, "?boot_id=");
	rp_http_url_add(&path, s->boot_id);
	s->leave_sent = call(agent, "DELETE", &path, NULL, 0, NULL, on_left, agent);
	if (!s->leave_sent)
		s->leave_at_ms = agent_mono_ms() + BACKOFF_MIN_MS;
	rp_buf_fini(&path);
}

/* A registration under way must land first, or it would bring us back. */
static void
turn_leaving(struct agent *agent, int64_t now)
{
	struct session *s = &agent->session;

	if (s->registering || s->leave_sent || now < s->leave_at_ms)
		return;
	if (s->was_registered)
		send_leave(agent);
	else
		s->state = SESSION_LEFT;
}

static void
turn_device(struct agent *agent, struct agent_device *d, int64_t now)
{
	struct session *s = &agent->session;
	struct target_entry *e;

	if (!d->fetching &&
		(now >= d->next_fetch_ms ||
			(d->fetch_backoff_ms == 0 && strcmp(d->etag, d->wanted_etag) != 0)))
		send_fetch(agent, d);
	while (s->asking < ASKING_MAX && (e = targets_next_ask(&d->targets, now)) != NULL)
		send_ask(agent, d, e);
}

void
session_turn(struct agent *agent)
{
	struct session *s = &agent->session;
	int64_t now = agent_mono_ms();

	if (s->state == SESSION_SUPERSEDED)
		return;
	if (!agent->spool.sending && spool_head(&agent->spool) != NULL &&
		now >= agent->spool.retry_at_ms)
		send_report(agent);
	if (s->state == SESSION_LEAVING)
		turn_leaving(agent, now);
	if (s->state == SESSION_LEAVING || s->state == SESSION_LEFT)
		return;
	if (!s->registering && now >= s->next_register_ms)
		send_register(agent);
	for (uint32_t i = 0; s->state == SESSION_REGISTERED && i < agent->n_devices; i++)
		turn_device(agent, &agent->device[i], now);
}

void
session_leave(struct agent *agent)
{
	struct session *s = &agent->session;

	if (s->state == SESSION_SUPERSEDED)
		return;
	s->state = SESSION_LEAVING;
	turn_leaving(agent, agent_mono_ms());
}

bool
session_has_left(const struct agent *agent)
{
	const struct session *s = &agent->session;

	return s->state == SESSION_LEFT || s->state == SESSION_SUPERSEDED;
}

bool
session_can_deliver(const struct agent *agent)
{
	const struct session *s = &agent->session;

	return s->was_registered && s->state != SESSION_SUPERSEDED && s->failed_in_row == 0 &&
		(agent->spool.sending || spool_head(&agent->spool) != NULL);
}
