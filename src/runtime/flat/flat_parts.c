/* SPDX-License-Identifier: Apache-2.0
 *
 * Separate densities: their values one by one, and the gradient of a weighted sum of them.
 * Operations on many numbers add gradients to the adjoints directly. So the gradient of one such
 * density is collected in a second array, and its share is added afterwards. */
#include "runtime/flat/form.h"

#include <string.h>

static const struct flat_op *first_density(const struct flat_form *f) {
    return f->ops + f->n_steps;
}

size_t flat_n_parts(const struct flat *f) {
    return form_n_ops(f->form) - f->form->n_steps;
}

struct node *flat_part(const struct flat *f, size_t i) {
    return f->w[first_density(f->form)[i].node].n;
}

static bool forwards(struct flat_run *r, const double *x) {
    memcpy(r->v, x, r->form->n_x * sizeof *x);
    return run_forwards(r);
}

bool flat_weigh_parts(struct trace *t, struct flat *f, const double *x, double *logp) {
    struct flat_run r = run_of(t, f);
    const struct flat_op *op = first_density(f->form);
    size_t n = flat_n_parts(f), i = 0;
    if (!forwards(&r, x)) return false;
    while (i < n && one_density(&r, op + i, &logp[i])) i++;
    return i == n;
}

/* adj += share * beside over n slots; clears beside. */
static void flat_parts_take(double *adj, double *beside, uint32_t first, size_t n, double share) {
    for (size_t i = first; i < first + n; i++) {
        adj[i] += share * beside[i];
        beside[i] = 0;
    }
}

static void take_columns(double *adj, double *beside, const struct flat_op *op, double share) {
    for (uint32_t k = 0; k <= op->n_args; k++) {
        uint32_t arg = k ? op->args[k - 1] : op->out;
        flat_parts_take(adj, beside, arg & ~COLUMN, arg & COLUMN ? op->len : 1, share);
    }
}

static bool many_gradient(struct flat_run *r, const struct flat_op *op, double share,
                          double *beside) {
    struct flat_form *f = r->form;
    const uint32_t *at = f->gathered + op->args[0];
    double *adj = f->adj, logp;
    f->adj = beside;
    if (op->code == FLAT_GATHERED)
        logp = op->cls->gathered(r->v[op->out], r->v, at, op->len, beside);
    else
        logp = columns_density(r, op, true);
    f->adj = adj;
    if (op->code != FLAT_GATHERED)
        take_columns(adj, beside, op, share);
    else
        for (uint32_t i = 0; i < op->len; i++) flat_parts_take(adj, beside, at[i], 1, share);
    return logp == logp;
}

bool flat_add_gradient(struct trace *t, struct flat *f, const double *x, const double *shares,
                       double *grad) {
    struct flat_run r = run_of(t, f);
    const struct flat_op *op = first_density(f->form);
    double *adj = clear_adjoints(f->form), *beside = NULL;
    bool ok = forwards(&r, x);
    for (size_t i = 0; ok && i < flat_n_parts(f); i++, op++) {
        bool many = op->code == FLAT_COLS || op->code == FLAT_GATHERED;
        if (shares[i] == 0) continue;
        if (many && !beside) beside = mem_zalloc((form_n_slots(f->form) + 1) * sizeof *beside);
        ok = many ? many_gradient(&r, op, shares[i], beside) : one_gradient(&r, op, shares[i]);
    }
    mem_free(beside);
    ok = ok && run_back(&r);
    for (uint32_t i = 0; ok && i < f->form->n_x; i++) grad[i] += adj[i];
    return ok;
}
