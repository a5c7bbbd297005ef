/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef JSON_SCAN_H
#define JSON_SCAN_H

/**
 * @file json_scan.h
 * What cJSON lets through and we do not: a pass over the bytes before it parses.
 *
 * Thread:  any. Memory: n/a. Time: n/a.
 */

#include <stddef.h>

/** @return NULL, or what is wrong with the text */
const char *json_scan(const char *text, size_t len, size_t depth_max);

#endif /* JSON_SCAN_H */
