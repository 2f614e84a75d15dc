#!/usr/bin/python3
# label: slow
"""1,000 random sequences of directives."""
import os, sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import random_directives

sys.exit(random_directives.main(os.path.abspath(sys.argv[1]), 1000, 1001))
