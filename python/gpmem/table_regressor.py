# SPDX-License-Identifier: Apache-2.0
"""TableRegressor and TableClassifier: regress as estimators with scikit-learn's conventions."""
from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from ._library import GpmemValueError
from .table import Regression, regress


def _columns(X: Any) -> Any:
    """X as columns with names: a DataFrame or dictionary as it is, an array with x0, x1, ..."""
    if hasattr(X, "columns") or isinstance(X, dict):
        return X
    a = np.asarray(X)
    if a.ndim != 2:
        raise GpmemValueError("X must have rows and columns; reshape(-1, 1) makes one column of values")
    return {"x%d" % j: a[:, j] for j in range(a.shape[1])}


class _Table(BaseEstimator):
    """What both estimators have."""

    def __init__(self, kernel: str | None = None, level: float = 0.95, max_rows: int = 0, threads: int = 0, random_state: int = 1,
                 rough: bool = False) -> None:
        self.kernel = kernel
        self.level = level
        self.max_rows = max_rows
        self.threads = threads
        self.random_state = random_state
        self.rough = rough

    def _fit(self, X: Any, y: Any, **settings: Any) -> None:
        columns = _columns(X)
        self.n_features_in_ = len(columns.columns if hasattr(columns, "columns") else columns)
        if hasattr(columns, "columns"):
            self.feature_names_in_ = np.array([str(k) for k in columns.columns], dtype=object)
        self.regression_: Regression = regress(columns, y=y, seed=self.random_state, threads=self.threads, level=self.level,
                                               kernel=self.kernel, max_rows=self.max_rows, rough=self.rough, **settings)

    def summary(self) -> str:
        """What was found, in a few sentences."""
        check_is_fitted(self)
        return self.regression_.summary()


class TableRegressor(RegressorMixin, _Table):
    """Bayesian regression of a table as an estimator: arrays or DataFrames with words and dates in, missing values allowed
    (rows without a value are skipped, and predicted as NaN).

    noise, family, kernel, level, max_rows, threads, rough: those of `regress`; random_state its seed.

    After fit: regression_ (a Regression with summary, report and result), n_features_in_.

    >>> import numpy as np
    >>> X = np.linspace(0, 6, 40)[:, None]
    >>> m = TableRegressor(threads=1).fit(X, np.sin(X[:, 0]) + 0.1 * np.cos(40 * X[:, 0]))
    >>> mean, sd = m.predict([[1.5]], return_std=True)
    >>> abs(mean[0] - np.sin(1.5)) < 0.1
    True"""

    def __init__(self, noise: str = "auto", kernel: str | None = None, level: float = 0.95, max_rows: int = 0, threads: int = 0,
                 random_state: int = 1, family: str = "auto", rough: bool = False) -> None:
        super().__init__(kernel, level, max_rows, threads, random_state, rough)
        self.noise = noise
        self.family = family

    def fit(self, X: Any, y: Any) -> TableRegressor:
        """Fits to rows X and outcomes y."""
        self._fit(X, np.asarray(y, dtype=float), noise=self.noise, family=self.family)
        return self

    def predict(self, X: Any, return_std: bool = False, measured: bool = False) -> Any:
        """The mean at the rows of X; with it the standard deviation of the function, or of new measurements (measured=True)."""
        check_is_fitted(self)
        p = self.regression_.predict(_columns(X))
        mean, sd = np.asarray(p["mean"]), np.asarray(p["new_sd" if measured else "sd"])
        return (mean, sd) if return_std else mean


class TableClassifier(ClassifierMixin, _Table):
    """Classification of the rows of a table into two classes, by the chance of each; tables as for TableRegressor.

    kernel, level, max_rows, threads, rough: those of `regress`; random_state its seed.

    After fit: classes_, regression_ (a Regression of the chance of classes_[1]), n_features_in_.

    >>> import numpy as np
    >>> X = np.linspace(-3, 3, 40)[:, None]
    >>> m = TableClassifier(threads=1).fit(X, np.where(X[:, 0] + np.sin(30 * X[:, 0]) > 0, "yes", "no"))
    >>> m.predict([[-2.5], [2.5]]).tolist(), bool(m.predict_proba([[2.5]])[0, 1] > 0.8)
    (['no', 'yes'], True)"""

    def __init__(self, kernel: str | None = None, level: float = 0.95, max_rows: int = 0, threads: int = 0, random_state: int = 1) -> None:
        super().__init__(kernel, level, max_rows, threads, random_state)

    def fit(self, X: Any, y: Any) -> TableClassifier:
        """Fits to rows X and their classes y."""
        self.classes_, place = np.unique(np.asarray(y), return_inverse=True)
        if len(self.classes_) != 2:
            raise GpmemValueError("y has %d classes; TableClassifier tells two apart" % len(self.classes_))
        self._fit(X, place.astype(float), family="bernoulli")
        return self

    def predict_proba(self, X: Any) -> Any:
        """The chances of the two classes, in the order of classes_."""
        check_is_fitted(self)
        chance = np.asarray(self.regression_.predict(_columns(X))["mean"])
        return np.column_stack([1 - chance, chance])

    def predict(self, X: Any) -> Any:
        """The more probable class of each row; of a row without a value there is none (predict_proba gives NaN)."""
        chance = self.predict_proba(X)[:, 1]
        if np.isnan(chance).any():
            raise GpmemValueError("row %d lacks a value: it has no class" % np.argmax(np.isnan(chance)))
        return self.classes_[(chance > 0.5).astype(int)]
