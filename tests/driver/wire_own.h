/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef WIRE_OWN_H
#define WIRE_OWN_H

/**
 * @file wire_own.h
 * ARP, NDP and ICMP frames for tests of a wire_port, and time in the test's hand.
 *
 * Thread:  the main lcore. Memory: the caller's. Time: struct wire_steps.
 */

#include "wire_port.h"

/** Offsets in an untagged frame. */
#define WIRE_L3    14
#define WIRE_ICMP4 (WIRE_L3 + 20)
#define WIRE_ICMP6 (WIRE_L3 + 40)

/** A third station. */
extern const uint8_t wire_other_mac[6];

/** The frame that was taken last. */
extern uint8_t wire_sent[WIRE_FRAME_MAX];

/** A port with the defaults; quiet: its first announcement is out of the way. */
bool wire_begin(bool ipv6);
bool wire_begin_quiet(bool ipv6);

/** ARP message; requests are broadcast. @return its length */
size_t wire_arp(
	uint8_t *frame, uint16_t op, const char *sender, const uint8_t *mac, const char *target);

/** Solicitation with its link-layer option from wire_peer_mac. @return its length */
size_t wire_solicit(uint8_t *frame, const char *src, const char *target);

/** Length and checksum of an ICMPv6 message of @p len bytes. */
void wire_fix_icmp6(uint8_t *frame, uint16_t len);
bool wire_icmp6_is_right(const uint8_t *frame);

/** Send one probe to @p peer. @return length of wire_sent */
uint64_t wire_send_and_take(struct rp_peer *peer);

/** Empty the wire. @return how many frames asked for @p target */
unsigned int wire_take_requests(const char *target);

/** Time in steps of the driver's scan, moved by the test. */
struct wire_steps {
	struct rp_tsc start;
	struct rp_tsc now;
	uint64_t step;
};

struct wire_steps wire_steps_start(void);
double wire_steps_s(const struct wire_steps *s);
void wire_step(struct wire_steps *s);

#endif /* WIRE_OWN_H */
