# SPDX-License-Identifier: Apache-2.0
"""discover: the structure of a time series."""
from __future__ import annotations

import csv
import ctypes as c
import io
import json
import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _abi, _frames, _shown
from ._library import GpmemError, GpmemValueError, assign, beside, lib, mapping, options, path, real, text, whole

if TYPE_CHECKING:
    import pandas

_FORMATS = {"text": 0, "json": 1, "markdown": 2, "html": 3, "program": 4}


def _choice(name: str, known: Mapping[str, Any], given: str) -> Any:
    """The number of a word, or an error that lists the words."""
    if given not in known:
        raise GpmemValueError("%s is one of %s, not %r" % (name, ", ".join(known), given))
    return known[given]


def _columns(text_of_csv: str) -> dict[str, np.ndarray]:
    """{name: array}: of numbers where they are."""
    names, *rows = csv.reader(io.StringIO(text_of_csv))
    columns = {}
    for i, name in enumerate(names):
        column = [row[i] for row in rows]
        try:
            columns[name] = np.array(column, dtype=float)
        except ValueError:  # dates
            columns[name] = np.array(column)
    return columns


def _column_names(X):
    """Names of the columns of a dictionary or a DataFrame."""
    return [str(k) for k in (X.columns if hasattr(X, "columns") else X)]


def _csv(columns):
    """Columns of one length as CSV."""
    if len({len(v) for v in columns.values()}) != 1:
        raise GpmemValueError("columns differ in length: %s" % ", ".join("%s has %d" % (k, len(v)) for k, v in columns.items()))
    out = io.StringIO()
    rows = zip(*(v.tolist() if isinstance(v, np.ndarray) else v for v in columns.values()))
    csv.writer(out, lineterminator="\n").writerows([list(columns), *rows])
    return text(out.getvalue(), "X")


def _call(function, handle, *arguments, options):
    """Runs the learner, with its options last; Ctrl-C ends it. Returns the status."""
    status: list[int] = []
    stop = c.c_int(0)
    options[0].stop = c.pointer(stop)
    beside([lambda: status.append(function(handle, *arguments, *[c.byref(o) for o in options]))], lambda: setattr(stop, "value", 1))
    return status[0]


class Discovery:
    """The posterior over structures of one series, with its forecasts, answers and reports."""

    def __init__(self) -> None:
        self._handle = lib.gpm_discover_new()
        self._panel: Panel | None = None  # that the run belongs to
        self._times: _frames.Times | None = None  # those of the data, where they came as an index of pandas

    def __del__(self):
        if getattr(self, "_handle", None) and self._panel is None:
            lib.gpm_discover_free(self._handle)

    def __getstate__(self) -> dict[str, Any]:
        """What save writes; a member of a panel stands for itself then."""
        with tempfile.TemporaryDirectory() as folder:
            run = os.path.join(folder, "run")
            self.save(run)
            files = {}
            for at, _, names in os.walk(run):
                for name in names:
                    with open(os.path.join(at, name), "rb") as f:
                        files[os.path.relpath(os.path.join(at, name), run)] = f.read()
        return {"files": files, "times": self._times}

    def __setstate__(self, state: dict[str, Any]) -> None:
        Discovery.__init__(self)
        with tempfile.TemporaryDirectory() as folder:
            for name, data in state["files"].items():
                file = os.path.join(folder, name)
                os.makedirs(os.path.dirname(file), exist_ok=True)
                with open(file, "wb") as f:
                    f.write(data)
            self._check(lib.gpm_discover_open(self._handle, path(folder, "folder")))
        self._times = state["times"]

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> Discovery:
        """The run that save, or `gpmem discover --out`, kept in a folder.

        >>> import os, tempfile
        >>> folder = os.path.join(tempfile.mkdtemp(), "run")
        >>> discover(range(20), threads=1).save(folder)
        >>> [round(float(v)) for v in Discovery.load(folder).forecast(2)["median"]]
        [20, 21]"""
        d = cls()
        d._check(lib.gpm_discover_open(d._handle, path(folder, "folder")))
        return d

    def __repr__(self) -> str:
        best = self.structures[:1]
        return "Discovery(%s)" % ("%s with probability %.2f" % best[0] if best else "no structure")

    def _run(self, function, *arguments, options):
        self._check(_call(function, self._handle, *arguments, options=[options]))

    def _check(self, status):
        if status:
            raise GpmemError(lib.gpm_discover_error(self._handle).decode())

    @property
    def settled(self) -> bool:
        """Whether the posterior has settled."""
        return lib.gpm_discover_settled(self._handle)

    @property
    def result(self) -> dict[str, Any]:
        """Everything as a dictionary (that of `gpmem discover --json`)."""
        return json.loads(self.report("json"))

    @property
    def structures(self) -> list[tuple[str, float]]:
        """[(structure, probability)], the most probable first."""
        return [(s["struct"], s["probability"]) for s in self.result["structures"]]

    @property
    def changes(self) -> list[dict[str, Any]]:
        """The changes that the most probable structure dates, in the order of time: `kind` (level, slope, noise, start, end), `x`,
        `interval`, `at` (the number of the value, from 1), `probability`, `size` and more (docs/discover-results.md).

        >>> d = discover([float((i * 7) % 5) + 40 * (i >= 30) for i in range(60)], threads=1)
        >>> [(c["kind"], c["at"]) for c in d.changes]
        [('level', 31)]
        """
        return self.result["changes"]

    def report(self, format: str = "text") -> str:
        """The report as text, markdown, html, json, or the program that was run."""
        return lib.gpm_discover_report(self._handle, _choice("format", _FORMATS, format)).decode()

    def picture(self, *names: str) -> _shown.Picture:
        """Data with forecast and the components as an SVG picture; names ("forecast", "SE*PER") choose."""
        array = (c.c_char_p * max(len(names), 1))(*[text(n, "a name") for n in names])
        out, o = c.c_char_p(), options(_abi.PlotOptions)
        self._check(lib.gpm_discover_plot(self._handle, array, len(names), c.byref(o), c.byref(out)))
        return _shown.Picture((out.value or b"").decode())

    def _repr_html_(self) -> str:
        rows = [(s, p) for s, p in self.structures[:6]]
        verdict = "" if self.settled else "The posterior has not settled."
        return _shown.table(["structure", "probability"], rows) + _shown.paragraph(verdict) + self.picture("forecast").image()

    def query(self, question: str) -> tuple[float, float]:
        """Probability that the structure has a property, such as "SE*PER & !LIN": (probability, error)."""
        a = _abi.Answer()
        self._check(lib.gpm_discover_query(self._handle, text(question, "question"), c.byref(a)))
        return a.probability, a.error

    def forecast(self, horizon: int | None = None, times: Iterable[Any] | None = None,
                 level: float = 0.95) -> dict[str, np.ndarray]:
        """{"x", "median", "lo", "hi"}: the next `horizon` steps, or the given times."""
        given = [text(str(t), "a time") for t in times] if times is not None else []
        array = (c.c_char_p * max(len(given), 1))(*given)
        out = c.c_char_p()
        horizon = whole(horizon or 0, "horizon", 0, 10**9)
        level = real(level, "level")
        self._check(lib.gpm_discover_forecast(self._handle, horizon, array, len(given), level, c.byref(out)))
        return _columns((out.value or b"").decode())

    def forecast_with(self, times: Iterable[Any], X: Mapping[str, Any] | pandas.DataFrame,
                      level: float = 0.95) -> dict[str, np.ndarray]:
        """The forecast at times whose regressors are X: a dictionary (or DataFrame) of columns by name."""
        table = _csv({"x": [str(t) for t in times], **{k: _frames.numbers(X[k], k) for k in _column_names(X)}})
        out = c.c_char_p()
        self._check(lib.gpm_discover_forecast_text(self._handle, b"X", table, len(table), real(level, "level"), c.byref(out)))
        return _columns((out.value or b"").decode())

    def forecast_frame(self, horizon: int | None = None, times: Any = None, level: float = 0.95) -> pandas.DataFrame:
        """The forecast as a DataFrame (median, lo, hi) with an index like that of the series."""
        index = times
        if self._times is not None and times is None:
            index = self._times.after(whole(horizon or 0, "horizon", 1, 10**6))
        given = None if index is None else _frames.as_texts(index, self._times)
        f = self.forecast(horizon, given, level)
        return _frames.pandas().DataFrame({k: f[k] for k in ("median", "lo", "hi")},
                                          index=_frames.index_of(f["x"] if index is None else index))

    def components_frame(self) -> pandas.DataFrame:
        """The components of the most probable structure as a DataFrame: a column each, with mean and sd below it, over
        the data and the forecast of the report. On the scale of the model: logarithms, where these are modelled."""
        d = self.result["decomposition"]
        columns: dict[tuple[str, str], list[float]] = {}
        seen: dict[str, int] = {}
        for part in d["parts"]:
            n = seen[part["struct"]] = seen.get(part["struct"], 0) + 1  # SE + SE: the second one is SE.2
            name = part["struct"] if n == 1 else "%s.%d" % (part["struct"], n)
            columns[name, "mean"], columns[name, "sd"] = part["mean"], part["sd"]
        return _frames.pandas().DataFrame(columns, index=_frames.index_of(d["x"]))

    def probabilities_frame(self, of: str = "structures") -> pandas.DataFrame:
        """Probabilities and errors of structures, components or motifs as a DataFrame."""
        key = {"structures": "struct", "components": "struct", "motifs": "motif"}
        _choice("of", {k: k for k in key}, of)
        rows = self.result[of]
        return _frames.pandas().DataFrame({"probability": [r["probability"] for r in rows], "error": [r["error"] for r in rows]},
                                          index=_frames.pandas().Index([r[key[of]] for r in rows], name=of[:-1]))

    def add(self, times: Iterable[Any], y: Any, X: Mapping[str, Any] | pandas.DataFrame | None = None) -> Discovery:
        """Values that follow: forecasts are of all from here on, and structures and parameters stay as they were learnt.
        X: regressors at these times, by name. Such a Discovery is neither saved nor continued; gives self.

        >>> d = discover([float(i % 4) for i in range(24)], threads=1)
        >>> len(d.add([24, 25], [0.0, 1.0]).forecast(horizon=1)["x"])
        1"""
        X = X if X is not None else {}
        table = _csv({"x": [str(t) for t in times], "y": _frames.numbers(y, "y"), **{k: _frames.numbers(X[k], k) for k in _column_names(X)}})
        self._check(lib.gpm_discover_add(self._handle, b"y", table, len(table)))
        self.__dict__.pop("result", None)
        return self

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Keeps the run for `gpmem query`, `gpmem forecast` and `gpmem report`.

        >>> import os, tempfile
        >>> folder = os.path.join(tempfile.mkdtemp(), "run")
        >>> discover(range(20), threads=1).save(folder)
        >>> "manifest.json" in os.listdir(folder)
        True"""
        self._check(lib.gpm_discover_save(self._handle, path(folder, "folder")))


def _time_texts(t, name):
    """Times of numpy as the library reads them."""
    if np.isnat(t).any():
        raise GpmemValueError("%s[%d] is no time" % (name, np.flatnonzero(np.isnat(t))[0]))
    days = t.astype("datetime64[D]")
    return np.datetime_as_string(days if (days == t).all() else t)


def _events(y, time, column, take):
    """The times of rows that are to be counted, as CSV; None: y has values."""
    if isinstance(y, (str, os.PathLike)) or take not in ("auto", "count"):
        return None
    if _frames.is_frame(y):
        y = _frames.times_of(y, time, take == "count" and column is None)
    elif _frames.is_series(y) or _frames.is_index(y):
        y = _frames.plain_times(y)
    y = None if y is None else np.asarray(y)
    return None if y is None or y.dtype.kind != "M" else _csv({"time": _time_texts(y, "y")})


def _table(y, t, X=None):
    """The series as CSV; times as the library reads them; regressors beside it."""
    y = _frames.numbers(y, "y")
    t = np.arange(len(y)) if t is None and y.ndim else np.asarray(t)
    if y.ndim != 1 or t.shape != y.shape:
        raise GpmemValueError("y and t must be one-dimensional and of the same length")
    if np.isinf(y).any():
        raise GpmemValueError("y must hold finite numbers, and nan where one is missing; y[%d] is infinite"
                              % np.flatnonzero(np.isinf(y))[0])
    if t.dtype.kind == "f" and not np.isfinite(t).all():
        raise GpmemValueError("t must hold finite numbers; t[%d] is not" % np.flatnonzero(~np.isfinite(t))[0])
    if t.dtype.kind == "M":
        t = _time_texts(t, "t")
    if X is None:
        return _csv({"x": t, "y": y})
    names = _column_names(X)
    if {"x", "y"} & set(names) or any("," in n for n in names):
        raise GpmemValueError("columns of X are not called x or y, and have no comma in their names")
    return _csv({"x": t, "y": y, **{k: _frames.numbers(X[k], k) for k in names}})


def _column(name):
    """A column by its name, or by its number from 1."""
    return str(name) if isinstance(name, int) and not isinstance(name, bool) else name


def _take(name):
    return _choice("take", {w: i for i, w in enumerate(("auto", "mean", "total", "count", "median", "last", "min", "max"))}, name)


def _settings(log, decimal, time, column, precision="normal", **given):
    """Options of the library."""
    o = options(_abi.DiscoverOptions)
    assign(o, time_column=_column(time), value_column=_column(column), decimal=_choice("decimal", {"auto": 0, "point": 1, "comma": 2}, decimal),
           log=_choice("log", {"auto": 0, "never": 1, "always": 2}, log),
           precision=_choice("precision", {"normal": 0, "low": 1, "high": 2}, precision), **given)
    return o


def discover(y: Any, t: Any = None, seed: int = 1, threads: int = 0, kernels: str | None = None, changepoints: bool = False,
             log: str = "auto", level: float = 0.95, holdout: float = 0, max_points: int = 0, max_seconds: float = 0,
             backtest: int = 0, horizon: int = 0, time: str | int | None = None, column: str | int | None = None,
             date_format: str | None = None, decimal: str = "auto", missing: str | None = None, skip_bad: bool = False,
             every: str | None = None, X: Mapping[str, Any] | pandas.DataFrame | None = None, smooth: str | None = None,
             with_columns: str | None = None, least: float | None = None, most: float | None = None,
             per_day: bool = False, holidays: str | None = None, take: str = "auto", precision: str = "normal") -> Discovery:
    """Finds the structure of a series: values y at times t (None: 0, 1, 2, ...), a Series of pandas with its index, a
    DataFrame with a column (or an index) of times and one of values, or the path of a CSV file. Where y holds times alone
    (dates of numpy or pandas), or the file does, the rows of each step are counted.

    seed          of the search: the same seed gives the same answer
    threads       0: as many as there are cores
    kernels       base kernels as text (default "LIN SE PER MAT12 WIENER IOU IWIENER WN"; also RQ, MAT32)
    changepoints  also look for change points, windows, ramps and steps
    log           model the logarithm: "auto", "never" or "always"
    level         probability of the intervals in reports
    holdout       kept aside at the end to score the forecast: a share below 1, or a number of values
    backtest      origins of a backtest beside simple forecasts, horizon steps each
    horizon       forecast steps in reports (0: a tenth of the data)
    max_points    use the most recent ones alone (0: all)
    every         means over this step: "10min", "1h", "1d", a number; "none": every value (None: above 2000 values)
    take          what is made of the rows of a step, or of one time: "mean", "total" (of sales), "count" (of events),
                  "median", "last", "min", "max"
    max_seconds   stop after this time (0: no limit)
    precision     of the probabilities: "low" takes a fifth of the work, "high" takes more than "normal"
    time, column  of a file or a DataFrame: its columns of times and values
    date_format   of a file: how times are written ("%d/%m/%Y", "unix-ms", "number"; None: found)
    decimal       of a file: "point", "comma" or "auto"
    missing       of a file: cells that stand for missing values ("-999,x")
    skip_bad      of a file: skip rows that cannot be read
    X             other columns that act on y, a dictionary or DataFrame: linear effects, unless
    smooth        ... these names ("temp,rain") have smooth ones
    with_columns  of a file: names of columns with linear effects
    per_day       totals of months or quarters as means of a day of theirs: months differ in length
    holidays      a file of days with names, also to come: each name has an effect
    least, most   what values can be: forecasts do not lie beyond (None: no such end)

    Returns a Discovery: structures, query(...), forecast(...), report(...), save(...). Ctrl-C ends the search.

    >>> import math
    >>> d = discover([10 + math.sin(2 * math.pi * i / 12) for i in range(60)], threads=1)
    >>> d.query("recurring_pattern")[0] > 0.9
    True
    >>> abs(d.forecast(horizon=3)["median"][2] - 10 - math.sin(2 * math.pi * 62 / 12)) < 0.1
    True"""
    o = _settings(log, decimal, time, column, seed=seed, threads=threads, changepoints=changepoints, holdout=holdout, level=level,
                  max_points=max_points, max_seconds=max_seconds, kernels=kernels, backtest=backtest, horizon=horizon,
                  date_format=date_format, missing=missing, skip_bad=skip_bad, every=every, take=_take(take),
                  precision=precision)
    assign(o, holidays=holidays, per_day=per_day, least=None if least is None else repr(float(least)), most=None if most is None else repr(float(most)))
    if X is not None:
        names = _column_names(X)
        bent = [n for n in (smooth or "").split(",") if n]
        if set(bent) - set(names):
            raise GpmemValueError("smooth names columns that X has not: %s" % ", ".join(sorted(set(bent) - set(names))))
        with_columns = ",".join(n for n in names if n not in bent) or None
        assign(o, value_column="y", time_column="x")
    assign(o, with_columns=with_columns, smooth_columns=smooth)
    d = Discovery()
    events = _events(y, time, column, take)
    if events is not None:
        if t is not None or X is not None:
            raise GpmemValueError("y holds times alone, whose rows are counted: neither t nor X goes with that")
        assign(o, time_column=None, value_column=None)
        d._run(lib.gpm_discover_run_text, b"y", events, len(events), options=o)
        return d
    if _frames.is_frame(y):
        if t is not None or X is not None or with_columns or smooth:
            raise GpmemValueError("of a DataFrame one column is taken; give columns that act on it as X, beside y as a Series")
        y = _frames.series_of(y, time, column)
        assign(o, time_column=None, value_column=None)
    if isinstance(y, (str, os.PathLike)):
        if X is not None:
            raise GpmemValueError("X goes with values; the columns of a file are named by with_columns and smooth")
        d._run(lib.gpm_discover_run, path(y, "y"), options=o)
    else:
        if t is None and _frames.is_series(y):
            d._times = _frames.Times(y.index)
            y, t = _frames.numbers(y, "y"), d._times.values
        table = _table(y, t, X)
        d._run(lib.gpm_discover_run_text, b"y", table, len(table), options=o)
        if d._times is not None and "taken" in d.result["data"]:
            d._times = None  # steps have times of their own
    return d


def check_data(y: Any, t: Any = None, format: str = "text", time: str | int | None = None, column: str | int | None = None,
               date_format: str | None = None, decimal: str = "auto", missing: str | None = None, skip_bad: bool = False,
               every: str | None = None, take: str = "auto", least: float | None = None, most: float | None = None) -> str:
    """What the values of a series show of errors in their table, without a search: codes for missing values, a unit that changed,
    a counter, a sensor that stuck, values that end where a scale does. y and t, and how a file is read, as in discover.

    format  "text", or "json" with the numbers of the values and their times

    >>> print(check_data([-999 if i in (5, 6, 30) else 20 + 7 * i % 11 for i in range(60)]).split(chr(10))[-1][:33])
    1. 3 of 60 values are -999, far f"""
    o = _settings("auto", decimal, time, column, date_format=date_format, missing=missing, skip_bad=skip_bad, every=every, take=_take(take))
    assign(o, least=None if least is None else repr(float(least)), most=None if most is None else repr(float(most)))
    d, report = Discovery(), c.c_char_p()
    json = _choice("format", {"text": False, "json": True}, format)
    with tempfile.TemporaryDirectory() as folder:
        file = y
        if not isinstance(y, (str, os.PathLike)):
            if _frames.is_frame(y):
                y = _frames.series_of(y, time, column)
            if t is None and _frames.is_series(y):
                y, t = _frames.numbers(y, "y"), _frames.Times(y.index).values
            assign(o, time_column=None, value_column=None)
            file = os.path.join(folder, "y")
            with open(file, "wb") as f:
                f.write(_table(y, t))
        d._check(lib.gpm_discover_check(d._handle, path(file, "y"), c.byref(o), None, json, c.byref(report)))
    return (report.value or b"").decode().strip()


class Panel(Mapping[str, Discovery]):
    """The runs of several series by their names: panel["north"].forecast(12). Series without a run are in `errors`."""

    def __init__(self) -> None:
        self._handle = lib.gpm_panel_new()
        self._runs: dict[str, Discovery] = {}
        self.errors: dict[str, str] = {}

    def __del__(self):
        lib.gpm_panel_free(self._handle)

    def __reduce__(self):
        raise TypeError("a Panel cannot be copied or pickled; its series can: dict(panel)")

    def __getitem__(self, name: str) -> Discovery:
        return self._runs[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._runs)

    def __len__(self) -> int:
        return len(self._runs)

    def __repr__(self) -> str:
        return "Panel(%d series%s)" % (len(self), ", %d without a run" % len(self.errors) if self.errors else "")

    def _run(self, file, options):
        if _call(lib.gpm_panel_run, self._handle, path(file, "data"), options=options):
            raise GpmemError(lib.gpm_panel_error(self._handle).decode())
        for i in range(lib.gpm_panel_size(self._handle)):
            name, why = lib.gpm_panel_key(self._handle, i).decode(), c.c_char_p()
            handle = lib.gpm_panel_member(self._handle, i, c.byref(why))
            if not handle:
                self.errors[name] = (why.value or b"").decode()
                continue
            d = Discovery.__new__(Discovery)
            d._handle, d._panel, d._times = handle, self, None
            self._runs[name] = d

    @property
    def result(self) -> dict[str, Any]:
        """Everything as a dictionary (that of `gpmem discover --by COLUMN --json`)."""
        return json.loads(self.report("json"))

    def report(self, format: str = "text") -> str:
        """The table of all series as text or json; a page with all of them as html."""
        return lib.gpm_panel_report(self._handle, _choice("format", {k: _FORMATS[k] for k in ("text", "json", "html")}, format)).decode()

    def forecast_frame(self, horizon: int, level: float = 0.95) -> pandas.DataFrame:
        """The forecasts of all series below each other as a DataFrame (median, lo, hi), by series and time."""
        frames = {name: d.forecast_frame(horizon, level=level) for name, d in self.items()}
        return _frames.pandas().concat(frames, names=["series", "time"])


def _written(data, by, time, folder):
    """A DataFrame, or a dictionary of columns, as a CSV file for the library."""
    file = os.path.join(folder, "panel.csv")
    if hasattr(data, "to_csv"):
        index = time is None
        data.to_csv(file, index=index, index_label="time" if index else None)
    else:
        with open(file, "wb") as f:
            f.write(_csv({k: np.asarray(v) for k, v in mapping(data, "data").items()}))
    return file


def discover_panel(data: Any, by: str | None = None, independent: bool = False, seed: int = 1, threads: int = 0,
                   kernels: str | None = None, changepoints: bool = False, log: str = "auto", level: float = 0.95,
                   max_seconds: float = 0, horizon: int = 0, time: str | int | None = None, column: str | int | None = None,
                   date_format: str | None = None, decimal: str = "auto", missing: str | None = None, skip_bad: bool = False,
                   holidays: str | None = None, every: str | None = None, take: str = "auto",
                   precision: str = "normal") -> Panel:
    """Finds the structures of several series, which share what they tell about hyper-parameters.

    data         the path of a CSV file, a DataFrame, or a dictionary of columns
    by           the column that tells series apart; None: every column but that of times is a series
    independent  nothing is shared
    time         the column of times; None: of a DataFrame its index, else by the usual names

    The other parameters as in discover. Returns a Panel: a mapping from names to Discovery, with report() and
    forecast_frame(horizon).

    >>> import math
    >>> months = ["20%02d-%02d" % (10 + i // 12, i % 12 + 1) for i in range(36)]
    >>> p = discover_panel({"date": months, "a": [math.sin(i) for i in range(36)], "b": [i % 5 for i in range(36)]}, threads=1, kernels="LIN PER")
    >>> sorted(p), p["a"].forecast(horizon=2)["x"].tolist()
    (['a', 'b'], ['2013-01', '2013-02'])"""
    o = _settings(log, decimal, time, column, seed=seed, threads=threads, changepoints=changepoints, level=level, max_seconds=max_seconds,
                  kernels=kernels, horizon=horizon, date_format=date_format, missing=missing, skip_bad=skip_bad, holidays=holidays,
                  every=every, take=_take(take), precision=precision)
    how = options(_abi.PanelOptions)
    assign(how, by=by, independent=independent)
    p = Panel()
    if isinstance(data, (str, os.PathLike)):
        p._run(data, [o, how])
        return p
    with tempfile.TemporaryDirectory() as folder:
        p._run(_written(data, by, time, folder), [o, how])
    return p
