/* SPDX-License-Identifier: BSD-3-Clause */

#include "rp_buf.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rp_text.h"

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

void
rp_buf_json_string(struct rp_buf *buf, const char *text)
{
	size_t left = strlen(text);

	rp_buf_puts(buf, "\"");
	while (left > 0) {
		uint32_t code;
		size_t n = rp_text_utf8(text, left, &code);

		if (n == 0) {
			rp_buf_puts(buf, "\xEF\xBF\xBD");
			n = 1;
		} else if (code == '"' || code == '\\') {
			rp_buf_printf(buf, "\\%c", (char)code);
		} else if (rp_text_is_control(code)) {
			rp_buf_printf(buf, "\\u%04x", code);
		} else {
			rp_buf_add(buf, text, n);
		}
		text += n;
		left -= n;
	}
	rp_buf_puts(buf, "\"");
}

const char *
rp_buf_text(const struct rp_buf *buf)
{
	return buf->data == NULL ? "" : buf->data;
}

void
rp_buf_put_harmless(struct rp_buf *buf, const char *text)
{
	size_t left = strlen(text);

	while (left > 0) {
		uint32_t code;
		size_t n = rp_text_utf8(text, left, &code);

		if (n == 0 || rp_text_is_control(code))
			rp_buf_puts(buf, "?");
		else
			rp_buf_add(buf, text, n);
		n += n == 0;
		text += n;
		left -= n;
	}
}
