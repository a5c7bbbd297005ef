/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>

#include "rp_opt.h"
#include "rp_transport.h"
#include "ut.h"

static char why[RP_OPT_WHY_MAX];

static int
probe(const char *device, struct rp_caps *ret_caps, char *reason)
{
	(void)device, (void)ret_caps, (void)reason;
	return 0;
}

static int
port_open(const struct rp_port_conf *conf, struct rp_port **ret_port, char *reason)
{
	(void)conf, (void)ret_port, (void)reason;
	return 0;
}

static void
port_close(struct rp_port *port)
{
	(void)port;
}

static int
qp_open(struct rp_port *port, const struct rp_qp_conf *conf, struct rp_qp **ret_qp, char *reason)
{
	(void)port, (void)conf, (void)ret_qp, (void)reason;
	return 0;
}

static void
qp_close(struct rp_qp *qp)
{
	(void)qp;
}

static int
peer_open(struct rp_port *port, const struct rp_gid *gid, struct rp_peer **ret_peer)
{
	(void)port, (void)gid, (void)ret_peer;
	return 0;
}

static void
peer_touch(struct rp_port *port, struct rp_peer *peer)
{
	(void)port, (void)peer;
}

static void
stats(struct rp_port *port, rp_stat_fn emit, void *arg)
{
	(void)port, (void)emit, (void)arg;
}

static int
clock_read(struct rp_port *port, struct rp_clock_pair *ret_pair)
{
	(void)port;
	*ret_pair = (struct rp_clock_pair){{1}, {2}, {3}};
	return 0;
}

static int
event_fd(struct rp_port *port)
{
	(void)port;
	return 7;
}

static int
event_read(struct rp_port *port, struct rp_port_event *ret_event)
{
	(void)port;
	ret_event->kind = RP_PORT_GONE;
	return 0;
}

static bool
link_down(struct rp_port *port)
{
	(void)port;
	return false;
}

static const struct rp_transport_ops full = {
	.name = "full",
	.probe = probe,
	.open = port_open,
	.close = port_close,
	.qp_open = qp_open,
	.qp_close = qp_close,
	.peer_open = peer_open,
	.peer_close = peer_touch,
	.peer_refresh = peer_touch,
	.stats = stats,
	.clock_read = clock_read,
	.event_fd = event_fd,
	.event_read = event_read,
	.link_up = link_down,
};

static struct rp_caps
good_caps(void)
{
	return (struct rp_caps){
		.flags = RP_CAP_CLOCK_READ | RP_CAP_EVENT_FD,
		.max_payload_bytes = RP_PAYLOAD_LEN,
		.max_burst = 1,
		.rate = rp_rate_make(1000000, 32),
	};
}

static void
refused(const struct rp_transport_ops *ops, const struct rp_caps *caps, const char *part)
{
	why[0] = '\0';
	UT_EQ(rp_driver_validate(ops, caps, why), -EINVAL);
	UT_HAS(why, part);
}

static void
validate__each_mandatory_slot_is_named_when_missing(void)
{
	struct rp_caps caps = good_caps();
	struct rp_transport_ops ops;

	UT_OK(rp_driver_validate(&full, &caps, why));
#define WITHOUT(slot)                                                                              \
	ops = full;                                                                                \
	ops.slot = NULL;                                                                           \
	refused(&ops, &caps, #slot)
	WITHOUT(name);
	WITHOUT(probe);
	WITHOUT(open);
	WITHOUT(close);
	WITHOUT(qp_open);
	WITHOUT(qp_close);
	WITHOUT(peer_open);
	WITHOUT(peer_close);
	WITHOUT(peer_refresh);
	WITHOUT(stats);
	WITHOUT(clock_read);
	WITHOUT(event_fd);
	WITHOUT(event_read);
#undef WITHOUT
}

static void
validate__optional_slots_may_be_missing_without_their_flag(void)
{
	struct rp_transport_ops ops = full;
	struct rp_caps caps = good_caps();

	caps.flags = 0;
	ops.clock_read = NULL;
	ops.event_fd = NULL;
	ops.event_read = NULL;
	ops.link_up = NULL;
	UT_OK(rp_driver_validate(&ops, &caps, why));
}

static void
validate__unusable_limits_are_refused(void)
{
	struct rp_caps caps = good_caps();

	caps.max_payload_bytes = RP_PAYLOAD_LEN - 1;
	refused(&full, &caps, "max_payload_bytes");
	caps = good_caps();
	caps.max_burst = 0;
	refused(&full, &caps, "max_burst");
	caps = good_caps();
	caps.rate.hz = 0;
	refused(&full, &caps, "rate");
}

static void
port__operations_without_flag_are_not_supported(void)
{
	struct rp_port port = {.ops = &full, .caps = good_caps()};
	struct rp_port_event event = {0};
	struct rp_clock_pair pair = {{0}, {0}, {0}};

	UT_OK(rp_port_clock_read(&port, &pair));
	UT_EQ_U(pair.at.ticks, 2);
	UT_EQ(rp_port_event_fd(&port), 7);
	UT_OK(rp_port_event_read(&port, &event));
	UT_EQ(event.kind, RP_PORT_GONE);
	UT_FALSE(rp_port_link_up(&port));

	port.caps.flags = 0;
	UT_EQ(rp_port_clock_read(&port, &pair), -ENOTSUP);
	UT_EQ(rp_port_event_fd(&port), -ENOTSUP);
	UT_EQ(rp_port_event_read(&port, &event), -ENOTSUP);
}

static void
port__link_counts_as_up_where_the_driver_cannot_tell(void)
{
	struct rp_transport_ops blind = full;
	struct rp_port port = {.ops = &blind};

	blind.link_up = NULL;
	UT_TRUE(rp_port_link_up(&port));
}

static void
table__names_are_distinct_and_found(void)
{
	for (size_t i = 0; rp_drivers[i] != NULL; i++)
		UT_TRUE(rp_driver_find(rp_drivers[i]->name) == rp_drivers[i]);
	UT_TRUE(rp_driver_find("loop") != NULL);
	UT_TRUE(rp_driver_find("loo") == NULL);
	UT_TRUE(rp_driver_find("") == NULL);
}

static const struct ut_test tests[] = {
	UT(validate__each_mandatory_slot_is_named_when_missing),
	UT(validate__optional_slots_may_be_missing_without_their_flag),
	UT(validate__unusable_limits_are_refused),
	UT(port__operations_without_flag_are_not_supported),
	UT(port__link_counts_as_up_where_the_driver_cannot_tell),
	UT(table__names_are_distinct_and_found),
};

UT_MAIN("transport", tests)
