/* SPDX-License-Identifier: BSD-3-Clause */

#include "windows.h"

#include <errno.h>
#include <stdio.h>

#include "ut.h"

static struct windows w;

static struct windows_end
end(const char *ip, const char *host, const char *tor)
{
	struct windows_end e = {.host = host, .tor = tor};

	rp_gid_parse(ip, &e.gid);
	return e;
}

static void
add(const char *source, const char *target, int64_t start_ms, uint64_t ok, uint64_t rtt_ns)
{
	struct windows_end from = end(source, "h1", "t1"), to = end(target, "h2", "t2");
	struct rp_api_row row = {.type = RP_API_INTER_TOR, .stamps = RP_STAMPS_HW};

	row.counts.state[RP_STATE_OK] = ok;
	for (uint64_t i = 0; i < ok; i++)
		rp_shist_add(&row.rtt, rtt_ns);
	UT_OK(windows_add(&w, &from, &to, start_ms, 10000, &row));
	rp_api_row_fini(&row);
}

static struct windows_path got;
static size_t n_got;

static int
note(const struct windows_path *path, void *arg RP_UNUSED)
{
	n_got++;
	rp_shist_fini(&got.rtt);
	got = *path;
	got.rtt = got.prober = got.responder = got.late = (struct rp_shist){0};
	return rp_shist_merge(&got.rtt, &path->rtt);
}

static void
visit(int64_t from_ms, int64_t to_ms)
{
	struct windows_query query = {.from_ms = from_ms, .to_ms = to_ms};

	n_got = 0;
	rp_shist_fini(&got.rtt);
	UT_OK(windows_visit(&w, &query, note, NULL));
}

static void
finish(void)
{
	rp_shist_fini(&got.rtt);
	windows_fini(&w);
}

static void
add__same_window_twice__merges(void)
{
	windows_init(&w, 10);
	add("10.0.0.1", "10.0.0.2", 1000, 5, 2000);
	add("10.0.0.1", "10.0.0.2", 1000, 7, 4000);
	visit(0, INT64_MAX);
	UT_EQ(n_got, 1);
	UT_EQ_U(got.n_windows, 1);
	UT_EQ_U(got.counts.state[RP_STATE_OK], 12);
	UT_EQ_U(got.rtt.sum.n, 12);
	UT_EQ_U(got.rtt.sum.min_ns, 2000);
	UT_EQ_U(got.rtt.sum.max_ns, 4000);
	UT_EQ(w.n_windows, 1);
	finish();
}

static void
add__any_order__keeps_the_newest(void)
{
	struct rp_rng rng = ut_rng(1);
	int64_t order[20];

	windows_init(&w, 5);
	for (int i = 0; i < 20; i++)
		order[i] = i;
	for (int i = 19; i > 0; i--) {
		int k = (int)rp_rng_below(&rng, (uint64_t)i + 1);
		int64_t swap = order[i];

		order[i] = order[k];
		order[k] = swap;
	}
	for (int i = 0; i < 20; i++)
		add("10.0.0.1", "10.0.0.2", 10000 * order[i], 1, 2000);
	visit(0, INT64_MAX);
	UT_EQ_U(got.n_windows, 5);
	UT_EQ(got.first_ms, 150000);
	UT_EQ(got.last_ms, 200000);
	UT_EQ(w.n_windows, 5);
	UT_EQ(windows_newest(&w, INT64_MAX), 190000);
	finish();
}

static void
visit__bounds__are_from_inclusive_to_exclusive(void)
{
	windows_init(&w, 10);
	for (int i = 0; i < 5; i++)
		add("10.0.0.1", "10.0.0.2", 1000 * i, 1, 2000);
	visit(1000, 3000);
	UT_EQ_U(got.n_windows, 2);
	visit(1001, 3001);
	UT_EQ_U(got.n_windows, 2);
	visit(5000, 9000);
	UT_EQ(n_got, 0);
	finish();
}

static void
visit__source_and_target__filter(void)
{
	struct windows_end a = end("10.0.0.1", "", ""), b = end("10.0.0.3", "", "");
	struct windows_query query = {.source = &a.gid, .to_ms = INT64_MAX};

	windows_init(&w, 10);
	add("10.0.0.1", "10.0.0.2", 0, 1, 2000);
	add("10.0.0.1", "10.0.0.3", 0, 1, 2000);
	add("10.0.0.2", "10.0.0.3", 0, 1, 2000);
	n_got = 0;
	UT_OK(windows_visit(&w, &query, note, NULL));
	UT_EQ(n_got, 2);
	rp_shist_fini(&got.rtt);
	query.target = &b.gid;
	n_got = 0;
	UT_OK(windows_visit(&w, &query, note, NULL));
	UT_EQ(n_got, 1);
	UT_STR(got.target.tor, "t2");
	finish();
}

static void
visit__hardware_and_software_stamps__stay_apart(void)
{
	struct windows_end from = end("10.0.0.1", "a", "t"), to = end("10.0.0.2", "b", "t");
	struct rp_api_row row = {.stamps = RP_STAMPS_SW};

	windows_init(&w, 10);
	add("10.0.0.1", "10.0.0.2", 0, 1, 2000);
	UT_OK(windows_add(&w, &from, &to, 0, 10000, &row));
	visit(0, INT64_MAX);
	UT_EQ(n_got, 2);
	finish();
}

static int
refuse(const struct windows_path *path RP_UNUSED, void *arg)
{
	(*(int *)arg)++;
	return -ECANCELED;
}

static void
visit__callback_refuses__stops(void)
{
	struct windows_query query = {.to_ms = INT64_MAX};
	int calls = 0;

	windows_init(&w, 10);
	add("10.0.0.1", "10.0.0.2", 0, 1, 2000);
	add("10.0.0.1", "10.0.0.3", 0, 1, 2000);
	UT_EQ(windows_visit(&w, &query, refuse, &calls), -ECANCELED);
	UT_EQ(calls, 1);
	finish();
}

static void
expire__old_windows_and_empty_paths__leave(void)
{
	windows_init(&w, 10);
	add("10.0.0.1", "10.0.0.2", 0, 1, 2000);
	add("10.0.0.1", "10.0.0.2", 1000, 1, 2000);
	add("10.0.0.1", "10.0.0.3", 0, 1, 2000);
	windows_expire(&w, 1000);
	UT_EQ(w.n_windows, 1);
	UT_EQ(w.paths.n, 1);
	visit(0, INT64_MAX);
	UT_EQ_U(got.n_windows, 1);
	windows_expire(&w, 5000);
	UT_EQ(w.paths.n, 0);
	finish();
}

static void
names__change_with_the_last_window(void)
{
	struct windows_end from = end("10.0.0.1", "new-host", "new-tor");
	struct windows_end to = end("10.0.0.2", "h2", "t2");
	struct rp_api_row row = {.type = RP_API_INTER_TOR, .stamps = RP_STAMPS_HW};

	windows_init(&w, 10);
	add("10.0.0.1", "10.0.0.2", 0, 1, 2000);
	UT_OK(windows_add(&w, &from, &to, 1000, 1000, &row));
	visit(0, INT64_MAX);
	UT_EQ(n_got, 1);
	UT_STR(got.source.host, "new-host");
	UT_STR(got.source.tor, "new-tor");
	rp_shist_fini(&got.rtt);
	finish();
}

static void
add_guess(bool source, bool target, int64_t start_ms)
{
	struct windows_end from =
		end("10.0.0.1", source ? "a" : "h1", source ? "unspecified" : "t1");
	struct windows_end to = end("10.0.0.2", target ? "" : "h2", target ? "unspecified" : "t2");
	struct rp_api_row row = {.type = RP_API_INTER_TOR, .stamps = RP_STAMPS_HW};

	from.guess = source;
	to.guess = target;
	UT_OK(windows_add(&w, &from, &to, start_ms, 1000, &row));
}

static void
names__guessed_ends__never_rename_a_path(void)
{
	for (int which = 1; which < 4; which++) {
		windows_init(&w, 10);
		add("10.0.0.1", "10.0.0.2", 0, 1, 2000);
		add_guess((which & 1) != 0, (which & 2) != 0, 1000);
		visit(0, INT64_MAX);
		UT_EQ(n_got, 1);
		UT_EQ_U(got.n_windows, 2);
		UT_STR(got.source.host, "h1");
		UT_STR(got.source.tor, "t1");
		UT_STR(got.target.host, "h2");
		UT_STR(got.target.tor, "t2");
		finish();
	}
}

static void
names__guessed_for_a_new_path__give_way_to_known_ones(void)
{
	windows_init(&w, 10);
	add_guess(true, true, 0);
	visit(0, INT64_MAX);
	UT_STR(got.source.tor, "unspecified");
	UT_STR(got.target.tor, "unspecified");
	add_guess(false, true, 1000);
	visit(0, INT64_MAX);
	UT_STR(got.source.tor, "t1");
	UT_STR(got.target.tor, "unspecified");
	add_guess(true, false, 2000);
	visit(0, INT64_MAX);
	UT_EQ(n_got, 1);
	UT_STR(got.source.tor, "t1");
	UT_STR(got.target.tor, "t2");
	finish();
}

static void
names__without_a_path__are_freed(void)
{
	char host[16], ip[24];

	windows_init(&w, 10);
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < 100; i++) {
			struct windows_end from, to = end("10.0.0.2", "h2", "t");
			struct rp_api_row row = {.stamps = RP_STAMPS_HW};

			snprintf(host, sizeof(host), "host-%d-%d", round, i);
			snprintf(ip, sizeof(ip), "10.0.1.%d", 1 + i);
			from = end(ip, host, "t");
			UT_OK(windows_add(&w, &from, &to, 1000 * (round + 1), 1000, &row));
		}
		/* A renamed path lets its old names go. */
		UT_EQ(w.names.n, 102);
	}
	windows_expire(&w, 3000);
	UT_EQ(w.names.n, 102);
	add("10.0.9.1", "10.0.0.2", 9000, 1, 2000);
	windows_expire(&w, 9000);
	UT_EQ(w.paths.n, 1);
	UT_EQ(w.names.n, 4);
	windows_expire(&w, 10000);
	UT_EQ(w.names.n, 0);
	finish();
}

static void
newest__windows_ahead__do_not_count(void)
{
	windows_init(&w, 10);
	UT_EQ(windows_newest(&w, INT64_MAX), 0);
	add("10.0.0.1", "10.0.0.2", 1000, 1, 2000);
	add("10.0.0.1", "10.0.0.2", 9000, 1, 2000);
	add("10.0.0.1", "10.0.0.3", 2000, 1, 2000);
	add("10.0.0.1", "10.0.0.4", 8000, 1, 2000);
	UT_EQ(windows_newest(&w, 999), 0);
	UT_EQ(windows_newest(&w, 1000), 1000);
	UT_EQ(windows_newest(&w, 7999), 2000);
	UT_EQ(windows_newest(&w, 8000), 8000);
	UT_EQ(windows_newest(&w, 9000), 9000);
	finish();
}

static const struct ut_test tests[] = {
	UT(add__same_window_twice__merges),
	UT(add__any_order__keeps_the_newest),
	UT(visit__bounds__are_from_inclusive_to_exclusive),
	UT(visit__source_and_target__filter),
	UT(visit__hardware_and_software_stamps__stay_apart),
	UT(visit__callback_refuses__stops),
	UT(expire__old_windows_and_empty_paths__leave),
	UT(names__change_with_the_last_window),
	UT(names__guessed_ends__never_rename_a_path),
	UT(names__guessed_for_a_new_path__give_way_to_known_ones),
	UT(names__without_a_path__are_freed),
	UT(newest__windows_ahead__do_not_count),
};

UT_MAIN("windows", tests)
