/* SPDX-License-Identifier: BSD-3-Clause */

#include "roles.h"

#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#include <rte_pause.h>

#define NO_REMOVAL   UINT32_MAX
#define CQ_TURN_MAX  (8 * RP_BURST) /* events */
#define PUBLISH_NS   RP_NS_PER_MS
#define SPINS        100
#define YIELDS       500
#define SLEEP_MAX_NS (200 * RP_NS_PER_US)
#define SLEEP_MIN_NS (20 * RP_NS_PER_US) /* below, nanosleep returns without scheduling */

/* One writer: a load and a store, no locked add. */
static void
bump(_Atomic uint64_t *counter, uint64_t n)
{
	atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + n,
		memory_order_relaxed);
}

/* ---- prober ---- */

static void
flush_results(struct prober_role *role)
{
	struct rp_results *out = &role->out;
	uint32_t done, kept = 0;

	if (out->n == 0)
		return;
	done = rte_ring_sp_enqueue_burst_elem(
		role->results, out->r, sizeof(out->r[0]), out->n, NULL);
	if (rp_likely(done == out->n)) {
		out->n = 0;
		return;
	}
	/* A full ring drops the newest, but never a target: its memory is in there. */
	for (uint32_t i = done; i < out->n; i++)
		if (out->r[i].kind == RP_RESULT_RETIRED)
			out->r[kept++] = out->r[i];
	bump(&role->results_dropped, out->n - done - kept);
	out->n = kept;
}

static bool
has_room(struct prober_role *role, uint32_t n)
{
	if (rp_unlikely(role->out.n + n > RP_RESULTS_MAX))
		flush_results(role);
	return role->out.n + n <= RP_RESULTS_MAX;
}

static void
prober_event(struct prober_role *role, const struct rp_ev *ev, struct rp_tsc now)
{
	if (rp_likely(has_room(role, RP_RESULTS_PER_EVENT)))
		rp_prober_event(role->prober, ev, now, &role->out);
	else
		bump(&role->events_dropped, 1);
}

/* As far as there is room for what comes back; the next turn goes on. */
static void
remove_some(struct prober_role *role)
{
	while (role->remove_next < DEVICE_MAX_TARGETS && has_room(role, 1))
		rp_prober_remove(role->prober, role->remove_next++, &role->out);
	if (role->remove_next == DEVICE_MAX_TARGETS)
		role->remove_next = NO_REMOVAL;
}

static uint32_t
prober_commands(struct prober_role *role, struct rp_tsc now)
{
	struct command cmd;
	uint32_t n = 0;

	while (n < RP_BURST && has_room(role, 2) &&
		rte_ring_sc_dequeue_elem(role->commands, &cmd, sizeof(cmd)) == 0) {
		n++;
		switch ((enum command_kind)cmd.kind) {
		case COMMAND_PUT:
			if (rp_prober_put(role->prober, cmd.target, now, &role->out) != 0) {
				/* Back to where its memory is known. */
				role->out.r[role->out.n] =
					(struct rp_result){.kind = RP_RESULT_RETIRED};
				role->out.r[role->out.n++].target = cmd.target;
			}
			break;
		case COMMAND_REMOVE:
			rp_prober_remove(role->prober, cmd.slot, &role->out);
			break;
		case COMMAND_REMOVE_ALL:
			role->remove_next = 0;
			break;
		}
	}
	return n;
}

/* Before any event of the turn. */
static uint32_t
prober_begin(struct prober_role *role, struct rp_tsc now)
{
	uint32_t n = prober_commands(role, now);

	if (rp_unlikely(role->remove_next != NO_REMOVAL))
		remove_some(role);
	rp_prober_observe(role->prober, now, role->drained_at);
	return n;
}

static uint32_t
prober_ring(struct prober_role *role, const struct rp_host_clock *clock)
{
	struct rp_tsc drained = {
		/* acquire: pairs with the release in cq_turn(); what it polled is in the ring */
		atomic_load_explicit(role->cq_drained_at, memory_order_acquire)};
	struct rp_ev ev[RP_BURST];
	uint32_t n =
		rte_ring_sc_dequeue_burst_elem(role->events, ev, sizeof(ev[0]), RP_BURST, NULL);

	if (n > 0) {
		struct rp_tsc now = rp_host_now(clock);

		for (uint32_t i = 0; i < n; i++)
			prober_event(role, &ev[i], now);
	}
	if (n < RP_BURST)
		role->drained_at = drained;
	return n;
}

static uint32_t
prober_end(struct prober_role *role, struct rp_tsc now)
{
	uint16_t sent;

	if (has_room(role, RP_BURST))
		rp_prober_expire(role->prober, now, &role->out);
	flush_results(role);
	role->box.n = 0;
	/* Unsent ones settle at once: room for the burst twice. */
	if (rp_likely(role->out.n == 0)) {
		rp_prober_send(role->prober, now, &role->box, &role->out);
		sent = rp_qp_tx_burst(role->qp, role->box.tx, role->box.n);
		rp_prober_taken(role->prober, &role->box, sent, &role->out);
		flush_results(role);
	}
	/* release: whoever sees it finds the results in the ring; what is kept is not settled */
	if (rp_likely(role->out.n == 0))
		atomic_store_explicit(&role->settled_until,
			rp_prober_settled_until(role->prober, now).ticks, memory_order_release);
	return role->box.n;
}

/* ---- responder ---- */

static void
move_ack(struct rp_outbox *box, uint16_t from, uint16_t to)
{
	memmove(box->payload[to], box->tx[from].payload, RP_PAYLOAD_LEN);
	box->tx[to] = box->tx[from];
	box->tx[to].payload = box->payload[to];
}

/* ACKs that waited may have lost their answer, and with it their peer. */
static RP_COLD void
purge_stale(struct responder_role *role)
{
	struct rp_outbox *box = &role->box;
	uint16_t kept = 0;

	for (uint16_t i = 0; i < box->n; i++)
		if (rp_responder_is_current(role->responder, &box->tx[i]))
			move_ack(box, i, kept++);
	box->n = kept;
}

static void
flush_acks(struct responder_role *role)
{
	struct rp_outbox *box = &role->box;
	uint16_t taken, left;

	if (rp_unlikely(role->carried))
		purge_stale(role);
	taken = rp_qp_tx_burst(role->qp, box->tx, box->n);
	left = (uint16_t)(box->n - taken);
	role->carried = left > 0;
	if (rp_likely(left == 0)) {
		box->n = 0;
		return;
	}
	if (atomic_load_explicit(&role->stop_sending, memory_order_relaxed)) {
		for (uint16_t i = taken; i < box->n; i++)
			rp_responder_dropped(role->responder, &box->tx[i]);
		box->n = 0;
		return;
	}
	/* The queue is full now: the rest waits, with its payloads. */
	for (uint16_t i = 0; i < left; i++)
		move_ack(box, (uint16_t)(taken + i), i);
	box->n = left;
}

static void
flush_wants(struct responder_role *role)
{
	struct rp_wants *want = &role->want;
	uint32_t done;

	if (want->n == 0)
		return;
	done = rte_ring_sp_enqueue_burst_elem(
		role->wants, want->w, sizeof(want->w[0]), want->n, NULL);
	want->n -= done;
	if (rp_unlikely(want->n > 0))
		memmove(want->w, want->w + done, want->n * sizeof(want->w[0]));
}

static void
responder_event(struct responder_role *role, const struct rp_ev *ev, uint64_t window)
{
	if (rp_unlikely(role->box.n == RP_BURST))
		flush_acks(role);
	if (rp_unlikely(role->want.n + RP_WANTS_PER_EVENT > RP_WANTS_MAX))
		flush_wants(role);
	if (rp_unlikely(
		    role->box.n == RP_BURST || role->want.n + RP_WANTS_PER_EVENT > RP_WANTS_MAX)) {
		bump(&role->events_dropped, 1);
		return;
	}
	rp_responder_event(role->responder, ev, window, &role->box, &role->want);
}

static uint64_t
window_of(struct responder_role *role)
{
	return atomic_load_explicit(&role->window, memory_order_relaxed);
}

static RP_COLD void
take_sources(struct responder_role *role)
{
	struct source_set *set = atomic_exchange(&role->next_sources, NULL);

	rp_responder_allow(role->responder, set->gid, set->n);
	/* Freed where it came from; an older one that was not fetched in time, here. */
	free(atomic_exchange(&role->old_sources, set));
}

static uint32_t
responder_turn(struct responder_role *role, struct rp_tsc now)
{
	uint64_t window = window_of(role);
	struct resolved answer;
	uint32_t n = 0;

	if (rp_unlikely(atomic_load_explicit(&role->next_sources, memory_order_relaxed) != NULL))
		take_sources(role);
	while (n < RP_BURST &&
		rte_ring_sc_dequeue_elem(role->resolved, &answer, sizeof(answer)) == 0) {
		rp_responder_resolved(role->responder, &answer.gid, answer.peer);
		n++;
	}
	if (role->events != NULL) {
		struct rp_ev ev[RP_BURST];
		uint32_t got = rte_ring_sc_dequeue_burst_elem(
			role->events, ev, sizeof(ev[0]), RP_BURST, NULL);

		for (uint32_t i = 0; i < got; i++)
			responder_event(role, &ev[i], window);
		n += got;
	}
	rp_responder_tick(role->responder, now, window, &role->box, &role->want);
	n += role->box.n;
	flush_acks(role);
	flush_wants(role);
	/* release: whoever sees it finds the rows in the ring */
	if (rp_likely(role->want.n == 0))
		atomic_store_explicit(&role->rows_until, rp_responder_rows_until(role->responder),
			memory_order_release);
	return n;
}

/* ---- completions ---- */

static uint16_t
cq_burst(struct slice *slice, uint64_t window)
{
	struct cq_role *cq = &slice->dev->cq;
	struct rp_ev *ev = cq->ev;
	uint16_t n = rp_port_poll(cq->port, ev, RP_BURST);
	struct responder_role *responder = &slice->dev->responder;

	for (uint16_t i = 0; i < n; i++) {
		bool to_prober = ev[i].role == RP_ROLE_PROBER;
		struct rte_ring *ring = to_prober ? cq->to_prober : cq->to_responder;

		if (ring == NULL && to_prober)
			prober_event(&slice->dev->prober, &ev[i], ev[i].host);
		else if (ring == NULL)
			responder_event(responder, &ev[i], window);
		else if (rte_ring_sp_enqueue_elem(ring, &ev[i], sizeof(ev[i])) != 0)
			bump(&cq->dropped[ev[i].role], 1);
	}
	return n;
}

/*
 * A probe costs two hosts six events each, so that a burst of probes a turn needs
 * more than one burst of events: one alone would fall behind for good.
 */
static uint32_t
cq_turn(struct slice *slice, struct rp_tsc now)
{
	struct cq_role *cq = &slice->dev->cq;
	uint64_t window = window_of(&slice->dev->responder);
	uint32_t total = 0;
	uint16_t n;

	do {
		n = cq_burst(slice, window);
		total += n;
	} while (n == RP_BURST && total < CQ_TURN_MAX);
	if (n < RP_BURST) {
		/* release: whoever sees it sees the events in the rings */
		atomic_store_explicit(&cq->drained_at, now.ticks, memory_order_release);
		if (cq->to_prober == NULL)
			slice->dev->prober.drained_at = now;
	}
	return total;
}

static void
publish(struct slice *slice, struct rp_tsc now, uint64_t every_ticks)
{
	struct prober_role *prober = &slice->dev->prober;
	struct responder_role *responder = &slice->dev->responder;

	if (slice->role[PLACE_PROBER] && rp_tsc_since(prober->published_at, now) > every_ticks) {
		prober->published_at = now;
		snap_publish(&prober->snap, rp_prober_stats(prober->prober),
			sizeof(struct rp_prober_stats));
	}
	if (slice->role[PLACE_RESPONDER] &&
		rp_tsc_since(responder->published_at, now) > every_ticks) {
		responder->published_at = now;
		snap_publish(&responder->snap, rp_responder_stats(responder->responder),
			sizeof(struct rp_responder_stats));
	}
}

uint32_t
worker_turn(struct worker *worker, struct rp_tsc now, struct rp_tsc *ret_due, bool *ret_has_due)
{
	uint32_t work = 0;

	*ret_has_due = false;
	for (uint32_t i = 0; i < worker->n_slices; i++) {
		struct slice *s = &worker->slice[i];
		struct prober_role *prober = &s->dev->prober;
		struct rp_tsc due;

		if (s->role[PLACE_PROBER])
			work += prober_begin(prober, now);
		if (s->role[PLACE_CQ])
			work += cq_turn(s, now);
		if (s->role[PLACE_PROBER]) {
			if (prober->events != NULL)
				work += prober_ring(prober, worker->clock);
			/* T1 is read just before the burst; an idle turn has read it already. */
			work += prober_end(prober, work > 0 ? rp_host_now(worker->clock) : now);
			if (rp_prober_next_due(prober->prober, &due) &&
				(!*ret_has_due || rp_tsc_before(due, *ret_due))) {
				*ret_due = due;
				*ret_has_due = true;
			}
		}
		if (s->role[PLACE_RESPONDER])
			work += responder_turn(&s->dev->responder, now);
	}
	return work;
}

/* ---- idling ---- */

struct idler {
	uint32_t empty_turns;
	int64_t overshoot_ns; /* of recent sleeps */
};

static void
nap(struct worker *w, struct idler *idler, struct rp_tsc now, struct rp_tsc due, bool has_due)
{
	int64_t ns = SLEEP_MAX_NS;
	struct timespec ts;
	struct rp_tsc woken;

	/* Early by what sleeps usually take too long. */
	if (has_due) {
		int64_t until = rp_tsc_elapsed(&w->clock->rate, now, due).v - idler->overshoot_ns;

		ns = until < ns ? until : ns;
	}
	if (ns < SLEEP_MIN_NS) {
		sched_yield();
		return;
	}
	ts = (struct timespec){0, (long)ns};
	nanosleep(&ts, NULL);
	woken = rp_host_now(w->clock);
	bump(&w->slept_ticks, rp_tsc_since(now, woken));
	ns = rp_tsc_elapsed(&w->clock->rate, now, woken).v - ns;
	if (ns > SLEEP_MAX_NS)
		ns = SLEEP_MAX_NS;
	idler->overshoot_ns += (ns - idler->overshoot_ns) / 8;
}

static void
idle(struct worker *w, struct idler *idler, struct rp_tsc now, struct rp_tsc due, bool has_due)
{
	idler->empty_turns++;
	switch (w->idle) {
	case AGENT_IDLE_AUTO:
	case AGENT_IDLE_BUSY:
		rte_pause();
		break;
	case AGENT_IDLE_YIELD:
		sched_yield();
		break;
	case AGENT_IDLE_ADAPTIVE:
		if (idler->empty_turns <= SPINS)
			rte_pause();
		else if (idler->empty_turns <= SPINS + YIELDS)
			sched_yield();
		else
			nap(w, idler, now, due, has_due);
		break;
	}
}

int
worker_main(void *arg)
{
	struct worker *w = arg;
	struct idler idler = {.overshoot_ns = 50 * RP_NS_PER_US};
	uint64_t every = rp_rate_to_ticks(&w->clock->rate, PUBLISH_NS);
	struct rp_tsc start = rp_host_now(w->clock);

	/* Else the kernel adds 50 us of slack to every sleep. */
	prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
	for (uint32_t i = 0; i < w->n_slices; i++) {
		if (w->slice[i].role[PLACE_CQ])
			atomic_store(&w->slice[i].dev->cq.drained_at, start.ticks);
		if (w->slice[i].role[PLACE_PROBER]) {
			w->slice[i].dev->prober.drained_at = start;
			w->slice[i].dev->prober.remove_next = NO_REMOVAL;
		}
	}
	while (!atomic_load_explicit(w->stop, memory_order_acquire)) {
		struct rp_tsc now = rp_host_now(w->clock), due = {0};
		bool has_due;
		uint32_t work = worker_turn(w, now, &due, &has_due);

		for (uint32_t i = 0; i < w->n_slices; i++)
			publish(&w->slice[i], now, every);
		bump(&w->turns, 1);
		if (work > 0) {
			idler.empty_turns = 0;
			bump(&w->busy_ticks, rp_tsc_since(now, rp_host_now(w->clock)));
		} else {
			idle(w, &idler, now, due, has_due);
		}
	}
	for (uint32_t i = 0; i < w->n_slices; i++)
		publish(&w->slice[i], rp_host_now(w->clock), 0);
	return 0;
}
