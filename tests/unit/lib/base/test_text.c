/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <stdio.h>

#include "rp_text.h"
#include "ut.h"

static void
rp_text_i64__any_number_printed__reads_back(void)
{
	struct rp_rng rng = ut_rng(1);

	for (int i = 0; i < 20000; i++) {
		int64_t want = (int64_t)(rp_rng_next(&rng) >> rp_rng_below(&rng, 64));
		int64_t got = 0;
		char text[32];

		if (rp_rng_below(&rng, 2) == 0)
			want = -want;
		snprintf(text, sizeof(text), "%" PRId64, want);
		if (!UT_OK(rp_text_i64(text, INT64_MIN, INT64_MAX, &got)) || !UT_EQ(got, want))
			return;
		snprintf(text, sizeof(text), "0x%" PRIx64, want & INT64_MAX);
		if (!UT_OK(rp_text_i64(text, 0, INT64_MAX, &got)) || !UT_EQ(got, want & INT64_MAX))
			return;
	}
}

static void
rp_text_i64__limits__are_inclusive(void)
{
	int64_t v = 7;

	UT_OK(rp_text_i64("5", 5, 9, &v));
	UT_EQ(v, 5);
	UT_OK(rp_text_i64("9", 5, 9, &v));
	UT_EQ(v, 9);
	UT_EQ(rp_text_i64("4", 5, 9, &v), -ERANGE);
	UT_EQ(rp_text_i64("10", 5, 9, &v), -ERANGE);
	UT_EQ(v, 9);
}

static void
rp_text_i64__more_than_64_bits__is_out_of_range(void)
{
	int64_t v = 7;

	UT_OK(rp_text_i64("-9223372036854775808", INT64_MIN, INT64_MAX, &v));
	UT_EQ(v, INT64_MIN);
	UT_EQ(rp_text_i64("9223372036854775808", INT64_MIN, INT64_MAX, &v), -ERANGE);
	UT_EQ(rp_text_i64("-9223372036854775809", INT64_MIN, INT64_MAX, &v), -ERANGE);
	UT_EQ(rp_text_i64("99999999999999999999x", INT64_MIN, INT64_MAX, &v), -EINVAL);
}

static void
rp_text_i64__anything_around_the_number__is_refused(void)
{
	static const char *const bad[] = {"", " ", "-", "+1", " 1", "1 ", "1\n", "1a", "a1", "0x",
		"0xg", "--1", "1.0", "1e3", "0x1 ", "\t1", "-0x", "1,2"};
	int64_t v;

	for (size_t i = 0; i < RP_ARRAY_LEN(bad); i++)
		if (!UT_EQ(rp_text_i64(bad[i], INT64_MIN, INT64_MAX, &v), -EINVAL))
			printf("  text: '%s'\n", bad[i]);
}

static void
rp_text_i64__leading_zeros__stay_decimal(void)
{
	int64_t v = 0;

	UT_OK(rp_text_i64("010", 0, 100, &v));
	UT_EQ(v, 10);
}

static void
rp_text_double__any_finite_number__reads_back(void)
{
	struct rp_rng rng = ut_rng(2);

	for (int i = 0; i < 20000; i++) {
		double want = (rp_rng_unit(&rng) - 0.5) * (double)(rp_rng_next(&rng) >> 20);
		double got = 0;
		char text[64];

		snprintf(text, sizeof(text), "%.17g", want);
		if (!UT_OK(rp_text_double(text, -1e19, 1e19, &got)) || !UT_TRUE(got == want))
			return;
	}
}

static void
rp_text_double__no_finite_decimal_number__is_refused(void)
{
	static const char *const bad[] = {"", ".", "-", "nan", "inf", "-inf", "infinity", "0x1p3",
		"1.5x", " 1", "1 ", "1e", "+1"};
	double v = 3;

	for (size_t i = 0; i < RP_ARRAY_LEN(bad); i++)
		if (!UT_EQ(rp_text_double(bad[i], -1e300, 1e300, &v), -EINVAL))
			printf("  text: '%s'\n", bad[i]);
	UT_EQ(rp_text_double("1e999", -1e300, 1e300, &v), -ERANGE);
	UT_EQ(rp_text_double("1.01", 0, 1, &v), -ERANGE);
	UT_EQ(rp_text_double("-0.01", 0, 1, &v), -ERANGE);
	UT_NEAR(v, 3, 0);
}

static void
rp_text_bool__every_spelling__is_known(void)
{
	static const char *const yes[] = {"true", "yes", "on", "1", "TRUE", "Yes"};
	static const char *const no[] = {"false", "no", "off", "0", "False", "OFF"};
	static const char *const bad[] = {"", "2", "tru", "truee", "y", " true"};
	bool v;

	for (size_t i = 0; i < RP_ARRAY_LEN(yes); i++) {
		v = false;
		UT_OK(rp_text_bool(yes[i], &v));
		UT_TRUE(v);
		v = true;
		UT_OK(rp_text_bool(no[i], &v));
		UT_FALSE(v);
		UT_EQ(rp_text_bool(bad[i], &v), -EINVAL);
	}
}

static const struct {
	const char *name;
	int64_t ns;
} units[] = {{"ns", 1}, {"us", 1000}, {"ms", 1000000}, {"s", 1000000000}, {"m", 60000000000},
	{"h", 3600000000000}, {"d", 86400000000000}};

static void
rp_text_duration__any_pair_of_units__converts_exactly_or_refuses(void)
{
	struct rp_rng rng = ut_rng(3);

	for (int i = 0; i < 20000; i++) {
		size_t from = rp_rng_below(&rng, RP_ARRAY_LEN(units));
		size_t to = rp_rng_below(&rng, RP_ARRAY_LEN(units));
		int64_t n = (int64_t)rp_rng_below(&rng, 100000), v = -1;
		int64_t ns = n * units[from].ns;
		char text[64];
		int rc;

		snprintf(text, sizeof(text), "%" PRId64 "%s", n, units[from].name);
		rc = rp_text_duration(text, units[to].name, 0, INT64_MAX, &v);
		if (ns % units[to].ns != 0) {
			if (!UT_EQ(rc, -EINVAL))
				printf("  %s in %s\n", text, units[to].name);
		} else if (!UT_EQ(rc, 0) || !UT_EQ(v, ns / units[to].ns)) {
			printf("  %s in %s\n", text, units[to].name);
		}
	}
}

static void
rp_text_duration__bare_number__is_in_the_unit_of_the_key(void)
{
	int64_t v = 0;

	UT_OK(rp_text_duration("500", "ms", 1, 1000, &v));
	UT_EQ(v, 500);
	UT_EQ(rp_text_duration("2s", "ms", 1, 1000, &v), -ERANGE);
	UT_EQ(rp_text_duration("0", "ms", 1, 1000, &v), -ERANGE);
	UT_EQ(rp_text_duration("5 ms", "ms", 1, 1000, &v), -EINVAL);
	UT_EQ(rp_text_duration("5min", "ms", 1, 1000, &v), -EINVAL);
	UT_EQ(rp_text_duration("5", "fortnight", 1, 1000, &v), -EINVAL);
	UT_EQ(rp_text_duration("5", NULL, 1, 1000, &v), -EINVAL);
	UT_EQ(rp_text_duration("9223372036854775807d", "ns", 0, INT64_MAX, &v), -ERANGE);
	UT_EQ(v, 500);
}

static void
rp_text_size__every_unit__is_a_power_of_two(void)
{
	int64_t v = 0;

	UT_OK(rp_text_size("7", 0, INT64_MAX, &v));
	UT_EQ(v, 7);
	UT_OK(rp_text_size("7B", 0, INT64_MAX, &v));
	UT_EQ(v, 7);
	UT_OK(rp_text_size("7KiB", 0, INT64_MAX, &v));
	UT_EQ(v, 7 * 1024);
	UT_OK(rp_text_size("7MiB", 0, INT64_MAX, &v));
	UT_EQ(v, 7 * 1024 * 1024);
	UT_OK(rp_text_size("7GiB", 0, INT64_MAX, &v));
	UT_EQ(v, INT64_C(7) << 30);
	UT_EQ(rp_text_size("7kb", 0, INT64_MAX, &v), -EINVAL);
	UT_EQ(rp_text_size("8GiB", 0, INT64_C(7) << 30, &v), -ERANGE);
	UT_EQ(rp_text_size("-1KiB", 0, INT64_MAX, &v), -ERANGE);
	UT_EQ(rp_text_size("9223372036854775807GiB", 0, INT64_MAX, &v), -ERANGE);
}

static void
rp_text_nearest__typing_error__finds_the_name(void)
{
	static const char *const names[] = {
		"probe_timeout_ms", "log_level", "controller_url", "devices", NULL};

	UT_STR(rp_text_nearest("probe_timeout", names), "probe_timeout_ms");
	UT_STR(rp_text_nearest("loglevel", names), "log_level");
	UT_STR(rp_text_nearest("device", names), "devices");
	UT_STR(rp_text_nearest("controler_url", names), "controller_url");
	UT_TRUE(rp_text_nearest("completely_else", names) == NULL);
	UT_TRUE(rp_text_nearest("", names) == NULL);
}

static void
rp_text_nearest__very_long_word__finds_nothing(void)
{
	static const char *const names[] = {"a", NULL};
	char word[4097];

	memset(word, 'a', sizeof(word) - 1);
	word[sizeof(word) - 1] = '\0';
	UT_TRUE(rp_text_nearest(word, names) == NULL);
}

/* The encoder is the independent reference: every code point, well formed. */
static size_t
encode_utf8(uint32_t code, char out[4])
{
	if (code < 0x80) {
		out[0] = (char)code;
		return 1;
	}
	if (code < 0x800) {
		out[0] = (char)(0xC0 | code >> 6);
		out[1] = (char)(0x80 | (code & 0x3F));
		return 2;
	}
	if (code < 0x10000) {
		out[0] = (char)(0xE0 | code >> 12);
		out[1] = (char)(0x80 | (code >> 6 & 0x3F));
		out[2] = (char)(0x80 | (code & 0x3F));
		return 3;
	}
	out[0] = (char)(0xF0 | code >> 18);
	out[1] = (char)(0x80 | (code >> 12 & 0x3F));
	out[2] = (char)(0x80 | (code >> 6 & 0x3F));
	out[3] = (char)(0x80 | (code & 0x3F));
	return 4;
}

static void
rp_text_is_printable_utf8__every_code_point__is_judged_by_its_class(void)
{
	for (uint32_t code = 0; code < 0x110000; code++) {
		bool control = (code < 0x20 && code != '\t') || (code >= 0x7F && code < 0xA0);
		bool surrogate = code >= 0xD800 && code <= 0xDFFF;
		char text[4];
		size_t len = encode_utf8(code, text);

		if (rp_text_is_printable_utf8(text, len) == (control || surrogate)) {
			UT_HEX(code, 0);
			return;
		}
		if (len > 1 && rp_text_is_printable_utf8(text, len - 1)) {
			UT_HEX(code, 1);
			return;
		}
	}
	UT_TRUE(rp_text_is_printable_utf8("", 0));
}

static void
rp_text_is_printable_utf8__overlong_or_stray_bytes__are_refused(void)
{
	static const char *const bad[] = {"\xC0\x80", "\xC1\xBF", "\xE0\x9F\xBF",
		"\xF0\x8F\xBF\xBF", "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\x80", "a\xBFz",
		"\xFF", "\xC3z"};

	for (size_t i = 0; i < RP_ARRAY_LEN(bad); i++)
		if (!UT_FALSE(rp_text_is_printable_utf8(bad[i], strlen(bad[i]))))
			printf("  case %zu\n", i);
}

static void
rp_pow2_ceil__every_size__is_the_next_power(void)
{
	UT_EQ(rp_pow2_ceil(1), 1);
	for (uint64_t v = 2; v < 5000; v++) {
		uint64_t p = rp_pow2_ceil(v);

		if (!UT_TRUE(rp_is_pow2(p) && p >= v && p / 2 < v))
			return;
	}
	UT_EQ_U(rp_pow2_ceil(UINT64_C(1) << 63), UINT64_C(1) << 63);
	UT_FALSE(rp_is_pow2(0));
	UT_FALSE(rp_is_pow2(12));
}

static void
rp_rng_below__many_draws__fills_the_range_evenly(void)
{
	struct rp_rng rng = ut_rng(4);
	uint32_t hits[10] = {0};

	for (int i = 0; i < 100000; i++) {
		uint64_t v = rp_rng_below(&rng, RP_ARRAY_LEN(hits));

		if (!UT_TRUE(v < RP_ARRAY_LEN(hits)))
			return;
		hits[v]++;
	}
	/* 10000 expected, sigma 95: ten sigma never fails by chance. */
	for (size_t i = 0; i < RP_ARRAY_LEN(hits); i++)
		UT_NEAR(hits[i], 10000, 950);
}

static void
rp_rng_next__known_seed__gives_the_published_sequence(void)
{
	struct rp_rng rng;

	rp_rng_init(&rng, 1234567);
	UT_EQ_U(rp_rng_next(&rng), UINT64_C(6457827717110365317));
	UT_EQ_U(rp_rng_next(&rng), UINT64_C(3203168211198807973));
	UT_EQ_U(rp_rng_next(&rng), UINT64_C(9817491932198370423));
}

static const struct ut_test tests[] = {
	UT(rp_text_i64__any_number_printed__reads_back),
	UT(rp_text_i64__limits__are_inclusive),
	UT(rp_text_i64__more_than_64_bits__is_out_of_range),
	UT(rp_text_i64__anything_around_the_number__is_refused),
	UT(rp_text_i64__leading_zeros__stay_decimal),
	UT(rp_text_double__any_finite_number__reads_back),
	UT(rp_text_double__no_finite_decimal_number__is_refused),
	UT(rp_text_bool__every_spelling__is_known),
	UT(rp_text_duration__any_pair_of_units__converts_exactly_or_refuses),
	UT(rp_text_duration__bare_number__is_in_the_unit_of_the_key),
	UT(rp_text_size__every_unit__is_a_power_of_two),
	UT(rp_text_nearest__typing_error__finds_the_name),
	UT(rp_text_nearest__very_long_word__finds_nothing),
	UT(rp_text_is_printable_utf8__every_code_point__is_judged_by_its_class),
	UT(rp_text_is_printable_utf8__overlong_or_stray_bytes__are_refused),
	UT(rp_pow2_ceil__every_size__is_the_next_power),
	UT(rp_rng_below__many_draws__fills_the_range_evenly),
	UT(rp_rng_next__known_seed__gives_the_published_sequence),
};

UT_MAIN("text", tests)
