/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef RP_TRANSPORT_H
#define RP_TRANSPORT_H

/**
 * @file rp_transport.h
 * The seam between the agent and its transport drivers: a cold table of
 * operations, and two hot function pointers that are chosen at set-up.
 *
 * Thread:  each operation says which. The prober's queue pair belongs to the
 *          prober lcore, the responder's to the responder lcore, poll to the CQ
 *          lcore: three owners, three sets of cache lines.
 * Memory:  the driver owns ports, queue pairs and peers; the caller owns rp_tx
 *          arrays and payloads (copied before tx_burst returns) and rp_ev arrays.
 * Time:    stamps are ticks of the port's clock at caps.rate.
 * Errors:  0 or a negative errno, with one line in @c why where it is a
 *          parameter (RP_OPT_WHY_MAX bytes) that names the fix. -ENOTSUP: the
 *          driver has no such operation.
 *
 * A driver embeds struct rp_port, rp_qp and rp_peer as the first member of its
 * own structs. Optional operations may be NULL in the driver's table: callers use
 * the rp_port_*() functions below, which answer -ENOTSUP for them.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rp_dgram.h"
#include "rp_opt.h"
#include "rp_tsc.h"

struct rp_port;
struct rp_qp;

/**
 * rp_ev.status of a TX_ERR that the driver made itself, without asking the device.
 * Devices use smaller syndromes.
 */
enum rp_tx_refusal {
	RP_TX_REFUSED_LENGTH = 0xF0, /* 0, or over caps.max_payload_bytes */
	RP_TX_REFUSED_PEER,          /* not ready: no link-layer address yet */
	RP_TX_REFUSED_LINK,          /* the port is down */
};

/** Each flag promises a filled slot or field; the conformance suite checks. */
enum rp_cap {
	RP_CAP_SPORT_PER_SEND = 1 << 0, /* rp_tx.flow_label decides the source port */
	RP_CAP_HW_TX_STAMP = 1 << 1,    /* TX_DONE stamps are the device's */
	RP_CAP_HW_RX_STAMP = 1 << 2,    /* RX stamps are the device's */
	RP_CAP_CLOCK_READ = 1 << 3,     /* clock_read works */
	RP_CAP_EVENT_FD = 1 << 4,       /* event_fd works */
	RP_CAP_VIRTUAL_TIME = 1 << 5,   /* tests: time is moved by the caller */
};

struct rp_caps {
	uint32_t flags; /* enum rp_cap */
	uint32_t max_payload_bytes;
	uint32_t max_burst;  /* larger bursts are legal and cut inside */
	struct rp_rate rate; /* of the port's clock */
	uint32_t clock_error_ppb;
};

/** What the user said about a device, already checked for form. */
struct rp_port_conf {
	const char *device;    /* ethdev or RDMA device name */
	struct rp_gid gid;     /* own address; zero when the driver finds it itself */
	uint8_t prefix_len;    /* bits, with gid */
	struct rp_gid gateway; /* zero: none */
	uint16_t vlan;         /* 1..4094, 0: untagged */
	bool has_mac;          /* mac replaces the port's own */
	uint8_t mac[6];
	int gid_index; /* -1: by rule */
	unsigned int port_num;
	uint32_t rx_depth;  /* receive buffers: the worst burst, power of two */
	uint32_t max_peers; /* addresses known at a time */
	int numa_node;      /* of the polling lcore; -1 any */
	bool one_lcore;     /* prober, responder and poll are called from one thread */
	const struct rp_host_clock *clock; /* outlives the port */
	const void *driver_data;           /* loop: struct rp_loop_conf; NULL for others */
};

struct rp_qp_conf {
	enum rp_role role;
	uint32_t qkey;     /* what arriving datagrams must carry; bit 31 clear */
	uint32_t tx_depth; /* datagrams in flight, power of two */
};

/**
 * Send up to @p n datagrams in order, with one doorbell. Returns how many were
 * taken; fewer than @p n means that the queue is full now: poll, then try again.
 * A taken datagram yields exactly one TX_DONE or TX_ERR. With @p n 0 it only does
 * queued work (frames that poll made: ARP, ICMP; a shared transmit queue), which
 * the responder lcore does each turn.
 * Thread: the owner of @p qp.
 */
typedef uint16_t (*rp_tx_burst_fn)(struct rp_qp *qp, const struct rp_tx *tx, uint16_t n);

/**
 * Return up to @p n events of both queue pairs, oldest first per direction. A
 * count below @p n means that everything that had arrived was drained, except
 * that a driver may bound the refused frames it goes through in one call. Never
 * blocks. Receive buffers are returned to the device before it returns.
 * Thread: the CQ lcore.
 */
typedef uint16_t (*rp_poll_fn)(struct rp_port *port, struct rp_ev *ev, uint16_t n);

struct rp_port {
	rp_poll_fn poll;
	const struct rp_transport_ops *ops;
	struct rp_caps caps; /* constant after open */
	struct rp_gid gid;   /* own address, constant after open */
	const char *device;  /* owned by the port */
} RP_CACHE_ALIGNED;

struct rp_qp {
	rp_tx_burst_fn tx_burst;
	struct rp_port *port;
	uint32_t qpn; /* 24 bits, never 0 or 1 */
	uint32_t qkey;
	enum rp_role role;
} RP_CACHE_ALIGNED;

/** A device clock reading between two host readings. */
struct rp_clock_pair {
	struct rp_tsc before;
	struct rp_nic at;
	struct rp_tsc after;
};

enum rp_port_event_kind {
	RP_PORT_DOWN = 1,
	RP_PORT_UP,
	RP_PORT_GONE,
	RP_PORT_ADDRESS_CHANGED,
};

struct rp_port_event {
	enum rp_port_event_kind kind;
};

/** @p name is the counter's name, lower case with underscores; value never falls. */
typedef void (*rp_stat_fn)(void *arg, const char *name, uint64_t value);

struct rp_transport_ops {
	const char *name; /* "softroce" */

	/* Cold, control thread, may block, log and allocate. */

	/**
	 * Could this driver open @p device? No side effects. 0, -ENODEV, -EPERM. The
	 * rate is zero where it is the host clock's, which only open knows.
	 */
	int (*probe)(const char *device, struct rp_caps *ret_caps, char *why);
	int (*open)(const struct rp_port_conf *conf, struct rp_port **ret_port, char *why);
	void (*close)(struct rp_port *port); /* all queue pairs closed before */
	int (*qp_open)(struct rp_port *port, const struct rp_qp_conf *conf, struct rp_qp **ret_qp,
		char *why);
	void (*qp_close)(struct rp_qp *qp);

	/**
	 * Start to resolve @p gid. Returns at once for drivers that resolve in
	 * poll; may block for a second on others. The peer becomes ready later.
	 * 0, -EINVAL (family, own address), -ENOSPC (max_peers), -EHOSTUNREACH (no
	 * gateway leads there)
	 */
	int (*peer_open)(struct rp_port *port, const struct rp_gid *gid, struct rp_peer **ret_peer);
	/** After no lcore can hold the pointer any more. */
	void (*peer_close)(struct rp_port *port, struct rp_peer *peer);
	/** A peer went silent: look its address up again, keep the old one meanwhile. */
	void (*peer_refresh)(struct rp_port *port, struct rp_peer *peer);

	/**
	 * Named counters of the driver. Thread: any number of readers, while lcores
	 * run; none while a queue pair is opened or closed.
	 */
	void (*stats)(struct rp_port *port, rp_stat_fn emit, void *arg);

	/* Optional. */
	int (*clock_read)(struct rp_port *port, struct rp_clock_pair *ret_pair);
	int (*event_fd)(struct rp_port *port);
	int (*event_read)(struct rp_port *port, struct rp_port_event *ret_event); /* -EAGAIN */
	bool (*link_up)(struct rp_port *port);
};

/** Drivers of this build, NULL-terminated (drivers.c). */
extern const struct rp_transport_ops *const rp_drivers[];

/** @return the driver called @p name, or NULL */
const struct rp_transport_ops *rp_driver_find(const char *name);

/**
 * Mandatory slots filled, limits and rate usable, every flag backed by its slot.
 * @return 0, -EINVAL with @p why
 */
int rp_driver_validate(const struct rp_transport_ops *ops, const struct rp_caps *caps, char *why);

/* Optional operations with their default. */
int rp_port_clock_read(struct rp_port *port, struct rp_clock_pair *ret_pair);
int rp_port_event_fd(struct rp_port *port);
int rp_port_event_read(struct rp_port *port, struct rp_port_event *ret_event);
bool rp_port_link_up(struct rp_port *port); /* true where the driver cannot tell */

static inline uint16_t
rp_qp_tx_burst(struct rp_qp *qp, const struct rp_tx *tx, uint16_t n)
{
	return qp->tx_burst(qp, tx, n);
}

static inline uint16_t
rp_port_poll(struct rp_port *port, struct rp_ev *ev, uint16_t n)
{
	return port->poll(port, ev, n);
}

#endif /* RP_TRANSPORT_H */
