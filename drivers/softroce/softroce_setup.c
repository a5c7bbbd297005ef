/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <rte_errno.h>
#include <rte_log.h>
#include <rte_mempool.h>

#include "rp_log.h"
#include "rp_opt.h"
#include "softroce_priv.h"

#define RP_LOG_COMPONENT "softroce"

/* A probe and its headers fit the small one; some PMDs insist on whole frames. */
#define ROOM_SMALL (RTE_PKTMBUF_HEADROOM + 256)
#define ROOM_LARGE RTE_MBUF_DEFAULT_BUF_SIZE

/* af_xdp fills a ring of 2048 per queue, whatever it is asked for. */
#define AF_XDP_SPARE 4096

#define TX_DESC    1024
#define POOL_CACHE 128
#define POOL_SPARE 1024 /* caches of three lcores, bursts under way, own frames */
#define MTU_MIN    128  /* a probe over IPv6 */

/* UDP and IB headers over the larger IP header. */
#define IP_OVERHEAD (RP_ROCE_IPV6_LEN + SR_UDP_OVERHEAD)

uint32_t
sr_max_payload(uint32_t mtu, uint32_t room)
{
	uint32_t fits = (uint32_t)rp_min_u64(mtu - IP_OVERHEAD, room - SR_FRAME_OVERHEAD) & ~3u;
	uint32_t step = RP_ROCE_PAYLOAD_MAX;

	/* RDMA peers know path MTUs of 256 .. 4096; what is smaller goes through all. */
	while (step > 256 && step > fits)
		step /= 2;
	return (uint32_t)rp_min_u64(fits, step);
}

static int fail(char *why, int rc, const char *fmt, ...) RP_PRINTF(3, 4);

static int
fail(char *why, int rc, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, RP_OPT_WHY_MAX, fmt, ap);
	va_end(ap);
	return rc;
}

static void
list_ethdevs(char *text, size_t len)
{
	size_t at = 0;
	uint16_t id;

	snprintf(text, len, "none");
	RTE_ETH_FOREACH_DEV(id) {
		char name[RTE_ETH_NAME_MAX_LEN];

		if (rte_eth_dev_get_name_by_port(id, name) == 0 && at < len)
			at += (size_t)snprintf(
				text + at, len - at, "%s%s", at == 0 ? "" : ", ", name);
	}
}

int
sr_ethdev_find(const char *device, uint16_t *ret_id, char *why)
{
	char names[256];

	if (rte_eth_dev_get_port_by_name(device, ret_id) == 0)
		return 0;
	list_ethdevs(names, sizeof(names));
	return fail(why, -ENODEV,
		"port %s: no such ethdev (there are: %s): give EAL --vdev=%s,... for a virtual one, "
		"or -a ADDRESS for one on PCI after binding it to vfio-pci",
		device, names, device);
}

static int
claim_ethdev(struct sr_port *port, char *why)
{
	int rc;

	snprintf(port->claim.name, sizeof(port->claim.name), "rpingmesh");
	rc = rte_eth_dev_owner_new(&port->claim.id);
	if (rc == 0)
		rc = rte_eth_dev_owner_set(port->port_id, &port->claim);
	if (rc != 0)
		return fail(why, -EBUSY,
			"port %s: the ethdev is in use already: configure each device once",
			port->device);
	return 0;
}

/* @return the kernel's view through the descriptor opened in this namespace */
static bool
interface_up(int fd, int if_index)
{
	struct ifreq ifr = {.ifr_ifindex = if_index};

	return ioctl(fd, SIOCGIFNAME, &ifr) == 0 && ioctl(fd, SIOCGIFFLAGS, &ifr) == 0 &&
		(ifr.ifr_flags & (IFF_UP | IFF_RUNNING)) == (IFF_UP | IFF_RUNNING);
}

bool
sr_ethdev_link_up(const struct sr_port *port)
{
	struct rte_eth_link link;

	/* af_packet reports "up" for interfaces that are down or gone. */
	if (port->if_index > 0)
		return interface_up(port->link_fd, port->if_index);
	return rte_eth_link_get_nowait(port->port_id, &link) == 0 &&
		link.link_status == RTE_ETH_LINK_UP;
}

static uint16_t
count_rxq(const struct rte_eth_dev_info *info)
{
	/*
	 * Few queues are there because somebody asked for them (qpairs=, queue_count=),
	 * and frames may come in on any. Many are a capability: the first is enough
	 * without RSS.
	 */
	return info->max_rx_queues <= SR_RXQ_MAX ? info->max_rx_queues : 1;
}

static uint16_t
count_txq(const struct rte_eth_dev_info *info)
{
	/* memif makes one ring per queue of its peer, which may have one only. */
	if (strcmp(info->driver_name, "net_memif") == 0)
		return 1;
	return (uint16_t)rp_min_u64(info->max_tx_queues, 2);
}

static int
configure(struct sr_port *port, const struct rte_eth_dev_info *info, uint16_t mtu, char *why)
{
	const struct rte_eth_conf conf = {.rxmode = {.mq_mode = RTE_ETH_MQ_RX_NONE, .mtu = mtu}};
	int rc;

	port->n_rxq = count_rxq(info);
	port->n_txq = count_txq(info);
	if (port->n_rxq == 0 || port->n_txq == 0)
		return fail(why, -ENOTSUP, "port %s: driver %s has no queues", port->device,
			info->driver_name);
	rc = rte_eth_dev_configure(port->port_id, port->n_rxq, port->n_txq, &conf);
	/* Some want as many of one kind as of the other (af_xdp, tap). */
	if (rc != 0 && port->n_txq != port->n_rxq && port->n_rxq <= info->max_tx_queues) {
		port->n_txq = port->n_rxq;
		rc = rte_eth_dev_configure(port->port_id, port->n_rxq, port->n_txq, &conf);
	}
	if (rc != 0)
		return fail(why, rc,
			"port %s: driver %s refuses %u receive and %u transmit queues: %s",
			port->device, info->driver_name, port->n_rxq, port->n_txq,
			rte_strerror(-rc));
	return 0;
}

/* The pool of an earlier life may still be out on the wire of a virtual device. */
static struct rte_mempool *
pool_get(const struct sr_port *port, uint32_t n, uint16_t room)
{
	char name[RTE_MEMPOOL_NAMESIZE];
	struct rte_mempool *pool;

	snprintf(name, sizeof(name), "sr%u_%u_%u", port->port_id, n, room);
	pool = rte_mempool_lookup(name);
	if (pool == NULL)
		pool = rte_pktmbuf_pool_create(name, n, POOL_CACHE, 0, room, port->socket_id);
	return pool;
}

static void
pool_put(struct rte_mempool *pool)
{
	if (pool != NULL && rte_mempool_full(pool))
		rte_mempool_free(pool);
}

static int
setup_rx_queues(struct sr_port *port, uint16_t n_desc, uint32_t n, uint16_t room)
{
	int rc = 0;

	port->pool = pool_get(port, n, room);
	/* Not -ENOMEM: net_af_packet says that of a room that is too small. */
	if (port->pool == NULL)
		return -ENOBUFS;
	for (uint16_t q = 0; q < port->n_rxq && rc == 0; q++)
		rc = rte_eth_rx_queue_setup(
			port->port_id, q, n_desc, (unsigned int)port->socket_id, NULL, port->pool);
	if (rc != 0) {
		pool_put(port->pool);
		port->pool = NULL;
	}
	return rc;
}

static int
setup_rx(struct sr_port *port, const struct rp_port_conf *conf, const struct rte_eth_dev_info *info,
	uint16_t n_rxd, uint16_t n_txd, char *why)
{
	uint32_t n = (uint32_t)port->n_rxq * n_rxd + (uint32_t)port->n_txq * n_txd + POOL_SPARE;
	uint16_t room = ROOM_SMALL;
	uint32_t level = rte_log_get_global_level();
	int rc;

	/* A question: a driver that says no logs an error that is none. */
	rte_log_set_global_level(RTE_LOG_CRIT);
	rc = setup_rx_queues(port, n_rxd, n, room);
	rte_log_set_global_level(level);
	if (rc != 0 && rc != -ENOBUFS) {
		room = ROOM_LARGE;
		if (strcmp(info->driver_name, "net_af_xdp") == 0)
			n += (uint32_t)port->n_rxq * AF_XDP_SPARE;
		rp_info("port %s: the driver refuses buffers of %u bytes, using %u of %u bytes",
			port->device, ROOM_SMALL, n, room);
		rc = setup_rx_queues(port, n_rxd, n, room);
	}
	if (rc == -ENOBUFS)
		return fail(why, -ENOMEM,
			"port %s: no memory for %u buffers of %u bytes (rx_depth %u): give EAL more "
			"memory (-m, hugepages) or lower rx_depth",
			port->device, n, room, conf->rx_depth);
	if (rc != 0)
		return fail(why, rc, "port %s: the driver refuses %u receive descriptors: %s",
			port->device, n_rxd, rte_strerror(-rc));
	return 0;
}

static int
setup_queues(struct sr_port *port, const struct rp_port_conf *conf,
	const struct rte_eth_dev_info *info, char *why)
{
	uint16_t n_rxd = (uint16_t)conf->rx_depth, n_txd = TX_DESC;
	int rc;

	rc = rte_eth_dev_adjust_nb_rx_tx_desc(port->port_id, &n_rxd, &n_txd);
	if (rc != 0)
		return fail(why, rc, "port %s: no usable number of descriptors: %s", port->device,
			rte_strerror(-rc));
	if ((uint32_t)n_rxd * port->n_rxq < conf->rx_depth)
		rp_warn("port %s: %u receive descriptors instead of %u: bursts beyond that are lost",
			port->device, n_rxd, conf->rx_depth);
	rc = setup_rx(port, conf, info, n_rxd, n_txd, why);
	for (uint16_t q = 0; q < port->n_txq && rc == 0; q++) {
		rc = rte_eth_tx_queue_setup(
			port->port_id, q, n_txd, (unsigned int)port->socket_id, NULL);
		if (rc != 0)
			fail(why, rc, "port %s: the driver refuses %u transmit descriptors: %s",
				port->device, n_txd, rte_strerror(-rc));
	}
	return rc;
}

static int
set_mac(struct sr_port *port, const struct rp_port_conf *conf, char *why)
{
	struct rte_ether_addr addr;

	if (conf->has_mac)
		memcpy(addr.addr_bytes, conf->mac, 6);
	else if (rte_eth_macaddr_get(port->port_id, &addr) != 0)
		return fail(why, -EIO, "port %s: the ethdev has no MAC: set one", port->device);
	if (!rte_is_valid_assigned_ether_addr(&addr))
		return fail(why, -EINVAL,
			"port %s: its MAC is not a unicast one: set another with mac=",
			port->device);
	memcpy(port->mac, addr.addr_bytes, 6);
	return 0;
}

/* Frames to another MAC than the port's, and neighbour solicitations, must come in. */
static void
set_filters(struct sr_port *port, const struct rp_port_conf *conf)
{
	struct rte_ether_addr group[2] = {
		{{0x33, 0x33, 0, 0, 0, 1}},
		{{0x33, 0x33, 0xFF, port->base.gid.b[13], port->base.gid.b[14],
			port->base.gid.b[15]}},
	};
	struct rte_ether_addr mac;

	memcpy(mac.addr_bytes, port->mac, 6);
	if (conf->has_mac && rte_eth_dev_mac_addr_add(port->port_id, &mac, 0) != 0 &&
		rte_eth_promiscuous_enable(port->port_id) != 0)
		rp_warn("port %s: cannot receive for another MAC than its own: the driver has "
			"neither a second MAC nor a promiscuous mode",
			port->device);
	if (port->is_ipv6 &&
		rte_eth_dev_set_mc_addr_list(port->port_id, group, RP_ARRAY_LEN(group)) != 0 &&
		rte_eth_allmulticast_enable(port->port_id) != 0 &&
		rte_eth_promiscuous_enable(port->port_id) != 0)
		rp_warn("port %s: the driver has no multicast filter: neighbours may not find us",
			port->device);
}

static int
start(struct sr_port *port, const struct rte_eth_dev_info *info, char *why)
{
	int rc = rte_eth_dev_start(port->port_id);

	if (rc == 0)
		return 0;
	if (strcmp(info->driver_name, "net_memif") == 0)
		return fail(why, -EAGAIN,
			"port %s: memif cannot start: the server's socket is not there yet",
			port->device);
	return fail(why, rc, "port %s: driver %s cannot start: %s", port->device, info->driver_name,
		rte_strerror(-rc));
}

/* Largest IP datagram of the port, or what the kernel lets through. */
static int
find_mtu(const struct sr_port *port, uint16_t *ret_mtu, char *why)
{
	struct ifreq ifr = {.ifr_ifindex = port->if_index};

	/* A driver that does not know its MTU has no limit of its own. */
	if (rte_eth_dev_get_mtu(port->port_id, ret_mtu) != 0)
		*ret_mtu = RTE_ETHER_MTU;
	if (port->if_index > 0 && ioctl(port->link_fd, SIOCGIFNAME, &ifr) == 0 &&
		ioctl(port->link_fd, SIOCGIFMTU, &ifr) == 0 && ifr.ifr_mtu < *ret_mtu)
		*ret_mtu = (uint16_t)ifr.ifr_mtu;
	if (*ret_mtu < MTU_MIN)
		return fail(why, -EINVAL,
			"port %s: an MTU of %u is too small for a probe: set %u or more",
			port->device, *ret_mtu, MTU_MIN);
	return 0;
}

static void
set_limits(struct sr_port *port, uint16_t mtu)
{
	port->room = rte_pktmbuf_data_room_size(port->pool) - RTE_PKTMBUF_HEADROOM;
	port->base.caps.max_payload_bytes = sr_max_payload(mtu, port->room);
}

static void
watch_interface(struct sr_port *port, const struct rte_eth_dev_info *info)
{
	port->if_index = (int)info->if_index;
	if (port->if_index > 0)
		port->link_fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
}

static int
bring_up(struct sr_port *port, const struct rp_port_conf *conf, char *why)
{
	struct rte_eth_dev_info info;
	uint16_t mtu;
	int rc = rte_eth_dev_info_get(port->port_id, &info);

	if (rc != 0)
		return fail(why, rc, "port %s: no information from the driver: %s", port->device,
			rte_strerror(-rc));
	watch_interface(port, &info);
	if (port->if_index > 0 && port->link_fd < 0)
		return fail(why, -errno, "port %s: no descriptor to watch the interface with",
			port->device);
	rc = find_mtu(port, &mtu, why);
	if (rc == 0)
		rc = configure(port, &info, mtu, why);
	if (rc == 0)
		rc = setup_queues(port, conf, &info, why);
	if (rc == 0)
		rc = set_mac(port, conf, why);
	if (rc == 0)
		rc = start(port, &info, why);
	if (rc != 0)
		return rc;
	set_limits(port, mtu);
	set_filters(port, conf);
	if ((info.rx_offload_capa & RTE_ETH_RX_OFFLOAD_TIMESTAMP) != 0)
		rp_info("port %s: the driver's receive timestamps are not used: it has none for "
			"what it sends, and both must be of one clock",
			port->device);
	rp_info("port %s: driver %s, %u receive and %u transmit queues, payload up to %u bytes",
		port->device, info.driver_name, port->n_rxq, port->n_txq,
		port->base.caps.max_payload_bytes);
	return 0;
}

int
sr_ethdev_open(struct sr_port *port, const struct rp_port_conf *conf, char *why)
{
	int rc;

	rc = claim_ethdev(port, why);
	if (rc != 0)
		return rc;
	rc = bring_up(port, conf, why);
	if (rc != 0) {
		pool_put(port->pool);
		if (port->link_fd >= 0)
			close(port->link_fd);
		rte_eth_dev_owner_unset(port->port_id, port->claim.id);
	}
	return rc;
}

/*
 * What a virtual wire still holds would meet the next owner. No more than a queue can
 * hold: under traffic it never gets empty, and after the stop nothing can be received.
 */
static void
drain(const struct sr_port *port, uint16_t rxq)
{
	struct rte_mbuf *m[SR_BURST];
	uint16_t n;

	for (uint32_t total = 0; total < SR_RX_DEPTH_MAX; total += n) {
		n = rte_eth_rx_burst(port->port_id, rxq, m, SR_BURST);
		if (n == 0)
			break;
		rte_pktmbuf_free_bulk(m, n);
	}
}

void
sr_ethdev_close(struct sr_port *port)
{
	for (uint16_t q = 0; q < port->n_rxq; q++)
		drain(port, q);
	rte_eth_dev_stop(port->port_id);
	pool_put(port->pool);
	if (port->link_fd >= 0)
		close(port->link_fd);
	rte_eth_dev_owner_unset(port->port_id, port->claim.id);
}
