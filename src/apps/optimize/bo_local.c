/* SPDX-License-Identifier: Apache-2.0
 * The local arm: a trust region around the best point, with the model of bo_patch.h in it. A
 * converged optimum becomes tabu for both arms. Integers and categories stay fixed.
 */
#include "numeric/la/mat.h"
#include "apps/optimize/bo_patch.h"
#include "apps/optimize/bo_rules.h"

#include <math.h>
#include <string.h>

#define RHO_MAX 0.3
#define RHO_MIN 1e-8

double bo_local_merit(const struct bo *b, const double *y) {
    double sum = b->n_obj ? y[b->obj[0]] : 0;
    for (int k = 0; k < b->K && !b->plain; k++) {
        const struct bo_goal *g = &b->out[k].goal;
        sum += b->local.price[k] * fmax(0, fmax(g->lo - y[k], y[k] - g->hi));
    }
    return sum;
}

void bo_make_tabu(struct bo *b, const double *u) {
    const double *inv_l = bo_lead(b)->model.inv_l;
    double idle = bo_idle(b);
    for (int k = 0; k < b->D; k++) vec_push(&b->tabu, u[k]);
    for (int k = 0; k < b->space->d; k++)
        vec_push(&b->tabu, inv_l[k] < idle ? 1 : 0.4 * fmin(0.4, fmax(0.1, 1 / inv_l[k])));
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

/* A tenth, or zero if they are rounding; false: there were no margins. */
static bool lower_margins(struct bo *b) {
    bool any = false;
    for (int k = 0; k < b->K; k++) {
        double *m = &b->local.margin[k];
        any = any || *m > 0;
        *m = *m > 1e-14 * b->out[k].spread ? *m / 10 : 0;
    }
    return any;
}

/* One look at the region: true with x set, or false after shrinking it. */
static bool propose(struct bo *b, struct bo_patch *p, struct rng *r, double *x) {
    struct bo_local *l = &b->local;
    size_t d = (size_t)p->d;
    bool good = bo_patch_load(p);
    l->probing = p->near < d + 1 || bo_patch_flat(p);
    if (!good) {
        l->rho /= 10;
        return false;
    }
    if (l->probing) {
        if (p->near > 2 * (d + 1)) { /* flat: every value is the same */
            l->rho = 0;
            return false;
        }
        bo_patch_probe(p, r, x);
        l->size = mat_max_abs(x, (size_t)p->d);
        return true;
    }
    l->n_used = p->n;
    l->predicted = bo_patch_minimise(p, r, x);
    l->merit0 = bo_local_merit(b, p->y0);
    l->size = l->predicted > 0 ? mat_max_abs(x, (size_t)p->d) : 0;
    if (l->predicted > 1e-16 * (1 + fabs(l->merit0)) && l->size >= 1e-3) return true;
    if (!(l->predicted > 0) && lower_margins(b)) return false; /* they took all the gain */
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
    struct bo_patch p;
    bool found = false;
    if (!recenter(b)) return false;
    bo_patch_init(&p, b);
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
        if (b->space->n_groups) bo_space_snap(b->space, u);
        found = bo_rules_repair(b->space, u) && !exactly_known(b, u) && !bo_in_tabu(b, u);
        if (!found) l->rho /= 10;
    }
    if (found) l->pending = true;
    mem_free(x);
    bo_patch_release(&p);
    return found;
}

/* A bad step of a model with too few points for a quadratic says little about the region: its point
 * improves the model, and shrinking would throw others away. At most three times in a row. */
static bool patient(const struct bo *b) {
    const struct bo_local *l = &b->local;
    size_t d = (size_t)b->space->d;
    return l->misses < 3 && 3 * l->n_used < 2 * (d + 1) * (d + 2);
}

/* Bounds are kept away from by what the model was wrong by: the next point is to lie inside. */
static void set_margins(struct bo *b, const double *y) {
    for (int k = 0; k < b->K; k++) {
        const struct bo_goal *g = &b->out[k].goal;
        double wrong = fabs(y[k] - b->local.said[k]);
        bool broken = y[k] < g->lo || y[k] > g->hi;
        b->local.margin[k] = (broken ? 0.5 : 0.1) * wrong;
    }
}

/* ratio = actual / predicted decrease: widen when the model is right at the border, shrink when it
 * is wrong, and when it is right well inside (the quadratic phase). A step that went well is
 * followed by another local one, at most three in a row. */
void bo_local_told(struct bo *b, const double *y) {
    struct bo_local *l = &b->local;
    l->pending = false;
    if (l->probing) return;
    if (y && !b->plain) set_margins(b, y);
    double ratio = y ? (l->merit0 - bo_local_merit(b, y)) / l->predicted : -INFINITY;
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
