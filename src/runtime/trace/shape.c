/* SPDX-License-Identifier: Apache-2.0
 *
 * Maps over sequences that change. mapv and its relatives request one application per element. If
 * the sequence is a node, element i is bound to lookup(sequence, i), a node of the family
 * (apply.c). The family then stays while numbers change, like the body of a compound call: values
 * computed from the element change, random choices inside absorb, and steps can be compiled.
 *
 * This is valid while the sequence keeps its length. That must be known before anything is taken
 * out, and must be the same in both directions of a move. So it is derived from the rows: the
 * shapes of the arguments determine the shape of the result; if a row does not tell, the map
 * requests its families again (reach_all in scaffold.c). The answer holds for every state the move
 * can reach, since no row read here changes without its operator. */
#include "runtime/trace/scaffold.h"

enum { SHAPE_UNKNOWN, SHAPE_KEPT, SHAPE_VARIES };

/* The first operand mapped over; it follows the procedure. */
enum { FIRST_MAPPED = 2 };

static bool is_number(value v) {
    return v.tag == V_NUM || v.tag == V_BOOL;
}

/* Numbers or sequences of numbers, which have no maker and refer to no node. Lists are excluded:
 * finding an element takes more than one step. */
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

/* A number among the operands may determine the size of the result. */
static bool number_changes(struct scaffold *s, const struct node *n) {
    for (uint32_t i = 1; i < n->n_in; i++)
        if (changes(s, n->in[i].node) && is_number(n->in[i].node->val)) return true;
    return false;
}

/* Families of a map by index stay while its sequences keep their length. Any other map requests its
 * families again. */
static bool map_keeps(struct scaffold *s, const struct node *n) {
    const struct entry *e = entry_of(s, n);
    bool stays = !e || (!e->requests && !e->op_changed);
    for (uint32_t i = FIRST_MAPPED; stays && i < n->n_in; i++)
        stays = keeps_shape(s, n->in[i].node);
    return stays;
}

/* Only arguments with the numbers to be arranged may change, not those that select. They are all
 * arguments of a variadic row, otherwise the first one, a sequence. */
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

/* Draws as many numbers as its arguments have. For a row that does not work element by element, a
 * number may determine how many. */
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
    /* A function with a gradient has a constant shape around every point. */
    bool by_shapes = (cls->flags & (SP_LIFTS | SP_FOLDS)) || cls->num || cls->block ||
                     (cls->grad_simulate && !number_changes(s, n));
    return by_shapes && all_keep_shape(s, n);
}

/* Is the value of n a number, or a sequence of fixed length, whatever the principals are? */
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

/* The answer depends on the nodes reached so far. It is recomputed on each call, and reach_all
 * calls again after reaching more. */
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
