/* SPDX-License-Identifier: Apache-2.0
 * The global decision: one draw of the function, log expected improvement or a confidence bound,
 * minimised over the box from the best of a few hundred candidates. */
#include "numeric/optim/optim.h"
#include "numeric/special/special.h"
#include "apps/optimize/bo_priv.h"
#include "apps/optimize/bo_rules.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* log of E max(0, best - f), f ~ N(mean, var), stable for any argument:
 * u = (best - mean)/s; h(u) = phi + u Phi; log h = -u^2/2 - log sqrt(2 pi) + log(1 + u c),
 * c = sqrt(pi/2) erfcx(-u/sqrt 2); below -25 by 1 + u c ~ 1/u^2 - 3/u^4 + 15/u^6.
 * Derivatives: dlogEI/dmean = -Phi/(s h), dlogEI/dvar = phi/(2 s^2 h). */
double bo_log_ei(double best, double mean, double var, double *d_mean, double *d_var) {
    double s = sqrt(var), u = (best - mean) / s, log_h, phi_h, Phi_h;
    if (u > -1) {
        double phi = exp(-0.5 * u * u - LOG_SQRT_2PI), Phi = 0.5 * erfc(-u * M_SQRT1_2);
        double h = phi + u * Phi;
        log_h = log(h);
        phi_h = phi / h, Phi_h = Phi / h;
    } else {
        double v = 1 / (u * u), t, c;
        if (u > -25) {
            c = sqrt(M_PI / 2) * erfcx(-u * M_SQRT1_2);
            t = 1 + u * c;
        } else {
            t = v * (1 - v * (3 - 15 * v));
            c = (t - 1) / u;
        }
        log_h = -0.5 * u * u - LOG_SQRT_2PI + log(t);
        phi_h = 1 / t, Phi_h = c / t;
    }
    *d_mean = -Phi_h / s;
    *d_var = phi_h / (2 * var);
    return log_h + log(s);
}

#define BOUND_SDS 2.0 /* the lower bound is so many standard deviations below the mean */

enum kind { PATH, LOG_EI, BOUND, MEAN, DRAWS }; /* the last: all numbers drawn (bo_draw.c) */

struct acq {
    struct bo *b;
    enum kind kind;
    double best;
    const double *cats;  /* point whose categories are in force */
    double *grad, *full; /* scratch: a gradient, a point; categories have places in them */
    double *lo, *hi;     /* where to look: the whole box, or the trust region */
    bool region;
    double *move; /* owned; d probabilities that a candidate leaves the best point's coordinate */
    double first; /* squared distance of the first draw's minimum from the best point */
};

static double from_moments(const struct acq *a, double mean, double var, double *dm, double *dv) {
    if (a->kind == LOG_EI) {
        double v = -bo_log_ei(a->best, mean, var, dm, dv);
        *dm = -*dm, *dv = -*dv;
        return v;
    }
    double sd = sqrt(var);
    *dm = 1, *dv = -BOUND_SDS / (2 * sd);
    return mean - BOUND_SDS * sd;
}

/* The function to minimise, at the numeric coordinates x with the categories in force. */
static double acq_value(void *ctx, const double *x, double *grad) {
    struct acq *a = ctx;
    struct bo *b = a->b;
    struct bo_output *o = bo_lead(b);
    memcpy(a->full, x, (size_t)b->space->d * sizeof *x);
    for (int k = b->space->d; k < b->D; k++) a->full[k] = a->cats[k];
    double mean, var, dm, dv, v, *full = grad ? a->grad : NULL;
    if (a->kind == PATH) {
        if (gp_path_eval(o->path, a->full, 1, &v, full)) return INFINITY;
    } else if (a->kind == MEAN) {
        v = bo_model_mean(&o->model, a->full, full);
    } else {
        bo_model_predict(&o->model, a->full, &mean, &var);
        v = from_moments(a, mean, var, &dm, &dv);
        if (grad) bo_model_slope(&o->model, dm, dv, full);
    }
    if (grad) memcpy(grad, full, (size_t)b->space->d * sizeof *grad);
    return v;
}

/* What failures say about a point, added to its value: outside the drawn region nothing goes. */
static double penalty(const struct acq *a, const double *u) {
    struct bo *b = a->b;
    if (bo_in_tabu(b, u) || !bo_rules_kept(b->space, u)) return INFINITY;
    if (!b->feas || a->kind == MEAN) return 0; /* the mean knows nothing of drawn regions */
    if (a->kind == LOG_EI) return -bo_feas_log_prob(b, u);
    return bo_feas_path(b, u) > 0 ? 0 : INFINITY;
}

static double value_at(struct acq *a, const double *u) {
    a->cats = u;
    double p = penalty(a, u);
    if (isinf(p)) return p;
    return p + (a->kind == DRAWS ? bo_draw_value(a->b, u) : acq_value(a, u, NULL));
}

/* ---- candidates ---- */

#define FEW_MOVE  20.0 /* so many of the coordinates of a trust region are perturbed, */
#define IDLE_MOVE 3.0  /* and of those that do not seem to matter */

static void acq_init(struct acq *a, struct bo *b, enum kind kind, const double *best) {
    int d = b->space->d;
    size_t D = (size_t)b->D;
    double log_mean = 0, idle = bo_idle(b);
    const double *inv_l = bo_lead(b)->model.inv_l;
    int matter = 0;
    for (int k = 0; k < d; k++) matter += inv_l[k] >= idle;
    *a = (struct acq){.b = b, .kind = kind, .region = best && matter > BO_MANY_DIMS};
    a->move = NEW_ARRAY(double, (size_t)d + 1);
    for (int k = 0; k < d; k++)
        a->move[k] = a->region ? FEW_MOVE / d : inv_l[k] >= idle || !best ? 1 : IDLE_MOVE / d;
    a->grad = NEW_ARRAY(double, 4 * D + 2);
    a->full = a->grad + D;
    a->lo = a->full + D;
    a->hi = a->lo + D;
    for (int k = 0; k < d; k++) log_mean -= log(inv_l[k]) / d;
    for (int k = 0; k < d; k++) {
        double half = 0.5 * b->region.side * exp(-log(inv_l[k]) - log_mean);
        a->lo[k] = a->region ? fmax(0, best[k] - half) : 0;
        a->hi[k] = a->region ? fmin(1, best[k] + half) : 1;
    }
    if (b->fidelity >= 0) a->lo[b->fidelity] = a->hi[b->fidelity] = 1;
}

static void acq_release(struct acq *a) {
    mem_free(a->grad);
    mem_free(a->move);
}

/* Every third one (EDGES) has half of its coordinates at the ends: many minima of draws lie there,
 * and few descents from inside get to the right one. Of exact values only: under noise sharp minima
 * inside were then told worse. */
#define EDGES 0.3

static void random_point(const struct acq *a, const double *best, struct rng *r, double *u) {
    const struct bo *b = a->b;
    bool any = false, edges = !b->opt.noisy && rng_uniform(r) < EDGES;
    for (int k = 0; k < b->space->d; k++) {
        bool move = a->move[k] >= 1 || rng_uniform(r) < a->move[k];
        double t = rng_uniform(r);
        if (edges) t = t < 0.25 ? 0 : t < 0.5 ? 1 : 2 * t - 1;
        any = any || move;
        u[k] = move ? a->lo[k] + t * (a->hi[k] - a->lo[k]) : best[k];
    }
    if (!any && b->space->d) {
        int k = (int)rng_below(r, (uint64_t)b->space->d);
        u[k] = a->lo[k] + rng_uniform(r) * (a->hi[k] - a->lo[k]);
    }
    for (int k = b->space->d; k < b->D; k++) u[k] = bo_any_level(b, r, k);
}

/* Around a good point: scales 10^-0.5 .. 10^-3.5 of the length scales, all coordinates or some. */
static void nearby_point(const struct acq *a, const double *center, struct rng *r, double *u) {
    const struct bo *b = a->b;
    double scale = pow(10, -0.5 - 3 * rng_uniform(r)), share = rng_uniform(r) < 0.5 ? 1 : 0.4;
    for (int k = 0; k < b->space->d; k++) {
        double moves = a->move[k] < 1 ? a->move[k] : share;
        u[k] = center[k];
        if (moves < 1 && rng_uniform(r) >= moves) continue;
        double l = fmin(1, 1 / bo_lead(b)->model.inv_l[k]);
        u[k] = fmin(a->hi[k], fmax(a->lo[k], center[k] + scale * l * rng_normal(r)));
    }
    for (int k = b->space->d; k < b->D; k++)
        u[k] = rng_uniform(r) < 0.3 ? bo_any_level(b, r, k) : center[k];
}

#define N_BEST  5
#define N_START 4 /* at most */

/* Half of them anywhere, half around the N_BEST best points outside tabu regions (the active set is
 * sorted by value), every other one of these around the very best. */
static void make_candidates(const struct acq *a, struct rng *r, double *cand, int count) {
    const struct bo *b = a->b;
    const double *best[N_BEST] = {NULL};
    int n = 0;
    const struct bo_output *o = bo_lead(b);
    for (size_t i = 0; i < o->active.n && n < N_BEST; i++) {
        const double *u = b->points.at[o->active.at[i]].u;
        if (!bo_in_tabu(b, u)) best[n++] = u;
    }
    for (int i = 0; i < count; i++) {
        double *u = cand + (size_t)i * (size_t)b->D;
        if (i < count / 2 || !n)
            random_point(a, best[0], r, u);
        else
            nearby_point(a, best[i % 2 ? 0 : rng_below(r, (uint64_t)n)], r, u);
        if (b->fidelity >= 0) u[b->fidelity] = 1;
        bo_space_snap(b->space, u);
        bo_rules_repair(b->space, u);
    }
}

/* The candidates of a decision, with what is known of each. */
struct candidates {
    int count, outside;           /* the last `outside` are points that violate bounds */
    double *cand, *value, *apart; /* D coordinates, value, penalty of each; one block */
    double *z, *mean;             /* draws: K values each, and the means beneath; one block */
};

/* By how much the numbers y break their bounds, in units of the models, summed. */
static double broken_by(const struct bo *b, const double *y) {
    double sum = 0;
    for (int k = 0; k < b->K; k++) {
        const struct bo_output *o = &b->out[k];
        if (y[k] > o->goal.hi) sum += bo_to_z(o, y[k]) - bo_to_z(o, o->goal.hi);
        if (y[k] < o->goal.lo) sum += bo_to_z(o, o->goal.lo) - bo_to_z(o, y[k]);
    }
    return sum;
}

#define OUTSIDE 2 /* at most */

/* Points that would be better than the best if they did not break bounds, and that break them by
 * little: the way back inside is short, and no candidate inside may lie near. The one that breaks
 * them least, and any one of those that nothing is better than in both value and violation. Returns
 * how many there are, their coordinates in u. */
static int points_outside(const struct bo *b, struct rng *r, double *u) {
    size_t inside = bo_incumbent(b, false), D = (size_t)b->D, m = 0, kept = 0;
    if (b->plain || b->n_obj != 1 || inside == SIZE_MAX) return 0;
    double best = bo_violation(b, b->points.at[inside].y) > 0 ? INFINITY
                                                              : bo_merit(b, b->points.at[inside].y);
    struct bo_ranked *list = NEW_ARRAY(struct bo_ranked, b->points.n + 1);
    for (size_t i = 0; i < b->points.n; i++) {
        const struct bo_point *p = &b->points.at[i];
        if (!p->count || !(bo_merit(b, p->y) < best) || !bo_is_full(b, p->u)) continue;
        if (bo_violation(b, p->y) > 0 && !bo_in_tabu(b, p->u))
            list[m++] = (struct bo_ranked){broken_by(b, p->y), bo_merit(b, p->y), i};
    }
    qsort(list, m, sizeof *list, bo_by_key);
    for (size_t i = 0; i < m; i++) /* the front of both */
        if (!kept || list[i].second < list[kept - 1].second) list[kept++] = list[i];
    if (kept) memcpy(u, b->points.at[list[0].i].u, D * sizeof *u);
    if (kept > 1) {
        size_t other = 1 + (size_t)rng_below(r, kept - 1);
        memcpy(u + D, b->points.at[list[other].i].u, D * sizeof *u);
    }
    mem_free(list);
    return kept > 1 ? 2 : (int)kept;
}

static void pool_init(struct candidates *p, struct acq *a, struct rng *r) {
    struct bo *b = a->b;
    bool draws = a->kind == PATH || a->kind == DRAWS;
    size_t D = (size_t)b->D;
    p->count = b->opt.noisy ? 400 : 200; /* noisy: draws alone decide */
    if (a->kind == DRAWS) p->count = (int)fmin(p->count, fmax(40, bo_effort(b).candidates / b->K));
    size_t n = (size_t)p->count + OUTSIDE, K = draws ? (size_t)b->K : 1;
    p->cand = NEW_ARRAY(double, n *(D + 2));
    p->value = p->cand + n * D;
    p->apart = p->value + n;
    p->z = NEW_ARRAY(double, 2 * n * K);
    p->mean = p->z + n * K;
    make_candidates(a, r, p->cand, p->count);
    p->outside = a->kind == DRAWS ? points_outside(b, r, p->cand + (size_t)p->count * D) : 0;
    p->count += p->outside;
    n = (size_t)p->count;
    for (size_t i = 0; i < n; i++) p->apart[i] = penalty(a, p->cand + i * D);
    if (draws)
        bo_draw_many(b, p->cand, n, p->z, p->mean);
    else
        bo_model_predict_many(&bo_lead(b)->model, p->cand, n, p->mean, p->z);
}

static void pool_release(struct candidates *p) {
    mem_free(p->cand);
    mem_free(p->z);
}

/* Values of the candidates; of draws with `wider` times their spread around the means. */
static void pool_score(const struct candidates *p, struct acq *a, double wider) {
    size_t K = (size_t)a->b->K;
    double *z = NEW_ARRAY(double, K), dm, dv;
    for (size_t i = 0; i < (size_t)p->count; i++) {
        if (a->kind != PATH && a->kind != DRAWS) {
            p->value[i] = p->apart[i] + from_moments(a, p->mean[i], p->z[i], &dm, &dv);
            continue;
        }
        for (size_t k = 0; k < K; k++) {
            double mean = p->mean[i * K + k];
            z[k] = mean + wider * (p->z[i * K + k] - mean);
        }
        p->value[i] = isinf(p->apart[i]) ? p->apart[i] : p->apart[i] + bo_draw_judge(a->b, z);
    }
    mem_free(z);
}

/* ---- refinement ---- */

/* The next neighbour of coordinate k: another level, a whole number by a step of one, a change of
 * places in an order. i: how many there were before. False: there are no more. */
static bool neighbour(const struct bo *b, double *u, int k, int i) {
    int levels = bo_space_levels(b->space, k), other = bo_space_partner(b->space, k, k + 1);
    if (levels) {
        if (i >= levels) return false;
        u[k] = i;
        bo_space_snap(b->space, u); /* other variables may matter now */
        return true;
    }
    if (bo_space_partner(b->space, k, 0) >= 0) {
        for (; other >= 0 && i > 0; i--) other = bo_space_partner(b->space, k, other + 1);
        if (other < 0) return false;
        double t = u[k];
        u[k] = u[other];
        u[other] = t;
        return true;
    }
    if (!bo_space_is_integer(b->space, k) || i > 1) return false;
    (void)bo_space_step(b->space, u, k, i ? 1 : -1); /* at the border it stays, and is no gain */
    return true;
}

/* Neighbour after neighbour, as long as that helps. */
static double discrete_search(struct acq *a, double *u, double value) {
    struct bo *b = a->b;
    double *t = NEW_ARRAY(double, (size_t)b->D);
    bool better = true;
    for (int sweep = 0; better && sweep < 8; sweep++) {
        better = false;
        for (int k = 0; k < b->D; k++) {
            memcpy(t, u, (size_t)b->D * sizeof *t);
            for (int i = 0; neighbour(b, t, k, i); i++, memcpy(t, u, (size_t)b->D * sizeof *t)) {
                double v = value_at(a, t);
                if (!(v < value) || bo_duplicate(b, t)) continue;
                value = v;
                memcpy(u, t, (size_t)b->D * sizeof *t);
                better = true;
            }
        }
    }
    mem_free(t);
    return value;
}

/* Gradient descent on the relaxed problem from u, then back to the grid. Falls back to the start
 * when the result is excluded. */
static double refine(struct acq *a, double *u, double value) {
    struct bo *b = a->b;
    size_t d = (size_t)b->space->d;
    double *x = NEW_ARRAY(double, (size_t)b->D + 1);
    double f_tol = a->kind == LOG_EI ? 1e-4 : 1e-7;
    struct optim_options opt = {30, 1000, 0, f_tol, 0.02, 0.2, 0.1, a->lo, a->hi, NULL};
    memcpy(x, u, (size_t)b->D * sizeof *x);
    a->cats = u;
    if (a->kind == DRAWS)
        bo_draw_refine(b, x, a->lo, a->hi);
    else if (d)
        optim_minimise(acq_value, a, d, x, &opt);
    bo_space_snap(b->space, x);
    double v = value_at(a, x);
    if (v < value) {
        value = v;
        memcpy(u, x, (size_t)b->D * sizeof *x);
    }
    mem_free(x);
    return discrete_search(a, u, value);
}

/* Indices of the N_START smallest values, in order. */
static int pick_starts(const double *value, int count, int *start) {
    int n = 0;
    for (int i = 0; i < count; i++) {
        if (!isfinite(value[i])) continue;
        int at = n < N_START ? n++ : value[i] < value[start[N_START - 1]] ? N_START - 1 : -1;
        if (at < 0) continue;
        for (; at > 0 && value[start[at - 1]] > value[i]; at--) start[at] = start[at - 1];
        start[at] = i;
    }
    return n;
}

/* The best of the `most` best candidates, refined, that is not a duplicate; otherwise the best
 * plain candidate that is not. */
static bool search(struct acq *a, const struct candidates *p, int most, double *u, double *least) {
    struct bo *b = a->b;
    int start[N_START + OUTSIDE];
    size_t D = (size_t)b->D;
    double best = INFINITY, *c = NEW_ARRAY(double, D);
    bool found = false;
    for (int round = 0, n; !found && (n = pick_starts(p->value, p->count, start)) > 0; round++) {
        if (n > most) n = most;
        for (int i = 0; round == 0 && i < p->outside; i++) start[n++] = p->count - 1 - i;
        for (int i = 0; i < n; i++) {
            double v = p->value[start[i]];
            memcpy(c, p->cand + (size_t)start[i] * D, D * sizeof *c);
            if (round == 0) v = refine(a, c, v);
            p->value[start[i]] = INFINITY; /* had its turn */
            if (!(v < best) || bo_duplicate(b, c)) continue;
            best = v;
            memcpy(u, c, D * sizeof *u);
            found = true;
        }
    }
    mem_free(c);
    *least = best;
    return found;
}

/* ---- the decision ---- */

/* Pending points at their posterior means: then EI does not send two workers to one place. */
static void believe_pending(struct bo *b) {
    struct bo_output *o = bo_lead(b);
    for (size_t i = 0; i < b->pending.n; i += (size_t)b->D) {
        const double *u = b->pending.at + i;
        o->given = -1;
        if (bo_model_believe(&o->model, u, bo_model_mean(&o->model, u, NULL))) break;
    }
}

static enum kind choose_kind(const struct bo *b, struct rng *r, double *tau) {
    double t = rng_uniform(r);
    *tau = 1;
    if (!b->plain) {
        if (b->n_obj > 1 && !b->failed_last) *tau = t < 0.2 ? 1 : t < 0.5 ? 0.5 : 0.25;
        return DRAWS;
    }
    if (b->failed_last) return PATH; /* EI alone would propose a dead point for ever */
    static const enum kind asked[] = {
        [GPM_ACQ_THOMPSON] = PATH, [GPM_ACQ_EI] = LOG_EI, [GPM_ACQ_UCB] = BOUND};
    if (b->opt.acquisition != GPM_ACQ_DEFAULT) return asked[b->opt.acquisition];
    if (b->opt.noisy) return PATH;
    if (t < 0.55) return LOG_EI;
    *tau = t < 0.7 ? 1 : t < 0.85 ? 0.5 : 0.25;
    return PATH;
}

const double *bo_lowest_mean(struct bo *b, double *mean) {
    struct bo_output *o = bo_lead(b);
    const double *lowest = b->points.at[o->active.at[0]].u;
    *mean = INFINITY;
    for (size_t i = 0; i < o->active.n; i++) {
        const double *u = b->points.at[o->active.at[i]].u;
        if (*mean < INFINITY && !bo_is_full(b, u)) continue; /* those come first */
        double f = bo_model_mean(&o->model, u, NULL);
        if (f < *mean) *mean = f, lowest = u;
    }
    return lowest;
}

/* The least value so far: exact ones are sorted by value. */
static double best_value(struct bo *b) {
    double best = bo_lead(b)->model_y.at[0];
    if (b->opt.noisy) bo_lowest_mean(b, &best);
    return best;
}

/* Would the value of a drawn function be news, were it true? It must be better than the best that
 * is known by more than rounding, add to the front, or move its end. */
static bool promising(struct bo *b, double value, const double *best) {
    if (b->n_obj > 1) return b->alone < 0 ? value < BO_NO_VOLUME : bo_end_gains(b, value);
    if (b->plain && !b->opt.noisy && !b->tabu.n) return true; /* not converged yet */
    if (!best || !b->n_obj) return true;
    size_t i = bo_incumbent(b, false);
    const struct bo_point *p = &b->points.at[i];
    if (bo_violation(b, p->y) > 0) return true;
    const struct bo_output *o = bo_lead(b);
    return value < bo_to_z(o, p->y[o->k]) - 1e-6;
}

/* A drawn function, or all of them. When its minimum says nothing new, the draw gets more
 * spread around the mean: the further a search has come, the wider it looks. */
static enum gpm_status search_draws(struct acq *a, struct rng *r, double tau, const double *best,
                                    double *u) {
    struct bo *b = a->b;
    struct candidates p;
    struct bo_effort e = bo_effort(b);
    double all = 1;
    enum gpm_status s = bo_draw(b, r, tau);
    if (s) return s;
    if (b->feas) bo_feas_draw(b, r);
    pool_init(&p, a, r);
    for (int i = 0; i < e.rounds && !s; i++, all *= e.wider) {
        double value;
        if (i)
            for (int k = 0; k < b->K; k++) gp_path_temper(b->out[k].path, e.wider);
        pool_score(&p, a, all);
        if (!search(a, &p, i && b->K > 2 ? 1 : e.starts, u, &value)) s = GPM_E_NOT_FOUND;
        if (i == 0) a->first = !s && best ? bo_distance2(b, u, best, bo_lead(b)->model.inv_l) : 1e9;
        if (!s && promising(b, value, best)) break;
        if (b->alone >= 0)
            s = GPM_E_NOT_FOUND; /* an end that is known: a decision like the others */
    }
    pool_release(&p);
    return s;
}

/* Expected improvement or a bound, of one number. */
static enum gpm_status search_moments(struct acq *a, struct rng *r, double *u) {
    struct candidates p;
    double value;
    a->best = best_value(a->b);
    believe_pending(a->b);
    pool_init(&p, a, r);
    pool_score(&p, a, 1);
    bool found = search(a, &p, N_START, u, &value);
    pool_release(&p);
    return found ? GPM_OK : GPM_E_NOT_FOUND;
}

/* Of the decisions under noise so many follow a draw alone: the model may be too sure of itself, as
 * it is at sharp minima. */
#define DRAWS_SHARE 0.4
#define AROUND      30 /* places around the lowest by the mean, */
#define ANYWHERE    20 /* anywhere, */
#define LOW         12 /* and evaluated ones of low mean */
#define PLACES      (2 + AROUND + ANYWHERE + LOW)

/* Evaluated points by their means, the lowest first; returns how many there are. */
static size_t low_points(struct bo *b, double *at) {
    struct bo_output *o = bo_lead(b);
    size_t D = (size_t)b->D, n = 0, m = o->active.n;
    struct bo_ranked *list = NEW_ARRAY(struct bo_ranked, m + 1);
    for (size_t i = 0; i < m; i++) {
        const double *u = b->points.at[o->active.at[i]].u;
        list[i] = (struct bo_ranked){bo_model_mean(&o->model, u, NULL), 0, o->active.at[i]};
        if (!bo_is_full(b, u)) list[i].key = INFINITY;
    }
    qsort(list, m, sizeof *list, bo_by_key);
    for (; n < m && n < LOW && list[n].key < INFINITY; n++)
        memcpy(at + n * D, b->points.at[list[n].i].u, D * sizeof *at);
    mem_free(list);
    return n;
}

/* Noisy values of one number: of the place that a draw of the function calls the lowest, the lowest
 * by the mean, others around that or anywhere and the evaluated ones that are low, what is worth
 * most is evaluated, be it again (bo_worth.c). */
static enum gpm_status search_worth(struct acq *a, struct rng *r, const double *best, double *u) {
    struct bo *b = a->b;
    size_t D = (size_t)b->D, n = 1;
    double *at = NEW_ARRAY(double, PLACES *(D + 1)), *worth = at + PLACES * D, most = -1, low;
    enum gpm_status s = search_draws(a, r, 1, best, at);
    if (s) memcpy(at, b->points.at[bo_lead(b)->active.at[0]].u, D * sizeof *at);
    double *centre = at + n++ * D;
    memcpy(centre, bo_lowest_mean(b, &low), D * sizeof *at);
    bo_minimise_mean(b, centre);
    for (int i = 0; i < AROUND; i++) nearby_point(a, centre, r, at + n++ * D);
    for (int i = 0; i < ANYWHERE; i++) random_point(a, best ? best : centre, r, at + n++ * D);
    for (size_t i = 2; i < n; i++) {
        if (b->fidelity >= 0) at[i * D + (size_t)b->fidelity] = 1;
        bo_space_snap(b->space, at + i * D);
        bo_rules_repair(b->space, at + i * D);
    }
    n += low_points(b, at + n * D);
    believe_pending(b);
    bool known = bo_worth(bo_lead(b), at, n, n, worth);
    for (size_t i = 0; known && i < n; i++) {
        const double *x = at + i * D;
        if (!(worth[i] > most) || bo_duplicate(b, x) || isinf(penalty(a, x))) continue;
        most = worth[i];
        memcpy(u, x, D * sizeof *u);
    }
    mem_free(at);
    return most >= 0 ? GPM_OK : GPM_E_NOT_FOUND;
}

enum gpm_status bo_global(struct bo *b, struct rng *r, double *u, double *far) {
    enum gpm_status s = bo_refit(b, r);
    if (s) return s;
    double tau;
    struct acq a;
    size_t inc = bo_incumbent(b, true);
    const double *best = inc == SIZE_MAX ? NULL : b->points.at[inc].u;
    acq_init(&a, b, choose_kind(b, r, &tau), best);
    bo_feas_update(b);
    bool worth = b->plain && b->opt.noisy && !b->failed_last &&
                 b->opt.acquisition == GPM_ACQ_DEFAULT && rng_uniform(r) >= DRAWS_SHARE;
    if (worth) {
        s = search_worth(&a, r, best, u);
        *far = INFINITY;
    } else if (a.kind == PATH || a.kind == DRAWS) {
        s = search_draws(&a, r, tau, best, u);
        if (s && b->alone >= 0) {
            b->alone = -1;
            s = search_draws(&a, r, tau, best, u);
        }
        *far = sqrt(a.first);
    } else {
        s = search_moments(&a, r, u);
        *far = !s && best ? sqrt(bo_distance2(b, u, best, bo_lead(b)->model.inv_l)) : INFINITY;
    }
    acq_release(&a);
    return s;
}

void bo_minimise_mean(struct bo *b, double *u) {
    struct acq a;
    acq_init(&a, b, MEAN, NULL);
    refine(&a, u, value_at(&a, u));
    acq_release(&a);
}
