# SPDX-License-Identifier: BSD-3-Clause
"""What strangers may send to the controller's listeners."""

import json
import re
import resource
import socket
import time

from harness import *


def status(raw):
    return int(raw.split(b" ", 2)[1]) if raw.startswith(b"HTTP/1.") else None


def request(*headers, method=b"GET", path=b"/healthz", body=b""):
    lines = [method + b" " + path + b" HTTP/1.1", *headers, b"", b""]
    return b"\r\n".join(lines) + body


HOST = b"Host: x"
CLOSE = b"Connection: close"


def test_unknown_route_is_404_with_a_request_id():
    with Controller() as c:
        answer = c.get("/v2/agents")
        eq((answer.status, answer.error["code"]), (404, "not_found"))
        eq(answer.error["request_id"], answer.headers["X-Request-Id"])
        eq(c.get("/v1/agents/a/b").status, 404)
        eq(c.get("/v1/agents/").status, 404)
        eq(c.get("/").status, 404)


def test_wrong_method_is_405_with_allow():
    with Controller() as c:
        eq(c.call("POST", "/v1/agents/a").headers["Allow"], "PUT, DELETE, GET, HEAD")
        answer = c.call("PATCH", "/v1/reports")
        eq((answer.status, answer.headers["Allow"]), (405, "POST"))
        eq(c.call("PUT", "/v1/agents/a", agent("h"), ui=True).status, 405)
        eq(c.call("OPTIONS", "/healthz").status, 405)
        eq(c.call("TRACE", "/healthz").status, 405)


def test_head_has_length_and_no_body():
    with Controller() as c:
        raw = c.raw(request(HOST, CLOSE, method=b"HEAD"))
        assert raw.endswith(b"\r\n\r\n") and b"Content-Length: 16\r\n" in raw, raw


def test_headers_that_smuggle_are_400():
    with Controller() as c:
        post = dict(method=b"POST", path=b"/v1/reports")
        cases = {
            "no host": request(),
            "two hosts": request(HOST, HOST),
            "two lengths": request(HOST, b"Content-Length: 2", b"Content-Length: 2", body=b"{}",
                                   **post),
            "length and chunked": request(HOST, b"Content-Length: 4", b"Transfer-Encoding: chunked",
                                          body=b"0\r\n\r\n", **post),
            "signed length": request(HOST, b"Content-Length: +2", body=b"{}", **post),
            "odd encoding": request(HOST, b"Transfer-Encoding: xchunked", body=b"0\r\n\r\n", **post),
        }
        for name, data in cases.items():
            eq(status(c.raw(data, timeout=2)), 400, name)
        eq(status(c.raw(b"GET /healthz HTTP/1.0\r\n\r\n")), 200, "1.0 needs no host")


def test_paths_that_climb_are_400():
    with Controller() as c:
        for path in (b"/v1/agents/..", b"/v1/agents/%2e%2e", b"/v1/agents/a%00b", b"/v1/agents/a%2Fb",
                     b"/v1/agents/a%0ab", b"/v1/agents/%zz", b"/v1/agents/%4", b"/v1/agents/%ff",
                     b"/v1/paths?a=%00", b"/v1/paths?a=1&a=2", b"http://x/healthz"):
            eq(status(c.raw(request(HOST, CLOSE, path=path))), 400, path)
        eq(status(c.raw(request(HOST, CLOSE, path=b"/v1/agents/a%20b"))), 404)


def test_huge_header_is_400():
    with Controller() as c:
        eq(status(c.raw(request(HOST, b"X: " + b"a" * 40000), timeout=2)), 400)


def test_long_uri_is_414():
    with Controller() as c:
        eq(c.get("/healthz?x=" + "a" * 5000).status, 414)


def test_huge_body_is_413():
    with Controller("--max-body-bytes", "1024") as c:
        eq(status(c.raw(request(HOST, b"Content-Length: 2000", method=b"POST", path=b"/v1/reports",
                                body=b"x" * 2000), timeout=2)), 413)
        chunk = b"400\r\n" + b"x" * 1024 + b"\r\n"
        eq(status(c.raw(request(HOST, b"Transfer-Encoding: chunked", method=b"POST",
                                path=b"/v1/reports", body=chunk * 2 + b"0\r\n\r\n"), timeout=2)), 413)


def test_chunked_body_is_read():
    with Controller() as c:
        body = b"2\r\n{}\r\n0\r\n\r\n"
        raw = c.raw(request(HOST, CLOSE, b"Transfer-Encoding: chunked", method=b"POST",
                            path=b"/v1/reports", body=body))
        eq(status(raw), 400)
        assert b'"field":"v"' in raw, raw


def test_other_media_types_are_415():
    with Controller() as c:
        for kind in ("text/plain", "application/x-www-form-urlencoded", "application/jsonx"):
            answer = c.call("POST", "/v1/reports", "{}", {"Content-Type": kind})
            eq((answer.status, answer.error["code"]), (415, "unsupported_media_type"), kind)
        eq(c.call("POST", "/v1/reports", "{}", {"Content-Type": "application/json",
                                                "Content-Encoding": "gzip"}).status, 415)
        eq(c.call("POST", "/v1/reports", "{}",
                  {"Content-Type": "application/json; charset=utf-8"}).error["field"], "v")


def test_broken_json_is_400():
    with Controller() as c:
        for body in ("", "{", "[01]", '{"v":1,"v":1}', '{"v":1} x', "\xff"):
            answer = c.call("POST", "/v1/reports", body.encode("latin-1"))
            eq((answer.status, answer.error["code"]), (400, "invalid"), body)


def test_slow_request_is_closed_at_the_deadline():
    with Controller("--request-deadline-ms", "500") as c:
        with socket.create_connection(("127.0.0.1", c.agent_port), timeout=5) as sock:
            start = time.time()
            sock.sendall(b"GET /healthz HTTP/1.1\r\nX: ")
            try:
                while time.time() - start < 4:
                    sock.sendall(b"a")
                    time.sleep(0.1)
            except OSError:
                pass
            took = time.time() - start
            assert 0.3 < took < 2, took
        assert 'deadline_closes_total{listener="agent"} 1\n' in c.get(
            "/metrics", ui=True).body.decode()


def test_silent_connection_is_closed_at_the_deadline():
    with Controller("--request-deadline-ms", "300") as c:
        start = time.time()
        eq(c.raw(b""), b"")
        assert 0.2 < time.time() - start < 2
        start = time.time()
        eq(c.raw(request(HOST)[:20]), b"")
        assert 0.2 < time.time() - start < 2


def test_second_request_of_a_connection_has_a_deadline_too():
    with Controller("--request-deadline-ms", "300") as c:
        with socket.create_connection(("127.0.0.1", c.agent_port), timeout=5) as sock:
            sock.sendall(request(HOST))
            eq(status(sock.recv(65536)), 200)
            time.sleep(0.6)  # idle is allowed
            sock.sendall(request(HOST))
            eq(status(sock.recv(65536)), 200)
            sock.sendall(b"GET /he")
            start = time.time()
            eq(sock.recv(65536), b"")
            assert 0.2 < time.time() - start < 2


def test_pipelined_requests_are_answered_in_order():
    with Controller() as c:
        raw = c.raw(request(HOST) + request(HOST, path=b"/nope") + request(HOST, CLOSE))
        eq([int(part[:3]) for part in raw.split(b"HTTP/1.1 ")[1:]], [200, 404, 200])


def test_connections_over_the_cap_wait_their_turn():
    with Controller("--max-connections", "3") as c:
        socks = [socket.create_connection(("127.0.0.1", c.agent_port), timeout=1)
                 for _ in range(3)]
        for sock in socks:
            sock.sendall(request(HOST))
            eq(status(sock.recv(65536)), 200)
        extra = socket.create_connection(("127.0.0.1", c.agent_port), timeout=1)
        extra.sendall(request(HOST))
        try:
            extra.recv(10)
            raise AssertionError("a connection over the cap was served")
        except TimeoutError:
            pass
        socks.pop().close()
        extra.settimeout(5)
        eq(status(extra.recv(65536)), 200)
        text = c.get("/metrics", ui=True).body.decode()
        assert 'open_connections{listener="agent"} 3\n' in text, text
        assert 'cap_pauses_total{listener="agent"}' in text
        for sock in [extra, *socks]:
            sock.close()


def test_peer_that_leaves_before_the_reply_does_no_harm():
    with Controller() as c:
        for i in range(50):
            sock = socket.create_connection(("127.0.0.1", c.agent_port))
            body = json.dumps(report("a", "10.0.0.1", ["10.0.0.2"], [row(ok=1)], seq=i)).encode()
            sock.sendall(request(HOST, b"Content-Length: %d" % len(body), method=b"POST",
                                 path=b"/v1/reports", body=body))
            sock.close()
        eq(c.get("/healthz").status, 200)
        deadline = time.time() + 5
        while time.time() < deadline:
            text = c.get("/metrics", ui=True).body.decode()
            if 'open_connections{listener="agent"} 0\n' in text:
                return
            time.sleep(0.1)
        raise AssertionError(text)


def test_out_of_descriptors_pauses_and_recovers():
    with Controller() as c:
        hard = resource.prlimit(c.proc.pid, resource.RLIMIT_NOFILE)[1]
        resource.prlimit(c.proc.pid, resource.RLIMIT_NOFILE, (40, hard))
        socks = []
        for _ in range(60):
            socks.append(socket.create_connection(("127.0.0.1", c.agent_port), timeout=2))
        time.sleep(0.5)
        for sock in socks:
            sock.close()
        time.sleep(0.5)
        eq(c.get("/healthz").status, 200)
        text = c.get("/metrics", ui=True).body.decode()
        errors = int(re.search(r'accept_errors_total\{listener="agent"\} (\d+)', text).group(1))
        assert 0 < errors < 50, errors


main(globals())
