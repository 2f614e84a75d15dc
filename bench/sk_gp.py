#!/usr/bin/python3
"""scikit-learn's Gaussian processes on the tasks of bench_gp.c, each beside the limit in the same run:
sk_gp.py GPMEM. Thread CPU time, best of several; one BLAS thread."""
import os
os.environ["OPENBLAS_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = "1"
import subprocess, sys, time, warnings
import numpy as np
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, WhiteKernel, ConstantKernel, DotProduct, ExpSineSquared

bench = os.path.join(os.path.dirname(os.path.abspath(sys.argv[1])), "bench", "bench_gp")
warnings.simplefilter("ignore")
NAMES = ["SE+WN", "LIN+SE*PER+WN"]

def kernel(which):
    if which == 0: return ConstantKernel(1.21) * RBF(0.7) + WhiteKernel(0.09)
    return (ConstantKernel(0.16) * DotProduct(1e-5) + ConstantKernel(1.21) * RBF(0.7) *
            ExpSineSquared(0.9, 1.3) + WhiteKernel(0.09))

def best(f, reps):
    t = 1e9
    for _ in range(reps):
        s = time.thread_time(); f(); t = min(t, time.thread_time() - s)
    return t

def limit(n, which):
    return float(subprocess.run([bench, "limit", str(n), str(which)], capture_output=True, text=True, check=True).stdout)

print("# scikit-learn %s beside the limit of bench_gp\n" % __import__("sklearn").__version__)
print("| kernel | n | limit | likelihood | ratio | with gradient | ratio | refit + predict one | ratio | mean and sd at 1000 | ratio |")
print("|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|")
for which in range(2):
    for n in (50, 150, 200, 500, 1000, 2000, 4000):
        rng = np.random.default_rng(n)
        x = 10 * rng.random((n, 1)); y = np.sin(x[:, 0]) + 0.3 * (rng.random(n) - 0.5)
        lim = limit(n, which); reps = 30 if n <= 200 else 6 if n <= 500 else 2 if n < 4000 else 1
        g = GaussianProcessRegressor(kernel(which), optimizer=None, alpha=0).fit(x, y)
        th = g.kernel_.theta
        lik = best(lambda: g.log_marginal_likelihood(th, clone_kernel=False), reps)
        row = ["%.4g ms" % (1e3 * lik), "%.1f" % (lik / lim)]
        if n <= 2000:
            grad = best(lambda: g.log_marginal_likelihood(th, eval_gradient=True, clone_kernel=False), reps)
            refit = best(lambda: GaussianProcessRegressor(kernel(which), optimizer=None, alpha=0).fit(x, y).predict(x[:1], return_std=True), reps)
            xs = 12 * rng.random((1000, 1)) - 1
            pred = best(lambda: g.predict(xs, return_std=True), reps)
            for t in (grad, refit, pred): row += ["%.4g ms" % (1e3 * t), "%.1f" % (t / lim)]
        else: row += ["", ""] * 3
        print("| %s | %d | %.4g ms | %s |" % (NAMES[which], n, 1e3 * lim, " | ".join(row)), flush=True)
