/* SPDX-License-Identifier: Apache-2.0
 *
 * Links a text to the names that a model, or the program, sees; see machine.h. Where a run is
 * nested in a model, or a procedure is compiled to numbers, names are looked up one by one as the
 * code is read, and no link is used. */
#include "runtime/core/call_form.h"
#include "runtime/core/machine.h"

#include <string.h>

uint64_t machine_stamp(struct session_core *core, struct world *w) {
    if (w && w->stamp <= core->defined) w->stamp = ++core->stamps;
    return w ? w->stamp : core->defined;
}

bool machine_is_plain_row(const struct sp_class *cls) {
    unsigned not = SP_RANDOM | SP_MAKER | SP_CALLS | SP_NO_MODEL_EFFECT | SP_INFERENCE_ONLY;
    return cls && cls->simulate && !cls->request && !cls->special && !(cls->flags & not ) &&
           cls->code != SP_CODE_ASSESS;
}

/* ---- names -------------------------------------------------------------------------------- */

static void link_callee(struct machine_link *l) {
    value f = *l->v;
    const struct sp_class *cls = proc_class(f, NULL);
    l->callee = closure_of(f);
    if (l->callee || !machine_is_plain_row(cls) || sp_made_of(f)) return;
    const struct sp_sig *sig = sp_proc_of(f)->sig;
    l->cls = cls;
    if (!sig || !sp_sig_takes_any(sig)) return;
    l->fewest = (uint32_t)sig->n_min;
    l->most = sig->n_max > UINT32_MAX ? UINT32_MAX : (uint32_t)sig->n_max;
}

/* A name that stands in a frame around the text has a link where the model's own goes before it. */
static void link_name(struct session_core *core, struct world *w, const struct machine_name *k,
                      struct frame *env, struct machine_link *l) {
    struct name_found x = {0};
    const struct ast *a = k->a;
    if (a->kind == AST_UNQUOTE || (a->kind == AST_NAME && core_is_slot(core, a))) return;
    if (a->kind != AST_NAME)
        x.v = &core_literal(core, a)->val;
    else if (core_find(core, w, a, env, k->inner, &x) != GPM_OK || x.slot)
        return; /* no run is nested: it does not fail */
    l->v = x.v;
    bool stays = !x.cell || !x.cell->kind; /* else another procedure may stand there tomorrow */
    if (l->v && k->called && stays) link_callee(l);
}

/* ---- steps -------------------------------------------------------------------------------- */

static void set_operand(const struct machine_text *x, int32_t from, const value **at,
                        uint32_t *reg) {
    *at = from < 0 ? x->links[~from].v : NULL;
    *reg = from < 0 ? 0 : (uint32_t)from;
}

/* Which element of a list the application asks for, by a literal number; false: none. */
static bool item_number(const struct machine_text *x, const struct machine_op *op,
                        const struct sp_class *cls, uint16_t *k) {
    const int32_t *from = op->n ? &x->operands.at[op->at] : NULL;
    double i = cls->variant;
    if (op->n == 2) {
        bool literal = from[1] < 0 && x->names.at[~from[1]].a->kind == AST_NUMBER;
        if (!literal) return false;
        i = x->names.at[~from[1]].a->u.number;
    }
    *k = (uint16_t)i;
    return i == *k && (op->n == 2) == (cls->code == SP_CODE_LOOKUP);
}

static enum machine_step row_step(const struct machine_text *x, struct machine_op *op,
                                  const struct sp_class *cls) {
    bool two = op->n == 2;
    op->same = cls->variant;
    op->whole = two;
    if (two && cls->code == SP_CODE_ADD) return STEP_ADD;
    if (two && cls->code == SP_CODE_SUB) return STEP_SUB;
    if (two && cls->code == SP_CODE_MUL) return STEP_MUL;
    if (two && cls->code == SP_CODE_EQUAL) return STEP_EQUAL;
    bool item = cls->code == SP_CODE_ITEM || cls->code == SP_CODE_LOOKUP;
    return item && (op->n == 1 || two) && item_number(x, op, cls, &op->item) ? STEP_ITEM : STEP_ROW;
}

static bool all_linked(const struct machine_text *x, const int32_t *operands, uint32_t n) {
    for (uint32_t i = 0; i < n; i++)
        if (operands[i] < 0 && !x->links[~operands[i]].v) return false;
    return true;
}

static void call_step(const struct machine_text *x, struct machine_op *op) {
    const int32_t *from = op->n ? &x->operands.at[op->at] : NULL;
    const struct machine_link *l = op->of < 0 ? &x->links[~op->of] : NULL;
    if (!l || op->by->u.call.kw || !all_linked(x, from, op->n)) return;
    if (l->callee) op->step = op->code == CODE_TAIL ? STEP_TAIL : STEP_CALL;
    if (l->cls) op->step = (uint8_t)row_step(x, op, l->cls);
    if (op->n > 0) set_operand(x, from[0], &op->a, &op->ra);
    if (op->n > 1) set_operand(x, from[1], &op->b, &op->rb);
}

/* A name around the text: where its slot is, or what the model has under it. */
static void get_step(const struct machine_text *x, struct machine_op *op) {
    const struct machine_name *k = &x->names.at[~op->of];
    bool quoted = k->a->kind == AST_UNQUOTE;
    op->a = x->links[~op->of].v;
    op->step = op->a ? STEP_MOVE : STEP_GET;
    op->ra = (uint32_t)((quoted ? k->a->u.unquote.depth : k->a->u.name.depth) - k->inner);
    op->to = quoted ? k->a->u.unquote.slot : (uint32_t)k->a->u.name.slot;
}

/* Steps in one: a comparison whose result is a condition; an element that is compared so. The
 * registers in between hold nothing that others read (machine_text.c: condition). Where the
 * operands are not what it is made for, the first step is done by itself and the others follow. */
static void join_steps(struct machine_text *x) {
    struct machine_op *s = x->ops.at;
    for (size_t i = x->ops.n - 1; i-- > 0;) {
        const struct machine_op *next = &s[i + 1];
        bool reads = !next->target && !next->a && next->ra == s[i].out;
        if (s[i].step == STEP_EQUAL && next->step == STEP_UNLESS && reads) {
            s[i].step = STEP_UNLESS_EQUAL;
            s[i].to = next->to;
        } else if (s[i].step == STEP_ITEM && next->step == STEP_UNLESS_EQUAL && reads && next->b &&
                   s[i].out == next->out) {
            s[i].step = STEP_UNLESS_ITEM;
            s[i].to = next->to;
            s[i].b = next->b;
            s[i].same = next->same;
        }
    }
}

static void make_step(struct machine_text *x, struct machine_op *op) {
    static const uint8_t alike[] = {
        [CODE_UNLESS] = STEP_UNLESS, [CODE_JUMP] = STEP_JUMP,     [CODE_JOIN] = STEP_JOIN,
        [CODE_MOVE] = STEP_MOVE,     [CODE_RETURN] = STEP_RETURN, [CODE_EARLY] = STEP_ANY};
    bool reads = op->code == CODE_UNLESS || op->code == CODE_MOVE || op->code == CODE_RETURN;
    op->a = op->b = NULL;
    op->to = op->at;
    op->step = STEP_ANY;
    if (op->code == CODE_APPLY || op->code == CODE_TAIL)
        call_step(x, op);
    else if (op->code == CODE_GET)
        get_step(x, op);
    else if (!reads || all_linked(x, &op->of, 1))
        op->step = alike[op->code];
    if (reads && op->step) set_operand(x, op->of, &op->a, &op->ra);
    bool jumps = op->code == CODE_UNLESS || op->code == CODE_JUMP || op->code == CODE_SPECIAL;
    if (jumps) x->ops.at[op->at].target = true;
}

void machine_link(struct session_core *core, struct world *w, struct machine_text *x,
                  struct frame *env, uint64_t stamp) {
    if (!x->links) x->links = NEW_ARRAY(struct machine_link, x->names.n + 1);
    x->linked = stamp;
    x->around = machine_around(core, w, env);
    memset(x->links, 0, x->names.n * sizeof *x->links);
    for (size_t i = 0; i < x->names.n; i++) link_name(core, w, &x->names.at[i], env, &x->links[i]);
    for (size_t i = 0; i < x->ops.n; i++) make_step(x, &x->ops.at[i]);
    join_steps(x);
}
