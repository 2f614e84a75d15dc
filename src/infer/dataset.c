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
    .name = "dataset", .free = dataset_free, .print = dataset_print};

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
