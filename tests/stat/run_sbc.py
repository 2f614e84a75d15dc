#!/usr/bin/python3
# label: slow
"""Simulation-based calibration of nuts on a hierarchical model (Talts, Betancourt, Simpson, Vehtari, Gelman 2018).

Parameters from the prior, data from them, draws from the posterior: the rank of the true value among the draws
must be uniform. With a second argument the rank histogram is written there as SVG (docs/img/sbc.svg)."""
import json, os, subprocess, sys, tempfile

import numpy as np
from scipy import stats as st

TOOL = os.path.abspath(sys.argv[1])
REPLICATES, DRAWS, THIN, GROUPS, BINS, P_VALUE_MIN = 480, 63, 3, 5, 16, 1e-6
NAMES = ["mu", "tau", "theta 0", "theta 4"]
QUANTITIES = "array(mu, tau, theta(0), theta(4))"
PROGRAM = """
define once = proc() { first(run(in_model(run(new_model()), {
  assume mu = normal(0, 2);
  assume tau = gamma(4, 2);
  assume theta = mem(proc(j) { normal(mu, tau) });
  assume kept = array(%s);
  truth <- sample %s;
  %s
  let draws = mapv(proc(k) { run(do(nuts(default, all, 200, %d), sample(%s))) }, arange(%d));
  return(mapv(proc(q) { sum(mapv(proc(d) { if (lookup(d, q) < lookup(truth, q)) { 1 } else { 0 } }, draws)) }, arange(%d)))
}))) };
mapv(proc(i) { once() }, arange(%d));
""" % (", ".join("theta(%d)" % j for j in range(GROUPS)), QUANTITIES,
       "\n  ".join("y%d <- sample normal(theta(%d), 1); observe normal(theta(%d), 1) = y%d;" % (j, j, j, j) for j in range(GROUPS)),
       THIN, QUANTITIES, DRAWS, len(NAMES), REPLICATES)

with tempfile.NamedTemporaryFile("w", suffix=".vnts", delete=False) as f: f.write(PROGRAM)
r = subprocess.run([TOOL, "run", "--seed", "11", f.name], capture_output=True, text=True)
os.unlink(f.name)
if r.returncode: sys.exit(r.stderr)
ranks = np.array(json.loads(r.stdout.strip().splitlines()[-1]))[20:]  # the first replicates adapt the sampler
n, bad, panels = len(ranks), 0, []
low, high = st.binom.ppf([0.005, 0.995], n, 1 / BINS)
for j, name in enumerate(NAMES):
    seen = np.bincount(ranks[:, j].astype(int) * BINS // (DRAWS + 1), minlength=BINS)
    p = st.chisquare(seen).pvalue
    bad += p < P_VALUE_MIN
    print("%s %-8s p = %.3g  ranks %s" % ("ok  " if p >= P_VALUE_MIN else "FAIL", name, p, " ".join(map(str, seen))))
    x = [(DRAWS + 1) / BINS * (b + 0.5) for b in range(BINS)]
    edge = [0, DRAWS + 1]
    panels.append({"title": "%s (p = %.2g)" % (name, p), "x": {"label": "rank", "min": 0, "max": DRAWS + 1},
                   "y": {"label": "replicates", "min": 0},
                   "items": [{"type": "bars", "x": x, "y": seen.tolist(), "width": 0.9 * (DRAWS + 1) / BINS},
                             {"type": "band", "x": edge, "low": [low] * 2, "high": [high] * 2, "opacity": 0.25, "colour": "grey"},
                             {"type": "rule", "y": n / BINS, "colour": "black", "dashed": True}]})
if len(sys.argv) > 2:
    scene = {"title": "Ranks of the true values among %d draws, %d replicates" % (DRAWS, n), "columns": 2, "panels": panels,
             "description": "Histograms of simulation-based calibration ranks with 99% bands"}
    svg = subprocess.run([TOOL, "draw", "-"], input=json.dumps(scene), capture_output=True, text=True, check=True).stdout
    with open(sys.argv[2], "w") as f: f.write(svg)
sys.exit(int(bad > 0))
