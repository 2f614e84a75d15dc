#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Transactions and events through discover: what is taken of the rows of a step, and that every follower knows it."""
import csv, datetime, io, json, os, random, subprocess, sys, tempfile

TOOL = os.path.abspath(sys.argv[1])
FAST = ("-k", "LIN PER WN", "-j", "1")


def run(*args, status=0):
    r = subprocess.run([TOOL] + list(args), capture_output=True, text=True, timeout=300)
    assert r.returncode == status, (args, r.returncode, r.stderr[-500:], r.stdout[-500:])
    return r


def write(name, text):
    with open(name, "w") as f:
        f.write(text)
    return name


def day(i):
    return datetime.date(2022, 1, 3) + datetime.timedelta(i)


def rows(weeks, seed=1):
    """(day, number) of sales, many on Saturdays, none on Sundays."""
    r = random.Random(seed)
    return [(day(i), r.randrange(1, 50)) for i in range(7 * weeks) for _ in range([3, 2, 3, 2, 4, 9, 0][i % 7] + r.randrange(2) * (i % 7 != 6))]


def check_totals():
    sales = rows(20)
    write("sales.csv", "date,amount\n" + "".join("%s,%d\n" % x for x in sales))
    out = run("discover", "sales.csv", "--take", "total", "-o", "sales", "--json", "sales.json", "--program", *FAST).stdout
    first = out.splitlines()[0]
    assert "139 values of 'amount' from 2022-01-03 to 2022-05-21" in first, first
    assert "totals over 1d of %d rows (--take, --every), 19 steps without rows are 0" % len(sales) in first, first
    assert "It repeats every week" in out and 'take="total"' in out, out
    data = json.load(open("sales.json"))["data"]
    assert (data["taken"], data["every"], data["empty_steps"], data["rows_taken"]) == ("total", "1d", 19, len(sales)), data
    kept = {r["x"]: float(r["y"]) for r in csv.DictReader(open("sales/data.csv"))}
    totals = {}
    for d, v in sales:
        totals[d] = totals.get(d, 0) + v
    assert sorted(v for v in kept.values() if v) == sorted(totals.values())
    again = run("report", "sales", "--format", "text").stdout.splitlines()[0]
    assert again == first, (again, first)
    f = list(csv.DictReader(io.StringIO(run("forecast", "sales", "-n", "7").stdout)))
    assert [r["x"] for r in f] == [str(day(139 + i)) for i in range(7)], f
    assert run("forecast", "sales", "--at", f[3]["x"]).stdout.splitlines()[1].split(",")[:2] == [f[3]["x"], f[3]["median"]]
    # weeks of them; and the same in a program
    out = run("discover", "sales.csv", "--take", "total", "--every", "week", *FAST).stdout
    assert "20 values" in out and "totals over 1w of %d rows" % len(sales) in out, out.splitlines()[0]
    write("p.gpm", 'define s = read_series("sales.csv", take="total", every="week"); s;')
    said = run("run", "p.gpm").stdout
    assert said.count("[") == 21, said
    held = run("discover", "sales.csv", "--take", "total", "--holdout", "14", *FAST).stdout
    assert "Hold-out of the last 14 values" in held, held[-500:]


def check_said():
    """What is taken without being asked for is told."""
    out = run("discover", "sales.csv", *FAST).stdout.splitlines()[0]
    assert "repeated times (totals or counts of their rows: --take)" in out, out
    r = run("discover", "sales.csv", "--take", "sum", status=2).stderr
    assert "total" in r, r


def events(weeks, seed=2):
    r = random.Random(seed)
    return sorted(datetime.datetime(2022, 1, 3) + datetime.timedelta(i, r.random() * 86400)
                  for i in range(7 * weeks) for _ in range([3, 2, 3, 2, 4, 7, 1][i % 7] + r.randrange(3)))


def check_events():
    times = events(20)
    write("events.csv", "when\n" + "".join(t.strftime("%Y-%m-%d %H:%M:%S\n") for t in times))
    out = run("discover", "events.csv", "-o", "events", *FAST).stdout
    first = out.splitlines()[0]
    assert "values of 'count' from 2022-01-03 to 2022-05-21" in first and "counts over 1d of %d rows (--take, --every)" % len(times) in first, first
    assert "every week" in out, out
    f = list(csv.DictReader(io.StringIO(run("forecast", "events", "-n", "3").stdout)))
    assert f[0]["x"] == "2022-05-22" and all(float(r["lo"]) >= 0 for r in f), f
    # the same of unix seconds, which are numbers, and beside other columns
    write("unix.csv", "".join("%d\n" % t.replace(tzinfo=datetime.timezone.utc).timestamp() for t in times))
    assert "counts over 1d" in run("discover", "unix.csv", "--take", "count", "--date-format", "unix", *FAST).stdout
    write("typed.csv", "when,type\n" + "".join("%s,%s\n" % (t, "ab"[i % 2]) for i, t in enumerate(times)))
    said = run("discover", "typed.csv", status=2).stderr
    assert "--take count counts rows" in said, said
    assert "counts over 1d" in run("discover", "typed.csv", "--take", "count", *FAST).stdout


def check_panel():
    """One step for all, though one of the shops alone would have weeks."""
    lines = ["%s,%s,%d\n" % (d, shop, v) for k, shop in enumerate("ab") for d, v in rows(20, k)]
    lines += ["%s,c,7\n" % day(13 * i) for i in range(10)]
    write("shops.csv", "date,shop,amount\n" + "".join(lines))
    run("discover", "shops.csv", "--by", "shop", "--take", "total", "-o", "shops", "-q", *FAST)
    for shop in "ab":
        first = run("report", "shops/%s" % shop, "--format", "text").stdout.splitlines()[0]
        assert "totals over 1d" in first, first
    manifest = json.load(open("shops/c/manifest.json"))
    assert manifest["every"] == "1d" and manifest["take"] == "total", manifest


def check_beside():
    """Other columns act on totals: by their means of a step, whoever of its rows tells them; a day without sales has those of the one before."""
    r = random.Random(4)
    lines, totals = ["date,amount,promo,temp\n"], 0
    for i in range(150):
        promo, temp = int(r.random() < 0.3), 10 + r.gauss(0, 3)
        n = 0 if i % 7 == 6 else 4 + 4 * promo
        for k in range(n):
            v = r.randrange(20, 30)
            totals += v
            lines.append("%s,%d,%s,%s\n" % (day(i), v, promo if k else "", "%.2f" % temp if k != 1 else ""))
    write("promo.csv", "".join(lines))
    out = run("discover", "promo.csv", "--column", "amount", "--take", "total", "--with", "promo", "--smooth", "temp", "--log", "never", "-o", "promo", "--json", "promo.json", *FAST).stdout
    first = out.splitlines()[0]
    assert "totals over 1d of %d rows" % (len(lines) - 1) in first and "missing" not in first, first
    d = json.load(open("promo.json"))
    effect = {e["column"]: e for e in d["effects"]}["promo"]
    assert 60 < effect["change"] < 130 and effect["probability"] > 0.99, d["effects"]
    kept = list(csv.DictReader(open("promo/data.csv")))
    assert sum(float(x["y"]) for x in kept) == totals, "every row counts"
    assert {x["r1"] for x in kept} == {"0", "1"}, kept[:3]
    write("future.csv", "date,promo,temp\n" + "".join("%s,%d,10\n" % (day(150 + i), i % 2) for i in range(4)))
    f = list(csv.DictReader(io.StringIO(run("forecast", "promo", "--at-file", "future.csv").stdout)))
    assert float(f[1]["median"]) - float(f[0]["median"]) > 30, f
    out = run("discover", "promo.csv", "--column", "amount", "--every", "week", "--take", "total", "--with", "promo", *FAST).stdout
    assert "totals over 1w" in out and "promo has a linear effect" in out, out[:500]
    said = run("discover", "promo.csv", "--column", "amount", "--with", "promo", status=2).stderr
    assert "--take total" in said, said


def check_index():
    run("index", "add", "sales.db", "sales.csv", "--take", "total", "--every", "week", "-j", "1")
    rows = json.loads(run("index", "list", "sales.db", "--format", "json").stdout)
    assert rows[0]["values"] == 20 and "totals over 1w" in rows[0]["made"], rows


with tempfile.TemporaryDirectory() as tmp:
    os.chdir(tmp)
    check_totals()
    check_said()
    check_events()
    check_panel()
    check_beside()
    check_index()
    os.chdir("/")
