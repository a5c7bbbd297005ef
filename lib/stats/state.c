/* SPDX-License-Identifier: BSD-3-Clause */

#include "rp_state.h"

const char *
rp_state_name(enum rp_state state)
{
	static const char *const name[RP_STATE_N] = {
#define X(sym, column, reason, fabric) column,
		RP_STATES(X)
#undef X
	};

	return name[state];
}

const char *
rp_state_reason(enum rp_state state)
{
	static const char *const name[RP_STATE_N] = {
#define X(sym, column, reason, fabric) reason,
		RP_STATES(X)
#undef X
	};

	return name[state];
}

const char *
rp_extra_name(enum rp_extra extra)
{
	static const char *const name[RP_EXTRA_N] = {
#define X(sym, column) column,
		RP_EXTRAS(X)
#undef X
	};

	return name[extra];
}

const char *
rp_stamps_name(enum rp_stamps stamps)
{
	static const char *const name[RP_STAMPS_N] = {"sw", "hw", "mixed"};

	return name[stamps];
}

void
rp_counts_add(struct rp_counts *to, const struct rp_counts *from)
{
	for (int i = 0; i < RP_STATE_N; i++)
		to->state[i] += from->state[i];
	for (int i = 0; i < RP_EXTRA_N; i++)
		to->extra[i] += from->extra[i];
}

uint64_t
rp_counts_settled(const struct rp_counts *c)
{
	uint64_t n = 0;

	for (int i = 0; i < RP_STATE_N; i++)
		n += c->state[i];
	return n;
}

void
rp_counts_fabric_loss(const struct rp_counts *c, uint64_t *ret_lost, uint64_t *ret_of)
{
	uint64_t lost = 0;
	uint64_t late = c->extra[RP_EXTRA_LATE];

#define X(sym, column, reason, fabric)                                                             \
	if (fabric)                                                                                \
		lost += c->state[RP_STATE_##sym];
	RP_STATES(X)
#undef X
	*ret_lost = lost > late ? lost - late : 0;
	*ret_of = c->state[RP_STATE_OK] + c->state[RP_STATE_INVALID] + c->state[RP_STATE_LOST] +
		c->state[RP_STATE_ACK1_LOST] + c->state[RP_STATE_ACK2_LOST];
}
