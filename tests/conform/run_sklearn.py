#!/usr/bin/python3
# label: slow
"""Differential test: log likelihood, its gradient, predictive mean and covariance of random kernels on random
data against scikit-learn. Usage: run_sklearn.py GPMEM [CASES]; the shared library lies beside the tool."""
import os
os.environ["OPENBLAS_NUM_THREADS"] = "1"
import ctypes as c, sys, warnings
import numpy as np
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process import kernels as sk

warnings.simplefilter("ignore")
lib = c.CDLL(os.path.join(os.path.dirname(os.path.abspath(sys.argv[1])), "libgpmem.so"))
D = c.POINTER(c.c_double)
lib.gpm_gp_new.restype = lib.gpm_gp_get_kernel.restype = c.c_void_p
lib.gpm_gp_error.restype = lib.gpm_kernel_param_name.restype = c.c_char_p
lib.gpm_kernel_nparams.restype = c.c_size_t
def ptr(a): return a.ctypes.data_as(D)

class Gp:
    def __init__(self, dim, text, noise, x, y):
        self.h = c.c_void_p(lib.gpm_gp_new())
        self.do(lib.gpm_gp_model(self.h, dim, text.encode(), c.c_double(noise)))
        self.do(lib.gpm_gp_add(self.h, ptr(x), ptr(y), c.c_size_t(len(y))))
    def do(self, st):
        if st: raise RuntimeError("status %d: %s" % (st, lib.gpm_gp_error(self.h).decode()))
    def grad(self):
        k = c.c_void_p(lib.gpm_gp_get_kernel(self.h))
        n = lib.gpm_kernel_nparams(k); g = np.zeros(n); v = c.c_double(); dn = c.c_double()
        names = [lib.gpm_kernel_param_name(k, c.c_size_t(i)).decode().split(".")[1] for i in range(n)]
        theta = np.zeros(n); lib.gpm_kernel_params(k, ptr(theta)); lib.gpm_kernel_free(k)
        self.do(lib.gpm_gp_log_likelihood_grad(self.h, c.byref(v), ptr(g), c.byref(dn)))
        return v.value, names, theta, g
    def predict(self, xs):
        m = np.zeros(len(xs)); k = np.zeros((len(xs), len(xs)))
        self.do(lib.gpm_gp_predict_cov(self.h, ptr(xs), c.c_size_t(len(xs)), False, ptr(m), ptr(k)))
        return m, k
    def free(self): lib.gpm_gp_free(self.h)

def leaf(rng, dim):
    """One factor: our text, scikit-learn's kernel with unit variance, our parameters in its (alphabetical) order."""
    l, p, a = rng.uniform(0.3, 2, 3)
    which = rng.choice(["SE", "ARD", "MAT12", "MAT32", "MAT52", "RQ", "PER", "LIN"])
    if which == "ARD" and dim > 1:
        ls = rng.uniform(0.3, 2, dim)
        return "SE(sf=%r, l=[" + ", ".join(map(repr, map(float, ls))) + "])", sk.RBF(ls), ["l"] * dim
    if which in ("SE", "ARD"): return "SE(sf=%r, l=" + "%r)" % float(l), sk.RBF(l), ["l"]
    if which.startswith("MAT"):
        return which + "(sf=%r, l=" + "%r)" % float(l), sk.Matern(l, nu=int(which[3]) / 2), ["l"]
    if which == "RQ": return "RQ(sf=%r, l=" + "%r, alpha=%r)" % (float(l), float(a)), sk.RationalQuadratic(l, a), ["alpha", "l"]
    if which == "PER" and dim == 1: return "PER(sf=%r, p=" + "%r, l=%r)" % (float(p), float(l)), sk.ExpSineSquared(l, p), ["l", "p"]
    return "LIN(sf=%r)", sk.DotProduct(1e-8, sigma_0_bounds="fixed"), []

def term(rng, dim):
    """A product of one or two factors; the gradient is compared per factor."""
    texts, kern, order = [], None, []
    for _ in range(rng.integers(1, 3)):
        sf = float(rng.uniform(0.4, 2)); t, k, par = leaf(rng, dim)
        texts.append(t % sf); k = sk.ConstantKernel(sf * sf) * k
        kern = k if kern is None else kern * k
        order.append(["sf"] + par)
    return " * ".join(texts), kern, order

def ours_in_their_order(order, names, theta, grad):
    """Derivatives in the logarithms of scikit-learn's parameters (variances, not standard deviations)."""
    out, at = [], 0
    for factor in order:
        have = {}
        for i in range(at, at + len(factor)): have.setdefault(names[i].split("[")[0], []).append(theta[i] * grad[i])
        at += len(factor)
        have["sf" if "sf" in have else "sigma"][0] *= 0.5
        for name in factor: out.append(have[name].pop(0))
    return np.array(out)

cases = int(sys.argv[2]) if len(sys.argv) > 2 else 200
worst = np.zeros(4)
for case in range(cases):
    rng = np.random.default_rng(case)
    dim, n = int(rng.integers(1, 4)), int(rng.integers(2, 120))
    texts, kern, order = [], None, []
    for _ in range(rng.integers(1, 4)):
        t, k, o = term(rng, dim); texts.append(t); order += o
        kern = k if kern is None else kern + k
    wn, noise = float(rng.uniform(0.1, 0.6)), float(rng.uniform(0.1, 0.5))
    texts.append("WN(sigma=%r)" % wn); kern = kern + sk.WhiteKernel(wn * wn); order.append(["sigma"])
    x = rng.uniform(-2, 3, (n, dim)); y = rng.normal(size=n); xs = rng.uniform(-2.5, 3.5, (9, dim))
    if dim == 1 and case % 5 == 0 and n > 30: x = np.linspace(-2, 3, n)[:, None]  # the grid's short cuts
    text = " + ".join(texts)
    g = Gp(dim, text, noise, np.ascontiguousarray(x), y)
    ref = GaussianProcessRegressor(kern, alpha=noise ** 2, optimizer=None).fit(x, y)
    lml, rgrad = ref.log_marginal_likelihood(ref.kernel_.theta, eval_gradient=True)
    rm, rc = ref.predict(xs, return_cov=True)
    v, names, theta, grad = g.grad(); m, k = g.predict(np.ascontiguousarray(xs)); g.free()
    mine = ours_in_their_order(order, names, theta, grad)
    scale = max(1, np.abs(rgrad).max())
    err = np.array([abs(v - lml) / max(1, abs(lml)), np.abs(mine - rgrad).max() / scale, np.abs(m - rm).max() / max(1, np.abs(rm).max()),
                    np.abs(k - rc).max() / max(1, np.abs(rc).max())])
    worst = np.maximum(worst, err)
    if (err > [1e-9, 1e-6, 1e-8, 1e-8]).any():
        print("case %d, n = %d, dim = %d\n  %s\n  likelihood %.12g, scikit-learn %.12g; errors %s" % (case, n, dim, text, v, lml, err))
        sys.exit(1)
print("%d random kernels and data sets agree with scikit-learn: largest errors likelihood %.1e, gradient %.1e, mean %.1e, covariance %.1e" % ((cases,) + tuple(worst)))
