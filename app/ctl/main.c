/* SPDX-License-Identifier: BSD-3-Clause */

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ctl.h"
#include "rp_text.h"

#define CONTROLLER_DEFAULT "http://127.0.0.1:8081"
#define CONTROLLER_ENV     "RPINGMESH_CTL_CONTROLLER"

#define OPT(o) (1u << CTL_OPT_##o)

struct command {
	const char *name;
	int (*run)(struct ctl *ctl);
	int min_args, max_args;
	unsigned int opts; /* bit per enum ctl_opt */
	const char *usage;
	const char *help;
};

static const struct command commands[] = {
	{"agents", cmd_agents, 0, 1, 0, "agents [AGENT_ID]", "registered agents and their RNICs"},
	{"pinglist", cmd_pinglist, 2, 2, OPT(TYPE), "pinglist AGENT_ID GID [--type TYPE]",
		"whom an RNIC probes"},
	{"matrix", cmd_matrix, 0, 0, OPT(METRIC) | OPT(WINDOW),
		"matrix [--metric loss|p50|p99] [--window SEC]", "ToR by ToR"},
	{"paths", cmd_paths, 0, 0,
		OPT(SOURCE) | OPT(TARGET) | OPT(SOURCE_TOR) | OPT(TARGET_TOR) | OPT(FROM) |
			OPT(TO) | OPT(LIMIT),
		"paths [--source GID] [--target GID] [--source-tor TOR] [--target-tor TOR]\n"
		"        [--from MS] [--to MS] [--limit N]",
		"counts and delays of paths"},
	{"decode", cmd_decode, 1, 1, 0, "decode FILE.pcap", "RoCEv2 UD frames of a capture"},
};

enum {
	FLAG_CONTROLLER = 1000,
	FLAG_JSON,
	FLAG_COLOR,
	FLAG_COMMAND, /* + enum ctl_opt */
};

#define COMMAND_OPT(name, o)                                                                       \
	{                                                                                          \
		name, required_argument, NULL, FLAG_COMMAND + CTL_OPT_##o                          \
	}

static const struct option options[] = {
	{"controller", required_argument, NULL, FLAG_CONTROLLER},
	{"json", no_argument, NULL, FLAG_JSON},
	{"color", required_argument, NULL, FLAG_COLOR},
	{"help", no_argument, NULL, 'h'},
	{"version", no_argument, NULL, 'V'},
	COMMAND_OPT("type", TYPE),
	COMMAND_OPT("metric", METRIC),
	COMMAND_OPT("window", WINDOW),
	COMMAND_OPT("source", SOURCE),
	COMMAND_OPT("target", TARGET),
	COMMAND_OPT("source-tor", SOURCE_TOR),
	COMMAND_OPT("target-tor", TARGET_TOR),
	COMMAND_OPT("from", FROM),
	COMMAND_OPT("to", TO),
	COMMAND_OPT("limit", LIMIT),
	{NULL, 0, NULL, 0},
};

static void
print_help(void)
{
	puts("rpingmesh-ctl - asks an rpingmesh-controller, decodes captures\n\n"
	     "usage: rpingmesh-ctl [options] COMMAND ...\n");
	for (size_t i = 0; i < RP_ARRAY_LEN(commands); i++)
		printf("  %s\n          %s\n", commands[i].usage, commands[i].help);
	puts("\n  --controller URL        base URL; default $" CONTROLLER_ENV "\n"
	     "                          or " CONTROLLER_DEFAULT "\n"
	     "  --json                  JSON for programs instead of tables\n"
	     "  --color WHEN            auto, always or never\n"
	     "  -V, --version           print the version\n"
	     "  -h, --help              print this");
}

static int
set_color(struct ctl *ctl, const char *when)
{
	const char *term = getenv("TERM");

	if (strcmp(when, "always") == 0)
		ctl->color = true;
	else if (strcmp(when, "never") == 0)
		ctl->color = false;
	else if (strcmp(when, "auto") == 0)
		ctl->color = isatty(STDOUT_FILENO) && getenv("NO_COLOR") == NULL && term != NULL &&
			strcmp(term, "dumb") != 0;
	else
		return ctl_fail(CTL_EX_USAGE, "--color '%s': want auto, always or never", when);
	return 0;
}

/* @return -1 to go on, else an exit code */
static int
parse(struct ctl *ctl, int argc, char **argv)
{
	int flag, rc;

	while ((flag = getopt_long(argc, argv, "hV", options, NULL)) != -1) {
		switch (flag) {
		case 'h':
			print_help();
			return CTL_EX_OK;
		case 'V':
			puts("rpingmesh-ctl " RP_VERSION);
			return CTL_EX_OK;
		case FLAG_CONTROLLER:
			ctl->controller = optarg;
			break;
		case FLAG_JSON:
			ctl->json = true;
			break;
		case FLAG_COLOR:
			rc = set_color(ctl, optarg);
			if (rc != 0)
				return rc;
			break;
		case '?':
			return ctl_fail(CTL_EX_USAGE, "see rpingmesh-ctl --help");
		default:
			ctl->opt[flag - FLAG_COMMAND] = optarg;
			break;
		}
	}
	return -1;
}

static const struct command *
find_command(const char *name)
{
	const char *names[RP_ARRAY_LEN(commands) + 1] = {NULL};
	const char *nearest;

	for (size_t i = 0; i < RP_ARRAY_LEN(commands); i++) {
		if (strcmp(commands[i].name, name) == 0)
			return &commands[i];
		names[i] = commands[i].name;
	}
	nearest = rp_text_nearest(name, names);
	ctl_fail(CTL_EX_USAGE, "no command '%s'%s%s%s", name,
		nearest == NULL ? "" : ", did you mean '", nearest == NULL ? "" : nearest,
		nearest == NULL ? ", see rpingmesh-ctl --help" : "'?");
	return NULL;
}

static int
check(const struct ctl *ctl, const struct command *command)
{
	for (int o = 0; o < CTL_OPT_N; o++) {
		const struct option *row = options;

		if (ctl->opt[o] == NULL || (command->opts & (1u << o)) != 0)
			continue;
		while (row->val != FLAG_COMMAND + o)
			row++;
		return ctl_fail(CTL_EX_USAGE, "%s takes no --%s; usage: rpingmesh-ctl %s",
			command->name, row->name, command->usage);
	}
	if (ctl->n_args < command->min_args || ctl->n_args > command->max_args)
		return ctl_fail(CTL_EX_USAGE, "usage: rpingmesh-ctl %s", command->usage);
	return 0;
}

int
main(int argc, char **argv)
{
	const char *env = getenv(CONTROLLER_ENV);
	struct ctl ctl = {.controller = env != NULL && env[0] != '\0' ? env : CONTROLLER_DEFAULT};
	const struct command *command;
	int rc;

	set_color(&ctl, "auto");
	rc = parse(&ctl, argc, argv);
	if (rc >= 0)
		return rc;
	if (optind == argc) {
		print_help();
		return ctl_fail(CTL_EX_USAGE, "no command");
	}
	command = find_command(argv[optind]);
	if (command == NULL)
		return CTL_EX_USAGE;
	ctl.arg = argv + optind + 1;
	ctl.n_args = argc - optind - 1;
	rc = check(&ctl, command);
	return rc != 0 ? rc : command->run(&ctl);
}
