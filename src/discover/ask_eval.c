/* SPDX-License-Identifier: Apache-2.0
 *
 * What predicates mean, on the curves of one draw. Sizes are told in standard deviations of the
 * values (sd). An edge is soft: Phi((v - edge) / width).
 *
 * The course is the level without its steps. Two shapes are fitted to it by least squares: a
 * straight line, and a line with one bend (at the best of the places between knots). A trend is
 * the part of either that rises or falls by EDGE_RISE sd, where the shape explains the course.
 */
#include "discover/ask.h"
#include "base/mem.h"
#include "math/special.h"
#include <math.h>
#include <string.h>

#define K           SKETCH_KNOTS
#define EDGE_RISE   0.4  /* sd that a trend moves the level by, at least */
#define EDGE_FIT    0.75 /* share of the course that the shape explains */
#define EDGE_MOST   0.55 /* of the range of the course: a trend is most of the way it goes */
#define EDGE_SWING  0.15 /* sd: a pattern that is seen */
#define EDGE_THERE  0.06 /* of its largest swing: where it is there */
#define EDGE_COVER  0.75 /* of an interval in which it is there */
#define EDGE_GROWTH 0.5  /* of the mean over an interval, from its start to its end */
#define EDGE_JUMP   0.4  /* sd */
#define AROUND      1.5  /* units of the date as it was written: "around 1968" is 1.5 years */

static double soft(double v, double edge, double width) {
    if (isnan(v)) return 0;
    return 0.5 * erfc(-(v - edge) / width * 0.70710678118654752);
}

static double knot(int k) {
    return (k + 0.5) / K;
}

/* ---- time ---- */
#define DAYS_PER_YEAR 365.2425

/* A date on the axis of the sketch, in t. */
static double place(const struct sketch *p, struct ask_date d) {
    double x = p->clock == CLOCK_NUMBER  ? d.number
               : p->clock == CLOCK_YEARS ? d.at
                                         : (d.at - 1970) * DAYS_PER_YEAR;
    return (x - p->x0) / p->span;
}

/* How far from it is still around it, in t; not finer than a knot. */
static double around(const struct sketch *p, struct ask_date d) {
    double unit = p->clock == CLOCK_DAYS ? d.unit * DAYS_PER_YEAR : d.unit;
    if (p->clock == CLOCK_NUMBER) return 0.05;
    return fmax(AROUND * unit / p->span, 0.5 / K);
}

struct stretch {
    double from, to; /* in t */
};
static struct stretch stretch(const struct ask_predicate *q, const struct sketch *p) {
    struct stretch s = {-INFINITY, INFINITY};
    if (q->given & ASK_INTERVAL && !q->throughout) {
        if (!q->open_from) s.from = place(p, q->from);
        if (!q->open_to) s.to = place(p, q->to);
    }
    return s;
}

/* Knots of the data within it: [*a, *b). Few of them, or a part of the stretch without data, are
 * no ground for a claim. */
static bool knots(struct stretch s, int *a, int *b) {
    *a = (int)fmax(0, ceil(s.from * K - 0.5));
    *b = (int)fmin(K, floor(s.to * K - 0.5) + 1);
    if (s.from > 1 || s.to < 0 || *b <= *a) return false;
    double wanted = s.to - s.from;
    if (!isfinite(wanted)) wanted = fmin(s.to, 1) - fmax(s.from, 0);
    double have = fmin(s.to, 1) - fmax(s.from, 0);
    return have > 0.5 * wanted;
}

/* ---- shapes ---- */
struct shape {
    double tau, before, after; /* the bend, rises up to it and from it on, sd */
    double fit, fit_line;      /* shares explained: with the bend, by a straight line */
    double line;               /* rise of the straight line, sd */
    double spread, range;      /* of the course, in sd of the values */
};

/* Sums over the knots from k on. */
struct tails {
    double n[K + 1], t[K + 1], tt[K + 1], y[K + 1], ty[K + 1], yy;
};

static void tails_of(const double *y, struct tails *s) {
    memset(s, 0, sizeof *s);
    for (int k = K - 1; k >= 0; k--) {
        double t = knot(k);
        s->n[k] = s->n[k + 1] + 1;
        s->t[k] = s->t[k + 1] + t;
        s->tt[k] = s->tt[k + 1] + t * t;
        s->y[k] = s->y[k + 1] + y[k];
        s->ty[k] = s->ty[k + 1] + t * y[k];
        s->yy += y[k] * y[k];
    }
}

/* Least squares of y on 1, t, (t - tau)+ over the knots; c: the coefficients. Returns the sum of
 * squares left. tau >= 1: no bend. */
static double fit_bend(const struct tails *s, double tau, double c[3]) {
    int d = tau < 1 ? 3 : 2, k = (int)fmin(fmax(ceil(tau * K - 0.5), 0), K);
    double h = s->t[k] - tau * s->n[k]; /* sums with (t - tau)+ */
    double th = s->tt[k] - tau * s->t[k], hy = s->ty[k] - tau * s->y[k];
    double m[3][4] = {{s->n[0], s->t[0], h, s->y[0]},
                      {s->t[0], s->tt[0], th, s->ty[0]},
                      {h, th, th - tau * h, hy}};
    const double right[3] = {s->y[0], s->ty[0], hy};
    for (int i = 0; i < d; i++) /* Gauss and Jordan: positive definite */
        for (int r = 0; r < d; r++) {
            if (r == i) continue;
            double f = m[r][i] / m[i][i];
            for (int j = i; j < 4; j++) m[r][j] -= f * m[i][j];
        }
    double left = s->yy;
    for (int i = 0; i < 3; i++) {
        c[i] = i < d ? m[i][3] / m[i][i] : 0;
        left -= c[i] * right[i];
    }
    return fmax(left, 0);
}

static void course(const struct sketch *p, const struct sketch_draw *d, double *y) {
    for (int k = 0; k < K; k++) {
        y[k] = d->level[k];
        for (int i = 0; i < d->n_events; i++)
            if (d->event[i].step && knot(k) > d->event[i].date) y[k] -= d->event[i].size;
        y[k] /= p->sd;
    }
}

static struct shape shape_of(const struct sketch *p, const struct sketch_draw *d) {
    double y[K], mean = 0, all = 0, c[3], best = INFINITY, lo = INFINITY, hi = -INFINITY;
    struct shape s = {.tau = 1};
    course(p, d, y);
    for (int k = 0; k < K; k++) mean += y[k] / K, lo = fmin(lo, y[k]), hi = fmax(hi, y[k]);
    s.range = hi - lo;
    for (int k = 0; k < K; k++) y[k] -= mean, all += y[k] * y[k];
    struct tails sums;
    tails_of(y, &sums);
    s.spread = sqrt(all / K);
    if (!(all > 1e-12)) return s;
    s.fit_line = 1 - fit_bend(&sums, 2, c) / all;
    s.line = c[1];
    for (int i = 4; i <= 2 * K - 4; i++) { /* two knots on either side */
        double tau = i / (2.0 * K), left = fit_bend(&sums, tau, c);
        if (left >= best) continue;
        best = left;
        s.tau = tau;
        s.before = c[1] * tau;
        s.after = (c[1] + c[2]) * (1 - tau);
    }
    s.fit = 1 - best / all;
    return s;
}

/* Share of what moves the level that wanders without a direction. */
static double rough(const struct sketch_draw *d) {
    double r = d->share[KIND_ROUGH],
           all = r + d->share[KIND_SMOOTH] + d->share[KIND_DRIFT] + d->share[KIND_LINE] + 1e-6;
    for (int i = 0; i < d->n_events; i++) all += d->event[i].step ? 0 : 1e-2;
    return r / all;
}

/* ---- trends; sign +1: rising ---- */
static double trend_from(const struct ask_predicate *q, const struct sketch *p,
                         const struct sketch_draw *d, double sign) {
    struct shape s = shape_of(p, d);
    double off = (s.tau - place(p, q->from)) / around(p, q->from);
    double bend = sign * (s.after / (1 - s.tau) - s.before / s.tau); /* of the slope */
    double slope = sign * s.after / (1 - s.tau);
    return exp(-0.5 * off * off) * soft(sign * s.after, EDGE_RISE, 0.1) *
           soft(bend / (fabs(slope) + 1e-9), 0.5, 0.12) * soft(s.fit, EDGE_FIT, 0.08) *
           (1 - 0.8 * rough(d));
}

static double trend_within(const struct sketch *p, const struct sketch_draw *d, struct stretch w,
                           double sign) {
    int a, b;
    double y[K], n = 0, mt = 0, my = 0, stt = 0, sty = 0, syy = 0;
    if (!knots(w, &a, &b) || b - a < 3) return 0;
    course(p, d, y);
    for (int k = a; k < b; k++) n++, mt += knot(k), my += y[k];
    mt /= n, my /= n;
    for (int k = a; k < b; k++) {
        double t = knot(k) - mt, v = y[k] - my;
        stt += t * t, sty += t * v, syy += v * v;
    }
    double rise = sign * sty / stt * (knot(b - 1) - knot(a));
    double share = syy > 1e-12 ? sty * sty / (stt * syy) : 0;
    return soft(rise, EDGE_RISE / 2, 0.08) * soft(share, 0.6, 0.1);
}

static double trend_ever(const struct sketch *p, const struct sketch_draw *d, double sign) {
    struct shape s = shape_of(p, d);
    double rise = fmax(sign * s.before, sign * s.after);
    double bent = soft(rise, EDGE_RISE, 0.1) * soft(s.fit, EDGE_FIT, 0.08) *
                  soft(rise / (s.range + 1e-9), EDGE_MOST, 0.08);
    double line = soft(sign * d->line / p->sd, EDGE_RISE, 0.1);
    return fmax(bent * (1 - 0.8 * rough(d)), line);
}

static double trend(const struct ask_predicate *q, const struct sketch *p,
                    const struct sketch_draw *d, double sign) {
    if (q->given & ASK_FROM) return trend_from(q, p, d, sign);
    if (q->given & ASK_INTERVAL) return trend_within(p, d, stretch(q, p), sign);
    return trend_ever(p, d, sign);
}

/* A straight line: throughout, of the whole course or as a component of its own; else also from a
 * bend on. */
static double linear(const struct ask_predicate *q, const struct sketch *p,
                     const struct sketch_draw *d) {
    struct shape s = shape_of(p, d);
    double own = soft(fabs(d->line) / p->sd, EDGE_RISE, 0.1);
    double straight =
        soft(fabs(s.line), EDGE_RISE, 0.1) * soft(s.fit_line, 0.9, 0.04) * (1 - 0.8 * rough(d));
    double bend = 0;
    for (int i = 0; i < d->n_events; i++)
        if (!d->event[i].step) bend = soft(fabs(d->event[i].size) / p->sd, EDGE_RISE, 0.1);
    if (q->throughout) return fmax(own * (1 - bend), straight);
    double bent = soft(fmax(fabs(s.before), fabs(s.after)), EDGE_RISE, 0.1) *
                  soft(s.fit, 0.94, 0.03) * (1 - rough(d));
    return fmax(fmax(own, straight), fmax(bend, bent));
}

/* ---- patterns ---- */
static bool period_fits(const struct ask_predicate *q, const struct sketch *p, double period) {
    double unit = !q->period_years           ? 1
                  : p->clock == CLOCK_DAYS   ? DAYS_PER_YEAR
                  : p->clock == CLOCK_NUMBER ? NAN
                                             : 1;
    return !(q->given & ASK_PERIOD) ||
           (period >= q->period_from * unit && period <= q->period_to * unit);
}

/* The swing of the patterns that are asked for, in sd; returns its largest. */
static double swing(const struct ask_predicate *q, const struct sketch *p,
                    const struct sketch_draw *d, double *s) {
    double most = 0;
    for (int k = 0; k < K; k++) {
        double sq = 0;
        for (int i = 0; i < d->n_patterns; i++)
            if (period_fits(q, p, d->pattern[i].period))
                sq += (double)d->pattern[i].swing[k] * d->pattern[i].swing[k];
        s[k] = sqrt(sq) / p->sd;
        most = fmax(most, s[k]);
    }
    return most;
}

/* Where it is there: a degree per knot. */
static double presence(const struct ask_predicate *q, const struct sketch *p,
                       const struct sketch_draw *d, double *there) {
    double most = swing(q, p, d, there), seen = soft(most, EDGE_SWING, 0.04);
    double edge = fmax(EDGE_THERE * most, EDGE_SWING / 3);
    for (int k = 0; k < K; k++) there[k] = soft(there[k] / edge, 1, 0.25);
    return most > 0 ? seen : 0;
}

static double mean_of(const double *v, int a, int b) {
    double sum = 0;
    for (int k = a; k < b; k++) sum += v[k];
    return b > a ? sum / (b - a) : 0;
}

/* It begins, or ends, around a date: where the two sides differ most. */
static double edge_of_pattern(const struct ask_predicate *q, const struct sketch *p,
                              const double *there) {
    bool until = q->given & ASK_UNTIL;
    struct ask_date date = until ? q->to : q->from;
    int best = 1;
    double most = -INFINITY;
    for (int c = 1; c < K; c++) {
        double left = 0, right = 0;
        for (int k = 0; k < K; k++) *(k < c ? &left : &right) += there[k] - 0.5;
        double v = until ? left - right : right - left;
        if (v > most) most = v, best = c;
    }
    double with = until ? mean_of(there, 0, best) : mean_of(there, best, K);
    double without = until ? mean_of(there, best, K) : mean_of(there, 0, best);
    double off = ((double)best / K - place(p, date)) / around(p, date);
    return exp(-0.5 * off * off) * soft(with, EDGE_COVER, 0.08) * (1 - soft(without, 0.3, 0.08));
}

static double periodic(const struct ask_predicate *q, const struct sketch *p,
                       const struct sketch_draw *d) {
    double there[K];
    int a, b;
    double seen = presence(q, p, d, there);
    if (q->given & (ASK_FROM | ASK_UNTIL)) return seen * edge_of_pattern(q, p, there);
    if (q->throughout) return seen * soft(mean_of(there, 0, K), 0.9, 0.04);
    if (!(q->given & ASK_INTERVAL)) return seen;
    if (!knots(stretch(q, p), &a, &b)) return 0;
    return seen * soft(mean_of(there, a, b), EDGE_COVER, 0.08);
}

/* ---- growth ---- */
/* A curve grows over the knots [a, b) when a straight line through it rises by EDGE_GROWTH of its
 * mean, and explains it no worse than a single step does: what begins is not what grows. */
static double growth(const double *v, int a, int b, double sign) {
    double n = b - a, mt = 0, mv = 0, stt = 0, stv = 0, svv = 0, step = 0;
    if (n < 4) return 0;
    for (int k = a; k < b; k++) mt += knot(k) / n, mv += v[k] / n;
    for (int k = a; k < b; k++) {
        double t = knot(k) - mt, u = v[k] - mv;
        stt += t * t, stv += t * u, svv += u * u;
    }
    if (!(svv > 1e-12 * mv * mv) || !(mv > 0)) return 0;
    for (int c = a + 1; c < b; c++) {
        double left = mean_of(v, a, c) - mv, right = mean_of(v, c, b) - mv;
        step = fmax(step, (c - a) * left * left + (b - c) * right * right);
    }
    double rise = sign * stv / stt * (knot(b - 1) - knot(a)) / mv;
    return soft(rise, EDGE_GROWTH, 0.1) * soft(stv * stv / (stt * svv) - step / svv, 0, 0.05);
}

static double curve_grows(const struct ask_predicate *q, const struct sketch *p,
                          const struct sketch_draw *d, bool noise, double sign) {
    double v[K], seen = 1;
    int a, b;
    if (!knots(stretch(q, p), &a, &b)) return 0;
    if (noise)
        for (int k = 0; k < K; k++) v[k] = d->noise[k];
    else
        seen = soft(swing(q, p, d, v), EDGE_SWING, 0.04);
    return seen * growth(v, a, b, sign);
}

/* ---- the others ---- */
static double jumps(const struct ask_predicate *q, const struct sketch *p,
                    const struct sketch_draw *d) {
    struct stretch w = stretch(q, p);
    double most = 0;
    for (int i = 0; i < d->n_events; i++) {
        const struct sketch_event *e = &d->event[i];
        if (!e->step || (q->up && e->size < 0) || (q->down && e->size > 0)) continue;
        double size = fabs((double)e->size);
        double in = soft(e->date, w.from, 0.01) * (1 - soft(e->date, w.to, 0.01));
        double large =
            q->given & ASK_SIZE ? (double)(size >= q->size) : soft(size / p->sd, EDGE_JUMP, 0.08);
        most = fmax(most, in * large);
    }
    return most;
}

/* What moves the level is a smooth function. */
static double smooth(const struct sketch *p, const struct sketch_draw *d) {
    struct shape s = shape_of(p, d);
    double own = d->share[KIND_SMOOTH] + d->share[KIND_DRIFT], step = 0;
    double all = own + d->share[KIND_ROUGH] + d->share[KIND_LINE] + 1e-9;
    for (int i = 0; i < d->n_events; i++)
        step = fmax(step, soft(fabs((double)d->event[i].size) / p->sd, EDGE_JUMP, 0.08));
    return soft(s.spread, 0.2, 0.05) * soft(own / all, 0.5, 0.1) * (1 - step);
}

static double pure_noise(const struct sketch *p, const struct sketch_draw *d) {
    struct shape s = shape_of(p, d);
    double seen = 0, least = INFINITY, most = 0, step = 0;
    for (int k = 0; k < K; k++) {
        for (int i = 0; i < d->n_patterns; i++) seen = fmax(seen, d->pattern[i].swing[k] / p->sd);
        least = fmin(least, d->noise[k]);
        most = fmax(most, d->noise[k]);
    }
    for (int i = 0; i < d->n_events; i++) step = fmax(step, fabs((double)d->event[i].size) / p->sd);
    return (1 - soft(s.spread, 0.2, 0.05)) * (1 - soft(seen, EDGE_SWING, 0.04)) *
           (1 - soft(most / least, 1.4, 0.1)) * (1 - soft(step, 0.2, 0.05));
}

/* The level between knots. */
static double level_at(const struct sketch_draw *d, double t) {
    double u = t * K - 0.5;
    int k = (int)floor(fmin(fmax(u, 0), K - 2));
    return d->level[k] + (u - k) * ((double)d->level[k + 1] - d->level[k]);
}

static double level_bound(const struct ask_predicate *q, const struct sketch *p,
                          const struct sketch_draw *d) {
    double t = place(p, q->from);
    if (t < -0.5 / K || t > 1 + 0.5 / K) return 0;
    double v = level_at(d, t);
    return q->below ? v < q->bound : v > q->bound;
}

static double share(const struct ask_predicate *q, const struct sketch_draw *d) {
    double all = 1e-12;
    for (int k = 0; k < SKETCH_KINDS; k++) all += d->share[k];
    double v = d->share[q->kind] / all;
    return q->below ? v < q->bound : v > q->bound;
}

double ask_degree(const struct ask_predicate *q, const struct sketch *p,
                  const struct sketch_draw *d) {
    switch (q->name) {
    case ASK_RISES: return trend(q, p, d, 1);
    case ASK_FALLS: return trend(q, p, d, -1);
    case ASK_LINEAR: return linear(q, p, d);
    case ASK_PERIODIC: return periodic(q, p, d);
    case ASK_SWING_GROWS: return curve_grows(q, p, d, false, 1);
    case ASK_SWING_SHRINKS: return curve_grows(q, p, d, false, -1);
    case ASK_NOISE_GROWS: return curve_grows(q, p, d, true, 1);
    case ASK_NOISE_SHRINKS: return curve_grows(q, p, d, true, -1);
    case ASK_JUMPS: return jumps(q, p, d);
    case ASK_SMOOTH: return smooth(p, d);
    case ASK_RANDOM_WALK: return soft(rough(d), 0.5, 0.1) * soft(shape_of(p, d).spread, 0.2, 0.05);
    case ASK_PURE_NOISE: return pure_noise(p, d);
    case ASK_VALUE: return level_bound(q, p, d);
    default: return share(q, d);
    }
}

/* ---- the whole question ---- */
static double degree(const struct ask *q, const struct sketch *p, const struct sketch_draw *d) {
    switch (q->op) {
    case ASK_AND: return degree(q->a, p, d) * degree(q->b, p, d);
    case ASK_OR: return 1 - (1 - degree(q->a, p, d)) * (1 - degree(q->b, p, d));
    case ASK_NOT: return 1 - degree(q->a, p, d);
    case ASK_STRUCTURE: return kern_query_holds_text(q->structure, p->structure[d->structure].text);
    default: return ask_degree(&q->p, p, d);
    }
}

/* Can a draw of this structure have the property at all? */
static bool could(const struct ask_predicate *q, const char *structure) {
    switch (q->name) {
    case ASK_PERIODIC:
    case ASK_SWING_GROWS:
    case ASK_SWING_SHRINKS: return strstr(structure, "PER") || strstr(structure, "COS");
    case ASK_JUMPS: return strstr(structure, "STEP");
    case ASK_RISES:
    case ASK_FALLS:
    case ASK_LINEAR:
    case ASK_SMOOTH:
    case ASK_RANDOM_WALK: return strcmp(structure, "WN") != 0;
    default: return true;
    }
}

bool ask_holds(const struct ask *q, const char *structure, bool dated) {
    switch (q->op) {
    case ASK_AND: return ask_holds(q->a, structure, dated) && ask_holds(q->b, structure, dated);
    case ASK_OR: return ask_holds(q->a, structure, dated) || ask_holds(q->b, structure, dated);
    case ASK_NOT: return !ask_holds(q->a, structure, !dated);
    case ASK_STRUCTURE: return kern_query_holds_text(q->structure, structure);
    default: return dated && could(&q->p, structure);
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
        if (!ask_holds(q, p->structure[i].text, false)) continue;
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
        double v = degree(q, p, &p->draw[i]);
        sum += v;
        sq += v * v;
    }
    double mean = sum / n, var = fmax(sq / n - mean * mean, 0);
    /* one draw more that says the opposite: certainty is not had from few draws */
    double floor = mean * (1 - mean) < 1 / n ? 1 / (n * n) : 0;
    return (struct query_answer){mean, POSTERIOR_ERROR_Z * sqrt((var + floor) / n), n};
}
