/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "ctl.h"
#include "rp_payload.h"
#include "rp_pcap.h"
#include "rp_roce.h"
#include "table.h"

#define WHY_MAX 256

static const char *const heads[] = {">TIME (us)", "SOURCE", "DESTINATION", ">SPORT", "OPCODE",
	">DQPN", ">SQPN", ">PSN", ">LEN", "ICRC", "PROBE", NULL};

struct summary {
	uint64_t verdict[RP_ROCE_VERDICT_N];
	uint64_t cut; /* the capture holds a part of the frame only */
	uint64_t icrc_bad;
	uint64_t probes;
};

struct decoded {
	int64_t ts_us;
	struct rp_roce_view view;
	bool icrc_ok;
	bool is_probe;
	struct rp_payload probe;
};

static const char *
message_name(const struct rp_payload *p)
{
	if (p->msg_type == RP_MSG_PROBE)
		return "probe";
	return p->ack_type == RP_ACK_FIRST ? "ack1" : "ack2";
}

static void
print_json(const struct decoded *d)
{
	const struct rp_roce_fields *f = &d->view.f;
	char src[RP_GID_TEXT_MAX], dst[RP_GID_TEXT_MAX];

	printf("{\"ts_us\":%" PRId64 ",\"src\":\"%s\",\"dst\":\"%s\",\"sport\":%u,\"opcode\":%u,"
	       "\"dqpn\":%" PRIu32 ",\"sqpn\":%" PRIu32 ",\"psn\":%" PRIu32 ",\"pkey\":%u,"
	       "\"qkey\":%" PRIu32 ",\"len\":%u,\"icrc\":\"%s\",\"probe\":",
		d->ts_us, rp_gid_format_ip(&f->src, src), rp_gid_format_ip(&f->dst, dst), f->sport,
		f->opcode, f->dqpn, f->sqpn, f->psn, f->pkey, f->qkey, d->view.payload_len,
		d->icrc_ok ? "ok" : "bad");
	if (d->is_probe)
		printf("{\"message\":\"%s\",\"sequence\":%" PRIu64
		       ",\"flags\":%u,\"t1_ns\":%" PRIu64 ",\"t3_ns\":%" PRIu64
		       ",\"t4_ns\":%" PRIu64 ",\"ext\":%" PRIu32 "}}\n",
			message_name(&d->probe), d->probe.sequence, d->probe.flags, d->probe.t1_ns,
			d->probe.t3.ns, d->probe.t4.ns, d->probe.ext);
	else
		printf("null}\n");
}

static void
add_number(struct table *t, int64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRId64, value);
	table_add(t, text);
}

static void
add_row(struct table *t, const struct decoded *d)
{
	const struct rp_roce_fields *f = &d->view.f;
	char text[RP_GID_TEXT_MAX + 32];

	add_number(t, d->ts_us);
	table_add(t, rp_gid_format_ip(&f->src, text));
	table_add(t, rp_gid_format_ip(&f->dst, text));
	add_number(t, f->sport);
	table_add(t, f->opcode == RP_ROCE_OP_UD_SEND ? "SEND" : "SEND_IMM");
	add_number(t, f->dqpn);
	add_number(t, f->sqpn);
	add_number(t, f->psn);
	add_number(t, d->view.payload_len);
	table_add_color(t, d->icrc_ok ? TABLE_GOOD : TABLE_BAD, d->icrc_ok ? "ok" : "bad");
	if (d->is_probe)
		snprintf(text, sizeof(text), "%s %" PRIu64, message_name(&d->probe),
			d->probe.sequence);
	else
		snprintf(text, sizeof(text), "-");
	table_add(t, text);
}

/* @return whether there is something to show */
static bool
decode(const struct rp_pcap_frame *frame, struct summary *sum, struct decoded *ret)
{
	enum rp_roce_verdict verdict = rp_roce_parse(frame->data, frame->len, &ret->view);

	if (verdict != RP_ROCE_OK && verdict != RP_ROCE_NOT_ROCE && frame->len < frame->wire_len) {
		sum->cut++;
		return false;
	}
	sum->verdict[verdict]++;
	if (verdict != RP_ROCE_OK)
		return false;
	ret->ts_us = frame->ts_us;
	ret->icrc_ok = rp_roce_icrc(frame->data, &ret->view) == ret->view.icrc;
	ret->is_probe =
		rp_payload_decode(frame->data + ret->view.payload_off, ret->view.payload_len,
			RP_ROCE_PAYLOAD_MAX, &ret->probe) == RP_PAYLOAD_OK;
	sum->icrc_bad += !ret->icrc_ok;
	sum->probes += ret->is_probe;
	return true;
}

static void
print_summary(const struct summary *sum, FILE *to)
{
	uint64_t all = sum->cut;

	for (int v = 0; v < RP_ROCE_VERDICT_N; v++)
		all += sum->verdict[v];
	fprintf(to,
		"%" PRIu64 " frames, %" PRIu64 " roce, %" PRIu64 " probe messages, %" PRIu64
		" bad icrc",
		all, sum->verdict[RP_ROCE_OK], sum->probes, sum->icrc_bad);
	for (int v = 0; v < RP_ROCE_VERDICT_N; v++)
		if (v != RP_ROCE_OK && sum->verdict[v] > 0)
			fprintf(to, ", %" PRIu64 " %s", sum->verdict[v],
				rp_roce_verdict_name((enum rp_roce_verdict)v));
	if (sum->cut > 0)
		fprintf(to, ", %" PRIu64 " cut", sum->cut);
	fputs("\n", to);
}

int
cmd_decode(struct ctl *ctl)
{
	struct rp_pcap_frame frame;
	struct summary sum = {0};
	struct rp_pcap *pcap;
	char why[WHY_MAX] = "";
	struct table t;
	int rc = rp_pcap_open(ctl->arg[0], &pcap, why);

	if (rc != 0)
		return ctl_fail(rc == -EPROTO ? CTL_EX_DATA : CTL_EX_IO, "%s: %s", ctl->arg[0],
			rc == -EPROTO ? why : strerror(-rc));
	table_init(&t, heads);
	while ((rc = rp_pcap_next(pcap, &frame, why)) == 1) {
		struct decoded d;

		if (!decode(&frame, &sum, &d))
			continue;
		if (ctl->json)
			print_json(&d);
		else
			add_row(&t, &d);
	}
	rp_pcap_close(pcap);
	if (ctl->json)
		table_fini(&t);
	else if (table_print(&t, ctl->color) != 0)
		return ctl_fail(CTL_EX_IO, "cannot write the table");
	if (fflush(stdout) != 0)
		return ctl_fail(CTL_EX_IO, "cannot write: %s", strerror(errno));
	print_summary(&sum, ctl->json ? stderr : stdout);
	if (rc < 0)
		return ctl_fail(CTL_EX_DATA, "%s: %s", ctl->arg[0], why);
	return CTL_EX_OK;
}
