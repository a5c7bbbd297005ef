/* SPDX-License-Identifier: BSD-3-Clause */

/* The agent's roles on real lcores, two devices on a cable of rings, every placement. */

#include <sched.h>
#include <stdio.h>
#include <time.h>

#include <rte_eal.h>
#include <rte_launch.h>

#include "agent.h"
#include "ring_rig.h"
#include "rp_log.h"

#define TIMEOUT_NS (500 * RP_NS_PER_MS)

static struct rp_host_clock host;

/* One end of the cable with what a control thread keeps. */
struct end {
	struct device *dev;
	struct agent_device_conf conf;
	struct preflight_device plan;
	uint64_t settled[RP_STATE_N];
	uint64_t given, retired;
	uint64_t rows;
};

static struct end end[2];
static struct worker *worker;
static uint32_t n_workers;
static _Atomic bool stop;
static struct agent_conf conf;

static void
start_eal(void)
{
	char lcores[256], cpus[128];
	char *argv[] = {(char[]){"test"}, (char[]){"--no-pci"}, (char[]){"--no-huge"},
		(char[]){"-m"}, (char[]){"256"}, (char[]){"--no-shconf"},
		(char[]){"--no-telemetry"}, (char[]){"--log-level=3"}, (char[]){"--lcores"}, lcores,
		NULL};
	cpu_set_t allowed;

	sched_getaffinity(0, sizeof(allowed), &allowed);
	place_format_cpus(&allowed, cpus, sizeof(cpus));
	snprintf(lcores, sizeof(lcores), "(0-3)@(%s)", cpus);
	if (rte_eal_init(RP_ARRAY_LEN(argv) - 1, argv) < 0)
		exit(1);
	ring_rig_cable("roles", 2);
	rp_host_clock_init(&host, 50, "");
}

static void
open_end(int i, const struct place_roles *roles)
{
	struct device_env env = {.conf = &conf, .clock = &host, .index = (uint32_t)i};
	struct end *e = &end[i];
	char ip[16], why[RP_OPT_WHY_MAX];
	static char name[2][24];

	*e = (struct end){0};
	snprintf(name[i], sizeof(name[i]), "net_ring_roles%d", i);
	snprintf(ip, sizeof(ip), "10.8.0.%d", i + 1);
	e->conf = (struct agent_device_conf){.name = name[i],
		.driver = (char[]){"auto"},
		.tor_id = (char[]){""},
		.gateway = (char[]){""},
		.mac = (char[]){"02:00:00:00:08:01"},
		.gid_index = -1,
		.port = 1};
	e->conf.mac[16] = (char)('1' + i);
	e->plan = (struct preflight_device){.name = name[i],
		.conf = &e->conf,
		.prefix_len = 24,
		.numa_node = -1,
		.roles = *roles};
	rp_gid_parse(ip, &e->plan.gid);
	e->dev = aligned_alloc(RP_CACHE_LINE, sizeof(*e->dev));
	if (device_open(e->dev, &env, &e->plan, why) != 0) {
		printf("%s\n", why);
		exit(1);
	}
}

static struct worker *
worker_of(uint32_t lcore_id)
{
	for (uint32_t i = 0; i < n_workers; i++)
		if (worker[i].lcore_id == lcore_id)
			return &worker[i];
	worker[n_workers] = (struct worker){
		.lcore_id = lcore_id, .clock = &host, .idle = AGENT_IDLE_ADAPTIVE, .stop = &stop};
	return &worker[n_workers++];
}

static void
start_workers(void)
{
	n_workers = 0;
	atomic_store(&stop, false);
	for (int i = 0; i < 2; i++) {
		for (int r = 0; r < PLACE_ROLE_N; r++) {
			struct worker *w = worker_of(end[i].plan.roles.lcore[r]);

			if (w->n_slices == 0 || w->slice[w->n_slices - 1].dev != end[i].dev)
				w->slice[w->n_slices++].dev = end[i].dev;
			w->slice[w->n_slices - 1].role[r] = true;
		}
	}
	for (uint32_t i = 0; i < n_workers; i++)
		rte_eal_remote_launch(worker_main, &worker[i], worker[i].lcore_id);
}

static void
probe(int from, uint32_t slot, uint32_t pps)
{
	const struct device *peer = end[1 - from].dev;
	struct rp_target *t = rp_target_create(8);
	struct command cmd = {COMMAND_PUT, slot, t};
	struct rp_peer *p;

	t->slot = slot;
	t->gid = peer->port->gid;
	t->qpn = peer->qp[RP_ROLE_RESPONDER]->qpn;
	t->qkey = peer->qp[RP_ROLE_RESPONDER]->qkey;
	t->generation = peer->generation;
	UT_OK(peers_get(&end[from].dev->peers, &t->gid, &p));
	t->peer = p;
	t->period_ticks = rp_rate_to_ticks(&host.rate, RP_NS_PER_S / pps);
	rp_flow_expand(1, 0, 8, t->label);
	rp_flow_expand(2, 0, 8, t->label + 8);
	UT_OK(device_command(end[from].dev, cmd));
	end[from].given++;
}

static void
drain_results(struct end *e)
{
	struct rp_result r;

	while (rte_ring_sc_dequeue_elem(e->dev->prober.results, &r, sizeof(r)) == 0) {
		if (r.kind == RP_RESULT_SETTLED)
			e->settled[r.state]++;
		if (r.kind != RP_RESULT_RETIRED)
			continue;
		peers_put(&e->dev->peers, r.target->peer);
		rp_target_destroy(r.target);
		e->retired++;
	}
}

static void
drain_wants(struct end *e)
{
	struct rp_want want;

	while (rte_ring_sc_dequeue_elem(e->dev->responder.wants, &want, sizeof(want)) == 0) {
		struct resolved answer = {.gid = want.gid};
		struct rp_peer *p;

		e->rows += want.kind == RP_WANT_ROW;
		if (want.kind != RP_WANT_PEER)
			continue;
		UT_OK(peers_get(&e->dev->peers, &want.gid, &p));
		answer.peer = p;
		UT_OK(device_resolve(e->dev, answer));
	}
}

/* The sent equation at every look, from another thread than the one that counts. */
static void
look(struct end *e)
{
	struct rp_prober_stats s;

	snap_read(&e->dev->prober.snap, &s, sizeof(s));
	UT_EQ_U(s.attempted, rp_counts_settled(&s.counts) + s.pending);
}

static void
control_for(double seconds, bool results)
{
	struct rp_tsc until = rp_tsc_add(
		rp_host_now(&host), rp_rate_to_ticks(&host.rate, (int64_t)(seconds * 1e9)));

	while (rp_tsc_before(rp_host_now(&host), until)) {
		const struct timespec nap = {0, 200000};

		for (int i = 0; i < 2; i++) {
			if (results)
				drain_results(&end[i]);
			drain_wants(&end[i]);
			look(&end[i]);
		}
		nanosleep(&nap, NULL);
	}
}

static void
remove_all(void)
{
	for (int i = 0; i < 2; i++)
		UT_OK(device_command(end[i].dev, (struct command){.kind = COMMAND_REMOVE_ALL}));
}

static void
stop_all(void)
{
	atomic_store(&stop, true);
	rte_eal_mp_wait_lcore();
	for (int i = 0; i < 2; i++) {
		drain_results(&end[i]);
		device_close(end[i].dev);
		free(end[i].dev);
	}
}

static uint64_t
dropped(const struct end *e)
{
	return e->dev->cq.dropped[0] + e->dev->cq.dropped[1] + e->dev->responder.events_dropped;
}

static void
roles__every_placement__all_answered_and_every_target_comes_back(void)
{
	static const struct {
		const char *name;
		struct place_roles a, b;
	} cases[] = {
		{"all on one lcore", {{1, 1, 1}}, {{1, 1, 1}}},
		{"a device each", {{1, 1, 1}}, {{2, 2, 2}}},
		{"prober apart", {{1, 2, 1}}, {{1, 2, 1}}},
		{"responder apart", {{1, 1, 2}}, {{2, 2, 1}}},
		{"completions apart", {{1, 2, 2}}, {{2, 1, 1}}},
		{"all apart", {{1, 2, 3}}, {{3, 1, 2}}},
	};

	for (size_t c = 0; c < RP_ARRAY_LEN(cases); c++) {
		open_end(0, &cases[c].a);
		open_end(1, &cases[c].b);
		start_workers();
		/* Until the responders know where to answer to; they park only a few. */
		probe(0, 0, 20);
		probe(1, 0, 20);
		for (int i = 0; i < 100 &&
			(end[0].settled[RP_STATE_OK] == 0 || end[1].settled[RP_STATE_OK] == 0);
			i++)
			control_for(0.05, true);
		for (uint32_t slot = 1; slot < 4; slot++) {
			probe(0, slot, 50);
			probe(1, slot, 50);
		}
		control_for(1.0, true);
		/* Another window: the rows of the first come. */
		for (int i = 0; i < 2; i++)
			atomic_store(&end[i].dev->responder.window, 1);
		control_for(0.5, true);
		remove_all();
		control_for(1.3, true);
		for (int i = 0; i < 2; i++) {
			const uint64_t *s = end[i].settled;

			ut_check(s[RP_STATE_OK] > 50 &&
					s[RP_STATE_LOST] + s[RP_STATE_ACK1_LOST] +
							s[RP_STATE_ACK2_LOST] +
							s[RP_STATE_INVALID] ==
						0,
				__FILE__, __LINE__, "%s, end %d: ok %lu lost %lu suspended %lu",
				cases[c].name, i, s[RP_STATE_OK], s[RP_STATE_LOST],
				s[RP_STATE_SUSPENDED]);
			UT_EQ_U(end[i].retired, end[i].given);
			UT_EQ_U(end[i].rows, 1);
			UT_EQ_U(dropped(&end[i]), 0);
			UT_EQ_U(end[i].dev->prober.results_dropped, 0);
			UT_EQ_U(atomic_load(&end[i].dev->responder.rows_until), 1);
			/* One reference is left: the responder's source. */
			UT_EQ_U(peers_count(&end[i].dev->peers), 1);
		}
		stop_all();
	}
}

static void
results__nobody_drains_them__newest_dropped_and_no_target_lost(void)
{
	static const struct place_roles roles = {{1, 2, 1}};

	open_end(0, &roles);
	open_end(1, &roles);
	start_workers();
	/* The ring of 16384 results fills. */
	for (uint32_t slot = 0; slot < 64; slot++)
		probe(0, slot, 2000);
	for (int i = 0; i < 200 && end[0].dev->prober.results_dropped == 0; i++)
		control_for(0.1, false);
	remove_all();
	control_for(1.3, false);
	UT_TRUE(end[0].dev->prober.results_dropped > 0);
	control_for(0.3, true);
	UT_EQ_U(end[0].retired, end[0].given);
	UT_EQ_U(dropped(&end[1]), 0);
	stop_all();
}

static void
windows__progress__follows_the_lcores(void)
{
	static const struct place_roles roles = {{1, 2, 3}};
	struct rp_tsc before, after;

	open_end(0, &roles);
	open_end(1, &roles);
	start_workers();
	control_for(0.2, true);
	before.ticks = atomic_load(&end[0].dev->prober.settled_until);
	/* Nothing in flight: it follows the clock, within a nap. */
	UT_TRUE(rp_tsc_elapsed(&host.rate, before, rp_host_now(&host)).v < 100 * RP_NS_PER_MS);
	/* Probes that nobody answers: it stands at the first of them. */
	atomic_store(&stop, true);
	rte_eal_mp_wait_lcore();
	start_workers();
	probe(0, 0, 100);
	control_for(0.3, true);
	after.ticks = atomic_load(&end[0].dev->prober.settled_until);
	UT_TRUE(rp_tsc_before(before, after));
	stop_all();
}

static void
turn_all_roles(struct end *e)
{
	struct worker w = {.n_slices = 1, .slice = {{e->dev, {true, true, true}}}, .clock = &host};
	struct rp_tsc due;
	bool has_due;

	worker_turn(&w, rp_host_now(&host), &due, &has_due);
	drain_results(e);
	drain_wants(e);
}

static uint64_t
received(const struct end *e)
{
	return rp_responder_stats(e->dev->responder.responder)->received;
}

static void
cq__many_bursts_wait__one_turn_takes_them(void)
{
	static const struct place_roles roles = {{1, 1, 1}};
	const struct timespec nap = {0, 1000000};
	uint64_t before;

	for (int i = 0; i < 2; i++) {
		open_end(i, &roles);
		end[i].dev->prober.remove_next = DEVICE_MAX_TARGETS;
	}
	probe(0, 0, 50);
	for (int i = 0; i < 5000 && end[0].settled[RP_STATE_OK] == 0; i++) {
		turn_all_roles(&end[0]);
		turn_all_roles(&end[1]);
		nanosleep(&nap, NULL);
	}
	before = received(&end[1]);
	/* All hundred are due within 10 ms. */
	for (uint32_t slot = 1; slot < 101; slot++)
		probe(0, slot, 100);
	for (int i = 0; i < 12; i++) {
		turn_all_roles(&end[0]);
		nanosleep(&nap, NULL);
	}
	UT_EQ_U(received(&end[1]), before);
	turn_all_roles(&end[1]);
	UT_TRUE(received(&end[1]) >= before + 100);
	for (int i = 0; i < 2; i++) {
		device_close(end[i].dev);
		free(end[i].dev);
	}
}

static const struct ut_test tests[] = {
	UT(roles__every_placement__all_answered_and_every_target_comes_back),
	UT(results__nobody_drains_them__newest_dropped_and_no_target_lost),
	UT(windows__progress__follows_the_lcores),
	UT(cq__many_bursts_wait__one_turn_takes_them),
};

int
main(int argc, char **argv)
{
	static char *const env[] = {NULL};
	char *flags[] = {(char[]){"test"}, (char[]){"--max-probe-pps=50000"}, NULL};
	struct rp_conf_result result;

	if (rp_conf_load(&agent_program, 2, flags, env, &conf, &result) != 0)
		return 1;
	rp_log_setup(RP_LOG_WARN, RP_LOG_FORMAT_TEXT, 2);
	worker = aligned_alloc(RP_CACHE_LINE, 8 * sizeof(*worker));
	start_eal();
	return ut_main("roles", tests, RP_ARRAY_LEN(tests), argc, argv);
}
