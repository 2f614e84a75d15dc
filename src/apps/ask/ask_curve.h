/* SPDX-License-Identifier: Apache-2.0
 *
 * What predicates (ask_eval.c) and the traits of a series (traits.c) both read off the curves of
 * one draw, so that a bound and the answer that it bounds are made of the same numbers.
 */
#ifndef DISCOVER_ASK_CURVE_H
#define DISCOVER_ASK_CURVE_H
#include "apps/ask/ask.h"
#include "base/units.h"
#include <math.h>

#define EDGE_RISE   0.4  /* sd that a trend moves the level by, at least */
#define EDGE_FIT    0.75 /* share of the course that the shape explains */
#define EDGE_MOST   0.55 /* of the range of the course: a trend is most of the way it goes */
#define EDGE_WITHIN 0.2  /* sd that it moves within an interval */
#define EDGE_SWING  0.15 /* sd: a pattern that is seen */
#define EDGE_THERE  0.06 /* of its largest swing: where it is there */
#define EDGE_COVER  0.75 /* of an interval in which it is there */
#define EDGE_GROWTH 0.5  /* of the mean over an interval, from its start to its end */
#define EDGE_JUMP   0.4  /* sd */

#define WIDTH_WITHIN 0.08 /* of the soft edges */
#define WIDTH_COVER  0.08
#define WIDTH_DATE   0.01
#define WIDTH_GROWTH 0.1

/* A soft edge: Phi((v - edge) / width). */
double ask_soft(double v, double edge, double width);
/* The place of knot k, in t. */
static inline double ask_knot(int k) {
    return (k + 0.5) / SKETCH_KNOTS;
}

/* ---- time ---- */
/* The axis of a sketch. */
struct ask_axis {
    enum sketch_clock clock;
    double x0, span;
};
/* A date in t; NaN: the axis has no such date. Inline, as are the others that a search asks of
 * every series of an index. */
static inline double ask_place(const struct ask_axis *a, struct ask_date d) {
    double x = a->clock == CLOCK_NUMBER  ? d.number
               : a->clock == CLOCK_YEARS ? d.at
                                         : (d.at - 1970) * DAYS_PER_YEAR;
    return (x - a->x0) / a->span;
}
/* How far from a date is still around it. */
double ask_around(const struct ask_axis *a, struct ask_date d);
/* How near something at t is to being around it. */
double ask_near(double t, double place, double around);
struct ask_stretch {
    double from, to; /* in t */
};
static inline struct ask_stretch ask_stretch_of(const struct ask_predicate *q,
                                                const struct ask_axis *a) {
    struct ask_stretch s = {-INFINITY, INFINITY};
    if (q->given & ASK_INTERVAL && !q->throughout) {
        if (!q->open_from) s.from = ask_place(a, q->from);
        if (!q->open_to) s.to = ask_place(a, q->to);
    }
    return s;
}
/* Knots of the data within it: [*a, *b), the first not before its start, the last not behind its
 * end. Few of them, or a part of the stretch without data, are no ground for a claim: none, and
 * false. */
bool ask_knots(struct ask_stretch s, int *a, int *b);
/* The same for n <= ASK_MANY stretches; a = b: none. */
#define ASK_MANY 256
void ask_knots_of(const double *restrict from, const double *restrict to, size_t n, int *restrict a,
                  int *restrict b);
/* The range of periods that is asked for, in units of the axis; false: of any. */
bool ask_periods(const struct ask_predicate *q, enum sketch_clock clock, double *from, double *to);

/* ---- shapes of the course, which is the level without its steps ---- */
struct ask_shape {
    double tau, before, after; /* the bend, rises up to it and from it on, sd */
    double fit, fit_line;      /* shares explained: with the bend, by a straight line */
    double line;               /* rise of the straight line, sd */
    double spread, range;      /* of the course, in sd of the values */
};
#define ASK_BENDS (2 * SKETCH_KNOTS) /* a bend stands at i / ASK_BENDS */
void ask_course(const struct sketch *p, const struct sketch_draw *d, double *y);
/* Share of what moves the level that wanders without a direction. */
double ask_rough(const struct sketch_draw *d);

/* ---- patterns ---- */
/* Where the two sides differ most, and the degree to which it begins, or ends (until), there. */
double ask_edge(const double *there, bool until, double *t);

/* ---- a draw that several predicates look at ---- */
/* What was computed for one is there for the next. {.p = p, .d = d} before the first. */
struct ask_view {
    const struct sketch *p;
    const struct sketch_draw *d;
    bool shaped, looked, swung;
    struct ask_shape shape;
    double seen, there[SKETCH_KNOTS];   /* of patterns of any period */
    double swings, swing[SKETCH_KNOTS]; /* of the same: the largest, and each */
};
const struct ask_shape *ask_view_shape(struct ask_view *v);
double ask_view_swing(struct ask_view *v, const double **swing);
double ask_view_presence(struct ask_view *v, const double **there);
/* The degree to which a trend begins at *tau, whatever the date asked for; sign +1: rising. */
double ask_bend(struct ask_view *v, double sign, double *tau);
/* The degree to which one predicate holds in the draw. */
double ask_degree(const struct ask_predicate *q, struct ask_view *v);
#endif
