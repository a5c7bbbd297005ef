/* SPDX-License-Identifier: BSD-3-Clause */

#include "rp_conf.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rp_text.h"

#define KEY_MAX  64
#define KEYS_MAX 128

int
rp_conf_fail(struct rp_conf_result *result, int exit_code, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(result->why, sizeof(result->why), fmt, ap);
	va_end(ap);
	result->exit_code = exit_code;
	return -EINVAL;
}

void
rp_conf_hint(const struct rp_conf_program *prog, const struct rp_opt *table, const char *name,
	char *ret_text, size_t len)
{
	const char *names[KEYS_MAX + 1];
	const char *near;
	size_t n = 0;

	*ret_text = '\0';
	for (const struct rp_conf_renamed *r = prog->renamed;
		table == prog->table && r != NULL && r->old_name != NULL; r++) {
		if (strcmp(r->old_name, name) == 0) {
			snprintf(ret_text, len, ", it is called %s here", r->now);
			return;
		}
	}
	for (; table->name != NULL && n < KEYS_MAX; table++)
		names[n++] = table->name;
	names[n] = NULL;
	near = rp_text_nearest(name, names);
	if (near != NULL)
		snprintf(ret_text, len, ", did you mean %s?", near);
}

int
rp_conf_set_text(const struct rp_opt *row, void *conf, const char *text, char *why)
{
	const char *separator = row->type == RP_OPT_LIST ? "," : ";";
	char *copy, *rest, *element;
	int rc = 0;

	assert(text != NULL);
	if (row->type != RP_OPT_LIST && row->type != RP_OPT_ITEMS)
		return rp_opt_set(row, conf, text, why);
	copy = strdup(text);
	if (copy == NULL) {
		snprintf(why, RP_OPT_WHY_MAX, "%s: out of memory", row->name);
		return -ENOMEM;
	}
	rest = copy;
	while (rc == 0 && (element = strsep(&rest, separator)) != NULL)
		if (*element != '\0')
			rc = rp_opt_set(row, conf, element, why);
	free(copy);
	return rc;
}

/* ---- environment ---- */

/* "RPINGMESH_AGENT_TOR_ID=x" -> key "tor_id"; false when the prefix is another. */
static bool
env_key(const char *entry, const char *prefix, char *ret_key, const char **ret_value)
{
	const char *eq = strchr(entry, '=');
	size_t prefix_len = strlen(prefix), len;

	if (eq == NULL || strncmp(entry, prefix, prefix_len) != 0)
		return false;
	len = (size_t)(eq - entry) - prefix_len;
	if (len == 0 || len >= KEY_MAX)
		return false;
	for (size_t i = 0; i < len; i++)
		ret_key[i] = (char)tolower((unsigned char)entry[prefix_len + i]);
	ret_key[len] = '\0';
	*ret_value = eq + 1;
	return true;
}

/* RPINGMESH_AGENT_ID: the short form of agent_id, not the long form of "id". */
static bool
is_short_form(const struct rp_conf_program *prog, const char *entry)
{
	char key[KEY_MAX];
	const char *value;

	if (!env_key(entry, "RPINGMESH_", key, &value))
		return false;
	for (const char *const *f = prog->foreign; f != NULL && *f != NULL; f++)
		if (strcmp(*f, key) == 0)
			return true;
	return rp_opt_find(prog->table, key) != NULL;
}

static int
read_env_prefix(const struct rp_conf_program *prog, char *const *env, const char *prefix,
	bool is_own, void *conf, struct rp_conf_result *result)
{
	char key[KEY_MAX], why[RP_OPT_WHY_MAX], hint[160];
	const char *value;

	for (; *env != NULL; env++) {
		const struct rp_opt *row;

		if (!env_key(*env, prefix, key, &value))
			continue;
		row = rp_opt_find(prog->table, key);
		/* RPINGMESH_X may be meant for another program of the suite. */
		if (row == NULL && (!is_own || is_short_form(prog, *env)))
			continue;
		if (row == NULL) {
			rp_conf_hint(prog, prog->table, key, hint, sizeof(hint));
			return rp_conf_fail(result, RP_EX_CONFIG, "environment: unknown key %.*s%s",
				(int)(strchr(*env, '=') - *env), *env, hint);
		}
		rp_opt_clear(row, conf);
		if (rp_conf_set_text(row, conf, value, why) != 0)
			return rp_conf_fail(result, RP_EX_CONFIG, "environment: %.*s: %s",
				(int)(strchr(*env, '=') - *env), *env, why);
	}
	return 0;
}

static int
read_env(const struct rp_conf_program *prog, char *const *env, void *conf,
	struct rp_conf_result *result)
{
	int rc = read_env_prefix(prog, env, "RPINGMESH_", false, conf, result);

	return rc != 0 ? rc : read_env_prefix(prog, env, prog->env_prefix, true, conf, result);
}

/* ---- flags ---- */

/* The command line as read so far. */
struct flags {
	const struct rp_conf_program *prog;
	int argc;
	char *const *argv;
	int at;
	void *conf; /* NULL in the first pass, which looks for actions and --config */
	const char *config;
	uint64_t seen[(KEYS_MAX + 63) / 64];
	struct rp_conf_result *result;
};

static const struct rp_opt *
find_flag(const struct rp_opt *table, const char *flag)
{
	char key[KEY_MAX];

	if (strlen(flag) >= sizeof(key) || strchr(flag, '_') != NULL)
		return NULL;
	for (size_t i = 0; i <= strlen(flag); i++)
		key[i] = flag[i] == '-' ? '_' : flag[i];
	for (; table->name != NULL; table++)
		if (strcmp(table->flag == NULL ? table->name : table->flag, key) == 0)
			return table;
	return NULL;
}

static int
flag_value(struct flags *f, const char *flag, const char *inline_value, const char **ret_value)
{
	if (inline_value == NULL && f->at + 1 < f->argc)
		inline_value = f->argv[++f->at];
	if (inline_value == NULL)
		return rp_conf_fail(f->result, RP_EX_USAGE, "--%s needs a value", flag);
	*ret_value = inline_value;
	return 0;
}

static int
unknown_flag(struct flags *f, const char *flag)
{
	const char *names[2 * KEYS_MAX + 8];
	char dashed[KEYS_MAX][KEY_MAX];
	const char *near;
	size_t n = 0;

	for (const struct rp_opt *row = f->prog->table; row->name != NULL && n < KEYS_MAX; row++) {
		snprintf(dashed[n], KEY_MAX, "%s", row->flag == NULL ? row->name : row->flag);
		for (char *c = dashed[n]; *c != '\0'; c++)
			*c = *c == '_' ? '-' : *c;
		names[n] = dashed[n];
		n++;
	}
	for (const struct rp_conf_extra *x = f->prog->extra; x != NULL && x->name != NULL; x++)
		names[n++] = x->name;
	names[n++] = "config";
	names[n++] = "help";
	names[n++] = "version";
	names[n++] = "test-config";
	names[n++] = "print-defaults";
	names[n] = NULL;
	near = rp_text_nearest(flag, names);
	return rp_conf_fail(f->result, RP_EX_USAGE, "unknown option --%s%s%s%s", flag,
		near == NULL ? "" : ", did you mean --", near == NULL ? "" : near,
		near == NULL ? " (see --help)" : "?");
}

static int
set_flag(struct flags *f, const struct rp_opt *row, const char *flag, const char *value)
{
	size_t i = (size_t)(row - f->prog->table);
	bool repeats = row->type == RP_OPT_LIST || row->type == RP_OPT_ITEMS;
	bool again = (f->seen[i / 64] >> i % 64 & 1) != 0;
	char why[RP_OPT_WHY_MAX];

	if (f->conf == NULL)
		return 0;
	if (again && !repeats)
		return rp_conf_fail(f->result, RP_EX_USAGE, "--%s is given twice", flag);
	if (!again)
		rp_opt_clear(row, f->conf);
	f->seen[i / 64] |= UINT64_C(1) << i % 64;
	/* An item is one flag each, so its text is not split. */
	if ((row->type == RP_OPT_ITEMS ? rp_opt_set(row, f->conf, value, why)
				       : rp_conf_set_text(row, f->conf, value, why)) != 0)
		return rp_conf_fail(f->result, RP_EX_USAGE, "--%s: %s", flag, why);
	return 0;
}

static const struct rp_conf_extra *
find_extra(const struct rp_conf_program *prog, const char *flag)
{
	for (const struct rp_conf_extra *x = prog->extra; x != NULL && x->name != NULL; x++)
		if (strcmp(x->name, flag) == 0)
			return x;
	return NULL;
}

/* The flags every program has. Returns 1 when @flag is one of them. */
static int
common_flag(struct flags *f, const char *flag, const char *inline_value)
{
	static const struct {
		const char *name;
		enum rp_conf_action action;
	} common[] = {
		{"help", RP_CONF_HELP},
		{"version", RP_CONF_VERSION},
		{"test-config", RP_CONF_TEST},
		{"print-defaults", RP_CONF_PRINT_DEFAULTS},
		{"print-man-options", RP_CONF_PRINT_MAN},
	};
	int rc;

	if (strcmp(flag, "config") == 0) {
		bool again = f->config != NULL;

		rc = flag_value(f, flag, inline_value, &f->config);
		if (rc == 0 && again)
			rc = rp_conf_fail(f->result, RP_EX_USAGE, "--config is given twice");
		return rc == 0 ? 1 : rc;
	}
	for (size_t i = 0; i < RP_ARRAY_LEN(common); i++) {
		if (strcmp(flag, common[i].name) != 0)
			continue;
		if (inline_value != NULL)
			return rp_conf_fail(f->result, RP_EX_USAGE, "--%s takes no value", flag);
		/* --help and --version win over whatever else is there. */
		if (f->result->action != RP_CONF_HELP && f->result->action != RP_CONF_VERSION)
			f->result->action = common[i].action;
		return 1;
	}
	return 0;
}

static int
extra_flag(struct flags *f, const struct rp_conf_extra *extra, const char *inline_value)
{
	int rc = 0;

	if (extra->value != NULL)
		rc = flag_value(f, extra->name, inline_value, &f->result->extra_value);
	else if (inline_value != NULL)
		rc = rp_conf_fail(f->result, RP_EX_USAGE, "--%s takes no value", extra->name);
	if (rc == 0 && f->result->action == RP_CONF_RUN) {
		f->result->action = RP_CONF_EXTRA;
		f->result->extra = extra->name;
	}
	return rc;
}

static int
long_flag(struct flags *f, const char *arg)
{
	const char *eq = strchr(arg, '=');
	const char *value = eq == NULL ? NULL : eq + 1;
	const struct rp_conf_extra *extra;
	const struct rp_opt *row;
	char flag[KEY_MAX];
	int rc;

	snprintf(flag, sizeof(flag), "%.*s", eq == NULL ? KEY_MAX - 1 : (int)(eq - arg), arg);
	rc = common_flag(f, flag, value);
	if (rc != 0)
		return rc < 0 ? rc : 0;
	extra = find_extra(f->prog, flag);
	if (extra != NULL)
		return extra_flag(f, extra, value);

	row = find_flag(f->prog->table, flag);
	if (row == NULL && strncmp(flag, "no-", 3) == 0) {
		row = find_flag(f->prog->table, flag + 3);
		if (row == NULL || row->type != RP_OPT_BOOL || value != NULL)
			return unknown_flag(f, flag);
		return set_flag(f, row, flag, "false");
	}
	if (row == NULL)
		return unknown_flag(f, flag);
	/* A bare --key is true; its value, if any, follows behind '='. */
	if (row->type == RP_OPT_BOOL)
		return set_flag(f, row, flag, value == NULL ? "true" : value);
	rc = flag_value(f, flag, value, &value);
	return rc != 0 ? rc : set_flag(f, row, flag, value);
}

static int
short_flag(struct flags *f, const char *arg)
{
	static const struct {
		char letter;
		const char *flag;
	} letters[] = {{'h', "help"}, {'V', "version"}, {'t', "test-config"}, {'c', "config"}};

	for (size_t i = 0; i < RP_ARRAY_LEN(letters); i++)
		if (arg[0] == letters[i].letter && arg[1] == '\0')
			return common_flag(f, letters[i].flag, NULL) < 0 ? -EINVAL : 0;
	return rp_conf_fail(f->result, RP_EX_USAGE, "unknown option -%s (see --help)", arg);
}

static int
read_flags(struct flags *f)
{
	for (f->at = 1; f->at < f->argc; f->at++) {
		const char *arg = f->argv[f->at];
		int rc;

		if (arg[0] == '-' && arg[1] == '-' && arg[2] != '\0')
			rc = long_flag(f, arg + 2);
		else if (arg[0] == '-' && arg[1] != '\0' && arg[1] != '-')
			rc = short_flag(f, arg + 1);
		else
			rc = rp_conf_fail(f->result, RP_EX_USAGE,
				"unexpected argument '%.80s' (options start with --)", arg);
		if (rc != 0)
			return rc;
	}
	return 0;
}

/* ---- all sources ---- */

static const char *
env_get(char *const *env, const char *name)
{
	size_t len = strlen(name);

	for (; *env != NULL; env++)
		if (strncmp(*env, name, len) == 0 && (*env)[len] == '=')
			return *env + len + 1;
	return NULL;
}

static void
find_file(const struct rp_conf_program *prog, char *const *env, char *path, size_t len)
{
	const char *home = env_get(env, "HOME");

	snprintf(path, len, "./%s", prog->file);
	if (access(path, F_OK) == 0)
		return;
	if (home != NULL && *home != '\0') {
		snprintf(path, len, "%s/.config/rpingmesh/%s", home, prog->file);
		if (access(path, F_OK) == 0)
			return;
	}
	snprintf(path, len, "/etc/rpingmesh/%s", prog->file);
	if (access(path, F_OK) != 0)
		*path = '\0';
}

static int
load(const struct rp_conf_program *prog, struct flags *f, char *const *env, void *conf)
{
	struct rp_conf_result *result = f->result;
	char why[RP_OPT_WHY_MAX];
	int rc;

	if (rp_opt_defaults(prog->table, conf, why) != 0)
		return rp_conf_fail(result, RP_EX_INTERNAL, "built-in default: %s", why);
	if (f->config != NULL)
		snprintf(result->path, sizeof(result->path), "%s", f->config);
	else
		find_file(prog, env, result->path, sizeof(result->path));
	rc = result->path[0] == '\0' ? 0 : rp_conf_read_file(prog, result->path, conf, result);
	if (rc == 0)
		rc = read_env(prog, env, conf, result);
	if (rc == 0) {
		f->conf = conf;
		f->config = NULL;
		rc = read_flags(f);
	}
	if (rc == 0 && prog->check != NULL && prog->check(conf, why) != 0)
		rc = rp_conf_fail(result, RP_EX_CONFIG, "%s", why);
	return rc;
}

int
rp_conf_load(const struct rp_conf_program *prog, int argc, char *const *argv, char *const *env,
	void *conf, struct rp_conf_result *ret_result)
{
	struct flags f = {.prog = prog, .argc = argc, .argv = argv, .result = ret_result};
	int rc;

	*ret_result = (struct rp_conf_result){0};
	rc = read_flags(&f);
	if (rc != 0)
		return rc;
	if (ret_result->action == RP_CONF_HELP || ret_result->action == RP_CONF_VERSION ||
		ret_result->action == RP_CONF_PRINT_DEFAULTS ||
		ret_result->action == RP_CONF_PRINT_MAN)
		return 0;
	rc = load(prog, &f, env, conf);
	if (rc != 0)
		rp_opt_fini(prog->table, conf);
	return rc;
}
