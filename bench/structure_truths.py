#!/usr/bin/python3
"""What discover says of series whose truth is known: structure_truths.py GPMEM [SEEDS [CASE...]]

Each case makes a series from a seed and states claims about the result; the table counts how many seeds each claim holds for."""
import datetime, json, math, os, random, re, subprocess, sys, tempfile


def months(n):
    return ["%d-%02d-01" % (1990 + i // 12, i % 12 + 1) for i in range(n)]


def days(n):
    return [str(datetime.date(2015, 1, 1) + datetime.timedelta(i)) for i in range(n)]


def component(d, *names):
    """Probability of a structure with one of these components, also inside a change."""
    def has(s):
        return set(names) & set(s.replace("CP(", "").replace("CW(", "").replace(")", "").replace(",", " +").split(" + "))
    return sum(s["probability"] for s in d["structures"] if has(s["struct"]))


def said(d):
    return " ".join(c["text"] for c in d["description"]["components"])


def temperatures(g):
    weather, ys = 0.0, []
    for i in range(800):
        weather = 0.7 * weather + g.gauss(0, 4 * math.sqrt(1 - 0.49))
        ys.append(round(20 + 10 * math.sin(2 * math.pi * (i - 100) / 365.25) + weather, 1))
    return days(800), ys, {
        "a recurring pattern": lambda d: component(d, "PER", "SE*PER") > 0.9,
        "of a year": lambda d: "It repeats every year" in said(d),
        "rough, no random walk": lambda d: component(d, "MAT12") > 0.5 > component(d, "WIENER"),
        "forecast within the range of the data": lambda d: min(d["forecast"]["lo"]) > -15 and max(d["forecast"]["hi"]) < 55}


def counts(g):
    ys = []
    for i in range(96):
        rate, k, p = 2 + 1.5 * math.sin(i * math.pi / 6), 0, g.random()
        while p > math.exp(-rate):
            p *= g.random()
            k += 1
        ys.append(k)
    return months(96), ys, {
        "no negative bound": lambda d: min(d["forecast"]["lo"]) >= 0,
        "a recurring pattern": lambda d: component(d, "PER", "SE*PER", "LIN*PER") > 0.5,
        "no trend": lambda d: component(d, "LIN", "IOU", "IWIENER") < 0.5}


def spikes(g):
    at = sorted(g.sample(range(5, 115), 3))
    ys = [20 + 0.1 * i + 5 * math.sin(i * math.pi / 6) + g.gauss(0, 1) + (i in at) * g.choice([-1, 1]) * 15 for i in range(120)]
    dates = months(120)
    return dates, ys, {
        "all three named, nothing else": lambda d: [o["x"][0] for o in sorted(d["outliers"], key=lambda o: o["x"])] == [dates[i] for i in at],
        "the structure without them": lambda d: d["structures"][0]["struct"] == "LIN + PER + WN"}


def step(g):
    at, up = g.randrange(30, 90), g.choice([-1, 1])
    dates = months(120)
    return dates, [10 + g.gauss(0, 1) + 4 * up * (i >= at) for i in range(120)], {
        "a shift": lambda d: component(d, "STEP") > 0.9,
        "its direction": lambda d: "shifts " + ("up" if up > 0 else "down") in said(d),
        "its date, to a month": lambda d: any(t in said(d) for t in dates[at - 1:at + 2])}


def louder(g):
    at = g.randrange(40, 80)
    return months(120), [g.gauss(0, 1 if i < at else 3.5) for i in range(120)], {
        "noise of another size": lambda d: sum(s["probability"] for s in d["structures"] if "CP(" in s["struct"] or "CW(" in s["struct"]) > 0.5,
        "no trend, no pattern": lambda d: component(d, "LIN", "PER", "SE*PER", "WIENER", "IOU") < 0.5}


def noise(g):
    return months(120), [g.gauss(0, 1) for _ in range(120)], {
        "nothing but noise": lambda d: d["structures"][0]["struct"] == "WN",
        "no change": lambda d: sum(s["probability"] for s in d["structures"] if "CP(" in s["struct"] or "CW(" in s["struct"] or "STEP" in s["struct"]) < 0.2,
        "nothing out of line": lambda d: not d["outliers"]}


def recurs(d):
    return sum(s["probability"] for s in d["structures"] if "PER" in s["struct"])


def average(g):
    e = [g.gauss(0, 1) for _ in range(201)]
    return months(200), [e[i + 1] + 0.7 * e[i] for i in range(200)], {
        "no recurring pattern": lambda d: recurs(d) < 0.5}


def three_periods(g):
    ys = [10 + (2 + 1.2 * math.sin(math.pi * i / 45)) * math.sin(math.pi * i / 6) + g.gauss(0, 0.3) for i in range(300)]
    return list(range(1, 301)), ys, {
        "three of them": lambda d: sum(s["probability"] for s in d["structures"] if s["struct"].count("PER") == 3) > 0.9,
        "none that changes": lambda d: component(d, "SE*PER", "LIN*PER", "LIN*SE*PER") < 0.5}


def sawtooth(g):
    return days(220), [50 + 0.03 * (i % 80) + g.gauss(0, 0.15) for i in range(220)], {
        "a recurring pattern": lambda d: recurs(d) > 0.9,
        "nothing out of line": lambda d: not d["outliers"]}


def shop(g):
    """Daily sales of two to four years: a week, a year, a trend, all in proportion; hardly any on two feasts, more before one of them."""
    years, first, ys, dates, feasts = g.choice([2, 3, 4]), datetime.date(2019, 1, 1) + datetime.timedelta(g.choice([0, 0, 59, 165])), [], [], []
    week = [1 + g.gauss(0, 0.2) for _ in range(7)]
    for i in range(int(365.25 * years)):
        day = first + datetime.timedelta(i)
        v = 200 * math.exp(0.0003 * i + 0.2 * math.sin(2 * math.pi * (day.timetuple().tm_yday - 120) / 365.25)) * week[day.weekday()] * math.exp(g.gauss(0, 0.08))
        if (day.month, day.day) in ((12, 25), (1, 1)):
            v *= 0.3
            feasts.append(str(day))
        elif day.month == 12 and day.day < 25:
            v *= 1.3
        dates.append(str(day))
        ys.append(round(v, 1))
    return dates, ys, {
        "every week": lambda d: "every week" in said(d),
        "every year": lambda d: "every year" in said(d),
        "a trend": lambda d: sum(m["probability"] for m in d["motifs"] if m["motif"] in ("trend", "random_walk")) > 0.9,
        "effects multiply": lambda d: d["probability_of_log"] > 0.9,
        "the feasts named": lambda d: [o["x"][0] for o in d["outliers"]] == [f for f in feasts if f != dates[-1]],
        "no change": lambda d: sum(m["probability"] for m in d["motifs"] if m["motif"] == "change") < 0.5}


def campaigns(g):
    """A year of days with a week and a trend, and one or two times at another level, 1.5 to 3 standard deviations of the noise away."""
    n, ys, spans, dates = 365, [], [], days(365)
    week = [g.gauss(0, 15) for _ in range(7)]
    for k in range(g.choice([1, 2])):
        from_, length = g.randrange(30, 150) + 160 * k, g.randrange(7, 29)
        spans.append((from_, from_ + length - 1, g.choice([-1, 1]) * g.uniform(15, 30)))
    for i in range(n):
        ys.append(round(200 + 0.1 * i + week[i % 7] + sum(size for a, b, size in spans if a <= i <= b) + g.gauss(0, 10), 1))

    def found(d):
        return [[dates.index(t) for t in m] for m in re.findall(r"The level is (?:higher|lower) by [^.]*(?:\.\d+[^.]*)*? from (\S+) to ([-\d]+)", said(d))]
    return dates, ys, {
        "all of them told, nothing else": lambda d: len(found(d)) == len(spans) and "shift of level" not in said(d),
        "with their dates, 2 days away at most": lambda d: sorted(found(d)) and len(found(d)) == len(spans)
        and all(abs(f[0] - s[0]) < 3 and abs(f[1] - s[1]) < 3 for f, s in zip(sorted(found(d)), sorted(spans))),
        "every week": lambda d: "every week" in said(d),
        "a trend": lambda d: sum(m["probability"] for m in d["motifs"] if m["motif"] == "trend") > 0.9,
        "no random walk": lambda d: sum(m["probability"] for m in d["motifs"] if m["motif"] == "random_walk") < 0.5}


def hours(g):
    """Four to eight weeks of hours: at weekends the day is another one; weather that lasts some hours."""
    n, weather, first, times, ys = 24 * 7 * g.choice([4, 5, 6, 8]), 0.0, datetime.datetime(2023, 3, 1), [], []
    early, late, work, lazy = g.uniform(6, 10), g.uniform(7, 15), g.uniform(4, 8), g.uniform(0.4, 0.8)
    for i in range(n):
        hour, free = i % 24, (first + datetime.timedelta(hours=i)).weekday() >= 5
        weather = 0.8 * weather + g.gauss(0, 1)
        ys.append(round(30 + early * (lazy if free else 1) * math.exp(-(((hour - (10 if free else 8)) / 2.5) ** 2)) + late * math.exp(-(((hour - 19) / 3) ** 2))
                        + work * (9 <= hour < 17 and not free) + weather, 2))
        times.append((first + datetime.timedelta(hours=i)).strftime("%Y-%m-%d %H:00"))
    return times, ys, {
        "every day": lambda d: "every day" in said(d),
        "that differs within the week": lambda d: component(d, "PER*PER") > 0.9,
        "no pattern that changes": lambda d: sum(m["probability"] for m in d["motifs"] if m["motif"] in ("changing_pattern", "changing_amplitude")) < 0.5,
        "no change": lambda d: sum(m["probability"] for m in d["motifs"] if m["motif"] == "change") < 0.5,
        "rough, no random walk": lambda d: component(d, "MAT12") > 0.5 > component(d, "WIENER")}


CASES = {"daily temperatures": temperatures, "counts": counts, "spikes": spikes, "step": step, "louder": louder, "noise": noise,
         "moving average": average, "three periods": three_periods, "saw-tooth": sawtooth, "shop": shop, "campaigns": campaigns, "hours": hours}


def main():
    tool, seeds = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 20
    print("| series | claim | right |\n|---|---|--:|")
    for name in sys.argv[3:] or CASES:
        right, settled = {}, 0
        for seed in range(seeds):
            dates, ys, claims = CASES[name](random.Random("%s %d" % (name, seed)))
            with tempfile.TemporaryDirectory() as tmp:
                path, js = os.path.join(tmp, "s.csv"), os.path.join(tmp, "s.json")
                with open(path, "w") as f:
                    f.write("date,y\n" + "".join("%s,%r\n" % r for r in zip(dates, ys)))
                subprocess.run([tool, "discover", path, "--json", js, "-q"], check=True)
                d = json.load(open(js))
            settled += d["settled"]
            for claim, holds in claims.items():
                right[claim] = right.get(claim, 0) + bool(holds(d))
        for claim, k in list(right.items()) + [("settled", settled)]:
            print("| %s | %s | %d of %d |" % (name, claim, k, seeds), flush=True)


if __name__ == "__main__":
    main()
