/* SPDX-License-Identifier: Apache-2.0
 *
 * See bindings.h. */
#include "runtime/core/bindings.h"

void bindings_free(struct bindings *b) {
    if (!b) return;
    for (size_t i = 0; i < b->all.n; i++)
        if (b->all.at[i].kind == MEANS_CONSTANT) cell_free(b->all.at[i].cell);
    vec_release(&b->all);
    map_release(&b->at);
    mem_free(b);
}

void bindings_put(struct bindings *b, struct meaning m) {
    struct meaning *known = bindings_find(b, m.name);
    if (known) {
        *known = m;
        return;
    }
    vec_push(&b->all, m);
    map_put(&b->at, MAP_PTR(m.name), (void *)(uintptr_t)b->all.n);
}
