#!/usr/bin/python3
# label: slow
"""Random programs through random operators for 10 minutes."""
import os, sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import random_programs

sys.exit(random_programs.main(os.path.abspath(sys.argv[1]), 600, 100000))
