#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""sample(): what it keeps, where it begins, what it refuses. Argument: the tool."""
import csv, glob, json, os, re, subprocess, sys, tempfile

tool = os.path.abspath(sys.argv[1])
MODEL = """define n = 3;
assume mu = normal(0, 10);
assume tau = gamma(2, 1);
assume data = array(1, 2, 3);
assume twice = 2 * mu;
assume theta = mem(proc(j) { normal(mu, tau) });
assume w = dirichlet(vector(1, 1, 1));
for (i = 0; i < n; i++) { observe normal(theta(i), 1) = i };
"""


def run(text, *options):
    """Exit status, output and messages of a program."""
    with tempfile.NamedTemporaryFile("w", suffix=".vnts") as f:
        f.write(text)
        f.flush()
        done = subprocess.run([tool, "run", *options, f.name], capture_output=True, text=True, timeout=300)
    return done.returncode, done.stdout, done.stderr


def value(text):
    status, out, err = run(text, "-q")
    assert status == 0, err
    return out.strip().splitlines()[-1]


def numbers(text): return [float(x) for x in re.findall(r"-?[\d.]+(?:e[-+]?\d+)?", value(text))]


# The folder holds the draws and no warm-up, the quantities that depend on a choice and no data.
with tempfile.TemporaryDirectory() as dir:
    path, out = os.path.join(dir, "p.vnts"), os.path.join(dir, "out")
    with open(path, "w") as f: f.write(MODEL + "infer sample(warmup=60, draws=25, thin=2);\n")
    subprocess.run([tool, "run", "-q", "--chains", "2", "--out", out, path], check=True, timeout=300)
    chains = []
    for name in sorted(glob.glob(os.path.join(out, "chain-*.csv"))):
        with open(name) as f: chains.append(list(csv.reader(f)))
    assert len(chains) == 2 and all(len(c) == 26 for c in chains), [len(c) for c in chains]
    kept = [c for c in chains[0][0] if not c.endswith("__")]
    assert kept == ["mu", "tau", "twice", "theta.0", "theta.1", "theta.2", "w.1", "w.2", "w.3"], kept
    assert chains[0][1] != chains[1][1]
    at = chains[0][0].index("stepsize__")
    assert len({r[at] for r in chains[0][1:]}) == 1, "the step size changes after the warm-up"
    row = dict(zip(chains[0][0], map(float, chains[0][1])))
    assert abs(row["twice"] - 2 * row["mu"]) < 1e-12 and abs(row["w.1"] + row["w.2"] + row["w.3"] - 1) < 1e-12, row

# Every transition is counted where it belongs; sample, the directive, is still there.
stats = json.loads(value(MODEL + "infer sample(warmup=300, draws=25, thin=2);\ninfer do(s <- sampler_stats(), action(print(s)));\n").replace("nan", "null"))
assert stats["warmup"] == 300 and stats["transitions"] == 50 and stats["leapfrogs"] >= 50, stats
assert stats["moved"] > 40 and 0.5 < stats["accept_stat"] <= 1 and stats["stepsize"] > 0, stats
assert numbers(MODEL + "sample n + 0 * mu;\n") == [3] and numbers(MODEL + "run(sample(3 + 0 * mu));\n") == [3]

# What an action collects, and what another does before each transition. It may put another trace in the place of the model's.
status, out, err = run("""assume k = tag("s", 0, uniform_discrete(0, 2));
assume a = mem(proc(i) { tag("p", i, normal(0, 1)) });
assume f = if (k == 0) { a(0) } else { a(1) + a(2) };
observe normal(f, 0.5) = 1;
define d = run(sample(warmup=20, draws=60, also=structure_mh("s", one, "p", 3)));
print(size(column(d, "k")), size(column(d, "f")));
""", "--seed", "1")
assert status == 0 and out.split()[-2:] == ["60", "60"], (status, out, err)
assert len(numbers(MODEL + 'define d = run(sample(warmup=30, draws=7, collect=collect(labelled(mu + 1, m))));\nprint(column(d, "m"));\n')) == 7
DISCRETE = """assume z = bernoulli(0.5);
assume k = poisson(3);
assume x = normal(if (z) { 2 } else { -2 }, 1);
observe normal(x + k, 1) = 5;
"""
for also in ("", ", also=mh(default, one, 5)"):
    got = numbers(DISCRETE + 'define d = run(sample(warmup=50, draws=200%s));\nprint(array(column(d, "z"), column(d, "k")));\n' % also)
    assert len(set(got[:200])) == 2 and len(set(got[200:])) > 3, "discrete choices stand still"

# Starts.
for init in ('"random"', '"prior"', '"optimum"', '"laplace"', '"current"'):
    x = numbers("assume m = normal(50, 1);\nobserve normal(m, 1) = 52;\ninfer sample(warmup=60, draws=20, init=%s);\nsample m;\n" % init)
    assert 47 < x[0] < 55, (init, x)
assert numbers("assume m = normal(0, 1);\nassume s = gamma(2, 1);\ninfer sample(warmup=0, draws=0, init=dict([\"m\", 3.5], [\"s\", 2]));\nsample array(m, s);\n") == [3.5, 2]
with tempfile.TemporaryDirectory() as dir:
    with open(os.path.join(dir, "starts.json"), "w") as f: json.dump({"m": -1.25}, f)
    for call in ("sample(warmup=0, draws=0, init=%s)", "nuts(default, all, 0, 0, init=%s)", "hmc(default, all, 0.1, 5, 0, init=%s)"):
        assert numbers("assume m = normal(0, 1);\ninfer %s;\nsample m;\n" % call % ('read_json("%s/starts.json")' % dir)) == [-1.25]
optimum = numbers("assume m = normal(50, 1);\nobserve normal(m, 1) = 52;\ninfer sample(warmup=0, draws=0, init=\"optimum\");\nsample m;\n")
assert abs(optimum[0] - 51) < 1e-3, optimum
once = "infer hmc(default, all, 0.0001, 1, 3, init=dict([\"m\", 3.5]));\n"  # in a loop it begins once
x = numbers("assume m = normal(0, 1);\n" + once + "force m = 1;\n" + once + "sample m;\n")
assert abs(x[0] - 1) < 0.1, x

# A draw of the prior that the model cannot be evaluated with is drawn again; 40 seeds.
UNLUCKY = "assume a = normal(0, 1000);\nobserve poisson(exp(a)) = 3;\ninfer sample(warmup=100, draws=20);\nsample a;\n"
for seed in range(1, 41):
    status, out, err = run(UNLUCKY, "-q", "--seed", str(seed))
    assert status == 0 and -3 < float(out.split()[-1]) < 4, (seed, out, err)
status, _, err = run("assume a = normal(0, 1);\nobserve normal(0, -1 - exp(a)) = 3;\n", "-q")
assert status != 0 and "sd must be" in err, err
# What was forced or inferred is not drawn again, and looking draws nothing again.
for before in ("force a = 800;", "force a = 800;\ninfer pass;"):
    status, _, err = run("assume a = normal(0, 1000);\n%s\nobserve poisson(exp(a)) = 3;\n" % before, "-q")
    assert status != 0 and "drawn again" not in err, (before, err)
status, _, err = run("assume a = uniform_continuous(0, 1e6);\nsample poisson(exp(1000 + a));\n", "-q")
assert status != 0 and "drawn again" not in err, err
status, out, err = run("assume a = normal(0, 1);\nassume b = normal(0, a);\nsample a;\n", "--seed", "3")
status2, out2, err2 = run("assume a = normal(0, 1);\nassume b = normal(0, a);\nsample a;\n", "--seed", "4")
assert status == 0 and status2 == 0 and float(out) > 0 and float(out2) > 0, (out, out2)
assert "drawn again" in err + err2, (err, err2)

# Errors.
for call, words in (("init=\"nowhere\"", "init is current, prior"), ("init=dict([\"nobody\", 1])", "no name of a continuous choice"),
                    ("init=dict([\"tau\", -1])", "cannot begin with"), ("metric=\"round\"", "diag, dense or low_rank"),
                    ("target_accept=1", "between 0 and 1"), ("max_depth=0", "1 to 20"), ("thin=0", "at least 1"),
                    ("collect=mh(default, one, 1)", "gives a dataset")):
    status, _, err = run(MODEL + "infer sample(warmup=20, draws=2, %s);\n" % call, "-q")
    assert status != 0 and words in err, (call, err)
status, _, err = run("assume x = normal(0, 1);\nobserve exactly(if (x > 100) { 1 } else { 0 }) = 1;\ninfer sample(draws=1);\n", "-q")
assert status != 0, err
status, _, err = run("observe normal(normal(0, 1), 1) = 2;\ninfer sample(warmup=5, draws=1);\n", "-q")
assert status != 0 and "assumes no name" in err, err

# A funnel: where scale and choices are written as such the sampler centres them as it must, by hand or not it is right; where
# the density is a factor nothing is known of its shape, and it is reported.
FACTOR = "assume v = normal(0, 3);\nassume x = flat(n=9);\nfactor(assess(x, normal, 0, exp(v / 2)));\n"
status, _, err = run(FACTOR + "infer sample(warmup=500, draws=1000);\n")
assert "does not follow this posterior" in err, err
KEPT = 'define d = run(sample(warmup=500, draws=1000));\nprint(column(d, "v"));\n'
for funnel in ("assume x = mem(proc(i) { normal(0, exp(v / 2)) });\nassume all_x = mapv(x, arange(9));\n",
               "assume x = normal(fill(9, 0), exp(v / 2));\n",
               "assume z = mem(proc(i) { normal(0, 1) });\nassume all_x = mapv(proc(i) { z(i) * exp(v / 2) }, arange(9));\n"):
    status, out, err = run("assume v = normal(0, 3);\n" + funnel + KEPT)
    v = [float(x) for x in out.strip().splitlines()[-1].strip("[]").split(", ")]
    assert status == 0 and "does not follow" not in err, (funnel, err)
    assert abs(sum(v) / 1000) < 0.6 and 2.5 < (sum(x * x for x in v) / 1000) ** 0.5 < 3.5, (funnel, sum(v) / 1000, sum(x * x for x in v) / 1000)

# A warning is of its own run: what an easy one says is nothing, whatever came before.
status, _, err = run('assume v = tag("hard", 0, normal(0, 3));\nassume x = tag("hard", 1, flat(n=9));\nfactor(assess(x, normal, 0, exp(v / 2)));\n'
                     'assume a = tag("easy", 0, normal(0, 1));\nassume b = tag("easy", 1, normal(a, 1));\n'
                     'infer nuts("hard", all, 300, 1500, 0.5);\ninfer sample(warmup=300, draws=500, scope="easy");\ninfer nuts("easy", all, 100, 300);\n')
assert status == 0 and err.count("does not follow this posterior") == 1, err

# Bounds that are other choices: a triangle, and no trajectory leaves it.
status, out, err = run("assume a = flat(lower=0, upper=1);\nassume b = flat(lower=0, upper=1 - a);\nobserve normal(a + b, 0.1) = 0.9;\n"
                       'define d = run(sample(warmup=500, draws=2000));\nprint(mean(column(d, "a")), mean(column(d, "b")));\n'
                       "print(lookup(run(sampler_stats()), \"divergences\"));\n", "--seed", "2")
means, wrong = out.strip().splitlines()[-2:]
assert status == 0 and all(abs(float(x) - 0.44) < 0.05 for x in means.split()) and float(wrong) < 5, (out, err)
# A transition begins with the gradient that the one before ended at where nothing came between; the draws are those of a
# run in which an action that does nothing does.
KNOWN = {"mu": MODEL,
         "a": "assume a = flat(lower=0, upper=1);\nassume b = flat(lower=0, upper=1 - a);\nobserve normal(a + b, 0.1) = 0.9;\n",
         "m": "assume m = normal(0, 1);\nassume L = lkj_corr_cholesky(3, 2);\nobserve multivariate_normal_cholesky([m, 0, 0], L) = [1, 2, 0];\n"}
for name, model in KNOWN.items():
    draws = [value(model + 'define d = run(sample(warmup=150, draws=60%s));\nto_array(column(d, "%s"));\n' % (also, name))
             for also in ("", ", also=pass")]
    assert draws[0] == draws[1] and len(set(draws[0].split(","))) > 30, (name, draws)

# A program that ends in draws which nobody receives prints their summary.
for end, printed in (("infer sample(warmup=100, draws=200);", True), ("infer accumulate_dataset(9, do(mh(default, one, 1), collect(mu)));", True),
                     ("infer sample(warmup=100, draws=200);\ninfer pass;", False), ("infer collect(mu);", False)):
    status, out, err = run(MODEL + end)
    assert status == 0 and bool(re.search(r"(?m)^mu ", out)) == printed, (end, out)
with tempfile.TemporaryDirectory() as folder:
    status, out, err = run(MODEL + "infer sample(warmup=100, draws=200);", "--out", folder + "/run")
    assert status == 0 and "mean" not in out, out


# Rows that are neither a value nor kept in a folder are lost: that is said, once.
for action, n in (("repeat(3, do(mh(default, one, 1), collect(mu)))", 1), ("do(collect(mu), pass)", 1), ("do(d <- collect(mu), pass)", 0),
                  ("for_each([1, 2], i -> collect(mu))", 1)):
    status, out, err = run(MODEL + "infer %s;" % action)
    assert status == 0 and err.count("rows of this collect are dropped") == n, (action, err)
with tempfile.TemporaryDirectory() as folder:
    assert "dropped" not in run(MODEL + "infer repeat(3, do(mh(default, one, 1), collect(mu)));", "--out", folder + "/run")[2]

print("sample: keeps what it should, begins where it is told, refuses what it must")
