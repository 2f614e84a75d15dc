#!/usr/bin/env python3
"""Posteriors of makers' parameters by `mh`, against quadrature and enumeration.

Each case is a program whose last line prints draws; their mean must agree with the exact posterior
mean within five Monte Carlo standard errors (batch means; about one false alarm in a million per
case). Fixed seed; --seed N tries another. Usage: run_makers.py TOOL [--seed N]"""
import itertools, math, subprocess, sys, tempfile, os
try:
    import numpy as np
    from scipy import integrate, special, stats
except ImportError:
    if sys.executable == "/usr/bin/python3": raise
    os.execv("/usr/bin/python3", ["/usr/bin/python3"] + sys.argv)  # Debian's has numpy and scipy

tool = os.path.abspath(sys.argv[1])
seed = sys.argv[sys.argv.index("--seed") + 1] if "--seed" in sys.argv else "1"
DRAWS, BATCHES = 3000, 30

def draws(q, thin=4):
    return ("infer mh(default, one, 300);\n"
            "mapv(proc(i) { run(do(mh(default, one, %d), sample(%s))) }, arange(%d));\n" % (thin, q, DRAWS))

def mean1(density, f=lambda x: x, lo=0, hi=np.inf):
    """Mean of f under an unnormalised density on the line."""
    pts = dict(limit=400)
    return (integrate.quad(lambda x: f(x) * density(x), lo, hi, **pts)[0] /
            integrate.quad(density, lo, hi, **pts)[0])

gam = lambda x, k, b: stats.gamma(k, scale=1 / b).pdf(x)
lg = special.gammaln
cases = []

# beta-Bernoulli, five heads: a / (a+1) (a+1)/(a+2) ... with b = 1
bb = lambda a: math.exp(special.betaln(a + 5, 1) - special.betaln(a, 1)) * gam(a, 2, 1)
for kind in ("", "uc_"):
    cases.append(("make_%sbeta_bernoulli" % kind,
                  "assume a = gamma(2, 1);\nassume f = make_%sbeta_bernoulli(a, 1);\n" % kind +
                  "infer repeat(5, observe(f(), true));\n" + draws("a", 8), mean1(bb, hi=60)))
cases.append(("make_uc_beta_bernoulli, predictive",
              "assume f = make_uc_beta_bernoulli(2, 2);\ninfer repeat(3, observe(f(), true));\n" +
              draws("if (f()) { 1 } else { 0 }"), 5 / 7))
cases.append(("make_suff_stat_bernoulli",
              "assume w = beta(2, 3);\nassume f = make_suff_stat_bernoulli(w);\n"
              "infer repeat(4, observe(f(), true));\nobserve f() = false;\n" + draws("w"), 6 / 10))

# gamma-Poisson: rate b ~ gamma(2, 1), shape 3, data 4, 0, 3
data, k = [4, 0, 3], 3
def gp(b):
    s, n = sum(data), len(data)
    return math.exp(lg(k + s) - lg(k) + k * math.log(b) - (k + s) * math.log(b + n)) * gam(b, 2, 1)
obs = "".join("observe f() = %d;\n" % x for x in data)
for kind in ("", "uc_"):
    cases.append(("make_%sgamma_poisson" % kind,
                  "assume b = gamma(2, 1);\nassume f = make_%sgamma_poisson(3, b);\n" % kind + obs +
                  draws("b", 8), mean1(gp, hi=80)))
cases.append(("make_suff_stat_poisson", "assume m = gamma(2, 1);\nassume f = make_suff_stat_poisson(m);\n" +
              obs + draws("m"), (2 + 7) / (1 + 3)))

# normal data with known sd: conjugate
xs = [1.0, 2.5, 0.5]
obs = "".join("observe f() = %g;\n" % x for x in xs)
cases.append(("make_suff_stat_normal, mean", "assume m = normal(0, 2);\nassume f = make_suff_stat_normal(m, 1);\n" +
              obs + draws("m"), sum(xs) / (3 + 0.25)))
sd_post = lambda s: gam(s, 2, 1) * np.prod([stats.norm(1, s).pdf(x) for x in xs])
cases.append(("make_suff_stat_normal, sd", "assume s = gamma(2, 1);\nassume f = make_suff_stat_normal(1, s);\n" +
              obs + draws("s"), mean1(sd_post, lo=1e-9, hi=60)))

# normal-inverse-gamma: the joint of three data as a multivariate t, prior location m ~ normal(0, 2)
def nig(m, V=2.0, a=3.0, b=2.0):
    n = len(xs); D = np.mean(xs) - m; w = n / (1 + n * V); S = np.var(xs) * n
    return (b + 0.5 * (S + w * D * D)) ** -(a + n / 2) * stats.norm(0, 2).pdf(m)
for kind in ("", "uc_"):
    cases.append(("make_%snig_normal" % kind, "assume m = normal(0, 2);\nassume f = make_%snig_normal(m, 2, 3, 2);\n" % kind +
                  obs + draws("m", 8), mean1(nig, lo=-30, hi=30)))
cases.append(("make_uc_nig_normal, predictive", "assume f = make_uc_nig_normal(0, 2, 3, 2);\n" + obs +
              draws("f()"), sum(xs) * 2 / (1 + 2 * 3)))

# normal-inverse-Wishart, k0 ~ gamma(2, 1), dimension 2
X = np.array([[1, 0], [0, 2.0]])
def niw(k0):
    n, p, v = 2, 2, 3.0; xb = X.mean(0); S = (X - xb).T @ (X - xb)
    Sn = np.eye(2) + S + k0 * n / (k0 + n) * np.outer(xb, xb)
    return (k0 / (k0 + n)) ** (p / 2) * np.linalg.det(Sn) ** (-(v + n) / 2) * gam(k0, 2, 1)
cases.append(("make_niw_normal", "assume k = gamma(2, 1);\nassume f = make_niw_normal([0, 0], k, 3, [[1, 0], [0, 1]]);\n"
              "observe f() = [1, 0];\nobserve f() = [0, 2];\n" + draws("k"), mean1(niw, hi=60)))

# Dirichlet-categorical: first alpha ~ gamma(2, 1), others 1; data 0, 0, 2
dc = lambda a: a * (a + 1) / ((a + 2) * (a + 3) * (a + 4)) * gam(a, 2, 1)
for kind in ("", "uc_"):
    cases.append(("make_%sdir_cat" % kind, "assume a = gamma(2, 1);\nassume f = make_%sdir_cat([a, 1, 1]);\n" % kind +
                  "observe f() = 0;\nobserve f() = 0;\nobserve f() = 2;\n" + draws("a", 8), mean1(dc, hi=60)))
sym = lambda a: (a + 1) / ((2 * a + 1)) * gam(a, 2, 1)  # a/(2a) (a+1)/(2a+1)
cases.append(("make_sym_dir_cat", "assume a = gamma(2, 1);\nassume f = make_sym_dir_cat(a, 2, [\"x\", \"y\"]);\n"
              "observe f() = \"x\";\nobserve f() = \"x\";\n" + draws("a"), mean1(sym, hi=60)))
# a random number of categories; the start may be impossible
w = {n: stats.poisson(3).pmf(n) / ((n + 1) * (n + 2)) for n in range(2, 60)}
cases.append(("make_sym_dir_cat, random size", "assume n = poisson(3);\nassume f = make_sym_dir_cat(1, n + 1);\n"
              "observe f() = 2;\nobserve f() = 0;\n" + draws("n", 6),
              sum(n * p for n, p in w.items()) / sum(w.values())))

# Chinese restaurant: alpha ~ gamma(2, 1), tables 1, 1, 2, 3: alpha^3 Gamma(alpha) / Gamma(alpha + 4)
crp = lambda a: math.exp(3 * math.log(a) + lg(a) - lg(a + 4)) * gam(a, 2, 1)
cases.append(("make_crp", "assume a = gamma(2, 1);\nassume f = make_crp(a);\n" +
              "".join("observe f() = %d;\n" % t for t in (1, 1, 2, 3)) + draws("a"), mean1(crp, lo=1e-12, hi=60)))
# mixture of three points over tables: P(first two together), by enumeration of partitions
ys = [0.0, 0.3, 2.0]
total = same = 0.0
for tables in itertools.product(range(3), repeat=3):
    if tables[0] != 0 or any(t > max(tables[:i]) + 1 for i, t in enumerate(tables) if i): continue
    p, counts = 1.0, {}
    for i, t in enumerate(tables):
        p *= (counts.get(t, 0) or 1.0) / (i + 1.0)
        counts[t] = counts.get(t, 0) + 1
    for t in counts:
        v = np.array([y for y, u in zip(ys, tables) if u == t])
        p *= stats.multivariate_normal(np.zeros(len(v)), np.eye(len(v)) * 0.25 + 1).pdf(v)
    total += p
    same += p * (tables[0] == tables[1])
cases.append(("make_crp, mixture", "assume crp = make_crp(1);\nassume z = mem(proc(i) { crp() });\n"
              "assume mu = mem(proc(k) { normal(0, 1) });\n" +
              "".join("observe normal(mu(z(%d)), 0.5) = %g;\n" % (i, y) for i, y in enumerate(ys)) +
              draws("if (z(0) == z(1)) { 1 } else { 0 }", 12), same / total))

# hidden Markov chain: stay probability p ~ beta(2, 2)
emit = {1: 0, 2: 0, 4: 1}
O = np.array([[0.9, 0.2], [0.1, 0.8]])
def hmm(p):
    T = np.array([[p, 1 - p], [1 - p, p]]); a = np.array([0.5, 0.5]); a = a * 1.0
    for t in range(5):
        if t: a = T @ a
        if t in emit: a = a * O[emit[t]]
    return a.sum() * stats.beta(2, 2).pdf(p)
cases.append(("make_lazy_hmm", "assume p = beta(2, 2);\nassume h = make_lazy_hmm([0.5, 0.5], [[p, 1 - p], [1 - p, p]], "
              "[[0.9, 0.2], [0.1, 0.8]]);\n" + "".join("observe h(%d) = %d;\n" % e for e in emit.items()) + draws("p"),
              mean1(hmm, hi=1)))

failed = 0
for name, program, exact in cases:
    with tempfile.NamedTemporaryFile("w", suffix=".vnts") as f:
        f.write(program)
        f.flush()
        run = subprocess.run([tool, "run", "--seed", seed, f.name], capture_output=True, text=True)
    lines = run.stdout.strip().split("\n")
    if run.returncode or not lines[-1].startswith("["):
        print("FAIL %s: exit status %d: %s" % (name, run.returncode, run.stderr.strip()[:300]))
        failed += 1
        continue
    x = np.array([float(t) for t in lines[-1].strip("[]").split(",")])
    means = x.reshape(BATCHES, -1).mean(1)
    z = (x.mean() - exact) / (means.std(ddof=1) / math.sqrt(BATCHES) + 1e-12)
    p = 2 * stats.t(BATCHES - 1).sf(abs(z))
    ok = p > 1e-6
    failed += not ok
    print("%s %s: mean %.4f, exact %.4f, z = %.2f" % ("ok  " if ok else "FAIL", name, x.mean(), exact, z))
print("%d cases, %d failed, seed %s" % (len(cases), failed, seed))
sys.exit(failed > 0)
