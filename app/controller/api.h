/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef API_H
#define API_H

/**
 * @file api.h
 * Handlers of docs/api.md and what they share. Each replies exactly once.
 *
 * Thread:  HTTP loops. Memory: the request's. Time: ms since the epoch.
 */

#include "controller.h"

void api_agent_put(struct rp_http_request *req, void *arg);
void api_agent_delete(struct rp_http_request *req, void *arg);
void api_agent_get(struct rp_http_request *req, void *arg);
void api_agents_get(struct rp_http_request *req, void *arg);
void api_rnic_get(struct rp_http_request *req, void *arg);
void api_pinglist_get(struct rp_http_request *req, void *arg);
void api_report_post(struct rp_http_request *req, void *arg);
void api_matrix_get(struct rp_http_request *req, void *arg);
void api_paths_get(struct rp_http_request *req, void *arg);
void api_healthz_get(struct rp_http_request *req, void *arg);
void api_readyz_get(struct rp_http_request *req, void *arg);
void api_version_get(struct rp_http_request *req, void *arg);
void api_metrics_get(struct rp_http_request *req, void *arg);

/** 200 with @p body, which is taken over. */
void api_reply_json(struct rp_http_request *req, struct rp_buf *body);

/** 503 + Retry-After. */
void api_reply_busy(struct rp_http_request *req, unsigned int retry_sec, const char *message);

/** 500 for a failed allocation. */
void api_reply_no_memory(struct rp_http_request *req);

/** JSON body of a request; false: a 415 was replied. */
bool api_json_body(struct rp_http_request *req, const char **ret_body, size_t *ret_len);

/**
 * Query parameters. @return false: a 400 that names the parameter was replied.
 * Absent optional ones leave the output as it is.
 */
bool api_query_gid(struct rp_http_request *req, const char *name, bool required,
	struct rp_gid *ret_gid, bool *ret_set);
bool api_query_i64(struct rp_http_request *req, const char *name, int64_t min, int64_t max,
	int64_t *ret_value);
bool api_query_enum(
	struct rp_http_request *req, const char *name, const char *const *names, int *ret_index);

/** null, or the quantile in ns. */
void api_put_quantile(
	struct rp_buf *out, const char *key, const struct rp_shist *h, uint64_t num, uint64_t den);

#endif /* API_H */
