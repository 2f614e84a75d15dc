/* SPDX-License-Identifier: Apache-2.0
 *
 * Choices in evaluation order: directives as given, nodes of a directive as evaluated, and the
 * nodes that a node requests before the node itself. A choice comes after everything its procedure
 * and arguments depend on. */
#include "runtime/trace/node.h"

struct walk {
    const uint64_t *known; /* numbers of the choices to skip */
    size_t n;
    struct map seen; /* memoized families have several requesters */
};

static bool is_known(const struct walk *w, const struct node *n) {
    size_t i = 0;
    while (i < w->n && w->known[i] != n->seq) i++;
    return i < w->n;
}

static struct node *first_in(struct walk *w, struct family *f) {
    if (f->own_ctx) {
        if (map_get(&w->seen, MAP_PTR(f))) return NULL;
        map_put(&w->seen, MAP_PTR(f), f);
    }
    for (size_t i = 0; i < f->nodes.n; i++) {
        struct node *n = f->nodes.at[i], *found = NULL;
        if (n->kind == NODE_CONST) continue;
        for (uint32_t k = 0; n->req && k < n->req->n_fam && !found; k++)
            found = first_in(w, n->req->fam[k]);
        if (!found && n->choice != NO_INDEX && !is_known(w, n)) found = n;
        if (found) return found;
    }
    return NULL;
}

struct node *trace_first_choice(struct trace *t, const uint64_t *known, size_t n) {
    struct walk w = {.known = known, .n = n};
    struct node *found = NULL;
    for (size_t i = 0; i < t->records.n && !found; i++)
        found = first_in(&w, t->records.at[i]->family);
    map_release(&w.seen);
    return found;
}
