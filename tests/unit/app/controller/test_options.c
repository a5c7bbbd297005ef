/* SPDX-License-Identifier: BSD-3-Clause */

#include "options.h"

#include <errno.h>
#include <stdio.h>

#include "ut.h"

static struct controller_conf conf;
static struct rp_conf_result result;

static int
load(const char *flag, const char *value)
{
	char text[128];
	char *argv[] = {(char *)(uintptr_t) "prog", text, NULL};
	char *env[] = {NULL};
	int rc;

	/* A directory without a configuration file is all the search path there is. */
	snprintf(text, sizeof(text), "--%s=%s", flag, value);
	memset(&conf, 0, sizeof(conf));
	rc = rp_conf_load(&controller_program, 2, argv, env, &conf, &result);
	return rc;
}

static void
unload(void)
{
	rp_opt_fini(controller_program.table, &conf);
}

static void
flag_of(const struct rp_opt *row, char *text, size_t len)
{
	snprintf(text, len, "%s", row->name);
	for (char *c = text; *c != '\0'; c++)
		if (*c == '_')
			*c = '-';
}

static bool
is_number(const struct rp_opt *row)
{
	return row->type == RP_OPT_INT || row->type == RP_OPT_DURATION ||
		row->type == RP_OPT_SIZE || row->type == RP_OPT_FLOAT;
}

static void
every_key__below_above_and_wrong_type__is_refused(void)
{
	char flag[64], value[64];

	for (const struct rp_opt *row = controller_program.table; row->name != NULL; row++) {
		flag_of(row, flag, sizeof(flag));
		if (is_number(row)) {
			double step = row->type == RP_OPT_FLOAT ? 1e-7 : 1;

			snprintf(value, sizeof(value), "%.17g", row->min - step);
			if (!UT_EQ(load(flag, value), -EINVAL))
				printf("%s %s\n", flag, value);
			UT_HAS(result.why, row->name);
			snprintf(value, sizeof(value), "%.17g", row->max + step);
			if (!UT_EQ(load(flag, value), -EINVAL))
				printf("%s %s\n", flag, value);
		}
		if (row->type == RP_OPT_STRING) {
			UT_EQ(load(flag, ""), -EINVAL);
			UT_EQ(load(flag,
				      "a\x01"
				      "b1234567"),
				-EINVAL);
		} else {
			UT_EQ(load(flag, "perhaps"), -EINVAL);
			UT_HAS(result.why, row->name);
		}
		UT_EQ(result.exit_code, RP_EX_USAGE);
	}
}

static void
every_key__min_and_max__are_accepted(void)
{
	char flag[64], value[64];

	for (const struct rp_opt *row = controller_program.table; row->name != NULL; row++) {
		if (!is_number(row))
			continue;
		flag_of(row, flag, sizeof(flag));
		snprintf(value, sizeof(value), "%.17g", row->max);
		/* The heartbeat and the two thresholds bind each other. */
		if (strcmp(row->name, "heartbeat_sec") == 0)
			snprintf(value, sizeof(value), "150");
		if (strcmp(row->name, "active_threshold_sec") == 0)
			snprintf(value, sizeof(value), "900");
		if (!UT_OK(load(flag, value)))
			printf("%s\n", result.why);
		unload();
		snprintf(value, sizeof(value), "%.17g", row->min);
		if (strcmp(row->name, "active_threshold_sec") == 0)
			snprintf(value, sizeof(value), "120");
		if (strcmp(row->name, "stale_threshold_sec") == 0)
			snprintf(value, sizeof(value), "300");
		if (!UT_OK(load(flag, value)))
			printf("%s\n", result.why);
		unload();
	}
}

static void
defaults__are_the_contract(void)
{
	UT_OK(load("log-level", "info"));
	UT_STR(conf.agent_listen, ":8080");
	UT_STR(conf.ui_listen, "127.0.0.1:8081");
	UT_STR(conf.store, "sqlite:/var/lib/rpingmesh/controller.db");
	UT_EQ(conf.heartbeat_sec, 60);
	UT_EQ(conf.active_threshold_sec, 300);
	UT_EQ(conf.stale_threshold_sec, 900);
	UT_EQ(conf.inter_tor_sample_size, 5);
	UT_EQ(conf.inter_tor_min_sources, 3);
	UT_EQ(conf.inter_tor_rotation_sec, 3600);
	UT_EQ(conf.unspecified_mesh_max_targets, 32);
	UT_EQ(conf.ecmp_paths_assumed, 16);
	UT_NEAR(conf.ecmp_coverage_probability, 0.99, 0);
	UT_EQ(conf.ecmp_max_flow_labels, 128);
	UT_TRUE(conf.analyzer_enabled);
	UT_EQ(conf.analyzer_window_retention, 60);
	UT_EQ(conf.max_body_bytes, 1048576);
	UT_EQ(conf.max_connections, 20000);
	UT_EQ(conf.request_deadline_ms, 10000);
	unload();
}

static void
thresholds__stale_below_active__is_refused(void)
{
	UT_EQ(load("stale-threshold-sec", "299"), -EINVAL);
	UT_HAS(result.why, "active_threshold_sec");
}

static void
thresholds__active_below_two_heartbeats__is_refused(void)
{
	UT_EQ(load("active-threshold-sec", "119"), -EINVAL);
	UT_HAS(result.why, "twice heartbeat_sec 60");
}

static void
store__other_scheme__is_refused(void)
{
	UT_EQ(load("store", "postgres://x"), -EINVAL);
	UT_HAS(result.why, "sqlite:PATH");
}

static const struct ut_test tests[] = {
	UT(every_key__below_above_and_wrong_type__is_refused),
	UT(every_key__min_and_max__are_accepted),
	UT(defaults__are_the_contract),
	UT(thresholds__stale_below_active__is_refused),
	UT(thresholds__active_below_two_heartbeats__is_refused),
	UT(store__other_scheme__is_refused),
};

UT_MAIN("options", tests)
