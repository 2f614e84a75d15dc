/* SPDX-License-Identifier: Apache-2.0
 *
 * The rest of the public face of the Gaussian processes (include/gpmem/gp.h): kernels as handles,
 * mean functions, approximations, gradients, proposals, leave-one-out, paths, reports.
 */
#include "gpmem/gp.h"

#include "api/gp_handle.h"
#include "base/mem.h"
#include "gp/gp_path.h"
#include "gp/kern_class.h"
#include "gp/kernel.h"
#include "gp/mean.h"
#include "math/rng.h"

#include <math.h>
#include <stdio.h>

/* Moves an owned message into the caller's buffer. */
static void tell(char *why, char *err, size_t size) {
    if (err && size) snprintf(err, size, "%s", why ? why : "");
    mem_free(why);
}

static gpm_kernel *wrap(struct kern *take) {
    if (!take) return NULL;
    gpm_kernel *k = NEW(gpm_kernel);
    k->k = take;
    buf_init(&k->text);
    return k;
}

/* ---- kernels ---- */

enum gpm_status gpm_kernel_parse(const char *text, gpm_kernel **out, char *err, size_t err_size) {
    struct kern *k = NULL;
    char *why = NULL;
    enum gpm_status st = text ? kern_parse(text, &k, &why) : GPM_E_ARG;
    tell(why, err, err_size);
    if (!st) *out = wrap(k);
    return st;
}

gpm_kernel *gpm_kernel_function(gpm_covariance_fn fn, void *user, void (*drop)(void *user),
                                const char *label) {
    return wrap(kern_callback(fn, user, drop, label));
}

gpm_kernel *gpm_kernel_copy(const gpm_kernel *k) {
    return wrap(kern_ref(k->k));
}

void gpm_kernel_free(gpm_kernel *k) {
    if (!k) return;
    kern_unref(k->k);
    buf_release(&k->text);
    mem_free(k);
}

gpm_kernel *gpm_kernel_sum(const gpm_kernel *a, const gpm_kernel *b) {
    return wrap(kern_sum(a->k, b->k));
}
gpm_kernel *gpm_kernel_product(const gpm_kernel *a, const gpm_kernel *b) {
    return wrap(kern_product(a->k, b->k));
}
gpm_kernel *gpm_kernel_scale(double variance, const gpm_kernel *k) {
    return wrap(kern_scale(variance, k->k));
}
gpm_kernel *gpm_kernel_simplify(const gpm_kernel *k) {
    return wrap(kern_simplify(k->k));
}

const char *gpm_kernel_text(gpm_kernel *k) {
    buf_reset(&k->text);
    kern_print(k->k, &k->text);
    return k->text.data;
}

const char *gpm_kernel_structure(gpm_kernel *k) {
    buf_reset(&k->text);
    return kern_struct(k->k, &k->text) == GPM_OK ? k->text.data : NULL;
}

enum gpm_status gpm_kernel_contains(const gpm_kernel *k, const char *structure, int *yes) {
    bool b = false;
    enum gpm_status st = kern_contains(k->k, structure, &b, NULL);
    if (!st) *yes = b;
    return st;
}

enum gpm_status gpm_kernel_eval(const gpm_kernel *k, const double *x1, const double *x2, int dim,
                                double *out) {
    return dim < 1 ? GPM_E_ARG : kern_eval(k->k, x1, x2, dim, out);
}

size_t gpm_kernel_nparams(const gpm_kernel *k) {
    return kern_nparam(k->k);
}
void gpm_kernel_params(const gpm_kernel *k, double *theta) {
    kern_params(k->k, theta);
}

const char *gpm_kernel_param_name(gpm_kernel *k, size_t i) {
    buf_reset(&k->text);
    kern_param_name(k->k, i, &k->text);
    return k->text.data;
}

enum gpm_status gpm_kernel_with_params(const gpm_kernel *k, const double *theta, gpm_kernel **out,
                                       char *err, size_t err_size) {
    char *why = NULL;
    gpm_kernel *q = wrap(kern_with_params(k->k, theta, &why));
    tell(why, err, err_size);
    if (!q) return GPM_E_ARG;
    *out = q;
    return GPM_OK;
}

int gpm_kernel_row(size_t i, const char **name, const char **formula) {
    const struct kern_class *row = kern_class_at(i);
    if (!row) return 0;
    *name = row->name;
    *formula = row->doc;
    return 1;
}

/* ---- Gaussian processes ---- */

gpm_kernel *gpm_gp_get_kernel(const gpm_gp *g) {
    return g->gp ? wrap(kern_ref(gp_kern(g->gp))) : NULL;
}

enum gpm_status gpm_gp_copy(const gpm_gp *g, gpm_gp **out) {
    struct gp *c = NULL;
    enum gpm_status st = g->gp ? gp_copy(g->gp, &c) : GPM_OK;
    if (st) return st;
    *out = gpm_gp_new();
    (*out)->gp = c;
    return GPM_OK;
}

static enum gpm_status take_mean(gpm_gp *g, struct mean *m) {
    enum gpm_status st = gp_call_begin(g);
    if (!st) st = gp_call_end(g, gp_set_model(g->gp, gp_kern(g->gp), m, gp_noise(g->gp)));
    mean_unref(m);
    return st;
}

enum gpm_status gpm_gp_set_mean_constant(gpm_gp *g, double c) {
    if (!isfinite(c)) return gp_call_fail(g, GPM_E_ARG, "the mean must be a finite number");
    return take_mean(g, mean_const(c));
}

enum gpm_status gpm_gp_set_mean_linear(gpm_gp *g, double a, const double *slopes) {
    enum gpm_status st = gp_call_begin(g);
    return st ? st : take_mean(g, mean_linear(a, slopes, (size_t)gp_dim(g->gp)));
}

enum gpm_status gpm_gp_set_mean_function(gpm_gp *g, gpm_mean_fn fn, void *user,
                                         void (*drop)(void *user)) {
    return take_mean(g, mean_callback(fn, user, drop, NULL));
}

enum gpm_status gpm_gp_set_approximation(gpm_gp *g, enum gpm_approximation kind, size_t size) {
    static const enum gp_approx map[] = {GP_AUTO, GP_EXACT, GP_INDUCING, GP_VECCHIA};
    enum gpm_status st = gp_call_begin(g);
    if (st) return st;
    if ((unsigned)kind >= COUNT_OF(map)) return gp_call_fail(g, GPM_E_ARG, "no such approximation");
    gp_set_approx(g->gp, map[kind], size);
    return GPM_OK;
}

enum gpm_status gpm_gp_set_cache(gpm_gp *g, size_t bytes) {
    enum gpm_status st = gp_call_begin(g);
    if (!st) gp_set_budget(g->gp, bytes);
    return st;
}

enum gpm_status gpm_gp_remove(gpm_gp *g, const double *x, double y) {
    enum gpm_status st = gp_call_begin(g);
    return st ? st : gp_call_end(g, gp_remove(g->gp, GP_MEASURED, x, y));
}

enum gpm_status gpm_gp_log_likelihood_grad(gpm_gp *g, double *value, double *dkernel,
                                           double *dnoise) {
    enum gpm_status st = gp_call_begin(g);
    return st ? st : gp_call_end(g, gp_logml_grad(g->gp, value, dkernel, dnoise));
}

enum gpm_status gpm_gp_propose(gpm_gp *g, const gpm_kernel *k, double noise, double *value) {
    enum gpm_status st = gp_call_begin(g);
    return st ? st : gp_call_end(g, gp_propose(g->gp, k->k, gp_mean(g->gp), noise, value));
}

void gpm_gp_accept(gpm_gp *g) {
    if (g->gp) gp_accept(g->gp);
}
void gpm_gp_reject(gpm_gp *g) {
    if (g->gp) gp_reject(g->gp);
}

enum gpm_status gpm_gp_conditional(gpm_gp *g, const double *x, const double *y, size_t n,
                                   double *logpdf) {
    enum gpm_status st = gp_call_points(g, x, n);
    return st ? st : gp_call_end(g, gp_conditional(g->gp, GP_MEASURED, x, y, n, logpdf));
}

enum gpm_status gpm_gp_loo(gpm_gp *g, double *mean, double *var, double *logpdf) {
    enum gpm_status st = gp_call_begin(g);
    if (!st && (st = gp_loo(g->gp, mean, var, logpdf)) == GPM_E_LIMIT)
        return gp_call_fail(g, st, "leave-one-out needs the exact method");
    return st ? st : gp_call_end(g, st);
}

const char *gpm_gp_report(gpm_gp *g) {
    struct gp_report r;
    buf_reset(&g->text);
    enum gpm_status st = g->gp ? gp_report(g->gp, &r, &g->text) : GPM_E_ARG;
    if (st) buf_puts(&g->text, gpm_status_text(st));
    return g->text.data;
}

/* ---- paths: a gpm_path is a gp_path ---- */

enum gpm_status gpm_path_new(gpm_gp *g, size_t features, uint64_t seed, gpm_path **out) {
    struct gp_path *p = NULL;
    struct rng r;
    enum gpm_status st = gp_call_begin(g);
    if (st) return st;
    rng_init(&r, seed, 0, 0);
    st = gp_path_new(g->gp, features, &r, &p);
    if (st == GPM_E_LIMIT) return gp_call_fail(g, st, "paths need the exact method");
    if (st) return gp_call_end(g, st);
    *out = (gpm_path *)p;
    return GPM_OK;
}

void gpm_path_free(gpm_path *p) {
    gp_path_free((struct gp_path *)p);
}

enum gpm_status gpm_path_eval(const gpm_path *p, const double *x, size_t n, double *f,
                              double *grad) {
    return gp_path_eval((struct gp_path *)p, x, n, f, grad);
}
