/* SPDX-License-Identifier: Apache-2.0
 *
 * loo(d), loo(a, b, ...): leave-one-out and WAIC of datasets whose rows hold log_lik().
 */
#include "base/mem.h"
#include "inference/run/dataset.h"
#include "numeric/posterior/loo.h"
#include <math.h>

/* Reads one dataset; its name comes from its position among the arguments. */
static enum gpm_status read_model(struct infer_state *x, const struct action *a, size_t i,
                                  struct loo_model *m, struct buf *name) {
    const struct dataset *d = dataset_of(a->args[i]);
    struct buf why = BUF_INIT;
    struct draw_table all;
    if (!d)
        return infer_error(x, DIAG_TYPE, "loo needs datasets, as collect gives them; got a %s",
                           value_type_name(a->args[i]));
    buf_printf(name, "model %zu", i + 1);
    m->name = name->data;
    dataset_table(d, &all);
    bool good = loo_of_table(&all, &m->loo, &why);
    draw_table_release(&all);
    enum gpm_status st = good ? GPM_OK : infer_error(x, DIAG_BAD_OPERATOR_ARG, "loo: %s", why.data);
    buf_release(&why);
    return st;
}

/* The figures of the best model, and its lead over the second. */
static value best_numbers(const struct loo_model *m, size_t n) {
    static const char *const keys[] = {"elpd_loo", "se",      "p_loo",     "elpd_waic",
                                       "p_waic",   "worst_k", "elpd_diff", "se_diff"};
    const struct loo *best = &m[0].loo;
    struct loo_sum e = loo_total(best, offsetof(struct loo_point, elpd));
    struct loo_sum lead = loo_difference(&m[n - 1].loo, best);
    double worst = 0;
    for (size_t i = 0; i < best->n; i++) worst = fmax(worst, best->at[i].k);
    double vals[] = {e.sum,
                     e.se,
                     loo_total(best, offsetof(struct loo_point, p)).sum,
                     loo_total(best, offsetof(struct loo_point, elpd_waic)).sum,
                     loo_total(best, offsetof(struct loo_point, p_waic)).sum,
                     worst,
                     lead.sum,
                     lead.se};
    return infer_numbers(keys, vals, n > 1 ? 8 : 6);
}

static enum gpm_status op_loo(struct infer_state *x, const struct action *a, value *out) {
    struct loo_model *m = mem_zalloc((a->n + 1) * sizeof *m);
    struct buf *names = mem_zalloc((a->n + 1) * sizeof *names), text = BUF_INIT, why = BUF_INIT;
    enum gpm_status st =
        a->n ? GPM_OK : infer_error(x, DIAG_ARITY, "loo needs a dataset, or several");
    for (size_t i = 0; i < a->n; i++) buf_init(&names[i]);
    for (size_t i = 0; i < a->n && st == GPM_OK; i++) st = read_model(x, a, i, &m[i], &names[i]);
    if (st == GPM_OK && !loo_report(m, a->n, false, &text, &why))
        st = infer_error(x, DIAG_BAD_OPERATOR_ARG, "loo: %s", why.data);
    if (st == GPM_OK) {
        infer_write(x, text.data, text.len);
        *out = best_numbers(m, a->n);
    }
    for (size_t i = 0; i < a->n; i++) {
        loo_release(&m[i].loo);
        buf_release(&names[i]);
    }
    mem_free(m);
    mem_free(names);
    buf_release(&text);
    buf_release(&why);
    return st;
}

const struct infer_op infer_loo_rows[] = {
    {"loo", "(...ds: any) -> action",
     "how well a model predicts data that it has not seen: leave-one-out cross-validation by "
     "Pareto-smoothed importance sampling, and WAIC, from a dataset of collect(..., log_lik()). "
     "Prints estimates, errors and the observations that cannot be trusted (Pareto k); of several "
     "datasets, the differences in elpd and their errors, best model first. Gives a dictionary of "
     "the best one's numbers, with elpd_diff of the last one against it",
     .run = op_loo},
    {0},
};
