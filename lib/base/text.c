/* SPDX-License-Identifier: BSD-3-Clause */

#include "rp_text.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>

#include "rp_base.h"
#include "rp_rng.h"

void
rp_random_bytes(void *buf, size_t len)
{
	uint8_t *p = buf;

	while (len > 0) {
		ssize_t n = getrandom(p, len, 0);

		if (n < 0 && errno != EINTR)
			abort();
		if (n > 0) {
			p += n;
			len -= (size_t)n;
		}
	}
}

/*
 * Parse the leading integer; *ret_end points behind it, also with -ERANGE: what
 * follows decides whether the text was of the form at all.
 */
static int
leading_i64(const char *text, int64_t *ret_value, const char **ret_end)
{
	const char *digits = text + (*text == '-');
	int base = digits[0] == '0' && (digits[1] == 'x' || digits[1] == 'X') ? 16 : 10;
	char *end;
	long long v;

	if (base == 16 ? !isxdigit((unsigned char)digits[2]) : !isdigit((unsigned char)digits[0]))
		return -EINVAL;
	errno = 0;
	v = strtoll(text, &end, base);
	*ret_end = end;
	if (errno == ERANGE)
		return -ERANGE;
	*ret_value = v;
	return 0;
}

int
rp_text_i64(const char *text, int64_t min, int64_t max, int64_t *ret_value)
{
	const char *end;
	int64_t v = 0;
	int rc = leading_i64(text, &v, &end);

	if (rc == -EINVAL || *end != '\0')
		return -EINVAL;
	if (rc != 0 || v < min || v > max)
		return -ERANGE;
	*ret_value = v;
	return 0;
}

int
rp_text_double(const char *text, double min, double max, double *ret_value)
{
	const char *digits = text + (*text == '-');
	char *end;
	double v;

	if (!isdigit((unsigned char)*digits) && *digits != '.')
		return -EINVAL;
	if (strpbrk(text, "xXpPnN") != NULL)
		return -EINVAL;
	v = strtod(text, &end);
	if (end == text || *end != '\0')
		return -EINVAL;
	if (!isfinite(v) || v < min || v > max)
		return -ERANGE;
	*ret_value = v;
	return 0;
}

int
rp_text_bool(const char *text, bool *ret_value)
{
	static const char *const yes[] = {"true", "yes", "on", "1"};
	static const char *const no[] = {"false", "no", "off", "0"};

	for (size_t i = 0; i < RP_ARRAY_LEN(yes); i++) {
		if (strcasecmp(text, yes[i]) == 0) {
			*ret_value = true;
			return 0;
		}
		if (strcasecmp(text, no[i]) == 0) {
			*ret_value = false;
			return 0;
		}
	}
	return -EINVAL;
}

static const struct {
	const char *name;
	int64_t ns;
} duration_unit[] = {
	{"ns", 1},
	{"us", 1000},
	{"ms", 1000000},
	{"s", 1000000000},
	{"m", 60 * INT64_C(1000000000)},
	{"h", 3600 * INT64_C(1000000000)},
	{"d", 86400 * INT64_C(1000000000)},
};

static int64_t
duration_unit_ns(const char *name)
{
	for (size_t i = 0; i < RP_ARRAY_LEN(duration_unit); i++)
		if (strcmp(name, duration_unit[i].name) == 0)
			return duration_unit[i].ns;
	return 0;
}

int
rp_text_duration(const char *text, const char *unit, int64_t min, int64_t max, int64_t *ret_value)
{
	int64_t unit_ns = unit == NULL ? 0 : duration_unit_ns(unit);
	__int128 ns;
	int64_t v = 0, given;
	const char *end;
	int rc;

	if (unit_ns == 0)
		return -EINVAL;
	rc = leading_i64(text, &v, &end);
	if (rc == -EINVAL)
		return rc;
	given = *end == '\0' ? unit_ns : duration_unit_ns(end);
	if (given == 0)
		return -EINVAL;
	if (rc != 0)
		return rc;
	ns = (__int128)v * given;
	if (ns % unit_ns != 0)
		return -EINVAL;
	if (ns / unit_ns < min || ns / unit_ns > max)
		return -ERANGE;
	*ret_value = (int64_t)(ns / unit_ns);
	return 0;
}

int
rp_text_size(const char *text, int64_t min, int64_t max, int64_t *ret_value)
{
	static const struct {
		const char *name;
		int64_t bytes;
	} unit[] = {{"", 1}, {"B", 1}, {"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}};
	const char *end;
	int64_t v = 0;
	int rc = leading_i64(text, &v, &end);

	if (rc == -EINVAL)
		return rc;
	for (size_t i = 0; i < RP_ARRAY_LEN(unit); i++) {
		__int128 bytes = (__int128)v * unit[i].bytes;

		if (strcmp(end, unit[i].name) != 0)
			continue;
		if (rc != 0 || bytes < min || bytes > max)
			return -ERANGE;
		*ret_value = (int64_t)bytes;
		return 0;
	}
	return -EINVAL;
}

/* Levenshtein distance, cut off at the length of the row below. */
static size_t
distance(const char *a, const char *b)
{
	size_t row[65], n = strlen(b);

	if (n > 64 || strlen(a) > 64)
		return SIZE_MAX;
	for (size_t j = 0; j <= n; j++)
		row[j] = j;
	for (size_t i = 0; a[i] != '\0'; i++) {
		size_t diagonal = row[0];

		row[0] = i + 1;
		for (size_t j = 1; j <= n; j++) {
			size_t best = diagonal + (a[i] != b[j - 1]);

			diagonal = row[j];
			best = rp_min_u64(best, row[j] + 1);
			row[j] = rp_min_u64(best, row[j - 1] + 1);
		}
	}
	return row[n];
}

const char *
rp_text_nearest(const char *word, const char *const *names)
{
	const char *best = NULL;
	size_t best_distance = strlen(word) / 3 + 2;

	for (; *names != NULL; names++) {
		size_t d = distance(word, *names);

		/* Cut short: "tor" for "tor_id". */
		if (strlen(word) >= 3 && strncmp(*names, word, strlen(word)) == 0)
			d = 1;
		if (d < best_distance) {
			best = *names;
			best_distance = d;
		}
	}
	return best;
}

size_t
rp_text_utf8(const char *text, size_t len, uint32_t *ret_code)
{
	static const struct {
		unsigned char mask, lead;
		uint32_t min;
	} form[] = {
		{0x80, 0x00, 0}, {0xE0, 0xC0, 0x80}, {0xF0, 0xE0, 0x800}, {0xF8, 0xF0, 0x10000}};
	const unsigned char *s = (const unsigned char *)text;
	uint32_t code;
	size_t more;

	if (len == 0)
		return 0;
	for (more = 0; more < RP_ARRAY_LEN(form); more++)
		if ((s[0] & form[more].mask) == form[more].lead)
			break;
	if (more == RP_ARRAY_LEN(form) || more >= len)
		return 0;
	code = (unsigned char)(s[0] & (unsigned char)~form[more].mask);
	for (size_t i = 1; i <= more; i++) {
		if ((s[i] & 0xC0) != 0x80)
			return 0;
		code = code << 6 | (s[i] & 0x3Fu);
	}
	if (code < form[more].min || code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF))
		return 0;
	*ret_code = code;
	return more + 1;
}

bool
rp_text_is_printable_utf8(const char *text, size_t len)
{
	while (len > 0) {
		uint32_t code;
		size_t n = rp_text_utf8(text, len, &code);

		if (n == 0 || (rp_text_is_control(code) && code != '\t'))
			return false;
		text += n;
		len -= n;
	}
	return true;
}
