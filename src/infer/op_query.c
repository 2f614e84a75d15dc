/* SPDX-License-Identifier: Apache-2.0
 *
 * prob(LIN & (WN | LIN*WN), draws): the posterior probability that a query about the structure of a
 * kernel holds, with its Monte Carlo error and effective sample size. Draws are kernels or
 * structures: a column of a dataset, a sequence, a posterior over structures, or the kernel that
 * was assumed last in every particle. */
#include "infer/query.h"

#include "base/mem.h"
#include "gp/kern_query.h"
#include "infer/dataset.h"
#include "infer/diagnostics.h"
#include "sp/kernel_value.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ERROR_Z 2.58 /* 99% */

struct structure_posterior *structure_posterior_of(value v) {
    return v.tag == V_BOX && !strcmp(v.u.box->cls->name, STRUCTURE_POSTERIOR)
               ? (struct structure_posterior *)v.u.box
               : NULL;
}

/* ---- the estimate ---- */

/* A share of 0 or 1 is not known exactly either: the error is z sqrt(q (1 - q) / n) with
 * Laplace's q = (p n + 1) / (n + 2), n the effective sample size. */
static double error_of(double p, double ess) {
    double q = (p * ess + 1) / (ess + 2);
    return fmin(ERROR_Z * sqrt(q * (1 - q) / ess), 1);
}

/* Indicators of a query that never changes have no autocorrelation to estimate, and would count as
 * independent: `moved`, how often the draw itself changed, is an upper bound of what they are
 * worth. */
struct query_answer query_share(const double *x, size_t chains, size_t n, double moved) {
    double total = (double)(chains * n), p = draws_mean(x, chains * n);
    double ess = draws_ess_mean(x, chains, n);
    if (isnan(ess)) ess = total; /* too few draws to tell, or all alike */
    ess = fmax(1, fmin(fmin(ess, total), moved));
    return (struct query_answer){p, error_of(p, ess), ess};
}

/* ---- draws ---- */

/* Kernels or structures with weights. Rows of `chains` chains (particles) alternate. */
struct draws_in {
    const value *at; /* borrowed; at[i * stride] */
    size_t n, stride, chains;
    double *weight; /* NULL: equal */
};

/* The structure of a draw: false when it is neither a kernel nor the text of one. */
static bool structure_of(value v, struct buf *out) {
    struct kern *k = kernel_of(v);
    char *why = NULL;
    if (k && kern_struct(k, out) != GPM_OK) return false;
    if (!k && v.tag == V_STR && kern_struct_canonical(v.u.str->text, out, &why) != GPM_OK) {
        mem_free(why);
        return false;
    }
    return k || v.tag == V_STR;
}

static bool is_structure(value v) {
    struct buf b = BUF_INIT;
    bool yes = structure_of(v, &b);
    buf_release(&b);
    return yes;
}

/* Effective share of weighted draws: (sum w)^2 / sum w^2, over their number. */
static double kish(const double *w, size_t n) {
    double s = 0, s2 = 0;
    for (size_t i = 0; i < n; i++) s += w[i], s2 += w[i] * w[i];
    return s2 > 0 ? s * s / s2 / (double)n : 1;
}

/* x[i]: does it hold in draw i? */
static struct query_answer weigh(const struct draws_in *d, const double *x, double moved) {
    size_t rows = d->n / d->chains;
    double *by_chain = NEW_ARRAY(double, d->n + 1), p = 0, total = 0;
    for (size_t i = 0; i < d->n; i++) {
        by_chain[i % d->chains * rows + i / d->chains] = x[i];
        p += (d->weight ? d->weight[i] : 1) * x[i];
        total += d->weight ? d->weight[i] : 1;
    }
    struct query_answer a = query_share(by_chain, d->chains, rows, moved);
    mem_free(by_chain);
    if (d->weight && total > 0) {
        a.ess = fmax(1, a.ess * kish(d->weight, d->n));
        a.probability = p / total;
        a.error = error_of(a.probability, a.ess);
    }
    return a;
}

/* p = sum_i w_i [the query holds in draw i] / sum_i w_i, with the error of the indicators' mean. */
static enum gpm_status share_of(struct infer_state *x, const char *text, const struct draws_in *d,
                                struct query_answer *out) {
    struct arena a = {0};
    struct buf b = BUF_INIT;
    struct kern_query *q = NULL;
    double *holds = NEW_ARRAY(double, d->n + 1), moved = (double)d->chains;
    enum gpm_status st = kern_query_parse(text, &a, &q, &b);
    if (st != GPM_OK) st = infer_error(x, DIAG_QUERY, "%s", b.data);
    for (size_t i = 0; i < d->n && st == GPM_OK; i++) {
        value v = d->at[i * d->stride];
        buf_reset(&b);
        if (!structure_of(v, &b))
            st = infer_error(x, DIAG_TYPE,
                             "prob: draw %zu is a %s, not a kernel or the text of a structure",
                             i + 1, value_type_name(v));
        holds[i] = st == GPM_OK && kern_query_holds_text(q, b.data);
        /* a text does not show whether the kernel behind it moved */
        bool same =
            i >= d->chains && v.tag != V_STR && value_equal(v, d->at[(i - d->chains) * d->stride]);
        moved += i >= d->chains && !same;
    }
    if (st == GPM_OK) *out = weigh(d, holds, moved);
    mem_free(holds);
    buf_release(&b);
    arena_release(&a);
    return st;
}

/* ---- where draws come from ---- */

/* The column of a dataset that holds kernels or structures: 0, none. */
static size_t structure_column(const struct dataset *d) {
    if (!dataset_rows(d)) return 0;
    for (size_t c = DATASET_FIRST; c < d->n_columns; c++)
        if (is_structure(d->cells.at[c])) return c;
    return 0;
}

void query_note(struct infer_state *x, value v) {
    struct dataset *d = dataset_of(v);
    if (structure_posterior_of(v) || (d && structure_column(d)))
        value_set_take(&x->structures, value_ref(v));
}

/* Particles in the first rows; they are chains when every iteration has as many. */
static size_t particles_of(const struct dataset *d) {
    size_t rows = dataset_rows(d), n = 0;
    while (n < rows && d->cells.at[n * d->n_columns + DATASET_PARTICLE].u.num == (double)n) n++;
    return n && rows % n == 0 ? n : 1;
}

static enum gpm_status ask_dataset(struct infer_state *x, const char *text, struct dataset *d,
                                   struct query_answer *out) {
    size_t c = structure_column(d), rows = dataset_rows(d);
    if (!c) {
        enum gpm_status st = infer_error(
            x, DIAG_BAD_OPERATOR_ARG, "prob: no column of the dataset holds kernels or structures");
        diag_set_help(x->core->diags, "collect(K) or collect(struct(K)), K the model's kernel");
        return st;
    }
    struct draws_in in = {d->cells.at + c, rows, d->n_columns, particles_of(d), NULL};
    double *w = in.chains > 1 ? dataset_numbers(d, DATASET_PROB) : NULL;
    bool equal = true;
    for (size_t i = 0; w && i < rows; i++) equal = equal && fabs(w[i] - w[0]) < 1e-12;
    if (!equal) in.weight = w;
    enum gpm_status st = share_of(x, text, &in, out);
    mem_free(w);
    return st;
}

value query_kernel(const struct trace *t) {
    for (size_t i = t->records.n; i-- > 0;) {
        const struct record *r = t->records.at[i];
        if (record_kind(r) == REC_ASSUME && kernel_of(record_value(r))) return record_value(r);
    }
    return NIL;
}

static enum gpm_status ask_particles(struct infer_state *x, const char *text,
                                     struct query_answer *out) {
    size_t n = x->model->p.n;
    value *at = NEW_ARRAY(value, n);
    double *w = NEW_ARRAY(double, n), total = model_log_weight(x->model);
    enum gpm_status st = GPM_OK;
    bool all = true;
    for (size_t i = 0; i < n; i++) {
        at[i] = query_kernel(x->model->p.at[i]);
        all = all && at[i].tag != V_NIL;
        w[i] = isfinite(total) ? exp(x->model->p.at[i]->log_weight - total) : 1;
    }
    if (!all) {
        st = infer_error(x, DIAG_BAD_OPERATOR_ARG,
                         "prob: no kernel was collected or assumed to ask about");
        diag_set_help(x->core->diags, "give the draws: prob(LIN & WN, draws), where draws are a "
                                      "dataset with a column of kernels, or an array of them");
    } else { /* particles are weighted draws at one time, not chains */
        struct draws_in in = {at, n, 1, 1, w};
        st = share_of(x, text, &in, out);
    }
    mem_free(at);
    mem_free(w);
    return st;
}

static enum gpm_status ask_sequence(struct infer_state *x, const char *text, value v,
                                    struct query_answer *out) {
    value *items;
    size_t n;
    if (!seq_items(v, &items, &n))
        return infer_error(x, DIAG_TYPE,
                           "prob needs draws of kernels or structures: a dataset, a sequence or a "
                           "posterior over structures; got a %s",
                           value_type_name(v));
    struct draws_in in = {items, n, 1, 1, NULL};
    enum gpm_status st = n ? share_of(x, text, &in, out)
                           : infer_error(x, DIAG_BAD_OPERATOR_ARG, "prob: there are no draws");
    values_free(items, n);
    return st;
}

static enum gpm_status ask_posterior(struct infer_state *x, const char *text,
                                     const struct structure_posterior *s,
                                     struct query_answer *out) {
    struct buf err = BUF_INIT;
    enum gpm_status st = s->ask(s, text, out, &err);
    if (st != GPM_OK) st = infer_error(x, DIAG_QUERY, "%s", err.data);
    buf_release(&err);
    return st;
}

static enum gpm_status op_prob(struct infer_state *x, const struct action *act, value *out) {
    const char *text = act->args[0].u.str->text;
    struct query_answer a = {0, 0, 0};
    value from = is_absent(action_arg(act, 1)) ? x->structures : act->args[1];
    struct structure_posterior *s = structure_posterior_of(from);
    struct dataset *d = dataset_of(from);
    enum gpm_status st = from.tag == V_NIL && act->n < 2 ? ask_particles(x, text, &a)
                         : s                             ? ask_posterior(x, text, s, &a)
                         : d                             ? ask_dataset(x, text, d, &a)
                                                         : ask_sequence(x, text, from, &a);
    if (st != GPM_OK) return st;
    static const char *const keys[] = {"probability", "error", "ess"};
    double vals[] = {a.probability, a.error, a.ess};
    *out = infer_numbers(keys, vals, 3);
    return GPM_OK;
}

/* ---- tables ---- */

struct table_row {
    char *text;
    double *holds; /* per draw, 0 or 1 */
    struct query_answer a;
};

static int by_probability(const void *a, const void *b) {
    double x = ((const struct table_row *)a)->a.probability;
    double y = ((const struct table_row *)b)->a.probability;
    if (x != y) return x < y ? 1 : -1;
    return strcmp(((const struct table_row *)a)->text, ((const struct table_row *)b)->text);
}

typedef VEC(struct table_row) table;

/* The distinct structures of a dataset and the draws that have them; false: no structures. */
static bool distinct(const struct dataset *d, size_t c, table *out) {
    size_t total = dataset_rows(d);
    struct buf b = BUF_INIT;
    bool ok = true;
    for (size_t i = 0; i < total && ok; i++) {
        size_t k = 0;
        buf_reset(&b);
        ok = structure_of(d->cells.at[i * d->n_columns + c], &b);
        while (k < out->n && strcmp(out->at[k].text, b.data) != 0) k++;
        if (k == out->n) {
            struct table_row new = {
                mem_strdup(b.data), mem_zalloc((total + 1) * sizeof(double)), {0, 0, 0}};
            vec_push(out, new);
        }
        out->at[k].holds[i] = 1;
    }
    buf_release(&b);
    return ok;
}

static void put_head(struct buf *out) {
    buf_puts(out, "probability  error   ess  structure\n");
}

static void put_row(const struct query_answer *a, const char *text, struct buf *out) {
    buf_printf(out, "     %.4f  %.4f %5.0f  %s\n", a->probability, a->error, a->ess, text);
}

/* What a posterior over structures knows, but for the improbable rest. */
static enum gpm_status tabulate_posterior(struct infer_state *x,
                                          const struct structure_posterior *s) {
    struct query_answer a;
    const char *text;
    size_t n = s->row(s, SIZE_MAX, &text, &a);
    if (!n)
        return infer_error(x, DIAG_BAD_OPERATOR_ARG,
                           "tabulate: the structures have not been searched yet");
    struct buf b = BUF_INIT;
    put_head(&b);
    for (size_t i = 0; i < n; i++) {
        (void)s->row(s, i, &text, &a);
        if (i == 0 || a.probability >= 0.0005) put_row(&a, text, &b);
    }
    if (x->write) x->write(x->user, 1, b.data, b.len);
    buf_release(&b);
    return GPM_OK;
}

static void tabulate(struct infer_state *x, const struct dataset *d, table *rows) {
    struct buf b = BUF_INIT;
    struct draws_in in = {NULL, dataset_rows(d), 1, particles_of(d),
                          dataset_numbers(d, DATASET_PROB)};
    for (size_t i = 0; i < rows->n; i++)
        rows->at[i].a = weigh(&in, rows->at[i].holds, (double)in.n);
    qsort(rows->at, rows->n, sizeof *rows->at, by_probability);
    put_head(&b);
    for (size_t i = 0; i < rows->n; i++) put_row(&rows->at[i].a, rows->at[i].text, &b);
    if (x->write) x->write(x->user, 1, b.data, b.len);
    buf_release(&b);
    mem_free(in.weight);
}

static enum gpm_status op_tabulate(struct infer_state *x, const struct action *act, value *out) {
    value from = is_absent(action_arg(act, 0)) ? x->structures : act->args[0];
    if (structure_posterior_of(from)) return tabulate_posterior(x, structure_posterior_of(from));
    struct dataset *d = dataset_of(from);
    size_t c = d ? structure_column(d) : 0;
    table rows = {0};
    bool ok = c && distinct(d, c, &rows);
    if (ok) tabulate(x, d, &rows);
    for (size_t i = 0; i < rows.n; i++) {
        mem_free(rows.at[i].text);
        mem_free(rows.at[i].holds);
    }
    vec_release(&rows);
    return ok ? GPM_OK
              : infer_error(x, DIAG_BAD_OPERATOR_ARG,
                            "tabulate needs a dataset with a column of kernels or structures");
}

const struct infer_op infer_query_rows[] = {
    {"prob", "(query: string, draws?: any) -> action",
     "posterior probability of a query about a kernel's structure, prob(LIN & (WN | LIN*WN), "
     "draws): a dictionary of probability, error (half-width of a 99% interval) and ess. The query "
     "stands as it is or in quotes, prob($q) takes its text from a variable. draws: a dataset with "
     "a column of kernels or structures, a sequence of them, or a structure_model; "
     "left out, what was collected last, else the kernel assumed last in every particle",
     .run = op_prob},
    {"tabulate", "(draws?: any) -> action",
     "prints every structure among the draws (a dataset with a column of kernels or structures; "
     "left out, the one collected last) with its probability, error and ess",
     .run = op_tabulate},
    {0},
};
