/* SPDX-License-Identifier: Apache-2.0
 *
 * Densities of many elements in one loop, for compiled steps: what all elements share (log sd) is
 * computed once, and no element has a value or an adjoint of its own in between. Work goes in
 * pieces that stay in the first cache. */
#include "language/rows/dist/dist_cols.h"

#include "numeric/la/cols.h"
#include "numeric/la/vec_ops.h"
#include "numeric/dist/dist.h"
#include "numeric/special/special.h"
#include <math.h>

enum { PIECE = 128 };

static inline struct col piece(const struct sp_col *x, size_t at) {
    return (struct col){x->at + at * x->step, x->step};
}

/* The adjoint of elements at.. of an operand += f slope. */
static void give(const struct sp_col *x, size_t at, size_t n, double f, const double *slope) {
    if (x->adj && x->step)
        col_add(n, f, slope, x->adj + at);
    else if (x->adj)
        x->adj[0] += f * col_sum(n, slope);
}

/* One sd for all: sum log p = -sum z^2 / 2 - n (log sd + log sqrt 2 pi), z = (x - mean) / sd. */
static double normal_one_sd(size_t n, const struct sp_col *x) {
    double z[PIECE], sd = x[2].at[0], f = 1 / sd, squares = 0, size = (double)n;
    for (size_t at = 0; at < n; at += PIECE) {
        size_t k = n - at < PIECE ? n - at : PIECE;
        col_arith(COL_SUB, k, piece(&x[0], at), piece(&x[1], at), z);
        squares += col_dot(k, z, z);
        give(&x[0], at, k, -f * f, z);
        give(&x[1], at, k, f * f, z);
    }
    squares *= f * f;
    if (x[2].adj) x[2].adj[0] += (squares - size) / sd;
    return -0.5 * squares - size * (log(sd) + LOG_SQRT_2PI);
}

/* The sum of logarithms of positive numbers as those of products, where they are of medium size:
 * most of the time of densities with known errors goes to logarithms. */
static double log_product(size_t n, const double *x) {
    enum { TOGETHER = 32 };
    const double most = 1e300;
    double sum = 0;
    for (size_t at = 0; at < n; at += TOGETHER) {
        size_t k = n - at < TOGETHER ? n - at : TOGETHER;
        double all = col_product(k, x + at);
        if (all > 1 / most && all < most) {
            sum += log(all);
            continue;
        }
        for (size_t i = 0; i < k; i++) sum += log(x[at + i]);
    }
    return sum;
}

static double normal_each(size_t n, const struct sp_col *x) {
    double z[PIECE], slope[PIECE], squares = 0, logs = 0;
    for (size_t at = 0; at < n; at += PIECE) {
        size_t k = n - at < PIECE ? n - at : PIECE;
        const double *sd = x[2].at + at;
        bool ok = true;
        col_arith(COL_SUB, k, piece(&x[0], at), piece(&x[1], at), z);
        for (size_t i = 0; i < k; i++) {
            double f = 1 / sd[i];
            z[i] *= f;
            slope[i] = z[i] * f;
        }
        for (size_t i = 0; i < k; i++) ok &= sd[i] > 0;
        if (!ok) return NAN;
        squares += col_dot(k, z, z);
        logs += log_product(k, sd);
        give(&x[0], at, k, -1, slope);
        give(&x[1], at, k, 1, slope);
        for (size_t i = 0; x[2].adj && i < k; i++) x[2].adj[at + i] += (z[i] * z[i] - 1) / sd[i];
    }
    return -0.5 * squares - logs - (double)n * LOG_SQRT_2PI;
}

double cols_normal(size_t n, const struct sp_col *x, size_t n_args) {
    if (x[2].step) return normal_each(n, x);
    return x[2].at[0] > 0 ? normal_one_sd(n, x) : NAN;
}

/* log p(x) = x eta - log(1 + exp eta), x 0 or 1. With e = exp(-|eta|):  log(1 + exp eta) =
 * max(eta, 0) + log(1 + e),  logistic eta = (eta < 0 ? e : 1) / (1 + e),  d/d eta = x - logistic.
 */
double cols_logit(size_t n, const struct sp_col *x, size_t n_args) {
    const struct vec_ops *ops = vec_ops();
    double e[PIECE], one[PIECE], slope[PIECE], sum = 0;
    for (size_t at = 0; at < n; at += PIECE) {
        size_t k = n - at < PIECE ? n - at : PIECE;
        struct col v = piece(&x[0], at), eta = piece(&x[1], at);
        bool ok = true;
        for (size_t i = 0; i < k; i++) {
            e[i] = -fabs(eta.at[i * eta.step]);
            ok &= v.at[i * v.step] == 0 || v.at[i * v.step] == 1;
        }
        if (!ok) return NAN;
        ops->exp_scale(k, 1, e);
        for (size_t i = 0; i < k; i++) {
            double t = eta.at[i * eta.step], y = v.at[i * v.step];
            one[i] = 1 + e[i];
            sum += y * t - (t > 0 ? t : 0);
            slope[i] = y - (t < 0 ? e[i] : 1) / one[i];
        }
        ops->log(k, one);
        sum -= col_sum(k, one);
        give(&x[1], at, k, 1, slope);
    }
    return sum;
}

/* log p(x) = x eta - exp eta - log x!,  d/d eta = x - exp eta */
double cols_poisson_log(size_t n, const struct sp_col *x, size_t n_args) {
    const struct vec_ops *ops = vec_ops();
    double e[PIECE], slope[PIECE], sum = 0;
    for (size_t at = 0; at < n; at += PIECE) {
        size_t k = n - at < PIECE ? n - at : PIECE;
        struct col v = piece(&x[0], at), eta = piece(&x[1], at);
        for (size_t i = 0; i < k; i++) {
            double count = v.at[i * v.step];
            if (!is_count(count)) return NAN;
            e[i] = eta.at[i * eta.step];
            sum += count * e[i] - log_factorial(count);
        }
        ops->exp_scale(k, 1, e);
        sum -= col_sum(k, e);
        for (size_t i = 0; i < k; i++) slope[i] = v.at[i * v.step] - e[i];
        give(&x[1], at, k, 1, slope);
    }
    return sum;
}
