"""Random sequences of directives (assume, alias, observe, predict, freeze, forget, define, assume again, with inference in
between) against an enumerator of their own: it knows the language by what names mean and how choices are drawn, and
nothing of traces. After each step every particle's values and log joint must be those of a state that it enumerates.

A program is a list of steps, made without running it. The check replays the steps with what the program printed: what is
frozen is a constant from then on, whose value the row before it told."""
import copy, json, math, random, re, subprocess, sys, tempfile

MOST_STATES = 300


# ---- the model language ----------------------------------------------------------------------------------------------

def text(e):
    k = e[0]
    if k == "num": return str(e[1])
    if k == "bool": return "true" if e[1] else "false"
    if k == "name": return e[1]
    if k in ("add", "eq"): return "(%s %s %s)" % (text(e[1]), {"add": "+", "eq": "=="}[k], text(e[2]))
    if k == "not": return "not(%s)" % text(e[1])
    if k == "if": return "(if (%s) { %s } else { %s })" % tuple(map(text, e[1:]))
    if k == "flip": return "flip(%s)" % text(e[1])
    if k == "unif": return "uniform_discrete(0, %d)" % e[1]
    if k == "coin": return "make_beta_bernoulli(%d, %d)" % e[1:]
    if k == "toss": return "%s()" % e[1]
    if k == "call": return "%s(%s)" % (e[1], text(e[2]))
    if k == "apply": return "(proc(%s) { %s })(%s)" % (e[1], text(e[2]), text(e[3]))
    if k == "let": return "{ let %s = %s; %s }" % (e[1], text(e[2]), text(e[3]))
    if k == "proc": return "proc(%s) { %s }" % (e[1], text(e[2]))
    if k == "mem": return "mem(%s)" % text(e[1])
    raise ValueError(k)


def names_in(e):
    """Free names, those that procedures are called by too."""
    k = e[0]
    if k == "name": return {e[1]}
    found = set()
    for part in e[1:]:
        if isinstance(part, tuple): found |= names_in(part)
    if k in ("call", "toss"): found.add(e[1])
    if k in ("let", "apply", "proc"):
        found = set()
        for part in e[2:]: found |= names_in(part)
        found.discard(e[1])
        if k == "let": found |= names_in(e[2])
        if k == "apply": found |= names_in(e[3])
    return found


class Closure:
    def __init__(self, param, body, around, env):
        self.param, self.body, self.around, self.env, self.table, self.memory = param, body, around, env, {}, False


class Coin:
    """What a maker made: draws whose parameter is summed out."""

    def __init__(self, a, b):
        self.a, self.b = a, b


class Run:
    """One evaluation of a model; `script` says which value each choice takes, in the order in which they are drawn."""

    def __init__(self, world, script, frozen, chance=None):
        self.world, self.script, self.frozen, self.chance = world, script, frozen, chance
        self.widths, self.logp, self.counted, self.values = [], 0.0, True, {}

    def choose(self, options, forced=None):
        if forced is not None:
            self.logp += math.log(dict(options)[forced])
            return forced
        i = len(self.widths)
        if i == len(self.script): self.script.append(self.chance.randrange(len(options)) if self.chance else 0)
        self.widths.append(len(options))
        v, p = options[self.script[i]]
        if self.counted: self.logp += math.log(p)
        return v

    def find(self, s, env):
        kind, what = env[s] if s in env else self.world.meaning(s)
        return what if kind == "constant" else self.values[what]

    def draw(self, e, around, env, forced=None):
        if e[0] == "toss":
            c = self.find(e[1], env)
            p = c.a / (c.a + c.b)
            v = self.choose([(True, p), (False, 1 - p)], forced)
            c.a, c.b = c.a + v, c.b + (not v)
            return v
        if e[0] == "unif": return self.choose([(i, 1 / e[1]) for i in range(e[1])], forced)
        p = self.eval(e[1], around, env)
        return self.choose([(True, p), (False, 1 - p)], forced)

    def eval(self, e, around, env):
        k = e[0]
        if k in ("num", "bool"): return e[1]
        if k == "name": return around[e[1]] if e[1] in around else self.find(e[1], env)
        if k == "add": return self.eval(e[1], around, env) + self.eval(e[2], around, env)
        if k == "eq": return self.eval(e[1], around, env) == self.eval(e[2], around, env)
        if k == "not": return not self.eval(e[1], around, env)
        if k == "if": return self.eval(e[2] if self.eval(e[1], around, env) else e[3], around, env)
        if k in ("flip", "unif", "toss"): return self.draw(e, around, env)
        if k == "coin": return Coin(*e[1:])
        if k == "let": return self.eval(e[3], {**around, e[1]: self.eval(e[2], around, env)}, env)
        if k == "apply": return self.eval(e[2], {**around, e[1]: self.eval(e[3], around, env)}, env)
        if k == "proc": return Closure(e[1], e[2], around, env)
        if k == "mem":
            c = self.eval(e[1], around, env)
            c.memory = True
            return c
        f = around[e[1]] if e[1] in around else self.find(e[1], env)
        x = self.eval(e[2], around, env)
        if not isinstance(f, Closure): return f(x)
        if not f.memory: return self.eval(f.body, {**f.around, f.param: x}, f.env)
        if x not in f.table: f.table[x] = self.eval(f.body, {**f.around, f.param: x}, f.env)
        return f.table[x]


# ---- what directives leave -------------------------------------------------------------------------------------------

class Record:
    """One directive. env: what the names in it mean for good; those that are missing are looked up."""

    def __init__(self, number, kind, label, expr, env, type_=None):
        self.number, self.kind, self.label, self.expr, self.env, self.type = number, kind, label, expr, env, type_
        self.frozen, self.observed, self.target = False, None, None


class World:
    """The model but for the values of what was frozen, which are given with each evaluation."""

    def __init__(self):
        self.records, self.bound, self.defined, self.number = [], {}, {}, 0
        self.told = {}  # observations that were frozen and are counted

    def meaning(self, s):
        if s in self.bound: return "record", self.bound[s]
        if s in self.defined: return "constant", self.defined[s]
        if s == "abs": return "constant", abs
        return None

    def live(self):
        """Directives that stand, and those that names in them mean, the oldest first."""
        found, waiting = set(), list(self.records)
        while waiting:
            r = waiting.pop()
            if r in found: continue
            found.add(r)
            if r.frozen and r.type not in ("proc", "mem") and r.expr[0] != "toss": continue
            waiting += [x for k, x in r.env.values() if k == "record"]
        return sorted(found, key=lambda r: r.number)

    def change(self, s):
        """Before s means something else: those that look it up keep what it means now."""
        for r in self.live():
            if self.meaning(s) and s in names_in(r.expr): r.env.setdefault(s, self.meaning(s))

    def add(self, kind, label, expr, type_=None):
        """What a directive means by its own name is what was called so before, but for a procedure that calls itself."""
        env = {}
        for s in names_in(expr):
            itself = kind == "assume" and s == label and expr[0] in ("proc", "mem") and s not in self.bound
            if self.meaning(s) and not itself: env[s] = self.meaning(s)
        self.number += 1
        r = Record(self.number, kind, label, expr, env, type_)
        if kind == "assume":
            self.change(label)
            self.bound[label] = r
        self.records.append(r)
        return r

    def labelled(self, label):
        if label in self.bound: return self.bound[label]
        return next(r for r in self.records if r.label == label and r.kind != "assume")

    def source(self, name):
        """The directive whose choice the name is; None: it is none."""
        r = self.bound.get(name)
        while r and not r.frozen and r.expr[0] == "name":
            kind, r = r.env.get(r.expr[1], ("constant", None))
            if kind != "record": return None
        return r if r and not r.frozen and r.expr[0] in ("flip", "unif", "toss") else None

    def do(self, step):
        kind = step[0]
        if kind == "define":
            self.change(step[1])
            self.defined[step[1]] = step[2]
        elif kind in ("assume", "predict"):
            self.add(*step)
        elif kind == "observe":
            self.add("observe", step[1], step[2]).observed = step[3]
        elif kind == "constrain":
            r = self.add("constrain", step[1], ("name", step[2]))
            r.target = self.source(step[2])
            r.target.observed = step[3]
        elif kind == "forget":
            r = self.labelled(step[1])
            self.records.remove(r)
            if r.target: r.target.observed = None
            if r.kind == "assume": del self.bound[r.label]
        elif kind == "freeze":
            r = self.labelled(step[1])
            if r.target: r.target.observed = None
            if r.kind == "observe" and r.expr[0] == "toss": self.told[r] = r.observed
            r.frozen, r.target, r.observed = True, None, None
            for q in self.records:
                if q.target is r: q.frozen, q.target = True, None

    def evaluate(self, script, frozen, rows, chance=None):
        frozen = {**frozen, **self.told}
        run = Run(self, script, frozen, chance)
        for r in self.live():
            counts = r.frozen and r.expr[0] == "toss"  # a frozen draw goes on being counted
            if r.frozen and r.kind in ("observe", "constrain") and not counts: continue
            if counts: run.draw(r.expr, {}, r.env, frozen[r])
            if r.frozen and r.type == "closure":  # what it closes over has one value now
                run.values[r] = Closure("i", ("add", ("name", "a"), ("name", "i")), {"a": frozen[r]}, {})
            elif r.frozen and r.type not in ("proc", "mem", "coin"): run.values[r] = frozen[r]
            elif r.observed is not None: run.values[r] = run.draw(r.expr, {}, r.env, r.observed)
            elif r.kind != "constrain": run.values[r] = run.eval(r.expr, {}, r.env)
        run.counted = False
        return run, tuple(run.values[e] if isinstance(e, Record) else run.eval(e, {}, {}) for e in rows)

    def states(self, frozen, rows, most=5000):
        """All (values, log joint); None: too many."""
        script, found, n = [], set(), 0
        while True:
            run, row = self.evaluate(script, frozen, rows)
            found.add((row, round(run.logp, 6)))
            n += 1
            while script and script[-1] + 1 == run.widths[len(script) - 1]: script.pop()
            if not script: return found
            script[-1] += 1
            if n > most: return None

    def callable(self, name, seen=()):
        """Does all that a call of it looks up mean something?"""
        if name in seen: return False
        r = self.bound.get(name)
        if not r: return name == "abs" and name not in self.defined
        if r.type not in ("proc", "mem", "closure"): return False
        if r.frozen and r.type == "closure": return True
        for s in names_in(r.expr):
            kind, what = r.env.get(s) or self.meaning(s) or (None, None)
            if kind is None: return False
            if kind == "record" and what.type in ("proc", "mem", "closure") and not self.usable(what, seen + (name,)): return False
        return True

    def usable(self, r, seen):
        name = next((s for s, q in self.bound.items() if q is r), None)
        return self.callable(name, seen) if name else r.frozen

    def rows(self):
        """What each particle shows: values of names and predictions, calls of procedures."""
        shown = []
        for s, r in sorted(self.bound.items()):
            if r.type in ("int", "bool"): shown.append(r)
            elif self.callable(s): shown += [("call", s, ("num", i)) for i in (0, 1)]
        return shown + [r for r in self.records if r.kind == "predict"]


# ---- programs --------------------------------------------------------------------------------------------------------

class Maker:
    """Makes a program; it walks through states of its own, so that no step asks for too many."""

    def __init__(self, seed):
        self.r, self.w, self.steps, self.frozen, self.n = random.Random(seed), World(), [], {}, 0
        self.ahead = []  # names that a body waits for

    def typed(self, type_, local):
        return [s for s, r in self.w.bound.items() if r.type == type_] + [s for s, t in local.items() if t == type_]

    def procs(self):
        return [s for s in self.w.bound if self.w.callable(s)]

    def int(self, d, local={}):
        r = self.r
        names = self.typed("int", local) + list(self.w.defined)
        if d <= 0: return ("name", r.choice(names)) if names and r.random() < 0.75 else ("num", r.randrange(3))
        options = [lambda: ("unif", r.choice([2, 3])), lambda: ("add", self.int(d - 1, local), self.int(d - 1, local)),
                   lambda: ("if", self.bool(d - 1, local), self.int(d - 1, local), self.int(d - 1, local)),
                   lambda: ("if", self.bool(d - 1, local), self.int(d - 1, local), self.int(d - 1, local)),
                   lambda: ("let", "v", self.int(d - 1, local), self.int(d - 1, {**local, "v": "int"})),
                   lambda: ("apply", "q", self.int(d - 1, {**local, "q": "int"}), self.int(0, local)),
                   lambda: self.int(0, local)]
        if "abs" not in self.w.bound or self.w.callable("abs"): options.append(lambda: ("call", "abs", self.int(0, local)))
        if self.procs(): options += [lambda: ("call", r.choice(self.procs()), self.int(0, local))] * 3
        return r.choice(options)()

    def bool(self, d, local={}):
        r = self.r
        names = self.typed("bool", local)
        if d <= 0: return ("name", r.choice(names)) if names and r.random() < 0.8 else self.flip(0, local)
        return r.choice([lambda: self.flip(d - 1, local), lambda: self.flip(0, local), lambda: ("not", self.bool(0, local)),
                         lambda: ("eq", self.int(0, local), self.int(0, local)), lambda: self.bool(0, local)])()

    def flip(self, d, local={}):
        p = lambda: ("num", self.r.choice([0.2, 0.4, 0.5, 0.7]))
        return ("flip", ("if", self.bool(0, local), p(), p()) if d > 0 else p())

    def name(self):
        again = [s for s, r in self.w.bound.items() if r.frozen]
        if again and self.r.random() < 0.7: return self.r.choice(again)
        if "abs" not in self.w.bound and self.r.random() < 0.06: return "abs"
        if self.ahead and self.r.random() < 0.7: return self.ahead.pop()
        self.n += 1
        return "n%d" % self.n

    def assume(self):
        r, kind = self.r, self.r.random()
        names = self.typed("int", {}) + self.typed("bool", {})
        ahead, name = list(self.ahead), self.name()
        if name in ahead: return ("assume", name, self.int(2), "int")
        if name == "abs" or (name in self.w.bound and self.w.bound[name].type not in ("int", "bool")) or kind < 0.12:
            return ("assume", name, ("proc", "i", ("add", ("name", "i"), self.int(2, {"i": "int"}))), "proc")
        if kind < 0.2: return ("assume", name, ("mem", ("proc", "i", self.int(2, {"i": "int"}))), "mem")
        if kind < 0.28:
            return ("assume", name, ("let", "a", r.choice([("unif", 2), ("add", self.int(1), self.int(1))]), ("proc", "i", ("add", ("name", "a"), ("name", "i")))), "closure")
        coins = [s for s, q in self.w.bound.items() if q.type == "coin"]
        if coins and r.random() < 0.4 and (name not in self.w.bound or self.w.bound[name].type == "bool"):
            return ("assume", name, ("toss", r.choice(coins)), "bool")
        if r.random() < 0.15 and name not in self.w.bound: return ("assume", name, ("coin", r.choice([1, 2]), 1), "coin")
        if kind < 0.33 and name not in self.w.bound:  # its body waits for a name
            self.n += 1
            self.ahead = self.ahead + ["n%d" % self.n]
            later = ("name", self.ahead[-1])
            return ("assume", name, ("proc", "i", ("add", ("if", self.bool(0), later, self.int(0)), ("name", "i"))), "proc")
        if kind < 0.48 and names:
            s = r.choice(names)
            e = r.choice([("name", s), ("let", "v", ("name", s), ("name", "v")), ("apply", "q", ("name", "q"), ("name", s))])
            return ("assume", name, e, self.w.bound[s].type)
        return ("assume", name, self.int(2), "int") if r.random() < 0.6 else ("assume", name, self.bool(2), "bool")

    def mentioned(self, name):
        """Does another directive that may still look at it mention the name?"""
        return any(name in names_in(q.expr) and q is not self.w.bound.get(name) and
                   (not q.frozen or q.type in ("proc", "mem", "closure") or q.expr[0] == "toss") for q in self.w.live())

    def step(self):
        r, w = self.r, self.w
        labels = lambda *kinds: [q.label for q in w.records if q.kind in kinds and (q.kind != "assume" or w.bound.get(q.label) is q)]
        kind = r.random() * (0.5 if len(w.bound) < 3 else 1)
        if kind < 0.34: return self.assume()
        self.n += 1
        if kind < 0.42: return ("predict", "p%d" % self.n, self.int(2), "int")
        coins = [s for s, q in w.bound.items() if q.type == "coin"]
        e = ("toss", r.choice(coins)) if coins and r.random() < 0.5 else self.flip(1)
        if kind < 0.5: return ("observe", "o%d" % self.n, e, r.random() < 0.5)
        if kind < 0.58:
            free = [s for s in w.bound if w.source(s) and w.source(s).observed is None]
            if not free: return None
            s = r.choice(free)
            e = w.source(s).expr
            return ("constrain", "o%d" % self.n, s, r.random() < 0.5 if e[0] != "unif" else r.randrange(e[1]))
        if kind < 0.74:
            some = [s for s in labels("assume", "predict", "observe", "constrain") if not w.labelled(s).frozen]
            return ("freeze", r.choice(some)) if some else None
        if kind < 0.84:
            some = labels("predict", "observe", "constrain") + [s for s in labels("assume") if not self.mentioned(s)]
            return ("forget", r.choice(some)) if some else None
        if kind < 0.92: return ("define", r.choice(["k", "h"]), r.randrange(4))
        return ("resample", r.choice([1, 2, 3])) if r.random() < 0.4 else None

    def try_step(self, step):
        before, frozen = self.w, self.frozen
        self.w, self.frozen = copy.deepcopy((before, frozen))
        if step[0] == "freeze":
            r, run = self.w.labelled(step[1]), self.w.evaluate([], self.frozen, [], self.r)[0]
            if r.kind in ("assume", "predict") and r.type != "coin": self.frozen[r] = part(run.values[r])
        self.w.do(step)
        rows = self.w.rows()
        if self.w.states(self.frozen, rows, MOST_STATES) is None:
            self.w, self.frozen = before, frozen
            return
        if step[0] == "freeze": self.steps.append(("row",))
        self.steps.append(step)
        if self.r.random() < 0.5:
            for _ in range(self.r.choice([1, 1, 3])): self.steps += [("move", self.r.choice(MOVES)), ("row",)]

    def make(self, n):
        for _ in range(n):
            step = self.step()
            if step: self.try_step(step)
        return self.steps


MOVES = ["mh(default, one, 1)", "mh(default, one, 4)", "mh(default, all, 3)", "gibbs(default, one, 2)", "pass", "resample(2)",
         "resample(1)", "gibbs(default, all, 1)"]


def part(v):
    """Of a procedure that closes over one value, that value."""
    return v.around.get("a") if isinstance(v, Closure) else v


def step_text(w, step):
    kind = step[0]
    if kind == "define": return "define %s = %s;" % step[1:]
    if kind == "assume": return "assume %s = %s;" % (step[1], text(step[2]))
    if kind == "predict": return "%s: predict %s;" % (step[1], text(step[2]))
    if kind == "observe": return "%s: observe %s = %s;" % (step[1], text(step[2]), text(("bool", step[3])))
    if kind == "constrain": return "%s: observe %s = %s;" % (step[1], step[2], json.dumps(step[3]))
    if kind == "move": return "infer %s;" % step[1]
    if kind == "row":
        shown = w.rows()
        values = [e.label if isinstance(e, Record) else text(e) for e in shown if not (isinstance(e, Record) and e.kind == "predict")]
        reports = [e.label for e in shown if isinstance(e, Record) and e.kind == "predict"]
        return ('infer do(v <- for_each_particle(sample [%s]), l <- global_log_joint(), %s checkInvariants(), action(print(["row", v, l, [%s]])));'
                % (", ".join(values), "".join("q%s <- for_each_particle(report(quote(%s))), " % (s, s) for s in reports), ", ".join("q" + s for s in reports)))
    return "infer %s(%s);" % (kind, "quote(%s)" % step[1] if kind != "resample" else step[1])


def program(steps):
    w, lines = World(), []
    for step in steps:
        lines.append(step_text(w, step))
        if step[0] not in ("row", "move", "resample"): w.do(step)
    return "\n".join(lines) + "\n"


def check(steps, tool):
    """None, or what is wrong."""
    with tempfile.NamedTemporaryFile("w", suffix=".vnts") as f:
        f.write(program(steps))
        f.flush()
        r = subprocess.run([tool, "run", "--format", "json", f.name], capture_output=True, text=True, timeout=300)
    if r.returncode != 0: return "status %d: %s" % (r.returncode, r.stderr)
    told = iter([json.loads(row.translate({40: "[", 41: "]"})) for row in r.stdout.splitlines() if row.startswith('["row"')])
    w, known, seen, cache = World(), [{}], [], None
    for at, step in enumerate(steps):
        if step[0] == "row":
            rows, (_, values, joints, reports) = w.rows(), next(told)
            cache = cache or [w.states(frozen, rows) for frozen in known]
            seen = []
            for i, (row, joint) in enumerate(zip(values, joints)):
                row = tuple(row) + tuple(q[i] for q in reports)
                of = [k for k, states in enumerate(cache) if any(alike(row, joint, s) for s in states)]
                if not of: return "step %d, particle %d: %s with log joint %s is none of %d states\n%s" % (
                    at, i, list(row), joint, sum(map(len, cache)), sorted(map(str, cache[0]))[:12])
                seen.append((row, [known[k] for k in of]))
        elif step[0] == "freeze":
            cache = None
            r, rows = w.labelled(step[1]), w.rows()
            at_row = next((i for i, e in enumerate(rows) if e is r or (r.type == "closure" and not isinstance(e, Record) and
                           e[1] == step[1] and e[2] == ("num", 0))), None)
            w.do(step)
            if at_row is not None:
                known = [{**k, r: row[at_row]} for row, of in seen for k in of]
                known = list({tuple(sorted((q.number, v) for q, v in k.items())): k for k in known}.values())
            elif r.kind in ("assume", "predict") and r.type not in ("proc", "mem", "coin"): raise AssertionError(step)
        elif step[0] not in ("move", "resample"):
            cache = None
            w.do(step)
    return None


def alike(row, joint, state):
    """true is not 1, as far as JSON tells."""
    return abs(joint - state[1]) < 1e-5 and len(row) == len(state[0]) and all(
        type(a) == type(b) and a == b for a, b in zip(row, state[0]))


def shorten(steps, tool):
    """Fewer steps that still fail."""
    kind = lambda wrong: (re.findall(r"error\[\w+\][^(`]*", wrong) or [wrong[:4]])[0]
    i, as_it_was = 0, kind(check(steps, tool))
    while i < len(steps):
        fewer = steps[:i] + steps[i + 1:]
        try: wrong = check(fewer, tool)
        except Exception: wrong = None
        if wrong and kind(wrong) == as_it_was: steps = fewer
        else: i += 1
    return steps


def main(tool, n, first=1, steps=30):
    for seed in range(first, first + n):
        made = Maker(seed).make(steps)
        wrong = check(made, tool)
        if wrong:
            short = made if "E0409" in wrong else shorten(made, tool)
            return "seed %d: %s\n%s" % (seed, check(short, tool), program(short))
    print("directives in any order: %d programs, every row is one of the enumerated states" % n)
