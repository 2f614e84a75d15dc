/* SPDX-License-Identifier: Apache-2.0
 *
 * Values to doubles and back, for the random procedures.
 */
#include "dist/dist_row.h"
#include "base/mem.h"
#include <math.h>
#include <string.h>

void sp_args(const struct sp_call *c, double *a) {
    for (size_t i = 0; i < c->n && i < SP_MAX_PARAMS; i++)
        if (!sp_as_number(c->args[i], &a[i])) a[i] = NAN;
}

enum gpm_status sp_bad_value(struct sp_call *c, value v, const char *expected) {
    return sp_type_error(c, v, "the value must be %s", expected);
}

enum gpm_status sp_bad_arg(struct sp_call *c, size_t i, const char *name, const char *expected) {
    double x;
    bool number = sp_as_number(c->args[i], &x) || seq_is(c->args[i]);
    return sp_error(c, number ? DIAG_DOMAIN : DIAG_TYPE, "%s: %s must be %s, got %s", c->cls->name,
                    name, expected, SHOW(c->args[i]));
}

/* The parameters passed their signature but the distribution does not exist, or cannot be computed:
 * says which of the three it is. */
static enum gpm_status no_such_distribution(struct sp_call *c) {
    struct buf b = BUF_INIT;
    const char *why = "the parameters are outside the procedure's domain";
    for (size_t i = 0; i < c->n; i++) {
        double x = 1;
        if (i) buf_puts(&b, ", ");
        value_print(c->args[i], &b);
        if (!sp_as_number(c->args[i], &x) || (fabs(x) < 1e150 && (fabs(x) > 1e-150 || x == 0)))
            continue;
        why = isinf(x) ? "a parameter is infinite" : "a parameter is too extreme for its numbers";
        if (isinf(x)) break;
    }
    enum gpm_status st = sp_error(c, DIAG_DOMAIN, "%s(%.*s): %s", c->cls->name, 80, b.data, why);
    buf_release(&b);
    return st;
}

static enum gpm_status check(struct sp_call *c) {
    const struct scalar_family *f = c->cls->of;
    return f->check ? f->check(c) : GPM_OK;
}

enum gpm_status sp_scalar_simulate(struct sp_call *c, value *out) {
    const struct scalar_family *f = c->cls->of;
    double a[SP_MAX_PARAMS];
    enum gpm_status st = check(c);
    if (st != GPM_OK) return st;
    sp_args(c, a);
    double x = c->cls->num_sample(c->rng, a, c->n);
    if (isnan(x)) return no_such_distribution(c);
    *out = f->coin ? value_bool(x != 0) : value_num(x);
    return GPM_OK;
}

enum gpm_status sp_scalar_log_density(struct sp_call *c, value v, double *out) {
    const struct scalar_family *f = c->cls->of;
    double a[SP_MAX_PARAMS], x;
    enum gpm_status st = check(c);
    if (st != GPM_OK) return st;
    if (!sp_as_number(v, &x)) return sp_bad_value(c, v, f->coin ? "a boolean" : "a number");
    sp_args(c, a);
    *out = c->cls->num_log_density(x, a, c->n);
    if (!isnan(*out)) return GPM_OK;
    *out = -INFINITY;
    if (isnan(x) || isinf(x)) return GPM_OK;
    return no_such_distribution(c);
}

enum gpm_status sp_scalar_grad(struct sp_call *c, value v, value *dv, value *dargs) {
    double a[SP_MAX_PARAMS], g[SP_MAX_PARAMS + 1] = {0}, x;
    if (!sp_as_number(v, &x)) return sp_bad_value(c, v, "a number");
    sp_args(c, a);
    c->cls->num_grad(x, a, c->n, g);
    if (dv) *dv = c->cls->flags & SP_DISCRETE ? NIL : value_num(g[0]);
    for (size_t i = 0; i < c->n; i++) dargs[i] = g[i + 1] == 0 ? NIL : value_num(g[i + 1]);
    return GPM_OK;
}

enum gpm_status sp_scalar_support(struct sp_call *c, struct sp_support *out) {
    const struct scalar_family *f = c->cls->of;
    *out = (struct sp_support){.kind = f->support, .lo = f->lo, .hi = f->hi};
    return GPM_OK;
}

enum gpm_status sp_scalar_bound(struct sp_call *c, value v, uint64_t varies, double *out) {
    const struct scalar_family *f = c->cls->of;
    double a[SP_MAX_PARAMS], x = NAN;
    sp_args(c, a);
    if (!(varies & 1u) && !sp_as_number(v, &x)) return sp_bad_value(c, v, "a number");
    *out = varies ? f->best(c, varies, x, a) : c->cls->num_log_density(x, a, c->n);
    return isnan(*out) ? GPM_E_NOT_FOUND : GPM_OK;
}

enum gpm_status sp_discrete_bound(struct sp_call *c, value v, uint64_t varies, double *out) {
    *out = 0;
    return varies ? GPM_OK : c->cls->log_density(c, v, out);
}

enum gpm_status sp_support_discrete(struct sp_call *c, struct sp_support *out) {
    *out = (struct sp_support){.kind = SUPPORT_DISCRETE};
    return GPM_OK;
}

enum gpm_status sp_support_real(struct sp_call *c, struct sp_support *out) {
    *out = (struct sp_support){.kind = SUPPORT_REAL};
    return GPM_OK;
}

enum gpm_status sp_enumerate_two(struct sp_call *c, value a, value b, value **vals, size_t *n) {
    value both[2] = {a, b};
    *vals = NEW_ARRAY(value, 2);
    *n = 0;
    for (int i = 0; i < 2; i++) {
        double lp;
        enum gpm_status st = c->cls->log_density(c, both[i], &lp);
        if (st != GPM_OK) {
            mem_free(*vals);
            return st;
        }
        if (lp > -INFINITY) (*vals)[(*n)++] = both[i];
    }
    return GPM_OK;
}

value *sp_items(const struct sp_call *c, size_t i, size_t *n) {
    value *items = NULL;
    if (!seq_items(c->args[i], &items, n)) *n = 0;
    return items;
}

enum gpm_status sp_numbers_arg(struct sp_call *c, size_t i, const char *name, double **out,
                               size_t *n) {
    *out = NULL;
    if (value_has_nan(c->args[i]))
        return sp_bad_arg(c, i, name, "a sequence of numbers without NaN");
    return seq_numbers(c->args[i], out, n)
               ? GPM_OK
               : sp_type_error(c, c->args[i], "%s must be a sequence of numbers", name);
}

enum gpm_status sp_numbers_value(struct sp_call *c, value v, size_t n, double **out) {
    size_t got;
    if (!seq_numbers(v, out, &got)) return sp_bad_value(c, v, "a sequence of numbers");
    if (got == n) return GPM_OK;
    mem_free(*out);
    return sp_error(c, DIAG_SHAPE, "%s: the value has %zu elements, expected %zu", c->cls->name,
                    got, n);
}

bool sp_as_matrix(value v, double **out, size_t *rows, size_t *cols) {
    size_t ragged;
    if (!seq_matrix(v, out, rows, cols, &ragged)) return false;
    if (*rows || v.tag == V_MATRIX) return true;
    mem_free(*out); /* an empty sequence is no matrix */
    return false;
}

enum gpm_status sp_matrix_arg(struct sp_call *c, size_t i, const char *name, double **out,
                              size_t *rows, size_t *cols) {
    *out = NULL;
    if (value_has_nan(c->args[i])) return sp_bad_arg(c, i, name, "a matrix without NaN");
    return sp_as_matrix(c->args[i], out, rows, cols)
               ? GPM_OK
               : sp_type_error(c, c->args[i], "%s must be a matrix", name);
}
