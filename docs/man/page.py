#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""page.py TEMPLATE PROGRAM: the template with @OPTIONS@ replaced by the program's option table."""

import subprocess
import sys

with open(sys.argv[1], encoding="utf-8") as f:
    text = f.read()
options = subprocess.run([sys.argv[2], "--print-man-options"], check=True, stdout=subprocess.PIPE, text=True).stdout
print(text.replace("@OPTIONS@", options), end="")
