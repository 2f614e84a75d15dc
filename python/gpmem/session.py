# SPDX-License-Identifier: Apache-2.0
"""Session: a model that stays, to be built, observed and asked from Python."""
from __future__ import annotations

import contextlib
import json
import os
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from . import _shown
from . import draws as _draws
from .program import _Chain, _plain, literal
from ._library import GpmemError, GpmemValueError, beside, lib, mapping, path as _path, text, whole

_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_FORMAT = "gpmem session 1"


def _name(x: Any, what: str) -> str:
    if not isinstance(x, str) or not _NAME.fullmatch(x):
        raise GpmemValueError("%s must be a name of letters, digits and _, not %r" % (what, x))
    return x


def _saved(x: Any) -> dict[str, Any]:
    """What Session.save wrote, each part of the type that it has there; ValueError otherwise."""
    try:
        whole(x["options"]["seed"], "seed", 0, 2**64 - 1)
        whole(x["models"], "models", 0, 2**53)
        parts = [v for entry in x["log"] for v in [*entry, *entry.values()]]
        sound = all(isinstance(v, str) for v in parts) and all(list(entry) in (["run"], ["data"], ["run", "error"]) for entry in x["log"])
        sound = sound and (x["model"] is None or bool(re.fullmatch("_fork[0-9]+", x["model"])))
    except (AttributeError, KeyError, TypeError):
        sound = False
    if not sound or x["format"] != _FORMAT:
        raise ValueError
    return x


class _Shared:
    """What a session and its forks have in common: one session of the library, and the log of what it ran."""

    def __init__(self, options: dict[str, Any], functions: Mapping[str, Any], callbacks: Mapping[str, Any]) -> None:
        self.owner = threading.RLock()  # callbacks are in another thread
        self.options, self.models = options, 0
        self.log: list[dict[str, str]] = []
        chain = _Chain(0, options)
        chain.bind(functions)
        chain.bind_callbacks(callbacks)
        self.chain: _Chain | None = chain
        self.stopped = False  # a call was ended from outside

    @contextlib.contextmanager
    def owned(self) -> Iterator[None]:
        """One owner at a time: another thread, or a callback of the call at work, gets an error."""
        if not self.owner.acquire(blocking=False):
            raise GpmemError("this Session is at work for another thread, or calls this callback: it serves one call at a time; "
                             "give each thread a Session of its own")
        try: yield
        finally: self.owner.release()

    def run(self, source: str, data: bytes | None = None, logged: bool = True) -> tuple[list[Any], str]:
        with self.owned(): return self._run(source, data, logged)

    def _run(self, source: str, data: bytes | None = None, logged: bool = True) -> tuple[list[Any], str]:
        """Values that it printed, in order, and what it wrote besides."""
        if self.chain is None:
            raise GpmemValueError("the session is closed")
        chain = self.chain
        chain.results, chain.other, chain.failures, chain.error = [], [], [], None
        if data is not None and lib.gpm_data_json(chain.session, data, len(data)):
            raise GpmemError(lib.gpm_last_error(chain.session).decode(errors="replace"))
        sources = [(b"session", text(source, "the program"))]
        entry = {"data": data.decode()} if data is not None else {"run": source}
        stopped, self.stopped = self.stopped, True  # until it is known that nobody stopped it
        beside([lambda: chain.run(sources)], lambda: lib.gpm_interrupt(chain.session))
        self.stopped = stopped or bool(lib.gpm_stopped(chain.session))
        values = chain.take_values()
        if chain.error is not None:
            if logged:
                self.log.append({**entry, "error": chain.error})  # what it did before that stays
            raise chain.failures[0] if chain.failures else GpmemError(chain.error)
        if not logged:
            return values, ""
        self.log.append(entry)
        return values, b"".join(chain.other).decode(errors="replace")

    def error(self) -> str | None:
        """Why the last call failed, in the library's words."""
        return None if self.chain is None else self.chain.error

    def close(self):
        with self.owned():
            if self.chain is not None:
                lib.gpm_session_free(self.chain.session)
            self.chain = None


class Session:
    """A model that stays between calls.

    seed         the same seed and the same calls give the same results
    data         {name: value}: defined in the program, as with gpmem.run
    functions    {name: callable of numbers}: source functions, for example of gpmem
    callbacks    {name: callable}: what call_back("name", ...) calls
    allow_run, allow_write, max_seconds, jobs: as with gpmem.run

    Expressions and actions are texts of the language. `output` is what the last call wrote besides its value. A call
    that fails raises GpmemError and leaves the model as it was; a chain keeps its last complete transition.

    >>> s = Session()
    >>> _ = s.assume("x", "normal(0, 1)")
    >>> s.observe("normal(x, 1)", 2)
    >>> s.infer("mh(default, one, 100)")
    >>> isinstance(s.sample("x"), float)
    True"""

    def __init__(self, seed: int = 1, data: Mapping[str, Any] | None = None,
                 functions: Mapping[str, Callable[..., float]] | None = None,
                 callbacks: Mapping[str, Callable[..., Any]] | None = None, allow_run: bool = False,
                 allow_write: bool = False, max_seconds: float = 0, jobs: int = 1) -> None:
        options = dict(seed=seed, allow_run=allow_run, allow_write=allow_write, max_seconds=max_seconds, jobs=jobs)
        self._shared = _Shared(options, mapping(functions, "functions"), mapping(callbacks, "callbacks"))
        self._model: str | None = None
        self.output = ""
        if data:
            for k in mapping(data, "data"):
                _name(k, "the name of data")
            self._shared.run("", json.dumps({k: _plain(v) for k, v in data.items()}).encode())

    def __reduce__(self):
        raise TypeError("a Session cannot be copied or pickled; fork() gives another one, save(path) and Session.load(path) keep it")

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Frees the model, and those of all forks."""
        self._shared.close()

    def _run(self, source: str) -> list[Any]:
        values, self.output = self._shared.run(source)
        return values

    def _act(self, action: str) -> Any:
        """The value of an action. One directive in a definition needs no copy of the model, should it fail."""
        action = "run(%s)" % action if self._model is None else "first(run(in_model(%s, %s)))" % (self._model, action)
        v = self._run("define _value = %s;\n_value;" % action)[-1]
        return None if isinstance(v, np.ndarray) and not v.size else v  # nil

    def save_model(self, path: str | os.PathLike[str]) -> None:
        """Writes the model into a file: directives, choices, particles, weights, generators. Needs allow_write.

        >>> import os, tempfile
        >>> s = Session(allow_write=True)
        >>> _ = s.assume("x", "normal(0, 1)")
        >>> path = os.path.join(tempfile.mkdtemp(), "model.gpm")
        >>> s.save_model(path)
        >>> x = s.sample("x")
        >>> other = Session()
        >>> other.load_model(path)
        >>> other.sample("x") == x
        True"""
        self._act("save_model(%s)" % json.dumps(os.fspath(path)))

    def load_model(self, path: str | os.PathLike[str]) -> None:
        """Puts the model that save_model wrote in the place of this one; it goes on as it would have there.
        A file that another user wrote needs allow_run."""
        self._act("load_model(%s)" % json.dumps(os.fspath(path)))

    def directives(self) -> list[dict[str, Any]]:
        """What the model holds, in its order: a dictionary each, with label, kind, text and value.

        >>> s = Session()
        >>> _ = s.assume("x", "normal(0, 1)")
        >>> s.observe("normal(x, 1)", 2)
        >>> [(d["kind"], d["text"]) for d in s.directives()]
        [('assume', 'normal(0, 1)'), ('observe', 'normal(x, 1)')]"""
        action = "list_directives()" if self._model is None else "first(run(in_model(%s, list_directives())))" % self._model
        return list(self._shared.run(action + ";", logged=False)[0][-1])

    def _repr_html_(self) -> str:
        if self._shared.chain is None:
            return _shown.paragraph("a session that is closed")
        return _shown.table(["", "label", "expression", "value"],
                            [[d["kind"], d["label"] or "", d["text"], d["value"]] for d in self.directives()])

    @staticmethod
    def _expression(x: str, what: str = "the expression") -> str:
        text(x, what)
        return x.rstrip().rstrip(";")

    def run(self, program: str) -> list[Any]:
        """Runs any text of the language in the session; the values of its top-level expressions, as a list. Its
        directives are those of the session's first model, not of a fork."""
        if self._model is not None:
            raise GpmemValueError("run is for the session's first model; in a fork use assume, observe, infer, ...")
        return self._run(program)

    def define(self, name: str, value: Any) -> None:
        """Defines a name of the inference program, which models see too: a value of Python."""
        self._run("define %s = %s;" % (_name(name, "name"), literal(value)))

    def assume(self, name: str, expression: str, label: str | None = None) -> Any:
        """Binds a name of the model to an expression; its value now."""
        more = "" if label is None else ", " + _name(label, "label")
        return self._act("assume(%s, %s%s)" % (_name(name, "name"), self._expression(expression), more))

    def observe(self, expression: str, value: Any, label: str | None = None) -> None:
        """Conditions the model on the expression having the value: a value of Python."""
        more = "" if label is None else ", " + _name(label, "label")
        self._act("observe(%s, %s%s)" % (self._expression(expression), literal(value), more))

    def predict(self, expression: str, label: str | None = None) -> Any:
        """Evaluates the expression and keeps it in the model; its value now. report(label) tells it later."""
        more = "" if label is None else ", " + _name(label, "label")
        return self._act("predict(%s%s)" % (self._expression(expression), more))

    def sample(self, expression: str) -> Any:
        """A value of the expression in the model as it is; nothing is kept."""
        return self._act("sample(%s)" % self._expression(expression))

    def force(self, expression: str, value: Any) -> None:
        """Sets what the expression ends in to the value, and leaves it free."""
        self._act("force(%s, %s)" % (self._expression(expression), literal(value)))

    def infer(self, action: str) -> Any:
        """Runs an inference action, such as "mh(default, one, 100)" or "repeat(10, do(...))"; its value."""
        return self._act(self._expression(action, "the action"))

    def report(self, label: str) -> Any:
        """The current value of a directive: of a name, or by label."""
        return self._act("report(quote(%s))" % _name(label, "label"))

    def forget(self, label: str) -> None:
        """Takes a directive out of the model."""
        self._act("forget(quote(%s))" % _name(label, "label"))

    def freeze(self, label: str) -> None:
        """Replaces a directive by its current value."""
        self._act("freeze(quote(%s))" % _name(label, "label"))

    def draws(self, n: int, action: str, *expressions: str, **named: str) -> dict[str, np.ndarray]:
        """Runs the action n times and keeps values of the expressions after each: {name: array of n}. An expression
        that is not named goes by its text. Elements of arrays are called x[1], x[2], ...; where a draw has none, there
        is the nan that is_absent tells. Of particles there is a draw each, and log_weight__ where their weights differ:
        gpmem.draws.summary takes it in.

        >>> s = Session()
        >>> _ = s.assume("x", "normal(0, 1)")
        >>> s.draws(20, "mh(default, one, 5)", "x", twice="2 * x")["twice"].shape
        (20,)"""
        columns = [self._expression(e) for e in expressions]
        columns += ["labelled(%s, %s)" % (self._expression(e), _name(k, "a name of draws")) for k, e in named.items()]
        if not columns:
            raise GpmemValueError("draws needs an expression to keep")
        step = "do(%s, collect(%s))" % (self._expression(action, "the action"), ", ".join(columns))
        with self._shared.owned():
            chain = self._shared.chain
            if chain is None:
                raise GpmemValueError("the session is closed")
            chain.forget_draws()
            self._act("do(accumulate_dataset(%d, %s), return(0))" % (whole(n, "n", 1, 2**53), step))
            kept = _draws.columns([chain.table])
        return {k: x[0] for k, x in kept.items() if k == _draws.WEIGHTS or not _draws.is_sample_stat(k)}

    def fork(self) -> Session:
        """A session that goes on from here by itself: a copy of the model, which draws its own random numbers.
        Definitions, functions and callbacks are common to both.

        >>> s = Session()
        >>> _ = s.assume("x", "normal(0, 1)")
        >>> other = s.fork()
        >>> other.force("x", 7)
        >>> other.sample("x"), s.sample("x") == 7
        (7, False)"""
        other = Session.__new__(Session)
        other._shared, other.output = self._shared, ""
        self._shared.models += 1
        other._model = "_fork%d" % self._shared.models
        fork = "fork_model()" if self._model is None else "in_model(%s, fork_model())" % self._model
        self._run("define %s = %s(run(%s));" % (other._model, "first" if self._model else "", fork))
        return other

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes a file from which Session.load makes this session again: the seed and all that was run. Loading runs
        it again, with the same result. Permissions and limits are not in the file."""
        if self._shared.stopped:
            raise GpmemError("save: a call was interrupted, and running all again would not stop at the same place; "
                             "save_model keeps the model")
        with open(_path(path, "path"), "w", encoding="utf-8") as f:
            json.dump({"format": _FORMAT, "options": {"seed": self._shared.options["seed"]}, "model": self._model,
                       "models": self._shared.models, "log": self._shared.log}, f, indent=1)
            f.write("\n")

    @classmethod
    def load(cls, path: str | os.PathLike[str], functions: Mapping[str, Callable[..., float]] | None = None,
             callbacks: Mapping[str, Callable[..., Any]] | None = None, allow_run: bool = False, allow_write: bool = False,
             max_seconds: float = 0, jobs: int = 1) -> Session:
        """The session that save wrote. The file gives the seed and what is run; who loads it gives the rest again:
        functions, callbacks, permissions and limits, as with Session(...).

        >>> import os, tempfile
        >>> path = os.path.join(tempfile.mkdtemp(), "a.session")
        >>> s = Session(seed=3)
        >>> x = s.assume("x", "normal(0, 1)")
        >>> s.save(path)
        >>> Session.load(path).report("x") == x
        True"""
        with open(_path(path, "path"), encoding="utf-8") as f:
            try:
                saved = _saved(json.load(f))
            except (ValueError, RecursionError):
                raise GpmemValueError("%s is no file of a session" % os.fspath(path)) from None
        s = cls(saved["options"]["seed"], None, functions, callbacks, allow_run, allow_write, max_seconds, jobs)
        try:
            for entry in saved["log"]:
                try:
                    s._shared.run(entry.get("run", ""), entry["data"].encode() if "data" in entry else None)
                except Exception:
                    if entry.get("error", "") != s._shared.error():
                        raise
                    continue
                if "error" in entry:
                    raise GpmemError("%s cannot be made again: a call that failed then does not fail now" % os.fspath(path))
        except BaseException:
            s.close()
            raise
        s._model, s._shared.models = saved["model"], saved["models"]
        return s
