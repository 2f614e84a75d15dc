/* SPDX-License-Identifier: Apache-2.0
 *
 * Sketches, slots, value numbering, and the step from the draft to the form. See the header. */
#include "runtime/flat/draft.h"
#include "runtime/core/call_form.h"

#include <math.h>
#include <string.h>

/* ---- tokens ---- */

/* Quiet NaNs with sign bit set, beginning 0xfffd; arithmetic never produces these. */
#define TOKEN_MARK 0xfffdULL

double token_new(enum token kind, uint32_t ref) {
    uint64_t bits = TOKEN_MARK << 48 | (uint64_t)kind << 32 | ref;
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

enum token token_kind(double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits >> 48 == TOKEN_MARK ? (enum token)(bits >> 32 & 3) : NO_TOKEN;
}

uint32_t token_ref(double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return (uint32_t)bits;
}

void draft_release(struct draft *d) {
    for (int i = 0; i < N_PARTS; i++) vec_release(&d->ops[i].at);
    for (size_t i = 0; i < d->sketches.n; i++) value_unref(d->sketches.at[i]);
    for (size_t i = 0; i < d->node_sketch.n; i++) value_unref(d->node_sketch.at[i]);
    for (size_t i = 0; i < d->wide_sketch.n; i++) value_unref(d->wide_sketch.at[i]);
    for (size_t i = 0; i < d->still.n; i++) value_unref(d->still.at[i].sketch);
    for (size_t i = 0; d->of && i < d->s->e.n; i++) value_unref(d->of[i].sketch);
    vec_release(&d->constants);
    vec_release(&d->refs);
    vec_release(&d->sketches);
    vec_release(&d->lists);
    vec_release(&d->nodes);
    vec_release(&d->inputs);
    vec_release(&d->wide);
    vec_release(&d->owned);
    vec_release(&d->copies);
    vec_release(&d->copy_of);
    vec_release(&d->node_sketch);
    vec_release(&d->wide_sketch);
    vec_release(&d->still);
    map_release(&d->numbered);
    map_release(&d->constant);
    map_release(&d->seen);
    map_release(&d->fixed);
    mem_free(d->of);
}

/* ---- sketches of values ---- */

bool sketch_is_numeric(value v) {
    switch (v.tag) {
    case V_NUM: return token_kind(v.u.num) != TOKEN_BOX && token_kind(v.u.num) != TOKEN_NODE;
    case V_BOOL:
    case V_NIL:
    case V_VECTOR:
    case V_MATRIX: return true;
    case V_ARRAY:
        for (size_t i = 0; i < v.u.array->n; i++)
            if (!sketch_is_numeric(v.u.array->at[i])) return false;
        return true;
    case V_PAIR:
        for (; v.tag == V_PAIR; v = v.u.pair->rest)
            if (!sketch_is_numeric(v.u.pair->first)) return false;
        return sketch_is_numeric(v);
    default: return false;
    }
}

/* How a number becomes a token: one of the next free slots of a region, or a constant. */
struct naming {
    struct draft *d;
    enum region region;
};

static uint32_t slot_new(struct draft *d, enum region region) {
    uint32_t *count = region == CHANGING ? &d->head.n_changing : &d->head.n_data;
    return REF(region, (*count)++);
}

static uint32_t constant_ref(struct draft *d, double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    size_t i = (size_t)map_get(&d->constant, hash_mix(bits));
    if (i && !memcmp(&d->constants.at[i - 1], &x, sizeof x)) return REF(CONSTANT, i - 1);
    vec_push(&d->constants, x);
    map_put(&d->constant, hash_mix(bits), (void *)(uintptr_t)d->constants.n);
    return REF(CONSTANT, d->constants.n - 1);
}

static value sketch_constant(struct draft *d, double x) {
    return value_num(token_new(TOKEN_NUM, constant_ref(d, x)));
}

static double name_number(const struct naming *k, enum token kind, double x) {
    if (token_kind(x) != NO_TOKEN) return x;
    return token_new(kind,
                     k->region == CONSTANT ? constant_ref(k->d, x) : slot_new(k->d, k->region));
}

/* Turns a numeric value into a sketch. A part with further references is already a sketch. */
static value name_all(const struct naming *k, value v) {
    switch (v.tag) {
    case V_NUM: return value_num(name_number(k, TOKEN_NUM, v.u.num));
    case V_BOOL: return value_num(name_number(k, TOKEN_BOOL, v.u.boolean));
    case V_VECTOR: {
        value s = value_vector_new(v.u.vector->n);
        s.u.obj->flags = v.u.obj->flags;
        for (size_t i = 0; i < v.u.vector->n; i++)
            s.u.vector->at[i] = name_number(k, TOKEN_NUM, v.u.vector->at[i]);
        return s;
    }
    case V_MATRIX: {
        value s = value_matrix_new(v.u.matrix->rows, v.u.matrix->cols);
        for (size_t i = 0; i < v.u.matrix->rows * v.u.matrix->cols; i++)
            s.u.matrix->at[i] = name_number(k, TOKEN_NUM, v.u.matrix->at[i]);
        return s;
    }
    case V_ARRAY: {
        value s = value_array_new(v.u.array->n);
        s.u.obj->flags = v.u.obj->flags;
        for (size_t i = 0; i < v.u.array->n; i++) s.u.array->at[i] = name_all(k, v.u.array->at[i]);
        return s;
    }
    case V_PAIR: {
        VEC(value) items = {0};
        for (; v.tag == V_PAIR; v = v.u.pair->rest) vec_push(&items, name_all(k, v.u.pair->first));
        value s = name_all(k, v);
        while (items.n) s = value_pair_take(vec_pop(&items), s);
        vec_release(&items);
        return s;
    }
    default: return NIL;
    }
}

value sketch_fresh(struct draft *d, enum region region, value like) {
    if (like.tag != V_NIL && sketch_is_numeric(like))
        return name_all(&(struct naming){d, region}, like);
    return value_num(token_new(TOKEN_BOX, d->head.n_boxes++));
}

/* ---- what does not change ---- */

/* Data are computed from constants alone, so only a change of structure changes them. */
static bool is_fixed(struct draft *d, struct node *n, int depth) {
    n = chase(n);
    if (n->kind == NODE_CONST) return true;
    size_t known = (size_t)map_get(&d->fixed, MAP_PTR(n));
    if (known) return known == 1;
    const struct sp_class *cls = node_class(n);
    bool ok = n->kind == NODE_APP && cls && cls->simulate && !n->special && depth < 64 &&
              !(n->flags & (NODE_RANDOM | NODE_OBS_ROOT)) && !n->mark && !n->req &&
              !(cls->flags & (SP_RANDOM | SP_MAKER)) && !cls->incorporate;
    for (uint32_t i = 0; ok && i < n->n_in; i++) ok = is_fixed(d, n->in[i].node, depth + 1);
    map_put(&d->fixed, MAP_PTR(n), (void *)(uintptr_t)(ok ? 1 : 2));
    return ok;
}

bool draft_is_data(struct draft *d, struct node *n) {
    return is_fixed(d, n, 0);
}

/* An input gets slots for its numbers and is read from its node when a proposal begins. A value
 * that is not numeric is named by its node. */
static struct sketched input_of(struct draft *d, struct node *n) {
    value v = n->val;
    struct sketched p = {.known = true};
    if (number_is(v)) {
        vec_push(&d->inputs, n);
        p.word = REF(INPUT, d->inputs.n - 1);
        p.sketch = value_num(token_new(v.tag == V_BOOL ? TOKEN_BOOL : TOKEN_NUM, p.word));
        return p;
    }
    bool numbers = v.tag != V_NIL && sketch_is_numeric(v);
    vec_push(&d->wide, n);
    p.word = REF(WIDE, d->wide.n - 1);
    p.sketch =
        numbers ? name_all(&(struct naming){d, WIDE}, v) : value_num(token_new(TOKEN_NODE, p.word));
    vec_push(&d->wide_sketch, numbers ? value_ref(p.sketch) : NIL);
    d->head.reads |= numbers;
    return p;
}

value sketch_of(struct draft *d, struct node *operand, bool *alone) {
    struct node *n = chase(operand);
    if (n->kind != NODE_CONST && n->mark) {
        struct sketched *p = &d->of[n->mark - 1];
        if (!p->known) *p = input_of(d, n); /* it absorbs, so its value stays */
        *alone &= p->alone;
        return p->sketch;
    }
    if (n->kind == NODE_CONST && n->val.tag == V_NUM) return sketch_constant(d, n->val.u.num);
    if (n->kind != NODE_CONST) *alone = false;
    size_t i = (size_t)map_get(&d->seen, MAP_PTR(n));
    if (!i) {
        vec_push(&d->still, input_of(d, n));
        i = d->still.n;
        map_put(&d->seen, MAP_PTR(n), (void *)(uintptr_t)i);
    }
    return d->still.at[i - 1].sketch;
}

/* ---- numbers as slots ---- */

bool sketch_refs(value v, uint32_t **out, size_t *n) {
    if (v.tag == V_NIL) return false;
    bool matrix = v.tag == V_MATRIX, vector = v.tag == V_VECTOR;
    VEC(uint32_t) refs = {0};
    bool ok = true;
    if (vector || matrix) {
        size_t k = matrix ? v.u.matrix->rows * v.u.matrix->cols : v.u.vector->n;
        const double *at = matrix ? v.u.matrix->at : v.u.vector->at;
        for (size_t i = 0; i < k; i++) vec_push(&refs, token_ref(at[i]));
    } else if (v.tag == V_NUM) {
        ok = is_scalar(v);
        vec_push(&refs, token_ref(v.u.num));
    } else {
        struct seq_walk w = {v, 0};
        ok = seq_is(v);
        for (value item; ok && seq_next(&w, &item);) {
            ok = is_scalar(item);
            vec_push(&refs, ok ? scalar_ref(item) : 0);
        }
    }
    *out = refs.at;
    *n = refs.n;
    if (!ok) vec_release(&refs);
    return ok;
}

static bool is_range(const uint32_t *refs, size_t n) {
    for (size_t i = 1; i < n; i++)
        if (refs[i] != refs[0] + i) return false;
    return true;
}

static bool is_one(const uint32_t *refs, size_t n) {
    for (size_t i = 1; i < n; i++)
        if (refs[i] != refs[0]) return false;
    return true;
}

uint32_t draft_refs(struct draft *d, const uint32_t *refs, size_t n) {
    uint32_t first = (uint32_t)d->refs.n;
    for (size_t i = 0; i < n; i++) vec_push(&d->refs, refs[i]);
    return first;
}

/* Packing the same list twice gives one operation; the hash is of the slots. */
static uint32_t pack(struct draft *d, const uint32_t *refs, size_t n) {
    uint64_t key = hash_bytes(refs, n * sizeof *refs, 0x7061636bu);
    size_t i = (size_t)map_get(&d->numbered, key);
    struct flat_op *old = i ? &d->ops[STEPS].at.at[i - 1] : NULL;
    if (old && old->code == FLAT_PACK && old->len == n &&
        !memcmp(d->refs.at + old->args[0], refs, n * sizeof *refs))
        return old->out;
    struct flat_op op = {
        .code = FLAT_PACK, .len = (uint32_t)n, .out = REF(CHANGING, d->head.n_changing)};
    op.args[0] = draft_refs(d, refs, n);
    d->head.n_changing += (uint32_t)n;
    vec_push(&d->ops[STEPS].at, op);
    map_put(&d->numbered, key, (void *)(uintptr_t)d->ops[STEPS].at.n);
    return op.out;
}

uint32_t draft_range(struct draft *d, const uint32_t *refs, size_t n) {
    return COLUMN | (is_range(refs, n) ? refs[0] : pack(d, refs, n));
}

uint32_t draft_column(struct draft *d, const uint32_t *refs, size_t n) {
    return is_one(refs, n) ? refs[0] : draft_range(d, refs, n);
}

uint32_t draft_step(struct draft *d, struct flat_op op, size_t n_out) {
    op.out = 0;
    uint64_t key = hash_bytes(&op, sizeof op, 0);
    size_t i = (size_t)map_get(&d->numbered, key);
    if (i) {
        struct flat_op old = d->ops[STEPS].at.at[i - 1];
        uint32_t out = old.out;
        old.out = 0;
        if (!memcmp(&old, &op, sizeof op)) return out;
    }
    op.out = REF(CHANGING, d->head.n_changing);
    d->head.n_changing += (uint32_t)n_out;
    vec_push(&d->ops[STEPS].at, op);
    map_put(&d->numbered, key, (void *)(uintptr_t)d->ops[STEPS].at.n);
    if (op.code == FLAT_FOLD && op.len > d->head.most_len) d->head.most_len = op.len;
    return op.out;
}

uint32_t draft_shape(struct draft *d, value sketch) {
    vec_push(&d->sketches, value_ref(sketch));
    return (uint32_t)d->sketches.n - 1;
}

/* ---- rows that arrange ---- */

/* Applies the row to sketches. Single numbers that are data are passed as numbers, since they may
 * be indexes or sizes. With `known`, so are sequences of data (the two indexes of a matrix). A size
 * that is not data is a token, which every row rejects as a count. */
static bool arrange(struct draft *d, struct node *n, const struct sp_class *cls, bool known,
                    value *out, bool *alone) {
    size_t n_diags = d->t->core->diags->list.n, k = cls->request ? n->req->n_fam : n->n_in - 1;
    value *args = NEW_ARRAY(value, k + 1);
    struct node_call call;
    bool ok = true;
    for (size_t i = 0; i < k; i++) {
        struct node *from = cls->request ? n->req->fam[i]->root : n->in[i + 1].node;
        value s = sketch_of(d, from, alone);
        bool data = !cls->request && !entry_of(d->s, chase(from)) && draft_is_data(d, from);
        args[i] = data && (number_is(from->val) || known) ? from->val : s;
        ok &= sketch_is_numeric(args[i]);
    }
    enum gpm_status st = GPM_E_USER;
    if (ok && cls->request) {
        call_begin(d->t, n, &call);
        st = call_end(d->t, n, &call, cls->output(&call.c, args, k, out));
    } else if (ok) {
        call_begin_with(d->t, n, args, &call);
        st = core_check_args(d->t->core, &call.c, n->in[0].node->val, NO_SPAN);
        if (st == GPM_OK) st = cls->simulate(&call.c, out);
        d->t->core->model = call.outer;
    }
    if (ok && st != GPM_OK) diags_rewind(d->t->core->diags, n_diags);
    mem_free(args);
    return st == GPM_OK;
}

/* Numbers of the result that are not tokens become constants. */
bool sketch_arrange(struct draft *d, struct node *n, const struct sp_class *cls, value *out,
                    bool *alone) {
    value raw;
    bool known = false, ok = arrange(d, n, cls, false, &raw, alone);
    if (!ok && !cls->request) known = ok = arrange(d, n, cls, true, &raw, alone);
    if (!ok) return false;
    ok = sketch_is_numeric(raw) && raw.tag != V_NIL;
    bool shared = IS_OBJ(raw) && raw.u.obj->refs > 1 && !known; /* part of a sketch */
    if (ok) *out = shared ? value_ref(raw) : name_all(&(struct naming){d, CONSTANT}, raw);
    value_unref(raw);
    return ok;
}

/* ---- the form ---- */

static uint32_t place_slot(const struct draft *d, uint32_t ref) {
    const struct flat_form *h = &d->head;
    uint32_t base[] = {0, h->n_changing, h->n_changing + (uint32_t)d->inputs.n,
                       h->n_changing + (uint32_t)d->inputs.n + h->n_data};
    return base[ref_region(ref)] + ref_index(ref);
}

static uint32_t place_word(const struct draft *d, uint32_t ref) {
    uint32_t base[] = {0, (uint32_t)d->nodes.n, (uint32_t)(d->nodes.n + d->inputs.n), 0};
    return base[ref_region(ref)] + ref_index(ref);
}

typedef VEC(uint32_t) words;

static void write_slots(const struct draft *d, words *w, uint32_t kind, const double *at,
                        size_t n) {
    bool range = n > 0;
    for (size_t i = 1; i < n && range; i++) range = token_ref(at[i]) == token_ref(at[0]) + i;
    if (range) {
        w->at[w->n - 3] = kind;
        vec_push(w, place_slot(d, token_ref(at[0])));
    } else
        for (size_t i = 0; i < n; i++) vec_push(w, place_slot(d, token_ref(at[i])));
}

static void write_shape(const struct draft *d, words *w, value s);

static void write_list(const struct draft *d, words *w, value s) {
    size_t at = w->n + 1;
    vec_push(w, SHAPE_LIST);
    vec_push(w, 0);
    for (; s.tag == V_PAIR; s = s.u.pair->rest, w->at[at]++) write_shape(d, w, s.u.pair->first);
    write_shape(d, w, s);
}

static void write_shape(const struct draft *d, words *w, value s) {
    if (s.tag == V_NUM) {
        enum token kind = token_kind(s.u.num);
        uint32_t ref = token_ref(s.u.num);
        vec_push(w, (uint32_t)(kind == TOKEN_NUM    ? SHAPE_NUM
                               : kind == TOKEN_BOOL ? SHAPE_BOOL
                               : kind == TOKEN_BOX  ? SHAPE_BOX
                                                    : SHAPE_NODE));
        vec_push(w, kind == TOKEN_BOX    ? ref
                    : kind == TOKEN_NODE ? place_word(d, ref)
                                         : place_slot(d, ref));
    } else if (s.tag == V_VECTOR) {
        vec_push(w, SHAPE_VECTOR_AT);
        vec_push(w, s.u.obj->flags);
        vec_push(w, (uint32_t)s.u.vector->n);
        write_slots(d, w, SHAPE_VECTOR, s.u.vector->at, s.u.vector->n);
    } else if (s.tag == V_MATRIX) {
        vec_push(w, SHAPE_MATRIX_AT);
        vec_push(w, (uint32_t)s.u.matrix->rows);
        vec_push(w, (uint32_t)s.u.matrix->cols);
        write_slots(d, w, SHAPE_MATRIX, s.u.matrix->at, s.u.matrix->rows * s.u.matrix->cols);
    } else if (s.tag == V_ARRAY) {
        vec_push(w, SHAPE_ARRAY);
        vec_push(w, s.u.obj->flags);
        vec_push(w, (uint32_t)s.u.array->n);
        for (size_t i = 0; i < s.u.array->n; i++) write_shape(d, w, s.u.array->at[i]);
    } else if (s.tag == V_PAIR)
        write_list(d, w, s);
    else
        vec_push(w, SHAPE_NIL);
}

/* The start of each drafted shape, and lists of shapes as the operations refer to them. */
struct shapes {
    words w;
    uint32_t *of, *lists; /* by index of the sketch; lists have positions in w */
    uint32_t first_list;
};

static uint32_t place_shape(const struct draft *d, struct shapes *s, value sketch) {
    uint32_t at = (uint32_t)s->w.n;
    write_shape(d, &s->w, sketch);
    return at;
}

static bool on_shapes(const struct flat_op *op) {
    return op->code >= FLAT_BLOCK;
}

static void place_op(const struct draft *d, const struct shapes *s, struct flat_op *op, int part) {
    op->node = place_word(d, op->node);
    if (on_shapes(op)) {
        op->out = s->of[op->out];
        for (uint32_t k = 0; k < op->n_args && op->n_args <= FLAT_ARGS; k++)
            op->args[k] = s->of[op->args[k]];
        if (op->n_args > FLAT_ARGS) op->args[0] += s->first_list;
        return;
    }
    op->out = part == OWN ? form_n_slots(&d->head)
                          : (op->out & COLUMN) | place_slot(d, op->out & ~COLUMN);
    if (op->code == FLAT_PICK) op->args[1] = place_slot(d, op->args[1]);
    if (op_gathers(op)) return; /* draft_form places the gathered refs */
    for (uint32_t k = 0; k < op->n_args; k++)
        op->args[k] = (op->args[k] & COLUMN) | place_slot(d, op->args[k] & ~COLUMN);
}

static void count(struct draft *d) {
    struct flat_form *h = &d->head;
    h->n_nodes = (uint32_t)d->nodes.n;
    h->n_in = (uint32_t)d->inputs.n;
    h->n_wide = (uint32_t)d->wide.n;
    h->n_copies = (uint32_t)d->copies.n;
    h->n_constants = (uint32_t)d->constants.n;
    h->n_steps = (uint32_t)d->ops[STEPS].at.n;
    h->n_shared = (uint32_t)d->ops[SHARED].at.n;
    h->n_own = (uint32_t)d->ops[OWN].at.n;
    h->n_refs = (uint32_t)d->refs.n;
    if (h->n_own) h->settles = 1;
}

/* Does an operand of the density change with the principals? */
static bool operands_change(const struct flat_form *f, const uint32_t *words_of,
                            const struct flat_op *op) {
    const uint32_t *shapes = op->n_args <= FLAT_ARGS ? op->args : words_of + op->args[0];
    for (uint32_t k = 0; op->code == FLAT_GATHERED && k < op->len; k++)
        if (f->gathered[op->args[0] + k] < f->n_changing) return true;
    if (op->code == FLAT_GATHERED) return false;
    for (uint32_t k = 0; k < op->n_args; k++)
        if (on_shapes(op) ? shape_changes(f, words_of, shapes[k])
                          : (op->args[k] & ~COLUMN) < f->n_changing)
            return true;
    return false;
}

struct flat_form *draft_form(struct draft *d) {
    struct shapes s = {.of = NEW_ARRAY(uint32_t, d->sketches.n + 1)};
    words places = {0};
    count(d);
    for (size_t i = 0; i < d->sketches.n; i++) s.of[i] = place_shape(d, &s, d->sketches.at[i]);
    for (size_t i = 0; i < d->nodes.n; i++) {
        value k = d->node_sketch.at[i];
        vec_push(&places,
                 is_scalar(k) ? place_slot(d, scalar_ref(k)) : AT_SHAPE | place_shape(d, &s, k));
    }
    for (size_t i = 0; i < d->wide.n; i++) {
        value k = d->wide_sketch.at[i];
        vec_push(&places, k.tag == V_NIL ? 0 : AT_SHAPE | place_shape(d, &s, k));
    }
    for (size_t i = 0; i < d->copies.n; i++) vec_push(&places, d->copy_of.at[i]);
    s.first_list = (uint32_t)s.w.n;
    for (size_t i = 0; i < d->lists.n; i++) vec_push(&s.w, s.of[d->lists.at[i]]);
    d->head.n_words = (uint32_t)s.w.n;
    struct flat_form *f = mem_zalloc(form_size(&d->head));
    *f = d->head;
    form_lay_out(f);
    for (size_t i = 0; i < d->refs.n; i++) f->gathered[i] = place_slot(d, d->refs.at[i]);
    struct flat_op *to = f->ops;
    for (int part = 0; part < N_PARTS; part++)
        for (size_t i = 0; i < d->ops[part].at.n; i++, to++) {
            *to = d->ops[part].at.at[i];
            place_op(d, &s, to, part);
            if (part != STEPS) to->how = operands_change(f, s.w.at, to);
        }
    for (size_t i = 0; i < d->constants.n; i++) f->constants[i] = d->constants.at[i];
    if (s.w.n) memcpy(f->words, s.w.at, s.w.n * sizeof *s.w.at);
    if (places.n) memcpy(f->places, places.at, places.n * sizeof *places.at);
    mem_free(s.of);
    vec_release(&s.w);
    vec_release(&places);
    return f;
}
