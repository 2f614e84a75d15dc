/* SPDX-License-Identifier: Apache-2.0
 *
 * The readers of a directive's nodes, needed by forget. Nodes list their children, but constants do
 * not, and procedures hold nodes through frames without a link. So everything reachable from other
 * directives is searched: operands, slots of frames, procedures and references in values, and names
 * to be looked up later. */
#include "runtime/trace/node.h"

struct readers {
    struct map others; /* families reachable from other directives; each -> itself */
    struct map mine;   /* nodes and frames reachable from this directive alone */
};

/* Collects the families reachable from f. With *mine, those of other directives are left out. */
static void walk(struct readers *w, struct family *f, bool mine) {
    if (map_get(&w->others, MAP_PTR(f)) || map_get(&w->mine, MAP_PTR(f))) return;
    map_put(mine ? &w->mine : &w->others, MAP_PTR(f), f);
    for (size_t i = 0; mine && i < f->frames.n; i++)
        map_put(&w->mine, MAP_PTR(f->frames.at[i]), f->frames.at[i]);
    for (size_t i = 0; i < f->nodes.n; i++) {
        struct node *n = f->nodes.at[i];
        if (mine) map_put(&w->mine, MAP_PTR(n), n);
        if (n->kind == NODE_CONST || !n->req) continue;
        for (uint32_t j = 0; j < n->req->n_fam; j++) walk(w, n->req->fam[j], mine);
    }
}

static bool is_mine(const struct readers *w, const void *x) {
    return x && map_get(&w->mine, MAP_PTR(x));
}

/* The frame of a call lies inside the frame of the procedure's directive. */
static bool frame_is_in(const struct readers *w, const struct frame *f) {
    for (; f; f = f->parent)
        if (is_mine(w, f)) return true;
    return false;
}

static bool value_reads(const struct readers *w, value v) {
    struct memo_proc *m = memo_of(v);
    struct closure *c = closure_of(m ? m->proc : v);
    if (c && c->env && frame_is_in(w, c->env)) return true;
    if (is_mine(w, maker_of(v))) return true;
    if (v.tag == V_REF) return is_mine(w, v.u.ref->node) || value_reads(w, v.u.ref->v);
    for (; v.tag == V_PAIR; v = v.u.pair->rest)
        if (value_reads(w, v.u.pair->first)) return true;
    size_t n;
    const value *part = value_parts(v, &n);
    for (size_t i = 0; i < n; i++)
        if (value_reads(w, part[i])) return true;
    return false;
}

static bool node_reads(const struct readers *w, const struct node *n) {
    if (value_reads(w, n->val)) return true;
    if (n->kind == NODE_CONST) return false;
    for (uint32_t i = 0; i < n->n_in; i++)
        if (is_mine(w, n->in[i].node)) return true;
    for (uint32_t i = 0; n->req && i < n->req->n_xin; i++)
        if (is_mine(w, n->req->xin[i].node)) return true;
    return false;
}

static bool frame_reads(const struct readers *w, const struct frame *f) {
    const struct bindings *b = f->made_with;
    if (frame_is_in(w, f)) return true;
    for (uint32_t i = 0; i < f->n; i++)
        if (is_mine(w, f->s[i].node) || value_reads(w, f->s[i].v)) return true;
    for (size_t i = 0; b && i < b->all.n; i++)
        if (b->all.at[i].kind == MEANS_CONSTANT && value_reads(w, b->all.at[i].cell->val))
            return true;
    return false;
}

static bool family_reads(const struct readers *w, const struct family *f) {
    if (is_mine(w, f->root)) return true;
    for (size_t i = 0; i < f->nodes.n; i++)
        if (node_reads(w, f->nodes.at[i])) return true;
    for (size_t i = 0; i < f->frames.n; i++)
        if (frame_reads(w, f->frames.at[i])) return true;
    return false;
}

/* Observations without a label share a family; their roots may be nodes of another directive. */
static bool record_reads(const struct readers *w, const struct record *q) {
    for (uint32_t k = 0; k < record_size(q); k++)
        if (is_mine(w, recorded_root((struct recorded){q, k}))) return true;
    for (size_t k = 0; k < q->names.n; k++)
        if (is_mine(w, q->names.at[k].node)) return true;
    return false;
}

bool record_is_read(struct trace *t, struct record *r) {
    struct readers w = {0};
    bool read = bindings_read(t, r, true);
    for (size_t i = 0; i < t->records.n; i++)
        if (t->records.at[i] != r) walk(&w, t->records.at[i]->family, false);
    walk(&w, r->family, true);
    for (size_t i = 0; i < t->records.n && !read; i++)
        read = t->records.at[i] != r && record_reads(&w, t->records.at[i]);
    for (size_t i = 0; i < w.others.cap && !read; i++)
        read = w.others.slots[i].val && family_reads(&w, w.others.slots[i].val);
    map_release(&w.others);
    map_release(&w.mine);
    return read;
}
