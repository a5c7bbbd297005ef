/* SPDX-License-Identifier: BSD-3-Clause */

#include "options.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "rp_http_server.h"

#define C(field) offsetof(struct controller_conf, field)

#define YEAR_SEC 31536000.0

static const char *const log_levels[] = {"debug", "info", "warn", "error", NULL};
static const char *const log_formats[] = {"auto", "text", "json", NULL};

static const struct rp_opt controller_opts[] = {
	{"agent_listen", RP_OPT_STRING, C(agent_listen), ":8080", NULL, 2, 255,
		.help = "address for agents: HOST:PORT, [IPV6]:PORT or :PORT; port 0 takes any"},
	{"ui_listen", RP_OPT_STRING, C(ui_listen), "127.0.0.1:8081", NULL, 2, 255,
		.help = "address for people and metrics: the read API, /metrics"},
	{"store", RP_OPT_STRING, C(store), "sqlite:/var/lib/rpingmesh/controller.db", NULL, 1, 1000,
		.help = "where registry and results are kept: sqlite:PATH"},
	{"heartbeat_sec", RP_OPT_DURATION, C(heartbeat_sec), "60", "s", 1, 3600,
		.help = "how often agents register again; at most half of active_threshold_sec"},
	{"active_threshold_sec", RP_OPT_DURATION, C(active_threshold_sec), "300", "s", 1, 86400,
		.help = "age of the last heartbeat from which an agent is left out of pinglists"},
	{"stale_threshold_sec", RP_OPT_DURATION, C(stale_threshold_sec), "900", "s", 1, 604800,
		.help = "age of the last heartbeat from which an agent is forgotten"},
	{"inter_tor_sample_size", RP_OPT_INT, C(inter_tor_sample_size), "5", NULL, 0, 64,
		.help = "remote ToRs that one RNIC probes"},
	{"inter_tor_min_sources", RP_OPT_INT, C(inter_tor_min_sources), "3", NULL, 0, 64,
		.help = "ToRs from which every ToR is probed at least"},
	{"inter_tor_rotation_sec", RP_OPT_DURATION, C(inter_tor_rotation_sec), "3600", "s", 10,
		604800, .help = "time after which one of an RNIC's remote ToRs is replaced"},
	{"unspecified_mesh_max_targets", RP_OPT_INT, C(unspecified_mesh_max_targets), "32", NULL, 1,
		10000, .help = "targets of one RNIC among those without a tor_id"},
	{"ecmp_paths_assumed", RP_OPT_INT, C(ecmp_paths_assumed), "16", NULL, 1, 1024,
		.help = "equal-cost paths between two ToRs"},
	{"ecmp_coverage_probability", RP_OPT_FLOAT, C(ecmp_coverage_probability), "0.99", NULL,
		0.01, 0.999999, .help = "probability with which the flow labels cover all of them"},
	{"ecmp_max_flow_labels", RP_OPT_INT, C(ecmp_max_flow_labels), "128", NULL, 1, 4096,
		.help = "most flow labels of one pair"},
	{"analyzer_enabled", RP_OPT_BOOL, C(analyzer_enabled), "true", NULL, 0, 0,
		.help = "keep reports; false answers them with accepted: false"},
	{"analyzer_window_retention", RP_OPT_INT, C(analyzer_window_retention), "60", NULL, 1, 1440,
		.help = "windows of a path that are kept in memory"},
	{"retention_1m_sec", RP_OPT_DURATION, C(retention_1m_sec), "86400", "s", 3600, YEAR_SEC,
		.help = "age from which one-minute rows leave the store"},
	{"retention_ledger_sec", RP_OPT_DURATION, C(retention_ledger_sec), "172800", "s", 3600,
		YEAR_SEC, .help = "time for which a repeated report is recognised"},
	{"max_body_bytes", RP_OPT_SIZE, C(max_body_bytes), "1MiB", "bytes", 1024, 67108864,
		.help = "longest request body; more is 413"},
	{"max_connections", RP_OPT_INT, C(max_connections), "20000", NULL, 1, 1000000,
		.help = "open connections of one listener; more wait"},
	{"request_deadline_ms", RP_OPT_DURATION, C(request_deadline_ms), "10000", "ms", 100, 600000,
		.help = "time for reading one request, and for writing one reply"},
	{"log_level", RP_OPT_ENUM, C(log_level), "info", NULL, 0, 0, log_levels,
		.help = "lowest level that is logged"},
	{"log_format", RP_OPT_ENUM, C(log_format), "auto", NULL, 0, 0, log_formats,
		.help = "auto is text on a terminal, else json"},
	{NULL},
};

static int
check_listen(const char *key, const char *address, char *why)
{
	char cause[RP_HTTP_WHY_MAX];

	if (rp_http_check_listen(address, cause) == 0)
		return 0;
	snprintf(why, RP_OPT_WHY_MAX, "%s: %s", key, cause);
	return -EINVAL;
}

static int
check(const void *conf, char *why)
{
	const struct controller_conf *c = conf;

	if (c->active_threshold_sec < 2 * c->heartbeat_sec) {
		snprintf(why, RP_OPT_WHY_MAX,
			"active_threshold_sec: %lld is below twice heartbeat_sec %lld: one late "
			"heartbeat would end an agent's probes",
			(long long)c->active_threshold_sec, (long long)c->heartbeat_sec);
		return -EINVAL;
	}
	if (c->stale_threshold_sec < c->active_threshold_sec) {
		snprintf(why, RP_OPT_WHY_MAX,
			"stale_threshold_sec: %lld is below active_threshold_sec %lld",
			(long long)c->stale_threshold_sec, (long long)c->active_threshold_sec);
		return -EINVAL;
	}
	if (check_listen("agent_listen", c->agent_listen, why) != 0 ||
		check_listen("ui_listen", c->ui_listen, why) != 0)
		return -EINVAL;
	if (strncmp(c->store, "sqlite:", 7) != 0 || c->store[7] == '\0') {
		snprintf(why, RP_OPT_WHY_MAX, "store: '%.80s' is not valid, want sqlite:PATH",
			c->store);
		return -EINVAL;
	}
	return 0;
}

static const struct rp_conf_renamed renamed[] = {
	{"listen_addr", "agent_listen"},
	{"database_uri", "store"},
	{NULL},
};

/* RPINGMESH_CONTROLLER_ADDR is an agent's. */
static const char *const foreign[] = {"controller_addr", NULL};

const struct rp_conf_program controller_program = {
	.name = "rpingmesh-controller",
	.summary = "registers agents, plans their pinglists and keeps their reports",
	.synopsis = "rpingmesh-controller [options]",
	.file = "controller.cfg",
	.env_prefix = "RPINGMESH_CONTROLLER_",
	.table = controller_opts,
	.renamed = renamed,
	.foreign = foreign,
	.check = check,
};
