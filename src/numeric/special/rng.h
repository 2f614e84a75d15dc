/* SPDX-License-Identifier: Apache-2.0
 *
 * Random numbers: Philox4x32-10 of Random123, keyed by (seed, chain, stream). A counter-based
 * generator: no global state, the same seed gives the same numbers on every compiler and with any
 * number of threads. All samplers take the state explicitly.
 */
#ifndef MATH_RNG_H
#define MATH_RNG_H
#include <stddef.h>
#include <stdint.h>

struct rng {
    uint64_t seed;
    uint32_t chain, stream;
    uint64_t counter;  /* blocks used */
    uint32_t block[4]; /* current block */
    uint32_t left;     /* words of it not yet handed out */
    double spare;      /* second normal of a pair */
    int has_spare;
};

void rng_init(struct rng *r, uint64_t seed, uint32_t chain, uint32_t stream);
uint32_t rng_u32(struct rng *r);
uint64_t rng_u64(struct rng *r);
double rng_uniform(struct rng *r);             /* in (0, 1), 53 bits, never 0 or 1 */
double rng_normal(struct rng *r);              /* standard normal */
double rng_exponential(struct rng *r);         /* rate 1 */
uint64_t rng_below(struct rng *r, uint64_t n); /* uniform on 0..n-1, unbiased; n > 0 */
/* A generator for an independent stream derived from this one (advances r). */
struct rng rng_split(struct rng *r);
#endif
