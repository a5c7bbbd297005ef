/* SPDX-License-Identifier: BSD-3-Clause */

/* The conformance suite over softroce, on rings and on a kernel interface. */

#include <stdlib.h>
#include <unistd.h>

#include <rte_dev.h>

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
	.device = {"net_ring_cable0", "net_ring_cable1"},
};

static const struct conform_opts defaults = CONFORM_DEFAULTS;

static void
shell(const char *command)
{
	ut_check(system(command) == 0, __FILE__, __LINE__, "%s", command);
}

/* The kernel tells of a carrier that came back once a second. */
static bool
comes_up(struct rp_port *port)
{
	for (unsigned int i = 0; i < 300; i++) {
		if (rp_port_link_up(port))
			return true;
		usleep(10000);
	}
	return false;
}

/* One probe over the wire, and whether it arrived. */
static bool
probe_arrives(uint64_t cookie)
{
	static const uint8_t payload[RP_PAYLOAD_LEN];
	const struct rp_tx tx = conform_probe(payload, sizeof(payload), cookie);

	conform_side[0].n = conform_side[1].n = 0;
	UT_EQ(rp_qp_tx_burst(conform_side[0].qp[RP_ROLE_PROBER], &tx, 1), 1);
	conform_settle();
	return conform_count(1, RP_EV_RX) > 0;
}

static void
link__is_what_the_kernel_says_of_the_interface(void)
{
	struct rte_eth_link pmd;

	if (!conform_up(&defaults))
		goto down;
	UT_TRUE(rp_port_link_up(conform_side[0].port));
	UT_TRUE(probe_arrives(1));
	shell("ip link set rpmdrv-a down");
	UT_FALSE(rp_port_link_up(conform_side[0].port));
	/* The reason why the driver is not asked. */
	UT_OK(rte_eth_link_get_nowait(sr_port_of(conform_side[0].port)->port_id, &pmd));
	UT_EQ(pmd.link_status, RTE_ETH_LINK_UP);
	UT_FALSE(probe_arrives(2));
	if (UT_EQ(conform_count(0, RP_EV_TX_ERR), 1))
		UT_EQ(conform_nth(0, RP_EV_TX_ERR, 0)->status, RP_TX_REFUSED_LINK);
	shell("ip link set rpmdrv-a up");
	UT_TRUE(comes_up(conform_side[0].port));
	/* The socket reports the past once, with the first frame, which waits for the next. */
	probe_arrives(3);
	UT_TRUE(probe_arrives(4));
	/* The cable's other end. */
	shell("ip link set rpmdrv-b down");
	UT_FALSE(rp_port_link_up(conform_side[0].port));
	shell("ip link set rpmdrv-b up");
	UT_TRUE(comes_up(conform_side[0].port));
down:
	conform_down();
}

static void
mtu__of_the_interface_bounds_the_payload(void)
{
	shell("ip link set rpmdrv-a mtu 300");
	if (conform_up(&defaults))
		UT_EQ_U(conform_side[0].port->caps.max_payload_bytes, 228);
	conform_down();
	shell("ip link set rpmdrv-a mtu 1500");
}

/* The last one: the interfaces are gone after it. */
static void
link__of_a_deleted_interface_is_down(void)
{
	if (conform_up(&defaults)) {
		shell("ip link del rpmdrv-a");
		UT_FALSE(rp_port_link_up(conform_side[0].port));
		UT_FALSE(rp_port_link_up(conform_side[1].port));
		UT_FALSE(probe_arrives(1));
	}
	conform_down();
}

static const struct ut_test ring_tests[] = {CONFORM_TESTS};

static const struct ut_test veth_tests[] = {
	CONFORM_TESTS UT(link__is_what_the_kernel_says_of_the_interface),
	UT(mtu__of_the_interface_bounds_the_payload),
	UT(link__of_a_deleted_interface_is_down),
};

static void
watch_port(const char *device)
{
	struct rte_eth_dev_info info;
	uint16_t id;

	if (rte_eth_dev_get_port_by_name(device, &id) != 0 || rte_eth_dev_info_get(id, &info) != 0)
		exit(1);
	for (uint16_t q = 0; q < info.max_tx_queues; q++)
		rte_eth_add_tx_callback(id, q, watch_sport, NULL);
}

static void
use_veth(void)
{
	if (rte_eal_hotplug_add("vdev", "net_af_packet0", "iface=rpmdrv-a") != 0 ||
		rte_eal_hotplug_add("vdev", "net_af_packet1", "iface=rpmdrv-b") != 0)
		exit(1);
	rig.device[0] = "net_af_packet0";
	rig.device[1] = "net_af_packet1";
}

/*
 * "one": a cable of rings with one queue each way; "two": with two; "veth": the
 * interfaces rpmdrv-a and rpmdrv-b (in_veth.sh).
 */
int
main(int argc, char **argv)
{
	const char *wire = argc > 1 ? argv[1] : "";

	ring_rig_eal();
	rp_host_clock_init(&host_clock, 20, "");
	conform_rig = &rig;
	if (strcmp(wire, "veth") == 0) {
		use_veth();
		watch_port(rig.device[0]);
		return ut_main("driver_softroce_veth", veth_tests, RP_ARRAY_LEN(veth_tests),
			argc - 1, argv + 1);
	}
	if (strcmp(wire, "one") != 0 && strcmp(wire, "two") != 0)
		return 64;
	ring_rig_cable("cable", strcmp(wire, "two") == 0 ? 2 : 1);
	watch_port(rig.device[0]);
	return ut_main("driver_softroce", ring_tests, RP_ARRAY_LEN(ring_tests), argc - 1, argv + 1);
}
