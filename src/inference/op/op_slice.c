/* SPDX-License-Identifier: Apache-2.0
 *
 * Slice sampling (Neal 2003) of one continuous choice: a number, or one randomly picked coordinate
 * of the unconstrained space of a vector or matrix. Draw a height below the density, log y = log
 * p(x0) - Exp(1). Find an interval around x0 whose ends are below the height. Draw points from the
 * interval until one is above it, shrinking the interval to points that are not. No ratio is
 * needed.
 *
 * The interval grows by stepping out, or by doubling with its acceptability test. If the choice
 * decides what else is evaluated (the scaffold has a brush), the density at another point needs
 * another brush. The same holds if a random function's value at it is redrawn. In these cases one
 * Metropolis step with a uniform proposal of width 2w is made instead. */
#include "inference/hmc/continuous.h"

#include <math.h>

enum { STEPPING, DOUBLING };

struct slice_run {
    struct step *s;
    struct rng *rng;
    struct move *m;
    struct continuous *c; /* NULL: x is the value itself */
    size_t at;            /* otherwise: x is this coordinate of z */
    double *z, w_old;     /* log weight of the current state */
    double w;             /* initial guess of the slice's width */
    double limit;         /* maximum number of steps out, or doublings */
    double x0, log_y;
    double left, right; /* the interval; it contains x0 */
    enum gpm_status st;
};

static double build_at(struct slice_run *r, double at) {
    value v = value_num(at);
    double w = -INFINITY;
    if (r->st == GPM_OK) r->st = core_poll(r->s->x->core, r->s->x->at);
    if (r->c) r->z[r->at] = at;
    if (r->st == GPM_OK)
        r->st = r->c ? continuous_build(r->c, r->z, &w) : move_build(r->m, &v, &w, NULL);
    return r->st == GPM_OK ? w : -INFINITY;
}

/* Is the point above the height? An error of the model is kept in r->st, and all points count as
 * outside then. */
static bool inside(struct slice_run *r, double at) {
    double w = build_at(r, at);
    if (r->st == GPM_OK) move_drop(r->m);
    return w > r->log_y;
}

/* Neal 2003, figure 3. The limit is split at random between the sides, so that the interval is
 * equally likely to be found from any of its points. */
static void step_out(struct slice_run *r) {
    double to_left = floor(r->limit * rng_uniform(r->rng)), to_right = r->limit - 1 - to_left;
    for (; to_left > 0 && inside(r, r->left); to_left--) r->left -= r->w;
    for (; to_right > 0 && inside(r, r->right); to_right--) r->right += r->w;
}

/* Neal 2003, figure 4: doubles the width to a random side until both ends are outside. */
static void double_out(struct slice_run *r) {
    bool in_left = inside(r, r->left), in_right = inside(r, r->right);
    for (double k = r->limit; k > 0 && (in_left || in_right); k--) {
        double width = r->right - r->left;
        if (rng_uniform(r->rng) < 0.5) {
            r->left -= width;
            in_left = inside(r, r->left);
        } else {
            r->right += width;
            in_right = inside(r, r->right);
        }
    }
}

/* Could x1 have produced the same interval? (Neal 2003, figure 6) */
static bool acceptable(struct slice_run *r, double left, double right, double x1) {
    bool differ = false;
    while (right - left > 1.1 * r->w) {
        double mid = (left + right) / 2;
        if ((r->x0 < mid) != (x1 < mid)) differ = true;
        if (x1 < mid)
            right = mid;
        else
            left = mid;
        if (differ && !inside(r, left) && !inside(r, right)) return false;
    }
    return true;
}

/* Neal 2003, figure 5: a rejected point becomes the end on its side. False: only x0 remains. */
static bool shrink(struct slice_run *r, bool doubling, double *out) {
    double lo = r->left, hi = r->right;
    while (r->st == GPM_OK) {
        double at = lo + (hi - lo) * rng_uniform(r->rng);
        if (at == r->x0) return false; /* the interval closed around the current value */
        if (inside(r, at) && (!doubling || acceptable(r, r->left, r->right, at))) {
            *out = at;
            return r->st == GPM_OK;
        }
        if (at < r->x0)
            lo = at;
        else
            hi = at;
        if (!(lo < hi)) return false;
    }
    return false;
}

/* Symmetric in x; the brush is drawn from its prior. */
static bool propose_uniform(struct slice_run *r) {
    double w = build_at(r, r->x0 + r->w * (2 * rng_uniform(r->rng) - 1));
    return r->st == GPM_OK && move_built(r->m) && step_accept(r->s, r->w_old, w, 0);
}

static bool slice_move(struct slice_run *r) {
    double at;
    bool doubling = r->s->g->op->how == DOUBLING;
    if (move_has_brush(r->m)) return propose_uniform(r);
    r->log_y = r->w_old - rng_exponential(r->rng);
    if (r->w_old == -INFINITY) r->log_y = -INFINITY;
    r->left = r->x0 - r->w * rng_uniform(r->rng);
    r->right = r->left + r->w;
    if (doubling)
        double_out(r);
    else
        step_out(r);
    if (!shrink(r, doubling, &at)) return false;
    (void)build_at(r, at);
    return r->st == GPM_OK && move_built(r->m);
}

static enum gpm_status check_choice(const struct step *s) {
    struct node *n = s->at[0];
    enum { SHOWN = 4 };
    for (size_t i = 0; s->n != 1 && i < s->n && i < SHOWN; i++) {
        if (!i)
            infer_error(s->x, DIAG_NOT_CONTINUOUS,
                        "slice moves one continuous choice; the block holds %zu: nuts, hmc and "
                        "drift move several",
                        s->n);
        diag_add_label(s->x->core->diags, node_span(s->at[i]), "one of them");
        infer_why_there(s->x->core->diags, s->g->scope, node_read_in(s->at[i], s->g->scope));
    }
    if (s->n != 1) return GPM_E_USER;
    if (continuous_takes(s->t, n)) return GPM_OK;
    return infer_wrong_kind(s->x->core->diags, s->g->op, s->g->scope, node_class(n), node_span(n),
                            node_read_in(n, s->g->scope), s->x->at);
}

static enum gpm_status slice_number(struct slice_run *r) {
    struct move m;
    r->m = &m;
    r->x0 = node_value(r->s->at[0]).u.num;
    r->s->marginal = true;
    enum gpm_status st = move_find(r->s, &m);
    if (st == GPM_OK) st = move_open(&m);
    if (st != GPM_OK) return st;
    r->w_old = m.w_old;
    r->s->accepted = slice_move(r);
    move_close(&m, r->s->accepted);
    return r->st;
}

static enum gpm_status slice_coordinate(struct slice_run *r) {
    struct continuous c;
    enum gpm_status st = continuous_open(r->s, true, &c);
    if (st != GPM_OK || !c.n_parts) return st;
    if (c.n_z) {
        r->c = &c;
        r->m = &c.m;
        r->z = c.old;
        r->w_old = c.w_old;
        r->at = (size_t)rng_below(r->rng, c.n_z);
        r->x0 = c.old[r->at];
        r->s->accepted = slice_move(r);
    }
    continuous_close(&c, r->s->accepted);
    return r->st;
}

static enum gpm_status slice_step(struct step *s) {
    struct slice_run r = {
        .s = s, .rng = &s->t->rng, .w = s->g->extra[0].u.num, .limit = floor(s->g->extra[1].u.num)};
    enum gpm_status st = check_choice(s);
    if (st != GPM_OK) return st;
    s->redraws = true;
    return node_value(s->at[0]).tag == V_NUM ? slice_number(&r) : slice_coordinate(&r);
}

#define SLICE                                                                                      \
    STEPS(slice_step, "one"), .n_extra = 2, .counted = "limit", .needs = NEEDS_ONE_CONTINUOUS
const struct infer_op infer_slice_rows[] = {
    {"slice", "(scope: target, block?: block, w?: positive, m?: nonneg, steps?: count) -> action",
     "slice sampling of one continuous choice, stepping out by w at most m times", SLICE,
     .how = STEPPING, .extra = {1, 100}},
    {"slice_doubling",
     "(scope: target, block?: block, w?: positive, p?: nonneg, steps?: count) -> action",
     "slice sampling of one continuous choice, doubling an interval of width w at most p times",
     SLICE, .how = DOUBLING, .extra = {1, 10}},
    {0},
};
