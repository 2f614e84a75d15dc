/* SPDX-License-Identifier: Apache-2.0
 *
 * A grammar that is a program, as a space of structures: the discrete choices of one scope of a
 * trace make the structure, the continuous choices of another are its parameters, integrated out.
 *
 * Different derivations (derive.h) may lead to the same conditional of the parameters, known by its
 * values (laplace_fit.h): SE + WN and WN + SE. They are one structure, its prior is their sum.
 * Its name is the simplified expression of the kernel that was assumed last; without kernels, the
 * values of the choices.
 */
#ifndef DISCOVER_PROGRAM_SPACE_H
#define DISCOVER_PROGRAM_SPACE_H
#include "apps/discover/posterior.h"
#include "inference/run/infer.h"

/* The space around the state of t, which is copied. */
struct space *program_space_new(struct infer_state *x, struct trace *t, value structure,
                                value parameters);
/* Drops state kept between evaluations, so they start again. */
void program_space_rest(struct space *s);
/* A copy of the trace in a state drawn from the posterior. NULL: none could be built. */
GPM_MUST_USE enum gpm_status program_space_draw(const struct posterior *p, struct rng *r,
                                                struct trace **out);
#endif
