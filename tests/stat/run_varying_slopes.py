#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The correlated hierarchical prior of examples/varying_slopes.vnts against its posterior without the groups.

Intercepts and slopes integrate out: with X the design of a group, its least squares are normal around the means m
with covariance V = D R D + sigma^2 (X'X)^-1, independently of the squared residuals; m is normal, too. What is left,
log sd (2), the correlation on the scale of atanh and log sigma, is summed over a grid."""
import os, re, subprocess, sys

import numpy as np

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
EXAMPLE = os.path.join(ROOT, "examples", "varying_slopes.vnts")
NUMBER = r"-?\d+(?:\.\d+)?"


def data():
    rows = re.findall(r"vector\(([^)]*)\)", open(EXAMPLE).read())
    rows = [[float(v) for v in re.findall(NUMBER, r)] for r in rows]
    return np.array(rows[0]), np.array(rows[1:])


def inverse(a, b, c):
    """Of the symmetric [[a, b], [b, c]]; and its determinant."""
    det = a * c - b * b
    return c / det, -b / det, a / det, det


def expected(x, y):
    """Mean and standard deviation of: means, sds, rho, sigma."""
    X = np.column_stack([np.ones_like(x), x])
    C = np.linalg.inv(X.T @ X)
    b = y @ X @ C
    rss = np.sum((y - b @ X.T) ** 2)
    J, n = y.shape
    u = np.meshgrid(np.linspace(-1.6, 2.2, 30), np.linspace(-8, 1.8, 70), np.linspace(-3, 3, 30),
                    np.linspace(-1.4, 0.4, 26), indexing="ij")
    s0, s1, rho, sigma = np.exp(u[0]), np.exp(u[1]), np.tanh(u[2]), np.exp(u[3])
    p, q, r, det = inverse(s0 ** 2 + sigma ** 2 * C[0, 0], rho * s0 * s1 + sigma ** 2 * C[0, 1],
                           s1 ** 2 + sigma ** 2 * C[1, 1])
    h0, h1 = p * b[:, 0].sum() + q * b[:, 1].sum(), q * b[:, 0].sum() + r * b[:, 1].sum()
    v0, v01, v1, precision = inverse(J * p + 1 / 25, J * q, J * r + 1 / 25)
    m0, m1 = v0 * h0 + v01 * h1, v01 * h0 + v1 * h1
    quad = (p * (b[:, 0] ** 2).sum() + 2 * q * (b[:, 0] * b[:, 1]).sum() + r * (b[:, 1] ** 2).sum() - h0 * m0 - h1 * m1)
    lp = -0.5 * (J * np.log(det) + quad + np.log(precision) + rss / sigma ** 2) - J * (n - 2) * u[3]
    lp += -s0 - s1 - sigma + u[0] + u[1] + u[3]  # expon(1), in their logarithms
    lp += 2 * np.log(1 - rho ** 2)  # lkj(2) of one correlation, and d rho / du
    w = np.exp(lp - lp.max())
    w /= w.sum()
    mean = lambda f: np.sum(w * f)
    first = np.array([mean(f) for f in (m0, m1, s0, s1, rho, sigma)])
    second = np.array([mean(f) for f in (m0 ** 2 + v0, m1 ** 2 + v1, s0 ** 2, s1 ** 2, rho ** 2, sigma ** 2)])
    return first, np.sqrt(second - first ** 2)


def main(tool):
    mean, sd = expected(*data())
    r = subprocess.run([tool, "run", "--seed", "4", EXAMPLE], capture_output=True, text=True, timeout=600)
    if r.returncode: sys.exit(r.stderr)
    bad = 0
    for i, name in enumerate(["mean[0]", "mean[1]", "sd[0]", "sd[1]", "rho", "sigma"]):
        line = [l for l in r.stdout.split("\n") if re.sub(r"[()]", "", l).startswith(name + " ")][0]
        got, mcse, got_sd = [float(v) for v in line.split()[1:4]]
        ok = abs(got - mean[i]) < 4.5 * mcse + 0.02 * sd[i] and 0.8 < got_sd / sd[i] < 1.25
        bad += not ok
        print("%-4s %-8s %8.4f +- %.4f, expected %8.4f; sd %.4f, expected %.4f" % (
            "ok" if ok else "BAD", name, got, mcse, mean[i], got_sd, sd[i]))
    return bad


sys.exit(1 if main(os.path.abspath(sys.argv[1])) else 0)
