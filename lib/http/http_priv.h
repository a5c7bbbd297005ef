/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef HTTP_PRIV_H
#define HTTP_PRIV_H

/**
 * @file http_priv.h
 * Between the two halves of the server: connections and limits
 * (http_server.c), requests and replies (http_request.c).
 *
 * Thread:  a loop and all its connections belong to the loop's thread.
 * Memory:  connections are freed when evhttp closes them; requests by the reply.
 * Time:    ms; CLOCK_MONOTONIC.
 */

#include <event2/event.h>
#include <event2/http.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/queue.h>

#include "rp_base.h"
#include "rp_http_server.h"

#define CONN_BUCKETS 1024u

struct http_loop {
	struct rp_http_server *server;
	struct event_base *base;
	struct evhttp *http;
	struct evconnlistener *listener;
	struct event *resume; /* ends a pause after EMFILE */
	struct event *apply;  /* activated from outside: look whether to accept */
	bool paused;          /* under server->lock */
	bool running;         /* its thread exists */
	pthread_t thread;
	LIST_HEAD(, http_conn) bucket[CONN_BUCKETS]; /* by address of the evhttp_connection */
};

enum http_conn_state {
	HTTP_CONN_IDLE,     /* between requests */
	HTTP_CONN_READING,  /* deadline runs */
	HTTP_CONN_HANDLING, /* ours */
	HTTP_CONN_WRITING,  /* deadline runs */
};

struct http_conn {
	LIST_ENTRY(http_conn) link;
	struct http_loop *loop;
	struct bufferevent *bev;
	struct evhttp_connection *evcon; /* NULL until adopted */
	struct event *deadline;
	enum http_conn_state state;
};

struct rp_http_server {
	struct rp_http_server_conf conf;
	char address[RP_HTTP_ADDRESS_MAX];
	uint32_t id_prefix;
	pthread_mutex_t lock; /* listeners on and off; waiting for the last reply */
	pthread_cond_t quiet; /* one of the two counts below fell to 0 */
	bool stopping;
	uint32_t unanswered; /* requests whose handler has not replied; under lock */
	uint32_t unwritten;  /* replies that have not reached the socket; under lock */
	_Atomic uint32_t next_id;
	_Atomic uint32_t conns;
	_Atomic uint64_t n_conns, cap_pauses, accept_errors, deadline_closes, answer_ns;
	_Atomic uint64_t answers[6];
	struct http_loop loop[RP_HTTP_THREADS_MAX];
};

/** Connection of @p evcon, or NULL. */
struct http_conn *http_conn_find(struct http_loop *loop, const struct evhttp_connection *evcon);
/** The request was read: the deadline stops. */
void http_conn_handling(struct http_conn *conn);
/** The reply begins: its deadline runs. */
void http_conn_writing(struct http_conn *conn);
/** The reply is out. */
void http_conn_idle(struct http_conn *conn);

/** evhttp's general callback; @p arg is the loop. */
void http_request_arrived(struct evhttp_request *ev, void *arg);

#endif /* HTTP_PRIV_H */
