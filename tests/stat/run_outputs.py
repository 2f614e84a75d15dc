#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Gaussian processes with several inputs and outputs: lengths by coordinate and independent outputs against scikit-learn,
covariances between outputs against the Kronecker product; memoization of functions with several values. Usage:
run_outputs.py TOOL"""
import json, math, os, subprocess, sys, tempfile

import numpy as np
from scipy import integrate, stats
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern

TOOL = os.path.abspath(sys.argv[1])
bad = []


def run(text, seed=1, expect=0):
    with tempfile.NamedTemporaryFile("w", suffix=".vnts", delete=False) as f: f.write(text)
    try:
        r = subprocess.run([TOOL, "run", "--seed", str(seed), f.name], capture_output=True, text=True, timeout=120)
    finally:
        os.unlink(f.name)
    if r.returncode != expect: sys.exit("exit status %d\n%s\n%s" % (r.returncode, r.stderr, text))
    return r.stdout.strip().splitlines() if expect == 0 else r.stderr


def close(what, got, want, error=1e-8):
    got, want = np.asarray(got, float), np.asarray(want, float)
    ok = got.shape == want.shape and np.all(np.abs(got - want) <= error * (1 + np.abs(want)))
    print("%s %-44s %s, %s" % ("ok  " if ok else "FAIL", what, np.round(got, 5).tolist(), np.round(want, 5).tolist()))
    if not ok: bad.append(what)


LIKELIHOOD = "define l = run(global_log_likelihood);\nprint(l);\n"
X = np.array([[0, 0], [1, 2], [2, 1], [0.5, 0.3]])
y = np.array([1, 0.5, -0.3, 0.2])
for maker, kernel in (("make_squaredexp(1.3, [0.7, 2])", RBF([0.7, 2])), ("make_matern_32(1.3, [0.7, 2])", Matern([0.7, 2], nu=1.5))):
    sk = GaussianProcessRegressor(ConstantKernel(1.69) * kernel, alpha=0.01, optimizer=None).fit(X, y)
    out = run("assume f = make_gp(%s, noise=0.1, dim=2);\nobserve f(%s) = %s;\n%s"
              "define d = mapv(proc(i) { run(sample(f([1, 1]))) }, arange(4000));\nprint(d);" % (
                  maker, X.tolist(), y.tolist(), LIKELIHOOD))
    close("lengths by coordinate, " + maker, json.loads(out[0])[0], sk.log_marginal_likelihood_value_)
    mean, sd = sk.predict([[1, 1]], return_std=True)
    d = np.array(json.loads(out[1]))
    close("its draws", [d.mean(), d.std()], [mean[0], sd[0]], 4 / math.sqrt(4000))
out = run("""
assume l = tag("l", 0, [gamma(2, 1), gamma(2, 1)]);
assume f = make_gp(make_squaredexp(1.3, l), noise=0.1, dim=2);
observe f(%s) = %s;
infer nuts(default, all, 300);
define kept = run(accumulate_dataset(2000, do(nuts(default, all, 1), collect(lookup(l, 0)))));
define c = run(accumulate_dataset(2000, do(slice(default, one, 1, 30, 4), collect(lookup(l, 0)))));
print(kept);
print(c);
""".replace("print(kept);\nprint(c);", 'define a = column(kept, "lookup(l, 0)");\ndefine b = column(c, "lookup(l, 0)");\n'
            "print(sum(a) / 2000);\nprint(sum(b) / 2000);").replace("collect(lookup(l, 0))", 'collect(labelled(lookup(l, 0), first))').replace(
            '"lookup(l, 0)"', '"first"') % (X.tolist(), y.tolist()))
close("slopes in lengths: nuts against slice", float(out[0]), float(out[1]), 0.08)

# Independent outputs: scikit-learn adds up the outputs' likelihoods.
xs = np.array([0, 0.7, 1.5, 3.0])
Y = np.array([[1, 0.2], [0.5, -0.4], [-0.3, 0.1], [0.2, 0.9]])
points = "[" + ", ".join(map(str, xs)) + "]"
sk = GaussianProcessRegressor(ConstantKernel(1.44) * RBF(0.8), alpha=0.01, optimizer=None).fit(xs[:, None], Y)
out = run("assume f = make_gp(make_squaredexp(1.2, 0.8), noise=0.1, outputs=2);\nobserve f(%s) = %s;\n%s"
          "define d = mapv(proc(i) { run(sample(f(1))) }, arange(4000));\nprint(d);" % (points, Y.tolist(), LIKELIHOOD))
close("outputs=2", json.loads(out[0])[0], sk.log_marginal_likelihood_value_)
mean, sd = sk.predict([[1]], return_std=True)
d = np.array(json.loads(out[1]))
close("its draws", np.concatenate([d.mean(0), d.std(0)]), np.concatenate([np.ravel(mean), np.ravel(sd)]), 4 / math.sqrt(4000))
two = sum(GaussianProcessRegressor(ConstantKernel(s * s) * RBF(l), alpha=0.01, optimizer=None).fit(
    xs[:, None], Y[:, j]).log_marginal_likelihood_value_ for j, (s, l) in enumerate(((1.2, 0.8), (0.5, 2))))
out = run("assume f = make_gp([make_squaredexp(1.2, 0.8), make_squaredexp(0.5, 2)], noise=0.1);\nobserve f(%s) = %s;\n%s" % (
    points, Y.tolist(), LIKELIHOOD))
close("a list of kernels", json.loads(out[0])[0], two)


# Covariances between outputs.
def kernel(a, b): return 1.44 * np.exp(-0.5 * (a[:, None] - b[None]) ** 2 / 0.64) + 0.01 * (a[:, None] == b[None])


def log_likelihood(B): return stats.multivariate_normal(np.zeros(Y.size), np.kron(kernel(xs, xs), B)).logpdf(Y.ravel())


B = np.array([[1, 0.6], [0.6, 2]])
MODEL = "assume f = make_gp(make_squaredexp(1.2, 0.8) + make_whitenoise(0.1), outputs=%s);\n"
for form in (str(B.tolist()), "matrix(%s)" % B.tolist()):
    out = run((MODEL + "observe f(%s) = %s;\n%sdefine d = mapv(proc(i) { run(sample(f([1, 2]))) }, arange(4000));\nprint(d);") % (
        form, points, Y.tolist(), LIKELIHOOD))
    close("outputs=B", json.loads(out[0])[0], log_likelihood(B))
new = np.array([1.0, 2.0])
K = kernel(xs, xs)
gain = np.linalg.solve(K, kernel(xs, new)).T
mean, cov = gain @ Y, np.kron(kernel(new, new) - gain @ kernel(xs, new), B)
d = np.array(json.loads(out[1])).reshape(4000, 4)
close("its joint draws: mean", d.mean(0), mean.ravel(), 4 * math.sqrt(cov.max() / 4000))
close("covariance", np.cov(d.T), cov, 0.12)
orders = set()
for order in ((0, 1, 2, 3), (3, 1, 0, 2)):
    out = run(MODEL % B.tolist() + "".join("o%d: observe f(%g) = %s;\n" % (i, xs[i], Y[i].tolist()) for i in order) +
              "extra: observe f(9) = [4, 4];\ninfer forget(quote(extra));\n" + LIKELIHOOD)
    orders.add(round(json.loads(out[0])[0], 8))
close("in any order, nothing left of the forgotten", orders.pop(), log_likelihood(B))
assert not orders
like = lambda r: math.exp(log_likelihood(np.array([[1, r], [r, 2]])) - log_likelihood(B))
want = integrate.quad(lambda r: r * like(r), -1, 1)[0] / integrate.quad(like, -1, 1)[0]
out = run('assume r = tag("r", 0, uniform_continuous(-1, 1));\n' + MODEL % "[[1, r], [r, 2]]" + "observe f(%s) = %s;\n" % (
    points, Y.tolist()) + """
define kept = run(accumulate_dataset(2500, do(mh("r", all, 2), collect(r))));
infer checkInvariants();
infer resample(2);
infer mh("r", all, 3);
infer checkInvariants();
define a = column(kept, "r");
print(sum(a) / 2500);""")
close("covariances learnt", float(out[-1]), want, 0.07)

# Memoization of a function with several values: once per input, shared with the emulator.
out = run("""
assume l = tag("l", 0, gamma(2, 1));
assume (compute, emulate) = gpmem(proc(x) { [sin(x), cos(x)] }, make_squaredexp(1, l), outputs=2);
predict compute([0, 1, 2, 1]);
predict compute(0);
sample emulate(1);
observe emulate(3) = [0.14, -0.99];
infer mh("l", all, 20);
infer nuts("l", all, 5);
infer checkInvariants();
sample emulate([1, 3]);
define s = run(extract_stats(emulate));
print(size(s));
""")
close("gpmem of two values", json.loads(out[0]), [[math.sin(x), math.cos(x)] for x in (0, 1, 2, 1)])
close("at a probed input", json.loads(out[2]), [math.sin(1), math.cos(1)], 1e-6)
close("after inference", json.loads(out[3]), [[math.sin(1), math.cos(1)], [0.14, -0.99]], 1e-6)
close("pairs", float(out[4]), 4)

# Points asked twice, in one application or several, have the value that is known there and count once.
run("""
assume l = tag("l", 0, gamma(2, 1));
assume r = tag("r", 0, uniform_continuous(-1, 1));
assume (compute, emulate) = gpmem(proc(x) { [sin(x), cos(x)] }, make_squaredexp(1, l), outputs=[[1, r], [r, 1.5]]);
predict compute([0, 1, 2, 1]);
infer checkInvariants();
assume z = emulate(1);
assume w = emulate([5, 6, 5]);
infer checkInvariants();
infer mh(default, one, 20);
infer resample(2);
infer mh(default, one, 5);
infer checkInvariants();
""")

for text, why in (("assume f = make_gp(make_squaredexp(1, 1), outputs=[[1, 2], [2, 1]]);", "positive definite"),
                  ("assume f = make_gp(make_squaredexp(1, 1), outputs=[[1, 0.1], [0.2, 1]]);", "positive definite"),
                  ("assume f = make_gp(make_squaredexp(1, 1), outputs=0.5);", "number of outputs"),
                  ("assume f = make_gp(make_squaredexp(1, 1), noise=0.1, outputs=[[1, 0], [0, 1]]);", "whitenoise"),
                  ("assume f = make_gp([make_squaredexp(1, 1), 3]);", "kernel"),
                  ("assume f = make_gp(make_squaredexp(1, 1), outputs=2);\nobserve f(1) = 2;", "must be 2 numbers"),
                  ("assume f = make_gp(make_squaredexp(1, 1), outputs=2);\nobserve f([1, 2]) = [[1, 2]];", "2 inputs but 1"),
                  ("assume (c, e) = gpmem(x -> x, make_squaredexp(1, 1), outputs=2);\npredict c(1);", "not 2 finite numbers"),
                  ("assume (c, e) = gpmem(x -> x, make_squaredexp(1, 1), outputs=2, likelihood=\"poisson\");", "one output"),
                  ("assume f = make_gp(make_squaredexp(1, [1, 2]), dim=3);\nassume y = f([1, 2, 3]);", "make_gp")):
    said = run(text, expect=1)
    if why not in said: bad.append(why); print("FAIL %s:\n%s" % (why, said))
print("%d failed" % len(bad))
sys.exit(1 if bad else 0)
