/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef RP_RIG_H
#define RP_RIG_H

/**
 * @file rig.h
 * Hosts with a prober and a responder each, joined by the loop fabric, in virtual
 * time. The turn of a host is the turn of an agent with all roles on one lcore.
 */

#include "rp_loop.h"
#include "rp_prober.h"
#include "rp_responder.h"
#include "rp_window.h"

#define RIG_HOSTS_MAX   8
#define RIG_RESULTS_MAX 65536

struct rig_host_conf {
	struct rp_loop_clock nic;
	struct rp_loop_clock host;
	bool software_stamps;
	uint32_t qkey;
	uint32_t generation;  /* 0: 1 + index */
	uint32_t max_sources; /* 0: 64 */
	uint32_t max_pps;     /* 0: 10^6 */
	bool registered_only;
	uint32_t slots;      /* 0: 1024 */
	uint32_t tx_depth;   /* 0: 256 */
	bool earlier_format; /* answers as a peer without the ext field would be: see tests */
};

struct rig_host {
	struct rig_host_conf conf;
	struct rp_host_clock clock;
	struct rp_loop_conf loop;
	struct rp_port *port;
	struct rp_qp *qp[RP_ROLE_N];
	struct rp_prober *prober;
	struct rp_responder *responder;
	struct rp_outbox ack_box; /* keeps what the transport did not take */
	struct rp_tsc drained_at;
	bool stopped; /* SIGSTOP: no turns */
	bool responder_off;
	bool hold_peers; /* the control thread does not answer wants */
	struct rp_gid held[RP_PARKED_MAX];
	uint32_t n_held;
	uint64_t window;
	/* what came out */
	struct rp_result *result;
	uint32_t n_results;
	uint64_t n_settled;
	struct rp_want row[256];
	uint32_t n_rows;
	uint32_t n_released;
	uint32_t n_signs;
	uint32_t n_retired;
	uint64_t probes_sent;
	uint64_t max_burst;
};

struct rig {
	struct rp_loop_fabric *fabric;
	struct rig_host host[RIG_HOSTS_MAX];
	uint32_t n;
	bool check; /* the sent equation after every turn */
};

/** Address of host @p i: 10.0.0.(i+1). */
struct rp_gid rig_gid(uint32_t i);

void rig_open(struct rig *rig, uint64_t seed);
struct rig_host *rig_add(struct rig *rig, const struct rig_host_conf *conf);
void rig_close(struct rig *rig);

/** Let @p from probe @p to at @p pps with @p n_labels labels; slot = index of @p to. */
void rig_probe(struct rig *rig, uint32_t from, uint32_t to, uint32_t pps, uint32_t n_labels);

/** The same with the target's fields changed by @p edit before it is handed over. */
void rig_probe_edit(struct rig *rig, uint32_t from, uint32_t to, uint32_t pps, uint32_t n_labels,
	void (*edit)(struct rp_target *target));

/** All hosts take turns every @p step_ns for @p ns of virtual time. */
void rig_run(struct rig *rig, int64_t ns, int64_t step_ns);

/** One turn of one host. */
void rig_turn(struct rig *rig, struct rig_host *h);

const struct rp_prober_stats *rig_stats(const struct rig *rig, uint32_t i);

/** attempted = states + pending, and pending = what is really in flight. */
bool rig_equation_holds(const struct rig_host *h);

/** Timeout of all probers. */
#define RIG_TIMEOUT_NS (500 * RP_NS_PER_MS)

#endif /* RP_RIG_H */
