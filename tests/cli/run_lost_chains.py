#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Chains that fail, before or after their first draw, and chains that stand still: they are named, and the others can
be read. Argument: the tool."""
import json, os, subprocess, sys, tempfile

TOOL = os.path.abspath(sys.argv[1])
# which of four chains go wrong depends on their random numbers alone
PROGRAM = """assume mu = normal(0, 10);
observe normal(mu, 1) = 2;
define bad = run(sample(uniform_discrete(0, 3))) == 0;
%s
"""
EARLY = PROGRAM % """define x = if (bad) { lookup([1], 3) } else { 0 };
infer accumulate_dataset(60, do(mh(default, one, 5), collect(mu)));"""
LATE = PROGRAM % """infer accumulate_dataset(40, do(mh(default, one, 5), collect(mu)));
define x = if (bad) { lookup([1], 3) } else { 0 };
infer accumulate_dataset(60, do(mh(default, one, 5), collect(mu)));"""
STILL = PROGRAM % """define step = if (bad) { pass } else { mh(default, one, 5) };
infer accumulate_dataset(60, do(step, collect(mu, labelled(2 * mu, twice))));"""
NEVER = PROGRAM.replace("== 0", ">= 0") % """define x = if (bad) { lookup([1], 3) } else { 0 };
infer accumulate_dataset(60, collect(mu));"""


def run(folder, *args):
    r = subprocess.run([TOOL, *args], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120)
    return r.returncode, r.stdout.decode(), r.stderr.decode()


def start(folder, name, text, seed):
    with open(os.path.join(folder, name + ".vnts"), "w") as f:
        f.write(text)
    return run(folder, "run", name + ".vnts", "--chains", "4", "--seed", str(seed), "--out", name)


def failed(folder, name):
    with open(os.path.join(folder, name, "manifest.json")) as f:
        return json.load(f)["failed"]


with tempfile.TemporaryDirectory() as folder:
    # the first seed with at least one bad chain and one good one
    for seed in range(1, 20):
        status, _, said = start(folder, "early%d" % seed, EARLY, seed)
        name, lost = "early%d" % seed, failed(folder, "early%d" % seed)
        if 0 < len(lost) < 4:
            break
    numbers = [row["chain"] for row in lost]
    assert status == 1 and "index 3 is out of bounds" in lost[0]["why"], (status, lost)
    for n in range(1, 5):
        assert ("chain %d failed:" % n in said) == (n in numbers), (numbers, said)
    assert "%d of 4 chains failed" % len(lost) in said, said

    status, table, said = run(folder, "summary", name)
    assert status == 0 and table.split("\n")[1].startswith("mu "), (status, said)
    for n in numbers:
        assert "chain %d failed before its first draw" % n in said and "out of bounds" in said, said
    status, words, _ = run(folder, "diagnose", name)
    assert status == 1 and "chain %d failed" % numbers[0] in words, words
    status, out, _ = run(folder, "export", name, "--format", "json")
    assert status == 0 and json.loads(out)["chains"] == 4 - len(numbers) and json.loads(out)["rows"] == 60, out[:80]
    assert run(folder, "plot", name, "--svg", "p.svg")[0] == 0
    with open(os.path.join(folder, name, "diagnostics.json")) as f:
        assert json.load(f)["quantities"]["mu"]["mean"] is not None

    status, _, _ = start(folder, "late", LATE, seed)
    status, _, said = run(folder, "summary", "late")
    assert status == 0 and "chain %d failed after 40 of 100 draws" % numbers[0] in said, said
    out = json.loads(run(folder, "export", "late", "--format", "json")[1])
    assert out["rows"] == 100 and out["chains"] == 4 - len(numbers), (out["rows"], out["chains"])

    status, _, said = start(folder, "still", STILL, seed)
    assert status == 0, said
    status, words, _ = run(folder, "diagnose", "still")
    for n in range(1, 5):
        assert ("chain %d does not move: mu" % n in words) == (n in numbers), (numbers, words)
    assert status == 1 and "twice" in words, words

    status, _, said = start(folder, "never", NEVER, seed)
    assert status == 1 and "chains failed; summary" not in said, said
    status, _, said = run(folder, "summary", "never")
    assert status == 1 and "holds no draws" in said and "out of bounds" in said, (status, said)
print("lost chains are named, the others are read")
