/* SPDX-License-Identifier: Apache-2.0
 *
 * What an evaluation's noise is, and what is known of the function at a point that was evaluated.
 * The model's function is smooth; at sharp minima and on ripples finer than the points lie apart it
 * is off, alike at each repetition. So y = f(x) + r(x) + e:
 *
 *   s2 = var e      from repetitions; around a place, from those there: noise may differ by place
 *   t2 = var r      around a place: how far means of repetitions lie from the model's mean there,
 *                   beyond what s2 and the model's own variance explain
 *
 * At a point with m values of mean y, f ~ N(mean, v) by the model, D = t2 + s2/m, q = s2/(m D):
 *   f + r ~ N(mean + (1 - q)(y - mean), D q (1 - q) + q^2 v);   elsewhere N(mean, v + t2).
 * All in the model's units. */
#include "optimize/bo_priv.h"

#include <math.h>
#include <string.h>

#define PRIOR_DOF 2.0 /* the model's noise counts as so many repetitions for s2 */
#define PLACE_DOF 6.0 /* and the noise everywhere as so many for that of a place */
#define SURE      1.5
#define PLACE     2.0 /* weights around a place: exp(-PLACE r^2), r in length scales */

/* Values of output o at point p around their mean: sum of squares, in the model's units. */
static double within(const struct bo_output *o, const struct bo_point *p) {
    double sum = 0, unit = o->w_scale * o->w_sd;
    for (int j = 0; j < p->count; j++) {
        double t = (p->ys.at[(size_t)(j * o->b->K + o->k)] - p->y[o->k]) / unit;
        sum += t * t;
    }
    return sum;
}

static double weight(const struct bo_output *o, const double *u, const struct bo_point *p) {
    return exp(-PLACE * bo_distance2(o->b, u, p->u, o->model.inv_l));
}

double bo_noise_at(const struct bo_output *o, const double *u, const struct bo_noise *n) {
    const struct bo *b = o->b;
    double sum = PLACE_DOF * n->every, dof = PLACE_DOF;
    for (size_t i = 0; i < b->points.n; i++) {
        const struct bo_point *p = &b->points.at[i];
        if (p->count < 2) continue;
        double w = weight(o, u, p);
        sum += w * within(o, p);
        dof += w * (p->count - 1);
    }
    return sum / dof;
}

/* t2 around u. Of a residual mean r = y - mean the model expects the variance e = s2/m - v, so
 * r^2 - e has the mean t2, and without ripples the standard deviation sqrt(2) e: less than SURE of
 * those is nothing. */
static double ripple_at(const struct bo_output *o, const double *u, const struct bo_noise *n) {
    const struct bo *b = o->b;
    double sum = 0, total = 0, spread = 0;
    for (size_t i = 0; i < o->active.n; i++) {
        const struct bo_point *p = &b->points.at[o->active.at[i]];
        double w = p->count * weight(o, u, p), r = bo_to_z(o, p->y[o->k]) - n->mean[i];
        double own = n->every / p->count, e = fmax(0.1 * own, own - n->var[i]);
        sum += w * (r * r - e);
        spread += 2 * w * w * e * e;
        total += w;
    }
    return sum > SURE * sqrt(spread) ? sum / total : 0;
}

void bo_noise_of(struct bo_output *o, struct bo_noise *n) {
    const struct bo *b = o->b;
    size_t D = (size_t)b->D, m = o->active.n;
    double model = bo_model_noise_sd(&o->model), sum = PRIOR_DOF * model * model, dof = PRIOR_DOF;
    for (size_t i = 0; i < b->points.n; i++)
        if (b->points.at[i].count > 1) {
            sum += within(o, &b->points.at[i]);
            dof += b->points.at[i].count - 1;
        }
    n->every = sum / dof;
    double *at = NEW_ARRAY(double, m *D + 1);
    for (size_t i = 0; i < m; i++)
        memcpy(at + i * D, b->points.at[o->active.at[i]].u, D * sizeof *at);
    n->mean = NEW_ARRAY(double, 2 * m + 1);
    n->var = n->mean + m;
    bo_model_predict_many(&o->model, at, m, n->mean, n->var);
    mem_free(at);
}

void bo_noise_release(struct bo_noise *n) {
    mem_free(n->mean);
}

void bo_noise_believe(const struct bo_output *o, const struct bo_noise *n, const double *u,
                      size_t i, double *mean, double *var) {
    double t2 = ripple_at(o, u, n);
    if (i == SIZE_MAX) {
        *var += t2;
        return;
    }
    const struct bo_point *p = &o->b->points.at[i];
    double s2 = bo_noise_at(o, u, n) / p->count, D = t2 + s2, q = D > 0 ? s2 / D : 1;
    *mean += (1 - q) * (bo_to_z(o, p->y[o->k]) - *mean);
    *var = D * q * (1 - q) + q * q * *var;
}

/* ---- a search that takes its values for exact ---- */

#define DOUBT_FIRST 20 /* evaluations before the first doubt; then at each doubling */
#define DOUBT_NATS  5.0

static bool any_repeated(const struct bo *b) {
    for (size_t i = 0; i < b->points.n; i++)
        if (b->points.at[i].count > 1) return true;
    return false;
}

/* Does the same model explain the values much better when they are noisy? */
static bool better_with_noise(struct bo_output *o) {
    struct bo_model noisy;
    if (bo_ensure_model(o)) return false;
    double exact = bo_model_nlp(&o->model, o->model.theta, NULL), other = INFINITY;
    bo_model_init(&noisy, o->model.d, o->model.n_cat, true);
    noisy.kind = o->model.kind;
    memcpy(noisy.theta, o->model.theta, (size_t)(noisy.D + 3) * sizeof *noisy.theta);
    noisy.theta[noisy.D] = log(0.1);
    if (!bo_model_load(&noisy, o->model_u.at, o->model_y.at, o->model_y.n))
        other = bo_model_fit(&noisy, 30);
    bo_model_release(&noisy);
    return other < exact - DOUBT_NATS;
}

bool bo_doubt(struct bo *b, double *u) {
    size_t best = bo_incumbent(b, false);
    if (b->opt.noisy || b->told < DOUBT_FIRST || b->told < 2 * b->doubted) return false;
    b->doubted = b->told;
    if (best == SIZE_MAX || any_repeated(b) || !better_with_noise(bo_lead(b))) return false;
    memcpy(u, b->points.at[best].u, (size_t)b->D * sizeof *u);
    return true;
}

bool bo_noise_seen(const struct bo *b, double *sd) {
    const struct bo_output *o = bo_lead(b);
    double sum = 0, dof = 0, size = 0;
    for (size_t i = 0; i < b->points.n; i++) {
        const struct bo_point *p = &b->points.at[i];
        for (int j = 0; p->count > 1 && j < p->count; j++) {
            double t = p->ys.at[(size_t)(j * b->K + o->k)] - p->y[o->k];
            sum += t * t;
            size = fmax(size, fabs(p->y[o->k]));
        }
        if (p->count > 1) dof += p->count - 1;
    }
    *sd = dof > 0 ? sqrt(sum / dof) : 0;
    return *sd > 1e-12 * size;
}
