#!/usr/bin/python3
# label: slow
"""The same with many replicates. With a second argument the rank histograms of the model of groups are written there as SVG
(docs/img/sbc.svg)."""
import json, subprocess, sys

import sbc
from scipy import stats as st

REPLICATES, BINS = 480, 16
out, bad = sbc.calibrated(sys.argv[1], REPLICATES, BINS, 12)
if len(sys.argv) > 2:
    low, high = st.binom.ppf([0.005, 0.995], REPLICATES, 1 / BINS)
    panels, edge = [], [0, sbc.DRAWS + 1]
    x = [(sbc.DRAWS + 1) / BINS * (b + 0.5) for b in range(BINS)]
    for name, seen, p in zip(*out["groups"]):
        panels.append({"title": "%s (p = %.2g)" % (name, p), "x": {"label": "rank", "min": 0, "max": sbc.DRAWS + 1},
                       "y": {"label": "replicates", "min": 0},
                       "items": [{"type": "bars", "x": x, "y": seen.tolist(), "width": 0.9 * (sbc.DRAWS + 1) / BINS},
                                 {"type": "band", "x": edge, "low": [low] * 2, "high": [high] * 2, "opacity": 0.25, "colour": "grey"},
                                 {"type": "rule", "y": REPLICATES / BINS, "colour": "black", "dashed": True}]})
    scene = {"title": "Ranks of the true values among %d draws, %d replicates" % (sbc.DRAWS, REPLICATES), "columns": 2, "panels": panels,
             "description": "Histograms of simulation-based calibration ranks with 99% bands"}
    svg = subprocess.run([sys.argv[1], "draw", "-"], input=json.dumps(scene), capture_output=True, text=True, check=True).stdout
    with open(sys.argv[2], "w") as f: f.write(svg)
sys.exit(int(bad > 0))
