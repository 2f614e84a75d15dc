#!/usr/bin/python3
"""Every distribution of numbers against scipy over grids of parameters, extreme ones among them: log densities,
distribution functions in both tails, truncated densities, quantiles; truncated draws against the distribution
function; statements on sequences against the sum over their elements.

The oracle's rows are by our names; scipy's parameters are given by a function of ours. A row of ours with bounds
that is not here fails the test."""
import itertools, json, math, os, re, subprocess, sys, tempfile
import numpy as np
from scipy import special, stats as st

TOOL = os.path.abspath(sys.argv[1])
np.seterr(all="ignore")


class Through:
    """A distribution of x by that of g(x), which grows: log densities get log g'(x)."""
    def __init__(self, d, g, log_slope, inverse): self.d, self.g, self.log_slope, self.ppf = d, g, log_slope, lambda p: inverse(d.ppf(p))

    def logpdf(self, x): return self.d.logpdf(self.g(x)) + self.log_slope(x)

    def logcdf(self, x): return self.d.logcdf(self.g(x))

    def logsf(self, x): return self.d.logsf(self.g(x))


class Half:
    """The absolute value of a symmetric one."""
    def __init__(self, d): self.d, self.ppf = d, lambda p: d.ppf(0.5 + 0.5 * p)

    def logpdf(self, x): return self.d.logpdf(x) + math.log(2)

    def logcdf(self, x): return math.log(2 * self.d.cdf(x) - 1)

    def logsf(self, x): return self.d.logsf(x) + math.log(2)


class Mass:
    """A discrete distribution given by its log mass alone."""
    def __init__(self, logpmf): self.logpmf = logpmf


class Skewed:
    """skew_double_exponential."""
    def __init__(self, m, s, t): self.m, self.s, self.t = m, s, t

    def logpdf(self, x):
        d = x - self.m
        w = (self.t - 1) * d if d < 0 else self.t * d
        return math.log(2 * self.t * (1 - self.t) / self.s) - 2 * w / self.s

    def logcdf(self, x):
        d = 2 * (x - self.m) / self.s
        return math.log(self.t) + (1 - self.t) * d if d < 0 else math.log1p(-(1 - self.t) * math.exp(-self.t * d))

    def logsf(self, x):
        d = 2 * (x - self.m) / self.s
        return math.log1p(-self.t) - self.t * d if d >= 0 else math.log1p(-self.t * math.exp((1 - self.t) * d))


def neg2(m, f): return st.nbinom(f, f / (f + m))


def betaln_ways(k, r): return special.gammaln(k + r) - special.gammaln(k + 1) - special.gammaln(r)


# name: (scipy's distribution from our parameters, parameters, values, discrete)
POS = [1e-3, 0.2, 1, 3.7, 40]
REAL = [-30, -2.5, -0.1, 0, 0.7, 4, 50]
SCALES = [(0, 1), (-3, 0.5), (100, 20)]
ROWS = {
    "normal": (lambda m, s: st.norm(m, s), SCALES, REAL),
    "gamma": (lambda k, b: st.gamma(k, scale=1 / b), [(0.4, 2), (1, 1), (7.5, 0.5), (250, 3), (1e4, 100)], POS + [100, 230]),
    "inv_gamma": (lambda k, b: st.invgamma(k, scale=b), [(0.8, 1), (5, 3), (200, 100)], POS),
    "expon": (lambda b: st.expon(scale=1 / b), [(0.1,), (2.5,)], POS),
    "beta": (lambda a, b: st.beta(a, b), [(0.5, 0.5), (3, 1.2), (300, 20)], [1e-4, 0.3, 0.95, 0.999]),
    "uniform_continuous": (lambda l, h: st.uniform(l, h - l), [(-2, 4.5)], [-1.9, 0, 4]),
    "student_t": (lambda v, m, s: st.t(v, m, s), [(3, 0, 1), (0.7, -1, 0.5), (1e4, 1, 2)], REAL),
    "laplace": (lambda m, s: st.laplace(m, s), SCALES, REAL),
    "lognormal": (lambda m, s: st.lognorm(s, scale=math.exp(m)), [(0.3, 0.8), (-2, 3)], POS),
    "cauchy": (lambda m, s: st.cauchy(m, s), SCALES, REAL),
    "logistic_distribution": (lambda m, s: st.logistic(m, s), SCALES, REAL),
    "gumbel": (lambda m, s: st.gumbel_r(m, s), SCALES, [x for x in REAL if x > -3] + [90]),
    "half_normal": (lambda s: st.halfnorm(scale=s), [(0.3,), (2,)], POS),
    "half_cauchy": (lambda s: st.halfcauchy(scale=s), [(0.3,), (2,)], POS),
    "skew_normal": (lambda m, s, k: st.skewnorm(k, m, s), [(0, 1, 4), (1, 2, -0.5), (0, 1, 0)], [-2, -0.1, 0.5, 3]),
    "skew_double_exponential": (Skewed, [(0, 1, 0.3), (2, 5, 0.9)], REAL),
    "exp_mod_normal": (lambda m, s, l: st.exponnorm(1 / (l * s), m, s), [(0, 1, 1), (2, 0.5, 0.2)], [-1, 0, 0.7, 4, 20]),
    "weibull": (lambda k, s: st.weibull_min(k, scale=s), [(0.7, 2), (3, 1), (1, 5)], POS),
    "frechet": (lambda k, s: st.invweibull(k, scale=s), [(0.7, 2), (3, 1)], POS[1:]),
    "rayleigh": (lambda s: st.rayleigh(scale=s), [(0.5,), (3,)], POS),
    "loglogistic": (lambda m, k: st.fisk(k, scale=m), [(1, 2), (5, 0.6)], POS),
    "pareto": (lambda m, k: st.pareto(k, scale=m), [(0.1, 2), (0.1, 0.5)], POS[1:]),
    "pareto_type_2": (lambda m, s, k: st.lomax(k, m, s), [(0, 1, 2), (-3, 5, 0.5)], POS),
    "chi_square": (lambda v: st.chi2(v), [(1,), (4.5,), (60,)], POS),
    "inv_chi_square": (lambda v: st.invgamma(v / 2, scale=0.5), [(1,), (4.5,)], POS),
    "scaled_inv_chi_square": (lambda v, s: st.invgamma(v / 2, scale=v * s * s / 2), [(1, 2), (4.5, 0.5)], POS),
    "beta_proportion": (lambda m, k: st.beta(m * k, (1 - m) * k), [(0.3, 5), (0.9, 0.5)], [1e-4, 0.3, 0.95]),
    "log_beta": (lambda a, b: Through(st.beta(a, b), np.exp, lambda y: y, np.log), [(0.5, 2), (3, 4)], [-8, -0.7, -0.01]),
    "log_odds_beta": (lambda a, b: Through(st.beta(a, b), special.expit, lambda y: special.log_expit(y) + special.log_expit(-y),
                                           special.logit), [(0.5, 2), (3, 4)], [-6, 0.4, 3]),
    "log_odds_uniform": (lambda: st.logistic(), [()], [-5, 0, 0.7, 30]),
    "half_student_t": (lambda v, s: Half(st.t(v, 0, s)), [(3, 2), (0.5, 1), (100, 5)], POS),
    "vonmises": (lambda m, k: st.vonmises(k, m), [(0.5, 2), (1, 0.1), (-2, 400)], [-2.9, -2, 0, 1.1]),
    "binomial": (lambda n, p: st.binom(n, p), [(4, 0.3), (60, 0.45), (1000, 0.002)], [0, 1, 3, 4, 30]),
    "binomial_logit": (lambda n, l: st.binom(n, special.expit(l)), [(4, -1), (60, 2)], [0, 1, 3, 4, 30]),
    "poisson": (lambda m: st.poisson(m), [(0.3,), (5,), (300,)], [0, 1, 4, 30, 280]),
    "poisson_log": (lambda l: st.poisson(math.exp(l)), [(-2,), (0,), (3,)], [0, 1, 4, 30]),
    "geometric": (lambda p: st.geom(p, -1), [(0.2,), (0.9,)], [0, 1, 7]),
    "negative_binomial": (lambda r, p: st.nbinom(r, p), [(2.5, 0.3), (40, 0.7)], [0, 1, 6, 30]),
    "neg_binomial": (lambda r, b: st.nbinom(r, b / (b + 1)), [(2.5, 0.3), (40, 7)], [0, 1, 6, 30]),
    "neg_binomial_2": (neg2, [(3, 0.5), (20, 100)], [0, 1, 6, 30]),
    "neg_binomial_2_log": (lambda l, f: neg2(math.exp(l), f), [(1, 0.5), (3, 100)], [0, 1, 6, 30]),
    "beta_binomial": (lambda n, a, b: st.betabinom(n, a, b), [(10, 2, 3), (40, 0.5, 0.7)], [0, 1, 6, 10]),
    "hypergeometric": (lambda n, a, b: st.hypergeom(a + b, a, n), [(5, 10, 20), (12, 10, 4)], [0, 2, 4, 8]),
    "uniform_discrete": (lambda l, h: st.randint(l, h), [(-2, 5)], [-2, 0, 4]),
    "beta_neg_binomial": (lambda r, a, b: Mass(lambda k: betaln_ways(k, r) + special.betaln(a + r, b + k) - special.betaln(a, b)),
                          [(3, 2, 4), (0.5, 3, 1)], [0, 1, 7]),
}
NO_TAILS = {"skew_normal", "vonmises", "beta_neg_binomial", "log_odds_uniform"}


def run(lines):
    with tempfile.NamedTemporaryFile("w", suffix=".vnts", delete=False) as f: f.write("\n".join(lines) + "\n")
    try:
        r = subprocess.run([TOOL, "run", "--seed", "5", f.name], capture_output=True, text=True, timeout=300)
    finally:
        os.unlink(f.name)
    if r.returncode: raise SystemExit("exit status %d: %s" % (r.returncode, r.stderr))
    return [json.loads(re.sub(r"-?\binf\b", lambda m: '"%s"' % m.group(), x)) for x in r.stdout.strip().splitlines()]


def num(x): return float(x) if isinstance(x, str) else x


bad, asked = [], []


def ask(expression, want, what, tolerance=1e-9): asked.append((expression, want, what, tolerance))


def log_mass(d, lo, hi, discrete):
    """log P(lo <= X <= hi), from the side that does not cancel."""
    below = lo - 1 if discrete else lo
    if d.logsf(below) < d.logcdf(below):
        a, b = d.logsf(below), d.logsf(hi)
    else:
        a, b = d.logcdf(hi), d.logcdf(below)
    return a + math.log1p(-math.exp(b - a)) if b > -np.inf else a


for name, (make, grid, values) in ROWS.items():
    for par in grid:
        d, args = make(*par), "".join(", %r" % p for p in par)
        discrete = isinstance(d, Mass) or (hasattr(d, "dist") and isinstance(d.dist, st.rv_discrete))
        density = d.logpmf if discrete else d.logpdf
        for x in values:
            want = float(density(x))
            if not np.isfinite(want): continue
            ask("assess(%r, %s%s)" % (x, name, args), want, "density")
            if name in NO_TAILS: continue
            lower, upper = float(d.logcdf(x)), float(d.logsf(x))
            # scipy loses the smaller tail of some where it is far out, by 1 - F
            if lower > -30: ask("log_cdf(%r, %s%s)" % (x, name, args), lower, "lower tail", 1e-7)
            if upper > -30: ask("log_ccdf(%r, %s%s)" % (x, name, args), upper, "upper tail", 1e-7)
        if name in NO_TAILS: continue
        inside = [x for x in values if -20 < d.logcdf(x) and d.logsf(x) > -20 and np.isfinite(density(x))]
        for lo, hi in itertools.combinations(inside, 2):
            x = lo if discrete else 0.5 * (lo + hi)
            if not np.isfinite(density(x)): continue
            want = float(density(x)) - log_mass(d, lo, hi, discrete)
            ask("assess(%r, %s%s, %r, %r)" % (x, name, args, lo, hi), want, "truncated density", 1e-6)
        if not discrete and hasattr(d, "ppf"):
            for p in (1e-6, 0.01, 0.5, 0.93): ask("inverse_cdf(%r, %s%s)" % (p, name, args), float(d.ppf(p)), "quantile", 1e-7)

# far tails, where 1 - F is 0: known expansions
ask("log_ccdf(40, normal, 0, 1)", float(st.norm.logsf(40)), "far tail")
ask("log_cdf(-1e5, normal, 0, 1)", float(st.norm.logcdf(-1e5)), "far tail")
ask("assess(1e12, cauchy, 0, 1)", -math.log(math.pi) - 2 * math.log(1e12), "density")
ask("log_ccdf(1e12, cauchy, 0, 1)", -math.log(math.pi) - math.log(1e12), "far tail")
ask("log_ccdf(1000, gamma, 2, 1)", -1000 + math.log(1001), "far tail")
ask("log_cdf(1e-200, gamma, 2, 1)", 2 * math.log(1e-200) - math.log(2), "far tail")
ask("log_ccdf(1e20, student_t, 3, 0, 1)", float(math.log(st.t.sf(1e6, 3)) - 3 * math.log(1e14)), "far tail")
ask("assess(1.0000000005, normal, 0, 1, 1, 1.000000001)", math.log(1e9), "narrow", 1e-6)
ask("assess(300, poisson, 5, 300, 301)", -math.log1p(5 / 301), "narrow")
ask("assess(1000, poisson, 5, 1000, 100000)", -math.log(sum(math.exp(k * math.log(5) - math.lgamma(1001 + k) + math.lgamma(1001))
                                                                for k in range(30))), "far tail")
ask("assess([1, 2], gamma, [2, 3], 1)", float(st.gamma.logpdf([1, 2], [2, 3]).sum()), "sequence")
ask("assess(0, poisson, 0)", 0.0, "mean 0")
ask("assess(2, poisson, 0)", -math.inf, "mean 0")
ask("poisson(0)", 0.0, "mean 0")
ask("log_cdf(0, poisson, 0)", 0.0, "mean 0")
ask("assess([1, 2, 0], poisson, 3)", float(st.poisson.logpmf([1, 2, 0], 3).sum()), "sequence")
ask("log_ccdf([1, 2], expon, [2, 3])", -8, "sequence")

got = run(["%s;" % e for e, _, _, _ in asked])
kinds = {}
for (expression, want, what, tolerance), x in zip(asked, got):
    x = num(x)
    error = abs(x - want) / max(1, abs(want)) if x != want else 0
    kinds[what] = max(kinds.get(what, 0), error)
    if not error <= tolerance: bad.append("%s is %r, scipy has %r (%s)" % (expression, x, want, what))

# truncated draws: P(X <= x | lo <= X <= hi) is uniform
DRAWN = [("normal", (0, 1), 5, None), ("normal", (0, 1), None, -6), ("normal", (0, 1), -0.5, 0.3), ("gamma", (0.4, 2), 3, 5),
         ("student_t", (3, 0, 1), 2, None), ("cauchy", (0, 1), -1, 50), ("beta", (3, 1.2), 0.2, 0.4), ("expon", (2.5,), 1, None)]
lines = []
for name, par, lo, hi in DRAWN:
    bounds = "".join(", %s=%r" % (k, v) for k, v in (("lower", lo), ("upper", hi)) if v is not None)
    lines.append("mapv(proc(i) { %s(%s%s) }, arange(400));" % (name, ", ".join(map(repr, par)), bounds))
for (name, par, lo, hi), xs in zip(DRAWN, run(lines)):
    d = ROWS[name][0](*par)
    lo, hi = -np.inf if lo is None else lo, np.inf if hi is None else hi
    u = [math.exp((log_mass(d, lo, x, False) if x > lo else -np.inf) - log_mass(d, lo, hi, False)) for x in xs]
    p = st.kstest(u, "uniform").pvalue
    if p < 1e-6: bad.append("%s%r between %r and %r: draws have p = %g" % (name, par, lo, hi, p))

# a row with bounds that nobody tries
with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs", "reference.md")) as f:
    bounded = set(re.findall(r"`(\w+)\([^`]*lower\?: real, upper\?: real\)", f.read()))
bad += ["%s is not in this test" % name for name in sorted(bounded - set(ROWS))]
if len(bounded) < 35: bad.append("the reference page names only %d distributions with bounds" % len(bounded))
for b in bad[:40]: print("FAIL", b)
for what, error in kinds.items(): print("%-18s largest error %.1e" % (what, error))
print("%d values, %d truncated samplers: %d wrong" % (len(asked), len(DRAWN), len(bad)))
sys.exit(bool(bad))
