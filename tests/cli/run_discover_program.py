#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The program that `gpmem discover --program` prints is a program: `gpmem run` of it, with the same seed,
gives the same structures with the same probabilities and errors to the last digit printed. The answers of prob in the language and of
`gpmem query` are the same numbers.

    run_discover_program.py GPMEM"""
import json
import math
import os
import random
import re
import subprocess
import sys
import tempfile

TOOL = os.path.abspath(sys.argv[1])
BAD = []


def run(*args, cwd):
    done = subprocess.run([TOOL] + list(args), capture_output=True, text=True, cwd=cwd, timeout=300)
    if done.returncode:
        raise SystemExit("%s: exit status %d\n%s" % (" ".join(args), done.returncode, done.stderr))
    return done.stdout


def expect(name, ok, what=""):
    print("%s %s%s" % ("ok  " if ok else "FAIL", name, "" if ok else ": " + str(what)))
    if not ok:
        BAD.append(name)


def write_series(path, n, seed):
    r = random.Random(seed)
    with open(path, "w") as f:
        f.write("when,level,other\n")
        for i in range(n):
            y = 20 + 0.4 * i + 3 * math.sin(2 * math.pi * i / 6) + r.gauss(0, 1)
            f.write("%d,%.3f,%.3f\n" % (i, y, r.gauss(0, 1)))


def decimals(folder):
    """Times in decimals, 1959.08333333, are months: steps differ by the rounding of doubles, not of the file.
    Those that are further from a grid stay as they are."""
    for name, places, least, most in (("eight.csv", 8, 0, 1e-10), ("two.csv", 2, 1e-2, 1)):
        with open(os.path.join(folder, name), "w") as f:
            f.write("x,y\n" + "".join("%.*f,%d\n" % (places, 1959 + i / 12, i % 5) for i in range(48)))
        program = """define x = mapv(first, read_series("%s"));
            define bend = proc(i) { abs(lookup(x, i + 2) - 2 * lookup(x, i + 1) + lookup(x, i)) };
            print(sum(mapv(bend, range(0, 46))))""" % name
        bends = float(run("-e", program, cwd=folder))
        expect("decimals of " + name, least <= bends <= most, bends)


def rows(text):
    """structure -> (probability, error) of a table as the command and the language print it"""
    out = {}
    for line in text.splitlines():
        part = line.split(None, 2)
        if len(part) == 3 and part[0][:2] in ("0.", "1.") and part[1][:2] in ("0.", "1."):
            out[part[2]] = (part[0], part[1])
    return out


def same(folder, seed, *options):
    name = "seed %s %s" % (seed, " ".join(options))
    text = run("discover", "series.csv", "--seed", seed, "--column", "level", *options, cwd=folder)
    program = run("discover", "series.csv", "--seed", seed, "--column", "level", *options, "-q", "--program",
                  cwd=folder)
    with open(os.path.join(folder, "again.vnts"), "w") as f:
        f.write(program)
    again = run("run", "--seed", seed, "again.vnts", cwd=folder)
    want = rows(text.split("\nMotifs")[0])
    got = rows(again)
    expect(name, want == got and len(want) > 0, (want, got))
    settled = [line for line in text.splitlines() if "chains of" in line]
    expect(name + ", chains", all(line.strip() in again for line in settled) and (settled or "low" in options), settled)


def without_draws(run):
    """The probability of structures whose evidence is Laplace's alone: chains do not visit them."""
    with open(os.path.join(run, "structures.json")) as f:
        s = json.load(f)
    total = [x["log_evidence"] + x["log_prior"] for x in s]
    weight = [math.exp(t - max(total)) for t in total]
    return sum(w for w, x in zip(weight, s) if x["ess"] == 0) / sum(weight)


def queries(folder):
    run("discover", "series.csv", "--column", "level", "--out", "kept", "-q", cwd=folder)
    asked = ["LIN & (WN | LIN*WN)", "recurring pattern", "!trend", "SE*PER | PER"]
    answers = json.loads(run("query", "kept", "--format", "json", *asked, cwd=folder))
    program = run("discover", "series.csv", "--column", "level", "-q", "--program", cwd=folder)
    program += "".join("prob(%s, model);\n" % q for q in asked)
    program += "define draws = structure_draws(model);\n" + "".join("prob(%s, draws);\n" % q for q in asked)
    with open(os.path.join(folder, "ask.vnts"), "w") as f:
        f.write(program)
    left = without_draws(os.path.join(folder, "kept"))
    expect("chains visit nearly all", left < 0.03, left)
    told = [json.loads(line) for line in run("run", "ask.vnts", cwd=folder).splitlines() if line[:1] == "{"][3:]
    for i, (q, a) in enumerate(zip(asked, answers)):
        b, c = told[i], told[len(asked) + i]
        expect("query '%s'" % q, all(abs(a[k] - b[k]) < 1e-4 * (1 + abs(b[k])) for k in ("probability", "error")),
               (a, b))
        expect("draws '%s'" % q, abs(b["probability"] - c["probability"]) <= b["error"] + c["error"] + left, (b, c))


def precisions(folder):
    """A folder knows its precision; that of another version is refused. Less is computed at the lower ones."""
    spent = []
    for precision in ("low", "normal", "high"):
        run("discover", "series.csv", "--column", "level", "--precision", precision, "--out", precision, "-q", cwd=folder)
        d = json.loads(run("report", precision, "--format", "json", cwd=folder))["diagnostics"]
        expect("precision " + precision, d["precision"] == precision, d)
        spent.append(d["likelihoods"])
    expect("precisions by what they spend", spent == sorted(set(spent)), spent)
    manifest = os.path.join(folder, "low", "manifest.json")
    with open(manifest) as f: text = f.read()
    with open(manifest, "w") as f: f.write(text.replace('"precision": "low"', '"precision": "lowest"'))
    done = subprocess.run([TOOL, "query", "low", "trend"], capture_output=True, text=True, cwd=folder)
    expect("another precision", done.returncode == 2 and "precision 'lowest'" in done.stderr, (done.returncode, done.stderr))


PAPER = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "examples", "paper.vnts")
BASE = {"LIN": "make_linear(theta_1)", "PER": "make_periodic(theta_2, theta_3, theta_4)",
        "SE": "make_squaredexp(theta_5, theta_6)", "WN": "make_noise(theta_7)"}


def paper(folder):
    """The example: odds of structures that one kernel makes alone are those of their log_evidence by gradients through the trace."""
    write_series(os.path.join(folder, "short.csv"), 20, 4)
    with open(os.path.join(folder, "short.csv")) as f: lines = [line.rsplit(",", 1)[0] + "\n" for line in f]
    with open(os.path.join(folder, "short.csv"), "w") as f: f.writelines(lines)
    data = ("--data", 'file="short.csv"', "--data", "x_scale=1", "--data", "y_sd=5")
    told = {}
    for line in run("run", "--seed", "1", *data, PAPER, cwd=folder).splitlines():
        part = line.split(None, 3)
        if len(part) == 4 and part[0][:2] in ("0.", "1.") and part[2].isdigit(): told[part[3]] = (float(part[0]), float(part[1]))
    expect("paper: not all on one structure", 0.05 < max(told.values())[0] < 0.95 and abs(sum(p for p, _ in told.values()) - 1) < 0.01, told)
    text = open(PAPER).read()
    head, odds = text[:text.index("assume lin = ")], []
    # sums: each permutation gives the same kernel, so their prior is 1/2 for every + times that of the subset
    for structure in sorted((s for s in told if "*" not in s), key=lambda s: -told[s][0])[:3]:
        terms, p = structure.split(" + "), told[structure]
        with open(os.path.join(folder, "evidence.vnts"), "w") as f:
            f.write(head + "assume f = make_gp(0, %s);\nobserve f(xs) = ys;\nlog_evidence(\"hyper-parameters\");\n" % " + ".join(BASE[t] for t in terms))
        lines = [line for line in run("run", *data, "evidence.vnts", cwd=folder).splitlines() if "log_evidence" in line]
        a = json.loads(lines[-1])[0]
        odds.append((structure, math.log(p[0]) - a["log_evidence"] + (len(terms) - 1) * math.log(2), math.hypot(a["error"], (p[1] + 5e-5) / p[0])))
    expect("paper: some structures to compare", len(odds) >= 2, told)
    for structure, value, error in odds[1:]:
        expect("paper: odds of %s and %s" % (odds[0][0], structure), abs(value - odds[0][1]) < 5 * math.hypot(error, odds[0][2]) < 2.5, odds)


with tempfile.TemporaryDirectory() as folder:
    write_series(os.path.join(folder, "series.csv"), 40, 1)
    decimals(folder)
    same(folder, "1")
    same(folder, "7", "--kernels", "LIN,PER,SE,RQ", "--log", "never")
    same(folder, "2", "--changepoints", "--kernels", "LIN PER", "--holdout", "0.2")
    same(folder, "3", "--precision", "low")
    queries(folder)
    precisions(folder)
    paper(folder)
print("%d failed" % len(BAD))
sys.exit(1 if BAD else 0)
