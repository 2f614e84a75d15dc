/* SPDX-License-Identifier: Apache-2.0
 *
 * Subproblems: selections of choices as values, made by select, choose_by_scope and the path
 * language /?tag==v.
 *
 * A subproblem is a description, not a set: each use looks up its choices in the trace
 * (subproblem_choices), so it survives moves that change them. Settling it (x <- select(s, one))
 * fixes the random part of the description as the choices' numbers, SUB_CHOSEN. */
#include "inference/run/infer.h"

static void sub_release(struct box *b) {
    struct subproblem *s = (struct subproblem *)b;
    value_unref(s->a);
    value_unref(s->b);
}

const struct box_class subproblem_class = {.name = "subproblem",
                                           .size = sizeof(struct subproblem),
                                           .release = sub_release,
                                           .pack = subproblem_pack};

value subproblem_new(enum sub_kind kind, value a, value b) {
    struct subproblem *s = box_new(&subproblem_class);
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

/* The choices of a scope's block; an error if the scope holds choices but not this block. */
static enum gpm_status of_block(struct infer_state *x, struct trace *t, value scope, value block,
                                struct node_set *out) {
    struct target g = {.scope = scope, .block = block};
    struct scope *s = trace_scope(t, scope);
    enum gpm_status st = infer_target_all(x, t, &g, out);
    if (st == GPM_OK) node_set_join(out, &(struct node_set){0}); /* removes duplicates */
    if (st != GPM_OK || out->n || !s || !scope_live(s) || scope_find_block(s, block)) return st;
    mem_free(out->at);
    return infer_unknown_block(x, s, block);
}

static enum gpm_status of_value(struct infer_state *x, struct trace *t, value v,
                                struct node_set *out) {
    struct subproblem *s = subproblem_of(v);
    if (!s)
        return infer_error(x, DIAG_BAD_OPERATOR_ARG, "a subproblem is needed, got a %s",
                           value_type_name(v));
    return subproblem_choices(x, t, s, out);
}

/* Union or intersection. A path /a/b, the choices of b inside a, is an intersection, too. */
static enum gpm_status combine(struct infer_state *x, struct trace *t, const struct subproblem *s,
                               struct node_set *out) {
    struct node_set b;
    enum gpm_status st = of_value(x, t, s->a, out);
    if (st != GPM_OK) return st;
    st = of_value(x, t, s->b, &b);
    if (st != GPM_OK) {
        mem_free(out->at);
        return st;
    }
    size_t n = out->n;
    if (s->kind == SUB_UNION)
        node_set_join(out, &b);
    else
        for (size_t i = out->n = 0; i < n; i++)
            if (contains(&b, out->at[i])) out->at[out->n++] = out->at[i];
    mem_free(b.at);
    return GPM_OK;
}

/* The choices named by the description in this trace, without duplicates. Only SUB_RANDOM_SINGLE
 * draws. "one" of a scope means all its blocks here, since the pick is made when the subproblem is
 * visited (target.c) or settled. */
enum gpm_status subproblem_choices(struct infer_state *x, struct trace *t,
                                   const struct subproblem *s, struct node_set *out) {
    *out = (struct node_set){0};
    enum gpm_status st;
    switch (s->kind) {
    case SUB_SCOPE:
    case SUB_TAG_VALUE: return of_block(x, t, s->a, s->b, out);
    case SUB_TAG: return of_block(x, t, s->a, infer_name(x, "all"), out);
    case SUB_ALL: return of_block(x, t, infer_name(x, "default"), NIL, out);
    case SUB_UNION:
    case SUB_INTERSECTION: return combine(x, t, s, out);
    case SUB_EXTENT: return of_value(x, t, s->a, out);
    case SUB_RANDOM_SINGLE:
        st = of_value(x, t, s->a, out);
        if (st != GPM_OK || !out->n) return st;
        out->at[0] = out->at[rng_below(&t->rng, out->n)];
        out->n = 1;
        return GPM_OK;
    case SUB_CHOSEN:
        out->at = NEW_ARRAY(struct node *, t->choices.n + 1);
        for (size_t i = 0; i < t->choices.n; i++)
            for (size_t j = 0; j < s->a.u.array->n; j++)
                if (s->a.u.array->at[j].u.num == (double)node_seq(t->choices.at[i]))
                    out->at[out->n++] = t->choices.at[i];
    }
    return GPM_OK;
}

enum gpm_status infer_pick_block(struct infer_state *x, struct trace *t, value scope,
                                 struct node_set *out) {
    *out = (struct node_set){0};
    if (infer_is_name(scope, "default")) {
        if (!t->choices.n) return GPM_OK;
        *out = (struct node_set){NEW_ARRAY(struct node *, 1), 1};
        out->at[0] = t->choices.at[rng_below(&t->rng, t->choices.n)];
        return GPM_OK;
    }
    struct scope *s = trace_scope(t, scope);
    if (!s) return infer_unknown_scope(x, t, scope);
    if (scope_live(s)) scope_pick(s, &t->rng, &out->at, &out->n);
    return GPM_OK;
}

value subproblem_chosen(struct node **at, size_t n, value from) {
    value a = value_array_new(n);
    for (size_t i = 0; i < n; i++) a.u.array->at[i] = value_num((double)node_seq(at[i]));
    value s = subproblem_new(SUB_CHOSEN, a, from);
    value_unref(a);
    return s;
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
    enum gpm_status st =
        one ? infer_pick_block(x, t, s->a, &set) : subproblem_choices(x, t, s, &set);
    if (st != GPM_OK) return st;
    *out = subproblem_chosen(set.at, set.n, sub);
    mem_free(set.at);
    return GPM_OK;
}

/* A row's `how` is the kind; its arguments, at most two, are what it selects from. */
static enum gpm_status op_by(struct infer_state *x, const struct action *a, value *out) {
    *out = subproblem_new((enum sub_kind)a->op->how, a->n > 0 ? a->args[0] : NIL,
                          a->n > 1 ? a->args[1] : NIL);
    return GPM_OK;
}

/* The row gives the default block. */
value subproblem_given(struct infer_state *x, const struct action *a) {
    bool named = !is_absent(action_arg(a, 1));
    if (subproblem_of(a->args[0])) return value_ref(a->args[0]);
    return subproblem_new(SUB_SCOPE, a->args[0], named ? a->args[1] : infer_name(x, a->op->block));
}

static enum gpm_status op_select(struct infer_state *x, const struct action *a, value *out) {
    *out = subproblem_given(x, a);
    return GPM_OK;
}

static enum gpm_status op_ordered_range(struct infer_state *x, const struct action *a, value *out) {
    value at[3] = {infer_name(x, "ordered_range"), a->args[0], a->args[1]};
    *out = value_array(at, 3);
    return GPM_OK;
}

#define BY(kind) .flags = OP_PLAIN, .run = op_by, .how = kind
const struct infer_op infer_select_rows[] = {
    {"by_tag", "(tag: scope) -> subproblem", "the choices under a tag: /?tag", BY(SUB_TAG)},
    {"by_tag_value", "(tag: scope, value: any) -> subproblem",
     "the choices under a tag with that value: /?tag==v", BY(SUB_TAG_VALUE)},
    {"by_star", "() -> subproblem", "every choice: /*", BY(SUB_ALL)},
    {"by_top", "() -> subproblem", "the whole model", BY(SUB_ALL)},
    {"by_walk", "(outer: subproblem, inner: subproblem) -> subproblem",
     "choices of the second selection inside the first: /a/b", BY(SUB_INTERSECTION)},
    {"by_extent", "(s: subproblem) -> subproblem",
     "the choices in the dynamic extent of a selection", BY(SUB_EXTENT)},
    {"by_union", "(a: subproblem, b: subproblem) -> subproblem", "choices of either selection",
     BY(SUB_UNION)},
    {"by_intersection", "(a: subproblem, b: subproblem) -> subproblem",
     "choices of both selections", BY(SUB_INTERSECTION)},
    {"random_singleton", "(s: subproblem) -> subproblem", "one choice of a selection, at random",
     BY(SUB_RANDOM_SINGLE)},
    {"minimal_subproblem", "(s: subproblem) -> subproblem",
     "the selection as the target of an operator", BY(SUB_EXTENT)},
    {"select", "(scope: target, block?: block) -> subproblem", "a scope and block as a subproblem",
     .flags = OP_PLAIN, .run = op_select, .block = "all"},
    {"choose_by_scope", "(scope: target, block?: block) -> subproblem",
     "one block of the scope, picked at random each time; or the block named", .flags = OP_PLAIN,
     .run = op_select, .block = "one"},
    {"ordered_range", "(lo: number, hi: number) -> block", "the blocks from lo to hi, in order",
     .flags = OP_PLAIN, .run = op_ordered_range},
    {0},
};
