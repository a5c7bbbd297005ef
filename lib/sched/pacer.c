/* SPDX-License-Identifier: BSD-3-Clause */

#include "rp_pacer.h"

#include <errno.h>
#include <stdlib.h>

#include "rp_base.h"

#define CAP_MAX    (1u << 20)
#define PERIOD_MAX (UINT64_C(1) << 53)
#define ARITY      4
#define NOT_THERE  UINT32_MAX

/* The period stays in the node: taking an entry touches one line per level. */
struct node {
	uint64_t due;
	uint64_t period;
	uint32_t id;
	uint32_t skipped;
};

struct rp_pacer {
	struct node *heap;
	uint32_t *place; /* id -> index in the heap */
	uint32_t n;
	uint32_t cap;
	struct rp_rng rng;
	uint64_t skipped;
};

static bool
earlier(uint64_t a, uint64_t b)
{
	return (int64_t)(a - b) < 0;
}

static void
put(struct rp_pacer *p, uint32_t i, struct node node)
{
	p->heap[i] = node;
	p->place[node.id] = i;
}

static void
sift_up(struct rp_pacer *p, uint32_t i, struct node node)
{
	while (i > 0) {
		uint32_t parent = (i - 1) / ARITY;

		if (!earlier(node.due, p->heap[parent].due))
			break;
		put(p, i, p->heap[parent]);
		i = parent;
	}
	put(p, i, node);
}

static void
sift_down(struct rp_pacer *p, uint32_t i, struct node node)
{
	for (;;) {
		uint32_t first = i * ARITY + 1, best = first;

		if (first >= p->n)
			break;
		for (uint32_t c = first + 1; c < first + ARITY && c < p->n; c++)
			if (earlier(p->heap[c].due, p->heap[best].due))
				best = c;
		if (!earlier(p->heap[best].due, node.due))
			break;
		put(p, i, p->heap[best]);
		i = best;
	}
	put(p, i, node);
}

int
rp_pacer_create(uint32_t cap, uint64_t seed, struct rp_pacer **ret_pacer)
{
	struct rp_pacer *p;

	if (cap == 0 || cap > CAP_MAX)
		return -EINVAL;
	p = calloc(1, sizeof(*p));
	if (p == NULL)
		return -ENOMEM;
	p->heap = calloc(cap, sizeof(*p->heap));
	p->place = malloc(cap * sizeof(*p->place));
	if (p->heap == NULL || p->place == NULL) {
		rp_pacer_destroy(p);
		return -ENOMEM;
	}
	p->cap = cap;
	rp_rng_init(&p->rng, seed);
	for (uint32_t i = 0; i < cap; i++)
		p->place[i] = NOT_THERE;
	*ret_pacer = p;
	return 0;
}

void
rp_pacer_destroy(struct rp_pacer *pacer)
{
	if (pacer == NULL)
		return;
	free(pacer->heap);
	free(pacer->place);
	free(pacer);
}

int
rp_pacer_add_at(struct rp_pacer *pacer, uint32_t id, uint64_t period_ticks, struct rp_tsc due)
{
	if (period_ticks == 0 || period_ticks > PERIOD_MAX)
		return -EINVAL;
	if (id >= pacer->cap)
		return -ENOSPC;
	if (pacer->place[id] != NOT_THERE)
		return -EEXIST;
	sift_up(pacer, pacer->n++,
		(struct node){.due = due.ticks, .period = period_ticks, .id = id});
	return 0;
}

int
rp_pacer_add(struct rp_pacer *pacer, uint32_t id, uint64_t period_ticks, struct rp_tsc now)
{
	if (period_ticks == 0 || period_ticks > PERIOD_MAX)
		return -EINVAL;
	return rp_pacer_add_at(
		pacer, id, period_ticks, rp_tsc_add(now, rp_rng_below(&pacer->rng, period_ticks)));
}

bool
rp_pacer_next_of(const struct rp_pacer *pacer, uint32_t id, struct rp_tsc *ret_due)
{
	if (id >= pacer->cap || pacer->place[id] == NOT_THERE)
		return false;
	ret_due->ticks = pacer->heap[pacer->place[id]].due;
	return true;
}

int
rp_pacer_remove(struct rp_pacer *pacer, uint32_t id)
{
	struct node last;
	uint32_t i;

	if (id >= pacer->cap || pacer->place[id] == NOT_THERE)
		return -ENOENT;
	i = pacer->place[id];
	pacer->place[id] = NOT_THERE;
	last = pacer->heap[--pacer->n];
	if (i == pacer->n)
		return 0;
	/* The last node may belong above or below the hole. */
	if (i > 0 && earlier(last.due, pacer->heap[(i - 1) / ARITY].due))
		sift_up(pacer, i, last);
	else
		sift_down(pacer, i, last);
	return 0;
}

bool
rp_pacer_next(const struct rp_pacer *pacer, struct rp_tsc *ret_due)
{
	if (pacer->n == 0)
		return false;
	ret_due->ticks = pacer->heap[0].due;
	return true;
}

/* Advance to the first regular time after @now (cold: it divides). */
static RP_COLD uint64_t
skip_node(struct rp_pacer *p, struct node *node, uint64_t now)
{
	uint64_t missed = (now - node->due) / node->period + 1;

	node->due += missed * node->period;
	node->skipped +=
		missed > UINT32_MAX - node->skipped ? UINT32_MAX - node->skipped : (uint32_t)missed;
	p->skipped += missed;
	return missed;
}

static __attribute__((noinline)) bool
take_due(struct rp_pacer *pacer, struct rp_tsc now, struct rp_pacer_due *ret_due)
{
	while (!earlier(now.ticks, pacer->heap[0].due)) {
		struct node node = pacer->heap[0];
		uint64_t lag = now.ticks - node.due;

		if (lag >= node.period) {
			skip_node(pacer, &node, now.ticks);
			sift_down(pacer, 0, node);
			continue;
		}
		*ret_due = (struct rp_pacer_due){node.id, node.skipped, lag};
		node.skipped = 0;
		node.due += node.period;
		sift_down(pacer, 0, node);
		return true;
	}
	return false;
}

bool
rp_pacer_take(struct rp_pacer *pacer, struct rp_tsc now, struct rp_pacer_due *ret_due)
{
	/* Apart from the work, so that a turn with nothing due costs no stack frame. */
	if (pacer->n == 0 || earlier(now.ticks, pacer->heap[0].due))
		return false;
	return take_due(pacer, now, ret_due);
}

uint64_t
rp_pacer_skip_to(struct rp_pacer *pacer, struct rp_tsc now)
{
	uint64_t missed = 0;

	while (pacer->n > 0 && earlier(pacer->heap[0].due, now.ticks)) {
		struct node node = pacer->heap[0];

		/* Due strictly before now; a time that is now goes out now. */
		missed += skip_node(pacer, &node, now.ticks - 1);
		sift_down(pacer, 0, node);
	}
	return missed;
}

uint64_t
rp_pacer_skipped(const struct rp_pacer *pacer)
{
	return pacer->skipped;
}
