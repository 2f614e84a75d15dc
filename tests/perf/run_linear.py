#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Parse time is linear in the size of the text, particle Gibbs in the number of blocks, a
filter in the number of steps: instructions
counted by callgrind for `gpmem check` and `gpmem run` at n, 2n and 4n. The start of the tool costs the same each time, so the test is on differences:
(I(4n) - I(2n)) / (I(2n) - I(n)) is 2 for what is linear and 4 for what is quadratic."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

LOW, HIGH = 1.8, 2.3

CHAIN = ('assume x = mem(proc(t) { tag("x", t, if (t == 0) { normal(0, 1) } else { normal(0.9 * x(t - 1), 1) }) });\n',
         lambda t: "observe normal(x(%d), 1) = %g;\n" % (t, (37 * t % 17) / 8 - 1))
SWITCHES = ('assume z = mem(proc(t) { tag("x", t, if (t == 0) { flip(0.5) } else { flip(if (z(t - 1)) { 0.8 } else { 0.3 }) }) });\n'
            'assume y = proc(t) { if (z(t)) { normal(1, 1) } else { normal(-1, 2) } };\n',
            lambda t: "observe y(%d) = %g;\n" % (t, (37 * t % 17) / 8 - 1))


def pgibbs(model):
    return lambda n: model[0] + "".join(map(model[1], range(n))) + 'pgibbs("x", ordered, 4, 1);\n'


def bootstrap(n):
    """A filter that keeps the whole past of its particles."""
    return CHAIN[0] + "".join(CHAIN[1](t) + "infer resample(8);\n" for t in range(n))


RUNS = {"pgibbs": (100, pgibbs(CHAIN)), "pgibbs, data behind if": (100, pgibbs(SWITCHES)),
        "bootstrap filter": (40, bootstrap)}
SHAPES = {
    "statements": (1500, lambda n: "assume x = normal(0, 1) + f(2, [3, 4], a=\"s\");\n" * n),
    "sum": (5000, lambda n: "1" + " + x" * n),
    "bindings of one block": (2000, lambda n: "{" + "".join("let x%d = x%d; " % (i + 1, i) for i in range(n)) + "x1}"),
    "parentheses": (100, lambda n: ("(" * 50 + "a, b" + ")" * 50 + ";\n") * n),
    "string": (60000, lambda n: "\"" + "a\\n" * n + "\""),
}


def instructions(tool, command, text, folder, *options):
    path = os.path.join(folder, "program.vnts")
    with open(path, "w") as f:
        f.write(text)
    run = subprocess.run(["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", tool, command, path, *options],
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    found = re.search(r"Collected\s*:\s*(\d+)", run.stderr)
    if not found:
        sys.exit("no instruction count: %s" % run.stderr[-400:])
    return int(found.group(1))


def main():
    if not shutil.which("valgrind"):
        print("skipped: there is no valgrind (tools/install-packages test)")
        return 0
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, (n, make) in {**SHAPES, **RUNS}.items():
            command = "run" if name in RUNS else "check"
            # what a sweep does depends on its draws: runs are averaged over seeds
            seeds = [("--seed", str(s)) for s in range(1, 6)] if name.startswith("pgibbs") else [()]
            a, b, c = (sum(instructions(sys.argv[1], command, make(k * n), folder, *s) for s in seeds) / len(seeds) for k in (1, 2, 4))
            ratio = (c - b) / (b - a)
            ok = LOW <= ratio <= HIGH
            failed += not ok
            print("%-24s %6.1f instructions per byte, ratio %.3f %s" %
                  (name, (c - b) / (len(make(4 * n)) - len(make(2 * n))), ratio, "" if ok else "NOT LINEAR"))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
