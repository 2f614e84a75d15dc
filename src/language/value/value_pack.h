/* SPDX-License-Identifier: Apache-2.0
 *
 * Values as bytes (base/pack.h). What a value holds of the layers above, boxes apart, goes by way
 * of struct pack_links; each class of boxes packs its own (struct box_class).
 */
#ifndef VALUE_VALUE_PACK_H
#define VALUE_VALUE_PACK_H
#include "base/pack.h"
#include "language/value/value.h"

struct memo_entry;
struct sp_state_class;
/* What values lead to and this layer does not know. */
struct pack_links {
    /* A node of a trace that is in the pack, or a constant; and one that may be gone: NULL where
     * the pack does not hold it. */
    void (*node)(struct pack *p, void **node);
    void (*maker)(struct pack *p, void **node);
    /* The family of an entry of a memo table. */
    void (*family)(struct pack *p, struct memo_entry *e);
    /* All classes of boxes, and of states of made procedures, in an order that a format keeps. */
    const struct box_class *const *boxes;
    size_t n_boxes;
    const struct sp_state_class *const *states;
    size_t n_states;
    /* Copying: values and frames go this way, owned by the reader. */
    void (*value)(struct pack *p, value *v);
    void (*frame)(struct pack *p, struct frame **f);
};

/* Starts a copy in process: what is written is read after pack_turn. links NULL: what values hold
 * is shared. */
void pack_begin_copy(struct pack *p, const struct pack_links *links);
/* Owned when it was read. */
void pack_value(struct pack *p, value *v);
void pack_values(struct pack *p, value *v, size_t n); /* that are there */
#endif
