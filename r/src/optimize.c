/* SPDX-License-Identifier: Apache-2.0
 *
 * The optimiser: asked for points, and told what functions of R gave there.
 */
#include "gpmem.h"

static void finalize_optimizer(SEXP handle) {
    gpm_optimizer *o = R_ExternalPtrAddr(handle);
    if (o) gpm_optimizer_free(o);
    R_ClearExternalPtr(handle);
}

static gpm_optimizer *optimizer_of(SEXP handle) {
    gpm_optimizer *o = TYPEOF(handle) == EXTPTRSXP ? R_ExternalPtrAddr(handle) : NULL;
    if (!o) error("this optimiser does not belong to this session");
    return o;
}

/* The function runs in R, between ask and tell; the library only needs to know that there is one.
 */
static int never(void *user, const double *x, double *y) {
    return 1;
}

/* The path of the store must outlive the handle: it is kept in the pointer's tag. */
SEXP optimizer_new(SEXP variables, SEXP options) {
    struct gpm_optimize_options o;
    gpm_optimize_options_init(&o);
    o.seed = (uint64_t)number(options, "seed", 1);
    o.maximize = number(options, "maximize", 0) != 0;
    o.noisy = number(options, "noisy", 0) != 0;
    o.initial = (int)number(options, "initial", 0);
    o.store = word(options, "store");
    gpm_optimizer *made = gpm_optimizer_new(&o);
    SEXP handle = PROTECT(R_MakeExternalPtr(made, options, R_NilValue));
    R_RegisterCFinalizerEx(handle, finalize_optimizer, TRUE);
    for (R_xlen_t i = 0; i < xlength(variables); i++)
        if (gpm_optimizer_variable(made, translateCharUTF8(STRING_ELT(variables, i))) != GPM_OK)
            error("%s", gpm_optimizer_error(made));
    gpm_optimizer_function(made, "a function of R", never, NULL);
    if (gpm_optimizer_open(made) != GPM_OK) error("%s", gpm_optimizer_error(made));
    UNPROTECT(1);
    return handle;
}

/* list(id, x) with the values as text: the level of a category, or a number. */
SEXP optimizer_ask(SEXP handle) {
    static const char *names[] = {"id", "x", ""};
    gpm_optimizer *o = optimizer_of(handle);
    size_t d = gpm_optimizer_dim(o);
    double *x = (double *)R_alloc(d + 1, sizeof *x);
    int64_t id;
    if (gpm_optimizer_ask(o, x, &id) != GPM_OK) error("%s", gpm_optimizer_error(o));
    SEXP out = PROTECT(mkNamed(VECSXP, names)), values = PROTECT(allocVector(STRSXP, (R_xlen_t)d));
    for (size_t j = 0; j < d; j++)
        SET_STRING_ELT(values, (R_xlen_t)j, mkCharCE(gpm_optimizer_value(o, j, x[j]), CE_UTF8));
    SET_VECTOR_ELT(out, 0, ScalarReal((double)id));
    SET_VECTOR_ELT(out, 1, values);
    UNPROTECT(2);
    return out;
}

SEXP optimizer_tell(SEXP handle, SEXP id, SEXP y) {
    gpm_optimizer *o = optimizer_of(handle);
    if (gpm_optimizer_tell(o, (int64_t)asReal(id), asReal(y)) != GPM_OK)
        error("%s", gpm_optimizer_error(o));
    return ScalarReal((double)gpm_optimizer_count(o));
}

/* list(x as text, value, mean, sd) */
SEXP optimizer_best(SEXP handle) {
    static const char *names[] = {"x", "value", "mean", "sd", ""};
    gpm_optimizer *o = optimizer_of(handle);
    size_t d = gpm_optimizer_dim(o);
    double *x = (double *)R_alloc(d + 1, sizeof *x), y = NA_REAL, mean = NA_REAL, sd = NA_REAL;
    if (!gpm_optimizer_best(o, x, &y)) return R_NilValue;
    SEXP out = PROTECT(mkNamed(VECSXP, names)), values = PROTECT(allocVector(STRSXP, (R_xlen_t)d));
    for (size_t j = 0; j < d; j++)
        SET_STRING_ELT(values, (R_xlen_t)j, mkCharCE(gpm_optimizer_value(o, j, x[j]), CE_UTF8));
    if (!gpm_optimizer_recommend(o, x, &mean, &sd)) mean = sd = NA_REAL;
    SET_VECTOR_ELT(out, 0, values);
    SET_VECTOR_ELT(out, 1, ScalarReal(y));
    SET_VECTOR_ELT(out, 2, ScalarReal(mean));
    SET_VECTOR_ELT(out, 3, ScalarReal(sd));
    UNPROTECT(2);
    return out;
}

SEXP optimizer_report(SEXP handle, SEXP format) {
    const char *text =
        gpm_optimizer_report(optimizer_of(handle), (enum gpm_optimize_format)asInteger(format));
    return ScalarString(mkCharCE(text, CE_UTF8));
}
