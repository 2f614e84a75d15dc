/* SPDX-License-Identifier: Apache-2.0
 *
 * Discrete scalar distributions, draws of indexes and permutations, and the Dirichlet.
 */
#include "numeric/dist/dist.h"
#include "numeric/special/special.h"
#include <float.h>
#include <math.h>

static double clamp_prob(double p) {
    return p >= 0 && p <= 1 ? p : NAN;
}

/* ---- bernoulli(p) on {0, 1} */
double dist_bernoulli_lp(double x, const double *a, size_t n) {
    double p = n ? clamp_prob(a[0]) : 0.5;
    if (isnan(p)) return NAN;
    if (x == 1) return log(p);
    if (x == 0) return log1p(-p);
    return -INFINITY;
}

double dist_bernoulli_draw(struct rng *r, const double *a, size_t n) {
    double p = n ? clamp_prob(a[0]) : 0.5;
    return isnan(p) ? NAN : rng_uniform(r) < p;
}

void dist_bernoulli_grad(double x, const double *a, size_t n, double *g) {
    g[0] = 0;
    if (n) g[1] = x == 1 ? 1 / a[0] : -1 / (1 - a[0]);
}

/* ---- with p = e^l, l <= 0 */
double dist_log_bernoulli_lp(double x, const double *a, size_t n) {
    if (!(a[0] <= 0)) return NAN;
    if (x == 1) return a[0];
    if (x == 0) return a[0] == 0 ? -INFINITY : log1mexp(-a[0]);
    return -INFINITY;
}

double dist_log_bernoulli_draw(struct rng *r, const double *a, size_t n) {
    return a[0] <= 0 ? log(rng_uniform(r)) < a[0] : NAN;
}

void dist_log_bernoulli_grad(double x, const double *a, size_t n, double *g) {
    g[0] = 0;
    g[1] = x == 1 ? 1 : exp(a[0]) / expm1(a[0]);
}

/* ---- with p = 1 / (1 + e^-l) */
double dist_logit_bernoulli_lp(double x, const double *a, size_t n) {
    if (x == 1) return -log1pexp(-a[0]);
    if (x == 0) return -log1pexp(a[0]);
    return -INFINITY;
}

double dist_logit_bernoulli_draw(struct rng *r, const double *a, size_t n) {
    return isnan(a[0]) ? NAN : rng_uniform(r) < logistic(a[0]);
}

void dist_logit_bernoulli_grad(double x, const double *a, size_t n, double *g) {
    g[0] = 0;
    g[1] = x - logistic(a[0]);
}

/* ---- binomial(n, p):  C(n, k) p^k (1-p)^(n-k) */
double dist_binomial_lp(double k, const double *a, size_t n) {
    if (!is_count(a[0]) || isnan(clamp_prob(a[1]))) return NAN;
    if (!is_count(k) || k > a[0]) return -INFINITY;
    return log_choose(a[0], k) + xlogy(k, a[1]) + xlog1py(a[0] - k, -a[1]);
}

/* Sequential inversion from k = 0; p <= 1/2, n p < 10. */
static double binomial_invert(struct rng *r, double n, double p) {
    double odds = p / (1 - p), f = exp(n * log1p(-p)), u = rng_uniform(r), k = 0;
    while (u > f && k < n) {
        u -= f;
        k++;
        f *= odds * (n - k + 1) / k;
        if (f < DBL_MIN && k > n * p) break; /* rounding left a rest of u: the tail is exhausted */
    }
    return k;
}

/* Algorithm BTRS of Hoermann 1993 (transformed rejection with squeeze); p <= 1/2, n p >= 10. */
static double binomial_reject(struct rng *r, double n, double p) {
    double q = 1 - p, spq = sqrt(n * p * q), b = 1.15 + 2.53 * spq;
    double a = -0.0873 + 0.0248 * b + 0.01 * p, c = n * p + 0.5, vr = 0.92 - 4.2 / b;
    double alpha = (2.83 + 5.1 / b) * spq, lpq = log(p / q), m = floor((n + 1) * p);
    double h = log_gamma(m + 1) + log_gamma(n - m + 1);
    for (;;) {
        double u = rng_uniform(r) - 0.5, v = rng_uniform(r), us = 0.5 - fabs(u);
        double k = floor((2 * a / us + b) * u + c);
        if (k < 0 || k > n) continue;
        if (us >= 0.07 && v <= vr) return k;
        v = log(v * alpha / (a / (us * us) + b));
        if (v <= h - log_gamma(k + 1) - log_gamma(n - k + 1) + (k - m) * lpq) return k;
    }
}

double dist_binomial_draw(struct rng *r, const double *a, size_t n_args) {
    double n = a[0], p = a[1];
    if (!is_count(n) || isnan(clamp_prob(p))) return NAN;
    if (p > 0.5) {
        double mirrored[] = {n, 1 - p};
        return n - dist_binomial_draw(r, mirrored, 2);
    }
    if (n == 0 || p == 0) return 0;
    return n * p < 10 ? binomial_invert(r, n, p) : binomial_reject(r, n, p);
}

void dist_binomial_grad(double k, const double *a, size_t n, double *g) {
    g[0] = g[1] = 0;
    g[2] = (k == 0 ? 0 : k / a[1]) - (a[0] == k ? 0 : (a[0] - k) / (1 - a[1]));
}

/* ---- poisson(m):  m^k e^-m / k!
 * For large k the three terms cancel (and overflow): then Stirling's series for k!, and
 * k log m - m + k - k log k = -k (d - log(1 + d)), d = (m - k) / k (Loader 2000). */
static double poisson_large(double k, double m) {
    double d = (m - k) / k, series = (1 - 1 / (30 * k * k)) / (12 * k);
    double ratio = fabs(d) < 0.5 ? log1p(d) : log(m) - log(k); /* log(m / k) */
    return -k * (d - ratio) - 0.5 * log(k) - 0.5 * log(2 * M_PI) - series;
}

double dist_poisson_lp(double k, const double *a, size_t n) {
    if (!(a[0] >= 0)) return NAN;
    if (!is_count(k)) return -INFINITY;
    if (k == 0) return -a[0]; /* also if the mean is 0 */
    if (k >= 1000) return poisson_large(k, a[0]);
    return k * log(a[0]) - a[0] - log_factorial(k);
}

/* Algorithm PTRS of Hoermann 1993; m >= 10. */
static double poisson_reject(struct rng *r, double m) {
    double slam = sqrt(m), loglam = log(m), b = 0.931 + 2.53 * slam, a = -0.059 + 0.02483 * b;
    double inv_alpha = 1.1239 + 1.1328 / (b - 3.4), vr = 0.9277 - 3.6224 / (b - 2);
    for (;;) {
        double u = rng_uniform(r) - 0.5, v = rng_uniform(r), us = 0.5 - fabs(u);
        double k = floor((2 * a / us + b) * u + m + 0.43);
        if (us >= 0.07 && v <= vr) return k;
        if (k < 0 || (us < 0.013 && v > us)) continue;
        if (log(v) + log(inv_alpha) - log(a / (us * us) + b) <= -m + k * loglam - log_gamma(k + 1))
            return k;
    }
}

double dist_poisson_draw(struct rng *r, const double *a, size_t n) {
    double m = a[0];
    if (!(m >= 0) || isinf(m)) return NAN;
    if (m >= 10) return poisson_reject(r, m);
    double limit = exp(-m), product = rng_uniform(r), k = 0;
    for (; product > limit; k++) product *= rng_uniform(r);
    return k;
}

void dist_poisson_grad(double k, const double *a, size_t n, double *g) {
    g[0] = 0;
    g[1] = (k == 0 ? 0 : k / a[0]) - 1;
}

/* ---- uniform_discrete(l, h) on l, l+1, ..., h-1 */
double dist_uniform_discrete_lp(double k, const double *a, size_t n) {
    if (!(a[0] < a[1]) || a[0] != floor(a[0]) || a[1] != floor(a[1])) return NAN;
    return k == floor(k) && k >= a[0] && k < a[1] ? -log(a[1] - a[0]) : -INFINITY;
}

double dist_uniform_discrete_draw(struct rng *r, const double *a, size_t n) {
    if (!(a[0] < a[1]) || a[0] != floor(a[0]) || a[1] != floor(a[1])) return NAN;
    double width = a[1] - a[0];
    if (width > 0x1p53) return NAN;
    return a[0] + (double)rng_below(r, (uint64_t)width);
}

void dist_uniform_discrete_grad(double k, const double *a, size_t n, double *g) {
    g[0] = g[1] = g[2] = 0;
}

/* ---- neg_binomial(r, p):  Gamma(k + r) / (k! Gamma(r)) p^r (1-p)^k;  k log(1-p) is 0 at k = 0 */
double dist_neg_binomial_lp(double k, const double *a, size_t n) {
    if (!(a[0] > 0 && a[1] > 0 && a[1] <= 1)) return NAN;
    if (!is_count(k)) return -INFINITY;
    double coef = k == 0 ? 0 : -log_beta_fn(a[0], k) - log(k);
    return coef + a[0] * log(a[1]) + xlog1py(k, -a[1]);
}

/* A Poisson with mean gamma(r, p / (1 - p)). */
double dist_neg_binomial_draw(struct rng *r, const double *a, size_t n) {
    if (!(a[0] > 0 && a[1] > 0 && a[1] <= 1)) return NAN;
    double mean = draw_gamma(r, a[0]) * (1 - a[1]) / a[1];
    return mean > 0 ? dist_poisson_draw(r, &mean, 1) : 0;
}

void dist_neg_binomial_grad(double k, const double *a, size_t n, double *g) {
    g[0] = 0;
    g[1] = digamma(k + a[0]) - digamma(a[0]) + log(a[1]);
    g[2] = a[0] / a[1] - (k == 0 ? 0 : k / (1 - a[1]));
}

/* ---- geometric(p):  p (1-p)^k */
double dist_geometric_lp(double k, const double *a, size_t n) {
    if (!(a[0] > 0 && a[0] <= 1)) return NAN;
    return is_count(k) ? log(a[0]) + xlog1py(k, -a[0]) : -INFINITY;
}

double dist_geometric_draw(struct rng *r, const double *a, size_t n) {
    if (!(a[0] > 0 && a[0] <= 1)) return NAN;
    if (a[0] == 1) return 0;
    return floor(log(rng_uniform(r)) / log1p(-a[0]));
}

void dist_geometric_grad(double k, const double *a, size_t n, double *g) {
    g[0] = 0;
    g[1] = 1 / a[0] - (k == 0 ? 0 : k / (1 - a[0]));
}

size_t draw_index(struct rng *r, const double *w, size_t n) {
    double total = 0;
    size_t last = 0;
    for (size_t i = 0; i < n; i++) {
        total += w[i];
        if (w[i] > 0) last = i;
    }
    double u = rng_uniform(r) * total;
    for (size_t i = 0; i < last; i++) {
        if (u < w[i]) return i;
        u -= w[i];
    }
    return last; /* rounding never selects an index of weight zero */
}

/* Gumbel-max (Maddison et al. 2014): the argmax of logw + Gumbel noise. */
size_t draw_log_index(struct rng *r, const double *logw, size_t n) {
    size_t best = 0;
    double top = -INFINITY;
    for (size_t i = 0; i < n; i++) {
        double g = logw[i] - log(rng_exponential(r));
        if (g > top) {
            top = g;
            best = i;
        }
    }
    return best;
}

void draw_permutation(struct rng *r, size_t *p, size_t n) {
    for (size_t i = 0; i < n; i++) p[i] = i;
    for (size_t i = n; i > 1; i--) { /* Fisher-Yates */
        size_t j = (size_t)rng_below(r, i), t = p[i - 1];
        p[i - 1] = p[j];
        p[j] = t;
    }
}

/* ---- dirichlet(a):  Gamma(sum a) / prod Gamma(a_i) prod x_i^(a_i - 1) */
double dirichlet_lp(const double *x, const double *alpha, size_t n) {
    double lp = 0, total = 0, sum = 0;
    for (size_t i = 0; i < n; i++) {
        if (!(alpha[i] > 0)) return NAN;
        if (!(x[i] >= 0)) return -INFINITY;
        lp += xlogy(alpha[i] - 1, x[i]) - log_gamma(alpha[i]);
        total += alpha[i];
        sum += x[i];
    }
    if (!(fabs(sum - 1) < 1e-9)) return -INFINITY;
    return lp + log_gamma(total);
}

/* Normalised gammas, in logarithms so that small alphas do not all underflow. */
void dirichlet_draw(struct rng *r, const double *alpha, size_t n, double *out) {
    double sum = 0;
    for (size_t i = 0; i < n; i++) out[i] = draw_log_gamma(r, alpha[i]);
    double total = logsumexp(out, n);
    if (total == -INFINITY) { /* all below the doubles: the mass is at one corner */
        out[draw_index(r, alpha, n)] = 0;
        total = 0;
    }
    for (size_t i = 0; i < n; i++) sum += (out[i] = fmax(exp(out[i] - total), DBL_MIN));
    for (size_t i = 0; i < n; i++) out[i] /= sum;
}

void dirichlet_grad(const double *x, const double *alpha, size_t n, double *dx, double *dalpha) {
    double total = 0;
    for (size_t i = 0; i < n; i++) total += alpha[i];
    double psi = digamma(total);
    for (size_t i = 0; i < n; i++) {
        if (dx) dx[i] = (alpha[i] - 1) / x[i];
        if (dalpha) dalpha[i] = log(x[i]) - digamma(alpha[i]) + psi;
    }
}
