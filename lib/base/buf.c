/* SPDX-License-Identifier: BSD-3-Clause */

#include "rp_buf.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool
reserve(struct rp_buf *buf, size_t more)
{
	size_t cap = buf->cap == 0 ? 256 : buf->cap;
	char *data;

	if (buf->failed)
		return false;
	if (more > SIZE_MAX / 4 - buf->len) {
		buf->failed = true;
		return false;
	}
	while (cap < buf->len + more + 1)
		cap *= 2;
	if (cap == buf->cap)
		return true;

	data = realloc(buf->data, cap);
	if (data == NULL) {
		buf->failed = true;
		return false;
	}
	buf->data = data;
	buf->cap = cap;
	return true;
}

void
rp_buf_fini(struct rp_buf *buf)
{
	free(buf->data);
	*buf = (struct rp_buf){0};
}

void
rp_buf_add(struct rp_buf *buf, const void *bytes, size_t len)
{
	if (!reserve(buf, len))
		return;
	if (len > 0)
		memcpy(buf->data + buf->len, bytes, len);
	buf->len += len;
	buf->data[buf->len] = '\0';
}

void
rp_buf_puts(struct rp_buf *buf, const char *text)
{
	rp_buf_add(buf, text, strlen(text));
}

void
rp_buf_vprintf(struct rp_buf *buf, const char *fmt, va_list ap)
{
	va_list again;
	int n;

	va_copy(again, ap);
	n = vsnprintf(NULL, 0, fmt, ap);
	if (n < 0)
		buf->failed = true;
	else if (reserve(buf, (size_t)n)) {
		vsnprintf(buf->data + buf->len, (size_t)n + 1, fmt, again);
		buf->len += (size_t)n;
	}
	va_end(again);
}

void
rp_buf_printf(struct rp_buf *buf, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	rp_buf_vprintf(buf, fmt, ap);
	va_end(ap);
}

/* Length of the UTF-8 sequence at @p s, or 0 when it is not one. */
static size_t
utf8_len(const unsigned char *s)
{
	static const struct {
		unsigned char mask, lead;
		uint32_t min;
	} form[] = {
		{0x80, 0x00, 0}, {0xE0, 0xC0, 0x80}, {0xF0, 0xE0, 0x800}, {0xF8, 0xF0, 0x10000}};
	uint32_t code;
	size_t n;

	for (n = 0; n < RP_ARRAY_LEN(form); n++)
		if ((s[0] & form[n].mask) == form[n].lead)
			break;
	if (n == RP_ARRAY_LEN(form))
		return 0;
	code = (unsigned char)(s[0] & (unsigned char)~form[n].mask);
	for (size_t i = 1; i <= n; i++) {
		if ((s[i] & 0xC0) != 0x80)
			return 0;
		code = code << 6 | (s[i] & 0x3F);
	}
	if (code < form[n].min || code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF))
		return 0;
	return n + 1;
}

void
rp_buf_json_string(struct rp_buf *buf, const char *text)
{
	const unsigned char *s = (const unsigned char *)text;

	rp_buf_puts(buf, "\"");
	while (*s != '\0') {
		size_t n = utf8_len(s);

		if (n == 0) {
			rp_buf_puts(buf, "\xEF\xBF\xBD");
			s++;
		} else if (*s == '"' || *s == '\\') {
			rp_buf_printf(buf, "\\%c", *s);
			s++;
		} else if (*s < 0x20 || *s == 0x7F) {
			rp_buf_printf(buf, "\\u%04x", *s);
			s++;
		} else {
			rp_buf_add(buf, s, n);
			s += n;
		}
	}
	rp_buf_puts(buf, "\"");
}

const char *
rp_buf_text(const struct rp_buf *buf)
{
	return buf->data == NULL ? "" : buf->data;
}
