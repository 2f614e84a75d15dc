#!/usr/bin/python3
"""Series made by formula, one or two seeds each: what discover says of them against what is true. bench/structure_truths.py
makes many."""
import calendar, datetime, json, math, os, random, re, shutil, subprocess, sys, tempfile

TOOL = sys.argv[1]


def run(tmp, name, ys, *extra, status=0):
    path, js = os.path.join(tmp, name + ".csv"), os.path.join(tmp, name + ".json")
    with open(path, "w") as f:
        f.write("date,y\n" + "".join("%d-%02d-01,%r\n" % (1990 + i // 12, i % 12 + 1, y) for i, y in enumerate(ys)))
    r = subprocess.run([TOOL, "discover", path, "--json", js, "-q", *extra], capture_output=True, text=True, timeout=300)
    assert r.returncode == status, (name, r.returncode, r.stderr)
    return json.load(open(js)) if status == 0 else r.stderr


def month(i):
    return "%d-%02d-01" % (1990 + i // 12, i % 12 + 1)


def check_spikes(tmp):
    """Values out of line are named, and the rest is what it is without them."""
    rng = random.Random(1)
    noise = [rng.gauss(10, 1) for _ in range(120)]
    spiked = [y + 25 * (i == 50) for i, y in enumerate(noise)]
    d = run(tmp, "spike", spiked, "--out", os.path.join(tmp, "kept"))
    assert [o["x"] for o in d["outliers"]] == [[month(50)]], d["outliers"]
    o = d["outliers"][0]
    assert abs(o["value"] - spiked[50]) < 1e-9 and abs(o["expected"] - 10) < 0.5 and 15 < o["standard_deviations"] < 40, o
    assert d["structures"][0]["struct"] == "WN", d["structures"][:2]
    said = subprocess.run([TOOL, "report", os.path.join(tmp, "kept"), "--format", "text"], capture_output=True, text=True).stdout
    assert "One value is out of line and was left out: %s, %.3g where %.3g was expected (%.0f standard deviations above)." % (
        month(50), o["value"], o["expected"], o["standard_deviations"]) in said, said
    again = subprocess.run([TOOL, "report", os.path.join(tmp, "kept"), "--format", "json"], capture_output=True, text=True)
    again = json.loads(again.stdout)
    assert again["outliers"] == d["outliers"] and again["forecast"] == d["forecast"]
    seasonal = [20 + 0.1 * i + 5 * math.sin(i * math.pi / 6) + rng.gauss(0, 1) + 30 * (i in (33, 77)) for i in range(120)]
    d = run(tmp, "seasonal", seasonal)
    assert {o["x"][0] for o in d["outliers"]} == {month(33), month(77)}, d["outliers"]
    assert d["structures"][0]["struct"] == "LIN + PER + WN", d["structures"][:2]
    # a slip of the point is a thousand standard deviations out, and no less out of line for it
    slip = [y if i != 50 else 9876.5 for i, y in enumerate(noise)]
    d = run(tmp, "slip", slip)
    assert [o["value"] for o in d["outliers"]] == [9876.5], d["outliers"]
    assert d["structures"][0]["struct"] == "WN", d["structures"][:2]
    # noise alone has none, nor has a series with a sharp season
    sharp = [10 + 8 * (i % 12 == 11) + rng.gauss(0, 0.5) for i in range(120)]
    for name, ys in (("noise", noise), ("sharp", sharp)):
        assert run(tmp, name, ys)["outliers"] == [], name
    # nothing but one other value: a finding, no structure
    said = run(tmp, "constant", [5.0 + 12 * (i == 50) for i in range(120)], status=2)
    assert "all values are 5 but 17 at " + month(50) in said, said


def easter(year):
    """Its Sunday (Meeus)."""
    a, b, c = year % 19, year // 100, year % 100
    d = (19 * a + b - b // 4 - (b - (b + 8) // 25 + 1) // 3 + 15) % 30
    e = (32 + 2 * (b % 4) + 2 * (c // 4) - d - c % 4) % 7
    f = d + e - 7 * ((a + 11 * d + 22 * e) // 451) + 114
    return datetime.date(year, f // 31, f % 31 + 1)


def check_feast(tmp):
    """Weeks with a season, whose neighbours tell little of them: the week of Easter of every year is found by what the others lead to
    expect, and that they come at one time of the year is said, unless a list of holidays names them."""
    rng, path, days = random.Random(4), os.path.join(tmp, "weeks.csv"), os.path.join(tmp, "days.csv")
    start, feasts = datetime.date(2016, 1, 4), []
    with open(path, "w") as f:
        f.write("week,sales\n")
        for i in range(260):
            day, t = start + datetime.timedelta(7 * i), 2 * math.pi * i / 52.18
            feast = 0 <= (easter(day.year) - day).days < 7
            feasts += [str(day)] * feast
            f.write("%s,%d\n" % (day, 1000 + 1.2 * i + 150 * math.sin(t - 1.2) + 60 * math.cos(2 * t) + 300 * feast + rng.gauss(0, 40)))
    with open(days, "w") as f:
        f.write("date,name\n" + "".join("%s,Easter\n" % easter(y) for y in range(2016, 2023)))
    js = os.path.join(tmp, "weeks.json")
    text = subprocess.run([TOOL, "discover", path, "--json", js], capture_output=True, text=True, timeout=300).stdout
    d = json.load(open(js))
    assert sorted(o["x"][0] for o in d["outliers"]) == feasts and len(feasts) == 5, (d["outliers"], feasts)
    assert d["structures"][0]["struct"] == "LIN + PER + WN", d["structures"][:2]
    said = " ".join(subprocess.run([TOOL, "check-data", path], capture_output=True, text=True, check=True).stdout.split())
    assert "5 values stand out, all above, in 5 years within the same 25 days of the year. If a moving feast" in said, said
    text = subprocess.run([TOOL, "discover", path, "--holidays", days], capture_output=True, text=True, timeout=300).stdout
    assert "Each day of Easter changes the value by" in text and "moving feast" not in text, text


def check_hidden(tmp):
    """Values out of line among those that a structure was fitted to make its noise larger: they are found behind it."""
    rng, path, js = random.Random(3), os.path.join(tmp, "hidden.csv"), os.path.join(tmp, "hidden.json")
    at, start = sorted(rng.sample(range(8, 200), 4)), datetime.date(2016, 1, 4)
    dates = [str(start + datetime.timedelta(7 * i)) for i in range(208)]
    with open(path, "w") as f:
        f.write("week,y\n")
        for i, date in enumerate(dates):
            f.write("%s,%.1f\n" % (date, 1000 + 150 * math.sin(2 * math.pi * i / 52.18) + 80 * (1 if i % 13 < 6 else -1) + rng.gauss(0, 25) + 240 * (i in at)))
    subprocess.run([TOOL, "discover", path, "--json", js, "-q"], check=True, timeout=300)
    d = json.load(open(js))
    assert sorted(o["x"][0] for o in d["outliers"]) == [dates[i] for i in at], (d["outliers"], at)
    assert d["structures"][0]["struct"] == "PER + PER + WN", d["structures"][:2]


def check_closed(tmp):
    """Counts of a place that is closed in one month of the year: of roots, too, a pattern goes as far as the values do."""
    rng = random.Random(2)
    d = run(tmp, "closed", [0 if i % 12 == 6 else int(100 + rng.gauss(0, 8)) for i in range(120)])
    said = [c["text"] for c in d["description"]["components"] if "highest point" in c["text"]]
    high = float(re.search(r"highest point is ([0-9.]+) above", said[0]).group(1))
    assert d["structures"][0]["root_share"] > 0.9 and 92 < high < 112, (high, d["structures"][0])


def check_moments(tmp):
    """100,000 minutes: a daily cycle, and errors that are alike for three hours. The first is found, and the second are
    no cycle of another period."""
    rng, now, path, js = random.Random(1), 0, os.path.join(tmp, "minutes.csv"), os.path.join(tmp, "minutes.json")
    first = datetime.datetime(2022, 1, 1)
    with open(path, "w") as f:
        f.write("time,load\n")
        for i in range(100000):
            now = 0.995 * now + rng.gauss(0, 0.1)
            day = 2 * math.pi * i / 1440
            f.write("%s,%.3f\n" % ((first + datetime.timedelta(minutes=i)).strftime("%Y-%m-%d %H:%M"),
                                   50 + 8 * math.sin(day) + 3 * math.cos(2 * day) + now + rng.gauss(0, 1)))
    r = subprocess.run([TOOL, "discover", path, "--json", js], check=True, capture_output=True, text=True)
    d = json.load(open(js))
    top = d["structures"][0]
    assert "means over 2h of 100000 rows" in r.stdout and "It repeats every day." in r.stdout, r.stdout[:800]
    assert "*PER" not in top["struct"] and top["probability"] > 0.5 and re.search("SE|MAT", top["struct"]), d["structures"][:3]


def write_falls(path, seed, n):
    """Two falls near the end, in the logarithm of a random walk with a season."""
    rng, level = random.Random(seed), 5.8
    with open(path, "w") as f:
        f.write("x,y\n")
        for i in range(n):
            level += rng.gauss(0.004, 0.03)
            season = 0.05 * math.cos(2 * math.pi * (i % 12 - 1) / 12) + 0.03 * math.sin(4 * math.pi * (i % 12) / 12)
            fall = 0.2 * (i >= n - 22) + 1.25 * (i >= n - 16)
            f.write("%.6f,%d\n" % (1962 + i / 12, round(math.exp(level + season - fall + rng.gauss(0, 0.013)))))


def check_falls(tmp):
    """Values at a fall are looked at as outliers first, turn out to belong to the series, and the search with them knows what was
    found without; also a brief one, which looks at a part of the values first."""
    path, js, index = (os.path.join(tmp, "falls" + end) for end in (".csv", ".json", ".index"))
    write_falls(path, 1, 162)
    subprocess.run([TOOL, "discover", path, "--json", js], check=True, capture_output=True)
    top = json.load(open(js))["structures"][0]
    assert top["struct"].count("STEP") == 2 and top["probability"] > 0.5 and top["log_share"] > 0.99, top
    write_falls(path, 16, 200)
    subprocess.run([TOOL, "index", "add", index, path], check=True, capture_output=True)
    found = json.loads(subprocess.run([TOOL, "index", "export", index], check=True, capture_output=True).stdout)["structures"]
    assert sum(s["probability"] for s in found if re.search("STEP|CP|CW", s["structure"])) > 0.9, found


def probability(d, component):
    return sum(c["probability"] for c in d["components"] if c["struct"] == component)


def check_changes(tmp):
    """Shifts of level with date, size and direction; noise of another size; neither where there is none."""
    rng = random.Random(3)
    kept = os.path.join(tmp, "shifted")
    d = run(tmp, "shift", [rng.gauss(10, 1) - 6 * (i >= 70) for i in range(120)], "--out", kept)
    again = subprocess.run([TOOL, "report", kept, "--format", "json"], capture_output=True, text=True)
    assert json.loads(again.stdout)["structures"] == d["structures"], again.stderr
    said = " ".join(c["text"] for c in d["description"]["components"])
    assert probability(d, "STEP") > 0.95 and "The level shifts down by " in said and month(70) in said, said
    assert re.search(r"; since \S+ it did not change\.", d["description"]["level"]), d["description"]["level"]
    d = run(tmp, "pattern", [4 * math.sin(i * math.pi / 6) + rng.gauss(0, 1) + 5 * (i >= 60) for i in range(110)])
    assert d["structures"][0]["struct"] == "PER + STEP + WN", d["structures"][:2]
    d = run(tmp, "louder", [rng.gauss(0, 1 if i < 60 else 4) for i in range(100)])
    assert d["structures"][0]["struct"].startswith("CP(C, "), d["structures"][:2]
    d = run(tmp, "later", [rng.gauss(0, 1) + 4 * math.sin(i * math.pi / 6) * (i >= 55) for i in range(110)])
    assert d["structures"][0]["struct"] == "CP(C, PER) + WN", d["structures"][:2]
    d = run(tmp, "line", [0.1 * i + rng.gauss(0, 1) for i in range(80)])
    assert probability(d, "STEP") < 0.2 and d["structures"][0]["struct"] == "LIN + WN", d["structures"][:2]


def check_counts(tmp):
    """No negative bound for a count; noise that shrank does not vanish."""
    rng = random.Random(4)
    kept = os.path.join(tmp, "counted")
    d = run(tmp, "counts", [sum(rng.random() < 0.03 for _ in range(40)) for _ in range(60)], "--out", kept)
    again = json.loads(subprocess.run([TOOL, "report", kept, "--format", "json"], check=True, capture_output=True, text=True).stdout)
    assert again["forecast"] == d["forecast"] and again["decomposition"] == d["decomposition"]
    said = subprocess.run([TOOL, "report", kept, "--format", "text"], check=True, capture_output=True, text=True).stdout
    assert "  rate WN" in said and "  log WN" not in said and d["settled"], said
    assert min(d["forecast"]["lo"]) >= 0 and max(d["forecast"]["hi"]) > 1, d["forecast"]["lo"]
    assert d["probability_of_rate"] > 0.999 and d["probability_of_root"] == 0, d["probability_of_rate"]
    whole = [v for k in ("median", "lo", "hi") for v in d["forecast"][k]]
    assert all(v == int(v) for v in whole), whole
    assert "scatter as Poisson counts do" in d["description"]["summary"], d["description"]["summary"]
    assert d["decomposition"]["transform"] == "rate", d["decomposition"]["transform"]
    drawn = subprocess.run([TOOL, "forecast", kept, "--paths", "200", "-n", "3"], check=True, capture_output=True, text=True).stdout
    assert "." not in drawn.split("\n", 1)[1].replace(month(60), ""), drawn[:300]
    whole = run(tmp, "whole", list(range(30)))  # whole numbers that follow a course are no counts of random events
    assert whole["probability_of_rate"] == 0 and abs(whole["forecast"]["median"][1] - 31) < 0.5, whole["forecast"]
    whole = run(tmp, "scores", [round(12 + 5 * math.sin(i * math.pi / 6) + rng.gauss(0, 1)) for i in range(60)])
    assert whole["probability_of_rate"] == 0 and max(h - l for h, l in zip(whole["forecast"]["hi"], whole["forecast"]["lo"])) < 7, whole["forecast"]
    many = run(tmp, "more", [sum(rng.random() < 0.5 for _ in range(100)) * (i % 5 > 0) for i in range(60)])
    assert many["probability_of_rate"] == 0, "counts of which there are many are close to normal on one scale or another"
    d = run(tmp, "quieter", [rng.gauss(0, 5 - 0.045 * i) for i in range(100)], "--horizon", "40", "--kernels", "LIN")
    f = d["forecast"]
    widths = [hi - lo for lo, hi in zip(f["lo"], f["hi"])]
    assert min(widths) > 0.8 * widths[0], widths


def poisson(rng, rate):
    k, p, u = 0, math.exp(-rate), rng.random()
    while u > p and k < 1000: k, p, u = k + 1, p * rate / (k + 1), u - p
    return k


def check_rates(tmp):
    """Few counts: rates, their scatter and their intervals are those that made them."""
    rng = random.Random(8)
    d = run(tmp, "rare", [poisson(rng, 0.3) for _ in range(100)])
    f = d["forecast"]
    assert d["structures"][0]["struct"] == "WN" and set(f["lo"]) == {0} and set(f["median"]) == {0} and set(f["hi"]) == {2}, f
    assert all(0.15 < v < 0.5 for v in f["mean"]), f["mean"]
    d = run(tmp, "more often", [poisson(rng, 0.5 * math.exp(0.02 * i)) for i in range(110)])
    rose = re.search(r"it rose by [\d.]+% per year \(95%: ([\d.]+) to ([\d.]+)\)", d["description"]["level"])
    assert rose and float(rose.group(1)) < 100 * math.expm1(0.24) < float(rose.group(2)), d["description"]["level"]
    assert "effects multiply" in d["description"]["summary"], d["description"]["summary"]
    d = run(tmp, "clusters", [poisson(rng, 4 * rng.gammavariate(1, 1)) for _ in range(100)])
    assert "negative binomial counts do" in d["description"]["summary"], d["description"]["summary"]
    assert all(11 <= v <= 22 for v in d["forecast"]["hi"]), d["forecast"]["hi"]  # the truth: 15


def check_shares(tmp):
    """Percentages stay between 0 and 100."""
    rng = random.Random(6)
    path, js, kept = (os.path.join(tmp, "share" + e) for e in (".csv", ".json", ""))
    with open(path, "w") as f:
        f.write("date,share\n" + "".join("%s,%.3f%%\n" % (month(i), 100 / (1 + math.exp(-(i - 30) / 15 - rng.gauss(0, 0.3)))) for i in range(90)))
    subprocess.run([TOOL, "discover", path, "--json", js, "--out", kept, "-q", "--horizon", "24"], check=True, capture_output=True)
    d = json.load(open(js))
    assert max(d["forecast"]["hi"]) <= 100 and min(d["forecast"]["lo"]) >= 90, d["forecast"]
    assert d["probability_of_odds"] > 0.9 and "Log odds of the percentages are modelled" in d["description"]["summary"], d["description"]["summary"]
    again = json.loads(subprocess.run([TOOL, "report", kept, "--format", "json"], check=True, capture_output=True, text=True).stdout)
    assert again["forecast"] == d["forecast"] and again["decomposition"] == d["decomposition"]


def check_powers(tmp):
    """Values, their square roots and their logarithms: the scale on which noise is of one size is found; where roots come
    to 0, no forecast is below, and a kept run says the same."""
    for seed in (1, 2):
        rng = random.Random(seed)
        v = [4 + i / 15 + 1.2 * math.sin(i * math.pi / 6) + rng.gauss(0, 0.5) for i in range(132)]
        for name, ys, p in (("values", [10 + 8 * a for a in v], (1, 0, 0)), ("roots", [a * a for a in v], (0, 1, 0)), ("logs", [math.exp(a / 3) for a in v], (0, 0, 1))):
            d = run(tmp, name, ys)
            got = 1 - d["probability_of_root"] - d["probability_of_log"], d["probability_of_root"], d["probability_of_log"]
            assert max(abs(a - b) for a, b in zip(got, p)) < 0.1, (name, seed, got)
            assert abs(sum(d["structures"][0][k] for k in ("log_share", "root_share")) - (p[0] == 0)) < 0.1, d["structures"][0]
            if name == "roots":  # with zeros among them roots are the only other scale, and are called so
                ys = [max(a - 16, 0) for a in ys]
                assert 0 in ys
                zeros = run(tmp, "zeros", ys)
                assert zeros["probability_of_root"] > 0.5 and zeros["structures"][0]["log_share"] == 0 and zeros["structures"][0]["root_share"] > 0.5, zeros["structures"][0]
            assert ("Square roots of the values are modelled" in d["description"]["summary"]) == (name == "roots"), d["description"]["summary"]
            assert ("effects multiply" in d["description"]["summary"]) == (name == "logs"), d["description"]["summary"]
    path, js, kept = (os.path.join(tmp, "falling" + e) for e in (".csv", ".json", ""))
    rng = random.Random(3)
    with open(path, "w") as f:
        f.write("date,y\n" + "".join("%s,%r\n" % (month(i), (9 - i / 16 + rng.gauss(0, 0.4)) ** 2) for i in range(110)))
    subprocess.run([TOOL, "discover", path, "--json", js, "--out", kept, "-q", "--horizon", "60"], check=True, capture_output=True)
    d = json.load(open(js))
    f = d["forecast"]
    assert d["probability_of_root"] > 0.9 and min(f["lo"]) == 0, (d["probability_of_root"], f["lo"])
    assert all(0 <= l <= m <= h for l, m, h in zip(f["lo"], f["median"], f["hi"])) and min(f["mean"]) > 0, f
    again = json.loads(subprocess.run([TOOL, "report", kept, "--format", "json"], check=True, capture_output=True, text=True).stdout)
    assert again["forecast"] == f and again["decomposition"] == d["decomposition"] and again["description"] == d["description"]
    assert d["decomposition"]["transform"] == "root", d["decomposition"]["transform"]
    paths = subprocess.run([TOOL, "forecast", kept, "--horizon", "60", "--paths", "20"], check=True, capture_output=True, text=True)
    assert min(float(v) for row in paths.stdout.split("\n")[1:] if row for v in row.split(",")[1:]) >= 0
    never = run(tmp, "values only", [a * a for a in v], "--log", "never")
    assert never["probability_of_root"] == never["probability_of_log"] == 0


def check_ends(tmp):
    """Values that cannot lie beyond an end: neither do forecasts, quantiles and paths, of kept runs too."""
    rng = random.Random(9)
    level = [20 + 60 * math.exp(-i / 25) * math.exp(rng.gauss(0, 0.25)) for i in range(90)]
    path, js, kept = (os.path.join(tmp, "end" + e) for e in (".csv", ".json", ""))
    with open(path, "w") as f:
        f.write("date,y\n" + "".join("%s,%r\n" % (month(i), y) for i, y in enumerate(level)))
    subprocess.run([TOOL, "discover", path, "--min", "20", "--json", js, "--out", kept, "-q", "--horizon", "36"], check=True, capture_output=True)
    d = json.load(open(js))
    assert min(d["forecast"]["lo"]) >= 20 and max(d["forecast"]["hi"]) < 40, d["forecast"]
    assert d["probability_of_distance"] > 0.9 and "Logarithms of the distance from 20 are modelled" in d["description"]["summary"], d["description"]["summary"]
    again = json.loads(subprocess.run([TOOL, "report", kept, "--format", "json"], check=True, capture_output=True, text=True).stdout)
    assert again["forecast"] == d["forecast"] and again["decomposition"] == d["decomposition"]
    r = subprocess.run([TOOL, "forecast", kept, "--horizon", "12", "--paths", "30"], check=True, capture_output=True, text=True)
    values = [float(v) for row in r.stdout.split("\n")[1:] if row for v in row.split(",")[1:]]
    assert min(values) >= 20, min(values)
    for least, said in (("25", "lies below 25"), ("many", "not 'many'")):
        r = subprocess.run([TOOL, "discover", path, "--min", least, "-q"], capture_output=True, text=True)
        assert r.returncode == 2 and said in r.stderr, r


def check_per_day(tmp):
    """Months differ in length: a constant rate has no season a day, and one in the totals."""
    rng = random.Random(4)
    days = lambda k: calendar.monthrange(1990 + k // 12, k % 12 + 1)[1]
    for step, name in ((1, "%d-%02d"), (3, "%d-%02d-01")):
        rows = [(name % (1990 + i * step // 12, i * step % 12 + 1), sum(map(days, range(i * step, i * step + step)))) for i in range(96)]
        ys = [d * (50 + rng.gauss(0, 0.3)) for _, d in rows]
        path, js = os.path.join(tmp, "rate.csv"), os.path.join(tmp, "rate.json")
        with open(path, "w") as f:
            f.write("month,sales\n" + "".join("%s,%r\n" % (m, y) for (m, _), y in zip(rows, ys)))
        found = []
        for option in ((), ("--per-day",)):
            subprocess.run([TOOL, "discover", path, "--json", js, "-q", *option], check=True, capture_output=True)
            found.append(json.load(open(js)))
        season = [next(m["probability"] for m in d["motifs"] if m["motif"] == "recurring_pattern") for d in found]
        assert season[0] > 0.9 and season[1] < 0.3, season
        assert abs(found[1]["forecast"]["median"][-1] - 50) < 0.5 and found[1]["data"]["value"] == "sales per day", found[1]["data"]
    with open(path, "w") as f:
        f.write("t,y\n" + "".join("%d,%r\n" % (i, y) for i, y in enumerate(ys)))
    r = subprocess.run([TOOL, "discover", path, "--per-day", "-q"], capture_output=True, text=True)
    assert r.returncode == 2 and "totals of months or quarters" in r.stderr, r


def check_tails(tmp):
    """What is to come may be of another size than the few values that were seen; among the data it may not, and a hundred are
    not few."""
    rng = random.Random(8)
    path, folder = os.path.join(tmp, "few.csv"), os.path.join(tmp, "few")

    def ratios(n, *places):
        with open(path, "w") as f:
            f.write("t,y\n" + "".join("%d,%r\n" % (i, rng.gauss(0, 1)) for i in range(n)))
        shutil.rmtree(folder, ignore_errors=True)
        subprocess.run([TOOL, "discover", path, "--out", folder, "-q", "--kernels", "LIN"], check=True, capture_output=True)
        for at in places:
            r = subprocess.run([TOOL, "forecast", folder, "--at", at, "--quantiles", "0.5,0.75,0.975"], check=True, capture_output=True, text=True)
            a, b, c = [float(v) for v in r.stdout.split("\n")[1].split(",")[-3:]]
            yield at, (c - a) / (b - a)

    ratio = dict(ratios(128, "64.5", "130"))
    assert 1 < ratio["130"] / ratio["64.5"] < 1.03, ratio  # t with 64 degrees of freedom: 1.014, with 16: 1.06
    ratio = dict(ratios(20, "10.5", "25"))
    assert ratio["25"] > 3.5 > ratio["10.5"], ratio  # normal: 2.9, Student's t with 3 degrees of freedom: 4.2
    paths = subprocess.run([TOOL, "forecast", folder, "--at", "25", "--paths", "2000"], check=True, capture_output=True, text=True).stdout
    values = sorted(float(v) for v in paths.split("\n")[1].split(",")[4:])  # after x, median, lo, hi
    q = [values[int(u * len(values))] for u in (0.5, 0.75, 0.975)]
    assert (q[2] - q[0]) / (q[1] - q[0]) > 3.4, q


def check_time(tmp):
    """A limit of time is one of draws and chains, too."""
    rng = random.Random(5)
    y = [math.sin(i / 7) + 0.01 * i + rng.gauss(0, 0.5) for i in range(240)]
    d = run(tmp, "limit", y, "--max-time", "0.001")
    assert not d["settled"] and "stopped by a limit" in d["diagnostics"]["verdict"], d["diagnostics"]
    assert d["diagnostics"]["steps"] <= 10, d["diagnostics"]


def check_calendar(tmp):
    """A pattern of the calendar has exactly that period."""
    rng = random.Random(2)
    d = run(tmp, "year", [math.sin(2 * math.pi * i / 12) + rng.gauss(0, 0.6) for i in range(90)])
    said = " ".join(c["text"] for c in d["description"]["components"])
    assert "It repeats every year." in said, said


def main():
    with tempfile.TemporaryDirectory() as tmp:
        check_spikes(tmp)
        check_feast(tmp)
        check_hidden(tmp)
        check_moments(tmp)
        check_closed(tmp)
        check_falls(tmp)
        check_calendar(tmp)
        check_changes(tmp)
        check_counts(tmp)
        check_rates(tmp)
        check_shares(tmp)
        check_powers(tmp)
        check_ends(tmp)
        check_per_day(tmp)
        check_tails(tmp)
        check_time(tmp)
    print("truths: fine")


main()
