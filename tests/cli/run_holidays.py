#!/usr/bin/python3
"""Holidays by a list: moving feasts with a known effect are found, forecasts know those to come, of kept runs and
programs, too; lists that cannot be used are refused with the reason."""
import datetime, json, math, os, random, subprocess, sys, tempfile

TOOL = os.path.abspath(sys.argv[1])


def easter(y):  # of the Gregorian calendar (Meeus, Jones and Butcher)
    a, b, c = y % 19, y // 100, y % 100
    d = (19 * a + b - b // 4 - (b - (b + 8) // 25 + 1) // 3 + 15) % 30
    e = (32 + 2 * (b % 4) + 2 * (c // 4) - d - c % 4) % 7
    f = d + e - 7 * ((a + 11 * d + 22 * e) // 451) + 114
    return datetime.date(y, f // 31, f % 31 + 1)


def tool(*words, status=0):
    r = subprocess.run([TOOL, *words], capture_output=True, text=True)
    assert r.returncode == status, (words, r.returncode, r.stderr)
    return r.stdout if status == 0 else r.stderr


def months(tmp):
    """Two days of Easter (from a list in an older code), each -8 of a month's value: March or April."""
    rng = random.Random(2)
    days = [easter(y) + datetime.timedelta(k) for y in range(2005, 2017) for k in (-2, 1)]
    feasts, series, kept, js = (os.path.join(tmp, n) for n in ("feasts.csv", "m.csv", "kept", "j.json"))
    with open(feasts, "w", encoding="latin-1") as f: f.write("date,name\n" + "".join("%s,Pâques\n" % d for d in days))
    month = lambda i: (2005 + i // 12, i % 12 + 1)
    def free(i): return sum((d.year, d.month) == month(i) for d in days)
    with open(series, "w") as f:
        f.write("date,y\n" + "".join("%d-%02d,%.3f\n" % (*month(i), 100 + 6 * math.sin(i * math.pi / 6) - 8 * free(i) + rng.gauss(0, 1.5)) for i in range(108)))
    tool("discover", series, "--holidays", feasts, "--out", kept, "--json", js, "-q", "--horizon", "36", "--kernels", "PER LIN")
    d = json.load(open(js))
    e = d["effects"][0]
    assert e["column"] == "Pâques" and abs(e["change"] + 8) < 3 * e["sd"] < 2 and e["probability"] > 0.99, e
    median = d["forecast"]["median"]
    for i in range(108, 144):  # 2016: both in March
        expected = 100 + 6 * math.sin(i * math.pi / 6) - 8 * free(i)
        assert abs(median[i - 108] - expected) < 3, (month(i), median[i - 108], expected)
    again = [float(l.split(",")[1]) for l in tool("forecast", kept, "-n", "36").split()[1:]]
    assert all(abs(a - b) < 1e-6 * abs(b) for a, b in zip(again, median)), (again[:3], median[:3])
    why = tool("forecast", kept, "-n", "37", status=2)
    assert "not known at 2017-01" in why and "list of holidays" in why, why
    return feasts, series, d


def again(tmp, d):
    """The program that the run prints gives the same posterior."""
    program = os.path.join(tmp, "again.vnts")
    with open(program, "w") as f: f.write(d["program"])
    assert 'holidays="' in d["program"], d["program"]
    printed = tool("run", program, "--seed", "1")
    assert "%.3f" % d["structures"][0]["probability"] in printed or d["structures"][0]["struct"] in printed, printed


def days(tmp):
    """Daily values: a holiday is a day; two names."""
    rng = random.Random(3)
    first = datetime.date(2020, 1, 1)
    feasts, series, js = (os.path.join(tmp, n) for n in ("d.csv", "s.csv", "d.json"))
    off = {first + datetime.timedelta(k): "closed" for k in range(9, 150, 17)}
    off.update({first + datetime.timedelta(k): "fair" for k in range(5, 150, 23)})
    with open(feasts, "w") as f: f.write("name;day\n" + "".join("%s;%s\n" % (n, d.strftime("%d.%m.%Y")) for d, n in off.items()))
    with open(series, "w") as f:
        f.write("date,y\n" + "".join("%s,%.2f\n" % (first + datetime.timedelta(i), 20 + {"closed": -15, "fair": 10}.get(off.get(first + datetime.timedelta(i)), 0) + rng.gauss(0, 1)) for i in range(120)))
    tool("discover", series, "--holidays", feasts, "--json", js, "-q", "--horizon", "30", "--kernels", "LIN")
    d = json.load(open(js))
    for x, m in zip(d["forecast"]["x"], d["forecast"]["median"]):
        expected = 20 + {"closed": -15, "fair": 10}.get(off.get(datetime.date.fromisoformat(x)), 0)
        assert abs(m - expected) < 1.5, (x, m, expected)


def rare_and_strong(tmp):
    """Feasts so rare and strong that their values stand out: they are explained by the list, not left out. A value
    out of line on another day, and one on a feast that does not agree with the others, are."""
    rng = random.Random(5)
    first = datetime.date(2022, 3, 1)
    off = {first + datetime.timedelta(k) for k in (31, 118, 203, 290, 352)}
    odd = first + datetime.timedelta(352)
    feasts, series, js = (os.path.join(tmp, n) for n in ("rare.csv", "r.csv", "r.json"))
    with open(feasts, "w") as f: f.write("day,name\n" + "".join("%s,feast\n" % d for d in sorted(off)))
    def made(d, i): return 50 + 3 * math.sin(2 * math.pi * i / 7) + (-40 if d in off and d != odd else 35 if d == odd or i == 150 else 0) + rng.gauss(0, 1)
    with open(series, "w") as f:
        f.write("date,y\n" + "".join("%s,%.2f\n" % (d, made(d, i)) for i in range(400) for d in [first + datetime.timedelta(i)]))
    tool("discover", series, "--holidays", feasts, "--json", js, "-q", "--kernels", "LIN PER", "--horizon", "5")
    d = json.load(open(js))
    e = d["effects"][0]
    assert abs(e["change"] + 40) < 3 and e["sd"] < 2 and e["probability"] > 0.99, e
    assert sorted(o["x"][0] for o in d["outliers"]) == [str(first + datetime.timedelta(150)), str(odd)], d["outliers"]


def columns_too(tmp):
    """Holidays beside other columns, linear and smooth: each has its own effect; forecasts need the columns alone."""
    rng = random.Random(7)
    first = datetime.date(2021, 1, 1)
    day = lambda i: first + datetime.timedelta(i)
    feasts, series, kept, js, future = (os.path.join(tmp, n) for n in ("c.csv", "b.csv", "both", "b.json", "f.csv"))
    off = [k for k in range(11, 250, 19)]
    with open(feasts, "w") as f: f.write("day,name\n" + "".join("%s,closed\n" % day(k) for k in off))
    price, temp = [10 + rng.gauss(0, 1) for _ in range(230)], [rng.gauss(0, 1) for _ in range(230)]
    def mean(i): return 60 - 3 * price[i] + 4 * math.tanh(temp[i]) - 20 * (i in off)
    with open(series, "w") as f:
        f.write("date,y,price,temp\n" + "".join("%s,%.3f,%.4f,%.4f\n" % (day(i), mean(i) + rng.gauss(0, 1), price[i], temp[i]) for i in range(200)))
    tool("discover", series, "--column", "y", "--with", "price", "--smooth", "temp", "--holidays", feasts, "--out", kept, "--json", js, "-q", "--kernels", "LIN")
    d = json.load(open(js))
    e = {x["column"]: x for x in d["effects"]}
    assert list(e) == ["price", "closed", "temp"], list(e)
    for column, truth in (("price", -3), ("closed", -20), ("temp", 8 * math.tanh(1))):
        assert abs(e[column]["change"] - truth) < max(3 * e[column]["sd"], 0.7) and e[column]["sd"] < 1.5, (column, e[column])
    again = json.loads(tool("report", kept, "--format", "json"))
    assert again["effects"] == d["effects"] and again["forecast"] == d["forecast"], again["effects"]
    text = tool("report", kept)
    assert "closed (%s, %s" % tuple(day(k) for k in off if k >= 200)[:2] in text and "it goes to 2021-12-31" in text and "values to come of price, temp" in text, text
    why = tool("forecast", kept, "-n", "3", status=2)
    assert "value of price, temp is not known" in why and "--at-file" in why, why
    with open(future, "w") as f: f.write("date,temp,price\n" + "".join("%s,%.4f,%.4f\n" % (day(i), temp[i], price[i]) for i in range(200, 230)))
    for i, line in enumerate(tool("forecast", kept, "--at-file", future).split()[1:]):
        assert abs(float(line.split(",")[1]) - mean(200 + i)) < 2.5, (line, mean(200 + i))
    with open(future, "w") as f: f.write("date,temp,price\n2022-01-01,0,10\n")
    why = tool("forecast", kept, "--at-file", future, status=2)
    assert "value of closed is not known at 2022-01-01" in why and "list of holidays" in why, why


def refused(tmp, feasts, series):
    made = []
    def given(text):
        made.append(os.path.join(tmp, "bad%d.csv" % len(made)))
        path = made[-1]
        with open(path, "w") as f: f.write(text)
        return path
    for words, why in [((series, "--holidays", given("date,name\n2005-13-40,x\n2006-01-01,x\n")), "day"),
                       ((series, "--holidays", given("date,name\n12,x\n13,y\n")), "holidays are days"),
                       ((series, "--holidays", given("date,name\n" + "".join("2005-01-%02d,n%d\n" % (k + 1, k) for k in range(12)))), "more than 8 names"),
                       ((series, "--holidays", given("date,name\n1999-01-01,old\n")), "'old' is constant"),
                       ((series, "--holidays", os.path.join(tmp, "none.csv")), "none.csv"),
                       ((given("year,y\n" + "".join("%d,%d\n" % (1990 + k, k * k % 7) for k in range(20))), "--holidays", feasts), "need times that are days"),
                       ((given("date,y,p\n" + "".join("2005-01-%02d,%d,%d\n" % (k + 1, k * k % 7, k % 3) for k in range(20))), "--with", "p", "--holidays", given("date,name\n2005-01-03,p\n")), "'p' is a column with an effect and a holiday")]:
        said = tool("discover", *words, "-q", status=2)
        assert why in said, (words, said)


def main():
    with tempfile.TemporaryDirectory() as tmp:
        feasts, series, d = months(tmp)
        again(tmp, d)
        days(tmp)
        rare_and_strong(tmp)
        columns_too(tmp)
        refused(tmp, feasts, series)
    print("holidays: fine")


main()
