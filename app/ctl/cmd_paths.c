/* SPDX-License-Identifier: BSD-3-Clause */

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "ctl.h"
#include "rp_api.h"
#include "table.h"

static const char *const heads[] = {"SOURCE", "TARGET", "TYPE", "STAMPS", ">WINDOWS", ">PROBES",
	">OK", ">LOST", ">OTHER", ">LOSS", ">RTT P50", ">P99", ">MAX", ">PROBER P50", ">P99",
	">RESPONDER P50", ">P99", NULL};

static int
count(const struct rp_json_at *at, const char *key, uint64_t *sum)
{
	uint64_t value = 0;
	int rc = rp_json_u64(at, key, RP_JSON_REQUIRED, 0, RP_JSON_INT_MAX, &value);

	*sum += value;
	return rc;
}

static void
add_number(struct table *t, uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, value);
	table_add(t, text);
}

/* "host (ip)"; the address alone for a host that has left. */
static int
add_end(struct table *t, const struct rp_json_at *at, const char *key, const char *host_key)
{
	char gid_text[RP_GID_TEXT_MAX], ip[RP_GID_TEXT_MAX], host[RP_API_NAME_MAX];
	char text[RP_API_NAME_MAX + RP_GID_TEXT_MAX + 4];
	struct rp_gid gid;

	if (rp_json_string(at, key, RP_JSON_REQUIRED, gid_text, sizeof(gid_text)) != 0 ||
		rp_json_string(at, host_key, RP_JSON_REQUIRED, host, sizeof(host)) != 0)
		return -1;
	if (rp_gid_parse(gid_text, &gid) != 0)
		return rp_json_fail(at, key, "is not a GID");
	rp_gid_format_ip(&gid, ip);
	if (host[0] == '\0')
		snprintf(text, sizeof(text), "%s", ip);
	else
		snprintf(text, sizeof(text), "%s (%s)", host, ip);
	table_add(t, text);
	return 0;
}

static int
add_path(struct table *t, const struct rp_json_at *at)
{
	static const char *const times[] = {"rtt_p50_ns", "rtt_p99_ns", "rtt_max_ns",
		"prober_delay_p50_ns", "prober_delay_p99_ns", "responder_delay_p50_ns",
		"responder_delay_p99_ns"};
	char type[16], stamps[16], text[32];
	uint64_t windows = 0, ok = 0, all = 0, lost = 0;

	if (add_end(t, at, "source", "source_host") != 0 ||
		add_end(t, at, "target", "target_host") != 0 ||
		rp_json_string(at, "type", RP_JSON_REQUIRED, type, sizeof(type)) != 0 ||
		rp_json_string(at, "stamps", RP_JSON_REQUIRED, stamps, sizeof(stamps)) != 0 ||
		count(at, "windows", &windows) != 0 || count(at, "ok", &ok) != 0)
		return -1;
	for (int s = 0; s < RP_STATE_N; s++)
		if (count(at, rp_state_name((enum rp_state)s), &all) != 0)
			return -1;
	if (count(at, "lost", &lost) != 0 || count(at, "ack1_lost", &lost) != 0)
		return -1;
	table_add(t, type);
	table_add(t, stamps);
	add_number(t, windows);
	add_number(t, all);
	add_number(t, ok);
	add_number(t, lost);
	/* Neither ok nor lost: local trouble, or a target that cannot be found. */
	snprintf(text, sizeof(text), "%" PRIu64, all - ok - lost);
	table_add_color(t, all > ok + lost ? TABLE_BAD : TABLE_GOOD, text);
	ctl_put_ppm(text, sizeof(text), at, "loss_ppm");
	table_add_color(t, lost > 0 ? TABLE_BAD : TABLE_GOOD, text);
	for (size_t i = 0; i < RP_ARRAY_LEN(times); i++) {
		ctl_put_ns(text, sizeof(text), at, times[i]);
		table_add(t, text);
	}
	return 0;
}

static int
print(const struct ctl *ctl, const struct rp_json_at *root)
{
	struct rp_json_at list, path = {0};
	uint64_t omitted = 0;
	struct table t;
	size_t n;
	int rc;

	if (rp_json_array(root, "paths", RP_JSON_REQUIRED, SIZE_MAX, &list, &n) != 0 ||
		count(root, "omitted", &omitted) != 0)
		return -1;
	table_init(&t, heads);
	while (rp_json_next(&list, &path)) {
		if (add_path(&t, &path) != 0) {
			table_fini(&t);
			return -1;
		}
	}
	rc = table_print(&t, ctl->color);
	if (rc != 0)
		return rc;
	if (n == 0)
		puts("no path has been reported: see `rpingmesh-ctl agents`, and `pinglist` of one");
	if (omitted > 0)
		printf("%" PRIu64 " more paths: narrow the question or raise --limit\n", omitted);
	return 0;
}

int
cmd_paths(struct ctl *ctl)
{
	static const struct {
		const char *name;
		enum ctl_opt opt;
	} query[] = {
		{"source", CTL_OPT_SOURCE},
		{"target", CTL_OPT_TARGET},
		{"source_tor", CTL_OPT_SOURCE_TOR},
		{"target_tor", CTL_OPT_TARGET_TOR},
		{"from", CTL_OPT_FROM},
		{"to", CTL_OPT_TO},
		{"limit", CTL_OPT_LIMIT},
	};
	struct rp_buf path = {0};

	rp_buf_puts(&path, "/v1/paths");
	for (size_t i = 0; i < RP_ARRAY_LEN(query); i++)
		ctl_url_query(&path, query[i].name, ctl->opt[query[i].opt]);
	return ctl_show(ctl, &path, print);
}
