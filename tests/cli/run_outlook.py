#!/usr/bin/python3
"""What forecasts of gpmem discover count with beside the structure: further changes like those seen, in intervals, quantiles and
paths alike and with the median where it was; and ends of what values can be, beyond which no forecast goes."""
import csv, io, json, math, os, random, subprocess, sys, tempfile

TOOL = sys.argv[1]


def call(*args):
    r = subprocess.run([TOOL, *args], capture_output=True, text=True, timeout=600)
    assert r.returncode == 0, (args, r.stderr)
    return r.stdout


def discover(tmp, name, values, *args):
    """The text, and what JSON and page say of the outlook."""
    path = os.path.join(tmp, name + ".csv")
    with open(path, "w") as f:
        f.write("month,value\n" + "".join("%d-%02d,%s\n" % (2000 + i // 12, i % 12 + 1, v) for i, v in enumerate(values)))
    js, page = path + ".json", path + ".html"
    text = call("discover", path, "--out", os.path.join(tmp, name), "--json", js, "--html", page, *args)
    outlook = json.load(open(js))["description"]["outlook"]
    assert outlook in text and outlook.split("--")[0] in open(page).read(), (outlook, text)
    return text, outlook


def forecast(tmp, name, *args):
    rows = list(csv.reader(io.StringIO(call("forecast", os.path.join(tmp, name), *args))))
    return rows[0], [[float(v) for v in r[1:]] for r in rows[1:]]


def check_shift(tmp):
    """A level that shifted once by eight: the interval grows by what another shift would do, and is that of the noise at first."""
    rng = random.Random(1)
    values = ["%.3f" % (20 + 8 * (i >= 60) + rng.gauss(0, 1)) for i in range(120)]
    text, outlook = discover(tmp, "shift", values)
    assert outlook.startswith("Shifts of level like the one seen may come again: forecasts count with about one in 16.7 years, up or down, "), outlook
    _, rows = forecast(tmp, "shift", "--horizon", "120")
    end = sum(float(v) for v in values[60:]) / 60
    assert all(abs(m - end) < 0.25 for m, _, _ in rows), rows
    width = [hi - lo for _, lo, hi in rows]
    assert 3.2 < width[0] < 5.2 and width[11] < 7 and 12 < width[119] < 40, (width[0], width[11], width[119])
    assert all(b > a - 0.05 for a, b in zip(width, width[1:])), width
    # courses have what the intervals have
    names, rows = forecast(tmp, "shift", "--horizon", "60", "--quantiles", "0.05,0.95", "--paths", "4000")
    at = names.index("path1") - 1
    for row in (rows[0], rows[-1]):
        paths = sorted(row[at:])
        lo, hi = row[3:5]
        share = sum(lo <= v <= hi for v in paths) / len(paths)
        assert 0.87 < share < 0.93, share
    level = [sum(row[at + k] for row in rows[-12:]) / 12 for k in range(4000)]  # of the last year: shifts stay
    far = sum(abs(v - end) > 3 for v in level) / 4000
    assert 0.08 < far < 0.25, far


def check_window(tmp):
    """A pattern that was there for four years alone may come back: the interval grows, in quantiles as in courses, the median stays,
    and in a course the pattern lasts."""
    rng = random.Random(3)
    values = ["%.3f" % (20 + (6 * math.sin(i * math.pi / 6) + 3 * math.cos(i * math.pi / 3) if 48 <= i < 96 else 0) + rng.gauss(0, 1)) for i in range(144)]
    _, outlook = discover(tmp, "window", values)
    assert outlook.startswith("What acts in a part of the series alone may begin or end again: forecasts count with about one such change in 10"), outlook
    names, rows = forecast(tmp, "window", "--horizon", "72", "--quantiles", "0.05,0.95", "--paths", "4000")
    at = names.index("path1") - 1
    assert all(abs(row[0] - 19.8) < 0.3 for row in rows), [row[0] for row in rows]
    width = [row[2] - row[1] for row in rows]
    assert 3.5 < width[0] < 4.8 and 8 < width[-1] < 20, (width[0], width[-1])
    for row in (rows[0], rows[-1]):
        share = sum(row[3] <= v <= row[4] for v in row[at:]) / len(row[at:])
        assert 0.87 < share < 0.93, share
    last = [[row[at + k] - 19.8 for row in rows[-12:]] for k in range(4000)]  # the last year of each course
    spread = [math.sqrt(sum(v * v for v in year) / 12) for year in last]
    assert 0.15 < sum(v > 2 for v in spread) / 4000 < 0.4, sum(v > 2 for v in spread) / 4000


def check_none(tmp):
    rng = random.Random(2)
    text, outlook = discover(tmp, "line", ["%.3f" % (20 + 0.2 * i + rng.gauss(0, 1)) for i in range(100)])
    assert outlook == "" and "may come again" not in text, text


def check_ends(tmp):
    rng = random.Random(3)
    odds = ["%.3f" % (1 / (1 + math.exp(-(1 + 0.03 * i + rng.gauss(0, 0.3))))) for i in range(80)]
    ratings = ["%.2f" % min(5, 4.5 + rng.gauss(0, 0.3)) for _ in range(80)]
    percent = ["%.1f" % min(99.9, 95 + rng.gauss(0, 4)) for _ in range(80)]
    stock = ["%.2f" % (22 - 0.16 * i + rng.gauss(0, 0.8)) for i in range(120)]
    for name, values, args in (("share", odds, ["--min", "0", "--max", "1"]), ("rating", ratings, ["--min", "1", "--max", "5"]),
                               ("percent", percent, ["--min", "0", "--max", "100"]), ("stock", stock, ["--min", "0"])):
        discover(tmp, name, values, *args)
        _, rows = forecast(tmp, name, "--horizon", "12")
        ends = [float(v) for v in args[1::2]] + [math.inf]
        assert all(ends[0] <= v <= ends[1] for row in rows for v in row), (name, rows)


def check_last(tmp):
    """A month that is not over: the last value is not taken out, and the one before it is not out of line for it."""
    rng = random.Random(3)
    visits = [int(10000 + 50 * i + 1000 * math.sin(i * math.pi / 6) + rng.gauss(0, 200)) for i in range(31)]
    visits[-1] = int(0.3 * visits[-1])
    text, _ = discover(tmp, "begun", visits)
    assert "out of line and" not in text, text


def check_cancelling(tmp):
    """A line and two falls that take it back are each larger than the values: shares of their variance would be hundreds of percent."""
    rng = random.Random(1)
    text, _ = discover(tmp, "falls", ["%.1f" % (10 * i + rng.gauss(0, 6) - 300 * ((i >= 35) + (i >= 67))) for i in range(90)])
    assert "Components mostly cancel each other: together they have 1" in text and "% is " not in text, text


def check_ratings(tmp):
    """Whole numbers from 1 to 5: forecasts, quantiles, paths and scores are such numbers, and it is said; other ends may be given."""
    rng, u, stars = random.Random(5), 0, []
    for _ in range(130):
        u = 0.8 * u + rng.gauss(0, 0.7)
        stars.append(min(5, max(1, round(3.6 + u))))
    text, outlook = discover(tmp, "stars", stars[:120])
    assert outlook.endswith("Values are whole numbers from 1 to 5, and so are forecasts (--min and --max set other ends)."), outlook
    head, rows = forecast(tmp, "stars", "--horizon", "10", "--quantiles", "0.1,0.6", "--paths", "20")
    assert len(head) == 26 and all(v in (1, 2, 3, 4, 5) for row in rows for v in row), rows
    _, outlook = discover(tmp, "stars2", stars[:120], "--max", "20")
    assert "whole numbers" in outlook and "set other ends" not in outlook, outlook
    _, rows = forecast(tmp, "stars2", "--horizon", "10")
    assert all(v == round(v) for row in rows for v in row) and max(row[2] for row in rows) > 5, rows


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as tmp:
        for check in (check_shift, check_window, check_none, check_ends, check_last, check_cancelling, check_ratings):
            check(tmp)
    print("ok")
