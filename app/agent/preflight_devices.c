/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <ifaddrs.h>
#include <linux/capability.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "preflight_priv.h"
#include "rp_base.h"
#include "rp_text.h"

/* Virtual devices, what kernel privilege they need and whether they sit on an interface. */
static const struct vdev_kind {
	const char *prefix;
	bool on_iface;
	int capability[2]; /* -1 none */
} vdev_kinds[] = {
	/* The PMD sets the interface's MAC at start, to what it is. */
	{"net_af_packet", true, {CAP_NET_RAW, CAP_NET_ADMIN}},
	{"net_af_xdp", true, {CAP_NET_RAW, CAP_NET_ADMIN}},
	{"net_tap", false, {CAP_NET_ADMIN, -1}},
	{"net_pcap", false, {-1, -1}},
	{"net_memif", false, {-1, -1}},
	{"net_ring", false, {-1, -1}},
	{"net_null", false, {-1, -1}},
	{"eth_af_packet", true, {CAP_NET_RAW, CAP_NET_ADMIN}},
};

static const struct vdev_kind *
vdev_kind_of(const char *name)
{
	for (size_t i = 0; i < RP_ARRAY_LEN(vdev_kinds); i++) {
		size_t len = strlen(vdev_kinds[i].prefix);
		const char *rest = name + len;

		/* EAL takes any tail ("net_nullx0" is net_null to it): a typing error. */
		if (strncmp(name, vdev_kinds[i].prefix, len) == 0 && *rest != '\0' &&
			strspn(rest, "0123456789") == strlen(rest))
			return &vdev_kinds[i];
	}
	return NULL;
}

static bool
has_capability(int capability)
{
	struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
	struct __user_cap_data_struct data[2];

	if (syscall(SYS_capget, &header, data) != 0)
		return false;
	return (data[capability / 32].effective >> capability % 32 & 1) != 0;
}

static int
check_capabilities(struct preflight *pf, const char *vdev, const struct vdev_kind *kind)
{
	for (size_t i = 0; i < RP_ARRAY_LEN(kind->capability); i++) {
		if (kind->capability[i] < 0 || has_capability(kind->capability[i]))
			continue;
		return preflight_fail(pf, RP_EX_PERMISSION,
			"--vdev=%s: needs %s; run as root or grant it: setcap cap_net_raw,cap_net_admin+ep %s",
			vdev, kind->capability[i] == CAP_NET_RAW ? "CAP_NET_RAW" : "CAP_NET_ADMIN",
			program_invocation_name);
	}
	return 0;
}

static int
check_iface(struct preflight *pf, const char *vdev, const char *iface, const char *root)
{
	char path[512];
	unsigned int flags = 0;
	struct stat st;
	FILE *f;

	if (*iface == '\0')
		return preflight_fail(pf, RP_EX_USAGE, "--vdev=%s: needs iface=NAME", vdev);
	if (strlen(iface) > 15 || strchr(iface, '/') != NULL)
		return preflight_fail(pf, RP_EX_USAGE,
			"--vdev=%s: '%.32s' is not an interface name", vdev, iface);
	snprintf(path, sizeof(path), "%s/sys/class/net/%s", root, iface);
	if (stat(path, &st) != 0)
		return preflight_fail(pf, RP_EX_UNAVAILABLE,
			"--vdev=%s: interface %s does not exist here (see: ip link)", vdev, iface);
	snprintf(path, sizeof(path), "%s/sys/class/net/%s/flags", root, iface);
	f = fopen(path, "re");
	if (f != NULL) {
		if (fscanf(f, "%x", &flags) != 1)
			flags = 0;
		fclose(f);
	}
	if ((flags & 1) == 0)
		return preflight_fail(pf, RP_EX_UNAVAILABLE,
			"--vdev=%s: interface %s is down: ip link set %s up", vdev, iface, iface);
	return 0;
}

/* "net_af_packet0,iface=va,qpairs=2" */
static int
check_vdev(struct preflight *pf, const char *arg, const char *root)
{
	char copy[256], *rest = copy, *name, *kv;
	const struct vdev_kind *kind;
	const char *iface = "";
	struct preflight_device *d;

	if (strlen(arg) >= sizeof(copy))
		return preflight_fail(pf, RP_EX_USAGE, "--vdev=%.40s...: longer than %zu bytes",
			arg, sizeof(copy));
	snprintf(copy, sizeof(copy), "%s", arg);
	name = strsep(&rest, ",");
	kind = vdev_kind_of(name);
	if (kind == NULL) {
		const char *known[RP_ARRAY_LEN(vdev_kinds) + 1] = {NULL};
		const char *near;

		for (size_t i = 0; i < RP_ARRAY_LEN(vdev_kinds); i++)
			known[i] = vdev_kinds[i].prefix;
		near = rp_text_nearest(name, known);
		return preflight_fail(pf, RP_EX_USAGE,
			"--vdev=%s: not a known virtual device, want a driver and a number such as %s0",
			name, near == NULL ? "net_af_packet" : near);
	}
	while ((kv = strsep(&rest, ",")) != NULL)
		if (strncmp(kv, "iface=", 6) == 0)
			iface = kv + 6;
	if (kind->on_iface && check_iface(pf, name, iface, root) != 0)
		return -EINVAL;
	if (check_capabilities(pf, name, kind) != 0)
		return -EINVAL;
	if (pf->n_devices == PREFLIGHT_DEVICES_MAX)
		return preflight_fail(
			pf, RP_EX_USAGE, "more than %d devices", PREFLIGHT_DEVICES_MAX);
	d = &pf->device[pf->n_devices++];
	d->name = arg; /* up to the comma; place_devices() takes the configured one */
	d->numa_node = -1;
	snprintf(d->iface, sizeof(d->iface), "%s", iface);
	return 0;
}

/* Drivers that leave a PCI device to DPDK: unbound from the kernel, or shared with it. */
static const char *const dpdk_drivers[] = {
	"vfio-pci", "uio_pci_generic", "igb_uio", "mlx5_core", "mlx4_core", NULL};

/* "0000:01:00.0", or without the domain */
static int
check_pci(struct preflight *pf, const char *arg, const char *root)
{
	char addr[32], path[512], link[256] = "";
	struct preflight_device *d;
	const char *driver;
	struct stat st;
	ssize_t n;
	FILE *f;

	snprintf(addr, sizeof(addr), "%s%.*s", strchr(arg, ':') == strrchr(arg, ':') ? "0000:" : "",
		(int)(strcspn(arg, ",") < 16 ? strcspn(arg, ",") : 16), arg);
	snprintf(path, sizeof(path), "%s/sys/bus/pci/devices/%s", root, addr);
	if (strchr(addr, '/') != NULL || stat(path, &st) != 0)
		return preflight_fail(
			pf, RP_EX_UNAVAILABLE, "-a %s: no such PCI device (see: lspci -D)", arg);
	snprintf(path, sizeof(path), "%s/sys/bus/pci/devices/%s/driver", root, addr);
	n = readlink(path, link, sizeof(link) - 1);
	link[n < 0 ? 0 : n] = '\0';
	driver = strrchr(link, '/');
	driver = driver == NULL ? link : driver + 1;
	if (*driver == '\0')
		return preflight_fail(pf, RP_EX_UNAVAILABLE,
			"-a %s: bound to no driver: dpdk-devbind.py --bind=vfio-pci %s", arg, addr);
	if (!preflight_is_in(driver, dpdk_drivers))
		return preflight_fail(pf, RP_EX_UNAVAILABLE,
			"-a %s: bound to the kernel driver %.40s, DPDK cannot use it: dpdk-devbind.py --bind=vfio-pci %s",
			arg, driver, addr);
	if (pf->n_devices == PREFLIGHT_DEVICES_MAX)
		return preflight_fail(
			pf, RP_EX_USAGE, "more than %d devices", PREFLIGHT_DEVICES_MAX);
	d = &pf->device[pf->n_devices++];
	d->name = arg;
	d->numa_node = -1;
	snprintf(path, sizeof(path), "%s/sys/bus/pci/devices/%s/numa_node", root, addr);
	f = fopen(path, "re");
	if (f != NULL) {
		if (fscanf(f, "%d", &d->numa_node) != 1)
			d->numa_node = -1;
		fclose(f);
	}
	return 0;
}

static const struct agent_device_conf *
conf_of(const struct agent_conf *conf, const char *name, size_t len)
{
	const struct agent_device_conf *d = conf->devices.item;

	for (size_t i = 0; i < conf->devices.n; i++)
		if (strlen(d[i].name) == len && strncmp(d[i].name, name, len) == 0)
			return &d[i];
	return NULL;
}

/* Devices that EAL is given; configured names must be among them. */
int
preflight_find_devices(struct preflight *pf, const struct agent_conf *conf, const char *root)
{
	const struct agent_device_conf *list = conf->devices.item;

	for (int i = 1; i < pf->argc; i++) {
		bool vdev = preflight_is_option(pf->argv[i], "--vdev");
		bool allow = preflight_is_option(pf->argv[i], "--allow") ||
			preflight_is_option(pf->argv[i], "-a");
		const char *value;

		if (!preflight_is_in(pf->argv[i], preflight_with_value) && pf->argv[i][1] == '-')
			continue;
		value = preflight_value(pf, &i);
		if (vdev && check_vdev(pf, value, root) != 0)
			return -EINVAL;
		if (allow && check_pci(pf, value, root) != 0)
			return -EINVAL;
	}
	if (pf->n_devices == 0)
		return preflight_fail(pf, RP_EX_UNAVAILABLE,
			"no device: give EAL one, such as --vdev=net_af_packet0,iface=eth1, and its address with --device name=net_af_packet0,ip=10.0.0.1/24");
	for (size_t k = 0; k < conf->devices.n; k++) {
		bool found = false;

		for (uint32_t i = 0; i < pf->n_devices; i++)
			found |= strlen(list[k].name) == strcspn(pf->device[i].name, ",") &&
				strncmp(list[k].name, pf->device[i].name, strlen(list[k].name)) ==
					0;
		if (!found)
			return preflight_fail(pf, RP_EX_CONFIG,
				"device %s: EAL is not given it; add --vdev=%s,... or -a %s to the EAL options",
				list[k].name, list[k].name, list[k].name);
	}
	return 0;
}

/* The kernel answers for an address it has: port unreachable to every probe. */
static bool
kernel_has(const struct rp_gid *gid)
{
	struct ifaddrs *list, *a;
	bool found = false;

	if (getifaddrs(&list) != 0)
		return false;
	for (a = list; a != NULL; a = a->ifa_next) {
		struct rp_gid own;

		if (a->ifa_addr == NULL)
			continue;
		if (a->ifa_addr->sa_family == AF_INET)
			own = rp_gid_from_ipv4(
				(const uint8_t *)&((struct sockaddr_in *)(void *)a->ifa_addr)
					->sin_addr);
		else if (a->ifa_addr->sa_family == AF_INET6)
			memcpy(own.b, &((struct sockaddr_in6 *)(void *)a->ifa_addr)->sin6_addr, 16);
		else
			continue;
		found |= rp_gid_equal(&own, gid);
	}
	freeifaddrs(list);
	return found;
}

int
preflight_place_devices(struct preflight *pf, const struct agent_conf *conf)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < pf->n_devices; i++) {
		struct preflight_device *d = &pf->device[kept];

		*d = pf->device[i];
		d->conf = conf_of(conf, d->name, strcspn(d->name, ","));
		/* With a list, the list decides. */
		if (d->conf == NULL && conf->devices.n > 0)
			continue;
		if (d->conf == NULL || *d->conf->ip == '\0')
			return preflight_fail(pf, RP_EX_CONFIG,
				"device %.*s: has no address: --device name=%.*s,ip=A/LEN",
				(int)strcspn(d->name, ","), d->name, (int)strcspn(d->name, ","),
				d->name);
		preflight_parse_ip(d->conf->ip, &d->gid, &d->prefix_len);
		if (kernel_has(&d->gid))
			return preflight_fail(pf, RP_EX_CONFIG,
				"device %s: %s is also an address of this kernel, which would answer for the agent: ip addr del it, or give the device another",
				d->conf->name, d->conf->ip);
		d->name = d->conf->name;
		if (place_assign(&pf->plan, *d->conf->roles != '\0' ? d->conf->roles : conf->roles,
			    kept, &d->roles, pf->why) != 0) {
			pf->exit_code = RP_EX_CONFIG;
			return -EINVAL;
		}
		for (int r = 0; r < PLACE_ROLE_N && conf->idle == AGENT_IDLE_BUSY; r++) {
			int other = place_overlap(&pf->plan, d->roles.lcore[r]);

			if (other >= 0)
				return preflight_fail(pf, RP_EX_CONFIG,
					"idle busy: lcores %u and %d share a CPU, which costs milliseconds; give them own CPUs or use --idle adaptive",
					d->roles.lcore[r], other);
		}
		kept++;
	}
	pf->n_devices = kept;
	return 0;
}

/* ---- what only spoils the measurement ---- */

static void warn(struct preflight *pf, const char *fmt, ...) RP_PRINTF(2, 3);

static void
warn(struct preflight *pf, const char *fmt, ...)
{
	va_list ap;

	if (pf->n_warnings == RP_ARRAY_LEN(pf->warning))
		return;
	va_start(ap, fmt);
	vsnprintf(pf->warning[pf->n_warnings++], sizeof(pf->warning[0]), fmt, ap);
	va_end(ap);
}

/* The one CPU of a pinned lcore, or -1. */
static int
cpu_of(const struct preflight *pf, uint32_t lcore_id)
{
	for (uint32_t i = 0; i < pf->plan.n; i++) {
		const struct place_lcore *l = &pf->plan.lcore[i];

		if (l->id != lcore_id || CPU_COUNT(&l->cpus) != 1)
			continue;
		for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
			if (CPU_ISSET(cpu, &l->cpus))
				return cpu;
	}
	return -1;
}

static bool
is_sibling(int cpu, int other, const char *root)
{
	struct place_plan siblings;
	char path[512], text[256], why[RP_OPT_WHY_MAX];
	bool found = false;
	FILE *f;

	snprintf(path, sizeof(path),
		"%s/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", root, cpu);
	f = fopen(path, "re");
	if (f == NULL)
		return false;
	if (fgets(text, sizeof(text), f) != NULL) {
		text[strcspn(text, "\n")] = '\0';
		if (place_parse("-l", text, &siblings, why) == 0)
			for (uint32_t i = 0; i < siblings.n; i++)
				found |= siblings.lcore[i].id == (uint32_t)other;
	}
	fclose(f);
	return found;
}

static int
numa_node_of(int cpu, const char *root)
{
	char path[512];
	struct stat st;

	for (int node = 0; node < 64; node++) {
		snprintf(path, sizeof(path), "%s/sys/devices/system/cpu/cpu%d/node%d", root, cpu,
			node);
		if (stat(path, &st) == 0)
			return node;
	}
	return -1;
}

void
preflight_look_at_topology(struct preflight *pf, const char *root)
{
	for (uint32_t i = 0; i < pf->plan.n; i++) {
		int cpu = cpu_of(pf, pf->plan.lcore[i].id);

		for (uint32_t k = i + 1; cpu >= 0 && k < pf->plan.n; k++) {
			int other = cpu_of(pf, pf->plan.lcore[k].id);

			if (other >= 0 && other != cpu && is_sibling(cpu, other, root))
				warn(pf,
					"lcores %u and %u run on hyper-threads of one core (CPUs %d, %d)",
					pf->plan.lcore[i].id, pf->plan.lcore[k].id, cpu, other);
		}
	}
	for (uint32_t i = 0; i < pf->n_devices; i++) {
		const struct preflight_device *d = &pf->device[i];
		int cpu = cpu_of(pf, d->roles.lcore[PLACE_CQ]);
		int node = cpu < 0 ? -1 : numa_node_of(cpu, root);

		if (d->numa_node >= 0 && node >= 0 && node != d->numa_node)
			warn(pf, "device %s is on NUMA node %d, lcore %u that polls it on node %d",
				d->name, d->numa_node, d->roles.lcore[PLACE_CQ], node);
	}
}
