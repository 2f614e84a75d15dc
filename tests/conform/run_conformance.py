#!/usr/bin/python3
"""Runs the black-box conformance suite (../shared/conformance) with the tool given as argument.

The suite stands beside the repository, not in it; without it there is nothing to run, and the
test says so. Its last line is `N passed, N failed`."""
import os, subprocess, sys

root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
suite = os.path.join(root, "..", "shared", "conformance", "run.py")
if not os.path.exists(suite):
    print("skipped: no ../shared/conformance")
    sys.exit(0)
tool = os.path.abspath(sys.argv[1])
sys.exit(subprocess.call([sys.executable, suite, *sys.argv[2:], tool + " run --seed {seed} {file}"]))
