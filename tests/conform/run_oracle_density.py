#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Differential test of log densities: random models, run by the tool and by the slow reference
interpreter (tests/conform/reference), which executes the whole model again for every change.

    run_oracle_density.py TOOL [PROGRAMS [FIRST_SEED]]

Every random choice is forced to a value of its support as soon as it exists, so both print the
same: values, joint density, likelihood, statistics, numbers of blocks; then choices that decide
about the structure are forced to other values, observations are forgotten, names frozen, and all
is printed again. A line must agree to 1e-9, in models with a Gaussian process to 1e-6 (the
reference adds jitter). Programs whose densities run into +-inf are compared too."""
import os, random, sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import oracle

tool = os.path.abspath(sys.argv[1])
PROGRAMS, FIRST = ([int(x) for x in sys.argv[2:]] + [24, 1][len(sys.argv) - 2:])[:2]

# name, parameter types, type of the value
DISTS = [("normal", "real pos", "real"), ("normal", "real pos", "real"), ("laplace", "real pos", "real"),
         ("student_t", "pos real pos", "real"), ("gamma", "pos pos", "pos"), ("inv_gamma", "pos pos", "pos"),
         ("expon", "pos", "pos"), ("lognormal", "real pos", "pos"), ("beta", "pos pos", "unit"),
         ("flip", "unit", "bool"), ("flip", "unit", "bool"), ("bernoulli", "unit", "bit"),
         ("binomial", "five unit", "count5"), ("poisson", "pos", "count"), ("uniform_discrete", "zero three", "three"),
         ("categorical", "weights", "three"), ("log_odds_flip", "real", "bool"), ("exactly", "real penalty", "real")]


class Gen:
    def __init__(self, seed):
        self.r = random.Random(seed)
        self.lines, self.env, self.choices, self.branchy = [], {}, {}, []
        self.labels, self.frozen, self.scopes, self.makers, self.gps = [], set(), set(), [], []
        self.count, self.gp = 0, False

    def fresh(self, prefix):
        self.count += 1
        return "%s%d" % (prefix, self.count)

    def value(self, t):
        """A literal in the support of t."""
        r = self.r
        return {"real": lambda: "%g" % (r.randint(-8, 8) / 4), "pos": lambda: "%g" % (r.randint(1, 12) / 4),
                "unit": lambda: "%g" % (r.randint(1, 7) / 8), "bool": lambda: r.choice(["true", "false"]),
                "bit": lambda: r.choice("01"), "count5": lambda: str(r.randint(0, 5)), "count": lambda: str(r.randint(0, 6)),
                "three": lambda: str(r.randint(0, 2)), "five": lambda: "5", "zero": lambda: "0",
                "penalty": lambda: "-%d" % r.randint(1, 3),
                "weights": lambda: "[%s]" % ", ".join(str(r.randint(1, 4)) for _ in range(3))}[t]()

    def names(self, t):
        return [n for n, u in self.env.items() if u == t]

    def e(self, t, d=2):
        """An expression of type t over the assumed names; it makes no choice of its own."""
        r, known = self.r, self.names(t)
        if known and r.random() < 0.5:
            return r.choice(known)
        if t == "three" and r.random() < 0.3 and self.names("bool"):
            return "if (%s) { %s } else { %s }" % (r.choice(self.names("bool")), self.value(t), self.value(t))
        if t in ("five", "zero", "penalty", "weights", "bit", "count", "count5", "three") or d == 0:
            return self.value(t)
        forms = {"real": ["%s + %s" % (self.e("real", d - 1), self.e("real", d - 1)),
                          "%s * 0.5" % self.paren(self.e("real", d - 1)), "log(%s)" % self.e("pos", d - 1),
                          "lookup([%s, %s], %s)" % (self.e("real", d - 1), self.e("real", d - 1), self.index())],
                 "pos": ["abs(%s) + 0.25" % self.e("real", d - 1), "%s * 2" % self.paren(self.e("pos", d - 1)),
                         "%s + %s" % (self.e("pos", d - 1), self.e("unit", d - 1))],
                 "unit": ["logistic(%s)" % self.e("real", d - 1), "%s / 2" % self.paren(self.e("unit", d - 1))],
                 "bool": ["%s < %s" % (self.e("real", d - 1), self.e("real", d - 1)), "not(%s)" % self.e("bool", d - 1)]}[t]
        forms.append("if (%s) { %s } else { %s }" % (self.e("bool", d - 1), self.e(t, d - 1), self.e(t, d - 1)))
        forms.append("(u -> %s)(%s)" % (self.e(t, d - 1), self.e("real", d - 1)))
        forms.append("{ w = %s; %s }" % (self.e("pos", d - 1), self.e(t, d - 1)))
        return r.choice(forms)

    def paren(self, text):
        return "(%s)" % text

    def index(self):
        bits = self.names("bit")
        return self.r.choice(bits) if bits and self.r.random() < 0.7 else self.r.choice("01")

    def args(self, params):
        return ", ".join("3" if p == "three" else self.e(p) for p in params.split())

    def dist(self, t=None):
        name, params, out = self.r.choice([d for d in DISTS if t is None or d[2] == t])
        if name == "exactly" and self.r.random() < 0.5:
            return "normal(%s)" % self.args("real pos"), "real"
        return "%s(%s)" % (name, self.args(params)), out

    def tagged(self, text):
        if self.r.random() < 0.7:
            return text
        s = self.r.choice("st")
        self.scopes.add(s)
        return self.r.choice(['tag("%s", %d, %s)' % (s, self.r.randint(0, 2), text), 'tag(scope="%s", %s)' % (s, text)])

    def force(self, n):
        if n in self.choices and n not in self.frozen:
            self.lines.append("force %s = %s;" % (n, self.value(self.choices[n])))

    def add_choice(self):
        n, shape = self.fresh("x"), self.r.random()
        if shape < 0.55:
            text, t = self.dist()
        elif shape < 0.75:
            text, t = self.dist()
            text = "if (%s) { %s } else { %s }" % (self.e("bool"), self.tagged(text), self.dist(t)[0])
            self.branchy.append(n)
        elif shape < 0.85:
            body, t = self.dist()
            f = self.fresh("f")
            self.lines.append("assume %s = mem(proc(i) { %s });" % (f, self.tagged(body)))
            text = "%s(%s)" % (f, self.r.choice(["1", "[1, 2]", '"a"']))
        elif shape < 0.93:
            body, t = self.dist()
            f = self.fresh("p")
            self.lines.append("assume %s = proc(i) { %s };" % (f, body))
            text = "%s(%s)" % (f, self.e("real"))
        else:
            # constant arguments: other ones would be applied anew, with a new choice
            text, t = "apply(normal, [%s, %s])" % (self.value("real"), self.value("pos")), "real"
        self.lines.append("assume %s = %s;" % (n, self.tagged(text)))
        self.env[n] = self.choices[n] = t
        self.force(n)

    def add_value(self):
        n, t = self.fresh("d"), self.r.choice(["real", "pos", "unit", "bool"])
        self.lines.append("assume %s = %s;" % (n, self.e(t, 3)))
        self.env[n] = t

    def add_observation(self):
        text, t = self.dist()
        if text.startswith("exactly"):
            return
        label = ""
        if self.r.random() < 0.5:
            label = self.fresh("l")
            self.labels.append(label)
            label += ": "
        self.lines.append("%sobserve %s = %s;" % (label, text, self.value(t)))

    def add_maker(self):
        f = self.fresh("c")
        maker, t = self.r.choice([("make_beta_bernoulli(%s, %s)", "bool"), ("make_gamma_poisson(%s, %s)", "count"),
                                  ("make_nig_normal(0, %s, 2, %s)", "real"), ("make_suff_stat_normal(%s, %s)", "real"),
                                  ("make_dir_cat([%s, 1, %s])", "three"), ("make_crp(%s)", "table")])
        k = maker.count("%s")
        self.lines.append("assume %s = %s;" % (f, maker % tuple(self.e("pos") for _ in range(k))))
        seen = 0
        for _ in range(self.r.randint(1, 4)):
            v = self.value(t) if t != "table" else str(self.r.randint(1, seen + 1))
            seen = max(seen, int(v)) if t == "table" else 0
            self.lines.append("observe %s() = %s;" % (f, v))
        if self.r.random() < 0.5:  # an application that nobody observed
            n = self.fresh("a")
            self.lines.append("assume %s = %s();\nforce %s = %s;" % (n, f, n, self.value(t) if t != "table" else "1"))
            self.env[n] = t
            if t != "table":
                self.choices[n] = t
        if t == "bool":
            self.lines.append("extract_stats(%s);" % f)
        self.makers.append((f, "1" if t == "table" else self.value(t)))

    def add_gp(self):
        self.gp, g = True, self.fresh("g")
        kernel = self.r.choice(["make_squaredexp(%s, %s)", "make_periodic(%s, 1.5, %s)", "make_rq(%s, %s, 2)",
                                "add_funcs(make_linear(%s), make_constant(%s))"]) % (self.e("pos"), self.e("pos"))
        kernel = "add_funcs(%s, make_whitenoise(0.5))" % kernel
        if self.r.random() < 0.5:
            self.lines.append("assume %s = make_gp(make_const_func(%s), %s);" % (g, self.e("real"), kernel))
            self.lines.append("observe %s([0, 0.5, 2]) = [0.1, -0.4, 1];" % g)
        else:
            f = self.fresh("h")
            self.lines.append("assume (%s, %s) = gpmem(proc(x) { x * %s }, %s);" % (f, g, self.value("real"), kernel))
            self.lines.append("assume %s = %s(0.5);" % (self.fresh("y"), f))
        self.lines.append("observe %s(1.25) = 0.75;" % g)
        self.gps.append(g)

    def show(self):
        out = ["run(global_log_joint);", "run(global_log_likelihood);", "sample [%s];" % ", ".join(self.env)]
        out += ["run(num_blocks(default));"] + ['run(num_blocks("%s"));' % s for s in sorted(self.scopes)]
        out += ["sample assess(%s, %s);" % (v, f) for f, v in self.makers]
        out += ["sample assess([0.5, 1], %s, [3, 4]);" % g for g in self.gps]
        self.lines += out

    def change(self):
        kind = self.r.random()
        if kind < 0.7:
            for n in self.r.sample(sorted(self.choices), min(2, len(self.choices))):
                self.force(n)
            for n in self.branchy:
                self.force(n)
        elif kind < 0.85 and self.labels:
            label = self.labels.pop(self.r.randrange(len(self.labels)))
            self.lines.append("forget(quote(%s));" % label)
        elif self.choices:
            n = self.r.choice(sorted(self.choices))
            self.frozen.add(n)
            self.lines.append("infer freeze(quote(%s));" % n)

    def program(self):
        steps = [self.add_choice] * 5 + [self.add_value] * 2 + [self.add_observation] * 2
        steps += self.r.choice([[], [self.add_maker], [self.add_gp], [self.add_maker, self.add_gp]])
        for _ in range(self.r.randint(6, 14)):
            self.r.choice(steps)()
        if not self.env:
            self.add_choice()
        self.show()
        for _ in range(4):
            self.change()
            self.show()
        return "\n".join(self.lines) + "\n"


def make(seed):
    gen = Gen(seed)
    return gen.program(), 1e-6 if gen.gp else 1e-9


sys.exit(oracle.compare_all(tool, make, range(FIRST, FIRST + PROGRAMS), "models"))
