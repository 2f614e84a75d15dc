#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The optimiser from Python: ask and tell, constraints, several objectives, trials, records (argument: the tool)."""
import os, pickle, sys, tempfile, threading, warnings

os.environ["GPMEM_LIBRARY"] = os.path.join(os.path.dirname(os.path.abspath(sys.argv[1])), "libgpmem.so")
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "python"))
import gpmem
import numpy as np
from raising import raises

BOX = {"x": (0, 2), "y": (0, 2)}


def check_noisy():
    """Of noisy values the optimum is the recommended point and its mean, not a lucky draw: on average it is what f is there."""
    off = []
    for seed in range(1, 5):
        rng = np.random.default_rng(seed)
        o = gpmem.optimize(lambda x: {"f": (x - 0.3) ** 2 + rng.normal(0, 0.3), "n": 1}, {"x": (-1, 2)}, budget=30, noisy=True, seed=seed,
                           objectives="f", collect="n")
        told = o.report["recommended"]
        assert o.x == {"x": told["x"]["x"]} and o.y == told["mean"] == o.outputs["f"] and o.sd == told["sd"] > 0, o
        off.append(o.y - (o.x["x"] - 0.3) ** 2)
    assert abs(np.mean(off)) < 0.15 and abs(o.x["x"] - 0.3) < 0.5, (off, o)
    o = gpmem.optimize(lambda x: (x - 0.3) ** 2, {"x": (-1, 2)}, budget=8)
    assert o.y == min(o.values) and o.sd == 0, o


def check_ask_and_tell():
    o = gpmem.Optimizer(BOX, objectives=["f"], constraints=["r>=1"], seed=2)
    assert o.names == ["f", "r"] and o.best is None
    points = [o.ask(), o.ask()]
    assert points[0] != points[1] and points[0].id != points[1].id
    o.tell(points[1], None)
    for _ in range(25):
        p = o.ask()
        o.tell(p, {"r": p["x"] ** 2 + p["y"] ** 2, "f": p["x"] + 2 * p["y"]})
    o.tell({"x": 2, "y": 0}, [2, 4])
    best = o.best
    assert best.feasible and abs(best.y - 1) < 1e-3 and best.outputs["r"] >= 1, best
    rows = o.records
    assert len(rows) == 27 and rows[0]["status"] == "failed" and set(rows[1]) >= {"x", "y", "f", "r", "feasible"}
    assert "within the bounds" in o.report("text")
    raises(ValueError, "gives 2 numbers", lambda: o.tell(points[0], 3))
    raises(ValueError, "lacks r", lambda: o.tell(points[0], {"f": 3}))
    raises(ValueError, "must have the variables", lambda: o.tell({"x": 1}, [3, 3]))
    raises(ValueError, "tolerance", lambda: gpmem.Optimizer(BOX, objectives="f", constraints="r=1"))


def check_spaces():
    o = gpmem.minimize(lambda x, y: x * x + y * y, {"x": (0, 10), "y": (0, 10)}, constraints=["x + 2*y >= 5"], budget=25)
    assert abs(o.y - 5) < 1e-5 and all(p["x"] + 2 * p["y"] >= 5 - 1e-8 for p in o.points), o
    o = gpmem.minimize(lambda a, b, size: (a - 0.2) ** 2 + (b - 0.8) ** 2 + (size != "m"), {"a,b": "shares", "size": "s<m<l"}, budget=25)
    assert o.x["size"] == "m" and o.y < 1e-6 and all(abs(p["a"] + p["b"] - 1) < 1e-9 for p in o.points), o
    o = gpmem.minimize(lambda a, b, c: (a - 3) ** 2 + (b - 1) ** 2, {"a,b,c": "order"}, budget=6)
    assert o.x == {"a": 3, "b": 1, "c": 2} and isinstance(o.x["a"], int), o
    o = gpmem.minimize(lambda x, n: (x - 0.3) ** 2 + 0.5 / n, {"x": (0, 1), "n": (1, 50, "int", "fidelity")}, budget=40, max_cost=8)
    assert o.x["n"] == 50 and abs(o.x["x"] - 0.3) < 0.02, o
    assert 8 <= sum(p["n"] / 50 for p in o.points) < 9.01, o.points
    raises(ValueError, "no range", lambda: gpmem.Optimizer({"x": "anything"}))


def check_minimize():
    r = gpmem.minimize(lambda x, y: {"f": x + 2 * y, "r": x * x + y * y, "gap": x - y}, BOX, constraints=["r>=1"],
                       objectives=["f"], collect=["gap"], budget=30)
    assert abs(r.y - 1) < 1e-4 and r.feasible and abs(r.records[3]["gap"] - (r.records[3]["x"] - r.records[3]["y"])) < 1e-12
    r = gpmem.minimize(lambda x, y: (x * x + y * y, (x - 1) ** 2 + y * y), BOX, objectives=["near", "far"], budget=25)
    assert len(r.front) > 5 and all(abs(p["near"] ** .5 + p["far"] ** .5 - 1) < .3 for p in r.front)
    seen = []
    r = gpmem.minimize(lambda x: (x - 1) ** 2, {"x": (0, 3)}, budget=50, callback=lambda p, v: seen.append(v) or len(seen) == 7)
    assert len(seen) == 7 and r.evaluations == 7


def check_trial():
    def tuned(trial):
        depth = trial.suggest_int("depth", 1, 9)
        kind = trial.suggest_categorical("kind", ["a", "b"])
        rate = trial.suggest_float("rate", 1e-4, 1, log=True)
        assert isinstance(depth, int)
        return (depth - 4) ** 2 + (kind == "a") + abs(rate - .01)

    r = gpmem.minimize(tuned, budget=40)
    assert r.x["depth"] == 4 and r.x["kind"] == "b", r
    raises(ValueError, "one argument, trial", lambda: gpmem.minimize(lambda x: x))


def square(x): return (x - 0.3) ** 2


def check_functions_that_fail():
    line = {"x": (0, 1)}
    def broken(x): return 1 / 0
    raises(gpmem.GpmemError, "the last: ZeroDivisionError: division by zero", lambda: gpmem.minimize(broken, line, budget=3, catch=ArithmeticError))
    raises(gpmem.GpmemError, "the last: it gave None", lambda: gpmem.minimize(lambda x: None, line, budget=3))
    raises(ValueError, "a tuple of them", lambda: gpmem.minimize(broken, line, budget=3, catch=[ArithmeticError]))
    raises(ZeroDivisionError, "division", lambda: gpmem.minimize(square, line, budget=3, callback=lambda p, v: 1 / 0, catch=Exception))
    raises(ValueError, "callback must be a function", lambda: gpmem.minimize(square, line, callback=3))
    raises(ValueError, "gives numbers, not 'abc'", lambda: gpmem.minimize(lambda x: "abc", line, budget=3))
    raises(ValueError, "objectives=['a']", lambda: gpmem.minimize(lambda x: {"a": x}, line, budget=3))
    raises(ValueError, "gives 1 number (value), not 2", lambda: gpmem.minimize(lambda x: (x, x), line, budget=3))
    o = gpmem.minimize(lambda x: float("inf") if x > 0.5 else x, line, budget=6)
    assert any(v != v for v in o.values) and all(abs(v) < 1 for v in o.values if v == v), o.values


def check_arguments():
    line = {"x": (0, 1)}
    raises(ValueError, "there is no end", lambda: gpmem.minimize(square, line, budget=0))
    raises(ValueError, "not functions", lambda: gpmem.minimize(square, line, constraints=[lambda x: x < 1]))
    raises(ValueError, "not a dictionary", lambda: gpmem.minimize(lambda x: {"v": x}, line, objectives={"v": "max"}))
    raises(TypeError, "unexpected keyword argument 'foo'", lambda: gpmem.Optimizer(line, foo=3))
    raises(TypeError, "store=", lambda: pickle.dumps(gpmem.Optimizer(line)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert gpmem.minimize(square, {"x": np.array([0, 1])}, budget=4).evaluations == 4
    raises(ValueError, "x: a number of an evaluation has the name of a variable", lambda: gpmem.Optimizer(line, objectives="x").ask())
    class Row(dict): pass  # as a pandas.Series: in an order of its own
    o = gpmem.minimize(lambda x: Row(extra=7, f=x), line, objectives="f", collect="extra", budget=4)
    assert o.outputs["extra"] == 7 and o.y == o.x["x"]


def check_values_have_their_types():
    o = gpmem.minimize(lambda x, on: x + (on is not True), {"x": (0, 1), "on": [False, True, None]}, budget=15)
    assert o.x["on"] is True and o.x["x"] < 0.1 and isinstance(o.x["x"], float) and isinstance(o.y, float), o
    assert all(isinstance(r["x"], float) and r["on"] in (True, False, None) for r in o.records)
    o = gpmem.minimize(lambda trial: trial.suggest_categorical("n", [16, 32, 64]) / 16, budget=3)
    assert o.x == {"n": 16} and isinstance(o.x["n"], int)
    o = gpmem.Optimizer({"status": (0, 1)}, objectives="seconds")
    p = o.ask()
    o.tell(p, 3600)
    assert o.records == [{"status": p["status"], "seconds": 3600.0}], o.records


def check_points_are_those_asked_for():
    a, b = gpmem.Optimizer(BOX), gpmem.Optimizer(BOX, seed=9)
    p, q = a.ask(), b.ask()
    raises(ValueError, "as a point of its own", lambda: b.tell(p, 1))
    b.tell(pickle.loads(pickle.dumps(q)), 1)
    p["x"] = 0.5
    raises(ValueError, "as a point of its own", lambda: a.tell(p, 1))
    a.tell(dict(p), 1)
    assert a.records[0]["x"] == 0.5


def check_threads():
    o = gpmem.Optimizer(BOX)
    failed = []
    def work():
        try:
            for _ in range(12):
                p = o.ask()
                o.tell(p, (p["x"] - 0.3) ** 2 + p["y"])
                o.best.to_frame if len(o.records) % 7 == 0 else None
        except BaseException as e: failed.append(e)
    threads = [threading.Thread(target=work) for _ in range(6)]
    for t in threads: t.start()
    for t in threads: t.join()
    assert not failed and len(o.records) == 72, failed
    assert len({(r["x"], r["y"]) for r in o.records}) >= 71  # one may be evaluated again on purpose


def check_what_was_left_is_evaluated_again():
    with tempfile.TemporaryDirectory() as folder:
        store, calls = os.path.join(folder, "s.db"), []
        def f(x):
            calls.append(x)
            if len(calls) == 3: raise KeyboardInterrupt
            return x
        raises(KeyboardInterrupt, "", lambda: gpmem.minimize(f, {"x": (0, 1)}, budget=5, store=store))
        o = gpmem.minimize(f, {"x": (0, 1)}, budget=5, store=store)
        assert calls[3] == calls[2] and all(r["status"] == "done" for r in o.records) and len(o.records) == 5, o.records
        raises(gpmem.GpmemError, "belongs to the function 'f'", lambda: gpmem.Optimizer({"x": (0, 1)}, store=store, name="g").ask())


def check_store():
    with tempfile.TemporaryDirectory() as folder:
        store = os.path.join(folder, "s.db")
        f = lambda x, y: [x + 2 * y, x * x + y * y]
        first = gpmem.minimize(f, BOX, ["r>=1"], ["f"], budget=10, store=store, name="f")
        more = gpmem.minimize(f, BOX, ["r>=1"], ["f"], budget=14, store=store, name="f")
        assert more.evaluations == 14 and len(more.values) == 4 and more.records[:10] == first.records


def check_frame():
    try: import pandas
    except ImportError: return
    r = gpmem.minimize(lambda x: (x - 1) ** 2, {"x": (0, 3)}, budget=6)
    frame = r.to_frame()
    assert list(frame["value"]) == list(r.values) and len(frame) == 6


for name, check in list(globals().items()):
    if name.startswith("check_"): check()
print("optimizer: all good")
