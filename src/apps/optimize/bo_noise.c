/* SPDX-License-Identifier: Apache-2.0
 * What repetitions say: how far off the model is, how noisy a place is, and whether values that are
 * taken for exact are noisy. In the model's units. */
#include "numeric/posterior/mixture.h"
#include "numeric/special/special.h"
#include "apps/optimize/bo_priv.h"

#include <math.h>
#include <string.h>

#define PRIOR_DOF 2.0 /* the model's noise counts as so many repetitions */
#define PLACE_DOF 6.0 /* and the noise everywhere as so many for that of a place */
#define PLACE     2.0 /* weights around a place: exp(-PLACE r^2), r in length scales */

#define OFF_PRIOR 0.7
#define OFF_CLOSE 60.0 /* around any other place: sharp minima are narrow */
#define OFF_SITE  40.0 /* weights around an evaluated point: what its own values say comes first */

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

/* Variance of an evaluation's noise from repetitions; at u: from those around it. */
static double noise_at(struct bo_output *o, const double *u) {
    const struct bo *b = o->b;
    double model = bo_model_noise_sd(&o->model), sum = PRIOR_DOF * model * model, dof = PRIOR_DOF;
    double near = 0, near_dof = 0;
    for (size_t i = 0; i < b->points.n; i++) {
        const struct bo_point *p = &b->points.at[i];
        if (p->count < 2) continue;
        double w = u ? weight(o, u, p) : 0, square = within(o, p) / bo_loud(o, p->u);
        sum += square;
        dof += p->count - 1;
        near += w * square;
        near_dof += w * (p->count - 1);
    }
    return (u ? bo_loud(o, u) : 1) * (PLACE_DOF * sum / dof + near) / (PLACE_DOF + near_dof);
}

double bo_noise_sd_at(struct bo_output *o, const double *u) {
    return sqrt(noise_at(o, u));
}

/* What the other points say of the function at point p, from what all of them say (mean, var): its
 * m values of mean y and noise s2 have the share k = m var/s2 in that, and without them
 *
 *   y - mean' = (y - mean)/(1 - k),   var' = var/(1 - k) */
void bo_leave_out(struct bo_output *o, const struct bo_point *p, double *mean, double *var) {
    double s = bo_model_noise_sd(&o->model), y = bo_to_z(o, p->y[o->k]);
    double left = fmax(0.02, 1 - *var * p->count / (s * s * bo_loud(o, p->u)));
    *mean = y - (y - *mean) / left;
    *var /= left;
}

double *bo_left_out(struct bo_output *o, const double *told) {
    size_t n = o->active.n;
    double *out = NEW_ARRAY(double, 2 * n + 1), mean, var, s2 = noise_at(o, NULL);
    for (size_t i = 0; i < n; i++) {
        const struct bo_point *p = &o->b->points.at[o->active.at[i]];
        bo_model_predict(&o->model, p->u, &mean, &var);
        if (told) mean = told[i];
        bo_leave_out(o, p, &mean, &var);
        out[2 * i] = bo_to_z(o, p->y[o->k]) - mean;
        out[2 * i + 1] = var + s2 * bo_loud(o, p->u) / p->count;
    }
    return out;
}

static const double off_grid[BO_OFF] = {0, 0.1, 0.2, 0.35, 0.5, 0.75, 1, 1.5, 2.5, 4, 7, 12};

/* Prior mass of the grid's point j. */
static double off_prior(int j) {
    double wide = off_grid[j < BO_OFF - 1 ? j + 1 : j] - off_grid[j ? j - 1 : 0];
    double c = off_grid[j] / OFF_PRIOR;
    return wide / (1 + c * c);
}

/* A smooth model is off at sharp minima and on ripples finer than the points lie apart, alike at
 * each repetition, and its variance does not say so. Left out, a point's values are off by r, of
 * which the model expects the variance e: were it off by t besides, r ~ N(0, e + t^2). The
 * likelihood of t from the points around the evaluated place u, each to the power of its weight,
 * under a half-Cauchy prior whose scale is OFF_PRIOR of the noise, on a grid. */
void bo_off(struct bo_output *o, const double *left, const double *u, struct bo_off *out) {
    double s = bo_noise_sd_at(o, NULL) * sqrt(bo_loud(o, u)), most = -INFINITY, total = 0;
    for (int j = 0; j < BO_OFF; j++) {
        out->t2[j] = off_grid[j] * off_grid[j] * s * s;
        out->share[j] = log(off_prior(j));
        for (size_t i = 0; i < o->active.n; i++) {
            double w = exp(-OFF_SITE * bo_distance2(o->b, u, o->b->points.at[o->active.at[i]].u,
                                                    o->model.inv_l));
            double var = fmax(1e-300, left[2 * i + 1] + out->t2[j]), r = left[2 * i];
            out->share[j] -= 0.5 * w * (log(var) + r * r / var);
        }
        most = fmax(most, out->share[j]);
    }
    for (int j = 0; j < BO_OFF; j++) total += out->share[j] = exp(out->share[j] - most);
    for (int j = 0; j < BO_OFF; j++) out->share[j] /= total;
}

/* The same at a place u that was not evaluated, from the points close to it, which are off alike:
 * by t ~ N(0, s^2), s as above. With A = sum w/e, B = sum w r/e
 *
 *   t | s ~ N(B s^2/(1 + s^2 A), s^2/(1 + s^2 A)),
 *   log p(r | s) = (B^2 s^2/(1 + s^2 A) - log(1 + s^2 A))/2.
 *
 * The variance becomes that of the normal whose 90% interval is the mixture's: its tails are heavy.
 */
void bo_off_between(struct bo_output *o, const double *left, const double *u, double *mean,
                    double *var) {
    double noise = noise_at(o, NULL) * bo_loud(o, u), A = 0, B = 0;
    struct mixture off = {0}, around = {0};
    for (size_t i = 0; i < o->active.n; i++) {
        double r2 = bo_distance2(o->b, u, o->b->points.at[o->active.at[i]].u, o->model.inv_l);
        double w = exp(-OFF_CLOSE * r2) / left[2 * i + 1];
        A += w;
        B += w * left[2 * i];
    }
    if (!(noise > 0) || !isfinite(A) || !(*var > 0)) return;
    for (int j = 0; j < BO_OFF; j++) {
        double s2 = off_grid[j] * off_grid[j] * noise, rest = 1 / (1 + s2 * A), m = B * s2 * rest;
        double share = off_prior(j) * sqrt(rest) * exp(fmin(300, 0.5 * B * m));
        mixture_add(
            &off, (struct mixture_part){.weight = share, .mean = m, .sd = sqrt(*var + s2 * rest)});
    }
    double centre = mixture_mean(&off);
    for (int j = 0; j < 2 * BO_OFF; j++) { /* each part, and its mirror image about the mean */
        struct mixture_part p = off.part.at[j / 2];
        p.mean = (j % 2 ? 1 : -1) * (p.mean - centre);
        mixture_add(&around, p);
    }
    double wide = mixture_quantile(&around, 0.95) / norm_quantile(0.95);
    *mean += centre;
    *var = wide * wide;
    mixture_release(&off);
    mixture_release(&around);
}

/* ---- a search that takes its values for exact ---- */

#define DOUBT_FIRST 16   /* evaluations before the first doubt */
#define DOUBT_NEXT  1.25 /* and then so many times as many */
/* A needless repetition costs one evaluation, once: the values agree, and all is exact from then
 * on.
 */
#define DOUBT_NATS 3.0

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
    bo_model_init(&noisy, o->model.d, o->model.n_cat, o->model.fidelity, true);
    noisy.kind = o->model.kind;
    memcpy(noisy.theta, o->model.theta, bo_model_size(&noisy) * sizeof *noisy.theta);
    noisy.theta[noisy.D] = log(0.1);
    if (!bo_model_load(&noisy, o->model_u.at, o->model_y.at, o->model_y.n))
        other = bo_model_fit(&noisy, 30);
    bo_model_release(&noisy);
    return other < exact - DOUBT_NATS;
}

/* A repetition is under way, here or at another worker. */
static bool repeating(const struct bo *b) {
    size_t D = (size_t)b->D;
    for (size_t i = 0; i < b->points.n; i++)
        for (size_t k = 0; k < b->pending.n; k += D)
            if (memcmp(b->points.at[i].u, b->pending.at + k, D * sizeof(double)) == 0) return true;
    return false;
}

bool bo_doubt(struct bo *b, double *u) {
    size_t best = bo_incumbent(b, false);
    if (b->opt.noisy || b->told < DOUBT_FIRST || (double)b->told < DOUBT_NEXT * (double)b->doubted)
        return false;
    b->doubted = b->told;
    if (best == SIZE_MAX || any_repeated(b) || repeating(b) || !better_with_noise(bo_lead(b)))
        return false;
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
