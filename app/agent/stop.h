/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef STOP_H
#define STOP_H

/**
 * @file stop.h
 * The signal flag, the one piece of process-wide state of the agent. SIGTERM and
 * SIGINT ask for an orderly stop, a second one ends the process at once. SIGHUP
 * and SIGPIPE are survived.
 *
 * Thread:  any. Memory: n/a. Time: n/a.
 */

void stop_install(void);

/** Signal number that asked to stop, 0: none. */
int stop_requested(void);

#endif /* STOP_H */
