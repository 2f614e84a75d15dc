#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Files as banks, meters and offices give them, and mistakes of somebody who is new to the commands."""
import datetime, json, os, random, shutil, subprocess, sys, tempfile

TOOL = os.path.abspath(sys.argv[1])
FAST = ("-k", "LIN PER WN", "-j", "1")


def run(*args, status=0):
    r = subprocess.run([TOOL] + list(args), capture_output=True, text=True, timeout=300)
    assert r.returncode == status, (args, r.returncode, r.stderr[-500:], r.stdout[-500:])
    return r


def write(name, text, code="utf-8"):
    with open(name, "w", encoding=code, newline="") as f:
        f.write(text)
    return name


def bank(ends, rows=60):
    """Titles filled up with empty cells to the width of the table, days in two columns, decimal commas; `ends`: of all lines."""
    r = random.Random(1)
    lines = ['"Kontonummer:";"DE12";;;' + ends, '"Kontostand:";"1.204,50";;;' + ends, ";;;;" + ends,
             '"Buchungstag";"Wertstellung";"Empfänger";"Betrag (EUR)";"Saldo"' + ends]
    for i in range(rows):
        d = (datetime.date(2022, 1, 3) + datetime.timedelta(rows - i)).strftime("%d.%m.%Y")
        lines.append('"%s";"%s";"REWE; Markt";"-%d,%02d";"1.%03d,00"%s' % (d, d, r.randrange(5, 90), r.randrange(100), i, ends))
    return "\r\n".join(lines) + "\r\n"


def check_bank():
    for ends in ("", ";"):
        write("bank.csv", bank(ends), "cp1252")
        said = run("discover", "bank.csv", status=2).stderr
        assert "--column: 'Betrag (EUR)' 'Saldo'" in said, said
        first = run("discover", "bank.csv", "-c", "Betrag (EUR)", *FAST).stdout.splitlines()[0]
        assert "60 values of 'Betrag (EUR)' from 04.01.2022" in first and "3 lines that are no rows of the table" in first, first
        out = run("regress", "bank.csv", "--y", "Saldo", "--x", "Buchungstag").stdout
        assert "60 rows; outcome Saldo" in out and "3 lines of the file are no rows" in out, out[:400]
    # names of groups above those of columns, and a first row that is one of data
    write("groups.csv", "Weather,,\nday,tmin,tmax\n" + "".join("2022-01-%02d,%d,%d\n" % (i + 1, i % 3, 5 + i % 4) for i in range(20)))
    assert "20 values of 'tmax'" in run("discover", "groups.csv", "-c", "tmax", *FAST).stdout
    write("bare.csv", "2022-01-01,5,\n" + "".join("2022-01-%02d,%d,x\n" % (i + 2, i % 3) for i in range(20)))
    assert "21 values" in run("discover", "bare.csv", "-c", "2", *FAST).stdout


def meter(minutes, down=False):
    """Two weeks of local time, in the middle of which clocks are set back: an hour comes twice."""
    lines, back = [], datetime.datetime(2023, 10, 29, 3)
    for i in range(14 * 24 * 60 // minutes):
        t = datetime.datetime(2023, 10, 22) + datetime.timedelta(minutes=minutes * i)
        if t >= back:
            t -= datetime.timedelta(hours=1)
        lines.append("%s,%.3f\n" % (t.strftime("%Y-%m-%d %H:%M"), 1 + 0.3 * (17 <= t.hour < 22) + 0.01 * (i % 7)))
    return "time,kWh\n" + "".join(reversed(lines) if down else lines)


def check_clocks():
    for minutes, down in ((60, False), (30, True)):
        n = 14 * 24 * 60 // minutes - 60 // minutes
        write("meter.csv", meter(minutes, down))
        out = run("discover", "meter.csv", "-o", "kept", "--json", "m.json", *FAST).stdout
        first = out.splitlines()[0]
        assert "%d values" % n in first and ", regular," in first and "clocks set back once" in first and "repeated" not in first, first
        assert ("sorted by time" in first) == down and "every day" in out, out
        assert json.load(open("m.json"))["data"]["clocks_set_back"] == 1
        assert run("report", "kept", "--format", "text").stdout.splitlines()[0] == first
    # times that repeat for another reason stay
    write("twice.csv", "time,y\n" + "".join("2023-10-22 %02d:00,%d\n" % (i // 2, i % 5) for i in range(48)))
    assert "24 repeated times" in run("discover", "twice.csv", *FAST).stdout.splitlines()[0]


def check_words():
    """The option of another program, or of another command; a column that is not called so."""
    write("t.csv", "price,weight (kg),sold,kind\n" + "".join("%d,%d,2023-01-%02d,%s\n" % (i * i % 17, i, i % 28 + 1, "abc"[i % 3]) for i in range(40)))
    for args, meant in ((("regress", "t.csv", "--target", "price"), "--y"), (("regress", "t.csv", "--column", "price"), "--y"),
                        (("discover", "t.csv", "--y", "price"), "--column"), (("discover", "t.csv", "--periods", "3"), "--horizon"),
                        (("discover", "t.csv", "--report", "a.html"), "--html"), (("regress", "t.csv", "--html", "a.html"), "--report"),
                        (("report", "kept", "--html", "a.html"), "--format"), (("optimize", "--trials", "3"), "--budget")):
        said = run(*args, status=2).stderr
        assert "did you mean %s?" % meant in said, (args, said)
    assert "separators of tables are found" in run("discover", "t.csv", "--sep", ";", status=2).stderr
    for name, meant in (("pric", "price"), ("Weight", "weight (kg)")):
        said = run("regress", "t.csv", "--y", name, status=2).stderr
        assert "did you mean '%s'? Columns are price" % meant in said, said
    assert "'sold' holds dates ('2023-01-01')" in run("regress", "t.csv", "--y", "sold", status=2).stderr


def check_times():
    write("months.csv", "month,y\n" + "".join("%d-%02d-01,%d\n" % (2001 + i // 12, i % 12 + 1, i % 7) for i in range(36)))
    run("discover", "months.csv", "-q", "-o", "months", *FAST)
    said = run("forecast", "months", "--at", "some day", status=2).stderr
    assert "write it as the data file does, such as 2003-12-01" in said, said
    first = run("forecast", "months", "--at", "2004-07-01").stdout
    for other in ("July 2004", "2004-07", "2004Q3"):  # months of a file of days
        assert run("forecast", "months", "--at", other).stdout == first, other
    write("named.csv", "month,y\n" + "".join("%d-%02d,%d\n" % (2001 + i // 12, i % 12 + 1, i % 7) for i in range(36)))
    run("discover", "named.csv", "-q", "-o", "named", *FAST)
    assert run("forecast", "named", "--at", "2004-07-01").stdout == run("forecast", "named", "--at", "2004-07").stdout != ""  # and the reverse
    write("at.csv", "month\n2004-01-01\nnext\n")
    assert "at.csv:3: cannot read the time 'next'" in run("forecast", "months", "--at-file", "at.csv", status=2).stderr


def check_places():
    """A folder with the run of another series, or of a program, stays as it is; the same series, grown say, takes its own."""
    write("north.csv", "t,a,b\n" + "".join("%d,%d,%d\n" % (i, i % 5, i * i % 7) for i in range(24)))
    write("south.csv", "t,a,b\n" + "".join("%d,%d,%d\n" % (i, i % 4, i * i % 11) for i in range(24)))
    write("p.vnts", "assume x = normal(0, 1); infer sample(warmup=5, draws=10);")
    run("discover", "north.csv", "--column", "a", "-q", "-o", "place", *FAST)
    run("run", "p.vnts", "--out", "program", "-q")
    kept = open("place/manifest.json").read()
    for args, said in ((["south.csv", "--column", "a", "-o", "place"], "'place' holds another run, of 'a' of north.csv; choose another folder"),
                       (["north.csv", "--column", "b", "-o", "place"], "'place' holds another run, of 'a' of north.csv"),
                       (["north.csv", "--column", "a", "-o", "program"], "'program' holds another run")):
        assert said in run("discover", *args, "-q", *FAST, status=2).stderr
    assert open("place/manifest.json").read() == kept and not os.path.exists("program/structures.json")
    for name in ("data.csv", "draws.csv", "manifest.json"):  # of the user's, not of a run: the table itself, too
        os.makedirs("own")
        write("own/" + name, open("north.csv").read())
        r = run("discover", "north.csv", "--column", "a", "-q", "--out", "own", *FAST, status=2)
        assert "'own/%s' would be written over; choose another folder" % name in r.stderr, r.stderr
        assert open("own/" + name).read() == open("north.csv").read()
        shutil.rmtree("own")
    os.makedirs("cut")  # a save that was cut short is saved again
    shutil.copy("place/data.csv", "cut")
    run("discover", "north.csv", "--column", "a", "-q", "-o", "cut", *FAST)
    write("north.csv", "t,a,b\n" + "".join("%d,%d,%d\n" % (i, i % 5, i) for i in range(30)))
    run("discover", "north.csv", "--column", "a", "-q", "-o", "place", *FAST)
    assert '"rows": 30' in open("place/manifest.json").read()
    run("discover", "north.csv", "--wide", "-q", "-o", "panel", *FAST)
    kept = open("panel/a/manifest.json").read()
    for folder, said in (("panel", "'panel/a' holds another run"), ("place", "'place' holds another run")):
        r = run("discover", "south.csv", "--wide", "-q", "-o", folder, "--json", "south.json", *FAST, status=2)
        assert said in r.stderr and not os.path.exists("south.json"), r.stderr  # before the work
    assert open("panel/a/manifest.json").read() == kept
    assert '"seed": 1,' in kept  # read as it stands, above 2^63, too, or not at all
    for seed, known in (('"18446744073709551615"', True), ("1.8e19", False), ("18446744073709551615", False), ('"1e3"', False), ("null", False)):
        write("panel/a/manifest.json", kept.replace('"seed": 1,', '"seed": %s,' % seed))
        run("query", "panel/a", "trend", status=0 if known else 2)


def check_ambiguous():
    """Of times with a clock, the reading without jumps of a month is the one; of days alone nobody knows."""
    rows = [datetime.datetime(2023, 5, 1, 0, 3) + datetime.timedelta(minutes=30 * i) for i in range(100)]
    write("clock.csv", "time,y\n" + "".join("%s,%d\n" % (t.strftime("%m/%d/%Y %I:%M:%S %p"), i % 5) for i, t in enumerate(rows)))
    first = run("discover", "clock.csv", *FAST).stdout.splitlines()[0]
    assert "100 values" in first and ", regular" in first and "read as %m/%d/%Y %I:%M:%S %p" in first, first
    write("days.csv", "time,y\n" + "".join("05/%02d/2023,%d\n" % (i + 1, i % 5) for i in range(12)))
    assert "the times are ambiguous" in run("discover", "days.csv", status=2).stderr
    write("clock2.csv", "time,y\n" + "".join("05/%02d/2023 10:00,%d\n" % (i + 1, i % 5) for i in range(12)))
    assert "the times are ambiguous" in run("discover", "clock2.csv", status=2).stderr


def check_apart():
    """Series one below the other are not one; the same times measured again are."""
    rows = [("%d-%02d" % (2001 + i // 12, i % 12 + 1), i % 12) for i in range(48)]
    write("long.csv", "place,month,y\n" + "".join("%s,%s,%d\n" % (p, t, v + k) for k, p in enumerate(("Oslo", "Bergen")) for t, v in rows))
    said = run("discover", "long.csv", status=2).stderr
    assert "'place' tells their rows apart: --by 'place'" in said and "--take total" in said, said
    assert "48 values" in run("discover", "long.csv", "--take", "mean", *FAST).stdout
    assert "2 series by 'place'" in run("discover", "long.csv", "--by", "place", *FAST).stdout
    write("again.csv", "who,month,y\n" + "".join("%s,%s,%d\n" % ("ab"[i % 2], t, v + k) for k in range(2) for i, (t, v) in enumerate(rows)))
    assert "48 repeated times" in run("discover", "again.csv", *FAST).stdout.splitlines()[0]


def check_parts():
    """Years, months and days in columns of other languages, weeks as Germans write them, a table without names."""
    write("parts.csv", "Jahr;Monat;Tag;Wert\n" + "".join("2022;%d;%d;%d,5\n" % (i // 28 + 1, i % 28 + 1, i % 5) for i in range(56)))
    first = run("discover", "parts.csv", *FAST).stdout.splitlines()[0]
    assert "56 values of 'Wert' from 2022-01-01 to 2022-02-28" in first, first
    for form in ("KW %02d/2021", "KW%02d 2021", "2021-KW%02d"):
        write("weeks.csv", "Woche;Absatz\n" + "".join(form % (i + 1) + ";%d\n" % (i % 5) for i in range(40)))
        first = run("discover", "weeks.csv", *FAST).stdout.splitlines()[0]
        assert "40 values of 'Absatz' from %s to %s, regular" % (form % 1, form % 40) in first, first
    write("bare.csv", "".join("2022-01-%02d;%d,%d\n" % (i + 1, i % 4, i % 7) for i in range(28)))
    out = run("regress", "bare.csv").stdout
    assert "28 rows" in out, out[:300]
    write("names.csv", "V1,V2\n" + "".join("%d,%d\n" % (i, i * i % 7) for i in range(20)))
    assert "20 rows; outcome V2; 1 input: V1" in run("regress", "names.csv").stdout


def check_ids():
    """A column that numbers the rows is no input, however it is called; capitals of a column's name are no matter."""
    r = random.Random(2)
    body = "".join("%d,%d,%.3f,%.3f\n" % (i + 1, i + 1, r.random(), i % 4 + r.gauss(0, 0.1)) for i in range(30))
    out = run("regress", write("ids.csv", "PassengerId,humid,x,Y\n" + body), "--y", "y").stdout
    assert "outcome Y; 2 inputs: humid, x" in out and "'PassengerId' is left out: it counts the rows" in out, out[:400]
    assert "values of 'Y'" in run("discover", "ids.csv", "--time", "humid", "-c", "y", *FAST).stdout


def check_yearless():
    """Months and days, or days by their numbers and clocks, are times without a year, which is assumed and told; a month alone was the time before,
    and hours and minutes were sorted across midnight."""
    def header(name, text, *args):
        return run("discover", write(name, text), *args, *FAST).stdout
    r, noon = random.Random(2), datetime.datetime(2021, 12, 30, 22)
    days = [datetime.date(2021, 11, 20) + datetime.timedelta(i) for i in range(60)]
    body = "".join('"%d",%d,%.2f,%d,%d\n' % (i + 1, r.randrange(50), r.gauss(9, 1), d.month, d.day) for i, d in enumerate(days))
    out = header("air.csv", '"","Ozone","Temp","Month","Day"\n' + body, "-c", "Temp")
    assert "60 values of 'Temp' from 2001-11-20 to 2002-01-18, regular, from columns without a year (one is assumed)" in out, out[:300]
    said = run("discover", "air.csv", status=2).stderr
    assert "--column: 'Ozone' 'Temp'" in said and "Month" not in said and "Day" not in said, said
    leap = "".join("%d,%d,%.2f\n" % (d.month, d.day, r.gauss(9, 1)) for d in (datetime.date(2020, 2, 1) + datetime.timedelta(i) for i in range(40)))
    assert "from 2000-02-01 to 2000-03-11, regular" in header("leap.csv", "month,day,y\n" + leap)
    steps = [noon + datetime.timedelta(minutes=10 * i) for i in range(60)]
    clock = "".join("%d,%d,%.2f\n" % (t.timetuple().tm_yday, 100 * t.hour + t.minute, r.gauss(37, 1)) for t in steps[:12])
    rest = "".join("%d,%d,%.2f\n" % (365, 100 * t.hour + t.minute, r.gauss(37, 1)) for t in steps[12:])
    out = header("beaver.csv", "day,time,temp\n" + clock + rest, "-c", "temp")
    assert "60 values of 'temp' from 2001-12-30 22:00 to 2001-12-31 07:50, regular, from columns without a year" in out, out[:300]
    hours = "".join("%d,%d,%.2f\n" % (i // 24, i % 24, r.gauss(5, 1)) for i in range(72))
    assert "72 values of 'kW' from 2000-12-31 00:00 to 2001-01-02 23:00, regular" in header("hours.csv", "day,hour,kW\n" + hours)
    dated = "".join("2022-03-%02d,%d,%.2f\n" % (1 + i // 24, 100 * (i % 24) + 30, r.gauss(5, 1)) for i in range(72))
    assert "from 2022-03-01 00:30 to 2022-03-03 23:30, regular" in header("dated.csv", "date,time,kW\n" + dated)
    # a column of days may have dates, and an hour beyond 24 is a slip, which does not make minutes of the others
    iso = "".join("2022-03-%02d,%d,%.2f\n" % (1 + i // 24, i % 24, r.gauss(5, 1)) for i in range(72))
    assert "from 2022-03-01 00:00 to 2022-03-03 23:00, regular" in header("iso.csv", "day,hour,kW\n" + iso)
    said = run("discover", write("slip.csv", "day,hour,kW\n" + iso.replace("2022-03-02,5,", "2022-03-02,55,")), status=2).stderr
    assert "slip.csv:31: " in said and "2022-03-02-55" in said, said
    # days of the week, or rows that are not in order, are none
    week = "".join("%d,%d,%.2f\n" % (1 + i % 7, i + 1, r.gauss(5, 1)) for i in range(42))
    assert "without a year" not in header("week.csv", "day,time,kW\n" + week, "-c", "kW")
    assert "without a year" not in header("twice.csv", "month,day,y\n" + leap + leap, "-c", "y")
    # a kept run says it again, and forecasts go on there
    run("discover", "air.csv", "-c", "Temp", "--out", "air", *FAST)
    assert "without a year (one is assumed)" in run("report", "air", "--format", "text").stdout
    assert run("forecast", "air", "--horizon", "1").stdout.splitlines()[1].startswith("2002-01-19,")


def check_vectors():
    """A vector as R writes it: numbers of the rows without a name, and x."""
    r = random.Random(4)
    body = "".join('"%d",%.2f\n' % (i + 1, r.gauss(5, 1)) for i in range(30))
    out = run("discover", write("vector.csv", '"","x"\n' + body), *FAST).stdout
    assert "30 values of 'x' from 1 to 30, regular" in out, out[:200]
    events = "".join('"%d",2022-01-%02d\n' % (i + 1, 1 + r.randrange(28)) for i in range(84))
    out = run("discover", write("events.csv", '"","date"\n' + events), *FAST).stdout
    assert "values of 'count' from 2022-01-" in out and "counts over 1d of 84 rows" in out, out[:300]


def check_repeats():
    """Where the last time is there for a fifth of the rows, the slope at the end is that from the time before it."""
    body = "".join("%d,%d\n" % (i, 3 * i + k * k % 5) for i in range(1, 6) for k in range(1, 9))
    out = run("discover", write("repeats.csv", "time,y\n" + body), *FAST).stdout
    assert "since 4 it rose by" in out and "nan" not in out, out


def check_printed():
    """Programs that print a log: what to say is told in the words of the log, also where some crash between."""
    cases = (("echo epoch 1; echo final loss: {x}", "'final loss: {}'"), ("echo epoch 3 loss={x} acc=0.9", "'loss={}'"),
             ("echo %s; echo took {x} s" % ("x" * 300), "'took {}'"), ("echo done {x}. bye; echo end", "'loss: {}'"),
             ("awk 'BEGIN { exit ({x} > 0.5) }' || exit 1; echo score = {x} points", "'score = {}'"))
    for script, pattern in cases:
        said = run("optimize", "--var", "x=0.1:0.9", "--budget", "30", "--", "sh", "-c", script, status=1).stderr
        assert "3 programs ended well but gave no value" in said and "--read %s" % pattern in said, (script, said)
        if pattern != "'loss: {}'":
            run("optimize", "-q", "--var", "x=0.1:0.9", "--budget", "5", "--read", pattern[1:-1], "--", "sh", "-c", script)


with tempfile.TemporaryDirectory() as tmp:
    os.chdir(tmp)
    check_bank()
    check_clocks()
    check_words()
    check_times()
    check_places()
    check_ambiguous()
    check_apart()
    check_parts()
    check_ids()
    check_yearless()
    check_repeats()
    check_vectors()
    check_printed()
    os.chdir("/")
