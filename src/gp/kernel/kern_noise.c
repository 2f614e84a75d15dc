/* SPDX-License-Identifier: Apache-2.0
 *
 * White noise by value of x (the paper's delta), categories, and the platform's tolerance kernels,
 * which replace white noise when inputs are compared approximately. These are functions of the
 * distance d. The first is a covariance only if "nearer than the tolerance" is transitive on the
 * inputs. */
#include "gp/kernel/kern_tree.h"
#include "gp/kernel/kern_leaf.h"

#include "base/map.h"

#include <math.h>

/* WN(sigma): 1 when every coordinate is equal. */
static void wn_value(const struct kern *k, const struct kern_strip *s, double *out) {
    for (size_t i = 0; i < s->m; i++) out[i] = 1;
    for (int c = 0; c < s->nf; c++)
        for (size_t i = 0; i < s->m; i++)
            out[i] = s->row[(size_t)c * s->ld + i] == s->col[c] ? out[i] : 0;
}

/* gp_cov_delta(tol2): [d^2 <= tol2]. */
static void delta_value(const struct kern *k, const struct kern_strip *s, double *out) {
    leaf_squared(s, out);
    for (size_t i = 0; i < s->m; i++) out[i] = out[i] <= k->par[0] ? 1 : 0;
}

/* gp_cov_deltoid(t2, s): 1 / (1 + (d^2/t2)^(s/2)). With u = (d^2/t2)^(s/2), k = 1/(1+u):
 * dk/dt2 = k^2 u s / (2 t2), dk/ds = -k^2 u log(d^2/t2) / 2. */
static void deltoid_value(const struct kern *k, const struct kern_strip *s, double *out) {
    leaf_squared(s, out);
    for (size_t i = 0; i < s->m; i++) out[i] = 1 / (1 + pow(out[i] / k->par[0], k->par[1] / 2));
}

static void deltoid_grad(const struct kern *k, const struct kern_strip *s, const double *w,
                         double *g) {
    double q[KERN_STRIP], t2 = k->par[0], steep = k->par[1];
    leaf_squared(s, q);
    for (size_t i = 0; i < s->m; i++) {
        if (q[i] == 0) continue;
        double u = pow(q[i] / t2, steep / 2), v = 1 / (1 + u), a = isfinite(u) ? v * v * u : 0;
        g[0] += w[i] * a * steep / (2 * t2);
        g[1] -= w[i] * a * log(q[i] / t2) / 2;
    }
}

/* gp_cov_bump(t0, t1): 1 for d <= t0, 0 for d >= t1, between them exp(1 - 1/(1 - r^2)),
 * r = (d - t0)/(t1 - t0), which joins both ends smoothly. dk/dr = -2 r / (1 - r^2)^2 k. */
static double bump_r(const struct kern *k, double q) {
    double d = sqrt(q), t0 = k->par[0], t1 = k->par[1];
    return d <= t0 ? 0 : d >= t1 ? 1 : (d - t0) / (t1 - t0);
}

static void bump_value(const struct kern *k, const struct kern_strip *s, double *out) {
    leaf_squared(s, out);
    for (size_t i = 0; i < s->m; i++) {
        double r = bump_r(k, out[i]);
        out[i] = r >= 1 ? 0 : exp(1 - 1 / (1 - r * r));
    }
}

static void bump_grad(const struct kern *k, const struct kern_strip *s, const double *w,
                      double *g) {
    double q[KERN_STRIP], width = k->par[1] - k->par[0];
    leaf_squared(s, q);
    for (size_t i = 0; i < s->m; i++) {
        double r = bump_r(k, q[i]), h = 1 - r * r;
        if (r <= 0 || r >= 1) continue;
        double dr = -2 * r / (h * h) * exp(1 - 1 / h);
        g[0] += w[i] * dr * (r - 1) / width;
        g[1] -= w[i] * dr * r / width;
    }
}

/* HAM(l): log k = -sum_c [x_c != x'_c] / l_c. */
static void ham_expo(const struct kern *k, const struct kern_strip *s, double *out) {
    for (int c = 0; c < s->nf; c++) {
        const double *row = s->row + (size_t)c * s->ld;
        double inv = 1 / kern_par(k, 0, c);
        for (size_t i = 0; i < s->m; i++) out[i] -= row[i] != s->col[c] ? inv : 0;
    }
}

static void ham_grad(const struct kern *k, const struct kern_strip *s, const double *w, double *g) {
    for (int c = 0; c < s->nf; c++) {
        const double *row = s->row + (size_t)c * s->ld;
        int p = kern_par_index(k, 0, c);
        double sum = 0;
        for (size_t i = 0; i < s->m; i++) sum += row[i] != s->col[c] ? w[i] : 0;
        g[p] += sum / (k->par[p] * k->par[p]);
    }
}

/* Constant between its jumps. */
static double ham_slope(const struct kern *k, const struct kern_strip *s, const double *w,
                        double *g) {
    return 0;
}

double kern_sign(uint64_t key, double v) {
    v += 0.0; /* -0 is 0 */
    return hash_bytes(&v, sizeof v, key) & 1 ? 1 : -1;
}

/* Values share their sign with probability exp(-1/l); otherwise each value has an independent
 * sign. */
static void ham_wave(const struct kern *k, int dim, struct kern_wave *f) {
    for (int c = 0; c < leaf_dim(k, dim); c++)
        if (rng_uniform(f->rng) >= exp(-1 / kern_par(k, 0, c)))
            f->sign[leaf_place(k, c)] ^= 1 + (uint64_t)(rng_uniform(f->rng) * 0x1p62);
}

#define NOISE(nm, sym, text, words, alg)                                                           \
    .name = nm, .symbol = sym, .doc = text, .phrase = words, .op = KERN_LEAF, .algebra = alg,      \
    .stationary = true, .features = 1

#define DEVICE_BUMP                                                                                \
    "double d = sqrt(squared(f, h, n)), r = (d - p[0]) / (p[1] - p[0]);"                           \
    "r = d <= p[0] ? 0 : d >= p[1] ? 1 : r;"

const struct kern_class kern_rows_noise[] = {
    {NOISE("WN", "WN", "sigma^2 [x = x']", "uncorrelated noise", KERN_ALG_WN), .order = 1,
     .motif = {KERN_ROLE_WHITE, false, 9, "WN", NULL, 1, true}, .amp = KERN_AMP_SQUARE,
     .maker = {"make_whitenoise", "make_noise"}, .npar = 1,
     .par = {{"sigma", KERN_NONNEGATIVE, KERN_T_LOG, KERN_P_LOGNORMAL, -1.6, 1, 1, false}},
     .value = wn_value, .device = {.value = "COLUMNS if (f[c] != h[c]) return 0; return 1;"}},
    {NOISE("HAM", "HAM", "exp(-sum_c [x_c != x'_c] / l_c)", "a function of categories",
           KERN_ALG_STAT),
     .npar = 1, .par = {{"l", KERN_POSITIVE, KERN_T_LOG, KERN_P_LOGNORMAL, 0, 1, 1, true}},
     .expo = ham_expo, .grad = ham_grad, .slope = ham_slope, .wave = ham_wave,
     .device = {.value = "double e = 0; COLUMNS e -= f[c] != h[c] ? 1 / p[c % v] : 0; return e;",
                .grad = "COLUMNS g[c % v] += f[c] != h[c] ? w / (p[c % v] * p[c % v]) : 0;"}},
    {NOISE("gp_cov_delta", "DELTA", "[(x-x')^2 <= tol2]", "noise shared by near inputs",
           KERN_ALG_STAT),
     .not_psd = true, .npar = 1,
     .par = {{"tol2", KERN_NONNEGATIVE, KERN_T_FIXED, KERN_P_FLAT, 0, 0, 0, false}},
     .value = delta_value, .device = {.value = "return squared(f, h, n) <= p[0];"}},
    {NOISE("gp_cov_deltoid", "DELTOID", "1 / (1 + ((x-x')^2 / t2)^(s/2))",
           "noise that fades with distance", KERN_ALG_STAT),
     .not_psd = true, .npar = 2,
     .par = {{"t2", KERN_POSITIVE, KERN_T_LOG, KERN_P_LOGNORMAL, 0, 1, 1, false},
             {"s", KERN_POSITIVE, KERN_T_LOG, KERN_P_LOGNORMAL, 0, 1, 1, false}},
     .value = deltoid_value, .grad = deltoid_grad,
     .device = {.value = "return 1 / (1 + pow(squared(f, h, n) / p[0], p[1] / 2));",
                .grad = "double q = squared(f, h, n) / p[0];"
                        "if (q > 0) {"
                        "  double u = pow(q, p[1] / 2), a = 1 / (1 + u);"
                        "  a = u < 1e300 ? a * a * u : 0;"
                        "  g[0] += w * a * p[1] / (2 * p[0]);"
                        "  g[1] -= w * a * log(q) / 2;"
                        "}"}},
    {NOISE("gp_cov_bump", "BUMP",
           "1 for |x-x'| <= t0, 0 from t1 on, exp(1 - 1/(1 - r^2)) between, r from 0 to 1",
           "noise shared by near inputs", KERN_ALG_STAT),
     .not_psd = true, .npar = 2,
     .par = {{"t0", KERN_NONNEGATIVE, KERN_T_LOG, KERN_P_LOGNORMAL, 0, 1, 0.5, false},
             {"t1", KERN_POSITIVE, KERN_T_LOG, KERN_P_LOGNORMAL, 0, 1, 1, false}},
     .value = bump_value, .grad = bump_grad,
     .device = {.value = DEVICE_BUMP "return r >= 1 ? 0 : exp(1 - 1 / (1 - r * r));",
                .grad =
                    DEVICE_BUMP "if (r > 0 && r < 1) {"
                                "  double b = 1 - r * r, dr = -2 * r / (b * b) * exp(1 - 1 / b);"
                                "  g[0] += w * dr * (r - 1) / (p[1] - p[0]);"
                                "  g[1] -= w * dr * r / (p[1] - p[0]);"
                                "}"}},
    {.name = NULL},
};
