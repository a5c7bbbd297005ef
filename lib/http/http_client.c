/* SPDX-License-Identifier: BSD-3-Clause */

#include "rp_http_client.h"

#include <curl/curl.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/queue.h>

#include "rp_base.h"
#include "rp_buf.h"
#include "rp_text.h"

#define TIMEOUT_MAX_MS      600000u
#define RETRY_AFTER_MAX_SEC 86400
#define ETAG_MAX            128
#define KEEPALIVE_SEC       60L

struct exchange {
	LIST_ENTRY(exchange) link;
	struct rp_http_client *client;
	CURL *easy;
	struct curl_slist *headers;
	struct rp_buf body;
	bool too_long;
	char etag[ETAG_MAX];
	int32_t retry_after_sec;
	char error[CURL_ERROR_SIZE];
	rp_http_done_fn done;
	void *arg;
};

struct rp_http_client {
	CURLM *multi;
	char user_agent[64];
	long connect_timeout_ms;
	size_t max_body_bytes;
	size_t busy;
	LIST_HEAD(, exchange) exchanges;
};

static void
exchange_free(struct exchange *x)
{
	if (x->easy != NULL)
		curl_easy_cleanup(x->easy);
	curl_slist_free_all(x->headers);
	rp_buf_fini(&x->body);
	free(x);
}

static size_t
on_body(char *bytes, size_t size, size_t n, void *arg)
{
	struct exchange *x = arg;
	size_t len = size * n;

	if (len > x->client->max_body_bytes - x->body.len) {
		x->too_long = true;
		return 0;
	}
	rp_buf_add(&x->body, bytes, len);
	return rp_buf_failed(&x->body) ? 0 : len;
}

/* The value of header line @line if it is called @name, trimmed into @ret_value. */
static bool
header_value(const char *line, size_t len, const char *name, char *ret_value, size_t cap)
{
	size_t name_len = strlen(name);

	if (len <= name_len || line[name_len] != ':' || strncasecmp(line, name, name_len) != 0)
		return false;
	line += name_len + 1;
	len -= name_len + 1;
	while (len > 0 && (*line == ' ' || *line == '\t')) {
		line++;
		len--;
	}
	while (len > 0 && strchr(" \t\r\n", line[len - 1]) != NULL)
		len--;
	if (len >= cap)
		return false;
	memcpy(ret_value, line, len);
	ret_value[len] = '\0';
	return true;
}

static size_t
on_header(char *line, size_t size, size_t n, void *arg)
{
	struct exchange *x = arg;
	size_t len = size * n;
	char value[ETAG_MAX];
	int64_t sec;

	if (header_value(line, len, "ETag", value, sizeof(value))) {
		size_t end = strlen(value);

		if (end >= 2 && value[0] == '"' && value[end - 1] == '"') {
			memcpy(x->etag, value + 1, end - 2);
			x->etag[end - 2] = '\0';
		}
	} else if (header_value(line, len, "Retry-After", value, sizeof(value)) &&
		rp_text_i64(value, 0, RETRY_AFTER_MAX_SEC, &sec) == 0) {
		x->retry_after_sec = (int32_t)sec;
	}
	return len;
}

int
rp_http_client_create(const struct rp_http_client_conf *conf, struct rp_http_client **ret_client)
{
	struct rp_http_client *client;

	if (conf->connect_timeout_ms == 0 || conf->connect_timeout_ms > TIMEOUT_MAX_MS ||
		conf->max_body_bytes == 0)
		return -EINVAL;
	if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
		return -ENOMEM;
	client = calloc(1, sizeof(*client));
	if (client == NULL)
		goto cleanup_curl;
	client->multi = curl_multi_init();
	if (client->multi == NULL)
		goto free_client;
	snprintf(
		client->user_agent, sizeof(client->user_agent), "%s/%s", conf->product, RP_VERSION);
	client->connect_timeout_ms = (long)conf->connect_timeout_ms;
	client->max_body_bytes = conf->max_body_bytes;
	LIST_INIT(&client->exchanges);
	*ret_client = client;
	return 0;

free_client:
	free(client);
cleanup_curl:
	curl_global_cleanup();
	return -ENOMEM;
}

void
rp_http_client_destroy(struct rp_http_client *client)
{
	struct exchange *x;

	if (client == NULL)
		return;
	while ((x = LIST_FIRST(&client->exchanges)) != NULL) {
		LIST_REMOVE(x, link);
		curl_multi_remove_handle(client->multi, x->easy);
		exchange_free(x);
	}
	curl_multi_cleanup(client->multi);
	free(client);
	curl_global_cleanup();
}

static bool
add_header(struct exchange *x, const char *line)
{
	struct curl_slist *grown = curl_slist_append(x->headers, line);

	if (grown == NULL)
		return false;
	x->headers = grown;
	return true;
}

static int
set_headers(struct exchange *x, const struct rp_http_call *call)
{
	if (!add_header(x, "Expect:") || !add_header(x, "Accept: application/json"))
		return -ENOMEM;
	if (call->body != NULL && !add_header(x, "Content-Type: application/json"))
		return -ENOMEM;
	if (call->header != NULL && !add_header(x, call->header))
		return -ENOMEM;
	curl_easy_setopt(x->easy, CURLOPT_HTTPHEADER, x->headers);
	return 0;
}

static int
set_request(struct exchange *x, const struct rp_http_call *call)
{
	CURL *easy = x->easy;

	if (curl_easy_setopt(easy, CURLOPT_URL, call->url) != CURLE_OK)
		return -ENOMEM;
	if (call->body != NULL) {
		curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)call->body_len);
		if (curl_easy_setopt(easy, CURLOPT_COPYPOSTFIELDS, call->body) != CURLE_OK)
			return -ENOMEM;
	}
	if (curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, call->method) != CURLE_OK)
		return -ENOMEM;
	return set_headers(x, call);
}

static void
set_policy(struct exchange *x, uint32_t timeout_ms)
{
	const struct rp_http_client *client = x->client;
	CURL *easy = x->easy;

	curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, client->connect_timeout_ms);
	curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)timeout_ms);
	curl_easy_setopt(easy, CURLOPT_PROXY, "");
	curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
	curl_easy_setopt(easy, CURLOPT_MAXAGE_CONN, KEEPALIVE_SEC);
	curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
	curl_easy_setopt(easy, CURLOPT_USERAGENT, client->user_agent);
	curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, x->error);
	curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
	curl_easy_setopt(easy, CURLOPT_WRITEDATA, x);
	curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header);
	curl_easy_setopt(easy, CURLOPT_HEADERDATA, x);
	curl_easy_setopt(easy, CURLOPT_PRIVATE, x);
}

static bool
method_is_known(const char *method)
{
	static const char *const known[] = {"GET", "PUT", "POST", "DELETE"};

	for (size_t i = 0; i < RP_ARRAY_LEN(known); i++)
		if (strcmp(method, known[i]) == 0)
			return true;
	return false;
}

int
rp_http_client_start(struct rp_http_client *client, const struct rp_http_call *call)
{
	struct exchange *x;
	int rc = -ENOMEM;

	if (!method_is_known(call->method) || call->timeout_ms == 0 ||
		call->timeout_ms > TIMEOUT_MAX_MS ||
		(strncmp(call->url, "http://", 7) != 0 && strncmp(call->url, "https://", 8) != 0))
		return -EINVAL;
	x = calloc(1, sizeof(*x));
	if (x == NULL)
		return -ENOMEM;
	x->client = client;
	x->retry_after_sec = -1;
	x->done = call->done;
	x->arg = call->arg;
	x->easy = curl_easy_init();
	if (x->easy == NULL)
		goto free_exchange;
	set_policy(x, call->timeout_ms);
	rc = set_request(x, call);
	if (rc != 0)
		goto free_exchange;
	if (curl_multi_add_handle(client->multi, x->easy) != CURLM_OK) {
		rc = -ENOMEM;
		goto free_exchange;
	}
	LIST_INSERT_HEAD(&client->exchanges, x, link);
	client->busy++;
	return 0;

free_exchange:
	exchange_free(x);
	return rc;
}

size_t
rp_http_client_busy(const struct rp_http_client *client)
{
	return client->busy;
}

static void
finish(struct exchange *x, CURLcode result)
{
	struct rp_http_client *client = x->client;
	struct rp_http_answer answer = {.body = "", .etag = "", .error = "", .retry_after_sec = -1};
	char error[CURL_ERROR_SIZE + 32];
	long status = 0;

	LIST_REMOVE(x, link);
	client->busy--;
	curl_multi_remove_handle(client->multi, x->easy);
	if (result == CURLE_OK) {
		curl_easy_getinfo(x->easy, CURLINFO_RESPONSE_CODE, &status);
		answer.status = (int)status;
		answer.body = rp_buf_text(&x->body);
		answer.body_len = x->body.len;
		answer.etag = x->etag;
		answer.retry_after_sec = x->retry_after_sec;
	} else {
		if (x->too_long)
			snprintf(error, sizeof(error), "answer exceeds %zu bytes",
				client->max_body_bytes);
		else
			snprintf(error, sizeof(error), "%s",
				x->error[0] != '\0' ? x->error : curl_easy_strerror(result));
		answer.error = error;
	}
	x->done(&answer, x->arg);
	exchange_free(x);
}

static size_t
reap(struct rp_http_client *client)
{
	size_t n = 0;
	CURLMsg *msg;
	int left;

	while ((msg = curl_multi_info_read(client->multi, &left)) != NULL) {
		CURLcode result = msg->data.result;
		char *x = NULL;

		if (msg->msg != CURLMSG_DONE)
			continue;
		curl_easy_getinfo(msg->easy_handle, CURLINFO_PRIVATE, &x);
		finish((struct exchange *)(void *)x, result);
		n++;
	}
	return n;
}

int
rp_http_client_poll(struct rp_http_client *client, uint32_t timeout_ms)
{
	int running;

	if (curl_multi_perform(client->multi, &running) != CURLM_OK)
		return -EIO;
	if (reap(client) > 0)
		return 0;
	if (curl_multi_poll(client->multi, NULL, 0, (int)rp_min_u64(timeout_ms, TIMEOUT_MAX_MS),
		    NULL) != CURLM_OK)
		return -EIO;
	if (curl_multi_perform(client->multi, &running) != CURLM_OK)
		return -EIO;
	reap(client);
	return 0;
}

void
rp_http_client_wakeup(struct rp_http_client *client)
{
	curl_multi_wakeup(client->multi);
}
