/* SPDX-License-Identifier: Apache-2.0
 * The local arm's model; see bo_patch.h. */
#include "apps/optimize/bo_patch.h"
#include "apps/optimize/bo_rules.h"
#include "numeric/la/blas.h"
#include "numeric/optim/optim.h"
#include "numeric/optim/sqp.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static double kernel(int d, const double *x, const double *y, double *dot, double *se) {
    double p = 0, r2 = 0;
    for (int k = 0; k < d; k++) {
        double t = x[k] - y[k];
        p += x[k] * y[k];
        r2 += t * t;
    }
    *dot = p;
    *se = 0.3 * exp(-r2 / 8);
    return 10 + 10 * p + 3 * p * p + *se;
}

static size_t most_points(const struct bo_patch *p) {
    return (size_t)((p->d + 1) * (p->d + 2));
}

void bo_patch_init(struct bo_patch *p, struct bo *b) {
    const struct bo_point *center = &b->points.at[b->local.center];
    *p = (struct bo_patch){.b = b, .center = center->u, .y0 = center->y, .idle = bo_idle(b)};
    p->coord = NEW_ARRAY(int, (size_t)b->space->d + 1);
    for (int k = 0; k < b->space->d; k++)
        if (!bo_space_is_integer(b->space, k) && bo_space_active(b->space, p->center, k) &&
            k != b->fidelity && bo_lead(b)->model.inv_l[k] >= p->idle)
            p->coord[p->d++] = k;
    size_t d = (size_t)p->d, K = (size_t)b->K, most = most_points(p);
    p->scale = NEW_ARRAY(double, 4 * d + K * (d + 2) + most * (d + K + 1 + most));
    p->lo = p->scale + d;
    p->hi = p->lo + d;
    p->trial = p->hi + d;
    p->slope = p->trial + d;
    p->unit = p->slope + K * d;
    p->z = p->unit + K;
    p->x = p->z + K;
    p->t = p->x + most * d;
    p->row = p->t + K * most;
    p->L = p->row + most;
}

void bo_patch_release(struct bo_patch *p) {
    mem_free(p->coord);
    mem_free(p->scale);
}

/* ---- the points of the region ---- */

static void set_scales(struct bo_patch *p) {
    const double *inv_l = bo_lead(p->b)->model.inv_l;
    double mean = 0;
    for (int i = 0; i < p->d; i++) mean -= log(inv_l[p->coord[i]]) / p->d;
    for (int i = 0; i < p->d; i++) {
        double rel = exp(-log(inv_l[p->coord[i]]) - mean);
        p->scale[i] = p->b->local.rho * fmin(4, fmax(0.25, rel));
    }
}

/* Largest scaled coordinate difference; infinite when integers or categories differ that matter. */
static double distance(const struct bo_patch *p, const double *u) {
    const double *inv_l = bo_lead(p->b)->model.inv_l;
    double far = 0;
    for (int i = 0; i < p->d; i++)
        far = fmax(far, fabs(u[p->coord[i]] - p->center[p->coord[i]]) / p->scale[i]);
    for (int k = 0, i = 0; k < p->b->D; k++) {
        if (i < p->d && p->coord[i] == k)
            i++;
        else if (u[k] != p->center[k] && (k >= p->b->space->d || inv_l[k] >= p->idle))
            return INFINITY;
    }
    return far;
}

static void load_values(struct bo_patch *p, const struct bo_ranked *list) {
    for (size_t j = 0; j < p->n; j++) {
        const struct bo_point *q = &p->b->points.at[list[j].i];
        for (int i = 0; i < p->d; i++)
            p->x[j * (size_t)p->d + (size_t)i] =
                (q->u[p->coord[i]] - p->center[p->coord[i]]) / p->scale[i];
    }
    for (int k = 0; k < p->b->K; k++) {
        double sum = 0, *t = p->t + (size_t)k * p->n;
        for (size_t j = 0; j < p->n; j++) {
            t[j] = p->b->points.at[list[j].i].y[k] - p->y0[k];
            sum += t[j] * t[j];
        }
        p->unit[k] = sum > 0 ? sqrt(sum / (double)p->n) : 0;
        for (size_t j = 0; p->unit[k] > 0 && j < p->n; j++) t[j] /= p->unit[k];
    }
}

static void gather(struct bo_patch *p) {
    const struct bo *b = p->b;
    size_t most = most_points(p), m = 0;
    struct bo_ranked *list = NEW_ARRAY(struct bo_ranked, b->points.n + 1);
    set_scales(p);
    p->near = 0;
    for (size_t i = 0; i < b->points.n; i++) {
        if (!b->points.at[i].count) continue;
        double far = distance(p, b->points.at[i].u);
        if (!(far <= 4)) continue;
        p->near += far <= 2;
        list[m++] = (struct bo_ranked){far, 0, i};
    }
    qsort(list, m, sizeof *list, bo_by_key);
    p->n = m < most ? m : most;
    load_values(p, list);
    mem_free(list);
}

/* Factor and weights; the nugget grows tenfold until the factor exists. */
static bool factor(struct bo_patch *p) {
    double nugget = 1e-11, dot, se;
    size_t n = p->n, d = (size_t)p->d, pivot;
    for (int tries = 0; tries < 9; tries++, nugget *= 10) {
        for (size_t j = 0; j < n; j++)
            for (size_t i = j; i < n; i++)
                p->L[j * n + i] =
                    kernel(p->d, p->x + i * d, p->x + j * d, &dot, &se) + (i == j ? nugget : 0);
        if (la_potrf(n, p->L, n, &pivot)) continue;
        for (int k = 0; k < p->b->K; k++) {
            la_trsv(false, n, p->L, n, p->t + (size_t)k * n);
            la_trsv(true, n, p->L, n, p->t + (size_t)k * n);
        }
        return true;
    }
    return false;
}

/* In the region's coordinates: within [-1, 1] and the box. */
static void set_bounds(struct bo_patch *p) {
    for (int i = 0; i < p->d; i++) {
        double c = p->center[p->coord[i]];
        p->lo[i] = fmax(-1, -c / p->scale[i]);
        p->hi[i] = fmin(1, (1 - c) / p->scale[i]);
    }
}

bool bo_patch_load(struct bo_patch *p) {
    gather(p);
    set_bounds(p);
    return factor(p);
}

bool bo_patch_flat(const struct bo_patch *p) {
    for (int k = 0; k < p->b->K; k++)
        if (p->unit[k] > 0) return false;
    return true;
}

/* ---- what the model says ---- */

/* Numbers from..to-1 at x, in units, into z; their gradients into grad, d each. */
static void values(struct bo_patch *p, const double *x, int from, int to, double *z, double *grad) {
    size_t d = (size_t)p->d;
    memset(z, 0, (size_t)(to - from) * sizeof *z);
    if (grad) memset(grad, 0, (size_t)(to - from) * d * sizeof *grad);
    for (size_t j = 0; j < p->n; j++) {
        const double *y = p->x + j * d;
        double dot, se, k = kernel(p->d, x, y, &dot, &se);
        for (int o = from; o < to; o++) {
            double w = p->t[(size_t)o * p->n + j], *g = grad + (size_t)(o - from) * d;
            z[o - from] += w * k;
            for (size_t i = 0; grad && i < d; i++)
                g[i] += w * ((10 + 6 * dot) * y[i] - se * (x[i] - y[i]) / 4);
        }
    }
}

static double variance(const struct bo_patch *p, const double *x) {
    double dot, se, v = kernel(p->d, x, x, &dot, &se), *k = p->row;
    for (size_t j = 0; j < p->n; j++) k[j] = kernel(p->d, x, p->x + j * (size_t)p->d, &dot, &se);
    la_trsv(false, p->n, p->L, p->n, k);
    for (size_t j = 0; j < p->n; j++) v -= k[j] * k[j];
    return v;
}

static void random_in(const struct bo_patch *p, struct rng *r, double *x) {
    for (int i = 0; i < p->d; i++) x[i] = p->lo[i] + rng_uniform(r) * (p->hi[i] - p->lo[i]);
}

void bo_patch_probe(struct bo_patch *p, struct rng *r, double *x) {
    double most = -INFINITY, *t = p->trial;
    for (int i = 0; i < 40; i++) {
        random_in(p, r, t);
        double v = variance(p, t);
        if (v <= most) continue;
        most = v;
        memcpy(x, t, (size_t)p->d * sizeof *x);
    }
}

/* ---- one number, no bounds ---- */

static double mean(void *ctx, const double *x, double *grad) {
    double z;
    values(ctx, x, 0, 1, &z, grad);
    return z;
}

/* Minimum of the mean from the centre and two random starts. */
static double minimise_plain(struct bo_patch *p, struct rng *r, double *x) {
    struct optim_options opt = {60, 1000, 0, 1e-15, 0.1, 1.0, 0.1, p->lo, p->hi, NULL};
    size_t d = (size_t)p->d;
    double best = INFINITY, at_center, *t = p->trial;
    memset(t, 0, d * sizeof *t);
    at_center = mean(p, t, p->slope);
    for (int start = 0; start < 3; start++) {
        if (start == 0)
            memset(t, 0, d * sizeof *t);
        else
            random_in(p, r, t);
        double f = optim_minimise(mean, p, d, t, &opt);
        if (!(f < best)) continue;
        best = f;
        memcpy(x, t, d * sizeof *x);
    }
    return (at_center - best) * p->unit[0];
}

/* ---- bounds ---- */

struct row_of { /* c = sign (y - bound) scale */
    int k;
    double sign, bound, scale;
};

/* Row number i of the bounds; false: there are no more. */
static bool bound_row(const struct bo_patch *p, size_t i, struct row_of *out) {
    const struct bo *b = p->b;
    for (int k = 0; k < b->K; k++) {
        const struct bo_goal *g = &b->out[k].goal;
        double unit = p->unit[k] > 0 ? p->unit[k] : 1, away = b->local.margin[k];
        if (isfinite(g->hi) && i-- == 0) {
            *out = (struct row_of){k, 1, g->hi - away, 1 / unit};
            return true;
        }
        if (isfinite(g->lo) && i-- == 0) {
            *out = (struct row_of){k, -1, g->lo + away, 1 / unit};
            return true;
        }
    }
    return false;
}

static double number_at(const struct bo_patch *p, int k) {
    return p->y0[k] + p->unit[k] * p->z[k];
}

static size_t count_rows(const struct bo_patch *p) {
    struct row_of row;
    size_t m = 0;
    while (bound_row(p, m, &row)) m++;
    return m;
}

/* Known constraints, behind the bounds; they are exact. */
static bool rules(const struct bo_patch *p, const double *x, double *c, double *J) {
    const struct bo_space *s = p->b->space;
    size_t d = (size_t)p->d, D = (size_t)p->b->D, first = s->n_rules ? count_rows(p) : 0;
    double *u = NEW_ARRAY(double, 2 * D), *grad = u + D;
    bool known = true;
    memcpy(u, p->center, D * sizeof *u);
    for (size_t i = 0; i < d; i++) u[p->coord[i]] += p->scale[i] * x[i];
    for (int r = 0; r < s->n_rules && known; r++) {
        size_t q = first + (size_t)r;
        c[q] = bo_rule_value(s, r, u, grad);
        known = isfinite(c[q]);
        for (size_t i = 0; J && i < d; i++) J[q * d + i] = grad[p->coord[i]] * p->scale[i];
    }
    mem_free(u);
    return known;
}

/* The objective and the rows of the bounds, in units of their numbers. */
static bool evaluate(void *ctx, const double *x, double *f, double *c, double *gf, double *J) {
    struct bo_patch *p = ctx;
    const struct bo *b = p->b;
    size_t d = (size_t)p->d;
    values(p, x, 0, b->K, p->z, gf ? p->slope : NULL);
    *f = b->n_obj ? p->z[b->obj[0]] : 0;
    if (gf) memset(gf, 0, d * sizeof *gf);
    if (gf && b->n_obj) memcpy(gf, p->slope + (size_t)b->obj[0] * d, d * sizeof *gf);
    struct row_of row;
    for (size_t q = 0; bound_row(p, q, &row); q++) {
        c[q] = row.sign * (number_at(p, row.k) - row.bound) * row.scale;
        for (size_t i = 0; gf && i < d; i++)
            J[q * d + i] = row.sign * row.scale * p->unit[row.k] * p->slope[(size_t)row.k * d + i];
    }
    return rules(p, x, c, gf ? J : NULL);
}

/* The merit of what the model says at x. */
static double merit(struct bo_patch *p, const double *x) {
    values(p, x, 0, p->b->K, p->z, NULL);
    for (int k = 0; k < p->b->K; k++) p->b->local.said[k] = number_at(p, k);
    return bo_local_merit(p->b, p->b->local.said);
}

/* Prices of violations: above the multipliers, so that no decrease of the objective pays for one.
 */
static void set_prices(struct bo_patch *p, const double *lambda) {
    const struct bo *b = p->b;
    double *price = b->local.price, worth = 1;
    struct row_of row;
    if (b->n_obj && p->unit[b->obj[0]] > 0) worth = p->unit[b->obj[0]];
    memset(price, 0, (size_t)b->K * sizeof *price);
    for (size_t q = 0; bound_row(p, q, &row); q++)
        price[row.k] = fmax(price[row.k], worth * row.scale * fmax(1, 2 * lambda[q]));
}

static double minimise_bounded(struct bo_patch *p, struct rng *r, double *x) {
    size_t d = (size_t)p->d, m = count_rows(p) + (size_t)p->b->space->n_rules;
    double *start = NEW_ARRAY(double, d + 2 * m + 1), *lambda = start + d, *kept = lambda + m;
    struct sqp_options opt = {
        .max_iter = 60, .step_cap = 1, .tol = 1e-9, .low = p->lo, .upp = p->hi};
    struct sqp_result res, least = {INFINITY, INFINITY, 0};
    for (int i = 0; i < 2; i++) {
        memset(start, 0, d * sizeof *start);
        if (i) random_in(p, r, start);
        if (sqp_minimise(evaluate, p, d, m, start, &opt, lambda, &res)) continue;
        bool fine = res.violation <= 1e-9, was = least.violation <= 1e-9;
        if (fine != was ? was : fine ? res.f >= least.f : res.violation >= least.violation)
            continue;
        least = res;
        memcpy(x, start, d * sizeof *x);
        memcpy(kept, lambda, m * sizeof *kept);
    }
    double gain = -INFINITY;
    if (isfinite(least.violation)) {
        set_prices(p, kept);
        memset(start, 0, d * sizeof *start);
        gain = merit(p, start);
        gain -= merit(p, x);
    }
    mem_free(start);
    return gain;
}

double bo_patch_minimise(struct bo_patch *p, struct rng *r, double *x) {
    return p->b->plain ? minimise_plain(p, r, x) : minimise_bounded(p, r, x);
}
