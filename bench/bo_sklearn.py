#!/usr/bin/python3
"""CPU per decision: scikit-learn's GP with expected improvement (Matern-5/2, one length scale per
dimension, hyper-parameters learnt at every step, EI maximised from 2000 candidates and 5 L-BFGS
starts) beside this optimiser, on Hartmann-6 to 100 evaluations in the same run.
Usage: bo_sklearn.py build/gpmem (bench_bo is built beside it); exit status 1 when the ratio is below 50."""
import os, re, subprocess, sys, time, warnings
os.environ["OPENBLAS_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = "1"
import numpy as np
from scipy.optimize import minimize
from scipy.stats import norm
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel

warnings.filterwarnings("ignore")
A = np.array([[10, 3, 17, 3.5, 1.7, 8], [.05, 10, 17, .1, 8, 14], [3, 3.5, 1.7, 10, 17, 8], [17, 8, .05, 10, .1, 14]])
P = np.array([[.1312, .1696, .5569, .0124, .8283, .5886], [.2329, .4135, .8307, .3736, .1004, .9991],
              [.2348, .1451, .3522, .2883, .3047, .6650], [.4047, .8828, .8732, .5743, .1091, .0381]])
ALPHA = np.array([1, 1.2, 3, 3.2])


def hartmann6(x):
    return -np.sum(ALPHA * np.exp(-np.sum(A * (x - P) ** 2, axis=1)))


def sklearn_loop(n, seed):
    rng, d = np.random.default_rng(seed), 6
    X = rng.random((9, d))
    y = np.array([hartmann6(x) for x in X])
    t, decisions = time.process_time(), 0
    kernel = ConstantKernel(1.0) * Matern(0.5 * np.ones(d), (0.02, 20), nu=2.5) + WhiteKernel(1e-6, (1e-9, 1e-2))
    while len(y) < n:
        gp = GaussianProcessRegressor(kernel, normalize_y=True, random_state=seed).fit(X, y)
        best = y.min()

        def minus_ei(x):
            m, s = gp.predict(np.atleast_2d(x), return_std=True)
            u = (best - m) / np.maximum(s, 1e-12)
            return -(s * (u * norm.cdf(u) + norm.pdf(u)))

        c = rng.random((2000, d))
        start = c[np.argsort(minus_ei(c))[:5]]
        ends = [minimize(lambda x: minus_ei(x)[0], s, bounds=[(0, 1)] * d, method="L-BFGS-B") for s in start]
        x = min(ends, key=lambda r: r.fun).x
        X, y = np.vstack([X, x]), np.append(y, hartmann6(x))
        decisions += 1
    return (time.process_time() - t) / decisions, y.min() + 3.322368011415515


ours = subprocess.run([os.path.join(os.path.dirname(sys.argv[1]), "bench/bench_bo"), "5", "Hartmann-6"], stdout=subprocess.PIPE)
line = next(l for l in ours.stdout.decode().splitlines() if l.startswith("| Hartmann-6"))
ms = float(line.split("|")[-2])
seconds, regret = sklearn_loop(100, 1)
print("CPU per decision on Hartmann-6 to 100 evaluations: scikit-learn GP-EI %.1f ms (regret %.1e), gpmem %.2f ms, "
      "ratio %.0f" % (1000 * seconds, regret, ms, 1000 * seconds / ms))
sys.exit(0 if 1000 * seconds / ms >= 50 else 1)
