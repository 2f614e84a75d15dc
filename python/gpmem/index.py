# SPDX-License-Identifier: Apache-2.0
"""Index: a search engine for time series."""
from __future__ import annotations

import ctypes as c
import json
import os
from collections.abc import Iterable
from typing import Any

from . import _abi
from ._library import GpmemError, assign, beside, lib, options, path, text, whole
from .structure import _take

_FORMATS = {"text": 0, "json": 1, "html": 2}


class Index:
    """An index of many series in one file, and questions to it.

        index = gpmem.Index("series.db")
        index.add("folder", "more.csv")
        pandas.DataFrame(index.search("has a rising trend starting around 1988"))
    """

    def __init__(self, file: str | os.PathLike[str]) -> None:
        self._handle = lib.gpm_index_new(path(file, "file"))
        self._file = os.fspath(file)

    def __del__(self):
        if hasattr(self, "_handle"):
            lib.gpm_index_free(self._handle)

    def __reduce__(self):
        return Index, (self._file,)

    def __repr__(self) -> str:
        return "Index(%r)" % self._file

    def _check(self, status: int) -> None:
        if status:
            raise GpmemError(lib.gpm_index_error(self._handle).decode())

    def add(self, *files: str | os.PathLike[str], by: str | None = None, wide: bool = False, time: str | None = None,
            column: str | None = None, seed: int = 1, threads: int = 0, thorough: bool = False, learn: bool = False,
            skip_bad: bool = False, date_format: str | None = None, missing: str | None = None, every: str | None = None,
            take: str = "auto") -> dict[str, Any]:
        """Adds CSV files, folders of them and kept runs. What did not change is skipped. Options are those of discover.

        Gives {"added", "replaced", "unchanged", "refused": [(name, source, reason)]}."""
        o = options(_abi.IndexOptions)
        assign(o, seed=seed, threads=threads, wide=wide, thorough=thorough, learn=learn, skip_bad=skip_bad, by=by, time_column=time,
               value_column=column, date_format=date_format, missing=missing, every=every,
               take=_take(take))
        array = (c.c_char_p * max(len(files), 1))(*[path(f, "a file") for f in files])
        counts, refusals, stop = _abi.IndexCounts(), c.c_char_p(), c.c_int(0)
        o.stop = c.pointer(stop)
        status: list[int] = []
        beside([lambda: status.append(lib.gpm_index_add(self._handle, array, len(files), c.byref(o), c.byref(counts),
                                                        c.byref(refusals)))], lambda: setattr(stop, "value", 1))
        self._check(status[0])
        return self._report(counts, refusals)

    def merge(self, *indexes: str | os.PathLike[str]) -> dict[str, Any]:
        """Takes the series of other indexes, from first to last; gives what add gives."""
        array = (c.c_char_p * max(len(indexes), 1))(*[path(f, "an index") for f in indexes])
        counts, refusals = _abi.IndexCounts(), c.c_char_p()
        self._check(lib.gpm_index_merge(self._handle, array, len(indexes), c.byref(counts), c.byref(refusals)))
        return self._report(counts, refusals)

    def _report(self, counts: _abi.IndexCounts, refusals: c.c_char_p) -> dict[str, Any]:
        return {"added": counts.added, "replaced": counts.replaced, "unchanged": counts.unchanged,
                "refused": [tuple(line.split("\t", 2)) for line in (refusals.value or b"").decode().splitlines()]}

    def search(self, question: str, top: int = 20) -> list[dict[str, Any]]:
        """The series that most probably are so: records of name, probability, error, structure, words, source, ..."""
        return json.loads(self._search(question, top, "json"))["results"]

    def like(self, series: str | os.PathLike[str], top: int = 20) -> list[dict[str, Any]]:
        """Series with the structure of a file, a kept run, or a series of the index by its name."""
        out, o = c.c_char_p(), options(_abi.IndexOptions)
        self._check(lib.gpm_index_like(self._handle, path(series, "series"), whole(top, "top", 1, 10**9), c.byref(o), 1, c.byref(out)))
        return json.loads(out.value or b"")["results"]

    def read(self, question: str) -> str:
        """How a question is read, in the formal language."""
        out = c.c_char_p()
        self._check(lib.gpm_index_read(self._handle, text(question, "question"), c.byref(out)))
        return (out.value or b"").decode()

    def page(self, question: str, top: int = 20) -> str:
        """The results as a page of HTML with charts that can be sorted."""
        return self._search(question, top, "html")

    def to_parquet(self, file: str | os.PathLike[str]) -> None:
        """Names, structures and their probabilities as a table that pandas, DuckDB and others read."""
        self._check(lib.gpm_index_export_parquet(self._handle, path(file, "file")))

    def _search(self, question: str, top: int, format: str) -> str:
        out = c.c_char_p()
        self._check(lib.gpm_index_search(self._handle, text(question, "question"), whole(top, "top", 1, 10**9),
                                         _FORMATS[format], c.byref(out)))
        return (out.value or b"").decode()

    def list(self) -> Iterable[dict[str, Any]]:
        """What is in the index, and what was refused."""
        out = c.c_char_p()
        self._check(lib.gpm_index_list(self._handle, 1, c.byref(out)))
        return json.loads(out.value or b"")

    def remove(self, *names: str) -> None:
        """Takes series out."""
        for name in names:
            self._check(lib.gpm_index_remove(self._handle, text(name, "a name")))
