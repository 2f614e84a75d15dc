/* SPDX-License-Identifier: Apache-2.0
 *
 * A plug-in with a distribution and an emulator. The asymmetric Laplace distribution is that of
 * quantile regression; the emulator knows a function that is constant but for noise:
 * y = c + e, c ~ normal(0, s), e ~ normal(0, 1).
 *
 *     cc -shared -fPIC -Iinclude examples/c/plugin.c -o libmine.so -lm */
#include <gpmem/plugin.h>
#include <math.h>

/* args: location, scale, share of the probability below the location */
static int impossible(const double *a) {
    return !(a[1] > 0 && a[2] > 0 && a[2] < 1);
}

static int laplace_draw(const double *a, struct gpm_random r, double *out) {
    double u = r.next(r.source);
    if (impossible(a)) return 1;
    *out = u < a[2] ? a[0] + a[1] / (1 - a[2]) * log(u / a[2])
                    : a[0] - a[1] / a[2] * log((1 - u) / (1 - a[2]));
    return 0;
}

static int laplace_log_density(double v, const double *a, double *out) {
    if (impossible(a)) return 1;
    double z = (v - a[0]) / a[1];
    *out = log(a[2] * (1 - a[2]) / a[1]) - z * (a[2] - (z < 0));
    return 0;
}

static int laplace_gradient(double v, const double *a, double *g) {
    if (impossible(a)) return 1;
    double z = (v - a[0]) / a[1], slope = a[2] - (z < 0);
    g[0] = -slope / a[1];
    g[1] = slope / a[1];
    g[2] = (z * slope - 1) / a[1];
    g[3] = 1 / a[2] - 1 / (1 - a[2]) - z;
    return 0;
}

/* What n values of that sum say of the next one. */
static void predict(double n, double sum, double s, double *mean, double *variance) {
    double precision = 1 / (s * s) + n;
    *mean = sum / precision;
    *variance = 1 + 1 / precision;
}

static double sum_of(const struct gpm_pairs *p) {
    double sum = 0;
    for (size_t i = 0; i < p->n; i++) sum += p->y[i];
    return sum;
}

static double normal(struct gpm_random r) {
    double u = r.next(r.source), v = r.next(r.source);
    return sqrt(-2 * log(u)) * cos(6.283185307179586 * v);
}

/* One after the other, each given those before it. */
static int constant_draw(const struct gpm_pairs *known, const double *par, const double *x,
                         size_t n, struct gpm_random r, double *out) {
    double mean, variance, sum = sum_of(known);
    (void)x;
    if (!(par[0] > 0)) return 1;
    for (size_t i = 0; i < n; i++) {
        predict((double)(known->n + i), sum, par[0], &mean, &variance);
        out[i] = mean + sqrt(variance) * normal(r);
        sum += out[i];
    }
    return 0;
}

static int constant_log_density(const struct gpm_pairs *known, const double *par,
                                const struct gpm_pairs *more, double *out) {
    double mean, variance, sum = sum_of(known);
    if (!(par[0] > 0)) return 1;
    *out = 0;
    for (size_t i = 0; i < more->n; i++) {
        predict((double)(known->n + i), sum, par[0], &mean, &variance);
        double d = more->y[i] - mean;
        *out -= 0.5 * (log(6.283185307179586 * variance) + d * d / variance);
        sum += more->y[i];
    }
    return 0;
}

static const struct gpm_plugin_distribution distributions[] = {
    {"asymmetric_laplace", 3, GPM_SUPPORT_REAL, 0, 0, laplace_draw, laplace_log_density,
     laplace_gradient},
};
static const struct gpm_plugin_emulator emulators[] = {
    {"constant", 1, constant_draw, constant_log_density},
};
static const struct gpm_plugin plugin = {GPM_PLUGIN_VERSION, distributions, 1, emulators, 1};

const struct gpm_plugin *gpm_plugin(void) {
    return &plugin;
}
