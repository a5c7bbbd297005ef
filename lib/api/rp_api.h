/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef RP_API_H
#define RP_API_H

/**
 * @file rp_api.h
 * Messages between agent and controller (docs/api.md): structs, and their JSON.
 * Encoding and decoding only; no sockets.
 *
 * Thread:  any; a message has one owner.
 * Memory:  arrays are heap, released by the message's _fini(); names are fixed
 *          arrays, so a message never points into its JSON.
 * Time:    milliseconds since the epoch on the controller's clock, or seconds, as
 *          named; durations in ns inside histograms.
 * Errors:  decoding refuses a wrong type, a missing field and a value out of range
 *          with -EINVAL and names the field ("rnics[2].qpn"); unknown fields are
 *          ignored. -ENOMEM.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rp_buf.h"
#include "rp_gid.h"
#include "rp_hist.h"
#include "rp_state.h"

#define RP_API_NAME_MAX 129 /* agent_id, hostname, tor_id, rail: 128 bytes and NUL */
#define RP_API_UUID_MAX 37
#define RP_API_ETAG_MAX 33 /* without quotes */

#define RP_API_RNICS_MAX   64    /* of one agent */
#define RP_API_TARGETS_MAX 20000 /* of one pinglist */
#define RP_API_SOURCES_MAX 20000
#define RP_API_ROWS_MAX    20000 /* of one report part */

/** Where decoding stopped. */
struct rp_api_err {
	char field[96];
	char message[160];
};

enum rp_api_type {
	RP_API_TOR_MESH,
	RP_API_INTER_TOR,
	RP_API_TYPE_N,
};

const char *rp_api_type_name(enum rp_api_type type); /* "tor_mesh", "inter_tor" */

struct rp_api_rnic {
	struct rp_gid gid;
	uint32_t qpn;        /* of the responder QP; 2 .. 2^24-1 */
	uint32_t qkey;       /* of the responder QP; 0 .. 2^31-1 */
	uint32_t generation; /* of the responder QP; never 0 */
	char device[RP_API_NAME_MAX];
	char driver[RP_API_NAME_MAX];
	char tor_id[RP_API_NAME_MAX]; /* "" = the agent's */
	char rail[RP_API_NAME_MAX];   /* "" = unknown */
	bool hw_stamps;
	bool up;           /* state: "up" or "down" */
	double speed_gbps; /* 0 = unknown */
};

/** PUT /v1/agents/{agent_id} */
struct rp_api_register {
	char boot_id[RP_API_UUID_MAX]; /* random per process start */
	uint64_t set_seq;              /* rises with every change of the set; < 2^53 */
	char hostname[RP_API_NAME_MAX];
	char agent_ip[RP_GID_TEXT_MAX];
	char tor_id[RP_API_NAME_MAX];
	char version[RP_API_NAME_MAX];
	struct rp_api_rnic *rnic;
	size_t n_rnics;
};

struct rp_api_etag {
	struct rp_gid gid;
	char etag[RP_API_ETAG_MAX];
};

struct rp_api_register_reply {
	bool registered;
	struct rp_api_etag *etag; /* one per RNIC of the set */
	size_t n_etags;
	uint32_t heartbeat_sec; /* 1 .. 3600 */
	int64_t server_time_ms;
};

struct rp_api_target {
	struct rp_gid gid;
	uint32_t qpn;
	uint32_t qkey;
	uint32_t generation;
	enum rp_api_type type;
	uint32_t flow_label_seed;
	uint32_t flow_label_count; /* 1 .. 4096 */
	uint32_t flow_label;       /* used verbatim when flow_label_count <= 1 */
	char hostname[RP_API_NAME_MAX];
	char tor_id[RP_API_NAME_MAX];
	char device[RP_API_NAME_MAX];
	bool hw_stamps;    /* the responder's stamps: "hw" or "sw" */
	int service_level; /* 0 .. 7, -1 = the agent's own */
	int traffic_class; /* 0 .. 255, -1 = the agent's own */
};

/** GET /v1/pinglist: targets of one RNIC, and who may probe it. */
struct rp_api_pinglist {
	struct rp_gid gid;
	struct rp_api_target *target;
	size_t n_targets;
	struct rp_gid *source;
	size_t n_sources;
};

struct rp_api_peer {
	struct rp_gid gid;
	uint32_t qpn;
	uint32_t generation;
};

/** One path of one window. JSON: an array in the order of rp_api_row_columns(). */
struct rp_api_row {
	uint32_t peer; /* index into the report's peers */
	enum rp_api_type type;
	enum rp_stamps stamps;
	struct rp_counts counts;
	struct rp_shist rtt;       /* network RTT of ok probes */
	struct rp_shist prober;    /* prober delay */
	struct rp_shist responder; /* responder delay */
	struct rp_shist late;      /* network RTT of late answers */
};

/** What our responder did for one source in the window. */
struct rp_api_responder_row {
	uint32_t peer;
	uint64_t received;
	uint64_t ack1_sent;
	uint64_t ack2_sent;
	uint64_t refused;
};

/** Trouble of the reporting host: such a window never blames the fabric. */
struct rp_api_local {
	uint64_t ring_drops;
	uint64_t rx_no_buffer;
	uint64_t schedule_skipped;
	double cpu_ratio; /* 0 .. 1: useful cycles of the busiest lcore */
	double throttle;  /* 1, 0.5, 0.25, 0.1 */
};

/** POST /v1/reports: one window of one RNIC, or a part of it. */
struct rp_api_report {
	char agent_id[RP_API_NAME_MAX];
	char boot_id[RP_API_UUID_MAX];
	uint64_t report_seq; /* rises by one per report of a boot_id; < 2^53 */
	uint32_t part;       /* 0 .. parts-1 */
	uint32_t parts;      /* 1 .. 1000 */
	struct rp_gid gid;   /* the reporting RNIC */
	int64_t window_start_ms;
	uint32_t window_ms;
	struct rp_api_peer *peer;
	size_t n_peers;
	struct rp_api_row *row;
	size_t n_rows;
	struct rp_api_responder_row *responder_row;
	size_t n_responder_rows;
	struct rp_api_local local;
};

struct rp_api_report_reply {
	bool accepted;  /* false: the analyzer is off, drop the report */
	bool duplicate; /* was known already */
	uint64_t sla_violations;
};

/** An error answer: {"error":{"code","message","request_id","field"?}}. */
struct rp_api_refusal {
	char code[64];
	char message[256];
	char field[96]; /* "" when it names none */
};

/** @return 0, -EINVAL when it is none of ours (a proxy's page), -ENOMEM */
int rp_api_decode_refusal(const char *json, size_t len, struct rp_api_refusal *ret_refusal);

void rp_api_encode_register(const struct rp_api_register *msg, struct rp_buf *out);
void rp_api_encode_register_reply(const struct rp_api_register_reply *msg, struct rp_buf *out);
void rp_api_encode_pinglist(const struct rp_api_pinglist *msg, struct rp_buf *out);
void rp_api_encode_report(const struct rp_api_report *msg, struct rp_buf *out);
void rp_api_encode_report_reply(const struct rp_api_report_reply *msg, struct rp_buf *out);
/** The record of one RNIC as a target (GET /v1/rnics/{gid}). */
void rp_api_encode_target(const struct rp_api_target *target, struct rp_buf *out);

int rp_api_decode_register(
	const char *json, size_t len, struct rp_api_register *ret_msg, struct rp_api_err *reterr);
int rp_api_decode_register_reply(const char *json, size_t len,
	struct rp_api_register_reply *ret_msg, struct rp_api_err *reterr);
int rp_api_decode_pinglist(
	const char *json, size_t len, struct rp_api_pinglist *ret_msg, struct rp_api_err *reterr);
int rp_api_decode_report(
	const char *json, size_t len, struct rp_api_report *ret_msg, struct rp_api_err *reterr);
int rp_api_decode_report_reply(const char *json, size_t len, struct rp_api_report_reply *ret_msg,
	struct rp_api_err *reterr);
int rp_api_decode_target(
	const char *json, size_t len, struct rp_api_target *ret_target, struct rp_api_err *reterr);

void rp_api_register_fini(struct rp_api_register *msg);
void rp_api_register_reply_fini(struct rp_api_register_reply *msg);
void rp_api_pinglist_fini(struct rp_api_pinglist *msg);
void rp_api_report_fini(struct rp_api_report *msg);

/**
 * One row alone, as the store keeps it; its peer is 0. The text has a version, and
 * its counters are lists that may grow: rows of an older release are read with
 * zeros for what it did not count.
 */
void rp_api_encode_row(const struct rp_api_row *row, struct rp_buf *out);
/** Release with rp_api_row_fini(). @return 0, -EINVAL (damaged, or of a newer release), -ENOMEM */
int rp_api_decode_row(
	const char *json, size_t len, struct rp_api_row *ret_row, struct rp_api_err *reterr);
void rp_api_row_fini(struct rp_api_row *row);

/** Names of a row's columns in order, NULL-terminated: peer, type, stamps, states, extras, hists. */
const char *const *rp_api_row_columns(void);

/**
 * agent_id, hostname, tor_id, rail, device: 1 .. 128 bytes of printable UTF-8
 * without '/' (they stand in URLs); "" allowed where the field says so.
 */
bool rp_api_name_is_valid(const char *name, bool empty_allowed);

#endif /* RP_API_H */
