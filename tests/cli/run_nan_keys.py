#!/usr/bin/python3
"""A NaN is a key like any other: wherever a value is looked up, a NaN is found again, counted once and removed. One program
per place where values are keys, each with keys that are or hold a NaN (@K), computed in another way the second time (@L), so
that sign and payload of its bits differ. Under == a NaN equals nothing, as in arithmetic."""
import subprocess, sys

TOOL = sys.argv[1]
KEYS = {"number": ("log(-1)", "(1/0 - 1/0)"), "array": ('[1, log(-1), "a"]', '[1, -log(-1), "a"]'),
        "vector": ("vector(1, log(-1))", "vector(1, 0 * (1/0))"), "list": ("list(log(-1))", "list(-log(-1))"),
        "nested": ("[[log(-1)], list([2])]", "[[0 * (1/0)], list([2])]"),
        "dictionary": ('dict(["a", log(-1)], [log(-1), 2])', 'dict([-log(-1), 2], ["a", log(-1)])'),
        "matrix": ("matrix([[1, log(-1)]])", "matrix([[1, -log(-1)]])")}

PLACES = {  # what the program prints last; a number may have more digits
    "untraced memo": ("define f = mem(x -> uniform_continuous(0, 1)); print(f(@K) == f(@L));", "true"),
    "untraced recursion": ("define f = mem((x, i) -> if (i == 0) { uniform_continuous(0, 1) } else { f(x, i - 1) });"
                           "print(f(@K, 3) == f(@L, 0));", "true"),
    "traced memo": ("assume f = mem(x -> normal(0, 1)); assume d = f(@K) - f(@L); sample d;", "0"),
    "traced memo through moves": ("assume f = mem(x -> normal(0, 1)); assume b = flip(0.5); assume x = if (b) { f(@K) } else { 1 };"
                                  "observe normal(x, 1) = 2; infer mh(default, one, 200);"
                                  "sample f(@K) - f(@L);", "0"),
    "traced memo in particles": ("assume f = mem(x -> normal(0, 1)); assume y = f(@K); infer resample(3); run(sample_all(y - f(@L)));", "[0, 0, 0]"),
    "dictionary": ("define d = dict([@K, 1], [@L, 2]); print([size(d), lookup(d, @L), contains(d, @K)]);", "[1, 2, true]"),
    "large dictionary": ("define d = to_dict(append(mapv(i -> [i, i], arange(20)), [[@K, 5]])); print([lookup(d, @L), contains(d, @K)]);", "[5, true]"),
    "elements": ("print(contains([1, @K, 3], @L));", "true"),
    "blocks": ('assume x = tag("s", @K, normal(0, 1)); assume y = tag("s", @L, normal(0, 1)); define before = run(sample [x, y]);'
               'infer mh("s", @L, 1); define after = run(sample [x, y]);'
               "print([before[0] == after[0], before[1] == after[1]]);", "[false, false]"),
    "scopes": ('assume x = tag(@K, 0, normal(0, 1)); define before = run(sample x); infer mh(@L, 0, 1); print(before == run(sample x));', "false"),
    "equal particles": ('assume x = tag("s", 0, categorical([0.5, 0.5], [@K, @L])); infer resample(10);'
                        'infer collapse_equal("s", 0); print(size(run(particle_log_weights())));', "1"),
    "a categorical's values": ("print(assess(@L, categorical, [0.25, 0.75], [@K, 7]));", "-1.386294361"),
    "exactly": ("print(assess(@L, exactly, @K));", "0"),
    "a permutation": ("print(assess([@L, @L, 1], permute, [@K, 1, @K]));", "-1.098612288"),
    "a conjugate maker": ("assume f = make_sym_dir_cat(1, 2, [@K, 7]); assume x = f(); assume y = f(); infer mh(default, one, 20);"
                          "sample exp(assess(@L, f)) + exp(assess(7, f)) > 0.999;", "true"),
}
OTHERS = {  # names of blocks: strings and symbols are alike, also where they are found by their hash
    'assume x = tag("s", "a", normal(0, 1)); assume y = tag("s", quote(a), normal(0, 1)); define before = run(sample [x, y]);'
    'infer mh("s", "a", 1); define after = run(sample [x, y]); print([before[0] == after[0], before[1] == after[1]]);': "[false, false]",
    "print([log(-1) == log(-1), log(-1) != log(-1), [log(-1)] == [log(-1)], vector(log(-1)) == vector(log(-1))]);": "[false, true, false, false]",
    "define f = mem(x -> uniform_continuous(0, 1)); print(f(0) == f(-0));": "true",
}


def run(program):
    p = subprocess.run([TOOL, "--seed", "3", "-e", program], capture_output=True, text=True, timeout=60)
    return p.returncode, p.stdout.strip().split("\n")[-1], p.stderr.strip()


def main():
    cases = [(place + ", key " + kind, text.replace("@K", k).replace("@L", l), want)
             for place, (text, want) in PLACES.items() for kind, (k, l) in KEYS.items()
             if not (place in ("blocks", "scopes") and kind == "dictionary")]  # refused as a name by every operator
    cases += [(text, text, want) for text, want in OTHERS.items()]
    bad = 0
    for what, program, want in cases:
        code, out, err = run(program)
        if code == 0 and out.startswith(want): continue
        bad += 1
        print("%s: status %d, %r instead of %r\n%s\n  %s" % (what, code, out, want, err[:300], program))
    print("%d of %d places find their keys" % (len(cases) - bad, len(cases)))
    return 1 if bad else 0


sys.exit(main())
