/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef RP_HTTP_SERVER_H
#define RP_HTTP_SERVER_H

/**
 * @file rp_http_server.h
 * Small HTTP/1.1 server: a table of routes, a request view, one reply each.
 *
 * Everything that a stranger can stretch has a limit: header bytes, body bytes,
 * connections, the time from the first byte of a request to its last, the time
 * a fresh connection may stay silent, the time a peer may take to read a reply.
 *
 * Thread:  handlers run on one of the server's loop threads and must not block.
 *          A handler that returns without a reply has deferred it: any thread
 *          may then look at the request and reply, exactly once.
 * Memory:  a request and all that its getters return live until the reply.
 * Time:    milliseconds.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rp_buf.h"

#define RP_HTTP_WHY_MAX     256
#define RP_HTTP_ADDRESS_MAX 64
#define RP_HTTP_THREADS_MAX 16
#define RP_HTTP_PARAMS_MAX  4
#define RP_HTTP_QUERY_MAX   16

struct rp_http_server;  /* opaque */
struct rp_http_request; /* opaque */

typedef void (*rp_http_handler_fn)(struct rp_http_request *req, void *arg);

struct rp_http_route {
	const char *method;  /* "GET" serves HEAD too */
	const char *pattern; /* "/v1/agents/{id}": {name} takes one segment */
	rp_http_handler_fn handle;
};

struct rp_http_server_conf {
	const char *listen; /* "HOST:PORT", "[V6]:PORT", ":PORT" for all; port 0 for any */
	const struct rp_http_route *route; /* must outlive the server */
	size_t n_routes;
	void *arg;                /* for the handlers */
	unsigned int threads;     /* 1 .. RP_HTTP_THREADS_MAX */
	size_t max_header_bytes;  /* more is 400 */
	size_t max_body_bytes;    /* more is 413 */
	uint32_t max_connections; /* more wait in the backlog */
	uint32_t deadline_ms;     /* of reading one request, and of writing one reply */
	uint32_t idle_ms;         /* of a connection between two requests */
};

/** Rising counts since the start, except connections_open. */
struct rp_http_counters {
	uint64_t connections;
	uint64_t connections_open;
	uint64_t cap_pauses;      /* times the connection cap stopped accepting */
	uint64_t accept_errors;   /* EMFILE and its like */
	uint64_t deadline_closes; /* too slow: closed */
	uint64_t answers[6];      /* by status / 100 */
	uint64_t answer_ns;       /* sum of the times from request read to reply begun */
};

/**
 * Whether rp_http_server_conf.listen can be one; names are not looked up.
 * @param why  RP_HTTP_WHY_MAX bytes
 * @return 0, -EINVAL
 */
int rp_http_check_listen(const char *text, char *why);

/**
 * Bind and listen; connections wait until rp_http_server_start().
 * @param why  RP_HTTP_WHY_MAX bytes: one line naming address and cause
 * @return 0, -EINVAL (conf, address), -errno of socket and bind, -ENOMEM
 */
int rp_http_server_open(
	const struct rp_http_server_conf *conf, struct rp_http_server **ret_server, char *why);

/** Begin to serve. @return 0, -errno of thread creation */
int rp_http_server_start(struct rp_http_server *server);

/**
 * Stop accepting, answer new requests with 503, wait until every deferred one is
 * answered (and up to a second for the peers to read), join the threads, release
 * everything. NULL is allowed.
 */
void rp_http_server_close(struct rp_http_server *server);

/** "127.0.0.1:41234": with the real port. RP_HTTP_ADDRESS_MAX bytes. */
void rp_http_server_address(const struct rp_http_server *server, char *ret_text);

/** Any thread. */
void rp_http_server_counters(const struct rp_http_server *server, struct rp_http_counters *ret);

const char *rp_http_request_method(const struct rp_http_request *req); /* HEAD reads "GET" */
const char *rp_http_request_path(const struct rp_http_request *req);   /* as sent */
const char *rp_http_request_peer(const struct rp_http_request *req);   /* IP address */
const char *rp_http_request_id(const struct rp_http_request *req);     /* of logs and errors */

/** Segment that stood for {name} in the pattern, decoded; never NULL for a name of it. */
const char *rp_http_request_param(const struct rp_http_request *req, const char *name);

/** Query parameter, decoded; NULL when absent. */
const char *rp_http_request_query(const struct rp_http_request *req, const char *name);

/** First header of that name, any case; NULL when absent. */
const char *rp_http_request_header(const struct rp_http_request *req, const char *name);

/** Whole body, not NUL-terminated. */
const char *rp_http_request_body(const struct rp_http_request *req, size_t *ret_len);

/** Add a header to the coming reply; @p value holds no line breaks. */
void rp_http_reply_header(struct rp_http_request *req, const char *name, const char *value);

/** Reply and release @p req. Takes the memory of @p body (NULL: none) over. */
void rp_http_reply(
	struct rp_http_request *req, int status, const char *content_type, struct rp_buf *body);

/**
 * Reply {"error":{"code","message","request_id","field"}} and release @p req.
 * @param field  what is to blame, or NULL
 */
void rp_http_reply_error(struct rp_http_request *req, int status, const char *code,
	const char *field, const char *fmt, ...) RP_PRINTF(5, 6);

#endif /* RP_HTTP_SERVER_H */
