/* SPDX-License-Identifier: Apache-2.0
 *
 * Regression of tables.
 */
#include "gpmem.h"
#include <string.h>

static void finalize_regression(SEXP handle) {
    gpm_regression *r = R_ExternalPtrAddr(handle);
    if (r) gpm_regression_free(r);
    R_ClearExternalPtr(handle);
}

static gpm_regression *regression_of(SEXP handle) {
    gpm_regression *r = TYPEOF(handle) == EXTPTRSXP ? R_ExternalPtrAddr(handle) : NULL;
    if (!r) error("this regression does not belong to this session; run gpm_regress() again");
    return r;
}

/* What runs beside R. The options' stop is asked while a handle works, so there is one for all. */
static volatile sig_atomic_t stop_flag;

struct regress_job {
    gpm_regression *r;
    enum gpm_regress_format format;
    const char *text; /* of a report */
    enum gpm_status st;
};

static void do_fit(void *arg) {
    struct regress_job *j = arg;
    j->st = gpm_regression_run(j->r);
}

static void do_report(void *arg) {
    struct regress_job *j = arg;
    j->text = gpm_regression_report(j->r, j->format);
}

static void stop_regression(void *arg) {
    (void)arg;
    __atomic_store_n(&stop_flag, 1, __ATOMIC_RELAXED);
}

static void regress_options(struct gpm_regress_options *o, SEXP from) {
    gpm_regress_options_init(o);
    o->seed = whole(from, "seed", 1);
    o->threads = few(from, "threads", 0);
    o->level = number(from, "level", 0.95);
    o->max_rows = whole(from, "max_rows", 0);
    o->decimal = (int)number(from, "decimal", 0);
    o->noise = (enum gpm_regress_noise)(int)number(from, "noise", 0);
    o->family = (enum gpm_regress_family)(int)number(from, "family", 0);
    o->rough = number(from, "rough", 0) != 0;
    o->y = word(from, "y");
    o->x = word(from, "x");
    o->kernel = word(from, "kernel");
    o->missing = word(from, "missing");
    o->date_format = word(from, "date_format");
    o->stop = &stop_flag;
}

/* csv: the text of a table, or NULL and the path of a file */
SEXP regress_run(SEXP csv, SEXP path, SEXP options) {
    struct regress_job j = {.r = gpm_regression_new()};
    struct gpm_regress_options o;
    SEXP handle = PROTECT(R_MakeExternalPtr(j.r, R_NilValue, R_NilValue));
    R_RegisterCFinalizerEx(handle, finalize_regression, TRUE);
    regress_options(&o, options);
    stop_flag = 0;
    if (isNull(csv)) {
        j.st = gpm_regression_read(j.r, translateCharUTF8(STRING_ELT(path, 0)), &o);
    } else {
        const char *text = translateCharUTF8(STRING_ELT(csv, 0));
        j.st = gpm_regression_read_text(j.r, "data", text, strlen(text), &o);
    }
    if (j.st == GPM_OK && run_beside(do_fit, NULL, stop_regression, &j)) error("interrupted");
    if (j.st != GPM_OK) error("%s", gpm_regression_error(j.r));
    UNPROTECT(1);
    return handle;
}

static SEXP report(struct regress_job *j) {
    stop_flag = 0;
    if (run_beside(do_report, NULL, stop_regression, j)) error("interrupted");
    if (!j->text) error("%s", gpm_regression_error(j->r));
    return ScalarString(mkCharCE(j->text, CE_UTF8));
}

SEXP regress_report(SEXP handle, SEXP format) {
    struct regress_job j = {.r = regression_of(handle),
                            .format = (enum gpm_regress_format)asInteger(format)};
    gpm_regression_forget(j.r);
    return report(&j);
}

SEXP regress_predict(SEXP handle, SEXP csv) {
    struct regress_job j = {.r = regression_of(handle), .format = GPM_REGRESS_PREDICTIONS};
    const char *text = translateCharUTF8(STRING_ELT(csv, 0));
    gpm_regression_forget(j.r);
    if (gpm_regression_text(j.r, "newdata", text, strlen(text)) != GPM_OK)
        error("%s", gpm_regression_error(j.r));
    const char *first;
    size_t unseen = gpm_regression_unseen(j.r, &first);
    if (unseen) warning("%.0f of the rows have no prediction: %s", (double)unseen, first);
    return report(&j);
}
