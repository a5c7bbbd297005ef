/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The pacer's heap against a simple timing wheel, on one schedule: what handing
 * out one due entry costs, and what one poll costs that finds nothing due.
 *
 *   bench_pacer                        time of both, alternated, and their ratio
 *   bench_pacer heap|wheel ENTRIES N   one of them alone, for callgrind
 *
 * The wheel is as small as it can be: 4096 slots of 32 us, a round counter for
 * what lies farther away. It hands out in slot order, so an entry may leave up to
 * a slot early or late and out of order; the heap is exact.
 */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "rp_base.h"
#include "rp_pacer.h"

#define TICKS_PER_US 1000
#define SLOTS        4096
#define SLOT_TICKS   UINT64_C(32768)
#define NIL          UINT32_MAX
#define POLL_TICKS   500

/* Two thirds at 10 a second, one third at 1 a second, as meshes are. */
static uint64_t
period_of(uint32_t id)
{
	return UINT64_C(1000000) * TICKS_PER_US / (id % 3 == 0 ? 1 : 10);
}

struct wheel {
	uint32_t head[SLOTS];
	struct wheel_entry {
		uint64_t due, period;
		uint32_t next, rounds;
	} * entry;
	uint64_t slot; /* number of the slot being handed out */
};

static void
wheel_put(struct wheel *w, uint32_t id, uint64_t due)
{
	struct wheel_entry *e = &w->entry[id];
	uint64_t slot = due / SLOT_TICKS;
	uint32_t *head = &w->head[slot % SLOTS];

	e->due = due;
	e->rounds = (uint32_t)((slot - w->slot) / SLOTS);
	e->next = *head;
	*head = id;
}

/* Unlink and reschedule one due entry of the slots up to now. */
static bool
wheel_take(struct wheel *w, uint64_t now, uint32_t *ret_id)
{
	for (;;) {
		uint32_t *link = &w->head[w->slot % SLOTS];

		while (*link != NIL) {
			uint32_t id = *link;
			struct wheel_entry *e = &w->entry[id];

			if (e->rounds == 0) {
				*link = e->next;
				wheel_put(w, id, e->due + e->period);
				*ret_id = id;
				return true;
			}
			link = &e->next;
		}
		if ((w->slot + 1) * SLOT_TICKS > now)
			return false;
		w->slot++;
		for (uint32_t i = w->head[w->slot % SLOTS]; i != NIL; i = w->entry[i].next)
			w->entry[i].rounds -= w->entry[i].rounds > 0;
	}
}

struct result {
	uint64_t taken;
	uint64_t polls;
	uint64_t sum; /* keeps the compiler honest */
};

__attribute__((noinline)) static struct result
run_heap(struct rp_pacer *pacer, uint64_t wanted)
{
	struct result r = {0};

	for (uint64_t now = 0; r.taken < wanted; now += POLL_TICKS, r.polls++) {
		struct rp_pacer_due due;

		while (rp_pacer_take(pacer, (struct rp_tsc){now}, &due)) {
			r.taken++;
			r.sum += due.id;
		}
	}
	return r;
}

__attribute__((noinline)) static struct result
run_wheel(struct wheel *w, uint64_t wanted)
{
	struct result r = {0};

	for (uint64_t now = 0; r.taken < wanted; now += POLL_TICKS, r.polls++) {
		uint32_t id;

		while (wheel_take(w, now, &id)) {
			r.taken++;
			r.sum += id;
		}
	}
	return r;
}

static double
seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

/* @return ns per entry handed out, idle polls between them included */
static double
measure(bool heap, uint32_t entries, uint64_t wanted, struct result *ret_result)
{
	struct wheel *wheel = calloc(1, sizeof(*wheel));
	struct rp_pacer *pacer = NULL;
	struct rp_rng rng;
	double start;

	if (wheel == NULL || rp_pacer_create(entries, 1, &pacer) != 0)
		abort();
	wheel->entry = calloc(entries, sizeof(*wheel->entry));
	if (wheel->entry == NULL)
		abort();
	memset(wheel->head, 0xFF, sizeof(wheel->head));
	rp_rng_init(&rng, 7);
	for (uint32_t i = 0; i < entries; i++) {
		uint64_t due = rp_rng_below(&rng, period_of(i));

		wheel->entry[i].period = period_of(i);
		wheel_put(wheel, i, due);
		if (rp_pacer_add_at(pacer, i, period_of(i), (struct rp_tsc){due}) != 0)
			abort();
	}
	start = seconds();
	*ret_result = heap ? run_heap(pacer, wanted) : run_wheel(wheel, wanted);
	start = seconds() - start;
	rp_pacer_destroy(pacer);
	free(wheel->entry);
	free(wheel);
	return start * 1e9 / (double)wanted;
}

static int
by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void
compare(uint32_t entries)
{
	double ratio[5], heap = 0, wheel = 0;
	struct result r;

	for (size_t i = 0; i < RP_ARRAY_LEN(ratio); i++) {
		heap = measure(true, entries, 300000, &r);
		wheel = measure(false, entries, 300000, &r);
		ratio[i] = heap / wheel;
	}
	qsort(ratio, RP_ARRAY_LEN(ratio), sizeof(ratio[0]), by_value);
	printf("%7u entries: heap %7.1f ns, wheel %7.1f ns an entry, median ratio %.2f\n", entries,
		heap, wheel, ratio[2]);
}

int
main(int argc, char **argv)
{
	if (argc == 4) {
		struct result r;

		measure(strcmp(argv[1], "heap") == 0, (uint32_t)strtoul(argv[2], NULL, 10),
			strtoull(argv[3], NULL, 10), &r);
		printf("%" PRIu64 " taken, %" PRIu64 " polls, sum %" PRIu64 "\n", r.taken, r.polls,
			r.sum);
		return 0;
	}
	compare(100);
	compare(1000);
	compare(10000);
	return 0;
}
