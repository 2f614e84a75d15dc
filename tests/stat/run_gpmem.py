#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""gpmem in programs against exact answers (argument: the tool): predictive densities by numpy's
formulas, small posteriors by enumeration or in closed form."""
import itertools, json, math, os, subprocess, sys
import numpy as np

TOOL = os.path.abspath(sys.argv[1])


def run(program, seed=1):
    r = subprocess.run([TOOL, "run", "--seed", str(seed), "--format", "json", "-"], input=program.encode(),
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120)
    assert r.returncode == 0, program + r.stderr.decode()
    return [json.loads(line) for line in r.stdout.decode().splitlines()]


def se(a, b, sf=1.0, l=1.0):
    a, b = np.atleast_2d(np.asarray(a, float).T).T, np.atleast_2d(np.asarray(b, float).T).T
    d = ((a[:, None, :] - b[None, :, :]) ** 2).sum(-1)
    return sf ** 2 * np.exp(-d / (2 * l * l))


def log_normal(y, cov):
    y = np.asarray(y, float)
    return -0.5 * (y @ np.linalg.solve(cov, y) + np.linalg.slogdet(cov)[1] + len(y) * math.log(2 * math.pi))


def predictive(x, y, noise, xs, ys, kern=se, exact=(), latent=False):
    """log p(ys | x, y): independent noise on every pair but the exact ones, and on ys unless latent."""
    n = len(x)
    measured = [i not in exact for i in range(n)] + [not latent] * len(xs)
    joint = kern(np.concatenate([x, xs]), np.concatenate([x, xs])) + noise ** 2 * np.diag(np.array(measured, float))
    return log_normal(np.concatenate([y, ys]), joint) - (log_normal(y, joint[:n, :n]) if n else 0)


def close(a, b, tol=1e-7):
    assert abs(a - b) <= tol * max(1, abs(b)), (a, b)


def test_replicates():
    got = run("assume (c, e) = gpmem(x -> x, make_squaredexp(1, 1), noise=0.3);"
              "observe e(1) = 0.2; observe e(1) = 0.7; observe e(2.5) = -0.4; observe e(1) = 0.1;"
              "sample assess(0.6, e, 1, true); sample assess(array(0.5, -0.1), e, array(1, 3), true);"
              "sample assess(0.6, e, 1); sample assess(array(0.5, -0.1), e, array(1, 3));")
    x, y = [1, 1, 2.5, 1], [0.2, 0.7, -0.4, 0.1]
    close(got[0], predictive(x, y, 0.3, [1], [0.6]))
    close(got[1], predictive(x, y, 0.3, [1, 3], [0.5, -0.1]))
    close(got[2], predictive(x, y, 0.3, [1], [0.6], latent=True))
    close(got[3], predictive(x, y, 0.3, [1, 3], [0.5, -0.1], latent=True))


def test_values_of_the_function():
    """An unobserved f_emu(x) is the function's value: it has no noise, conditions the rest, and is
    there for good; f_emu(x, true) is a measurement; what is observed is one too."""
    got = run("assume (c, e) = gpmem(x -> x, make_squaredexp(1, 1), noise=0.3);"
              "assume a = e(1); assume b = e(2, measured=true); assume again = e(1); observe e(1) = 0.4; observe e(2) = 0.1;"
              "predict a; predict b; predict again; sample e(1) - a;"
              "sample assess(0.6, e, 1, true); sample assess(a, e, 1); sample assess(a + 0.1, e, 1);"
              "sample assess(array(0.3, 0.2), e, array(1.6, 2)); sample assess(0.2, e, 1.6, true);")
    a, b = got[0], got[1]
    assert got[2] == a and got[3] == 0, got
    x, y = [1, 2, 1, 2], [a, b, 0.4, 0.1]
    close(got[4], predictive(x, y, 0.3, [1], [0.6], exact=[0]))
    assert got[5] == 0 and got[6] in ("-inf", -math.inf), got
    close(got[7], predictive(x, y, 0.3, [1.6, 2], [0.3, 0.2], exact=[0], latent=True))
    close(got[8], predictive(x, y, 0.3, [1.6], [0.2], exact=[0]))


def test_zero_is_one_input():
    """-0 and 0 are the same input: one evaluation, one pair."""
    got = run("assume (c, e) = gpmem(x -> 2, make_squaredexp(1, 1), noise=0.3);"
              "predict c(0); predict c(-0.0); predict c(array(0, 0 * -1));"
              "sample assess(0.6, e, 0.5, true); extract_stats(e);")
    close(got[3], predictive([0], [2], 0.3, [0.5], [0.6]))
    assert got[4] == [[0, 2]], got


def test_two_dimensions():
    got = run("assume (c, e) = gpmem(p -> p[0] * p[1], make_squaredexp(1, 2), dim=2, noise=0.1);"
              "predict c(array(1, 2)); predict c(array(array(0, 1), array(3, -1)));"
              "sample assess(1.5, e, array(1, 1), true); sample size(e(array(array(1, 1), array(2, 2))));")
    assert got[:2] == [2, [0, -3]] and got[3] == 2
    k = lambda a, b: se(a, b, 1, 2)
    close(got[2], predictive(np.array([[1, 2], [0, 1], [3, -1]]), [2, 0, -3], 0.1, np.array([[1, 1]]), [1.5], k))


def test_forget():
    got = run("assume (c, e) = gpmem(x -> x * x, make_squaredexp(1, 1), noise=0.2);"
              "one: predict c(1); two: observe e(2) = 0.5; predict c(3);"
              "sample assess(0.4, e, 1.5, true); run(forget(quote(one))); sample assess(0.4, e, 1.5, true);"
              "run(forget(quote(two))); sample assess(0.4, e, 1.5, true); predict c(1); sample assess(0.4, e, 1.5, true);")
    wanted = [([1, 2, 3], [1, 0.5, 9]), ([2, 3], [0.5, 9]), ([3], [9]), ([3, 1], [9, 1])]
    assess = [v for v in got if not isinstance(v, list) and v not in (1, 9)]
    assert len(assess) == 4, got
    for a, (x, y) in zip(assess, wanted):
        close(a, predictive(x, y, 0.2, [1.5], [0.4]))


def test_several_and_in_lists():
    got = run("assume make = proc(f) { gpmem(f, make_squaredexp(1, 1), noise=0.1) };"
              "assume a = make(x -> x); assume b = make(x -> -x);"
              "assume emus = list(second(a), second(b)); assume at = proc(i, x) { lookup(emus, i)(x) };"
              "predict first(a)(1); predict first(b)(1); predict first(b)(2);"
              "sample assess(0.5, lookup(emus, 0), 1.5, true); sample assess(0.5, lookup(emus, 1), 1.5, true); sample at(0, 1);")
    assert got[:3] == [1, -1, -2]
    close(got[3], predictive([1], [1], 0.1, [1.5], [0.5]))
    close(got[4], predictive([1, 2], [-1, -2], 0.1, [1.5], [0.5]))


def test_nested():
    """A memoizer of an emulator: the inner value is drawn once per input and is data of both."""
    for source in ("x -> e(x)", "e"):
        nested(source)


def nested(source):
    got = run("assume (c, e) = gpmem(x -> 2 * x, make_squaredexp(1, 1), noise=0.1); predict c(1);"
              "assume (cc, ee) = gpmem(" + source + ", make_squaredexp(1, 2), noise=0.2);"
              "predict cc(1.5); predict cc(1.5); predict cc(array(1.5, 1));"
              "sample assess(0.3, ee, 1.2, true); sample assess(1, e, 1.7, true);")
    first, again, both = got[1], got[2], got[3]
    assert first == again == both[0], got
    k = lambda a, b: se(a, b, 1, 2)
    close(got[4], predictive([1.5, 1], both, 0.2, [1.2], [0.3], k))
    close(got[5], predictive([1, 1.5, 1], [2, both[0], both[1]], 0.1, [1.7], [1.0], exact=[1, 2]))


def chain(program, what, n, seed):
    """n values of `what`, one after each run of a step named `step`."""
    out = run(program + "infer repeat(200, step);\n" + ("infer step; sample %s;\n" % what) * n, seed)
    return [v for v in out if v is not None][-n:]


def test_random_source():
    """The table's values count as data: mu ~ N(0, 1), f(x) = mu x, table at 1 and 2."""
    program = ("assume mu = normal(0, 1); assume f = x -> mu * x;"
               "assume (c, e) = gpmem(f, make_squaredexp(1, 1), noise=0.5); predict c(1); predict c(2);"
               "define step = mh(default, one, 5);\n")
    got = np.array(chain(program, "mu", 3000, 3))
    v, cov = np.array([1.0, 2.0]), se([1, 2], [1, 2]) + 0.25 * np.eye(2)
    sd = (1 + v @ np.linalg.solve(cov, v)) ** -0.5
    assert abs(got.mean()) < 0.06 and abs(got.std() - sd) < 0.05, (got.mean(), got.std(), sd)


def test_table_of_a_choice():
    """The input at which f is evaluated is a choice: p(x) is proportional to the density of the table."""
    for step in ("mh(default, one, 2)", 'pgibbs("x", ordered, 3, 1)', 'gibbs("x", one)'):
        program = ('assume x = tag("x", 0, uniform_discrete(0, 3)); assume f = x -> 2 * x;'
                   "assume (c, e) = gpmem(f, make_squaredexp(1, 1), noise=0.3); predict c(3); predict c(x);"
                   "define step = %s;\n" % step)
        got = frequencies(chain(program, "x", 1500, 7), (0, 1, 2))
        p = np.array([math.exp(log_normal([6, 2 * x], se([3, x], [3, x]) + 0.09 * np.eye(2))) for x in (0, 1, 2)])
        assert abs(got - p / p.sum()).max() < 0.05, (step, got, p / p.sum())


def frequencies(values, keys):
    return np.array([sum(v == k for v in values) / len(values) for k in keys])


def test_hyper_parameters():
    """Posterior of the kernel's parameters on a grid, by enumeration."""
    xs, ys = [0, 0.7, 2], [0.3, 0.9, -0.6]
    program = ("assume sf = uniform_discrete(1, 4); assume l = uniform_discrete(1, 4);"
               "assume (c, e) = gpmem(x -> x, make_squaredexp(sf / 2, l / 2), noise=0.2);"
               + "".join("observe e(%g) = %g;" % p for p in zip(xs, ys)) + "define step = mh(default, one, 4);\n")
    got = chain(program, "10 * sf + l", 4000, 5)
    keys = [10 * a + b for a in (1, 2, 3) for b in (1, 2, 3)]
    lp = np.array([log_normal(ys, se(xs, xs, k // 10 / 2, k % 10 / 2) + 0.04 * np.eye(3)) for k in keys])
    p = np.exp(lp - lp.max())
    assert abs(frequencies(got, keys) - p / p.sum()).max() < 0.04, (frequencies(got, keys), p / p.sum())


def test_structures():
    """Selections and orders of a list of kernels with a shared parameter, by enumeration: the first
    of a random order of those kept, with t in the kernels."""
    xs, ys = [0, 1], [0.8, -0.5]
    program = ("assume t = uniform_discrete(1, 3);"
               "assume BK = list(make_whitenoise(t / 2), make_whitenoise(2 * t), make_squaredexp(t, 1));"
               "assume pick = proc(l) { if is_null(l) { l } else { if bernoulli(0.5) { pair(first(l), pick(rest(l))) } else { pick(rest(l)) } } };"
               "assume some = permute(pick(BK));"
               "assume K = if (is_null(some)) { make_whitenoise(1) } else { first(some) };"
               "assume g = make_gp(K); observe g(array(0, 1)) = array(0.8, -0.5);"
               "define step = mh(default, one, 6);\n")
    got = chain(program, "array(t, struct(K))", 4000, 7)
    grams = {}
    for t in (1, 2):
        kernels = [("WN", (t / 2) ** 2 * np.eye(2)), ("WN", 4.0 * t * t * np.eye(2)), ("SE", se(xs, xs, t))]
        for keep in itertools.product((0, 1), repeat=3):
            chosen = [k for k, use in zip(kernels, keep) if use] or [("WN", np.eye(2))]
            for name, gram in chosen:
                grams[(t, name)] = grams.get((t, name), 0) + math.exp(log_normal(ys, gram)) / len(chosen)
    total = sum(grams.values())
    for (t, name), p in grams.items():
        freq = sum(v == [t, name] for v in map(list, got)) / len(got)
        assert abs(freq - p / total) < 0.05, (t, name, freq, p / total)


def test_procedures_as_kernels():
    """Kernel and mean are procedures made anew when a choice changes, by enumeration; the pairs of the
    table and the observed ones stay."""
    xs, ys = np.array([0.1, 1, 2.5]), np.array([0.8, -0.5, math.sin(2.5)])
    for make in ("proc(t) { %s }", "mem(proc(t) { %s })"):
        kernel = make % "s = t * t; if (b) { proc(x, y) { exp(-(x - y) ** 2 / (2 * s)) } } else { proc(x, y) { exp(-abs(x - y) / s) } }"
        mean = make % "u = t - 2; proc(x) { u * x }"
        program = ("assume t = uniform_discrete(1, 4); assume b = flip(0.5); assume make_k = %s; assume make_m = %s;"
                   "assume (c, e) = gpmem(x -> sin(x), make_m(t), make_k(t), noise=0.3);"
                   "observe e(0.1) = 0.8; observe e(1) = -0.5; predict c(2.5);"
                   "define step = mh(default, one, 4);\n" % (kernel, mean))
        got = chain(program, "array(t, b)", 2500, 13)
        d = abs(xs[:, None] - xs[None, :])
        p = {(t, b): math.exp(log_normal(ys - (t - 2) * xs, (np.exp(-d ** 2 / (2 * t * t)) if b else np.exp(-d / (t * t)))
                                         + 0.09 * np.eye(3))) for t in (1, 2, 3) for b in (True, False)}
        total = sum(p.values())
        for (t, b), v in p.items():
            freq = sum(g == [t, b] for g in map(list, got)) / len(got)
            assert abs(freq - v / total) < 0.06, (make, t, b, freq, v / total)


def test_what_a_kernel_reads():
    """Whatever way a kernel's procedure comes by a parameter, a change of it is seen."""
    want = [log_normal([0.3, 0.5], se([0, 1], [0, 1], 1, l) + 0.09 * np.eye(2)) for l in (1, 2)]
    body = "proc(a, b) { exp(-(a - b) ** 2 / (2 * l * l)) }"
    for kernel in (body, "mem(%s)" % body, "array(%s)[0]" % body, "proc(a, b) { h((a - b) ** 2) }", "proc(a, b) { m(a - b) }",
                   "(proc() { s = l; %s })()" % body.replace("2 * l * l", "2 * s * l"), "if (l > 0) { %s } else { 3 }" % body,
                   "add_funcs(%s, make_constant(1e-7))" % body):
        got = run("assume l = uniform_discrete(1, 3); assume h = proc(d) { exp(-d / (2 * l * l)) };"
                  "assume m = mem(proc(d) { exp(-d ** 2 / (2 * l * l)) });"
                  "assume g = make_gp(%s, noise=0.3); observe g([0, 1]) = [0.3, 0.5];"
                  "force l = 1; run(global_log_joint()); force l = 2; run(global_log_joint());"
                  "force l = 1; run(global_log_joint());" % kernel)
        for v, l in zip(got, (0, 1, 0)): close(v[0], want[l] - math.log(2), 1e-6)


def test_choice_of_source():
    """Another source function: its values are the table's, and count as data."""
    program = ("assume b = flip(0.5); assume f = if (b) { x -> x } else { x -> -x / 2 };"
               "assume (c, e) = gpmem(f, make_squaredexp(1, 1), noise=0.5); assume y = c(array(1, 2)); observe e(3) = 1.5;"
               "define step = mh(default, one, 3);\n")
    got = chain(program, "array(b, y)", 3000, 17)
    for b, y in got: assert y == ([1, 2] if b else [-0.5, -1]), (b, y)
    cov = se([1, 2, 3], [1, 2, 3]) + 0.25 * np.eye(3)
    p = [math.exp(log_normal(y, cov)) for y in ([1, 2, 1.5], [-0.5, -1, 1.5])]
    freq = sum(b for b, _ in got) / len(got)
    assert abs(freq - p[0] / sum(p)) < 0.05, (freq, p[0] / sum(p))


def test_choices_of_kernels():
    """A kernel chosen from a list whose members have a random parameter, by enumeration: the parameter
    moves although the chosen kernel's value changes with it."""
    x, ys = np.array([0.1, 1]), [0.8, -0.5]
    procs = "array(proc() { lookup(BK, 0) }, proc() { lookup(BK, 1) }, proc() { lookup(BK, 2) })"
    choices = {"uniform_categorical(BK)": (1, 1, 1), "categorical(array(1, 2, 3), BK)": (1, 2, 3),
               "log_categorical(array(log(3), log(2), log(1)), BK)": (3, 2, 1),
               "mem(proc(i) { uniform_categorical(BK) })(3)": (1, 1, 1),
               "if (flip(1/3)) { lookup(BK, 0) } else { uniform_categorical(rest(BK)) }": (1, 1, 1),
               "uniform_categorical(mapv(proc(f) { f() }, %s))" % procs: (1, 1, 1),
               "uniform_categorical(%s)()" % procs: (1, 1, 1)}
    for choice, w in choices.items():
        program = ("assume t = uniform_discrete(1, 3);"
                   "assume BK = list(make_whitenoise(t / 2), make_linear(t) + make_whitenoise(0.3),"
                   "                 make_squaredexp(t, 1) + make_whitenoise(0.3));"
                   "assume K = %s; assume g = make_gp(K); observe g(array(0.1, 1)) = array(0.8, -0.5);"
                   "define step = mh(default, one, 6);\n" % choice)
        got = chain(program, "array(t, struct(K))", 2500, 11)
        p = {}
        for t in (1, 2):
            grams = {"WN": (t / 2) ** 2 * np.eye(2), "LIN + WN": t * t * np.outer(x, x) + 0.09 * np.eye(2),
                     "SE + WN": se(x, x, t) + 0.09 * np.eye(2)}
            for (name, gram), weight in zip(grams.items(), w):
                p[(t, name)] = weight * math.exp(log_normal(ys, gram))
        total = sum(p.values())
        for (t, name), v in p.items():
            freq = sum(g == [t, name] for g in map(list, got)) / len(got)
            assert abs(freq - v / total) < 0.06, (choice, t, name, freq, v / total)


tests = [v for k, v in sorted(globals().items()) if k.startswith("test_")]
for t in tests:
    try:
        t()
    except AssertionError:
        print("in", t.__name__)
        raise
print("%d exact answers of gpmem agree" % len(tests))
