/* SPDX-License-Identifier: BSD-3-Clause */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ctl.h"
#include "rp_api.h"
#include "table.h"

#define TORS_MAX (TABLE_COLUMNS_MAX - 2)

#define LOSS_WARN_PPM 1000
#define LOSS_BAD_PPM  20000

static enum table_color
color_of(bool loss, const struct rp_json_at *cell)
{
	struct rp_json_err unused;
	struct rp_json_at quiet = *cell;
	int64_t value = -1;

	quiet.err = &unused;
	if (rp_json_is_null(&quiet, NULL))
		return TABLE_DIM;
	if (!loss || rp_json_i64(&quiet, NULL, RP_JSON_REQUIRED, 0, RP_JSON_INT_MAX, &value) != 0)
		return TABLE_PLAIN;
	if (value >= LOSS_BAD_PPM)
		return TABLE_BAD;
	return value >= LOSS_WARN_PPM ? TABLE_WARN : TABLE_GOOD;
}

static int
add_row(struct table *t, bool loss, const struct rp_json_at *row, size_t n_tors)
{
	struct rp_json_at cells, cell = {0};
	char text[32];
	size_t n;

	if (rp_json_array(row, NULL, RP_JSON_REQUIRED, n_tors, &cells, &n) != 0)
		return -1;
	if (n != n_tors)
		return rp_json_fail(row, NULL, "has too few cells");
	while (rp_json_next(&cells, &cell)) {
		if (loss)
			ctl_put_ppm(text, sizeof(text), &cell, NULL);
		else
			ctl_put_ns(text, sizeof(text), &cell, NULL);
		table_add_color(t, color_of(loss, &cell), text);
	}
	return 0;
}

/* Columns get the rows' numbers: names would make the table as wide as they are. */
static int
print(const struct ctl *ctl, const struct rp_json_at *root)
{
	char head[TORS_MAX][24];
	const char *heads[TABLE_COLUMNS_MAX + 1] = {">", "SOURCE"};
	struct rp_json_at tors, tor = {0}, rows, row = {0};
	char metric[16], name[RP_API_NAME_MAX];
	size_t n_tors, n_rows;
	struct table t;
	int rc;

	if (rp_json_string(root, "metric", RP_JSON_REQUIRED, metric, sizeof(metric)) != 0 ||
		rp_json_array(root, "tors", RP_JSON_REQUIRED, TORS_MAX, &tors, &n_tors) != 0 ||
		rp_json_array(root, "rows", RP_JSON_REQUIRED, n_tors, &rows, &n_rows) != 0)
		return -1;
	for (size_t i = 0; i < n_tors; i++) {
		snprintf(head[i], sizeof(head[i]), ">%zu", i + 1);
		heads[i + 2] = head[i];
	}
	table_init(&t, heads);
	for (size_t i = 1; rp_json_next(&rows, &row) && rp_json_next(&tors, &tor); i++) {
		char number[16];

		if (rp_json_string(&tor, NULL, RP_JSON_REQUIRED, name, sizeof(name)) != 0)
			goto release;
		snprintf(number, sizeof(number), "%zu", i);
		table_add(&t, number);
		table_add(&t, name);
		if (add_row(&t, strcmp(metric, "loss") == 0, &row, n_tors) != 0)
			goto release;
	}
	rc = table_print(&t, ctl->color);
	if (rc != 0)
		return rc;
	if (n_tors == 0)
		puts("no ToR is known: agents register with a tor_id, see `rpingmesh-ctl agents`");
	return 0;

release:
	table_fini(&t);
	return -1;
}

int
cmd_matrix(struct ctl *ctl)
{
	struct rp_buf path = {0};

	rp_buf_puts(&path, "/v1/matrix");
	ctl_url_query(&path, "metric", ctl->opt[CTL_OPT_METRIC]);
	ctl_url_query(&path, "window", ctl->opt[CTL_OPT_WINDOW]);
	return ctl_show(ctl, &path, print);
}
