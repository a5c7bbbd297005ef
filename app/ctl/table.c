/* SPDX-License-Identifier: BSD-3-Clause */

#include "table.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rp_buf.h"

static const char *const escape[] = {
	[TABLE_PLAIN] = "",
	[TABLE_GOOD] = "\033[32m",
	[TABLE_WARN] = "\033[33m",
	[TABLE_BAD] = "\033[1;31m",
	[TABLE_DIM] = "\033[2m",
};

/* Characters, not bytes: names may be UTF-8. */
static size_t
width(const char *text)
{
	size_t n = 0;

	for (; *text != '\0'; text++)
		n += ((unsigned char)*text & 0xC0) != 0x80;
	return n;
}

void
table_add_color(struct table *t, enum table_color color, const char *text)
{
	struct rp_buf harmless = {0};

	if (t->n == t->cap) {
		size_t cap = t->cap == 0 ? 64 : 2 * t->cap;
		struct table_cell *grown = realloc(t->cell, cap * sizeof(*grown));

		if (grown == NULL) {
			t->failed = true;
			return;
		}
		t->cell = grown;
		t->cap = cap;
	}
	rp_buf_put_harmless(&harmless, text);
	t->cell[t->n] = (struct table_cell){strdup(rp_buf_text(&harmless)), color};
	if (t->cell[t->n].text == NULL || rp_buf_failed(&harmless))
		t->failed = true;
	t->n += t->cell[t->n].text != NULL;
	rp_buf_fini(&harmless);
}

void
table_add(struct table *t, const char *text)
{
	table_add_color(t, TABLE_PLAIN, text);
}

void
table_init(struct table *t, const char *const *heads)
{
	*t = (struct table){0};
	for (; heads[t->n_columns] != NULL && t->n_columns < TABLE_COLUMNS_MAX; t->n_columns++) {
		const char *head = heads[t->n_columns];

		t->right[t->n_columns] = head[0] == '>';
		table_add_color(t, TABLE_DIM, head[0] == '>' ? head + 1 : head);
	}
}

static void
put_cell(const struct table_cell *cell, size_t room, bool right, bool last, bool color)
{
	size_t pad = room - width(cell->text);

	if (right)
		printf("%*s", (int)pad, "");
	if (color && cell->color != TABLE_PLAIN)
		printf("%s%s\033[0m", escape[cell->color], cell->text);
	else
		fputs(cell->text, stdout);
	if (!right && !last)
		printf("%*s", (int)pad, "");
	fputs(last ? "\n" : "  ", stdout);
}

void
table_fini(struct table *t)
{
	for (size_t i = 0; i < t->n; i++)
		free(t->cell[i].text);
	free(t->cell);
	*t = (struct table){0};
}

int
table_print(struct table *t, bool color)
{
	size_t room[TABLE_COLUMNS_MAX] = {0};
	int rc = t->failed ? -ENOMEM : 0;

	for (size_t i = 0; i < t->n; i++) {
		size_t w = width(t->cell[i].text);

		if (w > room[i % t->n_columns])
			room[i % t->n_columns] = w;
	}
	for (size_t i = 0; i < t->n; i++) {
		size_t column = i % t->n_columns;

		if (rc == 0)
			put_cell(&t->cell[i], room[column], t->right[column],
				column == t->n_columns - 1, color);
	}
	table_fini(t);
	if (rc == 0 && fflush(stdout) != 0)
		rc = -EIO;
	return rc;
}
