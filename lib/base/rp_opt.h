/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef RP_OPT_H
#define RP_OPT_H

/**
 * @file rp_opt.h
 * Option tables: one row per key drives file, environment, flags, --help,
 * --print-defaults, validation and the man page.
 *
 * Thread:  one owner per configuration struct; read-only once loaded.
 * Memory:  strings and lists in the struct are heap, released by rp_opt_fini().
 * Errors:  0, or -EINVAL / -ERANGE / -ENOMEM with one line in @c why.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Longest one-line explanation, with its NUL. */
#define RP_OPT_WHY_MAX 512

enum rp_opt_type {
	RP_OPT_BOOL,     /* bool */
	RP_OPT_INT,      /* int64_t */
	RP_OPT_DURATION, /* int64_t in row->unit; text may carry a unit */
	RP_OPT_SIZE,     /* int64_t bytes; text may carry a unit */
	RP_OPT_FLOAT,    /* double */
	RP_OPT_STRING,   /* char *, never NULL after rp_opt_defaults() */
	RP_OPT_ENUM,     /* int, index into row->choices */
	RP_OPT_LIST,     /* struct rp_opt_list of strings */
	RP_OPT_ITEMS,    /* struct rp_opt_items of row->fields structs */
};

struct rp_opt_list {
	char **text;
	size_t n;
};

struct rp_opt_items {
	void *item; /* n structs of row->item_size bytes, each filled by row->fields */
	size_t n;
};

/** One key. A table ends with a row whose name is NULL. */
struct rp_opt {
	const char *name; /* with underscores; the flag has dashes */
	enum rp_opt_type type;
	size_t offset;              /* into the configuration struct */
	const char *def;            /* default as text; parsed like any other source */
	const char *unit;           /* "ms", "s", "pps", NULL */
	double min, max;            /* numbers: inclusive; strings: length */
	const char *const *choices; /* RP_OPT_ENUM: NULL-terminated */
	bool reloadable;
	const char *help; /* one sentence, lower case, no period */
	/* RP_OPT_LIST and RP_OPT_ITEMS: the flag of one element ("device" for "devices") */
	const char *flag;
	const struct rp_opt *fields; /* RP_OPT_ITEMS */
	size_t item_size;            /* RP_OPT_ITEMS */
};

/** Fill @p conf with the defaults. @p conf is all zero before. */
int rp_opt_defaults(const struct rp_opt *table, void *conf, char *why);

/**
 * Set one key from text. For lists the text is one element, appended; for items
 * it is "key=value,key=value", appended as one item. @p why names the accepted range.
 */
int rp_opt_set(const struct rp_opt *row, void *conf, const char *text, char *why);

/** Empty a list or items key, before a source of higher precedence fills it. */
void rp_opt_clear(const struct rp_opt *row, void *conf);

/** Release everything and zero the struct's option fields. */
void rp_opt_fini(const struct rp_opt *table, void *conf);

const struct rp_opt *rp_opt_find(const struct rp_opt *table, const char *name);

/** "1..65535 ms", "true or false", "one of debug, info, warn, error". */
void rp_opt_range(const struct rp_opt *row, char *ret_text, size_t len);

/** Value of @p row in @p conf as text that rp_opt_set() accepts (scalars only). */
void rp_opt_value(const struct rp_opt *row, const void *conf, char *ret_text, size_t len);

#endif /* RP_OPT_H */
