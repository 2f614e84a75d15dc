/* SPDX-License-Identifier: Apache-2.0
 *
 * What predicates mean, on the curves of one draw. Sizes are in standard deviations of the values
 * (sd). An edge is soft: Phi((v - edge) / width).
 *
 * The course is the level without its steps. Two shapes are fitted to it by least squares: a
 * straight line, and a line with one bend (at the best of the places between knots). A trend is the
 * part of either that rises or falls by EDGE_RISE sd, where the shape explains the course. */
#include "apps/ask/ask_curve.h"
#include "base/mem.h"
#include <math.h>
#include <string.h>

#define K      SKETCH_KNOTS
#define AROUND 1.5 /* units of the date as it was written: "around 1968" is 1.5 years */

double ask_soft(double v, double edge, double width) {
    double z = (v - edge) / width;
    if (!(z > -7)) return 0; /* also of no number; what is left out is 1e-12 */
    return z > 7 ? 1 : 0.5 * erfc(-z * 0.70710678118654752);
}

/* ---- time ---- */
static struct ask_axis ask_axis_of(const struct sketch *p) {
    return (struct ask_axis){p->clock, p->x0, p->span};
}

/* Not finer than a knot. */
double ask_around(const struct ask_axis *a, struct ask_date d) {
    double unit = a->clock == CLOCK_DAYS ? d.unit * DAYS_PER_YEAR : d.unit;
    if (a->clock == CLOCK_NUMBER) return 0.05;
    return fmax(AROUND * unit / a->span, 0.5 / K);
}

double ask_near(double t, double place, double around) {
    double off = (t - place) / around; /* NaN: the axis has no such date */
    return isnan(off) ? 0 : exp(-0.5 * off * off);
}

static struct ask_stretch stretch(const struct ask_predicate *q, const struct sketch *p) {
    struct ask_axis a = ask_axis_of(p);
    return ask_stretch_of(q, &a);
}

/* The knots that a predicate asks about. */
static bool knots(const struct ask_predicate *q, const struct sketch *p, int *a, int *b) {
    *a = 0, *b = K;
    return !(q->given & ASK_INTERVAL) || ask_knots(stretch(q, p), a, b);
}

bool ask_periods(const struct ask_predicate *q, enum sketch_clock clock, double *from, double *to) {
    double unit = !q->period_years        ? 1
                  : clock == CLOCK_DAYS   ? DAYS_PER_YEAR
                  : clock == CLOCK_NUMBER ? NAN
                                          : 1;
    *from = q->period_from * unit;
    *to = q->period_to * unit;
    return q->given & ASK_PERIOD;
}

/* ---- trends; sign +1: rising ---- */
static double trend_from(const struct ask_predicate *q, struct ask_view *v, double sign) {
    struct ask_axis axis = ask_axis_of(v->p);
    double tau, strength = ask_bend(v, sign, &tau);
    return ask_near(tau, ask_place(&axis, q->from), ask_around(&axis, q->from)) * strength;
}

static double trend_within(const struct ask_predicate *q, const struct sketch *p,
                           const struct sketch_draw *d, double sign) {
    int a, b;
    double y[K], n = 0, mt = 0, my = 0, stt = 0, sty = 0, syy = 0;
    if (!knots(q, p, &a, &b) || b - a < 3) return 0;
    ask_course(p, d, y);
    for (int k = a; k < b; k++) n++, mt += ask_knot(k), my += y[k];
    mt /= n, my /= n;
    for (int k = a; k < b; k++) {
        double t = ask_knot(k) - mt, v = y[k] - my;
        stt += t * t, sty += t * v, syy += v * v;
    }
    double rise = sign * sty / stt * (ask_knot(b - 1) - ask_knot(a));
    double share = syy > 1e-12 ? sty * sty / (stt * syy) : 0;
    return ask_soft(rise, EDGE_WITHIN, WIDTH_WITHIN) * ask_soft(share, 0.6, 0.1);
}

static double trend_ever(struct ask_view *v, double sign) {
    struct ask_shape s = *ask_view_shape(v);
    const struct sketch_draw *d = v->d;
    double rise = fmax(sign * s.before, sign * s.after);
    double bent = ask_soft(rise, EDGE_RISE, 0.1) * ask_soft(s.fit, EDGE_FIT, 0.08) *
                  ask_soft(rise / (s.range + 1e-9), EDGE_MOST, 0.08);
    double line = ask_soft(sign * d->line / v->p->sd, EDGE_RISE, 0.1);
    return fmax(bent * (1 - 0.8 * ask_rough(d)), line);
}

static double trend(const struct ask_predicate *q, struct ask_view *v, double sign) {
    if (q->given & ASK_FROM) return trend_from(q, v, sign);
    if (q->given & ASK_INTERVAL) return trend_within(q, v->p, v->d, sign);
    return trend_ever(v, sign);
}

/* A straight line: throughout, of the whole course or as a component of its own; else also from a
 * bend on. */
static double linear(const struct ask_predicate *q, struct ask_view *v) {
    struct ask_shape s = *ask_view_shape(v);
    const struct sketch_draw *d = v->d;
    double own = ask_soft(fabs(d->line) / v->p->sd, EDGE_RISE, 0.1);
    double straight = ask_soft(fabs(s.line), EDGE_RISE, 0.1) * ask_soft(s.fit_line, 0.9, 0.04) *
                      (1 - 0.8 * ask_rough(d));
    double bend = 0;
    for (int i = 0; i < d->n_events; i++)
        if (!d->event[i].step) bend = ask_soft(fabs(d->event[i].size) / v->p->sd, EDGE_RISE, 0.1);
    if (q->throughout) return fmax(own * (1 - bend), straight);
    double bent = ask_soft(fmax(fabs(s.before), fabs(s.after)), EDGE_RISE, 0.1) *
                  ask_soft(s.fit, 0.94, 0.03) * (1 - ask_rough(d));
    return fmax(fmax(own, straight), fmax(bend, bent));
}

/* ---- patterns ---- */
static double ask_swing(const struct ask_predicate *q, const struct sketch *p,
                        const struct sketch_draw *d, double *s) {
    double most = 0, from, to;
    bool any = !ask_periods(q, p->clock, &from, &to);
    memset(s, 0, K * sizeof *s);
    for (int i = 0; i < d->n_patterns; i++) {
        double period = d->pattern[i].period;
        if (!any && !(period >= from && period <= to)) continue;
        for (int k = 0; k < K; k++) s[k] += (double)d->pattern[i].swing[k] * d->pattern[i].swing[k];
    }
    for (int k = 0; k < K; k++) {
        s[k] = sqrt(s[k]) / p->sd;
        if (s[k] > most) most = s[k];
    }
    return most;
}

/* Where a pattern is there, from its swing: a degree per knot; returns the degree to which there is
 * one. */
static double presence(const double *swing, double most, double *there) {
    double edge = fmax(EDGE_THERE * most, EDGE_SWING / 3);
    for (int k = 0; k < K; k++) there[k] = most > 0 ? ask_soft(swing[k] / edge, 1, 0.25) : 0;
    return most > 0 ? ask_soft(most, EDGE_SWING, 0.04) : 0;
}

static double mean_of(const double *v, int a, int b) {
    double sum = 0;
    for (int k = a; k < b; k++) sum += v[k];
    return b > a ? sum / (b - a) : 0;
}

double ask_edge(const double *there, bool until, double *t) {
    int best = 1;
    double most = -INFINITY, left = 0, all = 0;
    for (int k = 0; k < K; k++) all += there[k] - 0.5;
    for (int c = 1; c < K; c++) {
        left += there[c - 1] - 0.5;
        double v = until ? 2 * left - all : all - 2 * left;
        if (v > most) most = v, best = c;
    }
    double with = until ? mean_of(there, 0, best) : mean_of(there, best, K);
    double without = until ? mean_of(there, best, K) : mean_of(there, 0, best);
    *t = (double)best / K;
    return ask_soft(with, EDGE_COVER, WIDTH_COVER) * (1 - ask_soft(without, 0.3, 0.08));
}

/* It begins, or ends, around a date. */
static double edge_of_pattern(const struct ask_predicate *q, const struct sketch *p,
                              const double *there) {
    bool until = q->given & ASK_UNTIL;
    struct ask_date date = until ? q->to : q->from;
    struct ask_axis axis = ask_axis_of(p);
    double t, strength = ask_edge(there, until, &t);
    return ask_near(t, ask_place(&axis, date), ask_around(&axis, date)) * strength;
}

double ask_view_swing(struct ask_view *v, const double **swing) {
    static const struct ask_predicate any = {.name = ASK_PERIODIC};
    if (!v->swung) v->swings = ask_swing(&any, v->p, v->d, v->swing);
    v->swung = true;
    *swing = v->swing;
    return v->swings;
}

double ask_view_presence(struct ask_view *v, const double **there) {
    const double *swing;
    double most = ask_view_swing(v, &swing);
    if (!v->looked) v->seen = presence(swing, most, v->there);
    v->looked = true;
    *there = v->there;
    return v->seen;
}

static double periodic(const struct ask_predicate *q, struct ask_view *v) {
    double own[K], swing[K], seen;
    const double *there = own;
    int a, b;
    if (q->given & ASK_PERIOD)
        seen = presence(swing, ask_swing(q, v->p, v->d, swing), own);
    else
        seen = ask_view_presence(v, &there);
    if (!(seen > 0)) return 0;
    if (q->given & (ASK_FROM | ASK_UNTIL)) return seen * edge_of_pattern(q, v->p, there);
    if (q->throughout) return seen * ask_soft(mean_of(there, 0, K), 0.9, 0.04);
    if (!(q->given & ASK_INTERVAL)) return seen;
    if (!knots(q, v->p, &a, &b)) return 0;
    return seen * ask_soft(mean_of(there, a, b), EDGE_COVER, WIDTH_COVER);
}

/* ---- growth ---- */
/* A curve grows over the knots [a, b) when a straight line through it rises by EDGE_GROWTH of its
 * mean, and explains it no worse than a single step does: what begins is not what grows. */
static double growth(const double *v, int a, int b, double sign) {
    double n = b - a, mt = 0, mv = 0, stt = 0, stv = 0, svv = 0, step = 0, sum = 0;
    if (n < 4) return 0;
    for (int k = a; k < b; k++) mt += ask_knot(k), mv += v[k];
    mt /= n, mv /= n;
    for (int k = a; k < b; k++) {
        double t = ask_knot(k) - mt, u = v[k] - mv;
        stt += t * t, stv += t * u, svv += u * u;
    }
    if (!(svv > 1e-12 * mv * mv) || !(mv > 0)) return 0;
    double rise = sign * stv / stt * (ask_knot(b - 1) - ask_knot(a)) / mv;
    double grows = ask_soft(rise, EDGE_GROWTH, WIDTH_GROWTH);
    if (grows == 0) return 0;
    for (int c = a + 1; c < b; c++) {
        sum += v[c - 1] - mv; /* of the left side; that of the right one is its negative */
        step = fmax(step, sum * sum * n / ((c - a) * (b - c)));
    }
    return grows * ask_soft(stv * stv / (stt * svv) - step / svv, 0, 0.05);
}

static double curve_grows(const struct ask_predicate *q, struct ask_view *v, bool noise,
                          double sign) {
    double own[K], seen = 1;
    const double *curve = own;
    int a, b;
    if (!knots(q, v->p, &a, &b)) return 0;
    if (noise)
        for (int k = 0; k < K; k++) own[k] = v->d->noise[k];
    else {
        double most =
            q->given & ASK_PERIOD ? ask_swing(q, v->p, v->d, own) : ask_view_swing(v, &curve);
        seen = ask_soft(most, EDGE_SWING, 0.04);
    }
    return seen > 0 ? seen * growth(curve, a, b, sign) : 0;
}

/* ---- the others ---- */
static double jumps(const struct ask_predicate *q, const struct sketch *p,
                    const struct sketch_draw *d) {
    struct ask_stretch w = stretch(q, p);
    double most = 0;
    for (int i = 0; i < d->n_events; i++) {
        const struct sketch_event *e = &d->event[i];
        if (!e->step || (q->up && e->size < 0) || (q->down && e->size > 0)) continue;
        double size = fabs((double)e->size);
        double in =
            ask_soft(e->date, w.from, WIDTH_DATE) * (1 - ask_soft(e->date, w.to, WIDTH_DATE));
        double large = q->given & ASK_SIZE ? (double)(size >= q->size)
                                           : ask_soft(size / p->sd, EDGE_JUMP, 0.08);
        most = fmax(most, in * large);
    }
    return most;
}

/* What moves the level is a smooth function. */
static double smooth(struct ask_view *v) {
    struct ask_shape s = *ask_view_shape(v);
    const struct sketch *p = v->p;
    const struct sketch_draw *d = v->d;
    double own = d->share[KIND_SMOOTH] + d->share[KIND_DRIFT], step = 0;
    double all = own + d->share[KIND_ROUGH] + d->share[KIND_LINE] + 1e-9;
    for (int i = 0; i < d->n_events; i++)
        step = fmax(step, ask_soft(fabs((double)d->event[i].size) / p->sd, EDGE_JUMP, 0.08));
    return ask_soft(s.spread, 0.2, 0.05) * ask_soft(own / all, 0.5, 0.1) * (1 - step);
}

static double pure_noise(struct ask_view *v) {
    struct ask_shape s = *ask_view_shape(v);
    const struct sketch *p = v->p;
    const struct sketch_draw *d = v->d;
    double still = 1 - ask_soft(s.spread, 0.2, 0.05), seen = 0, least = INFINITY, most = 0,
           step = 0;
    if (still == 0) return 0;
    for (int k = 0; k < K; k++) {
        for (int i = 0; i < d->n_patterns; i++) seen = fmax(seen, d->pattern[i].swing[k]);
        least = fmin(least, d->noise[k]);
        most = fmax(most, d->noise[k]);
    }
    for (int i = 0; i < d->n_events; i++) step = fmax(step, fabs((double)d->event[i].size) / p->sd);
    return still * (1 - ask_soft(seen / p->sd, EDGE_SWING, 0.04)) *
           (1 - ask_soft(most / least, 1.4, 0.1)) * (1 - ask_soft(step, 0.2, 0.05));
}

/* The level between knots. */
static double level_at(const struct sketch_draw *d, double t) {
    double u = t * K - 0.5;
    int k = (int)floor(fmin(fmax(u, 0), K - 2));
    return d->level[k] + (u - k) * ((double)d->level[k + 1] - d->level[k]);
}

/* A value at a time of which the data say nothing. */
static bool outside(const struct ask_predicate *q, const struct sketch *p) {
    struct ask_axis axis = ask_axis_of(p);
    double t = ask_place(&axis, q->from);
    return t < -0.5 / K || t > 1 + 0.5 / K;
}

bool ask_outside(const struct ask *q, const struct sketch *p) {
    if (q->op == ASK_PREDICATE) return q->p.name == ASK_VALUE && outside(&q->p, p);
    return (q->a && ask_outside(q->a, p)) || (q->b && ask_outside(q->b, p));
}

static double level_bound(const struct ask_predicate *q, const struct sketch *p,
                          const struct sketch_draw *d) {
    struct ask_axis axis = ask_axis_of(p);
    if (outside(q, p)) return 0;
    double v = level_at(d, ask_place(&axis, q->from));
    return q->below ? v < q->bound : v > q->bound;
}

static double share(const struct ask_predicate *q, const struct sketch_draw *d) {
    double all = 1e-12;
    for (int k = 0; k < SKETCH_KINDS; k++) all += d->share[k];
    double v = d->share[q->kind] / all;
    return q->below ? v < q->bound : v > q->bound;
}

double ask_degree(const struct ask_predicate *q, struct ask_view *v) {
    const struct sketch *p = v->p;
    const struct sketch_draw *d = v->d;
    switch (q->name) {
    case ASK_RISES: return trend(q, v, 1);
    case ASK_FALLS: return trend(q, v, -1);
    case ASK_LINEAR: return linear(q, v);
    case ASK_PERIODIC: return periodic(q, v);
    case ASK_SWING_GROWS: return curve_grows(q, v, false, 1);
    case ASK_SWING_SHRINKS: return curve_grows(q, v, false, -1);
    case ASK_NOISE_GROWS: return curve_grows(q, v, true, 1);
    case ASK_NOISE_SHRINKS: return curve_grows(q, v, true, -1);
    case ASK_JUMPS: return jumps(q, p, d);
    case ASK_SMOOTH: return smooth(v);
    case ASK_RANDOM_WALK:
        return ask_soft(ask_rough(d), 0.5, 0.1) * ask_soft(ask_view_shape(v)->spread, 0.2, 0.05);
    case ASK_PURE_NOISE: return pure_noise(v);
    case ASK_VALUE: return level_bound(q, p, d);
    default: return share(q, d);
    }
}

/* ---- the whole question ---- */
static double degree(const struct ask *q, struct ask_view *v) {
    switch (q->op) {
    case ASK_AND: return degree(q->a, v) * degree(q->b, v);
    case ASK_OR: return 1 - (1 - degree(q->a, v)) * (1 - degree(q->b, v));
    case ASK_NOT: return 1 - degree(q->a, v);
    case ASK_STRUCTURE:
        return kern_query_holds_text(q->structure, v->p->structure[v->d->structure].text);
    default: return ask_degree(&q->p, v);
    }
}

bool ask_holds(const struct ask *q, const char *structure) {
    switch (q->op) {
    case ASK_AND: return ask_holds(q->a, structure) && ask_holds(q->b, structure);
    case ASK_OR: return ask_holds(q->a, structure) || ask_holds(q->b, structure);
    case ASK_NOT: return !ask_holds(q->a, structure);
    default: return q->op == ASK_STRUCTURE && kern_query_holds_text(q->structure, structure);
    }
}

bool ask_dated(const struct ask *q) {
    return q->op == ASK_PREDICATE || (q->a && ask_dated(q->a)) || (q->b && ask_dated(q->b));
}

/* A question to structures alone has the errors of their probabilities. */
static struct query_answer ask_structures(const struct ask *q, const struct sketch *p) {
    struct query_answer r = {0, 0, (double)p->n_draws};
    double all = 0;
    for (size_t i = 0; i < p->n_structures; i++) {
        all += p->structure[i].p;
        if (!ask_holds(q, p->structure[i].text)) continue;
        r.probability += p->structure[i].p;
        r.error = fmax(r.error, p->structure[i].error);
    }
    r.probability = fmin(r.probability / fmax(all, 1e-9), 1);
    r.error = fmax(r.error, 1e-4);
    return r;
}

struct query_answer ask_sketch(const struct ask *q, const struct sketch *p) {
    if (!ask_dated(q)) return ask_structures(q, p);
    double sum = 0, sq = 0, n = (double)p->n_draws;
    for (size_t i = 0; i < p->n_draws; i++) {
        struct ask_view view = {.p = p, .d = &p->draw[i]};
        double v = degree(q, &view);
        sum += v;
        sq += v * v;
    }
    /* one draw more may say the opposite: certainty is not had from few draws */
    double mean = sum / n, var = fmax(sq / n - mean * mean, 1 / (n * n));
    return (struct query_answer){mean, POSTERIOR_ERROR_Z * sqrt(var / n), n};
}
