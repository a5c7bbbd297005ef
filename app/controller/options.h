/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef OPTIONS_H
#define OPTIONS_H

/**
 * @file options.h
 * The controller's keys: file, environment, flags and man page from one table.
 *
 * Thread:  read-only once loaded. Memory: released by rp_opt_fini().
 * Time:    units as named.
 */

#include <stdint.h>

#include "rp_conf.h"

struct controller_conf {
	char *agent_listen;
	char *ui_listen;
	char *store;
	int64_t heartbeat_sec;
	int64_t active_threshold_sec;
	int64_t stale_threshold_sec;
	int64_t inter_tor_sample_size;
	int64_t inter_tor_min_sources;
	int64_t inter_tor_rotation_sec;
	int64_t unspecified_mesh_max_targets;
	int64_t ecmp_paths_assumed;
	double ecmp_coverage_probability;
	int64_t ecmp_max_flow_labels;
	bool analyzer_enabled;
	int64_t analyzer_window_retention;
	int64_t retention_1m_sec;
	int64_t retention_ledger_sec;
	int64_t max_body_bytes;
	int64_t max_connections;
	int64_t request_deadline_ms;
	int log_level;
	int log_format;
};

extern const struct rp_conf_program controller_program;

#endif /* OPTIONS_H */
