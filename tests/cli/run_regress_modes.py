#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""gpmem regress where the posterior has several modes, or a narrow one: functions without noise, on random designs.
Usage: run_regress_modes.py GPMEM"""
import json, math, os, random, subprocess, sys, tempfile

GPMEM = os.path.abspath(sys.argv[1])
folder = tempfile.TemporaryDirectory()
os.chdir(folder.name)
failures = 0


def check(ok, what):
    global failures
    if not ok:
        failures += 1
        print("FAILED:", what)


def regress(*args):
    r = subprocess.run([GPMEM, "regress", *args, "--json", "-"], capture_output=True, text=True, timeout=300)
    check(r.returncode == 0, "%s: exit %d\n%s" % (args, r.returncode, r.stderr))
    return json.loads(r.stdout)


def design(name, inputs, n, low, high, function, seed):
    rng = random.Random(seed)
    with open(name, "w") as f:
        print(",".join(inputs) + ",y", file=f)
        for _ in range(n):
            x = [rng.uniform(low, high) for _ in inputs]
            print(",".join("%.9g" % v for v in [*x, function(*x)]), file=f)
    return name


def share(out, name):
    return [i["share"][0] for i in out["inputs"] if i["name"] == name][0]


def bowl(u, v):
    r = (u - .5) ** 2 + (v - .5) ** 2
    return 24.234 * r * (.75 - r)


def ishigami(a, b, c):
    return math.sin(a) + 7 * math.sin(b) ** 2 + .1 * c ** 4 * math.sin(a)


# A smooth function without noise is worth a variance that factors can hardly hold: the density stays smooth there, and the draws stay with it.
for seed in (2, 3, 4):
    out = regress(design("bowl.csv", "uv", 60, 0, 1, bowl, seed))
    check(out["check"]["r2"] > 0.999 and out["check"]["coverage"] > 0.85, "bowl %d: %r" % (seed, out["check"]))
    check("importance sampling" in out["model"]["method"], "bowl %d: %s" % (seed, out["model"]["method"]))
# An input with a short scale beside smooth ones, with few rows and with many: no seed takes it for noise.
design("few.csv", "abc", 90, -math.pi, math.pi, ishigami, 4)
scales = []
for seed in "12":
    out = regress("few.csv", "--seed", seed)
    check(out["check"]["r2"] > 0.7 and share(out, "b") > 0.3, "ishigami, 90 rows, seed %s: %r" % (seed, out["check"]))
    check("not all of them" not in out["model"]["method"], out["model"]["method"])
    scales.append([math.log(out["model"]["parameters"]["SE.l[%d]" % i][0]) for i in range(3)])
check(max(abs(a - b) for a, b in zip(*scales)) < 0.15, "two seeds tell the same: %r" % scales)
design("many.csv", "abc", 720, -math.pi, math.pi, ishigami, 5)
out = regress("many.csv", "--seed", "2")
check(out["check"]["rmse"] < 0.05 and share(out, "b") > 0.3, "ishigami, 720 rows: %r" % out["check"])

# Two periods of which nothing tells which is which, nor what they are: chains stay where they began, and that is no answer.
with open("turns.csv", "w") as f:
    print("a,y", file=f)
    for i in range(14):
        a = 10 * (i * .618034 % 1)
        print("%.9g,%.9g" % (a, math.sin(11 * a) + math.cos(5 * a)), file=f)
how = ["turns.csv", "--kernel", "PER(sf=1, p=1, l=1) + PER(sf=1, p=1, l=1)", "--noise", "normal"]
for seed in "123456":  # some of them may agree by chance
    r = subprocess.run([GPMEM, "regress", *how, "--seed", seed, "--json", "turns.json", "--at", "a=1", "--out", "turns-p.csv", "-q"], capture_output=True, text=True, timeout=300)
    if r.returncode: break
    os.remove("turns.json"), os.remove("turns-p.csv")
check(r.returncode == 3 and not r.stdout and not os.path.exists("turns.json") and not os.path.exists("turns-p.csv"), "no answer: exit %d\n%s" % (r.returncode, r.stdout))
check(all(w in r.stderr for w in ("not settled", "log evidence", "R-hat", ", of ", "--seed", "--kernel", "--rough")), r.stderr)
out = regress(*how, "--seed", seed, "--rough")
check(out["settled"] is False and out["summary"].startswith("Not settled"), "--rough: %s" % out["summary"])

print("%d failures" % failures if failures else "fine")
sys.exit(1 if failures else 0)
