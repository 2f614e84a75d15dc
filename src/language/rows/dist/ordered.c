/* SPDX-License-Identifier: Apache-2.0
 *
 * ordered_draws(n, dist, ...): n independent draws of a distribution of numbers in ascending order.
 * Every one of the n! orders of the draws gives the same vector, so that its density is
 *
 *     n! p(x_1) ... p(x_n)   where x_1 <= ... <= x_n, else 0
 */
#include "base/mem.h"
#include "base/number.h"
#include "language/rows/dist/dist_row.h"
#include "numeric/special/special.h"
#include "language/rows/protocol/adjoint.h"
#include <math.h>
#include <stdlib.h>

enum { DIST = 1, FIRST = 2 }; /* places among the arguments: the distribution, its first one */

/* The application of the distribution that gives each of the numbers. */
static enum gpm_status one_of(struct sp_call *c, struct sp_call *one) {
    struct sp_proc *p = sp_proc_of(c->args[DIST]);
    const struct sp_class *cls = p && !p->state ? p->cls : NULL;
    if (!cls || !(cls->flags & SP_RANDOM) || cls->flags & (SP_DISCRETE | SP_VECTOR) ||
        !cls->log_density)
        return sp_type_error(c, c->args[DIST], "dist must be a continuous distribution of numbers");
    if (sp_num(c, 0) > 1e7) return sp_bad_arg(c, 0, "n", "at most 10 million");
    *one = *c;
    one->cls = cls;
    one->args = c->args + FIRST;
    one->n = c->n - FIRST;
    one->state = NULL;
    for (size_t i = 0; i < one->n; i++) {
        double x;
        if (!value_number(one->args[i], &x))
            return sp_type_error(c, one->args[i], "the arguments of %s must be numbers", cls->name);
    }
    return sp_check_args(one, sp_index_sig((size_t)sp_index_number(cls->name)));
}

static enum gpm_status ordered_simulate(struct sp_call *c, value *out) {
    struct sp_call one;
    enum gpm_status st = one_of(c, &one);
    if (st != GPM_OK) return st;
    size_t n = (size_t)sp_num(c, 0);
    value v = value_vector_new(n);
    for (size_t i = 0; i < n && st == GPM_OK; i++) {
        value x;
        st = one.cls->simulate(&one, &x);
        if (st == GPM_OK) v.u.vector->at[i] = x.u.num;
    }
    if (st == GPM_OK) {
        qsort(v.u.vector->at, n, sizeof(double), number_compare);
        *out = v;
    } else
        value_unref(v);
    return st;
}

static bool ascends(const double *x, size_t n) {
    for (size_t i = 1; i < n; i++)
        if (!(x[i - 1] <= x[i])) return false;
    return true;
}

static enum gpm_status ordered_log_density(struct sp_call *c, value v, double *out) {
    struct sp_call one;
    double *x;
    size_t n = (size_t)sp_num(c, 0);
    enum gpm_status st = one_of(c, &one);
    if (st == GPM_OK) st = sp_numbers_value(c, v, n, &x);
    if (st != GPM_OK) return st;
    *out = ascends(x, n) ? log_gamma((double)n + 1) : -INFINITY;
    for (size_t i = 0; i < n && st == GPM_OK && *out > -INFINITY; i++) {
        double lp;
        st = one.cls->log_density(&one, value_num(x[i]), &lp);
        if (st == GPM_OK) *out += lp;
    }
    mem_free(x);
    return st;
}

/* The adjoint of a shared argument is the sum over the numbers. */
static void add_adjoints(value *sum, const value *d, size_t n) {
    for (size_t k = 0; k < n; k++) {
        value_set_take(&sum[k], adj_add(sum[k], d[k]));
        value_unref(d[k]);
    }
}

static enum gpm_status ordered_grad(struct sp_call *c, value v, value *dv, value *dargs) {
    struct sp_call one;
    double *x;
    size_t n = (size_t)sp_num(c, 0);
    enum gpm_status st = one_of(c, &one);
    if (st == GPM_OK && !one.cls->grad_density)
        st = sp_error(c, DIAG_TYPE, "%s: %s has no gradient", c->cls->name, one.cls->name);
    if (st == GPM_OK) st = sp_numbers_value(c, v, n, &x);
    if (st != GPM_OK) return st;
    value dx = value_vector_new(n);
    for (size_t k = 0; k < c->n; k++) dargs[k] = NIL;
    for (size_t i = 0; i < n && st == GPM_OK; i++) {
        value d = NIL, da[SP_MAX_PARAMS];
        for (size_t k = 0; k < one.n; k++) da[k] = NIL;
        st = one.cls->grad_density(&one, value_num(x[i]), &d, da);
        if (st != GPM_OK) break;
        dx.u.vector->at[i] = adj_num(d);
        add_adjoints(dargs + FIRST, da, one.n);
    }
    if (dv && st == GPM_OK) *dv = value_ref(dx);
    value_unref(dx);
    mem_free(x);
    return st;
}

static enum gpm_status ordered_support(struct sp_call *c, struct sp_support *out) {
    struct sp_call one;
    enum gpm_status st = one_of(c, &one);
    *out = (struct sp_support){.kind = SUPPORT_OTHER};
    if (st == GPM_OK && one.cls->support) st = one.cls->support(&one, out);
    if (st != GPM_OK || out->kind == SUPPORT_OTHER) return st;
    if (out->kind != SUPPORT_INTERVAL) out->hi = INFINITY;
    if (out->kind == SUPPORT_REAL) out->lo = -INFINITY;
    out->kind = SUPPORT_ORDERED;
    return st;
}

const struct sp_class sp_ordered_rows[] = {
    {.name = "ordered_draws",
     .sig = "(n: count, dist: proc, ...args: any) -> vector",
     .doc = "n independent draws of dist(...args), a distribution of numbers, in ascending order",
     .example = "size(ordered_draws(3, normal, 0, 1)) => 3",
     .flags = SP_RANDOM | SP_VECTOR,
     .simulate = ordered_simulate,
     .log_density = ordered_log_density,
     .grad_density = ordered_grad,
     .support = ordered_support},
};
const size_t sp_ordered_count = COUNT_OF(sp_ordered_rows);
