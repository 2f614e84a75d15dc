/* SPDX-License-Identifier: Apache-2.0
 *
 * Actions on datasets: gather, join, print as a table.
 */
#include "infer/dataset.h"
#include "base/mem.h"
#include "infer/draws.h"
#include "infer/progress.h"
#include "infer/query.h"
#include <string.h>

static struct dataset *need_dataset(struct infer_state *x, const char *op, value v) {
    struct dataset *d = dataset_of(v);
    if (!d) {
        (void)!infer_error(x, DIAG_TYPE, "%s needs a dataset, as collect gives one; got a %s", op,
                           value_type_name(v));
    }
    return d;
}

static enum gpm_status other_columns(struct infer_state *x, const char *op, struct dataset *d) {
    value_unref(value_box(V_BOX, &d->box));
    return infer_error(x, DIAG_BAD_OPERATOR_ARG, "%s: the datasets have different columns", op);
}

static enum gpm_status op_empty(struct infer_state *x, const value *args, size_t n, value *out) {
    *out = value_box(V_BOX, &dataset_new(NULL, 0)->box);
    return GPM_OK;
}

static enum gpm_status accumulate_one(struct infer_state *x, value a, double i,
                                      struct dataset *all) {
    value v;
    enum gpm_status st = action_run(x->core, a, x->at, &v);
    if (st != GPM_OK) return st;
    struct dataset *d = need_dataset(x, "accumulate_dataset", v);
    if (!d) {
        st = GPM_E_USER;
    } else if (!dataset_append(all, d, i)) {
        st = infer_error(x, DIAG_BAD_OPERATOR_ARG,
                         "accumulate_dataset: the datasets have different columns");
    }
    value_unref(v);
    return st;
}

/* Runs `a` n times and joins the datasets it gives; the iterations are numbered from 1. */
static enum gpm_status op_accumulate(struct infer_state *x, const value *args, size_t n,
                                     value *out) {
    struct progress_loop loop;
    struct dataset *all = dataset_new(NULL, 0);
    enum gpm_status st = GPM_OK;
    progress_begin(&loop, x, args[0].u.num);
    for (double i = 1; i <= args[0].u.num && st == GPM_OK; i++) {
        progress_step(&loop, i - 1);
        st = accumulate_one(x, args[1], i, all);
    }
    progress_end(&loop);
    value v = value_box(V_BOX, &all->box);
    if (st == GPM_OK) {
        query_note(x, v);
        *out = v;
    } else {
        value_unref(v);
    }
    return st;
}

static enum gpm_status join(struct infer_state *x, const char *op, const value *items, size_t n,
                            value *out) {
    struct dataset *all = dataset_new(NULL, 0);
    for (size_t i = 0; i < n; i++) {
        struct dataset *d = need_dataset(x, op, items[i]);
        if (!d) {
            value_unref(value_box(V_BOX, &all->box));
            return GPM_E_USER;
        }
        if (!dataset_append(all, d, -1)) return other_columns(x, op, all);
    }
    *out = value_box(V_BOX, &all->box);
    return GPM_OK;
}

static enum gpm_status op_into(struct infer_state *x, const value *args, size_t n, value *out) {
    return join(x, "into", args, n, out);
}

static enum gpm_status op_join(struct infer_state *x, const value *args, size_t n, value *out) {
    value *items;
    size_t k;
    if (n != 1 || !seq_items(args[0], &items, &k)) return join(x, "join_datasets", args, n, out);
    enum gpm_status st = join(x, "join_datasets", items, k, out);
    values_free(items, k);
    return st;
}

/* ---- tables ---- */

/* The clock is left out: the same seed prints the same table. */
static bool shown(size_t column) {
    return column != DATASET_TIME;
}

static void pad(struct buf *out, size_t from, size_t width) {
    for (size_t have = out->len - from; have < width; have++) buf_putc(out, ' ');
}

static void cell_text(value v, struct buf *out) {
    if (v.tag == V_NUM) {
        buf_printf(out, "%.6g", v.u.num);
    } else {
        value_print(v, out);
    }
}

static void table_text(const struct dataset *d, struct buf *out) {
    size_t rows = dataset_rows(d), *width = NEW_ARRAY(size_t, d->n_columns ? d->n_columns : 1);
    struct buf cell = BUF_INIT;
    for (size_t c = 0; c < d->n_columns; c++) {
        width[c] = strlen(d->names[c]);
        for (size_t r = 0; r < rows; r++) {
            buf_reset(&cell);
            cell_text(d->cells.at[r * d->n_columns + c], &cell);
            if (cell.len > width[c]) width[c] = cell.len;
        }
    }
    for (size_t r = 0; r <= rows && d->n_columns; r++) { /* row 0: the names */
        for (size_t c = 0; c < d->n_columns; c++) {
            size_t from = out->len;
            if (!shown(c)) continue;
            if (r == 0) buf_puts(out, d->names[c]);
            if (r > 0) cell_text(d->cells.at[(r - 1) * d->n_columns + c], out);
            if (c + 1 < d->n_columns) pad(out, from, width[c] + 2);
        }
        buf_putc(out, '\n');
    }
    buf_release(&cell);
    mem_free(width);
}

static enum gpm_status op_printf(struct infer_state *x, const value *args, size_t n, value *out) {
    struct dataset *d = dataset_of(args[0]);
    struct buf b = BUF_INIT;
    table_text(d, &b);
    infer_write(x, b.data, b.len);
    buf_release(&b);
    *out = NIL;
    return GPM_OK;
}

static enum gpm_status op_sweep(struct infer_state *x, const value *args, size_t n, value *out) {
    struct dataset *d = dataset_of(args[0]);
    size_t rows = dataset_rows(d);
    struct buf b = BUF_INIT;
    buf_puts(&b, "Sweep ");
    cell_text(rows ? d->cells.at[(rows - 1) * d->n_columns + DATASET_ITER] : value_num(0), &b);
    buf_putc(&b, '\n');
    infer_write(x, b.data, b.len);
    buf_release(&b);
    *out = NIL;
    return GPM_OK;
}

/* Numbers of every collected column, as one chain in the order of the rows. */
static enum gpm_status op_summarize(struct infer_state *x, const value *args, size_t n,
                                    value *out) {
    struct dataset *d = dataset_of(args[0]);
    size_t k = d->n_columns ? d->n_columns - DATASET_FIRST : 0, rows = dataset_rows(d);
    struct draw_table all;
    struct buf b = BUF_INIT;
    draw_table_init(&all, k ? (const char *const *)d->names + DATASET_FIRST : NULL, k, 1);
    double **columns = NEW_ARRAY(double *, k ? k : 1), *row = NEW_ARRAY(double, k ? k : 1);
    for (size_t c = 0; c < k; c++) columns[c] = dataset_numbers(d, DATASET_FIRST + c);
    for (size_t r = 0; r < rows; r++) {
        for (size_t c = 0; c < k; c++) row[c] = columns[c][r];
        draw_table_push(&all, 0, row);
    }
    draw_table_summary(&all, &b);
    struct buf accepted = BUF_INIT;
    acceptance_text(x, NULL, 0, &accepted);
    if (accepted.len) buf_printf(&b, "proposals accepted: %s\n", accepted.data);
    buf_release(&accepted);
    nuts_complain(x, &b);
    infer_write(x, b.data, b.len);
    for (size_t c = 0; c < k; c++) mem_free(columns[c]);
    mem_free(columns);
    mem_free(row);
    buf_release(&b);
    draw_table_release(&all);
    *out = NIL;
    return GPM_OK;
}

static enum gpm_status op_column(struct infer_state *x, const value *args, size_t n, value *out) {
    struct dataset *d = dataset_of(args[0]);
    const char *name = args[1].tag == V_SYM ? args[1].u.sym->text : args[1].u.str->text;
    for (size_t c = 0; c < d->n_columns; c++) {
        if (strcmp(d->names[c], name) != 0) continue;
        size_t rows = dataset_rows(d);
        *out = value_array_new(rows);
        for (size_t r = 0; r < rows; r++) {
            out->u.array->at[r] = value_ref(d->cells.at[r * d->n_columns + c]);
        }
        return GPM_OK;
    }
    return infer_error(x, DIAG_KEY, "the dataset has no column '%s'", name);
}

const struct infer_op infer_dataset_rows[] = {
    {"empty", "() -> dataset", "a dataset without rows", NULL, OP_PLAIN, op_empty},
    {"accumulate_dataset", "(n: count, a: action) -> action",
     "runs a n times and joins the datasets that it gives", NULL, 0, op_accumulate},
    {"into", "(a: any, b: any) -> any", "a dataset with the rows of a, then those of b", NULL,
     OP_PLAIN, op_into},
    {"join_datasets", "(...ds: any) -> any", "one dataset with the rows of all", NULL, OP_PLAIN,
     op_join},
    {"column", "(d: dataset, name: name) -> array", "the values of one column of a dataset", NULL,
     OP_PLAIN, op_column},
    {"printf", "(d: dataset) -> action", "prints a dataset as a table", NULL, 0, op_printf},
    {"summarize", "(d: dataset) -> action",
     "prints mean, Monte Carlo error, spread, quantiles, effective sample sizes and R-hat of every "
     "column of a dataset; then the share of proposals accepted so far by scope, and divergences",
     NULL, 0, op_summarize},
    {"sweep", "(d: dataset) -> action", "prints the number of the last iteration of a dataset",
     NULL, 0, op_sweep},
};
const size_t infer_dataset_count = COUNT_OF(infer_dataset_rows);
