/* SPDX-License-Identifier: BSD-3-Clause */

#include "rig.h"

#include <stdio.h>
#include <stdlib.h>

#include "ut.h"

struct rp_gid
rig_gid(uint32_t i)
{
	return rp_gid_from_ipv4((uint8_t[]){10, 0, 0, (uint8_t)(i + 1)});
}

static void
must(int rc, const char *what)
{
	if (rc == 0)
		return;
	printf("rig: %s: %d\n", what, rc);
	abort();
}

void
rig_open(struct rig *rig, uint64_t seed)
{
	*rig = (struct rig){.check = true};
	must(rp_loop_fabric_open(seed, 65536, &rig->fabric), "fabric");
}

static void
open_qps(struct rig_host *h)
{
	char why[RP_OPT_WHY_MAX];
	uint32_t depth = h->conf.tx_depth == 0 ? 256 : h->conf.tx_depth;

	for (int role = 0; role < RP_ROLE_N; role++) {
		struct rp_qp_conf conf = {
			.role = (enum rp_role)role,
			.qkey = role == RP_ROLE_PROBER ? RP_PROBER_QKEY : h->conf.qkey,
			.tx_depth = depth,
		};

		must(h->port->ops->qp_open(h->port, &conf, &h->qp[role], why), "qp_open");
	}
}

static void
open_machines(struct rig_host *h, uint32_t index)
{
	struct rp_prober_conf prober = {
		.sample = {h->clock.rate, h->port->caps.rate, RIG_TIMEOUT_NS, RP_CLOCK_ERROR_PPB},
		.hw_stamps = !h->conf.software_stamps,
		.slots = h->conf.slots == 0 ? 1024 : h->conf.slots,
		.max_targets = RIG_HOSTS_MAX,
		.seed = ut_seed + index,
		.epoch = 0xE0000000u + index,
	};
	struct rp_responder_conf responder = {
		.host = h->clock.rate,
		.nic = h->port->caps.rate,
		.own = h->port->gid,
		.generation = h->conf.generation == 0 ? 1 + index : h->conf.generation,
		.max_sources = h->conf.max_sources == 0 ? 64 : h->conf.max_sources,
		.in_flight = 256,
		.max_pps = h->conf.max_pps == 0 ? 1000000 : h->conf.max_pps,
		.registered_only = h->conf.registered_only,
		.default_label = 0x12345,
	};

	must(rp_prober_create(&prober, &h->prober), "prober");
	must(rp_responder_create(&responder, &h->responder), "responder");
}

struct rig_host *
rig_add(struct rig *rig, const struct rig_host_conf *conf)
{
	struct rig_host *h = &rig->host[rig->n];
	struct rp_port_conf port = {.device = "loop",
		.prefix_len = 24,
		.rx_depth = 1024,
		.max_peers = 128,
		.gid_index = -1,
		.numa_node = -1,
		.one_lcore = true};
	char why[RP_OPT_WHY_MAX];

	h->conf = *conf;
	if (h->conf.host.hz == 0)
		h->conf.host.hz = 1000000000;
	if (h->conf.qkey == 0)
		h->conf.qkey = 0x1000 + rig->n;
	h->clock = rp_loop_host_clock(h->conf.host.hz);
	h->loop = (struct rp_loop_conf){
		rig->fabric, h->conf.nic, h->conf.host, h->conf.software_stamps};
	port.gid = rig_gid(rig->n);
	port.clock = &h->clock;
	port.driver_data = &h->loop;
	must(rp_loop_ops.open(&port, &h->port, why), "port");
	open_qps(h);
	open_machines(h, rig->n);
	h->result = malloc(RIG_RESULTS_MAX * sizeof(*h->result));
	h->drained_at = rp_loop_host_now(h->port);
	rig->n++;
	return h;
}

void
rig_close(struct rig *rig)
{
	for (uint32_t i = 0; i < rig->n; i++) {
		struct rig_host *h = &rig->host[i];

		rp_prober_destroy(h->prober);
		rp_responder_destroy(h->responder);
		for (int role = 0; role < RP_ROLE_N; role++)
			h->port->ops->qp_close(h->qp[role]);
		free(h->result);
	}
	/* Peers are the ports'. */
	for (uint32_t i = 0; i < rig->n; i++)
		rig->host[i].port->ops->close(rig->host[i].port);
	rp_loop_fabric_close(rig->fabric);
}

/* ---- control thread ---- */

static void
take_results(struct rig_host *h, struct rp_results *out)
{
	for (uint32_t i = 0; i < out->n; i++) {
		h->n_settled += out->r[i].kind == RP_RESULT_SETTLED;
		if (out->r[i].kind == RP_RESULT_RETIRED) {
			rp_target_destroy(out->r[i].target);
			h->n_retired++;
		} else if (h->n_results < RIG_RESULTS_MAX) {
			h->result[h->n_results++] = out->r[i];
		}
	}
	out->n = 0;
}

static void
answer_want(struct rig_host *h, const struct rp_gid *gid)
{
	struct rp_peer *peer = NULL;

	if (h->port->ops->peer_open(h->port, gid, &peer) != 0)
		peer = NULL;
	rp_responder_resolved(h->responder, gid, peer);
}

static void
take_wants(struct rig_host *h, struct rp_wants *wants)
{
	for (uint32_t i = 0; i < wants->n; i++) {
		const struct rp_want *w = &wants->w[i];

		if (w->kind == RP_WANT_PEER && !h->hold_peers)
			answer_want(h, &w->gid);
		else if (w->kind == RP_WANT_PEER)
			h->held[h->n_held++] = w->gid;
		else if (w->kind == RP_WANT_RELEASE)
			h->n_released++;
		else if (w->kind == RP_WANT_SIGN)
			h->n_signs++;
		else if (h->n_rows < RP_ARRAY_LEN(h->row))
			h->row[h->n_rows++] = *w;
	}
	wants->n = 0;
	for (; !h->hold_peers && h->n_held > 0; h->n_held--)
		answer_want(h, &h->held[h->n_held - 1]);
}

void
rig_probe_edit(struct rig *rig, uint32_t from, uint32_t to, uint32_t pps, uint32_t n_labels,
	void (*edit)(struct rp_target *target))
{
	struct rig_host *h = &rig->host[from];
	struct rp_target *t = rp_target_create(n_labels);
	struct rp_gid own = rig_gid(from), gid = rig_gid(to);
	struct rp_results out = {0};
	struct rp_peer *peer;

	must(h->port->ops->peer_open(h->port, &gid, &peer), "peer_open");
	t->slot = to;
	t->gid = gid;
	t->peer = peer;
	t->period_ticks = rp_rate_to_ticks(&h->clock.rate, RP_NS_PER_S / pps);
	if (to < rig->n) {
		t->qpn = rig->host[to].qp[RP_ROLE_RESPONDER]->qpn;
		t->qkey = rig->host[to].conf.qkey;
		t->hw_stamps = !rig->host[to].conf.software_stamps;
		t->generation = 1 + to;
	}
	rp_flow_expand(rp_flow_seed(&own, &gid), 0, n_labels, t->label);
	rp_flow_expand(rp_flow_seed(&gid, &own), 0, n_labels, t->label + n_labels);
	if (edit != NULL)
		edit(t);
	must(rp_prober_put(h->prober, t, rp_loop_host_now(h->port), &out), "put");
	take_results(h, &out);
}

void
rig_probe(struct rig *rig, uint32_t from, uint32_t to, uint32_t pps, uint32_t n_labels)
{
	rig_probe_edit(rig, from, to, pps, n_labels, NULL);
}

/* ---- lcore ---- */

static void
flush_acks(struct rig_host *h)
{
	struct rp_outbox *box = &h->ack_box;
	uint16_t taken = rp_qp_tx_burst(h->qp[RP_ROLE_RESPONDER], box->tx, box->n);

	/* The payloads move with their descriptors. */
	for (uint16_t i = taken; i < box->n; i++) {
		memcpy(box->payload[i - taken], box->payload[i], RP_PAYLOAD_LEN);
		box->tx[i - taken] = box->tx[i];
		box->tx[i - taken].payload = box->payload[i - taken];
	}
	box->n -= taken;
}

static uint16_t
poll_once(struct rig_host *h, struct rp_tsc now, struct rp_results *out, struct rp_wants *wants)
{
	struct rp_ev ev[8];
	uint16_t n = rp_port_poll(h->port, ev, RP_ARRAY_LEN(ev));

	for (uint16_t i = 0; i < n; i++) {
		if (ev[i].role == RP_ROLE_PROBER)
			rp_prober_event(h->prober, &ev[i], now, out);
		else if (!h->responder_off)
			rp_responder_event(h->responder, &ev[i], h->window, &h->ack_box, wants);
	}
	take_results(h, out);
	take_wants(h, wants);
	flush_acks(h);
	return n;
}

void
rig_turn(struct rig *rig, struct rig_host *h)
{
	struct rp_tsc now = rp_loop_host_now(h->port);
	struct rp_results out = {0};
	struct rp_wants wants = {0};
	struct rp_outbox box = {0};
	uint16_t taken;

	rp_prober_observe(h->prober, now, h->drained_at);
	while (poll_once(h, now, &out, &wants) == 8)
		;
	h->drained_at = now;
	rp_responder_tick(h->responder, now, h->window, &h->ack_box, &wants);
	take_wants(h, &wants);
	flush_acks(h);
	rp_prober_expire(h->prober, now, &out);
	take_results(h, &out);
	rp_prober_send(h->prober, now, &box, &out);
	taken = rp_qp_tx_burst(h->qp[RP_ROLE_PROBER], box.tx, box.n);
	rp_prober_taken(h->prober, &box, taken, &out);
	take_results(h, &out);
	h->probes_sent += taken;
	h->max_burst = rp_max_u64(h->max_burst, box.n);
	if (rig->check)
		UT_TRUE(rig_equation_holds(h));
}

void
rig_run(struct rig *rig, int64_t ns, int64_t step_ns)
{
	for (int64_t t = 0; t < ns; t += step_ns) {
		for (uint32_t i = 0; i < rig->n; i++)
			if (!rig->host[i].stopped)
				rig_turn(rig, &rig->host[i]);
		rp_loop_advance(rig->fabric, step_ns);
	}
}

const struct rp_prober_stats *
rig_stats(const struct rig *rig, uint32_t i)
{
	return rp_prober_stats(rig->host[i].prober);
}

bool
rig_equation_holds(const struct rig_host *h)
{
	const struct rp_prober_stats *s = rp_prober_stats(h->prober);

	/* Counted twice: by the machine, and from what it handed out. */
	return s->attempted == rp_counts_settled(&s->counts) + s->pending &&
		h->n_settled == rp_counts_settled(&s->counts);
}
