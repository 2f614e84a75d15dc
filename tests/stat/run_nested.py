#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Inference inside models, against exact answers: nested queries, planning, a doubly intractable model, particle
marginal Metropolis-Hastings, nested sequential Monte Carlo, gpmem of nested evidences; and that a run depends on what it
reads, is a function of its stream, and leaves nothing behind. Usage: run_nested.py TOOL"""
import functools, itertools, json, math, os, re, subprocess, sys, tempfile

import numpy as np

TOOL = os.path.abspath(sys.argv[1])
EXAMPLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../examples")
bad = []


def run(text, seed=1, expect=0):
    with tempfile.NamedTemporaryFile("w", suffix=".vnts", delete=False) as f: f.write(text)
    try:
        r = subprocess.run([TOOL, "run", "--seed", str(seed), f.name], capture_output=True, text=True, timeout=300)
    finally:
        os.unlink(f.name)
    if r.returncode != expect: sys.exit("exit status %d\n%s\n%s" % (r.returncode, r.stderr, text))
    return r.stdout.strip().splitlines() if expect == 0 else r.stderr


def example(name, change=lambda t: t):
    with open(os.path.join(EXAMPLES, name)) as f: return run(change(f.read()))


def close(what, got, want, error=1e-9):
    got, want = np.ravel(got), np.ravel(want)
    ok = got.shape == want.shape and np.all(np.abs(got - want) <= error)
    print("%s %-34s %s, exact %s" % ("ok  " if ok else "FAIL", what, np.round(got, 5), np.round(want, 5)))
    if not ok: bad.append(what)


# Rational speech acts (Frank and Goodman 2012).
out = example("speakers.vnts")
close("rational speech acts", json.loads(out[1]), [0.6, 0.4])


# Planning: the recursion that the model writes down, as numbers.
def go(p, s): return p + s if 0 <= p + s < 5 else p


@functools.lru_cache(None)
def worth(p, s, left):
    def after(to):
        if left == 1: return {4: 1, 0: 0.3}.get(to, 0)
        return sum(q * worth(to, step, left - 1) for step, q in zip((-1, 1), act(to, left - 1)))
    return 0.8 * after(go(p, s)) + 0.2 * after(p)


@functools.lru_cache(None)
def act(p, left):
    w = np.exp([5 * worth(p, s, left) for s in (-1, 1)])
    return tuple(w / w.sum())


out = example("planning.vnts")
close("planning, three steps left", json.loads(out[0]), act(1, 3))
close("planning, two steps left", json.loads(out[1]), act(1, 2))

# Doubly intractable: the normalizing constant of a chain of spins is an exact evidence inside the model.
SPINS = """
assume fields = [0, 0.25, 0.5, 0.75, 1];
assume k = uniform_discrete(0, 5);
assume agree = proc(s) { sum(mapv(proc(i) { if (s[i] == s[i + 1]) { 1 } else { 0 } }, arange(4))) };
assume log_z = mem(proc(field) {
  run(do(assume(s, mapv(proc(i) { flip(0.5) }, arange(5))), factor(field * agree(s)), exact_log_evidence())) + 5 * log(2)
});
define seen = [true, true, true, false, false];
factor(fields[k] * agree(seen) - log_z(fields[k]));
define d = run(exact_posterior(k));
probabilities(d);
"""


def log_z(b):
    return math.log(sum(math.exp(b * sum(s[i] == s[i + 1] for i in range(4))) for s in itertools.product((0, 1), repeat=5)))


w = np.array([math.exp(3 * b - log_z(b)) for b in (0, 0.25, 0.5, 0.75, 1)])
close("a doubly intractable model", json.loads(run(SPINS)[0]), w / w.sum())

# gpmem of nested evidences: the probed function is exact, and the emulator passes through it.
out = run("""
assume evidence = proc(s) {
  run(do(assume(z, flip(s)), observe(flip(if (z) { 0.9 } else { 0.2 }), true), exact_log_evidence()))
};
assume (probe, emulate) = gpmem(evidence, make_squaredexp(1, 1));
predict probe([0.1, 0.5, 0.9]);
sample emulate(0.5);
infer checkInvariants();
""")
exact = [math.log(0.9 * s + 0.2 * (1 - s)) for s in (0.1, 0.5, 0.9)]
close("gpmem of nested evidences", json.loads(out[0]), exact)
close("its emulator", float(out[1]), exact[1], 1e-6)

# A kernel written as a procedure that runs inference of its own: k(x, y) = p(x) p(y) + [x = y].
out = run("""
assume p = proc(x) {
  exp(assess(true, run(do(assume(z, flip(0.3)), observe(normal(z, 1), x), exact_posterior(z)))))
};
assume f = make_gp(proc(x, y) { p(x) * p(y) + if (x == y) { 1 } else { 0 } });
observe f(0) = 1;
observe f(1) = 0.5;
define l = run(global_log_likelihood);
print(l);
""".replace("normal(z, 1)", "normal(if (z) { 1 } else { 0 }, 1)"))


def p_of(x):
    a, b = 0.3 * math.exp(-0.5 * (x - 1) ** 2), 0.7 * math.exp(-0.5 * x * x)
    return a / (a + b)


K, y = np.outer([p_of(0), p_of(1)], [p_of(0), p_of(1)]) + np.eye(2), np.array([1, 0.5])
want = -0.5 * y @ np.linalg.solve(K, y) - 0.5 * math.log(np.linalg.det(K)) - math.log(2 * math.pi)
close("a kernel with inference inside", json.loads(out[0]), [want], 1e-8)

# Particle marginal Metropolis-Hastings against the Kalman filter on a grid.
YS = [0.6, 1.4, 0.3, -0.9]


def log_likelihood(a):
    m, v, total = 0, 1, 0
    for t, y in enumerate(YS):
        if t: m, v = a * m, a * a * v + 1
        s = v + 0.25
        total += -0.5 * math.log(2 * math.pi * s) - 0.5 * (y - m) ** 2 / s
        m, v = m + v / s * (y - m), v * (1 - v / s)
    return total


grid = (np.arange(2000) + 0.5) / 2000
w = np.exp([log_likelihood(a) for a in grid])
w /= w.sum()
mean = (grid * w).sum()
STEPS = 3000
out = example("pmmh.vnts", lambda t: re.sub(r"arange\(300\)", "arange(%d)" % STEPS, re.sub(
    r"/ 300", "/ %d" % STEPS, t)).replace("define particles = 20", "define particles = 8").replace(
    "[0.6, 1.4, 0.3, -0.9, -0.4, 0.8, 1.9, 1.1]", str(YS)))
close("particle marginal MH", float(out[0].split(":")[1]), mean, 0.035)  # 5 standard errors of about 400 effective draws

# Nested SMC: particles of the outer filter weigh by filters of their own; the evidence is unbiased.
NESTED_SMC = """
assume m = normal(0, 1);
assume inner = proc(y) {
  run(do(resample(4), assume(z, normal(m, 1)), observe(normal(z, 1), y), w <- particle_log_weights(), return(logsumexp(w))))
};
infer resample(20);
factor(inner(0.7));
infer resample(20);
factor(inner(-0.2));
define w = run(particle_log_weights());
exp(logsumexp(w));
"""
ratios = np.array([float(run(NESTED_SMC, seed)[-1]) for seed in range(1, 61)])
cov = np.array([[3, 1], [1, 3]])
y = np.array([0.7, -0.2])
want = math.exp(-0.5 * y @ np.linalg.solve(cov, y)) / (2 * math.pi * math.sqrt(np.linalg.det(cov)))
close("nested SMC, mean evidence", ratios.mean(), want, 4 * ratios.std() / math.sqrt(len(ratios)))

# What a run depends on: names of the model, of procedures it calls, of lists of procedures, behind references.
out = run("""
assume a = tag("a", 0, normal(0, 1));
assume fs = list(proc(x) { x + a });
assume through = proc(f, x) { f(x) };
assume r = ref(a);
assume b = run(action(through(first(fs), 1)));
assume c = run(action(deref(r)));
assume g = mem(proc(x) { a * x });
assume d = run(do(assume(z, exactly(2)), sample(g(z))));
infer mh("a", all, 5);
infer checkInvariants();
sample list(b - a, c - a, d - 2 * a);
""")
close("what a run depends on", [float(x) for x in out[-1].strip("()").split(",")], [1, 0, 0])

# A name means what it means where it was written.
out = run("""
assume p = 0.25;
assume prior = proc() { exactly(p) };
assume q = run(do(assume(p, 0.75), assume(s, prior()), sample(list(p, s))));
sample q;
assume shadow = proc(p) { run(do(assume(s, exactly(p)), sample(s))) };
sample shadow(7);
""")
if out != ["(0.75, 0.25)", "7"]: bad.append("names"); print("FAIL names:", out)

# A run that draws is a choice; an exact one is none.
out = run("""
assume a = flip(0.5);
assume exact = run(do(assume(x, flip(if (a) { 0.3 } else { 0.6 })), exact_posterior(x)));
define one = run(num_blocks(default));
print(one);
assume drawn = run(do(assume(x, flip(0.5)), sample(x)));
define two = run(num_blocks(default));
print(two);
""")
if out != ["[1]", "[2]"]: bad.append("choices"); print("FAIL choices:", out)

# The same seed gives the same draws, and what the runs do does not change what the rest draws.
TWO = "assume a = run(do(assume(x, normal(0, 1)), %s, sample(x)));\nassume b = normal(0, 1);\nsample list(a, b);"
first, again, longer = (run(TWO % s)[0] for s in ("pass", "pass", "mh(default, one, 7)"))
if first != again or first.split(",")[1] != longer.split(",")[1]: bad.append("streams"); print("FAIL streams:", first, again, longer)

# Models are freed when nothing reaches them.
LEAK = """
assume a = normal(0, 1);
assume b = first(run(do(m <- new_model(), r <- in_model(m, do(assume(x, mem(proc(t) { normal(a, 1) })), sample(x(1)))), return(r))));
infer mh(default, one, %d);
"""
sizes = []
for n in (1000, 11000):
    with tempfile.NamedTemporaryFile("w", suffix=".vnts") as f:
        f.write(LEAK % n)
        f.flush()
        r = subprocess.run(["/usr/bin/python3", "-c", "import resource, subprocess, sys\nsubprocess.run(sys.argv[1:], check=True)\n"
                            "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)", TOOL, "run", f.name],
                           capture_output=True, text=True, check=True)
    sizes.append(int(r.stdout.split()[-1]))
print("     10,000 models more: %d KB after %d KB" % (sizes[1] - sizes[0], sizes[0]))
if sizes[1] - sizes[0] > 1500: bad.append("memory")

# Refused, with the reason.
for text, why in ((
        "assume f = make_beta_bernoulli(1, 1);\nassume x = run(sample(f()));", "keeps statistics of the model around"), (
        "define m = run(new_model());\nassume x = run(in_model(m, sample(flip())));", "models that it makes itself"), (
        "assume x = run(exact_posterior(normal(0, 1)));", "E0503"), (
        "assume y = run(do(assume(x, flip(0.5)), observe(exactly(x && !x), true), exact_posterior(x)));".replace("!x", "not(x)"),
        "no state of the model"), (
        "assume f = proc(n) { run(sample(f(n + 1))) };\nassume x = f(0);", "without end"), (
        'assume m = tag("m", 0, normal(0, 1));\nassume x = run(return(m * 2));\nobserve normal(x, 1) = 1;\ninfer hmc("m", all, 0.1, 3, 1);',
        "has no gradient")):
    said = run(text, expect=1)
    if why not in said: bad.append(why); print("FAIL %s:\n%s" % (why, said))

print("%d failed" % len(bad))
sys.exit(1 if bad else 0)
