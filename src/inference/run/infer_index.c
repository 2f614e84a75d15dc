/* SPDX-License-Identifier: Apache-2.0
 *
 * Inference operators among the procedures (front/rows.c names their families). */
#include "inference/run/infer.h"

#include "base/vec.h"

extern const struct op_state_class samplers_own, structures_own, laplace_fits_own, detached_own,
    summed_own, lent_own;
static const struct op_state_class *const states[] = {
    &samplers_own, &structures_own, &laplace_fits_own, &detached_own, &summed_own, &lent_own};
struct op_states {
    void *of[COUNT_OF(states)]; /* NULL until first used */
};

struct op_states *op_states_new(void) {
    return NEW(struct op_states);
}

void op_states_free(struct op_states *s) {
    for (size_t i = 0; i < COUNT_OF(states); i++) {
        if (s->of[i] && states[i]->free) states[i]->free(s->of[i]);
        mem_free(s->of[i]);
    }
    mem_free(s);
}

void *infer_own(const struct infer_state *x, const struct op_state_class *cls) {
    size_t i = 0;
    while (states[i] != cls) i++;
    if (!x->own->of[i]) x->own->of[i] = mem_zalloc(cls->size);
    return x->own->of[i];
}

void op_states_pack(struct pack *p, struct infer_state *x) {
    for (size_t i = 0; i < COUNT_OF(states); i++)
        if (states[i]->pack) states[i]->pack(p, infer_own(x, states[i]));
}

/* Made once for the index of procedures and kept. */
size_t sp_operator_make(const struct sp_class **rows) {
    VEC(struct sp_class) all = {0};
    for (size_t f = 0; infer_families[f]; f++)
        for (const struct infer_op *op = infer_families[f]; op->name; op++) {
            struct sp_class made = {.name = op->name,
                                    .sig = op->sig,
                                    .doc = op->doc,
                                    .example = op->example,
                                    .flags = SP_INFERENCE_ONLY,
                                    .touches = op->touches,
                                    .of = op};
            vec_push(&all, made);
        }
    *rows = all.at;
    return all.n;
}
