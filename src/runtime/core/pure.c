/* SPDX-License-Identifier: Apache-2.0
 *
 * Which procedures are pure; see pure.h. */
#include "runtime/core/pure.h"

#include "runtime/core/machine.h"
#include "runtime/core/plain.h"

#include <string.h>

/* What one name stands for. */
struct bound {
    struct cell *cell;      /* with its value: of a literal, a builtin, a slot, a node */
    struct cell own;        /* of a definition of the program, which has none; counted */
    struct closure *callee; /* called: a compound procedure, borrowed; NULL: a row */
};
struct pure {
    struct closure *closure; /* that it belongs to */
    const struct machine_text *x;
    struct bound *bound; /* by name */
    uint64_t found;      /* state of the names when they were looked up; 0: they were not */
    uint64_t judged;     /* the same, of the rest */
    bool recursive;      /* it is pure and calls itself, directly or by way of others */
    uint64_t visit;
    bool *decides, *passes; /* by register */
    VEC(struct cell *) reads;
};

static void forget_names(struct pure *p) {
    for (size_t i = 0; p->found && i < p->x->names.n; i++) value_unref(p->bound[i].own.val);
    memset(p->bound, 0, p->x->names.n * sizeof *p->bound);
    p->found = 0;
}

void pure_free(struct pure *p) {
    if (!p) return;
    forget_names(p);
    mem_free(p->bound);
    mem_free(p->decides);
    vec_release(&p->reads);
    mem_free(p);
}

/* NULL: not pure by its text. */
static struct pure *pure_get(struct session_core *core, struct closure *c) {
    const struct machine_text *x = machine_text_of(core, c->lambda);
    if (!x->plain) return NULL;
    if (!c->pure) {
        struct pure *p = c->pure = NEW(struct pure);
        p->closure = c;
        p->x = x;
        p->bound = NEW_ARRAY(struct bound, x->names.n + 1);
        p->decides = NEW_ARRAY(bool, 2 * x->n_registers + 2);
        p->passes = p->decides + x->n_registers + 1;
    }
    return c->pure;
}

/* As the tracing evaluator finds it (eval_name, eval_unquote); NULL: it would not, or not a
 * constant of it. */
static struct cell *find(struct session_core *core, struct world *w, struct closure *c,
                         const struct machine_name *k, struct cell *own) {
    const struct ast *a = k->a;
    struct name_found x;
    if (a->kind == AST_UNQUOTE) {
        struct slot *s = &frame_up(c->env, a->u.unquote.depth - k->inner)->s[a->u.unquote.slot];
        bool code = s->v.tag == V_SYM || (s->v.tag == V_ARRAY && (s->v.u.obj->flags & OBJ_CODE));
        return code && !a->u.unquote.constant ? NULL : slot_cell(s);
    }
    if (a->kind != AST_NAME) return core_literal(core, a);
    if (core_find(core, w, a, c->env, k->inner, &x) != GPM_OK || !x.v) return NULL;
    if (x.slot) return x.slot->unset ? NULL : slot_cell(x.slot);
    if (x.cell) return x.cell;
    own->val = value_ref(*x.v);
    return own;
}

static bool find_callee(struct session_core *core, struct bound *b) {
    value f = b->cell->val;
    b->callee = closure_of(f);
    if (b->cell->kind) return false; /* another procedure may stand there tomorrow */
    if (b->callee) return pure_get(core, b->callee);
    return machine_is_plain_row(proc_class(f, NULL)) && !sp_made_of(f);
}

static bool find_names(struct session_core *core, struct world *w, struct pure *p) {
    forget_names(p);
    p->found = w->stamp;
    for (size_t i = 0; i < p->x->names.n; i++) {
        const struct machine_name *k = &p->x->names.at[i];
        struct bound *b = &p->bound[i];
        b->cell = find(core, w, p->closure, k, &b->own);
        bool ok = b->cell && (!k->called || find_callee(core, b)) && !(k->passed && b->cell->kind);
        if (ok) continue;
        forget_names(p);
        return false;
    }
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
        ok = p->found == w->stamp || find_names(core, w, p);
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
        const struct machine_op *op = &p->x->ops.at[i];
        if (op->code == CODE_MOVE && op->of >= 0 && mark[op->out] && !mark[op->of])
            more = mark[op->of] = true;
        if (op->code != CODE_APPLY && op->code != CODE_TAIL) continue;
        const struct closure *callee = p->bound[machine_name_of(p->x, op->of)].callee;
        bool wanted = op->code == CODE_TAIL ? !through : mark[op->out];
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
        const struct machine_op *op = &p->x->ops.at[i];
        if (op->code == CODE_UNLESS && op->of >= 0) p->decides[op->of] = true;
        bool called = op->by->kind == AST_CALL; /* what a call at the end gives */
        if (op->code == CODE_RETURN && op->of >= 0 && !called) p->passes[op->of] = true;
    }
    while (mark_back(p, p->decides, true)) {
    }
    while (mark_back(p, p->passes, false)) {
    }
}

struct pure *pure_of(struct session_core *core, struct world *w, struct closure *c) {
    struct pure *p = pure_get(core, c);
    if (!p) return NULL;
    if (p->judged != machine_stamp(core, w)) {
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
