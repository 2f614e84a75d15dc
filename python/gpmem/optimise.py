# SPDX-License-Identifier: Apache-2.0
"""optimize: the optimum of an expensive function of Python."""
import ctypes as c
import json

import numpy as np

from . import _abi
from ._library import GpmemError, GpmemValueError, assign, lib, mapping, options, path, text


class Optimum:
    """x, y: the best evaluation. evaluations: how many there are in all, those that were in the store included.
    points, values: every evaluation of this call in order (NaN: it failed). report: what `gpmem optimize --json`
    writes; its "trace" holds all evaluations."""

    def __init__(self, x, y, evaluations, points, values, report):
        self.x, self.y, self.evaluations, self.points, self.values = x, y, evaluations, points, values
        self.report = report

    def __repr__(self):
        stored = self.evaluations - len(self.values)
        return "Optimum(x=%r, y=%r, %d evaluations%s)" % (self.x, self.y, self.evaluations,
                                                          ", %d of them from the store" % stored if stored else "")


def _variable(name, spec):
    """The text of a variable: NAME=LO:HI[:log][:int] or NAME="a","b","c", whatever the names hold."""
    if isinstance(spec, list):
        if not all(isinstance(v, str) for v in spec):
            raise GpmemValueError("%s: a list holds the names of categories; a range is a tuple (low, high)" % name)
        return "%s=%s" % (name, ",".join(json.dumps(v, ensure_ascii=False) for v in spec))
    try:
        low, high, *words = spec
        low, high = float(low), float(high)
    except (TypeError, ValueError):
        raise GpmemValueError("%s: %r is no range; give (low, high), (low, high, \"log\"), (low, high, \"int\") or a "
                              "list of names" % (name, spec)) from None
    for w in words:
        if w not in ("log", "int"):
            raise GpmemValueError("%s: after the bounds only \"log\" and \"int\" may follow, not %r" % (name, w))
    return "%s=%r:%r%s" % (name, low, high, "".join(":" + w for w in words))


class _Function:
    """The callable as the library calls it."""

    def __init__(self, f, space, catch):
        self.f, self.space, self.catch = f, space, catch
        self.stop, self.failure, self.points, self.values = c.c_int(0), None, [], []

    def point(self, x):
        out = {}
        for i, (name, spec) in enumerate(self.space.items()):
            v = float(x[i])
            whole = isinstance(spec, tuple) and "int" in spec
            out[name] = spec[int(round(v))] if isinstance(spec, list) else int(round(v)) if whole else v
        return out

    def call(self, _user, x, y):
        point, value, status = None, float("nan"), 1
        try:
            point = self.point(x)
            value = float(self.f(**point))
            y[0], status = value, 0
        except self.catch:
            pass
        except BaseException as e:  # crosses C: it is raised again when the search has stopped
            self.failure, self.stop.value = e, 1
        self.points.append(point)
        self.values.append(value)
        return status


def optimize(f, space, budget=50, maximize=False, noisy=False, seed=1, acquisition="auto", store=None, name=None,
             target=None, max_seconds=0, catch=()):
    """Minimises (or maximises) f over a box of named variables, which f takes as keyword arguments.

    space        {name: (low, high)}, with "log" or "int" after the bounds for scales and whole numbers, or
                 {name: ["a", "b"]} for categories
    budget       evaluations in all, those already in the store included
    maximize     look for the largest value instead of the smallest
    noisy        f is noisy: points are repeated, and the optimum is that of the mean
    seed         of all decisions: the same seed asks for the same points
    acquisition  how the next point is chosen: "auto", "thompson", "ei" or "ucb"
    store        a file that keeps every evaluation: the same call goes on where the last one stopped
    name         identity of the function in the store (default: its name)
    target       stop as soon as a value is this good
    max_seconds  stop after this time (0: no limit)
    catch        exceptions that mean "this evaluation failed"; any other ends the search and is raised

    Returns an Optimum. Raises GpmemValueError for a space that makes no sense, GpmemError when nothing succeeded.

    >>> optimize(lambda x: (x - 2) ** 2, {"x": (-10, 10)}, budget=15).x  # doctest: +SKIP
    {'x': 2.00...}"""
    if not callable(f):
        raise GpmemValueError("f must be a function, not %s" % type(f).__name__)
    space = mapping(space, "space")
    if not space:
        raise GpmemValueError("there are no variables; give a space such as {\"x\": (-5, 10)}")
    space = {k: v if isinstance(v, list) else tuple(v) if isinstance(v, tuple) else v for k, v in space.items()}
    kinds = {"auto": 0, "thompson": 1, "ei": 2, "ucb": 3}
    if acquisition not in kinds:
        raise GpmemValueError("acquisition is one of %s, not %r" % (", ".join(kinds), acquisition))
    o = options(_abi.OptimizeOptions)
    assign(o, seed=seed, maximize=maximize, noisy=noisy, budget=budget, max_seconds=max_seconds,
           acquisition=kinds[acquisition])
    o.store = path(store, "store") if store is not None else None
    if target is not None:
        assign(o, has_target=True, target=target)
    identity = text(name or getattr(f, "__name__", "function"), "name")
    function = _Function(f, space, catch)
    o.stop = c.pointer(function.stop)
    callback = _abi.Objective(function.call)
    handle = lib.gpm_optimizer_new(c.byref(o))
    try:
        return _run(handle, function, callback, identity)
    finally:
        lib.gpm_optimizer_free(handle)


def _run(handle, function, callback, identity):
    def check(status, kind=GpmemError):
        if status:
            raise kind(lib.gpm_optimizer_error(handle).decode())

    for variable, spec in function.space.items():
        check(lib.gpm_optimizer_variable(handle, text(_variable(variable, spec), "space")), GpmemValueError)
    lib.gpm_optimizer_function(handle, identity, callback, None)
    check(lib.gpm_optimizer_open(handle))
    status = lib.gpm_optimizer_run(handle)
    if function.failure is not None:
        raise function.failure
    check(status)
    x, y = (c.c_double * len(function.space))(), c.c_double()
    if not lib.gpm_optimizer_best(handle, x, c.byref(y)):
        raise GpmemError("no evaluation of the function succeeded")
    report = json.loads(lib.gpm_optimizer_report(handle, 1).decode())
    return Optimum(function.point(x), y.value, lib.gpm_optimizer_count(handle), function.points,
                   np.array(function.values), report)
