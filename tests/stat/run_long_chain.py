#!/usr/bin/python3
# label: slow
"""A million transitions without drift: data hop between two collapsed normal components and between two Gaussian
processes, so that sums, counts and Cholesky factors are updated hundreds of thousands of times. At every checkpoint the
log density that the engine keeps is compared with one computed here from the values alone (numpy), and the trace checker
looks at the whole trace.

    run_long_chain.py GPMEM [TRANSITIONS]"""
import json, math, os, subprocess, sys, tempfile

import numpy as np

TOOL = os.path.abspath(sys.argv[1])
TOTAL = int(float(sys.argv[2])) if len(sys.argv) > 2 else 1000000
STAGES, N, M = 10, 40, 12
Y = [math.sin(1.7 * i) * 2 + (3 if i % 3 else -3) for i in range(N)]
X = [0.37 * j for j in range(M)]
Z = [math.cos(x) + 0.1 * ((j * 7) % 5) for j, x in enumerate(X)]
NIG = (0.5, 2.0, 3.0, 1.5)

PROGRAM = """assume m = normal(0, 2);
assume s = gamma(3, 2);
assume a = make_nig_normal(%g, %g, %g, %g);
assume b = make_nig_normal(%g, %g, %g, %g);
assume k = mem(proc(i) { flip(0.4) });
assume g = make_gp(make_squaredexp(1, 0.8), noise=0.3);
assume h = make_gp(make_squaredexp(s, 2), noise=0.3);
assume q = mem(proc(j) { flip(0.5) });
observe normal(m, s) = 0.7;
%s
%s
define show = proc() { run(sample(array(m, s, mapv(proc(i) { if (k(i)) { 1 } else { 0 } }, unquote(arange(%d))),
                                  mapv(proc(j) { if (q(j)) { 1 } else { 0 } }, unquote(arange(%d)))))) };
""" % (NIG + NIG + ("\n".join("observe (if (k(%d)) { a } else { b })() = %r;" % (i, y) for i, y in enumerate(Y)),
                    "\n".join("observe (if (q(%d)) { g } else { h })(%r) = %r;" % (j, x, z) for j, (x, z) in enumerate(zip(X, Z))), N, M))


def nig(y):
    m, v, a, b = NIG
    n = len(y)
    vn = 1 / (1 / v + n)
    mn = vn * (m / v + sum(y))
    an, bn = a + n / 2, b + 0.5 * (sum(x * x for x in y) + m * m / v - mn * mn / vn)
    return (-n / 2 * math.log(2 * math.pi) + 0.5 * math.log(vn / v) + a * math.log(b) - an * math.log(bn)
            + math.lgamma(an) - math.lgamma(a))


def gp(x, z, sf, l):
    if not x: return 0.0
    d = np.subtract.outer(x, x)
    k = sf ** 2 * np.exp(-0.5 * d ** 2 / l ** 2) + 0.09 * np.eye(len(x))
    return -0.5 * (np.dot(z, np.linalg.solve(k, z)) + np.linalg.slogdet(k)[1] + len(x) * math.log(2 * math.pi))


def log_joint(m, s, ks, qs):
    normal = lambda x, mu, sd: -0.5 * ((x - mu) / sd) ** 2 - math.log(sd) - 0.5 * math.log(2 * math.pi)
    lp = normal(m, 0, 2) + 3 * math.log(2) - math.lgamma(3) + 2 * math.log(s) - 2 * s + normal(0.7, m, s)
    lp += sum(math.log(0.4 if k else 0.6) for k in ks) + len(qs) * math.log(0.5)
    for side in (1, 0): lp += nig([y for y, k in zip(Y, ks) if k == side])
    lp += gp([x for x, q in zip(X, qs) if q], [z for z, q in zip(Z, qs) if q], 1, 0.8)
    return lp + gp([x for x, q in zip(X, qs) if not q], [z for z, q in zip(Z, qs) if not q], s, 2)


def main():
    text = PROGRAM + "".join("infer mh(default, one, %d);\ninfer checkInvariants();\nshow();\nlookup(run(global_log_joint()), 0);\n" % (TOTAL // STAGES)
                             for _ in range(STAGES))
    with tempfile.NamedTemporaryFile("w", suffix=".vnts", delete=False) as f: f.write(text)
    try: r = subprocess.run([TOOL, "run", "-q", f.name], capture_output=True, text=True, timeout=1800)
    finally: os.unlink(f.name)
    if r.returncode: raise SystemExit(r.stderr)
    lines = [json.loads(l) for l in r.stdout.strip().splitlines()]
    worst, states = 0.0, set()
    for i in range(STAGES):
        (m, s, ks, qs), kept = lines[2 * i], lines[2 * i + 1]
        exact = log_joint(m, s, ks, qs)
        states.add(tuple(ks) + tuple(qs))
        worst = max(worst, abs(kept - exact))
        print("%8d transitions: kept %.12f, recomputed %.12f, difference %.2g" % ((i + 1) * TOTAL // STAGES, kept, exact, kept - exact))
    assert len(states) > 1, "the chain did not move"
    print("largest difference %.2g" % worst)
    return int(worst > 1e-8)


sys.exit(main())
