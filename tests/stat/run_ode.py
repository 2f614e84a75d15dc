#!/usr/bin/python3
"""ode_solve: solutions against closed forms, against scipy's solve_ivp and against the published solution of Robertson's
problem; compiled right-hand sides against the same by the evaluator; failing solutions inside inference; the posterior of
the lynx and hare data against that of a grid-free reference (posteriordb, lotka_volterra: mean, sd, standard error)."""
import json, math, os, subprocess, sys, tempfile

import numpy as np
from scipy.integrate import solve_ivp

TOOL, FAILED = os.path.abspath(sys.argv[1]), []


def run(program, *options):
    with tempfile.NamedTemporaryFile("w", suffix=".vnts") as f:
        f.write(program)
        f.flush()
        r = subprocess.run([TOOL, "run", "--format", "json", *options, f.name], capture_output=True, text=True, timeout=300)
    return r.returncode, r.stdout, r.stderr


def numbers(program):
    code, out, err = run(program)
    if code:
        print(err)
        return np.array([])
    return np.array(json.loads(out.strip().splitlines()[-1]), float)


def check(what, ok, detail=""):
    print("%s %s %s" % ("ok  " if ok else "FAIL", what, detail))
    if not ok:
        FAILED.append(what)


def near(what, got, want, tolerance):
    want = np.asarray(want)
    error = np.max(np.abs(got - want) / (1e-12 + tolerance * (1 + np.abs(want)))) if got.shape == want.shape else np.inf
    check(what, error <= 1, "%.2g of what is tolerated" % error)


TS = [0, 0.3, 1, 2.5, 7, 7, 19.5]
AT = "[0, 0.3, 1, 2.5, 7, 7, 19.5]"
LV = "(t, z, p) -> { u = z[0]; v = z[1]; [(p[0] - p[1] * v) * u, (-p[2] + p[3] * u) * v] }"
P = [0.55, 0.028, 0.8, 0.024]
for method in ("nonstiff", "stiff"):
    how = 'rtol=1e-9, atol=1e-10, method="%s"' % method
    near("decay, " + method, numbers("sample ode_solve((t, y, k) -> [-k * y[0]], [3], 0, %s, 0.4, %s);" % (AT, how)),
         [[3 * math.exp(-0.4 * t)] for t in TS], 1e-6)
    near("oscillator, " + method,
         numbers("sample ode_solve((t, y) -> [y[1], -4 * y[0]], [1, 0], 0, %s, %s);" % (AT, how)),
         [[math.cos(2 * t), -2 * math.sin(2 * t)] for t in TS], 1e-5)
    near("a driven line, start that is not 0, " + method,
         numbers("sample ode_solve((t, y) -> [cos(t) - y[0]], [0.5], 0, %s, %s);" % (AT, how)),
         [[(math.sin(t) + math.cos(t)) / 2] for t in TS], 1e-6)
    want = solve_ivp(lambda t, z: [(P[0] - P[1] * z[1]) * z[0], (-P[2] + P[3] * z[0]) * z[1]], [0, 20], [34, 5.9], t_eval=sorted(set(TS)),
                     rtol=1e-11, atol=1e-11, method="DOP853").y.T
    near("Lotka and Volterra, " + method, numbers("sample ode_solve(%s, [34, 5.9], 0, %s, %s, %s);" % (LV, AT, P, how)),
         np.vstack([want[:5], want[4:]]), 1e-5)

# Robertson's problem at t = 0.4 ... 4e6, from the LSODE user guide
ROBERTSON = ("(t, y, k) -> [-k[0] * y[0] + k[1] * y[1] * y[2], k[0] * y[0] - k[1] * y[1] * y[2] - k[2] * y[1] * y[1],"
             " k[2] * y[1] * y[1]]")
near("Robertson", numbers('sample ode_solve(%s, [1, 0, 0], 0, [0.4, 40, 4000, 4e6], [0.04, 1e4, 3e7], method="stiff", rtol=1e-9, '
                          'atol=1e-12);' % ROBERTSON),
     [[9.8517e-1, 3.3864e-5, 1.4794e-2], [7.1583e-1, 9.1855e-6, 2.8416e-1], [1.8320e-1, 8.9424e-7, 8.1680e-1],
      [5.1983e-4, 2.0800e-9, 9.9948e-1]], 1e-5)
code, _, err = run("sample ode_solve(%s, [1, 0, 0], 0, [4000], [0.04, 1e4, 3e7], max_steps=1000);" % ROBERTSON)
check("Robertson is no work for the other method", code == 1 and "E0223" in err and 'method="stiff"' in err)

# the same right-hand side compiled and not (an index that depends on t is not compiled)
for what, a, b in (("index", "[1, 2, 5][floor(t)]", "if (t < 1) { 1 } else { if (t < 2) { 2 } else { 5 } }"),):
    by = [numbers("sample ode_solve((t, y) -> [%s - y[0]], [0], 0, [0.5, 1.5, 2.5], rtol=1e-8);" % e) for e in (a, b)]
    near("compiled or not: " + what, by[0], by[1], 1e-7)

# 1 / (k - t) is infinite at t = k: proposals below 2 have probability 0, and the chain goes on
code, out, err = run("""assume k = uniform_continuous(0, 10);
assume y = ode_solve((t, y, k) -> [y[0] * y[0]], [1 / k], 0, [2], k);
observe normal(y[0][0], 0.5) = 0.5;
force k = 5;
infer nuts(default, all, 100, 200);
sample k;
infer mh(default, one, 200);
sample k;
""", "--seed", "2")  # one whose first draw can be solved
ks = [json.loads(x) for x in out.split()]
check("failing solutions are rejected", code == 0 and len(ks) == 2 and all(2 < k < 10 for k in ks), err.strip()[:200] + str(ks))

# hudson_lynx_hare: the data, 1900 to 1920
Y = [(30, 4), (47.2, 6.1), (70.2, 9.8), (77.4, 35.2), (36.3, 59.4), (20.6, 41.7), (18.1, 19), (21.4, 13), (22, 8.3), (25.4, 9.1),
     (27.1, 7.4), (40.3, 8), (57, 12.3), (76.6, 19.5), (52.3, 45.7), (19.5, 51.1), (11.2, 29.7), (7.6, 15.8), (14.6, 9.7),
     (16.2, 10.1), (24.7, 8.6)]
REFERENCE = {"a": (0.546864, 0.0630548), "b": (0.0277473, 0.00415472), "c": (0.800095, 0.0893702), "d": (0.0240859, 0.00352809),
             "u": (34.0352, 2.9169), "v": (5.9359, 0.530552), "s": (0.248057, 0.0432627), "r": (0.251017, 0.0435903)}
model = ["assume lv = %s;" % LV]
for name, mean, sd in (("a", 1, 0.5), ("b", 0.05, 0.05), ("c", 1, 0.5), ("d", 0.05, 0.05)):
    model.append("assume %s = normal(%r, %r, lower=0);" % (name, mean, sd))
model += ["assume u = lognormal(log(10), 1);", "assume v = lognormal(log(10), 1);", "assume s = lognormal(-1, 1);",
          "assume r = lognormal(-1, 1);",
          "assume z = ode_solve(lv, [u, v], 0, %s, [a, b, c, d], rtol=1e-5, atol=1e-3, max_steps=500);" % list(range(21))]
for i, (hare, lynx) in enumerate(Y):
    model += ["observe lognormal(log(z[%d][0]), s) = %r;" % (i, hare), "observe lognormal(log(z[%d][1]), r) = %r;" % (i, lynx)]
names = sorted(REFERENCE)
model += ["define draws = run(sample(warmup=300, draws=500, init=\"prior\", collect=collect(%s)));" % ", ".join(names), "infer summarize(draws);"]
code, out, err = run("\n".join(model), "-q")
rows = {line.split()[0]: line.split() for line in out.splitlines() if line.split() and line.split()[0] in names}
check("lynx and hare run", code == 0 and len(rows) == len(names), err[:400])
for name in names if len(rows) == len(names) else []:
    mean, mcse, sd = (float(x) for x in rows[name][1:4])
    want, want_sd = REFERENCE[name]
    check("lynx and hare, " + name, abs(mean - want) < 5 * max(mcse, want_sd / 40) and 0.7 < sd / want_sd < 1.4,
          "%.4g +- %.2g, reference %.4g; sd %.3g, %.3g" % (mean, mcse, want, sd, want_sd))
print("%d failed" % len(FAILED))
sys.exit(1 if FAILED else 0)
