#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What the report says in words, against the truth of series by formula: one seed of each (run_words_long.py: twenty)."""
import os, sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import claims

table, share = claims.run(os.path.abspath(sys.argv[1]), 1)
sys.exit(0 if share > 0.93 else 1)
