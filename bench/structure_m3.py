#!/usr/bin/python3
"""Forecasts of `gpmem discover` on series of the M3 competition, beside the entrants' published ones.

structure_m3.py GPMEM [--data DIR] [--inside | --back B [--summed]] [--every K [--from I]] [--only ID,...] [--period monthly|quarterly|yearly] [--jobs N] [--seed S] [--json FILE] [-- OPTION...]
structure_m3.py --table FILE [--data DIR] [--peers CSV]

../shared/data/m3 has the training parts, the test parts and the entrants' forecasts. MASE divides the mean
absolute error by the in-sample error of the seasonal naive forecast (lag 12, 4, 1), sMAPE is the competition's; the
interval score is that of Gneiting and Raftery (2007) for 95%, divided as MASE is. The point forecast is the median.
--inside cuts the last values of the training part off instead and forecasts those: for choices of defaults, which
must not see the test part. --back B does so B values before the end, where four seasons and ten values are left; --summed
makes quarters of the months first. --json keeps what is done after every series; with a file of it a run goes on there. --data: other series in files
of the same form (structure_other.R makes some). --peers: scores of R's forecasters by structure_m3_peers.R."""
import argparse, csv, json, math, os, sys, tempfile
from concurrent.futures import ThreadPoolExecutor

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "shared", "data", "m3")
LAG = {"MONTHLY": 12, "QUARTERLY": 4, "YEARLY": 1}
AHEAD = {"MONTHLY": 18, "QUARTERLY": 8, "YEARLY": 6}
NAMES = ["MONTHLY", "QUARTERLY", "YEARLY"]


def set_data(folder):
    global ROOT
    ROOT = folder


def read(name):
    out = {}
    for r in csv.DictReader(open(os.path.join(ROOT, name))):
        out.setdefault(r["id"], []).append((r["period"], r["date"], float(r["y"])))
    return out


def scale_of(ys, lag):
    return sum(abs(ys[i] - ys[i - lag]) for i in range(lag, len(ys))) / (len(ys) - lag)


def scores(point, lo, hi, ys, scale):
    """MASE, sMAPE, coverage, interval score."""
    n = len(ys)
    score = sum(h - l + 40 * max(l - y, 0) + 40 * max(y - h, 0) for y, l, h in zip(ys, lo, hi)) if lo else math.nan
    return {"mase": sum(abs(p - y) for p, y in zip(point, ys)) / n / scale,
            "smape": sum(200 * abs(p - y) / ((p + y) or 1) for p, y in zip(point, ys)) / n,
            "coverage": sum(l <= y <= h for y, l, h in zip(ys, lo, hi)) / n if lo else math.nan,
            "interval": score / n / scale}


def run(tool, name, train, test, seed, extra, tmp):
    period = train[0][0]
    path, js = os.path.join(tmp, name + ".csv"), os.path.join(tmp, name + ".json")
    with open(path, "w") as f:
        f.write("date,y\n" + "".join("%s,%r\n" % (d, y) for _, d, y in train))
    command = [tool, "discover", path, "--horizon", str(len(test)), "--json", js, "-q", "-j", "1", "--seed", str(seed)]
    pid = os.posix_spawn(tool, command + extra, os.environ,
                         file_actions=[(os.POSIX_SPAWN_OPEN, 1, "/dev/null", os.O_WRONLY, 0)])
    _, status, used = os.wait4(pid, 0)
    if status:
        return {"id": name, "period": period, "error": status}
    d = json.load(open(js))
    f = d["forecast"]
    ys = [y for _, _, y in train]
    out = {"id": name, "period": period, "n": len(ys), "cpu": used.ru_utime + used.ru_stime, "settled": d["settled"],
           "struct": d["structures"][0]["struct"], "p": d["structures"][0]["probability"], "log": d["probability_of_log"],
           "likelihoods": d["diagnostics"]["likelihoods"], "visited": d["diagnostics"]["structures_visited"],
           "verdict": d["diagnostics"]["verdict"], "median": f["median"], "lo": f["lo"], "hi": f["hi"]}
    out.update(scores(f["median"], f["lo"], f["hi"], [y for _, _, y in test], scale_of(ys, LAG[period])))
    return out


def keep(path, what):
    with open(path + ".new", "w") as f:
        json.dump(what, f)
    os.replace(path + ".new", path)


def mean(v):
    return sum(v) / len(v) if v else math.nan


def gmean(v):
    return math.exp(mean([math.log(max(x, 1e-9)) for x in v])) if v else math.nan


def quantile(v, q):
    v = sorted(v)
    return v[min(len(v) - 1, int(q * len(v)))]


def line(name, rows):
    cells = []
    for sets in [[p] for p in NAMES] + [NAMES]:
        of = [r for r in rows if r["period"] in sets]
        cells.append("%.3f (%.3f) %.2f" % (mean([r["mase"] for r in of]), gmean([r["mase"] for r in of]),
                                           mean([r["smape"] for r in of])) if of else "")
    return "| %s | %s |" % (name, " | ".join(cells))


def entrants(ids):
    train, test, out = read("train.csv"), read("test.csv"), {}
    forecast = {}
    if not os.path.exists(os.path.join(ROOT, "competitors.csv")):
        return out
    for r in csv.DictReader(open(os.path.join(ROOT, "competitors.csv"))):
        forecast.setdefault((r["method"], r["id"]), {})[int(r["h"])] = float(r["mean"])
    for (method, name), f in forecast.items():
        if name not in ids:
            continue
        period, ys = train[name][0][0], [y for _, _, y in test[name]]
        row = scores([f[h + 1] for h in range(len(ys))], None, None, ys, scale_of([y for _, _, y in train[name]], LAG[period]))
        out.setdefault(method, []).append(dict(row, period=period))
    return out


def intervals(name, rows):
    def cell(of):
        return "%.3f, %.2f" % (mean([r["coverage"] for r in of]), mean([r["interval"] for r in of])) if of else ""
    return "| %s | %s |" % (name, " | ".join(cell([r for r in rows if r["period"] in sets])
                                             for sets in [[p] for p in NAMES] + [NAMES]))


def table(rows, inside, peers):
    ok = [r for r in rows if "error" not in r]
    count = " | ".join("%s (%d)" % (p.lower(), sum(r["period"] == p for r in ok)) for p in NAMES)
    print("MASE, its geometric mean in brackets, sMAPE\n\n| method | %s | all (%d) |\n|---|---|---|---|---|" % (count, len(ok)))
    lines = [("gpmem discover", ok)] + (list(entrants({r["id"] for r in ok}).items()) if not inside else [])
    beside = {}
    for r in csv.DictReader(open(peers)) if peers else []:
        if r["id"] in {x["id"] for x in ok}:
            beside.setdefault(r["method"], []).append({k: v if k in ("id", "method", "period") else float(v) for k, v in r.items()})
    for name, of in sorted(lines + list(beside.items()), key=lambda x: mean([r["mase"] for r in x[1]])):
        print(line("**%s**" % name if of is ok else name, of))
    print("\nshare inside the 95% interval, interval score\n\n| method | " + count + " | all |\n|---|---|---|---|---|")
    for name, of in [("gpmem discover", ok)] + list(beside.items()):
        print(intervals(name, of))
        if of is not ok:
            ids = {r["id"] for r in of}
            print(intervals("gpmem on these %d" % len(ids), [r for r in ok if r["id"] in ids]))
    cpu = [r["cpu"] for r in ok]
    print("\nCPU s: median %.2f, 95%% %.2f, mean %.2f, largest %.2f; likelihoods: median %d; settled %d of %d; failed %d" % (
        quantile(cpu, .5), quantile(cpu, .95), mean(cpu), max(cpu), quantile([r["likelihoods"] for r in ok], .5),
        sum(r["settled"] for r in ok), len(ok), len(rows) - len(ok)))


def quarters(rows):
    """Whole quarters of monthly rows, summed."""
    of = {}
    for _, d, y in rows:
        of.setdefault((int(d[:4]), (int(d[5:7]) - 1) // 3), []).append(y)
    return [("QUARTERLY", "%d-%02d-01" % (y, 3 * q + 1), sum(v)) for (y, q), v in sorted(of.items()) if len(v) == 3]


def inner(rows, back, summed):
    """The case inside the training part that ends `back` values before its end; None: too short."""
    if summed and rows[0][0] != "MONTHLY":
        return None
    rows = quarters(rows) if summed else rows
    period, rows = rows[0][0], rows[:len(rows) - (back or 0)]
    seasons = 3 if back is None else 4
    if len(rows) - AHEAD[period] < max(10, seasons * LAG[period]):
        return None
    return rows[:-AHEAD[period]], rows[-AHEAD[period]:]


def main():
    a = argparse.ArgumentParser()
    a.add_argument("tool", nargs="?")
    a.add_argument("--inside", action="store_true")
    a.add_argument("--back", type=int)
    a.add_argument("--summed", action="store_true")
    a.add_argument("--every", type=int, default=1)
    a.add_argument("--from", type=int, default=0, dest="first")
    a.add_argument("--only")
    a.add_argument("--period", choices=[p.lower() for p in NAMES])
    a.add_argument("--jobs", type=int, default=2)
    a.add_argument("--seed", type=int, default=1)
    a.add_argument("--json")
    a.add_argument("--table")
    a.add_argument("--peers")
    a.add_argument("extra", nargs="*")
    a.add_argument("--data", default=ROOT)
    o = a.parse_args()
    set_data(o.data)
    o.inside |= o.back is not None or o.summed
    if o.table:
        d = json.load(open(o.table))
        return table(d["rows"], d["inside"], o.peers)
    train, test = read("train.csv"), read("test.csv")
    jobs = []
    for name in sorted(train):
        rows, period = train[name], train[name][0][0]
        if (o.only and name not in o.only.split(",")) or (o.period and period.lower() != o.period):
            continue
        case = inner(rows, o.back, o.summed) if o.inside else (rows, test[name])
        if case:
            jobs.append((name, *case))
    jobs = jobs[o.first::o.every]
    rows = json.load(open(o.json))["rows"] if o.json and os.path.exists(o.json) else []
    jobs = [j for j in jobs if j[0] not in {r["id"] for r in rows}]
    with tempfile.TemporaryDirectory() as tmp, ThreadPoolExecutor(o.jobs) as pool:
        for row in pool.map(lambda j: run(os.path.abspath(o.tool), *j, o.seed, o.extra, tmp), jobs):
            rows.append(row)
            if o.json:
                keep(o.json, {"inside": o.inside, "rows": rows})
    table(rows, o.inside, o.peers)


if __name__ == "__main__":
    sys.exit(main())
