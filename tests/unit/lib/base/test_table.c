/* SPDX-License-Identifier: BSD-3-Clause */

#include "rp_table.h"

#include "ut.h"

#define N 1000

struct thing {
	struct rp_table_node node;
	uint32_t key;
	bool seen;
};

static struct thing *
find(const struct rp_table *table, uint32_t hash, uint32_t key)
{
	struct rp_table_node *node = rp_table_first(table, hash);

	for (; node != NULL; node = rp_table_next(node))
		if (rp_container_of(node, struct thing, node)->key == key)
			return rp_container_of(node, struct thing, node);
	return NULL;
}

/* Few distinct hashes: chains and equal hashes are the interesting case. */
static uint32_t
hash_of(uint32_t key)
{
	return key % 97 * 64;
}

static void
table__insert_find_remove__keep_all_others(void)
{
	static struct thing thing[N];
	struct rp_table table = {0};

	for (uint32_t i = 0; i < N; i++) {
		thing[i] = (struct thing){.key = i};
		UT_OK(rp_table_insert(&table, &thing[i].node, hash_of(i)));
	}
	UT_EQ(table.n, N);
	for (uint32_t i = 0; i < N; i += 3)
		rp_table_remove(&table, &thing[i].node);
	for (uint32_t i = 0; i < N; i++)
		if (!UT_TRUE((find(&table, hash_of(i), i) == NULL) == (i % 3 == 0)))
			break;
	rp_table_fini(&table);
}

static void
walk__every_node__is_seen_once_and_may_be_removed(void)
{
	static struct thing thing[N];
	struct rp_table table = {0};
	struct rp_table_node *node, *next;
	size_t pos = 0, n = 0;

	for (uint32_t i = 0; i < N; i++) {
		thing[i] = (struct thing){.key = i};
		UT_OK(rp_table_insert(&table, &thing[i].node, hash_of(i)));
	}
	for (node = rp_table_walk(&table, &pos, NULL); node != NULL; node = next) {
		struct thing *t = rp_container_of(node, struct thing, node);

		next = rp_table_walk(&table, &pos, node);
		UT_FALSE(t->seen);
		t->seen = true;
		rp_table_remove(&table, node);
		n++;
	}
	UT_EQ(n, N);
	UT_EQ(table.n, 0);
	rp_table_fini(&table);
}

static void
empty__table__finds_and_walks_nothing(void)
{
	struct rp_table table = {0};
	size_t pos = 0;

	UT_TRUE(rp_table_first(&table, 0) == NULL);
	UT_TRUE(rp_table_walk(&table, &pos, NULL) == NULL);
	rp_table_fini(&table);
}

static const struct ut_test tests[] = {
	UT(table__insert_find_remove__keep_all_others),
	UT(walk__every_node__is_seen_once_and_may_be_removed),
	UT(empty__table__finds_and_walks_nothing),
};

UT_MAIN("table", tests)
