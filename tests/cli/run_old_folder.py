#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A run folder that version 0.1 wrote (run-0.1, thinned: the best structures, eight draws of each) is read, and
means what it meant: probabilities, forecasts and the report's table are those that version 0.1 gave for it.

    run_old_folder.py GPMEM"""
import os, shutil, subprocess, sys, tempfile

TOOL = os.path.abspath(sys.argv[1])
FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "run-0.1")
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


def run(*args):
    r = subprocess.run([TOOL, *args], capture_output=True, text=True)
    if r.returncode:
        print(r.stdout, r.stderr)
        sys.exit("gpmem %s: status %d" % (" ".join(args), r.returncode))
    return r.stdout


with tempfile.TemporaryDirectory() as at:
    folder = os.path.join(at, "run")
    shutil.copytree(FOLDER, folder)
    for query, p in ANSWERS.items():
        got = run("query", folder, query)
        expect("probability of %s" % query, abs(float(got.split()[0]) - p) < 1.1e-4, got)
    rows = run("forecast", folder, "-n", "4").split("\n")
    got = [[float(v) for v in line.split(",")[:4]] for line in rows[1:5]]
    for have, line in zip(got, FORECAST.split("\n")):
        want = [float(v) for v in line.split(",")]
        width = want[3] - want[2]
        close = [abs(a - b) < 1e-3 * width for a, b in zip(have, want)]
        close[1] = abs(have[1] - want[1]) < 0.02 * width  # the mean became that of the middle
        expect("interval forecast for %g" % want[0], all(close), have)
    report = run("report", folder)
    expect("the report's first structure", "LIN + PER + WN" in report, report[:400])
sys.exit(failed != 0)
