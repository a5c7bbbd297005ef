/* SPDX-License-Identifier: BSD-3-Clause */

#include "ut.h"

#include <CUnit/CUnit.h>
#include <CUnit/TestRun.h>
#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

uint64_t ut_seed;

struct rp_rng
ut_rng(uint64_t stream)
{
	struct rp_rng rng;

	rp_rng_init(&rng, ut_seed ^ stream * UINT64_C(0x9e3779b97f4a7c15));
	return rng;
}

bool
ut_check(bool ok, const char *file, int line, const char *fmt, ...)
{
	char text[2048];
	va_list ap;

	if (!ok) {
		va_start(ap, fmt);
		vsnprintf(text, sizeof(text), fmt, ap);
		va_end(ap);
		printf("%s:%d: %s\n", file, line, text);
	} else {
		text[0] = '\0';
	}
	CU_assertImplementation(
		ok ? CU_TRUE : CU_FALSE, (unsigned int)line, text, file, "", CU_FALSE);
	return ok;
}

bool
ut_eq_i(int64_t got, int64_t want, const char *file, int line, const char *what)
{
	return ut_check(
		got == want, file, line, "%s: got %" PRId64 ", want %" PRId64, what, got, want);
}

bool
ut_eq_u(uint64_t got, uint64_t want, const char *file, int line, const char *what)
{
	return ut_check(
		got == want, file, line, "%s: got %" PRIu64 ", want %" PRIu64, what, got, want);
}

bool
ut_eq_x(uint64_t got, uint64_t want, const char *file, int line, const char *what)
{
	return ut_check(
		got == want, file, line, "%s: got 0x%" PRIx64 ", want 0x%" PRIx64, what, got, want);
}

bool
ut_eq_s(const char *got, const char *want, const char *file, int line, const char *what)
{
	return ut_check(got != NULL && want != NULL && strcmp(got, want) == 0, file, line,
		"%s: got \"%s\", want \"%s\"", what, got == NULL ? "(null)" : got,
		want == NULL ? "(null)" : want);
}

bool
ut_has(const char *text, const char *part, const char *file, int line, const char *what)
{
	return ut_check(text != NULL && strstr(text, part) != NULL, file, line,
		"%s: \"%s\" is not in \"%s\"", what, part, text == NULL ? "(null)" : text);
}

bool
ut_eq_m(const void *got, const void *want, size_t len, const char *file, int line, const char *what)
{
	const uint8_t *g = got, *w = want;

	for (size_t i = 0; i < len; i++)
		if (g[i] != w[i])
			return ut_check(false, file, line,
				"%s: byte %zu of %zu: got 0x%02x, want 0x%02x", what, i, len, g[i],
				w[i]);
	return ut_check(true, file, line, "%s", what);
}

bool
ut_near(double got, double want, double eps, const char *file, int line, const char *what)
{
	return ut_check(fabs(got - want) <= eps, file, line, "%s: got %.12g, want %.12g +- %g",
		what, got, want, eps);
}

static uint8_t
digit(char c)
{
	if (!isxdigit((unsigned char)c))
		abort();
	return (uint8_t)(isdigit((unsigned char)c) ? c - '0' : (c | 0x20) - 'a' + 10);
}

size_t
ut_hex(const char *text, uint8_t *buf, size_t cap)
{
	size_t digits = 0;

	for (; *text != '\0'; text++) {
		if (isspace((unsigned char)*text))
			continue;
		if (digits / 2 == cap)
			abort();
		if (digits % 2 == 0)
			buf[digits / 2] = (uint8_t)(digit(*text) << 4);
		else
			buf[digits / 2] |= digit(*text);
		digits++;
	}
	if (digits % 2 != 0)
		abort();
	return digits / 2;
}

const char *
ut_data(const char *name)
{
	static char path[1024];

	snprintf(path, sizeof(path), "%s/%s", UT_DATA_DIR, name);
	return path;
}

static unsigned int
run(const char *suite_name, const struct ut_test *tests, size_t n, const char *only,
	unsigned int *ret_run)
{
	CU_pSuite suite;
	unsigned int failed;

	if (CU_initialize_registry() != CUE_SUCCESS)
		abort();
	suite = CU_add_suite(suite_name, NULL, NULL);
	for (size_t i = 0; i < n; i++)
		if (only == NULL || strcmp(only, tests[i].name) == 0)
			CU_add_test(suite, tests[i].name, tests[i].run);
	CU_run_all_tests();
	for (CU_pFailureRecord f = CU_get_failure_list(); f != NULL; f = f->pNext)
		printf("FAILED %s.%s line %u\n", suite_name,
			f->pTest == NULL ? "?" : f->pTest->pName, f->uiLineNumber);
	*ret_run = CU_get_number_of_tests_run();
	failed = CU_get_number_of_tests_failed();
	CU_cleanup_registry();
	return failed;
}

int
ut_main(const char *suite, const struct ut_test *tests, size_t n, int argc, char **argv)
{
	const char *only = NULL;
	unsigned int ran, failed;
	int c;

	setvbuf(stdout, NULL, _IOLBF, 0);
	rp_random_bytes(&ut_seed, sizeof(ut_seed));
	while ((c = getopt(argc, argv, "lt:s:")) != -1) {
		switch (c) {
		case 'l':
			for (size_t i = 0; i < n; i++)
				printf("%s\n", tests[i].name);
			return 0;
		case 't':
			only = optarg;
			break;
		case 's':
			ut_seed = strtoull(optarg, NULL, 0);
			break;
		default:
			return 64;
		}
	}
	failed = run(suite, tests, n, only, &ran);
	if (failed > 0)
		printf("repeat with: -s 0x%" PRIx64 "\n", ut_seed);
	printf("%u passed, %u failed, 0 skipped\n", ran - failed, failed);
	return failed > 0 || ran == 0 ? 1 : 0;
}
