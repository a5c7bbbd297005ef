/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "api.h"

#define PPM            1000000u
#define WINDOW_SEC     60
#define WINDOW_SEC_MAX 86400
#define PATHS_DEFAULT  1000
#define PATHS_MAX      20000
#define EPOCH_MAX_MS   INT64_C(4102444800000)

enum metric {
	METRIC_LOSS,
	METRIC_P50,
	METRIC_P99,
};

static const char *const metric_names[] = {"loss", "p50", "p99", NULL};
static const char *const metric_units[] = {"ppm", "ns", "ns"};

struct cell {
	uint64_t lost, of;
	struct rp_shist rtt[RP_STAMPS_N]; /* stamps of different quality are never merged */
};

struct matrix {
	const char **tor; /* interned: equal pointers are equal names */
	size_t n, cap;
	struct cell *cell; /* second pass */
};

static int
add_tor(struct matrix *m, const char *name)
{
	const char **grown;

	for (size_t i = 0; i < m->n; i++)
		if (m->tor[i] == name)
			return 0;
	if (m->n == m->cap) {
		m->cap = m->cap == 0 ? 64 : 2 * m->cap;
		grown = realloc(m->tor, m->cap * sizeof(*grown));
		if (grown == NULL)
			return -ENOMEM;
		m->tor = grown;
	}
	m->tor[m->n++] = name;
	return 0;
}

static int
note_tors(const struct windows_path *path, void *arg)
{
	int rc = add_tor(arg, path->source.tor);

	return rc != 0 ? rc : add_tor(arg, path->target.tor);
}

static int
by_name(const void *a, const void *b)
{
	return strverscmp(*(const char *const *)a, *(const char *const *)b);
}

static size_t
index_of(const struct matrix *m, const char *name)
{
	const char **at = bsearch(&name, m->tor, m->n, sizeof(*m->tor), by_name);

	return (size_t)(at - m->tor);
}

static int
add_path(const struct windows_path *path, void *arg)
{
	struct matrix *m = arg;
	struct cell *cell =
		&m->cell[index_of(m, path->source.tor) * m->n + index_of(m, path->target.tor)];
	uint64_t lost, of;

	rp_counts_fabric_loss(&path->counts, &lost, &of);
	cell->lost += lost;
	cell->of += of;
	return rp_shist_merge(&cell->rtt[path->stamps], &path->rtt);
}

static void
matrix_fini(struct matrix *m)
{
	for (size_t i = 0; m->cell != NULL && i < m->n * m->n; i++)
		for (int s = 0; s < RP_STAMPS_N; s++)
			rp_shist_fini(&m->cell[i].rtt[s]);
	free(m->cell);
	free(m->tor);
}

/* The histogram with most samples. */
static const struct rp_shist *
main_hist(const struct cell *cell)
{
	const struct rp_shist *best = &cell->rtt[0];

	for (int s = 1; s < RP_STAMPS_N; s++)
		if (cell->rtt[s].sum.n > best->sum.n)
			best = &cell->rtt[s];
	return best;
}

static void
put_cell(struct rp_buf *out, const struct cell *cell, enum metric metric)
{
	uint64_t ns;

	if (metric == METRIC_LOSS && cell->of > 0)
		rp_buf_printf(out, "%" PRIu64, cell->lost * PPM / cell->of);
	else if (metric != METRIC_LOSS &&
		rp_shist_quantile(main_hist(cell), metric == METRIC_P50 ? 50 : 99, 100, &ns))
		rp_buf_printf(out, "%" PRIu64, ns);
	else
		rp_buf_puts(out, "null");
}

static void
put_matrix(struct rp_buf *out, const struct matrix *m, enum metric metric)
{
	rp_buf_puts(out, ",\"tors\":[");
	for (size_t i = 0; i < m->n; i++) {
		rp_buf_puts(out, i > 0 ? "," : "");
		rp_buf_json_string(out, m->tor[i]);
	}
	rp_buf_puts(out, "],\"rows\":[");
	for (size_t i = 0; i < m->n * m->n; i++) {
		rp_buf_puts(out, i % m->n == 0 ? (i > 0 ? "],[" : "[") : ",");
		put_cell(out, &m->cell[i], metric);
	}
	rp_buf_puts(out, m->n > 0 ? "]]" : "]");
}

/*
 * The last @window_sec of windows, seen from the newest one: reports of a
 * window arrive after its end. One that starts later than now, by a clock that
 * is ahead, must not move the view past all others.
 */
static struct windows_query
recent(const struct windows *w, int64_t window_sec)
{
	int64_t now_ms = controller_now_ms(), newest_ms = windows_newest(w, now_ms);

	if (newest_ms == 0)
		newest_ms = now_ms;
	return (struct windows_query){
		.from_ms = newest_ms - window_sec * 1000 + 1, .to_ms = newest_ms + 1};
}

void
api_matrix_get(struct rp_http_request *req, void *arg)
{
	struct controller *c = arg;
	struct matrix m = {0};
	struct windows_query query;
	struct rp_buf out = {0};
	int64_t window_sec = WINDOW_SEC;
	int metric = METRIC_LOSS;
	int rc;

	if (!api_query_enum(req, "metric", metric_names, &metric) ||
		!api_query_i64(req, "window", 1, WINDOW_SEC_MAX, &window_sec))
		return;
	pthread_mutex_lock(&c->windows_lock);
	query = recent(&c->windows, window_sec);
	rc = windows_visit(&c->windows, &query, note_tors, &m);
	if (m.n > 0)
		qsort(m.tor, m.n, sizeof(*m.tor), by_name);
	m.cell = calloc(m.n * m.n + 1, sizeof(*m.cell));
	if (m.cell == NULL)
		rc = -ENOMEM;
	if (rc == 0)
		rc = windows_visit(&c->windows, &query, add_path, &m);
	if (rc == 0) {
		rp_buf_printf(&out,
			"{\"metric\":\"%s\",\"unit\":\"%s\",\"window_sec\":%" PRId64
			",\"from_ms\":%" PRId64 ",\"to_ms\":%" PRId64,
			metric_names[metric], metric_units[metric], window_sec, query.from_ms,
			query.to_ms);
		put_matrix(&out, &m, (enum metric)metric);
		rp_buf_puts(&out, "}");
	}
	pthread_mutex_unlock(&c->windows_lock);
	matrix_fini(&m);
	if (rc != 0) {
		rp_buf_fini(&out);
		api_reply_no_memory(req);
		return;
	}
	api_reply_json(req, &out);
}

struct path_list {
	const char *source_tor, *target_tor;
	int64_t limit;
	size_t n, omitted;
	struct rp_buf out;
};

static void
put_counts(struct rp_buf *out, const struct rp_counts *counts)
{
	uint64_t lost, of;

	for (int i = 0; i < RP_STATE_N; i++)
		rp_buf_printf(
			out, ",\"%s\":%" PRIu64, rp_state_name((enum rp_state)i), counts->state[i]);
	for (int i = 0; i < RP_EXTRA_N; i++)
		rp_buf_printf(
			out, ",\"%s\":%" PRIu64, rp_extra_name((enum rp_extra)i), counts->extra[i]);
	rp_counts_fabric_loss(counts, &lost, &of);
	if (of > 0)
		rp_buf_printf(out, ",\"loss_ppm\":%" PRIu64, lost * PPM / of);
	else
		rp_buf_puts(out, ",\"loss_ppm\":null");
}

static void
put_extremes(struct rp_buf *out, const struct rp_shist *h)
{
	if (h->sum.n > 0)
		rp_buf_printf(out, ",\"rtt_min_ns\":%" PRIu64 ",\"rtt_max_ns\":%" PRIu64,
			h->sum.min_ns, h->sum.max_ns);
	else
		rp_buf_puts(out, ",\"rtt_min_ns\":null,\"rtt_max_ns\":null");
}

static void
put_end(struct rp_buf *out, const char *which, const struct windows_end *end)
{
	char gid[RP_GID_TEXT_MAX];

	rp_buf_printf(
		out, "\"%s\":\"%s\",\"%s_host\":", which, rp_gid_format(&end->gid, gid), which);
	rp_buf_json_string(out, end->host);
	rp_buf_printf(out, ",\"%s_tor\":", which);
	rp_buf_json_string(out, end->tor);
}

static int
put_path(const struct windows_path *path, void *arg)
{
	struct path_list *list = arg;
	struct rp_buf *out = &list->out;

	if ((list->source_tor != NULL && strcmp(list->source_tor, path->source.tor) != 0) ||
		(list->target_tor != NULL && strcmp(list->target_tor, path->target.tor) != 0))
		return 0;
	if (list->n >= (size_t)list->limit) {
		list->omitted++;
		return 0;
	}
	rp_buf_puts(out, list->n++ > 0 ? ",{" : "{");
	put_end(out, "source", &path->source);
	rp_buf_puts(out, ",");
	put_end(out, "target", &path->target);
	rp_buf_printf(out,
		",\"type\":\"%s\",\"stamps\":\"%s\",\"windows\":%" PRIu32 ",\"first_ms\":%" PRId64
		",\"last_ms\":%" PRId64,
		rp_api_type_name(path->type), rp_stamps_name(path->stamps), path->n_windows,
		path->first_ms, path->last_ms);
	put_counts(out, &path->counts);
	api_put_quantile(out, "rtt_p50_ns", &path->rtt, 50, 100);
	api_put_quantile(out, "rtt_p99_ns", &path->rtt, 99, 100);
	put_extremes(out, &path->rtt);
	api_put_quantile(out, "prober_delay_p50_ns", &path->prober, 50, 100);
	api_put_quantile(out, "prober_delay_p99_ns", &path->prober, 99, 100);
	api_put_quantile(out, "responder_delay_p50_ns", &path->responder, 50, 100);
	api_put_quantile(out, "responder_delay_p99_ns", &path->responder, 99, 100);
	rp_buf_puts(out, "}");
	return 0;
}

void
api_paths_get(struct rp_http_request *req, void *arg)
{
	struct controller *c = arg;
	struct windows_query query = {.to_ms = INT64_MAX};
	struct path_list list = {.limit = PATHS_DEFAULT};
	struct rp_gid source, target;
	bool has_source, has_target;
	int rc;

	if (!api_query_gid(req, "source", false, &source, &has_source) ||
		!api_query_gid(req, "target", false, &target, &has_target) ||
		!api_query_i64(req, "from", 0, EPOCH_MAX_MS, &query.from_ms) ||
		!api_query_i64(req, "to", 0, EPOCH_MAX_MS, &query.to_ms) ||
		!api_query_i64(req, "limit", 1, PATHS_MAX, &list.limit))
		return;
	query.source = has_source ? &source : NULL;
	query.target = has_target ? &target : NULL;
	list.source_tor = rp_http_request_query(req, "source_tor");
	list.target_tor = rp_http_request_query(req, "target_tor");
	rp_buf_puts(&list.out, "{\"paths\":[");
	pthread_mutex_lock(&c->windows_lock);
	rc = windows_visit(&c->windows, &query, put_path, &list);
	pthread_mutex_unlock(&c->windows_lock);
	rp_buf_printf(&list.out, "],\"omitted\":%zu}", list.omitted);
	if (rc != 0) {
		rp_buf_fini(&list.out);
		api_reply_no_memory(req);
		return;
	}
	api_reply_json(req, &list.out);
}
