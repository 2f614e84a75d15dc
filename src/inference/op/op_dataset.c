/* SPDX-License-Identifier: Apache-2.0
 *
 * Actions on datasets: gather, join, print as a table.
 */
#include "inference/run/dataset.h"
#include "base/mem.h"
#include "inference/run/advice.h"
#include "numeric/posterior/draws.h"
#include "inference/run/infer_pack.h"
#include "inference/run/progress.h"
#include "inference/op/query.h"
#include <string.h>

static enum gpm_status op_empty(struct infer_state *x, const struct action *a, value *out) {
    *out = value_box(V_BOX, &dataset_new(NULL, 0)->box);
    return GPM_OK;
}

/* A dataset under construction, to which others are appended. */
struct joined {
    struct infer_state *x;
    const struct infer_op *op;
    struct dataset *all;
};

/* Appends the rows of v as iteration i + 1; i < 0 keeps their numbers. */
static enum gpm_status append(void *ctx, double i, value v) {
    struct joined *j = ctx;
    struct dataset *d = dataset_of(v);
    if (!d)
        return infer_error(j->x, DIAG_TYPE, "%s needs a dataset, as collect gives one; got a %s",
                           j->op->name, value_type_name(v));
    dataset_append(j->all, d, i < 0 ? -1 : i + 1);
    return GPM_OK;
}

static void pack_joined(struct pack *p, void *ctx) {
    pack_dataset(p, &((struct joined *)ctx)->all);
}

/* Runs `a` n times and joins the resulting datasets, with iterations numbered from 1. */
static enum gpm_status op_accumulate(struct infer_state *x, const struct action *a, value *out) {
    struct joined j = {x, a->op, NULL};
    struct waypoint here = {PLACE_OPERATOR, pack_joined, &j, NULL, false};
    if (!place_enter(x->core, &here) && !j.all) j.all = dataset_new(NULL, 0);
    place_hand(x->core);
    enum gpm_status st = progress_repeat(x, a->args[0].u.num, a->args[1], append, &j);
    place_leave(x->core, &here);
    st = dataset_give(j.all, st, out);
    query_note(x, *out);
    return st;
}

/* into(a, b), join_datasets(a, b, ...), join_datasets([a, b, ...]) */
static enum gpm_status op_join(struct infer_state *x, const struct action *a, value *out) {
    value all = a->n == 1 ? value_ref(a->args[0]) : value_array(a->args, a->n), *items;
    size_t n;
    seq_or_one(all, &items, &n);
    struct joined j = {x, a->op, dataset_new(NULL, 0)};
    enum gpm_status st = GPM_OK;
    for (size_t i = 0; i < n && st == GPM_OK; i++) st = append(&j, -1, items[i]);
    values_free(items, n);
    value_unref(all);
    return dataset_give(j.all, st, out);
}

/* ---- tables ---- */

static void cell_text(value v, struct buf *out) {
    if (v.tag == V_NUM) {
        buf_printf(out, "%.6g", v.u.num);
    } else {
        value_print(v, out);
    }
}

/* Leaves out the clock, so that the same seed prints the same table. */
static void table_text(const struct dataset *d, struct buf *out) {
    size_t rows = dataset_rows(d), *width = NEW_ARRAY(size_t, d->n_columns + 1);
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
            if (c == DATASET_TIME) continue;
            if (r == 0) buf_puts(out, d->names[c]);
            if (r > 0) cell_text(d->cells.at[(r - 1) * d->n_columns + c], out);
            while (c + 1 < d->n_columns && out->len - from < width[c] + 2) buf_putc(out, ' ');
        }
        buf_putc(out, '\n');
    }
    buf_release(&cell);
    mem_free(width);
}

/* The same as HTML. */
static void table_html(const struct dataset *d, struct buf *out) {
    size_t rows = dataset_rows(d);
    struct buf cell = BUF_INIT;
    buf_puts(out, "<table>\n");
    for (size_t r = 0; r <= rows; r++) { /* row 0: the names */
        buf_puts(out, r ? "<tr>" : "<thead><tr>");
        for (size_t c = 0; c < d->n_columns; c++) {
            if (c == DATASET_TIME) continue;
            buf_reset(&cell);
            if (r == 0) buf_puts(&cell, d->names[c]);
            if (r > 0) cell_text(d->cells.at[(r - 1) * d->n_columns + c], &cell);
            buf_puts(out, r ? "<td>" : "<th>");
            buf_markup(out, cell.len ? cell.data : "");
            buf_puts(out, r ? "</td>" : "</th>");
        }
        buf_puts(out, r ? "</tr>\n" : "</tr></thead>\n");
    }
    buf_puts(out, "</table>\n");
    buf_release(&cell);
}

static void write_out(struct infer_state *x, struct buf *b) {
    infer_write(x, b->data, b->len);
    buf_release(b);
}

static enum gpm_status op_printf(struct infer_state *x, const struct action *a, value *out) {
    struct buf b = BUF_INIT, html = BUF_INIT;
    table_text(dataset_of(a->args[0]), &b);
    if (x->show) table_html(dataset_of(a->args[0]), &html);
    infer_present(x, &b, "text/html", &html);
    buf_release(&b);
    buf_release(&html);
    return GPM_OK;
}

static enum gpm_status op_sweep(struct infer_state *x, const struct action *a, value *out) {
    struct dataset *d = dataset_of(a->args[0]);
    size_t rows = dataset_rows(d);
    struct buf b = BUF_INIT;
    buf_puts(&b, "Sweep ");
    cell_text(rows ? d->cells.at[(rows - 1) * d->n_columns + DATASET_ITER] : value_num(0), &b);
    buf_putc(&b, '\n');
    write_out(x, &b);
    return GPM_OK;
}

/* Reports columns without any number. */
static void tell_left_out(const struct dataset *d, struct buf *out) {
    struct draw_row row = {0};
    for (size_t c = DATASET_FIRST; c < d->n_columns; c++) {
        bool any = dataset_rows(d) == 0;
        for (size_t r = 0; r < dataset_rows(d) && !any; r++) {
            draw_row_begin(&row);
            any = draw_row_add(&row, "", d->cells.at[r * d->n_columns + c]);
        }
        if (!any) buf_printf(out, "%s: no numbers\n", d->names[c]);
    }
    draw_row_release(&row);
}

void dataset_summarise(struct infer_state *x, const struct dataset *d, bool json) {
    struct draw_table all;
    struct buf b = BUF_INIT, html = BUF_INIT, rest = BUF_INIT, accepted = BUF_INIT;
    dataset_table(d, &all);
    (json ? draw_table_summary_json : draw_table_summary)(&all, &b);
    acceptance_text(x, NULL, 0, &accepted);
    tell_left_out(d, &rest);
    if (accepted.len) buf_printf(&rest, "proposals accepted: %s\n", accepted.data);
    advice_all(x, &rest);
    if (x->show) draw_table_summary_html(&all, rest.len ? rest.data : "", &html);
    if (!json) buf_add(&b, rest.data, rest.len);
    infer_present(x, &b, "text/html", &html);
    buf_release(&b);
    buf_release(&html);
    buf_release(&rest);
    buf_release(&accepted);
    draw_table_release(&all);
}

static enum gpm_status op_summarize(struct infer_state *x, const struct action *a, value *out) {
    dataset_summarise(x, dataset_of(a->args[0]), false);
    return GPM_OK;
}

/* Rows with weights are drawn by weight, and then weigh the same. */
static enum gpm_status op_column(struct infer_state *x, const struct action *a, value *out) {
    struct dataset *d = dataset_of(a->args[0]);
    const char *name = value_text(a->args[1]);
    for (size_t c = 0; c < d->n_columns; c++) {
        if (strcmp(d->names[c], name) != 0) continue;
        size_t rows = dataset_rows(d), *drawn = dataset_drawn(d);
        bool weight = drawn && (c == DATASET_LOG_WEIGHT || c == DATASET_PROB);
        *out = value_array_new(rows);
        for (size_t r = 0; r < rows; r++) {
            value v = d->cells.at[(drawn ? drawn[r] : r) * d->n_columns + c];
            out->u.array->at[r] =
                weight ? value_num(c == DATASET_PROB ? 1 / (double)rows : 0) : value_ref(v);
        }
        if (drawn) dataset_warn_drawn(x, a->op->name);
        mem_free(drawn);
        return GPM_OK;
    }
    return infer_error(x, DIAG_KEY, "the dataset has no column '%s'", name);
}

const struct infer_op infer_dataset_rows[] = {
    {"empty", "() -> dataset", "a dataset without rows", .flags = OP_PLAIN, .run = op_empty},
    {"accumulate_dataset", "(n: count, a: action) -> action",
     "runs a n times and joins the datasets that it gives", .flags = OP_RESUMES,
     .run = op_accumulate},
    {"into", "(a: any, b: any) -> any", "a dataset with the rows of a, then those of b",
     .flags = OP_PLAIN, .run = op_join},
    {"join_datasets", "(...ds: any) -> any", "one dataset with the rows of all", .flags = OP_PLAIN,
     .run = op_join},
    {"column", "(d: dataset, name: name) -> array",
     "the values of one column of a dataset; of rows whose weights differ (particles), of as many "
     "rows drawn by weight, the same for every column",
     .flags = OP_PLAIN, .run = op_column},
    {"printf", "(d: dataset) -> action", "prints a dataset as a table", .run = op_printf},
    {"summarize", "(d: dataset) -> action",
     "prints mean, Monte Carlo error, spread, quantiles, effective sample sizes and R-hat of every "
     "column of a dataset; then the share of proposals accepted so far by scope, and divergences",
     .run = op_summarize},
    {"sweep", "(d: dataset) -> action", "prints the number of the last iteration of a dataset",
     .run = op_sweep},
    {0},
};
