#!/usr/bin/python3
"""Calls of deterministic procedures that recurse by values that change are one application each, whatever they
recurse over (runtime/core/pure.h); what they compute, read, hand on and refuse is what they would taken apart."""
import subprocess, sys, tempfile

TREE = """
assume ev = proc(e, x) { if (first(e) == "c") { second(e) } else { if (first(e) == "x") { x } else { ev(second(e), x) + ev(e[2], x) } } };
assume grow = proc(d, c) { if (d == 0) { list("c", c) } else { list("p", grow(d - 1, c), list("x")) } };
"""


def run(text, *options):
    with tempfile.NamedTemporaryFile("w", suffix=".vnts") as f:
        f.write(text)
        f.flush()
        r = subprocess.run([sys.argv[1], "run", *options, f.name], capture_output=True, text=True, timeout=120)
    return r.returncode, r.stdout.split("\n")[:-1], r.stderr


def ok(text, *options):
    code, out, err = run(text, *options)
    assert code == 0, (text, out, err)
    return out


def applications(depth):
    """Added by one observation of a tree of that depth."""
    show = 'infer do(m <- trace_memory(), action(print(lookup(m, "applications"))));'
    text = TREE + f"assume c = normal(0, 1); assume e = grow({depth}, c);" + show + "observe normal(ev(e, 2), 1) = 3;" + show
    before, after = (float(line) for line in ok(text) if line)
    return after - before


def main():
    assert applications(3) == applications(12) == 2, (applications(3), applications(12))

    # values, before and after moves, against a closed form: c + 2 * depth
    out = ok(TREE + "assume c = normal(0, 1); assume e = grow(6, c); assume v = ev(e, 2);"
             "infer repeat(20, do(mh(default, one, 3), checkInvariants())); sample v - c;")
    assert abs(float(out[-1]) - 12) < 1e-12, out

    # a name that the procedure reads, and one of a frame around it
    out = ok("assume k = uniform_discrete(1, 30); assume w = normal(0, 1);"
             "assume count = proc(n) { if (n < 1) { 0 } else { w + count(n - 1) } };"
             "assume make = proc(b) { proc(n) { if (n < 1) { 0 } else { b + count(n - 1) } } };"
             "assume a = count(k); assume h = make(w); assume b = h(k);"
             "infer repeat(30, do(mh(default, one, 2), checkInvariants()));"
             "sample [a - k * w, b - k * w];")
    assert all(abs(x) < 1e-9 for x in eval(out[-1])), out

    # what is handed on as it is can be observed through the call
    out = ok("assume k = uniform_discrete(0, 2); assume a = normal(0, 1); assume b = normal(5, 1);"
             "assume pick = proc(n, x, y) { if (n == 0) { x } else { pick(n - 1, y, x) } };"
             "observe pick(k, a, b) = 4.5; infer mh(default, one, 200); sample pick(k, a, b);")
    assert float(out[-1]) == 4.5, out

    # mutual recursion, blocks, loops without a stack, several arguments
    out = ok("assume n = 100000 + uniform_discrete(0, 2);"
             "assume even = proc(n) { if (n == 0) { true } else { odd(n - 1) } };"
             "assume odd = proc(n) { if (n == 0) { false } else { even(n - 1) } };"
             "assume gcd = proc(a, b) { if (b == 0) { a } else { q = floor(a / b); r = a - q * b; gcd(b, r) } };"
             "assume g = gcd(12 * n, 18 * n); sample [even(n) == (n == 100000), g == 6 * n];")
    assert out[-1] == "[true, true]", out

    # errors say where, and leave the model as it was
    code, out, err = run(TREE + 'assume b = flip(0.5); assume e = if (b) { list("p", list("x"), 3) } else { list("p", list("x"), 4) };'
                         "assume v = ev(e, 1);")
    assert code != 0 and "first" in err and "in a call of ev" in err, err
    code, out, err = run(TREE + "assume c = normal(0, 1); assume e = grow(2, c); observe ev(e, 1) = 3;")
    assert code != 0 and "cannot be observed" in err, err

    # procedures that may draw are taken apart, and the names in a procedure stay what they were
    last = ("assume k = poisson(3); assume noise = proc(n) { if (n < 1) { normal(0, 1) } else { noise(n - 1) } };"
            "observe normal(noise(k), 1) = 2; infer mh(default, one, 50);"
            "assume step = proc(x) { x - 1 }; assume last = proc(n) { if (n < 1) { n } else { last(step(n)) } };"
            "sample last(k + 0.5);")
    out = ok(last + "infer freeze(quote(step)); assume step = proc(x) { x - 2 }; sample last(2.5 + 0 * k); sample step(2);")
    assert float(out[-1]) == 0 and abs(float(out[-2])) == abs(float(out[-3])) == 0.5, out
    calls = ("assume k = uniform_discrete(1, 30); assume one = proc() { 1 }; assume count = proc(n) { if (n < 1) { 0 } else { "
             "one() + count(n - 1) } }; observe normal(count(k), 1) = 3;")
    for text in (last + "infer forget(quote(step));", calls + "infer forget(quote(one));", calls + "infer forget(quote(count));"):
        code, out, err = run(text)
        assert code != 0 and "E0409" in err, err
    ok(calls + "infer freeze(quote(one)); assume one = proc() { normal(0, 1) }; infer do(mh(default, one, 50), checkInvariants());")
    many_at_once()


LANGUAGE = """
assume grow = proc(d) { if (flip(0.4) || d > 6) { list("c", normal(0, 2)) } else { if (flip(0.3)) { list("x") } else {
  pick(uniform_discrete(0, %d), d + 1) } } };
assume pick = proc(k, d) { if (k == 0) { list("p", grow(d), grow(d)) } else { if (k == 1) { list("s", grow(d)) } else {
  if (k == 2) { list("l", grow(d), 3) } else { if (k == 3) { list("d", grow(d)) } else { list("i", grow(d), grow(d)) } } } } };
assume power = proc(y, n) { if (n == 0) { y } else { power(y * 0.5 - 1, n - 1) } };
assume ev = proc(e, x) { if (first(e) == "c") { second(e) } else { if (first(e) == "x") { x } else {
  if (first(e) == "p") { ev(second(e), x) * ev(e[2], x) - 0.25 } else { if (first(e) == "s") { sin(ev(second(e), x + 1)) } else {
  if (first(e) == "l") { let y = ev(second(e), x); power(y, e[2]) } else { if (first(e) == "d") { 1 / (1 + abs(ev(second(e), x))) } else {
  if (ev(second(e), x) > 0) { ev(e[2], x) } else { -1 } } } } } } } };
assume e = grow(0);
infer for_each(arange(%d), proc(i) { observe normal(ev(e, $(i / 7)), 1) = sin(i / 7) });
"""


def many_at_once():
    """One structure at many points: the values are those of single calls (checkInvariants takes each apart), with conditions
    that the points decide and without, for more points than are taken together, and where a call fails at one of them."""
    for kinds, points, seed in (4, 10, 1), (4, 10, 2), (4, 150, 3), (5, 10, 4), (5, 30, 5):
        ok(LANGUAGE % (kinds, points) + "infer repeat(12, do(mh(default, one, 25), checkInvariants()));", "--seed", str(seed))
    code, out, err = run("assume k = uniform_discrete(0, 2); assume inv = proc(n, x) { if (n == 0) { log(x) } else { inv(n - 1, x - 1) } };"
                         "infer for_each(arange(5), proc(i) { observe normal(inv(k, $(i + 1.5)), 1) = i });"
                         "infer mh(default, one, 40); infer checkInvariants();", "--seed", "1")
    assert code == 0 or "log" in err, err  # outside the domain a proposal is rejected, at the start it is an error


if __name__ == "__main__":
    main()
