/* SPDX-License-Identifier: Apache-2.0
 *
 * Constants, linear and polynomial kernels, ramps and steps, Wiener processes.
 */
#include "gp/kern_class.h"
#include "gp/kern_leaf.h"

#include "la/vec.h"

#include <math.h>
#include <string.h>

static int one(const struct kern *k, int dim) {
    return 1;
}
static int two(const struct kern *k, int dim) {
    return 2;
}
static int columns(const struct kern *k, int dim) {
    return leaf_dim(k, dim);
}

/* C(sf) and CONST(c): value 1. */
static int none(const struct kern *k, int dim) {
    return 0;
}
static void unit_prepare(const struct kern *k, struct kern_pts x, double *f, size_t ld) {}
static void unit_value(const struct kern *k, const struct kern_strip *s, double *out) {
    for (size_t i = 0; i < s->m; i++) out[i] = 1;
}
static void unit_grad(const struct kern *k, const struct kern_strip *s, const double *w,
                      double *g) {}

static void unit_add(const struct kern *k, const struct kern_strip *s, double amp, double *out) {
    for (size_t i = 0; i < s->m; i++) out[i] += amp;
}

/* LIN(sf) and LIN(sf, c): sum_c (x_c - c)(x'_c - c); features x - c. */
static void lin_prepare(const struct kern *k, struct kern_pts x, double *f, size_t ld) {
    for (int c = 0; c < leaf_dim(k, x.dim); c++) {
        const double *from = leaf_col(k, x, c);
        double origin = k->cls->npar > 1 ? kern_par(k, 1, c) : 0;
        for (size_t i = 0; i < x.n; i++) f[(size_t)c * ld + i] = from[i] - origin;
    }
}

static void inner(const struct kern_strip *s, double *out) {
    memset(out, 0, s->m * sizeof *out);
    for (int c = 0; c < s->nf; c++)
        vec_ops()->axpy(s->m, s->col[c], s->row + (size_t)c * s->ld, out);
}

static void lin_value(const struct kern *k, const struct kern_strip *s, double *out) {
    inner(s, out);
}

static void lin_add(const struct kern *k, const struct kern_strip *s, double amp, double *out) {
    for (int c = 0; c < s->nf; c++)
        vec_ops()->axpy(s->m, amp * s->col[c], s->row + (size_t)c * s->ld, out);
}

/* d/dc = -(x - c) - (x' - c). */
static void lin_grad(const struct kern *k, const struct kern_strip *s, const double *w, double *g) {
    if (k->cls->npar < 2) return;
    double total = vec_ops()->sum(s->m, w);
    for (int c = 0; c < s->nf; c++)
        g[kern_par_index(k, 1, c)] -=
            vec_ops()->dot(s->m, w, s->row + (size_t)c * s->ld) + total * s->col[c];
}

static void lin_diag(const struct kern *k, struct kern_pts x, double *out) {
    memset(out, 0, x.n * sizeof *out);
    for (int c = 0; c < leaf_dim(k, x.dim); c++) {
        const double *from = leaf_col(k, x, c);
        double origin = k->cls->npar > 1 ? kern_par(k, 1, c) : 0;
        for (size_t i = 0; i < x.n; i++) out[i] += (from[i] - origin) * (from[i] - origin);
    }
}

static void lin_diag_grad(const struct kern *k, struct kern_pts x, const double *w, double *g) {
    for (int c = 0; c < leaf_dim(k, x.dim) && k->cls->npar > 1; c++) {
        const double *from = leaf_col(k, x, c);
        int at = kern_par_index(k, 1, c);
        for (size_t i = 0; i < x.n; i++) g[at] -= 2 * w[i] * (from[i] - k->par[at]);
    }
}

static void lin_feature_grad(const struct kern *k, struct kern_pts x, const double *w, double *g) {
    if (k->cls->npar > 1) g[1] -= vec_ops()->sum(x.n, w);
}

/* POLY(sf, c, degree): (c + x.x')^degree, c >= 0. */
static void raw_prepare(const struct kern *k, struct kern_pts x, double *f, size_t ld) {
    for (int c = 0; c < leaf_dim(k, x.dim); c++)
        memcpy(f + (size_t)c * ld, leaf_col(k, x, c), x.n * sizeof *f);
}

static void powers(const struct kern *k, size_t n, double *v, int degree) {
    for (size_t i = 0; i < n; i++) {
        double b = v[i] + k->par[1], p = 1;
        for (int d = 0; d < degree; d++) p *= b;
        v[i] = p;
    }
}

static void poly_value(const struct kern *k, const struct kern_strip *s, double *out) {
    inner(s, out);
    powers(k, s->m, out, (int)k->par[2]);
}

static void poly_grad(const struct kern *k, const struct kern_strip *s, const double *w,
                      double *g) {
    double t[KERN_STRIP];
    inner(s, t);
    powers(k, s->m, t, (int)k->par[2] - 1);
    g[1] += k->par[2] * vec_ops()->dot(s->m, w, t);
}

static void square_sum(const struct kern *k, struct kern_pts x, double *out) {
    memset(out, 0, x.n * sizeof *out);
    for (int c = 0; c < leaf_dim(k, x.dim); c++) {
        const double *from = leaf_col(k, x, c);
        for (size_t i = 0; i < x.n; i++) out[i] += from[i] * from[i];
    }
}

static void poly_diag(const struct kern *k, struct kern_pts x, double *out) {
    square_sum(k, x, out);
    powers(k, x.n, out, (int)k->par[2]);
}

static void poly_diag_grad(const struct kern *k, struct kern_pts x, const double *w, double *g) {
    double t[KERN_STRIP]; /* callers pass at most one strip of points */
    square_sum(k, x, t);
    powers(k, x.n, t, (int)k->par[2] - 1);
    g[1] += k->par[2] * vec_ops()->dot(x.n, w, t);
}

/* RAMP(sf, tau): h h', h = max(0, x - tau). STEP(sf, tau): h = [x > tau]. */
static double ramp_h(const struct kern *k, double x) {
    if (k->cls->par[1].transform == KERN_T_FIXED) return x > k->par[1] ? 1 : 0;
    return x > k->par[1] ? x - k->par[1] : 0;
}

static void ramp_prepare(const struct kern *k, struct kern_pts x, double *f, size_t ld) {
    const double *from = leaf_col(k, x, 0);
    for (size_t i = 0; i < x.n; i++) f[i] = ramp_h(k, from[i]);
}

/* d/dtau = -([x > tau] h' + h [x' > tau]) for the ramp, 0 almost everywhere for the step. */
static void ramp_grad(const struct kern *k, const struct kern_strip *s, const double *w,
                      double *g) {
    if (k->cls->par[1].transform == KERN_T_FIXED) return;
    double sum = 0;
    for (size_t i = 0; i < s->m; i++)
        sum += w[i] * ((s->row[i] > 0) * s->col[0] + (s->col[0] > 0) * s->row[i]);
    g[1] -= sum;
}

static void ramp_diag(const struct kern *k, struct kern_pts x, double *out) {
    const double *from = leaf_col(k, x, 0);
    for (size_t i = 0; i < x.n; i++) out[i] = ramp_h(k, from[i]) * ramp_h(k, from[i]);
}

static void ramp_diag_grad(const struct kern *k, struct kern_pts x, const double *w, double *g) {
    const double *from = leaf_col(k, x, 0);
    if (k->cls->par[1].transform == KERN_T_FIXED) return;
    for (size_t i = 0; i < x.n; i++) g[1] -= 2 * w[i] * ramp_h(k, from[i]);
}

static void ramp_feature_grad(const struct kern *k, struct kern_pts x, const double *w, double *g) {
    const double *from = leaf_col(k, x, 0);
    if (k->cls->par[1].transform == KERN_T_FIXED) return;
    for (size_t i = 0; i < x.n; i++) g[1] -= from[i] > k->par[1] ? w[i] : 0;
}

/* STEP(sf, tau, s): h h', h = sigmoid((x - tau) / s), dh/dtau = -h (1 - h) / s. */
static double rise(const struct kern *k, double x) {
    double z = (x - k->par[1]) / k->par[2];
    return z >= 0 ? 1 / (1 + exp(-z)) : exp(z) / (1 + exp(z));
}

static void rise_prepare(const struct kern *k, struct kern_pts x, double *f, size_t ld) {
    const double *from = leaf_col(k, x, 0);
    for (size_t i = 0; i < x.n; i++) {
        f[i] = rise(k, from[i]);
        f[ld + i] = (from[i] - k->par[1]) / k->par[2];
    }
}

/* Adds c h h' ((1 - h) + (1 - h')) to the slope by tau, and the same with each part times its
 * distance z to that by s; c = -w / s. */
static void rise_slopes(const struct kern *k, double w, const double h[2], const double z[2],
                        double *g) {
    double c = -w / k->par[2] * h[0] * h[1];
    g[1] += c * (2 - h[0] - h[1]);
    g[2] += c * ((1 - h[0]) * z[0] + (1 - h[1]) * z[1]);
}

static void rise_value(const struct kern *k, const struct kern_strip *s, double *out) {
    vec_ops()->scale_to(s->m, s->col[0], s->row, out);
}

static void rise_grad(const struct kern *k, const struct kern_strip *s, const double *w,
                      double *g) {
    for (size_t i = 0; i < s->m; i++) {
        double h[2] = {s->row[i], s->col[0]}, z[2] = {s->row[s->ld + i], s->col[1]};
        rise_slopes(k, w[i], h, z, g);
    }
}

static void rise_diag(const struct kern *k, struct kern_pts x, double *out) {
    const double *from = leaf_col(k, x, 0);
    for (size_t i = 0; i < x.n; i++) out[i] = rise(k, from[i]) * rise(k, from[i]);
}

static void rise_diag_grad(const struct kern *k, struct kern_pts x, const double *w, double *g) {
    const double *from = leaf_col(k, x, 0);
    for (size_t i = 0; i < x.n; i++) {
        double h = rise(k, from[i]), z = (from[i] - k->par[1]) / k->par[2];
        rise_slopes(k, w[i], (double[]){h, h}, (double[]){z, z}, g);
    }
}

static void rise_feature_grad(const struct kern *k, struct kern_pts x, const double *w, double *g) {
    const double *from = leaf_col(k, x, 0);
    for (size_t i = 0; i < x.n; i++) {
        double h = rise(k, from[i]), d = -w[i] * h * (1 - h) / k->par[2];
        g[1] += d;
        g[2] += d * (from[i] - k->par[1]) / k->par[2];
    }
}

/* WIENER(sf, x0): min(t, t') and IWIENER: m^3/3 + |t - t'| m^2/2, m = min, t = max(0, x - x0). */
static void wiener_prepare(const struct kern *k, struct kern_pts x, double *f, size_t ld) {
    const double *from = leaf_col(k, x, 0);
    for (size_t i = 0; i < x.n; i++) f[i] = fmax(0, from[i] - k->par[1]);
}

static void wiener_value(const struct kern *k, const struct kern_strip *s, double *out) {
    double t = s->col[0];
    for (size_t i = 0; i < s->m; i++) out[i] = s->row[i] < t ? s->row[i] : t;
}

static void iwiener_value(const struct kern *k, const struct kern_strip *s, double *out) {
    double t = s->col[0];
    for (size_t i = 0; i < s->m; i++) {
        double m = s->row[i] < t ? s->row[i] : t, d = fabs(s->row[i] - t);
        out[i] = m * m * (m * (1.0 / 3) + 0.5 * d);
    }
}

static void wiener_diag(const struct kern *k, struct kern_pts x, double *out) {
    const double *from = leaf_col(k, x, 0);
    for (size_t i = 0; i < x.n; i++) out[i] = fmax(0, from[i] - k->par[1]);
}

static void iwiener_diag(const struct kern *k, struct kern_pts x, double *out) {
    wiener_diag(k, x, out);
    for (size_t i = 0; i < x.n; i++) out[i] = out[i] * out[i] * out[i] * (1.0 / 3);
}

static void no_diag_grad(const struct kern *k, struct kern_pts x, const double *w, double *g) {}

#define ROW(nm, text, words, alg)                                                                  \
    .name = nm, .symbol = nm, .doc = text, .phrase = words, .op = KERN_LEAF, .algebra = alg
#define ORIGIN(nm, trans, prior, vec)                                                              \
    { nm, KERN_REAL, trans, prior, 0.5, 0.8, 0, vec }

const struct kern_class kern_rows_linear[] = {
    {ROW("C", "sf^2", "a constant", KERN_ALG_CONST), .amp = KERN_AMP_SQUARE, .stationary = true,
     .maker = {"make_constant"}, .npar = 1, .par = {KERN_SF}, .features = none,
     .prepare = unit_prepare, .value = unit_value, .add = unit_add, .grad = unit_grad},
    {ROW("CONST", "c, written as a plain number", "a constant", KERN_ALG_CONST),
     .amp = KERN_AMP_LINEAR, .stationary = true, .maker = {"gp_cov_const"}, .npar = 1,
     .par = {{"c", KERN_NONNEGATIVE, KERN_T_LOG, KERN_P_LOGNORMAL, -1.4, 2, 1, false}},
     .features = none, .prepare = unit_prepare, .value = unit_value, .add = unit_add,
     .grad = unit_grad},
    {.rank_one = true,
     ROW("LIN", "sf^2 x x'", "a linear function", KERN_ALG_LIN),
     .amp = KERN_AMP_SQUARE,
     .motif = {.role = KERN_ROLE_TREND, .direction = true},
     .npar = 1,
     .par = {KERN_SF},
     .features = columns,
     .prepare = lin_prepare,
     .value = lin_value,
     .add = lin_add,
     .grad = lin_grad,
     .diag = lin_diag,
     .diag_grad = lin_diag_grad,
     .feature_grad = lin_feature_grad},
    {.rank_one = true,
     ROW("LIN", "sf^2 (x - c)(x' - c)", "a linear function", KERN_ALG_LIN),
     .motif = {KERN_ROLE_TREND, true, 0, "LIN", NULL, 3.4641016151377546, true},
     .amp = KERN_AMP_SQUARE,
     .maker = {"make_linear"},
     .optional = 1,
     .npar = 2,
     .par = {KERN_SF, ORIGIN("c", KERN_T_NONE, KERN_P_NORMAL, true)},
     .features = columns,
     .prepare = lin_prepare,
     .value = lin_value,
     .add = lin_add,
     .grad = lin_grad,
     .diag = lin_diag,
     .diag_grad = lin_diag_grad,
     .feature_grad = lin_feature_grad},
    {ROW("POLY", "sf^2 (c + x x')^degree", "a polynomial", KERN_ALG_OPAQUE), .amp = KERN_AMP_SQUARE,
     .maker = {"make_polynomial"}, .npar = 3,
     .par = {KERN_SF,
             {"c", KERN_NONNEGATIVE, KERN_T_LOG, KERN_P_LOGNORMAL, 0, 1, 1, false},
             {"degree", KERN_DEGREE, KERN_T_FIXED, KERN_P_FLAT, 0, 0, 2, false}},
     .features = columns, .prepare = raw_prepare, .value = poly_value, .grad = poly_grad,
     .diag = poly_diag, .diag_grad = poly_diag_grad},
    {.rank_one = true,
     ROW("RAMP", "sf^2 h h', h = max(0, x - tau)", "a trend that starts at a point",
         KERN_ALG_OPAQUE),
     .motif = {KERN_ROLE_BREAK, true, 5, "RAMP", NULL, 3, false, "a trend that starts at a date"},
     .amp = KERN_AMP_SQUARE,
     .one_column = true,
     .maker = {"make_ramp"},
     .npar = 2,
     .par = {KERN_SF, {"tau", KERN_REAL, KERN_T_NONE, KERN_P_UNIFORM, 0.05, 0.95, 0.5, false}},
     .features = one,
     .prepare = ramp_prepare,
     .value = lin_value,
     .add = lin_add,
     .grad = ramp_grad,
     .diag = ramp_diag,
     .diag_grad = ramp_diag_grad,
     .feature_grad = ramp_feature_grad},
    {.rank_one = true,
     ROW("STEP", "sf^2 [x > tau][x' > tau]", "a jump at a point", KERN_ALG_OPAQUE),
     .amp = KERN_AMP_SQUARE,
     .one_column = true,
     .motif = {.role = KERN_ROLE_BREAK},
     .npar = 2,
     .par = {KERN_SF, {"tau", KERN_REAL, KERN_T_FIXED, KERN_P_UNIFORM, 0.05, 0.95, 0.5, false}},
     .features = one,
     .prepare = ramp_prepare,
     .value = lin_value,
     .add = lin_add,
     .grad = ramp_grad,
     .diag = ramp_diag,
     .diag_grad = no_diag_grad,
     .feature_grad = ramp_feature_grad},
    {.rank_one = true,
     ROW("STEP", "sf^2 h h', h = 1 / (1 + exp(-(x - tau)/s))", "a jump at a point",
         KERN_ALG_OPAQUE),
     .motif = {KERN_ROLE_BREAK, false, 7, "STEP", NULL, 1, false, "a shift of level"},
     .amp = KERN_AMP_SQUARE,
     .one_column = true,
     .maker = {"make_step"},
     .optional = 1,
     .npar = 3,
     .par = {KERN_SF,
             {"tau", KERN_REAL, KERN_T_NONE, KERN_P_UNIFORM, 0.05, 0.95, 0.5, false},
             {"s", KERN_POSITIVE, KERN_T_LOG, KERN_P_FLAT, 0, 0, 0.005, false}},
     .features = two,
     .prepare = rise_prepare,
     .value = rise_value,
     .grad = rise_grad,
     .diag = rise_diag,
     .diag_grad = rise_diag_grad,
     .feature_grad = rise_feature_grad},
    {ROW("WIENER", "sf^2 min(t, t'), t = max(0, x - x0)", "a random walk", KERN_ALG_OPAQUE),
     .motif = {KERN_ROLE_WALK, false, 8, "WIENER", "W", 1, true, "a random walk"},
     .amp = KERN_AMP_SQUARE, .one_column = true, .walk = 1, .maker = {"make_wiener"}, .optional = 1,
     .npar = 2, .par = {KERN_SD(-0.3, 1), ORIGIN("x0", KERN_T_FIXED, KERN_P_FLAT, false)},
     .features = one, .prepare = wiener_prepare, .value = wiener_value, .grad = unit_grad,
     .diag = wiener_diag, .diag_grad = no_diag_grad},
    {ROW("IWIENER", "sf^2 (m^3/3 + |t-t'| m^2/2), m = min(t, t'), t = max(0, x - x0)",
         "a smoothly drifting function", KERN_ALG_OPAQUE),
     .motif = {KERN_ROLE_WALK, true, 3, "IWIENER", "IW", 1, true, "a trend whose slope drifts"},
     .amp = KERN_AMP_SQUARE, .one_column = true, .walk = 2, .maker = {"make_integrated_wiener"},
     .optional = 1, .npar = 2,
     .par = {KERN_SD(1, 1.5), ORIGIN("x0", KERN_T_FIXED, KERN_P_FLAT, false)}, .features = one,
     .prepare = wiener_prepare, .value = iwiener_value, .grad = unit_grad, .diag = iwiener_diag,
     .diag_grad = no_diag_grad},
    {.name = NULL},
};
