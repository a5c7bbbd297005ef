/* SPDX-License-Identifier: BSD-3-Clause */

#include <stdio.h>
#include <string.h>

#include "rp_conf.h"

static void
put_flag(const struct rp_opt *row, char *text, size_t len)
{
	snprintf(text, len, "%s", row->flag == NULL ? row->name : row->flag);
	for (; *text != '\0'; text++)
		if (*text == '_')
			*text = '-';
}

static const char *
placeholder(const struct rp_opt *row)
{
	static const char *const name[] = {
		[RP_OPT_BOOL] = "",
		[RP_OPT_INT] = "N",
		[RP_OPT_DURATION] = "TIME",
		[RP_OPT_SIZE] = "BYTES",
		[RP_OPT_FLOAT] = "X",
		[RP_OPT_STRING] = "TEXT",
		[RP_OPT_ENUM] = "WORD",
		[RP_OPT_LIST] = "TEXT",
		[RP_OPT_ITEMS] = "KEY=VALUE,...",
	};

	return name[row->type];
}

static bool
repeats(const struct rp_opt *row)
{
	return row->type == RP_OPT_LIST || row->type == RP_OPT_ITEMS;
}

void
rp_conf_print_help(const struct rp_conf_program *prog, struct rp_buf *out)
{
	rp_buf_printf(out, "%s - %s\n\nusage: %s\n\n", prog->name, prog->summary, prog->synopsis);
	rp_buf_puts(out,
		"  -c, --config FILE       read FILE and not the search path\n"
		"  -t, --test-config       check the configuration and exit\n"
		"      --print-defaults    write a configuration file with all defaults\n");
	for (const struct rp_conf_extra *x = prog->extra; x != NULL && x->name != NULL; x++)
		rp_buf_printf(out, "      --%s%s%s\n          %s\n", x->name,
			x->value == NULL ? "" : " ", x->value == NULL ? "" : x->value, x->help);
	rp_buf_puts(out,
		"  -V, --version           print the version\n"
		"  -h, --help              print this\n\n");
	for (const struct rp_opt *row = prog->table; row->name != NULL; row++) {
		char flag[64], range[320];

		put_flag(row, flag, sizeof(flag));
		rp_opt_range(row, range, sizeof(range));
		rp_buf_printf(out, "      --%s %s%s\n          %s\n          %s", flag,
			placeholder(row), repeats(row) ? " (repeatable)" : "", row->help, range);
		if (row->def != NULL && *row->def != '\0')
			rp_buf_printf(out, ", default %s", row->def);
		rp_buf_puts(out, "\n");
	}
	rp_buf_printf(out,
		"\nEach option is also a key of %s (with underscores) and an environment\n"
		"variable (%sKEY). A flag wins over the environment, that over the file.\n"
		"Files: ./%s, ~/.config/rpingmesh/%s, /etc/rpingmesh/%s\n",
		prog->file, prog->env_prefix, prog->file, prog->file, prog->file);
}

static void
put_default(const struct rp_opt *row, struct rp_buf *out)
{
	switch (row->type) {
	case RP_OPT_BOOL:
	case RP_OPT_INT:
	case RP_OPT_FLOAT:
		rp_buf_printf(out, "%s = %s;\n", row->name, row->def);
		break;
	case RP_OPT_DURATION:
	case RP_OPT_SIZE:
	case RP_OPT_STRING:
	case RP_OPT_ENUM:
		rp_buf_printf(out, "%s = \"%s\";\n", row->name, row->def);
		break;
	case RP_OPT_LIST:
		rp_buf_printf(out, "%s = [%s%s%s];\n", row->name, *row->def == '\0' ? "" : " \"",
			row->def, *row->def == '\0' ? "" : "\" ");
		break;
	case RP_OPT_ITEMS:
		rp_buf_printf(out, "%s = ( );\n", row->name);
		break;
	}
}

void
rp_conf_print_defaults(const struct rp_conf_program *prog, struct rp_buf *out)
{
	rp_buf_printf(out, "# %s: every key with its default\n", prog->name);
	for (const struct rp_opt *row = prog->table; row->name != NULL; row++) {
		char range[320];

		rp_opt_range(row, range, sizeof(range));
		rp_buf_printf(out, "\n# %s\n# %s%s\n", row->help, range,
			row->reloadable ? "; reloadable" : "");
		put_default(row, out);
		for (const struct rp_opt *f = row->fields; f != NULL && f->name != NULL; f++)
			rp_buf_printf(out, "#   %s: %s\n", f->name, f->help);
	}
}

void
rp_conf_print_man(const struct rp_conf_program *prog, struct rp_buf *out)
{
	for (const struct rp_opt *row = prog->table; row->name != NULL; row++) {
		char flag[64], range[320];

		put_flag(row, flag, sizeof(flag));
		rp_opt_range(row, range, sizeof(range));
		rp_buf_printf(out, "*--%s*%s%s%s\n\t%s%s. Key _%s_; %s", flag,
			*placeholder(row) == '\0' ? "" : " _", placeholder(row),
			*placeholder(row) == '\0' ? "" : "_", row->help,
			repeats(row) ? " (repeatable)" : "", row->name, range);
		if (row->def != NULL && *row->def != '\0')
			rp_buf_printf(out, "; default %s", row->def);
		rp_buf_printf(out, "%s.\n\n", row->reloadable ? "; reloadable" : "");
	}
}

bool
rp_conf_print(const struct rp_conf_program *prog, enum rp_conf_action action,
	const char *extra_version, struct rp_buf *out)
{
	switch (action) {
	case RP_CONF_HELP:
		rp_conf_print_help(prog, out);
		return true;
	case RP_CONF_VERSION:
		rp_buf_printf(out, "%s %s%s%s\n", prog->name, RP_VERSION,
			*extra_version == '\0' ? "" : " ", extra_version);
		return true;
	case RP_CONF_PRINT_DEFAULTS:
		rp_conf_print_defaults(prog, out);
		return true;
	case RP_CONF_PRINT_MAN:
		rp_conf_print_man(prog, out);
		return true;
	case RP_CONF_RUN:
	case RP_CONF_TEST:
	case RP_CONF_EXTRA:
		break;
	}
	return false;
}
