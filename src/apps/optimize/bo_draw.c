/* SPDX-License-Identifier: Apache-2.0
 * A decision with bounds or several objectives: every number of an evaluation is drawn as a whole
 * function (gp/way/gp_path.h), and the draws are taken for the truth. Minimised is the drawn
 * objective, or what the drawn objectives add to the front, where the drawn numbers keep their
 * bounds; a point of least violation where none does. Values and gradients of all draws at a point
 * cost K n d, so sequential quadratic programming from a few starts takes milliseconds. */
#include "numeric/optim/sqp.h"
#include "apps/optimize/bo_priv.h"
#include "apps/optimize/bo_rules.h"

#include <math.h>
#include <string.h>

struct bo_effort bo_effort(const struct bo *b) {
    if (b->K == 1) return (struct bo_effort){512, 25, 4, 4, 2, 400};
    if (b->K >= 8) return (struct bo_effort){80, 8, 1, 3, 3, 400};
    if (b->K >= BO_MANY) return (struct bo_effort){128, 30, 2, 3, 3, 400};
    if (b->n_obj > 1) return (struct bo_effort){128, 15, 2, 4, 2, 250};
    return (struct bo_effort){256, 25, b->K > 2 ? 2 : 4, 4, 2, 400};
}

enum gpm_status bo_draw(struct bo *b, struct rng *r, double tau) {
    enum gpm_status s = GPM_OK;
    for (int k = 0; k < b->K && !s; k++) {
        struct bo_output *o = &b->out[k];
        gp_path_free(o->path);
        o->path = NULL;
        s = gp_path_new(o->model.gp, bo_effort(b).features, r, &o->path);
        if (!s) gp_path_temper(o->path, tau);
    }
    return s;
}

/* How the draw looks from one point. */
struct view {
    struct bo *b;
    double *u;     /* the point; its categories are in force */
    double *z;     /* K values, and behind them K gradients of D numbers */
    double *slope; /* D: scratch */
};

static void view_init(struct view *v, struct bo *b) {
    size_t D = (size_t)b->D, K = (size_t)b->K;
    v->b = b;
    v->u = NEW_ARRAY(double, 2 * D + K * (D + 1));
    v->slope = v->u + D;
    v->z = v->slope + D;
}

/* Rows of bounds, at most two a number: c <= 0 in units of the model. */
static size_t count_rows(const struct bo *b) {
    size_t m = 0;
    for (int k = 0; k < b->K; k++)
        m += (size_t)(isfinite(b->out[k].goal.lo) + isfinite(b->out[k].goal.hi));
    return m;
}

static void put_row(const struct bo *b, double value, double sign, const double *grad, double **c,
                    double **J) {
    *(*c)++ = value;
    if (!*J) return;
    for (int i = 0; i < b->space->d; i++) (*J)[i] = sign * grad[i];
    *J += b->space->d;
}

static void bounds(struct view *v, bool slopes, double *c, double *J) {
    const struct bo *b = v->b;
    for (int k = 0; k < b->K; k++) {
        const struct bo_output *o = &b->out[k];
        const double *grad = slopes ? v->z + b->K + (size_t)k * (size_t)b->D : NULL;
        double *at = slopes ? J : NULL;
        if (isfinite(o->goal.hi)) put_row(b, v->z[k] - bo_to_z(o, o->goal.hi), 1, grad, &c, &at);
        if (isfinite(o->goal.lo)) put_row(b, bo_to_z(o, o->goal.lo) - v->z[k], -1, grad, &c, &at);
        if (at) J = at;
    }
}

/* What is minimised, with its gradient in the numeric coordinates unless gf is NULL. */
static double objective(struct view *v, double *gf) {
    const struct bo *b = v->b;
    double y[BO_MAX_OBJECTIVES], slope[BO_MAX_OBJECTIVES], f = 0;
    if (gf) memset(gf, 0, (size_t)b->space->d * sizeof *gf);
    for (int j = 0; j < b->n_obj; j++) slope[j] = 0;
    int one = b->n_obj == 1 ? 0 : b->alone;
    if (one >= 0) {
        slope[one] = 1;
        f = v->z[b->obj[one]];
    } else if (b->n_obj) {
        for (int j = 0; j < b->n_obj; j++) y[j] = bo_unwarp(&b->out[b->obj[j]], v->z[b->obj[j]]);
        f = bo_front_value(b, y, slope);
        for (int j = 0; j < b->n_obj; j++)
            slope[j] *= bo_unwarp_slope(&b->out[b->obj[j]], v->z[b->obj[j]]);
    }
    for (int j = 0; gf && j < b->n_obj; j++) {
        const double *grad = v->z + b->K + (size_t)b->obj[j] * (size_t)b->D;
        for (int i = 0; i < b->space->d; i++) gf[i] += slope[j] * grad[i];
    }
    return f;
}

static bool evaluate(void *ctx, const double *x, double *f, double *c, double *gf, double *J) {
    struct view *v = ctx;
    const struct bo *b = v->b;
    memcpy(v->u, x, (size_t)b->space->d * sizeof *x);
    for (int k = 0; k < b->K; k++) {
        double *grad = gf ? v->z + b->K + (size_t)k * (size_t)b->D : NULL;
        if (gp_path_eval(b->out[k].path, v->u, 1, &v->z[k], grad)) return false;
    }
    bounds(v, gf != NULL, c, J);
    *f = objective(v, gf);
    size_t first = count_rows(b);
    for (int i = 0; i < b->space->n_rules; i++) {
        c[first + (size_t)i] = bo_rule_value(
            b->space, i, v->u, gf ? J + (first + (size_t)i) * (size_t)b->space->d : NULL);
        if (isinf(c[first + (size_t)i])) return false;
    }
    return true;
}

static double total(const double *c, size_t m) {
    double sum = 0;
    for (size_t i = 0; i < m; i++) sum += fmax(0, c[i]);
    return sum;
}

void bo_draw_many(struct bo *b, const double *u, size_t count, double *z, double *mean) {
    size_t K = (size_t)b->K, D = (size_t)b->D;
    for (size_t k = 0; k < K; k++)
        for (size_t i = 0; i < count; i++)
            if (gp_path_eval_both(b->out[k].path, u + i * D, 1, &z[i * K + k], &mean[i * K + k]))
                z[i * K + k] = mean[i * K + k] = INFINITY;
}

double bo_draw_judge(struct bo *b, double *z) {
    struct view v = {.b = b, .z = z};
    size_t m = count_rows(b);
    double *c = NEW_ARRAY(double, m + 1);
    bounds(&v, false, c, NULL);
    double over = total(c, m);
    mem_free(c);
    return over > 1e-7 ? BO_BROKEN * (1 + over) : objective(&v, NULL);
}

double bo_draw_value(struct bo *b, const double *u) {
    bool known = true;
    double *z = NEW_ARRAY(double, (size_t)b->K);
    for (int k = 0; k < b->K; k++)
        known = known && !gp_path_eval(b->out[k].path, u, 1, &z[k], NULL);
    double v = known ? bo_draw_judge(b, z) : INFINITY;
    mem_free(z);
    return v;
}

double bo_draw_refine(struct bo *b, double *u, const double *lo, const double *hi) {
    struct view v;
    size_t d = (size_t)b->space->d, m = count_rows(b) + (size_t)b->space->n_rules;
    struct sqp_options opt = {
        .max_iter = bo_effort(b).iterations, .step_cap = 0.2, .tol = 1e-6, .low = lo, .upp = hi};
    struct sqp_result res;
    double *x = NEW_ARRAY(double, d + 1);
    view_init(&v, b);
    memcpy(v.u, u, (size_t)b->D * sizeof *u);
    memcpy(x, u, d * sizeof *x);
    if (d && sqp_minimise(evaluate, &v, d, m, x, &opt, NULL, &res) == GPM_OK)
        memcpy(u, x, d * sizeof *x);
    bo_space_snap(b->space, u);
    bo_rules_repair(b->space, u);
    mem_free(x);
    mem_free(v.u);
    return bo_draw_value(b, u);
}
