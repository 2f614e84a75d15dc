/* SPDX-License-Identifier: Apache-2.0
 *
 * Makers of normal data: normal-inverse-gamma, its uncollapsed form, fixed mean and sd with
 * statistics, and the multivariate normal-inverse-Wishart.
 *
 * Statistics are n, the mean and the sum of squared deviations from it (Welford), which stay
 * accurate when the data are far from zero; taking a datum out runs the recurrence backwards.
 */
#include "base/mem.h"
#include "numeric/dist/dist.h"
#include "numeric/special/special.h"
#include "language/rows/makers/conj.h"
#include "language/rows/dist/matdist.h"
#include "gp/kernel/kernel.h"
#include <math.h>
#include <string.h>

enum { N, MEAN, SUMSQ };

/* Statistics and posteriors hold squares of the data and parameters: what would overflow in them is
 * refused. */
static enum gpm_status read_scalar(struct sp_call *c, struct conj *s) {
    enum gpm_status st = conj_read_numbers(c, s);
    for (size_t i = 0; i < c->n && st == GPM_OK; i++)
        if (!kern_in_range(s->par[i])) st = sp_bad_arg(c, i, "a parameter", KERN_RANGE_TEXT);
    return st;
}

static enum gpm_status number(struct sp_call *c, value v, double *x) {
    if (!value_number(v, x)) return sp_bad_value(c, v, "a number");
    if (!isfinite(*x) || fabs(*x) <= KERN_SIZE_MAX) return GPM_OK;
    return sp_error(c, DIAG_DOMAIN, "%s: a value must be below %g in size, got %g", c->cls->name,
                    KERN_SIZE_MAX, *x);
}

/* In: n' = n + 1, m' = m + (x - m) / n', S' = S + (x - m)(x - m'). Out: the same equations solved
 * for the old values, m = m' - (x - m') / (n' - 1). */
static enum gpm_status count(struct sp_call *c, value v, double by) {
    double x, *t = conj_of(c)->stat;
    enum gpm_status st = number(c, v, &x);
    if (st != GPM_OK) return st;
    if (!isfinite(x)) {
        conj_of(c)->impossible += by;
        return GPM_OK;
    }
    double before = x - t[MEAN];
    t[N] += by;
    if (t[N] <= 0) {
        t[N] = t[MEAN] = t[SUMSQ] = 0;
        return GPM_OK;
    }
    t[MEAN] += by * before / t[N];
    t[SUMSQ] = t[N] == 1 ? 0 : fmax(0, t[SUMSQ] + by * before * (x - t[MEAN]));
    return GPM_OK;
}

/* (n, sum, sum of squares), as the platform gives them */
static value stats_moments(const struct conj *s) {
    double n = s->stat[N], m = s->stat[MEAN];
    value items[] = {value_num(n), value_num(n * m), value_num(s->stat[SUMSQ] + n * m * m)};
    return value_list(items, 3);
}

/* ---- nig(m, V, a, b): variance ~ inv_gamma(a, b), mean ~ normal(m, sqrt(V variance)).
 * With w = n / (1 + n V) and D = mean(x) - m:
 *   V' = V / (1 + n V), m' = m + V w D, a' = a + n/2, b' = b + (S + w D^2) / 2 */
struct nig {
    double m, V, a, b, w, D;
};

static struct nig nig_posterior(const struct conj *s) {
    double m = s->par[0], V = s->par[1], n = s->stat[N];
    double w = n / (1 + n * V), D = n > 0 ? s->stat[MEAN] - m : 0;
    return (struct nig){.m = m + V * w * D,
                        .V = V / (1 + n * V),
                        .a = s->par[2] + 0.5 * n,
                        .b = s->par[3] + 0.5 * (s->stat[SUMSQ] + w * D * D),
                        .w = w,
                        .D = D};
}

/* Next application: student_t(2 a', m', sqrt(b' (1 + V') / a')). */
static void nig_predictive(const struct conj *s, double *t) {
    struct nig p = nig_posterior(s);
    t[0] = 2 * p.a;
    t[1] = p.m;
    t[2] = sqrt(p.b) / sqrt(p.a) * sqrt(1 + p.V);
}

/* sqrt(V'/V) b^a / b'^a' Gamma(a') / Gamma(a) (2 pi)^(-n/2) */
static double nig_joint(const struct conj *s) {
    struct nig p = nig_posterior(s);
    double n = s->stat[N], V = s->par[1], a = s->par[2], b = s->par[3];
    return -0.5 * log1p(n * V) + a * log(b) - p.a * log(p.b) + log_gamma(p.a) - log_gamma(a) -
           0.5 * n * LOG_2PI;
}

static void nig_gradient(const struct conj *s, const struct sp_call *c, value *d) {
    struct nig p = nig_posterior(s);
    double a = s->par[2], b = s->par[3], ratio = p.a / p.b, wD = p.w * p.D;
    d[0] = value_num(ratio * wD);
    d[1] = value_num(-0.5 * p.w + 0.5 * ratio * wD * wD);
    d[2] = value_num(log(b) - log(p.b) + digamma(p.a) - digamma(a));
    d[3] = value_num(a / b - ratio);
}

/* latent (mean, sd) */
static void nig_latent(struct conj *s, struct rng *r) {
    struct nig p = nig_posterior(s);
    double ig[] = {p.a, p.b}, variance = dist_inv_gamma_draw(r, ig, 2);
    s->latent[0] = p.m + sqrt(p.V * variance) * rng_normal(r);
    s->latent[1] = sqrt(variance);
}

/* Density of (mean, variance). */
static double nig_latent_lp(const struct conj *s, const double *latent) {
    double variance = latent[1] * latent[1], at[] = {s->par[0], sqrt(s->par[1]) * latent[1]};
    return dist_inv_gamma_lp(variance, s->par + 2, 2) + dist_normal_lp(latent[0], at, 2);
}

/* prod normal(x_i; m, s) = exp(-(S + n D^2) / (2 s^2)) / (s sqrt(2 pi))^n */
static double suff_normal_joint(const struct conj *s) {
    double n = s->stat[N], D = s->stat[MEAN] - s->par[0], sd = s->par[1];
    return -n * (log(sd) + LOG_SQRT_2PI) - 0.5 * (s->stat[SUMSQ] + n * D * D) / (sd * sd);
}

static void suff_normal_gradient(const struct conj *s, const struct sp_call *c, value *d) {
    double n = s->stat[N], D = s->stat[MEAN] - s->par[0], sd = s->par[1];
    d[0] = value_num(n * D / (sd * sd));
    d[1] = value_num(((s->stat[SUMSQ] + n * D * D) / (sd * sd) - n) / sd);
}

#define NORMAL(title, rule, n, mode, after, dist)                                                  \
    .made = {CONJ_MADE(title, "() -> real"),                                                       \
             CONJ_NUMBER,                                                                          \
             .flags = SP_RANDOM,                                                                   \
             .grad_density = conj_grad,                                                            \
             .support = sp_support_real,                                                           \
             .log_bound = conj_bound},                                                             \
    .read = read_scalar, .n_stat = 3, .n_latent = 2, .count = count, .stats = stats_moments,       \
    .log_joint = rule##_joint, .gradient = rule##_gradient,                                        \
    .num = {n, mode, after, dist_##dist##_draw, dist_##dist##_lp, dist_##dist##_grad, number}

static const struct conj_class nig_class = {
    NORMAL("nig_normal", nig, 3, 1, nig_predictive, student_t)};
static const struct conj_class suff_class = {
    NORMAL("suff_stat_normal", suff_normal, 2, 0, conj_fixed, normal)};
static const struct conj_class uc_nig_class = {
    NORMAL("uc_nig_normal", nig, 2, 0, conj_latent, normal), .draw_latent = nig_latent,
    .latent_lp = nig_latent_lp};

/* ---- niw(m0, k0, v0, S0): Sigma ~ inv_wishart(S0, v0), mean ~ normal(m0, Sigma / k0).
 * par: k0, v0, m0 (p), S0 (p x p). stat: n, mean (p), scatter matrix (p x p). With D = mean - m0:
 *   k' = k0 + n, v' = v0 + n, m' = (k0 m0 + n mean) / k', S' = S0 + S + k0 n / k' D D' */
struct niw {
    size_t p;
    double k, v;
    double *m, *l; /* owned as one block: m'; factor of S' */
};

static size_t niw_dim(const struct conj *s) {
    return s->n_objects; /* the dimension is kept there; there are no objects */
}

static enum gpm_status niw_read(struct sp_call *c, struct conj *s) {
    double *m, *S, *l;
    size_t p, rows, cols;
    enum gpm_status st = sp_numbers_arg(c, 0, "m0", &m, &p);
    if (st != GPM_OK) return st;
    st = sp_matrix_arg(c, 3, "S0", &S, &rows, &cols);
    if (st != GPM_OK) {
        mem_free(m);
        return st;
    }
    double k0 = sp_num(c, 1), v0 = sp_num(c, 2);
    l = NEW_ARRAY(double, rows *cols + 1);
    if (rows != p || cols != p)
        st = sp_error(c, DIAG_SHAPE, "%s: m0 has %zu elements but S0 is %zu x %zu", c->cls->name, p,
                      rows, cols);
    else if (!matrix_is_symmetric(S, p) || matrix_factor(S, p, l) != GPM_OK)
        st = sp_bad_arg(c, 3, "S0", "symmetric and positive definite");
    else if (!(v0 > (double)p - 1))
        st = sp_error(c, DIAG_DOMAIN, "%s: v0 must be above %zu in dimension %zu, got %g",
                      c->cls->name, p - 1, p, v0);
    if (st == GPM_OK) {
        conj_reserve(s, 2 + p + p * p, 1 + p + p * p, 0);
        s->n_objects = p;
        s->par[0] = k0;
        s->par[1] = v0;
        memcpy(s->par + 2, m, p * sizeof *m);
        memcpy(s->par + 2 + p, S, p * p * sizeof *S);
    }
    mem_free(m);
    mem_free(S);
    mem_free(l);
    return st;
}

static enum gpm_status niw_posterior(const struct conj *s, struct niw *q) {
    size_t p = niw_dim(s);
    double n = s->stat[0], k0 = s->par[0];
    const double *m0 = s->par + 2, *S0 = m0 + p, *mean = s->stat + 1, *S = mean + p;
    *q = (struct niw){.p = p, .k = k0 + n, .v = s->par[1] + n};
    q->m = NEW_ARRAY(double, p + 2 * p * p + 1);
    q->l = q->m + p;
    double *full = q->l + p * p;
    for (size_t i = 0; i < p; i++) q->m[i] = (k0 * m0[i] + n * mean[i]) / q->k;
    for (size_t j = 0; j < p; j++)
        for (size_t i = 0; i < p; i++)
            full[i + j * p] = S0[i + j * p] + S[i + j * p] +
                              k0 * n / q->k * (mean[i] - m0[i]) * (mean[j] - m0[j]);
    enum gpm_status st = matrix_factor(full, p, q->l);
    if (st != GPM_OK) mem_free(q->m);
    return st;
}

/* Next application: multivariate t with d = v' - p + 1 degrees of freedom, location m' and scale
 * matrix S' (k' + 1) / (k' d). */
static enum gpm_status niw_draw(struct sp_call *c, value *out) {
    struct niw q;
    enum gpm_status st = niw_posterior(conj_of(c), &q);
    if (st != GPM_OK)
        return sp_error(c, DIAG_NAN, "%s: the scatter matrix degenerated", c->cls->name);
    double d = q.v - (double)q.p + 1, chi2 = 2 * draw_gamma(c->rng, 0.5 * d);
    double scale = sqrt((q.k + 1) / q.k / chi2);
    *out = value_vector_new(q.p);
    double *x = out->u.vector->at;
    mvn_draw(c->rng, &(struct mat_dist){.p = q.p, .l = q.l}, x);
    for (size_t i = 0; i < q.p; i++) x[i] = q.m[i] + scale * x[i];
    mem_free(q.m);
    return GPM_OK;
}

/* Gamma((d+p)/2) / (Gamma(d/2) (d pi)^(p/2) |Scale|^(1/2)) (1 + z'z / d)^(-(d+p)/2) */
static enum gpm_status niw_density(struct sp_call *c, value v, double *out) {
    struct niw q;
    double *x, z2 = 0;
    enum gpm_status st = sp_numbers_value(c, v, niw_dim(conj_of(c)), &x);
    if (st != GPM_OK) return st;
    if (niw_posterior(conj_of(c), &q) != GPM_OK) {
        *out = -INFINITY;
        mem_free(x);
        return GPM_OK;
    }
    double p = (double)q.p, d = q.v - p + 1, factor = (q.k + 1) / (q.k * d);
    /* mvn_lp gives -(z'z + log|S'| + p log 2 pi) / 2 */
    double half_logdet = 0.5 * factor_logdet(q.l, q.p);
    double normal = mvn_lp(x, &(struct mat_dist){.p = q.p, .a = q.m, .l = q.l});
    z2 = -2 * (normal + half_logdet + 0.5 * p * LOG_2PI) / factor;
    *out = log_gamma(0.5 * (d + p)) - log_gamma(0.5 * d) - 0.5 * p * (log(d) + LOG_PI) -
           half_logdet - 0.5 * p * log(factor) - 0.5 * (d + p) * log1p(z2 / d);
    if (isnan(*out)) *out = -INFINITY;
    mem_free(x);
    mem_free(q.m);
    return GPM_OK;
}

/* by +1 or -1: Welford's recurrence with outer products, forwards or backwards */
static enum gpm_status niw_count(struct sp_call *c, value v, double by) {
    struct conj *s = conj_of(c);
    double *x, *t = s->stat, *mean = t + 1, *S;
    size_t p = niw_dim(s);
    enum gpm_status st = sp_numbers_value(c, v, niw_dim(conj_of(c)), &x);
    if (st != GPM_OK) return st;
    S = mean + p;
    double sum = 0;
    for (size_t i = 0; i < p; i++) sum += x[i] * 0; /* NaN when one is not finite */
    if (sum != 0) {
        s->impossible += by;
        mem_free(x);
        return GPM_OK;
    }
    t[0] += by;
    if (t[0] <= 0)
        memset(t, 0, s->n_stat * sizeof *t);
    else {
        double *before = NEW_ARRAY(double, p + 1);
        for (size_t i = 0; i < p; i++) {
            before[i] = x[i] - mean[i];
            mean[i] += by * before[i] / t[0];
        }
        for (size_t j = 0; j < p; j++)
            for (size_t i = 0; i < p; i++) S[i + j * p] += by * before[i] * (x[j] - mean[j]);
        if (t[0] == 1) memset(S, 0, p * p * sizeof *S);
        mem_free(before);
    }
    mem_free(x);
    return GPM_OK;
}

/* log of 2^(v p/2) Gamma_p(v/2) |S|^(-v/2) k^(-p/2), the normalising constant of the prior */
static double niw_norm(const struct niw *q) {
    double p = (double)q->p;
    return 0.5 * q->v * p * M_LN2 + log_gamma_multi(0.5 * q->v, q->p) -
           0.5 * q->v * factor_logdet(q->l, q->p) - 0.5 * p * log(q->k);
}

static double niw_joint(const struct conj *s) {
    struct niw q;
    if (niw_posterior(s, &q) != GPM_OK) return -INFINITY;
    size_t p = q.p;
    double *l0 = NEW_ARRAY(double, p *p + 1), lp = -INFINITY;
    struct niw prior = {.p = p, .k = s->par[0], .v = s->par[1], .l = l0};
    if (matrix_factor(s->par + 2 + p, p, l0) == GPM_OK)
        lp = niw_norm(&q) - niw_norm(&prior) - 0.5 * s->stat[0] * (double)p * LOG_2PI;
    mem_free(l0);
    mem_free(q.m);
    return lp;
}

static value niw_stats(const struct conj *s) {
    size_t p = niw_dim(s);
    value items[] = {value_num(s->stat[0]), value_vector(s->stat + 1, p),
                     value_matrix(s->stat + 1 + p, p, p)};
    value out = value_list(items, 3);
    for (int i = 0; i < 3; i++) value_unref(items[i]);
    return out;
}

static const struct conj_class niw_class = {
    .made = {CONJ_MADE("niw_normal", "() -> vector"), .flags = SP_RANDOM | SP_VECTOR,
             .simulate = niw_draw, .log_density = niw_density, .support = sp_support_real},
    .read = niw_read,
    .count = niw_count,
    .stats = niw_stats,
    .log_joint = niw_joint};

const struct sp_class sp_makers_normal_rows[] = {
    {.name = "make_nig_normal",
     .sig = "(m: real, V: positive, a: positive, b: positive) -> proc",
     .doc = "normal data, variance ~ inv_gamma(a, b), mean ~ normal(m, sqrt(V variance)), "
            "integrated out",
     .example = "floor(1e6 * assess(0.5, make_nig_normal(0, 1, 2, 3))) => -1581684",
     CONJ_MAKER(nig_class)},
    {.name = "make_uc_nig_normal",
     .sig = "(m: real, V: positive, a: positive, b: positive) -> proc",
     .doc = "as make_nig_normal, with mean and variance drawn and kept",
     CONJ_UC_MAKER(uc_nig_class)},
    {.name = "make_suff_stat_normal",
     .sig = "(mean: real, sd: positive) -> proc",
     .doc = "normal data that keep their moments, so that changing mean or sd costs the same for "
            "any data",
     .example = "floor(1e6 * assess(1, make_suff_stat_normal(1, 1))) => -918939",
     CONJ_MAKER(suff_class)},
    {.name = "make_niw_normal",
     .sig = "(m0: numbers, k0: positive, v0: positive, S0: any) -> proc",
     .doc = "normal vectors, covariance ~ inv_wishart(S0, v0), mean ~ normal(m0, covariance / k0), "
            "integrated out",
     .example = "floor(1e6 * assess([0], make_niw_normal([0], 1, 1, [[1]]))) => -1491304",
     CONJ_PLAIN_MAKER(niw_class, conj_aaa_plain)},
};
const size_t sp_makers_normal_count = COUNT_OF(sp_makers_normal_rows);
