/* SPDX-License-Identifier: BSD-3-Clause */

#include "peers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_CAP 64

int
peers_init(struct peers *peers, struct rp_port *port)
{
	*peers = (struct peers){.port = port, .cap = FIRST_CAP};
	peers->entry = calloc(peers->cap, sizeof(*peers->entry));
	return peers->entry == NULL ? -ENOMEM : 0;
}

void
peers_fini(struct peers *peers)
{
	for (size_t i = 0; peers->entry != NULL && i < peers->cap; i++)
		if (peers->entry[i].peer != NULL)
			peers->port->ops->peer_close(peers->port, peers->entry[i].peer);
	free(peers->entry);
	*peers = (struct peers){0};
}

/* The entry of @gid, or the one where it would go. */
static struct peer_entry *
find(struct peer_entry *entry, size_t cap, const struct rp_gid *gid)
{
	struct peer_entry *reuse = NULL;

	for (size_t i = rp_gid_hash(gid, 0) & (cap - 1);; i = (i + 1) & (cap - 1)) {
		struct peer_entry *e = &entry[i];

		if (e->peer != NULL && rp_gid_equal(&e->gid, gid))
			return e;
		if (e->peer == NULL && !e->tombstone)
			return reuse != NULL ? reuse : e;
		if (e->peer == NULL && reuse == NULL)
			reuse = e;
	}
}

static int
grow(struct peers *peers)
{
	size_t live = peers_count(peers);
	size_t cap = live * 4 > peers->cap ? peers->cap * 2 : peers->cap;
	struct peer_entry *entry = calloc(cap, sizeof(*entry));

	if (entry == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < peers->cap; i++)
		if (peers->entry[i].peer != NULL)
			*find(entry, cap, &peers->entry[i].gid) = peers->entry[i];
	free(peers->entry);
	peers->entry = entry;
	peers->cap = cap;
	peers->used = live;
	return 0;
}

int
peers_get(struct peers *peers, const struct rp_gid *gid, struct rp_peer **ret_peer)
{
	struct peer_entry *e;
	int rc;

	if ((peers->used + 1) * 2 > peers->cap) {
		rc = grow(peers);
		if (rc != 0)
			return rc;
	}
	e = find(peers->entry, peers->cap, gid);
	if (e->peer == NULL) {
		struct rp_peer *peer;

		rc = peers->port->ops->peer_open(peers->port, gid, &peer);
		if (rc != 0)
			return rc;
		peers->used += !e->tombstone;
		*e = (struct peer_entry){.gid = *gid, .peer = peer};
	}
	e->refs++;
	*ret_peer = e->peer;
	return 0;
}

void
peers_put(struct peers *peers, const struct rp_peer *peer)
{
	struct peer_entry *e = find(peers->entry, peers->cap, &peer->gid);

	if (e->peer != peer || --e->refs > 0)
		return;
	peers->port->ops->peer_close(peers->port, e->peer);
	*e = (struct peer_entry){.tombstone = true};
}

size_t
peers_count(const struct peers *peers)
{
	size_t n = 0;

	for (size_t i = 0; i < peers->cap; i++)
		n += peers->entry[i].peer != NULL;
	return n;
}
