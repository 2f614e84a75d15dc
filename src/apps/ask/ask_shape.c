/* SPDX-License-Identifier: Apache-2.0
 *
 * Two shapes are fitted to the course by least squares: a straight line, and a line with one bend
 * (at the best of the places between knots). Knots stand at the same places in every draw, so all
 * that depends on them alone is computed once: with h the function (t - tau)+ less its own line,
 * a bend at tau takes (y . h)^2 / (h . h) off what the line leaves.
 */
#include "apps/ask/ask_curve.h"
#include <math.h>
#include <pthread.h>

#define K       SKETCH_KNOTS
#define FIRST   4 /* two knots on either side of a bend */
#define LAST    (ASK_BENDS - 4)
#define NOTHING 1e-12 /* a sum of squares that counts as zero */

static struct {
    pthread_once_t once;
    double tt;                   /* sum of (t - 1/2)^2 */
    int first[ASK_BENDS + 1];    /* the first knot behind a bend */
    double slope[ASK_BENDS + 1]; /* of the line through (t - tau)+ */
    double hh[ASK_BENDS + 1];
} bends = {.once = PTHREAD_ONCE_INIT};

static void prepare_bends(void) {
    for (int k = 0; k < K; k++) bends.tt += (ask_knot(k) - 0.5) * (ask_knot(k) - 0.5);
    for (int i = FIRST; i <= LAST; i++) {
        double tau = (double)i / ASK_BENDS, mean = 0, cross = 0, sq = 0;
        bends.first[i] = (int)ceil(tau * K - 0.5);
        for (int k = bends.first[i]; k < K; k++) {
            double h = ask_knot(k) - tau;
            mean += h / K;
            cross += h * (ask_knot(k) - 0.5);
            sq += h * h;
        }
        bends.slope[i] = cross / bends.tt;
        bends.hh[i] = sq - K * mean * mean - bends.slope[i] * cross;
    }
}

void ask_course(const struct sketch *p, const struct sketch_draw *d, double *y) {
    for (int k = 0; k < K; k++) y[k] = d->level[k];
    for (int i = 0; i < d->n_events; i++)
        for (int k = 0; k < K && d->event[i].step; k++)
            if (ask_knot(k) > d->event[i].date) y[k] -= d->event[i].size;
    for (int k = 0; k < K; k++) y[k] /= p->sd;
}

static struct ask_shape ask_shape_of(const struct sketch *p, const struct sketch_draw *d) {
    double y[K], mean = 0, all = 0, ty = 0, lo = INFINITY, hi = -INFINITY, best = -1;
    double tail[K + 1], tail_t[K + 1]; /* sums of y and t y over the knots from k on */
    struct ask_shape s = {.tau = 1};
    pthread_once(&bends.once, prepare_bends);
    ask_course(p, d, y);
    for (int k = 0; k < K; k++) {
        mean += y[k] * (1.0 / K); /* exact: a power of two */
        if (y[k] < lo) lo = y[k];
        if (y[k] > hi) hi = y[k];
    }
    s.range = hi - lo;
    tail[K] = tail_t[K] = 0;
    for (int k = K - 1; k >= 0; k--) {
        double v = y[k] - mean;
        all += v * v;
        ty += (ask_knot(k) - 0.5) * v;
        tail[k] = tail[k + 1] + v;
        tail_t[k] = tail_t[k + 1] + ask_knot(k) * v;
    }
    s.spread = sqrt(all / K);
    if (!(all > NOTHING)) return s;
    double by_line = ty * ty / bends.tt, slope = ty / bends.tt, bend = 0;
    s.fit_line = by_line / all;
    s.line = slope;
    int at = FIRST;
    for (int i = FIRST; i <= LAST; i++) {
        int k = bends.first[i];
        double hy = tail_t[k] - (double)i / ASK_BENDS * tail[k] - bends.slope[i] * ty;
        double taken = hy * hy / bends.hh[i];
        if (!(taken > best)) continue;
        best = taken;
        at = i;
        bend = hy / bends.hh[i];
    }
    s.tau = (double)at / ASK_BENDS;
    s.before = (slope - bend * bends.slope[at]) * s.tau;
    s.after = (slope - bend * bends.slope[at] + bend) * (1 - s.tau);
    s.fit = fmin((by_line + best) / all, 1);
    return s;
}

double ask_rough(const struct sketch_draw *d) {
    double r = d->share[KIND_ROUGH],
           all = r + d->share[KIND_SMOOTH] + d->share[KIND_DRIFT] + d->share[KIND_LINE] + 1e-6;
    for (int i = 0; i < d->n_events; i++) all += d->event[i].step ? 0 : 1e-2;
    return r / all;
}

const struct ask_shape *ask_view_shape(struct ask_view *v) {
    if (!v->shaped) v->shape = ask_shape_of(v->p, v->d);
    v->shaped = true;
    return &v->shape;
}

double ask_bend(struct ask_view *v, double sign, double *tau) {
    const struct ask_shape *s = ask_view_shape(v);
    double slope = sign * s->after / (1 - s->tau); /* NaN where there is no course: no edge holds */
    double bend = slope - sign * s->before / s->tau;
    *tau = s->tau;
    return ask_soft(sign * s->after, EDGE_RISE, 0.1) *
           ask_soft(bend / (fabs(slope) + 1e-9), 0.5, 0.12) * ask_soft(s->fit, EDGE_FIT, 0.08) *
           (1 - 0.8 * ask_rough(v->d));
}
