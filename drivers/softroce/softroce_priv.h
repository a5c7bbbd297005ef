/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef SOFTROCE_PRIV_H
#define SOFTROCE_PRIV_H

/**
 * @file softroce_priv.h
 * Inside of the softroce driver.
 *
 * Thread:  each field names its writer. "owner" is the lcore of the queue pair,
 *          "sender" the one that hands its frames to the ethdev (the owner, or
 *          the responder where one transmit queue is shared), "cq" the polling
 *          lcore, "control" the thread of the cold operations. Counters have one
 *          writer and are read relaxed by control.
 * Memory:  rte_malloc on the ethdev's socket.
 * Time:    host ticks.
 */

#include <pthread.h>

#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_ring.h>
#include <rte_ring_elem.h>

#include "rp_rng.h"
#include "rp_roce.h"
#include "rp_softroce.h"
#include "softroce_icrc.h"

#define SR_BURST   32
#define SR_RXQ_MAX 8

/** Descriptors are counted in 16 bits. */
#define SR_RX_DEPTH_MAX 32768

/** Bursts that one poll takes from one queue, whatever they hold. */
#define SR_POLL_BURSTS 16

/** Frames that poll made and the responder has not sent yet. */
#define SR_OWN_RING 256

/** Neighbours that one poll looks at. */
#define SR_SCAN_CHUNK 4

#define SR_HOP_LIMIT 64
#define SR_HDR_ROOM  96 /* headers are copied at a fixed size */

/** Everything of a frame but its payload, with the longest pad. */
#define SR_FRAME_OVERHEAD (RP_ROCE_HDR_MAX + 3 + RP_ROCE_ICRC_LEN)

/** Length of what the IP header of a RoCEv2 frame is followed by, without payload. */
#define SR_UDP_OVERHEAD (RP_ROCE_UDP_LEN + RP_ROCE_BTH_LEN + RP_ROCE_DETH_LEN + RP_ROCE_ICRC_LEN)

typedef _Atomic uint64_t sr_counter;

/** Only for the counter's writer. */
static inline void
sr_count(sr_counter *counter, uint64_t n)
{
	uint64_t value = atomic_load_explicit(counter, memory_order_relaxed);

	atomic_store_explicit(counter, value + n, memory_order_relaxed);
}

/*
 * Counters by writer. X(field): the field's name is the counter's.
 */
#define SR_OWNER_COUNTERS(X)                                                                       \
	X(tx_full)      /* sends not taken: queue full */                                          \
	X(tx_no_buffer) /* sends not taken: mempool empty */

#define SR_SENDER_COUNTERS(X)                                                                      \
	X(tx_frames)                                                                               \
	X(tx_errors) /* sends that ended in TX_ERR */

#define SR_RESPONDER_COUNTERS(X)                                                                   \
	X(own_frames)  /* ARP, NDP and ICMP frames sent */                                         \
	X(own_dropped) /* the ethdev did not take them */

#define SR_CQ_COUNTERS(X)                                                                          \
	X(rx_frames)                                                                               \
	X(drop_segments)                                                                           \
	X(drop_dst_mac)                                                                            \
	X(drop_vlan)                                                                               \
	X(drop_dst_address)                                                                        \
	X(drop_src_address)                                                                        \
	X(drop_qpn)                                                                                \
	X(drop_pkey)                                                                               \
	X(drop_qkey)                                                                               \
	X(drop_payload_length)                                                                     \
	X(drop_icrc)                                                                               \
	X(drop_arp)                                                                                \
	X(drop_nd)                                                                                 \
	X(drop_icmp)                                                                               \
	X(arp_requests)   /* for our address */                                                    \
	X(nd_solicits)    /* for our address */                                                    \
	X(icmp_echoes)    /* answered */                                                           \
	X(reply_limited)  /* ARP and NDP answers beyond the budget */                              \
	X(echo_limited)   /* echo answers beyond the budget */                                     \
	X(own_no_buffer)  /* ARP, NDP, ICMP frames without a buffer or room in the ring */         \
	X(neigh_requests) /* ours: ARP requests and neighbour solicitations */                     \
	X(neigh_resolved)                                                                          \
	X(neigh_moved)       /* a neighbour answered from another MAC */                           \
	X(address_conflicts) /* somebody else uses our address */

#define SR_FIELD(name) sr_counter name;

struct sr_owner_stats {
	SR_OWNER_COUNTERS(SR_FIELD)
};

struct sr_sender_stats {
	SR_SENDER_COUNTERS(SR_FIELD)
};

struct sr_responder_stats {
	SR_RESPONDER_COUNTERS(SR_FIELD)
};

struct sr_cq_stats {
	SR_CQ_COUNTERS(SR_FIELD)
	sr_counter verdict[RP_ROCE_VERDICT_N]; /* "drop_" and the verdict's name */
};

#undef SR_FIELD

/** A completion on its way from the sender to poll. */
struct sr_done {
	uint64_t cookie;
	uint64_t stamp;
	uint64_t status; /* 0, enum rp_tx_refusal */
};

/** A frame, or a refused send, on its way from the owner to the sender. */
struct sr_queued {
	struct rte_mbuf *m; /* NULL with a status */
	uint64_t cookie;
	uint64_t status;
};

struct sr_qp {
	struct rp_qp base;

	/* owner: rw */
	uint16_t txq;
	uint32_t tx_depth;
	uint32_t taken; /* free-running */
	uint32_t psn;
	struct rte_ring *queue; /* of struct sr_queued; NULL: straight to the ethdev */
	struct sr_owner_stats owner;
	struct sr_scratch scratch;

	/* sender: rw */
	struct rte_ring *done RP_CACHE_ALIGNED; /* of struct sr_done */
	struct sr_sender_stats sender;

	/* cq: rw, owner: ro */
	_Atomic uint32_t polled RP_CACHE_ALIGNED; /* free-running */
};

/** What the responder could not hand over yet. */
struct sr_backlog {
	struct sr_queued q[SR_BURST];
	uint16_t at;
	uint16_t n;
};

/**
 * A link-layer address as one word: six bytes and a seventh, not zero, that says
 * the others are valid. Byte order of memory.
 */
struct sr_mac {
	uint64_t v;
};

static inline struct sr_mac
sr_mac_pack(const uint8_t mac[6])
{
	uint8_t b[8] = {mac[0], mac[1], mac[2], mac[3], mac[4], mac[5], 1, 0};
	struct sr_mac packed;

	memcpy(&packed.v, b, sizeof(b));
	return packed;
}

static inline void
sr_mac_unpack(struct sr_mac packed, uint8_t mac[6])
{
	memcpy(mac, &packed.v, 6);
}

struct sr_peer;

/** A next hop: a peer on the link, or the gateway. */
struct sr_neigh {
	_Atomic uint64_t mac; /* cq: rw, senders: ro; struct sr_mac.v, 0 unknown */
	/* control: rw, cq: ro, changed as softroce_neigh.c says */
	struct rp_gid ip;
	_Atomic(struct sr_neigh *) next; /* in its bucket */
	_Atomic(struct sr_peer *) peers; /* that go through it */
	uint32_t refs;                   /* control: rw */
	uint32_t at;                     /* control: rw, in sr_port.active */
	struct sr_neigh *next_free;      /* control: rw */
	_Atomic bool ask;                /* control sets, cq clears: look the address up now */
	/* cq: rw */
	struct rp_tsc due;
	struct rp_tsc asked;
	uint32_t backoff_s;
};

struct sr_peer {
	struct rp_peer base;
	uint8_t l3_off;
	bool is_ipv6;
	uint32_t ip_sum; /* of the IPv4 header with TOS, length and checksum 0 */
	struct sr_neigh *neigh;
	_Atomic(struct sr_peer *) next; /* of the same neighbour */
	/* control: rw */
	_Atomic(struct sr_peer *) *link; /* what points to it */
	struct sr_peer *next_free;
	uint8_t hdr[SR_HDR_ROOM] RP_CACHE_ALIGNED;
};

/** Answers per second: credit in ticks, so that nothing is divided on the way. */
struct sr_bucket {
	struct rp_tsc last;
	uint64_t credit;
	uint64_t cost;
	uint64_t cap;
};

struct sr_rx_key {
	uint32_t qpn; /* 0: no queue pair */
	uint32_t qkey;
};

struct sr_port {
	struct rp_port base;

	/* constant after open */
	const struct rp_host_clock *clock RP_CACHE_ALIGNED;
	struct rte_mempool *pool;
	uint16_t port_id;
	uint16_t n_rxq;
	uint16_t n_txq;
	uint16_t vlan;
	uint32_t room; /* bytes of the longest frame in one buffer */
	uint8_t mac[6];
	bool is_ipv6;
	bool one_lcore;
	uint8_t prefix_len;
	uint32_t n_peers;
	uint32_t bucket_mask;
	_Atomic(struct sr_neigh *) *bucket; /* of neighbours; control: rw, cq: ro */
	_Atomic(struct sr_neigh *) *active; /* n_active of them; control: rw, cq: ro */
	struct rp_gid gateway;
	struct rte_eth_dev_owner claim;
	int socket_id;
	int link_fd;  /* for the ioctls of a kernel interface; -1 */
	int if_index; /* 0: not a kernel interface */
	char device[RTE_ETH_NAME_MAX_LEN];

	/* control: rw, senders: ro */
	_Atomic bool link_down RP_CACHE_ALIGNED;

	/* cq: rw */
	struct sr_rx_key key[RP_ROLE_N] RP_CACHE_ALIGNED; /* control, while no lcore runs */
	struct sr_qp *qp[RP_ROLE_N];
	uint16_t next_rxq;
	struct sr_cq_stats cq;
	struct sr_scratch scratch;
	struct rte_ring *own_ring; /* of mbufs, to the responder */

	/* cq: rw; softroce_neigh.c */
	struct rp_tsc scan_due RP_CACHE_ALIGNED;
	struct rp_tsc scan_late; /* busy polls walk too from here on */
	struct rp_tsc next_due;  /* earliest that the walk under way has seen */
	uint64_t scan_period;    /* constant */
	uint64_t scan_patience;  /* constant */
	uint32_t scan_at;
	bool scan_wanted; /* a walk waits for an idle poll */
	bool scanning;
	uint32_t announces_left;
	struct rp_tsc announce_due;
	struct rp_tsc defend_due;
	struct sr_bucket reply_budget;
	struct sr_bucket echo_budget;
	struct rp_rng rng;
	_Atomic bool scan_asked;   /* control sets, cq clears */
	_Atomic uint32_t n_active; /* control: rw, cq: ro */
	_Atomic uint32_t in_neigh; /* odd while cq walks neighbours */

	/* responder: rw */
	struct sr_backlog backlog RP_CACHE_ALIGNED;
	struct sr_responder_stats responder;

	/* control: rw */
	struct sr_owner_stats closed_owner; /* of queue pairs that are gone */
	struct sr_sender_stats closed_sender;
	struct sr_neigh *neigh;
	struct sr_peer *peer;
	struct sr_neigh *free_neigh;
	struct sr_peer *free_peer;

	/* readers of stats(): rw */
	pthread_mutex_t ethdev_lock;
	_Atomic uint64_t conflicts_logged;
};

static inline struct sr_port *
sr_port_of(struct rp_port *port)
{
	return rp_container_of(port, struct sr_port, base);
}

static inline struct sr_qp *
sr_qp_of(struct rp_qp *qp)
{
	return rp_container_of(qp, struct sr_qp, base);
}

/* softroce_setup.c: the ethdev. Control. */

/** @return 0, -ENODEV with @p why */
int sr_ethdev_find(const char *device, uint16_t *ret_id, char *why);

/**
 * Claim, configure and start the ethdev port->port_id.
 * @return 0, -EBUSY, -EAGAIN (a memif client before its server), -errno; with @p why
 */
int sr_ethdev_open(struct sr_port *port, const struct rp_port_conf *conf, char *why);
void sr_ethdev_close(struct sr_port *port);

/** Bytes of a UD payload that fit @p mtu (IP) and @p room (frame). */
uint32_t sr_max_payload(uint32_t mtu, uint32_t room);

/** What the kernel says of its interface, or the ethdev of itself. */
bool sr_ethdev_link_up(const struct sr_port *port);

/* softroce_tx.c: hot. */
uint16_t sr_tx_direct(struct rp_qp *base, const struct rp_tx *tx, uint16_t n);
uint16_t sr_tx_queued(struct rp_qp *base, const struct rp_tx *tx, uint16_t n);
uint16_t sr_tx_responder(struct rp_qp *base, const struct rp_tx *tx, uint16_t n);

/* softroce_rx.c: hot. */
uint16_t sr_poll(struct rp_port *base, struct rp_ev *ev, uint16_t n);

/* softroce_neigh.c: next hops. */

int sr_neigh_init(struct sr_port *port, const struct rp_port_conf *conf, char *why);
void sr_neigh_fini(struct sr_port *port);
int sr_peer_open(struct rp_port *base, const struct rp_gid *gid, struct rp_peer **ret_peer);
void sr_peer_close(struct rp_port *base, struct rp_peer *base_peer);
void sr_peer_refresh(struct rp_port *base, struct rp_peer *peer);

/**
 * Timers: requests, refreshes, announcements. A few neighbours and at most one
 * frame. @p busy: the poll has events to hand over; nothing is done before it must.
 * cq.
 */
void sr_neigh_turn(struct sr_port *port, struct rp_tsc now, bool busy);

/** A neighbour said where it is. @p may_move: replaces another address. cq. */
void sr_neigh_learn(struct sr_port *port, const struct rp_gid *ip, const uint8_t mac[6],
	bool may_move, struct rp_tsc now);

/** Somebody uses @p ip from @p mac; look it up again if that is news. cq. */
void sr_neigh_hint(
	struct sr_port *port, const struct rp_gid *ip, const uint8_t mac[6], struct rp_tsc now);

/* softroce_own.c: ARP, NDP and ICMP frames. cq. */

/** A frame that is not RoCEv2, of our VLAN or not; the caller frees it. */
void sr_own_rx(struct sr_port *port, const uint8_t *frame, uint32_t len, struct rp_tsc now);

/** Ask for @p ip. @return false when no buffer is left: ask again soon */
bool sr_own_ask(struct sr_port *port, const struct rp_gid *ip);

/** Tell everybody who has our address. */
bool sr_own_announce(struct sr_port *port);

void sr_own_init(struct sr_port *port);

#endif /* SOFTROCE_PRIV_H */
