/* SPDX-License-Identifier: Apache-2.0
 *
 * The meaning of names at the time of a directive. Branches and bodies of procedures may be
 * evaluated again later. A directive that has any stores the meanings of their names in the frame
 * of its expression, and lookups ask there first. So later assumptions, definitions or freezes do
 * not change the directive.
 *
 *     assumed or unbound     looked up; just before it changes, its present value is stored
 *     frozen or defined      a constant
 *     builtin                the builtin
 *     enclosing variable     that variable, whatever the model assumes under its name later */
#ifndef CORE_BINDINGS_H
#define CORE_BINDINGS_H
#include "runtime/core/frame.h"

enum meaning_kind { MEANS_LOOKUP, MEANS_CONSTANT, MEANS_BUILTIN, MEANS_VARIABLE };
struct meaning {
    struct sym *name;
    struct cell *cell; /* MEANS_CONSTANT: owned by the bindings; MEANS_BUILTIN: borrowed */
    enum meaning_kind kind;
};
struct bindings {
    uint64_t number; /* unique in the session, given when the machine first asks; 0: not yet */
    VEC(struct meaning) all;
    struct map at; /* name -> 1 + its index */
};

void bindings_free(struct bindings *b); /* b may be NULL */
/* Adds a name or replaces its meaning. */
void bindings_put(struct bindings *b, struct meaning m);
static inline struct meaning *bindings_find(const struct bindings *b, const struct sym *name) {
    size_t i = b ? (size_t)(uintptr_t)map_get(&b->at, MAP_PTR(name)) : 0;
    return i ? &b->all.at[i - 1] : NULL;
}
/* The bindings of the directive in whose text f is a frame; NULL if it has none or f is not in
 * one. */
static inline const struct bindings *frame_bindings(const struct frame *f) {
    while (f && !f->made_with) f = f->parent;
    return f ? f->made_with : NULL;
}
/* NULL: the name must be looked up. */
static inline const struct meaning *frame_meaning(const struct frame *f, const struct sym *name) {
    const struct meaning *m = bindings_find(frame_bindings(f), name);
    return m && m->kind != MEANS_LOOKUP ? m : NULL;
}
#endif
