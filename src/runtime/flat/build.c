/* SPDX-License-Identifier: Apache-2.0
 *
 * From a scaffold to a flat. The scaffold is already the unrolled program: entries in evaluation
 * order. Each entry becomes a name for existing numbers, or an operation. Operands are found by
 * looking through nodes that only pass a value on. A reference outside the scaffold becomes an
 * input, or a constant of the form (draft.h).
 *
 * The forms a row offers decide its speed. The order of preference is a name (SP_ARRANGES), an
 * operation on numbers, on columns (SP_LIFTS, SP_FOLDS), on blocks; any other row runs on
 * values. */
#include "runtime/flat/draft.h"

/* Does nothing but values change in this scaffold? */

/* A tag whose scope or block changes would have to register again. */
static bool tag_is_static(struct scaffold *s, struct node *n) {
    for (uint32_t i = 0; n->kind == NODE_TAG && i + 1 < n->n_in; i++)
        if (entry_of(s, n->in[i].node)) return false;
    return true;
}

/* The procedures among its operands must close over nothing that changes or that a flat ahead of
 * the trace holds. Then the same procedures compute the same. A changing operand is never a
 * procedure, since values keep their type (flat_run.c). */
static bool closes_over_nothing(struct scaffold *s, const struct node *n) {
    if (n->req && n->req->n_fam) return false;
    for (uint32_t i = 0; n->req && i < n->req->n_xin; i++)
        if (entry_of(s, n->req->xin[i].node) || copy_source(n->req->xin[i].node)) return false;
    for (uint32_t i = 1; i < n->n_in; i++)
        if (n->in[i].node->val.tag == V_PROC && entry_of(s, n->in[i].node)) return false;
    return true;
}

/* Requests stay and only the output changes, and the output merely arranges their results. */
static bool only_arranges(const struct entry *e) {
    const struct sp_class *cls = node_class(e->n);
    return cls && cls->request && cls->output && (cls->flags & SP_ARRANGES) && !e->requests &&
           (!e->n->special || e->n->special == SPECIAL_MAP) && e->n->req && e->n->req->n_fam;
}

static bool is_static_row(struct scaffold *s, const struct entry *e) {
    const struct sp_class *cls = node_class(e->n);
    if (only_arranges(e)) return true;
    return cls && cls->simulate && !cls->request && !cls->incorporate && !e->n->special &&
           !(cls->flags & (SP_RANDOM | SP_MAKER | SP_NO_MODEL_EFFECT)) &&
           closes_over_nothing(s, e->n);
}

/* Left to a scaffold: a procedure that may change, applications counted in statistics (their
 * densities depend on each other), observed expressions that may end elsewhere, random makers, new
 * requests. */
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

/* No brush, and every entry is in the order: no node is made or removed. */
static bool is_static(struct scaffold *s) {
    if (s->has_brush) return false;
    scaffold_order(s);
    if (s->order.n != s->e.n) return false;
    for (size_t i = 0; i < s->e.n; i++)
        if (!entry_is_static(s, &s->e.at[i]) || s->e.at[i].n->n_in > UINT16_MAX) return false;
    return true;
}

/* Does the choice lead to a branch it selects, or to a call held as one node? Then its scaffold
 * cannot be compiled, and building one is unnecessary. If a few nodes do not decide, the scaffold
 * is built. */
bool flat_is_hopeless(const struct node *n) {
    enum { FAR = 64, MANY = 16 };
    const struct node *waiting[MANY] = {n};
    size_t more = 1;
    for (size_t seen = 0; more && seen < FAR; seen++) {
        n = waiting[--more];
        for (uint32_t i = 0; i < n->n_out && i < MANY; i++) {
            const struct node *c = n->out[i].child;
            if (maps_over(c, n->out[i].slot)) continue;
            if (c->special == SPECIAL_PURE || (c->kind == NODE_IF && n->out[i].slot == 0))
                return true;
            if (more < MANY && !(c->flags & NODE_RANDOM)) waiting[more++] = c;
        }
    }
    return false;
}

/* Steps. */

static bool is_computed(const struct entry *e) {
    return e->role == ROLE_D && e->principal < 0 && !copy_source(e->n);
}

static void set_place(struct draft *d, struct sketched *p, struct node *n, value sketch_taken) {
    p->sketch = sketch_taken;
    p->known = true;
    p->word = REF(CHANGING, d->nodes.n);
    vec_push(&d->nodes, n);
    vec_push(&d->node_sketch, value_ref(sketch_taken));
}

/* The principals' numbers come first, in the given order. */
static void add_principals(struct draft *d) {
    struct scaffold *s = d->s;
    bool numbers = true;
    for (size_t i = 0; i < s->principals.n; i++) {
        struct sketched *p = &d->of[s->principals.at[i]->mark - 1];
        value v = s->principals.at[i]->val;
        set_place(d, p, s->principals.at[i], sketch_fresh(d, CHANGING, v));
        p->alone = true;
        numbers &= sketch_is_numeric(p->sketch);
    }
    d->head.n_principals = (uint32_t)s->principals.n;
    d->head.n_x = numbers ? d->head.n_changing : 0;
}

/* An application under construction, with its operands' sketches (borrowed). */
struct apply {
    struct node *n;
    const struct sp_class *cls;
    uint32_t n_args;
    value *args;
    bool alone;
};

static struct apply apply_of(struct draft *d, struct node *n) {
    struct apply a = {.n = n, .cls = node_class(n), .n_args = n->n_in - 1, .alone = true};
    a.args = NEW_ARRAY(value, a.n_args + 1);
    for (uint32_t i = 0; i < a.n_args; i++) a.args[i] = sketch_of(d, n->in[i + 1].node, &a.alone);
    return a;
}

/* Do the row's numeric densities accept this many arguments? */
static bool is_numeric(const struct apply *a) {
    return !a->cls->num_args || a->n_args <= a->cls->num_args;
}

static bool all_scalars(const struct apply *a) {
    if (a->n_args > FLAT_ARGS) return false;
    for (uint32_t i = 0; i < a->n_args; i++)
        if (!is_scalar(a->args[i])) return false;
    return true;
}

/* The arithmetic that a row performs on two operands; SP_CODE_NONE: its numeric form is called. A
 * square becomes a product whose second operand is the first. */
static enum sp_code arithmetic_of(const struct draft *d, const struct sp_class *cls, uint32_t *args,
                                  size_t n) {
    if (n != 2) return SP_CODE_NONE;
    if (cls->code >= SP_CODE_ADD && cls->code <= SP_CODE_DIV) return cls->code;
    bool square = cls->code == SP_CODE_POW && !(args[1] & COLUMN) &&
                  ref_region(args[1]) == CONSTANT && d->constants.at[ref_index(args[1])] == 2;
    if (square) args[1] = args[0];
    return square ? SP_CODE_MUL : SP_CODE_NONE;
}

static value scalar_sketch(uint32_t ref) {
    return value_num(token_new(TOKEN_NUM, ref));
}

/* One number computed from single numbers. */
static value scalar_step(struct draft *d, const struct sp_class *cls, const uint32_t *refs,
                         size_t n) {
    static const uint8_t codes[] = {[SP_CODE_NONE] = FLAT_NUM,
                                    [SP_CODE_ADD] = FLAT_ADD,
                                    [SP_CODE_SUB] = FLAT_SUB,
                                    [SP_CODE_MUL] = FLAT_MUL,
                                    [SP_CODE_DIV] = FLAT_DIV};
    struct flat_op op = {.n_args = (uint16_t)n};
    for (size_t i = 0; i < n; i++) op.args[i] = refs[i];
    op.code = codes[arithmetic_of(d, cls, op.args, n)];
    op.cls = op.code == FLAT_NUM ? cls : NULL; /* equal arithmetic of different rows is one step */
    return scalar_sketch(draft_step(d, op, 1));
}

/* Columns up to this length are split into single numbers, which need not be adjacent. */
enum { SHORT = 6 };

/* The operands as slots: *len numbers each, or a single number for all. */
struct operands {
    uint32_t *refs[FLAT_ARGS];
    bool one[FLAT_ARGS];
    size_t n, len;
};

static void operands_release(struct operands *o) {
    for (size_t i = 0; i < o->n; i++) mem_free(o->refs[i]);
}

static bool operands_of(const value *sketches, size_t n, struct operands *o) {
    *o = (struct operands){.len = 1};
    bool ok = n > 0 && n <= FLAT_ARGS, wide = false;
    for (size_t k; ok && o->n < n;) {
        value s = sketches[o->n];
        if (!sketch_refs(s, &o->refs[o->n], &k)) break;
        bool one = is_scalar(s);
        o->one[o->n++] = one;
        ok = k > 0 && (one || !wide || k == o->len);
        if (!one) o->len = k, wide = true;
    }
    ok = ok && o->n == n && wide && o->len < REF_MAX;
    if (!ok) operands_release(o);
    return ok;
}

/* A result of the shape of `like`: `len` numbers in slots from `first` on, or all in slot
 * `first`. */
static value range_sketch(value like, uint32_t first, size_t len, bool one) {
    bool matrix = like.tag == V_MATRIX;
    value s =
        matrix ? value_matrix_new(like.u.matrix->rows, like.u.matrix->cols) : value_vector_new(len);
    double *at = matrix ? s.u.matrix->at : s.u.vector->at;
    for (size_t i = 0; i < len; i++) at[i] = token_new(TOKEN_NUM, first + (one ? 0 : (uint32_t)i));
    if (!matrix) s.u.obj->flags = like.u.obj->flags;
    return s;
}

static size_t count_numbers(value v) {
    return v.tag == V_VECTOR   ? v.u.vector->n
           : v.tag == V_MATRIX ? v.u.matrix->rows * v.u.matrix->cols
                               : 0;
}

/* Element by element on single numbers. */
static value lift_short(struct draft *d, const struct sp_class *cls, const struct operands *o,
                        value like) {
    value s = range_sketch(like, 0, o->len, false);
    double *at = like.tag == V_MATRIX ? s.u.matrix->at : s.u.vector->at;
    for (size_t i = 0; i < o->len; i++) {
        uint32_t refs[FLAT_ARGS];
        for (size_t k = 0; k < o->n; k++) refs[k] = o->refs[k][o->one[k] ? 0 : i];
        at[i] = scalar_step(d, cls, refs, o->n).u.num;
    }
    return s;
}

/* On columns. If every operand is a single number for all, so is the result. */
static value lift_columns(struct draft *d, const struct sp_class *cls, const struct operands *o,
                          value like) {
    struct flat_op op = {
        .cls = cls, .code = FLAT_COLS, .n_args = (uint16_t)o->n, .len = (uint32_t)o->len};
    uint32_t columns = 0;
    for (size_t k = 0; k < o->n; k++) {
        op.args[k] = o->one[k] ? o->refs[k][0] : draft_column(d, o->refs[k], o->len);
        columns |= op.args[k] & COLUMN;
    }
    op.how = (uint8_t)arithmetic_of(d, cls, op.args, o->n);
    if (op.how) op.cls = NULL;
    if (columns) return range_sketch(like, draft_step(d, op, o->len), o->len, false);
    value one = scalar_step(d, cls, op.args, o->n);
    return range_sketch(like, scalar_ref(one), o->len, true);
}

static bool lift_step(struct draft *d, const struct apply *a, value *out) {
    struct operands o;
    value like = a->n->val;
    if (!(a->cls->flags & SP_LIFTS) || !a->cls->num) return false;
    if (!count_numbers(like) || !operands_of(a->args, a->n_args, &o)) return false;
    bool fits = count_numbers(like) == o.len;
    if (fits) *out = (o.len < SHORT ? lift_short : lift_columns)(d, a->cls, &o, like);
    operands_release(&o);
    return fits;
}

/* A fold of a sequence or of a single number. */
static bool fold_step(struct draft *d, const struct apply *a, value *out) {
    uint32_t *refs;
    size_t n;
    if (!(a->cls->flags & SP_FOLDS) || a->n_args != 1 || a->n->val.tag != V_NUM) return false;
    if (a->args[0].tag == V_NUM || a->args[0].tag == V_MATRIX) return false;
    if (!sketch_refs(a->args[0], &refs, &n)) return false;
    if (n > 0 && n <= FLAT_ARGS)
        *out = scalar_step(d, a->cls, refs, n);
    else if (n > 0) {
        struct flat_op op = {.cls = a->cls, .code = FLAT_FOLD, .n_args = 1, .len = (uint32_t)n};
        op.args[0] = draft_range(d, refs, n);
        *out = scalar_sketch(draft_step(d, op, 1));
    }
    mem_free(refs);
    return n > 0;
}

/* Is an item of the same kind as the present one? A boolean differs from a number. */
static bool is_like(value item, value like) {
    if (item.tag != like.tag) return false;
    if (like.tag == V_NUM) return token_kind(item.u.num) == TOKEN_NUM;
    return item.u.obj->flags == like.u.obj->flags;
}

static bool are_like(value items, value like) {
    struct seq_walk w = {items, 0};
    for (value item; seq_next(&w, &item);)
        if (!is_like(item, like)) return false;
    return true;
}

/* The numbers of n items of `width` numbers each, in column-major order: first the first number of
 * every item, then the second, and so on. NULL if `from` has no such items. mem_free. */
static uint32_t *by_place_in_item(value from, size_t n, value like, size_t width) {
    uint32_t *refs, *all;
    size_t k = 0, done = 0;
    if (from.tag != V_ARRAY) {
        bool rows = from.tag == V_MATRIX && like.tag == V_VECTOR;
        bool numbers = from.tag != V_MATRIX && like.tag == V_NUM && are_like(from, like);
        return (rows || numbers) && sketch_refs(from, &refs, &k) ? refs : NULL;
    }
    all = NEW_ARRAY(uint32_t, n * width + 1);
    for (; done < n; done++) {
        value item = from.u.array->at[done];
        if (!is_like(item, like) || !sketch_refs(item, &refs, &k)) break;
        for (size_t j = 0; k == width && j < k; j++) all[j * n + done] = refs[j];
        mem_free(refs);
        if (k != width) break;
    }
    if (done == n) return all;
    mem_free(all);
    return NULL;
}

/* Picks one of several items (numbers, or sequences of equal length) by an index that may change.
 * Long items are left to rows, since each of their numbers would be an operation. */
static bool pick_step(struct draft *d, const struct apply *a, value *out) {
    enum { WIDEST = 64, MOST = 4096 };
    value like = a->n->val, from = a->n_args == 2 ? a->args[0] : NIL;
    size_t width = like.tag == V_NUM ? 1 : count_numbers(like), n;
    if (a->cls->code != SP_CODE_LOOKUP || a->n_args != 2 || !is_scalar(a->args[1])) return false;
    if (like.tag == V_MATRIX || !width || width > WIDEST) return false;
    if (from.tag == V_MATRIX)
        n = from.u.matrix->rows;
    else if (!seq_length(from, &n))
        return false;
    bool few = n > 0 && (width == 1 || n * width <= MOST);
    uint32_t *refs = few ? by_place_in_item(from, n, like, width) : NULL;
    if (!refs) return false;
    *out = like.tag == V_NUM ? NIL : range_sketch(like, 0, width, false);
    for (size_t j = 0; j < width; j++) {
        struct flat_op op = {.code = FLAT_PICK, .n_args = 2, .len = (uint32_t)n};
        op.args[0] = draft_refs(d, refs + j * n, n);
        op.args[1] = scalar_ref(a->args[1]);
        value one = scalar_sketch(draft_step(d, op, 1));
        if (like.tag == V_NUM)
            *out = one;
        else
            out->u.vector->at[j] = one.u.num;
    }
    mem_free(refs);
    return true;
}

/* assess(v, f, args...) for a procedure of numbers or an elementwise one. */
static bool assess_step(struct draft *d, const struct apply *a, value *out) {
    if (a->cls->code != SP_CODE_ASSESS || a->n_args < 2 || a->n_args > FLAT_ARGS + 1) return false;
    const struct node *f = chase(a->n->in[2].node);
    const struct sp_proc *p = sp_proc_of(f->val);
    if (f->kind != NODE_CONST || !p || p->state || p->cls->code == SP_CODE_EXACTLY) return false;
    struct apply inner = {.n = a->n, .cls = p->cls, .n_args = a->n_args - 2};
    if (!p->cls->num_log_density || !is_numeric(&inner)) return false;
    value args[FLAT_ARGS] = {a->args[0]};
    bool scalars = is_scalar(args[0]);
    for (uint32_t i = 2; i < a->n_args; i++) {
        args[i - 1] = a->args[i];
        scalars &= is_scalar(a->args[i]);
    }
    struct flat_op op = {.cls = p->cls, .code = FLAT_ASSESS, .n_args = (uint16_t)(a->n_args - 1)};
    struct operands o;
    for (uint32_t i = 0; scalars && i < op.n_args; i++) op.args[i] = scalar_ref(args[i]);
    if (!scalars) {
        if (!(p->cls->flags & SP_LIFTS) || !operands_of(args, op.n_args, &o)) return false;
        op.code = FLAT_TOTAL;
        op.how = SP_CODE_ASSESS;
        op.len = (uint32_t)o.len;
        for (size_t k = 0; k < o.n; k++)
            op.args[k] = o.one[k] ? o.refs[k][0] : draft_column(d, o.refs[k], o.len);
        operands_release(&o);
    }
    *out = scalar_sketch(draft_step(d, op, 1));
    return true;
}

/* A block reads adjacent numbers, so a sequence becomes a vector with adjacent slots. */
static bool block_operand(struct draft *d, value sketch, value *out) {
    uint32_t *refs;
    size_t n;
    if (is_scalar(sketch)) {
        *out = sketch;
        return true;
    }
    if (sketch.tag == V_NUM || !sketch_refs(sketch, &refs, &n)) return false;
    bool ok = n > 0;
    struct obj plain = {0};
    value like = sketch.tag == V_MATRIX ? sketch : (value){.tag = V_VECTOR, .u.obj = &plain};
    if (ok) *out = range_sketch(like, draft_range(d, refs, n) & ~COLUMN, n, false);
    mem_free(refs);
    return ok;
}

static bool block_step(struct draft *d, const struct apply *a, value *out) {
    value like = a->n->val, args[FLAT_ARGS];
    uint32_t n = 0;
    if (!a->cls->block || a->n_args > FLAT_ARGS) return false;
    if (like.tag != V_NUM && !count_numbers(like)) return false;
    while (n < a->n_args && block_operand(d, a->args[n], &args[n])) n++;
    bool ok = n == a->n_args;
    if (ok) {
        struct flat_op op = {.cls = a->cls, .code = FLAT_BLOCK, .n_args = (uint16_t)n};
        for (uint32_t i = 0; i < n; i++) op.args[i] = draft_shape(d, args[i]);
        *out = sketch_fresh(d, CHANGING, like);
        op.out = draft_shape(d, *out);
        vec_push(&d->ops[STEPS].at, op);
    }
    while (n--) value_unref(args[n]);
    return ok;
}

static void on_values(struct draft *d, struct flat_op *op, const struct apply *a,
                      enum flat_code code) {
    *op = (struct flat_op){.cls = a->cls, .code = (uint8_t)code, .n_args = (uint16_t)a->n_args};
    if (a->n_args > FLAT_ARGS) op->args[0] = (uint32_t)d->lists.n;
    for (uint32_t i = 0; i < a->n_args; i++) {
        uint32_t shape = draft_shape(d, a->args[i]);
        if (a->n_args <= FLAT_ARGS)
            op->args[i] = shape;
        else
            vec_push(&d->lists, shape);
    }
    if (a->n_args > d->head.most_args) d->head.most_args = a->n_args;
    d->head.rows = 1;
}

static value row_step(struct draft *d, const struct apply *a) {
    struct flat_op op;
    value out = sketch_fresh(d, CHANGING, a->n->val);
    on_values(d, &op, a, FLAT_ROW);
    op.out = draft_shape(d, out);
    op.node = REF(CHANGING, d->nodes.n); /* its word comes next */
    vec_push(&d->ops[STEPS].at, op);
    return out;
}

/* The result's type must not depend on the numbers. A boolean may select an operand but not be one
 * of them. Rows that order values must not mix numbers with others. */
static bool types_stay(const struct apply *a) {
    for (uint32_t i = 0; i < a->n_args; i++)
        if ((i || a->n->val.tag == V_BOOL) && token_kind(a->args[i].u.num) != TOKEN_NUM)
            return false;
    return true;
}

static value computed(struct draft *d, const struct apply *a) {
    value out;
    uint32_t refs[FLAT_ARGS];
    if (a->cls->num && number_is(a->n->val) && all_scalars(a) && types_stay(a)) {
        for (uint32_t i = 0; i < a->n_args; i++) refs[i] = scalar_ref(a->args[i]);
        out = scalar_step(d, a->cls, refs, a->n_args);
        bool truth = a->n->val.tag == V_BOOL;
        return truth ? value_num(token_new(TOKEN_BOOL, scalar_ref(out))) : out;
    }
    if (assess_step(d, a, &out) || fold_step(d, a, &out) || lift_step(d, a, &out) ||
        pick_step(d, a, &out) || block_step(d, a, &out))
        return out;
    return row_step(d, a);
}

/* False: the results of requests are not numeric, so only a scaffold can combine them. */
static bool add_computed(struct draft *d, uint32_t entry) {
    struct node *n = d->s->e.at[entry].n;
    struct sketched *p = &d->of[entry];
    const struct sp_class *cls = node_class(n);
    value sketch;
    p->alone = true;
    if (!(cls->flags & SP_ARRANGES) || !sketch_arrange(d, n, cls, &sketch, &p->alone)) {
        if (cls->request) return false;
        struct apply a = apply_of(d, n);
        sketch = computed(d, &a);
        p->alone = a.alone;
        mem_free(a.args);
    }
    set_place(d, p, n, sketch);
    return true;
}

static void add_draw(struct draft *d, uint32_t entry) {
    const struct entry *e = &d->s->e.at[entry];
    struct apply a = apply_of(d, e->n);
    struct flat_op op = {.cls = a.cls, .code = FLAT_DRAW, .n_args = (uint16_t)a.n_args};
    value sketch = d->of[entry].sketch;
    bool proper = !(a.cls->flags & SP_IMPROPER);
    if (all_scalars(&a) && is_numeric(&a) && a.cls->num_sample && is_scalar(sketch) && proper) {
        for (uint32_t i = 0; i < a.n_args; i++) op.args[i] = scalar_ref(a.args[i]);
        op.out = scalar_ref(sketch);
    } else {
        on_values(d, &op, &a, FLAT_DRAW_ROW);
        op.out = draft_shape(d, sketch);
    }
    op.node = d->of[entry].word;
    vec_push(&d->ops[STEPS].at, op);
    mem_free(a.args);
}

/* Densities. */

/* SP_CODE_EXACTLY (exactly(v)) compares values, and true differs from 1. Numbers suffice only if
 * both have one type. */
static bool has_numeric_density(const struct apply *a) {
    const struct node *n = a->n;
    if (!a->cls->num_log_density || !number_is(n->val) || !all_scalars(a) || !is_numeric(a))
        return false;
    return a->cls->code != SP_CODE_EXACTLY || n->in[1].node->val.tag == n->val.tag;
}

/* The density of a sequence of numbers, element by element. */
static bool column_density(struct draft *d, const struct apply *a, value own, struct flat_op *op) {
    struct operands o;
    value all[FLAT_ARGS + 1] = {own};
    if (!(a->cls->flags & SP_LIFTS) || !a->cls->num_log_density || a->n_args >= FLAT_ARGS ||
        !is_numeric(a))
        return false;
    for (uint32_t i = 0; i < a->n_args; i++) all[i + 1] = a->args[i];
    if (own.tag == V_NUM || !operands_of(all, a->n_args + 1, &o)) return false;
    *op = (struct flat_op){
        .cls = a->cls, .code = FLAT_COLS, .n_args = (uint16_t)a->n_args, .len = (uint32_t)o.len};
    op->out = draft_range(d, o.refs[0], o.len);
    for (size_t k = 1; k < o.n; k++)
        op->args[k - 1] = o.one[k] ? o.refs[k][0] : draft_column(d, o.refs[k], o.len);
    operands_release(&o);
    return true;
}

/* Is this operand always 0, 1, ..., with as many elements as `beside`? */
static bool lists_indices(struct draft *d, struct node *operand, value beside) {
    struct node *n = chase(operand);
    uint32_t *refs;
    size_t len;
    if (!draft_is_data(d, n) || !seq_is(n->val) || !sketch_refs(beside, &refs, &len)) return false;
    mem_free(refs);
    struct seq_walk w = {n->val, 0};
    size_t i = 0;
    for (value item; seq_next(&w, &item); i++)
        if (item.tag != V_NUM || item.u.num != (double)i) return false;
    return i == len;
}

/* The density of a number given sequences of numbers. For a choice among 0, 1, ... it depends on
 * the index alone. */
static bool gathered_density(struct draft *d, const struct apply *from, value own,
                             struct flat_op *op) {
    VEC(uint32_t) all = {0};
    struct apply as_index = *from, *a = &as_index;
    if (a->cls->flags & SP_CHOOSES && a->n_args == 2 && a->n->val.tag == V_NUM &&
        lists_indices(d, a->n->in[2].node, a->args[0]))
        a->n_args = 1;
    bool ok = a->cls->gathered && is_scalar(own) && is_numeric(a);
    for (uint32_t i = 0; ok && i < a->n_args; i++) {
        uint32_t *refs;
        size_t n;
        ok = a->args[i].tag != V_MATRIX && sketch_refs(a->args[i], &refs, &n);
        for (size_t k = 0; ok && k < n; k++) vec_push(&all, refs[k]);
        if (ok) mem_free(refs);
    }
    if (ok) {
        *op = (struct flat_op){
            .cls = a->cls, .code = FLAT_GATHERED, .n_args = 1, .len = (uint32_t)all.n};
        op->args[0] = draft_refs(d, all.at, all.n);
        op->out = scalar_ref(own);
    }
    vec_release(&all);
    return ok;
}

/* A flat owns an observation, and stores its density, if only this one principal affects it. Then a
 * step need not touch its node. Choices are never owned, since other flats propose them. Densities
 * that are not on numbers are not owned, either, since their values are read from nodes. */
static void add_density(struct draft *d, uint32_t entry) {
    const struct entry *e = &d->s->e.at[entry];
    struct node *n = e->n;
    struct apply a = apply_of(d, n);
    bool numeric = e->role != ROLE_M && has_numeric_density(&a), ignored = true;
    bool normal = a.cls->code == SP_CODE_NORMAL && a.n_args == 2;
    struct flat_op op = {
        .cls = a.cls, .code = normal ? FLAT_NORMAL : FLAT_NUM, .n_args = (uint16_t)a.n_args};
    for (uint32_t i = 0; numeric && i < a.n_args; i++) op.args[i] = scalar_ref(a.args[i]);
    bool owned = numeric && a.alone && d->head.n_principals == 1 && n->choice == NO_INDEX;
    if (e->principal < 0 && owned) {
        vec_push(&d->owned, n);
        vec_push(&d->ops[OWN].at, op);
        mem_free(a.args);
        return;
    }
    value own = sketch_of(d, n, &ignored);
    if (numeric)
        op.out = scalar_ref(own);
    else if (e->role == ROLE_M ||
             !(column_density(d, &a, own, &op) || gathered_density(d, &a, own, &op))) {
        on_values(d, &op, &a, e->role == ROLE_M ? FLAT_MAKER : FLAT_ROW);
        op.out = draft_shape(d, own);
    }
    op.node = d->of[entry].word;
    vec_push(&d->ops[e->principal < 0 ? SHARED : PRINCIPALS].at, op);
    mem_free(a.args);
}

/* For a single principal, copies of its value are found again through links when needed. */
static void add_copy(struct draft *d, struct node *n) {
    d->head.settles = 1;
    if (d->head.n_principals == 1) return;
    vec_push(&d->copies, n);
    vec_push(&d->copy_of, d->of[chase(n)->mark - 1].word);
}

static bool add_ops(struct draft *d) {
    struct scaffold *s = d->s;
    for (size_t i = 0; i < s->order.n; i++) {
        const struct entry *e = &s->e.at[s->order.at[i]];
        bool computed = is_computed(e);
        if (computed && !add_computed(d, s->order.at[i])) return false;
        if (e->principal >= 0) add_draw(d, s->order.at[i]);
        if (e->role != ROLE_D) add_density(d, s->order.at[i]);
        if (e->role == ROLE_D && e->principal < 0 && !computed) add_copy(d, e->n);
    }
    for (size_t i = 0; i < s->principals.n; i++) add_density(d, s->principals.at[i]->mark - 1);
    return true;
}

/* A flat without a form is cached, too: for this structure the principals need a scaffold. */
struct flat *flat_make(struct trace *t, struct node *const *principals, size_t n, bool apart) {
    struct draft d = {.t = t, .s = scaffold_build(t, principals, n)};
    struct flat_form *f = NULL;
    if (is_static(d.s)) {
        d.of = mem_zalloc(d.s->e.n * sizeof *d.of);
        for (size_t i = 0; i < d.s->e.n; i++) d.of[i].sketch = NIL;
        add_principals(&d);
        if (add_ops(&d)) {
            bool many = n > 1 || d.head.n_x > 1; /* single numbers own what they affect */
            if (many && !apart) draft_reroll(&d);
            f = form_share(flats_of(t), draft_form(&d));
        }
    }
    for (size_t i = 0; i < d.inputs.n; i++) vec_push(&d.nodes, d.inputs.at[i]);
    for (size_t i = 0; i < d.wide.n; i++) vec_push(&d.nodes, d.wide.at[i]);
    for (size_t i = 0; i < d.copies.n; i++) vec_push(&d.nodes, d.copies.at[i]);
    struct flat *made = flat_new(t, f, d.nodes.at, d.owned.at);
    draft_release(&d); /* before the next allocation: it is as large as the scaffold */
    scaffold_close(d.s, false);
    return made;
}
