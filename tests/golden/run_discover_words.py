#!/usr/bin/python3
"""What gpmem discover says of series with a known truth: levels that stay the same, counts that end, noise of another
size, weather that is no trend, formulas on the scale that is modelled, scales that are lines, terms of one name, values in steps, rare counts, rain. Of every text: no size of "0", shares that are
shares, a runner-up that says what it has instead. Structures are clear here, so that no number decides what is said."""
import json, math, os, random, re, subprocess, sys, tempfile

TOOL = sys.argv[1]


def months(n):
    return ["%d-%02d" % (2010 + i // 12, i % 12 + 1) for i in range(n)]


def discover(tmp, name, times, values, *args):
    """The text and the cells of the forecast; what holds for all is checked here."""
    path, run = os.path.join(tmp, name + ".csv"), os.path.join(tmp, name)
    with open(path, "w") as f:
        f.write("time,value\n" + "".join("%s,%s\n" % r for r in zip(times, values)))
    r = subprocess.run([TOOL, "discover", path, "--out", run, *args], capture_output=True, text=True, timeout=600)
    assert r.returncode == 0, (name, r.stderr)
    text = r.stdout
    assert not re.search(r"(rose|fell|rises|falls) by 0%? per", text), text
    shares = [float(s) for s in re.findall(r"(?:explains|variance|, ) ?([0-9.]+)% (?:of the variance|is [A-Z]|is left)", text)]
    assert all(0 <= s <= 300 for s in shares), shares
    for sentence in re.findall(r"(?:The next is|That is a tie with) [^.]*\(0\.\d+\)[^.]*\.", text):
        assert ", which has " in sentence or "fits" in sentence, sentence
    forecast = subprocess.run([TOOL, "forecast", run, "--horizon", "6"], capture_output=True, text=True, timeout=600)
    assert forecast.returncode == 0, forecast.stderr
    cells = [line.split(",")[1:] for line in forecast.stdout.splitlines()[1:]]
    assert not any(c == "-0" for row in cells for c in row), forecast.stdout
    return text, cells


def check_step(tmp):
    rng = random.Random(1)
    text, _ = discover(tmp, "step", months(60), ["%.3f" % ((8 if i >= 30 else 0) + rng.gauss(0, 0.5)) for i in range(60)])
    ask = lambda q: subprocess.run([TOOL, "query", os.path.join(tmp, "step"), q], capture_output=True, text=True, timeout=600)
    assert ask("value(2014-06) > 5").stdout.startswith("1.0000"), ask("value(2014-06) > 5")
    for q in ("value(2016-06) > 5", "!(value(2009-01) < 5)"):  # before and after the data: no answer, not 0
        assert ask(q).returncode == 2 and "outside of the data" in ask(q).stderr, ask(q)
    assert "A shift of level" in text and re.search(r"; since [0-9-]+ it did not change\.", text), text


def check_counts(tmp):
    """Twenty a month, then none: the logarithm of the rate varies by far more than the counts do."""
    rng = random.Random(2)
    counts = [sum(rng.random() < 0.02 for _ in range(1000)) if i < 40 else 0 for i in range(56)]
    text, cells = discover(tmp, "ends", months(56), counts)
    assert "Of the variance of the rate's logarithm" in text, text
    assert all(float(c) >= 0 for row in cells for c in row), cells
    falls = [max(0, round(60 - 2 * i + rng.gauss(0, 2))) for i in range(44)]
    discover(tmp, "falls", months(44), falls)


def check_noise(tmp):
    rng = random.Random(3)
    text, _ = discover(tmp, "louder", months(120), ["%.3f" % rng.gauss(0, 0.5 if i < 70 else 5) for i in range(120)])
    title = re.search(r"\d\. More uncorrelated noise (from|until|outside|between)[^.]*\..*", text)
    assert title and "It acts" not in title[0] and "That there is a change at a date is" in title[0], text
    assert re.search(r"\* WN \[(from|until|outside|between) [^]]*\] \+ ", text), text


def check_weather(tmp):
    """Values that come and go within days: their level is the same throughout."""
    rng = random.Random(5)
    v, values = 0, []
    for i in range(240):
        v = 0.7 * v + rng.gauss(0, 1)
        values.append("%.2f" % (20 + v))
    text, _ = discover(tmp, "weather", range(240), values)
    assert re.search(r"The level \(without what comes and goes within about [0-9.]+ \w+ and without noise\) stays the same", text), text


def check_formula(tmp):
    rng = random.Random(6)
    shares = ["%.2f%%" % (100 / (1 + math.exp(-(3 - 0.1 * i + rng.gauss(0, 0.2))))) for i in range(60)]
    text, _ = discover(tmp, "odds", months(60), shares)
    assert re.search(r"\n  log\(y / \(100 - y\)\) ~ GP\(-?0?\.?\d", text), text


def check_swing(tmp):
    """A sine of amplitude 3: six from its lowest point to its highest, whatever the prior of its size was."""
    rng = random.Random(8)
    for name, back, truth in (("sine", lambda v: v, 6), ("factor", lambda v: 50 * math.exp(v / 6), 50 * (math.exp(0.5) - math.exp(-0.5)))):
        values = ["%.4f" % back(3 * math.sin(math.pi * i / 6) + rng.gauss(0, 0.3)) for i in range(96)]
        text, _ = discover(tmp, name, months(96), values)
        said = re.search(r"An exactly periodic function\. It repeats every year\..* Its highest point is ([0-9.]+)(%?) above its lowest\.", text)
        size = float(said[1])
        assert abs(size / truth - 1) < 0.08 if not said[2] else abs(math.log1p(size / 100) - 1) < 0.08, (size, text)


def check_narrow(tmp):
    """Values that differ by little of their size: no logarithm, whose line they would be, and digits that tell them apart."""
    rng = random.Random(9)
    for name, base in (("billion", 1e9), ("five hundred", 500)):
        values = ["%.3f" % (base + 3 * (i >= 25) + rng.gauss(0, 0.2)) for i in range(50)]
        text, _ = discover(tmp, name, range(50), values, "--markdown", os.path.join(tmp, "narrow.md"), "--json", os.path.join(tmp, "narrow.json"))
        assert "differ by so little of their size that adding and multiplying are the same here." in text, text
        assert "ogarithm" not in text and "+09" not in text, text
        said = re.search(r"The level \(without noise\) went from ([0-9.]+) at the start to ([0-9.]+) at the end", text)
        assert said and abs(float(said[2]) - float(said[1]) - 3) <= 1, text
        assert "+09" not in open(os.path.join(tmp, "narrow.md")).read().split("## Forecast")[1].split("##")[0]
        assert json.load(open(os.path.join(tmp, "narrow.json")))["probability_of_log"] == 0
    text, _ = discover(tmp, "asked", range(50), values, "--log", "always")  # who wants it gets it
    assert "The logarithm of the values is modelled" in text, text
    text, _ = discover(tmp, "wide", range(50), ["%.3f" % (50 * math.exp(0.03 * i + rng.gauss(0, 0.05))) for i in range(50)])
    assert "The logarithm of the values is modelled" in text, text


def check_alike(tmp):
    """Two terms of one name are told apart in every list of them; one structure is one."""
    rng = random.Random(10)
    values = ["%.3f" % (3 * math.sin(2 * math.pi * i / 7) + 2 * math.sin(2 * math.pi * i / 30) + rng.gauss(0, 0.3)) for i in range(150)]
    text, _ = discover(tmp, "alike", range(150), values, "-k", "PER WN")
    assert re.search(r"Of the variance \d+% is PER's \(of every [0-9.]+ steps\), \d+% is PER's \(of every [0-9.]+ steps\), ", text), text
    steps = [7 * (i >= 20) - 9 * (i >= 55) + rng.gauss(0, 0.4) for i in range(80)]
    text, _ = discover(tmp, "shifts", months(80), ["%.3f" % v for v in steps])
    assert re.search(r"components: a shift of level at 2011-09, a shift of level at 2014-08, and uncorrelated noise", text), text
    assert "STEP's (at 2011-09)" in text and "STEP's (at 2014-08)" in text, text
    assert "STEP(at=2011-09)" in text and "STEP(at=2014-08)" in text, text  # the formula has the dates of the words
    text, _ = discover(tmp, "single", range(150), values, "-k", "WN", "--log", "never")
    assert re.search(r"\n1 structure, \d+ likelihoods", text), text


def check_small(tmp):
    """A pattern of eight beside a line of a thousand is small, and there."""
    rng = random.Random(11)
    text, _ = discover(tmp, "small", range(200), ["%.3f" % (100 + 5 * i + 8 * math.sin(2 * math.pi * i / 20) + rng.gauss(0, 3)) for i in range(200)])
    assert "below 0.1% is PER's, below 0.1% is left as noise" in text and "It explains below 0.1% of the variance." in text, text
    assert not re.search(r"[ ,]0(\.0)?% (is|of the variance)", text), text


def check_truths(tmp):
    """Values of 0 and 1: a forecast is one of them with its chance; nothing below, above or between."""
    rng = random.Random(7)
    noise = [int(rng.random() < 0.3) for _ in range(90)]
    weekly = [int(rng.random() < (0.05 if i % 7 > 4 else 0.95)) for i in range(91)]
    for name, values in (("coin", noise), ("weekly", weekly)):
        page, notes = os.path.join(tmp, "truths.html"), os.path.join(tmp, "truths.md")
        text, cells = discover(tmp, name, range(len(values)), values, "--html", page, "--markdown", notes)
        # of 0 and 1 no interval is drawn, promised or listed
        head = open(page).read().split("<h2>Components</h2>")[0]
        assert "the chance of a 1 (line)" in head, head
        assert not any(w in head for w in ("and its interval", '"name":"low"', ">low</th>")), head
        assert "| time | chance |\n" in open(notes).read(), open(notes).read()
        assert re.search(r" The values are 0 or 1, [0-9.]+% of them 1: the chance of a 1 is modelled, by its log odds", text), text
        assert "each value is a 0 or a 1 by its chance." in text and "counts" not in text, text
        assert re.search(r"log odds of a 1 ~ GP\(", text), text
        chance = [float(row[3]) for row in cells]
        assert all(c in ("0", "1") for row in cells for c in row[:3]) and all(0 < p < 1 for p in chance), cells
        assert all((row[0] == "1") == (p > 0.5) for row, p in zip(cells, chance)), cells
        if name == "coin":
            assert "found one additive component" in text and all(abs(p - sum(noise) / 90) < 0.1 for p in chance), (text, chance)
        else:  # 91 values: the next six are five days with, one without
            assert min(chance[:4]) > 0.7 and chance[5] < 0.4, chance
        report = subprocess.run([TOOL, "report", os.path.join(tmp, name), "--format", "json"], capture_output=True, text=True)
        assert json.loads(report.stdout)["probability_of_chance"] > 0.999, report.stderr
        paths = subprocess.run([TOOL, "forecast", os.path.join(tmp, name), "--horizon", "4", "--paths", "20", "--quantiles", "0.1,0.9"],
                               capture_output=True, text=True).stdout.splitlines()
        assert paths[0].startswith("x,median,lo,hi,chance,q0.1,q0.9,path1") and len(paths) == 5, paths[0]
        assert all(c in ("0", "1") for line in paths[1:] for c in line.split(",")[5:]), paths
    # more of them than their chance is modelled for: their mean is, still between 0 and 1
    many = [int(rng.random() < (i + 20) / 480) for i in range(450)]
    text, cells = discover(tmp, "many", range(450), many, "--max-time", "20")
    assert "as the mean of the values." in text, text
    assert all(c in ("0", "1") for row in cells for c in row[:3]) and all(0 < float(row[3]) < 1 for row in cells), cells


def check_steps(tmp):
    """Values that repeat because they are rounded: what makes them repeat is no certainty, nor is a size below the steps."""
    shocks = [0] * 108
    for i, v in ((41, 0.01), (45, 0.01), (55, 0.01), (66, 0.01), (74, 0.04), (75, 0.01), (95, 0.06), (96, 0.01)):
        shocks[i] = v
    text, _ = discover(tmp, "shocks", months(108), shocks)
    assert "found one additive component: uncorrelated noise" in text and "Values are written in steps of 0.01: most of it is rounding." in text, text
    assert "2 values are out of line" in text, text
    price = [13.5] * 15 + [13.4] * 32 + [13.5] * 4 + [13.6] * 10 + [13.7] * 11 + [13.8] * 8 + [14.5] * 20 + [15.6] * 8
    text, _ = discover(tmp, "price", months(108), price)
    noise = float(re.search(r"noise with a standard deviation of ([0-9.]+)", text)[1])
    assert (0.025 < noise < 0.06 or 0.17 < noise < 0.4) and "steps of 0.1" in text and "periodic function" not in text, text  # values, or percent of them


def check_rare(tmp):
    """Counts of a few winter months: a pattern of years, not one that grows or lives in a window, as normal errors would have it."""
    for seed in (1, 4):
        rng = random.Random(seed)
        counts = [int(1 + rng.expovariate(0.25) ** 1.5) if rng.random() < {0: .75, 1: .6, 11: .25, 2: .15}.get(i % 12, 0) else 0 for i in range(108)]
        text, cells = discover(tmp, "rare%d" % seed, months(108), counts)
        assert re.search(r"This structure, PER \+ WN, has probability", text) and "NOT SETTLED" not in text, text
        assert "It repeats every year." in text and all(float(row[2]) < 400 for row in cells), (text, cells)


def check_rain(tmp):
    """Amounts with dry months: their roots are modelled, and no forecast lies below none."""
    rng = random.Random(1)
    rain = []
    for i in range(216):
        mean = 62 + 60 * math.cos(2 * math.pi * i / 12)
        days = sum(rng.random() < min(0.5, mean / 120) for _ in range(30))
        amount = sum(rng.expovariate(10.5 / mean) for _ in range(days))
        rain.append(round(amount, 1) if i % 12 not in (6, 7) or rng.random() < 0.4 else 0)
    text, cells = discover(tmp, "rain", months(216), rain)
    assert "Square roots of the values are modelled rather than the values themselves" in text and re.search(r"sqrt\(y \+ [0-9.]+\) ~ GP", text), text
    assert all(float(c) >= 0 for row in cells for c in row) and any(c != "%d" % float(c) for row in cells for c in row), cells


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as tmp:
        for check in (check_step, check_counts, check_noise, check_weather, check_formula, check_swing, check_narrow, check_alike, check_small,
                      check_truths, check_steps, check_rare, check_rain):
            check(tmp)
    print("ok")
