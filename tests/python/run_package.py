#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The Python package besides the regressor: run, discover, optimize."""
import os, sys, tempfile

os.environ["GPMEM_LIBRARY"] = os.path.join(os.path.dirname(os.path.abspath(sys.argv[1])), "libgpmem.so")
ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
sys.path.insert(0, os.path.join(ROOT, "python"))
import numpy as np
import gpmem
from raising import raises


def check_values():
    r = gpmem.run('sample 1 + 1; sample vector(1, 2.5); sample "a\\nb"; sample x; print("hi");',
                  data={"x": np.arange(3.0)})
    assert r.values[0] == 2 and np.array_equal(r.values[1], [1, 2.5]) and r.values[2] == "a\nb", r.values
    assert np.array_equal(r.values[3], [0, 1, 2])
    a, b = (gpmem.run("sample normal(0, 1);", seed=4).values for _ in range(2))
    assert a == b and a != gpmem.run("sample normal(0, 1);", seed=5).values
    raises(gpmem.GpmemError, "foo", lambda: gpmem.run("sample foo;"))
    r = gpmem.run("data x, m, d; sample [x[0], is_number(x[1]), m[1, 0], rows(m), d[\"k\"][1]]; x[2];",
                  data={"x": [1.5, None, float("inf")], "m": np.eye(2), "d": {"k": [3, 4]}})
    assert list(r.values[0]) == [1.5, True, 0, 2, 4], r.values
    raises(gpmem.GpmemError, "different lengths: row 0 has 2", lambda: gpmem.run("1", data={"x": [[1, 2], [3]]}))
    raises(gpmem.GpmemError, "have the names x", lambda: gpmem.run("data y;", data={"x": 1}))
    raises(gpmem.GpmemError, "cannot be defined again", lambda: gpmem.run("define x = 2;", data={"x": 1}))
    raises(ValueError, "name of data", lambda: gpmem.run("sample 1;", data={"x y": 1}))
    raises(TypeError, "object", lambda: gpmem.run("sample x;", data={"x": object()}))


def check_posterior():
    """Conjugate posterior: normal mean with known variance."""
    y = [1.2, 0.7, 1.9, 1.4]
    r = gpmem.run("""
assume mu = normal(0, 2);
for (i = 0; i < size(y); i++) { observe normal(mu, 1) = lookup(y, i); };
infer accumulate_dataset(2000, do(mh(default, one, 5), collect(mu)));
""", data={"y": y}, chains=2, seed=3)
    assert r.draws["mu"].shape == (2, 2000) and len(r.values) == 2
    precision = 1 / 4 + len(y)
    assert abs(r.draws["mu"].mean() - sum(y) / precision) < 0.1
    assert abs(r.draws["mu"].std() - precision**-0.5) < 0.08
    assert not np.array_equal(r.draws["mu"][0], r.draws["mu"][1])


def check_functions():
    """A Python function as the source of gpmem: called once per input, its exception comes back."""
    calls = []

    def f(x):
        calls.append(x)
        return x * x

    r = gpmem.run("""
assume (f_compute, f_emu) = gpmem(f, make_squaredexp(3, 1));
predict f_compute(2); predict f_compute(2); predict f_compute(-1);
sample f_emu(2); f(5);
""", functions={"f": f})
    assert np.allclose(r.values[:5], [4, 4, 1, 4, 25], atol=1e-6), r.values
    assert sorted(calls) == [-1, 2, 5], calls

    def broken(x):
        raise KeyError("no such run")

    raises(KeyError, "no such run", lambda: gpmem.run("broken(1);", functions={"broken": broken}))


def check_callbacks():
    """call_back hands over the values of every particle; the reply is the action's value."""
    seen = []

    def watch(x, pair):
        seen.append((x, pair))
        return [max(x), "s"]

    r = gpmem.run("""
infer resample(2);
assume x = normal(0, 1);
infer on_particle(0, force(x, 1));
infer on_particle(1, force(x, -4));
define best = run(call_back(watch, x, [x, true]));
best;
infer repeat(2, call_back("watch", x, 1));
""", callbacks={"watch": watch})
    assert r.values == [[1, "s"]], r.values
    assert seen == [([1, -4], [[1, True], [-4, True]]), ([1, -4], [1, 1]), ([1, -4], [1, 1])], seen
    raises(gpmem.GpmemError, "callbacks of this session: watch",
           lambda: gpmem.run("infer call_back(wach);", callbacks={"watch": watch}))
    raises(ZeroDivisionError, "division", lambda: gpmem.run("infer call_back(bad);", callbacks={"bad": lambda: 1 / 0}))


def check_discover():
    t = np.arange(60)
    y = 0.3 * t + 4 * np.sin(2 * np.pi * t / 6) + 0.3 * np.random.RandomState(0).normal(size=60)
    d = gpmem.discover(y[:54], t[:54])
    p, error = d.query("PER")
    assert p > 0.9 and error >= 0 and abs(sum(v for _, v in d.structures) - 1) < 0.05
    f = d.forecast(6)
    assert np.array_equal(f["x"], t[54:]) and np.abs(f["median"] - y[54:]).max() < 2.5 and (f["lo"] < f["hi"]).all()
    stamps = np.array(["2021-03-0%d %02d:00" % (1 + i // 24, i % 24) for i in range(60)])
    f = gpmem.discover(y[:54], stamps[:54], kernels="LIN").forecast(6)  # times with blanks, as they came
    assert list(f["x"]) == list(stamps[54:]) and (f["lo"] < f["median"]).all(), f
    assert "<svg" in d.report("html") and d.structures[0][0] in d.report()
    raises(gpmem.GpmemError, "no.csv", lambda: gpmem.discover("no.csv"))
    raises(ValueError, "html", lambda: d.report("pdf"))
    raises(ValueError, "always", lambda: gpmem.discover([1, 2, 3], log="maybe"))
    assert repr(d).startswith("Discovery(") and d.structures[0][0] in repr(d)
    raises(ValueError, "length", lambda: gpmem.discover([1, 2], [1]))


def check_optimize():
    def branin(x, y):
        a = y - 5.1 / (4 * np.pi**2) * x * x + 5 / np.pi * x - 6
        return a * a + 10 * (1 - 1 / (8 * np.pi)) * np.cos(x) + 10

    space = {"x": (-5, 10), "y": (0, 15)}
    r = gpmem.optimize(branin, space, budget=40)
    assert len(r.values) == 40 and r.y == r.values.min() and abs(branin(**r.x) - r.y) < 1e-12
    assert r.y < 0.397887 + 0.01, r
    assert np.array_equal(r.values, gpmem.optimize(branin, space, budget=40).values)

    def mixed(n, kind):
        assert isinstance(n, int) and kind in ("a", "b")
        if n > 40:
            raise OverflowError("too large")
        return -abs(n - 17) - (kind == "a")

    r = gpmem.optimize(mixed, {"n": (1, 64, "log", "int"), "kind": ["a", "b"]}, budget=30, maximize=True, catch=OverflowError)
    assert r.x["kind"] == "b" and abs(r.x["n"] - 17) <= 1, r
    raises(OverflowError, "too large", lambda: gpmem.optimize(lambda n, kind: mixed(50, kind), {"n": (1, 64, "int"),
                                                              "kind": ["a", "b"]}))
    with tempfile.TemporaryDirectory() as folder:
        store = os.path.join(folder, "b.db")
        first = gpmem.optimize(branin, space, budget=10, store=store)
        more = gpmem.optimize(branin, space, budget=15, store=store)
        assert len(first.values) == 10 and len(more.values) == 5 and more.y <= first.y
    raises(ValueError, "no range", lambda: gpmem.optimize(branin, {"x": 3}))
    raises(ValueError, "no variables", lambda: gpmem.optimize(branin, {}))
    raises(ValueError, "x", lambda: gpmem.optimize(branin, {"x": (3, 1), "y": (0, 1)}))


def check_descriptions():
    """Every public function describes every parameter; its examples run."""
    import doctest, inspect
    from gpmem import optimise, program, structure
    for f in (gpmem.run, gpmem.discover, gpmem.optimize):
        missing = [p for p in inspect.signature(f).parameters if p not in f.__doc__]
        assert not missing, (f, missing)
    for module in (program, optimise, structure):
        assert doctest.testmod(module, optionflags=doctest.ELLIPSIS).failed == 0


check_descriptions()
check_values()
check_posterior()
check_functions()
check_callbacks()
check_discover()
check_optimize()
print("fine")
