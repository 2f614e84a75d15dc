#!/usr/bin/python3
# label: slow
# SPDX-License-Identifier: Apache-2.0
"""run_cases.py with 12,000 cases on each kind of store, in four runs (argument: the tool)."""
import os, subprocess, sys

for seed in range(2, 6):
    subprocess.run([sys.executable, os.path.join(os.path.dirname(os.path.abspath(__file__)), "run_cases.py"), sys.argv[1], "3000", str(seed)], check=True)
