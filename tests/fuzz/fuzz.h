/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef RP_FUZZ_H
#define RP_FUZZ_H

/**
 * @file fuzz.h
 * A fuzz target is one source file that defines the function below. Built with
 * -Dfuzz=true it is a libFuzzer program; else replay.c gives it a main() that
 * runs the files of its corpus, so that every build repeats what was once found.
 *
 * A target aborts when an input breaks a promise of the parser's contract.
 */

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define FUZZ_PROMISE(x)                                                                            \
	do {                                                                                       \
		if (!(x)) {                                                                        \
			fprintf(stderr, "%s:%d: broken promise: %s\n", __FILE__, __LINE__, #x);    \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

#endif /* RP_FUZZ_H */
