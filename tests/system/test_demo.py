#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""tools/demo: its result, and that nothing of it is left behind however it ends."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(TOP, "tools", "lib"))
sys.dont_write_bytecode = True

from cases import Cases, expect  # noqa: E402
from mesh import STATES, Mesh  # noqa: E402

DEMO = os.path.join(TOP, "tools", "demo")
PREFIX = "rpmesh-demo"


class DemoCases(Cases):
    def __init__(self, build):
        super().__init__()
        self.env = {**os.environ, "RPINGMESH_BUILD": build}

    def start(self, *argv):
        return subprocess.Popen([DEMO, "--no-install", *argv], env=self.env, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True)

    def nothing_is_left(self):
        expect(Mesh.leftovers(PREFIX) == [], f"namespaces left: {Mesh.leftovers(PREFIX)}")

    def case_result(self):
        """All 8 pairs with every state, exit 0."""
        with tempfile.TemporaryDirectory() as tmp:
            path = os.path.join(tmp, "r.json")
            demo = self.start("--seconds", "5", "--json", path)
            out, err = demo.communicate(timeout=120)
            expect(demo.returncode == 0, out + err)
            with open(path, encoding="utf-8") as f:
                result = json.load(f)
        expect(result["result"] == "ok", result)
        expect(sorted(result["agents"]) == ["host-a1", "host-a2", "host-b1", "host-b2"], result["agents"])
        expect(len(result["pairs"]) == 8, f"{len(result['pairs'])} pairs")
        for p in result["pairs"]:
            want = 50 if p["type"] == "tor_mesh" else 5
            expect(abs(p["sent"] - want) <= (2 if want == 50 else 1), f"sent {p['sent']}, want {want}: {p}")
            expect(p["sent"] == p["pending"] + sum(p[s] for s in STATES), f"states do not add up: {p}")
            expect(0 < p["rtt_p50_ns"] <= p["rtt_p99_ns"], p)
            expect(p["responder_delay_p50_ns"] > 0 and p["prober_delay_p50_ns"] >= 0, p)
        expect("8 of 8 directed pairs answered: ok" in out, out)
        self.nothing_is_left()

    def interrupted(self, seconds, number, code):
        demo = self.start("--seconds", "60")
        time.sleep(seconds)
        demo.send_signal(number)
        out, err = demo.communicate(timeout=30)
        expect(demo.returncode == code, f"exit {demo.returncode}: {out}{err}")
        expect("interrupted; everything was removed" in err, err)
        self.nothing_is_left()

    def case_interrupted_while_it_starts(self):
        self.interrupted(1.5, signal.SIGINT, 130)

    def case_interrupted_while_it_measures(self):
        self.interrupted(12, signal.SIGTERM, 143)

    def case_killed_and_started_again(self):
        """kill -9 leaves a mesh; the next demo (or --clean) removes it."""
        demo = self.start("--seconds", "60")
        time.sleep(6)
        demo.kill()
        demo.communicate()
        expect(Mesh.leftovers(PREFIX) != [], "the killed demo left nothing: this case shows nothing")
        done = subprocess.run([DEMO, "--clean"], check=False, timeout=60)
        expect(done.returncode == 0, f"--clean: exit {done.returncode}")
        self.nothing_is_left()

    def case_agents_that_die_fail_it(self):
        """A mesh that cannot answer is a failure with the reason, not a success."""
        demo = self.start("--seconds", "60")
        deadline = time.monotonic() + 30
        while f"{PREFIX}-host-b2" not in Mesh.leftovers(PREFIX) and time.monotonic() < deadline:
            time.sleep(0.1)
        time.sleep(6)
        for pid in subprocess.run(["ip", "netns", "pids", f"{PREFIX}-host-b2"], stdout=subprocess.PIPE, text=True,
                                  check=True).stdout.split():
            os.kill(int(pid), signal.SIGKILL)
        out, err = demo.communicate(timeout=60)
        expect(demo.returncode == 1, f"exit {demo.returncode}: {out}{err}")
        expect("host-b2 ended with code -9" in err, err)
        self.nothing_is_left()

    def case_installs_what_is_missing(self):
        """As the README says it, without --no-install: quiet when nothing is missing."""
        demo = subprocess.run([DEMO, "--seconds", "2"], env=self.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True, check=False, timeout=300)
        expect(demo.returncode == 0, demo.stdout + demo.stderr)
        self.nothing_is_left()

    def case_result_file_that_cannot_be_written(self):
        demo = self.start("--json", "/nonexistent/r.json")
        out, err = demo.communicate(timeout=60)
        expect(demo.returncode == 1 and "/nonexistent/r.json" in err, out + err)
        expect("measuring" not in out, "found out after the measurement")

    def case_wrong_use(self):
        for argv, code, words in ((["--seconds", "1"], 2, "want 2..1200"), (["--sconds", "5"], 2, "unrecognized")):
            done = subprocess.run([DEMO, *argv], stderr=subprocess.PIPE, text=True, check=False)
            expect(done.returncode == code and words in done.stderr, done.stderr)
        done = subprocess.run(["setpriv", "--reuid=65534", "--clear-groups", DEMO, "--no-install"],
                              stderr=subprocess.PIPE, text=True, check=False)
        expect(done.returncode == 77 and "needs root" in done.stderr, done.stderr)


if __name__ == "__main__":
    sys.exit(DemoCases(sys.argv[1]).main(needs_root=True))
