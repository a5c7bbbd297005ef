/* SPDX-License-Identifier: BSD-3-Clause */

#include "rp_log.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "rp_buf.h"

#define MSG_MAX_BYTES 2048

/*
 * The one process-wide state of lib/: a log call must work from any depth
 * without an object to pass along. Written by rp_log_setup() only.
 */
static struct {
	_Atomic int level;
	_Atomic int json;
	_Atomic int fd;
} sink = {RP_LOG_INFO, 0, STDERR_FILENO};

static const char *const level_name[] = {"debug", "info", "warn", "error"};

void
rp_log_setup(enum rp_log_level level, enum rp_log_format format, int fd)
{
	if (format == RP_LOG_FORMAT_AUTO)
		format = isatty(fd) ? RP_LOG_FORMAT_TEXT : RP_LOG_FORMAT_JSON;
	atomic_store(&sink.level, (int)level);
	atomic_store(&sink.json, format == RP_LOG_FORMAT_JSON);
	atomic_store(&sink.fd, fd);
}

bool
rp_log_enabled(enum rp_log_level level)
{
	return (int)level >= atomic_load_explicit(&sink.level, memory_order_relaxed);
}

static void
stamp(char *text, size_t len)
{
	struct timespec now;
	struct tm tm;
	size_t n;

	clock_gettime(CLOCK_REALTIME, &now);
	gmtime_r(&now.tv_sec, &tm);
	n = strftime(text, len, "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(text + n, len - n, ".%03ldZ", now.tv_nsec / 1000000);
}

static void
put_line(enum rp_log_level level, const char *component, const char *msg, uint32_t suppressed)
{
	struct rp_buf line = {0};
	char ts[40];
	ssize_t unused RP_UNUSED;

	stamp(ts, sizeof(ts));
	if (atomic_load(&sink.json) != 0) {
		rp_buf_printf(&line,
			"{\"ts\":\"%s\",\"level\":\"%s\",\"component\":\"%s\",\"msg\":", ts,
			level_name[level], component);
		rp_buf_json_string(&line, msg);
		if (suppressed > 0)
			rp_buf_printf(&line, ",\"suppressed\":%u", suppressed);
		rp_buf_puts(&line, "}\n");
	} else {
		rp_buf_printf(&line, "%s %-5s %s: ", ts, level_name[level], component);
		rp_buf_put_harmless(&line, msg);
		if (suppressed > 0)
			rp_buf_printf(&line, " (%u more suppressed)", suppressed);
		rp_buf_puts(&line, "\n");
	}
	/* Nowhere to report a log that cannot be written. */
	if (!rp_buf_failed(&line))
		unused = write(atomic_load(&sink.fd), line.data, line.len);
	rp_buf_fini(&line);
}

void
rp_log(enum rp_log_level level, const char *component, const char *fmt, ...)
{
	char msg[MSG_MAX_BYTES];
	va_list ap;

	if (!rp_log_enabled(level))
		return;
	va_start(ap, fmt);
	vsnprintf(msg, sizeof(msg), fmt, ap);
	va_end(ap);
	put_line(level, component, msg, 0);
}

void
rp_log_limited(struct rp_log_site *site, enum rp_log_level level, const char *component,
	const char *fmt, ...)
{
	char msg[MSG_MAX_BYTES];
	struct timespec now;
	int64_t last;
	va_list ap;

	if (!rp_log_enabled(level))
		return;
	clock_gettime(CLOCK_MONOTONIC, &now);
	last = atomic_load_explicit(&site->last_s, memory_order_relaxed);
	/* +1: second 0 of the machine's life is a time like any other. */
	if (last == now.tv_sec + 1 ||
		!atomic_compare_exchange_strong(&site->last_s, &last, now.tv_sec + 1)) {
		atomic_fetch_add_explicit(&site->suppressed, 1, memory_order_relaxed);
		return;
	}
	va_start(ap, fmt);
	vsnprintf(msg, sizeof(msg), fmt, ap);
	va_end(ap);
	put_line(level, component, msg, atomic_exchange(&site->suppressed, 0));
}
