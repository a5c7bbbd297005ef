/* SPDX-License-Identifier: BSD-3-Clause */

#include "eal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_log.h>
#include <rte_net_crc.h>

#include "rp_log.h"

#define RP_LOG_COMPONENT "eal"

/* The last line EAL wrote at error level: what a failed start is about. */
static char last_error[256];

static ssize_t
write_line(void *cookie, const char *text, size_t len)
{
	int level = rte_log_cur_msg_loglevel();
	char line[512];
	size_t n = len < sizeof(line) - 1 ? len : sizeof(line) - 1;

	(void)cookie;
	memcpy(line, text, n);
	while (n > 0 && (line[n - 1] == '\n' || line[n - 1] == ' '))
		n--;
	line[n] = '\0';
	if (n == 0)
		return (ssize_t)len;
	if (level <= (int)RTE_LOG_ERR && level > 0)
		snprintf(last_error, sizeof(last_error), "%.255s", line);
	rp_log(level > 0 && level <= (int)RTE_LOG_ERR   ? RP_LOG_ERROR
			: level == (int)RTE_LOG_WARNING ? RP_LOG_WARN
							: RP_LOG_DEBUG,
		RP_LOG_COMPONENT, "%s", line);
	return (ssize_t)len;
}

static int
fail(struct preflight *pf, const char *what)
{
	snprintf(pf->why, sizeof(pf->why), "%.200s%s%s", what, *last_error == '\0' ? "" : ": ",
		last_error);
	pf->exit_code = RP_EX_UNAVAILABLE;
	return -EINVAL;
}

int
eal_start(struct preflight *pf)
{
	static const cookie_io_functions_t stream_ops = {.write = write_line};
	FILE *stream = fopencookie(NULL, "w", stream_ops);
	char *argv[PREFLIGHT_ARGS_MAX + 1];

	if (stream != NULL) {
		setvbuf(stream, NULL, _IOLBF, 0);
		rte_openlog_stream(stream);
	}
	/* EAL permutes its arguments; ours stay for the report. */
	memcpy(argv, pf->argv, sizeof(argv));
	if (rte_eal_init(pf->argc, argv) < 0)
		return fail(pf, "EAL does not start");
	/* Its first use from an lcore would race. */
	rte_net_crc_set_alg(RTE_NET_CRC_SSE42);

	for (uint32_t i = 0; i < pf->n_devices; i++) {
		uint16_t port;

		if (rte_eth_dev_get_port_by_name(pf->device[i].name, &port) != 0) {
			char what[256];

			snprintf(what, sizeof(what), "device %s: EAL did not make this port",
				pf->device[i].name);
			rte_eal_cleanup();
			return fail(pf, what);
		}
	}
	return 0;
}

void
eal_stop(void)
{
	rte_eal_cleanup();
	rte_openlog_stream(NULL);
}
