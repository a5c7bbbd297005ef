/* SPDX-License-Identifier: BSD-3-Clause */

#include "plan.h"

#include <stdio.h>
#include <time.h>

#include "ut.h"

#define NOW INT64_C(1700000000)

static const struct plan_params defaults = {.sample_size = 5,
	.min_sources = 3,
	.rotation_sec = 3600,
	.unspecified_max = 32,
	.flow_labels = 115};

struct fleet {
	struct plan_rnic *rnic;
	char (*text)[3][40]; /* host, tor, rail */
	size_t n;
};

/* @n_tors ToRs of @hosts hosts with @per_host RNICs; rails when @rails. */
static struct fleet
make_fleet(int n_tors, int hosts, int per_host, bool rails)
{
	struct fleet f = {.n = (size_t)n_tors * hosts * per_host};
	size_t i = 0;

	f.rnic = calloc(f.n + 1, sizeof(*f.rnic));
	f.text = calloc(f.n + 1, sizeof(*f.text));
	for (int t = 0; t < n_tors; t++) {
		for (int h = 0; h < hosts; h++) {
			for (int r = 0; r < per_host; r++, i++) {
				struct plan_rnic *p = &f.rnic[i];
				uint8_t ip[4] = {
					10, (uint8_t)(i >> 16), (uint8_t)(i >> 8), (uint8_t)i};

				p->gid = rp_gid_from_ipv4(ip);
				p->qpn = 17 + (uint32_t)i;
				p->qkey = 1;
				p->generation = 1;
				snprintf(f.text[i][0], 40, "host-%d-%d", t, h);
				snprintf(f.text[i][1], 40, "tor-%d", t);
				if (rails)
					snprintf(f.text[i][2], 40, "rail-%d", r);
				p->host = f.text[i][0];
				p->tor = f.text[i][1];
				p->rail = f.text[i][2];
				p->device = "d0";
			}
		}
	}
	return f;
}

static void
fleet_free(struct fleet *f)
{
	free(f->rnic);
	free(f->text);
}

static struct plan *
build(const struct fleet *f, int64_t now_s)
{
	struct plan *plan = NULL;

	UT_OK(plan_build(&defaults, f->rnic, f->n, now_s, &plan));
	return plan;
}

static struct rp_api_pinglist
list_of(const struct plan *plan, const struct rp_gid *gid)
{
	struct rp_api_pinglist list = {0};
	int i = plan_find(plan, gid);

	if (UT_TRUE(i >= 0))
		UT_OK(plan_pinglist(plan, i, &list));
	return list;
}

static const struct plan_rnic *
rnic_of(const struct fleet *f, const struct rp_gid *gid)
{
	for (size_t i = 0; i < f->n; i++)
		if (rp_gid_equal(&f->rnic[i].gid, gid))
			return &f->rnic[i];
	return NULL;
}

static bool
has_source(const struct rp_api_pinglist *list, const struct rp_gid *gid)
{
	for (size_t i = 0; i < list->n_sources; i++)
		if (rp_gid_equal(&list->source[i], gid))
			return true;
	return false;
}

static const struct rp_api_target *
target_of(const struct rp_api_pinglist *list, const struct rp_gid *gid)
{
	for (size_t i = 0; i < list->n_targets; i++)
		if (rp_gid_equal(&list->target[i].gid, gid))
			return &list->target[i];
	return NULL;
}

/* What must hold of every list of every fleet. */
static void
check_list(const struct fleet *f, const struct plan *plan, const struct plan_rnic *from)
{
	struct rp_api_pinglist list = list_of(plan, &from->gid);

	for (size_t t = 0; t < list.n_targets; t++) {
		const struct rp_api_target *target = &list.target[t];
		const struct plan_rnic *to = rnic_of(f, &target->gid);
		struct rp_api_pinglist back;

		if (!UT_TRUE(to != NULL))
			continue;
		UT_FALSE(rp_gid_equal(&to->gid, &from->gid));
		UT_FALSE(strcmp(to->host, from->host) == 0);
		UT_EQ(rp_gid_is_ipv4(&to->gid), rp_gid_is_ipv4(&from->gid));
		UT_EQ(target->type == RP_API_TOR_MESH, strcmp(to->tor, from->tor) == 0);
		UT_TRUE(from->rail[0] == '\0' || to->rail[0] == '\0' ||
			strcmp(from->rail, to->rail) == 0);
		UT_EQ_U(target->qpn, to->qpn);
		UT_TRUE(target->flow_label != 0);
		back = list_of(plan, &to->gid);
		UT_TRUE(has_source(&back, &from->gid));
		rp_api_pinglist_fini(&back);
		for (size_t u = 0; u < t; u++)
			UT_FALSE(rp_gid_equal(&list.target[u].gid, &target->gid));
	}
	rp_api_pinglist_fini(&list);
}

static void
plan__random_fleets__keep_the_invariants(void)
{
	struct rp_rng rng = ut_rng(1);

	for (int round = 0; round < 20; round++) {
		struct fleet f =
			make_fleet(1 + (int)rp_rng_below(&rng, 12), 1 + (int)rp_rng_below(&rng, 5),
				1 + (int)rp_rng_below(&rng, 3), rp_rng_below(&rng, 2));
		struct plan *plan = build(&f, NOW + (int64_t)rp_rng_below(&rng, 100000));

		for (size_t i = 0; i < f.n; i++)
			check_list(&f, plan, &f.rnic[i]);
		plan_free(plan);
		fleet_free(&f);
	}
}

/* Distinct ToRs other than @to's that probe @to, or with NULL any of @tor. */
static size_t
source_tors(
	const struct fleet *f, const struct plan *plan, const char *tor, const struct plan_rnic *to)
{
	const char *seen[64];
	size_t n = 0;

	for (size_t i = 0; i < f->n; i++) {
		struct rp_api_pinglist list;

		if (strcmp(f->rnic[i].tor, tor) != 0 || (to != NULL && to != &f->rnic[i]))
			continue;
		list = list_of(plan, &f->rnic[i].gid);
		for (size_t s = 0; s < list.n_sources; s++) {
			const char *name = rnic_of(f, &list.source[s])->tor;
			size_t k = 0;

			while (k < n && strcmp(seen[k], name) != 0)
				k++;
			if (k == n && n < RP_ARRAY_LEN(seen) && strcmp(name, tor) != 0)
				seen[n++] = name;
		}
		rp_api_pinglist_fini(&list);
	}
	return n;
}

static void
plan__every_tor__has_min_sources(void)
{
	static const struct {
		int tors, hosts;
	} shape[] = {{4, 1}, {10, 1}, {40, 1}, {12, 3}, {8, 8}};
	char tor[40];

	for (size_t s = 0; s < RP_ARRAY_LEN(shape); s++) {
		struct fleet f = make_fleet(shape[s].tors, shape[s].hosts, 1, false);
		struct plan *plan = build(&f, NOW);

		for (int t = 0; t < shape[s].tors; t++) {
			snprintf(tor, sizeof(tor), "tor-%d", t);
			UT_TRUE(source_tors(&f, plan, tor, NULL) >= defaults.min_sources);
		}
		/* Small ToRs have each RNIC covered. */
		for (size_t i = 0; i < f.n && shape[s].hosts < 4; i++)
			UT_TRUE(source_tors(&f, plan, f.rnic[i].tor, &f.rnic[i]) >=
				defaults.min_sources);
		plan_free(plan);
		fleet_free(&f);
	}
}

static void
mesh__tor_of_three_hosts__is_complete(void)
{
	struct fleet f = make_fleet(1, 3, 2, false);
	struct plan *plan = build(&f, NOW);

	for (size_t i = 0; i < f.n; i++) {
		struct rp_api_pinglist list = list_of(plan, &f.rnic[i].gid);

		UT_EQ(list.n_targets, 4);
		UT_EQ(list.n_sources, 4);
		rp_api_pinglist_fini(&list);
	}
	plan_free(plan);
	fleet_free(&f);
}

static void
slots__enough_tors__are_filled_with_distinct_ones(void)
{
	struct fleet f = make_fleet(30, 4, 1, false);
	struct plan_params params = defaults;
	struct plan *plan = NULL;

	params.min_sources = 0;
	UT_OK(plan_build(&params, f.rnic, f.n, NOW, &plan));
	for (size_t i = 0; i < f.n; i++) {
		struct rp_api_pinglist list = list_of(plan, &f.rnic[i].gid);
		size_t n = 0;

		for (size_t t = 0; t < list.n_targets; t++) {
			if (list.target[t].type != RP_API_INTER_TOR)
				continue;
			n++;
			for (size_t u = 0; u < t; u++)
				UT_FALSE(list.target[u].type == RP_API_INTER_TOR &&
					strcmp(list.target[u].tor_id, list.target[t].tor_id) == 0);
		}
		UT_EQ(n, 5);
		rp_api_pinglist_fini(&list);
	}
	plan_free(plan);
	fleet_free(&f);
}

static void
slots__fewer_tors_than_slots__take_all_of_them(void)
{
	struct fleet f = make_fleet(3, 1, 1, false);
	struct plan *plan = build(&f, NOW);
	struct rp_api_pinglist list = list_of(plan, &f.rnic[0].gid);

	UT_EQ(list.n_targets, 2);
	rp_api_pinglist_fini(&list);
	plan_free(plan);
	fleet_free(&f);
}

/* Edges of @a that are not in @b. */
static size_t
lost_edges(const struct fleet *f, const struct plan *a, const struct plan *b)
{
	size_t n = 0;

	for (size_t i = 0; i < f->n; i++) {
		struct rp_api_pinglist x = list_of(a, &f->rnic[i].gid);
		struct rp_api_pinglist y = list_of(b, &f->rnic[i].gid);

		for (size_t t = 0; t < x.n_targets; t++)
			n += target_of(&y, &x.target[t].gid) == NULL;
		rp_api_pinglist_fini(&x);
		rp_api_pinglist_fini(&y);
	}
	return n;
}

static void
plan__one_more_rnic__changes_only_what_it_must(void)
{
	struct fleet f = make_fleet(30, 4, 1, false);
	struct fleet fewer = {f.rnic, f.text, f.n - 1};
	struct plan *before = build(&fewer, NOW), *after = build(&f, NOW);
	size_t changed = lost_edges(&fewer, before, after);

	/* 119 RNICs, about 1100 edges: the new one draws some slots and pairs of its ToR. */
	UT_TRUE(changed <= 20);
	for (size_t i = 0; i < fewer.n; i++) {
		struct rp_api_pinglist list = list_of(after, &f.rnic[i].gid);
		char a[RP_API_ETAG_MAX], b[RP_API_ETAG_MAX];
		bool touched = target_of(&list, &f.rnic[f.n - 1].gid) != NULL ||
			has_source(&list, &f.rnic[f.n - 1].gid);

		plan_etag(before, plan_find(before, &f.rnic[i].gid), a);
		plan_etag(after, plan_find(after, &f.rnic[i].gid), b);
		if (touched)
			UT_TRUE(strcmp(a, b) != 0);
		rp_api_pinglist_fini(&list);
	}
	plan_free(before);
	plan_free(after);
	fleet_free(&f);
}

static void
plan__order_of_input__does_not_matter(void)
{
	struct fleet f = make_fleet(10, 3, 1, false);
	struct plan *a = build(&f, NOW), *b;
	char x[RP_API_ETAG_MAX], y[RP_API_ETAG_MAX];

	for (size_t i = 0; i < f.n / 2; i++) {
		struct plan_rnic swap = f.rnic[i];

		f.rnic[i] = f.rnic[f.n - 1 - i];
		f.rnic[f.n - 1 - i] = swap;
	}
	b = build(&f, NOW);
	for (size_t i = 0; i < f.n; i++) {
		plan_etag(a, plan_find(a, &f.rnic[i].gid), x);
		plan_etag(b, plan_find(b, &f.rnic[i].gid), y);
		UT_STR(x, y);
	}
	plan_free(a);
	plan_free(b);
	fleet_free(&f);
}

static void
rotation__one_period__moves_about_one_slot_of_five(void)
{
	struct fleet f = make_fleet(60, 4, 1, false);
	struct plan_params params = defaults;
	struct plan *a = NULL, *b = NULL, *same = NULL;
	size_t lost, slots = 5 * f.n;

	params.min_sources = 0;
	UT_OK(plan_build(&params, f.rnic, f.n, NOW, &a));
	UT_OK(plan_build(&params, f.rnic, f.n, NOW + params.rotation_sec, &b));
	UT_OK(plan_build(&params, f.rnic, f.n, plan_valid_until(a) - 1, &same));
	UT_EQ(lost_edges(&f, a, same), 0);
	lost = lost_edges(&f, a, b);
	UT_TRUE(lost >= slots / 5 * 9 / 10);
	UT_TRUE(lost <= slots / 5 * 13 / 10);
	plan_free(a);
	plan_free(b);
	plan_free(same);
	fleet_free(&f);
}

static void
rotation__the_fleet__does_not_turn_at_once(void)
{
	struct fleet f = make_fleet(60, 4, 1, false);
	struct plan *a = build(&f, NOW), *b = build(&f, NOW + defaults.rotation_sec / 10);
	size_t lost = lost_edges(&f, a, b);

	UT_TRUE(lost > 0);
	UT_TRUE(lost <= f.n / 4);
	plan_free(a);
	plan_free(b);
	fleet_free(&f);
}

static void
scope__link_local__stays_in_the_tor_mesh(void)
{
	struct fleet f = make_fleet(2, 2, 1, false);
	struct plan *plan;
	struct rp_api_pinglist list;

	for (size_t i = 0; i < f.n; i++) {
		char text[32];

		snprintf(text, sizeof(text), "fe80::%zu", i + 1);
		rp_gid_parse(text, &f.rnic[i].gid);
	}
	plan = build(&f, NOW);
	for (size_t i = 0; i < f.n; i++) {
		list = list_of(plan, &f.rnic[i].gid);
		UT_EQ(list.n_targets, 1);
		UT_EQ(list.target[0].type, RP_API_TOR_MESH);
		rp_api_pinglist_fini(&list);
	}
	plan_free(plan);
	fleet_free(&f);
}

static void
family__mixed_tor__is_two_meshes(void)
{
	struct fleet f = make_fleet(1, 4, 1, false);
	struct plan *plan;

	rp_gid_parse("fd00::1", &f.rnic[0].gid);
	rp_gid_parse("fd00::2", &f.rnic[1].gid);
	plan = build(&f, NOW);
	for (size_t i = 0; i < f.n; i++) {
		struct rp_api_pinglist list = list_of(plan, &f.rnic[i].gid);

		UT_EQ(list.n_targets, 1);
		rp_api_pinglist_fini(&list);
	}
	plan_free(plan);
	fleet_free(&f);
}

static void
rails__eight_per_host__never_mix(void)
{
	struct fleet f = make_fleet(3, 4, 8, true);
	struct plan *plan = build(&f, NOW);

	for (size_t i = 0; i < f.n; i++) {
		struct rp_api_pinglist list = list_of(plan, &f.rnic[i].gid);

		for (size_t t = 0; t < list.n_targets; t++)
			UT_STR(rnic_of(&f, &list.target[t].gid)->rail, f.rnic[i].rail);
		rp_api_pinglist_fini(&list);
	}
	plan_free(plan);
	fleet_free(&f);
}

static void
unspecified__many_rnics__are_sampled(void)
{
	struct fleet f = make_fleet(1, 100, 1, false);
	struct plan *plan;

	for (size_t i = 0; i < f.n; i++)
		f.rnic[i].tor = "unspecified";
	plan = build(&f, NOW);
	for (size_t i = 0; i < f.n; i++) {
		struct rp_api_pinglist list = list_of(plan, &f.rnic[i].gid);

		UT_EQ(list.n_targets, defaults.unspecified_max);
		rp_api_pinglist_fini(&list);
	}
	plan_free(plan);
	fleet_free(&f);
}

static void
etag__changed_qpn_of_a_target__changes(void)
{
	struct fleet f = make_fleet(1, 2, 1, false);
	struct plan *plan = build(&f, NOW);
	char a[RP_API_ETAG_MAX], b[RP_API_ETAG_MAX];

	plan_etag(plan, plan_find(plan, &f.rnic[0].gid), a);
	plan_free(plan);
	f.rnic[1].qpn++;
	plan = build(&f, NOW);
	plan_etag(plan, plan_find(plan, &f.rnic[0].gid), b);
	plan_free(plan);
	UT_TRUE(strcmp(a, b) != 0);
	fleet_free(&f);
}

static void
stamps__of_a_target__are_in_its_record_and_in_the_etag(void)
{
	struct fleet f = make_fleet(3, 2, 2, false);
	char before[RP_API_ETAG_MAX], after[RP_API_ETAG_MAX];
	struct plan *plan = build(&f, NOW);

	plan_etag(plan, plan_find(plan, &f.rnic[0].gid), before);
	plan_free(plan);
	for (size_t i = 0; i < f.n; i++)
		f.rnic[i].hw_stamps = i % 3 == 0;
	plan = build(&f, NOW);
	plan_etag(plan, plan_find(plan, &f.rnic[0].gid), after);
	UT_TRUE(strcmp(before, after) != 0);
	for (size_t i = 0; i < f.n; i++) {
		struct rp_api_pinglist list = list_of(plan, &f.rnic[i].gid);

		UT_TRUE(list.n_targets > 0);
		for (size_t k = 0; k < list.n_targets; k++)
			UT_EQ(list.target[k].hw_stamps,
				rnic_of(&f, &list.target[k].gid)->hw_stamps);
		rp_api_pinglist_fini(&list);
	}
	plan_free(plan);
	fleet_free(&f);
}

static void
plan__no_rnics__is_empty(void)
{
	struct fleet f = make_fleet(0, 0, 0, false);
	struct plan *plan = build(&f, NOW);
	struct rp_gid gid = {0};

	UT_TRUE(plan_find(plan, &gid) < 0);
	plan_free(plan);
	fleet_free(&f);
}

static double
seconds_to_build(const struct fleet *f)
{
	struct timespec a, b;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &a);
	plan_free(build(f, NOW));
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &b);
	return (double)(b.tv_sec - a.tv_sec) + (double)(b.tv_nsec - a.tv_nsec) * 1e-9;
}

static void
plan__ten_thousand_rnics__takes_seconds_at_most(void)
{
	struct fleet f = make_fleet(500, 20, 1, false), single = make_fleet(2000, 1, 1, false);
	double took = seconds_to_build(&f), took_single = seconds_to_build(&single);

	printf("500 ToRs of 20: %.3f s, 2000 ToRs of 1: %.3f s\n", took, took_single);
	UT_TRUE(took < 20);
	UT_TRUE(took_single < 20);
	fleet_free(&f);
	fleet_free(&single);
}

static const struct ut_test tests[] = {
	UT(plan__random_fleets__keep_the_invariants),
	UT(plan__every_tor__has_min_sources),
	UT(mesh__tor_of_three_hosts__is_complete),
	UT(slots__enough_tors__are_filled_with_distinct_ones),
	UT(slots__fewer_tors_than_slots__take_all_of_them),
	UT(plan__one_more_rnic__changes_only_what_it_must),
	UT(plan__order_of_input__does_not_matter),
	UT(rotation__one_period__moves_about_one_slot_of_five),
	UT(rotation__the_fleet__does_not_turn_at_once),
	UT(scope__link_local__stays_in_the_tor_mesh),
	UT(family__mixed_tor__is_two_meshes),
	UT(rails__eight_per_host__never_mix),
	UT(unspecified__many_rnics__are_sampled),
	UT(etag__changed_qpn_of_a_target__changes),
	UT(stamps__of_a_target__are_in_its_record_and_in_the_etag),
	UT(plan__no_rnics__is_empty),
	UT(plan__ten_thousand_rnics__takes_seconds_at_most),
};

UT_MAIN("plan", tests)
