#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Inputs of emulators that are choices of the model, as calibration has them: operators against posteriors by quadrature.
Where much is known of the function its value pins the input as long as it is kept; operators must move all the same.

    run_calibration.py GPMEM"""
import re
import subprocess
import sys

import numpy as np

TOOL = sys.argv[1]
SCALE = 0.4


def truth(x):
    return np.exp(x) + np.sin(3 * x)


def log_density(at, known, y, s, scale):
    """log p(y, values at `known`), by the rows of `at`, at which y was measured with noise s."""
    def k(a, b):
        return np.exp(-(a[..., :, None] - b[..., None, :]) ** 2 / (2 * scale ** 2))
    between, own = k(at, known), k(known, known) + 1e-11 * np.eye(len(known))  # point of the grid, input, known
    weights = between @ np.linalg.inv(own)
    cov = k(at, at) - weights @ between.transpose(0, 2, 1) + s ** 2 * np.eye(len(y))
    r = np.array(y) - weights @ truth(known)
    data = truth(known) @ np.linalg.solve(own, truth(known)) + np.linalg.slogdet(own)[1]
    return -0.5 * (np.einsum("gi,gi->g", r, np.linalg.solve(cov, r[..., None])[..., 0]) + np.linalg.slogdet(cov)[1] + data)


def exact(inputs, known, y, s, grid, scales):
    """Mean and sd of the parameter, its prior flat on the grid, that of the kernel's scale flat on the scales."""
    at = np.array([inputs(b) for b in grid])
    log_p = np.array([log_density(at, known, y, s, scale) for scale in scales])
    p = np.exp(log_p - log_p.max()).sum(0)
    p /= p.sum()
    m = (p * grid).sum()
    return m, np.sqrt((p * (grid - m) ** 2).sum())


MANY, FEW, UNIT = np.arange(11) / 10, np.array([0, 0.5, 1]), np.linspace(0, 1, 2001)[1:-1]
BETA = 'assume b = tag("b", 0, uniform_continuous(0, 1));\n'
ONE = 'mh(default, one, 20)', 'slice(default, one, 0.3, 20, 8)', 'drift(default, one, 1, 20)'
ALL = ONE + ("sample",)
MODELS = {
    "much is known": (BETA + "observe normal(f(b), 0.1) = 1.6;", lambda b: [b], MANY, [1.6], 0.1, UNIT, ALL + ('mh("b", 0, 20)',)),
    "little is known": (BETA + "assume z = f(b);\nobserve normal(z, 0.2) = 1.6;", lambda b: [b], FEW, [1.6], 0.2, UNIT, ALL),
    "two values": (BETA + "observe normal(f(b), 0.1) = 1.9;\nobserve normal(f(b / 2), 0.1) = 1.5;", lambda b: [b, b / 2], MANY,
                   [1.9, 1.5], 0.1, UNIT, ALL),
    "a scale": (BETA + "observe normal(f(b), 0.2) = 1.6;", lambda b: [b], FEW, [1.6], 0.2, UNIT, ALL),
    "joint values": (BETA + "observe normal(f([b, b + 0.3]), 0.1) = [1.6, 2.3];", lambda b: [b, b + 0.3], MANY, [1.6, 2.3], 0.1,
                     UNIT, ONE),
    "a memoized input": ("assume p = mem(proc(i) { uniform_continuous(0, 1) });\nassume b = p(0);\n"
                         "observe normal(f(p(0)), 0.1) = 1.6;", lambda b: [b], MANY, [1.6], 0.1, UNIT, ALL),
    "a discrete input": ('assume b = tag("b", 0, uniform_discrete(0, 11));\nobserve normal(f(b / 10), 0.2) = 2.1;',
                         lambda b: [b / 10], FEW, [2.1], 0.2, np.arange(11.0), ("mh(default, one, 10)",
                         'do(gibbs("b", 0, 4), mh(default, one, 2))', "sample")),
}


def main():
    bad = 0
    for name, (model, inputs, known, y, s, grid, operators) in MODELS.items():
        free = name == "a scale"
        mean, sd = exact(inputs, known, y, s, grid, np.linspace(0.2, 0.6, 201)[1:-1] if free else [SCALE])
        for operator in operators:
            run = ("sample(warmup=300, draws=1500)" if operator == "sample" else
                   "do(%s, accumulate_dataset(1500, do(%s, collect(b))))" % (operator, operator))
            text = ("assume l = %s;\nassume (probe, f) = gpmem(proc(x) { exp(x) + sin(3 * x) }, make_squaredexp(1, l));\n"
                    "predict probe([%s]);\n%s\ndefine d = run(%s);\ninfer summarize(d);\n"
                    % ("uniform_continuous(0.2, 0.6)" if free else SCALE, ", ".join(map(str, known)), model, run))
            done = subprocess.run([TOOL, "run", "--seed", "1", "/dev/stdin"], input=text, capture_output=True, text=True)
            row = re.search(r"^b +(\S+) +(\S+) +(\S+)", done.stdout, re.M)
            if done.returncode or not row:
                raise SystemExit("%s\n%s%s" % (text, done.stdout, done.stderr))
            m, error, spread = [float(v) if v != "-" else 0 for v in row.groups()]
            ok = 0 < error < 0.25 * sd and abs(m - mean) < 4 * error and 0.8 < spread / sd < 1.25
            bad += not ok
            print("%s %-17s %-42s %.4f %.4f, exact %.4f %.4f, error %.4f" % (
                "ok  " if ok else "FAIL", name, operator, m, spread, mean, sd, error))
    sys.exit(1 if bad else 0)


main()
