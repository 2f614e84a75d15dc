# SPDX-License-Identifier: Apache-2.0
"""Claims in words against the truth: series by formula, of which it is known what may be said; every sentence of the
report that makes a claim is read back and judged. Used by run_words.py (one seed) and run_words_long.py (twenty)."""
import collections, datetime, json, math, os, random, re, subprocess, tempfile

DAY = datetime.timedelta(days=1)


def months(i): return "%d-%02d" % (2001 + i // 12, i % 12 + 1)
def days(i): return (datetime.datetime(2020, 1, 1) + i * DAY).strftime("%d.%m.%Y")
def minutes(i): return (datetime.datetime(2020, 1, 1) + i * DAY / 1440 * 7).strftime("%Y-%m-%d %H:%M")


def walk(rng, n, drift, sd):
    x, out = 0, []
    for _ in range(n):
        x += drift + rng.gauss(0, sd)
        out.append(x)
    return out


# name: (how times are written, number of values, values(rng, n), truth)
# truth: level (at the first and at the last value, units of the words between them; None: it stays the same), unit, period
# (in words), log, motifs that are there and that are not
def noise(rng, n): return [5 + rng.gauss(0, 1) for _ in range(n)]
def line(rng, n): return [20 + 0.05 * i + rng.gauss(0, 0.5) for i in range(n)]
def falling(rng, n): return [20 - 0.05 * i + rng.gauss(0, 0.5) for i in range(n)]
def season(rng, n): return [50 + 0.1 * i + 5 * math.sin(i * math.pi / 6) + rng.gauss(0, 1) for i in range(n)]
def growth(rng, n): return [100 * math.exp(0.01 * i + 0.2 * math.sin(i * math.pi / 6) + rng.gauss(0, 0.03)) for i in range(n)]
def week(rng, n): return [10 + (3 if i % 7 > 4 else 0) + rng.gauss(0, 0.5) for i in range(n)]
def wave(rng, n): return [20 + 2 * math.sin(2 * math.pi * i / 7) + rng.gauss(0, 0.4) for i in range(n)]
def strolling(rng, n): return [30 + v for v in walk(rng, n, 0, 1)]


YEARS = 119 / 12  # from the first to the last of 120 months
CASES = {
    "noise": (months, 100, noise, {"level": None, "not": ["recurring_pattern", "random_walk"]}),
    "line": (months, 120, line, {"level": (20, 25.95, YEARS), "unit": "year", "has": ["trend"], "not": ["recurring_pattern"]}),
    "falling": (months, 120, falling, {"level": (20, 14.05, YEARS), "unit": "year", "has": ["trend"], "not": ["recurring_pattern"]}),
    "season": (months, 120, season, {"level": (50, 61.9, YEARS), "unit": "year", "period": "year", "has": ["trend", "recurring_pattern"]}),
    "growth": (months, 120, growth, {"level": (100, 100 * math.exp(1.19), YEARS), "unit": "year", "period": "year", "log": True, "has": ["trend", "recurring_pattern"]}),
    "week": (days, 140, week, {"level": None, "period": "week", "has": ["recurring_pattern"], "not": ["random_walk"]}),
    "wave": (minutes, 200, wave, {"level": None, "period": "49 minutes", "has": ["recurring_pattern"], "not": ["random_walk"]}),
    "walk": (days, 150, strolling, {"has": ["random_walk"], "not": ["recurring_pattern"]}),
}

RATE = re.compile(r"over the whole series it (rose|fell|changed) by ([-\d.e+]+)(%?)(?: \w+)? per (\w+) \(95%: ([-\d.e+]+) to ([-\d.e+]+)")


def mean_rate(level, percent):
    """What the level changed by per unit over the whole series: a slope, or the percent that compound to its change, which
    is what words say whose model is one of logarithms, also of a line, where the two may fit alike."""
    first, last, units = level
    return 100 * math.expm1(math.log(last / first) / units) if percent else (last - first) / units


def judge(d, truth):
    """(claim, right) for everything that the report of d claims and the truth knows."""
    words = d["description"]
    level, text = words["level"], " ".join(c["text"] for c in words["components"])
    m = RATE.search(level)
    if "level" in truth and not truth["level"]:
        yield "no trend is claimed where there is none", m is None or m.group(1) == "changed"
    elif "level" in truth:
        first, last, _ = truth["level"]
        lo, hi = (sorted(float(v) for v in m.group(5, 6))) if m else (0, 0)
        yield "direction of the trend", bool(m) and m.group(1) == ("rose" if last > first else "fell")
        yield "interval of the trend", bool(m) and lo <= abs(mean_rate(truth["level"], m.group(3) == "%")) <= hi
        yield "unit of the trend", bool(m) and m.group(4) == truth["unit"]
    every = re.findall(r"It repeats every ([\w. ]+?)(?: \(95%|\. )", text)
    if truth.get("period"):
        # a number beside the unit may be off by a percent
        def fits(e):
            a, b = e.split(), truth["period"].split()
            return e == truth["period"] or (len(a) == len(b) == 2 and a[1] == b[1] and abs(float(a[0]) / float(b[0]) - 1) < 0.01)
        yield "period", any(fits(e) for e in every)
    if truth.get("log") is not None:
        yield "effects multiply", ("effects multiply" in words["summary"]) == truth["log"]
    p = {m["motif"]: m["probability"] for m in d["motifs"]}
    for motif in truth.get("has", ()): yield "there is a %s" % motif, p.get(motif, 0) > 0.5
    for motif in truth.get("not", ()): yield "there is no %s" % motif, p.get(motif, 0) < 0.5
    more = re.search(r"; the other (\d+)%", words["shares"])
    less = re.search(r"; that is (\d+)% too much", words["shares"])
    parts = [float(v) for v in re.findall(r"([\d.]+)% is ", words["shares"].replace("that is ", ""))]
    total = sum(parts) + (float(more.group(1)) if more else 0) - (float(less.group(1)) if less else 0)
    yield "shares of variance add up, or what lacks is named", abs(total - 100) < 2 + len(parts)


def run(tool, seeds, cases=CASES):
    table = collections.OrderedDict()
    wrong = []
    with tempfile.TemporaryDirectory() as tmp:
        for name in cases:
            form, n, values, truth = CASES[name]
            for seed in range(1, seeds + 1):
                path = os.path.join(tmp, "s.csv")
                with open(path, "w") as f:
                    f.write("time;value\n")
                    for i, v in enumerate(values(random.Random(1000 * seed + len(name)), n)): f.write("%s;%.4f\n" % (form(i), v))
                r = subprocess.run([tool, "discover", path, "--json", "-"], capture_output=True, text=True)
                assert r.returncode == 0, r.stderr
                for claim, right in judge(json.loads(r.stdout), truth):
                    row = table.setdefault((name, claim), [0, 0])
                    row[0] += right
                    row[1] += 1
                    if not right: wrong.append((name, seed, claim))
    print("| series | claim | right |\n|---|---|--:|")
    for (name, claim), (right, n) in table.items(): print("| %s | %s | %d of %d |" % (name, claim, right, n))
    good, all_ = (sum(r[k] for r in table.values()) for k in (0, 1))
    print("%d of %d claims are right" % (good, all_))
    for w in wrong: print("wrong:", *w)
    return table, good / all_
