"""Simulation-based calibration (Talts, Betancourt, Simpson, Vehtari, Gelman 2018) of sample(), that is of nuts with its
adaptation: parameters from the prior, data from them, draws from the posterior; the rank of the true value among the draws
must be uniform. Used by run_sbc.py and run_sbc_long.py."""
import json, os, subprocess, tempfile

import numpy as np
from scipy import stats as st

DRAWS, THIN, WARMUP, P_VALUE_MIN = 63, 3, 200, 1e-5

# family: (model, statements that simulate and observe, quantities)
FAMILIES = {
    "groups": ("""assume mu = normal(0, 2);
  assume tau = gamma(4, 2);
  assume theta = mem(proc(j) { normal(mu, tau) });
  assume kept = array(theta(0), theta(1), theta(2), theta(3), theta(4));""",
               ["normal(theta(%d), 1)" % j for j in range(5)], ["mu", "tau", "theta(0)", "theta(4)"]),
    "line": ("""assume a = normal(0, 10);
  assume b = normal(0, 10);
  assume sigma = gamma(2, 1);""", ["normal(a + b * %g, sigma)" % (5 + 0.3 * i) for i in range(8)], ["a", "b", "sigma"]),
    "logistic": ("""assume a = normal(0, 1.5);
  assume b = student_t(5, 0, 1);""", ["bernoulli(1 / (1 + exp(0 - a - b * %g)))" % (i / 4 - 2) for i in range(16)], ["a", "b"]),
    "counts": ("""assume rate = gamma(2, 0.5);
  assume size = uniform_continuous(0.5, 4);
  assume slope = laplace(0, 0.5);""", ["poisson(rate * size * exp(slope * %g))" % (i / 4 - 1) for i in range(9)],
               ["rate", "size", "slope"]),
    "shares": ("""assume p = dirichlet(vector(1, 2, 0.7));
  assume q = beta(0.8, 3);
  assume s = inv_gamma(3, 2);""", ["categorical(p, array(0, 1, 2))"] * 9 + ["bernoulli(q)"] * 6 + ["normal(0, sqrt(s))"] * 4,
               ["lookup(p, 0)", "lookup(p, 2)", "q", "s"]),
}

PROGRAM = """define once = proc() { first(run(in_model(run(new_model()), {
  %s
  assume quantities = array(%s);
  truth <- sample quantities;
  %s
  draws <- sample(warmup=%d, draws=%d, thin=%d, collect=collect(quantities));
  let rows = column(draws, "quantities");
  return(mapv(proc(q) { sum(mapv(proc(d) { if (lookup(d, q) < lookup(truth, q)) { 1 } else { 0 } }, rows)) }, arange(%d)))
}))) };
mapv(proc(i) { once() }, arange(%d));
"""


def ranks(tool, family, replicates, seed):
    model, data, quantities = FAMILIES[family]
    observed = "\n  ".join("y%d <- sample %s; observe %s = y%d;" % (i, d, d, i) for i, d in enumerate(data))
    text = PROGRAM % (model, ", ".join(quantities), observed, WARMUP, DRAWS, THIN, len(quantities), replicates)
    with tempfile.NamedTemporaryFile("w", suffix=".vnts") as f:
        f.write(text)
        f.flush()
        r = subprocess.run([tool, "run", "-q", "--seed", str(seed), f.name], capture_output=True, text=True)
    if r.returncode: raise SystemExit(r.stderr)
    return np.array(json.loads(r.stdout.strip().splitlines()[-1])).astype(int)


def calibrated(tool, replicates, bins, seed):
    """Prints a line per quantity; {family: (quantities, counts by bin, p-values)} and how many are not uniform."""
    out, bad = {}, 0
    for family, (_, _, names) in FAMILIES.items():
        r = ranks(os.path.abspath(tool), family, replicates, seed)
        seen = [np.bincount(r[:, j] * bins // (DRAWS + 1), minlength=bins) for j in range(len(names))]
        p = [st.chisquare(s).pvalue for s in seen]
        for name, s, one in zip(names, seen, p):
            bad += one < P_VALUE_MIN
            print("%s %-8s %-12s p = %.3g  ranks %s" % ("ok  " if one >= P_VALUE_MIN else "FAIL", family, name, one, " ".join(map(str, s))),
                  flush=True)
        out[family] = names, seen, p
    return out, bad
