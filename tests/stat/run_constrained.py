#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""nuts on priors of vectors and matrices, and on flat priors with data, against moments that are known.

A correlation of lkj_corr(d, eta) is 2 beta(b, b) - 1, b = eta - 1 + d / 2, with variance 1 / (2 b + 1). A flat prior
of a covariance matrix and n observations of mean 0 with scatter S give inv_wishart(S, n - d - 1)."""
import json, os, re, subprocess, sys, tempfile

PROGRAM = """
assume r = lkj_corr(4, 2);
assume l = lkj_corr_cholesky(3, 1.5);
assume f = flat_corr_cholesky(3);
assume u = flat_unit_vector(3);
assume p = dirichlet([2, 1, 3]);
assume o = ordered_draws(3, uniform_continuous, 0, 1);
assume g = ordered_draws(2, expon, 1);
assume w = wishart_cholesky([[1, 0], [0.5, 1]], 4);
assume s = flat_cov(2);
assume rising = flat_ordered(2);
for (i = 0; i < 5; i++) {
  observe multivariate_normal([0, 0], s) = [2, 0];
  observe multivariate_normal([0, 0], s) = [0, 1];
}
observe multivariate_normal([0, 0], s) = [1, 1];
observe normal(rising[0], 1) = 0;
observe normal(rising[1], 1) = 20;
define draws = run(sample(warmup=400, draws=1500, collect=collect(%s)));
infer summarize(draws);
"""
# quantity: mean
EXPECTED = {
    "lookup(r, list(1, 0)) ** 2": 1 / 7, "lookup(r, list(3, 2)) ** 2": 1 / 7, "lookup(r, list(3, 0))": 0,
    "(lookup(l, list(1, 0)) * lookup(l, list(2, 0)) + lookup(l, list(1, 1)) * lookup(l, list(2, 1))) ** 2": 1 / 5,
    "lookup(f, list(1, 0)) ** 2": 1 / 3, "lookup(f, list(2, 2)) ** 2": 1 / 2,
    "u[0]": 0, "u[1] ** 2": 1 / 3, "p[0]": 1 / 3, "p[2]": 1 / 2, "p[1] ** 2": 1 / 21,
    "o[0]": 0.25, "o[1]": 0.5, "o[2]": 0.75, "g[0]": 0.5, "g[1]": 1.5,
    "lookup(w, list(0, 0)) ** 2": 4, "lookup(w, list(1, 0)) ** 2": 2, "lookup(w, list(1, 1)) ** 2": 3,
    # S = [[21, 1], [1, 6]], dof 8: mean S / 5
    "lookup(s, list(0, 0))": 21 / 5, "lookup(s, list(1, 0))": 1 / 5, "lookup(s, list(1, 1))": 6 / 5,
    "rising[0]": 0, "rising[1]": 20, "rising[1] ** 2": 401,
}


# The modes are those of the densities in their own space: no Jacobian.
ASCENT = """
assume p = dirichlet([3, 2, 2]);
assume s = inv_wishart([[2, 0.5], [0.5, 1]], 5);
infer gradient_ascent(default, all, 0.1, 2000);
sample array(p[0], p[1], lookup(s, list(0, 0)), lookup(s, list(1, 0)), lookup(s, list(1, 1)));
"""
MODES = [0.5, 0.25, 0.25, 0.0625, 0.125]


# Operators whose fits begin at draws from the prior take flat ones, too: normal data, far enough apart that the
# order does not matter; their means are the posterior's.
FLAT = """
assume o = flat_ordered(2);
observe normal(o[0], 1) = 1;
observe normal(o[1], 1) = 9;
infer %s(default, all, %s);
define draws = run(accumulate_dataset(400, do(%s(default, all, %s), collect(o[0], o[1]))));
infer summarize(draws);
"""


def run(tool, text):
    with tempfile.NamedTemporaryFile("w", suffix=".vnts", delete=False) as f: f.write(text)
    r = subprocess.run([tool, "run", "--seed", "3", f.name], capture_output=True, text=True, timeout=800)
    os.unlink(f.name)
    if r.returncode: sys.exit(r.stderr)
    return r.stdout


def main(tool):
    names = list(EXPECTED)
    modes = json.loads(run(tool, ASCENT))
    if max(abs(a - b) for a, b in zip(modes, MODES)) > 2e-3: sys.exit("modes %s, expected %s" % (modes, MODES))
    for op, args in (("laplace_mh", "1"), ("meanfield", "10, 1")):
        rows = run(tool, FLAT % (op, args, op, args)).split("\n")
        for k, want in ((0, 1), (1, 9)):
            mean, mcse = [float(v) for v in [l for l in rows if l.startswith("(o)[%d]" % k)][0].split()[1:3]]
            if abs(mean - want) > 5 * mcse + 1e-3: sys.exit("%s: o[%d] %g +- %g, expected %g" % (op, k, mean, mcse, want))
    lines = run(tool, PROGRAM % ", ".join(names)).split("\n")
    rows = lines[[i for i, l in enumerate(lines) if l.split()[:2] == ["mean", "mcse"]][0] + 1:][:len(names)]
    bad = 0
    for name, row in zip(names, rows):
        mean, mcse = [float(v) for v in re.split(r"\s{2,}", row.strip())[1:3]]
        ok = abs(mean - EXPECTED[name]) < 5 * mcse
        bad += not ok
        print("%-4s %-50s %9.4f +- %.4f, expected %.4f" % ("ok" if ok else "BAD", name, mean, mcse, EXPECTED[name]))
    return bad


sys.exit(1 if main(os.path.abspath(sys.argv[1])) else 0)
