/* SPDX-License-Identifier: Apache-2.0
 *
 * Copies of a model to go back to when an instruction fails half way. */
#include "infer/infer.h"

struct model_snapshot {
    VEC(struct trace *) p;
};

struct model_snapshot *model_snapshot(struct model *m) {
    struct model_snapshot *s = NEW(struct model_snapshot);
    for (size_t i = 0; i < m->p.n; i++) vec_push(&s->p, trace_clone(m->p.at[i]));
    return s;
}

void model_snapshot_free(struct model_snapshot *s) {
    for (size_t i = 0; i < s->p.n; i++) trace_free(s->p.at[i]);
    vec_release(&s->p);
    mem_free(s);
}

void model_rollback(struct model *m, struct model_snapshot *s) {
    for (size_t i = 0; i < m->p.n; i++) trace_free(m->p.at[i]);
    vec_clear(&m->p);
    for (size_t i = 0; i < s->p.n; i++) vec_push(&m->p, s->p.at[i]);
    vec_clear(&s->p);
    model_snapshot_free(s);
}
