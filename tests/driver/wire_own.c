/* SPDX-License-Identifier: BSD-3-Clause */

#include "wire_own.h"

#include "rp_be.h"

static const uint8_t broadcast[6] = {0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF};

const uint8_t wire_other_mac[6] = {0x02, 0, 0, 0, 9, 99};

uint8_t wire_sent[WIRE_FRAME_MAX];

bool
wire_begin(bool ipv6)
{
	wire_defaults(ipv6);
	return wire_open();
}

bool
wire_begin_quiet(bool ipv6)
{
	if (!wire_begin(ipv6))
		return false;
	wire_turn();
	wire_flush();
	return true;
}

size_t
wire_arp(uint8_t *frame, uint16_t op, const char *sender, const uint8_t *mac, const char *target)
{
	struct rp_gid from = wire_gid(sender), to = wire_gid(target);
	size_t len = wire_claim(frame, &from, mac);

	rp_store_be16(frame + WIRE_L3 + 6, op);
	memcpy(frame + WIRE_L3 + 24, to.b + 12, 4);
	if (op == 1)
		memcpy(frame, broadcast, 6);
	return len;
}

void
wire_fix_icmp6(uint8_t *frame, uint16_t len)
{
	uint8_t pseudo[40 + 1500] = {0};

	rp_store_be16(frame + WIRE_L3 + 4, len);
	rp_store_be16(frame + WIRE_ICMP6 + 2, 0);
	memcpy(pseudo, frame + WIRE_L3 + 8, 32);
	rp_store_be16(pseudo + 34, len);
	pseudo[39] = 58;
	memcpy(pseudo + 40, frame + WIRE_ICMP6, len);
	rp_store_be16(frame + WIRE_ICMP6 + 2, rp_inet_checksum(pseudo, 40u + len, 0));
}

bool
wire_icmp6_is_right(const uint8_t *frame)
{
	uint8_t copy[WIRE_FRAME_MAX];
	uint16_t len = rp_load_be16(frame + WIRE_L3 + 4);

	memcpy(copy, frame, (size_t)WIRE_ICMP6 + len);
	wire_fix_icmp6(copy, len);
	return memcmp(copy, frame, (size_t)WIRE_ICMP6 + len) == 0;
}

size_t
wire_solicit(uint8_t *frame, const char *src, const char *target)
{
	struct rp_gid from = wire_gid(src), to = wire_gid(target);
	size_t len = wire_claim(frame, &from, wire_peer_mac);
	const uint8_t group[13] = {0xFF, 0x02, [11] = 1, [12] = 0xFF};

	memcpy(frame, (const uint8_t[]){0x33, 0x33, 0xFF, to.b[13], to.b[14], to.b[15]}, 6);
	memcpy(frame + WIRE_L3 + 24, group, 13);
	memcpy(frame + WIRE_L3 + 37, to.b + 13, 3);
	frame[WIRE_ICMP6] = 135;
	frame[WIRE_ICMP6 + 4] = 0;
	memcpy(frame + WIRE_ICMP6 + 8, to.b, 16);
	frame[WIRE_ICMP6 + 24] = 1;
	wire_fix_icmp6(frame, 32);
	return len;
}

uint64_t
wire_send_and_take(struct rp_peer *peer)
{
	static const uint8_t payload[RP_PAYLOAD_LEN];
	const struct rp_tx probe = {.peer = peer,
		.payload = payload,
		.qpn = 2,
		.flow_label = 1,
		.len = sizeof(payload)};

	UT_EQ(rp_qp_tx_burst(wp.qp[RP_ROLE_PROBER], &probe, 1), 1);
	wire_turn();
	return wire_tx(wire_sent);
}

unsigned int
wire_take_requests(const char *target)
{
	struct rp_gid gid = wire_gid(target);
	unsigned int n = 0;

	rp_qp_tx_burst(wp.qp[RP_ROLE_RESPONDER], NULL, 0);
	while (wire_tx(wire_sent) > 0) {
		if (rp_gid_is_ipv4(&gid))
			n += rp_load_be16(wire_sent + 12) == 0x0806 &&
				rp_load_be16(wire_sent + WIRE_L3 + 6) == 1 &&
				memcmp(wire_sent + WIRE_L3 + 24, gid.b + 12, 4) == 0;
		else
			n += wire_sent[WIRE_ICMP6] == 135 &&
				memcmp(wire_sent + WIRE_ICMP6 + 8, gid.b, 16) == 0;
	}
	return n;
}

struct wire_steps
wire_steps_start(void)
{
	struct wire_steps s;

	s.start = rp_tsc_add(rp_host_now(&wp.clock), wp.clock.rate.hz);
	s.now = s.start;
	s.step = wp.clock.rate.hz / 100;
	return s;
}

double
wire_steps_s(const struct wire_steps *s)
{
	return (double)(s->now.ticks - s->start.ticks) / (double)wp.clock.rate.hz;
}

void
wire_step(struct wire_steps *s)
{
	s->now = rp_tsc_add(s->now, s->step);
	for (int i = 0; i < 3; i++)
		sr_neigh_turn(sr_port_of(wp.port), s->now, false);
}
