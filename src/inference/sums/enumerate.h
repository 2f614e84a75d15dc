/* SPDX-License-Identifier: Apache-2.0
 *
 * Inside inference/: all joint values of a block with their weights. */
#ifndef INFER_ENUMERATE_H
#define INFER_ENUMERATE_H
#include "inference/run/move.h"

typedef VEC(value) candidates; /* counted, all different */
bool candidates_hold(const candidates *c, value v);
bool candidates_add(candidates *c, value v); /* false: already present */
/* Adds the possible values of the choice in the current state, except the last `leave` ones. *grew:
 * some were new. */
enum gpm_status candidates_add_all(candidates *to, struct trace *t, struct node *n, size_t leave,
                                   bool *grew) GPM_MUST_USE;
struct enumeration {
    struct trace *t;
    struct move m; /* open throughout the enumeration */
    size_t k;      /* number of principals */
    candidates *of;
    candidates *outside; /* tables used by choices outside the block */
    size_t n, current;   /* joint values; the current one */
    double *weight;
    struct rng *rng; /* generator state before weighing each */
};
/* Opens the block and weighs every joint value. Afterwards the caller may build one of them, then
 * ends. */
enum gpm_status enumerate_block(struct step *s, struct enumeration *e) GPM_MUST_USE;
/* Builds joint value j with the same brush as when weighed; does nothing for the current one. */
enum gpm_status enumeration_build(struct enumeration *e, size_t j) GPM_MUST_USE;
double enumeration_log_total(const struct enumeration *e);
void enumeration_end(struct enumeration *e, bool keep);
#endif
