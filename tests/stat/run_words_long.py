#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
# label: slow
"""What the report says in words, against the truth of series by formula: twenty seeds. Intervals are to hold in 95%, that is
in 16 of 20 at the least (below has probability 0.003)."""
import os, sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import claims

table, share = claims.run(os.path.abspath(sys.argv[1]), 20)
weak = [k for k, (right, n) in table.items() if right < 16]
print("weak:", weak)
sys.exit(1 if weak or share < 0.95 else 0)
