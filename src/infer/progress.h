/* SPDX-License-Identifier: Apache-2.0
 *
 * How far a long command is: the outermost loop with a known number of rounds reports its share,
 * at most ten times a second.
 */
#ifndef INFER_PROGRESS_H
#define INFER_PROGRESS_H
#include "infer/infer.h"

/* One loop: begin, step before each round, end. Loops inside another one say nothing. */
struct progress_loop {
    struct infer_state *x;
    double rounds;
    bool counts; /* it is the outermost, and someone listens */
};
void progress_begin(struct progress_loop *p, struct infer_state *x, double rounds);
void progress_step(struct progress_loop *p, double done);
void progress_end(struct progress_loop *p);

/* Its name without the quotes of a string. */
void scope_name_text(value scope, struct buf *out);
/* "hyper 43%, default 21%": shares accepted since the statistics were `before` (n scopes). */
void acceptance_text(const struct infer_state *x, const struct scope_stats *before, size_t n,
                     struct buf *out);
#endif
