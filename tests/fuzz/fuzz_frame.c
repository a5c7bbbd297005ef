/* SPDX-License-Identifier: BSD-3-Clause */

/* Frames from the wire: any bytes get one verdict; a good frame can be built again. */

#include <string.h>

#include "fuzz.h"
#include "rp_payload.h"
#include "rp_roce.h"

static bool
same_fields(const struct rp_roce_fields *a, const struct rp_roce_fields *b)
{
	return rp_gid_equal(&a->src, &b->src) && rp_gid_equal(&a->dst, &b->dst) &&
		memcmp(a->dst_mac, b->dst_mac, 6) == 0 && memcmp(a->src_mac, b->src_mac, 6) == 0 &&
		a->vlan_tci == b->vlan_tci && a->tclass == b->tclass &&
		a->hop_limit == b->hop_limit && a->flow_label == b->flow_label &&
		a->sport == b->sport && a->opcode == b->opcode && a->solicited == b->solicited &&
		a->migreq == b->migreq && a->pkey == b->pkey && a->dqpn == b->dqpn &&
		a->psn == b->psn && a->sqpn == b->sqpn && a->qkey == b->qkey && a->imm == b->imm;
}

static void
build_again(const uint8_t *frame, const struct rp_roce_view *v)
{
	static uint8_t buf[RP_ROCE_HDR_MAX + RP_ROCE_PAYLOAD_MAX + 3 + RP_ROCE_ICRC_LEN];
	struct rp_roce_view again;
	size_t len = rp_roce_build(buf, &v->f, frame + v->payload_off, v->payload_len);

	if (v->payload_len > RP_ROCE_PAYLOAD_MAX) {
		FUZZ_PROMISE(len == 0);
		return;
	}
	FUZZ_PROMISE(len == rp_roce_frame_len(&v->f, v->payload_len));
	FUZZ_PROMISE(rp_roce_parse(buf, len, &again) == RP_ROCE_OK);
	FUZZ_PROMISE(again.icrc == rp_roce_icrc(buf, &again));
	FUZZ_PROMISE(again.payload_len == v->payload_len);
	FUZZ_PROMISE(memcmp(buf + again.payload_off, frame + v->payload_off, v->payload_len) == 0);
	FUZZ_PROMISE(same_fields(&again.f, &v->f));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rp_roce_view v;
	struct rp_payload msg;
	enum rp_roce_verdict verdict = rp_roce_parse(data, size, &v);

	FUZZ_PROMISE(verdict < RP_ROCE_VERDICT_N);
	if (verdict != RP_ROCE_OK)
		return 0;
	FUZZ_PROMISE(v.payload_off + v.payload_len + v.pad == v.icrc_off);
	FUZZ_PROMISE(v.icrc_off + RP_ROCE_ICRC_LEN <= (int)size);
	FUZZ_PROMISE(rp_payload_decode(data + v.payload_off, v.payload_len, RP_ROCE_PAYLOAD_MAX,
			     &msg) < RP_PAYLOAD_N);
	(void)rp_roce_icrc(data, &v);
	build_again(data, &v);
	return 0;
}
