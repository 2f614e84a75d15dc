/* SPDX-License-Identifier: Apache-2.0
 *
 * Values as bytes (base/pack.h). Parts from the layers above go through struct pack_links; each
 * class of boxes packs itself (struct box_class). */
#ifndef VALUE_VALUE_PACK_H
#define VALUE_VALUE_PACK_H
#include "base/pack.h"
#include "language/value/value.h"

struct memo_entry;
struct sp_state_class;
/* Packs parts of values that this layer does not know. */
struct pack_links {
    /* node: a node of a trace in the pack, or a constant. The other: a node that may be missing in
     * the pack, then NULL. */
    void (*node)(struct pack *p, void **node);
    void (*maker)(struct pack *p, void **node);
    /* The family of an entry of a memo table. */
    void (*family)(struct pack *p, struct memo_entry *e);
    /* All classes of boxes, and of states of made procedures, in the order fixed by the format. */
    const struct box_class *const *boxes;
    size_t n_boxes;
    const struct sp_state_class *const *states;
    size_t n_states;
    /* When copying: values and frames, owned by the reader. */
    void (*value)(struct pack *p, value *v);
    void (*frame)(struct pack *p, struct frame **f);
};

/* Starts a copy within the process: data written are read after pack_turn. links NULL: contents of
 * values are shared. */
void pack_begin_copy(struct pack *p, const struct pack_links *links);
/* A box of that class with its number (pack_object); b NULL: reads one, owned. */
struct box *pack_box(struct pack *p, size_t number, const struct box_class *cls, struct box *b);
/* Owned after reading. */
void pack_value(struct pack *p, value *v);
void pack_values(struct pack *p, value *v, size_t n); /* the array exists already */
#endif
