#!/usr/bin/python3
"""Series as people have them, through discover and its followers: each gives a sane result or says clearly why not."""
import csv, datetime, io, json, math, os, random, re, subprocess, sys, tempfile

TOOL = os.path.abspath(sys.argv[1])
ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))


def run(*args, status=0):
    r = subprocess.run([TOOL] + list(args), capture_output=True, text=True, timeout=300)
    assert r.returncode == status, (args, r.returncode, r.stderr[-500:], r.stdout[-500:])
    return r


def write(name, text):
    with open(name, "wb") as f:
        f.write(text if isinstance(text, bytes) else text.encode())
    return name


def check_repeated_times():
    """Several values at a time make the grid of times shorter than the series."""
    twice = "year,value\n" + "".join("%d,%d\n%d,%d\n" % (2000 + y, y, 2000 + y, y + 1) for y in range(1, 9))
    out = run("discover", write("twice.csv", twice)).stdout
    assert "16 values" in out and "8 repeated times" in out and "LIN" in out.split("Structures:")[1].split("\n")[1], out
    once = "year,value\n" + "".join("%d,%d\n" % (2000 + y, y * y % 7) for y in range(1, 12)) + "2011,3\n"
    assert ", 1 repeated time\n" in run("discover", write("once.csv", once)).stdout


def months(values, year, month):
    return "month,value\n" + "".join("%d-%02d,%s\n" % (year + (month - 1 + i) // 12, (month - 1 + i) % 12 + 1, v) for i, v in enumerate(values))


CRIMEA = [1, 12, 11, 359, 828, 788, 503, 844, 1725, 2761, 2120, 1205, 477, 508, 802, 382, 483, 189, 128, 178]


def check_wide_forecast():
    """On the log scale a forecast soon spans many orders of magnitude: its limits hold, and the point is the median."""
    run("discover", write("crimea.csv", months(CRIMEA, 1854, 4)), "-q", "-o", "crimea", "--json", "crimea.json", "--log", "always")
    rows = list(csv.DictReader(io.StringIO(run("forecast", "crimea", "--horizon", "40").stdout)))
    assert list(rows[0]) == ["x", "median", "lo", "hi"] and len(rows) == 40 and rows[0]["x"] == "1855-12", rows[0]
    for r in rows:
        lo, mid, hi = (float(r[k]) for k in ("lo", "median", "hi"))
        assert 0 < lo < mid < hi and 5 < mid < 5000, r
    widths = [math.log(float(r["hi"]) / float(r["lo"])) for r in rows]
    assert all(a < b for a, b in zip(widths, widths[1:])) and widths[-1] > 30, widths
    # far out, where the upper limit is beyond every number, it is infinite and the rest still holds
    far = list(csv.DictReader(io.StringIO(run("forecast", "crimea", "--at", "9999-12").stdout)))[0]
    assert 0 <= float(far["lo"]) < float(far["median"]) < float(far["hi"]), far
    f = json.load(open("crimea.json"))["forecast"]
    assert all(a < b < c for a, b, c in zip(f["lo"], f["median"], f["hi"])), f
    held = run("discover", "crimea.csv", "--holdout", "0.2", "--log", "always").stdout
    score = re.search(r"MASE ([\d.]+), MAE ([\d.]+), RMSE ([\d.]+), CRPS ([\d.e+]+)", held)
    assert score and float(score.group(2)) < 3000 and float(score.group(4)) < 1e5, held


def check_many_times():
    """--at may be given any number of times."""
    at = [a for i in range(500) for a in ("--at", "%d-%02d" % (1850 + i // 12, i % 12 + 1))]
    rows = run("forecast", "crimea", *at).stdout.splitlines()
    assert len(rows) == 501 and rows[1].startswith("1850-01,") and rows[500].startswith("1891-08,"), len(rows)


def noisy(n, f, sd, seed):
    rng = random.Random(seed)
    return [round(f(i) + rng.gauss(0, sd), 3) for i in range(n)]


def settled_means_agreement(d):
    g = d["diagnostics"]
    if d["settled"]:
        assert g["distance_between_chains"] <= 0.12 and g["distance_chains_evidences"] <= 0.06 and g["rhat_log_density"] <= 1.1, g
    for c in d["checks"]:
        assert not (c["p"] < 0.05 and c["text"].startswith("no sign")), c


MOTIFS = {"a trend": "trend", "a recurring pattern": "recurring_pattern", "one that changes from period to period": "changing_pattern",
          "one that grows or shrinks": "changing_amplitude", "a smooth variation": "smooth", "a random walk": "random_walk",
          "noise that grows or shrinks": "heteroskedastic_noise", "a change at a date": "change"}


def check_words():
    """The probabilities in the words are those that a query for the same thing gives; "settled" and "no sign" mean it."""
    walk = [0.0]
    for step in noisy(69, lambda i: 0, 1, 3):
        walk.append(round(walk[-1] + step, 3))
    sets = {"crimea": CRIMEA, "pattern": noisy(60, lambda i: 5 + math.sin(i * math.pi / 6) * (1 + 0.01 * i), 0.5, 4), "walk": walk,
            "growing": noisy(60, lambda i: 30 + 0.2 * i + 0.1 * i * math.sin(i * math.pi / 6), 0.5, 6),
            "smooth": noisy(60, lambda i: 3 * math.sin(i / 9) + 2 * math.sin(i / 4.3 + 1) * math.exp(-((i - 30) / 20) ** 2), 0.2, 8),
            "bend": noisy(40, lambda i: 0.02 * i * i, 1, 7)}
    said = set()
    for name, values in sets.items():
        write(name + ".csv", months(values, 1854, 4))
        text = run("discover", name + ".csv", "-o", "kept_" + name, "--json", name + ".json").stdout
        d = json.load(open(name + ".json"))
        settled_means_agreement(d)
        words = re.findall(r"That there is ([a-z ]+) is [a-z ]+ \((above )?([\d.]+)%\)", text)
        lines = [line for line in text.splitlines() if re.match(r"\d\. ", line)]
        assert len(lines) == len(d["description"]["components"]) and all("That there is" in line for line in lines[:-1]), lines
        answers = {q["query"]: q["probability"] for q in json.loads(run("query", "kept_" + name, *MOTIFS.values(), "--format", "json").stdout)}
        for what, above, number in words:
            p = answers[MOTIFS[what]]
            assert p > 0.999 if above else abs(100 * p - float(number)) <= 0.51, (name, what, number, p)
            said.add(MOTIFS[what])
        for c in d["description"]["components"]:
            if c["motif"] != "noise":
                assert abs(c["motif_probability"] - answers[c["motif"]]) < 1e-6, (name, c)
        assert {m["motif"]: round(m["probability"], 6) for m in d["motifs"]} == {k: round(v, 6) for k, v in answers.items()}, name
    assert said >= {"trend", "recurring_pattern", "changing_pattern", "changing_amplitude", "smooth"}, said
    run("discover", os.path.join(ROOT, "data", "airline.csv"), "--json", "airline.json", "-q")
    settled_means_agreement(json.load(open("airline.json")))


def check_long_chains():
    """Chains that disagreed are not followed by short ones, which would agree by chance: here those of 1,000 steps did, between
    proposals that those of 8,000 found wrong."""
    rng, rows, memory = random.Random(1101), [], 0.0
    z = [rng.gauss(0, 1) for _ in range(4 + 4 * 72)]
    for i in range(72):
        memory = 0.6 * memory + 4 * z[5 + 4 * i]
        rows.append("%d,%.2f" % (i, 100 + 0.4 * i + memory + 3 * z[i % 4]))
    run("discover", write("memory.csv", "t,y\n" + "\n".join(rows) + "\n"), "--json", "memory.json", "-q", "--seed", "6")
    d = json.load(open("memory.json"))
    settled_means_agreement(d)
    assert d["settled"] and d["diagnostics"]["steps"] > 2000, d["diagnostics"]


def check_estimates_inside():
    """Where few draws hold most of the weight, an estimate still lies inside its own interval."""
    values = [
        0.0522, -1.3949, -3.2869, -3.2363, -1.4238, -1.6944, -0.8337, 0.2799, 0.7074, -0.7946, -2.8039, -2.3567, -0.591, -1.0985,
        -2.5839, -5.0785, -1.3457, -1.5082, -2.1379, -0.5174, 0.5871, 0.294, -1.7727, -3.5596, -2.3625, -1.9428, -1.6145, -1.1606,
        -3.123, -1.7232]
    text = run("discover", write("steps.csv", "t,y\n" + "".join("%d,%s\n" % r for r in enumerate(values)))).stdout
    found = re.findall(r"([-\d.e+]+)%?(?: \w+)? \(95%: ([-\d.e+]+)%?(?: \w+)? to ([-\d.e+]+)", text)
    assert found, text
    for mid, lo, hi in found:
        assert float(lo) < float(mid) < float(hi), (mid, lo, hi)


NAMES = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()
D0 = datetime.datetime(2020, 2, 20)
FORMS = {
    "day": lambda i: (D0 + datetime.timedelta(days=i)).strftime("%Y-%m-%d"),
    "compact": lambda i: (D0 + datetime.timedelta(days=i)).strftime("%Y%m%d"),
    "slash": lambda i: (D0 + datetime.timedelta(days=i)).strftime("%Y/%m/%d"),
    "hour": lambda i: (D0 + datetime.timedelta(hours=i)).strftime("%Y-%m-%d %H:%M"),
    "second": lambda i: (D0 + datetime.timedelta(seconds=i)).strftime("%Y-%m-%dT%H:%M:%SZ"),
    "tenth": lambda i: (D0 + datetime.timedelta(milliseconds=100 * i)).strftime("%Y-%m-%dT%H:%M:%S.%f")[:21],
    "name": lambda i: "%s %d" % (NAMES[i % 12], 1999 + i // 12),
    "upper": lambda i: "%d-%s" % (1999 + i // 12, NAMES[i % 12].upper()),
    "first": lambda i: "%d-%02d-01" % (1999 + i // 12, i % 12 + 1),
    "quarter": lambda i: "%d-Q%d" % (1999 + i // 4, i % 4 + 1),
    "year": lambda i: "%d" % (1999 + i),
    "german": lambda i: (D0 + datetime.timedelta(days=i)).strftime("%d.%m.%Y"),
    "bare": lambda i: "{0.day}/{0.month}/{0.year}".format(D0 + datetime.timedelta(days=i)),
    "american": lambda i: (D0 + datetime.timedelta(hours=7 * i)).strftime("%m/%d/%Y %I:%M %p"),
    "long": lambda i: (D0 + datetime.timedelta(days=i)).strftime("%B %d, %Y"),
    "oracle": lambda i: (D0 + datetime.timedelta(days=i)).strftime("%d-%b-%Y").upper(),
    "imf": lambda i: "%dM%02d" % (1999 + i // 12, i % 12 + 1),
    "front": lambda i: "Q%d %d" % (i % 4 + 1, 1999 + i // 4),
    "week": lambda i: (D0 + datetime.timedelta(weeks=i)).strftime("%G-W%V"),
    "zone": lambda i: (D0 + datetime.timedelta(hours=i)).strftime("%Y-%m-%dT%H:%M+05:30"),
    "end": lambda i: (datetime.date(1999 + (i + 1) // 12, (i + 1) % 12 + 1, 1) - datetime.timedelta(days=1)).strftime("%Y-%m-%d"),
    "unix": lambda i: "%d" % (1582156800 + 3600 * i),
    "milli": lambda i: "%d" % (1582156800000 + 500 * i),
}


def shown(name, form, i):
    """What reports and JSON call a time: the file's own writing; of unix seconds the date."""
    if name not in ("unix", "milli"): return form(i)
    at = datetime.datetime.fromtimestamp(int(form(i)) / (1000 if name == "milli" else 1), datetime.timezone.utc).replace(tzinfo=None)
    return at.isoformat(timespec="milliseconds" if name == "milli" else "seconds") + "Z"


def check_times_as_written():
    """Times leave in the form in which they came: CSV, JSON, reports, axes; from the run and from a kept one."""
    values = noisy(30, lambda i: i % 3, 0.5, 8)
    for name, form in FORMS.items():
        write(name + ".csv", "t;y\n" + "".join("%s;%s\n" % (form(i), v) for i, v in enumerate(values)))
        text = run("discover", name + ".csv", "--kernels", "LIN", "--json", "t.json", "--html", "t.html", "--markdown", "t.md", "-o", "t_" + name).stdout
        want = [form(i) for i in range(30, 38)]
        assert "from %s to %s," % (form(0), form(29)) in text, (name, text)
        got = list(csv.reader(run("forecast", "t_" + name, "-n", "8").stdout.splitlines()))
        assert [row[0] for row in got[1:]] == want, (name, got)
        assert next(csv.reader([run("forecast", "t_" + name, "--at", want[3]).stdout.split("\n")[1]])) == got[4], name
        write("at.csv", "t;note\n%s;a\n%s;b\n" % (want[1], want[3]))
        assert list(csv.reader(run("forecast", "t_" + name, "--at-file", "at.csv").stdout.splitlines())) == [got[0], got[2], got[4]], name
        dates = [shown(name, form, i) for i in range(30, 38)]
        for d in json.load(open("t.json")), json.loads(run("report", "t_" + name, "--format", "json").stdout):
            assert [str(x) for x in d["forecast"]["x"]] == dates, (name, d["forecast"]["x"])
            assert str(d["decomposition"]["x"][0]) == shown(name, form, 0), name
        html, md = open("t.html").read(), open("t.md").read()
        assert all("<td>%s</td>" % w in html for w in dates) and all("| %s |" % w in md for w in want), name
        marks = re.findall(r'<text class="mark"[^>]*text-anchor="middle">([^<]*)<', html)
        good = r"\d{4}" if name == "year" else r"\d{4}(-\d\d){0,2}|(\d\d-\d\d )?\d\d:\d\d(:\d\d(\.\d{3})?)?"
        assert len(marks) >= 3 and all(re.fullmatch(good, m) for m in marks), (name, marks)


def check_ordinary_files():
    """Spellings of one file give one answer; what cannot be read is refused with the line and the reason."""
    base = [(2000 + i, v) for i, v in enumerate(noisy(20, lambda i: 5 + 0.3 * i, 0.5, 1))]
    rows = "".join("%d,%s\n" % r for r in base)
    mixed = base[:]
    random.Random(2).shuffle(mixed)
    same = {"plain": "year,value\n" + rows, "bom": b"\xef\xbb\xbfyear,value\n" + rows.encode(), "crlf": ("year,value\n" + rows).replace("\n", "\r\n"),
            "cr": ("year,value\n" + rows).replace("\n", "\r"), "semicolon": "year;value\n" + rows.replace(",", ";"),
            "tab": "year\tvalue\n" + rows.replace(",", "\t"), "quoted": '"year","value"\n' + "".join('"%d","%s"\n' % r for r in base),
            "headless": rows, "blank": "year,value\n\n" + rows.replace("\n", "\n\n"), "spaces": "year , value\n" + rows.replace(",", " , "),
            "comment": "# from somewhere\nyear,value\n" + rows, "third": "year,value,note\n" + rows.replace("\n", ",a b\n"),
            "unsorted": "year,value\n" + "".join("%d,%s\n" % r for r in mixed),
            "comma": "year;value\n" + rows.replace(",", ";").replace(".", ","), "comma_headless": rows.replace(",", ";").replace(".", ","),
            "percent": "year,value\n" + rows.replace("\n", "%\n"), "euro": "year;value\n" + "".join("%d;%s €\n" % (y, str(v).replace(".", ",")) for y, v in base),
            "dollar": "year,value\n" + "".join("%d,$%s\n" % r for r in base), "bar": "year|value\n" + rows.replace(",", "|"),
            "blanks": "year   value\n" + rows.replace(",", "   "), "utf16": ("year,value\n" + rows).encode("utf-16"),
            "utf16_be": b"\xfe\xff" + ("year\tvalue\r\n" + rows.replace(",", "\t")).encode("utf-16-be")}
    answers = {}
    for name, text in same.items():
        out = run("discover", write(name + ".csv", text), "--kernels", "LIN SE").stdout
        assert "20 values" in out, (name, out)
        answers.setdefault(out.split("\n\n", 1)[1].split("Check")[0], []).append(name)
    # percentages between 0 and 100 are shares, whose log odds are modelled, too: the one style that means something
    assert sorted(map(len, answers.values())) == [1, len(same) - 1] and ["percent"] in answers.values(), answers.values()
    bad = {"one": ("year,value\n2000,1\n", "1 value is too few"), "two": ("year,value\n2000,1\n2001,2\n", "2 values are too few"),
           "constant": ("year,value\n" + "".join("%d,3\n" % y for y in range(20)), "constant"), "nul": (("year,value\n" + rows).encode("utf-16-le"), "NUL byte"),
           "gz": (b"\x1f\x8b\x08\0\0", "gzip"), "xlsx": (b"PK\x03\x04\x14\0", "save it as CSV"),
           "which": ("t,y\n" + "".join("%d/3/2020,%d\n" % (i + 1, i * i % 7) for i in range(12)), "--date-format '%m/%d/%Y'"),
           "thousand": ("year,value\n" + "".join('%d,"%d,%d"\n' % (y, y % 7 + 1, y % 900 + 100) for y, _ in base), "--decimal comma"),
           "money": ("year,value\n2000,$5\n2001,€6\n", ":3:"), "word": ("year,value\n" + rows + "later,99\n", ":22:"),
           "ragged": ("year,value\n" + rows + "2020\n", ":22:"), "huge": ("t,y\n" + "".join("%d,%d1e308\n" % (i, i % 2) for i in range(20)), ":3:")}
    for name, (text, why) in bad.items():
        err = run("discover", write(name + ".csv", text), status=2).stderr
        assert why in err, (name, err)
    coded = run("check-data", write("coded.csv", "year,value\n" + rows.replace("2005,%s" % base[5][1], "2005,-999"))).stdout
    assert "1 of 20 values is -999, far from every other one. If that stands for a missing value, say --missing -999." in " ".join(coded.split()), coded
    odd = run("discover", write("odd.csv", "year,value\n" + rows.replace("2005,%s" % base[5][1], "2005,5000"))).stdout
    assert "heavy tails" in odd or "out of line" in odd, odd
    gaps = run("discover", write("gaps.csv", "year,value\n" + rows.replace("2005,%s" % base[5][1], "2005,").replace("2009,%s" % base[9][1], "2009,NaN"))).stdout
    assert "18 values" in gaps and "2 missing" in gaps and "of them" not in gaps.split("Structures")[0], gaps[:200]


def forecast(name, text, horizon):
    run("discover", write(name + ".csv", text), "--kernels", "LIN WN WIENER", "-q", "--out", name)
    return list(csv.DictReader(io.StringIO(run("forecast", name, "--horizon", str(horizon)).stdout)))


def check_days_that_never_come():
    """Days of the week without values, as at an exchange, are not forecast; a hole in all days is only a hole."""
    day = [datetime.date(2022, 1, 3) + datetime.timedelta(i) for i in range(100)]
    text = lambda days: "date,y\n" + "".join("%s,%d\n" % (d, i * 7 % 5) for i, d in enumerate(days))
    rows = forecast("trading", text([d for d in day if d.weekday() < 5]), 12)
    dates = [datetime.date.fromisoformat(r["x"]) for r in rows]
    assert len(dates) == 12 and dates[0] == datetime.date(2022, 4, 13) and all(d.weekday() < 5 for d in dates), dates
    assert all((b - a).days == (3 if b.weekday() == 0 else 1) for a, b in zip(dates, dates[1:])), dates
    rows = forecast("daily", text(day[:30] + day[33:]), 7)
    assert [r["x"] for r in rows] == [str(day[-1] + datetime.timedelta(i)) for i in range(1, 8)], rows


def check_shares_of_rounded_times():
    """Days in decimal years lie a little beside the grid that they are moved to: what is left is counted at each value's own time."""
    random.seed(3)
    day, rows = 0, ["year,y"]
    for _ in range(80):
        day += random.choice((1, 1, 2, 3))
        rows.append("%.6f,%.2f" % (2001 + day / 365, 10 + 3 * math.sin(2 * math.pi * day / 7) + random.gauss(0, 1)))
    run("discover", write("rounded.csv", "\n".join(rows) + "\n"), "-q", "-k", "PER WN", "--json", "rounded.json")
    d = json.load(open("rounded.json"))["description"]
    assert 0.05 < d["rest_share"] < 0.35, d["rest_share"]


def check_digits():
    """An interval is told however far from zero it lies."""
    rng = random.Random(4)
    rows = forecast("far", "t,y\n" + "".join("%d,%.3f\n" % (i, 1e9 + rng.gauss(0, 0.1)) for i in range(40)), 3)
    for r in rows:
        lo, mid, hi = (float(r[k]) - 1e9 for k in ("lo", "median", "hi"))
        assert -0.5 < lo < mid < hi < 0.5 and 0.2 < hi - lo and len(set(r.values())) == 4, r


def check_people():
    """Months with points (which are numbers, too), units in cells, notes beside the values, and which column is meant."""
    bills = [300 + 120 * math.cos(i * math.pi / 6) + 7 * ((i * 5) % 7 - 3) for i in range(48)]
    for name, form, month in (("dots", "%02d.%d", lambda i: (i % 12 + 1, 2019 + i // 12)), ("years", "%d.%02d", lambda i: (2019 + i // 12, i % 12 + 1))):
        text = "Monat;Verbrauch\n(Monat);kWh\n" + "".join("%s;%s\n" % (form % month(i), ("%.1f" % v).replace(".", ",")) for i, v in enumerate(bills))
        out = run("discover", write(name + ".csv", text), "-o", name).stdout
        assert ", regular, line 2, which is no row of the table, left out, decimal commas" in out and "every year" in out, out
        assert ", times read as " + {"dots": "%m.%Y", "years": "%Y.%m"}[name] in out, out
        assert run("forecast", name, "--horizon", "1").stdout.splitlines()[1].startswith(form % month(48) + ","), name
    plain = "t,y\n" + "".join("%s,%d\n" % (v, i % 5) for i, v in enumerate(("1.5", "2.25", "3.75", "4.5", "6.5", "7.1", "8.2", "9.3")))
    assert "from 1.5 to 9.3" in run("discover", write("plain.csv", plain)).stdout
    kwh = "".join("2021-%02d-%02d,%.1f kWh%s\n" % (1 + i // 28, 1 + i % 28, 12 + (i * 7) % 5, ",a note" if i % 9 else ",") for i in range(56))
    out = run("discover", write("kwh.csv", "day,energy,remark\n" + kwh)).stdout
    assert "56 values of 'energy'" in out and ", in kWh" in out, out
    err = run("discover", write("mwh.csv", "day,energy,remark\n" + kwh + "2021-03-01,1.2 MWh,\n"), status=2).stderr
    assert "the value is not a number: '1.2 MWh'" in err, err
    two = "day,\"sold\nitems\",price\n" + "".join("2021-01-%02d,%d,%d\n" % (i, i * i % 7, i % 3) for i in range(1, 20))
    err = run("discover", write("two.csv", two), status=2).stderr
    assert "some of which may act on the others (--with); choose the values with --column: 'sold items' 'price'" in err, err


with tempfile.TemporaryDirectory() as tmp:
    os.chdir(tmp)
    check_days_that_never_come()
    check_digits()
    check_shares_of_rounded_times()
    check_repeated_times()
    check_wide_forecast()
    check_many_times()
    check_words()
    check_long_chains()
    check_estimates_inside()
    check_times_as_written()
    check_ordinary_files()
    check_people()
print("series: fine")
