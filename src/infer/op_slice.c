/* SPDX-License-Identifier: Apache-2.0
 *
 * Slice sampling of one continuous choice (Neal 2003): draw a height under the density,
 * log y = log p(x0) - Exp(1); find an interval around x0 whose ends lie below it; draw from the
 * interval until a point lies above it, shrinking it to the points that do not. No ratio is needed.
 * The interval grows by stepping out, or by doubling with its test of acceptability. Where the
 * choice decides what else is evaluated (the scaffold has a brush) the density at other points
 * would need a brush of its own; then one Metropolis step with a uniform proposal of width 2w is
 * made instead. */
#include "infer/move.h"

#include <math.h>

struct slice {
    double w; /* first guess of the slice's width */
    double m; /* most steps out, or doublings */
    bool doubling;
};

struct slice_run {
    struct infer_state *x;
    struct trace *t;
    struct move m;
    double x0, log_y;
    double left, right;
    const struct slice *how;
    enum gpm_status st;
};

/* Log weight at a point; an error of the model is kept in r->st, and every point lies outside then.
 */
static double density(struct slice_run *r, double at) {
    value v = value_num(at);
    double w = -INFINITY;
    if (r->st == GPM_OK) r->st = core_poll(r->x->core, r->x->at);
    if (r->st == GPM_OK) r->st = move_build(&r->m, &v, &w, NULL);
    if (r->st != GPM_OK) return -INFINITY;
    move_drop(&r->m);
    return w;
}

static bool inside(struct slice_run *r, double at) {
    return density(r, at) > r->log_y;
}

/* Neal 2003, figure 3. The limit of m steps is split at random between the sides, so that the same
 * interval is as likely to be found from any other point of it. */
static void step_out(struct slice_run *r) {
    const struct slice *h = r->how;
    struct rng *rng = &r->t->rng;
    r->left = r->x0 - h->w * rng_uniform(rng);
    r->right = r->left + h->w;
    double to_left = floor(h->m * rng_uniform(rng)), to_right = h->m - 1 - to_left;
    for (; to_left > 0 && inside(r, r->left); to_left--) r->left -= h->w;
    for (; to_right > 0 && inside(r, r->right); to_right--) r->right += h->w;
}

/* Neal 2003, figure 4: the width doubles, to a side picked by a coin, until both ends lie outside.
 */
static void double_out(struct slice_run *r) {
    const struct slice *h = r->how;
    struct rng *rng = &r->t->rng;
    r->left = r->x0 - h->w * rng_uniform(rng);
    r->right = r->left + h->w;
    bool in_left = inside(r, r->left), in_right = inside(r, r->right);
    for (double k = h->m; k > 0 && (in_left || in_right); k--) {
        double width = r->right - r->left;
        if (rng_uniform(rng) < 0.5) {
            r->left -= width;
            in_left = inside(r, r->left);
        } else {
            r->right += width;
            in_right = inside(r, r->right);
        }
    }
}

/* Could the interval have been reached from x1 as well? (Neal 2003, figure 6) */
static bool acceptable(struct slice_run *r, double left, double right, double x1) {
    bool differ = false;
    while (right - left > 1.1 * r->how->w) {
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

/* Neal 2003, figure 5: a point that fails becomes the end on its side. False: nothing but x0 is
 * left. */
static bool shrink(struct slice_run *r, double *out) {
    double lo = r->left, hi = r->right;
    while (r->st == GPM_OK) {
        double at = lo + (hi - lo) * rng_uniform(&r->t->rng);
        if (at == r->x0) return false; /* the interval closed around the current value */
        if (inside(r, at) && (!r->how->doubling || acceptable(r, r->left, r->right, at))) {
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

/* Symmetric in x, and the brush is drawn from its prior: log alpha = w' - w + the pick's
 * correction. */
static bool propose_uniform(struct slice_run *r, double w_old, double *pick,
                            const struct mh_extra *extra) {
    double at = r->x0 + r->how->w * (2 * rng_uniform(&r->t->rng) - 1), w;
    value v = value_num(at);
    r->st = move_build(&r->m, &v, &w, NULL);
    if (r->st != GPM_OK || !move_built(&r->m)) return false;
    if (extra) *pick += extra->log_pick(extra->ctx, r->t);
    if (w == -INFINITY) return false;
    return w_old == -INFINITY || log(rng_uniform(&r->t->rng)) < w - w_old + *pick;
}

static bool slice_move(struct slice_run *r, const struct mh_extra *extra, double pick) {
    double at, w, w_old = r->m.w_old;
    if (move_has_brush(&r->m)) return propose_uniform(r, w_old, &pick, extra);
    r->log_y = w_old - rng_exponential(&r->t->rng);
    if (w_old == -INFINITY) r->log_y = w_old;
    if (r->how->doubling)
        double_out(r);
    else
        step_out(r);
    if (!shrink(r, &at)) return false;
    value v = value_num(at);
    r->st = move_build(&r->m, &v, &w, NULL);
    return r->st == GPM_OK && move_built(&r->m);
}

static enum gpm_status check_choice(struct infer_state *x, struct trace *t, struct node **at,
                                    size_t n) {
    struct sp_support support;
    if (n != 1)
        return infer_error(x, DIAG_NOT_CONTINUOUS,
                           "slice moves one continuous choice; the block holds %zu", n);
    enum gpm_status st = node_support(t, at[0], &support);
    if (st != GPM_OK) return st;
    if (at[0]->val.tag == V_NUM && support.kind != SUPPORT_DISCRETE &&
        support.kind != SUPPORT_SIMPLEX)
        return GPM_OK;
    infer_error(x, DIAG_NOT_CONTINUOUS, "slice needs one continuous choice; %s is not",
                node_class(at[0])->name);
    diag_add_label(x->core->diags, node_span(at[0]), "the choice");
    diag_set_help(x->core->diags, "gibbs enumerates discrete choices; mh moves any");
    return GPM_E_USER;
}

static enum gpm_status slice_transition(struct infer_state *x, struct trace *t, struct node **at,
                                        size_t n, const struct mh_extra *extra, void *ctx,
                                        bool *accepted) {
    struct slice_run r = {.x = x, .t = t, .how = ctx};
    double pick = extra ? -extra->log_pick(extra->ctx, t) : 0;
    enum gpm_status st = check_choice(x, t, at, n);
    if (st != GPM_OK) return st;
    r.x0 = at[0]->val.u.num;
    st = move_find(x, t, at, n, &r.m);
    if (st == GPM_OK) st = move_open(&r.m);
    if (st != GPM_OK) return st;
    *accepted = slice_move(&r, extra, pick);
    move_close(&r.m, *accepted);
    return r.st;
}

static enum gpm_status slicing(struct infer_state *x, const char *op, bool doubling,
                               const value *args, size_t n, value *out) {
    struct target g;
    value extra[2] = {value_num(1), value_num(doubling ? 10 : 100)};
    const struct target_form form = {op, "one", 2, false};
    enum gpm_status st = infer_target(x, &form, args, n, extra, &g);
    if (st == GPM_OK && !(extra[1].u.num >= 1))
        st = infer_error(x, DIAG_BAD_OPERATOR_ARG, "%s: the limit must be at least 1", op);
    if (st != GPM_OK) return st;
    struct slice how = {extra[0].u.num, floor(extra[1].u.num), doubling};
    st = infer_transitions(x, &g, slice_transition, &how);
    if (st == GPM_OK) *out = NIL;
    return st;
}

static enum gpm_status op_slice(struct infer_state *x, const value *args, size_t n, value *out) {
    return slicing(x, "slice", false, args, n, out);
}

static enum gpm_status op_slice_doubling(struct infer_state *x, const value *args, size_t n,
                                         value *out) {
    return slicing(x, "slice_doubling", true, args, n, out);
}

const struct infer_op infer_slice_rows[] = {
    {"slice", "(scope: target, block?: block, w?: positive, m?: nonneg, steps?: count) -> action",
     "slice sampling of one continuous choice, stepping out by w at most m times", NULL, OP_STEPS,
     op_slice},
    {"slice_doubling",
     "(scope: target, block?: block, w?: positive, p?: nonneg, steps?: count) -> action",
     "slice sampling of one continuous choice, doubling the interval at most p times", NULL,
     OP_STEPS, op_slice_doubling},
};
const size_t infer_slice_count = COUNT_OF(infer_slice_rows);
