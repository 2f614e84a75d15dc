# SPDX-License-Identifier: Apache-2.0
"""What can be said of draws: summaries, complaints, leave-one-out, predictive checks, groups for ArviZ."""
import contextlib
import ctypes as c
import json
import re

import numpy as np

from . import _abi, _library
from ._library import GpmemValueError, doubles, lib, text

# what ArviZ calls the statistics of a sampler, whose names in draws are Stan's
_STATS = {"lp__": "lp", "accept_stat__": "acceptance_rate", "stepsize__": "step_size", "treedepth__": "tree_depth",
          "n_leapfrog__": "n_steps", "divergent__": "diverging", "energy__": "energy"}
_GROUPS = {_abi.DRAWS_POSTERIOR: "posterior", _abi.DRAWS_SAMPLER: "sample_stats",
           _abi.DRAWS_LOG_LIK: "log_likelihood", _abi.DRAWS_REPLICATE: "posterior_predictive",
           _abi.DRAWS_OBSERVED: "observed_data"}
_PRIOR = {"posterior": "prior", "posterior_predictive": "prior_predictive"}


def is_sample_stat(name):
    """Does a sampler say this of itself?"""
    return lib.gpm_draws_group_of(name) == _abi.DRAWS_SAMPLER


@contextlib.contextmanager
def _table(draws):
    """The draws {name: array (chains, draws)} as a table of the library."""
    if not draws:
        raise GpmemValueError("there are no draws: the program ran no collect(...)")
    names = (c.c_char_p * len(draws))(*[text(n, "the name of a quantity") for n in draws])
    x = np.ascontiguousarray(np.stack(list(draws.values()), axis=-1), dtype=float)
    table = lib.gpm_draws_new()
    try:
        for chain in x:
            lib.gpm_draws_add_rows(table, names, len(draws), doubles(np.ascontiguousarray(chain)), len(chain))
        yield table
    finally:
        lib.gpm_draws_free(table)


def _answer(status, out):
    said = out.value.decode()
    if status:
        raise GpmemValueError(said)
    return said


def summary(draws):
    """{name: {mean, mcse_mean, sd, q5, median, q95, ess_bulk, ess_tail, rhat}} of every quantity."""
    with _table(draws) as t:
        return json.loads(lib.gpm_draws_summary(t, _abi.FORMAT_JSON).decode())


def diagnose(draws):
    """What is wrong with the draws, a line each; "" when nothing is."""
    with _table(draws) as t:
        return lib.gpm_draws_complaints(t).decode()


def loo(*results, **named):
    """Leave-one-out cross-validation and WAIC from draws with log_lik(): a dictionary for every result, the best
    model first, with elpd_loo, se_elpd_loo, p_loo, pareto_k, warnings, elpd_diff and se_diff against the best. Results
    are given one after the other or by name: loo(line=r1, curve=r2)."""
    models = {"model %d" % (i + 1): r for i, r in enumerate(results)}
    models.update(named)
    if not models:
        raise GpmemValueError("loo needs a result, or several")
    with contextlib.ExitStack() as stack:
        tables = [stack.enter_context(_table(r.draws)) for r in models.values()]
        names = (c.c_char_p * len(tables))(*[text(n, "the name of a model") for n in models])
        out = c.c_char_p()
        status = lib.gpm_draws_loo((c.c_void_p * len(tables))(*tables), names, len(tables), _abi.FORMAT_JSON,
                                   c.byref(out))
        return json.loads(_answer(status, out))


def predictive_check(draws):
    """Test quantities of the data beside those of replicates, from draws with y_rep() and y_obs()."""
    out = c.c_char_p()
    with _table(draws) as t:
        return json.loads(_answer(lib.gpm_draws_predictive(t, _abi.FORMAT_JSON, None, c.byref(out)), out))


def predictive_picture(draws):
    """The same as an SVG picture: data over replicates, and the quantities."""
    out, plot = c.c_char_p(), _library.options(_abi.PlotOptions)
    with _table(draws) as t:
        return _answer(lib.gpm_draws_predictive(t, _abi.FORMAT_TEXT, c.cast(c.byref(plot), c.c_void_p),
                                                c.byref(out)), out)


def _variables(draws):
    """{name: array (chains, draws, *shape)}: a[1], a[2], ... are one array a, m[1,1], m[2,1], ... a matrix."""
    parts, whole = {}, {}
    for name, x in draws.items():
        m = re.fullmatch(r"([^\[]+)\[(\d+(?:,\d+)*)\]", name)
        index = tuple(int(i) - 1 for i in m[2].split(",")) if m else ()
        parts.setdefault(m[1] if m else name, {})[index] = x
    for name, elements in parts.items():
        shape = tuple(max(i) + 1 for i in zip(*elements)) if () not in elements else ()
        if len(elements) == (np.prod(shape) if shape else 1) and len({len(i) for i in elements}) == 1:
            whole[name] = np.empty(next(iter(elements.values())).shape + shape)
            for index, x in elements.items():
                whole[name][(Ellipsis,) + index] = x
        else:  # not a whole array
            for index, x in elements.items():
                whole["%s[%s]" % (name, ",".join(str(i + 1) for i in index)) if index else name] = x
    return whole


def to_inference_data(draws, prior=None):
    """Groups of variables as ArviZ has them: arviz.from_dict(**r.to_inference_data()) makes an InferenceData."""
    groups = {}
    for name, x in _variables(draws).items():
        group = _GROUPS[lib.gpm_draws_group_of(name)]
        if group == "sample_stats":
            name = _STATS[name]
            x = x.astype(bool) if name == "diverging" else x
        elif group == "observed_data":
            name, x = "y", x[0, 0]
        elif group != "posterior":
            name = "y"
        groups.setdefault(group, {})[name] = x
    if prior is not None:
        for group, variables in to_inference_data(prior.draws).items():
            if group in _PRIOR:
                groups[_PRIOR[group]] = variables
    return groups
