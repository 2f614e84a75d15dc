#!/usr/bin/python3
# label: slow
"""Reference posteriors: every model of reference.py, means and standard deviations within Monte Carlo error.

    run_reference_long.py GPMEM [MODEL...]"""
import os, sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import reference

models = sys.argv[2:] or list(reference.MODELS)
bad = sum(reference.compare(os.path.abspath(sys.argv[1]), m) for m in models)
print("%d models, %s" % (len(models), "%d quantities out of line or of too few draws" % bad if bad else "all within Monte Carlo error"))
sys.exit(1 if bad else 0)
