#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Arguments at the border between Python and C: what C would cut, wrap or misread is an exception that names the
argument; nothing is printed behind the caller's back, and what was given comes back whole. Argument: the tool."""
import math, os, sys, tempfile

os.environ["GPMEM_LIBRARY"] = os.path.join(os.path.dirname(os.path.abspath(sys.argv[1])), "libgpmem.so")
ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
sys.path.insert(0, os.environ.get("GPMEM_PYTHON", os.path.join(ROOT, "python")))
import numpy as np
import gpmem

UNSEEN = []  # exceptions that reach nobody
sys.unraisablehook = lambda a: UNSEEN.append(a.exc_value)
import threading
threading.excepthook = lambda a: UNSEEN.append(a.exc_value)
WRONG = []


def expect(words, call, kind=gpmem.GpmemValueError):
    """An exception of the kind with these words, and nothing printed by a thread or callback."""
    UNSEEN.clear()
    try:
        r = call()
        WRONG.append("no error about %r, but %r" % (words, r))
    except kind as e:
        if words not in str(e) or "/tmp" in str(e):
            WRONG.append("%r is not in %r" % (words, str(e)))
    except Exception as e:
        WRONG.append("%s instead of a GpmemValueError about %r: %s" % (type(e).__name__, words, e))
    if UNSEEN:
        WRONG.append("unseen: %r" % UNSEEN)


def check(what, ok):
    if not ok:
        WRONG.append(what)


def texts():
    """Every text that C gets: no number in its place, no NUL inside."""
    f, space, y = (lambda x: x), {"x": (0, 1)}, np.arange(20.0) ** 1.5
    X = np.arange(8.0)[:, None]
    places = {
        "program": lambda v: gpmem.run(v),
        "name": lambda v: gpmem.run("1", name=v),
        "a name in data": lambda v: gpmem.run("1", data={v: 1}),
        "a name in functions": lambda v: gpmem.run("1", functions={v: f}),
        "a name in callbacks": lambda v: gpmem.run("1", callbacks={v: f}),
        "kernel": lambda v: gpmem.GPRegressor(kernel=v, optimize=False).fit(X, X[:, 0]),
        "kernels": lambda v: gpmem.discover(y, kernels=v),
        "a name in space": lambda v: gpmem.optimize(f, {v: (0, 1)}, budget=1),
    }
    for what, call in places.items():
        expect(what + " must be a text, not int", lambda: call(5))
        expect(what + " must be a text, not bytes", lambda: call(b"SE"))
        expect(what + " holds a NUL", lambda: call("SE\0LIN"))
        expect(what + " is no valid text", lambda: call("SE\ud800"))
    expect("name holds a NUL", lambda: gpmem.optimize(f, space, budget=1, name="f\0g"))
    expect("store holds a NUL", lambda: gpmem.optimize(f, space, budget=1, store="a\0b"))
    expect("store must be a path", lambda: gpmem.optimize(f, space, budget=1, store=5.5))
    expect("y holds a NUL", lambda: gpmem.discover("a\0.csv"))
    expect("NUL", lambda: gpmem.run("x", data={"x": "a\0b"}))
    odd = "tab\t quote\" back\\ bell\a escape\x1b line\n del\x7f \u00e9\u20ac\U0001f600"
    check("a text of data comes back", gpmem.run("x", data={"x": odd}).values == [odd])


def numbers():
    """Every field of the options refuses what it cannot hold."""
    f, space, y = (lambda x: x), {"x": (0, 1)}, np.arange(20.0) ** 1.5
    calls = [(lambda **k: gpmem.run("1", **k), {"seed": "whole", "jobs": "whole", "chains": "whole",
                                                "max_seconds": "number", "allow_run": "flag", "allow_write": "flag"}),
             (lambda **k: gpmem.discover(y, **k), {"seed": "whole", "threads": "whole", "max_points": "whole",
                                                   "level": "number", "holdout": "number", "max_seconds": "number",
                                                   "changepoints": "flag"}),
             (lambda **k: gpmem.optimize(f, space, **{"budget": 2, **k}),
              {"seed": "whole", "budget": "whole", "max_seconds": "number", "maximize": "flag", "noisy": "flag"})]
    for call, fields in calls:
        for name, kind in fields.items():
            bad = {"whole": [-1, 1 << 70, 1.5, "7", None, math.nan], "number": [-1, math.nan, "7", None],
                   "flag": ["no", 2, None]}[kind]
            for v in bad:
                expect(name + " must be", lambda: call(**{name: v}))
    for v in (2**31 - 1, 2**31, 2**32 - 1, 2**62, 2**64 - 1):  # what C could hold, and no range has
        for name in ("horizon", "threads", "backtest"):
            expect(name + " must be", lambda: gpmem.discover(y, **{name: v}), gpmem.GpmemError)
        expect("chains must be", lambda: gpmem.run("1", chains=v))
        expect("jobs must be", lambda: gpmem.run("1", jobs=v), gpmem.GpmemError)
    r = gpmem.discover(y, kernels="LIN WN")
    for v in (-1, 2**31, 2**62, 2**64 - 1):
        expect("horizon", lambda: r.forecast(horizon=v), gpmem.GpmemError)
    expect("target must be", lambda: gpmem.optimize(f, space, budget=2, target="low"))
    expect("chains must be", lambda: gpmem.run("1", chains=0))
    expect("functions: the inputs of 'f'", lambda: gpmem.run("f(1)", functions={"f": max}))
    expect("functions: the inputs of 'f'", lambda: gpmem.run("f(1)", functions={"f": 3}))
    expect("functions: the inputs of 'f'", lambda: gpmem.run("f(1)", functions={"f": lambda *a: 1}))
    expect("callbacks: 'f'", lambda: gpmem.run("1", callbacks={"f": 3}))
    expect("data must be a dictionary", lambda: gpmem.run("1", data=[1]))
    expect("space must be a dictionary", lambda: gpmem.optimize(f, [1]))
    expect("f must be a function", lambda: gpmem.optimize(5, space))
    expect("only \"log\", \"int\"", lambda: gpmem.optimize(f, {"x": (0, 1, "big")}))
    r = gpmem.run("1", seed=np.int64(7), chains=np.int32(1), allow_run=np.bool_(False), max_seconds=np.float32(60))
    check("numbers of numpy are numbers", r.values == [1])


def categories():
    """Names of categories may hold anything that a text may; a store keeps them."""
    names = ["a,b", "c", 'say "x"', "1:2", "new\nline", "back\\slash", "\u00fcber", " blank ", "x=y"]
    seen = set()

    def f(k, x):
        seen.add(k)
        return names.index(k) + x

    with tempfile.TemporaryDirectory() as folder:
        store = os.path.join(folder, "s.db")
        r = gpmem.optimize(f, {"k": names, "x": (0, 1)}, budget=40, store=store)
        check("all categories are tried", seen == set(names))
        check("the best category", r.x["k"] == "a,b")
        check("values belong to their points", all(abs(f(**p) - v) < 1e-12 for p, v in zip(r.points, r.values)))
        check("the report names them", r.report["best"]["x"]["k"] == "a,b")
        again = gpmem.optimize(f, {"k": names, "x": (0, 1)}, budget=40, store=store)
        check("a resumed search counts what is stored", again.evaluations == 40 and "40 evaluations" in repr(again))
        check("a resumed search that had nothing to do", again.x == r.x and again.y == r.y and len(again.values) == 0)
    expect("named twice", lambda: gpmem.optimize(f, {"k": ["a", "a"]}))
    expect("empty", lambda: gpmem.optimize(f, {"k": ["a", ""]}))


def series():
    """Errors speak of the caller's data, not of a file that the caller never made."""
    for y, t, words in ([1, 2, 3], None, "y: 3 values are too few"), ([2.0] * 20, None, "constant"):
        try:
            gpmem.discover(y, t)
            WRONG.append("no error: " + words)
        except gpmem.GpmemError as e:
            check("%r in %r" % (words, str(e)), words in str(e) and "/" not in str(e) and "csv" not in str(e))
    expect("y[3] is infinite", lambda: gpmem.discover([1, 2, 3, math.inf] * 5))
    expect("t[1] is not", lambda: gpmem.discover([1.0, 2] * 10, [0, math.nan] * 10))
    expect("same length", lambda: gpmem.discover([1, 2], [1]))
    expect("one-dimensional", lambda: gpmem.discover(5.0))
    y = np.sin(np.arange(24.0)) + np.arange(24)
    days = np.datetime64("2020-01-01") + np.arange(24)
    d = gpmem.discover(y, days.astype("datetime64[ns]"))
    f = d.forecast(1)
    check("times of numpy are dates: %s" % f["x"][0], f["x"][0].startswith("2020-01-25"))
    expect("question must be a text", lambda: d.query(5))
    expect("question holds a NUL", lambda: d.query("SE\0"))
    expect("a time holds a NUL", lambda: d.forecast(times=["2020\0"]))
    expect("horizon must be", lambda: d.forecast(-1))
    expect("level must be", lambda: d.forecast(1, level="wide"))
    expect("folder holds a NUL", lambda: d.save("a\0b"))
    check("the report names the series y", "tmp" not in d.report())


def regression():
    X, y = np.arange(8.0)[:, None], np.arange(8.0)
    for v in (-1, 1 << 40, 1.5):
        expect("starts must be", lambda: gpmem.GPRegressor(restarts=v).fit(X, y))


def threads():
    """What goes wrong in a chain's thread is raised where run was called."""
    from gpmem import program
    good = program.lib.gpm_run_text

    class Broken:
        def __getattr__(self, name):
            if name == "gpm_run_text":
                raise RuntimeError("broken in the thread")
            return getattr(real, name)

    real, program.lib = program.lib, Broken()
    UNSEEN.clear()
    try:
        program.run("1", chains=2)
        WRONG.append("an error in a thread was lost")
    except RuntimeError as e:
        check("the thread's error", "broken" in str(e) and not UNSEEN)
    finally:
        program.lib = real
    assert good is program.lib.gpm_run_text


for part in (texts, numbers, categories, series, regression, threads):
    part()
if WRONG:
    sys.exit("%d wrong:\n%s" % (len(WRONG), "\n".join(WRONG[:60])))
print("fine")
