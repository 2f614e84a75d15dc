/* SPDX-License-Identifier: Apache-2.0
 *
 * Maps over sequences that change. mapv and its like request an application per element. Where the
 * sequence is a node, element i is bound to lookup(sequence, i), a node of the family (apply.c), so
 * that a family stays where it is while numbers change, as the body of a compound call does: what
 * is computed from the element changes, random choices inside absorb, and steps can be compiled.
 *
 * That is right as long as the sequence keeps its length. Whether it does must be known before
 * anything is taken out, and alike in both directions of a move, so it is read off the rows: of
 * what shape a result is follows from the shapes of the arguments, or no more is said and the map
 * requests anew (reach_all in scaffold.c). Which is so for every state that the move leads to,
 * since none of the rows read here changes without its operator. */
#include "runtime/trace/scaffold.h"

enum { SHAPE_UNKNOWN, SHAPE_KEPT, SHAPE_VARIES };

/* The first operand that is mapped over; the procedure comes before it. */
enum { FIRST_MAPPED = 2 };

static bool is_number(value v) {
    return v.tag == V_NUM || v.tag == V_BOOL;
}

/* Numbers, or sequences of such: nothing that belongs to a maker or refers to a node. Of a list an
 * element is not found at once. */
static bool is_mapped_by_index(value v) {
    if (v.tag == V_VECTOR) return true;
    if (v.tag != V_ARRAY || (v.u.obj->flags & OBJ_CODE)) return false;
    for (size_t i = 0; i < v.u.array->n; i++) {
        value item = v.u.array->at[i];
        if (!is_number(item) && !is_mapped_by_index(item)) return false;
    }
    return true;
}

bool node_maps_by_index(const struct node *n) {
    const struct sp_class *cls = node_class(n);
    bool any = false;
    if (!cls || !cls->origin || !(cls->flags & SP_ARRANGES)) return false;
    for (uint32_t i = FIRST_MAPPED; i < n->n_in; i++) {
        const struct node *p = n->in[i].node;
        if (p->kind == NODE_CONST) continue;
        if (!is_mapped_by_index(p->val)) return false;
        any = true;
    }
    return any;
}

static bool keeps_shape(struct scaffold *s, const struct node *n);

static bool changes(struct scaffold *s, const struct node *n) {
    const struct entry *e = entry_of(s, n);
    return e && e->role == ROLE_D;
}

static bool all_keep_shape(struct scaffold *s, const struct node *n) {
    for (uint32_t i = 1; i < n->n_in; i++)
        if (!keeps_shape(s, n->in[i].node)) return false;
    return true;
}

/* A number among the operands may say how large the result is. */
static bool number_changes(struct scaffold *s, const struct node *n) {
    for (uint32_t i = 1; i < n->n_in; i++)
        if (changes(s, n->in[i].node) && is_number(n->in[i].node->val)) return true;
    return false;
}

/* The families of a map stay when the sequences keep their length; one that is not by index
 * requests anew whenever those change. */
static bool map_keeps(struct scaffold *s, const struct node *n) {
    const struct entry *e = entry_of(s, n);
    bool stays = !e || (!e->requests && !e->op_changed);
    for (uint32_t i = FIRST_MAPPED; stays && i < n->n_in; i++)
        stays = keeps_shape(s, n->in[i].node);
    return stays;
}

/* Arguments that change are those whose numbers are arranged, not those that say which: all of
 * one that takes any number of them, else the first, a sequence. */
static bool arranges_alike(struct scaffold *s, const struct node *n, const struct sp_class *cls) {
    struct sp_sig sig;
    sp_sig_parse(cls->sig, &sig);
    bool all = sig.n_params == 1 && sig.params[0].variadic;
    for (uint32_t i = 1; !all && i < n->n_in; i++) {
        const struct node *p = n->in[i].node;
        if (changes(s, p) && (i > 1 || is_number(p->val))) return false;
    }
    return all_keep_shape(s, n);
}

/* Numbers drawn, as many as those that they are drawn by; where the row does not go element by
 * element, a number may say how many. */
static bool draws_alike(struct scaffold *s, const struct node *n, const struct sp_class *cls) {
    bool lifts = cls->flags & SP_LIFTS, numbers = n->val.tag == V_VECTOR || n->val.tag == V_MATRIX;
    if ((cls->flags & SP_CHOOSES) || sp_gives_objects(cls)) return false;
    if (!lifts && is_number(n->val)) return true;
    if (!lifts && !numbers) return false;
    return (lifts || !number_changes(s, n)) && all_keep_shape(s, n);
}

static bool row_keeps_shape(struct scaffold *s, const struct entry *e) {
    const struct node *n = e->n;
    const struct sp_class *cls = node_class(n);
    if (!cls || (n->special && n->special != SPECIAL_MAP) || sp_made_of(n->in[0].node->val))
        return false;
    if (cls->flags & SP_RANDOM) return draws_alike(s, n, cls);
    if (cls->request) {
        bool kept = (cls->flags & SP_ARRANGES) && n->req && map_keeps(s, n);
        for (uint32_t i = 0; kept && i < n->req->n_fam; i++)
            kept = keeps_shape(s, n->req->fam[i]->root);
        return kept;
    }
    if (cls->flags & SP_ARRANGES) return arranges_alike(s, n, cls);
    /* a function with a gradient has one shape around every point */
    bool by_shapes = (cls->flags & (SP_LIFTS | SP_FOLDS)) || cls->num || cls->block ||
                     (cls->grad_simulate && !number_changes(s, n));
    return by_shapes && all_keep_shape(s, n);
}

/* Is the value of n a number, or a sequence of as many, whatever the principals are? */
static bool keeps_shape(struct scaffold *s, const struct node *n) {
    struct entry *e = entry_of(s, n);
    if (!e || e->role != ROLE_D) return true;
    if (e->shape == SHAPE_UNKNOWN) {
        const struct node *source = copy_source(n);
        bool kept = !e->op_changed &&
                    (source ? !e->requests && keeps_shape(s, source) : row_keeps_shape(s, e));
        e->shape = kept ? SHAPE_KEPT : SHAPE_VARIES;
    }
    return e->shape == SHAPE_KEPT;
}

/* Decided by what has been reached so far: shapes are read anew, and so it is asked again when more
 * has been. */
size_t maps_that_keep(struct scaffold *s) {
    size_t kept = 0;
    for (size_t i = 0; s->maps.n && i < s->e.n; i++) s->e.at[i].shape = SHAPE_UNKNOWN;
    for (size_t i = 0; i < s->maps.n; i++) {
        struct node *n = s->maps.at[i];
        if (!map_keeps(s, n)) continue;
        s->maps.at[i] = s->maps.at[kept];
        s->maps.at[kept++] = n;
    }
    return kept;
}
