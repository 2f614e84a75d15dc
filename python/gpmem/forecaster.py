# SPDX-License-Identifier: Apache-2.0
"""Forecaster: the structure learner with the methods and conventions of sktime's forecasters. sktime itself is not needed."""
from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _frames
from ._library import GpmemError, GpmemValueError
from .structure import discover


if TYPE_CHECKING:
    import pandas


class NotFittedError(GpmemError):
    """predict before fit."""


class Forecaster:
    """fit(y), predict(fh), predict_interval(fh, coverage=), predict_quantiles(fh, alpha=); y is a Series of pandas (or an
    array), fh steps ahead (3, [1, 2, 3]) or times of the same kind as the index of y. Parameters are those of discover.

    >>> f = Forecaster(threads=1).fit([float(i) for i in range(30)])
    >>> abs(f.predict([1, 2])[1] - 31) < 0.5
    True"""

    def __init__(self, kernels: str | None = None, changepoints: bool = False, log: str = "auto", seed: int = 1, threads: int = 0,
                 max_points: int = 0, max_seconds: float = 0, smooth: str | None = None) -> None:
        self.kernels = kernels
        self.changepoints = changepoints
        self.log = log
        self.seed = seed
        self.threads = threads
        self.max_points = max_points
        self.max_seconds = max_seconds
        self.smooth = smooth  # names of columns of X with smooth effects: "temp,rain"

    # -- parameters, as scikit-learn and sktime ask for them --
    @classmethod
    def _names(cls):
        return [p for p in inspect.signature(cls.__init__).parameters if p != "self"]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters as a dictionary."""
        return {name: getattr(self, name) for name in self._names()}

    def set_params(self, **params: Any) -> Forecaster:
        """Sets parameters by name; gives self."""
        for name, v in params.items():
            if name not in self._names():
                raise GpmemValueError("Forecaster has no parameter %r; it has %s" % (name, ", ".join(self._names())))
            setattr(self, name, v)
        return self

    def clone(self) -> Forecaster:
        """A new one with the same parameters, not fitted."""
        return type(self)(**self.get_params())

    def __repr__(self) -> str:
        first = inspect.signature(type(self).__init__).parameters
        own = ["%s=%r" % (k, v) for k, v in self.get_params().items() if v != first[k].default]
        return "Forecaster(%s)" % ", ".join(own)

    # -- fitting --
    @property
    def is_fitted(self) -> bool:
        """Whether fit has been called."""
        return hasattr(self, "discovery_")

    @property
    def cutoff(self) -> Any:
        """The last time of the series that was fitted."""
        self._check_fitted()
        return self._index.max()

    @property
    def fh(self) -> Any:
        """The horizon that was given last."""
        return getattr(self, "_fh", None)

    def _check_fitted(self):
        if not self.is_fitted:
            raise NotFittedError("this Forecaster has not been fitted yet; call fit(y) first")

    def fit(self, y: Any, X: Any = None, fh: Any = None) -> Forecaster:
        """Learns the structure of y, with the effects of the columns of X; discovery_ is the Discovery."""
        pd = _frames.pandas()
        if isinstance(y, pd.DataFrame):
            if y.shape[1] != 1:
                raise GpmemValueError("y has %d columns; fit one Forecaster to each" % y.shape[1])
            y = y.iloc[:, 0]
        self._pandas = isinstance(y, pd.Series)
        series = y if self._pandas else pd.Series(_frames.numbers(y, "y"))
        self._index, self._name = series.index, series.name
        self._times = _frames.Times(series.index)
        self._y = series
        self._columns: list[Any] | None = None
        if X is not None:
            X = self._frame_of(X, len(series))
            if not X.index.equals(series.index):
                X = X.reindex(series.index)
            self._columns = list(X.columns)
        self._X = X
        self.discovery_ = discover(series, X=X, **self.get_params())
        if fh is not None:
            self._fh = fh
        return self

    @staticmethod
    def _frame_of(X, n):
        pd = _frames.pandas()
        if isinstance(X, pd.Series):
            X = X.to_frame(X.name or "x1")
        elif not isinstance(X, pd.DataFrame):
            X = np.asarray(X, dtype=float).reshape(n, -1)
            X = pd.DataFrame(X, columns=["x%d" % (k + 1) for k in range(X.shape[1])])
        return X

    def update(self, y: Any, X: Any = None, update_params: bool = True) -> Forecaster:
        """Adds values that follow. The structure is learned anew from all; with update_params False it and its parameters stay,
        and forecasts are of all values, which then must come after those that there are."""
        self._check_fitted()
        pd = _frames.pandas()
        new = y if isinstance(y, pd.Series) else pd.Series(_frames.numbers(y, "y"), index=self._times.after(len(y)))
        old = ~self._y.index.isin(new.index)
        whole, given = pd.concat([self._y[old], new]), X
        if self._X is not None:
            given = self._frame_of(X, len(new)).set_axis(new.index)
            X = pd.concat([self._X[old], given])
        if update_params:
            was = self._pandas, self._name
            self.fit(whole, X=X)
            self._pandas, self._name = was
            return self
        if not old.all():
            raise GpmemValueError("update_params=False takes values that follow; %s is there already" % (self._y.index[~old][0],))
        if len(new):
            self.discovery_.add(_frames.as_texts(new.index, self._times), new, given)
        self._y, self._X, self._index, self._times = whole, X, whole.index, _frames.Times(whole.index)
        return self

    def _steps(self, fh):
        """(index of the answers, times to ask for): fh as steps, as times, or as a ForecastingHorizon of sktime."""
        self._check_fitted()
        fh = self.fh if fh is None else fh
        if fh is None:
            raise GpmemValueError("fh is needed: steps ahead such as [1, 2, 3], or times")
        self._fh = fh
        pd = _frames.pandas()
        relative = getattr(fh, "is_relative", None)
        if relative is not None:
            fh = fh.to_pandas()
        at = pd.Index([fh] if np.isscalar(fh) else fh)
        if relative is False or (relative is None and at.dtype.kind not in "iu"):
            return at, at
        steps = at.to_numpy()
        if (steps < 1).any():
            raise GpmemValueError("fh counts steps after the last value, from 1 on; in-sample steps are in components_frame()")
        after = self._times.after(int(steps.max()))
        return (None, steps) if after is None else (after[steps - 1], after[steps - 1])

    def _forecast(self, fh, level, X):
        index, at = self._steps(fh)
        d = self.discovery_
        if self._columns is not None:
            return index, self._forecast_with(index, level, X)
        if index is None:  # irregular times: steps of their median length
            f = d.forecast(int(at.max()), level=level)
            f = {k: v[at - 1] for k, v in f.items()}
            return _frames.index_of(f["x"]), f
        return index, d.forecast(times=_frames.as_texts(at, self._times), level=level)

    def _forecast_with(self, index, level, X):
        """With regressors: X has a row for each answer, or rows by their times."""
        named = ", ".join(map(str, self._columns or ()))
        if X is None or index is None:
            raise GpmemValueError("fit had columns %s: predict needs their values to come as X, and regular times" % named)
        X = self._frame_of(X, len(index))
        if set(index) <= set(X.index):
            X = X.loc[index]
        if len(X) != len(index) or list(X.columns) != self._columns:
            raise GpmemValueError("X needs the columns %s and a row for each of %d answers" % (named, len(index)))
        return self.discovery_.forecast_with(_frames.as_texts(index, self._times), X, level)

    # -- forecasts --
    def predict(self, fh: Any = None, X: Any = None) -> pandas.Series | np.ndarray:
        """The median of the forecast: a Series, or an array where fit had one."""
        index, f = self._forecast(fh, 0.95, X)
        return _frames.pandas().Series(f["median"], index=index, name=self._name) if self._pandas else f["median"]

    def fit_predict(self, y: Any, X: Any = None, fh: Any = None) -> pandas.Series | np.ndarray:
        """fit(y), then predict(fh)."""
        return self.fit(y, X=X, fh=fh).predict()

    def _frame(self, columns, index):
        return _frames.pandas().DataFrame(columns, index=index)

    def predict_interval(self, fh: Any = None, X: Any = None, coverage: Any = 0.9) -> pandas.DataFrame:
        """Intervals: a DataFrame with columns (name, coverage, "lower" or "upper")."""
        columns, name = {}, self._label()
        for c in [coverage] if np.isscalar(coverage) else coverage:
            index, f = self._forecast(fh, c, X)
            columns[name, c, "lower"], columns[name, c, "upper"] = f["lo"], f["hi"]
        return self._frame(columns, index)

    def predict_quantiles(self, fh: Any = None, X: Any = None, alpha: Any = None) -> pandas.DataFrame:
        """Quantiles: a DataFrame with columns (name, alpha)."""
        columns, name = {}, self._label()
        if alpha is None:
            alpha = [0.05, 0.95]
        for a in [alpha] if np.isscalar(alpha) else alpha:
            if not 0 < a < 1:
                raise GpmemValueError("alpha lies between 0 and 1, got %r" % (a,))
            index, f = self._forecast(fh, abs(1 - 2 * a) if a != 0.5 else 0.5, X)
            columns[name, a] = f["median" if a == 0.5 else "lo" if a < 0.5 else "hi"]
        return self._frame(columns, index)

    def _label(self):
        return 0 if self._name is None else self._name
