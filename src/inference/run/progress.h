/* SPDX-License-Identifier: Apache-2.0
 *
 * Progress of long commands: the outermost loop with a known number of rounds reports its completed
 * share, at most ten times a second. */
#ifndef INFER_PROGRESS_H
#define INFER_PROGRESS_H
#include "inference/run/infer.h"

/* Runs the action `rounds` times. `each` may be NULL; it gets the index of the round, from 0, and
 * the result. Inner loops report nothing. */
typedef enum gpm_status round_fn(void *ctx, double i, value result);
enum gpm_status progress_repeat(struct infer_state *x, double rounds, value action, round_fn *each,
                                void *ctx) GPM_MUST_USE;

/* The same for rounds that are not actions. */
typedef enum gpm_status loop_fn(void *ctx, double i);
enum gpm_status progress_loop(struct infer_state *x, double rounds, loop_fn *round,
                              void *ctx) GPM_MUST_USE;

/* The name of a scope, without the quotes of a string. */
void scope_name_text(value scope, struct buf *out);
/* "hyper 43%, default 21%": acceptance rates since the statistics were `before` (n scopes). */
void acceptance_text(const struct infer_state *x, const struct scope_stats *before, size_t n,
                     struct buf *out);
#endif
