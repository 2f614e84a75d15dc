/* SPDX-License-Identifier: Apache-2.0
 *
 * Periodic kernels without trigonometry inside the n^2 loop: every point carries c = cos(2 pi x/p)
 * and s = sin(2 pi x/p), and cos(2 pi (x - x')/p) = c c' + s s'. Note that
 * -2 sin^2(pi d/p) = cos(2 pi d/p) - 1 (the paper's formula lacks the minus sign).
 */
#include "gp/kernel/kern_tree.h"
#include "gp/kernel/kern_leaf.h"
#include "gp/kernel/kern_states.h"

#include "numeric/special/special.h"

#include <math.h>

static const double TWO_PI = 6.283185307179586477;

/* PER(sf, p, l): log k = sum_c (cos(2 pi d_c / p) - 1) / l_c^2. Features per column: cos, sin,
 * which carry the 1 / l of PER, and x. */
static void circle(const struct kern *k, struct kern_pts at, double *f, size_t ld) {
    for (int c = 0; c < leaf_dim(k, at.dim); c++, f += 3 * ld) {
        const double *x = leaf_col(k, at, c);
        double factor = k->cls->expo ? 1 / kern_par(k, 2, c) : 1;
        for (size_t i = 0; i < at.n; i++) { /* the angle is reduced accurately */
            double turns = x[i] / k->par[1], a = TWO_PI * (turns - floor(turns));
            f[i] = factor * cos(a);
            f[ld + i] = factor * sin(a);
            f[2 * ld + i] = x[i];
        }
    }
}

/* sum_i w_i d cos(a)/dp = sin(a) a / p of column c, a = 2 pi d / p. */
static double by_period(const struct kern *k, const struct kern_strip *s, int c, const double *w) {
    const double *f = s->row + 3 * (size_t)c * s->ld, *h = s->col + 3 * c;
    return TWO_PI / (k->par[1] * k->par[1]) *
           vec_ops()->dot_sindiff(s->m, w, f, f + s->ld, f + 2 * s->ld, h[0], h[1], h[2]);
}

static void per_expo(const struct kern *k, const struct kern_strip *s, double *out) {
    for (int c = 0; c < s->nf / 3; c++) {
        const double *f = s->row + 3 * (size_t)c * s->ld, *h = s->col + 3 * c;
        double il = 1 / kern_par(k, 2, c);
        vec_ops()->add_cosdiff(s->m, f, f + s->ld, h[0], h[1], il * il, out);
    }
}

/* d/dl = -2 log k / l;  d/dp = sin(a) a / (p l^2), a = 2 pi d / p. */
static void per_grad(const struct kern *k, const struct kern_strip *s, const double *w, double *g) {
    for (int c = 0; c < s->nf / 3; c++) {
        const double *f = s->row + 3 * (size_t)c * s->ld, *h = s->col + 3 * c;
        int at = kern_par_index(k, 2, c);
        double il = 1 / k->par[at];
        g[at] -= 2 * il * vec_ops()->dot_cosdiff(s->m, w, f, f + s->ld, h[0], h[1], il * il);
        g[1] += by_period(k, s, c, w);
    }
}

/* COS(sf, p): cos(2 pi d / p). */
static void cos_value(const struct kern *k, const struct kern_strip *s, double *out) {
    for (size_t i = 0; i < s->m; i++) out[i] = s->row[i] * s->col[0];
    vec_ops()->axpy(s->m, s->col[1], s->row + s->ld, out);
}

static void cos_grad(const struct kern *k, const struct kern_strip *s, const double *w, double *g) {
    g[1] += by_period(k, s, 0, w);
}

/* 1 - exp(-q) I0(q), without cancellation for small q: -expm1(-q) - exp(-q) (I0(q) - 1). */
static double bessel_rest(double q) {
    if (q >= 1) return 1 - bessel_i0e(q);
    double h = q * q / 4, term = h, sum = h;
    for (int m = 2; m < 20; m++) sum += term *= h / (m * (double)m);
    return -expm1(-q) - exp(-q) * sum;
}

/* ZPER(sf, p, l): (E - i0) / (1 - i0), E = exp(q (cos a - 1)), q = 1/l^2, i0 = exp(-q) I0(q). This
 * is PER without its constant part, scaled to 1 at lag 0 (Lloyd 2014). */
static void zper_parts(const struct kern *k, const struct kern_strip *s, double *cm1, double *e) {
    double q = 1 / (k->par[2] * k->par[2]);
    cos_value(k, s, cm1);
    for (size_t i = 0; i < s->m; i++) {
        cm1[i] = cm1[i] < 1 ? cm1[i] - 1 : 0;
        e[i] = q * cm1[i];
    }
    vec_ops()->exp_scale(s->m, 1, e);
}

static void zper_value(const struct kern *k, const struct kern_strip *s, double *out) {
    double cm1[KERN_STRIP], q = 1 / (k->par[2] * k->par[2]), r = bessel_rest(q);
    zper_parts(k, s, cm1, out);
    for (size_t i = 0; i < s->m; i++) /* E - i0 = (E - 1) + (1 - i0) */
        out[i] = 1 + (q < 1 ? expm1(q * cm1[i]) : out[i] - 1) / r;
}

/* d/dp = q sin(a) a/p E / (1 - i0);
 * d/dl = -2q/l [(cm1 E - i)(1 - i0) + (E - i0) i] / (1 - i0)^2, i = di0/dq = i1 - i0. */
static void zper_grad(const struct kern *k, const struct kern_strip *s, const double *w,
                      double *g) {
    double cm1[KERN_STRIP], e[KERN_STRIP], l = k->par[2], q = 1 / (l * l);
    double i0 = bessel_i0e(q), di = bessel_i1e(q) - i0, r = bessel_rest(q), sum = 0;
    zper_parts(k, s, cm1, e);
    for (size_t i = 0; i < s->m; i++) sum += w[i] * ((cm1[i] * e[i] - di) * r + (e[i] - i0) * di);
    g[2] -= 2 * q / l * sum / (r * r);
    vec_ops()->mul(s->m, w, e);
    g[1] += q / r * by_period(k, s, 0, e);
}

/* PER is a series of cosines with weights exp(-q) I_h(q), q = 1/l^2, over positive and negative h.
 * So h is distributed like the difference of two Poisson variables with mean q/2 (Skellam 1946). */
static void per_wave(const struct kern *k, int dim, struct kern_wave *f) {
    for (int c = 0; c < leaf_dim(k, dim); c++) {
        double l = kern_par(k, 2, c), half = 0.5 / (l * l);
        double h = dist_poisson_draw(f->rng, &half, 1) - dist_poisson_draw(f->rng, &half, 1);
        f->w[leaf_place(k, c)] += TWO_PI / k->par[1] * h;
    }
}

static void cos_wave(const struct kern *k, int dim, struct kern_wave *f) {
    f->w[leaf_place(k, 0)] += (rng_uniform(f->rng) < 0.5 ? -1 : 1) * TWO_PI / k->par[1];
}

/* ---- state-space forms: the harmonics ---- */

/* e^-z I_j(z), j <= top, by the downward recurrence I_(j-1) = I_(j+1) + 2j/z I_j, scaled at the end
 * by I_0 + 2 sum I_j = e^z. It starts high enough that the omitted terms are below rounding. */
static void bessel_scaled(double z, int top, double *out) {
    int start = top + 40 + (int)(7 * sqrt(z));
    double above = 0, here = 1e-290, sum = 0;
    memset(out, 0, (size_t)(top + 1) * sizeof *out);
    for (int j = start; j >= 0; j--) {
        if (j <= top) out[j] = here;
        sum += (j ? 2 : 1) * here;
        double below = above + 2 * j / z * here;
        above = here, here = below;
        if (here < 1e200) continue;
        above *= 1e-200, here *= 1e-200, sum *= 1e-200;
        for (int i = j; i <= top; i++) out[i] *= 1e-200;
    }
    for (int j = 0; j <= top; j++) out[j] /= sum;
}

/* PER = i_0 + sum 2 i_j cos(2 pi j d/p), i_j = e^-z I_j(z), z = 1/l^2; d i_j/dz = (i_(j-1) +
 * i_(j+1))/2 - i_j. ZPER omits i_0 and divides by 1 - i_0. */
static size_t series(const struct kern *k, bool zero, double tail, double *q, double *dq) {
    enum { TOP = KERN_HARMONICS_MAX };
    double z = 1 / (k->par[2] * k->par[2]), by_length = -2 * z / k->par[2], i[TOP + 2];
    double rest = zero ? bessel_rest(z) : 1, left = 0;
    if (z > TOP * TOP) return 0;
    bessel_scaled(z, TOP + 1, i);
    size_t n = TOP;
    while (n > 1 && left + 2 * i[n] / rest < tail) left += 2 * i[n--] / rest;
    if (n == TOP) return 0;
    double drest = zero ? i[0] - i[1] : 0;
    for (size_t j = zero, m = 0; j <= n; j++, m++) {
        double size = j ? 2 : 1, slope = j ? (i[j - 1] + i[j + 1]) / 2 - i[j] : i[1] - i[0];
        q[m] = size * i[j] / rest;
        dq[m] = by_length * (size * slope - q[m] * drest) / rest;
    }
    return n + !zero;
}

static size_t per_series(const struct kern *k, double tail, double *q, double *dq) {
    return series(k, false, tail, q, dq);
}
static size_t zper_series(const struct kern *k, double tail, double *q, double *dq) {
    return series(k, true, tail, q, dq);
}
static size_t cos_series(const struct kern *k, double tail, double *q, double *dq) {
    q[0] = 1, dq[0] = 0;
    return 1;
}
static const struct kern_states per_states = {.harmonics = per_series},
                                zper_states = {.harmonics = zper_series, .first = 1},
                                cos_states = {.harmonics = cos_series, .first = 1};

/* ---- device text ---- */
#define DEVICE_CIRCLE(size)                                                                        \
    "COLUMNS {"                                                                                    \
    "  double turns = x[c] / p[1], a = TWO_PI * (turns - floor(turns));"                           \
    "  f[3 * c] = cos(a)" size ", f[3 * c + 1] = sin(a)" size ", f[3 * c + 2] = x[c];"             \
    "}"
#define DEVICE_TURN /* d cos / dp of column c, the features' factor left in */                     \
    "(f[3 * c + 1] * h[3 * c] - f[3 * c] * h[3 * c + 1]) * (f[3 * c + 2] - h[3 * c + 2]) * "       \
    "(TWO_PI / (p[1] * p[1]))"
#define DEVICE_COS "double o = f[0] * h[0] + f[1] * h[1];"

static void zper_constants(const struct kern *k, double *out) {
    double q = 1 / (k->par[2] * k->par[2]);
    out[0] = bessel_rest(q);
    out[1] = bessel_i0e(q);
    out[2] = bessel_i1e(q) - out[1];
}

#define PERIOD                                                                                     \
    { "p", KERN_POSITIVE, KERN_T_LOG, KERN_P_LOGNORMAL, -2, 1, 1, false }
#define SHAPE                                                                                      \
    { "l", KERN_POSITIVE, KERN_T_LOG, KERN_P_LOGNORMAL, 0, 1, 1, true }
/* Periods from 1/200 to half of the span (a learner starts within the range that data can show).
 * The pattern is smooth, or with probability 0.3 as rough as twelve almost independent months. */
#define LEARNT_PERIOD                                                                              \
    { "p", KERN_POSITIVE, KERN_T_LOG, KERN_P_LOGUNIFORM, 0.005, 0.5, 1, false }
#define LEARNT_SHAPE                                                                               \
    {                                                                                              \
        "l", KERN_POSITIVE, KERN_T_LOG, KERN_P_LOGNORMAL, 0, 0.7, 1, false, {                      \
            0.3, -1.8971199848858813, 0.5                                                          \
        }                                                                                          \
    }
#define PERIODIC(nm, text, words)                                                                  \
    .name = nm, .symbol = nm, .doc = text, .phrase = words, .op = KERN_LEAF,                       \
    .algebra = KERN_ALG_STAT, .amp = KERN_AMP_SQUARE, .stationary = true, .features = 3,           \
    .prepare = circle

const struct kern_class kern_rows_periodic[] = {
    {PERIODIC("PER", "sf^2 exp(-2 sin^2(pi (x-x')/p) / l^2)", "a periodic function"),
     .motif = {.role = KERN_ROLE_PERIODIC}, .maker = {"make_periodic"}, .npar = 3,
     .par = {KERN_SF, PERIOD, SHAPE}, .order = -1, .expo = per_expo, .grad = per_grad,
     .wave = per_wave, .states = &per_states,
     .device = {.prepare = DEVICE_CIRCLE(" / p[2 + c % v]"),
                .value =
                    "double e = 0;"
                    "COLUMNS {"
                    "  double d = f[3 * c] * h[3 * c] + f[3 * c + 1] * h[3 * c + 1] - 1 / (p[2 "
                    "+ c % v] * p[2 + c % v]);"
                    "  e += d < 0 ? d : 0;"
                    "}"
                    "return e;",
                .grad =
                    "COLUMNS {"
                    "  double d = f[3 * c] * h[3 * c] + f[3 * c + 1] * h[3 * c + 1] - 1 / (p[2 + "
                    "c % v] * p[2 + c % v]);"
                    "  g[2 + c % v] -= w * (d < 0 ? d : 0) * (2 / p[2 + c % v]);"
                    "  g[1] += w * " DEVICE_TURN ";"
                    "}"}},
    {PERIODIC("COS", "sf^2 cos(2 pi (x-x')/p)", "a sinusoid"), .one_column = true,
     .motif = {.role = KERN_ROLE_PERIODIC}, .maker = {"make_cosine"}, .npar = 2,
     .par = {KERN_SF, PERIOD}, .value = cos_value, .grad = cos_grad, .wave = cos_wave,
     .states = &cos_states,
     .device = {.prepare = DEVICE_CIRCLE(""),
                .value = DEVICE_COS "return o;",
                .grad = "const int c = 0; g[1] += w * " DEVICE_TURN ";"}},
    {PERIODIC("ZPER",
              "sf^2 (exp(q (cos(2 pi (x-x')/p) - 1)) - i0) / (1 - i0), q = 1/l^2, "
              "i0 = exp(-q) I0(q)",
              "a periodic function with mean zero"),
     .motif = {KERN_ROLE_PERIODIC, false, 2, "PER", NULL, 1, true}, .one_column = true,
     .maker = {"make_zero_periodic"}, .npar = 3, .par = {KERN_SF, LEARNT_PERIOD, LEARNT_SHAPE},
     .value = zper_value, .grad = zper_grad, .states = &zper_states,
     .device = {.prepare = DEVICE_CIRCLE(""),
                .value = DEVICE_COS "return 1 + expm1((o < 1 ? o - 1 : 0) / (p[2] * p[2])) / k[0];",
                .grad = DEVICE_COS
                "const int c = 0;"
                "double q = 1 / (p[2] * p[2]), m = o < 1 ? o - 1 : 0, e = kexp(q * m), r = k[0];"
                "g[2] -= 2 * q / p[2] * w * ((m * e - k[2]) * r + (e - k[1]) * k[2]) / (r * r);"
                "g[1] += q / r * w * e * " DEVICE_TURN ";",
                .constants = 3,
                .constant = zper_constants}},
    {.name = NULL},
};
