/* SPDX-License-Identifier: Apache-2.0
 *
 * Radial kernels: functions of r^2 = sum_c ((x_c - x'_c) / l_c)^2, with one length scale or one per
 * column. The features of a point are its scaled coordinates u_c = x_c / l_c (SE: / (sqrt(2) l_c)).
 * The last two, used in optimisation, are mixtures with shared length scales:
 *
 *   MIX = (1-w) MAT52(r) + w MAT32(r/rho)            a ripple on a funnel with an edge at its foot
 *   ADD = w/d sum_c MAT52(r_c) + (1-w) MAT52(r/rho)  a sum over the columns, plus interaction
 *
 * with w = odds / (1 + odds). */
#include "gp/kernel/kern_tree.h"
#include "gp/kernel/kern_leaf.h"
#include "gp/kernel/kern_states.h"

#include <float.h>
#include <math.h>

enum { L = 1, ODDS = 2, RHO = 3 }; /* the length scale is parameter 1 of every row here */

/* Position of the length scale of column c. */
static int length_at(const struct kern *k, int c) {
    return k->ard > 1 ? L + c : L;
}

/* SE includes the 1/2 of its exponent in its features. */
static void se_expo(const struct kern *k, const struct kern_strip *s, double *out);
static double stretch(const struct kern *k) {
    return k->cls->expo == se_expo ? M_SQRT1_2 : 1;
}

static void scaled(const struct kern *k, struct kern_pts x, double *f, size_t ld) {
    for (int c = 0; c < leaf_dim(k, x.dim); c++) {
        const double *from = leaf_col(k, x, c);
        double s = stretch(k) / k->par[length_at(k, c)];
        for (size_t i = 0; i < x.n; i++) f[(size_t)c * ld + i] = from[i] * s;
    }
}

/* With e_i = w_i times -2 dk/d(r^2), over factor: dk/dl_c = factor sum_i e_i (u_ic - u_jc)^2 / l_c,
 * and in the fixed point dk/dx'_c = factor sum_i e_i (u_ic - u_jc) / l_c. */
enum wanted { LENGTHS, POINT };

static void spread(const struct kern *k, const struct kern_strip *s, enum wanted want, int c,
                   const double *e, double factor, double *g) {
    const struct vec_ops *v = vec_ops();
    const double *row = s->row + (size_t)c * s->ld;
    int p = length_at(k, c);
    factor /= k->par[p];
    if (want == LENGTHS)
        g[p] += factor * v->dot_sqdiff(s->m, e, row, s->col[c]);
    else
        g[leaf_place(k, c)] += factor * stretch(k) * v->dot_diff(s->m, e, row, s->col[c]);
}

static double radial(const struct kern *k, const struct kern_strip *s, enum wanted want,
                     const double *w, double *g) {
    double e[KERN_STRIP], value = 0;
    if (k->cls->fall) {
        value = k->cls->fall(k, s, w, e, want == LENGTHS ? g : NULL);
        w = e;
    }
    for (int c = 0; c < s->nf; c++) spread(k, s, want, c, w, k->cls->fall_factor, g);
    return value;
}
static void radial_grad(const struct kern *k, const struct kern_strip *s, const double *w,
                        double *g) {
    g[0] += radial(k, s, LENGTHS, w, g);
}
static double radial_slope(const struct kern *k, const struct kern_strip *s, const double *w,
                           double *g) {
    return radial(k, s, POINT, w, g);
}

/* Rows whose profile gives value and fall together. */
static void radial_value(const struct kern *k, const struct kern_strip *s, double *out) {
    double q[KERN_STRIP];
    leaf_squared(s, q);
    k->cls->profile(s->m, q, out, NULL, NULL);
}
static double radial_fall(const struct kern *k, const struct kern_strip *s, const double *w,
                          double *e, double *g) {
    double q[KERN_STRIP], value[KERN_STRIP];
    leaf_squared(s, q);
    k->cls->profile(s->m, q, value, w, e);
    return vec_ops()->dot(s->m, w, value);
}

/* Frequencies: normal, times one factor shared by all columns. */
static void radial_wave(const struct kern *k, int dim, double factor, struct kern_wave *f) {
    for (int c = 0; c < leaf_dim(k, dim); c++)
        f->w[leaf_place(k, c)] += factor * rng_normal(f->rng) / k->par[length_at(k, c)];
}
/* The factor of a Matern kernel; other kernels are Gamma mixtures of SE. */
static void matern_draw(const struct kern *k, int dim, double nu, double rho, struct kern_wave *f) {
    radial_wave(k, dim, sqrt(nu / draw_gamma(f->rng, nu)) / rho, f);
}

static void matern_wave(const struct kern *k, int dim, struct kern_wave *f) {
    matern_draw(k, dim, k->cls->nu, 1, f);
}

/* SE: log k = -sum (u - u')^2, d log k / dl = 2 (u - u')^2 / l. */
static void se_expo(const struct kern *k, const struct kern_strip *s, double *out) {
    const struct vec_ops *v = vec_ops();
    for (int c = 0; c < s->nf; c++) v->sub_sqdiff(s->m, s->row + (size_t)c * s->ld, s->col[c], out);
}
static void se_wave(const struct kern *k, int dim, struct kern_wave *f) {
    radial_wave(k, dim, 1, f);
}

/* RQ: log k = -alpha log B, B = 1 + q / (2 alpha). */
static void rq_base(const struct kern *k, const struct kern_strip *s, double *b) {
    double h = 0.5 / k->par[k->npar - 1];
    leaf_squared(s, b);
    for (size_t i = 0; i < s->m; i++) b[i] = 1 + h * b[i];
}

static void rq_expo(const struct kern *k, const struct kern_strip *s, double *out) {
    double b[KERN_STRIP];
    rq_base(k, s, b);
    vec_ops()->log(s->m, b);
    vec_ops()->axpy(s->m, -k->par[k->npar - 1], b, out);
}

/* d/dl = (u-u')^2 / (l B); d/dalpha = -log B + (B - 1) / B. */
static double rq_fall(const struct kern *k, const struct kern_strip *s, const double *w, double *e,
                      double *g) {
    double b[KERN_STRIP], sum = 0;
    rq_base(k, s, b);
    for (size_t i = 0; i < s->m; i++) {
        e[i] = w[i] / b[i];
        sum += w[i] - e[i];
    }
    if (!g) return 0;
    vec_ops()->log(s->m, b);
    g[k->npar - 1] += sum - vec_ops()->dot(s->m, w, b);
    return 0;
}

static void rq_wave(const struct kern *k, int dim, struct kern_wave *f) {
    double alpha = k->par[k->npar - 1];
    radial_wave(k, dim, sqrt(draw_gamma(f->rng, alpha) / alpha), f);
}

/* Cauchy: 1 / B, B = 1 + r^2; -2 dk/d(r^2) = 2 / B^2. */
static void cauchy(size_t m, double *q, double *value, const double *w, double *e) {
    for (size_t i = 0; i < m; i++) value[i] = 1 / (1 + q[i]);
    for (size_t i = 0; i < m && w; i++) e[i] = w[i] * value[i] * value[i];
}

/* 1 / B is the mean of exp(-r^2 g) over g ~ Gamma(1). */
static void cauchy_wave(const struct kern *k, int dim, struct kern_wave *f) {
    radial_wave(k, dim, sqrt(2 * draw_gamma(f->rng, 1)), f);
}

/* Matern: a = sqrt(2 nu) r, e = exp(-a). */
static const double SQRT3 = 1.7320508075688772935, SQRT5 = 2.2360679774997896964;

static void mat12_expo(const struct kern *k, const struct kern_strip *s, double *out) {
    double q[KERN_STRIP];
    leaf_squared(s, q);
    for (size_t i = 0; i < s->m; i++) out[i] -= sqrt(q[i]);
}

/* d(-r)/dl = (u-u')^2 / (l r), 0 at r = 0. */
static double mat12_fall(const struct kern *k, const struct kern_strip *s, const double *w,
                         double *e, double *g) {
    leaf_squared(s, e);
    for (size_t i = 0; i < s->m; i++) e[i] = e[i] > 0 ? w[i] / sqrt(e[i]) : 0;
    return 0;
}

/* -2 dk/d(r^2) = 3 exp(-a) */
static void mat32(size_t m, double *q, double *value, const double *w, double *e) {
    vec_ops()->decay(m, q, SQRT3, q, value);
    if (w) vec_ops()->mul(m, value, memcpy(e, w, m * sizeof *e));
    vec_ops()->mul(m, value, q);
    vec_ops()->axpy(m, 1, q, value);
}

static inline double m52(double a, double e) {
    return (1 + a * (1 + a * (1.0 / 3))) * e;
}
static inline double m52_fall(double a, double e) { /* -2 dM52/d(r^2) */
    return (5.0 / 3) * (1 + a) * e;
}

/* Computes exp(-a), then (1 + a) exp(-a), which times 5/3 is -2 dk/d(r^2), then the value. */
static void mat52(size_t m, double *q, double *value, const double *w, double *e) {
    double t[KERN_STRIP];
    vec_ops()->decay(m, q, SQRT5, q, value);
    vec_ops()->mul(m, q, memcpy(t, value, m * sizeof *t));
    vec_ops()->axpy(m, 1, t, value);
    if (w) vec_ops()->mul(m, value, memcpy(e, w, m * sizeof *e));
    vec_ops()->mul(m, q, t);
    vec_ops()->axpy(m, 1.0 / 3, t, value);
}

/* Gamma-exponential: log k = -r^gamma = -exp(gamma/2 log q). t = r^gamma, lq = log q. */
static void gamma_parts(const struct kern *k, const struct kern_strip *s, double *t, double *lq) {
    leaf_squared(s, lq);
    for (size_t i = 0; i < s->m; i++) lq[i] = lq[i] > DBL_MIN ? lq[i] : DBL_MIN;
    vec_ops()->log(s->m, lq);
    vec_ops()->scale_to(s->m, 0.5 * k->par[k->npar - 1], lq, t);
    vec_ops()->exp_scale(s->m, 1, t);
}

static void gamma_expo(const struct kern *k, const struct kern_strip *s, double *out) {
    double t[KERN_STRIP], lq[KERN_STRIP];
    gamma_parts(k, s, t, lq);
    vec_ops()->axpy(s->m, -1, t, out);
}

/* d/dl = gamma r^(gamma-2) (u-u')^2 / l; d/dgamma = -r^gamma log r. */
static double gamma_fall(const struct kern *k, const struct kern_strip *s, const double *w,
                         double *e, double *g) {
    double t[KERN_STRIP], lq[KERN_STRIP];
    gamma_parts(k, s, t, lq);
    vec_ops()->mul(s->m, w, t);
    if (g) g[k->npar - 1] -= 0.5 * vec_ops()->dot(s->m, t, lq);
    leaf_squared(s, e);
    for (size_t i = 0; i < s->m; i++) e[i] = e[i] > DBL_MIN ? k->par[k->npar - 1] * t[i] / e[i] : 0;
    return 0;
}

/* ---- mixtures with shared lengths ---- */

static double share(const struct kern *k) {
    double odds = kern_par(k, ODDS, 0);
    return odds / (1 + odds);
}

/* The derivatives in rho and in the odds, from their sums; g may be NULL. */
static void shape_grad(const struct kern *k, double d_rho, double d_share, double *g) {
    double w = share(k);
    if (!g) return;
    g[kern_par_index(k, RHO, 0)] += d_rho / kern_par(k, RHO, 0);
    g[kern_par_index(k, ODDS, 0)] += d_share * w * (1 - w) / kern_par(k, ODDS, 0);
}

static void mix_value(const struct kern *k, const struct kern_strip *s, double *out) {
    double q[KERN_STRIP], a[KERN_STRIP], a3[KERN_STRIP], e3[KERN_STRIP], w = share(k);
    leaf_squared(s, q);
    vec_ops()->decay(s->m, q, SQRT5, a, out);
    vec_ops()->decay(s->m, q, SQRT3 / kern_par(k, RHO, 0), a3, e3);
    for (size_t i = 0; i < s->m; i++)
        out[i] = (1 - w) * m52(a[i], out[i]) + w * (1 + a3[i]) * e3[i];
}

static double mix_fall(const struct kern *k, const struct kern_strip *s, const double *weight,
                       double *e, double *g) {
    double q[KERN_STRIP], a[KERN_STRIP], a3[KERN_STRIP], e3[KERN_STRIP];
    double w = share(k), rho = kern_par(k, RHO, 0), inv2 = 1 / (rho * rho), near = 0, far = 0,
           dr = 0;
    leaf_squared(s, q);
    vec_ops()->decay(s->m, q, SQRT5, a, e);
    vec_ops()->decay(s->m, q, SQRT3 / rho, a3, e3);
    for (size_t i = 0; i < s->m; i++) {
        double fall = w * 3 * e3[i] * inv2;
        near += weight[i] * m52(a[i], e[i]);
        far += weight[i] * (1 + a3[i]) * e3[i];
        dr += weight[i] * fall * q[i];
        e[i] = weight[i] * ((1 - w) * m52_fall(a[i], e[i]) + fall);
    }
    shape_grad(k, dr, far - near, g);
    return (1 - w) * near + w * far;
}

static void mix_wave(const struct kern *k, int dim, struct kern_wave *f) {
    bool far = rng_uniform(f->rng) < share(k);
    matern_draw(k, dim, far ? 1.5 : 2.5, far ? kern_par(k, RHO, 0) : 1, f);
}

/* ADD: exp(-a) of one column is a ratio of features: exp(sqrt(5) u) and its inverse, stored behind
 * the scaled coordinates of all columns. They are 0 where out of range in one of the points. */
#define ADD_RANGE 200.0

static void add_prepare(const struct kern *k, struct kern_pts x, double *f, size_t ld) {
    size_t d = (size_t)leaf_dim(k, x.dim);
    scaled(k, x, f, ld);
    for (size_t c = 0; c < d; c++) {
        const double *u = f + c * ld;
        double *up = f + (d + c) * ld, *down = up + d * ld, far = 0;
        for (size_t i = 0; i < x.n; i++) far = fmax(far, fabs(up[i] = SQRT5 * u[i]));
        bool fits = far <= ADD_RANGE;
        if (fits) vec_ops()->exp_scale(x.n, 1, up);
        for (size_t i = 0; i < x.n; i++) {
            up[i] = fits ? up[i] : 0;
            down[i] = fits ? 1 / up[i] : 0;
        }
    }
}

/* The strip with the scaled coordinates alone. */
static struct kern_strip coordinates(const struct kern_strip *s) {
    return (struct kern_strip){s->row, s->ld, s->col, s->m, s->nf / 3, NULL, false};
}

/* a and e of one column's part. */
static void column_decay(const struct kern_strip *s, int c, double *restrict a,
                         double *restrict e) {
    size_t d = (size_t)s->nf / 3, at = (size_t)c;
    const double *row = s->row + at * s->ld, *up = row + d * s->ld, *down = up + d * s->ld;
    double u = s->col[at], its_up = s->col[d + at], its_down = s->col[2 * d + at];
    for (size_t i = 0; i < s->m; i++) a[i] = SQRT5 * fabs(row[i] - u);
    if (s->m && up[0] > 0 && its_up > 0) {
        for (size_t i = 0; i < s->m; i++) {
            double left = up[i] * its_down, right = down[i] * its_up;
            e[i] = left < right ? left : right;
        }
        return;
    }
    for (size_t i = 0; i < s->m; i++) e[i] = -a[i];
    vec_ops()->exp_scale(s->m, 1, e);
}

static void add_value(const struct kern *k, const struct kern_strip *s, double *out) {
    double a[KERN_STRIP], e[KERN_STRIP], w = share(k);
    struct kern_strip own = coordinates(s);
    leaf_squared(&own, a);
    vec_ops()->decay(s->m, a, SQRT5 / kern_par(k, RHO, 0), a, out);
    for (size_t i = 0; i < s->m; i++) out[i] = (1 - w) * m52(a[i], out[i]);
    for (int c = 0; c < own.nf; c++) {
        column_decay(s, c, a, e);
        for (size_t i = 0; i < s->m; i++) out[i] += w / own.nf * m52(a[i], e[i]);
    }
}

static double add_slopes(const struct kern *k, const struct kern_strip *s, enum wanted want,
                         const double *weight, double *g) {
    double q[KERN_STRIP], a[KERN_STRIP], e[KERN_STRIP], both[KERN_STRIP];
    double w = share(k), rho = kern_par(k, RHO, 0), inv2 = 1 / (rho * rho), joint = 0, alone = 0,
           dr = 0;
    struct kern_strip own = coordinates(s);
    leaf_squared(&own, q);
    vec_ops()->decay(s->m, q, SQRT5 / rho, a, both);
    for (size_t i = 0; i < s->m; i++) {
        double fall = (1 - w) * m52_fall(a[i], both[i]) * inv2;
        joint += weight[i] * m52(a[i], both[i]);
        dr += weight[i] * fall * q[i];
        both[i] = weight[i] * fall;
    }
    for (int c = 0; c < own.nf; c++) {
        double value[KERN_STRIP];
        column_decay(s, c, a, e);
        for (size_t i = 0; i < s->m; i++) {
            value[i] = m52(a[i], e[i]);
            e[i] = both[i] + weight[i] * w / own.nf * m52_fall(a[i], e[i]);
        }
        alone += vec_ops()->dot(s->m, weight, value) / own.nf;
        spread(k, &own, want, c, e, 1, g);
    }
    shape_grad(k, dr, alone - joint, want == LENGTHS ? g : NULL);
    return (1 - w) * joint + w * alone;
}

static void add_grad(const struct kern *k, const struct kern_strip *s, const double *w, double *g) {
    g[0] += add_slopes(k, s, LENGTHS, w, g);
}
static double add_slope(const struct kern *k, const struct kern_strip *s, const double *w,
                        double *g) {
    return add_slopes(k, s, POINT, w, g);
}
static void add_wave(const struct kern *k, int dim, struct kern_wave *f) {
    int c = (int)(rng_uniform(f->rng) * leaf_dim(k, dim));
    if (rng_uniform(f->rng) >= share(k))
        matern_draw(k, dim, 2.5, kern_par(k, RHO, 0), f);
    else
        f->w[leaf_place(k, c)] +=
            sqrt(2.5 / draw_gamma(f->rng, 2.5)) * rng_normal(f->rng) / k->par[length_at(k, c)];
}

/* ---- state-space forms ---- */

/* Matern of smoothness n - 1/2 as a cascade of n equal low-pass filters of rate lam = sqrt(2n-1)/l;
 * the function is the last one's output. With u = lam dt, i, j from 0:
 *   A_ij = e^-u u^(i-j)/(i-j)!  (j <= i),   Q_ij = c g_(i+j)/(i! j!),   g_m = int_0^u s^m e^-2s ds
 * and P = Q at infinity, g_m = m!/2^(m+1). c makes the last variance 1. A is triangular, and
 * nothing cancels even for short steps. */
#define CASCADE_MAX 3
static const double CASCADE_SIZE[CASCADE_MAX] = {2, 4, 16.0 / 3}; /* c */
static const double FACTORIAL[2 * CASCADE_MAX] = {1, 1, 2, 6, 24, 120};

static void cascade_fill(int n, const double *g, double *q) {
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            q[i * n + j] = CASCADE_SIZE[n - 1] * g[i + j] / (FACTORIAL[i] * FACTORIAL[j]);
}

/* g_0 .. g_top: a series of positive terms for the last one, then g_(m-1) = (u^m e^-2u + 2
 * g_m)/m. */
static void cascade_integrals(double u, int top, double *g) {
    double e2 = exp(-2 * u), power = 1;
    for (int m = 0; m <= top; m++) power *= u; /* u^(top+1) */
    if (u > 40) {
        g[top] = FACTORIAL[top] / (double)(1 << (top + 1));
        for (int m = top; m > 0; m--) g[m - 1] = FACTORIAL[m - 1] / (double)(1 << m);
        return;
    }
    double term = power / (top + 1), sum = term;
    for (int m = 1; term > 1e-18 * sum; m++) sum += term *= 2 * u / (top + 1 + m);
    g[top] = e2 * sum;
    for (int m = top; m > 0; m--) {
        power = u > 0 ? power / u : 0;
        g[m - 1] = (power * e2 + 2 * g[m]) / m;
    }
}

static int cascade_size(const struct kern *k) {
    return (int)(k->cls->nu + 0.5);
}

static void matern_step(const struct kern *k, const double *p, double dt, double *a, double *q,
                        double *da, double *dq) {
    int n = cascade_size(k);
    double u = sqrt(2 * k->cls->nu) * dt / k->par[L], e = exp(-u), g[2 * CASCADE_MAX - 1];
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            a[i * n + j] = j == i ? e : 0;
            for (int m = 1; m <= i - j; m++) a[i * n + j] = m > 1 ? a[i * n + j] * u / m : e * u;
        }
    cascade_integrals(u, 2 * n - 2, g);
    cascade_fill(n, g, q);
    if (!da) return;
    double by_length = -u / k->par[L], power = e * e; /* du/dl; dg_m/du = u^m e^-2u */
    for (int m = 0; m < 2 * n - 1; m++, power *= u) g[m] = by_length * power;
    cascade_fill(n, g, dq);
    for (int i = 0; i < n * n; i++) da[i] = by_length * ((i >= n ? a[i - n] : 0) - a[i]);
}

static void matern_prior(const struct kern *k, double t, double *p, double *dp) {
    int n = cascade_size(k);
    double g[2 * CASCADE_MAX - 1];
    cascade_integrals(INFINITY, 2 * n - 2, g);
    cascade_fill(n, g, p);
    for (int i = 0; i < n * n && dp; i++) dp[i] = 0;
}

/* SE has no finite form. Four damped waves e^(s_j u), u = dt/l, driven by one white noise, have a
 * covariance within 2.2e-7 of it: f = sum_j 2 Re(c_j z_j), E z_i z_j* = -1/(s_i + s_j*). The poles
 * s and residues c are a minimax fit of the rational spectrum. States: Re and Im of each z. */
#define SE_WAVES 4
static const double SE_POLE[SE_WAVES][2] = {{-2.1649579876204785, 2.375034003351112},
                                            {-2.2243434114102683, 1.3812721173523497},
                                            {-2.2516317788080187, 0.4541855020676949},
                                            {-2.0570783531448074, 3.542286971352231}};
static const double SE_OBSERVE[2 * SE_WAVES] = {2 * -3.7829144084903565, 2 * 14.127927545866605,
                                                2 * 8.276285280239444,   2 * -60.17327287675707,
                                                2 * -5.011055645210079,  2 * 116.84128544027445,
                                                2 * 0.5176847734610075,  2 * -0.9894585978129943};

static void se_prior(const struct kern *k, double t, double *p, double *dp) {
    const int n = 2 * SE_WAVES;
    for (int i = 0; i < SE_WAVES; i++)
        for (int j = 0; j < SE_WAVES; j++) { /* c = E z_i z_j*, d = E z_i z_j */
            double re = -(SE_POLE[i][0] + SE_POLE[j][0]), ci = SE_POLE[i][1] - SE_POLE[j][1];
            double di = SE_POLE[i][1] + SE_POLE[j][1], mc = re * re + ci * ci,
                   md = re * re + di * di;
            double *at = p + 2 * i * n + 2 * j, cr = re / mc, dr = re / md;
            ci /= mc, di /= md;
            at[0] = (cr + dr) / 2, at[1] = (di - ci) / 2;
            at[n] = (di + ci) / 2, at[n + 1] = (cr - dr) / 2;
        }
    for (int i = 0; i < n * n && dp; i++) dp[i] = 0;
}

/* out += f B p C'. */
static void se_turn(const double *b, const double *p, const double *c, double f, double *out) {
    const int n = 2 * SE_WAVES;
    double left[4 * SE_WAVES * SE_WAVES];
    for (int i = 0; i < n; i++) /* B and C are block-diagonal, 2 x 2 */
        for (int j = 0; j < n; j++)
            left[i * n + j] =
                b[i * n + (i & ~1)] * p[(i & ~1) * n + j] + b[i * n + (i | 1)] * p[(i | 1) * n + j];
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            out[i * n + j] += f * (left[i * n + (j & ~1)] * c[j * n + (j & ~1)] +
                                   left[i * n + (j | 1)] * c[j * n + (j | 1)]);
}

static void se_step(const struct kern *k, const double *p, double dt, double *a, double *q,
                    double *da, double *dq) {
    const int n = 2 * SE_WAVES;
    double u = dt / k->par[L];
    memset(a, 0, (size_t)(n * n) * sizeof *a);
    if (da) memset(da, 0, (size_t)(n * n) * sizeof *da);
    for (int j = 0; j < SE_WAVES; j++) {
        double re = SE_POLE[j][0], im = SE_POLE[j][1], e = exp(re * u), *at = a + 2 * j * (n + 1);
        double x = e * cos(im * u), y = e * sin(im * u);
        at[0] = at[n + 1] = x, at[1] = -y, at[n] = y;
        if (!da) continue;
        double f = -u / k->par[L], dx = f * (re * x - im * y), dy = f * (re * y + im * x);
        at = da + 2 * j * (n + 1);
        at[0] = at[n + 1] = dx, at[1] = -dy, at[n] = dy;
    }
    memcpy(q, p, (size_t)(n * n) * sizeof *q); /* Q = P - A P A' */
    se_turn(a, p, a, -1, q);
    if (!da) return;
    memset(dq, 0, (size_t)(n * n) * sizeof *dq);
    se_turn(da, p, a, -1, dq);
    se_turn(a, p, da, -1, dq);
}

static const double LAST[CASCADE_MAX][CASCADE_MAX] = {{1}, {0, 1}, {0, 0, 1}};
#define CASCADE(size)                                                                              \
    {                                                                                              \
        .n = size, .length = true, .observe = LAST[size - 1], .step = matern_step,                 \
        .prior = matern_prior                                                                      \
    }
static const struct kern_states mat12_states = CASCADE(1), mat32_states = CASCADE(2),
                                mat52_states = CASCADE(3);
static const struct kern_states se_states = {.n = 2 * SE_WAVES,
                                             .length = true,
                                             .error = 2.2e-7,
                                             .observe = SE_OBSERVE,
                                             .step = se_step,
                                             .prior = se_prior};

/* ---- device text: squared, spread and kexp are defined in kern_device.c ---- */
#define DEVICE_SCALED "COLUMNS f[c] = x[c] / p[1 + c % v];"
#define DEVICE_MIXED  "double s = p[1 + v] / (1 + p[1 + v]), rho = p[2 + v], q = squared(f, h, n);"
#define DEVICE_SHAPES "g[2 + v] += dr / rho; g[1 + v] += ds * s * (1 - s) / p[1 + v];"

/* Median 0.12 of the span; half of it in a product with a periodic factor, where it is the time
 * over which the pattern changes. */
#define LENGTH                                                                                     \
    {                                                                                              \
        "l", KERN_POSITIVE, KERN_T_LOG, KERN_P_LOGNORMAL, -2.1202635362000911, 1, 1, true,         \
            .beside = -0.69314718055994531                                                         \
    }
#define MIXTURE                                                                                    \
    KERN_SF, LENGTH, {"odds", KERN_POSITIVE, KERN_T_LOG, KERN_P_LOGNORMAL, 0, 1.5, 1, false}, {    \
        "rho", KERN_POSITIVE, KERN_T_LOG, KERN_P_LOGNORMAL, 1.4, 0.7, 4, false                     \
    }
#define SCALED(nm, text, words, alg)                                                               \
    .name = nm, .symbol = nm, .doc = text, .phrase = words, .op = KERN_LEAF, .algebra = alg,       \
    .amp = KERN_AMP_SQUARE, .stationary = true, .grad_value = true
#define RADIAL(nm, text, words, alg)                                                               \
    SCALED(nm, text, words, alg), .features = 1, .prepare = scaled, .grad = radial_grad,           \
                                  .slope = radial_slope

const struct kern_class kern_rows_stationary[] = {
    {RADIAL("SE", "sf^2 exp(-(x-x')^2 / (2 l^2))", "a smooth function", KERN_ALG_SE),
     .maker = {"make_squaredexp", "make_se"}, .npar = 2,
     .motif = {KERN_ROLE_SMOOTH, false, 1, "SE", NULL, 1, true, "a smooth function"},
     .par = {KERN_SF, LENGTH}, .expo = se_expo, .fall_factor = 2, .wave = se_wave, .order = -2,
     .states = &se_states,
     .device = {.prepare = "COLUMNS f[c] = x[c] * (0.70710678118654752440 / p[1 + c % v]);",
                .value = "return -squared(f, h, n);",
                .grad = "spread(f, h, p, n, v, 2 * w, g);"}},
    {RADIAL("RQ", "sf^2 (1 + (x-x')^2 / (2 alpha l^2))^-alpha",
            "a function that varies on several scales", KERN_ALG_STAT),
     .motif = {KERN_ROLE_SMOOTH, false, 6, "RQ", NULL, 1, false, "a smooth function"},
     .maker = {"make_rq"}, .npar = 3,
     .par = {KERN_SF,
             LENGTH,
             {"alpha", KERN_POSITIVE, KERN_T_LOG, KERN_P_LOGNORMAL, 0, 1, 1, false}},
     .expo = rq_expo, .fall = rq_fall, .fall_factor = 1, .wave = rq_wave,
     .device = {.prepare = DEVICE_SCALED,
                .value = "return -p[1 + v] * log(1 + squared(f, h, n) * (0.5 / p[1 + v]));",
                .grad = "double b = 1 + squared(f, h, n) * (0.5 / p[1 + v]);"
                        "g[1 + v] += w * ((b - 1) / b - log(b));"
                        "spread(f, h, p, n, v, w / b, g);"}},
    {RADIAL("CAUCHY", "sf^2 / (1 + (x-x')^2 / l^2)", "a function whose correlation fades slowly",
            KERN_ALG_STAT),
     .motif = {KERN_ROLE_SMOOTH, false, 12, "CAUCHY", NULL, 1, false,
               "a smooth function with a long memory"},
     .maker = {"make_cauchy"}, .npar = 2, .par = {KERN_SF, LENGTH}, .value = radial_value,
     .fall = radial_fall, .profile = cauchy, .fall_factor = 2, .wave = cauchy_wave,
     .device = {.prepare = DEVICE_SCALED,
                .value = "return 1 / (1 + squared(f, h, n));",
                .grad = "double b = 1 / (1 + squared(f, h, n));"
                        "spread(f, h, p, n, v, 2 * w * b * b, g);"}},
    {RADIAL("MAT12", "sf^2 exp(-|x-x'| / l)", "a rough, continuous function", KERN_ALG_STAT),
     .motif = {KERN_ROLE_SMOOTH, false, 10, "MAT12", "OU", 1, true, "a rough function",
               .alone = true},
     .maker = {"make_matern_12"}, .npar = 2, .par = {KERN_SF, LENGTH}, .expo = mat12_expo,
     .fall = mat12_fall, .fall_factor = 1, .wave = matern_wave, .nu = 0.5, .states = &mat12_states,
     .device = {.prepare = DEVICE_SCALED,
                .value = "return -sqrt(squared(f, h, n));",
                .grad = "double q = squared(f, h, n);"
                        "spread(f, h, p, n, v, q > 0 ? w / sqrt(q) : 0, g);"}},
    {RADIAL("MAT32", "sf^2 (1 + a) exp(-a), a = sqrt(3) |x-x'| / l",
            "a function with continuous slope", KERN_ALG_STAT),
     .motif = {KERN_ROLE_SMOOTH, false, 4, "MAT32", "MAT", 1, false, "a rough function"},
     .maker = {"make_matern_32"}, .npar = 2, .par = {KERN_SF, LENGTH}, .value = radial_value,
     .fall = radial_fall, .profile = mat32, .fall_factor = 3, .wave = matern_wave, .nu = 1.5,
     .states = &mat32_states,
     .device = {.prepare = DEVICE_SCALED,
                .value = "double a = ROOT3 * sqrt(squared(f, h, n)); return (1 + a) * kexp(-a);",
                .grad = "spread(f, h, p, n, v, 3 * w * kexp(-ROOT3 * sqrt(squared(f, h, n))), "
                        "g);"}},
    {RADIAL("MAT52", "sf^2 (1 + a + a^2/3) exp(-a), a = sqrt(5) |x-x'| / l",
            "a function with continuous curvature", KERN_ALG_STAT),
     .motif = {KERN_ROLE_SMOOTH, false, 11, "MAT52", NULL, 1, false, "a smooth function"},
     .maker = {"make_matern_52"}, .npar = 2, .par = {KERN_SF, LENGTH}, .value = radial_value,
     .fall = radial_fall, .profile = mat52, .fall_factor = 5.0 / 3, .wave = matern_wave, .nu = 2.5,
     .states = &mat52_states,
     .device = {.prepare = DEVICE_SCALED,
                .value = "return mat52(ROOT5 * sqrt(squared(f, h, n)));",
                .grad = "spread(f, h, p, n, v, w * mat52_fall(ROOT5 * sqrt(squared(f, h, n))), "
                        "g);"}},
    {RADIAL("GE", "sf^2 exp(-(|x-x'| / l)^gamma)", "a function of adjustable roughness",
            KERN_ALG_STAT),
     .maker = {"make_gamma_exponential"}, .npar = 3,
     .par = {KERN_SF, LENGTH, {"gamma", KERN_UPTO2, KERN_T_LOGIT2, KERN_P_UNIFORM, 0, 2, 1, false}},
     .expo = gamma_expo, .fall = gamma_fall, .fall_factor = 1,
     .device = {.prepare = DEVICE_SCALED,
                .value = "double q = squared(f, h, n);"
                         "return q > 0 ? -exp(0.5 * p[1 + v] * log(q)) : 0;",
                .grad = "double q = squared(f, h, n), a = p[1 + v];"
                        "if (q > 0) {"
                        "  double l = log(q), t = w * exp(0.5 * a * l);"
                        "  g[1 + v] -= 0.5 * t * l;"
                        "  spread(f, h, p, n, v, a * t / q, g);"
                        "}"}},
    {RADIAL("MIX", "sf^2 ((1-w) MAT52(l) + w MAT32(rho l)), w = odds/(1+odds)",
            "a ripple on a funnel", KERN_ALG_STAT),
     .npar = 4, .par = {MIXTURE}, .value = mix_value, .fall = mix_fall, .fall_factor = 1,
     .wave = mix_wave,
     .device = {.prepare = DEVICE_SCALED,
                .value = DEVICE_MIXED "double r = sqrt(q), a = ROOT3 / rho * r;"
                                      "return (1 - s) * mat52(ROOT5 * r) + s * (1 + a) * kexp(-a);",
                .grad = DEVICE_MIXED
                "double r = sqrt(q), a = ROOT3 / rho * r, e = kexp(-a);"
                "double fall = s * 3 * e / (rho * rho), dr = w * fall * q;"
                "double ds = w * ((1 + a) * e - mat52(ROOT5 * r));" DEVICE_SHAPES
                "spread(f, h, p, n, v, w * ((1 - s) * mat52_fall(ROOT5 * r) + fall), g);"}},
    {SCALED("ADD", "sf^2 (w mean_c MAT52(l_c) + (1-w) MAT52(rho l)), w = odds/(1+odds)",
            "a sum of functions of one input each, with interaction", KERN_ALG_STAT),
     .npar = 4, .par = {MIXTURE}, .features = 3, .prepare = add_prepare, .value = add_value,
     .grad = add_grad, .slope = add_slope, .wave = add_wave,
     .device = {.prepare = DEVICE_SCALED,
                .value =
                    DEVICE_MIXED "double sum = 0;"
                                 "COLUMNS sum += mat52(ROOT5 * fabs(f[c] - h[c]));"
                                 "return s / n * sum + (1 - s) * mat52(ROOT5 / rho * sqrt(q));",
                .grad = DEVICE_MIXED
                "double a = ROOT5 / rho * sqrt(q), alone = 0;"
                "double both = w * (1 - s) * mat52_fall(a) / (rho * rho), dr = both * q;"
                "COLUMNS {"
                "  double d = f[c] - h[c], b = ROOT5 * fabs(d);"
                "  alone += mat52(b) / n;"
                "  g[1 + c % v] += (both + w * s / n * mat52_fall(b)) * d * d / p[1 + c % v];"
                "}"
                "double ds = w * (alone - mat52(a));" DEVICE_SHAPES}},
    {.name = NULL},
};
