#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Random discrete models: the posterior, enumerated with the log densities of the slow reference
interpreter (tests/conform/reference), against what each operator draws.

    run_oracle_posterior.py TOOL [MODELS [FIRST_SEED]]

A model has three or four named choices, some of them in branches, behind mem or tagged into one
block. The reference forces every joint assignment and prints its density. Every operator starts in
a new model per replicate, so draws are independent; chi-square, p at least 1e-6."""
import itertools, math, os, random, subprocess, sys, tempfile

from scipy import stats as st

root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
oracle = os.path.join(root, "tests", "conform", "reference", "vsref.py")
TOOL = os.path.abspath(sys.argv[1])
MODELS, FIRST = ([int(x) for x in sys.argv[2:]] + [5, 1][len(sys.argv) - 2:])[:2]
REPLICATES, P_MIN = 300, 1e-6
OPERATORS = ["mh(default, one, 150)", "mh(default, all, 60)", "gibbs(default, one, 60)", "gibbs(default, all, 40)",
             "repeat(20, do(gibbs(\"s\", each, 1), mh(default, one, 4)))", "rejection(default, all, 1)",
             "pgibbs(default, ordered, 10, 20)", "do(gibbs(\"s\", all, 2), gibbs(default, one, 60))"]


class Model:
    def __init__(self, seed):
        r = self.r = random.Random(seed)
        self.names, self.supports, self.lines = [], [], []
        for i in range(r.randint(3, 4)):
            self.add("x%d" % i)
        for _ in range(2):
            self.lines.append(r.choice([
                "observe normal(%s, %g) = %g;" % (self.number(), r.choice([0.7, 1, 2]), r.randint(-2, 6) / 2),
                "observe flip(%s) = true;" % self.prob(), "observe poisson(%s + 0.5) = %d;" % (self.number(), r.randint(0, 4))]))

    def prob(self):
        r = self.r
        p = "%g" % (r.randint(1, 9) / 10)
        if not self.names or r.random() < 0.3:
            return p
        return "if (%s) { %s } else { %g }" % (self.cond(), p, r.randint(1, 9) / 10)

    def cond(self):
        n = self.r.choice(self.names)
        return n if self.supports[self.names.index(n)] == 2 else "%s == %d" % (n, self.r.randint(0, 2))

    def number(self):
        return " + ".join("if (%s) { %d } else { 0 }" % (self.cond(), k + 1) for k in range(self.r.randint(1, 2))).join("()")

    def choice(self, size):
        r = self.r
        if size == 2:
            return "flip(%s)" % self.prob()
        return r.choice(["categorical([%d, %d, %d])" % tuple(r.randint(1, 4) for _ in range(3)), "uniform_discrete(0, 3)",
                         "binomial(2, %s)" % self.prob()])

    def add(self, name):
        r, size = self.r, self.r.choice([2, 2, 3])
        text, shape = self.choice(size), r.random()
        if shape < 0.3 and self.names:
            text = "if (%s) { %s } else { %s }" % (self.cond(), text, self.choice(size))
        elif shape < 0.5:
            self.lines.append("assume f_%s = mem(proc(i) { %s });" % (name, text))
            text = "f_%s(%d)" % (name, r.randint(0, 3))
        text = 'tag("s", %d, %s)' % (r.randint(0, 1), text) if not self.names or r.random() < 0.5 else text
        self.lines.append("assume %s = %s;" % (name, text))
        self.names.append(name)
        self.supports.append(size)

    def literal(self, i, v):
        return ("true" if v else "false") if self.supports[i] == 2 else str(v)

    def states(self):
        return list(itertools.product(*[range(k) for k in self.supports]))


def run(command, text):
    with tempfile.NamedTemporaryFile("w", suffix=".vnts") as f:
        f.write(text)
        f.flush()
        p = subprocess.run(command + ["run", "--seed", "1", f.name], capture_output=True, text=True, timeout=600)
    if p.returncode != 0:
        print(p.stderr[-2000:], text)
        sys.exit(1)
    return p.stdout.splitlines()


def posterior(m):
    """Forcing in the order of the names: a later choice may be drawn anew when an earlier one moves."""
    text = "\n".join(m.lines) + "\n"
    for s in m.states():
        text += "".join("force %s = %s; " % (n, m.literal(i, v)) for i, (n, v) in enumerate(zip(m.names, s)))
        text += "run(global_log_joint);\n"
    logs = [float(line.strip("[]")) for line in run(["/usr/bin/python3", oracle], text)]
    top = max(logs)
    w = [math.exp(x - top) for x in logs]
    return dict(zip(m.states(), [x / sum(w) for x in w]))


def draws(m, operator):
    body = "".join("    %s\n" % line for line in m.lines)
    code = "0"
    for i, n in enumerate(m.names):
        digit = "(if (%s) { 1 } else { 0 })" % n if m.supports[i] == 2 else n
        code = "(%s) * 3 + %s" % (code, digit)
    text = "define once = proc() { first(run(in_model(run(new_model()), {\n%s    %s;\n    sample %s\n}))) };\n" % (body, operator, code)
    text += "mapv(proc(i) { once() }, arange(%d));\n" % REPLICATES
    out = []
    for x in run([TOOL], text)[0].strip("[]").split(","):
        digits, k = [], int(float(x))
        for _ in m.names:
            digits.append(k % 3)
            k //= 3
        out.append(tuple(reversed(digits)))
    return out


def p_value(exact, got):
    """Chi-square, with states of little mass put together."""
    big = [s for s, p in exact.items() if p * len(got) >= 5]
    obs, want = [sum(g == s for g in got) for s in big], [exact[s] * len(got) for s in big]
    obs.append(len(got) - sum(obs))
    want.append(len(got) - sum(want))
    if want[-1] < 1e-6 * len(got):
        if obs[-1]:
            return 0.0
        obs.pop(), want.pop()
    if len(obs) < 2:
        return 1.0
    stat = sum((o - w) ** 2 / w for o, w in zip(obs, want))
    return float(st.chi2.sf(stat, len(obs) - 1))


bad, tests, least = 0, 0, 1.0
for seed in range(FIRST, FIRST + MODELS):
    m = Model(seed)
    exact = posterior(m)
    for operator in OPERATORS:
        p = p_value(exact, draws(m, operator))
        tests += 1
        least = min(least, p)
        if p < P_MIN:
            bad += 1
            print("model of seed %d, %s: p = %.3g\n%s" % (seed, operator, p, "\n".join(m.lines)))
print("%d models, %d comparisons, smallest p %.3g, %d wrong" % (MODELS, tests, least, bad))
sys.exit(1 if bad else 0)
