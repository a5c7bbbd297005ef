#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""tools/count-tests decides what counts as tested, so it is tested itself."""

import json
import pathlib
import subprocess
import sys
import tempfile
import traceback

TOOL = pathlib.Path(__file__).resolve().parents[2] / "tools" / "count-tests"

# name, result of meson, output, (passed, failed, skipped), complaint
ROWS = (
    ("good", "OK", "noise\n3 passed, 0 failed, 0 skipped\n", (3, 0, 0), None),
    ("failures", "FAIL", "1 passed, 2 failed, 0 skipped\n", (1, 2, 0), None),
    ("silent", "OK", "all is well\n", (0, 1, 0), "does not end with a line of counts"),
    ("no output", "OK", "", (0, 1, 0), "does not end with a line of counts"),
    ("count not last", "OK", "3 passed, 0 failed, 0 skipped\nmore\n", (0, 1, 0),
     "does not end with a line of counts"),
    ("skip with reason", "OK", "root: skipped: not root (0.00 s)\n1 passed, 0 failed, 1 skipped\n",
     (1, 0, 1), None),
    ("all skipped", "SKIP", "a: skipped: needs root\n0 passed, 0 failed, 1 skipped\n",
     (0, 0, 1), None),
    ("skip without reason", "OK", "1 passed, 0 failed, 1 skipped\n", (1, 1, 1),
     "skips without giving a reason"),
    ("crash behind the count", "FAIL", "2 passed, 0 failed, 0 skipped\n", (2, 1, 0),
     "ended with FAIL"),
    ("time-out", "TIMEOUT", None, (0, 1, 0), "does not end with a line of counts"),
    ("nothing run", "OK", "0 passed, 0 failed, 0 skipped\n", (0, 1, 0), "ran no test"),
)


def count(rows):
    """(line on stdout..., counts file, skips file) for programs of these rows."""
    with tempfile.TemporaryDirectory() as tmp:
        log, counts, skips = (pathlib.Path(tmp) / n for n in ("log", "counts", "skips"))
        log.write_text("".join(json.dumps({"name": name, "result": result, "stdout": out}) + "\n"
                               for name, result, out, *_ in rows))
        out = subprocess.run([TOOL, log, "suite", counts, skips], check=True,
                             capture_output=True, text=True).stdout
        return out.splitlines(), counts.read_text(), skips.read_text()


def case_each_row():
    for row in ROWS:
        out, counts, _ = count([row])
        want = "suite %d %d %d\n" % row[3]
        assert counts == want, f"{row[0]}: {counts!r}, want {want!r}"
        complaint = f"suite: {row[0]} {row[4]}"
        assert (complaint in out) == (row[4] is not None), f"{row[0]}: {out}"


def case_sum_of_all_rows():
    out, counts, skips = count(ROWS)
    want = [sum(row[3][i] for row in ROWS) for i in range(3)]
    assert counts == "suite %d %d %d\n" % tuple(want), counts
    assert out[-1] == "suite: %d passed, %d failed, %d skipped" % tuple(want), out[-1]
    assert skips == "suite: root: not root (0.00 s)\nsuite: a: needs root\n", skips


def case_empty_log_is_a_failure():
    out, counts, _ = count([])
    assert counts == "suite 0 1 0\n", counts
    assert "suite: no program ran" in out, out


def main():
    passed = failed = 0
    for name, case in [(n, c) for n, c in globals().items() if n.startswith("case_")]:
        try:
            case()
            passed += 1
        except AssertionError:
            failed += 1
            print(f"{name}: FAILED\n{traceback.format_exc()}")
    print(f"{passed} passed, {failed} failed, 0 skipped")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
