/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * What an owner of an address has to say and to hear: ARP (RFC 826, 5227),
 * neighbour discovery (RFC 4861) and echo (RFC 792, 4443).
 */

#include "rp_be.h"
#include "softroce_priv.h"

#define ETHERTYPE_IPV4 0x0800
#define ETHERTYPE_ARP  0x0806
#define ETHERTYPE_IPV6 0x86DD
#define ETHERTYPE_VLAN 0x8100

#define ETH_MIN     60 /* without FCS */
#define ARP_LEN     28
#define ARP_REQUEST 1
#define ARP_REPLY   2

#define IPPROTO_ICMP4 1
#define IPPROTO_ICMP6 58
#define ICMP_LEN      8
#define ICMP4_ECHO    8
#define ICMP4_REPLY   0
#define ICMP6_ECHO    128
#define ICMP6_REPLY   129

#define ND_SOLICIT     135
#define ND_ADVERT      136
#define ND_LEN         24 /* ICMPv6 header, flags and target */
#define ND_OPT_LEN     8
#define ND_OPT_SOURCE  1
#define ND_OPT_TARGET  2
#define ND_F_SOLICITED 0x40
#define ND_F_OVERRIDE  0x20
#define ND_HOP_LIMIT   255

#define REPLIES_PER_S  1000
#define REPLIES_BURST  64
#define ECHOES_PER_S   100
#define ECHOES_BURST   20
#define DEFEND_EVERY_S 10 /* RFC 5227 section 2.4 (c) */

static const uint8_t mac_broadcast[6] = {0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF};

static void
bucket_init(struct sr_bucket *bucket, const struct sr_port *port, uint32_t per_s, uint32_t burst)
{
	bucket->cost = port->clock->rate.hz / per_s;
	bucket->cap = bucket->cost * burst;
	bucket->credit = bucket->cap;
	bucket->last = rp_host_now(port->clock);
}

static bool
bucket_take(struct sr_bucket *bucket, struct rp_tsc now)
{
	bucket->credit = rp_min_u64(bucket->cap, bucket->credit + rp_tsc_since(bucket->last, now));
	bucket->last = now;
	if (bucket->credit < bucket->cost)
		return false;
	bucket->credit -= bucket->cost;
	return true;
}

void
sr_own_init(struct sr_port *port)
{
	bucket_init(&port->reply_budget, port, REPLIES_PER_S, REPLIES_BURST);
	bucket_init(&port->echo_budget, port, ECHOES_PER_S, ECHOES_BURST);
}

static bool
is_own(const struct sr_port *port, const struct rp_gid *ip)
{
	return rp_gid_equal(ip, &port->base.gid);
}

static struct rp_gid
gid_of(const uint8_t *ipv6)
{
	struct rp_gid gid;

	memcpy(gid.b, ipv6, sizeof(gid.b));
	return gid;
}

static bool
mac_is_unicast(const uint8_t *mac)
{
	static const uint8_t zero[6];

	return (mac[0] & 1) == 0 && memcmp(mac, zero, 6) != 0;
}

/* Solicited-node multicast address of @p ip (RFC 4291 section 2.7.1). */
static struct rp_gid
solicited_node(const struct rp_gid *ip)
{
	struct rp_gid gid = {{0xFF, 0x02, [11] = 0x01, [12] = 0xFF}};

	memcpy(gid.b + 13, ip->b + 13, 3);
	return gid;
}

/* RFC 2464 section 7 */
static void
multicast_mac(const struct rp_gid *group, uint8_t mac[6])
{
	mac[0] = 0x33;
	mac[1] = 0x33;
	memcpy(mac + 2, group->b + 12, 4);
}

/* A buffer for a frame of @p len bytes, zeroed, or NULL. */
static struct rte_mbuf *
own_frame(struct sr_port *port, uint32_t len, uint8_t **ret_frame)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(port->pool);

	if (m == NULL) {
		sr_count(&port->cq.own_no_buffer, 1);
		return NULL;
	}
	len = (uint32_t)rp_max_u64(len, ETH_MIN);
	m->data_len = (uint16_t)len;
	m->pkt_len = len;
	*ret_frame = rte_pktmbuf_mtod(m, uint8_t *);
	memset(*ret_frame, 0, len);
	return m;
}

static bool
own_push(struct sr_port *port, struct rte_mbuf *m)
{
	if (rte_ring_sp_enqueue(port->own_ring, m) == 0)
		return true;
	sr_count(&port->cq.own_no_buffer, 1);
	rte_pktmbuf_free(m);
	return false;
}

static uint32_t
l3_off_of(const struct sr_port *port)
{
	return RP_ROCE_ETH_LEN + (port->vlan == 0 ? 0 : RP_ROCE_VLAN_LEN);
}

static uint8_t *
put_ethernet(const struct sr_port *port, uint8_t *frame, const uint8_t *dst, uint16_t type)
{
	uint8_t *p = frame + 12;

	memcpy(frame, dst, 6);
	memcpy(frame + 6, port->mac, 6);
	if (port->vlan != 0) {
		rp_store_be16(p, ETHERTYPE_VLAN);
		rp_store_be16(p + 2, port->vlan);
		p += RP_ROCE_VLAN_LEN;
	}
	rp_store_be16(p, type);
	return p + 2;
}

/* Our address as sender. @p target_mac NULL: unknown */
static bool
send_arp(struct sr_port *port, uint16_t op, const uint8_t *dst_mac, const uint8_t *target_mac,
	const struct rp_gid *target)
{
	uint8_t *frame, *p;
	struct rte_mbuf *m = own_frame(port, l3_off_of(port) + ARP_LEN, &frame);

	if (m == NULL)
		return false;
	p = put_ethernet(port, frame, dst_mac, ETHERTYPE_ARP);
	rp_store_be16(p, 1);
	rp_store_be16(p + 2, ETHERTYPE_IPV4);
	p[4] = 6;
	p[5] = 4;
	rp_store_be16(p + 6, op);
	memcpy(p + 8, port->mac, 6);
	memcpy(p + 14, port->base.gid.b + 12, 4);
	if (target_mac != NULL)
		memcpy(p + 18, target_mac, 6);
	memcpy(p + 24, target->b + 12, 4);
	return own_push(port, m);
}

static uint16_t
icmp6_checksum(
	const struct rp_gid *src, const struct rp_gid *dst, const uint8_t *icmp, uint32_t len)
{
	uint32_t sum = IPPROTO_ICMP6 + len;

	for (size_t i = 0; i < 16; i += 2)
		sum += (uint32_t)rp_load_be16(src->b + i) + rp_load_be16(dst->b + i);
	return rp_inet_checksum(icmp, len, sum);
}

static uint8_t *
put_ipv6(uint8_t *p, const struct rp_gid *src, const struct rp_gid *dst, uint8_t hop_limit,
	uint16_t len)
{
	rp_store_be32(p, 6u << 28);
	rp_store_be16(p + 4, len);
	p[6] = IPPROTO_ICMP6;
	p[7] = hop_limit;
	memcpy(p + 8, src->b, 16);
	memcpy(p + 24, dst->b, 16);
	return p + RP_ROCE_IPV6_LEN;
}

/* A solicitation or advertisement about @p target, with our link-layer address. */
static bool
send_nd(struct sr_port *port, uint8_t type, uint8_t flags, const uint8_t *dst_mac,
	const struct rp_gid *dst, const struct rp_gid *target)
{
	const uint32_t len = ND_LEN + ND_OPT_LEN;
	uint8_t *frame, *p;
	struct rte_mbuf *m = own_frame(port, l3_off_of(port) + RP_ROCE_IPV6_LEN + len, &frame);

	if (m == NULL)
		return false;
	p = put_ethernet(port, frame, dst_mac, ETHERTYPE_IPV6);
	p = put_ipv6(p, &port->base.gid, dst, ND_HOP_LIMIT, (uint16_t)len);
	p[0] = type;
	p[4] = flags;
	memcpy(p + 8, target->b, 16);
	p[ND_LEN] = type == ND_SOLICIT ? ND_OPT_SOURCE : ND_OPT_TARGET;
	p[ND_LEN + 1] = 1;
	memcpy(p + ND_LEN + 2, port->mac, 6);
	rp_store_be16(p + 2, icmp6_checksum(&port->base.gid, dst, p, len));
	return own_push(port, m);
}

bool
sr_own_ask(struct sr_port *port, const struct rp_gid *ip)
{
	struct rp_gid group;
	uint8_t mac[6];

	if (!port->is_ipv6)
		return send_arp(port, ARP_REQUEST, mac_broadcast, NULL, ip);
	group = solicited_node(ip);
	multicast_mac(&group, mac);
	return send_nd(port, ND_SOLICIT, 0, mac, &group, ip);
}

bool
sr_own_announce(struct sr_port *port)
{
	static const struct rp_gid all_nodes = {{0xFF, 0x02, [15] = 0x01}};
	uint8_t mac[6];

	if (!port->is_ipv6)
		return send_arp(port, ARP_REQUEST, mac_broadcast, NULL, &port->base.gid);
	multicast_mac(&all_nodes, mac);
	return send_nd(port, ND_ADVERT, ND_F_OVERRIDE, mac, &all_nodes, &port->base.gid);
}

/* Another station has our address: say so, but do not start a shouting match. */
static void
conflict(struct sr_port *port, struct rp_tsc now)
{
	sr_count(&port->cq.address_conflicts, 1);
	if (rp_tsc_before(now, port->defend_due))
		return;
	port->defend_due = rp_tsc_add(now, port->clock->rate.hz * DEFEND_EVERY_S);
	sr_own_announce(port);
}

static bool
may_reply(struct sr_port *port, struct rp_tsc now)
{
	if (bucket_take(&port->reply_budget, now))
		return true;
	sr_count(&port->cq.reply_limited, 1);
	return false;
}

static void
arp_rx(struct sr_port *port, const uint8_t *p, uint32_t len, struct rp_tsc now)
{
	struct rp_gid sender, target;
	uint16_t op;

	if (len < ARP_LEN || rp_load_be16(p) != 1 || rp_load_be16(p + 2) != ETHERTYPE_IPV4 ||
		p[4] != 6 || p[5] != 4 || !mac_is_unicast(p + 8)) {
		sr_count(&port->cq.drop_arp, 1);
		return;
	}
	op = rp_load_be16(p + 6);
	sender = rp_gid_from_ipv4(p + 14);
	target = rp_gid_from_ipv4(p + 24);
	/* What we sent ourselves comes back on some wires. */
	if (memcmp(p + 8, port->mac, 6) == 0)
		return;
	if (is_own(port, &sender)) {
		conflict(port, now);
		return;
	}
	if (op == ARP_REPLY) {
		sr_neigh_learn(port, &sender, p + 8, true, now);
	} else if (op == ARP_REQUEST) {
		sr_neigh_hint(port, &sender, p + 8, now);
		if (!is_own(port, &target))
			return;
		sr_count(&port->cq.arp_requests, 1);
		if (may_reply(port, now))
			send_arp(port, ARP_REPLY, p + 8, p + 8, &sender);
	} else {
		sr_count(&port->cq.drop_arp, 1);
	}
}

/* First link-layer address option of @p type. @return false: the options are broken */
static bool
nd_option(const uint8_t *opt, uint32_t len, uint8_t type, const uint8_t **ret_mac)
{
	*ret_mac = NULL;
	while (len > 0) {
		uint32_t size;

		if (len < ND_OPT_LEN)
			return false;
		size = opt[1] * 8u;
		if (size == 0 || size > len)
			return false;
		if (opt[0] == type && *ret_mac == NULL)
			*ret_mac = opt + 2;
		opt += size;
		len -= size;
	}
	return *ret_mac == NULL || mac_is_unicast(*ret_mac);
}

static void
solicit_rx(struct sr_port *port, const struct rp_gid *src, const uint8_t *eth_src,
	const uint8_t *option_mac, struct rp_tsc now)
{
	static const struct rp_gid all_nodes = {{0xFF, 0x02, [15] = 0x01}};
	const uint8_t *mac = option_mac != NULL ? option_mac : eth_src;
	uint8_t group_mac[6];

	sr_count(&port->cq.nd_solicits, 1);
	/* From nowhere: somebody is about to take our address (RFC 4862 section 5.4.3). */
	if (rp_gid_is_zero(src)) {
		sr_count(&port->cq.address_conflicts, 1);
		multicast_mac(&all_nodes, group_mac);
		if (may_reply(port, now))
			send_nd(port, ND_ADVERT, ND_F_OVERRIDE, group_mac, &all_nodes,
				&port->base.gid);
		return;
	}
	sr_neigh_hint(port, src, mac, now);
	if (may_reply(port, now))
		send_nd(port, ND_ADVERT, ND_F_SOLICITED | ND_F_OVERRIDE, mac, src, &port->base.gid);
}

static void
advert_rx(struct sr_port *port, const struct rp_gid *target, const uint8_t *eth_src, uint8_t flags,
	const uint8_t *option_mac, struct rp_tsc now)
{
	const uint8_t *mac = option_mac != NULL ? option_mac : eth_src;

	if (is_own(port, target)) {
		if (memcmp(mac, port->mac, 6) != 0)
			conflict(port, now);
		return;
	}
	/* RFC 4861 section 7.2.5: without Override it may confirm, not replace. */
	sr_neigh_learn(port, target, mac, (flags & ND_F_OVERRIDE) != 0, now);
	if ((flags & ND_F_OVERRIDE) == 0)
		sr_neigh_hint(port, target, mac, now);
}

/* RFC 4861 sections 7.1.1 and 7.1.2 */
static void
nd_rx(struct sr_port *port, const uint8_t *eth, const uint8_t *ip, const uint8_t *icmp,
	uint32_t len, struct rp_tsc now)
{
	struct rp_gid src = gid_of(ip + 8), dst = gid_of(ip + 24), target;
	bool solicit = icmp[0] == ND_SOLICIT;
	const uint8_t *mac = NULL;

	if (memcmp(eth + 6, port->mac, 6) == 0)
		return;
	if (ip[7] != ND_HOP_LIMIT || icmp[1] != 0 || len < ND_LEN)
		goto drop;
	target = gid_of(icmp + 8);
	if (rp_gid_is_multicast(&target) || !mac_is_unicast(eth + 6) ||
		!nd_option(
			icmp + ND_LEN, len - ND_LEN, solicit ? ND_OPT_SOURCE : ND_OPT_TARGET, &mac))
		goto drop;
	if (!solicit) {
		if (rp_gid_is_multicast(&dst) && (icmp[4] & ND_F_SOLICITED) != 0)
			goto drop;
		advert_rx(port, &target, eth + 6, icmp[4], mac, now);
		return;
	}
	if (rp_gid_is_zero(&src)) {
		struct rp_gid group = solicited_node(&target);

		if (mac != NULL || !rp_gid_equal(&dst, &group))
			goto drop;
	} else if (!rp_gid_is_unicast(&src) || is_own(port, &src)) {
		goto drop;
	}
	if (is_own(port, &target))
		solicit_rx(port, &src, eth + 6, mac, now);
	return;
drop:
	sr_count(&port->cq.drop_nd, 1);
}

/* The request turned round. @p icmp lies @p len bytes before the end of the datagram. */
static void
echo_reply(struct sr_port *port, const uint8_t *eth, const uint8_t *ip, const uint8_t *icmp,
	uint32_t len, struct rp_tsc now)
{
	uint32_t head = (uint32_t)(icmp - eth), addr_len = port->is_ipv6 ? 16 : 4;
	uint32_t addr_off = (uint32_t)(ip - eth) + (port->is_ipv6 ? 8 : 12);
	struct rte_mbuf *m;
	uint8_t *frame, *p;

	if (head + len > port->room) {
		sr_count(&port->cq.drop_icmp, 1);
		return;
	}
	if (!bucket_take(&port->echo_budget, now)) {
		sr_count(&port->cq.echo_limited, 1);
		return;
	}
	m = own_frame(port, head + len, &frame);
	if (m == NULL)
		return;
	memcpy(frame, eth, head + len);
	memcpy(frame, eth + 6, 6);
	memcpy(frame + 6, port->mac, 6);
	memcpy(frame + addr_off, eth + addr_off + addr_len, addr_len);
	memcpy(frame + addr_off + addr_len, eth + addr_off, addr_len);
	p = frame + head;
	rp_store_be16(p + 2, 0);
	if (port->is_ipv6) {
		struct rp_gid peer = gid_of(ip + 8);

		frame[ip - eth + 7] = SR_HOP_LIMIT;
		p[0] = ICMP6_REPLY;
		rp_store_be16(p + 2, icmp6_checksum(&port->base.gid, &peer, p, len));
	} else {
		uint8_t *l3 = frame + (ip - eth);

		l3[8] = SR_HOP_LIMIT;
		rp_store_be16(l3 + 10, 0);
		rp_store_be16(l3 + 10, rp_inet_checksum(l3, RP_ROCE_IPV4_LEN, 0));
		p[0] = ICMP4_REPLY;
		rp_store_be16(p + 2, rp_inet_checksum(p, len, 0));
	}
	if (own_push(port, m))
		sr_count(&port->cq.icmp_echoes, 1);
}

static void
ipv4_rx(struct sr_port *port, const uint8_t *eth, const uint8_t *ip, uint32_t len,
	struct rp_tsc now)
{
	const uint8_t *icmp = ip + RP_ROCE_IPV4_LEN;
	struct rp_gid src, dst;
	uint32_t total;

	/* The parser has seen a whole header of 20 bytes or more. */
	if (ip[9] != IPPROTO_ICMP4) {
		sr_count(&port->cq.verdict[RP_ROCE_NOT_ROCE], 1);
		return;
	}
	total = rp_load_be16(ip + 2);
	src = rp_gid_from_ipv4(ip + 12);
	dst = rp_gid_from_ipv4(ip + 16);
	if (ip[0] != 0x45 || (rp_load_be16(ip + 6) & 0x3FFF) != 0 || total > len ||
		total < RP_ROCE_IPV4_LEN + ICMP_LEN ||
		rp_inet_checksum(ip, RP_ROCE_IPV4_LEN, 0) != 0 || !is_own(port, &dst) ||
		!rp_gid_is_unicast(&src) || is_own(port, &src) || icmp[0] != ICMP4_ECHO ||
		icmp[1] != 0 || rp_inet_checksum(icmp, total - RP_ROCE_IPV4_LEN, 0) != 0) {
		sr_count(&port->cq.drop_icmp, 1);
		return;
	}
	echo_reply(port, eth, ip, icmp, total - RP_ROCE_IPV4_LEN, now);
}

static void
ipv6_rx(struct sr_port *port, const uint8_t *eth, const uint8_t *ip, uint32_t len,
	struct rp_tsc now)
{
	const uint8_t *icmp = ip + RP_ROCE_IPV6_LEN;
	struct rp_gid src = gid_of(ip + 8), dst = gid_of(ip + 24);
	uint32_t body = rp_load_be16(ip + 4);

	if (ip[6] != IPPROTO_ICMP6) {
		sr_count(&port->cq.verdict[RP_ROCE_NOT_ROCE], 1);
		return;
	}
	if (body < ICMP_LEN || body > len - RP_ROCE_IPV6_LEN ||
		icmp6_checksum(&src, &dst, icmp, body) != 0) {
		sr_count(&port->cq.drop_icmp, 1);
		return;
	}
	if (icmp[0] == ND_SOLICIT || icmp[0] == ND_ADVERT) {
		nd_rx(port, eth, ip, icmp, body, now);
		return;
	}
	if (icmp[0] != ICMP6_ECHO || icmp[1] != 0 || !is_own(port, &dst) ||
		!rp_gid_is_unicast(&src) || is_own(port, &src)) {
		sr_count(&port->cq.drop_icmp, 1);
		return;
	}
	echo_reply(port, eth, ip, icmp, body, now);
}

void
sr_own_rx(struct sr_port *port, const uint8_t *frame, uint32_t len, struct rp_tsc now)
{
	uint32_t off = RP_ROCE_ETH_LEN;
	uint16_t type = rp_load_be16(frame + 12), vid = 0;

	/* NOT_ROCE says that the Ethernet header and one tag are whole. */
	if (type == ETHERTYPE_VLAN) {
		vid = rp_load_be16(frame + 14) & 0x0FFF;
		type = rp_load_be16(frame + 16);
		off += RP_ROCE_VLAN_LEN;
	}
	if (vid != port->vlan) {
		sr_count(&port->cq.drop_vlan, 1);
		return;
	}
	if (type == ETHERTYPE_ARP && !port->is_ipv6)
		arp_rx(port, frame + off, len - off, now);
	else if (type == ETHERTYPE_IPV4 && !port->is_ipv6)
		ipv4_rx(port, frame, frame + off, len - off, now);
	else if (type == ETHERTYPE_IPV6 && port->is_ipv6)
		ipv6_rx(port, frame, frame + off, len - off, now);
	else
		sr_count(&port->cq.verdict[RP_ROCE_NOT_ROCE], 1);
}
