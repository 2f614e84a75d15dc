/* SPDX-License-Identifier: Apache-2.0
 *
 * From a scaffold to a flat. The scaffold is the unrolled program already: entries in order of
 * evaluation. First every value that changes gets its slot; then each entry becomes an operation,
 * whose operands are found by going past nodes that only pass a value on; what an operand refers to
 * outside the scaffold becomes an input, or a constant of the form.
 *
 * Numbers are compiled to numeric operations where the row has such forms, all else to rows on
 * values. While drafting, the marks of input nodes hold their slots (INPUT), so that each is found
 * at once. */
#include "flat/form.h"

/* Is this a scaffold in which nothing but values changes? */

/* A tag whose scope or block changes must be registered anew. */
static bool tag_is_static(struct scaffold *s, struct node *n) {
    for (uint32_t i = 0; n->kind == NODE_TAG && i + 1 < n->n_in; i++)
        if (entry_of(s, n->in[i].node)) return false;
    return true;
}

/* Procedures among its operands close over nothing: they compute the same as long as they are the
 * same, and since values keep their type (flat_run.c) a changing operand is none. */
static bool closes_over_nothing(struct scaffold *s, const struct node *n) {
    if (n->req && (n->req->n_fam || n->req->n_xin)) return false;
    for (uint32_t i = 1; i < n->n_in; i++)
        if (n->in[i].node->val.tag == V_PROC && entry_of(s, n->in[i].node)) return false;
    return true;
}

static bool is_static_row(struct scaffold *s, const struct entry *e) {
    const struct sp_class *cls = node_class(e->n);
    return cls && cls->simulate && !cls->request && !cls->incorporate && !e->n->special &&
           !(cls->flags & (SP_RANDOM | SP_MAKER | SP_NO_MODEL_EFFECT)) &&
           closes_over_nothing(s, e->n);
}

/* Left to the general way: a procedure that may be another one, applications counted in statistics
 * (their densities depend on each other), observed expressions that may end elsewhere, random
 * makers, anything that requests anew. */
static bool entry_is_static(struct scaffold *s, const struct entry *e) {
    struct node *n = e->n;
    if (e->role == ROLE_M) return !(n->flags & NODE_RANDOM) && closes_over_nothing(s, n);
    if (e->op_changed) return false;
    if (e->principal >= 0 || e->role == ROLE_A) {
        const struct sp_class *cls = node_class(n);
        return cls && cls->log_density && !cls->incorporate &&
               !(e->principal >= 0 && (n->flags & NODE_OBS_ROOT));
    }
    if ((n->flags & (NODE_OBS_ROOT | NODE_RANDOM)) || !tag_is_static(s, n)) return false;
    return copy_source(n) ? !e->requests && !node_is_stateful(n) : is_static_row(s, e);
}

/* No brush, and every entry stands in the order: nothing comes into being or goes. */
static bool is_static(struct scaffold *s) {
    if (s->has_brush || s->order.n != s->e.n) return false;
    for (size_t i = 0; i < s->e.n; i++)
        if (!entry_is_static(s, &s->e.at[i]) || s->e.at[i].n->n_in > UINT16_MAX) return false;
    return true;
}

/* A flat in the making. */

#define INPUT 0x80000000u /* in a node's mark: the rest is its slot */
#define CONST 0x80000000u /* in an operand: the rest is the number of a constant */

struct place {
    uint32_t slot; /* 1 + slot; 0: none yet */
    bool alone;    /* a changing one: it depends on no choice but the principals */
};
enum { STEPS, SHARED, OWN, PRINCIPALS, N_PARTS }; /* of a form's operations, in their order */
struct draft {
    struct scaffold *s;
    struct flat_form head;
    struct {
        VEC(struct flat_op) at;
    } ops[N_PARTS];
    VEC(uint32_t) extra;
    VEC(uint8_t) kind;
    VEC(double) constants;
    VEC(struct node *) nodes, owned;
    struct place *of; /* by entry */
};

static void draft_release(struct draft *d) {
    for (int i = 0; i < N_PARTS; i++) vec_release(&d->ops[i].at);
    vec_release(&d->extra);
    vec_release(&d->kind);
    vec_release(&d->constants);
    vec_release(&d->nodes);
    vec_release(&d->owned);
    mem_free(d->of);
}

static void add_changing(struct draft *d, uint32_t entry) {
    struct node *n = d->s->e.at[entry].n;
    vec_push(&d->nodes, n);
    vec_push(&d->kind, (uint8_t)!number_is(n->val));
    d->of[entry].slot = (uint32_t)d->nodes.n;
}

static bool is_computed(const struct entry *e) {
    return e->role == ROLE_D && e->principal < 0 && !copy_source(e->n);
}

/* Slots 0 .. n_changing - 1: the principals in the order they were given, then results in order of
 * evaluation, so that a step reads only slots that are set. */
static void number_changing(struct draft *d) {
    struct scaffold *s = d->s;
    for (size_t i = 0; i < s->principals.n; i++) {
        add_changing(d, s->principals.at[i]->mark - 1);
        d->of[s->principals.at[i]->mark - 1].alone = true;
    }
    for (size_t i = 0; i < s->order.n; i++)
        if (is_computed(&s->e.at[s->order.at[i]])) add_changing(d, s->order.at[i]);
    d->head.n_principals = (uint32_t)s->principals.n;
    d->head.n_changing = (uint32_t)d->nodes.n;
}

static uint32_t add_input(struct draft *d, struct node *n) {
    vec_push(&d->nodes, n);
    return (uint32_t)d->nodes.n - 1;
}

/* Where the operand's value comes from; *alone is cleared when other choices move it. */
static uint32_t slot_of(struct draft *d, struct node *operand, bool *alone) {
    struct node *n = chase(operand);
    if (n->kind == NODE_CONST && n->val.tag == V_NUM) {
        vec_push(&d->constants, n->val.u.num);
        return CONST | (uint32_t)(d->constants.n - 1);
    }
    if (n->kind == NODE_CONST) return add_input(d, n);
    if (n->mark & INPUT) {
        *alone = false;
        return n->mark & ~INPUT;
    }
    if (!n->mark) {
        *alone = false;
        uint32_t slot = add_input(d, n);
        n->mark = INPUT | slot;
        return slot;
    }
    struct place *p = &d->of[n->mark - 1];
    if (!p->slot) p->slot = 1 + add_input(d, n); /* it absorbs: its value stays */
    if (p->slot > d->head.n_changing || !p->alone) *alone = false;
    return p->slot - 1;
}

/* An operation on the operands of n; *numbers: they are all numbers, and few. */
static struct flat_op op_on(struct draft *d, struct node *n, bool *numbers, bool *alone) {
    struct flat_op op = {.cls = node_class(n), .n_args = (uint16_t)(n->n_in - 1)};
    uint32_t args[FLAT_ARGS] = {0};
    *numbers = op.n_args <= FLAT_ARGS;
    *alone = true;
    if (!*numbers) args[0] = (uint32_t)d->extra.n;
    for (uint32_t i = 1; i < n->n_in; i++) {
        uint32_t slot = slot_of(d, n->in[i].node, alone);
        *numbers = *numbers && number_is(n->in[i].node->val);
        if (op.n_args <= FLAT_ARGS)
            args[i - 1] = slot;
        else
            vec_push(&d->extra, slot);
    }
    for (int i = 0; i < FLAT_ARGS; i++) op.args[i] = args[i];
    if (op.n_args > d->head.most_args) d->head.most_args = op.n_args;
    return op;
}

static uint16_t numeric_code(const struct flat_op *op) {
    static const uint16_t codes[] = {
        [SP_CODE_NONE] = FLAT_NUM,   [SP_CODE_ADD] = FLAT_ADD, [SP_CODE_SUB] = FLAT_SUB,
        [SP_CODE_MUL] = FLAT_MUL,    [SP_CODE_DIV] = FLAT_DIV, [SP_CODE_NORMAL] = FLAT_NORMAL,
        [SP_CODE_EXACTLY] = FLAT_NUM};
    return op->n_args == 2 ? codes[op->cls->code] : (uint16_t)FLAT_NUM;
}

static void on_values(struct draft *d, struct flat_op *op, enum flat_code code) {
    op->code = (uint16_t)code;
    d->head.rows = 1;
}

static void add_step(struct draft *d, uint32_t entry) {
    const struct entry *e = &d->s->e.at[entry];
    struct place *p = &d->of[entry];
    bool numbers, alone;
    struct flat_op op = op_on(d, e->n, &numbers, &alone);
    op.out = p->slot - 1;
    p->alone = alone || e->principal >= 0;
    if (e->principal >= 0) {
        op.code = FLAT_DRAW;
        if (!numbers || !op.cls->num_sample || !number_is(e->n->val))
            on_values(d, &op, FLAT_DRAW_ROW);
    } else if (numbers && op.cls->num && e->n->val.tag == V_NUM)
        op.code = numeric_code(&op);
    else
        on_values(d, &op, FLAT_ROW);
    vec_push(&d->ops[STEPS].at, op);
}

/* SP_CODE_EXACTLY (exactly(v)) compares values, and true is not 1: numbers will do only where both
 * are of one type. */
static bool has_numeric_density(const struct node *n, const struct sp_class *cls) {
    if (!cls->num_log_density || !number_is(n->val)) return false;
    return cls->code != SP_CODE_EXACTLY || n->in[1].node->val.tag == n->val.tag;
}

/* An observation is owned, and kept in the flat, when nothing but this one principal moves it: then
 * its node need not be touched by a step. Choices are never owned, since others propose them; nor
 * rows, whose values and densities are read from nodes. */
static void add_density(struct draft *d, uint32_t entry) {
    const struct entry *e = &d->s->e.at[entry];
    struct node *n = e->n;
    bool numbers, alone;
    struct flat_op op = op_on(d, n, &numbers, &alone);
    op.code = numeric_code(&op);
    if (e->role == ROLE_M)
        on_values(d, &op, FLAT_MAKER);
    else if (!numbers || !has_numeric_density(n, op.cls))
        on_values(d, &op, FLAT_ROW);
    bool on_numbers = op.code != FLAT_ROW && op.code != FLAT_MAKER;
    bool owned = on_numbers && alone && d->head.n_principals == 1 && n->choice == NO_INDEX;
    if (e->principal < 0 && owned) {
        vec_push(&d->owned, n);
        vec_push(&d->ops[OWN].at, op);
        return;
    }
    if (!d->of[entry].slot) d->of[entry].slot = 1 + add_input(d, n);
    op.out = d->of[entry].slot - 1;
    vec_push(&d->ops[e->principal < 0 ? SHARED : PRINCIPALS].at, op);
}

static void add_ops(struct draft *d) {
    struct scaffold *s = d->s;
    for (size_t i = 0; i < s->order.n; i++) {
        const struct entry *e = &s->e.at[s->order.at[i]];
        bool computed = is_computed(e);
        if (computed || e->principal >= 0) add_step(d, s->order.at[i]);
        if (e->role != ROLE_D) add_density(d, s->order.at[i]);
        if (e->role == ROLE_D && e->principal < 0 && !computed) d->head.settles = 1;
    }
    for (size_t i = 0; i < s->principals.n; i++) add_density(d, s->principals.at[i]->mark - 1);
    d->head.n_in = (uint32_t)d->nodes.n - d->head.n_changing;
    d->head.n_constants = (uint32_t)d->constants.n;
    d->head.n_steps = (uint32_t)d->ops[STEPS].at.n;
    d->head.n_shared = (uint32_t)d->ops[SHARED].at.n;
    d->head.n_own = (uint32_t)d->ops[OWN].at.n;
    d->head.n_extra = (uint32_t)d->extra.n;
    if (d->ops[OWN].at.n) d->head.settles = 1;
}

/* Takes the marks of inputs away. Those of entries that absorb are the scaffold's. */
static void unmark_inputs(struct draft *d) {
    for (size_t i = d->head.n_changing; i < d->nodes.n; i++) {
        struct node *n = d->nodes.at[i];
        if (n->kind != NODE_CONST && (n->mark & INPUT)) n->mark = 0;
    }
}

/* Constants come last, behind inputs, whose number is known only when all operations are drafted.
 */
static uint32_t place_constant(const struct draft *d, uint32_t slot) {
    return slot & CONST ? d->head.n_changing + d->head.n_in + (slot & ~CONST) : slot;
}

static struct flat_form *form_of(const struct draft *d) {
    struct flat_form *f = mem_zalloc(form_size(&d->head));
    *f = d->head;
    struct flat_op *to = f->ops;
    for (int part = 0; part < N_PARTS; part++)
        for (size_t i = 0; i < d->ops[part].at.n; i++, to++) {
            *to = d->ops[part].at.at[i];
            if (part == OWN) to->out = form_n_slots(f); /* none */
            for (int k = 0; k < FLAT_ARGS; k++) to->args[k] = place_constant(d, to->args[k]);
        }
    for (size_t i = 0; i < d->constants.n; i++) form_constants(f)[i] = d->constants.at[i];
    for (size_t i = 0; i < d->extra.n; i++) form_extra(f)[i] = place_constant(d, d->extra.at[i]);
    for (size_t i = 0; i < d->kind.n; i++) form_kind(f)[i] = d->kind.at[i];
    return f;
}

/* A flat without a form is a result too: it says, for this structure, that there is none, and the
 * question is not asked again. */
struct flat *flat_make(struct trace *t, struct node *const *principals, size_t n) {
    struct draft d = {.s = scaffold_build(t, principals, n)};
    struct flat_form *f = NULL;
    if (is_static(d.s)) {
        d.of = mem_zalloc(d.s->e.n * sizeof *d.of);
        number_changing(&d);
        add_ops(&d);
        unmark_inputs(&d);
        f = form_share(flats_of(t), form_of(&d));
    }
    struct flat *made = flat_new(t, f, d.nodes.at, d.owned.at);
    scaffold_close(d.s, false);
    draft_release(&d);
    return made;
}
