/* SPDX-License-Identifier: Apache-2.0
 *
 * Sequences and dictionaries: construction and access to elements.
 */
#include "language/rows/lib/args.h"

#include "base/mem.h"
#include "language/rows/protocol/adjoint.h"
#include "language/rows/protocol/kernel_value.h"
#include <math.h>

/* ---- construction -----------------------------------------------------------------------------
 */

SP_SIMPLE(list, value_list(c->args, c->n))
SP_SIMPLE(array, value_array(c->args, c->n))
SP_SIMPLE(pair, value_pair(c->args[0], c->args[1]))

static enum gpm_status simulate_vector(struct sp_call *c, value *out) {
    *out = value_vector_new(c->n);
    for (size_t i = 0; i < c->n; i++) out->u.vector->at[i] = sp_num(c, i);
    return GPM_OK;
}

/* Each element is an argument. */
static enum gpm_status grad_items(struct sp_call *c, value r, value dr, value *dargs) {
    for (size_t i = 0; i < c->n; i++) dargs[i] = adj_item(dr, i);
    return GPM_OK;
}

static enum gpm_status simulate_simplex(struct sp_call *c, value *out) {
    double sum = 0;
    for (size_t i = 0; i < c->n; i++) sum += sp_num(c, i);
    if (!(fabs(sum - 1) <= 1e-6))
        return sp_error(c, DIAG_DOMAIN, "simplex: the probabilities must add up to 1, got %.15g",
                        sum);
    simulate_vector(c, out);
    out->u.obj->flags |= OBJ_SIMPLEX;
    return GPM_OK;
}

static enum gpm_status grad_pair(struct sp_call *c, value r, value dr, value *dargs) {
    size_t n;
    dargs[0] = adj_item(dr, 0);
    if (!seq_is(c->args[1]))
        dargs[1] = adj_item(dr, 1); /* improper pair */
    else if (seq_length(dr, &n) && n > 1)
        dargs[1] = adj_slice(dr, 1, n - 1);
    return GPM_OK;
}

/* ---- elements ---------------------------------------------------------------------------------
 */

/* Why there is no element number `want` (counted from 1). */
static enum gpm_status need_items(struct sp_call *c, size_t want) {
    size_t n;
    if (!seq_length(c->args[0], &n))
        return sp_type_error(c, c->args[0], "the argument must be a list, array or vector");
    if (n == 0) return sp_error(c, DIAG_EMPTY, "%s: the sequence is empty", c->cls->name);
    return sp_error(c, DIAG_EMPTY, "%s: the sequence has %zu element%s, %zu are needed",
                    c->cls->name, n, n == 1 ? "" : "s", want);
}

/* Element number `variant`, LAST: the last one. */
enum { LAST = -1 };

/* Of a matrix, a row. */
static bool matrix_item(struct sp_call *c, value *out) {
    if (c->args[0].tag != V_MATRIX) return false;
    const struct matrix_obj *m = c->args[0].u.matrix;
    size_t i = c->cls->variant == LAST ? m->rows - 1 : (size_t)c->cls->variant;
    if (i >= m->rows) return false;
    *out = matrix_row(m, i);
    return true;
}

static enum gpm_status simulate_item(struct sp_call *c, value *out) {
    size_t n, i = (size_t)c->cls->variant;
    if (matrix_item(c, out)) return GPM_OK;
    if (c->cls->variant == LAST) {
        if (!seq_length(c->args[0], &n) || n == 0) return need_items(c, 1);
        i = n - 1;
    }
    return seq_get(c->args[0], i, out) ? GPM_OK : need_items(c, i + 1);
}

static enum gpm_status simulate_rest(struct sp_call *c, value *out) {
    value v = c->args[0];
    if (v.tag == V_PAIR)
        *out = value_ref(v.u.pair->rest);
    else if (v.tag == V_VECTOR && v.u.vector->n)
        *out = value_vector(v.u.vector->at + 1, v.u.vector->n - 1);
    else if (v.tag == V_ARRAY && v.u.array->n)
        *out = value_array(v.u.array->at + 1, v.u.array->n - 1);
    else
        return need_items(c, 1);
    return GPM_OK;
}

/* Length of the argument as adjoints see it: an improper pair counts as two. */
static size_t adj_length(value v) {
    size_t n;
    return seq_length(v, &n) ? n : 2;
}

static value matrix_adjoint(const struct matrix_obj *m, value key, value dr);

static enum gpm_status grad_item(struct sp_call *c, value r, value dr, value *dargs) {
    if (c->args[0].tag == V_MATRIX) {
        const struct matrix_obj *m = c->args[0].u.matrix;
        size_t i = c->cls->variant == LAST ? m->rows - 1 : (size_t)c->cls->variant;
        dargs[0] = matrix_adjoint(m, value_num((double)i), dr);
        return GPM_OK;
    }
    size_t n = adj_length(c->args[0]);
    dargs[0] = adj_unit(n, c->cls->variant == LAST ? n - 1 : (size_t)c->cls->variant, dr);
    return GPM_OK;
}

static enum gpm_status grad_rest(struct sp_call *c, value r, value dr, value *dargs) {
    size_t n = adj_length(c->args[0]);
    bool pair = !seq_is(c->args[0]); /* (a . b) */
    dargs[0] = pair ? adj_unit(2, 1, dr) : adj_placed(dr, n, 1, n - 1);
    return GPM_OK;
}

/* ---- lookup -----------------------------------------------------------------------------------
 */

static enum gpm_status key_error(struct sp_call *c, const struct dict_obj *d, value key) {
    sp_error(c, DIAG_KEY, "%s: key %s not found in the dictionary", c->cls->name, SHOW(key));
    if (d->n) {
        value keys = value_array_new(d->n);
        for (size_t i = 0; i < d->n; i++) keys.u.array->at[i] = value_ref(d->kv[2 * i]);
        diag_add_note(c->diags, "its keys are %s", SHOW(keys));
        value_unref(keys);
    }
    return GPM_E_USER;
}

/* The index of a matrix: pair(i, j) or list(i, j) or [i, j]. */
static bool matrix_place(value key, size_t rows, size_t cols, size_t *i, size_t *j) {
    value v[2] = {NIL, NIL};
    size_t n;
    if (seq_length(key, &n) && n != 2) return false;
    bool ok = seq_get(key, 0, &v[0]);
    if (key.tag == V_PAIR && key.u.pair->rest.tag == V_NUM)
        v[1] = key.u.pair->rest;
    else
        ok = ok && seq_get(key, 1, &v[1]);
    ok = ok && index_below(v[0], rows, i) && index_below(v[1], cols, j);
    value_unref(v[0]);
    value_unref(v[1]);
    return ok;
}

static enum gpm_status item_of_matrix(struct sp_call *c, value v, value key, value *out) {
    const struct matrix_obj *m = v.u.matrix;
    size_t i, j;
    if (key.tag == V_NUM) {
        enum gpm_status st = seq_index(c, key, m->rows, &i);
        if (!st) *out = matrix_row(m, i);
        return st;
    }
    if (matrix_place(key, m->rows, m->cols, &i, &j)) {
        *out = value_num(m->at[i + j * m->rows]);
        return GPM_OK;
    }
    sp_error(c, DIAG_INDEX,
             "lookup: %s is not an index into a %zu by %zu matrix: a row number or "
             "pair(row, column), from 0",
             SHOW(key), m->rows, m->cols);
    if (seq_is(key)) diag_set_help(c->diags, "several rows are m[rows, :]");
    return GPM_E_USER;
}

/* The elements that a sequence of indices names: xs[county]. */
static enum gpm_status gather(struct sp_call *c, value v, value key, value *out) {
    size_t n = 0, m = 0, i, k = 0;
    enum gpm_status st = GPM_OK;
    seq_length(v, &n);
    seq_length(key, &m);
    value *items = NEW_ARRAY(value, m + 1);
    struct seq_walk w = {key, 0};
    for (value at; !st && seq_next(&w, &at);) {
        st = seq_index(c, at, n, &i);
        if (!st) seq_get(v, i, &items[k++]);
    }
    if (!st)
        *out = seq_like_take(v, items, k);
    else
        while (k) value_unref(items[--k]);
    mem_free(items);
    return st;
}

static enum gpm_status no_items(struct sp_call *c, value v, value key) {
    sp_type_error(c, v, "xs must be a sequence, matrix or dictionary");
    if (v.tag == V_PROC && key.tag == V_NUM)
        diag_set_help(c->diags, "a procedure is called: f(%s)", SHOW(key));
    return GPM_E_USER;
}

static enum gpm_status item_of(struct sp_call *c, value v, value key, value *out) {
    size_t n, i;
    if (v.tag == V_DICT) {
        const value *found = dict_find(v.u.dict, key);
        if (!found) return key_error(c, v.u.dict, key);
        *out = value_ref(*found);
        return GPM_OK;
    }
    if (v.tag == V_MATRIX) return item_of_matrix(c, v, key, out);
    if (!seq_length(v, &n)) return no_items(c, v, key);
    if (seq_is(key)) return gather(c, v, key, out);
    enum gpm_status st = seq_index(c, key, n, &i);
    if (!st) seq_get(v, i, out);
    return st;
}

/* m[i, j] of a matrix, without its row in between. */
static bool is_element(const struct sp_call *c, size_t *i, size_t *j) {
    if (c->n != 3 || c->args[0].tag != V_MATRIX) return false;
    const struct matrix_obj *m = c->args[0].u.matrix;
    return index_below(c->args[1], m->rows, i) && index_below(c->args[2], m->cols, j);
}

/* m[rows, columns] of a matrix, of several rows and of one column or several. */
struct part {
    size_t n_rows, n_cols, *row, *col; /* owned */
};

static bool is_part(const struct sp_call *c) {
    return c->n == 3 && c->args[0].tag == V_MATRIX && c->args[1].tag != V_NIL && seq_is(c->args[1]);
}

static enum gpm_status read_places(struct sp_call *c, value key, size_t below, size_t **at,
                                   size_t *n) {
    struct seq_walk w = {key, 0};
    enum gpm_status st = GPM_OK;
    *n = 1;
    bool many = seq_length(key, n);
    *at = NEW_ARRAY(size_t, *n + 1);
    if (!many) return seq_index(c, key, below, *at);
    size_t k = 0;
    for (value item; !st && seq_next(&w, &item); k++) st = seq_index(c, item, below, *at + k);
    return st;
}

static void part_release(struct part *p) {
    mem_free(p->row);
    mem_free(p->col);
}

static enum gpm_status part_init(struct sp_call *c, struct part *p) {
    const struct matrix_obj *m = c->args[0].u.matrix;
    *p = (struct part){0};
    enum gpm_status st = read_places(c, c->args[1], m->rows, &p->row, &p->n_rows);
    if (!st) st = read_places(c, c->args[2], m->cols, &p->col, &p->n_cols);
    if (st) part_release(p);
    return st;
}

static enum gpm_status simulate_part(struct sp_call *c, value *out) {
    const struct matrix_obj *m = c->args[0].u.matrix;
    struct part p;
    enum gpm_status st = part_init(c, &p);
    if (st) return st;
    bool many = seq_is(c->args[2]);
    *out = many ? value_matrix_new(p.n_rows, p.n_cols) : value_vector_new(p.n_rows);
    double *to = many ? out->u.matrix->at : out->u.vector->at;
    for (size_t j = 0; j < p.n_cols; j++)
        for (size_t i = 0; i < p.n_rows; i++) *to++ = m->at[p.row[i] + p.col[j] * m->rows];
    part_release(&p);
    return GPM_OK;
}

/* Each adjoint goes to the element that it was taken from. */
static enum gpm_status grad_part(struct sp_call *c, value dr, value *dargs) {
    const struct matrix_obj *m = c->args[0].u.matrix;
    struct part p;
    enum gpm_status st = part_init(c, &p);
    if (st) return st;
    double *d = NEW_ARRAY(double, p.n_rows *p.n_cols + 1), *from = d;
    adj_doubles(dr, d, p.n_rows * p.n_cols);
    dargs[0] = value_matrix_new(m->rows, m->cols);
    for (size_t j = 0; j < p.n_cols; j++)
        for (size_t i = 0; i < p.n_rows; i++)
            dargs[0].u.matrix->at[p.row[i] + p.col[j] * m->rows] += *from++;
    mem_free(d);
    part_release(&p);
    return GPM_OK;
}

/* xs[[0, 1], 1] of sequences: element 1 of the part would be a row, but the author means a
 * column. */
static enum gpm_status no_table(struct sp_call *c, value v) {
    sp_error(c, DIAG_INDEX, "lookup: several indices and another one are for a matrix, not for %s",
             SHOW(v));
    diag_set_help(c->diags, "matrix(xs)[rows, columns], or xs[rows][i]");
    return GPM_E_USER;
}

/* Indices one after the other: of xs[i, j], element j of element i. */
static enum gpm_status simulate_lookup(struct sp_call *c, value *out) {
    size_t row, col;
    if (is_element(c, &row, &col)) {
        const struct matrix_obj *m = c->args[0].u.matrix;
        *out = value_num(m->at[row + col * m->rows]);
        return GPM_OK;
    }
    if (is_part(c)) return simulate_part(c, out);
    value v = value_ref(c->args[0]), next;
    enum gpm_status st = GPM_OK;
    for (size_t i = 1; i < c->n && !st; i++) {
        size_t n;
        bool several = i + 1 < c->n && seq_is(c->args[i]) && seq_length(v, &n);
        st = several ? no_table(c, v) : item_of(c, v, c->args[i], &next);
        if (!st) value_set_take(&v, next);
    }
    if (!st)
        *out = v;
    else
        value_unref(v);
    return st;
}

static value matrix_adjoint(const struct matrix_obj *m, value key, value dr) {
    size_t i, j;
    value out = value_matrix_new(m->rows, m->cols);
    double *d = out.u.matrix->at;
    if (matrix_place(key, m->rows, m->cols, &i, &j))
        d[i + j * m->rows] = adj_num(dr);
    else if (key.tag == V_NUM)
        for (j = 0; j < m->cols; j++) {
            value x = adj_item(dr, j);
            d[(size_t)key.u.num + j * m->rows] = adj_num(x);
        }
    return out;
}

/* Each adjoint goes to the element that it was taken from; some are taken several times. */
static value gather_adjoint(value v, size_t n, value key, value dr) {
    struct seq_walk w = {key, 0};
    bool numbers = v.tag == V_VECTOR;
    value out = numbers ? value_vector_new(n) : value_array_new(n), at;
    for (size_t i = 0; numbers && i < n; i++) out.u.vector->at[i] = 0;
    for (size_t k = 0; seq_next(&w, &at); k++) {
        value d = adj_item(dr, k);
        size_t i = (size_t)at.u.num;
        if (numbers)
            out.u.vector->at[i] += adj_num(d);
        else
            value_set_take(&out.u.array->at[i], adj_add(out.u.array->at[i], d));
        value_unref(d);
    }
    return out;
}

/* The adjoint of v, of whose item dr is that; no adjoints of dictionaries. */
static value item_adjoint(value v, value key, value dr) {
    size_t n;
    if (v.tag == V_MATRIX) return matrix_adjoint(v.u.matrix, key, dr);
    if (!seq_length(v, &n)) return NIL;
    if (seq_is(key)) return gather_adjoint(v, n, key, dr);
    return key.tag == V_NUM ? adj_unit(n, (size_t)key.u.num, dr) : NIL;
}

/* Back through the items of items, the last index first. */
static enum gpm_status grad_lookup(struct sp_call *c, value r, value dr, value *dargs) {
    if (dr.tag == V_NIL) return GPM_OK;
    if (c->n == 2) {
        dargs[0] = item_adjoint(c->args[0], c->args[1], dr);
        return GPM_OK;
    }
    size_t n = 1, row, col;
    if (is_element(c, &row, &col)) {
        const struct matrix_obj *m = c->args[0].u.matrix;
        dargs[0] = value_matrix_new(m->rows, m->cols);
        dargs[0].u.matrix->at[row + col * m->rows] = adj_num(dr);
        return GPM_OK;
    }
    if (is_part(c)) return grad_part(c, dr, dargs);
    value *through = NEW_ARRAY(value, c->n), d = value_ref(dr);
    enum gpm_status st = GPM_OK;
    through[0] = value_ref(c->args[0]);
    for (; n + 1 < c->n && !st; n += !st) st = item_of(c, through[n - 1], c->args[n], &through[n]);
    for (size_t i = n; i-- > 0 && !st;)
        value_set_take(&d, item_adjoint(through[i], c->args[i + 1], d));
    dargs[0] = d;
    values_free(through, n);
    return st;
}

/* ---- slices -----------------------------------------------------------------------------------
 */

/* subsequence(xs, from, to), take(n, xs), drop(n, xs): n elements of xs, or rows of a matrix. */
enum { BETWEEN, FRONT, REST };
struct slice {
    value of;
    size_t arg, from, n, all; /* arg: which argument it is of */
};

static enum gpm_status slice_of(struct sp_call *c, struct slice *s) {
    int kind = c->cls->variant;
    *s = (struct slice){.arg = kind != BETWEEN};
    s->of = c->args[s->arg];
    if (s->of.tag == V_MATRIX)
        s->all = s->of.u.matrix->rows;
    else if (!seq_length(s->of, &s->all))
        return sp_type_error(c, s->of, "xs must be a sequence or a matrix");
    double given = sp_num(c, !s->arg), all = (double)s->all;
    double a = kind == FRONT ? 0 : given, b = kind == REST ? all : given;
    if (kind == BETWEEN) b = sp_num_or(c, 2, all);
    if (a <= b && b <= all) {
        s->from = (size_t)a;
        s->n = (size_t)b - s->from;
        return GPM_OK;
    }
    if (kind != BETWEEN)
        return sp_error(c, DIAG_INDEX, "%s: %.15g is out of bounds: the sequence has %zu elements",
                        c->cls->name, given, s->all);
    return sp_error(c, DIAG_INDEX,
                    "subsequence: the slice from %.15g to %.15g is out of bounds: there are "
                    "%zu elements",
                    a, b, s->all);
}

static enum gpm_status simulate_slice(struct sp_call *c, value *out) {
    struct slice s;
    value *items;
    enum gpm_status st = slice_of(c, &s);
    if (st) return st;
    if (s.of.tag == V_VECTOR) {
        *out = value_vector(s.of.u.vector->at + s.from, s.n);
    } else if (s.of.tag == V_MATRIX) {
        const struct matrix_obj *m = s.of.u.matrix;
        *out = value_matrix_new(s.n, m->cols);
        for (size_t j = 0; j < m->cols; j++)
            for (size_t i = 0; i < s.n; i++)
                out->u.matrix->at[i + j * s.n] = m->at[s.from + i + j * m->rows];
    } else if (seq_items(s.of, &items, &s.all)) {
        for (size_t i = s.from; i < s.from + s.n; i++) value_ref(items[i]);
        *out = seq_like_take(s.of, items + s.from, s.n);
        values_free(items, s.all);
    }
    return GPM_OK;
}

static enum gpm_status grad_slice(struct sp_call *c, value r, value dr, value *dargs) {
    struct slice s;
    if (dr.tag == V_NIL) return GPM_OK;
    enum gpm_status st = slice_of(c, &s);
    if (st) return st;
    if (s.of.tag != V_MATRIX) {
        dargs[s.arg] = adj_placed(dr, s.all, s.from, s.n);
        return GPM_OK;
    }
    size_t rows = s.all, cols = s.of.u.matrix->cols;
    value out = value_matrix_new(rows, cols);
    double *d = NEW_ARRAY(double, s.n *cols + 1), *to = out.u.matrix->at + s.from;
    mat_adjoint_numbers(dr, s.n, cols, d);
    for (size_t j = 0; j < cols; j++)
        for (size_t i = 0; i < s.n; i++) to[i + j * rows] = d[i + j * s.n];
    mem_free(d);
    dargs[s.arg] = out;
    return GPM_OK;
}

static enum gpm_status simulate_contains(struct sp_call *c, value *out) {
    value v = c->args[0], *items;
    size_t n;
    if (kernel_of(v)) return kernel_contains(c, out);
    if (v.tag == V_DICT) {
        *out = value_bool(dict_find(v.u.dict, c->args[1]) != NULL);
        return GPM_OK;
    }
    enum gpm_status st = seq_arg(c, 0, "xs", &items, &n);
    if (st) return st;
    bool found = false;
    for (size_t i = 0; i < n && !found; i++) found = value_equal(items[i], c->args[1]);
    values_free(items, n);
    *out = value_bool(found);
    return GPM_OK;
}

/* The number of elements, or (variant true) whether it is zero. */
static enum gpm_status simulate_size(struct sp_call *c, value *out) {
    value v = c->args[0];
    size_t n;
    if (v.tag == V_DICT)
        n = v.u.dict->n;
    else if (v.tag == V_MATRIX)
        n = v.u.matrix->rows;
    else if (v.tag == V_STR)
        n = v.u.str->len;
    else if (!seq_length(v, &n))
        return sp_type_error(c, v, "xs must be a sequence, matrix, dictionary or string");
    *out = c->cls->variant ? value_bool(n == 0) : value_num((double)n);
    return GPM_OK;
}

/* ---- dictionaries -------------------------------------------------------------------------------
 */

/* Of its arguments, or (variant true) of the elements of a sequence. */
static enum gpm_status simulate_dict(struct sp_call *c, value *out) {
    value *items = NULL;
    size_t n = c->n;
    enum gpm_status st = c->cls->variant ? seq_arg(c, 0, "entries", &items, &n) : GPM_OK;
    if (st) return st;
    const value *entries = items ? items : c->args;
    value *kv = mem_zalloc((2 * n + 1) * sizeof *kv);
    for (size_t i = 0; i < n && !st; i++) {
        size_t two = 0;
        if (!seq_length(entries[i], &two) || two != 2)
            st = sp_type_error(c, entries[i], "entry %zu must be a sequence of two, key and value",
                               i);
        else {
            seq_get(entries[i], 0, &kv[2 * i]);
            seq_get(entries[i], 1, &kv[2 * i + 1]);
        }
    }
    if (!st) *out = value_dict(kv, n);
    values_free(kv, 2 * n);
    if (items) values_free(items, n);
    return st;
}

/* The keys (variant 0) or the values (1). */
static enum gpm_status simulate_entries(struct sp_call *c, value *out) {
    const struct dict_obj *d = c->args[0].u.dict;
    *out = NIL;
    for (size_t i = d->n; i--;)
        *out = value_pair_take(value_ref(d->kv[2 * i + (size_t)c->cls->variant]), *out);
    return GPM_OK;
}

const struct sp_class sp_list_rows[] = {
    {SP_ROW(list, list, "(...xs: any) -> list", "A list of its arguments.", "list(1, 2) => (1, 2)"),
     .flags = SP_ARRANGES, .grad_simulate = grad_items},
    {SP_ROW(array, array, "(...xs: any) -> array", "An array of its arguments; also `[a, b]`.",
            "array(1, \"a\") => [1, \"a\"]"),
     .flags = SP_ARRANGES, .grad_simulate = grad_items},
    {SP_ROW(vector, vector, "(...xs: number) -> vector", "A vector of numbers.",
            "vector(1, 2) + vector(4, 7) => [5, 9]"),
     .flags = SP_ARRANGES, .grad_simulate = grad_items},
    {SP_ROW(simplex, simplex, "(...ps: probability) -> simplex",
            "A vector of probabilities that add up to 1.", "simplex(0.25, 0.75) => [0.25, 0.75]"),
     .grad_simulate = grad_items},
    {SP_GROW(pair, pair, "(first: any, rest: any) -> pair", "A list of `first` before `rest`.",
             "pair(1, list(2, 3)) => (1, 2, 3)"),
     .flags = SP_ARRANGES},
    {SP_GROW(first, item, "(xs: any) -> any", "The first element of a sequence.",
             "first([4, 5]) => 4"),
     .flags = SP_ARRANGES, .code = SP_CODE_ITEM, .variant = 0},
    {SP_GROW(second, item, "(xs: any) -> any", "The second element of a sequence.",
             "second(list(4, 5)) => 5"),
     .flags = SP_ARRANGES, .code = SP_CODE_ITEM, .variant = 1},
    {SP_GROW(last, item, "(xs: any) -> any", "The last element of a sequence.",
             "last([4, 5, 6]) => 6"),
     .flags = SP_ARRANGES, .variant = LAST},
    {SP_GROW(rest, rest, "(xs: any) -> any", "A sequence without its first element.",
             "rest(list(1, 2, 3)) => (2, 3)"),
     .flags = SP_ARRANGES},
    {SP_GROW(
         lookup, lookup, "(xs: any, i: any, ...more: any) -> any",
         "Element i of a sequence, counted from 0; the value of key i of a dictionary; row i, or "
         "element pair(i, j), of a matrix. Of a sequence of indices: the elements that they name; "
         "m[rows, columns] of sequences is a part of a matrix. Also `xs[i]`, `xs[i, j]`, `m[0:2, "
         ":]`.",
         "lookup([4, 5], 0) => 4"),
     .flags = SP_ARRANGES, .code = SP_CODE_LOOKUP},
    {SP_GROW(take, slice, "(n: count, xs: any) -> any",
             "The first n elements, or rows of a matrix.", "take(2, [4, 5, 6]) => [4, 5]"),
     .flags = SP_ARRANGES, .variant = FRONT},
    {SP_GROW(drop, slice, "(n: count, xs: any) -> any",
             "All but the first n elements, or rows of a matrix.", "drop(1, [4, 5, 6]) => [5, 6]"),
     .flags = SP_ARRANGES, .variant = REST},
    {SP_GROW(subsequence, slice, "(xs: any, from: count, to?: count) -> any",
             "The elements from..to-1 of a sequence, counted from 0, or rows of a matrix; without "
             "`to`, up to the end. Also `xs[from:to]`.",
             "[4, 5, 6, 7][1:3] => [5, 6]"),
     .flags = SP_ARRANGES, .variant = BETWEEN},
    {SP_ROW(
        contains, contains, "(xs: any, x: any) -> bool",
        "Whether x is an element of a sequence or a key of a dictionary; of a kernel: whether the "
        "structure x (text, or a kernel) is among its global additive components after simplify.",
        "contains(make_linear(1) + make_whitenoise(1), \"WN\") => true")},
    {SP_ROW(
         size, size, "(xs: any) -> count",
         "The number of elements, of entries of a dictionary, of rows of a matrix, of bytes of a "
         "string.",
         "size([4, 5]) => 2"),
     .flags = SP_ARRANGES | SP_DISCRETE},
    {SP_ROW(length, size, "(xs: any) -> count", "The same as size.", "length(list()) => 0"),
     .flags = SP_ARRANGES | SP_DISCRETE},
    {SP_ROW(is_empty, size, "(xs: any) -> bool", "Whether there is no element.",
            "is_empty([]) => true"),
     .variant = true},
    {SP_ROW(is_null, size, "(xs: any) -> bool", "The same as is_empty.",
            "is_null(list(1)) => false"),
     .variant = true},
    {SP_ROW(
        dict, dict, "(...entries: any) -> dict",
        "A dictionary of entries [key, value]; a later entry of the same key replaces an earlier.",
        "dict([\"a\", 1], [\"b\", 2]) => {\"a\": 1, \"b\": 2}")},
    {SP_ROW(to_dict, dict, "(entries: any) -> dict", "A dictionary of a sequence of entries.",
            "lookup(to_dict([[1, \"one\"]]), 1) => \"one\""),
     .variant = true},
    {SP_ROW(keys, entries, "(d: dict) -> list", "The keys of a dictionary, in order of insertion.",
            "keys(dict([\"a\", 1])) => (\"a\")"),
     .variant = 0},
    {SP_ROW(values, entries, "(d: dict) -> list",
            "The values of a dictionary, in order of insertion.",
            "values(dict([\"a\", 1])) => (1)"),
     .variant = 1},
};
const size_t sp_list_count = COUNT_OF(sp_list_rows);
