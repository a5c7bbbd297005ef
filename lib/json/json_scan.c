/* SPDX-License-Identifier: BSD-3-Clause */

#include "json_scan.h"

#include <stdbool.h>
#include <string.h>

#include "rp_text.h"

struct scan {
	const char *at;
	const char *end;
	const char *wrong;
};

static bool
is_digit(const struct scan *s)
{
	return s->at < s->end && *s->at >= '0' && *s->at <= '9';
}

static bool
digits(struct scan *s)
{
	if (!is_digit(s))
		return false;
	while (is_digit(s))
		s->at++;
	return true;
}

/* RFC 8259 section 6. */
static void
number(struct scan *s)
{
	bool ok;

	if (*s->at == '-')
		s->at++;
	if (s->at < s->end && *s->at == '0') {
		s->at++;
		ok = !is_digit(s);
	} else {
		ok = digits(s);
	}
	if (ok && s->at < s->end && *s->at == '.') {
		s->at++;
		ok = digits(s);
	}
	if (ok && s->at < s->end && (*s->at == 'e' || *s->at == 'E')) {
		s->at++;
		if (s->at < s->end && (*s->at == '+' || *s->at == '-'))
			s->at++;
		ok = digits(s);
	}
	if (!ok)
		s->wrong = "malformed number";
}

static void
string(struct scan *s)
{
	const char *start = ++s->at;

	while (s->at < s->end && *s->at != '"') {
		if ((unsigned char)*s->at < 0x20) {
			s->wrong = "control byte in a string";
			return;
		}
		if (*s->at == '\\') {
			if (s->end - s->at >= 6 && memcmp(s->at, "\\u0000", 6) == 0) {
				s->wrong = "NUL in a string";
				return;
			}
			s->at++;
			if (s->at == s->end)
				break;
		}
		s->at++;
	}
	if (s->at >= s->end) {
		s->wrong = "unterminated string";
		return;
	}
	if (!rp_text_is_printable_utf8(start, (size_t)(s->at - start))) {
		s->wrong = "invalid UTF-8 or a control character in a string";
		return;
	}
	s->at++;
}

const char *
json_scan(const char *text, size_t len, size_t depth_max)
{
	struct scan s = {.at = text, .end = text + len};
	size_t depth = 0;

	while (s.at < s.end && s.wrong == NULL) {
		char c = *s.at;

		if (c == '"') {
			string(&s);
			continue;
		}
		if (c == '-' || (c >= '0' && c <= '9')) {
			number(&s);
			continue;
		}
		if (c == '{' || c == '[') {
			if (++depth > depth_max)
				return "nested too deeply";
		} else if (c == '}' || c == ']') {
			if (depth-- == 0)
				return "unbalanced bracket";
		} else if (c == '\0' || strchr(" \t\r\n:,truefalsn", c) == NULL) {
			return "unexpected byte";
		}
		s.at++;
	}
	return s.wrong;
}
