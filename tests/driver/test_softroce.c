/* SPDX-License-Identifier: BSD-3-Clause */

/* The conformance suite over softroce, on a cable of rings. */

#include <stdio.h>

#include "conform.h"
#include "ring_rig.h"
#include "rp_be.h"
#include "softroce_priv.h"

#define SPORT_OFF (RP_ROCE_ETH_LEN + RP_ROCE_IPV4_LEN)

static struct rp_host_clock host_clock;
static uint16_t sport_seen;

static uint16_t
watch_sport(uint16_t port_id, uint16_t queue, struct rte_mbuf *m[], uint16_t n, void *arg)
{
	(void)port_id, (void)queue, (void)arg;
	for (uint16_t i = 0; i < n; i++)
		if (m[i]->data_len > SPORT_OFF + 2)
			sport_seen = rp_load_be16(
				rte_pktmbuf_mtod_offset(m[i], const uint8_t *, SPORT_OFF));
	return n;
}

static void
rig_nothing(void)
{
}

static void
rig_conf(unsigned int i, struct rp_port_conf *ret_conf)
{
	const uint8_t mac[6] = {0x02, 0, 0, 0, 9, (uint8_t)(i + 1)};

	ret_conf->clock = &host_clock;
	ret_conf->has_mac = true;
	memcpy(ret_conf->mac, mac, 6);
}

static uint32_t
rig_buffers(void)
{
	uint32_t n = 0;

	for (unsigned int i = 0; i < 2; i++)
		n += rte_mempool_avail_count(sr_port_of(conform_side[i].port)->pool);
	return n;
}

static uint16_t
rig_last_sport(void)
{
	return sport_seen;
}

static struct conform_rig rig = {
	.ops = &rp_softroce_ops,
	.conf = rig_conf,
	.up = rig_nothing,
	.down = rig_nothing,
	.step = rig_nothing,
	.buffers = rig_buffers,
	.last_sport = rig_last_sport,
	.device = {"net_ring_one0", "net_ring_one1"},
};

static const struct ut_test tests[] = {CONFORM_TESTS};

static void
watch_port(const char *device)
{
	uint16_t id;

	if (rte_eth_dev_get_port_by_name(device, &id) != 0)
		exit(1);
	for (uint16_t q = 0; q < 2; q++)
		rte_eth_add_tx_callback(id, q, watch_sport, NULL);
}

/* "one": a cable with one queue each way; "two": with two. */
int
main(int argc, char **argv)
{
	ring_rig_eal();
	rp_host_clock_init(&host_clock, 20, "");
	ring_rig_cable("one", 1);
	ring_rig_cable("two", 2);
	if (argc > 1 && strcmp(argv[1], "two") == 0) {
		rig.device[0] = "net_ring_two0";
		rig.device[1] = "net_ring_two1";
		argv++;
		argc--;
	}
	watch_port(rig.device[0]);
	conform_rig = &rig;
	return ut_main("driver_softroce", tests, RP_ARRAY_LEN(tests), argc, argv);
}
