/* SPDX-License-Identifier: Apache-2.0
 *
 * Emulators that are Gaussian processes of unknown scale: y | v ~ GP(m, v K, noise v s^2) with
 * v ~ InvGamma(a, b), v integrated out. With N pairs, L = log|K + s^2 I| and Q the quadratic form,
 *
 *     log p(y) = lgamma(a + N/2) - lgamma(a) + a log b - (a + N/2) log(b + Q/2)
 *                - N/2 log(2 pi) - L/2,          v | y ~ InvGamma(a + N/2, b + Q/2).
 *
 * The Student-t process of df = nu > 2 has a = nu/2, b = (nu - 2)/2, so that K is its covariance
 * (Shah, Wilson, Ghahramani 2014). Bayesian polynomial regression with unknown noise variance v,
 * weights of variance v scale^2, has K = scale^2 (1 + x.x')^degree and s = 1. */
#include "emu/emulator.h"
#include "emu/gp_args.h"

#include "base/mem.h"
#include "gp/gp.h"
#include "math/dist.h"
#include "math/special.h"
#include <math.h>

struct mix_model {
    struct gp_args gp;
    double a, b;
};
typedef enum gpm_status mix_read(struct sp_call *c, struct mix_model *out);

struct mix {
    struct gp *gp;
    mix_read *read;
    double a, b;
    struct mix_model old; /* valid while a proposal is pending */
    double noise;         /* of the proposed one */
    bool pending, hardened;
};

/* ---- arguments of the makers -------------------------------------------------------------- */

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

static enum gpm_status read_tp(struct sp_call *c, struct mix_model *out) {
    double df;
    enum gpm_status st = number_in(c, "df", 5, 2, &df);
    out->a = 0.5 * df;
    out->b = 0.5 * (df - 2);
    return st == GPM_OK ? gp_args_read(c, &out->gp) : st;
}

enum { DEGREE_MAX = 8 };

static struct kern *poly_kernel(double scale, int degree) {
    double one = 1;
    struct kern *k = kern_constant(scale * scale);
    for (int i = 0; i < degree && k; i++) {
        struct kern *c = kern_constant(1), *lin = kern_named("LIN", &one, 1, NULL);
        struct kern *sum = c && lin ? kern_sum(c, lin) : NULL;
        struct kern *product = sum ? kern_product(k, sum) : NULL;
        kern_unref(c);
        kern_unref(lin);
        kern_unref(sum);
        kern_unref(k);
        k = product;
    }
    return k;
}

static enum gpm_status read_poly(struct sp_call *c, struct mix_model *out) {
    double degree, scale;
    *out = (struct mix_model){0};
    if (number_in(c, "degree", 2, 0, &degree) != GPM_OK ||
        number_in(c, "scale", 10, 0, &scale) != GPM_OK ||
        number_in(c, "shape", 1, 0, &out->a) != GPM_OK ||
        number_in(c, "rate", 1, 0, &out->b) != GPM_OK)
        return GPM_E_USER;
    if (degree > DEGREE_MAX || degree != floor(degree))
        return sp_error(c, DIAG_DOMAIN, "%s: degree must be an integer from 1 to %d", c->cls->name,
                        DEGREE_MAX);
    out->gp.k = poly_kernel(scale, (int)degree);
    out->gp.noise = 1;
    return out->gp.k ? GPM_OK : sp_error(c, DIAG_DOMAIN, "%s: scale is too large", c->cls->name);
}

/* ---- density ------------------------------------------------------------------------------ */

static double weight_of_data(const struct mix *e) {
    return (double)gp_ndensity(e->gp, gp_noise(e->gp));
}

/* The mixture from the log density at v = 1. */
static enum gpm_status mixed(struct mix *e, bool proposed, double logml, double n, double *out) {
    double q;
    *out = -INFINITY;
    if (logml == -INFINITY) return GPM_OK;
    enum gpm_status st = gp_quadratic(e->gp, proposed, &q);
    if (st != GPM_OK) return st == GPM_E_NOT_PD ? GPM_OK : st;
    *out = log_gamma(e->a + 0.5 * n) - log_gamma(e->a) + e->a * log(e->b) -
           (e->a + 0.5 * n) * log(e->b + 0.5 * q) + logml + 0.5 * q;
    if (isnan(*out)) *out = -INFINITY;
    return GPM_OK;
}

static enum gpm_status mix_log_joint(void *p, double *out) {
    struct mix *e = p;
    double logml = -INFINITY;
    enum gpm_status st = gp_logml(e->gp, &logml);
    if (st != GPM_OK && st != GPM_E_NOT_PD) return st;
    return mixed(e, false, logml, weight_of_data(e), out);
}

/* The data are about to be used under the proposed model. */
static void harden(struct mix *e) {
    if (!e->pending || e->hardened) return;
    gp_accept(e->gp);
    e->hardened = true;
}

/* By the chain rule, on a copy: replicates and contradictions come out right by themselves. */
static enum gpm_status mix_conditional(void *p, bool measured, const double *x, const double *y,
                                       size_t n, double *logpdf) {
    struct mix *e = p, with = *e;
    double before, after;
    harden(e);
    enum gpm_status st = mix_log_joint(e, &before);
    if (st == GPM_OK) st = gp_copy(e->gp, &with.gp);
    if (st != GPM_OK) return st;
    st = gp_add(with.gp, gp_kind(measured), x, y, n);
    if (st == GPM_OK) st = mix_log_joint(&with, &after);
    gp_free(with.gp);
    *logpdf = st == GPM_OK && isfinite(before) ? after - before : -INFINITY;
    return st;
}

/* v from its posterior, then the Gaussian process of that scale: the draw is linear in z. */
static enum gpm_status mix_sample(void *p, const double *x, size_t n, bool measured,
                                  struct rng *rng, double *out) {
    struct mix *e = p;
    double q = 0, *z = mem_try_doubles(n);
    if (!z) return GPM_E_NOMEM;
    harden(e);
    enum gpm_status st = gp_quadratic(e->gp, false, &q);
    double a = e->a + 0.5 * weight_of_data(e), b = e->b + 0.5 * q;
    double sd = exp(0.5 * (log(b) - draw_log_gamma(rng, a)));
    for (size_t i = 0; i < n; i++) z[i] = sd * rng_normal(rng);
    if (st == GPM_OK) st = gp_sample(e->gp, x, n, gp_kind(measured), z, out);
    mem_free(z);
    return st;
}

/* ---- data and parameters ------------------------------------------------------------------ */

static enum gpm_status mix_add(void *p, bool measured, const double *x, const double *y, size_t n) {
    struct mix *e = p;
    harden(e);
    return gp_add(e->gp, gp_kind(measured), x, y, n);
}

static enum gpm_status mix_remove(void *p, bool measured, const double *x, double y) {
    struct mix *e = p;
    harden(e);
    return gp_remove(e->gp, gp_kind(measured), x, y);
}

static enum gpm_status mix_propose(void *p, struct sp_call *c, double *log_joint) {
    struct mix *e = p;
    struct mix_model new;
    double logml = -INFINITY;
    enum gpm_status st = e->read(c, &new);
    if (st != GPM_OK) return st;
    struct mix_model old = {{kern_ref(gp_kern(e->gp)),
                             gp_mean(e->gp) ? mean_ref(gp_mean(e->gp)) : NULL, gp_noise(e->gp)},
                            e->a,
                            e->b};
    double noise = new.gp.noise, n = (double)gp_ndensity(e->gp, noise);
    st = gp_propose(e->gp, new.gp.k, new.gp.m, new.gp.noise, &logml);
    gp_args_release(&new.gp);
    if (st != GPM_OK) {
        gp_args_release(&old.gp);
        return st == GPM_E_USER ? st
                                : sp_error(c, DIAG_GP_DIMENSION,
                                           "%s: the kernel does not fit the inputs", c->cls->name);
    }
    e->old = old;
    e->a = new.a;
    e->b = new.b;
    e->noise = noise;
    e->pending = true;
    e->hardened = false;
    return mixed(e, true, logml, n, log_joint);
}

static void forget_proposal(struct mix *e) {
    gp_args_release(&e->old.gp);
    e->pending = e->hardened = false;
}

static void mix_accept(void *p) {
    struct mix *e = p;
    if (!e->hardened) gp_accept(e->gp);
    forget_proposal(e);
}

static void mix_reject(void *p) {
    struct mix *e = p;
    const struct gp_args *old = &e->old.gp;
    if (!e->hardened || gp_set_model(e->gp, old->k, old->m, old->noise) != GPM_OK) gp_reject(e->gp);
    e->a = e->old.a;
    e->b = e->old.b;
    forget_proposal(e);
}

/* With A = a + N/2, B = b + Q/2: the quadratic form counts A / B times, and
 *     d/da = digamma(A) - digamma(a) + log(b / B),    d/db = a / b - A / B. */
struct mix_slopes {
    double weight, da, db;
};

static enum gpm_status slopes(struct mix *e, struct mix_slopes *out) {
    double q, noise = e->pending && !e->hardened ? e->noise : gp_noise(e->gp);
    enum gpm_status st = gp_quadratic(e->gp, true, &q);
    if (st != GPM_OK) return st;
    double a = e->a + 0.5 * (double)gp_ndensity(e->gp, noise), b = e->b + 0.5 * q;
    *out =
        (struct mix_slopes){a / b, digamma(a) - digamma(e->a) + log(e->b / b), e->a / e->b - a / b};
    return GPM_OK;
}

static void give(const struct sp_call *c, const char *name, double d, value *dargs) {
    int i = maker_parameter(c, name);
    if (i >= 0) dargs[i] = value_num(d);
}

static enum gpm_status numeric(struct sp_call *c, enum gpm_status st) {
    return st == GPM_OK || st == GPM_E_USER
               ? st
               : sp_error(c, DIAG_GP_NUMERIC, "%s: the covariance matrix is not positive definite",
                          c->cls->name);
}

static enum gpm_status tp_gradient(void *p, struct sp_call *c, value *dargs) {
    struct mix *e = p;
    struct mix_slopes s = {0};
    enum gpm_status st = numeric(c, slopes(e, &s));
    if (st == GPM_OK) st = gp_args_gradient(c, e->gp, s.weight, dargs);
    if (st == GPM_OK) give(c, "df", 0.5 * (s.da + s.db), dargs);
    return st;
}

/* The kernel's first parameter is scale^2; the others are fixed. */
static enum gpm_status poly_gradient(void *p, struct sp_call *c, value *dargs) {
    struct mix *e = p;
    struct mix_slopes s = {0};
    struct mix_model m;
    double logml, scale;
    enum gpm_status st = numeric(c, slopes(e, &s));
    if (st == GPM_OK) st = e->read(c, &m);
    if (st != GPM_OK) return st;
    double *dk = NEW_ARRAY(double, kern_nparam(m.gp.k));
    st = numeric(c, gp_grad_weighted(e->gp, s.weight, &logml, dk, NULL, NULL));
    if (st == GPM_OK) st = number_in(c, "scale", 10, 0, &scale);
    if (st == GPM_OK) {
        give(c, "scale", 2 * scale * dk[0], dargs);
        give(c, "shape", s.da, dargs);
        give(c, "rate", s.db, dargs);
    }
    mem_free(dk);
    gp_args_release(&m.gp);
    return st;
}

static size_t mix_n_pairs(void *p) {
    return gp_npairs(((struct mix *)p)->gp);
}

static void mix_pair(void *p, size_t i, double *x, double *y) {
    gp_pair(((struct mix *)p)->gp, i, x, y);
}

/* ---- making ------------------------------------------------------------------------------- */

static void *mix_make(struct sp_call *c, int dim, mix_read *read) {
    struct mix_model m;
    char *why = NULL;
    if (read(c, &m) != GPM_OK) return NULL;
    struct gp *g = gp_new(dim, m.gp.k, m.gp.m, m.gp.noise, &why);
    gp_args_release(&m.gp);
    if (!g) {
        sp_error(c, DIAG_GP_DIMENSION, "%s: %s", c->cls->name,
                 why ? why : "the kernel does not fit the inputs");
        mem_free(why);
        return NULL;
    }
    gp_set_approx(g, GP_EXACT, 0); /* the quadratic form is that of the exact matrix */
    gp_set_structured(g, false);
    struct mix *e = NEW(struct mix);
    e->gp = g;
    e->read = read;
    e->a = m.a;
    e->b = m.b;
    return e;
}

static void *make_tp(struct sp_call *c, int dim) {
    return mix_make(c, dim, read_tp);
}

static void *make_poly(struct sp_call *c, int dim) {
    return mix_make(c, dim, read_poly);
}

static enum gpm_status mix_check(struct sp_call *c, mix_read *read) {
    struct mix_model m;
    enum gpm_status st = read(c, &m);
    if (st == GPM_OK) gp_args_release(&m.gp);
    return st;
}

static enum gpm_status check_tp(struct sp_call *c) {
    return mix_check(c, read_tp);
}

static enum gpm_status check_poly(struct sp_call *c) {
    return mix_check(c, read_poly);
}

static void mix_free(void *p) {
    struct mix *e = p;
    if (e->pending) gp_args_release(&e->old.gp);
    gp_free(e->gp);
    mem_free(e);
}

static void *mix_copy(void *p) {
    struct mix *e = p, *f = NEW(struct mix);
    f->read = e->read;
    f->a = e->a;
    f->b = e->b;
    for (int tries = 0; gp_copy(e->gp, &f->gp) != GPM_OK; tries++) mem_insist(tries);
    return f;
}

#define MIXTURE(text, maker, checker, slope)                                                       \
    {                                                                                              \
        .name = text, .sample = mix_sample, .conditional = mix_conditional, .add = mix_add,        \
        .remove = mix_remove, .log_joint = mix_log_joint, .n_pairs = mix_n_pairs,                  \
        .pair = mix_pair, .propose = mix_propose, .accept = mix_accept, .reject = mix_reject,      \
        .gradient = slope, .copy = mix_copy, .free = mix_free, .make = maker, .check = checker     \
    }
const struct emulator_class tp_emulator =
    MIXTURE("Student-t process", make_tp, check_tp, tp_gradient);
const struct emulator_class poly_emulator =
    MIXTURE("polynomial regression", make_poly, check_poly, poly_gradient);
