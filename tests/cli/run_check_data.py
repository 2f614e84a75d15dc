#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""gpmem check-data: every detector once, with the values that it is about; what is no error is not named; discover says in one line
that there is something to look at, as many remarks as the lint has.

    run_check_data.py GPMEM"""
import datetime, json, math, os, random, subprocess, sys, tempfile

TOOL = sys.argv[1]


def tool(*args, status=0):
    r = subprocess.run([TOOL, *args], capture_output=True, text=True, timeout=600)
    assert r.returncode == status, (args, r.stdout, r.stderr)
    return r


def write(tmp, name, text):
    path = os.path.join(tmp, name + ".csv")
    with open(path, "w") as f:
        f.write(text)
    return path


def monthly(values):
    return "month,value\n" + "".join("%d-%02d,%s\n" % (2000 + i // 12, i % 12 + 1, v) for i, v in enumerate(values))


def check(tmp, name, values, *args):
    """The remarks on a monthly series by their kinds, text and JSON alike."""
    path = write(tmp, name, values if isinstance(values, str) else monthly(values))
    found = json.loads(tool("check-data", path, "--format", "json", *args).stdout)
    (series,) = found["series"]
    text = " ".join(tool("check-data", path, *args).stdout.split())
    n = len(series["remarks"])
    assert ("no remarks" in text) == (n == 0) and ("%d remark%s:" % (n, "s" * (n != 1)) in text) == (n > 0), text
    for k, r in enumerate(series["remarks"]):
        assert "%d. %s %s" % (k + 1, r["seen"], r["advice"]) in text, (r, text)
        assert r["at"] == sorted(r["at"]) and len(r["at"]) == len(r["x"]) and all(1 <= i <= series["n"] for i in r["at"]), r
        assert r["seen"].endswith(".") and r["advice"].endswith("."), r
    return {r["kind"]: r for r in series["remarks"]}


def check_ends(tmp):
    rng = random.Random(3)
    odds = ["%.3f" % (1 / (1 + math.exp(-(1 + 0.03 * i + rng.gauss(0, 0.3))))) for i in range(80)]
    ratings = ["%.2f" % min(5, 4.5 + rng.gauss(0, 0.3)) for _ in range(80)]
    percent = ["%.1f" % min(99.9, 95 + rng.gauss(0, 4)) for _ in range(80)]
    stock = ["%.2f" % (22 - 0.16 * i + rng.gauss(0, 0.8)) for i in range(120)]
    for name, values, says, args in (("share", odds, "above 1,", ["--min", "0", "--max", "1"]),
                                     ("rating", ratings, "above 5,", ["--min", "1", "--max", "5"]),
                                     ("percent", percent, "above 100,", ["--min", "0", "--max", "100"]),
                                     ("stock", stock, "below 0,", ["--min", "0"])):
        r = check(tmp, name, values)["ends"]
        assert says in r["seen"] and r["advice"].endswith(" with %s." % " ".join(args)), (name, r)
        extremes = {min(values, key=float), max(values, key=float)}
        assert r["at"] and all(values[i - 1] in extremes for i in r["at"]), (name, r)
        assert "ends" not in check(tmp, name, values, *args), name  # once said, nothing is left to propose
    assert not check(tmp, "counts", [rng.randrange(30) for _ in range(60)])  # forecasts of counts are not below 0 anyway


def check_sensors(tmp):
    """Where a measurement ends, and where it stuck; neither of what just repeats a value."""
    rng = random.Random(6)
    light = [min(1023, max(50.5, 600 + 700 * math.sin(i / 15) + rng.gauss(0, 20))) for i in range(160)]
    r = check(tmp, "light", ["%.1f" % v for v in light])["pile"]
    low, high = ([i + 1 for i, v in enumerate(light) if v == end] for end in (50.5, 1023))
    assert r["seen"] == "%d of 160 values are 50.5, and none lies below. %d of 160 values are 1023, and none lies above." % (len(low), len(high)), r
    assert r["advice"] == "If measurements end there, say --min 50.5 --max 1023." and r["at"] == sorted(low + high), r
    r = check(tmp, "long", ["%.2f" % min(9876543210.25, 9876543100 + 300 * math.sin(i / 15) + rng.gauss(0, 20)) for i in range(160)])["pile"]
    assert r["advice"].endswith("say --max 9876543210.25."), r  # every digit, or values would lie beyond
    warm = ["%.2f" % (20 + 3 * math.sin(i / 4) + rng.gauss(0, 0.3)) for i in range(120)]
    for i in range(50, 75):
        warm[i] = warm[49]
    found = check(tmp, "warm", warm)
    assert found["stuck"]["seen"] == "26 values in a row, from 2004-02 to 2006-03, are %g." % float(warm[49]), found
    assert found["stuck"]["at"] == list(range(50, 76)) and found["stuck"]["x"][0] == "2004-02" and "pile" not in found, found
    assert not check(tmp, "prices", ["%.1f" % (5 + (i // 9) * 0.4) for i in range(120)])
    r = check(tmp, "launch", [0] * 30 + ["%.2f" % (40 + rng.gauss(0, 3)) for _ in range(60)])["launch"]
    assert r["seen"] == "The first 30 values, up to 2002-06, are 0." and "--max-points 60" in r["advice"] and r["at"] == list(range(1, 31)), r


def check_tables(tmp):
    """Slips and habits of tables: a code for missing values, a unit that changed, a total that is reset, one that only grows; none of a
    season or a shift."""
    rng = random.Random(8)
    course = [3.2 + 0.01 * i + 0.4 * math.sin(i * math.pi / 6) + rng.gauss(0, 0.12) for i in range(120)]
    for factor, words in ((1000, "1000 times as large"), (0.01, "100 times as small")):
        r = check(tmp, "unit", ["%.6g" % (v * (factor if i >= 66 else 1)) for i, v in enumerate(course)])["unit"]
        assert r["seen"] == "From 2005-07 on values are about %s as before." % words and r["at"] == [67] and r["x"] == ["2005-07"], r
    for factor in (1, 30, 300):  # a shift that is no power of ten is one
        assert "unit" not in check(tmp, "shift", ["%.6g" % (v * (factor if i >= 66 else 1)) for i, v in enumerate(course)])
    for code, there in ((-999, True), (9999, True), (99, True), (-5, False), (999.5, False)):
        found = check(tmp, "code", ["%g" % code if i in (7, 9) else "%.3f" % v for i, v in enumerate(course)])
        assert ("missing" in found) == there, (code, found)
        if there:
            assert found["missing"]["at"] == [8, 10] and found["missing"]["advice"].endswith("say --missing %g." % code), found
    total, counter, sum_ = 0, [], []
    for i in range(90):
        total = 0 if i in (30, 62) else total + rng.uniform(5, 15)
        counter.append("%.1f" % total)
        sum_.append(int(300 / (1 + math.exp(4 - i / 8)) + i / 10))
    r = check(tmp, "counter", counter)["counter"]
    assert r["seen"] == "No value is less than the one before, but for 2 falls to nearly 0 (2002-07, 2005-03)." and r["at"] == [31, 63], r
    assert check(tmp, "sum", sum_)["counter"]["seen"] == "No value is less than the one before."
    assert "counter" not in check(tmp, "season", ["%.2f" % (5 + 4.9 * math.sin(i * math.pi / 6)) for i in range(90)])


def check_jumps(tmp):
    """A river: rises at random times that fall back slowly."""
    rng, level, flow = random.Random(4), 0, []
    for i in range(300):
        level = 0.8 * level + (40 if rng.random() < 0.06 else 0) + rng.gauss(0, 0.3)
        flow.append(level + 20)
    r = check(tmp, "river", ["%.2f" % v for v in flow])["jumps"]
    assert len(r["at"]) == int(r["seen"].split()[0]) and all(flow[i - 1] > flow[i - 2] + 10 for i in r["at"]), r
    assert "--changepoints" in r["advice"], r


def check_feast(tmp):
    """One week a year, which moves: told unless a list of holidays has it."""
    rng, start = random.Random(2), datetime.date(2016, 1, 4)
    easter = ["2016-03-27", "2017-04-16", "2018-04-01", "2019-04-21", "2020-04-12"]
    weeks = [start + datetime.timedelta(days=7 * i) for i in range(260)]
    values = [100 + rng.gauss(0, 2) + 40 * any(0 <= (datetime.date.fromisoformat(e) - w).days < 7 for e in easter) for w in weeks]
    text = "day,value\n" + "".join("%s,%.1f\n" % p for p in zip(weeks, values))
    r = check(tmp, "feast", text)["feast"]
    assert r["seen"] == "5 values stand out, all above, in 5 years within the same 25 days of the year." and r["at"] == [12, 67, 117, 172, 223], r
    days = write(tmp, "days", "date,name\n" + "".join("%s,Easter\n" % e for e in easter + ["2021-04-04"]))
    assert "feast" not in check(tmp, "feast", text, "--holidays", days)


def check_last(tmp):
    """A month that is not over."""
    rng = random.Random(3)
    visits = [int(10000 + 50 * i + 1000 * math.sin(i * math.pi / 6) + rng.gauss(0, 200)) for i in range(31)]
    assert not check(tmp, "over", visits[:30])
    visits[-1] = int(0.3 * visits[-1])
    r = check(tmp, "begun", visits)["last"]
    assert r["seen"].startswith("The last value, %.4g at 2002-07, lies far below those before it (" % visits[-1]) and r["at"] == [31], r


def check_several(tmp):
    """--by and --wide: each series for itself; one that cannot be used does not stop the others."""
    rng = random.Random(5)
    plain = ["%.2f" % (300 + rng.gauss(0, 2)) for _ in range(60)]
    slip = ["%.2f" % (float(v) * (100 if i >= 30 else 1)) for i, v in enumerate(plain)]
    wide = write(tmp, "wide", "month,a,b,c\n" + "".join("%d-%02d,%s,%s,3\n" % (2000 + i // 12, i % 12 + 1, plain[i], slip[i]) for i in range(60)))
    long = write(tmp, "long", "month,shop,value\n" + "".join("%d-%02d,%s,%s\n" % (2000 + i // 12, i % 12 + 1, shop, v[i])
                                                              for i in range(60) for shop, v in (("a", plain), ("b", slip), ("c", ["3"] * 60))))
    for path, args in ((wide, ["--wide"]), (long, ["--by", "shop", "--column", "value"])):
        a, b, c = json.loads(tool("check-data", path, "--format", "json", *args).stdout)["series"]
        assert (a["key"], b["key"], c["key"]) == ("a", "b", "c") and a["remarks"] == [] and "error" in c, (a, c)
        assert b["remarks"][0]["kind"] == "unit" and b["remarks"][0]["x"] == ["2002-07"], b
        text = tool("check-data", path, *args).stdout
        assert "a: 60 values" in text and "no remarks" in text and "remarks:" in text and "c: not used: " in text, text


def check_refusals(tmp):
    path = write(tmp, "good", monthly(["%.2f" % (300 + math.sin(i)) for i in range(60)]))
    for args, why in (([os.path.join(tmp, "none.csv")], "none.csv"), ([write(tmp, "words", "a,b\nx,y\nz,w\n")], "words.csv"),
                      ([path, "--column", "nothing"], "nothing"), ([path, "--by", "nothing"], "nothing"), ([path, "--wide", "--by", "value"], "say one"),
                      ([path, "--min", "5", "--max", "1"], "the smaller one first"), ([path, "--min", "400"], "lies below 400"),
                      ([path, "--take", "nothing"], "--take"), ([], "check-data")):
        r = tool("check-data", *args, status=2)
        assert r.stdout == "" and why in r.stderr, (args, r)


def check_discover(tmp):
    """One line, with as many remarks as the lint has, in text, page and JSON, also of a kept run; no word of them elsewhere."""
    rng = random.Random(7)
    values = ["%.2f" % (30 + rng.gauss(0, 1)) for _ in range(60)]
    for name, given in (("none", values), ("two", values[:20] + ["-999"] + values[21:-1] + ["60.00"]), ("one", values[:-1] + ["60.00"])):
        n = len(check(tmp, name, given))
        assert n == {"none": 0, "one": 1, "two": 2}[name], (name, n)
        path, js, page, kept = (os.path.join(tmp, name + end) for end in (".csv", ".json", ".html", ".run"))
        text = " ".join(tool("discover", path, "--kernels", "LIN", "--out", kept, "--json", js, "--html", page).stdout.split())
        line = "`gpmem check-data FILE` has %d remark%s on these values." % (n, "s" * (n != 1))
        again = " ".join(tool("report", kept, "--format", "text").stdout.split())
        for t in (text, open(page).read(), again):
            assert (line in t) == (n > 0) and ("check-data" in t) == (n > 0), (name, t)
            assert "--missing" not in t and "leave it out" not in t, (name, t)
        assert json.load(open(js))["data"]["remarks"] == n, name


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        for one in (check_ends, check_sensors, check_tables, check_jumps, check_feast, check_last, check_several, check_refusals, check_discover):
            one(folder)
    print("ok")
