/* SPDX-License-Identifier: Apache-2.0
 *
 * collect: the values of expressions in every particle, one row each, as a dataset.
 */
#include "base/mem.h"
#include "base/vec.h"
#include "inference/run/dataset.h"
#include "inference/op/query.h"
#include "inference/hmc/sampler_stats.h"
#include "numeric/special/special.h"
#include "base/clock.h"
#include "runtime/core/lookup.h"
#include <math.h>

/* An item may also be an operator that gives a value per particle, or a call of one: log_lik(),
 * y_rep(), global_log_joint. NULL for any other item. Names of the model take precedence. */
static const struct infer_op *operator_of(struct infer_state *x, const struct ast *e) {
    const struct ast *name = e->kind == AST_CALL ? e->kids[0] : e;
    struct cell *cell;
    if (name->kind != AST_NAME || name->u.name.depth >= 0 ||
        world_find(&x->model->p.at[0]->world, name->u.name.sym))
        return NULL;
    const value *v = core_global(x->core, NULL, name, NULL, &cell);
    const struct sp_class *cls = v ? proc_class(*v, NULL) : NULL;
    const struct action *a = v ? action_of(*v) : NULL;
    const struct infer_op *op = cls ? infer_op_of(cls) : a && a->kind == ACTION_OP ? a->op : NULL;
    return op && op->each ? op : NULL;
}

static enum gpm_status run_operator(struct infer_state *x, const struct ast *e, struct frame *f,
                                    struct trace *t, value *out) {
    value made;
    enum gpm_status st = plain_eval(x->core, e, f, &made);
    if (st != GPM_OK) return st;
    const struct action *a = action_of(made);
    *out = NIL;
    if (!a) {
        st = diag_raise(x->core->diags, DIAG_NOT_ACTION, e->span,
                        "%s is an operator; what is collected is what a call of it gives",
                        SHOW(made));
    } else {
        if (!(a->op->flags & OP_SHARED)) trace_whole(t);
        st = core_place(x->core, a->op->each(x, a, t, out), e->span);
    }
    value_unref(made);
    return st;
}

/* A column is named by its label, else by the operator, else by the text of its expression. */
static char *column_name(struct infer_state *x, const struct action *a, size_t i) {
    const struct ast *dir = a->ast, *e = dir->kids[i]->kids[0];
    if (i < dir->u.dir.n_names && dir->u.dir.names[i]) {
        return mem_strdup(dir->u.dir.names[i]->text);
    }
    const struct infer_op *op = operator_of(x, e);
    if (op) return mem_strdup(op->name);
    struct buf b = BUF_INIT;
    ast_print(e, &b);
    return buf_take(&b);
}

/* The particles that a row's weight is compared with, and their total weight. These are all
 * particles, even while an action runs on one of them. */
static double total_of(const struct infer_state *x, size_t *n) {
    const struct lent *l = infer_lent(x);
    bool alone = l->n && x->model->p.n == 1;
    *n = alone ? l->n : x->model->p.n;
    return alone ? l->log_weight : model_log_weight(x->model);
}

double collect_total(const struct infer_state *x) {
    size_t n;
    return total_of(x, &n);
}

void collect_begin_row(struct infer_state *x, double iter, size_t particle, double total,
                       struct dataset *d) {
    const struct lent *l = infer_lent(x);
    size_t n = x->model->p.n;
    double w = x->model->p.at[particle]->log_weight;
    if (l->n && n == 1) particle = l->at, n = l->n;
    double prob = isfinite(total) ? exp(w - total) : 1 / (double)n;
    dataset_begin_row(d, (double[DATASET_FIRST]){iter, (double)particle, clock_seconds(), w, prob});
}

/* Expressions first, all at once; then the operators' values. */
static enum gpm_status collect_row(struct infer_state *x, struct action *a, size_t particle,
                                   double total, struct dataset *d) {
    struct trace *t = x->model->p.at[particle];
    size_t n = a->n_splices, exprs = 0;
    const struct ast **e = NEW_ARRAY(const struct ast *, n + 1);
    struct frame **f = NEW_ARRAY(struct frame *, n + 1);
    value *v = NEW_ARRAY(value, n + 1);
    for (size_t i = 0; i < n; i++) {
        const struct ast *item = a->ast->kids[i]->kids[0];
        if (operator_of(x, item)) continue;
        e[exprs] = item;
        f[exprs++] = a->splices[i];
    }
    enum gpm_status st = trace_sample(t, e, f, exprs, v);
    if (st == GPM_OK) collect_begin_row(x, 1, particle, total, d);
    for (size_t i = 0, at = 0; i < n && st == GPM_OK; i++) {
        const struct ast *item = a->ast->kids[i]->kids[0];
        value own;
        if (at < exprs && e[at] == item)
            own = v[at++];
        else
            st = run_operator(x, item, a->splices[i], t, &own);
        if (st == GPM_OK) vec_push(&d->cells, own);
    }
    mem_free(e);
    mem_free(f);
    mem_free(v);
    return st;
}

/* Adds the diagnostics of hmc and nuts for the last transition, once they are in use. They precede
 * the draw, as in Stan. */
static void add_sampler(struct infer_state *x, struct draw_row *r) {
    union sampler_draw last;
    if (!sampler_in_use(x)) return;
    (void)sampler_take(x, &last);
    for (size_t i = 0; i < SAMPLER_COLUMNS; i++)
        (void)draw_row_add(r, sampler_names[i], value_num(last.at[i]));
}

/* Passes on the numbers with their names; other values are left out. */
void collect_pass_on(struct infer_state *x, const struct dataset *d, size_t first) {
    if (!x->draw) return;
    if (!x->row) x->row = NEW(struct draw_row);
    size_t rows = dataset_rows(d), n;
    double *w = NEW_ARRAY(double, rows - first + 1);
    (void)total_of(x, &n);
    bool weighted = dataset_weights(d, first, rows, (double)n, w);
    for (size_t row = first; row < rows; row++) {
        struct draw_row *r = x->row;
        draw_row_begin(r);
        add_sampler(x, r);
        if (weighted) (void)draw_row_add(r, DRAWS_LOG_WEIGHT, value_num(w[row - first]));
        for (size_t c = DATASET_FIRST; c < d->n_columns; c++)
            (void)draw_row_add(r, d->names[c], d->cells.at[row * d->n_columns + c]);
        x->draw(x->draw_user, (const char *const *)r->names.at, r->at.at, r->at.n);
    }
    mem_free(w);
}

/* Rows that are neither a value nor written to a folder are lost. It is said once. */
static void tell_dropped(struct infer_state *x, const struct action *a) {
    if (x->draw || x->told_dropped) return;
    x->told_dropped = true;
    diag_warn(x->core->diags, DIAG_UNUSED, a->at, "the rows of this collect are dropped");
    diag_set_help(x->core->diags, "accumulate_dataset(n, action) joins the rows of n runs of an "
                                  "action, which repeat drops; gpmem run --out DIR keeps them");
}

enum gpm_status collect_run(struct infer_state *x, struct action *a, bool dropped, value *out) {
    if (dropped) tell_dropped(x, a);
    struct dataset *d = dataset_new(NULL, a->n_splices);
    double total = collect_total(x);
    enum gpm_status st = GPM_OK;
    for (size_t i = 0; i < a->n_splices; i++) d->names[DATASET_FIRST + i] = column_name(x, a, i);
    model_tell_impossible(x);
    for (size_t i = 0; i < x->model->p.n && st == GPM_OK; i++) st = collect_row(x, a, i, total, d);
    if (st == GPM_OK) collect_pass_on(x, d, 0);
    st = dataset_give(d, st, out);
    query_note(x, *out);
    return st;
}
