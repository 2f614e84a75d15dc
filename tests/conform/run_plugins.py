#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Plug-ins in C and emulators written in the language keep the rules that gpmem's own are held to: densities integrate
to one, draws have them, slopes by finite differences; conditional densities multiply to the joint one in any order, what
is forgotten leaves no mark, parameters are learnt from all pairs. Usage: run_plugins.py TOOL"""
import ctypes as c, itertools, json, math, os, subprocess, sys, tempfile

import numpy as np
from scipy import integrate, stats

TOOL = os.path.abspath(sys.argv[1])
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# A plug-in, a distribution of it with parameters, an emulator of it with a parameter.
SOURCE, NAME, ARGS = os.path.join(ROOT, "examples/c/plugin.c"), "asymmetric_laplace", [(0.3, 0.7, 0.2), (-1, 2, 0.8)]
EMULATOR, PARAMETER = "constant", 1.7
FOLDER = tempfile.TemporaryDirectory()
OBJECT = os.path.join(FOLDER.name, "libmine.so")
bad = []


def compile_plugin(text, to):
    source = os.path.join(FOLDER.name, "p.c")
    with open(source, "w") as f: f.write(text)
    subprocess.run(["cc", "-shared", "-fPIC", "-Wall", "-Wextra", "-Werror", "-I" + os.path.join(ROOT, "include"), source, "-o",
                    to, "-lm"], check=True)


def run(text, seed=1, allow=True, expect=0):
    path = os.path.join(FOLDER.name, "program.vnts")
    with open(path, "w") as f: f.write(text)
    r = subprocess.run([TOOL, "run", "--seed", str(seed)] + ["--allow-run"] * allow + [path], capture_output=True, text=True,
                       timeout=120)
    if r.returncode != expect: sys.exit("exit status %d\n%s\n%s" % (r.returncode, r.stderr, text))
    return r.stdout.strip().splitlines() if expect == 0 else r.stderr


def check(what, ok, more=""):
    print("%s %s %s" % ("ok  " if ok else "FAIL", what, more))
    if not ok: bad.append(what)


with open(SOURCE) as f: TEXT = f.read()
compile_plugin(TEXT, OBJECT)


# The distribution: the functions as gpmem calls them, then through the language.
class Random(c.Structure):
    _fields_ = [("next", c.CFUNCTYPE(c.c_double, c.c_void_p)), ("source", c.c_void_p)]


D = c.POINTER(c.c_double)


class Distribution(c.Structure):
    _fields_ = [("name", c.c_char_p), ("n_args", c.c_size_t), ("support", c.c_int), ("lo", c.c_double), ("hi", c.c_double),
                ("draw", c.CFUNCTYPE(c.c_int, D, Random, D)), ("log_density", c.CFUNCTYPE(c.c_int, c.c_double, D, D)),
                ("gradient", c.CFUNCTYPE(c.c_int, c.c_double, D, D))]


class Plugin(c.Structure):
    _fields_ = [("version", c.c_int), ("distributions", c.POINTER(Distribution)), ("n_distributions", c.c_size_t),
                ("emulators", c.c_void_p), ("n_emulators", c.c_size_t)]


lib = c.CDLL(OBJECT)
lib.gpm_plugin.restype = c.POINTER(Plugin)
p = lib.gpm_plugin().contents
d = next(p.distributions[i] for i in range(p.n_distributions) if p.distributions[i].name == NAME.encode())


def log_density(v, args):
    out = c.c_double()
    assert d.log_density(v, (c.c_double * d.n_args)(*args), c.byref(out)) == 0
    return out.value


for args in ARGS:
    total = sum(integrate.quad(lambda v: math.exp(log_density(v, args)), a, b, limit=200)[0]
                for a, b in ((-np.inf, args[0]), (args[0], np.inf)))
    check("%s%s integrates to one" % (NAME, args), abs(total - 1) < 1e-6, total)
    g = (c.c_double * (1 + d.n_args))()
    for v in (args[0] - 1.3, args[0] + 0.4):
        assert d.gradient(v, (c.c_double * d.n_args)(*args), g) == 0
        at, h = [v, *args], 1e-6
        for i in range(1 + d.n_args):
            hi, lo = list(at), list(at)
            hi[i] += h
            lo[i] -= h
            slope = (log_density(hi[0], hi[1:]) - log_density(lo[0], lo[1:])) / (2 * h)
            if abs(slope - g[i]) > 1e-5 * (1 + abs(slope)): check("slope %d at %g" % (i, v), False, (slope, g[i]))
    draws = np.array(json.loads(run('define f = plugin("%s", "%s");\nmapv(proc(i) { f(%g, %g, %g) }, arange(4000));' % (
        (OBJECT, NAME) + args))[0]))
    grid = np.sort(draws)[199::200]
    below = [integrate.quad(lambda v: math.exp(log_density(v, args)), -np.inf, x, points=None, limit=200)[0] for x in grid]
    share = np.searchsorted(np.sort(draws), grid, side="right") / len(draws)
    check("its draws", np.max(np.abs(share - below)) < 1.95 / math.sqrt(len(draws)), np.max(np.abs(share - below)))
out = run("""
assume f = plugin("%s", "%s");
assume m = normal(0, 1);
observe f(m, 1, 0.5) = 2;
infer nuts(default, all, 300);
define kept = run(accumulate_dataset(3000, do(nuts(default, all, 1), collect(m))));
define ms = column(kept, "m");
print(sum(ms) / 3000);
sample floor(1e6 * assess(0.5, f, 0, 1, 0.5));
""" % (OBJECT, NAME))
w = lambda m: math.exp(-0.5 * m * m - 0.5 * abs(2 - m))
want = integrate.quad(lambda m: m * w(m), -9, 9, points=[2])[0] / integrate.quad(w, -9, 9, points=[2])[0]
check("posterior by nuts", abs(float(out[0]) - want) < 0.1, (float(out[0]), want))
check("assess", int(out[1]) == math.floor(1e6 * log_density(0.5, (0, 1, 0.5))))

# The same emulator three times: by the plug-in, in the language, and as a Gaussian process.
WRITTEN = """
assume next = proc(pairs) {
  precision = 1 / s ** 2 + size(pairs);
  list(sum(mapv(proc(p) { p[1] }, pairs)) / precision, sqrt(1 + 1 / precision))
};
assume draw = proc(pairs, xs) {
  if (size(xs) == 0) { [] } else {
    m = next(pairs);
    y = normal(first(m), second(m));
    append([y], draw(append(pairs, [[xs[0], y]]), rest(xs)))
  }
};
assume density = proc(pairs, xs, ys) {
  if (size(xs) == 0) { 0 } else {
    m = next(pairs);
    assess(ys[0], normal, first(m), second(m)) + density(append(pairs, [[xs[0], ys[0]]]), rest(xs), rest(ys))
  }
};
"""
MAKERS = {"plug-in": ("", 'pluginmem(f, "%s", "%s", [s])' % (OBJECT, EMULATOR)),
          "in the language": (WRITTEN, "emumem(f, draw, density)"),
          "Gaussian process": ("", "gpmem(f, make_constant(s) + make_whitenoise(1))")}
PAIRS = [(0, 1.2), (1, 0.4), (3, 2.5)]


def model(kind, s):
    more, maker = MAKERS[kind]
    return 'assume s = %s;\nassume f = proc(x) { 2 + x / 4 };\n%sassume (compute, emulate) = %s;\n' % (s, more, maker)


likelihoods = {}
for kind in MAKERS:
    values = set()
    for order in itertools.permutations(PAIRS):
        text = model(kind, PARAMETER) + "predict compute(7);\n" + "".join(
            "o%d: observe emulate(%g) = %g;\n" % (x, x, y) for x, y in order)
        text += "extra: observe emulate(11) = 40;\ninfer forget(quote(extra));\ndefine l = run(global_log_likelihood);\nprint(l);"
        values.add(round(json.loads(run(text)[-1])[0], 9))
    check("%s: any order, nothing left of what is forgotten" % kind, len(values) == 1, values)
    likelihoods[kind] = values.pop()
check("all alike", max(likelihoods.values()) - min(likelihoods.values()) < 1e-6, likelihoods)
exact = None
for kind in MAKERS:
    observed = "".join("observe emulate(%g) = %g;\n" % p for p in PAIRS)
    out = run(model(kind, 'tag("s", 0, gamma(2, 1))') + observed + "predict compute(7);\n" + """
define kept = run(accumulate_dataset(1500, do(mh("s", all, 2), collect(s))));
define ss = column(kept, "s");
print(sum(ss) / 1500);
infer checkInvariants();
infer resample(2);
infer mh("s", all, 3);
infer checkInvariants();
define draws = run(sample(emulate([20, 21])));
print(draws);
""")
    if exact is None:
        y = np.array([v for _, v in PAIRS] + [2 + 7 / 4])
        like = lambda s: stats.multivariate_normal(np.zeros(4), s * s + np.eye(4)).pdf(y) * stats.gamma(2).pdf(s)
        exact = integrate.quad(lambda s: s * like(s), 0, 40)[0] / integrate.quad(like, 0, 40)[0]
    got = [float(l) for l in out if l[0] not in "[("][-1]
    check("%s: parameter learnt" % kind, abs(got - exact) < 0.2, (got, exact))
    check("%s: draws" % kind, len(json.loads(out[-1])) == 2)
for kind in MAKERS:  # given three pairs
    text = model(kind, PARAMETER) + "".join("observe emulate(%g) = %g;\n" % p for p in PAIRS)
    text += "define d = mapv(proc(i) { run(sample(emulate([30, 31]))) }, arange(1500));\nprint(d);"
    draws = np.array(json.loads(run(text)[-1]))
    precision = 1 / PARAMETER**2 + 3
    mean, cov = sum(y for _, y in PAIRS) / precision, np.full((2, 2), 1 / precision) + np.eye(2)
    z = (draws.mean(0) - mean) / np.sqrt(np.diag(cov) / 1500)
    ok = np.all(np.abs(z) < 4) and np.allclose(np.cov(draws.T), cov, atol=0.2)
    check("%s: joint draws" % kind, ok, z)

# Refused.
OTHER = os.path.join(FOLDER.name, "other.so")
for text, why in ((TEXT.replace("{GPM_PLUGIN_VERSION,", "{GPM_PLUGIN_VERSION + 1,"), "no plug-in of version"),
                  *((TEXT.replace("GPM_SUPPORT_REAL, 0, 0", "(enum gpm_plugin_support)%s" % wrong), "a distribution has no support")
                    for wrong in ("4, 0, 0", "-1, 0, 1", "1000000, 0, 0", "2, 1, 1", "2, 1, 0", "2, 0, 1.0 / 0.0", "1, 0.0 / 0.0, 0")),
                  (TEXT.replace(", laplace_draw,", ", 1 ? 0 : laplace_draw,"), "lacks its name, draw or log_density"),
                  ("int nothing(void);\nint nothing(void) { return 0; }\n", "has no function 'gpm_plugin'")):
    compile_plugin(text, OTHER)
    said = run('assume f = plugin("%s", "%s");' % (OTHER, NAME), expect=1)
    check("refused: " + why, why in said, "" if why in said else said)
compile_plugin(TEXT.replace("GPM_SUPPORT_REAL, 0, 0", "GPM_SUPPORT_INTERVAL, 5, 6"), OTHER)
said = run('assume f = plugin("%s", "%s");\nassume x = f(0, 1, 0.5);' % (OTHER, NAME), expect=1)
check("refused: a draw outside the support", "outside its support" in said, said)
for text, why, allow in (
        ('assume f = plugin("%s", "%s");' % (OBJECT, NAME), "--allow-run", False),
        ('assume f = plugin("%s", "nothing");' % OBJECT, "has no distribution", True),
        ('assume f = plugin("%s", "%s");\nassume x = f(1);' % (OBJECT, NAME), "takes 3 arguments", True),
        ('assume f = plugin("%s", "%s");\nassume x = f(1, -1, 0.5);' % (OBJECT, NAME), "outside their domain", True),
        ('assume f = make_plugin("%s", "%s", [1, 2]);' % (OBJECT, EMULATOR), "takes 1 parameters", True),
        ("assume f = make_emulator(proc(p, x) { 1 }, proc(p, x, y) { 0 });\nassume y = f([1, 2]);", "one for each input", True),
        ('assume f = make_emulator(proc(p, x) { x }, proc(p, x, y) { "a" });\nobserve f(1) = 2;', "must give a number", True)):
    said = run(text, allow=allow, expect=1)
    check("refused: " + why, why in said, "" if why in said else said)

print("%d failed" % len(bad))
sys.exit(1 if bad else 0)
