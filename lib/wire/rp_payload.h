/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef RP_PAYLOAD_H
#define RP_PAYLOAD_H

/**
 * @file rp_payload.h
 * The 40-byte probe payload, version 1 (docs/wire-format.md).
 *
 * With ext 0 and flags 0 it is byte for byte the payload of the earlier
 * implementation, and such peers must keep working in both roles.
 *
 * Thread:  any. Memory: the caller's. Time: ns as named.
 */

#include <stdint.h>

#include "rp_time.h"

#define RP_PAYLOAD_LEN     40
#define RP_PAYLOAD_VERSION 1

enum rp_msg_type {
	RP_MSG_PROBE = 0,
	RP_MSG_ACK = 1,
};

enum rp_ack_type {
	RP_ACK_NONE = 0,
	RP_ACK_FIRST = 1,
	RP_ACK_SECOND = 2,
};

enum rp_payload_flag {
	RP_PAYLOAD_F_EXT = 1 << 0,   /* ext is valid */
	RP_PAYLOAD_F_LABEL = 1 << 1, /* ACK: left with the reply label asked for */
	RP_PAYLOAD_F_PAD = 1 << 2,   /* padded: mirror length and pattern */
};

#define RP_PAYLOAD_F_KNOWN (RP_PAYLOAD_F_EXT | RP_PAYLOAD_F_LABEL | RP_PAYLOAD_F_PAD)

struct rp_payload {
	uint8_t msg_type;  /* enum rp_msg_type */
	uint8_t ack_type;  /* enum rp_ack_type */
	uint8_t flags;     /* enum rp_payload_flag; unknown bits are kept */
	uint64_t sequence; /* high 32: epoch of the prober, low 32: counter */
	uint64_t t1_ns;    /* host clock of the prober; echoed */
	struct rp_remote t3;
	struct rp_remote t4;
	uint32_t ext; /* probe: reply flow label; ACK: responder generation */
};

/** Why a payload is refused, in the order of the checks. */
enum rp_payload_verdict {
	RP_PAYLOAD_OK,
	RP_PAYLOAD_BAD_LENGTH,
	RP_PAYLOAD_BAD_VERSION,
	RP_PAYLOAD_BAD_MSG_TYPE,
	RP_PAYLOAD_BAD_ACK_TYPE,
	RP_PAYLOAD_N,
};

/** "length", "version", "msg_type", "ack_type"; "ok" for RP_PAYLOAD_OK. */
const char *rp_payload_verdict_name(enum rp_payload_verdict verdict);

/** Writes exactly RP_PAYLOAD_LEN bytes. */
void rp_payload_encode(const struct rp_payload *msg, uint8_t *buf);

/**
 * @param len    bytes of the datagram's payload, before anything is read
 * @param max    largest length accepted: RP_PAYLOAD_LEN, or more where padded
 *               probes are allowed (then only with RP_PAYLOAD_F_PAD)
 * @param buf    at least RP_PAYLOAD_LEN bytes if @p len says so
 */
enum rp_payload_verdict rp_payload_decode(
	const uint8_t *buf, uint32_t len, uint32_t max, struct rp_payload *ret_msg);

#endif /* RP_PAYLOAD_H */
