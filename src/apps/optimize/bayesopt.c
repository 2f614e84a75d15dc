/* SPDX-License-Identifier: Apache-2.0
 * Ask and tell; see bayesopt.h. */
#include "apps/optimize/bayesopt.h"
#include "apps/optimize/bo_priv.h"
#include "apps/optimize/bo_rules.h"

#include <math.h>
#include <string.h>

/* Large is good: everything inside is a minimisation, so that number is taken with its sign turned.
 */
static double sign_of(const struct bo_output *o) {
    return o->goal.direction < 0 ? -1 : 1;
}

static void output_init(struct bo_output *o, struct bo *b, int k, const struct bo_goal *g) {
    *o = (struct bo_output){.b = b, .k = k, .kern = BO_M52, .goal = *g, .spread = 1, .given = -1};
    if (g->direction < 0) {
        o->goal.lo = -g->hi;
        o->goal.hi = -g->lo;
        o->goal.reference = -g->reference;
    }
    bo_model_init(&o->model, b->space->d, b->space->n_cat, b->fidelity, b->opt.noisy);
}

static void output_release(struct bo_output *o) {
    for (int k = 0; k < BO_KERN_COUNT; k++)
        for (int w = 0; w < BO_WARP_COUNT; w++) {
            mem_free(o->combo[k][w].theta);
            mem_free(o->combo[k][w].chain);
        }
    vec_release(&o->active);
    bo_model_release(&o->model);
    gp_path_free(o->path);
    vec_release(&o->model_u);
    vec_release(&o->model_y);
}

static void local_init(struct bo *b) {
    struct bo_local *l = &b->local;
    size_t K = (size_t)b->K;
    *l = (struct bo_local){.center = SIZE_MAX, .rho = BO_RHO_FIRST};
    l->x = mem_zalloc(sizeof(double) * ((size_t)b->D + 1)); /* saved before it is used */
    l->price = mem_zalloc(sizeof(double) * 3 * K);
    l->said = l->price + K;
    l->margin = l->said + K;
}

struct bo *bo_new_goals(const struct bo_space *space, const struct gpm_optimize_options *opt,
                        const struct bo_goal *goals, int n, uint64_t seed) {
    static const struct gpm_optimize_options defaults = {.mcmc = -1};
    struct bo *b = NEW(struct bo);
    b->space = space;
    b->opt = opt ? *opt : defaults;
    b->seed = seed;
    b->D = space->n;
    b->fidelity = bo_space_fidelity(space);
    b->K = n;
    b->alone = -1;
    b->region = (struct bo_region){.side = 0.8, .best = INFINITY};
    b->out = NEW_ARRAY(struct bo_output, (size_t)n);
    b->obj = NEW_ARRAY(int, (size_t)n);
    b->gain = mem_zalloc(sizeof(double) * 2 * (size_t)n);
    b->from = b->gain + n;
    b->ideal = mem_zalloc(sizeof(double) * 3 * (size_t)n);
    b->unit = b->ideal + n;
    b->end = b->unit + n;
    for (int k = 0; k < n; k++) {
        output_init(&b->out[k], b, k, &goals[k]);
        b->gain[k] = 1;
        if (goals[k].direction) b->obj[b->n_obj++] = k;
    }
    b->plain =
        n == 1 && goals->direction && isinf(goals->lo) && isinf(goals->hi) && !space->n_rules;
    local_init(b);
    return b;
}

struct bo *bo_new(const struct bo_space *space, const struct gpm_optimize_options *opt,
                  uint64_t seed) {
    struct bo_goal goal = {opt && opt->maximize ? -1 : 1, -INFINITY, INFINITY, NAN};
    return bo_new_goals(space, opt, &goal, 1, seed);
}

void bo_free(struct bo *b) {
    if (!b) return;
    for (size_t i = 0; i < b->points.n; i++) {
        mem_free(b->points.at[i].x);
        vec_release(&b->points.at[i].ys);
    }
    for (int k = 0; k < b->K; k++) output_release(&b->out[k]);
    mem_free(b->out);
    mem_free(b->obj);
    mem_free(b->gain);
    mem_free(b->ideal);
    vec_release(&b->points);
    vec_release(&b->pending);
    vec_release(&b->tabu);
    vec_release(&b->front);
    vec_release(&b->front_y);
    bo_feas_free(b->feas);
    mem_free(b->local.x);
    mem_free(b->local.price);
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
    struct bo_point p = {.x = NEW_ARRAY(double, 2 * D + (size_t)b->K)};
    p.u = p.x + D;
    p.y = p.u + D;
    for (int k = 0; k < b->K; k++) p.y[k] = NAN;
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

/* Mean deviations from the means: what violations are measured in. */
static void set_spreads(struct bo *b) {
    for (int k = 0; k < b->K && !b->plain; k++) {
        double mean = 0, sum = 0, n = 0;
        for (size_t i = 0; i < b->points.n; i++)
            if (b->points.at[i].count) mean += b->points.at[i].y[k], n++;
        for (size_t i = 0; i < b->points.n; i++)
            if (b->points.at[i].count) sum += fabs(b->points.at[i].y[k] - mean / n);
        b->out[k].spread = sum > 0 && isfinite(sum) ? sum / n : 1;
    }
}

void bo_tell_all(struct bo *b, const double *x, const double *given) {
    struct bo_point *p = point_at(b, x);
    bool failed = false;
    for (int k = 0; k < b->K; k++) failed = failed || !isfinite(given[k]);
    for (int k = 0; k < b->K && !failed; k++) {
        double y = sign_of(&b->out[k]) * given[k];
        p->y[k] = p->count ? p->y[k] + (y - p->y[k]) / (p->count + 1) : y;
        vec_push(&p->ys, y);
    }
    p->count += !failed;
    set_spreads(b);
    if (b->local.pending && same_point(b, x, b->local.x))
        bo_local_told(b, failed ? NULL : p->ys.at + p->ys.n - (size_t)b->K);
    drop_pending(b, p->u);
    b->told++;
    b->failed_last = failed;
    region_told(b, failed ? INFINITY : bo_violation(b, p->y) > 0 ? BO_BROKEN : bo_merit(b, p->y));
}

size_t bo_count(const struct bo *b) {
    return b->told;
}

/* ---- ask ---- */

/* The category with the most levels, all of which have one of the first points; -1 if there is no
 * category. */
static int widest_category(const struct bo *b) {
    int widest = -1, most = 2;
    for (int k = b->space->d; k < b->D; k++) {
        int n = bo_space_levels(b->space, k);
        if (n > most && n <= 30) most = n, widest = k;
    }
    return widest;
}

static int initial_points(const struct bo *b) {
    if (b->opt.initial > 0) return b->opt.initial;
    int n = b->D < 10 ? b->D + 3 : 13, widest = widest_category(b);
    int levels = widest < 0 ? 0 : bo_space_levels(b->space, widest);
    return levels > n ? levels : n;
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
    int widest = widest_category(b);
    if (widest >= 0) u[widest] = (double)(i % (size_t)bo_space_levels(b->space, widest));
    if (b->fidelity >= 0) u[b->fidelity] = i % 3 == 2 ? 1 : 0.1;
    bo_space_snap(b->space, u);
    bo_rules_repair(b->space, u);
}

double bo_any_level(const struct bo *b, struct rng *r, int k) {
    return (double)rng_below(r, (uint64_t)bo_space_levels(b->space, k));
}

void bo_uniform_point(const struct bo *b, struct rng *r, double *u) {
    for (int k = 0; k < b->space->d; k++) u[k] = rng_uniform(r);
    for (int k = b->space->d; k < b->D; k++) u[k] = bo_any_level(b, r, k);
    bo_space_snap(b->space, u);
    bo_rules_repair(b->space, u);
}

/* Anything new at all; a finite space is searched through in the end. */
static bool any_point(const struct bo *b, struct rng *r, double *u) {
    for (int tries = 0; tries < 1000; tries++) {
        bo_uniform_point(b, r, u);
        if (!bo_duplicate(b, u) && bo_rules_kept(b->space, u)) return true;
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
        if (!bo_duplicate(b, u) && bo_rules_kept(b->space, u)) return true;
    }
    return false;
}

/* Points that the active set drops teach the model nothing. With the local arm the optimum is soon
 * found and left alone; without it, four such proposals in a row mean the same. */
static void note_stuck(struct bo *b, double far) {
    b->stuck = far < 1e-3 ? b->stuck + 1 : 0;
    if (b->stuck < 4 || !b->opt.no_local || b->opt.noisy) return;
    b->stuck = 0;
    bo_make_tabu(b, b->points.at[bo_incumbent(b, true)].u);
}

/* A front has no best point to look around. */
static bool local_turn(struct bo *b) {
    return b->n_obj < 2 && !b->opt.noisy && !b->opt.no_local && b->local.hot && b->turn_local &&
           !b->local.pending;
}

/* Noisy: two of the first points and then every fourth are repetitions. Without them nothing tells
 * noise from a rough function, and the best value is the luckiest one; what else pays to be
 * repeated is (bo_worth.c). */
static bool repeat_due(const struct bo *b) {
    size_t repeated = 0, first = (size_t)initial_points(b);
    for (size_t i = 0; i < b->points.n; i++)
        if (b->points.at[i].count > 1) repeated += (size_t)b->points.at[i].count - 1;
    return b->opt.noisy && b->told >= first && repeated < 2 + (b->told - first) / 4;
}

#define PAYS 0.1 /* of the noise's standard deviation */

/* The lowest place by the model is lower than the evaluated point u: then it is evaluated instead
 * of repeating that, as what will be recommended is to be known. */
static void lower_place(struct bo *b, double low, double *u) {
    struct bo_output *o = bo_lead(b);
    double *at = NEW_ARRAY(double, (size_t)b->D);
    memcpy(at, u, (size_t)b->D * sizeof *u);
    bo_minimise_mean(b, at);
    double gain = low - bo_model_mean(&o->model, at, NULL);
    if (gain > PAYS * bo_model_noise_sd(&o->model) && !bo_duplicate(b, at))
        memcpy(u, at, (size_t)b->D * sizeof *u);
    mem_free(at);
}

/* The point to repeat: the lowest that stands alone at first, then the lowest by the model. */
static bool repeat_point(struct bo *b, double *u) {
    double low = INFINITY;
    bool early = b->told < (size_t)initial_points(b) + 4;
    struct bo_output *o = bo_lead(b);
    if (!early && bo_ensure_model(o)) return false;
    for (size_t i = 0; i < b->points.n; i++) {
        const struct bo_point *p = &b->points.at[i];
        if (!p->count || bo_duplicate(b, p->u)) continue;
        double y = bo_violation(b, p->y) > 0 ? BO_BROKEN : 0;
        if (early)
            y += p->count > 1 ? INFINITY : p->y[o->k];
        else
            y += bo_model_mean(&o->model, p->u, NULL);
        if (!(y < low)) continue;
        low = y;
        memcpy(u, p->u, (size_t)b->D * sizeof *u);
    }
    if (!early && b->plain && isfinite(low)) lower_place(b, low, u);
    return isfinite(low);
}

static bool decide(struct bo *b, struct rng *r, double *u) {
    size_t begun = b->told + b->pending.n / (size_t)b->D;
    if (begun < (size_t)initial_points(b) || bo_n_good(b) < 3) {
        b->n_initial++;
        design_point(b, b->n_initial - 1, u);
        return (!bo_duplicate(b, u) && bo_rules_kept(b->space, u)) || any_point(b, r, u);
    }
    bo_front_update(b, r);
    if (repeat_due(b) && repeat_point(b, u)) {
        b->n_global++;
        return true;
    }
    if (bo_doubt(b, u)) {
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
    double far;
    if (bo_global(b, r, u, &far)) return any_point(b, r, u);
    bo_choose_fidelity(b, u);
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
    for (int k = 0; k < b->K; k++) y[k] = sign_of(&b->out[k]) * b->points.at[i].y[k];
    return true;
}

bool bo_feasible(const struct bo *b, const double *y) {
    for (int k = 0; k < b->K; k++) {
        double v = sign_of(&b->out[k]) * y[k];
        if (!(v >= b->out[k].goal.lo && v <= b->out[k].goal.hi)) return false;
    }
    return true;
}
