/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef RP_JSON_H
#define RP_JSON_H

/**
 * @file rp_json.h
 * Strict JSON reader (RFC 8259): UTF-8 only, no duplicate keys, no trailing
 * bytes, no NUL in strings, integers exact below 2^53. The writer is rp_buf.h.
 *
 * Reading walks the document with struct rp_json_at, a place on the caller's
 * stack that knows its way up: the first error writes the path of the field
 * ("rows[3].peer") and what was wanted. Keys are case-sensitive; unknown keys are
 * ignored; null counts as a value of the wrong type.
 *
 * Thread:  one owner per document.
 * Memory:  places and strings point into the document and die with it.
 * Time:    n/a.
 * Errors:  getters return 0, or -EINVAL with the error filled.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RP_JSON_DEPTH_MAX   32
#define RP_JSON_MEMBERS_MAX 256 /* of one object */

/** Largest integer that a double holds without neighbours: 2^53 - 1. */
#define RP_JSON_INT_MAX INT64_C(9007199254740991)

struct rp_json_err {
	char field[96]; /* "" for the document itself */
	char message[160];
};

struct rp_json; /* a document; opaque */

/** A place in a document. Fields are private. */
struct rp_json_at {
	const void *item;
	const struct rp_json_at *up;
	const char *key; /* NULL: an element of an array, or the root */
	size_t index;
	struct rp_json_err *err;
};

enum rp_json_need {
	RP_JSON_REQUIRED,
	RP_JSON_OPTIONAL, /* absent: the output keeps its value */
};

/** @return 0, -EINVAL (reterr), -ENOMEM */
int rp_json_parse(
	const char *text, size_t len, struct rp_json **ret_doc, struct rp_json_err *reterr);
void rp_json_free(struct rp_json *doc);

/** The document's value; errors of this place and all below go to @p reterr. */
struct rp_json_at rp_json_root(const struct rp_json *doc, struct rp_json_err *reterr);

/** Write an error of the caller's own about member @p key of @p at (NULL: @p at). @return -EINVAL */
int rp_json_fail(const struct rp_json_at *at, const char *key, const char *message);

/*
 * Getters. @key names a member of the object @at; NULL means the value @at
 * itself. Ranges are inclusive.
 */
int rp_json_i64(const struct rp_json_at *at, const char *key, enum rp_json_need need, int64_t min,
	int64_t max, int64_t *ret_value);
int rp_json_u64(const struct rp_json_at *at, const char *key, enum rp_json_need need, uint64_t min,
	uint64_t max, uint64_t *ret_value);
int rp_json_u32(const struct rp_json_at *at, const char *key, enum rp_json_need need, uint32_t min,
	uint32_t max, uint32_t *ret_value);
int rp_json_double(const struct rp_json_at *at, const char *key, enum rp_json_need need, double min,
	double max, double *ret_value);
int rp_json_bool(
	const struct rp_json_at *at, const char *key, enum rp_json_need need, bool *ret_value);

/** @p ret_text is written when the string fits with its NUL into @p cap bytes. */
int rp_json_string(const struct rp_json_at *at, const char *key, enum rp_json_need need,
	char *ret_text, size_t cap);

/** Index into the NULL-terminated @p names. */
int rp_json_enum(const struct rp_json_at *at, const char *key, enum rp_json_need need,
	const char *const *names, unsigned int *ret_index);

/** Member @p key, an object. Optional and absent: ret_at->item is NULL. */
int rp_json_object(const struct rp_json_at *at, const char *key, enum rp_json_need need,
	struct rp_json_at *ret_at);

/** Member @p key, an array of at most @p max elements. Absent: no elements. */
int rp_json_array(const struct rp_json_at *at, const char *key, enum rp_json_need need, size_t max,
	struct rp_json_at *ret_at, size_t *ret_n);

/**
 * Walk an array or the members of an object: @p elem is all zero before the
 * first call. Members set elem->key.
 * @return false behind the last one
 */
bool rp_json_next(const struct rp_json_at *container, struct rp_json_at *elem);

/** Call an array element by @p name in errors: "rows[3].peer" rather than "rows[3][0]". */
void rp_json_name(struct rp_json_at *elem, const char *name);

/** Whether member @p key (NULL: @p at itself) is the literal null. */
bool rp_json_is_null(const struct rp_json_at *at, const char *key);

#endif /* RP_JSON_H */
