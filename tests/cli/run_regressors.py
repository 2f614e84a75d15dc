#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Effects of other columns: found with their sizes, none where there is none; forecasts with values to come; kept runs; refusals."""
import json, math, os, random, subprocess, sys, tempfile

TOOL = os.path.abspath(sys.argv[1])
N = 84


def run(*args, status=0):
    r = subprocess.run([TOOL, *args], capture_output=True, text=True, timeout=600)
    assert r.returncode == status, (args, r.returncode, r.stderr[-500:], r.stdout[-500:])
    return r


def month(i): return "%02d.%d" % (i % 12 + 1, 2001 + i // 12)


def make(seed):
    rng = random.Random(seed)
    rows = []
    for i in range(N + 12):
        price, temp, promo, idle = 10 + rng.gauss(0, 1.5), 15 + rng.gauss(0, 8), int(i in (20, 21, 50, 70, 90)), rng.gauss(0, 1)
        y = 80 + 0.2 * i - 2 * price + 6 * math.sin((temp - 15) / 8) + 15 * promo + rng.gauss(0, 1)
        rows.append((i, y, price, temp, promo, idle))
    return rows


def text(rows, future=False):
    out = ["month;" + ("" if future else "sales;") + "price;temp;promo;idle"]
    def comma(v): return ("%.4f" % v).replace(".", ",")
    for i, y, *z in rows: out.append(";".join([month(i)] + ([] if future else [comma(y)]) + [comma(v) for v in z]))
    return "\n".join(out) + "\n"


def write(name, what):
    with open(name, "w") as f: f.write(what)
    return name


OPTIONS = ("--date-format", "%m.%Y", "--column", "sales", "--with", "price,promo,idle", "--smooth", "temp")


def check_effects():
    rows = make(1)
    data = write("data.csv", text(rows[:N]))
    d = json.loads(run("discover", data, *OPTIONS, "--json", "-", "-o", "kept", "--kernels", "LIN SE PER").stdout)
    e = {x["column"]: x for x in d["effects"]}
    for column, truth in (("price", -2), ("promo", 15), ("idle", 0)):
        assert abs(e[column]["change"] - truth) < 3 * e[column]["sd"] + 1e-9 and e[column]["sd"] < 1, (column, e[column])
    assert e["price"]["probability"] > 0.99 and e["promo"]["probability"] > 0.99 and e["idle"]["probability"] < 0.3, e
    assert abs(e["temp"]["change"] - 12 * math.sin(1)) < 1.5, e["temp"]
    assert d["structures"][0]["struct"] == "LIN + WN" and "LIN(price)" in d["description"]["shares"], d["structures"][:2]
    assert d["outliers"] == [], d["outliers"]  # a promotion is none
    again = json.loads(run("report", "kept", "--format", "json").stdout)
    assert again["effects"] == d["effects"] and again["forecast"] == d["forecast"] and again["structures"] == d["structures"]
    assert "at-file" in run("forecast", "kept", "-n", "2", status=2).stderr
    after = rows[N:]
    random.Random(3).shuffle(after)
    got = run("forecast", "kept", "--at-file", write("future.csv", text(after, True))).stdout.splitlines()[1:]
    for line, row in zip(got, after):
        x, mid, lo, hi = line.split(",")
        assert x == month(row[0]) and abs(float(mid) - row[1]) < 4 and float(lo) < float(mid) < float(hi), (line, row)
    with open("plan.csv", "wb") as f: f.write(("Planung für 2008;;;;\n" + text(after, True).replace("\n", "\n;EUR;°C;;\n", 1)).encode("latin-1"))
    assert run("forecast", "kept", "--at-file", "plan.csv").stdout.splitlines()[1:] == got
    lines = text(after, True).splitlines()
    lines[3] = lines[3].replace(lines[3].split(";")[1], "NA")
    assert "price is not known at %s; gaps.csv needs a number there" % month(after[2][0]) in run("forecast", "kept", "--at-file", write("gaps.csv", "\n".join(lines)), status=2).stderr
    inside = sum(float(g.split(",")[2]) <= r[1] <= float(g.split(",")[3]) for g, r in zip(got, after))
    assert inside >= 10, inside
    paths = run("forecast", "kept", "--at-file", "future.csv", "--paths", "40", "--quantiles", "0.3,0.5").stdout.splitlines()[1:]
    for line, row in zip(paths, after):
        q3, q5, *p = [float(v) for v in line.split(",")[4:]]
        assert q3 < q5 and abs(sum(p) / len(p) - q5) < 1.5, line
    first = run("forecast", "kept", "--at", month(3)).stdout  # known rows need no file
    assert first.splitlines()[1].startswith(month(3) + ","), first
    program = run("report", "kept", "--format", "program").stdout
    assert 'with="price,promo,idle", smooth="temp"' in program, program
    write("again.vnts", program)
    assert "LIN + WN" in run("run", "again.vnts", "--seed", "1").stdout
    changed = json.loads(run("discover", data, *OPTIONS, "--json", "-", "--changepoints", "--kernels", "LIN").stdout)
    assert changed["structures"][0]["struct"] == "LIN + WN" and abs(changed["effects"][0]["change"] + 2) < 0.5, changed["structures"][:2]
    scored = json.loads(run("discover", data, *OPTIONS, "--json", "-", "--holdout", "12", "--kernels", "LIN SE PER").stdout)
    assert scored["holdout"]["mase"] < 0.5 and "pays" in scored["holdout_comparison"]["text"], scored["holdout"]


def check_trends():
    """A column that goes along with a trend: which of the two moves the values is not sure, and the interval, over all
    structures, says so. Of ten series with a trend of their own and ten without, at most three are missed (given the most
    probable structure alone, six), and intervals are wider where two explanations compete."""
    missed, width = 0, {}
    for trend in (0.08, 0):
        width[trend] = 0
        for seed in range(10):
            rng = random.Random(seed)
            truth, rows = rng.gauss(0, 1), []
            for i in range(60):
                z = i / 10 + rng.gauss(0, 0.5)
                rows.append("%d,%.5f,%.5f\n" % (i, trend * i + truth * z + rng.gauss(0, 1), z))
            data = write("along.csv", "t,y,z\n" + "".join(rows))
            e = json.loads(run("discover", data, "--column", "y", "--with", "z", "-q", "--json", "-").stdout)["effects"][0]
            missed += not e["lo"] <= truth <= e["hi"]
            width[trend] += e["hi"] - e["lo"]
            assert e["lo"] < e["change"] < e["hi"] and e["sd"] > 0, e
    assert missed <= 3 and width[0.08] > 2 * width[0], (missed, width)


def check_refusals():
    rows = make(2)[:40]
    data = write("d.csv", text(rows))
    flat = write("flat.csv", "t,y,z\n" + "".join("%d,%d,1\n" % (i, i * i % 7) for i in range(20)))
    twice = write("twice.csv", "t,y,z\n" + "".join("%d,%d,%d\n" % (i // 2, i * i % 7, i) for i in range(20)))
    word = write("word.csv", "t,y,z\n" + "".join("%d,%d,%s\n" % (i, i * i % 7, "x" if i == 4 else i % 3) for i in range(20)))
    for args, why in (((data, "--column", "sales", "--with", "prise", "--date-format", "%m.%Y"), "no column 'prise'"), ((flat, "--with", "z"), "constant"),
                      ((twice, "--with", "z"), "repeat"), ((word, "--with", "z"), ":6:"), ((flat, "--with", "t"), "beside being the time"),
                      ((flat, "--paper"), "examples/paper.vnts"), ((word, "--with", "z,z"), "twice")):
        err = run("discover", *args, status=2).stderr
        assert why in err, (args, err)
    gap = write("gap.csv", "t,y,z\n" + "".join("%d,%d,%s\n" % (i, i * i % 7, "" if i == 4 else i % 3) for i in range(20)))
    assert "19 values" in run("discover", gap, "--with", "z", "--kernels", "LIN", "-o", "gap").stdout
    for body, why in (("t\n21\n", "no column 'z'"), ("t,z\n21,\n", "needs a number"), ("t,z\nx,1\n", ":2:")):
        err = run("forecast", "gap", "--at-file", write("f.csv", body), status=2).stderr
        assert why in err, (body, err)


def check_names():
    """A column whose heading holds a line end has an effect, and its values to come are found by that heading and by what is shown."""
    rng = random.Random(4)
    rows = [(i, z, 2 * z + 0.1 * rng.gauss(0, 1)) for i, z in ((i, rng.gauss(0, 1)) for i in range(40))]
    data = write("names.csv", 't,"air\ntemp",y\n' + "".join("%d,%.4f,%.4f\n" % r for r in rows[:36]))
    e = json.loads(run("discover", data, "--column", "y", "--with", "air temp", "-o", "names", "--kernels", "LIN", "--json", "-").stdout)["effects"][0]
    assert abs(e["change"] - 2) < 0.2 and e["column"] == "air temp", e
    for heading in ('"air\ntemp"', "air temp"):
        f = write("names_to_come.csv", heading + ",t\n" + "".join("%.4f,%d\n" % (z, i) for i, z, _ in rows[36:]))
        for line, (_, _, y) in zip(run("forecast", "names", "--at-file", f).stdout.splitlines()[1:], rows[36:]):
            assert abs(float(line.split(",")[1]) - y) < 0.5, (line, y)
    both = write("both.csv", 't,"z\t1",z 1,y\n' + "".join("%d,%d,%d,%d\n" % (i, i % 3, i % 5, i * i % 7) for i in range(20)))
    assert "two columns are called 'z 1'" in run("discover", both, "--column", "y", "--with", "2", status=2).stderr


def check_regimes():
    """Louder noise from a date on, beside a linear and a smooth effect: the date and both effects are found, and forecasts at times of
    a file have the medians of the effects and the noise of the last regime, with paths that scatter as the intervals say."""
    rng = random.Random(3)
    rows, truth = [], []
    for i in range(132):
        price, temp = 10 + rng.gauss(0, 1.5), 15 + rng.gauss(0, 8)
        truth.append(80 - 2 * price + 6 * math.sin((temp - 15) / 8))
        rows.append("%d-%02d,%.3f,%.3f,%.3f" % (2001 + i // 12, i % 12 + 1, price, temp, truth[-1] + rng.gauss(0, 0.6 if i < 70 else 3)))
    write("regime.csv", "month,price,temp,sales\n" + "\n".join(rows[:120]) + "\n")
    write("regime_to_come.csv", "month,price,temp\n" + "\n".join(r.rsplit(",", 1)[0] for r in rows[120:]) + "\n")
    said = run("discover", "regime.csv", "--column", "sales", "--with", "price", "--smooth", "temp", "--out", "regime").stdout
    assert "More uncorrelated noise from 2006-1" in said and "price has a linear effect" in said and "temp has a smooth effect" in said, said
    assert "0.9" < run("query", "regime", "change").stdout, said
    head, *lines = run("forecast", "regime", "--at-file", "regime_to_come.csv", "--paths", "400").stdout.splitlines()
    assert len(lines) == 12 and head.split(",")[:5] == ["x", "median", "lo", "hi", "path1"], head
    for line, f in zip(lines, truth[120:]):
        _, median, lo, hi, *paths = [line.split(",")[0]] + [float(v) for v in line.split(",")[1:]]
        sd = math.sqrt(sum((v - median) ** 2 for v in paths) / len(paths))
        assert abs(median - f) < 1 and 8 < hi - lo < 15 and 0.75 < sd / ((hi - lo) / 3.92) < 1.25, (line[:60], f, sd)
    assert "at-file" in run("forecast", "regime", "-n", "2", status=2).stderr


with tempfile.TemporaryDirectory() as tmp:
    os.chdir(tmp)
    check_effects()
    check_trends()
    check_refusals()
    check_names()
    check_regimes()
print("regressors: fine")
