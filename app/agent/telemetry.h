/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef TELEMETRY_H
#define TELEMETRY_H

/**
 * @file telemetry.h
 * DPDK telemetry: /rpingmesh/devices and /rpingmesh/device,NAME on EAL's socket.
 * A device's answer is one instant of its prober and one of its responder.
 *
 * Thread:  registered on the control thread; EAL's telemetry thread answers.
 * Memory:  the agent outlives EAL. Time: n/a.
 */

struct agent;

/** Call before the control loop. Without a telemetry socket it costs nothing. */
void telemetry_init(struct agent *agent);

/** Devices are about to be closed: answers are empty from now on. */
void telemetry_fini(void);

#endif /* TELEMETRY_H */
