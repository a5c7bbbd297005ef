# SPDX-License-Identifier: BSD-3-Clause
"""A mesh of agents in network namespaces: what tools/demo shows and the system tests break.

    net:    one namespace with the fabric (a bridge per ToR, one above them) and the
            management network (a bridge), and the controller
    hNN:    one namespace per host: rdma0 towards its ToR, without an address, for the
            agent's AF_PACKET port; mgmt0 towards the controller

Everything has names that start with the prefix, so that leftovers can be found and removed.
"""

import fcntl
import glob
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time


class MeshError(Exception):
    """One line for the user."""


def run(*argv, check=True, timeout=30):
    """Run a command, return its standard output."""
    done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=timeout,
                          check=False)
    if check and done.returncode != 0:
        what = (done.stderr.strip() or done.stdout.strip() or f"exit code {done.returncode}").splitlines()[-1]
        raise MeshError(f"{' '.join(argv)}: {what}")
    return done.stdout


class Host:
    """One agent's namespace and process."""

    def __init__(self, index, tor, name):
        self.index = index
        self.tor = tor
        self.name = name
        self.ip = f"10.99.{tor}.{index + 1}"
        self.gid = f"::ffff:{self.ip}"
        self.mgmt = f"172.31.255.{index + 10}"
        self.netns = None
        self.process = None
        self.log = None
        self.relay = None


class Mesh:
    """Build, start, look, stop. Every step may fail half-way: close() removes what is there."""

    CONTROLLER = "172.31.255.1"
    PREFIX_LEN = 16

    def __init__(self, build, prefix="rpmesh", tors=2, hosts_per_tor=2, window_sec=1, controller_args=(),
                 agent_args=(), eal_args=(), lcores=1):
        self.build = build
        self.prefix = prefix
        self.window_sec = window_sec
        self.controller_args = list(controller_args)
        self.agent_args = list(agent_args)
        self.eal_args = list(eal_args)
        self.lcores = lcores
        self.tors = tors
        self.hosts = [Host(t * hosts_per_tor + h, t + 1, f"host-{chr(ord('a') + t)}{h + 1}")
                      for t in range(tors) for h in range(hosts_per_tor)]
        self.dir = None
        self.controller = None
        for host in self.hosts:
            host.netns = f"{prefix}-{host.name}"
        self.net = f"{prefix}-net"

    def program(self, name):
        path = os.path.join(self.build, "app", name.replace("rpingmesh-", ""), name)
        if not os.access(path, os.X_OK):
            raise MeshError(f"{path} is not built")
        return path

    # ---- network ----

    @staticmethod
    def lock(prefix, wait):
        """Namespaces are of the whole machine: one mesh of a prefix at a time. Held until the process ends."""
        os.makedirs("/run/lock", exist_ok=True)
        held = open(f"/run/lock/{prefix}.lock", "w", encoding="utf-8")  # noqa: SIM115
        try:
            fcntl.flock(held, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except OSError as e:
            raise MeshError(f"another mesh named {prefix} is running: wait for it, or end it "
                            f"(fuser -v /run/lock/{prefix}.lock)") from e
        return held

    @staticmethod
    def leftovers(prefix):
        names = [line.split()[0] for line in run("ip", "netns", "list").splitlines() if line]
        return [n for n in names if n.startswith(prefix + "-")]

    @classmethod
    def remove(cls, prefix, folders=False):
        """End every process in our namespaces, then the namespaces, then the logs of earlier runs."""
        for folder in glob.glob(os.path.join(tempfile.gettempdir(), f"{prefix}-????????")) if folders else []:
            shutil.rmtree(folder, ignore_errors=True)
        for netns in cls.leftovers(prefix):
            for sig in (signal.SIGTERM, signal.SIGKILL):
                pids = [int(p) for p in run("ip", "netns", "pids", netns, check=False).split()]
                for pid in pids:
                    try:
                        os.kill(pid, sig)
                    except ProcessLookupError:
                        pass
                deadline = time.monotonic() + (6 if sig == signal.SIGTERM else 1)
                while pids and time.monotonic() < deadline and run("ip", "netns", "pids", netns, check=False).split():
                    time.sleep(0.05)
            run("ip", "netns", "del", netns, check=False)
            # EAL leaves the folder of its sockets behind.
            shutil.rmtree(f"/var/run/dpdk/{netns}", ignore_errors=True)

    def bridge(self, name):
        run("ip", "-n", self.net, "link", "add", name, "type", "bridge")
        run("ip", "-n", self.net, "link", "set", name, "up")

    def make_network(self):
        run("ip", "netns", "add", self.net)
        run("ip", "-n", self.net, "link", "set", "lo", "up")
        self.bridge("spine")
        self.bridge("mgmt")
        run("ip", "-n", self.net, "addr", "add", f"{self.CONTROLLER}/24", "dev", "mgmt")
        for tor in range(1, self.tors + 1):
            self.bridge(f"tor{tor}")
            run("ip", "-n", self.net, "link", "add", f"up{tor}", "type", "veth", "peer", "name", f"down{tor}")
            for link, master in ((f"up{tor}", f"tor{tor}"), (f"down{tor}", "spine")):
                run("ip", "-n", self.net, "link", "set", link, "master", master)
                run("ip", "-n", self.net, "link", "set", link, "up")
        for host in self.hosts:
            self.make_host(host)

    def make_host(self, host):
        run("ip", "netns", "add", host.netns)
        # Only our own frames on the fabric: the kernel of a host stays silent there.
        run("ip", "netns", "exec", host.netns, "sysctl", "-qw", "net.ipv6.conf.all.disable_ipv6=1",
            "net.ipv6.conf.default.disable_ipv6=1")
        run("ip", "-n", host.netns, "link", "set", "lo", "up")
        for port, near, master in ((f"p{host.index}", "rdma0", f"tor{host.tor}"),
                                   (f"m{host.index}", "mgmt0", "mgmt")):
            run("ip", "-n", self.net, "link", "add", port, "type", "veth", "peer", "name", near, "netns", host.netns)
            run("ip", "-n", self.net, "link", "set", port, "master", master)
            run("ip", "-n", self.net, "link", "set", port, "up")
            run("ip", "-n", host.netns, "link", "set", near, "up")
        run("ip", "-n", host.netns, "link", "set", "rdma0", "arp", "off")
        run("ip", "-n", host.netns, "addr", "add", f"{host.mgmt}/24", "dev", "mgmt0")

    # ---- processes ----

    def spawn(self, netns, argv, log):
        with open(log, "ab") as out:
            return subprocess.Popen(["ip", "netns", "exec", netns] + argv, stdin=subprocess.DEVNULL, stdout=out,
                                    stderr=out, start_new_session=True)

    def start_controller(self):
        argv = [self.program("rpingmesh-controller"), "--agent-listen", f"{self.CONTROLLER}:8080", "--ui-listen",
                "127.0.0.1:8081", "--store", f"sqlite:{self.dir}/controller.db", "--heartbeat-sec", "2",
                "--log-format", "json"] + self.controller_args
        self.controller = self.spawn(self.net, argv, f"{self.dir}/controller.log")

    def start_agent(self, host):
        cpus = sorted(os.sched_getaffinity(0))
        worker = [cpus[(host.index + i) % len(cpus)] for i in range(self.lcores)]
        lcores = ",".join([f"0@({','.join(map(str, cpus))})"] + [f"{i + 1}@{c}" for i, c in enumerate(worker)])
        argv = [self.program("rpingmesh-agent"),
                "--vdev=net_af_packet0,iface=rdma0,blocksz=65536,framesz=256,framecnt=4096", "--lcores", lcores,
                "--no-huge", "-m", "64", "--no-shconf", f"--file-prefix={host.netns}"] + self.eal_args + [
                    "--", "--agent-id", host.name, "--hostname", host.name, "--tor-id", f"tor-{chr(96 + host.tor)}",
                    "--device", f"name=net_af_packet0,ip={host.ip}/{self.PREFIX_LEN}", "--controller-addr",
                    f"http://{self.CONTROLLER}:8080", "--analysis-window-sec", str(self.window_sec), "--log-format",
                    "json"] + self.agent_args
        host.log = f"{self.dir}/{host.name}.log"
        host.process = self.spawn(host.netns, argv, host.log)

    def start(self, say=lambda text: None):
        """Network, controller, agents; returns when every agent has its targets."""
        self.dir = tempfile.mkdtemp(prefix=f"{self.prefix}-")
        say("namespaces and links")
        self.make_network()
        say("controller")
        self.start_controller()
        self.wait(lambda: self.ctl("agents") is not None, 20, "the controller answers", say)
        for host in self.hosts:
            say(f"agent {host.name}")
            self.start_agent(host)
        self.wait(lambda: len(self.ctl("agents")["agents"]) == len(self.hosts), 40, "all agents are registered", say)

    def last_words(self, log):
        try:
            with open(log, encoding="utf-8", errors="replace") as f:
                lines = f.read().strip().splitlines()
        except OSError:
            return ""
        return lines[-1] if lines else ""

    def check_alive(self):
        for name, process, log in [("controller", self.controller, f"{self.dir}/controller.log")] + [
                (h.name, h.process, h.log) for h in self.hosts]:
            if process is not None and process.poll() is not None:
                raise MeshError(f"{name} ended with code {process.returncode}: {self.last_words(log)}")

    def wait(self, condition, seconds, what, say=lambda text: None):
        deadline = time.monotonic() + seconds
        while True:
            self.check_alive()
            try:
                if condition():
                    return
            except MeshError:
                pass
            if time.monotonic() > deadline:
                raise MeshError(f"after {seconds} s still waiting until {what}; logs are in {self.dir}")
            say(f"waiting until {what}")
            time.sleep(0.2)

    # ---- looking ----

    def ctl(self, *argv):
        """rpingmesh-ctl ARGV --json in the controller's namespace."""
        text = run("ip", "netns", "exec", self.net, self.program("rpingmesh-ctl"), *argv, "--json", timeout=20)
        return json.loads(text)

    def paths(self, from_ms=None, to_ms=None):
        """Counters of all pairs over whole windows, by (source host, target host)."""
        argv = ["paths"]
        if from_ms is not None:
            argv += ["--from", str(from_ms)]
        if to_ms is not None:
            argv += ["--to", str(to_ms)]
        return {(p["source_host"], p["target_host"]): p for p in self.ctl(*argv)["paths"]}

    def counters(self, host):
        """One instant of the agent's own counters, over EAL's telemetry socket."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as s:
            s.settimeout(5)
            s.connect(f"/var/run/dpdk/{host.netns}/dpdk_telemetry.v2")
            s.recv(16384)
            s.send(b"/rpingmesh/device,net_af_packet0")
            return json.loads(s.recv(16384))["/rpingmesh/device"]

    # ---- impairment ----

    def impair(self, host, *rules):
        """Put relay.py with these rules between a host and its ToR."""
        self.repair(host)
        port, near, far = f"p{host.index}", f"r{host.index}", f"q{host.index}"
        run("ip", "-n", self.net, "link", "set", port, "nomaster")
        run("ip", "-n", self.net, "link", "add", near, "type", "veth", "peer", "name", far)
        run("ip", "-n", self.net, "link", "set", far, "master", f"tor{host.tor}")
        for link in (near, far):
            run("ip", "-n", self.net, "link", "set", link, "up")
        relay = os.path.join(os.path.dirname(os.path.abspath(__file__)), "relay.py")
        host.relay = self.spawn(self.net, ["/usr/bin/python3", relay, port, near, *rules], f"{self.dir}/relay.log")

    def repair(self, host):
        if host.relay is None:
            return
        self.end(host.relay)
        host.relay = None
        run("ip", "-n", self.net, "link", "del", f"r{host.index}")
        run("ip", "-n", self.net, "link", "set", f"p{host.index}", "master", f"tor{host.tor}")

    # ---- ending ----

    @staticmethod
    def end(process, seconds=6, tell=True):
        """SIGTERM unless it was told already, then SIGKILL. Returns the exit code, None when it was killed."""
        if process is None:
            return None
        if tell and process.poll() is None:
            process.terminate()
        try:
            return process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            return None

    def stop(self):
        """Agents together, then the controller. Returns their exit codes by name."""
        for host in self.hosts:
            if host.process is not None and host.process.poll() is None:
                host.process.terminate()
        codes = {host.name: self.end(host.process, tell=False) for host in self.hosts if host.process is not None}
        for host in self.hosts:
            self.end(host.relay)
        if self.controller is not None:
            codes["controller"] = self.end(self.controller)
        return codes

    def close(self, keep_logs=False):
        try:
            self.stop()
        finally:
            self.remove(self.prefix)
            if self.dir is not None and not keep_logs:
                shutil.rmtree(self.dir, ignore_errors=True)


STATES = ("ok", "invalid", "lost", "ack1_lost", "ack2_lost", "send_error", "unresolved", "suspended")


def settled(path):
    return sum(path[s] for s in STATES)


def die(text, code=1):
    print(f"{os.path.basename(sys.argv[0])}: {text}", file=sys.stderr)
    sys.exit(code)
