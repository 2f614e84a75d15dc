#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What version 0.1 wrote (old-0.1) is read, and means what it meant. A discovery (thinned: the best structures, eight draws of
each): probabilities, forecasts and the report's table are those that version 0.1 gave for it, and the search goes on.
Draws of `run`: the summary is that of 0.1; going on with them is refused, with what to do. Stores of `optimize` and of
a memoizer (as SQL): nothing is computed again, and the search goes on.

    run_old_folder.py GPMEM"""
import json, os, shutil, sqlite3, subprocess, sys, tempfile

TOOL = os.path.abspath(sys.argv[1])
OLD = os.path.join(os.path.dirname(os.path.abspath(__file__)), "old-0.1")
SUMMARY = "mu            2.581      0.36     0.7113      1.372      2.897       3.32         5         4  1.780"
ANSWERS = {"trend": 0.9811, "LIN & PER": 0.9135, "change": 0.3157}
FORECAST = """1999,11.87540578,11.04925945,12.71172712
1999.25,13.59989167,12.70688954,14.51665718
1999.5,12.02255336,11.07410153,12.91068504
1999.75,10.54993582,9.73099516,11.33162321"""
failed = 0


def expect(what, ok, got):
    global failed
    failed += not ok
    print("%s  %s%s" % ("ok  " if ok else "FAIL", what, "" if ok else ": %r" % (got,)))


def run(*args, **options):
    r = subprocess.run([TOOL, *args], capture_output=True, text=True, **options)
    if r.returncode:
        print(r.stdout, r.stderr)
        sys.exit("gpmem %s: status %d" % (" ".join(args), r.returncode))
    return r.stdout


def discovery(at):
    folder = os.path.join(at, "run")
    shutil.copytree(os.path.join(OLD, "discovery"), folder)
    for query, p in ANSWERS.items():
        got = run("query", folder, query)
        expect("probability of %s" % query, abs(float(got.split()[0]) - p) < 1.1e-4, got)
    rows = run("forecast", folder, "-n", "4").split("\n")
    got = [[float(v) for v in line.split(",")[:4]] for line in rows[1:5]]
    for have, line in zip(got, FORECAST.split("\n")):
        want = [float(v) for v in line.split(",")]
        width = want[3] - want[2]
        close = abs(have[1] - want[1]) < 0.02 * width  # the mean became that of the middle
        # intervals became those of Student's t with (n / 16)^2 = 5.06 degrees of freedom: up to 1.31 times as wide
        wider = [(a - have[1]) / (b - want[1]) for a, b in zip(have[2:], want[2:])]
        expect("interval forecast for %g" % want[0], close and all(1.17 < w < 1.31 for w in wider), (have, wider))
    report = run("report", folder)
    expect("the report's first structure", "LIN + PER + WN" in report, report[:400])
    run("discover", "-q", "--continue", folder)
    got = run("query", folder, "trend")
    expect("a search that went on", abs(float(got.split()[0]) - ANSWERS["trend"]) < 0.1, got)


def draws(at):
    folder = os.path.join(at, "draws")
    shutil.copytree(os.path.join(OLD, "draws"), folder)
    expect("summary", SUMMARY in run("summary", folder), run("summary", folder))
    with open(os.path.join(folder, "chain-2.csv")) as f:
        want = [float(line) for line in f.read().split()[1:]]
    got = json.loads(run("export", folder, "--format", "json"))
    expect("draws", got["draws"]["mu"][1] == want, got)
    r = subprocess.run([TOOL, "diagnose", folder], capture_output=True, text=True)
    expect("diagnosis", r.returncode == 1 and "R-hat 1.780" in r.stdout, r)
    expect("plot", run("plot", folder).startswith("mu\n"), folder)
    path = os.path.join(folder, "manifest.json")
    with open(path) as f:
        manifest = f.read().replace("finished", "running")
    with open(path, "w") as f:
        f.write(manifest)
    r = subprocess.run([TOOL, "resume", folder], capture_output=True, text=True)
    expect("going on is refused", r.returncode == 2 and "made by gpmem 0.1.0" in r.stderr and "gpmem run --out" in r.stderr, r)
    with open(path) as f:
        expect("and leaves the folder as it is", f.read() == manifest, path)


def store(at, name):
    path = os.path.join(at, name + ".db")
    with open(os.path.join(OLD, name + ".sql")) as f, sqlite3.connect(path) as db:
        db.executescript(f.read())
        expect("%s is one of 0.1" % name, db.execute("PRAGMA user_version").fetchone() == (2,), path)
    db.close()
    return path


def stores(at):
    path = store(at, "search")
    before = run("memo", "list", path)
    expect("eight evaluations", len(before.splitlines()) == 9, before)
    got = run("optimize", "-q", "--var", "x=-10:10", "--budget", "10", "--store", path, "--", "awk", "BEGIN { print ({x}-3)^2 }")
    expect("the search goes on", got.startswith("evaluations: 10 (0 failed)\nbest: 9.09514e-12 at x=2.9999969841853265"), got)
    after = run("memo", "list", path)
    expect("two more", [l.split()[:3] for l in after.splitlines()[:9]] == [l.split()[:3] for l in before.splitlines()] and
           len(after.splitlines()) == 11, after)
    store(at, "memo")
    program = """assume sim = command("sh sim.sh {x}");
assume (f, e) = gpmem(sim, make_squaredexp(1, 1), store="memo.db");
predict f(2);
predict f(3);
"""  # there is no sim.sh: a call would fail
    with open(os.path.join(at, "m.vnts"), "w") as f:
        f.write(program)
    got = run("run", "--allow-write", "--allow-run", "m.vnts", cwd=at)
    expect("a memoizer that remembers", got == "5\n10\n", got)


with tempfile.TemporaryDirectory() as top:
    for part in (discovery, draws, stores):
        part(top)
sys.exit(failed != 0)
