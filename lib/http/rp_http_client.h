/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef RP_HTTP_CLIENT_H
#define RP_HTTP_CLIENT_H

/**
 * @file rp_http_client.h
 * Asynchronous HTTP/1.1 client for one control thread. Connections are kept
 * alive for up to 60 s, so that the server is never the first to close one.
 *
 * Never: redirects, proxies from the environment, other schemes than http and
 * https, a wait for 100-continue.
 *
 * Thread:  one owner; rp_http_client_wakeup() from any thread. Callbacks run
 *          inside rp_http_client_poll() and may start new requests.
 * Memory:  heap; everything passed to rp_http_client_start() is copied.
 * Time:    milliseconds.
 */

#include <stddef.h>
#include <stdint.h>

struct rp_http_client; /* opaque */

struct rp_http_client_conf {
	const char *product;         /* User-Agent is "product/version" */
	uint32_t connect_timeout_ms; /* 1 .. 600000 */
	size_t max_body_bytes;       /* a longer answer is an error; > 0 */
};

/** What came back; valid during the callback only. */
struct rp_http_answer {
	int status;              /* 200 .. 599; 0 when there is no answer: see error */
	const char *body;        /* NUL-terminated, never NULL */
	size_t body_len;         /* bytes, without that NUL */
	const char *etag;        /* without quotes; "" when absent */
	int32_t retry_after_sec; /* 0 .. 86400; -1 when absent (dates count as absent) */
	const char *error;       /* one line naming the cause; "" when status is not 0 */
};

typedef void (*rp_http_done_fn)(const struct rp_http_answer *answer, void *arg);

struct rp_http_call {
	const char *method; /* "GET", "PUT", "POST", "DELETE" */
	const char *url;    /* percent-encoded (rp_http_url.h) */
	const void *body;   /* JSON; NULL for none */
	size_t body_len;
	const char *header;  /* one extra line such as "If-None-Match: \"x\"", or NULL */
	uint32_t timeout_ms; /* of the whole exchange; 1 .. 600000 */
	rp_http_done_fn done;
	void *arg; /* for done */
};

/** @return 0, -EINVAL (conf), -ENOMEM */
int rp_http_client_create(
	const struct rp_http_client_conf *conf, struct rp_http_client **ret_client);

/** Drop running requests without calling back, close the connections. NULL is allowed. */
void rp_http_client_destroy(struct rp_http_client *client);

/**
 * Begin an exchange. @c done is called exactly once, from rp_http_client_poll(),
 * unless the client is destroyed before.
 *
 * @return 0, -EINVAL (method, timeout, URL scheme), -ENOMEM; nothing is called then
 */
int rp_http_client_start(struct rp_http_client *client, const struct rp_http_call *call);

/** Exchanges that have not called back yet. */
size_t rp_http_client_busy(const struct rp_http_client *client);

/**
 * Drive all exchanges and call back the finished ones. Sleeps until there is
 * something to do, at most @p timeout_ms; also returns on a wakeup.
 *
 * @return 0, -EIO (the library failed; exchanges will time out)
 */
int rp_http_client_poll(struct rp_http_client *client, uint32_t timeout_ms);

/** End the current or the next poll early. Any thread. */
void rp_http_client_wakeup(struct rp_http_client *client);

#endif /* RP_HTTP_CLIENT_H */
