#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Trajectories whose steps are shortened leave the posterior alone: densities with a wide and a narrow side, long chains of steps that
fit the wide one, against integrals. Weights without the probability of the way back miss them by 7 standard errors and more.
Argument: the tool."""
import csv, glob, math, os, subprocess, sys, tempfile

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "bench"))
import posteriordb

TOOL, DRAWS, Z_MAX = os.path.abspath(sys.argv[1]), 20000, 4.5
np.seterr(over="ignore")
# name: (log density as the program and as Python say it, step sizes by their acceptance)
SIDES = {"a wall of %g" % k: ("-0.5 * x ** 2 * (1 + %g * logistic(%g * x))" % (k, 5 * math.sqrt(k)),
                              lambda x, k=k: -0.5 * x ** 2 * (1 + k / (1 + np.exp(-5 * math.sqrt(k) * x)))) for k in (30, 400, 5000)}


def draws(density, accept, seed):
    with tempfile.TemporaryDirectory() as dir:
        path, out = os.path.join(dir, "p.vnts"), os.path.join(dir, "out")
        with open(path, "w") as f:
            f.write("assume x = flat();\nassume y = normal(0, 1);\nfactor(%s);\ninfer sample(warmup=300, draws=%d, thin=1, target_accept=%g);\n" % (density, DRAWS, accept))
        subprocess.run([TOOL, "run", "-q", "--chains", "2", "--seed", str(seed), "--out", out, path], check=True, timeout=300)
        chains = []
        for name in sorted(glob.glob(os.path.join(out, "chain-*.csv"))):
            with open(name) as f: rows = list(csv.reader(f))
            at = rows[0].index("x")
            chains.append([float(r[at]) for r in rows[1:]])
    return np.array(chains)


bad = 0
for name, (density, log_p) in SIDES.items():
    grid = np.linspace(-9, 3, 1200001)
    p = np.exp(log_p(grid))
    p /= p.sum()
    quantiles = np.interp((0.2, 0.5, 0.9, 0.97), np.cumsum(p), grid)
    for accept in (0.4, 0.8):
        x = draws(density, accept, 1)
        worst = 0
        for f in [lambda v: v, lambda v: v ** 2, lambda v: v > 0, *(lambda v, q=q: v <= q for q in quantiles)]:
            seen, want = f(x).astype(float), (f(grid) * p).sum()
            z = (seen.mean() - want) / (seen.std() / math.sqrt(posteriordb.ess(seen)))
            if abs(z) > abs(worst): worst = z
        bad += not abs(worst) < Z_MAX
        print("%s %-14s accept %.1f  largest z of seven expectations %.1f" % ("ok  " if abs(worst) < Z_MAX else "BAD ", name, accept, worst), flush=True)
sys.exit(int(bad > 0))
