/* SPDX-License-Identifier: Apache-2.0
 *
 * Structure of time series.
 */
#include "gpmem.h"
#include <stdlib.h>
#include <string.h>

/* ---- discover ---- */

static void finalize_discovery(SEXP handle) {
    gpm_discovery *d = R_ExternalPtrAddr(handle);
    if (d) gpm_discover_free(d);
    R_ClearExternalPtr(handle);
}

static gpm_discovery *discovery_of(SEXP handle) {
    gpm_discovery *d = TYPEOF(handle) == EXTPTRSXP ? R_ExternalPtrAddr(handle) : NULL;
    if (!d)
        error("this discovery does not belong to this session; run discover() again, or keep it "
              "with folder=");
    return d;
}

struct search {
    gpm_discovery *d;
    const char *csv, *path;
    struct gpm_discover_options o;
    volatile sig_atomic_t stop;
    enum gpm_status st;
};

static void do_search(void *arg) {
    struct search *s = arg;
    s->st = s->csv ? gpm_discover_run_text(s->d, "the series", s->csv, strlen(s->csv), &s->o)
                   : gpm_discover_run(s->d, s->path, &s->o);
}

static void stop_search(void *arg) {
    __atomic_store_n(&((struct search *)arg)->stop, 1, __ATOMIC_RELAXED);
}

/* csv: the text of a series, or NULL and the path of a file */
SEXP discover_run(SEXP csv, SEXP path, SEXP options) {
    struct search s = {.d = gpm_discover_new()};
    SEXP handle = PROTECT(R_MakeExternalPtr(s.d, R_NilValue, R_NilValue));
    R_RegisterCFinalizerEx(handle, finalize_discovery, TRUE);
    s.csv = isNull(csv) ? NULL : translateCharUTF8(STRING_ELT(csv, 0));
    s.path = isNull(path) ? NULL : translateCharUTF8(STRING_ELT(path, 0));
    gpm_discover_options_init(&s.o);
    s.o.seed = (uint64_t)number(options, "seed", 1);
    s.o.threads = (unsigned)number(options, "threads", 0);
    s.o.level = number(options, "level", 0.95);
    s.o.max_seconds = number(options, "max_seconds", 0);
    s.o.holdout = number(options, "holdout", 0);
    s.o.log = (enum gpm_discover_log)(int)number(options, "log", 0);
    s.o.kernels = word(options, "kernels");
    s.o.time_column = word(options, "time");
    s.o.value_column = word(options, "value");
    s.o.stop = &s.stop;
    if (run_beside(do_search, NULL, stop_search, &s)) error("interrupted");
    if (s.st != GPM_OK) error("%s", gpm_discover_error(s.d));
    UNPROTECT(1);
    return handle;
}

SEXP discover_report(SEXP handle, SEXP format) {
    const char *text =
        gpm_discover_report(discovery_of(handle), (enum gpm_discover_format)asInteger(format));
    return ScalarString(mkCharCE(text, CE_UTF8));
}

SEXP discover_query(SEXP handle, SEXP question) {
    gpm_discovery *d = discovery_of(handle);
    struct gpm_answer a;
    if (gpm_discover_query(d, translateCharUTF8(STRING_ELT(question, 0)), &a) != GPM_OK)
        error("%s", gpm_discover_error(d));
    SEXP out = PROTECT(allocVector(REALSXP, 2));
    REAL(out)[0] = a.probability;
    REAL(out)[1] = a.error;
    UNPROTECT(1);
    return out;
}

SEXP discover_forecast(SEXP handle, SEXP horizon, SEXP times, SEXP level) {
    gpm_discovery *d = discovery_of(handle);
    size_t n = isNull(times) ? 0 : (size_t)xlength(times);
    const char **at = (const char **)R_alloc(n + 1, sizeof *at), *csv;
    for (size_t i = 0; i < n; i++) at[i] = translateCharUTF8(STRING_ELT(times, (R_xlen_t)i));
    if (gpm_discover_forecast(d, (size_t)asReal(horizon), at, n, asReal(level), &csv) != GPM_OK)
        error("%s", gpm_discover_error(d));
    return ScalarString(mkCharCE(csv, CE_UTF8));
}

SEXP discover_open(SEXP folder) {
    gpm_discovery *d = gpm_discover_new();
    SEXP handle = PROTECT(R_MakeExternalPtr(d, R_NilValue, R_NilValue));
    R_RegisterCFinalizerEx(handle, finalize_discovery, TRUE);
    if (gpm_discover_open(d, translateCharUTF8(STRING_ELT(folder, 0))) != GPM_OK)
        error("%s", gpm_discover_error(d));
    UNPROTECT(1);
    return handle;
}

SEXP discover_save(SEXP handle, SEXP folder) {
    gpm_discovery *d = discovery_of(handle);
    if (gpm_discover_save(d, translateCharUTF8(STRING_ELT(folder, 0))) != GPM_OK)
        error("%s", gpm_discover_error(d));
    return R_NilValue;
}
