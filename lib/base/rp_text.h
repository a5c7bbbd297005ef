/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef RP_TEXT_H
#define RP_TEXT_H

/**
 * @file rp_text.h
 * Strict text to number conversion, small text helpers.
 *
 * Thread:  any. Memory: nothing is kept. Time: n/a.
 * Errors:  -EINVAL not of the form, -ERANGE of the form but out of range.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Decimal, or hexadecimal with 0x; optional leading '-'; nothing else around it. */
int rp_text_i64(const char *text, int64_t min, int64_t max, int64_t *ret_value);

/** Finite decimal number, nothing else around it. */
int rp_text_double(const char *text, double min, double max, double *ret_value);

/** "true" or "false", also "yes"/"no", "on"/"off", "1"/"0". */
int rp_text_bool(const char *text, bool *ret_value);

/**
 * A duration with a unit ("500ms", "2s", "1h"; ns us ms s m h d), or a bare
 * number in @p unit. @return the value in @p unit; -EINVAL also when the text
 * is not a whole number of @p unit, or @p unit is not one of the above.
 */
int rp_text_duration(
	const char *text, const char *unit, int64_t min, int64_t max, int64_t *ret_value);

/** Bytes: bare, or with B, KiB, MiB, GiB; result in bytes. */
int rp_text_size(const char *text, int64_t min, int64_t max, int64_t *ret_value);

/**
 * The entry of @p names (NULL-terminated) nearest to @p word, or NULL when none
 * is near enough to be a likely typing error.
 */
const char *rp_text_nearest(const char *word, const char *const *names);

/**
 * Decode one UTF-8 sequence of @p text.
 * @return its bytes, or 0 when it is malformed, overlong, a surrogate or cut by @p len
 */
size_t rp_text_utf8(const char *text, size_t len, uint32_t *ret_code);

/** C0, DEL and C1: characters that may end a line or drive a terminal. */
static inline bool
rp_text_is_control(uint32_t code)
{
	return code < 0x20 || (code >= 0x7F && code < 0xA0);
}

/** True when @p text is valid UTF-8 without control bytes other than tab. */
bool rp_text_is_printable_utf8(const char *text, size_t len);

/** Between a word that may be missing and what follows: " ", or "". */
static inline const char *
rp_text_gap(const char *word)
{
	return word[0] == '\0' ? "" : " ";
}

#endif /* RP_TEXT_H */
