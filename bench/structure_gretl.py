#!/usr/bin/python3
"""Series of the textbooks that gretl comes with, cut as those of the M3 competition: structure_gretl.py DIR [FOLDER]

Writes train.csv and test.csv for structure_m3.py --data DIR and structure_m3_peers.R --data=DIR. Needs the Debian package
gretl-data (FOLDER, /usr/share/gretl/data: Greene, Ramanathan, the Area Wide Model and others). Windows without overlap from the end
of each series, at most four: 44 quarters and 8 to forecast, 108 months and 18, 40 years and 6; shorter series whole, from 30 values
on. No series twice, no logarithms or differences, no series that ../shared/data or structure_other.R have."""
import csv, glob, gzip, math, os, re, sys
import xml.etree.ElementTree as tree

AHEAD, LONG = {1: 6, 4: 8, 12: 18}, {1: 46, 4: 52, 12: 126}
PERIOD = {1: "YEARLY", 4: "QUARTERLY", 12: "MONTHLY"}
# other editions of AWM18; simulated; other collections have them
FILES = {"AWM", "AWM17", "arma", "bjg", "nile", "longley", "np", "denmark", "sw_ch14", "ects_nls"}
# what counts or marks the rows; what was made from other columns
NAMES = r"period|day_hour|year$|^trend$|^u$|eps|infl|_dis|^d[0-9]|^e2|^l[egpm]|ld_|^D[pP]|Cumd|D1980|WINTER|SPRING|SUMMER|FALL|ww2|kwar|reagan|TIME"


def number(text):
    try:
        return float(text)
    except ValueError:
        return math.nan


def longest(ys):
    """From where to where the longest run without a gap goes."""
    best, at = (0, 0), 0
    for i in range(len(ys) + 1):
        if i == len(ys) or math.isnan(ys[i]):
            best, at = max(best, (at, i), key=lambda r: r[1] - r[0]), i + 1
    return best


def columns(path):
    """(name, values, months or quarters since year 0 of the first, their number a year) of a file of a time series."""
    raw = open(path, "rb").read()
    root = tree.fromstring(gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw)
    if root.get("type") != "time-series" or int(root.get("frequency")) not in PERIOD:
        return
    n, start = int(root.get("frequency")), re.split("[:.]", root.get("startobs"))
    first = int(start[0]) * n + (int(start[1]) - 1 if len(start) > 1 else 0)
    rows = [o.text.split() for o in root.iter("obs")]
    for k, v in enumerate(root.iter("variable")):
        ys = [number(r[k]) for r in rows]
        lo, hi = longest(ys)
        yield v.get("name"), ys[lo:hi], first + lo, n


def usable(name, ys):
    marks = sum(y == int(y) and abs(y) <= 1 for y in ys)
    return not re.search(NAMES, name, re.I) and len(ys) >= 30 and len(set(ys)) >= 10 and marks <= len(ys) / 2


def windows(ys, first, n):
    size = min(LONG[n], len(ys))
    count = max(1, min(4, len(ys) // size))
    for w in range(count):
        to = len(ys) - (count - 1 - w) * size
        rows = [("%d-%02d-01" % ((first + i) // n, 1 + (first + i) % n * 12 // n), ys[i]) for i in range(to - size, to)]
        train, test = rows[:-AHEAD[n]], rows[-AHEAD[n]:]
        if any(train[i][1] != train[i - n][1] for i in range(n, len(train))):
            yield w + 1, train, test


def main():
    out, folder = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "/usr/share/gretl/data"
    seen, parts = set(), ([], [])
    for path in sorted(glob.glob(os.path.join(folder, "*", "*.gdt"))):
        base = os.path.basename(path)[:-4]
        for name, ys, first, n in columns(path) if base not in FILES else ():
            if not usable(name, ys):
                continue
            course = tuple(round(y / (abs(ys[0]) or 1), 4) for y in ys[:20])
            if course in seen:
                continue
            seen.add(course)
            for w, *cut in windows(ys, first, n):
                key = "%s_%d" % (re.sub("[^A-Za-z0-9]", "_", base + "." + name), w)
                for part, rows in zip(parts, cut):
                    part += [(key, PERIOD[n], d, repr(y)) for d, y in rows]
    os.makedirs(out, exist_ok=True)
    for part, rows in zip(("train", "test"), parts):
        with open(os.path.join(out, part + ".csv"), "w", newline="") as f:
            csv.writer(f, lineterminator="\n").writerows([("id", "period", "date", "y")] + rows)
    print(len({r[0] for r in parts[1]}), "cases")


main()
