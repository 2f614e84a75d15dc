# SPDX-License-Identifier: Apache-2.0
"""regress: Bayesian regression of a table with a Gaussian process."""
from __future__ import annotations

import csv
import ctypes as c
import io
import json
import os
import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _abi, _frames, _shown
from ._library import GpmemError, GpmemValueError, assign, beside, lib, options, path, text

if TYPE_CHECKING:
    import pandas

_FORMATS = {"text": _abi.REGRESS_TEXT, "json": _abi.REGRESS_JSON, "html": _abi.REGRESS_HTML, "program": _abi.REGRESS_PROGRAM}
_PREDICTIONS = _abi.REGRESS_PREDICTIONS
_NUMBERS = ("mean", "median", "sd", "lower", "upper", "new_sd", "new_lower", "new_upper")
_USER = (_abi.E_ARG, _abi.E_FORMAT, _abi.E_NOT_FOUND)


def _choice(name: str, known: Mapping[str, int], given: Any) -> int:
    if given not in known:
        raise GpmemValueError("%s is one of %s, not %r" % (name, ", ".join(known), given))
    return known[given]


def _cells(values: Any) -> list[str]:
    """A column as texts that the library reads: numbers whole, dates in ISO's form, nothing where a value is missing."""
    a = _frames.plain_array(values, "a column")
    if a.ndim != 1:
        raise GpmemValueError("a column has one dimension, not %d" % a.ndim)
    if a.dtype.kind == "M":
        days = a.astype("datetime64[D]")
        known = ~np.isnat(a)
        whole = bool((days[known] == a[known]).all())
        return ["" if np.isnat(v) else str(np.datetime_as_string(v)) for v in (days if whole else a.astype("datetime64[us]"))]
    out = []
    for v in a.tolist():
        missing = _frames.is_missing(v)
        if isinstance(v, float) and not missing and v in (float("inf"), float("-inf")):
            raise GpmemValueError("a column must hold finite numbers, and nan where one is missing")
        out.append("" if missing else repr(v) if isinstance(v, float) else str(v))
    return out


def _as_columns(data: Any, what: str) -> dict[str, list[str]]:
    """{name: texts} of a DataFrame or a dictionary of columns."""
    if not (hasattr(data, "columns") or isinstance(data, Mapping)):
        raise GpmemValueError("%s must be a DataFrame, a dictionary of columns or the path of a CSV file, not %s" % (what, type(data).__name__))
    names = list(data.columns if hasattr(data, "columns") else data)
    columns = {str(k): _cells(data[k]) for k in names}
    if len(columns) != len(names):
        raise GpmemValueError("%s has two columns of one name" % what)
    if len({len(v) for v in columns.values()}) > 1:
        raise GpmemValueError("columns differ in length: %s" % ", ".join("%s has %d" % (k, len(v)) for k, v in columns.items()))
    return columns


def _as_csv(columns: Mapping[str, list[str]], what: str) -> bytes:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n", quoting=csv.QUOTE_ALL).writerow(columns)  # names as they are, blanks and all
    csv.writer(out, lineterminator="\n").writerows(zip(*columns.values()))
    return text(out.getvalue(), what)


_FAMILIES = ("auto", "normal", "bernoulli", "poisson", "negative_binomial")


def _is_path(data: Any) -> bool:
    return isinstance(data, (str, os.PathLike))


class Regression:
    """What a regression found: how well it predicts, which inputs matter and how, noise, rows out of line, predictions."""

    def __init__(self, table: bytes | None, file: bytes | None, settings: Mapping[str, Any]) -> None:
        self._table, self._file, self._settings = table, file, dict(settings)
        self._handle: Any = lib.gpm_regression_new()
        self._fit()

    def __del__(self):
        if getattr(self, "_handle", None):
            lib.gpm_regression_free(self._handle)

    def __repr__(self) -> str:
        r = self.result
        return "Regression(%s from %d inputs, R2 %.3f)" % (r["outcome"], len(r["inputs"]), r["check"]["r2"])

    def __getstate__(self) -> dict[str, Any]:
        return {k: self.__dict__[k] for k in ("_table", "_file", "_settings")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["_table"], state["_file"], state["_settings"])  # type: ignore[misc]

    def _fit(self) -> None:
        self._stop = c.c_int(0)
        o = options(_abi.RegressOptions)
        assign(o, **self._settings)
        o.stop = c.pointer(self._stop)
        if self._table is not None:
            self._check(lib.gpm_regression_read_text(self._handle, b"data", self._table, len(self._table), c.byref(o)))
        else:
            self._check(lib.gpm_regression_read(self._handle, self._file, c.byref(o)))
        self._check(self._work(lambda: lib.gpm_regression_run(self._handle)))
        self._result: dict[str, Any] = json.loads(self.report("json"))

    def _work(self, call: Callable[[], Any]) -> Any:
        """Runs a call of the library beside this thread; Ctrl-C ends it."""
        out: list[Any] = []
        self._stop.value = 0
        beside([lambda: out.append(call())], lambda: setattr(self._stop, "value", 1))
        return out[0]

    def _check(self, status: int) -> None:
        if status:
            why = lib.gpm_regression_error(self._handle).decode()
            raise GpmemValueError(why) if status in _USER else GpmemError(why)

    def _report(self, format: int) -> str:
        out = self._work(lambda: lib.gpm_regression_report(self._handle, format))
        if out is None:
            raise GpmemError(lib.gpm_regression_error(self._handle).decode())
        return out.decode()

    @property
    def result(self) -> dict[str, Any]:
        """Everything as a dictionary (that of `gpmem regress --json`)."""
        return self._result

    def summary(self) -> str:
        """What was found, in a few sentences."""
        return self._result["summary"]

    def report(self, format: str = "text") -> str:
        """The report as text, json, html, or the model as a program of the language."""
        number = _choice("format", _FORMATS, format)
        if number == _FORMATS["program"] and self._settings.get("kernel"):
            raise GpmemValueError("the program is that of the usual model; leave kernel out")
        lib.gpm_regression_forget(self._handle)
        return self._report(number)

    def predict(self, data: Any) -> Any:
        """Predictions of rows with the inputs' columns: mean, median, sd, lower and upper of the function, new_sd, new_lower and
        new_upper of a new measurement, and the inputs that lie outside of the data. A DataFrame gives a DataFrame with its index;
        a dictionary of columns, or the path of a CSV file, a dictionary of arrays. Where a value is missing there are NaN; so there are,
        with a warning, where a word is no level of the data (it is an error where every row has such a word)."""
        lib.gpm_regression_forget(self._handle)
        if _is_path(data):
            self._check(lib.gpm_regression_file(self._handle, path(data, "data")))
        else:
            table = _as_csv(_as_columns(data, "data"), "data")
            self._check(lib.gpm_regression_text(self._handle, b"data", table, len(table)))
        first = c.c_char_p()
        unseen = lib.gpm_regression_unseen(self._handle, c.byref(first))
        if unseen:
            warnings.warn("%d of the rows have no prediction: %s" % (unseen, (first.value or b"").decode()), RuntimeWarning, stacklevel=2)
        names, *rows = csv.reader(io.StringIO(self._report(_PREDICTIONS)))
        last = len(names) - len(_NUMBERS) - 1
        out: dict[str, Any] = {k: np.array([float(r[last + i]) if r[last + i] else np.nan for r in rows]) for i, k in enumerate(_NUMBERS)}
        out["outside"] = np.array([r[-1] for r in rows], dtype=object)
        return _frames.pandas().DataFrame(out, index=data.index) if hasattr(data, "columns") else out

    def inputs_frame(self) -> pandas.DataFrame:
        """The inputs as a DataFrame, what matters most first: share of the variation and change of the outcome, with intervals, and how."""
        inputs = self._result["inputs"]
        columns: dict[str, list[Any]] = {}
        for key in ("share", "change"):
            for i, end in enumerate(("", "_lower", "_upper")):
                columns[key + end] = [v[key][i] for v in inputs]
        columns["how"] = [v["shape"] for v in inputs]
        pd = _frames.pandas()
        return pd.DataFrame(columns, index=pd.Index([v["name"] for v in inputs], name="input"))

    def _repr_html_(self) -> str:
        rows = [(v["name"], v["share"][0], v["change"][0], v["shape"]) for v in self._result["inputs"]]
        return _shown.paragraph(self.summary()) + _shown.table(["input", "share", "change", "how"], rows)


def _with_outcome(data: Any, y: Any, x: Iterable[str] | None) -> tuple[dict[str, list[str]], str | None]:
    """The columns of a table and the name of its outcome; y: a name, or the values beside the inputs of data."""
    columns = _as_columns(data, "data")
    if x is not None:
        wanted = [str(k) for k in ([x] if isinstance(x, str) else x)]
        unknown = [k for k in wanted if k not in columns]
        if unknown:
            raise GpmemValueError("there is no column %r; columns are %s" % (unknown[0], ", ".join(columns)))
        keep = set(wanted) | ({y} if isinstance(y, str) else set() if y is not None else {list(columns)[-1]})
        columns = {k: v for k, v in columns.items() if k in keep}
    if y is None or isinstance(y, str):
        if isinstance(y, str) and y not in columns:
            raise GpmemValueError("there is no column %r; columns are %s" % (y, ", ".join(columns)))
        return columns, y
    name = str(getattr(y, "name", None) or "y")
    while name in columns:
        name += "_"
    columns[name] = _cells(y)
    if len({len(v) for v in columns.values()}) > 1:
        raise GpmemValueError("y has %d values, data %d rows" % (len(columns[name]), len(next(iter(columns.values())))))
    return columns, name


def regress(data: Any, y: Any = None, x: Any = None, seed: int = 1, threads: int = 0, level: float = 0.95, noise: str = "auto",
            kernel: str | None = None, max_rows: int = 0, decimal: str = "auto", missing: str | None = None,
            date_format: str | None = None, family: str = "auto", rough: bool = False) -> Regression:
    """Bayesian regression of a table: a DataFrame, a dictionary of columns, or the path of a CSV file.

    y            the outcome: name of a column (None: the last one of numbers), or values beside the inputs of data
    x            names of the inputs (None: all other columns); words with few levels, dates and numbers
    seed         the same seed gives the same answer
    threads      0: all cores, at most 8
    level        probability of the intervals
    noise        rows out of line: "auto" sets them aside where the evidence asks for it, "normal" never, "robust" wherever
                 they are improbable
    kernel       another covariance, in standardised units, such as "MAT52(sf=1, l=[2, 2])"; values are medians of priors
    max_rows     of the model, at most 8000; others test it. 0: 2000, of chances and counts 800
    decimal      of a file: "point", "comma" or "auto"
    missing      of a file: cells that stand for missing values ("-999,x")
    date_format  of dates that can be read in two ways: "%d/%m/%Y"
    family       what the outcome is: "normal" (numbers), "bernoulli" (the chance of the larger of two values), "poisson" or
                 "negative_binomial" (counts); "auto" takes two values for a chance, small whole numbers for counts where the
                 evidence says so
    rough        chains that explain the rows in different ways are an error (GpmemError), which says where they ended; True: no
                 error, result["settled"] is False, and summary() says so first

    Returns a Regression: predict(...), summary(), report(...), inputs_frame(), result. Ctrl-C ends the work.

    >>> a = [0.5 * i for i in range(20)]
    >>> r = regress({"a": a, "b": ["u", "v"] * 10, "y": [2 * v + 3 * (i % 2) for i, v in enumerate(a)]}, threads=1)
    >>> p = r.predict({"a": [3.3], "b": ["v"]})
    >>> abs(p["mean"][0] - 9.6) < 0.1
    True"""
    settings = dict(seed=seed, threads=threads, level=level, kernel=kernel, max_rows=max_rows, missing=missing, date_format=date_format,
                    rough=bool(rough), noise=_choice("noise", {"auto": 0, "normal": 1, "robust": 2}, noise),
                    family=_choice("family", {k: i for i, k in enumerate(_FAMILIES)}, family),
                    decimal=_choice("decimal", {"auto": 0, "point": 1, "comma": 2}, decimal))
    if _is_path(data):
        if y is not None and not isinstance(y, str):
            raise GpmemValueError("of a file, y is the name of a column")
        names = x if x is None or isinstance(x, str) else ",".join(str(k) for k in x)
        return Regression(None, path(data, "data"), dict(settings, y=y, x=names))
    columns, name = _with_outcome(data, y, x)
    return Regression(_as_csv(columns, "data"), None, dict(settings, y=name, decimal=1))
