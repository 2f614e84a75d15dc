/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels of several inputs at once, as optimisation needs them: mixtures whose parts share their
 * length scales, and categories. r^2 = sum_c ((x_c - x'_c)/l_c)^2, w = odds / (1 + odds),
 *
 *   M52(r) = (1 + s + s^2/3) exp(-s), s = sqrt(5) r        M32(r) = (1 + s) exp(-s), s = sqrt(3) r
 *   MIX = (1-w) M52(r) + w M32(r/rho)            a ripple on a funnel with an edge at its foot
 *   ADD = w/d sum_c M52(r_c) + (1-w) M52(r/rho)  a sum over the columns, plus interaction
 *   HAM = exp(-sum_c [x_c != x'_c] / l_c)        categories: how many differ
 *
 * The features of a point are its scaled coordinates (HAM: the coordinates).
 */
#include "gp/kern_class.h"
#include "gp/kern_leaf.h"

#include "la/vec.h"

#include <math.h>
#include <string.h>

enum { L, ODDS, RHO }; /* parameters of the mixtures */

static int columns(const struct kern *k, int dim) {
    return leaf_dim(k, dim);
}

static void scaled(const struct kern *k, struct kern_pts x, double *f, size_t ld) {
    for (int c = 0; c < leaf_dim(k, x.dim); c++) {
        const double *from = leaf_col(k, x, c);
        double s = 1 / kern_par(k, L, c);
        for (size_t i = 0; i < x.n; i++) f[(size_t)c * ld + i] = from[i] * s;
    }
}

static double share(const struct kern *k) {
    double odds = kern_par(k, ODDS, 0);
    return odds / (1 + odds);
}

static void squared(const struct kern_strip *s, double *q) {
    memset(q, 0, s->m * sizeof *q);
    for (int c = 0; c < s->nf; c++)
        vec_ops()->add_sqdiff(s->m, s->row + (size_t)c * s->ld, s->col[c], q);
}

/* a = sqrt(factor q), e = exp(-a). */
static void decay(size_t m, const double *q, double factor, double *a, double *e) {
    for (size_t i = 0; i < m; i++) {
        a[i] = sqrt(factor * q[i]);
        e[i] = -a[i];
    }
    vec_ops()->exp_scale(m, 1, e);
}

static inline double m52(double a, double e) {
    return (1 + a * (1 + a * (1.0 / 3))) * e;
}
/* -2 dM52/d(r^2), of which every derivative of M52 is a multiple */
static inline double m52_fall(double a, double e) {
    return (5.0 / 3) * (1 + a) * e;
}

/* What one part of a mixture says about its parameters: fall has w_i times -2 dk/d(r^2). Lengths
 * get fall (u - u')^2 / l, a point fall (u - u') / l. */
enum wanted { LENGTHS, POINT };

static void spread(const struct kern *k, const struct kern_strip *s, enum wanted want, int c,
                   const double *fall, double *g) {
    const struct vec_ops *v = vec_ops();
    const double *row = s->row + (size_t)c * s->ld;
    int p = kern_par_index(k, L, c);
    if (want == LENGTHS)
        g[p] += v->dot_sqdiff(s->m, fall, row, s->col[c]) / k->par[p];
    else
        g[leaf_place(k, c)] += v->dot_diff(s->m, fall, row, s->col[c]) / k->par[p];
}

/* The derivatives in rho and the odds, from their sums. */
static void shape_grad(const struct kern *k, double d_rho, double d_share, double *g) {
    double w = share(k), odds = kern_par(k, ODDS, 0), rho = kern_par(k, RHO, 0);
    g[kern_par_index(k, RHO, 0)] += d_rho / rho;
    g[kern_par_index(k, ODDS, 0)] += d_share * w * (1 - w) / odds;
}

/* ---- MIX ---- */

static void mix_value(const struct kern *k, const struct kern_strip *s, double *out) {
    double q[KERN_STRIP], a[KERN_STRIP], a3[KERN_STRIP], e3[KERN_STRIP];
    double w = share(k), rho = kern_par(k, RHO, 0);
    squared(s, q);
    decay(s->m, q, 5, a, out);
    decay(s->m, q, 3 / (rho * rho), a3, e3);
    for (size_t i = 0; i < s->m; i++)
        out[i] = (1 - w) * m52(a[i], out[i]) + w * (1 + a3[i]) * e3[i];
}

static void mix_slopes(const struct kern *k, const struct kern_strip *s, enum wanted want,
                       const double *weight, double *g) {
    double q[KERN_STRIP], a[KERN_STRIP], e[KERN_STRIP], a3[KERN_STRIP], e3[KERN_STRIP];
    double w = share(k), rho = kern_par(k, RHO, 0), inv2 = 1 / (rho * rho), dr = 0, dw = 0;
    squared(s, q);
    decay(s->m, q, 5, a, e);
    decay(s->m, q, 3 * inv2, a3, e3);
    for (size_t i = 0; i < s->m; i++) {
        double far = w * 3 * e3[i] * inv2;
        dr += weight[i] * far * q[i];
        dw += weight[i] * ((1 + a3[i]) * e3[i] - m52(a[i], e[i]));
        e[i] = weight[i] * ((1 - w) * m52_fall(a[i], e[i]) + far);
    }
    for (int c = 0; c < s->nf; c++) spread(k, s, want, c, e, g);
    if (want == LENGTHS) shape_grad(k, dr, dw, g);
}

static void mix_grad(const struct kern *k, const struct kern_strip *s, const double *w, double *g) {
    mix_slopes(k, s, LENGTHS, w, g);
}
static void mix_slope(const struct kern *k, const struct kern_strip *s, const double *w,
                      double *g) {
    mix_slopes(k, s, POINT, w, g);
}

static void radial_wave(const struct kern *k, int dim, double factor, struct kern_wave *f) {
    for (int c = 0; c < leaf_dim(k, dim); c++)
        f->w[leaf_place(k, c)] += factor * kern_normal(f) / kern_par(k, L, c);
}

static bool mix_wave(const struct kern *k, int dim, struct kern_wave *f) {
    bool far = f->uniform(f->user) < share(k);
    double nu = far ? 1.5 : 2.5, rho = far ? kern_par(k, RHO, 0) : 1;
    radial_wave(k, dim, sqrt(nu / kern_gamma(f, nu)) / rho, f);
    return true;
}

/* ---- ADD ---- */

static void add_value(const struct kern *k, const struct kern_strip *s, double *out) {
    double q[KERN_STRIP], a[KERN_STRIP], e[KERN_STRIP];
    double w = share(k), rho = kern_par(k, RHO, 0);
    squared(s, q);
    decay(s->m, q, 5 / (rho * rho), a, out);
    for (size_t i = 0; i < s->m; i++) out[i] = (1 - w) * m52(a[i], out[i]);
    for (int c = 0; c < s->nf; c++) {
        memset(q, 0, s->m * sizeof *q);
        vec_ops()->add_sqdiff(s->m, s->row + (size_t)c * s->ld, s->col[c], q);
        decay(s->m, q, 5, a, e);
        for (size_t i = 0; i < s->m; i++) out[i] += w / s->nf * m52(a[i], e[i]);
    }
}

static void add_slopes(const struct kern *k, const struct kern_strip *s, enum wanted want,
                       const double *weight, double *g) {
    double q[KERN_STRIP], a[KERN_STRIP], e[KERN_STRIP], both[KERN_STRIP];
    double w = share(k), rho = kern_par(k, RHO, 0), inv2 = 1 / (rho * rho), dr = 0, dw = 0;
    squared(s, q);
    decay(s->m, q, 5 * inv2, a, both);
    for (size_t i = 0; i < s->m; i++) {
        double fall = (1 - w) * m52_fall(a[i], both[i]) * inv2;
        dr += weight[i] * fall * q[i];
        dw -= weight[i] * m52(a[i], both[i]);
        both[i] = weight[i] * fall;
    }
    for (int c = 0; c < s->nf; c++) {
        memset(q, 0, s->m * sizeof *q);
        vec_ops()->add_sqdiff(s->m, s->row + (size_t)c * s->ld, s->col[c], q);
        decay(s->m, q, 5, a, e);
        for (size_t i = 0; i < s->m; i++) {
            dw += weight[i] * m52(a[i], e[i]) / s->nf;
            e[i] = both[i] + weight[i] * w / s->nf * m52_fall(a[i], e[i]);
        }
        spread(k, s, want, c, e, g);
    }
    if (want == LENGTHS) shape_grad(k, dr, dw, g);
}

static void add_grad(const struct kern *k, const struct kern_strip *s, const double *w, double *g) {
    add_slopes(k, s, LENGTHS, w, g);
}
static void add_slope(const struct kern *k, const struct kern_strip *s, const double *w,
                      double *g) {
    add_slopes(k, s, POINT, w, g);
}

static bool add_wave(const struct kern *k, int dim, struct kern_wave *f) {
    int d = leaf_dim(k, dim), c = (int)(f->uniform(f->user) * d);
    bool alone = f->uniform(f->user) < share(k);
    double factor = sqrt(2.5 / kern_gamma(f, 2.5));
    if (alone)
        f->w[leaf_place(k, c)] += factor * kern_normal(f) / kern_par(k, L, c);
    else
        radial_wave(k, dim, factor / kern_par(k, RHO, 0), f);
    return true;
}

/* ---- HAM ---- */

static void ham_prepare(const struct kern *k, struct kern_pts x, double *f, size_t ld) {
    for (int c = 0; c < leaf_dim(k, x.dim); c++)
        if (x.n) memcpy(f + (size_t)c * ld, leaf_col(k, x, c), x.n * sizeof *f);
}

static void ham_expo(const struct kern *k, const struct kern_strip *s, double *out) {
    for (int c = 0; c < s->nf; c++) {
        const double *row = s->row + (size_t)c * s->ld;
        double inv = 1 / kern_par(k, L, c);
        for (size_t i = 0; i < s->m; i++) out[i] -= row[i] != s->col[c] ? inv : 0;
    }
}

static void ham_grad(const struct kern *k, const struct kern_strip *s, const double *w, double *g) {
    for (int c = 0; c < s->nf; c++) {
        const double *row = s->row + (size_t)c * s->ld;
        int p = kern_par_index(k, L, c);
        double sum = 0;
        for (size_t i = 0; i < s->m; i++) sum += row[i] != s->col[c] ? w[i] : 0;
        g[p] += sum / (k->par[p] * k->par[p]);
    }
}

/* Between its jumps it is constant. */
static void ham_slope(const struct kern *k, const struct kern_strip *s, const double *w,
                      double *g) {}

/* Values share their sign with probability exp(-1/l), else each has its own. */
static bool ham_wave(const struct kern *k, int dim, struct kern_wave *f) {
    for (int c = 0; c < leaf_dim(k, dim); c++)
        if (f->uniform(f->user) >= exp(-1 / kern_par(k, L, c)))
            f->sign[leaf_place(k, c)] ^= 1 + (uint64_t)(f->uniform(f->user) * 0x1p62);
    return true;
}

#define LENGTH                                                                                     \
    { "l", KERN_POSITIVE, KERN_T_LOG, KERN_P_LOGNORMAL, -0.7, 1, 1, true }
#define MIXTURE                                                                                    \
    LENGTH, {"odds", KERN_POSITIVE, KERN_T_LOG, KERN_P_LOGNORMAL, 0, 1.5, 1, false}, {             \
        "rho", KERN_POSITIVE, KERN_T_LOG, KERN_P_LOGNORMAL, 1.3863, 0.7, 4, false                  \
    }
#define TIED(nm, text, words)                                                                      \
    .name = nm, .symbol = nm, .doc = text, .phrase = words, .op = KERN_LEAF,                       \
    .algebra = KERN_ALG_STAT, .amp = KERN_AMP_NONE, .stationary = true, .features = columns

const struct kern_class kern_rows_tied[] = {
    {TIED("MIX", "(1-w) MAT52(l) + w MAT32(rho l), w = odds/(1+odds)", "a ripple on a funnel"),
     .npar = 3, .par = {MIXTURE}, .prepare = scaled, .value = mix_value, .grad = mix_grad,
     .slope = mix_slope, .wave = mix_wave},
    {TIED("ADD", "w mean_c MAT52(l_c) + (1-w) MAT52(rho l), w = odds/(1+odds)",
          "a sum of functions of one input each, with interaction"),
     .npar = 3, .par = {MIXTURE}, .prepare = scaled, .value = add_value, .grad = add_grad,
     .slope = add_slope, .wave = add_wave},
    {TIED("HAM", "exp(-sum_c [x_c != x'_c] / l_c)", "a function of categories"), .npar = 1,
     .par = {LENGTH}, .prepare = ham_prepare, .expo = ham_expo, .grad = ham_grad,
     .slope = ham_slope, .wave = ham_wave},
    {.name = NULL},
};
