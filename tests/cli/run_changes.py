#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The changes of a result of gpmem discover as data: kind, date, interval, probability and size of a shift, a bend, louder noise, a level
for a time and a pattern for a time, all of them known; the words have the same dates, and a kept run the same list.

    run_changes.py GPMEM"""
import json, math, os, random, subprocess, sys, tempfile

TOOL = sys.argv[1]


def tool(*args):
    r = subprocess.run([TOOL, *args], capture_output=True, text=True, timeout=600)
    assert r.returncode == 0, (args, r.stderr)
    return r.stdout


def month(i):
    return "%d-%02d" % (2000 + i // 12, i % 12 + 1)


def changes(tmp, name, values, *args):
    path, js, run = (os.path.join(tmp, name + end) for end in (".csv", ".json", ".run"))
    with open(path, "w") as f:
        f.write("month,value\n" + "".join("%s,%.3f\n" % (month(i), v) for i, v in enumerate(values)))
    text = tool("discover", path, "--json", js, "--out", run, *args)
    d = json.load(open(js))
    again = json.loads(tool("report", run, "--format", "json"))["changes"]
    assert [(c["kind"], c["x"], c["interval"]) for c in again] == [(c["kind"], c["x"], c["interval"]) for c in d["changes"]], (again, d["changes"])
    for c in d["changes"]:
        lo, hi = c["interval"]
        assert lo <= c["x"][0] <= hi and 0 <= c["probability"] <= 1 + 1e-9 and 1 <= c["at"] <= len(values), c
        assert d["description"]["components"][c["component"] - 1]["struct"] == c["struct"], c
    return text, d["changes"]


def near(c, kind, at, slack, size=None, wide=0.0):
    assert c["kind"] == kind and abs(c["at"] - 1 - at) <= slack and c["probability"] > 0.9, c
    assert c["interval"][0] <= month(at + slack) and c["interval"][1] >= month(at - slack), c
    if size is None:
        assert c["size"] is None and c["size_lo"] is None, c
    else:
        assert abs(c["size"] - size) < wide and c["size_lo"] < c["size"] < c["size_hi"], c


def check_known(tmp):
    rng = random.Random(1)
    text, (c,) = changes(tmp, "step", [20 + 8 * (i >= 60) + rng.gauss(0, 1) for i in range(120)], "--log", "never")
    near(c, "level", 60, 0, 8, 0.6)
    assert c["x"] == ["2005-01"] and "The level shifts up by %.3g (95%%: %.3g to %.3g) at 2005-01." % (c["size"], c["size_lo"], c["size_hi"]) in text, (c, text)
    text, (c,) = changes(tmp, "bend", [50 + 0.9 * max(0, i - 70) + rng.gauss(0, 1) for i in range(140)], "--log", "never")
    near(c, "slope", 70, 3, 0.9 * 12, 0.5)  # times of months count in years
    assert "It starts at " + c["x"][0] in text and "rises by %.3g per year" % c["size"] in text, (c, text)
    text, (c,) = changes(tmp, "noise", [50 + rng.gauss(0, 1 if i < 80 else 5) for i in range(160)], "--log", "never")
    near(c, "noise", 80, 3, 5, 1.5)
    text, (up, down) = changes(tmp, "pulse", [50 + 9 * (40 <= i < 52) + rng.gauss(0, 1) for i in range(120)], "--log", "never")
    near(up, "level", 40, 0, 9, 1)
    near(down, "level", 52, 0, -9, 1)
    assert "from 2003-05 to 2004-04" in text and (up["x"], down["x"]) == (["2003-05"], ["2004-05"]), (up, down, text)
    text, (start, end) = changes(tmp, "window", [20 + (6 * math.sin(i * math.pi / 6) + 3 * math.cos(i * math.pi / 3) if 48 <= i < 96 else 0)
                                                 + rng.gauss(0, 1) for i in range(144)], "--log", "never")
    near(start, "start", 48, 3)
    near(end, "end", 96, 3)
    assert start["struct"] == end["struct"] == "PER" and "It acts between %s and %s." % (month(start["at"] - 1), month(end["at"] - 2)) in text, (start, end, text)
    assert changes(tmp, "plain", [50 + rng.gauss(0, 1) for i in range(60)])[1] == []


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        check_known(folder)
    print("ok")
