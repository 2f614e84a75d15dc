#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What a run admits: trajectories that do not follow the posterior (a centred funnel under nuts),
chains that hardly move, and nothing where all is well. Argument: the tool."""
import json, os, subprocess, sys, tempfile

tool = os.path.abspath(sys.argv[1])
FUNNEL = """assume v = normal(0, 3);
assume x = multivariate_normal(zeros(9), exp(v) * id_matrix(9));
infer nuts(default, all, 300, 300);
infer repeat(1500, do(nuts(default, all, 300, 1), collect(v)));
"""
WALL = """assume v = flat();
factor(assess(v, normal, 0, 1) + assess(v, uniform_continuous, -1, 2));
infer nuts(default, all, 300, 300);
infer repeat(150, do(nuts(default, all, 300, 10), collect(v)));
"""  # no step is short enough where the density ends
STUCK = """assume m = normal(0, 1);
for (i = 0; i < 200; i++) { observe normal(m, 0.1) = 0.7 };
infer repeat(500, do(mh(default, one, 1), collect(m)));
"""
DISCRETE = """assume k = tag(scope="k", uniform_discrete(0, 500));
for (i = 0; i < 20; i++) { observe normal(k, 0.4) = 77 };
infer repeat(400, do(mh(scope="k", steps=1), collect(k)));
"""
FINE = """assume a = normal(0, 1);
assume b = normal(0, 2);
for (i = 0; i < 9; i++) { observe normal(a + b * i, 3) = i / 4 };
infer nuts(default, all, 300, 300);
infer repeat(2000, do(nuts(default, all, 300, 1), collect(a, b)));
"""


def run(*args):
    done = subprocess.run([tool] + list(args), stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=300)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def folder(text):
    """Runs a program into a folder; what run, summary, diagnose and diagnostics.json say."""
    with tempfile.TemporaryDirectory() as dir:
        program, out = os.path.join(dir, "p.vnts"), os.path.join(dir, "out")
        with open(program, "w") as f:
            f.write(text)
        status, _, warned = run("run", "--seed", "2", "--out", out, program)
        assert status == 0, warned
        with open(os.path.join(out, "diagnostics.json")) as f:
            kept = json.load(f)
        return warned, run("summary", out)[1], run("diagnose", out), kept


warned, summary, (status, words, _), kept = folder(FUNNEL)
assert "nuts does not follow this posterior" in warned, warned
for text in (summary, words, kept["complaints"], kept["transitions"][0]["complaints"]):
    assert "E-BFMI" in text or "diverged" in text, text
assert status == 1 and "E-BFMI" in words, words
table = [line.split() for line in summary.split("\n") if line.startswith(("sampler", "chain 1 "))]
facts = kept["transitions"][0]["sampler"]
assert table[0] == "sampler accept stepsize depth at limit diverged E-BFMI".split(), summary
assert float(table[1][2]) == round(facts["accept_stat"], 2) and float(table[1][6]) == facts["divergences"], (table, facts)
assert float(table[1][7]) == round(facts["ebfmi"], 2) < 0.5 and facts["transitions"] == 1500, (table, facts)

# thinned draws: a divergence between two of them is marked in the second
with tempfile.TemporaryDirectory() as dir:
    with open(os.path.join(dir, "p.vnts"), "w") as f:
        f.write(WALL)
    run("run", "--seed", "2", "--out", os.path.join(dir, "out"), os.path.join(dir, "p.vnts"))
    rows = [line.split(",") for line in open(os.path.join(dir, "out", "chain-1.csv"))]
    with open(os.path.join(dir, "out", "diagnostics.json")) as f:
        total = json.load(f)["transitions"][0]["sampler"]["divergences"]
    marked = sum(float(row[rows[0].index("divergent__")]) for row in rows[1:])
    assert total > 0 and total / 10 <= marked <= total, (total, marked)

warned, summary, (status, words, _), kept = folder(STUCK)
assert status == 1 and "of 500 proposals were accepted; its choices are continuous" in words, words
for operator in ("slice", "nuts", "laplace_mh"):
    assert operator in words, words
assert "proposals were accepted" in kept["complaints"], kept["complaints"]
with tempfile.NamedTemporaryFile("w", suffix=".vnts") as f:
    f.write(STUCK + "infer summarize(run(collect(m)));")
    f.flush()
    assert "its choices are continuous: try sample() or nuts" in run("run", f.name)[1]

_, _, (status, words, _), _ = folder(DISCRETE)
assert status == 1 and "can be listed: try gibbs" in words, words

warned, summary, (status, words, _), kept = folder(FINE)
assert status == 0 and "nothing to complain" in words, words
assert warned == "" and kept["transitions"][0]["complaints"] == "", (warned, kept)
print("diagnose: a funnel and a stuck chain are admitted, a good run is not blamed")
