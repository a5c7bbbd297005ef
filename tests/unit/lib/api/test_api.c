/* SPDX-License-Identifier: BSD-3-Clause */

#include "rp_api.h"

#include <errno.h>
#include <stdio.h>

#include "hists.h"
#include "ut.h"

#define ROUNDS 200

static struct rp_api_err err;

static uint64_t
below(struct rp_rng *rng, uint64_t n)
{
	return rp_rng_below(rng, n);
}

static void
random_name(struct rp_rng *rng, char *name, bool empty_allowed)
{
	static const char *const part[] = {
		"a", "tor-1", "\xC3\xA9", "\"", "\\", " ", "x.y", "%", "<&>"};
	uint64_t n = below(rng, 8) + (empty_allowed ? 0 : 1);

	name[0] = '\0';
	for (uint64_t i = 0; i < n; i++)
		name += snprintf(name, 8, "%s", part[below(rng, RP_ARRAY_LEN(part))]);
}

static struct rp_gid
random_gid(struct rp_rng *rng)
{
	struct rp_gid gid = {.b = {0x20, 0x01}};
	uint8_t v4[4] = {10, (uint8_t)below(rng, 256), (uint8_t)below(rng, 256),
		(uint8_t)(1 + below(rng, 254))};

	if (below(rng, 2) == 0)
		return rp_gid_from_ipv4(v4);
	for (int i = 8; i < 16; i++)
		gid.b[i] = (uint8_t)below(rng, 256);
	return gid;
}

static void
register__any_message__survives_the_round_trip(void)
{
	struct rp_rng rng = ut_rng(1);

	for (int round = 0; round < ROUNDS; round++) {
		struct rp_api_rnic rnic[3] = {0};
		struct rp_api_register in = {.rnic = rnic, .n_rnics = below(&rng, 4)}, out = {0};
		struct rp_buf json = {0};

		snprintf(in.boot_id, sizeof(in.boot_id), "boot-%" PRIu64, below(&rng, 1000));
		in.set_seq = below(&rng, UINT64_C(1) << 53);
		random_name(&rng, in.hostname, false);
		snprintf(in.agent_ip, sizeof(in.agent_ip), "192.0.2.7");
		random_name(&rng, in.tor_id, true);
		random_name(&rng, in.version, true);
		for (size_t i = 0; i < in.n_rnics; i++) {
			rnic[i].gid = random_gid(&rng);
			rnic[i].gid.b[15] = (uint8_t)(1 + i); /* distinct */
			rnic[i].qpn = (uint32_t)(2 + below(&rng, 0xFFFFFE));
			rnic[i].qkey = (uint32_t)below(&rng, UINT64_C(1) << 31);
			rnic[i].generation = (uint32_t)(1 + below(&rng, UINT32_MAX));
			random_name(&rng, rnic[i].device, false);
			random_name(&rng, rnic[i].driver, true);
			random_name(&rng, rnic[i].tor_id, true);
			random_name(&rng, rnic[i].rail, true);
			rnic[i].hw_stamps = below(&rng, 2);
			rnic[i].up = below(&rng, 2);
			rnic[i].speed_gbps = 1000 * rp_rng_unit(&rng);
		}
		rp_api_encode_register(&in, &json);
		if (!UT_OK(rp_api_decode_register(json.data, json.len, &out, &err))) {
			printf("%s: %s\n%s\n", err.field, err.message, json.data);
			return;
		}
		UT_STR(out.boot_id, in.boot_id);
		UT_EQ_U(out.set_seq, in.set_seq);
		UT_STR(out.hostname, in.hostname);
		UT_STR(out.agent_ip, in.agent_ip);
		UT_STR(out.tor_id, in.tor_id);
		UT_STR(out.version, in.version);
		UT_EQ(out.n_rnics, in.n_rnics);
		if (in.n_rnics > 0)
			UT_MEM(out.rnic, in.rnic, in.n_rnics * sizeof(*rnic));
		rp_api_register_fini(&out);
		rp_buf_fini(&json);
	}
}

static void
register_reply__any_message__survives_the_round_trip(void)
{
	struct rp_api_etag etag[2] = {{.etag = "0123456789abcdef"}, {.etag = "ff"}};
	struct rp_api_register_reply in = {.registered = true,
					     .etag = etag,
					     .n_etags = 2,
					     .heartbeat_sec = 60,
					     .server_time_ms = 1700000000123},
				     out = {0};
	struct rp_rng rng = ut_rng(2);
	struct rp_buf json = {0};

	etag[0].gid = random_gid(&rng);
	etag[1].gid = random_gid(&rng);
	rp_api_encode_register_reply(&in, &json);
	if (!UT_OK(rp_api_decode_register_reply(json.data, json.len, &out, &err)))
		return;
	UT_TRUE(out.registered);
	UT_EQ(out.n_etags, 2);
	UT_MEM(out.etag, etag, sizeof(etag));
	UT_EQ(out.heartbeat_sec, 60);
	UT_EQ(out.server_time_ms, 1700000000123);
	rp_api_register_reply_fini(&out);
	rp_buf_fini(&json);
}

static void
random_target(struct rp_rng *rng, struct rp_api_target *t)
{
	t->gid = random_gid(rng);
	t->qpn = (uint32_t)(2 + below(rng, 0xFFFFFE));
	t->qkey = (uint32_t)below(rng, UINT64_C(1) << 31);
	t->generation = (uint32_t)(1 + below(rng, UINT32_MAX));
	t->type = (enum rp_api_type)below(rng, RP_API_TYPE_N);
	t->flow_label_seed = (uint32_t)rp_rng_next(rng);
	t->flow_label_count = (uint32_t)(1 + below(rng, 4096));
	t->flow_label = (uint32_t)below(rng, 0x100000);
	random_name(rng, t->hostname, true);
	random_name(rng, t->tor_id, true);
	random_name(rng, t->device, true);
	t->hw_stamps = below(rng, 2);
	t->service_level = (int)below(rng, 9) - 1;
	t->traffic_class = (int)below(rng, 257) - 1;
}

static void
pinglist__any_message__survives_the_round_trip(void)
{
	struct rp_rng rng = ut_rng(3);

	for (int round = 0; round < ROUNDS; round++) {
		struct rp_api_target target[4] = {0};
		struct rp_gid source[3];
		struct rp_api_pinglist in = {.target = target, .source = source}, out = {0};
		struct rp_buf json = {0};

		in.gid = random_gid(&rng);
		in.n_targets = below(&rng, 5);
		in.n_sources = below(&rng, 4);
		for (size_t i = 0; i < in.n_targets; i++)
			random_target(&rng, &target[i]);
		for (size_t i = 0; i < in.n_sources; i++)
			source[i] = random_gid(&rng);
		rp_api_encode_pinglist(&in, &json);
		if (!UT_OK(rp_api_decode_pinglist(json.data, json.len, &out, &err)))
			return;
		UT_TRUE(rp_gid_equal(&out.gid, &in.gid));
		UT_EQ(out.n_targets, in.n_targets);
		UT_EQ(out.n_sources, in.n_sources);
		if (in.n_targets > 0)
			UT_MEM(out.target, target, in.n_targets * sizeof(*target));
		if (in.n_sources > 0)
			UT_MEM(out.source, source, in.n_sources * sizeof(*source));
		rp_api_pinglist_fini(&out);
		rp_buf_fini(&json);
	}
}

static void
target__one_record__survives_the_round_trip(void)
{
	struct rp_rng rng = ut_rng(4);
	struct rp_api_target in = {0}, out;
	struct rp_buf json = {0};

	random_target(&rng, &in);
	rp_api_encode_target(&in, &json);
	memset(&out, 0, sizeof(out));
	UT_OK(rp_api_decode_target(json.data, json.len, &out, &err));
	UT_MEM(&out, &in, sizeof(in));
	rp_buf_fini(&json);
}

/* As an older controller sends it. */
static void
target__without_stamps__has_those_of_software(void)
{
	struct rp_rng rng = ut_rng(4);
	struct rp_api_target in = {0}, out;
	struct rp_buf json = {0};
	char *key, *rest;

	random_target(&rng, &in);
	in.hw_stamps = true;
	rp_api_encode_target(&in, &json);
	key = strstr(json.data, ",\"stamps\":\"hw\"");
	if (!UT_TRUE(key != NULL))
		return;
	rest = key + strlen(",\"stamps\":\"hw\"");
	memmove(key, rest, strlen(rest) + 1);
	memset(&out, 0, sizeof(out));
	UT_OK(rp_api_decode_target(json.data, strlen(json.data), &out, &err));
	in.hw_stamps = false;
	UT_MEM(&out, &in, sizeof(in));
	rp_buf_fini(&json);
}

static void
random_report(struct rp_rng *rng, struct rp_api_report *r)
{
	snprintf(r->agent_id, sizeof(r->agent_id), "host-a");
	snprintf(r->boot_id, sizeof(r->boot_id), "b1");
	r->report_seq = below(rng, UINT64_C(1) << 53);
	r->parts = (uint32_t)(1 + below(rng, 1000));
	r->part = (uint32_t)below(rng, r->parts);
	r->gid = random_gid(rng);
	r->window_start_ms = (int64_t)below(rng, UINT64_C(4102444800000));
	r->window_ms = (uint32_t)(1 + below(rng, 3600000));
	r->n_peers = 1 + below(rng, 5);
	r->peer = calloc(r->n_peers, sizeof(*r->peer));
	for (size_t i = 0; i < r->n_peers; i++)
		r->peer[i] = (struct rp_api_peer){random_gid(rng), (uint32_t)below(rng, 0x1000000),
			(uint32_t)rp_rng_next(rng)};
	r->n_rows = below(rng, 6);
	r->row = calloc(r->n_rows + 1, sizeof(*r->row));
	for (size_t i = 0; i < r->n_rows; i++) {
		struct rp_api_row *row = &r->row[i];

		row->peer = (uint32_t)below(rng, r->n_peers);
		row->type = (enum rp_api_type)below(rng, RP_API_TYPE_N);
		row->stamps = (enum rp_stamps)below(rng, RP_STAMPS_N);
		for (int s = 0; s < RP_STATE_N; s++)
			row->counts.state[s] = below(rng, UINT64_C(1) << 53);
		for (int s = 0; s < RP_EXTRA_N; s++)
			row->counts.extra[s] = below(rng, 1000);
		random_hist(rng, &row->rtt);
		random_hist(rng, &row->prober);
		random_hist(rng, &row->responder);
		random_hist(rng, &row->late);
	}
	r->n_responder_rows = below(rng, 3);
	r->responder_row = calloc(r->n_responder_rows + 1, sizeof(*r->responder_row));
	for (size_t i = 0; i < r->n_responder_rows; i++)
		r->responder_row[i] =
			(struct rp_api_responder_row){(uint32_t)below(rng, r->n_peers),
				below(rng, 9), below(rng, 9), below(rng, 9), below(rng, 9)};
	r->local = (struct rp_api_local){
		below(rng, 9), below(rng, 9), below(rng, 9), rp_rng_unit(rng), 0.25};
}

static void
check_report(const struct rp_api_report *got, const struct rp_api_report *want)
{
	UT_STR(got->agent_id, want->agent_id);
	UT_STR(got->boot_id, want->boot_id);
	UT_EQ_U(got->report_seq, want->report_seq);
	UT_EQ_U(got->part, want->part);
	UT_EQ_U(got->parts, want->parts);
	UT_TRUE(rp_gid_equal(&got->gid, &want->gid));
	UT_EQ(got->window_start_ms, want->window_start_ms);
	UT_EQ_U(got->window_ms, want->window_ms);
	UT_EQ(got->n_peers, want->n_peers);
	UT_MEM(got->peer, want->peer, want->n_peers * sizeof(*want->peer));
	UT_EQ(got->n_rows, want->n_rows);
	for (size_t i = 0; i < want->n_rows && i < got->n_rows; i++) {
		const struct rp_api_row *g = &got->row[i], *w = &want->row[i];

		UT_EQ_U(g->peer, w->peer);
		UT_EQ_U(g->type, w->type);
		UT_EQ_U(g->stamps, w->stamps);
		UT_MEM(&g->counts, &w->counts, sizeof(w->counts));
		check_hist(&g->rtt, &w->rtt);
		check_hist(&g->prober, &w->prober);
		check_hist(&g->responder, &w->responder);
		check_hist(&g->late, &w->late);
	}
	UT_EQ(got->n_responder_rows, want->n_responder_rows);
	for (size_t i = 0; i < want->n_responder_rows; i++) {
		UT_EQ_U(got->responder_row[i].peer, want->responder_row[i].peer);
		UT_EQ_U(got->responder_row[i].received, want->responder_row[i].received);
		UT_EQ_U(got->responder_row[i].ack1_sent, want->responder_row[i].ack1_sent);
		UT_EQ_U(got->responder_row[i].ack2_sent, want->responder_row[i].ack2_sent);
		UT_EQ_U(got->responder_row[i].refused, want->responder_row[i].refused);
	}
	UT_EQ_U(got->local.ring_drops, want->local.ring_drops);
	UT_EQ_U(got->local.rx_no_buffer, want->local.rx_no_buffer);
	UT_EQ_U(got->local.schedule_skipped, want->local.schedule_skipped);
	UT_TRUE(got->local.cpu_ratio == want->local.cpu_ratio);
	UT_TRUE(got->local.throttle == want->local.throttle);
}

static void
report__any_message__survives_the_round_trip(void)
{
	struct rp_rng rng = ut_rng(5);

	for (int round = 0; round < ROUNDS; round++) {
		struct rp_api_report in = {0}, out = {0};
		struct rp_buf json = {0};

		random_report(&rng, &in);
		rp_api_encode_report(&in, &json);
		if (!UT_OK(rp_api_decode_report(json.data, json.len, &out, &err))) {
			printf("%s: %s\n", err.field, err.message);
			return;
		}
		check_report(&out, &in);
		rp_api_report_fini(&in);
		rp_api_report_fini(&out);
		rp_buf_fini(&json);
	}
}

static void
report_reply__any_message__survives_the_round_trip(void)
{
	struct rp_api_report_reply in = {true, true, 7}, out = {0};
	struct rp_buf json = {0};

	rp_api_encode_report_reply(&in, &json);
	UT_OK(rp_api_decode_report_reply(json.data, json.len, &out, &err));
	UT_TRUE(out.accepted);
	UT_TRUE(out.duplicate);
	UT_EQ_U(out.sla_violations, 7);
	rp_buf_fini(&json);
}

/* One bad value in a good message: @find is replaced by @with, @field is to blame. */
struct bad {
	const char *find, *with, *field;
};

static void
replace(const char *text, const struct bad *bad, char *ret_text, size_t cap)
{
	const char *at = strstr(text, bad->find);

	if (!UT_TRUE(at != NULL)) {
		printf("no %s in the message\n", bad->find);
		ret_text[0] = '\0';
		return;
	}
	snprintf(ret_text, cap, "%.*s%s%s", (int)(at - text), text, bad->with,
		at + strlen(bad->find));
}

typedef int (*decode_fn)(const char *json, size_t len);

static void
check_bad(const char *good, const struct bad *bad, size_t n, decode_fn decode)
{
	char text[4096];

	if (!UT_OK(decode(good, strlen(good))))
		printf("%s: %s\n", err.field, err.message);
	for (size_t i = 0; i < n; i++) {
		replace(good, &bad[i], text, sizeof(text));
		err = (struct rp_api_err){0};
		if (!UT_EQ(decode(text, strlen(text)), -EINVAL) || !UT_STR(err.field, bad[i].field))
			printf("with %s: %s\n", bad[i].with, err.message);
		UT_TRUE(err.message[0] != '\0');
	}
}

static int
decode_register(const char *json, size_t len)
{
	struct rp_api_register msg = {0};
	int rc = rp_api_decode_register(json, len, &msg, &err);

	rp_api_register_fini(&msg);
	return rc;
}

static void
register__wrong_type_or_range__names_the_field(void)
{
	static const char good[] =
		"{\"boot_id\":\"b-1\",\"set_seq\":1,\"hostname\":\"h\",\"agent_ip\":\"10.0.0.1\","
		"\"tor_id\":\"t1\",\"version\":\"1\",\"future\":[],\"rnics\":[{\"gid\":\"10.0.0.1\","
		"\"qpn\":17,\"qkey\":1,\"generation\":5,\"device\":\"d0\",\"driver\":\"verbs\","
		"\"stamps\":\"hw\",\"state\":\"up\",\"tor_id\":\"t2\",\"rail\":\"r0\","
		"\"speed_gbps\":100}]}";
	static const struct bad bad[] = {
		{"\"b-1\"", "1", "boot_id"},
		{"\"b-1\"", "\"\"", "boot_id"},
		{"\"b-1\"", "\"b 1\"", "boot_id"},
		{"\"b-1\"", "\"0123456789012345678901234567890123456\"", "boot_id"},
		{"\"set_seq\":1", "\"set_seq\":-1", "set_seq"},
		{"\"set_seq\":1", "\"set_seq\":9007199254740992", "set_seq"},
		{"\"set_seq\":1", "\"set_seq\":\"1\"", "set_seq"},
		{"\"hostname\":\"h\"", "\"hostname\":\"\"", "hostname"},
		{"\"hostname\":\"h\"", "\"hostname\":\"a/b\"", "hostname"},
		{"\"hostname\":\"h\"", "\"hostname\":\"a\\tb\"", "hostname"},
		{"\"hostname\":\"h\"", "\"hostname\":7", "hostname"},
		{"\"hostname\":\"h\"", "\"x\":1", "hostname"},
		{"\"agent_ip\":\"10.0.0.1\"", "\"agent_ip\":\"10.0.0\"", "agent_ip"},
		{"\"tor_id\":\"t1\"", "\"tor_id\":\"a\\u0001\"", "tor_id"},
		{"\"version\":\"1\"", "\"version\":1", "version"},
		{"[{\"gid\":\"10.0.0.1\"", "[{\"gid\":\"224.0.0.1\"", "rnics[0].gid"},
		{"[{\"gid\":\"10.0.0.1\"", "[{\"gid\":\"x\"", "rnics[0].gid"},
		{"\"qpn\":17", "\"qpn\":1", "rnics[0].qpn"},
		{"\"qpn\":17", "\"qpn\":16777216", "rnics[0].qpn"},
		{"\"qpn\":17", "\"qpn\":1.5", "rnics[0].qpn"},
		{"\"qkey\":1", "\"qkey\":2147483648", "rnics[0].qkey"},
		{"\"generation\":5", "\"generation\":0", "rnics[0].generation"},
		{"\"generation\":5", "\"generation\":4294967296", "rnics[0].generation"},
		{"\"device\":\"d0\"", "\"device\":\"\"", "rnics[0].device"},
		{"\"driver\":\"verbs\"", "\"driver\":[]", "rnics[0].driver"},
		{"\"hw\"", "\"mixed\"", "rnics[0].stamps"},
		{"\"up\"", "\"UP\"", "rnics[0].state"},
		{"\"t2\"", "\"/\"", "rnics[0].tor_id"},
		{"\"rail\":\"r0\"", "\"rail\":0", "rnics[0].rail"},
		{"100", "-1", "rnics[0].speed_gbps"},
		{"100", "\"100\"", "rnics[0].speed_gbps"},
		{"\"rnics\":[{", "\"rnics\":[7,{", "rnics[0]"},
		{"\"rnics\":[{",
			"\"rnics\":[{\"gid\":\"10.0.0.1\",\"qpn\":2,\"qkey\":1,"
			"\"generation\":1,\"device\":\"d\",\"stamps\":\"sw\"},{",
			"rnics[1].gid"},
		{"\"rnics\":[", "\"rnics\":1,\"x\":[", "rnics"},
	};

	check_bad(good, bad, RP_ARRAY_LEN(bad), decode_register);
}

static int
decode_register_reply(const char *json, size_t len)
{
	struct rp_api_register_reply msg = {0};
	int rc = rp_api_decode_register_reply(json, len, &msg, &err);

	rp_api_register_reply_fini(&msg);
	return rc;
}

static void
register_reply__wrong_type_or_range__names_the_field(void)
{
	static const char good[] = "{\"registered\":true,\"pinglist_etags\":{\"::ffff:10.0.0.1\":"
				   "\"ab\"},\"heartbeat_sec\":60,\"server_time_ms\":5}";
	static const struct bad bad[] = {
		{"true", "1", "registered"},
		{"\"::ffff:10.0.0.1\"", "\"x\"", "pinglist_etags.x"},
		{"\"ab\"", "\"zz\"", "pinglist_etags.::ffff:10.0.0.1"},
		{"\"ab\"", "1", "pinglist_etags.::ffff:10.0.0.1"},
		{"60", "0", "heartbeat_sec"},
		{"60", "3601", "heartbeat_sec"},
		{":5}", ":-5}", "server_time_ms"},
	};

	check_bad(good, bad, RP_ARRAY_LEN(bad), decode_register_reply);
}

static int
decode_pinglist(const char *json, size_t len)
{
	struct rp_api_pinglist msg = {0};
	int rc = rp_api_decode_pinglist(json, len, &msg, &err);

	rp_api_pinglist_fini(&msg);
	return rc;
}

static void
pinglist__wrong_type_or_range__names_the_field(void)
{
	static const char good[] =
		"{\"gid\":\"10.0.0.1\",\"targets\":[{\"gid\":\"10.0.0.2\",\"qpn\":17,\"qkey\":1,"
		"\"generation\":5,\"type\":\"tor_mesh\",\"flow_label_seed\":9,"
		"\"flow_label_count\":8,\"flow_label\":3,\"hostname\":\"h\",\"tor_id\":\"t\","
		"\"device\":\"d\",\"stamps\":\"hw\",\"service_level\":7,\"traffic_class\":255}],"
		"\"sources\":[\"10.0.0.3\"]}";
	static const struct bad bad[] = {
		{"\"gid\":\"10.0.0.1\"", "\"gid\":1", "gid"},
		{"10.0.0.2", "::", "targets[0].gid"},
		{":17", ":0", "targets[0].qpn"},
		{"\"qkey\":1", "\"qkey\":-1", "targets[0].qkey"},
		{"\"generation\":5", "\"generation\":0", "targets[0].generation"},
		{"tor_mesh", "mesh", "targets[0].type"},
		{"_seed\":9", "_seed\":4294967296", "targets[0].flow_label_seed"},
		{"_count\":8", "_count\":0", "targets[0].flow_label_count"},
		{"_count\":8", "_count\":4097", "targets[0].flow_label_count"},
		{"label\":3", "label\":1048576", "targets[0].flow_label"},
		{"\"h\"", "0", "targets[0].hostname"},
		{"\"t\"", "0", "targets[0].tor_id"},
		{"\"d\"", "0", "targets[0].device"},
		{"\"hw\"", "\"mixed\"", "targets[0].stamps"},
		{"\"hw\"", "true", "targets[0].stamps"},
		{":7", ":8", "targets[0].service_level"},
		{":255", ":256", "targets[0].traffic_class"},
		{"\"10.0.0.3\"", "\"10.0.0.3\",\"::1\"", "sources[1]"},
		{"\"sources\":[", "\"sources\":1,\"x\":[", "sources"},
		{"\"targets\":[", "\"x\":[", "targets"},
	};

	check_bad(good, bad, RP_ARRAY_LEN(bad), decode_pinglist);
}

static int
decode_report(const char *json, size_t len)
{
	struct rp_api_report msg = {0};
	int rc = rp_api_decode_report(json, len, &msg, &err);

	rp_api_report_fini(&msg);
	return rc;
}

static void
report__wrong_type_or_range__names_the_field(void)
{
	static const char good[] =
		"{\"v\":1,\"agent_id\":\"a\",\"boot_id\":\"b\",\"report_seq\":3,\"part\":0,"
		"\"parts\":2,\"gid\":\"10.0.0.1\",\"window_start_ms\":1000,\"window_ms\":10000,"
		"\"peers\":[{\"gid\":\"10.0.0.2\",\"qpn\":17,\"generation\":5}],"
		"\"rows\":[[0,1,2,10,11,12,13,14,15,16,17,20,21,22,23,24,"
		"[150,900,1,2,[[60,3],[70,4]]],[],[],[]]],\"responder_rows\":[[0,31,32,33,34]],"
		"\"local\":{\"ring_drops\":41,\"rx_no_buffer\":42,\"schedule_skipped\":43,"
		"\"cpu_ratio\":0.5,\"throttle\":1}}";
	static const struct bad bad[] = {
		{"\"v\":1", "\"v\":2", "v"},
		{"\"a\"", "\"\"", "agent_id"},
		{"\"b\"", "\"/\"", "boot_id"},
		{"_seq\":3", "_seq\":-3", "report_seq"},
		{"\"part\":0", "\"part\":2", "part"},
		{"\"parts\":2", "\"parts\":0", "parts"},
		{"\"parts\":2", "\"parts\":1001", "parts"},
		{"10.0.0.1", "127.0.0.1", "gid"},
		{":1000,", ":-1,", "window_start_ms"},
		{":10000", ":0", "window_ms"},
		{":10000", ":3600001", "window_ms"},
		{"10.0.0.2", "0.0.0.0", "peers[0].gid"},
		{":17", ":16777216", "peers[0].qpn"},
		{"\"generation\":5", "\"generation\":-1", "peers[0].generation"},
		{"[[0,1", "[[1,1", "rows[0].peer"},
		{"[[0,1", "[[\"0\",1", "rows[0].peer"},
		{",1,2,10", ",2,2,10", "rows[0].type"},
		{",1,2,10", ",1,3,10", "rows[0].stamps"},
		{",10,11", ",-1,11", "rows[0].ok"},
		{",11,", ",1.5,", "rows[0].invalid"},
		{",12,", ",null,", "rows[0].lost"},
		{",13,", ",\"\",", "rows[0].ack1_lost"},
		{",14,", ",true,", "rows[0].ack2_lost"},
		{",15,", ",[],", "rows[0].send_error"},
		{",16,", ",{},", "rows[0].unresolved"},
		{",17,20", ",1e16,20", "rows[0].suspended"},
		{",20,", ",-1,", "rows[0].late"},
		{",21,", ",-1,", "rows[0].duplicate"},
		{",22,", ",-1,", "rows[0].reordered"},
		{",23,", ",-1,", "rows[0].imprecise"},
		{",24,", ",-1,", "rows[0].late_ack2"},
		{"[150,", "[-1,", "rows[0].rtt.min_ns"},
		{"[150,", "[901,", "rows[0].rtt.min_ns"},
		{",900,", ",-1,", "rows[0].rtt.max_ns"},
		{",900,1,", ",900,-1,", "rows[0].rtt.under"},
		{",1,2,[", ",1,-2,[", "rows[0].rtt.over"},
		{"[[60,3],[70,4]]", "7", "rows[0].rtt.buckets"},
		{"[60,3]", "[1703,3]", "rows[0].rtt.buckets[0].bucket"},
		{"[60,3]", "[60,4294967296]", "rows[0].rtt.buckets[0].count"},
		{"[60,3]", "[60]", "rows[0].rtt.buckets[0].count"},
		{"[60,3]", "[60,0]", "rows[0].rtt.buckets[0]"},
		{"[60,3]", "[70,3]", "rows[0].rtt.buckets[1]"},
		{"[150,900,1,2,[[60,3],[70,4]]]", "[0,0,0,0,[]]", "rows[0].rtt"},
		{"[150,900,1,2,[[60,3],[70,4]]],[]", "[],1", "rows[0].prober_delay"},
		{"[],[],[]]", "[],1,[]]", "rows[0].responder_delay"},
		{"[],[],[]]", "[],[],{}]", "rows[0].late_rtt"},
		{"[],[],[]]", "[],[]]", "rows[0].late_rtt"},
		{"[],[],[]]", "[],[],[],[]]", "rows[0]"},
		{"[[0,31", "[[1,31", "responder_rows[0].peer"},
		{",31,", ",-1,", "responder_rows[0].received"},
		{",32,", ",-1,", "responder_rows[0].ack1_sent"},
		{",33,", ",-1,", "responder_rows[0].ack2_sent"},
		{",34]", ",-1]", "responder_rows[0].refused"},
		{":41", ":-1", "local.ring_drops"},
		{":42", ":-1", "local.rx_no_buffer"},
		{":43", ":-1", "local.schedule_skipped"},
		{":0.5", ":1.5", "local.cpu_ratio"},
		{"\"throttle\":1", "\"throttle\":2", "local.throttle"},
		{"\"peers\":[{", "\"peers\":[],\"x\":[{", "rows[0].peer"},
	};

	check_bad(good, bad, RP_ARRAY_LEN(bad), decode_report);
}

static int
decode_report_reply(const char *json, size_t len)
{
	struct rp_api_report_reply msg;

	return rp_api_decode_report_reply(json, len, &msg, &err);
}

static void
report_reply__wrong_type__names_the_field(void)
{
	static const struct bad bad[] = {
		{"true", "1", "accepted"},
		{"false", "null", "duplicate"},
		{"3", "-3", "sla_violations"},
	};

	check_bad("{\"accepted\":true,\"duplicate\":false,\"sla_violations\":3}", bad,
		RP_ARRAY_LEN(bad), decode_report_reply);
}

static void
refusal__of_ours_or_of_a_proxy__told_apart(void)
{
	static const char *const bad[] = {"", "<html>", "{}", "{\"error\":1}",
		"{\"error\":{\"code\":\"x\"}}", "{\"error\":{\"code\":1,\"message\":\"m\"}}"};
	static const char with[] =
		"{\"error\":{\"code\":\"c\",\"message\":\"m\",\"request_id\":\"r\",\"field\":\"f[1]\"}}";
	static const char without[] = "{\"error\":{\"code\":\"c\",\"message\":\"m\"}}";
	struct rp_api_refusal r;

	UT_OK(rp_api_decode_refusal(with, strlen(with), &r));
	UT_STR(r.code, "c");
	UT_STR(r.message, "m");
	UT_STR(r.field, "f[1]");
	UT_OK(rp_api_decode_refusal(without, strlen(without), &r));
	UT_STR(r.field, "");
	for (size_t i = 0; i < RP_ARRAY_LEN(bad); i++)
		UT_EQ(rp_api_decode_refusal(bad[i], strlen(bad[i]), &r), -EINVAL);
}

static void
row_columns__order__is_the_contract(void)
{
	static const char *const want[] = {"peer", "type", "stamps", "ok", "invalid", "lost",
		"ack1_lost", "ack2_lost", "send_error", "unresolved", "suspended", "late",
		"duplicate", "reordered", "imprecise", "late_ack2", "rtt", "prober_delay",
		"responder_delay", "late_rtt"};
	const char *const *got = rp_api_row_columns();

	for (size_t i = 0; i < RP_ARRAY_LEN(want); i++)
		if (!UT_STR(got[i], want[i]))
			return;
	UT_TRUE(got[RP_ARRAY_LEN(want)] == NULL);
}

static void
name__limits__are_128_bytes_and_no_slash(void)
{
	char name[RP_API_NAME_MAX + 1];

	memset(name, 'a', sizeof(name));
	name[128] = '\0';
	UT_TRUE(rp_api_name_is_valid(name, false));
	name[128] = 'a';
	name[129] = '\0';
	UT_FALSE(rp_api_name_is_valid(name, false));
	UT_FALSE(rp_api_name_is_valid("a/b", false));
	UT_FALSE(rp_api_name_is_valid("a\nb", false));
	UT_FALSE(rp_api_name_is_valid("a\tb", false));
	UT_FALSE(rp_api_name_is_valid("", false));
	UT_TRUE(rp_api_name_is_valid("", true));
}

static const struct ut_test tests[] = {
	UT(register__any_message__survives_the_round_trip),
	UT(register_reply__any_message__survives_the_round_trip),
	UT(pinglist__any_message__survives_the_round_trip),
	UT(target__one_record__survives_the_round_trip),
	UT(target__without_stamps__has_those_of_software),
	UT(report__any_message__survives_the_round_trip),
	UT(report_reply__any_message__survives_the_round_trip),
	UT(register__wrong_type_or_range__names_the_field),
	UT(register_reply__wrong_type_or_range__names_the_field),
	UT(pinglist__wrong_type_or_range__names_the_field),
	UT(report__wrong_type_or_range__names_the_field),
	UT(report_reply__wrong_type__names_the_field),
	UT(refusal__of_ours_or_of_a_proxy__told_apart),
	UT(row_columns__order__is_the_contract),
	UT(name__limits__are_128_bytes_and_no_slash),
};

UT_MAIN("api", tests)
