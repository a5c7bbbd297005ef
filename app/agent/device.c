/* SPDX-License-Identifier: BSD-3-Clause */

#include "device.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_ethdev.h>

#include "rp_log.h"
#include "rp_rng.h"

#define RP_LOG_COMPONENT "device"

#define QP_DEPTH 1024

void
snap_publish(struct snap *snap, const void *from, size_t bytes)
{
	const uint64_t *word = from;
	uint32_t sequence = atomic_load_explicit(&snap->sequence, memory_order_relaxed);

	atomic_store_explicit(&snap->sequence, sequence + 1, memory_order_relaxed);
	/* Readers that see a new word see the odd sequence as well. */
	atomic_thread_fence(memory_order_release);
	for (size_t i = 0; i < bytes / sizeof(*word); i++)
		atomic_store_explicit(&snap->word[i], word[i], memory_order_relaxed);
	/* release: pairs with the acquire in snap_read() */
	atomic_store_explicit(&snap->sequence, sequence + 2, memory_order_release);
}

void
snap_read(struct snap *snap, void *to, size_t bytes)
{
	uint64_t *word = to;
	uint32_t before, after;

	do {
		before = atomic_load_explicit(&snap->sequence, memory_order_acquire);
		for (size_t i = 0; i < bytes / sizeof(*word); i++)
			word[i] = atomic_load_explicit(&snap->word[i], memory_order_relaxed);
		atomic_thread_fence(memory_order_acquire);
		after = atomic_load_explicit(&snap->sequence, memory_order_relaxed);
	} while ((before & 1) != 0 || before != after);
}

static_assert(sizeof(struct rp_prober_stats) <= SNAP_WORDS * 8, "fits into a snapshot");
static_assert(sizeof(struct rp_responder_stats) <= SNAP_WORDS * 8, "fits into a snapshot");

const struct rp_transport_ops *
device_driver(const struct preflight_device *plan, char *why)
{
	const char *name = plan->conf->driver;
	const struct rp_transport_ops *ops;

	/* Every device of this build's preflight is an ethdev. */
	if (strcmp(name, "auto") == 0)
		name = "softroce";
	ops = rp_driver_find(name);
	if (ops == NULL || strcmp(name, "loop") == 0) {
		size_t n = (size_t)snprintf(why, RP_OPT_WHY_MAX,
			"device %s: no driver %s in this build, have auto", plan->name, name);

		for (size_t i = 0; rp_drivers[i] != NULL && n < RP_OPT_WHY_MAX; i++)
			if (strcmp(rp_drivers[i]->name, "loop") != 0)
				n += (size_t)snprintf(
					why + n, RP_OPT_WHY_MAX - n, ", %s", rp_drivers[i]->name);
		return NULL;
	}
	return ops;
}

static int
open_port(struct device *dev, const struct device_env *env, char *why)
{
	const struct preflight_device *plan = dev->plan;
	const struct rp_transport_ops *ops = device_driver(plan, why);
	struct rp_port_conf conf = {
		.device = plan->name,
		.gid = plan->gid,
		.prefix_len = plan->prefix_len,
		.vlan = (uint16_t)plan->conf->vlan,
		.gid_index = (int)plan->conf->gid_index,
		.port_num = (unsigned int)plan->conf->port,
		.rx_depth = 1024,
		.max_peers = DEVICE_MAX_TARGETS + DEVICE_MAX_SOURCES,
		.numa_node = plan->numa_node,
		.one_lcore = plan->roles.lcore[PLACE_CQ] == plan->roles.lcore[PLACE_PROBER] &&
			plan->roles.lcore[PLACE_CQ] == plan->roles.lcore[PLACE_RESPONDER],
		.clock = env->clock,
	};

	if (ops == NULL)
		return -EINVAL;
	if (*plan->conf->gateway != '\0')
		rp_gid_parse(plan->conf->gateway, &conf.gateway);
	if (*plan->conf->mac != '\0') {
		conf.has_mac = true;
		preflight_parse_mac(plan->conf->mac, conf.mac);
	}
	return ops->open(&conf, &dev->port, why);
}

static int
open_qps(struct device *dev, const struct device_env *env, char *why)
{
	uint32_t qkey;

	if (!agent_conf_qkey(env->conf, &qkey)) {
		rp_random_bytes(&qkey, sizeof(qkey));
		qkey &= 0x7FFFFFFFu;
	}
	for (int role = 0; role < RP_ROLE_N; role++) {
		struct rp_qp_conf conf = {
			.role = (enum rp_role)role,
			.qkey = role == RP_ROLE_PROBER ? RP_PROBER_QKEY : qkey,
			.tx_depth = QP_DEPTH,
		};
		int rc = dev->port->ops->qp_open(dev->port, &conf, &dev->qp[role], why);

		if (rc != 0)
			return rc;
	}
	return 0;
}

/* Slots for every probe of two timeouts at the ceiling rate, and a quarter more. */
static uint32_t
prober_slots(const struct agent_conf *conf)
{
	uint64_t n = (uint64_t)conf->max_probe_pps * 2 * (uint64_t)conf->probe_timeout_ms / 1000;

	n = rp_pow2_ceil(n + n / 4 + 64);
	return (uint32_t)rp_min_u64(n, 1u << 22);
}

static int
open_machines(struct device *dev, const struct device_env *env, char *why)
{
	const struct agent_conf *conf = env->conf;
	bool hw = (dev->port->caps.flags & (RP_CAP_HW_TX_STAMP | RP_CAP_HW_RX_STAMP)) ==
		(RP_CAP_HW_TX_STAMP | RP_CAP_HW_RX_STAMP);
	struct rp_prober_conf prober = {
		.sample =
			{
				.host = env->clock->rate,
				.nic = dev->port->caps.rate,
				.timeout_ns = conf->probe_timeout_ms * RP_NS_PER_MS,
				.clock_error_ppb = RP_CLOCK_ERROR_PPB,
			},
		.hw_stamps = hw,
		.slots = prober_slots(conf),
		.max_targets = DEVICE_MAX_TARGETS,
	};
	struct rp_responder_conf responder = {
		.host = env->clock->rate,
		.nic = dev->port->caps.rate,
		.own = dev->port->gid,
		.max_sources = DEVICE_MAX_SOURCES,
		.in_flight = QP_DEPTH,
		.max_pps = (uint32_t)conf->responder_max_pps,
		.tclass = (uint8_t)conf->traffic_class,
		.sl = (uint8_t)conf->service_level,
		.registered_only = conf->responder_peers == AGENT_PEERS_REGISTERED,
	};
	int rc;

	rp_random_bytes(&prober.seed, sizeof(prober.seed));
	rp_random_bytes(&prober.epoch, sizeof(prober.epoch));
	rp_random_bytes(&dev->generation, sizeof(dev->generation));
	dev->generation |= 1;
	responder.generation = dev->generation;
	responder.default_label = rp_flow_label_of((uint16_t)(0xC000 | (prober.seed & 0x3FFF)));
	rc = rp_prober_create(&prober, &dev->prober.prober);
	if (rc == 0)
		rc = rp_responder_create(&responder, &dev->responder.responder);
	if (rc != 0)
		snprintf(why, RP_OPT_WHY_MAX, "device %s: cannot make its state machines: %s",
			dev->plan->name, strerror(-rc));
	return rc;
}

static int
make_ring(const struct device_env *env, const char *what, unsigned int size, unsigned int count,
	struct rte_ring **ret_ring)
{
	char name[RTE_RING_NAMESIZE];

	/* Ring names are shorter than device names. */
	snprintf(name, sizeof(name), "rp_%s_%u", what, env->index);
	*ret_ring = rte_ring_create_elem(
		name, size, count, SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ);
	return *ret_ring == NULL ? -ENOMEM : 0;
}

static int
open_rings(struct device *dev, const struct device_env *env, char *why)
{
	const struct place_roles *at = &dev->plan->roles;
	int rc = make_ring(
		env, "cmd", sizeof(struct command), DEVICE_COMMAND_RING, &dev->prober.commands);

	if (rc == 0)
		rc = make_ring(env, "res", sizeof(struct rp_result), DEVICE_RESULT_RING,
			&dev->prober.results);
	if (rc == 0)
		rc = make_ring(env, "want", sizeof(struct rp_want), DEVICE_WANT_RING,
			&dev->responder.wants);
	if (rc == 0)
		rc = make_ring(env, "slvd", sizeof(struct resolved), DEVICE_WANT_RING * 2,
			&dev->responder.resolved);
	if (rc == 0 && at->lcore[PLACE_PROBER] != at->lcore[PLACE_CQ])
		rc = make_ring(
			env, "pev", sizeof(struct rp_ev), DEVICE_EVENT_RING, &dev->prober.events);
	if (rc == 0 && at->lcore[PLACE_RESPONDER] != at->lcore[PLACE_CQ])
		rc = make_ring(env, "rev", sizeof(struct rp_ev), DEVICE_EVENT_RING,
			&dev->responder.events);
	if (rc != 0)
		snprintf(why, RP_OPT_WHY_MAX,
			"device %s: cannot make its rings: not enough EAL memory, raise -m",
			dev->plan->name);
	return rc;
}

int
device_open(struct device *dev, const struct device_env *env, const struct preflight_device *plan,
	char *why)
{
	int rc;

	memset(dev, 0, sizeof(*dev));
	dev->plan = plan;
	rc = open_port(dev, env, why);
	if (rc == 0)
		rc = open_qps(dev, env, why);
	if (rc == 0)
		rc = open_machines(dev, env, why);
	if (rc == 0)
		rc = open_rings(dev, env, why);
	if (rc == 0 && peers_init(&dev->peers, dev->port) != 0)
		rc = -ENOMEM;
	if (rc != 0) {
		device_close(dev);
		return rc;
	}
	snprintf(dev->tor_id, sizeof(dev->tor_id), "%s",
		*plan->conf->tor_id != '\0' ? plan->conf->tor_id : env->conf->tor_id);
	rp_gid_format(&dev->port->gid, dev->gid_text);
	dev->cq.port = dev->port;
	dev->cq.to_prober = dev->prober.events;
	dev->cq.to_responder = dev->responder.events;
	dev->prober.qp = dev->qp[RP_ROLE_PROBER];
	dev->prober.cq_drained_at = &dev->cq.drained_at;
	dev->responder.qp = dev->qp[RP_ROLE_RESPONDER];
	rp_info("%s: driver %s, gid %s, responder qpn 0x%x, generation 0x%x, %s stamps, clock %llu Hz",
		plan->name, dev->port->ops->name, dev->gid_text, dev->qp[RP_ROLE_RESPONDER]->qpn,
		dev->generation,
		(dev->port->caps.flags & RP_CAP_HW_TX_STAMP) != 0 ? "hardware" : "software",
		(unsigned long long)dev->port->caps.rate.hz);
	return 0;
}

void
device_close(struct device *dev)
{
	if (dev->port != NULL && dev->peers.entry != NULL)
		peers_fini(&dev->peers);
	for (int role = 0; role < RP_ROLE_N; role++)
		if (dev->port != NULL && dev->qp[role] != NULL)
			dev->port->ops->qp_close(dev->qp[role]);
	if (dev->port != NULL)
		dev->port->ops->close(dev->port);
	rp_prober_destroy(dev->prober.prober);
	rp_responder_destroy(dev->responder.responder);
	free(atomic_load(&dev->responder.next_sources));
	free(atomic_load(&dev->responder.old_sources));
	rte_ring_free(dev->prober.commands);
	rte_ring_free(dev->prober.results);
	rte_ring_free(dev->prober.events);
	rte_ring_free(dev->responder.events);
	rte_ring_free(dev->responder.wants);
	rte_ring_free(dev->responder.resolved);
	memset(dev, 0, sizeof(*dev));
}

int
device_command(struct device *dev, struct command command)
{
	int rc = rte_ring_sp_enqueue_elem(dev->prober.commands, &command, sizeof(command));

	return rc == 0 ? 0 : -EAGAIN;
}

int
device_resolve(struct device *dev, struct resolved resolved)
{
	int rc = rte_ring_sp_enqueue_elem(dev->responder.resolved, &resolved, sizeof(resolved));

	return rc == 0 ? 0 : -EAGAIN;
}

bool
device_can_resolve(const struct device *dev)
{
	return rte_ring_free_count(dev->responder.resolved) > 0;
}

int
device_allow(struct device *dev, struct source_set *set)
{
	struct source_set *none = NULL;

	/* acq_rel: the set is complete before the responder can see it */
	if (!atomic_compare_exchange_strong(&dev->responder.next_sources, &none, set))
		return -EAGAIN;
	free(atomic_exchange(&dev->responder.old_sources, NULL));
	return 0;
}
