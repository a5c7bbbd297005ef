/* SPDX-License-Identifier: BSD-3-Clause */

#include "windows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rp_base.h"
#include "rp_flow.h"

/* One copy of a text, shared by the ends of all paths that bear it. */
struct name {
	struct rp_table_node node;
	uint32_t refs;
	char text[];
};

struct window {
	int64_t start_ms;
	uint32_t window_ms;
	struct rp_counts counts;
	struct rp_shist rtt, prober, responder, late;
};

struct path {
	struct rp_table_node node;
	struct windows_end source, target; /* names are interned */
	enum rp_api_type type;
	enum rp_stamps stamps;
	struct window **window; /* by rising start */
	uint32_t n, cap;
};

void
windows_init(struct windows *w, uint32_t retention)
{
	*w = (struct windows){.retention = retention};
}

static void
window_free(struct window *win)
{
	if (win == NULL)
		return;
	rp_shist_fini(&win->rtt);
	rp_shist_fini(&win->prober);
	rp_shist_fini(&win->responder);
	rp_shist_fini(&win->late);
	free(win);
}

/* The one copy of @text, for release_name(), or NULL. */
static const char *
intern(struct windows *w, const char *text)
{
	size_t len = strlen(text);
	uint32_t hash = rp_fnv1a(RP_FNV_INIT, text, len);
	struct rp_table_node *node = rp_table_first(&w->names, hash);
	struct name *name;

	for (; node != NULL; node = rp_table_next(node)) {
		name = rp_container_of(node, struct name, node);
		if (strcmp(name->text, text) == 0) {
			name->refs++;
			return name->text;
		}
	}
	name = malloc(sizeof(*name) + len + 1);
	if (name == NULL)
		return NULL;
	name->refs = 1;
	memcpy(name->text, text, len + 1);
	if (rp_table_insert(&w->names, &name->node, hash) != 0) {
		free(name);
		return NULL;
	}
	return name->text;
}

/* @text is of intern(), or NULL. */
static void
release_name(struct windows *w, const char *text)
{
	struct rp_table_node *node;
	struct name *name = NULL;

	if (text == NULL)
		return;
	node = rp_table_first(&w->names, rp_fnv1a(RP_FNV_INIT, text, strlen(text)));
	for (; node != NULL; node = rp_table_next(node)) {
		name = rp_container_of(node, struct name, node);
		if (name->text == text)
			break;
	}
	if (node == NULL || --name->refs > 0)
		return;
	rp_table_remove(&w->names, &name->node);
	free(name);
}

static void
release_end(struct windows *w, struct windows_end *end)
{
	release_name(w, end->host);
	release_name(w, end->tor);
	end->host = end->tor = NULL;
}

static void
path_free(struct windows *w, struct path *path)
{
	for (uint32_t i = 0; i < path->n; i++)
		window_free(path->window[i]);
	w->n_windows -= path->n;
	release_end(w, &path->source);
	release_end(w, &path->target);
	free(path->window);
	free(path);
}

void
windows_fini(struct windows *w)
{
	struct rp_table_node *node, *next;
	size_t pos = 0;

	for (node = rp_table_walk(&w->paths, &pos, NULL); node != NULL; node = next) {
		next = rp_table_walk(&w->paths, &pos, node);
		path_free(w, rp_container_of(node, struct path, node));
	}
	rp_table_fini(&w->paths);
	rp_table_fini(&w->names);
}

static uint32_t
hash_pair(const struct rp_gid *source, const struct rp_gid *target)
{
	return rp_gid_hash(target, rp_gid_hash(source, 1));
}

static struct path *
find_path(const struct windows *w, const struct rp_gid *source, const struct rp_gid *target,
	const struct rp_api_row *row)
{
	struct rp_table_node *node = rp_table_first(&w->paths, hash_pair(source, target));

	for (; node != NULL; node = rp_table_next(node)) {
		struct path *path = rp_container_of(node, struct path, node);

		if (rp_gid_equal(&path->source.gid, source) &&
			rp_gid_equal(&path->target.gid, target) && path->type == row->type &&
			path->stamps == row->stamps)
			return path;
	}
	return NULL;
}

/* An agent's last windows come after it left: what an old path is called stays. */
static int
set_end(struct windows *w, struct windows_end *end, const struct windows_end *from)
{
	struct windows_end named = {.gid = from->gid};

	if (from->guess && end->tor != NULL)
		return 0;
	named.host = intern(w, from->host);
	named.tor = intern(w, from->tor);
	if (named.host == NULL || named.tor == NULL) {
		release_end(w, &named);
		return -ENOMEM;
	}
	release_end(w, end);
	*end = named;
	return 0;
}

static struct path *
get_path(struct windows *w, const struct windows_end *source, const struct windows_end *target,
	const struct rp_api_row *row)
{
	struct path *path = find_path(w, &source->gid, &target->gid, row);
	bool is_new = path == NULL;

	if (is_new)
		path = calloc(1, sizeof(*path));
	if (path == NULL)
		return NULL;
	path->type = row->type;
	path->stamps = row->stamps;
	if (set_end(w, &path->source, source) == 0 && set_end(w, &path->target, target) == 0 &&
		(!is_new ||
			rp_table_insert(&w->paths, &path->node,
				hash_pair(&source->gid, &target->gid)) == 0))
		return path;
	if (is_new)
		path_free(w, path);
	return NULL;
}

static int
merge_window(struct window *to, const struct rp_api_row *row)
{
	int rc = rp_shist_merge(&to->rtt, &row->rtt);

	if (rc == 0)
		rc = rp_shist_merge(&to->prober, &row->prober);
	if (rc == 0)
		rc = rp_shist_merge(&to->responder, &row->responder);
	if (rc == 0)
		rc = rp_shist_merge(&to->late, &row->late);
	if (rc == 0)
		rp_counts_add(&to->counts, &row->counts);
	return rc;
}

static struct window *
window_of_row(int64_t start_ms, uint32_t window_ms, struct rp_api_row *row)
{
	struct window *win = calloc(1, sizeof(*win));

	if (win == NULL)
		return NULL;
	*win = (struct window){
		start_ms, window_ms, row->counts, row->rtt, row->prober, row->responder, row->late};
	row->rtt = row->prober = row->responder = row->late = (struct rp_shist){0};
	return win;
}

/* Put @win at @at; the oldest leaves when there are too many. */
static int
insert_window(struct windows *w, struct path *path, uint32_t at, struct window *win)
{
	if (path->n == path->cap && path->cap < w->retention) {
		uint32_t cap =
			(uint32_t)rp_min_u64(path->cap == 0 ? 4 : 2 * path->cap, w->retention);
		struct window **grown = realloc(path->window, cap * sizeof(struct window *));

		if (grown == NULL)
			return -ENOMEM;
		path->window = grown;
		path->cap = cap;
	}
	if (path->n == path->cap) {
		/* Older than all that is kept: it would leave at once. */
		if (at == 0) {
			window_free(win);
			return 0;
		}
		window_free(path->window[0]);
		memmove(&path->window[0], &path->window[1], (at - 1) * sizeof(struct window *));
		path->window[at - 1] = win;
		return 0;
	}
	memmove(&path->window[at + 1], &path->window[at], (path->n - at) * sizeof(struct window *));
	path->window[at] = win;
	path->n++;
	w->n_windows++;
	return 0;
}

int
windows_add(struct windows *w, const struct windows_end *source, const struct windows_end *target,
	int64_t start_ms, uint32_t window_ms, struct rp_api_row *row)
{
	struct path *path = get_path(w, source, target, row);
	struct window *win;
	uint32_t at;
	int rc;

	if (path == NULL)
		return -ENOMEM;
	for (at = path->n; at > 0 && path->window[at - 1]->start_ms > start_ms; at--)
		continue;
	if (at > 0 && path->window[at - 1]->start_ms == start_ms)
		return merge_window(path->window[at - 1], row);
	win = window_of_row(start_ms, window_ms, row);
	if (win == NULL)
		return -ENOMEM;
	rc = insert_window(w, path, at, win);
	if (rc != 0)
		window_free(win);
	return rc;
}

static void
sum_fini(struct windows_path *sum)
{
	rp_shist_fini(&sum->rtt);
	rp_shist_fini(&sum->prober);
	rp_shist_fini(&sum->responder);
	rp_shist_fini(&sum->late);
}

static int
add_to_sum(struct windows_path *sum, const struct window *win)
{
	int rc = rp_shist_merge(&sum->rtt, &win->rtt);

	if (rc == 0)
		rc = rp_shist_merge(&sum->prober, &win->prober);
	if (rc == 0)
		rc = rp_shist_merge(&sum->responder, &win->responder);
	if (rc == 0)
		rc = rp_shist_merge(&sum->late, &win->late);
	if (rc != 0)
		return rc;
	rp_counts_add(&sum->counts, &win->counts);
	if (sum->n_windows == 0)
		sum->first_ms = win->start_ms;
	if (win->start_ms + win->window_ms > sum->last_ms)
		sum->last_ms = win->start_ms + win->window_ms;
	sum->n_windows++;
	return 0;
}

static int
visit_path(const struct path *path, const struct windows_query *query,
	int (*each)(const struct windows_path *path, void *arg), void *arg)
{
	struct windows_path sum = {.source = path->source,
		.target = path->target,
		.type = path->type,
		.stamps = path->stamps};
	int rc = 0;

	for (uint32_t i = 0; i < path->n && rc == 0; i++)
		if (path->window[i]->start_ms >= query->from_ms &&
			path->window[i]->start_ms < query->to_ms)
			rc = add_to_sum(&sum, path->window[i]);
	if (rc == 0 && sum.n_windows > 0)
		rc = each(&sum, arg);
	sum_fini(&sum);
	return rc;
}

int
windows_visit(const struct windows *w, const struct windows_query *query,
	int (*each)(const struct windows_path *path, void *arg), void *arg)
{
	struct rp_table_node *node;
	size_t pos = 0;
	int rc = 0;

	for (node = rp_table_walk(&w->paths, &pos, NULL); node != NULL && rc == 0;
		node = rp_table_walk(&w->paths, &pos, node)) {
		const struct path *path = rp_container_of(node, struct path, node);

		if ((query->source == NULL || rp_gid_equal(query->source, &path->source.gid)) &&
			(query->target == NULL || rp_gid_equal(query->target, &path->target.gid)))
			rc = visit_path(path, query, each, arg);
	}
	return rc;
}

int64_t
windows_newest(const struct windows *w, int64_t until_ms)
{
	struct rp_table_node *node;
	int64_t newest_ms = 0;
	size_t pos = 0;

	for (node = rp_table_walk(&w->paths, &pos, NULL); node != NULL;
		node = rp_table_walk(&w->paths, &pos, node)) {
		const struct path *path = rp_container_of(node, struct path, node);
		uint32_t at = path->n;

		while (at > 0 && path->window[at - 1]->start_ms > until_ms)
			at--;
		if (at > 0 && path->window[at - 1]->start_ms > newest_ms)
			newest_ms = path->window[at - 1]->start_ms;
	}
	return newest_ms;
}

void
windows_expire(struct windows *w, int64_t before_ms)
{
	struct rp_table_node *node, *next;
	size_t pos = 0;

	for (node = rp_table_walk(&w->paths, &pos, NULL); node != NULL; node = next) {
		struct path *path = rp_container_of(node, struct path, node);
		uint32_t old = 0;

		next = rp_table_walk(&w->paths, &pos, node);
		while (old < path->n && path->window[old]->start_ms < before_ms)
			window_free(path->window[old++]);
		memmove(path->window, path->window + old,
			(path->n - old) * sizeof(struct window *));
		path->n -= old;
		w->n_windows -= old;
		if (path->n == 0) {
			rp_table_remove(&w->paths, &path->node);
			path_free(w, path);
		}
	}
}
