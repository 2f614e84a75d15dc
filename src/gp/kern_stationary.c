/* SPDX-License-Identifier: Apache-2.0
 *
 * Radial kernels: functions of r^2 = sum_c ((x_c - x'_c) / l_c)^2, with one length scale or one per
 * column. The features of a point are its scaled coordinates u_c = x_c / l_c (SE: / (sqrt(2) l_c)).
 * The last two, which optimisation needs, are mixtures whose parts share their lengths:
 *
 *   MIX = (1-w) MAT52(r) + w MAT32(r/rho)            a ripple on a funnel with an edge at its foot
 *   ADD = w/d sum_c MAT52(r_c) + (1-w) MAT52(r/rho)  a sum over the columns, plus interaction
 *
 * with w = odds / (1 + odds).
 */
#include "gp/kern_class.h"
#include "gp/kern_leaf.h"

#include "la/vec.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { L = 1, ODDS = 2, RHO = 3 }; /* the length scale is parameter 1 of every row here */

static int columns(const struct kern *k, int dim) {
    return leaf_dim(k, dim);
}

static void scaled(const struct kern *k, struct kern_pts x, double *f, size_t ld, double factor) {
    for (int c = 0; c < leaf_dim(k, x.dim); c++) {
        const double *from = leaf_col(k, x, c);
        double s = factor / kern_par(k, L, c);
        for (size_t i = 0; i < x.n; i++) f[(size_t)c * ld + i] = from[i] * s;
    }
}

static void prepare(const struct kern *k, struct kern_pts x, double *f, size_t ld) {
    scaled(k, x, f, ld, 1);
}

static void se_prepare(const struct kern *k, struct kern_pts x, double *f, size_t ld) {
    scaled(k, x, f, ld, 0.70710678118654752440);
}

/* q = r^2 over the strip. */
static void squared(const struct kern_strip *s, double *q) {
    const struct vec_ops *v = vec_ops();
    memset(q, 0, s->m * sizeof *q);
    for (int c = 0; c < s->nf; c++) v->add_sqdiff(s->m, s->row + (size_t)c * s->ld, s->col[c], q);
}

/* From e_i = w_i times -2 dk/d(r^2), over factor: dk/dl_c = factor sum_i e_i (u_ic - u_jc)^2 / l_c,
 * and in the fixed point dk/dx'_c = factor sum_i e_i (u_ic - u_jc) / l_c. */
enum wanted { LENGTHS, POINT };

static void spread_one(const struct kern *k, const struct kern_strip *s, enum wanted want, int c,
                       const double *e, double factor, double *g) {
    const struct vec_ops *v = vec_ops();
    const double *row = s->row + (size_t)c * s->ld;
    int p = kern_par_index(k, L, c);
    if (want == LENGTHS)
        g[p] += factor / k->par[p] * v->dot_sqdiff(s->m, e, row, s->col[c]);
    else
        g[leaf_place(k, c)] += factor / k->par[p] * v->dot_diff(s->m, e, row, s->col[c]);
}

static void spread(const struct kern *k, const struct kern_strip *s, enum wanted want,
                   const double *e, double factor, double *g) {
    for (int c = 0; c < s->nf; c++) spread_one(k, s, want, c, e, factor, g);
}

/* For rows that say how fast they fall. */
static void radial_grad(const struct kern *k, const struct kern_strip *s, const double *w,
                        double *g) {
    double e[KERN_STRIP];
    g[0] += k->cls->fall(k, s, w, e);
    spread(k, s, LENGTHS, e, k->cls->fall_factor, g);
}
static double radial_slope(const struct kern *k, const struct kern_strip *s, const double *w,
                           double *g) {
    double e[KERN_STRIP], value = k->cls->fall(k, s, w, e);
    spread(k, s, POINT, e, k->cls->fall_factor, g);
    return value;
}

/* Frequencies: normal, times a factor that is drawn once for all columns. */
static void radial_wave(const struct kern *k, int dim, double factor, struct kern_wave *f) {
    for (int c = 0; c < leaf_dim(k, dim); c++)
        f->w[leaf_place(k, c)] += factor * kern_normal(f) / kern_par(k, L, c);
}

/* SE: log k = -sum (u - u')^2, d log k / dl = 2 (u - u')^2 / l. */
static void se_expo(const struct kern *k, const struct kern_strip *s, double *out) {
    const struct vec_ops *v = vec_ops();
    for (int c = 0; c < s->nf; c++) v->sub_sqdiff(s->m, s->row + (size_t)c * s->ld, s->col[c], out);
}

static void se_grad(const struct kern *k, const struct kern_strip *s, const double *w, double *g) {
    spread(k, s, LENGTHS, w, 2, g);
}

static double se_slope(const struct kern *k, const struct kern_strip *s, const double *w,
                       double *g) {
    spread(k, s, POINT, w, M_SQRT2, g);
    return 0;
}
static bool se_wave(const struct kern *k, int dim, struct kern_wave *f) {
    radial_wave(k, dim, 1, f);
    return true;
}

/* RQ: log k = -alpha log B, B = 1 + q / (2 alpha). */
static void rq_base(const struct kern *k, const struct kern_strip *s, double *b) {
    double h = 0.5 / k->par[k->npar - 1];
    squared(s, b);
    for (size_t i = 0; i < s->m; i++) b[i] = 1 + h * b[i];
}

static void rq_expo(const struct kern *k, const struct kern_strip *s, double *out) {
    double b[KERN_STRIP];
    rq_base(k, s, b);
    vec_ops()->log(s->m, b);
    vec_ops()->axpy(s->m, -k->par[k->npar - 1], b, out);
}

/* d/dl = (u-u')^2 / (l B); d/dalpha = -log B + (B - 1) / B. */
static void rq_grad(const struct kern *k, const struct kern_strip *s, const double *w, double *g) {
    double b[KERN_STRIP], wb[KERN_STRIP], sum = 0;
    rq_base(k, s, b);
    for (size_t i = 0; i < s->m; i++) {
        wb[i] = w[i] / b[i];
        sum += w[i] - wb[i];
    }
    spread(k, s, LENGTHS, wb, 1, g);
    vec_ops()->log(s->m, b);
    g[k->npar - 1] += sum - vec_ops()->dot(s->m, w, b);
}

static bool rq_wave(const struct kern *k, int dim, struct kern_wave *f) {
    double alpha = k->par[k->npar - 1];
    radial_wave(k, dim, sqrt(kern_gamma(f, alpha) / alpha), f);
    return true;
}

/* Cauchy: 1 / B, B = 1 + r^2; -2 dk/d(r^2) = 2 / B^2. */
static void cauchy_value(const struct kern *k, const struct kern_strip *s, double *out) {
    squared(s, out);
    for (size_t i = 0; i < s->m; i++) out[i] = 1 / (1 + out[i]);
}

static double cauchy_fall(const struct kern *k, const struct kern_strip *s, const double *w,
                          double *e) {
    double sum = 0;
    cauchy_value(k, s, e);
    for (size_t i = 0; i < s->m; i++) {
        sum += w[i] * e[i];
        e[i] *= w[i] * e[i];
    }
    return sum;
}

/* 1 / B is the mean of exp(-r^2 g) over g ~ Gamma(1). */
static bool cauchy_wave(const struct kern *k, int dim, struct kern_wave *f) {
    radial_wave(k, dim, sqrt(2 * kern_gamma(f, 1)), f);
    return true;
}

/* Matern: a = sqrt(2 nu) r. */
static void distance(const struct kern_strip *s, double factor, double *a) {
    squared(s, a);
    for (size_t i = 0; i < s->m; i++) a[i] = factor * sqrt(a[i]);
}

static void mat12_expo(const struct kern *k, const struct kern_strip *s, double *out) {
    double a[KERN_STRIP];
    distance(s, 1, a);
    vec_ops()->axpy(s->m, -1, a, out);
}

/* d(-r)/dl = (u-u')^2 / (l r), 0 at r = 0. */
static void mat12_grad(const struct kern *k, const struct kern_strip *s, const double *w,
                       double *g) {
    double a[KERN_STRIP];
    distance(s, 1, a);
    for (size_t i = 0; i < s->m; i++) a[i] = a[i] > 0 ? w[i] / a[i] : 0;
    spread(k, s, LENGTHS, a, 1, g);
}

static bool mat12_wave(const struct kern *k, int dim, struct kern_wave *f) {
    radial_wave(k, dim, sqrt(0.5 / kern_gamma(f, 0.5)), f);
    return true;
}

/* e = exp(-a), a kept. */
static void decay(const struct kern_strip *s, double factor, double *a, double *e) {
    distance(s, factor, a);
    for (size_t i = 0; i < s->m; i++) e[i] = -a[i];
    vec_ops()->exp_scale(s->m, 1, e);
}

static const double SQRT3 = 1.7320508075688772935, SQRT5 = 2.2360679774997896964;

static void mat32_value(const struct kern *k, const struct kern_strip *s, double *out) {
    double a[KERN_STRIP];
    decay(s, SQRT3, a, out);
    for (size_t i = 0; i < s->m; i++) out[i] *= 1 + a[i];
}

/* dk/dl = 3 exp(-a) (u-u')^2 / l. part: w exp(-a); the sum of w k. */
static double mat32_fall(const struct kern *k, const struct kern_strip *s, const double *w,
                         double *e) {
    double a[KERN_STRIP];
    decay(s, SQRT3, a, e);
    vec_ops()->mul(s->m, w, e);
    return vec_ops()->sum(s->m, e) + vec_ops()->dot(s->m, a, e);
}
static bool mat32_wave(const struct kern *k, int dim, struct kern_wave *f) {
    radial_wave(k, dim, sqrt(1.5 / kern_gamma(f, 1.5)), f);
    return true;
}

static void mat52_value(const struct kern *k, const struct kern_strip *s, double *out) {
    double a[KERN_STRIP];
    decay(s, SQRT5, a, out);
    for (size_t i = 0; i < s->m; i++) out[i] *= 1 + a[i] * (1 + a[i] * (1.0 / 3));
}

/* dk/dl = 5/3 (1 + a) exp(-a) (u-u')^2 / l. part: w (1 + a) exp(-a); the sum of w k. */
static double mat52_fall(const struct kern *k, const struct kern_strip *s, const double *w,
                         double *e) {
    double a[KERN_STRIP];
    decay(s, SQRT5, a, e);
    for (size_t i = 0; i < s->m; i++) {
        double t = w[i] * e[i];
        e[i] = t * (1 + a[i]);
        a[i] *= a[i] * t;
    }
    return vec_ops()->sum(s->m, e) + (1.0 / 3) * vec_ops()->sum(s->m, a);
}
static bool mat52_wave(const struct kern *k, int dim, struct kern_wave *f) {
    radial_wave(k, dim, sqrt(2.5 / kern_gamma(f, 2.5)), f);
    return true;
}

/* Gamma-exponential: log k = -r^gamma = -exp(gamma/2 log q). t = r^gamma, lq = log q. */
static void gamma_parts(const struct kern *k, const struct kern_strip *s, double *t, double *lq) {
    squared(s, lq);
    for (size_t i = 0; i < s->m; i++) lq[i] = lq[i] > DBL_MIN ? lq[i] : DBL_MIN;
    vec_ops()->log(s->m, lq);
    for (size_t i = 0; i < s->m; i++) t[i] = 0.5 * k->par[k->npar - 1] * lq[i];
    vec_ops()->exp_scale(s->m, 1, t);
}

static void gamma_expo(const struct kern *k, const struct kern_strip *s, double *out) {
    double t[KERN_STRIP], lq[KERN_STRIP];
    gamma_parts(k, s, t, lq);
    vec_ops()->axpy(s->m, -1, t, out);
}

/* d/dl = gamma r^(gamma-2) (u-u')^2 / l; d/dgamma = -r^gamma log r. */
static void gamma_grad(const struct kern *k, const struct kern_strip *s, const double *w,
                       double *g) {
    double t[KERN_STRIP], lq[KERN_STRIP], wt[KERN_STRIP], q[KERN_STRIP];
    gamma_parts(k, s, t, lq);
    squared(s, q);
    vec_ops()->mul_to(s->m, w, t, wt);
    g[k->npar - 1] -= 0.5 * vec_ops()->dot(s->m, wt, lq);
    for (size_t i = 0; i < s->m; i++) wt[i] = q[i] > DBL_MIN ? wt[i] / q[i] : 0;
    spread(k, s, LENGTHS, wt, k->par[k->npar - 1], g);
}

/* ---- mixtures with shared lengths ---- */

static double share(const struct kern *k) {
    double odds = kern_par(k, ODDS, 0);
    return odds / (1 + odds);
}

/* a = sqrt(factor q), e = exp(-a). */
static void decay_of(size_t m, const double *q, double factor, double *a, double *e) {
    for (size_t i = 0; i < m; i++) e[i] = -(a[i] = sqrt(factor * q[i]));
    vec_ops()->exp_scale(m, 1, e);
}

static inline double m52(double a, double e) {
    return (1 + a * (1 + a * (1.0 / 3))) * e;
}
static inline double m52_fall(double a, double e) { /* -2 dM52/d(r^2) */
    return (5.0 / 3) * (1 + a) * e;
}

/* The value, and the derivatives in rho and the odds, from their sums. */
static void shape_grad(const struct kern *k, double value, double d_rho, double d_share,
                       double *g) {
    double w = share(k);
    g[0] += value;
    g[kern_par_index(k, RHO, 0)] += d_rho / kern_par(k, RHO, 0);
    g[kern_par_index(k, ODDS, 0)] += d_share * w * (1 - w) / kern_par(k, ODDS, 0);
}

static void mix_value(const struct kern *k, const struct kern_strip *s, double *out) {
    double q[KERN_STRIP], a[KERN_STRIP], a3[KERN_STRIP], e3[KERN_STRIP];
    double w = share(k), rho = kern_par(k, RHO, 0);
    squared(s, q);
    decay_of(s->m, q, 5, a, out);
    decay_of(s->m, q, 3 / (rho * rho), a3, e3);
    for (size_t i = 0; i < s->m; i++)
        out[i] = (1 - w) * m52(a[i], out[i]) + w * (1 + a3[i]) * e3[i];
}

static double mix_slopes(const struct kern *k, const struct kern_strip *s, enum wanted want,
                         const double *weight, double *g) {
    double q[KERN_STRIP], a[KERN_STRIP], e[KERN_STRIP], a3[KERN_STRIP], e3[KERN_STRIP];
    double w = share(k), rho = kern_par(k, RHO, 0), inv2 = 1 / (rho * rho), near = 0, far = 0,
           dr = 0;
    squared(s, q);
    decay_of(s->m, q, 5, a, e);
    decay_of(s->m, q, 3 * inv2, a3, e3);
    for (size_t i = 0; i < s->m; i++) {
        double fall = w * 3 * e3[i] * inv2;
        near += weight[i] * m52(a[i], e[i]);
        far += weight[i] * (1 + a3[i]) * e3[i];
        dr += weight[i] * fall * q[i];
        e[i] = weight[i] * ((1 - w) * m52_fall(a[i], e[i]) + fall);
    }
    spread(k, s, want, e, 1, g);
    double value = (1 - w) * near + w * far;
    if (want == LENGTHS) shape_grad(k, value, dr, far - near, g);
    return value;
}

static void mix_grad(const struct kern *k, const struct kern_strip *s, const double *w, double *g) {
    mix_slopes(k, s, LENGTHS, w, g);
}
static double mix_slope(const struct kern *k, const struct kern_strip *s, const double *w,
                        double *g) {
    return mix_slopes(k, s, POINT, w, g);
}
static bool mix_wave(const struct kern *k, int dim, struct kern_wave *f) {
    bool far = f->uniform(f->user) < share(k);
    double nu = far ? 1.5 : 2.5, rho = far ? kern_par(k, RHO, 0) : 1;
    radial_wave(k, dim, sqrt(nu / kern_gamma(f, nu)) / rho, f);
    return true;
}

/* a and e of the part of one column. */
static void column_decay(const struct kern_strip *s, int c, double *a, double *e) {
    const double *row = s->row + (size_t)c * s->ld;
    for (size_t i = 0; i < s->m; i++) e[i] = -(a[i] = SQRT5 * fabs(row[i] - s->col[c]));
    vec_ops()->exp_scale(s->m, 1, e);
}

static void add_value(const struct kern *k, const struct kern_strip *s, double *out) {
    double q[KERN_STRIP], a[KERN_STRIP], e[KERN_STRIP];
    double w = share(k), rho = kern_par(k, RHO, 0);
    squared(s, q);
    decay_of(s->m, q, 5 / (rho * rho), a, out);
    for (size_t i = 0; i < s->m; i++) out[i] = (1 - w) * m52(a[i], out[i]);
    for (int c = 0; c < s->nf; c++) {
        column_decay(s, c, a, e);
        for (size_t i = 0; i < s->m; i++) out[i] += w / s->nf * m52(a[i], e[i]);
    }
}

static double add_slopes(const struct kern *k, const struct kern_strip *s, enum wanted want,
                         const double *weight, double *g) {
    double q[KERN_STRIP], a[KERN_STRIP], e[KERN_STRIP], both[KERN_STRIP];
    double w = share(k), rho = kern_par(k, RHO, 0), inv2 = 1 / (rho * rho), joint = 0, alone = 0,
           dr = 0;
    squared(s, q);
    decay_of(s->m, q, 5 * inv2, a, both);
    for (size_t i = 0; i < s->m; i++) {
        double fall = (1 - w) * m52_fall(a[i], both[i]) * inv2;
        joint += weight[i] * m52(a[i], both[i]);
        dr += weight[i] * fall * q[i];
        both[i] = weight[i] * fall;
    }
    for (int c = 0; c < s->nf; c++) {
        column_decay(s, c, a, e);
        for (size_t i = 0; i < s->m; i++) {
            alone += weight[i] * m52(a[i], e[i]) / s->nf;
            e[i] = both[i] + weight[i] * w / s->nf * m52_fall(a[i], e[i]);
        }
        spread_one(k, s, want, c, e, 1, g);
    }
    double value = (1 - w) * joint + w * alone;
    if (want == LENGTHS) shape_grad(k, value, dr, alone - joint, g);
    return value;
}

static void add_grad(const struct kern *k, const struct kern_strip *s, const double *w, double *g) {
    add_slopes(k, s, LENGTHS, w, g);
}
static double add_slope(const struct kern *k, const struct kern_strip *s, const double *w,
                        double *g) {
    return add_slopes(k, s, POINT, w, g);
}
static bool add_wave(const struct kern *k, int dim, struct kern_wave *f) {
    int c = (int)(f->uniform(f->user) * leaf_dim(k, dim));
    bool alone = f->uniform(f->user) < share(k);
    double factor = sqrt(2.5 / kern_gamma(f, 2.5));
    if (alone)
        f->w[leaf_place(k, c)] += factor * kern_normal(f) / kern_par(k, L, c);
    else
        radial_wave(k, dim, factor / kern_par(k, RHO, 0), f);
    return true;
}

/* Median 0.12 of the span; half of it where it says how fast a periodic pattern changes. */
#define LENGTH                                                                                     \
    {                                                                                              \
        "l", KERN_POSITIVE, KERN_T_LOG, KERN_P_LOGNORMAL, -2.1202635362000911, 1, 1, true,         \
            .beside = -0.69314718055994531                                                         \
    }
#define MIXTURE                                                                                    \
    KERN_SF, LENGTH, {"odds", KERN_POSITIVE, KERN_T_LOG, KERN_P_LOGNORMAL, 0, 1.5, 1, false}, {    \
        "rho", KERN_POSITIVE, KERN_T_LOG, KERN_P_LOGNORMAL, 1.4, 0.7, 4, false                     \
    }
#define RADIAL(nm, text, words, alg)                                                               \
    .name = nm, .symbol = nm, .doc = text, .phrase = words, .op = KERN_LEAF, .algebra = alg,       \
    .amp = KERN_AMP_SQUARE, .stationary = true, .features = columns

const struct kern_class kern_rows_stationary[] = {
    {RADIAL("SE", "sf^2 exp(-(x-x')^2 / (2 l^2))", "a smooth function", KERN_ALG_SE),
     .maker = {"make_squaredexp", "make_se"}, .npar = 2,
     .motif = {KERN_ROLE_SMOOTH, false, 1, "SE", NULL, 1, true, "a smooth function"},
     .par = {KERN_SF, LENGTH}, .prepare = se_prepare, .expo = se_expo, .grad = se_grad,
     .slope = se_slope, .wave = se_wave},
    {RADIAL("RQ", "sf^2 (1 + (x-x')^2 / (2 alpha l^2))^-alpha",
            "a function that varies on several scales", KERN_ALG_STAT),
     .motif = {KERN_ROLE_SMOOTH, false, 6, "RQ", NULL, 1, false, "a smooth function"},
     .maker = {"make_rq"}, .npar = 3,
     .par = {KERN_SF,
             LENGTH,
             {"alpha", KERN_POSITIVE, KERN_T_LOG, KERN_P_LOGNORMAL, 0, 1, 1, false}},
     .prepare = prepare, .expo = rq_expo, .grad = rq_grad, .wave = rq_wave},
    {RADIAL("CAUCHY", "sf^2 / (1 + (x-x')^2 / l^2)", "a function whose correlation fades slowly",
            KERN_ALG_STAT),
     .motif = {KERN_ROLE_SMOOTH, false, 12, "CAUCHY", NULL, 1, false,
               "a smooth function with a long memory"},
     .maker = {"make_cauchy"}, .npar = 2, .par = {KERN_SF, LENGTH}, .prepare = prepare,
     .value = cauchy_value, .fall = cauchy_fall, .fall_factor = 2, .grad = radial_grad,
     .grad_value = true, .slope = radial_slope, .wave = cauchy_wave},
    {RADIAL("MAT12", "sf^2 exp(-|x-x'| / l)", "a rough, continuous function", KERN_ALG_STAT),
     .motif = {KERN_ROLE_SMOOTH, false, 10, "MAT12", "OU", 1, false, "a rough function"},
     .maker = {"make_matern_12"}, .npar = 2, .par = {KERN_SF, LENGTH}, .prepare = prepare,
     .expo = mat12_expo, .grad = mat12_grad, .wave = mat12_wave},
    {RADIAL("MAT32", "sf^2 (1 + a) exp(-a), a = sqrt(3) |x-x'| / l",
            "a function with continuous slope", KERN_ALG_STAT),
     .motif = {KERN_ROLE_SMOOTH, false, 4, "MAT32", "MAT", 1, false, "a rough function"},
     .maker = {"make_matern_32"}, .npar = 2, .par = {KERN_SF, LENGTH}, .prepare = prepare,
     .value = mat32_value, .fall = mat32_fall, .fall_factor = 3, .grad = radial_grad,
     .grad_value = true, .slope = radial_slope, .wave = mat32_wave},
    {RADIAL("MAT52", "sf^2 (1 + a + a^2/3) exp(-a), a = sqrt(5) |x-x'| / l",
            "a function with continuous curvature", KERN_ALG_STAT),
     .motif = {KERN_ROLE_SMOOTH, false, 11, "MAT52", NULL, 1, false, "a smooth function"},
     .maker = {"make_matern_52"}, .npar = 2, .par = {KERN_SF, LENGTH}, .prepare = prepare,
     .value = mat52_value, .fall = mat52_fall, .fall_factor = 5.0 / 3, .grad = radial_grad,
     .grad_value = true, .slope = radial_slope, .wave = mat52_wave},
    {RADIAL("GE", "sf^2 exp(-(|x-x'| / l)^gamma)", "a function of adjustable roughness",
            KERN_ALG_STAT),
     .maker = {"make_gamma_exponential"}, .npar = 3,
     .par = {KERN_SF, LENGTH, {"gamma", KERN_UPTO2, KERN_T_LOGIT2, KERN_P_UNIFORM, 0, 2, 1, false}},
     .prepare = prepare, .expo = gamma_expo, .grad = gamma_grad},
    {RADIAL("MIX", "sf^2 ((1-w) MAT52(l) + w MAT32(rho l)), w = odds/(1+odds)",
            "a ripple on a funnel", KERN_ALG_STAT),
     .npar = 4, .par = {MIXTURE}, .prepare = prepare, .value = mix_value, .grad = mix_grad,
     .grad_value = true, .slope = mix_slope, .wave = mix_wave},
    {RADIAL("ADD", "sf^2 (w mean_c MAT52(l_c) + (1-w) MAT52(rho l)), w = odds/(1+odds)",
            "a sum of functions of one input each, with interaction", KERN_ALG_STAT),
     .npar = 4, .par = {MIXTURE}, .prepare = prepare, .value = add_value, .grad = add_grad,
     .grad_value = true, .slope = add_slope, .wave = add_wave},
    {.name = NULL},
};
