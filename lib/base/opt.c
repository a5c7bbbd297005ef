/* SPDX-License-Identifier: BSD-3-Clause */

#include "rp_opt.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rp_text.h"

static void *
field(const struct rp_opt *row, void *conf)
{
	return (char *)conf + row->offset;
}

void
rp_opt_range(const struct rp_opt *row, char *ret_text, size_t len)
{
	const char *unit = row->unit == NULL ? "" : row->unit;
	const char *space = row->unit == NULL ? "" : " ";
	size_t n;

	switch (row->type) {
	case RP_OPT_BOOL:
		snprintf(ret_text, len, "true or false");
		break;
	case RP_OPT_INT:
	case RP_OPT_DURATION:
	case RP_OPT_SIZE:
		snprintf(ret_text, len, "%.0f..%.0f%s%s", row->min, row->max, space, unit);
		break;
	case RP_OPT_FLOAT:
		snprintf(ret_text, len, "%g..%g%s%s", row->min, row->max, space, unit);
		break;
	case RP_OPT_STRING:
	case RP_OPT_LIST:
		snprintf(ret_text, len, "text of %.0f..%.0f bytes", row->min, row->max);
		break;
	case RP_OPT_ENUM:
		n = (size_t)snprintf(ret_text, len, "one of");
		for (size_t i = 0; row->choices[i] != NULL && n < len; i++)
			n += (size_t)snprintf(
				ret_text + n, len - n, "%s %s", i == 0 ? "" : ",", row->choices[i]);
		break;
	case RP_OPT_ITEMS:
		n = (size_t)snprintf(ret_text, len, "key=value,... with");
		for (size_t i = 0; row->fields[i].name != NULL && n < len; i++)
			n += (size_t)snprintf(ret_text + n, len - n, "%s %s", i == 0 ? "" : ",",
				row->fields[i].name);
		break;
	}
}

static int
explain(const struct rp_opt *row, const char *text, int rc, char *why)
{
	char range[320];

	rp_opt_range(row, range, sizeof(range));
	snprintf(why, RP_OPT_WHY_MAX, "%s: '%.80s' is %s, want %s", row->name, text,
		rc == -ERANGE ? "out of range" : "not valid", range);
	return rc;
}

static int
set_string(const struct rp_opt *row, char **to, const char *text)
{
	size_t len = strlen(text);
	char *copy;

	if ((double)len < row->min || (double)len > row->max)
		return -ERANGE;
	if (!rp_text_is_printable_utf8(text, len))
		return -EINVAL;
	copy = strdup(text);
	if (copy == NULL)
		return -ENOMEM;
	free(*to);
	*to = copy;
	return 0;
}

static int
add_to_list(const struct rp_opt *row, struct rp_opt_list *list, const char *text)
{
	char **grown = realloc(list->text, (list->n + 1) * sizeof(*grown));
	int rc;

	if (grown == NULL)
		return -ENOMEM;
	list->text = grown;
	grown[list->n] = NULL;
	rc = set_string(row, &grown[list->n], text);
	if (rc == 0)
		list->n++;
	return rc;
}

/* "name=a,ip=b": every key once, known, in any order. */
static int
fill_item(const struct rp_opt *row, void *item, const char *text, char *why)
{
	char *copy = strdup(text), *rest = copy, *pair;
	uint64_t seen = 0;
	int rc = copy == NULL ? -ENOMEM : 0;

	while (rc == 0 && (pair = strsep(&rest, ",")) != NULL) {
		char *eq = strchr(pair, '=');
		const struct rp_opt *f;

		if (eq == NULL) {
			snprintf(why, RP_OPT_WHY_MAX, "%s: '%.80s' has no '=', want key=value,...",
				row->name, pair);
			rc = -EINVAL;
			break;
		}
		*eq = '\0';
		f = rp_opt_find(row->fields, pair);
		if (f == NULL || (seen & (UINT64_C(1) << (f - row->fields))) != 0) {
			char range[320];

			rp_opt_range(row, range, sizeof(range));
			snprintf(why, RP_OPT_WHY_MAX, "%s: key '%.80s' is %s, want %s", row->name,
				pair, f == NULL ? "unknown" : "given twice", range);
			rc = -EINVAL;
			break;
		}
		seen |= UINT64_C(1) << (f - row->fields);
		rc = rp_opt_set(f, item, eq + 1, why);
	}
	free(copy);
	return rc;
}

static int
add_item(const struct rp_opt *row, struct rp_opt_items *items, const char *text, char *why)
{
	char *grown = realloc(items->item, (items->n + 1) * row->item_size);
	void *item;
	int rc;

	if (grown == NULL) {
		snprintf(why, RP_OPT_WHY_MAX, "%s: out of memory", row->name);
		return -ENOMEM;
	}
	items->item = grown;
	item = grown + items->n * row->item_size;
	memset(item, 0, row->item_size);
	rc = rp_opt_defaults(row->fields, item, why);
	/* Empty text makes an item of defaults, for a reader that sets fields one by one. */
	if (rc == 0 && *text != '\0')
		rc = fill_item(row, item, text, why);
	if (rc != 0) {
		rp_opt_fini(row->fields, item);
		return rc;
	}
	items->n++;
	return 0;
}

static int
set_enum(const struct rp_opt *row, int *to, const char *text)
{
	for (int i = 0; row->choices[i] != NULL; i++) {
		if (strcmp(row->choices[i], text) == 0) {
			*to = i;
			return 0;
		}
	}
	return -EINVAL;
}

int
rp_opt_set(const struct rp_opt *row, void *conf, const char *text, char *why)
{
	void *to = field(row, conf);
	int rc = -EINVAL;

	switch (row->type) {
	case RP_OPT_BOOL:
		rc = rp_text_bool(text, to);
		break;
	case RP_OPT_INT:
		rc = rp_text_i64(text, (int64_t)row->min, (int64_t)row->max, to);
		break;
	case RP_OPT_DURATION:
		rc = rp_text_duration(text, row->unit, (int64_t)row->min, (int64_t)row->max, to);
		break;
	case RP_OPT_SIZE:
		rc = rp_text_size(text, (int64_t)row->min, (int64_t)row->max, to);
		break;
	case RP_OPT_FLOAT:
		rc = rp_text_double(text, row->min, row->max, to);
		break;
	case RP_OPT_STRING:
		rc = set_string(row, to, text);
		break;
	case RP_OPT_ENUM:
		rc = set_enum(row, to, text);
		break;
	case RP_OPT_LIST:
		rc = add_to_list(row, to, text);
		break;
	case RP_OPT_ITEMS:
		return add_item(row, to, text, why);
	}
	return rc == 0 ? 0 : explain(row, text, rc, why);
}

int
rp_opt_defaults(const struct rp_opt *table, void *conf, char *why)
{
	for (const struct rp_opt *row = table; row->name != NULL; row++) {
		int rc;

		if (row->type == RP_OPT_LIST || row->type == RP_OPT_ITEMS) {
			if (row->def == NULL || *row->def == '\0')
				continue;
		}
		rc = rp_opt_set(row, conf, row->def, why);
		if (rc != 0)
			return rc;
	}
	return 0;
}

void
rp_opt_clear(const struct rp_opt *row, void *conf)
{
	void *at = field(row, conf);

	if (row->type == RP_OPT_LIST) {
		struct rp_opt_list *list = at;

		for (size_t i = 0; i < list->n; i++)
			free(list->text[i]);
		free(list->text);
		*list = (struct rp_opt_list){0};
	} else if (row->type == RP_OPT_ITEMS) {
		struct rp_opt_items *items = at;

		for (size_t i = 0; i < items->n; i++)
			rp_opt_fini(row->fields, (char *)items->item + i * row->item_size);
		free(items->item);
		*items = (struct rp_opt_items){0};
	}
}

void
rp_opt_fini(const struct rp_opt *table, void *conf)
{
	for (const struct rp_opt *row = table; row->name != NULL; row++) {
		if (row->type == RP_OPT_STRING) {
			char **text = field(row, conf);

			free(*text);
			*text = NULL;
		} else {
			rp_opt_clear(row, conf);
		}
	}
}

const struct rp_opt *
rp_opt_find(const struct rp_opt *table, const char *name)
{
	for (; table->name != NULL; table++)
		if (strcmp(table->name, name) == 0)
			return table;
	return NULL;
}

void
rp_opt_value(const struct rp_opt *row, const void *conf, char *ret_text, size_t len)
{
	const void *at = (const char *)conf + row->offset;

	switch (row->type) {
	case RP_OPT_BOOL:
		snprintf(ret_text, len, "%s", *(const bool *)at ? "true" : "false");
		break;
	case RP_OPT_INT:
	case RP_OPT_DURATION:
	case RP_OPT_SIZE:
		snprintf(ret_text, len, "%" PRId64, *(const int64_t *)at);
		break;
	case RP_OPT_FLOAT:
		snprintf(ret_text, len, "%.17g", *(const double *)at);
		break;
	case RP_OPT_STRING:
		snprintf(ret_text, len, "%s", *(char *const *)at);
		break;
	case RP_OPT_ENUM:
		snprintf(ret_text, len, "%s", row->choices[*(const int *)at]);
		break;
	case RP_OPT_LIST:
	case RP_OPT_ITEMS:
		snprintf(ret_text, len, "%s", "");
		break;
	}
}
