/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef PREFLIGHT_H
#define PREFLIGHT_H

/**
 * @file preflight.h
 * What EAL would accept silently or refuse in a page of text, found before it
 * starts and named with the fix: cores, hugepages, capabilities, interfaces,
 * vdev names. Also decides the EAL options that the user left open.
 *
 * Thread:  control, at start. Memory: struct preflight owns its strings.
 * Time:    n/a.
 */

#include <stdint.h>

#include "agent_conf.h"
#include "place.h"
#include "rp_gid.h"

#define PREFLIGHT_ARGS_MAX    64
#define PREFLIGHT_DEVICES_MAX 16

/** One device to open, resolved. */
struct preflight_device {
	const char *name; /* ethdev name; in the configuration or the EAL options */
	const struct agent_device_conf *conf; /* NULL: not configured, defaults */
	char iface[16];                       /* kernel interface behind a vdev, "" none */
	int numa_node;                        /* of a PCI device; -1 unknown */
	struct rp_gid gid;
	uint8_t prefix_len;
	struct place_roles roles;
};

struct preflight {
	char *argv[PREFLIGHT_ARGS_MAX + 1]; /* for rte_eal_init; owned */
	int argc;
	char added[512]; /* what was added to the user's EAL options, for the log */
	struct place_plan plan;
	cpu_set_t allowed;
	uint32_t free_hugepages_mib;
	bool hugepages; /* EAL will use them */
	struct preflight_device device[PREFLIGHT_DEVICES_MAX];
	uint32_t n_devices;
	char warning[8][160]; /* what spoils measurements but lets the agent start */
	uint32_t n_warnings;
	int exit_code;            /* on error */
	char why[RP_OPT_WHY_MAX]; /* on error */
};

/**
 * Check everything and build the EAL command line.
 *
 * @param eal_argc, eal_argv  the user's EAL options without the program name
 * @param root  "" in production; tests give a folder with fake /proc and /sys
 * @return 0; -EINVAL with exit_code and why
 */
int preflight_run(struct preflight *pf, const struct agent_conf *conf, int eal_argc,
	char *const *eal_argv, const char *root);

void preflight_fini(struct preflight *pf);

/** The report of --check. */
void preflight_report(
	const struct preflight *pf, const struct agent_conf *conf, struct rp_buf *out);

/** Would EAL take this option (so that it belongs before "--")? */
bool preflight_is_eal_option(const char *arg);

/** "A/LEN" of a unicast address. @return 0, -EINVAL */
int preflight_parse_ip(const char *text, struct rp_gid *ret_gid, uint8_t *ret_prefix_len);

/** Colon form, unicast, not zero. @return 0, -EINVAL */
int preflight_parse_mac(const char *text, uint8_t ret_mac[6]);

#endif /* PREFLIGHT_H */
