/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <stdio.h>

#include "hists.h"
#include "rp_api.h"
#include "ut.h"

#define ROUNDS 500

static struct rp_api_err err;

static void
check_row(const struct rp_api_row *got, const struct rp_api_row *want)
{
	UT_EQ(got->type, want->type);
	UT_EQ(got->stamps, want->stamps);
	UT_MEM(&got->counts, &want->counts, sizeof(got->counts));
	check_hist(&got->rtt, &want->rtt);
	check_hist(&got->prober, &want->prober);
	check_hist(&got->responder, &want->responder);
	check_hist(&got->late, &want->late);
}

static void
stored_row__any_row__survives_the_round_trip(void)
{
	struct rp_rng rng = ut_rng(11);

	for (int round = 0; round < ROUNDS; round++) {
		struct rp_api_row in = {0}, out;
		struct rp_buf json = {0};

		in.type = (enum rp_api_type)rp_rng_below(&rng, RP_API_TYPE_N);
		in.stamps = (enum rp_stamps)rp_rng_below(&rng, RP_STAMPS_N);
		for (int i = 0; i < RP_STATE_N; i++)
			in.counts.state[i] = rp_rng_below(&rng, UINT64_C(1) << 53);
		for (int i = 0; i < RP_EXTRA_N; i++)
			in.counts.extra[i] = rp_rng_below(&rng, 1000);
		random_hist(&rng, &in.rtt);
		random_hist(&rng, &in.prober);
		random_hist(&rng, &in.responder);
		random_hist(&rng, &in.late);
		rp_api_encode_row(&in, &json);
		if (!UT_OK(rp_api_decode_row(json.data, json.len, &out, &err))) {
			printf("%s: %s\n%s\n", err.field, err.message, json.data);
		} else {
			check_row(&out, &in);
			rp_api_row_fini(&out);
		}
		rp_buf_fini(&json);
		rp_api_row_fini(&in);
	}
}

/* Rows of older releases lack what was appended since: that reads as zero. */
static void
stored_row__fewer_counters__read_as_zero(void)
{
	static const char *const text[] = {
		"[0,1,1,1,2,3,4,5,6,7,8,[5,6,0,0,[[250,3]]],[],[],[9,9,1,0,[]]]",
		"[0,1,1,1,2,3,4,5,6,7,8,10,[5,6,0,0,[[250,3]]],[],[],[9,9,1,0,[]]]",
		"[0,1,1,1,2,3,4,5,6,7,8,10,20,30,40,[5,6,0,0,[[250,3]]],[],[],[9,9,1,0,[]]]",
		"[0,1,1,1,2,3,4,5,6,7,8,10,20,30,40,50,[5,6,0,0,[[250,3]]],[],[],[9,9,1,0,[]]]",
		"{\"v\":1,\"type\":1,\"stamps\":1,\"states\":[1,2,3,4,5,6,7,8],\"extras\":[],"
		"\"hists\":[[5,6,0,0,[[250,3]]],[],[],[9,9,1,0,[]]]}",
		"{\"v\":1,\"type\":1,\"stamps\":1,\"states\":[1,2,3],\"extras\":[10,20],"
		"\"hists\":[[5,6,0,0,[[250,3]]]],\"later\":1}",
	};
	static const struct {
		uint64_t states, extras;
	} sum[] = {{36, 0}, {36, 10}, {36, 100}, {36, 150}, {36, 0}, {6, 30}};

	for (size_t i = 0; i < RP_ARRAY_LEN(text); i++) {
		struct rp_api_row row = {0};
		uint64_t states = 0, extras = 0;

		if (!UT_OK(rp_api_decode_row(text[i], strlen(text[i]), &row, &err))) {
			printf("%zu %s: %s\n", i, err.field, err.message);
			continue;
		}
		for (int k = 0; k < RP_STATE_N; k++)
			states += row.counts.state[k];
		for (int k = 0; k < RP_EXTRA_N; k++)
			extras += row.counts.extra[k];
		UT_EQ_U(states, sum[i].states);
		UT_EQ_U(extras, sum[i].extras);
		UT_EQ_U(row.counts.state[RP_STATE_LOST], 3);
		UT_EQ(row.type, RP_API_INTER_TOR);
		UT_EQ_U(row.rtt.sum.n, 3);
		UT_EQ_U(row.late.sum.n, i == 5 ? 0 : 1);
		rp_api_row_fini(&row);
	}
}

static void
stored_row__unknown_version_or_damaged__is_refused(void)
{
	static const struct {
		const char *text, *field;
	} bad[] = {
#define ROW(v, type, stamps, states, extras, hists)                                                \
	"{\"" v ",\"type\":" type ",\"stamps\":" stamps ",\"states\":" states                      \
	",\"extras\":" extras ",\"hists\":" hists "}"
		{ROW("v\":2", "1", "1", "[1]", "[2]", "[]"), "v"},
		{ROW("v\":0", "1", "1", "[1]", "[2]", "[]"), "v"},
		{ROW("x\":1", "1", "1", "[1]", "[2]", "[]"), "v"},
		{ROW("v\":1", "2", "1", "[1]", "[2]", "[]"), "type"},
		{ROW("v\":1", "1", "3", "[1]", "[2]", "[]"), "stamps"},
		{ROW("v\":1", "1", "1", "[1,2,3,4,5,6,7,8,9]", "[2]", "[]"), "states"},
		{ROW("v\":1", "1", "1", "[-1]", "[2]", "[]"), "states[0]"},
		{ROW("v\":1", "1", "1", "[1]", "[1,2,3,4,5,6]", "[]"), "extras"},
		{ROW("v\":1", "1", "1", "[1]", "[2]", "[[],[],[],[],[]]"), "hists"},
		{ROW("v\":1", "1", "1", "[1]", "[2]", "[[1]]"), "hists[0].max_ns"},
#undef ROW
		{"[]", NULL},
		{"[0,1,1,1,2,3,4,5,6,7,8,[],[],[]]", NULL},
		{"[0,1,1,1,2,3,4,5,6,7,8,1,2,3,4,5,6,[],[],[],[]]", NULL},
		{"[0,1,1,1,2,3,4,5,6,7,8,1,[],[],[],7]", NULL},
		{"", NULL},
		{"null", NULL},
		{"7", NULL},
	};
	struct rp_api_row row;

	for (size_t i = 0; i < RP_ARRAY_LEN(bad); i++) {
		err = (struct rp_api_err){0};
		if (!UT_EQ(rp_api_decode_row(bad[i].text, strlen(bad[i].text), &row, &err),
			    -EINVAL))
			printf("%s\n", bad[i].text);
		if (bad[i].field != NULL)
			UT_STR(err.field, bad[i].field);
	}
}

static const struct ut_test tests[] = {
	UT(stored_row__any_row__survives_the_round_trip),
	UT(stored_row__fewer_counters__read_as_zero),
	UT(stored_row__unknown_version_or_damaged__is_refused),
};

UT_MAIN("row", tests)
