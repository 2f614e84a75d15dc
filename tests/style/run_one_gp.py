#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""One place computes the likelihood of a Gaussian process: src/gp.

Whoever wants a log determinant with its quadratic form needs a factor of a matrix. So: which files outside the linear
algebra call its factorisations? Those of src/gp, each named here with what it computes, and a few others that factor
something else. A new caller, or one that has gone, fails: it belongs into src/gp, or here with its reason.

Which way a question takes (a factor, Toeplitz, filters, approximations) is decided by gp_way.c alone, by what each costs: elsewhere
no way is named, and none is asked what it costs or for an answer. A second chooser fails. What needs a factor whatever it costs is
named here, too. What is dense is an engine (gp_engine.h): gp_dense.c here, gp_device.c on a GPU; the factor of a slot is touched
through its table alone.

    run_one_gp.py GPMEM"""
import os, re, sys

SRC = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "src")
FACTORS = re.compile(r"\b(la_potrf|la_potri|chol_build|chol_build_from|chol_logdet|toeplitz_solve|toeplitz_half_solve"
                     r"|LAPACKE?_\w*potr\w*|cblas_\w+)\s*\(")
CALLERS = {
    "numeric/optim/sqp_quadratic.c": "quadratic programs",
    "gp/way/gp_dense.c": "the likelihood, densely: the engine of this machine",
    "gp/way/gp_grid.c": "the likelihood and its gradient on a regular grid",
    "gp/way/gp_inducing.c": "the likelihood by inducing points",
    "gp/way/gp_vecchia.c": "the likelihood by neighbours",
    "gp/way/gp_laplace.c": "the likelihood of measurements that are not normal, by Laplace",
    "gp/way/gp_white.c": "the function from standard normals",
    "gp/process/gp_predict.c": "densities of new values and joint draws",
    "language/rows/emu/several.c": "covariances between the outputs of a process",
    "language/rows/dist/matdist.c": "distributions of matrices and vectors",
    "language/rows/lib/solve.c": "the procedure cholesky of the language",
    "numeric/posterior/laplace.c": "normal approximations of posteriors",
    "inference/hmc/metric.c": "the covariance of a posterior, for momenta",
    "inference/hmc/pathfinder.c": "normal approximations along paths, for starts",
    "inference/op/op_bridge.c": "the normal distribution that draws of a posterior are bridged to",
    "apps/discover/beats.c": "waves by least squares; no likelihood",
    "apps/discover/changes.c": "the inverse covariance itself: changes at all dates at once",
    "apps/discover/predict.c": "joint draws of one part of a process",
    "apps/optimize/bo_feas.c": "probit regression of feasibility, by Laplace",
    "apps/optimize/bo_loud.c": "the information about the coefficients of a noise that differs by place",
    "apps/optimize/bo_patch.c": "a surface through points near the best one; no likelihood",
}
CHOOSER = "gp/process/gp_way.c"
FACTOR = {"gp/way/gp_factor.c", "gp/way/gp_integrated.c", "gp/way/gp_path.c", "gp/process/gp_predict.c"}
WAYS = { # what only some may name or call -> these files
    r"gp_way_card\b": {CHOOSER, "gp/process/gp_meet.c"},
    r"gp_way_factor\b": {CHOOSER, "gp/way/gp_factor.c", "gp/process/gp_predict.c"},
    r"gp_way_toeplitz\b": {CHOOSER, "gp/way/gp_grid.c"},
    r"gp_way_filters\b": {CHOOSER, "gp/way/gp_states.c"},
    r"gp_way_(?:inducing|vecchia|low_rank)\b": {CHOOSER, "gp/way/gp_approx.c"},
    r"\w+->(?:cost|answer)\((?:q|&q)\b": {CHOOSER},
    r"gp_states_(?:points|draw)\(": {"gp/way/gp_states.c", "gp/way/gp_states_predict.c"},
    r"gp_slot_solve\(": FACTOR | {"gp/process/gp_model.c"},
    r"gp_slot_factor\(": {"gp/way/gp_factor.c", "gp/process/gp_report.c"},
    r"gp_engine_choose\(": {"gp/way/gp_device.c", "gp/way/gp_factor.c", "gp/process/gp_predict.c"},
    r"gpu_blocks_factor\(": {"io/gpu/blocks.c", "gp/way/gp_device.c"},
    r"st_model_init\(": {"gp/way/states_model.c", "gp/way/gp_states.c", "gp/way/gp_states_predict.c"},
    r"st_run_init\(": {"gp/way/states_run.c", "gp/way/gp_states.c", "gp/way/gp_states_predict.c"},
}
found, called = {}, {}
for folder, _, files in os.walk(SRC):
    for name in sorted(files):
        path = os.path.relpath(os.path.join(folder, name), SRC)
        if not name.endswith((".c", ".h")) or path.startswith("numeric/la/"):
            continue
        with open(os.path.join(SRC, path), encoding="utf-8") as f:
            text = re.sub(r"/\*.*?\*/", "", f.read(), flags=re.S)
        for way in WAYS:
            if name.endswith(".c") and re.search(r"\b" + way, text):
                called.setdefault(way, set()).add(path)
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
for way, files in sorted(WAYS.items()):
    for path in sorted(called.get(way, set()) - files):
        bad += 1
        print("src/%s has %s: which way is taken is decided in %s, and this is for %s" % (path, way, CHOOSER, ", ".join(sorted(files))))
    for path in sorted(files - called.get(way, set())):
        bad += 1
        print("src/%s has nothing to do with %s any more" % (path, way))
print("%d files factor matrices, %d of them in src/gp" % (len(found), sum(p.startswith("gp/") for p in found)))
sys.exit(bad != 0)
