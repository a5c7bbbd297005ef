#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""A relay between a host and its ToR drops, delays, duplicates and swaps real frames.

At every scrape of the agent's counters: attempted = sum of the states + pending.
"""

import os
import sys
import time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(TOP, "tools", "lib"))
sys.dont_write_bytecode = True

from cases import Cases, expect  # noqa: E402
from mesh import STATES, Mesh, run  # noqa: E402

FABRIC = ("lost", "ack1_lost", "ack2_lost")


class FaultCases(Cases):
    def __init__(self, build, lcores=1):
        super().__init__()
        self.mesh = Mesh(build, prefix="rpmesh-fault", tors=1, hosts_per_tor=2, lcores=lcores,
                         agent_args=["--tor-mesh-probe-rate-per-second", "100"])

    def setup(self):
        self.lock = self.mesh.lock(self.mesh.prefix, wait=True)
        self.mesh.remove(self.mesh.prefix)
        self.mesh.start()
        self.host = self.mesh.hosts[0]
        self.mesh.wait(lambda: self.mesh.counters(self.host)["ok"] > 100, 30, "probes are answered")

    def teardown(self):
        self.mesh.close()

    def scrape(self, seconds):
        """The equation at every scrape; returns what was added in between."""
        first = self.mesh.counters(self.host)
        end = time.monotonic() + seconds
        scrapes = 0
        while time.monotonic() < end:
            now = self.mesh.counters(self.host)
            scrapes += 1
            total = sum(now[s] for s in STATES) + now["pending"]
            expect(now["attempted"] == total, f"scrape {scrapes}: attempted {now['attempted']}, accounted {total}")
            time.sleep(0.01)
        expect(scrapes > 20 * seconds, f"only {scrapes} scrapes")
        return {name: now[name] - first[name] for name, value in now.items() if isinstance(value, int)}

    def impaired(self, seconds, *rules):
        self.mesh.impair(self.host, *rules)
        time.sleep(1)
        return self.scrape(seconds)

    def case_all_faults_at_once(self):
        got = self.impaired(10, "ab.probe.drop=9", "ba.ack1.dup=5", "ba.ack2.late=7:700", "ba.any.swap=11")
        expect(got["attempted"] > 900, got)
        for name in ("ok", "lost", "ack2_lost", "late_ack2", "duplicate", "reordered"):
            expect(got[name] > 10, f"{name}: {got}")
        expect(got["suspended"] == 0 and got["send_error"] == 0, got)

    def case_only_ack1_lost(self):
        got = self.impaired(4, "ba.ack1.drop=4")
        expect(got["ack1_lost"] > 50 and got["lost"] == 0 and got["ack2_lost"] == 0, got)

    def case_only_ack2_lost(self):
        got = self.impaired(4, "ba.ack2.drop=4")
        expect(got["ack2_lost"] > 50 and got["lost"] == 0 and got["ack1_lost"] == 0, got)

    def case_request_lost(self):
        got = self.impaired(4, "ab.probe.drop=4")
        expect(got["lost"] > 50 and got["ack1_lost"] == 0 and got["ack2_lost"] == 0, got)

    def case_link_down_is_local(self):
        """A port without link: send errors, no loss; back with the link."""
        self.mesh.repair(self.host)
        time.sleep(2)
        run("ip", "-n", self.mesh.net, "link", "set", f"p{self.host.index}", "down")
        time.sleep(1.5)
        got = self.scrape(3)
        run("ip", "-n", self.mesh.net, "link", "set", f"p{self.host.index}", "up")
        expect(got["send_error"] > 250 and all(got[s] == 0 for s in FABRIC), got)

    def case_repaired(self):
        """Nothing of it stays."""
        time.sleep(2)
        got = self.scrape(3)
        expect(got["ok"] > 250 and all(got[s] == 0 for s in FABRIC), got)


if __name__ == "__main__":
    sys.exit(FaultCases(*sys.argv[1:2], *map(int, sys.argv[2:])).main(needs_root=True))
