/* SPDX-License-Identifier: BSD-3-Clause */

#include "plan.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "registry.h"
#include "rp_base.h"
#include "rp_flow.h"

#define LABEL_MASK 0xFFFFFu

/* Salts keep the uses of one hash apart. */
enum salt {
	SALT_ROTATION = 1,
	SALT_SLOT_TOR,
	SALT_SLOT_RNIC,
	SALT_REVERSE_TOR,
	SALT_REVERSE_PAIR,
	SALT_UNSPECIFIED,
};

enum scope {
	SCOPE_V4,
	SCOPE_V6,
	SCOPE_V4_LINK,
	SCOPE_V6_LINK,
};

struct member {
	struct plan_rnic r;
	uint64_t hash;
	uint64_t host_hash;
	uint64_t rail_hash; /* 0: unknown */
	enum scope scope;
	uint32_t tor;
};

struct tor {
	const char *name;
	uint64_t hash;
	uint32_t first; /* members are consecutive */
	uint32_t n;
};

struct edge {
	uint32_t from;
	uint32_t to;
	uint8_t type; /* enum rp_api_type */
};

struct plan {
	struct plan_params params;
	char *names;
	struct member *member; /* by ToR name, then GID */
	uint32_t n;
	struct tor *tor;
	uint32_t n_tors;
	struct edge *out; /* by from, type, to */
	struct edge *in;  /* by to, from */
	size_t n_edges, cap_edges;
	size_t *out_first, *in_first; /* n + 1 */
	uint32_t *by_gid;             /* members in order of their GIDs */
	int64_t valid_until_s;
};

static uint64_t
mix(uint64_t z)
{
	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

static uint64_t
hash3(enum salt salt, uint64_t a, uint64_t b, uint64_t c)
{
	return mix(a + mix(b + mix(c + (uint64_t)salt * UINT64_C(0x9e3779b97f4a7c15))));
}

static uint64_t
hash_bytes(const void *bytes, size_t len)
{
	uint32_t low = rp_fnv1a(RP_FNV_INIT, bytes, len);

	return mix((uint64_t)rp_fnv1a(low, bytes, len) << 32 | low);
}

static enum scope
scope_of(const struct rp_gid *gid)
{
	bool link = rp_gid_is_link_local(gid);

	if (rp_gid_is_ipv4(gid))
		return link ? SCOPE_V4_LINK : SCOPE_V4;
	return link ? SCOPE_V6_LINK : SCOPE_V6;
}

/* What holds in the mesh and between ToRs alike. */
static bool
may_probe(const struct member *a, const struct member *b)
{
	return a->host_hash != b->host_hash && a->scope == b->scope &&
		(a->rail_hash == 0 || b->rail_hash == 0 || a->rail_hash == b->rail_hash);
}

static bool
may_probe_remote(const struct member *a, const struct member *b)
{
	return a->scope != SCOPE_V4_LINK && a->scope != SCOPE_V6_LINK && may_probe(a, b);
}

static int
add_edge(struct plan *plan, uint32_t from, uint32_t to, enum rp_api_type type)
{
	if (plan->n_edges == plan->cap_edges) {
		size_t cap = plan->cap_edges == 0 ? 1024 : 2 * plan->cap_edges;
		struct edge *grown = realloc(plan->out, cap * sizeof(*grown));

		if (grown == NULL)
			return -ENOMEM;
		plan->out = grown;
		plan->cap_edges = cap;
	}
	plan->out[plan->n_edges++] = (struct edge){from, to, (uint8_t)type};
	return 0;
}

static int
mesh_of(struct plan *plan, uint32_t from, const struct tor *tor)
{
	for (uint32_t to = tor->first; to < tor->first + tor->n; to++) {
		int rc;

		if (!may_probe(&plan->member[from], &plan->member[to]))
			continue;
		rc = add_edge(plan, from, to, RP_API_TOR_MESH);
		if (rc != 0)
			return rc;
	}
	return 0;
}

struct ranked {
	uint64_t rank;
	uint32_t i;
};

static int
by_rank(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	if (x->rank != y->rank)
		return x->rank > y->rank ? -1 : 1;
	return x->i < y->i ? -1 : x->i > y->i;
}

/* RNICs without a ToR may be anywhere: a bounded sample of them, stable under change. */
static int
capped_mesh_of(struct plan *plan, uint32_t from, const struct tor *tor, struct ranked *scratch)
{
	uint32_t n = 0;

	for (uint32_t to = tor->first; to < tor->first + tor->n; to++)
		if (may_probe(&plan->member[from], &plan->member[to]))
			scratch[n++] =
				(struct ranked){hash3(SALT_UNSPECIFIED, plan->member[from].hash,
							plan->member[to].hash, 0),
					to};
	qsort(scratch, n, sizeof(*scratch), by_rank);
	for (uint32_t i = 0; i < n && i < plan->params.unspecified_max; i++) {
		int rc = add_edge(plan, from, scratch[i].i, RP_API_TOR_MESH);

		if (rc != 0)
			return rc;
	}
	return 0;
}

static int
add_meshes(struct plan *plan)
{
	struct ranked *scratch = calloc(plan->n + 1, sizeof(*scratch));
	int rc = scratch == NULL ? -ENOMEM : 0;

	for (uint32_t i = 0; i < plan->n && rc == 0; i++) {
		const struct tor *tor = &plan->tor[plan->member[i].tor];

		if (strcmp(tor->name, REGISTRY_TOR_UNSPECIFIED) == 0)
			rc = capped_mesh_of(plan, i, tor, scratch);
		else
			rc = mesh_of(plan, i, tor);
	}
	free(scratch);
	return rc;
}

/* Best member of @tor for @from under @key, or UINT32_MAX. */
static uint32_t
pick_member(const struct plan *plan, uint32_t from, const struct tor *tor, uint64_t key)
{
	const struct member *m = plan->member;
	uint32_t best = UINT32_MAX;
	uint64_t best_rank = 0;

	for (uint32_t i = tor->first; i < tor->first + tor->n; i++) {
		uint64_t rank;

		if (!may_probe_remote(&m[from], &m[i]))
			continue;
		rank = hash3(SALT_SLOT_RNIC, m[from].hash, m[i].hash, key);
		if (best == UINT32_MAX || rank > best_rank) {
			best = i;
			best_rank = rank;
		}
	}
	return best;
}

static bool
holds(const uint32_t *list, uint32_t n, uint32_t value)
{
	for (uint32_t i = 0; i < n; i++)
		if (list[i] == value)
			return true;
	return false;
}

static bool
has_remote(const struct plan *plan, uint32_t from, const struct tor *tor)
{
	for (uint32_t i = tor->first; i < tor->first + tor->n; i++)
		if (may_probe_remote(&plan->member[from], &plan->member[i]))
			return true;
	return false;
}

/* Best remote ToR for one slot that is not among the @n @taken, or UINT32_MAX. */
static uint32_t
pick_tor(const struct plan *plan, uint32_t from, uint64_t key, const uint32_t *taken, uint32_t n)
{
	const struct member *m = &plan->member[from];
	uint32_t best = UINT32_MAX;
	uint64_t best_rank = 0;

	for (uint32_t t = 0; t < plan->n_tors; t++) {
		uint64_t rank;

		if (t == m->tor)
			continue;
		rank = hash3(SALT_SLOT_TOR, m->hash, plan->tor[t].hash, key);
		if ((best != UINT32_MAX && rank <= best_rank) || holds(taken, n, t) ||
			!has_remote(plan, from, &plan->tor[t]))
			continue;
		best = t;
		best_rank = rank;
	}
	return best;
}

/*
 * Slots of one RNIC at rotation @t: slot s is in epoch (t + s) / n, so one slot
 * moves per rotation. The one that moved last chooses last: what it takes
 * cannot push another slot from its place.
 */
static int
add_slots_of(struct plan *plan, uint32_t from, uint64_t t)
{
	uint32_t n = plan->params.sample_size, n_taken = 0;
	uint32_t taken[64];

	for (uint32_t age = n; age-- > 0;) {
		uint32_t slot = (uint32_t)((age + n - t % n) % n);
		uint64_t key = (t + slot) / n * n + slot;
		uint32_t tor = pick_tor(plan, from, key, taken, n_taken);
		int rc;

		if (tor == UINT32_MAX)
			return 0;
		taken[n_taken++] = tor;
		rc = add_edge(plan, from, pick_member(plan, from, &plan->tor[tor], key),
			RP_API_INTER_TOR);
		if (rc != 0)
			return rc;
	}
	return 0;
}

static int
add_slots(struct plan *plan, int64_t now_s)
{
	const uint32_t rotation = plan->params.rotation_sec;
	int rc = 0;

	for (uint32_t i = 0; i < plan->n && rc == 0 && plan->params.sample_size > 0; i++) {
		/* An offset of its own, so that the fleet does not turn at once. */
		uint64_t offset = hash3(SALT_ROTATION, plan->member[i].hash, 0, 0) % rotation;

		rc = add_slots_of(plan, i, ((uint64_t)now_s + offset) / rotation);
	}
	return rc;
}

/*
 * Best pair (a member of @source, @to or any member of ToR @target) that may
 * probe: sets *ret_from and *ret_to.
 */
static bool
pick_pair(const struct plan *plan, const struct tor *source, uint32_t first, uint32_t n,
	uint32_t *ret_from, uint32_t *ret_to)
{
	const struct member *m = plan->member;
	uint64_t best_rank = 0;
	bool found = false;

	for (uint32_t to = first; to < first + n; to++) {
		for (uint32_t from = source->first; from < source->first + source->n; from++) {
			uint64_t rank = hash3(SALT_REVERSE_PAIR, m[from].hash, m[to].hash, 0);

			if ((found && rank <= best_rank) || !may_probe_remote(&m[from], &m[to]))
				continue;
			found = true;
			best_rank = rank;
			*ret_from = from;
			*ret_to = to;
		}
	}
	return found;
}

/* Edges into members first .. first+n-1 of ToR @t from min_sources ToRs in order of @ranked. */
static int
add_reverse(struct plan *plan, const struct ranked *ranked, uint32_t n_ranked, uint32_t first,
	uint32_t n)
{
	uint32_t done = 0;

	for (uint32_t i = 0; i < n_ranked && done < plan->params.min_sources; i++) {
		uint32_t from, to;
		int rc;

		if (!pick_pair(plan, &plan->tor[ranked[i].i], first, n, &from, &to))
			continue;
		rc = add_edge(plan, from, to, RP_API_INTER_TOR);
		if (rc != 0)
			return rc;
		done++;
	}
	return 0;
}

/* Small ToRs have each RNIC covered: the slots of others seldom hit them. */
#define SMALL_TOR 4u

static int
add_reverse_edges(struct plan *plan)
{
	struct ranked *ranked = calloc(plan->n_tors + 1, sizeof(*ranked));
	int rc = ranked == NULL ? -ENOMEM : 0;

	for (uint32_t t = 0; t < plan->n_tors && rc == 0 && plan->params.min_sources > 0; t++) {
		const struct tor *tor = &plan->tor[t];
		uint32_t n = 0;

		for (uint32_t s = 0; s < plan->n_tors; s++)
			if (s != t)
				ranked[n++] = (struct ranked){
					hash3(SALT_REVERSE_TOR, tor->hash, plan->tor[s].hash, 0),
					s};
		qsort(ranked, n, sizeof(*ranked), by_rank);
		if (tor->n >= SMALL_TOR) {
			rc = add_reverse(plan, ranked, n, tor->first, tor->n);
			continue;
		}
		for (uint32_t i = 0; i < tor->n && rc == 0; i++)
			rc = add_reverse(plan, ranked, n, tor->first + i, 1);
	}
	free(ranked);
	return rc;
}

static int
by_from(const void *a, const void *b)
{
	const struct edge *x = a, *y = b;

	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	if (x->type != y->type)
		return x->type < y->type ? -1 : 1;
	return x->to < y->to ? -1 : x->to > y->to;
}

static int
by_to(const void *a, const void *b)
{
	const struct edge *x = a, *y = b;

	if (x->to != y->to)
		return x->to < y->to ? -1 : 1;
	return x->from < y->from ? -1 : x->from > y->from;
}

/* Sort, drop doubles (a reverse edge that a slot chose too), index both directions. */
static int
index_edges(struct plan *plan)
{
	size_t n = 0, o = 0, i = 0;

	plan->out_first = calloc(plan->n + 1, sizeof(*plan->out_first));
	plan->in_first = calloc(plan->n + 1, sizeof(*plan->in_first));
	plan->in = calloc(plan->n_edges + 1, sizeof(*plan->in));
	if (plan->out_first == NULL || plan->in_first == NULL || plan->in == NULL)
		return -ENOMEM;
	if (plan->n_edges > 0)
		qsort(plan->out, plan->n_edges, sizeof(*plan->out), by_from);
	for (size_t e = 0; e < plan->n_edges; e++)
		if (n == 0 || by_from(&plan->out[n - 1], &plan->out[e]) != 0)
			plan->out[n++] = plan->out[e];
	plan->n_edges = n;
	if (n > 0)
		memcpy(plan->in, plan->out, n * sizeof(*plan->in));
	qsort(plan->in, n, sizeof(*plan->in), by_to);
	for (uint32_t m = 0; m <= plan->n; m++) {
		while (o < n && plan->out[o].from < m)
			o++;
		while (i < n && plan->in[i].to < m)
			i++;
		plan->out_first[m] = o;
		plan->in_first[m] = i;
	}
	return 0;
}

static int
by_tor_and_gid(const void *a, const void *b)
{
	const struct member *x = a, *y = b;
	int order = strcmp(x->r.tor, y->r.tor);

	return order != 0 ? order : memcmp(x->r.gid.b, y->r.gid.b, sizeof(x->r.gid.b));
}

/* Copies of the names in one block: most RNICs share host and ToR names with a neighbour. */
static int
copy_members(struct plan *plan, const struct plan_rnic *rnic, size_t n)
{
	size_t len = 1;
	char *to;

	plan->n = (uint32_t)n;
	plan->member = calloc(n + 1, sizeof(*plan->member));
	for (size_t i = 0; i < n; i++)
		len += strlen(rnic[i].host) + strlen(rnic[i].tor) + strlen(rnic[i].rail) +
			strlen(rnic[i].device) + 4;
	plan->names = malloc(len);
	if (plan->member == NULL || plan->names == NULL)
		return -ENOMEM;
	to = plan->names;
	for (size_t i = 0; i < n; i++) {
		struct plan_rnic *r = &plan->member[i].r;
		const char **const name[] = {&r->host, &r->tor, &r->rail, &r->device};

		*r = rnic[i];
		for (size_t k = 0; k < RP_ARRAY_LEN(name); k++) {
			const char *from = *name[k];

			*name[k] = to;
			to = stpcpy(to, from) + 1;
		}
	}
	return 0;
}

static int
group_by_tor(struct plan *plan)
{
	qsort(plan->member, plan->n, sizeof(*plan->member), by_tor_and_gid);
	plan->tor = calloc(plan->n + 1, sizeof(*plan->tor));
	if (plan->tor == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < plan->n; i++) {
		struct member *m = &plan->member[i];
		struct tor *tor = &plan->tor[plan->n_tors];

		if (plan->n_tors == 0 || strcmp(tor[-1].name, m->r.tor) != 0) {
			tor->name = m->r.tor;
			tor->hash = hash_bytes(tor->name, strlen(tor->name));
			tor->first = i;
			plan->n_tors++;
		}
		plan->tor[plan->n_tors - 1].n++;
		m->tor = plan->n_tors - 1;
		m->hash = hash_bytes(m->r.gid.b, sizeof(m->r.gid.b));
		m->host_hash = hash_bytes(m->r.host, strlen(m->r.host));
		m->rail_hash =
			m->r.rail[0] == '\0' ? 0 : hash_bytes(m->r.rail, strlen(m->r.rail)) | 1;
		m->scope = scope_of(&m->r.gid);
	}
	return 0;
}

static int
by_gid(const void *a, const void *b, void *arg)
{
	const struct member *m = arg;
	const uint32_t *x = a, *y = b;

	return memcmp(m[*x].r.gid.b, m[*y].r.gid.b, sizeof(m->r.gid.b));
}

static int
index_gids(struct plan *plan)
{
	plan->by_gid = calloc(plan->n + 1, sizeof(*plan->by_gid));
	if (plan->by_gid == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < plan->n; i++)
		plan->by_gid[i] = i;
	qsort_r(plan->by_gid, plan->n, sizeof(*plan->by_gid), by_gid, plan->member);
	return 0;
}

uint32_t
plan_quantum(const struct plan_params *params)
{
	return params->rotation_sec >= 60 ? params->rotation_sec / 60 : 1;
}

int
plan_build(const struct plan_params *params, const struct plan_rnic *rnic, size_t n, int64_t now_s,
	struct plan **ret_plan)
{
	int64_t quantum = plan_quantum(params);
	struct plan *plan = calloc(1, sizeof(*plan));
	int rc;

	if (plan == NULL)
		return -ENOMEM;
	plan->params = *params;
	now_s -= now_s % quantum;
	plan->valid_until_s = now_s + quantum;
	rc = copy_members(plan, rnic, n);
	if (rc == 0)
		rc = group_by_tor(plan);
	if (rc == 0)
		rc = index_gids(plan);
	if (rc == 0)
		rc = add_meshes(plan);
	if (rc == 0)
		rc = add_slots(plan, now_s);
	if (rc == 0)
		rc = add_reverse_edges(plan);
	if (rc == 0)
		rc = index_edges(plan);
	if (rc != 0) {
		plan_free(plan);
		return rc;
	}
	*ret_plan = plan;
	return 0;
}

void
plan_free(struct plan *plan)
{
	if (plan == NULL)
		return;
	free(plan->names);
	free(plan->member);
	free(plan->tor);
	free(plan->out);
	free(plan->in);
	free(plan->out_first);
	free(plan->in_first);
	free(plan->by_gid);
	free(plan);
}

int64_t
plan_valid_until(const struct plan *plan)
{
	return plan->valid_until_s;
}

int
plan_find(const struct plan *plan, const struct rp_gid *gid)
{
	uint32_t low = 0, high = plan->n;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;
		int order = memcmp(plan->member[plan->by_gid[mid]].r.gid.b, gid->b, sizeof(gid->b));

		if (order == 0)
			return (int)plan->by_gid[mid];
		if (order < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return -ENOENT;
}

struct digest {
	uint64_t a, b;
};

static void
add_word(struct digest *d, uint64_t word)
{
	d->a = mix(d->a ^ word);
	d->b = mix(d->b + word * UINT64_C(0x9e3779b97f4a7c15) + 1);
}

static void
add_member(struct digest *d, const struct member *m)
{
	add_word(d, m->hash);
	add_word(d, (uint64_t)m->r.qpn << 32 | m->r.qkey);
	add_word(d, (uint64_t)m->r.hw_stamps << 32 | m->r.generation);
	add_word(d, m->host_hash);
	add_word(d, hash_bytes(m->r.tor, strlen(m->r.tor)));
	add_word(d, hash_bytes(m->r.device, strlen(m->r.device)));
}

void
plan_etag(const struct plan *plan, int i, char ret_etag[RP_API_ETAG_MAX])
{
	struct digest d = {plan->params.flow_labels, plan->member[i].hash};

	for (size_t e = plan->out_first[i]; e < plan->out_first[i + 1]; e++) {
		add_member(&d, &plan->member[plan->out[e].to]);
		add_word(&d, plan->out[e].type);
	}
	add_word(&d, UINT64_MAX);
	for (size_t e = plan->in_first[i]; e < plan->in_first[i + 1]; e++)
		add_word(&d, plan->member[plan->in[e].from].hash);
	snprintf(ret_etag, RP_API_ETAG_MAX, "%016" PRIx64 "%016" PRIx64, d.a, d.b);
}

static void
copy_name(char *to, const char *from)
{
	memcpy(to, from, rp_min_u64(strlen(from), RP_API_NAME_MAX - 1));
}

static void
make_target(const struct plan *plan, const struct member *from, const struct edge *edge,
	struct rp_api_target *t)
{
	const struct plan_rnic *r = &plan->member[edge->to].r;

	t->gid = r->gid;
	t->qpn = r->qpn;
	t->qkey = r->qkey;
	t->generation = r->generation;
	t->hw_stamps = r->hw_stamps;
	t->type = (enum rp_api_type)edge->type;
	t->flow_label_seed = rp_flow_seed(&from->r.gid, &r->gid);
	t->flow_label_count = plan->params.flow_labels;
	t->flow_label = t->flow_label_seed & LABEL_MASK;
	/* Label 0 would let some hardware draw a random port. */
	if (t->flow_label == 0)
		t->flow_label = RP_FLOW_LABEL_PORT0;
	copy_name(t->hostname, r->host);
	copy_name(t->tor_id, r->tor);
	copy_name(t->device, r->device);
	t->service_level = -1;
	t->traffic_class = -1;
}

int
plan_pinglist(const struct plan *plan, int i, struct rp_api_pinglist *ret_list)
{
	size_t n_out = plan->out_first[i + 1] - plan->out_first[i];
	size_t n_in = plan->in_first[i + 1] - plan->in_first[i];
	struct rp_api_pinglist list = {.gid = plan->member[i].r.gid};

	list.target = calloc(n_out + 1, sizeof(*list.target));
	list.source = calloc(n_in + 1, sizeof(*list.source));
	if (list.target == NULL || list.source == NULL) {
		rp_api_pinglist_fini(&list);
		return -ENOMEM;
	}
	for (size_t e = plan->out_first[i]; e < plan->out_first[i + 1]; e++)
		make_target(plan, &plan->member[i], &plan->out[e], &list.target[list.n_targets++]);
	for (size_t e = plan->in_first[i]; e < plan->in_first[i + 1]; e++)
		list.source[list.n_sources++] = plan->member[plan->in[e].from].r.gid;
	*ret_list = list;
	return 0;
}
