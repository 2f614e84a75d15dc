#!/usr/bin/python3
"""The optimiser on families of problems (bench_bo2) beside peers of Debian on the same problems and budgets: nlopt
(COBYLA from random starts), Optuna (TPE, to 100 evaluations) and scikit-learn (a Gaussian process with expected
improvement, in few dimensions and with few bounds). A peer that is not installed is named and left out.
Usage: bo2.py build/gpmem [SEEDS, default 10 [FAMILY]]; the exit status is that of bench_bo2: 1 when a promise is missed."""
import os, re, statistics, subprocess, sys, warnings

os.environ["OPENBLAS_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = "1"
import numpy as np

warnings.filterwarnings("ignore")
BENCH = os.path.join(os.path.dirname(os.path.abspath(sys.argv[1])), "bench", "bench_bo2")
SEEDS = int(sys.argv[2]) if len(sys.argv) > 2 else 10
FAMILY = sys.argv[3:4]
missing = []


def has(name):
    try: return __import__(name)
    except ImportError:
        missing.append(name)
        return None


nlopt, optuna = has("nlopt"), has("optuna")


class Problem:
    """The problem as bench_bo2 serves it: one implementation for all."""

    def __init__(self, line):
        name, family, d, n_obj, n_con, budget, best, box = line.rstrip("\n").split("\t")
        self.name, self.family, self.d, self.budget, self.best = name, family, int(d), int(budget), float(best)
        self.n_obj, self.n_con = int(n_obj), int(n_con)
        self.box = np.array([float(v) for v in box.split()]).reshape(-1, 2)
        self.p = subprocess.Popen([BENCH, "serve", name], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __call__(self, u):
        x = self.box[:, 0] + np.clip(u, 0, 1) * (self.box[:, 1] - self.box[:, 0])
        self.p.stdin.write(" ".join(repr(float(v)) for v in x) + "\n")
        self.p.stdin.flush()
        y = np.array([float(v) for v in self.p.stdout.readline().split()])
        self.seen.append(y)
        return y

    def missing(self):
        fine = [y[0] for y in self.seen[:self.budget] if (y[1:] <= 0).all()]
        return (min(fine) - self.best) / (abs(self.best) if self.n_con else 1) if fine else float("inf")


def cobyla(p, seed):
    rng, left = np.random.default_rng(seed), p.budget
    while left > 0:
        before = len(p.seen)
        o = nlopt.opt(nlopt.LN_COBYLA, p.d)
        cache = {}

        def at(u):
            key = tuple(u)
            if key not in cache: cache[key] = p(u)
            return cache[key]

        o.set_lower_bounds(0)
        o.set_upper_bounds(1)
        o.set_min_objective(lambda u, g: at(u)[0])
        for k in range(p.n_con): o.add_inequality_constraint(lambda u, g, k=k: at(u)[1 + k], 1e-9)
        o.set_maxeval(left)
        o.set_xtol_rel(1e-9)
        try: o.optimize(rng.random(p.d))
        except Exception: pass
        left -= max(1, len(p.seen) - before)


def tpe(p, seed):
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    bounds = (lambda trial: trial.user_attrs["c"]) if p.n_con else None
    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=seed, constraints_func=bounds))

    def f(trial):
        y = p(np.array([trial.suggest_float("x%d" % j, 0, 1) for j in range(p.d)]))
        trial.set_user_attr("c", [float(c) for c in y[1:]])
        return y[0]

    study.optimize(f, n_trials=p.budget)


def gp_ei(p, seed):
    from scipy.stats import norm
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel
    rng = np.random.default_rng(seed)
    X = rng.random((p.d + 3, p.d))
    Y = np.array([p(x) for x in X])
    kernel = ConstantKernel(1.0) * Matern(0.5 * np.ones(p.d), (0.02, 20), nu=2.5) + WhiteKernel(1e-6, (1e-9, 1e-2))
    while len(Y) < p.budget:
        c = rng.random((2000, p.d))
        models = [GaussianProcessRegressor(kernel, normalize_y=True).fit(X, Y[:, k]) for k in range(Y.shape[1])]
        m, s = models[0].predict(c, return_std=True)
        fine = (Y[:, 1:] <= 0).all(axis=1)
        best = Y[fine, 0].min() if fine.any() else Y[:, 0].max()
        u = (best - m) / np.maximum(s, 1e-12)
        score = np.log(np.maximum(s * (u * norm.cdf(u) + norm.pdf(u)), 1e-300)) if fine.any() else np.zeros(len(c))
        for g in models[1:]:
            gm, gs = g.predict(c, return_std=True)
            score += norm.logcdf(-gm / np.maximum(gs, 1e-12))
        x = c[np.argmax(score)]
        X, Y = np.vstack([X, x]), np.vstack([Y, p(x)])


ours = subprocess.run([BENCH, str(SEEDS), *FAMILY], stdout=subprocess.PIPE, text=True)
print("### The optimiser on %d seeds: medians of what is missing\n" % SEEDS)
print(ours.stdout)
peers = [("nlopt COBYLA", cobyla)] if nlopt else []
if optuna: peers.append(("Optuna TPE", tpe))
peers.append(("scikit-learn GP-EI", gp_ei))
print("### Peers on the same problems: the same medians (3 seeds)\n")
print("| problem |%s\n|---|%s" % ("".join(" %s |" % n for n, _ in peers), "---|" * len(peers)))
for line in subprocess.run([BENCH, "list"], stdout=subprocess.PIPE, text=True).stdout.splitlines():
    p = Problem(line)
    if p.n_obj != 1 or (FAMILY and FAMILY[0] not in (p.family, p.name)): continue
    cells = []
    for _, run in peers:
        got = []
        if (run is gp_ei and p.d * (1 + p.n_con) > 12) or (run is tpe and p.budget > 100):
            cells.append("takes too long")
            continue
        for seed in range(1, min(SEEDS, 3) + 1):
            p.seen = []
            run(p, seed)
            got.append(p.missing())
        cells.append("%.2g" % statistics.median(got))
    print("| %s | %s |" % (p.name, " | ".join(cells)), flush=True)
if missing: print("\nNot installed and left out: %s." % ", ".join(missing))
sys.exit(ours.returncode)
