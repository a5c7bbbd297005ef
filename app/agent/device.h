/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef DEVICE_H
#define DEVICE_H

/**
 * @file device.h
 * One device of the agent: its port, queue pairs and machines, the three roles
 * that lcores run, and the rings between them and the control thread.
 *
 *                     commands                         resolved
 *   control ------------------------> prober   control ---------> responder
 *   control <-- results -------------          control <-- wants -
 *   cq -------- events -------------> prober   cq ------ events -> responder
 *
 * Thread:  each role struct belongs to the lcore that runs the role; fields that
 *          others read are atomic and say so. Open and close on the control thread
 *          while no lcore runs.
 * Memory:  rte_ring elements by value; everything else heap.
 * Time:    host ticks.
 */

#include <stdatomic.h>

#include <rte_ring.h>
#include <rte_ring_elem.h>

#include "peers.h"
#include "preflight.h"
#include "rp_prober.h"
#include "rp_responder.h"
#include "rp_transport.h"

#define DEVICE_EVENT_RING   4096
#define DEVICE_RESULT_RING  16384
#define DEVICE_COMMAND_RING 4096
#define DEVICE_WANT_RING    1024
#define DEVICE_MAX_TARGETS  16384
#define DEVICE_MAX_SOURCES  16384

/** A block of counters that one lcore publishes and the control thread reads whole. */
#define SNAP_WORDS 64
struct snap {
	_Atomic uint32_t sequence; /* odd while it is written */
	_Atomic uint64_t word[SNAP_WORDS];
} RP_CACHE_ALIGNED;

/** Owner only. @p bytes a multiple of 8, at most SNAP_WORDS * 8. */
void snap_publish(struct snap *snap, const void *from, size_t bytes);
/** Any thread; the copy is of one instant. */
void snap_read(struct snap *snap, void *to, size_t bytes);

enum command_kind {
	COMMAND_PUT,
	COMMAND_REMOVE,
	COMMAND_REMOVE_ALL,
};

/** control -> prober */
struct command {
	uint32_t kind; /* enum command_kind */
	uint32_t slot;
	struct rp_target *target;
};
static_assert(sizeof(struct command) == 16, "ring element");

/** control -> responder: the answer to a want */
struct resolved {
	struct rp_gid gid;
	const struct rp_peer *peer; /* NULL: cannot be resolved */
	uint64_t pad;
};
static_assert(sizeof(struct resolved) == 32, "ring element");

/** Who may probe us, with responder_peers = "registered". */
struct source_set {
	uint32_t n;
	struct rp_gid gid[];
};

struct prober_role {
	struct rp_prober *prober;
	struct rp_qp *qp;
	struct rte_ring *events; /* NULL: the CQ role is on this lcore */
	struct rte_ring *commands;
	struct rte_ring *results;
	const _Atomic uint64_t *cq_drained_at;
	struct rp_tsc drained_at;
	struct rp_tsc published_at;
	_Atomic uint64_t results_dropped; /* prober: rw, control: ro */
	_Atomic uint64_t settled_until;   /* prober: rw, control: ro; ticks */
	_Atomic uint64_t events_dropped;  /* prober: rw, control: ro; no room for the results */
	uint32_t remove_next; /* COMMAND_REMOVE_ALL: next slot; UINT32_MAX when none runs */
	struct rp_results out;
	struct rp_outbox box;
	struct snap snap; /* struct rp_prober_stats */
} RP_CACHE_ALIGNED;

struct responder_role {
	struct rp_responder *responder;
	struct rp_qp *qp;
	struct rte_ring *events;
	struct rte_ring *wants;
	struct rte_ring *resolved;
	_Atomic uint64_t window;   /* control: rw, responder: ro */
	_Atomic bool stop_sending; /* control: rw: give up what the transport does not take */
	struct rp_tsc published_at;
	bool carried;                              /* the box holds ACKs of an earlier turn */
	_Atomic(struct source_set *) next_sources; /* control gives, responder takes */
	_Atomic(struct source_set *) old_sources;  /* the way back, to be freed */
	_Atomic uint64_t events_dropped;           /* responder: rw, control: ro */
	_Atomic uint64_t rows_until;               /* responder: rw, control: ro; window id */
	struct rp_outbox box;
	struct rp_wants want;
	struct snap snap; /* struct rp_responder_stats */
} RP_CACHE_ALIGNED;

struct cq_role {
	struct rp_port *port;
	struct rte_ring *to_prober; /* NULL: that role is on this lcore */
	struct rte_ring *to_responder;
	_Atomic uint64_t drained_at;         /* cq: rw, prober: ro; ticks */
	_Atomic uint64_t dropped[RP_ROLE_N]; /* cq: rw, control: ro; full rings */
	struct rp_ev ev[RP_BURST];
} RP_CACHE_ALIGNED;

struct device {
	struct cq_role cq;
	struct prober_role prober;
	struct responder_role responder;
	/* control thread only from here on */
	const struct preflight_device *plan;
	struct rp_port *port;
	struct rp_qp *qp[RP_ROLE_N];
	uint32_t generation;
	char tor_id[129];
	char gid_text[RP_GID_TEXT_MAX];
	struct peers peers;
};

struct device_env {
	uint32_t index; /* of the device, for names that must be unique */
	const struct agent_conf *conf;
	const struct rp_host_clock *clock;
};

/** The driver of a device, before anything is opened. @return NULL with @p why */
const struct rp_transport_ops *device_driver(const struct preflight_device *plan, char *why);

/** Open port, queue pairs, machines and rings. @return 0, or -errno with @p why */
int device_open(struct device *dev, const struct device_env *env,
	const struct preflight_device *plan, char *why);
/** Half-open devices are fine. No lcore runs a role of it. */
void device_close(struct device *dev);

/* Hand over; control thread. @return 0, -EAGAIN (ring full) */
int device_command(struct device *dev, struct command command);
int device_resolve(struct device *dev, struct resolved resolved);
/** Room for another device_resolve(). */
bool device_can_resolve(const struct device *dev);

/** Replace the set of registered sources; takes @p set. @return 0, -EAGAIN (keep it) */
int device_allow(struct device *dev, struct source_set *set);

#endif /* DEVICE_H */
