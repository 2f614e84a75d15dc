/* SPDX-License-Identifier: Apache-2.0
 *
 * The way by a factor of the whole matrix, wherever it lies (gp_engine.h): everything that can be
 * asked has an answer. With V = L^-1 K(X, X*), w = L^-1 r:
 *
 *     log p = -1/2 (w'w + log|K| + n log 2 pi),  mean = m(X*) + V'w,  cov = K(X*, X*) - V'V. */
#include "gp/process/gp_engine.h"
#include "gp/process/gp_way.h"

#include "base/mem.h"
#include "numeric/la/vec_ops.h"
#include "numeric/special/special.h"

#include <math.h>
#include <string.h>

/* ---- the factor of a slot ---- */

enum gpm_status gp_slot_factor(struct gp *g, struct gp_slot *s) {
    if (s->have_factor) return GPM_OK;
    if (s->singular) return GPM_E_NOT_PD;
    enum gpm_status st = gp_engine_choose(g, s, &s->engine);
    if (!st) st = s->engine->factor(g, s);
    s->singular = st == GPM_E_NOT_PD;
    s->have_factor = !st;
    s->have_w = false;
    if (!s->have_logml && s->engine) s->method = s->engine->method;
    return st;
}

enum gpm_status gp_slot_solve(struct gp *g, struct gp_slot *s) {
    enum gpm_status st = gp_slot_factor(g, s);
    if (st || s->have_w) return st;
    st = gp_slot_residual(g, s);
    if (st) return st;
    if (g->n) memcpy(s->w, s->r, g->n * sizeof *s->w);
    st = s->engine->solve(g, s, false, s->w);
    gp_drop_view(g);
    if (!st && g->integrated) st = gp_integrate(g, s);
    s->have_w = !st;
    return st;
}

/* ---- likelihood and slopes ---- */

static enum gpm_status factor_value(struct gp *g, struct gp_slot *s) {
    enum gpm_status st = gp_slot_solve(g, s);
    if (st) return st;
    if (g->integrated)
        s->logml = gp_integrated_logml(g, s);
    else
        s->logml = -0.5 * (vec_ops()->dot(g->n, s->w, s->w) + s->engine->logdet(s) +
                           (double)g->n * LOG_2PI) +
                   gp_replicate_term(g, s->noise);
    return GPM_OK;
}

/* A likelihood that is known stays, whichever way it came. */
static enum gpm_status factor_slopes(struct gp *g, struct gp_slot *s,
                                     const struct gp_slopes *want) {
    double *alpha, weight = want->weight;
    enum gpm_status st = s->have_logml ? GPM_OK : factor_value(g, s);
    if (st || g->n == 0 || s->logml == -INFINITY) return st;
    st = gp_slot_solve(g, s);
    if (!st)
        st = s->engine->gradient(g, s, &weight, want->dkern, s->noise > 0 ? want->dnoise : NULL,
                                 &alpha);
    if (st || !want->dmean) return st;
    mean_grad(s->mean, gp_inputs(g), alpha, want->dmean);
    for (size_t i = 0; i < mean_nparam(s->mean); i++)
        want->dmean[i] *= sqrt(weight); /* alpha holds one of the two */
    return st;
}

/* ---- posterior ---- */

/* At some of the points, from `from` on. */
static enum gpm_status some_points(struct gp_question *q, size_t from, size_t n) {
    struct gp *g = q->g;
    struct kern_pts xs = q->xs;
    double *mean = q->mean ? q->mean + from : NULL, *var = q->var ? q->var + from : NULL;
    double *along = g->integrated ? NEW_ARRAY(double, n + 1) : NULL;
    for (size_t i = 0; i < n && along; i++) along[i] = 1;
    xs.x += from;
    xs.n = n;
    enum gpm_status st = q->s->engine->posterior(g, q->s, q->part, xs, mean, var, q->cov, q->ld,
                                                 g->integrated & GP_MEAN ? along : NULL);
    for (size_t i = 0; i < n && var && g->integrated && !st; i++) var[i] += q->extra;
    if (!st) gp_integrated_posterior(g, q->s, n, along, mean, var, q->cov, q->ld);
    mem_free(along);
    return st;
}

/* Of a covariance all points at once, else as many as the engine solves for at once. */
static enum gpm_status factor_points(struct gp_question *q) {
    enum gpm_status st = gp_slot_solve(q->g, q->s);
    size_t n = q->xs.n, step = st ? 1 : q->cov ? n + 1 : q->s->engine->chunk;
    for (size_t i = 0; i < n && !st; i += step) st = some_points(q, i, n - i < step ? n - i : step);
    return st;
}

/* ---- draws ---- */

/* A draw of the prior at many points where another engine than this processor's serves: m + L z, L
 * the factor of a process that has them as inputs. */
static enum gpm_status draw_prior(struct gp_question *q, bool *done) {
    struct gp *g = q->g;
    size_t n = q->xs.n, dim = (size_t)g->dim;
    if (g->device == GP_ON_CPU || g->n || n <= GP_JOINT_MAX) return GPM_OK;
    struct gp *p = gp_new(g->dim, gp_kern(g), NULL, sqrt(q->extra), NULL);
    double *x = NEW_ARRAY(double, n *dim + 1), *v = mem_zalloc((n + 1) * sizeof *v);
    for (size_t i = 0; i < n * dim; i++) x[i] = q->xs.x[i / dim + i % dim * q->xs.ld];
    gp_set_device(p, g->device);
    gp_set_approx(p, GP_EXACT, 0);
    enum gpm_status st = gp_add(p, GP_MEASURED, x, v, n);
    struct gp_slot *s = gp_current(p);
    bool distinct = !st && p->n == n; /* equal inputs share what is white noise */
    if (distinct) st = gp_engine_choose(p, s, &s->engine);
    if (distinct && !st && s->engine != &gp_engine_cpu) {
        st = gp_slot_factor(p, s);
        memcpy(v, q->z, n * sizeof *v);
        if (!st) st = mean_eval(gp_mean(g), q->xs, q->out);
        if (!st) st = s->engine->times(p, s, v);
        if (!st) vec_ops()->axpy(n, 1, v, q->out);
        *done = !st;
    }
    gp_free(p);
    mem_free(x);
    mem_free(v);
    return st == GPM_E_NOT_PD ? GPM_OK : st;
}

static bool any_positive(const double *cov, size_t m) {
    for (size_t i = 0; i < m; i++)
        if (cov[i * (m + 1)] > 0) return true;
    return false;
}

enum gpm_status gp_draw_joint(struct gp_question *q) {
    size_t n = q->xs.n;
    bool done = false;
    enum gpm_status st = draw_prior(q, &done);
    if (st || done) return st;
    double *cov = mem_try_doubles(n * n);
    if (!cov) return GPM_E_NOMEM;
    st = gp_posterior(q->g, NULL, q->xs, q->out, cov, n);
    for (size_t i = 0; i < n && !st; i++) cov[i * (n + 1)] += q->extra;
    if (!st && any_positive(cov, n)) st = gp_add_draw(n, cov, q->z, q->out);
    mem_free(cov);
    return st;
}

/* ---- the way ---- */

/* The fill, and n^3 / 3 operations. */
double gp_factor_cost(size_t size) {
    double n = (double)size;
    return n * (100 + n * (1.5 + 0.01 * n));
}

/* A factor that predictions ask for is bought once they have cost as much as it by another way. A
 * joint draw takes one of its points, whichever way their covariance comes. */
static double cost(struct gp_question *q) {
    static const double times[] = {1, 3, 1};
    const struct gp *g = q->g;
    double n = (double)g->n, m = (double)q->xs.n;
    bool bought = q->asked == GP_POINTS && q->s->asked;
    if (q->asked == GP_JOINT) return gp_factor_cost(q->xs.n) + 0.05 * n * n * m;
    q->why = "more inputs than are factored";
    if (g->approx == GP_AUTO && g->n > gp_exact_max(g)) return INFINITY;
    if (q->s->have_factor) return 0;
    return times[q->asked] * gp_factor_cost(g->n) / (bought ? (double)q->s->asked : 1);
}

static enum gpm_status answer(struct gp_question *q, bool *done) {
    *done = true;
    switch (q->asked) {
    case GP_VALUE: return factor_value(q->g, q->s);
    case GP_SLOPES: return factor_slopes(q->g, q->s, q->want);
    case GP_POINTS: return factor_points(q);
    default: return gp_draw_joint(q);
    }
}

const struct gp_way gp_way_factor = GP_WAY("factor", GP_EXACT, ~0u, GP_FACTORS);
