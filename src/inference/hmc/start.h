/* SPDX-License-Identifier: Apache-2.0
 *
 * Inside inference/: starting points of chains. */
#ifndef INFER_START_H
#define INFER_START_H
#include "inference/hmc/continuous.h"

enum start_kind {
    START_CURRENT,   /* the current values */
    START_PRIOR,     /* a draw from the prior */
    START_RANDOM,    /* uniform in -2 .. 2 in the unconstrained space, without hopeless points */
    START_OPTIMUM,   /* from there uphill to a mode */
    START_LAPLACE,   /* a draw from the fit of laplace_mh */
    START_PATHFINDER /* a draw from the best normal approximation on paths uphill */
};
enum { START_TRIES = 100 };
struct start {
    enum start_kind kind;
    value given; /* dictionary: names of choices -> starting values, or NIL; borrowed */
};

/* Reads the user's choice: current, prior, random, optimum, laplace, pathfinder (the default), or a
 * dictionary. */
enum gpm_status start_read(struct infer_state *x, value init, struct start *out) GPM_MUST_USE;
/* A point z with finite log weight and gradient. *tries: number of failed draws; *found is false
 * after START_TRIES failures. */
enum gpm_status start_draw(struct continuous *c, const struct start *how, double *z, double *tries,
                           bool *found) GPM_MUST_USE;
#endif
