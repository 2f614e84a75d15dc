/* SPDX-License-Identifier: Apache-2.0
 * The local arm: a trust region around the best point with a small Gaussian process whose kernel is
 * a Bayesian quadratic plus a smooth remainder,
 *
 *   k(x,y) = 10 + 10 x.y + 3 (x.y)^2 + 0.3 exp(-|x-y|^2/8),   nugget 1e-11,
 *
 * in coordinates divided by the radius rho. Outputs are taken relative to the best and scaled by
 * their local spread, so precision is relative to the region: it converges to the last bits of y.
 * A converged optimum becomes tabu for both arms. Integers and categories stay fixed.
 */
#include "la/blas.h"
#include "la/mat.h"
#include "la/optim.h"
#include "optimize/bo_priv.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define RHO_MAX 0.3
#define RHO_MIN 1e-8

struct patch {     /* the local model */
    int d;         /* coordinates that move */
    int *coord;    /* their places in u */
    double *scale; /* rho * l_j/geomean l */
    double *center;
    size_t n, near; /* points used; of them within 2 rho */
    double *x;      /* n x d */
    double *t;      /* outputs, then weights; behind them a row */
    double *L;
    double unit;                     /* y per unit of t */
    double *lo, *hi, *trial, *slope; /* the box; a point of it, and the gradient there */
};

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

/* ---- the points of the region ---- */

static void set_scales(struct bo *b, struct patch *p) {
    double mean = 0;
    for (int i = 0; i < p->d; i++) mean -= log(b->model.inv_l[p->coord[i]]) / p->d;
    for (int i = 0; i < p->d; i++) {
        double rel = exp(-log(b->model.inv_l[p->coord[i]]) - mean);
        p->scale[i] = b->local.rho * fmin(4, fmax(0.25, rel));
    }
}

/* Largest scaled coordinate difference; infinite when integers or categories differ. */
static double distance(const struct bo *b, const struct patch *p, const double *u) {
    double far = 0;
    for (int i = 0; i < p->d; i++)
        far = fmax(far, fabs(u[p->coord[i]] - p->center[p->coord[i]]) / p->scale[i]);
    for (int k = 0, i = 0; k < b->D; k++) {
        if (i < p->d && p->coord[i] == k)
            i++;
        else if (u[k] != p->center[k])
            return INFINITY;
    }
    return far;
}

static void load_outputs(struct bo *b, struct patch *p, const struct bo_ranked *list) {
    double y0 = b->points.at[b->local.center].y, sum = 0;
    for (size_t j = 0; j < p->n; j++) {
        const struct bo_point *q = &b->points.at[list[j].i];
        for (int i = 0; i < p->d; i++)
            p->x[j * (size_t)p->d + (size_t)i] =
                (q->u[p->coord[i]] - p->center[p->coord[i]]) / p->scale[i];
        p->t[j] = q->y - y0;
        sum += p->t[j] * p->t[j];
    }
    p->unit = sum > 0 ? sqrt(sum / (double)p->n) : 0;
    for (size_t j = 0; p->unit > 0 && j < p->n; j++) p->t[j] /= p->unit;
}

static size_t most_points(const struct patch *p) {
    return (size_t)((p->d + 1) * (p->d + 2));
}

static void gather(struct bo *b, struct patch *p) {
    size_t most = most_points(p), m = 0;
    struct bo_ranked *list = NEW_ARRAY(struct bo_ranked, b->points.n + 1);
    set_scales(b, p);
    p->near = 0;
    for (size_t i = 0; i < b->points.n; i++) {
        if (!b->points.at[i].count) continue;
        double far = distance(b, p, b->points.at[i].u);
        if (!(far <= 4)) continue;
        p->near += far <= 2;
        list[m++] = (struct bo_ranked){far, i};
    }
    qsort(list, m, sizeof *list, bo_by_key);
    p->n = m < most ? m : most;
    load_outputs(b, p, list);
    mem_free(list);
}

/* Factor and weights; the nugget grows tenfold until the factor exists. */
static bool factor(struct patch *p) {
    double nugget = 1e-11, dot, se;
    size_t n = p->n, d = (size_t)p->d, pivot;
    for (int tries = 0; tries < 9; tries++, nugget *= 10) {
        for (size_t j = 0; j < n; j++)
            for (size_t i = j; i < n; i++)
                p->L[j * n + i] =
                    kernel(p->d, p->x + i * d, p->x + j * d, &dot, &se) + (i == j ? nugget : 0);
        if (la_potrf(n, p->L, n, &pivot)) continue;
        la_trsv(false, n, p->L, n, p->t);
        la_trsv(true, n, p->L, n, p->t);
        return true;
    }
    return false;
}

static double mean(void *ctx, const double *x, double *grad) {
    const struct patch *p = ctx;
    double f = 0;
    for (int k = 0; k < p->d; k++) grad[k] = 0;
    for (size_t j = 0; j < p->n; j++) {
        const double *y = p->x + j * (size_t)p->d;
        double dot, se, w = p->t[j];
        f += w * kernel(p->d, x, y, &dot, &se);
        for (int k = 0; k < p->d; k++)
            grad[k] += w * ((10 + 6 * dot) * y[k] - se * (x[k] - y[k]) / 4);
    }
    return f;
}

static double variance(const struct patch *p, const double *x) {
    double dot, se, v = kernel(p->d, x, x, &dot, &se), *k = p->t + p->n;
    for (size_t j = 0; j < p->n; j++) k[j] = kernel(p->d, x, p->x + j * (size_t)p->d, &dot, &se);
    la_trsv(false, p->n, p->L, p->n, k);
    for (size_t j = 0; j < p->n; j++) v -= k[j] * k[j];
    return v;
}

/* ---- proposals, in patch coordinates within [-1, 1] and the box ---- */

static void set_bounds(struct patch *p) {
    for (int i = 0; i < p->d; i++) {
        double c = p->center[p->coord[i]];
        p->lo[i] = fmax(-1, -c / p->scale[i]);
        p->hi[i] = fmin(1, (1 - c) / p->scale[i]);
    }
}

static void random_in(const struct patch *p, struct rng *r, double *x) {
    for (int i = 0; i < p->d; i++) x[i] = p->lo[i] + rng_uniform(r) * (p->hi[i] - p->lo[i]);
}

/* The point of which least is known. */
static void probe(const struct patch *p, struct rng *r, double *x) {
    double most = -INFINITY, *t = p->trial;
    for (int i = 0; i < 40; i++) {
        random_in(p, r, t);
        double v = variance(p, t);
        if (v <= most) continue;
        most = v;
        memcpy(x, t, (size_t)p->d * sizeof *x);
    }
}

/* Minimum of the mean from the centre and two random starts; returns the predicted decrease. */
static double minimise(struct patch *p, struct rng *r, double *x) {
    struct optim_options opt = {60, 1000, 0, 1e-15, 0.1, 1.0, 0.1, p->lo, p->hi};
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
    return (at_center - best) * p->unit;
}

void bo_make_tabu(struct bo *b, const double *u) {
    for (int k = 0; k < b->D; k++) vec_push(&b->tabu, u[k]);
    for (int k = 0; k < b->space->d; k++)
        vec_push(&b->tabu, 0.4 * fmin(0.4, fmax(0.1, 1 / b->model.inv_l[k])));
    b->local.center = SIZE_MAX;
    b->local.hot = false;
}

/* The centre follows the best point; a move from outside the region opens it again. */
static bool recenter(struct bo *b) {
    struct bo_local *l = &b->local;
    size_t best = bo_incumbent(b, true);
    if (best == SIZE_MAX) return false;
    if (best == l->center) return true;
    double far = INFINITY;
    if (l->center != SIZE_MAX) {
        far = 0;
        for (int k = 0; k < b->D; k++)
            far = fmax(far, fabs(b->points.at[best].u[k] - b->points.at[l->center].u[k]));
    }
    if (far > 4 * l->rho) l->rho = fmin(BO_RHO_FIRST, far);
    l->center = best;
    return true;
}

static void patch_init(struct patch *p, struct bo *b) {
    *p = (struct patch){0};
    p->coord = NEW_ARRAY(int, (size_t)b->space->d + 1);
    for (int k = 0; k < b->space->d; k++)
        if (!bo_space_is_integer(b->space, k)) p->coord[p->d++] = k;
    size_t d = (size_t)p->d, most = most_points(p);
    p->scale = NEW_ARRAY(double, 5 * d + most * (d + 2 + most));
    p->lo = p->scale + d;
    p->hi = p->lo + d;
    p->trial = p->hi + d;
    p->x = p->trial + d;
    p->t = p->x + most * d;
    p->L = p->t + 2 * most;
    p->slope = p->L + most * most;
}

/* One look at the region: true with x set, or false after shrinking it. */
static bool propose(struct bo *b, struct patch *p, struct rng *r, double *x) {
    struct bo_local *l = &b->local;
    size_t d = (size_t)p->d;
    gather(b, p);
    set_bounds(p);
    l->probing = p->near < d + 1 || p->unit == 0;
    if (!factor(p)) {
        l->rho /= 10;
        return false;
    }
    if (l->probing) {
        if (p->near > 2 * (d + 1)) { /* flat: every value is the same */
            l->rho = 0;
            return false;
        }
        probe(p, r, x);
        l->size = mat_max_abs(x, (size_t)p->d);
        return true;
    }
    l->n_used = p->n;
    l->predicted = minimise(p, r, x);
    l->size = mat_max_abs(x, (size_t)p->d);
    double y0 = b->points.at[l->center].y;
    if (l->predicted > 1e-16 * (1 + fabs(y0)) && l->size >= 1e-3) return true;
    l->rho /= 10;
    return false;
}

static bool exactly_known(const struct bo *b, const double *u) {
    double *x = NEW_ARRAY(double, (size_t)b->D);
    bo_space_from_unit(b->space, u, x);
    bool known = bo_find(b, x) != SIZE_MAX;
    mem_free(x);
    return known;
}

bool bo_local_ask(struct bo *b, struct rng *r, double *u) {
    struct bo_local *l = &b->local;
    struct patch p;
    bool found = false;
    if (!recenter(b)) return false;
    patch_init(&p, b);
    p.center = b->points.at[l->center].u;
    double *x = NEW_ARRAY(double, (size_t)p.d + 1);
    while (!found && p.d > 0 && p.d <= BO_MANY_DIMS) {
        if (l->rho < RHO_MIN) {
            bo_make_tabu(b, p.center);
            break;
        }
        if (!propose(b, &p, r, x)) continue;
        memcpy(u, p.center, (size_t)b->D * sizeof *u);
        for (int i = 0; i < p.d; i++)
            u[p.coord[i]] = fmin(1, fmax(0, u[p.coord[i]] + p.scale[i] * x[i]));
        found = !exactly_known(b, u) && !bo_in_tabu(b, u);
        if (!found) l->rho /= 10;
    }
    if (found) {
        l->pending = true;
        l->y0 = b->points.at[l->center].y;
    }
    mem_free(x);
    mem_free(p.coord);
    mem_free(p.scale);
    return found;
}

/* A bad step of a model with too few points for a quadratic says little about the region: its point
 * improves the model, and shrinking would throw others away. At most three times in a row. */
static bool patient(const struct bo *b) {
    const struct bo_local *l = &b->local;
    size_t d = (size_t)b->space->d;
    return l->misses < 3 && 3 * l->n_used < 2 * (d + 1) * (d + 2);
}

/* ratio = actual / predicted decrease: widen when the model is right at the border, shrink when it
 * is wrong, and when it is right well inside (the quadratic phase). A step that went well is
 * followed by another local one, at most three in a row. */
void bo_local_told(struct bo *b, double y) {
    struct bo_local *l = &b->local;
    l->pending = false;
    if (l->probing) return;
    double ratio = (l->y0 - y) / l->predicted;
    if (ratio < 0.1 && patient(b)) {
        l->misses++;
        return;
    }
    l->misses = 0;
    if (ratio > 0.1 && l->run < 3) b->turn_local = true;
    if (ratio > 0.7 && l->size > 0.99)
        l->rho = fmin(RHO_MAX, 2 * l->rho);
    else if (ratio < 0.1 || (ratio > 0.5 && l->size < 0.5))
        l->rho /= 2;
}
