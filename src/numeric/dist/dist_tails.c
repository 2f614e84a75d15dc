/* SPDX-License-Identifier: Apache-2.0
 *
 * Both tails of the distributions, as logarithms, and slopes: what their parameters do to a value
 * of fixed probability. t[0] = log F, t[1] = log (1 - F).
 */
#include "numeric/special/special.h"
#include "numeric/dist/tails.h"
#include <math.h>

/* ---- slopes: d[i] = -dx / da[i] at fixed probability */
void slopes_loc_scale(double x, const double *a, size_t n, double *d) {
    d[0] = -1;
    d[1] = -(x - a[0]) / a[1];
}

void slopes_shape_loc_scale(double x, const double *a, size_t n, double *d) {
    slopes_loc_scale(x, a + 1, n - 1, d + 1);
}

void slopes_log_loc_scale(double x, const double *a, size_t n, double *d) {
    d[0] = -x;
    d[1] = -x * (log(x) - a[0]) / a[1];
}

void slopes_rate(double x, const double *a, size_t n, double *d) {
    d[n - 1] = x / a[n - 1];
}

void slopes_scale(double x, const double *a, size_t n, double *d) {
    d[n - 1] = -x / a[n - 1];
}

void slopes_shape_scale(double x, const double *a, size_t n, double *d) {
    d[0] = x * log(x / a[1]) / a[0];
    d[1] = -x / a[1];
}

void slopes_scale_shape(double x, const double *a, size_t n, double *d) {
    d[0] = -x / a[0];
    d[1] = x * log(x / a[0]) / a[1];
}

void slopes_ends(double x, const double *a, size_t n, double *d) {
    d[1] = -(x - a[0]) / (a[1] - a[0]);
    d[0] = -1 - d[1];
}

/* ---- continuous */
void dist_normal_tails(double x, const double *a, size_t n, double *t) {
    double z = (x - a[0]) / a[1];
    put_tails(t, norm_log_cdf(z), norm_log_cdf(-z));
}

void dist_lognormal_tails(double x, const double *a, size_t n, double *t) {
    dist_normal_tails(x > 0 ? log(x) : -INFINITY, a, n, t);
}

void dist_gamma_tails(double x, const double *a, size_t n, double *t) {
    gamma_tails(a[0], a[1] * x, t);
}

void dist_inv_gamma_tails(double x, const double *a, size_t n, double *t) {
    double u[2];
    gamma_tails(a[0], x > 0 ? a[1] / x : INFINITY, u);
    put_tails(t, u[1], u[0]);
}

void dist_expon_tails(double x, const double *a, size_t n, double *t) {
    put_exponential(t, a[0] * x);
}

void dist_beta_tails(double x, const double *a, size_t n, double *t) {
    beta_tails(a[0], a[1], x, 1 - x, t);
}

void dist_log_beta_tails(double y, const double *a, size_t n, double *t) {
    beta_tails(a[0], a[1], exp(y), -expm1(y), t);
}

void dist_log_odds_beta_tails(double y, const double *a, size_t n, double *t) {
    beta_tails(a[0], a[1], logistic(y), logistic(-y), t);
}

void dist_uniform_tails(double x, const double *a, size_t n, double *t) {
    double width = a[1] - a[0];
    put_tails(t, x > a[0] ? log(fmin((x - a[0]) / width, 1)) : -INFINITY,
              x < a[1] ? log(fmin((a[1] - x) / width, 1)) : -INFINITY);
}

/* The part beyond |z| is half of I_x(v/2, 1/2), x = v / (v + z^2). */
void dist_student_t_tails(double x, const double *a, size_t n, double *t) {
    double v = a[0], z = (x - (n > 1 ? a[1] : 0)) / (n > 2 ? a[2] : 1), r = z / v * z, u[2];
    if (isinf(r))
        u[0] = -INFINITY;
    else
        beta_tails(0.5 * v, 0.5, 1 / (1 + r), r / (1 + r), u);
    double far = u[0] - M_LN2, near = log1p(-0.5 * exp(u[0]));
    put_tails(t, z < 0 ? far : near, z < 0 ? near : far);
}
