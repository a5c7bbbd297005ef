/* SPDX-License-Identifier: BSD-3-Clause */

#include "rp_json.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json_scan.h"
#include "rp_base.h"
#include "rp_text.h"

struct rp_json {
	cJSON *root;
};

static int
refuse(struct rp_json_err *reterr, const char *message)
{
	reterr->field[0] = '\0';
	snprintf(reterr->message, sizeof(reterr->message), "%s", message);
	return -EINVAL;
}

/* The key is a stranger's: only what can be shown is. */
static int
refuse_twice(struct rp_json_err *reterr, const char *key)
{
	if (strlen(key) >= sizeof(reterr->field) || !rp_text_is_printable_utf8(key, strlen(key)))
		return refuse(reterr, "duplicate key");
	refuse(reterr, "duplicate key");
	snprintf(reterr->field, sizeof(reterr->field), "%s", key);
	return -EINVAL;
}

static int
check_members(const cJSON *object, struct rp_json_err *reterr)
{
	const cJSON *a, *b;
	size_t n = 0;

	cJSON_ArrayForEach(a, object) {
		if (++n > RP_JSON_MEMBERS_MAX)
			return refuse(reterr, "too many members in an object");
		for (b = object->child; b != a; b = b->next)
			if (strcmp(a->string, b->string) == 0)
				return refuse_twice(reterr, a->string);
	}
	return 0;
}

/* Recursion is bounded: the scan has limited the depth. */
static int
check_tree(const cJSON *item, struct rp_json_err *reterr)
{
	const cJSON *child;
	int rc = 0;

	if (cJSON_IsNumber(item) && !isfinite(item->valuedouble))
		return refuse(reterr, "number out of range");
	if (cJSON_IsObject(item))
		rc = check_members(item, reterr);
	cJSON_ArrayForEach(child, item) {
		if (rc != 0)
			break;
		rc = check_tree(child, reterr);
	}
	return rc;
}

static bool
only_blanks(const char *at, const char *end)
{
	while (at < end && *at != '\0' && strchr(" \t\r\n", *at) != NULL)
		at++;
	return at == end;
}

int
rp_json_parse(const char *text, size_t len, struct rp_json **ret_doc, struct rp_json_err *reterr)
{
	const char *end = NULL;
	const char *wrong = json_scan(text, len, RP_JSON_DEPTH_MAX);
	struct rp_json *doc;
	int rc;

	if (wrong != NULL)
		return refuse(reterr, wrong);
	doc = calloc(1, sizeof(*doc));
	if (doc == NULL)
		return -ENOMEM;
	doc->root = cJSON_ParseWithLengthOpts(text, len, &end, false);
	if (doc->root == NULL)
		rc = refuse(reterr, "not valid JSON");
	else if (!only_blanks(end, text + len))
		rc = refuse(reterr, "bytes behind the JSON value");
	else
		rc = check_tree(doc->root, reterr);
	if (rc != 0) {
		rp_json_free(doc);
		return rc;
	}
	*ret_doc = doc;
	return 0;
}

void
rp_json_free(struct rp_json *doc)
{
	if (doc == NULL)
		return;
	cJSON_Delete(doc->root);
	free(doc);
}

struct rp_json_at
rp_json_root(const struct rp_json *doc, struct rp_json_err *reterr)
{
	return (struct rp_json_at){.item = doc->root, .err = reterr};
}

static void
append(char *path, size_t cap, const char *key, size_t index)
{
	size_t n = strlen(path);

	if (key == NULL)
		snprintf(path + n, cap - n, "[%zu]", index);
	else
		snprintf(path + n, cap - n, "%s%s", n == 0 ? "" : ".", key);
}

static void
write_path(const struct rp_json_at *at, char *path, size_t cap)
{
	if (at->up == NULL)
		return;
	write_path(at->up, path, cap);
	append(path, cap, at->key, at->index);
}

int
rp_json_fail(const struct rp_json_at *at, const char *key, const char *message)
{
	struct rp_json_err *err = at->err;

	err->field[0] = '\0';
	write_path(at, err->field, sizeof(err->field));
	if (key != NULL)
		append(err->field, sizeof(err->field), key, 0);
	snprintf(err->message, sizeof(err->message), "%s", message);
	return -EINVAL;
}

/* Value behind @key, or NULL with *ret_rc telling whether that is an error. */
static const cJSON *
find(const struct rp_json_at *at, const char *key, enum rp_json_need need, int *ret_rc)
{
	const cJSON *item = at->item;

	*ret_rc = 0;
	if (key == NULL)
		return item;
	if (!cJSON_IsObject(item)) {
		*ret_rc = rp_json_fail(at, NULL, "must be an object");
		return NULL;
	}
	item = cJSON_GetObjectItemCaseSensitive(item, key);
	if (item == NULL && need == RP_JSON_REQUIRED)
		*ret_rc = rp_json_fail(at, key, "is missing");
	return item;
}

int
rp_json_i64(const struct rp_json_at *at, const char *key, enum rp_json_need need, int64_t min,
	int64_t max, int64_t *ret_value)
{
	char message[120];
	int rc;
	const cJSON *item = find(at, key, need, &rc);

	if (item == NULL)
		return rc;
	if (!cJSON_IsNumber(item) || floor(item->valuedouble) != item->valuedouble)
		return rp_json_fail(at, key, "must be an integer");
	if (fabs(item->valuedouble) > (double)RP_JSON_INT_MAX || (int64_t)item->valuedouble < min ||
		(int64_t)item->valuedouble > max) {
		snprintf(message, sizeof(message), "must be %" PRId64 "..%" PRId64, min,
			max > RP_JSON_INT_MAX ? RP_JSON_INT_MAX : max);
		return rp_json_fail(at, key, message);
	}
	*ret_value = (int64_t)item->valuedouble;
	return 0;
}

int
rp_json_u64(const struct rp_json_at *at, const char *key, enum rp_json_need need, uint64_t min,
	uint64_t max, uint64_t *ret_value)
{
	int64_t value = (int64_t)rp_min_u64(*ret_value, (uint64_t)RP_JSON_INT_MAX);
	int rc = rp_json_i64(at, key, need, (int64_t)rp_min_u64(min, (uint64_t)RP_JSON_INT_MAX),
		(int64_t)rp_min_u64(max, (uint64_t)RP_JSON_INT_MAX), &value);

	if (rc == 0)
		*ret_value = (uint64_t)value;
	return rc;
}

int
rp_json_u32(const struct rp_json_at *at, const char *key, enum rp_json_need need, uint32_t min,
	uint32_t max, uint32_t *ret_value)
{
	int64_t value = *ret_value;
	int rc = rp_json_i64(at, key, need, min, max, &value);

	if (rc == 0)
		*ret_value = (uint32_t)value;
	return rc;
}

int
rp_json_double(const struct rp_json_at *at, const char *key, enum rp_json_need need, double min,
	double max, double *ret_value)
{
	char message[120];
	int rc;
	const cJSON *item = find(at, key, need, &rc);

	if (item == NULL)
		return rc;
	if (!cJSON_IsNumber(item))
		return rp_json_fail(at, key, "must be a number");
	if (item->valuedouble < min || item->valuedouble > max) {
		snprintf(message, sizeof(message), "must be %g..%g", min, max);
		return rp_json_fail(at, key, message);
	}
	*ret_value = item->valuedouble;
	return 0;
}

int
rp_json_bool(const struct rp_json_at *at, const char *key, enum rp_json_need need, bool *ret_value)
{
	int rc;
	const cJSON *item = find(at, key, need, &rc);

	if (item == NULL)
		return rc;
	if (!cJSON_IsBool(item))
		return rp_json_fail(at, key, "must be true or false");
	*ret_value = cJSON_IsTrue(item);
	return 0;
}

int
rp_json_string(const struct rp_json_at *at, const char *key, enum rp_json_need need, char *ret_text,
	size_t cap)
{
	char message[120];
	int rc;
	const cJSON *item = find(at, key, need, &rc);

	if (item == NULL)
		return rc;
	if (!cJSON_IsString(item))
		return rp_json_fail(at, key, "must be a string");
	if (strlen(item->valuestring) >= cap) {
		snprintf(message, sizeof(message), "must be at most %zu bytes", cap - 1);
		return rp_json_fail(at, key, message);
	}
	memcpy(ret_text, item->valuestring, strlen(item->valuestring) + 1);
	return 0;
}

int
rp_json_enum(const struct rp_json_at *at, const char *key, enum rp_json_need need,
	const char *const *names, unsigned int *ret_index)
{
	char message[160] = "must be one of";
	int rc;
	const cJSON *item = find(at, key, need, &rc);

	if (item == NULL)
		return rc;
	for (unsigned int i = 0; names[i] != NULL; i++) {
		size_t n = strlen(message);

		if (cJSON_IsString(item) && strcmp(item->valuestring, names[i]) == 0) {
			*ret_index = i;
			return 0;
		}
		snprintf(
			message + n, sizeof(message) - n, "%s \"%s\"", i == 0 ? "" : ",", names[i]);
	}
	return rp_json_fail(at, key, message);
}

int
rp_json_object(const struct rp_json_at *at, const char *key, enum rp_json_need need,
	struct rp_json_at *ret_at)
{
	int rc;
	const cJSON *item = find(at, key, need, &rc);

	if (rc == 0 && item != NULL && !cJSON_IsObject(item))
		rc = rp_json_fail(at, key, "must be an object");
	if (rc == 0)
		*ret_at = (struct rp_json_at){.item = item, .up = at, .key = key, .err = at->err};
	return rc;
}

int
rp_json_array(const struct rp_json_at *at, const char *key, enum rp_json_need need, size_t max,
	struct rp_json_at *ret_at, size_t *ret_n)
{
	char message[120];
	int rc;
	const cJSON *item = find(at, key, need, &rc);
	const cJSON *child;
	size_t n = 0;

	if (rc != 0)
		return rc;
	if (item != NULL && !cJSON_IsArray(item))
		return rp_json_fail(at, key, "must be an array");
	if (item != NULL)
		cJSON_ArrayForEach(child, item)
			n++;
	if (n > max) {
		snprintf(message, sizeof(message), "must have at most %zu elements", max);
		return rp_json_fail(at, key, message);
	}
	*ret_n = n;
	/* The value itself must keep its own way up: it is the same place. */
	*ret_at = key == NULL
		? *at
		: (struct rp_json_at){.item = item, .up = at, .key = key, .err = at->err};
	return 0;
}

bool
rp_json_next(const struct rp_json_at *container, struct rp_json_at *elem)
{
	const cJSON *in = container->item;
	const cJSON *item = elem->item;

	if (item == NULL) {
		item = in == NULL ? NULL : in->child;
		elem->index = 0;
	} else {
		item = item->next;
		elem->index++;
	}
	elem->item = item;
	elem->up = container;
	elem->err = container->err;
	elem->key = item != NULL && cJSON_IsObject(in) ? item->string : NULL;
	return item != NULL;
}

void
rp_json_name(struct rp_json_at *elem, const char *name)
{
	elem->key = name;
}

bool
rp_json_is_null(const struct rp_json_at *at, const char *key)
{
	const cJSON *item = at->item;

	if (key != NULL)
		item = cJSON_GetObjectItemCaseSensitive(item, key);
	return cJSON_IsNull(item);
}
