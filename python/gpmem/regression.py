# SPDX-License-Identifier: Apache-2.0
"""GPRegressor: Gaussian-process regression as an estimator of scikit-learn."""
from __future__ import annotations

import ctypes as c
import os
import warnings
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

try:
    from sklearn.utils.validation import validate_data  # scikit-learn 1.6 and later
except ImportError:
    def validate_data(estimator, *args, **options):
        return estimator._validate_data(*args, **options)

from . import _abi, _shown
from ._library import GpmemError, GpmemValueError, assign, doubles, lib, options, text


class _Process:
    """A gpm_gp of the library."""

    def __init__(self, dim, kernel, noise):
        self.handle = lib.gpm_gp_new()
        if lib.gpm_gp_model(self.handle, dim, text(kernel, "kernel"), noise):
            raise GpmemValueError(lib.gpm_gp_error(self.handle).decode())

    def __del__(self):
        lib.gpm_gp_free(self.handle)

    def check(self, status):
        if status:
            raise GpmemError(lib.gpm_gp_error(self.handle).decode())


class GPRegressor(RegressorMixin, BaseEstimator):
    """Gaussian-process regression with a kernel written as text.

    kernel        a sum of products such as "SE(sf=1, l=2) + PER(p=12)*SE"; its parameters are where the fit
                  starts. None: SE with one length scale per column.
    noise         standard deviation of the noise in units of y where the fit starts (None: a tenth of that of y);
                  0 says there is none.
    optimize      fit the parameters by maximum marginal likelihood
    restarts      random starts besides the given parameters
    normalize_y   model y less its mean, divided by its standard deviation
    random_state  seed of the random starts
    device        "cpu", "gpu" (never falls back: what cannot be done there raises GpmemError with the reason) or "auto";
                  None: as GPMEM_DEVICE says, else the CPU

    After fit: kernel_ (text; variances relative to y_scale_**2), noise_ (units of y),
    log_marginal_likelihood_ (of the normalised y), method_ (how it was computed),
    likelihood_error_ (by how many nats it may be off: 0 up to 8,000 points).

    >>> import numpy as np
    >>> x = np.linspace(0, 6, 30)
    >>> m = GPRegressor().fit(x[:, None], np.sin(x))
    >>> mean, sd = m.predict([[1.5]], return_std=True)
    >>> abs(mean[0] - np.sin(1.5)) < 0.01
    True"""

    def __init__(self, kernel: str | None = None, noise: float | None = None, optimize: bool = True, restarts: int = 2,
                 normalize_y: bool = True, random_state: Any = 0, device: str | None = None) -> None:
        self.kernel = kernel
        self.noise = noise
        self.optimize = optimize
        self.restarts = restarts
        self.normalize_y = normalize_y
        self.random_state = random_state
        self.device = device

    def _start(self, X):
        if self.kernel is not None:
            return self.kernel
        sd = X.std(axis=0)
        lengths = np.where(sd > 0, sd, 1.0) * np.sqrt(X.shape[1])
        if X.shape[1] == 1:
            return "SE(sf=1, l=%r)" % float(lengths[0])
        return "SE(sf=1, l=[%s])" % ", ".join(repr(float(v)) for v in lengths)

    def _make(self, kernel, noise):
        p = _Process(self.n_features_in_, kernel, noise)
        device = self.device or os.environ.get("GPMEM_DEVICE")
        if device:
            p.check(lib.gpm_gp_set_device(p.handle, text(device, "device")))
        p.check(lib.gpm_gp_add(p.handle, doubles(self.X_train_), doubles(self.y_train_), len(self.y_train_)))
        return p

    def fit(self, X: Any, y: Any) -> GPRegressor:
        """Fits the parameters of the kernel and the noise to the data."""
        X, y = validate_data(self, X, y, dtype=np.float64, order="C", y_numeric=True)
        y = np.asarray(y, dtype=np.float64)
        if y.size and not np.abs(y).max() <= 1e150:
            raise ValueError("y must be below 1e150 in size: variances are squares")
        self.y_mean_ = float(y.mean()) if self.normalize_y else 0.0
        sd = float(y.std()) if self.normalize_y else 1.0
        self.y_scale_ = sd if sd > 0 else 1.0
        self.X_train_ = np.array(X, order="C")
        self.y_train_ = np.ascontiguousarray((y - self.y_mean_) / self.y_scale_)
        noise = 0.1 if self.noise is None else float(self.noise) / self.y_scale_
        self._process = self._make(self._start(X), noise)
        if self.optimize:
            o = options(_abi.GpFitOptions)
            assign(o, starts=self.restarts, seed=int(check_random_state(self.random_state).randint(2**31 - 1)))
            self._process.check(lib.gpm_gp_fit(self._process.handle, c.byref(o)))
        out = c.c_double()
        self._process.check(lib.gpm_gp_log_likelihood(self._process.handle, c.byref(out)))
        self.log_marginal_likelihood_ = out.value
        self.kernel_ = lib.gpm_gp_kernel(self._process.handle).decode()
        self.noise_ = lib.gpm_gp_noise(self._process.handle) * self.y_scale_
        self.method_ = lib.gpm_gp_method(self._process.handle).decode()
        self.likelihood_error_ = lib.gpm_gp_likelihood_error(self._process.handle)
        if self.likelihood_error_ > 1:
            warnings.warn("the log likelihood is approximated by %s and may be off by about %.2g nats"
                          % (self.method_, self.likelihood_error_), stacklevel=2)
        return self

    def _points(self, X):
        check_is_fitted(self)
        return np.array(validate_data(self, X, dtype=np.float64, order="C", reset=False), order="C")

    def predict(self, X: Any, return_std: bool = False, return_cov: bool = False, measured: bool = False) -> Any:
        """The mean at X; with it the standard deviation or the covariance of the function, or of new
        measurements (measured=True)."""
        if return_std and return_cov:
            raise ValueError("ask for one of return_std and return_cov")
        X = self._points(X)
        n, p = len(X), self._process
        mean = np.empty(n)
        if return_cov:
            cov = np.empty((n, n))
            p.check(lib.gpm_gp_predict_cov(p.handle, doubles(X), n, measured, doubles(mean), doubles(cov)))
            return self.y_mean_ + self.y_scale_ * mean, self.y_scale_**2 * cov
        var = np.empty(n)
        p.check(lib.gpm_gp_predict(p.handle, doubles(X), n, measured, doubles(mean), doubles(var)))
        mean = self.y_mean_ + self.y_scale_ * mean
        return (mean, self.y_scale_ * np.sqrt(var)) if return_std else mean

    def sample_y(self, X: Any, n_samples: int = 1, random_state: Any = 0) -> np.ndarray:
        """Joint draws of the function at X: array of shape (points, n_samples)."""
        X = self._points(X)
        out = np.empty((n_samples, len(X)))
        seed = int(check_random_state(random_state).randint(2**31 - 1))
        p = self._process
        p.check(lib.gpm_gp_sample(p.handle, doubles(X), len(X), seed, n_samples, doubles(out)))
        return self.y_mean_ + self.y_scale_ * out.T

    def picture(self, points: int = 200) -> _shown.Picture:
        """The data and the function with its 95% band as an SVG picture; for one column of X.

        >>> "<svg" in GPRegressor().fit([[0.0], [1.0], [2.0], [3.0]], [0.0, 0.8, 0.9, 0.1]).picture()
        True"""
        check_is_fitted(self)
        if self.n_features_in_ != 1:
            raise GpmemValueError("a picture is of one column; X has %d" % self.n_features_in_)
        x = self.X_train_[:, 0]
        room = 0.05 * (np.ptp(x) or 1.0)
        at = np.linspace(x.min() - room, x.max() + room, points)
        mean, sd = self.predict(at[:, None], return_std=True)
        n = _shown.numbers
        return _shown.draw([{"items": [
            {"type": "band", "x": n(at), "low": n(mean - 1.96 * sd), "high": n(mean + 1.96 * sd)},
            {"type": "line", "x": n(at), "y": n(mean)},
            {"type": "points", "x": n(x), "y": n(self.y_mean_ + self.y_scale_ * self.y_train_)}]}])

    def _repr_mimebundle_(self, **more: Any) -> dict[str, Any]:
        """Before fit as any estimator of scikit-learn; then what was found, with a picture for one column."""
        if not hasattr(self, "kernel_"):
            return super()._repr_mimebundle_(**more)
        facts = [["kernel", self.kernel_], ["noise", self.noise_], ["log marginal likelihood", self.log_marginal_likelihood_],
                 ["points", len(self.y_train_)], ["computed", self.method_]]
        bundle = {"text/plain": repr(self), "text/html": _shown.table(["GPRegressor", ""], facts)}
        if self.n_features_in_ == 1:
            picture = self.picture()
            bundle.update({"image/svg+xml": str(picture), "text/html": bundle["text/html"] + picture.image()})
        return bundle

    def __getstate__(self):
        state = super().__getstate__().copy()
        state.pop("_process", None)
        return state

    def __setstate__(self, state):
        super().__setstate__(state)
        if "kernel_" in self.__dict__:
            self._process = self._make(self.kernel_, self.noise_ / self.y_scale_)
