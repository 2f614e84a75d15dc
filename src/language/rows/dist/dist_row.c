/* SPDX-License-Identifier: Apache-2.0
 *
 * Values to doubles and back, for the random procedures; those of numbers are in elementwise.c.
 */
#include "language/rows/dist/dist_row.h"
#include "base/mem.h"
#include <math.h>
#include <string.h>

void sp_args(const struct sp_call *c, double *a) {
    for (size_t i = 0; i < c->n && i < SP_MAX_PARAMS; i++)
        if (!value_number(c->args[i], &a[i])) a[i] = NAN;
}

enum gpm_status sp_bad_value(struct sp_call *c, value v, const char *expected) {
    return sp_type_error(c, v, "the value must be %s", expected);
}

enum gpm_status sp_bad_arg(struct sp_call *c, size_t i, const char *name, const char *expected) {
    double x;
    bool number = value_number(c->args[i], &x) || seq_is(c->args[i]) || c->args[i].tag == V_MATRIX;
    return sp_error(c, number ? DIAG_DOMAIN : DIAG_TYPE, "%s: %s must be %s, got %s", c->cls->name,
                    name, expected, SHOW(c->args[i]));
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
    *out = NULL;
    return sp_error(c, DIAG_SHAPE, "%s: the value has %zu elements, expected %zu", c->cls->name,
                    got, n);
}

bool sp_as_matrix(value v, double **out, size_t *rows, size_t *cols) {
    size_t ragged;
    if (!seq_matrix(v, out, rows, cols, &ragged)) return false;
    if (*rows || v.tag == V_MATRIX) return true;
    mem_free(*out); /* an empty sequence is no matrix */
    *out = NULL;
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
