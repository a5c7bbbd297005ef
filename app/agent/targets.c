/* SPDX-License-Identifier: BSD-3-Clause */

#include "targets.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "rp_log.h"

#define RP_LOG_COMPONENT "targets"

#define LOST_MEANS_ASK 3
#define ASK_FIRST_MS   500
#define ASK_SOON_MS    2500 /* longest wait during the first minute of silence */
#define ASK_MAX_MS     30000
#define ASK_SOON_LOST  600 /* probes lost in a row: a minute of them at 10 pps */

int
targets_init(struct targets *targets, struct device *dev, const struct agent_conf *conf,
	uint64_t host_hz)
{
	*targets = (struct targets){.dev = dev, .conf = conf, .host_hz = host_hz, .scale = 1};
	targets->linger_ms = conf->analysis_window_sec * 2000 + conf->probe_timeout_ms * 2 + 2000;
	rp_rng_init(&targets->rng, (uint64_t)time(NULL) ^ (uintptr_t)dev);
	targets->entry = calloc(DEVICE_MAX_TARGETS, sizeof(*targets->entry));
	targets->label_epoch =
		rp_flow_epoch(time(NULL), (uint32_t)conf->flow_label_rotation_period_sec);
	return targets->entry == NULL ? -ENOMEM : 0;
}

void
targets_fini(struct targets *targets)
{
	free(targets->entry);
	targets->entry = NULL;
}

static struct target_entry *
find(struct targets *t, const struct rp_gid *gid, enum rp_api_type type)
{
	for (uint32_t i = 0; i < t->high; i++) {
		struct target_entry *e = &t->entry[i];

		if (e->used && !e->leaving && e->info.type == type &&
			rp_gid_equal(&e->info.gid, gid))
			return e;
	}
	return NULL;
}

static struct target_entry *
free_entry(struct targets *t, int64_t now_ms)
{
	for (uint32_t i = 0; i < t->high; i++)
		if (!t->entry[i].used && now_ms >= t->entry[i].free_at_ms)
			return &t->entry[i];
	return t->high < DEVICE_MAX_TARGETS ? &t->entry[t->high++] : NULL;
}

static void
set_dirty(struct targets *t, struct target_entry *e, bool dirty)
{
	t->n_dirty += (uint32_t)dirty - (uint32_t)e->dirty;
	e->dirty = dirty;
}

static uint32_t
slot_of(const struct targets *t, const struct target_entry *e)
{
	return (uint32_t)(e - t->entry);
}

static void
fill_labels(const struct targets *t, const struct target_entry *e, struct rp_target *to)
{
	const struct rp_api_target *info = &e->info;
	uint32_t n = to->n_labels;

	if (n <= 1) {
		/* Used as it came; 0 would let hardware choose a port of its own. */
		to->label[0] = info->flow_label != 0 && info->flow_label <= RP_FLOW_LABEL_MAX
			? info->flow_label
			: RP_FLOW_LABEL_PORT0;
		to->label[1] = to->label[0];
		return;
	}
	rp_flow_expand(info->flow_label_seed, t->label_epoch, n, to->label);
	rp_flow_expand(
		rp_flow_seed(&info->gid, &t->dev->port->gid), t->label_epoch, n, to->label + n);
}

/* Hand the entry, as it is now, to the prober. */
static int
give(struct targets *t, struct target_entry *e)
{
	uint32_t n = e->info.flow_label_count < 1 ? 1 : e->info.flow_label_count;
	struct rp_target *to = rp_target_create(n);
	struct command cmd = {COMMAND_PUT, slot_of(t, e), to};
	struct rp_peer *peer;
	int rc = to == NULL ? -ENOMEM : peers_get(&t->dev->peers, &e->info.gid, &peer);

	if (rc == 0) {
		double period = (double)t->host_hz / (e->rate_pps * t->scale);

		to->slot = cmd.slot;
		to->gid = e->info.gid;
		to->qpn = e->info.qpn;
		to->qkey = e->info.qkey;
		to->generation = e->info.generation;
		to->peer = peer;
		to->hw_stamps = e->info.hw_stamps;
		to->tclass = (uint8_t)(e->info.traffic_class >= 0 ? e->info.traffic_class
								  : t->conf->traffic_class);
		to->sl = (uint8_t)(e->info.service_level >= 0 ? e->info.service_level
							      : t->conf->service_level);
		to->period_ticks = period < 1 ? 1 : (uint64_t)(period + 0.5);
		fill_labels(t, e, to);
		rc = device_command(t->dev, cmd);
		if (rc != 0)
			peers_put(&t->dev->peers, peer);
	}
	set_dirty(t, e, rc != 0);
	if (rc != 0) {
		char text[RP_GID_TEXT_MAX];

		rp_target_destroy(to);
		t->failed++;
		rp_log_rl(RP_LOG_WARN, "%s: cannot probe %s: %s", t->dev->plan->name,
			rp_gid_format(&e->info.gid, text), strerror(-rc));
		return rc;
	}
	e->peer = peer;
	e->given++;
	return 0;
}

static void
take_away(struct targets *t, struct target_entry *e)
{
	struct command cmd = {COMMAND_REMOVE, slot_of(t, e), NULL};

	e->leaving = true;
	if (e->given == 0) {
		e->used = false;
		t->n_used--;
		set_dirty(t, e, false);
		return;
	}
	/* A full ring: targets_retry() tries again. */
	set_dirty(t, e, device_command(t->dev, cmd) != 0);
}

/* @return whether the prober must be told */
static bool
differs(const struct rp_api_target *a, const struct rp_api_target *b)
{
	return a->qpn != b->qpn || a->qkey != b->qkey || a->generation != b->generation ||
		a->flow_label_seed != b->flow_label_seed ||
		a->flow_label_count != b->flow_label_count || a->flow_label != b->flow_label ||
		a->hw_stamps != b->hw_stamps || a->service_level != b->service_level ||
		a->traffic_class != b->traffic_class;
}

static void
rescale(struct targets *t)
{
	double sum = 0, scale;

	for (uint32_t i = 0; i < t->high; i++)
		if (t->entry[i].used && !t->entry[i].leaving)
			sum += t->entry[i].rate_pps;
	scale = sum > (double)t->conf->max_probe_pps ? (double)t->conf->max_probe_pps / sum : 1;
	if (scale == t->scale)
		return;
	if (scale < 1)
		rp_warn("%s: %.0f probes per second are planned, max_probe_pps is %lld: all rates scaled by %.3f",
			t->dev->plan->name, sum, (long long)t->conf->max_probe_pps, scale);
	t->scale = scale;
	for (uint32_t i = 0; i < t->high; i++)
		if (t->entry[i].used && !t->entry[i].leaving && t->entry[i].given > 0)
			give(t, &t->entry[i]);
}

static void
apply_one(struct targets *t, const struct rp_api_target *info, int64_t now_ms)
{
	struct target_entry *e = find(t, &info->gid, info->type);
	bool changed = e == NULL || differs(&e->info, info) || e->given == 0;

	if (e == NULL) {
		e = free_entry(t, now_ms);
		if (e == NULL) {
			t->failed++;
			return;
		}
		*e = (struct target_entry){.used = true};
		t->n_used++;
		e->rate_pps = agent_conf_rate(t->conf, info->type == RP_API_INTER_TOR);
	}
	e->info = *info;
	e->seen = true;
	if (changed)
		give(t, e);
}

void
targets_apply(struct targets *targets, const struct rp_api_pinglist *list, int64_t now_ms)
{
	struct targets *t = targets;
	uint64_t failed = t->failed;

	for (uint32_t i = 0; i < t->high; i++)
		t->entry[i].seen = false;
	for (size_t i = 0; i < list->n_targets; i++)
		apply_one(t, &list->target[i], now_ms);
	for (uint32_t i = 0; i < t->high; i++)
		if (t->entry[i].used && !t->entry[i].leaving && !t->entry[i].seen)
			take_away(t, &t->entry[i]);
	rescale(t);
	rp_info("%s: pinglist has %zu targets%s%s", t->dev->plan->name, list->n_targets,
		t->failed != failed ? ", some could not be added" : "",
		list->n_targets > 0
			? ""
			: ", asking again soon (agents of one hostname do not probe each other)");
}

void
targets_refresh(struct targets *targets, const struct rp_api_target *record)
{
	for (int type = 0; type < RP_API_TYPE_N; type++) {
		struct target_entry *e = find(targets, &record->gid, (enum rp_api_type)type);

		if (e == NULL ||
			(e->info.qpn == record->qpn && e->info.qkey == record->qkey &&
				e->info.generation == record->generation))
			continue;
		/* The record is of the RNIC; labels and class are the pinglist's. */
		e->info.qpn = record->qpn;
		e->info.qkey = record->qkey;
		e->info.generation = record->generation;
		e->info.hw_stamps = record->hw_stamps;
		if (give(targets, e) == 0) {
			char text[RP_GID_TEXT_MAX];

			e->lost_in_row = 0;
			rp_info("%s: %s restarted, responder qpn is 0x%x now",
				targets->dev->plan->name, rp_gid_format(&record->gid, text),
				record->qpn);
		}
	}
}

void
targets_retry(struct targets *targets)
{
	struct targets *t = targets;

	if (t->stop_pending)
		t->stop_pending =
			device_command(t->dev, (struct command){.kind = COMMAND_REMOVE_ALL}) != 0;
	for (uint32_t i = 0; t->n_dirty > 0 && i < t->high; i++) {
		struct target_entry *e = &t->entry[i];

		if (!e->dirty)
			continue;
		if (e->leaving)
			take_away(t, e);
		else if (give(t, e) != 0)
			break; /* no room for more this turn */
	}
}

void
targets_rotate(struct targets *targets, int64_t unix_s)
{
	uint64_t epoch =
		rp_flow_epoch(unix_s, (uint32_t)targets->conf->flow_label_rotation_period_sec);

	if (epoch == targets->label_epoch)
		return;
	targets->label_epoch = epoch;
	for (uint32_t i = 0; i < targets->high; i++) {
		struct target_entry *e = &targets->entry[i];

		if (e->used && !e->leaving && e->given > 0 && e->info.flow_label_count > 1)
			give(targets, e);
	}
}

static void
on_retired(struct targets *t, struct rp_target *retired, int64_t now_ms)
{
	struct target_entry *e = &t->entry[retired->slot];

	peers_put(&t->dev->peers, retired->peer);
	rp_target_destroy(retired);
	e->given--;
	if (e->given == 0 && e->leaving) {
		/* Windows that are still open refer to it by its slot. */
		e->used = false;
		e->free_at_ms = now_ms + t->linger_ms;
		t->n_used--;
	}
}

static void
plan_ask(struct target_entry *e, int64_t now_ms)
{
	if (e->ask_at_ms == 0 && !e->asking) {
		e->ask_wait_ms = ASK_FIRST_MS;
		e->ask_at_ms = now_ms;
	}
}

void
targets_on_result(struct targets *targets, const struct rp_result *result, int64_t now_ms)
{
	struct target_entry *e = &targets->entry[result->slot];

	if (result->kind == RP_RESULT_RETIRED) {
		on_retired(targets, result->target, now_ms);
		return;
	}
	if (result->kind != RP_RESULT_SETTLED || !e->used || e->leaving ||
		result->qpn != e->info.qpn)
		return;
	if (result->state == RP_STATE_LOST) {
		e->lost_in_row++;
		if (e->lost_in_row < LOST_MEANS_ASK)
			return;
		if (e->lost_in_row == LOST_MEANS_ASK)
			targets->dev->port->ops->peer_refresh(targets->dev->port, e->peer);
		plan_ask(e, now_ms);
	} else if (result->seen_generation != 0) {
		e->lost_in_row = 0;
		if (result->seen_generation != e->info.generation)
			plan_ask(e, now_ms);
		else if (!e->asking)
			e->ask_at_ms = 0;
	} else if (result->state == RP_STATE_OK) {
		e->lost_in_row = 0;
	}
}

void
targets_on_sign(struct targets *targets, const struct rp_gid *gid, int64_t now_ms)
{
	for (int type = 0; type < RP_API_TYPE_N; type++) {
		struct target_entry *e = find(targets, gid, (enum rp_api_type)type);

		if (e != NULL && e->lost_in_row >= LOST_MEANS_ASK && !e->asking)
			e->ask_at_ms = now_ms;
	}
}

struct target_entry *
targets_next_ask(struct targets *targets, int64_t now_ms)
{
	for (uint32_t i = 0; i < targets->high; i++) {
		struct target_entry *e = &targets->entry[i];

		if (e->used && !e->leaving && !e->asking && e->ask_at_ms != 0 &&
			e->ask_at_ms <= now_ms) {
			e->asking = true;
			return e;
		}
	}
	return NULL;
}

void
targets_asked(struct targets *targets, const struct rp_gid *gid, int64_t now_ms)
{
	for (int type = 0; type < RP_API_TYPE_N; type++) {
		struct target_entry *e = find(targets, gid, (enum rp_api_type)type);
		uint32_t cap;

		if (e == NULL || !e->asking)
			continue;
		e->asking = false;
		if (e->lost_in_row < LOST_MEANS_ASK) {
			e->ask_at_ms = 0;
			continue;
		}
		cap = e->lost_in_row < ASK_SOON_LOST ? ASK_SOON_MS : ASK_MAX_MS;
		e->ask_at_ms = now_ms + e->ask_wait_ms +
			(int64_t)rp_rng_below(&targets->rng, e->ask_wait_ms / 10 + 1);
		e->ask_wait_ms += e->ask_wait_ms / 2;
		if (e->ask_wait_ms > cap)
			e->ask_wait_ms = cap;
	}
}

void
targets_stop(struct targets *targets)
{
	for (uint32_t i = 0; i < targets->high; i++) {
		struct target_entry *e = &targets->entry[i];

		set_dirty(targets, e, false);
		if (e->given == 0)
			e->used = false;
		e->leaving = e->used;
	}
	targets->stop_pending = true;
	targets_retry(targets);
}

bool
targets_all_retired(const struct targets *targets)
{
	for (uint32_t i = 0; i < targets->high; i++)
		if (targets->entry[i].given > 0)
			return false;
	return true;
}
