/* SPDX-License-Identifier: Apache-2.0
 *
 * Subproblems: selections of choices as values, made by select, choose_by_scope and the path
 * language /?tag==v.
 *
 * A subproblem is a description, not a set: which choices it names is looked up in the trace each
 * time it is used (subproblem_choices), so it survives moves that change them. Settling it (x <-
 * select(s, one)) makes the random part of the description final: the choices' numbers, SUB_CHOSEN.
 */
#include "infer/infer.h"

#include <string.h>

static void sub_free(struct box *b) {
    struct subproblem *s = (struct subproblem *)b;
    value_unref(s->a);
    value_unref(s->b);
    mem_free(s);
}

const struct box_class subproblem_class = {.name = "subproblem", .free = sub_free};

value subproblem_new(enum sub_kind kind, value a, value b) {
    struct subproblem *s = NEW(struct subproblem);
    box_init(&s->box, &subproblem_class);
    s->kind = kind;
    s->a = value_ref(a);
    s->b = value_ref(b);
    return value_box(V_BOX, &s->box);
}

struct subproblem *subproblem_of(value v) {
    return v.tag == V_BOX && v.u.box->cls == &subproblem_class ? (struct subproblem *)v.u.box
                                                               : NULL;
}

static bool contains(const struct node_set *s, const struct node *n) {
    for (size_t i = 0; i < s->n; i++)
        if (s->at[i] == n) return true;
    return false;
}

static void add(struct node_set *s, struct node *n) {
    if (contains(s, n)) return;
    s->at = mem_realloc(s->at, (s->n + 1) * sizeof *s->at);
    s->at[s->n++] = n;
}

static enum gpm_status add_tagged(struct infer_state *x, struct trace *t, value tag,
                                  const value *block, struct node_set *out) {
    struct scope *s = trace_scope(t, tag);
    if (!s) return infer_unknown_scope(x, t, tag);
    if (block && s->live.n && !scope_find_block(s, *block))
        return infer_unknown_block(x, s, *block);
    for (size_t i = 0; i < s->live.n; i++) {
        struct scope_block *b = s->live.at[i];
        if (block && !value_name_equal(b->id, *block)) continue;
        struct node **at;
        size_t n;
        block_choices(b, &at, &n);
        for (size_t j = 0; j < n; j++) add(out, at[j]);
        mem_free(at);
    }
    return GPM_OK;
}

static enum gpm_status of_value(struct infer_state *x, struct trace *t, value v,
                                struct node_set *out) {
    struct subproblem *s = subproblem_of(v);
    if (!s)
        return infer_error(x, DIAG_BAD_OPERATOR_ARG, "a subproblem is needed, got a %s",
                           value_type_name(v));
    return subproblem_choices(x, t, s, out);
}

/* Union, or intersection; a path /a/b is the choices of b inside a, which is the intersection too.
 */
static enum gpm_status combine(struct infer_state *x, struct trace *t, const struct subproblem *s,
                               struct node_set *out) {
    struct node_set a, b;
    enum gpm_status st = of_value(x, t, s->a, &a);
    if (st != GPM_OK) return st;
    st = of_value(x, t, s->b, &b);
    for (size_t i = 0; st == GPM_OK && i < a.n; i++)
        if (s->kind == SUB_UNION || contains(&b, a.at[i])) add(out, a.at[i]);
    for (size_t i = 0; st == GPM_OK && s->kind == SUB_UNION && i < b.n; i++) add(out, b.at[i]);
    mem_free(a.at);
    if (st == GPM_OK) mem_free(b.at);
    return st;
}

enum gpm_status subproblem_choices(struct infer_state *x, struct trace *t,
                                   const struct subproblem *s, struct node_set *out) {
    *out = (struct node_set){0};
    switch (s->kind) {
    case SUB_SCOPE:
    case SUB_TOP:
    case SUB_STAR:
        if (s->kind == SUB_SCOPE && !infer_is_name(s->a, "default")) {
            bool every = infer_is_name(s->b, "all") || infer_is_name(s->b, "one") ||
                         infer_is_name(s->b, "ordered");
            return add_tagged(x, t, s->a, every ? NULL : &s->b, out);
        } else
            for (size_t i = 0; i < t->choices.n; i++) add(out, t->choices.at[i]);
        return GPM_OK;
    case SUB_TAG: return add_tagged(x, t, s->a, NULL, out);
    case SUB_TAG_VALUE: return add_tagged(x, t, s->a, &s->b, out);
    case SUB_UNION: return combine(x, t, s, out);
    case SUB_WALK:
    case SUB_INTERSECTION: return combine(x, t, s, out);
    case SUB_EXTENT:
    case SUB_MINIMAL: return of_value(x, t, s->a, out);
    case SUB_CHOSEN:
        for (size_t i = 0; i < t->choices.n; i++)
            for (size_t j = 0; j < s->a.u.array->n; j++)
                if (s->a.u.array->at[j].u.num == (double)t->choices.at[i]->seq)
                    add(out, t->choices.at[i]);
        return GPM_OK;
    case SUB_RANDOM_SINGLE: {
        enum gpm_status st = of_value(x, t, s->a, out);
        if (st == GPM_OK && out->n) {
            out->at[0] = out->at[rng_below(&t->rng, out->n)];
            out->n = 1;
        }
        return st;
    }
    }
    return GPM_OK;
}

static enum gpm_status pick_block(struct infer_state *x, struct trace *t, value scope,
                                  struct node_set *out) {
    *out = (struct node_set){0};
    if (infer_is_name(scope, "default")) {
        if (t->choices.n) add(out, t->choices.at[rng_below(&t->rng, t->choices.n)]);
        return GPM_OK;
    }
    struct scope *s = trace_scope(t, scope);
    if (!s) return infer_unknown_scope(x, t, scope);
    if (s->live.n) block_choices(s->live.at[rng_below(&t->rng, s->live.n)], &out->at, &out->n);
    return GPM_OK;
}

enum gpm_status subproblem_settle(struct infer_state *x, value sub, value *out) {
    const struct subproblem *s = subproblem_of(sub);
    struct trace *t = x->model->p.at[0];
    bool one = s->kind == SUB_SCOPE && infer_is_name(s->b, "one");
    struct node_set set;
    if (!one && s->kind != SUB_RANDOM_SINGLE) {
        *out = value_ref(sub);
        return GPM_OK;
    }
    enum gpm_status st = one ? pick_block(x, t, s->a, &set) : subproblem_choices(x, t, s, &set);
    if (st != GPM_OK) return st;
    value a = value_array_new(set.n);
    for (size_t i = 0; i < set.n; i++) a.u.array->at[i] = value_num((double)set.at[i]->seq);
    *out = subproblem_new(SUB_CHOSEN, a, sub);
    value_unref(a);
    mem_free(set.at);
    return GPM_OK;
}

#define MAKER(fn, kind, a_, b_)                                                                    \
    static enum gpm_status fn(struct infer_state *x, const value *args, size_t n, value *out) {    \
        *out = subproblem_new(kind, a_, b_);                                                       \
        return GPM_OK;                                                                             \
    }
MAKER(op_by_tag, SUB_TAG, args[0], NIL)
MAKER(op_by_tag_value, SUB_TAG_VALUE, args[0], args[1])
MAKER(op_by_star, SUB_STAR, NIL, NIL)
MAKER(op_by_top, SUB_TOP, NIL, NIL)
MAKER(op_by_walk, SUB_WALK, args[0], args[1])
MAKER(op_by_extent, SUB_EXTENT, args[0], NIL)
MAKER(op_by_union, SUB_UNION, args[0], args[1])
MAKER(op_by_intersection, SUB_INTERSECTION, args[0], args[1])
MAKER(op_random_singleton, SUB_RANDOM_SINGLE, args[0], NIL)
MAKER(op_minimal, SUB_MINIMAL, args[0], NIL)

static enum gpm_status op_select(struct infer_state *x, const value *args, size_t n, value *out) {
    value block = n > 1 && !is_absent(args[1]) ? args[1] : infer_name(x, "all");
    if (subproblem_of(args[0]))
        *out = value_ref(args[0]);
    else
        *out = subproblem_new(SUB_SCOPE, args[0], block);
    return GPM_OK;
}

/* The paper's: one block of the scope, picked at random each time. */
static enum gpm_status op_choose_by_scope(struct infer_state *x, const value *args, size_t n,
                                          value *out) {
    value block = n > 1 && !is_absent(args[1]) ? args[1] : infer_name(x, "one");
    *out = subproblem_new(SUB_SCOPE, args[0], block);
    return GPM_OK;
}

static enum gpm_status op_ordered_range(struct infer_state *x, const value *args, size_t n,
                                        value *out) {
    value at[3] = {infer_name(x, "ordered_range"), args[0], args[1]};
    *out = value_array(at, 3);
    return GPM_OK;
}

const struct infer_op infer_select_rows[] = {
    {"by_tag", "(tag: scope) -> subproblem", "the choices under a tag: /?tag", NULL, OP_PLAIN,
     op_by_tag},
    {"by_tag_value", "(tag: scope, value: any) -> subproblem",
     "the choices under a tag with that value: /?tag==v", NULL, OP_PLAIN, op_by_tag_value},
    {"by_star", "() -> subproblem", "every choice: /*", NULL, OP_PLAIN, op_by_star},
    {"by_top", "() -> subproblem", "the whole model", NULL, OP_PLAIN, op_by_top},
    {"by_walk", "(outer: subproblem, inner: subproblem) -> subproblem",
     "choices of the second selection inside the first: /a/b", NULL, OP_PLAIN, op_by_walk},
    {"by_extent", "(s: subproblem) -> subproblem",
     "the choices in the dynamic extent of a selection", NULL, OP_PLAIN, op_by_extent},
    {"by_union", "(a: subproblem, b: subproblem) -> subproblem", "choices of either selection",
     NULL, OP_PLAIN, op_by_union},
    {"by_intersection", "(a: subproblem, b: subproblem) -> subproblem",
     "choices of both selections", NULL, OP_PLAIN, op_by_intersection},
    {"random_singleton", "(s: subproblem) -> subproblem", "one choice of a selection, at random",
     NULL, OP_PLAIN, op_random_singleton},
    {"minimal_subproblem", "(s: subproblem) -> subproblem",
     "the selection as the target of an operator", NULL, OP_PLAIN, op_minimal},
    {"select", "(scope: target, block?: block) -> subproblem", "a scope and block as a subproblem",
     NULL, OP_PLAIN, op_select},
    {"choose_by_scope", "(scope: target, block?: block) -> subproblem",
     "one block of the scope, picked at random each time; or the block named", NULL, OP_PLAIN,
     op_choose_by_scope},
    {"ordered_range", "(lo: number, hi: number) -> block", "the blocks from lo to hi, in order",
     NULL, OP_PLAIN, op_ordered_range},
};
const size_t infer_select_count = COUNT_OF(infer_select_rows);
