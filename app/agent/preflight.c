/* SPDX-License-Identifier: BSD-3-Clause */

#include "preflight_priv.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rp_base.h"
#include "rp_text.h"

/* Memory without hugepages: EAL itself, then per device its pool and rings. */
#define BASE_MIB   24
#define DEVICE_MIB 48

/* Options of EAL that take their value as the next argument. */
const char *const preflight_with_value[] = {"-a", "-b", "-c", "-d", "-l", "-m", "-n", "-r", "-s",
	"-S", "--allow", "--block", "--vdev", "--lcores", "--main-lcore", "--file-prefix",
	"--socket-mem", "--socket-limit", "--huge-dir", "--iova-mode", "--log-level",
	"--base-virtaddr", "--proc-type", "--syslog", "--trace", "--mbuf-pool-ops-name",
	"--vfio-intr", "--vfio-vf-token", "--force-max-simd-bitwidth", "--trace-dir", "--telemetry",
	NULL};
static const char *const alone[] = {"--no-pci", "--no-huge", "--in-memory", "--no-shconf",
	"--no-telemetry", "--huge-unlink", "--legacy-mem", "--single-file-segments", "--no-hpet",
	"--match-allocations", "--create-uio-dev", "--vmware-tsc-map", "-v", NULL};

int
preflight_fail(struct preflight *pf, int exit_code, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(pf->why, sizeof(pf->why), fmt, ap);
	va_end(ap);
	pf->exit_code = exit_code;
	return -EINVAL;
}

bool
preflight_is_in(const char *word, const char *const *list)
{
	for (; *list != NULL; list++) {
		size_t len = strlen(*list);

		if (strncmp(word, *list, len) == 0 &&
			(word[len] == '\0' || ((*list)[1] == '-' && word[len] == '=')))
			return true;
	}
	return false;
}

bool
preflight_is_eal_option(const char *arg)
{
	return (arg[0] == '-' && arg[1] == '-') &&
		(preflight_is_in(arg, preflight_with_value) || preflight_is_in(arg, alone));
}

int
preflight_parse_ip(const char *text, struct rp_gid *ret_gid, uint8_t *ret_prefix_len)
{
	char addr[RP_GID_TEXT_MAX];
	const char *slash = strchr(text, '/');
	struct rp_gid gid;
	int64_t bits;

	if (slash == NULL || (size_t)(slash - text) >= sizeof(addr))
		return -EINVAL;
	snprintf(addr, sizeof(addr), "%.*s", (int)(slash - text), text);
	if (rp_gid_parse(addr, &gid) != 0 || !rp_gid_is_unicast(&gid) ||
		rp_text_i64(slash + 1, 1, rp_gid_is_ipv4(&gid) ? 32 : 128, &bits) != 0)
		return -EINVAL;
	*ret_gid = gid;
	*ret_prefix_len = (uint8_t)bits;
	return 0;
}

int
preflight_parse_mac(const char *text, uint8_t ret_mac[6])
{
	static const uint8_t zero[6];
	unsigned int b[6];
	int end = 0;

	if (sscanf(text, "%2x:%2x:%2x:%2x:%2x:%2x%n", &b[0], &b[1], &b[2], &b[3], &b[4], &b[5],
		    &end) != 6 ||
		text[end] != '\0' || strlen(text) != 17)
		return -EINVAL;
	for (int i = 0; i < 6; i++)
		ret_mac[i] = (uint8_t)b[i];
	return (ret_mac[0] & 1) != 0 || memcmp(ret_mac, zero, 6) == 0 ? -EINVAL : 0;
}

/* ---- the EAL command line ---- */

static int
add_arg(struct preflight *pf, const char *text)
{
	if (pf->argc == PREFLIGHT_ARGS_MAX)
		return preflight_fail(
			pf, RP_EX_USAGE, "more than %d EAL arguments", PREFLIGHT_ARGS_MAX);
	pf->argv[pf->argc] = strdup(text);
	if (pf->argv[pf->argc] == NULL)
		return preflight_fail(pf, RP_EX_OS, "out of memory");
	pf->argc++;
	return 0;
}

static int
add_own(struct preflight *pf, const char *text)
{
	size_t n = strlen(pf->added);

	snprintf(pf->added + n, sizeof(pf->added) - n, "%s%s", n > 0 ? " " : "", text);
	return add_arg(pf, text);
}

/* Value of option @i of the EAL arguments; moves *i when it is the next argument. */
const char *
preflight_value(const struct preflight *pf, int *i)
{
	const char *arg = pf->argv[*i];
	const char *eq = strncmp(arg, "--", 2) == 0 ? strchr(arg, '=') : NULL;

	if (eq != NULL)
		return eq + 1;
	/* Short options may be glued to their value: -l0-3. */
	if (arg[1] != '-' && arg[2] != '\0')
		return arg + 2;
	return *i + 1 < pf->argc ? pf->argv[++*i] : NULL;
}

bool
preflight_is_option(const char *arg, const char *name)
{
	size_t len = strlen(name);

	if (strncmp(arg, name, len) != 0)
		return false;
	return arg[len] == '\0' || (name[1] == '-' && arg[len] == '=') ||
		(name[1] != '-' && len == 2);
}

/* Does the EAL command line hold @name? Its value through *ret_value. */
static bool
find_option(const struct preflight *pf, const char *name, const char **ret_value)
{
	for (int i = 1; i < pf->argc; i++) {
		int at = i;
		const char *value =
			preflight_is_in(pf->argv[i], preflight_with_value) || pf->argv[i][1] != '-'
			? preflight_value(pf, &i)
			: NULL;

		if (preflight_is_option(pf->argv[at], name)) {
			if (ret_value != NULL)
				*ret_value = value;
			return true;
		}
	}
	return false;
}

static bool
any_option(const struct preflight *pf, const char *const *names)
{
	for (; *names != NULL; names++)
		if (find_option(pf, *names, NULL))
			return true;
	return false;
}

/* The configuration's eal = "..." split at blanks. */
static int
add_from_conf(struct preflight *pf, const char *text)
{
	char copy[1024], *rest = copy, *word;

	snprintf(copy, sizeof(copy), "%s", text);
	while ((word = strsep(&rest, " \t")) != NULL) {
		if (*word != '\0' && add_arg(pf, word) != 0)
			return -EINVAL;
	}
	return 0;
}

static int
check_words(struct preflight *pf)
{
	for (int i = 1; i < pf->argc; i++) {
		int at = i;

		if (pf->argv[i][0] != '-')
			return preflight_fail(
				pf, RP_EX_USAGE, "EAL option expected, found '%s'", pf->argv[i]);
		if (preflight_is_in(pf->argv[i], alone))
			continue;
		if (pf->argv[i][1] == '-' && !preflight_is_in(pf->argv[i], preflight_with_value)) {
			char word[64];
			const char *near;

			snprintf(word, sizeof(word), "%.*s", (int)strcspn(pf->argv[i], "="),
				pf->argv[i]);
			near = rp_text_nearest(word, preflight_with_value);
			near = near == NULL ? rp_text_nearest(word, alone) : near;
			return preflight_fail(pf, RP_EX_USAGE,
				"unknown EAL option %s%s%s (options of the agent follow behind '--')",
				word, near == NULL ? "" : ", did you mean ",
				near == NULL ? "" : near);
		}
		if (preflight_value(pf, &i) == NULL)
			return preflight_fail(
				pf, RP_EX_USAGE, "EAL option %s needs a value", pf->argv[at]);
	}
	return 0;
}

static uint32_t
free_hugepages_mib(const char *root)
{
	static const struct {
		const char *dir;
		uint32_t mib;
	} size[] = {{"hugepages-2048kB", 2}, {"hugepages-1048576kB", 1024}};
	uint32_t total = 0;

	for (size_t i = 0; i < RP_ARRAY_LEN(size); i++) {
		char path[512];
		unsigned int n = 0;
		FILE *f;

		snprintf(path, sizeof(path), "%s/sys/kernel/mm/hugepages/%s/free_hugepages", root,
			size[i].dir);
		f = fopen(path, "re");
		if (f == NULL)
			continue;
		if (fscanf(f, "%u", &n) == 1)
			total += n * size[i].mib;
		fclose(f);
	}
	return total;
}

static uint32_t
needed_mib(const struct preflight *pf)
{
	return BASE_MIB + DEVICE_MIB * (uint32_t)rp_max_u64(pf->n_devices, 1);
}

static int
decide_memory(struct preflight *pf)
{
	static const char *const memory[] = {"--no-huge", "--in-memory", "-m", "--socket-mem",
		"--huge-dir", "--legacy-mem", NULL};
	char text[32];

	pf->hugepages = !find_option(pf, "--no-huge", NULL);
	if (find_option(pf, "--no-huge", NULL) && find_option(pf, "--in-memory", NULL))
		return preflight_fail(pf, RP_EX_USAGE,
			"EAL cannot combine --no-huge and --in-memory; use --no-huge --no-shconf");
	if (!any_option(pf, memory)) {
		pf->hugepages = pf->free_hugepages_mib >= needed_mib(pf);
		if (pf->hugepages)
			return add_own(pf, "--in-memory");
		snprintf(text, sizeof(text), "%u", needed_mib(pf));
		if (add_own(pf, "--no-huge") != 0 || add_own(pf, "-m") != 0 ||
			add_own(pf, text) != 0 || add_own(pf, "--no-shconf") != 0)
			return -EINVAL;
		return 0;
	}
	if (pf->hugepages && pf->free_hugepages_mib < needed_mib(pf))
		return preflight_fail(pf, RP_EX_UNAVAILABLE,
			"need %u MiB of hugepages, %u MiB are free: echo %u > /proc/sys/vm/nr_hugepages, or use --no-huge -m %u --no-shconf",
			needed_mib(pf), pf->free_hugepages_mib, needed_mib(pf) / 2 + 1,
			needed_mib(pf));
	return 0;
}

static int
decide_cores(struct preflight *pf)
{
	static const char *const names[] = {"-l", "-c", "--lcores", NULL};
	const char *value = NULL, *main_lcore;
	char cpus[200], text[256];

	for (int i = 0; names[i] != NULL; i++) {
		if (!find_option(pf, names[i], &value))
			continue;
		for (int k = i + 1; names[k] != NULL; k++)
			if (find_option(pf, names[k], NULL))
				return preflight_fail(pf, RP_EX_USAGE, "EAL takes one of %s and %s",
					names[i], names[k]);
		if (place_parse(names[i], value, &pf->plan, pf->why) != 0) {
			pf->exit_code = RP_EX_USAGE;
			return -EINVAL;
		}
		break;
	}
	if (value == NULL) {
		int last = CPU_SETSIZE - 1;

		while (last > 0 && !CPU_ISSET(last, &pf->allowed))
			last--;
		/* The control thread floats; the one worker keeps to the last CPU. */
		snprintf(text, sizeof(text), "0@(%s),1@%d",
			place_format_cpus(&pf->allowed, cpus, sizeof(cpus)), last);
		if (place_parse("--lcores", text, &pf->plan, pf->why) != 0)
			return preflight_fail(pf, RP_EX_INTERNAL, "built-in core list %s", text);
		if (add_own(pf, "--lcores") != 0 || add_own(pf, text) != 0)
			return -EINVAL;
	}
	if (find_option(pf, "--main-lcore", &main_lcore) &&
		place_set_main(&pf->plan, main_lcore, pf->why) != 0) {
		pf->exit_code = RP_EX_USAGE;
		return -EINVAL;
	}
	if (place_check_cpus(&pf->plan, &pf->allowed, pf->why) != 0) {
		pf->exit_code = RP_EX_UNAVAILABLE;
		return -EINVAL;
	}
	return 0;
}

static int
decide_rest(struct preflight *pf, const struct agent_conf *conf)
{
	char text[256], clean[100];
	size_t n = 0;

	if (!find_option(pf, "--no-pci", NULL) && !find_option(pf, "-a", NULL) &&
		!find_option(pf, "--allow", NULL) && add_own(pf, "--no-pci") != 0)
		return -EINVAL;
	if (find_option(pf, "--file-prefix", NULL))
		return 0;
	/* EAL makes a folder of it. */
	for (const char *c = conf->agent_id; *c != '\0' && n < sizeof(clean) - 1; c++)
		clean[n++] = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') ||
				(*c >= '0' && *c <= '9') || *c == '-'
			? *c
			: '_';
	clean[n] = '\0';
	snprintf(text, sizeof(text), "--file-prefix=rpingmesh-%s", clean);
	return add_own(pf, text);
}

int
preflight_run(struct preflight *pf, const struct agent_conf *conf, int eal_argc,
	char *const *eal_argv, const char *root)
{
	*pf = (struct preflight){0};
	if (sched_getaffinity(0, sizeof(pf->allowed), &pf->allowed) != 0)
		return preflight_fail(
			pf, RP_EX_OS, "cannot read the CPU affinity: %s", strerror(errno));
	pf->free_hugepages_mib = free_hugepages_mib(root);
	if (add_arg(pf, "rpingmesh-agent") != 0)
		return -EINVAL;
	for (int i = 0; i < eal_argc; i++)
		if (add_arg(pf, eal_argv[i]) != 0)
			return -EINVAL;
	if (eal_argc == 0 && add_from_conf(pf, conf->eal) != 0)
		return -EINVAL;
	if (check_words(pf) != 0 || preflight_find_devices(pf, conf, root) != 0 ||
		decide_cores(pf) != 0 || decide_memory(pf) != 0 || decide_rest(pf, conf) != 0)
		return -EINVAL;
	if (preflight_place_devices(pf, conf) != 0)
		return -EINVAL;
	preflight_look_at_topology(pf, root);
	return 0;
}

void
preflight_fini(struct preflight *pf)
{
	for (int i = 0; i < pf->argc; i++)
		free(pf->argv[i]);
	*pf = (struct preflight){0};
}

void
preflight_report(const struct preflight *pf, const struct agent_conf *conf, struct rp_buf *out)
{
	char text[200];

	rp_buf_printf(out, "agent_id   %s\nhostname   %s\ntor_id     %s\n", conf->agent_id,
		conf->hostname, *conf->tor_id == '\0' ? "unspecified" : conf->tor_id);
	rp_buf_puts(out, "eal       ");
	for (int i = 1; i < pf->argc; i++)
		rp_buf_printf(out, " %s", pf->argv[i]);
	rp_buf_printf(out, "\nmemory     %s, %u MiB of hugepages free\n",
		pf->hugepages ? "hugepages" : "no hugepages", pf->free_hugepages_mib);
	for (uint32_t i = 0; i < pf->plan.n; i++)
		rp_buf_printf(out, "lcore %-4u %s CPU %s%s\n", pf->plan.lcore[i].id,
			pf->plan.lcore[i].id == pf->plan.main_id ? "control," : "worker, ",
			place_format_cpus(&pf->plan.lcore[i].cpus, text, sizeof(text)),
			place_overlap(&pf->plan, pf->plan.lcore[i].id) >= 0
				? " (shared with another lcore)"
				: "");
	for (uint32_t i = 0; i < pf->n_devices; i++) {
		const struct preflight_device *d = &pf->device[i];

		rp_buf_printf(out,
			"device     %s ip %s driver %s%s%s lcores cq %u prober %u responder %u\n",
			d->name, d->conf->ip, d->conf->driver, *d->iface == '\0' ? "" : " iface ",
			d->iface, d->roles.lcore[PLACE_CQ], d->roles.lcore[PLACE_PROBER],
			d->roles.lcore[PLACE_RESPONDER]);
	}
	for (uint32_t i = 0; i < pf->n_warnings; i++)
		rp_buf_printf(out, "warning    %s\n", pf->warning[i]);
	for (size_t i = 0; i < conf->controller_addr.n; i++)
		rp_buf_printf(out, "controller %s\n", conf->controller_addr.text[i]);
}
