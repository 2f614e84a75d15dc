#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The optimiser from Python: ask and tell, constraints, several objectives, trials, records (argument: the tool)."""
import os, sys, tempfile

os.environ["GPMEM_LIBRARY"] = os.path.join(os.path.dirname(os.path.abspath(sys.argv[1])), "libgpmem.so")
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "python"))
import gpmem
from raising import raises

BOX = {"x": (0, 2), "y": (0, 2)}


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


for check in (check_ask_and_tell, check_spaces, check_minimize, check_trial, check_store, check_frame): check()
print("optimizer: all good")
