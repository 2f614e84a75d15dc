#!/usr/bin/python3
"""Exact posteriors: from a draw of the prior, enough transitions must end in the posterior.

Replicates are independent models, so the tests against enumerated or conjugate posteriors are exact
(p at least 1e-6, as in support/check.h). The most probable states that emap, func_pmap and the
ascents find are compared with the enumerated or analytic ones."""
import itertools, json, math, os, subprocess, sys, tempfile

import numpy as np
from scipy import stats as st

TOOL, P_VALUE_MIN, REPLICATES = os.path.abspath(sys.argv[1]), 1e-6, 400

# A hidden chain of two states seen through normal noise.
Y = [0.3, 1.4, 0.9, -0.2, 1.1]
HMM = (['s = mem(proc(t) { tag("s", t, if (t == 0) { flip(0.4) } else { flip(if (s(t - 1)) { 0.8 } else { 0.3 }) }) })'],
       ["normal(if (s(%d)) { 1 } else { 0 }, 0.6) = %r" % (t, y) for t, y in enumerate(Y)],
       "array(%s)" % ", ".join("if (s(%d)) { 1 } else { 0 }" % t for t in range(len(Y))))


def hmm_posterior():
    p = {}
    for path in itertools.product([0, 1], repeat=len(Y)):
        lp = math.log(0.4 if path[0] else 0.6)
        for a, b in zip(path, path[1:]):
            up = 0.8 if a else 0.3
            lp += math.log(up if b else 1 - up)
        p[path] = math.exp(lp + st.norm.logpdf(Y, path, 0.6).sum())
    total = sum(p.values())
    return {k: v / total for k, v in p.items()}


NORMAL = (["m = normal(1, 2)"], ["normal(m, 1) = 3", "normal(m, 1) = 2"], "m")
NORMAL_POST = st.norm((1 / 4 + 5) / (1 / 4 + 2), (1 / 4 + 2) ** -0.5)
GAMMA = (["r = gamma(3, 2)"], ["poisson(r) = 4", "poisson(r) = 2", "expon(r) = 0.5"], "r")
GAMMA_POST = st.gamma(3 + 6 + 1, scale=1 / (2 + 2 + 0.5))
BETA = (["p = beta(2, 3)"], ["binomial(9, p) = 7", "flip(p) = true"], "p")
BETA_POST = st.beta(2 + 8, 3 + 2)
DIRICHLET = (["p = dirichlet([1, 2, 1])"], ["categorical(p) = 0", "categorical(p) = 0", "categorical(p) = 2"], "lookup(p, 0)")
DIRICHLET_POST = st.beta(3, 4)
MIXED = (["b = flip(0.3)", "x = if (b) { normal(0, 1) } else { normal(3, 1) }"], ["normal(x, 1) = 1.2"], "if (b) { 1 } else { 0 }")
_w = [0.7 * st.norm.pdf(1.2, 3, 2 ** 0.5), 0.3 * st.norm.pdf(1.2, 0, 2 ** 0.5)]
MIXED_POST = {0: _w[0] / sum(_w), 1: _w[1] / sum(_w)}

# An observation that a branch moves from variable to variable: the one it leaves is free again. Both sides of its median.
MOVING = (['b = tag("b", 0, flip(0.5))', "y = normal(0, 1)", "w = normal(2, 1)", "half = (if (b) { w } else { y }) / 2"],
          ["if (b) { y } else { w } = 0.8"], "array(if (b) { 1 } else { 0 }, if (half > (if (b) { 1 } else { 0 })) { 1 } else { 0 })")
_w = [st.norm.pdf(0.8, 2, 1), st.norm.pdf(0.8, 0, 1)]
MOVING_POST = {(b, side): _w[b] / sum(_w) / 2 for b in (0, 1) for side in (0, 1)}
MOVING_MEM = (["a = mem(proc(i) { normal(2 * i, 1) })", 'b = tag("b", 0, flip(0.5))', "both = a(0) + a(1)"],
              ["a(if (b) { 0 } else { 1 }) = 0.8"],
              "array(if (b) { 1 } else { 0 }, if (both - 0.8 > (if (b) { 2 } else { 0 })) { 1 } else { 0 })")
MOVES = {"mh": 'mh("b", 0, 40)', "mh one": "mh(default, one, 80)", "mh all": "mh(default, all, 60)", "gibbs": 'gibbs("b", 0, 30)'}

DRIFT = "repeat(60, mh_correct(on_subproblem(default, one, symmetric_local_proposal(proc(v) { normal(v, %g) }))))"
CONTINUOUS = {"mh": "mh(default, one, 120)", "slice": "slice(default, one, 1, 20, 20)",
              "slice_doubling": "slice_doubling(default, one, 0.5, 8, 20)", "hmc": "hmc(default, all, 0.3, 8, 25)",
              "nuts": "nuts(default, all, 0, 10)", "meanfield": "meanfield(default, all, 15, 15)",
              "pgibbs": "pgibbs(default, all, 15, 15)"}
CASES = [("hidden chain", HMM, hmm_posterior(), {
    "mh": 'mh("s", one, 120)', "gibbs one": 'gibbs("s", one, 80)', "gibbs each": 'gibbs("s", each, 25)',
    "gibbs all": 'gibbs("s", all, 1)', "pgibbs": 'pgibbs("s", ordered, 8, 12)', "rejection": 'rejection("s", all, 1)',
    "smc": None}),
    ("normal", NORMAL, NORMAL_POST, {**CONTINUOUS, "drift": DRIFT % 1.5, "rejection": "rejection(default, all, 1)",
                                     "conditional": "conditional"}),
    ("gamma", GAMMA, GAMMA_POST, {**CONTINUOUS, "drift": DRIFT % 1}),
    ("beta", BETA, BETA_POST, {**CONTINUOUS, "drift": DRIFT % 0.2, "rejection": "rejection(default, all, 1)"}),
    ("simplex", DIRICHLET, DIRICHLET_POST, {k: CONTINUOUS[k] for k in ("mh", "hmc", "nuts", "meanfield", "pgibbs")}),
    ("mixed", MIXED, MIXED_POST, {"mh one": "mh(default, one, 80)", "mh all": "mh(default, all, 60)",
                                  "rejection": "rejection(default, all, 1)", "pgibbs": "pgibbs(default, all, 15, 15)"}),
    ("moving", MOVING, MOVING_POST, MOVES), ("moving in mem", MOVING_MEM, MOVING_POST, MOVES)]


def run(text, seed):
    with tempfile.NamedTemporaryFile("w", suffix=".vnts", delete=False) as f: f.write(text)
    try:
        r = subprocess.run([TOOL, "run", "--seed", str(seed), f.name], capture_output=True, text=True, timeout=600)
    finally:
        os.unlink(f.name)
    if r.returncode: raise RuntimeError("exit status %d\n%s\n%s" % (r.returncode, r.stderr, text))
    return [json.loads(x) for x in r.stdout.strip().splitlines()]


def replicates(model, op, seed):
    assumes, observed, quantity = model
    body = ["assume %s;" % a for a in assumes]
    if op: body += ["observe %s;" % o for o in observed] + [op + ";"]
    else: # sequential Monte Carlo written in the language
        body += ["resample(60);"] + [x for o in observed for x in ("observe %s;" % o, "resample(60);")] + ["resample(1);"]
    return run("define once = proc() { first(run(in_model(run(new_model()), {\n%s\nsample %s })))};\n"
               "mapv(proc(i) { once() }, arange(%d));\n" % ("\n".join(body), quantity, REPLICATES), seed)[-1]


def p_value(got, want):
    if not isinstance(want, dict): return st.kstest(got, want.cdf).pvalue
    keys = list(want)
    got = [tuple(x) if isinstance(x, list) else x for x in got]
    expected = np.array([want[k] for k in keys]) * len(got)
    seen = np.array([sum(g == k for g in got) for k in keys])
    small = expected < 5 # pooled
    if small.any():
        seen = np.append(seen[~small], seen[small].sum())
        expected = np.append(expected[~small], expected[small].sum())
    return st.chisquare(seen, expected * seen.sum() / expected.sum()).pvalue


bad, seed = [], 70
for name, model, want, ops in CASES:
    for op_name, op in ops.items():
        seed += 1
        try:
            p = p_value(replicates(model, op, seed), want)
        except RuntimeError as e:
            print(e)
            p = 0
        ok = p >= P_VALUE_MIN
        if not ok: bad.append("%s / %s" % (name, op_name))
        print("%s %-14s %-15s p = %.2g%s" % ("ok  " if ok else "FAIL", name, op_name, p, "" if ok else " (seed %d)" % seed))


def mode(model, op, quantity):
    return run("".join("assume %s;\n" % a for a in model[0]) + "".join("observe %s;\n" % o for o in model[1]) +
               "infer %s;\nsample %s;\n" % (op, quantity), 5)[-1]


best = max(hmm_posterior().items(), key=lambda kv: kv[1])[0]
for what, got, wanted, tolerance in [
        ("emap", mode(HMM, 'emap("s", all, 1)', HMM[2]), best, 0),
        ("func_pmap", mode(HMM, 'func_pmap("s", ordered, 40, 5)', HMM[2]), best, 0),
        ("gradient_ascent", [mode(NORMAL, "gradient_ascent(default, all, 0.1, 300, 1)", "m")], [NORMAL_POST.mean()], 1e-6),
        ("nesterov", [mode(NORMAL, "nesterov(default, all, 0.1, 300, 1)", "m")], [NORMAL_POST.mean()], 1e-4),
        ("ascent inside support", [mode(GAMMA, "gradient_ascent(default, all, 0.05, 2000, 1)", "r")], [9 / 4.5], 1e-6),
        ("keywords", [mode((['m = tag(scope="h", normal(1, 2))'], NORMAL[1]), 'gradient-ascent(scope="h", steps=3000)', "m")],
         [NORMAL_POST.mean()], 1e-6)]:
    ok = all(abs(a - b) <= tolerance for a, b in zip(got, wanted))
    if not ok: bad.append(what)
    print("%s %s: %s, wanted %s" % ("ok  " if ok else "FAIL", what, list(got), list(wanted)))
print("%d failed" % len(bad))
sys.exit(len(bad) > 0)
