# SPDX-License-Identifier: Apache-2.0
"""optimize, minimize, Optimizer: the optimum of an expensive function of Python."""
from __future__ import annotations

import ctypes as c
import inspect
import json
import math
import os
import threading
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _abi, _shown
from ._library import GpmemError, GpmemValueError, assign, lib, mapping, options, path, text

if TYPE_CHECKING:
    import pandas

_ACQUISITIONS = {"auto": 0, "thompson": 1, "ei": 2, "ucb": 3}
_MORE = {"stop"} | {field[0] for field in _abi.OptimizeOptions._fields_}  # what Optimizer takes beside what it names


class Optimum:
    """x, y: the best evaluation; where values are noisy the recommended point, and its mean by the emulator, of the standard
    deviation sd (else 0). outputs: the numbers there by name, where an evaluation gives several. feasible: it keeps the
    constraints. front: with several objectives, the evaluations that nothing is better than in all of them.
    evaluations: how many there are in all, those that were in the store included. points, values: every evaluation of
    this call in order (NaN: it failed). records: all evaluations, a dictionary each; to_frame() makes a DataFrame of
    them. report: what `gpmem optimize --json` writes."""

    def __init__(self, x: dict[str, Any], y: float, evaluations: int, points: list[Any], values: np.ndarray,
                 report: dict[str, Any], space: Mapping[str, Any]) -> None:
        self.x, self.y, self.evaluations, self.points, self.values = x, y, evaluations, points, values
        self.report, self._space = report, space
        best = report["best"] or {}
        self.sd = float(report["recommended"]["sd"] or 0) if best else 0.0
        self.outputs, self.feasible = _floats(best.get("outputs", {})), best.get("feasible", True)
        if self.outputs and (y != best["y"] or x != _typed(best["x"], space)):
            there = x == _typed(best["x"], space)  # what is only collected is known of evaluations alone
            self.outputs = {k: v if i else y for i, (k, v) in enumerate(self.outputs.items()) if there or not i}
        self.front = [{**_typed(p["x"], space), **_floats(p["outputs"])} for p in report.get("front", [])]

    @property
    def records(self) -> list[dict[str, Any]]:
        """All evaluations, a dictionary each."""
        return _records(self.report, self._space)

    def to_frame(self) -> pandas.DataFrame:
        """All evaluations as a pandas.DataFrame, a row each."""
        return _frame(self.records)

    def picture(self) -> _shown.Picture:
        """Every evaluation, and the best so far, as an SVG picture."""
        values, best = ([math.nan if t.get(k) is None else t[k] for t in self.report["trace"]] for k in ("y", "best"))
        at = list(range(1, len(values) + 1))
        return _shown.draw([{"x": {"label": "evaluation"}, "items": [
            {"type": "points", "label": "value", "x": at, "y": _shown.numbers(values)},
            {"type": "line", "label": "best so far", "x": at, "y": _shown.numbers(best)}]}])

    def _repr_html_(self) -> str:
        rows = [[k, v] for k, v in {**self.x, **(self.outputs or {"value": self.y})}.items()]
        note = "" if self.feasible else "None is within the constraints."
        return (_shown.table(["best of %d" % self.evaluations, ""], rows) + _shown.paragraph(note)
                + self.picture().image())

    def __repr__(self) -> str:
        stored = self.evaluations - len(self.values)
        return "Optimum(x=%r, y=%r, %d evaluations%s%s)" % (
            self.x, self.y, self.evaluations, ", %d of them from the store" % stored if stored else "",
            "" if self.feasible else ", none within the constraints")


def _is_number(v):
    return isinstance(v, (int, float, np.number)) and not isinstance(v, (bool, np.bool_))


class _Choices(list):
    """Categories that are meant as such, numbers among them."""


def _typed(x, space):
    """Values of a report as the function gets them."""
    out = {}
    for k, v in x.items():
        spec = space.get(k)
        if isinstance(spec, list):
            out[k] = next((c for c in spec if str(c) == v), v)
        else:
            out[k] = int(round(v)) if isinstance(spec, tuple) and "int" in spec else float(v)
    return out


def _floats(numbers):
    """Numbers of a report, in which 2.0 is 2."""
    return {k: v if v is None else float(v) for k, v in numbers.items()}


def _records(report, space):
    out = []
    for t in report["trace"]:
        row = {**_typed(t["x"], space), **_floats(t.get("outputs", {"value": t["y"]}))}
        for key in ("status", "seconds", "feasible", "error"):  # a number that an evaluation calls so is that number
            if key in t: row.setdefault(key, t[key])
        out.append(row)
    return out


def _frame(records):
    import pandas
    return pandas.DataFrame.from_records(records)


def _variable(name, spec):
    """The text of a variable: NAME=LO:HI[:log][:int] or NAME="a","b","c", whatever the names hold."""
    if isinstance(spec, list):
        if not isinstance(spec, _Choices) and any(_is_number(v) for v in spec):
            raise GpmemValueError("%s: a list holds the names of categories; a range is a tuple (low, high)" % name)
        return "%s=%s" % (name, ",".join(json.dumps(str(v), ensure_ascii=False) for v in spec))
    try:
        low, high, *words = spec
        low, high = float(low), float(high)
    except (TypeError, ValueError):
        raise GpmemValueError("%s: %r is no range; give (low, high), (low, high, \"log\"), (low, high, \"int\") or a "
                              "list of names" % (name, spec)) from None
    for w in words:
        if w not in ("log", "int", "fidelity") and not (isinstance(w, str) and w.startswith("when ")):
            raise GpmemValueError("%s: after the bounds only \"log\", \"int\", \"fidelity\" and \"when NAME=level\" may follow, not %r" %
                                  (name, w))
    return "%s=%r:%r%s" % (name, low, high, "".join(" " + w if w.startswith("when ") else ":" + w for w in words))


def _variables(space):
    """Each variable with its range or levels, and the texts that make them."""
    each: dict[str, Any] = {}
    texts = []
    for name, spec in space.items():
        members = [n.strip() for n in name.split(",")]
        if isinstance(spec, str) and spec in ("shares", "order"):
            texts.append("%s=%s" % (",".join(members), spec))
            for n in members: each[n] = (0.0, 1.0) if spec == "shares" else (1, len(members), "int")
        elif isinstance(spec, str) and "<" in spec:
            texts.append("%s=%s" % (name, spec))
            each[name] = [level.strip() for level in spec.split("<")]
        else:
            texts.append(_variable(name, spec))
            each[name] = spec if isinstance(spec, list) else tuple(spec)
    return each, texts


class Point(dict):
    """A point to evaluate: {name: value}, with the id it was asked under."""

    def __init__(self, values: Mapping[str, Any], id: int) -> None:
        super().__init__(values)
        self.id = id


class Trial:
    """A point whose values are asked for by name, as in Optuna: trial.suggest_float("x", 0, 1)."""

    def __init__(self, point: Mapping[str, Any] | None, space: dict[str, Any] | None = None) -> None:
        self.params, self._space = point, space

    def _suggest(self, name, spec, middle):
        if self.params is None or name not in self.params:
            if self._space is None:
                raise GpmemValueError("the trial asks for %r, which it did not ask for the first time; ask for every "
                                      "variable in every trial" % name)
            self._space[name] = spec
            return middle
        return self.params[name]

    def suggest_float(self, name: str, low: float, high: float, log: bool = False) -> float:
        """A number from low to high; log: by its logarithm."""
        return self._suggest(name, (low, high, "log") if log else (low, high), math.sqrt(low * high) if log else (low + high) / 2)

    def suggest_int(self, name: str, low: int, high: int, log: bool = False) -> int:
        """A whole number from low to high."""
        return self._suggest(name, (low, high, "log", "int") if log else (low, high, "int"), (low + high) // 2)

    def suggest_categorical(self, name: str, choices: Sequence[Any]) -> Any:
        """One of the choices: texts, numbers, True, None."""
        return self._suggest(name, _Choices(choices), choices[0])


class Optimizer:
    """Decides what to evaluate next; you evaluate, wherever and in whatever order.

    space        {name: (low, high)}, with "log" or "int" after the bounds for scales and whole numbers, or
                 {name: ["a", "b"]} for categories (texts, True, None), {name: "a<b<c"} for levels in order, {"a,b,c": "shares"} for
                 numbers that sum to one, {"a,b,c": "order"} for the places 1, 2, 3 in some order
    objectives   names of the numbers to minimise ("name:max": to maximise); several ask for the front. None: an
                 evaluation gives one number
    constraints  texts such as "weight<=3", "0<=stress<=1", "mass=2+-0.01" on numbers that an evaluation gives, or
                 comparisons of expressions in the variables, as "x + 2*y <= 10", which no point then breaks
    collect      names of numbers that are only kept
    maximize, noisy, seed, acquisition, store, name: as for optimize

    Threads may ask and tell at the same time. An Optimizer is not pickled: another process opens its store.

    >>> o = Optimizer({"x": (-10, 10)})
    >>> p = o.ask()
    >>> o.tell(p, (p["x"] - 2) ** 2)"""

    def __init__(self, space: Mapping[str, Any], objectives: str | Iterable[str] | None = None,
                 constraints: str | Iterable[str] = (), collect: str | Iterable[str] = (), maximize: bool = False,
                 noisy: bool = False, seed: int = 1, acquisition: str = "auto", store: str | os.PathLike[str] | None = None,
                 name: str | None = None, **more: Any) -> None:
        space = mapping(space, "space")
        if not space:
            raise GpmemValueError("there are no variables; give a space such as {\"x\": (-5, 10)}")
        self.space, texts = _variables(space)
        if acquisition not in _ACQUISITIONS:
            raise GpmemValueError("acquisition is one of %s, not %r" % (", ".join(_ACQUISITIONS), acquisition))
        o = options(_abi.OptimizeOptions)
        for k in more:
            if k not in _MORE: raise TypeError("Optimizer() got an unexpected keyword argument %r" % k)
        assign(o, seed=seed, maximize=maximize, noisy=noisy, acquisition=_ACQUISITIONS[acquisition],
               **{k: v for k, v in more.items() if k != "stop"})
        o.store = path(store, "store") if store is not None else None
        if "stop" in more: o.stop = c.pointer(more["stop"])
        self._keep = o  # texts in it are borrowed
        self._lock = threading.RLock()  # of the handle
        self._asked: dict[int, dict[str, Any]] = {}
        self._handle = lib.gpm_optimizer_new(c.byref(o))
        weakref.finalize(self, lib.gpm_optimizer_free, self._handle)
        for t in texts:
            self._check(lib.gpm_optimizer_variable(self._handle, text(t, "space")), GpmemValueError)
        if name is not None:
            lib.gpm_optimizer_function(self._handle, text(name, "name"), _abi.Objective(0), None)
        for take, what, given in ((lib.gpm_optimizer_objective, "objectives", objectives or ()),
                                  (lib.gpm_optimizer_constraint, "constraints", constraints),
                                  (lib.gpm_optimizer_collect, "collect", collect)):
            if isinstance(given, Mapping):
                raise GpmemValueError("%s are texts, such as [\"cost\", \"gain:max\"] for objectives, not a dictionary" % what)
            for t in [given] if isinstance(given, str) or callable(given) else given:
                if callable(t):
                    raise GpmemValueError("%s are texts such as \"x + 2*y <= 10\", not functions; what a function gives "
                                          "is bounded by name: let f give it, too, and write \"name<=0\"" % what)
                self._check(take(self._handle, text(t, what)), GpmemValueError)
        self._open = False

    def __reduce__(self):
        raise TypeError("an Optimizer cannot be copied or pickled; keep it in a file (store=) and open that again")

    def _check(self, status, kind=GpmemError):
        if status:
            raise kind(lib.gpm_optimizer_error(self._handle).decode())

    def _begin(self):
        with self._lock:
            if self._open: return
            self._check(lib.gpm_optimizer_open(self._handle))
            self._open = True
            both = [n for n in self.names if n in self.space]
            if both: raise GpmemValueError("%s: a number of an evaluation has the name of a variable" % ", ".join(both))

    @property
    def names(self) -> list[str]:
        """Names of the numbers of an evaluation, in their order."""
        self._begin()
        return [lib.gpm_optimizer_output(self._handle, k).decode() for k in range(lib.gpm_optimizer_outputs(self._handle))]

    def _point(self, x):
        out = {}
        for i, (name, spec) in enumerate(self.space.items()):
            v = float(x[i])
            whole = isinstance(spec, tuple) and "int" in spec
            out[name] = spec[int(round(v))] if isinstance(spec, list) else int(round(v)) if whole else v
        return out

    def _numbers(self, values):
        """The numbers of an evaluation: one, a sequence in their order, or {name: number}."""
        names = self.names
        if hasattr(values, "keys"):
            missing = [n for n in names if n not in values]
            if missing:
                raise GpmemValueError("the evaluation lacks %s%s" % (
                    ", ".join(missing), "" if names != ["value"] else "; name its objective, as in objectives=[%r]" % next(
                        iter(values.keys()), "cost")))
            values = [values[n] for n in names]
        try:
            values = [float(v) for v in np.atleast_1d(np.asarray(values, dtype=float)).ravel()]
        except (TypeError, ValueError):
            raise GpmemValueError("an evaluation gives numbers, not %.80r" % (values,)) from None
        if len(values) != len(names):
            raise GpmemValueError("an evaluation gives %d number%s (%s), not %d%s" % (
                len(names), "" if len(names) == 1 else "s", ", ".join(names), len(values),
                "; name them by objectives, constraints and collect" if names == ["value"] else ""))
        return values

    def ask(self) -> Point:
        """The next point to evaluate: a dictionary. It stays reserved until it is told."""
        self._begin()
        x, id = (c.c_double * len(self.space))(), c.c_int64()
        with self._lock:
            self._check(lib.gpm_optimizer_ask(self._handle, x, c.byref(id)))
            point = Point(self._point(x), id.value)
            self._asked[point.id] = dict(point)
        return point

    def tell(self, point: Mapping[str, Any], values: Any) -> None:
        """What the evaluation of a point gave: a number, a sequence, {name: number}, or None when it failed. Points that
        were never asked for are told the same way."""
        self._begin()
        y = None
        if values is not None:
            numbers = self._numbers(values)
            y = (c.c_double * len(numbers))(*numbers)
        with self._lock:
            if isinstance(point, Point):
                if self._asked.get(point.id, point) != point:
                    raise GpmemValueError("the point is not what was asked for as number %d; tell dict(point) as a point of "
                                          "its own" % point.id)
                self._check(lib.gpm_optimizer_tell_all(self._handle, point.id, y))
                return
            self._check(lib.gpm_optimizer_tell_all_at(self._handle, self._place(point), y))

    def _place(self, point):
        """The numbers of a point that was not asked for."""
        point, x = mapping(point, "point"), (c.c_double * len(self.space))()
        if set(point) != set(self.space):
            raise GpmemValueError("the point must have the variables %s" % ", ".join(self.space))
        for j, name in enumerate(self.space):
            value = text(str(point[name]), name)
            read = c.c_double()
            self._check(lib.gpm_optimizer_read(self._handle, j, value, c.byref(read)), GpmemValueError)
            x[j] = read.value
        return x

    def report(self, kind: str = "json") -> Any:
        """What was found: "json" (as Python's objects), "text" or "html"."""
        self._begin()
        kinds = {"text": 0, "json": 1, "html": 2}
        if kind not in kinds: raise GpmemValueError("a report is json, text or html, not %r" % (kind,))
        with self._lock: out = lib.gpm_optimizer_report(self._handle, kinds[kind]).decode()
        return json.loads(out) if kind == "json" else out

    @property
    def best(self) -> Optimum | None:
        """The best evaluation, or where values are noisy the recommended point, as an Optimum; None while there is none."""
        r = self.report()
        if not r["best"]: return None
        values = np.array([math.nan if t["y"] is None else t["y"] for t in r["trace"]])
        x, y, told = r["best"]["x"], r["best"]["y"], r["recommended"]
        if self._keep.noisy and not r.get("front") and told["mean"] is not None:
            x, y = told["x"], told["mean"]
        return Optimum(_typed(x, self.space), float(y), r["evaluations"],
                       [_typed(t["x"], self.space) for t in r["trace"]], values, r, self.space)

    def _repr_html_(self) -> str:
        best = self.best
        return _shown.paragraph("an optimiser without evaluations") if best is None else best._repr_html_()

    @property
    def records(self) -> list[dict[str, Any]]:
        """All evaluations, a dictionary each."""
        return _records(self.report(), self.space)

    def to_frame(self) -> pandas.DataFrame:
        """All evaluations as a pandas.DataFrame, a row each."""
        return _frame(self.records)


class _Function:
    """The callable as the library calls it."""

    def __init__(self, f: Callable[..., Any], catch: Any, callback: Any, takes_trial: bool) -> None:
        self.f, self.catch, self.callback, self.takes_trial = f, catch, callback, takes_trial
        self.stop = c.c_int(0)
        self.failure: BaseException | None = None
        self.why = ""  # of the last evaluation that failed
        self.points: list[Any] = []
        self.values: list[float] = []
        self.optimizer: Any = None

    def evaluate(self, point, y):
        """What f gives at a point, its numbers into y; None: it failed, why says how."""
        try:
            got = self.f(Trial(point)) if self.takes_trial else self.f(**point)
            if got is None:
                self.why = "it gave None"
                return None
            numbers = self.optimizer._numbers(got)
        except self.catch as e:
            self.why = "%s: %s" % (type(e).__name__, e)
            return None
        for k, v in enumerate(numbers): y[k] = v
        if all(math.isfinite(v) for v in numbers): return got
        self.why = "it gave %s" % ", ".join("%g" % v for v in numbers)
        return None

    def call(self, _user, x, y):
        point, got, value = None, None, math.nan
        try:
            point = self.optimizer._point(x)
            got = self.evaluate(point, y)
            if got is not None:
                value = y[0]
                if self.callback is not None and self.callback(point, got): self.stop.value = 1
        except BaseException as e:  # crosses C: it is raised again when the search has stopped
            self.failure, self.stop.value = e, 1
        self.points.append(point)
        self.values.append(value)
        return 0 if got is not None else 1


def _learn(f):
    """The space of a function that takes a trial: it is called once, in the middle."""
    space: dict[str, Any] = {}
    f(Trial(None, space))
    return space


def optimize(f: Callable[..., Any], space: Mapping[str, Any] | None = None, budget: int = 50, maximize: bool = False,
             noisy: bool = False, seed: int = 1, acquisition: str = "auto", store: str | os.PathLike[str] | None = None,
             name: str | None = None, target: float | None = None, max_seconds: float = 0,
             catch: type[BaseException] | tuple[type[BaseException], ...] = (), objectives: str | Iterable[str] | None = None,
             constraints: str | Iterable[str] = (), collect: str | Iterable[str] = (),
             callback: Callable[[Any, Any], Any] | None = None, max_cost: float = 0) -> Optimum:
    """Minimises (or maximises) f over a box of named variables, which f takes as keyword arguments.

    space        {name: (low, high)}, with "log" or "int" after the bounds for scales and whole numbers and
                 "when kind=a,b" where it matters for some levels of a category only, or
                 {name: ["a", "b"]} for categories; levels in order, shares, orders: see Optimizer. A function of one argument called trial asks for its variables
                 (trial.suggest_float("x", 0, 1), suggest_int, suggest_categorical) and needs no space; it is called once
                 before, in their middle, to learn them
    budget       evaluations in all, those already in the store included
    maximize     look for the largest value instead of the smallest
    noisy        f is noisy: points are repeated, and the optimum is that of the mean: the recommended point, not the one
                 with the luckiest draw
    seed         of all decisions: the same seed asks for the same points
    acquisition  how the next point is chosen: "auto", "thompson", "ei" or "ucb"
    store        a file that keeps every evaluation: the same call goes on where the last one stopped
    name         identity of the function in the store (default: its name)
    target       stop as soon as a value is this good
    max_seconds  stop after this time (0: no limit)
    max_cost     stop when the evaluations cost this much: the number "cost" that they collect, else 1 each, or of a
                 variable with "fidelity" after its bounds its share (0: no limit)
    catch        exceptions that mean "this evaluation failed", as do None and what is not finite; any other ends the
                 search and is raised, and the point is evaluated by the next call
    objectives   f gives several numbers, as {name: number} or a sequence in the order objectives, constraints,
                 collect: the names of those to minimise ("name:max": to maximise); several ask for the front
    constraints  texts such as "weight<=3", "0<=stress<=1", "mass=2+-0.01" on those numbers, or on variables:
                 "x + 2*y <= 10"
    collect      names of numbers that are only kept
    callback     called with the point and what f gave after each evaluation; true ends the search

    Returns an Optimum. Raises GpmemValueError for a space that makes no sense, GpmemError when nothing succeeded.

    >>> o = optimize(lambda x: (x - 2) ** 2, {"x": (-10, 10)}, budget=15)
    >>> abs(o.x["x"] - 2) < 0.01, o.evaluations
    (True, 15)"""
    if not callable(f):
        raise GpmemValueError("f must be a function, not %s" % type(f).__name__)
    kinds = catch if isinstance(catch, tuple) else (catch,)
    if not all(isinstance(e, type) and issubclass(e, BaseException) for e in kinds):
        raise GpmemValueError("catch must be an exception or a tuple of them, not %r" % (catch,))
    if callback is not None and not callable(callback):
        raise GpmemValueError("callback must be a function, not %s" % type(callback).__name__)
    if budget == 0 and not (max_seconds or max_cost) and target is None:
        raise GpmemValueError("there is no end; give a budget, max_cost, max_seconds or a target")
    takes_trial = space is None
    if takes_trial:
        try: arguments = list(inspect.signature(f).parameters)
        except (TypeError, ValueError): arguments = []
        if arguments != ["trial"]:
            raise GpmemValueError("give a space such as {\"x\": (-5, 10)}, or a function of one argument, trial")
        space = _learn(f)
    assert space is not None
    function = _Function(f, catch, callback, takes_trial)
    more: dict[str, Any] = {"budget": budget, "max_seconds": max_seconds, "max_cost": max_cost, "stop": function.stop}
    if target is not None: more.update(has_target=True, target=target)
    o = function.optimizer = Optimizer(space, objectives, constraints, collect, maximize, noisy, seed, acquisition, store, **more)
    identity = text(name or getattr(f, "__name__", "function"), "name")
    callback_ = _abi.Objective(function.call)
    lib.gpm_optimizer_function(o._handle, identity, callback_, None)
    o._begin()
    status = lib.gpm_optimizer_run(o._handle)
    if function.failure is not None:
        raise function.failure
    if not (callback is not None and function.stop.value): o._check(status)
    best = o.best
    if best is None:
        raise GpmemError("no evaluation of the function succeeded" + ("; the last: " + function.why if function.why else ""))
    return Optimum(best.x, best.y, best.evaluations, function.points, np.array(function.values), best.report, o.space)


def minimize(f: Callable[..., Any], space: Mapping[str, Any] | None = None, constraints: str | Iterable[str] = (),
             objectives: str | Iterable[str] | None = None, **more: Any) -> Optimum:
    """optimize with the arguments that a minimisation under constraints needs first; see there."""
    return optimize(f, space, constraints=constraints, objectives=objectives, **more)
