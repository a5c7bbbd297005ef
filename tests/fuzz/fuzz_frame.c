/* SPDX-License-Identifier: BSD-3-Clause */

/* Frames from the wire: any bytes get one verdict; a good frame can be built again. */

#include <string.h>

#include "fuzz.h"
#include "rp_payload.h"
#include "rp_roce.h"

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
	FUZZ_PROMISE(
		rp_gid_equal(&again.f.src, &v->f.src) && rp_gid_equal(&again.f.dst, &v->f.dst));
	FUZZ_PROMISE(again.f.sport == v->f.sport && again.f.qkey == v->f.qkey);
	FUZZ_PROMISE(again.f.dqpn == v->f.dqpn && again.f.sqpn == v->f.sqpn);
	FUZZ_PROMISE(again.f.psn == v->f.psn && again.f.imm == v->f.imm);
	FUZZ_PROMISE(again.f.tclass == v->f.tclass && again.f.flow_label == v->f.flow_label);
	FUZZ_PROMISE(again.f.vlan_tci == v->f.vlan_tci && again.f.hop_limit == v->f.hop_limit);
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
