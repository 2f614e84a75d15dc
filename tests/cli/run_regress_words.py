#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What gpmem regress says of its inputs: shapes that the data show, shares whose intervals hold the truth, interactions by
name. Usage: run_regress_words.py GPMEM"""
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


def regress(inputs, n, low, high, function, noise, seed):
    rng = random.Random(seed)
    with open("t.csv", "w") as f:
        print(",".join(inputs) + ",y", file=f)
        for _ in range(n):
            x = [rng.uniform(low, high) for _ in inputs]
            print(",".join("%.9g" % v for v in [*x, function(*x) + rng.gauss(0, noise)]), file=f)
    r = subprocess.run([GPMEM, "regress", "t.csv", "--json", "-"], capture_output=True, text=True, timeout=300)
    check(r.returncode == 0, "exit %d\n%s" % (r.returncode, r.stderr))
    out = json.loads(r.stdout)
    return out, {i["name"]: i for i in out["inputs"]}


# What rises to a plateau does not fall, whatever small waves the draws have there.
for seed in range(1, 7):
    out, inputs = regress("x", 60, 0, 3, lambda x: min(x, 1.5), 0.1, seed)
    check(inputs["x"]["shape"] in ("rises in a curve", "rises on the whole"), "a plateau, %d: %s" % (seed, inputs["x"]["shape"]))
for shape, function in (("rises, then falls", lambda x: math.sin(x)), ("falls, then rises", lambda x: (x - 1.3) ** 2),
                        ("goes up and down", lambda x: math.sin(5 * x)), ("falls in a straight line", lambda x: 1 - x)):
    out, inputs = regress("x", 60, 0, 3, function, 0.1, 1)
    check(inputs["x"]["shape"] == shape, "%s: %s" % (shape, inputs["x"]["shape"]))
# A product: neither input does anything on its own, and both are named.
for seed in (1, 2):
    out, inputs = regress("ab", 100, -1, 1, lambda a, b: a * b, 0.1, seed)
    pairs = {(t["a"], t["b"]): t["share"] for t in out.get("interactions", [])}
    check(list(pairs) == [("a", "b")] and pairs["a", "b"][0] > 0.8 and pairs["a", "b"][2] > 0.97, "a product: %r" % pairs)
    check({i["shape"] for i in out["inputs"]} == {"only together with others"}, "a product: %r" % [i["shape"] for i in out["inputs"]])
    check("Act together: a and b (" in out["summary"], out["summary"])
# A sum has no such pair.
for seed in (1, 2, 3):
    out, inputs = regress("abc", 60, -1, 1, lambda a, b, c: a + 2 * abs(b), 0.3, seed)
    check(out.get("interactions", []) == [] and "Act together" not in out["summary"], "a sum: %r" % out.get("interactions", []))
# Shares are those of the population that the rows come from: intervals hold the truth.
truth, held, alone = {"a": 0.5576, "b": 0.4424, "c": 0.2436}, 0, 0
for seed in range(8):
    out, inputs = regress("abc", 150, -math.pi, math.pi, lambda a, b, c: math.sin(a) + 7 * math.sin(b) ** 2 + .1 * c ** 4 * math.sin(a), 0.1, seed)
    held += sum(inputs[k]["share"][1] <= v <= inputs[k]["share"][2] for k, v in truth.items())
    check(inputs["c"]["shape"] == "only together with others", "an input without an effect of its own: " + inputs["c"]["shape"])
    check(("a", "c") in {(t["a"], t["b"]) for t in out.get("interactions", [])}, "ishigami: %r" % out.get("interactions", []))
    alone += len(out.get("interactions", [])) == 1
check(held >= 19 and alone >= 6, "%d of 24 intervals hold the truth, %d of 8 name one pair" % (held, alone))

print("%d failures" % failures if failures else "fine")
sys.exit(1 if failures else 0)
