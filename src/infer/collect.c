/* SPDX-License-Identifier: Apache-2.0
 *
 * collect: the values of expressions in every particle, one row each, as a dataset.
 */
#include "base/mem.h"
#include "base/vec.h"
#include "infer/dataset.h"
#include "infer/query.h"
#include "base/clock.h"
#include <math.h>

/* A column is called by its label, else by the text of its expression. */
static char *column_name(const struct action *a, size_t i) {
    const struct ast *dir = a->ast;
    if (i < dir->u.dir.n_names && dir->u.dir.names[i]) {
        return mem_strdup(dir->u.dir.names[i]->text);
    }
    struct buf b = BUF_INIT;
    ast_print(dir->kids[i]->kids[0], &b);
    return buf_take(&b);
}

static enum gpm_status collect_row(struct infer_state *x, struct action *a, size_t particle,
                                   double total, struct dataset *d) {
    struct trace *t = x->model->p.at[particle];
    double prob = isfinite(total) ? exp(t->log_weight - total) : 1 / (double)x->model->p.n;
    dataset_begin_row(
        d, (double[DATASET_FIRST]){1, (double)particle, clock_seconds(), t->log_weight, prob});
    for (size_t i = 0; i < a->n_splices; i++) {
        value v;
        enum gpm_status st = trace_sample(t, a->ast->kids[i]->kids[0], a->splices[i], &v);
        if (st != GPM_OK) return st;
        vec_push(&d->cells, v);
    }
    return GPM_OK;
}

/* A row as plain numbers with their names. */
struct draw_row {
    VEC(char *) names;
    VEC(double) at;
};

static void add_number(struct draw_row *r, const char *name, size_t index, double x) {
    struct buf b = BUF_INIT;
    buf_puts(&b, name);
    if (index) buf_printf(&b, "[%zu]", index);
    vec_push(&r->names, buf_take(&b));
    vec_push(&r->at, x);
}

/* A number, or a sequence of numbers as name[1], name[2], ... */
static void add_cell(struct draw_row *r, const char *name, value v) {
    double one, *x;
    size_t n;
    if (value_number(v, &one)) {
        add_number(r, name, 0, one);
    } else if (seq_numbers(v, &x, &n)) {
        for (size_t i = 0; i < n; i++) add_number(r, name, i + 1, x[i]);
        mem_free(x);
    }
}

static void pass_draws_on(struct infer_state *x, const struct dataset *d) {
    for (size_t row = 0; row < dataset_rows(d); row++) {
        struct draw_row r = {0};
        for (size_t c = DATASET_FIRST; c < d->n_columns; c++) {
            add_cell(&r, d->names[c], d->cells.at[row * d->n_columns + c]);
        }
        x->draw(x->draw_user, (const char *const *)r.names.at, r.at.at, r.at.n);
        for (size_t i = 0; i < r.names.n; i++) mem_free(r.names.at[i]);
        vec_release(&r.names);
        vec_release(&r.at);
    }
}

enum gpm_status collect_run(struct infer_state *x, struct action *a, value *out) {
    struct dataset *d = dataset_new(NULL, a->n_splices);
    double total = model_log_weight(x->model);
    enum gpm_status st = GPM_OK;
    for (size_t i = 0; i < a->n_splices; i++) d->names[DATASET_FIRST + i] = column_name(a, i);
    for (size_t i = 0; i < x->model->p.n && st == GPM_OK; i++) st = collect_row(x, a, i, total, d);
    if (st == GPM_OK && x->draw) pass_draws_on(x, d);
    st = dataset_give(d, st, out);
    query_note(x, *out);
    return st;
}
