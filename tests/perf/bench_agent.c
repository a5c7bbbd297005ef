/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * One side of a pair of agents that probe each other flat out, without a controller:
 *
 *   bench_agent SIDE SECONDS EAL_ARGS...
 *
 * SIDE is 0 or 1. Prints "qpn Q qkey K generation G" and waits for the peer's on
 * standard input. The device, the roles and their one worker lcore are the agent's;
 * the main lcore only drains results. After one second to warm up it counts for
 * SECONDS and prints one line of JSON with the probes that were answered in full and
 * the frames that the worker lcore received and sent.
 */

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rte_eal.h>
#include <rte_launch.h>

#include "agent.h"
#include "eal.h"
#include "rp_log.h"
#include "rp_text.h"

#define TARGETS    32
#define PPS        50000u /* of each; the pacer skips what the lcore cannot */
#define TIMEOUT_MS "20"
#define NAP_US     500

static struct agent agent;
static uint64_t settled[RP_STATE_N];

static void
die(const char *what)
{
	fprintf(stderr, "bench_agent: %s\n", what);
	exit(1);
}

static void
load_conf(unsigned int side)
{
	static char *const env[] = {NULL};
	char device[64];
	char *argv[] = {(char[]){"bench"}, (char[]){"--device"}, device,
		(char[]){"--agent-id=bench"}, (char[]){"--probe-timeout-ms=" TIMEOUT_MS},
		(char[]){"--max-probe-pps=1000000"}, (char[]){"--responder-max-pps=10000000"},
		(char[]){"--idle=yield"}, NULL};
	struct rp_conf_result result;

	snprintf(device, sizeof(device), "name=net_memif0,ip=10.9.0.%u/24", side + 1);
	if (rp_conf_load(&agent_program, (int)RP_ARRAY_LEN(argv) - 1, argv, env, &agent.conf,
		    &result) != 0)
		die(result.why);
}

static void
open_device(int eal_argc, char **eal_argv)
{
	struct device_env env = {.conf = &agent.conf, .clock = &agent.clock};
	char why[RP_OPT_WHY_MAX];

	rp_log_setup(RP_LOG_ERROR, RP_LOG_FORMAT_TEXT, 2);
	if (preflight_run(&agent.preflight, &agent.conf, eal_argc, eal_argv, "") != 0)
		die(agent.preflight.why);
	rp_host_clock_init(&agent.clock, 200, "");
	if (eal_start(&agent.preflight) != 0)
		die(agent.preflight.why);
	agent.device = aligned_alloc(RP_CACHE_LINE, sizeof(*agent.device));
	agent.worker = aligned_alloc(RP_CACHE_LINE, sizeof(*agent.worker));
	if (agent.device == NULL || agent.worker == NULL)
		die("out of memory");
	memset(agent.device, 0, sizeof(*agent.device));
	memset(agent.worker, 0, sizeof(*agent.worker));
	if (device_open(&agent.device->dev, &env, &agent.preflight.device[0], why) != 0)
		die(why);
	agent.n_devices = 1;
}

static void
start_worker(void)
{
	struct worker *w = agent.worker;

	*w = (struct worker){
		.lcore_id = agent.preflight.device[0].roles.lcore[PLACE_CQ],
		.n_slices = 1,
		.slice = {{&agent.device->dev, {true, true, true}}},
		.clock = &agent.clock,
		.idle = AGENT_IDLE_BUSY,
		.stop = &agent.stop_workers,
	};
	if (rte_eal_remote_launch(worker_main, w, w->lcore_id) != 0)
		die("lcore does not start");
}

/* What the control thread of an agent does, without its books. */
static void
drain(void)
{
	struct device *dev = &agent.device->dev;
	struct rp_result r[256];
	struct rp_want want;
	unsigned int n;

	do {
		n = rte_ring_sc_dequeue_burst_elem(
			dev->prober.results, r, sizeof(r[0]), RP_ARRAY_LEN(r), NULL);
		for (unsigned int i = 0; i < n; i++)
			if (r[i].kind == RP_RESULT_SETTLED)
				settled[r[i].state]++;
	} while (n == RP_ARRAY_LEN(r));
	while (rte_ring_sc_dequeue_elem(dev->responder.wants, &want, sizeof(want)) == 0) {
		struct resolved answer = {.gid = want.gid};
		struct rp_peer *peer;

		if (want.kind != RP_WANT_PEER)
			continue;
		if (peers_get(&dev->peers, &want.gid, &peer) == 0)
			answer.peer = peer;
		device_resolve(dev, answer);
	}
}

static void
drain_for(double seconds)
{
	struct timespec nap = {0, NAP_US * 1000}, ts;
	double end;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	end = (double)ts.tv_sec + (double)ts.tv_nsec / 1e9 + seconds;
	do {
		drain();
		nanosleep(&nap, NULL);
		clock_gettime(CLOCK_MONOTONIC, &ts);
	} while ((double)ts.tv_sec + (double)ts.tv_nsec / 1e9 < end);
}

/* The other side's responder as the target of @slot. */
static void
put_target(uint32_t slot, const struct rp_target *model)
{
	struct device *dev = &agent.device->dev;
	struct rp_target *t = rp_target_create(64);
	struct rp_peer *peer;

	if (t == NULL || peers_get(&dev->peers, &model->gid, &peer) != 0)
		die("no peer");
	t->slot = slot;
	t->gid = model->gid;
	t->qpn = model->qpn;
	t->qkey = model->qkey;
	t->generation = model->generation;
	t->peer = peer;
	t->period_ticks = agent.clock.rate.hz / PPS;
	rp_flow_expand(1 + slot, 0, 64, t->label);
	rp_flow_expand(1 + TARGETS + slot, 0, 64, t->label + 64);
	if (device_command(dev, (struct command){COMMAND_PUT, slot, t}) != 0)
		die("no room for a target");
}

static void
probe_peer(unsigned int side)
{
	const struct device *dev = &agent.device->dev;
	struct rp_target model = {0};
	char text[32], line[128];

	printf("qpn %u qkey %u generation %u\n", dev->qp[RP_ROLE_RESPONDER]->qpn,
		dev->qp[RP_ROLE_RESPONDER]->qkey, dev->generation);
	fflush(stdout);
	if (fgets(line, sizeof(line), stdin) == NULL ||
		sscanf(line, "qpn %u qkey %u generation %u", &model.qpn, &model.qkey,
			&model.generation) != 3)
		die("no peer on standard input");
	snprintf(text, sizeof(text), "10.9.0.%u", 2 - side);
	rp_gid_parse(text, &model.gid);
	for (uint32_t slot = 0; slot < TARGETS; slot++)
		put_target(slot, &model);
}

struct frames {
	uint64_t rx, tx;
};

static void
count_frames(void *arg, const char *name, uint64_t value)
{
	struct frames *f = arg;

	if (strcmp(name, "rx_frames") == 0)
		f->rx += value;
	else if (strstr(name, "tx_frames") != NULL)
		f->tx += value;
}

static struct frames
read_frames(void)
{
	struct rp_port *port = agent.device->dev.port;
	struct frames f = {0, 0};

	port->ops->stats(port, count_frames, &f);
	return f;
}

int
main(int argc, char **argv)
{
	struct rp_prober_stats a, b;
	struct frames fa, fb;
	int64_t side, seconds;

	if (argc < 3 || rp_text_i64(argv[1], 0, 1, &side) != 0 ||
		rp_text_i64(argv[2], 1, 3600, &seconds) != 0)
		die("usage: bench_agent 0|1 SECONDS EAL_ARGS...");
	load_conf((unsigned int)side);
	open_device(argc - 3, argv + 3);
	start_worker();
	probe_peer((unsigned int)side);
	drain_for(1.5);
	snap_read(&agent.device->dev.prober.snap, &a, sizeof(a));
	fa = read_frames();
	drain_for((double)seconds);
	snap_read(&agent.device->dev.prober.snap, &b, sizeof(b));
	fb = read_frames();
	printf("{\"seconds\":%" PRId64 ",\"rx\":%" PRIu64 ",\"tx\":%" PRIu64 ",\"probes\":%" PRIu64
	       ",\"attempted\":%" PRIu64 ",\"lost\":%" PRIu64 ",\"suspended\":%" PRIu64 "}\n",
		seconds, fb.rx - fa.rx, fb.tx - fa.tx,
		b.counts.state[RP_STATE_OK] - a.counts.state[RP_STATE_OK],
		b.attempted - a.attempted,
		b.counts.state[RP_STATE_LOST] - a.counts.state[RP_STATE_LOST],
		b.counts.state[RP_STATE_SUSPENDED] - a.counts.state[RP_STATE_SUSPENDED]);
	fflush(stdout);
	/* The peer is still counting; its probes are answered until it is done. */
	drain_for(1);
	atomic_store(&agent.stop_workers, true);
	rte_eal_mp_wait_lcore();
	device_close(&agent.device->dev);
	rte_eal_cleanup();
	return 0;
}
