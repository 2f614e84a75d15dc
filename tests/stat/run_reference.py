#!/usr/bin/python3
"""Reference posteriors of posteriordb, the quick ones (stat/run_reference_long.py runs all thirteen)."""
import os, sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import reference

bad = sum(reference.compare(os.path.abspath(sys.argv[1]), m) for m in ("rate_2", "gp_regr", "eight_schools_noncentered"))
sys.exit(1 if bad else 0)
