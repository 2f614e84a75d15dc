/* SPDX-License-Identifier: Apache-2.0
 * Several objectives: the front of the evaluations within their bounds, the units it is measured
 * in, and what a point would add to it. */
#include "apps/optimize/bo_priv.h"
#include "apps/optimize/pareto.h"

#include <math.h>
#include <string.h>

#define BEYOND 0.1 /* the reference point lies so much of the front's width beyond its end */

/* Objectives of the points that count: those within their bounds, else all that succeeded. */
static size_t collect(const struct bo *b, double *y, size_t *index) {
    size_t n = 0, m = (size_t)b->n_obj;
    for (int pass = 0; pass < 2 && !n; pass++)
        for (size_t i = 0; i < b->points.n; i++) {
            const struct bo_point *p = &b->points.at[i];
            if (!p->count || (!pass && bo_violation(b, p->y) > 0)) continue;
            for (size_t j = 0; j < m; j++) y[n * m + j] = p->y[b->obj[j]];
            index[n++] = i;
        }
    return n;
}

/* Where the front begins and how wide it is in objective j: to the reference point when one is
 * given, else to its end. */
static void set_units(struct bo *b, const double *y, size_t n, const bool *keep) {
    size_t m = (size_t)b->n_obj;
    for (size_t j = 0; j < m; j++) {
        double lo = INFINITY, hi = -INFINITY, all = -INFINITY;
        for (size_t i = 0; i < n; i++) {
            lo = fmin(lo, y[i * m + j]);
            all = fmax(all, y[i * m + j]);
            if (keep[i]) hi = fmax(hi, y[i * m + j]);
        }
        double ref = b->out[b->obj[j]].goal.reference;
        b->ideal[j] = lo;
        b->unit[j] = ref > lo ? ref - lo : hi > lo ? hi - lo : all > lo ? all - lo : 1;
        b->end[j] = ref > lo ? 1 : 1 + BEYOND;
    }
}

#define ENDS_EVERY 4    /* decisions */
#define END_GAIN   0.03 /* of the front's width, in the model's units: less does not count */

/* A reference point says how far the front is of use. Where one is missing its ends are sought,
 * too, the least of each objective in turn: volume alone would let them grow by little at a time.
 */
static int end_sought(const struct bo *b) {
    bool open = false;
    for (int j = 0; j < b->n_obj; j++) open |= isnan(b->out[b->obj[j]].goal.reference);
    if (!open || b->n_global % ENDS_EVERY) return -1;
    return (int)(b->n_global / ENDS_EVERY % (size_t)b->n_obj);
}

bool bo_end_gains(const struct bo *b, double value) {
    const struct bo_output *o = &b->out[b->obj[b->alone]];
    double least = b->ideal[b->alone], most = least + b->unit[b->alone], z = bo_to_z(o, least);
    return value < z - END_GAIN * (bo_to_z(o, most) - z);
}

void bo_front_update(struct bo *b, struct rng *r) {
    size_t m = (size_t)b->n_obj;
    b->alone = -1;
    if (m < 2) return;
    if (r) b->alone = end_sought(b);
    double *y = NEW_ARRAY(double, b->points.n *m + 1), sum = 0;
    size_t *index = NEW_ARRAY(size_t, b->points.n + 1), n = collect(b, y, index);
    bool *keep = NEW_ARRAY(bool, n + 1);
    pareto_front(y, n, b->n_obj, keep);
    set_units(b, y, n, keep);
    vec_clear(&b->front);
    vec_clear(&b->front_y);
    for (size_t i = 0; i < n; i++) {
        if (!keep[i]) continue;
        vec_push(&b->front, index[i]);
        for (size_t j = 0; j < m; j++)
            vec_push(&b->front_y, (y[i * m + j] - b->ideal[j]) / b->unit[j]);
    }
    for (size_t j = 0; j < m; j++) { /* weights: uniform on the simplex; without r all the same */
        double w = r ? -log(rng_uniform(r)) : 1;
        if (b->alone >= 0) w = (int)j != b->alone; /* its distance from the least counts most */
        b->gain[b->obj[j]] = w;
        sum += w;
    }
    for (size_t j = 0; j < m; j++) {
        int k = b->obj[j];
        b->gain[k] = 1 / (b->unit[j] * fmax(0.02, b->gain[k] / sum));
        b->from[k] = b->ideal[j];
    }
    mem_free(y);
    mem_free(index);
    mem_free(keep);
}

/* How far y is behind the front, and behind the reference point. */
static double behind(const struct bo *b, const double *y, double *slope) {
    size_t m = (size_t)b->n_obj;
    double most = -INFINITY, sum = 0;
    size_t at = 0;
    for (size_t j = 0; j < m; j++) slope[j] = 0;
    for (size_t i = 0; i < b->front.n; i++) {
        size_t least = 0;
        for (size_t j = 1; j < m; j++)
            if (y[j] - b->front_y.at[i * m + j] < y[least] - b->front_y.at[i * m + least])
                least = j;
        double d = y[least] - b->front_y.at[i * m + least];
        if (d > most) most = d, at = least;
    }
    if (most > 0) slope[at] = 1, sum = most;
    for (size_t j = 0; j < m; j++)
        if (y[j] > b->end[j]) slope[j] += 1, sum += y[j] - b->end[j];
    return sum;
}

double bo_front_value(const struct bo *b, const double *y, double *slope) {
    enum { MOST = BO_MAX_OBJECTIVES };
    static const double tiny = 1e-9; /* of the volume: below, points count as behind */
    double u[MOST];
    for (int j = 0; j < b->n_obj; j++) u[j] = (y[j] - b->ideal[j]) / b->unit[j];
    double v = pareto_added(b->front_y.at, b->front.n, b->n_obj, b->end, u, slope);
    double f = -log(v + tiny);
    for (int j = 0; j < b->n_obj && v > 0; j++) slope[j] /= -(v + tiny);
    if (v <= 0) f += behind(b, u, slope);
    for (int j = 0; j < b->n_obj; j++) slope[j] /= b->unit[j];
    return f;
}
