#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A user's grammar of kernels searched by structure_search, against enumeration.

The grammar of docs/howto-grammar.md has ten kernels of at most five parameters on sixteen values. Their
evidences are computed here by plain Monte Carlo over the prior, with numpy's own likelihood, and compared with the
posterior of structure_search, with the exact chains of structure_chains and with the draws of structure_mh: total
variation below 0.05 (0.08 for the draws of structure_mh, of which there are some hundred effective ones). Starting the
search in another state, with another seed, does not matter. What is no grammar is refused with the reason.

    run_grammar_search.py GPMEM"""
import itertools
import math
import os
import subprocess
import sys
import tempfile
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
import numpy as np

TOOL = os.path.abspath(sys.argv[1])
LEAF = {"LIN": 0.4, "SE": 0.3, "PER": 0.3}
MODEL = """
define xs = arange(16);
define ys = mapv(proc(x) { 0.3 * (x - 7.5) + 1.2 * sin(6.283 * x / 4) + 0.6 * int_mod(7 * x, 5) }, xs);
assume size = proc() { tag(scope="parameters", lognormal(1, 1)) };
assume leaf = proc() {
  if (flip(0.4)) {
    make_linear(size(), 7.5)
  } else {
    if (flip(0.5)) { make_squaredexp(size(), tag(scope="parameters", lognormal(1, 1))) }
    else { make_periodic(size(), 4, 1) }
  }
};
assume sum_from = proc(i) {
  if (i == 2) {
    make_whitenoise(tag(scope="parameters", lognormal(0, 1)))
  } else {
    if (tag(scope="grammar", block=i, flip(0.6))) {
      add_funcs(tag(scope="grammar", block=i, leaf()), sum_from(i + 1))
    } else {
      sum_from(i + 1)
    }
  }
};
assume K = sum_from(0);
assume f = make_gp(0, K);
observe f(xs) = ys;
"""
X = np.arange(16.0)
Y = 0.3 * (X - 7.5) + 1.2 * np.sin(6.283 * X / 4) + 0.6 * ((7 * X) % 5)
D = X[:, None] - X[None, :]
RNG = np.random.default_rng(1)


def lognormal(mean, n):
    return np.exp(mean + RNG.standard_normal(n))[:, None, None]


def term(kind, n):
    s = lognormal(1, n) ** 2
    if kind == "LIN":
        return s * np.outer(X - 7.5, X - 7.5)
    if kind == "SE":
        return s * np.exp(-D ** 2 / (2 * lognormal(1, n) ** 2))
    return s * np.exp(-2 * np.sin(np.pi * D / 4) ** 2)


def log_evidence(kinds, batches=4, n=20000):
    """The mean likelihood of parameters drawn from the prior."""
    total = []
    for _ in range(batches):
        k = lognormal(0, n) ** 2 * np.eye(16) + 1e-9 * np.eye(16)
        for kind in kinds:
            k = k + term(kind, n)
        low = np.linalg.cholesky(k)
        v = np.linalg.solve(low, np.broadcast_to(Y[:, None], (n, 16, 1)))[:, :, 0]
        total.append(-0.5 * (v ** 2).sum(1) - np.log(np.diagonal(low, axis1=1, axis2=2)).sum(1))
    t = np.concatenate(total)
    return t.max() + math.log(np.exp(t - t.max()).mean()) - 8 * math.log(2 * math.pi)


def enumeration():
    """structure -> probability; LIN + LIN is a LIN."""
    logs = {}
    for kinds in itertools.chain.from_iterable(itertools.product(LEAF, repeat=k) for k in (0, 1, 2)):
        prior = math.prod([0.4 * 0.4, 2 * 0.6 * 0.4, 0.6 * 0.6][len(kinds):len(kinds) + 1] + [LEAF[k] for k in kinds])
        key = tuple(sorted(kinds))
        logs.setdefault(key, [None, 0])[1] += prior
    for key, v in logs.items():
        v[0] = log_evidence(key)
    top = max(v[0] for v in logs.values())
    out = {}
    for key, (z, prior) in logs.items():
        name = " + ".join((["LIN"] if key == ("LIN", "LIN") else list(key)) + ["WN"])
        out[name] = out.get(name, 0) + prior * math.exp(z - top)
    total = sum(out.values())
    return {k: v / total for k, v in out.items()}


def run(text, seed=1, fails=False):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "p.vnts")
        with open(path, "w") as f:
            f.write(text)
        done = subprocess.run([TOOL, "run", "--seed", str(seed), path], capture_output=True, text=True, timeout=300)
    if (done.returncode != 0) != fails:
        raise SystemExit(done.stdout + done.stderr)
    return done.stderr if fails else done.stdout


def tables(text):
    """The tables that tabulate prints."""
    out = []
    for line in text.splitlines():
        if line.startswith("probability "):
            out.append({})
        part = line.split(None, 3)
        if len(part) == 4 and part[0][:2] in ("0.", "1."):
            out[-1][part[3]] = float(part[0])
    return out


def distance(a, b):
    return 0.5 * sum(abs(a.get(k, 0) - b.get(k, 0)) for k in set(a) | set(b))


def merged(p):
    """Texts of structures name equal terms once."""
    out = {}
    for k, v in p.items():
        name = " + ".join(sorted(set(k.split(" + ")) - {"WN"}) + ["WN"])
        out[name] = out.get(name, 0) + v
    return out


BAD = []


def expect(name, ok, what):
    print("%s %s: %s" % ("ok  " if ok else "FAIL", name, what))
    if not ok:
        BAD.append(name)


def refused(name, model, reason):
    said = run(model, fails=True)
    expect(name, reason in said, said.split("\n")[0])


exact = enumeration()
for seed in (1, 2, 3):
    search, chains = tables(run(MODEL + """
define model = run(structure_search("grammar", "parameters"));
infer structure_chains(model, 1500);
tabulate(model);
tabulate(structure_draws(model));
""", seed))
    expect("search, seed %d" % seed, distance(search, exact) < 0.05, "distance %.4f" % distance(search, exact))
    far = distance(merged(chains), merged(exact))
    expect("chains, seed %d" % seed, far < 0.05, "distance %.4f" % far)
moves, states = tables(run(MODEL + """
define step = do(structure_mh("grammar", one, "parameters", 8), laplace_mh("parameters", all, 1));
infer repeat(20, step);
define draws = run(accumulate_dataset(900, do(step, collect(K))));
tabulate(draws);
define states = run(accumulate_dataset(70, do(structure_search("grammar", "parameters", 100), collect(K))));
tabulate(states);
"""))
expect("moves", distance(moves, exact) < 0.08, "distance %.4f" % distance(moves, exact))
# the state after a search is a draw from what it found: 70 of them, one search each
expect("states", distance(states, exact) < 0.17, "distance %.4f" % distance(states, exact))

refused("a continuous choice", MODEL.replace("flip(0.6)", "uniform_continuous(0, 1) < 0.6")
        + 'structure_search("grammar", "parameters");', "finitely many values; scope")
refused("a choice without a list of values", MODEL.replace("flip(0.6)", "poisson(1) > 0")
        + 'structure_search("grammar", "parameters");', "finitely many values; scope")
refused("an untagged parameter", MODEL.replace('tag(scope="parameters", lognormal(1, 1)) };', "lognormal(1, 1) };", 1)
        + 'structure_search("grammar", "parameters");', "finitely many values; scope")
refused("an unknown scope", MODEL + 'structure_search("rules", "parameters");', "rules")
refused("several particles", MODEL + 'infer resample(3); structure_search("grammar", "parameters");', "one particle")
print("%d failed" % len(BAD))
sys.exit(1 if BAD else 0)
