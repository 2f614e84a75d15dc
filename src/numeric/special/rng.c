/* SPDX-License-Identifier: Apache-2.0
 *
 * Philox4x32-10 (Salmon et al., Parallel random numbers: as easy as 1, 2, 3; SC 2011). Key: the
 * seed. Counter: 64 bits of block number, chain, stream. Only integer arithmetic, sqrt and log
 * enter the numbers, so gcc and clang agree.
 */
#include "numeric/special/rng.h"
#include <math.h>

void rng_init(struct rng *r, uint64_t seed, uint32_t chain, uint32_t stream) {
    *r = (struct rng){.seed = seed, .chain = chain, .stream = stream};
}

static void refill(struct rng *r) {
    uint32_t c0 = (uint32_t)r->counter, c1 = (uint32_t)(r->counter >> 32), c2 = r->chain,
             c3 = r->stream, k0 = (uint32_t)r->seed, k1 = (uint32_t)(r->seed >> 32);
    for (int round = 0; round < 10; round++) {
        uint64_t p0 = (uint64_t)0xD2511F53 * c0, p1 = (uint64_t)0xCD9E8D57 * c2;
        c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
        c1 = (uint32_t)p1;
        c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
        c3 = (uint32_t)p0;
        k0 += 0x9E3779B9; /* the golden ratio, and sqrt(3) - 1 */
        k1 += 0xBB67AE85;
    }
    r->block[0] = c0;
    r->block[1] = c1;
    r->block[2] = c2;
    r->block[3] = c3;
    r->counter++;
    r->left = 4;
}

uint32_t rng_u32(struct rng *r) {
    if (r->left == 0) refill(r);
    return r->block[4 - r->left--];
}

uint64_t rng_u64(struct rng *r) {
    if (r->left < 2) {
        uint64_t hi = rng_u32(r);
        return hi << 32 | rng_u32(r);
    }
    const uint32_t *at = r->block + (4 - r->left);
    r->left -= 2;
    return (uint64_t)at[0] << 32 | at[1];
}

/* An odd multiple of 2^-53: (k + 1/2) / 2^52 with k of 52 bits is exact, so rounding never gives 0
 * or 1. */
double rng_uniform(struct rng *r) {
    return ((double)(rng_u64(r) >> 12) + 0.5) * 0x1p-52;
}

/* Marsaglia's polar method; the second of each pair is kept for the next call. */
double rng_normal(struct rng *r) {
    if (r->has_spare) {
        r->has_spare = 0;
        return r->spare;
    }
    double x, y, s;
    do {
        x = 2 * rng_uniform(r) - 1;
        y = 2 * rng_uniform(r) - 1;
        s = x * x + y * y;
    } while (s >= 1 || s == 0);
    double f = sqrt(-2 * log(s) / s);
    r->spare = y * f;
    r->has_spare = 1;
    return x * f;
}

double rng_exponential(struct rng *r) {
    return -log(rng_uniform(r));
}

/* Rejects the incomplete last run of n below 2^64, so every residue is equally likely. */
uint64_t rng_below(struct rng *r, uint64_t n) {
    if (n <= 1) return 0;
    uint64_t skip = (0 - n) % n; /* 2^64 mod n */
    uint64_t x;
    do x = rng_u64(r);
    while (x < skip);
    return x % n;
}

struct rng rng_split(struct rng *r) {
    struct rng child;
    uint64_t seed = rng_u64(r);
    rng_init(&child, seed, r->chain, rng_u32(r));
    return child;
}
