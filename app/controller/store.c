/* SPDX-License-Identifier: BSD-3-Clause */

#include "store.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "rollup.h"
#include "rp_log.h"
#include "rp_text.h"
#include "sql.h"

#define RP_LOG_COMPONENT "store"

#define BATCH_MAX 1000u
#define RETRY_SEC 1
#define SEC_NS    INT64_C(1000000000)

STAILQ_HEAD(job_list, store_job);

struct store {
	struct sql sql;
	struct rollup_cache rollups;
	int lock_fd;
	char path[1024];
	dev_t dev; /* of the file that was opened */
	ino_t ino;
	pthread_t writer;
	bool running;
	pthread_mutex_t mutex; /* queue, n_queued, stopping */
	pthread_cond_t wake;
	struct job_list queue;
	uint32_t n_queued;
	bool stopping;
	struct job_list unsaved; /* writer only: done() was called; one per agent at most */
	int64_t retry_ns;        /* writer only: next attempt for them */
	bool begun;              /* writer only: the last commit() got its transaction */
	_Atomic uint32_t n_unsaved;
	_Atomic bool up;
	_Atomic uint64_t commits, failures, commit_ns;
};

static int64_t
monotonic_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * SEC_NS + now.tv_nsec;
}

struct store_job *
store_job_new(enum store_kind kind)
{
	struct store_job *job = calloc(1, sizeof(*job));

	if (job != NULL)
		job->kind = kind;
	return job;
}

void
store_job_free(struct store_job *job)
{
	if (job == NULL)
		return;
	rp_api_register_fini(&job->set);
	rp_api_report_fini(&job->report);
	free(job->json);
	free(job);
}

/* One process per file: SQLite would allow two, and each would believe its memory. */
static int
take_lock(const char *path, int *ret_fd, char *why)
{
	char lock_path[1024], holder[32] = "?";
	ssize_t n;
	int fd;

	snprintf(lock_path, sizeof(lock_path), "%s.lock", path);
	fd = open(lock_path, O_RDWR | O_CREAT | O_CLOEXEC, 0640);
	if (fd < 0) {
		snprintf(why, STORE_WHY_MAX, "store %.400s: cannot open %.400s: %s (%s)", path,
			lock_path, strerror(errno),
			errno == ENOENT || errno == ENOTDIR
				? "create the directory, or set store"
				: "make its directory writable, or set store");
		return -EIO;
	}
	if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
		n = read(fd, holder, sizeof(holder) - 1);
		if (n > 0)
			holder[strcspn(holder, "\n")] = '\0';
		snprintf(why, STORE_WHY_MAX,
			"store %.400s: in use by another rpingmesh-controller (pid %s): stop it, or "
			"set another store",
			path, holder);
		close(fd);
		return -EBUSY;
	}
	if (ftruncate(fd, 0) != 0 || dprintf(fd, "%d\n", (int)getpid()) < 0)
		rp_warn("%s: %s", lock_path, strerror(errno));
	*ret_fd = fd;
	return 0;
}

/* -wal and -shm go by the path: without the file there they are worth nothing. */
static bool
is_in_place(const struct store *store)
{
	struct stat st;

	return stat(store->path, &st) == 0 && st.st_dev == store->dev && st.st_ino == store->ino;
}

static int
open_file(struct store *store, const char *path, char *why)
{
	char cause[256] = "";
	struct stat st = {0};
	int rc;

	if (stat(path, &st) == 0 && !S_ISREG(st.st_mode)) {
		snprintf(why, STORE_WHY_MAX,
			"store %.400s: not a regular file: set store to sqlite:FILE", path);
		return -EIO;
	}
	rc = sql_open(path, &store->sql, cause);
	if (rc == 0 && stat(path, &st) != 0) {
		snprintf(cause, sizeof(cause), "%s", strerror(errno));
		sql_close(&store->sql);
		rc = -EIO;
	}
	if (rc != 0) {
		snprintf(why, STORE_WHY_MAX, "store %.400s: %s", path, cause);
		return rc;
	}
	snprintf(store->path, sizeof(store->path), "%s", path);
	store->dev = st.st_dev;
	store->ino = st.st_ino;
	return 0;
}

int
store_open(const char *path, struct store **ret_store, char *why)
{
	struct store *store = calloc(1, sizeof(*store));
	int rc;

	if (store == NULL) {
		snprintf(why, STORE_WHY_MAX, "store: out of memory");
		return -ENOMEM;
	}
	rc = take_lock(path, &store->lock_fd, why);
	if (rc != 0) {
		free(store);
		return rc;
	}
	rc = open_file(store, path, why);
	if (rc != 0) {
		close(store->lock_fd);
		free(store);
		return rc;
	}
	pthread_mutex_init(&store->mutex, NULL);
	pthread_cond_init(&store->wake, NULL);
	STAILQ_INIT(&store->queue);
	STAILQ_INIT(&store->unsaved);
	atomic_store(&store->up, true);
	*ret_store = store;
	return 0;
}

static void
get_text(struct store *store, enum sql_id id, int column, char *to, size_t cap)
{
	snprintf(to, cap, "%s", sql_text(&store->sql, id, column));
}

static void
load_rnic(struct store *store, struct rp_api_rnic *r)
{
	const enum sql_id id = SQL_RNIC_LIST;
	struct sql *sql = &store->sql;

	rp_gid_parse(sql_text(sql, id, 0), &r->gid);
	r->qpn = (uint32_t)sql_int(sql, id, 1);
	r->qkey = (uint32_t)sql_int(sql, id, 2);
	r->generation = (uint32_t)sql_int(sql, id, 3);
	get_text(store, id, 4, r->device, sizeof(r->device));
	get_text(store, id, 5, r->driver, sizeof(r->driver));
	get_text(store, id, 6, r->tor_id, sizeof(r->tor_id));
	get_text(store, id, 7, r->rail, sizeof(r->rail));
	r->hw_stamps = sql_int(sql, id, 8) != 0;
	r->up = sql_int(sql, id, 9) != 0;
	r->speed_gbps = sql_double(sql, id, 10);
}

static int
load_rnics(struct store *store, const char *agent_id, struct rp_api_register *set)
{
	int rc;

	set->rnic = calloc(RP_API_RNICS_MAX, sizeof(*set->rnic));
	if (set->rnic == NULL)
		return -ENOMEM;
	rc = sql_query(&store->sql, SQL_RNIC_LIST, "s", agent_id);
	while (rc == 0 && (rc = sql_step(&store->sql, SQL_RNIC_LIST)) == 1) {
		if (set->n_rnics < RP_API_RNICS_MAX)
			load_rnic(store, &set->rnic[set->n_rnics++]);
		rc = 0;
	}
	return rc;
}

static void
split_boots(const char *text, char (*old_boot)[RP_API_UUID_MAX])
{
	for (size_t i = 0; i < REGISTRY_OLD_BOOTS && *text != '\0'; i++) {
		size_t len = strcspn(text, " ");

		snprintf(old_boot[i], RP_API_UUID_MAX, "%.*s", (int)len, text);
		text += len;
		text += strspn(text, " ");
	}
}

static int
load_agent(struct store *store, struct registry *reg)
{
	const enum sql_id id = SQL_AGENT_LIST;
	char agent_id[RP_API_NAME_MAX], old_boots[REGISTRY_OLD_BOOTS * RP_API_UUID_MAX];
	char old_boot[REGISTRY_OLD_BOOTS][RP_API_UUID_MAX] = {0};
	struct rp_api_register set = {0};
	int64_t last_seen_ms;
	int rc;

	get_text(store, id, 0, agent_id, sizeof(agent_id));
	get_text(store, id, 1, set.boot_id, sizeof(set.boot_id));
	get_text(store, id, 2, old_boots, sizeof(old_boots));
	set.set_seq = (uint64_t)sql_int(&store->sql, id, 3);
	get_text(store, id, 4, set.hostname, sizeof(set.hostname));
	get_text(store, id, 5, set.agent_ip, sizeof(set.agent_ip));
	get_text(store, id, 6, set.tor_id, sizeof(set.tor_id));
	get_text(store, id, 7, set.version, sizeof(set.version));
	last_seen_ms = sql_int(&store->sql, id, 8);
	split_boots(old_boots, old_boot);
	rc = load_rnics(store, agent_id, &set);
	if (rc == 0)
		rc = registry_restore(reg, agent_id, old_boot, last_seen_ms, &set);
	rp_api_register_fini(&set);
	return rc;
}

int
store_load_registry(struct store *store, struct registry *reg)
{
	int rc = sql_query(&store->sql, SQL_AGENT_LIST, "");

	while (rc == 0 && (rc = sql_step(&store->sql, SQL_AGENT_LIST)) == 1)
		rc = load_agent(store, reg);
	if (rc < 0)
		sql_reset(&store->sql, SQL_AGENT_LIST);
	return rc;
}

int
store_load_rollups(struct store *store, int64_t since_ms,
	int (*each)(int64_t minute_ms, const struct rp_gid *source, const struct rp_gid *target,
		struct rp_api_row *row, void *arg),
	void *arg)
{
	const enum sql_id id = SQL_ROLLUP_LIST;
	struct sql *sql = &store->sql;
	int rc = sql_query(sql, id, "i", since_ms);

	while (rc == 0 && (rc = sql_step(sql, id)) == 1) {
		const char *text = sql_text(sql, id, 5);
		struct rp_gid source, target;
		struct rp_api_row row = {0};
		struct rp_api_err err = {0};

		rc = rp_api_decode_row(text, strlen(text), &row, &err);
		if (rc == -EINVAL || rp_gid_parse(sql_text(sql, id, 1), &source) != 0 ||
			rp_gid_parse(sql_text(sql, id, 2), &target) != 0) {
			atomic_fetch_add(&store->rollups.skipped, 1);
			rp_log_rl(RP_LOG_ERROR,
				"a one-minute row cannot be read and is left out: %s%s%s",
				err.field, rp_text_gap(err.field), err.message);
			rp_api_row_fini(&row);
			rc = 0;
			continue;
		}
		if (rc == 0)
			rc = each(sql_int(sql, id, 0), &source, &target, &row, arg);
	}
	if (rc < 0)
		sql_reset(sql, id);
	return rc;
}

static int
save_rnics(struct store *store, const struct store_job *job)
{
	struct rp_buf json = {0};
	char gid[RP_GID_TEXT_MAX];
	int rc;

	rp_buf_puts(&json, "[");
	for (size_t i = 0; i < job->set.n_rnics; i++) {
		const struct rp_api_rnic *r = &job->set.rnic[i];

		rp_buf_printf(&json, "%s[\"%s\",%" PRIu32 ",%" PRIu32 ",%" PRIu32 ",",
			i > 0 ? "," : "", rp_gid_format(&r->gid, gid), r->qpn, r->qkey,
			r->generation);
		rp_buf_json_string(&json, r->device);
		rp_buf_puts(&json, ",");
		rp_buf_json_string(&json, r->driver);
		rp_buf_puts(&json, ",");
		rp_buf_json_string(&json, r->tor_id);
		rp_buf_puts(&json, ",");
		rp_buf_json_string(&json, r->rail);
		rp_buf_printf(&json, ",%d,%d,%.17g]", r->hw_stamps, r->up, r->speed_gbps);
	}
	rp_buf_puts(&json, "]");
	rc = rp_buf_failed(&json)
		? -ENOMEM
		: sql_run(&store->sql, SQL_RNIC_PUT, "ss", job->agent_id, rp_buf_text(&json));
	rp_buf_fini(&json);
	return rc;
}

static int
save_agent(struct store *store, const struct store_job *job)
{
	char boots[REGISTRY_OLD_BOOTS * RP_API_UUID_MAX];
	const struct rp_api_register *set = &job->set;
	int rc;

	snprintf(boots, sizeof(boots), "%s %s %s %s", job->old_boot[0], job->old_boot[1],
		job->old_boot[2], job->old_boot[3]);
	rc = sql_run(&store->sql, SQL_AGENT_PUT, "sssissssi", job->agent_id, set->boot_id, boots,
		(int64_t)set->set_seq, set->hostname, set->agent_ip, set->tor_id, set->version,
		job->now_ms);
	/* Nothing changed: the store has a newer set of this process. */
	if (rc != 0 || sql_changes(&store->sql) == 0)
		return rc;
	rc = sql_run(&store->sql, SQL_RNIC_DELETE, "s", job->agent_id);
	return rc != 0 ? rc : save_rnics(store, job);
}

static int
delete_agent(struct store *store, const struct store_job *job)
{
	int rc = sql_run(&store->sql, SQL_RNIC_DELETE, "s", job->agent_id);

	return rc != 0 ? rc : sql_run(&store->sql, SQL_AGENT_DELETE, "s", job->agent_id);
}

/* The ledger row decides whether the report is new; what it adds is in the same commit. */
static int
add_report(struct store *store, struct store_job *job)
{
	const struct rp_api_report *r = &job->report;
	int rc = sql_run(&store->sql, SQL_LEDGER_PUT, "ssiii", r->agent_id, r->boot_id,
		(int64_t)r->report_seq, (int64_t)r->part, job->now_ms);

	job->duplicate = rc == 0 && sql_changes(&store->sql) == 0;
	if (rc != 0 || job->duplicate)
		return rc;
	for (size_t i = 0; i < r->n_rows && rc == 0; i++)
		rc = rollup_add(&store->rollups, &store->sql, &r->gid, &r->peer[r->row[i].peer].gid,
			r->window_start_ms, &r->row[i]);
	return rc;
}

static int
expire(struct store *store, const struct store_job *job)
{
	int rc = sql_run(&store->sql, SQL_LEDGER_EXPIRE, "i", job->ledger_before_ms);

	return rc != 0 ? rc : sql_run(&store->sql, SQL_ROLLUP_EXPIRE, "i", job->rollup_before_ms);
}

static int
apply(struct store *store, struct store_job *job)
{
	switch (job->kind) {
	case STORE_SAVE_AGENT:
		return save_agent(store, job);
	case STORE_DELETE_AGENT:
		return delete_agent(store, job);
	case STORE_TOUCH:
		return sql_run(&store->sql, SQL_AGENT_TOUCH, "s", job->json);
	case STORE_REPORT:
		return add_report(store, job);
	case STORE_EXPIRE:
		return expire(store, job);
	}
	return -EINVAL;
}

static int
apply_list(struct store *store, struct job_list *list)
{
	struct store_job *job;
	int rc = 0;

	STAILQ_FOREACH(job, list, link) {
		rc = apply(store, job);
		if (rc != 0)
			break;
	}
	return rc;
}

/* All of @list, or nothing. */
static int
commit(struct store *store, struct job_list *list)
{
	int64_t start_ns = monotonic_ns();
	int rc;

	store->begun = false;
	if (!is_in_place(store)) {
		rp_log_rl(RP_LOG_ERROR,
			"%s was removed, moved or replaced: put it back, or restart the controller",
			store->path);
		return -ESTALE;
	}
	rc = sql_run(&store->sql, SQL_BEGIN, "");
	store->begun = rc == 0;
	if (rc != 0)
		return rc;
	rc = apply_list(store, list);
	if (rc == 0)
		rc = rollup_flush(&store->rollups, &store->sql);
	if (rc == 0)
		rc = sql_run(&store->sql, SQL_COMMIT, "");
	if (rc != 0) {
		/* SQLite may have rolled back on its own; then this one fails, as it should. */
		sqlite3_step(store->sql.stmt[SQL_ROLLBACK]);
		sql_reset(&store->sql, SQL_ROLLBACK);
		rollup_forget(&store->rollups);
		return rc;
	}
	rollup_committed(&store->rollups);
	atomic_fetch_add(&store->commits, 1);
	atomic_fetch_add(&store->commit_ns, (uint64_t)(monotonic_ns() - start_ns));
	return 0;
}

static void
note_health(struct store *store, bool up)
{
	if (!up)
		atomic_fetch_add(&store->failures, 1);
	if (atomic_exchange(&store->up, up) == up)
		return;
	if (up)
		rp_info("writes succeed again");
	else
		rp_error(
			"writes fail: serving from memory, reports are refused until they succeed");
}

static void
drop_list(struct store *store, struct job_list *list)
{
	struct store_job *job;

	while ((job = STAILQ_FIRST(list)) != NULL) {
		STAILQ_REMOVE_HEAD(list, link);
		store_job_free(job);
	}
	if (list == &store->unsaved)
		atomic_store(&store->n_unsaved, 0);
}

/* What waits for @agent_id is older than what was just written or kept. */
static void
drop_unsaved(struct store *store, const char *agent_id)
{
	struct store_job *old = STAILQ_FIRST(&store->unsaved), *next;

	for (; old != NULL; old = next) {
		next = STAILQ_NEXT(old, link);
		if (strcmp(old->agent_id, agent_id) != 0)
			continue;
		STAILQ_REMOVE(&store->unsaved, old, store_job, link);
		atomic_fetch_sub(&store->n_unsaved, 1);
		store_job_free(old);
	}
}

static bool
is_of_agent(const struct store_job *job)
{
	return job->kind == STORE_SAVE_AGENT || job->kind == STORE_DELETE_AGENT;
}

/* The answer, after what it may be followed by is in place. */
static void
settle(struct store *store, struct store_job *job)
{
	bool kept = is_of_agent(job) && job->rc != 0;

	if (is_of_agent(job))
		drop_unsaved(store, job->agent_id);
	if (kept) {
		if (STAILQ_EMPTY(&store->unsaved))
			store->retry_ns = monotonic_ns() + RETRY_SEC * SEC_NS;
		STAILQ_INSERT_TAIL(&store->unsaved, job, link);
		atomic_fetch_add(&store->n_unsaved, 1);
	}
	if (job->done != NULL)
		job->done(job, job->rc, job->arg);
	if (!kept)
		store_job_free(job);
}

/*
 * All at once, or one by one, so that a job that SQLite refuses does not take the
 * others with it. Without a transaction or room there is no point in that.
 * @return whether any was written; the jobs' rc are set
 */
static bool
write_list(struct store *store, struct job_list *list)
{
	struct job_list tried = STAILQ_HEAD_INITIALIZER(tried);
	int rc = commit(store, list);
	struct store_job *job;
	bool any = rc == 0;

	STAILQ_FOREACH(job, list, link)
		job->rc = rc;
	if (rc == 0 || STAILQ_NEXT(STAILQ_FIRST(list), link) == NULL)
		return any;
	while (rc != -ENOSPC && store->begun && (job = STAILQ_FIRST(list)) != NULL) {
		struct job_list one = STAILQ_HEAD_INITIALIZER(one);

		STAILQ_REMOVE_HEAD(list, link);
		STAILQ_INSERT_TAIL(&one, job, link);
		rc = job->rc = commit(store, &one);
		any = any || rc == 0;
		STAILQ_REMOVE_HEAD(&one, link);
		STAILQ_INSERT_TAIL(&tried, job, link);
	}
	STAILQ_CONCAT(&tried, list);
	STAILQ_CONCAT(list, &tried);
	return any;
}

/* Another attempt for what no disk has taken so far. What fails again stays. */
static void
write_unsaved(struct store *store)
{
	struct job_list list = STAILQ_HEAD_INITIALIZER(list);
	struct store_job *job;

	STAILQ_CONCAT(&list, &store->unsaved);
	/* One job that can never be written is no reason to call the store down. */
	if (write_list(store, &list))
		note_health(store, true);
	while ((job = STAILQ_FIRST(&list)) != NULL) {
		STAILQ_REMOVE_HEAD(&list, link);
		if (job->rc != 0) {
			STAILQ_INSERT_TAIL(&store->unsaved, job, link);
			continue;
		}
		atomic_fetch_sub(&store->n_unsaved, 1);
		store_job_free(job);
	}
	store->retry_ns = monotonic_ns() + RETRY_SEC * SEC_NS;
}

static void
write_batch(struct store *store, struct job_list *batch)
{
	bool up = write_list(store, batch);
	struct store_job *job;

	STAILQ_FOREACH(job, batch, link)
		if (job->rc == 0 && is_of_agent(job))
			drop_unsaved(store, job->agent_id);
	/* It takes writes again: it is up when it has taken those that waited. */
	if (up && !atomic_load(&store->up) && !STAILQ_EMPTY(&store->unsaved))
		write_unsaved(store);
	/* Before the answers: who gets one may look at the health next. */
	note_health(store, up);
	while ((job = STAILQ_FIRST(batch)) != NULL) {
		STAILQ_REMOVE_HEAD(batch, link);
		settle(store, job);
	}
}

/* Up to BATCH_MAX waiting jobs. @return false: stopping, and nothing waits */
static bool
take_batch(struct store *store, struct job_list *batch)
{
	struct timespec until;
	bool go_on;

	pthread_mutex_lock(&store->mutex);
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += RETRY_SEC;
	while (STAILQ_EMPTY(&store->queue) && !store->stopping) {
		if (STAILQ_EMPTY(&store->unsaved))
			pthread_cond_wait(&store->wake, &store->mutex);
		else if (pthread_cond_timedwait(&store->wake, &store->mutex, &until) == ETIMEDOUT)
			break;
	}
	for (unsigned int n = 0; n < BATCH_MAX && !STAILQ_EMPTY(&store->queue); n++) {
		struct store_job *job = STAILQ_FIRST(&store->queue);

		STAILQ_REMOVE_HEAD(&store->queue, link);
		STAILQ_INSERT_TAIL(batch, job, link);
		store->n_queued--;
	}
	go_on = !store->stopping || !STAILQ_EMPTY(batch);
	pthread_mutex_unlock(&store->mutex);
	return go_on;
}

static void *
run_writer(void *arg)
{
	struct store *store = arg;
	struct job_list batch = STAILQ_HEAD_INITIALIZER(batch);

	while (take_batch(store, &batch)) {
		bool idle = STAILQ_EMPTY(&batch);

		if (!idle)
			write_batch(store, &batch);
		if (!STAILQ_EMPTY(&store->unsaved) && (idle || monotonic_ns() >= store->retry_ns))
			write_unsaved(store);
	}
	if (!STAILQ_EMPTY(&store->unsaved))
		write_unsaved(store);
	return NULL;
}

int
store_start(struct store *store)
{
	sigset_t all, before;
	int rc;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	rc = -pthread_create(&store->writer, NULL, run_writer, store);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	store->running = rc == 0;
	return rc;
}

void
store_close(struct store *store)
{
	if (store == NULL)
		return;
	pthread_mutex_lock(&store->mutex);
	store->stopping = true;
	pthread_cond_signal(&store->wake);
	pthread_mutex_unlock(&store->mutex);
	if (store->running)
		pthread_join(store->writer, NULL);
	drop_list(store, &store->queue);
	drop_list(store, &store->unsaved);
	rollup_forget(&store->rollups);
	sql_close(&store->sql);
	close(store->lock_fd);
	pthread_cond_destroy(&store->wake);
	pthread_mutex_destroy(&store->mutex);
	free(store);
}

int
store_submit(struct store *store, struct store_job *job)
{
	int rc = 0;

	pthread_mutex_lock(&store->mutex);
	if (store->n_queued >= STORE_QUEUE_MAX || store->stopping) {
		rc = -EAGAIN;
	} else {
		STAILQ_INSERT_TAIL(&store->queue, job, link);
		store->n_queued++;
		pthread_cond_signal(&store->wake);
	}
	pthread_mutex_unlock(&store->mutex);
	return rc;
}

void
store_counters(struct store *store, struct store_counters *ret)
{
	*ret = (struct store_counters){
		.up = atomic_load(&store->up),
		.commits = atomic_load(&store->commits),
		.failures = atomic_load(&store->failures),
		.unsaved = atomic_load(&store->n_unsaved),
		.commit_ns = atomic_load(&store->commit_ns),
		.rows_skipped = atomic_load(&store->rollups.skipped),
	};
	pthread_mutex_lock(&store->mutex);
	ret->queued = store->n_queued;
	pthread_mutex_unlock(&store->mutex);
}
