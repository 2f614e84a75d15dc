/* SPDX-License-Identifier: Apache-2.0
 *
 * Elementwise arithmetic. An operand is a view of an argument as one number (step 0) or as n
 * numbers (step 1), so that one loop serves every mixture of shapes.
 */
#include "language/rows/lib/lift.h"

#include "base/mem.h"
#include "language/rows/protocol/adjoint.h"
#include <string.h>

enum shape { SCALAR, VECTOR, MATRIX };

struct operand {
    enum shape shape;
    size_t n, rows, step;
    const double *at;
    double scalar, *own;
};

static bool operand_init(struct operand *o, value v) {
    *o = (struct operand){.n = 1};
    switch (v.tag) {
    case V_NUM: o->scalar = v.u.num; return true;
    case V_NIL: return false;
    case V_MATRIX:
        o->shape = MATRIX;
        o->rows = v.u.matrix->rows;
        o->n = o->rows * v.u.matrix->cols;
        o->at = v.u.matrix->at;
        break;
    case V_VECTOR:
        o->shape = VECTOR;
        o->n = v.u.vector->n;
        o->at = v.u.vector->at;
        break;
    default:
        if (!seq_numbers(v, &o->own, &o->n)) return false;
        o->shape = VECTOR;
        o->at = o->own;
    }
    o->step = 1;
    return true;
}

static double operand_at(const struct operand *o, size_t i) {
    return o->step ? o->at[i] : o->scalar;
}

static void operands_free(struct operand *o, size_t n) {
    for (size_t i = 0; i < n; i++) mem_free(o[i].own);
    mem_free(o);
}

static enum gpm_status operand_error(struct sp_call *c, size_t i) {
    struct sp_sig sig;
    sp_sig_parse(c->cls->sig, &sig);
    sp_type_error(c, c->args[i], "%s must be a number, a sequence of numbers or a matrix",
                  sp_param_name(&sig, i, i, (char[40]){0}));
    if (c->args[i].tag == V_STR && strcmp(c->cls->name, "add") == 0)
        diag_set_help(c->diags, "string_concat(a, b, ...) joins texts");
    return GPM_E_USER;
}

static void shape_text(const struct operand *o, struct buf *out) {
    if (o->shape == MATRIX)
        buf_printf(out, "a %zu by %zu matrix", o->rows, o->rows ? o->n / o->rows : 0);
    else
        buf_printf(out, "%zu element%s", o->n, o->n == 1 ? "" : "s");
}

static enum gpm_status shape_error(struct sp_call *c, const struct operand *a,
                                   const struct operand *b) {
    struct buf x = BUF_INIT, y = BUF_INIT;
    shape_text(a, &x);
    shape_text(b, &y);
    sp_error(c, DIAG_SHAPE, "%s: the sizes do not fit: %s and %s", c->cls->name, x.data, y.data);
    buf_release(&x);
    buf_release(&y);
    return GPM_E_USER;
}

/* Views of all arguments; *common is the one that gives the result its shape. */
static enum gpm_status operands_new(struct sp_call *c, struct operand **out, size_t *common) {
    struct operand *o = NEW_ARRAY(struct operand, c->n ? c->n : 1);
    size_t k = 0;
    enum gpm_status st = GPM_OK;
    for (size_t i = 0; i < c->n && !st; i++) {
        if (!operand_init(&o[i], c->args[i])) {
            operands_free(o, i);
            return operand_error(c, i);
        }
        if (o[i].shape == SCALAR) continue;
        if (o[k].shape == SCALAR)
            k = i;
        else if (o[i].shape != o[k].shape || o[i].n != o[k].n || o[i].rows != o[k].rows) {
            st = shape_error(c, &o[k], &o[i]);
            operands_free(o, i + 1);
            return st;
        }
    }
    *out = o;
    *common = k;
    return GPM_OK;
}

/* A value of the operand's shape, and where its numbers go. */
static value shaped(const struct operand *o, double **at) {
    if (o->shape == MATRIX) {
        value v = value_matrix_new(o->rows, o->rows ? o->n / o->rows : 0);
        *at = v.u.matrix->at;
        return v;
    }
    value v = value_vector_new(o->n);
    *at = v.u.vector->at;
    return v;
}

static enum gpm_status lift_all(struct sp_call *c, value *out) {
    struct operand *o;
    size_t k;
    double few[8] = {0}, *at;
    enum gpm_status st = operands_new(c, &o, &k);
    if (st) return st;
    double *x = c->n <= COUNT_OF(few) ? few : NEW_ARRAY(double, c->n);
    *out = shaped(&o[k], &at);
    for (size_t i = 0; i < o[k].n; i++) {
        for (size_t j = 0; j < c->n; j++) x[j] = operand_at(&o[j], i);
        at[i] = c->cls->num(x, c->n);
    }
    if (x != few) mem_free(x);
    operands_free(o, c->n);
    return GPM_OK;
}

/* ---- objects with arithmetic of their own (kernels, mean functions) ------------------------- */

static const struct box_class *arith_class(value a, value b) {
    if (a.tag == V_BOX && a.u.box->cls->arith) return a.u.box->cls;
    if (b.tag == V_BOX && b.u.box->cls->arith) return b.u.box->cls;
    return NULL;
}

static enum gpm_status box_op(struct sp_call *c, value a, value b, value *out) {
    const struct box_class *cls = arith_class(a, b);
    enum gpm_status st = cls ? cls->arith(c->cls->name, a, b, out) : GPM_E_NOT_FOUND;
    if (st == GPM_E_ARG)
        return sp_error(c, DIAG_LIMIT, "%s: the result is too large or nested too deeply",
                        c->cls->name);
    if (st != GPM_E_NOT_FOUND) return st;
    return sp_error(c, DIAG_TYPE, "%s: there is no such operation on %s and %s", c->cls->name,
                    SHOW(a), SHOW(b));
}

static bool has_box(const struct sp_call *c) {
    for (size_t i = 0; i < c->n; i++)
        if (c->args[i].tag == V_BOX) return true;
    return false;
}

static enum gpm_status box_fold(struct sp_call *c, value *out) {
    value acc = value_ref(c->args[0]);
    for (size_t i = 1; i < c->n; i++) {
        value next;
        enum gpm_status st = box_op(c, acc, c->args[i], &next);
        value_unref(acc);
        if (st) return st;
        acc = next;
    }
    *out = acc;
    return GPM_OK;
}

static enum gpm_status box_grad(struct sp_call *c, value dresult, value *dargs) {
    const struct box_class *cls = c->n == 2 ? arith_class(c->args[0], c->args[1]) : NULL;
    if (!cls || !cls->arith_grad)
        return sp_error(c, DIAG_NO_GRADIENT, "%s: there is no gradient through these arguments",
                        c->cls->name);
    return cls->arith_grad(c->cls->name, c->args[0], c->args[1], dresult, &dargs[0], &dargs[1]);
}

/* ---- simulate ------------------------------------------------------------------------------- */

static bool all_scalars(const struct sp_call *c) {
    for (size_t i = 0; i < c->n; i++)
        if (c->args[i].tag != V_NUM) return false;
    return true;
}

static enum gpm_status lift_scalars(struct sp_call *c, value *out) {
    double few[8] = {0};
    double *x = c->n <= COUNT_OF(few) ? few : NEW_ARRAY(double, c->n);
    for (size_t i = 0; i < c->n; i++) x[i] = sp_num(c, i);
    *out = value_num(c->cls->num(x, c->n));
    if (x != few) mem_free(x);
    return GPM_OK;
}

enum gpm_status lift_simulate(struct sp_call *c, value *out) {
    if (all_scalars(c)) return lift_scalars(c, out);
    bool folds = c->n == 2 || (c->cls->variant & LIFT_FOLD);
    return folds && has_box(c) ? box_fold(c, out) : lift_all(c, out);
}

/* ---- gradients ------------------------------------------------------------------------------ */

/* Adjoint of an argument from its numbers: of its own shape, one number when it was broadcast. */
static value operand_adjoint(const struct operand *o, const double *d) {
    double *at;
    if (o->shape == SCALAR) return value_num(d[0]);
    value v = shaped(o, &at);
    if (o->n) memcpy(at, d, o->n * sizeof *at);
    return v;
}

enum gpm_status lift_grad(struct sp_call *c, value result, value dresult, value *dargs) {
    struct operand *o;
    size_t k, n = c->n;
    if (dresult.tag == V_NIL) return GPM_OK;
    if (has_box(c)) return box_grad(c, dresult, dargs);
    enum gpm_status st = operands_new(c, &o, &k);
    if (st) return st;
    size_t m = n ? o[k].n : 1, wide = m ? m : 1;
    double *dr = NEW_ARRAY(double, wide), *x = NEW_ARRAY(double, 2 * n + 1), *w = x + n;
    double *d = mem_zalloc(wide * (n + 1) * sizeof *d); /* d[j * m + i]: argument j, element i */
    adj_doubles(dresult, dr, m);
    for (size_t i = 0; i < m; i++) {
        if (dr[i] == 0) continue;
        for (size_t j = 0; j < n; j++) x[j] = operand_at(&o[j], i);
        c->cls->num_back(c->cls->num(x, n), x, n, dr[i], w);
        for (size_t j = 0; j < n; j++) d[j * m + (o[j].step ? i : 0)] += w[j];
    }
    for (size_t j = 0; j < n; j++) dargs[j] = operand_adjoint(&o[j], d + j * m);
    mem_free(dr);
    mem_free(x);
    mem_free(d);
    operands_free(o, n);
    return GPM_OK;
}

/* ---- one sequence ---------------------------------------------------------------------------- */

/* The numbers of the only argument, a sequence; false: several, or no numbers. */
static bool one_sequence(const struct sp_call *c, double **x, size_t *n) {
    return c->n == 1 && seq_is(c->args[0]) && seq_numbers(c->args[0], x, n);
}

enum gpm_status reduce_simulate(struct sp_call *c, value *out) {
    double *x;
    size_t n;
    if (!one_sequence(c, &x, &n)) return lift_simulate(c, out);
    bool none = n == 0 && !(c->cls->variant & LIFT_OF_NONE);
    if (!none) *out = value_num(c->cls->num(x, n));
    mem_free(x);
    return none ? sp_error(c, DIAG_EMPTY, "%s: the sequence is empty", c->cls->name) : GPM_OK;
}

enum gpm_status reduce_grad(struct sp_call *c, value r, value dr, value *dargs) {
    double *x;
    size_t n;
    if (!one_sequence(c, &x, &n)) return lift_grad(c, r, dr, dargs);
    dargs[0] = value_vector_new(n);
    c->cls->num_back(adj_num(r), x, n, adj_num(dr), dargs[0].u.vector->at);
    mem_free(x);
    return GPM_OK;
}
