/* SPDX-License-Identifier: BSD-3-Clause */

#include <inttypes.h>

#include "api.h"

void
api_healthz_get(struct rp_http_request *req, void *arg RP_UNUSED)
{
	struct rp_buf out = {0};

	rp_buf_puts(&out, "{\"status\":\"ok\"}");
	api_reply_json(req, &out);
}

void
api_readyz_get(struct rp_http_request *req, void *arg)
{
	struct controller *c = arg;
	struct store_counters store;
	struct rp_buf out = {0};

	store_counters(c->store, &store);
	if (!store.up) {
		rp_http_reply_error(req, 503, "store_down", NULL,
			"the store cannot be written; pinglists are served from memory");
		return;
	}
	rp_buf_puts(&out, "{\"status\":\"ready\",\"store\":\"up\"}");
	api_reply_json(req, &out);
}

void
api_version_get(struct rp_http_request *req, void *arg RP_UNUSED)
{
	struct rp_buf out = {0};

	rp_buf_puts(&out,
		"{\"program\":\"rpingmesh-controller\",\"version\":\"" RP_VERSION "\",\"api\":1}");
	api_reply_json(req, &out);
}

/* One metric family. Names follow Prometheus: base units, _total. */
static void
put_family(struct rp_buf *out, const char *name, const char *type, const char *help)
{
	rp_buf_printf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void
put_counter(struct rp_buf *out, const char *name, const char *help, uint64_t value)
{
	put_family(out, name, "counter", help);
	rp_buf_printf(out, "%s %" PRIu64 "\n", name, value);
}

static void
put_gauge(struct rp_buf *out, const char *name, const char *help, double value)
{
	put_family(out, name, "gauge", help);
	rp_buf_printf(out, "%s %.15g\n", name, value);
}

static void
put_seconds(struct rp_buf *out, const char *name, const char *help, uint64_t ns)
{
	put_family(out, name, "counter", help);
	rp_buf_printf(out, "%s %.9f\n", name, (double)ns * 1e-9);
}

static void
put_registry(struct rp_buf *out, struct controller *c)
{
	int64_t now_ms = controller_now_ms();
	struct rp_table_node *node;
	size_t pos = 0, active = 0, agents, rnics;
	uint64_t conflicts, builds, build_ns;

	pthread_mutex_lock(&c->state);
	for (node = rp_table_walk(&c->registry.by_id, &pos, NULL); node != NULL;
		node = rp_table_walk(&c->registry.by_id, &pos, node))
		active += registry_is_active(
			&c->registry, rp_container_of(node, struct registry_agent, node), now_ms);
	agents = c->registry.by_id.n;
	rnics = c->registry.by_gid.n;
	conflicts = c->registry.conflicts;
	pthread_mutex_unlock(&c->state);
	pthread_mutex_lock(&c->plan_lock);
	builds = c->plan_builds;
	build_ns = c->plan_build_ns;
	pthread_mutex_unlock(&c->plan_lock);

	put_family(out, "rpingmesh_controller_agents", "gauge", "Registered agents by state.");
	rp_buf_printf(out,
		"rpingmesh_controller_agents{state=\"active\"} %zu\n"
		"rpingmesh_controller_agents{state=\"inactive\"} %zu\n",
		active, agents - active);
	put_gauge(out, "rpingmesh_controller_rnics", "Registered RNICs.", (double)rnics);
	put_counter(out, "rpingmesh_controller_register_conflicts_total",
		"Registrations that were refused with 409.", conflicts);
	put_counter(out, "rpingmesh_controller_plan_builds_total", "Plans built.", builds);
	put_seconds(out, "rpingmesh_controller_plan_build_seconds_total",
		"Time spent building plans.", build_ns);
}

static void
put_reports(struct rp_buf *out, struct controller *c)
{
	size_t paths, windows;

	pthread_mutex_lock(&c->windows_lock);
	paths = c->windows.paths.n;
	windows = c->windows.n_windows;
	pthread_mutex_unlock(&c->windows_lock);

	put_family(out, "rpingmesh_controller_reports_total", "counter",
		"Reports by what became of them.");
	rp_buf_printf(out,
		"rpingmesh_controller_reports_total{result=\"accepted\"} %" PRIu64 "\n"
		"rpingmesh_controller_reports_total{result=\"duplicate\"} %" PRIu64 "\n"
		"rpingmesh_controller_reports_total{result=\"invalid\"} %" PRIu64 "\n"
		"rpingmesh_controller_reports_total{result=\"refused\"} %" PRIu64 "\n",
		atomic_load(&c->reports_accepted), atomic_load(&c->reports_duplicate),
		atomic_load(&c->reports_invalid), atomic_load(&c->reports_refused));
	put_counter(out, "rpingmesh_analyzer_path_summaries_total",
		"Path rows of accepted reports.", atomic_load(&c->rows));
	put_gauge(
		out, "rpingmesh_controller_paths", "Paths with windows in memory.", (double)paths);
	put_gauge(out, "rpingmesh_controller_windows", "Windows in memory.", (double)windows);
}

static void
put_store(struct rp_buf *out, struct controller *c)
{
	struct store_counters s;

	store_counters(c->store, &s);
	put_gauge(out, "rpingmesh_controller_store_up", "Whether the last write succeeded.", s.up);
	put_gauge(out, "rpingmesh_controller_store_queued_jobs", "Writes that wait.",
		(double)s.queued);
	put_gauge(out, "rpingmesh_controller_store_unsaved_agents",
		"Agents in memory that the store has not taken yet.", (double)s.unsaved);
	put_counter(out, "rpingmesh_controller_store_commits_total", "Commits.", s.commits);
	put_counter(out, "rpingmesh_controller_store_failures_total",
		"Batches that could not be written.", s.failures);
	put_counter(out, "rpingmesh_controller_store_rows_skipped_total",
		"Stored rows left out because they are damaged or of a newer release.",
		s.rows_skipped);
	put_seconds(out, "rpingmesh_controller_store_commit_seconds_total",
		"Time spent in commits.", s.commit_ns);
}

/* One sample per listener of one counter, found at @offset. */
static void
put_per_listener(struct rp_buf *out, const struct rp_http_counters both[2], const char *name,
	const char *type, const char *help, size_t offset)
{
	static const char *const listener[] = {"agent", "ui"};

	put_family(out, name, type, help);
	for (int i = 0; i < 2; i++)
		rp_buf_printf(out, "%s{listener=\"%s\"} %" PRIu64 "\n", name, listener[i],
			*(const uint64_t *)(const void *)((const char *)&both[i] + offset));
}

static void
put_http(struct rp_buf *out, struct controller *c)
{
	static const char *const listener[] = {"agent", "ui"};
	struct rp_http_counters both[2];

	rp_http_server_counters(c->agent_server, &both[0]);
	rp_http_server_counters(c->ui_server, &both[1]);
	put_per_listener(out, both, "rpingmesh_controller_http_connections_total", "counter",
		"Connections accepted.", offsetof(struct rp_http_counters, connections));
	put_per_listener(out, both, "rpingmesh_controller_http_open_connections", "gauge",
		"Connections open.", offsetof(struct rp_http_counters, connections_open));
	put_per_listener(out, both, "rpingmesh_controller_http_cap_pauses_total", "counter",
		"Times max_connections stopped accepting.",
		offsetof(struct rp_http_counters, cap_pauses));
	put_per_listener(out, both, "rpingmesh_controller_http_accept_errors_total", "counter",
		"Failed accepts, such as for want of descriptors.",
		offsetof(struct rp_http_counters, accept_errors));
	put_per_listener(out, both, "rpingmesh_controller_http_deadline_closes_total", "counter",
		"Connections closed for slowness.",
		offsetof(struct rp_http_counters, deadline_closes));
	put_family(out, "rpingmesh_controller_http_requests_total", "counter",
		"Answers by class of status.");
	for (int i = 0; i < 2; i++)
		for (int status = 2; status <= 5; status++)
			rp_buf_printf(out,
				"rpingmesh_controller_http_requests_total{listener=\"%s\","
				"status=\"%dxx\"} %" PRIu64 "\n",
				listener[i], status, both[i].answers[status]);
	put_family(out, "rpingmesh_controller_http_request_seconds_total", "counter",
		"Time from request read to answer begun.");
	for (int i = 0; i < 2; i++)
		rp_buf_printf(out,
			"rpingmesh_controller_http_request_seconds_total{listener=\"%s\"} %.9f\n",
			listener[i], (double)both[i].answer_ns * 1e-9);
}

void
api_metrics_get(struct rp_http_request *req, void *arg)
{
	struct controller *c = arg;
	struct rp_buf out = {0};

	put_family(&out, "rpingmesh_build_info", "gauge", "Version of this program.");
	rp_buf_puts(&out,
		"rpingmesh_build_info{program=\"rpingmesh-controller\",version=\"" RP_VERSION
		"\"} 1\n");
	put_gauge(&out, "process_start_time_seconds", "Start of the process since the epoch.",
		(double)c->started_ms / 1000);
	put_registry(&out, c);
	put_reports(&out, c);
	put_store(&out, c);
	put_http(&out, c);
	rp_http_reply(req, 200, "text/plain; version=0.0.4; charset=utf-8", &out);
}
