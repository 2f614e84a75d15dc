/* SPDX-License-Identifier: Apache-2.0
 *
 * Gaussian processes as emulators, of known scale or of unknown scale: y | v ~ GP(m, v K, noise
 * v s^2), v = 1 or v ~ InvGamma(a, b), integrated out. With N pairs, L = log|K + s^2 I| and Q the
 * quadratic form,
 *
 *     log p(y) = lgamma(a + N/2) - lgamma(a) + a log b - (a + N/2) log(b + Q/2)
 *                - N/2 log(2 pi) - L/2,          v | y ~ InvGamma(a + N/2, b + Q/2).
 *
 * The Student-t process of df = nu > 2 has a = nu/2, b = (nu - 2)/2, so that K is its covariance
 * (Shah, Wilson, Ghahramani 2014). Bayesian polynomial regression with unknown noise variance v,
 * weights of variance v scale^2, has K = scale^2 (1 + x.x')^degree and s = 1.
 *
 * Makers take [f,] [mean,] kernel [, noise=, ...]: one positional argument is the kernel, two are
 * mean and kernel. Makers of polynomials take only numbers. */
#include "language/rows/emu/emulator.h"

#include "base/mem.h"
#include "gp/process/gp.h"
#include "numeric/dist/dist.h"
#include "numeric/special/special.h"
#include "language/rows/protocol/kernel_value.h"
#include <math.h>
#include <string.h>

/* The parsed arguments of a maker. */
struct model_args {
    struct kern *k;
    struct mean *m; /* NULL: zero */
    double noise;
    double a, b; /* of the scale; a == 0: fixed at 1 */
};

/* Data may arrive that are used under a pending proposal. Then it is accepted early (hardened), and
 * rejecting it sets the old model again. */
struct gp_em {
    struct gp *gp;
    double a, b;
    struct model_args old; /* valid while a proposal is pending */
    double noise;          /* of the proposed one */
    bool pending, hardened;
};

static enum gp_target target(bool measured) {
    return measured ? GP_MEASURED : GP_LATENT;
}

/* ---- arguments of the makers -------------------------------------------------------------- */

/* Positions of mean, kernel and noise among the arguments. */
struct places {
    size_t mean, kernel, noise;
    bool has_mean, has_noise;
};

static struct places places_of(const struct sp_call *c) {
    size_t f = c->cls->special == SPECIAL_GPMEM ? 1 : 0; /* after the source function */
    bool mean = sp_given(c, f + 1);
    return (struct places){f, mean ? f + 1 : f, f + 2, mean, sp_given(c, f + 2)};
}

size_t process_kernel_place(const struct sp_call *c) {
    return places_of(c).kernel;
}

static void args_release(struct model_args *a) {
    kern_unref(a->k);
    if (a->m) mean_unref(a->m);
}

enum gpm_status process_read(struct sp_call *c, struct kern **k, struct mean **m) {
    struct places at = places_of(c);
    *m = NULL;
    *k = kernel_from(c, c->args[at.kernel]);
    if (!*k) return GPM_E_USER;
    if (!at.has_mean || (*m = mean_from(c, c->args[at.mean]))) return GPM_OK;
    kern_unref(*k);
    return GPM_E_USER;
}

static enum gpm_status read_process(struct sp_call *c, struct model_args *out) {
    struct places at = places_of(c);
    if (at.has_noise) {
        value v = c->args[at.noise];
        if (v.tag != V_NUM || !(v.u.num >= 0) || !kern_in_range(v.u.num))
            return sp_error(c, DIAG_DOMAIN,
                            "%s: noise must be a standard deviation, zero or " KERN_RANGE_TEXT,
                            c->cls->name);
        out->noise = v.u.num;
    }
    return process_read(c, &out->k, &out->m);
}

static enum gpm_status number_in(struct sp_call *c, const char *name, double fallback, double above,
                                 double *out) {
    int i = maker_parameter(c, name);
    *out = fallback;
    if (i < 0) return GPM_OK;
    if (c->args[i].tag != V_NUM || !(c->args[i].u.num > above) || isinf(c->args[i].u.num))
        return sp_error(c, DIAG_DOMAIN, "%s: %s must be a number above %g", c->cls->name, name,
                        above);
    *out = c->args[i].u.num;
    return GPM_OK;
}

enum { DEGREE_MAX = 8 };

static enum gpm_status read_polynomial(struct sp_call *c, struct model_args *out) {
    double degree, scale;
    if (number_in(c, "degree", 2, 0, &degree) != GPM_OK ||
        number_in(c, "scale", 10, 0, &scale) != GPM_OK ||
        number_in(c, "shape", 1, 0, &out->a) != GPM_OK ||
        number_in(c, "rate", 1, 0, &out->b) != GPM_OK)
        return GPM_E_USER;
    if (degree > DEGREE_MAX || degree != floor(degree))
        return sp_error(c, DIAG_DOMAIN, "%s: degree must be an integer from 1 to %d", c->cls->name,
                        DEGREE_MAX);
    struct buf text = BUF_INIT; /* the first parameter is scale^2 */
    buf_number(&text, scale * scale);
    for (int i = 0; i < (int)degree; i++) buf_puts(&text, " * (1 + LIN(sf=1))");
    char *why = NULL;
    enum gpm_status st = kern_parse(text.data, &out->k, &why);
    buf_release(&text);
    mem_free(why);
    out->noise = 1;
    return st == GPM_OK ? st : sp_error(c, DIAG_DOMAIN, "%s: scale is too large", c->cls->name);
}

/* Reads the arguments for the emulator of the maker's row. */
static enum gpm_status args_read(struct sp_call *c, struct model_args *out) {
    double df = 2;
    *out = (struct model_args){0};
    if (c->cls->of == &poly_emulator) return read_polynomial(c, out);
    enum gpm_status st = c->cls->of == &tp_emulator ? number_in(c, "df", 5, 2, &df) : GPM_OK;
    if (st == GPM_OK) st = read_process(c, out);
    if (c->cls->of == &tp_emulator) out->a = 0.5 * df;
    out->b = 0.5 * (df - 2);
    return st;
}

static enum gpm_status em_check(struct sp_call *c) {
    struct model_args a;
    enum gpm_status st = args_read(c, &a);
    if (st == GPM_OK) args_release(&a);
    return st;
}

static enum gpm_status does_not_fit(struct sp_call *c, const char *why) {
    return sp_error(c, DIAG_GP_DIMENSION, "%s: %s", c->cls->name,
                    why ? why : "the kernel does not fit the inputs");
}

static void *em_make(struct sp_call *c, int dim) {
    struct model_args a;
    char *why = NULL;
    if (args_read(c, &a) != GPM_OK) return NULL;
    struct gp *g = gp_new(dim, a.k, a.m, a.noise, &why);
    args_release(&a);
    if (!g) (void)!does_not_fit(c, why);
    mem_free(why);
    if (!g) return NULL;
    struct gp_em *e = NEW(struct gp_em);
    *e = (struct gp_em){.gp = g, .a = a.a, .b = a.b};
    if (!e->a) return e;
    gp_set_approx(g, GP_EXACT, 0); /* the quadratic form belongs to the exact matrix */
    gp_set_ways(g, GP_FACTORS);
    return e;
}

static void em_free(void *p) {
    struct gp_em *e = p;
    if (e->pending) args_release(&e->old);
    gp_free(e->gp);
    mem_free(e);
}

/* Copies the process unchanged, with the kernel and mean of this maker call. */
static void copy(struct pack *p, struct gp_em *g) {
    struct gp *from = g->gp, *made = NULL;
    pack_raw(p, &from, sizeof from);
    if (!p->reading) return;
    for (int tries = 0; gp_copy_under(from, g->gp, &made) != GPM_OK; tries++) mem_insist(tries);
    gp_free(g->gp);
    g->gp = made;
}

/* Between transitions no proposal is pending, and the arguments determine the model. */
static void em_pack(struct pack *p, void *e) {
    struct gp_em *g = e;
    if (p->copying) {
        copy(p, g);
        return;
    }
    if (g->pending) pack_fail(p, "a proposal is under way");
    gp_pack(p, g->gp, &kernel_foreign);
}

/* ---- density ------------------------------------------------------------------------------ */

/* The density of the pairs with the scale integrated out, from the log density at scale 1. */
static enum gpm_status mixed(struct gp_em *e, bool proposed, double logml, double noise,
                             double *out) {
    double q;
    *out = logml;
    if (!e->a || logml == -INFINITY) return GPM_OK;
    double a = e->a + 0.5 * (double)gp_ndensity(e->gp, noise);
    enum gpm_status st = gp_quadratic(e->gp, proposed, &q);
    if (st == GPM_OK)
        *out = log_gamma(a) - log_gamma(e->a) + e->a * log(e->b) - a * log(e->b + 0.5 * q) + logml +
               0.5 * q;
    if (st == GPM_E_NOT_PD || isnan(*out)) *out = -INFINITY;
    return st == GPM_E_NOT_PD ? GPM_OK : st;
}

/* -inf if the matrix is not positive definite. */
static enum gpm_status em_log_joint(void *p, double *out) {
    struct gp_em *e = p;
    double logml = -INFINITY;
    enum gpm_status st = gp_logml(e->gp, &logml);
    if (st == GPM_E_NOT_PD) logml = -INFINITY;
    if (st != GPM_OK && st != GPM_E_NOT_PD) return st;
    return mixed(e, false, logml, gp_noise(e->gp), out);
}

static double em_error(void *p, const char **method) {
    struct gp *g = ((struct gp_em *)p)->gp;
    *method = gp_method(g);
    return gp_approx_error(g);
}

/* Call before the data are used under the proposed model. */
static struct gp_em *harden(void *p) {
    struct gp_em *e = p;
    if (!e->pending || e->hardened) return e;
    gp_accept(e->gp);
    e->hardened = true;
    return e;
}

/* By the chain rule, on a copy, which handles replicates and contradictions correctly. */
static enum gpm_status mixed_conditional(struct gp_em *e, bool measured, const double *x,
                                         const double *y, size_t n, double *logpdf) {
    struct gp_em with = *e;
    double before, after;
    enum gpm_status st = em_log_joint(e, &before);
    if (st == GPM_OK) st = gp_copy(e->gp, &with.gp);
    if (st != GPM_OK) return st;
    st = gp_add(with.gp, target(measured), x, y, n);
    if (st == GPM_OK) st = em_log_joint(&with, &after);
    gp_free(with.gp);
    *logpdf = st == GPM_OK && isfinite(before) ? after - before : -INFINITY;
    return st;
}

static enum gpm_status em_conditional(void *p, bool measured, const double *x, const double *y,
                                      size_t n, double *logpdf) {
    struct gp_em *e = harden(p);
    if (e->a) return mixed_conditional(e, measured, x, y, n, logpdf);
    enum gpm_status st = gp_conditional(e->gp, target(measured), x, y, n, logpdf);
    if (st != GPM_E_NOT_PD) return st;
    *logpdf = -INFINITY;
    return GPM_OK;
}

/* With the scale integrated out, the quadratic form has the factor A / B, with the new pairs
 * included. */
static enum gpm_status em_slope(void *p, bool measured, const double *x, const double *y, size_t n,
                                double *dy) {
    struct gp_em *e = harden(p);
    double q = 0, all;
    enum gpm_status st = gp_conditional_slope(e->gp, target(measured), x, y, n, dy, &q);
    if (st != GPM_OK || !e->a) return st;
    st = gp_quadratic(e->gp, false, &all);
    double a = e->a + 0.5 * ((double)gp_ndensity(e->gp, gp_noise(e->gp)) + (double)n);
    for (size_t i = 0; i < n; i++) dy[i] *= a / (e->b + 0.5 * (all + q));
    return st;
}

static enum gpm_status prior_mean(void *gp, const double *x, double *m) {
    struct kern_pts at = {.x = x, .n = 1, .ld = 1, .dim = gp_dim(gp)};
    return mean_eval(gp_mean(gp), at, m);
}

/* The variance is at least a trillionth of the prior variance, which rounding may lose. */
static enum gpm_status em_predict(void *p, bool measured, const double *x, double at[2],
                                  double *dmean, double *dsd) {
    struct gp_em *e = harden(p);
    size_t d = (size_t)gp_dim(e->gp);
    struct kern_pts point = {.x = x, .n = 1, .ld = 1, .dim = gp_dim(e->gp)};
    double var, before = 0, noise = measured ? gp_noise(e->gp) : 0;
    memset(dmean, 0, d * sizeof *dmean);
    memset(dsd, 0, d * sizeof *dsd);
    if (e->a) return GPM_E_LIMIT;
    enum gpm_status st = kern_diag(gp_kern(e->gp), point, &before);
    if (st == GPM_OK && gp_mean(e->gp))
        st = kern_differences(prior_mean, e->gp, x, gp_dim(e->gp), 1e-2, dmean);
    if (st != GPM_OK) return st;
    double *slope = NEW_ARRAY(double, d);
    bool data = gp_n(e->gp) > 0;
    st = data ? gp_point(e->gp, x, at, &var) : gp_predict(e->gp, x, 1, GP_LATENT, at, &var);
    at[1] = sqrt(fmax(var, 1e-12 * before) + noise * noise);
    if (st == GPM_OK && data) st = gp_point_slope(e->gp, 1, 0, slope);
    for (size_t i = 0; st == GPM_OK && data && i < d; i++) dmean[i] += slope[i];
    if (st == GPM_OK && data) st = gp_point(e->gp, x, at, &var);
    if (st == GPM_OK && data) st = gp_point_slope(e->gp, 0, 0.5 / at[1], dsd);
    mem_free(slope);
    return st;
}

/* Draws the scale from its posterior, then the Gaussian process at that scale: the draw is linear
 * in z. */
static enum gpm_status em_sample(void *p, const double *x, size_t n, bool measured, struct rng *rng,
                                 double *out) {
    struct gp_em *e = harden(p);
    double small[16], *z = n <= COUNT_OF(small) ? small : mem_try_doubles(n), sd = 1;
    enum gpm_status st = GPM_OK;
    if (!z) return GPM_E_NOMEM;
    if (e->a) {
        double q = 0;
        st = gp_quadratic(e->gp, false, &q);
        double a = e->a + 0.5 * (double)gp_ndensity(e->gp, gp_noise(e->gp)), b = e->b + 0.5 * q;
        sd = exp(0.5 * (log(b) - draw_log_gamma(rng, a)));
    }
    for (size_t i = 0; i < n; i++) z[i] = sd * rng_normal(rng);
    if (st == GPM_OK) st = gp_sample(e->gp, x, n, target(measured), z, out);
    if (z != small) mem_free(z);
    return st;
}

/* ---- data and parameters ------------------------------------------------------------------ */

static enum gpm_status em_add(void *p, bool measured, const double *x, const double *y, size_t n) {
    return gp_add(harden(p)->gp, target(measured), x, y, n);
}

static enum gpm_status em_remove(void *p, bool measured, const double *x, const double *y) {
    return gp_remove(harden(p)->gp, target(measured), x, *y);
}

static size_t em_n_pairs(void *p) {
    return gp_npairs(((struct gp_em *)p)->gp);
}

static void em_pair(void *p, size_t i, double *x, double *y) {
    gp_pair(((struct gp_em *)p)->gp, i, x, y);
}

/* Stores the old model after the proposal: until accepted, the process itself still has it. */
static enum gpm_status em_propose(void *p, struct sp_call *c, double *log_joint) {
    struct gp_em *e = p;
    struct model_args new;
    double logml = -INFINITY;
    enum gpm_status st = args_read(c, &new);
    if (st != GPM_OK) return st;
    st = gp_propose(e->gp, new.k, new.m, new.noise, &logml);
    args_release(&new);
    if (st == GPM_E_DEVICE)
        return sp_error(c, DIAG_LIMIT, "%s: %s", c->cls->name, gp_status_text(st));
    if (st != GPM_OK) return st == GPM_E_USER ? st : does_not_fit(c, NULL);
    const struct mean *m = gp_mean(e->gp);
    e->old = (struct model_args){kern_ref(gp_kern(e->gp)), m ? mean_ref(m) : NULL, gp_noise(e->gp),
                                 e->a, e->b};
    e->a = new.a;
    e->b = new.b;
    e->noise = new.noise;
    e->pending = true;
    e->hardened = false;
    return mixed(e, true, logml, new.noise, log_joint);
}

static void forget_proposal(struct gp_em *e) {
    args_release(&e->old);
    e->pending = e->hardened = false;
}

static void em_accept(void *p) {
    struct gp_em *e = p;
    if (!e->hardened) gp_accept(e->gp);
    forget_proposal(e);
}

/* A hardened proposal is already the process's model. Setting the old model again costs a
 * factorisation. */
static void em_reject(void *p) {
    struct gp_em *e = p;
    const struct model_args *old = &e->old;
    if (!e->hardened || gp_set_model(e->gp, old->k, old->m, old->noise) != GPM_OK) gp_reject(e->gp);
    e->a = old->a;
    e->b = old->b;
    forget_proposal(e);
}

/* ---- gradients ---------------------------------------------------------------------------- */

/* With A = a + N/2, B = b + Q/2 the quadratic form has the factor A / B, and
 *     d/da = digamma(A) - digamma(a) + log(b / B),    d/db = a / b - A / B. */
struct slopes {
    double weight, da, db;
};

static enum gpm_status no_gradient(struct sp_call *c, enum gpm_status st) {
    if (st == GPM_OK || st == GPM_E_USER) return st;
    if (st == GPM_E_LIMIT)
        return sp_error(c, DIAG_NO_GRADIENT, "%s: too many data for a gradient", c->cls->name);
    return sp_error(c, DIAG_GP_NUMERIC, "%s: the covariance matrix is not positive definite",
                    c->cls->name);
}

static enum gpm_status slopes_of(struct gp_em *e, struct sp_call *c, struct slopes *out) {
    double q, noise = e->pending && !e->hardened ? e->noise : gp_noise(e->gp);
    *out = (struct slopes){1, 0, 0};
    if (!e->a) return GPM_OK;
    enum gpm_status st = no_gradient(c, gp_quadratic(e->gp, true, &q));
    if (st != GPM_OK) return st;
    double a = e->a + 0.5 * (double)gp_ndensity(e->gp, noise), b = e->b + 0.5 * q;
    *out = (struct slopes){a / b, digamma(a) - digamma(e->a) + log(e->b / b), e->a / e->b - a / b};
    return GPM_OK;
}

static void give(const struct sp_call *c, const char *name, double d, value *dargs) {
    int i = maker_parameter(c, name);
    if (i >= 0) dargs[i] = value_num(d);
}

void process_give(const struct sp_call *c, value dk, value dm, double dnoise, value *dargs) {
    struct places at = places_of(c);
    dargs[at.kernel] = c->args[at.kernel].tag == V_PROC ? ABSENT : value_ref(dk);
    if (at.has_mean) {
        value m = c->args[at.mean];
        dargs[at.mean] = m.tag == V_PROC   ? ABSENT
                         : !dm.u.vector->n ? NIL
                         : m.tag == V_NUM  ? value_num(dm.u.vector->at[0])
                                           : value_ref(dm);
    }
    if (at.has_noise) dargs[at.noise] = value_num(dnoise);
}

/* The gradient of the log density under the model of the call, which may be the proposed one. */
static enum gpm_status em_gradient(void *p, struct sp_call *c, value *dargs) {
    struct gp_em *e = p;
    struct slopes s;
    struct model_args a;
    double logml, dnoise, scale = 0;
    bool polynomial = c->cls->of == &poly_emulator;
    enum gpm_status st = slopes_of(e, c, &s);
    if (st == GPM_OK) st = args_read(c, &a);
    if (st != GPM_OK) return st;
    value dk = value_vector_new(kern_nparam(a.k)), dm = value_vector_new(mean_nparam(a.m));
    args_release(&a);
    st = no_gradient(
        c, gp_grad_weighted(e->gp, s.weight, &logml, dk.u.vector->at, dm.u.vector->at, &dnoise));
    if (st == GPM_OK && polynomial) st = number_in(c, "scale", 10, 0, &scale);
    if (st == GPM_OK && !polynomial) process_give(c, dk, dm, dnoise, dargs);
    if (st == GPM_OK) { /* a maker may have some of these parameters */
        give(c, "df", 0.5 * (s.da + s.db), dargs);
        give(c, "scale", 2 * scale * dk.u.vector->at[0], dargs);
        give(c, "shape", s.da, dargs);
        give(c, "rate", s.db, dargs);
    }
    value_unref(dk);
    value_unref(dm);
    return st;
}

#define PROCESS(text, ...)                                                                         \
    {                                                                                              \
        .name = text, .sample = em_sample, .conditional = em_conditional, .slope = em_slope,       \
        .predict = em_predict, .add = em_add, .remove = em_remove, .log_joint = em_log_joint,      \
        .error = em_error, .n_pairs = em_n_pairs, .pair = em_pair, .propose = em_propose,          \
        .accept = em_accept, .reject = em_reject, .gradient = em_gradient, .free = em_free,        \
        .pack = em_pack, .make = em_make, .check = em_check, __VA_ARGS__                           \
    }
const struct emulator_class gp_emulator =
    PROCESS("Gaussian process", .with_likelihood = &laplace_emulator);
const struct emulator_class tp_emulator = PROCESS("Student-t process", .with_likelihood = NULL);
const struct emulator_class poly_emulator =
    PROCESS("polynomial regression", .with_likelihood = NULL);
