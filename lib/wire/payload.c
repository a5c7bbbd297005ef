/* SPDX-License-Identifier: BSD-3-Clause */

#include "rp_payload.h"

#include "rp_be.h"

const char *
rp_payload_verdict_name(enum rp_payload_verdict verdict)
{
	static const char *const name[RP_PAYLOAD_N] = {
		"ok", "length", "version", "msg_type", "ack_type"};

	return name[verdict];
}

void
rp_payload_encode(const struct rp_payload *msg, uint8_t *buf)
{
	buf[0] = RP_PAYLOAD_VERSION;
	buf[1] = msg->msg_type;
	buf[2] = msg->ack_type;
	buf[3] = msg->flags;
	rp_store_be64(buf + 4, msg->sequence);
	rp_store_be64(buf + 12, msg->t1_ns);
	rp_store_be64(buf + 20, msg->t3.ns);
	rp_store_be64(buf + 28, msg->t4.ns);
	rp_store_be32(buf + 36, msg->ext);
}

enum rp_payload_verdict
rp_payload_decode(const uint8_t *buf, uint32_t len, uint32_t max, struct rp_payload *ret_msg)
{
	if (len < RP_PAYLOAD_LEN || len > max)
		return RP_PAYLOAD_BAD_LENGTH;
	if (len > RP_PAYLOAD_LEN && (buf[3] & RP_PAYLOAD_F_PAD) == 0)
		return RP_PAYLOAD_BAD_LENGTH;
	if (buf[0] != RP_PAYLOAD_VERSION)
		return RP_PAYLOAD_BAD_VERSION;
	if (buf[1] > RP_MSG_ACK)
		return RP_PAYLOAD_BAD_MSG_TYPE;
	if (buf[1] == RP_MSG_PROBE ? buf[2] != RP_ACK_NONE
				   : buf[2] != RP_ACK_FIRST && buf[2] != RP_ACK_SECOND)
		return RP_PAYLOAD_BAD_ACK_TYPE;

	ret_msg->msg_type = buf[1];
	ret_msg->ack_type = buf[2];
	ret_msg->flags = buf[3];
	ret_msg->sequence = rp_load_be64(buf + 4);
	ret_msg->t1_ns = rp_load_be64(buf + 12);
	ret_msg->t3.ns = rp_load_be64(buf + 20);
	ret_msg->t4.ns = rp_load_be64(buf + 28);
	ret_msg->ext = rp_load_be32(buf + 36);
	return RP_PAYLOAD_OK;
}
