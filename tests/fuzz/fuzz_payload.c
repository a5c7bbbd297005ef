/* SPDX-License-Identifier: BSD-3-Clause */

/* Payloads of datagrams: what decodes encodes to the same bytes. */

#include <string.h>

#include "fuzz.h"
#include "rp_payload.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t again[RP_PAYLOAD_LEN];
	struct rp_payload msg;
	uint32_t len = size > UINT32_MAX ? UINT32_MAX : (uint32_t)size;

	if (rp_payload_decode(data, len, RP_PAYLOAD_LEN, &msg) == RP_PAYLOAD_OK)
		FUZZ_PROMISE(size == RP_PAYLOAD_LEN);
	if (rp_payload_decode(data, len, 1024, &msg) != RP_PAYLOAD_OK)
		return 0;
	FUZZ_PROMISE(size >= RP_PAYLOAD_LEN && size <= 1024);
	FUZZ_PROMISE(msg.msg_type == RP_MSG_PROBE
			? msg.ack_type == RP_ACK_NONE
			: msg.ack_type == RP_ACK_FIRST || msg.ack_type == RP_ACK_SECOND);
	rp_payload_encode(&msg, again);
	FUZZ_PROMISE(memcmp(again, data, sizeof(again)) == 0);
	return 0;
}
