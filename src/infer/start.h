/* SPDX-License-Identifier: Apache-2.0
 *
 * Inside infer/: where chains begin.
 */
#ifndef INFER_START_H
#define INFER_START_H
#include "infer/continuous.h"

enum start_kind {
    START_CURRENT, /* where the choices stand */
    START_PRIOR,   /* a draw from the prior */
    START_RANDOM,  /* uniform in -2 .. 2 in the unconstrained space */
    START_OPTIMUM, /* uphill from there to a mode */
    START_LAPLACE  /* a draw from the fit of laplace_mh */
};
enum { START_TRIES = 100 };

/* A point z that can be begun from: log weight and gradient are finite. *tries: how many were drawn
 * in vain; *found false: none of START_TRIES. */
enum gpm_status start_draw(struct continuous *c, enum start_kind kind, double *z, double *tries,
                           bool *found) GPM_MUST_USE;
#endif
