/* SPDX-License-Identifier: Apache-2.0
 *
 * See dataset.h.
 */
#include "inference/run/dataset.h"
#include "base/mem.h"
#include <math.h>
#include <string.h>

static const char *const first_names[DATASET_FIRST] = {"iter", "prt. id", "time (s)",
                                                       "prt. log wgt.", "prt. prob."};

static void dataset_release(struct box *b) {
    struct dataset *d = (struct dataset *)b;
    for (size_t i = 0; i < d->n_columns; i++) mem_free(d->names[i]);
    for (size_t i = 0; i < d->cells.n; i++) value_unref(d->cells.at[i]);
    vec_release(&d->cells);
    mem_free(d->names);
}

static void dataset_print(const struct box *b, struct buf *out) {
    const struct dataset *d = (const struct dataset *)b;
    buf_printf(out, "<dataset %zu rows:", dataset_rows(d));
    for (size_t i = DATASET_FIRST; i < d->n_columns; i++) buf_printf(out, " %s", d->names[i]);
    buf_puts(out, ">");
}

const struct box_class dataset_class = {.name = "dataset",
                                        .size = sizeof(struct dataset),
                                        .release = dataset_release,
                                        .print = dataset_print,
                                        .pack = dataset_pack};

struct dataset *dataset_of(value v) {
    return v.tag == V_BOX && v.u.box->cls == &dataset_class ? (struct dataset *)v.u.box : NULL;
}

struct dataset *dataset_new(const char *const *names, size_t n) {
    struct dataset *d = box_new(&dataset_class);
    if (n == 0) return d;
    dataset_ready(d);
    d->names = mem_realloc(d->names, (d->n_columns + n + 1) * sizeof *d->names);
    for (size_t i = 0; i < n; i++) d->names[d->n_columns++] = names ? mem_strdup(names[i]) : NULL;
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

/* Moves the cells into rows with one more column. */
static void widen(struct dataset *d, const char *name) {
    size_t old = d->n_columns, rows = dataset_rows(d);
    d->names = mem_realloc(d->names, (old + 1) * sizeof *d->names);
    d->names[old] = mem_strdup(name);
    d->n_columns = old + 1;
    vec_reserve(&d->cells, rows * d->n_columns);
    for (size_t i = rows; i-- > 0;) {
        value *to = d->cells.at + i * d->n_columns;
        memmove(to, d->cells.at + i * old, old * sizeof *to);
        to[old] = NIL;
    }
    d->cells.n = rows * d->n_columns;
}

void dataset_ready(struct dataset *d) {
    if (d->n_columns) return;
    d->names = NEW_ARRAY(char *, DATASET_FIRST);
    for (size_t i = 0; i < DATASET_FIRST; i++) d->names[i] = mem_strdup(first_names[i]);
    d->n_columns = DATASET_FIRST;
}

size_t dataset_column(struct dataset *d, const char *name, size_t nth) {
    for (size_t c = DATASET_FIRST; c < d->n_columns; c++)
        if (!strcmp(d->names[c], name) && nth-- == 0) return c;
    dataset_ready(d);
    widen(d, name);
    return d->n_columns - 1;
}

/* The number of columns before c with the same name. */
static size_t same_before(const struct dataset *d, size_t c) {
    size_t n = 0;
    for (size_t i = DATASET_FIRST; i < c; i++) n += !strcmp(d->names[i], d->names[c]);
    return n;
}

void dataset_append(struct dataset *d, const struct dataset *b, double iter) {
    size_t *to = NEW_ARRAY(size_t, b->n_columns + 1), rows = dataset_rows(b);
    for (size_t c = 0; c < b->n_columns; c++) {
        bool same = c < d->n_columns && !strcmp(d->names[c], b->names[c]);
        to[c] = same || c < DATASET_FIRST ? c : dataset_column(d, b->names[c], same_before(b, c));
    }
    for (size_t r = 0; r < rows; r++) {
        size_t at = d->cells.n;
        for (size_t c = 0; c < d->n_columns; c++) vec_push(&d->cells, NIL);
        for (size_t c = 0; c < b->n_columns; c++)
            d->cells.at[at + to[c]] = value_ref(b->cells.at[r * b->n_columns + c]);
        if (iter >= 0) d->cells.at[at + DATASET_ITER] = value_num(iter);
    }
    mem_free(to);
}

static double dataset_number(const struct dataset *d, size_t row, size_t column) {
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

/* Writes "[3]", "[2,5]" or "" into `text`; returns the length. */
enum { INDEX = 24, SUFFIX = 2 * INDEX }; /* at most a number with comma or bracket */
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

/* Does the next column agree with the previous row? If not, later columns of that row are
 * discarded. */
static bool like_before(struct draw_row *r, const struct draw_column *c) {
    size_t i = r->n_columns++;
    const struct draw_column *was = i < r->columns.n ? &r->columns.at[i] : NULL;
    if (was && was->n_index == c->n_index && was->rows == c->rows && was->columns == c->columns &&
        !strcmp(was->name, c->name))
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

bool dataset_weights(const struct dataset *d, size_t from, size_t end, double n, double *w) {
    bool any = false;
    for (size_t r = from; r < end; r++) {
        double over = dataset_number(d, r, DATASET_PROB) * n;
        any |= !(fabs(over - 1) < 1e-9);
        w[r - from] = log(over);
    }
    if (!any) memset(w, 0, (end - from) * sizeof *w);
    return any;
}

/* The end of the rows that were collected together with row `from`. */
static size_t group_end(const struct dataset *d, size_t from) {
    size_t rows = dataset_rows(d), r = from + 1;
    while (r < rows && dataset_number(d, r, DATASET_PARTICLE) == (double)(r - from)) r++;
    return r;
}

/* For every row: log of its weight over the mean weight of the particles collected with it. NULL:
 * all are 0. Caller frees with mem_free. */
static double *dataset_log_weights(const struct dataset *d) {
    size_t rows = dataset_rows(d);
    double *w = mem_zalloc((rows + 1) * sizeof *w);
    bool any = false;
    for (size_t r = 0, end; r < rows; r = end) {
        end = group_end(d, r);
        any |= dataset_weights(d, r, end, (double)(end - r), w + r);
    }
    if (any) return w;
    mem_free(w);
    return NULL;
}

size_t *dataset_drawn(const struct dataset *d) {
    size_t n = dataset_rows(d);
    double *w = dataset_log_weights(d);
    if (!w) return NULL;
    size_t *rows = NEW_ARRAY(size_t, n + 1);
    draws_comb(w, n, rows);
    mem_free(w);
    return rows;
}

void dataset_warn_drawn(struct infer_state *x, const char *who) {
    diag_warn(x->core->diags, DIAG_PARTICLES, x->at,
              "%s: the rows have weights, which differ; as many rows were drawn by weight", who);
    diag_set_help(x->core->diags,
                  "summarize(d) takes the weights in as they are; resample(n) before "
                  "collect makes them equal");
}

void dataset_table(const struct dataset *d, struct draw_table *out) {
    double *weights = dataset_log_weights(d);
    struct draw_row row = {0};
    draw_table_init(out, 1);
    for (size_t r = 0; r < dataset_rows(d); r++) {
        draw_row_begin(&row);
        if (weights) (void)draw_row_add(&row, DRAWS_LOG_WEIGHT, value_num(weights[r]));
        for (size_t c = DATASET_FIRST; c < d->n_columns; c++)
            (void)draw_row_add(&row, d->names[c], d->cells.at[r * d->n_columns + c]);
        draw_table_push(out, 0, (const char *const *)row.names.at, row.at.at, row.at.n);
    }
    draw_table_arrange(out);
    draw_row_release(&row);
    mem_free(weights);
}
