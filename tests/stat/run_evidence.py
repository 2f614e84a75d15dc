#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Evidences and moves between structures against exact numbers: log_evidence against conjugate formulas
and against quadrature over a Gaussian process's hyper-parameters; the share of a structure under
structure_mh against the ratio of evidences computed by the same quadrature in numpy.

    run_evidence.py GPMEM"""
import json
import os
import subprocess
import sys

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
import numpy as np
from scipy import stats
from scipy.special import gammaln, logsumexp

TOOL = sys.argv[1]
BAD = []


def run(text, seed=1):
    done = subprocess.run([TOOL, "run", "--seed", str(seed), "/dev/stdin"], input=text, capture_output=True, text=True,
                          timeout=300)
    if done.returncode:
        raise SystemExit("exit status %d\n%s\n%s" % (done.returncode, done.stderr, text))
    return [json.loads(line) for line in done.stdout.splitlines() if line[:1] in "[{"]


def check(name, got, want, tolerance):
    ok = abs(got - want) <= tolerance
    print("%s %-44s %.4f, exact %.4f, allowed %.4f" % ("ok  " if ok else "FAIL", name, got, want, tolerance))
    if not ok:
        BAD.append(name)


def evidence(name, program, exact):
    a = run(program + 'log_evidence("h");\n')[-1][0]
    check(name, a["log_evidence"], exact, 5 * a["error"] + 1e-9)
    if not (a["error"] < 0.1 and a["ess"] > 100):
        BAD.append(name + ": error %(error)g, ess %(ess)g" % a)


# x ~ N(0, 2), y | x ~ N(x, 1)
y = np.array([1, 2, 0.5])
evidence("normal mean", 'assume x = tag("h", 0, normal(0, 2));\n' +
         "".join("observe normal(x, 1) = %g;\n" % v for v in y),
         stats.multivariate_normal(np.zeros(3), 4 * np.ones((3, 3)) + np.eye(3)).logpdf(y))
# far from the prior, on a large scale: the fit finds its own units
evidence("large units", 'assume x = tag("h", 0, normal(5000, 2000));\nobserve normal(x, 300) = 9000;\n',
         stats.norm(5000, np.hypot(2000, 300)).logpdf(9000))
# Gamma and Poisson
k = np.array([3, 5, 4, 8])
a, b = 2.0, 0.5
evidence("Poisson rate", 'assume r = tag("h", 0, gamma(2, 0.5));\n' +
         "".join("observe poisson(r) = %d;\n" % v for v in k),
         a * np.log(b) - gammaln(a) + gammaln(a + k.sum()) - (a + k.sum()) * np.log(b + len(k)) - gammaln(k + 1).sum())
# two coins, each its own proportion: two dimensions, an interval
evidence("proportions", 'assume p = tag("h", 0, beta(1, 1));\nassume q = tag("h", 1, beta(2, 1));\n'
         "observe binomial(10, p) = 7;\nobserve binomial(6, q) = 1;\n",
         stats.betabinom(10, 1, 1).logpmf(7) + stats.betabinom(6, 2, 1).logpmf(1))

# Gaussian processes: two kernels with two parameters each, integrated on a grid in log parameters
x = np.linspace(-2, 2.5, 9)
y = np.round(0.8 * x + 0.9 * np.sin(2.1 * x) + 0.1 * np.array([1, -2, 0, 1, 2, -1, 0, 1, -1]), 3)
KERNELS = {"SE": ("make_squaredexp(s, l)", lambda s, l: s * s * np.exp(-(x[:, None] - x) ** 2 / (2 * l * l))),
           "MAT12": ("make_matern_12(s, l)", lambda s, l: s * s * np.exp(-np.abs(x[:, None] - x) / l))}
PRIOR = ('assume s = tag("h", 0, gamma(3, 2));\nassume l = tag("h", 1, gamma(3, 2));\n')


def log_z(kernel):
    z = np.linspace(np.log(0.02), np.log(20), 120)
    prior = stats.gamma(3, scale=0.5).logpdf(np.exp(z)) + z
    s, l = (v.reshape(-1, 1, 1) for v in np.meshgrid(np.exp(z), np.exp(z), indexing="ij"))
    c = np.linalg.cholesky(kernel(s, l) + 0.3 ** 2 * np.eye(len(x)))
    r = np.linalg.solve(c, np.broadcast_to(y[:, None], (len(c), len(y), 1)))[:, :, 0]
    log_det = np.log(np.diagonal(c, axis1=1, axis2=2)).sum(1)
    terms = (prior[:, None] + prior).ravel() - 0.5 * (r * r).sum(1) - log_det
    return logsumexp(terms) + 2 * np.log(z[1] - z[0]) - 0.5 * len(x) * np.log(2 * np.pi)


DATA = "observe g(array(%s)) = array(%s);\n" % (", ".join(map(str, x)), ", ".join(map(str, y)))
z = {}
for name, (text, kernel) in KERNELS.items():
    z[name] = log_z(kernel)
    evidence("process, " + name, PRIOR + "assume g = make_gp(0, %s + make_whitenoise(0.3));\n" % text + DATA, z[name])

# which of the two: the prior odds make it an even race
odds = z["SE"] - z["MAT12"]
p = 1 / (1 + np.exp(odds))
share = run(PRIOR + 'assume smooth = tag("k", 0, flip(%.9f));\n' % p +
            "assume K = if (smooth) { make_squaredexp(s, l) } else { make_matern_12(s, l) };\n"
            "assume g = make_gp(0, K + make_whitenoise(0.3));\n" + DATA +
            'define d = run(accumulate_dataset(1500, do(structure_mh("k", one, "h", 2), collect(K))));\n'
            "prob(SE, d);\nprob(!SE);\n")
check("structure_mh, share of SE", share[-2]["probability"], 0.5, share[-2]["error"])
check("prob of the complement", share[-1]["probability"], 1 - share[-2]["probability"], 1e-9)
if share[-2]["ess"] < 150:
    BAD.append("structure_mh mixes badly: ess %g of 1500" % share[-2]["ess"])
# the error of prob is the half-width of a 99% interval: independent draws, and a chain that stays where it is
# with probability 0.8 (both hold LIN 30% of the time), 400 times each
CHAIN = """define next = proc(old) { if (flip(0.8)) { old } else { if (flip(0.3)) { "LIN" } else { "SE" } } };
define walk = proc(n, s) { if (n == 0) { list() } else { pair(s, walk(n - 1, next(s))) } };
"""
for name, draws in (("independent", 'mapv(proc(i) { if (flip(0.3)) { "LIN" } else { "SE" } }, arange(200))'),
                    ("chain", 'walk(400, if (flip(0.3)) { "LIN" } else { "SE" })')):
    answers = run(CHAIN + "define once = proc(i) { let a = run(prob(LIN, %s)); "
                  'array(lookup(a, "probability"), lookup(a, "error"), lookup(a, "ess")) };\n'
                  "mapv(once, arange(400));\n" % draws, seed=5)[-1]
    v = np.array(answers)
    inside = np.mean(np.abs(v[:, 0] - 0.3) <= v[:, 1])
    check("prob, %s draws: share of intervals that hold it" % name, inside, 0.99, 0.03)
    want = 200 if name == "independent" else 400 * (1 - 0.8) / (1 + 0.8)
    check("prob, %s draws: effective number over the true one" % name, np.median(v[:, 2]) / want, 1, 0.25)

print("%d failed" % len(BAD))
for b in BAD:
    print("FAIL", b)
sys.exit(1 if BAD else 0)
