/* SPDX-License-Identifier: BSD-3-Clause */

#include "agent_conf.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "rp_base.h"
#include "rp_gid.h"
#include "rp_http_url.h"
#include "rp_text.h"

#include "place.h"
#include "preflight.h"

#define D(field) offsetof(struct agent_device_conf, field)
#define C(field) offsetof(struct agent_conf, field)

static const char *const peers_words[] = {"any", "registered", NULL};
static const char *const idle_words[] = {"auto", "busy", "yield", "adaptive", NULL};
static const char *const level_words[] = {"debug", "info", "warn", "error", NULL};
static const char *const format_words[] = {"auto", "text", "json", NULL};

static const struct rp_opt device_fields[] = {
	{"name", RP_OPT_STRING, D(name), "", NULL, 0, 63, .help = "ethdev or RDMA device name"},
	{"driver", RP_OPT_STRING, D(driver), "auto", NULL, 1, 15,
		.help = "auto, or the transport driver"},
	{"tor_id", RP_OPT_STRING, D(tor_id), "", NULL, 0, 128, .help = "ToR of this device"},
	{"rail", RP_OPT_STRING, D(rail), "", NULL, 0, 128, .help = "rail of this device"},
	{"ip", RP_OPT_STRING, D(ip), "", NULL, 0, 64, .help = "own address as A/LEN"},
	{"gateway", RP_OPT_STRING, D(gateway), "", NULL, 0, 45,
		.help = "next hop of other networks"},
	{"vlan", RP_OPT_INT, D(vlan), "0", NULL, 0, 4094, .help = "VLAN id, 0 untagged"},
	{"mac", RP_OPT_STRING, D(mac), "", NULL, 0, 17, .help = "own MAC instead of the port's"},
	{"gid_index", RP_OPT_INT, D(gid_index), "-1", NULL, -1, 255,
		.help = "GID table index, -1 by rule"},
	{"port", RP_OPT_INT, D(port), "1", NULL, 1, 255, .help = "RDMA port number"},
	{"roles", RP_OPT_STRING, D(roles), "", NULL, 0, 64,
		.help = "lcores of this device: cq@L+prober@L+responder@L"},
	{NULL},
};

static const struct rp_opt table[] = {
	{"agent_id", RP_OPT_STRING, C(agent_id), "", NULL, 0, 128,
		.help = "name of this agent; empty is the short host name"},
	{"hostname", RP_OPT_STRING, C(hostname), "", NULL, 0, 128,
		.help = "host name to report, empty is this host's; agents of one host name do not probe each other"},
	{"tor_id", RP_OPT_STRING, C(tor_id), "", NULL, 0, 128,
		.help = "ToR of all devices; empty is the reserved ToR \"unspecified\""},
	{"controller_addr", RP_OPT_LIST, C(controller_addr), "http://localhost:8080", NULL, 1, 255,
		.help = "URL of a controller; several are tried in turn"},
	{"devices", RP_OPT_ITEMS, C(devices), "", NULL, 0, 0, .flag = "device",
		.fields = device_fields, .item_size = sizeof(struct agent_device_conf),
		.help = "device to probe from; none means every ethdev that EAL was given"},
	{"service_level", RP_OPT_INT, C(service_level), "0", NULL, 0, 7,
		.help = "priority of probes and ACKs"},
	{"traffic_class", RP_OPT_INT, C(traffic_class), "0", NULL, 0, 255,
		.help = "traffic class of probes and ACKs; DSCP is this value divided by 4"},
	{"probe_interval_ms", RP_OPT_DURATION, C(probe_interval_ms), "500", "ms", 1, 3600000,
		.help = "period of a target; used only if target_probe_rate_per_second is 0 too"},
	{"target_probe_rate_per_second", RP_OPT_INT, C(target_probe_rate_per_second), "10", "pps",
		0, 100000, .help = "rate per target where the two below are 0"},
	{"tor_mesh_probe_rate_per_second", RP_OPT_INT, C(tor_mesh_probe_rate_per_second), "10",
		"pps", 0, 100000, .help = "rate per target of the own ToR; 0 inherits"},
	{"inter_tor_probe_rate_per_second", RP_OPT_INT, C(inter_tor_probe_rate_per_second), "1",
		"pps", 0, 100000, .help = "rate per target of other ToRs; 0 inherits"},
	{"max_probe_pps", RP_OPT_INT, C(max_probe_pps), "10000", "pps", 1, 1000000,
		.help = "ceiling of all probes of a device"},
	{"responder_max_pps", RP_OPT_INT, C(responder_max_pps), "100000", "pps", 1, 10000000,
		.help = "ceiling of the probes a device answers"},
	{"probe_timeout_ms", RP_OPT_DURATION, C(probe_timeout_ms), "500", "ms", 10, 60000,
		.help = "a probe without both answers after this time is lost"},
	{"pinglist_update_interval_sec", RP_OPT_DURATION, C(pinglist_update_interval_sec), "300",
		"s", 1, 86400, .help = "how often the pinglist is fetched, with 10 % jitter"},
	{"flow_label_rotation_period_sec", RP_OPT_DURATION, C(flow_label_rotation_period_sec),
		"3600", "s", 60, 604800, .help = "how often every fifth flow label changes"},
	{"analysis_report_enabled", RP_OPT_BOOL, C(analysis_report_enabled), "true", NULL, 0, 0,
		.help = "send reports to the controller"},
	{"analysis_window_sec", RP_OPT_DURATION, C(analysis_window_sec), "10", "s", 1, 3600,
		.help = "length of a reporting window"},
	{"qkey", RP_OPT_STRING, C(qkey), "random", NULL, 1, 10,
		.help = "Q_Key of the responder: random per start, or a number below 0x80000000"},
	{"responder_peers", RP_OPT_ENUM, C(responder_peers), "any", NULL, 0, 0, peers_words,
		.help = "who is answered: any, or only sources the controller names"},
	{"roles", RP_OPT_STRING, C(roles), "", NULL, 0, 64,
		.help = "lcores of all devices: cq@L,prober@L,responder@L; empty by rule"},
	{"idle", RP_OPT_ENUM, C(idle), "auto", NULL, 0, 0, idle_words,
		.help = "what an lcore without work does; auto is busy on isolated CPUs only"},
	{"eal", RP_OPT_STRING, C(eal), "", NULL, 0, 1023,
		.help = "EAL options, used when the command line has none"},
	{"log_level", RP_OPT_ENUM, C(log_level), "info", NULL, 0, 0, level_words,
		.help = "least level that is logged"},
	{"log_format", RP_OPT_ENUM, C(log_format), "auto", NULL, 0, 0, format_words,
		.help = "text, json, or auto: text on a terminal"},
	{NULL},
};

static const struct rp_conf_extra extra[] = {
	{"check", NULL, "run the preflight, print what would be used, and exit"},
	{NULL},
};

static const struct rp_conf_renamed renamed[] = {
	{"interface_name", "devices"},
	{"interface", "devices"},
	{"probe_timeout", "probe_timeout_ms"},
	{"timeout_ms", "probe_timeout_ms"},
	{"max_procs", "the EAL core list"},
	{NULL},
};

bool
agent_conf_qkey(const struct agent_conf *conf, uint32_t *ret_qkey)
{
	int64_t v;

	if (rp_text_i64(conf->qkey, 0, INT32_MAX, &v) != 0)
		return false;
	*ret_qkey = (uint32_t)v;
	return true;
}

double
agent_conf_rate(const struct agent_conf *conf, bool inter_tor)
{
	int64_t rate = inter_tor ? conf->inter_tor_probe_rate_per_second
				 : conf->tor_mesh_probe_rate_per_second;

	if (rate == 0)
		rate = conf->target_probe_rate_per_second;
	return rate > 0 ? (double)rate : 1000.0 / (double)conf->probe_interval_ms;
}

static int
check_device(const struct agent_device_conf *d, char *why)
{
	struct rp_gid gid;
	uint8_t prefix_len;
	uint8_t mac[6];

	if (*d->name == '\0') {
		snprintf(why, RP_OPT_WHY_MAX, "devices: a device has no name");
		return -EINVAL;
	}
	if (*d->ip != '\0' && preflight_parse_ip(d->ip, &gid, &prefix_len) != 0) {
		snprintf(why, RP_OPT_WHY_MAX,
			"device %s: ip '%s' is not valid, want a unicast address as A/LEN such as 10.0.0.1/24",
			d->name, d->ip);
		return -EINVAL;
	}
	if (*d->gateway != '\0' &&
		(rp_gid_parse(d->gateway, &gid) != 0 || !rp_gid_is_unicast(&gid))) {
		snprintf(why, RP_OPT_WHY_MAX, "device %s: gateway '%s' is not a unicast address",
			d->name, d->gateway);
		return -EINVAL;
	}
	if (*d->mac != '\0' && preflight_parse_mac(d->mac, mac) != 0) {
		snprintf(why, RP_OPT_WHY_MAX,
			"device %s: mac '%s' is not valid, want a unicast MAC such as 02:00:00:00:00:01",
			d->name, d->mac);
		return -EINVAL;
	}
	return *d->roles == '\0' ? 0 : place_check(d->roles, why);
}

static int
check(const void *any, char *why)
{
	const struct agent_conf *conf = any;
	const struct agent_device_conf *d = conf->devices.item;
	uint32_t qkey;

	for (size_t i = 0; i < conf->devices.n; i++) {
		int rc = check_device(&d[i], why);

		if (rc != 0)
			return rc;
		for (size_t k = 0; k < i; k++) {
			if (strcmp(d[i].name, d[k].name) == 0) {
				snprintf(why, RP_OPT_WHY_MAX, "devices: %s is named twice",
					d[i].name);
				return -EINVAL;
			}
		}
	}
	if (strcmp(conf->qkey, "random") != 0 && !agent_conf_qkey(conf, &qkey)) {
		snprintf(why, RP_OPT_WHY_MAX,
			"qkey: '%s' is not valid, want random or a number in 0..0x7fffffff",
			conf->qkey);
		return -EINVAL;
	}
	for (size_t i = 0; i < conf->controller_addr.n; i++) {
		const char *url = conf->controller_addr.text[i];

		if (strncmp(url, "http://", 7) != 0 || rp_http_url_check(url) != 0) {
			snprintf(why, RP_OPT_WHY_MAX,
				"controller_addr: '%s' is not valid, want http://HOST:PORT", url);
			return -EINVAL;
		}
	}
	if (strchr(conf->agent_id, '/') != NULL || strchr(conf->tor_id, '/') != NULL) {
		snprintf(why, RP_OPT_WHY_MAX, "agent_id and tor_id must not contain '/'");
		return -EINVAL;
	}
	return *conf->roles == '\0' ? 0 : place_check(conf->roles, why);
}

static const char *const foreign[] = {"agent_listen", NULL};

const struct rp_conf_program agent_program = {
	.name = "rpingmesh-agent",
	.summary = "measure the RoCE network from this host's RNICs",
	.synopsis = "rpingmesh-agent [EAL options --] [options]",
	.file = "agent.cfg",
	.env_prefix = "RPINGMESH_AGENT_",
	.table = table,
	.extra = extra,
	.renamed = renamed,
	.foreign = foreign,
	.check = check,
};

void
agent_conf_fini(struct agent_conf *conf)
{
	rp_opt_fini(table, conf);
}
