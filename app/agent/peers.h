/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef PEERS_H
#define PEERS_H

/**
 * @file peers.h
 * The peers of one port by GID, counted: targets and the responder's sources
 * share one, and it is closed when the last of them lets go.
 *
 * Thread:  control. Memory: heap. Time: n/a.
 */

#include <stddef.h>

#include "rp_transport.h"

struct peer_entry {
	struct rp_gid gid;
	struct rp_peer *peer; /* NULL: free entry */
	uint32_t refs;
	bool tombstone;
};

struct peers {
	struct rp_port *port;
	struct peer_entry *entry; /* open addressing, power of two */
	size_t cap;
	size_t used; /* tombstones included */
};

int peers_init(struct peers *peers, struct rp_port *port);
/** Closes all peers, whatever their count. */
void peers_fini(struct peers *peers);

/** Take a reference, opening the peer for the first one. @return 0, -errno of peer_open */
int peers_get(struct peers *peers, const struct rp_gid *gid, struct rp_peer **ret_peer);
void peers_put(struct peers *peers, const struct rp_peer *peer);

size_t peers_count(const struct peers *peers);

#endif /* PEERS_H */
