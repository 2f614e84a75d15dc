/* SPDX-License-Identifier: Apache-2.0
 *
 * Transforms of numbers and vectors; see the header. With T the transform and f a density in x,
 *
 *     to_x    x = T(z) and log |dT/dz|
 *     to_z    T^-1, for the values in a trace
 *     pull    (dT/dz)' df/dx, and d log |dT/dz| / dz */
#include "inference/hmc/constrain.h"

#include "base/mem.h"
#include "numeric/la/cols.h"
#include "numeric/special/special.h"
#include <float.h>
#include <math.h>
#include <string.h>

/* ---- one number between lo and hi, either of which may be infinite; x ascends with z */

/* The first number inside a bound. At 0 it is the smallest normal number, so that dividing by it is
 * finite. */
static double inside_of(double bound, double towards) {
    return bound == 0 ? copysign(DBL_MIN, towards) : nextafter(bound, towards);
}

static double clamp(const struct constraint *c, double x) {
    if (!(x > c->lo)) x = inside_of(c->lo, INFINITY);
    if (!(x < c->hi)) x = inside_of(c->hi, -INFINITY);
    return x;
}

/* An interval is measured from the nearer end, which keeps the digits of the distance to it. */
static double number_x(const struct constraint *c, double z) {
    bool low = isfinite(c->lo), high = isfinite(c->hi);
    double width = c->hi - c->lo;
    if (low && high)
        return clamp(c, z < 0 ? c->lo + width * logistic(z) : c->hi - width * logistic(-z));
    return low ? clamp(c, c->lo + exp(z)) : high ? clamp(c, c->hi - exp(-z)) : z;
}

static double number_log_slope(const struct constraint *c, double z) {
    bool low = isfinite(c->lo), high = isfinite(c->hi);
    if (low && high) return log(c->hi - c->lo) - log1pexp(-z) - log1pexp(z);
    return low ? z : high ? -z : 0;
}

/* dx/dz; *bend gets d log (dx/dz) / dz */
static double number_slope(const struct constraint *c, double z, double *bend) {
    bool low = isfinite(c->lo), high = isfinite(c->hi);
    double s = low && high ? logistic(z) : 0;
    *bend = low && high ? 1 - 2 * s : low ? 1 : high ? -1 : 0;
    if (low && high) return (c->hi - c->lo) * s * logistic(-z);
    return low ? exp(z) : high ? exp(-z) : 1;
}

static bool number_z(const struct constraint *c, double x, double *z) {
    bool low = isfinite(c->lo), high = isfinite(c->hi);
    if (!isfinite(x) || x < c->lo || x > c->hi) return false;
    x = clamp(c, x);
    *z = low && high ? log((x - c->lo) / (c->hi - x))
         : low       ? log(x - c->lo)
         : high      ? -log(c->hi - x)
                     : x;
    return true;
}

void constraint_pull_ends(const struct constraint *c, double z, double gx, bool jacobian,
                          double *glo, double *ghi) {
    bool low = isfinite(c->lo), high = isfinite(c->hi);
    double share = low && high ? logistic(z) : 0, wide = jacobian ? 1 / (c->hi - c->lo) : 0;
    *glo = low && high ? gx * (1 - share) - wide : low ? gx : 0;
    *ghi = low && high ? gx * share + wide : high ? gx : 0;
}

double centring_to_x(struct centring c, double z) {
    return c.by == 1 ? z : c.m + pow(c.s, 1 - c.by) * (z - c.by * c.m);
}

double centring_to_z(struct centring c, double x) {
    return c.by == 1 ? x : (x - c.m) * pow(c.s, c.by - 1) + c.by * c.m;
}

double centring_log_slope(struct centring c) {
    return c.by == 1 ? 0 : (1 - c.by) * log(c.s);
}

void centring_pull(struct centring c, double x, double *gx, double *gm, double *gs) {
    double slope = c.by == 1 ? 1 : pow(c.s, 1 - c.by), g = *gx;
    *gm = g * (1 - c.by * slope);
    *gs = (1 - c.by) * (g * (x - c.m) + 1) / c.s;
    *gx = g * slope;
}

static bool is_free(const struct constraint *c) {
    return c->lo == -INFINITY && c->hi == INFINITY;
}

static double numbers_to_x(const struct constraint *c, const double *z, double *x) {
    double sum = 0;
    if (is_free(c)) {
        memcpy(x, z, c->n_z * sizeof *x);
        return 0;
    }
    for (size_t i = 0; i < c->n_z; i++) {
        x[i] = number_x(c, z[i]);
        sum += number_log_slope(c, z[i]);
    }
    return sum;
}

static bool numbers_to_z(const struct constraint *c, const double *x, struct rng *rng, double *z) {
    bool ok = true;
    if (is_free(c)) {
        memcpy(z, x, c->n_x * sizeof *z);
        return col_finite(c->n_x, x);
    }
    for (size_t i = 0; i < c->n_x; i++) ok &= number_z(c, x[i], &z[i]);
    return ok;
}

static void numbers_pull(const struct constraint *c, const double *z, const double *x,
                         const double *gx, bool jac, double *gz) {
    if (is_free(c)) {
        memcpy(gz, gx, c->n_z * sizeof *gz);
        return;
    }
    bool positive = c->lo == 0 && c->hi == INFINITY; /* dx/dz = x */
    for (size_t i = 0; i < c->n_z; i++) {
        double bend = 1, slope = positive ? x[i] : number_slope(c, z[i], &bend);
        gz[i] = gx[i] * slope + (jac ? bend : 0);
    }
}

/* ---- ordered: y_1 = z_1, y_k = y_{k-1} + exp z_k; with an upper bound every number is
 * transformed, x_k = T(y_k), otherwise only the first, y_1 = T(z_1), and x = y. */
static bool bounds_each(const struct constraint *c) {
    return isfinite(c->hi);
}

static double ordered_to_x(const struct constraint *c, const double *z, double *x) {
    bool each = bounds_each(c);
    double y = 0, sum = 0;
    for (size_t k = 0; k < c->n_z; k++) {
        bool bound = each || k == 0;
        y = k ? y + exp(z[k]) : z[k];
        if (bound) sum += number_log_slope(c, y);
        x[k] = bound ? number_x(c, y) : y;
        if (!each) y = x[k];
        if (k) sum += z[k];
        if (k && !(x[k] > x[k - 1])) x[k] = clamp(c, nextafter(x[k - 1], INFINITY));
    }
    return sum;
}

/* Equal numbers are treated as adjacent ones. */
static bool ordered_to_z(const struct constraint *c, const double *x, struct rng *rng, double *z) {
    bool each = bounds_each(c);
    double y = 0, last = 0;
    for (size_t k = 0; k < c->n_x; k++, last = y) {
        if (!number_z(c, x[k], &y)) return false;
        if (k == 0) z[0] = y;
        if (!each) y = x[k];
        if (k && y < last) return false;
        if (k) z[k] = log(fmax(y - last, fmax(DBL_EPSILON * fabs(last), DBL_MIN)));
    }
    return true;
}

/* `back`: the derivative in y_k through y_k and all later y; gz holds y meanwhile. */
static void ordered_pull(const struct constraint *c, const double *z, const double *x,
                         const double *gx, bool jac, double *gz) {
    bool each = bounds_each(c);
    double back = 0;
    for (size_t k = 0; k < c->n_z; k++) gz[k] = k ? gz[k - 1] + exp(z[k]) : z[k];
    for (size_t k = c->n_z; k-- > 0;) {
        double bend = 0, slope = each ? number_slope(c, gz[k], &bend) : 1;
        back += gx[k] * slope + (jac ? bend : 0);
        gz[k] = k ? back * exp(z[k]) + (jac ? 1 : 0) : back;
    }
    if (each || !c->n_z) return;
    double bend, slope = number_slope(c, z[0], &bend);
    gz[0] = gz[0] * slope + (jac ? bend : 0);
}

/* ---- simplex: V has the columns (1, ..., 1, -i, 0, ..., 0) / sqrt(i (i + 1)), i = 1 .. k - 1 */
static double helmert(size_t i) {
    return 1 / sqrt((double)i * ((double)i + 1));
}

/* y = V z */
static void contrasts(const double *z, size_t n, double *y) {
    double above = 0;
    for (size_t i = n; i-- > 1;) {
        double step = z[i - 1] * helmert(i);
        y[i] = above - (double)i * step;
        above += step;
    }
    if (n) y[0] = above;
}

/* x = softmax(V z); log |dx/dz| = sum log x + log(k) / 2 */
static double simplex_to_x(const struct constraint *c, const double *z, double *x) {
    size_t n = c->n_x;
    double total, sum = 0;
    contrasts(z, n, x);
    total = logsumexp(x, n);
    for (size_t i = 0; i < n; i++) {
        sum += x[i] - total;
        x[i] = fmax(exp(x[i] - total), DBL_MIN);
    }
    return sum + 0.5 * log((double)n);
}

/* z = V' y */
static void to_contrasts(const double *g, size_t n, double *z) {
    double before = 0;
    for (size_t i = 1; i < n; i++) {
        before += g[i - 1];
        z[i - 1] = (before - (double)i * g[i]) * helmert(i);
    }
}

/* The density, not this function, rejects shares with a wrong sum. */
static bool simplex_to_z(const struct constraint *c, const double *x, struct rng *rng, double *z) {
    double *log_x = NEW_ARRAY(double, c->n_x + 1);
    bool ok = true;
    for (size_t i = 0; i < c->n_x; i++) {
        ok &= x[i] >= 0 && isfinite(x[i]);
        log_x[i] = log(fmax(x[i], DBL_MIN));
    }
    to_contrasts(log_x, c->n_x, z);
    mem_free(log_x);
    return ok;
}

/* df/dy = x (g - x'g), d log |dx/dz| / dy = 1 - k x */
static void simplex_pull(const struct constraint *c, const double *z, const double *x,
                         const double *gx, bool jac, double *gz) {
    size_t n = c->n_x;
    double *gy = NEW_ARRAY(double, n + 1), mean = 0;
    for (size_t i = 0; i < n; i++) mean += x[i] * gx[i];
    for (size_t i = 0; i < n; i++) gy[i] = x[i] * (gx[i] - mean) + (jac ? 1 - (double)n * x[i] : 0);
    to_contrasts(gy, n, gz);
    mem_free(gy);
}

/* ---- numbers that sum to 0: the first k - 1 rows of V have the determinant 1 / sqrt k */
static double zero_sum_to_x(const struct constraint *c, const double *z, double *x) {
    contrasts(z, c->n_x, x);
    return -0.5 * log((double)c->n_x);
}

static bool zero_sum_to_z(const struct constraint *c, const double *x, struct rng *rng, double *z) {
    bool ok = true;
    for (size_t i = 0; i < c->n_x; i++) ok &= isfinite(x[i]);
    to_contrasts(x, c->n_x, z);
    return ok;
}

static void zero_sum_pull(const struct constraint *c, const double *z, const double *x,
                          const double *gx, bool jac, double *gz) {
    to_contrasts(gx, c->n_x, gz);
}

/* ---- unit vector: z = r x, r chi distributed with n degrees of freedom whatever x is, so that
 * dz = r^(n-1) dr dx and log p(z) = log p(x) - r^2 / 2 - log (2^(n/2 - 1) Gamma(n / 2)) */
static double length(const double *z, size_t n) {
    double sum = 0, top = 0;
    for (size_t i = 0; i < n; i++) top = fmax(top, fabs(z[i]));
    for (size_t i = 0; i < n && top > 0; i++) sum += z[i] / top * (z[i] / top);
    return top * sqrt(sum);
}

static double sphere_to_x(const struct constraint *c, const double *z, double *x) {
    double r = length(z, c->n_z), half = 0.5 * (double)c->n_z;
    for (size_t i = 0; i < c->n_x; i++) x[i] = r > 0 ? z[i] / r : i == 0;
    return r > 0 ? -r * r / 2 - (half - 1) * M_LN2 - log_gamma(half) : -INFINITY;
}

static bool sphere_to_z(const struct constraint *c, const double *x, struct rng *rng, double *z) {
    double r = length(x, c->n_x);
    bool ok = fabs(r - 1) < 1e-6;
    for (size_t i = 0; i < c->n_z; i++) z[i] = rng_normal(rng);
    r = length(z, c->n_z) / r;
    for (size_t i = 0; i < c->n_z; i++) z[i] = r * x[i];
    return ok;
}

/* dx/dz = (1 - xx') / r */
static void sphere_pull(const struct constraint *c, const double *z, const double *x,
                        const double *gx, bool jac, double *gz) {
    double r = length(z, c->n_z), along = 0;
    for (size_t i = 0; i < c->n_x; i++) along += x[i] * gx[i];
    for (size_t i = 0; i < c->n_z; i++) gz[i] = (gx[i] - along * x[i]) / r - (jac ? z[i] : 0);
}

/* ---- the table of transforms */
static const struct transform {
    double (*to_x)(const struct constraint *c, const double *z, double *x);
    bool (*to_z)(const struct constraint *c, const double *x, struct rng *rng, double *z);
    void (*pull)(const struct constraint *c, const double *z, const double *x, const double *gx,
                 bool jacobian, double *gz);
} numbers = {numbers_to_x, numbers_to_z, numbers_pull},
  ordered = {ordered_to_x, ordered_to_z, ordered_pull},
  simplex = {simplex_to_x, simplex_to_z, simplex_pull},
  zero_sum = {zero_sum_to_x, zero_sum_to_z, zero_sum_pull},
  sphere = {sphere_to_x, sphere_to_z, sphere_pull},
  matrix = {matrix_to_x, matrix_to_z, matrix_pull};

static const struct transform *const transforms[] = {
    [SUPPORT_REAL] = &numbers,       [SUPPORT_POSITIVE] = &numbers,
    [SUPPORT_INTERVAL] = &numbers,   [SUPPORT_ORDERED] = &ordered,
    [SUPPORT_SIMPLEX] = &simplex,    [SUPPORT_ZERO_SUM] = &zero_sum,
    [SUPPORT_UNIT_VECTOR] = &sphere, [SUPPORT_CORR] = &matrix,
    [SUPPORT_CORR_FACTOR] = &matrix, [SUPPORT_COV] = &matrix,
    [SUPPORT_COV_FACTOR] = &matrix,
};

struct constraint constraint_of(const struct sp_support *s, size_t n) {
    struct constraint c = {s->kind, -INFINITY, INFINITY, n, n};
    size_t d = (size_t)rint(sqrt((double)n)); /* order of matrices */
    bool between = s->kind == SUPPORT_INTERVAL || s->kind == SUPPORT_ORDERED;
    if (s->kind >= COUNT_OF(transforms)) c.kind = SUPPORT_REAL;
    if (between || s->kind == SUPPORT_POSITIVE) c.lo = s->lo;
    if (between) c.hi = s->hi;
    if (s->kind == SUPPORT_SIMPLEX || s->kind == SUPPORT_ZERO_SUM) c.n_z = n ? n - 1 : 0;
    if (s->kind == SUPPORT_CORR || s->kind == SUPPORT_CORR_FACTOR) c.n_z = (d * d - d) / 2;
    if (s->kind == SUPPORT_COV || s->kind == SUPPORT_COV_FACTOR) c.n_z = (d * d + d) / 2;
    return c;
}

bool constraint_follows(const struct sp_support *s) {
    return s->kind == SUPPORT_INTERVAL && !s->mixed;
}

bool constraint_separates(const struct constraint *c) {
    return transforms[c->kind] == &numbers;
}

double constraint_to_x(const struct constraint *c, const double *z, double *x) {
    return transforms[c->kind]->to_x(c, z, x);
}

bool constraint_to_z(const struct constraint *c, const double *x, struct rng *rng, double *z) {
    bool ok = transforms[c->kind]->to_z(c, x, rng, z);
    for (size_t k = 0; !ok && k < c->n_z; k++) z[k] = 0.1; /* 0 is not on the sphere */
    return ok;
}

void constraint_pull(const struct constraint *c, const double *z, const double *x, const double *gx,
                     bool jacobian, double *gz) {
    transforms[c->kind]->pull(c, z, x, gx, jacobian, gz);
}
