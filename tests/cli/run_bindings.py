#!/usr/bin/python3
"""What names mean: a directive keeps the bindings that it was made with, whatever is frozen, forgotten, defined or assumed
after it, and wherever inference leads."""
import itertools, json, math, subprocess, sys, tempfile


def run(text, *options):
    with tempfile.NamedTemporaryFile("w", suffix=".vnts") as f:
        f.write(text)
        f.flush()
        r = subprocess.run([sys.argv[1], "run", "--format", "json", *options, f.name], capture_output=True, text=True, timeout=120)
    return r.returncode, r.stdout.split("\n")[:-1], r.stderr


def states(text, what, n=60, move="mh(default, one, 1)"):
    """Of a walk of n steps: the values of the expressions, each distinct row."""
    loop = "infer repeat(%d, do(%s, r <- sample [%s], checkInvariants(), action(print(r))));" % (n, move, ", ".join(what))
    code, out, err = run(text + loop)
    assert code == 0, (text, out, err)
    return {tuple(json.loads(row)) for row in out[-n:]}


def refused(text, code, *words):
    status, out, err = run(text)
    assert status == 1 and code in err and all(w in err for w in words), (text, status, out, err)


def aliases():
    """A frozen name is its value, whatever node it took that from; who read it before reads the value, too."""
    for value in ("x", "{ let z = x; z }", "(proc(z) { z })(x)", "if (1 < 2) { x } else { 0 }", "if (flip(1)) { x } else { 0 }"):
        got = states("assume x = uniform_discrete(0, 5); assume y = %s; assume w = y + 1; define v = run(sample y);"
                     "infer freeze(quote(y));" % value, ["x", "y - v", "w - v", "y"])
        assert {row[0] for row in got} == set(range(5)) and {row[1:3] for row in got} == {(0, 1)}, (value, got)
    got = states("assume x = uniform_discrete(0, 5); p: predict x; define v = run(report(quote(p))); infer freeze(quote(p));"
                 "assume y = x; observe y = 2;", ["x", "y"], 3)
    assert got == {(2, 2)}, got
    # two names of one package
    got = states("assume (a, b) = list(ref(uniform_discrete(0, 9)), ref(flip(0.5))); assume c = a; infer freeze(quote(c));",
                 ["c", "a == c"])
    assert len({row[0] for row in got}) == 1 and len(got) == 2, got


def frozen_again():
    """A name that was frozen and is assumed again: code before it means the old one, and its own expression too."""
    got = states("assume n = uniform_discrete(1, 3); assume b = flip(0.5); assume y = if (b) { n } else { n + 10 };"
                 "define v = run(sample n); infer freeze(quote(n)); assume n = 5;", ["y - v", "n", "b"])
    assert got == {(0, 5, True), (10, 5, False)}, got
    got = states("assume n = 3; infer freeze(quote(n)); assume n = if (flip(0.5)) { n + 1 } else { n + 100 };", ["n"])
    assert got == {(4,), (103,)}, got
    got = states("assume n = uniform_discrete(0, 9); define v = run(sample n); infer freeze(quote(n));"
                 "assume n = if (flip(0.5)) { n + 1 } else { n + 100 };", ["n - v"])
    assert got == {(1,), (100,)}, got
    # in bodies of procedures, in memoized ones and in what is mapped, on particles and after copies
    got = states("assume n = 1; assume b = flip(0.5); assume f = proc(i) { n + i }; assume m = mem(proc(i) { if (flip(0.5)) { n } else { 2 * n + i } });"
                 "infer freeze(quote(n)); assume n = 100; infer resample(3); assume y = if (b) { f(1) + m(1) } else { sum(mapv(i -> n + i, [1, 2])) };"
                 "infer freeze(quote(n)); assume n = 1000;", ["y", "b", "f(n)"])
    assert got == {(3, True, 1001), (5, True, 1001), (203, False, 1001)}, got
    # who calls itself means itself; who takes the name of another means that one in what it computes
    code, out, err = run("assume fac = (n) -> if (n < 1) { 1 } else { n * fac(n - 1) }; assume sum = (n) -> if (n < 1) { 0 } else { n + sum(n - 1) };"
                         "assume s = mem(proc(n) { if (n < 1) { 0 } else { n + s(n - 1) } }); sample [fac(5), sum(4), s(5)];"
                         "assume even = (n) -> if (n == 0) { true } else { odd(n - 1) }; assume odd = (n) -> if (n == 0) { false } else { even(n - 1) };"
                         "sample even(10); assume g = proc(i) { i + 1 }; infer freeze(quote(g)); assume g = proc(i) { 2 * g(i) }; sample g(3);")
    assert (code, out) == (0, ["[120, 10, 15]", "true", "8"]), (out, err)


def filters():
    """The streaming filter of docs/howto-particles with a branch in it, against the forward recursion."""
    ys = [1, 0, 0, 1, 1, 0]
    p = {0: 0.5, 1: 0.5}
    emit = {0: 0.3, 1: 0.8}
    weigh = lambda p, y: {x: p[x] * (emit[x] if y else 1 - emit[x]) for x in p}
    for y in ys:
        p = {1: 0.7 * p[1] + 0.3 * p[0], 0: 0.7 * p[0] + 0.3 * p[1]}
        p = weigh(p, y)
    exact = p[1] / (p[0] + p[1])
    out = run("""assume x = if (flip(0.5)) { 1 } else { 0 }; define ys = %s; infer resample(4000);
infer for_each(ys, proc(y) { do(freeze(quote(x)), assume x = if (flip(0.7)) { x } else { 1 - x },
  datum: observe flip(if (x == 1) { 0.8 } else { 0.3 }) = (y == 1), resample(4000), mh(default, one, 3), forget(quote(datum))) });
infer do(v <- for_each_particle(sample x), action(print(mean(v)))); trace_memory();""" % ys)[1]
    assert abs(float(out[0]) - exact) < 0.035, (out, exact)
    memory = lambda n: run("""assume x = 0; assume k = uniform_discrete(0, 3); infer resample(20);
infer for_each(arange(%d), proc(y) { do(freeze(quote(x)), assume x = if (flip(0.7)) { x + k } else { -x }, mh(default, one, 3), resample(20)) });
trace_memory();""" % n)[1][-1]
    applications = [json.loads(memory(n))["applications"] for n in (20, 400)]
    assert max(applications) < 70, applications  # of 20 particles: nothing is left of what was


def defined_again():
    """A directive keeps what was defined, and the builtins, when it was made."""
    text = ("define k = 1; assume b = flip(0.5); assume y = if (b) { k } else { k + 10 }; assume e = if (b) { exp(0) } else { exp(0) + 1 };"
            "assume f = proc(x) { exp(x) * k + later }; define later = 0; sample f(0); define k = 5; assume exp = proc(x) { 77 }; define later = 50;")
    got = states(text, ["y", "e", "f(0)", "k", "exp(0)"])
    assert got == {(1, 1, 1, 5, 77), (11, 2, 1, 5, 77)}, got
    evidence = ("define k = 1; assume b = flip(0.5); assume y = if (b) { k } else { k + 1 }; observe normal(y, 1) = 1.5; %s"
                "infer do(e <- exact_log_evidence(), action(print(e)));")
    first, second = (run(evidence % again)[1] for again in ("", "define k = 5;"))
    assert first == second, (first, second)
    # a variable around stays that variable
    got = states("define go = proc(k) { do(assume b = flip(0.5), assume y = if (b) { k } else { k + 1 }, assume k = 7) }; infer go(1);",
                 ["y", "k"])
    assert got == {(1, 7), (2, 7)}, got
    # spliced and quoted code, nested in blocks
    for code in ("[| if (b) { k } else { k + 10 } |]", "quote(if (b) { k } else { k + 10 })"):
        got = states("define k = 1; define e = %s; assume b = flip(0.5); assume y = unquote(e); define k = 5;" % code, ["y", "k"])
        assert got == {(1, 5), (11, 5)}, got
    got = states("define k = 1; assume b = flip(0.5); assume y = if (b) { eval(quote(k), get_current_environment()) } else { k + 10 };"
                 "define k = 5;", ["y", "k"])
    assert got == {(1, 5), (11, 5)}, got
    # a procedure of the program that the model may call
    lent = "define k = 1; define f = proc(x) { x + k }; define g = proc(x) { f(x) }; assume b = flip(0.5); %s %s;"
    for use in ("assume y = if (b) { g(1) } else { 0 };", "assume y = mapv(g, [1, 2]);", "assume m = mem(g);",
                "assume h = if (b) { f } else { g }; assume y = h(1);"):
        for change in ("define k = 2", "define f = proc(x) { 0 }"):
            refused(lent % (use, change), "E0410", "cannot change")
        assert run(lent % (use, "define k = 1"))[0] == 0  # that changes nothing
    assert run(lent % ("assume y = g(1);", "define k = 2"))[0] == 0  # evaluated once
    refused("define f = proc(x) { exp(x) }; assume b = flip(0.5); assume y = if (b) { f(0) } else { 0 }; assume exp = proc(x) { 77 };", "E0410", "`exp`")


def forgotten():
    """What is still used cannot be forgotten; what is forgotten leaves nothing."""
    for text in ("assume x = flip(0.5); assume b = flip(0); assume y = if (b) { x } else { false };",
                 "assume x = flip(0.5); assume y = proc() { x };",
                 "assume x = 3; assume y = proc() { x };",
                 "assume x = proc() { 3 }; assume y = proc() { x() };",
                 "assume x = flip(0.5); assume y = { let z = x; proc() { z } };",
                 "assume x = { let a = flip(0.3); proc(i) { a } }; assume y = x(1);",
                 "assume y = proc() { x() }; assume x = proc() { 3 };",
                 "define f = proc() { x }; assume x = flip(0.5); assume b = flip(0); assume y = if (b) { f() } else { 0 };"):
        refused(text + "infer forget(quote(x));", "E04", "forgotten" if "define" not in text else "E0410")
        assert run(text + "infer forget(quote(y)); infer forget(quote(x));")[0] == 0 or "define" in text, text
    # constants go with their last reader
    code, out, err = run("assume x = proc() { 3 }; assume b = flip(0.5); assume y = [x, b]; assume z = x(); infer forget(quote(x)); assume x = 4;"
                         "sample [y[0](), z, x]; infer forget(quote(y)); infer forget(quote(z)); list_directives();")
    assert code == 0 and out[0] == "[3, 3, 4]" and out[1].count("label") == 2, (out, err)
    for value in ("{ let a = flip(0.3); proc(i) { a } }", "make_beta_bernoulli(gamma(1, 1), 1)", "mem(proc(i) { flip(0.3) })", "3",
                  "{ let f = make_crp(gamma(1, 1)); proc(i) { f() } }"):
        code, out, err = run("assume c = %s; infer forget(quote(c)); infer do(l <- global_log_joint(), n <- num_blocks(default), action(print([l, n])));"
                             "list_directives(); assume c = 5; sample c;" % value)
        assert (code, out) == (0, ["[[0], [0]]", "[]", "5"]), (value, out, err)


def frozen_choices():
    """Of a procedure, its own choices are frozen; an observation of what is frozen goes; a branch that is observed refuses."""
    for use in ("", "assume y = c(0);"):
        got = states("assume c = if (flip(0.5)) { let a = uniform_discrete(0, 9); proc(i) { a } } else { let a = uniform_discrete(0, 9); proc(i) { a } };"
                     + use + "define v = run(sample c(0)); infer freeze(quote(c)); assume z = c(1);", ["c(0) - v", "z - v"], 20)
        assert got == {(0, 0)}, got
    text = "assume x = uniform_discrete(0, 3); assume y = x; %s observe %s = 2; infer freeze(quote(x)); "
    for label, name in itertools.product(("", "o:"), ("x", "y")):
        got = states(text % (label, name) + "assume w = y + x;", ["x", "y", "w"], 10)
        assert got == {(2, 2, 4)}, got
        code, out, err = run(text % (label, name) + ("infer forget(quote(o));" if label else "") + "infer do(l <- global_log_joint(), action(print(l)));")
        assert (code, out) == (0, ["[0]"]), (out, err)
    refused("assume x = uniform_discrete(0, 3); assume b = flip(1); observe (if (b) { x } else { 1 }) = 2; infer freeze(quote(x));",
            "E0409", "branch")
    # a name on the way to a choice that stays: the choice stays observed; a branch that goes refuses
    text = "assume x = uniform_discrete(0, 3); assume y = x; assume z = y; %s observe %s = 2; infer freeze(quote(y)); "
    for label, name in itertools.product(("", "o:"), ("y", "z")):
        got = states(text % (label, name), ["x", "y", "z"], 10)
        assert got == {(2, 2, 2)}, got
        code, out, err = run(text % (label, name) + "infer do(l <- global_log_joint(), each <- log_lik(), r <- y_rep(), action(print(exp(l[0]) * 3, each)));")
        assert (code, out) == (0, ["1 [[%.17g]]" % math.log(1 / 3)]), (code, out, err)
    refused("assume x = uniform_discrete(0, 3); assume b = flip(1); assume y = if (b) { x } else { 1 }; observe y = 2; infer freeze(quote(y));",
            "E0409", "branch")


def splits():
    """enumerative_diversify(scope, one) splits by one block of the scope."""
    text = """assume a = tag("s", 0, flip(0.3)); assume b = tag("s", 1, flip(0.6)); assume c = tag("s", 2, uniform_discrete(0, 3));
infer enumerative_diversify(%s, one); infer do(w <- particle_log_weights(), action(print(mapv(exp, w))));"""
    for scope in ('"s"', "default"):
        seen = set()
        for seed in range(12):
            code, out, err = run(text % scope, "--seed", str(seed))
            assert code == 0, err
            seen.add(tuple(round(w, 9) for w in json.loads(out[-1])))
        assert {tuple(sorted(w)) for w in seen} == {(0.3, 0.7), (0.4, 0.6), (round(1 / 3, 9),) * 3}, seen
    # how many blocks there are depends on the value: the mean over runs is the prior's all the same
    text = """assume a = tag("s", 0, flip(0.5)); assume b = if (a) { tag("s", 1, flip(0.5)) } else { false };
infer enumerative_diversify("s", one); infer do(w <- particle_log_weights(), v <- for_each_particle(sample a),
action(print(sum(mapv(i -> if (v[i]) { exp(w[i]) } else { 0 }, arange(size(w)))))));"""
    runs = [float(run(text, "--seed", str(seed))[1][-1]) for seed in range(400)]
    mean, sd = sum(runs) / 400, math.sqrt(sum(r * r for r in runs) / 400 - (sum(runs) / 400) ** 2)
    assert abs(mean - 0.5) < 4 * sd / 20, (mean, sd)


def main():
    aliases()
    frozen_again()
    filters()
    defined_again()
    forgotten()
    frozen_choices()
    splits()
    print("names: what a directive was made with stays")


main()
