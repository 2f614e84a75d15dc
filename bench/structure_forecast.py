#!/usr/bin/python3
"""Forecast scores of `gpmem discover`: structure_forecast.py GPMEM [--set lloyd|r|all] [--only NAME]
[--jobs N] [--json FILE].

Splits: the thirteen series of Lloyd et al. cut at 90% of the time span (../shared/data/lloyd13_extrap) and
the last tenth of R's univariate series (../shared/data/r). MASE divides the mean absolute error by the
in-sample error of the seasonal naive forecast (lag = frequency; 1 for irregular series)."""
import argparse, csv, json, math, os, subprocess, sys, tempfile, time
from concurrent.futures import ThreadPoolExecutor

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "shared", "data")
FREQ = {"01-airline": 12, "03-mauna": 12, "07-call-centre": 12, "08-radio": 12, "09-gas-production": 12,
        "10-sulphuric": 12, "11-unemployment": 12,
        "AirPassengers": 12, "UKDriverDeaths": 12, "USAccDeaths": 12, "co2": 12, "fdeaths": 12, "ldeaths": 12,
        "mdeaths": 12, "nottem": 12, "sunspot.month": 12, "sunspots": 12, "JohnsonJohnson": 4, "UKgas": 4,
        "austres": 4, "freeny.y": 4, "presidents": 4}
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


def score(tool, item, extra, tmp):
    group, name, train, test = item
    train = sorted(train)
    test = sorted(test)
    path = os.path.join(tmp, name + ".csv")
    with open(path, "w") as f:
        f.write("x,y\n")
        for x, y in train + test:
            f.write("%r,%r\n" % (x, y))
    js = os.path.join(tmp, name + ".json")
    start = time.time()
    r = subprocess.run([tool, "discover", path, "--holdout", repr(len(test) / (len(train) + len(test))),
                        "--json", js, "-q"] + extra, capture_output=True, text=True)
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
    cov = sum(lo <= y <= hi for (_, y), lo, hi in zip(test, p["lo"], p["hi"])) / n
    width = sum(hi - lo for lo, hi in zip(p["lo"], p["hi"])) / n / scale
    return {"group": group, "name": name, "n": len(train), "h": n, "mase": mae / scale, "rmse": rmse,
            "coverage": cov, "width": width, "crps": d["holdout"]["crps"] / scale,
            "struct": d["structures"][0]["struct"], "p": d["structures"][0]["probability"],
            "log": d["probability_of_log"], "settled": d["settled"], "seconds": d["seconds"], "wall": wall}


def gmean(v):
    return math.exp(sum(math.log(max(x, 1e-9)) for x in v) / len(v))


def main():
    a = argparse.ArgumentParser(description=__doc__)
    a.add_argument("tool")
    a.add_argument("--set", default="all")
    a.add_argument("--only")
    a.add_argument("--jobs", type=int, default=1)
    a.add_argument("--json")
    a.add_argument("--max-n", type=int, default=10 ** 9)
    a.add_argument("--min-n", type=int, default=0)
    a.add_argument("--extra", default="", help="more options for gpmem discover")
    o = a.parse_args()
    if not os.path.isdir(ROOT):
        print("skipped: no ../shared/data")
        return 0
    items = [s for s in series(o.set) if (not o.only or o.only in s[1]) and o.min_n <= len(s[2]) <= o.max_n]
    items.sort(key=lambda s: len(s[2]))
    done = []
    with tempfile.TemporaryDirectory() as tmp, ThreadPoolExecutor(o.jobs) as pool:
        for r in pool.map(lambda s: score(o.tool, s, o.extra.split(), tmp), items):
            done.append(r)
            if "error" in r:
                print("%-18s %s" % (r["name"], r["error"]), flush=True)
                continue
            print("%-18s n=%4d h=%3d MASE %6.3f CRPS %6.3f cov %.2f %6.1fs log %.2f p=%.2f %s%s" % (
                r["name"], r["n"], r["h"], r["mase"], r["crps"], r["coverage"], r["seconds"], r["log"], r["p"],
                r["struct"], "" if r["settled"] else " (not settled)"), flush=True)
    ok = [r for r in done if "error" not in r]
    groups = {"13 Lloyd": [r for r in ok if r["group"] == "lloyd"],
              "10 regular Lloyd": [r for r in ok if r["group"] == "lloyd" and r["name"] not in IRREGULAR],
              "R series": [r for r in ok if r["group"] == "r"], "all": ok}
    for g, rs in groups.items():
        if rs:
            points = sum(r["h"] for r in rs)
            print("%-17s %2d series: MASE %.3f CRPS %.3f coverage %.3f (of all points %.3f)" % (
                g, len(rs), gmean([r["mase"] for r in rs]), gmean([r["crps"] for r in rs]),
                sum(r["coverage"] for r in rs) / len(rs), sum(r["coverage"] * r["h"] for r in rs) / points))
    if o.json:
        json.dump(done, open(o.json, "w"), indent=1)
    return 0


sys.exit(main())
