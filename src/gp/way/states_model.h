/* SPDX-License-Identifier: Apache-2.0
 *
 * A kernel of one input, and of lines on further ones, as a linear system, put together from the
 * forms of its rows (kern_states.h): what the filters (states_run.h) run on.
 *
 * The tree is multiplied out to a sum of terms, each a product of factors and of one of these
 * kinds:
 *
 *   WHITE    white noise times weights: variance of the measurements, no state
 *   COLUMN   constants and weights alone, sf^2 w(t) w(t'): a regressor column sf w(t) with a
 *            standard normal coefficient. Not a state: huge prior variances then lose no digits
 *   STATES   at most two systems (Matern, Wiener ...) times harmonics (PER, COS ...) times weights
 *
 * Weights are LIN, RAMP, STEP and the sides of change operators; a term f with weight w is w(t) f.
 * Of inputs with several columns the first is the time; weights on the others are regressors alone.
 *
 * The states of a term are an n x w matrix, row-major: n of the systems (Kronecker), w of the
 * harmonics, cosines first, then sines. The transition is A (x) I: in the turning frame the
 * harmonics stand still, and the observation h turns instead, h = observe (x) (cos, sin)(2 pi f t).
 * On a grid (constant h) they turn, and h picks the cosines.
 */
#ifndef GP_STATES_MODEL_H
#define GP_STATES_MODEL_H
#include "gp/kernel/kern_states.h"

#define ST_RANK_MAX    9 /* 1 and the states of processes that start */
#define ST_FACTORS     12
#define ST_SYSTEMS     2   /* of one term */
#define ST_SYSTEM_MAX  16  /* states of their product */
#define ST_COLUMNS_MAX 24  /* regressors */
#define ST_STATES_MAX  240 /* more: the filters are no longer the fast way */

enum st_kind {
    ST_CONSTANT,
    ST_LINE,
    ST_BEFORE,
    ST_AFTER,
    ST_SYSTEM,
    ST_PERIODIC,
    ST_WHITE,
    ST_LEVEL
};
struct st_factor {
    enum st_kind kind;        /* LEVEL: stationary, in a term of white noise */
    const struct kern *k;     /* a leaf, or the change operator whose side this is */
    size_t at;                /* of the first own parameter in the flat vector */
    double own[KERN_MAX_PAR]; /* derivatives in the leaf's parameters */
};

enum st_term_kind { ST_TERM_NOTHING, ST_TERM_WHITE, ST_TERM_COLUMN, ST_TERM_STATES };
struct st_term {
    enum st_term_kind kind;
    struct st_factor f[ST_FACTORS];
    int n;
    bool weighted;
    double amp;  /* product of the factors' amplitudes */
    double damp; /* derivative in it */

    /* STATES */
    int systems, periodic; /* how many of these */
    const struct st_factor *system[ST_SYSTEMS], *period[2];
    int ns, nc, nz, w, off; /* states of the systems; cosines, sines among w; first state */
    bool moving;            /* P depends on t */
    double observe[ST_SYSTEM_MAX];
    double *a, *q, *p; /* ns x ns, of the last step, at unit amplitude */
    double *da[ST_SYSTEMS], *dq[ST_SYSTEMS], *dp[ST_SYSTEMS];
    double *freq, *size;         /* w: turns per unit of time; variance, amplitude included */
    double *dsize[2];            /* its derivative in the length of each periodic factor */
    double *turns[2];            /* harmonic number of each periodic factor, signed */
    double *cs, *sn;             /* nc: of one step of a grid */
    double *size_bar, *freq_bar; /* derivatives in size and freq */
    double length_bar[ST_SYSTEMS];
};

struct st_model {
    struct st_term *term;
    size_t rank;       /* 1 and the states of processes that start */
    size_t n_terms, d; /* terms; states */
    size_t d_steps;    /* of these, the first, that a step changes; harmonics alone come after */
    size_t n_columns, column[ST_COLUMNS_MAX]; /* the terms that are regressors */
    double error; /* sum of the amplitudes that have an inexact form, times its error */
    double t0;    /* phases count from here */
    double last;  /* the step that a, q belong to; NAN: none */
    bool slopes;  /* with derivatives */
    bool white, weighted, moving; /* white terms; weights on states; on white noise; P moves */
    bool white_varies, folded;
    double *memory;
};

/* The series that a model is for. The least variance of its n measurements, and how far weights and
 * walks grow between its ends, say how many harmonics are needed. Where all times lie on a grid and
 * a period is a whole number of its steps, harmonic j is there what j + period and period - j are,
 * and the model has one of them: of a week of days three and a constant, however sharp it is. Such
 * a model (folded) knows nothing of what lies between the points of the grid. */
struct st_scope {
    double first, last; /* times */
    double noise;
    size_t n, most; /* points; states */
    double step;    /* of the grid; 0: other times will be asked for, or there is none */
};
/* False when a term has no form, or there are more states than `most`. */
bool st_model_init(struct st_model *m, const struct kern *k, const struct st_scope *s);
void st_model_release(struct st_model *m);
/* Product of the weights of a term at t, the further columns of the input in z (NULL: none); with
 * bar not 0, adds bar times its derivatives to the factors' own. */
double st_weight(struct st_term *t, double x, const double *z, double bar);
/* Regressor c at t, z. */
double st_column(struct st_model *m, size_t c, double x, const double *z);
void st_column_slope(struct st_model *m, size_t c, double x, const double *z, double bar);
/* Variance of white noise inside the kernel at t, and its slope. */
double st_white(struct st_model *m, double x);
void st_white_slope(struct st_model *m, double x, double bar);
/* P at t into each term's p (and dp). */
void st_prior(struct st_model *m, double x);
/* a and q of the step from `from` that is `gap` long; moving terms also set p at its start. */
void st_step(struct st_model *m, double from, double gap);
/* h at t in the turning frame, of the first d states (all, or those that a step changes). */
void st_observe(struct st_model *m, double x, size_t d, double *h);
/* Adds the derivatives in weights and frequencies for the derivative hbar of h. */
void st_observe_slope(struct st_model *m, double x, const double *hbar);
/* Does the step leave the states of the term alone? */
bool st_static(const struct st_term *t);
/* Everything gathered, into the flat vector g (added). */
void st_deliver(struct st_model *m, double *g);
void st_clear_slopes(struct st_model *m);
/* Same factors with the same parameters? */
bool st_same_term(const struct st_term *a, const struct st_term *b);
#endif
