/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <stdio.h>

#include "rp_opt.h"
#include "ut.h"

struct port {
	char *name;
	int64_t vlan;
	bool on;
};

struct conf {
	bool flag;
	int64_t port;
	int64_t timeout_ms;
	int64_t memory;
	double ratio;
	char *text;
	int level;
	struct rp_opt_list urls;
	struct rp_opt_items ports;
};

static const char *const levels[] = {"debug", "info", "warn", NULL};

static const struct rp_opt port_fields[] = {
	{"name", RP_OPT_STRING, offsetof(struct port, name), "", NULL, 0, 15, .help = "name"},
	{"vlan", RP_OPT_INT, offsetof(struct port, vlan), "0", NULL, 0, 4094, .help = "vlan"},
	{"on", RP_OPT_BOOL, offsetof(struct port, on), "true", .help = "on"},
	{.name = NULL},
};

static const struct rp_opt table[] = {
	{"flag", RP_OPT_BOOL, offsetof(struct conf, flag), "false", .help = "a flag"},
	{"port", RP_OPT_INT, offsetof(struct conf, port), "8080", NULL, 1, 65535, .help = "port"},
	{"timeout_ms", RP_OPT_DURATION, offsetof(struct conf, timeout_ms), "500", "ms", 1, 60000,
		.help = "timeout"},
	{"memory", RP_OPT_SIZE, offsetof(struct conf, memory), "1MiB", "bytes", 0, 1 << 30,
		.help = "memory"},
	{"ratio", RP_OPT_FLOAT, offsetof(struct conf, ratio), "0.99", NULL, 0, 1, .help = "ratio"},
	{"text", RP_OPT_STRING, offsetof(struct conf, text), "abc", NULL, 0, 8, .help = "text"},
	{"level", RP_OPT_ENUM, offsetof(struct conf, level), "info", .choices = levels,
		.help = "level"},
	{"urls", RP_OPT_LIST, offsetof(struct conf, urls), "", NULL, 1, 20, .flag = "url",
		.help = "urls"},
	{"ports", RP_OPT_ITEMS, offsetof(struct conf, ports), "", .flag = "port-item",
		.fields = port_fields, .item_size = sizeof(struct port), .help = "ports"},
	{.name = NULL},
};

static char why[RP_OPT_WHY_MAX];

static int
set(struct conf *conf, const char *name, const char *text)
{
	const struct rp_opt *row = rp_opt_find(table, name);

	if (row == NULL)
		abort();
	why[0] = '\0';
	return rp_opt_set(row, conf, text, why);
}

static struct conf
defaults(void)
{
	struct conf conf = {0};

	UT_OK(rp_opt_defaults(table, &conf, why));
	return conf;
}

static void
rp_opt_defaults__every_type__is_parsed_from_its_row(void)
{
	struct conf conf = defaults();

	UT_FALSE(conf.flag);
	UT_EQ(conf.port, 8080);
	UT_EQ(conf.timeout_ms, 500);
	UT_EQ(conf.memory, 1 << 20);
	UT_NEAR(conf.ratio, 0.99, 0);
	UT_STR(conf.text, "abc");
	UT_EQ(conf.level, 1);
	UT_EQ(conf.urls.n, 0);
	UT_EQ(conf.ports.n, 0);
	rp_opt_fini(table, &conf);
	UT_TRUE(conf.text == NULL);
}

static void
rp_opt_defaults__bad_default__says_which_row(void)
{
	static const struct rp_opt bad[] = {
		{"port", RP_OPT_INT, offsetof(struct conf, port), "70000", NULL, 1, 65535},
		{.name = NULL},
	};
	struct conf conf = {0};

	UT_EQ(rp_opt_defaults(bad, &conf, why), -ERANGE);
	UT_HAS(why, "port");
}

static void
rp_opt_set__outside_the_range__names_key_value_and_range(void)
{
	static const struct {
		const char *key, *text;
		int rc;
		const char *range;
	} row[] = {
		{"flag", "maybe", -EINVAL, "flag: 'maybe' is not valid, want true or false"},
		{"port", "0", -ERANGE, "port: '0' is out of range, want 1..65535"},
		{"port", "65536", -ERANGE, "1..65535"},
		{"port", "http", -EINVAL, "port: 'http' is not valid, want 1..65535"},
		{"timeout_ms", "2m", -ERANGE, "1..60000 ms"},
		{"timeout_ms", "1us", -EINVAL, "1..60000 ms"},
		{"memory", "2GiB", -ERANGE, "0..1073741824 bytes"},
		{"ratio", "1.5", -ERANGE, "0..1"},
		{"text", "nine bytes", -ERANGE, "text of 0..8 bytes"},
		{"text", "a\nb", -EINVAL, "text of 0..8 bytes"},
		{"level", "loud", -EINVAL, "one of debug, info, warn"},
		{"urls", "", -ERANGE, "text of 1..20 bytes"},
	};
	struct conf conf = defaults();

	for (size_t i = 0; i < RP_ARRAY_LEN(row); i++) {
		if (!UT_EQ(set(&conf, row[i].key, row[i].text), row[i].rc))
			printf("  %s '%s'\n", row[i].key, row[i].text);
		UT_HAS(why, row[i].range);
	}
	/* nothing changed */
	UT_EQ(conf.port, 8080);
	UT_STR(conf.text, "abc");
	UT_EQ(conf.urls.n, 0);
	rp_opt_fini(table, &conf);
}

static void
rp_opt_set__evil_value__leaves_why_bounded(void)
{
	struct conf conf = defaults();
	char *big = malloc(100001);

	memset(big, 'x', 100000);
	big[100000] = '\0';
	for (const struct rp_opt *row = table; row->name != NULL; row++)
		if (row->type != RP_OPT_BOOL) {
			UT_TRUE(rp_opt_set(row, &conf, big, why) < 0);
			UT_TRUE(strlen(why) < RP_OPT_WHY_MAX);
			UT_HAS(why, row->name);
		}
	free(big);
	rp_opt_fini(table, &conf);
}

static void
rp_opt_value__any_accepted_value__reads_back(void)
{
	struct rp_rng rng = ut_rng(1);

	for (int i = 0; i < 5000; i++) {
		struct conf a = defaults(), b = defaults();

		a.flag = rp_rng_below(&rng, 2) != 0;
		a.port = (int64_t)rp_rng_below(&rng, 65535) + 1;
		a.timeout_ms = (int64_t)rp_rng_below(&rng, 60000) + 1;
		a.memory = (int64_t)rp_rng_below(&rng, (1 << 30) + 1);
		a.ratio = rp_rng_unit(&rng);
		a.level = (int)rp_rng_below(&rng, 3);
		for (const struct rp_opt *row = table; row->type < RP_OPT_LIST; row++) {
			char text[64];

			rp_opt_value(row, &a, text, sizeof(text));
			UT_OK(rp_opt_set(row, &b, text, why));
		}
		UT_EQ(b.flag, a.flag);
		UT_EQ(b.port, a.port);
		UT_EQ(b.timeout_ms, a.timeout_ms);
		UT_EQ(b.memory, a.memory);
		UT_TRUE(b.ratio == a.ratio);
		UT_EQ(b.level, a.level);
		UT_STR(b.text, a.text);
		rp_opt_fini(table, &a);
		rp_opt_fini(table, &b);
	}
}

static void
rp_opt_set__list__appends_until_cleared(void)
{
	struct conf conf = defaults();

	UT_OK(set(&conf, "urls", "http://a"));
	UT_OK(set(&conf, "urls", "http://b"));
	UT_EQ(set(&conf, "urls", "http://far-too-long-for-it"), -ERANGE);
	UT_EQ(conf.urls.n, 2);
	UT_STR(conf.urls.text[0], "http://a");
	UT_STR(conf.urls.text[1], "http://b");
	rp_opt_clear(rp_opt_find(table, "urls"), &conf);
	UT_EQ(conf.urls.n, 0);
	UT_OK(set(&conf, "urls", "http://c"));
	UT_STR(conf.urls.text[0], "http://c");
	rp_opt_fini(table, &conf);
}

static void
rp_opt_set__items__fill_named_fields_in_any_order(void)
{
	struct conf conf = defaults();
	const struct port *port;

	UT_OK(set(&conf, "ports", "vlan=7,name=eth0"));
	UT_OK(set(&conf, "ports", "name=eth1,on=false"));
	UT_OK(set(&conf, "ports", ""));
	UT_EQ(conf.ports.n, 3);
	port = conf.ports.item;
	UT_STR(port[0].name, "eth0");
	UT_EQ(port[0].vlan, 7);
	UT_TRUE(port[0].on);
	UT_STR(port[1].name, "eth1");
	UT_EQ(port[1].vlan, 0);
	UT_FALSE(port[1].on);
	UT_STR(port[2].name, "");
	rp_opt_clear(rp_opt_find(table, "ports"), &conf);
	UT_EQ(conf.ports.n, 0);
	rp_opt_fini(table, &conf);
}

static void
rp_opt_set__bad_item__names_the_mistake_and_adds_nothing(void)
{
	static const struct {
		const char *text;
		int rc;
		const char *why;
	} row[] = {
		{"eth0", -EINVAL, "ports: 'eth0' has no '='"},
		{"name=a,,vlan=1", -EINVAL, "has no '='"},
		{"speed=1", -EINVAL,
			"key 'speed' is unknown, want key=value,... with name, vlan, on"},
		{"name=a,name=b", -EINVAL, "key 'name' is given twice"},
		{"name=a,vlan=5000", -ERANGE, "vlan: '5000' is out of range, want 0..4094"},
		{"name=way_too_long_name", -ERANGE, "name:"},
	};
	struct conf conf = defaults();

	for (size_t i = 0; i < RP_ARRAY_LEN(row); i++) {
		UT_EQ(set(&conf, "ports", row[i].text), row[i].rc);
		UT_HAS(why, row[i].why);
		UT_EQ(conf.ports.n, 0);
	}
	rp_opt_fini(table, &conf);
}

static void
rp_opt_find__unknown_name__is_null(void)
{
	UT_TRUE(rp_opt_find(table, "port") == &table[1]);
	UT_TRUE(rp_opt_find(table, "por") == NULL);
	UT_TRUE(rp_opt_find(table, "") == NULL);
}

static void
rp_opt_range__short_buffer__is_cut_and_terminated(void)
{
	for (const struct rp_opt *row = table; row->name != NULL; row++)
		for (size_t len = 1; len < 60; len++) {
			char text[64];

			memset(text, 'Z', sizeof(text));
			rp_opt_range(row, text, len);
			UT_TRUE(strlen(text) < len);
			UT_EQ(text[len], 'Z');
		}
}

static const struct ut_test tests[] = {
	UT(rp_opt_defaults__every_type__is_parsed_from_its_row),
	UT(rp_opt_defaults__bad_default__says_which_row),
	UT(rp_opt_set__outside_the_range__names_key_value_and_range),
	UT(rp_opt_set__evil_value__leaves_why_bounded),
	UT(rp_opt_value__any_accepted_value__reads_back),
	UT(rp_opt_set__list__appends_until_cleared),
	UT(rp_opt_set__items__fill_named_fields_in_any_order),
	UT(rp_opt_set__bad_item__names_the_mistake_and_adds_nothing),
	UT(rp_opt_find__unknown_name__is_null),
	UT(rp_opt_range__short_buffer__is_cut_and_terminated),
};

UT_MAIN("opt", tests)
