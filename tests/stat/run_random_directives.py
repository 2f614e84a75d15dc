#!/usr/bin/python3
"""50 random sequences of directives; run_random_directives_long.py tries 1,000."""
import os, sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import random_directives

sys.exit(random_directives.main(os.path.abspath(sys.argv[1]), *map(int, sys.argv[2:] or [50])))
