# SPDX-License-Identifier: BSD-3-Clause
"""The controller's API against the real program."""

import json
import os
import re
import signal
import socket
import sqlite3
import subprocess
import tempfile
import time

from harness import *


def test_register_answers_etags_heartbeat_and_time():
    with Controller("--heartbeat-sec", "7") as c:
        reply = c.call("PUT", "/v1/agents/a", agent("host-a", ips=["10.0.0.1", "fd00::1"])).json
        eq(reply["registered"], True)
        eq(set(reply["pinglist_etags"]), {"::ffff:10.0.0.1", "fd00::1"})
        eq(reply["heartbeat_sec"], 7)
        assert abs(reply["server_time_ms"] - time.time() * 1000) < 5000


def test_agents_show_age_state_and_rnics():
    with Controller() as c:
        pair(c)
        agents = c.get("/v1/agents", ui=True).json["agents"]
        eq([a["agent_id"] for a in agents], ["a", "b"])
        one = c.get("/v1/agents/a").json
        eq((one["hostname"], one["state"], one["tor_id"]), ("host-a", "active", "t1"))
        eq((one["rnics"][0]["gid"], one["rnics"][0]["ip"]), ("::ffff:10.0.0.1", "10.0.0.1"))
        eq(c.get("/v1/agents/nobody").status, 404)


def test_rnic_is_found_by_gid_and_by_ip():
    with Controller() as c:
        pair(c)
        by_ip, by_gid = c.get("/v1/rnics/10.0.0.2"), c.get("/v1/rnics/::ffff:10.0.0.2")
        eq(by_ip.json, by_gid.json)
        eq((by_ip.json["qpn"], by_ip.json["qkey"], by_ip.json["generation"]), (17, 1, 5))
        eq(c.get("/v1/rnics/10.0.0.9").status, 404)
        eq(c.get("/v1/rnics/x").error["field"], "gid")


def test_pinglist_then_304_then_new_tag():
    with Controller() as c:
        pair(c)
        path = "/v1/pinglist?agent_id=a&gid=10.0.0.1"
        first = c.get(path)
        eq([t["gid"] for t in first.json["targets"]], ["::ffff:10.0.0.2"])
        eq(first.json["sources"], ["::ffff:10.0.0.2"])
        same = c.get(path, If_None_Match=first.headers["ETag"])
        eq((same.status, same.body), (304, b""))
        body = agent("host-b", ips=[rnic("10.0.0.2", qpn=99)], seq=2)
        eq(c.call("PUT", "/v1/agents/b", body).status, 200)
        third = c.get(path, If_None_Match=first.headers["ETag"])
        eq((third.status, third.json["targets"][0]["qpn"]), (200, 99))
        etags = c.call("PUT", "/v1/agents/a", agent("host-a", ips=["10.0.0.1"])).json
        eq('"%s"' % etags["pinglist_etags"]["::ffff:10.0.0.1"], third.headers["ETag"])


def test_targets_carry_their_stamps():
    with Controller() as c:
        for who, ip, stamps in (("a", "10.0.0.1", "hw"), ("b", "10.0.0.2", "sw"),
                                ("c", "10.0.0.3", "hw")):
            body = agent("host-" + who, ips=[rnic(ip, stamps=stamps)])
            eq(c.call("PUT", "/v1/agents/" + who, body).status, 200)
        targets = c.get("/v1/pinglist?agent_id=a&gid=10.0.0.1").json["targets"]
        eq({t["ip"]: t["stamps"] for t in targets}, {"10.0.0.2": "sw", "10.0.0.3": "hw"})
        eq([c.get("/v1/rnics/10.0.0.%d" % i).json["stamps"] for i in (1, 2, 3)], ["hw", "sw", "hw"])


def test_pinglist_type_splits_the_list():
    with Controller() as c:
        pair(c)
        c.call("PUT", "/v1/agents/c", agent("host-c", tor="t2", ips=["10.0.1.1"]))
        base = "/v1/pinglist?agent_id=a&gid=10.0.0.1"
        mesh, inter = c.get(base + "&type=tor_mesh"), c.get(base + "&type=inter_tor")
        eq([t["gid"] for t in mesh.json["targets"]], ["::ffff:10.0.0.2"])
        eq([t["gid"] for t in inter.json["targets"]], ["::ffff:10.0.1.1"])
        assert mesh.headers["ETag"] != inter.headers["ETag"]
        eq(len(c.get(base).json["targets"]), 2)
        eq(c.get(base + "&type=x").error["field"], "type")


def test_pinglist_asks_for_its_parameters():
    with Controller() as c:
        pair(c)
        eq(c.get("/v1/pinglist?gid=10.0.0.1").error["field"], "agent_id")
        eq(c.get("/v1/pinglist?agent_id=a").error["field"], "gid")
        eq(c.get("/v1/pinglist?agent_id=a&gid=x").error["field"], "gid")
        eq(c.get("/v1/pinglist?agent_id=b&gid=10.0.0.1").status, 404)
        eq(c.get("/v1/pinglist?agent_id=a&agent_id=b&gid=10.0.0.1").status, 400)


def test_port_down_leaves_the_lists():
    with Controller() as c:
        pair(c)
        c.call("PUT", "/v1/agents/b", agent("host-b", ips=[rnic("10.0.0.2", state="down")], seq=2))
        eq(c.get("/v1/pinglist?agent_id=a&gid=10.0.0.1").json["targets"], [])
        eq(c.get("/v1/pinglist?agent_id=b&gid=10.0.0.2").json["targets"], [])


def test_conflicts_change_nothing():
    with Controller() as c:
        pair(c)
        thief = c.call("PUT", "/v1/agents/thief", agent("host-t", ips=["10.0.0.9", "10.0.0.1"]))
        eq((thief.status, thief.error["code"], thief.error["field"]),
           (409, "gid_conflict", "rnics[1].gid"))
        other = c.call("PUT", "/v1/agents/a", agent("host-x", ips=["10.0.0.8"], boot="boot-2"))
        eq((other.status, other.error["code"]), (409, "agent_id_conflict"))
        eq(c.call("PUT", "/v1/agents/a", agent("host-a", ips=["10.0.0.1"], boot="boot-2")).status,
           200)
        old = c.call("PUT", "/v1/agents/a", agent("host-a", ips=["10.0.0.1"]))
        eq((old.status, old.error["code"]), (409, "superseded"))
        stale = c.call("PUT", "/v1/agents/a",
                       agent("host-a", ips=["10.0.0.7"], boot="boot-2", seq=1))
        eq((stale.status, stale.error["code"]), (409, "stale_set"))
        eq([a["agent_id"] for a in c.get("/v1/agents").json["agents"]], ["a", "b"])
        eq(c.get("/v1/agents/a").json["rnics"][0]["ip"], "10.0.0.1")


def test_delete_leaves_pinglists_at_once():
    with Controller() as c:
        pair(c)
        eq(c.call("DELETE", "/v1/agents/b").error["field"], "boot_id")
        eq(c.call("DELETE", "/v1/agents/b?boot_id=other").status, 409)
        for _ in range(3):
            eq(c.call("DELETE", "/v1/agents/b?boot_id=boot-1").status, 204)
            eq(c.get("/v1/pinglist?agent_id=a&gid=10.0.0.1").json["targets"], [])
        eq(c.call("DELETE", "/v1/agents/b?boot_id=boot-2").status, 404)
        eq(c.call("DELETE", "/v1/agents/nobody?boot_id=boot-1").status, 404)


def test_late_put_does_not_revive_an_agent_that_left():
    with Controller() as c:
        pair(c)
        eq(c.call("DELETE", "/v1/agents/b?boot_id=boot-1").status, 204)
        late = c.call("PUT", "/v1/agents/b", agent("host-b", ips=["10.0.0.2"], seq=2))
        eq((late.status, late.error["code"]), (409, "superseded"))
        eq(c.get("/v1/agents/b").status, 404)
        eq(c.call("PUT", "/v1/agents/b", agent("host-b", ips=["10.0.0.2"], boot="boot-2")).status,
           200)
        late = c.call("PUT", "/v1/agents/b", agent("host-b", ips=["10.0.0.2"], seq=2))
        eq((late.status, late.error["code"]), (409, "superseded"))
        eq(c.get("/v1/agents/b").json["boot_id"], "boot-2")


def test_last_windows_after_delete_keep_the_names():
    with Controller() as c:
        pair(c)
        start = now_ms() - 60000
        send = lambda who, source, target, seq: c.call(
            "POST", "/v1/reports", report(who, source, [target], [row(ok=10)], seq=seq,
                                          start=start + 10000 * seq)).status
        ends = lambda: {(p["source_host"], p["source_tor"], p["target_host"], p["target_tor"])
                        for p in c.get("/v1/paths").json["paths"]}
        eq((send("a", "10.0.0.1", "10.0.0.2", 1), send("b", "10.0.0.2", "10.0.0.1", 1)), (200, 200))
        before = ends()
        eq(c.call("DELETE", "/v1/agents/b?boot_id=boot-1").status, 204)
        eq((send("a", "10.0.0.1", "10.0.0.2", 2), send("b", "10.0.0.2", "10.0.0.1", 2)), (200, 200))
        eq(ends(), before)
        eq(c.get("/v1/matrix?window=3600").json["tors"], ["t1"])
        eq([p["windows"] for p in c.get("/v1/paths").json["paths"]], [2, 2])


def test_heartbeats_cost_no_plan_and_no_write():
    with Controller() as c:
        pair(c)
        costs = lambda: [int(re.search(r"^rpingmesh_controller_%s_total (\d+)$" % name,
                                       c.get("/metrics", ui=True).body.decode(), re.M)[1])
                         for name in ("plan_builds", "store_commits")]
        builds, commits = costs()
        for seq in [1, 1, *range(2, 30)]:
            eq(c.call("PUT", "/v1/agents/a", agent("host-a", ips=["10.0.0.1"], seq=seq)).status,
               200)
        after = costs()
        eq(after[0], builds)
        assert after[1] <= commits + 3, "duties of the second only: %r" % after
        eq(c.call("PUT", "/v1/agents/a", agent("host-a", ips=["10.0.0.3"], seq=31)).status, 200)
        eq(costs()[0], builds + 1)


def test_empty_set_empties_the_agent():
    with Controller() as c:
        pair(c)
        eq(c.call("PUT", "/v1/agents/b", agent("host-b", ips=[], seq=2)).status, 200)
        eq(c.get("/v1/pinglist?agent_id=a&gid=10.0.0.1").json["targets"], [])
        eq(c.get("/v1/rnics/10.0.0.2").status, 404)


def test_silent_agent_leaves_lists_then_registry():
    with Controller("--heartbeat-sec", "1", "--active-threshold-sec", "2", "--stale-threshold-sec", "4") as c:
        pair(c)
        for _ in range(4):
            time.sleep(0.7)
            eq(c.call("PUT", "/v1/agents/a", agent("host-a", ips=["10.0.0.1"])).status, 200)
        eq(c.get("/v1/pinglist?agent_id=a&gid=10.0.0.1").json["targets"], [])
        eq(c.get("/v1/agents/b").json["state"], "inactive")
        deadline = time.time() + 5
        while c.get("/v1/agents/b").status == 200 and time.time() < deadline:
            time.sleep(0.2)
        eq(c.get("/v1/agents/b").status, 404)


def test_report_then_duplicate_counts_once():
    with Controller() as c:
        pair(c)
        body = report("a", "10.0.0.1", ["10.0.0.2"],
                      [row(ok=98, lost=2, rtt=[1500, 9000, 0, 0, [[250, 97], [300, 1]]])])
        eq(c.call("POST", "/v1/reports", body).json,
           {"accepted": True, "duplicate": False, "sla_violations": 0})
        eq(c.call("POST", "/v1/reports", body).json["duplicate"], True)
        path = c.get("/v1/paths", ui=True).json["paths"][0]
        eq((path["ok"], path["lost"], path["windows"], path["loss_ppm"]), (98, 2, 1, 20000))
        eq((path["source_host"], path["target_tor"], path["type"], path["stamps"]),
           ("host-a", "t1", "tor_mesh", "hw"))
        eq((path["rtt_min_ns"], path["rtt_max_ns"]), (1500, 9000))
        eq(path["prober_delay_p50_ns"], None)
        body["boot_id"] = "boot-2"
        eq(c.call("POST", "/v1/reports", body).json["duplicate"], False)
        eq(c.get("/v1/paths").json["paths"][0]["ok"], 196)
        body["part"], body["parts"] = 1, 2
        eq(c.call("POST", "/v1/reports", body).json["duplicate"], False)


def test_bad_row_refuses_the_whole_report():
    with Controller() as c:
        pair(c)
        rows = [row(ok=1), row(ok=1), row(peer=5, ok=1)]
        bad = c.call("POST", "/v1/reports", report("a", "10.0.0.1", ["10.0.0.2"], rows))
        eq((bad.status, bad.error["field"]), (400, "rows[2].peer"))
        eq(c.get("/v1/paths").json["paths"], [])


def test_report_of_a_gid_of_another_is_refused():
    with Controller() as c:
        send = lambda who, gid, seq=1: c.call(
            "POST", "/v1/reports", report(who, gid, ["10.0.0.2"], [row(ok=1)], seq=seq,
                                          start=now_ms() - 60000 + 10000 * seq))
        refused = lambda answer: (answer.status, answer.error["code"], answer.error["field"])
        want = (409, "gid_not_held", "gid")
        early = send("a", "10.0.0.1")
        eq((early.status, early.error["code"]), (503, "unavailable"))
        assert "not registered yet" in early.error["message"] and early.headers["Retry-After"], early
        pair(c)
        eq(refused(send("a", "10.0.0.2")), want)
        eq(refused(send("a", "10.0.0.3")), want)
        eq(send("x", "10.0.0.1").status, 503)
        eq(c.get("/v1/paths").json["paths"], [])
        eq(send("a", "10.0.0.1").status, 200)
        # The set changes, then the agent leaves: windows of before are still taken.
        eq(c.call("PUT", "/v1/agents/a", agent("host-a", ips=["10.0.0.4"], seq=2)).status, 200)
        eq((send("a", "10.0.0.1", 2).status, send("a", "10.0.0.4", 3).status), (200, 200))
        eq(c.call("DELETE", "/v1/agents/a?boot_id=boot-1").status, 204)
        eq((send("a", "10.0.0.1", 4).status, send("a", "10.0.0.4", 5).status), (200, 200))
        assert 'result="invalid"} 2\n' in c.get("/metrics", ui=True).body.decode()


def test_first_windows_after_delete_have_names_too():
    with Controller() as c:
        pair(c)
        for who in "ab":
            eq(c.call("DELETE", "/v1/agents/%s?boot_id=boot-1" % who).status, 204)
        eq(c.call("POST", "/v1/reports",
                  report("a", "10.0.0.1", ["10.0.0.2"], [row(ok=1)])).status, 200)
        path = c.get("/v1/paths").json["paths"][0]
        eq([path[k] for k in ("source_host", "source_tor", "target_host", "target_tor")],
           ["host-a", "t1", "host-b", "t1"])


def test_analyzer_off_refuses_politely():
    with Controller("--analyzer-enabled=false") as c:
        pair(c)
        reply = c.call("POST", "/v1/reports",
                       report("a", "10.0.0.1", ["10.0.0.2"], [row(ok=1)]))
        eq((reply.status, reply.json["accepted"]), (200, False))
        eq(c.get("/v1/paths").json["paths"], [])


def test_paths_merge_exactly_the_windows_asked_for():
    with Controller() as c:
        pair(c)
        start = now_ms() - 60000
        for i in range(5):
            body = report("a", "10.0.0.1", ["10.0.0.2"], [row(ok=10 ** i)], seq=i,
                          start=start + 10000 * i)
            eq(c.call("POST", "/v1/reports", body).status, 200)
        got = c.get("/v1/paths?from=%d&to=%d" % (start + 10000, start + 30000)).json["paths"][0]
        eq((got["ok"], got["windows"], got["first_ms"], got["last_ms"]),
           (110, 2, start + 10000, start + 30000))
        eq(c.get("/v1/paths?source=10.0.0.2").json["paths"], [])
        eq(len(c.get("/v1/paths?source=10.0.0.1&target=10.0.0.2").json["paths"]), 1)
        eq(len(c.get("/v1/paths?source_tor=t1&target_tor=t1").json["paths"]), 1)
        eq(c.get("/v1/paths?target_tor=t9").json["paths"], [])
        eq(c.get("/v1/paths?from=x").error["field"], "from")
        eq(c.get("/v1/paths?limit=0").error["field"], "limit")


def test_paths_limit_counts_the_rest():
    with Controller() as c:
        pair(c)
        peers = ["10.0.1.%d" % i for i in range(1, 11)]
        c.call("POST", "/v1/reports",
               report("a", "10.0.0.1", peers, [row(peer=i, ok=1) for i in range(10)]))
        got = c.get("/v1/paths?limit=4").json
        eq((len(got["paths"]), got["omitted"]), (4, 6))


def test_matrix_has_loss_quantiles_and_no_data():
    with Controller() as c:
        pair(c)
        c.call("PUT", "/v1/agents/c", agent("host-c", tor="t2", ips=["10.0.1.1"]))
        start = now_ms() - 60000
        c.call("POST", "/v1/reports",
               report("a", "10.0.0.1", ["10.0.0.2", "10.0.1.1"],
                      [row(ok=90, lost=10), row(peer=1, kind=1, ok=100,
                                                rtt=[2000, 2000, 0, 0, [[278, 100]]])],
                      start=start))
        loss = c.get("/v1/matrix", ui=True).json
        eq((loss["tors"], loss["unit"]), (["t1", "t2"], "ppm"))
        eq(loss["rows"], [[100000, 0], [None, None]])
        p99 = c.get("/v1/matrix?metric=p99").json
        eq(p99["rows"], [[None, 2000], [None, None]])
        c.call("POST", "/v1/reports",
               report("a", "10.0.0.1", ["10.0.0.2"], [row(ok=100)], seq=2, start=start + 10000))
        eq(c.get("/v1/matrix?window=10").json["rows"][0][0], 0)
        eq(c.get("/v1/matrix?window=20").json["rows"][0][0], 50000)
        eq(c.get("/v1/matrix?metric=p42").error["field"], "metric")
        eq(c.get("/v1/matrix?window=0").error["field"], "window")


def test_window_of_the_future_is_refused_and_blanks_nothing():
    with Controller() as c:
        pair(c)
        send = lambda start, seq, **more: c.call(
            "POST", "/v1/reports", report("a", "10.0.0.1", ["10.0.0.2"], [row(ok=90, lost=10)],
                                          seq=seq, start=start, **more))
        eq(send(now_ms() - 20000, 1).status, 200)
        ahead = [61000, 3600000, 10 ** 12]
        for seq, ms in enumerate(ahead, 2):
            answer = send(int(time.time() * 1000) + ms, seq)
            eq((answer.status, answer.error["field"]), (400, "window_start_ms"))
            assert "ahead" in answer.error["message"], answer.error
        eq(send(int(time.time() * 1000) + 50000, 9).status, 200)
        eq(c.get("/v1/matrix").json["rows"], [[100000]])
        # Rows of an older release may lie ahead in the store.
        c.proc.send_signal(signal.SIGTERM)
        eq(c.proc.wait(10), 0)
        db = sqlite3.connect(c.db)
        db.execute("UPDATE path_rollup_1m SET minute_ms = 3600000 * 1000000 WHERE minute_ms ="
                   " (SELECT max(minute_ms) FROM path_rollup_1m)"
                   " AND (SELECT count(*) FROM path_rollup_1m) > 1")
        db.commit()
        db.close()
        c.start()
        eq(c.get("/v1/matrix").json["rows"], [[100000]])


def test_window_retention_bounds_memory():
    with Controller("--analyzer-window-retention", "2") as c:
        pair(c)
        start = now_ms() - 60000
        for i in range(4):
            c.call("POST", "/v1/reports",
                   report("a", "10.0.0.1", ["10.0.0.2"], [row(ok=10 ** i)], seq=i,
                          start=start + 10000 * i))
        eq(c.get("/v1/paths").json["paths"][0]["ok"], 1100)


def test_kill_keeps_registry_and_acknowledged_results():
    with Controller() as c:
        pair(c)
        start = now_ms()
        body = report("a", "10.0.0.1", ["10.0.0.2"],
                      [row(ok=98, lost=2, rtt=[1500, 9000, 0, 0, [[250, 98]]])], start=start)
        eq(c.call("POST", "/v1/reports", body).status, 200)
        before = c.get("/v1/pinglist?agent_id=a&gid=10.0.0.1")
        c.kill()
        c.start()
        after = c.get("/v1/pinglist?agent_id=a&gid=10.0.0.1")
        eq((after.status, after.json), (200, before.json))
        eq(after.headers["ETag"], before.headers["ETag"])
        eq(c.call("POST", "/v1/reports", body).json["duplicate"], True)
        path = c.get("/v1/paths").json["paths"][0]
        eq((path["ok"], path["lost"], path["rtt_min_ns"]), (98, 2, 1500))
        eq(c.call("POST", "/v1/reports", dict(body, report_seq=2)).json["duplicate"], False)
        db = sqlite3.connect(c.db)
        rows = [json.loads(r[0]) for r in db.execute("SELECT row FROM path_rollup_1m")]
        eq((len(rows), rows[0]["v"], rows[0]["states"][:3]), (1, 1, [196, 0, 4]))
        db.close()


def test_kill_keeps_superseded_boots():
    with Controller() as c:
        pair(c)
        c.call("PUT", "/v1/agents/a", agent("host-a", ips=["10.0.0.1"], boot="boot-2"))
        c.kill()
        c.start()
        eq(c.call("PUT", "/v1/agents/a", agent("host-a", ips=["10.0.0.1"])).error["code"],
           "superseded")


def test_health_version_and_metrics():
    with Controller() as c:
        pair(c)
        eq(c.get("/healthz").json["status"], "ok")
        eq(c.get("/readyz", ui=True).json["store"], "up")
        assert re.match(r"\d+\.\d+\.\d+$", c.get("/version").json["version"])
        metrics = c.get("/metrics", ui=True)
        eq(metrics.headers["Content-Type"], "text/plain; version=0.0.4; charset=utf-8")
        text = metrics.body.decode()
        assert 'rpingmesh_controller_agents{state="active"} 2\n' in text
        assert "rpingmesh_controller_store_up 1\n" in text
        families = re.findall(r"^# TYPE (\S+) (\S+)$", text, re.M)
        eq(len(families), len({f[0] for f in families}), "families once")
        eq([f[0] for f in families], re.findall(r"^# HELP (\S+) ", text, re.M))
        current = None
        for line in text.splitlines():
            if line.startswith("# TYPE"):
                current = line.split()[2]
            elif not line.startswith("#"):
                eq(re.match(r"[a-z_:]+", line).group(), current, "sample of its family")
        for name, kind in families:
            eq(kind == "counter", name.endswith("_total"), name)
        eq(c.get("/metrics").status, 404)


def test_disk_full_serves_on_and_recovers():
    with Controller() as c:
        pair(c)
        # The file system stays roomy; the database itself is told to be full.
        c.proc.send_signal(signal.SIGTERM)
        eq(c.proc.wait(10), 0)
        db = sqlite3.connect(c.db)
        db.execute("CREATE TRIGGER full BEFORE INSERT ON report_ledger "
                   "BEGIN SELECT RAISE(FAIL, 'database or disk is full'); END")
        db.execute("CREATE TRIGGER full2 BEFORE INSERT ON agents "
                   "BEGIN SELECT RAISE(FAIL, 'database or disk is full'); END")
        db.commit()
        db.close()
        c.start()
        body = report("a", "10.0.0.1", ["10.0.0.2"], [row(ok=1)])
        refused = c.call("POST", "/v1/reports", body)
        eq((refused.status, refused.error["code"]), (503, "unavailable"))
        assert int(refused.headers["Retry-After"]) > 0
        eq(c.get("/readyz").error["code"], "store_down")
        assert "rpingmesh_controller_store_up 0\n" in c.get("/metrics", ui=True).body.decode()
        eq(c.call("PUT", "/v1/agents/d", agent("host-d", ips=["10.0.0.4"])).status, 200)
        eq(len(c.get("/v1/pinglist?agent_id=a&gid=10.0.0.1").json["targets"]), 2)
        eq(c.get("/v1/paths").json["paths"], [])
        db = sqlite3.connect(c.db, timeout=5)
        db.execute("DROP TRIGGER full")
        db.execute("DROP TRIGGER full2")
        db.commit()
        deadline = time.time() + 5
        while time.time() < deadline and c.get("/readyz").status != 200:
            time.sleep(0.1)
        eq(c.get("/readyz").status, 200)
        eq(db.execute("SELECT count(*) FROM agents WHERE agent_id = 'd'").fetchone()[0], 1)
        db.close()
        eq(c.call("POST", "/v1/reports", body).json["duplicate"], False)


def test_newer_schema_is_refused():
    with Controller() as c:
        c.proc.send_signal(signal.SIGTERM)
        eq(c.proc.wait(10), 0)
        db = sqlite3.connect(c.db)
        db.execute("INSERT INTO schema_version VALUES (999)")
        db.commit()
        db.close()
        done = subprocess.run(c.command(), capture_output=True, text=True, timeout=10)
        eq(done.returncode, 78)
        assert "version 999" in done.stderr, done.stderr


def test_second_controller_on_one_store_is_refused():
    with Controller() as c:
        done = subprocess.run(c.command(), capture_output=True, text=True, timeout=10)
        eq(done.returncode, 69)
        assert "in use by another" in done.stderr and str(c.proc.pid) in done.stderr, done.stderr


def test_port_in_use_names_address_and_fix():
    with Controller() as c:
        other = c.command(agent_listen="127.0.0.1:%d" % c.agent_port, db=c.db + "2")
        done = subprocess.run(other, capture_output=True, text=True, timeout=10)
        eq(done.returncode, 69)
        assert "127.0.0.1:%d" % c.agent_port in done.stderr and "in use" in done.stderr
        assert "set another address" in done.stderr, done.stderr


def test_store_that_was_moved_away_takes_no_report():
    with Controller() as c:
        pair(c)
        send = lambda seq: c.call("POST", "/v1/reports", report(
            "a", "10.0.0.1", ["10.0.0.2"], [row(ok=1)], seq=seq, start=now_ms() - 60000 + 10000 * seq)).status
        eq(send(1), 200)
        os.rename(c.db, c.db + ".away")
        eq(send(2), 503)
        eq(c.get("/readyz").status, 503)
        with open(c.db, "wb"):
            pass
        eq(send(3), 503)
        os.rename(c.db + ".away", c.db)
        eq([send(4), send(2), send(1)], [200, 200, 200])
        eq(c.get("/readyz").status, 200)
        eq(c.get("/v1/paths").json["paths"][0]["ok"], 3)


def test_what_is_no_store_is_said():
    def refused(path):
        done = subprocess.run([CONTROLLER, "--store", "sqlite:" + path, "--agent-listen", "127.0.0.1:0",
                               "--ui-listen", "127.0.0.1:0"], capture_output=True, text=True, timeout=10)
        eq(done.returncode, 74)
        return done.stderr

    with tempfile.TemporaryDirectory() as d:
        assert "not a regular file: set store to sqlite:FILE" in refused(d)
        noise = os.path.join(d, "noise.db")
        with open(noise, "wb") as f:
            f.write(bytes(range(1, 256)) * 64)
        assert "file is not a database: restore it, or move it away" in refused(noise)
        other = os.path.join(d, "other.db")
        db = sqlite3.connect(other)
        db.execute("CREATE TABLE agents (x)")
        db.commit()
        db.close()
        assert "tables but no schema version" in refused(other)
        with Controller() as c:
            pair(c)
            whole = c.db
            c.proc.terminate()
            c.proc.wait(10)
            with open(whole, "rb") as f, open(os.path.join(d, "half.db"), "wb") as to:
                to.write(f.read()[:12000])
        assert "restore it, or move it away" in refused(os.path.join(d, "half.db"))


def test_matrix_without_data_is_of_now():
    with Controller() as c:
        m = c.get("/v1/matrix", ui=True).json
        assert abs(m["to_ms"] - now_ms()) < 60000, m


def test_error_of_the_whole_document_has_no_gap():
    with Controller() as c:
        e = c.call("PUT", "/v1/agents/a", b"{", {"Content-Type": "application/json"}).error
        eq((e["field"], e["message"][0].isspace()), ("", False))


def test_listen_addresses_are_checked_without_listening():
    for key in ("agent-listen", "ui-listen"):
        for bad in ("127.0.0.1:99999", "[::1", "80"):
            done = subprocess.run([CONTROLLER, "-t", "--" + key, bad], capture_output=True, text=True)
            eq(done.returncode, 78)
            assert "is not an address to listen on, want HOST:PORT" in done.stderr, done.stderr


def test_bad_configuration_exits_78_and_64():
    run = lambda *a: subprocess.run([CONTROLLER, *a], capture_output=True, text=True, timeout=10)
    eq(run("--nonsense").returncode, 64)
    eq(run("--heartbeat-sec", "0").returncode, 64)
    eq(run("-V").returncode, 0)
    eq(run("-h").returncode, 0)
    eq(run("-t").returncode, 0)
    assert "agent_listen" in run("--print-defaults").stdout
    env = dict(os.environ, RPINGMESH_CONTROLLER_STALE_THRESHOLD_SEC="10")
    done = subprocess.run([CONTROLLER, "-t"], capture_output=True, text=True, env=env)
    eq(done.returncode, 78)
    assert "stale_threshold_sec" in done.stderr


def test_example_configuration_is_the_defaults():
    path = os.path.join(os.path.dirname(DATA), "..", "config", "controller.cfg.example")
    defaults = subprocess.run([CONTROLLER, "--print-defaults"], capture_output=True, text=True)
    with open(path) as f:
        eq(f.read(), defaults.stdout)
    eq(subprocess.run([CONTROLLER, "-t", "-c", path], capture_output=True).returncode, 0)


def test_directory_that_does_not_do_is_an_io_error():
    for path, fix in (("/nonexistent/x.db", "create the directory"), ("/etc/passwd/x.db", "create the directory"),
                      ("/sys/x.db", "make its directory writable")):
        done = subprocess.run([CONTROLLER, "--store", "sqlite:" + path, "--agent-listen",
                               "127.0.0.1:0", "--ui-listen", "127.0.0.1:0"],
                              capture_output=True, text=True, timeout=10)
        eq(done.returncode, 74)
        assert path in done.stderr and fix + ", or set store" in done.stderr, done.stderr


def test_stop_is_clean_and_quick():
    with Controller() as c:
        pair(c)
        idle = socket.create_connection(("127.0.0.1", c.agent_port))
        start = time.time()
        c.proc.send_signal(signal.SIGTERM)
        eq(c.proc.wait(10), 0)
        assert time.time() - start < 5
        idle.close()


main(globals())
