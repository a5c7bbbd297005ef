/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef CTL_H
#define CTL_H

/**
 * @file ctl.h
 * What the subcommands of rpingmesh-ctl share.
 *
 * Thread:  one. Memory: until exit. Time: as the API names it.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "rp_buf.h"
#include "rp_json.h"

/* sysexits(3) */
#define CTL_EX_OK          0
#define CTL_EX_REFUSED     1 /* the controller said no */
#define CTL_EX_USAGE       64
#define CTL_EX_DATA        65
#define CTL_EX_UNAVAILABLE 69
#define CTL_EX_INTERNAL    70
#define CTL_EX_IO          74

/** Options of commands; each command names those it takes. */
enum ctl_opt {
	CTL_OPT_TYPE,
	CTL_OPT_METRIC,
	CTL_OPT_WINDOW,
	CTL_OPT_SOURCE,
	CTL_OPT_TARGET,
	CTL_OPT_SOURCE_TOR,
	CTL_OPT_TARGET_TOR,
	CTL_OPT_FROM,
	CTL_OPT_TO,
	CTL_OPT_LIMIT,
	CTL_OPT_N,
};

struct ctl {
	const char *controller; /* base URL */
	bool json;
	bool color;
	const char *opt[CTL_OPT_N]; /* NULL: not given */
	char **arg;                 /* behind the command's name */
	int n_args;
};

/** @return an exit code */
int cmd_agents(struct ctl *ctl);
int cmd_pinglist(struct ctl *ctl);
int cmd_matrix(struct ctl *ctl);
int cmd_paths(struct ctl *ctl);
int cmd_decode(struct ctl *ctl);

/** Error line on stderr. @return @p exit_code */
int ctl_fail(int exit_code, const char *fmt, ...) RP_PRINTF(2, 3);

/** Add "name=value", percent-encoded, to a URL unless @p value is NULL. */
void ctl_url_query(struct rp_buf *url, const char *name, const char *value);

/**
 * GET controller + @p path.
 * @param ret_body  on success the answer; release with rp_buf_fini()
 * @return an exit code; anything but 0 has been explained on stderr
 */
int ctl_get(const struct ctl *ctl, const char *path, struct rp_buf *ret_body);

/** Print a JSON answer as it came. @return an exit code */
int ctl_print_json(const struct rp_buf *body);

/**
 * What a command makes of an answer for people.
 * @return 0, -1 (it is not what the API promises, @p root has the error),
 *         another negative errno (from table_print())
 */
typedef int (*ctl_print)(const struct ctl *ctl, const struct rp_json_at *root);

/**
 * GET @p path, which is released, and print the answer: as it came with
 * --json, else with @p print.
 * @return an exit code; anything but 0 has been explained on stderr
 */
int ctl_show(const struct ctl *ctl, struct rp_buf *path, ctl_print print);

/** "250 ns", "1.52 us", "3.4 ms"; "-" for null. */
void ctl_put_ns(char *text, size_t len, const struct rp_json_at *at, const char *key);

/** Ratio in parts per million as a percentage; "-" for null. */
void ctl_put_ppm(char *text, size_t len, const struct rp_json_at *at, const char *key);

#endif /* CTL_H */
