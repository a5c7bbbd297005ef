/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "api.h"
#include "rp_log.h"
#include "rp_text.h"

#define RP_LOG_COMPONENT "api"

#define BUSY_SEC        1
#define FAILING_SEC     5
#define FUTURE_SLACK_MS 60000

struct report_job {
	struct controller *controller;
	struct rp_http_request *req;
};

static void
reply(struct rp_http_request *req, bool accepted, bool duplicate)
{
	struct rp_api_report_reply msg = {.accepted = accepted, .duplicate = duplicate};
	struct rp_buf out = {0};

	rp_api_encode_report_reply(&msg, &out);
	api_reply_json(req, &out);
}

/* The writer's thread: the report is in the store, or the sender keeps it. */
static void
on_written(struct store_job *job, int rc, void *arg)
{
	struct report_job context = *(struct report_job *)arg;
	struct controller *c = context.controller;

	free(arg);
	if (rc != 0) {
		atomic_fetch_add(&c->reports_refused, 1);
		api_reply_busy(context.req, FAILING_SEC, "the store cannot be written");
		return;
	}
	if (job->duplicate) {
		atomic_fetch_add(&c->reports_duplicate, 1);
	} else {
		atomic_fetch_add(&c->reports_accepted, 1);
		atomic_fetch_add(&c->rows, job->report.n_rows);
		controller_add_rows(c, &job->report);
	}
	reply(context.req, true, job->duplicate);
}

static struct store_job *
make_job(struct controller *c, struct rp_http_request *req)
{
	struct store_job *job = store_job_new(STORE_REPORT);
	struct report_job *context = calloc(1, sizeof(*context));

	if (job == NULL || context == NULL) {
		store_job_free(job);
		free(context);
		return NULL;
	}
	*context = (struct report_job){c, req};
	job->done = on_written;
	job->arg = context;
	job->now_ms = controller_now_ms();
	return job;
}

/*
 * What the decoder cannot know.
 * @return 0, -EINVAL, -EPERM (not the agent's GID), -ENOENT (no such agent: its
 * heartbeat will come, as after the loss of the store)
 */
static int
check(struct controller *c, const struct rp_api_report *report, int64_t now_ms,
	struct rp_api_err *reterr)
{
	bool may, known;

	if (report->window_start_ms > now_ms + FUTURE_SLACK_MS) {
		snprintf(reterr->field, sizeof(reterr->field), "window_start_ms");
		snprintf(reterr->message, sizeof(reterr->message),
			"is more than %d s ahead of the controller's clock",
			FUTURE_SLACK_MS / 1000);
		return -EINVAL;
	}
	pthread_mutex_lock(&c->state);
	may = registry_may_report(&c->registry, report->agent_id, &report->gid, now_ms);
	known = registry_find(&c->registry, report->agent_id) != NULL ||
		former_find_agent(&c->registry.former, report->agent_id, now_ms) != NULL;
	pthread_mutex_unlock(&c->state);
	return may ? 0 : known ? -EPERM : -ENOENT;
}

static void
reply_invalid(struct controller *c, struct rp_http_request *req, const struct rp_api_err *err)
{
	atomic_fetch_add(&c->reports_invalid, 1);
	rp_log_rl(RP_LOG_WARN, "report from %s: %s%s%s", rp_http_request_peer(req), err->field,
		rp_text_gap(err->field), err->message);
	rp_http_reply_error(req, 400, "invalid", err->field, "%s%s%s", err->field,
		rp_text_gap(err->field), err->message);
}

void
api_report_post(struct rp_http_request *req, void *arg)
{
	struct controller *c = arg;
	struct rp_api_err err = {0};
	struct store_job *job;
	const char *body;
	size_t len;
	int rc;

	if (!api_json_body(req, &body, &len))
		return;
	job = make_job(c, req);
	if (job == NULL) {
		api_reply_no_memory(req);
		return;
	}
	rc = rp_api_decode_report(body, len, &job->report, &err);
	if (rc == 0)
		rc = check(c, &job->report, job->now_ms, &err);
	if (rc == 0 && c->conf.analyzer_enabled) {
		rc = store_submit(c->store, job);
		if (rc == 0)
			return;
	}
	free(job->arg);
	store_job_free(job);
	if (rc == -EINVAL) {
		reply_invalid(c, req, &err);
	} else if (rc == -EPERM) {
		atomic_fetch_add(&c->reports_invalid, 1);
		rp_log_rl(RP_LOG_WARN, "report from %s: its agent does not hold its GID",
			rp_http_request_peer(req));
		rp_http_reply_error(req, 409, "gid_not_held", "gid",
			"this agent has not registered the GID within stale_threshold_sec");
	} else if (rc == -ENOENT) {
		atomic_fetch_add(&c->reports_refused, 1);
		api_reply_busy(req, FAILING_SEC, "this agent has not registered yet");
	} else if (rc == -EAGAIN) {
		atomic_fetch_add(&c->reports_refused, 1);
		api_reply_busy(req, BUSY_SEC, "too many reports are waiting");
	} else if (rc != 0) {
		api_reply_no_memory(req);
	} else {
		reply(req, false, false);
	}
}
