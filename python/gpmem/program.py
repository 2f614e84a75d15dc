# SPDX-License-Identifier: Apache-2.0
"""run: programs of the language with data from Python, results as arrays."""
from __future__ import annotations

import ctypes as c
import functools
import inspect
import json
import math
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _abi, _library, _shown, _stored
from . import draws as _draws
from ._library import GpmemError, GpmemValueError, assign, lib, mapping, text, whole


if TYPE_CHECKING:
    import xarray


class Result:
    """What a run printed and collected.

    values  the value of every top-level sample, predict and expression, in order: numbers, texts, arrays
    draws   {name: array of shape (chains, draws)} of everything `collect` gathered; nan where a quantity is absent,
            as is_absent tells
    sample_stats  {name: array}: what hmc and nuts say of the transition that led to each draw, under Stan's names; and
            log_weight__ where the draws have weights, which summaries take in
    output  everything the program wrote besides (print, progress, warnings), as text
    failed  {number of a chain, from 1: its error}; the other attributes are of the chains that did not fail
    With several chains `values` holds one list per chain."""

    def __init__(self, values: list[Any], draws: dict[str, np.ndarray], output: str,
                 failed: dict[int, str] | None = None, sample_stats: dict[str, np.ndarray] | None = None) -> None:
        self.values, self.draws, self.output, self.failed = values, draws, output, failed or {}
        self.sample_stats = sample_stats or {}

    def _weighted(self) -> dict[str, np.ndarray]:
        """The draws, and their weights where they have some."""
        return {**{k: x for k, x in self.sample_stats.items() if k == _draws.WEIGHTS}, **self.draws}

    def summary(self) -> dict[str, dict[str, float]]:
        """{name: {mean, sd, quantiles, effective sample sizes, rhat}} of every quantity."""
        return _draws.summary(self._weighted())

    def diagnose(self) -> str:
        """What is wrong with the draws in words, a line each; "" when nothing is."""
        return _draws.diagnose(self._weighted())

    def loo(self) -> dict[str, Any]:
        """Leave-one-out and WAIC; the draws hold collect(..., log_lik()). gpmem.loo(a, b) compares models."""
        return _draws.loo(self)[0]

    def predictive_check(self) -> dict[str, Any]:
        """Replicated data beside the data; the draws hold collect(..., y_rep(), y_obs())."""
        return _draws.predictive_check(self._weighted())

    def predictive_picture(self) -> _shown.Picture:
        """The same as an SVG picture: a text, which notebooks show."""
        return _shown.Picture(_draws.predictive_picture(self._weighted()))

    def picture(self, *names: str) -> _shown.Picture:
        """Traces and histograms of quantities (the first four, where none is named) as an SVG picture.

        >>> r = run("assume x = normal(0, 1); infer accumulate_dataset(50, do(mh(default, one, 1), collect(x)));")
        >>> "<svg" in r.picture("x")
        True"""
        names = names or tuple(self.draws)[:4]
        panels: list[dict[str, Any]] = []
        draws = _draws.drawn(self._weighted()) if self.draws else self.draws
        for name in names:
            if name not in draws:
                raise GpmemValueError("there are no draws of %r; there are %s" % (name, ", ".join(self.draws) or "none"))
            lines = [{"type": "line", "x": list(range(1, len(chain) + 1)), "y": _shown.numbers(chain)} for chain in draws[name]]
            panels += [{"title": name, "x": {"label": "draw"}, "items": lines},
                       {"title": name, "items": [{"type": "histogram", "x": _shown.numbers(draws[name]), "bins": 30}]}]
        return _shown.draw(panels, columns=2)

    def _repr_html_(self) -> str:
        failed = "".join(_shown.paragraph("chain %d failed: %s" % item) for item in self.failed.items())
        if not self.draws:
            values = [v if isinstance(v, str) else repr(v) for v in self.values]
            return failed + _shown.table(["value"], [[v] for v in values])
        rows = self.summary()
        head = list(next(iter(rows.values())))
        return (failed + _shown.table(["", *head], [[name, *row.values()] for name, row in rows.items()])
                + _shown.paragraph(self.diagnose()))

    def to_inference_data(self, prior: Result | None = None) -> dict[str, dict[str, np.ndarray]]:
        """{group: {name: array}} with the groups of ArviZ: arviz.from_dict(**r.to_inference_data()). prior: the
        result of a run that draws from the prior."""
        return _draws.to_inference_data({**self.sample_stats, **self.draws}, prior)

    def to_xarray(self, prior: Result | None = None) -> dict[str, xarray.Dataset]:
        """{group: xarray.Dataset} of the same groups, with the dimensions chain and draw."""
        return _stored.to_xarray(self.to_inference_data(prior))

    def to_netcdf(self, path: Any, prior: Result | None = None) -> None:
        """Writes the groups to a file of netCDF-4: arviz.from_netcdf(path). Needs xarray, with h5netcdf or netCDF4."""
        _stored.to_netcdf(self.to_inference_data(prior), path)

    def to_zarr(self, folder: Any, prior: Result | None = None) -> None:
        """Writes the groups to a new folder of Zarr: arviz.from_zarr(folder). Needs nothing."""
        _stored.to_zarr(self.to_inference_data(prior), folder)

    def __repr__(self) -> str:
        shapes = ["%s %s" % (name, "x".join(map(str, a.shape))) for name, a in self.draws.items()]
        return "Result(values=%r, draws: %s)" % (self.values, ", ".join(shapes) or "none")


def _escape(m: re.Match[str]) -> str:
    return "\\" + m[0] if m[0] in '"\\' else "\\%03o" % ord(m[0])


def _quoted(x: str) -> str:
    """A text of the language; control characters are three octal digits."""
    text(x, "a text in data")
    return '"%s"' % re.sub(r'["\\\x00-\x1f\x7f]', _escape, x)


def literal(x: Any) -> str:
    """A value of Python as text of the language: numbers, texts, sequences, arrays."""
    if isinstance(x, (bool, np.bool_)):
        return "true" if x else "false"
    if isinstance(x, (int, np.integer)):
        return str(int(x))
    if isinstance(x, (float, np.floating)):
        if not math.isfinite(x):
            raise GpmemValueError("data must be finite numbers; there is %r" % x)
        return repr(float(x))
    if isinstance(x, str):
        return _quoted(x)
    if isinstance(x, np.ndarray) or hasattr(x, "__array__"):
        return literal(np.asarray(x).tolist())
    if isinstance(x, (list, tuple, range)):
        return "array(%s)" % ", ".join(literal(v) for v in x)
    raise TypeError("data of type %s cannot be given to a program; numbers, texts, sequences and arrays can"
                    % type(x).__name__)


def _plain(x: Any) -> Any:
    """A value of Python as JSON has it, as Stan's data files write what JSON cannot: "NaN", "Infinity"."""
    if isinstance(x, (bool, np.bool_)):
        return bool(x)
    if isinstance(x, (int, np.integer)):
        return int(x)
    if isinstance(x, (float, np.floating)):
        return float(x) if math.isfinite(x) else "NaN" if math.isnan(x) else "Infinity" if x > 0 else "-Infinity"
    if isinstance(x, str):
        return text(x, "a text in data").decode()
    if x is None:
        return "NaN"
    if isinstance(x, dict):
        return {k: _plain(v) for k, v in x.items()}
    if isinstance(x, np.ndarray) or hasattr(x, "__array__"):
        x = np.asarray(x).tolist()
        if not isinstance(x, list):
            return _plain(x)
    if isinstance(x, (list, tuple, range)):
        return [_plain(v) for v in x]
    raise TypeError("data of type %s cannot be given to a program; numbers, texts, sequences and arrays can"
                    % type(x).__name__)


def _value(line):
    v = json.loads(line)
    if isinstance(v, list):
        try:
            a = np.array(v)
        except ValueError:  # ragged
            return v
        return a if a.dtype.kind in "ifb" else v
    return v


def _failed(e, failures, err, err_size):
    """An exception crosses C as a text; it is raised again when the run has ended."""
    failures.append(e)
    said = ("%s: %s" % (type(e).__name__, e)).encode(errors="replace")[:max(err_size - 1, 0)] + b"\0"
    if err_size:
        c.memmove(err, said, len(said))
    return 1


def _wrap(f, failures):
    """A source function around a function of numbers."""
    def call(_user, args, n, result, err, err_size):
        try:
            result[0] = float(f(*[args[i] for i in range(n)]))
            return 0
        except BaseException as e:
            return _failed(e, failures, err, err_size)
    return _abi.Function(call)


def _wrap_callback(f, failures):
    """What call_back calls: f gets one list per expression, with its value in every particle."""
    reply: list[bytes] = []

    def call(_user, args, result, err, err_size):
        try:
            out = f(*json.loads(args.decode()))
            if out is not None:
                reply[:] = [literal(out).encode()]  # kept until the next call
                result[0] = reply[0]
            return 0
        except BaseException as e:
            return _failed(e, failures, err, err_size)
    return _abi.Callback(call)


def _signature(name, f):
    """The inputs of a function, which must be a fixed number of numbers by position."""
    try:
        parameters = inspect.signature(f).parameters.values()
    except (TypeError, ValueError):
        raise GpmemValueError("functions: the inputs of %r cannot be listed; give a function" % name) from None
    by_position = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    if any(p.kind not in by_position for p in parameters):
        raise GpmemValueError("functions: the inputs of %r have no fixed number; give lambda x, y: ..." % name)
    names = [p.name for p in parameters]
    return "(%s) -> real" % ", ".join("%s: real" % n for n in names)


class _Chain:
    """One chain: a session with its callbacks."""

    def __init__(self, chain, options):
        self.results, self.other, self.failures, self.keep = [], [], [], []
        self.table = _draws.Table()
        self.options = _library.options(_abi.Options)
        assign(self.options, **options)
        self.options.chain, self.options.format = chain, 1
        self.options.write, self.options.draw = _abi.WriteFn(self._write), _abi.DrawFn(self._draw)
        self.session = lib.gpm_session_new(c.byref(self.options))
        self.error = None

    def _write(self, _user, stream, text, n):
        (self.results if stream == 1 else self.other).append(c.string_at(text, n))

    def _draw(self, _user, names, row, n):
        self.table.push(names, row, n)

    def forget_draws(self) -> None:
        self.table = _draws.Table()

    def bind(self, functions):
        for name, f in functions.items():
            sig = _signature(name, f)
            self.keep.append(_wrap(f, self.failures))
            if lib.gpm_bind_function(self.session, name, sig, self.keep[-1], None):
                raise GpmemError(lib.gpm_last_error(self.session).decode() or "cannot bind the function '%s'" % name)

    def bind_callbacks(self, callbacks):
        for name, f in callbacks.items():
            if not callable(f):
                raise GpmemValueError("callbacks: %r cannot be called" % name)
            self.keep.append(_wrap_callback(f, self.failures))
            if lib.gpm_bind_callback(self.session, name, self.keep[-1], None):
                raise GpmemError(lib.gpm_last_error(self.session).decode())

    def run(self, sources):
        """In a thread of its own: what goes wrong is kept for the thread that waits."""
        try:
            for name, source in sources:
                if lib.gpm_run_text(self.session, name, source, len(source)):
                    self.error = lib.gpm_last_error(self.session).decode(errors="replace")
                    return
        except BaseException as e:
            self.failures.append(e)
            self.error = str(e)

    def close(self):
        lib.gpm_session_free(self.session)
        return self.take_values()

    def take_values(self):
        """What was printed as values; the rest joins what was written besides."""
        values = []
        for line in b"".join(self.results).decode(errors="replace").split("\n"):
            try:
                values += [_value(line)] if line else []
            except ValueError:  # what `print` writes is free text
                self.other.append((line + "\n").encode())
        return values


def run(program: str, data: Mapping[str, Any] | None = None, functions: Mapping[str, Callable[..., float]] | None = None,
        seed: int = 1, chains: int = 1, name: str = "program", allow_run: bool = False, allow_write: bool = False,
        max_seconds: float = 0, jobs: int = 1, callbacks: Mapping[str, Callable[..., Any]] | None = None) -> Result:
    """Runs a program of the language and returns a Result: values, draws, output.

    program      the text of the program
    data         {name: value}: numbers, texts, sequences, arrays; defined before the program starts. Sequences of
                 numbers are vectors, of equally long ones matrices; None and NaN are missing numbers
    functions    {name: callable of numbers}: source functions, for example of gpmem
    seed         the same seed gives the same result
    chains       independent runs with streams of random numbers of their own, in threads
    name         what error messages call the program
    allow_run    the program may run commands and load shared objects
    allow_write  the program may write files
    max_seconds  stop after this time with an error (0: no limit)
    jobs         source functions evaluated at once
    callbacks    {name: callable}: what call_back("name", e1, e2, ...) calls, with one list per expression that holds
                 its value in every particle; what it returns is the action's value

    Raises GpmemError with the program's diagnostic, or the exception that a function raised; of several chains the
    first that failed is named, and the exception's `result` holds what the others gave.

    >>> run("sample x + 1;", data={"x": 41}).values
    [42]"""
    source, called, chains = text(program, "program"), text(name, "name"), whole(chains, "chains", 1, 1024)
    data, functions, callbacks = mapping(data, "data"), mapping(functions, "functions"), mapping(callbacks, "callbacks")
    for k in data:
        if not re.fullmatch(r"[A-Za-z_]\w*", k, re.ASCII):
            raise GpmemValueError("%r cannot be the name of data: letters, digits and _ make a name" % k)
    given = json.dumps({k: _plain(v) for k, v in data.items()}).encode()
    options = dict(seed=seed, allow_run=allow_run, allow_write=allow_write, max_seconds=max_seconds, jobs=jobs)
    assign(_abi.Options(), **options)  # before there is a session to close
    all_chains = [_Chain(i, options) for i in range(chains)]
    try:
        for chain in all_chains:
            chain.bind(functions)
            chain.bind_callbacks(callbacks)
            if data and lib.gpm_data_json(chain.session, given, len(given)):
                raise GpmemError(lib.gpm_last_error(chain.session).decode(errors="replace"))
        _library.beside([functools.partial(chain.run, [(called, source)]) for chain in all_chains],
                        lambda: [lib.gpm_interrupt(chain.session) for chain in all_chains])
    finally:
        values = [chain.close() for chain in all_chains]
    failed = {i + 1: chain.error for i, chain in enumerate(all_chains) if chain.error is not None}
    good = [chain for chain in all_chains if chain.error is None]
    draws: dict[str, np.ndarray] = {}
    stats: dict[str, np.ndarray] = {}
    for column, x in _draws.columns([chain.table for chain in good]).items():
        (stats if _draws.is_sample_stat(column) else draws)[column] = x
    output = b"".join(b"".join(chain.other) for chain in all_chains).decode(errors="replace")
    values = [v for v, chain in zip(values, all_chains) if chain.error is None]
    result = Result(values[0] if chains == 1 and values else values, draws, output, failed, stats)
    for i, chain in enumerate(all_chains):
        if chain.error is not None:
            e = chain.failures[0] if chain.failures else GpmemError(
                "chain %d: %s" % (i + 1, chain.error) if chains > 1 else chain.error)
            e.result = result
            raise e
    return result
