/* SPDX-License-Identifier: BSD-3-Clause */

#include "rp_conf.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "ut.h"

struct item {
	char *name;
	int64_t port;
};

struct conf {
	bool flag;
	int64_t count;
	int64_t wait_ms;
	int64_t room;
	double ratio;
	char *text;
	int level;
	struct rp_opt_list urls;
	struct rp_opt_items items;
};

static const char *const levels[] = {"low", "high", NULL};

static const struct rp_opt item_fields[] = {
	{"name", RP_OPT_STRING, offsetof(struct item, name), "", NULL, 1, 16, .help = "its name"},
	{"port", RP_OPT_INT, offsetof(struct item, port), "1", NULL, 1, 255, .help = "its port"},
	{NULL},
};
/* An item without a name is refused by its own default: length 1 at least. */
static const struct rp_opt item_fields_ok[] = {
	{"name", RP_OPT_STRING, offsetof(struct item, name), "", NULL, 0, 16, .help = "its name"},
	{"port", RP_OPT_INT, offsetof(struct item, port), "1", NULL, 1, 255, .help = "its port"},
	{NULL},
};

#define C(field) offsetof(struct conf, field)

static const struct rp_opt table[] = {
	{"flag", RP_OPT_BOOL, C(flag), "false", NULL, 0, 0, .help = "a flag"},
	{"count", RP_OPT_INT, C(count), "5", NULL, 1, 5e9, .help = "a count"},
	{"wait_ms", RP_OPT_DURATION, C(wait_ms), "500", "ms", 1, 60000, .help = "a wait"},
	{"room", RP_OPT_SIZE, C(room), "1MiB", "bytes", 0, 1 << 30, .help = "a size"},
	{"ratio", RP_OPT_FLOAT, C(ratio), "0.5", NULL, 0, 1, .help = "a ratio"},
	{"text", RP_OPT_STRING, C(text), "hello", NULL, 0, 10, .help = "a text"},
	{"level", RP_OPT_ENUM, C(level), "low", NULL, 0, 0, levels, .help = "a level"},
	{"urls", RP_OPT_LIST, C(urls), "http://a", NULL, 1, 100, .help = "urls", .flag = "url"},
	{"items", RP_OPT_ITEMS, C(items), "", NULL, 0, 0, .help = "items", .flag = "item",
		.fields = item_fields_ok, .item_size = sizeof(struct item)},
	{NULL},
};

static const struct rp_conf_extra extra[] = {
	{"check", NULL, "preflight"},
	{"selfcheck", "DEVICE", "self check"},
	{NULL},
};

static const struct rp_conf_renamed renamed[] = {{"probe_timeout", "wait_ms"}, {NULL}};

static int
check(const void *conf, char *why)
{
	const struct conf *c = conf;

	if (c->count == 13) {
		snprintf(why, RP_OPT_WHY_MAX, "count: 13 is unlucky");
		return -1;
	}
	return 0;
}

static const struct rp_conf_program prog = {
	.name = "prog",
	.summary = "tests the loader",
	.synopsis = "prog [options]",
	.file = "prog.cfg",
	.env_prefix = "RPINGMESH_PROG_",
	.table = table,
	.extra = extra,
	.renamed = renamed,
	.foreign = (const char *const[]){"prog_other", NULL},
	.check = check,
};

static struct rp_conf_result result;
static char path[64];

static void
write_file(const char *text)
{
	FILE *f;

	snprintf(path, sizeof(path), "/tmp/rp-test-conf-%d.cfg", (int)getpid());
	f = fopen(path, "w");
	if (f == NULL || fputs(text, f) == EOF || fclose(f) != 0)
		abort();
}

static int
load(struct conf *conf, const char *const *flags, char *const *env)
{
	static char *const none[] = {NULL};
	char *argv[16] = {(char[]){"prog"}};
	int argc = 1, rc;

	*conf = (struct conf){0};
	for (; flags != NULL && *flags != NULL; flags++)
		argv[argc++] = strdup(*flags);
	rc = rp_conf_load(&prog, argc, argv, env == NULL ? none : env, conf, &result);
	while (argc > 1)
		free(argv[--argc]);
	return rc;
}

#define FLAGS(...) ((const char *const[]){__VA_ARGS__, NULL})

static int
load_file(struct conf *conf, const char *text)
{
	int rc;

	write_file(text);
	rc = load(conf, FLAGS("--config", path), NULL);
	unlink(path);
	return rc;
}

static void
load__nothing_given__all_defaults(void)
{
	struct conf c;

	if (!UT_OK(load(&c, NULL, NULL)))
		return;
	UT_FALSE(c.flag);
	UT_EQ(c.count, 5);
	UT_EQ(c.wait_ms, 500);
	UT_EQ(c.room, 1048576);
	UT_NEAR(c.ratio, 0.5, 0);
	UT_STR(c.text, "hello");
	UT_EQ(c.level, 0);
	UT_EQ(c.urls.n, 1);
	UT_STR(c.urls.text[0], "http://a");
	UT_EQ(c.items.n, 0);
	rp_opt_fini(table, &c);
}

static void
load__every_type_in_the_file__is_read(void)
{
	struct conf c;

	if (!UT_OK(load_file(&c,
		    "flag = true; # comment 1\n/* 2 */ count = 3000000000;\n"
		    "wait_ms = \"2s\"; room = \"64KiB\"; ratio = 1;\n"
		    "text = \"x 1 # y\"; level = \"high\"; urls = [ \"u1\", \"u2\" ];\n"
		    "items = ( { name = \"a\"; port = 0x10; }, { name = \"b\"; } );\n")))
		return;
	UT_TRUE(c.flag);
	UT_EQ(c.count, 3000000000);
	UT_EQ(c.wait_ms, 2000);
	UT_EQ(c.room, 65536);
	UT_NEAR(c.ratio, 1, 0);
	UT_STR(c.text, "x 1 # y");
	UT_EQ(c.level, 1);
	UT_EQ(c.urls.n, 2);
	UT_STR(c.urls.text[1], "u2");
	UT_EQ(c.items.n, 2);
	UT_EQ(((struct item *)c.items.item)[0].port, 16);
	UT_STR(((struct item *)c.items.item)[1].name, "b");
	UT_EQ(((struct item *)c.items.item)[1].port, 1);
	rp_opt_fini(table, &c);
}

static void
load__faults_in_the_file__named_with_line_and_range(void)
{
	static const struct {
		const char *text, *why;
	} cases[] = {
		{"flag = true;\nconut = 1;\n", ":2: unknown key conut, did you mean count?"},
		{"probe_timeout = 1;\n", "it is called wait_ms here"},
		{"count = 0;\n", ":1: count: '0' is out of range, want 1..5000000000"},
		{"count = 99999999999999999999;\n", ":1: number does not fit into 64 bits"},
		{"count = \"5\";\n", "wrong type, want 1..5000000000"},
		{"count = 5.5;\n", "'5.5' is not valid"},
		{"wait_ms = \"1.5s\";\n", "not valid, want 1..60000 ms"},
		{"wait_ms = \"2h\";\n", "out of range"},
		{"room = \"1QiB\";\n", "not valid"},
		{"text = 5;\n", "in quotes"},
		{"text = \"12345678901\";\n", "out of range, want text of 0..10 bytes"},
		{"text = \"a\\x01\";\n", "not valid"},
		{"level = \"mid\";\n", "want one of low, high"},
		{"flag = \"true\";\n", "wrong type, want true or false"},
		{"flag = true;\nflag = false;\n", ":2:"},
		{"items = ( { nam = \"x\"; } );\n", "unknown key nam, did you mean name?"},
		{"items = { name = \"x\"; };\n", "want a list"},
		{"items = ( 5 );\n", "items[0]: wrong type"},
		{"urls = { a = 1; };\n", "wrong type, want [ \"text\", ... ]"},
		{"@include \"x\"\n", "@include is not supported"},
		{"count = ;\n", ":1: syntax error"},
		{"count = 13;\n", "count: 13 is unlucky"},
	};
	struct conf c;

	for (size_t i = 0; i < RP_ARRAY_LEN(cases); i++) {
		if (!UT_EQ(load_file(&c, cases[i].text), -EINVAL))
			rp_opt_fini(table, &c);
		UT_HAS(result.why, cases[i].why);
		UT_EQ(result.exit_code, RP_EX_CONFIG);
	}
}

static void
load__missing_file__is_an_error(void)
{
	struct conf c;

	UT_EQ(load(&c, FLAGS("--config", "/nonexistent/x.cfg"), NULL), -EINVAL);
	UT_HAS(result.why, "/nonexistent/x.cfg: cannot open: No such file");
	UT_EQ(result.exit_code, RP_EX_CONFIG);
}

static void
load__flag_env_file__precede_in_this_order(void)
{
	char *env[] = {(char[]){"RPINGMESH_PROG_COUNT=7"}, (char[]){"RPINGMESH_COUNT=6"},
		(char[]){"RPINGMESH_TEXT=short"},
		(char[]){"RPINGMESH_PROG_URLS=http://e1,http://e2"}, (char[]){"RPINGMESH_OTHER=1"},
		(char[]){"PATH=/bin"}, NULL};
	struct conf c;

	write_file("count = 8; text = \"file\"; wait_ms = 9; urls = [ \"f\" ];\n");
	if (!UT_OK(load(&c, FLAGS("--config", path), env)))
		return;
	UT_EQ(c.count, 7);
	UT_STR(c.text, "short");
	UT_EQ(c.wait_ms, 9);
	UT_EQ(c.urls.n, 2);
	UT_STR(c.urls.text[1], "http://e2");
	rp_opt_fini(table, &c);

	if (!UT_OK(load(&c, FLAGS("--count=3", "-c", path, "--url", "x", "--url=y"), env)))
		return;
	UT_EQ(c.count, 3);
	UT_EQ(c.urls.n, 2);
	UT_STR(c.urls.text[0], "x");
	rp_opt_fini(table, &c);
}

static void
load__faults_in_the_environment__are_config_errors(void)
{
	char *unknown[] = {(char[]){"RPINGMESH_PROG_CUONT=7"}, NULL};
	char *other[] = {(char[]){"RPINGMESH_PROG_OTHER=7"}, NULL};
	char *bad[] = {(char[]){"RPINGMESH_PROG_COUNT=many"}, NULL};
	struct conf c;

	UT_EQ(load(&c, NULL, unknown), -EINVAL);
	UT_STR(result.why, "environment: unknown key RPINGMESH_PROG_CUONT, did you mean count?");
	UT_EQ(result.exit_code, RP_EX_CONFIG);
	/* Another program's key in its short form. */
	if (UT_OK(load(&c, NULL, other)))
		rp_opt_fini(table, &c);
	UT_EQ(load(&c, NULL, bad), -EINVAL);
	UT_HAS(result.why, "environment: RPINGMESH_PROG_COUNT: count: 'many' is not valid");
}

static void
load__faults_on_the_command_line__are_usage_errors(void)
{
	static const struct {
		const char *flag[3];
		const char *why;
	} cases[] = {
		{{"--conut", "1"}, "unknown option --conut, did you mean --count?"},
		{{"--zzzzzzzz"}, "unknown option --zzzzzzzz (see --help)"},
		{{"--wait_ms=5"}, "unknown option --wait_ms, did you mean --wait-ms?"},
		{{"--count"}, "--count needs a value"},
		{{"--count=x"}, "--count: count: 'x' is not valid, want 1..5000000000"},
		{{"--count=1", "--count=2"}, "--count is given twice"},
		{{"stray"}, "unexpected argument 'stray'"},
		{{"-x"}, "unknown option -x (see --help)"},
		{{"--help=1"}, "--help takes no value"},
		{{"--check=1"}, "--check takes no value"},
		{{"--selfcheck"}, "--selfcheck needs a value"},
		{{"--no-count"}, "unknown option --no-count"},
		{{"--item", "name"}, "'name' has no '='"},
		{{"--item", "name=a,port=300"}, "port: '300' is out of range, want 1..255"},
		{{"--item", "name=a,name=b"}, "key 'name' is given twice"},
		{{"--item", "nom=a"}, "key 'nom' is unknown"},
	};
	struct conf c;

	for (size_t i = 0; i < RP_ARRAY_LEN(cases); i++) {
		if (!UT_EQ(load(&c, cases[i].flag, NULL), -EINVAL))
			rp_opt_fini(table, &c);
		UT_HAS(result.why, cases[i].why);
		UT_EQ(result.exit_code, RP_EX_USAGE);
	}
}

static void
load__actions__are_told_without_reading_anything(void)
{
	struct conf c;

	UT_OK(load(&c, FLAGS("-h"), NULL));
	UT_EQ(result.action, RP_CONF_HELP);
	UT_OK(load(&c, FLAGS("--config", "/nonexistent", "--version"), NULL));
	UT_EQ(result.action, RP_CONF_VERSION);
	UT_OK(load(&c, FLAGS("--print-defaults"), NULL));
	UT_EQ(result.action, RP_CONF_PRINT_DEFAULTS);

	UT_OK(load(&c, FLAGS("-t"), NULL));
	UT_EQ(result.action, RP_CONF_TEST);
	rp_opt_fini(table, &c);
	UT_OK(load(&c, FLAGS("--check", "--flag", "--item", "name=a", "--item", "port=3"), NULL));
	UT_EQ(result.action, RP_CONF_EXTRA);
	UT_STR(result.extra, "check");
	UT_TRUE(c.flag);
	UT_EQ(c.items.n, 2);
	rp_opt_fini(table, &c);
	UT_OK(load(&c, FLAGS("--no-flag"), NULL));
	UT_FALSE(c.flag);
	rp_opt_fini(table, &c);
}

static void
print_defaults__read_back__gives_the_defaults(void)
{
	struct rp_buf out = {0};
	struct conf c;

	rp_conf_print_defaults(&prog, &out);
	UT_OK(load_file(&c, rp_buf_text(&out)));
	UT_STR(result.why, "");
	UT_EQ(c.wait_ms, 500);
	UT_EQ(c.room, 1048576);
	UT_EQ(c.urls.n, 1);
	rp_opt_fini(table, &c);
	rp_buf_fini(&out);
}

static void
print_help__names_every_option_and_range(void)
{
	struct rp_buf out = {0};

	rp_conf_print_help(&prog, &out);
	UT_HAS(rp_buf_text(&out), "--wait-ms TIME\n");
	UT_HAS(rp_buf_text(&out), "1..60000 ms, default 500");
	UT_HAS(rp_buf_text(&out), "--item KEY=VALUE,... (repeatable)");
	UT_HAS(rp_buf_text(&out), "--selfcheck DEVICE");
	rp_buf_fini(&out);
	rp_conf_print_man(&prog, &out);
	UT_HAS(rp_buf_text(&out), "*--wait-ms* _TIME_");
	rp_buf_fini(&out);
}

static void
set__default_outside_its_own_range__is_found(void)
{
	struct item it = {0};
	char why[RP_OPT_WHY_MAX];

	UT_EQ(rp_opt_defaults(item_fields, &it, why), -ERANGE);
	rp_opt_fini(item_fields, &it);
}

static const struct ut_test tests[] = {
	UT(load__nothing_given__all_defaults),
	UT(load__every_type_in_the_file__is_read),
	UT(load__faults_in_the_file__named_with_line_and_range),
	UT(load__missing_file__is_an_error),
	UT(load__flag_env_file__precede_in_this_order),
	UT(load__faults_in_the_environment__are_config_errors),
	UT(load__faults_on_the_command_line__are_usage_errors),
	UT(load__actions__are_told_without_reading_anything),
	UT(print_defaults__read_back__gives_the_defaults),
	UT(print_help__names_every_option_and_range),
	UT(set__default_outside_its_own_range__is_found),
};

UT_MAIN("conf", tests)
