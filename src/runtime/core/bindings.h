/* SPDX-License-Identifier: Apache-2.0
 *
 * What names meant when a directive was made. Branches that are taken later and bodies of
 * procedures are evaluated again and again; a directive that has any keeps the names in them, in
 * the frame of its expression, and lookups ask there first. So nothing that is assumed, defined or
 * frozen afterwards changes what it means.
 *
 *     what is assumed, or nothing   it is looked up; when it is about to change, its value is kept
 *     what is frozen, defined       a constant
 *     builtin                       the builtin
 *     a variable around             that variable, whatever the model calls so later
 */
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
    VEC(struct meaning) all;
    struct map at; /* name -> 1 + its place */
};

void bindings_free(struct bindings *b); /* NULL: nothing */
/* Adds the name, or gives it another meaning. */
void bindings_put(struct bindings *b, struct meaning m);
static inline struct meaning *bindings_find(const struct bindings *b, const struct sym *name) {
    size_t i = b ? (size_t)(uintptr_t)map_get(&b->at, MAP_PTR(name)) : 0;
    return i ? &b->all.at[i - 1] : NULL;
}
/* Of the directive whose text f is a frame of; NULL: it keeps none, or f is of no directive. */
static inline const struct bindings *frame_bindings(const struct frame *f) {
    while (f && !f->made_with) f = f->parent;
    return f ? f->made_with : NULL;
}
/* NULL: the name is looked up. */
static inline const struct meaning *frame_meaning(const struct frame *f, const struct sym *name) {
    const struct meaning *m = bindings_find(frame_bindings(f), name);
    return m && m->kind != MEANS_LOOKUP ? m : NULL;
}
#endif
