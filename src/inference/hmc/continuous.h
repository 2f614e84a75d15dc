/* SPDX-License-Identifier: Apache-2.0
 *
 * Inside inference/: the continuous choices of a block as one vector of numbers, in their own space
 * or transformed to an unconstrained one (constrain.h). If the bounds, or the location and scale,
 * of a choice depend on other choices of the block, its transform follows them (placed.h). */
#ifndef INFER_CONTINUOUS_H
#define INFER_CONTINUOUS_H
#include "inference/hmc/constrain.h"
#include "inference/run/move.h"

enum continuous_place {
    PLACE_ALONE,    /* independent of its arguments */
    PLACE_FREE,     /* ends move, but no transform can follow them: stays in x */
    PLACE_BOUNDED,  /* between ends that are arguments */
    PLACE_CENTRED,  /* around an argument, in units of another, if wanted */
    PLACE_PREDICTED /* around a random function's prediction at the arguments */
};
struct continuous_part {
    struct constraint to;
    value shape; /* old value: number, vector, array or matrix; counted */
    size_t x0, z0;
    enum continuous_place place;
    uint8_t arg[2]; /* placing arguments: ends, or location and scale */
    double *slopes; /* of a prediction (struct placing); owned, or NULL */
    bool given;     /* z holds x for it (continuous_assign) */
};

struct continuous {
    struct infer_state *x;
    struct trace *t;
    struct move m;
    bool transformed;
    size_t n_parts, n_x, n_z;
    struct continuous_part *part;
    double *old;           /* n_z: the old state; owns the next two */
    double *buf_x, *buf_g; /* n_x: a point, and the gradient there */
    double w_old;          /* log weight of `old`, with the log Jacobian */
    value *vals, *grads;   /* n_parts */
    /* Parts that are placed by their arguments; NULL if there are no such parts (placed.h). */
    struct placing placing;
    struct placed *placed;
    double *standing[2],
        *last[2]; /* n_x each: arguments in the current state, and at the last placing */
    double *found, *log_slope; /* n_x: z of a drawn or given x; n_parts */
    const double *at_z, *by;   /* n_z: the current point; degrees of centring, or NULL; borrowed */
    struct rng frozen;         /* generator of the brush in every evaluation */
};

/* Below this log weight, differences vanish in rounding, and no trajectory can find its
 * direction. */
#define CONTINUOUS_HOPELESS (-1e15)

/* Takes the continuous choices among `at` out of the trace. If c->n_parts is 0 there are no such
 * choices, and nothing was done. */
enum gpm_status continuous_open(struct step *s, bool transformed,
                                struct continuous *c) GPM_MUST_USE;
/* Replaces the computed z of the current state by the sampler's z, if that gives the same values.
 * Values rounded to a bound have lost their distance from it; the sampler's z has kept it. */
void continuous_refine(struct continuous *c, const double *z);
/* Log weight at z, plus the log Jacobian when transformed, and its gradient unless NULL. -inf if
 * the model cannot be evaluated. */
enum gpm_status continuous_eval(struct continuous *c, const double *z, double *logp,
                                double *grad) GPM_MUST_USE;
/* For optimisers, which have no statuses: minus the log weight at z, and its gradient. The first
 * error is kept in st, and from then on the cost is infinite. */
struct objective {
    struct continuous *c;
    enum gpm_status st;
};
double continuous_cost(void *objective, const double *z, double *grad);
/* Builds the state at z with a newly drawn brush; *logp as above. The caller then closes. */
enum gpm_status continuous_build(struct continuous *c, const double *z, double *logp) GPM_MUST_USE;
/* Draws values from the prior, as z, to start from or to take units from. *logp (may be NULL): log
 * weight without the choices' own densities. *ok is false if they could not be evaluated. A block
 * with an improper prior gives numbers of order 1 and their full log weight. */
enum gpm_status continuous_prior(struct continuous *c, double *z, double *logp,
                                 bool *ok) GPM_MUST_USE;
bool continuous_has(const struct continuous *c, const struct node *n); /* is n one of them? */
/* Sets the part of z for choice n from a value. False: n is not one of the choices, or v is not a
 * value of it. */
bool continuous_assign(struct continuous *c, const struct node *n, value v, double *z);
/* Makes z a point after all assignments, which may include choices whose bounds are assigned,
 * too. */
enum gpm_status continuous_settle(struct continuous *c, double *z) GPM_MUST_USE;
/* After open: by[i] is the degree of centring of number i (constrain.h; borrowed until close), if
 * its location and scale change with the block. c->last then has their values in the state built
 * last. Updates `old` and w_old. */
enum gpm_status continuous_centre(struct continuous *c, const double *by) GPM_MUST_USE;
/* The first choice of the block with an improper prior, or NULL. */
const struct sp_class *continuous_improper(const struct continuous *c);
/* Would continuous_open include this choice? */
bool continuous_takes(struct trace *t, struct node *n);
/* For z of the current state. */
double continuous_log_jacobian(struct continuous *c, const double *z);
/* Keeps the built state or restores the old one. */
void continuous_close(struct continuous *c, bool keep);
#endif
