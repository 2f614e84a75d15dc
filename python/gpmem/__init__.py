# SPDX-License-Identifier: Apache-2.0
"""gpmem: probabilistic programs with Gaussian-process memoization.

    run(program, data)     runs a program of the language, returns arrays
    Session()              a model that stays: assume, observe, infer, sample, fork, save
    loo(result, ...)       leave-one-out cross-validation, models compared
    is_absent(draws)       where a quantity is absent from draws
    GPRegressor            Gaussian-process regression for scikit-learn
    regress(table)         Bayesian regression of a table: what matters, how well, predictions; TableRegressor,
                           TableClassifier for scikit-learn
    discover(y)            the structure of a time series
    discover_panel(data)   those of several series, which learn from each other
    check_data(data)       what the values show of errors in their table, without a search
    Index(file)            a search engine for many of them
    Forecaster             the same with sktime's fit and predict
    optimize(f, space)     the optimum of an expensive function; minimize, Optimizer (ask and tell)
"""
from ._library import GpmemError, GpmemValueError, version
from .draws import is_absent, loo
from .forecaster import Forecaster
from .index import Index
from .optimise import Optimizer, Optimum, Trial, minimize, optimize
from .program import Result, run
from .session import Session
from .structure import Discovery, Panel, check_data, discover, discover_panel
from .table import Regression, regress

__version__ = version()
__all__ = ["Discovery", "Forecaster", "GPRegressor", "GpmemError", "GpmemValueError", "Index", "Optimizer", "Optimum", "Panel", "Regression",
           "Result", "Session", "TableClassifier", "TableRegressor", "Trial", "check_data", "discover", "discover_panel", "is_absent", "loo", "minimize", "optimize", "regress", "run", "version"]


def __getattr__(name):
    # scikit-learn is needed by the regressors alone.
    if name == "GPRegressor":
        from .regression import GPRegressor
        return GPRegressor
    if name in ("TableRegressor", "TableClassifier"):
        from . import table_regressor
        return getattr(table_regressor, name)
    raise AttributeError("module 'gpmem' has no attribute '%s'" % name)
