#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Leave-one-out by importance sampling against leaving each observation out exactly, in models where that has a
closed form, and against R's package loo on the same draws. Argument: the tool."""
import json, math, os, shutil, subprocess, sys, tempfile

TOOL = os.path.abspath(sys.argv[1])
YS = [4.8, 5.3, 5.1, 3.0, 7.1, 4.4, 6.2, 5.9]
NORMAL = """define ys = %s;
assume mu = normal(0, 10);
for (i = 0; i < size(ys); i++) { observe normal(mu, %s) = ys[i]; };
infer nuts(default, all, 200, 200);
infer repeat(1000, do(nuts(default, all, 200, 1), collect(mu, log_lik())));
"""
COINS = """assume c = make_beta_bernoulli(2, 3);
for (i = 0; i < 5; i++) { observe c() = i < 3; };
run(log_lik());
"""
R = """suppressMessages(library(loo))
chains <- lapply(1:4, function(i) read.csv(sprintf("%s/chain-%%d.csv", i)))
n <- sum(startsWith(names(chains[[1]]), "log_lik."))
ll <- array(NA, c(nrow(chains[[1]]), 4, n))
for (c in 1:4) for (i in 1:n) ll[, c, i] <- chains[[c]][[sprintf("log_lik.%%d", i)]]
l <- loo(ll, r_eff = relative_eff(exp(ll))); w <- waic(ll)
cat(sprintf("%%.12g", c(l$estimates["elpd_loo", ], w$estimates["elpd_waic", ], l$diagnostics$pareto_k)))
"""


def run(folder, *args, status=0):
    r = subprocess.run([TOOL, *args], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=300)
    assert r.returncode == status, (args, r.returncode, r.stderr.decode())
    return (r.stdout if status == 0 else r.stderr).decode()


def write(folder, name, text):
    with open(os.path.join(folder, name), "w") as f:
        f.write(text)


def normal_left_out(ys, sd):
    """log p(y_i | the others) with mu ~ normal(0, 10)."""
    out = []
    for i, y in enumerate(ys):
        rest = ys[:i] + ys[i + 1:]
        v = 1 / (1 / 100 + len(rest) / sd ** 2)
        m = v * sum(rest) / sd ** 2
        out.append(-0.5 * math.log(2 * math.pi * (v + sd * sd)) - (y - m) ** 2 / (2 * (v + sd * sd)))
    return out


with tempfile.TemporaryDirectory() as folder:
    write(folder, "one.vnts", NORMAL % (YS, "1.2"))
    write(folder, "two.vnts", NORMAL % (YS, "4"))
    write(folder, "short.vnts", NORMAL % (YS[:5], "4"))
    write(folder, "bare.vnts", (NORMAL % (YS, "4")).replace(", log_lik()", ""))
    for name in ("one", "two", "short", "bare"):
        run(folder, "run", name + ".vnts", "--chains", "4", "--out", name)
    one = json.loads(run(folder, "loo", "one", "--format", "json"))[0]
    exact = normal_left_out(YS, 1.2)
    for ours, want in zip(one["elpd_loo_i"], exact):
        assert abs(ours - want) < 0.05, (ours, want)
    assert max(one["pareto_k"]) < 0.7 and one["observations"] == 8 and one["draws"] == 4000, one

    both = json.loads(run(folder, "loo", "two", "one", "--format", "json"))
    assert [m["name"] for m in both] == ["one", "two"], both
    want = sum(normal_left_out(YS, 4)) - sum(exact)
    assert abs(both[1]["elpd_diff"] - want) < 0.1 and both[0]["elpd_diff"] == 0, (both[1]["elpd_diff"], want)
    text = run(folder, "loo", "one", "two")
    assert "elpd_diff" in text and text.index("\none") < text.index("\ntwo"), text
    assert "same data" in run(folder, "loo", "one", "short", status=1)
    assert "log_lik()" in run(folder, "loo", "bare", status=1)
    assert "log_lik" not in run(folder, "summary", "one")

    # collapsed parameters: each density is given all others, so one state gives the exact answer
    write(folder, "coins.vnts", COINS)
    densities = json.loads(run(folder, "run", "coins.vnts").replace("\n", ""))[0]
    for i, d in enumerate(densities):
        heads = 3 - (i < 3)
        p = (2 + heads) / (2 + 3 + 4)
        assert abs(d - math.log(p if i < 3 else 1 - p)) < 1e-12, densities

    # sequences observed at once count element by element, under bounds too; what is joint counts as one
    write(folder, "vector.vnts", """assume mu = normal(0, 1);
observe normal(mu, 2, lower=0) = [4.8, 5.3];
observe poisson([1, exp(mu)]) = [3, 4];
a: observe normal(mu, 2, lower=0) = 4.8;
b: observe poisson(exp(mu)) = 4;
c: observe multivariate_normal([mu, mu], [[1, 0], [0, 1]]) = [1, 2];
run(log_lik());
run(log_lik(["a", "b"]));
run(global_log_likelihood);
run(collect(log_lik(labels="a"), labelled(2, two)));
""")
    lines = run(folder, "run", "vector.vnts").splitlines()
    each, some, total = (json.loads(line)[0] for line in lines[:3])
    assert len(each) == 7 and each[0] == some[0] and each[3] == some[1] and abs(sum(each) - total) < 1e-9, lines
    assert "log_lik two" in lines[3], lines

    compared = "no R package loo: not compared"
    if shutil.which("Rscript") and subprocess.run(["Rscript", "-e", "library(loo)"], stdout=subprocess.DEVNULL,
                                                  stderr=subprocess.DEVNULL).returncode == 0:
        write(folder, "loo.R", R % "one")
        r = subprocess.run(["Rscript", "loo.R"], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        theirs = [float(x) for x in r.stdout.split()]
        # WAIC to rounding; loo within what another estimate of the effective size does to the length of the tail
        for what, x, tolerance in (("elpd_loo", theirs[0], 2e-3), ("se_elpd_loo", theirs[1], 2e-3),
                                   ("elpd_waic", theirs[2], 1e-9), ("se_elpd_waic", theirs[3], 1e-9)):
            assert abs(one[what] - x) <= tolerance * abs(x), (what, one[what], x)
        assert all(abs(a - b) < 0.1 for a, b in zip(one["pareto_k"], theirs[4:])), (one["pareto_k"], theirs)
        compared = "elpd_loo and elpd_waic are those of R's loo"
print("loo: exact in two conjugate models; " + compared)
