/* SPDX-License-Identifier: Apache-2.0
 *
 * See dataset.h.
 */
#include "infer/dataset.h"
#include "base/mem.h"
#include <math.h>
#include <string.h>

static const char *const first_names[DATASET_FIRST] = {"iter", "prt. id", "time (s)",
                                                       "prt. log wgt.", "prt. prob."};

static void dataset_free(struct box *b) {
    struct dataset *d = (struct dataset *)b;
    for (size_t i = 0; i < d->n_columns; i++) mem_free(d->names[i]);
    for (size_t i = 0; i < d->cells.n; i++) value_unref(d->cells.at[i]);
    vec_release(&d->cells);
    mem_free(d->names);
    mem_free(d);
}

static void dataset_print(const struct box *b, struct buf *out) {
    const struct dataset *d = (const struct dataset *)b;
    buf_printf(out, "<dataset %zu rows:", dataset_rows(d));
    for (size_t i = DATASET_FIRST; i < d->n_columns; i++) buf_printf(out, " %s", d->names[i]);
    buf_puts(out, ">");
}

const struct box_class dataset_class = {
    .name = "dataset", .free = dataset_free, .print = dataset_print, .pack = dataset_pack};

struct dataset *dataset_of(value v) {
    return v.tag == V_BOX && v.u.box->cls == &dataset_class ? (struct dataset *)v.u.box : NULL;
}

struct dataset *dataset_new(const char *const *names, size_t n) {
    struct dataset *d = NEW(struct dataset);
    box_init(&d->box, &dataset_class);
    if (n == 0) return d;
    d->n_columns = n + DATASET_FIRST;
    d->names = NEW_ARRAY(char *, d->n_columns);
    for (size_t i = 0; i < DATASET_FIRST; i++) d->names[i] = mem_strdup(first_names[i]);
    for (size_t i = 0; i < n; i++)
        d->names[DATASET_FIRST + i] = names ? mem_strdup(names[i]) : NULL;
    return d;
}

enum gpm_status dataset_give(struct dataset *d, enum gpm_status st, value *out) {
    *out = value_box(V_BOX, &d->box);
    if (st != GPM_OK) value_set_take(out, NIL);
    return st;
}

void dataset_begin_row(struct dataset *d, const double first[DATASET_FIRST]) {
    for (size_t i = 0; i < DATASET_FIRST; i++) vec_push(&d->cells, value_num(first[i]));
}

size_t dataset_rows(const struct dataset *d) {
    return d->n_columns ? d->cells.n / d->n_columns : 0;
}

bool dataset_append(struct dataset *d, const struct dataset *b, double iter) {
    if (b->n_columns == 0) return true;
    if (d->n_columns == 0) { /* the first rows bring the columns */
        d->n_columns = b->n_columns;
        d->names = NEW_ARRAY(char *, d->n_columns);
        for (size_t i = 0; i < d->n_columns; i++) d->names[i] = mem_strdup(b->names[i]);
    }
    if (d->n_columns != b->n_columns) return false;
    for (size_t i = 0; i < d->n_columns; i++)
        if (strcmp(d->names[i], b->names[i]) != 0) return false;
    for (size_t i = 0; i < b->cells.n; i++) {
        bool stamp = iter >= 0 && i % b->n_columns == DATASET_ITER;
        vec_push(&d->cells, stamp ? value_num(iter) : value_ref(b->cells.at[i]));
    }
    return true;
}

double dataset_number(const struct dataset *d, size_t row, size_t column) {
    double x;
    return value_number(d->cells.at[row * d->n_columns + column], &x) ? x : NAN;
}

double *dataset_numbers(const struct dataset *d, size_t column) {
    size_t rows = dataset_rows(d);
    double *x = NEW_ARRAY(double, rows + 1);
    for (size_t i = 0; i < rows; i++) x[i] = dataset_number(d, i, column);
    return x;
}

/* ---- draws ---- */

/* "[3]", "[2,5]" or "" into `text`; how long it is. */
enum { INDEX = 24, SUFFIX = 2 * INDEX }; /* a number at most, with comma or bracket */
static size_t put_index(char text[SUFFIX], const size_t *index, size_t n_index) {
    char *at = text;
    for (size_t i = 0; i < n_index; i++) {
        char digits[INDEX], *d = digits + INDEX;
        size_t left = index[i];
        do *--d = (char)('0' + left % 10);
        while (left /= 10);
        *at++ = i ? ',' : '[';
        memcpy(at, d, (size_t)(digits + INDEX - d));
        at += digits + INDEX - d;
    }
    if (n_index) *at++ = ']';
    return (size_t)(at - text);
}

static void set_name(struct draw_row *r, size_t k, const char *name, const size_t *index,
                     size_t n_index) {
    char suffix[SUFFIX];
    size_t n = strlen(name), m = put_index(suffix, index, n_index);
    char *text = NEW_ARRAY(char, n + m + 1);
    memcpy(text, name, n);
    memcpy(text + n, suffix, m);
    text[n + m] = 0;
    if (k == r->names.n) vec_push(&r->names, NULL);
    mem_free(r->names.at[k]);
    r->names.at[k] = text;
}

void draw_row_begin(struct draw_row *r) {
    r->at.n = r->n_columns = 0;
}

static void forget_columns(struct draw_row *r, size_t from) {
    while (r->columns.n > from) mem_free(vec_pop(&r->columns).name);
}

/* Is the next column as in the row before? If not, that row says nothing of those behind, either.
 */
static bool like_before(struct draw_row *r, const struct draw_column *c) {
    size_t i = r->n_columns++;
    const struct draw_column *was = &r->columns.at[i];
    if (i < r->columns.n && was->n_index == c->n_index && was->rows == c->rows &&
        was->columns == c->columns && !strcmp(was->name, c->name))
        return true;
    forget_columns(r, i);
    vec_push(&r->columns, *c);
    vec_last(&r->columns).name = mem_strdup(c->name);
    return false;
}

static void add_numbers(struct draw_row *r, const struct draw_column *c, const double *x) {
    size_t first = r->at.n, n = c->rows * c->columns;
    vec_reserve(&r->at, first + n);
    memcpy(r->at.at + first, x, n * sizeof *x);
    r->at.n += n;
    if (like_before(r, c)) return;
    for (size_t i = 0; i < n; i++)
        set_name(r, first + i, c->name, (size_t[]){1 + i % c->rows, 1 + i / c->rows}, c->n_index);
}

bool draw_row_add(struct draw_row *r, const char *name, value v) {
    double one, *x;
    struct draw_column c = {(char *)name, 0, 1, 1};
    if (value_number(v, &one)) {
        add_numbers(r, &c, &one);
    } else if (v.tag == V_MATRIX) {
        c = (struct draw_column){(char *)name, 2, v.u.matrix->rows, v.u.matrix->cols};
        add_numbers(r, &c, v.u.matrix->at);
    } else if (seq_numbers(v, &x, &c.rows)) {
        c.n_index = 1;
        if (c.rows) add_numbers(r, &c, x);
        mem_free(x);
    } else
        return false;
    return true;
}

void draw_row_release(struct draw_row *r) {
    for (size_t i = 0; i < r->names.n; i++) mem_free(r->names.at[i]);
    forget_columns(r, 0);
    vec_release(&r->columns);
    vec_release(&r->names);
    vec_release(&r->at);
}

/* The row's numbers, as many of each column as the first row has. */
static void add_row(const struct dataset *d, size_t row, const size_t *width,
                    struct draw_table *out) {
    VEC(double) at = {0};
    for (size_t c = DATASET_FIRST; c < d->n_columns; c++) {
        struct draw_row r = {0};
        (void)draw_row_add(&r, "", d->cells.at[row * d->n_columns + c]);
        for (size_t i = 0; i < width[c]; i++) vec_push(&at, i < r.at.n ? r.at.at[i] : NAN);
        draw_row_release(&r);
    }
    draw_table_push(out, 0, at.at);
    vec_release(&at);
}

void dataset_table(const struct dataset *d, struct draw_table *out) {
    struct draw_row first = {0};
    size_t *width = NEW_ARRAY(size_t, d->n_columns + 1), rows = dataset_rows(d);
    for (size_t c = DATASET_FIRST; c < d->n_columns; c++) {
        size_t before = first.at.n;
        if (!rows || !draw_row_add(&first, d->names[c], d->cells.at[c]))
            (void)draw_row_add(&first, d->names[c], value_num(NAN));
        width[c] = first.at.n - before;
    }
    draw_table_init(out, (const char *const *)first.names.at, first.names.n, 1);
    for (size_t r = 0; r < rows; r++) add_row(d, r, width, out);
    draw_row_release(&first);
    mem_free(width);
}
