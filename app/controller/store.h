/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef STORE_H
#define STORE_H

/**
 * @file store.h
 * What survives a restart: registry, ledger of reports, one-minute rows. One
 * writer thread owns the connection and commits all waiting jobs at once.
 *
 * A failed write takes nothing with it: agents stay queued until the disk has
 * room again, reports are given back to the sender, who keeps them.
 *
 * Thread:  store_open() and the loads: start-up. store_submit() and the rest:
 *          any. Callbacks run on the writer and must not block.
 * Memory:  a submitted job belongs to the store.
 * Time:    ms since the epoch, from the caller.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "registry.h"
#include "rp_api.h"

#define STORE_WHY_MAX 1024

/** Jobs that may wait. */
#define STORE_QUEUE_MAX 10000u

struct store;

enum store_kind {
	STORE_SAVE_AGENT,   /* agent */
	STORE_DELETE_AGENT, /* agent_id */
	STORE_TOUCH,        /* json: [[agent_id, last_seen_ms], ...] */
	STORE_REPORT,       /* report */
	STORE_EXPIRE,       /* ledger_before_ms, rollup_before_ms */
};

struct store_job {
	STAILQ_ENTRY(store_job) link;
	enum store_kind kind;
	/** Once, after the first attempt; @p rc 0, -EIO, -ENOSPC, -ENOMEM. May be NULL. */
	void (*done)(struct store_job *job, int rc, void *arg);
	void *arg;

	char agent_id[RP_API_NAME_MAX];
	char old_boot[REGISTRY_OLD_BOOTS][RP_API_UUID_MAX];
	int64_t now_ms; /* agent: last_seen; report: received */
	struct rp_api_register set;
	char *json;
	struct rp_api_report report;
	bool duplicate; /* report: set before done() */
	int64_t ledger_before_ms;
	int64_t rollup_before_ms;
	int rc; /* of the attempt, for store.c */
};

struct store_counters {
	bool up; /* the last write succeeded */
	uint64_t commits;
	uint64_t failures;
	uint64_t queued;
	uint64_t unsaved; /* agents that wait for a write to succeed */
	uint64_t commit_ns;
	uint64_t rows_skipped; /* stored rows that could not be read */
};

/**
 * @param path  of the SQLite file; @c path.lock beside it is held
 * @return 0, -EBUSY (another controller holds it), -EPROTO (newer schema), -EIO,
 *         -ENOMEM; @p why names path, cause and remedy
 */
int store_open(const char *path, struct store **ret_store, char *why);

/** Put all agents back into @p reg. @return 0, -EIO, -ENOMEM */
int store_load_registry(struct store *store, struct registry *reg);

/** Rows since @p since_ms in order of time; @p each owns row's histograms. */
int store_load_rollups(struct store *store, int64_t since_ms,
	int (*each)(int64_t minute_ms, const struct rp_gid *source, const struct rp_gid *target,
		struct rp_api_row *row, void *arg),
	void *arg);

/** Start the writer. @return 0, -errno */
int store_start(struct store *store);

/** Write what waits, stop the writer, release everything. NULL is allowed. */
void store_close(struct store *store);

/** A job to be filled. NULL on no memory. */
struct store_job *store_job_new(enum store_kind kind);
void store_job_free(struct store_job *job);

/** @return 0, -EAGAIN (the queue is full: @p job stays the caller's) */
int store_submit(struct store *store, struct store_job *job);

void store_counters(struct store *store, struct store_counters *ret);

#endif /* STORE_H */
