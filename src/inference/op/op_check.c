/* SPDX-License-Identifier: Apache-2.0
 *
 * posterior_predictive_check, prior_predictive_check: compare observed data with data replicated
 * from the model, at choices from inference or from the prior (predictive.h). */
#include "base/mem.h"
#include "inference/run/dataset.h"
#include "inference/op/observed.h"
#include "inference/run/progress.h"
#include "inference/op/show.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { POSTERIOR, PRIOR };

/* How a quantity of the report is computed: by name, or by a procedure of the program. */
struct quantity {
    const struct known_quantity *known; /* NULL: proc */
    value proc;
};
struct predictive_check {
    struct infer_state *x;
    const struct infer_op *op;
    value labels; /* borrowed; ABSENT: every observe */
    VEC(struct quantity) how;
    struct predictive p; /* p.q has an entry per `how` */
};

/* ---- test quantities ---- */

/* name may be NULL: the procedure's name, or T and a number. */
static void add(struct predictive_check *c, const char *name, const struct known_quantity *k,
                value proc) {
    const struct closure *f = closure_of(proc);
    const struct sp_proc *builtin = sp_proc_of(proc);
    char numbered[32];
    snprintf(numbered, sizeof numbered, "T%zu", c->how.n + 1);
    if (!name && f && f->lambda->u.lambda.self) name = f->lambda->u.lambda.self->text;
    if (!name && builtin) name = builtin->cls->name;
    struct predictive_quantity q = {.name = mem_strdup(name ? name : numbered)};
    struct quantity how = {k, value_ref(proc)};
    vec_push(&c->p.q, q);
    vec_push(&c->how, how);
}

static enum gpm_status unknown_quantity(struct predictive_check *c, value v) {
    enum gpm_status st = infer_error(c->x, DIAG_BAD_OPERATOR_ARG, "%s has no test quantity %s",
                                     c->op->name, SHOW(v));
    diag_set_help(
        c->x->core->diags,
        "\"mean\", \"sd\", \"min\", \"max\", \"median\", a procedure of the array of data "
        "such as y -> y[0], or [\"name\", procedure]");
    return st;
}

/* A name of the table, a procedure, or [name, procedure]. */
static enum gpm_status add_quantity(struct predictive_check *c, value v) {
    const char *name = value_text(v);
    const struct known_quantity *k = name ? known_quantity(name) : NULL;
    value first = NIL, second = NIL;
    size_t n = 0;
    enum gpm_status st = GPM_OK;
    bool pair = seq_length(v, &n) && n == 2 && seq_get(v, 0, &first) && seq_get(v, 1, &second);
    if (k)
        add(c, name, k, NIL);
    else if (v.tag == V_PROC)
        add(c, NULL, NULL, v);
    else if (pair && value_text(first) && second.tag == V_PROC)
        add(c, value_text(first), NULL, second);
    else
        st = unknown_quantity(c, v);
    value_unref(first);
    value_unref(second);
    return st;
}

static enum gpm_status read_quantities(struct predictive_check *c, value v) {
    value *items;
    size_t n;
    if (is_absent(v)) {
        const struct known_quantity *k;
        for (size_t i = 0; (k = known_quantity_at(i)); i++)
            if (k->usual) add(c, k->name, k, NIL);
        return GPM_OK;
    }
    seq_or_one(v, &items, &n);
    enum gpm_status st = GPM_OK;
    for (size_t i = 0; i < n && st == GPM_OK; i++) st = add_quantity(c, items[i]);
    if (st == GPM_OK && n == 0) st = unknown_quantity(c, v);
    values_free(items, n);
    return st;
}

/* Quantity i of the data y. */
static enum gpm_status evaluate(struct predictive_check *c, size_t i, const numbers *y,
                                double *out) {
    const struct quantity *q = &c->how.at[i];
    if (q->known) {
        *out = known_quantity_of(q->known, y->at, y->n);
        return GPM_OK;
    }
    value data = value_numbers(y->at, y->n), v;
    enum gpm_status st = plain_apply(c->x->core, q->proc, &data, 1, c->x->at, &v);
    value_unref(data);
    if (st != GPM_OK) return st;
    if (!value_number(v, out))
        st = infer_error(c->x, DIAG_TYPE, "the test quantity %s must give a number, not a %s",
                         c->p.q.at[i].name, value_type_name(v));
    value_unref(v);
    return st;
}

/* ---- data ---- */

/* T(y), once: all particles hold the same data. */
static enum gpm_status check_observed(struct predictive_check *c) {
    enum gpm_status st = observed_numbers(c->x, c->x->model->p.at[0], c->labels, OBSERVED_DATA,
                                          c->op->name, &c->p.y);
    for (size_t i = 0; i < c->how.n && st == GPM_OK; i++)
        st = evaluate(c, i, &c->p.y, &c->p.q.at[i].observed);
    return st;
}

/* Draws every choice from its prior. The data stay, though the choices need not explain them. */
static enum gpm_status redraw(struct predictive_check *c, struct trace *t) {
    double w_old, w_new;
    if (c->op->how != PRIOR) return GPM_OK;
    return trace_redraw(t, t->choices.at, t->choices.n, &w_old, &w_new);
}

/* One y' ~ p(y' | particle), with the particle drawn by weight. Over the draws this is a sample of
 * the posterior predictive distribution. */
static enum gpm_status check_replicate(void *ctx, double i, value ignored) {
    struct predictive_check *c = ctx;
    struct model *m = c->x->model;
    size_t *drawn = mem_zalloc(m->p.n * sizeof *drawn), which = 0;
    if (m->p.n > 1) infer_draw_particles(c->x, model_log_weight(m), false, 1, drawn);
    while (m->p.n > 1 && !drawn[which]) which++;
    mem_free(drawn);
    struct trace *t = m->p.at[which];
    numbers y = {0};
    enum gpm_status st = redraw(c, t);
    if (st == GPM_OK)
        st = observed_numbers(c->x, t, c->labels, OBSERVED_REPLICATE, c->op->name, &y);
    for (size_t k = 0; k < c->how.n && st == GPM_OK; k++) {
        double v;
        st = evaluate(c, k, &y, &v);
        if (st == GPM_OK) vec_push(&c->p.q.at[k].replicated, v);
    }
    if (st == GPM_OK) predictive_show(&c->p, y.at, y.n);
    vec_release(&y);
    return st;
}

/* Runs on the model itself, or on a copy whose choices are drawn again. */
static enum gpm_status replicate(struct predictive_check *c, double draws, value step) {
    struct infer_state *x = c->x;
    struct model *own = x->model;
    value copy = NIL;
    if (c->op->how != PRIOR) return progress_repeat(x, draws, step, check_replicate, c);
    enum gpm_status st = model_fork(x, own, &copy);
    if (st != GPM_OK) return st;
    x->model = model_of(copy);
    st = model_whole(x); /* its choices will be drawn again */
    for (double i = 0; i < draws && st == GPM_OK; i++) {
        st = core_poll(x->core, x->at);
        if (st == GPM_OK) st = check_replicate(c, i, NIL);
    }
    x->model = own;
    value_unref(copy);
    return st;
}

/* ---- report ---- */

static enum gpm_status report(const struct predictive_check *c, const char *file) {
    struct buf b = BUF_INIT;
    predictive_text(&c->p, &b);
    infer_write(c->x, b.data, b.len);
    buf_release(&b);
    struct plot_scene *s = predictive_scene(&c->p, file != NULL);
    enum gpm_status st = infer_show(c->x, s, file, 6);
    plot_scene_free(s);
    return st;
}

/* The quantities of the replicates as a dataset, one column each. */
static value as_dataset(const struct predictive_check *c) {
    const struct predictive *p = &c->p;
    const char **names = NEW_ARRAY(const char *, p->q.n);
    for (size_t i = 0; i < p->q.n; i++) names[i] = p->q.at[i].name;
    struct dataset *d = dataset_new(names, p->q.n);
    for (size_t r = 0; r < p->q.at[0].replicated.n; r++) {
        dataset_begin_row(
            d, (double[DATASET_FIRST]){[DATASET_ITER] = (double)r + 1, [DATASET_PROB] = 1});
        for (size_t i = 0; i < p->q.n; i++)
            vec_push(&d->cells, value_num(p->q.at[i].replicated.at[r]));
    }
    mem_free(names);
    return value_box(V_BOX, &d->box);
}

/* (draws, step, labels, quantities, file); the prior check has no step. */
static enum gpm_status op_check(struct infer_state *x, const struct action *a, value *out) {
    bool prior = a->op->how == PRIOR;
    size_t rest = prior ? 1 : 2;
    struct predictive_check c = {.x = x, .op = a->op, .labels = action_arg(a, rest)};
    c.p.title = prior ? "prior predictive check" : "posterior predictive check";
    double draws = a->args[0].u.num;
    if (draws < 1)
        return infer_error(x, DIAG_BAD_OPERATOR_ARG, "%s needs at least one draw", a->op->name);
    enum gpm_status st = read_quantities(&c, action_arg(a, rest + 1));
    if (st == GPM_OK) st = check_observed(&c);
    if (st == GPM_OK) st = replicate(&c, draws, prior ? NIL : a->args[1]);
    if (st == GPM_OK) st = report(&c, value_text(action_arg(a, rest + 2)));
    if (st == GPM_OK) *out = as_dataset(&c);
    for (size_t i = 0; i < c.how.n; i++) value_unref(c.how.at[i].proc);
    vec_release(&c.how);
    predictive_release(&c.p);
    return st;
}

const struct infer_op infer_check_rows[] = {
    {"posterior_predictive_check",
     "(draws: count, step: action, labels?: any, quantities?: any, file?: name) -> action",
     "draws times: runs step, then replicates the observed data from the state. Prints, for each "
     "test quantity, the observed value, what the replicates have, and the Bayesian p-value, and "
     "draws both on the terminal, or into the SVG file that file= names, with densities and "
     "distribution functions of data and replicates. labels=: which observes "
     "(a name, several, \"y*\"; all). quantities=: \"mean\", \"sd\", \"min\", \"max\" (these four "
     "when left out), \"median\", procedures of the array of data, [\"name\", procedure]. Gives a "
     "dataset of the replicates' quantities.",
     .run = op_check, .how = POSTERIOR, .touches = SP_WRITES},
    {"prior_predictive_check",
     "(draws: count, labels?: any, quantities?: any, file?: name) -> action",
     "the same with choices drawn from their prior, before any data are learned from: does the "
     "prior allow for such data, and for nothing absurd? labels=, quantities= and file= as there; "
     "the model stays as it is.",
     .run = op_check, .how = PRIOR, .touches = SP_WRITES},
    {0},
};
