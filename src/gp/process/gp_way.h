/* SPDX-License-Identifier: Apache-2.0
 *
 * The ways to compute what a process is asked: rows of one table (gp_way.c), each with what it
 * serves and what a question costs by it. gp_answer takes the cheapest; a factor that is there
 * costs nothing. docs/gp.md shows the table, and a test compares the two.
 *
 * Costs are nanoseconds on one core with AVX-512, measured by bench/bench_states; only their ratios
 * matter. A gradient is so many values. INFINITY: the way does not serve, and q->why says why.
 */
#ifndef GP_GP_WAY_H
#define GP_GP_WAY_H
#include "gp/process/gp_int.h"

/* The log likelihood of a slot; with its slopes; the posterior at points; a joint draw there. */
enum gp_asked { GP_VALUE, GP_SLOPES, GP_POINTS, GP_JOINT };

struct gp_series;
struct gp_question {
    struct gp *g;
    struct gp_slot *s;
    enum gp_asked asked;
    const struct gp_slopes *want; /* of SLOPES; else NULL */
    const struct kern *part;      /* of POINTS: of this part of the function; NULL: of all of it */
    struct kern_pts xs;           /* of POINTS and JOINT, by columns */
    double extra;                 /* variance of a measurement's own noise there */
    double *mean, *var, *cov;     /* each may be NULL; cov: lower triangle */
    size_t ld;
    const double *z; /* of JOINT: standard normals */
    double *out;
    /* between the chooser and the ways */
    const struct gp_way *way; /* that is asked */
    const char *why;          /* it does not serve */
    double below;             /* the cheapest so far */
    struct gp_series *series; /* what the filters have made ready */
};

/* What a way can do. What a question needs beyond that makes it infinitely dear. */
enum gp_serves {
    GP_DOES_VALUE = 1,
    GP_DOES_SLOPES = 2,
    GP_DOES_POINTS = 4,       /* mean and variance */
    GP_DOES_COVARIANCE = 8,   /* of several points */
    GP_DOES_DRAWS = 16,       /* joint ones */
    GP_DOES_PARTS = 32,       /* of the function */
    GP_DOES_FACTOR = 64,      /* leave-one-out, innovations, function draws */
    GP_DOES_INTEGRATED = 128, /* mean and scale integrated out */
    GP_DOES_EXACT = 256,      /* values without noise beside noisy ones */
    GP_DOES_COLUMNS = 512,    /* inputs of several columns */
    GP_DOES_WEIGHTS = 1024,   /* slopes with a weight on the quadratic form */
};

struct gp_way {
    const char *name;
    enum gp_approx kind; /* GP_EXACT, or the approximation that it is */
    unsigned serves;     /* enum gp_serves */
    unsigned exact;      /* enum gp_exact_way that allows it; 0: none is needed */
    double (*cost)(struct gp_question *q);
    /* *done is false where it does not serve after all: then the next way is taken. VALUE and
     * SLOPES: sets logml, method, error, and quad where have_quad is set. */
    enum gpm_status (*answer)(struct gp_question *q, bool *done);
};
/* A row, at the end of a file with its `cost` and `answer`. */
#define GP_WAY(text, approximation, can, way)                                                      \
    { text, approximation, can, way, cost, answer }
extern const struct gp_way gp_way_card, gp_way_factor, gp_way_toeplitz, gp_way_filters,
    gp_way_inducing, gp_way_vecchia, gp_way_low_rank;
const struct gp_way *gp_way_at(size_t i); /* the table; NULL at its end */
/* What it can do, as a row of docs/gp.md. */
void gp_way_print(const struct gp_way *w, struct buf *out);

/* Answers by the cheapest way that serves. GPM_E_LIMIT: no way does (gp_refusal). */
GPM_MUST_USE enum gpm_status gp_answer(struct gp_question *q);
/* The exact way that would be taken; NULL: an approximation, or none. */
const struct gp_way *gp_way_for(struct gp *g, struct gp_slot *s, enum gp_asked asked);
/* GPM_E_LIMIT where no factor may be made of the process. */
GPM_MUST_USE enum gpm_status gp_factor_allowed(struct gp *g);
double gp_factor_cost(size_t n); /* of a likelihood of n inputs by a factor made here */
/* JOINT from the covariance of the points, by whichever way has that. */
GPM_MUST_USE enum gpm_status gp_draw_joint(struct gp_question *q);
/* Mean and covariance at points by columns (POINTS). */
GPM_MUST_USE enum gpm_status gp_posterior(struct gp *g, const struct kern *part, struct kern_pts xs,
                                          double *mean, double *cov, size_t ld);
void gp_clear_slopes(const struct gp_slot *s, const struct gp_slopes *want);
void gp_series_drop(struct gp_question *q); /* what the filters have made ready */

/* A draw at more points than this is not made from a matrix where another way serves: it is then
 * no longer a linear function of the normals. */
enum { GP_JOINT_MAX = 500 };
/* Of a launch that many processes wait for. */
#define GP_LAUNCH_COST 5e3
#endif
