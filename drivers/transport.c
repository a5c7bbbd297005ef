/* SPDX-License-Identifier: BSD-3-Clause */

#include "rp_transport.h"

#include <errno.h>
#include <stdio.h>

#include "rp_opt.h"

/* Slots that every driver fills. */
static const char *
missing_slot(const struct rp_transport_ops *ops)
{
	if (ops->probe == NULL)
		return "probe";
	if (ops->open == NULL)
		return "open";
	if (ops->close == NULL)
		return "close";
	if (ops->qp_open == NULL)
		return "qp_open";
	if (ops->qp_close == NULL)
		return "qp_close";
	if (ops->peer_open == NULL)
		return "peer_open";
	if (ops->peer_close == NULL)
		return "peer_close";
	if (ops->peer_refresh == NULL)
		return "peer_refresh";
	if (ops->stats == NULL)
		return "stats";
	return NULL;
}

/* Slots that a flag of the device promises. */
static const char *
unbacked_flag(const struct rp_transport_ops *ops, uint32_t flags)
{
	if ((flags & RP_CAP_CLOCK_READ) != 0 && ops->clock_read == NULL)
		return "CLOCK_READ without clock_read";
	if ((flags & RP_CAP_EVENT_FD) != 0 && ops->event_fd == NULL)
		return "EVENT_FD without event_fd";
	if ((flags & RP_CAP_EVENT_FD) != 0 && ops->event_read == NULL)
		return "EVENT_FD without event_read";
	return NULL;
}

static const char *
bad_limit(const struct rp_caps *caps)
{
	if (caps->max_payload_bytes < RP_PAYLOAD_LEN)
		return "max_payload_bytes below a probe";
	if (caps->max_burst == 0)
		return "max_burst 0";
	if (caps->rate.hz == 0 || caps->rate.mult == 0 || caps->rate.mask == 0)
		return "no clock rate";
	return NULL;
}

int
rp_driver_validate(const struct rp_transport_ops *ops, const struct rp_caps *caps, char *why)
{
	const char *bad;

	if (ops->name == NULL || ops->name[0] == '\0') {
		snprintf(why, RP_OPT_WHY_MAX, "driver without a name");
		return -EINVAL;
	}
	bad = missing_slot(ops);
	if (bad != NULL) {
		snprintf(why, RP_OPT_WHY_MAX, "driver %s: no %s", ops->name, bad);
		return -EINVAL;
	}
	bad = unbacked_flag(ops, caps->flags);
	if (bad == NULL)
		bad = bad_limit(caps);
	if (bad != NULL) {
		snprintf(why, RP_OPT_WHY_MAX, "driver %s: %s", ops->name, bad);
		return -EINVAL;
	}
	return 0;
}

int
rp_port_clock_read(struct rp_port *port, struct rp_clock_pair *ret_pair)
{
	if ((port->caps.flags & RP_CAP_CLOCK_READ) == 0)
		return -ENOTSUP;
	return port->ops->clock_read(port, ret_pair);
}

int
rp_port_event_fd(struct rp_port *port)
{
	if ((port->caps.flags & RP_CAP_EVENT_FD) == 0)
		return -ENOTSUP;
	return port->ops->event_fd(port);
}

int
rp_port_event_read(struct rp_port *port, struct rp_port_event *ret_event)
{
	if ((port->caps.flags & RP_CAP_EVENT_FD) == 0)
		return -ENOTSUP;
	return port->ops->event_read(port, ret_event);
}

bool
rp_port_link_up(struct rp_port *port)
{
	return port->ops->link_up == NULL || port->ops->link_up(port);
}
