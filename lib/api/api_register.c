/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "api_priv.h"

#define SPEED_MAX_GBPS 100000.0
#define HEARTBEAT_MAX  3600u

static void
put_rnic(struct rp_buf *out, const struct rp_api_rnic *rnic)
{
	char ip[RP_GID_TEXT_MAX];

	rp_buf_puts(out, "{");
	api_put_gid(out, false, "gid", &rnic->gid);
	api_put_string(out, true, "ip", rp_gid_format_ip(&rnic->gid, ip));
	rp_buf_printf(out, ",\"qpn\":%" PRIu32 ",\"qkey\":%" PRIu32 ",\"generation\":%" PRIu32,
		rnic->qpn, rnic->qkey, rnic->generation);
	api_put_string(out, true, "device", rnic->device);
	api_put_string(out, true, "driver", rnic->driver);
	api_put_string(out, true, "stamps", rnic->hw_stamps ? "hw" : "sw");
	api_put_string(out, true, "state", rnic->up ? "up" : "down");
	api_put_string(out, true, "tor_id", rnic->tor_id);
	api_put_string(out, true, "rail", rnic->rail);
	api_put_double(out, true, "speed_gbps", rnic->speed_gbps);
	rp_buf_puts(out, "}");
}

void
rp_api_encode_register(const struct rp_api_register *msg, struct rp_buf *out)
{
	rp_buf_puts(out, "{");
	api_put_string(out, false, "boot_id", msg->boot_id);
	rp_buf_printf(out, ",\"set_seq\":%" PRIu64, msg->set_seq);
	api_put_string(out, true, "hostname", msg->hostname);
	api_put_string(out, true, "agent_ip", msg->agent_ip);
	api_put_string(out, true, "tor_id", msg->tor_id);
	api_put_string(out, true, "version", msg->version);
	rp_buf_puts(out, ",\"rnics\":[");
	for (size_t i = 0; i < msg->n_rnics; i++) {
		if (i > 0)
			rp_buf_puts(out, ",");
		put_rnic(out, &msg->rnic[i]);
	}
	rp_buf_puts(out, "]}");
}

static int
get_rnic(const struct rp_json_at *at, struct rp_api_rnic *rnic)
{
	static const char *const stamps[] = {"sw", "hw", NULL};
	static const char *const state[] = {"down", "up", NULL};
	unsigned int hw = 0, up = 1;
	int rc = api_get_gid(at, "gid", &rnic->gid);

	if (rc == 0)
		rc = rp_json_u32(at, "qpn", RP_JSON_REQUIRED, API_QPN_MIN, API_QPN_MAX, &rnic->qpn);
	if (rc == 0)
		rc = rp_json_u32(at, "qkey", RP_JSON_REQUIRED, 0, API_QKEY_MAX, &rnic->qkey);
	if (rc == 0)
		rc = rp_json_u32(
			at, "generation", RP_JSON_REQUIRED, 1, UINT32_MAX, &rnic->generation);
	if (rc == 0)
		rc = api_get_name(at, "device", RP_JSON_REQUIRED, false, rnic->device);
	if (rc == 0)
		rc = api_get_name(at, "driver", RP_JSON_OPTIONAL, true, rnic->driver);
	if (rc == 0)
		rc = rp_json_enum(at, "stamps", RP_JSON_REQUIRED, stamps, &hw);
	if (rc == 0)
		rc = rp_json_enum(at, "state", RP_JSON_OPTIONAL, state, &up);
	if (rc == 0)
		rc = api_get_name(at, "tor_id", RP_JSON_OPTIONAL, true, rnic->tor_id);
	if (rc == 0)
		rc = api_get_name(at, "rail", RP_JSON_OPTIONAL, true, rnic->rail);
	if (rc == 0)
		rc = rp_json_double(
			at, "speed_gbps", RP_JSON_OPTIONAL, 0, SPEED_MAX_GBPS, &rnic->speed_gbps);
	rnic->hw_stamps = hw == 1;
	rnic->up = up == 1;
	return rc;
}

static int
get_rnics(const struct rp_json_at *at, struct rp_api_register *msg)
{
	struct rp_json_at list, elem = {0};
	size_t n;
	int rc = rp_json_array(at, "rnics", RP_JSON_REQUIRED, RP_API_RNICS_MAX, &list, &n);

	if (rc == 0)
		rc = api_alloc(n, sizeof(*msg->rnic), &msg->rnic);
	while (rc == 0 && rp_json_next(&list, &elem)) {
		struct rp_api_rnic *rnic = &msg->rnic[msg->n_rnics];

		rc = get_rnic(&elem, rnic);
		for (size_t i = 0; rc == 0 && i < msg->n_rnics; i++)
			if (rp_gid_equal(&msg->rnic[i].gid, &rnic->gid))
				rc = rp_json_fail(&elem, "gid", "stands twice in the set");
		msg->n_rnics++;
	}
	return rc;
}

static int
get_agent_ip(const struct rp_json_at *at, char *ret_ip)
{
	struct rp_gid ip;
	int rc = rp_json_string(at, "agent_ip", RP_JSON_OPTIONAL, ret_ip, RP_GID_TEXT_MAX);

	if (rc == 0 && ret_ip[0] != '\0' && rp_gid_parse(ret_ip, &ip) != 0)
		rc = rp_json_fail(at, "agent_ip", "must be an IP address or empty");
	return rc;
}

static int
get_register(const struct rp_json_at *at, struct rp_api_register *msg)
{
	int rc = api_get_boot_id(at, "boot_id", msg->boot_id);

	if (rc == 0)
		rc = rp_json_u64(
			at, "set_seq", RP_JSON_REQUIRED, 0, RP_JSON_INT_MAX, &msg->set_seq);
	if (rc == 0)
		rc = api_get_name(at, "hostname", RP_JSON_REQUIRED, false, msg->hostname);
	if (rc == 0)
		rc = get_agent_ip(at, msg->agent_ip);
	if (rc == 0)
		rc = api_get_name(at, "tor_id", RP_JSON_OPTIONAL, true, msg->tor_id);
	if (rc == 0)
		rc = api_get_name(at, "version", RP_JSON_OPTIONAL, true, msg->version);
	if (rc == 0)
		rc = get_rnics(at, msg);
	return rc;
}

int
rp_api_decode_register(
	const char *json, size_t len, struct rp_api_register *ret_msg, struct rp_api_err *reterr)
{
	struct rp_api_register msg = {0};
	struct rp_json_err err = {0};
	struct rp_json *doc = NULL;
	int rc = rp_json_parse(json, len, &doc, &err);

	if (rc == 0) {
		struct rp_json_at root = rp_json_root(doc, &err);

		rc = get_register(&root, &msg);
	}
	if (rc == 0)
		*ret_msg = msg;
	else
		rp_api_register_fini(&msg);
	return api_close(doc, rc, &err, reterr);
}

void
rp_api_register_fini(struct rp_api_register *msg)
{
	free(msg->rnic);
	msg->rnic = NULL;
	msg->n_rnics = 0;
}

void
rp_api_encode_register_reply(const struct rp_api_register_reply *msg, struct rp_buf *out)
{
	char gid[RP_GID_TEXT_MAX];

	rp_buf_printf(
		out, "{\"registered\":%s,\"pinglist_etags\":{", msg->registered ? "true" : "false");
	for (size_t i = 0; i < msg->n_etags; i++)
		api_put_string(
			out, i > 0, rp_gid_format(&msg->etag[i].gid, gid), msg->etag[i].etag);
	rp_buf_printf(out, "},\"heartbeat_sec\":%" PRIu32 ",\"server_time_ms\":%" PRId64 "}",
		msg->heartbeat_sec, msg->server_time_ms);
}

static int
get_etags(const struct rp_json_at *at, struct rp_api_register_reply *msg)
{
	struct rp_json_at list, elem = {0};
	int rc = rp_json_object(at, "pinglist_etags", RP_JSON_REQUIRED, &list);

	if (rc == 0)
		rc = api_alloc(RP_API_RNICS_MAX, sizeof(*msg->etag), &msg->etag);
	while (rc == 0 && rp_json_next(&list, &elem)) {
		struct rp_api_etag *etag = &msg->etag[msg->n_etags];

		if (msg->n_etags == RP_API_RNICS_MAX)
			return rp_json_fail(&list, NULL, "has too many members");
		if (rp_gid_parse(elem.key, &etag->gid) != 0)
			return rp_json_fail(&elem, NULL, "is not a GID");
		rc = api_get_etag(&elem, etag->etag);
		msg->n_etags++;
	}
	return rc;
}

static int
get_register_reply(const struct rp_json_at *at, struct rp_api_register_reply *msg)
{
	int rc = rp_json_bool(at, "registered", RP_JSON_REQUIRED, &msg->registered);

	if (rc == 0)
		rc = get_etags(at, msg);
	if (rc == 0)
		rc = rp_json_u32(at, "heartbeat_sec", RP_JSON_REQUIRED, 1, HEARTBEAT_MAX,
			&msg->heartbeat_sec);
	if (rc == 0)
		rc = rp_json_i64(at, "server_time_ms", RP_JSON_REQUIRED, 0, API_EPOCH_MAX,
			&msg->server_time_ms);
	return rc;
}

int
rp_api_decode_register_reply(const char *json, size_t len, struct rp_api_register_reply *ret_msg,
	struct rp_api_err *reterr)
{
	struct rp_api_register_reply msg = {0};
	struct rp_json_err err = {0};
	struct rp_json *doc = NULL;
	int rc = rp_json_parse(json, len, &doc, &err);

	if (rc == 0) {
		struct rp_json_at root = rp_json_root(doc, &err);

		rc = get_register_reply(&root, &msg);
	}
	if (rc == 0)
		*ret_msg = msg;
	else
		rp_api_register_reply_fini(&msg);
	return api_close(doc, rc, &err, reterr);
}

void
rp_api_register_reply_fini(struct rp_api_register_reply *msg)
{
	free(msg->etag);
	msg->etag = NULL;
	msg->n_etags = 0;
}
