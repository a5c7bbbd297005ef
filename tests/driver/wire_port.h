/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef WIRE_PORT_H
#define WIRE_PORT_H

/**
 * @file wire_port.h
 * One softroce port whose wire is the test: frames go in byte by byte, and what
 * it sends is looked at.
 *
 * Thread:  the main lcore. Memory: one port at a time. Time: real, or the test's
 *          own where it calls the neighbour functions directly.
 */

#include "ring_rig.h"
#include "rp_opt.h"
#include "softroce_priv.h"

#define WIRE_RESPONDER_QKEY 0x22222222u
#define WIRE_FRAME_MAX      2048

struct wire_port {
	struct ring_rig_wire wire;
	struct rp_port_conf conf; /* changed by the test before wire_open() */
	struct rp_host_clock clock;
	struct rp_port *port;
	struct rp_qp *qp[RP_ROLE_N];
	struct rp_ev ev[256]; /* of the last wire_turn() */
	uint16_t n_ev;
	char why[RP_OPT_WHY_MAX];
};

extern struct wire_port wp;

/** MACs and addresses of the port and of the station the test plays. */
extern const uint8_t wire_own_mac[6];
extern const uint8_t wire_peer_mac[6];
struct rp_gid wire_gid(const char *text);

/** EAL and the device; once per program. */
void wire_init(unsigned int n_rxq, unsigned int n_txq);

/** Defaults of wp.conf: IPv4 10.9.0.1/24 or IPv6 fd00:9::1/64. */
void wire_defaults(bool ipv6);

bool wire_open(void);
void wire_close(void);

/** Responder turn and one poll; events in wp.ev. */
void wire_turn(void);

/** Inject @p frame and take one turn. */
void wire_rx(const uint8_t *frame, size_t len);

/** Next frame sent, whatever the queue; 0: none. */
size_t wire_tx(uint8_t frame[WIRE_FRAME_MAX]);

/** Forget what was sent. @return how many frames */
unsigned int wire_flush(void);

/** Fields of a good frame from the peer to our @p role. */
struct rp_roce_fields wire_fields(enum rp_role role);

/** Station @p mac claims @p ip, by ARP reply or advertisement. */
size_t wire_claim(uint8_t *frame, const struct rp_gid *ip, const uint8_t *mac);

/** A peer that is ready, its MAC wire_peer_mac. */
struct rp_peer *wire_ready_peer(const struct rp_gid *gid);

uint64_t wire_stat(const char *name);

/** All counters, to find out which ones moved. */
struct wire_stats {
	char name[128][48];
	uint64_t value[128];
	size_t n;
};

void wire_snapshot(struct wire_stats *ret_stats);

/** Exactly the counter @p name rose by one since @p before, no other "drop_". */
void wire_only_moved(const struct wire_stats *before, const char *name, const char *what);

#endif /* WIRE_PORT_H */
