#!/usr/bin/python3
"""Random programs through random operators for 15 seconds; run_random_programs_long.py goes on for 10 minutes."""
import os, sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import random_programs

sys.exit(random_programs.main(os.path.abspath(sys.argv[1]), float(sys.argv[2]) if len(sys.argv) > 2 else 15,
                              int(sys.argv[3]) if len(sys.argv) > 3 else 1))
