/* SPDX-License-Identifier: Apache-2.0
 *
 * Inside infer/: where chains begin.
 */
#ifndef INFER_START_H
#define INFER_START_H
#include "inference/hmc/continuous.h"

enum start_kind {
    START_CURRENT,   /* where the choices stand */
    START_PRIOR,     /* a draw from the prior */
    START_RANDOM,    /* uniform in -2 .. 2 in the unconstrained space, disasters left out */
    START_OPTIMUM,   /* uphill from there to a mode */
    START_LAPLACE,   /* a draw from the fit of laplace_mh */
    START_PATHFINDER /* a draw from the best normal approximation along paths uphill */
};
enum { START_TRIES = 100 };
struct start {
    enum start_kind kind;
    value given; /* dictionary: names of choices -> values that they begin with, or NIL; borrowed */
};

/* What a user wrote: current, prior, random, optimum, laplace, pathfinder (the default), or a
 * dictionary. */
enum gpm_status start_read(struct infer_state *x, value init, struct start *out) GPM_MUST_USE;
/* A point z that can be begun from: log weight and gradient are finite. *tries: how many were drawn
 * in vain; *found false: none of START_TRIES. */
enum gpm_status start_draw(struct continuous *c, const struct start *how, double *z, double *tries,
                           bool *found) GPM_MUST_USE;
#endif
