/* SPDX-License-Identifier: Apache-2.0
 *
 * Inside infer/: all joint values of a block with their weights. */
#ifndef INFER_ENUMERATE_H
#define INFER_ENUMERATE_H
#include "inference/run/move.h"

typedef VEC(value) candidates; /* counted, no two equal */
bool candidates_hold(const candidates *c, value v);
bool candidates_add(candidates *c, value v); /* false: it is there already */
/* Adds what the choice can be in the state that stands, but for the last `leave` values. *grew:
 * some were new. */
enum gpm_status candidates_add_all(candidates *to, struct trace *t, struct node *n, size_t leave,
                                   bool *grew) GPM_MUST_USE;
struct enumeration {
    struct trace *t;
    struct move m; /* open while the enumeration lives */
    size_t k;      /* principals */
    candidates *of;
    candidates *outside; /* tables that choices outside the block use */
    size_t n, current;   /* joint values; the one that holds now */
    double *weight;
    struct rng *rng; /* generator before each was weighed */
};
/* Opens the block and weighs every joint value. Afterwards the caller builds one of them, or none,
 * and ends. */
enum gpm_status enumerate_block(struct step *s, struct enumeration *e) GPM_MUST_USE;
/* Builds joint value j with the brush it was weighed with; nothing for the current one. */
enum gpm_status enumeration_build(struct enumeration *e, size_t j) GPM_MUST_USE;
double enumeration_log_total(const struct enumeration *e);
void enumeration_end(struct enumeration *e, bool keep);
#endif
