#!/usr/bin/python3
"""Latent Gaussian processes: Laplace's approximation against scikit-learn's classifier (the same algorithm), against a
computation of its own (mode by a general optimiser, determinants by eigenvalues), against exact integrals of one and two
points; predictions; the Poisson regression of posteriordb (gp_pois_regr) by nuts on whitened values, by elliptical slice
sampling, and with the values integrated out by Laplace."""
import json, os, subprocess, sys, tempfile

import numpy as np
from scipy import integrate, optimize, stats
from scipy.special import gammaln
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

TOOL, FAILED = os.path.abspath(sys.argv[1]), []
X = np.array([0, 0.5, 1.1, 2, 2.6, 3.5, 4])


def run(program):
    with tempfile.NamedTemporaryFile("w", suffix=".vnts") as f:
        f.write(program)
        f.flush()
        r = subprocess.run([TOOL, "run", "-q", f.name], capture_output=True, text=True, timeout=300)
    if r.returncode:
        print(r.stderr[:600])
    return r.stdout


def check(what, ok, detail=""):
    print("%s %s %s" % ("ok  " if ok else "FAIL", what, detail))
    if not ok:
        FAILED.append(what)


def joint(likelihood, x, y, mean="0", more=""):
    text = "assume g = make_gp(%s, make_squaredexp(1.5, 0.8), likelihood=%s);\nobserve g(%s) = %s;\n%s" % (
        mean, likelihood, list(map(float, x)), list(map(float, y)), more)
    out = run(text + "run(global_log_joint());\n").split("\n")
    return json.loads(out[-2])[0] if out[-2].startswith("[") else float(out[-2])


# the same algorithm elsewhere
truth = np.array([0, 1, 0, 1, 1, 1, 0])
peer = GaussianProcessClassifier(ConstantKernel(2.25, "fixed") * RBF(0.8, "fixed"), optimizer=None).fit(X[:, None], truth)
got = joint('"bernoulli"', X, truth)
check("scikit-learn's classifier", abs(got - peer.log_marginal_likelihood_value_) < 1e-6, "%.9g, %.9g" % (got, peer.log_marginal_likelihood_value_))

LOG = {  # log density of y given f
    '"poisson"': lambda y, f: y * f - np.exp(f) - gammaln(y + 1),
    '"bernoulli"': lambda y, f: y * f - np.logaddexp(0, f),
    '["binomial", 9]': lambda y, f: stats.binom.logpmf(y, 9, 1 / (1 + np.exp(-f))),
    '["negative_binomial", 1.7]': lambda y, f: stats.nbinom.logpmf(y, 1.7, 1.7 / (1.7 + np.exp(f))),
    '["student_t", 4, 0.3]': lambda y, f: stats.t.logpdf(y, 4, f, 0.3)}
Y = {'"poisson"': [3, 9, 1, 2, 0, 4, 5], '"bernoulli"': truth, '["binomial", 9]': [1, 0, 7, 9, 4, 4, 2],
     '["negative_binomial", 1.7]': [1, 0, 17, 9, 4, 4, 2], '["student_t", 4, 0.3]': [1, 0.8, 0.3, -0.2, 6, 0.5, 1]}


def gram(a, b):
    return 2.25 * np.exp(-0.5 * (np.asarray(a)[:, None] - np.asarray(b)[None]) ** 2 / 0.64)


def second(l, y, f, h=1e-4):
    return -(l(y, f + h) - 2 * l(y, f) + l(y, f - h)) / h**2


for name, l in LOG.items():
    y = np.array(Y[name], float)
    K = gram(X, X) + 1e-10 * np.eye(len(X))
    L = np.linalg.cholesky(K)
    psi = lambda u: 0.5 * u @ u - l(y, 0.4 + L @ u).sum()
    u = optimize.minimize(psi, np.zeros(len(X)), method="BFGS", options={"gtol": 1e-9}).x
    B = np.eye(len(X)) + L.T @ (second(l, y, 0.4 + L @ u)[:, None] * L)
    want = -psi(u) - 0.5 * np.linalg.slogdet(B)[1]
    got = joint(name, X, y, "0.4")
    check("by hand: " + name, abs(got - want) < 2e-5, "%.8g, %.8g" % (got, want))
    # one point, exactly: the approximation is good to a few hundredths
    exact = np.log(integrate.quad(lambda f: np.exp(l(y[0], f) + stats.norm.logpdf(f, 0, 1.5)), -15, 15, limit=400)[0])
    got = joint(name, X[:1], y[:1])
    rough = 0.2 if "student" in name else 0.06  # the mode says little of heavy tails
    check("one point, exactly: " + name, abs(got - exact) < rough, "%.5g, %.5g" % (got, exact))

# two counts, exactly
cov = gram(X[:2], X[:2])
grid = np.linspace(-7, 7, 701)
f, h = np.meshgrid(grid, grid, indexing="ij")
lp = stats.multivariate_normal([0, 0], cov).logpdf(np.dstack([f, h])) + LOG['"poisson"'](3, f) + LOG['"poisson"'](5, h)
exact = np.log(np.exp(lp).sum() * (grid[1] - grid[0]) ** 2)
got = joint('"poisson"', X[:2], [3, 5])
check("two counts, exactly", abs(got - exact) < 0.03, "%.5g, %.5g" % (got, exact))

# predictions: draws of the function have the approximation's mean and variance
y = np.array(Y['"poisson"'], float)
K = gram(X, X)
L = np.linalg.cholesky(K + 1e-10 * np.eye(len(X)))
u = optimize.minimize(lambda u: 0.5 * u @ u - LOG['"poisson"'](y, L @ u).sum(), np.zeros(len(X)), method="BFGS").x
mode = L @ u
k = gram(X, [1.5])[:, 0]
mean = k @ np.linalg.solve(K, mode)
sd = np.sqrt(2.25 - k @ np.linalg.solve(K + np.diag(np.exp(-mode)), k))
out = run('assume g = make_gp(make_squaredexp(1.5, 0.8), likelihood="poisson");\nobserve g(%s) = %s;\n'
          "define draws = run(accumulate_dataset(1500, do(pass, collect(g(1.5), g(1.5, true)))));\n"
          "infer summarize(draws);" % (list(X), list(map(int, y))))
rows = [line.split() for line in out.splitlines() if "1.5" in line.split()[:1] or line.startswith(("g", "_g"))]
check("predictions", len(rows) == 2 and abs(float(rows[0][1]) - mean) < 5 * sd / 1500**0.5 and abs(float(rows[0][3]) / sd - 1) < 0.1,
      "%s; mean %.4g, sd %.4g" % (rows[:1], mean, sd))

# gp_pois_regr: mean and sd of the reference draws
REFERENCE = {"rho": (5.66653, 0.679021), "alpha": (2.92134, 0.792822), "f0": (3.63574, 0.152096), "f5": (1.29526, 0.2662),
             "f10": (3.50682, 0.1631)}
COUNTS = [40, 37, 29, 12, 4, 3, 9, 19, 77, 82, 33]
PRIOR = ('assume rho = tag("h", 0, gamma(25, 4));\nassume alpha = tag("h", 1, normal(0, 2, lower=0));\n'
         "assume xs = [-10, -8, -6, -4, -2, 0, 2, 4, 6, 8, 10];\n")
WHITE = (PRIOR + 'assume z = tag("z", 0, normal(fill(11, 0), 1));\n'
         "assume f = gp_latent(xs, z, make_squaredexp(alpha, rho));\nobserve poisson(exp(f)) = %s;\n" % COUNTS)
MARGINAL = PRIOR + 'assume g = make_gp(make_squaredexp(alpha, rho), likelihood="poisson");\nobserve g(xs) = %s;\n' % COUNTS
NUTS = "define draws = run(sample(warmup=300, draws=500, collect=collect(%s)));\n"
WAYS = {"nuts": (WHITE, NUTS, True), "Laplace": (MARGINAL, NUTS, False)}


def table(model, how, quantities):
    columns = ", ".join(q if q[0] != "f" else "labelled(f[%s], %s)" % (q[1:], q) for q in quantities)
    out = run(model + how % columns + "infer summarize(draws);")
    rows = {line.split()[0]: line.split() for line in out.splitlines() if line.split() and line.split()[0] in quantities}
    return {q: [float(x) for x in row[1:4]] for q, row in rows.items()}


for way, (model, how, values) in WAYS.items():
    quantities = ["rho", "alpha"] + (["f0", "f5", "f10"] if values else [])
    rows = table(model, how, quantities)
    check(way + " ran", len(rows) == len(quantities))
    for q, (mean, mcse, sd) in rows.items():
        want, want_sd = REFERENCE[q]
        allowed = 5 * max(mcse, want_sd / 40) + (0 if values else 0.15 * want_sd)
        check("%s, %s" % (way, q), abs(mean - want) < allowed and 0.6 < sd / want_sd < 1.6 and mcse < 0.5 * want_sd,
              "%.4g +- %.2g, reference %.4g; sd %.3g, %.3g" % (mean, mcse, want, sd, want_sd))

# elliptical slice sampling against nuts, the kernel being known
KNOWN = WHITE.replace(PRIOR, PRIOR.replace('tag("h", 0, gamma(25, 4))', "5.7").replace('tag("h", 1, normal(0, 2, lower=0))', "2.9"))
ESS = ('infer ess("z", all, 200);\ndefine draws = run(accumulate_dataset(600, do(ess("z", all, 10), collect(%s))));\n')
quantities = ["f0", "f5", "f10"]
ess, nuts = table(KNOWN, ESS, quantities), table(KNOWN, NUTS, quantities)
check("ess ran", len(ess) == len(nuts) == 3)
for q in ess:
    z = (ess[q][0] - nuts[q][0]) / np.hypot(ess[q][1], nuts[q][1])
    check("ess, " + q, abs(z) < 5 and 0.8 < ess[q][2] / nuts[q][2] < 1.25 and ess[q][1] < 0.3 * ess[q][2], "%s, nuts %s" % (ess[q], nuts[q]))
print("%d failed" % len(FAILED))
sys.exit(1 if FAILED else 0)
