/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "api_priv.h"
#include "rp_base.h"

#define FLOW_LABEL_MAX  0xFFFFFu
#define FLOW_LABELS_MAX 4096u
#define SL_MAX          7
#define TCLASS_MAX      255

void
api_put_target(struct rp_buf *out, const struct rp_api_target *t)
{
	char ip[RP_GID_TEXT_MAX];

	rp_buf_puts(out, "{");
	api_put_gid(out, false, "gid", &t->gid);
	api_put_string(out, true, "ip", rp_gid_format_ip(&t->gid, ip));
	rp_buf_printf(out, ",\"qpn\":%" PRIu32 ",\"qkey\":%" PRIu32 ",\"generation\":%" PRIu32,
		t->qpn, t->qkey, t->generation);
	api_put_string(out, true, "type", rp_api_type_name(t->type));
	rp_buf_printf(out,
		",\"flow_label_seed\":%" PRIu32 ",\"flow_label_count\":%" PRIu32
		",\"flow_label\":%" PRIu32,
		t->flow_label_seed, t->flow_label_count, t->flow_label);
	api_put_string(out, true, "hostname", t->hostname);
	api_put_string(out, true, "tor_id", t->tor_id);
	api_put_string(out, true, "device", t->device);
	api_put_string(out, true, "stamps", t->hw_stamps ? "hw" : "sw");
	if (t->service_level >= 0)
		rp_buf_printf(out, ",\"service_level\":%d", t->service_level);
	if (t->traffic_class >= 0)
		rp_buf_printf(out, ",\"traffic_class\":%d", t->traffic_class);
	rp_buf_puts(out, "}");
}

void
rp_api_encode_target(const struct rp_api_target *target, struct rp_buf *out)
{
	api_put_target(out, target);
}

void
rp_api_encode_pinglist(const struct rp_api_pinglist *msg, struct rp_buf *out)
{
	char gid[RP_GID_TEXT_MAX];

	rp_buf_puts(out, "{");
	api_put_gid(out, false, "gid", &msg->gid);
	rp_buf_puts(out, ",\"targets\":[");
	for (size_t i = 0; i < msg->n_targets; i++) {
		if (i > 0)
			rp_buf_puts(out, ",");
		api_put_target(out, &msg->target[i]);
	}
	rp_buf_puts(out, "],\"sources\":[");
	for (size_t i = 0; i < msg->n_sources; i++)
		rp_buf_printf(
			out, "%s\"%s\"", i > 0 ? "," : "", rp_gid_format(&msg->source[i], gid));
	rp_buf_puts(out, "]}");
}

static int
get_optional_int(const struct rp_json_at *at, const char *key, int max, int *ret_value)
{
	int64_t value = -1;
	int rc = rp_json_i64(at, key, RP_JSON_OPTIONAL, 0, max, &value);

	*ret_value = (int)value;
	return rc;
}

static int
get_labels(const struct rp_json_at *at, struct rp_api_target *t)
{
	int rc = rp_json_u32(
		at, "flow_label_seed", RP_JSON_REQUIRED, 0, UINT32_MAX, &t->flow_label_seed);

	if (rc == 0)
		rc = rp_json_u32(at, "flow_label_count", RP_JSON_REQUIRED, 1, FLOW_LABELS_MAX,
			&t->flow_label_count);
	if (rc == 0)
		rc = rp_json_u32(
			at, "flow_label", RP_JSON_OPTIONAL, 0, FLOW_LABEL_MAX, &t->flow_label);
	return rc;
}

int
api_get_target(const struct rp_json_at *at, struct rp_api_target *t)
{
	static const char *const types[] = {"tor_mesh", "inter_tor", NULL};
	static const char *const stamps[] = {"sw", "hw", NULL};
	unsigned int type = 0, hw = 0; /* older controllers do not name the stamps */
	int rc = api_get_gid(at, "gid", &t->gid);

	static_assert(RP_ARRAY_LEN(types) == RP_API_TYPE_N + 1, "a name per type");
	if (rc == 0)
		rc = rp_json_u32(at, "qpn", RP_JSON_REQUIRED, API_QPN_MIN, API_QPN_MAX, &t->qpn);
	if (rc == 0)
		rc = rp_json_u32(at, "qkey", RP_JSON_REQUIRED, 0, API_QKEY_MAX, &t->qkey);
	if (rc == 0)
		rc = rp_json_u32(at, "generation", RP_JSON_REQUIRED, 1, UINT32_MAX, &t->generation);
	if (rc == 0)
		rc = rp_json_enum(at, "type", RP_JSON_REQUIRED, types, &type);
	if (rc == 0)
		rc = get_labels(at, t);
	if (rc == 0)
		rc = api_get_name(at, "hostname", RP_JSON_OPTIONAL, true, t->hostname);
	if (rc == 0)
		rc = api_get_name(at, "tor_id", RP_JSON_OPTIONAL, true, t->tor_id);
	if (rc == 0)
		rc = api_get_name(at, "device", RP_JSON_OPTIONAL, true, t->device);
	if (rc == 0)
		rc = rp_json_enum(at, "stamps", RP_JSON_OPTIONAL, stamps, &hw);
	if (rc == 0)
		rc = get_optional_int(at, "service_level", SL_MAX, &t->service_level);
	if (rc == 0)
		rc = get_optional_int(at, "traffic_class", TCLASS_MAX, &t->traffic_class);
	t->type = (enum rp_api_type)type;
	t->hw_stamps = hw == 1;
	return rc;
}

static int
get_targets(const struct rp_json_at *at, struct rp_api_pinglist *msg)
{
	struct rp_json_at list, elem = {0};
	size_t n;
	int rc = rp_json_array(at, "targets", RP_JSON_REQUIRED, RP_API_TARGETS_MAX, &list, &n);

	if (rc == 0)
		rc = api_alloc(n, sizeof(*msg->target), &msg->target);
	while (rc == 0 && rp_json_next(&list, &elem))
		rc = api_get_target(&elem, &msg->target[msg->n_targets++]);
	return rc;
}

static int
get_sources(const struct rp_json_at *at, struct rp_api_pinglist *msg)
{
	struct rp_json_at list, elem = {0};
	size_t n;
	int rc = rp_json_array(at, "sources", RP_JSON_OPTIONAL, RP_API_SOURCES_MAX, &list, &n);

	if (rc == 0)
		rc = api_alloc(n, sizeof(*msg->source), &msg->source);
	while (rc == 0 && rp_json_next(&list, &elem))
		rc = api_get_gid(&elem, NULL, &msg->source[msg->n_sources++]);
	return rc;
}

int
rp_api_decode_pinglist(
	const char *json, size_t len, struct rp_api_pinglist *ret_msg, struct rp_api_err *reterr)
{
	struct rp_api_pinglist msg = {0};
	struct rp_json_err err = {0};
	struct rp_json *doc = NULL;
	int rc = rp_json_parse(json, len, &doc, &err);

	if (rc == 0) {
		struct rp_json_at root = rp_json_root(doc, &err);

		rc = api_get_gid(&root, "gid", &msg.gid);
		if (rc == 0)
			rc = get_targets(&root, &msg);
		if (rc == 0)
			rc = get_sources(&root, &msg);
	}
	if (rc == 0)
		*ret_msg = msg;
	else
		rp_api_pinglist_fini(&msg);
	return api_close(doc, rc, &err, reterr);
}

int
rp_api_decode_target(
	const char *json, size_t len, struct rp_api_target *ret_target, struct rp_api_err *reterr)
{
	struct rp_api_target target = {0};
	struct rp_json_err err = {0};
	struct rp_json *doc = NULL;
	int rc = rp_json_parse(json, len, &doc, &err);

	if (rc == 0) {
		struct rp_json_at root = rp_json_root(doc, &err);

		rc = api_get_target(&root, &target);
	}
	if (rc == 0)
		*ret_target = target;
	return api_close(doc, rc, &err, reterr);
}

void
rp_api_pinglist_fini(struct rp_api_pinglist *msg)
{
	free(msg->target);
	free(msg->source);
	msg->target = NULL;
	msg->source = NULL;
	msg->n_targets = msg->n_sources = 0;
}
