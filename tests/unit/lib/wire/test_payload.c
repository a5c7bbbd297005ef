/* SPDX-License-Identifier: BSD-3-Clause */

#include <stdlib.h>

#include "rp_payload.h"
#include "ut.h"

static struct rp_payload
any_payload(struct rp_rng *rng)
{
	bool ack = rp_rng_below(rng, 2) != 0;

	return (struct rp_payload){
		.msg_type = ack ? RP_MSG_ACK : RP_MSG_PROBE,
		.ack_type = ack ? (uint8_t)(RP_ACK_FIRST + rp_rng_below(rng, 2)) : RP_ACK_NONE,
		.flags = (uint8_t)rp_rng_next(rng),
		.sequence = rp_rng_next(rng),
		.t1_ns = rp_rng_next(rng),
		.t3 = {rp_rng_next(rng)},
		.t4 = {rp_rng_next(rng)},
		.ext = (uint32_t)rp_rng_next(rng),
	};
}

static void
rp_payload_decode__any_message_encoded__reads_back(void)
{
	struct rp_rng rng = ut_rng(1);

	for (int i = 0; i < 20000; i++) {
		struct rp_payload in = any_payload(&rng), out;
		uint8_t buf[RP_PAYLOAD_LEN + 2];

		buf[0] = buf[RP_PAYLOAD_LEN + 1] = 0xA5;
		rp_payload_encode(&in, buf + 1);
		UT_EQ(buf[0], 0xA5);
		UT_EQ(buf[RP_PAYLOAD_LEN + 1], 0xA5);
		UT_EQ(rp_payload_decode(buf + 1, RP_PAYLOAD_LEN, RP_PAYLOAD_LEN, &out),
			RP_PAYLOAD_OK);
		UT_EQ(out.msg_type, in.msg_type);
		UT_EQ(out.ack_type, in.ack_type);
		UT_EQ(out.flags, in.flags);
		UT_HEX(out.sequence, in.sequence);
		UT_HEX(out.t1_ns, in.t1_ns);
		UT_HEX(out.t3.ns, in.t3.ns);
		UT_HEX(out.t4.ns, in.t4.ns);
		if (!UT_HEX(out.ext, in.ext))
			return;
	}
}

/* The bytes of the format, written out: peers of the earlier implementation read these. */
static void
rp_payload_encode__known_message__is_these_bytes(void)
{
	static const struct rp_payload ack2 = {
		.msg_type = RP_MSG_ACK,
		.ack_type = RP_ACK_SECOND,
		.sequence = UINT64_C(0x0102030405060708),
		.t1_ns = UINT64_C(0x1112131415161718),
		.t3 = {UINT64_C(0x2122232425262728)},
		.t4 = {UINT64_C(0x3132333435363738)},
	};
	uint8_t want[RP_PAYLOAD_LEN], got[RP_PAYLOAD_LEN];

	ut_hex("01010200 0102030405060708 1112131415161718 2122232425262728 3132333435363738"
	       "00000000",
		want, sizeof(want));
	rp_payload_encode(&ack2, got);
	UT_MEM(got, want, sizeof(want));
}

static enum rp_payload_verdict
decode_with(int at, uint8_t value, uint32_t len, uint32_t max)
{
	static const struct rp_payload probe = {.msg_type = RP_MSG_PROBE};
	uint8_t *buf = calloc(1, len == 0 ? 1 : len);
	enum rp_payload_verdict verdict;
	uint8_t whole[RP_PAYLOAD_LEN];
	struct rp_payload msg;

	if (buf == NULL)
		abort();
	rp_payload_encode(&probe, whole);
	if (at >= 0)
		whole[at] = value;
	memcpy(buf, whole, len < sizeof(whole) ? len : sizeof(whole));
	verdict = rp_payload_decode(buf, len, max, &msg);
	free(buf);
	return verdict;
}

static void
rp_payload_decode__any_other_length__is_refused_before_a_read(void)
{
	for (uint32_t len = 0; len < 200; len++)
		if (!UT_EQ(decode_with(-1, 0, len, RP_PAYLOAD_LEN),
			    len == RP_PAYLOAD_LEN ? RP_PAYLOAD_OK : RP_PAYLOAD_BAD_LENGTH))
			return;
}

static void
rp_payload_decode__padded__needs_the_flag_and_the_room(void)
{
	UT_EQ(decode_with(3, RP_PAYLOAD_F_PAD, 100, 256), RP_PAYLOAD_OK);
	UT_EQ(decode_with(3, RP_PAYLOAD_F_PAD, 256, 256), RP_PAYLOAD_OK);
	UT_EQ(decode_with(3, RP_PAYLOAD_F_PAD, 257, 256), RP_PAYLOAD_BAD_LENGTH);
	UT_EQ(decode_with(3, 0, 100, 256), RP_PAYLOAD_BAD_LENGTH);
	UT_EQ(decode_with(3, RP_PAYLOAD_F_PAD, 100, RP_PAYLOAD_LEN), RP_PAYLOAD_BAD_LENGTH);
	UT_EQ(decode_with(3, RP_PAYLOAD_F_PAD, RP_PAYLOAD_LEN, 256), RP_PAYLOAD_OK);
	UT_EQ(decode_with(3, RP_PAYLOAD_F_PAD, 39, 256), RP_PAYLOAD_BAD_LENGTH);
}

static void
rp_payload_decode__every_version_and_type__has_its_verdict(void)
{
	for (int v = 0; v < 256; v++) {
		UT_EQ(decode_with(0, (uint8_t)v, RP_PAYLOAD_LEN, RP_PAYLOAD_LEN),
			v == 1 ? RP_PAYLOAD_OK : RP_PAYLOAD_BAD_VERSION);
		/* an ACK needs its ack_type, so type 1 alone is refused one step later */
		UT_EQ(decode_with(1, (uint8_t)v, RP_PAYLOAD_LEN, RP_PAYLOAD_LEN),
			v == 0           ? RP_PAYLOAD_OK
				: v == 1 ? RP_PAYLOAD_BAD_ACK_TYPE
					 : RP_PAYLOAD_BAD_MSG_TYPE);
		UT_EQ(decode_with(2, (uint8_t)v, RP_PAYLOAD_LEN, RP_PAYLOAD_LEN),
			v == 0 ? RP_PAYLOAD_OK : RP_PAYLOAD_BAD_ACK_TYPE);
	}
}

static void
rp_payload_decode__unknown_flags_and_any_ext__are_accepted(void)
{
	for (int v = 0; v < 256; v++)
		UT_EQ(decode_with(3, (uint8_t)v, RP_PAYLOAD_LEN, RP_PAYLOAD_LEN), RP_PAYLOAD_OK);
	UT_EQ(decode_with(36, 0xFF, RP_PAYLOAD_LEN, RP_PAYLOAD_LEN), RP_PAYLOAD_OK);
}

static void
rp_payload_decode__several_faults__the_first_check_names_it(void)
{
	uint8_t buf[RP_PAYLOAD_LEN] = {9, 9, 9};
	struct rp_payload msg;

	UT_EQ(rp_payload_decode(buf, 39, RP_PAYLOAD_LEN, &msg), RP_PAYLOAD_BAD_LENGTH);
	UT_EQ(rp_payload_decode(buf, 40, RP_PAYLOAD_LEN, &msg), RP_PAYLOAD_BAD_VERSION);
	buf[0] = 1;
	UT_EQ(rp_payload_decode(buf, 40, RP_PAYLOAD_LEN, &msg), RP_PAYLOAD_BAD_MSG_TYPE);
	buf[1] = 1;
	UT_EQ(rp_payload_decode(buf, 40, RP_PAYLOAD_LEN, &msg), RP_PAYLOAD_BAD_ACK_TYPE);
	buf[2] = 2;
	UT_EQ(rp_payload_decode(buf, 40, RP_PAYLOAD_LEN, &msg), RP_PAYLOAD_OK);
}

static void
rp_payload_verdict_name__each_verdict__is_the_counter_name(void)
{
	static const char *const want[RP_PAYLOAD_N] = {
		"ok", "length", "version", "msg_type", "ack_type"};

	for (int v = 0; v < RP_PAYLOAD_N; v++)
		UT_STR(rp_payload_verdict_name((enum rp_payload_verdict)v), want[v]);
}

static const struct ut_test tests[] = {
	UT(rp_payload_decode__any_message_encoded__reads_back),
	UT(rp_payload_encode__known_message__is_these_bytes),
	UT(rp_payload_decode__any_other_length__is_refused_before_a_read),
	UT(rp_payload_decode__padded__needs_the_flag_and_the_room),
	UT(rp_payload_decode__every_version_and_type__has_its_verdict),
	UT(rp_payload_decode__unknown_flags_and_any_ext__are_accepted),
	UT(rp_payload_decode__several_faults__the_first_check_names_it),
	UT(rp_payload_verdict_name__each_verdict__is_the_counter_name),
};

UT_MAIN("payload", tests)
