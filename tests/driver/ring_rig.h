/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef RING_RIG_H
#define RING_RIG_H

/**
 * @file ring_rig.h
 * Ethdevs of memory for driver tests: two ports joined by a cable of rings, and a
 * port whose wire is the test itself.
 *
 * Thread:  the main lcore. Memory: until the process ends. Time: real.
 */

#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_ring.h>

#include "ut.h"

#define RING_RIG_QUEUES_MAX 4
#define RING_RIG_SLOTS      1024

/** EAL without files, PCI or hugepages. Exits when it fails. */
void ring_rig_eal(void);

/** Two ethdevs "net_ring_<name>0" and "...1" with @p queues in each direction. */
void ring_rig_cable(const char *name, unsigned int queues);

/** One end of a cable in the test's hand. */
struct ring_rig_wire {
	char device[RTE_ETH_NAME_MAX_LEN];
	uint16_t port_id;
	unsigned int n_rxq;
	struct rte_ring *to_port[RING_RIG_QUEUES_MAX];
	struct rte_ring *from_port[RING_RIG_QUEUES_MAX];
	struct rte_mempool *pool; /* of what is put on the wire */
};

void ring_rig_wire(
	struct ring_rig_wire *wire, const char *name, unsigned int n_rxq, unsigned int n_txq);

/** Put a frame on receive queue @p q. Room for 2048 bytes. */
void ring_rig_inject(struct ring_rig_wire *wire, unsigned int q, const uint8_t *frame, size_t len);

/** The same as a chain of two buffers, cut at @p cut. */
void ring_rig_inject_chain(
	struct ring_rig_wire *wire, const uint8_t *frame, size_t len, size_t cut);

/** Next frame that the port sent on queue @p q. @return its length, 0 for none */
size_t ring_rig_take(struct ring_rig_wire *wire, unsigned int q, uint8_t *frame, size_t cap);

/** Buffers of @p wire that are not under way. */
uint32_t ring_rig_free(const struct ring_rig_wire *wire);

#endif /* RING_RIG_H */
