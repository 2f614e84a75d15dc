/* SPDX-License-Identifier: Apache-2.0
 *
 * What the posterior says of the functions over time, in a form small enough to keep for every
 * series of a collection: draws of (structure, parameters, functions), each function a curve over
 * a few knots. Every question with a date in it (ask.h) is answered from a sketch alone, so an
 * index needs no data.
 *
 * Curves of a draw, in the user's units:
 *   level   a joint draw of all that neither repeats nor is noise
 *   swing   local amplitude of what repeats: sqrt(2 mean square) around the knot, per pattern
 *   noise   its standard deviation
 * Beside them what a structure says with a number: the rise of a line, dates and sizes of steps
 * and bends, periods, the share of the variance of each kind of component.
 */
#ifndef DISCOVER_SKETCH_H
#define DISCOVER_SKETCH_H
#include "apps/discover/discovery.h"

#define SKETCH_KNOTS    32
#define SKETCH_DRAWS    24 /* of an index; a run has more */
#define SKETCH_PATTERNS 2
#define SKETCH_EVENTS   3
#define SKETCH_LISTED   24 /* structures that a sketch lists */
#define SKETCH_AHEAD    6

/* Kinds of components whose shares are kept. */
enum sketch_kind {
    KIND_LINE,    /* a straight line */
    KIND_SMOOTH,  /* a smooth function */
    KIND_ROUGH,   /* one that is not: of short memory, a random walk */
    KIND_DRIFT,   /* a slope that wanders */
    KIND_PATTERN, /* what repeats */
    KIND_NOISE,
    SKETCH_KINDS
};

struct sketch_event {
    float date, size; /* in t; a step: its size, a bend: the rise from there to the end */
    bool step;
};
struct sketch_pattern {
    float period; /* in x */
    float swing[SKETCH_KNOTS];
};
struct sketch_draw {
    int structure; /* number in the list below */
    float level[SKETCH_KNOTS], noise[SKETCH_KNOTS];
    struct sketch_pattern pattern[SKETCH_PATTERNS]; /* the stronger one first */
    int n_patterns;
    float line; /* rise of the straight line over the span, or 0 */
    struct sketch_event event[SKETCH_EVENTS];
    int n_events;
    float share[SKETCH_KINDS]; /* of the variance of the values */
};
/* A new value after the data. */
struct sketch_ahead {
    float t;              /* its time, of the span: above 1 */
    float lo, median, hi; /* of 95% */
};
struct sketch_structure {
    char *text;
    float p, error;
};
/* What x counts. */
enum sketch_clock { CLOCK_NUMBER, CLOCK_YEARS, CLOCK_DAYS };
struct sketch {
    enum sketch_clock clock;
    double x0, span;                    /* knot k stands at x0 + span (k + 1/2) / SKETCH_KNOTS */
    double mean, sd;                    /* of the values */
    size_t n;                           /* values */
    struct sketch_structure *structure; /* by probability, at most SKETCH_LISTED */
    size_t n_structures;
    struct sketch_draw *draw; /* of equal weight */
    size_t n_draws;
    struct sketch_ahead ahead[SKETCH_AHEAD]; /* steps after the data; or none */
    size_t n_ahead;
};

/* Draws from the posterior of a run; the same for the same run and seed. */
GPM_MUST_USE enum gpm_status sketch_make(struct sketch *p, const struct discovery *d, size_t draws,
                                         struct buf *err);
/* The forecast of the run, which it has not by sketch_make. */
GPM_MUST_USE enum gpm_status sketch_forecast(struct sketch *p, const struct discovery *d,
                                             struct buf *err);
void sketch_release(struct sketch *p);

/* As bytes and back: curves in 8 bits, 2 to 4 KB. Structures are written as numbers that `number`
 * gives (a dictionary of the index) and read back by `text`, which is borrowed and copied. */
struct sketch_names {
    uint32_t (*number)(void *ctx, const char *text);
    const char *(*text)(void *ctx, uint32_t number); /* NULL if missing */
    void *ctx;
};
void sketch_write(const struct sketch *p, const struct sketch_names *names, struct buf *out);
/* The same bytes with the numbers that another dictionary has for the structures. */
GPM_MUST_USE enum gpm_status sketch_renumber(const void *bytes, size_t n,
                                             const struct sketch_names *from,
                                             const struct sketch_names *to, struct buf *out);
/* GPM_E_FORMAT: damaged bytes. */
GPM_MUST_USE enum gpm_status sketch_read(struct sketch *p, const struct sketch_names *names,
                                         const void *bytes, size_t n);
#endif
