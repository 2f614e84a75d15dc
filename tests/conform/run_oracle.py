#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Differential test: random well-typed deterministic programs, run by the tool and by the slow
reference interpreter (tests/conform/reference); every printed line must agree to 1e-9.

    run_oracle.py TOOL [PROGRAMS [STATEMENTS [FIRST_SEED]]]

Literals are multiples of 1/4, so that plain arithmetic is exact in both and comparisons do not
turn on the last bit. A program that disagrees is printed with the first line that differs."""
import os, random, sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import oracle

tool = os.path.abspath(sys.argv[1])
PROGRAMS, STATEMENTS, FIRST = ([int(x) for x in sys.argv[2:]] + [12, 60, 1][len(sys.argv) - 2:])[:3]


class Gen:
    """Expressions by type: "num", "bool", "str", ("arr", n), ("list", n), ("mat", r, c)."""

    def __init__(self, seed):
        self.r = random.Random(seed)
        self.count = 0

    def fresh(self):
        self.count += 1
        return "v%d" % self.count

    def lit(self):
        return self.r.choice(["%g" % (self.r.randint(-12, 12) / 4), "%d" % self.r.randint(0, 9)])

    def e(self, t, d, env):
        """An expression of type t, at most d deep, over the variables env: name -> type."""
        names = [n for n, u in env.items() if u == t]
        if names and self.r.random() < 0.3:
            return self.r.choice(names)
        if d <= 0:
            return self.leaf(t, env)
        common = [self.cond, self.block, self.call]
        pick = self.r.random()
        if pick < 0.2:
            return self.r.choice(common)(t, d - 1, env)
        kind = t if isinstance(t, str) else t[0]
        return getattr(self, kind)(t, d - 1, env)

    def leaf(self, t, env):
        kind = t if isinstance(t, str) else t[0]
        if kind == "num":
            return self.lit()
        if kind == "bool":
            return self.r.choice(["true", "false"])
        if kind == "str":
            return '"%s"' % self.r.choice(["a", "b", "ab", ""])
        if kind == "mat":
            rows = ["[%s]" % ", ".join(self.lit() for _ in range(t[2])) for _ in range(t[1])]
            return "matrix([%s])" % ", ".join(rows)
        items = ", ".join(self.lit() for _ in range(t[1]))
        return ("list(%s)" if kind == "list" else self.r.choice(["[%s]", "array(%s)", "vector(%s)"])) % items

    # forms that exist at every type
    def cond(self, t, d, env):
        return "if (%s) { %s } else { %s }" % (self.e("bool", d, env), self.e(t, d, env), self.e(t, d, env))

    def block(self, t, d, env):
        u, n = self.any_type(), self.fresh()
        inner = dict(env)
        inner[n] = u
        form = self.r.choice(["{ %s = %s; %s }", "{ let %s = %s; %s }"])
        return form % (n, self.e(u, d, env), self.e(t, d, inner))

    def call(self, t, d, env):
        n, m = self.fresh(), self.fresh()
        inner = dict(env)
        u, w = self.any_type(), self.any_type()
        if self.r.random() < 0.5:
            inner[n] = u
            return "(%s -> %s)(%s)" % (n, self.e(t, d, inner), self.e(u, d, env))
        inner[n], inner[m] = u, w
        return "proc(%s, %s) { %s }(%s, %s)" % (n, m, self.e(t, d, inner), self.e(u, d, env), self.e(w, d, env))

    def any_type(self):
        n = self.r.randint(1, 4)
        return self.r.choice(["num", "num", "bool", "str", ("arr", n), ("list", n), ("mat", 2, self.r.randint(1, 3))])

    def num(self, t, d, env):
        x = lambda: self.e("num", d, env)
        n = self.r.randint(1, 4)
        arr = lambda k=n: self.e(("arr", k), d, env)
        lst = lambda k=n: self.e(("list", k), d, env)
        k = self.r.randrange(n)
        return self.r.choice([
            lambda: "%s + %s" % (self.p(x()), self.p(x())),
            lambda: "%s - %s" % (self.p(x()), self.p(x())),
            lambda: "%s * %s" % (self.p(x()), self.p(x())),
            lambda: "%s / %s" % (self.p(x()), self.r.choice(["2", "4", "0.5", "-8"])),
            lambda: "%s ** %s" % (self.p(x()), self.r.choice(["2", "3", "1"])),
            lambda: "-%s" % self.p(x()),
            lambda: "add(%s, %s, %s)" % (x(), x(), x()),
            lambda: "%s(%s)" % (self.r.choice(["abs", "floor", "signum", "negate", "real", "integer"]), x()),
            lambda: "%s(min(max(%s, -20), 20))" % (self.r.choice(["sin", "cos", "exp", "logistic", "expm1"]), x()),
            lambda: "%s(abs(%s) + 1)" % (self.r.choice(["log", "sqrt", "log1p"]), x()),
            lambda: "logit(%s)" % self.r.choice(["0.25", "0.5", "0.75"]),
            lambda: "%s(%s, %s)" % (self.r.choice(["min", "max", "hypot"]), x(), x()),
            lambda: "atan2(%s, %s)" % (x(), x()),
            lambda: "%s(floor(%s), %s)" % (self.r.choice(["int_div", "int_mod"]), x(), self.r.choice(["2", "3", "-3", "7"])),
            lambda: "biplex(%s, %s, %s)" % (self.e("bool", d, env), x(), x()),
            lambda: "lookup(%s, %d)" % (arr(), k),
            lambda: "%s[%d]" % (self.p(arr()), k),
            lambda: "lookup(%s, %d)" % (lst(), k),
            lambda: "%s(%s)" % (self.r.choice(["size", "length"]), self.r.choice([arr, lst])()),
            lambda: "sum(%s)" % arr(),
            lambda: "first(%s)" % self.r.choice([arr, lst])(),
            lambda: "second(%s)" % lst(n + 1),
            lambda: "argmax_of_array(%s)" % arr(),
            lambda: "vector_dot(%s, %s)" % (arr(), arr()),
            lambda: "logsumexp(mapv(x -> min(max(x, -20), 20), %s))" % arr(),
            lambda: "apply(%s, %s)" % (self.r.choice(["add", "mul"]), arr()),
            lambda: "matrix_trace(%s)" % self.e(("mat", 2, 2), d, env),
            lambda: "lookup(dict([\"a\", %s], [\"b\", %s]), \"%s\")" % (x(), x(), self.r.choice("ab")),
        ])()

    def p(self, text):
        return "(%s)" % text

    def bool(self, t, d, env):
        x = lambda: self.e("num", d, env)
        b = lambda: self.e("bool", d, env)
        n = self.r.randint(1, 3)
        return self.r.choice([
            lambda: "%s %s %s" % (self.p(x()), self.r.choice(["<", "<=", ">", ">=", "==", "!="]), self.p(x())),
            lambda: "%s %s %s" % (self.p(b()), self.r.choice(["&&", "||", "==", "!="]), self.p(b())),
            lambda: "not(%s)" % b(),
            lambda: "xor(%s, %s)" % (b(), b()),
            lambda: "%s == %s" % (self.p(self.e("str", d, env)), self.p(self.e("str", d, env))),
            lambda: "%s == %s" % (self.p(self.e(("list", n), d, env)), self.p(self.e(("list", n), d, env))),
            lambda: "%s == %s" % (self.p(self.e(("arr", n), d, env)), self.p(self.e(("arr", n), d, env))),
            lambda: "%s < %s" % (self.p(self.e("str", d, env)), self.p(self.e("str", d, env))),
            lambda: "contains(%s, %s)" % (self.e(("arr", n), d, env), x()),
            lambda: "is_empty(%s)" % self.e(("list", n), d, env),
            lambda: "%s(%s)" % (self.r.choice(["is_number", "is_boolean", "is_pair", "is_symbol", "is_procedure", "is_dict", "is_matrix", "is_integer"]),
                                self.e(self.any_type(), d, env)),
        ])()

    def str(self, t, d, env):
        return self.leaf(t, env)

    def arr(self, t, d, env):
        n = t[1]
        x = lambda: self.e("num", d, env)
        a = lambda k=n: self.e(("arr", k), d, env)
        f = lambda: self.fn(["num"], "num", d, env)
        more = self.r.randint(0, 2)
        choices = [
            lambda: "[%s]" % ", ".join(x() for _ in range(n)),
            lambda: "vector(%s)" % ", ".join(x() for _ in range(n)),
            lambda: "mapv(%s, %s)" % (f(), a()),
            lambda: "imapv(%s, %s)" % (self.fn(["num", "num"], "num", d, env), a()),
            lambda: "%s %s %s" % (self.p(a()), self.r.choice("+-*"), self.p(a())),
            lambda: "%s %s %s" % (self.p(x()), self.r.choice("+*-"), self.p(a())),
            lambda: "%s - %s" % (self.p(a()), self.p(x())),
            lambda: "append(%s, %s)" % (a(n - n // 2), a(n // 2)) if n > 1 else "fill(1, %s)" % x(),
            lambda: "take(%d, %s)" % (n, a(n + more)),
            lambda: "rest(%s)" % a(n + 1),
            lambda: "fill(%d, %s)" % (n, x()),
            lambda: "arange(%d)" % n,
            lambda: "to_array(%s)" % self.e(("list", n), d, env),
            lambda: "scale_vector(%s, %s)" % (x(), a()),
            lambda: "vector_add(%s, %s)" % (a(), a()),
            lambda: "row(%s, %d)" % (self.e(("mat", 2, n), d, env), self.r.randrange(2)),
            lambda: "matrix_times_vector(%s, %s)" % (self.e(("mat", n, 2), d, env), a(2)),
            lambda: "vector_times_matrix(%s, %s)" % (a(2), self.e(("mat", 2, n), d, env)),
            lambda: "[1, ..., %d]" % n,
        ]
        if n > 1:
            choices.append(lambda: "linspace(%s, %s, %d)" % (x(), x(), n))
        return self.r.choice(choices)()

    def list(self, t, d, env):
        n = t[1]
        x = lambda: self.e("num", d, env)
        return self.r.choice([
            lambda: "list(%s)" % ", ".join(x() for _ in range(n)),
            lambda: "pair(%s, %s)" % (x(), self.e(("list", n - 1), d, env) if n > 1 else "list()"),
            lambda: "rest(%s)" % self.e(("list", n + 1), d, env),
            lambda: "to_list(%s)" % self.e(("arr", n), d, env),
            lambda: "reverse(%s)" % self.e(("list", n), d, env),
            lambda: "take(%d, %s)" % (n, self.e(("list", n + 1), d, env)),
        ])()

    def mat(self, t, d, env):
        _, r, c = t
        m = lambda i=r, j=c: self.e(("mat", i, j), d, env)
        return self.r.choice([
            lambda: "matrix([%s])" % ", ".join(self.e(("arr", c), d, env) for _ in range(r)),
            lambda: "transpose(%s)" % m(c, r),
            lambda: "matrix_mul(%s, %s)" % (m(r, 2), m(2, c)),
            lambda: "id_matrix(%d)" % r if r == c else self.leaf(t, env),
        ])()

    def fn(self, args, result, d, env):
        names = [self.fresh() for _ in args]
        inner = dict(env)
        inner.update(zip(names, args))
        body = self.e(result, d, inner)
        if len(names) == 1 and self.r.random() < 0.5:
            return "%s -> %s" % (names[0], body)
        return "proc(%s) { %s }" % (", ".join(names), body)

    def program(self, n):
        lines, defined, assumed = [], {}, {}
        for _ in range(n):
            t = self.any_type()
            kind = self.r.random()
            if kind < 0.15:
                v = self.fresh()
                lines.append("define %s = %s;" % (v, self.e(t, 3, defined)))
                defined[v] = t
            elif kind < 0.3:
                v = self.fresh()
                lines.append("assume %s = %s;" % (v, self.e(t, 3, assumed)))
                assumed[v] = t
            elif kind < 0.5:
                lines.append("%s (%s);" % (self.r.choice(["sample", "predict"]), self.e(t, 3, assumed)))
            else:
                lines.append("%s;" % self.e(t, 4, defined))
        return "\n".join(lines) + "\n"


def make(seed):
    return Gen(seed).program(STATEMENTS), 1e-9


sys.exit(oracle.compare_all(tool, make, range(FIRST, FIRST + PROGRAMS), "programs"))
