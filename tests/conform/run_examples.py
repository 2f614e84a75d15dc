#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the example of every row of the reference (`gpmem reference`) with `gpmem -e` and compares what it prints. Usage: run_examples.py TOOL [NAME ...]"""
import concurrent.futures as cf, json, math, os, re, subprocess, sys

tool = os.path.abspath(sys.argv[1])
only = set(sys.argv[2:])
NUMBER = re.compile(r"-?\d+\.?\d*(?:e[-+]?\d+)?")


def same(got, want):
    """Equal text; numbers may differ by 1e-9 relative."""
    if got == want:
        return True
    a, b = NUMBER.findall(got), NUMBER.findall(want)
    return (NUMBER.sub("#", got) == NUMBER.sub("#", want) and len(a) == len(b)
            and all(math.isclose(float(x), float(y), rel_tol=1e-9) for x, y in zip(a, b)))


def examples():
    rows = json.loads(subprocess.run([tool, "reference"], check=True, capture_output=True, text=True).stdout)
    if isinstance(rows, dict):  # grouped by kind
        rows = [r for v in rows.values() if isinstance(v, list) for r in v]
    for r in rows:
        if r.get("example"):
            yield r["name"], r["example"]


def run(case):
    name, example = case
    expr, want = example.rsplit(" => ", 1)
    p = subprocess.run([tool, "-e", expr], capture_output=True, text=True, timeout=60)
    got = p.stdout.strip()
    if p.returncode == 0 and same(got, want.strip()):
        return None
    return "%s: %s\n    expected %s, got %s (exit %d)\n    %s" % (
        name, expr, want, got or "nothing", p.returncode, p.stderr.strip().replace("\n", "\n    "))


cases = [c for c in examples() if not only or c[0] in only]
with cf.ThreadPoolExecutor(2) as pool:
    bad = [r for r in pool.map(run, cases) if r]
for b in bad:
    print(b)
print("%d examples, %d failed" % (len(cases), len(bad)))
sys.exit(1 if bad or not cases else 0)
