/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "api_priv.h"
#include "rp_base.h"

#define PARTS_MAX 1000u

static const char *const row_column[] = {
	"peer",
	"type",
	"stamps",
#define X(sym, column, reason, fabric) column,
	RP_STATES(X)
#undef X
#define X(sym, column) column,
		RP_EXTRAS(X)
#undef X
			"rtt",
	"prober_delay",
	"responder_delay",
	"late_rtt",
	NULL,
};

static const char *const responder_column[] = {
	"peer", "received", "ack1_sent", "ack2_sent", "refused"};

const char *const *
rp_api_row_columns(void)
{
	return row_column;
}

void
api_put_hist(struct rp_buf *out, bool comma, const struct rp_shist *h)
{
	rp_buf_puts(out, comma ? ",[" : "[");
	if (h->sum.n == 0) {
		rp_buf_puts(out, "]");
		return;
	}
	rp_buf_printf(out, "%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",[", h->sum.min_ns,
		h->sum.max_ns, h->sum.under, h->sum.over);
	for (uint32_t i = 0; i < h->n; i++)
		rp_buf_printf(out, "%s[%" PRIu32 ",%" PRIu32 "]", i > 0 ? "," : "",
			h->entry[i].bucket, h->entry[i].count);
	rp_buf_puts(out, "]]");
}

static void
put_row(struct rp_buf *out, const struct rp_api_row *row)
{
	rp_buf_printf(out, "[%" PRIu32 ",%d,%d", row->peer, (int)row->type, (int)row->stamps);
	for (int i = 0; i < RP_STATE_N; i++)
		rp_buf_printf(out, ",%" PRIu64, row->counts.state[i]);
	for (int i = 0; i < RP_EXTRA_N; i++)
		rp_buf_printf(out, ",%" PRIu64, row->counts.extra[i]);
	api_put_hist(out, true, &row->rtt);
	api_put_hist(out, true, &row->prober);
	api_put_hist(out, true, &row->responder);
	api_put_hist(out, true, &row->late);
	rp_buf_puts(out, "]");
}

static void
put_local(struct rp_buf *out, const struct rp_api_local *local)
{
	rp_buf_printf(out,
		",\"local\":{\"ring_drops\":%" PRIu64 ",\"rx_no_buffer\":%" PRIu64
		",\"schedule_skipped\":%" PRIu64,
		local->ring_drops, local->rx_no_buffer, local->schedule_skipped);
	api_put_double(out, true, "cpu_ratio", local->cpu_ratio);
	api_put_double(out, true, "throttle", local->throttle);
	rp_buf_puts(out, "}");
}

static void
put_peers(struct rp_buf *out, const struct rp_api_report *msg)
{
	rp_buf_puts(out, ",\"peers\":[");
	for (size_t i = 0; i < msg->n_peers; i++) {
		rp_buf_puts(out, i > 0 ? ",{" : "{");
		api_put_gid(out, false, "gid", &msg->peer[i].gid);
		rp_buf_printf(out, ",\"qpn\":%" PRIu32 ",\"generation\":%" PRIu32 "}",
			msg->peer[i].qpn, msg->peer[i].generation);
	}
	rp_buf_puts(out, "]");
}

void
rp_api_encode_report(const struct rp_api_report *msg, struct rp_buf *out)
{
	rp_buf_puts(out, "{\"v\":1");
	api_put_string(out, true, "agent_id", msg->agent_id);
	api_put_string(out, true, "boot_id", msg->boot_id);
	rp_buf_printf(out, ",\"report_seq\":%" PRIu64 ",\"part\":%" PRIu32 ",\"parts\":%" PRIu32,
		msg->report_seq, msg->part, msg->parts);
	api_put_gid(out, true, "gid", &msg->gid);
	rp_buf_printf(out, ",\"window_start_ms\":%" PRId64 ",\"window_ms\":%" PRIu32,
		msg->window_start_ms, msg->window_ms);
	put_peers(out, msg);
	rp_buf_puts(out, ",\"rows\":[");
	for (size_t i = 0; i < msg->n_rows; i++) {
		if (i > 0)
			rp_buf_puts(out, ",");
		put_row(out, &msg->row[i]);
	}
	rp_buf_puts(out, "],\"responder_rows\":[");
	for (size_t i = 0; i < msg->n_responder_rows; i++) {
		const struct rp_api_responder_row *r = &msg->responder_row[i];

		rp_buf_printf(out,
			"%s[%" PRIu32 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 "]",
			i > 0 ? "," : "", r->peer, r->received, r->ack1_sent, r->ack2_sent,
			r->refused);
	}
	rp_buf_puts(out, "]");
	put_local(out, &msg->local);
	rp_buf_puts(out, "}");
}

int
api_next_cell(const struct rp_json_at *row, struct rp_json_at *cell, const char *name)
{
	if (!rp_json_next(row, cell))
		return rp_json_fail(row, name, "is missing");
	rp_json_name(cell, name);
	return 0;
}

int
api_next_u64(const struct rp_json_at *row, struct rp_json_at *cell, const char *name, uint64_t max,
	uint64_t *ret_value)
{
	int rc = api_next_cell(row, cell, name);

	if (rc == 0)
		rc = rp_json_u64(cell, NULL, RP_JSON_REQUIRED, 0, max, ret_value);
	return rc;
}

static int
get_bucket(const struct rp_json_at *pair, struct rp_shist *h)
{
	struct rp_json_at list, cell = {0};
	uint64_t bucket = 0, count = 0;
	size_t n;
	int rc = rp_json_array(pair, NULL, RP_JSON_REQUIRED, 2, &list, &n);

	if (rc == 0)
		rc = api_next_u64(&list, &cell, "bucket", RP_HIST_BUCKETS - 1, &bucket);
	if (rc == 0)
		rc = api_next_u64(&list, &cell, "count", UINT32_MAX, &count);
	if (rc != 0)
		return rc;
	rc = rp_shist_append(h, (uint32_t)bucket, (uint32_t)count);
	if (rc == -EINVAL)
		return rp_json_fail(pair, NULL, "must have a rising bucket and a count above 0");
	h->sum.n += count;
	return rc;
}

static int
get_buckets(const struct rp_json_at *row, struct rp_json_at *cell, struct rp_shist *h)
{
	struct rp_json_at list, pair = {0};
	size_t n;
	int rc = api_next_cell(row, cell, "buckets");

	if (rc == 0)
		rc = rp_json_array(cell, NULL, RP_JSON_REQUIRED, RP_HIST_BUCKETS, &list, &n);
	while (rc == 0 && rp_json_next(&list, &pair))
		rc = get_bucket(&pair, h);
	return rc;
}

int
api_get_hist(const struct rp_json_at *at, struct rp_shist *h)
{
	const uint64_t max = (uint64_t)RP_JSON_INT_MAX;
	struct rp_json_at list, cell = {0};
	size_t n;
	int rc = rp_json_array(at, NULL, RP_JSON_REQUIRED, 5, &list, &n);

	if (rc != 0 || n == 0)
		return rc;
	rc = api_next_u64(&list, &cell, "min_ns", max, &h->sum.min_ns);
	if (rc == 0)
		rc = api_next_u64(&list, &cell, "max_ns", max, &h->sum.max_ns);
	if (rc == 0)
		rc = api_next_u64(&list, &cell, "under", max, &h->sum.under);
	if (rc == 0)
		rc = api_next_u64(&list, &cell, "over", max, &h->sum.over);
	if (rc == 0)
		rc = get_buckets(&list, &cell, h);
	if (rc != 0)
		return rc;
	h->sum.n += h->sum.under + h->sum.over;
	if (h->sum.n == 0)
		return rp_json_fail(at, NULL, "must be [] when nothing was counted");
	if (h->sum.min_ns > h->sum.max_ns)
		return rp_json_fail(at, "min_ns", "must not exceed max_ns");
	return 0;
}

static int
get_head(const struct rp_json_at *at, struct rp_json_at *cell, size_t n_peers,
	struct rp_api_row *row)
{
	uint64_t peer = 0, type = 0, stamps = 0;
	int rc = api_next_u64(at, cell, row_column[0], n_peers == 0 ? 0 : n_peers - 1, &peer);

	if (rc == 0 && n_peers == 0)
		rc = rp_json_fail(cell, NULL, "has no entry in peers");
	if (rc == 0)
		rc = api_next_u64(at, cell, row_column[1], RP_API_TYPE_N - 1, &type);
	if (rc == 0)
		rc = api_next_u64(at, cell, row_column[2], RP_STAMPS_N - 1, &stamps);
	row->peer = (uint32_t)peer;
	row->type = (enum rp_api_type)type;
	row->stamps = (enum rp_stamps)stamps;
	return rc;
}

static int
get_row(const struct rp_json_at *at, size_t n_peers, struct rp_api_row *row)
{
	const uint64_t max = (uint64_t)RP_JSON_INT_MAX;
	struct rp_shist *const hist[] = {&row->rtt, &row->prober, &row->responder, &row->late};
	const size_t n_columns = RP_ARRAY_LEN(row_column) - 1;
	const char *const *name = row_column + 3;
	struct rp_json_at list, cell = {0};
	size_t n;
	int rc = rp_json_array(at, NULL, RP_JSON_REQUIRED, n_columns, &list, &n);

	if (rc == 0)
		rc = get_head(&list, &cell, n_peers, row);
	for (int i = 0; rc == 0 && i < RP_STATE_N; i++)
		rc = api_next_u64(&list, &cell, *name++, max, &row->counts.state[i]);
	for (int i = 0; rc == 0 && i < RP_EXTRA_N; i++)
		rc = api_next_u64(&list, &cell, *name++, max, &row->counts.extra[i]);
	for (size_t i = 0; rc == 0 && i < RP_ARRAY_LEN(hist); i++) {
		rc = api_next_cell(&list, &cell, *name++);
		if (rc == 0)
			rc = api_get_hist(&cell, hist[i]);
	}
	return rc;
}

static int
get_rows(const struct rp_json_at *at, struct rp_api_report *msg)
{
	struct rp_json_at list, elem = {0};
	size_t n;
	int rc = rp_json_array(at, "rows", RP_JSON_REQUIRED, RP_API_ROWS_MAX, &list, &n);

	if (rc == 0)
		rc = api_alloc(n, sizeof(*msg->row), &msg->row);
	while (rc == 0 && rp_json_next(&list, &elem))
		rc = get_row(&elem, msg->n_peers, &msg->row[msg->n_rows++]);
	return rc;
}

static int
get_responder_row(const struct rp_json_at *at, size_t n_peers, struct rp_api_responder_row *row)
{
	uint64_t *const count[] = {&row->received, &row->ack1_sent, &row->ack2_sent, &row->refused};
	struct rp_json_at list, cell = {0};
	uint64_t peer = 0;
	size_t n;
	int rc = rp_json_array(
		at, NULL, RP_JSON_REQUIRED, RP_ARRAY_LEN(responder_column), &list, &n);

	if (rc == 0)
		rc = api_next_u64(
			&list, &cell, responder_column[0], n_peers == 0 ? 0 : n_peers - 1, &peer);
	if (rc == 0 && n_peers == 0)
		rc = rp_json_fail(&cell, NULL, "has no entry in peers");
	for (size_t i = 0; rc == 0 && i < RP_ARRAY_LEN(count); i++)
		rc = api_next_u64(
			&list, &cell, responder_column[i + 1], (uint64_t)RP_JSON_INT_MAX, count[i]);
	row->peer = (uint32_t)peer;
	return rc;
}

static int
get_responder_rows(const struct rp_json_at *at, struct rp_api_report *msg)
{
	struct rp_json_at list, elem = {0};
	size_t n;
	int rc = rp_json_array(at, "responder_rows", RP_JSON_OPTIONAL, RP_API_ROWS_MAX, &list, &n);

	if (rc == 0)
		rc = api_alloc(n, sizeof(*msg->responder_row), &msg->responder_row);
	while (rc == 0 && rp_json_next(&list, &elem))
		rc = get_responder_row(
			&elem, msg->n_peers, &msg->responder_row[msg->n_responder_rows++]);
	return rc;
}

static int
get_peers(const struct rp_json_at *at, struct rp_api_report *msg)
{
	struct rp_json_at list, elem = {0};
	size_t n;
	int rc = rp_json_array(at, "peers", RP_JSON_REQUIRED, RP_API_TARGETS_MAX, &list, &n);

	if (rc == 0)
		rc = api_alloc(n, sizeof(*msg->peer), &msg->peer);
	while (rc == 0 && rp_json_next(&list, &elem)) {
		struct rp_api_peer *peer = &msg->peer[msg->n_peers++];

		rc = api_get_gid(&elem, "gid", &peer->gid);
		if (rc == 0)
			rc = rp_json_u32(
				&elem, "qpn", RP_JSON_REQUIRED, 0, API_QPN_MAX, &peer->qpn);
		if (rc == 0)
			rc = rp_json_u32(&elem, "generation", RP_JSON_REQUIRED, 0, UINT32_MAX,
				&peer->generation);
	}
	return rc;
}

static int
get_local(const struct rp_json_at *at, struct rp_api_local *local)
{
	const uint64_t max = (uint64_t)RP_JSON_INT_MAX;
	struct rp_json_at in;
	int rc = rp_json_object(at, "local", RP_JSON_OPTIONAL, &in);

	local->throttle = 1;
	if (rc != 0 || in.item == NULL)
		return rc;
	rc = rp_json_u64(&in, "ring_drops", RP_JSON_OPTIONAL, 0, max, &local->ring_drops);
	if (rc == 0)
		rc = rp_json_u64(
			&in, "rx_no_buffer", RP_JSON_OPTIONAL, 0, max, &local->rx_no_buffer);
	if (rc == 0)
		rc = rp_json_u64(&in, "schedule_skipped", RP_JSON_OPTIONAL, 0, max,
			&local->schedule_skipped);
	if (rc == 0)
		rc = rp_json_double(&in, "cpu_ratio", RP_JSON_OPTIONAL, 0, 1, &local->cpu_ratio);
	if (rc == 0)
		rc = rp_json_double(&in, "throttle", RP_JSON_OPTIONAL, 0, 1, &local->throttle);
	return rc;
}

static int
get_identity(const struct rp_json_at *at, struct rp_api_report *msg)
{
	uint32_t v = 0;
	int rc = rp_json_u32(at, "v", RP_JSON_REQUIRED, 1, 1, &v);

	if (rc == 0)
		rc = api_get_name(at, "agent_id", RP_JSON_REQUIRED, false, msg->agent_id);
	if (rc == 0)
		rc = api_get_boot_id(at, "boot_id", msg->boot_id);
	if (rc == 0)
		rc = rp_json_u64(
			at, "report_seq", RP_JSON_REQUIRED, 0, RP_JSON_INT_MAX, &msg->report_seq);
	if (rc == 0)
		rc = rp_json_u32(at, "parts", RP_JSON_REQUIRED, 1, PARTS_MAX, &msg->parts);
	if (rc == 0)
		rc = rp_json_u32(at, "part", RP_JSON_REQUIRED, 0, msg->parts - 1, &msg->part);
	if (rc == 0)
		rc = api_get_gid(at, "gid", &msg->gid);
	if (rc == 0)
		rc = rp_json_i64(at, "window_start_ms", RP_JSON_REQUIRED, 0, API_EPOCH_MAX,
			&msg->window_start_ms);
	if (rc == 0)
		rc = rp_json_u32(at, "window_ms", RP_JSON_REQUIRED, API_WINDOW_MIN, API_WINDOW_MAX,
			&msg->window_ms);
	return rc;
}

int
rp_api_decode_report(
	const char *json, size_t len, struct rp_api_report *ret_msg, struct rp_api_err *reterr)
{
	struct rp_api_report msg = {0};
	struct rp_json_err err = {0};
	struct rp_json *doc = NULL;
	int rc = rp_json_parse(json, len, &doc, &err);

	if (rc == 0) {
		struct rp_json_at root = rp_json_root(doc, &err);

		rc = get_identity(&root, &msg);
		if (rc == 0)
			rc = get_peers(&root, &msg);
		if (rc == 0)
			rc = get_rows(&root, &msg);
		if (rc == 0)
			rc = get_responder_rows(&root, &msg);
		if (rc == 0)
			rc = get_local(&root, &msg.local);
	}
	if (rc == 0)
		*ret_msg = msg;
	else
		rp_api_report_fini(&msg);
	return api_close(doc, rc, &err, reterr);
}

void
rp_api_report_fini(struct rp_api_report *msg)
{
	for (size_t i = 0; i < msg->n_rows; i++)
		rp_api_row_fini(&msg->row[i]);
	free(msg->peer);
	free(msg->row);
	free(msg->responder_row);
	msg->peer = NULL;
	msg->row = NULL;
	msg->responder_row = NULL;
	msg->n_peers = msg->n_rows = msg->n_responder_rows = 0;
}

void
rp_api_encode_report_reply(const struct rp_api_report_reply *msg, struct rp_buf *out)
{
	rp_buf_printf(out, "{\"accepted\":%s,\"duplicate\":%s,\"sla_violations\":%" PRIu64 "}",
		msg->accepted ? "true" : "false", msg->duplicate ? "true" : "false",
		msg->sla_violations);
}

int
rp_api_decode_report_reply(const char *json, size_t len, struct rp_api_report_reply *ret_msg,
	struct rp_api_err *reterr)
{
	struct rp_api_report_reply msg = {0};
	struct rp_json_err err = {0};
	struct rp_json *doc = NULL;
	int rc = rp_json_parse(json, len, &doc, &err);

	if (rc == 0) {
		struct rp_json_at root = rp_json_root(doc, &err);

		rc = rp_json_bool(&root, "accepted", RP_JSON_REQUIRED, &msg.accepted);
		if (rc == 0)
			rc = rp_json_bool(&root, "duplicate", RP_JSON_REQUIRED, &msg.duplicate);
		if (rc == 0)
			rc = rp_json_u64(&root, "sla_violations", RP_JSON_REQUIRED, 0,
				RP_JSON_INT_MAX, &msg.sla_violations);
	}
	if (rc == 0)
		*ret_msg = msg;
	return api_close(doc, rc, &err, reterr);
}
