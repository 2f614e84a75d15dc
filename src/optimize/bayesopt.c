/* SPDX-License-Identifier: Apache-2.0
 * Ask and tell; see bayesopt.h. */
#include "optimize/bayesopt.h"
#include "optimize/bo_priv.h"

#include <math.h>
#include <string.h>

struct bo *bo_new(const struct bo_space *space, const struct gpm_optimize_options *opt,
                  uint64_t seed) {
    static const struct gpm_optimize_options defaults = {.mcmc = -1};
    struct bo *b = NEW(struct bo);
    b->space = space;
    b->opt = opt ? *opt : defaults;
    b->seed = seed;
    b->D = space->n;
    b->kern = BO_M52;
    b->region = (struct bo_region){.side = 0.8, .best = INFINITY};
    bo_model_init(&b->model, space->d, space->n_cat, b->opt.noisy);
    b->local = (struct bo_local){.center = SIZE_MAX, .rho = BO_RHO_FIRST};
    b->local.x = mem_zalloc(sizeof(double) * ((size_t)b->D + 1)); /* saved before it is used */
    return b;
}

void bo_free(struct bo *b) {
    if (!b) return;
    for (size_t i = 0; i < b->points.n; i++) {
        mem_free(b->points.at[i].x);
        vec_release(&b->points.at[i].ys);
    }
    for (int k = 0; k < BO_KERN_COUNT; k++)
        for (int w = 0; w < BO_WARP_COUNT; w++) {
            mem_free(b->combo[k][w].theta);
            mem_free(b->combo[k][w].chain);
        }
    vec_release(&b->points);
    vec_release(&b->pending);
    vec_release(&b->tabu);
    vec_release(&b->active);
    bo_model_release(&b->model);
    gp_path_free(b->path);
    vec_release(&b->model_u);
    vec_release(&b->model_y);
    bo_feas_free(b->feas);
    mem_free(b->local.x);
    mem_free(b);
}

/* ---- pending ---- */

static bool same_point(const struct bo *b, const double *x, const double *y) {
    return memcmp(x, y, (size_t)b->D * sizeof *x) == 0;
}

static void add_pending(struct bo *b, const double *x) {
    vec_reserve(&b->pending, b->pending.n + (size_t)b->D);
    bo_space_to_unit(b->space, x, b->pending.at + b->pending.n);
    b->pending.n += (size_t)b->D;
}

/* The last one takes its place. */
static void drop_pending(struct bo *b, const double *u) {
    size_t D = (size_t)b->D, at = 0;
    while (at < b->pending.n && !same_point(b, b->pending.at + at, u)) at += D;
    if (at == b->pending.n) return;
    b->pending.n -= D;
    memmove(b->pending.at + at, b->pending.at + b->pending.n, D * sizeof *u);
}

void bo_set_pending(struct bo *b, const double *x, size_t n) {
    bool local = b->local.pending;
    vec_clear(&b->pending);
    b->local.pending = false;
    for (; n--; x += b->D) {
        add_pending(b, x);
        if (local && same_point(b, x, b->local.x)) b->local.pending = true;
    }
}

/* ---- tell ---- */

static struct bo_point *point_at(struct bo *b, const double *x) {
    size_t i = bo_find(b, x), D = (size_t)b->D;
    if (i != SIZE_MAX) return &b->points.at[i];
    struct bo_point p = {.x = NEW_ARRAY(double, 2 * D), .y = NAN};
    p.u = p.x + D;
    memcpy(p.x, x, D * sizeof *x);
    bo_space_to_unit(b->space, x, p.u);
    vec_push(&b->points, p);
    return &vec_last(&b->points);
}

/* The trust region of many dimensions: twice as wide after 3 successes, half after d failures,
 * from the beginning below 2^-7. */
static void region_told(struct bo *b, double y) {
    struct bo_region *g = &b->region;
    if (b->space->d <= BO_MANY_DIMS) return;
    bool win = y < g->best - 1e-3 * fabs(g->best) || (isinf(g->best) && isfinite(y));
    g->best = fmin(g->best, y);
    g->wins = win ? g->wins + 1 : 0;
    g->losses = win ? 0 : g->losses + 1;
    if (g->wins >= 3) g->side = fmin(1.6, 2 * g->side), g->wins = 0;
    if (g->losses >= b->space->d) g->side /= 2, g->losses = 0;
    if (g->side < 1.0 / 128) g->side = 0.8;
}

void bo_tell(struct bo *b, const double *x, double given) {
    struct bo_point *p = point_at(b, x);
    bool failed = !isfinite(given);
    double y = failed ? INFINITY : bo_sign(b) * given;
    if (!failed) {
        p->y = p->count ? p->y + (y - p->y) / (p->count + 1) : y;
        p->count++;
        vec_push(&p->ys, y);
    }
    if (b->local.pending && same_point(b, x, b->local.x)) bo_local_told(b, y);
    drop_pending(b, p->u);
    b->told++;
    b->failed_last = failed;
    region_told(b, y);
}

size_t bo_count(const struct bo *b) {
    return b->told;
}

/* ---- ask ---- */

static int initial_points(const struct bo *b) {
    if (b->opt.initial > 0) return b->opt.initial;
    return b->D < 10 ? b->D + 3 : 13;
}

/* The additive sequence of the generalised golden ratio, shifted by the seed: phi^(D+1) = phi + 1,
 * coordinate k of point i is frac(shift_k + i phi^-(k+1)). */
static void design_point(const struct bo *b, size_t i, double *u) {
    struct rng r;
    rng_init(&r, b->seed, 1, 0);
    double phi = 1.5, a = 1;
    for (int it = 0; it < 60; it++) phi = pow(1 + phi, 1.0 / (b->D + 1));
    for (int k = 0; k < b->D; k++) {
        a /= phi;
        double t = rng_uniform(&r) + (double)(i + 1) * a;
        t -= floor(t);
        u[k] = k < b->space->d ? t : floor(t * bo_space_levels(b->space, k));
    }
    bo_space_snap(b->space, u);
}

double bo_any_level(const struct bo *b, struct rng *r, int k) {
    return (double)rng_below(r, (uint64_t)bo_space_levels(b->space, k));
}

void bo_uniform_point(const struct bo *b, struct rng *r, double *u) {
    for (int k = 0; k < b->space->d; k++) u[k] = rng_uniform(r);
    for (int k = b->space->d; k < b->D; k++) u[k] = bo_any_level(b, r, k);
    bo_space_snap(b->space, u);
}

/* Anything new at all; a finite space is searched through in the end. */
static bool any_point(const struct bo *b, struct rng *r, double *u) {
    for (int tries = 0; tries < 1000; tries++) {
        bo_uniform_point(b, r, u);
        if (!bo_duplicate(b, u)) return true;
    }
    double size = bo_space_size(b->space);
    for (double i = 0; i < size && i < 1e6; i++) {
        double rest = i;
        for (int k = 0; k < b->D; k++) {
            const struct bo_var *v = &b->space->vars[b->space->var_at[k]];
            double n = v->n_levels ? v->n_levels : v->hi - v->lo + 1, q = floor(rest / n);
            double x = rest - q * n;
            u[k] = v->n_levels ? x : n > 1 ? x / (n - 1) : 0;
            rest = q;
        }
        bo_space_snap(b->space, u);
        if (!bo_duplicate(b, u)) return true;
    }
    return false;
}

/* Distance from the best point (outside tabu regions) in length scales; far when categories differ.
 */
static double from_best(const struct bo *b, const double *u) {
    size_t inc = bo_incumbent(b, true);
    if (inc == SIZE_MAX) return INFINITY;
    return sqrt(bo_distance2(b, u, b->points.at[inc].u, b->model.inv_l));
}

/* Points that the active set drops teach the model nothing. With the local arm the optimum is soon
 * found and left alone; without it, four such proposals in a row mean the same. */
static void note_stuck(struct bo *b, double far) {
    b->stuck = far < 1e-3 ? b->stuck + 1 : 0;
    if (b->stuck < 4 || !b->opt.no_local || b->opt.noisy) return;
    b->stuck = 0;
    bo_make_tabu(b, b->points.at[bo_incumbent(b, true)].u);
}

static bool local_turn(struct bo *b) {
    return !b->opt.noisy && !b->opt.no_local && b->local.hot && b->turn_local && !b->local.pending;
}

/* Noisy: two of the first points and then every fourth are repetitions. Without them nothing tells
 * noise from a rough function, and the best value is the luckiest one. */
static bool repeat_due(const struct bo *b) {
    size_t repeated = 0, first = (size_t)initial_points(b);
    for (size_t i = 0; i < b->points.n; i++)
        if (b->points.at[i].count > 1) repeated += (size_t)b->points.at[i].count - 1;
    return b->opt.noisy && b->told >= first && repeated < 1 + (b->told - first) / 4;
}

/* The point to repeat: the lowest that stands alone at first, then the lowest by the model. */
static bool repeat_point(struct bo *b, double *u) {
    double low = INFINITY;
    bool early = b->told < (size_t)initial_points(b) + 4;
    if (!early && bo_ensure_model(b)) return false;
    for (size_t i = 0; i < b->points.n; i++) {
        const struct bo_point *p = &b->points.at[i];
        if (!p->count || bo_duplicate(b, p->u)) continue;
        double y = early ? p->count > 1 ? INFINITY : p->y : bo_model_mean(&b->model, p->u, NULL);
        if (!(y < low)) continue;
        low = y;
        memcpy(u, p->u, (size_t)b->D * sizeof *u);
    }
    return isfinite(low);
}

static bool decide(struct bo *b, struct rng *r, double *u) {
    size_t begun = b->told + b->pending.n / (size_t)b->D;
    if (begun < (size_t)initial_points(b) || bo_n_good(b) < 3) {
        b->n_initial++;
        design_point(b, b->n_initial - 1, u);
        return !bo_duplicate(b, u) || any_point(b, r, u);
    }
    if (repeat_due(b) && repeat_point(b, u)) {
        b->n_global++;
        return true;
    }
    if (local_turn(b) && bo_local_ask(b, r, u)) {
        b->n_local++;
        b->local.run++;
        b->turn_local = false;
        return true;
    }
    b->n_global++;
    b->turn_local = true;
    b->local.run = 0;
    if (bo_global(b, r, u)) return any_point(b, r, u);
    double far = from_best(b, u);
    b->local.hot = far < 0.25;
    note_stuck(b, far);
    return true;
}

enum gpm_status bo_ask(struct bo *b, double *x) {
    struct rng r;
    double *u = NEW_ARRAY(double, (size_t)b->D);
    rng_init(&r, b->seed, 2, (uint32_t)b->asks);
    b->asks++;
    bool before = b->local.pending, found = decide(b, &r, u);
    if (found) {
        bo_space_from_unit(b->space, u, x);
        if (b->local.pending && !before) memcpy(b->local.x, x, (size_t)b->D * sizeof *x);
        add_pending(b, x);
    }
    mem_free(u);
    return found ? GPM_OK : GPM_E_LIMIT;
}

/* ---- answers ---- */

bool bo_best(const struct bo *b, double *x, double *y) {
    size_t i = bo_incumbent(b, false);
    if (i == SIZE_MAX) return false;
    if (x) memcpy(x, b->points.at[i].x, (size_t)b->D * sizeof *x);
    *y = bo_sign(b) * b->points.at[i].y;
    return true;
}
