/* SPDX-License-Identifier: BSD-3-Clause */

#include "place.h"

#include <errno.h>

#include "rp_opt.h"
#include "ut.h"

static char why[RP_OPT_WHY_MAX];

static uint32_t
first_cpu(const struct place_lcore *l)
{
	for (uint32_t i = 0; i < CPU_SETSIZE; i++)
		if (CPU_ISSET(i, &l->cpus))
			return i;
	return UINT32_MAX;
}

static void
parse__lists_masks_and_maps__as_eal_reads_them(void)
{
	static const struct {
		const char *opt, *arg;
		uint32_t n;
		struct {
			uint32_t id, first, cpus;
		} want[4];
	} cases[] = {
		{"-l", "0-1", 2, {{0, 0, 1}, {1, 1, 1}}},
		{"-l", "3,1", 2, {{1, 1, 1}, {3, 3, 1}}},
		{"-c", "0x5", 2, {{0, 0, 1}, {2, 2, 1}}},
		{"-c", "f", 4, {{0, 0, 1}, {1, 1, 1}, {2, 2, 1}, {3, 3, 1}}},
		{"--lcores", "0@0,1@0,2@1", 3, {{0, 0, 1}, {1, 0, 1}, {2, 1, 1}}},
		{"--lcores", "(0-2)@(0-1)", 3, {{0, 0, 2}, {1, 0, 2}, {2, 0, 2}}},
		{"--lcores", "1@(5-7)", 1, {{1, 5, 3}}},
		{"--lcores", "(0,6)", 2, {{0, 0, 2}, {6, 0, 2}}},
		{"--lcores", "7-8", 2, {{7, 7, 1}, {8, 8, 1}}},
		{"--lcores", "1@300", 1, {{1, 300, 1}}},
	};
	struct place_plan plan;

	for (size_t i = 0; i < RP_ARRAY_LEN(cases); i++) {
		if (!UT_OK(place_parse(cases[i].opt, cases[i].arg, &plan, why)))
			continue;
		UT_EQ(plan.n, cases[i].n);
		UT_EQ(plan.main_id, cases[i].want[0].id);
		for (uint32_t k = 0; k < plan.n; k++) {
			UT_EQ(plan.lcore[k].id, cases[i].want[k].id);
			UT_EQ(first_cpu(&plan.lcore[k]), cases[i].want[k].first);
			UT_EQ(CPU_COUNT(&plan.lcore[k].cpus), cases[i].want[k].cpus);
		}
	}
}

static void
parse__what_is_no_core_list__named(void)
{
	static const struct {
		const char *opt, *arg, *want;
	} cases[] = {
		{"-l", "", "not a core list"},
		{"-l", "a", "not a core list"},
		{"-l", "-1", "not a core list"},
		{"-l", "1-0", "not a core list"},
		{"-l", "0,0", "named twice"},
		{"-l", "0-", "not a core list"},
		{"-l", "0@1", "not a core list"},
		{"-l", "(0-1)", "not a core list"},
		{"-l", "128", "lcore ids go up to 127"},
		{"-l", "99999999999", "lcore ids go up to 127"},
		{"-c", "0", "not a core list"},
		{"-c", "xyz", "want such as 0x3"},
		{"--lcores", "0@", "not a core list"},
		{"--lcores", "(0-1", "not a core list"},
		{"--lcores", "0@0;1@1", "want such as 0@0,1@2"},
	};
	struct place_plan plan;

	for (size_t i = 0; i < RP_ARRAY_LEN(cases); i++) {
		UT_EQ(place_parse(cases[i].opt, cases[i].arg, &plan, why), -EINVAL);
		UT_HAS(why, cases[i].want);
		UT_HAS(why, cases[i].opt);
	}
}

static void
check_cpus__missing_cpu_or_single_lcore__named_with_what_is_there(void)
{
	struct place_plan plan;
	cpu_set_t allowed;

	CPU_ZERO(&allowed);
	CPU_SET(0, &allowed);
	CPU_SET(2, &allowed);
	CPU_SET(3, &allowed);
	UT_OK(place_parse("-l", "0,2-4", &plan, why));
	UT_EQ(place_check_cpus(&plan, &allowed, why), -EINVAL);
	UT_HAS(why, "lcore 4: CPU 4 is not there or not allowed to this process, have 3: 0,2-3");
	UT_OK(place_parse("-l", "0,2", &plan, why));
	UT_OK(place_check_cpus(&plan, &allowed, why));
	UT_OK(place_parse("-l", "3", &plan, why));
	UT_EQ(place_check_cpus(&plan, &allowed, why), -EINVAL);
	UT_HAS(why, "need a main lcore and at least one worker, have lcore 3 only: add one");
}

static void
main_lcore__of_the_list_or_refused(void)
{
	struct place_plan plan;

	UT_OK(place_parse("-l", "0-2", &plan, why));
	UT_OK(place_set_main(&plan, "2", why));
	UT_EQ(plan.main_id, 2);
	UT_EQ(place_set_main(&plan, "5", why), -EINVAL);
	UT_HAS(why, "--main-lcore 5: not an lcore of the core list");
	UT_EQ(place_set_main(&plan, "x", why), -EINVAL);
}

static void
overlap__lcores_on_one_cpu__found(void)
{
	struct place_plan plan;

	UT_OK(place_parse("--lcores", "0@(0-1),1@1,2@2", &plan, why));
	UT_EQ(place_overlap(&plan, 1), 0);
	UT_EQ(place_overlap(&plan, 0), 1);
	UT_EQ(place_overlap(&plan, 2), -1);
}

static void
assign__by_rule__one_two_three_or_more_workers(void)
{
	struct place_plan plan;
	struct place_roles r;

	UT_OK(place_parse("-l", "0-1", &plan, why));
	UT_OK(place_assign(&plan, "", 0, &r, why));
	UT_EQ(r.lcore[PLACE_CQ], 1);
	UT_EQ(r.lcore[PLACE_PROBER], 1);
	UT_EQ(r.lcore[PLACE_RESPONDER], 1);

	UT_OK(place_parse("-l", "0-2", &plan, why));
	UT_OK(place_assign(&plan, "", 0, &r, why));
	UT_EQ(r.lcore[PLACE_CQ], 1);
	UT_EQ(r.lcore[PLACE_PROBER], 2);
	UT_EQ(r.lcore[PLACE_RESPONDER], 1);

	UT_OK(place_parse("-l", "0-3", &plan, why));
	UT_OK(place_assign(&plan, "", 1, &r, why));
	UT_EQ(r.lcore[PLACE_CQ], 1);
	UT_EQ(r.lcore[PLACE_PROBER], 2);
	UT_EQ(r.lcore[PLACE_RESPONDER], 3);

	/* The main lcore never works. */
	UT_OK(place_set_main(&plan, "2", why));
	UT_OK(place_assign(&plan, "", 0, &r, why));
	UT_EQ(r.lcore[PLACE_CQ], 0);
	UT_EQ(r.lcore[PLACE_PROBER], 1);
	UT_EQ(r.lcore[PLACE_RESPONDER], 3);
}

static void
assign__by_text__any_order_both_separators(void)
{
	struct place_plan plan;
	struct place_roles r;

	UT_OK(place_parse("-l", "0-3", &plan, why));
	UT_OK(place_assign(&plan, "prober@3,cq@1,responder@2", 0, &r, why));
	UT_EQ(r.lcore[PLACE_CQ], 1);
	UT_EQ(r.lcore[PLACE_PROBER], 3);
	UT_EQ(r.lcore[PLACE_RESPONDER], 2);
	UT_OK(place_assign(&plan, "cq@1+prober@1+responder@1", 0, &r, why));
	UT_EQ(r.lcore[PLACE_RESPONDER], 1);
}

static void
assign__wrong_text__named(void)
{
	static const struct {
		const char *roles, *want;
	} cases[] = {
		{"cq@1", "want each role once"},
		{"cq@1,prober@2", "want each role once"},
		{"cq@1,cq@1,prober@2,responder@3", "want each role once"},
		{"cq@1,prober@2,responder", "want each role once"},
		{"cq@1,prober@2,answerer@3", "want each role once"},
		{"cq@1,prober@2,responder@x", "want each role once"},
		{"cq@0,prober@1,responder@2", "lcore 0 of cq is not a worker"},
		{"cq@1,prober@9,responder@2", "lcore 9 of prober is not a worker"},
	};
	struct place_plan plan;
	struct place_roles r;

	UT_OK(place_parse("-l", "0-3", &plan, why));
	for (size_t i = 0; i < RP_ARRAY_LEN(cases); i++) {
		UT_EQ(place_assign(&plan, cases[i].roles, 0, &r, why), -EINVAL);
		UT_HAS(why, cases[i].want);
	}
}

static const struct ut_test tests[] = {
	UT(parse__lists_masks_and_maps__as_eal_reads_them),
	UT(parse__what_is_no_core_list__named),
	UT(check_cpus__missing_cpu_or_single_lcore__named_with_what_is_there),
	UT(main_lcore__of_the_list_or_refused),
	UT(overlap__lcores_on_one_cpu__found),
	UT(assign__by_rule__one_two_three_or_more_workers),
	UT(assign__by_text__any_order_both_separators),
	UT(assign__wrong_text__named),
};

UT_MAIN("place", tests)
