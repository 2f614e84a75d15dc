#!/usr/bin/python3
"""Simulation-based calibration of five model families under sample(); see sbc.py."""
import sys

import sbc

_, bad = sbc.calibrated(sys.argv[1], 60, 4, 11)
sys.exit(int(bad > 0))
