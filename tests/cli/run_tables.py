#!/usr/bin/python3
"""Tables as offices, spreadsheets and loggers write them: times, marks and layouts are read, and what was done is said."""
import csv, datetime, io, json, math, os, random, re, subprocess, sys, tempfile

TOOL = os.path.abspath(sys.argv[1])
rng = random.Random(5)
YEARS = [round(100 + 0.5 * i + 10 * math.sin(i * math.pi / 6) + rng.gauss(0, 1), 1) for i in range(72)]  # of months, with a season


def run(*args, status=0):
    r = subprocess.run([TOOL] + list(args), capture_output=True, text=True, timeout=120)
    assert r.returncode == status, (args, r.returncode, r.stderr[-600:], r.stdout[-300:])
    return r


def discover(text, *args, status=0, keep=None):
    """The first line of the answer, or the error; with keep the times of the forecast, too."""
    with open("t.csv", "w") as f:
        f.write(text)
    r = run("discover", "t.csv", "--max-time", "2", *(["--out", keep] if keep else []), *args, status=status)
    if status:
        return r.stderr
    line = r.stdout.splitlines()[0]
    if not keep:
        return line
    rows = csv.DictReader(io.StringIO(run("forecast", keep, "--horizon", "3").stdout))
    again = run("report", keep, "--format", "text").stdout.splitlines()
    assert line in again, (line, again[:3])
    return line, [r["x"] for r in rows]


def month(i, year=2016):
    return year + i // 12, i % 12 + 1


def rows(times, values=YEARS, head="when,v\n"):
    return head + "".join("%s,%s\n" % r for r in zip(times, values))


def check_times():
    """Fiscal years and quarters, weeks in six digits, days of the week, the end of a day."""
    quarters = [(10 + i // 4, i % 4 + 1) for i in range(40)]
    for pattern, first, then in (("FY%02dQ%d", "FY10Q1", "FY20Q1"), ("FY20%02d Q%d", "FY2010 Q1", "FY2020 Q1")):
        line, x = discover(rows([pattern % q for q in quarters]), keep="fy" + first[-4:])
        assert "from %s to " % first in line and x[0] == then, (line, x)
    for write in (lambda y, q: "Q%d FY20%02d" % (q, y), lambda y, q: "Q%d '%02d" % (q, y), lambda y, q: "%dQ%02d" % (q, y), lambda y, q: "Q%d-%02d" % (q, y)):
        line = discover(rows([write(*q) for q in quarters]))
        assert "40 values" in line and ", regular, " in line and "from %s to %s" % (write(10, 1), write(19, 4)) in line, line
    # years from one into the next, also where they might be months
    for first, write in ((1990, "%d-%02d"), (2001, "%d/%02d")):
        line, x = discover(rows([write % (y, (y + 1) % 100) for y in range(first, first + 11)]), keep="into%d" % first)
        assert "11 values" in line and x[0] == write % (first + 11, (first + 12) % 100), (line, x)
    line, x = discover(rows(["FY%d" % y for y in range(1990, 2020)]), keep="fy")
    assert x == ["FY2020", "FY2021", "FY2022"] and "from FY1990 to FY2019, regular" in line, (line, x)
    weeks = [(datetime.date(2019, 12, 2) + datetime.timedelta(7 * i)).isocalendar() for i in range(70)]
    line, x = discover(rows(["%d%02d" % w[:2] for w in weeks]), keep="weeks")
    assert "from 201949 to 202113, regular, times read as %G%V" in line and x[0] == "202114", (line, x)
    assert "from 201901 to 201940, regular" in discover(rows(range(201901, 201941)))  # of one year: any numbers
    days = [datetime.date(2021, 6, 1) + datetime.timedelta(i) for i in range(40)]
    for form in ("%a %d %b %Y", "%A, %B %d, %Y"):
        line, x = discover(rows(['"%s"' % d.strftime(form) for d in days]), keep="day" + form[1])
        assert "40 values" in line and x[0] == datetime.date(2021, 7, 11).strftime(form), (line, x)
    line, x = discover(rows(["%s %02d:00" % (days[i // 24], i % 24 + 1) for i in range(72)]), keep="hours")
    assert "from 2021-06-01 01:00 to 2021-06-04 00:00, regular" in line and x[0] == "2021-06-04 01:00", (line, x)


def check_months():
    """One day in a month, at one time of day, is a month however it is written: what comes next is on such days."""
    first = [datetime.date(*month(i), 1) for i in range(61)]
    epoch, sheet = datetime.date(1970, 1, 1), datetime.date(1899, 12, 30)
    day = datetime.timedelta(1)
    for name, write in (("midnight", lambda i: "%s 00:00:00" % first[i]), ("zone", lambda i: "%sT00:00:00+02:00" % first[i]),
                        ("fifteenth", lambda i: str(first[i] + 14 * day)), ("end", lambda i: "%s 23:59:59" % (first[i + 1] - day)),
                        ("unix", lambda i: str((first[i] - epoch).days * 86400))):
        first = [datetime.date(*month(i), 1) for i in range(65)]
        line, x = discover(rows([write(i) for i in range(60)]), keep="months_" + name)
        assert ", regular" in line and "gaps" not in line and x == [write(60), write(61), write(62)], (name, line, x)
        asked = list(csv.DictReader(io.StringIO(run("forecast", "months_" + name, "--at", write(61)).stdout)))
        assert [r["x"] for r in asked] == [write(61)], asked
    # the numbers of spreadsheets, in a column of dates
    line, x = discover(rows([(d - sheet).days for d in first[:60]], head="Date,v\n"), keep="sheet")
    assert "times in days of a spreadsheet (2016-01-01 on; if they are numbers: --date-format number)" in line, line
    assert x == [str((d - sheet).days) for d in first[60:63]], x
    assert "spreadsheet" not in discover(rows([(d - sheet).days for d in first[:60]]))
    assert "spreadsheet" not in discover(rows([(d - sheet).days for d in first[:60]], head="Date,v\n"), "--date-format", "number")
    # trading days are trading days, also with a clock
    days = [d for d in (datetime.date(2020, 1, 1) + i * day for i in range(79)) if d.weekday() < 5]
    line, x = discover(rows(["%s 16:00:00-05:00" % d for d in days]), keep="trading")
    assert x == ["2020-03-20 16:00:00-05:00", "2020-03-23 16:00:00-05:00", "2020-03-24 16:00:00-05:00"], x


def check_steps():
    """Means over months of days; a list of holidays may name some that the series does not have."""
    days = [datetime.date(2020, 1, 1) + datetime.timedelta(i) for i in range(731)]
    text = rows(days, [round(10 + 9 * math.sin(2 * math.pi * i / 365.25) + rng.gauss(0, 2), 2) for i in range(731)])
    line, x = discover(text, "--every", "month", keep="monthly")
    assert "24 values of 'v' from 2020-01 to 2021-12, regular; means over 1month of 731 rows" in line and x[0] == "2022-01", (line, x)
    assert "8 values of 'v' from 2020-01 to 2021-10, regular" in discover(text, "--every", "quarter")
    assert "values of 'v' from 2019-12-30 to 2021-12-27, regular; means over 1w" in discover(text, "--every", "1 week")
    assert "such are 10min, 1h, 1d, 1w, 1month, 1year" in discover(text, "--every", "weekly", status=2)
    with open("h.csv", "w") as f:
        f.write("date,name\n2020-12-25,Christmas\n2021-12-25,Christmas\n2022-04-17,Easter\n2022-06-05,Pentecost\n")
    line, _ = discover(text, "--holidays", "h.csv", keep="feasts")
    assert line.endswith(", 2 holidays of the list without a day in it left out"), line


def check_marks():
    """Marks of footnotes are left out and told; thousands and millions are multiplied; what is no number is none."""
    times = ["%d-%02d" % month(i) for i in range(72)]
    for mark in ("*", "e", " (p)", "[1]", " r", "\u2020"):
        line, _ = discover(rows(times, [str(v) + (mark if i % 9 == 4 else "") for i, v in enumerate(YEARS)]), keep="mark%d" % ord(mark.strip()[0]))
        assert "72 values" in line and "marks behind 8 values ignored (%s)" % mark.strip() in line, line
    assert "is not a number: '" in discover(rows(times, ["%se" % v for v in YEARS]), status=2)  # of all: no marks
    sold = ["%.2fK" % (v / 1000) if v < 1e6 else "%.2fM" % (v / 1e6) for v in (y * 8000 for y in YEARS)]
    discover(rows(times, sold), "--json", "sold.json", "--out", "sold")
    kept = [float(r.split(",")[1]) for r in open("sold/data.csv").read().splitlines()[1:]]
    assert max(abs(a / 8000 / b - 1) for a, b in zip(kept, YEARS)) < 0.01, kept[:5]
    assert ", in K" in discover(rows(times, ["%.1f K" % (270 + y / 10) for y in YEARS]))  # kelvin
    text = "when,price\n" + "".join('%s,"$%s"\n' % (t, format(int(y * 3000), ",")) for t, y in zip(times, YEARS))
    assert "thousands separators left out, in $" in discover(text)
    assert "--decimal comma" in discover(text.replace("$", "\u20ac"), status=2)
    # The point of 30.512 \u20ac may separate thousands, too: asked, unless 998 \u20ac stands beside it; \u20ac 1.459 is a price of fuel.
    points = "date,amount\n" + "".join("2020-%02d-01,%d.%03d \u20ac\n" % (i % 12 + 1, 21 + i, 37 * i % 1000) for i in range(12))
    said = discover(points, status=2)
    assert "the point of '21.000 \u20ac'" in said and "--decimal comma" in said, said
    assert "thousands separators left out" in discover(points.replace("23.074", "998"))
    assert "12 values" in discover(points.replace(" \u20ac", ""))
    assert "12 values" in discover(re.sub(r",[0-9]+\.", ",1.", points))
    assert "a limit of detection say" in discover(rows(times, [v if i % 9 else "<99" for i, v in enumerate(YEARS)]), status=2)
    assert "64 values" in discover(rows(times, [v if i % 9 else "<99" for i, v in enumerate(YEARS)]), "--missing", "<99")
    line, _ = discover(rows(times, ["Yes" if v > 110 else "No" for v in YEARS]), keep="truth")
    assert line.endswith(", yes is 1"), line


def check_rows():
    """Titles, units, totals and remarks are no rows of a table; what is in doubt is still an error."""
    times = ["%d-%02d" % month(i) for i in range(72)]
    table = rows(times)
    total = "Total,%.1f\n" % sum(YEARS)
    sums = "when,v\n" + "".join("%s,%s\n" % (times[i], v) + ("%d Total,%.1f\n" % (2016 + i // 12, sum(YEARS[i - 11:i + 1])) if i % 12 == 11 else "")
                               for i, v in enumerate(YEARS)) + "Grand total,%.1f\n" % sum(YEARS)
    for text, said in ((table + total, "line 74, which is no row of the table, left out"), (table + ",7500.5\n", "line 74, which"),
                       (sums, "7 lines that are no rows of the table left out (the first: line 14)"),
                       (table.replace("v\n", "v\n,EUR\n", 1), "line 2, which"), (table.replace("v\n", "v\nYYYY-MM,kg\n", 1), "line 2, which"),
                       (table + "\nSource: the office\nNote: revised, see page 3, and 4\n", "2 lines that are no rows of the table left out (the first: line 75)"),
                       ("Sales\nas of today\n\n" + table, "2 lines that are no rows of the table left out (the first: line 1)"),
                       ("Sales,\nas of,2021-03-04\n,\n" + table, "3 lines that are no rows"), ("Sales;\n\n" + table.replace(",", ";"), "line 1, which")):
        line, _ = discover(text, keep="rows%d" % len(text))
        assert "72 values of 'v' from 2016-01 to 2021-12, regular, " in line and said in line, (text[:60], line)
    for text, said in ((table + "2022-01\n", ":74: 1 field where"), (table + "\nRegion,Share,Count\nNorth,0.4,3\n", ":75: 3 fields where"),
                       (table + "\nRegion,Share\nNorth,0.4\n", ":75: cannot read the time"), (table.replace("2018-01", ""), "cannot read the time"),
                       ("a,b\n1,2,3\n4\n5,6\n", ":2: 3 fields where the first row has 2")):
        assert said in discover(text, status=2), said
    for text, said in (('{"data": [1, 2]}', "this is JSON"), ('[{"t": 1}]', "this is JSON"), ("<!DOCTYPE html><html></html>", "a web page")):
        assert said in discover(text, status=2), said
    # lines that end with a separator; the code of Windows, in which a blank that does not break separates thousands
    assert "72 values of 'v' from 2016-01 to 2021-12, regular" in discover(table.replace("\n", ",\n"))
    with open("w.csv", "wb") as f:
        f.write("Datum;Gr\u00f6\u00dfe\n".encode("cp1252") + "".join("%s;1\u00a0%s,5 \u20ac\n" % (t, int(100 + 5 * v) % 1000) for t, v in zip(times, YEARS)).encode("cp1252"))
    line = run("discover", "w.csv", "--column", "Gr\u00f6\u00dfe", "--max-time", "1").stdout.splitlines()[0]
    assert "72 values of 'Gr\u00f6\u00dfe'" in line and "decimal commas, thousands separators left out, in \u20ac" in line, line
    # names of columns without a corner, as R writes them; a column that numbers the rows
    named = '"when" "v"\n' + "".join('"%d" "%s" %s\n' % (i + 1, t, v) for i, (t, v) in enumerate(zip(times, YEARS)))
    assert "72 values of 'v' from 2016-01 to 2021-12" in discover(named, "--time", "when")
    assert "72 values of 'v'" in discover(",date,v\n" + "".join("%d,%s,%s\n" % (i, t, v) for i, (t, v) in enumerate(zip(times, YEARS))))


def check_layouts():
    """Years by months, either way, with and without further columns; times as columns; times in several columns."""
    names = [datetime.date(2000, m, 1).strftime("%b") for m in range(1, 13)]
    by_year = [YEARS[12 * y:12 * y + 12] for y in range(6)]
    across = "Year," + ",".join(names) + ",Annual\n" + "".join("%d,%s,%.2f\n" % (2016 + y, ",".join(map(str, v)), sum(v)) for y, v in enumerate(by_year))
    down = "Month," + ",".join(str(2016 + y) for y in range(6)) + "\n" + "".join(
        "%s,%s\n" % (names[m], ",".join(str(v[m]) for v in by_year)) for m in range(12)) + "Total," + ",".join("%.1f" % sum(v) for v in by_year) + "\n"
    for text in (across, down, "Means\n" + across.replace("Annual", "J-D") + "2022," + ",".join(["***"] * 13) + "\n"):
        line, x = discover(text, keep="grid%d" % len(text))
        assert "72 values of 'value' from 2016-01 to 2021-12, regular" in line and "from a table of years by parts of a year" in line and x[0] == "2022-01", line
        kept = [float(r.split(",")[1]) for r in open("grid%d/data.csv" % len(text)).read().splitlines()[1:]]
        assert kept == YEARS, kept
    assert "values of 'Feb' from 2016 to 2023" in discover(across + "2022" + ",1" * 13 + "\n2023" + ",2" * 13 + "\n", "--column", "Feb")
    quarters = "year,Q1,Q2,Q3,Q4\n" + "".join("%d,%s\n" % (2000 + y, ",".join(map(str, YEARS[4 * y:4 * y + 4]))) for y in range(10))
    assert "40 values of 'value' from 2000Q1 to 2009Q4, regular" in discover(quarters)
    one = "," + ",".join("%d-%02d" % month(i) for i in range(72)) + "\nSales," + ",".join(map(str, YEARS)) + "\n"
    line, x = discover(one, keep="across")
    assert "72 values of 'Sales' from 2016-01 to 2021-12, regular, from a row of the table" in line and x[0] == "2022-01", (line, x)
    land = "Country,Code," + ",".join(str(1990 + i) for i in range(30)) + "\n" + "".join("%s,X,%s\n" % (c, ",".join(map(str, YEARS[:30]))) for c in ("Peru", "Mali"))
    assert "has 2 series, in rows; choose one with --column: 'Peru' 'Mali'" in discover(land, status=2)
    assert "30 values of 'Mali' from 1990 to 2019" in discover(land, "--column", "Mali")
    assert "t.csv: 2 series" in discover(land, "--wide")
    bank = '"Data Source","World",\n\n"Last Updated Date","2021-03-04",\n\n' + land.replace("\n", ",\n")
    assert "30 values of 'Peru' from 1990 to 2019, regular, from a row of the table, 2 lines" in discover(bank, "--column", "Peru")
    # times in several columns
    def parts(head, write):
        return head + "\n" + "".join(write(i) + ",%s\n" % v for i, v in enumerate(YEARS))
    day = lambda i: datetime.date(2021, 6, 1) + datetime.timedelta(i // 24)
    week = lambda i: (datetime.date(2019, 12, 2) + datetime.timedelta(7 * i)).isocalendar()
    for text, said in ((parts("Year,Quarter,v", lambda i: "%d,%d" % (2000 + i // 4, i % 4 + 1)), "from 2000Q1 to 2017Q4"),
                       (parts("Year,Qtr,v", lambda i: "%d,Q%d" % (2000 + i // 4, i % 4 + 1)), "from 2000Q1 to 2017Q4"),
                       (parts("Year,Week,v", lambda i: "%d,%d" % week(i)[:2]), "from 2019-W49 to 2021-W15"),
                       (parts("Date,Time,v", lambda i: "%s,%02d:00" % (day(i).strftime("%d.%m.%Y"), i % 24)), "from 01.06.2021 00:00 to 03.06.2021 23:00"),
                       (parts("Date,Hour,v", lambda i: "%s,%d" % (day(i), i % 24)), "from 2021-06-01 00:00 to 2021-06-03 23:00"),
                       (parts("Date,Hour Ending,v", lambda i: "%s,%d" % (day(i), i % 24 + 1)), "from 2021-06-01 01:00 to 2021-06-04 00:00"),
                       (parts("Year,Month,Day,Hour,v", lambda i: "2021,6,%d,%d" % (1 + i // 24, i % 24)), "from 2021-06-01 00:00 to 2021-06-03 23:00")):
        line = discover(text)
        assert "72 values of 'v' " + said + ", regular" in line, (text[:40], line)


def regress(text, *args, status=0):
    with open("r.csv", "w") as f:
        f.write(text)
    r = run("regress", "r.csv", *args, status=status)
    return r.stderr if status else r.stdout


def check_outcomes():
    """Outcomes in words, and shares that are those of the pairs of rows that they are computed from."""
    a = [round(rng.uniform(0, 10), 2) for _ in range(60)]
    text = "a,won,kind,y\n" + "".join("%s,%s,%s,%.2f%s\n" % (x, x > 5, rng.choice(["red", "blue", "green"]), 3 * x + rng.gauss(0, 2), "*" if i % 9 == 0 else "")
                                      for i, x in enumerate(a))
    said = regress(text, "--y", "won", "--x", "a")
    assert "of the outcome 'True' is 1, 'False' 0" in said and re.search(r"(?m)^  a +100% \[100, 100\]", said), said
    assert "'kind' holds words (" in regress(text, "--y", "kind", status=2)
    said = regress(text, "--x", "a")
    assert "marks behind 7 values of 'y' are ignored (*)" in said and re.search(r"(?m)^  a +100% \[100, 100\]", said), said
    assert "won (2 levels)" in regress(text, "--x", "won")
    around = "Trial 7\n" + text.replace("y\n", "y\nmg,,,kg\n", 1) + "Source: the lab\n"
    said = regress(around, "--x", "a")
    assert "3 lines of the file are no rows of the table and left out; the first is line 1" in said and "60 rows; outcome y" in said, said
    assert "observe" in run("regress", "r.csv", "--x", "a", "--program").stdout
    assert "is no number" in regress(text.replace("\n", "\nx,True,red,3\n", 3).replace("\nx,True,red,3\n", "\n", 1), "--x", "a", status=2)


def check_shares():
    """Of a function that is known, 2 a + b: the share of an input is its part of the variance of all, exactly."""
    rows = [(rng.random(), rng.random()) for _ in range(150)]

    def var(v):
        m = sum(v) / len(v)
        return sum((x - m) ** 2 for x in v) / len(v)

    regress("a,b,y\n" + "".join("%f,%f,%f\n" % (a, b, 2 * a + b + rng.gauss(0, 0.02)) for a, b in rows), "-q", "--json", "s.json")
    with open("s.json") as f:
        got = {i["name"]: i["share"][0] for i in json.load(f)["inputs"]}
    all_of_it = var([2 * a + b for a, b in rows])
    for name, part in (("a", 4 * var([a for a, _ in rows])), ("b", var([b for _, b in rows]))):
        assert abs(got[name] - part / all_of_it) < 0.03, (name, got[name], part / all_of_it)


def check_no_time():
    """A first column that is no time by name, by form or by order is not one: shares, flowers."""
    shares, flowers, level = "DAX,SMI,CAC,FTSE\n", "length,width,petal,species\n", [1600.0, 1680.0, 1770.0, 2440.0]
    for i in range(40):
        level = [round(v * math.exp(rng.gauss(0, 0.01)), 2) for v in level]
        shares += "%s,%s,%s,%s\n" % tuple(level)
        flowers += "%.1f,%.1f,%.1f,%s\n" % (rng.gauss(5, 0.5), rng.gauss(3, 0.3), rng.gauss(3, 1), "abc"[i // 14])
    for text, more in ((shares, ["--column", "FTSE"]), (flowers, ["--column", "petal"]), (flowers, ["--column", "petal", "--by", "species"]),
                       (shares, ["--wide"]), ("kind,v\n" + "a,1\nb,2\n" * 9, [])):
        said = discover(text, *more, status=2)
        assert "no column is a time: the first, '" in said and "--time NAME" in said and "--time rows" in said, said
    line, at = discover(shares, "--column", "FTSE", "--time", "rows", keep="rows")
    assert "40 values of 'FTSE' from 1 to 40, regular" in line and at == ["41", "42", "43"], (line, at)
    with open("at.csv", "w") as f:
        f.write("time\n42\n")
    assert run("forecast", "rows", "--at-file", "at.csv").stdout.splitlines()[1].startswith("42,"), "at-file"
    assert "4 series" in discover(shares, "--wide", "--time", "rows")
    assert "irregular" in discover(shares, "--column", "FTSE", "--time", "DAX")
    # in order, either way, and within each series of a panel; a column that is called rows is that column
    ordered = "".join("%s,%d,%.2f\n" % (k, i * 3, rng.gauss(0, 1)) for k in "ab" for i in range(20, 0, -1))
    assert "20 values" in discover("depth,v\n" + "".join(r[2:] + "\n" for r in ordered.split("\n")[:20]))
    assert "2 series" in discover("depth,kind,v\n" + "".join(",".join(r.split(",")[i] for i in (1, 0, 2)) + "\n" for r in ordered.split()), "--by", "kind")
    assert "from 3 to 60" in discover("kind,rows,v\n" + "\n".join(ordered.split()[:20]) + "\n", "--time", "rows", "--column", "v")


with tempfile.TemporaryDirectory() as tmp:
    os.chdir(tmp)
    for check in (check_no_time, check_times, check_months, check_steps, check_marks, check_rows, check_layouts, check_outcomes, check_shares):
        check()
