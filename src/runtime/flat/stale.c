/* SPDX-License-Identifier: Apache-2.0
 *
 * An accepted move that changes structure throws away the flats that rest on what it changed, and
 * no others.
 *
 * A flat of principals P rests on the entries of their scaffold: all nodes that are reached from P
 * through deterministic ones, and the ends of that (A and M), with the links of each to its
 * parents. So the flats that rest on a node are those of the choices above it, up to the first
 * choice on every path. A move changes links of
 *
 *   - its own entries, which hold all that reads a value or a branch that may be another one;
 *   - nodes that it made, and nodes that it leaves without a requester (the dead);
 *   - parents that an entry had through what it requested before.
 *
 * A parent that gained or lost a child is above one of these. Paths that are gone lead to a parent
 * that lost a child: the part above that stands, and is walked. Every other change of structure
 * (a directive, freezing, an observation that moves to a variable) throws all flats away. */
#include "runtime/flat/form.h"

#define SEEN 0x80000000u /* in node->mark, beside the number of the entry */

/* The nodes that were met, each once; the first n_changed have changed themselves. */
struct walk {
    struct scaffold *s;
    VEC(struct node *) met;
    size_t n_changed;
};

static void meet(struct walk *w, struct node *n) {
    if (n->kind == NODE_CONST || n->mark & SEEN) return;
    n->mark |= SEEN;
    vec_push(&w->met, n);
}

static void meet_family(struct walk *w, const struct family *f) {
    for (size_t i = 0; i < f->nodes.n; i++) meet(w, f->nodes.at[i]);
}

/* A family is made as a whole: its first node that has a number tells. */
static bool is_new(const struct walk *w, const struct family *f) {
    for (size_t i = 0; i < f->nodes.n; i++)
        if (f->nodes.at[i]->kind != NODE_CONST) return f->nodes.at[i]->seq >= w->s->first_seq;
    return false;
}

static void meet_changed(struct walk *w, struct family *const *dead, size_t n_dead) {
    struct scaffold *s = w->s;
    for (size_t i = 0; i < s->e.n; i++) meet(w, s->e.at[i].n);
    for (size_t i = 0; i < n_dead; i++) meet_family(w, dead[i]);
    for (size_t i = 0; i < w->met.n; i++) {
        const struct request *r = w->met.at[i]->req;
        for (uint32_t k = 0; r && k < r->n_fam; k++)
            if (is_new(w, r->fam[k])) meet_family(w, r->fam[k]);
    }
    w->n_changed = w->met.n;
    for (size_t i = 0; i < s->e.n; i++) {
        const struct request *old = s->e.at[i].old_req;
        for (uint32_t k = 0; old && k < old->n_xin; k++) meet(w, old->xin[k].node);
    }
}

/* A choice ends the walk, unless its own links have changed. */
static void meet_parents(struct walk *w) {
    for (size_t i = 0; i < w->met.n; i++) {
        struct node *n = w->met.at[i];
        if (i >= w->n_changed && n->flags & NODE_RANDOM) continue;
        for (uint32_t k = 0; k < n->n_in; k++) meet(w, n->in[k].node);
        for (uint32_t k = 0; n->req && k < n->req->n_xin; k++) meet(w, n->req->xin[k].node);
    }
}

/* Principals of a flat that holds are on. */
static bool is_met(const struct flats *all, const struct cached_flat *c) {
    if (!c->f || c->f->stamp >> EPOCH_BITS != all->stamp >> EPOCH_BITS) return false;
    for (size_t i = 0; i < c->n; i++)
        if (c->key[i]->mark & SEEN) return true;
    return false;
}

void flats_outdate(struct trace *t, struct scaffold *s, struct family *const *dead, size_t n_dead) {
    struct flats *all = inner(t)->flats;
    struct walk w = {.s = s};
    meet_changed(&w, dead, n_dead);
    meet_parents(&w);
    for (size_t i = 0; i < FLAT_CACHE; i++)
        if (is_met(all, &all->cache[i])) all->cache[i].f->stamp = 0;
    for (size_t i = 0; i < w.met.n; i++) {
        struct node *n = w.met.at[i];
        n->mark &= ~SEEN;
        if (n->flat) n->flat->stamp = 0;
    }
    vec_release(&w.met);
}
