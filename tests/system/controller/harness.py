# SPDX-License-Identifier: BSD-3-Clause
"""Starts the real controller on ephemeral loopback ports and talks to it.

A test file defines functions test_*(); main(globals()) runs them, prints one
line per case and ends with "N passed, N failed, N skipped".
"""

import http.client
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import traceback

CONTROLLER = os.environ["RPINGMESH_CONTROLLER"]
CTL = os.environ["RPINGMESH_CTL"]
DATA = os.environ["RPINGMESH_DATA"]


class Skip(Exception):
    pass


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def error(self):
        return self.json["error"]


class Controller:
    """One controller over one directory; survives restarts of the process."""

    def __init__(self, *flags):
        self.flags = list(flags)
        self.dir = tempfile.mkdtemp(prefix="rpingmesh-test-")
        self.db = os.path.join(self.dir, "c.db")
        self.proc = None
        self.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.proc.poll() is None:
            self.proc.send_signal(signal.SIGTERM)
            assert self.proc.wait(10) == 0, "exit code %d\n%s" % (self.proc.returncode, self.log())
        shutil.rmtree(self.dir)

    def command(self, *flags, agent_listen="127.0.0.1:0", db=None):
        return [CONTROLLER, "--agent-listen", agent_listen, "--ui-listen", "127.0.0.1:0",
                "--store", "sqlite:" + (db or self.db), "--log-format", "json", *flags]

    def start(self, *flags):
        env = {k: v for k, v in os.environ.items() if not k.startswith("RPINGMESH_")}
        self.log_path = os.path.join(self.dir, "log")
        with open(self.log_path, "w") as log:
            self.proc = subprocess.Popen(self.command(*self.flags, *flags), stderr=log,
                                         stdout=log, env=env, cwd=self.dir)
        deadline = time.time() + 10
        while time.time() < deadline and self.proc.poll() is None:
            ports = re.findall(r"listening on 127\.0\.0\.1:(\d+)", self.log())
            if len(ports) == 2:
                self.agent_port, self.ui_port = map(int, ports)
                return
            time.sleep(0.01)
        raise AssertionError("controller did not start:\n" + self.log())

    def kill(self):
        self.proc.kill()
        self.proc.wait()

    def log(self):
        with open(self.log_path) as log:
            return log.read()

    def call(self, method, path, body=None, headers=None, ui=False):
        conn = http.client.HTTPConnection("127.0.0.1", self.ui_port if ui else self.agent_port,
                                          timeout=10)
        headers = dict(headers or {})
        if body is not None and not isinstance(body, (bytes, str)):
            body = json.dumps(body)
            headers.setdefault("Content-Type", "application/json")
        conn.request(method, path, body, headers)
        reply = conn.getresponse()
        answer = Answer(reply.status, dict(reply.getheaders()), reply.read())
        conn.close()
        return answer

    def get(self, path, ui=False, **headers):
        return self.call("GET", path, headers={k.replace("_", "-"): v for k, v in headers.items()},
                         ui=ui)

    def raw(self, data, timeout=5, ui=False):
        """Send bytes as they are; everything that comes back until the close or time-out."""
        with socket.create_connection(("127.0.0.1", self.ui_port if ui else self.agent_port),
                                      timeout=timeout) as sock:
            sock.sendall(data)
            got = b""
            try:
                while True:
                    chunk = sock.recv(65536)
                    if not chunk:
                        break
                    got += chunk
            except (TimeoutError, ConnectionResetError):
                pass
            return got

    def ctl(self, *args):
        env = dict(os.environ, RPINGMESH_CTL_CONTROLLER="http://127.0.0.1:%d" % self.ui_port)
        return subprocess.run([CTL, *args], env=env, capture_output=True, text=True, timeout=30)


def rnic(ip, **more):
    return {"gid": ip, "qpn": 17, "qkey": 1, "generation": 5, "device": "d0", "driver": "verbs",
            "stamps": "hw", "state": "up", **more}


def agent(host, tor="t1", ips=(), boot="boot-1", seq=1, **more):
    return {"boot_id": boot, "set_seq": seq, "hostname": host, "agent_ip": "192.0.2.1",
            "tor_id": tor, "version": "0.1.0",
            "rnics": [ip if isinstance(ip, dict) else rnic(ip) for ip in ips], **more}


def now_ms():
    return int(time.time()) // 10 * 10000


def row(peer=0, kind=0, stamps=1, ok=0, lost=0, rtt=()):
    counts = [ok, 0, lost] + 10 * [0]  # docs/api.md: eight states, five extras
    return [peer, kind, stamps, *counts, list(rtt), [], [], []]


def report(agent_id, gid, peers, rows, seq=1, boot="boot-1", start=None, **more):
    return {"v": 1, "agent_id": agent_id, "boot_id": boot, "report_seq": seq, "part": 0, "parts": 1,
            "gid": gid, "window_start_ms": now_ms() if start is None else start,
            "window_ms": 10000,
            "peers": [{"gid": p, "qpn": 17, "generation": 5} for p in peers], "rows": rows, **more}


def eq(got, want, what=""):
    assert got == want, "%s: got %r, want %r" % (what, got, want)


def pair(c):
    eq(c.call("PUT", "/v1/agents/a", agent("host-a", ips=["10.0.0.1"])).status, 200)
    eq(c.call("PUT", "/v1/agents/b", agent("host-b", ips=["10.0.0.2"])).status, 200)


def main(names):
    passed = failed = skipped = 0
    only = sys.argv[1:]
    for name, case in list(names.items()):
        if not name.startswith("test_") or (only and name not in only):
            continue
        start = time.time()
        try:
            case()
            passed += 1
            verdict = "ok"
        except Skip as why:
            skipped += 1
            verdict = "skipped: %s" % why
        except Exception:
            failed += 1
            verdict = "FAILED\n" + traceback.format_exc()
        print("%s: %s (%.2f s)" % (name[5:], verdict, time.time() - start), flush=True)
    print("%d passed, %d failed, %d skipped" % (passed, failed, skipped))
    sys.exit(1 if failed or not passed else 0)
