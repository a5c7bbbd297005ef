/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef TABLE_H
#define TABLE_H

/**
 * @file table.h
 * Aligned columns for a terminal.
 *
 * Thread:  one owner. Memory: cells are copied; released by table_print().
 * Errors:  out of memory ends in table_print().
 */

#include <stdbool.h>
#include <stddef.h>

#include "rp_buf.h"

#define TABLE_COLUMNS_MAX 600

enum table_color {
	TABLE_PLAIN,
	TABLE_GOOD,
	TABLE_WARN,
	TABLE_BAD,
	TABLE_DIM,
};

struct table_cell {
	char *text;
	enum table_color color;
};

struct table {
	size_t n_columns;
	bool right[TABLE_COLUMNS_MAX];
	struct table_cell *cell; /* row by row, the heading first */
	size_t n, cap;
	bool failed;
};

/** @p heads is NULL-terminated; a head that starts with '>' aligns its column right. */
void table_init(struct table *t, const char *const *heads);

/** Cells from left to right, row after row. */
void table_add(struct table *t, const char *text);
void table_add_color(struct table *t, enum table_color color, const char *text);

/** Write and release. @return 0, -ENOMEM, -EIO */
int table_print(struct table *t, bool color);

/** Release without writing. */
void table_fini(struct table *t);

#endif /* TABLE_H */
