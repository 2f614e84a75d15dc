/* SPDX-License-Identifier: Apache-2.0
 *
 * Inside infer/: how many transitions a draw is worth. The last long window of the warm-up is made
 * by almost the kernel that samples. With f a number z of the state, or the square of its distance
 * from the middle (what R-hat and tails see), m the mean of f over a batch of B transitions in a
 * row,
 *
 *     B var(m) / var(f)
 *
 * estimates how many transitions one independent draw of f takes (batch means). Nearly independent
 * draws need no thinning; where the slowest f takes many, a draw is kept after several transitions.
 */
#ifndef INFER_PACE_H
#define INFER_PACE_H
#include "base/pack.h"
#include <stdbool.h>
#include <stddef.h>

struct pace {
    size_t n;
    double *of; /* struct pace_sums, two per number */
    double seen, batches;
};
void pace_init(struct pace *p, size_t n);
void pace_release(struct pace *p);
void pace_note(struct pace *p, const double *z);
double pace_advice(const struct pace *p);       /* transitions per draw, at least 1 */
void pace_pack(struct pack *k, struct pace *p); /* read into one of the same size */
#endif
