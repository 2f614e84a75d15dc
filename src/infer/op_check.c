/* SPDX-License-Identifier: Apache-2.0
 *
 * posterior_predictive_check: data replicated from the posterior beside the data that were observed
 * (Gelman, Meng, Stern 1996). A test quantity T maps data to a number; its Bayesian p-value is
 * P(T(y') >= T(y) | y), estimated by the share of the replicates y'.
 */
#include "base/mem.h"
#include "infer/dataset.h"
#include "infer/diagnostics.h"
#include "infer/observed.h"
#include "infer/progress.h"
#include "infer/show.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* A test quantity that has a name: a function of the data, or their p-quantile. */
static const struct known_quantity {
    const char *name;
    double (*fn)(const double *y, size_t n); /* NULL: the quantile */
    double p;
    bool usual; /* taken when the program names none */
} known[] = {
    {"mean", draws_mean, 0, true}, {"sd", draws_sd, 0, true},    {"min", NULL, 0, true},
    {"max", NULL, 1, true},        {"median", NULL, 0.5, false},
};

struct quantity {
    char *name;
    const struct known_quantity *known; /* NULL: proc */
    value proc;
    double observed;
    numbers replicated;
};
struct predictive_check {
    struct infer_state *x;
    const char *who; /* the operator */
    value labels;    /* borrowed; ABSENT: every observe */
    VEC(struct quantity) q;
    size_t n_data;
};

/* ---- test quantities ---- */

/* name may be NULL: that of the procedure, or T and a number. */
static void add(struct predictive_check *c, const char *name, const struct known_quantity *k,
                value proc) {
    const struct closure *f = closure_of(proc);
    char numbered[32];
    snprintf(numbered, sizeof numbered, "T%zu", c->q.n + 1);
    if (!name && f && f->lambda->u.lambda.self) name = f->lambda->u.lambda.self->text;
    struct quantity q = {
        .name = mem_strdup(name ? name : numbered), .known = k, .proc = value_ref(proc)};
    vec_push(&c->q, q);
}

static enum gpm_status unknown_quantity(struct predictive_check *c, value v) {
    enum gpm_status st = infer_error(c->x, DIAG_BAD_OPERATOR_ARG,
                                     "posterior_predictive_check has no test quantity %s", SHOW(v));
    diag_set_help(
        c->x->core->diags,
        "\"mean\", \"sd\", \"min\", \"max\", \"median\", a procedure of the array of data "
        "such as y -> y[0], or [\"name\", procedure]");
    return st;
}

/* A name of the table, a procedure, or [name, procedure]. */
static enum gpm_status add_quantity(struct predictive_check *c, value v) {
    const char *name = infer_text(v);
    value first = NIL, second = NIL;
    size_t n = 0, k = 0;
    enum gpm_status st = GPM_OK;
    while (name && k < COUNT_OF(known) && strcmp(name, known[k].name) != 0) k++;
    bool pair = seq_length(v, &n) && n == 2 && seq_get(v, 0, &first) && seq_get(v, 1, &second);
    if (name && k < COUNT_OF(known))
        add(c, name, &known[k], NIL);
    else if (v.tag == V_PROC)
        add(c, NULL, NULL, v);
    else if (pair && infer_text(first) && second.tag == V_PROC)
        add(c, infer_text(first), NULL, second);
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
        for (size_t i = 0; i < COUNT_OF(known); i++)
            if (known[i].usual) add(c, known[i].name, &known[i], NIL);
        return GPM_OK;
    }
    seq_or_one(v, &items, &n);
    enum gpm_status st = GPM_OK;
    for (size_t i = 0; i < n && st == GPM_OK; i++) st = add_quantity(c, items[i]);
    if (st == GPM_OK && n == 0) st = unknown_quantity(c, v);
    values_free(items, n);
    return st;
}

static enum gpm_status evaluate(struct predictive_check *c, const struct quantity *q,
                                const numbers *y, double *out) {
    const struct known_quantity *k = q->known;
    if (k) {
        *out = k->fn ? k->fn(y->at, y->n) : draws_quantile(y->at, y->n, k->p);
        return GPM_OK;
    }
    value data = value_array_new(y->n), v;
    for (size_t i = 0; i < y->n; i++) data.u.array->at[i] = value_num(y->at[i]);
    enum gpm_status st = plain_apply(c->x->core, q->proc, &data, 1, c->x->at, &v);
    value_unref(data);
    if (st != GPM_OK) return st;
    if (!value_number(v, out))
        st = infer_error(c->x, DIAG_TYPE, "the test quantity %s must give a number, not a %s",
                         q->name, value_type_name(v));
    value_unref(v);
    return st;
}

/* ---- data ---- */

/* T(y), once: all particles hold the same data. */
static enum gpm_status check_observed(struct predictive_check *c) {
    numbers y = {0};
    enum gpm_status st =
        observed_numbers(c->x, c->x->model->p.at[0], c->labels, OBSERVED_DATA, c->who, &y);
    c->n_data = y.n;
    for (size_t i = 0; i < c->q.n && st == GPM_OK; i++)
        st = evaluate(c, &c->q.at[i], &y, &c->q.at[i].observed);
    vec_release(&y);
    return st;
}

/* One y' ~ p(y' | particle), the particle drawn by weight: over the draws, a sample of the
 * posterior predictive distribution. */
static enum gpm_status check_replicate(void *ctx, double i, value ignored) {
    struct predictive_check *c = ctx;
    struct model *m = c->x->model;
    size_t *drawn = mem_zalloc(m->p.n * sizeof *drawn), which = 0;
    if (m->p.n > 1) infer_draw_particles(c->x, model_log_weight(m), 1, drawn);
    while (m->p.n > 1 && !drawn[which]) which++;
    mem_free(drawn);
    struct trace *t = m->p.at[which];
    numbers y = {0};
    enum gpm_status st = observed_numbers(c->x, t, c->labels, OBSERVED_REPLICATE, c->who, &y);
    for (size_t k = 0; k < c->q.n && st == GPM_OK; k++) {
        double v;
        st = evaluate(c, &c->q.at[k], &y, &v);
        if (st == GPM_OK) vec_push(&c->q.at[k].replicated, v);
    }
    vec_release(&y);
    return st;
}

/* ---- report ---- */

/* Shares of the replicates that reach the observed quantity from below and from above. */
static void tails(const struct quantity *q, double *at_least, double *at_most) {
    size_t up = 0, down = 0, n = q->replicated.n;
    for (size_t i = 0; i < n; i++) {
        up += q->replicated.at[i] >= q->observed;
        down += q->replicated.at[i] <= q->observed;
    }
    *at_least = (double)up / (double)n;
    *at_most = (double)down / (double)n;
}

/* One line: T(y), then mean, spread and quantiles of T(y'), then the p-value. */
static void add_row(const struct quantity *q, struct buf *out) {
    const double *x = q->replicated.at;
    size_t n = q->replicated.n;
    double p, other;
    tails(q, &p, &other);
    buf_printf(out, "%-12s %9.4g %10.4g %10.4g %10.4g %10.4g %10.4g %6.3f\n", q->name, q->observed,
               draws_mean(x, n), draws_sd(x, n), draws_quantile(x, n, 0.05),
               draws_quantile(x, n, 0.5), draws_quantile(x, n, 0.95), p);
}

/* In words: quantities of which fewer than 2.5% of the replicates lie on one side of the data. */
static void add_verdict(const struct predictive_check *c, struct buf *out) {
    size_t n = 0;
    buf_puts(out, "p: share of the replicates whose quantity is at least the observed one\n");
    for (size_t i = 0; i < c->q.n; i++) {
        double up, down;
        tails(&c->q.at[i], &up, &down);
        if (fmin(up, down) >= 0.025) continue;
        buf_printf(out, "%s%s", n++ ? ", " : "the model seldom makes such data, judged by ",
                   c->q.at[i].name);
    }
    if (n) buf_putc(out, '\n');
    bool moves = false;
    for (size_t i = 0; i < c->q.n; i++) {
        const struct quantity *q = &c->q.at[i];
        double margin = 1e-6 * fabs(q->observed);
        for (size_t j = 0; j < q->replicated.n; j++)
            moves |= !(fabs(q->replicated.at[j] - q->observed) <= margin);
    }
    if (!moves)
        buf_puts(out, "every replicate repeats the data: does the model leave them any noise?\n");
}

static void print_table(const struct predictive_check *c) {
    struct infer_state *x = c->x;
    struct buf b = BUF_INIT;
    buf_printf(&b, "posterior predictive check: %zu observed values, %zu replicates\n", c->n_data,
               c->q.at[0].replicated.n);
    buf_printf(&b, "%-12s %9s %10s %10s %10s %10s %10s %6s\n", "", "observed", "mean", "sd", "5%",
               "50%", "95%", "p");
    for (size_t i = 0; i < c->q.n; i++) add_row(&c->q.at[i], &b);
    add_verdict(c, &b);
    infer_write(x, b.data, b.len);
    buf_release(&b);
}

static enum gpm_status draw_picture(const struct predictive_check *c, const char *file) {
    struct plot_scene *s = plot_scene_new(
        file ? "Posterior predictive check" : NULL,
        "Histograms of test quantities over replicated data, with the observed value", 2);
    for (size_t i = 0; i < c->q.n; i++) {
        const struct quantity *q = &c->q.at[i];
        struct plot_panel *p = plot_panel_add(s, q->name);
        if (file) plot_axis_labels(p, NULL, "density");
        plot_histogram(p, "replicated", q->replicated.n, q->replicated.at, 0,
                       PLOT_COLOUR(PLOT_BLUE));
        plot_rule(p, PLOT_RULE_X, "observed", q->observed, PLOT_COLOUR(PLOT_VERMILION));
    }
    enum gpm_status st = infer_show(c->x, s, file, 6);
    plot_scene_free(s);
    return st;
}

/* The quantities of the replicates as a dataset: a column each. */
static value as_dataset(const struct predictive_check *c) {
    const char **names = NEW_ARRAY(const char *, c->q.n);
    for (size_t i = 0; i < c->q.n; i++) names[i] = c->q.at[i].name;
    struct dataset *d = dataset_new(names, c->q.n);
    for (size_t r = 0; r < c->q.at[0].replicated.n; r++) {
        dataset_begin_row(
            d, (double[DATASET_FIRST]){[DATASET_ITER] = (double)r + 1, [DATASET_PROB] = 1});
        for (size_t i = 0; i < c->q.n; i++)
            vec_push(&d->cells, value_num(c->q.at[i].replicated.at[r]));
    }
    mem_free(names);
    return value_box(V_BOX, &d->box);
}

static void check_release(struct predictive_check *c) {
    for (size_t i = 0; i < c->q.n; i++) {
        mem_free(c->q.at[i].name);
        value_unref(c->q.at[i].proc);
        vec_release(&c->q.at[i].replicated);
    }
    vec_release(&c->q);
}

static enum gpm_status op_check(struct infer_state *x, const struct action *a, value *out) {
    struct predictive_check c = {.x = x, .who = a->op->name, .labels = action_arg(a, 2)};
    double draws = a->args[0].u.num;
    if (draws < 1)
        return infer_error(x, DIAG_BAD_OPERATOR_ARG,
                           "posterior_predictive_check needs at least one draw");
    enum gpm_status st = read_quantities(&c, action_arg(a, 3));
    if (st == GPM_OK) st = check_observed(&c);
    if (st == GPM_OK) st = progress_repeat(x, draws, a->args[1], check_replicate, &c);
    if (st == GPM_OK) {
        print_table(&c);
        st = draw_picture(&c, infer_text(action_arg(a, 4)));
    }
    if (st == GPM_OK) *out = as_dataset(&c);
    check_release(&c);
    return st;
}

const struct infer_op infer_check_rows[] = {
    {"posterior_predictive_check",
     "(draws: count, step: action, labels?: any, quantities?: any, file?: name) -> action",
     "draws times: runs step, then replicates the observed data from the state. Prints, for each "
     "test quantity, the observed value, what the replicates have, and the Bayesian p-value, and "
     "draws both on the terminal, or into the SVG file that file= names. labels=: which observes "
     "(a name, several, \"y*\"; all). quantities=: \"mean\", \"sd\", \"min\", \"max\" (these four "
     "when left out), \"median\", procedures of the array of data, [\"name\", procedure]. Gives a "
     "dataset of the replicates' quantities.",
     .run = op_check},
    {0},
};
