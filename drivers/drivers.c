/* SPDX-License-Identifier: BSD-3-Clause */

#include <string.h>

#include "rp_transport.h"

#ifdef RP_DRIVER_LOOP
#include "rp_loop.h"
#endif
#ifdef RP_DRIVER_SOFTROCE
#include "rp_softroce.h"
#endif

/* One line per driver, in the order in which "auto" asks them. */
const struct rp_transport_ops *const rp_drivers[] = {
#ifdef RP_DRIVER_SOFTROCE
	&rp_softroce_ops,
#endif
#ifdef RP_DRIVER_LOOP
	&rp_loop_ops,
#endif
	NULL,
};

const struct rp_transport_ops *
rp_driver_find(const char *name)
{
	for (size_t i = 0; rp_drivers[i] != NULL; i++)
		if (strcmp(rp_drivers[i]->name, name) == 0)
			return rp_drivers[i];
	return NULL;
}
