/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef RP_LOG_H
#define RP_LOG_H

/**
 * @file rp_log.h
 * One line per event, as text or as one JSON object.
 *
 * Thread:  any; a line is written with one write(2). Never from a hot path:
 *          lcores count, and the control thread logs what the counters say.
 * Memory:  messages are cut at 2 KiB; the line is on the heap for the call.
 * Time:    wall clock in the line only.
 *
 * Control characters and invalid UTF-8 in a message become '?' (text) or an escape
 * (JSON): a name from a peer cannot forge a line.
 *
 * Message rules: lower case, object first, no trailing period, values follow
 * their names. A message that a packet or a peer can cause uses rp_log_rl().
 */

#include <stdbool.h>
#include <stdint.h>

#include "rp_base.h"

enum rp_log_level {
	RP_LOG_DEBUG,
	RP_LOG_INFO,
	RP_LOG_WARN,
	RP_LOG_ERROR,
};

enum rp_log_format {
	RP_LOG_FORMAT_AUTO, /* text on a terminal, else JSON */
	RP_LOG_FORMAT_TEXT,
	RP_LOG_FORMAT_JSON,
};

/** Set once at start, again on reload. @p fd stays the caller's. */
void rp_log_setup(enum rp_log_level level, enum rp_log_format format, int fd);

bool rp_log_enabled(enum rp_log_level level);

void rp_log(enum rp_log_level level, const char *component, const char *fmt, ...) RP_PRINTF(3, 4);

/** State of one rate-limited call site: one line a second, the rest counted. */
struct rp_log_site {
	_Atomic int64_t last_s;
	_Atomic uint32_t suppressed;
};

void rp_log_limited(struct rp_log_site *site, enum rp_log_level level, const char *component,
	const char *fmt, ...) RP_PRINTF(4, 5);

/* A file names its component once: #define RP_LOG_COMPONENT "registry" */
#define rp_debug(...) rp_log(RP_LOG_DEBUG, RP_LOG_COMPONENT, __VA_ARGS__)
#define rp_info(...)  rp_log(RP_LOG_INFO, RP_LOG_COMPONENT, __VA_ARGS__)
#define rp_warn(...)  rp_log(RP_LOG_WARN, RP_LOG_COMPONENT, __VA_ARGS__)
#define rp_error(...) rp_log(RP_LOG_ERROR, RP_LOG_COMPONENT, __VA_ARGS__)

/** Anything a packet or peer can trigger. */
#define rp_log_rl(level, ...)                                                                      \
	do {                                                                                       \
		static struct rp_log_site rp_site_;                                                \
		rp_log_limited(&rp_site_, (level), RP_LOG_COMPONENT, __VA_ARGS__);                 \
	} while (0)

#endif /* RP_LOG_H */
