/* SPDX-License-Identifier: Apache-2.0
 * Predicting run times; see runtime.h. */
#include "optimize/time_predict.h"
#include "base/mem.h"
#include "la/blas.h"
#include "math/special.h"

#include <math.h>
#include <string.h>

#define N_A      6
#define N_G      8
#define MAX_RUNS 1500 /* the last ones count */

struct part { /* one component of the mixture */
    double weight, mean, scale;
};

/* Inputs to the straight line: logarithms when every value is positive, else standardised. */
static void transform(const double *inputs, size_t n, int dim, const double *x, double *v) {
    size_t d = (size_t)dim;
    for (size_t j = 0; j < d; j++) {
        bool positive = x[j] > 0;
        double mean = 0, sd = 0;
        for (size_t i = 0; i < n; i++) positive = positive && inputs[i * d + j] > 0;
        for (size_t i = 0; i < n; i++) mean += inputs[i * d + j] / (double)n;
        for (size_t i = 0; i < n; i++) sd += pow(inputs[i * d + j] - mean, 2) / (double)n;
        sd = sd > 0 ? sqrt(sd) : 1;
        for (size_t i = 0; i <= n; i++) {
            double value = i < n ? inputs[i * d + j] : x[j];
            v[i * d + j] = positive ? log(value) : (value - mean) / sd;
        }
    }
}

static double covariance(const double *p, const double *q, size_t d, double a) {
    double dot = 1, r2 = 0;
    for (size_t j = 0; j < d; j++) {
        dot += p[j] * q[j];
        r2 += (p[j] - q[j]) * (p[j] - q[j]);
    }
    return 100 * dot + a * exp(-r2 / 8);
}

/* Evidence and prediction for one (a, g); false when the matrix is not positive definite. */
static bool component(const double *v, const double *z, size_t n, size_t d, double a, double g,
                      double *K, double *w, struct part *out, double *log_evidence) {
    double logdet = 0, S = 0, mean = 0, var, *k = w + n;
    size_t pivot;
    for (size_t j = 0; j < n; j++)
        for (size_t i = j; i < n; i++)
            K[j * n + i] = covariance(v + i * d, v + j * d, d, a) + (i == j ? g : 0);
    if (la_potrf(n, K, n, &pivot)) return false;
    memcpy(w, z, n * sizeof *w);
    la_trsv(false, n, K, n, w);
    for (size_t i = 0; i < n; i++) k[i] = covariance(v + i * d, v + n * d, d, a);
    la_trsv(false, n, K, n, k);
    var = covariance(v + n * d, v + n * d, d, a) + g;
    for (size_t i = 0; i < n; i++) {
        S += w[i] * w[i];
        mean += w[i] * k[i];
        var -= k[i] * k[i];
        logdet += log(K[i * n + i]);
    }
    *log_evidence = -0.5 * (double)n * log(S + 1e-12) - logdet;
    *out = (struct part){1, mean, sqrt(fmax(var, 1e-12) * (S + 1e-12) / (double)n)};
    return true;
}

static double t_cdf(double t, double dof) {
    double tail = 0.5 * beta_inc(dof / 2, 0.5, dof / (dof + t * t));
    return t > 0 ? 1 - tail : tail;
}

static double mixture_cdf(const struct part *p, int n, double dof, double y) {
    double c = 0;
    for (int i = 0; i < n; i++) c += p[i].weight * t_cdf((y - p[i].mean) / p[i].scale, dof);
    return c;
}

static double mixture_quantile(const struct part *p, int n, double dof, double prob) {
    double lo = -700, hi = 700;
    for (int it = 0; it < 80; it++) {
        double mid = 0.5 * (lo + hi);
        if (mixture_cdf(p, n, dof, mid) < prob)
            lo = mid;
        else
            hi = mid;
    }
    return 0.5 * (lo + hi);
}

enum gpm_status runtime_predict(const double *inputs, const double *t, size_t n, int dim,
                                const double *x, const double *p, int m, double *out) {
    size_t d = (size_t)dim;
    if (n > MAX_RUNS) inputs += (n - MAX_RUNS) * d, t += n - MAX_RUNS, n = MAX_RUNS;
    if (n < 3) return GPM_E_ARG;
    double *K = mem_try_doubles(n * n), *w = NEW_ARRAY(double, 3 * n), *z = w + 2 * n;
    double *v = NEW_ARRAY(double, (n + 1) * d), ev[N_A * N_G], top = -INFINITY, sum = 0;
    struct part parts[N_A * N_G];
    int count = 0;
    transform(inputs, n, dim, x, v);
    for (size_t i = 0; i < n; i++) z[i] = log(fmax(t[i], 1e-9));
    for (int i = 0; K && i < N_A; i++)
        for (int j = 0; j < N_G; j++) {
            double a = i ? pow(10, i - 3) : 1e-4, g = pow(10, 0.5 * j - 3);
            if (component(v, z, n, d, a, g, K, w, &parts[count], &ev[count]))
                top = fmax(top, ev[count]), count++;
        }
    for (int i = 0; i < count; i++) sum += parts[i].weight = exp(ev[i] - top);
    for (int i = 0; i < count; i++) parts[i].weight /= sum;
    for (int i = 0; i < m && count; i++)
        out[i] = exp(mixture_quantile(parts, count, (double)n, p[i]));
    mem_free(K);
    mem_free(w);
    mem_free(v);
    return count ? GPM_OK : GPM_E_NOMEM;
}
