# SPDX-License-Identifier: BSD-3-Clause
"""Runner of system tests: methods named case_*, in the order of the file.

Prints one line per case; the last line is "N passed, N failed, N skipped".
"""

import os
import signal
import sys
import time
import traceback


class Failure(Exception):
    pass


def expect(condition, text):
    if not condition:
        raise Failure(text)


class Cases:
    def setup(self):
        pass

    def teardown(self):
        pass

    def main(self, needs_root=False):
        cases = [name for name in type(self).__dict__ if name.startswith("case_")]
        if needs_root and os.geteuid() != 0:
            for name in cases:
                print(f"{name[5:]}: skipped: needs root")
            print(f"0 passed, 0 failed, {len(cases)} skipped")
            return 77
        signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(143))
        passed = failed = 0
        try:
            self.setup()
            for name in cases:
                begun = time.monotonic()
                try:
                    getattr(self, name)()
                    passed += 1
                    print(f"ok     {name[5:]} ({time.monotonic() - begun:.1f} s)", flush=True)
                except Exception as e:  # noqa: BLE001 - one case must not end the others
                    failed += 1
                    print(f"FAILED {name[5:]}: {e if isinstance(e, Failure) else traceback.format_exc()}", flush=True)
        except Exception:  # noqa: BLE001
            failed = len(cases) - passed
            print(f"FAILED set-up: {traceback.format_exc()}")
        finally:
            self.teardown()
        print(f"{passed} passed, {failed} failed, 0 skipped")
        return 1 if failed > 0 else 0
