/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/listener.h>
#include <event2/thread.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "http_priv.h"
#include "rp_log.h"
#include "rp_rng.h"
#include "rp_text.h"

#define HOST_MAX         256
#define PORT_MAX         6
#define RP_LOG_COMPONENT "http"

#define BACKLOG         4096
#define EMFILE_PAUSE_MS 200
#define FLUSH_SEC       1 /* at the end, for replies that are on their way */

static struct timeval
to_timeval(uint32_t ms)
{
	return (struct timeval){.tv_sec = ms / 1000, .tv_usec = (suseconds_t)(ms % 1000) * 1000};
}

/* evhttp takes the listener's one argument for itself: the thread knows its loop. */
static _Thread_local struct http_loop *this_loop;

/* One rule for every reason to stop or go on accepting. The loop's thread only. */
static void
apply_listener(struct http_loop *loop)
{
	struct rp_http_server *server = loop->server;
	bool accept;

	pthread_mutex_lock(&server->lock);
	accept = !server->stopping && !loop->paused &&
		atomic_load(&server->conns) < server->conf.max_connections;
	pthread_mutex_unlock(&server->lock);
	if (loop->listener == NULL)
		return;
	if (accept)
		evconnlistener_enable(loop->listener);
	else
		evconnlistener_disable(loop->listener);
}

static void
on_apply(evutil_socket_t fd RP_UNUSED, short what RP_UNUSED, void *arg)
{
	apply_listener(arg);
}

/*
 * Something that the rule looks at has changed. Other loops are only told: to
 * disable a listener from outside waits for its callback, which may wait for us.
 */
static void
apply_listeners(struct rp_http_server *server)
{
	for (unsigned int i = 0; i < server->conf.threads; i++) {
		struct http_loop *loop = &server->loop[i];

		if (loop == this_loop)
			apply_listener(loop);
		else if (loop->apply != NULL)
			event_active(loop->apply, EV_TIMEOUT, 0);
	}
}

static unsigned int
bucket_of(const struct evhttp_connection *evcon)
{
	return (unsigned int)((uintptr_t)evcon >> 5) % CONN_BUCKETS;
}

struct http_conn *
http_conn_find(struct http_loop *loop, const struct evhttp_connection *evcon)
{
	struct http_conn *conn;

	LIST_FOREACH(conn, &loop->bucket[bucket_of(evcon)], link)
		if (conn->evcon == evcon)
			return conn;
	return NULL;
}

static void
arm_deadline(struct http_conn *conn)
{
	struct timeval tv = to_timeval(conn->loop->server->conf.deadline_ms);

	evtimer_add(conn->deadline, &tv);
}

void
http_conn_handling(struct http_conn *conn)
{
	conn->state = HTTP_CONN_HANDLING;
	evtimer_del(conn->deadline);
}

void
http_conn_writing(struct http_conn *conn)
{
	struct rp_http_server *server = conn->loop->server;

	conn->state = HTTP_CONN_WRITING;
	arm_deadline(conn);
	pthread_mutex_lock(&server->lock);
	server->unwritten++;
	pthread_mutex_unlock(&server->lock);
}

void
http_conn_idle(struct http_conn *conn)
{
	struct rp_http_server *server = conn->loop->server;

	evtimer_del(conn->deadline);
	if (conn->state == HTTP_CONN_WRITING) {
		pthread_mutex_lock(&server->lock);
		if (--server->unwritten == 0)
			pthread_cond_signal(&server->quiet);
		pthread_mutex_unlock(&server->lock);
	}
	conn->state = HTTP_CONN_IDLE;
}

static void
conn_free(struct http_conn *conn)
{
	struct rp_http_server *server = conn->loop->server;

	http_conn_idle(conn);
	LIST_REMOVE(conn, link);
	event_free(conn->deadline);
	free(conn);
	if (atomic_fetch_sub(&server->conns, 1) == server->conf.max_connections)
		apply_listeners(server);
}

static void
on_closed(struct evhttp_connection *evcon RP_UNUSED, void *arg)
{
	conn_free(arg);
}

static void
on_deadline(evutil_socket_t fd RP_UNUSED, short what RP_UNUSED, void *arg)
{
	struct http_conn *conn = arg;

	atomic_fetch_add(&conn->loop->server->deadline_closes, 1);
	evhttp_connection_free(conn->evcon);
}

/* First byte of a request: evhttp's own time-out starts again with every byte. */
static void
on_input(struct evbuffer *input RP_UNUSED, const struct evbuffer_cb_info *change, void *arg)
{
	struct http_conn *conn = arg;

	if (change->n_added > 0 && conn->state == HTTP_CONN_IDLE) {
		conn->state = HTTP_CONN_READING;
		arm_deadline(conn);
	}
}

/*
 * evhttp tells neither of a new connection nor, before the first request, of a
 * lost one. It does make itself the argument of the bufferevent's callbacks;
 * this runs in the turn of the loop that accepted, before a byte can be read.
 */
static void
adopt(evutil_socket_t fd RP_UNUSED, short what RP_UNUSED, void *arg)
{
	struct http_conn *conn = arg;
	void *evcon = NULL;

	bufferevent_getcb(conn->bev, NULL, NULL, NULL, &evcon);
	LIST_REMOVE(conn, link);
	conn->evcon = evcon;
	LIST_INSERT_HEAD(&conn->loop->bucket[bucket_of(evcon)], conn, link);
	evhttp_connection_set_closecb(conn->evcon, on_closed, conn);
	evbuffer_add_cb(bufferevent_get_input(conn->bev), on_input, conn);
	/* A connection that never speaks is as slow as one that never ends. */
	conn->state = HTTP_CONN_READING;
	arm_deadline(conn);
}

static struct bufferevent *
on_accept(struct event_base *base, void *arg)
{
	static const struct timeval now = {0, 0};
	struct http_loop *loop = arg;
	struct rp_http_server *server = loop->server;
	struct bufferevent *bev = bufferevent_socket_new(base, -1, BEV_OPT_CLOSE_ON_FREE);
	struct http_conn *conn = calloc(1, sizeof(*conn));

	/* Out of memory: evhttp makes its own bufferevent or drops the connection. */
	if (bev == NULL || conn == NULL)
		goto fail;
	conn->loop = loop;
	conn->bev = bev;
	conn->deadline = evtimer_new(base, on_deadline, conn);
	if (conn->deadline == NULL)
		goto fail;
	if (event_base_once(base, -1, EV_TIMEOUT, adopt, conn, &now) != 0) {
		event_free(conn->deadline);
		goto fail;
	}
	LIST_INSERT_HEAD(&loop->bucket[0], conn, link);
	atomic_fetch_add(&server->n_conns, 1);
	if (atomic_fetch_add(&server->conns, 1) + 1 == server->conf.max_connections) {
		atomic_fetch_add(&server->cap_pauses, 1);
		apply_listeners(server);
	}
	return bev;

fail:
	if (bev != NULL)
		bufferevent_free(bev);
	free(conn);
	return NULL;
}

static void
on_resume(evutil_socket_t fd RP_UNUSED, short what RP_UNUSED, void *arg)
{
	struct http_loop *loop = arg;

	pthread_mutex_lock(&loop->server->lock);
	loop->paused = false;
	pthread_mutex_unlock(&loop->server->lock);
	apply_listeners(loop->server);
}

/* Out of descriptors: the socket stays readable, so a retry at once would spin. */
static void
on_accept_error(struct evconnlistener *listener RP_UNUSED, void *arg RP_UNUSED)
{
	struct http_loop *loop = this_loop;
	struct timeval tv = to_timeval(EMFILE_PAUSE_MS);

	rp_log_rl(RP_LOG_WARN, "%s: cannot accept: %s", loop->server->address, strerror(errno));
	atomic_fetch_add(&loop->server->accept_errors, 1);
	pthread_mutex_lock(&loop->server->lock);
	loop->paused = true;
	pthread_mutex_unlock(&loop->server->lock);
	apply_listeners(loop->server);
	evtimer_add(loop->resume, &tv);
}

/* Split "HOST:PORT"; brackets around an IPv6 host. */
static int
split_address(const char *text, char *host, size_t host_cap, char *port, size_t port_cap)
{
	const char *colon = strrchr(text, ':');
	size_t len;

	if (colon == NULL || strlen(colon + 1) >= port_cap || colon[1] == '\0' ||
		strspn(colon + 1, "0123456789") != strlen(colon + 1))
		return -EINVAL;
	len = (size_t)(colon - text);
	if (len >= 2 && text[0] == '[' && text[len - 1] == ']') {
		text++;
		len -= 2;
	} else if (memchr(text, ':', len) != NULL) {
		return -EINVAL;
	}
	if (len >= host_cap)
		return -EINVAL;
	memcpy(host, text, len);
	host[len] = '\0';
	memcpy(port, colon + 1, strlen(colon + 1) + 1);
	return 0;
}

static int
parse_listen(const char *text, char *host, size_t host_cap, char *port, size_t port_cap, char *why)
{
	int64_t number;

	if (split_address(text, host, host_cap, port, port_cap) == 0 &&
		rp_text_i64(port, 0, 65535, &number) == 0)
		return 0;
	snprintf(why, RP_HTTP_WHY_MAX,
		"'%.100s' is not an address to listen on, want HOST:PORT, [IPV6]:PORT or :PORT",
		text);
	return -EINVAL;
}

int
rp_http_check_listen(const char *text, char *why)
{
	char host[HOST_MAX], port[PORT_MAX];

	return parse_listen(text, host, sizeof(host), port, sizeof(port), why);
}

static int
resolve(const char *text, struct addrinfo **ret_list, char *why)
{
	struct addrinfo hints = {.ai_flags = AI_PASSIVE | AI_NUMERICSERV,
		.ai_family = AF_UNSPEC,
		.ai_socktype = SOCK_STREAM};
	char host[HOST_MAX], port[PORT_MAX];
	int rc = parse_listen(text, host, sizeof(host), port, sizeof(port), why);

	if (rc != 0)
		return rc;
	/* All addresses: one IPv6 socket takes both families, if the kernel has IPv6. */
	if (host[0] == '\0')
		hints.ai_family = access("/proc/net/if_inet6", F_OK) == 0 ? AF_INET6 : AF_INET;
	rc = getaddrinfo(host[0] == '\0' ? NULL : host, port, &hints, ret_list);
	if (rc != 0) {
		snprintf(why, RP_HTTP_WHY_MAX, "'%.100s': %s", text, gai_strerror(rc));
		return -EINVAL;
	}
	return 0;
}

static int
set_flag(int fd, int level, int name, int value)
{
	return setsockopt(fd, level, name, &value, sizeof(value));
}

/*
 * A bound socket. The first one of an address binds alone and takes
 * SO_REUSEPORT afterwards: with it from the start, a second controller of the
 * same user would silently share the port.
 */
static int
bind_one(const struct sockaddr *addr, socklen_t len, bool first, int *ret_fd)
{
	int fd = socket(addr->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int rc;

	if (fd < 0)
		return -errno;
	if (addr->sa_family == AF_INET6)
		set_flag(fd, IPPROTO_IPV6, IPV6_V6ONLY, 0);
	if (set_flag(fd, SOL_SOCKET, SO_REUSEADDR, 1) != 0 ||
		set_flag(fd, IPPROTO_TCP, TCP_NODELAY, 1) != 0 ||
		(!first && set_flag(fd, SOL_SOCKET, SO_REUSEPORT, 1) != 0) ||
		bind(fd, addr, len) != 0 ||
		(first && set_flag(fd, SOL_SOCKET, SO_REUSEPORT, 1) != 0)) {
		rc = -errno;
		close(fd);
		return rc;
	}
	*ret_fd = fd;
	return 0;
}

static void
print_address(const struct sockaddr *addr, socklen_t len, char *ret_text)
{
	char host[INET6_ADDRSTRLEN] = "?", port[6] = "?";

	getnameinfo(
		addr, len, host, sizeof(host), port, sizeof(port), NI_NUMERICHOST | NI_NUMERICSERV);
	snprintf(ret_text, RP_HTTP_ADDRESS_MAX, addr->sa_family == AF_INET6 ? "[%s]:%s" : "%s:%s",
		host, port);
}

static int
open_loop(struct http_loop *loop, int fd)
{
	const struct rp_http_server_conf *conf = &loop->server->conf;
	struct timeval idle = to_timeval(conf->idle_ms);

	loop->base = event_base_new();
	if (loop->base == NULL)
		goto close_fd;
	loop->http = evhttp_new(loop->base);
	loop->resume = evtimer_new(loop->base, on_resume, loop);
	loop->apply = event_new(loop->base, -1, 0, on_apply, loop);
	if (loop->http == NULL || loop->resume == NULL || loop->apply == NULL)
		goto close_fd;
	loop->listener = evconnlistener_new(loop->base, NULL, NULL,
		LEV_OPT_CLOSE_ON_EXEC | LEV_OPT_CLOSE_ON_FREE | LEV_OPT_DISABLED, BACKLOG, fd);
	if (loop->listener == NULL)
		goto close_fd;
	evconnlistener_set_error_cb(loop->listener, on_accept_error);
	if (evhttp_bind_listener(loop->http, loop->listener) == NULL) {
		evconnlistener_free(loop->listener);
		loop->listener = NULL;
		return -ENOMEM;
	}
	evhttp_set_bevcb(loop->http, on_accept, loop);
	evhttp_set_gencb(loop->http, http_request_arrived, loop);
	evhttp_set_max_headers_size(loop->http, (ev_ssize_t)conf->max_header_bytes);
	evhttp_set_max_body_size(loop->http, (ev_ssize_t)conf->max_body_bytes);
	evhttp_set_timeout_tv(loop->http, &idle);
	/* All of them: which one a path takes is ours to answer, with 405 and Allow. */
	evhttp_set_allowed_methods(loop->http,
		EVHTTP_REQ_GET | EVHTTP_REQ_POST | EVHTTP_REQ_HEAD | EVHTTP_REQ_PUT |
			EVHTTP_REQ_DELETE | EVHTTP_REQ_OPTIONS | EVHTTP_REQ_TRACE |
			EVHTTP_REQ_CONNECT | EVHTTP_REQ_PATCH);
	return 0;

close_fd:
	close(fd);
	return -ENOMEM;
}

static int
bind_loops(struct rp_http_server *server, const struct addrinfo *ai)
{
	struct sockaddr_storage addr;
	socklen_t len = ai->ai_addrlen;
	int fd = -1, rc;

	memcpy(&addr, ai->ai_addr, len);
	for (unsigned int i = 0; i < server->conf.threads; i++) {
		rc = bind_one((struct sockaddr *)&addr, len, i == 0, &fd);
		if (rc != 0)
			return rc;
		/* The others bind the port that the first one was given. */
		if (i == 0 && getsockname(fd, (struct sockaddr *)&addr, &len) != 0) {
			rc = -errno;
			close(fd);
			return rc;
		}
		rc = open_loop(&server->loop[i], fd);
		if (rc != 0)
			return rc;
	}
	print_address((struct sockaddr *)&addr, len, server->address);
	return 0;
}

static void
release(struct rp_http_server *server)
{
	for (unsigned int i = 0; i < server->conf.threads; i++) {
		struct http_loop *loop = &server->loop[i];

		if (loop->apply != NULL)
			event_free(loop->apply);
		loop->apply = NULL;
		loop->listener = NULL; /* evhttp's own now */
		if (loop->http != NULL)
			evhttp_free(loop->http);
		for (unsigned int b = 0; b < CONN_BUCKETS; b++)
			while (!LIST_EMPTY(&loop->bucket[b]))
				/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): it moved the head */
				conn_free(LIST_FIRST(&loop->bucket[b]));
		if (loop->resume != NULL)
			event_free(loop->resume);
		if (loop->base != NULL)
			event_base_free(loop->base);
	}
	pthread_cond_destroy(&server->quiet);
	pthread_mutex_destroy(&server->lock);
	free(server);
}

static bool
conf_is_valid(const struct rp_http_server_conf *conf)
{
	return conf->threads >= 1 && conf->threads <= RP_HTTP_THREADS_MAX &&
		conf->max_header_bytes > 0 && conf->max_body_bytes > 0 &&
		conf->max_connections > 0 && conf->deadline_ms > 0 && conf->idle_ms > 0;
}

int
rp_http_server_open(
	const struct rp_http_server_conf *conf, struct rp_http_server **ret_server, char *why)
{
	struct rp_http_server *server;
	struct addrinfo *list;
	int rc;

	if (!conf_is_valid(conf)) {
		snprintf(why, RP_HTTP_WHY_MAX, "%s: limits out of range", conf->listen);
		return -EINVAL;
	}
	rc = resolve(conf->listen, &list, why);
	if (rc != 0)
		return rc;
	server = calloc(1, sizeof(*server));
	if (server == NULL || evthread_use_pthreads() != 0) {
		snprintf(why, RP_HTTP_WHY_MAX, "%s: out of memory", conf->listen);
		rc = -ENOMEM;
		goto free_list;
	}
	server->conf = *conf;
	rp_random_bytes(&server->id_prefix, sizeof(server->id_prefix));
	pthread_mutex_init(&server->lock, NULL);
	pthread_cond_init(&server->quiet, NULL);
	for (unsigned int i = 0; i < conf->threads; i++)
		server->loop[i].server = server;
	rc = bind_loops(server, list);
	if (rc != 0) {
		snprintf(why, RP_HTTP_WHY_MAX, "cannot listen on %s: %s", conf->listen,
			strerror(-rc));
		release(server);
		server = NULL;
		goto free_list;
	}
	*ret_server = server;
	freeaddrinfo(list);
	return 0;

free_list:
	free(server);
	freeaddrinfo(list);
	return rc;
}

static void *
run_loop(void *arg)
{
	struct http_loop *loop = arg;

	this_loop = loop;
	event_base_loop(loop->base, EVLOOP_NO_EXIT_ON_EMPTY);
	return NULL;
}

static void
stop_loops(struct rp_http_server *server)
{
	for (unsigned int i = 0; i < server->conf.threads; i++)
		if (server->loop[i].running)
			event_base_loopexit(server->loop[i].base, NULL);
	for (unsigned int i = 0; i < server->conf.threads; i++) {
		if (server->loop[i].running)
			pthread_join(server->loop[i].thread, NULL);
		server->loop[i].running = false;
	}
}

int
rp_http_server_start(struct rp_http_server *server)
{
	sigset_t all, before;
	int rc = 0;

	/* Signals are the main thread's. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	for (unsigned int i = 0; i < server->conf.threads && rc == 0; i++) {
		struct http_loop *loop = &server->loop[i];

		rc = -pthread_create(&loop->thread, NULL, run_loop, loop);
		loop->running = rc == 0;
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (rc != 0) {
		stop_loops(server);
		return rc;
	}
	apply_listeners(server);
	return 0;
}

/* Handlers always reply; peers do not always read. */
static void
wait_until_quiet(struct rp_http_server *server)
{
	struct timespec until;

	pthread_mutex_lock(&server->lock);
	while (server->unanswered > 0)
		pthread_cond_wait(&server->quiet, &server->lock);
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += FLUSH_SEC;
	while (server->unwritten > 0 &&
		pthread_cond_timedwait(&server->quiet, &server->lock, &until) == 0)
		continue;
	pthread_mutex_unlock(&server->lock);
}

void
rp_http_server_close(struct rp_http_server *server)
{
	if (server == NULL)
		return;
	pthread_mutex_lock(&server->lock);
	server->stopping = true;
	pthread_mutex_unlock(&server->lock);
	apply_listeners(server);
	wait_until_quiet(server);
	stop_loops(server);
	release(server);
}

void
rp_http_server_address(const struct rp_http_server *server, char *ret_text)
{
	memcpy(ret_text, server->address, sizeof(server->address));
}

void
rp_http_server_counters(const struct rp_http_server *server, struct rp_http_counters *ret)
{
	*ret = (struct rp_http_counters){
		.connections = atomic_load(&server->n_conns),
		.connections_open = atomic_load(&server->conns),
		.cap_pauses = atomic_load(&server->cap_pauses),
		.accept_errors = atomic_load(&server->accept_errors),
		.deadline_closes = atomic_load(&server->deadline_closes),
		.answer_ns = atomic_load(&server->answer_ns),
	};
	for (size_t i = 0; i < RP_ARRAY_LEN(ret->answers); i++)
		ret->answers[i] = atomic_load(&server->answers[i]);
}
