#!/usr/bin/python3
"""Quantiles and paths of forecasts say the same as their intervals; a kept run goes on with --continue."""
import csv, io, json, math, os, random, subprocess, sys, tempfile

TOOL = sys.argv[1]


def run(*args, status=0):
    r = subprocess.run([TOOL, *args], capture_output=True, text=True, timeout=300)
    assert r.returncode == status, (args, r.returncode, r.stderr)
    return r.stdout if status == 0 else r.stderr


def forecast(folder, *args):
    return [{k: v if k == "x" else float(v) for k, v in r.items()}
            for r in csv.DictReader(io.StringIO(run("forecast", folder, "--horizon", "10", *args)))]


def check_columns(folder):
    rows = forecast(folder, "--quantiles", "0.025,0.5,0.9,0.975", "--paths", "1500")
    names = ["x", "median", "lo", "hi", "q0.025", "q0.5", "q0.9", "q0.975"]
    assert list(rows[0])[:8] == names and len(rows[0]) == 1508, list(rows[0])[:9]
    for r in rows:
        assert (r["q0.025"], r["q0.5"], r["q0.975"]) == (r["lo"], r["median"], r["hi"]) and r["q0.5"] < r["q0.9"] < r["hi"], r
        paths = [r["path%d" % (k + 1)] for k in range(1500)]
        for level, at in ((0.025, "lo"), (0.5, "median"), (0.9, "q0.9"), (0.975, "hi")):
            share = sum(p < r[at] for p in paths) / 1500
            assert abs(share - level) < 5 * math.sqrt(level * (1 - level) / 1500) + 0.005, (r["x"], at, share)
    # a path is one course: a level that is not known is the same level all along
    mean = lambda v: sum(v) / len(v)
    a, b = ([r["path%d" % (k + 1)] - r["median"] for k in range(1500)] for r in rows[-2:])
    assert mean([x * y for x, y in zip(a, b)]) > 0.2 * mean([x * x for x in a]), "values of a path are independent"
    assert forecast(folder)[0].keys() == {"x", "median", "lo", "hi"}
    for bad in ("0.5,", "0", "1", "a", "0.1;0.2"):
        said = run("forecast", folder, "--quantiles", bad, status=2 if bad != "0.5," else 0)
        assert bad == "0.5," or "--quantiles" in said, said


def check_continue(tmp, data, folder):
    manifest = lambda d: json.load(open(os.path.join(d, "manifest.json")))
    first, second = manifest(folder), os.path.join(tmp, "second")
    run("discover", "--continue", folder, "--out", second, "-q", "-j", "1")
    more = manifest(second)
    assert manifest(folder) == first, "the first run was changed"
    assert more["draws"] == 2 * first["draws"] and more["steps"] >= 2 * first["steps"] and more["evals"] > first["evals"], more
    a, b = (json.loads(run("query", f, "trend", "random_walk", "--format", "json")) for f in (folder, second))
    assert all(abs(x["probability"] - y["probability"]) < 0.1 for x, y in zip(a, b)), (a, b)
    run("discover", "--continue", second, "-q", "-j", "1")
    assert manifest(second)["draws"] == 4 * first["draws"], "it is kept in its own folder"
    assert "which series" in run("discover", status=2)
    assert "no file" in run("discover", "--continue", folder, data, status=2)
    assert "holds no run" in run("discover", "--continue", os.path.join(tmp, "nowhere"), status=2)


def main():
    rng = random.Random(7)
    level, ys = 0.0, []
    for i in range(60):
        level += 0.1 + rng.gauss(0, 0.5)
        ys.append(level + rng.gauss(0, 0.3))
    with tempfile.TemporaryDirectory() as tmp:
        data, folder = os.path.join(tmp, "walk.csv"), os.path.join(tmp, "first")
        with open(data, "w") as f:
            f.write("t,y\n" + "".join("%d,%r\n" % (i, y) for i, y in enumerate(ys)))
        run("discover", data, "--out", folder, "-q", "-j", "1")
        check_columns(folder)
        check_continue(tmp, data, folder)
    print("quantiles, paths, going on: fine")


main()
