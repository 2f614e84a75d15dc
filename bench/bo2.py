#!/usr/bin/python3
"""The optimiser on families of problems (bench_bo2) beside peers of Debian on the same problems and budgets: nlopt (COBYLA
from random starts), Optuna (TPE) and scikit-learn (a Gaussian process with expected improvement, in few dimensions and with
few bounds). Every run of one problem with one seed is a line of bench/results/bo2_runs.jsonl, and what is there is not run
again, so the study can be made in pieces: ours first, then the peers. A peer that is not installed is named and left out.
Usage: bo2.py build/gpmem [--seeds 10] [--minutes M: begin nothing later] [--only FAMILY,NAME,..] [--who ours,nlopt,tpe,sklearn]
[--moved: the optima elsewhere] [--jobs 2] [--fresh: forget our runs]. Exit status 1 when a promise is missed."""
import argparse, concurrent.futures, json, os, statistics, subprocess, sys, time, warnings

os.environ["OPENBLAS_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = "1"
import numpy as np

warnings.filterwarnings("ignore")
HERE = os.path.dirname(os.path.abspath(__file__))
RUNS = os.path.join(HERE, "results", "bo2_runs.jsonl")
PEERS = {"nlopt": "nlopt COBYLA", "tpe": "Optuna TPE", "sklearn": "scikit-learn GP-EI"}


class Problem:
    """The problem as bench_bo2 serves it: one implementation for all."""

    def __init__(self, line):
        f = line.rstrip("\n").split("\t")
        self.name, self.family, self.n_obj, self.n_con, self.budget = f[0], f[1], int(f[2]), int(f[3]), int(f[4])
        self.best, self.target, self.noise, self.fidelity = float(f[5]), float(f[6]), float(f[7]), f[8] == "1"
        self.ref = [float(v) for v in f[9].split()]
        self.space = [v for v in f[10].split("|") if v]
        self.box = all(v.split("=")[1].count(":") == 1 and "," not in v for v in self.space)
        self.d = len(self.space)

    def begin(self, bench, seed):
        self.seen, self.asked, self.rng = [], [], np.random.default_rng(seed)
        self.p = subprocess.Popen([bench, "serve", self.name], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def end(self):
        self.p.stdin.close()
        self.p.wait()

    def truth(self, x):
        self.p.stdin.write(" ".join(repr(float(v)) for v in x) + "\n")
        self.p.stdin.flush()
        return np.array([float(v) for v in self.p.stdout.readline().split()])

    def __call__(self, u):
        box = np.array([[float(v) for v in s.split("=")[1].split(":")] for s in self.space])
        return self.at(box[:, 0] + np.clip(u, 0, 1) * (box[:, 1] - box[:, 0]))

    def at(self, x):
        y = self.truth(x)
        self.seen.append(y)
        told = y + self.noise * self.rng.standard_normal(len(y))
        self.asked.append(told)
        return told

    def missing(self, n):
        """After n evaluations; under noise the true value at the one that looked best."""
        seen = self.seen[:n]
        if self.n_obj > 1: return 1 - volume([list(y) for y in seen], self.ref) / self.best
        fine = [i for i, y in enumerate(seen) if (y[1:] <= 0).all()]
        if not fine: return float("inf")
        value = seen[min(fine, key=lambda i: self.asked[i][0])][0]
        return (value - self.best) / (abs(self.best) if self.n_con else 1)


def volume(points, ref):
    """Volume between the points and ref, by slices of the last number."""
    points = [p for p in points if all(a < b for a, b in zip(p, ref))]
    if not points: return 0.0
    if len(ref) == 1: return ref[0] - min(p[0] for p in points)
    points.sort(key=lambda p: p[-1])
    ends = [p[-1] for p in points[1:]] + [ref[-1]]
    return sum((end - p[-1]) * volume([q[:-1] for q in points[:i + 1]], ref[:-1]) for i, (p, end) in enumerate(zip(points, ends))
               if end > p[-1])


def cobyla(p, seed):
    import nlopt
    rng, left = np.random.default_rng(seed), p.budget
    while left > 0:
        before, cache = len(p.seen), {}
        o = nlopt.opt(nlopt.LN_COBYLA, p.d)

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


def suggest(trial, text, got):
    """A variable of a space as text; one that does not matter has its lower end."""
    head, _, when = text.partition(" when ")
    name, rest = head.split("=")
    if when and got[when.split("=")[0]] not in when.split("=")[1].split(","):
        return None, float(rest.split(":")[0])
    if "," in rest:
        level = trial.suggest_categorical(name, rest.split(","))
        return level, float(rest.split(",").index(level))
    lo, hi, *how = rest.split(":")
    if "int" in how: v = trial.suggest_int(name, int(lo), int(hi))
    else: v = trial.suggest_float(name, float(lo), float(hi), log="log" in how)
    return v, float(v)


def tpe(p, seed):
    import optuna
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    bounds = (lambda trial: trial.user_attrs["c"]) if p.n_con else None
    study = optuna.create_study(directions=["minimize"] * p.n_obj, sampler=optuna.samplers.TPESampler(seed=seed, constraints_func=bounds))

    def f(trial):
        got, x = {}, []
        for text in p.space:
            got[text.split("=")[0]], v = suggest(trial, text, got)
            x.append(v)
        y = p.at(x)
        trial.set_user_attr("c", [float(c) for c in y[p.n_obj:]])
        return tuple(float(v) for v in y[:p.n_obj])

    study.optimize(f, n_trials=p.budget)


def gp_ei(p, seed):
    from scipy.stats import norm
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel
    rng = np.random.default_rng(seed)
    X = rng.random((p.d + 3, p.d))
    Y = np.array([p(x) for x in X])
    noise = WhiteKernel(1e-2, (1e-6, 10)) if p.noise else WhiteKernel(1e-6, (1e-9, 1e-2))
    kernel = ConstantKernel(1.0) * Matern(0.5 * np.ones(p.d), (0.02, 20), nu=2.5) + noise
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


def can(who, p):
    """What a peer can do, and does in bearable time."""
    if p.fidelity: return False
    if who == "nlopt": return p.box and p.n_obj == 1
    if who == "tpe": return p.budget <= 100
    return p.box and p.n_obj == 1 and p.d * (1 + p.n_con) <= 12 and p.budget <= 100


def run(bench, who, p, seed, moved):
    """One run in a process of its own, as a dictionary."""
    out = {"who": who, "problem": p.name, "seed": seed, "moved": moved}
    if who == "ours":
        r = subprocess.run([bench, "one", p.name, str(seed), str(seed if moved else 0)], stdout=subprocess.PIPE, text=True)
        if r.returncode: raise RuntimeError("bench_bo2 one %s %d: exit status %d" % (p.name, seed, r.returncode))
        out["half"], out["end"], out["cpu"], out["off"] = (float(v) for v in r.stdout.split())
        return out
    p.begin(bench, seed)
    t = time.process_time()
    {"nlopt": cobyla, "tpe": tpe, "sklearn": gp_ei}[who](p, seed)
    out["cpu"] = (time.process_time() - t) / p.budget
    out["half"], out["end"] = p.missing(p.budget // 2), p.missing(p.budget)
    p.end()
    return out


def work(args):
    bench, who, line, seed, moved = args
    return run(bench, who, Problem(line), seed, moved)


def table(problems, runs, seeds, moved, who):
    """The rows; and how many promises are missed."""
    peers = [w for w in PEERS if w in who or any(r["who"] == w for r in runs)]
    print("| problem | family | half way | at the end | promised | seeds | CPU ms a decision | intervals |%s" %
          "".join(" %s |" % PEERS[w] for w in peers))
    print("|" + "---|" * (8 + len(peers)))
    broken = 0
    for p in problems:
        of = {w: [r for r in runs if r["problem"] == p.name and r["who"] == w and r["moved"] == moved and r["seed"] <= seeds]
              for w in ["ours", *peers]}
        if not any(of.values()): continue
        cells = ["", "", "%.2g" % p.target if p.target else "", "0", "", ""]
        if of["ours"]:
            half, end = (statistics.median(r[k] for r in of["ours"]) for k in ("half", "end"))
            cells[0], cells[1] = "%.2g at %d" % (half, p.budget // 2), "%.2g at %d" % (end, p.budget)
            if p.target and end > p.target: broken, cells[2] = broken + 1, cells[2] + " **missed**"
            cells[3] = str(len(of["ours"]))
            cells[4] = "%.2f" % (1000 * statistics.mean(r["cpu"] for r in of["ours"]))
            if p.noise: cells[5] = "%.2f" % statistics.mean(abs(r["off"]) <= 1.645 for r in of["ours"])
        for w in peers:
            got = [r["end"] for r in of[w]]
            cells.append("" if not got else "%.2g" % statistics.median(got) + ("" if len(got) == seeds else " (%d)" % len(got)))
        print("| %s | %s | %s |" % (p.name, p.family, " | ".join(cells)))
    return broken


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("tool")
    a.add_argument("--seeds", type=int, default=10)
    a.add_argument("--minutes", type=float, default=1e9)
    a.add_argument("--only", default="")
    a.add_argument("--who", default="ours,nlopt,tpe,sklearn")
    a.add_argument("--jobs", type=int, default=2)
    a.add_argument("--moved", action="store_true")
    a.add_argument("--fresh", action="store_true")
    o = a.parse_args()
    bench = os.path.join(os.path.dirname(os.path.abspath(o.tool)), "bench", "bench_bo2")
    lines = subprocess.run([bench, "list"], stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()
    only, who, missing = [w for w in o.only.split(",") if w], o.who.split(","), []
    lines = [l for l in lines if not only or {Problem(l).name, Problem(l).family} & set(only)]
    for w, module in (("nlopt", "nlopt"), ("tpe", "optuna"), ("sklearn", "sklearn")):
        if w not in who: continue
        try: __import__(module)
        except ImportError: missing.append(PEERS[who.pop(who.index(w))])
    runs = []
    if os.path.exists(RUNS):
        with open(RUNS) as f: runs = [json.loads(l) for l in f]
    if o.fresh:
        runs = [r for r in runs if r["who"] != "ours"]
        with open(RUNS, "w") as f: f.writelines(json.dumps(r) + "\n" for r in runs)
    done = {(r["who"], r["problem"], r["seed"], r["moved"]) for r in runs}
    jobs = [(bench, w, l, s, o.moved) for w in who for l in lines for s in range(1, o.seeds + 1)
            if (w, Problem(l).name, s, o.moved) not in done and (w == "ours" or (can(w, Problem(l)) and not o.moved))]
    until = time.monotonic() + 60 * o.minutes
    with concurrent.futures.ProcessPoolExecutor(o.jobs) as pool, open(RUNS, "a") as f:
        waiting, at = set(), 0
        while at < len(jobs) or waiting:
            while at < len(jobs) and len(waiting) < o.jobs and time.monotonic() < until:
                waiting.add(pool.submit(work, jobs[at]))
                at += 1
            if not waiting: break
            ready, waiting = concurrent.futures.wait(waiting, return_when=concurrent.futures.FIRST_COMPLETED)
            for r in ready:
                runs.append(r.result())
                f.write(json.dumps(r.result()) + "\n")
                f.flush()
    print("### The optimiser%s: medians over seeds of what is missing\n" % (", optima moved" if o.moved else ""))
    broken = table([Problem(l) for l in lines], runs, o.seeds, o.moved, who)
    if at < len(jobs): print("\nNot run yet: %d of %d runs; the same command goes on." % (len(jobs) - at, len(jobs)))
    if missing: print("\nNot installed and left out: %s." % ", ".join(missing))
    return 1 if broken else 0


if __name__ == "__main__": sys.exit(main())
