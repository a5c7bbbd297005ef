/* SPDX-License-Identifier: BSD-3-Clause */

#include "preflight.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ut.h"

static char root[64];

static void
put(const char *path, const char *text)
{
	char full[512], dir[600];
	FILE *f;

	snprintf(full, sizeof(full), "%s/%s", root, path);
	snprintf(dir, sizeof(dir), "mkdir -p $(dirname %s)", full);
	if (system(dir) != 0)
		abort();
	f = fopen(full, "w");
	if (f == NULL || fputs(text, f) == EOF || fclose(f) != 0)
		abort();
}

static void
bind(const char *addr, const char *driver)
{
	char target[128], path[256];

	snprintf(target, sizeof(target), "../../../bus/pci/drivers/%s", driver);
	snprintf(path, sizeof(path), "%s/sys/bus/pci/devices/%s/driver", root, addr);
	unlink(path);
	if (symlink(target, path) != 0)
		abort();
}

/* A machine with two interfaces, up0 and down0, and no hugepages. */
static void
make_root(const char *hugepages)
{
	if (*root == '\0') {
		snprintf(root, sizeof(root), "/tmp/rp-preflight-XXXXXX");
		if (mkdtemp(root) == NULL || chmod(root, 0755) != 0)
			abort();
	}
	put("sys/class/net/up0/flags", "0x1003\n");
	put("sys/class/net/down0/flags", "0x1002\n");
	put("sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", hugepages);
	put("sys/bus/pci/devices/0000:01:00.0/numa_node", "1\n");
	put("sys/bus/pci/devices/0000:02:00.0/numa_node", "0\n");
	put("sys/bus/pci/devices/0000:03:00.0/numa_node", "0\n");
	bind("0000:01:00.0", "vfio-pci");
	bind("0000:02:00.0", "ixgbe");
}

static struct preflight pf;
static struct agent_conf conf;

static int
run(const char *const *eal, const char *const *flags)
{
	static char *const none[] = {NULL};
	char *argv[16] = {(char[]){"agent"}};
	char *eal_argv[16];
	struct rp_conf_result result;
	int argc = 1, eal_argc = 0, rc;

	preflight_fini(&pf);
	agent_conf_fini(&conf);
	conf = (struct agent_conf){0};
	argv[argc++] = (char[]){"--agent-id=a/b"};
	argv[1] = (char[]){"--agent-id=a.b"};
	for (; flags != NULL && *flags != NULL; flags++)
		argv[argc++] = (char *)(uintptr_t)*flags;
	for (; *eal != NULL; eal++)
		eal_argv[eal_argc++] = (char *)(uintptr_t)*eal;
	rc = rp_conf_load(&agent_program, argc, argv, none, &conf, &result);
	if (rc != 0) {
		pf.exit_code = result.exit_code;
		snprintf(pf.why, sizeof(pf.why), "%.500s", result.why);
		conf = (struct agent_conf){0};
		return rc;
	}
	return preflight_run(&pf, &conf, eal_argc, eal_argv, root);
}

#define ARGS(...) ((const char *const[]){__VA_ARGS__, NULL})
#define UP        "--vdev=net_af_packet0,iface=up0"
#define DEVICE    "--device=name=net_af_packet0,ip=10.0.0.1/24"

static void
run__nothing_open__decides_memory_cores_and_prefix(void)
{
	char line[512] = "";
	size_t len = 0;

	make_root("0\n");
	if (!UT_OK(run(ARGS(UP), ARGS(DEVICE))))
		printf("%s\n", pf.why);
	for (int i = 1; i < pf.argc; i++)
		len += (size_t)snprintf(line + len, sizeof(line) - len, " %s", pf.argv[i]);
	UT_HAS(line, "--no-huge -m 72 --no-shconf");
	UT_HAS(line, "--lcores 0@(");
	UT_HAS(line, "--no-pci");
	UT_HAS(line, "--file-prefix=rpingmesh-a_b");
	UT_EQ(pf.n_devices, 1);
	UT_STR(pf.device[0].iface, "up0");
	UT_EQ(pf.device[0].prefix_len, 24);

	make_root("100\n");
	UT_OK(run(ARGS(UP), ARGS(DEVICE)));
	UT_HAS(pf.added, "--in-memory");
	UT_TRUE(pf.hugepages);
}

static void
run__what_eal_would_take_silently__refused_with_the_fix(void)
{
	static const struct {
		const char *eal[6];
		const char *flag[4];
		int exit_code;
		const char *why;
	} cases[] = {
		{{0}, {0}, RP_EX_UNAVAILABLE, "no device: give EAL one, such as --vdev="},
		{{UP}, {0}, RP_EX_CONFIG, "has no address: --device name=net_af_packet0,ip=A/LEN"},
		{{"--vdev=net_af_packet0,iface=nosuch0"}, {DEVICE}, RP_EX_UNAVAILABLE,
			"interface nosuch0 does not exist here (see: ip link)"},
		{{"--vdev=net_af_packet0,iface=down0"}, {DEVICE}, RP_EX_UNAVAILABLE,
			"interface down0 is down: ip link set down0 up"},
		{{"--vdev=net_af_packet0,ifac=up0"}, {DEVICE}, RP_EX_USAGE, "needs iface=NAME"},
		{{"--vdev=net_af_packet0,iface=a-name-that-is-too-long"}, {DEVICE}, RP_EX_USAGE,
			"is not an interface name"},
		{{"--vdev=net_nullx0"}, {"--device=name=net_nullx0,ip=10.0.0.1/24"}, RP_EX_USAGE,
			"not a known virtual device, want a driver and a number such as net_null0"},
		{{"--vdev=net_af_packet,iface=up0"}, {DEVICE}, RP_EX_USAGE,
			"such as net_af_packet0"},
		{{UP}, {"--device=name=net_af_packet1,ip=10.0.0.1/24"}, RP_EX_CONFIG,
			"device net_af_packet1: EAL is not given it; add --vdev=net_af_packet1"},
		{{UP}, {"--device=name=net_af_packet0,ip=10.0.0.1"}, RP_EX_CONFIG,
			"ip '10.0.0.1' is not valid, want a unicast address as A/LEN"},
		{{UP}, {"--device=name=net_af_packet0,ip=224.0.0.1/24"}, RP_EX_CONFIG, "not valid"},
		{{UP}, {"--device=name=net_af_packet0,ip=10.0.0.1/33"}, RP_EX_CONFIG, "not valid"},
		{{UP}, {"--device=name=net_af_packet0,ip=10.0.0.1/24,gateway=x"}, RP_EX_CONFIG,
			"gateway 'x' is not a unicast address"},
		{{UP}, {"--device=name=net_af_packet0,ip=10.0.0.1/24,mac=1:2:3"}, RP_EX_CONFIG,
			"mac '1:2:3' is not valid"},
		{{UP}, {"--device=name=net_af_packet0,ip=10.0.0.1/24,roles=cq@1"}, RP_EX_CONFIG,
			"want each role once"},
		{{UP}, {"--device=ip=10.0.0.1/24"}, RP_EX_CONFIG, "a device has no name"},
		{{UP}, {DEVICE, DEVICE}, RP_EX_CONFIG, "net_af_packet0 is named twice"},
		{{UP, "-l", "0-99"}, {DEVICE}, RP_EX_UNAVAILABLE,
			"is not there or not allowed to this process, have"},
		{{UP, "-l", "0,0"}, {DEVICE}, RP_EX_USAGE, "an lcore is named twice"},
		{{UP, "-l", "0"}, {DEVICE}, RP_EX_UNAVAILABLE,
			"need a main lcore and at least one worker"},
		{{UP, "-l", "0", "-c", "1"}, {DEVICE}, RP_EX_USAGE, "EAL takes one of -l and -c"},
		{{UP, "--lcores", "0@0,1@0"}, {DEVICE, "--idle=busy"}, RP_EX_CONFIG,
			"idle busy: lcores 1 and 0 share a CPU"},
		{{UP, "--no-huge", "--in-memory"}, {DEVICE}, RP_EX_USAGE,
			"EAL cannot combine --no-huge and --in-memory"},
		{{UP, "--in-memory"}, {DEVICE}, RP_EX_UNAVAILABLE,
			"need 72 MiB of hugepages, 0 MiB are free: echo 37 > /proc/sys/vm/nr_hugepages"},
		{{UP, "--no-hug"}, {DEVICE}, RP_EX_USAGE,
			"unknown EAL option --no-hug, did you mean --no-huge"},
		{{UP, "--lcores"}, {DEVICE}, RP_EX_USAGE, "EAL option --lcores needs a value"},
		{{UP, "stray"}, {DEVICE}, RP_EX_USAGE, "EAL option expected, found 'stray'"},
		{{UP}, {"--device=name=net_af_packet0,ip=10.0.0.1/24,gateway=10.0.0.1,mac=02:00:00:00:00:01,vlan=5000"},
			RP_EX_USAGE, "vlan: '5000' is out of range, want 0..4094"},
		{{"-a", "0000:09:00.0"}, {"--device=name=0000:09:00.0,ip=10.0.0.1/24"},
			RP_EX_UNAVAILABLE, "no such PCI device (see: lspci -D)"},
		{{"-a", "../../etc"}, {"--device=name=x,ip=10.0.0.1/24"}, RP_EX_UNAVAILABLE,
			"no such PCI device"},
		{{"-a", "02:00.0"}, {"--device=name=02:00.0,ip=10.0.0.1/24"}, RP_EX_UNAVAILABLE,
			"bound to the kernel driver ixgbe, DPDK cannot use it: dpdk-devbind.py --bind=vfio-pci 0000:02:00.0"},
		{{"-a", "0000:03:00.0"}, {"--device=name=0000:03:00.0,ip=10.0.0.1/24"},
			RP_EX_UNAVAILABLE, "bound to no driver"},
		{{UP}, {DEVICE, "--qkey=0x80000000"}, RP_EX_CONFIG, "want random or a number"},
		{{UP}, {DEVICE, "--controller-addr=https://x"}, RP_EX_CONFIG,
			"want http://HOST:PORT"},
		{{UP}, {DEVICE, "--tor-id=a/b"}, RP_EX_CONFIG, "must not contain '/'"},
		{{UP}, {DEVICE, "--roles=cq@1,prober@1,responder@5"}, RP_EX_CONFIG,
			"lcore 5 of responder is not a worker"},
	};

	make_root("0\n");
	for (size_t i = 0; i < RP_ARRAY_LEN(cases); i++) {
		UT_EQ(run(cases[i].eal, cases[i].flag), -EINVAL);
		UT_HAS(pf.why, cases[i].why);
		UT_EQ(pf.exit_code, cases[i].exit_code);
	}
}

static void
run__without_privilege__names_the_capability(void)
{
	make_root("0\n");
	if (geteuid() != 0)
		return;
	/* Effective set of this thread only; the test is its own process. */
	if (seteuid(65534) != 0)
		abort();
	UT_EQ(run(ARGS(UP), ARGS(DEVICE)), -EINVAL);
	UT_HAS(pf.why,
		"needs CAP_NET_RAW; run as root or grant it: setcap cap_net_raw,cap_net_admin+ep");
	UT_EQ(pf.exit_code, RP_EX_PERMISSION);
	if (seteuid(0) != 0)
		abort();
}

static void
run__two_devices__each_placed(void)
{
	make_root("0\n");
	UT_OK(run(ARGS(UP, "--vdev", "net_memif1,role=client", "--lcores", "0@0,1@0,2@0"),
		ARGS(DEVICE,
			"--device=name=net_memif1,ip=fd00::1/64,roles=cq@2+prober@2+responder@1")));
	UT_EQ(pf.n_devices, 2);
	UT_STR(pf.device[1].name, "net_memif1");
	UT_EQ(pf.device[1].roles.lcore[PLACE_RESPONDER], 1);
	UT_EQ(pf.device[0].roles.lcore[PLACE_PROBER], 2);
	UT_HAS(pf.argv[1], UP);
}

static void
run__shared_core_or_far_memory__is_a_warning(void)
{
	cpu_set_t allowed;

	sched_getaffinity(0, sizeof(allowed), &allowed);
	make_root("0\n");
	put("sys/devices/system/cpu/cpu0/topology/thread_siblings_list", "0-1\n");
	put("sys/devices/system/cpu/cpu1/topology/thread_siblings_list", "0-1\n");
	put("sys/devices/system/cpu/cpu0/node0/x", "");
	put("sys/devices/system/cpu/cpu1/node0/x", "");
	if (!CPU_ISSET(0, &allowed) || !CPU_ISSET(1, &allowed)) {
		printf("needs CPUs 0 and 1\n");
		return;
	}
	UT_OK(run(ARGS("-a", "0000:01:00.0", "-l", "0-1"),
		ARGS("--device=name=0000:01:00.0,ip=10.0.0.1/24")));
	UT_EQ(pf.n_warnings, 2);
	UT_STR(pf.warning[0], "lcores 0 and 1 run on hyper-threads of one core (CPUs 0, 1)");
	UT_STR(pf.warning[1],
		"device 0000:01:00.0 is on NUMA node 1, lcore 1 that polls it on node 0");
	put("sys/devices/system/cpu/cpu0/topology/thread_siblings_list", "0\n");
	put("sys/devices/system/cpu/cpu1/topology/thread_siblings_list", "1\n");
	put("sys/bus/pci/devices/0000:01:00.0/numa_node", "0\n");
	UT_OK(run(ARGS("-a", "0000:01:00.0", "-l", "0-1"),
		ARGS("--device=name=0000:01:00.0,ip=10.0.0.1/24")));
	UT_EQ(pf.n_warnings, 0);
}

static void
report__names_what_would_be_used(void)
{
	struct rp_buf out = {0};

	make_root("0\n");
	UT_OK(run(ARGS(UP, "--lcores", "0@0,1@0"), ARGS(DEVICE, "--tor-id=t1")));
	preflight_report(&pf, &conf, &out);
	UT_HAS(rp_buf_text(&out), "tor_id     t1");
	UT_HAS(rp_buf_text(&out), "lcore 1    worker,  CPU 0 (shared with another lcore)");
	UT_HAS(rp_buf_text(&out), "device     net_af_packet0 ip 10.0.0.1/24 driver auto iface up0");
	rp_buf_fini(&out);
}

static void
done__temporary_files__removed(void)
{
	char cmd[128];

	preflight_fini(&pf);
	agent_conf_fini(&conf);
	snprintf(cmd, sizeof(cmd), "rm -rf %s", root);
	UT_OK(system(cmd));
}

static const struct ut_test tests[] = {
	UT(run__nothing_open__decides_memory_cores_and_prefix),
	UT(run__what_eal_would_take_silently__refused_with_the_fix),
	UT(run__without_privilege__names_the_capability),
	UT(run__two_devices__each_placed),
	UT(run__shared_core_or_far_memory__is_a_warning),
	UT(report__names_what_would_be_used),
	UT(done__temporary_files__removed),
};

UT_MAIN("preflight", tests)
