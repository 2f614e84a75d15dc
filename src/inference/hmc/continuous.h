/* SPDX-License-Identifier: Apache-2.0
 *
 * Inside infer/: the continuous choices of a block as one vector of numbers, in their own space or
 * transformed to an unconstrained one (constrain.h). The transform of a choice whose bounds, or
 * whose location and scale, depend on other choices of the block follows them (placed.h). */
#ifndef INFER_CONTINUOUS_H
#define INFER_CONTINUOUS_H
#include "inference/hmc/constrain.h"
#include "inference/run/move.h"

enum continuous_place {
    PLACE_ALONE,    /* whatever its arguments are */
    PLACE_FREE,     /* the ends move, and no transform can follow them: it stays in x */
    PLACE_BOUNDED,  /* between ends that are arguments */
    PLACE_CENTRED,  /* around an argument, in units of another, where asked for */
    PLACE_PREDICTED /* around what a random function is predicted to be at the arguments */
};
struct continuous_part {
    struct constraint to;
    value shape; /* the old value: number, vector, array or matrix; counted */
    size_t x0, z0;
    enum continuous_place place;
    uint8_t arg[2]; /* that place it: ends, or location and scale */
    double *slopes; /* of a prediction (struct placing); owned, or NULL */
    bool given;     /* x stands for z in it (continuous_assign) */
};

struct continuous {
    struct infer_state *x;
    struct trace *t;
    struct move m;
    bool transformed;
    size_t n_parts, n_x, n_z;
    struct continuous_part *part;
    double *old;           /* n_z: where the choices stood; owns the next two */
    double *buf_x, *buf_g; /* n_x: a point, and the gradient there */
    double w_old;          /* log weight of `old`, with the log Jacobian */
    value *vals, *grads;   /* n_parts */
    /* parts that their arguments place; NULL: there are none (placed.h) */
    struct placing placing;
    struct placed *placed;
    double *standing[2], *last[2]; /* n_x each: arguments of the state that stands, and when a part
                                      was last placed */
    double *found, *log_slope;     /* n_x: z of what was drawn or given as x; n_parts */
    const double *at_z, *by;       /* n_z: the point under way; how centred, or NULL; borrowed */
    struct rng frozen;             /* the brush of every evaluation is drawn with this generator */
};

/* Below this, differences of log weights drown in rounding: no trajectory can tell where it goes.
 */
#define CONTINUOUS_HOPELESS (-1e15)

/* Takes the continuous choices among `at` out of the trace. c->n_parts == 0: there are none, and
 * nothing was done. */
enum gpm_status continuous_open(struct step *s, bool transformed,
                                struct continuous *c) GPM_MUST_USE;
/* z is where the sampler knows the choices to stand, if their values are still those that z gives:
 * values that round to a bound have lost how far from it they are, and z has not. Else nothing
 * changes. */
void continuous_refine(struct continuous *c, const double *z);
/* Log weight at z, plus the log Jacobian when transformed, and its gradient (NULL: not wanted).
 * -inf where the model cannot be evaluated. */
enum gpm_status continuous_eval(struct continuous *c, const double *z, double *logp,
                                double *grad) GPM_MUST_USE;
/* For optimisers, which know no statuses: - log weight at z and its gradient. The first error is
 * kept in st; from then on the cost is infinite. */
struct objective {
    struct continuous *c;
    enum gpm_status st;
};
double continuous_cost(void *objective, const double *z, double *grad);
/* Builds the state at z, with a fresh brush; *logp as above. The caller then closes. */
enum gpm_status continuous_build(struct continuous *c, const double *z, double *logp) GPM_MUST_USE;
/* Values to begin from or to take units from: drawn from the prior, as z; *logp (may be NULL): log
 * weight without the densities of the choices themselves. False: they could not be evaluated. A
 * block with an improper prior gives numbers of order 1, and *logp of them with everything. */
enum gpm_status continuous_prior(struct continuous *c, double *z, double *logp,
                                 bool *ok) GPM_MUST_USE;
bool continuous_has(const struct continuous *c, const struct node *n); /* among the choices */
/* The part of z that stands for the choice n, from a value of it; false: n is none of the choices,
 * or v none of its values. */
bool continuous_assign(struct continuous *c, const struct node *n, value v, double *z);
/* After assigning: z is a point (values may be given for choices whose bounds are given, too). */
enum gpm_status continuous_settle(struct continuous *c, double *z) GPM_MUST_USE;
/* After open: by[i] says how centred number i is (constrain.h; borrowed until close), where its
 * distribution has a location and a scale that move with the block; then c->last has these of the
 * state that was built last. `old` and w_old follow. */
enum gpm_status continuous_centre(struct continuous *c, const double *by) GPM_MUST_USE;
/* The first choice of the block with an improper prior; NULL: none. */
const struct sp_class *continuous_improper(const struct continuous *c);
/* Would continuous_open take this choice? */
bool continuous_takes(struct trace *t, struct node *n);
/* Of z that is the state that stands. */
double continuous_log_jacobian(struct continuous *c, const double *z);
/* Keeps what was built, or puts the old state back. */
void continuous_close(struct continuous *c, bool keep);
#endif
