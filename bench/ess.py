#!/usr/bin/python3
"""Time per effective sample on Gaussian process regression with hyper-priors (n = 50 and 150), beside Stan's NUTS
(r-cran-rstan; the model is compiled once) and JAGS: ess.py GPMEM. Three parameters (amplitude, length scale, noise) with
log-normal priors; the sampling time over the smallest effective sample size of the three. Prints Markdown."""
import csv, math, os, re, shutil, subprocess, sys, tempfile, time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "tests", "stat"))
import numpy as np
from reference import ess

TOOL, REPEATS, PEER_SECONDS = os.path.abspath(sys.argv[1]), 3, 90
NAMES = ("sf", "l", "s")


def data(n):
    x = [10 * i / n for i in range(n)]
    return x, [math.sin(v) + 0.3 * (((i * 7919) % 101) / 50 - 1) for i, v in enumerate(x)]


def cpu(cmd, **kw):
    t0 = os.times()
    r = subprocess.run(cmd, capture_output=True, text=True, **kw)
    t1 = os.times()
    if r.returncode: raise RuntimeError(r.stderr[-400:])
    return t1.children_user + t1.children_system - t0.children_user - t0.children_system, r.stdout


def columns(path, n):
    with open(path) as f: rows = list(csv.reader(l for l in f if not l.startswith("#")))
    return np.array([[float(v) for v in r[-n:]] for r in rows[1:]])


def smallest(draws): return min(ess(draws[None, :, j]) for j in range(draws.shape[1]))


def ours(tmp, n, op, warm, draws, seed):
    x, y = data(n)
    head = ("assume sf = lognormal(0, 1);\nassume l = lognormal(0, 1);\nassume s = lognormal(-1, 1);\n"
            "assume g = make_gp(make_squaredexp(sf, l), noise=s);\nobserve g(%r) = %r;\ninfer %s;\n" % (x, y, warm))
    times = []
    for k in (1, draws + 1): # the difference: start-up and warm-up drop out
        path, out = os.path.join(tmp, "p.vnts"), os.path.join(tmp, "run")
        shutil.rmtree(out, ignore_errors=True)
        with open(path, "w") as f: f.write(head + "infer repeat(%d, do(%s, collect(sf, l, s)));\n" % (k, op))
        times.append(cpu([TOOL, "run", "-q", path, "--seed", str(seed), "--out", out])[0])
    return times[1] - times[0], smallest(columns(os.path.join(out, "chain-1.csv"), 3))


def stan(tmp, n):
    x, y = data(n)
    with open(os.path.join(tmp, "data.csv"), "w") as f: f.write("x,y\n" + "".join("%r,%r\n" % p for p in zip(x, y)))
    script = os.path.join(HERE, "stan_gp.R")
    r = subprocess.run(["Rscript", script, tmp, "300", "700" if n < 100 else "300"], capture_output=True, text=True, timeout=PEER_SECONDS)
    if r.returncode: raise RuntimeError(r.stderr[-300:])
    return float(r.stdout.split()[-1]), smallest(columns(os.path.join(tmp, "stan.csv"), 3))


def jags(tmp, n):
    x, y = data(n)
    at = lambda name: os.path.join(tmp, name)
    with open(at("m.bug"), "w") as f:
        f.write("model { for (i in 1:N) { for (j in 1:N) { K[i,j] <- sf^2 * exp(-0.5 * D[i,j] / l^2) + equals(i,j) * s^2 } }\n"
                "y ~ dmnorm.vcov(zero, K)\nsf ~ dlnorm(0, 1)\nl ~ dlnorm(0, 1)\ns ~ dlnorm(-1, 1) }\n")
    d = ", ".join("%r" % ((a - b) ** 2) for a in x for b in x)
    with open(at("d.R"), "w") as f:
        f.write("N <- %d\nzero <- c(%s)\ny <- c(%s)\nD <- structure(c(%s), .Dim=c(%d, %d))\n"
                % (n, ", ".join("0" for _ in x), ", ".join(map(repr, y)), d, n, n))
    draws, times = (400 if n < 100 else 60), []
    for k in (10, 10 + draws):
        with open(at("c.cmd"), "w") as f:
            f.write('model in "%s"\ndata in "%s"\ncompile\ninitialize\nupdate 20\nmonitor sf\nmonitor l\nmonitor s\nupdate %d\ncoda *, stem("%s/out")\nexit\n'
                    % (at("m.bug"), at("d.R"), k, tmp))
        times.append(cpu(["jags", at("c.cmd")], timeout=PEER_SECONDS)[0])
    values = [float(l.split()[1]) for l in open(at("outchain1.txt"))]
    return times[1] - times[0], smallest(np.array(values).reshape(3, -1).T)


def main():
    print("## Time per effective sample\n\nGaussian process regression, squared exponential kernel, log-normal priors on amplitude, length scale and noise.\n")
    print("| n | sampler | CPU ms per effective sample (spread over %d runs) | beside ours |\n|---|---|---|---|" % REPEATS)
    for n in (50, 150):
        best = None
        with tempfile.TemporaryDirectory() as tmp:
            for name, op, warm, draws in (("slice", "slice(default, one, 1, 20, 3)", "slice(default, one, 1, 20, 100)", 1500 if n < 100 else 500),
                                          ("nuts", "nuts(default, all, 200, 1)", "nuts(default, all, 200, 200)", 600 if n < 100 else 200)):
                cost = sorted(t / e * 1e3 for t, e in (ours(tmp, n, op, warm, draws, seed) for seed in range(1, REPEATS + 1)))
                middle = cost[REPEATS // 2]
                best = min(best or middle, middle)
                print("| %d | gpmem `%s` | %.3g (%.3g to %.3g) | %s |" % (n, name, middle, cost[0], cost[-1], "1" if best == middle else "%.2g" % (middle / best)))
            for name, peer in (("Stan (rstan), NUTS", stan), ("JAGS", jags)):
                try:
                    t, e = peer(tmp, n)
                    print("| %d | %s | %.3g | %.3g |" % (n, name, t / e * 1e3, t / e * 1e3 / best))
                except (OSError, RuntimeError, subprocess.TimeoutExpired, ValueError) as problem:
                    print("| %d | %s | skipped: %s | |" % (n, name, re.sub(r"\s+", " ", str(problem))[-160:]))
                sys.stdout.flush()


main()
