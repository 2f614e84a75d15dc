/* SPDX-License-Identifier: Apache-2.0
 *
 * Inside inference/: Pathfinder (Zhang, Carpenter, Gelman and Vehtari 2022). A quasi-Newton path
 * uphill from a random point estimates the curvature of the log density. Each of its points thus
 * gives a normal approximation. The best approximation has the largest evidence lower bound
 *
 *     ELBO = E_q[log p(z) - log q(z)]
 *
 * It lies where the mass is, before the path reaches a spike or diverges. A draw from it is a good
 * start for a chain. Paths that end in different modes are compared by their bounds, which are log
 * masses if the modes are normal. */
#ifndef INFER_PATHFINDER_H
#define INFER_PATHFINDER_H
#include "inference/hmc/continuous.h"

/* Starts at z, which becomes a draw from the best approximation on the path. If there is no
 * approximation, *elbo is -inf and z is unchanged. */
enum gpm_status pathfinder_path(struct continuous *c, double *z, double *elbo) GPM_MUST_USE;
#endif
