/* SPDX-License-Identifier: BSD-3-Clause */

#include "controller.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "rollup.h"
#include "rp_flow.h"
#include "rp_log.h"

#define RP_LOG_COMPONENT "controller"

#define AGENT_THREADS 2
#define UI_THREADS    1
#define HEADER_BYTES  16384
#define IDLE_MS       120000u
#define TOUCH_MS      15000
#define EXPIRE_MS     60000

int64_t
controller_now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* The names of one GID, copied from the registry. */
struct names {
	char host[RP_API_NAME_MAX];
	char tor[RP_API_NAME_MAX];
	bool guess;
};

/* The state lock is held, or no thread runs yet. */
static void
find_names(const struct controller *c, const struct rp_gid *gid, const char *fallback_host,
	struct names *ret_names)
{
	const struct registry_rnic *rnic = registry_find_gid(&c->registry, gid);
	const struct former_gid *former = NULL;
	const char *host = fallback_host, *tor = REGISTRY_TOR_UNSPECIFIED;

	if (rnic == NULL)
		former = former_find_gid(&c->registry.former, NULL, gid, controller_now_ms());
	if (rnic != NULL) {
		host = rnic->agent->set.hostname;
		tor = registry_tor(rnic);
	} else if (former != NULL) {
		host = former->host;
		tor = former->tor;
	}
	ret_names->guess = rnic == NULL && former == NULL;
	snprintf(ret_names->host, sizeof(ret_names->host), "%s", host);
	snprintf(ret_names->tor, sizeof(ret_names->tor), "%s", tor);
}

static struct windows_end
end_of(const struct rp_gid *gid, const struct names *names)
{
	return (struct windows_end){*gid, names->host, names->tor, names->guess};
}

/* Readers hold the windows' lock for long: nobody waits for it with the registry locked. */
void
controller_add_rows(struct controller *c, struct rp_api_report *report)
{
	struct names *names = calloc(report->n_peers + 1, sizeof(*names));
	struct windows_end from, to;
	int rc = names == NULL ? -ENOMEM : 0;

	if (rc == 0) {
		pthread_mutex_lock(&c->state);
		find_names(c, &report->gid, report->agent_id, &names[report->n_peers]);
		for (size_t i = 0; i < report->n_peers; i++)
			find_names(c, &report->peer[i].gid, "", &names[i]);
		pthread_mutex_unlock(&c->state);
		from = end_of(&report->gid, &names[report->n_peers]);
		pthread_mutex_lock(&c->windows_lock);
		for (size_t i = 0; i < report->n_rows && rc == 0; i++) {
			struct rp_api_row *row = &report->row[i];

			to = end_of(&report->peer[row->peer].gid, &names[row->peer]);
			rc = windows_add(&c->windows, &from, &to, report->window_start_ms,
				report->window_ms, row);
		}
		pthread_mutex_unlock(&c->windows_lock);
	}
	free(names);
	if (rc != 0)
		rp_log_rl(RP_LOG_ERROR, "out of memory: rows are in the store only");
}

static int
restore_row(int64_t minute_ms, const struct rp_gid *source, const struct rp_gid *target,
	struct rp_api_row *row, void *arg)
{
	struct controller *c = arg;
	struct names source_names, target_names;
	struct windows_end from, to;
	int rc;

	find_names(c, source, "", &source_names);
	find_names(c, target, "", &target_names);
	from = end_of(source, &source_names);
	to = end_of(target, &target_names);
	rc = windows_add(&c->windows, &from, &to, minute_ms, (uint32_t)ROLLUP_MS, row);
	rp_api_row_fini(row);
	return rc;
}

static int
load(struct controller *c)
{
	int64_t since_ms = controller_now_ms() - c->conf.analyzer_window_retention * ROLLUP_MS;
	int rc = store_load_registry(c->store, &c->registry);

	if (rc == 0)
		rc = store_load_rollups(c->store, since_ms, restore_row, c);
	if (rc == 0)
		rp_info("store %s: %zu agents, %zu rnics, %zu paths restored", c->conf.store,
			c->registry.by_id.n, c->registry.by_gid.n, c->windows.paths.n);
	return rc;
}

static void
set_plan_params(struct controller *c)
{
	const struct controller_conf *conf = &c->conf;
	double reached;

	c->plan_params = (struct plan_params){
		.sample_size = (uint32_t)conf->inter_tor_sample_size,
		.min_sources = (uint32_t)conf->inter_tor_min_sources,
		.rotation_sec = (uint32_t)conf->inter_tor_rotation_sec,
		.unspecified_max = (uint32_t)conf->unspecified_mesh_max_targets,
		.flow_labels = rp_coverage_labels((uint32_t)conf->ecmp_paths_assumed,
			conf->ecmp_coverage_probability, (uint32_t)conf->ecmp_max_flow_labels,
			&reached),
	};
	if (reached < conf->ecmp_coverage_probability)
		rp_warn("ecmp_max_flow_labels %" PRId64 " covers %" PRId64
			" paths with probability %.4f only, not %.4f",
			conf->ecmp_max_flow_labels, conf->ecmp_paths_assumed, reached,
			conf->ecmp_coverage_probability);
	else
		rp_info("%" PRIu32 " flow labels per pair cover %" PRId64
			" paths with probability %.4f",
			c->plan_params.flow_labels, conf->ecmp_paths_assumed, reached);
}

static int
open_server(struct controller *c, const char *listen, const struct rp_http_route *route,
	size_t n_routes, unsigned int threads, struct rp_http_server **ret_server, char *why)
{
	struct rp_http_server_conf conf = {
		.listen = listen,
		.route = route,
		.n_routes = n_routes,
		.arg = c,
		.threads = threads,
		.max_header_bytes = HEADER_BYTES,
		.max_body_bytes = (size_t)c->conf.max_body_bytes,
		.max_connections = (uint32_t)c->conf.max_connections,
		.deadline_ms = (uint32_t)c->conf.request_deadline_ms,
		.idle_ms = IDLE_MS,
	};
	char cause[RP_HTTP_WHY_MAX], address[RP_HTTP_ADDRESS_MAX];
	int rc = rp_http_server_open(&conf, ret_server, cause);

	if (rc == -EINVAL) {
		snprintf(why, STORE_WHY_MAX, "%s", cause);
		return RP_EX_CONFIG;
	}
	if (rc != 0) {
		snprintf(why, STORE_WHY_MAX, "%s%s", cause,
			rc == -EADDRINUSE ? ": stop the other process, or set another address"
					  : "");
		return rc == -EACCES ? RP_EX_PERMISSION : RP_EX_UNAVAILABLE;
	}
	rp_http_server_address(*ret_server, address);
	rp_info("listening on %s", address);
	return 0;
}

static int
open_store(struct controller *c, char *why)
{
	int rc = store_open(c->conf.store + strlen("sqlite:"), &c->store, why);

	if (rc == -EBUSY)
		return RP_EX_UNAVAILABLE;
	if (rc == -EPROTO)
		return RP_EX_CONFIG;
	if (rc == 0 && load(c) != 0) {
		snprintf(why, STORE_WHY_MAX, "%s cannot be read", c->conf.store);
		rc = -EIO;
	}
	return rc == 0 ? 0 : RP_EX_IO;
}

int
controller_start(struct controller *c, const struct controller_conf *conf, char *why)
{
	int rc;

	c->conf = *conf;
	c->started_ms = controller_now_ms();
	pthread_mutex_init(&c->state, NULL);
	pthread_mutex_init(&c->plan_build_lock, NULL);
	pthread_mutex_init(&c->plan_lock, NULL);
	pthread_mutex_init(&c->windows_lock, NULL);
	registry_init(
		&c->registry, conf->active_threshold_sec * 1000, conf->stale_threshold_sec * 1000);
	windows_init(&c->windows, (uint32_t)conf->analyzer_window_retention);
	set_plan_params(c);
	rc = open_store(c, why);
	if (rc == 0)
		rc = open_server(c, conf->agent_listen, agent_routes, n_agent_routes, AGENT_THREADS,
			&c->agent_server, why);
	if (rc == 0)
		rc = open_server(
			c, conf->ui_listen, ui_routes, n_ui_routes, UI_THREADS, &c->ui_server, why);
	if (rc != 0)
		return rc;
	if (store_start(c->store) != 0 || rp_http_server_start(c->agent_server) != 0 ||
		rp_http_server_start(c->ui_server) != 0) {
		snprintf(why, STORE_WHY_MAX, "cannot start threads");
		return RP_EX_OS;
	}
	return 0;
}

void
controller_stop(struct controller *c)
{
	rp_http_server_close(c->agent_server);
	rp_http_server_close(c->ui_server);
	store_close(c->store);
	plan_put(c->plan);
	registry_fini(&c->registry);
	windows_fini(&c->windows);
	pthread_mutex_destroy(&c->windows_lock);
	pthread_mutex_destroy(&c->plan_lock);
	pthread_mutex_destroy(&c->plan_build_lock);
	pthread_mutex_destroy(&c->state);
}

static void
submit(struct controller *c, struct store_job *job)
{
	if (job != NULL && store_submit(c->store, job) != 0)
		store_job_free(job);
}

/* last_seen of all agents that were heard, in one statement. */
static void
save_last_seen(struct controller *c)
{
	struct store_job *job = store_job_new(STORE_TOUCH);
	struct rp_table_node *node;
	struct rp_buf json = {0};
	size_t pos = 0, n = 0;

	rp_buf_puts(&json, "[");
	pthread_mutex_lock(&c->state);
	for (node = rp_table_walk(&c->registry.by_id, &pos, NULL); node != NULL;
		node = rp_table_walk(&c->registry.by_id, &pos, node)) {
		struct registry_agent *agent = rp_container_of(node, struct registry_agent, node);

		if (!agent->touched)
			continue;
		agent->touched = false;
		rp_buf_puts(&json, n++ > 0 ? ",[" : "[");
		rp_buf_json_string(&json, agent->agent_id);
		rp_buf_printf(&json, ",%" PRId64 "]", agent->last_seen_ms);
	}
	pthread_mutex_unlock(&c->state);
	rp_buf_puts(&json, "]");
	if (job == NULL || n == 0 || rp_buf_failed(&json)) {
		rp_buf_fini(&json);
		store_job_free(job);
		return;
	}
	job->json = json.data;
	submit(c, job);
}

static void
expire_agents(struct controller *c, int64_t now_ms)
{
	char agent_id[RP_API_NAME_MAX];
	bool found;

	do {
		struct store_job *job;

		pthread_mutex_lock(&c->state);
		found = registry_expire_one(&c->registry, now_ms, agent_id);
		pthread_mutex_unlock(&c->state);
		if (!found)
			return;
		rp_info("agent %s: silent for stale_threshold_sec, forgotten", agent_id);
		job = store_job_new(STORE_DELETE_AGENT);
		if (job != NULL)
			memcpy(job->agent_id, agent_id, sizeof(agent_id));
		submit(c, job);
	} while (found);
}

static void
expire_results(struct controller *c, int64_t now_ms)
{
	struct store_job *job = store_job_new(STORE_EXPIRE);

	if (job != NULL) {
		job->ledger_before_ms = now_ms - c->conf.retention_ledger_sec * 1000;
		job->rollup_before_ms = now_ms - c->conf.retention_1m_sec * 1000;
		submit(c, job);
	}
	pthread_mutex_lock(&c->windows_lock);
	windows_expire(&c->windows, now_ms - c->conf.retention_1m_sec * 1000);
	pthread_mutex_unlock(&c->windows_lock);
}

void
controller_tick(struct controller *c)
{
	int64_t now_ms = controller_now_ms();

	expire_agents(c, now_ms);
	if (now_ms - c->last_touch_ms >= TOUCH_MS) {
		c->last_touch_ms = now_ms;
		save_last_seen(c);
	}
	if (now_ms - c->last_expire_ms >= EXPIRE_MS) {
		c->last_expire_ms = now_ms;
		expire_results(c, now_ms);
	}
}
