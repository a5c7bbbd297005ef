#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Wrong use of the real agent: one line that names problem and fix, the sysexits code, nothing left behind."""

import os
import subprocess
import sys
import tempfile

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(TOP, "tools", "lib"))
sys.dont_write_bytecode = True

from cases import Cases, expect  # noqa: E402

DEVICE = ["--device", "name=net_af_packet0,ip=10.0.0.1/24"]
LO = ["--vdev=net_af_packet0,iface=lo"]


class CliCases(Cases):
    def __init__(self, agent):
        super().__init__()
        self.agent = agent

    def run(self, *argv, env=None, cwd="/"):
        return subprocess.run([self.agent, *argv], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              timeout=20, check=False, cwd=cwd, env={"PATH": os.environ["PATH"], **(env or {})})

    def refused(self, argv, code, *words, **how):
        done = self.run(*argv, **how)
        expect(done.returncode == code, f"{argv}: exit {done.returncode}, want {code}: {done.stderr}")
        lines = done.stderr.strip().splitlines()
        expect(len(lines) == 1, f"{argv}: {len(lines)} lines: {done.stderr}")
        expect(lines[0].startswith("rpingmesh-agent: "), lines[0])
        for word in words:
            expect(word in lines[0], f"{argv}: '{word}' is not in '{lines[0]}'")

    def case_usage(self):
        self.refused(["--confg", "x"], 64, "unknown option --confg, did you mean --config?")
        self.refused(["extra"], 64, "unexpected argument 'extra'")
        self.refused(["--probe-timeout-ms"], 64, "--probe-timeout-ms needs a value")
        self.refused(["--probe-timeout-ms=abc"], 64, "want 10..60000 ms")
        self.refused(["--max-probe-pps", "0"], 64, "'0' is out of range, want 1..1000000 pps")
        self.refused(["--tor-id", "a", "--tor-id", "b"], 64, "--tor-id is given twice")
        self.refused(["--vdev=net_null0"], 64, "is an EAL option: rpingmesh-agent [EAL options] -- [options]")
        self.refused(["--vdve=x", "--"], 64, "unknown EAL option --vdve, did you mean --vdev")

    def case_devices(self):
        self.refused([], 69, "no device: give EAL one")
        self.refused(LO + ["--"], 78, "has no address")
        self.refused(["--vdev=net_af_packet0,iface=nosuch0", "--"] + DEVICE, 69, "nosuch0 does not exist", "ip link")
        self.refused(LO + ["--", "--device", "name=net_af_packet9,ip=10.0.0.1/24"], 78, "EAL is not given it")
        self.refused(LO + ["--", "--device", "name=net_af_packet0,ip=10.0.0.1/24,driver=mlx9"], 78,
                     "no driver mlx9 in this build, have auto, softroce")

    def case_address_of_the_kernel(self):
        subprocess.run(["ip", "addr", "add", "10.213.7.1/32", "dev", "lo"], check=True)
        try:
            self.refused(LO + ["--", "--device", "name=net_af_packet0,ip=10.213.7.1/24"], 78,
                         "is also an address of this kernel")
        finally:
            subprocess.run(["ip", "addr", "del", "10.213.7.1/32", "dev", "lo"], check=True)

    def case_eal_as_a_value(self):
        done = self.run("--eal", "--vdev=net_af_packet0,iface=lo", "--check", *DEVICE)
        expect(done.returncode == 0 and "iface lo" in done.stdout, done.stderr)

    def case_cores(self):
        self.refused(LO + ["-l", "0-500", "--"] + DEVICE, 64, "lcore ids go up to 127")
        self.refused(LO + ["-l", "0-99", "--"] + DEVICE, 69, "not there or not allowed")
        self.refused(LO + ["-l", "x", "--"] + DEVICE, 64, "not a core list")
        self.refused(LO + ["--lcores", "0@0,1@0", "--", "--idle", "busy"] + DEVICE, 78, "share a CPU")

    def case_files(self):
        with tempfile.TemporaryDirectory() as tmp:
            path = os.path.join(tmp, "agent.cfg")
            self.refused(["--config", path], 78, "cannot open")
            for text, words in (("tor = 1;\n", ":1: unknown key tor"),
                                ("tor_id = \"x\";\nprobe_timeout_ms = 5;\n", ":2: probe_timeout_ms: '5' is out of range"),
                                ("max_procs = 4;\n", "it is called the EAL core list here"),
                                ("devices = ( { nam = \"x\"; } );\n", "unknown key nam, did you mean name?")):
                with open(path, "w", encoding="utf-8") as f:
                    f.write(text)
                self.refused(["--config", path], 78, words)
                self.refused([], 78, words, cwd=tmp)
            with open(path, "w", encoding="utf-8") as f:
                f.write("devices = ( { name = \"net_af_packet0\"; ip = \"10.0.0.1/24\"; } );\ntor_id = \"from-file\";\n"
                        "eal = \"--vdev=net_af_packet0,iface=lo\";\n")
            done = self.run("--check", "--config", path)
            expect(done.returncode == 0, done.stderr)
            expect("tor_id     from-file" in done.stdout and "iface lo" in done.stdout, done.stdout)
            done = self.run("--check", "--config", path, env={"RPINGMESH_AGENT_TOR_ID": "from-env"})
            expect("tor_id     from-env" in done.stdout, done.stdout)

    def case_example_file(self):
        """The example of config/ is a configuration."""
        with open(os.path.join(TOP, "config", "agent.cfg.example"), encoding="utf-8") as f:
            text = f.read().replace("iface=eth1", "iface=lo")
        with tempfile.NamedTemporaryFile("w", suffix=".cfg") as f:
            f.write(text)
            f.flush()
            done = self.run("--check", "--config", f.name)
        expect(done.returncode == 0, done.stderr)
        expect("tor-a1" in done.stdout and "controller http://controller-2:8080" in done.stdout, done.stdout)

    def case_environment(self):
        self.refused([], 78, "unknown key RPINGMESH_AGENT_TOR, did you mean tor_id?", env={"RPINGMESH_AGENT_TOR": "x"})

    def case_short_forms_of_the_suite(self):
        """agent_id's short form has our long prefix; agent_listen is the controller's."""
        argv = LO + ["--", "--check"] + DEVICE
        done = self.run(*argv, env={"RPINGMESH_AGENT_ID": "from-env", "RPINGMESH_AGENT_LISTEN": ":9"})
        expect(done.returncode == 0, done.stderr)
        expect("agent_id   from-env" in done.stdout, done.stdout)

    def case_actions(self):
        done = self.run("--help")
        expect(done.returncode == 0 and "--probe-timeout-ms TIME" in done.stdout, done.stdout)
        done = self.run("--version")
        expect(done.returncode == 0 and "DPDK" in done.stdout, done.stdout)
        done = self.run("--print-defaults")
        expect(done.returncode == 0 and "probe_timeout_ms = \"500\";" in done.stdout, done.stdout)
        with tempfile.NamedTemporaryFile("w", suffix=".cfg") as f:
            f.write(done.stdout)
            f.flush()
            done = self.run(*LO, "--", "--config", f.name, "--test-config", *DEVICE)
            expect(done.returncode == 0, done.stderr)


if __name__ == "__main__":
    sys.exit(CliCases(sys.argv[1]).main(needs_root=True))
