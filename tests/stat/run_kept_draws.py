#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Draws of models whose dimension changes, and of particles whose weights differ, through every way in which draws are kept, beside exact
answers, by three seeds: memory, folders of several chains, resume, merge, exports, Python's Result and Session. (R: r/tests/gpmem.R.)

    run_kept_draws.py GPMEM"""
import csv
import json
import math
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

TOOL = os.path.abspath(sys.argv[1])
os.environ["GPMEM_LIBRARY"] = os.path.join(os.path.dirname(TOOL), "libgpmem.so")
ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
sys.path.insert(0, os.path.join(ROOT, "python"))
import numpy as np
import gpmem

WORK = tempfile.mkdtemp(prefix="gpmem-kept-")
SEEDS = 1, 2, 3

# n in 1 .. 3 equally, x_1 .. x_n standard normal, y = 2 their sum and noise: y given n has variance n + 1, x_i given n and y mean 2 / (n + 1)
LENGTH = "assume n = uniform_discrete(1, 4); assume x = mapv(i -> normal(0, 1), arange(n)); observe normal(sum(x), 1) = 2;\n"
WEIGHT = {n: math.exp(-2 / (n + 1)) / math.sqrt(n + 1) for n in (1, 2, 3)}
P = {n: w / sum(WEIGHT.values()) for n, w in WEIGHT.items()}


def given(least):
    """The mean of x_least where it is there, and the share of draws where it is not."""
    there = sum(P[n] for n in P if n >= least)
    return sum(P[n] * 2 / (n + 1) for n in P if n >= least) / there, 1 - there


EXACT = {"n": (sum(n * p for n, p in P.items()), 0), **{"x.%d" % i: given(i) for i in (1, 2, 3)}}
bad = []


def check(what, good, *seen):
    if not good:
        bad.append("%s: %r" % (what, seen))


def compare(what, summary, exact=EXACT):
    """A summary as {name: {mean, mcse_mean, absent}} with the exact answers."""
    check(what + ", quantities", set(exact) <= set(summary), sorted(summary))
    for name, (mean, absent) in exact.items():
        got = summary.get(name, {})
        error = got.get("mcse_mean") or 9
        check("%s, mean of %s" % (what, name), abs(got.get("mean", 1e9) - mean) < 4.5 * error and error < 0.2, got, mean)
        check("%s, %s absent" % (what, name), abs(got.get("absent", 0) - absent) < (0.06 if exact is EXACT else 0.1), got, absent)


def spelled(name):
    return name.replace("[", ".").replace("]", "").replace(",", ".")


def run(*args, status=0):
    r = subprocess.run([TOOL, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    check("status of %s" % (args,), r.returncode == status, r.returncode, r.stderr)
    return r.stdout


def folder(name):
    return os.path.join(WORK, name)


def rows(path):
    with open(path) as f:
        return list(csv.reader(l for l in f if not l.startswith("#")))


def whole(path):
    """A table: one line of names, rows as long."""
    with open(path) as f:
        lines = f.read().split("\n")
    return len({l.count(",") for l in lines if l and not l.startswith("# ")}) == 1 and not any(l.startswith("#+") for l in lines)


def in_memory(seed, program):
    """The table that summarize prints."""
    lines = run("run", "--seed", str(seed), program).splitlines()
    head, out = lines[0].split(), {}
    keys = {"mcse": "mcse_mean", "5%": "q5", "50%": "median", "95%": "q95"}
    for line in lines[1:]:
        cells = line.split()
        if len(cells) == len(head) + 1:
            out[spelled(cells[0])] = {keys.get(k, k): float(v) if v != "-" else math.nan for k, v in zip(head, cells[1:])}
    check("summarize calls nothing 'not finite'", not any("not finite" in l for l in lines), lines)
    return out


def length_changes(seed):
    """`sample` and what is collected by hand; the columns of x join as draws have them."""
    for kind, infer in (("sample", "sample(warmup=200, draws=2500)"),
                        ("collect", "accumulate_dataset(2500, do(mh(default, one, 8), collect(n, x)))")):
        what = "%s, seed %d" % (kind, seed)
        program = folder("%s.vnts" % kind)
        with open(program, "w") as f:
            f.write(LENGTH + "infer %s;\n" % infer)
        shown = folder("shown.vnts")
        with open(shown, "w") as f:
            f.write(LENGTH + "infer do(d <- %s, summarize(d));\n" % infer)
        compare(what + ", summarize", in_memory(seed, shown))
        at = folder("%s-%d" % (kind, seed))
        run("run", "--seed", str(seed), "-c", "2", "--out", at, program)
        summary = json.loads(run("summary", "--format", "json", at))
        compare(what + ", folder", summary)
        files = [os.path.join(at, "chain-%d.csv" % c) for c in (1, 2)]
        check(what + ", files are whole tables", all(whole(f) for f in files))
        check(what + ", nothing is dropped", all(len(rows(f)) == 2501 for f in files))
        again = resumed(what, seed, program, at)
        python(what, seed, infer, files, summary)
        exports(what, at, files)
        if kind == "collect":
            merged(what, seed, program, at)


def resumed(what, seed, program, at):
    """Killed, or asked to stop, wherever it is, and gone on with: the same bytes."""
    for how, sign in (("stopped", signal.SIGTERM), ("killed", signal.SIGKILL)):
        to = at + "-" + how
        p = subprocess.Popen([TOOL, "run", "-q", "--seed", str(seed), "-c", "2", "--out", to, "--checkpoint", "0.01", program],
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        first = os.path.join(to, "chain-1.csv")
        while p.poll() is None and not (os.path.exists(first) and os.path.getsize(first) > 2000):
            time.sleep(0.001)
        p.send_signal(sign)
        p.wait()
        if json.load(open(os.path.join(to, "manifest.json")))["state"] != "finished":
            run("resume", to)
        for c in (1, 2):
            with open(os.path.join(at, "chain-%d.csv" % c)) as f, open(os.path.join(to, "chain-%d.csv" % c)) as g:
                check("%s, %s and gone on with" % (what, how), f.read() == g.read())


def merged(what, seed, program, at):
    parts = []
    for c in "01":
        parts.append(at + "-part" + c)
        run("run", "--seed", str(seed), "--chain", c, "--out", parts[-1], program)
    run("merge", at + "-merged", *parts)
    check(what + ", merged", run("summary", at + "-merged") == run("summary", at))


def cells(path):
    """{name: array} of a file, nan where a cell is empty."""
    head, *lines = rows(path)
    return {name: np.array([float(l[k]) if l[k] else math.nan for l in lines]) for k, name in enumerate(head)}


def python(what, seed, infer, files, summary):
    r = gpmem.run(LENGTH + "infer %s;" % infer, seed=seed, chains=2)
    both = {spelled(k): x for k, x in r.draws.items()}
    for c, path in enumerate(files):
        for name, x in cells(path).items():
            if not name.endswith("__"):
                check("%s, Result has %s" % (what, name), np.array_equal(both[name][c], x, equal_nan=True))
    check(what + ", summary of Result", {spelled(k): v for k, v in r.summary().items()} == summary)
    there = ~gpmem.is_absent(r.draws["x[3]"])
    check(what + ", is_absent", (there == (r.draws["n"] >= 3)).all())
    groups = r.to_inference_data()
    check(what + ", ArviZ in Python", groups["posterior"]["x"].shape[2] == 3 and np.isnan(groups["posterior"]["x"]).any())


def exports(what, at, files, draws=("x.3",)):
    n = at + "-export"
    run("export", "--format", "stan", "--out", n, at)
    for c, path in enumerate(files):
        check(what + ", Stan's CSV", all(np.array_equal(a, b, equal_nan=True)
                                         for a, b in zip(cells(path).values(), cells("%s-%d.csv" % (n, c + 1)).values())))
    kept = json.loads(run("export", "--format", "json", at))["draws"]
    groups = json.loads(run("export", "--format", "arviz", at))
    run("export", "--format", "zarr", "--out", n, at)
    for name in draws:
        x = np.array(kept[name], dtype=float)
        z = np.fromfile(os.path.join(n, name, "0.0")).reshape(2, -1)
        own = np.array(groups["posterior"]["x"], dtype=float)[..., 2] if name == "x.3" else np.array(groups["sample_stats"]["log_weight"])
        check("%s, %s in JSON, ArviZ and Zarr" % (what, name), np.array_equal(own, x, equal_nan=True) and np.array_equal(z, x, equal_nan=True))
        check("%s, %s is absent in Zarr" % (what, name), gpmem.is_absent(z).any() == (name == "x.3"))


def session(seed):
    s = gpmem.Session(seed=seed)
    s.run(LENGTH)
    d = s.draws(6000, "mh(default, one, 4)", "n", "x", twice="2 * n")
    compare("Session.draws, seed %d" % seed, {spelled(k): v for k, v in gpmem.draws.summary(d).items()})
    check("Session.draws, columns", (d["twice"] == 2 * d["n"]).all() and len(d["x[3]"]) == 6000)
    check("Session.draws, where x[3] is", (gpmem.is_absent(d["x[3]"]) == (d["n"] < 3)).all())


def late_columns():
    """A collect before nuts has run, two collects of different things, rows before the first column, a column alone."""
    r = gpmem.run(LENGTH + "infer collect(n); infer accumulate_dataset(300, do(nuts(default, all, 1), collect(n)));")
    check("a collect before nuts", r.draws["n"].shape == (1, 301) and gpmem.is_absent(r.sample_stats["energy__"]).sum() == 1)
    program = folder("late.vnts")
    with open(program, "w") as f:
        f.write("assume k = uniform_discrete(0, 2); assume v = zeros(k); force k = 0; infer collect(v); infer collect(k);\n"
                "force k = 1; infer collect(v);")
    run("run", "--out", folder("late"), program)
    check("rows before the first column", rows(folder("late") + "/chain-1.csv") == [["k", "v.1"], ["", ""], ["0", ""], ["", "0"]],
          rows(folder("late") + "/chain-1.csv"))
    with open(program, "w") as f:
        f.write("assume k = uniform_discrete(0, 2); assume v = zeros(k); force k = 1; infer collect(v); force k = 0; infer collect(v);")
    run("run", "--out", folder("alone"), program)
    with open(folder("alone") + "/chain-1.csv") as f:
        check("a column alone", f.read() == 'v.1\n0\n""\n')
    check("and read", json.loads(run("summary", "--format", "json", folder("alone")))["v.1"]["absent"] == 0.5)


# m standard normal, y = 2 with noise of 0.5: m given y is normal, of mean 1.6 and variance 0.2; k one of 0, 1, 2, exactly
PARTICLES = ("infer resample(%d); assume m = normal(0, 1); observe normal(m, 0.5) = 2;\n"
             "assume n = uniform_discrete(1, 4); assume x = mapv(i -> normal(0, 1), arange(n)); observe normal(sum(x), 1) = 2;\n")
BOTH = {"m": (1.6, 0), **EXACT}
DISCRETE = ("assume k = uniform_discrete(0, 3); assume x = if (k == 1) { array(k, k) } else { array(k) };\n"
            "observe normal(k, 1) = 1.5; infer enumerative_diversify(default, all);\n")
SHARE = {k: math.exp(-(1.5 - k) ** 2 / 2) for k in (0, 1, 2)}


def particles(seed):
    what = "particles, seed %d" % seed
    program, shown = folder("particles.vnts"), folder("shown.vnts")
    keep = "infer repeat(2, collect(m, n, x));"
    with open(program, "w") as f:
        f.write(PARTICLES % 3500 + keep)
    with open(shown, "w") as f:
        f.write(PARTICLES % 3500 + "infer do(d <- collect(m, n, x), summarize(d), action(print(\"column\", mean(column(d, \"m\")))));\n"
                "infer do(r <- for_each_particle(collect(m, n, x)), action(print(\"apart\", mean(column(join_datasets(r), \"m\")))));\n"
                "for (i = 0; i < 400; i++) { sample m; };\n")
    compare(what + ", summarize", in_memory(seed, shown), BOTH)
    lines = run("run", "-q", "--seed", str(seed), shown).splitlines()
    told = {l.split()[0]: float(l.split()[1]) for l in lines if l.startswith(("column", "apart"))}
    check(what + ", column, for_each_particle", abs(told["column"] - 1.6) < 0.1 and told["apart"] == told["column"], told)
    drawn = [float(l) for l in lines if l[0] in "-0123456789" and " " not in l]
    check(what + ", sample", len(drawn) == 400 and abs(np.mean(drawn) - 1.6) < 0.15 and abs(np.std(drawn) - 0.447) < 0.1, np.mean(drawn))
    at = folder("particles-%d" % seed)
    run("run", "--seed", str(seed), "-c", "2", "--out", at, program)
    summary = json.loads(run("summary", "--format", "json", at))
    compare(what + ", folder", summary, BOTH)
    check(what + ", effective draws", summary["m"]["ess_bulk"] < 5000, summary["m"])
    files = [os.path.join(at, "chain-%d.csv" % c) for c in (1, 2)]
    w = np.exp(cells(files[0])["log_weight__"])
    check(what + ", weights are over their mean", abs(w.mean() - 1) < 1e-9)
    resumed(what, seed, program, at)
    merged(what, seed, program, at)
    exports(what, at, files, draws=("x.3", "log_weight__"))
    r = gpmem.run(PARTICLES % 3500 + keep, seed=seed, chains=2)
    check(what + ", Result", {spelled(k): v for k, v in r.summary().items()} == summary)
    check(what + ", Result's weights", np.array_equal(r.sample_stats["log_weight__"][0], cells(files[0])["log_weight__"]))
    check(what + ", ArviZ in Python", "log_weight" in r.to_inference_data()["sample_stats"])
    check(what + ", picture", "<svg" in r.picture("m"))
    s = gpmem.Session(seed=seed)
    s.run(PARTICLES % 3500)
    d = s.draws(1, "pass", "m", "n", "x")
    compare(what + ", Session.draws", {spelled(k): v for k, v in gpmem.draws.summary(d).items()}, BOTH)
    with open(program, "w") as f:
        f.write(DISCRETE + "infer collect(k, x);")
    run("run", "--seed", str(seed), "--out", at + "-exact", program)
    got = json.loads(run("summary", "--format", "json", at + "-exact"))
    all_ = sum(SHARE.values())
    check(what + ", exact", abs(got["k"]["mean"] - sum(k * p for k, p in SHARE.items()) / all_) < 1e-9 and
          abs(got["x.2"]["absent"] - 1 + SHARE[1] / all_) < 1e-9 and got["x.2"]["mean"] == 1, got)


def weights_are_heard():
    """What cannot weigh draws by weight, and says so; filters of which the last step is not resampled."""
    data = "observe normal(m, 0.5) = 2; observe normal(m, 1) = 1;\n"
    keep = "infer collect(m, log_lik(), y_rep(), y_obs());"
    weighted = gpmem.run("infer resample(4000); assume m = normal(0, 1); " + data + keep)
    plain = gpmem.run("assume m = normal(0, 1); " + data + "infer accumulate_dataset(2000, do(mh(default, one, 10), collect(m, log_lik(), y_rep(), y_obs())));")
    a, b = weighted.loo(), plain.loo()
    check("loo", abs(a["elpd_loo"] - b["elpd_loo"]) < 0.3 and "weight" in a["warnings"] and "weight" not in b["warnings"], a, b)
    a, b = weighted.predictive_check()["quantities"], plain.predictive_check()["quantities"]
    check("predictive_check", abs(a["mean"]["mean"] - b["mean"]["mean"]) < 0.1, a, b)
    steps = "run(smc(2000, [%s], pass))" % ", ".join("observe(normal(m, 1), %g)" % y for y in (1, 2, 3))
    r = gpmem.run("assume m = normal(0, 1); define e = %s; infer collect(m);" % steps)
    s = r.summary()["m"]
    check("after smc", abs(s["mean"] - 1.5) < 5 * s["mcse_mean"] and s["mcse_mean"] < 0.05, s)


def impossible():
    """A state of probability zero is told after inference, too, with the observation."""
    model = "assume x = uniform_continuous(0, 1); observe uniform_continuous(x, x + 1) = 5;\n"
    for infer in ("mh(default, one, 50)", "slice(default, one, 1, 20, 5)", "resample(20)"):
        for look in ("infer collect(x);", "sample x;"):
            program = folder("impossible.vnts")
            with open(program, "w") as f:
                f.write(model + "infer %s;\n%s" % (infer, look))
            said = subprocess.run([TOOL, "run", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True).stderr
            check("impossible after %s, %s" % (infer, look), "contradicts this observation" in said and said.count("E0508") == 2, said)
    program = folder("possible.vnts")
    with open(program, "w") as f:
        f.write("assume x = uniform_continuous(0, 9); observe uniform_continuous(x, x + 1) = 5; infer mh(default, one, 500); sample x;")
    said = subprocess.run([TOOL, "run", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True).stderr
    check("possible after mh", "contradicts" not in said, said)


def items():
    """What collect keeps beside expressions."""
    model = "assume f = mem(i -> normal(0, 1)); assume x = normal(0, 1); observe normal(x, 1) = 0.5;\n"
    r = gpmem.run(model + 'infer collect(f(2), labelled(f(2), again), global_log_joint(), labelled(global_log_joint, joint), log_lik(), x);')
    d = r.draws
    check("a memoized call that no directive made", d["f(2)"] == d["again"], d)
    exact = -0.5 * d["x"] ** 2 - 0.5 * (d["x"] - 0.5) ** 2 - math.log(2 * math.pi)
    check("global_log_joint", d["global_log_joint"] == d["joint"] and abs(d["joint"] - exact) < 1e-9, d, exact)
    try:
        gpmem.run(model + "infer collect(x, log_lik);")
        check("an operator is no value", False)
    except gpmem.GpmemError as e:
        check("an operator is no value", "operator" in str(e), str(e))


def main():
    try:
        weights_are_heard()
        impossible()
        items()
        for seed in SEEDS:
            length_changes(seed)
            session(seed)
            particles(seed)
        late_columns()
    finally:
        shutil.rmtree(WORK)
    for line in bad[:20]:
        print(line)
    print("kept draws: %d failures" % len(bad))
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
