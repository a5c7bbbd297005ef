/* SPDX-License-Identifier: BSD-3-Clause */

#include "store.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <sqlite3.h>
#include <stdio.h>
#include <unistd.h>

#include "ut.h"

#define MINUTE INT64_C(1700000040000) /* a whole minute */

static char dir[64], path[96];
static char why[STORE_WHY_MAX];
static sem_t done;
static int last_rc;
static bool last_duplicate;

static struct store *
open_store(void)
{
	struct store *store = NULL;

	if (!UT_OK(store_open(path, &store, why)))
		printf("%s\n", why);
	return store;
}

static void
setup(void)
{
	snprintf(dir, sizeof(dir), "/tmp/rpingmesh-ut-XXXXXX");
	if (mkdtemp(dir) == NULL)
		abort();
	snprintf(path, sizeof(path), "%s/c.db", dir);
	sem_init(&done, 0, 0);
}

static void
teardown(void)
{
	static const char *const suffix[] = {"", "-wal", "-shm", ".lock"};
	char name[128];

	for (size_t i = 0; i < RP_ARRAY_LEN(suffix); i++) {
		snprintf(name, sizeof(name), "%s%s", path, suffix[i]);
		unlink(name);
	}
	rmdir(dir);
	sem_destroy(&done);
}

static void
on_done(struct store_job *job, int rc, void *arg RP_UNUSED)
{
	last_rc = rc;
	last_duplicate = job->duplicate;
	sem_post(&done);
}

static int
run(struct store *store, struct store_job *job)
{
	job->done = on_done;
	UT_OK(store_submit(store, job));
	sem_wait(&done);
	return last_rc;
}

static struct store_job *
agent_job(const char *id, const char *boot, uint64_t seq, const char *ip)
{
	struct store_job *job = store_job_new(STORE_SAVE_AGENT);

	snprintf(job->agent_id, sizeof(job->agent_id), "%s", id);
	snprintf(job->set.boot_id, sizeof(job->set.boot_id), "%s", boot);
	snprintf(job->old_boot[0], sizeof(job->old_boot[0]), "older");
	snprintf(job->old_boot[1], sizeof(job->old_boot[1]), "oldest");
	snprintf(job->set.hostname, sizeof(job->set.hostname), "host \"quoted\" \xC3\xA9");
	snprintf(job->set.tor_id, sizeof(job->set.tor_id), "t1");
	job->set.set_seq = seq;
	job->now_ms = 1700000000123;
	job->set.rnic = calloc(1, sizeof(*job->set.rnic));
	job->set.n_rnics = 1;
	rp_gid_parse(ip, &job->set.rnic->gid);
	job->set.rnic->qpn = 17;
	job->set.rnic->qkey = 0x7FFFFFFF;
	job->set.rnic->generation = UINT32_MAX;
	job->set.rnic->up = true;
	job->set.rnic->hw_stamps = true;
	job->set.rnic->speed_gbps = 0.1;
	snprintf(job->set.rnic->device, sizeof(job->set.rnic->device), "d'0");
	snprintf(job->set.rnic->rail, sizeof(job->set.rnic->rail), "r");
	return job;
}

static struct store_job *
report_job(uint64_t seq, int64_t start_ms, uint64_t ok, uint64_t rtt_ns)
{
	struct store_job *job = store_job_new(STORE_REPORT);
	struct rp_api_report *r = &job->report;

	snprintf(r->agent_id, sizeof(r->agent_id), "a");
	snprintf(r->boot_id, sizeof(r->boot_id), "b");
	r->report_seq = seq;
	r->parts = 1;
	rp_gid_parse("10.0.0.1", &r->gid);
	r->window_start_ms = start_ms;
	r->window_ms = 10000;
	r->peer = calloc(1, sizeof(*r->peer));
	r->n_peers = 1;
	rp_gid_parse("10.0.0.2", &r->peer[0].gid);
	r->row = calloc(1, sizeof(*r->row));
	r->n_rows = 1;
	r->row[0].stamps = RP_STAMPS_HW;
	r->row[0].counts.state[RP_STATE_OK] = ok;
	rp_shist_add(&r->row[0].rtt, rtt_ns);
	return job;
}

struct seen {
	size_t rows;
	uint64_t ok, n;
	int64_t minute_ms;
	uint64_t min_ns, max_ns;
};

static int
see(int64_t minute_ms, const struct rp_gid *source RP_UNUSED, const struct rp_gid *target RP_UNUSED,
	struct rp_api_row *row, void *arg)
{
	struct seen *seen = arg;

	seen->rows++;
	seen->minute_ms = minute_ms;
	seen->ok += row->counts.state[RP_STATE_OK];
	seen->n += row->rtt.sum.n;
	seen->min_ns = row->rtt.sum.min_ns;
	seen->max_ns = row->rtt.sum.max_ns;
	rp_api_row_fini(row);
	return 0;
}

static struct seen
load_rows(void)
{
	struct store *store = open_store();
	struct seen seen = {0};

	UT_OK(store_load_rollups(store, 0, see, &seen));
	store_close(store);
	return seen;
}

static int64_t
ask(const char *query)
{
	sqlite3_stmt *stmt;
	int64_t value = -1;
	sqlite3 *db;

	sqlite3_open(path, &db);
	if (sqlite3_prepare_v2(db, query, -1, &stmt, NULL) == SQLITE_OK &&
		sqlite3_step(stmt) == SQLITE_ROW)
		value = sqlite3_column_int64(stmt, 0);
	sqlite3_finalize(stmt);
	sqlite3_close(db);
	return value;
}

static void
execute(const char *statement)
{
	sqlite3 *db;
	char *err = NULL;

	sqlite3_open(path, &db);
	sqlite3_busy_timeout(db, 5000);
	if (sqlite3_exec(db, statement, NULL, NULL, &err) != SQLITE_OK)
		UT_STR(err, "");
	sqlite3_close(db);
}

static void
agent__saved_and_loaded__is_the_same(void)
{
	struct registry reg;
	struct registry_agent *a;
	struct store *store;

	setup();
	store = open_store();
	UT_OK(store_start(store));
	UT_OK(run(store, agent_job("a", "b1", 7, "fd00::1")));
	store_close(store);

	registry_init(&reg, 1000, 2000);
	store = open_store();
	UT_OK(store_load_registry(store, &reg));
	store_close(store);
	a = registry_find(&reg, "a");
	UT_TRUE(a != NULL);
	if (a != NULL) {
		struct store_job *want = agent_job("a", "b1", 7, "fd00::1");

		UT_STR(a->set.boot_id, "b1");
		UT_STR(a->old_boot[0], "older");
		UT_STR(a->old_boot[1], "oldest");
		UT_STR(a->set.hostname, want->set.hostname);
		UT_EQ_U(a->set.set_seq, 7);
		UT_EQ(a->last_seen_ms, 1700000000123);
		UT_EQ(a->set.n_rnics, 1);
		UT_MEM(a->set.rnic, want->set.rnic, sizeof(*want->set.rnic));
		store_job_free(want);
	}
	registry_fini(&reg);
	teardown();
}

static void
agent__older_set_of_a_boot__does_not_overwrite(void)
{
	struct store *store;

	setup();
	store = open_store();
	UT_OK(store_start(store));
	UT_OK(run(store, agent_job("a", "b1", 7, "10.0.0.7")));
	UT_OK(run(store, agent_job("a", "b1", 6, "10.0.0.6")));
	UT_EQ(ask("SELECT set_seq FROM agents"), 7);
	UT_EQ(ask("SELECT count(*) FROM rnics WHERE gid = '::ffff:10.0.0.7'"), 1);
	UT_OK(run(store, agent_job("a", "b2", 1, "10.0.0.1")));
	UT_EQ(ask("SELECT set_seq FROM agents"), 1);
	UT_EQ(ask("SELECT count(*) FROM rnics"), 1);
	store_close(store);
	teardown();
}

static void
agent__deleted__leaves_with_its_rnics(void)
{
	struct store_job *job;
	struct store *store;

	setup();
	store = open_store();
	UT_OK(store_start(store));
	UT_OK(run(store, agent_job("a", "b1", 1, "10.0.0.1")));
	UT_OK(run(store, agent_job("b", "b1", 1, "10.0.0.2")));
	job = store_job_new(STORE_DELETE_AGENT);
	snprintf(job->agent_id, sizeof(job->agent_id), "a");
	UT_OK(run(store, job));
	UT_EQ(ask("SELECT count(*) FROM agents"), 1);
	UT_EQ(ask("SELECT count(*) FROM rnics"), 1);
	store_close(store);
	teardown();
}

static void
touch__many_agents__in_one_statement(void)
{
	struct store_job *job;
	struct store *store;

	setup();
	store = open_store();
	UT_OK(store_start(store));
	UT_OK(run(store, agent_job("a", "b1", 1, "10.0.0.1")));
	UT_OK(run(store, agent_job("b", "b1", 1, "10.0.0.2")));
	job = store_job_new(STORE_TOUCH);
	job->json = strdup("[[\"a\",5],[\"nobody\",6]]");
	UT_OK(run(store, job));
	UT_EQ(ask("SELECT last_seen_ms FROM agents WHERE agent_id = 'a'"), 5);
	UT_EQ(ask("SELECT last_seen_ms FROM agents WHERE agent_id = 'b'"), 1700000000123);
	store_close(store);
	teardown();
}

static void
report__repeated__adds_once(void)
{
	struct store *store;
	struct seen seen;

	setup();
	store = open_store();
	UT_OK(store_start(store));
	UT_OK(run(store, report_job(1, MINUTE, 10, 2000)));
	UT_FALSE(last_duplicate);
	UT_OK(run(store, report_job(1, MINUTE, 10, 2000)));
	UT_TRUE(last_duplicate);
	store_close(store);
	seen = load_rows();
	UT_EQ(seen.rows, 1);
	UT_EQ_U(seen.ok, 10);
	teardown();
}

static void
report__windows_of_one_minute__merge_over_restarts(void)
{
	struct store *store;
	struct seen seen;

	setup();
	for (uint64_t i = 0; i < 6; i++) {
		store = open_store();
		UT_OK(store_start(store));
		UT_OK(run(store, report_job(i, MINUTE + (int64_t)i * 10000, 10, 2000 + i)));
		store_close(store);
	}
	seen = load_rows();
	UT_EQ(seen.rows, 1);
	UT_EQ(seen.minute_ms, MINUTE);
	UT_EQ_U(seen.ok, 60);
	UT_EQ_U(seen.n, 6);
	UT_EQ_U(seen.min_ns, 2000);
	UT_EQ_U(seen.max_ns, 2005);
	teardown();
}

static void
report__many_minutes__have_a_row_each(void)
{
	struct store *store;

	setup();
	store = open_store();
	UT_OK(store_start(store));
	for (uint64_t i = 0; i < 20; i++)
		UT_OK(run(store, report_job(i, MINUTE + (int64_t)i * 60000, 1, 2000)));
	store_close(store);
	UT_EQ(load_rows().rows, 20);
	teardown();
}

static void
report__batch__is_one_commit(void)
{
	struct store_counters before, after;
	struct store *store;

	setup();
	store = open_store();
	for (uint64_t i = 0; i < 100; i++) {
		struct store_job *job = report_job(i, MINUTE, 1, 2000);

		job->done = on_done;
		UT_OK(store_submit(store, job));
	}
	store_counters(store, &before);
	UT_EQ_U(before.queued, 100);
	UT_OK(store_start(store));
	for (int i = 0; i < 100; i++)
		sem_wait(&done);
	store_counters(store, &after);
	UT_EQ_U(after.commits, 1);
	UT_EQ_U(after.queued, 0);
	store_close(store);
	UT_EQ_U(load_rows().ok, 100);
	teardown();
}

static void
queue__full__is_refused(void)
{
	struct store_job *job;
	struct store *store;

	setup();
	store = open_store();
	for (uint32_t i = 0; i < STORE_QUEUE_MAX; i++)
		if (store_submit(store, store_job_new(STORE_EXPIRE)) != 0)
			UT_EQ(i, -1);
	job = store_job_new(STORE_EXPIRE);
	UT_EQ(store_submit(store, job), -EAGAIN);
	store_job_free(job);
	store_close(store);
	teardown();
}

static void
failure__report_is_given_back_and_not_counted_twice_later(void)
{
	struct store_counters counters;
	struct store *store;

	setup();
	store = open_store();
	UT_OK(store_start(store));
	UT_OK(run(store, report_job(1, MINUTE, 10, 2000)));
	execute("CREATE TRIGGER t BEFORE INSERT ON path_rollup_1m "
		"BEGIN SELECT RAISE(FAIL, 'no'); END");
	UT_EQ(run(store, report_job(2, MINUTE, 10, 2000)), -EIO);
	store_counters(store, &counters);
	UT_FALSE(counters.up);
	UT_TRUE(counters.failures > 0);
	execute("DROP TRIGGER t");
	UT_OK(run(store, report_job(2, MINUTE, 10, 2000)));
	UT_FALSE(last_duplicate);
	store_counters(store, &counters);
	UT_TRUE(counters.up);
	store_close(store);
	UT_EQ_U(load_rows().ok, 20);
	teardown();
}

static void
failure__agent_is_kept_and_the_newest_written_later(void)
{
	struct store_counters counters;
	struct store *store;

	setup();
	store = open_store();
	UT_OK(store_start(store));
	execute("CREATE TRIGGER t BEFORE INSERT ON agents BEGIN SELECT RAISE(FAIL, 'no'); END");
	UT_EQ(run(store, agent_job("a", "b1", 1, "10.0.0.1")), -EIO);
	UT_EQ(run(store, agent_job("a", "b1", 2, "10.0.0.2")), -EIO);
	store_counters(store, &counters);
	UT_EQ_U(counters.unsaved, 1);
	execute("DROP TRIGGER t");
	for (int i = 0; i < 50 && counters.unsaved > 0; i++) {
		usleep(100000);
		store_counters(store, &counters);
	}
	UT_EQ_U(counters.unsaved, 0);
	UT_EQ(ask("SELECT set_seq FROM agents"), 2);
	store_close(store);
	teardown();
}

static void
failure__one_bad_job__does_not_take_the_others_along(void)
{
	struct store_job *bad;
	struct store *store;

	setup();
	store = open_store();
	bad = store_job_new(STORE_TOUCH);
	bad->json = strdup("not json");
	bad->done = on_done;
	UT_OK(store_submit(store, bad));
	for (uint64_t i = 0; i < 3; i++) {
		struct store_job *job = report_job(i, MINUTE, 1, 2000);

		job->done = on_done;
		UT_OK(store_submit(store, job));
	}
	UT_OK(store_start(store));
	for (int i = 0; i < 4; i++)
		sem_wait(&done);
	store_close(store);
	UT_EQ_U(load_rows().ok, 3);
	teardown();
}

static struct store_job *
delete_job(const char *id)
{
	struct store_job *job = store_job_new(STORE_DELETE_AGENT);

	snprintf(job->agent_id, sizeof(job->agent_id), "%s", id);
	return job;
}

static uint64_t
unsaved(struct store *store, uint64_t until)
{
	struct store_counters counters;

	store_counters(store, &counters);
	for (int i = 0; i < 50 && counters.unsaved > until; i++) {
		usleep(100000);
		store_counters(store, &counters);
	}
	return counters.unsaved;
}

/* Each order of two jobs of one agent, of which only the second can be written. */
static void
failure__older_job_of_an_agent__never_undoes_a_newer_one(void)
{
	struct store *store;

	setup();
	store = open_store();
	UT_OK(store_start(store));
	UT_OK(run(store, agent_job("a", "b1", 1, "10.0.0.1")));
	execute("CREATE TRIGGER t BEFORE DELETE ON agents BEGIN SELECT RAISE(FAIL, 'no'); END");
	UT_EQ(run(store, delete_job("a")), -EIO);
	UT_OK(run(store, agent_job("a", "b2", 1, "10.0.0.1")));
	UT_EQ_U(unsaved(store, 0), 0);
	execute("DROP TRIGGER t");
	sleep(2);
	UT_EQ(ask("SELECT count(*) FROM agents WHERE boot_id = 'b2'"), 1);
	UT_EQ(ask("SELECT count(*) FROM rnics"), 1);

	execute("CREATE TRIGGER t BEFORE INSERT ON agents BEGIN SELECT RAISE(FAIL, 'no'); END");
	UT_EQ(run(store, agent_job("a", "b3", 1, "10.0.0.1")), -EIO);
	UT_OK(run(store, delete_job("a")));
	UT_EQ_U(unsaved(store, 0), 0);
	execute("DROP TRIGGER t");
	store_close(store);
	UT_EQ(ask("SELECT count(*) FROM agents"), 0);
	teardown();
}

/* The same in one batch. */
static void
failure__jobs_of_an_agent_in_one_batch__the_last_written_counts(void)
{
	struct store_job *job[2];
	struct store *store;

	for (int order = 0; order < 2; order++) {
		setup();
		store = open_store();
		execute(order == 0
				? "CREATE TRIGGER t BEFORE INSERT ON agents WHEN new.boot_id = 'b2' "
				  "BEGIN SELECT RAISE(FAIL, 'no'); END"
				: "CREATE TRIGGER t BEFORE DELETE ON agents "
				  "BEGIN SELECT RAISE(FAIL, 'no'); END");
		job[order] = agent_job("a", "b2", 1, "10.0.0.1");
		job[1 - order] = delete_job("a");
		UT_OK(store_submit(store, agent_job("a", "b1", 1, "10.0.0.1")));
		for (int i = 0; i < 2; i++) {
			job[i]->done = on_done;
			UT_OK(store_submit(store, job[i]));
		}
		UT_OK(store_start(store));
		sem_wait(&done);
		sem_wait(&done);
		UT_EQ_U(unsaved(store, 0), 0);
		execute("DROP TRIGGER t");
		store_close(store);
		UT_EQ(ask("SELECT count(*) FROM agents"), order == 0 ? 0 : 1);
		teardown();
	}
}

static void
failure__job_that_can_never_be_written__holds_up_nobody(void)
{
	struct store_counters before, after;
	struct store *store;

	setup();
	store = open_store();
	UT_OK(store_start(store));
	execute("CREATE TRIGGER t BEFORE INSERT ON agents BEGIN SELECT RAISE(FAIL, 'no'); END");
	UT_EQ(run(store, agent_job("bad", "b1", 1, "10.0.0.1")), -EIO);
	UT_EQ(run(store, agent_job("c", "b1", 1, "10.0.0.3")), -EIO);
	UT_EQ(run(store, agent_job("d", "b1", 1, "10.0.0.4")), -EIO);
	UT_EQ_U(unsaved(store, 3), 3);
	execute("DROP TRIGGER t;"
		"CREATE TRIGGER t BEFORE INSERT ON agents WHEN new.agent_id = 'bad' "
		"BEGIN SELECT RAISE(FAIL, 'no'); END");
	UT_EQ_U(unsaved(store, 1), 1);
	UT_EQ(ask("SELECT count(*) FROM agents WHERE agent_id IN ('c', 'd')"), 2);

	/* Reports still share their commits, and the store is called what it is. */
	store_counters(store, &before);
	for (uint64_t i = 0; i < 500; i++) {
		struct store_job *job = report_job(i, MINUTE, 1, 2000);

		job->done = on_done;
		UT_OK(store_submit(store, job));
	}
	for (int i = 0; i < 500; i++)
		sem_wait(&done);
	store_counters(store, &after);
	UT_TRUE(after.commits - before.commits < 250);
	UT_TRUE(after.up);
	sleep(2);
	store_counters(store, &after);
	UT_TRUE(after.up);
	UT_EQ_U(after.unsaved, 1);
	store_close(store);
	UT_EQ_U(load_rows().ok, 500);
	teardown();
}

static void
expire__old_rows_and_ledger__leave(void)
{
	struct store_job *job;
	struct store *store;

	setup();
	store = open_store();
	UT_OK(store_start(store));
	for (uint64_t i = 0; i < 3; i++) {
		job = report_job(i, MINUTE + (int64_t)i * 60000, 1, 2000);
		job->now_ms = 1000 * (int64_t)i;
		UT_OK(run(store, job));
	}
	job = store_job_new(STORE_EXPIRE);
	job->ledger_before_ms = 2000;
	job->rollup_before_ms = MINUTE + 60000;
	UT_OK(run(store, job));
	UT_EQ(ask("SELECT count(*) FROM report_ledger"), 1);
	UT_EQ(ask("SELECT count(*) FROM path_rollup_1m"), 2);
	store_close(store);
	teardown();
}

/* A stored row as another release wrote it: what is in its minute, and after it. */
static void
check_stored(const char *text, uint64_t want_ok, uint64_t want_skipped)
{
	struct store_counters counters;
	struct seen seen = {0};
	struct store *store;
	char statement[512];

	setup();
	store = open_store();
	UT_OK(store_start(store));
	UT_OK(run(store, report_job(1, MINUTE, 10, 2000)));
	store_close(store);
	snprintf(statement, sizeof(statement), "UPDATE path_rollup_1m SET row = '%s'", text);
	execute(statement);

	store = open_store();
	UT_OK(store_load_rollups(store, 0, see, &seen));
	UT_EQ(seen.rows, want_skipped == 0 ? 1 : 0);
	UT_OK(store_start(store));
	UT_OK(run(store, report_job(2, MINUTE + 10000, 7, 2000)));
	UT_FALSE(last_duplicate);
	UT_OK(run(store, report_job(3, MINUTE + 60000, 7, 2000)));
	store_counters(store, &counters);
	UT_EQ_U(counters.rows_skipped, want_skipped);
	UT_TRUE(counters.up);
	store_close(store);
	seen = load_rows();
	UT_EQ(seen.rows, 2);
	UT_EQ_U(seen.ok, want_ok);
	teardown();
}

static void
rows__of_an_older_release__go_on_counting(void)
{
	check_stored("[0,0,1,100,0,0,0,0,0,0,0,[],[],[],[]]", 114, 0);
	check_stored("[0,0,1,100,0,0,0,0,0,0,0,1,2,3,4,[],[],[],[]]", 114, 0);
	check_stored("{\"v\":1,\"type\":0,\"stamps\":1,\"states\":[100],\"extras\":[],"
		     "\"hists\":[]}",
		114, 0);
}

/* Left out when loaded, and again when a report of its minute comes. */
static void
rows__that_cannot_be_read__block_no_report(void)
{
	check_stored("{\"v\":2,\"all\":\"new\"}", 14, 2);
	check_stored("[0,0,1]", 14, 2);
	check_stored("rubbish", 14, 2);
	check_stored("", 14, 2);
}

static void
open__second_time__is_busy_and_names_the_holder(void)
{
	struct store *store, *second = NULL;
	char pid[16];

	setup();
	store = open_store();
	UT_EQ(store_open(path, &second, why), -EBUSY);
	snprintf(pid, sizeof(pid), "pid %d", (int)getpid());
	UT_HAS(why, pid);
	store_close(store);
	teardown();
}

static void
open__newer_schema__is_refused(void)
{
	struct store *store;

	setup();
	store_close(open_store());
	execute("INSERT INTO schema_version VALUES (2)");
	UT_EQ(store_open(path, &store, why), -EPROTO);
	UT_HAS(why, "version 2");
	teardown();
}

static void
open__not_a_database__is_an_io_error(void)
{
	struct store *store;
	FILE *f;

	setup();
	f = fopen(path, "w");
	for (int i = 0; i < 200; i++)
		fputs("this is no database, it is a text\n", f);
	fclose(f);
	UT_EQ(store_open(path, &store, why), -EIO);
	UT_HAS(why, path);
	teardown();
}

static const struct ut_test tests[] = {
	UT(agent__saved_and_loaded__is_the_same),
	UT(agent__older_set_of_a_boot__does_not_overwrite),
	UT(agent__deleted__leaves_with_its_rnics),
	UT(touch__many_agents__in_one_statement),
	UT(report__repeated__adds_once),
	UT(report__windows_of_one_minute__merge_over_restarts),
	UT(report__many_minutes__have_a_row_each),
	UT(report__batch__is_one_commit),
	UT(queue__full__is_refused),
	UT(failure__report_is_given_back_and_not_counted_twice_later),
	UT(failure__agent_is_kept_and_the_newest_written_later),
	UT(failure__one_bad_job__does_not_take_the_others_along),
	UT(failure__older_job_of_an_agent__never_undoes_a_newer_one),
	UT(failure__jobs_of_an_agent_in_one_batch__the_last_written_counts),
	UT(failure__job_that_can_never_be_written__holds_up_nobody),
	UT(expire__old_rows_and_ledger__leave),
	UT(rows__of_an_older_release__go_on_counting),
	UT(rows__that_cannot_be_read__block_no_report),
	UT(open__second_time__is_busy_and_names_the_holder),
	UT(open__newer_schema__is_refused),
	UT(open__not_a_database__is_an_io_error),
};

UT_MAIN("store", tests)
