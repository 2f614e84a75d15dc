/* SPDX-License-Identifier: Apache-2.0
 *
 * prob(LIN & (WN | LIN*WN), draws): the posterior probability that a query about the structure of a
 * kernel holds, with its Monte Carlo error and effective sample size. Draws are kernels or
 * structures: a column of a dataset, a sequence, a posterior over structures, or the last kernel
 * assumed in every particle. */
#include "inference/op/query.h"
#include "language/value/value_pack.h"

#include "base/mem.h"
#include "gp/kernel/kern_query.h"
#include "inference/run/dataset.h"
#include "numeric/posterior/diagnostics.h"
#include "language/rows/protocol/kernel_value.h"
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

/* A share of 0 or 1 has an error, too: z sqrt(q (1 - q) / n) with Laplace's q = (p n + 1) / (n + 2)
 * and n the effective sample size. */
static double error_of(double p, double ess) {
    double q = (p * ess + 1) / (ess + 2);
    return fmin(ERROR_Z * sqrt(q * (1 - q) / ess), 1);
}

/* ---- draws ---- */

/* Structures of kernels as texts, with weights. The rows of `chains` chains (particles)
 * alternate. */
struct draws_in {
    VEC(char *) text;
    size_t chains;
    double *weight; /* owned; NULL: equal */
    /* 1 + the number of times the draw itself changed, an upper bound of the effective sample size.
     * Indicators of a query that never change have no autocorrelation to estimate and would
     * otherwise count as independent. */
    double moved;
};

static void draws_in_release(struct draws_in *d) {
    for (size_t i = 0; i < d->text.n; i++) mem_free(d->text.at[i]);
    vec_release(&d->text);
    mem_free(d->weight);
}

/* The structure of a draw; false if it is neither a kernel nor the text of one. */
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

/* Draw i is at[i * stride]. */
static enum gpm_status add_draws(struct infer_state *x, const value *at, size_t n, size_t stride,
                                 struct draws_in *d) {
    d->moved = (double)d->chains;
    for (size_t i = 0; i < n; i++) {
        value v = at[i * stride];
        struct buf b = BUF_INIT;
        if (!structure_of(v, &b)) {
            buf_release(&b);
            return infer_error(x, DIAG_TYPE,
                               "prob: draw %zu is a %s, not a kernel or the text of a structure",
                               i + 1, value_type_name(v));
        }
        vec_push(&d->text, buf_take(&b));
        if (i < d->chains) continue;
        /* text does not show whether its kernel moved */
        d->moved += v.tag == V_STR || !value_equal(v, at[(i - d->chains) * stride]);
    }
    return GPM_OK;
}

/* Effective share of weighted draws: (sum w)^2 / sum w^2, over their number. */
static double kish(const double *w, size_t n) {
    double s = 0, s2 = 0;
    for (size_t i = 0; i < n; i++) s += w[i], s2 += w[i] * w[i];
    return s2 > 0 ? s * s / s2 / (double)n : 1;
}

/* p = sum_i w_i x_i / sum_i w_i, where x_i tells whether the query holds in draw i. The error is
 * that of the indicators' mean, with at most `moved` independent draws. */
static struct query_answer weigh(const struct draws_in *d, const double *x, double moved) {
    size_t n = d->text.n, rows = n / d->chains;
    double *by_chain = NEW_ARRAY(double, n + 1), p = 0, total = 0;
    for (size_t i = 0; i < n; i++) {
        double w = d->weight ? d->weight[i] : 1;
        by_chain[i % d->chains * rows + i / d->chains] = x[i];
        p += w * x[i];
        total += w;
    }
    double ess = draws_ess_mean(by_chain, d->chains, rows);
    mem_free(by_chain);
    if (isnan(ess)) ess = (double)n; /* too few draws, or all alike */
    ess = fmax(1, fmin(fmin(ess, (double)n), moved));
    if (d->weight) ess = fmax(1, ess * kish(d->weight, n));
    p /= total > 0 ? total : 1;
    return (struct query_answer){p, error_of(p, ess), ess};
}

/* ---- sources of draws ---- */

/* The column of a dataset with kernels or structures, or 0. */
static size_t structure_column(const struct dataset *d) {
    size_t found = 0;
    for (size_t c = DATASET_FIRST; dataset_rows(d) && c < d->n_columns && !found; c++) {
        struct buf b = BUF_INIT;
        if (structure_of(d->cells.at[c], &b)) found = c;
        buf_release(&b);
    }
    return found;
}

/* The last collected draws of kernels, or NIL. */
static void structures_free(void *own) {
    value_unref(*(value *)own);
}

static void structures_pack(struct pack *p, void *own) {
    pack_value(p, own);
}

const struct op_state_class structures_own = {sizeof(value), structures_free, structures_pack};

value query_noted(const struct infer_state *x) {
    return *(value *)infer_own(x, &structures_own);
}

void query_note(struct infer_state *x, value v) {
    struct dataset *d = dataset_of(v);
    if (structure_posterior_of(v) || (d && structure_column(d)))
        value_set_take(infer_own(x, &structures_own), value_ref(v));
}

/* Particles in the first rows. They are chains if every iteration has the same number. */
static size_t particles_of(const struct dataset *d) {
    size_t rows = dataset_rows(d), n = 0;
    while (n < rows && d->cells.at[n * d->n_columns + DATASET_PARTICLE].u.num == (double)n) n++;
    return n && rows % n == 0 ? n : 1;
}

static enum gpm_status from_dataset(struct infer_state *x, const struct dataset *d,
                                    struct draws_in *in) {
    size_t c = structure_column(d), rows = dataset_rows(d);
    if (!c) {
        enum gpm_status st = infer_error(
            x, DIAG_BAD_OPERATOR_ARG, "prob: no column of the dataset holds kernels or structures");
        diag_set_help(x->core->diags, "collect(K) or collect(struct(K)), K the model's kernel");
        return st;
    }
    in->chains = particles_of(d);
    double *w = dataset_numbers(d, DATASET_PROB);
    bool equal = true;
    for (size_t i = 0; i < rows; i++) equal = equal && fabs(w[i] - w[0]) < 1e-12;
    if (in->chains > 1 && !equal)
        in->weight = w;
    else
        mem_free(w);
    return add_draws(x, d->cells.at + c, rows, d->n_columns, in);
}

value query_kernel(const struct trace *t) {
    for (size_t i = t->records.n; i-- > 0;) {
        const struct record *r = t->records.at[i];
        if (record_kind(r) == REC_ASSUME && kernel_of(record_value(r))) return record_value(r);
    }
    return NIL;
}

/* Particles are weighted draws at a single time, not chains. */
static enum gpm_status from_particles(struct infer_state *x, struct draws_in *in) {
    size_t n = x->model->p.n;
    value *at = NEW_ARRAY(value, n);
    double total = model_log_weight(x->model);
    enum gpm_status st = GPM_OK;
    in->weight = NEW_ARRAY(double, n);
    for (size_t i = 0; i < n && st == GPM_OK; i++) {
        at[i] = query_kernel(x->model->p.at[i]);
        in->weight[i] = isfinite(total) ? exp(x->model->p.at[i]->log_weight - total) : 1;
        if (at[i].tag != V_NIL) continue;
        st = infer_error(x, DIAG_BAD_OPERATOR_ARG,
                         "prob: no kernel was collected or assumed to ask about");
        diag_set_help(x->core->diags, "give the draws: prob(LIN & WN, draws), where draws are a "
                                      "dataset with a column of kernels, or an array of them");
    }
    if (st == GPM_OK) st = add_draws(x, at, n, 1, in);
    mem_free(at);
    return st;
}

static enum gpm_status from_sequence(struct infer_state *x, value v, struct draws_in *in) {
    value *items;
    size_t n;
    if (!seq_items(v, &items, &n))
        return infer_error(x, DIAG_TYPE,
                           "prob needs draws of kernels or structures: a dataset, a sequence or a "
                           "posterior over structures; got a %s",
                           value_type_name(v));
    enum gpm_status st = n ? add_draws(x, items, n, 1, in)
                           : infer_error(x, DIAG_BAD_OPERATOR_ARG, "prob: there are no draws");
    values_free(items, n);
    return st;
}

/* The share of draws for which the query holds. */
static enum gpm_status ask_draws(struct infer_state *x, const char *text, const struct draws_in *d,
                                 struct query_answer *out) {
    struct arena a = {0};
    struct buf why = BUF_INIT;
    struct kern_query *q = NULL;
    double *holds = NEW_ARRAY(double, d->text.n + 1);
    enum gpm_status st = kern_query_parse(text, &a, &q, &why);
    if (st != GPM_OK) st = infer_error(x, DIAG_QUERY, "%s", why.data);
    for (size_t i = 0; i < d->text.n && st == GPM_OK; i++)
        holds[i] = kern_query_holds_text(q, d->text.at[i]);
    if (st == GPM_OK) *out = weigh(d, holds, d->moved);
    mem_free(holds);
    buf_release(&why);
    arena_release(&a);
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
    static const char *const keys[] = {"probability", "error", "ess"};
    const char *text = act->args[0].u.str->text;
    struct query_answer a = {0, 0, 0};
    struct draws_in in = {.chains = 1};
    value from = is_absent(action_arg(act, 1)) ? query_noted(x) : act->args[1];
    struct structure_posterior *s = structure_posterior_of(from);
    struct dataset *d = dataset_of(from);
    enum gpm_status st = s                                 ? GPM_OK
                         : d                               ? from_dataset(x, d, &in)
                         : from.tag == V_NIL && act->n < 2 ? from_particles(x, &in)
                                                           : from_sequence(x, from, &in);
    if (st == GPM_OK) st = s ? ask_posterior(x, text, s, &a) : ask_draws(x, text, &in, &a);
    draws_in_release(&in);
    double vals[] = {a.probability, a.error, a.ess};
    if (st == GPM_OK) *out = infer_numbers(keys, vals, 3);
    return st;
}

/* ---- tables ---- */

struct table_row {
    const char *text;
    struct query_answer a;
};
typedef VEC(struct table_row) table;

static int by_probability(const void *a, const void *b) {
    const struct table_row *x = a, *y = b;
    if (x->a.probability != y->a.probability) return x->a.probability < y->a.probability ? 1 : -1;
    return strcmp(x->text, y->text);
}

/* The distinct structures among the draws, each as a query. */
static void tabulate(const struct draws_in *d, table *out) {
    double *holds = NEW_ARRAY(double, d->text.n + 1);
    for (size_t i = 0; i < d->text.n; i++) {
        bool known = false;
        for (size_t k = 0; k < out->n && !known; k++)
            known = !strcmp(out->at[k].text, d->text.at[i]);
        if (known) continue;
        for (size_t k = 0; k < d->text.n; k++) holds[k] = !strcmp(d->text.at[k], d->text.at[i]);
        struct table_row row = {d->text.at[i], weigh(d, holds, (double)d->text.n)};
        vec_push(out, row);
    }
    if (d->text.n) qsort(out->at, out->n, sizeof *out->at, by_probability);
    mem_free(holds);
}

/* The table of a posterior over structures, without improbable entries. */
static enum gpm_status tabulate_posterior(struct infer_state *x,
                                          const struct structure_posterior *s, table *out) {
    struct table_row row;
    size_t n = s->row(s, SIZE_MAX, &row.text, &row.a);
    if (!n)
        return infer_error(x, DIAG_BAD_OPERATOR_ARG,
                           "tabulate: the structures have not been searched yet");
    for (size_t i = 0; i < n; i++) {
        (void)s->row(s, i, &row.text, &row.a);
        if (i == 0 || row.a.probability >= 0.0005) vec_push(out, row);
    }
    return GPM_OK;
}

static enum gpm_status op_tabulate(struct infer_state *x, const struct action *act, value *out) {
    value from = is_absent(action_arg(act, 0)) ? query_noted(x) : act->args[0];
    struct structure_posterior *s = structure_posterior_of(from);
    struct dataset *d = dataset_of(from);
    struct draws_in in = {.chains = 1};
    table rows = {0};
    struct buf b = BUF_INIT;
    enum gpm_status st;
    if (s)
        st = tabulate_posterior(x, s, &rows);
    else if (d && structure_column(d))
        st = from_dataset(x, d, &in);
    else
        st = infer_error(x, DIAG_BAD_OPERATOR_ARG,
                         "tabulate needs a dataset with a column of kernels or structures");
    tabulate(&in, &rows);
    buf_puts(&b, "probability  error   ess  structure\n");
    for (size_t i = 0; i < rows.n; i++) {
        const struct query_answer *a = &rows.at[i].a;
        buf_printf(&b, "     %.4f  %.4f %5.0f  %s\n", a->probability, a->error, a->ess,
                   rows.at[i].text);
    }
    if (st == GPM_OK && x->write) x->write(x->user, 1, b.data, b.len);
    buf_release(&b);
    vec_release(&rows);
    draws_in_release(&in);
    return st;
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
