#!/usr/bin/python3
# label: slow
"""200 kills of each search of run_optimize_kills.py, eight searches of 16 workers (argument: the tool)."""
import os, sys

script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "run_optimize_kills.py")
os.execv(script, [script, sys.argv[1], "200"])
