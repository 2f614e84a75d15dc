/* SPDX-License-Identifier: Apache-2.0
 *
 * Derivations of a grammar that is a program: the discrete choices of a scope of a trace. A
 * derivation is a list of small numbers, one for each choice in the order of evaluation: which of
 * its values (as its distribution lists them) it has. Numbers mean the same in every copy of the
 * trace, where values such as procedures do not.
 */
#ifndef DISCOVER_DERIVE_H
#define DISCOVER_DERIVE_H
#include "inference/op/structure_choices.h"

struct derivation {
    uint32_t *at; /* owned */
    size_t n;
};
/* What a grammar is made of; borrowed. */
struct grammar_scopes {
    struct infer_state *x;
    const char *op; /* for messages */
    value structure, parameters;
};

uint64_t newest_choice(const struct trace *t); /* the highest number of a choice */
/* The structure's choices in the order of evaluation: those of its scope that are no parameters. An
 * error where one of them has no finite list of values. mem_free out->at. */
enum gpm_status structure_choices(const struct grammar_scopes *g, struct trace *t,
                                  struct node_set *out) GPM_MUST_USE;
/* The derivation that t is in; *log_prior: its log probability. */
enum gpm_status derivation_read(const struct grammar_scopes *g, struct trace *t,
                                struct derivation *out, double *log_prior) GPM_MUST_USE;
/* Brings t there, choice by choice; *ok false: a state on the way cannot be built. Parameters that
 * come to exist are drawn from the prior. */
enum gpm_status derivation_build(const struct grammar_scopes *g, struct trace *t,
                                 const struct derivation *d, bool *ok) GPM_MUST_USE;

/* Calls fn in every state reachable from t, which is in derivation d, by choosing one block of the
 * scope again: the values of its choices, and of choices that come with them, as long as they are
 * not too improbable together. t may end in any state. `done` knows the blocks and surroundings
 * already tried: they lead to the same states. */
typedef enum gpm_status derivation_fn(void *ctx, struct trace *t);
enum gpm_status derivation_neighbours(const struct grammar_scopes *g, struct trace *t,
                                      const struct derivation *d, struct map *done,
                                      derivation_fn *fn, void *ctx) GPM_MUST_USE;
#endif
