/* SPDX-License-Identifier: BSD-3-Clause */

#include "ring_rig.h"

#include <stdio.h>

#include <rte_eal.h>
#include <rte_eth_ring.h>

#define WIRE_BUFFERS 2047
#define WIRE_ROOM    (RTE_PKTMBUF_HEADROOM + 2048)

static void
must(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "ring rig: %s failed\n", what);
	exit(1);
}

void
ring_rig_eal(void)
{
	static char arg[][20] = {"test", "--no-pci", "--no-huge", "-m", "96", "--no-shconf",
		"--no-telemetry", "-l", "0", "--log-level=3"};
	char *argv[RP_ARRAY_LEN(arg) + 1] = {NULL};

	for (size_t i = 0; i < RP_ARRAY_LEN(arg); i++)
		argv[i] = arg[i];
	must(rte_eal_init(RP_ARRAY_LEN(arg), argv) >= 0, "rte_eal_init");
}

static struct rte_ring *
make_ring(const char *name, const char *what, unsigned int q)
{
	char text[RTE_RING_NAMESIZE];
	struct rte_ring *ring;

	snprintf(text, sizeof(text), "%s_%s%u", name, what, q);
	ring = rte_ring_create(text, RING_RIG_SLOTS, SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ);
	must(ring != NULL, "rte_ring_create");
	return ring;
}

void
ring_rig_cable(const char *name, unsigned int queues)
{
	struct rte_ring *ab[RING_RIG_QUEUES_MAX], *ba[RING_RIG_QUEUES_MAX];
	char end[32];

	for (unsigned int q = 0; q < queues; q++) {
		ab[q] = make_ring(name, "ab", q);
		ba[q] = make_ring(name, "ba", q);
	}
	snprintf(end, sizeof(end), "%s0", name);
	must(rte_eth_from_rings(end, ba, queues, ab, queues, 0) >= 0, "rte_eth_from_rings");
	snprintf(end, sizeof(end), "%s1", name);
	must(rte_eth_from_rings(end, ab, queues, ba, queues, 0) >= 0, "rte_eth_from_rings");
}

void
ring_rig_wire(struct ring_rig_wire *wire, const char *name, unsigned int n_rxq, unsigned int n_txq)
{
	char text[RTE_MEMPOOL_NAMESIZE];
	int id;

	wire->n_rxq = n_rxq;
	for (unsigned int q = 0; q < n_rxq; q++)
		wire->to_port[q] = make_ring(name, "to", q);
	for (unsigned int q = 0; q < n_txq; q++)
		wire->from_port[q] = make_ring(name, "from", q);
	id = rte_eth_from_rings(name, wire->to_port, n_rxq, wire->from_port, n_txq, 0);
	must(id >= 0, "rte_eth_from_rings");
	wire->port_id = (uint16_t)id;
	must(rte_eth_dev_get_name_by_port(wire->port_id, wire->device) == 0, "port name");
	snprintf(text, sizeof(text), "%s_wire", name);
	wire->pool = rte_pktmbuf_pool_create(text, WIRE_BUFFERS, 0, 0, WIRE_ROOM, SOCKET_ID_ANY);
	must(wire->pool != NULL, "rte_pktmbuf_pool_create");
}

static struct rte_mbuf *
make_frame(struct ring_rig_wire *wire, const uint8_t *frame, size_t len)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(wire->pool);
	char *room;

	must(m != NULL, "rte_pktmbuf_alloc");
	room = rte_pktmbuf_append(m, (uint16_t)len);
	must(room != NULL, "rte_pktmbuf_append");
	memcpy(room, frame, len);
	return m;
}

void
ring_rig_inject(struct ring_rig_wire *wire, unsigned int q, const uint8_t *frame, size_t len)
{
	must(rte_ring_enqueue(wire->to_port[q], make_frame(wire, frame, len)) == 0, "injecting");
}

void
ring_rig_inject_chain(struct ring_rig_wire *wire, const uint8_t *frame, size_t len, size_t cut)
{
	struct rte_mbuf *head = make_frame(wire, frame, cut);

	must(rte_pktmbuf_chain(head, make_frame(wire, frame + cut, len - cut)) == 0, "chaining");
	must(rte_ring_enqueue(wire->to_port[0], head) == 0, "injecting");
}

size_t
ring_rig_take(struct ring_rig_wire *wire, unsigned int q, uint8_t *frame, size_t cap)
{
	struct rte_mbuf *m;
	size_t len;

	if (rte_ring_dequeue(wire->from_port[q], (void **)&m) != 0)
		return 0;
	len = m->data_len;
	must(len <= cap && m->nb_segs == 1, "taking a frame");
	memcpy(frame, rte_pktmbuf_mtod(m, void *), len);
	rte_pktmbuf_free(m);
	return len;
}

uint32_t
ring_rig_free(const struct ring_rig_wire *wire)
{
	return rte_mempool_avail_count(wire->pool);
}
