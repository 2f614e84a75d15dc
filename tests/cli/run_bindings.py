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
    splits()
    print("names: what a directive was made with stays")


main()
