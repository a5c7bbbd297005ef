/* SPDX-License-Identifier: BSD-3-Clause */

#include <inttypes.h>
#include <stdio.h>

#include "ctl.h"
#include "rp_api.h"
#include "rp_text.h"
#include "table.h"

static const char *const heads[] = {
	"TYPE", "TARGET", "HOST", "TOR", "DEVICE", ">QPN", ">LABELS", NULL};

static int
print(const struct ctl *ctl, const struct rp_api_pinglist *list)
{
	char ip[RP_GID_TEXT_MAX], number[16];
	struct table t;

	table_init(&t, heads);
	for (size_t i = 0; i < list->n_targets; i++) {
		const struct rp_api_target *target = &list->target[i];

		table_add(&t, rp_api_type_name(target->type));
		table_add(&t, rp_gid_format_ip(&target->gid, ip));
		table_add(&t, target->hostname);
		table_add(&t, target->tor_id);
		table_add(&t, target->device);
		snprintf(number, sizeof(number), "%" PRIu32, target->qpn);
		table_add(&t, number);
		snprintf(number, sizeof(number), "%" PRIu32, target->flow_label_count);
		table_add(&t, number);
	}
	if (table_print(&t, ctl->color) != 0)
		return CTL_EX_IO;
	if (list->n_targets == 0)
		puts("nothing to probe: pinglists hold active RNICs of other hosts, in the same ToR\n"
		     "or, for one RNIC per ToR, in others; see `rpingmesh-ctl agents`");
	printf("%zu targets; probed by %zu sources\n", list->n_targets, list->n_sources);
	return CTL_EX_OK;
}

int
cmd_pinglist(struct ctl *ctl)
{
	struct rp_api_pinglist list;
	struct rp_api_err err = {0};
	struct rp_buf path = {0}, body;
	int rc;

	rp_buf_puts(&path, "/v1/pinglist");
	ctl_url_query(&path, "agent_id", ctl->arg[0]);
	ctl_url_query(&path, "gid", ctl->arg[1]);
	ctl_url_query(&path, "type", ctl->opt[CTL_OPT_TYPE]);
	rc = ctl_get(ctl, rp_buf_text(&path), &body);
	rp_buf_fini(&path);
	if (rc != 0)
		return rc;
	if (ctl->json) {
		rc = ctl_print_json(&body);
		puts("");
	} else if (rp_api_decode_pinglist(rp_buf_text(&body), body.len, &list, &err) != 0) {
		rc = ctl_fail(CTL_EX_DATA, "unexpected answer: %s%s%s", err.field,
			rp_text_gap(err.field), err.message);
	} else {
		rc = print(ctl, &list);
		rp_api_pinglist_fini(&list);
	}
	rp_buf_fini(&body);
	return rc;
}
