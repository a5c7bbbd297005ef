/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api_priv.h"
#include "rp_text.h"

const char *
rp_api_type_name(enum rp_api_type type)
{
	static const char *const name[RP_API_TYPE_N] = {"tor_mesh", "inter_tor"};

	return name[type];
}

bool
rp_api_name_is_valid(const char *name, bool empty_allowed)
{
	size_t len = strlen(name);

	if (len == 0)
		return empty_allowed;
	return len < RP_API_NAME_MAX && strpbrk(name, "/\t") == NULL &&
		rp_text_is_printable_utf8(name, len);
}

int
api_close(struct rp_json *doc, int rc, const struct rp_json_err *err, struct rp_api_err *reterr)
{
	rp_json_free(doc);
	if (rc == -EINVAL) {
		snprintf(reterr->field, sizeof(reterr->field), "%s", err->field);
		snprintf(reterr->message, sizeof(reterr->message), "%s", err->message);
	}
	return rc;
}

int
api_get_gid(const struct rp_json_at *at, const char *key, struct rp_gid *ret_gid)
{
	char text[RP_GID_TEXT_MAX];
	struct rp_gid gid;
	int rc = rp_json_string(at, key, RP_JSON_REQUIRED, text, sizeof(text));

	if (rc != 0)
		return rc;
	if (rp_gid_parse(text, &gid) != 0 || !rp_gid_is_unicast(&gid))
		return rp_json_fail(at, key, "must be a unicast GID or IP address");
	*ret_gid = gid;
	return 0;
}

int
api_get_name(const struct rp_json_at *at, const char *key, enum rp_json_need need,
	bool empty_allowed, char *ret_name)
{
	char name[RP_API_NAME_MAX] = "";
	int rc = rp_json_string(at, key, need, name, sizeof(name));

	if (rc != 0)
		return rc;
	if (!rp_api_name_is_valid(name, empty_allowed || need == RP_JSON_OPTIONAL))
		return rp_json_fail(at, key, "must be 1..128 bytes of printable text without '/'");
	memcpy(ret_name, name, sizeof(name));
	return 0;
}

int
api_get_boot_id(const struct rp_json_at *at, const char *key, char *ret_id)
{
	char id[RP_API_UUID_MAX] = "";
	int rc = rp_json_string(at, key, RP_JSON_REQUIRED, id, sizeof(id));

	if (rc != 0)
		return rc;
	if (id[0] == '\0' ||
		strspn(id,
			"0123456789abcdefghijklmnopqrstuvwxyz"
			"ABCDEFGHIJKLMNOPQRSTUVWXYZ-") != strlen(id))
		return rp_json_fail(at, key, "must be 1..36 letters, digits and dashes");
	memcpy(ret_id, id, sizeof(id));
	return 0;
}

int
api_get_etag(const struct rp_json_at *at, char *ret_etag)
{
	char etag[RP_API_ETAG_MAX] = "";
	int rc = rp_json_string(at, NULL, RP_JSON_REQUIRED, etag, sizeof(etag));

	if (rc != 0)
		return rc;
	if (etag[0] == '\0' || strspn(etag, "0123456789abcdefABCDEF") != strlen(etag))
		return rp_json_fail(at, NULL, "must be 1..32 hexadecimal digits");
	memcpy(ret_etag, etag, sizeof(etag));
	return 0;
}

void
api_put_string(struct rp_buf *out, bool comma, const char *key, const char *value)
{
	rp_buf_printf(out, "%s\"%s\":", comma ? "," : "", key);
	rp_buf_json_string(out, value);
}

void
api_put_gid(struct rp_buf *out, bool comma, const char *key, const struct rp_gid *gid)
{
	char text[RP_GID_TEXT_MAX];

	api_put_string(out, comma, key, rp_gid_format(gid, text));
}

void
api_put_double(struct rp_buf *out, bool comma, const char *key, double value)
{
	char text[40];

	if (!isfinite(value))
		value = 0;
	snprintf(text, sizeof(text), "%.15g", value);
	if (strtod(text, NULL) != value)
		snprintf(text, sizeof(text), "%.17g", value);
	rp_buf_printf(out, "%s\"%s\":%s", comma ? "," : "", key, text);
}

int
api_alloc(size_t n, size_t size, void *ret_array)
{
	void *array = calloc(n == 0 ? 1 : n, size);

	if (array == NULL)
		return -ENOMEM;
	memcpy(ret_array, &array, sizeof(array));
	return 0;
}

int
rp_api_decode_refusal(const char *json, size_t len, struct rp_api_refusal *ret_refusal)
{
	struct rp_api_refusal r = {{0}, {0}, {0}};
	struct rp_json_at root, error;
	struct rp_json_err err;
	struct rp_json *doc;
	int rc = rp_json_parse(json, len, &doc, &err);

	if (rc != 0)
		return rc;
	root = rp_json_root(doc, &err);
	rc = rp_json_object(&root, "error", RP_JSON_REQUIRED, &error);
	if (rc == 0)
		rc = rp_json_string(&error, "code", RP_JSON_REQUIRED, r.code, sizeof(r.code));
	if (rc == 0)
		rc = rp_json_string(
			&error, "message", RP_JSON_REQUIRED, r.message, sizeof(r.message));
	if (rc == 0)
		rc = rp_json_string(&error, "field", RP_JSON_OPTIONAL, r.field, sizeof(r.field));
	rp_json_free(doc);
	if (rc == 0)
		*ret_refusal = r;
	return rc;
}
