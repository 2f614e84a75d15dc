# SPDX-License-Identifier: Apache-2.0
"""libgpmem through ctypes: where it is found, the structures of its headers, errors as exceptions."""
import ctypes as c
import math
import operator
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from . import _abi


class GpmemError(Exception):
    """A program, its input or a computation failed; the text says what, why and what to do."""


class GpmemValueError(GpmemError, ValueError):
    """An argument is wrong."""


def _candidates():
    if os.environ.get("GPMEM_LIBRARY"):
        yield os.environ["GPMEM_LIBRARY"]
        return
    here = os.path.dirname(os.path.abspath(__file__))
    yield os.path.join(here, "libgpmem.so.0")  # in the wheel
    yield os.path.join(here, "..", "..", "build", "libgpmem.so")  # the source tree
    yield os.path.join(here, "..", "..", "..", "libgpmem.so.0")  # make install: PREFIX/lib/python3.N/dist-packages
    yield "libgpmem.so.0"  # where the loader looks: Debian's package
    yield "/usr/local/lib/libgpmem.so.0"


def _load():
    tried = []
    for path in _candidates():
        try:
            return c.CDLL(path)
        except OSError as e:
            tried.append("%s (%s)" % (path, e))
    raise ImportError("libgpmem was not found: build it with `make`, install it with `make install`, or name it in "
                      "the environment variable GPMEM_LIBRARY. Tried: " + "; ".join(tried))


lib = _load()

_D = c.POINTER(c.c_double)


def text(x: Any, what: str) -> bytes:
    """Bytes for a text of the library: an error rather than a text of which the end is missing there."""
    if not isinstance(x, str):
        raise GpmemValueError("%s must be a text, not %s" % (what, type(x).__name__))
    try:
        return _without_nul(x.encode(), what)
    except UnicodeEncodeError as e:
        raise GpmemValueError("%s is no valid text: %s" % (what, e.reason)) from None


def path(x: Any, what: str) -> bytes:
    """Bytes for the name of a file or folder."""
    try:
        return _without_nul(os.fsencode(x), what)
    except TypeError:
        raise GpmemValueError("%s must be a path, not %s" % (what, type(x).__name__)) from None


def _without_nul(raw: bytes, what: str) -> bytes:
    if b"\0" in raw:
        raise GpmemValueError("%s holds a NUL character" % what)
    return raw


def whole(x: Any, what: str, low: int, high: int) -> int:
    """A whole number from low to high, which C's types would cut to size in silence."""
    try:
        n = operator.index(x)
    except TypeError:
        raise GpmemValueError("%s must be a whole number, not %r" % (what, x)) from None
    if not low <= n <= high:
        raise GpmemValueError("%s must be from %d to %d, not %d" % (what, low, high, n))
    return n


def real(x: Any, what: str, low: float = -math.inf) -> float:
    """A number of at least low."""
    try:
        v = float(x)
    except (TypeError, ValueError, OverflowError):
        v = math.nan
    if isinstance(x, str) or not v >= low:
        raise GpmemValueError("%s must be a number%s, not %r" % (what, "" if low == -math.inf else " from %g" % low, x))
    return v


def mapping(x: Any, what: str) -> Mapping[str, Any]:
    """A dictionary whose keys are texts, {} for None."""
    if x is None:
        return {}
    if not hasattr(x, "items"):
        raise GpmemValueError("%s must be a dictionary, not %s" % (what, type(x).__name__))
    for k in x:
        text(k, "a name in " + what)
    return x


_LEAST = {"target": -math.inf}  # the other numbers are times, shares, probabilities


def assign(options: Any, **values: Any) -> None:
    """Fills fields of a structure with arguments of the same name; what a field cannot hold is an error."""
    kinds: dict[str, Any] = {f[0]: f[1] for f in options._fields_}
    for name, v in values.items():
        kind = kinds[name]
        if kind is c.c_bool:
            if v not in (0, 1):
                raise GpmemValueError("%s must be True or False, not %r" % (name, v))
            v = bool(v)
        elif kind is c.c_char_p:
            v = None if v is None else text(v, name)
        elif kind is c.c_double:
            v = real(v, name, _LEAST.get(name, 0))
        else:
            bits, signed = 8 * c.sizeof(kind), kind(-1).value < 0
            v = whole(v, name, -1 << bits - 1 if signed else 0, (1 << bits - signed) - 1)
        setattr(options, name, v)


class _Text(c.c_char_p):
    """`const char *` as an argument of any function: a NUL inside would cut it."""

    @classmethod
    def from_param(cls, x):
        if x is not None and not isinstance(x, c.Array):  # a buffer to be filled
            x = _without_nul(x, "a text") if isinstance(x, bytes) else text(x, "a text")
        return c.c_char_p.from_param(x)


_prototypes: dict[str, Any] = dict(_abi.PROTOTYPES)
for _name, (_result, _arguments) in _prototypes.items():
    _f = getattr(lib, _name, None)
    if _f is not None:
        _f.restype, _f.argtypes = _result, [_Text if a is c.c_char_p else a for a in _arguments]


if hasattr(lib, "gpm_voice"):  # an older library speaks to users of the tool
    lib.gpm_voice(_abi.VOICE_PYTHON)


def options(kind: type[Any]) -> Any:
    """Options of a struct of _abi, each at its default."""
    o = kind()
    getattr(lib, INIT[kind])(c.byref(o), c.sizeof(o))
    return o


INIT = {_abi.Options: "gpm_options_init_sized", _abi.GpFitOptions: "gpm_gp_fit_options_init_sized",
        _abi.DiscoverOptions: "gpm_discover_options_init_sized", _abi.IndexOptions: "gpm_index_options_init_sized",
        _abi.OptimizeOptions: "gpm_optimize_options_init_sized", _abi.PlotOptions: "gpm_plot_options_init_sized",
        _abi.PanelOptions: "gpm_panel_options_init_sized", _abi.RegressOptions: "gpm_regress_options_init_sized"}


def beside(works: Sequence[Callable[[], Any]], stop: Callable[[], Any]) -> None:
    """Calls the works, each in a thread of its own; at Ctrl-C it calls stop and waits for their end: a call of the
    library in the main thread would keep it waiting."""
    ended = [threading.Event() for _ in works]

    def call(work: Callable[[], Any], end: threading.Event) -> None:
        try:
            work()
        finally:
            end.set()

    # Not by join: in Python 3.11 one that was interrupted takes the thread for ended, and the next returns at once.
    interrupted = None
    for work, end in zip(works, ended):
        threading.Thread(target=call, args=(work, end)).start()
    while not all(e.is_set() for e in ended):
        try:
            for e in ended:
                e.wait()
        except KeyboardInterrupt as why:  # a second one waits as well: what works is still in use
            interrupted = why
            if not all(e.is_set() for e in ended):  # the next call would hear it
                stop()
    if interrupted:
        raise interrupted


def doubles(a: np.ndarray) -> Any:
    """Pointer to the data of a contiguous array of float64."""
    return a.ctypes.data_as(_D)


def version() -> str:
    """The version of the library."""
    return lib.gpm_version().decode()
