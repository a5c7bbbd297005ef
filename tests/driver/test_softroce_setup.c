/* SPDX-License-Identifier: BSD-3-Clause */

/* Ethdevs that can do less than asked, in their own words and in ours. */

#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include <rte_dev.h>

#include "rp_log.h"
#include "wire_port.h"

#define ENDLESS_MAX (1u << 20)

/* What the ethdev answers in place of the real one; 0 leaves it to that. */
static struct {
	uint16_t n_rxd;
	int desc_rc;
	int mac_rc, group_rc, allmulticast_rc, promiscuous_rc;
	int stats_rc;
	bool has_stats;
	unsigned int mac_calls, group_calls, allmulticast_calls, promiscuous_calls;
} eth;

/* Linked with --wrap (meson.build). */
int __wrap_rte_eth_dev_adjust_nb_rx_tx_desc(uint16_t id, uint16_t *n_rxd, uint16_t *n_txd);
int __real_rte_eth_dev_adjust_nb_rx_tx_desc(uint16_t id, uint16_t *n_rxd, uint16_t *n_txd);
int __wrap_rte_eth_dev_mac_addr_add(uint16_t id, struct rte_ether_addr *mac, uint32_t pool);
int __wrap_rte_eth_dev_set_mc_addr_list(uint16_t id, struct rte_ether_addr *list, uint32_t n);
int __wrap_rte_eth_allmulticast_enable(uint16_t id);
int __wrap_rte_eth_promiscuous_enable(uint16_t id);
int __wrap_rte_eth_macaddr_get(uint16_t id, struct rte_ether_addr *ret_mac);
int __wrap_rte_eth_stats_get(uint16_t id, struct rte_eth_stats *ret_stats);
int __real_rte_eth_stats_get(uint16_t id, struct rte_eth_stats *ret_stats);

int
__wrap_rte_eth_dev_adjust_nb_rx_tx_desc(uint16_t id, uint16_t *n_rxd, uint16_t *n_txd)
{
	if (eth.desc_rc != 0)
		return eth.desc_rc;
	if (eth.n_rxd == 0)
		return __real_rte_eth_dev_adjust_nb_rx_tx_desc(id, n_rxd, n_txd);
	*n_rxd = eth.n_rxd;
	return 0;
}

int
__wrap_rte_eth_dev_mac_addr_add(uint16_t id, struct rte_ether_addr *mac, uint32_t pool)
{
	(void)id, (void)pool;
	UT_MEM(mac->addr_bytes, wire_own_mac, 6);
	eth.mac_calls++;
	return eth.mac_rc;
}

int
__wrap_rte_eth_dev_set_mc_addr_list(uint16_t id, struct rte_ether_addr *list, uint32_t n)
{
	static const uint8_t all_nodes[6] = {0x33, 0x33, 0, 0, 0, 1};
	static const uint8_t solicited[6] = {0x33, 0x33, 0xFF, 0, 0, 1};

	(void)id;
	if (UT_EQ(n, 2)) {
		UT_MEM(list[0].addr_bytes, all_nodes, 6);
		UT_MEM(list[1].addr_bytes, solicited, 6);
	}
	eth.group_calls++;
	return eth.group_rc;
}

int
__wrap_rte_eth_allmulticast_enable(uint16_t id)
{
	(void)id;
	eth.allmulticast_calls++;
	return eth.allmulticast_rc;
}

int
__wrap_rte_eth_promiscuous_enable(uint16_t id)
{
	(void)id;
	eth.promiscuous_calls++;
	return eth.promiscuous_rc;
}

int
__wrap_rte_eth_macaddr_get(uint16_t id, struct rte_ether_addr *ret_mac)
{
	(void)id;
	memcpy(ret_mac->addr_bytes, wire_own_mac, 6);
	return 0;
}

int
__wrap_rte_eth_stats_get(uint16_t id, struct rte_eth_stats *ret_stats)
{
	if (eth.stats_rc != 0)
		return eth.stats_rc;
	if (!eth.has_stats)
		return __real_rte_eth_stats_get(id, ret_stats);
	*ret_stats = (struct rte_eth_stats){
		.imissed = 11, .rx_nombuf = 22, .ierrors = 33, .oerrors = 44};
	return 0;
}

static int log_fd;
static char log_text[4096];

/* Open with what @eth says now. @return the warnings, "" for none */
static const char *
open_and_read_log(void)
{
	ssize_t n;

	if (ftruncate(log_fd, 0) != 0 || lseek(log_fd, 0, SEEK_SET) != 0)
		exit(1);
	eth.mac_calls = eth.group_calls = eth.allmulticast_calls = eth.promiscuous_calls = 0;
	rp_log_setup(RP_LOG_WARN, RP_LOG_FORMAT_TEXT, log_fd);
	UT_TRUE(wire_open());
	rp_log_setup(RP_LOG_WARN, RP_LOG_FORMAT_TEXT, STDERR_FILENO);
	n = pread(log_fd, log_text, sizeof(log_text) - 1, 0);
	log_text[n < 0 ? 0 : n] = '\0';
	return log_text;
}

static void
begin(bool ipv6)
{
	memset(&eth, 0, sizeof(eth));
	wire_defaults(ipv6);
}

static void
setup__fewer_descriptors_than_asked_are_named(void)
{
	begin(false);
	eth.n_rxd = 64;
	UT_HAS(open_and_read_log(), "64 receive descriptors instead of 256");
	wire_close();
	eth.n_rxd = 256;
	UT_STR(open_and_read_log(), "");
	wire_close();
	eth.n_rxd = 512;
	UT_STR(open_and_read_log(), "");
	wire_close();
}

static void
setup__no_usable_number_of_descriptors_is_refused(void)
{
	struct rp_port *port = NULL;

	begin(false);
	eth.desc_rc = -EINVAL;
	UT_EQ(rp_softroce_ops.open(&wp.conf, &port, wp.why), -EINVAL);
	UT_HAS(wp.why, "descriptors");
	/* The device is free again. */
	eth.desc_rc = 0;
	UT_STR(open_and_read_log(), "");
	wire_close();
}

static void
setup__another_mac_needs_a_filter_or_promiscuous_mode(void)
{
	begin(false);
	UT_STR(open_and_read_log(), "");
	UT_EQ(eth.mac_calls, 1);
	UT_EQ(eth.promiscuous_calls, 0);
	wire_close();
	eth.mac_rc = -ENOTSUP;
	UT_STR(open_and_read_log(), "");
	UT_EQ(eth.promiscuous_calls, 1);
	wire_close();
	eth.promiscuous_rc = -ENOTSUP;
	UT_HAS(open_and_read_log(), "neither a second MAC nor a promiscuous mode");
	wire_close();
	/* Its own needs neither. */
	wp.conf.has_mac = false;
	UT_STR(open_and_read_log(), "");
	UT_EQ(eth.mac_calls + eth.promiscuous_calls + eth.group_calls, 0);
	wire_close();
}

static void
setup__ipv6_needs_groups_or_all_multicast_or_promiscuous_mode(void)
{
	begin(true);
	UT_STR(open_and_read_log(), "");
	UT_EQ(eth.group_calls, 1);
	UT_EQ(eth.allmulticast_calls + eth.promiscuous_calls, 0);
	wire_close();
	eth.group_rc = -ENOTSUP;
	UT_STR(open_and_read_log(), "");
	UT_EQ(eth.allmulticast_calls, 1);
	UT_EQ(eth.promiscuous_calls, 0);
	wire_close();
	eth.allmulticast_rc = -ENOTSUP;
	UT_STR(open_and_read_log(), "");
	UT_EQ(eth.promiscuous_calls, 1);
	wire_close();
	eth.promiscuous_rc = -ENOTSUP;
	UT_HAS(open_and_read_log(), "no multicast filter: neighbours may not find us");
	wire_close();
}

static void
setup__counters_of_the_ethdev_are_passed_on(void)
{
	static struct wire_stats all;

	begin(false);
	eth.has_stats = true;
	if (wire_open()) {
		UT_EQ_U(wire_stat("rx_missed"), 11);
		UT_EQ_U(wire_stat("rx_no_buffer"), 22);
		UT_EQ_U(wire_stat("ethdev_rx_errors"), 33);
		UT_EQ_U(wire_stat("ethdev_tx_errors"), 44);
		/* None are better than false ones. */
		eth.stats_rc = -ENOTSUP;
		wire_snapshot(&all);
		for (size_t i = 0; i < all.n; i++)
			UT_TRUE(strcmp(all.name[i], "rx_missed") != 0);
	}
	wire_close();
}

static uint32_t drained;

/* The wire has no end, but the test has. */
static uint16_t
count_endless(
	uint16_t id, uint16_t queue, struct rte_mbuf *m[], uint16_t n, uint16_t n_max, void *arg)
{
	(void)id, (void)queue, (void)n_max, (void)arg;
	drained += n;
	if (drained < ENDLESS_MAX)
		return n;
	rte_pktmbuf_free_bulk(m, n);
	return 0;
}

static void
setup__close_ends_under_traffic(void)
{
	const struct rte_eth_rxtx_callback *callback;
	uint16_t id;

	/* It receives as fast as it is asked. */
	UT_OK(rte_eal_hotplug_add("vdev", "net_null0", ""));
	if (!UT_OK(rte_eth_dev_get_port_by_name("net_null0", &id)))
		return;
	begin(false);
	wp.conf.device = "net_null0";
	if (wire_open()) {
		wire_turn();
		UT_EQ(wp.n_ev, 0);
		callback = rte_eth_add_rx_callback(id, 0, count_endless, NULL);
		drained = 0;
		wire_close();
		UT_TRUE(drained <= SR_RX_DEPTH_MAX);
		UT_OK(rte_eth_remove_rx_callback(id, 0, callback));
	}
	wire_close();
	UT_OK(rte_eal_hotplug_remove("vdev", "net_null0"));
}

static const struct ut_test tests[] = {
	UT(setup__fewer_descriptors_than_asked_are_named),
	UT(setup__no_usable_number_of_descriptors_is_refused),
	UT(setup__another_mac_needs_a_filter_or_promiscuous_mode),
	UT(setup__ipv6_needs_groups_or_all_multicast_or_promiscuous_mode),
	UT(setup__counters_of_the_ethdev_are_passed_on),
	UT(setup__close_ends_under_traffic),
};

int
main(int argc, char **argv)
{
	log_fd = memfd_create("log", MFD_CLOEXEC);
	if (log_fd < 0)
		return 1;
	wire_init(1, 2);
	return ut_main("softroce_setup", tests, RP_ARRAY_LEN(tests), argc, argv);
}
