/* SPDX-License-Identifier: Apache-2.0
 *
 * Linking pure procedures; see pure.h. */
#include "runtime/core/pure_code.h"

#include "runtime/core/plain.h"
#include <string.h>

static void unlink_names(struct pure *p) {
    for (size_t i = 0; p->linked && i < p->x->names.n; i++) value_unref(p->bound[i].own.val);
    p->linked = 0;
}

void pure_free(struct pure *p) {
    if (!p) return;
    unlink_names(p);
    mem_free(p->bound);
    mem_free(p->steps);
    mem_free(p->decides);
    vec_release(&p->reads);
    mem_free(p);
}

/* NULL: not pure by its text. */
static struct pure *pure_get(struct closure *c) {
    const struct pure_text *x = pure_text_of(c->lambda);
    if (!x->ops.n) return NULL;
    if (!c->pure) {
        struct pure *p = c->pure = NEW(struct pure);
        p->closure = c;
        p->x = x;
        p->bound = NEW_ARRAY(struct bound, x->names.n + 1);
        p->steps = NEW_ARRAY(struct pure_step, x->ops.n);
        p->decides = NEW_ARRAY(bool, 2 * x->n_registers + 2);
        p->passes = p->decides + x->n_registers + 1;
    }
    return c->pure;
}

/* ---- linking ------------------------------------------------------------------------------ */

/* As the tracing evaluator finds it (eval_name, eval_unquote); NULL: it would not, or not a
 * constant of it. */
static struct cell *find(struct session_core *core, struct world *w, struct closure *c,
                         const struct pure_name *k, struct cell *own) {
    const struct ast *a = k->a;
    struct slot *s = NULL;
    struct cell *cell;
    if (a->kind == AST_UNQUOTE) {
        s = &frame_up(c->env, a->u.unquote.depth - k->inner)->s[a->u.unquote.slot];
        bool code = s->v.tag == V_SYM || (s->v.tag == V_ARRAY && (s->v.u.obj->flags & OBJ_CODE));
        return code && !a->u.unquote.constant ? NULL : slot_cell(s);
    }
    if (a->kind != AST_NAME) return core_literal(core, a);
    if (!core_is_global(w, a, c->env)) {
        s = &frame_up(c->env, a->u.name.depth - k->inner)->s[a->u.name.slot];
        return s->unset ? NULL : slot_cell(s);
    }
    const value *v = core_global(core, w, a, c->env, &cell);
    if (v && !cell) {
        own->val = value_ref(*v);
        return own;
    }
    return v ? cell : NULL;
}

static bool is_plain_row(const struct sp_class *cls) {
    unsigned not = SP_RANDOM | SP_MAKER | SP_CALLS | SP_NO_MODEL_EFFECT | SP_INFERENCE_ONLY;
    return cls && cls->simulate && !cls->request && !cls->special && !(cls->flags & not ) &&
           cls->code != SP_CODE_ASSESS;
}

static bool link_callee(struct bound *b) {
    value f = b->cell->val;
    b->callee = closure_of(f);
    b->cls = b->callee ? NULL : proc_class(f, NULL);
    if (b->cell->kind) return false; /* another procedure may stand there tomorrow */
    if (b->callee) return pure_get(b->callee) != NULL;
    if (!is_plain_row(b->cls) || sp_made_of(f)) return false;
    const struct sp_sig *sig = sp_proc_of(f)->sig;
    if (sig && sp_sig_takes_any(sig)) {
        b->fewest = (uint32_t)sig->n_min;
        b->most = sig->n_max > UINT32_MAX ? UINT32_MAX : (uint32_t)sig->n_max;
    }
    b->code = (uint8_t)b->cls->code;
    return true;
}

/* ---- steps -------------------------------------------------------------------------------- */

static void set_operand(const struct pure *p, int32_t from, const value **at, uint8_t *reg) {
    *at = from < 0 ? &p->bound[~from].cell->val : NULL;
    *reg = from < 0 ? 0 : (uint8_t)from;
}

/* Which element of a list the application asks for, by a number that stays; false: none. */
static bool item_number(const struct pure *p, const struct pure_op *op, const struct bound *f,
                        uint16_t *k) {
    const int32_t *from = &p->x->operands.at[op->at];
    double i = f->cls->variant;
    if (op->n == 2) {
        const struct cell *c = from[1] < 0 ? p->bound[~from[1]].cell : NULL;
        if (!c || c->kind || c->val.tag != V_NUM) return false;
        i = c->val.u.num;
    }
    *k = (uint16_t)i;
    return i == *k && (op->n == 2) == (f->code == SP_CODE_LOOKUP);
}

static void row_step(const struct pure *p, const struct pure_op *op, struct pure_step *s) {
    const struct bound *f = &p->bound[op->of];
    bool tail = op->code == PURE_TAIL;
    if (!f->cls) {
        s->code = tail ? STEP_TAIL : STEP_CALL;
        return;
    }
    s->code = tail ? STEP_ROW_LAST : STEP_ROW;
    s->same = f->cls->variant;
    if (op->n == 2 && f->code == SP_CODE_ADD) s->code = tail ? STEP_ADD_LAST : STEP_ADD;
    if (op->n == 2 && f->code == SP_CODE_SUB) s->code = tail ? STEP_SUB_LAST : STEP_SUB;
    if (op->n == 2 && f->code == SP_CODE_MUL) s->code = tail ? STEP_MUL_LAST : STEP_MUL;
    if (op->n == 2 && f->code == SP_CODE_EQUAL && !tail) s->code = STEP_EQUAL;
    bool item = f->code == SP_CODE_ITEM || f->code == SP_CODE_LOOKUP;
    if (item && (op->n == 1 || op->n == 2) && item_number(p, op, f, &s->item))
        s->code = tail ? STEP_ITEM_LAST : STEP_ITEM;
}

/* Steps in one: a comparison whose result is a condition; an element that is compared so. The
 * registers in between hold nothing that anybody else reads (pure_text.c: condition). Where the
 * operands are not what it is made for, the first step is done by itself and the others follow. */
static void join_steps(struct pure *p) {
    struct pure_step *s = p->steps;
    for (size_t i = p->x->ops.n - 1; i-- > 0;) {
        const struct pure_step *next = &s[i + 1];
        if (s[i].code == STEP_EQUAL && next->code == STEP_UNLESS && !next->target && !next->a &&
            next->ra == s[i].out) {
            s[i].code = STEP_UNLESS_EQUAL;
            s[i].to = next->to;
        } else if (s[i].code == STEP_ITEM && next->code == STEP_UNLESS_EQUAL && !next->target &&
                   !next->a && next->ra == s[i].out && next->b && s[i].out == next->out) {
            s[i].code = STEP_UNLESS_ITEM;
            s[i].to = next->to;
            s[i].b = next->b;
            s[i].same = next->same;
        }
    }
}

/* Step i does what operation i does; jumps lead to the same numbers. */
static void make_steps(struct pure *p) {
    const struct pure_text *x = p->x;
    for (size_t i = 0; i < x->ops.n; i++) p->steps[i].target = false;
    for (size_t i = 0; i < x->ops.n; i++) {
        const struct pure_op *op = &x->ops.at[i];
        struct pure_step *s = &p->steps[i];
        bool target = s->target;
        *s = (struct pure_step){.n = op->n, .out = (uint8_t)op->out, .target = target};
        s->op = op;
        switch ((enum pure_op_code)op->code) {
        case PURE_APPLY:
        case PURE_TAIL:
            row_step(p, op, s);
            if (op->n > 0) set_operand(p, x->operands.at[op->at], &s->a, &s->ra);
            if (op->n > 1) set_operand(p, x->operands.at[op->at + 1], &s->b, &s->rb);
            break;
        case PURE_UNLESS: s->code = STEP_UNLESS; break;
        case PURE_JUMP: s->code = STEP_JUMP; break;
        case PURE_MOVE: s->code = STEP_MOVE; break;
        case PURE_RETURN: s->code = STEP_RETURN; break;
        }
        if (op->code == PURE_UNLESS || op->code == PURE_MOVE || op->code == PURE_RETURN)
            set_operand(p, op->of, &s->a, &s->ra);
        if (op->code == PURE_UNLESS || op->code == PURE_JUMP) {
            s->to = op->at;
            p->steps[op->at].target = true;
        }
    }
    join_steps(p);
}

bool pure_link(struct session_core *core, struct world *w, struct pure *p) {
    unlink_names(p);
    memset(p->bound, 0, p->x->names.n * sizeof *p->bound);
    p->linked = w->stamp;
    for (size_t i = 0; i < p->x->names.n; i++) {
        const struct pure_name *k = &p->x->names.at[i];
        struct bound *b = &p->bound[i];
        b->cell = find(core, w, p->closure, k, &b->own);
        bool ok = b->cell && (!k->called || link_callee(b)) && !(k->passed && b->cell->kind);
        if (ok) continue;
        unlink_names(p);
        return false;
    }
    make_steps(p);
    return true;
}

static void add_read(struct pure *root, struct cell *c) {
    for (size_t i = 0; i < root->reads.n; i++)
        if (root->reads.at[i] == c) return;
    vec_push(&root->reads, c);
}

/* Everything that the root leads to: is all of it pure, and does it lead back? */
static bool follow(struct session_core *core, struct world *w, struct pure *root) {
    VEC(struct pure *) waiting = {0};
    uint64_t visit = ++core->stamps;
    bool ok = true;
    root->visit = visit;
    vec_push(&waiting, root);
    while (ok && waiting.n) {
        struct pure *p = vec_pop(&waiting);
        ok = p->linked == w->stamp || pure_link(core, w, p);
        for (size_t i = 0; ok && i < p->x->names.n; i++) {
            struct bound *b = &p->bound[i];
            if (b->cell->kind) add_read(root, b->cell);
            struct pure *next = b->callee ? b->callee->pure : NULL;
            root->recursive |= next == root;
            if (!next || next->visit == visit) continue;
            next->visit = visit;
            vec_push(&waiting, next);
        }
    }
    vec_release(&waiting);
    return ok;
}

/* Marks registers whose values reach a marked one: backwards, until nothing is new. `through`: rows
 * hand on what they are given (a condition depends on it), else procedures alone do. */
static bool mark_back(const struct pure *p, bool *mark, bool through) {
    bool more = false;
    for (size_t i = p->x->ops.n; i-- > 0;) {
        const struct pure_op *op = &p->x->ops.at[i];
        if (op->code == PURE_MOVE && op->of >= 0 && mark[op->out] && !mark[op->of])
            more = mark[op->of] = true;
        if (op->code != PURE_APPLY && op->code != PURE_TAIL) continue;
        const struct closure *callee = p->bound[op->of].callee;
        bool wanted = op->code == PURE_TAIL ? !through : mark[op->out];
        for (uint32_t j = 0; j < op->n; j++) {
            int32_t from = p->x->operands.at[op->at + j];
            if (from < 0 || mark[from]) continue;
            bool same = callee == p->closure && mark[j];
            bool other = callee && callee != p->closure && (through || wanted);
            if ((wanted && through) || (same && (through || wanted)) || other)
                more = mark[from] = true;
        }
    }
    return more;
}

static void judge_arguments(struct pure *p) {
    memset(p->decides, 0, 2 * p->x->n_registers + 2);
    for (size_t i = 0; i < p->x->ops.n; i++) {
        const struct pure_op *op = &p->x->ops.at[i];
        if (op->code == PURE_UNLESS && op->of >= 0) p->decides[op->of] = true;
        if (op->code == PURE_RETURN && op->of >= 0) p->passes[op->of] = true;
    }
    while (mark_back(p, p->decides, true)) {
    }
    while (mark_back(p, p->passes, false)) {
    }
}

struct pure *pure_of(struct session_core *core, struct world *w, struct closure *c) {
    struct pure *p = pure_get(c);
    if (!p) return NULL;
    if (w->stamp <= core->defined) w->stamp = ++core->stamps;
    if (p->judged != w->stamp) {
        p->judged = w->stamp;
        p->recursive = false;
        vec_clear(&p->reads);
        if (!follow(core, w, p)) p->recursive = false;
        if (p->recursive) judge_arguments(p);
    }
    return p->recursive ? p : NULL;
}

bool pure_decides(const struct pure *p, size_t i) {
    return p->decides[i];
}

bool pure_passes(const struct pure *p, size_t i) {
    return p->passes[i];
}

struct cell *const *pure_reads(const struct pure *p, size_t *n) {
    *n = p->reads.n;
    return p->reads.at;
}
