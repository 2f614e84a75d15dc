#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Kernels written as procedures with parameters (make_kernel) have the values and slopes of the table's own: likelihoods
and steps of gradient ascent agree, alone, in sums and products, on the line and in the plane. Usage: run_written_kernels.py
TOOL"""
import os, subprocess, sys, tempfile

TOOL = os.path.abspath(sys.argv[1])
bad = 0


def run(text, expect=0):
    with tempfile.NamedTemporaryFile("w", suffix=".vnts", delete=False) as f: f.write(text)
    try:
        r = subprocess.run([TOOL, "run", f.name], capture_output=True, text=True, timeout=60)
    finally:
        os.unlink(f.name)
    if r.returncode != expect: sys.exit("exit status %d\n%s\n%s" % (r.returncode, r.stderr, text))
    return r.stdout.strip().splitlines() if expect == 0 else r.stderr


SE = "make_kernel(proc(x, y, p) { p[0] ** 2 * exp(-(x - y) ** 2 / (2 * p[1] ** 2)) }, [a, l])"
PLANE = "make_kernel(proc(x, y, p) { p[0] ** 2 * exp(-((x[0] - y[0]) ** 2 + (x[1] - y[1]) ** 2) / (2 * p[1] ** 2)) }, [a, l])"
PIECES = "make_kernel(proc(x, y, p) { if (abs(x - y) < 1e-9) { p[0] ** 2 } else { 0 } }, [a])"
LINE = ("[0, 0.7, 1.5, 3]", "")
CASES = [(SE, "make_squaredexp(a, l)", LINE), (SE + " + make_linear(l)", "make_squaredexp(a, l) + make_linear(l)", LINE),
         (SE + " * make_linear(l)", "make_squaredexp(a, l) * make_linear(l)", LINE),
         ("make_squaredexp(1, l) + " + PIECES, "make_squaredexp(1, l) + make_whitenoise(a)", LINE),
         (PLANE, "make_squaredexp(a, l)", ("[[0, 1], [0.7, 0.2], [1.5, -1], [3, 2]]", ", dim=2"))]
for written, own, (xs, dim) in CASES:
    out = []
    for kernel in (written, own):
        out.append(run("""
assume a = tag("h", 0, gamma(3, 2));
assume l = tag("h", 1, gamma(3, 2));
assume f = make_gp(%s, noise=0.3%s);
observe f(%s) = [1, 0.5, -0.3, 0.2];
define before = run(global_log_joint);
infer gradient_ascent("h", all, 0.05, 4);
define after = run(global_log_joint);
print(before);
print(after);
sample a;
sample l;
infer hmc("h", all, 0.1, 4, 2);
infer resample(2);
infer hmc("h", all, 0.1, 4, 2);
infer checkInvariants();
""" % (kernel, dim, xs)))
    numbers = [[float(x.strip("[]")) for x in o[:4]] for o in out]
    ok = all(abs(x - y) <= 1e-7 * (1 + abs(y)) for x, y in zip(*numbers)) and numbers[0][1] > numbers[0][0]
    print("%s %s: %s" % ("ok  " if ok else "FAIL", own, numbers[0]))
    bad += not ok

for text, why in (("assume a = gamma(2, 1);\nassume f = make_gp(make_kernel(proc(x, y, p) { exp(-abs(x - y)) * normal(0, 1) * p[0] }, [a]));\n"
                   "observe f(1) = 2;\ninfer hmc(default, all, 0.1, 3, 1);", "no gradient"),
                  ("assume f = make_gp(make_kernel(proc(x, y, p) { log(-1) }, [1]));\nobserve f(1) = 2;", "not a finite number"),
                  ('assume f = make_gp(make_kernel(proc(x, y, p) { 1 }, ["a"]));', "parameters")):
    said = run(text, expect=1)
    if why not in said:
        print("FAIL %s:\n%s" % (why, said))
        bad += 1
print("%d failed" % bad)
sys.exit(1 if bad else 0)
