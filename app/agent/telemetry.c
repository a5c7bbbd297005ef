/* SPDX-License-Identifier: BSD-3-Clause */

#include "telemetry.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include <rte_telemetry.h>

#include "agent.h"

/* EAL's callbacks carry no argument. The lock keeps an answer and the end apart. */
static struct {
	pthread_mutex_t lock;
	struct agent *agent;
} answering = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* 23.03 renames it to _uint: the one place that knows. */
static void
put(struct rte_tel_data *d, const char *prefix, const char *name, uint64_t value)
{
	char key[64];

	snprintf(key, sizeof(key), "%s%s", prefix, name);
	rte_tel_data_add_dict_u64(d, key, value);
}

static void
put_prober(struct rte_tel_data *d, const struct rp_prober_stats *s)
{
	put(d, "", "attempted", s->attempted);
	put(d, "", "pending", s->pending);
	for (int i = 0; i < RP_STATE_N; i++)
		put(d, "", rp_state_name((enum rp_state)i), s->counts.state[i]);
	for (int i = 0; i < RP_EXTRA_N; i++)
		put(d, "", rp_extra_name((enum rp_extra)i), s->counts.extra[i]);
	for (int i = RP_INVALID_NONE + 1; i < RP_INVALID_N; i++)
		put(d, "invalid_", rp_invalid_name((enum rp_invalid)i), s->invalid[i]);
	for (int i = 0; i < RP_SEND_ERROR_N; i++)
		put(d, "send_error_", rp_send_error_name((enum rp_send_error)i), s->send_error[i]);
	for (int i = 0; i < RP_UNMATCHED_N; i++)
		put(d, "unmatched_ack_", rp_unmatched_name((enum rp_unmatched)i), s->unmatched[i]);
	for (int i = RP_PAYLOAD_OK + 1; i < RP_PAYLOAD_N; i++)
		put(d, "bad_ack_", rp_payload_verdict_name((enum rp_payload_verdict)i),
			s->bad_payload[i]);
	put(d, "", "unknown_flags", s->unknown_flags);
	put(d, "", "stale_completions", s->stale_completions);
	put(d, "", "stalls", s->stalls);
	put(d, "", "schedule_skipped", s->schedule_skipped);
	put(d, "", "schedule_lag_ticks", s->schedule_lag_ticks);
	put(d, "", "schedule_lag_max_ticks", s->schedule_lag_max_ticks);
	put(d, "", "targets", s->targets);
}

static void
put_responder(struct rte_tel_data *d, const struct rp_responder_stats *s)
{
	put(d, "responder_", "received", s->received);
	put(d, "responder_", "ack1_sent", s->ack1_sent);
	put(d, "responder_", "ack2_sent", s->ack2_sent);
	put(d, "responder_", "ack1_failed", s->ack1_failed);
	put(d, "responder_", "ack2_failed", s->ack2_failed);
	for (int i = 0; i < RP_REFUSAL_N; i++)
		put(d, "responder_refused_", rp_refusal_name((enum rp_refusal)i), s->refused[i]);
	put(d, "responder_", "lost_completions", s->lost_completions);
	put(d, "responder_", "unknown_flags", s->unknown_flags);
	put(d, "responder_", "stale_completions", s->stale_completions);
	put(d, "responder_", "parked", s->parked);
	put(d, "responder_", "sources", s->sources);
	put(d, "responder_", "in_flight", s->in_flight);
}

static void
put_rings(struct rte_tel_data *d, struct device *dev)
{
	static const char *const event[RP_ROLE_N] = {"prober_events", "responder_events"};

	for (int i = 0; i < RP_ROLE_N; i++)
		put(d, "ring_dropped_", event[i],
			atomic_load_explicit(&dev->cq.dropped[i], memory_order_relaxed));
	put(d, "ring_dropped_", "results",
		atomic_load_explicit(&dev->prober.results_dropped, memory_order_relaxed));
	put(d, "ring_dropped_", "no_room_for_results",
		atomic_load_explicit(&dev->prober.events_dropped, memory_order_relaxed));
	put(d, "ring_dropped_", "answers",
		atomic_load_explicit(&dev->responder.events_dropped, memory_order_relaxed));
}

static void
put_driver(void *arg, const char *name, uint64_t value)
{
	put(arg, "driver_", name, value);
}

static int
list_devices(const char *cmd, const char *params, struct rte_tel_data *d)
{
	(void)cmd, (void)params;
	rte_tel_data_start_array(d, RTE_TEL_STRING_VAL);
	pthread_mutex_lock(&answering.lock);
	for (uint32_t i = 0; answering.agent != NULL && i < answering.agent->n_devices; i++)
		rte_tel_data_add_array_string(d, answering.agent->device[i].dev.plan->name);
	pthread_mutex_unlock(&answering.lock);
	return 0;
}

static int
show_device(const char *cmd, const char *params, struct rte_tel_data *d)
{
	int rc = -EINVAL;

	(void)cmd;
	if (params == NULL)
		return rc;
	rte_tel_data_start_dict(d);
	pthread_mutex_lock(&answering.lock);
	for (uint32_t i = 0; answering.agent != NULL && i < answering.agent->n_devices; i++) {
		struct device *dev = &answering.agent->device[i].dev;
		struct rp_prober_stats prober;
		struct rp_responder_stats responder;

		if (strcmp(dev->plan->name, params) != 0)
			continue;
		snap_read(&dev->prober.snap, &prober, sizeof(prober));
		snap_read(&dev->responder.snap, &responder, sizeof(responder));
		rte_tel_data_add_dict_string(d, "gid", dev->gid_text);
		rte_tel_data_add_dict_string(d, "driver", dev->port->ops->name);
		put_prober(d, &prober);
		put_responder(d, &responder);
		put_rings(d, dev);
		dev->port->ops->stats(dev->port, put_driver, d);
		rc = 0;
	}
	pthread_mutex_unlock(&answering.lock);
	return rc;
}

void
telemetry_init(struct agent *agent)
{
	pthread_mutex_lock(&answering.lock);
	answering.agent = agent;
	pthread_mutex_unlock(&answering.lock);
	rte_telemetry_register_cmd("/rpingmesh/devices", list_devices,
		"Names of the agent's devices. Takes no parameters");
	rte_telemetry_register_cmd(
		"/rpingmesh/device", show_device, "Counters of a device. Parameters: device name");
}

void
telemetry_fini(void)
{
	pthread_mutex_lock(&answering.lock);
	answering.agent = NULL;
	pthread_mutex_unlock(&answering.lock);
}
