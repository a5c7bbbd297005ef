#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""One mesh of four real agents: rates, a dead peer, a restart, a stopped process, a lost controller.

The cases run in order on one mesh, because starting it costs more than most of them.
"""

import os
import signal
import subprocess
import sys
import time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(TOP, "tools", "lib"))
sys.dont_write_bytecode = True

from cases import Cases, expect  # noqa: E402
from mesh import Mesh, settled  # noqa: E402

MESH = 10  # probes per second and target
INTER = 1


def now_ms():
    return int(time.time() * 1000)


def next_second():
    return (now_ms() // 1000 + 1) * 1000


def sleep_until(ms):
    time.sleep(max(0, ms / 1000 - time.time()))


def settle(to_ms):
    """Windows up to to_ms have been reported: two timeouts, the responder's grace, the report."""
    sleep_until(to_ms + 2800)


class MeshCases(Cases):
    def __init__(self, build):
        super().__init__()
        self.mesh = Mesh(build, prefix="rpmesh-test",
                         controller_args=["--inter-tor-min-sources", "0", "--analyzer-window-retention", "1440"])

    def setup(self):
        self.lock = self.mesh.lock(self.mesh.prefix, wait=True)
        self.mesh.remove(self.mesh.prefix)
        self.mesh.start()
        # While they registered one by one, the sample of remote RNICs moved.
        self.mesh.wait(lambda: [p["ok"] > 0 for p in self.mesh.paths(now_ms() - 3500).values()] == [True] * 8, 30,
                       "8 pairs answer")

    def teardown(self):
        self.mesh.close()

    def host(self, name):
        return next(h for h in self.mesh.hosts if h.name == name)

    def check_rates(self, paths, seconds):
        expect(len(paths) == 8, f"8 pairs, got {len(paths)}")
        for pair, p in paths.items():
            rate, slack = (MESH, 2) if p["type"] == "tor_mesh" else (INTER, 1)
            expect(abs(settled(p) - rate * seconds) <= slack, f"{pair}: {settled(p)} probes, want {rate * seconds}")

    def case_rates_all_alive(self):
        """10 pps is 10 pps: 300 +- 2 and 30 +- 1 in 30 s, none lost."""
        start = next_second()
        settle(start + 30000)
        paths = self.mesh.paths(start, start + 30000)
        self.check_rates(paths, 30)
        for pair, p in paths.items():
            expect(p["lost"] + p["ack1_lost"] + p["ack2_lost"] == 0, f"{pair} lost probes: {p}")
            expect(p["stamps"] == "sw", f"{pair}: stamps {p['stamps']}")

    def case_nothing_is_logged_as_an_error(self):
        """A healthy start says nothing at level error, EAL's lines included."""
        for host in self.mesh.hosts:
            with open(host.log, encoding="utf-8") as f:
                errors = [line for line in f if '"level":"error"' in line]
            expect(not errors, f"{host.name} logs errors: {''.join(errors)}")

    def case_ctl_shows_it_to_people(self):
        """The tables name every host and every ToR."""
        for argv, words in ((["agents"], [h.name for h in self.mesh.hosts]), (["matrix"], ["tor-a", "tor-b"]),
                            (["paths"], ["host-a1", "host-b2", "tor_mesh", "inter_tor"])):
            out = subprocess.run(["ip", "netns", "exec", self.mesh.net, self.mesh.program("rpingmesh-ctl")] + argv,
                                 stdout=subprocess.PIPE, text=True, check=True).stdout
            for word in words:
                expect(word in out, f"ctl {' '.join(argv)} does not name {word}:\n{out}")

    def case_kernel_pings_the_agent(self):
        """The agent's address answers ARP and ICMP echo of a kernel on the same fabric."""
        run = lambda *argv: subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                           check=False)
        ns = self.mesh.net
        run("ip", "-n", ns, "addr", "add", "10.99.200.1/16", "dev", "spine")
        try:
            done = run("ip", "netns", "exec", ns, "ping", "-c", "3", "-i", "0.2", "-W", "2", self.host("host-a1").ip)
            expect(done.returncode == 0 and " 0% packet loss" in done.stdout, done.stdout)
        finally:
            run("ip", "-n", ns, "addr", "del", "10.99.200.1/16", "dev", "spine")

    def case_dead_peer_is_loss_and_changes_no_other_pair(self):
        """Killed: loss on its pairs within 2 windows, full cadence on all, no other pair changes."""
        dead = self.host("host-b2")
        start = next_second()
        sleep_until(start)
        dead.process.kill()
        dead.process.wait()
        settle(start + 31000)
        early = self.mesh.paths(start, start + 2000)
        paths = self.mesh.paths(start + 1000, start + 31000)
        to_dead = {pair: p for pair, p in paths.items() if pair[1] == dead.name}
        expect(len(to_dead) >= 1, "nobody probes the dead host")
        for pair, p in paths.items():
            if pair[0] == dead.name:
                continue
            rate, slack = (MESH, 2) if p["type"] == "tor_mesh" else (INTER, 1)
            expect(abs(settled(p) - 30 * rate) <= slack, f"{pair}: {settled(p)} probes, want {30 * rate}")
            if pair[1] == dead.name:
                expect(p["lost"] == settled(p), f"{pair}: not all lost: {p}")
                expect(early[pair]["lost"] > 0, f"{pair}: no loss in the first two windows: {early[pair]}")
            else:
                expect(p["ok"] == settled(p), f"{pair} changed: {p}")

    def case_restarted_peer_is_found_within_three_probes(self):
        """A new process with a new QPN: at most 3 lost per (source, target) once it is registered."""
        host = self.host("host-b2")
        old = {r["gid"]: r["qpn"] for a in self.mesh.ctl("agents")["agents"] for r in a["rnics"]}[host.gid]
        self.mesh.start_agent(host)

        def registered():
            now = {r["gid"]: r["qpn"] for a in self.mesh.ctl("agents")["agents"] for r in a["rnics"]}
            return now[host.gid] != old

        self.mesh.wait(registered, 20, "the restarted agent is registered")
        seen = now_ms()
        settle(next_second() + 12000)
        # The window in which it registered still holds probes of the time before.
        start = (seen // 1000 + 1) * 1000
        paths = self.mesh.paths(start, start + 12000)
        for pair, p in paths.items():
            if pair[1] == host.name:
                expect(p["lost"] <= 3, f"{pair}: {p['lost']} lost after the switch-over")
                expect(p["ok"] > 0, f"{pair}: never came back: {p}")
            elif pair[0] != host.name:
                expect(p["ok"] == settled(p), f"{pair} changed: {p}")

    def case_stopped_process_suspends_and_loses_nothing(self):
        """kill -STOP for 10 s: suspended, no loss in its own rows, no burst afterwards."""
        host, peer = self.host("host-a1"), self.host("host-a2")
        start = next_second() + 1000
        sleep_until(start + 350)
        # The peer first and for a moment, so that probes are in flight when the host stops.
        os.kill(peer.process.pid, signal.SIGSTOP)
        time.sleep(0.3)
        os.kill(host.process.pid, signal.SIGSTOP)
        os.kill(peer.process.pid, signal.SIGCONT)
        time.sleep(10)
        os.kill(host.process.pid, signal.SIGCONT)
        end = (now_ms() // 1000 + 5) * 1000
        settle(end)
        mine = {pair: p for pair, p in self.mesh.paths(start, end).items() if pair[0] == host.name}
        expect(len(mine) == 2, f"rows of the stopped host: {list(mine)}")
        for pair, p in mine.items():
            expect(p["lost"] + p["ack1_lost"] + p["ack2_lost"] == 0, f"{pair} lost probes: {p}")
        suspended = mine[(host.name, peer.name)]["suspended"]
        expect(2 <= suspended <= 5, f"{suspended} suspended, want the 3 of the last 300 ms")
        for second in range(start, end, 1000):
            for pair, p in self.mesh.paths(second, second + 1000).items():
                if pair[0] == host.name:
                    expect(settled(p) <= MESH + 1, f"{pair}: a burst of {settled(p)} at {second - start} ms")

    def case_controller_killed_and_back(self):
        """Agents go on probing, and report to the new process without being touched."""
        mesh = self.mesh
        mesh.controller.kill()
        mesh.controller.wait()
        time.sleep(3)
        mesh.start_controller()
        mesh.wait(lambda: len(mesh.ctl("agents")["agents"]) == 4, 20, "the registry is back")
        start = next_second() + 3000
        settle(start + 5000)
        paths = mesh.paths(start, start + 5000)
        self.check_rates(paths, 5)
        for pair, p in paths.items():
            expect(p["ok"] == settled(p), f"{pair} changed: {p}")
        # What was measured meanwhile came late, but came.
        older = mesh.paths(start - 8000, start)
        expect(all(p["windows"] >= 6 for p in older.values()), f"windows lost: {older}")

    def case_clean_stop_leaves_and_exits_0(self):
        """SIGTERM: exit 0 within 5 s, out of the pinglists, and no probe to it is lost."""
        host = self.host("host-b1")
        start = next_second()
        begun = time.monotonic()
        code = self.mesh.end(host.process)
        took = time.monotonic() - begun
        host.process = None
        expect(code == 0, f"exit code {code}")
        expect(took < 5, f"stop took {took:.1f} s")
        expect(host.name not in [a["agent_id"] for a in self.mesh.ctl("agents")["agents"]], "still registered")
        settle(start + 12000)
        late = self.mesh.paths(start + 8000, start + 12000)
        expect(all(pair[1] != host.name for pair in late), f"still probed: {list(late)}")

    def case_all_stop_cleanly(self):
        """Every program exits 0, and no namespace process is left."""
        codes = self.mesh.stop()
        expect(all(code == 0 for code in codes.values()), f"exit codes {codes}")


if __name__ == "__main__":
    sys.exit(MeshCases(sys.argv[1]).main(needs_root=True))
