#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Procedures that a random choice picks, and sequences whose length one decides, in every way a program can write them, under every
operator, against quadrature.

A step of `x` is compiled for the procedures that its values go through; a step of `k` puts others in their place. Each case moves `k`
and `x` in turn and compares E[k], E[x], E[kx] and E[x^2] with the exact values: five standard errors by batch means.
Usage: run_chosen.py TOOL"""
import concurrent.futures, json, math, os, subprocess, sys, tempfile

import numpy as np
from scipy import stats as st

TOOL, DRAWS, BATCHES, Z_MAX = os.path.abspath(sys.argv[1]), 3000, 30, 5
GRID = np.linspace(-8, 8, 16001)
PRIOR = st.norm.pdf(GRID)


def seen(f, y=0.9, sd=0.5):
    """The likelihood of a normal datum whose mean is f(x)."""
    return st.norm.pdf(y, f(GRID), sd) + 0 * GRID


def posterior(*likes):
    """Of k = 0, 1, ..., given the likelihood of x under each; a likelihood of 0 says that k is not among its values."""
    k = np.arange(len(likes))[:, None]
    p = np.array([PRIOR * like for like in likes])
    p /= p.sum()
    return np.array([(k * p).sum(), (p * GRID).sum(), (k * p * GRID).sum(), (p * GRID ** 2).sum()])


def sums(*factors, more=0):
    """The sum of a sequence is a multiple of x, for every k from 1; `more` of variance for each item."""
    return posterior(0 * GRID, *[st.norm.pdf(2, c * GRID, math.sqrt(1 + more * c)) for c in factors])


SIN_EXP = posterior(seen(np.sin), seen(np.exp))
LAWS = posterior(st.norm.pdf(1.5, GRID, 0.5), st.laplace.pdf(1.5, GRID, 0.5))
X = 'assume x = tag("x", 0, normal(0, 1));\n'
K = 'assume k = tag("k", 0, uniform_discrete(0, 2));\n'
G = "observe normal(g(x), 0.5) = 0.9;\n"
L = 'assume k = tag("k", 0, uniform_discrete(1, 4));\n'


def length(expr, want):
    return (L + "assume v = %s;\nobserve normal(sum(v), 1) = 2;\n" % expr, "k", want)


# way: (the model after x, what k is, exact answers)
WAYS = {
    "fill": length("fill(k, x)", sums(1, 2, 3)), "fill, turned": length("reverse(fill(4 - k, x))", sums(3, 2, 1)),
    "zeros": length("zeros(k) + x", sums(1, 2, 3)), "ones": length("x * ones(k)", sums(1, 2, 3)),
    "take": length("take(k, [x, x, x])", sums(1, 2, 3)), "drop": length("drop(k, [x, x, x, x])", sums(3, 2, 1)),
    "slice of it": length("[x, x, x, x][k:4]", sums(3, 2, 1)), "list": length("take(k, list(x, x, x))", sums(1, 2, 3)),
    "linspace": length("linspace(x, x, k)", sums(1, 2, 3)), "map": length("mapv(i -> x, arange(k))", sums(1, 2, 3)),
    "append": length("append(fill(k, x), [x])", sums(2, 3, 4)), "vector": length("to_vector(fill(k, x))", sums(1, 2, 3)),
    "matrix": length("ravel(to_matrix(fill(2 * k, x), k, 2))", sums(2, 4, 6)),
    "diagonal": length("diagonal(diag_matrix(fill(k, x)))", sums(1, 2, 3)),
    "recursion": length("{ letrec f = i -> if (i == 0) { [] } else { append([x], f(i - 1)) }; f(k) }", sums(1, 2, 3)),
    "draws, one by one": length('mapv(i -> tag("w", i, normal(x, 0.5)), arange(k))', sums(1, 2, 3, more=0.25)),
    "index": (K + "assume g = [sin, exp][k];\n" + G, "k", SIN_EXP),
    "list": (K + "assume g = lookup(list(sin, exp), k);\n" + G, "k", SIN_EXP),
    "dictionary": (K + "assume g = lookup(dict(array(0, sin), array(1, exp)), k);\n" + G, "k", SIN_EXP),
    "a draw": ('assume g = tag("k", 0, uniform_categorical([sin, exp]));\n' + G, "if (g(0) == 1) { 1 } else { 0 }", SIN_EXP),
    "biplex": (K + "assume g = biplex(k == 1, exp, sin);\n" + G, "k", SIN_EXP),
    "if": (K + "assume g = if (k == 1) { exp } else { sin };\n" + G, "k", SIN_EXP),
    "closures": (K + "assume g = [a -> sin(a), a -> exp(a)][k];\n" + G, "k", SIN_EXP),
    "one closure": (K + "assume g = [sin, a -> exp(a)][k];\n" + G, "k", SIN_EXP),
    "apply": (K + "assume g = [sin, exp][k];\nobserve normal(apply(g, [x]), 0.5) = 0.9;\n", "k", SIN_EXP),
    "map": (K + "assume g = [sin, exp][k];\nobserve normal(mapv(g, [x])[0], 0.5) = 0.9;\n", "k", SIN_EXP),
    "in a procedure": (K + "assume g = [sin, exp][k];\nassume h = a -> g(a);\nobserve normal(h(x), 0.5) = 0.9;\n", "k", SIN_EXP),
    "memoized": (K + "assume g = mem([sin, exp][k]);\n" + G, "k", SIN_EXP),
    "a memoized choice": ('assume z = mem(i -> tag("k", i, uniform_discrete(0, 2)));\nassume k = z(0);\n'
                          "assume g = mem(i -> [sin, exp][z(i)]);\nobserve normal(g(0)(x), 0.5) = 0.9;\n", "k", SIN_EXP),
    "folded": (K + "assume g = [a -> a, add][k];\nassume h = [(a, b) -> a - b, add][k];\n"
               "observe normal(foldl(h, 0, [x, x]), 0.5) = 0.9;\n", "k", posterior(seen(lambda v: -2 * v), seen(lambda v: 2 * v))),
    "arithmetic": (K + "assume g = [add, mul][k];\nobserve normal(g(x, 2), 0.5) = 0.9;\n", "k",
                   posterior(seen(lambda v: v + 2), seen(lambda v: v * 2))),
    "of two": (K + 'assume y = tag("x", 1, normal(0, 1));\nassume g = [(a, b) -> a, add][k];\nobserve normal(g(x, y), 0.5) = 0.9;\n', "k",
               None),
    "what it closes over": (K + 'assume y = tag("x", 1, normal(0, 1));\nassume g = [(t, s) -> [0.5], (t, s) -> [y]][k];\n'
                            "observe normal(ode_solve(g, [0], 0, [1])[0][0], 0.5) = 0.9;\nobserve normal(x * y, 1) = 0.5;\n", "k", None),
    "law": (K + "observe [normal, laplace][k](x, 0.5) = 1.5;\n", "k", LAWS),
    "a drawn law": ('assume g = tag("k", 0, uniform_categorical([normal, laplace]));\nobserve g(x, 0.5) = 1.5;\n',
                    "if (assess(0, g, 0, 1) < -0.8) { 0 } else { 1 }", LAWS),
    "law of a choice": (K + 'assume y = tag("x", 1, [normal, laplace][k](x, 0.5));\nobserve normal(y, 0.3) = 1.5;\n', "k", None),
    "assessed law": (K + "factor(assess(1.5, [normal, laplace][k], x, 0.5));\n", "k", LAWS),
    "array of makers": (K + "assume m = [make_beta_bernoulli(1, 2), make_beta_bernoulli(exp(x), 1)];\nassume g = m[k];\n"
                        "observe g() = true;\nobserve g() = true;\n", "k", None),
    "chosen maker": (K + "assume g = [make_beta_bernoulli, (a, b) -> make_beta_bernoulli(b, a)][k](exp(x), 1);\n"
                     "observe g() = true;\nobserve g() = true;\n", "k", None),
    "number or truth": (K + "assume g = [true, 3][k];\nobserve normal(if (g == true) { x } else { 2 * x }, 0.5) = 0.9;\n", "k",
                        posterior(seen(lambda v: v), seen(lambda v: 2 * v))),
    "list with a truth": (K + "assume g = lookup(list(true, 3), k);\nobserve flip(biplex([x > 0, g] == [true, true], 0.9, 0.2)) = true;\n",
                          "k", posterior(0.2 + 0.7 * (GRID > 0), 0.2 + 0 * GRID)),
    "number or truth, compared": (K + "assume g = [true, 3][k];\nobserve flip(biplex([x > 0, g] == [true, true], 0.9, 0.2)) = true;\n", "k",
                                  posterior(0.2 + 0.7 * (GRID > 0), 0.2 + 0 * GRID)),
}


def gauss(like):
    """Exact answers with a second choice y of the same prior: like(x, y) for k = 0 and 1, on a coarser grid."""
    g = np.linspace(-7, 7, 1401)
    p = np.array([np.outer(st.norm.pdf(g), st.norm.pdf(g)) * l(g[:, None], g[None, :]) for l in like])
    p /= p.sum()
    x = g[None, :, None]
    return np.array([p[1].sum(), (p * x).sum(), (p[1:] * x).sum(), (p * x ** 2).sum()])


def exact(way):
    n = lambda m, y=0.9, sd=0.5: st.norm.pdf(y, m, sd)
    if way == "of two": return gauss([lambda x, y: n(x) + 0 * y, lambda x, y: n(x + y)])
    if way == "what it closes over":
        return gauss([lambda x, y: n(0.5) * n(x * y, 0.5, 1), lambda x, y: n(y) * n(x * y, 0.5, 1)])
    if way == "law of a choice":
        g = np.linspace(-7, 7, 1401)
        x, y = g[:, None], g[None, :]
        law = [st.norm.pdf(y, x, 0.5), st.laplace.pdf(y, x, 0.5)]
        p = np.array([(st.norm.pdf(x) * l * st.norm.pdf(1.5, y, 0.3)).sum(1) for l in law])
        p /= p.sum()
        return np.array([p[1].sum(), (p * g).sum(), (p[1] * g).sum(), (p * g ** 2).sum()])
    a = np.exp(GRID)
    two = lambda a, b: a * (a + 1) / ((a + b) * (a + b + 1))  # two heads of a beta-Bernoulli
    if way == "array of makers": return posterior(two(1.0, 2.0), two(a, 1.0))
    if way == "chosen maker": return posterior(two(a, 1.0), two(1.0, a))
    return WAYS[way][2]


# by name: a step of k, a step of x
STEPS = {
    "mh": ('mh("k", 0, 1)', 'mh("x", one, 3)'), "mh anywhere": ("mh(default, one, 3)", "mh(default, one, 3)"),
    "gibbs": ('gibbs("k", 0, 1)', 'mh("x", one, 3)'), "slice": ('gibbs("k", 0, 1)', 'slice("x", one, 1, 20, 2)'),
    "nuts": ('gibbs("k", 0, 1)', 'nuts("x", all, 0, 1)'), "hmc": ('mh("k", 0, 2)', 'hmc("x", all, 0.3, 5, 1)'),
    "drift": ('mh("k", 0, 1)', 'drift("x", one, 0.8, 4)'), "drift all": ('gibbs("k", 0, 1)', 'drift("x", all, 0.8, 4)'),
    "laplace_mh": ('mh("k", 0, 1)', 'do(laplace_mh("x", all, 1), mh("x", one, 1))'),
    "ess": ('gibbs("k", 0, 1)', 'ess("x", all, 2)'), "pgibbs": ('pgibbs("k", 0, 4, 1)', 'pgibbs("x", all, 6, 2)'),
}
# `ess` refuses choices that decide what is evaluated, and those that are not normal; no gradient goes through what a procedure reads
REFUSED = {("apply", "ess"), ("memoized", "ess"), ("folded", "ess"), ("law of a choice", "ess"), ("what it closes over", "nuts"),
           ("what it closes over", "hmc"), ("what it closes over", "laplace_mh")}


def draws(way, how, seed):
    model, k, _ = WAYS[way]
    a, b = STEPS[how]
    text = X + model + "infer repeat(20, do(%s, %s));\n" % (a, b)
    text += "define d = run(accumulate_dataset(%d, do(%s, %s, collect(labelled(%s, \"k\"), x))));\n" % (DRAWS, a, b, k)
    text += "column(d, \"k\");\ncolumn(d, \"x\");\ninfer checkInvariants();\n"
    with tempfile.NamedTemporaryFile("w", suffix=".vnts") as f:
        f.write(text)
        f.flush()
        r = subprocess.run([TOOL, "run", "--seed", str(seed), f.name], capture_output=True, text=True, timeout=300)
    if r.returncode: raise RuntimeError((r.stderr.splitlines() or ["exit status %d" % r.returncode])[0])
    out = [json.loads(x) for x in r.stdout.strip().splitlines()[-2:]]
    return np.array(out[0], float), np.array(out[1], float)


def test(case):
    way, how, seed = case
    try:
        k, x = draws(way, how, seed)
    except RuntimeError as e:
        return case, math.inf, str(e)
    want, worst = exact(way), 0
    for v, w in zip((k, x, k * x, x ** 2), want):
        means = v.reshape(BATCHES, -1).mean(1)
        z = (means.mean() - w) / (means.std(ddof=1) / math.sqrt(BATCHES) + 1e-12)
        worst = max(worst, abs(z))
    return case, worst, "E[k] %.3f, exact %.3f" % (k.mean(), want[0])


only = sys.argv[2:]
cases = [(way, how, 1 + i) for i, (way, how) in enumerate((w, h) for w in WAYS for h in STEPS if (w, h) not in REFUSED) if not only or way in only or how in only]
bad = 0
with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
    for (way, how, _), z, words in pool.map(test, cases):
        ok = z < Z_MAX
        bad += not ok
        if not ok or only: print("%s %-22s %-12s z = %.1f  %s" % ("ok  " if ok else "FAIL", way, how, z, words), flush=True)
print("%d cases, %d failed" % (len(cases), bad))
sys.exit(int(bad > 0))
