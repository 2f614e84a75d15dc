/* SPDX-License-Identifier: Apache-2.0
 *
 * Elliptical slice sampling (Murray, Adams, MacKay 2010) of choices that are normal a priori, all
 * of a block at once: with m the prior's mean and v a draw of the prior, the points
 *
 *     x(a) = m + (x - m) cos a + (v - m) sin a
 *
 * lie on an ellipse, and the prior cancels. A height below the likelihood is drawn,
 * log y = log L(x) - Exp(1). Angles are drawn from a bracket that shrinks towards 0, the present x,
 * until a point is above the height. The method has no tuning, and every step moves. */
#include "inference/run/move.h"
#include "language/rows/protocol/numeric.h"
#include <math.h>

struct ess {
    struct step *s;
    struct move m;
    value *like;                  /* old values of the choices; counted */
    double *x, *mean, *draw, *at; /* n numbers each */
    size_t n;
    double log_y;
};

static enum gpm_status refuse(const struct step *s, struct node *n, const char *why) {
    infer_error(s->x, DIAG_NOT_CONTINUOUS, "ess needs choices that are normal a priori; %s %s",
                node_class(n)->name, why);
    diag_add_label(s->x->core->diags, node_span(n), "the choice");
    return diag_set_help(s->x->core->diags, "nuts and slice move any continuous choice");
}

/* Reads the numbers of a value shaped like `like`; a single number stands for all. */
static bool read_numbers(value v, size_t n, double *out) {
    size_t k = 0;
    if (v.tag == V_NUM) {
        for (; k < n; k++) out[k] = v.u.num;
        return true;
    }
    return numeric_flatten(v, NULL, &k) && k == n && (k = 0, numeric_flatten(v, out, &k));
}

/* Reads the value of choice i, its mean, and a draw of its prior, into index `at` and up. */
static enum gpm_status read_choice(struct ess *e, size_t i, size_t at, size_t n) {
    struct node *node = e->s->at[i];
    value v = NIL, mean;
    enum gpm_status st = node_prior(e->s->t, node, &v, &mean);
    if (st != GPM_OK) return st;
    bool ok = read_numbers(e->like[i], n, e->x + at) && read_numbers(v, n, e->draw + at) &&
              read_numbers(mean, n, e->mean + at);
    value_unref(v);
    return ok ? GPM_OK : refuse(e->s, node, "has a mean of another size than its value");
}

static enum gpm_status read_all(struct ess *e) {
    struct step *s = e->s;
    enum gpm_status st = GPM_OK;
    size_t at = 0;
    for (size_t i = 0; i < s->n; i++) {
        if (!node_is_normal(s->at[i])) return refuse(s, s->at[i], "is not, or has bounds");
        e->like[i] = value_ref(node_value(s->at[i]));
        if (!numeric_flatten(e->like[i], NULL, &e->n))
            return refuse(s, s->at[i], "has a value without numbers");
    }
    e->x = NEW_ARRAY(double, 4 * e->n + 1);
    e->mean = e->x + e->n;
    e->draw = e->mean + e->n;
    e->at = e->draw + e->n;
    for (size_t i = 0; i < s->n && st == GPM_OK; i++) {
        size_t n = 0;
        numeric_flatten(e->like[i], NULL, &n);
        st = read_choice(e, i, at, n);
        at += n;
    }
    return st;
}

/* Log density of the choices at these numbers. */
static enum gpm_status prior_at(struct ess *e, const double *x, double *sum) {
    struct step *s = e->s;
    enum gpm_status st = GPM_OK;
    *sum = 0;
    for (size_t i = 0; i < s->n && st == GPM_OK; i++) {
        double logp = 0;
        value v = numeric_shaped(e->like[i], &x, false);
        st = node_density(s->t, s->at[i], v, &logp);
        value_unref(v);
        *sum += logp;
    }
    return st;
}

/* Builds the state at these numbers; *above: it is possible, and the likelihood reaches the
 * height. */
static enum gpm_status try_at(struct ess *e, const double *x, bool *above) {
    struct step *s = e->s;
    value *vals = NEW_ARRAY(value, s->n);
    const double *next = x;
    double w = -INFINITY, prior = 0;
    for (size_t i = 0; i < s->n; i++) vals[i] = numeric_shaped(e->like[i], &next, false);
    enum gpm_status st = move_build(&e->m, vals, &w, NULL);
    if (st == GPM_OK && w > -INFINITY) st = prior_at(e, x, &prior);
    values_free(vals, s->n);
    *above = st == GPM_OK && w - prior > e->log_y;
    return st;
}

static enum gpm_status turn(struct ess *e) {
    struct rng *rng = &e->s->t->rng;
    double full = 2 * 3.14159265358979323846, angle = full * rng_uniform(rng);
    double lo = angle - full, hi = angle;
    bool above = false;
    enum gpm_status st = GPM_OK;
    while (st == GPM_OK && !above && angle != 0) {
        st = core_poll(e->s->x->core, e->s->x->at);
        double c = cos(angle), d = sin(angle);
        for (size_t i = 0; i < e->n; i++)
            e->at[i] = e->mean[i] + (e->x[i] - e->mean[i]) * c + (e->draw[i] - e->mean[i]) * d;
        if (st == GPM_OK) st = try_at(e, e->at, &above);
        if (st != GPM_OK || above) break;
        move_drop(&e->m);
        *(angle < 0 ? &lo : &hi) = angle;
        angle = lo + (hi - lo) * rng_uniform(rng);
    }
    e->s->accepted = st == GPM_OK && above;
    return st;
}

/* The prior must be a single normal distribution: no choice may affect another's mean or variance,
 * and nothing else may be drawn. */
static enum gpm_status ess_move(struct ess *e) {
    double prior;
    if (move_has_brush(&e->m))
        return infer_error(e->s->x, DIAG_NOT_CONTINUOUS,
                           "ess cannot move choices that decide what else is evaluated");
    for (size_t i = 0; i < move_n(&e->m); i++)
        if (move_args_change(&e->m, i))
            return refuse(e->s, move_principal(&e->m, i), "depends on another choice of the block");
    enum gpm_status st = prior_at(e, e->x, &prior);
    e->log_y = e->m.w_old - prior - rng_exponential(&e->s->t->rng);
    return st == GPM_OK ? turn(e) : st;
}

static enum gpm_status ess_step(struct step *s) {
    struct ess e = {.s = s, .like = NEW_ARRAY(value, s->n)};
    for (size_t i = 0; i < s->n; i++) e.like[i] = NIL;
    trace_settle(s->t); /* means are read from nodes */
    enum gpm_status st = read_all(&e);
    if (st == GPM_OK) st = move_find(s, &e.m);
    if (st == GPM_OK) {
        st = move_open(&e.m);
        if (st == GPM_OK) {
            st = ess_move(&e);
            move_close(&e.m, s->accepted);
        }
    }
    values_free(e.like, s->n);
    mem_free(e.x);
    return st;
}

const struct infer_op infer_ess_rows[] = {
    {"ess", "(scope: target, block?: block, steps?: count) -> action",
     "elliptical slice sampling of choices that are normal a priori (a latent process, random "
     "effects), all of the block at once; nothing to tune",
     STEPS(ess_step, "all")},
    {0},
};
