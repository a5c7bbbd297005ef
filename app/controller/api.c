/* SPDX-License-Identifier: BSD-3-Clause */

#include "api.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "rp_text.h"

/* What agents need, and the read API for those who cannot reach the other listener. */
const struct rp_http_route agent_routes[] = {
	{"PUT", "/v1/agents/{agent_id}", api_agent_put},
	{"DELETE", "/v1/agents/{agent_id}", api_agent_delete},
	{"GET", "/v1/agents/{agent_id}", api_agent_get},
	{"GET", "/v1/agents", api_agents_get},
	{"GET", "/v1/rnics/{gid}", api_rnic_get},
	{"GET", "/v1/pinglist", api_pinglist_get},
	{"POST", "/v1/reports", api_report_post},
	{"GET", "/v1/matrix", api_matrix_get},
	{"GET", "/v1/paths", api_paths_get},
	{"GET", "/healthz", api_healthz_get},
	{"GET", "/readyz", api_readyz_get},
	{"GET", "/version", api_version_get},
};
const size_t n_agent_routes = RP_ARRAY_LEN(agent_routes);

const struct rp_http_route ui_routes[] = {
	{"GET", "/v1/agents/{agent_id}", api_agent_get},
	{"GET", "/v1/agents", api_agents_get},
	{"GET", "/v1/rnics/{gid}", api_rnic_get},
	{"GET", "/v1/pinglist", api_pinglist_get},
	{"GET", "/v1/matrix", api_matrix_get},
	{"GET", "/v1/paths", api_paths_get},
	{"GET", "/healthz", api_healthz_get},
	{"GET", "/readyz", api_readyz_get},
	{"GET", "/version", api_version_get},
	{"GET", "/metrics", api_metrics_get},
};
const size_t n_ui_routes = RP_ARRAY_LEN(ui_routes);

void
api_reply_json(struct rp_http_request *req, struct rp_buf *body)
{
	rp_buf_puts(body, "\n");
	rp_http_reply_header(req, "Cache-Control", "no-store");
	rp_http_reply(req, 200, "application/json", body);
}

void
api_reply_busy(struct rp_http_request *req, unsigned int retry_sec, const char *message)
{
	char text[12];

	snprintf(text, sizeof(text), "%u", retry_sec);
	rp_http_reply_header(req, "Retry-After", text);
	rp_http_reply_error(req, 503, "unavailable", NULL, "%s", message);
}

void
api_reply_no_memory(struct rp_http_request *req)
{
	rp_http_reply_error(req, 500, "internal", NULL, "out of memory");
}

bool
api_json_body(struct rp_http_request *req, const char **ret_body, size_t *ret_len)
{
	static const char json[] = "application/json";
	const char *type = rp_http_request_header(req, "Content-Type");
	const char *coding = rp_http_request_header(req, "Content-Encoding");

	if (type != NULL &&
		(strncasecmp(type, json, strlen(json)) != 0 ||
			strchr("; \t", type[strlen(json)]) == NULL)) {
		rp_http_reply_error(
			req, 415, "unsupported_media_type", NULL, "send application/json");
		return false;
	}
	if (coding != NULL && strcasecmp(coding, "identity") != 0) {
		rp_http_reply_error(
			req, 415, "unsupported_media_type", NULL, "send the body uncompressed");
		return false;
	}
	*ret_body = rp_http_request_body(req, ret_len);
	return true;
}

bool
api_query_gid(struct rp_http_request *req, const char *name, bool required, struct rp_gid *ret_gid,
	bool *ret_set)
{
	const char *text = rp_http_request_query(req, name);

	*ret_set = text != NULL;
	if (text == NULL && !required)
		return true;
	if (text == NULL) {
		rp_http_reply_error(req, 400, "invalid", name, "%s is missing", name);
		return false;
	}
	if (rp_gid_parse(text, ret_gid) != 0) {
		rp_http_reply_error(
			req, 400, "invalid", name, "%s must be a GID or IP address", name);
		return false;
	}
	return true;
}

bool
api_query_i64(
	struct rp_http_request *req, const char *name, int64_t min, int64_t max, int64_t *ret_value)
{
	const char *text = rp_http_request_query(req, name);

	if (text == NULL || rp_text_i64(text, min, max, ret_value) == 0)
		return true;
	rp_http_reply_error(req, 400, "invalid", name,
		"%s must be an integer in %" PRId64 "..%" PRId64, name, min, max);
	return false;
}

bool
api_query_enum(
	struct rp_http_request *req, const char *name, const char *const *names, int *ret_index)
{
	const char *text = rp_http_request_query(req, name);
	char choices[128] = "";

	if (text == NULL)
		return true;
	for (int i = 0; names[i] != NULL; i++) {
		size_t n = strlen(choices);

		if (strcmp(text, names[i]) == 0) {
			*ret_index = i;
			return true;
		}
		snprintf(choices + n, sizeof(choices) - n, "%s%s", i > 0 ? ", " : "", names[i]);
	}
	rp_http_reply_error(req, 400, "invalid", name, "%s must be one of %s", name, choices);
	return false;
}

void
api_put_quantile(
	struct rp_buf *out, const char *key, const struct rp_shist *h, uint64_t num, uint64_t den)
{
	uint64_t ns;

	if (rp_shist_quantile(h, num, den, &ns))
		rp_buf_printf(out, ",\"%s\":%" PRIu64, key, ns);
	else
		rp_buf_printf(out, ",\"%s\":null", key);
}
