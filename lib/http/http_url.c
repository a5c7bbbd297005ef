/* SPDX-License-Identifier: BSD-3-Clause */

#include "rp_http_url.h"

#include <curl/curl.h>
#include <errno.h>
#include <string.h>

#include "rp_text.h"

static bool
has_part(CURLU *parsed, CURLUPart part)
{
	char *text = NULL;
	bool has = curl_url_get(parsed, part, &text, 0) == CURLUE_OK;

	curl_free(text);
	return has;
}

int
rp_http_url_check(const char *url)
{
	CURLU *parsed = curl_url();
	char *scheme = NULL, *port = NULL;
	bool is_good;

	if (parsed == NULL)
		return -ENOMEM;
	is_good = curl_url_set(parsed, CURLUPART_URL, url, 0) == CURLUE_OK &&
		curl_url_get(parsed, CURLUPART_SCHEME, &scheme, 0) == CURLUE_OK &&
		(strcmp(scheme, "http") == 0 || strcmp(scheme, "https") == 0) &&
		!has_part(parsed, CURLUPART_QUERY) && !has_part(parsed, CURLUPART_FRAGMENT) &&
		!has_part(parsed, CURLUPART_USER) && !has_part(parsed, CURLUPART_PASSWORD) &&
		(curl_url_get(parsed, CURLUPART_PORT, &port, 0) != CURLUE_OK ||
			strcmp(port, "0") != 0);
	curl_free(scheme);
	curl_free(port);
	curl_url_cleanup(parsed);
	return is_good ? 0 : -EINVAL;
}

static bool
is_unreserved(unsigned char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
		(c != '\0' && strchr("-._~", c) != NULL);
}

void
rp_http_url_add(struct rp_buf *url, const char *text)
{
	for (const unsigned char *c = (const unsigned char *)text; *c != '\0'; c++) {
		if (is_unreserved(*c))
			rp_buf_add(url, c, 1);
		else
			rp_buf_printf(url, "%%%02X", *c);
	}
}

static int
hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

int
rp_http_url_decode(const char *text, size_t len, char *ret_text)
{
	size_t n = 0;

	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)text[i];

		if (c == '%') {
			int high = len - i > 2 ? hex_digit(text[i + 1]) : -1;
			int low = len - i > 2 ? hex_digit(text[i + 2]) : -1;

			if (high < 0 || low < 0)
				return -EINVAL;
			c = (unsigned char)(high << 4 | low);
			if (c < 0x20 || c == 0x7F)
				return -EINVAL;
			i += 2;
		} else if (c <= 0x20 || c >= 0x7F || strchr("\"<>\\^`{|}", c) != NULL) {
			return -EINVAL;
		}
		ret_text[n++] = (char)c;
	}
	ret_text[n] = '\0';
	return rp_text_is_printable_utf8(ret_text, n) ? 0 : -EINVAL;
}
