# SPDX-License-Identifier: BSD-3-Clause
"""The client against the real controller, and against servers that are none."""

import contextlib
import json
import os
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

from harness import *


@contextlib.contextmanager
def server(answers):
    """Gives each path's status and JSON; yields a function that runs the client against it."""
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            status, body = answers[self.path.split("?")[0]]
            body = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args):
            pass

    http = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=http.serve_forever, daemon=True).start()
    env = dict(os.environ, RPINGMESH_CTL_CONTROLLER="http://127.0.0.1:%d" % http.server_port)
    yield lambda *argv: subprocess.run([CTL, *argv], env=env, capture_output=True, text=True, timeout=30)
    http.shutdown()


def test_ctl_says_why_a_table_is_empty():
    with Controller() as c:
        assert "no ToR is known" in c.ctl("matrix").stdout
        for ip, name in (("10.0.0.1", "a"), ("10.0.0.2", "b")):
            eq(c.call("PUT", "/v1/agents/" + name, agent("one-host", ips=[ip])).status, 200)
        assert "nothing to probe: pinglists hold active RNICs of other hosts" in c.ctl("pinglist", "a", "10.0.0.1").stdout
        assert "no path has been reported" in c.ctl("paths").stdout


def test_ctl_shows_agents_pinglist_matrix_and_paths():
    with Controller() as c:
        pair(c)
        c.call("POST", "/v1/reports",
               report("a", "10.0.0.1", ["10.0.0.2"],
                      [row(ok=98, lost=2, rtt=[1500, 9000, 0, 0, [[250, 98]]])]))
        agents = c.ctl("agents")
        eq(agents.returncode, 0)
        assert "host-a" in agents.stdout and "10.0.0.2" in agents.stdout
        assert "\033[" not in agents.stdout
        assert "\033[" in c.ctl("--color", "always", "agents").stdout
        eq(json.loads(c.ctl("--json", "agents", "a").stdout)["hostname"], "host-a")
        assert "tor_mesh" in c.ctl("pinglist", "a", "10.0.0.1").stdout
        eq(len(json.loads(c.ctl("pinglist", "a", "10.0.0.1", "--json").stdout)["targets"]), 1)
        assert "2.00 %" in c.ctl("matrix").stdout
        assert "us" in c.ctl("matrix", "--metric", "p50").stdout
        paths = c.ctl("paths", "--source", "10.0.0.1")
        assert "host-a (10.0.0.1)" in paths.stdout and "2.00 %" in paths.stdout, paths.stdout
        eq(json.loads(c.ctl("paths", "--json").stdout)["paths"][0]["ok"], 98)
        refused = c.ctl("pinglist", "a", "10.0.0.7")
        eq(refused.returncode, 1)
        assert "404" in refused.stderr


def test_ctl_prints_no_control_bytes_of_a_server():
    evil = {"agent_id": "a\x1b[31m", "hostname": "h", "state": "active", "age_ms": 0,
            "rnics": [dict(rnic("10.0.0.1"), ip="10.0.0.1", tor_id="t\x9b1m")]}
    refusal = {"error": {"code": "x", "message": "\x1b[31mred", "request_id": "1"}}
    with server({"/v1/agents": (200, {"agents": [evil]}), "/v1/paths": (400, refusal)}) as run:
        table, refused = run("agents"), run("paths")
    eq((table.returncode, refused.returncode), (0, 1))
    assert "a?[31m" in table.stdout and "t?1m" in table.stdout, table.stdout
    assert "?[31mred" in refused.stderr, refused.stderr


def test_ctl_usage_errors():
    run = lambda *a: subprocess.run([CTL, *a], capture_output=True, text=True, timeout=10)
    eq(run().returncode, 64)
    typo = run("agnets")
    eq(typo.returncode, 64)
    assert "did you mean 'agents'" in typo.stderr
    eq(run("matrix", "--limit", "3").returncode, 64)
    eq(run("pinglist", "a").returncode, 64)
    eq(run("--color", "pink", "agents").returncode, 64)
    eq(run("--nope").returncode, 64)
    eq(run("-V").returncode, 0)
    eq(run("-h").returncode, 0)
    eq(run("--controller", "http://127.0.0.1:1", "agents").returncode, 69)


def test_ctl_decodes_captures():
    run = lambda *a: subprocess.run([CTL, *a], capture_output=True, text=True, timeout=10)
    for name, count in (("udvec_v4", 24), ("udvec_v6", 24), ("udvec_ll6", 24),
                        ("ud_pingpong_v4", 8), ("send_lat_ud_v6", 10)):
        path = os.path.join(DATA, "captures", name + ".pcap")
        done = run("decode", "--json", path)
        eq(done.returncode, 0, name)
        frames = [json.loads(line) for line in done.stdout.splitlines()]
        eq(len(frames), count, name)
        eq({f["icrc"] for f in frames}, {"ok"}, name)
        eq({f["probe"] for f in frames}, {None}, name)
        assert "%d frames, %d roce" % (count, count) in done.stderr, done.stderr
    first = frames[0]
    eq(set(first), {"ts_us", "src", "dst", "sport", "opcode", "dqpn", "sqpn", "psn", "pkey", "qkey",
                    "len", "icrc", "probe"})
    people = run("decode", os.path.join(DATA, "captures", "udvec_v4.pcap"))
    assert "24 frames, 24 roce, 0 probe messages, 0 bad icrc" in people.stdout
    eq(run("decode", "/nonexistent.pcap").returncode, 74)
    eq(run("decode", os.path.join(DATA, "captures", "README.md")).returncode, 65)


def test_ctl_decode_of_a_directory_says_so():
    done = subprocess.run([CTL, "decode", "/"], capture_output=True, text=True)
    assert done.returncode != 0 and "Is a directory" in done.stderr, done


def test_ctl_decode_reports_bad_icrc_and_cut_frames():
    path = os.path.join(DATA, "captures", "udvec_v4.pcap")
    with open(path, "rb") as f:
        raw = bytearray(f.read())
    with Controller() as c:
        first_len = int.from_bytes(raw[32:36], "little")
        raw[40 + first_len - 10] ^= 0xFF
        bad = os.path.join(c.dir, "bad.pcap")
        with open(bad, "wb") as f:
            f.write(raw)
        done = c.ctl("decode", "--json", bad)
        eq(json.loads(done.stdout.splitlines()[0])["icrc"], "bad")
        assert "1 bad icrc" in done.stderr
        with open(bad, "wb") as f:
            f.write(raw[:-5])
        eq(c.ctl("decode", bad).returncode, 65)


def test_ctl_names_a_redirect():
    with server({"/v1/agents": (302, {})}) as run:
        done = run("agents")
    eq(done.returncode, 1)
    assert "302: a redirect, which is not followed: set --controller" in done.stderr, done.stderr


def test_ctl_refuses_what_is_no_address():
    for url in ("ftp://x", "http://127.0.0.1:99999", "http://[::1", "http://:80", "http://a b"):
        done = subprocess.run([CTL, "--controller", url, "agents"], capture_output=True, text=True, timeout=10)
        eq(done.returncode, 64, url)
        assert "controller '%s' is not valid, want http://HOST:PORT" % url in done.stderr, done.stderr


main(globals())
