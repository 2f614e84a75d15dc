/* SPDX-License-Identifier: Apache-2.0
 *
 * Both tails of the distributions, as logarithms, and slopes: what their parameters do to a value
 * of fixed probability. t[0] = log F, t[1] = log (1 - F).
 */
#include "math/special.h"
#include "math/tails.h"
#include <math.h>

static void put(double *t, double lower, double upper) {
    t[0] = lower;
    t[1] = upper;
}

/* From the upper tail of something whose logarithm is -e, e >= 0. */
static void put_exponential(double *t, double e) {
    put(t, e > 0 ? log1mexp(e) : -INFINITY, e > 0 ? -e : 0);
}

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

void slopes_pareto_type_2(double x, const double *a, size_t n, double *d) {
    double y = x - a[0];
    d[0] = -1;
    d[1] = -y / a[1];
    d[2] = (a[1] + y) * log1p(y / a[1]) / a[2];
}

void slopes_ends(double x, const double *a, size_t n, double *d) {
    d[1] = -(x - a[0]) / (a[1] - a[0]);
    d[0] = -1 - d[1];
}

/* ---- continuous */
void dist_normal_tails(double x, const double *a, size_t n, double *t) {
    double z = (x - a[0]) / a[1];
    put(t, norm_log_cdf(z), norm_log_cdf(-z));
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
    put(t, u[1], u[0]);
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

void dist_log_odds_uniform_tails(double y, const double *a, size_t n, double *t) {
    put(t, -log1pexp(-y), -log1pexp(y));
}

void dist_uniform_tails(double x, const double *a, size_t n, double *t) {
    double width = a[1] - a[0];
    put(t, x > a[0] ? log(fmin((x - a[0]) / width, 1)) : -INFINITY,
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
    put(t, z < 0 ? far : near, z < 0 ? near : far);
}

void dist_laplace_tails(double x, const double *a, size_t n, double *t) {
    double z = (x - a[0]) / a[1], far = -fabs(z) - M_LN2, near = log1p(-0.5 * exp(-fabs(z)));
    put(t, z < 0 ? far : near, z < 0 ? near : far);
}

/* The angle to the far side, as a share of the half turn. */
void dist_cauchy_tails(double x, const double *a, size_t n, double *t) {
    double z = (x - a[0]) / a[1];
    put(t, log(atan2(1, -z)) - LOG_PI, log(atan2(1, z)) - LOG_PI);
}

void dist_logistic_tails(double x, const double *a, size_t n, double *t) {
    dist_log_odds_uniform_tails((x - a[0]) / a[1], NULL, 0, t);
}

void dist_gumbel_tails(double x, const double *a, size_t n, double *t) {
    double e = exp(-(x - a[0]) / a[1]);
    put(t, -e, e > 0 ? log1mexp(e) : -INFINITY);
}

/* Twice the upper tail; below x what is left. */
static void put_half(double *t, double upper) {
    put_exponential(t, -fmin(upper + M_LN2, 0));
}

void dist_half_normal_tails(double x, const double *a, size_t n, double *t) {
    put_half(t, norm_log_cdf(-x / a[0]));
    if (x < a[0]) t[0] = x > 0 ? log(erf(x / a[0] * M_SQRT1_2)) : -INFINITY;
}

void dist_half_cauchy_tails(double x, const double *a, size_t n, double *t) {
    put_half(t, log(atan2(1, x / a[0])) - LOG_PI);
    if (x < a[0]) t[0] = x > 0 ? log(atan(x / a[0]) * M_2_PI) : -INFINITY;
}

void dist_half_student_t_tails(double x, const double *a, size_t n, double *t) {
    double u[2];
    dist_student_t_tails(x, (double[]){a[0], 0, a[1]}, 3, u);
    put_half(t, u[1]);
}

void dist_skew_double_exponential_tails(double x, const double *a, size_t n, double *t) {
    double d = 2 * (x - a[0]) / a[1], tau = a[2];
    double far = d < 0 ? log(tau) + (1 - tau) * d : log1p(-tau) - tau * d, near = log1p(-exp(far));
    put(t, d < 0 ? far : near, d < 0 ? near : far);
}

/* F = Phi(z) - E, 1 - F = Phi(-z) + E with E = e^log_exp_mod */
void dist_exp_mod_normal_tails(double x, const double *a, size_t n, double *t) {
    double z = (x - a[0]) / a[1], e = log_exp_mod(z, a[2] * a[1]), below = norm_log_cdf(z);
    put(t, below > e ? below + log1mexp(below - e) : -INFINITY,
        fmin(logaddexp(norm_log_cdf(-z), e), 0));
}

void dist_weibull_tails(double x, const double *a, size_t n, double *t) {
    put_exponential(t, x > 0 ? pow(x / a[1], a[0]) : 0);
}

void dist_frechet_tails(double x, const double *a, size_t n, double *t) {
    double e = x > 0 ? pow(x / a[1], -a[0]) : INFINITY;
    put(t, -e, e > 0 ? log1mexp(e) : -INFINITY);
}

void dist_rayleigh_tails(double x, const double *a, size_t n, double *t) {
    put_exponential(t, 0.5 * (x / a[0]) * (x / a[0]));
}

void dist_loglogistic_tails(double x, const double *a, size_t n, double *t) {
    dist_log_odds_uniform_tails(x > 0 ? a[1] * log(x / a[0]) : -INFINITY, NULL, 0, t);
}

void dist_pareto_tails(double x, const double *a, size_t n, double *t) {
    put_exponential(t, x > a[0] ? a[1] * log(x / a[0]) : 0);
}

void dist_pareto_type_2_tails(double x, const double *a, size_t n, double *t) {
    put_exponential(t, x > a[0] ? a[2] * log1p((x - a[0]) / a[1]) : 0);
}

void dist_chi_square_tails(double x, const double *a, size_t n, double *t) {
    gamma_tails(0.5 * a[0], 0.5 * x, t);
}

void dist_inv_chi_square_tails(double x, const double *a, size_t n, double *t) {
    dist_inv_gamma_tails(x, (double[]){0.5 * a[0], 0.5}, 2, t);
}

void dist_scaled_inv_chi_square_tails(double x, const double *a, size_t n, double *t) {
    dist_inv_gamma_tails(x, (double[]){0.5 * a[0], 0.5 * a[0] * a[1] * a[1]}, 2, t);
}

void dist_beta_proportion_tails(double x, const double *a, size_t n, double *t) {
    beta_tails(a[0] * a[1], (1 - a[0]) * a[1], x, 1 - x, t);
}

/* ---- discrete; x is whole */

/* Nothing is below `least`, all is at most `most`; false: neither. */
static bool outside(double x, double least, double most, double *t) {
    if (x >= least && x < most) return false;
    put(t, x < least ? -INFINITY : 0, x < least ? 0 : -INFINITY);
    return true;
}

void dist_poisson_tails(double k, const double *a, size_t n, double *t) {
    double u[2];
    if (outside(k, 0, INFINITY, t)) return;
    gamma_tails(k + 1, a[0], u);
    put(t, u[1], u[0]);
}

void dist_binomial_tails(double k, const double *a, size_t n, double *t) {
    if (!outside(k, 0, a[0], t)) beta_tails(a[0] - k, k + 1, 1 - a[1], a[1], t);
}

void dist_neg_binomial_tails(double k, const double *a, size_t n, double *t) {
    if (!outside(k, 0, INFINITY, t)) beta_tails(a[0], k + 1, a[1], 1 - a[1], t);
}

void dist_geometric_tails(double k, const double *a, size_t n, double *t) {
    if (!outside(k, 0, INFINITY, t)) put_exponential(t, -(k + 1) * log1p(-a[0]));
}

void dist_uniform_discrete_tails(double k, const double *a, size_t n, double *t) {
    double width = a[1] - a[0];
    if (outside(k, a[0], a[1] - 1, t)) return;
    put(t, log((k + 1 - a[0]) / width), log((a[1] - 1 - k) / width));
}

void dist_binomial_logit_tails(double k, const double *a, size_t n, double *t) {
    if (!outside(k, 0, a[0], t)) beta_tails(a[0] - k, k + 1, logistic(-a[1]), logistic(a[1]), t);
}

void dist_poisson_log_tails(double k, const double *a, size_t n, double *t) {
    double mean = exp(a[0]);
    dist_poisson_tails(k, &mean, 1, t);
}

/* Failures before success number r, given the odds of a success. */
static void put_failures(double *t, double k, double r, double log_odds) {
    if (!outside(k, 0, INFINITY, t))
        beta_tails(r, k + 1, logistic(log_odds), logistic(-log_odds), t);
}

void dist_neg_binomial_rate_tails(double k, const double *a, size_t n, double *t) {
    put_failures(t, k, a[0], log(a[1]));
}

void dist_neg_binomial_2_tails(double k, const double *a, size_t n, double *t) {
    put_failures(t, k, a[1], log(a[1] / a[0]));
}

void dist_neg_binomial_2_log_tails(double k, const double *a, size_t n, double *t) {
    put_failures(t, k, a[1], log(a[1]) - a[0]);
}

/* Sums of the probabilities from least to k and from k + 1 to most; NaN when they are too many. */
enum { TERMS = 100000 };

static void put_sums(double *t, dist_lp_fn *lp, double k, const double *a, double least,
                     double most) {
    if (outside(k, least, most, t)) return;
    put(t, -INFINITY, -INFINITY);
    for (double j = least; j <= most && most - least < TERMS; j++)
        t[j > k] = logaddexp(t[j > k], lp(j, a, 3));
    if (!(most - least < TERMS)) put(t, NAN, NAN);
}

void dist_beta_binomial_tails(double k, const double *a, size_t n, double *t) {
    put_sums(t, dist_beta_binomial_lp, k, a, 0, a[0]);
}

void dist_hypergeometric_tails(double k, const double *a, size_t n, double *t) {
    put_sums(t, dist_hypergeometric_lp, k, a, fmax(0, a[0] - a[2]), fmin(a[0], a[1]));
}
