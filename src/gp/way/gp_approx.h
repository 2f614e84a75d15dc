/* SPDX-License-Identifier: Apache-2.0
 *
 * Approximations for more data than an n x n matrix allows. Both are models of their own whose
 * likelihood and predictions approach the exact ones as `size` grows; bench/reports/gp.md shows by
 * how much.
 *
 * Inducing points (FITC): the function is summarised by its values at `size` inputs, chosen
 * farthest-first among the data: K ~ Q + diag(K - Q), Q = Kfu Kuu^-1 Kuf. O(n size^2) time,
 * O(size^2) memory besides the data. Good when the function is smooth at the spacing of the
 * inducing points.
 *
 * Vecchia (nearest neighbours, by blocks): points are ordered (sorted in one dimension, along a
 * Morton curve in more), cut into blocks of `size`, and every block is conditioned on the `size`
 * points before it only. O(n size^2) time. Good when dependence is short compared to `size` points.
 */
#ifndef GP_GP_APPROX_H
#define GP_GP_APPROX_H
#include "gp/kernel/kernel.h"
#include "numeric/la/chol.h"
#include <math.h>

/* What an approximation needs to know of the data. */
struct approx_data {
    const struct kern *kern;
    struct kern_pts x;
    const double *r; /* residuals from the mean */
    double *noise;   /* noise variance per point */
};

/* Derivatives of the log likelihood, added to what is there: in the kernel's parameters, and for
 * every point in its noise variance and in the value of the mean function there. */
struct approx_slopes {
    double *kern, *noise, *mean;
};
/* The jitter of a factor as a part of the mean diagonal: it follows the parameters like that. */
static inline double approx_jitter(const struct chol *f) {
    double part = f->steps ? CHOL_JITTER_FIRST : 0;
    for (int i = 1; i < f->steps; i++) part *= 10;
    return part;
}

/* Range of input column c. */
static inline void approx_range(struct kern_pts x, int c, double *lo, double *hi) {
    *lo = INFINITY, *hi = -INFINITY;
    for (size_t i = 0; i < x.n; i++) {
        *lo = fmin(*lo, x.x[i + (size_t)c * x.ld]);
        *hi = fmax(*hi, x.x[i + (size_t)c * x.ld]);
    }
}

/* Mean (added to what is there), variance and lower triangle of the covariance at xs, each may be
 * NULL, given n points with factor L, w = L^-1 r and v = K(xs, x) L^-T, m x n with room for m more.
 */
GPM_MUST_USE enum gpm_status gp_project(const struct kern *k, struct kern_pts xs, size_t n,
                                        double *v, const double *w, double *mean, double *var,
                                        double *cov, size_t ld);

struct inducing {
    size_t m;
    double *u; /* inducing inputs, column-major, ld = m */
    int dim;
    struct chol kuu, a; /* Kuu; I + V D^-1 V' with V = Luu^-1 Kuf, D = diag(K - Q) + noise */
    double *c;          /* A^-1 V D^-1 r */
    double loss;        /* sum of (K - Q) over the noise variance, see inducing_build */
};

void inducing_release(struct inducing *q);
/* places: of the inducing inputs among the data; NULL: farthest-first. *quad (may be NULL): the
 * quadratic form in *logml. q->loss bounds what the summary costs: data of the model lose no more
 * than `loss` nats on average (the gap of the variational bound of Titsias 2009 is at most this).
 * Infinite without noise, unless nothing is left unexplained. */
GPM_MUST_USE enum gpm_status inducing_build(struct inducing *q, const struct approx_data *d,
                                            const size_t *places, size_t size, double *logml,
                                            double *quad);
/* After inducing_build with the same data. */
GPM_MUST_USE enum gpm_status inducing_grad(const struct inducing *q, const struct approx_data *d,
                                           const struct approx_slopes *out);
/* Latent mean (added to what is there), variance and lower triangle of the covariance at xs, each
 * may be NULL. */
GPM_MUST_USE enum gpm_status inducing_predict(const struct inducing *q, const struct kern *k,
                                              struct kern_pts xs, double *mean, double *var,
                                              double *cov, size_t ld);

struct vecchia {
    size_t n, size;
    size_t *order;  /* place in the order -> data index */
    uint64_t *code; /* sorted codes, for look-up of new points */
    double lo[8], scale[8];
    int bits, used; /* columns that enter the code */
};

void vecchia_release(struct vecchia *v);
void vecchia_order(struct vecchia *v, struct kern_pts x, size_t size);
GPM_MUST_USE enum gpm_status vecchia_logml(const struct vecchia *v, const struct approx_data *d,
                                           double *logml);
GPM_MUST_USE enum gpm_status vecchia_grad(const struct vecchia *v, const struct approx_data *d,
                                          const struct approx_slopes *out);
/* Estimate of the error of the log likelihood, in nats. */
GPM_MUST_USE enum gpm_status vecchia_error(const struct vecchia *v, const struct approx_data *d,
                                           double *error);
GPM_MUST_USE enum gpm_status vecchia_predict(const struct vecchia *v, const struct approx_data *d,
                                             struct kern_pts xs, double *mean, double *var);
/* Joint latent prediction from the union of the points' neighbourhoods. */
GPM_MUST_USE enum gpm_status vecchia_joint(const struct vecchia *v, const struct approx_data *d,
                                           struct kern_pts xs, double *mean, double *cov,
                                           size_t ld);
#endif
