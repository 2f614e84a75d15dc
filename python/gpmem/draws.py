# SPDX-License-Identifier: Apache-2.0
"""What can be said of draws: summaries, complaints, leave-one-out, predictive checks, groups for ArviZ."""
from __future__ import annotations

import contextlib
import ctypes as c
import json
import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _abi, _library
from ._library import GpmemValueError, doubles, lib, text

if TYPE_CHECKING:
    from .program import Result

Draws = Mapping[str, np.ndarray]

# what ArviZ calls the statistics of a sampler, whose names in draws are Stan's
_STATS = {"log_weight__": "log_weight", "lp__": "lp", "accept_stat__": "acceptance_rate", "stepsize__": "step_size", "treedepth__": "tree_depth",
          "n_leapfrog__": "n_steps", "divergent__": "diverging", "energy__": "energy"}
_GROUPS = {_abi.DRAWS_POSTERIOR: "posterior", _abi.DRAWS_SAMPLER: "sample_stats",
           _abi.DRAWS_LOG_LIK: "log_likelihood", _abi.DRAWS_REPLICATE: "posterior_predictive",
           _abi.DRAWS_OBSERVED: "observed_data"}
_PRIOR = {"posterior": "prior", "posterior_predictive": "prior_predictive"}


def is_sample_stat(name: str) -> bool:
    """Does a sampler say this of itself?"""
    return lib.gpm_draws_group_of(name) == _abi.DRAWS_SAMPLER


WEIGHTS = "log_weight__"
_ABSENT = float(np.array([0x7FF80000000007A2], dtype=np.uint64).view(float)[0])  # R's NA


def is_absent(draws: Any) -> np.ndarray:
    """Where a quantity is absent from its draws, array by array: a nan of its own, which other nans are not.

    >>> from gpmem import run
    >>> r = run("assume n = uniform_discrete(1, 4); assume x = mapv(i -> normal(0, 1), arange(n));"
    ...         "infer accumulate_dataset(100, do(mh(default, one, 5), collect(n, x)));")
    >>> bool((is_absent(r.draws["x[3]"]) == (r.draws["n"] < 3)).all())
    True"""
    x = np.ascontiguousarray(draws, dtype=float)
    return np.isnan(x) & ((x.view(np.uint64) & 0xFFFFFFFF) == 1954)


class Table:
    """The draws of a chain as they come. A column may join at any time, and is absent before."""

    def __init__(self, handle: int | None = None) -> None:
        self.handle = handle or lib.gpm_draws_new()

    def __del__(self) -> None:
        lib.gpm_draws_free(self.handle)

    def push(self, names: Any, row: Any, n: int) -> None:
        """For a callback of draws."""
        lib.gpm_draws_push(self.handle, 0, names, row, n)


def columns(tables: list[Table]) -> dict[str, np.ndarray]:
    """{name: array (chains, draws)} of chains, merged by name."""
    if not all(lib.gpm_draws_chains(t.handle) for t in tables):
        return {}
    whole = Table()
    for t in tables:
        lib.gpm_draws_join(whole.handle, t.handle)
    return _arrays(whole)


def drawn(draws: Draws) -> Draws:
    """For what knows no weights: one chain of as many draws, drawn by their weights; the draws themselves where these are equal."""
    with _table(draws) as t:
        handle = lib.gpm_draws_drawn(t)
    return _arrays(Table(handle)) if handle else draws


def _arrays(whole: Table) -> dict[str, np.ndarray]:
    out = {}
    shape = lib.gpm_draws_chains(whole.handle), lib.gpm_draws_rows(whole.handle)
    for i in range(lib.gpm_draws_columns(whole.handle)):
        x = out[lib.gpm_draws_name(whole.handle, i).decode()] = np.empty(shape)
        for chain in range(shape[0]):
            lib.gpm_draws_column(whole.handle, chain, i, doubles(x[chain]))
    return out


def _filled(x: Any) -> np.ndarray:
    """What a mask hides is absent."""
    return np.atleast_2d(np.ma.filled(np.ma.asarray(x, dtype=float), _ABSENT))


@contextlib.contextmanager
def _table(draws: Draws) -> Iterator[Any]:
    """The draws {name: array (chains, draws)} as a table of the library; one chain may be an array (draws)."""
    if not draws:
        raise GpmemValueError("there are no draws: the program ran no collect(...)")
    names = (c.c_char_p * len(draws))(*[text(n, "the name of a quantity") for n in draws])
    x = np.ascontiguousarray(np.stack([_filled(v) for v in draws.values()], axis=-1))
    table = lib.gpm_draws_new()
    try:
        for chain in x:
            lib.gpm_draws_add_rows(table, names, len(draws), doubles(np.ascontiguousarray(chain)), len(chain))
        yield table
    finally:
        lib.gpm_draws_free(table)


def _answer(status: int, out: Any) -> str:
    said = out.value.decode()
    if status:
        raise GpmemValueError(said)
    return said


def summary(draws: Draws) -> dict[str, dict[str, float]]:
    """{name: {mean, mcse_mean, sd, q5, median, q95, ess_bulk, ess_tail, rhat}} of every quantity, over the draws that
    have it; where one is absent from some, there is the share `absent`, too. The weights in log_weight__ count."""
    with _table(draws) as t:
        return json.loads(lib.gpm_draws_summary(t, _abi.FORMAT_JSON).decode())


def diagnose(draws: Draws) -> str:
    """What is wrong with the draws, a line each; "" when nothing is."""
    with _table(draws) as t:
        return lib.gpm_draws_complaints(t).decode()


def loo(*results: Result, **named: Result) -> list[dict[str, Any]]:
    """Leave-one-out cross-validation and WAIC from draws with log_lik(): a dictionary for every result, the best
    model first, with elpd_loo, se_elpd_loo, p_loo, pareto_k, warnings, elpd_diff and se_diff against the best. Results
    are given one after the other or by name: loo(line=r1, curve=r2).

    >>> from gpmem import run
    >>> model = "assume m = normal(0, %s); observe normal(m, 1) = 2; observe normal(m, 1) = 3;"
    >>> draw = "infer accumulate_dataset(200, do(mh(default, one, 5), collect(m, log_lik())));"
    >>> wide, narrow = run(model % 5 + draw), run(model % 0.1 + draw)
    >>> [m["name"] for m in loo(wide=wide, narrow=narrow)]
    ['wide', 'narrow']"""
    models = {"model %d" % (i + 1): r for i, r in enumerate(results)}
    models.update(named)
    if not models:
        raise GpmemValueError("loo needs a result, or several")
    with contextlib.ExitStack() as stack:
        tables = [stack.enter_context(_table(r._weighted())) for r in models.values()]
        names = (c.c_char_p * len(tables))(*[text(n, "the name of a model") for n in models])
        out = c.c_char_p()
        status = lib.gpm_draws_loo((c.c_void_p * len(tables))(*tables), names, len(tables), _abi.FORMAT_JSON,
                                   c.byref(out))
        return list(json.loads(_answer(status, out)))
    raise AssertionError  # ExitStack passes exceptions on


def predictive_check(draws: Draws) -> dict[str, Any]:
    """Test quantities of the data beside those of replicates, from draws with y_rep() and y_obs()."""
    out = c.c_char_p()
    with _table(draws) as t:
        return json.loads(_answer(lib.gpm_draws_predictive(t, _abi.FORMAT_JSON, None, c.byref(out)), out))


def predictive_picture(draws: Draws) -> str:
    """The same as an SVG picture: data over replicates, and the quantities."""
    out, plot = c.c_char_p(), _library.options(_abi.PlotOptions)
    with _table(draws) as t:
        return _answer(lib.gpm_draws_predictive(t, _abi.FORMAT_TEXT, c.cast(c.byref(plot), c.c_void_p),
                                                c.byref(out)), out)


def _variables(draws: Draws) -> dict[str, np.ndarray]:
    """{name: array (chains, draws, *shape)}: a[1], a[2], ... are one array a, m[1,1], m[2,1], ... a matrix."""
    parts: dict[str, dict[tuple[int, ...], np.ndarray]] = {}
    whole: dict[str, np.ndarray] = {}
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


def to_inference_data(draws: Draws, prior: Result | None = None) -> dict[str, dict[str, np.ndarray]]:
    """Groups of variables as ArviZ has them: arviz.from_dict(**r.to_inference_data()) makes an InferenceData."""
    groups: dict[str, dict[str, np.ndarray]] = {}
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
