# SPDX-License-Identifier: Apache-2.0
"""libgpmem through ctypes: where it is found, the structures of its headers, errors as exceptions."""
import ctypes as c
import ctypes.util
import os

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
    found = ctypes.util.find_library("gpmem")
    if found:
        yield found
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
for _name, (_result, _arguments) in _abi.PROTOTYPES.items():
    _f = getattr(lib, _name, None)
    if _f is not None:
        _f.restype, _f.argtypes = _result, _arguments


def options(kind):
    """Options of a struct of _abi, each at its default."""
    o = kind()
    getattr(lib, INIT[kind])(c.byref(o), c.sizeof(o))
    return o


INIT = {_abi.Options: "gpm_options_init_sized", _abi.GpFitOptions: "gpm_gp_fit_options_init_sized",
        _abi.DiscoverOptions: "gpm_discover_options_init_sized",
        _abi.OptimizeOptions: "gpm_optimize_options_init_sized"}


def doubles(a):
    """Pointer to the data of a contiguous array of float64."""
    return a.ctypes.data_as(_D)


def version():
    """The version of the library."""
    return lib.gpm_version().decode()
