#!/usr/bin/python3
"""Forecast scores of `gpmem discover`: structure_forecast.py GPMEM [--set lloyd|r|all] [--only NAME]
[--back K] [--paths N] [--jobs N] [--json FILE]; or a Markdown table of results kept so: structure_forecast.py --table FILE... [--peers CSV],
beside the scores that structure_peers.R wrote.

Splits: the thirteen series of Lloyd et al. cut at 90% of the time span (../shared/data/lloyd13_extrap) and
the last tenth of R's univariate series (../shared/data/r). MASE divides the mean absolute error by the
in-sample error of the seasonal naive forecast (lag = frequency; 1 for irregular series).

--back K: origins K times as many values before the end instead, which must lie inside the training part: for choices, which must
not see the test part. --paths N: what share of a series lies inside its intervals where the forecast is right, errors of one series
depending on each other as they do: by N courses drawn from each forecast. That tells whether a share seen is a fault or chance."""
import argparse, csv, json, math, os, random, subprocess, sys, tempfile, time
from concurrent.futures import ThreadPoolExecutor

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "shared", "data")
FREQ = {"01-airline": 12, "03-mauna": 12, "07-call-centre": 12, "08-radio": 12, "09-gas-production": 12,
        "10-sulphuric": 12, "11-unemployment": 12,
        "AirPassengers": 12, "UKDriverDeaths": 12, "USAccDeaths": 12, "co2": 12, "fdeaths": 12, "ldeaths": 12,
        "mdeaths": 12, "nottem": 12, "sunspot.month": 12, "sunspots": 12, "JohnsonJohnson": 4, "UKgas": 4,
        "austres": 4, "freeny.y": 4, "presidents": 4}
MAX_POINTS = 1000  # of a long series the last ones are fitted, the default of gpmem discover
IRREGULAR = {"05-temperature", "06-internet", "12-births"}


def read(path):
    rows = [r for r in csv.reader(open(path))][1:]
    return [(float(x), float(y)) for x, y in rows if y not in ("NA", "")]


def series(which):
    out = []
    if which in ("lloyd", "all"):
        d = os.path.join(ROOT, "lloyd13_extrap")
        for f in sorted(os.listdir(d)):
            if f.endswith(".train.csv"):
                name = f[:-len(".train.csv")]
                out.append(("lloyd", name, read(os.path.join(d, f)), read(os.path.join(d, name + ".test.csv"))))
    if which in ("r", "all"):
        d = os.path.join(ROOT, "r")
        for f in sorted(os.listdir(d)):
            if f.endswith(".csv") and not f.endswith("_dates.csv"):
                data = read(os.path.join(d, f))
                k = max(1, round(len(data) * 0.1))
                out.append(("r", f[:-4], data[:-k], data[-k:]))
    return out


def earlier(item, back):
    """The case whose values to forecast end `back` times their number before the end; None: too short."""
    group, name, train, test = item
    k = len(test)
    both = sorted(train[-MAX_POINTS:]) + sorted(test)
    end = len(both) - back * k
    return (group, name, both[:end - k], both[end - k:end]) if end - k >= 14 else None


def inside(values, p):
    return sum(lo <= y <= hi for y, lo, hi in zip(values, p["lo"], p["hi"])) / len(values)


def shares_if_right(tool, run, test, p, n, path):
    """The share inside its intervals of each of n courses drawn from a forecast."""
    with open(path, "w") as f:
        f.write("x\n" + "".join("%r\n" % x for x, _ in test))
    r = subprocess.run([tool, "forecast", run, "--at-file", path, "--paths", str(n), "-q"], capture_output=True, text=True, check=True)
    rows = list(csv.reader(r.stdout.splitlines()))[1:]
    return [inside(course, p) for course in zip(*([float(v) for v in row[-n:]] for row in rows))]


def score(tool, item, extra, paths, tmp):
    group, name, train, test = item
    train = sorted(train)
    test = sorted(test)
    path = os.path.join(tmp, name + ".csv")
    fitted = train[-MAX_POINTS:]
    with open(path, "w") as f:
        f.write("x,y\n")
        for x, y in fitted + test:
            f.write("%r,%r\n" % (x, y))
    js, run = os.path.join(tmp, name + ".json"), os.path.join(tmp, name + ".run")
    start = time.time()
    r = subprocess.run([tool, "discover", path, "--holdout", repr(len(test) / (len(fitted) + len(test))),
                        "--max-points", str(len(fitted) + len(test)), "--json", js, "-q"] + (["-o", run] if paths else []) + extra, capture_output=True, text=True)
    wall = time.time() - start
    if r.returncode:
        return {"group": group, "name": name, "error": r.stderr.strip()}
    d = json.load(open(js))
    p = d["holdout_forecast"]
    m = FREQ.get(name, 1)
    ys = [y for _, y in train]
    scale = sum(abs(ys[i] - ys[i - m]) for i in range(m, len(ys))) / (len(ys) - m)
    n = len(test)
    assert len(p["mean"]) == n, (name, n, len(p["mean"]))
    mae = sum(abs(y - f) for (_, y), f in zip(test, p["median"])) / n
    rmse = math.sqrt(sum((y - f) ** 2 for (_, y), f in zip(test, p["median"])) / n)
    cov = inside([y for _, y in test], p)
    width = sum(hi - lo for lo, hi in zip(p["lo"], p["hi"])) / n / scale
    return {"group": group, "name": name, "n": len(train), "h": n, "mase": mae / scale, "rmse": rmse,
            "coverage": cov, "right": shares_if_right(tool, run, test, p, paths, path) if paths else [], "width": width, "crps": d["holdout"]["crps"] / scale,
            "struct": d["structures"][0]["struct"], "p": d["structures"][0]["probability"],
            "log": d["probability_of_log"], "settled": d["settled"], "seconds": d["seconds"], "wall": wall}


def gmean(v):
    return math.exp(sum(math.log(max(x, 1e-9)) for x in v) / len(v))


def groups(ok):
    lloyd = [r for r in ok if r["group"] == "lloyd"]
    return {"13 Lloyd": lloyd, "10 regular Lloyd": [r for r in lloyd if r["name"] not in IRREGULAR],
            "R series": [r for r in ok if r["group"] == "r"], "all": ok}


def summary(rs):
    """MASE, CRPS, coverage by series, coverage of all points."""
    points = sum(r["h"] for r in rs)
    return (gmean([r["mase"] for r in rs]), gmean([r["crps"] for r in rs]),
            sum(r["coverage"] for r in rs) / len(rs), sum(r["coverage"] * r["h"] for r in rs) / points)


def chance(rs, times=20000):
    """Of mean shares of the series where all forecasts are right: mean, standard deviation, share of those at least and at most as seen."""
    rng, seen = random.Random(1), sum(r["coverage"] for r in rs) / len(rs)
    means = [sum(rng.choice(r["right"]) for r in rs) / len(rs) for _ in range(times)]
    m = sum(means) / times
    return (m, math.sqrt(sum((x - m) ** 2 for x in means) / times), sum(x >= seen - 1e-9 for x in means) / times,
            sum(x <= seen + 1e-9 for x in means) / times)


def table(files, peers):
    rows = sorted((r for f in files for r in json.load(open(f)) if "error" not in r), key=lambda r: r["n"])
    score = {}
    for r in csv.DictReader(open(peers)) if peers else []:
        if r["mase"] != "NA":
            score[r["series"], r["method"]] = float(r["mase"]), float(r["coverage"])
    methods = list(dict.fromkeys(m for _, m in score))
    print("| set | method | series | MASE | CRPS | inside 95%, mean of series | of all points |\n|---|---|--:|--:|--:|--:|--:|")
    for g, rs in groups(rows).items():
        if rs:
            print("| %s | gpmem discover | %d | **%.2f** | %.2f | %.3f | %.3f |" % ((g, len(rs)) + summary(rs)))
        for m in methods:
            both = [r for r in rs if (r["name"], m) in score]
            if len(both) > 1:
                print("| | %s | %d | %.2f (gpmem on these: %.2f) | | %.3f | |" % (
                    m, len(both), gmean([score[r["name"], m][0] for r in both]), gmean([r["mase"] for r in both]),
                    sum(score[r["name"], m][1] for r in both) / len(both)))
    print("\n| series | fitted | ahead | MASE | CRPS | inside 95% | " + "".join(m + " | " for m in methods) +
          "most probable structure |\n|---|--:|--:|--:|--:|--:|" + "--:|" * len(methods) + "---|")
    for r in rows:
        beside = "".join("%.3f | " % score[r["name"], m][0] if (r["name"], m) in score else "| " for m in methods)
        print("| %s | %d | %d | %.3f | %.3f | %.2f | %s%s`%s` |" % (
            r["name"], min(r["n"], MAX_POINTS), r["h"], r["mase"], r["crps"], r["coverage"], beside,
            "log: " if r["log"] > 0.5 else "", r["struct"]))
    return 0


def main():
    a = argparse.ArgumentParser(description=__doc__)
    a.add_argument("tool", nargs="?")
    a.add_argument("--table", nargs="+")
    a.add_argument("--peers")
    a.add_argument("--set", default="all")
    a.add_argument("--only")
    a.add_argument("--jobs", type=int, default=1)
    a.add_argument("--json")
    a.add_argument("--max-n", type=int, default=10 ** 9)
    a.add_argument("--min-n", type=int, default=0)
    a.add_argument("--back", type=int, default=0)
    a.add_argument("--paths", type=int, default=0)
    a.add_argument("--extra", default="", help="more options for gpmem discover")
    o = a.parse_args()
    if o.table:
        return table(o.table, o.peers)
    if not os.path.isdir(ROOT):
        print("skipped: no ../shared/data")
        return 0
    cases = [earlier(s, o.back) for s in series(o.set)] if o.back else series(o.set)
    items = [s for s in cases if s and (not o.only or o.only in s[1]) and o.min_n <= len(s[2]) <= o.max_n]
    items.sort(key=lambda s: len(s[2]))
    done = []
    with tempfile.TemporaryDirectory() as tmp, ThreadPoolExecutor(o.jobs) as pool:
        for r in pool.map(lambda s: score(o.tool, s, o.extra.split(), o.paths, tmp), items):
            done.append(r)
            if "error" in r:
                print("%-18s %s" % (r["name"], r["error"]), flush=True)
                continue
            print("%-18s n=%4d h=%3d MASE %6.3f CRPS %6.3f cov %.2f %6.1fs log %.2f p=%.2f %s%s" % (
                r["name"], r["n"], r["h"], r["mase"], r["crps"], r["coverage"], r["seconds"], r["log"], r["p"],
                r["struct"], "" if r["settled"] else " (not settled)"), flush=True)
    ok = [r for r in done if "error" not in r]
    for g, rs in groups(ok).items():
        if rs:
            print("%-17s %2d series: MASE %.3f CRPS %.3f coverage %.3f (of all points %.3f)" % ((g, len(rs)) + summary(rs)))
        if rs and o.paths:
            print("%-17s where forecasts are right: %.3f, standard deviation %.3f; at least as many inside %.3f, at most %.3f" % (
                ("",) + chance(rs)))
    if o.json:
        json.dump(done, open(o.json, "w"), indent=1)
    return 0


sys.exit(main())
