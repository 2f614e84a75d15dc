#!/usr/bin/python3
"""Joint-distribution tests of every operator, a few seconds' worth; run_joint_long.py has more power."""
import os, sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import joint

sys.exit(joint.main(os.path.abspath(sys.argv[1]), 700, 1000, sys.argv[2] if len(sys.argv) > 2 else None))
