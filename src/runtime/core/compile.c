/* SPDX-License-Identifier: Apache-2.0
 *
 * Compiling procedures of numbers; see compile.h. Code is kept while everything the procedure reads
 * from outside is unchanged. Equal operations are written once. */
#include "runtime/core/compile.h"

#include "runtime/core/plain.h"
#include "language/rows/lib/lift.h"
#include "runtime/core/lookup.h"
#include <string.h>

enum { KEPT = 8, MOST_OPS = 100000 };

/* ---- marks ---- */

struct mark {
    struct box box;
    uint32_t slot;
};

static const struct box_class mark_class = {.name = "number that is not known yet",
                                            .size = sizeof(struct mark)};

static value mark_new(uint32_t slot) {
    struct mark *m = box_new(&mark_class);
    m->slot = slot;
    return value_box(V_BOX, &m->box);
}

bool compile_is_mark(value v) {
    return v.tag == V_BOX && v.u.box->cls == &mark_class;
}

static bool is_mark(value v, void *ctx) {
    return compile_is_mark(v);
}

static bool has_mark(value v) {
    return IS_OBJ(v) && value_any(v, is_mark, NULL);
}

/* ---- code under construction ---- */

/* A value read from outside, with the name that led to it. */
struct outer {
    const struct ast *name;
    struct frame *frame; /* frame of its slot, or of a directive's global; borrowed */
    bool local;
    value v; /* counted */
};

struct compiled {
    struct numeric *f;
    VEC(struct outer) outer;
    struct map known; /* hash of an operation -> 1 + its index */
    uint64_t used;
};

struct compiler {
    struct compiled kept[KEPT];
    struct compiled *now;       /* under construction */
    VEC(struct frame *) around; /* frames that procedures from outside close over */
    uint64_t clock;
};

static uint32_t add_op(struct compiled *k, struct numeric_op op) {
    struct numeric *f = k->f;
    uint64_t hash = hash_bytes(&op, sizeof op, 0);
    size_t seen = (size_t)map_get(&k->known, hash);
    if (seen && !memcmp(&f->ops.at[seen - 1], &op, sizeof op))
        return (uint32_t)(f->n_in + seen - 1);
    vec_push(&f->ops, op);
    map_put(&k->known, hash, (void *)f->ops.n);
    return (uint32_t)(f->n_in + f->ops.n - 1);
}

/* Clears padding bytes, since operations are compared as bytes. */
static struct numeric_op new_op(enum numeric_op_code code) {
    struct numeric_op op;
    memset(&op, 0, sizeof op);
    op.code = (uint16_t)code;
    return op;
}

/* The slot of a number, boolean or mark; false for any other value. */
static bool slot_of(struct compiled *k, value v, uint32_t *slot) {
    if (compile_is_mark(v)) {
        *slot = ((struct mark *)v.u.box)->slot;
        return true;
    }
    struct numeric_op op = new_op(NUMERIC_CONSTANT);
    if ((v.tag != V_NUM && v.tag != V_BOOL) || !value_number(v, &op.u.x)) return false;
    *slot = add_op(k, op);
    return true;
}

static enum gpm_status refuse(struct session_core *core, struct span at, const char *what,
                              const char *why) {
    return diag_raise(core->diags, DIAG_NO_GRADIENT, at, "%s %s", what, why);
}

/* ---- operations ---- */

static enum numeric_op_code code_of(const struct sp_class *cls, size_t n) {
    switch (n == 2 ? cls->code : SP_CODE_NONE) {
    case SP_CODE_ADD: return NUMERIC_ADD;
    case SP_CODE_SUB: return NUMERIC_SUB;
    case SP_CODE_MUL: return NUMERIC_MUL;
    case SP_CODE_DIV: return NUMERIC_DIV;
    default: return NUMERIC_ROW;
    }
}

/* A row on numbers and marks; NIL if it has no such form. Sums and products of many are folded. */
static value emit_row(struct compiled *k, const struct sp_class *cls, const value *args, size_t n) {
    if (n > 2 && cls->variant == LIFT_FOLD && cls->code) {
        value sum = emit_row(k, cls, args, n - 1), two[] = {sum, args[n - 1]};
        value v = sum.tag == V_NIL ? NIL : emit_row(k, cls, two, 2);
        value_unref(sum);
        return v;
    }
    struct numeric_op op = new_op(code_of(cls, n));
    if (n > NUMERIC_ARGS) return NIL;
    for (size_t i = 0; i < n; i++)
        if (!slot_of(k, args[i], &op.args[i])) return NIL;
    op.n_args = (uint16_t)n;
    if (op.code == NUMERIC_ROW) op.u.cls = cls;
    return mark_new(add_op(k, op));
}

static value emit_named(struct compiled *k, const char *name, value a, value b) {
    value args[] = {a, b};
    return emit_row(k, sp_index_find(name), args, 2);
}

/* Elementwise, if some arguments are sequences of one length. */
static value emit_lifted(struct compiled *k, const struct sp_class *cls, const value *args,
                         size_t n) {
    size_t len = SIZE_MAX, m;
    for (size_t i = 0; i < n; i++) {
        if (!seq_length(args[i], &m)) continue;
        if (len != SIZE_MAX && m != len) return NIL;
        len = m;
    }
    if (len == SIZE_MAX) return emit_row(k, cls, args, n);
    if (!(cls->flags & SP_LIFTS)) return NIL;
    value out = value_array_new(len), *items = NEW_ARRAY(value, n + 1);
    bool ok = true;
    for (size_t e = 0; e < len && ok; e++) {
        for (size_t i = 0; i < n; i++)
            if (!seq_get(args[i], e, &items[i])) items[i] = value_ref(args[i]);
        value_set_take(&out.u.array->at[e], emit_lifted(k, cls, items, n));
        ok = out.u.array->at[e].tag != V_NIL;
        for (size_t i = 0; i < n; i++) value_unref(items[i]);
    }
    mem_free(items);
    if (ok) return out;
    value_unref(out);
    return NIL;
}

/* sum(xs), or with ys vector_dot(xs, ys). */
static value emit_sum(struct compiled *k, value xs, const value *ys) {
    value sum = value_num(0), x, y, term;
    size_t n, m;
    if (!seq_length(xs, &n) || (ys && (!seq_length(*ys, &m) || m != n))) return NIL;
    for (size_t i = 0; i < n && seq_get(xs, i, &x); i++) {
        term = x;
        if (ys && seq_get(*ys, i, &y)) {
            term = emit_named(k, "mul", x, y);
            value_unref(x);
            value_unref(y);
        }
        if (i == 0)
            sum = value_ref(term);
        else
            value_set_take(&sum, emit_named(k, "add", sum, term));
        value_unref(term);
    }
    return sum;
}

static value emit_matrix_vector(struct compiled *k, value m, value v) {
    size_t n = m.tag == V_MATRIX ? m.u.matrix->rows : 0;
    if (m.tag != V_MATRIX && !seq_length(m, &n)) return NIL;
    value out = value_array_new(n), row;
    for (size_t i = 0; i < n; i++) {
        if (m.tag == V_MATRIX) {
            row = value_vector_new(m.u.matrix->cols);
            for (size_t j = 0; j < m.u.matrix->cols; j++)
                row.u.vector->at[j] = m.u.matrix->at[i + j * n];
        } else if (!seq_get(m, i, &row))
            row = NIL;
        out.u.array->at[i] = emit_sum(k, row, &v);
        value_unref(row);
        if (out.u.array->at[i].tag != V_NIL) continue;
        value_unref(out);
        return NIL;
    }
    return out;
}

/* A row folded over the elements of one sequence. */
static value emit_fold(struct compiled *k, const struct sp_class *cls, value xs) {
    struct numeric *f = k->f;
    value *items;
    size_t n;
    if (!seq_items(xs, &items, &n)) return NIL;
    struct numeric_op op = new_op(NUMERIC_ROW);
    op.u.cls = cls;
    op.n_args = (uint16_t)n;
    op.args[0] = (uint32_t)f->extra.n;
    bool ok = n > 0 && n <= UINT16_MAX;
    uint32_t *slots = NEW_ARRAY(uint32_t, n + 1);
    for (size_t i = 0; i < n && ok; i++) ok = slot_of(k, items[i], &slots[i]);
    bool few = n <= NUMERIC_ARGS;
    for (size_t i = 0; i < n && ok && few; i++) op.args[i] = slots[i];
    for (size_t i = 0; i < n && ok && !few; i++) vec_push(&f->extra, slots[i]);
    mem_free(slots);
    values_free(items, n);
    return ok ? mark_new(add_op(k, op)) : NIL;
}

static value compile_emit(struct session_core *core, const struct sp_class *cls, const value *args,
                          size_t n) {
    struct compiled *k = core->compiler->now;
    size_t len;
    if (n == 1 && !strcmp(cls->name, "to_vector")) return value_ref(args[0]);
    if (!strcmp(cls->name, "vector")) return value_array(args, n);
    if (n == 1 && !strcmp(cls->name, "sum")) return emit_sum(k, args[0], NULL);
    if (n == 2 && !strcmp(cls->name, "vector_dot")) return emit_sum(k, args[0], &args[1]);
    if (n == 2 && !strcmp(cls->name, "matrix_times_vector"))
        return emit_matrix_vector(k, args[0], args[1]);
    if (n == 1 && (cls->flags & SP_FOLDS) && seq_length(args[0], &len))
        return emit_fold(k, cls, args[0]);
    return cls->num ? emit_lifted(k, cls, args, n) : NIL;
}

/* Builtins that move their arguments and do not make a vector of them; the evaluator runs them. */
static bool moves_values(const struct sp_class *cls) {
    if (cls->request || cls->special == SPECIAL_REF || cls->special == SPECIAL_DEREF) return true;
    return (cls->flags & SP_ARRANGES) && strcmp(cls->name, "vector") &&
           strcmp(cls->name, "to_vector");
}

enum gpm_status compile_apply(struct session_core *core, value proc, const value *args, size_t n,
                              struct span at, value *out, bool *handled) {
    const struct sp_class *cls = proc_class(proc, NULL);
    bool marks = false;
    for (size_t i = 0; i < n; i++) marks |= has_mark(args[i]);
    *handled = true;
    if (!cls || (cls->flags & (SP_RANDOM | SP_MAKER | SP_NO_MODEL_EFFECT)) || sp_made_of(proc)) {
        core->compiler->now->f->random = cls && (cls->flags & SP_RANDOM);
        return refuse(core, at, cls ? cls->name : "a memoized procedure",
                      "is no function of numbers");
    }
    *handled = marks && !moves_values(cls);
    if (!*handled) return GPM_OK;
    if (core->compiler->now->f->ops.n > MOST_OPS)
        return refuse(core, at, "the procedure", "has too many operations");
    *out = compile_emit(core, cls, args, n);
    return out->tag == V_NIL ? refuse(core, at, cls->name, "cannot be compiled here") : GPM_OK;
}

static value select_of(struct compiled *k, uint32_t condition, value yes, value no) {
    struct numeric_op op = new_op(NUMERIC_SELECT);
    size_t n, m;
    if (slot_of(k, yes, &op.args[1]) && slot_of(k, no, &op.args[2])) {
        if (op.args[1] == op.args[2]) return value_ref(yes);
        op.args[0] = condition;
        op.n_args = 3;
        return mark_new(add_op(k, op));
    }
    if (!seq_length(yes, &n) || !seq_length(no, &m) || n != m || !n) return NIL;
    value *items = NEW_ARRAY(value, n), a, b;
    bool ok = true;
    for (size_t i = 0; i < n && seq_get(yes, i, &a) && seq_get(no, i, &b); i++) {
        items[i] = select_of(k, condition, a, b);
        ok &= items[i].tag != V_NIL;
        value_unref(a);
        value_unref(b);
    }
    value out = seq_like_take(yes.tag == V_PAIR ? yes : (value){.tag = V_ARRAY}, items, n);
    mem_free(items);
    if (ok) return out;
    value_unref(out);
    return NIL;
}

enum gpm_status compile_select(struct session_core *core, value condition, value yes, value no,
                               struct span at, value *out) {
    *out = select_of(core->compiler->now, ((struct mark *)condition.u.box)->slot, yes, no);
    return out->tag == V_NIL ? refuse(core, at, "the two branches", "differ in shape") : GPM_OK;
}

/* ---- values read from outside ---- */

static void look_around(struct compiler *c, value proc) {
    struct closure *clo = closure_of(proc);
    for (struct frame *f = clo ? clo->env : NULL; f; f = f->parent) vec_push(&c->around, f);
}

void compile_read(struct session_core *core, const struct ast *name, const struct name_found *x) {
    struct compiler *c = core->compiler;
    bool local = x->slot, outside = !local;
    if (name->u.name.builtin) return;
    for (size_t i = 0; local && i < c->around.n; i++) outside |= c->around.at[i] == x->from;
    if (!outside || has_mark(*x->v)) return;
    vec_push(&c->now->outer, ((struct outer){name, x->from, local, value_ref(*x->v)}));
    look_around(c, *x->v);
}

static bool same_value(value a, value b) {
    if (a.tag != b.tag) return false;
    if (a.tag == V_NUM || a.tag == V_ATOM) return same_number(a.u.num, b.u.num);
    return a.tag == V_BOOL ? a.u.boolean == b.u.boolean : a.tag == V_NIL || a.u.obj == b.u.obj;
}

/* Do all names that were read still have the same values? The procedure itself is kept, and thereby
 * the frames it closes over. */
static bool is_current(struct session_core *core, const struct compiled *k) {
    struct cell *cell;
    if (core->nest) return false; /* enclosing models must be read again (nest.h) */
    for (size_t i = 0; i < k->outer.n; i++) {
        const struct outer *o = &k->outer.at[i];
        const value *v = o->local ? NULL : core_global(core, core->model, o->name, o->frame, &cell);
        value now = o->local ? slot_value(&o->frame->s[o->name->u.name.slot]) : v ? *v : ABSENT;
        if (!same_value(now, o->v)) return false;
    }
    return true;
}

/* ---- creating and caching ---- */

static bool same_shape(value a, value b) {
    size_t n = 0, m = 0;
    bool one = seq_length(a, &n), other = seq_length(b, &m);
    if (a.tag == V_MATRIX || b.tag == V_MATRIX)
        return a.tag == b.tag && a.u.matrix->rows == b.u.matrix->rows &&
               a.u.matrix->cols == b.u.matrix->cols;
    if (one != other || n != m) return false;
    if (!one || (a.tag == V_VECTOR && b.tag == V_VECTOR)) return true;
    struct seq_walk w = {a, 0}, u = {b, 0};
    for (value x, y; seq_next(&w, &x) && seq_next(&u, &y);)
        if (!same_shape(x, y)) return false;
    return true;
}

static bool is_for(const struct compiled *k, value proc, const value *like, size_t n,
                   size_t n_out) {
    const struct numeric *f = k->f;
    const struct closure *a = f ? closure_of(f->proc) : NULL, *b = closure_of(proc);
    if (!f || f->n_args != n || f->n_out != n_out) return false;
    if (!(a && b && a->lambda == b->lambda && a->env == b->env) && f->proc.u.box != proc.u.box)
        return false;
    for (size_t i = 0; i < n; i++)
        if (!same_shape(f->like[i], like[i])) return false;
    return true;
}

static void compiled_clear(struct compiled *k) {
    numeric_unref(k->f);
    for (size_t i = 0; i < k->outer.n; i++) value_unref(k->outer.at[i].v);
    vec_release(&k->outer);
    map_release(&k->known);
    memset(k, 0, sizeof *k);
}

void compile_release(struct session_core *core) {
    for (size_t i = 0; core->compiler && i < KEPT; i++) compiled_clear(&core->compiler->kept[i]);
    mem_free(core->compiler);
    core->compiler = NULL;
}

/* Marks in the shape of an argument; its numbers become the next inputs. */
static value marked(value like, uint32_t *next) {
    size_t n = 0, i = 0;
    if (like.tag == V_MATRIX) {
        value rows = value_array_new(like.u.matrix->rows);
        for (; i < like.u.matrix->rows; i++) {
            value row = value_array_new(like.u.matrix->cols);
            for (size_t j = 0; j < like.u.matrix->cols; j++)
                row.u.array->at[j] = mark_new((*next)++);
            rows.u.array->at[i] = row;
        }
        return rows;
    }
    if (!seq_length(like, &n)) return mark_new((*next)++);
    value *items = NEW_ARRAY(value, n ? n : 1), item;
    for (; i < n && seq_get(like, i, &item); i++) {
        items[i] = marked(item, next);
        value_unref(item);
    }
    value v = seq_like_take(like.tag == V_VECTOR ? (value){.tag = V_ARRAY} : like, items, n);
    mem_free(items);
    return v;
}

/* Slots of the results; false unless there are n_out numbers. */
static bool collect(struct compiled *k, value v, size_t *n) {
    value item;
    size_t m;
    if (!seq_length(v, &m)) return *n < k->f->n_out && slot_of(k, v, &k->f->out[(*n)++]);
    for (size_t i = 0; i < m; i++) {
        if (!seq_get(v, i, &item)) return false;
        bool ok = collect(k, item, n);
        value_unref(item);
        if (!ok) return false;
    }
    return true;
}

static void compile_finish(struct numeric *f) {
    size_t n = f->n_in + f->ops.n;
    f->v = mem_zalloc(2 * (n + 1) * sizeof *f->v);
    f->adj = f->v + n;
    for (size_t i = 0; i < f->ops.n; i++)
        if (f->ops.at[i].code == NUMERIC_CONSTANT) f->v[f->n_in + i] = f->ops.at[i].u.x;
}

/* Runs the procedure on marks. An error is stored as the reason why no code exists. */
static void write_code(struct session_core *core, struct compiled *k) {
    struct numeric *f = k->f;
    size_t n_diags = core->diags->list.n, n = 0;
    uint32_t next = 0;
    value *args = NEW_ARRAY(value, f->n_args + 1), result = NIL;
    for (size_t i = 0; i < f->n_args; i++) args[i] = marked(f->like[i], &next);
    f->out = NEW_ARRAY(uint32_t, f->n_out + 1);
    core->compiler->around.n = 0;
    core->compiler->now = k;
    core->compiling = true;
    look_around(core->compiler, f->proc);
    enum gpm_status st = plain_apply(core, f->proc, args, f->n_args, NO_SPAN, &result);
    core->compiling = false;
    core->compiler->now = NULL;
    if (st == GPM_OK && (!collect(k, result, &n) || n != f->n_out))
        st = diag_raise(core->diags, DIAG_SHAPE, NO_SPAN, "it does not give %zu number%s", f->n_out,
                        f->n_out == 1 ? "" : "s");
    if (st != GPM_OK) {
        f->why = mem_strdup(core->diags->list.n ? vec_last(&core->diags->list)->message : "");
        diags_rewind(core->diags, n_diags);
        mem_free(f->out);
        f->out = NULL;
    } else
        compile_finish(f);
    map_release(&k->known);
    vec_release(&core->compiler->around);
    values_free(args, f->n_args);
    value_unref(result);
}

static struct compiled *place_for(struct compiler *c) {
    struct compiled *k = &c->kept[0];
    for (size_t i = 1; i < KEPT; i++)
        if (c->kept[i].used < k->used) k = &c->kept[i];
    compiled_clear(k);
    return k;
}

static void compiled_new(struct session_core *core, struct compiled *k, value proc,
                         const value *like, size_t n, size_t n_out) {
    struct numeric *f = k->f = NEW(struct numeric);
    *f = (struct numeric){.refs = 1, .n_args = n, .n_out = n_out, .proc = value_ref(proc)};
    f->like = NEW_ARRAY(value, n + 1);
    for (size_t i = 0; i < n; i++) {
        f->like[i] = value_ref(like[i]);
        numeric_flatten(like[i], NULL, &f->n_in);
    }
    write_code(core, k);
}

enum gpm_status compile_numeric(struct sp_host *h, value proc, const value *like, size_t n,
                                size_t n_out, struct numeric **out) {
    struct session_core *core = core_of_host(h);
    if (!core->compiler) core->compiler = NEW(struct compiler);
    struct compiler *c = core->compiler;
    struct compiled *k = NULL;
    if (core->compiling)
        return diag_raise(core->diags, DIAG_NO_GRADIENT, NO_SPAN, "one procedure inside another");
    for (size_t i = 0; i < KEPT && !k; i++)
        if (is_for(&c->kept[i], proc, like, n, n_out) && is_current(core, &c->kept[i]))
            k = &c->kept[i];
    if (!k) {
        k = place_for(c);
        compiled_new(core, k, proc, like, n, n_out);
    }
    k->used = ++c->clock;
    k->f->refs++;
    *out = k->f;
    return core_poll(core, NO_SPAN);
}
