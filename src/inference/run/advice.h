/* SPDX-License-Identifier: Apache-2.0
 *
 * What an inference program does badly, in words; a line each. Nothing is appended where all is
 * well.
 */
#ifndef INFER_ADVICE_H
#define INFER_ADVICE_H
#include "inference/run/infer.h"

/* About the trajectories of hmc and nuts: divergences, E-BFMI, depth, acceptance, standing still.
 */
void advice_of_trajectories(const struct infer_state *x, struct buf *out);
/* About a scope whose proposals are hardly ever accepted; advice: what to try. */
void advice_of_share(const char *scope, double proposed, double accepted, const char *advice,
                     struct buf *out);
/* What to try on the choices of a scope, by what they are. */
const char *advice_for_scope(const struct infer_state *x, value scope);
/* All of it. */
void advice_all(const struct infer_state *x, struct buf *out);
#endif
