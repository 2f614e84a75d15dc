/* SPDX-License-Identifier: Apache-2.0
 *
 * The quantities of a model: assumed names and values of memoized procedures that depend on a free
 * choice. Data that a program assumes are thus left out. */
#include "runtime/trace/node.h"

#include "base/buf.h"
#include "runtime/core/frame.h"
#include <stdlib.h>

struct choice_search {
    VEC(struct node *) waiting;
    struct map seen;
};

static void look_at(struct choice_search *s, struct node *n) {
    if (n->kind == NODE_CONST || map_get(&s->seen, MAP_PTR(n))) return;
    map_put(&s->seen, MAP_PTR(n), n);
    vec_push(&s->waiting, n);
}

/* Searches operands, branches and calls upwards for a free choice. */
static bool depends_on_choice(struct node *n) {
    struct choice_search s = {0};
    bool found = false;
    look_at(&s, n);
    while (s.waiting.n && !found) {
        n = vec_pop(&s.waiting);
        found = n->choice != NO_INDEX;
        for (uint32_t i = 0; i < n->n_in; i++) look_at(&s, n->in[i].node);
        for (uint32_t i = 0; n->req && i < n->req->n_xin; i++) look_at(&s, n->req->xin[i].node);
        for (uint32_t i = 0; n->req && i < n->req->n_fam; i++) look_at(&s, n->req->fam[i]->root);
    }
    vec_release(&s.waiting);
    map_release(&s.seen);
    return found;
}

typedef VEC(struct trace_quantity) quantities;

static void add(quantities *q, char *name, struct node *n) {
    n = chase(n);
    struct trace_quantity one = {name, n};
    if (depends_on_choice(n))
        vec_push(q, one);
    else
        mem_free(name);
}

static int by_age(const void *a, const void *b) {
    const struct memo_entry *const *x = a, *const *y = b;
    uint64_t i = node_seq(*(*x)->root), j = node_seq(*(*y)->root);
    return i < j ? -1 : i > j;
}

/* name[k] for every argument of an existing call, in the order of the calls. */
static void add_memo(quantities *q, const char *name, const struct memo_proc *m) {
    VEC(struct memo_entry *) all = {0};
    for (size_t i = 0; i < m->table.cap; i++)
        for (struct memo_entry *e = m->table.slots[i].val; e; e = e->next)
            if (e->root && *e->root && (*e->root)->kind != NODE_CONST) vec_push(&all, e);
    if (all.n) qsort(all.at, all.n, sizeof *all.at, by_age);
    for (size_t i = 0; i < all.n; i++) {
        const struct array_obj *key = all.at[i]->key.u.array;
        struct buf b = BUF_INIT;
        buf_puts(&b, name);
        for (size_t k = 0; k < key->n; k++) {
            buf_putc(&b, k ? ',' : '[');
            value_print(key->at[k], &b);
        }
        buf_puts(&b, key->n ? "]" : "");
        add(q, buf_take(&b), *all.at[i]->root);
    }
    vec_release(&all);
}

size_t trace_quantities(const struct trace *t, struct trace_quantity **out) {
    quantities q = {0};
    for (size_t i = 0; i < t->records.n; i++) {
        const struct record *r = t->records.at[i];
        for (size_t j = 0; j < r->names.n; j++) {
            const char *name = r->names.at[j].name->text;
            struct node *n = r->names.at[j].node;
            const struct memo_proc *m = memo_of(node_value(n));
            if (m)
                add_memo(&q, name, m);
            else
                add(&q, mem_strdup(name), n);
        }
    }
    *out = q.at;
    return q.n;
}

void trace_quantities_free(struct trace_quantity *q, size_t n) {
    for (size_t i = 0; i < n; i++) mem_free(q[i].name);
    mem_free(q);
}
