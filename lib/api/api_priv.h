/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef API_PRIV_H
#define API_PRIV_H

/**
 * @file api_priv.h
 * Fields that several messages share.
 *
 * Thread:  any. Memory: the caller's. Time: n/a.
 * Errors:  as rp_json.h.
 */

#include "rp_api.h"
#include "rp_json.h"

#define API_QPN_MIN    2
#define API_QPN_MAX    0xFFFFFFu
#define API_QKEY_MAX   0x7FFFFFFFu
#define API_WINDOW_MIN 1u                     /* ms; the last window of a process is short */
#define API_WINDOW_MAX 3600000u               /* ms */
#define API_EPOCH_MAX  INT64_C(4102444800000) /* ms: the year 2100 */

/** Outcome of a decoder: copies the error, releases the document. @return @p rc */
int api_close(
	struct rp_json *doc, int rc, const struct rp_json_err *err, struct rp_api_err *reterr);

/** A unicast GID. */
int api_get_gid(const struct rp_json_at *at, const char *key, struct rp_gid *ret_gid);

/** rp_api_name_is_valid() text of RP_API_NAME_MAX bytes. */
int api_get_name(const struct rp_json_at *at, const char *key, enum rp_json_need need,
	bool empty_allowed, char *ret_name);

/** 1 .. 36 letters, digits and dashes. */
int api_get_boot_id(const struct rp_json_at *at, const char *key, char *ret_id);

int api_get_etag(const struct rp_json_at *at, char *ret_etag);

/** "key": "value" with a comma before when @p comma. */
void api_put_string(struct rp_buf *out, bool comma, const char *key, const char *value);
void api_put_gid(struct rp_buf *out, bool comma, const char *key, const struct rp_gid *gid);
/** Shortest form that reads back to the same number; not finite becomes 0. */
void api_put_double(struct rp_buf *out, bool comma, const char *key, double value);

void api_put_target(struct rp_buf *out, const struct rp_api_target *target);
int api_get_target(const struct rp_json_at *at, struct rp_api_target *ret_target);

void api_put_hist(struct rp_buf *out, bool comma, const struct rp_shist *h);
int api_get_hist(const struct rp_json_at *at, struct rp_shist *h);

/** Step to the next element of @p row and call it @p name. */
int api_next_cell(const struct rp_json_at *row, struct rp_json_at *cell, const char *name);
int api_next_u64(const struct rp_json_at *row, struct rp_json_at *cell, const char *name,
	uint64_t max, uint64_t *ret_value);

/** Zeroed array of @p n elements, never NULL on success. @return 0, -ENOMEM */
int api_alloc(size_t n, size_t size, void *ret_array);

#endif /* API_PRIV_H */
