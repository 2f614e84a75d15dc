#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Particles that share layers of their traces mean what copies mean. Random programs make particles go on from each
other (add_particle, fork_model) between directives; then the weight of each particle must be the likelihood of its
state, computed from nothing on the whole trace; values collected from layers must be those of the whole trace; and its
invariants must hold."""
import random
import re
import subprocess
import sys

MODEL = """
assume s = tag("par", 0, gamma(2, 1));
assume z = mem(proc(k) { tag("lat", k, normal(0, s)) });
assume x = mem(proc(t) { tag("st", t, if (t == 0) { normal(0, 1) } else { normal(0.9 * x(t - 1) + 0.1 * z(floor(t / 3)), 1) }) });
assume f = proc(a, b) { c = a * b; proc(u) { u + c } };
assume g = f(s, 2);
assume r = ref(normal(s, 1));
assume twice = mem(proc(k) { if (k > 2) { twice(k - 1) + normal(z(k), 1) } else { x(k) } });
infer add_particle(0);
"""
COLUMNS = ["s", "x(0)", "x(3)", "z(1)", "g(1)", "deref(r)", "twice(4)"]


def steps(R):
    particles, t, names = 2, 0, []
    for i in range(R.randint(8, 20)):
        k = R.randint(0, 9)
        if k <= 2:
            yield "observe normal(x(%d), 1) = %.3f;" % (t, R.gauss(0, 1))
            t += 1
        elif k <= 4 and particles < 7:
            yield "infer add_particle(%d);" % R.randrange(particles)
            particles += 1
        elif k == 5:
            names.append("y%d" % i)
            yield "assume y%d = normal(g(%s), 1);" % (i, R.choice(names[:-1] + ["x(0)", "twice(4)"]))
        elif k == 6 and names:
            yield "observe %s = %.3f;" % (names.pop(), R.gauss(0, 1))
        elif k == 7:
            yield "predict if (x(%d) > 0) { normal(deref(r), 1) } else { twice(%d) };" % (R.randint(0, t + 1), R.randint(1, 5))
        elif k == 8:
            yield "infer do(m <- fork_model(), in_model(m, do(observe normal(s, 1) = 1, mh(default, one, 3))), pass);"
        elif k == 9:
            yield "infer do(observe normal(twice(%d), 1) = %.3f, add_particle(0), on_particle(1, sample x(1)));" % (R.randint(1, 4), R.gauss(0, 1))
            particles += 1


def show(mark):
    line = 'infer do(w <- particle_log_weights(), action(print("%s w", w)));\n' % mark
    cells = ", ".join('column(d, "%s")' % c for c in COLUMNS)
    return line + 'infer do(d <- collect(%s), action(print("%s v", [%s])));\n' % (", ".join(COLUMNS), mark, cells)


def program(seed):
    R = random.Random(seed)
    text = MODEL + "\n".join(steps(R)) + "\n"
    text += "".join("sample %s;\n" % c for c in COLUMNS)
    text += "".join("predict %s;\n" % c for c in COLUMNS)  # memoized values that stay
    text += show("layers")
    text += 'infer do(l <- global_log_likelihood(), action(print("whole w", l)));\n'
    text += "infer checkInvariants();\n" + show("again")
    return text + "infer mh(default, one, 20);\ninfer checkInvariants();\n"


def run(tool, text):
    done = subprocess.run([tool, "--seed", "3"], input=text, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    found = {}
    for mark, what, rest in re.findall(r"(layers|whole|again) (w|v) (.*)$", done.stdout, re.M):
        found[mark + " " + what] = [float(x) for x in re.findall(r"-?\d[\d.e+-]*", rest)]
    return found, done


def near(a, b):
    return len(a) == len(b) > 0 and all(abs(x - y) <= 1e-9 * (1 + abs(x)) for x, y in zip(a, b))


def main():
    bad = []
    for seed in range(20):
        found, done = run(sys.argv[1], program(seed))
        if "error" in done.stderr + done.stdout or len(found) != 5:
            bad.append("seed %d: %s" % (seed, (done.stdout + done.stderr)[-600:]))
            continue
        for a, b in [("layers w", "whole w"), ("layers w", "again w"), ("layers v", "again v")]:
            if not near(found[a], found[b]):
                bad.append("seed %d: %s is not %s: %s %s" % (seed, a, b, found[a], found[b]))
    print("\n".join(bad) if bad else "ok")
    sys.exit(1 if bad else 0)


main()
