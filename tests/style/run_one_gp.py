#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""One place computes the likelihood of a Gaussian process: src/gp.

Whoever wants a log determinant with its quadratic form needs a factor of a matrix. So: which files outside the linear
algebra call its factorisations? Those of src/gp, each named here with what it computes, and a few others that factor
something else. A new caller, or one that has gone, fails: it belongs into src/gp, or here with its reason.

    run_one_gp.py GPMEM"""
import os, re, sys

SRC = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "src")
FACTORS = re.compile(r"\b(la_potrf|la_potri|chol_build|chol_build_from|chol_logdet|toeplitz_solve|toeplitz_half_solve"
                     r"|LAPACKE?_\w*potr\w*|cblas_\w+)\s*\(")
CALLERS = {
    "gp/gp_model.c": "the likelihood, densely",
    "gp/gp_grid.c": "the likelihood and its gradient on a regular grid",
    "gp/gp_integrated.c": "the likelihood with mean and scale integrated out",
    "gp/gp_inducing.c": "the likelihood by inducing points",
    "gp/gp_vecchia.c": "the likelihood by neighbours",
    "gp/gp_laplace.c": "the likelihood of measurements that are not normal, by Laplace",
    "gp/gp_white.c": "the function from standard normals",
    "gp/gp_predict.c": "densities of new values and joint draws",
    "dist/matdist.c": "distributions of matrices and vectors",
    "lib/solve.c": "the procedure cholesky of the language",
    "infer/laplace.c": "normal approximations of posteriors",
    "infer/metric.c": "the covariance of a posterior, for momenta",
    "infer/op_bridge.c": "the normal distribution that draws of a posterior are bridged to",
    "optimize/bo_feas.c": "probit regression of feasibility, by Laplace",
    "optimize/bo_local.c": "a surface through points near the best one; no likelihood",
}
found = {}
for folder, _, files in os.walk(SRC):
    for name in sorted(files):
        path = os.path.relpath(os.path.join(folder, name), SRC)
        if not name.endswith((".c", ".h")) or path.startswith("la/"):
            continue
        with open(os.path.join(SRC, path), encoding="utf-8") as f:
            text = re.sub(r"/\*.*?\*/", "", f.read(), flags=re.S)
        calls = set(FACTORS.findall(text))
        if calls and name.endswith(".c"):
            found[path] = calls

bad = 0
for path in sorted(set(found) - set(CALLERS)):
    bad += 1
    print("src/%s calls %s: a Gaussian process of its own? They are computed in src/gp" % (path, ", ".join(found[path])))
for path in sorted(set(CALLERS) - set(found)):
    bad += 1
    print("src/%s factors nothing any more: take it off the list" % path)
print("%d files factor matrices, %d of them in src/gp" % (len(found), sum(p.startswith("gp/") for p in found)))
sys.exit(bad != 0)
