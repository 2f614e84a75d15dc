"""Random well-typed models run through random operators.

A program is a list of assumes (numbers, booleans and sequences: random choices with arguments
computed from earlier ones, arithmetic, control flow, recursion, procedures of higher order, mem, makers, tags),
some observations, then operators in random order, more observations, forgetting and reports. Every
program must end with status 0, or with an error that is the program's own fault (impossible values,
no gradient, no bound, not enumerable, not continuous); never by a signal, a sanitizer report or a
failed check of the trace (the development build checks it after every transition).
"""
import os, random, re, subprocess, sys, tempfile, time

# Errors that a random program may earn: domain, NaN, enumeration, continuity, gradient, bound, impossible, numeric.
ALLOWED = {"E0206", "E0503", "E0504", "E0505", "E0506", "E0508", "E0215", "E0406", "E0604", "E0511", "E0703"}


class Gen:
    def __init__(self, seed):
        self.r = random.Random(seed)
        self.nums, self.bools, self.procs, self.mems, self.coins, self.crps = [], [], [], [], [], []
        self.vecs, self.lines, self.n, self.labels = [], [], 0, []

    def fresh(self, kind):
        self.n += 1
        return "%s%d" % (kind, self.n)

    def const(self):
        return repr(round(self.r.uniform(-2, 2), 2)) if self.r.random() < 0.7 else str(self.r.randint(0, 3))

    def positive(self, d):
        return self.r.choice(["0.5", "1", "2", "exp(%s / 4)" % self.num(d - 1), "0.3 + abs(%s)" % self.num(d - 1)]) \
            if d > 0 else "1"

    def prob(self, d):
        return self.r.choice(["0.3", "0.6", "logistic(%s)" % self.num(d - 1)]) if d > 0 else "0.5"

    def num(self, d=2):
        r = self.r
        if d <= 0 or r.random() < 0.25:
            return r.choice(self.nums) if self.nums and r.random() < 0.8 else self.const()
        a = lambda: self.num(d - 1)
        options = [
            lambda: "(%s + %s)" % (a(), a()), lambda: "(%s - %s)" % (a(), a()), lambda: "(0.5 * %s)" % a(),
            lambda: "sin(%s)" % a(), lambda: "min(3, max(-3, %s * %s))" % (a(), a()),
            lambda: "(if (%s) { %s } else { %s })" % (self.boolean(d - 1), a(), a()),
            lambda: self.draw(d - 1), lambda: self.draw(d - 1), lambda: self.draw(d - 1), lambda: self.tag(self.draw(d - 1)),
            lambda: "{ let v = %s; v + %s }" % (a(), a()),
            lambda: "sum(mapv(proc(q) { q + %s }, [%s, %s]))" % (a(), a(), a()),
            lambda: "lookup([%s, %s], if (%s) { 1 } else { 0 })" % (a(), a(), self.boolean(d - 1)),
            lambda: "deref(ref(%s))" % a(), lambda: "apply(proc(q, w) { q - w }, [%s, %s])" % (a(), a()),
        ]
        options += [lambda: self.part(d - 1)] * 3
        if self.procs: options += [lambda: "%s(%s)" % (r.choice(self.procs), a())] * 2
        if self.mems: options += [lambda: "%s(%s)" % (r.choice(self.mems), self.key(d - 1))] * 3
        if self.crps: options += [lambda: "%s(%s())" % r.choice(self.crps)]
        return r.choice(options)()

    def vec(self, d, n):
        """A sequence of n numbers: a name, built, computed elementwise, rearranged, mapped or drawn."""
        r, a = self.r, lambda: self.num(d - 1)
        names = [v for v, k in self.vecs if k == n]
        if names and r.random() < 0.4: return r.choice(names)
        items = lambda: ", ".join(self.const() for _ in range(n))
        if d <= 0: return r.choice(["[%s]", "vector(%s)"]) % items()
        v, w = (lambda: self.vec(d - 1, n)), r.randint(1, n - 1)
        some = "[%s]" % ", ".join(str(r.randrange(n)) for _ in range(n))
        return r.choice([
            lambda: "[%s]" % ", ".join([a(), a()] + [self.const() for _ in range(n - 2)]),
            lambda: "(%s + %s * %s)" % (v(), a(), v()), lambda: "(%s - %s / 2)" % (a(), v()), lambda: "sin(%s)" % v(),
            lambda: "reverse(%s)" % v(), lambda: "to_vector(%s)" % v(),
            lambda: "append(take(%d, %s), drop(%d, %s))" % (w, v(), w, v()), lambda: "fill(%d, %s)" % (n, a()),
            lambda: "{ let u = %s; mapv(i -> u[i] + %s, %s) }" % (v(), a(), some),
            lambda: "min(4, max(-4, %s * %s))" % (v(), v()),
            lambda: "normal(%s, %s)" % (v(), self.positive(d - 1)), lambda: "normal(%s, 1)" % v(),
            lambda: "matrix_times_vector(matrix([%s]), %s)" % (", ".join("[%s]" % items() for _ in range(n)), v())])()

    def part(self, d):
        """A number made of a sequence."""
        r, n = self.r, self.r.choice([2, 3, 9])
        v = lambda: self.vec(d, n)
        return r.choice([
            lambda: "%s[%d]" % (v(), r.randrange(n)), lambda: "%s[%s]" % (v(), self.key(d) if n > 2 else "1"),
            lambda: "sum(%s)" % v(), lambda: "logsumexp(%s)" % v(), lambda: "max(%s)" % v(), lambda: "last(%s)" % v(),
            lambda: "first(rest(%s))" % v(), lambda: "(vector_dot(%s, %s) / 9)" % (v(), v())])()

    def key(self, d):
        return self.r.choice(["0", "1", "2", "floor(min(2, abs(%s)))" % self.num(d),
                              "(if (%s) { 1 } else { 0 })" % self.boolean(d)])

    def draw(self, d):
        r = self.r
        return r.choice([
            lambda: "normal(%s, %s)" % (self.num(d), self.positive(d)), lambda: "normal(%s, 1)" % self.num(d),
            lambda: "gamma(%s, 2)" % self.positive(d), lambda: "beta(2, %s)" % self.positive(d),
            lambda: "uniform_continuous(0, %s)" % self.positive(d), lambda: "uniform_discrete(0, 3)",
            lambda: "bernoulli(%s)" % self.prob(d), lambda: "poisson(1)", lambda: "categorical([0.2, 0.5, 0.3])",
            lambda: "student_t(4)", lambda: "laplace(%s, 1)" % self.num(d)])()

    def boolean(self, d=2):
        r = self.r
        if d <= 0: return r.choice(self.bools) if self.bools else "true"
        return r.choice([
            lambda: "%s < %s" % (self.num(d - 1), self.num(d - 1)), lambda: "flip(%s)" % self.prob(d - 1),
            lambda: self.tag("flip(%s)" % self.prob(d - 1)), lambda: "flip(0.4)",
            lambda: "(%s && %s)" % (self.boolean(d - 1), self.boolean(d - 1)),
            lambda: "not(%s)" % self.boolean(d - 1)] +
            ([lambda: "%s()" % r.choice(self.coins)] if self.coins else []))()

    def tag(self, e):
        s = self.r.choice(["s", "t", "u"])
        return self.r.choice(['tag("%s", %d, %s)' % (s, self.r.randint(0, 2), e), 'tag(scope="%s", %s)' % (s, e),
                              'tag("%s", %s, %s)' % (s, self.key(0), e)])

    def assume(self):
        r, kind = self.r, self.r.random()
        if kind < 0.1:
            v, n = self.fresh("v"), r.choice([2, 3, 9])
            self.lines.append("assume %s = %s;" % (v, self.vec(3, n)))
            self.vecs.append((v, n))
        elif kind < 0.5:
            x = self.fresh("x")
            self.lines.append("assume %s = %s;" % (x, self.num(3)))
            self.nums.append(x)
        elif kind < 0.6:
            b = self.fresh("b")
            self.lines.append("assume %s = %s;" % (b, self.boolean(2)))
            self.bools.append(b)
        elif kind < 0.7:
            f = self.fresh("f")
            self.lines.append("assume %s = proc(a) { %s + a };" % (f, self.num(2)))
            self.procs.append(f)
        elif kind < 0.75:
            f = self.fresh("f")
            self.lines.append("assume %s = if (%s) { proc(a) { a + %s } } else { proc(a) { %s } };" %
                              (f, self.boolean(1), self.num(1), self.num(1)))
            self.procs.append(f)
        elif kind < 0.8:
            f = self.fresh("f")
            self.lines.append("assume %s = proc(a) { if (flip(0.5)) { a } else { 0.5 * %s(a) + %s } };" % (f, f, self.num(1)))
            self.procs.append(f)
        elif kind < 0.9:
            m = self.fresh("m")
            self.lines.append("assume %s = mem(proc(i) { %s + i });" % (m, self.num(2)))
            self.mems.append(m)
        elif kind < 0.96:
            c = self.fresh("c")
            maker = r.choice(["make_beta_bernoulli(%s, 1)" % self.positive(1), "make_suff_stat_bernoulli(%s)" % self.prob(1),
                              "make_uc_beta_bernoulli(%s, 2)" % self.positive(1)])
            self.lines.append("assume %s = %s;" % (c, maker))
            self.coins.append(c)
        else:
            c, m = self.fresh("c"), self.fresh("m")
            self.lines.append("assume %s = make_crp(%s);" % (c, self.positive(1)))
            self.lines.append("assume %s = mem(proc(t) { normal(0, 1) });" % m)
            self.crps.append((m, c))

    def observe(self):
        r = self.r
        label = self.fresh("o")
        what = r.choice([
            lambda: ("normal(%s, %s)" % (self.num(2), self.positive(1)), self.const()),
            lambda: ("flip(logistic(%s))" % self.num(2), r.choice(["true", "false"])),
            lambda: ("if (%s) { normal(%s, 1) } else { normal(%s, 2) }" % (self.boolean(1), self.num(1), self.num(1)), self.const()),
            lambda: ("normal(%s, %s)" % (self.vec(2, 9), self.positive(1)), "[%s]" % ", ".join(self.const() for _ in range(9))),
            lambda: ("poisson(%s)" % self.positive(2), str(r.randint(0, 4)))] +
            ([lambda: ("%s()" % r.choice(self.coins), r.choice(["true", "false"]))] if self.coins else []))()
        self.lines.append("%s: observe %s = %s;" % ((label,) + what))
        self.labels.append(label)

    def operator(self):
        r = self.r
        scopes = sorted(set(re.findall(r'(?:tag\(|scope=)"(\w)"', "\n".join(self.lines))))
        scope = '"%s"' % r.choice(scopes) if scopes and r.random() < 0.6 else "default"
        block = r.choice(["one", "all"] + (["each", "each_reverse", "ordered", "one"] if scope != "default" else []))
        where, k = "%s, %s" % (scope, block), r.randint(1, 6)
        return r.choice([
            "mh(%s, %d)" % (where, 3 * k)] * 3 + ["hmc(%s, all, 0.05, 3, 2)" % scope, "pgibbs(%s, ordered, 3, 2)" % scope,
            "meanfield(%s, 2, 2)" % where, "do(mh(%s, 3), resample(2), mh(%s, 3))" % (where, where)] * 2 + [
            "gibbs(%s, %d)" % (where, k), "emap(%s, 1)" % where, "slice(%s, one, 1, 10, %d)" % (scope, k),
            "slice_doubling(%s, one, 1, 5, %d)" % (scope, k), "hmc(%s, all, 0.1, 4, %d)" % (scope, k),
            "nuts(%s, all, 4, %d)" % (scope, k), "meanfield(%s, 3, 2)" % where,
            "gradient_ascent(%s, all, 0.01, 3, 1)" % scope, "nesterov(%s, all, 0.01, 3, 1)" % scope,
            "pgibbs(%s, %s, 4, %d)" % (scope, r.choice(["ordered", "all"]), r.randint(1, 2)), "func_pmap(%s, ordered, 3, 1)" % scope,
            "rejection(%s, nil, 50, 1)" % where, "rejection(%s, 5, 50, 2)" % where, "bogo_possibilize(%s, 1)" % where,
            "mh_correct(on_subproblem(%s, symmetric_local_proposal(proc(v) { if (is_number(v)) { normal(v, 1) } else { v } })))" % where,
            "do(resample(3), mh(%s, 4), resample(2), mh(default, one, 3), resample(1))" % where,
            "reset_to_prior()", "default_markov_chain(5)",
            "laplace_mh(%s, %d)" % (where, r.randint(1, 2)), "log_evidence(%s, all, 20)" % scope,
            "structure_mh(\"%s\", %s, %s, %d)" % (r.choice(scopes or ["s"]), r.choice(["one", "all"]),
                                                r.choice(["default", scope]), r.randint(1, 3)) if scopes else "pass",
            "mh_correct(on_subproblem(%s, proc(s) { do(w <- detach(s), v <- regen(s), return(list(v - first(w), restore(s, rest(w))))) }))" % where,
            "mh_correct(on_subproblem(%s, proc(s) { do(w <- detach(s), v <- regen(s), return(list(v - first(w), do(detach(s), restore(s, rest(w)))))) }))" % where] +
            ["posterior_predictive_check(2, mh(%s, 1), quantities=\"mean\")" % where] * (3 if self.labels else 0))

    def text(self):
        r = self.r
        for _ in range(r.randint(2, 7)): self.assume()
        for _ in range(r.randint(0, 4)): self.observe()
        for _ in range(r.randint(2, 5)):
            c = r.random()
            if c < 0.7: self.lines.append("infer %s;" % self.operator())
            elif c < 0.8: self.observe()
            elif c < 0.85 and self.labels: self.lines.append("forget(quote(%s));" % self.labels.pop(r.randrange(len(self.labels))))
            elif c < 0.9: self.lines.append("predict %s;" % self.num(2))
            else: self.lines.append("sample %s;" % self.num(1))
        return "\n".join(self.lines + ["infer mh(default, one, 5);", "run(global_log_joint());", "checkInvariants();"]) + "\n"


def one(tool, seed, folder):
    text = Gen(seed).text()
    path = os.path.join(folder, "p%d.vnts" % seed)
    with open(path, "w") as f: f.write(text)
    # Looking for leaks takes seconds at the end of a process on some machines: every eighth program does.
    env = dict(os.environ, ASAN_OPTIONS="detect_leaks=%d:abort_on_error=0" % (seed % 8 == 0), UBSAN_OPTIONS="halt_on_error=1:print_stacktrace=1")
    try:
        r = subprocess.run([tool, "run", "--seed", str(seed), path], capture_output=True, text=True, timeout=60, env=env)
    except subprocess.TimeoutExpired:
        return "hang", text, "no end after 60 s"
    if r.returncode == 0 and "ERROR" not in r.stderr: return "ok", text, ""
    code = re.search(r"error\[(E\d{4})\]", r.stderr)  # warnings may stand before it
    if r.returncode == 1 and code and code.group(1) in ALLOWED and "trace check" not in r.stderr: return code.group(1), text, ""
    return "bad", text, "status %d\n%s" % (r.returncode, r.stderr[-3000:])


def main(tool, seconds, seed):
    counts, bad, start = {}, 0, time.time()
    with tempfile.TemporaryDirectory() as folder:
        while time.time() - start < seconds:
            what, text, why = one(tool, seed, folder)
            counts[what] = counts.get(what, 0) + 1
            if what in ("bad", "hang"):
                bad += 1
                print("---- seed %d: %s\n%s\n%s" % (seed, what, text, why))
                if bad >= 5: break
            seed += 1
    print("%d programs: %s" % (sum(counts.values()), ", ".join("%s %d" % kv for kv in sorted(counts.items()))))
    return 1 if bad else 0
