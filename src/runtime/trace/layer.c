/* SPDX-License-Identifier: Apache-2.0
 *
 * Layers: traces that share a common part. Particles of a filter descend from common ancestors.
 * Copying each of them would cost the whole past at every step.
 *
 *        whole trace                     a, b: traces that continue it
 *     +---------------+   trace_share     +---+   +---+
 *     | nodes, names, |  ------------->   | a |   | b |      layers of their own, empty at first
 *     | choices, ...  |                   +---+---+---+
 *     +---------------+                   |  sealed   |      counted by those above
 *                                         +-----------+
 *
 * A sealed layer is read and never written. A directive on a layer makes new nodes in it, whose
 * operands may lie below (raw pointers: nodes below never move). Three writes to lower layers are
 * left out: the new node in its parents' lists of children, its count in memoized families, and its
 * contexts there. Nodes and families below have smaller numbers than world.first (node_below,
 * family_below). trace_whole thus finds the missing links and makes them. Two persistent maps hold
 * the names, labels and memo table entries of all layers below; each layer adds to them.
 *
 * Every application changes its procedure's statistics in place, so traces with such procedures are
 * copied instead of shared (inner.makers). */
#include "runtime/trace/node.h"

#include <string.h>

static bool trace_is_whole(const struct trace *t) {
    return !inner(t)->below;
}

bool trace_had_improper(const struct trace *t) {
    return inner(t)->improper;
}

size_t trace_layers(const struct trace *t, struct trace ***out) {
    size_t n = 0;
    for (const struct trace *l = t; l; l = inner(l)->below) n++;
    *out = NEW_ARRAY(struct trace *, n);
    for (size_t i = n; t; t = inner(t)->below) (*out)[--i] = &inner(t)->view;
    return n;
}

/* Keys of names are addresses, which are even; labels get odd keys. */
static uint64_t label_key(const struct sym *label) {
    return MAP_PTR(label) + 1;
}

struct record *layer_record(const struct trace *t, const struct sym *label) {
    return t->world.names ? pmap_get(t->world.names, label_key(label)) : NULL;
}

/* Adds this layer's names to those from below, for the layers above. */
void layer_seal(struct trace *t) {
    struct inner *in = inner(t);
    trace_settle(t);
    in->entries = pmap_ref(t->world.entries);
    in->names = pmap_ref(t->world.names);
    for (size_t i = 0; i < t->globals.cap; i++)
        if (t->globals.slots[i].val)
            in->names = pmap_put(in->names, t->globals.slots[i].key, t->globals.slots[i].val);
    for (size_t i = 0; i < in->labels.cap; i++)
        if (in->labels.slots[i].val)
            in->names = pmap_put(in->names, in->labels.slots[i].key + 1, in->labels.slots[i].val);
}

static struct trace *layer_on(struct trace *below, const struct trace *like) {
    struct inner *in = NEW(struct inner), *b = inner(below);
    struct trace *t = &in->view;
    t->core = below->core;
    t->number = trace_number();
    t->rng = like->rng;
    t->log_weight = like->log_weight;
    t->ancestry = like->ancestry;
    t->structure = below->structure;
    t->n_nodes = below->n_nodes;
    in->next_seq = t->world.first = b->next_seq;
    t->world.names = pmap_ref(b->names);
    t->world.entries = pmap_ref(b->entries);
    in->next_block = b->next_block;
    in->scopes_vary = b->scopes_vary;
    in->improper = b->improper;
    in->kin = b->kin;
    in->kin->refs++;
    in->below = below;
    b->above++;
    return t;
}

struct trace *layer_new(struct trace *below) {
    return layer_on(below, below);
}

struct trace *trace_share(struct trace **at) {
    struct trace *t = *at;
    if (inner(t)->makers) return trace_clone(t);
    if (inner(t)->below && !t->records.n) { /* this layer is still empty */
        struct trace *u = layer_on(inner(t)->below, t);
        inner(u)->next_seq = u->world.first = inner(t)->next_seq;
        inner(u)->next_block = inner(t)->next_block;
        return u;
    }
    layer_seal(t);
    *at = layer_on(t, t);
    return layer_on(t, t);
}

/* The copy replaces the layer at the same address; the old contents are freed. */
void trace_whole(struct trace *t) {
    if (trace_is_whole(t)) return;
    struct trace *u = trace_clone(t);
    struct inner was = *inner(t);
    u->structure = t->structure + 1;
    *inner(t) = *inner(u);
    *inner(u) = was;
    trace_free(u);
}
