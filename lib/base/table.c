/* SPDX-License-Identifier: BSD-3-Clause */

#include "rp_table.h"

#include <errno.h>
#include <stdlib.h>

#define BUCKETS_MIN 16u

static struct rp_table_node **
slot(const struct rp_table *table, uint32_t hash)
{
	return &table->bucket[hash & (table->n_buckets - 1)];
}

static void
push(struct rp_table *table, struct rp_table_node *node)
{
	struct rp_table_node **at = slot(table, node->hash);

	node->next = *at;
	*at = node;
}

static int
resize(struct rp_table *table, size_t n_buckets)
{
	struct rp_table old = *table;
	struct rp_table_node **bucket = calloc(n_buckets, sizeof(struct rp_table_node *));

	if (bucket == NULL)
		return -ENOMEM;
	table->bucket = bucket;
	table->n_buckets = n_buckets;
	for (size_t i = 0; i < old.n_buckets; i++) {
		struct rp_table_node *node = old.bucket[i];

		while (node != NULL) {
			struct rp_table_node *next = node->next;

			push(table, node);
			node = next;
		}
	}
	free(old.bucket);
	return 0;
}

int
rp_table_insert(struct rp_table *table, struct rp_table_node *node, uint32_t hash)
{
	if (table->n >= table->n_buckets &&
		resize(table, table->n_buckets == 0 ? BUCKETS_MIN : 2 * table->n_buckets) != 0 &&
		table->n_buckets == 0)
		return -ENOMEM;
	node->hash = hash;
	push(table, node);
	table->n++;
	return 0;
}

void
rp_table_remove(struct rp_table *table, struct rp_table_node *node)
{
	struct rp_table_node **at = slot(table, node->hash);

	while (*at != node)
		at = &(*at)->next;
	*at = node->next;
	table->n--;
}

static struct rp_table_node *
skip(struct rp_table_node *node, uint32_t hash)
{
	while (node != NULL && node->hash != hash)
		node = node->next;
	return node;
}

struct rp_table_node *
rp_table_first(const struct rp_table *table, uint32_t hash)
{
	return table->n_buckets == 0 ? NULL : skip(*slot(table, hash), hash);
}

struct rp_table_node *
rp_table_next(const struct rp_table_node *node)
{
	return skip(node->next, node->hash);
}

struct rp_table_node *
rp_table_walk(const struct rp_table *table, size_t *pos, const struct rp_table_node *last)
{
	struct rp_table_node *node = last == NULL ? NULL : last->next;

	while (node == NULL && *pos < table->n_buckets)
		node = table->bucket[(*pos)++];
	return node;
}

void
rp_table_fini(struct rp_table *table)
{
	free(table->bucket);
	*table = (struct rp_table){0};
}
