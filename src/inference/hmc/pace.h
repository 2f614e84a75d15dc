/* SPDX-License-Identifier: Apache-2.0
 *
 * Inside inference/: the number of transitions per draw. The last long window of the warm-up runs
 * nearly the sampling kernel. Let f be a number z of the state, or its squared distance from the
 * mean (which R-hat and tails depend on), and m the mean of f over a batch of B consecutive
 * transitions. Then
 *
 *     B var(m) / var(f)
 *
 * estimates the number of transitions per independent draw of f (batch means). Nearly independent
 * draws need no thinning. If the slowest f needs many transitions, a draw is kept after several of
 * them. */
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
void pace_pack(struct pack *k, struct pace *p); /* reads into one of the same size */
#endif
