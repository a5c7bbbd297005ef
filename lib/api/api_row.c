/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <inttypes.h>

#include "api_priv.h"
#include "rp_base.h"

/*
 * {"v": 1, "type": 0, "stamps": 1, "states": [...], "extras": [...], "hists": [...]}
 * States, extras and histograms are in the order of their enums and of struct
 * rp_api_row, and may be appended to. What else changes needs a new version.
 */
#define ROW_VERSION 1

/* Before versions: an array as in reports, with eight states and up to five extras. */
#define OLD_HEAD   3
#define OLD_STATES 8
#define OLD_EXTRAS 5
#define OLD_HISTS  4

static_assert(RP_STATE_N >= OLD_STATES && RP_EXTRA_N >= OLD_EXTRAS, "lists only grow");

static void
put_counts(struct rp_buf *out, const char *key, const uint64_t *count, int n)
{
	rp_buf_printf(out, ",\"%s\":[", key);
	for (int i = 0; i < n; i++)
		rp_buf_printf(out, "%s%" PRIu64, i > 0 ? "," : "", count[i]);
	rp_buf_puts(out, "]");
}

void
rp_api_encode_row(const struct rp_api_row *row, struct rp_buf *out)
{
	rp_buf_printf(out, "{\"v\":%d,\"type\":%d,\"stamps\":%d", ROW_VERSION, (int)row->type,
		(int)row->stamps);
	put_counts(out, "states", row->counts.state, RP_STATE_N);
	put_counts(out, "extras", row->counts.extra, RP_EXTRA_N);
	rp_buf_puts(out, ",\"hists\":[");
	api_put_hist(out, false, &row->rtt);
	api_put_hist(out, true, &row->prober);
	api_put_hist(out, true, &row->responder);
	api_put_hist(out, true, &row->late);
	rp_buf_puts(out, "]}");
}

static int
get_counts(const struct rp_json_at *at, const char *key, uint64_t *count, int max)
{
	struct rp_json_at list, cell = {0};
	size_t n;
	int rc = rp_json_array(at, key, RP_JSON_REQUIRED, (size_t)max, &list, &n);

	while (rc == 0 && rp_json_next(&list, &cell))
		rc = rp_json_u64(
			&cell, NULL, RP_JSON_REQUIRED, 0, (uint64_t)RP_JSON_INT_MAX, count++);
	return rc;
}

static int
get_row(const struct rp_json_at *at, struct rp_api_row *row)
{
	struct rp_shist *const hist[] = {&row->rtt, &row->prober, &row->responder, &row->late};
	struct rp_json_at list, cell = {0};
	uint32_t v = 0, type = 0, stamps = 0;
	size_t n, i = 0;
	int rc = rp_json_u32(at, "v", RP_JSON_REQUIRED, ROW_VERSION, ROW_VERSION, &v);

	if (rc == 0)
		rc = rp_json_u32(at, "type", RP_JSON_REQUIRED, 0, RP_API_TYPE_N - 1, &type);
	if (rc == 0)
		rc = rp_json_u32(at, "stamps", RP_JSON_REQUIRED, 0, RP_STAMPS_N - 1, &stamps);
	if (rc == 0)
		rc = get_counts(at, "states", row->counts.state, RP_STATE_N);
	if (rc == 0)
		rc = get_counts(at, "extras", row->counts.extra, RP_EXTRA_N);
	if (rc == 0)
		rc = rp_json_array(at, "hists", RP_JSON_REQUIRED, RP_ARRAY_LEN(hist), &list, &n);
	while (rc == 0 && rp_json_next(&list, &cell))
		rc = api_get_hist(&cell, hist[i++]);
	row->type = (enum rp_api_type)type;
	row->stamps = (enum rp_stamps)stamps;
	return rc;
}

/* Histograms are arrays and stand last, so the length tells how many extras there are. */
static int
get_old_row(const struct rp_json_at *at, struct rp_api_row *row)
{
	static const size_t least = OLD_HEAD + OLD_STATES + OLD_HISTS;
	struct rp_shist *const hist[] = {&row->rtt, &row->prober, &row->responder, &row->late};
	struct rp_json_at list, cell = {0};
	uint64_t head[OLD_HEAD] = {0};
	const uint64_t max = (uint64_t)RP_JSON_INT_MAX;
	const uint64_t head_max[OLD_HEAD] = {0, RP_API_TYPE_N - 1, RP_STAMPS_N - 1};
	size_t n;
	int rc = rp_json_array(at, NULL, RP_JSON_REQUIRED, least + OLD_EXTRAS, &list, &n);

	if (rc == 0 && n < least)
		rc = rp_json_fail(at, NULL, "is too short");
	for (size_t i = 0; rc == 0 && i < OLD_HEAD; i++)
		rc = api_next_u64(&list, &cell, "head", head_max[i], &head[i]);
	for (size_t i = 0; rc == 0 && i < OLD_STATES; i++)
		rc = api_next_u64(&list, &cell, "states", max, &row->counts.state[i]);
	for (size_t i = 0; rc == 0 && i < n - least; i++)
		rc = api_next_u64(&list, &cell, "extras", max, &row->counts.extra[i]);
	for (size_t i = 0; rc == 0 && i < OLD_HISTS; i++) {
		rc = api_next_cell(&list, &cell, "hists");
		if (rc == 0)
			rc = api_get_hist(&cell, hist[i]);
	}
	row->type = (enum rp_api_type)head[1];
	row->stamps = (enum rp_stamps)head[2];
	return rc;
}

int
rp_api_decode_row(
	const char *json, size_t len, struct rp_api_row *ret_row, struct rp_api_err *reterr)
{
	struct rp_api_row row = {0};
	struct rp_json_err err = {0};
	struct rp_json *doc = NULL;
	int rc = rp_json_parse(json, len, &doc, &err);

	if (rc == 0) {
		struct rp_json_at root = rp_json_root(doc, &err);

		rc = json[0] == '[' ? get_old_row(&root, &row) : get_row(&root, &row);
	}
	if (rc == 0)
		*ret_row = row;
	else
		rp_api_row_fini(&row);
	return api_close(doc, rc, &err, reterr);
}

void
rp_api_row_fini(struct rp_api_row *row)
{
	rp_shist_fini(&row->rtt);
	rp_shist_fini(&row->prober);
	rp_shist_fini(&row->responder);
	rp_shist_fini(&row->late);
}
