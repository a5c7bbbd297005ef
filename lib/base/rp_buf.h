/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef RP_BUF_H
#define RP_BUF_H

/**
 * @file rp_buf.h
 * Growing text buffer for reports, metrics and tables.
 *
 * Thread:  one owner. Memory: heap, released by rp_buf_fini().
 * Errors:  an allocation failure is sticky: later calls do nothing and
 *          rp_buf_failed() tells, so that a writer checks once at the end.
 */

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include "rp_base.h"

struct rp_buf {
	char *data; /* NUL-terminated once anything was added; NULL before */
	size_t len;
	size_t cap;
	bool failed;
};

/** Release the memory and make @p buf empty; an all-zero struct is empty too. */
void rp_buf_fini(struct rp_buf *buf);

void rp_buf_add(struct rp_buf *buf, const void *bytes, size_t len);
void rp_buf_puts(struct rp_buf *buf, const char *text);
void rp_buf_printf(struct rp_buf *buf, const char *fmt, ...) RP_PRINTF(2, 3);
void rp_buf_vprintf(struct rp_buf *buf, const char *fmt, va_list ap) RP_PRINTF(2, 0);

/**
 * Add @p text as a JSON string with its quotes; invalid UTF-8 becomes U+FFFD, and
 * all control characters (C1 too, which JSON would allow) are escaped.
 */
void rp_buf_json_string(struct rp_buf *buf, const char *text);

/**
 * Add @p text for a terminal: a name from a peer must not forge a second line or
 * move the cursor. Control characters and invalid UTF-8 become '?'.
 */
void rp_buf_put_harmless(struct rp_buf *buf, const char *text);

/** The text, never NULL. */
const char *rp_buf_text(const struct rp_buf *buf);

static inline bool
rp_buf_failed(const struct rp_buf *buf)
{
	return buf->failed;
}

#endif /* RP_BUF_H */
