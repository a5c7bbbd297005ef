/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef RP_CONF_H
#define RP_CONF_H

/**
 * @file rp_conf.h
 * One program's configuration from its option table: defaults, file,
 * environment and flags, in rising precedence.
 *
 * Thread:  start-up and reload, one thread.
 * Memory:  the configuration struct is the caller's; its strings and lists are
 *          released by rp_opt_fini().
 * Time:    n/a.
 * Errors:  one line that names the place, the key and the accepted range, and the
 *          exit code: 64 a wrong flag, 78 a wrong value in a file or the
 *          environment, 70 out of memory.
 */

#include <stdbool.h>
#include <stddef.h>

#include "rp_buf.h"
#include "rp_opt.h"

#define RP_EX_OK          0
#define RP_EX_USAGE       64
#define RP_EX_UNAVAILABLE 69
#define RP_EX_INTERNAL    70
#define RP_EX_OS          71
#define RP_EX_IO          74
#define RP_EX_PERMISSION  77
#define RP_EX_CONFIG      78

/** What the command line asks for. */
enum rp_conf_action {
	RP_CONF_RUN,
	RP_CONF_HELP,           /* -h, --help */
	RP_CONF_VERSION,        /* -V, --version */
	RP_CONF_TEST,           /* -t, --test-config */
	RP_CONF_PRINT_DEFAULTS, /* --print-defaults */
	RP_CONF_PRINT_MAN,      /* --print-man-options, for the build of the man page */
	RP_CONF_EXTRA,          /* one of the program's own; see rp_conf_result.extra */
};

/** A flag of the program that is not a key, such as --check. NULL name ends. */
struct rp_conf_extra {
	const char *name;  /* without dashes */
	const char *value; /* name of its value in --help, NULL: takes none */
	const char *help;
};

/** A key of an older configuration that has another name here. NULL old ends. */
struct rp_conf_renamed {
	const char *old_name;
	const char *now;
};

struct rp_conf_program {
	const char *name;       /* "rpingmesh-agent" */
	const char *summary;    /* one line for --help */
	const char *synopsis;   /* "rpingmesh-agent [EAL options] -- [options]" */
	const char *file;       /* "agent.cfg" */
	const char *env_prefix; /* "RPINGMESH_AGENT_"; "RPINGMESH_" is read as well */
	const struct rp_opt *table;
	const struct rp_conf_extra *extra;     /* may be NULL */
	const struct rp_conf_renamed *renamed; /* may be NULL */
	/* Keys of the suite's other programs whose short environment form has our prefix. */
	const char *const *foreign; /* NULL-terminated; may be NULL */
	/** Rules between keys. May be NULL. @return 0, -EINVAL with @p why */
	int (*check)(const void *conf, char *why);
};

struct rp_conf_result {
	enum rp_conf_action action;
	const char *extra;              /* RP_CONF_EXTRA: its name */
	const char *extra_value;        /* points into argv */
	char path[1024];                /* file that was read, "" for none */
	int exit_code;                  /* on error */
	char why[RP_OPT_WHY_MAX + 256]; /* on error: one line */
};

/**
 * Fill @p conf (all zero before) from all sources.
 *
 * @param argc, argv  the program's own options; argv[0] is skipped
 * @param env         NULL-terminated, as environ
 * @return 0; -EINVAL with exit_code and why set, and @p conf released
 */
int rp_conf_load(const struct rp_conf_program *prog, int argc, char *const *argv, char *const *env,
	void *conf, struct rp_conf_result *ret_result);

/** --help, --version, --print-defaults as text. */
void rp_conf_print_help(const struct rp_conf_program *prog, struct rp_buf *out);
void rp_conf_print_defaults(const struct rp_conf_program *prog, struct rp_buf *out);

/** The options section of the man page in scdoc. */
void rp_conf_print_man(const struct rp_conf_program *prog, struct rp_buf *out);

/**
 * The text of the actions that only print: HELP, VERSION, PRINT_DEFAULTS, PRINT_MAN.
 * @param extra_version  what follows the version, such as a library's; "" for nothing
 * @return false: @p action is none of them
 */
bool rp_conf_print(const struct rp_conf_program *prog, enum rp_conf_action action,
	const char *extra_version, struct rp_buf *out);

/*
 * Used by the three source files of this room.
 */

/** Read @p path into @p conf. @return 0, -EINVAL with result->why */
int rp_conf_read_file(const struct rp_conf_program *prog, const char *path, void *conf,
	struct rp_conf_result *result);

/** One line of result->why and its exit code. @return -EINVAL */
int rp_conf_fail(struct rp_conf_result *result, int exit_code, const char *fmt, ...)
	RP_PRINTF(3, 4);

/** Set a key from one text of a source that has only text: lists are split. */
int rp_conf_set_text(const struct rp_opt *row, void *conf, const char *text, char *why);

/** ", did you mean X?" or ", it is called X here", or "". */
void rp_conf_hint(const struct rp_conf_program *prog, const struct rp_opt *table, const char *name,
	char *ret_text, size_t len);

#endif /* RP_CONF_H */
