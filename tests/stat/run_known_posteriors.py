#!/usr/bin/python3
"""Posteriors that are known: improper priors, truncated and censored data, sequences as data, by nuts and by slice;
replicates of a sequence that was observed under numbers. The mean, the variance where its own error is finite, and the
shares of draws below exact quantiles, each within five standard errors (of batches, which know how draws hang together)."""
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


SHARES = (0.05, 0.25, 0.5, 0.75, 0.95)


def exact(logp, lo, hi):
    """Mean, standard deviation, quantiles at SHARES."""
    xs = np.linspace(lo, hi, 1201)[1:-1]
    w = np.array([logp(x) for x in xs])
    w = np.exp(w - w.max())
    w /= w.sum()
    m = (w * xs).sum()
    return m, math.sqrt((w * (xs - m) ** 2).sum()), np.interp(SHARES, np.cumsum(w) - w / 2, xs)


def z_of(x, mean, sd):
    """How far the mean of x is off, in standard errors by 40 batches, or of independent draws where those are larger."""
    b = x[:len(x) // 40 * 40].reshape(40, -1).mean(1)
    return (x.mean() - mean) / max(b.std(ddof=1) / math.sqrt(40), sd / math.sqrt(len(x)))


def all_z(x, mean, sd, quantiles, fourth):
    zs = {"mean": z_of(x, mean, sd)}
    if fourth: zs["variance"] = z_of((x - mean) ** 2, sd * sd, 0)
    for share, q in zip(SHARES, quantiles): zs["%g%%" % (100 * share)] = z_of(x < q, share, math.sqrt(share * (1 - share)))
    return zs


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
NO_FOURTH_MOMENT = {"flat scale"}  # p(x) falls as x^-5
bad = 0
for name, (program, logp, lo, hi) in CASES.items():
    known = exact(logp, lo, hi)
    for op in ("nuts(default, all, 300, 1)", "slice(default, one, 1, 20, 3)"):
        out = run(program + "\ninfer %s;\ndefine d = run(accumulate_dataset(%d, do(%s, collect(x))));\nto_array(column(d, \"x\"));"
                  % (op.replace(", 1)", ", 100)"), N, op))
        x = np.array(out[-1])
        zs = all_z(x, *known, name not in NO_FOURTH_MOMENT)
        ok = max(map(abs, zs.values())) < 5
        bad += not ok
        print("%s %-17s %-6s %s" % ("ok  " if ok else "FAIL", name, op[:5], ", ".join("%s z = %.1f" % v for v in zs.items())))

# five replicates for five data, whatever their parameters are
out = run("assume x = normal(1, 0.1); observe normal(x, 2) = %s;\n"
          "define d = run(posterior_predictive_check(200, mh(default, one, 1), quantities=[[\"n\", y -> size(y)], [\"s\", y -> variance(y)]]));\n"
          "to_array(column(d, \"n\")); to_array(column(d, \"s\"));" % Y)
n, s = np.array(out[-2]), np.array(out[-1])
ok = (n == 5).all() and 2 < s.mean() < 5
bad += not ok
print("%s replicates of a sequence: %s elements, mean variance %.2f" % ("ok  " if ok else "FAIL", sorted(set(n)), s.mean()))
sys.exit(bad > 0)
