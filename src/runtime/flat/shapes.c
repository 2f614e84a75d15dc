/* SPDX-License-Identifier: Apache-2.0
 *
 * Shapes while a flat runs. Rows that work on values get values built from slots and boxes, and
 * their results are taken apart again. Every function here walks the words of a shape (form.h)
 * along with a value. Adjoints have the forms of language/rows/protocol/adjoint.h: numbers,
 * vectors, matrices, arrays of adjoints for sequences of any values; NIL is zero. */
#include "runtime/flat/form.h"

#include "language/rows/protocol/adjoint.h"
#include <string.h>

/* A position in the words of a shape. */
struct cursor {
    const struct flat_run *r;
    const uint32_t *at;
    bool adjoint; /* the value built or read is an adjoint */
    double *x;    /* the slots: numbers, or their adjoints */
};

static struct cursor cursor_at(const struct flat_run *r, uint32_t shape, bool adjoint) {
    return (struct cursor){r, r->form->words + shape, adjoint, adjoint ? r->form->adj : r->v};
}

static inline uint32_t next(struct cursor *c) {
    return *c->at++;
}

/* The n slots of a vector or matrix in either encoding; moves the cursor past them. */
struct range {
    const uint32_t *slots; /* NULL: adjacent, from `first` on */
    uint32_t first;
};

static struct range range_next(struct cursor *c, uint32_t word, size_t n) {
    bool apart = word == SHAPE_VECTOR_AT || word == SHAPE_MATRIX_AT;
    struct range g = {apart ? c->at : NULL, apart ? 0 : c->at[0]};
    c->at += apart ? n : 1;
    return g;
}

static inline uint32_t range_slot(const struct range *g, size_t i) {
    return g->slots ? g->slots[i] : g->first + (uint32_t)i;
}

static void range_read(const struct range *g, const double *from, size_t n, double *to) {
    if (!g->slots)
        memcpy(to, from + g->first, n * sizeof *to);
    else
        for (size_t i = 0; i < n; i++) to[i] = from[g->slots[i]];
}

/* ---- values ---- */

static value make(struct cursor *c);

static value make_array(struct cursor *c, size_t n) {
    value v = value_array_new(n);
    for (size_t i = 0; i < n; i++) v.u.array->at[i] = make(c);
    return v;
}

/* The adjoint of a list is an array, without an entry for its tail. */
static value make_list(struct cursor *c, size_t n) {
    if (c->adjoint) {
        value d = make_array(c, n);
        value_unref(make(c));
        return d;
    }
    value *items = NEW_ARRAY(value, n + 1);
    for (size_t i = 0; i < n; i++) items[i] = make(c);
    value v = make(c);
    for (size_t i = n; i-- > 0;) v = value_pair_take(items[i], v);
    mem_free(items);
    return v;
}

static value make(struct cursor *c) {
    const struct flat_run *r = c->r;
    uint32_t word = next(c);
    switch ((enum shape_word)word) {
    case SHAPE_NUM: return value_num(c->x[next(c)]);
    case SHAPE_BOOL: {
        double x = c->x[next(c)];
        return c->adjoint ? NIL : value_bool(x != 0);
    }
    case SHAPE_BOX: return value_ref((c->adjoint ? r->form->box_adj : r->form->box)[next(c)]);
    case SHAPE_NODE: {
        value v = r->w[next(c)].n->val;
        return c->adjoint ? NIL : value_ref(v);
    }
    case SHAPE_NIL: return NIL;
    case SHAPE_VECTOR:
    case SHAPE_VECTOR_AT: {
        uint32_t flags = next(c), n = next(c);
        struct range g = range_next(c, word, n);
        value v = value_vector_new(n);
        range_read(&g, c->x, n, v.u.vector->at);
        if (!c->adjoint) v.u.obj->flags = flags;
        return v;
    }
    case SHAPE_MATRIX:
    case SHAPE_MATRIX_AT: {
        uint32_t rows = next(c), cols = next(c);
        struct range g = range_next(c, word, (size_t)rows * cols);
        value v = value_matrix_new(rows, cols);
        range_read(&g, c->x, (size_t)rows * cols, v.u.matrix->at);
        return v;
    }
    case SHAPE_ARRAY: {
        uint32_t flags = next(c), n = next(c);
        value v = make_array(c, n);
        if (!c->adjoint) v.u.obj->flags = flags;
        return v;
    }
    case SHAPE_LIST: return make_list(c, next(c));
    }
    return NIL;
}

value shape_value(const struct flat_run *r, uint32_t shape) {
    struct cursor c = cursor_at(r, shape, false);
    return make(&c);
}

value shape_adjoint(const struct flat_run *r, uint32_t shape) {
    struct cursor c = cursor_at(r, shape, true);
    return make(&c);
}

/* ---- numbers of a value ---- */

static bool set(struct cursor *c, value v);

static bool set_list(struct cursor *c, uint32_t n, value v) {
    for (uint32_t i = 0; i < n; i++, v = v.u.pair->rest)
        if (v.tag != V_PAIR || !set(c, v.u.pair->first)) return false;
    return set(c, v);
}

static bool set(struct cursor *c, value v) {
    const struct flat_run *r = c->r;
    uint32_t word = next(c);
    switch ((enum shape_word)word) {
    case SHAPE_NUM: r->v[next(c)] = v.u.num; return v.tag == V_NUM;
    case SHAPE_BOOL: r->v[next(c)] = v.u.boolean; return v.tag == V_BOOL;
    case SHAPE_BOX: value_set_take(&r->form->box[next(c)], value_ref(v)); return true;
    case SHAPE_NODE: next(c); return true;
    case SHAPE_NIL: return v.tag == V_NIL;
    case SHAPE_VECTOR:
    case SHAPE_VECTOR_AT: {
        uint32_t flags = next(c), n = next(c);
        struct range g = range_next(c, word, n);
        if (v.tag != V_VECTOR || v.u.vector->n != n || v.u.obj->flags != flags) return false;
        for (uint32_t i = 0; i < n; i++) r->v[range_slot(&g, i)] = v.u.vector->at[i];
        return true;
    }
    case SHAPE_MATRIX:
    case SHAPE_MATRIX_AT: {
        uint32_t rows = next(c), cols = next(c), n = rows * cols;
        struct range g = range_next(c, word, n);
        if (v.tag != V_MATRIX || v.u.matrix->rows != rows || v.u.matrix->cols != cols) return false;
        for (uint32_t i = 0; i < n; i++) r->v[range_slot(&g, i)] = v.u.matrix->at[i];
        return true;
    }
    case SHAPE_ARRAY: {
        uint32_t flags = next(c), n = next(c);
        if (v.tag != V_ARRAY || v.u.array->n != n || v.u.obj->flags != flags) return false;
        for (uint32_t i = 0; i < n; i++)
            if (!set(c, v.u.array->at[i])) return false;
        return true;
    }
    case SHAPE_LIST: return set_list(c, next(c), v);
    }
    return false;
}

bool shape_walk_set(const struct flat_run *r, uint32_t shape, value v) {
    struct cursor c = cursor_at(r, shape, false);
    return set(&c, v);
}

/* ---- adjoints ---- */

static void give_numbers(const struct flat_run *r, const struct range *g, size_t n, value d) {
    if (d.tag == V_NIL) return;
    double *x = NEW_ARRAY(double, n + 1);
    adj_doubles(d, x, n);
    for (size_t i = 0; i < n; i++) r->form->adj[range_slot(g, i)] += x[i];
    mem_free(x);
}

/* Adjoints of inputs are discarded. box[] holds only changing objects. */
static void give(struct cursor *c, value d) {
    const struct flat_run *r = c->r;
    uint32_t word = next(c), n;
    switch ((enum shape_word)word) {
    case SHAPE_NUM: r->form->adj[next(c)] += adj_num(d); return;
    case SHAPE_BOX: {
        value *to = &r->form->box_adj[next(c)];
        value_set_take(to, adj_add(*to, d));
        return;
    }
    case SHAPE_BOOL:
    case SHAPE_NODE: next(c); return;
    case SHAPE_NIL: return;
    case SHAPE_VECTOR:
    case SHAPE_VECTOR_AT:
    case SHAPE_MATRIX:
    case SHAPE_MATRIX_AT: {
        uint32_t first = next(c);
        n = next(c);
        if (word == SHAPE_MATRIX || word == SHAPE_MATRIX_AT) n *= first;
        struct range g = range_next(c, word, n);
        give_numbers(r, &g, n, d);
        return;
    }
    case SHAPE_ARRAY: next(c); /* fall through */
    case SHAPE_LIST:
        n = next(c) + (word == SHAPE_LIST); /* the tail of an improper pair */
        for (uint32_t i = 0; i < n; i++) {
            value item = adj_item(d, i);
            give(c, item);
            value_unref(item);
        }
    }
}

void shape_give(const struct flat_run *r, uint32_t shape, value d) {
    struct cursor c = cursor_at(r, shape, true);
    give(&c, d);
}

/* ---- queries ---- */

/* Does any slot or box of the shape pass the test? */
typedef bool slot_test(const void *ctx, uint32_t word, uint32_t slot);

static bool any(const uint32_t **at, slot_test *test, const void *ctx) {
    uint32_t word = *(*at)++, n = 1, found = 0;
    switch ((enum shape_word)word) {
    case SHAPE_NUM:
    case SHAPE_BOOL:
    case SHAPE_BOX:
    case SHAPE_NODE: return test(ctx, word, *(*at)++);
    case SHAPE_NIL: return false;
    case SHAPE_MATRIX:
    case SHAPE_MATRIX_AT: n = *(*at); /* fall through */
    case SHAPE_VECTOR:
    case SHAPE_VECTOR_AT: {
        n *= (*at)[1];
        *at += 2;
        bool apart = word == SHAPE_VECTOR_AT || word == SHAPE_MATRIX_AT;
        for (uint32_t i = 0; i < n; i++) found |= test(ctx, word, apart ? (*at)[i] : **at + i);
        *at += apart ? n : 1;
        return found;
    }
    case SHAPE_ARRAY: ++*at; /* fall through */
    case SHAPE_LIST:
        n = *(*at)++ + (word == SHAPE_LIST);
        for (uint32_t i = 0; i < n; i++) found |= any(at, test, ctx);
        return found;
    }
    return false;
}

static bool has_adjoint(const void *ctx, uint32_t word, uint32_t slot) {
    const struct flat_form *f = ctx;
    if (word == SHAPE_BOX) return f->box_adj[slot].tag != V_NIL;
    return word != SHAPE_NODE && f->adj[slot] != 0;
}

bool shape_is_still(const struct flat_run *r, uint32_t shape) {
    const uint32_t *at = r->form->words + shape;
    return !any(&at, has_adjoint, r->form);
}

static bool is_changing(const void *ctx, uint32_t word, uint32_t slot) {
    const struct flat_form *f = ctx;
    return word == SHAPE_BOX || (word != SHAPE_NODE && slot < f->n_changing);
}

bool shape_changes(const struct flat_form *f, const uint32_t *words, uint32_t shape) {
    const uint32_t *at = words + shape;
    return any(&at, is_changing, f);
}

struct sp_block shape_block(const struct flat_run *r, uint32_t shape) {
    const uint32_t *at = r->form->words + shape;
    struct sp_block b = {.rows = 1, .cols = 1};
    uint32_t slot = at[1];
    if (at[0] == SHAPE_VECTOR) {
        b.rows = at[2];
        slot = at[3];
    } else if (at[0] == SHAPE_MATRIX) {
        b.rows = at[1];
        b.cols = at[2];
        slot = at[3];
    }
    b.at = r->v + slot;
    if (slot < r->form->n_changing && r->form->adj) b.adj = r->form->adj + slot;
    return b;
}
