#!/usr/bin/python3
"""gpmem discover, query, forecast and report from end to end on small series: fields of the JSON, the same
result whatever the number of threads, a kept run read back, bad input with message and exit status 2."""
import csv, io, json, math, os, random, subprocess, sys, tempfile

TOOL = sys.argv[1]


def run(*args, status=0):
    r = subprocess.run([TOOL] + list(args), capture_output=True, text=True, timeout=600)
    assert r.returncode == status, (args, r.returncode, r.stderr, r.stdout[-500:])
    return r


def write(path, rows):
    with open(path, "w") as f:
        f.write("".join(",".join(map(str, r)) + "\n" for r in rows))
    return path


def check_result(tmp):
    rng = random.Random(4)
    rows = [("ds", "y")] + [("%d-%02d" % (2000 + i // 12, i % 12 + 1),
                             round(10 + 0.1 * i + 2 * math.sin(i * math.pi / 6) + rng.gauss(0, 0.3), 4)) for i in range(60)]
    data = write(os.path.join(tmp, "s.csv"), rows)
    results = []
    for threads in ("1", "2"):
        js, out = os.path.join(tmp, "r%s.json" % threads), os.path.join(tmp, "run" + threads)
        run("discover", data, "-j", threads, "--json", js, "--out", out, "-q", "--holdout", "0.1", "--strict")
        results.append(json.load(open(js)))
    a, b = results
    for r in results:
        del r["seconds"]
    assert a == b, "the result depends on the number of threads"
    for field in ("structures", "components", "diagnostics", "settled", "seed", "data"):
        assert field in a, field
    ps = [s["probability"] for s in a["structures"]]
    assert ps == sorted(ps, reverse=True) and abs(sum(ps) - 1) < 1e-6, sum(ps)
    assert all(set(s) >= {"struct", "probability", "error"} for s in a["structures"] + a["components"])
    assert a["settled"] is True and a["seed"] == 1
    comp = {c["struct"]: c["probability"] for c in a["components"]}
    assert comp["LIN"] > 0.9 and sum(p for k, p in comp.items() if "PER" in k) > 0.95, comp
    assert 0 <= a["holdout"]["coverage"] <= 1 and a["holdout"]["mase"] < 1.5
    out = os.path.join(tmp, "run1")
    for name in ("manifest.json", "data.csv", "structures.json", "chains.csv", "draws.csv"):
        assert os.path.getsize(os.path.join(out, name)) > 0, name
    q = run("query", out, "LIN & (WN | LIN*WN)", "!LIN", "--format", "json").stdout
    q = json.loads(q)
    assert abs(q[0]["probability"] - comp["LIN"]) < 1e-5 and abs(q[0]["probability"] + q[1]["probability"] - 1) < 1e-5
    assert all(x["error"] > 0 and x["ess"] > 0 for x in q)
    run("query", out, "LIN &", status=2)
    run("query", os.path.join(tmp, "nowhere"), "LIN", status=2)
    f = list(csv.reader(io.StringIO(run("forecast", out, "--horizon", "24").stdout)))
    assert f[0] == ["x", "median", "lo", "hi"] and len(f) == 25, f[:2]
    assert f[1][0] == "2004-07" and all(float(r[2]) < float(r[1]) < float(r[3]) for r in f[1:]), f[1]
    at = list(csv.reader(io.StringIO(run("forecast", out, "--at", "2004-07").stdout)))
    assert abs(float(at[1][1]) - float(f[1][1])) < 1e-6 * abs(float(f[1][1]))
    # what was read back says the same as the run itself
    again = json.loads(run("report", out, "--format", "json").stdout)
    assert again["structures"] == a["structures"] and again["components"] == a["components"]
    assert max(abs(x - y) for x, y in zip(again["forecast"]["mean"], a["forecast"]["mean"])) < 1e-6
    for form, mark in (("html", "<svg"), ("markdown", "# Structure"), ("text", "Structures"), ("program", "infer")):
        assert mark in run("report", out, "--format", form).stdout, form
    check_program_kept(tmp)
    check_times_of_forecasts(tmp)
    check_seeds(tmp)
    with open(os.path.join(out, "data.csv"), "a") as f:
        f.write("3000,1\n")
    assert "hash" in run("query", out, "LIN", status=2).stderr


def check_times_of_forecasts(tmp):
    """A series of days is asked for days and instants; a month, a quarter or a number is none of its times."""
    kept = os.path.join(tmp, "days")
    data = write(os.path.join(tmp, "days.csv"), [("2020-01-%02d" % (i + 1), i + (-1) ** i * 0.3) for i in range(30)])
    run("discover", data, "--kernels", "LIN WN", "-q", "--out", kept)
    for at in ("2020-02-05", "2020-02-05T00:00"):
        assert run("forecast", kept, "--at", at).stdout.split("\n")[1].startswith("2020-02-05,"), at
    for at in ("2020-02", "2020Q1", "2020", "5"):
        assert "cannot read the time" in run("forecast", kept, "--at", at, status=2).stderr, at


def check_seeds(tmp):
    """Any seed of 64 bits comes back from a kept run, to the last digit."""
    data = write(os.path.join(tmp, "few.csv"), [(i, i + (-1) ** i * 0.3) for i in range(12)])
    for seed in (2 ** 53 + 1, 2 ** 63 - 1, 2 ** 64 - 1):
        kept = os.path.join(tmp, "seed%d" % seed)
        run("discover", data, "--kernels", "LIN WN", "-q", "--seed", str(seed), "--out", kept)
        assert "--seed %d`" % seed in run("report", kept, "--format", "program").stdout, seed
        json.load(open(os.path.join(kept, "manifest.json")))


def check_program_kept(tmp):
    """The program of a kept run is the one that was printed when it ran: columns, hold-out and all."""
    path, kept = os.path.join(tmp, "wide.csv"), os.path.join(tmp, "wide")
    with open(path, "w") as f:
        f.write("a,when,b,\"the, value\"\n" + "".join("1,%d,x,%g\n" % (i, math.exp(0.05 * i + 0.1 * math.sin(9 * i))) for i in range(60)))
        f.write("1,60,x,bad\n")
    said = run("discover", path, "--time", "when", "--column", "the, value", "--skip-bad", "--max-points", "50", "--holdout", "0.2",
               "--log", "always", "--kernels", "LIN SE", "--program", "--out", kept).stdout
    again = run("report", kept, "--format", "program").stdout
    assert 'column="the, value"' in again and "holdout=0.2" in again and "max_points=50" in again and 'log="always"' in again, again
    assert again in said, said + again


def check_time_formats(tmp):
    """The same three years under different spellings of the month, in columns of its parts, and in other files: the same structures."""
    rng = random.Random(2)
    y = [round(math.sin(i * math.pi / 6) + rng.gauss(0, 0.2), 4) for i in range(36)]
    names = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()
    spell = {"iso": lambda i: "%d-%02d-01" % (2000 + i // 12, i % 12 + 1), "month": lambda i: "%d-%02d" % (2000 + i // 12, i % 12 + 1),
             "name": lambda i: "%s %d" % (names[i % 12], 2000 + i // 12)}
    tops, paths = set(), [write(os.path.join(tmp, name + ".csv"), [("ds", "y")] + [(f(i), y[i]) for i in range(36)]) for name, f in spell.items()]
    month = [(2000 + i // 12, i % 12 + 1) for i in range(36)]
    paths.append(write(os.path.join(tmp, "parts.csv"), [("Month", "Year", "sales")] + [(month[i][1], month[i][0], y[i]) for i in range(36)]))
    paths.append(write(os.path.join(tmp, "names.csv"), [("year", "month", "sales")] + [(month[i][0], names[i % 12], y[i]) for i in range(36)]))
    paths.append(write(os.path.join(tmp, "days.csv"), [("year", "month", "day", "y")] + [(*month[i], 1, y[i]) for i in range(36)]))
    paths.append(os.path.join(tmp, "blanks.txt"))
    with open(paths[-1], "w") as f:
        f.write("ds        y\n" + "".join("%d-%02d  %8.4f\n" % (*month[i], y[i]) for i in range(36)))
    paths.append(os.path.join(tmp, "wide_letters.csv"))
    with open(paths[0]) as f, open(paths[-1], "w", encoding="utf-16") as g:
        g.write(f.read())
    for path in paths:
        js = path + ".json"
        run("discover", path, "--json", js, "-q")
        top = json.load(open(js))["structures"][0]
        tops.add((top["struct"], round(top["probability"], 2)))
    assert len(tops) == 1 and "PER" in list(tops)[0][0], tops
    kept, at = os.path.join(tmp, "parts"), os.path.join(tmp, "at.csv")
    run("discover", os.path.join(tmp, "days.csv"), "-q", "--out", kept)
    said = run("forecast", kept, "--at", "2003-01-01", "--at", "2003-07-01").stdout
    at = write(at, [("year", "month", "day"), (2003, 1, 1), (2003, 7, 1)])
    assert run("forecast", kept, "--at-file", at).stdout == said and "2003-07-01," in said, said
    # a mean of the year as its month 13 is no date: told with its line, left out when asked to; a row that says Total is left out
    rows = [("year", "month", "sales")] + [(*month[i], y[i]) for i in range(36)]
    path = write(os.path.join(tmp, "total.csv"), rows[:13] + [("Total", "", 3)] + rows[13:])
    assert "36 values" in run("discover", path, "-q").stdout and "line 14, which is no row of the table, left out" in run("discover", path, "-q").stdout
    for name, row, part in (("thirteen", (2000, 13, 0.5), "'2000-13'"), ("later", ("later", "", 3), "'later-'")):
        path = write(os.path.join(tmp, name + ".csv"), rows[:13] + [row] + rows[13:])
        err = run("discover", path, status=2).stderr
        assert name + ".csv:14: cannot read the time" in err and part in err, err
        assert "36 values" in run("discover", path, "--skip-bad", "-q").stdout
    # days of the week are no part of a date, and no value to choose
    path = write(os.path.join(tmp, "week.csv"), [("year", "month", "day", "a", "b")] + [(*month[i], "Mon", y[i], 1) for i in range(36)])
    err = run("discover", path, status=2).stderr
    assert err.rstrip().endswith("--column: 'a' 'b'"), err
    # asked for, the year alone is the time
    assert "repeated times" in run("discover", os.path.join(tmp, "parts.csv"), "--time", "Year", "--column", "sales", "-q").stdout


def check_bad_input(tmp):
    def bad(name, text, part):
        path = os.path.join(tmp, name)
        open(path, "w").write(text)
        err = run("discover", path, status=2).stderr
        assert part in err, (name, err)
    bad("empty.csv", "", "no rows")
    bad("header.csv", "ds,y\n", "no rows")
    bad("sametime.csv", "ds,y\n" + "".join("5,%d\n" % i for i in range(20)), "same time")
    bad("slashes.csv", "ds,y\n" + "".join("01/%02d/2000,%d\n" % (i, i) for i in range(1, 13)), "--date-format")
    bad("one.csv", "ds,y\n2000,1\n", "too few")
    bad("constant.csv", "ds,y\n" + "".join("%d,3\n" % i for i in range(50)), "constant")
    bad("missing.csv", "ds,y\n" + "".join("%d,NA\n" % i for i in range(50)), "no value")
    bad("formats.csv", "ds,y\n2000-01-01,1\n01/02/2000,2\nMarch 3,4\n", ":3:")
    bad("word.csv", "ds,y\n2000-01-01,1\n2000-02-01,abc\n", ":3:")
    bad("inf.csv", "ds,y\n1,1\n2,inf\n", ":3:")
    bad("columns.csv", "t,a,b\n1,2,3\n2,3,4\n", "--column")
    assert run("discover", os.path.join(tmp, "absent.csv"), status=2).stderr
    run("discover", os.path.join(tmp, "one.csv"), "--holdout", "2", status=2)
    run("discover", os.path.join(tmp, "one.csv"), "--kernels", "FOO", status=2)
    check_time_formats(tmp)
    # a million rows: the last ones are used, and it says so
    path = os.path.join(tmp, "million.csv")
    with open(path, "w") as f:
        f.write("ds,y\n" + "".join("%d,%d.%d\n" % (i, i * 7919 % 12, i % 7) for i in range(1000000)))
    out = run("discover", path, "--max-points", "60").stdout
    assert "60 values" in out and "999940 oldest values were left out" in out, out[:300]
    # descending times, huge and tiny numbers: a result
    rng = random.Random(1)
    down = write(os.path.join(tmp, "down.csv"), [(-i, 1e12 * (i + rng.gauss(0, 1))) for i in range(30)])
    assert "sorted" in run("discover", down).stdout
    tiny = write(os.path.join(tmp, "tiny.csv"), [(i * 1e-9, 1e-12 * (i % 5) + 1e-14 * rng.random()) for i in range(30)])
    assert "Structures" in run("discover", tiny).stdout


with tempfile.TemporaryDirectory() as tmp:
    check_result(tmp)
    check_bad_input(tmp)
print("discover, query, forecast, report: fine")
