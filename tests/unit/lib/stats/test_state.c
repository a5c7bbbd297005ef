/* SPDX-License-Identifier: BSD-3-Clause */

#include <stdio.h>

#include "rp_state.h"
#include "ut.h"

/* The tables of the documentation: names are an interface, their order too. */
static void
rp_state_name__each_state__is_the_documented_column_and_reason(void)
{
	static const struct {
		const char *column, *reason;
	} want[] = {
		{"ok", ""},
		{"invalid", "invalid_rtt"},
		{"lost", "timeout"},
		{"ack1_lost", "ack1_lost"},
		{"ack2_lost", "ack2_lost"},
		{"send_error", "send_error"},
		{"unresolved", "unresolved"},
		{"suspended", "suspended"},
	};

	UT_EQ(RP_STATE_N, RP_ARRAY_LEN(want));
	for (int i = 0; i < RP_STATE_N; i++) {
		UT_STR(rp_state_name((enum rp_state)i), want[i].column);
		UT_STR(rp_state_reason((enum rp_state)i), want[i].reason);
	}
}

static void
rp_extra_name__each_counter__is_the_documented_column(void)
{
	static const char *const want[] = {
		"late", "duplicate", "reordered", "imprecise", "late_ack2"};

	UT_EQ(RP_EXTRA_N, RP_ARRAY_LEN(want));
	for (int i = 0; i < RP_EXTRA_N; i++)
		UT_STR(rp_extra_name((enum rp_extra)i), want[i]);
}

static void
rp_stamps_name__each_source__is_named(void)
{
	UT_STR(rp_stamps_name(RP_STAMPS_SW), "sw");
	UT_STR(rp_stamps_name(RP_STAMPS_HW), "hw");
	UT_STR(rp_stamps_name(RP_STAMPS_MIXED), "mixed");
	UT_EQ(RP_STAMPS_N, 3);
}

static void
rp_counts_add__two_windows__sums_each_field(void)
{
	struct rp_counts a, b;

	for (int i = 0; i < RP_STATE_N; i++) {
		a.state[i] = (uint64_t)i + 1;
		b.state[i] = 100 * (uint64_t)(i + 1);
	}
	for (int i = 0; i < RP_EXTRA_N; i++) {
		a.extra[i] = (uint64_t)i + 1000;
		b.extra[i] = 7;
	}
	rp_counts_add(&a, &b);
	for (int i = 0; i < RP_STATE_N; i++)
		UT_EQ(a.state[i], 101 * (i + 1));
	for (int i = 0; i < RP_EXTRA_N; i++)
		UT_EQ(a.extra[i], i + 1007);
	UT_EQ(rp_counts_settled(&a), 101 * RP_STATE_N * (RP_STATE_N + 1) / 2);
}

static void
rp_counts_fabric_loss__each_state_alone__counts_where_the_table_says(void)
{
	static const struct {
		enum rp_state state;
		uint64_t lost, of;
	} row[] = {
		{RP_STATE_OK, 0, 10},
		{RP_STATE_INVALID, 0, 10},
		{RP_STATE_LOST, 10, 10},
		{RP_STATE_ACK1_LOST, 10, 10},
		{RP_STATE_ACK2_LOST, 0, 10},
		{RP_STATE_SEND_ERROR, 0, 0},
		{RP_STATE_UNRESOLVED, 0, 0},
		{RP_STATE_SUSPENDED, 0, 0},
	};

	UT_EQ(RP_ARRAY_LEN(row), RP_STATE_N);
	for (size_t i = 0; i < RP_ARRAY_LEN(row); i++) {
		struct rp_counts c = {{0}, {0}};
		uint64_t lost = 77, of = 77;

		c.state[row[i].state] = 10;
		rp_counts_fabric_loss(&c, &lost, &of);
		if (!UT_EQ_U(lost, row[i].lost) || !UT_EQ_U(of, row[i].of))
			printf("  %s\n", rp_state_name(row[i].state));
	}
}

static void
rp_counts_fabric_loss__late_answers__are_no_loss(void)
{
	struct rp_counts c = {{0}, {0}};
	uint64_t lost, of;

	c.state[RP_STATE_OK] = 90;
	c.state[RP_STATE_LOST] = 10;
	c.extra[RP_EXTRA_LATE] = 4;
	c.extra[RP_EXTRA_LATE_ACK2] = 3; /* of probes that are no loss to begin with */
	rp_counts_fabric_loss(&c, &lost, &of);
	UT_EQ(lost, 6);
	UT_EQ(of, 100);
	/* answers to probes of the window before */
	c.extra[RP_EXTRA_LATE] = 14;
	rp_counts_fabric_loss(&c, &lost, &of);
	UT_EQ(lost, 0);
	c.extra[RP_EXTRA_DUPLICATE] = c.extra[RP_EXTRA_REORDERED] = c.extra[RP_EXTRA_IMPRECISE] = 9;
	c.extra[RP_EXTRA_LATE] = 0;
	rp_counts_fabric_loss(&c, &lost, &of);
	UT_EQ(lost, 10);
	UT_EQ(of, 100);
}

static const struct ut_test tests[] = {
	UT(rp_state_name__each_state__is_the_documented_column_and_reason),
	UT(rp_extra_name__each_counter__is_the_documented_column),
	UT(rp_stamps_name__each_source__is_named),
	UT(rp_counts_add__two_windows__sums_each_field),
	UT(rp_counts_fabric_loss__each_state_alone__counts_where_the_table_says),
	UT(rp_counts_fabric_loss__late_answers__are_no_loss),
};

UT_MAIN("state", tests)
