#!/usr/bin/python3
"""Observing more points at once than are exact makes no dense matrix: neither for the draw that nobody sees nor for the density
(argument: the tool)."""
import math, os, random, resource, subprocess, sys, tempfile

TOOL = os.path.abspath(sys.argv[1])
N = 8200
PROGRAM = """define xs = read_csv("x.csv", ["a", "b"]);
define ys = read_csv("x.csv", "y");
assume l = gamma(4, 2);
assume f = make_gp(make_matern_32(1, l), noise=0.3, dim=2);
observe f(xs) = ys;
sample l;
"""
with tempfile.TemporaryDirectory() as work:
    random.seed(1)
    with open(os.path.join(work, "x.csv"), "w") as f:
        f.write("a,b,y\n")
        for _ in range(N):
            a, b = 50 * random.random(), 50 * random.random()
            f.write("%g,%g,%g\n" % (a, b, math.sin(a / 3) + random.gauss(0, 0.3)))
    with open(os.path.join(work, "many.vnts"), "w") as f:
        f.write(PROGRAM)
    r = subprocess.run([TOOL, "run", "many.vnts"], cwd=work, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=600)
    assert r.returncode == 0, r.stderr
    most = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
    assert most < 8 * N * N / 2, "%.0f MB" % (most / 1e6)  # a matrix of all pairs has twice that
print("%d points observed in %.0f MB" % (N, most / 1e6))
