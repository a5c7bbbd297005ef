/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef AGENT_CONF_H
#define AGENT_CONF_H

/**
 * @file agent_conf.h
 * The agent's options: one table for file, environment, flags and man page.
 *
 * Thread:  control. Memory: released by agent_conf_fini(). Time: as named.
 */

#include "rp_conf.h"

/** One device of the `devices` list. */
struct agent_device_conf {
	char *name;
	char *driver; /* "auto" or a driver's name */
	char *tor_id; /* "" = the agent's */
	char *rail;
	char *ip; /* "A/LEN" */
	char *gateway;
	int64_t vlan;
	char *mac;
	int64_t gid_index;
	int64_t port;
	char *roles; /* "" = by rule */
};

enum agent_peers {
	AGENT_PEERS_ANY,
	AGENT_PEERS_REGISTERED,
};

enum agent_idle {
	AGENT_IDLE_AUTO,
	AGENT_IDLE_BUSY,
	AGENT_IDLE_YIELD,
	AGENT_IDLE_ADAPTIVE,
};

struct agent_conf {
	char *agent_id;
	char *hostname;
	char *tor_id;
	struct rp_opt_list controller_addr;
	struct rp_opt_items devices;
	int64_t service_level;
	int64_t traffic_class;
	int64_t probe_interval_ms;
	int64_t target_probe_rate_per_second;
	int64_t tor_mesh_probe_rate_per_second;
	int64_t inter_tor_probe_rate_per_second;
	int64_t max_probe_pps;
	int64_t responder_max_pps;
	int64_t probe_timeout_ms;
	int64_t pinglist_update_interval_sec;
	int64_t flow_label_rotation_period_sec;
	bool analysis_report_enabled;
	int64_t analysis_window_sec;
	char *qkey;          /* "random" or a number */
	int responder_peers; /* enum agent_peers */
	char *roles;
	int idle; /* enum agent_idle */
	char *eal;
	int log_level;
	int log_format;
};

extern const struct rp_conf_program agent_program;

void agent_conf_fini(struct agent_conf *conf);

/** Probes per second of a pinglist type, inheritance resolved; > 0. */
double agent_conf_rate(const struct agent_conf *conf, bool inter_tor);

/** @return false: random */
bool agent_conf_qkey(const struct agent_conf *conf, uint32_t *ret_qkey);

#endif /* AGENT_CONF_H */
