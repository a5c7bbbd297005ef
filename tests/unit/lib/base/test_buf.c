/* SPDX-License-Identifier: BSD-3-Clause */

#include <stdio.h>

#include "rp_buf.h"
#include "ut.h"

static void
rp_buf_text__nothing_added__is_an_empty_string(void)
{
	struct rp_buf buf = {0};

	UT_STR(rp_buf_text(&buf), "");
	rp_buf_add(&buf, NULL, 0);
	UT_STR(rp_buf_text(&buf), "");
	rp_buf_fini(&buf);
	UT_STR(rp_buf_text(&buf), "");
}

static void
rp_buf_add__random_pieces__equal_their_concatenation(void)
{
	struct rp_rng rng = ut_rng(1);

	for (int round = 0; round < 50; round++) {
		static char want[65536];
		struct rp_buf buf = {0};
		size_t len = 0;

		while (len < 60000) {
			size_t n = rp_rng_below(&rng, 600);

			for (size_t i = 0; i < n; i++)
				want[len + i] = (char)rp_rng_next(&rng);
			rp_buf_add(&buf, want + len, n);
			len += n;
		}
		UT_EQ(buf.len, len);
		UT_MEM(buf.data, want, len);
		UT_EQ(buf.data[len], 0);
		rp_buf_fini(&buf);
	}
}

static void
rp_buf_printf__every_length_around_the_growth__is_whole(void)
{
	for (int n = 0; n < 1200; n++) {
		struct rp_buf buf = {0};

		rp_buf_puts(&buf, "[");
		rp_buf_printf(&buf, "%*d", n, 7);
		rp_buf_puts(&buf, "]");
		UT_EQ(buf.len, (size_t)(n < 1 ? 1 : n) + 2);
		UT_EQ(buf.len, strlen(rp_buf_text(&buf)));
		UT_EQ(buf.data[buf.len - 2], '7');
		rp_buf_fini(&buf);
	}
}

static void
rp_buf_add__impossible_length__fails_for_good(void)
{
	struct rp_buf buf = {0};

	rp_buf_puts(&buf, "kept");
	rp_buf_add(&buf, "x", SIZE_MAX / 2);
	UT_TRUE(rp_buf_failed(&buf));
	rp_buf_puts(&buf, "more");
	rp_buf_printf(&buf, "%d", 5);
	UT_STR(rp_buf_text(&buf), "kept");
	rp_buf_fini(&buf);
	UT_FALSE(rp_buf_failed(&buf));
	rp_buf_puts(&buf, "again");
	UT_STR(rp_buf_text(&buf), "again");
	rp_buf_fini(&buf);
}

static void
rp_buf_json_string__table_of_texts__is_escaped(void)
{
	static const struct {
		const char *text, *want;
	} row[] = {
		{"", "\"\""},
		{"plain", "\"plain\""},
		{"a\"b\\c", "\"a\\\"b\\\\c\""},
		{"a\nb\rc\td", "\"a\\u000ab\\u000dc\\u0009d\""},
		{"\x01\x1F\x7F", "\"\\u0001\\u001f\\u007f\""},
		{"\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80",
			"\"\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\""},
		{"\xFF", "\"\xEF\xBF\xBD\""},
		{"\xC3", "\"\xEF\xBF\xBD\""},
		{"\xE2\x82", "\"\xEF\xBF\xBD\xEF\xBF\xBD\""},
		{"\xC0\xAF", "\"\xEF\xBF\xBD\xEF\xBF\xBD\""},
		{"\xED\xA0\x80", "\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\""},
		{"\xF4\x90\x80\x80", "\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\""},
		{"\xC2\x85\xC2\x9B\xC2\xA0", "\"\\u0085\\u009b\xC2\xA0\""},
		{"</script>", "\"</script>\""},
	};

	for (size_t i = 0; i < RP_ARRAY_LEN(row); i++) {
		struct rp_buf buf = {0};

		rp_buf_json_string(&buf, row[i].text);
		UT_STR(rp_buf_text(&buf), row[i].want);
		rp_buf_fini(&buf);
	}
}

static void
rp_buf_json_string__random_bytes__hold_no_control_byte_and_two_bare_quotes(void)
{
	struct rp_rng rng = ut_rng(2);

	for (int round = 0; round < 20000; round++) {
		struct rp_buf buf = {0};
		char text[40];
		size_t n = rp_rng_below(&rng, sizeof(text)), quotes = 0;

		for (size_t i = 0; i < n; i++)
			text[i] = (char)(1 + rp_rng_below(&rng, 255));
		text[n] = '\0';
		rp_buf_json_string(&buf, text);
		for (size_t i = 0; i < buf.len; i++) {
			unsigned char c = (unsigned char)buf.data[i];

			if (c == '\\')
				i++;
			else if (c == '"')
				quotes++;
			if (!UT_TRUE(c >= 0x20))
				return;
		}
		if (!UT_EQ(quotes, 2))
			return;
		rp_buf_fini(&buf);
	}
}

static const struct ut_test tests[] = {
	UT(rp_buf_text__nothing_added__is_an_empty_string),
	UT(rp_buf_add__random_pieces__equal_their_concatenation),
	UT(rp_buf_printf__every_length_around_the_growth__is_whole),
	UT(rp_buf_add__impossible_length__fails_for_good),
	UT(rp_buf_json_string__table_of_texts__is_escaped),
	UT(rp_buf_json_string__random_bytes__hold_no_control_byte_and_two_bare_quotes),
};

UT_MAIN("buf", tests)
