#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Filters against a Kalman filter and smoother: the evidence that particles estimate is unbiased, Z = E[exp(log Z)],
and the state that they keep is properly weighted, E[Z x_t] = Z E[x_t | y], the first state as well as the last (whose
past particles share). 60 seeds for each way to filter; standard errors from the seeds themselves.

    run_particles.py GPMEM"""
import re
import subprocess
import sys

import numpy as np

TOOL = sys.argv[1]
SEEDS = 60
Y = [0.7, 1.9, 0.4, -0.8, -1.1, 0.3, 1.2, 2.0]
T = len(Y)

MEM = 'assume x = mem(proc(t) { tag("x", t, if (t == 0) { normal(0, 1) } else { normal(0.9 * x(t - 1), 1) }) });\n'
NAMES = "".join("assume x%d = %s;\n" % (t, "normal(0.9 * x%d, 1)" % (t - 1) if t else "normal(0, 1)") for t in range(T))
WEIGHTS = 'infer do(w <- particle_log_weights(), action(print("z", logsumexp(w))));\n'
LAST = "infer resample(1);\n"
LOOK = 'infer do(a <- sample x(0), b <- sample x(%d), action(print("x", a, b)));\n' % (T - 1)


def steps(each, more=""):
    text = "infer resample(20);\n"
    for t, y in enumerate(Y):
        text += "observe normal(x(%d), 1) = %g;\ninfer do(resample(20%s)%s);\n" % (t, y, each, more)
    return MEM + text


def by_names():
    text = "infer resample(20);\n"
    for t, y in enumerate(Y):
        text += NAMES.splitlines()[t] + "\nobserve normal(x%d, 1) = %g;\ninfer resample(20);\n" % (t, y)
    return text


def one_instruction():
    return (MEM + "define ys = [%s];\n" % ", ".join(map(str, Y)) +
            "infer do(resample(20), for_each_indexed(ys, proc(t, y) { do(observe normal(x($t), 1) = y, resample(20)) }));\n")


ALL = "predict x(%d);\n" % (T - 1)  # the choices stand before there are particles

OBSERVED = MEM + "".join("observe normal(x(%d), 1) = %g;\n" % (t, y) for t, y in enumerate(Y))
FILTER = ('infer do(r <- particle_filter("x", ordered, %d, %d), action(print("z", lookup(r[0], "log_evidence"))));\n')
STEPS = "[%s]" % ", ".join("observe(normal(x(%d), 1), %g)" % (t, y) for t, y in enumerate(Y))
TEMPER = "mapv(k -> factor(0.1 * (%s)), arange(10))" % " + ".join("assess(%g, normal, x(%d), 1)" % (y, t) for t, y in enumerate(Y))
# a look ahead at the next datum, taken out again when it has come
TWIST = "[%s]" % ", ".join(
    "do(factor(%s), observe(normal(x(%d), 1), %g)%s)" % (
        "assess(%g, normal, 0.9 * x(%d), 1.7)" % (Y[t + 1], t) if t + 1 < T else "0", t, y,
        ", factor(0 - assess(%g, normal, 0.9 * x(%d), 1.7))" % (y, t - 1) if t else "") for t, y in enumerate(Y))
SMC = 'infer do(z <- smc(20, %s, %s), action(print("z", z)));\n'
WAYS = {
    "resample": steps("") + WEIGHTS + LAST + LOOK,
    "resample, names": by_names() + WEIGHTS + LAST + LOOK.replace("x(0)", "x0").replace("x(%d)" % (T - 1), "x%d" % (T - 1)),
    "resample, one instruction": one_instruction() + WEIGHTS + LAST + LOOK,
    "systematic": steps(', method="systematic"') + WEIGHTS + LAST + LOOK,
    "adaptive": steps(', method="systematic", ess=0.5') + WEIGHTS + LAST + LOOK,
    "moves": steps("", ', mh("x", one, 2)') + WEIGHTS + LAST + LOOK,
    "smc": MEM + SMC % (STEPS, "pass") + LAST + LOOK,
    "smc, moves": MEM + SMC % (STEPS, 'mh("x", each, 1)') + LAST + LOOK,
    "smc, tempered": MEM + SMC % (TEMPER, 'mh("x", each, 2)') + LAST + LOOK,
    "smc, twisted": MEM + SMC % (TWIST, "pass") + LAST + LOOK,
    "smc, model first": MEM + ALL + SMC % (STEPS, 'mh("x", each, 1)') + LAST + LOOK,
    "particle_filter": OBSERVED + FILTER % (20, 1) + LOOK,
    "particle_filter, runs": OBSERVED + FILTER % (8, 3) + LOOK,
}


def exact():
    """Evidence and smoothed means by the joint normal distribution of states and data."""
    cov = np.zeros((T, T))
    for t in range(T):
        v = sum(0.81 ** k for k in range(t + 1))
        for s in range(t, T):
            cov[t, s] = cov[s, t] = v * 0.9 ** (s - t)
    of_y = cov + np.eye(T)
    y = np.array(Y)
    _, logdet = np.linalg.slogdet(of_y)
    log_z = -0.5 * (y @ np.linalg.solve(of_y, y) + logdet + T * np.log(2 * np.pi))
    return log_z, cov @ np.linalg.solve(of_y, y)


def estimate(text, seed):
    done = subprocess.run([TOOL, "run", "--seed", str(seed), "/dev/stdin"], input=text, capture_output=True, text=True)
    found = re.findall(r"^(z|x) (.*)$", done.stdout, re.M)
    if done.returncode or len(found) != 2:
        raise SystemExit("%s\n%s" % (done.stderr, text))
    return [float(v) for _, rest in found for v in rest.split()]


def early_moves():
    """Sweeps of particle Gibbs, of 40, in which the first of 60 states moves; a few particles coalesce within ten."""
    text = MEM + "infer for_each(arange(60), proc(t) { observe normal(x($t), 1) = sin(t / 5) });\n"
    text += """define sweeps = proc(n, moved, before) { if (n == 0) { return(moved) } else { do(
  pgibbs("x", ordered, 5, 1), now <- sample(x(0)), sweeps(n - 1, moved + (if (now == before) { 0 } else { 1 }), now)) } };
infer do(moved <- sweeps(40, 0, 0), action(print("z", moved)), action(print("x", 0)));"""
    return estimate(text, 1)[0]


def told_errors():
    """What one run tells of its error beside how the evidences of the runs vary; nothing after systematic draws."""
    tell = 'infer do(e <- particle_evidence(), action(print("z", e["log_evidence"])), action(print("x", e["error"])));\n'
    bad = 0
    for name, each in (("every step", ""), ("adaptive", ", ess=0.5")):
        text = steps(each).replace("resample(20", "resample(60") + tell
        got = np.array([estimate(text, 500 + s) for s in range(SEEDS)])
        told, found = np.sqrt(np.mean(got[:, 1] ** 2)), got[:, 0].std(ddof=1)
        ok = 0.7 < told / found < 1.4  # the spread of 60 is known to 9%
        bad += not ok
        print("%s error told by one run, %-11s %.3f; evidences of %d vary by %.3f" % ("ok  " if ok else "FAIL", name, told, SEEDS, found))
    none = estimate(steps(', method="systematic"') + tell, 1)[1]
    return bad + (none == none)


NORMAL = """assume m = normal(0, 1);
%s
infer do(e <- particle_evidence(), action(print("z", e["log_evidence"])), action(print("x", 0)));"""
ONE = "observe normal(m, 0.5) = 2;\n"
TEN = "mapv(k -> factor(0.1 * assess(2, normal, m, 0.5)), arange(10))"
MOVED = """assume m = normal(0, 1);
observe normal(m, 0.5) = 2;
%s
infer do(resample(50), e <- particle_evidence(), action(print("z", e["log_evidence"])), action(print("x", e["error"])));"""


def copies():
    """Choices that are there are drawn anew for each particle. Of a state that was moved there are but copies: a warning
    says so, and no error is told of their evidence."""
    bad = 0
    want = -0.5 * np.log(2 * np.pi * 1.25) - 4 / 2.5
    for text in (ONE + "infer resample(2000);", "infer resample(2000);" + ONE, ONE + "infer do(global_log_joint, resample(2000));",
                 "infer resample(2000, method=\"systematic\", ess=0.5);" + ONE, "infer smc(2000, %s, pass);" % TEN):
        got = [estimate(NORMAL % text, s)[0] for s in (1, 2, 3)]
        ok = max(abs(z - want) for z in got) < 0.2
        bad += not ok
        print("%s evidence, exact %.3f: %.3f %.3f %.3f by %s" % ("ok  " if ok else "FAIL", want, *got, text.replace("\n", " ")))
    for before, moved in (("infer mh(default, one, 5);", True), ("force m = 1;", True), ("infer freeze(quote(m));", True),
                          ("infer global_log_joint;", False), ("infer do(mh(default, one, 5), reset_to_prior());", False)):
        done = subprocess.run([TOOL, "run", "--seed", "1", "/dev/stdin"], input=MOVED % before, capture_output=True, text=True)
        ok = not done.returncode and ("copies of one state" in done.stderr, "nan" in done.stdout) == (moved, moved)
        bad += not ok
        print("%s copies of one state after: %s %s" % ("ok  " if ok else "FAIL", before, "said" if moved else "none"))
    return bad


def main():
    log_z, means = exact()
    moved = early_moves()
    bad = moved < 20
    print("%s the first of 60 states moved in %d of 40 sweeps of pgibbs" % ("FAIL" if bad else "ok  ", moved))
    bad += told_errors() + copies()
    for name, text in WAYS.items():
        got = np.array([estimate(text, 100 + s) for s in range(SEEDS)])
        z = np.exp(got[:, 0] - log_z)
        for what, sample, want in [("evidence", z, 1), ("x(0)", z * (got[:, 1] - means[0]), 0),
                                   ("x(%d)" % (T - 1), z * (got[:, 2] - means[-1]), 0)]:
            error = sample.std(ddof=1) / np.sqrt(SEEDS)
            ok = abs(sample.mean() - want) <= 3.7 * error
            bad += not ok
            print("%s %-27s %-9s %7.3f, exact %g, error %.3f" % ("ok  " if ok else "FAIL", name, what, sample.mean(), want, error))
    sys.exit(1 if bad else 0)


main()
