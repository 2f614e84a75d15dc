#!/usr/bin/python3
"""Shapes that people meet, with known truth: what gpmem discover must not say of them (a period of a moving average, a pattern that
changes where three are exact, slips at the edges of a saw-tooth, a last value that is none, shares above 100%) and what it must."""
import datetime, json, math, os, random, re, subprocess, sys, tempfile

TOOL = sys.argv[1]


def discover(tmp, name, times, values, *args):
    """Everything of the JSON, all of the words in one text, and what the lint says of the values."""
    path, js = os.path.join(tmp, name + ".csv"), os.path.join(tmp, name + ".json")
    with open(path, "w") as f:
        f.write("t,value\n" + "".join("%s,%s\n" % r for r in zip(times, values)))
    r = subprocess.run([TOOL, "discover", path, "--json", js, *args], capture_output=True, text=True, timeout=600)
    assert r.returncode == 0, (name, r.stderr)
    d = json.load(open(js))
    d["text"] = r.stdout
    d["remarks"] = " ".join(subprocess.run([TOOL, "check-data", path], capture_output=True, text=True, check=True).stdout.split())
    return d


def motif(d, name):
    return sum(m["probability"] for m in d["motifs"] if m["motif"] == name)


def rows(n):
    return list(range(1, n + 1))


def days(n):
    return [str(datetime.date(2020, 3, 2) + datetime.timedelta(i)) for i in range(n)]


def months(n, first=2005):
    return ["%d-%02d-01" % (first + i // 12, i % 12 + 1) for i in range(n)]


def wave(i, period):
    return math.sin(2 * math.pi * i / period)


def check_moving_average(tmp):
    """What is forgotten before it comes back is no pattern: neighbours of a moving average are alike, and that is all."""
    g, before, y = random.Random("ma1-2"), 0, []
    for _ in range(200):
        now = g.gauss(0, 1)
        y.append(round(now + 0.7 * before, 3))
        before = now
    d = discover(tmp, "average", months(200, 1990), y)
    assert motif(d, "recurring_pattern") < 0.1, d["structures"][:3]
    # nearest to it is a smooth function of less than a step, which starts of six steps do not lead to
    g = random.Random("moving average 7")
    e = [g.gauss(0, 1) for _ in range(201)]
    d = discover(tmp, "further average", months(200, 1990), [e[i + 1] + 0.7 * e[i] for i in range(200)])
    assert d["structures"][0]["struct"] == "SE + WN" and motif(d, "recurring_pattern") < 0.1, d["structures"][:3]


def check_three_periods(tmp):
    """A wave whose size is a wave: three exact periods, none of which changes."""
    g = random.Random("product_periods-1")
    d = discover(tmp, "periods", rows(300), [round(10 + (2 + 1.2 * wave(i, 90)) * wave(i, 12) + g.gauss(0, 0.3), 3) for i in range(300)])
    assert d["structures"][0]["struct"] == "PER + PER + PER + WN" and motif(d, "changing_pattern") < 0.1, d["structures"][:3]
    # steps from one pattern that changes lead to three that do not over structures that are far worse than either
    g = random.Random("three periods 12")
    d = discover(tmp, "beats", rows(300), [10 + (2 + 1.2 * wave(i, 90)) * wave(i, 12) + g.gauss(0, 0.3) for i in range(300)])
    assert d["structures"][0]["struct"] == "PER + PER + PER + WN" and motif(d, "changing_pattern") < 0.1, d["structures"][:3]
    g = random.Random("trendbeat 2")
    y = [0.03 * i + 2 * wave(i, 14) + 0.8 * math.sin(2 * math.pi * i / 12.3 + 1) + 0.8 * wave(i, 16.1) + g.gauss(0, 0.5) for i in range(260)]
    d = discover(tmp, "beats beside a line", rows(260), y)
    assert d["structures"][0]["struct"] == "LIN + PER + PER + PER + WN" and motif(d, "changing_pattern") < 0.1, d["structures"][:3]


def check_edges(tmp):
    """A sensor that drifts and is set back every 80 days: the values beside the edge belong to it, and it is one pattern."""
    g = random.Random("recalibration-1")
    d = discover(tmp, "drift", days(220), [round(50 + 0.03 * (i % 80) + g.gauss(0, 0.15), 3) for i in range(220)])
    assert not d["outliers"] and motif(d, "recurring_pattern") > 0.9, (d["outliers"], d["structures"][:2])
    said = d["text"]
    if said.count("An exactly periodic function. It repeats") > 1:
        assert "That is the period of component 1: together they are one pattern." in said, said


def check_last(tmp):
    """A meter that counts up, reset once: the last value is one more. Rare sales: one more of them."""
    g, x, y = random.Random("meter_reset-1"), 3000, []
    for i in range(120):
        x = 0 if i == 70 else x + max(0, g.gauss(25, 6))
        y.append(round(x, 1))
    d = discover(tmp, "meter", days(120), y)
    assert "The last value" not in d["remarks"] and motif(d, "change") > 0.9, (d["remarks"], d["text"])
    g = random.Random(5)
    sold = [g.randrange(3, 12) if g.random() < 0.2 else 0 for _ in range(107)] + [8]
    d = discover(tmp, "rare", days(108), sold)
    assert "The last value" not in d["remarks"], d["remarks"]


def check_full(tmp):
    """Percentages that reach 100 go no further."""
    g = random.Random("occupancy-1")
    y = ["%.1f%%" % min(100, max(0, 94 + 4 * wave(i, 7) + g.gauss(0, 3))) for i in range(136)]
    d = discover(tmp, "full", days(136), y)
    assert max(d["forecast"]["hi"]) <= 100 and "--max" not in d["remarks"], (d["forecast"]["hi"], d["remarks"])


def check_launch(tmp):
    """Zeros before something began are no sensor that stuck."""
    g = random.Random(1)
    y = [0] * 30 + [round(400 * (1 - math.exp(-(i + 1) / 8)) + g.gauss(0, 15)) for i in range(54)]
    d = discover(tmp, "launch", months(84), y)
    said = d["remarks"]
    assert "The first 30 values, up to 2007-06-01, are 0." in said and "(--max-points 54)" in said and "stuck" not in said, said


def check_moves(tmp):
    """A level that stands still for a while, and one that moves more for a while: not noise of another size, and settled."""
    g, x, y = random.Random("pause-1"), 0, []
    for i in range(108):
        x = 0.9 * x + g.gauss(0, 1)
        y.append(round(50 + (0 if 40 <= i < 75 else x) + g.gauss(0, 0.05), 2))
    d = discover(tmp, "pause", months(108), y)
    assert d["structures"][0]["struct"] == "CW(C, MAT12) + WN" and d["settled"], d["structures"][:3]
    g, x, y = random.Random("wild-2"), 0, []
    for i in range(72):
        x += g.gauss(0, 5 if 24 <= i < 48 else 0.7)
        y.append(round(50 + x + g.gauss(0, 0.3), 2))
    d = discover(tmp, "wild", months(72), y)
    moves = sum(s["probability"] for s in d["structures"] if re.search(r"CW\((MAT12|WIENER), C\)", s["struct"]))
    assert moves > 0.9 and d["settled"], d["structures"][:3]


def check_words(tmp):
    g = random.Random("logistic-1")
    d = discover(tmp, "ceiling", months(60), [round(1000 / (1 + math.exp(-(i - 24) / 5)) + g.gauss(0, 12), 1) for i in range(60)])
    assert "whose slope comes and goes" in d["text"] and "which direction is open)" in d["text"].split("At the end it ")[1].split(". ")[0], d["text"]
    g = random.Random("damped-1")
    d = discover(tmp, "damped", rows(150), [round(5 * math.exp(-i / 50) * math.cos(2 * math.pi * i / 18) + g.gauss(0, 0.15), 3) for i in range(150)])
    first, last = map(float, re.search(r"Its highest point is ([0-9.]+) above its lowest in the first period, ([0-9.]+) in the last\.", d["text"]).groups())
    assert 7 < first < 10 and last < 1.5, (first, last)
    g = random.Random("bend-1")
    d = discover(tmp, "bend", months(100), [round(20 + 0.5 * min(i, 60) - 0.3 * max(0, i - 60) + g.gauss(0, 1), 2) for i in range(100)])
    found = re.search(r"From there on it falls by ([0-9.]+) per year \(95%: [0-9.]+ to [0-9.]+\), which adds to the other trends\.", d["text"])
    assert abs(float(found.group(1)) - 9.6) < 0.6 and "explains 2" not in d["text"] and "times the variance." in d["text"], d["text"]
    d = discover(tmp, "seconds", [5 * i for i in range(150)], [round(3 * wave(i, 15) + g.gauss(0, 1), 2) for i in range(150)])
    assert re.search(r"It repeats every 7[45][0-9.]* units", d["text"]) and "step" not in d["text"].split("Structures:")[0], d["text"]
    d = discover(tmp, "louder", rows(120), [round(g.gauss(0, 1 if i < 60 else 5), 2) for i in range(120)])
    assert re.search(r"more uncorrelated noise from [0-9]+(?![0-9]*\.[0-9])[,. ]", d["text"]), d["text"]
    d = discover(tmp, "twice", rows(100), [round(10 * wave(i, 46) + g.gauss(0, 0.5), 2) for i in range(100)])
    assert "a function that repeats exactly over the 2.2 periods seen" in d["text"], d["text"]


def check_border(tmp):
    """A value of which the data hardly say whether it is out of line: what decides are the data, not the draws of a seed."""
    x, level, y = 12345, 0, []
    for i in range(48):
        g = 0
        for _ in range(6):
            x = (1103515245 * x + 12345) % 2147483648
            g += x / 2147483648 - 0.5
        level += 0.3 * g + 2.2 * g * g * g
        y.append(round(100 + 10 * level + (103.98 if i == 20 else 0), 2))
    out = [len(discover(tmp, "border", rows(48), y, "--seed", str(seed))["outliers"]) for seed in (1, 3, 4, 6)]
    assert len(set(out)) == 1, out


def check_first(tmp):
    """A first value may be out of line as any other, but a walk may begin anywhere."""
    g = random.Random("first")
    y = [round(20 + 0.1 * i + 5 * wave(i, 12) + g.gauss(0, 1), 2) for i in range(96)]
    assert not discover(tmp, "plain", months(96), y)["outliers"]
    d = discover(tmp, "first", months(96), [y[0] - 15] + y[1:])
    assert [o["x"][0] for o in d["outliers"]] == ["2005-01-01"] and d["structures"][0]["struct"] == "LIN + PER + WN", (d["outliers"], d["structures"][:3])
    assert abs(d["outliers"][0]["expected"] - 20) < 2, d["outliers"]
    for seed in range(4):
        g, x, walk = random.Random("walk%d" % seed), 50, []
        for _ in range(48):
            x += g.gauss(0, 1)
            walk.append(round(x, 2))
        walk[0] = round(walk[1] + 2.5, 2)
        d = discover(tmp, "walk", months(48), walk)
        assert not d["outliers"], (seed, d["outliers"])
    # where it came from is as uncertain as where it goes to
    run = os.path.join(tmp, "walk run")
    d = discover(tmp, "walk", months(48), walk, "--kernels", "WIENER,WN", "--log", "never", "--out", run)
    r = subprocess.run([TOOL, "forecast", run, "--at", "2004-01-01", "--at", "2009-12-01"], capture_output=True, text=True)
    widths = [float(hi) - float(lo) for _, _, lo, hi in (line.split(",") for line in r.stdout.splitlines()[1:])]
    assert len(widths) == 2 and abs(math.log(widths[0] / widths[1])) < 0.2, (r.stdout, r.stderr)


def check_two_years(tmp):
    """Two full years hold two periods of a year, whether they are 730 days, 104 weeks or 24 months; the first of January is a feast."""
    g, start, y = random.Random("shop"), datetime.date(2021, 1, 1), []
    dates = [start + datetime.timedelta(i) for i in range(730)]
    for i, day in enumerate(dates):
        sold = 200 * math.exp(0.0003 * i + 0.2 * wave((day - start).days - 120, 365.25)) * (1, 0.9, 0.92, 1, 1.2, 1.5, 0.6)[day.weekday()]
        y.append(round(sold * math.exp(g.gauss(0, 0.08)) * (0.3 if (day.month, day.day) == (1, 1) else 1), 1))
    d = discover(tmp, "shop", dates, y)
    assert [o["x"][0] for o in d["outliers"]] == ["2021-01-01", "2022-01-01"], d["outliers"]
    assert "It repeats every week" in d["text"] and "It repeats every year" in d["text"] and "over the 2 periods seen" in d["text"], d["text"]
    assert d["probability_of_log"] > 0.99 and motif(d, "change") < 0.1 and d["settled"], d["structures"][:3]
    for name, times, year in (("weeks", [str(datetime.date(2020, 1, 6) + datetime.timedelta(7 * i)) for i in range(104)], 365.25 / 7), ("months", months(24), 12)):
        d = discover(tmp, name, times, [round(50 + 8 * wave(i, year) + g.gauss(0, 1), 2) for i in range(len(times))])
        assert "It repeats every year" in d["text"] and "The series holds only 2 such periods" in d["text"], d["text"]


def check_feasts(tmp):
    """Feasts that the first search leaves among the values cost logarithms more than roots: once they are out, both are looked at again."""
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "bench"))
    from structure_truths import shop
    times, values, claims = shop(random.Random("shop 19"))
    d = discover(tmp, "feasts", times, values)
    assert d["settled"] and not [c for c, holds in claims.items() if not holds(d)], (d["structures"][:2], d["outliers"])


def check_pulses(tmp):
    """Another level for a time is told with its size and dates, three days of it as well as two weeks; no walk, no window of louder noise, no trend bends for it.
    Where the level does not come back it is two shifts."""
    g, y, when = random.Random(1), [], days(365)
    for i in range(365):
        v = 3000 * [1.1, 1.15, 1.1, 1.05, 1, 0.6, 0.55][i % 7] * (1 + 0.0006 * i) * (1.5 if 200 <= i < 214 else 1) * (0.1 if 90 <= i < 93 else 1)
        y.append(round(v * math.exp(g.gauss(0, 0.06))))
    d = discover(tmp, "campaign", when, y)
    assert d["settled"] and d["structures"][0]["struct"].endswith("LIN + PER + PULSE + PULSE + WN") and motif(d, "random_walk") < 0.1, d["structures"][:3]
    for what, a, b in (("higher by", 200, 213), ("lower by", 90, 92)):
        assert re.search(r"The level is %s [\d.]+%% \(95%%: [\d.]+%% to [\d.]+%%\) from %s to %s\." % (what, when[a], when[b]), d["text"]), d["text"]
    assert "Another level for a time, like those seen, may come again" in d["text"], d["text"]
    y = [round(7 * (i >= 20) - 9 * (i >= 55) + g.gauss(0, 0.4), 3) for i in range(80)]
    d = discover(tmp, "two shifts", rows(80), y)
    assert d["structures"][0]["struct"] == "STEP + STEP + WN" and d["structures"][0]["probability"] > 0.7, d["structures"][:3]


def check_hours(tmp):
    """At weekends the day is another one: no pattern that changes. Of a day there may be a smooth pattern and a sharp one."""
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "bench"))
    from structure_truths import hours
    times, values, claims = hours(random.Random("hours 1"))
    d = discover(tmp, "hours", times, values)
    assert len(values) < 800 and d["settled"] and not [c for c, holds in claims.items() if not holds(d)], (len(values), d["structures"][:2])
    assert "pattern of the day that differs within the week. It repeats every week." in d["text"] and "Its days differ by when the level is high" in d["text"], d["text"]
    assert re.search(r"PER\(p=7 days, l=[\d.]+\) \* PER\(p=1 day, l=[\d.]+\)", d["text"]), d["text"]


def check_shots(tmp):
    """What jumps up with every rain and falls back has no shifts of level, and the lint says so."""
    g, y, v = random.Random("soil 1"), [], 30
    for _ in range(400):
        v = 10 + (v - 10) * 0.97 + (g.uniform(8, 20) if g.random() < 0.05 else 0)
        y.append(round(v + g.gauss(0, 0.2), 2))
    d = discover(tmp, "soil", days(400), y)
    assert d["settled"] and motif(d, "change") < 0.01 and d["structures"][0]["struct"] == "MAT12 + WN", d["structures"][:3]
    assert "18 rises from one value to the next are out of all proportion, and hardly any fall" in d["remarks"], d["remarks"]
    assert d["data"]["remarks"] > 0, d["data"]


def check_loud_smooth(tmp):
    """A smooth function that comes and goes within four steps, and more so from year to year, is no trend, whatever kernel says so."""
    g, n = random.Random("loud smooth 1"), 300
    e = [g.gauss(0, 1) for _ in range(n + 16)]
    k = [math.exp(-0.5 * (j / 2.5) ** 2) for j in range(-8, 9)]
    size = math.sqrt(sum(a * a for a in k))
    course = [6 * (i + 10) / n * sum(k[j] * e[i + j] for j in range(17)) / size for i in range(n)]
    d = discover(tmp, "loud", rows(n), [round(50 + v + g.gauss(0, 0.15), 3) for v in course], "--out", os.path.join(tmp, "loud"))
    assert d["structures"][0]["struct"].startswith("LIN*SE + "), d["structures"][:3]
    assert motif(d, "trend") < 0.3 and motif(d, "smooth") > 0.9 and "there is a trend is" not in d["text"], d["text"]
    said = subprocess.run([TOOL, "query", os.path.join(tmp, "loud"), "trend", "LIN*SE"], capture_output=True, text=True, check=True).stdout
    p = [float(line.split()[0]) for line in said.splitlines()]
    assert abs(p[0] - motif(d, "trend")) < 1e-3 and p[1] > 0.5, said
    slow = [round(50 + 10 * (i + 30) / n * wave(i, 500) + g.gauss(0, 0.3), 3) for i in range(n)]
    assert motif(discover(tmp, "slow", rows(n), slow), "trend") > 0.5


def check_windows(tmp):
    """Where noise is of another size is told by the hours of values, not by minutes between two; up to an end of the series it is one time."""
    first, hour = datetime.datetime(2020, 3, 2), r"(2020-03-\d\d \d\d:00)[ ,.]"
    when = [str(first + datetime.timedelta(hours=i))[:16] for i in range(120)]
    for name, loud, words in (("end", (75, 119), "from " + hour), ("start", (0, 39), "until " + hour),
                              ("middle", (40, 79), "between " + hour + ".*?and " + hour)):
        g = random.Random("loud " + name)
        d = discover(tmp, name, when, [round(g.gauss(0, 5 if loud[0] <= i <= loud[1] else 1), 3) for i in range(120)])
        found = re.search("1. More uncorrelated noise[^.:]*? " + words, d["text"])
        assert found, (name, d["text"][:900])
        truth = [loud[0]] * (name != "start") + [loud[1]] * (name != "end")
        assert all(abs(when.index(a) - b) <= 7 for a, b in zip(found.groups(), truth)), (found.groups(), truth)


def check_short_slope(tmp):
    """A walk whose steps are alike for five months of 25 years has no trend; it is a random walk whose slope lasts for a while."""
    g, slope, level, y = random.Random("slope 1"), 0, 0, []
    for _ in range(300):
        slope = 0.8 * slope + g.gauss(0, 1)
        level += slope
        y.append(round(level + g.gauss(0, 0.3), 3))
    d = discover(tmp, "walk", months(300, 1990), y)
    assert d["structures"][0]["struct"] == "IOU + WN" and motif(d, "random_walk") > 0.8 > 0.2 > motif(d, "trend"), (d["structures"][:3], d["motifs"])
    assert "A random walk whose slope lasts for a while" in d["text"] and "there is a trend is" not in d["text"], d["text"]


def check_halves(tmp):
    """Half-years that alternate repeat every year, of which a grid of them shows two values."""
    g = random.Random("half 1")
    when = ["%d-%02d-01" % (2000 + i // 2, 1 + 6 * (i % 2)) for i in range(40)]
    d = discover(tmp, "halves", when, [round(30 + 0.5 * i + 4 * (i % 2) + g.gauss(0, 1.2), 1) for i in range(40)])
    assert d["structures"][0]["struct"] == "LIN + PER + WN" and "It repeats every year" in d["text"], d["text"]
    d = discover(tmp, "flat halves", when, [round(30 + 0.5 * i + g.gauss(0, 1.2), 1) for i in range(40)])
    assert motif(d, "recurring_pattern") < 0.2, d["structures"][:3]


def check_grid_periods(tmp):
    """What comes back after seven rows repeats every seven steps, though a sharp pattern of 3.5 or 2.33 of them is alike there; a wave of 3.5 is one."""
    for seed in (2, 4, 5):
        g = random.Random(seed)
        pattern = [g.gauss(0, 1) for _ in range(7)]
        d = discover(tmp, "seven", rows(200), [round(10 + pattern[i % 7] + g.gauss(0, 0.3), 3) for i in range(200)])
        assert re.search(r"It repeats every 7(\.0\d)? steps", d["text"]), d["text"]
    g = random.Random(1)
    d = discover(tmp, "wave", rows(200), [round(10 + wave(i, 3.5) + g.gauss(0, 0.3), 3) for i in range(200)])
    assert "It repeats every 3.5 steps" in d["text"] and "close to a sine wave" in d["text"], d["text"]


def main():
    with tempfile.TemporaryDirectory() as tmp:
        check_moving_average(tmp)
        check_three_periods(tmp)
        check_edges(tmp)
        check_last(tmp)
        check_full(tmp)
        check_launch(tmp)
        check_moves(tmp)
        check_border(tmp)
        check_first(tmp)
        check_grid_periods(tmp)
        check_pulses(tmp)
        check_halves(tmp)
        check_loud_smooth(tmp)
        check_short_slope(tmp)
        check_windows(tmp)
        check_shots(tmp)
        check_hours(tmp)
        check_feasts(tmp)
        check_two_years(tmp)
        check_words(tmp)
    print("shapes: fine")


main()
