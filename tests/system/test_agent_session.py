#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The agent against a controller that misbehaves: it goes on, loses no report it should keep, and says why.

The device is a DPDK ring to itself, so nothing is answered and no privilege is needed.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(TOP, "tools", "lib"))
sys.dont_write_bytecode = True

from cases import Cases, expect  # noqa: E402

GID = "::ffff:10.7.0.1"
TARGET = {"gid": "::ffff:10.7.0.9", "qpn": 77, "qkey": 5, "generation": 9, "ip": "10.7.0.9", "hostname": "other",
          "tor_id": "t", "device": "d", "stamps": "sw", "type": "tor_mesh", "flow_label_seed": 1,
          "flow_label_count": 4}


class Controller:
    """Answers by a table of functions; remembers what it was asked."""

    def __init__(self):
        self.calls = []  # (method, path, body)
        self.answers = {}
        self.etag = "e1"
        self.targets = [TARGET]
        controller = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *args):
                pass

            def handle_any(self):
                length = int(self.headers.get("Content-Length", 0))
                body = self.rfile.read(length)
                path = self.path.split("?")[0]
                controller.calls.append((self.command, self.path, json.loads(body) if body else None))
                kind = f"{self.command} {'/'.join(path.split('/')[:3])}"
                answer = controller.answers.get(kind, controller.default)(kind, self)
                if answer is None:
                    return
                status, value, headers = answer
                data = value if isinstance(value, bytes) else json.dumps(value).encode()
                self.send_response(status)
                for name, text in headers.items():
                    self.send_header(name, text)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            do_GET = do_PUT = do_POST = do_DELETE = handle_any

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def default(self, kind, request):
        if kind == "PUT /v1/agents":
            return 200, {"registered": True, "pinglist_etags": {GID: self.etag}, "heartbeat_sec": 1,
                         "server_time_ms": int(time.time() * 1000)}, {}
        if kind == "GET /v1/pinglist":
            if request.headers.get("If-None-Match") == f'"{self.etag}"':
                return 304, b"", {"ETag": f'"{self.etag}"'}
            return 200, {"gid": GID, "targets": self.targets, "sources": []}, {"ETag": f'"{self.etag}"'}
        if kind == "POST /v1/reports":
            return 200, {"accepted": True, "duplicate": False, "sla_violations": 0}, {}
        if kind == "GET /v1/rnics":
            return 404, {"error": {"code": "not_found", "message": "no", "request_id": "r"}}, {}
        return 200, {}, {}

    def of(self, method, prefix):
        return [c for c in list(self.calls) if c[0] == method and c[1].startswith(prefix)]

    def close(self):
        self.server.shutdown()
        self.server.server_close()


def error(status, **headers):
    return lambda kind, request: (status, {"error": {"code": "x", "message": "told so", "request_id": "r"}},
                                  {k.replace("_", "-"): v for k, v in headers.items()})


class SessionCases(Cases):
    def __init__(self, agent):
        super().__init__()
        self.agent = agent
        self.process = None
        self.log = None

    def start(self, *urls):
        self.log = tempfile.NamedTemporaryFile("r", prefix="rpingmesh-agent-", suffix=".log")
        argv = [self.agent, "--vdev=net_ring0", "--no-huge", "-m", "64", "--no-shconf", "--no-telemetry", "--",
                "--agent-id", "one", "--device", "name=net_ring0,ip=10.7.0.1/24,mac=02:00:00:00:07:01", "--tor-id", "t",
                "--analysis-window-sec", "1", "--log-format", "json", "--pinglist-update-interval-sec", "1"]
        for url in urls:
            argv += ["--controller-addr", url]
        with open(self.log.name, "wb") as out:
            self.process = subprocess.Popen(argv, stdout=out, stderr=out)

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        begun = time.monotonic()
        code = self.process.wait(10)
        took = time.monotonic() - begun
        expect(code == 0, f"exit code {code}: {self.text()[-500:]}")
        expect(took < 5.2, f"stop took {took:.1f} s")

    def teardown(self):
        if self.process is not None and self.process.poll() is None:
            self.process.kill()

    def text(self):
        with open(self.log.name, encoding="utf-8") as f:
            return f.read()

    def wait(self, condition, what, seconds=15):
        deadline = time.monotonic() + seconds
        while not condition():
            expect(self.process.poll() is None, f"the agent ended: {self.text()[-800:]}")
            expect(time.monotonic() < deadline, f"waited {seconds} s until {what}: {self.text()[-800:]}")
            time.sleep(0.05)

    def with_controller(self, body):
        c = Controller()
        try:
            body(c)
        finally:
            self.teardown()
            c.close()

    def case_no_controller_is_no_end(self):
        """Nobody listens: it tries for ever, and stops in time all the same."""
        self.start("http://127.0.0.1:1")
        time.sleep(4)
        expect(self.process.poll() is None, self.text()[-500:])
        expect("registration failed" in self.text(), self.text()[-500:])
        self.stop()

    def case_second_controller_takes_over(self):
        """The first of two is dead."""
        def body(c):
            self.start("http://127.0.0.1:1", c.url)
            self.wait(lambda: c.of("GET", "/v1/pinglist"), "the second was asked for the pinglist")
            self.stop()
        self.with_controller(body)

    def case_registers_once_and_declares_everything(self):
        def body(c):
            self.start(c.url)
            self.wait(lambda: len(c.of("PUT", "/v1/agents/one")) >= 2, "a heartbeat came")
            first, second = [call[2] for call in c.of("PUT", "/v1/agents/one")[:2]]
            expect(first["boot_id"] == second["boot_id"] and second["set_seq"] > first["set_seq"], (first, second))
            rnic = first["rnics"][0]
            expect(rnic["gid"] == GID and rnic["qpn"] > 1 and rnic["generation"] != 0 and rnic["stamps"] == "sw", rnic)
            expect(rnic["driver"] == "softroce" and rnic["state"] == "up" and rnic["qkey"] != 0x11111111, rnic)
            self.wait(lambda: len(c.of("GET", "/v1/pinglist")) >= 3, "the pinglist was asked for again")
            self.stop()
            left = c.of("DELETE", "/v1/agents/one")
            expect(len(left) == 1 and f"boot_id={first['boot_id']}" in left[0][1], left)
        self.with_controller(body)

    def case_unanswered_target_is_reported_as_unresolved(self):
        """Nobody answers ARP on a ring: evidence against the target, after a second."""
        def body(c):
            self.start(c.url)
            self.wait(lambda: len([r for r in c.of("POST", "/v1/reports") if r[2]["rows"]]) >= 3, "three reports")
            row = [r[2] for r in c.of("POST", "/v1/reports") if r[2]["rows"]][-1]
            expect(row["peers"][row["rows"][0][0]]["gid"] == TARGET["gid"], row)
            expect(row["rows"][0][9] >= 9, f"unresolved: {row['rows'][0]}")
            expect(row["agent_id"] == "one" and row["local"]["throttle"] == 1, row)
            self.stop()
        self.with_controller(body)

    def case_reports_are_kept_in_order_while_refused_for_now(self):
        """503 with Retry-After, then fine: every sequence number arrives, in order."""
        def body(c):
            self.start(c.url)
            self.wait(lambda: c.of("POST", "/v1/reports"), "a report came")
            c.answers["POST /v1/reports"] = error(503, Retry_After="1")
            time.sleep(4)
            tried = {r[2]["report_seq"] for r in c.of("POST", "/v1/reports")}
            c.answers.clear()
            before = len(c.of("POST", "/v1/reports"))
            self.wait(lambda: len(c.of("POST", "/v1/reports")) >= before + 5, "the backlog came")
            taken = [r[2]["report_seq"] for r in c.of("POST", "/v1/reports")[before:]]
            expect(taken == list(range(taken[0], taken[0] + len(taken))), f"order {taken}")
            expect(taken[0] in tried, f"{taken[0]} is none of those refused {tried}")
            self.stop()
        self.with_controller(body)

    def case_report_refused_for_good_is_set_aside(self):
        """400: that one goes, the next is tried."""
        def body(c):
            c.answers["POST /v1/reports"] = error(400)
            self.start(c.url)
            self.wait(lambda: len({r[2]["report_seq"] for r in c.of("POST", "/v1/reports")}) >= 3, "three were tried")
            seqs = [r[2]["report_seq"] for r in c.of("POST", "/v1/reports")]
            expect(len(seqs) == len(set(seqs)), f"tried again: {seqs}")
            self.stop()
        self.with_controller(body)

    def case_unusable_pinglist_keeps_the_old_one(self):
        def body(c):
            self.start(c.url)
            self.wait(lambda: any(r[2]["rows"] for r in c.of("POST", "/v1/reports")), "it probes")
            for bad in (b"{", b"[]", json.dumps({"gid": GID, "targets": [{**TARGET, "qpn": 0}], "sources": []}).encode(),
                        b"\xff\xfe", b"x" * 200000):
                c.answers["GET /v1/pinglist"] = lambda kind, request, bad=bad: (200, bad, {"ETag": '"e2"'})
                c.etag = "e2"
                asked = len(c.of("GET", "/v1/pinglist"))
                self.wait(lambda: len(c.of("GET", "/v1/pinglist")) > asked, "it was asked")
            expect("pinglist is not usable, the old one stays" in self.text(), self.text()[-500:])
            before = len(c.of("POST", "/v1/reports"))
            self.wait(lambda: len(c.of("POST", "/v1/reports")) > before + 2, "it reports on")
            expect(c.of("POST", "/v1/reports")[-1][2]["rows"], "it stopped probing")
            self.stop()
        self.with_controller(body)

    def case_empty_pinglist_stops_probing(self):
        def body(c):
            self.start(c.url)
            self.wait(lambda: any(r[2]["rows"] for r in c.of("POST", "/v1/reports")), "it probes")
            c.targets, c.etag = [], "e3"
            self.wait(lambda: "pinglist has 0 targets, asking again soon" in self.text(), "the empty list was applied")
            time.sleep(5)
            expect(not c.of("POST", "/v1/reports")[-1][2]["rows"], "it still probes")
            self.stop()
        self.with_controller(body)

    def case_superseded_stops_and_says_why(self):
        def body(c):
            self.start(c.url)
            self.wait(lambda: any(r[2]["rows"] for r in c.of("POST", "/v1/reports")), "it probes")
            c.answers["PUT /v1/agents"] = lambda kind, request: (
                409, {"error": {"code": "superseded", "message": "a newer process", "request_id": "r"}}, {})
            self.wait(lambda: "this one stops probing" in self.text(), "it says so")
            puts = len(c.of("PUT", "/v1/agents"))
            time.sleep(3)
            expect(len(c.of("PUT", "/v1/agents")) == puts, "it registers again and again")
            self.stop()
            expect(not c.of("DELETE", "/v1/agents"), "it deleted the other one's registration")
        self.with_controller(body)

    def case_conflict_is_told_in_words(self):
        def body(c):
            c.answers["PUT /v1/agents"] = lambda kind, request: (
                409, {"error": {"code": "agent_id_conflict", "message": "agent_id is in use by host other",
                                "request_id": "r", "field": "agent_id"}}, {})
            self.start(c.url)
            self.wait(lambda: "refused with 409: agent_id is in use by host other (is --agent-id" in self.text(),
                      "it says so")
            c.answers.clear()
            self.wait(lambda: c.of("GET", "/v1/pinglist"), "it goes on when the conflict is over", 40)
            self.stop()
        self.with_controller(body)

    def case_redirect_is_not_followed(self):
        def body(c):
            c.answers["PUT /v1/agents"] = lambda kind, request: (302, b"", {"Location": "http://127.0.0.1:1/"})
            self.start(c.url)
            self.wait(lambda: "refused with 302: a redirect, which is not followed: name the controller" in self.text(),
                      "it says so")
            c.answers.clear()
            self.wait(lambda: c.of("GET", "/v1/pinglist"), "it goes on when it is answered", 40)
            self.stop()
        self.with_controller(body)

    def case_leaving_is_repeated_until_it_is_heard(self):
        """A registration under way lands first, a 503 is not the end."""
        def body(c):
            self.start(c.url)
            self.wait(lambda: len(c.of("PUT", "/v1/agents/one")) >= 2, "it is registered")

            def slow(kind, request):
                time.sleep(0.7)
                return c.default(kind, request)

            c.answers["PUT /v1/agents"] = slow
            puts = len(c.of("PUT", "/v1/agents/one"))
            self.wait(lambda: len(c.of("PUT", "/v1/agents/one")) > puts, "a heartbeat is under way")
            refused = []
            c.answers["DELETE /v1/agents"] = lambda kind, request: (
                (refused.append(1), (503, {}, {}))[1] if len(refused) < 2 else (200, {}, {}))
            self.stop()
            calls = [call[0] for call in c.calls if call[1].startswith("/v1/agents/one")]
            expect(calls[-3:] == ["DELETE"] * 3, f"{calls[-6:]}")
        self.with_controller(body)

    def case_controller_that_hangs(self):
        """An answer that never comes holds up nothing else."""
        def body(c):
            c.answers["GET /v1/pinglist"] = lambda kind, request: time.sleep(30)
            self.start(c.url)
            self.wait(lambda: len(c.of("PUT", "/v1/agents/one")) >= 4, "heartbeats go on")
            self.stop()
        self.with_controller(body)


if __name__ == "__main__":
    sys.exit(SessionCases(sys.argv[1]).main())
