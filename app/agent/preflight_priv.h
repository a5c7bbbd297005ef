/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef PREFLIGHT_PRIV_H
#define PREFLIGHT_PRIV_H

/**
 * @file preflight_priv.h
 * Between the two files of the preflight: preflight.c reads and completes the EAL
 * command line, preflight_devices.c looks at what it names.
 *
 * Thread, memory, errors: as in preflight.h.
 */

#include "preflight.h"
#include "rp_base.h"

/** One line of pf->why and the exit code. @return -EINVAL */
int preflight_fail(struct preflight *pf, int exit_code, const char *fmt, ...) RP_PRINTF(3, 4);

/** EAL options that take their value as the next argument; NULL-terminated. */
extern const char *const preflight_with_value[];

/** @p word is one of @p list, or "--name=..." of one. */
bool preflight_is_in(const char *word, const char *const *list);

/** @p arg is the option @p name, in any of its spellings. */
bool preflight_is_option(const char *arg, const char *name);

/** Value of the option at *i, moving *i when it is the next argument. NULL: none. */
const char *preflight_value(const struct preflight *pf, int *i);

/** Devices that the EAL options name, checked; the configured ones are among them. */
int preflight_find_devices(struct preflight *pf, const struct agent_conf *conf, const char *root);

/** Addresses and roles; drops devices that the configuration does not list. */
int preflight_place_devices(struct preflight *pf, const struct agent_conf *conf);

/** Hyper-threads and NUMA nodes: warnings. */
void preflight_look_at_topology(struct preflight *pf, const char *root);

#endif /* PREFLIGHT_PRIV_H */
