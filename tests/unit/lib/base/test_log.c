/* SPDX-License-Identifier: BSD-3-Clause */

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "rp_log.h"
#include "ut.h"

#define RP_LOG_COMPONENT "test"

static int pipe_fd[2];

static void
start(enum rp_log_level level, enum rp_log_format format)
{
	if (pipe(pipe_fd) != 0)
		abort();
	rp_log_setup(level, format, pipe_fd[1]);
}

/* Everything written since start(), NUL-terminated. */
static const char *
finish(void)
{
	static char text[65536];
	size_t n = 0;
	ssize_t got;

	rp_log_setup(RP_LOG_INFO, RP_LOG_FORMAT_TEXT, STDERR_FILENO);
	close(pipe_fd[1]);
	while ((got = read(pipe_fd[0], text + n, sizeof(text) - 1 - n)) > 0)
		n += (size_t)got;
	close(pipe_fd[0]);
	text[n] = '\0';
	return text;
}

static size_t
lines(const char *text)
{
	size_t n = 0;

	for (; *text != '\0'; text++)
		n += *text == '\n';
	return n;
}

static void
rp_log__text__is_stamp_level_component_message(void)
{
	const char *text;
	int year, ms, end = 0;

	start(RP_LOG_DEBUG, RP_LOG_FORMAT_TEXT);
	rp_warn("port %s: down", "eth0");
	text = finish();
	UT_EQ(sscanf(text, "%d-%*d-%*dT%*d:%*d:%*d.%dZ %n", &year, &ms, &end), 2);
	UT_TRUE(year >= 2020);
	UT_STR(text + end, "warn  test: port eth0: down\n");
}

static void
rp_log__json__is_one_object_with_four_members(void)
{
	const char *text;

	start(RP_LOG_DEBUG, RP_LOG_FORMAT_JSON);
	rp_error("name \"%s\"", "a\\b\n");
	text = finish();
	UT_TRUE(strncmp(text, "{\"ts\":\"", 7) == 0);
	UT_HAS(text,
		"Z\",\"level\":\"error\",\"component\":\"test\",\"msg\":"
		"\"name \\\"a\\\\b\\u000a\\\"\"}\n");
	UT_EQ(lines(text), 1);
}

static void
rp_log__auto_on_a_pipe__is_json(void)
{
	start(RP_LOG_INFO, RP_LOG_FORMAT_AUTO);
	rp_info("x");
	UT_TRUE(finish()[0] == '{');
}

static void
rp_log__below_the_level__writes_nothing(void)
{
	for (int set = RP_LOG_DEBUG; set <= RP_LOG_ERROR; set++) {
		const char *text;

		start((enum rp_log_level)set, RP_LOG_FORMAT_TEXT);
		for (int l = RP_LOG_DEBUG; l <= RP_LOG_ERROR; l++) {
			UT_EQ(rp_log_enabled((enum rp_log_level)l), l >= set);
			rp_log((enum rp_log_level)l, "test", "level %d", l);
		}
		text = finish();
		UT_EQ(lines(text), RP_LOG_ERROR - set + 1);
		UT_HAS(text, "level 3");
	}
}

static void
rp_log__name_with_newlines_and_escapes__stays_one_harmless_line(void)
{
	static const char evil[] =
		"x\n2020-01-01T00:00:00.000Z error test: forged\r\x1B[2J\x7F\xC2\x9B"
		"2J\x9B!";
	const char *text;

	start(RP_LOG_INFO, RP_LOG_FORMAT_TEXT);
	rp_info("host %s", evil);
	text = finish();
	UT_EQ(lines(text), 1);
	UT_TRUE(strchr(text, '\x1B') == NULL && strchr(text, '\r') == NULL);
	/* CSI as one C1 control, as UTF-8 and bare */
	UT_TRUE(strstr(text, "\xC2\x9B") == NULL);
	UT_TRUE(strchr(text, '\x9B') == NULL);

	start(RP_LOG_INFO, RP_LOG_FORMAT_JSON);
	rp_info("host %s", evil);
	text = finish();
	UT_EQ(lines(text), 1);
	UT_TRUE(strchr(text, '\x1B') == NULL && strstr(text, "\xC2\x9B") == NULL);
	UT_HAS(text, "host x\\u000a2020");
	UT_HAS(text, "\xEF\xBF\xBD!");
}

static void
rp_log__printable_utf8__passes_unchanged(void)
{
	start(RP_LOG_INFO, RP_LOG_FORMAT_TEXT);
	rp_info("h\xC3\xB6st \xE2\x82\xAC");
	UT_HAS(finish(), "test: h\xC3\xB6st \xE2\x82\xAC\n");
}

static void
rp_log__very_long_message__is_cut_and_ends_the_line(void)
{
	static char big[10000];
	const char *text;

	memset(big, 'a', sizeof(big) - 1);
	start(RP_LOG_INFO, RP_LOG_FORMAT_TEXT);
	rp_info("%s", big);
	text = finish();
	UT_EQ(lines(text), 1);
	UT_TRUE(strlen(text) < 2048 + 64);
	UT_TRUE(strlen(text) > 2000);
}

/* Sleep to the start of a second, so that a burst does not straddle two. */
static void
align_to_second(void)
{
	struct timespec now, nap = {0, 0};

	clock_gettime(CLOCK_MONOTONIC, &now);
	nap.tv_nsec = 1000000000 - now.tv_nsec;
	if (nap.tv_nsec == 1000000000)
		return;
	nanosleep(&nap, NULL);
}

static void
rp_log_rl__burst_of_a_thousand__is_one_line_and_a_count(void)
{
	const char *text;
	const char *line;

	align_to_second();
	start(RP_LOG_INFO, RP_LOG_FORMAT_TEXT);
	for (int i = 0; i < 1001; i++) {
		/* the last one is a second later */
		if (i == 1000)
			align_to_second();
		rp_log_rl(RP_LOG_WARN, "bad frame %d", i);
	}
	text = finish();
	UT_EQ(lines(text), 2);
	UT_HAS(text, "bad frame 0\n");
	line = strchr(text, '\n');
	UT_HAS(line == NULL ? "" : line, "bad frame 1000 (999 more suppressed)\n");
}

static void
rp_log_limited__suppressed_lines__are_counted_in_json_too(void)
{
	struct rp_log_site site = {0};

	start(RP_LOG_INFO, RP_LOG_FORMAT_JSON);
	atomic_store(&site.suppressed, 41);
	rp_log_limited(&site, RP_LOG_INFO, "test", "again");
	UT_HAS(finish(), "\"msg\":\"again\",\"suppressed\":41}\n");
	UT_EQ(atomic_load(&site.suppressed), 0);
}

static void
rp_log_rl__two_call_sites__do_not_silence_each_other(void)
{
	const char *text;

	start(RP_LOG_INFO, RP_LOG_FORMAT_TEXT);
	rp_log_rl(RP_LOG_INFO, "one");
	rp_log_rl(RP_LOG_INFO, "two");
	text = finish();
	UT_HAS(text, "one");
	UT_HAS(text, "two");
}

#define THREADS 4
#define LINES   60

static void *
write_lines(void *arg)
{
	for (int i = 0; i < LINES; i++) {
		rp_info("thread %d line %d end", *(int *)arg, i);
		rp_log_rl(RP_LOG_INFO, "limited end");
	}
	return NULL;
}

static void
rp_log__four_threads__each_line_is_whole_and_none_is_missing(void)
{
	pthread_t thread[THREADS];
	int number[THREADS];
	char want[64];
	const char *text;

	start(RP_LOG_INFO, RP_LOG_FORMAT_TEXT);
	for (int i = 0; i < THREADS; i++) {
		number[i] = i;
		if (pthread_create(&thread[i], NULL, write_lines, &number[i]) != 0)
			abort();
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	text = finish();
	/* of the limited site one line, and one more if a second began meanwhile */
	UT_TRUE(lines(text) > THREADS * LINES && lines(text) <= THREADS * LINES + 60);
	for (int i = 0; i < THREADS; i++)
		for (int k = 0; k < LINES; k++) {
			snprintf(want, sizeof(want), "Z info  test: thread %d line %d end\n", i, k);
			UT_HAS(text, want);
		}
}

static const struct ut_test tests[] = {
	UT(rp_log__text__is_stamp_level_component_message),
	UT(rp_log__json__is_one_object_with_four_members),
	UT(rp_log__auto_on_a_pipe__is_json),
	UT(rp_log__below_the_level__writes_nothing),
	UT(rp_log__name_with_newlines_and_escapes__stays_one_harmless_line),
	UT(rp_log__printable_utf8__passes_unchanged),
	UT(rp_log__very_long_message__is_cut_and_ends_the_line),
	UT(rp_log_rl__burst_of_a_thousand__is_one_line_and_a_count),
	UT(rp_log_limited__suppressed_lines__are_counted_in_json_too),
	UT(rp_log_rl__two_call_sites__do_not_silence_each_other),
	UT(rp_log__four_threads__each_line_is_whole_and_none_is_missing),
};

UT_MAIN("log", tests)
