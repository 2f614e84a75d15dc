#!/usr/bin/python3
# label: slow
"""The paper's structure posterior in all cases against numpy; a series and a standard deviation of y pick one."""
import os, sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import paper_oracle

sys.exit(paper_oracle.main(os.path.abspath(sys.argv[1]), sys.argv[2:]))
