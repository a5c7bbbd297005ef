/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "agent.h"
#include "rp_log.h"
#include "stop.h"

#define RP_LOG_COMPONENT "control"

#define TURN_MS     10
#define SUMMARY_MS  60000
#define REFINE_MS   10000
#define LINK_MS     500
#define DRAIN_BATCH 256
#define STOP_MS     4000 /* of the 5 s that a clean stop may take */

int64_t
agent_mono_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

int64_t
agent_controller_ms(const struct agent *agent)
{
	struct timespec ts;

	if (agent->session.offset_known)
		return agent_mono_ms() + agent->session.controller_offset_ms;
	clock_gettime(CLOCK_REALTIME, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static void
log_probe(const struct agent_device *d, const struct rp_result *r)
{
	const struct target_entry *e = &d->targets.entry[r->slot];
	char gid[RP_GID_TEXT_MAX];

	if (!rp_log_enabled(RP_LOG_DEBUG) || r->kind != RP_RESULT_SETTLED)
		return;
	rp_debug(
		"%s -> %s %s sport %u reply sport %u rtt %lld ns t1 %llu t2 %llu t3 %llu t4 %llu t5 %llu t6 %llu",
		d->dev.gid_text, rp_gid_format(&e->info.gid, gid),
		rp_state_name((enum rp_state)r->state), r->sport, r->reply_sport,
		(long long)r->rtt_ns, (unsigned long long)r->at.t1.ticks,
		(unsigned long long)r->at.t2.ticks, (unsigned long long)r->at.t3.ns,
		(unsigned long long)r->at.t4.ns, (unsigned long long)r->at.t5.ticks,
		(unsigned long long)r->at.t6.ticks);
}

/* @return everything that was there has been taken */
static bool
drain_results(struct agent_device *d)
{
	struct rp_result r[DRAIN_BATCH];
	int64_t now = agent_mono_ms();
	unsigned int n, budget = DEVICE_RESULT_RING;

	do {
		n = rte_ring_sc_dequeue_burst_elem(
			d->dev.prober.results, r, sizeof(r[0]), DRAIN_BATCH, NULL);
		for (unsigned int i = 0; i < n; i++) {
			log_probe(d, &r[i]);
			rp_windows_book(d->windows, &r[i]);
			targets_on_result(&d->targets, &r[i], now);
		}
		budget -= n;
	} while (n == DRAIN_BATCH && budget >= DRAIN_BATCH);
	return n < DRAIN_BATCH;
}

static void
answer_want(struct agent_device *d, const struct rp_want *want)
{
	struct resolved answer = {.gid = want->gid};
	struct rp_peer *peer;

	if (peers_get(&d->dev.peers, &want->gid, &peer) == 0)
		answer.peer = peer;
	/* There is room: drain_wants() looked. */
	device_resolve(&d->dev, answer);
}

/*
 * Packets make wants, so they get a share of the turn and no more. @return everything
 * that was there has been taken
 */
static bool
drain_wants(struct agent_device *d)
{
	struct rp_want want;

	for (int budget = DEVICE_WANT_RING; budget > 0; budget--) {
		if (!device_can_resolve(&d->dev))
			return false;
		if (rte_ring_sc_dequeue_elem(d->dev.responder.wants, &want, sizeof(want)) != 0)
			return true;
		switch ((enum rp_want_kind)want.kind) {
		case RP_WANT_PEER:
			answer_want(d, &want);
			break;
		case RP_WANT_RELEASE:
			peers_put(&d->dev.peers, want.peer);
			break;
		case RP_WANT_ROW:
			rp_windows_book_source(d->windows, &want);
			break;
		case RP_WANT_SIGN:
			targets_on_sign(&d->targets, &want.gid, agent_mono_ms());
			break;
		}
	}
	return false;
}

/* ---- windows ---- */

struct no_buffer {
	uint64_t n;
};

static void
sum_no_buffer(void *arg, const char *name, uint64_t value)
{
	struct no_buffer *sum = arg;

	if (strcmp(name, "rx_no_buffer") == 0 || strcmp(name, "rx_missed") == 0)
		sum->n += value;
}

static uint64_t
busy_ticks(const struct agent *agent, const struct agent_device *d)
{
	uint64_t most = 0;

	for (uint32_t i = 0; i < agent->n_workers; i++) {
		const struct worker *w = &agent->worker[i];

		for (uint32_t k = 0; k < w->n_slices; k++)
			if (w->slice[k].dev == &d->dev)
				most = rp_max_u64(most,
					atomic_load_explicit(&w->busy_ticks, memory_order_relaxed));
	}
	return most;
}

static uint64_t
ring_drops(struct device *dev)
{
	uint64_t n = atomic_load_explicit(&dev->prober.results_dropped, memory_order_relaxed) +
		atomic_load_explicit(&dev->responder.events_dropped, memory_order_relaxed) +
		atomic_load_explicit(&dev->prober.events_dropped, memory_order_relaxed);

	for (int role = 0; role < RP_ROLE_N; role++)
		n += atomic_load_explicit(&dev->cq.dropped[role], memory_order_relaxed);
	return n;
}

static struct report_base
read_base(const struct agent *agent, struct agent_device *d)
{
	struct rp_prober_stats stats;
	struct no_buffer none = {0};

	snap_read(&d->dev.prober.snap, &stats, sizeof(stats));
	d->dev.port->ops->stats(d->dev.port, sum_no_buffer, &none);
	return (struct report_base){
		.ring_drops = ring_drops(&d->dev),
		.rx_no_buffer = none.n,
		.schedule_skipped = stats.schedule_skipped,
		.busy_ticks = busy_ticks(agent, d),
		.at_ticks = rp_host_now(&agent->clock).ticks,
	};
}

struct closing {
	struct agent *agent;
	struct agent_device *device;
	uint64_t seq;
};

static int
push_part(void *arg, struct rp_buf *json)
{
	struct closing *c = arg;

	spool_push(&c->agent->spool, json->data, json->len, c->seq);
	*json = (struct rp_buf){0};
	return 0;
}

/* What the host did wrong between the window's begin and the next one's. */
static struct report_local
local_of(const struct agent_device *d, const struct rp_window *window)
{
	const struct report_base *from = &d->mark[window->id % AGENT_MARKS];
	const struct report_base *to = &d->mark[(window->id + 1) % AGENT_MARKS];
	struct report_local local = {
		.ring_drops = to->ring_drops - from->ring_drops,
		.rx_no_buffer = to->rx_no_buffer - from->rx_no_buffer,
		.schedule_skipped = to->schedule_skipped - from->schedule_skipped,
	};

	if (to->at_ticks > from->at_ticks)
		local.cpu_ratio = (double)(to->busy_ticks - from->busy_ticks) /
			(double)(to->at_ticks - from->at_ticks);
	if (local.cpu_ratio > 1)
		local.cpu_ratio = 1;
	return local;
}

static void
on_window(void *arg, const struct rp_window *window)
{
	struct closing *c = arg;
	struct agent *agent = c->agent;
	struct report_id id = {agent->conf.agent_id, agent->session.boot_id};
	struct report_local local = local_of(c->device, window);

	if (!agent->conf.analysis_report_enabled || window->ms == 0)
		return;
	c->seq = agent->spool.next_seq++;
	if (report_encode(&id, c->seq, window, &c->device->dev, &c->device->targets, &local,
		    push_part, c) != 0) {
		rp_log_rl(
			RP_LOG_ERROR, "%s: out of memory for a report", c->device->dev.plan->name);
		agent->spool.dropped++;
	}
}

/* Before the rings are drained: what the lcores claim is in there. */
static struct rp_window_progress
read_progress(struct device *dev)
{
	return (struct rp_window_progress){
		/* acquire: pairs with the releases in prober_end() and responder_turn() */
		{atomic_load_explicit(&dev->prober.settled_until, memory_order_acquire)},
		atomic_load_explicit(&dev->responder.rows_until, memory_order_acquire),
	};
}

/* The counters as they are now begin window @id, and end all since the last one. */
static void
enter_window(struct agent *agent, struct agent_device *d, uint64_t id)
{
	struct report_base now;

	if (id == d->window_id)
		return;
	now = read_base(agent, d);
	while (d->window_id < id)
		d->mark[++d->window_id % AGENT_MARKS] = now;
	/* relaxed: the responder may see the change a turn later */
	atomic_store_explicit(&d->dev.responder.window, id, memory_order_relaxed);
}

/* @progress NULL: what the lcores claim is not all drained yet. */
static void
turn_windows(struct agent *agent, struct agent_device *d, const struct rp_window_progress *progress)
{
	struct closing c = {.agent = agent, .device = d};
	struct rp_tsc now = rp_host_now(&agent->clock);

	enter_window(agent, d, rp_windows_turn(d->windows, now));
	if (progress != NULL)
		rp_windows_close(d->windows, now, progress, on_window, &c);
}

/* ---- life ---- */

static void
log_summary(struct agent *agent)
{
	for (uint32_t i = 0; i < agent->n_devices; i++) {
		struct agent_device *d = &agent->device[i];
		struct rp_prober_stats p;
		struct rp_responder_stats r;

		snap_read(&d->dev.prober.snap, &p, sizeof(p));
		snap_read(&d->dev.responder.snap, &r, sizeof(r));
		rp_info("%s: %u targets, %llu probes, %llu ok, %llu lost, %llu ack1_lost, %llu ack2_lost, %llu suspended, %llu send_error, %llu unresolved; answered %llu of %llu; %u reports wait; clock error below %u ppb",
			d->dev.plan->name, d->targets.n_used, (unsigned long long)p.attempted,
			(unsigned long long)p.counts.state[RP_STATE_OK],
			(unsigned long long)p.counts.state[RP_STATE_LOST],
			(unsigned long long)p.counts.state[RP_STATE_ACK1_LOST],
			(unsigned long long)p.counts.state[RP_STATE_ACK2_LOST],
			(unsigned long long)p.counts.state[RP_STATE_SUSPENDED],
			(unsigned long long)p.counts.state[RP_STATE_SEND_ERROR],
			(unsigned long long)p.counts.state[RP_STATE_UNRESOLVED],
			(unsigned long long)r.ack2_sent, (unsigned long long)r.received,
			agent->spool.n, agent->clock.error_ppb);
	}
}

/* While a driver says down, its sends end as local errors and not as loss. */
static void
look_at_links(struct agent *agent)
{
	for (uint32_t i = 0; i < agent->n_devices; i++) {
		struct agent_device *d = &agent->device[i];
		bool up = rp_port_link_up(d->dev.port);

		if (up == !d->link_down)
			continue;
		d->link_down = !up;
		if (up)
			rp_info("%s: link is up", d->dev.plan->name);
		else
			rp_warn("%s: link is down, its probes end as send errors",
				d->dev.plan->name);
		/* The controller hears of it at once, unless it is not to be had anyway. */
		if (agent->session.backoff_ms == 0)
			agent->session.next_register_ms = agent_mono_ms();
	}
}

static void
turn(struct agent *agent)
{
	int64_t now = agent_mono_ms();

	for (uint32_t i = 0; i < agent->n_devices; i++) {
		struct rp_window_progress progress = read_progress(&agent->device[i].dev);

		bool drained = drain_results(&agent->device[i]);

		drained &= drain_wants(&agent->device[i]);
		turn_windows(agent, &agent->device[i], drained ? &progress : NULL);
		targets_retry(&agent->device[i].targets);
		if (agent->session.state == SESSION_REGISTERED)
			targets_rotate(
				&agent->device[i].targets, agent_controller_ms(agent) / 1000);
	}
	session_turn(agent);
	if (now >= agent->next_summary_ms) {
		if (agent->next_summary_ms != 0)
			log_summary(agent);
		agent->next_summary_ms = now + SUMMARY_MS;
	}
	if (now >= agent->next_link_ms) {
		look_at_links(agent);
		agent->next_link_ms = now + LINK_MS;
	}
	if (now >= agent->next_refine_ms) {
		rp_host_clock_refine(&agent->clock);
		agent->next_refine_ms = now + REFINE_MS;
	}
	rp_http_client_poll(agent->http, TURN_MS);
}

static bool
all_retired(const struct agent *agent)
{
	for (uint32_t i = 0; i < agent->n_devices; i++)
		if (!targets_all_retired(&agent->device[i].targets))
			return false;
	return true;
}

/* The responder's rows of the running window leave it when the next one begins. */
static bool
rows_are_out(const struct agent_device *d)
{
	return atomic_load_explicit(&d->dev.responder.rows_until, memory_order_acquire) >=
		d->window_id;
}

static void
flush_windows(struct agent *agent, int64_t deadline)
{
	for (uint32_t i = 0; i < agent->n_devices; i++) {
		struct agent_device *d = &agent->device[i];
		struct closing c = {.agent = agent, .device = d};

		atomic_store(&d->dev.responder.stop_sending, true);
		enter_window(agent, d, d->window_id + 1);
		while (!rows_are_out(d) && agent_mono_ms() < deadline)
			rp_http_client_poll(agent->http, 1);
		drain_results(d);
		drain_wants(d);
		rp_windows_flush(d->windows, rp_host_now(&agent->clock), on_window, &c);
	}
}

/*
 * From source to sink: probes stop, the controller hears of it, answers go on while
 * the last probes settle, then the last windows leave.
 */
static void
stop(struct agent *agent)
{
	int64_t deadline = agent_mono_ms() + STOP_MS;

	rp_info("stopping");
	for (uint32_t i = 0; i < agent->n_devices; i++)
		targets_stop(&agent->device[i].targets);
	session_leave(agent);
	while (agent_mono_ms() < deadline && (!all_retired(agent) || !session_has_left(agent)))
		turn(agent);
	flush_windows(agent, deadline);
	while (agent_mono_ms() < deadline && session_can_deliver(agent)) {
		session_turn(agent);
		rp_http_client_poll(agent->http, TURN_MS);
	}
	if (agent->spool.n > 0)
		rp_warn("%u reports could not be delivered", agent->spool.n);
}

void
control_init(struct agent *agent)
{
	for (uint32_t i = 0; i < agent->n_devices; i++)
		agent->device[i].mark[0] = read_base(agent, &agent->device[i]);
}

int
control_run(struct agent *agent)
{
	while (stop_requested() == 0)
		turn(agent);
	stop(agent);
	return 0;
}
