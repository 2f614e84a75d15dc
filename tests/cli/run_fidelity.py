#!/usr/bin/python3
"""Evaluations that can be had for less (argument: the tool): programs that tell values on their way and are stopped when
they fall behind, a variable that sets the cost, budgets in cost, noise that nobody spoke of."""
import json, os, sqlite3, subprocess, sys, tempfile
from each import script

TOOL = os.path.abspath(sys.argv[1])
os.chdir(tempfile.mkdtemp(prefix="fidelity-"))
os.environ["XDG_STATE_HOME"] = os.getcwd()


def run(*args, status=0):
    r = subprocess.run([TOOL, *args], capture_output=True, text=True, timeout=120)
    assert r.returncode == status, (args, r.returncode, r.stdout, r.stderr)
    return r.stdout + r.stderr


# a loss that falls with the epochs; what ends writes a mark
TRAIN = script("train.sh", "#!/bin/sh\nawk -v x=$1 -v n=$2 'BEGIN { for (e = 1; e <= n; e++) { v = (x - 0.3)^2 + 0.5 / e; "
               'printf "gpmem: %d %.9g\\n", e, v; fflush(); if (e == 3) system("sleep 0.05") } printf "%.9g\\n", v }\'\n'
               "echo $1 >> ended.txt\n")
# as above, but without lines on the way
QUIET = script("quiet.sh", "#!/bin/sh\nawk -v x=$1 -v n=$2 'BEGIN { printf \"%.9g\\n\", (x - 0.3)^2 + 0.5 / n }'\n")


def test_hopeless_ones_are_stopped():
    out = run("optimize", "-q", "--var", "x=0:1", "--budget", "30", "--store", "s.db", "--json", "s.json", "--", TRAIN, "{x}", "20")
    j = json.load(open("s.json"))
    stopped = [t for t in j["trace"] if t.get("stopped")]
    assert stopped and "%d stopped early" % len(stopped) in out and j["failed"] == 0, out
    assert abs(j["best"]["y"] - 0.025) < 1e-6 and abs(j["best"]["x"]["x"] - 0.3) < 1e-3, out
    ended = len(open("ended.txt").read().split())
    assert ended < 30, ended  # they did not run to their end
    assert all(t["y"] > 0.1 for t in stopped), stopped  # the best one is never among them
    with sqlite3.connect("s.db") as d:
        told = [json.loads(o) for (o,) in d.execute("SELECT outputs FROM point WHERE outputs LIKE '%steps%'")]
    assert len(told) == 30 and any(len(t["steps"]) == 20 for t in told), told[:2]
    assert run("optimize", "-q", "--var", "x=0:1", "--budget", "30", "--store", "s.db", "--", TRAIN, "{x}", "20") == out
    all_ran = run("optimize", "-q", "--var", "x=0:1", "--budget", "12", "--no-early-stop", "--", TRAIN, "{x}", "20")
    assert "stopped early" not in all_ran, all_ran


def test_lines_on_the_way_are_no_output():
    said = script("said.sh", '#!/bin/sh\necho "gpmem: 1 5"\necho "gpmem: 2 4"\necho 3\n')
    assert "best: 3 at" in run("optimize", "-q", "--var", "x=0:1", "--budget", "2", "--", said, "{x}")
    odd = script("odd.sh", '#!/bin/sh\necho "gpmem: one 5"\necho 3\n')
    assert "best: none" in run("optimize", "-q", "--var", "x=0:1", "--budget", "2", "--", odd, "{x}", status=1)
    two = script("two.sh", '#!/bin/sh\necho "gpmem: 1 5"\necho 3 4\n')
    out = run("optimize", "-q", "--var", "x=0:1", "--budget", "8", "--objective", "f", "--constraint", "c<=9", "--", two, "{x}")
    assert "f=3" in out and "stopped" not in out, out


def test_a_variable_that_sets_the_cost():
    args = ["--var", "x=0:1", "--fidelity", "epochs=1:50:int", "--max-cost", "9", "--store", "f.db"]
    out = run("optimize", "-q", *args, "--json", "f.json", "--", QUIET, "{x}", "{epochs}")
    j = json.load(open("f.json"))
    cost = sum(t["x"]["epochs"] / 50 for t in j["trace"])
    assert 9 <= cost < 10.01 and "cost %.6g" % cost in out, (cost, out)
    assert j["best"]["x"]["epochs"] == 50 and abs(j["best"]["x"]["x"] - 0.3) < 0.01, out
    cheap = [t for t in j["trace"] if t["x"]["epochs"] < 50]
    assert len(j["trace"]) > 10 and cheap, j["trace"]
    best = [t["best"] for t in j["trace"] if t["best"] is not None]
    assert all(b >= 0.01 for b in best), best  # a cheap value is no best one
    assert run("optimize", "-q", *args, "--", QUIET, "{x}", "{epochs}") == out
    for given, why in (("epochs=0:5", "above 0"), ("x=1:5", "already"), ("e=a,b", ":fidelity")):
        said = run("optimize", "--var", "x=0:1", "--fidelity", given, "--budget", "2", "--", "echo", "{x}", status=2)
        assert why in said or "expected" in said, said


def test_costs_that_are_told():
    paid = script("paid.sh", "#!/bin/sh\nawk -v x=$1 'BEGIN { print (x - 0.4)^2, 2.5 }'\n")
    out = run("optimize", "-q", "--var", "x=0:1", "--objective", "f", "--collect", "cost", "--max-cost", "20", "--", paid, "{x}")
    assert out.startswith("evaluations: 8 (0 failed, cost 20)"), out
    assert "not a number above 0" in run("optimize", "--var", "x=0:1", "--max-cost", "-1", "--", paid, "{x}", status=2)


def test_noise_is_noticed():
    noisy = script("noisy.sh", "#!/bin/sh\nawk -v x=$1 -v y=$2 -v s=$(echo >> noises; cksum < noises | cut -c1-8) 'BEGIN { srand(s); "
                   "print (x - 0.3)^2 + (y - 0.6)^2 + 0.1 * (rand() - 0.5) }'\n")
    box = ["--var", "x=0:1", "--var", "y=0:1", "--budget", "30"]
    out = run("optimize", "-q", *box, "--json", "n.json", "--", noisy, "{x}", "{y}")
    assert "values at the same point differ" in out and json.load(open("n.json"))["noise_noticed"] > 0, out
    out = run("optimize", "-q", *box, "--", "awk", "BEGIN { print ({x} - 0.3)^2 + ({y} - 0.6)^2 }")
    assert "differ" not in out, out


for name, test in list(globals().items()):
    if name.startswith("test_"):
        test()
        print("ok", name)
