/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <event2/buffer.h>
#include <event2/http.h>
#include <event2/http_struct.h>
#include <event2/keyvalq_struct.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "http_priv.h"
#include "rp_http_url.h"

#define SEGMENTS_MAX 8
#define URI_MAX      4096
#define ALLOW_MAX    128

struct pair {
	const char *name;
	size_t name_len;
	const char *value;
};

struct rp_http_request {
	struct http_loop *loop;
	struct evhttp_request *ev;
	struct event *later; /* carries the reply to the loop; made early, so that it cannot fail */
	char id[20];
	const char *method;
	bool head;
	bool late;  /* the server is stopping: nothing may be deferred any more */
	char *text; /* decoded segments, then query names and values */
	const char *segment[SEGMENTS_MAX];
	size_t n_segments;
	struct pair param[RP_HTTP_PARAMS_MAX];
	size_t n_params;
	struct pair query[RP_HTTP_QUERY_MAX];
	size_t n_queries;
	int64_t arrived_ns;
	int status;
	struct rp_buf reply;
};

static int64_t
monotonic_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static const char *
method_name(enum evhttp_cmd_type type)
{
	switch (type) {
	case EVHTTP_REQ_GET:
	case EVHTTP_REQ_HEAD:
		return "GET";
	case EVHTTP_REQ_POST:
		return "POST";
	case EVHTTP_REQ_PUT:
		return "PUT";
	case EVHTTP_REQ_DELETE:
		return "DELETE";
	default:
		return "";
	}
}

static const char *
reason_phrase(int status)
{
	static const struct {
		int status;
		const char *text;
	} phrase[] = {
		{200, "OK"},
		{201, "Created"},
		{204, "No Content"},
		{304, "Not Modified"},
		{400, "Bad Request"},
		{401, "Unauthorized"},
		{403, "Forbidden"},
		{404, "Not Found"},
		{405, "Method Not Allowed"},
		{409, "Conflict"},
		{413, "Content Too Large"},
		{414, "URI Too Long"},
		{415, "Unsupported Media Type"},
		{429, "Too Many Requests"},
		{500, "Internal Server Error"},
		{503, "Service Unavailable"},
	};

	for (size_t i = 0; i < RP_ARRAY_LEN(phrase); i++)
		if (phrase[i].status == status)
			return phrase[i].text;
	return "Unknown";
}

/*
 * What evhttp lets through and a proxy in front may read otherwise: that is how
 * requests are smuggled. NULL, or what is wrong.
 */
static const char *
check_headers(struct evhttp_request *ev)
{
	int lengths = 0, encodings = 0, hosts = 0;
	const struct evkeyval *header;

	TAILQ_FOREACH(header, evhttp_request_get_input_headers(ev), next) {
		if (strcasecmp(header->key, "Content-Length") == 0) {
			lengths++;
			if (header->value[0] == '\0' ||
				strspn(header->value, "0123456789") != strlen(header->value))
				return "Content-Length must be digits";
		} else if (strcasecmp(header->key, "Transfer-Encoding") == 0) {
			encodings++;
			if (strcasecmp(header->value, "chunked") != 0)
				return "Transfer-Encoding must be chunked";
		} else if (strcasecmp(header->key, "Host") == 0) {
			hosts++;
		}
	}
	if (lengths > 1)
		return "more than one Content-Length";
	if (encodings > 1)
		return "more than one Transfer-Encoding";
	if (lengths > 0 && encodings > 0)
		return "both Content-Length and Transfer-Encoding";
	if (hosts > 1 || (hosts == 0 && !(ev->major == 1 && ev->minor == 0)))
		return "exactly one Host is required";
	return NULL;
}

/* Decode @len bytes behind *@to and move it on. */
static const char *
decode(const char *from, size_t len, char **to)
{
	char *text = *to;

	if (rp_http_url_decode(from, len, text) != 0)
		return NULL;
	*to += strlen(text) + 1;
	return text;
}

static const char *
split_path(struct rp_http_request *req, const char *path, size_t len, char **to)
{
	const char *end = path + len;

	if (len == 0 || path[0] != '/')
		return "the path must start with /";
	while (path < end) {
		const char *start = path + 1;
		const char *slash = memchr(start, '/', (size_t)(end - start));
		const char *segment;

		path = slash == NULL ? end : slash;
		segment = decode(start, (size_t)(path - start), to);
		if (segment == NULL || strchr(segment, '/') != NULL)
			return "the path has a byte that is not allowed";
		if (strcmp(segment, ".") == 0 || strcmp(segment, "..") == 0)
			return "the path has a dot segment";
		if (req->n_segments == SEGMENTS_MAX)
			return "the path has too many segments";
		req->segment[req->n_segments++] = segment;
	}
	return NULL;
}

static const char *
split_query(struct rp_http_request *req, const char *at, char **to)
{
	while (at != NULL && *at != '\0') {
		const char *end = at + strcspn(at, "&");
		const char *equals = memchr(at, '=', (size_t)(end - at));
		const char *name_end = equals == NULL ? end : equals;
		const char *value_at = equals == NULL ? end : equals + 1;
		const char *name = decode(at, (size_t)(name_end - at), to);
		const char *value = decode(value_at, (size_t)(end - value_at), to);

		if (name == NULL || value == NULL)
			return "the query has a byte that is not allowed";
		if (rp_http_request_query(req, name) != NULL)
			return "the query has a parameter twice";
		if (req->n_queries == RP_HTTP_QUERY_MAX)
			return "the query has too many parameters";
		req->query[req->n_queries++] = (struct pair){name, strlen(name), value};
		at = *end == '&' ? end + 1 : end;
	}
	return NULL;
}

static const char *
parse_uri(struct rp_http_request *req, const char *uri)
{
	size_t len = strcspn(uri, "?");
	const char *wrong;
	char *to;

	/* Decoding never grows; every part gains one NUL. */
	req->text = malloc(strlen(uri) + SEGMENTS_MAX + 2 + 2 * (RP_HTTP_QUERY_MAX + 1));
	if (req->text == NULL)
		return "out of memory";
	to = req->text;
	wrong = split_path(req, uri, len, &to);
	if (wrong == NULL && uri[len] == '?')
		wrong = split_query(req, uri + len + 1, &to);
	return wrong;
}

static void
free_text(const void *data RP_UNUSED, size_t len RP_UNUSED, void *arg)
{
	free(arg);
}

static void
on_written(struct evhttp_request *ev RP_UNUSED, void *arg)
{
	http_conn_idle(arg);
}

static void
release(struct rp_http_request *req)
{
	struct rp_http_server *server = req->loop->server;

	event_free(req->later);
	rp_buf_fini(&req->reply);
	free(req->text);
	free(req);
	pthread_mutex_lock(&server->lock);
	if (--server->unanswered == 0)
		pthread_cond_signal(&server->quiet);
	pthread_mutex_unlock(&server->lock);
}

static void
count(struct rp_http_request *req)
{
	struct rp_http_server *server = req->loop->server;

	atomic_fetch_add(&server->answers[req->status / 100 % 6], 1);
	atomic_fetch_add(&server->answer_ns, (uint64_t)(monotonic_ns() - req->arrived_ns));
}

/* On the loop's thread. */
static void
send_reply(struct rp_http_request *req)
{
	struct evhttp_connection *evcon = evhttp_request_get_connection(req->ev);
	struct evbuffer *body = evbuffer_new();
	struct http_conn *conn;
	char length[24];

	count(req);
	/* The peer left while we worked: evhttp gave the request up to us. */
	if (evcon == NULL || body == NULL) {
		if (evcon == NULL)
			evhttp_request_free(req->ev);
		else
			evhttp_connection_free(evcon);
		if (body != NULL)
			evbuffer_free(body);
		release(req);
		return;
	}
	snprintf(length, sizeof(length), "%zu", req->reply.len);
	if (req->status != 304 && req->status != 204)
		rp_http_reply_header(req, "Content-Length", length);
	if (req->reply.len > 0 && !req->head &&
		evbuffer_add_reference(
			body, req->reply.data, req->reply.len, free_text, req->reply.data) == 0)
		req->reply = (struct rp_buf){0};
	conn = http_conn_find(req->loop, evcon);
	if (conn != NULL) {
		http_conn_writing(conn);
		evhttp_request_set_on_complete_cb(req->ev, on_written, conn);
	}
	evhttp_send_reply(req->ev, req->status, reason_phrase(req->status), body);
	evbuffer_free(body);
	release(req);
}

static void
send_later(evutil_socket_t fd RP_UNUSED, short what RP_UNUSED, void *arg)
{
	send_reply(arg);
}

/* Whether the request's path fits @pattern; its parameters are noted then. */
static bool
match(struct rp_http_request *req, const char *pattern)
{
	struct pair param[RP_HTTP_PARAMS_MAX];
	size_t i = 0, n = 0;

	while (*pattern == '/') {
		const char *start = pattern + 1;
		size_t len = strcspn(start, "/");

		if (i == req->n_segments)
			return false;
		if (len >= 2 && start[0] == '{') {
			if (req->segment[i][0] == '\0' || n == RP_HTTP_PARAMS_MAX)
				return false;
			param[n++] = (struct pair){start + 1, len - 2, req->segment[i]};
		} else if (strlen(req->segment[i]) != len ||
			memcmp(req->segment[i], start, len) != 0) {
			return false;
		}
		i++;
		pattern = start + len;
	}
	if (i != req->n_segments)
		return false;
	memcpy(req->param, param, n * sizeof(param[0]));
	req->n_params = n;
	return true;
}

static void
add_allowed(char *allow, const char *method)
{
	size_t n = strlen(allow);

	if (strstr(allow, method) == NULL)
		snprintf(allow + n, ALLOW_MAX - n, "%s%s%s", n > 0 ? ", " : "", method,
			strcmp(method, "GET") == 0 ? ", HEAD" : "");
}

static void
dispatch(struct rp_http_request *req)
{
	const struct rp_http_server_conf *conf = &req->loop->server->conf;
	char allow[ALLOW_MAX] = "";

	for (size_t i = 0; i < conf->n_routes; i++) {
		const struct rp_http_route *route = &conf->route[i];

		if (!match(req, route->pattern))
			continue;
		if (strcmp(route->method, req->method) == 0) {
			route->handle(req, conf->arg);
			return;
		}
		add_allowed(allow, route->method);
	}
	if (allow[0] == '\0') {
		rp_http_reply_error(req, 404, "not_found", NULL, "no such resource");
		return;
	}
	rp_http_reply_header(req, "Allow", allow);
	rp_http_reply_error(req, 405, "method_not_allowed", NULL, "use %s", allow);
}

static struct rp_http_request *
request_new(struct http_loop *loop, struct evhttp_request *ev)
{
	struct rp_http_server *server = loop->server;
	struct rp_http_request *req = calloc(1, sizeof(*req));

	if (req == NULL)
		return NULL;
	req->later = event_new(loop->base, -1, 0, send_later, req);
	if (req->later == NULL) {
		free(req);
		return NULL;
	}
	req->loop = loop;
	req->ev = ev;
	req->arrived_ns = monotonic_ns();
	req->method = method_name(evhttp_request_get_command(ev));
	req->head = evhttp_request_get_command(ev) == EVHTTP_REQ_HEAD;
	snprintf(req->id, sizeof(req->id), "%08" PRIx32 "-%08" PRIx32, server->id_prefix,
		atomic_fetch_add(&server->next_id, 1));
	pthread_mutex_lock(&server->lock);
	server->unanswered++;
	req->late = server->stopping;
	pthread_mutex_unlock(&server->lock);
	return req;
}

void
http_request_arrived(struct evhttp_request *ev, void *arg)
{
	struct http_loop *loop = arg;
	struct http_conn *conn = http_conn_find(loop, evhttp_request_get_connection(ev));
	struct rp_http_request *req = request_new(loop, ev);
	const char *uri = evhttp_request_get_uri(ev);
	const char *wrong;

	if (conn != NULL)
		http_conn_handling(conn);
	if (req == NULL) {
		evhttp_send_error(ev, HTTP_SERVUNAVAIL, NULL);
		return;
	}
	if (req->late) {
		rp_http_reply_header(req, "Connection", "close");
		rp_http_reply_header(req, "Retry-After", "1");
		rp_http_reply_error(req, 503, "unavailable", NULL, "the server is stopping");
		return;
	}
	wrong = check_headers(ev);
	if (wrong != NULL) {
		rp_http_reply_header(req, "Connection", "close");
		rp_http_reply_error(req, 400, "bad_request", NULL, "%s", wrong);
		return;
	}
	if (strlen(uri) > URI_MAX) {
		rp_http_reply_error(
			req, 414, "uri_too_long", NULL, "the URI exceeds %d bytes", URI_MAX);
		return;
	}
	wrong = parse_uri(req, uri);
	if (wrong != NULL) {
		rp_http_reply_error(req, 400, "bad_request", NULL, "%s", wrong);
		return;
	}
	dispatch(req);
}

const char *
rp_http_request_method(const struct rp_http_request *req)
{
	return req->method;
}

const char *
rp_http_request_path(const struct rp_http_request *req)
{
	return evhttp_request_get_uri(req->ev);
}

const char *
rp_http_request_peer(const struct rp_http_request *req)
{
	struct evhttp_connection *evcon = evhttp_request_get_connection(req->ev);
	char *address = NULL;
	ev_uint16_t port;

	if (evcon != NULL)
		evhttp_connection_get_peer(evcon, &address, &port);
	return address == NULL ? "?" : address;
}

const char *
rp_http_request_id(const struct rp_http_request *req)
{
	return req->id;
}

static const char *
find(const struct pair *pair, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (strlen(name) == pair[i].name_len &&
			memcmp(name, pair[i].name, pair[i].name_len) == 0)
			return pair[i].value;
	return NULL;
}

const char *
rp_http_request_param(const struct rp_http_request *req, const char *name)
{
	return find(req->param, req->n_params, name);
}

const char *
rp_http_request_query(const struct rp_http_request *req, const char *name)
{
	return find(req->query, req->n_queries, name);
}

const char *
rp_http_request_header(const struct rp_http_request *req, const char *name)
{
	return evhttp_find_header(evhttp_request_get_input_headers(req->ev), name);
}

const char *
rp_http_request_body(const struct rp_http_request *req, size_t *ret_len)
{
	struct evbuffer *input = evhttp_request_get_input_buffer(req->ev);
	const unsigned char *body = evbuffer_pullup(input, -1);

	*ret_len = evbuffer_get_length(input);
	return body == NULL ? "" : (const char *)body;
}

void
rp_http_reply_header(struct rp_http_request *req, const char *name, const char *value)
{
	evhttp_add_header(evhttp_request_get_output_headers(req->ev), name, value);
}

void
rp_http_reply(
	struct rp_http_request *req, int status, const char *content_type, struct rp_buf *body)
{
	if (body != NULL) {
		req->reply = *body;
		*body = (struct rp_buf){0};
	}
	if (rp_buf_failed(&req->reply)) {
		rp_buf_fini(&req->reply);
		status = 500;
		content_type = NULL;
	}
	req->status = status;
	if (content_type != NULL)
		rp_http_reply_header(req, "Content-Type", content_type);
	rp_http_reply_header(req, "X-Content-Type-Options", "nosniff");
	rp_http_reply_header(req, "X-Request-Id", req->id);
	if (pthread_equal(pthread_self(), req->loop->thread))
		send_reply(req);
	else
		event_active(req->later, EV_TIMEOUT, 0);
}

void
rp_http_reply_error(struct rp_http_request *req, int status, const char *code, const char *field,
	const char *fmt, ...)
{
	struct rp_buf body = {0}, message = {0};
	va_list ap;

	va_start(ap, fmt);
	rp_buf_vprintf(&message, fmt, ap);
	va_end(ap);
	rp_buf_printf(&body, "{\"error\":{\"code\":\"%s\",\"message\":", code);
	rp_buf_json_string(&body, rp_buf_text(&message));
	rp_buf_printf(&body, ",\"request_id\":\"%s\"", req->id);
	if (field != NULL) {
		rp_buf_puts(&body, ",\"field\":");
		rp_buf_json_string(&body, field);
	}
	rp_buf_puts(&body, "}}\n");
	rp_buf_fini(&message);
	rp_http_reply(req, status, "application/json", &body);
}
