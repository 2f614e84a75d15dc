#!/usr/bin/python3
"""Proposals of mh that change a structure are foreseen, and made only where they are accepted (trace/foresee.c). What
comes out is the same to the bit as where each is made: a model that has a procedure with statistics, if only one that
nobody calls, is not foreseen."""
import subprocess, sys, tempfile

NOT_FORESEEN = "assume nobody_calls_it = make_beta_bernoulli(1, 1);\n"
SHOW = "infer repeat(%d, do(%s, v <- sample(list(%s)), action(print(v))));\n"

TREES = """
assume grow = proc(d) { if (flip(0.4) || d > 6) { list("c", normal(0, 2)) } else {
  if (flip(0.3)) { list("x") } else { list("p", grow(d + 1), grow(d + 1)) } } };
assume ev = proc(e, x) { if (first(e) == "c") { second(e) } else {
  if (first(e) == "x") { x } else { ev(second(e), x) + ev(e[2], x) } } };
assume e = grow(0);
infer for_each(arange(10), proc(i) { observe normal(ev(e, $i), 1) = 2 * i + 1 });
"""
# one choice decides several branches; blocks, lists to choose from, a scale that moves, an observation by a branch
BRANCHES = """
assume k = flip(0.5);
assume s = gamma(2, 2);
assume op = proc(d) { let r = uniform_discrete(0, 3); let w = normal(0, 1);
  if (r == 0) { w } else { if (r == 1 && d < 4) { op(d + 1) + op(d + 1) } else { w * 2 } } };
assume a = if (k) { op(0) } else { 3 };
assume b = if (k) { normal(a, 1) } else {
  op(2) + (if (flip(0.2)) { expon(1) } else { categorical(simplex(0.2, 0.8), list(1, 7)) }) };
observe normal(a + b, s) = 2.5;
observe poisson(if (k) { exp(b) } else { 2 }) = 3;
"""
# what is not foreseen, among what is: memoized calls, tags
MEMO = """
assume f = mem(proc(i) { if (flip(0.5)) { normal(0, 1) } else { 5 } });
assume n = poisson(3);
assume go = proc(i) { if (i < 1) { 0 } else { f(i) + go(i - 1) } };
assume tot = go(n);
assume z = if (flip(0.3)) { tag("a", 1, normal(tot, 1)) } else { beta(2, 2) };
observe normal(tot + z, 1) = 7;
"""
# draws that fail (a negative scale weighs nothing), calls held as one that read what changes
FAILING = """
assume m = proc(d) { if (flip(0.5)) { normal(0, 2 - d) } else { if (d > 3) { gamma(1, 1) } else { m(d + 1) } } };
assume x = m(1);
assume y = if (x > 0) { m(-2) } else { x };
assume q = proc(t) { if (t < 1) { x } else { y + q(t - 1) } };
assume c = uniform_discrete(0, 4);
assume w = if (c > 1) { q(c) + normal(0, 1) } else { q(2) };
observe normal(w, 2) = 4;
observe flip(if (y > 1) { 0.9 } else { 0.2 }) = true;
"""
ONE = "mh(default, one, 20)"
PROGRAMS = [
    (TREES, SHOW % (40, ONE, "e")),
    (BRANCHES, SHOW % (60, ONE, "k, s, a, b") + SHOW % (20, "mh(default, all, 5)", "k, s, a, b")),
    (MEMO, SHOW % (60, ONE, "n, tot, z") + SHOW % (20, 'do(mh("a", one, 5), mh(default, one, 5))', "n, tot, z")),
    (FAILING, SHOW % (60, ONE, "x, y, c, w")),
]


def run(text, seed):
    with tempfile.NamedTemporaryFile("w", suffix=".vnts") as f:
        f.write(text)
        f.flush()
        r = subprocess.run([sys.argv[1], "run", "--seed", str(seed), f.name], capture_output=True, text=True, timeout=120)
    return r.returncode, r.stdout.split("\n"), r.stderr if r.returncode else ""


def main():
    for model, moves in PROGRAMS:
        for seed in range(1, 6):
            foreseen, made = run(model + moves, seed), run(NOT_FORESEEN + model + moves, seed)
            assert foreseen[1] == made[1] and foreseen[0] == made[0], (model, seed, foreseen[2], made[2])
            if foreseen[0] == 0: assert len(set(foreseen[1])) > 5, foreseen  # it moves
    print("ok")


main()
