#!/usr/bin/python3
"""Runs the black-box conformance suite (tests/conform/suite) with the tool given as argument.

The suite knows nothing of this implementation: its README says what it asks of one. Its last line is `N passed, N failed`."""
import os, subprocess, sys

suite = os.path.join(os.path.dirname(os.path.abspath(__file__)), "suite", "run.py")
tool = os.path.abspath(sys.argv[1])
sys.exit(subprocess.call([sys.executable, suite, *sys.argv[2:], tool + " run --seed {seed} {file}"]))
