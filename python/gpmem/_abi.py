# SPDX-License-Identifier: Apache-2.0
"""Made by tools/ctypes from include/gpmem/*.h. Do not edit."""
import ctypes as c

OK = 0
E_USER = 1
E_INCOMPLETE = 2
E_ARG = 3
E_NOMEM = 4
E_NOT_PD = 5
E_NO_CONVERGENCE = 6
E_IO = 7
E_FORMAT = 8
E_LIMIT = 9
E_INTERRUPT = 10
E_DENIED = 11
E_CONFLICT = 12
E_BUSY = 13
E_NOT_FOUND = 14
E_IMPOSSIBLE = 15
E_DEVICE = 16
VOICE_TOOL = 0
VOICE_PYTHON = 1
VOICE_R = 2
FORMAT_TEXT = 0
FORMAT_JSON = 1
APPROX_AUTO = 0
APPROX_NONE = 1
APPROX_INDUCING = 2
APPROX_VECCHIA = 3
APPROX_LOW_RANK = 4
DECIMAL_AUTO = 0
DECIMAL_POINT = 1
DECIMAL_COMMA = 2
TAKE_AUTO = 0
TAKE_MEAN = 1
TAKE_TOTAL = 2
TAKE_COUNT = 3
TAKE_MEDIAN = 4
TAKE_LAST = 5
TAKE_MIN = 6
TAKE_MAX = 7
LOG_AUTO = 0
LOG_NEVER = 1
LOG_ALWAYS = 2
PRECISION_NORMAL = 0
PRECISION_LOW = 1
PRECISION_HIGH = 2
KEPT_NOTHING = 0
KEPT_SERIES = 1
KEPT_PANEL = 2
KEPT_MORE = 3
REPORT_TEXT = 0
REPORT_JSON = 1
REPORT_MARKDOWN = 2
REPORT_HTML = 3
REPORT_PROGRAM = 4
INDEX_TEXT = 0
INDEX_JSON = 1
INDEX_HTML = 2
ACQ_DEFAULT = 0
ACQ_THOMPSON = 1
ACQ_EI = 2
ACQ_UCB = 3
OPTIMIZE_TEXT = 0
OPTIMIZE_JSON = 1
OPTIMIZE_HTML = 2
REGRESS_NOISE_AUTO = 0
REGRESS_NOISE_NORMAL = 1
REGRESS_NOISE_ROBUST = 2
REGRESS_AUTO = 0
REGRESS_NORMAL = 1
REGRESS_BERNOULLI = 2
REGRESS_POISSON = 3
REGRESS_NEGATIVE_BINOMIAL = 4
REGRESS_TEXT = 0
REGRESS_JSON = 1
REGRESS_HTML = 2
REGRESS_PROGRAM = 3
REGRESS_PREDICTIONS = 4
REGRESS_PREDICTIONS_TEXT = 5
DRAWS_POSTERIOR = 0
DRAWS_SAMPLER = 1
DRAWS_LOG_LIK = 2
DRAWS_REPLICATE = 3
DRAWS_OBSERVED = 4
NAME_ASSUME = 0
NAME_DEFINE = 1
NAME_LET = 2
NAME_PARAMETER = 3
TOKEN_NAME = 0
TOKEN_WORD = 1
TOKEN_NUMBER = 2
TOKEN_STRING = 3
TOKEN_SIGN = 4
TOKEN_COMMENT = 5
PLOT_SVG = 0
PLOT_TEXT = 1

WriteFn = c.CFUNCTYPE(None, c.c_void_p, c.c_int, c.c_void_p, c.c_size_t)
DrawFn = c.CFUNCTYPE(None, c.c_void_p, c.POINTER(c.c_char_p), c.POINTER(c.c_double), c.c_size_t)
ShowFn = c.CFUNCTYPE(None, c.c_void_p, c.c_char_p, c.c_char_p, c.c_char_p)
Function = c.CFUNCTYPE(c.c_int, c.c_void_p, c.POINTER(c.c_double), c.c_size_t, c.POINTER(c.c_double), c.c_void_p, c.c_size_t)
Callback = c.CFUNCTYPE(c.c_int, c.c_void_p, c.c_char_p, c.POINTER(c.c_char_p), c.c_void_p, c.c_size_t)
MeanFn = c.CFUNCTYPE(c.c_int, c.c_void_p, c.POINTER(c.c_double), c.c_int, c.POINTER(c.c_double))
SumFn = c.CFUNCTYPE(c.c_int, c.c_void_p, c.POINTER(c.c_double), c.c_size_t)
CovarianceFn = c.CFUNCTYPE(c.c_int, c.c_void_p, c.POINTER(c.c_double), c.POINTER(c.c_double), c.c_int, c.POINTER(c.c_double))
Objective = c.CFUNCTYPE(c.c_int, c.c_void_p, c.POINTER(c.c_double), c.POINTER(c.c_double))


class Options(c.Structure):
    """struct gpm_options"""
    _fields_ = [
        ("size", c.c_size_t),
        ("seed", c.c_uint64),
        ("chain", c.c_uint32),
        ("format", c.c_int),
        ("diagnostics_json", c.c_bool),
        ("colour", c.c_bool),
        ("allow_run", c.c_bool),
        ("allow_write", c.c_bool),
        ("quiet", c.c_int),
        ("verbose", c.c_int),
        ("jobs", c.c_uint),
        ("max_depth", c.c_size_t),
        ("max_memory", c.c_size_t),
        ("max_seconds", c.c_double),
        ("write", WriteFn),
        ("user", c.c_void_p),
        ("confirm", c.CFUNCTYPE(c.c_bool, c.c_void_p, c.c_char_p)),
        ("draw", DrawFn),
        ("draw_user", c.c_void_p),
        ("progress", c.CFUNCTYPE(None, c.c_void_p, c.c_double, c.c_double, c.c_char_p)),
        ("progress_user", c.c_void_p),
        ("file", c.CFUNCTYPE(None, c.c_void_p, c.c_char_p)),
        ("file_user", c.c_void_p),
        ("show", ShowFn),
        ("show_user", c.c_void_p),
        ("warn_early", c.c_bool),
        ("profile", c.c_bool),
        ("together", c.c_bool),
        ("checkpoint", c.CFUNCTYPE(c.c_bool, c.c_void_p, c.c_void_p, c.c_size_t)),
        ("checkpoint_user", c.c_void_p),
        ("checkpoint_seconds", c.c_double),
    ]


class GpFitOptions(c.Structure):
    """struct gpm_gp_fit_options"""
    _fields_ = [
        ("size", c.c_size_t),
        ("seed", c.c_uint64),
        ("starts", c.c_uint),
        ("keep_noise", c.c_bool),
        ("range", c.c_double),
    ]


class DiscoverOptions(c.Structure):
    """struct gpm_discover_options"""
    _fields_ = [
        ("size", c.c_size_t),
        ("seed", c.c_uint64),
        ("threads", c.c_uint),
        ("time_column", c.c_char_p),
        ("value_column", c.c_char_p),
        ("skip_bad", c.c_bool),
        ("max_points", c.c_size_t),
        ("kernels", c.c_char_p),
        ("changepoints", c.c_bool),
        ("log", c.c_int),
        ("holdout", c.c_double),
        ("horizon", c.c_size_t),
        ("level", c.c_double),
        ("max_seconds", c.c_double),
        ("paper", c.c_bool),
        ("paper_x", c.c_double),
        ("paper_y", c.c_double),
        ("date_format", c.c_char_p),
        ("missing", c.c_char_p),
        ("decimal", c.c_int),
        ("backtest", c.c_size_t),
        ("every", c.c_char_p),
        ("with_columns", c.c_char_p),
        ("smooth_columns", c.c_char_p),
        ("stop", c.POINTER(c.c_int)),
        ("least", c.c_char_p),
        ("most", c.c_char_p),
        ("per_day", c.c_bool),
        ("finish", c.POINTER(c.c_int)),
        ("keep", c.c_char_p),
        ("holidays", c.c_char_p),
        ("take", c.c_int),
        ("precision", c.c_int),
    ]


class Answer(c.Structure):
    """struct gpm_answer"""
    _fields_ = [
        ("probability", c.c_double),
        ("error", c.c_double),
        ("ess", c.c_double),
    ]


class PanelOptions(c.Structure):
    """struct gpm_panel_options"""
    _fields_ = [
        ("size", c.c_size_t),
        ("by", c.c_char_p),
        ("independent", c.c_bool),
    ]


class IndexOptions(c.Structure):
    """struct gpm_index_options"""
    _fields_ = [
        ("size", c.c_size_t),
        ("seed", c.c_uint64),
        ("threads", c.c_uint),
        ("time_column", c.c_char_p),
        ("value_column", c.c_char_p),
        ("skip_bad", c.c_bool),
        ("date_format", c.c_char_p),
        ("missing", c.c_char_p),
        ("decimal", c.c_int),
        ("by", c.c_char_p),
        ("wide", c.c_bool),
        ("thorough", c.c_bool),
        ("progress", c.CFUNCTYPE(None, c.c_void_p, c.c_size_t, c.c_size_t)),
        ("user", c.c_void_p),
        ("stop", c.POINTER(c.c_int)),
        ("shard", c.c_uint),
        ("shards", c.c_uint),
        ("learn", c.c_bool),
        ("claim", c.c_double),
        ("every", c.c_char_p),
        ("take", c.c_int),
    ]


class IndexCounts(c.Structure):
    """struct gpm_index_counts"""
    _fields_ = [
        ("added", c.c_size_t),
        ("replaced", c.c_size_t),
        ("unchanged", c.c_size_t),
        ("refused", c.c_size_t),
    ]


class OptimizeOptions(c.Structure):
    """struct gpm_optimize_options"""
    _fields_ = [
        ("size", c.c_size_t),
        ("seed", c.c_uint64),
        ("maximize", c.c_bool),
        ("noisy", c.c_bool),
        ("acquisition", c.c_int),
        ("initial", c.c_int),
        ("mcmc", c.c_int),
        ("no_local", c.c_bool),
        ("jobs", c.c_uint),
        ("budget", c.c_size_t),
        ("max_seconds", c.c_double),
        ("has_target", c.c_bool),
        ("target", c.c_double),
        ("timeout", c.c_double),
        ("retries", c.c_int),
        ("json", c.c_bool),
        ("store", c.c_char_p),
        ("log", c.c_char_p),
        ("warm", c.c_char_p),
        ("version", c.c_char_p),
        ("join", c.c_bool),
        ("allow_run", c.c_bool),
        ("stop", c.POINTER(c.c_int)),
        ("progress", c.CFUNCTYPE(None, c.c_void_p, c.c_char_p)),
        ("user", c.c_void_p),
        ("from", c.c_char_p),
        ("claim_seconds", c.c_double),
        ("max_cost", c.c_double),
        ("no_early_stop", c.c_bool),
    ]


class RegressOptions(c.Structure):
    """struct gpm_regress_options"""
    _fields_ = [
        ("size", c.c_size_t),
        ("seed", c.c_uint64),
        ("y", c.c_char_p),
        ("x", c.c_char_p),
        ("kernel", c.c_char_p),
        ("missing", c.c_char_p),
        ("decimal", c.c_int),
        ("level", c.c_double),
        ("max_rows", c.c_size_t),
        ("threads", c.c_uint),
        ("stop", c.POINTER(c.c_int)),
        ("date_format", c.c_char_p),
        ("noise", c.c_int),
        ("family", c.c_int),
        ("rough", c.c_bool),
    ]


class NamePlace(c.Structure):
    """struct gpm_name_place"""
    _fields_ = [
        ("name", c.c_char_p),
        ("kind", c.c_int),
        ("start", c.c_size_t),
        ("end", c.c_size_t),
        ("def_start", c.c_size_t),
        ("def_end", c.c_size_t),
        ("whole_start", c.c_size_t),
        ("whole_end", c.c_size_t),
    ]


class PlotOptions(c.Structure):
    """struct gpm_plot_options"""
    _fields_ = [
        ("size", c.c_size_t),
        ("format", c.c_int),
        ("width", c.c_double),
        ("height", c.c_double),
        ("columns", c.c_uint),
        ("rows", c.c_uint),
        ("colour", c.c_bool),
    ]


PROTOTYPES = {
    "gpm_status_text": (c.c_char_p, [c.c_int]),
    "gpm_voice": (None, [c.c_int]),
    "gpm_options_init_sized": (None, [c.POINTER(Options), c.c_size_t]),
    "gpm_session_new": (c.c_void_p, [c.POINTER(Options)]),
    "gpm_session_free": (None, [c.c_void_p]),
    "gpm_run_text": (c.c_int, [c.c_void_p, c.c_char_p, c.c_char_p, c.c_size_t]),
    "gpm_run_file": (c.c_int, [c.c_void_p, c.c_char_p]),
    "gpm_restore": (c.c_int, [c.c_void_p, c.c_void_p, c.c_size_t]),
    "gpm_check_text": (c.c_int, [c.c_void_p, c.c_char_p, c.c_char_p, c.c_size_t, c.c_bool]),
    "gpm_format_text": (c.c_char_p, [c.c_void_p, c.c_char_p, c.c_char_p, c.c_size_t]),
    "gpm_data_json": (c.c_int, [c.c_void_p, c.c_char_p, c.c_size_t]),
    "gpm_data_file": (c.c_int, [c.c_void_p, c.c_char_p]),
    "gpm_list_directives": (c.c_char_p, [c.c_void_p]),
    "gpm_profile": (c.c_char_p, [c.c_void_p]),
    "gpm_last_error": (c.c_char_p, [c.c_void_p]),
    "gpm_interrupt": (None, [c.c_void_p]),
    "gpm_stopped": (c.c_bool, [c.c_void_p]),
    "gpm_acceptance": (c.c_uint64, [c.c_void_p, c.CFUNCTYPE(None, c.c_void_p, c.c_char_p, c.c_uint64, c.c_uint64), c.c_void_p]),
    "gpm_trajectory_complaints": (c.c_char_p, [c.c_void_p]),
    "gpm_sampler_facts": (None, [c.c_void_p, c.CFUNCTYPE(None, c.c_void_p, c.c_char_p, c.c_double), c.c_void_p]),
    "gpm_acceptance_advice": (c.c_char_p, [c.c_void_p, c.c_char_p]),
    "gpm_acceptance_complaint": (c.c_size_t, [c.c_char_p, c.c_double, c.c_double, c.c_char_p, c.c_char_p, c.c_size_t]),
    "gpm_complete": (None, [c.c_void_p, c.c_char_p, c.CFUNCTYPE(None, c.c_void_p, c.c_char_p), c.c_void_p]),
    "gpm_help": (c.c_char_p, [c.c_void_p, c.c_char_p]),
    "gpm_reference_json": (c.c_char_p, [c.c_void_p]),
    "gpm_bind_function": (c.c_int, [c.c_void_p, c.c_char_p, c.c_char_p, Function, c.c_void_p]),
    "gpm_bind_parallel": (c.c_int, [c.c_void_p, c.c_char_p, c.c_char_p, Function, c.c_void_p]),
    "gpm_bind_callback": (c.c_int, [c.c_void_p, c.c_char_p, Callback, c.c_void_p]),
    "gpm_version": (c.c_char_p, []),
    "gpm_device_use": (c.c_int, [c.c_char_p]),
    "gpm_device_error": (c.c_char_p, []),
    "gpm_device_text": (c.c_char_p, []),
    "gpm_blas_core": (c.c_char_p, []),
    "gpm_blas_better_core": (c.c_char_p, []),
    "gpm_blas_advice": (c.c_char_p, []),
    "gpm_gp_new": (c.c_void_p, []),
    "gpm_gp_free": (None, [c.c_void_p]),
    "gpm_gp_error": (c.c_char_p, [c.c_void_p]),
    "gpm_gp_model": (c.c_int, [c.c_void_p, c.c_int, c.c_char_p, c.c_double]),
    "gpm_gp_add": (c.c_int, [c.c_void_p, c.POINTER(c.c_double), c.POINTER(c.c_double), c.c_size_t]),
    "gpm_gp_clear": (None, [c.c_void_p]),
    "gpm_gp_fit_options_init_sized": (None, [c.POINTER(GpFitOptions), c.c_size_t]),
    "gpm_gp_fit": (c.c_int, [c.c_void_p, c.POINTER(GpFitOptions)]),
    "gpm_gp_log_likelihood": (c.c_int, [c.c_void_p, c.POINTER(c.c_double)]),
    "gpm_gp_predict": (c.c_int, [c.c_void_p, c.POINTER(c.c_double), c.c_size_t, c.c_bool, c.POINTER(c.c_double), c.POINTER(c.c_double)]),
    "gpm_gp_predict_cov": (c.c_int, [c.c_void_p, c.POINTER(c.c_double), c.c_size_t, c.c_bool, c.POINTER(c.c_double), c.POINTER(c.c_double)]),
    "gpm_gp_sample": (c.c_int, [c.c_void_p, c.POINTER(c.c_double), c.c_size_t, c.c_uint64, c.c_size_t, c.POINTER(c.c_double)]),
    "gpm_gp_kernel": (c.c_char_p, [c.c_void_p]),
    "gpm_gp_noise": (c.c_double, [c.c_void_p]),
    "gpm_gp_count": (c.c_size_t, [c.c_void_p]),
    "gpm_gp_method": (c.c_char_p, [c.c_void_p]),
    "gpm_gp_likelihood_error": (c.c_double, [c.c_void_p]),
    "gpm_gp_remove": (c.c_int, [c.c_void_p, c.POINTER(c.c_double), c.c_double]),
    "gpm_gp_copy": (c.c_int, [c.c_void_p, c.POINTER(c.c_void_p)]),
    "gpm_gp_set_kernel": (c.c_int, [c.c_void_p, c.c_int, c.c_void_p, c.c_double]),
    "gpm_gp_get_kernel": (c.c_void_p, [c.c_void_p]),
    "gpm_gp_set_mean_constant": (c.c_int, [c.c_void_p, c.c_double]),
    "gpm_gp_set_mean_linear": (c.c_int, [c.c_void_p, c.c_double, c.POINTER(c.c_double)]),
    "gpm_gp_set_mean_function": (c.c_int, [c.c_void_p, MeanFn, c.c_void_p, c.CFUNCTYPE(None, c.c_void_p)]),
    "gpm_gp_set_approximation": (c.c_int, [c.c_void_p, c.c_int, c.c_size_t]),
    "gpm_parts": (None, [c.c_uint, c.c_uint, SumFn, c.c_void_p]),
    "gpm_parts_number": (c.c_uint, []),
    "gpm_parts_count": (c.c_uint, []),
    "gpm_gp_set_cache": (c.c_int, [c.c_void_p, c.c_size_t]),
    "gpm_gp_set_device": (c.c_int, [c.c_void_p, c.c_char_p]),
    "gpm_gp_log_likelihood_grad": (c.c_int, [c.c_void_p, c.POINTER(c.c_double), c.POINTER(c.c_double), c.POINTER(c.c_double)]),
    "gpm_gp_propose": (c.c_int, [c.c_void_p, c.c_void_p, c.c_double, c.POINTER(c.c_double)]),
    "gpm_gp_accept": (None, [c.c_void_p]),
    "gpm_gp_reject": (None, [c.c_void_p]),
    "gpm_gp_conditional": (c.c_int, [c.c_void_p, c.POINTER(c.c_double), c.POINTER(c.c_double), c.c_size_t, c.POINTER(c.c_double)]),
    "gpm_gp_loo": (c.c_int, [c.c_void_p, c.POINTER(c.c_double), c.POINTER(c.c_double), c.POINTER(c.c_double)]),
    "gpm_path_new": (c.c_int, [c.c_void_p, c.c_size_t, c.c_uint64, c.POINTER(c.c_void_p)]),
    "gpm_path_free": (None, [c.c_void_p]),
    "gpm_path_eval": (c.c_int, [c.c_void_p, c.POINTER(c.c_double), c.c_size_t, c.POINTER(c.c_double), c.POINTER(c.c_double)]),
    "gpm_gp_report": (c.c_char_p, [c.c_void_p]),
    "gpm_kernel_parse": (c.c_int, [c.c_char_p, c.POINTER(c.c_void_p), c.c_char_p, c.c_size_t]),
    "gpm_kernel_function": (c.c_void_p, [CovarianceFn, c.c_void_p, c.CFUNCTYPE(None, c.c_void_p), c.c_char_p]),
    "gpm_kernel_copy": (c.c_void_p, [c.c_void_p]),
    "gpm_kernel_free": (None, [c.c_void_p]),
    "gpm_kernel_sum": (c.c_void_p, [c.c_void_p, c.c_void_p]),
    "gpm_kernel_product": (c.c_void_p, [c.c_void_p, c.c_void_p]),
    "gpm_kernel_scale": (c.c_void_p, [c.c_double, c.c_void_p]),
    "gpm_kernel_simplify": (c.c_void_p, [c.c_void_p]),
    "gpm_kernel_text": (c.c_char_p, [c.c_void_p]),
    "gpm_kernel_structure": (c.c_char_p, [c.c_void_p]),
    "gpm_kernel_contains": (c.c_int, [c.c_void_p, c.c_char_p, c.POINTER(c.c_int)]),
    "gpm_kernel_eval": (c.c_int, [c.c_void_p, c.POINTER(c.c_double), c.POINTER(c.c_double), c.c_int, c.POINTER(c.c_double)]),
    "gpm_kernel_nparams": (c.c_size_t, [c.c_void_p]),
    "gpm_kernel_params": (None, [c.c_void_p, c.POINTER(c.c_double)]),
    "gpm_kernel_param_name": (c.c_char_p, [c.c_void_p, c.c_size_t]),
    "gpm_kernel_with_params": (c.c_int, [c.c_void_p, c.POINTER(c.c_double), c.POINTER(c.c_void_p), c.c_char_p, c.c_size_t]),
    "gpm_kernel_row": (c.c_int, [c.c_size_t, c.POINTER(c.c_char_p), c.POINTER(c.c_char_p)]),
    "gpm_discover_options_init_sized": (None, [c.POINTER(DiscoverOptions), c.c_size_t]),
    "gpm_discover_new": (c.c_void_p, []),
    "gpm_discover_free": (None, [c.c_void_p]),
    "gpm_discover_run": (c.c_int, [c.c_void_p, c.c_char_p, c.POINTER(DiscoverOptions)]),
    "gpm_discover_run_text": (c.c_int, [c.c_void_p, c.c_char_p, c.c_char_p, c.c_size_t, c.POINTER(DiscoverOptions)]),
    "gpm_discover_error": (c.c_char_p, [c.c_void_p]),
    "gpm_discover_settled": (c.c_bool, [c.c_void_p]),
    "gpm_discover_unfinished": (c.c_int, [c.c_char_p]),
    "gpm_discover_unkeep": (None, [c.c_char_p]),
    "gpm_discover_save": (c.c_int, [c.c_void_p, c.c_char_p]),
    "gpm_discover_add": (c.c_int, [c.c_void_p, c.c_char_p, c.c_char_p, c.c_size_t]),
    "gpm_discover_open": (c.c_int, [c.c_void_p, c.c_char_p]),
    "gpm_discover_report": (c.c_char_p, [c.c_void_p, c.c_int]),
    "gpm_discover_is_run": (c.c_bool, [c.c_char_p]),
    "gpm_discover_plot": (c.c_int, [c.c_void_p, c.POINTER(c.c_char_p), c.c_size_t, c.c_void_p, c.POINTER(c.c_char_p)]),
    "gpm_discover_query": (c.c_int, [c.c_void_p, c.c_char_p, c.POINTER(Answer)]),
    "gpm_discover_reading": (c.c_char_p, [c.c_void_p]),
    "gpm_discover_forecast": (c.c_int, [c.c_void_p, c.c_size_t, c.POINTER(c.c_char_p), c.c_size_t, c.c_double, c.POINTER(c.c_char_p)]),
    "gpm_discover_forecast_file": (c.c_int, [c.c_void_p, c.c_char_p, c.c_double, c.POINTER(c.c_char_p)]),
    "gpm_discover_forecast_text": (c.c_int, [c.c_void_p, c.c_char_p, c.c_char_p, c.c_size_t, c.c_double, c.POINTER(c.c_char_p)]),
    "gpm_discover_forecast_add": (c.c_int, [c.c_void_p, c.POINTER(c.c_double), c.c_size_t, c.c_size_t]),
    "gpm_discover_continue": (c.c_int, [c.c_void_p, c.c_double]),
    "gpm_discover_go_on": (c.c_int, [c.c_void_p, c.POINTER(DiscoverOptions)]),
    "gpm_panel_options_init_sized": (None, [c.POINTER(PanelOptions), c.c_size_t]),
    "gpm_panel_new": (c.c_void_p, []),
    "gpm_panel_free": (None, [c.c_void_p]),
    "gpm_panel_run": (c.c_int, [c.c_void_p, c.c_char_p, c.POINTER(DiscoverOptions), c.POINTER(PanelOptions)]),
    "gpm_panel_error": (c.c_char_p, [c.c_void_p]),
    "gpm_panel_size": (c.c_size_t, [c.c_void_p]),
    "gpm_panel_key": (c.c_char_p, [c.c_void_p, c.c_size_t]),
    "gpm_panel_member": (c.c_void_p, [c.c_void_p, c.c_size_t, c.POINTER(c.c_char_p)]),
    "gpm_panel_save": (c.c_int, [c.c_void_p, c.c_char_p]),
    "gpm_panel_report": (c.c_char_p, [c.c_void_p, c.c_int]),
    "gpm_discover_check": (c.c_int, [c.c_void_p, c.c_char_p, c.POINTER(DiscoverOptions), c.POINTER(PanelOptions), c.c_bool, c.POINTER(c.c_char_p)]),
    "gpm_index_options_init_sized": (None, [c.POINTER(IndexOptions), c.c_size_t]),
    "gpm_index_new": (c.c_void_p, [c.c_char_p]),
    "gpm_index_free": (None, [c.c_void_p]),
    "gpm_index_error": (c.c_char_p, [c.c_void_p]),
    "gpm_index_add": (c.c_int, [c.c_void_p, c.POINTER(c.c_char_p), c.c_size_t, c.POINTER(IndexOptions), c.POINTER(IndexCounts), c.POINTER(c.c_char_p)]),
    "gpm_index_merge": (c.c_int, [c.c_void_p, c.POINTER(c.c_char_p), c.c_size_t, c.POINTER(IndexCounts), c.POINTER(c.c_char_p)]),
    "gpm_index_search": (c.c_int, [c.c_void_p, c.c_char_p, c.c_size_t, c.c_int, c.POINTER(c.c_char_p)]),
    "gpm_index_like": (c.c_int, [c.c_void_p, c.c_char_p, c.c_size_t, c.POINTER(IndexOptions), c.c_int, c.POINTER(c.c_char_p)]),
    "gpm_index_list": (c.c_int, [c.c_void_p, c.c_int, c.POINTER(c.c_char_p)]),
    "gpm_index_remove": (c.c_int, [c.c_void_p, c.c_char_p]),
    "gpm_index_verify": (c.c_int, [c.c_void_p, c.POINTER(c.c_size_t)]),
    "gpm_index_summed": (c.c_bool, [c.c_void_p]),
    "gpm_index_compact": (c.c_int, [c.c_void_p, c.c_char_p]),
    "gpm_index_export": (c.c_int, [c.c_void_p, c.POINTER(c.c_char_p)]),
    "gpm_index_export_parquet": (c.c_int, [c.c_void_p, c.c_char_p]),
    "gpm_index_read": (c.c_int, [c.c_void_p, c.c_char_p, c.POINTER(c.c_char_p)]),
    "gpm_optimize_options_init_sized": (None, [c.POINTER(OptimizeOptions), c.c_size_t]),
    "gpm_optimizer_new": (c.c_void_p, [c.POINTER(OptimizeOptions)]),
    "gpm_optimizer_free": (None, [c.c_void_p]),
    "gpm_optimizer_error": (c.c_char_p, [c.c_void_p]),
    "gpm_optimizer_variable": (c.c_int, [c.c_void_p, c.c_char_p]),
    "gpm_optimizer_start": (c.c_int, [c.c_void_p, c.c_char_p]),
    "gpm_optimizer_objective": (c.c_int, [c.c_void_p, c.c_char_p]),
    "gpm_optimizer_constraint": (c.c_int, [c.c_void_p, c.c_char_p]),
    "gpm_optimizer_collect": (c.c_int, [c.c_void_p, c.c_char_p]),
    "gpm_optimizer_read_output": (c.c_int, [c.c_void_p, c.c_char_p]),
    "gpm_optimizer_outputs": (c.c_size_t, [c.c_void_p]),
    "gpm_optimizer_output": (c.c_char_p, [c.c_void_p, c.c_size_t]),
    "gpm_optimizer_command": (c.c_int, [c.c_void_p, c.c_int, c.POINTER(c.c_char_p)]),
    "gpm_optimizer_function": (None, [c.c_void_p, c.c_char_p, Objective, c.c_void_p]),
    "gpm_optimizer_open": (c.c_int, [c.c_void_p]),
    "gpm_optimizer_run": (c.c_int, [c.c_void_p]),
    "gpm_optimizer_ask": (c.c_int, [c.c_void_p, c.POINTER(c.c_double), c.POINTER(c.c_int64)]),
    "gpm_optimizer_tell": (c.c_int, [c.c_void_p, c.c_int64, c.c_double]),
    "gpm_optimizer_tell_at": (c.c_int, [c.c_void_p, c.POINTER(c.c_double), c.c_double]),
    "gpm_optimizer_tell_all": (c.c_int, [c.c_void_p, c.c_int64, c.POINTER(c.c_double)]),
    "gpm_optimizer_tell_all_at": (c.c_int, [c.c_void_p, c.POINTER(c.c_double), c.POINTER(c.c_double)]),
    "gpm_optimizer_dim": (c.c_size_t, [c.c_void_p]),
    "gpm_optimizer_name": (c.c_char_p, [c.c_void_p, c.c_size_t]),
    "gpm_optimizer_value": (c.c_char_p, [c.c_void_p, c.c_size_t, c.c_double]),
    "gpm_optimizer_read": (c.c_int, [c.c_void_p, c.c_size_t, c.c_char_p, c.POINTER(c.c_double)]),
    "gpm_optimizer_count": (c.c_size_t, [c.c_void_p]),
    "gpm_optimizer_best": (c.c_bool, [c.c_void_p, c.POINTER(c.c_double), c.POINTER(c.c_double)]),
    "gpm_optimizer_best_all": (c.c_bool, [c.c_void_p, c.POINTER(c.c_double), c.POINTER(c.c_double), c.POINTER(c.c_bool)]),
    "gpm_optimizer_recommend": (c.c_bool, [c.c_void_p, c.POINTER(c.c_double), c.POINTER(c.c_double), c.POINTER(c.c_double)]),
    "gpm_optimizer_report": (c.c_char_p, [c.c_void_p, c.c_int]),
    "gpm_memo_new": (c.c_void_p, []),
    "gpm_memo_free": (None, [c.c_void_p]),
    "gpm_memo_error": (c.c_char_p, [c.c_void_p]),
    "gpm_memo_open": (c.c_int, [c.c_void_p, c.c_char_p, c.c_bool]),
    "gpm_memo_create": (c.c_int, [c.c_void_p, c.c_char_p, c.c_char_p, c.c_char_p]),
    "gpm_memo_list": (c.c_int, [c.c_void_p, c.c_int, c.POINTER(c.c_char_p)]),
    "gpm_memo_show": (c.c_int, [c.c_void_p, c.c_int64, c.c_int, c.POINTER(c.c_char_p)]),
    "gpm_memo_export": (c.c_int, [c.c_void_p, c.POINTER(c.c_char_p)]),
    "gpm_memo_import": (c.c_int, [c.c_void_p, c.c_char_p, c.c_bool, c.POINTER(c.c_size_t)]),
    "gpm_memo_there": (c.c_bool, [c.c_char_p]),
    "gpm_memo_copy": (c.c_int, [c.c_void_p, c.c_char_p, c.POINTER(c.c_size_t)]),
    "gpm_memo_remove": (c.c_int, [c.c_void_p, c.c_int64]),
    "gpm_memo_verify": (c.c_int, [c.c_void_p, c.POINTER(c.c_size_t), c.POINTER(c.c_bool)]),
    "gpm_timer_new": (c.c_void_p, [c.c_char_p]),
    "gpm_timer_free": (None, [c.c_void_p]),
    "gpm_timer_error": (c.c_char_p, [c.c_void_p]),
    "gpm_timer_run": (c.c_int, [c.c_void_p, c.c_int, c.POINTER(c.c_char_p), c.c_size_t, c.POINTER(c.c_char_p), c.POINTER(c.c_double), c.c_double, c.POINTER(c.c_int), c.POINTER(c.c_double)]),
    "gpm_timer_predict": (c.c_int, [c.c_void_p, c.c_size_t, c.POINTER(c.c_char_p), c.POINTER(c.c_double), c.c_double, c.POINTER(c.c_double), c.POINTER(c.c_double), c.POINTER(c.c_double), c.POINTER(c.c_size_t)]),
    "gpm_regress_options_init_sized": (None, [c.POINTER(RegressOptions), c.c_size_t]),
    "gpm_regression_new": (c.c_void_p, []),
    "gpm_regression_free": (None, [c.c_void_p]),
    "gpm_regression_error": (c.c_char_p, [c.c_void_p]),
    "gpm_regression_fit": (c.c_int, [c.c_void_p, c.c_char_p, c.POINTER(RegressOptions)]),
    "gpm_regression_read": (c.c_int, [c.c_void_p, c.c_char_p, c.POINTER(RegressOptions)]),
    "gpm_regression_read_text": (c.c_int, [c.c_void_p, c.c_char_p, c.c_char_p, c.c_size_t, c.POINTER(RegressOptions)]),
    "gpm_regression_run": (c.c_int, [c.c_void_p]),
    "gpm_regression_file": (c.c_int, [c.c_void_p, c.c_char_p]),
    "gpm_regression_text": (c.c_int, [c.c_void_p, c.c_char_p, c.c_char_p, c.c_size_t]),
    "gpm_regression_at": (c.c_int, [c.c_void_p, c.c_char_p]),
    "gpm_regression_forget": (None, [c.c_void_p]),
    "gpm_regression_outside": (c.c_size_t, [c.c_void_p, c.POINTER(c.c_size_t)]),
    "gpm_regression_unseen": (c.c_size_t, [c.c_void_p, c.POINTER(c.c_char_p)]),
    "gpm_regression_report": (c.c_char_p, [c.c_void_p, c.c_int]),
    "gpm_draws_new": (c.c_void_p, []),
    "gpm_draws_free": (None, [c.c_void_p]),
    "gpm_draws_add_csv": (c.c_int, [c.c_void_p, c.c_char_p, c.c_size_t, c.c_char_p, c.c_size_t]),
    "gpm_draws_add_rows": (c.c_int, [c.c_void_p, c.POINTER(c.c_char_p), c.c_size_t, c.POINTER(c.c_double), c.c_size_t]),
    "gpm_draws_push": (None, [c.c_void_p, c.c_size_t, c.POINTER(c.c_char_p), c.POINTER(c.c_double), c.c_size_t]),
    "gpm_draws_arrange": (None, [c.c_void_p]),
    "gpm_draws_join": (None, [c.c_void_p, c.c_void_p]),
    "gpm_draws_skip": (None, [c.c_void_p]),
    "gpm_draws_chains": (c.c_size_t, [c.c_void_p]),
    "gpm_draws_columns": (c.c_size_t, [c.c_void_p]),
    "gpm_draws_rows": (c.c_size_t, [c.c_void_p]),
    "gpm_draws_name": (c.c_char_p, [c.c_void_p, c.c_size_t]),
    "gpm_draws_at": (c.c_double, [c.c_void_p, c.c_size_t, c.c_size_t, c.c_size_t]),
    "gpm_draws_column": (None, [c.c_void_p, c.c_size_t, c.c_size_t, c.POINTER(c.c_double)]),
    "gpm_draws_is_absent": (c.c_bool, [c.c_double]),
    "gpm_draws_drawn": (c.c_void_p, [c.c_void_p]),
    "gpm_draws_summary": (c.c_char_p, [c.c_void_p, c.c_int]),
    "gpm_draws_complaints": (c.c_char_p, [c.c_void_p]),
    "gpm_draws_loo": (c.c_int, [c.POINTER(c.c_void_p), c.POINTER(c.c_char_p), c.c_size_t, c.c_int, c.POINTER(c.c_char_p)]),
    "gpm_draws_predictive": (c.c_int, [c.c_void_p, c.c_int, c.c_void_p, c.POINTER(c.c_char_p)]),
    "gpm_draws_group_of": (c.c_int, [c.c_char_p]),
    "gpm_draws_json": (c.c_char_p, [c.c_void_p]),
    "gpm_outline": (c.c_int, [c.c_char_p, c.c_size_t, c.CFUNCTYPE(None, c.c_void_p, c.POINTER(NamePlace)), c.c_void_p]),
    "gpm_tokens": (None, [c.c_char_p, c.c_size_t, c.CFUNCTYPE(None, c.c_void_p, c.c_int, c.c_size_t, c.c_size_t), c.c_void_p]),
    "gpm_plot_options_init_sized": (None, [c.POINTER(PlotOptions), c.c_size_t]),
    "gpm_plot_json": (c.c_int, [c.c_char_p, c.c_size_t, c.POINTER(PlotOptions), WriteFn, c.c_void_p, c.c_char_p, c.c_size_t]),
}
