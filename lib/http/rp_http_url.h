/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef RP_HTTP_URL_H
#define RP_HTTP_URL_H

/**
 * @file rp_http_url.h
 * Percent-encoding (RFC 3986) for URLs that we make, and strict decoding of
 * those that strangers send.
 *
 * Thread:  any. Memory: the caller's. Time: n/a.
 */

#include <stddef.h>

#include "rp_buf.h"

/**
 * Is @p url the address of a server: http or https, a host, no query, no fragment,
 * no user, a port of 1..65535 if any? A path may follow.
 * @return 0, -EINVAL, -ENOMEM
 */
int rp_http_url_check(const char *url);

/** Add @p text with everything but unreserved characters encoded: a path segment or a value. */
void rp_http_url_add(struct rp_buf *url, const char *text);

/**
 * Decode @p len bytes. '+' stays '+'. Refuses a broken escape, a byte that a URL
 * must encode, and escapes of control bytes (NUL included) and of invalid UTF-8.
 *
 * @param ret_text  @p len + 1 bytes at least; NUL-terminated
 * @return 0, -EINVAL
 */
int rp_http_url_decode(const char *text, size_t len, char *ret_text);

#endif /* RP_HTTP_URL_H */
