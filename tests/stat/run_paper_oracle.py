#!/usr/bin/python3
"""The paper's structure posterior on airline, y at standard deviation 20, against numpy: the case in which a fit that
stays in the mode next to its start gives another structure."""
import os, sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import paper_oracle

sys.exit(paper_oracle.main(os.path.abspath(sys.argv[1]), ("airline", "20")))
