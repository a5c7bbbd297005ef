/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef RP_TABLE_H
#define RP_TABLE_H

/**
 * @file rp_table.h
 * Intrusive chained hash table that grows with its content. The caller hashes
 * and compares; the table only finds the candidates.
 *
 *   for (node = rp_table_first(t, h); node != NULL; node = rp_table_next(node))
 *           if (equal(rp_container_of(node, struct thing, node), key)) ...
 *
 * Thread:  one owner or a lock. Memory: nodes are the caller's. Time: n/a.
 */

#include <stddef.h>
#include <stdint.h>

struct rp_table_node {
	struct rp_table_node *next;
	uint32_t hash;
};

/** All zero is an empty table. */
struct rp_table {
	struct rp_table_node **bucket;
	size_t n_buckets; /* 0 or a power of two */
	size_t n;
};

/** @return 0, -ENOMEM (first insertion only; later growth is best effort) */
int rp_table_insert(struct rp_table *table, struct rp_table_node *node, uint32_t hash);

/** @p node is in @p table. */
void rp_table_remove(struct rp_table *table, struct rp_table_node *node);

/** First node with @p hash, or NULL. */
struct rp_table_node *rp_table_first(const struct rp_table *table, uint32_t hash);

/** Next node with the same hash, or NULL. */
struct rp_table_node *rp_table_next(const struct rp_table_node *node);

/**
 * Any order; the table must not change, except that the node just returned may
 * be removed after the next one was asked for. @p pos is 0 at the start.
 */
struct rp_table_node *rp_table_walk(
	const struct rp_table *table, size_t *pos, const struct rp_table_node *last);

/** Release the buckets, not the nodes. */
void rp_table_fini(struct rp_table *table);

#endif /* RP_TABLE_H */
