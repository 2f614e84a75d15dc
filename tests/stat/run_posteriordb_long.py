#!/usr/bin/python3
# label: slow
"""All reference posteriors (tests/stat/posteriordb) from default starts, three seeds. run_posteriordb_long.py GPMEM [MODEL ...]"""
import os, sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import run_posteriordb

sys.exit(run_posteriordb.check(sys.argv[1], sys.argv[2:], (1, 2, 3)))
