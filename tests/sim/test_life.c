/* SPDX-License-Identifier: BSD-3-Clause */

/* Every way a probe can end, over the loop fabric; the sent equation at each turn. */

#include <errno.h>

#include "rig.h"
#include "ut.h"

#define US RP_NS_PER_US
#define MS RP_NS_PER_MS
#define S  RP_NS_PER_S

static struct rig rig;

/* Two hosts; host 0 probes host 1 at @pps. */
static void
start(uint32_t pps)
{
	struct rig_host_conf conf = {0};

	rig_open(&rig, ut_seed);
	rig_add(&rig, &conf);
	rig_add(&rig, &conf);
	rig_probe(&rig, 0, 1, pps, 8);
}

static uint64_t
state(enum rp_state s)
{
	return rig_stats(&rig, 0)->counts.state[s];
}

static uint64_t
extra(enum rp_extra e)
{
	return rig_stats(&rig, 0)->counts.extra[e];
}

/* A filter by what a datagram is. */
struct script {
	enum {
		PROBE,
		ACK1,
		ACK2
	} what;
	uint32_t every; /* of that kind: 1 = each */
	uint32_t seen;
	struct rp_loop_action action;
	bool only_from_0;
};

static void
run_script(void *arg, const struct rp_loop_dgram *dgram, struct rp_loop_action *action)
{
	struct script *s = arg;
	struct rp_payload msg;
	int what;

	if (rp_payload_decode(dgram->payload, dgram->len, RP_PAYLOAD_LEN, &msg) != RP_PAYLOAD_OK)
		return;
	what = msg.msg_type == RP_MSG_PROBE ? PROBE : msg.ack_type == RP_ACK_FIRST ? ACK1 : ACK2;
	if (what == (int)s->what && ++s->seen % s->every == 0)
		*action = s->action;
}

static void
life__random_loss_delay_duplicates_and_order__equation_holds_and_all_settle(void)
{
	struct rp_loop_rule rule = {.path = {.delay_ns = 10 * US,
					    .jitter_ns = 300 * MS,
					    .loss_ppm = 150000,
					    .duplicate_ppm = 100000,
					    .reorder_ppm = 200000,
					    .reorder_ns = 300 * MS}};

	start(500);
	UT_OK(rp_loop_rule_add(rig.fabric, &rule));
	rig_run(&rig, 6 * S, 1 * MS);
	UT_OK(rp_prober_remove(rig.host[0].prober, 1, &(struct rp_results){0}));
	rig_run(&rig, 2 * S, 1 * MS);

	UT_EQ(rig_stats(&rig, 0)->pending, 0);
	UT_TRUE(rp_prober_is_idle(rig.host[0].prober));
	UT_TRUE(state(RP_STATE_OK) > 100);
	UT_TRUE(state(RP_STATE_LOST) > 100);
	UT_TRUE(state(RP_STATE_ACK1_LOST) > 10);
	UT_TRUE(state(RP_STATE_ACK2_LOST) > 10);
	UT_TRUE(extra(RP_EXTRA_LATE) > 100);
	UT_TRUE(extra(RP_EXTRA_LATE_ACK2) > 10);
	UT_TRUE(extra(RP_EXTRA_LATE) <= state(RP_STATE_LOST) + state(RP_STATE_ACK1_LOST));
	UT_TRUE(extra(RP_EXTRA_LATE_ACK2) <= state(RP_STATE_ACK2_LOST));
	UT_TRUE(extra(RP_EXTRA_DUPLICATE) > 10);
	UT_TRUE(extra(RP_EXTRA_REORDERED) > 10);
	UT_EQ(state(RP_STATE_SUSPENDED), 0);
	rig_close(&rig);
}

static void
ack1_lost__only_first_acks_dropped__told_from_ack2_lost(void)
{
	struct script s = {.what = ACK1, .every = 4, .action.drop = true};

	start(200);
	rp_loop_filter_set(rig.fabric, run_script, &s);
	rig_run(&rig, 4 * S, 200 * US);
	UT_TRUE(state(RP_STATE_ACK1_LOST) > 150);
	UT_EQ(state(RP_STATE_ACK2_LOST), 0);
	UT_EQ(state(RP_STATE_LOST), 0);
	/* The last half second of them is still pending. */
	UT_TRUE(s.seen / 4 - state(RP_STATE_ACK1_LOST) <= 26);
	rig_close(&rig);

	s = (struct script){.what = ACK2, .every = 4, .action.drop = true};
	start(200);
	rp_loop_filter_set(rig.fabric, run_script, &s);
	rig_run(&rig, 4 * S, 200 * US);
	UT_TRUE(state(RP_STATE_ACK2_LOST) > 150);
	UT_EQ(state(RP_STATE_ACK1_LOST), 0);
	UT_EQ(state(RP_STATE_LOST), 0);
	rig_close(&rig);
}

static void
late__answers_after_the_deadline__lost_once_late_once_with_rtt(void)
{
	struct script s = {.what = ACK1, .every = 3, .action.delay_ns = 700 * MS};
	uint64_t with_rtt = 0;

	start(100);
	rp_loop_filter_set(rig.fabric, run_script, &s);
	rig_run(&rig, 5 * S, 500 * US);
	UT_TRUE(state(RP_STATE_ACK1_LOST) > 100);
	/* The answer to the last few is still under way. */
	UT_TRUE(state(RP_STATE_ACK1_LOST) - extra(RP_EXTRA_LATE) <= 8);
	for (uint32_t i = 0; i < rig.host[0].n_results; i++) {
		const struct rp_result *r = &rig.host[0].result[i];

		if (r->kind != RP_RESULT_LATE)
			continue;
		/* Stamps say when: on the wire 700 ms, whatever the deadline was. */
		UT_EQ(r->rtt_ns, 700 * MS);
		with_rtt++;
	}
	UT_EQ(with_rtt, extra(RP_EXTRA_LATE));
	rig_close(&rig);
}

static void
late__beyond_the_second_timeout__is_unmatched(void)
{
	struct script s = {.what = ACK2, .every = 1, .action.delay_ns = 1200 * MS};

	start(50);
	rp_loop_filter_set(rig.fabric, run_script, &s);
	rig_run(&rig, 4 * S, 1 * MS);
	UT_EQ(extra(RP_EXTRA_LATE), 0);
	UT_TRUE(rig_stats(&rig, 0)->unmatched[RP_UNMATCHED_UNKNOWN] > 100);
	rig_close(&rig);
}

static void
duplicate__each_ack_twice__counted_and_nothing_changes(void)
{
	struct script s = {.what = ACK1, .every = 1, .action.duplicates = 2};

	start(100);
	rp_loop_filter_set(rig.fabric, run_script, &s);
	rig_run(&rig, 2 * S, 200 * US);
	UT_TRUE(state(RP_STATE_OK) >= 198);
	/* Of the last probe perhaps before it is complete. */
	UT_TRUE(extra(RP_EXTRA_DUPLICATE) - 2 * state(RP_STATE_OK) <= 2);
	rig_close(&rig);
}

static void
reordered__ack2_before_ack1__still_ok(void)
{
	struct script s = {.what = ACK1, .every = 1, .action.delay_ns = 5 * MS};

	start(100);
	rp_loop_filter_set(rig.fabric, run_script, &s);
	rig_run(&rig, 2 * S, 200 * US);
	UT_TRUE(state(RP_STATE_OK) >= 195);
	UT_EQ(extra(RP_EXTRA_REORDERED), state(RP_STATE_OK));
	rig_close(&rig);
}

static void
own_completion_last__acks_first__still_ok(void)
{
	struct script s = {.what = PROBE, .every = 1, .action.done_delay_ns = 20 * MS};

	start(100);
	rp_loop_filter_set(rig.fabric, run_script, &s);
	rig_run(&rig, 2 * S, 200 * US);
	UT_TRUE(state(RP_STATE_OK) >= 190);
	UT_EQ(rp_counts_settled(&rig_stats(&rig, 0)->counts), state(RP_STATE_OK));
	rig_close(&rig);
}

static void
own_completion_missing__invalid_by_reason(void)
{
	struct script s = {.what = PROBE, .every = 2, .action.no_tx_stamp = true};

	start(100);
	rp_loop_filter_set(rig.fabric, run_script, &s);
	rig_run(&rig, 2 * S, 200 * US);
	UT_TRUE(state(RP_STATE_INVALID) >= 95);
	UT_EQ(rig_stats(&rig, 0)->invalid[RP_INVALID_STAMP], state(RP_STATE_INVALID));
	rig_close(&rig);

	s = (struct script){.what = PROBE, .every = 2, .action.done_delay_ns = 5 * S};
	start(100);
	rp_loop_filter_set(rig.fabric, run_script, &s);
	rig_run(&rig, 2 * S, 200 * US);
	UT_TRUE(rig_stats(&rig, 0)->invalid[RP_INVALID_STAMP] >= 70);
	rig_run(&rig, 5 * S, 1 * MS);
	UT_TRUE(rig_stats(&rig, 0)->stale_completions >= 95);
	rig_close(&rig);
}

static void
send_error__completion_with_error__is_local(void)
{
	struct script s = {.what = PROBE, .every = 5, .action = {.tx_error = true, .tx_status = 5}};

	start(100);
	rp_loop_filter_set(rig.fabric, run_script, &s);
	rig_run(&rig, 2 * S, 200 * US);
	UT_TRUE(state(RP_STATE_SEND_ERROR) >= 38);
	UT_EQ(rig_stats(&rig, 0)->send_error[RP_SEND_ERROR_COMPLETION], state(RP_STATE_SEND_ERROR));
	UT_EQ(state(RP_STATE_LOST), 0);
	rig_close(&rig);
}

static void
send_error__queue_or_table_full__is_local(void)
{
	struct rig_host_conf conf = {.tx_depth = 4};
	struct script s = {.what = PROBE, .every = 1, .action.done_delay_ns = 100 * MS};

	rig_open(&rig, ut_seed);
	rig_add(&rig, &conf);
	conf.tx_depth = 256;
	rig_add(&rig, &conf);
	rig_probe(&rig, 0, 1, 1000, 1);
	rp_loop_filter_set(rig.fabric, run_script, &s);
	rig_run(&rig, 1 * S, 500 * US);
	UT_TRUE(rig_stats(&rig, 0)->send_error[RP_SEND_ERROR_QUEUE_FULL] > 900);
	rig_close(&rig);

	conf = (struct rig_host_conf){.slots = 64};
	rig_open(&rig, ut_seed);
	rig_add(&rig, &conf);
	rig_add(&rig, &conf);
	rig_probe(&rig, 0, 1, 1000, 1);
	rig_run(&rig, 1 * S, 500 * US);
	UT_TRUE(rig_stats(&rig, 0)->send_error[RP_SEND_ERROR_NO_SLOT] > 800);
	rig_close(&rig);
}

static void
suspended__stop_for_ten_seconds__no_loss_no_burst(void)
{
	struct rig_host *h;
	uint64_t attempted;

	start(10);
	rig_run(&rig, 3 * S, 1 * MS);
	attempted = rig_stats(&rig, 0)->attempted;
	h = &rig.host[0];
	/* One probe on its way when the host stops. */
	while (rig_stats(&rig, 0)->pending == 0)
		rig_run(&rig, 100 * US, 100 * US);
	h->max_burst = 0;
	h->stopped = true;
	rig_run(&rig, 10 * S, 1 * MS);
	h->stopped = false;
	rig_run(&rig, 3 * S, 1 * MS);

	UT_TRUE(state(RP_STATE_SUSPENDED) >= 1);
	UT_EQ(state(RP_STATE_LOST), 0);
	UT_EQ(state(RP_STATE_ACK1_LOST) + state(RP_STATE_ACK2_LOST), 0);
	UT_EQ(h->max_burst, 1);
	UT_EQ(rig_stats(&rig, 0)->stalls, 1);
	UT_TRUE(rig_stats(&rig, 0)->attempted - attempted <= 32);
	UT_TRUE(rig_stats(&rig, 0)->schedule_skipped >= 98 &&
		rig_stats(&rig, 0)->schedule_skipped <= 101);
	rig_close(&rig);
}

static void
suspended__a_gap_below_a_quarter_timeout__is_none(void)
{
	start(100);
	rig_run(&rig, 1 * S, 120 * MS);
	UT_EQ(rig_stats(&rig, 0)->stalls, 0);
	rig_run(&rig, 1 * S, 126 * MS);
	UT_TRUE(rig_stats(&rig, 0)->stalls >= 7);
	rig_close(&rig);
}

static void
unresolved__silent_address__evidence_after_a_second(void)
{
	struct rig_host_conf conf = {0};

	rig_open(&rig, ut_seed);
	rig_add(&rig, &conf);
	/* Nobody has address 10.0.0.6. */
	rig_probe(&rig, 0, 5, 10, 1);
	rig_run(&rig, 900 * MS, 1 * MS);
	UT_EQ(rig_stats(&rig, 0)->attempted, 0);
	rig_run(&rig, 5 * S, 1 * MS);
	UT_TRUE(state(RP_STATE_UNRESOLVED) >= 47 && state(RP_STATE_UNRESOLVED) <= 50);
	UT_EQ(rp_counts_settled(&rig_stats(&rig, 0)->counts), state(RP_STATE_UNRESOLVED));
	rig_close(&rig);
}

static void
lost__peer_dies_after_it_was_resolved__is_loss(void)
{
	start(10);
	rig_run(&rig, 1 * S, 1 * MS);
	rp_loop_port_link_set(rig.host[1].port, false);
	rig_run(&rig, 5 * S, 1 * MS);
	UT_TRUE(state(RP_STATE_LOST) >= 40);
	UT_EQ(state(RP_STATE_UNRESOLVED), 0);
	rig_close(&rig);
}

static void
parked__probe_before_the_reply_address__answered_inside_the_responder_delay(void)
{
	uint64_t longest = 0;

	start(100);
	rig.host[1].hold_peers = true;
	rig_run(&rig, 35 * MS, 500 * US);
	UT_TRUE(rp_responder_stats(rig.host[1].responder)->parked >= 2);
	rig.host[1].hold_peers = false;
	rig_run(&rig, 100 * MS, 500 * US);
	UT_EQ(rp_responder_stats(rig.host[1].responder)->parked, 0);
	UT_TRUE(state(RP_STATE_OK) >= 8);
	for (uint32_t i = 0; i < rig.host[0].n_results; i++) {
		UT_EQ(rig.host[0].result[i].rtt_ns, 0);
		longest = rp_max_u64(longest, (uint64_t)rig.host[0].result[i].responder_ns);
	}
	UT_TRUE(longest > 5 * MS);
	rig_close(&rig);
}

static void
parked__more_than_four_or_too_long__refused_by_name(void)
{
	const struct rp_responder_stats *r;

	start(100);
	rig.host[1].hold_peers = true;
	r = rp_responder_stats(rig.host[1].responder);
	rig_run(&rig, 200 * MS, 1 * MS);
	UT_EQ(r->parked, RP_PARKED_PER_PEER);
	UT_TRUE(r->refused[RP_REFUSAL_PARK_FULL] >= 14);
	rig_run(&rig, 2 * S, 1 * MS);
	UT_TRUE(r->refused[RP_REFUSAL_PARK_EXPIRED] >= 4);
	rig_close(&rig);
}

static void
answer__reclaimed_while_it_waits__neither_sent_nor_freed_twice(void)
{
	struct rp_wants wants = {0};
	struct rp_outbox box = {0};
	struct rp_payload msg = {.msg_type = RP_MSG_PROBE, .sequence = 1};
	struct rp_ev ev = {.kind = RP_EV_RX, .role = RP_ROLE_RESPONDER, .len = RP_PAYLOAD_LEN};
	const struct rp_responder_stats *st;
	struct rp_responder *r;

	start(100);
	rig_run(&rig, 100 * MS, 1 * MS);
	/* None of its own beside the one made by hand. */
	UT_OK(rp_prober_remove(rig.host[0].prober, 1, &(struct rp_results){0}));
	rig_run(&rig, 100 * MS, 1 * MS);
	r = rig.host[1].responder;
	st = rp_responder_stats(r);
	rp_payload_encode(&msg, ev.payload);
	ev.src = rig_gid(0);
	ev.src_qpn = 99;
	ev.host = rp_loop_host_now(rig.host[1].port);
	ev.stamp = rp_loop_port_now(rig.host[1].port);
	rp_responder_event(r, &ev, 0, &box, &wants);
	UT_EQ(box.n, 1);
	UT_EQ_U(st->in_flight, 1);
	UT_TRUE(rp_responder_is_current(r, &box.tx[0]));
	/* Three seconds in which the transport takes nothing. */
	for (uint32_t n = 0; n < 256; n++)
		rp_responder_tick(
			r, rp_tsc_add(ev.host, 4000000000u), 0, &(struct rp_outbox){0}, &wants);
	UT_EQ_U(st->lost_completions, 1);
	UT_EQ_U(st->in_flight, 0);
	UT_FALSE(rp_responder_is_current(r, &box.tx[0]));
	rp_responder_dropped(r, &box.tx[0]);
	UT_EQ_U(st->in_flight, 0);
	UT_EQ_U(st->ack1_failed, 0);
	/* One that is dropped in time is counted and freed once. */
	box.n = 0;
	rp_responder_event(r, &ev, 0, &box, &wants);
	rp_responder_dropped(r, &box.tx[0]);
	rp_responder_dropped(r, &box.tx[0]);
	UT_EQ_U(st->in_flight, 0);
	UT_EQ_U(st->ack1_failed, 1);
	rig_close(&rig);
}

static void
own_completion_after_the_deadline__not_ok_but_late(void)
{
	struct script s = {.what = PROBE, .every = 1, .action.done_delay_ns = 700 * MS};

	start(5);
	rp_loop_filter_set(rig.fabric, run_script, &s);
	/* Turns so far apart that the completion comes before the deadline is looked at. */
	rig_run(&rig, 5 * S, 110 * MS);
	UT_EQ(state(RP_STATE_OK), 0);
	UT_TRUE(rig_stats(&rig, 0)->invalid[RP_INVALID_STAMP] > 10);
	rig_close(&rig);
}

static void
forget_generation(struct rp_target *t)
{
	t->generation = 77;
}

static void
generation__known_and_seen__are_both_reported(void)
{
	struct rig_host_conf conf = {.generation = 99};

	rig_open(&rig, ut_seed);
	rig_add(&rig, &(struct rig_host_conf){0});
	rig_add(&rig, &conf);
	rig_probe_edit(&rig, 0, 1, 100, 1, forget_generation);
	rig_run(&rig, 100 * MS, 200 * US);
	UT_EQ(rig.host[0].result[0].generation, 77);
	UT_EQ(rig.host[0].result[0].seen_generation, 99);
	rig_close(&rig);
}

static void
generation__responder_restarts_between_the_acks__invalid(void)
{
	struct rp_results out = {0};
	struct rp_outbox box = {0};
	struct rp_payload msg;
	struct rp_ev ev = {.kind = RP_EV_RX, .role = RP_ROLE_PROBER, .len = RP_PAYLOAD_LEN};
	struct rig_host *h;
	struct rp_tsc now = {0};

	start(1000);
	rig.host[1].responder_off = true;
	h = &rig.host[0];
	rig_run(&rig, 3 * MS, 500 * US);
	now = rp_loop_host_now(h->port);
	rp_prober_send(h->prober, now, &box, &out);
	UT_TRUE(rig_stats(&rig, 0)->pending > 0);
	/* The first probe, answered by hand from two generations. */
	for (int ack = 1; ack <= 2; ack++) {
		msg = (struct rp_payload){.msg_type = RP_MSG_ACK,
			.ack_type = (uint8_t)ack,
			.flags = RP_PAYLOAD_F_EXT,
			.sequence = (uint64_t)0xE0000000u << 32,
			.t3 = {10},
			.t4 = {20},
			.ext = 40 + (uint32_t)ack};
		rp_payload_encode(&msg, ev.payload);
		ev.src = rig_gid(1);
		ev.src_qpn = rig.host[1].qp[RP_ROLE_RESPONDER]->qpn;
		ev.host = now;
		ev.stamp = rp_loop_port_now(h->port);
		rp_prober_event(h->prober, &ev, now, &out);
	}
	UT_EQ(rig_stats(&rig, 0)->invalid[RP_INVALID_GENERATION], 1);
	rig_close(&rig);
}

static void
ack__from_another_peer_epoch_or_of_no_probe__unmatched_by_reason(void)
{
	struct rp_results out = {0};
	struct rp_ev ev = {.kind = RP_EV_RX, .role = RP_ROLE_PROBER, .len = RP_PAYLOAD_LEN};
	struct rp_payload msg = {.msg_type = RP_MSG_ACK,
		.ack_type = RP_ACK_FIRST,
		.sequence = (uint64_t)0xE0000000u << 32};
	const struct rp_prober_stats *st;
	struct rig_host *h;
	struct rp_tsc now;

	start(1000);
	rig.host[1].responder_off = true;
	rig_run(&rig, 3 * MS, 500 * US);
	h = &rig.host[0];
	st = rig_stats(&rig, 0);
	now = rp_loop_host_now(h->port);
	rp_payload_encode(&msg, ev.payload);
	ev.host = now;
	ev.src = rig_gid(2);
	ev.src_qpn = rig.host[1].qp[RP_ROLE_RESPONDER]->qpn;
	rp_prober_event(h->prober, &ev, now, &out);
	UT_EQ(st->unmatched[RP_UNMATCHED_PEER], 1);
	ev.src = rig_gid(1);
	ev.src_qpn++;
	rp_prober_event(h->prober, &ev, now, &out);
	UT_EQ(st->unmatched[RP_UNMATCHED_PEER], 2);
	msg.sequence = (uint64_t)0xE0000001u << 32;
	rp_payload_encode(&msg, ev.payload);
	rp_prober_event(h->prober, &ev, now, &out);
	UT_EQ(st->unmatched[RP_UNMATCHED_EPOCH], 1);
	msg.sequence = (uint64_t)0xE0000000u << 32 | 5000;
	rp_payload_encode(&msg, ev.payload);
	rp_prober_event(h->prober, &ev, now, &out);
	UT_EQ(st->unmatched[RP_UNMATCHED_UNKNOWN], 1);
	msg = (struct rp_payload){.msg_type = RP_MSG_PROBE, .flags = 0x80};
	rp_payload_encode(&msg, ev.payload);
	rp_prober_event(h->prober, &ev, now, &out);
	UT_EQ(st->unmatched[RP_UNMATCHED_NOT_ACK], 1);
	UT_EQ(st->unknown_flags, 1);
	for (int v = RP_PAYLOAD_BAD_LENGTH; v < RP_PAYLOAD_N; v++) {
		static const uint16_t len[] = {0, 39, 40, 40, 40};
		static const uint8_t head[][3] = {{0}, {1, 0, 0}, {2, 0, 0}, {1, 2, 0}, {1, 1, 3}};

		ev.len = len[v];
		memcpy(ev.payload, head[v], 3);
		rp_prober_event(h->prober, &ev, now, &out);
		UT_EQ(st->bad_payload[v], 1);
	}
	rig_close(&rig);
}

static void
pacing__a_dead_peer_beside__changes_no_other_cadence(void)
{
	struct rig_host_conf conf = {0};
	uint64_t to[RIG_HOSTS_MAX] = {0};

	rig_open(&rig, ut_seed);
	for (int i = 0; i < 4; i++)
		rig_add(&rig, &conf);
	rig.host[2].stopped = true;
	rig_probe(&rig, 0, 1, 10, 8);
	rig_probe(&rig, 0, 2, 10, 8);
	rig_probe(&rig, 0, 3, 1, 8);
	rig_run(&rig, 30 * S, 1 * MS);
	rig_run(&rig, 600 * MS, 1 * MS);
	for (uint32_t i = 0; i < rig.host[0].n_results; i++)
		if (rig.host[0].result[i].at.t1.ticks < (uint64_t)(30 * S))
			to[rig.host[0].result[i].slot] +=
				rig.host[0].result[i].kind == RP_RESULT_SETTLED;
	UT_TRUE(to[1] >= 299 && to[1] <= 301);
	UT_TRUE(to[2] >= 299 && to[2] <= 301);
	UT_TRUE(to[3] >= 29 && to[3] <= 31);
	rig_close(&rig);
}

static void
target__replaced_with_a_new_qpn__keeps_phase_and_labels(void)
{
	uint64_t before, after;

	start(10);
	rig_run(&rig, 1 * S, 1 * MS);
	before = rig_stats(&rig, 0)->attempted;
	rig_probe(&rig, 0, 1, 10, 8);
	UT_EQ(rig.host[0].n_retired, 1);
	UT_EQ(rig_stats(&rig, 0)->targets, 1);
	rig_run(&rig, 1 * S, 1 * MS);
	after = rig_stats(&rig, 0)->attempted;
	UT_EQ(after - before, 10);
	rig_close(&rig);
}

static void
target__removed__retired_when_nothing_is_in_flight(void)
{
	struct rp_results out = {0};
	struct rp_target *t;

	start(100);
	rig_run(&rig, 1 * S, 1 * MS);
	UT_OK(rp_prober_remove(rig.host[0].prober, 1, &out));
	UT_EQ(out.n, 0);
	UT_EQ(rp_prober_remove(rig.host[0].prober, 1, &out), -ENOENT);
	UT_EQ(rp_prober_remove(rig.host[0].prober, 7, &out), -ENOENT);
	UT_EQ(rp_prober_remove(rig.host[0].prober, 700, &out), -ENOENT);
	rig_run(&rig, 1100 * MS, 1 * MS);
	UT_EQ(rig.host[0].n_retired, 1);
	t = rp_target_create(1);
	t->slot = RIG_HOSTS_MAX;
	UT_EQ(rp_prober_put(rig.host[0].prober, t, (struct rp_tsc){0}, &out), -ENOSPC);
	t->slot = 0;
	UT_EQ(rp_prober_put(rig.host[0].prober, t, (struct rp_tsc){0}, &out), -EINVAL);
	rp_target_destroy(t);
	UT_TRUE(rp_target_create(0) == NULL);
	UT_TRUE(rp_target_create(RP_FLOW_LABELS_MAX + 1) == NULL);
	rig_close(&rig);
}

static void
labels__k_labels__k_forward_ports_and_all_pairs(void)
{
	bool pair[8][8] = {{false}};
	uint16_t fwd[8], rev[8];
	uint32_t n_fwd = 0, n_rev = 0, pairs = 0;

	start(100);
	rig_run(&rig, 2 * S, 200 * US);
	for (uint32_t i = 0; i < rig.host[0].n_results; i++) {
		const struct rp_result *r = &rig.host[0].result[i];
		uint32_t f = 0, v = 0;

		UT_TRUE(r->reply_known);
		while (f < n_fwd && fwd[f] != r->sport)
			f++;
		while (v < n_rev && rev[v] != r->reply_sport)
			v++;
		if (!UT_TRUE(f < 8 && v < 8))
			break;
		if (f == n_fwd)
			fwd[n_fwd++] = r->sport;
		if (v == n_rev)
			rev[n_rev++] = r->reply_sport;
		pairs += !pair[f][v];
		pair[f][v] = true;
	}
	UT_EQ(n_fwd, 8);
	UT_EQ(n_rev, 8);
	UT_EQ(pairs, 64);
	rig_close(&rig);
}

static const struct ut_test tests[] = {
	UT(life__random_loss_delay_duplicates_and_order__equation_holds_and_all_settle),
	UT(ack1_lost__only_first_acks_dropped__told_from_ack2_lost),
	UT(late__answers_after_the_deadline__lost_once_late_once_with_rtt),
	UT(late__beyond_the_second_timeout__is_unmatched),
	UT(duplicate__each_ack_twice__counted_and_nothing_changes),
	UT(reordered__ack2_before_ack1__still_ok),
	UT(own_completion_last__acks_first__still_ok),
	UT(own_completion_missing__invalid_by_reason),
	UT(send_error__completion_with_error__is_local),
	UT(send_error__queue_or_table_full__is_local),
	UT(suspended__stop_for_ten_seconds__no_loss_no_burst),
	UT(suspended__a_gap_below_a_quarter_timeout__is_none),
	UT(unresolved__silent_address__evidence_after_a_second),
	UT(lost__peer_dies_after_it_was_resolved__is_loss),
	UT(parked__probe_before_the_reply_address__answered_inside_the_responder_delay),
	UT(parked__more_than_four_or_too_long__refused_by_name),
	UT(answer__reclaimed_while_it_waits__neither_sent_nor_freed_twice),
	UT(own_completion_after_the_deadline__not_ok_but_late),
	UT(generation__known_and_seen__are_both_reported),
	UT(generation__responder_restarts_between_the_acks__invalid),
	UT(ack__from_another_peer_epoch_or_of_no_probe__unmatched_by_reason),
	UT(pacing__a_dead_peer_beside__changes_no_other_cadence),
	UT(target__replaced_with_a_new_qpn__keeps_phase_and_labels),
	UT(target__removed__retired_when_nothing_is_in_flight),
	UT(labels__k_labels__k_forward_ports_and_all_pairs),
};

UT_MAIN("life", tests)
