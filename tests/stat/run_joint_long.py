#!/usr/bin/python3
# label: slow
"""Joint-distribution tests of every operator with many replicates: about ten minutes of one core. Results go to a file, so
that a pass that was cut off goes on: run_joint_long.py TOOL [PART OF A LABEL] [--state FILE] [--jobs N]"""
import argparse, os, sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import joint

a = argparse.ArgumentParser()
a.add_argument("tool")
a.add_argument("only", nargs="?")
a.add_argument("--state", help="file of results: those that are there are not computed again")
a.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
a.add_argument("--replicates", type=int, default=12000)
o = a.parse_args()
sys.exit(joint.main(os.path.abspath(o.tool), o.replicates, 5000, o.only, o.state, o.jobs))
