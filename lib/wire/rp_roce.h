/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef RP_ROCE_H
#define RP_ROCE_H

/**
 * @file rp_roce.h
 * RoCEv2 UD SEND frames over IPv4, IPv6 and one VLAN tag: build and parse.
 *
 * Layout: Ethernet [802.1Q] IPv4|IPv6 UDP(4791) BTH DETH [ImmDt] payload pad ICRC
 * (IBTA 9.2, 9.3.3, annex A17). No Ethernet FCS.
 *
 * Thread:  any. Memory: views point into the caller's frame. Time: n/a.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rp_gid.h"

#define RP_ROCE_UDP_PORT  4791
#define RP_ROCE_SPORT_MIN 0xC000 /* 0xC000..0xFFFF: 14 bits of path choice */

#define RP_ROCE_ETH_LEN  14
#define RP_ROCE_VLAN_LEN 4
#define RP_ROCE_IPV4_LEN 20
#define RP_ROCE_IPV6_LEN 40
#define RP_ROCE_UDP_LEN  8
#define RP_ROCE_BTH_LEN  12
#define RP_ROCE_DETH_LEN 8
#define RP_ROCE_IMM_LEN  4
#define RP_ROCE_ICRC_LEN 4

/** Ethernet + VLAN + IPv6 + UDP + BTH + DETH + ImmDt: headers never exceed this. */
#define RP_ROCE_HDR_MAX 90

/** Largest UD payload we build: a 4096-byte path MTU. */
#define RP_ROCE_PAYLOAD_MAX 4096

#define RP_ROCE_OP_UD_SEND     0x64
#define RP_ROCE_OP_UD_SEND_IMM 0x65

#define RP_ROCE_PKEY_DEFAULT 0xFFFF
#define RP_ROCE_NO_VLAN      0xFFFF

/** What goes into a frame. Addresses are both of one family. */
struct rp_roce_fields {
	uint8_t dst_mac[6];
	uint8_t src_mac[6];
	uint16_t vlan_tci; /* PCP and VID; RP_ROCE_NO_VLAN for none */
	struct rp_gid src;
	struct rp_gid dst;
	uint8_t tclass;      /* TOS or traffic class: DSCP << 2 | ECN */
	uint8_t hop_limit;   /* 1..255 */
	uint32_t flow_label; /* IPv6 only, 20 bits */
	uint16_t sport;
	uint8_t opcode;
	bool solicited;
	bool migreq;
	uint16_t pkey;
	uint32_t dqpn; /* 24 bits, as the next two */
	uint32_t psn;
	uint32_t sqpn;
	uint32_t qkey;
	uint32_t imm; /* RP_ROCE_OP_UD_SEND_IMM */
};

/** Bytes of the frame that rp_roce_build() makes. */
size_t rp_roce_frame_len(const struct rp_roce_fields *f, size_t payload_len);

/**
 * Write headers, payload, pad and ICRC.
 * @param buf  rp_roce_frame_len() bytes
 * @return the length, or 0 when the fields contradict each other (families,
 *         widths, payload over RP_ROCE_PAYLOAD_MAX)
 */
size_t rp_roce_build(
	uint8_t *buf, const struct rp_roce_fields *f, const void *payload, size_t payload_len);

/** Headers only, up to the payload; lengths as for @p payload_len. Same return. */
size_t rp_roce_build_headers(uint8_t *buf, const struct rp_roce_fields *f, size_t payload_len);

/*
 * One row per verdict: every frame ends in exactly one, and each has a counter.
 * X(enum suffix, counter name)
 */
#define RP_ROCE_VERDICTS(X)                                                                        \
	X(OK, "ok")                                                                                \
	X(NOT_ROCE, "not_roce")                                                                    \
	X(SHORT_ETH, "short_ethernet")                                                             \
	X(VLAN_STACKED, "vlan_stacked")                                                            \
	X(SHORT_IP, "short_ip")                                                                    \
	X(IP_VERSION, "ip_version")                                                                \
	X(IP_OPTIONS, "ip_options")                                                                \
	X(IP_FRAGMENT, "ip_fragment")                                                              \
	X(IP_LENGTH, "ip_length")                                                                  \
	X(IP_CHECKSUM, "ip_checksum")                                                              \
	X(IP_ADDRESS, "ip_address")                                                                \
	X(IP_TTL, "ip_ttl")                                                                        \
	X(UDP_LENGTH, "udp_length")                                                                \
	X(SHORT_BTH, "short_bth")                                                                  \
	X(TVER, "transport_version")                                                               \
	X(OPCODE, "opcode")                                                                        \
	X(SHORT_DETH, "short_deth")                                                                \
	X(PAD, "pad")

enum rp_roce_verdict {
#define X(sym, name) RP_ROCE_##sym,
	RP_ROCE_VERDICTS(X)
#undef X
	RP_ROCE_VERDICT_N,
};

const char *rp_roce_verdict_name(enum rp_roce_verdict verdict);

/** A parsed frame. Offsets count from the start of the frame. */
struct rp_roce_view {
	struct rp_roce_fields f;
	bool is_ipv6;
	uint8_t pad;
	uint16_t l3_off;
	uint16_t bth_off;
	uint16_t payload_off;
	uint16_t payload_len; /* without pad */
	uint16_t icrc_off;    /* covered bytes are l3_off .. icrc_off-1 */
	uint32_t icrc;        /* as found */
};

/**
 * Parse a frame of exactly @p len bytes. Bytes behind the IP datagram (Ethernet
 * padding) are allowed. The ICRC is found but not checked: that is the caller's
 * choice of CRC. NOT_ROCE: well-formed so far, but other traffic (ARP, ICMP, TCP,
 * other UDP ports). UDP checksums are not looked at: RoCEv2 senders write 0, and
 * the ICRC is the stronger check.
 *
 * @p ret_view is meaningful up to the header that was refused; all of it with OK.
 */
enum rp_roce_verdict rp_roce_parse(const uint8_t *frame, size_t len, struct rp_roce_view *ret_view);

/** The ICRC of @p frame as the table CRC computes it, for a view with verdict OK. */
uint32_t rp_roce_icrc(const uint8_t *frame, const struct rp_roce_view *view);

/** Internet checksum (RFC 1071) of @p len bytes, folded and inverted, host order. */
uint16_t rp_inet_checksum(const uint8_t *data, size_t len, uint32_t initial);

#endif /* RP_ROCE_H */
