/* SPDX-License-Identifier: BSD-3-Clause */

#include "rp_json.h"

#include <errno.h>
#include <stdio.h>

#include "ut.h"

static struct rp_json_err err;

static int
parse(const char *text, struct rp_json **ret_doc)
{
	err = (struct rp_json_err){0};
	return rp_json_parse(text, strlen(text), ret_doc, &err);
}

static void
parse__what_others_let_through__is_refused_by_name(void)
{
	static const struct {
		const char *text, *message;
	} bad[] = {
		{"", "not valid JSON"},
		{"{", "not valid JSON"},
		{"]", "unbalanced bracket"},
		{"{} x", "unexpected byte"},
		{"{}{}", "bytes behind"},
		{"\xEF\xBB\xBF{}", "unexpected byte"},
		{"[01]", "malformed number"},
		{"[1.]", "malformed number"},
		{"[.5]", "unexpected byte"},
		{"[+1]", "unexpected byte"},
		{"[1e]", "malformed number"},
		{"[-]", "malformed number"},
		{"[1e999]", "out of range"},
		{"[NaN]", "unexpected byte"},
		{"{\"a\":1,\"a\":2}", "duplicate key"},
		{"{\"a\":{\"b\":1,\"b\":1}}", "duplicate key"},
		{"[\"a\x01\"]", "control byte"},
		{"[\"a\\u0000b\"]", "NUL"},
		{"[\"\xC0\xAF\"]", "invalid UTF-8"},
		{"[\"\xED\xA0\x80\"]", "invalid UTF-8"},
		{"[\"\\ud800\"]", "not valid JSON"},
		{"[\"a]", "unterminated"},
		{"[\"a\\", "unterminated"},
		{"// c\n{}", "unexpected byte"},
	};

	for (size_t i = 0; i < RP_ARRAY_LEN(bad); i++) {
		struct rp_json *doc = NULL;

		if (!UT_EQ(parse(bad[i].text, &doc), -EINVAL))
			printf("case %zu: %s\n", i, bad[i].text);
		UT_HAS(err.message, bad[i].message);
		rp_json_free(doc);
	}
}

static void
parse__duplicate_key__is_named_if_it_can_be_shown(void)
{
	char text[512];
	struct rp_json *doc = NULL;

	UT_EQ(parse("{\"x\":{\"rate\":1,\"rate\":1}}", &doc), -EINVAL);
	UT_STR(err.field, "rate");
	UT_EQ(parse("{\"\\u001b[2J\":1,\"\\u001b[2J\":1}", &doc), -EINVAL);
	UT_STR(err.field, "");
	snprintf(text, sizeof(text), "{\"%0200d\":1,\"%0200d\":1}", 0, 0);
	UT_EQ(parse(text, &doc), -EINVAL);
	UT_STR(err.field, "");
	UT_STR(err.message, "duplicate key");
}

static void
parse__escaped_backslash_before_u0000__is_text(void)
{
	struct rp_json *doc = NULL;

	UT_OK(parse("[\"\\\\u0000\"]", &doc));
	rp_json_free(doc);
}

static void
parse__a_nul_byte_inside__is_refused(void)
{
	struct rp_json *doc = NULL;

	UT_EQ(rp_json_parse("[1]\0", 4, &doc, &err), -EINVAL);
	UT_EQ(rp_json_parse("[\"a\0b\"]", 7, &doc, &err), -EINVAL);
}

static void
parse__depth_limit__is_exact(void)
{
	char text[2 * (RP_JSON_DEPTH_MAX + 1) + 1];
	struct rp_json *doc = NULL;

	memset(text, '[', RP_JSON_DEPTH_MAX);
	memset(text + RP_JSON_DEPTH_MAX, ']', RP_JSON_DEPTH_MAX);
	UT_OK(rp_json_parse(text, 2 * RP_JSON_DEPTH_MAX, &doc, &err));
	rp_json_free(doc);

	memset(text, '[', RP_JSON_DEPTH_MAX + 1);
	memset(text + RP_JSON_DEPTH_MAX + 1, ']', RP_JSON_DEPTH_MAX + 1);
	UT_EQ(rp_json_parse(text, 2 * (RP_JSON_DEPTH_MAX + 1), &doc, &err), -EINVAL);
	UT_HAS(err.message, "deep");
}

static void
parse__too_many_members__are_refused(void)
{
	struct rp_json *doc = NULL;
	char text[4096] = "{";
	size_t len = 1;

	for (int i = 0; i <= RP_JSON_MEMBERS_MAX; i++)
		len += (size_t)snprintf(
			text + len, sizeof(text) - len, "%s\"k%d\":1", i > 0 ? "," : "", i);
	snprintf(text + len, sizeof(text) - len, "}");
	UT_EQ(parse(text, &doc), -EINVAL);
	UT_HAS(err.message, "too many members");
}

static void
i64__integers__are_exact_up_to_2_53(void)
{
	struct rp_json *doc = NULL;
	struct rp_json_at root;
	int64_t v = 0;

	UT_OK(parse("{\"max\":9007199254740991,\"over\":9007199254740992,\"min\":-9007199254740991,"
		    "\"half\":0.5,\"exp\":1e3,\"text\":\"1\"}",
		&doc));
	root = rp_json_root(doc, &err);
	UT_OK(rp_json_i64(&root, "max", RP_JSON_REQUIRED, 0, INT64_MAX, &v));
	UT_EQ(v, RP_JSON_INT_MAX);
	UT_OK(rp_json_i64(&root, "min", RP_JSON_REQUIRED, INT64_MIN, 0, &v));
	UT_EQ(v, -RP_JSON_INT_MAX);
	UT_OK(rp_json_i64(&root, "exp", RP_JSON_REQUIRED, 0, 1000, &v));
	UT_EQ(v, 1000);
	UT_EQ(rp_json_i64(&root, "over", RP_JSON_REQUIRED, 0, INT64_MAX, &v), -EINVAL);
	UT_STR(err.field, "over");
	UT_EQ(rp_json_i64(&root, "half", RP_JSON_REQUIRED, 0, 1, &v), -EINVAL);
	UT_EQ(rp_json_i64(&root, "text", RP_JSON_REQUIRED, 0, 1, &v), -EINVAL);
	UT_EQ(rp_json_i64(&root, "exp", RP_JSON_REQUIRED, 0, 999, &v), -EINVAL);
	UT_STR(err.message, "must be 0..999");
	UT_EQ(v, 1000);
	rp_json_free(doc);
}

static void
getters__optional_absent__keep_the_value_and_null_is_a_wrong_type(void)
{
	struct rp_json *doc = NULL;
	struct rp_json_at root, at;
	char text[4] = "abc";
	bool flag = true;
	size_t n;

	UT_OK(parse("{\"null\":null}", &doc));
	root = rp_json_root(doc, &err);
	UT_OK(rp_json_bool(&root, "x", RP_JSON_OPTIONAL, &flag));
	UT_TRUE(flag);
	UT_OK(rp_json_string(&root, "x", RP_JSON_OPTIONAL, text, sizeof(text)));
	UT_STR(text, "abc");
	UT_OK(rp_json_array(&root, "x", RP_JSON_OPTIONAL, 1, &at, &n));
	UT_EQ(n, 0);
	UT_EQ(rp_json_bool(&root, "x", RP_JSON_REQUIRED, &flag), -EINVAL);
	UT_STR(err.message, "is missing");
	UT_EQ(rp_json_bool(&root, "null", RP_JSON_OPTIONAL, &flag), -EINVAL);
	UT_TRUE(rp_json_is_null(&root, "null"));
	UT_FALSE(rp_json_is_null(&root, "x"));
	UT_EQ(rp_json_bool(&root, "NULL", RP_JSON_REQUIRED, &flag), -EINVAL);
	rp_json_free(doc);
}

static void
string__longer_than_the_room__is_refused_with_the_limit(void)
{
	struct rp_json *doc = NULL;
	struct rp_json_at root;
	char text[4];

	UT_OK(parse("{\"a\":\"abc\",\"b\":\"abcd\"}", &doc));
	root = rp_json_root(doc, &err);
	UT_OK(rp_json_string(&root, "a", RP_JSON_REQUIRED, text, sizeof(text)));
	UT_EQ(rp_json_string(&root, "b", RP_JSON_REQUIRED, text, sizeof(text)), -EINVAL);
	UT_STR(err.message, "must be at most 3 bytes");
	rp_json_free(doc);
}

static void
next__nested_error__names_the_path(void)
{
	struct rp_json *doc = NULL;
	struct rp_json_at root, rows, row = {0}, cell = {0};
	size_t n;
	int64_t v;

	UT_OK(parse("{\"o\":{\"rows\":[[1],[2,true]]}}", &doc));
	root = rp_json_root(doc, &err);
	UT_OK(rp_json_object(&root, "o", RP_JSON_REQUIRED, &row));
	UT_OK(rp_json_array(&row, "rows", RP_JSON_REQUIRED, 2, &rows, &n));
	UT_EQ(n, 2);
	UT_EQ(rp_json_array(&row, "rows", RP_JSON_REQUIRED, 1, &rows, &n), -EINVAL);
	{
		struct rp_json_at elem = {0};

		UT_TRUE(rp_json_next(&rows, &elem));
		UT_TRUE(rp_json_next(&rows, &elem));
		UT_TRUE(rp_json_next(&elem, &cell));
		UT_TRUE(rp_json_next(&elem, &cell));
		UT_EQ(rp_json_i64(&cell, NULL, RP_JSON_REQUIRED, 0, 1, &v), -EINVAL);
		UT_STR(err.field, "o.rows[1][1]");
		rp_json_name(&cell, "peer");
		UT_EQ(rp_json_i64(&cell, NULL, RP_JSON_REQUIRED, 0, 1, &v), -EINVAL);
		UT_STR(err.field, "o.rows[1].peer");
		UT_FALSE(rp_json_next(&elem, &cell));
		UT_FALSE(rp_json_next(&rows, &elem));
	}
	rp_json_free(doc);
}

static void
enumeration__unknown_word__lists_the_choices(void)
{
	static const char *const names[] = {"red", "blue", NULL};
	struct rp_json *doc = NULL;
	struct rp_json_at root;
	unsigned int i = 9;

	UT_OK(parse("{\"a\":\"blue\",\"b\":\"Blue\"}", &doc));
	root = rp_json_root(doc, &err);
	UT_OK(rp_json_enum(&root, "a", RP_JSON_REQUIRED, names, &i));
	UT_EQ(i, 1);
	UT_EQ(rp_json_enum(&root, "b", RP_JSON_REQUIRED, names, &i), -EINVAL);
	UT_STR(err.message, "must be one of \"red\", \"blue\"");
	rp_json_free(doc);
}

static const struct ut_test tests[] = {
	UT(parse__what_others_let_through__is_refused_by_name),
	UT(parse__duplicate_key__is_named_if_it_can_be_shown),
	UT(parse__escaped_backslash_before_u0000__is_text),
	UT(parse__a_nul_byte_inside__is_refused),
	UT(parse__depth_limit__is_exact),
	UT(parse__too_many_members__are_refused),
	UT(i64__integers__are_exact_up_to_2_53),
	UT(getters__optional_absent__keep_the_value_and_null_is_a_wrong_type),
	UT(string__longer_than_the_room__is_refused_with_the_limit),
	UT(next__nested_error__names_the_path),
	UT(enumeration__unknown_word__lists_the_choices),
};

UT_MAIN("json", tests)
