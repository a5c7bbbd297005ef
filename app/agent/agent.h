/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef AGENT_H
#define AGENT_H

/**
 * @file agent.h
 * The agent: owns everything. The only struct that files of this folder share
 * beyond their own headers.
 *
 * Thread:  control, but for the workers' own structs (roles.h).
 * Memory:  heap, one instance. Time: as typed.
 */

#include <stdatomic.h>

#include "agent_conf.h"
#include "device.h"
#include "preflight.h"
#include "report.h"
#include "roles.h"
#include "rp_api.h"
#include "rp_http_client.h"
#include "rp_tsc.h"
#include "rp_window.h"
#include "session.h"
#include "targets.h"

/** More than the windows that are open at a time. */
#define AGENT_MARKS 32

/** A device with what the control thread keeps for it. */
struct agent_device {
	struct device dev;
	struct targets targets;
	struct rp_windows *windows;
	struct report_base mark[AGENT_MARKS]; /* when window id began, at id % AGENT_MARKS */
	uint64_t window_id;                   /* the running one */
	char etag[RP_API_ETAG_MAX];           /* of the pinglist in use */
	char wanted_etag[RP_API_ETAG_MAX];    /* as the controller announced it */
	bool fetching;
	bool link_down;
	int64_t next_fetch_ms;
	uint32_t fetch_backoff_ms;
};

struct agent {
	struct agent_conf conf;
	struct rp_host_clock clock;
	struct preflight preflight;
	struct agent_device *device;
	uint32_t n_devices;
	struct worker *worker;
	uint32_t n_workers;
	_Atomic bool stop_workers;
	struct rp_http_client *http;
	struct session session;
	struct spool spool;
	int64_t next_summary_ms;
	int64_t next_refine_ms;
	int64_t next_link_ms;
};

/** Milliseconds of CLOCK_MONOTONIC: timers of the control thread. */
int64_t agent_mono_ms(void);

/** Milliseconds since the epoch on the controller's clock, as far as it is known. */
int64_t agent_controller_ms(const struct agent *agent);

/** Counters from which the first windows report the rise. */
void control_init(struct agent *agent);

/** The control loop; returns after a signal and an orderly stop. */
int control_run(struct agent *agent);

#endif /* AGENT_H */
