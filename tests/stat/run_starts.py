#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Chains do not stand still, from whatever start: a choice that begins on its bound, precisions and scales with the vague
priors of BUGS (draws that round to a bound, or to 2e-308), data that come after the adaptation, discrete choices that make data impossible, each with 40 seeds. No seed may be
stuck, and together they must be
the posterior, whose quantiles come from integrals on a grid. Argument: the tool."""
import os, re, statistics, subprocess, sys, tempfile

import numpy as np

TOOL, SEEDS = os.path.abspath(sys.argv[1]), 40
Y = np.array([3.0, 4.1, 5.2, 4.4, 2.7, 3.9, 5.8, 4.6])

BOUND = "assume s = uniform_continuous(0, 100);\nobserve normal(0, s) = 3;\nforce s = 100;\n"
GAMMA = "assume mu = normal(0, 1000);\nassume s = gamma(0.001, 0.001);\n" + "".join("observe normal(mu, 1 / sqrt(s)) = %g;\n" % y for y in Y)
UNIFORM = "assume mu = normal(0, 1000);\nassume s = uniform_continuous(0, 100);\n" + "".join("observe normal(mu, s) = %g;\n" % y for y in Y)
LATER = "assume s = normal(0, 100);\ninfer nuts(default, all, 400);\nobserve normal(s, 0.01) = 3;\n"
COUNT = "assume s = normal(0, 1000);\nobserve poisson(exp(s)) = 3;\n"
VISITS = [[1, 0, 1], [0, 0, 0], [0, 1, 0], [0, 0, 0], [1, 1, 1], [0, 0, 0], [0, 0, 1], [0, 0, 0]]
SEEN = "assume s = uniform_continuous(0, 1);\nassume z = mem(i -> bernoulli(0.5));\n" + "".join(
    "observe bernoulli(z(%d) * s) = %d;\n" % (i, y) for i, row in enumerate(VISITS) for y in row)
# seen in the first and the last of five years: alive in all of them
LIVED = ("assume s = uniform_continuous(0, 1);\nassume alive = mem((i, t) -> if (t == 0) { 1 } else { bernoulli(s * alive(i, t - 1)) });\n"
         + "".join("observe bernoulli(0.5 * alive(%d, %d)) = %d;\n" % (i, t, t == 4) for i in range(4) for t in (3, 4)))
NUTS = "infer nuts(default, all, 200, 300);\ndefine d = run(accumulate_dataset(50, do(nuts(default, all, 200, 4), collect(s))));\n"
HMC = "infer hmc(default, all, 0.2, 20, 300);\ndefine d = run(accumulate_dataset(50, do(hmc(default, all, 0.2, 20, 4), collect(s))));\n"
SAMPLE = "define d = run(sample(warmup=200, draws=50, thin=4));\n"


def quantiles(log_density, grid):
    """Deciles of a density in log s, given on a grid of it."""
    w = np.exp(log_density - log_density.max())
    return np.exp(np.interp(np.arange(1, 10) / 10, np.cumsum(w) / w.sum(), grid))


def marginal(s, sd):
    """Log likelihood of Y with mu integrated out under a flat prior."""
    n, dev = len(Y), ((Y - Y.mean()) ** 2).sum()
    return -(n - 1) * np.log(sd) - dev / (2 * sd ** 2)


# Starts like -exp(560), where energies drown in rounding: s is on the log scale, so that its own deciles are the logs.
at = np.linspace(np.log(1e-3), np.log(1e4), 200001)
s = np.exp(at)
inside = np.minimum(s, 1 - 1e-12)
seen = sum(np.log(0.5 * inside ** sum(v) * (1 - inside) ** (3 - sum(v)) + 0.5 * (sum(v) == 0)) for v in VISITS)
EXACT = {
    "bound": (BOUND, quantiles(np.where(s < 100, -np.log(s) - 4.5 / s ** 2 + at, -np.inf), at)),
    "gamma": (GAMMA, quantiles(-0.999 * at - 0.001 * s + marginal(s, s ** -0.5) + at, at)),
    "count": (COUNT, np.log(quantiles(3 * at - s, at))),
    "later": (LATER, np.array([statistics.NormalDist(3, 0.01).inv_cdf(k / 10) for k in range(1, 10)])),
    "lived": (LIVED, quantiles(np.where(s < 1, 16 * at + at, -np.inf), at)),
    "seen": (SEEN, quantiles(np.where(s < 1, seen + at, -np.inf), at)),
    "uniform": (UNIFORM, quantiles(np.where(s < 100, marginal(s, s) + at, -np.inf), at)),
}

bad = 0
for name, (model, exact) in EXACT.items():
    for how, operator in (("nuts", NUTS), ("hmc", HMC), ("sample", SAMPLE)):
        if name == "later" and how != "nuts": continue  # what was learned before the data
        if name in ("seen", "lived") and how != "sample": continue  # which moves discrete choices, too
        if how == "hmc" and name != "bound": continue  # its step size is given, and no vague prior knows it
        rows, stuck = [], []
        for seed in range(1, SEEDS + 1):
            with tempfile.NamedTemporaryFile("w", suffix=".vnts") as f:
                f.write(model + operator + 'print(column(d, "s"));\n')
                f.flush()
                r = subprocess.run([TOOL, "run", "-q", "--seed", str(seed), f.name], capture_output=True, text=True)
            if r.returncode: sys.exit(r.stderr)
            x = np.array([float(v) for v in re.findall(r"[-+.\de]+", r.stdout.strip().splitlines()[-1])])
            if len(np.unique(x)) < len(x) / 5: stuck.append(seed)
            rows.append(x)
        shares = (np.array(rows)[:, :, None] < exact).mean(axis=1)  # per seed: correlated draws count once
        z = (shares.mean(axis=0) - np.arange(1, 10) / 10) / (shares.std(axis=0, ddof=1) / np.sqrt(SEEDS))
        wrong = stuck or np.abs(z).max() > 4.5
        bad += bool(wrong)
        print("%s %-8s %-7s stuck %s, largest z of nine deciles %.1f" % ("FAIL" if wrong else "ok  ", name, how, stuck or "none", z[np.abs(z).argmax()]), flush=True)
sys.exit(int(bad > 0))
