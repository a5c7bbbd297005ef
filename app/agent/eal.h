/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef EAL_H
#define EAL_H

/**
 * @file eal.h
 * Starts and ends EAL with the command line that the preflight made. EAL's own log
 * goes into ours.
 *
 * Thread:  control. Memory: n/a. Time: n/a.
 */

#include "preflight.h"

/** @return 0; -EINVAL with pf->why and pf->exit_code */
int eal_start(struct preflight *pf);
void eal_stop(void);

#endif /* EAL_H */
