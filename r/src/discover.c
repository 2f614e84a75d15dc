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

static bool flag(SEXP options, const char *name) {
    return number(options, name, 0) != 0;
}

static void take_options(struct gpm_discover_options *o, SEXP from) {
    gpm_discover_options_init(o);
    o->seed = whole(from, "seed", 1);
    o->threads = few(from, "threads", 0);
    o->level = number(from, "level", 0.95);
    o->max_seconds = number(from, "max_seconds", 0);
    o->max_points = whole(from, "max_points", 0);
    o->holdout = number(from, "holdout", 0);
    o->backtest = whole(from, "backtest", 0);
    o->horizon = whole(from, "horizon", 0);
    o->log = (enum gpm_discover_log)(int)number(from, "log", 0);
    o->decimal = (enum gpm_discover_decimal)(int)number(from, "decimal", 0);
    o->take = (enum gpm_discover_take)(int)number(from, "take", 0);
    o->precision = (enum gpm_discover_precision)(int)number(from, "precision", 0);
    o->changepoints = flag(from, "changepoints");
    o->per_day = flag(from, "per_day");
    o->skip_bad = flag(from, "skip_bad");
    o->kernels = word(from, "kernels");
    o->time_column = word(from, "time");
    o->value_column = word(from, "value");
    o->with_columns = word(from, "with");
    o->smooth_columns = word(from, "smooth");
    o->every = word(from, "every");
    o->holidays = word(from, "holidays");
    o->least = word(from, "least");
    o->most = word(from, "most");
    o->date_format = word(from, "date_format");
    o->missing = word(from, "missing");
}

static const char *text_of(SEXP x) {
    return isNull(x) ? NULL : translateCharUTF8(STRING_ELT(x, 0));
}

/* csv: the text of a series, or NULL and the path of a file */
SEXP discover_run(SEXP csv, SEXP path, SEXP options) {
    struct search s = {.d = gpm_discover_new()};
    SEXP handle = PROTECT(R_MakeExternalPtr(s.d, R_NilValue, R_NilValue));
    R_RegisterCFinalizerEx(handle, finalize_discovery, TRUE);
    s.csv = text_of(csv);
    s.path = text_of(path);
    take_options(&s.o, options);
    s.o.stop = &s.stop;
    if (run_beside(do_search, NULL, stop_search, &s)) error("interrupted");
    if (s.st != GPM_OK) error("%s", gpm_discover_error(s.d));
    UNPROTECT(1);
    return handle;
}

/* ---- several series ---- */

static void finalize_panel(SEXP handle) {
    gpm_panel *p = R_ExternalPtrAddr(handle);
    if (p) gpm_panel_free(p);
    R_ClearExternalPtr(handle);
}

struct panel_search {
    gpm_panel *p;
    const char *path;
    struct gpm_discover_options o;
    struct gpm_panel_options how;
    volatile sig_atomic_t stop;
    enum gpm_status st;
};

static void do_panel(void *arg) {
    struct panel_search *s = arg;
    s->st = gpm_panel_run(s->p, s->path, &s->o, &s->how);
}

static void stop_panel(void *arg) {
    __atomic_store_n(&((struct panel_search *)arg)->stop, 1, __ATOMIC_RELAXED);
}

/* list by name: the handle of each run, which keeps the panel alive, or a text that says why there
 * is none. */
static SEXP panel_members(gpm_panel *p, SEXP handle) {
    R_xlen_t n = (R_xlen_t)gpm_panel_size(p);
    SEXP out = PROTECT(allocVector(VECSXP, n)), names = PROTECT(allocVector(STRSXP, n));
    for (R_xlen_t i = 0; i < n; i++) {
        const char *why = "";
        gpm_discovery *d = gpm_panel_member(p, (size_t)i, &why);
        SET_STRING_ELT(names, i, mkCharCE(gpm_panel_key(p, (size_t)i), CE_UTF8));
        SET_VECTOR_ELT(out, i,
                       d ? R_MakeExternalPtr(d, R_NilValue, handle)
                         : ScalarString(mkCharCE(why, CE_UTF8)));
    }
    setAttrib(out, R_NamesSymbol, names);
    UNPROTECT(2);
    return out;
}

SEXP panel_run(SEXP path, SEXP by, SEXP independent, SEXP options) {
    struct panel_search s = {.p = gpm_panel_new(), .path = text_of(path)};
    SEXP handle = PROTECT(R_MakeExternalPtr(s.p, R_NilValue, R_NilValue));
    R_RegisterCFinalizerEx(handle, finalize_panel, TRUE);
    take_options(&s.o, options);
    gpm_panel_options_init(&s.how);
    s.how.by = text_of(by);
    s.how.independent = asLogical(independent) == TRUE;
    s.o.stop = &s.stop;
    if (run_beside(do_panel, NULL, stop_panel, &s)) error("interrupted");
    if (s.st != GPM_OK) error("%s", gpm_panel_error(s.p));
    SEXP out = panel_members(s.p, handle);
    UNPROTECT(1);
    return out;
}

/* ---- what a run knows ---- */

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

/* The next steps; or at times; or at those of a table (CSV), which has the values of other columns.
 */
static enum gpm_status forecast(gpm_discovery *d, SEXP horizon, SEXP times, SEXP table,
                                double level, const char **csv) {
    const char *text = text_of(table);
    if (text) return gpm_discover_forecast_text(d, "newdata", text, strlen(text), level, csv);
    size_t n = isNull(times) ? 0 : (size_t)xlength(times);
    const char **at = (const char **)R_alloc(n + 1, sizeof *at);
    for (size_t i = 0; i < n; i++) at[i] = translateCharUTF8(STRING_ELT(times, (R_xlen_t)i));
    return gpm_discover_forecast(d, whole_of(horizon, "horizon"), at, n, level, csv);
}

SEXP discover_forecast(SEXP handle, SEXP horizon, SEXP times, SEXP table, SEXP level,
                       SEXP quantiles, SEXP paths) {
    gpm_discovery *d = discovery_of(handle);
    const char *csv;
    if (gpm_discover_forecast_add(d, REAL(quantiles), (size_t)xlength(quantiles),
                                  whole_of(paths, "paths")) != GPM_OK ||
        forecast(d, horizon, times, table, asReal(level), &csv) != GPM_OK)
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
