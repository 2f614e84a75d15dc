/* SPDX-License-Identifier: Apache-2.0
 *
 * Constants, linear and polynomial kernels, ramps and steps, Wiener processes; and the change
 * operators, whose weights are steps.
 */
#include "gp/kernel/kern_tree.h"
#include "gp/kernel/kern_leaf.h"
#include "gp/kernel/kern_states.h"

#include "numeric/special/special.h"

#include <math.h>

/* C(sf) and CONST(c): value 1. */
static void unit_value(const struct kern *k, const struct kern_strip *s, double *out) {
    for (size_t i = 0; i < s->m; i++) out[i] = 1;
}
static void unit_add(const struct kern *k, const struct kern_strip *s, double amp, double *out) {
    for (size_t i = 0; i < s->m; i++) out[i] += amp;
}

/* LIN(sf) and LIN(sf, c): sum_c (x_c - c)(x'_c - c); features x - c. */
static void lin_prepare(const struct kern *k, struct kern_pts x, double *f, size_t ld) {
    for (int c = 0; c < leaf_dim(k, x.dim); c++) {
        const double *from = leaf_col(k, x, c);
        double o = kern_origin(k, c);
        for (size_t i = 0; i < x.n; i++) f[(size_t)c * ld + i] = from[i] - o;
    }
}

static void lin_add(const struct kern *k, const struct kern_strip *s, double amp, double *out) {
    for (int c = 0; c < s->nf; c++)
        vec_ops()->axpy(s->m, amp * s->col[c], s->row + (size_t)c * s->ld, out);
}

static void lin_value(const struct kern *k, const struct kern_strip *s, double *out) {
    memset(out, 0, s->m * sizeof *out);
    lin_add(k, s, 1, out);
}

/* d/dc = -(x - c) - (x' - c). */
static void lin_grad(const struct kern *k, const struct kern_strip *s, const double *w, double *g) {
    double total = vec_ops()->sum(s->m, w);
    for (int c = 0; c < s->nf; c++)
        g[kern_par_index(k, 1, c)] -=
            vec_ops()->dot(s->m, w, s->row + (size_t)c * s->ld) + total * s->col[c];
}

/* POLY(sf, c, degree): (c + x.x')^degree, c >= 0. */
static void powers(const struct kern *k, const struct kern_strip *s, double *v, int degree) {
    lin_value(k, s, v);
    for (size_t i = 0; i < s->m; i++) {
        double b = v[i] + k->par[1], p = 1;
        for (int d = 0; d < degree; d++) p *= b;
        v[i] = p;
    }
}

static void poly_value(const struct kern *k, const struct kern_strip *s, double *out) {
    powers(k, s, out, (int)k->par[2]);
}

static void poly_grad(const struct kern *k, const struct kern_strip *s, const double *w,
                      double *g) {
    double t[KERN_STRIP];
    powers(k, s, t, (int)k->par[2] - 1);
    g[1] += k->par[2] * vec_ops()->dot(s->m, w, t);
}

/* Rows with value h h', where h is a function of one column; the features are h and its
 * derivatives. */
static void weight_prepare(const struct kern *k, struct kern_pts x, double *f, size_t ld) {
    const double *from = leaf_col(k, x, 0);
    double dh[KERN_MAX_PAR];
    for (size_t i = 0; i < x.n; i++) {
        f[i] = k->cls->weight(k->par + 1, from[i], dh);
        for (size_t p = 1; p < k->npar; p++) f[p * ld + i] = dh[p - 1];
    }
}

static void weight_add(const struct kern *k, const struct kern_strip *s, double amp, double *out) {
    vec_ops()->axpy(s->m, amp * s->col[0], s->row, out);
}

static void weight_value(const struct kern *k, const struct kern_strip *s, double *out) {
    vec_ops()->scale_to(s->m, s->col[0], s->row, out);
}

static void weight_grad(const struct kern *k, const struct kern_strip *s, const double *w,
                        double *g) {
    double sum = vec_ops()->dot(s->m, w, s->row);
    for (size_t p = 1; p < k->npar; p++)
        g[p] += sum * s->col[p] + s->col[0] * vec_ops()->dot(s->m, w, s->row + p * s->ld);
}

/* RAMP(tau): h = max(0, x - tau). */
static double ramp(const double *par, double x, double *dh) {
    dh[0] = x > par[0] ? -1 : 0;
    return x > par[0] ? x - par[0] : 0;
}

/* STEP(tau): h = [x > tau]. */
static double step(const double *par, double x, double *dh) {
    dh[0] = 0; /* almost everywhere */
    return x > par[0];
}

/* PULSE(tau, w): h = [tau < x <= tau + w]. */
static double pulse(const double *par, double x, double *dh) {
    dh[0] = dh[1] = 0; /* almost everywhere */
    return x > par[0] && x <= par[0] + par[1];
}

/* STEP(tau, s) and CP: h = logistic((x - tau) / s). */
static double rise(const double *par, double x, double *dh) {
    double z = (x - par[0]) / par[1], h = logistic(z), slope = h * (1 - h) / par[1];
    dh[0] = -slope;
    dh[1] = -slope * z;
    return h;
}

/* CW(tau1, tau2, s): h = logistic((x - tau1)/s) (1 - logistic((x - tau2)/s)). */
static double window(const double *par, double x, double *dh) {
    double z1 = (x - par[0]) / par[2], z2 = (x - par[1]) / par[2];
    double a = logistic(z1), b = logistic(-z2);
    double da = a * (1 - a) / par[2] * b, db = b * (1 - b) / par[2] * a;
    dh[0] = -da;
    dh[1] = db;
    dh[2] = -da * z1 + db * z2;
    return a * b;
}

double kern_phi(const struct kern *k, int c, double x) {
    double dh[KERN_MAX_PAR];
    return k->cls->weight ? k->cls->weight(k->par + 1, x, dh) : x - kern_origin(k, c);
}

/* WIENER(sf, x0): min(t, t') and IWIENER: m^3/3 + |t - t'| m^2/2, m = min, t = max(0, x - x0). */
static void wiener_prepare(const struct kern *k, struct kern_pts x, double *f, size_t ld) {
    const double *from = leaf_col(k, x, 0);
    double start = k->par[k->npar - 1];
    for (size_t i = 0; i < x.n; i++) f[i] = fmax(0, from[i] - start);
}

static void wiener_add(const struct kern *k, const struct kern_strip *s, double amp, double *out) {
    double t = s->col[0];
    for (size_t i = 0; i < s->m && s->later; i++) out[i] += amp * t;
    for (size_t i = 0; i < s->m && !s->later; i++) out[i] += amp * (s->row[i] < t ? s->row[i] : t);
}

static void wiener_value(const struct kern *k, const struct kern_strip *s, double *out) {
    memset(out, 0, s->m * sizeof *out);
    wiener_add(k, s, 1, out);
}

static void wiener_grad(const struct kern *k, const struct kern_strip *s, const double *w,
                        double *g) {
    double t = s->col[0];
    if (s->later) g[0] += t * vec_ops()->sum(s->m, w);
    for (size_t i = 0; i < s->m && !s->later; i++) g[0] += w[i] * (s->row[i] < t ? s->row[i] : t);
}

static void iwiener_value(const struct kern *k, const struct kern_strip *s, double *out) {
    double t = s->col[0];
    for (size_t i = 0; i < s->m && s->later; i++)
        out[i] = t * t * (t * (1.0 / 3) + 0.5 * (s->row[i] - t));
    for (size_t i = 0; i < s->m && !s->later; i++) {
        double m = s->row[i] < t ? s->row[i] : t, d = fabs(s->row[i] - t);
        out[i] = m * m * (m * (1.0 / 3) + 0.5 * d);
    }
}

/* IOU(sf, l, x0): the integral from x0 of a slope with finite memory, an Ornstein-Uhlenbeck process
 * of variance sf^2 and memory l in its stationary state. With a = min(t, t') / l, b = |t - t'| / l,
 * E(u) = 1 - e^-u: k = sf^2 l^2 (2 (a - E(a)) + E(a) E(b)), a sum without cancellation. For long
 * memories it is sf^2 t t' (a straight line), for short ones a Wiener process of variance 2 sf^2
 * l. */
static double iou_rest(double a) { /* a - E(a); the series where the difference loses its digits */
    if (a > 0.5) return a + expm1(-a);
    double term = a * a / 2, sum = term;
    for (int m = 3; fabs(term) > 1e-18 * sum; m++) sum += term *= -a / m;
    return sum;
}

/* Features: t, E(t / l) and t / l - E(t / l); a pair uses those of the earlier point. */
static void iou_prepare(const struct kern *k, struct kern_pts x, double *f, size_t ld) {
    double l = k->par[1];
    wiener_prepare(k, x, f, ld);
    for (size_t i = 0; i < x.n; i++) {
        f[ld + i] = -expm1(-f[i] / l);
        f[2 * ld + i] = iou_rest(f[i] / l);
    }
}

static struct iou_start { double t, e, rest; } iou_earlier(const struct kern_strip *s, size_t i) {
    if (s->row[i] < s->col[0])
        return (struct iou_start){s->row[i], s->row[s->ld + i], s->row[2 * s->ld + i]};
    return (struct iou_start){s->col[0], s->col[1], s->col[2]};
}

/* E(b) along a strip, from b. Below 1/2 the series, with relative error 1e-17: b times the sum of
 * (-b)^m / (m + 1)!, by steps of two. */
static void iou_decays(size_t n, const double *b, double *e) {
    static const double c[] = {1,
                               1. / 2,
                               1. / 6,
                               1. / 24,
                               1. / 120,
                               1. / 720,
                               1. / 5040,
                               1. / 40320,
                               1. / 362880,
                               1. / 3628800,
                               1. / 39916800,
                               1. / 479001600,
                               1. / 6227020800,
                               1. / 87178291200};
    for (size_t i = 0; i < n; i++) e[i] = -b[i];
    vec_ops()->exp_scale(n, 1, e);
    for (size_t i = 0; i < n; i++) {
        double u = b[i], sq = u * u, sum = 0;
        if (u < 0.5) {
            for (int m = 12; m >= 0; m -= 2) sum = sum * sq + (c[m] - u * c[m + 1]);
            e[i] = u * sum;
        } else
            e[i] = 1 - e[i];
    }
}

/* E(b), b = |t - t'| / l, along a strip: from the table or computed. */
static const double *iou_gaps(const struct kern_strip *s, const double *b, double *e) {
    if (s->gap) return s->gap;
    iou_decays(s->m, b, e);
    return e;
}

static double iou_gap(const double *par, double distance) {
    return -expm1(-distance / par[1]);
}

static void iou_distances(const struct kern *k, const struct kern_strip *s, double *b) {
    double t = s->col[0], rate = 1 / k->par[1];
    for (size_t i = 0; i < s->m; i++) b[i] = fabs(s->row[i] - t) * rate;
}

static void iou_pairs(const struct kern *k, const struct kern_strip *s, double *out) {
    double b[KERN_STRIP], l2 = k->par[1] * k->par[1];
    if (!s->gap) iou_distances(k, s, b);
    const double *e = iou_gaps(s, b, out);
    for (size_t i = 0; i < s->m; i++) {
        struct iou_start f = iou_earlier(s, i);
        out[i] = l2 * (2 * f.rest + f.e * e[i]);
    }
}

/* Is the fixed point the earlier one in all pairs, with E(b) known? */
static bool iou_simple(const struct kern_strip *s) {
    return s->later && s->gap;
}

static void iou_add(const struct kern *k, const struct kern_strip *s, double amp, double *out) {
    double value[KERN_STRIP], l2 = amp * k->par[1] * k->par[1];
    double both = 2 * l2 * s->col[2], by_gap = l2 * s->col[1];
    for (size_t i = 0; i < s->m && iou_simple(s); i++) out[i] += both + by_gap * s->gap[i];
    if (iou_simple(s)) return;
    iou_pairs(k, s, value);
    vec_ops()->axpy(s->m, amp, value, out);
}

static void iou_value(const struct kern *k, const struct kern_strip *s, double *out) {
    if (!iou_simple(s)) {
        iou_pairs(k, s, out);
        return;
    }
    memset(out, 0, s->m * sizeof *out);
    iou_add(k, s, 1, out);
}

/* l^2 (u - E(u)), u the distance / l; its derivative in l is l (2 (u - E(u)) - u E(u)). */
static double iou_variogram(const double *par, double distance, double *d) {
    double l = par[1], u = distance / l, rest = iou_rest(u);
    d[1] = l * (2 * rest + u * expm1(-u));
    d[2] = 0;
    return l * l * rest;
}

/* With k = l^2 G(a, b): dk/dl = l (2 G - a G_a - b G_b). If the fixed point is the earlier one in
 * all pairs, only w, w E(b), w b and w b E(b) need to be summed. */
static void iou_grad_later(const struct kern *k, const struct kern_strip *s, const double *w,
                           double *g) {
    const struct vec_ops *v = vec_ops();
    double we[KERN_STRIP], l = k->par[1], t = s->col[0], e = s->col[1], rest = s->col[2];
    memcpy(we, w, s->m * sizeof *we);
    v->mul(s->m, s->gap, we);
    double sw = v->sum(s->m, w), swe = v->sum(s->m, we);
    double swb = (v->dot(s->m, w, s->row) - t * sw) / l;
    double swbe = (v->dot(s->m, we, s->row) - t * swe) / l;
    double value = 2 * rest * sw + e * swe;
    double slope = t / l * (2 * e * sw + (1 - e) * swe) + e * (swb - swbe);
    g[0] += l * l * value;
    g[1] += l * (2 * value - slope);
}

static void iou_grad(const struct kern *k, const struct kern_strip *s, const double *w, double *g) {
    double b[KERN_STRIP], buf[KERN_STRIP], l = k->par[1];
    double value = 0, slope = 0;
    if (iou_simple(s)) {
        iou_grad_later(k, s, w, g);
        return;
    }
    iou_distances(k, s, b);
    const double *e = iou_gaps(s, b, buf);
    for (size_t i = 0; i < s->m; i++) {
        struct iou_start f = iou_earlier(s, i);
        double both = 2 * f.rest + f.e * e[i], by_b = f.e * (1 - e[i]);
        double by_a = 2 * f.e + (1 - f.e) * e[i];
        value += w[i] * both;
        slope += w[i] * (f.t / l * by_a + b[i] * by_b);
    }
    g[0] += l * l * value;
    g[1] += l * (2 * value - slope);
}

/* ---- state-space forms ---- */
static const double FIRST[] = {1, 0}; /* the value, followed by the slope */

static void wiener_step(const struct kern *k, const double *p, double dt, double *a, double *q,
                        double *da, double *dq) {
    a[0] = 1;
    q[0] = dt;
}
static void wiener_prior(const struct kern *k, double t, double *p, double *dp) {
    p[0] = t;
}

static void iwiener_step(const struct kern *k, const double *p, double dt, double *a, double *q,
                         double *da, double *dq) {
    a[0] = a[3] = 1, a[1] = dt, a[2] = 0;
    q[0] = dt * dt * dt / 3, q[1] = q[2] = dt * dt / 2, q[3] = dt;
}
static void iwiener_prior(const struct kern *k, double t, double *p, double *dp) {
    double a[4];
    iwiener_step(k, NULL, t, a, p, NULL, NULL);
}

/* 2u - 3 + 4 e^-u - e^-2u = 2 int (1 - e^-v)^2 dv from 0 to u; the series where the sum loses its
 * digits. */
static double iou_square(double u) {
    if (u > 0.5) return 2 * u - 3 + 4 * exp(-u) - exp(-2 * u);
    double term = -u * u * u / 6, power = 8, sum = 0;
    for (int m = 3; m < 26; m++, power *= 2) {
        sum += (4 - power) * term;
        term *= -u / (m + 1);
    }
    return sum;
}

/* With e = e^-u, u = dt/l:  A = (1, l (1-e); 0, e),
 * Q = (l^2 (2u - 3 + 4e - e^2), l (1-e)^2; ., 1 - e^2). */
static void iou_step(const struct kern *k, const double *p, double dt, double *a, double *q,
                     double *da, double *dq) {
    double l = k->par[1], u = dt / l, e = exp(-u), f = -expm1(-u), w = iou_square(u);
    a[0] = 1, a[1] = l * f, a[2] = 0, a[3] = e;
    q[0] = l * l * w, q[1] = q[2] = l * f * f, q[3] = -expm1(-2 * u);
    if (!da) return;
    da[0] = da[2] = 0, da[1] = f - u * e, da[3] = e * u / l;
    dq[0] = 2 * l * (w - u * f * f), dq[1] = dq[2] = f * (f - 2 * u * e),
    dq[3] = -2 * e * e * u / l;
}
/* Starts at 0 with a slope of variance 1: P = A (0, 0; 0, 1) A' + Q. */
static void iou_prior(const struct kern *k, double t, double *p, double *dp) {
    double a[4], da[4];
    iou_step(k, NULL, t, a, p, dp ? da : NULL, dp);
    p[0] += a[1] * a[1], p[1] += a[1] * a[3], p[2] = p[1], p[3] = 1;
    if (!dp) return;
    dp[0] += 2 * a[1] * da[1], dp[1] += da[1] * a[3] + a[1] * da[3], dp[2] = dp[1], dp[3] = 0;
}

static const struct kern_states wiener_states = {
    .n = 1, .starts = true, .observe = FIRST, .step = wiener_step, .prior = wiener_prior};
static const struct kern_states iwiener_states = {
    .n = 2, .starts = true, .observe = FIRST, .step = iwiener_step, .prior = iwiener_prior};
static const struct kern_states iou_states = {
    .n = 2, .length = true, .starts = true, .observe = FIRST, .step = iou_step, .prior = iou_prior};

#define ROW(nm, text, words, alg)                                                                  \
    .name = nm, .symbol = nm, .doc = text, .phrase = words, .op = KERN_LEAF, .algebra = alg
/* ---- device text ---- */
#define DEVICE_DOT   "double s = 0; COLUMNS s += f[c] * h[c];"
#define DEVICE_START "f[0] = fmax(0., x[0] - p[1]);"
#define DEVICE_IOU                                                                                 \
    "double l = p[1], a = fmin(f[0], h[0]) / l, b = fabs(f[0] - h[0]) / l;"                        \
    "double ea = f[0] < h[0] ? f[1] : h[1], eb = -expm1(-b);"                                      \
    "double both = 2 * (f[0] < h[0] ? f[2] : h[2]) + ea * eb;"
#define DEVICE_RISE                                                                                \
    "double z = (x - p[0]) / p[1], r = logistic(z), d = r * (1 - r) / p[1];"                       \
    "dh[0] = -d, dh[1] = -d * z;"                                                                  \
    "return r;"

#define CONSTANT(nm, text, size)                                                                   \
    ROW(nm, text, "a constant", KERN_ALG_CONST), .amp = size, .stationary = true, .npar = 1,       \
                                                 .value = unit_value, .add = unit_add,             \
                                                 .device = {.value = "return 1;"}
#define LINEAR(text)                                                                               \
    ROW("LIN", text, "a linear function", KERN_ALG_LIN), .order = -3, .amp = KERN_AMP_SQUARE,      \
                                                         .features = 1, .prepare = lin_prepare,    \
                                                         .value = lin_value, .add = lin_add
#define LINE(nm, text, words, n)                                                                   \
    ROW(nm, text, words, KERN_ALG_OPAQUE),                                                         \
        .amp = KERN_AMP_SQUARE, .one_column = true, .npar = n, .features = n,                      \
        .prepare = weight_prepare, .value = weight_value, .add = weight_add, .grad = weight_grad
#define STARTS(nm, text, words, n)                                                                 \
    ROW(nm, text, words, KERN_ALG_OPAQUE), .amp = KERN_AMP_SQUARE, .one_column = true,             \
                                           .optional = 1, .npar = n
#define WALK(nm, text, words, n)                                                                   \
    STARTS(nm, text, words, 2), .walk = n, .features = 1, .prepare = wiener_prepare
#define ORIGIN(nm, trans, prior, vec)                                                              \
    { nm, KERN_REAL, trans, prior, 0.5, 0.8, 0, vec }
#define PLACE(nm, trans, at)                                                                       \
    { nm, KERN_REAL, trans, KERN_P_UNIFORM, 0.05, 0.95, at, false }
#define WIDTH                                                                                      \
    { "s", KERN_POSITIVE, KERN_T_LOG, KERN_P_LOGNORMAL, -3, 1, 0.05, false }

const struct kern_class kern_rows_linear[] = {
    {CONSTANT("C", "sf^2", KERN_AMP_SQUARE), .maker = {"make_constant"}, .par = {KERN_SF}},
    {CONSTANT("CONST", "c, written as a plain number", KERN_AMP_LINEAR), .maker = {"gp_cov_const"},
     .par = {{"c", KERN_NONNEGATIVE, KERN_T_LOG, KERN_P_LOGNORMAL, -1.4, 2, 1, false}}},
    {LINEAR("sf^2 x x'"), .motif = {.role = KERN_ROLE_TREND, .direction = true}, .npar = 1,
     .par = {KERN_SF}, .device = {.value = DEVICE_DOT "return s;"}},
    {LINEAR("sf^2 (x - c)(x' - c)"),
     .motif = {KERN_ROLE_TREND, true, 0, "LIN", NULL, 3.4641016151377546, true},
     .maker = {"make_linear"}, .optional = 1, .npar = 2,
     .par = {KERN_SF, ORIGIN("c", KERN_T_NONE, KERN_P_NORMAL, true)}, .grad = lin_grad,
     .device = {.prepare = "COLUMNS f[c] = x[c] - p[1 + c % v];",
                .value = DEVICE_DOT "return s;",
                .grad = "COLUMNS g[1 + c % v] -= w * (f[c] + h[c]);"}},
    {ROW("POLY", "sf^2 (c + x x')^degree", "a polynomial", KERN_ALG_OPAQUE), .amp = KERN_AMP_SQUARE,
     .maker = {"make_polynomial"}, .npar = 3,
     .par = {KERN_SF,
             {"c", KERN_NONNEGATIVE, KERN_T_LOG, KERN_P_LOGNORMAL, 0, 1, 1, false},
             {"degree", KERN_DEGREE, KERN_T_FIXED, KERN_P_FLAT, 0, 0, 2, false}},
     .features = 1, .value = poly_value, .grad = poly_grad,
     .device = {.value = DEVICE_DOT "return power(s + p[1], (int)p[2]);",
                .grad = DEVICE_DOT "g[1] += w * p[2] * power(s + p[1], (int)p[2] - 1);"}},
    {LINE("RAMP", "sf^2 h h', h = max(0, x - tau)", "a trend that starts at a point", 2),
     .motif = {KERN_ROLE_BREAK, true, 5, "RAMP", NULL, 3, false, "a trend that starts at a date"},
     .maker = {"make_ramp"}, .par = {KERN_SF, PLACE("tau", KERN_T_NONE, 0.5)}, .weight = ramp,
     .device = {.weight = "dh[0] = x > p[0] ? -1 : 0; return x > p[0] ? x - p[0] : 0;"}},
    {LINE("STEP", "sf^2 [x > tau][x' > tau]", "a jump at a point", 2),
     .motif = {.role = KERN_ROLE_BREAK}, .par = {KERN_SF, PLACE("tau", KERN_T_FIXED, 0.5)},
     .weight = step, .device = {.weight = "dh[0] = 0; return x > p[0];"}},
    {LINE("STEP", "sf^2 h h', h = 1 / (1 + exp(-(x - tau)/s))", "a jump at a point", 3),
     .motif = {KERN_ROLE_BREAK, false, 7, "STEP", NULL, 1, false, "a shift of level"},
     .maker = {"make_step"}, .optional = 1,
     .par = {KERN_SF,
             PLACE("tau", KERN_T_NONE, 0.5),
             {"s", KERN_POSITIVE, KERN_T_LOG, KERN_P_FLAT, 0, 0, 0.005, false}},
     .weight = rise, .device = {.weight = DEVICE_RISE}},
    {LINE("PULSE", "sf^2 h h', h = [tau < x <= tau + w]", "another level between two points", 3),
     .motif = {KERN_ROLE_BREAK, false, 14, "PULSE", NULL, 1, false, "another level for a time"},
     .maker = {"make_pulse"},
     .par = {KERN_SF,
             PLACE("tau", KERN_T_FIXED, 0.5),
             {"w", KERN_POSITIVE, KERN_T_FIXED, KERN_P_UNIFORM, 0.03, 0.6, 0.1, false}},
     .weight = pulse,
     .device = {.weight = "dh[0] = dh[1] = 0; return x > p[0] && x <= p[0] + p[1];"}},
    {WALK("WIENER", "sf^2 min(t, t'), t = max(0, x - x0)", "a random walk", 1),
     .motif = {KERN_ROLE_WALK, false, 8, "WIENER", "W", 1, true, "a random walk", .cost = -0.5},
     .maker = {"make_wiener"},
     .par = {KERN_SD(-0.3, 1), ORIGIN("x0", KERN_T_FIXED, KERN_P_FLAT, false)},
     .value = wiener_value, .add = wiener_add, .grad = wiener_grad, .grad_value = true,
     .states = &wiener_states,
     .device = {.prepare = DEVICE_START, .value = "return fmin(f[0], h[0]);"}},
    {WALK("IWIENER", "sf^2 (m^3/3 + |t-t'| m^2/2), m = min(t, t'), t = max(0, x - x0)",
          "a smoothly drifting function", 2),
     .motif = {KERN_ROLE_WALK, true, 3, "IWIENER", "IW", 1, true, "a trend whose slope drifts",
               .cost = 1},
     .maker = {"make_integrated_wiener"},
     .par = {KERN_SD(1, 1.5), ORIGIN("x0", KERN_T_FIXED, KERN_P_FLAT, false)},
     .value = iwiener_value, .states = &iwiener_states,
     .device = {.prepare = DEVICE_START,
                .value = "double m = fmin(f[0], h[0]), d = fabs(f[0] - h[0]);"
                         "return m * m * (m * (1.0 / 3) + 0.5 * d);"}},
    {STARTS("IOU",
            "sf^2 l^2 (2 m/l - 1 + e(t) + e(t') - e(|t-t'|)), e(u) = exp(-u/l), m = min(t, t'), "
            "t = max(0, x - x0)",
            "a trend that forgets its slope", 3),
     .motif = {KERN_ROLE_WALK, true, 13, "IOU", NULL, 1, true, "a trend whose slope comes and goes",
               .cost = -0.5},
     .maker = {"make_integrated_ou"},
     .par = {KERN_SD(1, 1),
             {"l", KERN_POSITIVE, KERN_T_LOG, KERN_P_LOGNORMAL, -1.5, 1, 1, false},
             ORIGIN("x0", KERN_T_FIXED, KERN_P_FLAT, false)},
     .features = 3, .prepare = iou_prepare, .value = iou_value, .add = iou_add, .grad = iou_grad,
     .gap = iou_gap, .grad_value = true, .variogram = iou_variogram, .states = &iou_states,
     .device = {.prepare = "f[0] = fmax(0., x[0] - p[2]), f[1] = -expm1(-f[0] / p[1]),"
                           "f[2] = iou_rest(f[0] / p[1]);",
                .value = DEVICE_IOU "return l * l * both;",
                .grad = DEVICE_IOU
                "g[1] += w * l * (2 * both - a * (2 * ea + (1 - ea) * eb) - b * ea * (1 - eb));"}},
    {.name = NULL},
};

#define CHANGE(nm, text, words)                                                                    \
    .name = nm, .symbol = nm, .doc = "(1-h)(1-h') k1 + h h' k2, h = " text, .phrase = words,       \
    .op = KERN_CHANGE, .one_column = true
const struct kern_class kern_rows_change[] = {
    {CHANGE("CP", "1 / (1 + exp(-(x - tau)/s))", "a change from one behaviour to another"),
     .npar = 2, .par = {PLACE("tau", KERN_T_NONE, 0.5), WIDTH}, .weight = rise,
     .device = {.weight = DEVICE_RISE}},
    {CHANGE("CW", "sigmoid((x - tau1)/s) (1 - sigmoid((x - tau2)/s))",
            "another behaviour inside a window"),
     .npar = 3, .par = {PLACE("tau1", KERN_T_NONE, 0.3), PLACE("tau2", KERN_T_NONE, 0.7), WIDTH},
     .weight = window,
     .device = {.weight = "double z1 = (x - p[0]) / p[2], z2 = (x - p[1]) / p[2];"
                          "double a = logistic(z1), b = logistic(-z2);"
                          "double da = a * (1 - a) / p[2] * b, db = b * (1 - b) / p[2] * a;"
                          "dh[0] = -da, dh[1] = db, dh[2] = -da * z1 + db * z2;"
                          "return a * b;"}},
    {.name = NULL},
};
