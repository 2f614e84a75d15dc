#!/usr/bin/python3
# label: slow
"""Joint-distribution tests of every operator with many replicates."""
import os, sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import joint

sys.exit(joint.main(os.path.abspath(sys.argv[1]), 12000, 5000, sys.argv[2] if len(sys.argv) > 2 else None))
