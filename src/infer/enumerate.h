/* SPDX-License-Identifier: Apache-2.0
 *
 * Inside infer/: all joint values of a block with their weights. */
#ifndef INFER_ENUMERATE_H
#define INFER_ENUMERATE_H
#include "infer/infer.h"

struct candidates {
    value *at; /* counted */
    size_t n;
};
struct enumeration {
    struct trace *t;
    struct scaffold *s; /* detached while the enumeration lives */
    size_t k;           /* principals */
    struct candidates *of;
    struct candidates *outside; /* tables that choices outside the block use */
    size_t n, current;          /* joint values; the one that holds now */
    double *weight;
    struct rng *rng; /* generator before each was weighed */
    double w_old;
};
/* Detaches the block and weighs every joint value. Afterwards the caller builds one of them and
 * commits, or restores; then releases. */
enum gpm_status enumerate_block(struct infer_state *x, struct trace *t, struct node **at, size_t n,
                                struct enumeration *e) GPM_MUST_USE;
/* Builds joint value j with the brush it was weighed with; nothing for the current one. */
enum gpm_status enumeration_build(struct enumeration *e, size_t j) GPM_MUST_USE;
double enumeration_log_total(const struct enumeration *e);
void enumeration_release(struct enumeration *e);
#endif
