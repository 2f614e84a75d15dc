#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A kernel is one row of a table, and its word works wherever kernels are named. Takes every kernel of `gpmem reference` and
tries it: help, as text, likelihood and draws of programs, functions drawn from the posterior by Python; and those that the structure
learner knows in `discover --kernels`, its queries, words and program. Argument: the tool; [NAME ...]: these alone."""
import ctypes, json, math, os, re, subprocess, sys, tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TOOL = os.path.abspath(sys.argv[1])
ONLY = set(sys.argv[2:])


def tool(*args, text=None, status=0):
    r = subprocess.run([TOOL, *args], input=text, capture_output=True, text=True, timeout=120)
    assert r.returncode == status, (args, text, r.returncode, r.stderr)
    return r.stdout if status == 0 else r.stderr


def kernels():
    """{name: a procedure's call that makes it}, from the examples `make_se(1, 2) => SE(sf=1, l=2)`."""
    found = {}
    for row in json.loads(tool("reference")):
        m = re.fullmatch(r"(\w+\([^()]*\)) => (\w+)\((.*=.*)\)", row.get("example") or "")
        if m and row["signature"].endswith("-> kernel") and not ONLY - {m.group(2)}:
            found.setdefault(m.group(2), m.group(1))
    return found


def learnt():
    """The words of the structure learner: the message about one that it does not know lists them."""
    message = tool("discover", "-k", "help", os.path.join(ROOT, "data", "airline.csv"), status=2)
    return re.search(r"there are (.*)", message).group(1).split(", ")


def check_language(name, made):
    """Help, text that reads back, a likelihood that is the same by procedure and by text, draws, its name in queries."""
    assert name + "(" in tool("help", name), name
    out = tool("run", "--format", "json", "-", text='%s;\nstruct(%s);\ncontains(%s, struct(%s));' % (made, made, made, made))
    text, symbol, contained = [json.loads(line) for line in out.splitlines()]
    assert contained is True and symbol, (name, out)
    observed = """assume f = make_gp(%s, noise=0.5);
observe f(array(0.3, 1.5, 4)) = array(1, -1, 0.5);
run(global_log_likelihood());
sample f(array(0.9, 2.2));"""
    a, b = (tool("run", "--format", "json", "-", text=observed % k) for k in (made, "parse(%s)" % json.dumps(text)))
    assert a == b and all(map(math.isfinite, json.loads(a.splitlines()[1]))), (name, a, b)
    return text


def check_python(name, text):
    """A regressor of the kernel, and functions drawn from its posterior, whose mean at a point is the posterior's."""
    x, y = np.array([0.3, 1.5, 4, 5.2, 7.1]), np.array([1, -1, 0.5, 0.7, -0.2])
    g = gpmem.GPRegressor(kernel=text, noise=0.5, optimize=False, normalize_y=False).fit(x[:, None], y)
    at = np.array([2.2])
    (mean,), (sd,) = g.predict(at[:, None], return_std=True)
    assert math.isfinite(mean) and sd >= 0, (name, mean, sd)
    if name in TOLERANCE:
        return
    draws, one = [], ctypes.c_double()
    for seed in range(200):
        path = ctypes.c_void_p()
        assert LIB.gpm_path_new(g._process.handle, 100, seed, ctypes.byref(path)) == 0, name
        assert LIB.gpm_path_eval(path, at.ctypes.data, 1, ctypes.byref(one), None) == 0, name
        LIB.gpm_path_free(path)
        draws.append(one.value)
    assert abs(np.mean(draws) - mean) < 5 * sd / math.sqrt(len(draws)) + 1e-6, (name, np.mean(draws), mean, sd)
    assert np.std(draws) < 2 * sd + 1e-6 and (name in WHITE or np.std(draws) > sd / 2), (name, np.std(draws), sd)


def check_learner(word, folder):
    """Structures, words in English, the program and its queries."""
    series = os.path.join(folder, "series.csv")
    with open(series, "w") as f:
        f.write("t,y\n" + "".join("%d,%g\n" % (i, i / 6 + 2 * math.sin(math.pi * i / 5) + 0.2 * math.sin(9 * i * i)) for i in range(36)))
    out = os.path.join(folder, word)
    tool("discover", "-q", "-k", word, "--log", "never", "-o", out, series)
    text = tool("report", "--format", "text", out)
    assert re.search(r"^The search found .*\b%s\b" % word, text, re.M), (word, text)
    english = [line for line in text.splitlines() if re.match(r"\d+\. ", line)]
    assert english and not any("(null)" in line for line in english), (word, text)
    p, q = (float(tool("query", out, query).split()[0]) for query in (word, "!" + word))
    assert abs(p + q - 1) < 1e-3 and p > 0, (word, p, q)
    assert word in tool("run", "-", text='''define m = structure_model(mapv(proc(i) { array(i, sin(i)) }, arange(20)), kernels="%s");
infer structure_search(m, draws=100); infer structure_chains(m, steps=50); prob("%s", m); m;''' % (word, word)), word


LIBRARY = os.path.join(os.path.dirname(TOOL), "libgpmem.so")
os.environ["GPMEM_LIBRARY"] = LIBRARY
sys.path.insert(0, os.path.join(ROOT, "python"))
import numpy as np
import gpmem
LIB = ctypes.CDLL(LIBRARY)
LIB.gpm_path_new.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_uint64, ctypes.c_void_p]
LIB.gpm_path_eval.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p, ctypes.c_void_p]
LIB.gpm_path_free.argtypes = [ctypes.c_void_p]
WHITE = ("WN",)  # paths leave noise out
TOLERANCE = ("gp_cov_delta", "gp_cov_deltoid", "gp_cov_bump")  # not positive semi-definite for every input: no prior to draw from

found = kernels()
for name, made in found.items():
    check_python(name, check_language(name, made))
words = [w for w in learnt() if not ONLY or w in ONLY]
with tempfile.TemporaryDirectory() as folder:
    for word in words:
        check_learner(word, folder)
assert ONLY <= set(found) and (ONLY or (len(found) > 15 and len(words) > 8)), (found, words)
assert not set(words) - set(found), set(words) - set(found)
print("%d kernels work as words of the language and in Python, %d of them in the structure learner" % (len(found), len(words)))
