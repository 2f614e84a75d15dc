/* SPDX-License-Identifier: Apache-2.0
 *
 * Gaussian processes. R's matrices hold columns, the library's points follow one another.
 */
#include "gpmem.h"
#include <limits.h>
#include <stdlib.h>
#include <string.h>

struct process {
    gpm_gp *gp;
    int dim;
};

static void finalize(SEXP handle) {
    struct process *p = R_ExternalPtrAddr(handle);
    if (!p) return;
    gpm_gp_free(p->gp);
    free(p);
    R_ClearExternalPtr(handle);
}

static struct process *process_of(SEXP handle) {
    struct process *p = TYPEOF(handle) == EXTPTRSXP ? R_ExternalPtrAddr(handle) : NULL;
    if (!p) error("this process does not belong to this session");
    return p;
}

static void check(const struct process *p, enum gpm_status st) {
    if (st != GPM_OK) error("%s", gpm_gp_error(p->gp));
}

/* Points one after another; freed by R. */
static double *points(SEXP x, int dim, size_t *n) {
    *n = (size_t)xlength(x) / (size_t)dim;
    double *out = (double *)R_alloc(*n * (size_t)dim + 1, sizeof *out);
    const double *in = REAL(x);
    for (size_t i = 0; i < *n; i++)
        for (int c = 0; c < dim; c++) out[i * (size_t)dim + (size_t)c] = in[i + *n * (size_t)c];
    return out;
}

SEXP gp_alive(SEXP gp) {
    return ScalarLogical(TYPEOF(gp) == EXTPTRSXP && R_ExternalPtrAddr(gp) != NULL);
}

SEXP gp_new(SEXP dim, SEXP kernel, SEXP noise, SEXP mean, SEXP x, SEXP y) {
    struct process *p = calloc(1, sizeof *p);
    if (!p) error("no memory");
    SEXP handle = PROTECT(R_MakeExternalPtr(p, R_NilValue, R_NilValue));
    R_RegisterCFinalizerEx(handle, finalize, TRUE);
    p->gp = gpm_gp_new();
    p->dim = asInteger(dim);
    check(p, gpm_gp_model(p->gp, p->dim, translateCharUTF8(STRING_ELT(kernel, 0)), asReal(noise)));
    check(p, gpm_gp_set_mean_constant(p->gp, asReal(mean)));
    size_t n;
    const double *at = points(x, p->dim, &n);
    check(p, gpm_gp_add(p->gp, at, REAL(y), n));
    UNPROTECT(1);
    return handle;
}

struct fit {
    struct process *p;
    struct gpm_gp_fit_options o;
    enum gpm_status st;
};

static void do_fit(void *arg) {
    struct fit *f = arg;
    f->st = gpm_gp_fit(f->p->gp, &f->o);
}

SEXP gp_fit(SEXP gp, SEXP seed, SEXP starts, SEXP keep_noise) {
    struct fit f = {.p = process_of(gp)};
    gpm_gp_fit_options_init(&f.o);
    f.o.seed = whole_of(seed, "seed");
    f.o.starts = few_of(starts, "starts");
    f.o.keep_noise = asLogical(keep_noise) == TRUE;
    if (run_beside(do_fit, NULL, NULL, &f)) error("interrupted");
    check(f.p, f.st);
    return gp;
}

/* list(kernel, noise, n, method, log_likelihood, parameters) */
SEXP gp_facts(SEXP gp) {
    static const char *names[] = {"kernel",         "noise",      "n", "method",
                                  "log_likelihood", "parameters", ""};
    struct process *p = process_of(gp);
    double value;
    check(p, gpm_gp_log_likelihood(p->gp, &value));
    SEXP out = PROTECT(mkNamed(VECSXP, names));
    SET_VECTOR_ELT(out, 0, ScalarString(mkCharCE(gpm_gp_kernel(p->gp), CE_UTF8)));
    SET_VECTOR_ELT(out, 1, ScalarReal(gpm_gp_noise(p->gp)));
    SET_VECTOR_ELT(out, 2, ScalarReal((double)gpm_gp_count(p->gp)));
    SET_VECTOR_ELT(out, 3, mkString(gpm_gp_method(p->gp)));
    SET_VECTOR_ELT(out, 4, ScalarReal(value));
    gpm_kernel *k = gpm_gp_get_kernel(p->gp);
    size_t n = gpm_kernel_nparams(k);
    SEXP theta = allocVector(REALSXP, (R_xlen_t)n);
    SET_VECTOR_ELT(out, 5, theta);
    SEXP labels = PROTECT(allocVector(STRSXP, (R_xlen_t)n));
    gpm_kernel_params(k, REAL(theta));
    for (size_t i = 0; i < n; i++)
        SET_STRING_ELT(labels, (R_xlen_t)i, mkChar(gpm_kernel_param_name(k, i)));
    setAttrib(theta, R_NamesSymbol, labels);
    gpm_kernel_free(k);
    UNPROTECT(2);
    return out;
}

/* list(mean, var or cov) */
SEXP gp_predict(SEXP gp, SEXP x, SEXP measured, SEXP covariance) {
    static const char *names[] = {"mean", "var", ""};
    struct process *p = process_of(gp);
    size_t n;
    const double *at = points(x, p->dim, &n);
    bool whole = asLogical(covariance) == TRUE, noisy = asLogical(measured) == TRUE;
    SEXP out = PROTECT(mkNamed(VECSXP, names));
    SEXP mean = allocVector(REALSXP, (R_xlen_t)n);
    SET_VECTOR_ELT(out, 0, mean);
    SEXP var = whole ? allocMatrix(REALSXP, (int)n, (int)n) : allocVector(REALSXP, (R_xlen_t)n);
    SET_VECTOR_ELT(out, 1, var);
    check(p, whole ? gpm_gp_predict_cov(p->gp, at, n, noisy, REAL(mean), REAL(var))
                   : gpm_gp_predict(p->gp, at, n, noisy, REAL(mean), REAL(var)));
    UNPROTECT(1);
    return out;
}

SEXP gp_simulate(SEXP gp, SEXP x, SEXP draws, SEXP seed) {
    struct process *p = process_of(gp);
    size_t n, k = few_of(draws, "nsim");
    const double *at = points(x, p->dim, &n);
    if (k && n > INT_MAX / k) error("%d draws at so many points are too many", (int)k);
    SEXP out = PROTECT(allocMatrix(REALSXP, (int)n, (int)k)); /* a draw follows a draw: columns */
    check(p, gpm_gp_sample(p->gp, at, n, whole_of(seed, "seed"), k, REAL(out)));
    UNPROTECT(1);
    return out;
}

SEXP kernel_rows(void) {
    const char *name, *formula;
    size_t n = 0;
    while (gpm_kernel_row(n, &name, &formula)) n++;
    SEXP out = PROTECT(allocVector(STRSXP, (R_xlen_t)n)),
         names = PROTECT(allocVector(STRSXP, (R_xlen_t)n));
    for (size_t i = 0; i < n && gpm_kernel_row(i, &name, &formula); i++) {
        SET_STRING_ELT(out, (R_xlen_t)i, mkCharCE(formula, CE_UTF8));
        SET_STRING_ELT(names, (R_xlen_t)i, mkCharCE(name, CE_UTF8));
    }
    setAttrib(out, R_NamesSymbol, names);
    UNPROTECT(2);
    return out;
}
