/* SPDX-License-Identifier: BSD-3-Clause */

#include <ctype.h>
#include <errno.h>
#include <libconfig.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rp_conf.h"

#define FILE_MAX_BYTES (1024 * 1024)

/* One file being read: what every step below needs to report its place. */
struct reader {
	const struct rp_conf_program *prog;
	const char *path;
	struct rp_conf_result *result;
};

static int
fail_at(const struct reader *r, int line, const char *text)
{
	return rp_conf_fail(r->result, RP_EX_CONFIG, "%s:%d: %s", r->path, line, text);
}

static int
read_text(const struct reader *r, struct rp_buf *out)
{
	FILE *f = fopen(r->path, "re");
	char chunk[4096];
	size_t n;
	int rc = 0;

	if (f == NULL)
		return rp_conf_fail(r->result, errno == EACCES ? RP_EX_PERMISSION : RP_EX_CONFIG,
			"%s: cannot open: %s", r->path, strerror(errno));
	while ((n = fread(chunk, 1, sizeof(chunk), f)) > 0 && out->len <= FILE_MAX_BYTES)
		rp_buf_add(out, chunk, n);
	if (ferror(f))
		rc = rp_conf_fail(
			r->result, RP_EX_IO, "%s: cannot read: %s", r->path, strerror(errno));
	else if (out->len > FILE_MAX_BYTES)
		rc = rp_conf_fail(r->result, RP_EX_CONFIG, "%s: larger than 1 MiB", r->path);
	else if (memchr(rp_buf_text(out), '\0', out->len) != NULL)
		rc = rp_conf_fail(r->result, RP_EX_CONFIG, "%s: not a text file", r->path);
	fclose(f);
	return rc;
}

/* Behind a string or a comment that starts at @p, or @p itself. */
static const char *
skip_opaque(const char *p)
{
	const char *end;

	if (*p == '"') {
		for (p++; *p != '\0' && *p != '"'; p++)
			if (*p == '\\' && p[1] != '\0')
				p++;
		return *p == '"' ? p + 1 : p;
	}
	if (*p == '#' || (p[0] == '/' && p[1] == '/')) {
		while (*p != '\0' && *p != '\n')
			p++;
		return p;
	}
	if (p[0] == '/' && p[1] == '*') {
		end = strstr(p + 2, "*/");
		return end == NULL ? p + strlen(p) : end + 2;
	}
	return p;
}

/*
 * libconfig 1.5 wraps an integer above 2^31 without a word. Give every integer
 * the suffix that makes it 64 bits wide; one that does not fit even then is an
 * error here, where its text is still known.
 */
static int
widen_integers(const struct reader *r, const char *p, struct rp_buf *out)
{
	int line = 1;

	while (*p != '\0') {
		const char *start = p, *end = skip_opaque(p);
		bool is_number;

		if (end > p) {
			rp_buf_add(out, p, (size_t)(end - p));
			for (; p < end; p++)
				line += *p == '\n';
			continue;
		}
		if (!isalnum((unsigned char)*p) && *p != '_' && *p != '.') {
			if (*p == '@')
				return fail_at(r, line, "@include is not supported");
			line += *p == '\n';
			rp_buf_add(out, p++, 1);
			continue;
		}
		while (isalnum((unsigned char)*p) || *p == '_' || *p == '.' || *p == '-')
			p++;
		is_number = isdigit((unsigned char)*start) &&
			strspn(start, "0123456789abcdefABCDEFxX") == (size_t)(p - start) &&
			(start[1] == 'x' || start[1] == 'X' ||
				strspn(start, "0123456789") == (size_t)(p - start));
		rp_buf_add(out, start, (size_t)(p - start));
		if (is_number) {
			char *stop;

			errno = 0;
			strtoll(start, &stop, start[1] == 'x' || start[1] == 'X' ? 16 : 10);
			if (errno == ERANGE)
				return fail_at(r, line, "number does not fit into 64 bits");
			rp_buf_puts(out, "L");
		}
	}
	return 0;
}

/* A scalar as the text that rp_opt_set() takes. */
static int
scalar_text(const config_setting_t *s, char *text, size_t len)
{
	switch (config_setting_type(s)) {
	case CONFIG_TYPE_INT:
	case CONFIG_TYPE_INT64:
		snprintf(text, len, "%lld", config_setting_get_int64(s));
		return 0;
	case CONFIG_TYPE_FLOAT:
		snprintf(text, len, "%.17g", config_setting_get_float(s));
		return 0;
	case CONFIG_TYPE_BOOL:
		snprintf(text, len, "%s", config_setting_get_bool(s) != 0 ? "true" : "false");
		return 0;
	case CONFIG_TYPE_STRING:
		return (size_t)snprintf(text, len, "%s", config_setting_get_string(s)) < len
			? 0
			: -ERANGE;
	default:
		return -EINVAL;
	}
}

static bool
is_text_type(enum rp_opt_type type)
{
	return type == RP_OPT_STRING || type == RP_OPT_LIST || type == RP_OPT_ENUM;
}

static int
set_scalar(const struct reader *r, const struct rp_opt *row, void *conf, const config_setting_t *s)
{
	int line = (int)config_setting_source_line(s);
	bool quoted = config_setting_type(s) == CONFIG_TYPE_STRING;
	char text[4096], why[RP_OPT_WHY_MAX], range[320];

	/* "true" is text and true is not; only durations and sizes come both ways. */
	if (scalar_text(s, text, sizeof(text)) != 0 ||
		(quoted &&
			(row->type == RP_OPT_BOOL || row->type == RP_OPT_FLOAT ||
				row->type == RP_OPT_INT)) ||
		(!quoted && is_text_type(row->type))) {
		rp_opt_range(row, range, sizeof(range));
		snprintf(why, sizeof(why), "%s: wrong type, want %s%s", row->name, range,
			is_text_type(row->type) ? " in quotes" : "");
		return fail_at(r, line, why);
	}
	if (rp_opt_set(row, conf, text, why) != 0)
		return fail_at(r, line, why);
	return 0;
}

static int read_group(const struct reader *r, const struct rp_opt *table, void *conf,
	const config_setting_t *group);

static int
read_items(const struct reader *r, const struct rp_opt *row, void *conf, const config_setting_t *s)
{
	struct rp_opt_items *items = (struct rp_opt_items *)(void *)((char *)conf + row->offset);
	char why[RP_OPT_WHY_MAX];
	int rc = 0;

	if (!config_setting_is_list(s)) {
		snprintf(why, sizeof(why), "%s: wrong type, want a list: ( { key = value; }, ... )",
			row->name);
		return fail_at(r, (int)config_setting_source_line(s), why);
	}
	rp_opt_clear(row, conf);
	for (int i = 0; rc == 0 && i < config_setting_length(s); i++) {
		const config_setting_t *e = config_setting_get_elem(s, (unsigned int)i);

		if (!config_setting_is_group(e)) {
			snprintf(why, sizeof(why), "%s[%d]: wrong type, want { key = value; }",
				row->name, i);
			return fail_at(r, (int)config_setting_source_line(e), why);
		}
		if (rp_opt_set(row, conf, "", why) != 0)
			return fail_at(r, (int)config_setting_source_line(e), why);
		rc = read_group(
			r, row->fields, (char *)items->item + (items->n - 1) * row->item_size, e);
	}
	return rc;
}

static int
read_list(const struct reader *r, const struct rp_opt *row, void *conf, const config_setting_t *s)
{
	int rc = 0;

	rp_opt_clear(row, conf);
	if (config_setting_is_scalar(s))
		return set_scalar(r, row, conf, s);
	if (!config_setting_is_array(s) && !config_setting_is_list(s))
		return fail_at(r, (int)config_setting_source_line(s),
			"wrong type, want [ \"text\", ... ]");
	for (int i = 0; rc == 0 && i < config_setting_length(s); i++)
		rc = set_scalar(r, row, conf, config_setting_get_elem(s, (unsigned int)i));
	return rc;
}

static int
read_group(const struct reader *r, const struct rp_opt *table, void *conf,
	const config_setting_t *group)
{
	int rc = 0;

	for (int i = 0; rc == 0 && i < config_setting_length(group); i++) {
		const config_setting_t *s = config_setting_get_elem(group, (unsigned int)i);
		const char *name = config_setting_name(s);
		const struct rp_opt *row = rp_opt_find(table, name);

		if (row == NULL) {
			char hint[160], why[RP_OPT_WHY_MAX];

			rp_conf_hint(r->prog, table, name, hint, sizeof(hint));
			snprintf(why, sizeof(why), "unknown key %.80s%s", name, hint);
			return fail_at(r, (int)config_setting_source_line(s), why);
		}
		if (row->type == RP_OPT_ITEMS)
			rc = read_items(r, row, conf, s);
		else if (row->type == RP_OPT_LIST)
			rc = read_list(r, row, conf, s);
		else
			rc = set_scalar(r, row, conf, s);
	}
	return rc;
}

int
rp_conf_read_file(const struct rp_conf_program *prog, const char *path, void *conf,
	struct rp_conf_result *result)
{
	struct reader r = {prog, path, result};
	struct rp_buf raw = {0}, text = {0};
	config_t cfg;
	int rc = read_text(&r, &raw);

	if (rc == 0)
		rc = widen_integers(&r, rp_buf_text(&raw), &text);
	if (rc == 0 && (rp_buf_failed(&raw) || rp_buf_failed(&text)))
		rc = rp_conf_fail(result, RP_EX_INTERNAL, "%s: out of memory", path);
	if (rc == 0) {
		config_init(&cfg);
		if (config_read_string(&cfg, rp_buf_text(&text)) != CONFIG_TRUE)
			rc = fail_at(&r, config_error_line(&cfg), config_error_text(&cfg));
		else
			rc = read_group(&r, prog->table, conf, config_root_setting(&cfg));
		config_destroy(&cfg);
	}
	rp_buf_fini(&raw);
	rp_buf_fini(&text);
	return rc;
}
