/* SPDX-License-Identifier: BSD-3-Clause */

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "rp_http_client.h"
#include "rp_http_server.h"
#include "rp_text.h"
#include "ut.h"

/* What the last exchange brought. */
static struct {
	int calls;
	int status;
	char body[4096];
	char etag[64];
	int32_t retry_after_sec;
	char error[256];
} got;

static struct rp_http_server *server;
static struct rp_http_client *client;
static char base[96], why[RP_HTTP_WHY_MAX];
static _Atomic int handled;

static void
on_done(const struct rp_http_answer *answer, void *arg)
{
	got.calls++;
	got.status = answer->status;
	snprintf(got.body, sizeof(got.body), "%s", answer->body);
	snprintf(got.etag, sizeof(got.etag), "%s", answer->etag);
	got.retry_after_sec = answer->retry_after_sec;
	snprintf(got.error, sizeof(got.error), "%s", answer->error);
	UT_TRUE(arg == &got);
}

static void
echo(struct rp_http_request *req, void *arg RP_UNUSED)
{
	struct rp_buf out = {0};
	const char *tag = rp_http_request_query(req, "tag");
	const char *agent = rp_http_request_header(req, "user-agent");
	const char *type = rp_http_request_header(req, "Content-Type");
	const char *expect = rp_http_request_header(req, "Expect");
	size_t len;
	const char *body = rp_http_request_body(req, &len);

	rp_buf_printf(&out, "%s|%s|%s|%s|%s|%s|", rp_http_request_method(req),
		rp_http_request_param(req, "name"), tag == NULL ? "-" : tag,
		agent == NULL ? "-" : agent, type == NULL ? "-" : type,
		expect == NULL ? "-" : expect);
	rp_buf_add(&out, body, len);
	rp_http_reply_header(req, "ETag", "\"abc\"");
	rp_http_reply_header(req, "Retry-After", "17");
	rp_http_reply(req, 200, "text/plain", &out);
}

static void *
reply_later(void *arg)
{
	struct rp_http_request *req = arg;
	struct rp_buf out = {0};

	usleep(50000);
	rp_buf_printf(&out, "later %s", rp_http_request_peer(req));
	rp_http_reply(req, 200, "text/plain", &out);
	return NULL;
}

static void
defer(struct rp_http_request *req, void *arg RP_UNUSED)
{
	pthread_t thread;

	atomic_fetch_add(&handled, 1);
	pthread_create(&thread, NULL, reply_later, req);
	pthread_detach(thread);
}

static void
redirect(struct rp_http_request *req, void *arg RP_UNUSED)
{
	rp_http_reply_header(req, "Location", "/echo/x");
	rp_http_reply_error(req, 301, "moved", NULL, "elsewhere");
}

static void
big(struct rp_http_request *req, void *arg RP_UNUSED)
{
	struct rp_buf out = {0};

	for (int i = 0; i < 2000; i++)
		rp_buf_puts(&out, "0123456789");
	rp_http_reply(req, 200, "text/plain", &out);
}

static const struct rp_http_route routes[] = {
	{"GET", "/echo/{name}", echo},
	{"PUT", "/echo/{name}", echo},
	{"POST", "/echo/{name}", echo},
	{"DELETE", "/echo/{name}", echo},
	{"GET", "/later", defer},
	{"GET", "/moved", redirect},
	{"GET", "/big", big},
	{"GET", "/", big},
};

static struct rp_http_server_conf
conf(const char *listen)
{
	return (struct rp_http_server_conf){.listen = listen,
		.route = routes,
		.n_routes = RP_ARRAY_LEN(routes),
		.threads = 3,
		.max_header_bytes = 8192,
		.max_body_bytes = 4096,
		.max_connections = 100,
		.deadline_ms = 1000,
		.idle_ms = 60000};
}

static void
setup(void)
{
	struct rp_http_server_conf c = conf("127.0.0.1:0");
	struct rp_http_client_conf cc = {"ut", 1000, 10000};
	char address[RP_HTTP_ADDRESS_MAX];

	if (!UT_OK(rp_http_server_open(&c, &server, why)))
		printf("%s\n", why);
	UT_OK(rp_http_server_start(server));
	rp_http_server_address(server, address);
	snprintf(base, sizeof(base), "http://%s", address);
	UT_OK(rp_http_client_create(&cc, &client));
	memset(&got, 0, sizeof(got));
}

static void
teardown(void)
{
	rp_http_client_destroy(client);
	rp_http_server_close(server);
}

static void
start(const char *method, const char *path, const char *body, uint32_t timeout_ms)
{
	char url[256];
	struct rp_http_call call = {.method = method,
		.url = url,
		.body = body,
		.body_len = body == NULL ? 0 : strlen(body),
		.timeout_ms = timeout_ms,
		.done = on_done,
		.arg = &got};

	snprintf(url, sizeof(url), "%s%s", base, path);
	UT_OK(rp_http_client_start(client, &call));
}

static void
finish(void)
{
	while (rp_http_client_busy(client) > 0)
		UT_OK(rp_http_client_poll(client, 100));
}

static void
run(const char *method, const char *path, const char *body)
{
	start(method, path, body, 5000);
	finish();
}

static void
exchange__each_method__carries_body_headers_and_parameters(void)
{
	static const char *const method[] = {"GET", "PUT", "POST", "DELETE"};
	char want[256];

	setup();
	for (size_t i = 0; i < RP_ARRAY_LEN(method); i++) {
		bool has_body = method[i][0] == 'P';

		run(method[i], "/echo/a%20b?tag=%C3%A9", has_body ? "{}" : NULL);
		snprintf(want, sizeof(want), "%s|a b|\xC3\xA9|ut/" RP_VERSION "|%s|-|%s", method[i],
			has_body ? "application/json" : "-", has_body ? "{}" : "");
		UT_EQ(got.status, 200);
		UT_STR(got.body, want);
		UT_STR(got.etag, "abc");
		UT_EQ(got.retry_after_sec, 17);
		UT_STR(got.error, "");
	}
	UT_EQ(got.calls, 4);
	teardown();
}

static void
exchange__many_at_once__share_connections(void)
{
	struct rp_http_counters counters;

	setup();
	for (int round = 0; round < 10; round++)
		run("GET", "/echo/x", NULL);
	rp_http_server_counters(server, &counters);
	UT_EQ_U(counters.connections, 1);
	UT_EQ_U(counters.answers[2], 10);
	for (int i = 0; i < 20; i++)
		start("GET", "/echo/x", NULL, 5000);
	UT_EQ(rp_http_client_busy(client), 20);
	finish();
	UT_EQ(got.calls, 30);
	teardown();
}

static void
exchange__not_200__is_an_answer_like_any_other(void)
{
	setup();
	run("GET", "/nowhere", NULL);
	UT_EQ(got.status, 404);
	UT_HAS(got.body, "\"code\":\"not_found\"");
	UT_EQ(got.retry_after_sec, -1);
	UT_STR(got.etag, "");
	teardown();
}

static void
exchange__redirect__is_not_followed(void)
{
	setup();
	run("GET", "/moved", NULL);
	UT_EQ(got.status, 301);
	teardown();
}

static void
exchange__proxy_of_the_environment__is_ignored(void)
{
	setenv("http_proxy", "http://127.0.0.1:1", 1);
	setup();
	run("GET", "/echo/x", NULL);
	UT_EQ(got.status, 200);
	unsetenv("http_proxy");
	teardown();
}

static void
exchange__answer_over_the_cap__is_an_error(void)
{
	setup();
	run("GET", "/big", NULL);
	UT_EQ(got.status, 0);
	UT_STR(got.error, "answer exceeds 10000 bytes");
	teardown();
}

static void
exchange__nobody_listens__names_the_cause(void)
{
	setup();
	rp_http_server_close(server);
	server = NULL;
	run("GET", "/echo/x", NULL);
	UT_EQ(got.status, 0);
	UT_HAS(got.error, "onnect");
	teardown();
}

static void
exchange__slow_answer__times_out(void)
{
	setup();
	start("GET", "/later", NULL, 10);
	finish();
	UT_EQ(got.status, 0);
	UT_HAS(got.error, "time");
	teardown();
}

static void
start__bad_call__is_refused_without_calling_back(void)
{
	struct rp_http_call call = {
		.method = "BREW", .url = "http://x/", .timeout_ms = 1, .done = on_done};

	setup();
	UT_EQ(rp_http_client_start(client, &call), -EINVAL);
	call.method = "GET";
	call.timeout_ms = 0;
	UT_EQ(rp_http_client_start(client, &call), -EINVAL);
	call.timeout_ms = 600001;
	UT_EQ(rp_http_client_start(client, &call), -EINVAL);
	call.timeout_ms = 1000;
	call.url = "file:///etc/passwd";
	UT_EQ(rp_http_client_start(client, &call), -EINVAL);
	UT_EQ(rp_http_client_busy(client), 0);
	UT_EQ(got.calls, 0);
	teardown();
}

static void
destroy__running_exchange__calls_nobody(void)
{
	setup();
	start("GET", "/later", NULL, 5000);
	rp_http_client_poll(client, 10);
	rp_http_client_destroy(client);
	client = NULL;
	UT_EQ(got.calls, 0);
	rp_http_server_close(server);
}

static void *
wake(void *arg)
{
	usleep(50000);
	rp_http_client_wakeup(arg);
	return NULL;
}

static void
wakeup__other_thread__ends_the_poll(void)
{
	struct timespec a, b;
	pthread_t thread;

	setup();
	clock_gettime(CLOCK_MONOTONIC, &a);
	pthread_create(&thread, NULL, wake, client);
	UT_OK(rp_http_client_poll(client, 10000));
	clock_gettime(CLOCK_MONOTONIC, &b);
	UT_TRUE(b.tv_sec - a.tv_sec < 5);
	pthread_join(thread, NULL);
	teardown();
}

static void
deferred__reply_of_another_thread__arrives(void)
{
	setup();
	run("GET", "/later", NULL);
	UT_EQ(got.status, 200);
	UT_STR(got.body, "later 127.0.0.1");
	teardown();
}

static void
close__deferred_request__waits_for_its_reply(void)
{
	setup();
	atomic_store(&handled, 0);
	for (int i = 0; i < 10; i++)
		start("GET", "/later", NULL, 5000);
	while (atomic_load(&handled) == 0)
		rp_http_client_poll(client, 10);
	rp_http_server_close(server);
	server = NULL;
	finish();
	UT_EQ(got.calls, 10);
	teardown();
}

static void
close__before_start_and_null__are_allowed(void)
{
	struct rp_http_server_conf c = conf("[::1]:0");
	char address[RP_HTTP_ADDRESS_MAX];
	struct rp_http_server *s;

	rp_http_server_close(NULL);
	rp_http_client_destroy(NULL);
	if (rp_http_server_open(&c, &s, why) == 0) {
		rp_http_server_address(s, address);
		UT_HAS(address, "[::1]:");
		rp_http_server_close(s);
	}
}

static void
open__address_in_use__is_refused_whatever_the_threads(void)
{
	struct rp_http_server_conf c;
	struct rp_http_server *second = NULL;
	char address[RP_HTTP_ADDRESS_MAX];

	setup();
	rp_http_server_address(server, address);
	c = conf(address);
	UT_EQ(rp_http_server_open(&c, &second, why), -EADDRINUSE);
	UT_HAS(why, address);
	teardown();
}

static void
open__bad_address_or_limit__is_refused(void)
{
	static const char *const bad[] = {"", "x", "127.0.0.1", "127.0.0.1:", "127.0.0.1:x",
		"::1:80", "[::1:80", "127.0.0.1:65536", "127.0.0.1:-1", "no such host:80"};
	struct rp_http_server_conf c;
	struct rp_http_server *s;

	for (size_t i = 0; i < RP_ARRAY_LEN(bad); i++) {
		c = conf(bad[i]);
		if (!UT_EQ(rp_http_server_open(&c, &s, why), -EINVAL))
			printf("case %zu: %s\n", i, bad[i]);
		UT_HAS(why, bad[i]);
	}
	c = conf("127.0.0.1:0");
	c.threads = RP_HTTP_THREADS_MAX + 1;
	UT_EQ(rp_http_server_open(&c, &s, why), -EINVAL);
	c.threads = 0;
	UT_EQ(rp_http_server_open(&c, &s, why), -EINVAL);
}

/* A peer connects in the very moment in which the listeners are switched off. */
static void
close__while_a_peer_connects__never_hangs(void)
{
	char address[RP_HTTP_ADDRESS_MAX];

	for (int round = 0; round < 300; round++) {
		struct rp_http_server_conf c = conf("127.0.0.1:0");
		struct sockaddr_in to = {.sin_family = AF_INET};
		struct rp_http_server *s;
		int64_t number = 0;
		int fd[4];

		c.threads = 2;
		c.max_connections = 3; /* the cap switches the listeners too */
		if (!UT_OK(rp_http_server_open(&c, &s, why)))
			return;
		UT_OK(rp_http_server_start(s));
		rp_http_server_address(s, address);
		UT_OK(rp_text_i64(strrchr(address, ':') + 1, 1, 65535, &number));
		to.sin_port = htons((uint16_t)number);
		to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		for (size_t i = 0; i < RP_ARRAY_LEN(fd); i++) {
			fd[i] = socket(AF_INET, SOCK_STREAM, 0);
			UT_OK(connect(fd[i], (struct sockaddr *)&to, sizeof(to)));
		}
		rp_http_server_close(s);
		for (size_t i = 0; i < RP_ARRAY_LEN(fd); i++)
			close(fd[i]);
	}
}

static const struct ut_test tests[] = {
	UT(exchange__each_method__carries_body_headers_and_parameters),
	UT(exchange__many_at_once__share_connections),
	UT(exchange__not_200__is_an_answer_like_any_other),
	UT(exchange__redirect__is_not_followed),
	UT(exchange__proxy_of_the_environment__is_ignored),
	UT(exchange__answer_over_the_cap__is_an_error),
	UT(exchange__nobody_listens__names_the_cause),
	UT(exchange__slow_answer__times_out),
	UT(start__bad_call__is_refused_without_calling_back),
	UT(destroy__running_exchange__calls_nobody),
	UT(wakeup__other_thread__ends_the_poll),
	UT(deferred__reply_of_another_thread__arrives),
	UT(close__deferred_request__waits_for_its_reply),
	UT(close__while_a_peer_connects__never_hangs),
	UT(close__before_start_and_null__are_allowed),
	UT(open__address_in_use__is_refused_whatever_the_threads),
	UT(open__bad_address_or_limit__is_refused),
};

int
main(int argc, char **argv)
{
	signal(SIGPIPE, SIG_IGN);
	return ut_main("http", tests, RP_ARRAY_LEN(tests), argc, argv);
}
