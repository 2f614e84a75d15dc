#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""One evaluation that takes long, or much, ends as the limits say: walks over shared arrays of 2^40 leaves, and numbers
that take minutes. The bounds are wide: without the limits these programs run for minutes, or for years.

    run_walks.py GPMEM"""
import signal, subprocess, sys, time

GPMEM = sys.argv[1]
SHARED = """define twice = proc(n, x) { if (n == 0) { x } else { twice(n - 1, array(x, x)) } };
define x = twice(40, array(1, 2)); define y = twice(40, array(1, 2));
"""
LONG = {  # name: program, whether it ends by itself
    "equality": (SHARED + "sample x == y;", False),
    "order": (SHARED + "sample x < y;", False),
    "printing": (SHARED + "sample x;", False),
    "text": (SHARED + "sample to_string(x);", False),
    "sort": (SHARED + "sample size(sort(array(x, y)));", False),
    "keys": (SHARED + "sample keys(dict(array(x, y)));", False),
    "lookup": (SHARED + "sample lookup(dict(array(x, 1)), y);", False),
    "memo": (SHARED + "assume f = mem(proc(z) { normal(0, 1) }); assume a = f(x); assume b = f(y); sample a == b;", False),
    "collect": (SHARED + "assume a = normal(0, 1); infer collect(x);", True),
    "closures": (SHARED + "assume a = normal(0, 1); assume p = twice(40, array(proc() { a })); sample size(p); sample a;",
                 True),
    "lent": (SHARED + "assume a = normal(0, 1); assume f = proc(u) { size(x) + u }; sample f(a) > -99;", True),
    "lent by a name": (SHARED + "define g = proc(u) { size(x) + u }; assume a = normal(0, 1); assume b = g(a); sample b > -99;", True),
    "convolve": ("sample size(convolve(linspace(0, 1, 500000), linspace(0, 1, 500000)));", False),
    "hypergeometric": ("sample hypergeometric(1e15, 1e15, 1e15);", True),
    "process": ("assume f = make_gp(0, make_squaredexp(1, 1)); sample sum(f(linspace(0, 100, 20000)));", False),
}
failures = 0


def check(good, what):
    global failures
    failures += not good
    print(("ok    " if good else "WRONG ") + what)


def begin(program, *options):
    p = subprocess.Popen([GPMEM, "run", "-", *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, text=True)
    p.stdin.write(program)
    p.stdin.close()
    p.stdin = None
    return p


def end(p, seconds=60):
    try:
        out, err = p.communicate(timeout=seconds)
        return p.returncode, out, err
    except subprocess.TimeoutExpired:
        p.kill()
        p.communicate()
        return None, "", "it did not end"


for name, (program, ends) in LONG.items():
    code, out, err = end(begin(program, "--max-time", "0.5"))
    if ends:
        check(code == 0, f"{name}: it ends by itself: {code} {err.splitlines()[:1]}")
    else:
        check(code == 4 and "the time limit" in err and not out, f"{name}: the time is heard: {code} {out[:40]} {err.splitlines()[:1]}")

code, out, err = end(begin(LONG["process"][0], "--max-memory", "200M", "--max-time", "20"))
check(code == 1 and "the memory limit" in err, f"a matrix of 3 GB has no room in 200 MB: {code} {err.splitlines()[:1]}")

p = begin(LONG["equality"][0])
time.sleep(1)
p.send_signal(signal.SIGINT)
code, out, err = end(p)
check(code == 4 and "interrupted" in err, f"a walk hears Ctrl-C: {code} {err.splitlines()[:1]}")
sys.exit(failures > 0)
