/* SPDX-License-Identifier: BSD-3-Clause */

#include "rp_http_url.h"

#include <errno.h>
#include <stdio.h>

#include "ut.h"

static void
url__any_text__survives_the_round_trip(void)
{
	static const char *const part[] = {"a", "/", "%", "+", " ", "&", "=", "?", "#", "\xC3\xA9",
		"\xE2\x82\xAC", "~", "[::1]", "."};
	struct rp_rng rng = ut_rng(1);

	for (int round = 0; round < 500; round++) {
		struct rp_buf url = {0};
		char text[128] = "", back[512];
		size_t len = 0;

		for (uint64_t n = rp_rng_below(&rng, 12); n > 0; n--)
			len += (size_t)snprintf(text + len, sizeof(text) - len, "%s",
				part[rp_rng_below(&rng, RP_ARRAY_LEN(part))]);
		rp_http_url_add(&url, text);
		UT_TRUE(strpbrk(rp_buf_text(&url), "/+ &=?#[") == NULL);
		UT_OK(rp_http_url_decode(rp_buf_text(&url), url.len, back));
		UT_STR(back, text);
		rp_buf_fini(&url);
	}
}

static void
decode__what_is_not_a_url__is_refused(void)
{
	static const char *const bad[] = {"%", "%4", "%zz", "%4g", "%00", "%0a", "%1F", "%7f",
		"a b", "a\"b", "a<b", "a\\b", "\xC3\xA9", "%ff", "%c3", "%ed%a0%80", "%c2%80", "\t",
		"a\x7F"};
	char text[64];

	for (size_t i = 0; i < RP_ARRAY_LEN(bad); i++)
		if (!UT_EQ(rp_http_url_decode(bad[i], strlen(bad[i]), text), -EINVAL))
			printf("case %zu: %s\n", i, bad[i]);
}

static void
decode__length__is_a_hard_end(void)
{
	char text[8];

	UT_OK(rp_http_url_decode("ab%zz", 2, text));
	UT_STR(text, "ab");
	UT_EQ(rp_http_url_decode("%41", 2, text), -EINVAL);
	UT_OK(rp_http_url_decode("", 0, text));
	UT_STR(text, "");
}

static void
check__address_of_a_server__and_nothing_else(void)
{
	static const char *const good[] = {"http://a", "http://a/", "https://a:1/base",
		"http://[::1]:65535", "http://[fe80::1]", "http://10.0.0.1:8080",
		"http://controller.example"};
	static const char *const bad[] = {"", "a", "a:80", "ftp://a", "http://", "http://:80",
		"http://a:0", "http://a:65536", "http://a:x", "http://a:-1", "http://[::1",
		"http://a b", "http://a/?x=1", "http://a/#x", "http://u@a", "http://u:p@a",
		"file:///etc/passwd", " http://a", "http://a\n"};

	for (size_t i = 0; i < RP_ARRAY_LEN(good); i++)
		if (!UT_EQ(rp_http_url_check(good[i]), 0))
			printf("good %zu: %s\n", i, good[i]);
	for (size_t i = 0; i < RP_ARRAY_LEN(bad); i++)
		if (!UT_EQ(rp_http_url_check(bad[i]), -EINVAL))
			printf("bad %zu: %s\n", i, bad[i]);
}

static const struct ut_test tests[] = {
	UT(check__address_of_a_server__and_nothing_else),
	UT(url__any_text__survives_the_round_trip),
	UT(decode__what_is_not_a_url__is_refused),
	UT(decode__length__is_a_hard_end),
};

UT_MAIN("url", tests)
