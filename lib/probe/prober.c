/* SPDX-License-Identifier: BSD-3-Clause */

#include "rp_prober.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rp_pacer.h"

#define SLOTS_MAX        (1u << 22)
#define TARGETS_MAX      (1u << 20)
#define PERIOD_MAX       (UINT64_C(1) << 53)
#define FIRST_CONTACT_NS RP_NS_PER_S /* an address may take this long before it is evidence */

enum slot_flag {
	HAVE_T2 = 1 << 0,
	HAVE_ACK1 = 1 << 1,
	HAVE_ACK2 = 1 << 2,
	SETTLED = 1 << 3,
	LATE = 1 << 4,           /* counted as late */
	NO_STAMP = 1 << 5,       /* a stamp is missing for good */
	NEW_GENERATION = 1 << 6, /* the two ACKs came from different responders */
	REPLY_KNOWN = 1 << 7,
};

#define COMPLETE (HAVE_T2 | HAVE_ACK1 | HAVE_ACK2)

/*
 * One probe in flight, found by counter & mask. It stays for a second timeout
 * after it was settled, so that a late answer is known for what it is.
 */
struct slot {
	uint32_t counter;
	uint8_t flags;
	uint8_t state;
	uint16_t sport;
	uint16_t reply_sport;
	uint32_t target;
	uint32_t qpn;
	uint32_t generation;
	uint32_t seen_generation;
	struct rp_stamp_set at;
} RP_CACHE_ALIGNED;

struct rp_prober {
	/* Free-running counters: tail <= next <= head. */
	uint32_t head; /* of the next probe */
	uint32_t next; /* first that may be unsettled */
	uint32_t tail; /* first that is still kept */
	uint32_t mask;
	struct slot *slot;
	struct rp_target **target;
	struct rp_pacer *pacer;
	uint64_t timeout_ticks;
	uint64_t first_contact_ticks;
	struct rp_tsc stalled_until; /* what was sent before and is unsettled was suspended */
	struct rp_tsc stall_began;
	bool stall_seen;
	struct rp_prober_conf conf;
	struct rp_prober_stats stats;
};

const char *
rp_unmatched_name(enum rp_unmatched reason)
{
	static const char *const name[] = {
#define X(sym, text) text,
		RP_UNMATCHED(X)
#undef X
	};

	return name[reason];
}

const char *
rp_send_error_name(enum rp_send_error reason)
{
	static const char *const name[] = {
#define X(sym, text) text,
		RP_SEND_ERRORS(X)
#undef X
	};

	return name[reason];
}

struct rp_target *
rp_target_create(uint32_t n_labels)
{
	struct rp_target *t;

	if (n_labels == 0 || n_labels > RP_FLOW_LABELS_MAX)
		return NULL;
	t = calloc(1, sizeof(*t) + 2 * n_labels * sizeof(t->label[0]));
	if (t != NULL)
		t->n_labels = n_labels;
	return t;
}

void
rp_target_destroy(struct rp_target *target)
{
	free(target);
}

int
rp_prober_create(const struct rp_prober_conf *conf, struct rp_prober **ret_prober)
{
	struct rp_prober *p;
	int rc;

	if (!rp_is_pow2(conf->slots) || conf->slots < 2 || conf->slots > SLOTS_MAX ||
		conf->max_targets == 0 || conf->max_targets > TARGETS_MAX ||
		conf->sample.timeout_ns <= 0)
		return -EINVAL;
	p = calloc(1, sizeof(*p));
	if (p == NULL)
		return -ENOMEM;
	p->conf = *conf;
	p->mask = conf->slots - 1;
	p->timeout_ticks = rp_rate_to_ticks(&conf->sample.host, conf->sample.timeout_ns);
	p->first_contact_ticks = rp_rate_to_ticks(&conf->sample.host, FIRST_CONTACT_NS);
	p->slot = aligned_alloc(RP_CACHE_LINE, conf->slots * sizeof(*p->slot));
	p->target = calloc(conf->max_targets, sizeof(struct rp_target *));
	rc = rp_pacer_create(conf->max_targets, conf->seed, &p->pacer);
	if (p->slot == NULL || p->target == NULL || rc != 0) {
		rp_prober_destroy(p);
		return -ENOMEM;
	}
	memset(p->slot, 0, conf->slots * sizeof(*p->slot));
	*ret_prober = p;
	return 0;
}

void
rp_prober_destroy(struct rp_prober *prober)
{
	if (prober == NULL)
		return;
	for (uint32_t i = 0; prober->target != NULL && i < prober->conf.max_targets; i++)
		rp_target_destroy(prober->target[i]);
	free(prober->target);
	free(prober->slot);
	rp_pacer_destroy(prober->pacer);
	free(prober);
}

/* ---- results ---- */

static struct rp_result *
result_of(const struct rp_prober *p, const struct slot *s, struct rp_results *out,
	enum rp_result_kind kind)
{
	struct rp_result *r = &out->r[out->n++];
	const struct rp_target *t = p->target[s->target];
	bool peer_hw = t != NULL && t->hw_stamps;

	*r = (struct rp_result){
		.kind = (uint8_t)kind,
		.stamps = (uint8_t)(p->conf.hw_stamps == peer_hw
				? (peer_hw ? RP_STAMPS_HW : RP_STAMPS_SW)
				: RP_STAMPS_MIXED),
		.reply_known = (s->flags & REPLY_KNOWN) != 0,
		.sport = s->sport,
		.reply_sport = s->reply_sport,
		.slot = s->target,
		.qpn = s->qpn,
		.generation = s->generation,
		.seen_generation = s->seen_generation,
		.counter = s->counter,
		.rtt_ns = -1,
		.at = s->at,
	};
	return r;
}

static void
retire(struct rp_target *target, struct rp_results *out)
{
	struct rp_result *r = &out->r[out->n++];

	*r = (struct rp_result){.kind = RP_RESULT_RETIRED, .slot = target->slot};
	r->target = target;
}

static void
count_extra(struct rp_prober *p, const struct slot *s, enum rp_extra extra, struct rp_results *out)
{
	p->stats.counts.extra[extra]++;
	result_of(p, s, out, RP_RESULT_EXTRA)->extra = (uint8_t)extra;
}

static struct rp_result *
settle(struct rp_prober *p, struct slot *s, enum rp_state state, struct rp_results *out)
{
	struct rp_result *r;

	s->flags |= SETTLED;
	s->state = (uint8_t)state;
	p->stats.counts.state[state]++;
	p->stats.pending--;
	r = result_of(p, s, out, RP_RESULT_SETTLED);
	r->state = (uint8_t)state;
	return r;
}

static void
settle_send_error(
	struct rp_prober *p, struct slot *s, enum rp_send_error why, struct rp_results *out)
{
	p->stats.send_error[why]++;
	settle(p, s, RP_STATE_SEND_ERROR, out);
}

static void
settle_invalid(struct rp_prober *p, struct slot *s, enum rp_invalid why, struct rp_results *out)
{
	p->stats.invalid[why]++;
	settle(p, s, RP_STATE_INVALID, out)->invalid = (uint8_t)why;
}

static enum rp_invalid
compute(const struct rp_prober *p, const struct slot *s, struct rp_sample *ret_sample)
{
	if ((s->flags & NO_STAMP) != 0)
		return RP_INVALID_STAMP;
	if ((s->flags & NEW_GENERATION) != 0)
		return RP_INVALID_GENERATION;
	return rp_sample_compute(&p->conf.sample, &s->at, ret_sample);
}

/* Both ACKs and the send completion are there, in time. */
static void
settle_complete(struct rp_prober *p, struct slot *s, struct rp_results *out)
{
	struct rp_sample sample;
	enum rp_invalid why = compute(p, s, &sample);
	struct rp_result *r;

	if (why != RP_INVALID_NONE) {
		settle_invalid(p, s, why, out);
		return;
	}
	r = settle(p, s, RP_STATE_OK, out);
	r->rtt_ns = sample.rtt.v;
	r->prober_ns = sample.prober.v;
	r->responder_ns = sample.responder.v;
	r->imprecise = rp_sample_is_imprecise(&p->conf.sample, &sample);
	if (r->imprecise)
		p->stats.counts.extra[RP_EXTRA_IMPRECISE]++;
}

static void
settle_overdue(struct rp_prober *p, struct slot *s, struct rp_results *out)
{
	switch (s->flags & (HAVE_ACK1 | HAVE_ACK2)) {
	case 0:
		settle(p, s, RP_STATE_LOST, out);
		break;
	case HAVE_ACK2:
		settle(p, s, RP_STATE_ACK1_LOST, out);
		break;
	case HAVE_ACK1:
		settle(p, s, RP_STATE_ACK2_LOST, out);
		break;
	default:
		/* Answered, but its own send completion never came. */
		settle_invalid(p, s, RP_INVALID_STAMP, out);
		break;
	}
}

static bool
is_suspended(const struct rp_prober *p, const struct slot *s)
{
	return p->stall_seen && rp_tsc_before(s->at.t1, p->stalled_until);
}

static bool
is_overdue(const struct rp_prober *p, const struct slot *s, struct rp_tsc now)
{
	return rp_tsc_since(s->at.t1, now) > p->timeout_ticks;
}

/* ---- events ---- */

static struct slot *
find(struct rp_prober *p, uint32_t counter)
{
	struct slot *s = &p->slot[counter & p->mask];

	return counter - p->tail < p->head - p->tail && s->counter == counter ? s : NULL;
}

/* An event of time @at for @s: first what became of @s without it. */
static void
settle_before(struct rp_prober *p, struct slot *s, struct rp_tsc at, struct rp_results *out)
{
	if ((s->flags & SETTLED) != 0)
		return;
	if (is_suspended(p, s))
		settle(p, s, RP_STATE_SUSPENDED, out);
	else if (is_overdue(p, s, at))
		settle_overdue(p, s, out);
}

/* The RTT of a probe that was settled as lost before all of it was there. */
static void
late_rtt(struct rp_prober *p, struct slot *s, struct rp_results *out)
{
	struct rp_sample_conf conf = p->conf.sample;
	struct rp_result *r = result_of(p, s, out, RP_RESULT_LATE);
	struct rp_sample sample;

	/* Late by definition: the limit is how long the slot lives. */
	conf.timeout_ns *= 2;
	if ((s->flags & (NO_STAMP | NEW_GENERATION)) == 0 &&
		rp_sample_compute(&conf, &s->at, &sample) == RP_INVALID_NONE)
		r->rtt_ns = sample.rtt.v;
}

static bool
is_fabric_loss(uint8_t state)
{
	return state == RP_STATE_LOST || state == RP_STATE_ACK1_LOST || state == RP_STATE_ACK2_LOST;
}

static void
on_sent(struct rp_prober *p, const struct rp_ev *ev, struct rp_tsc now, struct rp_results *out)
{
	struct slot *s = find(p, (uint32_t)ev->cookie);

	if (s == NULL || (s->flags & HAVE_T2) != 0) {
		p->stats.stale_completions++;
		return;
	}
	/* Its own time is that of the send; what counts is when we hear of it. */
	settle_before(p, s, now, out);
	if (ev->kind == RP_EV_TX_ERR) {
		if ((s->flags & SETTLED) == 0)
			settle_send_error(p, s, RP_SEND_ERROR_COMPLETION, out);
		return;
	}
	s->flags |= HAVE_T2;
	if ((ev->flags & RP_EV_F_NO_STAMP) != 0)
		s->flags |= NO_STAMP;
	s->at.t2 = ev->stamp;
	if ((s->flags & COMPLETE) != COMPLETE)
		return;
	if ((s->flags & SETTLED) == 0)
		settle_complete(p, s, out);
	else if (is_fabric_loss(s->state))
		late_rtt(p, s, out);
}

static void
book_ack(struct slot *s, const struct rp_payload *msg, const struct rp_ev *ev, struct rp_tsc now)
{
	if (msg->ack_type == RP_ACK_FIRST) {
		s->flags |= HAVE_ACK1;
		s->at.t5 = ev->stamp;
		if ((ev->flags & RP_EV_F_NO_STAMP) != 0)
			s->flags |= NO_STAMP;
	} else {
		s->flags |= HAVE_ACK2;
		/* Both stamps from the one message that carries both. */
		s->at.t3 = msg->t3;
		s->at.t4 = msg->t4;
		if (msg->t3.ns == 0 || msg->t4.ns == 0)
			s->flags |= NO_STAMP;
	}
	/* Of the later ACK: with ACK 2 first, T5 would lie behind T6 otherwise. */
	s->at.t6 = now;
	if ((msg->flags & RP_PAYLOAD_F_LABEL) != 0)
		s->flags |= REPLY_KNOWN;
	if ((msg->flags & RP_PAYLOAD_F_EXT) == 0 || msg->ext == 0)
		return;
	if (s->seen_generation != 0 && s->seen_generation != msg->ext)
		s->flags |= NEW_GENERATION;
	s->seen_generation = msg->ext;
}

/* An answer to a probe that was settled without it. */
static void
on_late_ack(struct rp_prober *p, struct slot *s, struct rp_results *out)
{
	if (!is_fabric_loss(s->state))
		return;
	if ((s->flags & LATE) == 0) {
		s->flags |= LATE;
		count_extra(p, s,
			s->state == RP_STATE_ACK2_LOST ? RP_EXTRA_LATE_ACK2 : RP_EXTRA_LATE, out);
	}
	if ((s->flags & COMPLETE) == COMPLETE)
		late_rtt(p, s, out);
}

static void
on_ack(struct rp_prober *p, const struct rp_payload *msg, const struct rp_ev *ev, struct rp_tsc now,
	struct rp_results *out)
{
	uint8_t have = msg->ack_type == RP_ACK_FIRST ? HAVE_ACK1 : HAVE_ACK2;
	const struct rp_target *t;
	struct slot *s;

	if (msg->sequence >> 32 != p->conf.epoch) {
		p->stats.unmatched[RP_UNMATCHED_EPOCH]++;
		return;
	}
	s = find(p, (uint32_t)msg->sequence);
	if (s == NULL) {
		p->stats.unmatched[RP_UNMATCHED_UNKNOWN]++;
		return;
	}
	t = p->target[s->target];
	if (t == NULL || !rp_gid_equal(&t->gid, &ev->src) || ev->src_qpn != s->qpn) {
		p->stats.unmatched[RP_UNMATCHED_PEER]++;
		return;
	}
	settle_before(p, s, ev->host, out);
	if ((s->flags & have) != 0) {
		count_extra(p, s, RP_EXTRA_DUPLICATE, out);
		return;
	}
	if (have == HAVE_ACK1 && (s->flags & HAVE_ACK2) != 0)
		count_extra(p, s, RP_EXTRA_REORDERED, out);
	book_ack(s, msg, ev, now);
	if ((s->flags & SETTLED) != 0)
		on_late_ack(p, s, out);
	else if ((s->flags & COMPLETE) == COMPLETE)
		settle_complete(p, s, out);
}

void
rp_prober_event(
	struct rp_prober *prober, const struct rp_ev *ev, struct rp_tsc now, struct rp_results *out)
{
	enum rp_payload_verdict verdict;
	struct rp_payload msg;

	if (ev->kind != RP_EV_RX) {
		on_sent(prober, ev, now, out);
		return;
	}
	verdict = rp_payload_decode(ev->payload, ev->len, RP_PAYLOAD_LEN, &msg);
	if (verdict != RP_PAYLOAD_OK) {
		prober->stats.bad_payload[verdict]++;
		return;
	}
	if ((msg.flags & ~RP_PAYLOAD_F_KNOWN) != 0)
		prober->stats.unknown_flags++;
	if (msg.msg_type != RP_MSG_ACK) {
		prober->stats.unmatched[RP_UNMATCHED_NOT_ACK]++;
		return;
	}
	on_ack(prober, &msg, ev, now, out);
}

void
rp_prober_observe(struct rp_prober *prober, struct rp_tsc now, struct rp_tsc drained_at)
{
	if (rp_tsc_since(drained_at, now) <= prober->timeout_ticks / 4)
		return;
	/* One stall may be seen over many turns. */
	if (!prober->stall_seen || prober->stall_began.ticks != drained_at.ticks) {
		prober->stats.stalls++;
		prober->stall_began = drained_at;
		prober->stall_seen = true;
	}
	prober->stalled_until = now;
	rp_pacer_skip_to(prober->pacer, now);
	prober->stats.schedule_skipped = rp_pacer_skipped(prober->pacer);
}

static void
release(struct rp_prober *p, struct slot *s, struct rp_results *out)
{
	struct rp_target *t = p->target[s->target];

	t->in_flight--;
	if (t->removed && t->in_flight == 0) {
		p->target[s->target] = NULL;
		retire(t, out);
	}
}

void
rp_prober_expire(struct rp_prober *prober, struct rp_tsc now, struct rp_results *out)
{
	struct rp_prober *p = prober;

	while (p->next != p->head && out->n < RP_RESULTS_MAX) {
		struct slot *s = &p->slot[p->next & p->mask];

		if ((s->flags & SETTLED) == 0) {
			if (is_suspended(p, s))
				settle(p, s, RP_STATE_SUSPENDED, out);
			else if (is_overdue(p, s, now))
				settle_overdue(p, s, out);
			else
				break;
		}
		p->next++;
	}
	while (p->tail != p->next && out->n < RP_RESULTS_MAX) {
		struct slot *s = &p->slot[p->tail & p->mask];

		if (rp_tsc_since(s->at.t1, now) <= 2 * p->timeout_ticks)
			break;
		release(p, s, out);
		p->tail++;
	}
}

/* ---- sending ---- */

/* A probe without a slot: it ends where it begins. */
static void
fail_unsent(struct rp_prober *p, const struct rp_target *t, enum rp_state state, struct rp_tsc now,
	struct rp_results *out)
{
	struct slot s = {
		.target = t->slot,
		.qpn = t->qpn,
		.generation = t->generation,
		.at.t1 = now,
	};

	p->stats.attempted++;
	p->stats.pending++;
	settle(p, &s, state, out);
}

/* First contact: quiet for a second, then evidence on schedule. */
static bool
may_send(struct rp_prober *p, struct rp_target *t, struct rp_tsc now, struct rp_results *out)
{
	if (rp_likely(rp_peer_is_ready(t->peer))) {
		if (rp_likely(p->head - p->tail <= p->mask))
			return true;
		p->stats.send_error[RP_SEND_ERROR_NO_SLOT]++;
		fail_unsent(p, t, RP_STATE_SEND_ERROR, now, out);
		return false;
	}
	if (!t->seen_due) {
		t->seen_due = true;
		t->first_due = now;
	}
	if (rp_tsc_since(t->first_due, now) >= p->first_contact_ticks)
		fail_unsent(p, t, RP_STATE_UNRESOLVED, now, out);
	return false;
}

static void
put_probe(struct rp_prober *p, struct rp_target *t, struct rp_tsc now, struct rp_outbox *box)
{
	struct slot *s = &p->slot[p->head & p->mask];
	uint32_t forward, reply;
	struct rp_payload msg;

	rp_flow_pick(t->sent++, t->n_labels, &forward, &reply);
	forward = t->label[forward];
	reply = t->label[t->n_labels + reply];
	*s = (struct slot){
		.counter = p->head,
		.sport = rp_flow_sport(forward),
		.reply_sport = rp_flow_sport(reply),
		.target = t->slot,
		.qpn = t->qpn,
		.generation = t->generation,
		.at.t1 = now,
	};
	msg = (struct rp_payload){
		.msg_type = RP_MSG_PROBE,
		.flags = RP_PAYLOAD_F_EXT,
		.sequence = (uint64_t)p->conf.epoch << 32 | p->head,
		.t1_ns = (uint64_t)rp_rate_to_ns(&p->conf.sample.host, now.ticks),
		.ext = reply,
	};
	rp_payload_encode(&msg, box->payload[box->n]);
	box->tx[box->n] = (struct rp_tx){
		.peer = t->peer,
		.payload = box->payload[box->n],
		.cookie = p->head,
		.qpn = t->qpn,
		.qkey = t->qkey,
		.flow_label = forward,
		.len = RP_PAYLOAD_LEN,
		.tclass = t->tclass,
		.sl = t->sl,
	};
	box->n++;
	t->in_flight++;
	p->head++;
	p->stats.attempted++;
	p->stats.pending++;
}

void
rp_prober_send(
	struct rp_prober *prober, struct rp_tsc now, struct rp_outbox *box, struct rp_results *out)
{
	struct rp_prober_stats *stats = &prober->stats;
	struct rp_pacer_due due;

	while (box->n < RP_BURST && out->n < RP_BURST && rp_pacer_take(prober->pacer, now, &due)) {
		struct rp_target *t = prober->target[due.id];

		stats->schedule_lag_ticks += due.lag_ticks;
		if (due.lag_ticks > stats->schedule_lag_max_ticks)
			stats->schedule_lag_max_ticks = due.lag_ticks;
		if (may_send(prober, t, now, out))
			put_probe(prober, t, now, box);
	}
	stats->schedule_skipped = rp_pacer_skipped(prober->pacer);
}

void
rp_prober_taken(struct rp_prober *prober, const struct rp_outbox *box, uint16_t taken,
	struct rp_results *out)
{
	for (uint16_t i = taken; i < box->n; i++) {
		struct slot *s = find(prober, (uint32_t)box->tx[i].cookie);

		settle_send_error(prober, s, RP_SEND_ERROR_QUEUE_FULL, out);
	}
}

/* ---- targets ---- */

int
rp_prober_put(struct rp_prober *prober, struct rp_target *target, struct rp_tsc now,
	struct rp_results *out)
{
	struct rp_target *old;
	struct rp_tsc due;

	if (target->slot >= prober->conf.max_targets)
		return -ENOSPC;
	if (target->period_ticks == 0 || target->period_ticks > PERIOD_MAX || target->peer == NULL)
		return -EINVAL;
	old = prober->target[target->slot];
	if (old != NULL && rp_pacer_next_of(prober->pacer, target->slot, &due) &&
		rp_tsc_since(now, due) <= target->period_ticks) {
		rp_pacer_remove(prober->pacer, target->slot);
		rp_pacer_add_at(prober->pacer, target->slot, target->period_ticks, due);
	} else {
		/* New, or its rate rose so much that the old time is too far away. */
		rp_pacer_remove(prober->pacer, target->slot);
		rp_pacer_add(prober->pacer, target->slot, target->period_ticks, now);
	}
	prober->target[target->slot] = target;
	if (old == NULL) {
		prober->stats.targets++;
		return 0;
	}
	if (old->removed)
		prober->stats.targets++;
	target->in_flight = old->in_flight;
	target->sent = old->sent;
	if (old->peer == target->peer) {
		target->first_due = old->first_due;
		target->seen_due = old->seen_due;
	}
	retire(old, out);
	return 0;
}

int
rp_prober_remove(struct rp_prober *prober, uint32_t slot, struct rp_results *out)
{
	struct rp_target *t = slot < prober->conf.max_targets ? prober->target[slot] : NULL;

	if (t == NULL || t->removed)
		return -ENOENT;
	rp_pacer_remove(prober->pacer, slot);
	t->removed = true;
	prober->stats.targets--;
	if (t->in_flight == 0) {
		prober->target[slot] = NULL;
		retire(t, out);
	}
	return 0;
}

bool
rp_prober_next_due(const struct rp_prober *prober, struct rp_tsc *ret_due)
{
	return rp_pacer_next(prober->pacer, ret_due);
}

struct rp_tsc
rp_prober_settled_until(const struct rp_prober *prober, struct rp_tsc now)
{
	if (prober->next == prober->head)
		return now;
	return prober->slot[prober->next & prober->mask].at.t1;
}

bool
rp_prober_is_idle(const struct rp_prober *prober)
{
	return prober->tail == prober->head;
}

const struct rp_prober_stats *
rp_prober_stats(const struct rp_prober *prober)
{
	return &prober->stats;
}
