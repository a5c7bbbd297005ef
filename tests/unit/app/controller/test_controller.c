/* SPDX-License-Identifier: BSD-3-Clause */

#include "controller.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "rp_text.h"
#include "ut.h"

#define START INT64_C(1700000000000)

static struct controller c;

static void
setup(void)
{
	c = (struct controller){0};
	pthread_mutex_init(&c.state, NULL);
	pthread_mutex_init(&c.windows_lock, NULL);
	registry_init(&c.registry, 300000, 900000);
	windows_init(&c.windows, 10);
}

static void
teardown(void)
{
	registry_fini(&c.registry);
	windows_fini(&c.windows);
	pthread_mutex_destroy(&c.windows_lock);
	pthread_mutex_destroy(&c.state);
}

static void
declare(const char *agent_id, const char *tor, const char *ip)
{
	struct rp_api_register set = {.set_seq = 1};
	enum registry_verdict verdict;
	struct registry_conflict conflict;

	snprintf(set.boot_id, sizeof(set.boot_id), "b");
	snprintf(set.hostname, sizeof(set.hostname), "host-%s", agent_id);
	snprintf(set.tor_id, sizeof(set.tor_id), "%s", tor);
	set.rnic = calloc(1, sizeof(*set.rnic));
	set.n_rnics = 1;
	rp_gid_parse(ip, &set.rnic->gid);
	UT_OK(registry_put(&c.registry, agent_id, &set, START, &verdict, &conflict));
}

static struct rp_api_report
make_report(int64_t start_ms)
{
	struct rp_api_report r = {.parts = 1, .window_start_ms = start_ms, .window_ms = 10000};

	snprintf(r.agent_id, sizeof(r.agent_id), "a");
	rp_gid_parse("10.0.0.1", &r.gid);
	r.peer = calloc(2, sizeof(*r.peer));
	r.n_peers = 2;
	rp_gid_parse("10.0.0.2", &r.peer[0].gid);
	rp_gid_parse("10.0.0.3", &r.peer[1].gid);
	r.row = calloc(2, sizeof(*r.row));
	r.n_rows = 2;
	r.row[0].peer = 1;
	r.row[1].peer = 0;
	return r;
}

static void *
add_rows(void *arg)
{
	controller_add_rows(&c, arg);
	return NULL;
}

/* A reader of a big matrix holds the windows for long; heartbeats must go on. */
static void
add_rows__windows_busy__leaves_the_registry_free(void)
{
	const struct timespec pause = {.tv_nsec = 20000000};
	struct rp_api_report report = make_report(START);
	pthread_t thread;
	int rc = 0;

	setup();
	pthread_mutex_lock(&c.windows_lock);
	UT_OK(pthread_create(&thread, NULL, add_rows, &report));
	for (int i = 0; i < 10 && rc == 0; i++) {
		nanosleep(&pause, NULL);
		rc = pthread_mutex_trylock(&c.state);
		if (rc == 0)
			pthread_mutex_unlock(&c.state);
	}
	UT_OK(rc);
	pthread_mutex_unlock(&c.windows_lock);
	pthread_join(thread, NULL);
	UT_EQ(c.windows.n_windows, 2);
	rp_api_report_fini(&report);
	teardown();
}

static int
note(const struct windows_path *path, void *arg)
{
	char gid[RP_GID_TEXT_MAX];
	struct rp_buf *out = arg;

	rp_buf_printf(out, "%s/%s -> %s %s/%s;", path->source.host, path->source.tor,
		rp_gid_format_ip(&path->target.gid, gid), path->target.host, path->target.tor);
	return 0;
}

static void
add_rows__each_row__has_the_names_of_its_own_peer(void)
{
	struct windows_query query = {.to_ms = INT64_MAX};
	struct rp_api_report report = make_report(START);
	struct rp_buf out = {0};

	setup();
	declare("a", "t1", "10.0.0.1");
	declare("b", "t2", "10.0.0.2");
	controller_add_rows(&c, &report);
	UT_OK(windows_visit(&c.windows, &query, note, &out));
	UT_HAS(rp_buf_text(&out), "host-a/t1 -> 10.0.0.2 host-b/t2;");
	UT_HAS(rp_buf_text(&out), "host-a/t1 -> 10.0.0.3 /unspecified;");
	rp_buf_fini(&out);
	rp_api_report_fini(&report);
	teardown();
}

/* Status of one request on the agents' listener. */
static int
ask(const char *method, const char *target)
{
	char address[RP_HTTP_ADDRESS_MAX], text[512];
	struct sockaddr_in to = {.sin_family = AF_INET};
	int fd = socket(AF_INET, SOCK_STREAM, 0), status = 0;
	int64_t number = 0;
	ssize_t n;

	rp_http_server_address(c.agent_server, address);
	UT_OK(rp_text_i64(strrchr(address, ':') + 1, 1, 65535, &number));
	to.sin_port = htons((uint16_t)number);
	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (!UT_OK(connect(fd, (struct sockaddr *)&to, sizeof(to))))
		return -1;
	n = snprintf(text, sizeof(text), "%s %s HTTP/1.1\r\nHost: c\r\nConnection: close\r\n\r\n",
		method, target);
	UT_EQ(write(fd, text, (size_t)n), n);
	n = read(fd, text, sizeof(text) - 1);
	text[n < 0 ? 0 : n] = '\0';
	sscanf(text, "HTTP/1.1 %d", &status);
	close(fd);
	return status;
}

static void
open_all(const char *path)
{
	struct rp_http_server_conf conf = {
		.listen = "127.0.0.1:0",
		.route = agent_routes,
		.n_routes = n_agent_routes,
		.arg = &c,
		.threads = 1,
		.max_header_bytes = 16384,
		.max_body_bytes = 65536,
		.max_connections = 16,
		.deadline_ms = 5000,
		.idle_ms = 5000,
	};
	char why[STORE_WHY_MAX];

	setup();
	UT_OK(store_open(path, &c.store, why));
	UT_OK(rp_http_server_open(&conf, &c.agent_server, why));
	UT_OK(rp_http_server_start(c.agent_server));
}

/* The store has no room, as behind a slow disk: nothing may be half done. */
static void
delete__no_room_in_the_store__changes_nothing_and_can_be_repeated(void)
{
	static const char *const suffix[] = {"", "-wal", "-shm", ".lock"};
	static const char target[] = "/v1/agents/a?boot_id=b";
	char dir[] = "/tmp/rpingmesh-ut-XXXXXX", path[64], name[80];

	if (mkdtemp(dir) == NULL)
		abort();
	snprintf(path, sizeof(path), "%s/c.db", dir);
	open_all(path);
	declare("a", "t1", "10.0.0.1");
	for (uint32_t i = 0; i < STORE_QUEUE_MAX; i++)
		store_submit(c.store, store_job_new(STORE_EXPIRE));
	UT_EQ(ask("DELETE", target), 503);
	UT_EQ(ask("GET", "/v1/agents/a"), 200);
	UT_EQ(ask("DELETE", target), 503);
	UT_OK(store_start(c.store));
	for (int i = 0; i < 100 && ask("DELETE", target) == 503; i++)
		usleep(50000);
	UT_EQ(ask("DELETE", target), 204);
	UT_EQ(ask("GET", "/v1/agents/a"), 404);
	rp_http_server_close(c.agent_server);
	store_close(c.store);
	teardown();
	for (size_t i = 0; i < RP_ARRAY_LEN(suffix); i++) {
		snprintf(name, sizeof(name), "%s%s", path, suffix[i]);
		unlink(name);
	}
	rmdir(dir);
}

static const struct ut_test tests[] = {
	UT(add_rows__windows_busy__leaves_the_registry_free),
	UT(add_rows__each_row__has_the_names_of_its_own_peer),
	UT(delete__no_room_in_the_store__changes_nothing_and_can_be_repeated),
};

UT_MAIN("controller", tests)
