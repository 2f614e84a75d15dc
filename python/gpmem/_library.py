# SPDX-License-Identifier: Apache-2.0
"""libgpmem through ctypes: where it is found, the structures of its headers, errors as exceptions."""
import ctypes as c
import ctypes.util
import os


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

WRITE = c.CFUNCTYPE(None, c.c_void_p, c.c_int, c.c_void_p, c.c_size_t)
DRAW = c.CFUNCTYPE(None, c.c_void_p, c.POINTER(c.c_char_p), c.POINTER(c.c_double), c.c_size_t)
FUNCTION = c.CFUNCTYPE(c.c_int, c.c_void_p, c.POINTER(c.c_double), c.c_size_t, c.POINTER(c.c_double), c.c_void_p,
                       c.c_size_t)
CALLBACK = c.CFUNCTYPE(c.c_int, c.c_void_p, c.c_char_p, c.POINTER(c.c_char_p), c.c_void_p, c.c_size_t)
OBJECTIVE = c.CFUNCTYPE(c.c_int, c.c_void_p, c.POINTER(c.c_double), c.POINTER(c.c_double))
# Room after the known fields: a newer library may have more of them, and its init function writes them all.
_SPARE = ("_spare", c.c_char * 512)


class Options(c.Structure):
    """struct gpm_options (gpmem.h)."""
    _fields_ = [("seed", c.c_uint64), ("chain", c.c_uint32), ("format", c.c_int), ("diagnostics_json", c.c_bool),
                ("colour", c.c_bool), ("allow_run", c.c_bool), ("allow_write", c.c_bool), ("quiet", c.c_int),
                ("verbose", c.c_int), ("jobs", c.c_uint), ("max_depth", c.c_size_t), ("max_memory", c.c_size_t),
                ("max_seconds", c.c_double), ("write", WRITE), ("user", c.c_void_p), ("confirm", c.c_void_p),
                ("draw", DRAW), ("draw_user", c.c_void_p), _SPARE]


class FitOptions(c.Structure):
    """struct gpm_gp_fit_options (gp.h)."""
    _fields_ = [("seed", c.c_uint64), ("starts", c.c_uint), ("keep_noise", c.c_bool), ("range", c.c_double), _SPARE]


class DiscoverOptions(c.Structure):
    """struct gpm_discover_options (discover.h)."""
    _fields_ = [("seed", c.c_uint64), ("threads", c.c_uint), ("time_column", c.c_char_p), ("value_column", c.c_char_p),
                ("skip_bad", c.c_bool), ("max_points", c.c_size_t), ("kernels", c.c_char_p), ("changepoints", c.c_bool),
                ("log", c.c_int), ("holdout", c.c_double), ("horizon", c.c_size_t), ("level", c.c_double),
                ("max_seconds", c.c_double), ("paper", c.c_bool), ("paper_x", c.c_double), ("paper_y", c.c_double),
                _SPARE]


class OptimizeOptions(c.Structure):
    """struct gpm_optimize_options (optimize.h)."""
    _fields_ = [("seed", c.c_uint64), ("maximize", c.c_bool), ("noisy", c.c_bool), ("acquisition", c.c_int),
                ("initial", c.c_int), ("mcmc", c.c_int), ("no_local", c.c_bool), ("jobs", c.c_uint),
                ("budget", c.c_size_t), ("max_seconds", c.c_double), ("has_target", c.c_bool), ("target", c.c_double),
                ("timeout", c.c_double), ("retries", c.c_int), ("json", c.c_bool), ("store", c.c_char_p),
                ("log", c.c_char_p), ("warm", c.c_char_p), ("version", c.c_char_p), ("join", c.c_bool),
                ("allow_run", c.c_bool), ("stop", c.c_void_p), ("progress", c.c_void_p), ("user", c.c_void_p), _SPARE]


class Answer(c.Structure):
    """struct gpm_answer (discover.h)."""
    _fields_ = [("probability", c.c_double), ("error", c.c_double), ("ess", c.c_double)]


_D = c.POINTER(c.c_double)
_PROTOTYPES = {
    "gpm_version": (c.c_char_p, []),
    "gpm_options_init": (None, [c.POINTER(Options)]),
    "gpm_session_new": (c.c_void_p, [c.POINTER(Options)]),
    "gpm_session_free": (None, [c.c_void_p]),
    "gpm_run_text": (c.c_int, [c.c_void_p, c.c_char_p, c.c_char_p, c.c_size_t]),
    "gpm_last_error": (c.c_char_p, [c.c_void_p]),
    "gpm_interrupt": (None, [c.c_void_p]),
    "gpm_bind_callback": (c.c_int, [c.c_void_p, c.c_char_p, CALLBACK, c.c_void_p]),
    "gpm_bind_function": (c.c_int, [c.c_void_p, c.c_char_p, c.c_char_p, FUNCTION, c.c_void_p]),
    "gpm_gp_new": (c.c_void_p, []),
    "gpm_gp_free": (None, [c.c_void_p]),
    "gpm_gp_error": (c.c_char_p, [c.c_void_p]),
    "gpm_gp_model": (c.c_int, [c.c_void_p, c.c_int, c.c_char_p, c.c_double]),
    "gpm_gp_add": (c.c_int, [c.c_void_p, _D, _D, c.c_size_t]),
    "gpm_gp_fit_options_init": (None, [c.POINTER(FitOptions)]),
    "gpm_gp_fit": (c.c_int, [c.c_void_p, c.POINTER(FitOptions)]),
    "gpm_gp_log_likelihood": (c.c_int, [c.c_void_p, _D]),
    "gpm_gp_predict": (c.c_int, [c.c_void_p, _D, c.c_size_t, c.c_bool, _D, _D]),
    "gpm_gp_predict_cov": (c.c_int, [c.c_void_p, _D, c.c_size_t, c.c_bool, _D, _D]),
    "gpm_gp_sample": (c.c_int, [c.c_void_p, _D, c.c_size_t, c.c_uint64, c.c_size_t, _D]),
    "gpm_gp_kernel": (c.c_char_p, [c.c_void_p]),
    "gpm_gp_noise": (c.c_double, [c.c_void_p]),
    "gpm_gp_method": (c.c_char_p, [c.c_void_p]),
    "gpm_optimize_options_init": (None, [c.POINTER(OptimizeOptions)]),
    "gpm_optimizer_new": (c.c_void_p, [c.POINTER(OptimizeOptions)]),
    "gpm_optimizer_free": (None, [c.c_void_p]),
    "gpm_optimizer_error": (c.c_char_p, [c.c_void_p]),
    "gpm_optimizer_variable": (c.c_int, [c.c_void_p, c.c_char_p]),
    "gpm_optimizer_function": (None, [c.c_void_p, c.c_char_p, OBJECTIVE, c.c_void_p]),
    "gpm_optimizer_open": (c.c_int, [c.c_void_p]),
    "gpm_optimizer_run": (c.c_int, [c.c_void_p]),
    "gpm_optimizer_value": (c.c_char_p, [c.c_void_p, c.c_size_t, c.c_double]),
    "gpm_optimizer_count": (c.c_size_t, [c.c_void_p]),
    "gpm_optimizer_best": (c.c_bool, [c.c_void_p, _D, _D]),
    "gpm_optimizer_report": (c.c_char_p, [c.c_void_p, c.c_int]),
    "gpm_discover_options_init": (None, [c.POINTER(DiscoverOptions)]),
    "gpm_discover_new": (c.c_void_p, []),
    "gpm_discover_free": (None, [c.c_void_p]),
    "gpm_discover_run": (c.c_int, [c.c_void_p, c.c_char_p, c.POINTER(DiscoverOptions)]),
    "gpm_discover_error": (c.c_char_p, [c.c_void_p]),
    "gpm_discover_settled": (c.c_bool, [c.c_void_p]),
    "gpm_discover_save": (c.c_int, [c.c_void_p, c.c_char_p]),
    "gpm_discover_open": (c.c_int, [c.c_void_p, c.c_char_p]),
    "gpm_discover_report": (c.c_char_p, [c.c_void_p, c.c_int]),
    "gpm_discover_query": (c.c_int, [c.c_void_p, c.c_char_p, c.POINTER(Answer)]),
    "gpm_discover_forecast": (c.c_int, [c.c_void_p, c.c_size_t, c.POINTER(c.c_char_p), c.c_size_t, c.c_double,
                                        c.POINTER(c.c_char_p)]),
}
for _name, (_result, _arguments) in _PROTOTYPES.items():
    _f = getattr(lib, _name, None)
    if _f is not None:
        _f.restype, _f.argtypes = _result, _arguments


def doubles(a):
    """Pointer to the data of a contiguous array of float64."""
    return a.ctypes.data_as(_D)


def version():
    """The version of the library."""
    return lib.gpm_version().decode()
