#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""GPRegressor: scikit-learn's check_estimator, and agreement with its own Gaussian processes."""
import os, pickle, sys, warnings
from unittest import SkipTest

os.environ["GPMEM_LIBRARY"] = os.path.join(os.path.dirname(os.path.abspath(sys.argv[1])), "libgpmem.so")
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "python"))
import numpy as np
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.utils.estimator_checks import check_estimator
import gpmem

CHECKS = check_estimator(gpmem.GPRegressor(), generate_only=True)


def check_protocol():
    n = skipped = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for estimator, check in CHECKS:
            try:
                check(estimator)
                n += 1
            except SkipTest as e:  # as check_estimator itself does
                print("skipped by scikit-learn:", e)
                skipped += 1
    assert n >= 35 and skipped <= 2, (n, skipped)
    print("check_estimator: %d checks passed, %d skipped" % (n, skipped))


def data(seed=0, n=40, d=2):
    r = np.random.RandomState(seed)
    X = r.uniform(-2, 2, (n, d))
    return X, 3 + 5 * np.sin(X[:, 0]) + X[:, -1] ** 2 + 0.2 * r.normal(size=n), r.uniform(-2, 2, (15, d))


def check_fixed():
    """Same kernel, same noise: the same predictions, covariances and likelihood."""
    X, y, T = data()
    ours = gpmem.GPRegressor(kernel="SE(sf=1.5, l=[0.7, 1.9])", noise=0.3, optimize=False, normalize_y=False).fit(X, y)
    theirs = GaussianProcessRegressor(ConstantKernel(1.5**2) * RBF([0.7, 1.9]), alpha=0.09, optimizer=None).fit(X, y)
    m, cov = ours.predict(T, return_cov=True)
    m2, cov2 = theirs.predict(T, return_cov=True)
    assert np.allclose(m, m2, rtol=1e-9, atol=1e-9) and np.allclose(cov, cov2, rtol=1e-8, atol=1e-9)
    assert np.allclose(ours.predict(T, return_std=True)[1], np.sqrt(np.diag(cov2)), atol=1e-7)
    assert np.allclose(ours.predict(T, return_std=True, measured=True)[1], np.sqrt(np.diag(cov2) + 0.09), atol=1e-7)
    assert abs(ours.log_marginal_likelihood_ - theirs.log_marginal_likelihood()) < 1e-8


def check_fit():
    """The fit is at least as good as scikit-learn's."""
    for seed in range(3):
        X, y, T = data(seed)
        ours = gpmem.GPRegressor().fit(X, y)
        kernel = ConstantKernel(1.0) * RBF([1.0, 1.0]) + WhiteKernel(0.01, (1e-12, 1e3))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            theirs = GaussianProcessRegressor(kernel, normalize_y=True, n_restarts_optimizer=2, random_state=0).fit(X, y)
        assert ours.log_marginal_likelihood_ > theirs.log_marginal_likelihood_value_ - 1e-3, seed
        truth = 3 + 5 * np.sin(T[:, 0]) + T[:, 1] ** 2
        assert np.sqrt(np.mean((ours.predict(T) - truth) ** 2)) < 0.6
        print("seed %d: log marginal likelihood %.4f, scikit-learn %.4f" % (
            seed, ours.log_marginal_likelihood_, theirs.log_marginal_likelihood_value_))


def check_draws():
    X, y, T = data()
    g = gpmem.GPRegressor().fit(X, y)
    m, cov = g.predict(T, return_cov=True)
    s = g.sample_y(T, 4000, random_state=3)
    assert s.shape == (15, 4000)
    z = (s.mean(axis=1) - m) / np.sqrt(np.diag(cov) / 4000)
    assert np.abs(z).max() < 4.5, z
    assert np.allclose(np.cov(s), cov, atol=0.12 * cov.diagonal().max())
    assert np.array_equal(s, g.sample_y(T, 4000, random_state=3))
    g2 = pickle.loads(pickle.dumps(g))
    assert np.allclose(g2.predict(T), m, rtol=0, atol=1e-12)


def check_errors():
    X, y, _ = data()
    for make, words in [(dict(kernel="SE(l=-1)"), "l"), (dict(kernel="FOO"), "FOO"), (dict(noise=-1), "noise")]:
        try:
            gpmem.GPRegressor(**make).fit(X, y)
        except ValueError as e:
            assert words in str(e), e
        else:
            raise AssertionError(make)
    try:
        gpmem.GPRegressor().fit(X, y * 1e300)
    except ValueError as e:
        assert "1e150" in str(e), e
    else:
        raise AssertionError("y of size 1e300")


check_protocol()
check_fixed()
check_fit()
check_draws()
check_errors()
print("fine")
