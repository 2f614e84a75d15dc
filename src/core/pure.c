/* SPDX-License-Identifier: Apache-2.0
 *
 * Linking and running pure procedures; see pure.h. */
#include "core/pure.h"

#include "core/plain.h"
#include <math.h>
#include <string.h>

/* What one name stands for. */
struct bound {
    struct cell *cell;          /* with its value: of a literal, a builtin, a slot, a node */
    struct cell own;            /* of a definition of the program, which has none; counted */
    struct closure *callee;     /* called: a compound procedure, borrowed, */
    const struct sp_class *cls; /* or a row, */
    uint32_t fewest, most;      /* which takes so many arguments of any kind; most 0: it is asked */
    uint8_t code;               /* of the row, where that may be all one needs to know */
};
struct pure {
    struct closure *closure; /* that it belongs to */
    const struct pure_text *x;
    struct bound *bound; /* by name */
    uint64_t linked;     /* state of the names when it was linked; 0: it was not */
    uint64_t judged;     /* the same, of the rest */
    bool recursive;      /* it is pure and calls itself, directly or by way of others */
    uint64_t visit;
    bool *decides, *passes; /* by register */
    VEC(struct cell *) reads;
};

static void unlink_names(struct pure *p) {
    for (size_t i = 0; p->linked && i < p->x->names.n; i++) value_unref(p->bound[i].own.val);
    p->linked = 0;
}

void pure_free(struct pure *p) {
    if (!p) return;
    unlink_names(p);
    mem_free(p->bound);
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
    bool global = a->u.name.depth < 0 || a->u.name.builtin ||
                  (a->u.name.global_first && world_find(w, a->u.name.sym));
    if (!global) {
        s = &frame_up(c->env, a->u.name.depth - k->inner)->s[a->u.name.slot];
        return s->unset ? NULL : slot_cell(s);
    }
    const value *v = core_global(core, w, a, &cell);
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

static bool link_names(struct session_core *core, struct world *w, struct pure *p) {
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
        ok = p->linked == w->stamp || link_names(core, w, p);
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

/* ---- running ------------------------------------------------------------------------------ */

struct machine {
    struct session_core *core;
    struct world *w;
    bool remember; /* values follow from arguments alone */
};

static inline const value *operand(const value *reg, const struct bound *bound, int32_t i) {
    return i >= 0 ? &reg[i] : &bound[~i].cell->val;
}

static bool same_text(const struct str_obj *a, const struct str_obj *b) {
    return a == b || (a->len == b->len && !memcmp(a->text, b->text, a->len));
}

/* Element i of a list that has so many; NULL: it may be something else. */
static inline const value *list_item(const value *list, double i) {
    for (; list->tag == V_PAIR && i >= 1; i--) list = &list->u.pair->rest;
    return list->tag == V_PAIR && i == 0 ? &list->u.pair->first : NULL;
}

/* What most code does most of the time, by heart; false: by the row. */
static inline bool by_heart(const struct bound *f, const value *a, const value *b, value *out) {
    bool numbers = b && a->tag == V_NUM && b->tag == V_NUM;
    const value *item;
    double z;
    switch ((enum sp_code)f->code) {
    case SP_CODE_ADD: z = numbers ? a->u.num + b->u.num : NAN; break;
    case SP_CODE_SUB: z = numbers ? a->u.num - b->u.num : NAN; break;
    case SP_CODE_MUL: z = numbers ? a->u.num * b->u.num : NAN; break;
    case SP_CODE_ITEM:
    case SP_CODE_LOOKUP:
        item = !b ? list_item(a, f->cls->variant) : b->tag == V_NUM ? list_item(a, b->u.num) : NULL;
        if (item) *out = value_ref(*item);
        return item;
    case SP_CODE_EQUAL:
        if (!numbers && (!b || a->tag != V_STR || b->tag != V_STR)) return false;
        *out = value_bool((numbers ? a->u.num == b->u.num : same_text(a->u.str, b->u.str)) ==
                          f->cls->variant);
        return true;
    default: return false;
    }
    *out = value_num(z);
    return z == z;
}

static enum gpm_status apply_row(struct machine *m, const struct pure_op *op, const struct bound *b,
                                 const value *args, value *out) {
    struct sp_call c = {
        .cls = b->cls, .args = args, .n = op->n, .diags = m->core->diags, .host = &m->core->host};
    enum gpm_status st = GPM_OK;
    if (op->n < b->fewest || op->n > b->most)
        st = core_check_call(m->core, &c, b->cell->val, args, op->n, op->by->span);
    if (st == GPM_OK) st = b->cls->simulate(&c, out);
    return st == GPM_OK ? st : core_place(m->core, st, op->by->span);
}

static enum gpm_status run(struct machine *m, struct pure *p, const value *args, value *out);

/* Values of calls that were made lately, by the identity of their arguments: where one part of a
 * structure has changed, the others need not be evaluated again. Entries hold what they name, so
 * nothing else can have its address. */
enum { MEMO_SIZE = 4096, MEMO_ARGS = 3, MEMO_ITEMS = 64 };
struct pure_memo {
    struct memo_line {
        struct closure *of; /* counted; NULL: empty */
        uint64_t stamp;     /* of the names that it was linked to */
        value args[MEMO_ARGS], val;
    } line[MEMO_SIZE];
};

/* Lists and small arrays are what structures are made of; what else has parts is not kept here. */
static bool is_remembered(const value *args, size_t n) {
    bool parts = false;
    for (size_t i = 0; i < n; i++) {
        uint32_t tag = args[i].tag;
        if (tag == V_PAIR || (tag == V_ARRAY && args[i].u.array->n <= MEMO_ITEMS))
            parts = true;
        else if (tag > V_STR)
            return false;
    }
    return parts && n <= MEMO_ARGS;
}

static inline uint64_t bits(value v) {
    uint64_t b;
    memcpy(&b, &v.u, sizeof b);
    return v.tag == V_BOOL ? v.u.boolean : v.tag == V_NIL ? 0 : b;
}

static struct memo_line *memo_line(struct pure_memo *k, const struct closure *f, const value *args,
                                   size_t n) {
    uint64_t h = (uint64_t)(uintptr_t)f;
    for (size_t i = 0; i < n; i++) h = (h ^ bits(args[i])) * 0x9e3779b97f4a7c15u;
    return &k->line[h >> 52];
}

static bool same_call(const struct memo_line *l, const struct closure *f, uint64_t stamp,
                      const value *args, size_t n) {
    bool same = l->of == f && l->stamp == stamp;
    for (size_t i = 0; same && i < n; i++)
        same = l->args[i].tag == args[i].tag && bits(l->args[i]) == bits(args[i]);
    return same;
}

static void memo_clear(struct memo_line *l) {
    struct memo_line was = *l;
    l->of = NULL;
    if (!was.of) return;
    for (size_t i = 0; i < MEMO_ARGS; i++) value_unref(was.args[i]);
    value_unref(was.val);
    value_unref(value_box(V_PROC, &was.of->box));
}

static void memo_keep(struct memo_line *l, struct closure *f, uint64_t stamp, const value *args,
                      size_t n, value v) {
    memo_clear(l);
    l->of = f;
    value_ref(value_box(V_PROC, &f->box));
    l->stamp = stamp;
    for (size_t i = 0; i < MEMO_ARGS; i++) l->args[i] = i < n ? value_ref(args[i]) : NIL;
    l->val = value_ref(v);
}

void pure_forget(struct session_core *core) {
    struct pure_memo *k = core->remembered;
    core->remembered = NULL;
    for (size_t i = 0; k && i < MEMO_SIZE; i++) memo_clear(&k->line[i]);
    mem_free(k);
}

/* A call whose value is wanted for more than to be the caller's own. */
static enum gpm_status call(struct machine *m, struct pure *p, const value *args, size_t n,
                            value *out) {
    if (!m->remember || !is_remembered(args, n)) return run(m, p, args, out);
    if (!m->core->remembered) m->core->remembered = NEW(struct pure_memo);
    struct memo_line *l = memo_line(m->core->remembered, p->closure, args, n);
    if (same_call(l, p->closure, m->w->stamp, args, n)) {
        *out = value_ref(l->val);
        return GPM_OK;
    }
    enum gpm_status st = run(m, p, args, out);
    if (st == GPM_OK) memo_keep(l, p->closure, m->w->stamp, args, n, *out);
    return st;
}

/* The code of what is called, linked to this model's names. */
static enum gpm_status ready(struct machine *m, const struct closure *callee, size_t n,
                             struct span at, struct pure **p) {
    *p = callee->pure;
    if (n != callee->lambda->u.lambda.n_params)
        return core_wrong_arity(m->core, callee->lambda, n, at);
    if ((*p)->linked != m->w->stamp && !link_names(m->core, m->w, *p))
        return core_not_procedure(m->core, NIL, at);
    return core_poll(m->core, at);
}

enum { SMALL = 8, FEW = 16 };

static enum gpm_status apply(struct machine *m, const struct pure *p, const struct pure_op *op,
                             const value *reg, value *out) {
    const struct bound *b = &p->bound[op->of];
    const int32_t *from = &p->x->operands.at[op->at];
    value small[SMALL], *args = op->n <= SMALL ? small : NEW_ARRAY(value, op->n);
    struct pure *callee;
    enum gpm_status st = GPM_OK;
    for (uint32_t i = 0; i < op->n; i++) args[i] = *operand(reg, p->bound, from[i]);
    if (b->cls)
        st = apply_row(m, op, b, args, out);
    else {
        st = ready(m, b->callee, op->n, op->by->span, &callee);
        if (st == GPM_OK) st = call(m, callee, args, op->n, out);
        if (st != GPM_OK) core_tell_call(m->core, op->by->span, b->callee->lambda->u.lambda.self);
    }
    if (args != small) mem_free(args);
    return st;
}

static inline bool apply_by_heart(const struct pure *p, const struct pure_op *op, const value *reg,
                                  value *out) {
    const int32_t *from = &p->x->operands.at[op->at];
    const struct bound *f = &p->bound[op->of];
    return f->code && (op->n == 1 || op->n == 2) &&
           by_heart(f, operand(reg, p->bound, from[0]),
                    op->n == 2 ? operand(reg, p->bound, from[1]) : NULL, out);
}

/* Runs until the procedure has its value, or calls another in its place: *tail. */
static enum gpm_status steps(struct machine *m, const struct pure *p, value *reg,
                             const struct pure_op **tail, value *out) {
    const struct pure_op *op = p->x->ops.at;
    for (;; op++) {
        enum gpm_status st = GPM_OK;
        value v;
        bool truth = false;
        switch ((enum pure_op_code)op->code) {
        case PURE_APPLY:
            if (!apply_by_heart(p, op, reg, &v)) st = apply(m, p, op, reg, &v);
            if (st == GPM_OK) value_set_take(&reg[op->out], v);
            break;
        case PURE_TAIL:
            if (apply_by_heart(p, op, reg, out)) return GPM_OK;
            if (p->bound[op->of].cls) return apply(m, p, op, reg, out);
            *tail = op;
            return GPM_OK;
        case PURE_UNLESS: {
            const value *c = operand(reg, p->bound, op->of);
            if (c->tag == V_BOOL)
                truth = c->u.boolean;
            else
                st = core_truth(m->core, *c, op->by->span, &truth);
            if (!truth) op = &p->x->ops.at[op->at - 1];
            break;
        }
        case PURE_JUMP: op = &p->x->ops.at[op->at - 1]; break;
        case PURE_MOVE:
            value_set_take(&reg[op->out], value_ref(*operand(reg, p->bound, op->of)));
            break;
        case PURE_RETURN: *out = value_ref(*operand(reg, p->bound, op->of)); return GPM_OK;
        }
        if (st != GPM_OK) return st;
    }
}

/* Registers of a call, empty but for the arguments, which the caller puts in. */
static value *open_registers(const struct pure *p, value *few) {
    uint32_t n = p->x->n_registers;
    value *reg = n <= FEW ? few : NEW_ARRAY(value, n);
    for (uint32_t i = p->closure->lambda->u.lambda.n_params; i < n; i++) reg[i] = NIL;
    return reg;
}

static void close_registers(const struct pure *p, value *reg, const value *few) {
    for (uint32_t i = 0; i < p->x->n_registers; i++) value_unref(reg[i]);
    if (reg != few) mem_free(reg);
}

/* A call that is the end of a procedure takes its place: loops need no stack. */
static enum gpm_status run(struct machine *m, struct pure *p, const value *args, value *out) {
    value few[2][FEW], *reg = open_registers(p, few[0]);
    struct tail_calls calls;
    int bank = 0;
    enum gpm_status st;
    calls.n = 0;
    for (uint32_t i = 0; i < p->closure->lambda->u.lambda.n_params; i++)
        reg[i] = value_ref(args[i]);
    for (;;) {
        const struct pure_op *tail = NULL;
        struct pure *next;
        st = steps(m, p, reg, &tail, out);
        if (st != GPM_OK || !tail) break;
        const struct closure *callee = p->bound[tail->of].callee;
        tail_call(&calls, tail->by->span, callee->lambda->u.lambda.self);
        st = ready(m, callee, tail->n, tail->by->span, &next);
        if (st != GPM_OK) break;
        const int32_t *from = &p->x->operands.at[tail->at];
        value *fresh = open_registers(next, few[!bank]);
        for (uint32_t i = 0; i < tail->n; i++)
            fresh[i] = value_ref(*operand(reg, p->bound, from[i]));
        close_registers(p, reg, few[bank]);
        p = next;
        reg = fresh;
        bank = !bank;
    }
    close_registers(p, reg, few[bank]);
    if (st != GPM_OK) tail_calls_tell(m->core, &calls);
    return st;
}

enum gpm_status pure_call(struct session_core *core, struct world *w, struct pure *p,
                          const value *args, struct span at, value *out) {
    struct machine m = {core, w, .remember = !p->reads.n};
    enum gpm_status st = core_poll(core, at);
    if (st == GPM_OK)
        st = run(&m, p, args, out); /* it was asked for because something has changed */
    if (st != GPM_OK) core_tell_call(core, at, p->closure->lambda->u.lambda.self);
    return st;
}
