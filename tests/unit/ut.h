/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef RP_UT_H
#define RP_UT_H

/**
 * @file ut.h
 * Thin layer over CUnit: assertions that print both values, a table of tests,
 * one main(). A test program is one suite.
 *
 *   program [-l] [-t NAME] [-s SEED]
 *
 * The last line of output is "N passed, N failed, N skipped", one unit per test.
 */

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "rp_base.h"
#include "rp_rng.h"

struct ut_test {
	const char *name; /* reads as a sentence: function__condition__expectation */
	void (*run)(void);
};

#define UT(fn)                                                                                     \
	{                                                                                          \
#fn, fn                                                                            \
	}

/** Seed of this run (-s, else random); printed when a test fails. */
extern uint64_t ut_seed;

/** Generator of a property test: a function of the seed and @p stream only. */
struct rp_rng ut_rng(uint64_t stream);

int ut_main(const char *suite, const struct ut_test *tests, size_t n, int argc, char **argv);

#define UT_MAIN(suite, tests)                                                                      \
	int main(int argc, char **argv)                                                            \
	{                                                                                          \
		return ut_main(suite, tests, RP_ARRAY_LEN(tests), argc, argv);                     \
	}

/* All return whether the assertion held, for guards: if (!UT_OK(...)) return; */
bool ut_check(bool ok, const char *file, int line, const char *fmt, ...) RP_PRINTF(4, 5);

#define UT_TRUE(x)              ut_check((x), __FILE__, __LINE__, "%s is false", #x)
#define UT_FALSE(x)             ut_check(!(x), __FILE__, __LINE__, "%s is true", #x)
#define UT_OK(call)             ut_eq_i((call), 0, __FILE__, __LINE__, #call)
#define UT_EQ(got, want)        ut_eq_i((int64_t)(got), (int64_t)(want), __FILE__, __LINE__, #got)
#define UT_EQ_U(got, want)      ut_eq_u((uint64_t)(got), (uint64_t)(want), __FILE__, __LINE__, #got)
#define UT_HEX(got, want)       ut_eq_x((uint64_t)(got), (uint64_t)(want), __FILE__, __LINE__, #got)
#define UT_STR(got, want)       ut_eq_s((got), (want), __FILE__, __LINE__, #got)
#define UT_HAS(text, part)      ut_has((text), (part), __FILE__, __LINE__, #text)
#define UT_MEM(got, want, len)  ut_eq_m((got), (want), (len), __FILE__, __LINE__, #got)
#define UT_NEAR(got, want, eps) ut_near((got), (want), (eps), __FILE__, __LINE__, #got)

bool ut_eq_i(int64_t got, int64_t want, const char *file, int line, const char *what);
bool ut_eq_u(uint64_t got, uint64_t want, const char *file, int line, const char *what);
bool ut_eq_x(uint64_t got, uint64_t want, const char *file, int line, const char *what);
bool ut_eq_s(const char *got, const char *want, const char *file, int line, const char *what);
bool ut_has(const char *text, const char *part, const char *file, int line, const char *what);
bool ut_eq_m(const void *got, const void *want, size_t len, const char *file, int line,
	const char *what);
bool ut_near(double got, double want, double eps, const char *file, int line, const char *what);

/** Bytes of hex text, blanks ignored. @return count; aborts on a typing error */
size_t ut_hex(const char *text, uint8_t *buf, size_t cap);

/** Path of a file under tests/data; valid until the next call. */
const char *ut_data(const char *name);

#endif /* RP_UT_H */
