/* SPDX-License-Identifier: Apache-2.0
 *
 * A kernel of one input, plus lines on further inputs, as a linear system for the filters
 * (states_run.h). It is built from the forms of the kernel's rows (kern_states.h).
 *
 * The tree is expanded to a sum of terms. Each is a product of factors, of one of these kinds:
 *
 *   WHITE    white noise times weights: variance of the measurements, no state
 *   COLUMN   constants and weights alone, sf^2 w(t) w(t'): a regressor column sf w(t) with a
 *            standard normal coefficient. Not a state: huge prior variances then lose no digits
 *   STATES   at most two systems (Matern, Wiener ...) times harmonics (PER, COS ...) times weights
 *
 * Weights are LIN, RAMP, STEP and the sides of change operators; a term f with weight w is w(t) f.
 * If inputs have several columns, the first is the time; weights on the others occur only in
 * regressors.
 *
 * The states of a term are an ns x w matrix, row-major: ns states of the systems (Kronecker
 * product), w of the harmonics, cosines first, then sines. The transition is A (x) I. In the
 * rotating frame the harmonics are constant and the observation rotates, h = observe (x) (cos,
 * sin)(2 pi f t). On a grid (constant h) the harmonics rotate, and h selects the cosines. */
#ifndef GP_STATES_MODEL_H
#define GP_STATES_MODEL_H
#include "gp/kernel/kern_states.h"

#define ST_RANK_MAX    9 /* 1 + states of processes with a start */
#define ST_FACTORS     12
#define ST_SYSTEMS     2   /* of one term */
#define ST_SYSTEM_MAX  16  /* states of their product */
#define ST_COLUMNS_MAX 24  /* regressors */
#define ST_STATES_MAX  240 /* with more states filters are not the fastest method */

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
    enum st_kind kind;        /* LEVEL: stationary, in a white noise term */
    const struct kern *k;     /* a leaf, or a change operator whose side this is */
    size_t at;                /* its first own parameter in the flat vector */
    double own[KERN_MAX_PAR]; /* derivatives in the leaf's parameters */
};

enum st_term_kind { ST_TERM_NOTHING, ST_TERM_WHITE, ST_TERM_COLUMN, ST_TERM_STATES };
struct st_term {
    enum st_term_kind kind;
    struct st_factor f[ST_FACTORS];
    int n;
    bool weighted;
    double amp;  /* product of the factors' amplitudes */
    double damp; /* derivative in amp */

    /* For STATES: */
    int systems, periodic; /* number of these factors */
    const struct st_factor *system[ST_SYSTEMS], *period[2];
    int ns, nc, nz, w, off; /* ns of the systems; cosines, sines among w = nc + nz; first state */
    bool moving;            /* P depends on t */
    double observe[ST_SYSTEM_MAX];
    double *a, *q, *p; /* ns x ns by rows, of the last step, at unit amplitude, as are da, dq, dp */
    double *da[ST_SYSTEMS], *dq[ST_SYSTEMS], *dp[ST_SYSTEMS];
    double *freq, *size;         /* w each: turns per unit of time; variance with amplitude */
    double *dsize[2];            /* w each: derivative of size in each periodic factor's length */
    double *turns[2];            /* w each: signed harmonic number for each periodic factor */
    double *cs, *sn;             /* nc each: cos, sin of the angle of one grid step */
    double *size_bar, *freq_bar; /* w each: derivatives in size and freq */
    double length_bar[ST_SYSTEMS];
};

struct st_model {
    struct st_term *term;
    size_t rank;       /* 1 + states of processes with a start */
    size_t n_terms, d; /* terms; states */
    size_t d_steps;    /* the first ones, changed by a step; the rest are plain harmonics */
    size_t n_columns, column[ST_COLUMNS_MAX]; /* terms that are regressors */
    double error;                             /* sum over inexact terms of amplitude times error */
    double t0;                                /* origin of the phases */
    double last;                              /* the step that a, q belong to; NAN: no step */
    bool slopes;                              /* with derivatives */
    bool white, weighted, moving; /* white terms; weights on states; on white noise; P moves */
    bool white_varies, folded;
    double *memory;
};

/* The series a model is made for. Its least measurement variance, the number n, and the growth of
 * weights and walks between its ends determine how many harmonics are needed. Suppose all times lie
 * on a grid and a period is a whole number of steps. There harmonic j equals harmonics j + period
 * and period - j, and the model keeps one of them: three and a constant for a week of days, however
 * sharp the pattern. Such a folded model is valid only at the grid points. */
struct st_scope {
    double first, last; /* times */
    double noise;
    size_t n, most; /* points; maximum number of states */
    double step;    /* of the grid; 0: no grid, or other times will be asked for */
};
/* False if a term has no form, or there are more than `most` states. */
bool st_model_init(struct st_model *m, const struct kern *k, const struct st_scope *s);
void st_model_release(struct st_model *m);
/* The product of the weights of a term at time x. z: nz further columns of the input, or NULL. If
 * bar is not 0, adds bar times the derivatives to the factors' own. */
double st_weight(struct st_term *t, double x, const double *z, double bar);
/* Regressor c at x, z. The slope function adds bar times its derivatives. */
double st_column(struct st_model *m, size_t c, double x, const double *z);
void st_column_slope(struct st_model *m, size_t c, double x, const double *z, double bar);
/* Variance of the kernel's white noise at x; the slope function adds bar times its derivatives. */
double st_white(struct st_model *m, double x);
void st_white_slope(struct st_model *m, double x, double bar);
/* Sets p (and dp) of each term to P at x. */
void st_prior(struct st_model *m, double x);
/* Sets a and q for the step of length `gap` from `from`. Terms with a start also set p at its
 * start. */
void st_step(struct st_model *m, double from, double gap);
/* h at x in the rotating frame; h: d, the first d states (all of them, or d_steps). */
void st_observe(struct st_model *m, double x, size_t d, double *h);
/* Adds the derivatives in weights and frequencies, given hbar: d, the derivative in h. */
void st_observe_slope(struct st_model *m, double x, const double *hbar);
/* Does a step leave the states of the term unchanged? */
bool st_static(const struct st_term *t);
/* Adds all accumulated derivatives to g, one per kernel parameter. */
void st_deliver(struct st_model *m, double *g);
void st_clear_slopes(struct st_model *m);
/* Same factors with the same parameters? */
bool st_same_term(const struct st_term *a, const struct st_term *b);
#endif
