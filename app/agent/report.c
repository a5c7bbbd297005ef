/* SPDX-License-Identifier: BSD-3-Clause */

#include "report.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "rp_api.h"
#include "targets.h"

/* Rows borrow their histograms from the window: nothing of a row is freed here. */
static void
fill_row(struct rp_api_report *msg, size_t i, const struct rp_window_row *from,
	const struct targets *targets)
{
	const struct target_entry *e = &targets->entry[from->slot];
	struct rp_api_peer *peer = &msg->peer[msg->n_peers];

	*peer = (struct rp_api_peer){
		.gid = e->info.gid,
		.qpn = from->qpn,
		.generation = from->generation,
	};
	msg->row[i] = (struct rp_api_row){
		.peer = (uint32_t)msg->n_peers++,
		.type = e->info.type,
		.stamps = from->stamps,
		.counts = from->counts,
		.rtt = from->rtt,
		.prober = from->prober,
		.responder = from->responder,
		.late = from->late,
	};
}

static void
fill_source(struct rp_api_report *msg, const struct rp_window_source *from)
{
	msg->peer[msg->n_peers] = (struct rp_api_peer){.gid = from->gid, .qpn = from->qpn};
	msg->responder_row[msg->n_responder_rows++] = (struct rp_api_responder_row){
		.peer = (uint32_t)msg->n_peers++,
		.received = from->received,
		.ack1_sent = from->ack1_sent,
		.ack2_sent = from->ack2_sent,
		.refused = from->refused,
	};
}

/* Text of a bucket, a row without them, and a responder row, each with its peer: upper ends. */
#define BUCKET_BYTES 11
#define ROW_BYTES    420
#define SOURCE_BYTES 160

static size_t
row_bytes(const struct rp_window_row *row)
{
	return ROW_BYTES +
		BUCKET_BYTES *
		((size_t)row->rtt.n + row->prober.n + row->responder.n + row->late.n);
}

/* Where one part ends: rows below row, sources below source. */
struct cut {
	size_t row;
	size_t source;
};

static struct cut
next_cut(const struct rp_window *window, struct cut from)
{
	size_t bytes = 0;

	while (from.row < window->n_rows && bytes < REPORT_PART_BYTES)
		bytes += row_bytes(&window->row[from.row++]);
	while (from.row == window->n_rows && from.source < window->n_sources &&
		bytes < REPORT_PART_BYTES) {
		bytes += SOURCE_BYTES;
		from.source++;
	}
	return from;
}

static uint32_t
count_parts(const struct rp_window *window)
{
	struct cut at = {0, 0};
	uint32_t parts = 0;

	do {
		at = next_cut(window, at);
		parts++;
	} while (at.row < window->n_rows || at.source < window->n_sources);
	return parts;
}

static int
encode_part(struct rp_api_report *msg, const struct rp_window *window,
	const struct targets *targets, struct cut from, struct cut to, struct rp_buf *out)
{
	size_t rows = to.row - from.row, sources = to.source - from.source;
	int rc = -ENOMEM;

	msg->n_peers = msg->n_rows = msg->n_responder_rows = 0;
	msg->peer = calloc(rows + sources + 1, sizeof(*msg->peer));
	msg->row = calloc(rows + 1, sizeof(*msg->row));
	msg->responder_row = calloc(sources + 1, sizeof(*msg->responder_row));
	if (msg->peer != NULL && msg->row != NULL && msg->responder_row != NULL) {
		for (size_t i = from.row; i < to.row; i++)
			fill_row(msg, msg->n_rows++, &window->row[i], targets);
		for (size_t i = from.source; i < to.source; i++)
			fill_source(msg, &window->source[i]);
		rp_api_encode_report(msg, out);
		rc = rp_buf_failed(out) ? -ENOMEM : 0;
	}
	free(msg->peer);
	free(msg->row);
	free(msg->responder_row);
	return rc;
}

int
report_encode(const struct report_id *id, uint64_t seq, const struct rp_window *window,
	const struct device *dev, const struct targets *targets, const struct report_local *local,
	report_part_fn fn, void *arg)
{
	struct rp_api_report msg = {
		.report_seq = seq,
		.parts = count_parts(window),
		.gid = dev->port->gid,
		.window_start_ms = window->start_ms,
		.window_ms = window->ms,
		.local =
			{
				.ring_drops = local->ring_drops,
				.rx_no_buffer = local->rx_no_buffer,
				.schedule_skipped = local->schedule_skipped,
				.cpu_ratio = local->cpu_ratio,
				.throttle = 1,
			},
	};
	struct cut at = {0, 0};
	int rc = 0;

	snprintf(msg.agent_id, sizeof(msg.agent_id), "%s", id->agent_id);
	snprintf(msg.boot_id, sizeof(msg.boot_id), "%s", id->boot_id);
	for (msg.part = 0; rc == 0 && msg.part < msg.parts; msg.part++) {
		struct cut next = next_cut(window, at);
		struct rp_buf json = {0};

		rc = encode_part(&msg, window, targets, at, next, &json);
		if (rc == 0)
			rc = fn(arg, &json);
		rp_buf_fini(&json);
		at = next;
	}
	return rc;
}

void
spool_push(struct spool *spool, char *json, size_t len, uint64_t seq)
{
	while (spool->n > 0 &&
		(spool->n == SPOOL_REPORTS_MAX || spool->bytes + len > SPOOL_BYTES_MAX)) {
		spool_pop(spool);
		spool->dropped++;
	}
	spool->item[(spool->first + spool->n++) % SPOOL_REPORTS_MAX] =
		(struct spool_item){json, len, seq};
	spool->bytes += len;
}

const struct spool_item *
spool_head(const struct spool *spool)
{
	return spool->n == 0 ? NULL : &spool->item[spool->first];
}

void
spool_pop(struct spool *spool)
{
	struct spool_item *item = &spool->item[spool->first];

	spool->bytes -= item->len;
	free(item->json);
	*item = (struct spool_item){0};
	spool->first = (spool->first + 1) % SPOOL_REPORTS_MAX;
	spool->n--;
}

void
spool_fini(struct spool *spool)
{
	while (spool->n > 0)
		spool_pop(spool);
}
