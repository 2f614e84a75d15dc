/* SPDX-License-Identifier: Apache-2.0
 *
 * Rolling a program up again. A loop over a thousand observations, a recursion over groups or a map
 * leaves thousands of operations on single numbers in the scaffold. Finding the loop again needs no
 * notion of a loop. With
 *
 *     level(op) = 1 + the highest level of its operands
 *
 * operations of one level are independent. Those that apply one row to equally many operands become
 * one operation on columns. Densities of one row do so on any level, since nothing depends on them.
 * The slots of a column are adjacent already, are a single number for all, or are packed first.
 * Members are ordered by their first operand that is not shared, so that columns follow columns.
 *
 * Results of a group get new adjacent slots. Slots in a range that an operation reads must stay,
 * and are pinned. */
#include "runtime/flat/draft.h"

#include <stdlib.h>

/* Smallest group; fewest operations worth examining; members that share an operand. */
enum { GROUP = 8, FEWEST = 24, RUN = 64 };

struct group {
    uint32_t level, first; /* first: drafted index of its first operation */
    size_t from, n;        /* in roll.members */
};

typedef VEC(struct group) groups;

struct member {
    uint32_t group, op;
    uint32_t by; /* position of its first operand that is not shared */
};

struct roll {
    struct draft *d;
    struct flat_op *old; /* the steps as drafted, then the shared densities */
    size_t n_steps, n_old;
    uint32_t n_slots;   /* number of changing slots as drafted */
    uint32_t *level;    /* by changing slot */
    uint32_t *op_level; /* by operation */
    bool *pinned;       /* by changing slot */
    bool pinned_input;
    uint32_t *moved;    /* new slots of results of groups, by changing slot */
    uint32_t *rank;     /* future order of the new slots, by changing slot */
    uint32_t *input_to; /* new number of each input */
    VEC(struct member) members;
    groups groups;
};

/* ---- what an operation reads and writes ---- */

typedef void ref_fn(struct roll *r, uint32_t ref, uint32_t *out);

static void each_token(struct roll *r, value s, ref_fn *fn, uint32_t *out) {
    uint32_t *refs;
    size_t n;
    if (s.tag == V_NUM && token_kind(s.u.num) > TOKEN_BOOL) return;
    if (s.tag == V_NIL) return;
    if (sketch_refs(s, &refs, &n)) {
        for (size_t i = 0; i < n; i++) fn(r, refs[i], out);
        mem_free(refs);
        return;
    }
    struct seq_walk w = {s, 0};
    for (value item; seq_next(&w, &item);) each_token(r, item, fn, out);
    if (w.rest.tag != V_ARRAY && w.rest.tag != V_PAIR) each_token(r, w.rest, fn, out);
}

static bool on_shapes(const struct flat_op *op) {
    return op->code >= FLAT_BLOCK;
}

/* Calls fn for every slot the operation reads; with `ranges` only for slots it reads as ranges. */
static void each_operand(struct roll *r, const struct flat_op *op, bool ranges, ref_fn *fn,
                         uint32_t *out) {
    struct draft *d = r->d;
    if (op_gathers(op)) {
        for (uint32_t i = 0; !ranges && i < op->len; i++) fn(r, d->refs.at[op->args[0] + i], out);
        if (!ranges && op->code == FLAT_PICK) fn(r, op->args[1], out);
        return;
    }
    for (uint32_t k = 0; k < op->n_args; k++) {
        if (on_shapes(op)) {
            uint32_t s = op->n_args <= FLAT_ARGS ? op->args[k] : d->lists.at[op->args[0] + k];
            if (!ranges || op->code == FLAT_BLOCK) each_token(r, d->sketches.at[s], fn, out);
            continue;
        }
        bool column = (op->args[k] & COLUMN) || op->code == FLAT_FOLD;
        uint32_t n = column ? op->len : 1, first = op->args[k] & ~COLUMN;
        for (uint32_t i = 0; (column || !ranges) && i < n; i++) fn(r, first + i, out);
    }
}

static uint32_t width(const struct flat_op *op) {
    return op->code == FLAT_COLS || op->code == FLAT_PACK ? op->len : 1;
}

static void raise_level(struct roll *r, uint32_t ref, uint32_t *out) {
    if (ref_region(ref) == CHANGING && r->level[ref_index(ref)] > *out)
        *out = r->level[ref_index(ref)];
}

static void set_level(struct roll *r, uint32_t ref, uint32_t *level) {
    if (ref_region(ref) == CHANGING) r->level[ref_index(ref)] = *level;
}

static void pin(struct roll *r, uint32_t ref, uint32_t *out) {
    if (ref_region(ref) == CHANGING) r->pinned[ref_index(ref)] = true;
    if (ref_region(ref) == INPUT) r->pinned_input = true;
}

/* Draws keep their order, which is the order of their random numbers. */
static void find_levels(struct roll *r) {
    uint32_t drawn = 0;
    for (size_t i = 0; i < r->n_old; i++) {
        const struct flat_op *op = &r->old[i];
        bool draws = op->code == FLAT_DRAW || op->code == FLAT_DRAW_ROW;
        uint32_t level = draws ? drawn : 0;
        each_operand(r, op, true, pin, NULL);
        if (i >= r->n_steps) { /* densities may share one level */
            for (uint32_t k = 0; op->code == FLAT_COLS && k < op->len; k++)
                pin(r, (op->out & ~COLUMN) + k, NULL);
            r->op_level[i] = UINT32_MAX;
            continue;
        }
        each_operand(r, op, false, raise_level, &level);
        r->op_level[i] = ++level;
        if (draws) drawn = level;
        if (on_shapes(op))
            each_token(r, r->d->sketches.at[op->out], set_level, &level);
        else
            for (uint32_t k = 0; k < width(op); k++) set_level(r, op->out + k, &level);
    }
    for (size_t i = 0; i < r->d->ops[PRINCIPALS].at.n; i++)
        each_operand(r, &r->d->ops[PRINCIPALS].at.at[i], true, pin, NULL);
}

/* ---- groups ---- */

/* May the operation join a group? */
static bool is_member(const struct roll *r, size_t i) {
    const struct flat_op *op = &r->old[i];
    if (i >= r->n_steps) /* the values of inputs, whose nodes store the densities */
        return (op->code == FLAT_NUM || op->code == FLAT_NORMAL) && !r->pinned_input;
    return op->code <= FLAT_ASSESS && op->n_args > 0 && !r->pinned[ref_index(op->out)];
}

static bool alike(const struct roll *r, size_t i, size_t k) {
    const struct flat_op *a = &r->old[i], *b = &r->old[k];
    return a->cls == b->cls && a->code == b->code && a->n_args == b->n_args &&
           r->op_level[i] == r->op_level[k];
}

/* The index of operation i's group, found by hash, or of a new group. */
static uint32_t group_of(struct roll *r, struct map *known, size_t i) {
    const struct flat_op *op = &r->old[i];
    uint64_t key = hash_mix(MAP_PTR(op->cls) + ((uint64_t)op->code << 8 | op->n_args)) +
                   hash_mix(r->op_level[i]);
    for (size_t g; (g = (size_t)map_get(known, key)); key++)
        if (alike(r, r->groups.at[g - 1].first, i)) return (uint32_t)g - 1;
    vec_push(&r->groups, ((struct group){r->op_level[i], (uint32_t)i, 0, 0}));
    map_put(known, key, (void *)(uintptr_t)r->groups.n);
    return (uint32_t)r->groups.n - 1;
}

static int by_place(const void *a, const void *b) {
    const struct member *x = a, *y = b;
    if (x->group != y->group) return x->group < y->group ? -1 : 1;
    if (x->by != y->by) return x->by < y->by ? -1 : 1;
    return x->op < y->op ? -1 : x->op > y->op;
}

static int by_level(const void *a, const void *b) {
    const struct group *x = a, *y = b;
    if (x->level != y->level) return x->level < y->level ? -1 : 1;
    return x->first < y->first ? -1 : x->first > y->first;
}

/* Keeps groups that are large enough, sorted by level, then by program order. Every other operation
 * forms a group of one. */
static void find_groups(struct roll *r) {
    struct map known = {0};
    size_t n = 0;
    for (size_t i = 0; i < r->n_old; i++)
        if (is_member(r, i))
            vec_push(&r->members, ((struct member){group_of(r, &known, i), (uint32_t)i, 0}));
    map_release(&known);
    qsort(r->members.at, r->members.n, sizeof *r->members.at, by_place);
    for (size_t i = 0; i < r->members.n; i++) {
        struct group *g = &r->groups.at[r->members.at[i].group];
        if (!g->n++) g->from = i;
    }
    for (size_t i = 0; i < r->groups.n; i++)
        if (r->groups.at[i].n >= GROUP) r->groups.at[n++] = r->groups.at[i];
    r->groups.n = n;
    qsort(r->groups.at, n, sizeof *r->groups.at, by_level);
}

/* Members that share the operand they are ordered by form a separate group if they are many, since
 * that operand need not be gathered. */
static void split(struct roll *r, const struct group *g, groups *out) {
    const struct member *m = r->members.at + g->from;
    size_t runs = 1;
    for (size_t i = 1; i < g->n; i++) runs += m[i].by != m[i - 1].by;
    for (size_t i = 0, k; i < g->n; i += k) {
        k = g->n;
        if (g->n >= RUN * runs)
            for (k = 1; i + k < g->n && m[i + k].by == m[i].by;) k++;
        struct group part = {g->level, m[i].op, g->from + i, k};
        vec_push(out, part);
    }
}

/* Orders the members of a group by the future slot of the first operand that differs among them,
 * and ranks their results in this order. */
static void order_members(struct roll *r, const struct group *g, uint32_t *next, groups *out) {
    struct member *m = r->members.at + g->from;
    const struct flat_op *one = &r->old[m[0].op];
    bool found = false;
    for (uint32_t k = 0; k < one->n_args && !found; k++) {
        for (size_t i = 1; i < g->n; i++) found |= r->old[m[i].op].args[k] != one->args[k];
        for (size_t i = 0; found && i < g->n; i++) {
            uint32_t ref = r->old[m[i].op].args[k];
            bool changes = ref_region(ref) == CHANGING;
            m[i].by = changes ? r->rank[ref_index(ref)] : ref;
        }
    }
    qsort(m, g->n, sizeof *m, by_place);
    for (size_t i = 0; g->level != UINT32_MAX && i < g->n; i++)
        r->rank[ref_index(r->old[m[i].op].out)] = (*next)++;
    split(r, g, out);
}

static uint32_t renamed(const struct roll *r, uint32_t ref) {
    if (ref_region(ref) == CHANGING && ref_index(ref) < r->n_slots) return r->moved[ref_index(ref)];
    if (ref_region(ref) == INPUT) return REF(INPUT, r->input_to[ref_index(ref)]);
    return ref;
}

/* Copies differing constants to adjacent slots. */
static void gather_constants(struct draft *d, uint32_t *refs, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (ref_region(refs[i]) != CONSTANT) return;
    uint32_t first = REF(CONSTANT, d->constants.n);
    for (size_t i = 0; i < n; i++) {
        double x = d->constants.at[ref_index(refs[i])];
        vec_push(&d->constants, x);
    }
    for (size_t i = 0; i < n; i++) refs[i] = first + (uint32_t)i;
}

/* Operand k of a group as one operand on columns. */
static uint32_t column_of(struct roll *r, const struct group *g, uint32_t k) {
    uint32_t *refs = NEW_ARRAY(uint32_t, g->n);
    bool same = true;
    for (size_t i = 0; i < g->n; i++) {
        refs[i] = renamed(r, r->old[r->members.at[g->from + i].op].args[k]);
        same &= refs[i] == refs[0];
    }
    if (!same) gather_constants(r->d, refs, g->n);
    uint32_t out = draft_column(r->d, refs, g->n);
    mem_free(refs);
    return out;
}

static struct flat_op group_op(struct roll *r, const struct group *g) {
    static const uint8_t how[] = {[FLAT_ADD] = SP_CODE_ADD,
                                  [FLAT_SUB] = SP_CODE_SUB,
                                  [FLAT_MUL] = SP_CODE_MUL,
                                  [FLAT_DIV] = SP_CODE_DIV,
                                  [FLAT_ASSESS] = SP_CODE_ASSESS};
    const struct flat_op *one = &r->old[g->first];
    struct flat_op op = {
        .cls = one->cls, .code = FLAT_COLS, .n_args = one->n_args, .len = (uint32_t)g->n};
    if (one->code <= FLAT_ASSESS) op.how = how[one->code];
    for (uint32_t k = 0; k < op.n_args; k++) op.args[k] = column_of(r, g, k);
    return op;
}

static void add_steps(struct roll *r, const struct group *g) {
    uint32_t out = draft_step(r->d, group_op(r, g), g->n);
    for (size_t i = 0; i < g->n; i++)
        r->moved[ref_index(r->old[r->members.at[g->from + i].op].out)] = out + (uint32_t)i;
}

/* Joins densities of one row. Their values are inputs with adjacent numbers, and the words of their
 * nodes are adjacent, too. */
static void add_densities(struct roll *r, const struct group *g) {
    struct flat_op op = group_op(r, g);
    op.code = FLAT_MANY;
    op.node = renamed(r, r->old[r->members.at[g->from].op].out);
    op.out = COLUMN | op.node;
    vec_push(&r->d->ops[SHARED].at, op);
}

/* ---- other operations, with renamed operands ---- */

static void rename_numbers(struct roll *r, double *at, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (token_kind(at[i]) <= TOKEN_BOOL)
            at[i] = token_new(token_kind(at[i]), renamed(r, token_ref(at[i])));
}

static value sketch_renamed(struct roll *r, value s) {
    value out = s;
    switch (s.tag) {
    case V_NUM: rename_numbers(r, &out.u.num, 1); return out;
    case V_VECTOR:
        out = value_vector(s.u.vector->at, s.u.vector->n);
        out.u.obj->flags = s.u.obj->flags;
        rename_numbers(r, out.u.vector->at, s.u.vector->n);
        return out;
    case V_MATRIX:
        out = value_matrix(s.u.matrix->at, s.u.matrix->rows, s.u.matrix->cols);
        rename_numbers(r, out.u.matrix->at, s.u.matrix->rows * s.u.matrix->cols);
        return out;
    case V_ARRAY:
        out = value_array_new(s.u.array->n);
        out.u.obj->flags = s.u.obj->flags;
        for (size_t i = 0; i < s.u.array->n; i++)
            out.u.array->at[i] = sketch_renamed(r, s.u.array->at[i]);
        return out;
    case V_PAIR: {
        VEC(value) items = {0};
        for (; s.tag == V_PAIR; s = s.u.pair->rest)
            vec_push(&items, sketch_renamed(r, s.u.pair->first));
        out = sketch_renamed(r, s);
        while (items.n) out = value_pair_take(vec_pop(&items), out);
        vec_release(&items);
        return out;
    }
    default: return value_ref(s);
    }
}

static void rename_op(const struct roll *r, struct flat_op *op, bool density) {
    if (density && ref_region(op->node) == INPUT) op->node = renamed(r, op->node);
    if (on_shapes(op) || op->code == FLAT_PACK) return;
    if (density) op->out = (op->out & COLUMN) | renamed(r, op->out & ~COLUMN);
    if (op->code == FLAT_PICK) op->args[1] = renamed(r, op->args[1]);
    if (!op_gathers(op)) /* otherwise rename_rest */
        for (uint32_t k = 0; k < op->n_args; k++)
            op->args[k] = (op->args[k] & COLUMN) | renamed(r, op->args[k] & ~COLUMN);
}

/* ---- the whole ---- */

/* Gives adjacent numbers to inputs that are the values of a group of densities, then to operands of
 * one group, so that they are columns. */
static void number_inputs(struct roll *r) {
    struct draft *d = r->d;
    uint32_t next = 0;
    struct node **inputs = NEW_ARRAY(struct node *, d->inputs.n + 1);
    for (int operands = 0; operands < 2 && !r->pinned_input; operands++)
        for (size_t j = 0; j < r->groups.n; j++) {
            const struct group *g = &r->groups.at[j];
            uint32_t n = operands ? r->old[g->first].n_args : g->level == UINT32_MAX;
            for (uint32_t k = 0; k < n; k++)
                for (size_t i = 0; i < g->n; i++) {
                    const struct flat_op *op = &r->old[r->members.at[g->from + i].op];
                    uint32_t ref = operands ? op->args[k] : op->out;
                    if (ref_region(ref) == INPUT && r->input_to[ref_index(ref)] == NO_SLOT)
                        r->input_to[ref_index(ref)] = next++;
                }
        }
    for (size_t i = 0; i < d->inputs.n; i++) {
        if (r->input_to[i] == NO_SLOT) r->input_to[i] = next++;
        inputs[r->input_to[i]] = d->inputs.at[i];
    }
    for (size_t i = 0; i < d->inputs.n; i++) d->inputs.at[i] = inputs[i];
    mem_free(inputs);
}

/* Writes the new operations: groups and single operations by level, then the densities. */
static void reroll_emit(struct roll *r) {
    struct draft *d = r->d;
    VEC(struct group) order = {0};
    bool *grouped = mem_zalloc(r->n_old + 1);
    for (size_t j = 0; j < r->groups.n; j++) {
        struct group g = r->groups.at[j];
        for (size_t i = 0; i < g.n; i++) grouped[r->members.at[g.from + i].op] = true;
        vec_push(&order, g);
    }
    for (size_t i = 0; i < r->n_old; i++)
        if (!grouped[i]) vec_push(&order, ((struct group){r->op_level[i], (uint32_t)i, 0, 1}));
    qsort(order.at, order.n, sizeof *order.at, by_level);
    vec_clear(&d->ops[STEPS].at);
    vec_clear(&d->ops[SHARED].at);
    map_release(&d->numbered);
    for (size_t i = 0; i < order.n; i++) {
        const struct group *g = &order.at[i];
        bool density = g->first >= r->n_steps;
        struct flat_op op = r->old[g->first];
        if (g->n > 1) {
            (density ? add_densities : add_steps)(r, g);
            continue;
        }
        rename_op(r, &op, density);
        vec_push(&d->ops[density ? SHARED : STEPS].at, op);
    }
    for (size_t i = 0; i < d->ops[OWN].at.n; i++) rename_op(r, &d->ops[OWN].at.at[i], false);
    for (size_t i = 0; i < d->ops[PRINCIPALS].at.n; i++)
        rename_op(r, &d->ops[PRINCIPALS].at.at[i], true);
    mem_free(grouped);
    vec_release(&order);
}

/* Renames the lists of slots and the sketches that existed before. */
static void rename_rest(struct roll *r, size_t n_refs) {
    struct draft *d = r->d;
    for (size_t i = 0; i < n_refs; i++) d->refs.at[i] = renamed(r, d->refs.at[i]);
    for (size_t i = 0; i < d->sketches.n; i++)
        value_set_take(&d->sketches.at[i], sketch_renamed(r, d->sketches.at[i]));
    for (size_t i = 0; i < d->node_sketch.n; i++)
        value_set_take(&d->node_sketch.at[i], sketch_renamed(r, d->node_sketch.at[i]));
}

static void roll_init(struct roll *r, struct draft *d) {
    *r = (struct roll){.d = d, .n_slots = d->head.n_changing, .n_steps = d->ops[STEPS].at.n};
    r->n_old = r->n_steps + d->ops[SHARED].at.n;
    r->old = NEW_ARRAY(struct flat_op, r->n_old + 1);
    for (size_t i = 0; i < r->n_old; i++)
        r->old[i] = i < r->n_steps ? d->ops[STEPS].at.at[i] : d->ops[SHARED].at.at[i - r->n_steps];
    r->level = mem_zalloc((r->n_slots + 1) * sizeof *r->level);
    r->op_level = mem_zalloc((r->n_old + 1) * sizeof *r->op_level);
    r->pinned = mem_zalloc(r->n_slots + 1);
    r->moved = NEW_ARRAY(uint32_t, r->n_slots + 1);
    r->rank = NEW_ARRAY(uint32_t, r->n_slots + 1);
    r->input_to = NEW_ARRAY(uint32_t, d->inputs.n + 1);
    for (uint32_t i = 0; i < r->n_slots; i++) r->rank[i] = i, r->moved[i] = REF(CHANGING, i);
    for (size_t i = 0; i < d->inputs.n; i++) r->input_to[i] = NO_SLOT;
}

static void roll_release(struct roll *r) {
    mem_free(r->old);
    mem_free(r->level);
    mem_free(r->op_level);
    mem_free(r->pinned);
    mem_free(r->moved);
    mem_free(r->rank);
    mem_free(r->input_to);
    vec_release(&r->members);
    vec_release(&r->groups);
}

void draft_reroll(struct draft *d) {
    struct roll r;
    size_t n_refs = d->refs.n;
    if (d->ops[STEPS].at.n + d->ops[SHARED].at.n < FEWEST) return;
    roll_init(&r, d);
    find_levels(&r);
    find_groups(&r);
    if (r.groups.n) {
        uint32_t next = r.n_slots;
        groups parts = {0};
        for (size_t i = 0; i < r.groups.n; i++) order_members(&r, &r.groups.at[i], &next, &parts);
        vec_release(&r.groups);
        r.groups = parts;
        number_inputs(&r);
        reroll_emit(&r);
        rename_rest(&r, n_refs);
    }
    roll_release(&r);
}
