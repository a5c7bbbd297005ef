/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <rte_launch.h>
#include <rte_lcore.h>
#include <rte_version.h>

#include "agent.h"
#include "eal.h"
#include "rp_log.h"
#include "rp_text.h"
#include "stop.h"
#include "telemetry.h"

#define RP_LOG_COMPONENT "agent"

#define OPEN_WAIT_MS 10000

/* One line on stderr that names problem and fix, and the exit code. */
static int
refuse(int exit_code, const char *why)
{
	fprintf(stderr, "rpingmesh-agent: %s\n", why);
	return exit_code;
}

static int
print(struct rp_buf *text)
{
	int rc = fputs(rp_buf_text(text), stdout) == EOF || fflush(stdout) != 0 ? RP_EX_IO
										: RP_EX_OK;

	rp_buf_fini(text);
	return rc;
}

/* Index of "--", or 0 when all arguments are the agent's own. */
static int
find_separator(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (strcmp(argv[i], "--") == 0)
			return i;
	return 0;
}

/* @return RP_EX_OK to go on; *ret_done when the answer was printed */
static int
load_conf(struct agent *agent, struct rp_conf_result *result, int argc, char **argv, bool *ret_done)
{
	struct rp_buf text = {0};

	for (int i = 1; i < argc; i++) {
		char why[RP_OPT_WHY_MAX];

		/* Behind an option without '=' it may be that option's value. */
		if (i > 1 && strncmp(argv[i - 1], "--", 2) == 0 &&
			strchr(argv[i - 1], '=') == NULL && !preflight_is_eal_option(argv[i - 1]))
			continue;
		if (strcmp(argv[i], "--log-level") == 0 || !preflight_is_eal_option(argv[i]))
			continue;
		snprintf(why, sizeof(why),
			"%.80s is an EAL option: rpingmesh-agent [EAL options] -- [options]",
			argv[i]);
		return refuse(RP_EX_USAGE, why);
	}
	if (rp_conf_load(&agent_program, argc, argv, environ, &agent->conf, result) != 0)
		return refuse(result->exit_code, result->why);
	*ret_done = rp_conf_print(&agent_program, result->action, rte_version(), &text);
	if (*ret_done)
		return print(&text);
	return RP_EX_OK;
}

/* Empty names are the host's. */
static void
fill_names(struct agent_conf *conf)
{
	char host[256] = "localhost";

	gethostname(host, sizeof(host) - 1);
	if (*conf->hostname == '\0') {
		free(conf->hostname);
		conf->hostname = strdup(host);
	}
	if (*conf->agent_id == '\0') {
		host[strcspn(host, ".")] = '\0';
		free(conf->agent_id);
		conf->agent_id = strdup(host);
	}
}

static enum agent_idle
idle_of(const struct agent *agent, uint32_t lcore_id)
{
	const struct place_plan *plan = &agent->preflight.plan;
	char path[] = "/sys/devices/system/cpu/isolated";
	char isolated[256] = "", cpus[64];
	FILE *f;

	if (agent->conf.idle != AGENT_IDLE_AUTO)
		return (enum agent_idle)agent->conf.idle;
	/* Alone among ours, and the kernel keeps others away: then, and only then, spin. */
	if (place_overlap(plan, lcore_id) >= 0)
		return AGENT_IDLE_ADAPTIVE;
	f = fopen(path, "re");
	if (f == NULL)
		return AGENT_IDLE_ADAPTIVE;
	if (fgets(isolated, sizeof(isolated), f) == NULL)
		isolated[0] = '\0';
	fclose(f);
	isolated[strcspn(isolated, "\n")] = '\0';
	for (uint32_t i = 0; i < plan->n; i++) {
		struct place_plan set;
		char why[RP_OPT_WHY_MAX];

		if (plan->lcore[i].id != lcore_id || CPU_COUNT(&plan->lcore[i].cpus) != 1)
			continue;
		if (*isolated == '\0' || place_parse("-l", isolated, &set, why) != 0)
			return AGENT_IDLE_ADAPTIVE;
		for (uint32_t k = 0; k < set.n; k++)
			if (CPU_EQUAL(&set.lcore[k].cpus, &plan->lcore[i].cpus)) {
				rp_info("lcore %u: CPU %s is isolated, idle busy", lcore_id,
					place_format_cpus(&set.lcore[k].cpus, cpus, sizeof(cpus)));
				return AGENT_IDLE_BUSY;
			}
	}
	return AGENT_IDLE_ADAPTIVE;
}

static struct worker *
worker_for(struct agent *agent, uint32_t lcore_id)
{
	struct worker *w;

	for (uint32_t i = 0; i < agent->n_workers; i++)
		if (agent->worker[i].lcore_id == lcore_id)
			return &agent->worker[i];
	w = &agent->worker[agent->n_workers++];
	w->lcore_id = lcore_id;
	w->clock = &agent->clock;
	w->idle = idle_of(agent, lcore_id);
	w->stop = &agent->stop_workers;
	return w;
}

static void
place_roles(struct agent *agent)
{
	for (uint32_t i = 0; i < agent->n_devices; i++) {
		struct device *dev = &agent->device[i].dev;

		for (int r = 0; r < PLACE_ROLE_N; r++) {
			struct worker *w = worker_for(agent, dev->plan->roles.lcore[r]);
			struct slice *s = &w->slice[w->n_slices];

			if (w->n_slices > 0 && w->slice[w->n_slices - 1].dev == dev)
				s = &w->slice[w->n_slices - 1];
			else
				w->n_slices++;
			s->dev = dev;
			s->role[r] = true;
		}
	}
}

/* A memif client may come before its server. */
static int
open_patiently(struct device *dev, const struct device_env *env,
	const struct preflight_device *plan, char *why)
{
	const struct timespec nap = {0, 100 * 1000000};
	int64_t deadline = agent_mono_ms() + OPEN_WAIT_MS;
	bool said = false;
	int rc;

	while ((rc = device_open(dev, env, plan, why)) == -EAGAIN && stop_requested() == 0 &&
		agent_mono_ms() < deadline) {
		if (!said)
			rp_info("%s; trying for %d s", why, OPEN_WAIT_MS / 1000);
		said = true;
		nanosleep(&nap, NULL);
	}
	return rc;
}

static int
open_devices(struct agent *agent, char *why)
{
	struct device_env env = {.conf = &agent->conf, .clock = &agent->clock};
	struct rp_windows_conf windows = {
		.host = agent->clock.rate,
		.window_ms = (uint32_t)agent->conf.analysis_window_sec * 1000,
		.timeout_ns = agent->conf.probe_timeout_ms * RP_NS_PER_MS,
		.max_targets = DEVICE_MAX_TARGETS,
	};

	agent->device =
		aligned_alloc(RP_CACHE_LINE, agent->preflight.n_devices * sizeof(*agent->device));
	agent->worker = aligned_alloc(RP_CACHE_LINE, PLACE_LCORES_MAX * sizeof(*agent->worker));
	if (agent->device == NULL || agent->worker == NULL) {
		snprintf(why, RP_OPT_WHY_MAX, "out of memory");
		return -ENOMEM;
	}
	memset(agent->device, 0, agent->preflight.n_devices * sizeof(*agent->device));
	memset(agent->worker, 0, PLACE_LCORES_MAX * sizeof(*agent->worker));
	for (uint32_t i = 0; i < agent->preflight.n_devices; i++) {
		struct agent_device *d = &agent->device[i];
		int rc;

		env.index = i;
		rc = open_patiently(&d->dev, &env, &agent->preflight.device[i], why);

		if (rc != 0)
			return rc;
		agent->n_devices++;
		if (targets_init(&d->targets, &d->dev, &agent->conf, agent->clock.rate.hz) != 0 ||
			rp_windows_create(&windows, rp_host_now(&agent->clock),
				agent_controller_ms(agent), &d->windows) != 0) {
			snprintf(why, RP_OPT_WHY_MAX, "out of memory");
			return -ENOMEM;
		}
	}
	place_roles(agent);
	return 0;
}

static void
close_devices(struct agent *agent)
{
	for (uint32_t i = 0; i < agent->n_devices; i++) {
		rp_windows_destroy(agent->device[i].windows);
		targets_fini(&agent->device[i].targets);
		device_close(&agent->device[i].dev);
	}
	free(agent->device);
	free(agent->worker);
}

static int
start_workers(struct agent *agent, char *why)
{
	for (uint32_t i = 0; i < agent->n_workers; i++) {
		if (rte_eal_remote_launch(
			    worker_main, &agent->worker[i], agent->worker[i].lcore_id) != 0) {
			snprintf(why, RP_OPT_WHY_MAX, "lcore %u cannot be started",
				agent->worker[i].lcore_id);
			return -EBUSY;
		}
	}
	return 0;
}

/* EAL is up: devices, lcores, control loop, and back. */
static int
run(struct agent *agent)
{
	struct rp_http_client_conf http = {
		.product = "rpingmesh-agent",
		.connect_timeout_ms = 3000,
		.max_body_bytes = 64u << 20,
	};
	char why[RP_OPT_WHY_MAX] = "";
	int exit_code = RP_EX_OK;

	if (rp_http_client_create(&http, &agent->http) != 0)
		return refuse(RP_EX_OS, "cannot start the HTTP client");
	if (open_devices(agent, why) != 0 || start_workers(agent, why) != 0)
		exit_code = refuse(RP_EX_UNAVAILABLE, why);
	if (exit_code == RP_EX_OK) {
		control_init(agent);
		telemetry_init(agent);
		session_init(agent);
		rp_info("%u devices on %u lcores, probing when the controller names targets",
			agent->n_devices, agent->n_workers);
		control_run(agent);
	}
	telemetry_fini();
	atomic_store_explicit(&agent->stop_workers, true, memory_order_release);
	rte_eal_mp_wait_lcore();
	rp_http_client_destroy(agent->http);
	spool_fini(&agent->spool);
	close_devices(agent);
	return exit_code;
}

/* This version has no TLS; on loopback there is nothing to read. */
static void
warn_of_plain_text(const struct agent_conf *conf)
{
	static const char *const local[] = {"http://localhost", "http://127.", "http://[::1]"};

	for (size_t i = 0; i < conf->controller_addr.n; i++) {
		const char *url = conf->controller_addr.text[i];
		bool is_local = false;

		for (size_t k = 0; k < RP_ARRAY_LEN(local); k++)
			is_local |= strncmp(url, local[k], strlen(local[k])) == 0;
		if (!is_local)
			rp_warn("controller %s is spoken to in plain text: keep the way to it trusted",
				url);
	}
}

static int
preflight(struct agent *agent, const struct rp_conf_result *conf, int eal_argc, char **eal_argv)
{
	struct preflight *pf = &agent->preflight;
	struct rp_buf text = {0};

	if (preflight_run(pf, &agent->conf, eal_argc, eal_argv, "") != 0)
		return refuse(pf->exit_code, pf->why);
	for (uint32_t i = 0; i < pf->n_devices; i++)
		if (device_driver(&pf->device[i], pf->why) == NULL)
			return refuse(RP_EX_CONFIG, pf->why);
	if (conf->action == RP_CONF_TEST)
		return RP_EX_OK;
	if (conf->action == RP_CONF_EXTRA) {
		preflight_report(pf, &agent->conf, &text);
		return print(&text);
	}
	if (*conf->path != '\0')
		rp_info("configuration read from %s", conf->path);
	if (*pf->added != '\0')
		rp_info("EAL options added: %s", pf->added);
	for (uint32_t i = 0; i < pf->n_warnings; i++)
		rp_warn("%s", pf->warning[i]);
	if (*agent->conf.tor_id == '\0')
		rp_warn("tor_id is not set: devices without their own are in ToR \"unspecified\"");
	warn_of_plain_text(&agent->conf);
	return RP_EX_OK;
}

static int
agent_main(struct agent *agent, int argc, char **argv)
{
	int separator = find_separator(argc, argv);
	int eal_argc = separator > 0 ? separator - 1 : 0;
	struct rp_conf_result result;
	bool done = false;
	int exit_code;

	argv[separator] = argv[0];
	exit_code = load_conf(agent, &result, argc - separator, argv + separator, &done);
	if (exit_code != RP_EX_OK || done)
		return exit_code;
	rp_log_setup((enum rp_log_level)agent->conf.log_level,
		(enum rp_log_format)agent->conf.log_format, STDERR_FILENO);
	fill_names(&agent->conf);
	exit_code = preflight(agent, &result, eal_argc, argv + 1);
	if (exit_code == RP_EX_OK && result.action == RP_CONF_RUN) {
		stop_install();
		rp_host_clock_init(&agent->clock, 100, "");
		if (agent->clock.uses_tsc)
			rp_info("host clock: TSC at %llu Hz, error below %u ppb",
				(unsigned long long)agent->clock.rate.hz, agent->clock.error_ppb);
		else
			rp_warn("host clock: CLOCK_MONOTONIC_RAW, because %s", agent->clock.why);
		if (eal_start(&agent->preflight) != 0) {
			exit_code = refuse(agent->preflight.exit_code, agent->preflight.why);
		} else {
			exit_code = run(agent);
			eal_stop();
		}
	}
	preflight_fini(&agent->preflight);
	agent_conf_fini(&agent->conf);
	return exit_code;
}

int
main(int argc, char **argv)
{
	struct agent *agent = calloc(1, sizeof(*agent));
	int exit_code;

	if (agent == NULL)
		return RP_EX_OS;
	exit_code = agent_main(agent, argc, argv);
	free(agent);
	return exit_code;
}
