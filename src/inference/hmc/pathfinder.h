/* SPDX-License-Identifier: Apache-2.0
 *
 * Inside infer/: Pathfinder (Zhang, Carpenter, Gelman and Vehtari 2022). A quasi-Newton path uphill
 * from a random point sees the curvature of the log density on its way: at each of its points that
 * gives a normal approximation. The one that is nearest to the posterior, by the evidence lower
 * bound
 *
 *     ELBO = E_q[log p(z) - log q(z)]
 *
 * stands where the mass is, before the path runs into a spike or off to infinity, and a draw from
 * it is a start for a chain that needs no search. Paths that end in different modes are told apart
 * by their bounds, which are log masses if the modes are normal.
 */
#ifndef INFER_PATHFINDER_H
#define INFER_PATHFINDER_H
#include "inference/hmc/continuous.h"

/* From z, which becomes a draw from the best approximation of the path; *elbo -inf: there is none,
 * and z stays. */
enum gpm_status pathfinder_path(struct continuous *c, double *z, double *elbo) GPM_MUST_USE;
#endif
