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

static void check(gpm_optimizer *o, enum gpm_status st) {
    if (st != GPM_OK) error("%s", gpm_optimizer_error(o));
}

/* Calls of one kind, one for each text of the member. */
static void give(gpm_optimizer *o, SEXP options, const char *name,
                 enum gpm_status (*call)(gpm_optimizer *, const char *)) {
    SEXP texts = member(options, name);
    for (R_xlen_t i = 0; i < xlength(texts); i++)
        check(o, call(o, translateCharUTF8(STRING_ELT(texts, i))));
}

/* The path of the store must outlive the handle: it is kept in the pointer's tag. */
SEXP optimizer_new(SEXP options) {
    struct gpm_optimize_options o;
    gpm_optimize_options_init(&o);
    o.seed = whole(options, "seed", 1);
    o.maximize = number(options, "maximize", 0) != 0;
    o.noisy = number(options, "noisy", 0) != 0;
    o.initial = (int)few(options, "initial", 0);
    o.store = word(options, "store");
    o.from = word(options, "from");
    gpm_optimizer *made = gpm_optimizer_new(&o);
    SEXP handle = PROTECT(R_MakeExternalPtr(made, options, R_NilValue));
    R_RegisterCFinalizerEx(handle, finalize_optimizer, TRUE);
    give(made, options, "variables", gpm_optimizer_variable);
    give(made, options, "objectives", gpm_optimizer_objective);
    give(made, options, "constraints", gpm_optimizer_constraint);
    give(made, options, "collect", gpm_optimizer_collect);
    give(made, options, "start", gpm_optimizer_start);
    gpm_optimizer_function(made, "a function of R", never, NULL);
    check(made, gpm_optimizer_open(made));
    UNPROTECT(1);
    return handle;
}

/* Names, of variables or of the numbers of an evaluation. */
static SEXP names_of(gpm_optimizer *o, size_t n,
                     const char *(*name)(const gpm_optimizer *, size_t)) {
    SEXP out = PROTECT(allocVector(STRSXP, (R_xlen_t)n));
    for (size_t k = 0; k < n; k++) SET_STRING_ELT(out, (R_xlen_t)k, mkCharCE(name(o, k), CE_UTF8));
    UNPROTECT(1);
    return out;
}

/* list(variables, outputs): their names */
SEXP optimizer_names(SEXP handle) {
    static const char *names[] = {"variables", "outputs", ""};
    gpm_optimizer *o = optimizer_of(handle);
    SEXP out = PROTECT(mkNamed(VECSXP, names));
    SET_VECTOR_ELT(out, 0, names_of(o, gpm_optimizer_dim(o), gpm_optimizer_name));
    SET_VECTOR_ELT(out, 1, names_of(o, gpm_optimizer_outputs(o), gpm_optimizer_output));
    UNPROTECT(1);
    return out;
}

/* list(id, x) with the values as text: the level of a category, or a number. */
/* NULL: every point there is was evaluated. */
SEXP optimizer_ask(SEXP handle) {
    static const char *names[] = {"id", "x", ""};
    gpm_optimizer *o = optimizer_of(handle);
    size_t d = gpm_optimizer_dim(o);
    double *x = (double *)R_alloc(d + 1, sizeof *x);
    int64_t id;
    enum gpm_status asked = gpm_optimizer_ask(o, x, &id);
    if (asked == GPM_E_LIMIT && gpm_optimizer_count(o)) return R_NilValue;
    check(o, asked);
    SEXP out = PROTECT(mkNamed(VECSXP, names)), values = PROTECT(allocVector(STRSXP, (R_xlen_t)d));
    for (size_t j = 0; j < d; j++)
        SET_STRING_ELT(values, (R_xlen_t)j, mkCharCE(gpm_optimizer_value(o, j, x[j]), CE_UTF8));
    SET_VECTOR_ELT(out, 0, ScalarReal((double)id));
    SET_VECTOR_ELT(out, 1, values);
    UNPROTECT(2);
    return out;
}

/* y: all numbers of the evaluation, or NULL: it failed. */
SEXP optimizer_tell(SEXP handle, SEXP id, SEXP y) {
    gpm_optimizer *o = optimizer_of(handle);
    if (!isNull(y) && (size_t)xlength(y) != gpm_optimizer_outputs(o))
        error("an evaluation has %d numbers", (int)gpm_optimizer_outputs(o));
    check(o, gpm_optimizer_tell_all(o, (int64_t)asReal(id), isNull(y) ? NULL : REAL(y)));
    return ScalarReal((double)gpm_optimizer_count(o));
}

static SEXP point_texts(gpm_optimizer *o, const double *x, size_t d) {
    SEXP values = PROTECT(allocVector(STRSXP, (R_xlen_t)d));
    for (size_t j = 0; j < d; j++)
        SET_STRING_ELT(values, (R_xlen_t)j, mkCharCE(gpm_optimizer_value(o, j, x[j]), CE_UTF8));
    UNPROTECT(1);
    return values;
}

/* list(x as text, outputs, feasible, mean, sd, the recommended point as text) */
SEXP optimizer_best(SEXP handle) {
    static const char *names[] = {"x", "outputs", "feasible", "mean", "sd", "at", ""};
    gpm_optimizer *o = optimizer_of(handle);
    size_t d = gpm_optimizer_dim(o);
    double *x = (double *)R_alloc(d + 1, sizeof *x), mean = NA_REAL, sd = NA_REAL;
    bool feasible = true;
    SEXP y = PROTECT(allocVector(REALSXP, (R_xlen_t)gpm_optimizer_outputs(o)));
    if (!gpm_optimizer_best_all(o, x, REAL(y), &feasible)) {
        UNPROTECT(1);
        return R_NilValue;
    }
    SEXP out = PROTECT(mkNamed(VECSXP, names));
    SET_VECTOR_ELT(out, 0, point_texts(o, x, d));
    if (!gpm_optimizer_recommend(o, x, &mean, &sd)) mean = sd = NA_REAL;
    SET_VECTOR_ELT(out, 5, point_texts(o, x, d));
    SET_VECTOR_ELT(out, 1, y);
    SET_VECTOR_ELT(out, 2, ScalarLogical(feasible));
    SET_VECTOR_ELT(out, 3, ScalarReal(mean));
    SET_VECTOR_ELT(out, 4, ScalarReal(sd));
    UNPROTECT(2);
    return out;
}

SEXP optimizer_report(SEXP handle, SEXP format) {
    const char *text =
        gpm_optimizer_report(optimizer_of(handle), (enum gpm_optimize_format)asInteger(format));
    return ScalarString(mkCharCE(text, CE_UTF8));
}
