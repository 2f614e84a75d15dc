#!/usr/bin/python3
"""Posteriors that are known: improper priors, truncated and censored data, sequences as data, by nuts and by slice;
replicates of a sequence that was observed under numbers. Means within five standard errors (ESS of the draws)."""
import json, math, os, subprocess, sys, tempfile
import numpy as np
from scipy import integrate, stats as st

TOOL = os.path.abspath(sys.argv[1])
N = 2000


def run(text):
    with tempfile.NamedTemporaryFile("w", suffix=".vnts", delete=False) as f: f.write(text)
    try:
        r = subprocess.run([TOOL, "run", "--seed", "11", f.name], capture_output=True, text=True, timeout=300)
    finally:
        os.unlink(f.name)
    if r.returncode: sys.exit("exit status %d: %s\n%s" % (r.returncode, r.stderr, text))
    return [json.loads(x) for x in r.stdout.strip().splitlines() if x.startswith("[")]  # reports are printed, too


def moments(logp, lo, hi):
    xs = np.linspace(lo, hi, 1201)[1:-1]
    w = np.array([logp(x) for x in xs])
    w = np.exp(w - w.max())
    m = (w * xs).sum() / w.sum()
    quarter, three = np.interp((0.25, 0.75), np.cumsum(w) / w.sum(), xs)
    return m, math.sqrt((w * (xs - m) ** 2).sum() / w.sum()), three - quarter


def standard_error(x, sd):
    """By batches of 40."""
    b = x[:len(x) // 40 * 40].reshape(40, -1).mean(1)
    return max(b.std(ddof=1) / math.sqrt(40), sd / math.sqrt(len(x)))


Y = [1.2, 0.7, 2.2, 1.9, 0.4]
# name: (program, parameter, log posterior, from, to)
CASES = {
    "flat": ("assume x = flat(); observe normal(x, 2) = %s;" % Y, lambda x: st.norm.logpdf(Y, x, 2).sum(), -8, 10),
    "flat scale": ("assume x = flat_positive(); observe normal(1, x) = %s;" % Y, lambda x: st.norm.logpdf(Y, 1, x).sum(), 0.05, 30),
    "flat between": ("assume x = flat(0, 1.2); observe normal(x, 2) = %s;" % Y, lambda x: st.norm.logpdf(Y, x, 2).sum(), 0, 1.2),
    "flat below": ("assume x = flat(upper=0.5); observe normal(x, 2) = %s;" % Y, lambda x: st.norm.logpdf(Y, x, 2).sum(), -9, 0.5),
    "truncated prior": ("assume x = cauchy(0, 1, lower=0.5); observe normal(x, 1) = %s;" % Y,
                        lambda x: st.cauchy.logpdf(x) + st.norm.logpdf(Y, x, 1).sum(), 0.5, 6),
    "truncated data": ("assume x = normal(0, 2); observe normal(x, 1, lower=0.3) = %s;" % Y,
                       lambda x: st.norm.logpdf(x, 0, 2) + st.norm.logpdf(Y, x, 1).sum() - 5 * st.norm.logsf(0.3, x, 1), -8, 6),
    "truncated counts": ("assume x = gamma(2, 1); observe poisson(x, lower=1) = [1, 2, 1, 4];",
                         lambda x: st.gamma.logpdf(x, 2) + st.poisson.logpmf([1, 2, 1, 4], x).sum() - 4 * math.log(-math.expm1(-x)), 0, 12),
    "censored": ("assume x = gamma(2, 1); observe weibull(1.5, x) = [0.3, 1.1, 2]; observe exactly(0, log_ccdf([2.5, 2.5], weibull, 1.5, x)) = 1;",
                 lambda x: st.gamma.logpdf(x, 2) + st.weibull_min.logpdf([0.3, 1.1, 2], 1.5, scale=x).sum() +
                 2 * st.weibull_min.logsf(2.5, 1.5, scale=x), 0.1, 15),
    "counts": ("assume x = normal(0, 1); observe neg_binomial_2_log([x, x + 1, 2 * x], 3) = [1, 4, 0];",
               lambda x: st.norm.logpdf(x) + sum(st.nbinom.logpmf(k, 3, 3 / (3 + math.exp(e))) for k, e in ((1, x), (4, x + 1), (0, 2 * x))), -5, 5),
}
bad = 0
for name, (program, logp, lo, hi) in CASES.items():
    mean, sd, quartiles = moments(logp, lo, hi)
    for op in ("nuts(default, all, 300, 1)", "slice(default, one, 1, 20, 3)"):
        out = run(program + "\ninfer %s;\ndefine d = run(accumulate_dataset(%d, do(%s, collect(x))));\nto_array(column(d, \"x\"));"
                  % (op.replace(", 1)", ", 100)"), N, op))
        x = np.array(out[-1])
        z = (x.mean() - mean) / standard_error(x, sd)
        # not by the standard deviation: that of a scale with a flat prior has tails of its own
        spread = np.subtract(*np.percentile(x, (75, 25))) / quartiles
        ok = abs(z) < 5 and 0.8 < spread < 1.25
        bad += not ok
        print("%s %-17s %-6s mean %.3f (%.3f), z = %.1f, quartiles %.3f of them" % ("ok  " if ok else "FAIL", name, op[:5], x.mean(), mean, z, spread))

# five replicates for five data, whatever their parameters are
out = run("assume x = normal(1, 0.1); observe normal(x, 2) = %s;\n"
          "define d = run(posterior_predictive_check(200, mh(default, one, 1), quantities=[[\"n\", y -> size(y)], [\"s\", y -> variance(y)]]));\n"
          "to_array(column(d, \"n\")); to_array(column(d, \"s\"));" % Y)
n, s = np.array(out[-2]), np.array(out[-1])
ok = (n == 5).all() and 2 < s.mean() < 5
bad += not ok
print("%s replicates of a sequence: %s elements, mean variance %.2f" % ("ok  " if ok else "FAIL", sorted(set(n)), s.mean()))
sys.exit(bad > 0)
