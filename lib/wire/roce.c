/* SPDX-License-Identifier: BSD-3-Clause */

#include "rp_roce.h"

#include <string.h>

#include "rp_be.h"
#include "rp_icrc.h"

#define ETHERTYPE_IPV4  0x0800
#define ETHERTYPE_IPV6  0x86DD
#define ETHERTYPE_VLAN  0x8100
#define ETHERTYPE_QINQ  0x88A8
#define IPPROTO_UDP_NUM 17

const char *
rp_roce_verdict_name(enum rp_roce_verdict verdict)
{
	static const char *const name[] = {
#define X(sym, text) text,
		RP_ROCE_VERDICTS(X)
#undef X
	};

	return name[verdict];
}

uint16_t
rp_inet_checksum(const uint8_t *data, size_t len, uint32_t initial)
{
	uint64_t sum = initial;

	for (; len >= 2; data += 2, len -= 2)
		sum += rp_load_be16(data);
	if (len > 0)
		sum += (uint64_t)data[0] << 8;
	while (sum >> 16 != 0)
		sum = (sum & 0xFFFF) + (sum >> 16);
	return (uint16_t)~sum;
}

static size_t
pad_of(size_t payload_len)
{
	return (0u - payload_len) & 3u;
}

static size_t
ip_len_of(const struct rp_roce_fields *f)
{
	return rp_gid_is_ipv4(&f->dst) ? RP_ROCE_IPV4_LEN : RP_ROCE_IPV6_LEN;
}

static size_t
udp_len_of(const struct rp_roce_fields *f, size_t payload_len)
{
	return RP_ROCE_UDP_LEN + RP_ROCE_BTH_LEN + RP_ROCE_DETH_LEN +
		(f->opcode == RP_ROCE_OP_UD_SEND_IMM ? RP_ROCE_IMM_LEN : 0) + payload_len +
		pad_of(payload_len) + RP_ROCE_ICRC_LEN;
}

size_t
rp_roce_frame_len(const struct rp_roce_fields *f, size_t payload_len)
{
	return RP_ROCE_ETH_LEN + (f->vlan_tci == RP_ROCE_NO_VLAN ? 0 : RP_ROCE_VLAN_LEN) +
		ip_len_of(f) + udp_len_of(f, payload_len);
}

static bool
fields_are_consistent(const struct rp_roce_fields *f, size_t payload_len)
{
	return rp_gid_is_ipv4(&f->src) == rp_gid_is_ipv4(&f->dst) && f->hop_limit != 0 &&
		f->flow_label <= 0xFFFFF && f->dqpn <= 0xFFFFFF && f->sqpn <= 0xFFFFFF &&
		f->psn <= 0xFFFFFF && payload_len <= RP_ROCE_PAYLOAD_MAX &&
		(f->opcode == RP_ROCE_OP_UD_SEND || f->opcode == RP_ROCE_OP_UD_SEND_IMM);
}

static uint8_t *
put_ethernet(uint8_t *p, const struct rp_roce_fields *f)
{
	memcpy(p, f->dst_mac, 6);
	memcpy(p + 6, f->src_mac, 6);
	p += 12;
	if (f->vlan_tci != RP_ROCE_NO_VLAN) {
		rp_store_be16(p, ETHERTYPE_VLAN);
		rp_store_be16(p + 2, f->vlan_tci);
		p += 4;
	}
	rp_store_be16(p, rp_gid_is_ipv4(&f->dst) ? ETHERTYPE_IPV4 : ETHERTYPE_IPV6);
	return p + 2;
}

static uint8_t *
put_ip(uint8_t *p, const struct rp_roce_fields *f, size_t udp_len)
{
	if (!rp_gid_is_ipv4(&f->dst)) {
		rp_store_be32(p, 6u << 28 | (uint32_t)f->tclass << 20 | f->flow_label);
		rp_store_be16(p + 4, (uint16_t)udp_len);
		p[6] = IPPROTO_UDP_NUM;
		p[7] = f->hop_limit;
		memcpy(p + 8, f->src.b, 16);
		memcpy(p + 24, f->dst.b, 16);
		return p + RP_ROCE_IPV6_LEN;
	}
	p[0] = 0x45;
	p[1] = f->tclass;
	rp_store_be16(p + 2, (uint16_t)(RP_ROCE_IPV4_LEN + udp_len));
	rp_store_be16(p + 4, 0);      /* id: one atomic datagram (RFC 6864) */
	rp_store_be16(p + 6, 0x4000); /* don't fragment */
	p[8] = f->hop_limit;
	p[9] = IPPROTO_UDP_NUM;
	rp_store_be16(p + 10, 0);
	memcpy(p + 12, f->src.b + 12, 4);
	memcpy(p + 16, f->dst.b + 12, 4);
	rp_store_be16(p + 10, rp_inet_checksum(p, RP_ROCE_IPV4_LEN, 0));
	return p + RP_ROCE_IPV4_LEN;
}

size_t
rp_roce_build_headers(uint8_t *buf, const struct rp_roce_fields *f, size_t payload_len)
{
	size_t udp_len = udp_len_of(f, payload_len);
	uint8_t *p;

	if (!fields_are_consistent(f, payload_len))
		return 0;
	p = put_ip(put_ethernet(buf, f), f, udp_len);

	rp_store_be16(p, f->sport);
	rp_store_be16(p + 2, RP_ROCE_UDP_PORT);
	rp_store_be16(p + 4, (uint16_t)udp_len);
	rp_store_be16(p + 6, 0); /* as ConnectX and rxe send it */
	p += RP_ROCE_UDP_LEN;

	p[0] = f->opcode;
	p[1] = (uint8_t)((f->solicited ? 0x80 : 0) | (f->migreq ? 0x40 : 0) |
		pad_of(payload_len) << 4);
	rp_store_be16(p + 2, f->pkey);
	rp_store_be32(p + 4, f->dqpn);
	rp_store_be32(p + 8, f->psn);
	p += RP_ROCE_BTH_LEN;

	rp_store_be32(p, f->qkey);
	rp_store_be32(p + 4, f->sqpn);
	if (f->opcode == RP_ROCE_OP_UD_SEND_IMM)
		rp_store_be32(p + RP_ROCE_DETH_LEN, f->imm);
	return rp_roce_frame_len(f, payload_len);
}

size_t
rp_roce_build(uint8_t *buf, const struct rp_roce_fields *f, const void *payload, size_t payload_len)
{
	size_t len = rp_roce_build_headers(buf, f, payload_len);
	size_t pad = pad_of(payload_len);
	size_t l3 = RP_ROCE_ETH_LEN + (f->vlan_tci == RP_ROCE_NO_VLAN ? 0 : RP_ROCE_VLAN_LEN);
	uint8_t *body;

	if (len == 0)
		return 0;
	body = buf + len - RP_ROCE_ICRC_LEN - pad - payload_len;
	if (payload_len > 0)
		memcpy(body, payload, payload_len);
	memset(body + payload_len, 0, pad);
	rp_store_le32(buf + len - RP_ROCE_ICRC_LEN, rp_icrc(buf + l3, len - RP_ROCE_ICRC_LEN - l3));
	return len;
}

/* Each step narrows [*at, *end) and says what is wrong, or OK. */
struct cursor {
	const uint8_t *frame;
	size_t at;
	size_t end;
};

static enum rp_roce_verdict
parse_ethernet(struct cursor *c, struct rp_roce_view *v, uint16_t *ret_type)
{
	uint16_t type;

	if (c->end < RP_ROCE_ETH_LEN)
		return RP_ROCE_SHORT_ETH;
	memcpy(v->f.dst_mac, c->frame, 6);
	memcpy(v->f.src_mac, c->frame + 6, 6);
	v->f.vlan_tci = RP_ROCE_NO_VLAN;
	type = rp_load_be16(c->frame + 12);
	c->at = RP_ROCE_ETH_LEN;
	if (type == ETHERTYPE_VLAN) {
		if (c->end < RP_ROCE_ETH_LEN + RP_ROCE_VLAN_LEN)
			return RP_ROCE_SHORT_ETH;
		/* Without DEI, so that no tag reads as RP_ROCE_NO_VLAN. */
		v->f.vlan_tci = rp_load_be16(c->frame + 14) & 0xEFFF;
		type = rp_load_be16(c->frame + 16);
		c->at += RP_ROCE_VLAN_LEN;
		if (type == ETHERTYPE_VLAN || type == ETHERTYPE_QINQ)
			return RP_ROCE_VLAN_STACKED;
	}
	if (type == ETHERTYPE_QINQ)
		return RP_ROCE_VLAN_STACKED;
	*ret_type = type;
	return type == ETHERTYPE_IPV4 || type == ETHERTYPE_IPV6 ? RP_ROCE_OK : RP_ROCE_NOT_ROCE;
}

static enum rp_roce_verdict
parse_ipv4(struct cursor *c, struct rp_roce_view *v)
{
	const uint8_t *p = c->frame + c->at;
	size_t len = c->end - c->at, total;

	if (len < RP_ROCE_IPV4_LEN)
		return RP_ROCE_SHORT_IP;
	if (p[0] >> 4 != 4)
		return RP_ROCE_IP_VERSION;
	if ((p[0] & 0x0F) < 5)
		return RP_ROCE_IP_LENGTH;
	v->f.src = rp_gid_from_ipv4(p + 12);
	v->f.dst = rp_gid_from_ipv4(p + 16);
	if (p[9] != IPPROTO_UDP_NUM)
		return RP_ROCE_NOT_ROCE;
	/* The ICRC rule has no place for options (IBTA A17.3.3 covers IHL 5). */
	if (p[0] != 0x45)
		return RP_ROCE_IP_OPTIONS;
	if ((rp_load_be16(p + 6) & 0x3FFF) != 0)
		return RP_ROCE_IP_FRAGMENT;
	total = rp_load_be16(p + 2);
	if (total < RP_ROCE_IPV4_LEN || total > len)
		return RP_ROCE_IP_LENGTH;
	if (rp_inet_checksum(p, RP_ROCE_IPV4_LEN, 0) != 0)
		return RP_ROCE_IP_CHECKSUM;
	v->f.tclass = p[1];
	v->f.hop_limit = p[8];
	c->at += RP_ROCE_IPV4_LEN;
	c->end = c->at - RP_ROCE_IPV4_LEN + total;
	return RP_ROCE_OK;
}

static enum rp_roce_verdict
parse_ipv6(struct cursor *c, struct rp_roce_view *v)
{
	const uint8_t *p = c->frame + c->at;
	size_t len = c->end - c->at, total;
	uint32_t word;

	if (len < RP_ROCE_IPV6_LEN)
		return RP_ROCE_SHORT_IP;
	if (p[0] >> 4 != 6)
		return RP_ROCE_IP_VERSION;
	v->is_ipv6 = true;
	memcpy(v->f.src.b, p + 8, 16);
	memcpy(v->f.dst.b, p + 24, 16);
	if (p[6] == 44)
		return RP_ROCE_IP_FRAGMENT;
	if (p[6] == 0 || p[6] == 43 || p[6] == 60)
		return RP_ROCE_IP_OPTIONS;
	if (p[6] != IPPROTO_UDP_NUM)
		return RP_ROCE_NOT_ROCE;
	total = rp_load_be16(p + 4);
	if (total > len - RP_ROCE_IPV6_LEN)
		return RP_ROCE_IP_LENGTH;
	/* A mapped address has no place on a wire; it would pass for that IPv4 peer. */
	if (rp_gid_is_ipv4(&v->f.src) || rp_gid_is_ipv4(&v->f.dst))
		return RP_ROCE_IP_ADDRESS;
	word = rp_load_be32(p);
	v->f.tclass = (uint8_t)(word >> 20);
	v->f.flow_label = word & 0xFFFFF;
	v->f.hop_limit = p[7];
	c->at += RP_ROCE_IPV6_LEN;
	c->end = c->at + total;
	return RP_ROCE_OK;
}

static enum rp_roce_verdict
parse_udp(struct cursor *c, struct rp_roce_view *v)
{
	const uint8_t *p = c->frame + c->at;
	size_t len = c->end - c->at;

	if (len < RP_ROCE_UDP_LEN)
		return RP_ROCE_UDP_LENGTH;
	if (rp_load_be16(p + 2) != RP_ROCE_UDP_PORT)
		return RP_ROCE_NOT_ROCE;
	/* Equal and not "at most": bytes between UDP and IP length would escape the ICRC. */
	if (rp_load_be16(p + 4) != len)
		return RP_ROCE_UDP_LENGTH;
	v->f.sport = rp_load_be16(p);
	if (v->f.hop_limit == 0)
		return RP_ROCE_IP_TTL;
	c->at += RP_ROCE_UDP_LEN;
	return RP_ROCE_OK;
}

static enum rp_roce_verdict
parse_transport(struct cursor *c, struct rp_roce_view *v)
{
	const uint8_t *p = c->frame + c->at;
	size_t len = c->end - c->at, head = RP_ROCE_BTH_LEN + RP_ROCE_DETH_LEN;

	v->bth_off = (uint16_t)c->at;
	if (len < RP_ROCE_BTH_LEN + RP_ROCE_ICRC_LEN)
		return RP_ROCE_SHORT_BTH;
	if ((p[1] & 0x0F) != 0)
		return RP_ROCE_TVER;
	v->f.opcode = p[0];
	v->f.solicited = (p[1] & 0x80) != 0;
	v->f.migreq = (p[1] & 0x40) != 0;
	v->pad = p[1] >> 4 & 3;
	v->f.pkey = rp_load_be16(p + 2);
	v->f.dqpn = rp_load_be24(p + 5);
	v->f.psn = rp_load_be24(p + 9);
	if (p[0] != RP_ROCE_OP_UD_SEND && p[0] != RP_ROCE_OP_UD_SEND_IMM)
		return RP_ROCE_OPCODE;
	if (p[0] == RP_ROCE_OP_UD_SEND_IMM)
		head += RP_ROCE_IMM_LEN;
	if (len < head + RP_ROCE_ICRC_LEN)
		return RP_ROCE_SHORT_DETH;
	if (len < head + v->pad + RP_ROCE_ICRC_LEN || (len & 3) != 0)
		return RP_ROCE_PAD;
	v->f.qkey = rp_load_be32(p + RP_ROCE_BTH_LEN);
	v->f.sqpn = rp_load_be24(p + RP_ROCE_BTH_LEN + 5);
	if (p[0] == RP_ROCE_OP_UD_SEND_IMM)
		v->f.imm = rp_load_be32(p + RP_ROCE_BTH_LEN + RP_ROCE_DETH_LEN);

	v->payload_off = (uint16_t)(c->at + head);
	v->payload_len = (uint16_t)(len - head - v->pad - RP_ROCE_ICRC_LEN);
	v->icrc_off = (uint16_t)(c->end - RP_ROCE_ICRC_LEN);
	v->icrc = rp_load_le32(c->frame + v->icrc_off);
	return RP_ROCE_OK;
}

enum rp_roce_verdict
rp_roce_parse(const uint8_t *frame, size_t len, struct rp_roce_view *ret_view)
{
	struct cursor c = {frame, 0, len};
	enum rp_roce_verdict verdict;
	uint16_t type = 0;

	*ret_view = (struct rp_roce_view){0};
	/* Offsets are 16 bits wide; no link carries more. */
	if (len > UINT16_MAX)
		return RP_ROCE_IP_LENGTH;
	verdict = parse_ethernet(&c, ret_view, &type);
	if (verdict != RP_ROCE_OK)
		return verdict;
	ret_view->l3_off = (uint16_t)c.at;
	verdict = type == ETHERTYPE_IPV4 ? parse_ipv4(&c, ret_view) : parse_ipv6(&c, ret_view);
	if (verdict == RP_ROCE_OK)
		verdict = parse_udp(&c, ret_view);
	if (verdict == RP_ROCE_OK)
		verdict = parse_transport(&c, ret_view);
	return verdict;
}

uint32_t
rp_roce_icrc(const uint8_t *frame, const struct rp_roce_view *view)
{
	return rp_icrc(frame + view->l3_off, (size_t)view->icrc_off - view->l3_off);
}
