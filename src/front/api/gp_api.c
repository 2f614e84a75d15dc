/* SPDX-License-Identifier: Apache-2.0
 *
 * Public face of the Gaussian processes (include/gpmem/gp.h).
 */
#include "numeric/la/parts.h"
#include "gpmem/gp.h"
#include "front/api/call.h"
#include "front/api/device.h"
#include "base/count.h"
#include "io/gpu/gpu.h"
#include "gp/process/gp.h"
#include "gp/way/gp_path.h"
#include "gp/kernel/kern_class.h"
#include "gp/process/mean.h"
#include "numeric/optim/optim.h"
#include "numeric/special/rng.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

struct gpm_gp {
    struct gp *gp; /* NULL before the model is set */
    HANDLE;
};

struct gpm_kernel {
    struct kern *k;
    struct buf text;
};

gpm_gp *gpm_gp_new(void) {
    return HANDLE_NEW(gpm_gp);
}

void gpm_gp_free(gpm_gp *g) {
    if (!g) return;
    gp_free(g->gp);
    HANDLE_FREE(g);
}

const char *gpm_gp_error(const gpm_gp *g) {
    return g->err.data;
}

static enum gpm_status fail(gpm_gp *g, enum gpm_status st, const char *what) {
    buf_reset(&g->err);
    return buf_fail(&g->err, st, "%s", what);
}

/* Every call on a model begins here. */
static enum gpm_status gp_api_begin(gpm_gp *g) {
    enum gpm_status st = call_begin(&g->err);
    if (st || g->gp) return st;
    return fail(g, GPM_E_ARG, "the Gaussian process has no model yet: call gpm_gp_model first");
}

/* And ends here. */
static enum gpm_status end(gpm_gp *g, enum gpm_status st) {
    if (!st) return GPM_OK;
    if (st == GPM_E_LIMIT && g->gp) {
        buf_reset(&g->err);
        gp_refusal(g->gp, &g->err);
        if (g->err.len) return st;
    }
    return fail(g, st,
                st == GPM_E_NOT_PD ? "the covariance matrix is singular: give some noise, "
                                     "or take out inputs that are nearly equal"
                                   : gp_status_text(st));
}

static enum gpm_status begin_at(gpm_gp *g, const double *x, size_t n) {
    enum gpm_status st = gp_api_begin(g);
    if (st || kern_all_bounded(x, n * (size_t)gp_dim(g->gp))) return st;
    return fail(g, GPM_E_ARG, "an input is not a number below 1e150 in size");
}

/* Takes *why. */
static enum gpm_status fail_why(gpm_gp *g, enum gpm_status st, char *why) {
    fail(g, st, why ? why : gpm_status_text(st));
    mem_free(why);
    return st;
}

/* A new process where the old one, which keeps its data, is not of this dimension. The new one
 * tells in any case why the model does not fit. */
static enum gpm_status set_model(gpm_gp *g, int dim, const struct kern *k, bool keep_mean,
                                 double noise) {
    char *why = NULL;
    enum gpm_status st = count_check(COUNT_DIM, "the dimension", (uint64_t)dim, &g->err);
    if (st) return st;
    struct gp *fresh = gp_new(dim, k, NULL, noise, &why);
    if (!fresh) return fail_why(g, GPM_E_ARG, why);
    if (g->gp && gp_dim(g->gp) == dim) {
        gp_free(fresh);
        return end(g, gp_set_model(g->gp, k, keep_mean ? gp_mean(g->gp) : NULL, noise));
    }
    gp_free(g->gp);
    g->gp = fresh;
    return GPM_OK;
}

enum gpm_status gpm_gp_model(gpm_gp *g, int dim, const char *kernel, double noise) {
    struct kern *k = NULL;
    char *why = NULL;
    enum gpm_status st = call_begin(&g->err);
    if (st) return st;
    st = kern_parse(kernel, &k, &why);
    if (st) return fail_why(g, st, why);
    st = set_model(g, dim, k, false, noise);
    kern_unref(k);
    return st;
}

enum gpm_status gpm_gp_set_kernel(gpm_gp *g, int dim, const gpm_kernel *k, double noise) {
    enum gpm_status st = call_begin(&g->err);
    return st ? st : set_model(g, dim, k->k, true, noise);
}

enum gpm_status gpm_gp_add(gpm_gp *g, const double *x, const double *y, size_t n) {
    enum gpm_status st = begin_at(g, x, n);
    if (st) return st;
    if (!kern_all_bounded(y, n))
        return fail(g, GPM_E_ARG, "a value is not a number below 1e150 in size");
    return end(g, gp_add(g->gp, GP_MEASURED, x, y, n));
}

void gpm_gp_clear(gpm_gp *g) {
    if (g->gp) gp_clear(g->gp);
}

/* ---- fitting: z holds the unconstrained parameters of the kernel, then log noise ---- */

static const struct gpm_gp_fit_options default_fit = {.seed = 1, .range = 1e5};

void gpm_gp_fit_options_init_sized(struct gpm_gp_fit_options *o, size_t size) {
    options_give(o, size, &default_fit, sizeof default_fit);
}

struct fit {
    struct gp *gp;
    struct kern *shape; /* owned; its parameters are those at the start */
    size_t np, n;       /* parameters of the kernel; of the search */
    double noise;       /* when it is kept */
    bool free_noise;
    double *z0, *lower, *upper, *theta, *dtheta, *grad;
};

static enum gpm_status set_point(struct fit *f, const double *z) {
    kern_constrain(f->shape, z, f->theta, f->dtheta);
    struct kern *k = kern_with_params(f->shape, f->theta, NULL);
    if (!k) return GPM_E_ARG;
    double noise = f->free_noise ? exp(z[f->np]) : f->noise;
    enum gpm_status st = gp_set_model(f->gp, k, gp_mean(f->gp), noise);
    kern_unref(k);
    return st;
}

static double objective(void *ctx, const double *z, double *grad) {
    struct fit *f = ctx;
    double logml = -INFINITY, dnoise = 0;
    enum gpm_status st = set_point(f, z);
    if (!st) st = gp_logml_grad(f->gp, &logml, f->grad, &dnoise);
    if (st || !isfinite(logml)) return INFINITY;
    for (size_t i = 0; i < f->np; i++) grad[i] = -f->grad[i] * f->dtheta[i];
    if (f->free_noise) grad[f->np] = -dnoise * exp(z[f->np]);
    /* A fixed parameter passes through unchanged; its bounds hold it. */
    for (size_t i = 0; i < f->n; i++)
        if (f->lower[i] == f->upper[i]) grad[i] = 0;
    return -logml;
}

static void fit_init(struct fit *f, struct gp *gp, const struct gpm_gp_fit_options *o) {
    f->gp = gp;
    f->shape = kern_ref(gp_kern(gp));
    f->np = kern_nparam(f->shape);
    f->noise = gp_noise(gp);
    f->free_noise = !o->keep_noise && f->noise > 0;
    f->n = f->np + (f->free_noise ? 1 : 0);
    double **at[] = {&f->z0, &f->lower, &f->upper, &f->theta, &f->dtheta, &f->grad};
    double *all = NEW_ARRAY(double, COUNT_OF(at) * (f->n + 1));
    for (size_t i = 0; i < COUNT_OF(at); i++) *at[i] = all + i * (f->n + 1);
    kern_params(f->shape, f->theta);
    kern_unconstrain(f->shape, f->theta, f->z0);
    if (f->free_noise) f->z0[f->np] = log(f->noise);
    for (size_t i = 0; i < f->n; i++) {
        enum kern_transform t =
            i < f->np ? kern_param_at(f->shape, i)->transform : KERN_T_LOG; /* the noise */
        double half = t == KERN_T_FIXED  ? 0
                      : t == KERN_T_LOG  ? log(o->range)
                      : t == KERN_T_NONE ? 1e3
                                         : 8;
        f->lower[i] = f->z0[i] - half;
        f->upper[i] = f->z0[i] + half;
    }
}

/* Start s: the current parameters, then random points within a factor of about 30 of them. */
static void start_point(const struct fit *f, unsigned s, struct rng *r, double *z) {
    for (size_t i = 0; i < f->n; i++) {
        double half = fmin(3.4, f->upper[i] - f->z0[i]);
        z[i] = s ? f->z0[i] + half * (2 * rng_uniform(r) - 1) : f->z0[i];
    }
}

enum gpm_status gpm_gp_fit(gpm_gp *g, const struct gpm_gp_fit_options *given) {
    enum gpm_status st = gp_api_begin(g);
    if (st) return st;
    struct gpm_gp_fit_options full = default_fit;
    const struct gpm_gp_fit_options *o = &full;
    options_take(&full, sizeof full, given);
    if (!(o->range > 1)) return fail(g, GPM_E_ARG, "the range of a fit is a factor above 1");
    st = count_check(COUNT_STARTS, "starts", o->starts, &g->err);
    if (st) return st;
    struct fit f;
    unsigned long shortages = mem_shortages();
    fit_init(&f, g->gp, o);
    double *z = NEW_ARRAY(double, 2 * f.n + 1), *best = z + f.n, found = INFINITY;
    struct rng r;
    rng_init(&r, o->seed, 0, 0);
    struct optim_options opt = OPTIM_OPTIONS_INIT;
    opt.lower = f.lower;
    opt.upper = f.upper;
    for (unsigned s = 0; s <= o->starts && f.n > 0; s++) {
        start_point(&f, s, &r, z);
        double reached = optim_minimise(objective, &f, f.n, z, &opt);
        if (reached < found) {
            found = reached;
            memcpy(best, z, f.n * sizeof *z);
        }
    }
    /* Where no start had a finite likelihood the model stays as it was; so it does when memory was
     * short, since a likelihood that could not be had is no maximum's. */
    bool was_short = mem_shortages() != shortages;
    st = f.n == 0 ? GPM_OK : set_point(&f, found < INFINITY && !was_short ? best : f.z0);
    if (!st && f.n && !(found < INFINITY)) st = GPM_E_NOT_PD;
    if (was_short) st = GPM_E_NOMEM;
    mem_free(z);
    kern_unref(f.shape);
    mem_free(f.z0);
    return end(g, st);
}

/* ---- answers ---- */

enum gpm_status gpm_gp_log_likelihood(gpm_gp *g, double *out) {
    enum gpm_status st = gp_api_begin(g);
    return st ? st : end(g, gp_logml(g->gp, out));
}

enum gpm_status gpm_gp_predict(gpm_gp *g, const double *x, size_t n, bool measured, double *mean,
                               double *var) {
    enum gpm_status st = begin_at(g, x, n);
    if (st) return st;
    return end(g, gp_predict(g->gp, x, n, measured ? GP_MEASURED : GP_LATENT, mean, var));
}

enum gpm_status gpm_gp_predict_cov(gpm_gp *g, const double *x, size_t n, bool measured,
                                   double *mean, double *cov) {
    enum gpm_status st = begin_at(g, x, n);
    if (st) return st;
    return end(g, gp_predict_cov(g->gp, x, n, measured ? GP_MEASURED : GP_LATENT, mean, cov, n));
}

enum gpm_status gpm_gp_sample(gpm_gp *g, const double *x, size_t n, uint64_t seed, size_t draws,
                              double *out) {
    enum gpm_status st = begin_at(g, x, n);
    if (st) return st;
    double *z = mem_try_doubles(n ? n : 1);
    if (!z) return end(g, GPM_E_NOMEM);
    struct rng r;
    rng_init(&r, seed, 0, 0);
    for (size_t d = 0; d < draws && !st; d++) {
        for (size_t i = 0; i < n; i++) z[i] = rng_normal(&r);
        st = gp_sample(g->gp, x, n, GP_LATENT, z, out + d * n);
    }
    mem_free(z);
    return end(g, st);
}

const char *gpm_gp_kernel(gpm_gp *g) {
    buf_reset(&g->out);
    if (g->gp) kern_print(gp_kern(g->gp), &g->out);
    return g->out.data;
}

double gpm_gp_noise(const gpm_gp *g) {
    return g->gp ? gp_noise(g->gp) : 0;
}

size_t gpm_gp_count(const gpm_gp *g) {
    return g->gp ? gp_npairs(g->gp) : 0;
}

const char *gpm_gp_method(const gpm_gp *g) {
    return g->gp ? gp_method(g->gp) : "none";
}

double gpm_gp_likelihood_error(const gpm_gp *g) {
    return g->gp ? gp_approx_error(g->gp) : 0;
}

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
    enum gpm_status st = gp_api_begin(g);
    if (!st) st = end(g, gp_set_model(g->gp, gp_kern(g->gp), m, gp_noise(g->gp)));
    mean_unref(m);
    return st;
}

enum gpm_status gpm_gp_set_mean_constant(gpm_gp *g, double c) {
    if (!isfinite(c)) return fail(g, GPM_E_ARG, "the mean must be a finite number");
    return take_mean(g, mean_const(c));
}

enum gpm_status gpm_gp_set_mean_linear(gpm_gp *g, double a, const double *slopes) {
    enum gpm_status st = gp_api_begin(g);
    return st ? st : take_mean(g, mean_linear(a, slopes, (size_t)gp_dim(g->gp)));
}

enum gpm_status gpm_gp_set_mean_function(gpm_gp *g, gpm_mean_fn fn, void *user,
                                         void (*drop)(void *user)) {
    return take_mean(g, mean_callback(fn, user, drop, NULL));
}

enum gpm_status gpm_gp_set_approximation(gpm_gp *g, enum gpm_approximation kind, size_t size) {
    static const enum gp_approx map[] = {GP_AUTO, GP_EXACT, GP_INDUCING, GP_VECCHIA, GP_LOW_RANK};
    enum gpm_status st = gp_api_begin(g);
    if (st) return st;
    if ((unsigned)kind >= COUNT_OF(map)) return fail(g, GPM_E_ARG, "no such approximation");
    st = count_check(COUNT_FEATURES, "the size of an approximation", size, &g->err);
    if (st) return st;
    gp_set_approx(g->gp, map[kind], size);
    return GPM_OK;
}

void gpm_parts(unsigned part, unsigned parts, gpm_sum_fn *sum, void *user) {
    parts_set(part, parts, sum, user);
}

unsigned gpm_parts_number(void) {
    return parts_number();
}

unsigned gpm_parts_count(void) {
    return parts_count();
}

enum gpm_status gpm_gp_set_cache(gpm_gp *g, size_t bytes) {
    enum gpm_status st = gp_api_begin(g);
    if (!st) gp_set_budget(g->gp, bytes);
    return st;
}

enum gpm_status gpm_gp_set_device(gpm_gp *g, const char *device) {
    enum gp_device d;
    enum gpm_status st = gp_api_begin(g);
    if (st) return st;
    if (!device_named(device, &d)) return fail(g, GPM_E_ARG, "a device is cpu, gpu or auto");
    if (d == GP_ON_GPU && gpu_open()) return end(g, GPM_E_DEVICE);
    gp_set_device(g->gp, d);
    return GPM_OK;
}

enum gpm_status gpm_gp_remove(gpm_gp *g, const double *x, double y) {
    enum gpm_status st = gp_api_begin(g);
    return st ? st : end(g, gp_remove(g->gp, GP_MEASURED, x, y));
}

enum gpm_status gpm_gp_log_likelihood_grad(gpm_gp *g, double *value, double *dkernel,
                                           double *dnoise) {
    enum gpm_status st = gp_api_begin(g);
    return st ? st : end(g, gp_logml_grad(g->gp, value, dkernel, dnoise));
}

enum gpm_status gpm_gp_propose(gpm_gp *g, const gpm_kernel *k, double noise, double *value) {
    enum gpm_status st = gp_api_begin(g);
    return st ? st : end(g, gp_propose(g->gp, k->k, gp_mean(g->gp), noise, value));
}

void gpm_gp_accept(gpm_gp *g) {
    if (g->gp) gp_accept(g->gp);
}
void gpm_gp_reject(gpm_gp *g) {
    if (g->gp) gp_reject(g->gp);
}

enum gpm_status gpm_gp_conditional(gpm_gp *g, const double *x, const double *y, size_t n,
                                   double *logpdf) {
    enum gpm_status st = begin_at(g, x, n);
    return st ? st : end(g, gp_conditional(g->gp, GP_MEASURED, x, y, n, logpdf));
}

enum gpm_status gpm_gp_loo(gpm_gp *g, double *mean, double *var, double *logpdf) {
    enum gpm_status st = gp_api_begin(g);
    if (!st && (st = gp_loo(g->gp, mean, var, logpdf)) == GPM_E_LIMIT)
        return fail(g, st, "leave-one-out needs the exact method");
    return st ? st : end(g, st);
}

const char *gpm_gp_report(gpm_gp *g) {
    buf_reset(&g->out);
    enum gpm_status st = g->gp ? gp_report(g->gp, &g->out) : GPM_E_ARG;
    if (st) buf_puts(&g->out, gpm_status_text(st));
    return g->out.data;
}

/* ---- paths: a gpm_path is a gp_path ---- */

enum gpm_status gpm_path_new(gpm_gp *g, size_t features, uint64_t seed, gpm_path **out) {
    struct gp_path *p = NULL;
    struct rng r;
    enum gpm_status st = gp_api_begin(g);
    if (st) return st;
    st = count_check(COUNT_FEATURES, "the number of features", features, &g->err);
    if (st) return st;
    rng_init(&r, seed, 0, 0);
    st = gp_path_new(g->gp, features, &r, &p);
    if (st == GPM_E_LIMIT) return fail(g, st, "paths need the exact method");
    if (st) return end(g, st);
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
