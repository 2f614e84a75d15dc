#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Discrete choices summed out: gradients of the marginal density equal those of the sum written by hand, the
evidence found with them is that of the sum, and what cannot be summed is refused with its reason. That draws
leave the joint distribution alone is in joint.py."""
import json, os, subprocess, sys

TOOL = os.path.abspath(sys.argv[1])
bad = []


def run(*lines):
    r = subprocess.run([TOOL, "run", "--seed", "2", "-"], input="\n".join(lines), capture_output=True, text=True, timeout=300)
    return r.returncode, r.stdout, r.stderr


def equal(name, head, summed, by_hand, at, tolerance=1e-9):
    """One step of ascent under marginalize, and in the model with the sum written out."""
    force = ["force %s = %s;" % kv for kv in at.items()]
    show = "sample [%s];" % ", ".join(at)
    one = run(*head, *summed, *force, 'infer marginalize("z", gradient_ascent(default, all, 1e-3, 1));', show)
    two = run(*head, *by_hand, *force, "infer gradient_ascent(default, all, 1e-3, 1);", show)
    if one[0] or two[0]: return bad.append("%s: %s%s" % (name, one[2], two[2]))
    flat = [json.dumps(json.loads(x[1])).replace("[", "").replace("]", "").split(",") for x in (one, two)]
    if any(abs(float(a) - float(b)) > tolerance for a, b in zip(*flat)): bad.append("%s: %s and %s" % (name, one[1], two[1]))


MIX = ["define y = [-2.1, -1.7, 1.9, 2.4, 2.2];", "assume a = normal(-1, 2); assume b = normal(1, 2); assume p = beta(2, 2);",
       "assume s = gamma(2, 2);"]
EACH = "for (i = 0; i < 5; i++) { %s }"
BY_HAND = [EACH % "factor(log_mix(p, assess(y[i], normal, b, s), assess(y[i], normal, a, s)));"]
AT = {"a": 0.3, "b": 0.7, "p": 0.4, "s": 1.1}
Z = 'assume z = mem(i -> tag("z", i, flip(p)));'
equal("means behind a branch", MIX, [Z, EACH % "observe normal(if (z(i)) { b } else { a }, s) = y[i];"], BY_HAND, AT)
equal("distributions behind a branch", MIX, [Z, EACH % "observe if (z(i)) { normal(b, s) } else { normal(a, s) } = y[i];"], BY_HAND, AT)
equal("by index", MIX, ['assume z = mem(i -> tag("z", i, categorical([1 - p, p], [0, 1])));',
                        EACH % "observe normal([a, b][z(i)], s) = y[i];"], BY_HAND, AT)
THREE = ["define y = [-2.1, -1.7, 1.9, 2.4, -2.2, 0.3];",
         "assume m = normal([-1, 0, 1], 2); assume p = beta(2, 2); assume s = gamma(2, 2);",
         "assume T = [[p, (1 - p) / 2, (1 - p) / 2], [(1 - p) / 4, p, 3 * (1 - p) / 4], [0.1, 0.2, 0.7]];"]
equal("a chain of three states", THREE,
      ['assume z = mem(t -> tag("z", t, if (t == 0) { uniform_discrete(0, 3) } else { categorical(T[z(t - 1)], [0, 1, 2]) }));',
       "for (i = 0; i < 6; i++) { observe normal(m[z(i)], s) = y[i]; }"],
      ["assume e = (t, k) -> assess(y[t], normal, m[k], s);",
       "assume f = (a, t) -> if (t == 6) { log_sum_exp(a) } else { f(mapv(k -> log_sum_exp(mapv(j -> a[j] + log(T[j, k]), "
       "[0, 1, 2])) + e(t, k), [0, 1, 2]), t + 1) };", "factor(f(mapv(k -> log(1 / 3) + e(0, k), [0, 1, 2]), 1));"],
      {"m": "[-0.3, 0.2, 0.7]", "p": 0.4, "s": 1.1})
# what a factor is: a sequence, a vector of several numbers, a number by arithmetic; a step that cannot be
PAIRS = ["define y = [[-2.1, 1], [-1.7, 0.3], [1.9, 2]];", "assume a = normal(-1, 2); assume b = normal(1, 2);", "assume p = beta(2, 2);",
         "assume s = gamma(2, 2);"]
for name, of in (("sequences", "normal(%s, s)"), ("vectors", "multivariate_normal(%s, s * id_matrix(2))")):
    one, two = (of % "[[a, 2 * a], [b, a * b]][z(i)]", [of.replace("(", ", ", 1) % m for m in ("[a, 2 * a]", "[b, a * b]")])
    equal(name, PAIRS, ['assume z = mem(i -> tag("z", i, bernoulli(p)));', "for (i = 0; i < 3; i++) { observe %s = y[i]; }" % one],
          ["for (i = 0; i < 3; i++) { factor(log_mix(p, assess(y[i], %s, assess(y[i], %s)); }" % (two[1], two[0])], AT)
equal("by arithmetic", MIX, ['assume z = mem(i -> tag("z", i, bernoulli(p)));', EACH % "observe normal(a + z(i) * (b - a), s) = y[i];"], BY_HAND, AT)
equal("no way back", MIX,
      ["assume T = [[1 - p, p], [0, 1]];",
       'assume z = mem(t -> tag("z", t, if (t == 0) { bernoulli(0.5) } else { categorical(T[z(t - 1)], [0, 1]) }));',
       EACH % "observe normal([a, b][z(i)], s) = y[i];"],
      ["assume e = (k, m, n) -> sum(mapv(i -> assess(y[i], normal, k, s), range(m, n)));",
       "factor(log_sum_exp(append([log(0.5) + e(b, 0, 5)], [log(0.5) + 4 * log(1 - p) + e(a, 0, 5)], mapv(k -> log(0.5) + log(p) + (k - 1) * "
       "log(1 - p) + e(a, 0, k) + e(b, k, 5), [1, 2, 3, 4]))));"], AT)
# what is infinite where nobody looks (columns of numbers, summed and as they stand), beside the same one by one
LONG = ["assume a = normal(1, 1); assume p = beta(2, 2);", "assume w = mapv(i -> biplex(i == 3, 0, p + i), arange(12));"]
TWELVE = 'assume z = mem(i -> tag("z", i, uniform_discrete(0, 12)));'
THREE_DATA = "for (i = 0; i < 3; i++) { %s }"
BY_ONE = [THREE_DATA % "factor(log_sum_exp(mapv(k -> assess(i, normal, a * log(p + k), 1), [0, 1, 2, 4, 5, 6, 7, 8, 9, 10, 11])) - log(12));"]
equal("infinite in a column", LONG, ["assume x = a * log(w);", TWELVE, THREE_DATA % "observe normal(x[z(i)], 1) = i;"], BY_ONE, {"a": 1.2, "p": 0.4})
equal("infinite beside", LONG, [TWELVE, THREE_DATA % "observe normal(a * log(w[z(i)]), 1) = i;"],
      ["assume x = a * log(w);", THREE_DATA % ("factor(log_sum_exp(mapv(k -> biplex(k == 3, log(0), "
       "assess(i, normal, biplex(k == 3, 0, x[k]), 1)), arange(12))) - log(12));")], {"a": 1.2, "p": 0.4})


def refused(name, words, *lines):
    code, _, err = run(*lines)
    if code != 1 or words not in err: bad.append("%s: status %d, %s" % (name, code, err))


NUTS = 'infer marginalize("z", nuts(default, all, 5));'
COMPONENTS = ["assume mu = mem(k -> normal(0, 10)); assume z = mem(i -> tag(\"z\", i, uniform_discrete(0, 2)));"
              "observe normal(mu(z(0)), 1) = 1; observe normal(mu(z(1)), 1) = 3;"]
refused("a component that may be unused", "decides whether another choice is there", *COMPONENTS, NUTS)
if run(*COMPONENTS, "predict mu(0); predict mu(1);", NUTS)[0]: bad.append("components that stay")
refused("a choice inside a branch", "decides whether another choice is there", 'assume z = tag("z", 0, flip(0.5));',
        "assume x = if (z) { normal(0, 1) } else { normal(5, 1) }; observe normal(x, 1) = 2;", NUTS)
refused("no finite list", "poisson cannot be enumerated", 'assume m = normal(0, 1); assume z = tag("z", 0, poisson(3));',
        "observe normal(z * m, 1) = 2;", NUTS)
refused("statistics", "what this procedure counts", "assume c = make_beta_bernoulli(1, 1); assume m = normal(0, 1);",
        'assume z = mem(i -> tag("z", i, c())); observe normal(if (z(0)) { m } else { 0 - m }, 1) = 1;', NUTS)
refused("all with all", "too closely", 'assume z = mem(i -> tag("z", i, flip(0.5))); assume m = normal(0, 1);',
        "observe normal(m + sum(mapv(i -> if (z(i)) { 1 } else { 0 }, arange(14))), 1) = 1;", NUTS)
# a start from the prior draws the summed choices too
started = run("assume m = normal(0, 1); assume s = gamma(2, 2);", 'assume z = mem(i -> tag("z", i, flip(0.3)));',
              "for (i = 0; i < 6; i++) { observe normal(if (z(i)) { m } else { 0 - m }, s) = i / 3 };",
              'define d = run(marginalize("z", sample(warmup=50, draws=50, init="prior", collect=collect(m, s))));',
              'size(column(d, "m"));')
if started != (0, "50\n", ""):
    bad.append("init=prior: %s" % (started,))
print("\n".join(bad) if bad else "marginalize: all fine")
sys.exit(bool(bad))
