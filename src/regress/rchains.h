/* SPDX-License-Identifier: Apache-2.0
 *
 * Hamiltonian Monte Carlo in the coordinates in which Laplace's method makes the posterior a
 * standard normal, z = mode + scale t: for posteriors of many parameters, where importance sampling
 * leaves few draws their weight. A trajectory of 4 to 10 leapfrog steps turns by about a quarter of
 * a circle; the step adapts in the first fifth of a chain, which is not kept. Chains have their own
 * random numbers and processes, so the draws do not depend on the threads.
 */
#ifndef REGRESS_RCHAINS_H
#define REGRESS_RCHAINS_H
#include "infer/laplace.h"

enum { RCHAINS = 4 };
struct rchains {
    double *z;         /* kept x d */
    size_t kept;       /* a multiple of RCHAINS */
    size_t apart;      /* transitions for each of them */
    double acceptance; /* mean over kept transitions */
    double rhat;       /* the worst over parameters, split and rank-normalised */
};
/* density(ctx, chain): that of a chain, d parameters each. */
typedef struct density (*rchains_density)(void *ctx, int chain);
/* The caller gives z room for kept x d. */
void rchains_run(struct rchains *c, const struct proposal *q, rchains_density density, void *ctx,
                 uint64_t seed, int threads);
#endif
