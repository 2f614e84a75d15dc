#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A budget for the size of src: code lines, and numbers that decide something, a room. A room above its line fails. Raising a line
is a commit that says why; a room that shrinks by more than the slack lowers its line.

A code line is one that holds more than a comment. A number decides where it stands in a comparison, a choice or a #define, and is
none of the plain ones (small integers, powers of ten, units of time).

    run_budget.py GPMEM"""
import os, re, sys

SRC = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "src")
BUDGET = {  # room: code lines, deciding numbers
    "apps/ask": (1850, 37),
    "apps/check": (475, 15),
    "apps/discover": (16740, 325),
    "apps/index": (1650, 15),
    "apps/optimize": (6900, 170),
    "apps/regress": (4450, 65),
    "base": (3140, 55),
    "front": (13045, 41),
    "gp": (13280, 106),
    "inference": (11600, 37),
    "io": (6755, 114),
    "language": (19750, 41),
    "numeric": (6646, 141),
    "runtime": (14450, 13),
    "table": (2721, 49),
}
ALL = (123160, 1215)
SLACK = 300  # lines that a room may lie below its line
PLAIN = set("0 1 2 3 4 8 10 16 100 0.5 0.0 1.0 2.0 7 12 24 32 60 64 127 255 3600 1440 86400 65535 365.2425".split())
NUMBER = re.compile(r"(?<![\w.])(\d+\.\d*(?:[eE][-+]?\d+)?|\.\d+|\d+[eE][-+]?\d+|\d+)[uUlLfF]*(?![\w.])")
DEFINES = re.compile(r"\s*#\s*define\s+[A-Z]\w*\s")
COMPARES = re.compile(r"[<>]=?|==|!=|\?|fm(in|ax)")


def without_comments(text):
    text = re.sub(r"/\*.*?\*/", lambda m: "\n" * m.group().count("\n"), text, flags=re.S)
    return re.sub(r"//[^\n]*", "", text)


def without_strings(text):
    return re.sub(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'', '""', text)


def deciding(line):
    numbers = [n for n in NUMBER.findall(line) if n not in PLAIN]
    decides = DEFINES.match(line) or COMPARES.search(re.sub(r"->|<<|>>|#include.*", "", line))
    return len(numbers) if decides else 0


def measure():
    found = {}
    for folder, _, names in os.walk(SRC):
        for name in sorted(names):
            if not name.endswith((".c", ".h")):
                continue
            with open(os.path.join(folder, name), encoding="utf-8") as f:
                raw = f.read()
            parts = os.path.relpath(folder, SRC).split(os.sep)
            room = "/".join(parts[:2]) if parts[0] == "apps" else parts[0]
            was = found.get(room, (0, 0))
            lines = sum(1 for line in without_comments(raw).split("\n") if line.strip())
            numbers = sum(map(deciding, without_strings(without_comments(raw)).split("\n")))
            found[room] = (was[0] + lines, was[1] + numbers)
    return found


assert deciding('if (x > 0.37) y = 12 * 5;') == 2 and deciding("y = 0.37;") == 0 and deciding("#define LIMIT 17") == 1
found, bad = measure(), []
found_all = tuple(sum(v[i] for v in found.values()) for i in (0, 1))
for room, (lines, numbers) in sorted({**found, "src": found_all}.items()):
    budget = ALL if room == "src" else BUDGET.get(room, (0, 0))
    print("%-16s %7d of %7d lines, %5d of %5d numbers" % (room, lines, budget[0], numbers, budget[1]))
    if lines > budget[0]:
        bad.append("%s has %d code lines, %d more than its budget" % (room, lines, lines - budget[0]))
    if numbers > budget[1]:
        bad.append("%s has %d deciding numbers, %d more than its budget" % (room, numbers, numbers - budget[1]))
    if room != "src" and lines < budget[0] - SLACK:
        bad.append("%s has shrunk to %d lines: lower its budget" % (room, lines))
print("\n".join(bad))
sys.exit(bool(bad))
