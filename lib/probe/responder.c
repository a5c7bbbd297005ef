/* SPDX-License-Identifier: BSD-3-Clause */

#include "rp_responder.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rp_rng.h"

#define SOURCES_MAX   65536u
#define IN_FLIGHT_MAX 65536u
#define NONE          UINT32_MAX
#define RECLAIM_NS    RP_NS_PER_S          /* a completion that takes longer never comes */
#define BUCKET_NS     (100 * RP_NS_PER_MS) /* the rate limit's burst: a tenth of a second */
#define SWEEP         8                    /* answers looked at per turn */
#define ROW_SWEEP     64                   /* sources looked at per turn, after a window's end */

enum source_state {
	SOURCE_FREE,
	SOURCE_WANTED,
	SOURCE_HAS_PEER,
	SOURCE_FAILED,
};

/* One address that probes us. */
struct source {
	struct rp_gid gid;
	const struct rp_peer *peer;
	uint32_t hash_next;    /* chain of the bucket */
	uint32_t older, newer; /* by last use */
	uint32_t qpn;
	uint16_t parked;
	uint16_t in_flight;
	uint8_t state;
	struct rp_tsc failed_at;
	struct rp_tsc last; /* probe */
	uint64_t window;    /* that the counts below belong to */
	uint32_t received, ack1_sent, ack2_sent, refused;
};

/* A probe between its arrival and the completion of ACK 2. */
struct answer {
	uint64_t sequence;
	uint64_t t1_ns;
	struct rp_nic t3_ticks;
	struct rp_remote t3;
	struct rp_tsc began;
	uint32_t source;
	uint32_t qpn;
	uint32_t label;
	uint32_t generation; /* of the slot: late completions cannot match a new probe */
	uint8_t flags;       /* of the payload */
	bool busy;
};

struct parked {
	struct rp_ev ev;
	uint32_t source; /* NONE: free */
	uint32_t next_free;
};

struct rp_responder {
	struct rp_responder_conf conf;
	struct rp_responder_stats stats;
	struct source *source;
	uint32_t *bucket; /* hash -> first source */
	uint32_t oldest, newest, free_source;
	struct answer *answer;
	uint32_t *free_answer; /* stack */
	uint32_t n_free;
	struct parked *parked;
	uint32_t free_parked;
	uint32_t park_cursor, answer_cursor, source_cursor;
	uint64_t sweep_window; /* the sources are being swept for */
	uint32_t sweep_left;
	uint64_t rows_until;
	uint64_t hash_seed;
	/* token bucket in host ticks: a probe costs one period */
	uint64_t period_ticks, bucket_ticks;
	struct rp_tsc bucket_at;
	uint64_t reclaim_ticks, park_ticks, silence_ticks;
	struct rp_gid *allowed; /* open addressing; zero GID = empty */
	uint32_t allowed_mask;
};

const char *
rp_refusal_name(enum rp_refusal refusal)
{
	static const char *const name[] = {
#define X(sym, text) text,
		RP_REFUSALS(X)
#undef X
	};

	return name[refusal];
}

/* ---- sources ---- */

static uint32_t *
bucket_of(struct rp_responder *r, const struct rp_gid *gid)
{
	return &r->bucket[rp_gid_hash(gid, r->hash_seed) & (r->conf.max_sources - 1)];
}

static uint32_t
find_source(struct rp_responder *r, const struct rp_gid *gid)
{
	uint32_t i = *bucket_of(r, gid);

	while (i != NONE && !rp_gid_equal(&r->source[i].gid, gid))
		i = r->source[i].hash_next;
	return i;
}

static void
unlink_lru(struct rp_responder *r, uint32_t i)
{
	struct source *s = &r->source[i];

	*(s->older == NONE ? &r->oldest : &r->source[s->older].newer) = s->newer;
	*(s->newer == NONE ? &r->newest : &r->source[s->newer].older) = s->older;
}

static void
link_newest(struct rp_responder *r, uint32_t i)
{
	r->source[i].older = r->newest;
	r->source[i].newer = NONE;
	*(r->newest == NONE ? &r->oldest : &r->source[r->newest].newer) = i;
	r->newest = i;
}

static bool
has_counts(const struct source *s)
{
	return (s->received | s->ack1_sent | s->ack2_sent | s->refused) != 0;
}

/* Emit the counts of an ended window. */
static void
flush_row(struct source *s, struct rp_wants *wants)
{
	if (has_counts(s)) {
		wants->w[wants->n++] = (struct rp_want){
			.kind = RP_WANT_ROW,
			.gid = s->gid,
			.window = s->window,
			.qpn = s->qpn,
			.received = s->received,
			.ack1_sent = s->ack1_sent,
			.ack2_sent = s->ack2_sent,
			.refused = s->refused,
		};
	}
	s->received = s->ack1_sent = s->ack2_sent = s->refused = 0;
}

/* The counts of @s may be touched for @window after this. */
static void
enter_window(struct source *s, uint64_t window, struct rp_wants *wants)
{
	if (s->window == window)
		return;
	flush_row(s, wants);
	s->window = window;
}

static void
forget_source(struct rp_responder *r, uint32_t i, struct rp_wants *wants)
{
	struct source *s = &r->source[i];
	uint32_t *at = bucket_of(r, &s->gid);

	flush_row(s, wants);
	if (s->peer != NULL)
		wants->w[wants->n++] =
			(struct rp_want){.kind = RP_WANT_RELEASE, .gid = s->gid, .peer = s->peer};
	while (*at != i)
		at = &r->source[*at].hash_next;
	*at = s->hash_next;
	unlink_lru(r, i);
	s->state = SOURCE_FREE;
	s->hash_next = r->free_source;
	r->free_source = i;
	r->stats.sources--;
}

/* The least recently used one that nothing refers to, among the oldest few. */
static bool
evict(struct rp_responder *r, struct rp_wants *wants)
{
	uint32_t i = r->oldest;

	for (int tries = 0; tries < SWEEP && i != NONE; tries++) {
		const struct source *s = &r->source[i];

		/* While the control thread works on it, it must stay. */
		if (s->parked == 0 && s->in_flight == 0 && s->state != SOURCE_WANTED) {
			forget_source(r, i, wants);
			return true;
		}
		i = s->newer;
	}
	return false;
}

static uint32_t
get_source(
	struct rp_responder *r, const struct rp_gid *gid, uint64_t window, struct rp_wants *wants)
{
	uint32_t i = find_source(r, gid);
	uint32_t *bucket;

	if (i != NONE) {
		if (i != r->newest) {
			unlink_lru(r, i);
			link_newest(r, i);
		}
		return i;
	}
	if (r->free_source == NONE && !evict(r, wants))
		return NONE;
	i = r->free_source;
	r->free_source = r->source[i].hash_next;
	bucket = bucket_of(r, gid);
	r->source[i] = (struct source){
		.gid = *gid,
		.hash_next = *bucket,
		.state = SOURCE_WANTED,
		.window = window,
	};
	*bucket = i;
	link_newest(r, i);
	r->stats.sources++;
	wants->w[wants->n++] = (struct rp_want){.kind = RP_WANT_PEER, .gid = *gid};
	return i;
}

/* ---- answers ---- */

static void
put_ack(struct rp_responder *r, uint32_t slot, enum rp_ack_type ack, struct rp_remote t4,
	struct rp_outbox *box)
{
	const struct answer *a = &r->answer[slot];
	struct rp_payload msg = {
		.msg_type = RP_MSG_ACK,
		.ack_type = (uint8_t)ack,
		.sequence = a->sequence,
		.t1_ns = a->t1_ns,
		.t3 = a->t3,
		.t4 = t4,
	};

	/* A peer that does not know the field gets the earlier format back. */
	if ((a->flags & RP_PAYLOAD_F_EXT) != 0) {
		msg.flags = RP_PAYLOAD_F_EXT | RP_PAYLOAD_F_LABEL;
		msg.ext = r->conf.generation;
	}
	rp_payload_encode(&msg, box->payload[box->n]);
	box->tx[box->n] = (struct rp_tx){
		.peer = r->source[a->source].peer,
		.payload = box->payload[box->n],
		.cookie = (uint64_t)a->generation << 32 | slot << 1 | (ack == RP_ACK_SECOND),
		.qpn = a->qpn,
		.qkey = RP_PROBER_QKEY,
		.flow_label = a->label,
		.len = RP_PAYLOAD_LEN,
		.tclass = r->conf.tclass,
		.sl = r->conf.sl,
	};
	box->n++;
}

static void
free_answer(struct rp_responder *r, uint32_t slot)
{
	struct answer *a = &r->answer[slot];

	a->busy = false;
	a->generation++;
	r->source[a->source].in_flight--;
	r->free_answer[r->n_free++] = slot;
	r->stats.in_flight--;
}

static void
refuse(struct rp_responder *r, struct source *s, enum rp_refusal why)
{
	r->stats.refused[why]++;
	if (s != NULL)
		s->refused++;
}

static void
start_answer(struct rp_responder *r, uint32_t source, const struct rp_ev *ev,
	const struct rp_payload *msg, struct rp_outbox *box)
{
	bool label_given = (msg->flags & RP_PAYLOAD_F_EXT) != 0 && msg->ext != 0 &&
		msg->ext <= RP_FLOW_LABEL_MAX;
	struct answer *a;
	uint32_t slot;

	if (r->n_free == 0) {
		refuse(r, &r->source[source], RP_REFUSAL_IN_FLIGHT_FULL);
		return;
	}
	slot = r->free_answer[--r->n_free];
	a = &r->answer[slot];
	*a = (struct answer){
		.sequence = msg->sequence,
		.t1_ns = msg->t1_ns,
		.t3_ticks = ev->stamp,
		.t3 = {(uint64_t)rp_rate_to_ns(&r->conf.nic, ev->stamp.ticks)},
		.began = ev->host,
		.source = source,
		.qpn = ev->src_qpn,
		.label = label_given ? msg->ext : r->conf.default_label,
		.generation = a->generation,
		/* Without a usable label the answer does not claim to have used it. */
		.flags = label_given ? RP_PAYLOAD_F_EXT : 0,
		.busy = true,
	};
	r->source[source].in_flight++;
	r->stats.in_flight++;
	put_ack(r, slot, RP_ACK_FIRST, (struct rp_remote){0}, box);
}

/* The answer that the cookie of a datagram or completion names, unless it is over. */
static struct answer *
answer_of(const struct rp_responder *r, uint64_t cookie)
{
	uint32_t slot = (uint32_t)cookie >> 1;
	struct answer *a = slot < r->conf.in_flight ? &r->answer[slot] : NULL;

	return a != NULL && a->busy && a->generation == (uint32_t)(cookie >> 32) ? a : NULL;
}

static void
on_ack_done(struct rp_responder *r, const struct rp_ev *ev, uint64_t window, struct rp_outbox *box,
	struct rp_wants *wants)
{
	uint32_t slot = (uint32_t)ev->cookie >> 1;
	bool second = (ev->cookie & 1) != 0;
	struct answer *a = answer_of(r, ev->cookie);
	struct source *s;
	struct rp_ns delay;

	if (a == NULL) {
		r->stats.stale_completions++;
		return;
	}
	s = &r->source[a->source];
	enter_window(s, window, wants);
	if (ev->kind == RP_EV_TX_ERR) {
		*(second ? &r->stats.ack2_failed : &r->stats.ack1_failed) += 1;
		free_answer(r, slot);
		return;
	}
	if (second) {
		r->stats.ack2_sent++;
		s->ack2_sent++;
		free_answer(r, slot);
		return;
	}
	r->stats.ack1_sent++;
	s->ack1_sent++;
	/* Without T4 there is nothing that ACK 2 could say. */
	if ((ev->flags & RP_EV_F_NO_STAMP) != 0) {
		r->stats.ack2_failed++;
		free_answer(r, slot);
		return;
	}
	delay = rp_nic_elapsed(&r->conf.nic, a->t3_ticks, ev->stamp);
	put_ack(r, slot, RP_ACK_SECOND, (struct rp_remote){a->t3.ns + (uint64_t)delay.v}, box);
}

/* ---- probes ---- */

static bool
take_token(struct rp_responder *r, struct rp_tsc now)
{
	uint64_t since = rp_tsc_since(r->bucket_at, now);

	/* bucket_at trails behind now by what may still be spent. */
	if (since > r->bucket_ticks)
		r->bucket_at.ticks = now.ticks - r->bucket_ticks;
	else if (since < r->period_ticks)
		return false;
	r->bucket_at.ticks += r->period_ticks;
	return true;
}

static bool
is_allowed(const struct rp_responder *r, const struct rp_gid *gid)
{
	uint32_t i;

	if (!r->conf.registered_only)
		return true;
	if (r->allowed == NULL)
		return false;
	for (i = rp_gid_hash(gid, r->hash_seed) & r->allowed_mask; !rp_gid_is_zero(&r->allowed[i]);
		i = (i + 1) & r->allowed_mask)
		if (rp_gid_equal(&r->allowed[i], gid))
			return true;
	return false;
}

/* Checks that need no state of the source, in the order of the protocol. */
static bool
accept_probe(struct rp_responder *r, const struct rp_ev *ev, struct rp_payload *msg)
{
	static const enum rp_refusal by_verdict[RP_PAYLOAD_N] = {
		[RP_PAYLOAD_BAD_LENGTH] = RP_REFUSAL_LENGTH,
		[RP_PAYLOAD_BAD_VERSION] = RP_REFUSAL_VERSION,
		[RP_PAYLOAD_BAD_MSG_TYPE] = RP_REFUSAL_MSG_TYPE,
		[RP_PAYLOAD_BAD_ACK_TYPE] = RP_REFUSAL_ACK_TYPE,
	};
	enum rp_payload_verdict verdict =
		rp_payload_decode(ev->payload, ev->len, RP_PAYLOAD_LEN, msg);

	if (verdict != RP_PAYLOAD_OK) {
		refuse(r, NULL, by_verdict[verdict]);
		return false;
	}
	if ((msg->flags & ~RP_PAYLOAD_F_KNOWN) != 0)
		r->stats.unknown_flags++;
	if (msg->msg_type != RP_MSG_PROBE) {
		refuse(r, NULL, RP_REFUSAL_NOT_PROBE);
		return false;
	}
	if (!rp_gid_is_unicast(&ev->src) || rp_gid_equal(&ev->src, &r->conf.own)) {
		refuse(r, NULL, RP_REFUSAL_SOURCE);
		return false;
	}
	/* QPNs 0 and 1 are the subnet manager's and the GSI's. */
	if (ev->src_qpn <= 1) {
		refuse(r, NULL, RP_REFUSAL_SOURCE_QPN);
		return false;
	}
	if (!is_allowed(r, &ev->src)) {
		refuse(r, NULL, RP_REFUSAL_NOT_REGISTERED);
		return false;
	}
	if (!take_token(r, ev->host)) {
		refuse(r, NULL, RP_REFUSAL_RATE);
		return false;
	}
	return true;
}

static void
park(struct rp_responder *r, uint32_t source, const struct rp_ev *ev)
{
	struct source *s = &r->source[source];
	uint32_t i = r->free_parked;

	if (i == NONE || s->parked == RP_PARKED_PER_PEER) {
		refuse(r, s, RP_REFUSAL_PARK_FULL);
		return;
	}
	r->free_parked = r->parked[i].next_free;
	r->parked[i].ev = *ev;
	r->parked[i].source = source;
	s->parked++;
	r->stats.parked++;
}

static void
unpark(struct rp_responder *r, uint32_t i)
{
	r->source[r->parked[i].source].parked--;
	r->parked[i].source = NONE;
	r->parked[i].next_free = r->free_parked;
	r->free_parked = i;
	r->stats.parked--;
}

static void
on_probe(struct rp_responder *r, const struct rp_ev *ev, uint64_t window, struct rp_outbox *box,
	struct rp_wants *wants)
{
	struct rp_payload msg;
	struct source *s;
	uint32_t i;

	r->stats.received++;
	if (!accept_probe(r, ev, &msg))
		return;
	i = get_source(r, &ev->src, window, wants);
	if (i == NONE) {
		refuse(r, NULL, RP_REFUSAL_SOURCES_FULL);
		return;
	}
	s = &r->source[i];
	enter_window(s, window, wants);
	s->received++;
	if (s->qpn != ev->src_qpn || rp_tsc_since(s->last, ev->host) > r->silence_ticks)
		wants->w[wants->n++] = (struct rp_want){.kind = RP_WANT_SIGN, .gid = s->gid};
	s->qpn = ev->src_qpn;
	s->last = ev->host;
	if (s->state == SOURCE_FAILED) {
		/* Ask again once a second, not for every probe. */
		if (rp_tsc_since(s->failed_at, ev->host) < r->reclaim_ticks) {
			refuse(r, s, RP_REFUSAL_UNRESOLVABLE);
			return;
		}
		s->state = SOURCE_WANTED;
		wants->w[wants->n++] = (struct rp_want){.kind = RP_WANT_PEER, .gid = s->gid};
	}
	if (rp_likely(s->state == SOURCE_HAS_PEER && rp_peer_is_ready(s->peer)))
		start_answer(r, i, ev, &msg, box);
	else
		park(r, i, ev);
}

void
rp_responder_event(struct rp_responder *responder, const struct rp_ev *ev, uint64_t window,
	struct rp_outbox *box, struct rp_wants *wants)
{
	if (ev->kind == RP_EV_RX)
		on_probe(responder, ev, window, box, wants);
	else
		on_ack_done(responder, ev, window, box, wants);
}

void
rp_responder_resolved(
	struct rp_responder *responder, const struct rp_gid *gid, const struct rp_peer *peer)
{
	uint32_t i = find_source(responder, gid);
	struct source *s;

	/* It stays while WANTED, so that a peer handed over is never dropped here. */
	if (i == NONE)
		return;
	s = &responder->source[i];
	s->peer = peer;
	s->state = peer == NULL ? SOURCE_FAILED : SOURCE_HAS_PEER;
	if (peer != NULL)
		return;
	s->failed_at = s->last;
	for (uint32_t p = 0; p < RP_PARKED_MAX; p++) {
		if (responder->parked[p].source != i)
			continue;
		refuse(responder, s, RP_REFUSAL_UNRESOLVABLE);
		unpark(responder, p);
	}
}

static void
tick_parked(struct rp_responder *r, struct rp_tsc now, struct rp_outbox *box)
{
	if (r->stats.parked == 0)
		return;
	for (uint32_t n = 0; n < RP_PARKED_MAX && box->n < RP_BURST; n++) {
		uint32_t i = r->park_cursor++ % RP_PARKED_MAX;
		struct parked *p = &r->parked[i];
		struct rp_payload msg;
		struct source *s;

		if (p->source == NONE)
			continue;
		s = &r->source[p->source];
		if (s->state == SOURCE_HAS_PEER && rp_peer_is_ready(s->peer)) {
			rp_payload_decode(p->ev.payload, p->ev.len, RP_PAYLOAD_LEN, &msg);
			start_answer(r, p->source, &p->ev, &msg, box);
			unpark(r, i);
		} else if (rp_tsc_since(p->ev.host, now) > r->park_ticks) {
			refuse(r, s, RP_REFUSAL_PARK_EXPIRED);
			unpark(r, i);
		}
	}
}

/* Rows of sources that stay silent in the new window. */
static void
sweep_rows(struct rp_responder *r, uint64_t window, struct rp_wants *wants)
{
	if (r->sweep_window != window) {
		r->sweep_window = window;
		r->sweep_left = r->conf.max_sources;
	}
	for (int n = 0; n < ROW_SWEEP && r->sweep_left > 0 && wants->n < RP_WANTS_MAX / 2; n++) {
		struct source *s = &r->source[r->source_cursor++ & (r->conf.max_sources - 1)];

		if (s->state != SOURCE_FREE)
			enter_window(s, window, wants);
		r->sweep_left--;
	}
	if (r->sweep_left == 0)
		r->rows_until = window;
}

void
rp_responder_tick(struct rp_responder *responder, struct rp_tsc now, uint64_t window,
	struct rp_outbox *box, struct rp_wants *wants)
{
	struct rp_responder *r = responder;

	tick_parked(r, now, box);
	for (int n = 0; n < SWEEP && r->stats.in_flight > 0; n++) {
		uint32_t slot = r->answer_cursor++ & (r->conf.in_flight - 1);
		const struct answer *a = &r->answer[slot];

		if (a->busy && rp_tsc_since(a->began, now) > r->reclaim_ticks + r->park_ticks) {
			r->stats.lost_completions++;
			free_answer(r, slot);
		}
	}
	sweep_rows(r, window, wants);
}

int
rp_responder_allow(struct rp_responder *responder, const struct rp_gid *gid, uint32_t n)
{
	struct rp_responder *r = responder;

	if (n > r->conf.max_sources)
		return -ENOSPC;
	memset(r->allowed, 0, (r->allowed_mask + 1) * sizeof(*r->allowed));
	for (uint32_t k = 0; k < n; k++) {
		uint32_t i = rp_gid_hash(&gid[k], r->hash_seed) & r->allowed_mask;

		if (rp_gid_is_zero(&gid[k]))
			continue;
		while (!rp_gid_is_zero(&r->allowed[i]) && !rp_gid_equal(&r->allowed[i], &gid[k]))
			i = (i + 1) & r->allowed_mask;
		r->allowed[i] = gid[k];
	}
	return 0;
}

bool
rp_responder_is_current(const struct rp_responder *responder, const struct rp_tx *tx)
{
	return answer_of(responder, tx->cookie) != NULL;
}

void
rp_responder_dropped(struct rp_responder *responder, const struct rp_tx *tx)
{
	bool second = (tx->cookie & 1) != 0;

	if (answer_of(responder, tx->cookie) == NULL)
		return;
	*(second ? &responder->stats.ack2_failed : &responder->stats.ack1_failed) += 1;
	free_answer(responder, (uint32_t)tx->cookie >> 1);
}

/* ---- life ---- */

static bool
conf_is_valid(const struct rp_responder_conf *conf)
{
	return rp_is_pow2(conf->max_sources) && conf->max_sources >= 2 &&
		conf->max_sources <= SOURCES_MAX && rp_is_pow2(conf->in_flight) &&
		conf->in_flight >= 2 && conf->in_flight <= IN_FLIGHT_MAX && conf->max_pps >= 1 &&
		conf->max_pps <= 10000000 && conf->generation != 0 && conf->default_label != 0 &&
		conf->default_label <= RP_FLOW_LABEL_MAX;
}

static void
fill_free_lists(struct rp_responder *r)
{
	for (uint32_t i = 0; i < r->conf.max_sources; i++) {
		r->bucket[i] = NONE;
		r->source[i].hash_next = i + 1 < r->conf.max_sources ? i + 1 : NONE;
	}
	r->oldest = r->newest = NONE;
	for (uint32_t i = 0; i < r->conf.in_flight; i++)
		r->free_answer[r->n_free++] = r->conf.in_flight - 1 - i;
	for (uint32_t i = 0; i < RP_PARKED_MAX; i++) {
		r->parked[i].source = NONE;
		r->parked[i].next_free = i + 1 < RP_PARKED_MAX ? i + 1 : NONE;
	}
}

int
rp_responder_create(const struct rp_responder_conf *conf, struct rp_responder **ret_responder)
{
	struct rp_responder *r;

	if (!conf_is_valid(conf))
		return -EINVAL;
	r = calloc(1, sizeof(*r));
	if (r == NULL)
		return -ENOMEM;
	r->conf = *conf;
	r->allowed_mask = 2 * conf->max_sources - 1;
	r->source = calloc(conf->max_sources, sizeof(*r->source));
	r->bucket = calloc(conf->max_sources, sizeof(*r->bucket));
	r->answer = calloc(conf->in_flight, sizeof(*r->answer));
	r->free_answer = calloc(conf->in_flight, sizeof(*r->free_answer));
	r->parked = aligned_alloc(RP_CACHE_LINE, RP_PARKED_MAX * sizeof(*r->parked));
	r->allowed = calloc((size_t)r->allowed_mask + 1, sizeof(*r->allowed));
	if (r->source == NULL || r->bucket == NULL || r->answer == NULL || r->free_answer == NULL ||
		r->parked == NULL || r->allowed == NULL) {
		rp_responder_destroy(r);
		return -ENOMEM;
	}
	fill_free_lists(r);
	rp_random_bytes(&r->hash_seed, sizeof(r->hash_seed));
	r->period_ticks = rp_rate_to_ticks(&conf->host, RP_NS_PER_S) / conf->max_pps;
	r->bucket_ticks = rp_rate_to_ticks(&conf->host, BUCKET_NS);
	if (r->bucket_ticks < r->period_ticks)
		r->bucket_ticks = r->period_ticks;
	r->reclaim_ticks = rp_rate_to_ticks(&conf->host, RECLAIM_NS);
	r->silence_ticks = rp_rate_to_ticks(&conf->host, RP_SILENCE_NS);
	r->park_ticks = rp_rate_to_ticks(&conf->host, RP_PARKED_NS);
	*ret_responder = r;
	return 0;
}

void
rp_responder_destroy(struct rp_responder *responder)
{
	if (responder == NULL)
		return;
	free(responder->source);
	free(responder->bucket);
	free(responder->answer);
	free(responder->free_answer);
	free(responder->parked);
	free(responder->allowed);
	free(responder);
}

const struct rp_responder_stats *
rp_responder_stats(const struct rp_responder *responder)
{
	return &responder->stats;
}

uint64_t
rp_responder_rows_until(const struct rp_responder *responder)
{
	return responder->rows_until;
}

bool
rp_responder_is_idle(const struct rp_responder *responder)
{
	return responder->stats.in_flight == 0 && responder->stats.parked == 0;
}
