/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "ctl.h"
#include "rp_http_client.h"
#include "rp_http_url.h"
#include "rp_text.h"

#define CONNECT_MS 3000
#define TOTAL_MS   30000
#define BODY_MAX   ((size_t)256 << 20)

int
ctl_fail(int exit_code, const char *fmt, ...)
{
	struct rp_buf raw = {0}, line = {0};
	va_list ap;

	va_start(ap, fmt);
	rp_buf_vprintf(&raw, fmt, ap);
	va_end(ap);
	rp_buf_put_harmless(&line, rp_buf_text(&raw));
	fprintf(stderr, "rpingmesh-ctl: %s\n", rp_buf_text(&line));
	rp_buf_fini(&line);
	rp_buf_fini(&raw);
	return exit_code;
}

void
ctl_url_query(struct rp_buf *url, const char *name, const char *value)
{
	if (value == NULL)
		return;
	rp_buf_puts(url, strchr(rp_buf_text(url), '?') == NULL ? "?" : "&");
	rp_buf_printf(url, "%s=", name);
	rp_http_url_add(url, value);
}

struct outcome {
	int status;
	struct rp_buf body;
	char error[256];
};

static void
on_done(const struct rp_http_answer *answer, void *arg)
{
	struct outcome *out = arg;

	out->status = answer->status;
	rp_buf_add(&out->body, answer->body, answer->body_len);
	snprintf(out->error, sizeof(out->error), "%s", answer->error);
}

/* The message of an error body, or the status alone. */
static int
explain(const char *url, const struct outcome *out)
{
	struct rp_json_err err;
	struct rp_json *doc = NULL;
	char message[256] = "no reason given";

	if (out->status >= 300 && out->status < 400)
		return ctl_fail(CTL_EX_REFUSED,
			"%s: %d: a redirect, which is not followed: set --controller to where it leads",
			url, out->status);

	if (rp_json_parse(rp_buf_text(&out->body), out->body.len, &doc, &err) == 0) {
		struct rp_json_at root = rp_json_root(doc, &err), error;

		if (rp_json_object(&root, "error", RP_JSON_REQUIRED, &error) == 0)
			rp_json_string(
				&error, "message", RP_JSON_OPTIONAL, message, sizeof(message));
		rp_json_free(doc);
	}
	return ctl_fail(CTL_EX_REFUSED, "%s: %d: %s", url, out->status, message);
}

int
ctl_get(const struct ctl *ctl, const char *path, struct rp_buf *ret_body)
{
	struct rp_http_client_conf conf = {.product = "rpingmesh-ctl",
		.connect_timeout_ms = CONNECT_MS,
		.max_body_bytes = BODY_MAX};
	struct outcome out = {0};
	struct rp_buf url = {0};
	struct rp_http_client *client;
	size_t base_len = strlen(ctl->controller);
	int rc;

	if (rp_http_url_check(ctl->controller) == -EINVAL)
		return ctl_fail(CTL_EX_USAGE, "controller '%s' is not valid, want http://HOST:PORT",
			ctl->controller);
	while (base_len > 0 && ctl->controller[base_len - 1] == '/')
		base_len--;
	rp_buf_add(&url, ctl->controller, base_len);
	rp_buf_puts(&url, path);
	if (rp_buf_failed(&url) || rp_http_client_create(&conf, &client) != 0) {
		rp_buf_fini(&url);
		return ctl_fail(CTL_EX_INTERNAL, "out of memory");
	}
	rc = rp_http_client_start(client,
		&(struct rp_http_call){.method = "GET",
			.url = rp_buf_text(&url),
			.timeout_ms = TOTAL_MS,
			.done = on_done,
			.arg = &out});
	while (rc == 0 && rp_http_client_busy(client) > 0)
		rc = rp_http_client_poll(client, TOTAL_MS);
	rp_http_client_destroy(client);
	if (rc != 0 || out.status == 0)
		rc = ctl_fail(CTL_EX_UNAVAILABLE,
			"no answer from %s: %s (set --controller or RPINGMESH_CTL_CONTROLLER)",
			ctl->controller, out.error);
	else if (out.status != 200)
		rc = explain(rp_buf_text(&url), &out);
	rp_buf_fini(&url);
	if (rc == 0)
		*ret_body = out.body;
	else
		rp_buf_fini(&out.body);
	return rc;
}

int
ctl_print_json(const struct rp_buf *body)
{
	fwrite(rp_buf_text(body), 1, body->len, stdout);
	if (fflush(stdout) != 0)
		return ctl_fail(CTL_EX_IO, "cannot write: %s", strerror(errno));
	return CTL_EX_OK;
}

static int
print_answer(const struct ctl *ctl, const struct rp_buf *body, ctl_print print)
{
	struct rp_json *doc = NULL;
	struct rp_json_err err = {0};
	struct rp_json_at root;
	int rc = -1;

	if (rp_json_parse(rp_buf_text(body), body->len, &doc, &err) == 0) {
		root = rp_json_root(doc, &err);
		rc = print(ctl, &root);
		rp_json_free(doc);
	}
	if (rc == -1)
		return ctl_fail(CTL_EX_DATA,
			"unexpected answer: %s%s%s (is it an rpingmesh-controller?)", err.field,
			rp_text_gap(err.field), err.message);
	if (rc != 0)
		return ctl_fail(CTL_EX_IO, "cannot print: %s", strerror(-rc));
	return CTL_EX_OK;
}

int
ctl_show(const struct ctl *ctl, struct rp_buf *path, ctl_print print)
{
	struct rp_buf body = {0};
	int rc = ctl_get(ctl, rp_buf_text(path), &body);

	rp_buf_fini(path);
	if (rc != 0)
		return rc;
	rc = ctl->json ? ctl_print_json(&body) : print_answer(ctl, &body, print);
	rp_buf_fini(&body);
	return rc;
}

void
ctl_put_ns(char *text, size_t len, const struct rp_json_at *at, const char *key)
{
	struct rp_json_err unused;
	struct rp_json_at quiet = *at;
	int64_t ns = -1;

	quiet.err = &unused;
	if (rp_json_i64(&quiet, key, RP_JSON_OPTIONAL, 0, RP_JSON_INT_MAX, &ns) != 0 || ns < 0)
		snprintf(text, len, "-");
	else if (ns < 1000)
		snprintf(text, len, "%" PRId64 " ns", ns);
	else if (ns < 1000000)
		snprintf(text, len, "%.2f us", (double)ns / 1e3);
	else
		snprintf(text, len, "%.2f ms", (double)ns / 1e6);
}

void
ctl_put_ppm(char *text, size_t len, const struct rp_json_at *at, const char *key)
{
	struct rp_json_err unused;
	struct rp_json_at quiet = *at;
	int64_t ppm = -1;

	quiet.err = &unused;
	if (rp_json_i64(&quiet, key, RP_JSON_OPTIONAL, 0, 1000000, &ppm) != 0 || ppm < 0)
		snprintf(text, len, "-");
	else
		snprintf(text, len, "%.2f %%", (double)ppm / 1e4);
}
