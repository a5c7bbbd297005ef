/* SPDX-License-Identifier: BSD-3-Clause */

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "ctl.h"
#include "rp_api.h"
#include "rp_http_url.h"
#include "table.h"

static const char *const heads[] = {
	"AGENT", "HOST", "STATE", ">AGE", "TOR", "GID", "DEVICE", "STAMPS", "PORT", ">QPN", NULL};

struct agent {
	char id[RP_API_NAME_MAX];
	char host[RP_API_NAME_MAX];
	char state[16];
	int64_t age_ms;
};

static int
add_rnic(struct table *t, const struct agent *a, const struct rp_json_at *at)
{
	char gid[RP_GID_TEXT_MAX], tor[RP_API_NAME_MAX], device[RP_API_NAME_MAX];
	char stamps[8], state[8], number[32];
	uint32_t qpn = 0;

	if (rp_json_string(at, "ip", RP_JSON_REQUIRED, gid, sizeof(gid)) != 0 ||
		rp_json_string(at, "tor_id", RP_JSON_REQUIRED, tor, sizeof(tor)) != 0 ||
		rp_json_string(at, "device", RP_JSON_REQUIRED, device, sizeof(device)) != 0 ||
		rp_json_string(at, "stamps", RP_JSON_REQUIRED, stamps, sizeof(stamps)) != 0 ||
		rp_json_string(at, "state", RP_JSON_REQUIRED, state, sizeof(state)) != 0 ||
		rp_json_u32(at, "qpn", RP_JSON_REQUIRED, 0, UINT32_MAX, &qpn) != 0)
		return -1;
	table_add(t, a->id);
	table_add(t, a->host);
	table_add_color(t, strcmp(a->state, "active") == 0 ? TABLE_GOOD : TABLE_BAD, a->state);
	snprintf(number, sizeof(number), "%" PRId64 " s", a->age_ms / 1000);
	table_add(t, number);
	table_add(t, tor);
	table_add(t, gid);
	table_add(t, device);
	table_add(t, stamps);
	table_add_color(t, strcmp(state, "up") == 0 ? TABLE_PLAIN : TABLE_BAD, state);
	snprintf(number, sizeof(number), "%" PRIu32, qpn);
	table_add(t, number);
	return 0;
}

static int
add_agent(struct table *t, const struct rp_json_at *at)
{
	struct rp_json_at rnics, rnic = {0};
	struct agent a;
	size_t n;

	if (rp_json_string(at, "agent_id", RP_JSON_REQUIRED, a.id, sizeof(a.id)) != 0 ||
		rp_json_string(at, "hostname", RP_JSON_REQUIRED, a.host, sizeof(a.host)) != 0 ||
		rp_json_string(at, "state", RP_JSON_REQUIRED, a.state, sizeof(a.state)) != 0 ||
		rp_json_i64(at, "age_ms", RP_JSON_REQUIRED, INT64_MIN, INT64_MAX, &a.age_ms) != 0 ||
		rp_json_array(at, "rnics", RP_JSON_REQUIRED, RP_API_RNICS_MAX, &rnics, &n) != 0)
		return -1;
	while (rp_json_next(&rnics, &rnic))
		if (add_rnic(t, &a, &rnic) != 0)
			return -1;
	return 0;
}

static int
fill(struct table *t, const struct rp_json_at *root, bool one)
{
	struct rp_json_at list, elem = {0};
	size_t n;

	if (one)
		return add_agent(t, root);
	if (rp_json_array(root, "agents", RP_JSON_REQUIRED, SIZE_MAX, &list, &n) != 0)
		return -1;
	while (rp_json_next(&list, &elem))
		if (add_agent(t, &elem) != 0)
			return -1;
	return 0;
}

static int
print(const struct ctl *ctl, const struct rp_json_at *root)
{
	struct table t;

	table_init(&t, heads);
	if (fill(&t, root, ctl->n_args > 0) != 0) {
		table_fini(&t);
		return -1;
	}
	return table_print(&t, ctl->color);
}

int
cmd_agents(struct ctl *ctl)
{
	struct rp_buf path = {0};

	rp_buf_puts(&path, "/v1/agents");
	if (ctl->n_args > 0) {
		rp_buf_puts(&path, "/");
		rp_http_url_add(&path, ctl->arg[0]);
	}
	return ctl_show(ctl, &path, print);
}
