/* SPDX-License-Identifier: Apache-2.0
 *
 * Records and the directives that they hold. An assume, a predict and an observe with a label have
 * a record each. Observations without a label may number millions, and no program can refer to one
 * of them. Consecutive ones are joined into one record with one family
 *
 *     records    ... | mu | o1 o2 o3 ... on-1 | on |
 *
 * whose nodes are in evaluation order, as in separate families. The newest observation stays
 * separate until the next one arrives, because trace_undo_last may take it back when it fails on
 * another particle. */
#include "runtime/trace/node.h"

#include <string.h>

enum record_kind record_kind(const struct record *r) {
    return r->kind;
}

struct sym *record_label(const struct record *r) {
    return r->label;
}

uint32_t record_size(const struct record *r) {
    return r->parts.n ? r->parts.n : 1;
}

value record_value(const struct record *r) {
    return recorded_value((struct recorded){r, 0});
}

value recorded_value(struct recorded d) {
    return recorded_root(d)->val;
}

/* Every transition keeps the observed value at the choice that the expression leads to
 * (moves.c). */
value recorded_observed(struct recorded d) {
    return chase(recorded_root(d))->val;
}

struct span recorded_span(struct recorded d) {
    return d.r->parts.n ? d.r->parts.at[d.i].span : d.r->span;
}

bool trace_next_recorded(const struct trace *t, size_t *at, struct recorded *d) {
    if (d->r && ++d->i < record_size(d->r)) return true;
    if (d->r) ++*at;
    if (*at >= t->records.n) return false;
    *d = (struct recorded){t->records.at[*at], 0};
    return true;
}

uint32_t recorded_nodes(struct recorded d, uint32_t *from) {
    const struct observation *p = d.r->parts.at;
    *from = d.i ? p[d.i - 1].end : 0;
    return d.r->parts.n ? p[d.i].end : d.r->family->nodes.n;
}

static void add_part(struct trace *t, struct record *r, struct node *root, struct span span) {
    struct observation p = {root, span, r->family->nodes.n};
    pvec_push(pool_of(t), &r->parts, p);
}

/* Appends the contents of `from` to `into` and frees `from`. */
static void family_join(struct trace *t, struct family *into, struct family *from) {
    struct pool *p = pool_of(t);
    for (uint32_t i = 0; i < from->nodes.n; i++) {
        struct node *n = from->nodes.at[i];
        if (n->kind != NODE_CONST) n->family = into;
        pvec_push(p, &into->nodes, n);
    }
    for (uint32_t i = 0; i < from->frames.n; i++) pvec_push(p, &into->frames, from->frames.at[i]);
    for (uint32_t i = 0; i < from->code.n; i++) family_keep_code(t, into, from->code.at[i]);
    from->nodes.n = from->frames.n = 0;
    family_free(t, from);
}

static bool is_nameless(const struct record *r) {
    return r->kind == REC_OBSERVE && !r->label;
}

void observations_join(struct trace *t) {
    size_t n = t->records.n;
    if (n < 3) return;
    struct record *into = t->records.at[n - 3], *from = t->records.at[n - 2];
    if (!is_nameless(into) || !is_nameless(from)) return;
    struct node *root = from->family->root;
    if (!into->parts.n) add_part(t, into, into->family->root, into->span);
    family_join(t, into->family, from->family);
    add_part(t, into, root, from->span);
    pool_free(pool_of(t), from, sizeof *from);
    t->records.at[n - 2] = t->records.at[n - 1];
    t->records.n--;
}

bool observation_drop(struct trace *t, struct record *r, uint32_t part) {
    struct node *root = recorded_root((struct recorded){r, part});
    root->flags &= (uint16_t)~NODE_OBS_ROOT;
    if (r->parts.n > 1) {
        memmove(&r->parts.at[part], &r->parts.at[part + 1],
                (r->parts.n - part - 1) * sizeof *r->parts.at);
        r->parts.n--;
        return false;
    }
    r->parts.n = 0;
    r->family->root = node_constant(t, r->family, value_ref(root->val));
    r->kind = REC_PREDICT;
    r->frozen = true;
    if (r->label) return false;
    record_undo(t, r);
    return true;
}
