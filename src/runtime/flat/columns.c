/* SPDX-License-Identifier: Apache-2.0
 *
 * Operations on columns of numbers: elementwise arithmetic, folds, gathers, blocks (matrix products
 * and other rows with a `block`), densities of many elements. Each column takes one dispatch and no
 * allocation. Sums run in element order, so results do not depend on the machine.
 *
 * An operand of a column operation is a number for all elements (step 0) or a column (step 1). Only
 * operands that can change have adjoints; data have none. */
#include "runtime/flat/form.h"

#include "numeric/la/cols.h"
#include "numeric/special/special.h"
#include <math.h>

static inline struct sp_col col_of(const struct flat_run *r, uint32_t arg) {
    uint32_t slot = arg & ~COLUMN;
    double *adj = r->form->adj;
    return (struct sp_col){r->v + slot, arg & COLUMN ? 1 : 0,
                           adj && slot < r->form->n_changing ? adj + slot : NULL};
}

void assess_back(const struct flat_op *op, double v, const double *args, double d, double *g) {
    for (uint32_t k = 0; k < op->n_args; k++) g[k] = 0;
    if (v == -INFINITY) return; /* no slope */
    op->cls->num_grad(args[0], args + 1, op->n_args - 1u, g);
    if (op->cls->flags & SP_DISCRETE) g[0] = 0;
    for (uint32_t k = 0; k < op->n_args; k++) g[k] *= d;
}

/* ---- elementwise ---- */

static const enum col_op col_ops[] = {[SP_CODE_ADD] = COL_ADD,
                                      [SP_CODE_SUB] = COL_SUB,
                                      [SP_CODE_MUL] = COL_MUL,
                                      [SP_CODE_DIV] = COL_DIV};

static void arithmetic(const struct flat_run *r, const struct flat_op *op) {
    struct sp_col x = col_of(r, op->args[0]), y = col_of(r, op->args[1]);
    col_arith(col_ops[op->how], op->len, (struct col){x.at, x.step}, (struct col){y.at, y.step},
              r->v + op->out);
}

/* adj += f d[i], elementwise or summed up. */
static void add_scaled(const struct sp_col *x, size_t n, double f, const double *d) {
    if (x->adj && x->step)
        col_add(n, f, d, x->adj);
    else if (x->adj)
        x->adj[0] += f * col_sum(n, d);
}

/* adj += d[i] y[i]. */
static void add_product(const struct sp_col *x, size_t n, const double *d, const struct sp_col *y) {
    if (!y->step)
        add_scaled(x, n, y->at[0], d);
    else if (x->adj && x->step)
        col_add_product(n, d, y->at, x->adj);
    else if (x->adj)
        x->adj[0] += col_dot(n, d, y->at);
}

/* x / y = v: dx = d / y, dy = -d v / y. */
static void back_div(const struct sp_col *x, const struct sp_col *y, size_t n, const double *v,
                     const double *d) {
    double dx = 0, dy = 0;
    for (size_t i = 0; i < n; i++) {
        double g = d[i] / y->at[i * y->step];
        if (x->adj && x->step) x->adj[i] += g;
        if (y->adj && y->step) y->adj[i] -= g * v[i];
        dx += g;
        dy -= g * v[i];
    }
    if (x->adj && !x->step) x->adj[0] += dx;
    if (y->adj && !y->step) y->adj[0] += dy;
}

static void arithmetic_back(const struct flat_run *r, const struct flat_op *op) {
    struct sp_col x = col_of(r, op->args[0]), y = col_of(r, op->args[1]);
    const double *d = r->form->adj + op->out;
    size_t n = op->len;
    switch (op->how) {
    case SP_CODE_ADD: add_scaled(&x, n, 1, d), add_scaled(&y, n, 1, d); break;
    case SP_CODE_SUB: add_scaled(&x, n, 1, d), add_scaled(&y, n, -1, d); break;
    case SP_CODE_MUL: add_product(&x, n, d, &y), add_product(&y, n, d, &x); break;
    default: back_div(&x, &y, n, r->v + op->out, d);
    }
}

/* The result of a step for one element, and the adjoints of its operands. */
static inline double element(const struct flat_op *op, const double *args) {
    if (op->how != SP_CODE_ASSESS) return op->cls->num(args, op->n_args);
    return op->cls->num_log_density(args[0], args + 1, op->n_args - 1u);
}

static inline void element_back(const struct flat_op *op, double v, const double *args, double d,
                                double *g) {
    if (op->how != SP_CODE_ASSESS)
        op->cls->num_back(v, args, op->n_args, d, g);
    else
        assess_back(op, v, args, d, g);
}

/* Normal densities with a common sd, as in mixtures: log N(x; mean, sd) of each element. */
static bool is_normal(const struct flat_op *op) {
    return op->how == SP_CODE_ASSESS && op->cls->code == SP_CODE_NORMAL && op->n_args == 3 &&
           !(op->args[2] & COLUMN);
}

static bool normals(const struct flat_run *r, const struct flat_op *op) {
    struct sp_col x = col_of(r, op->args[0]), mean = col_of(r, op->args[1]);
    double sd = r->v[op->args[2]], f = 1 / sd, *out = r->v + op->out;
    if (!(sd > 0)) return false;
    double shared = log(sd) + LOG_SQRT_2PI;
    col_arith(COL_SUB, op->len, (struct col){x.at, x.step}, (struct col){mean.at, mean.step}, out);
    for (size_t i = 0; i < op->len; i++) out[i] = -0.5 * (out[i] * f) * (out[i] * f) - shared;
    return true;
}

static void normals_back(const struct flat_run *r, const struct flat_op *op) {
    struct sp_col x = col_of(r, op->args[0]), mean = col_of(r, op->args[1]);
    struct sp_col sd = col_of(r, op->args[2]);
    const double *d = r->form->adj + op->out;
    double f = 1 / sd.at[0], dx = 0, d_sd = 0;
    for (size_t i = 0; i < op->len; i++) {
        double z = (x.at[i * x.step] - mean.at[i * mean.step]) * f, slope = d[i] * z * f;
        if (x.adj && x.step) x.adj[i] -= slope;
        if (mean.adj && mean.step) mean.adj[i] += slope;
        dx += slope;
        d_sd += d[i] * (z * z - 1) * f;
    }
    if (x.adj && !x.step) x.adj[0] -= dx;
    if (mean.adj && !mean.step) mean.adj[0] += dx;
    if (sd.adj) sd.adj[0] += d_sd;
}

static bool elementwise(const struct flat_run *r, const struct flat_op *op) {
    if (is_normal(op)) return normals(r, op);
    if (op->how && op->how != SP_CODE_ASSESS) {
        arithmetic(r, op);
        return true;
    }
    struct sp_col x[FLAT_ARGS];
    double args[FLAT_ARGS], *out = r->v + op->out;
    for (uint32_t k = 0; k < op->n_args; k++) x[k] = col_of(r, op->args[k]);
    for (size_t i = 0; i < op->len; i++) {
        for (uint32_t k = 0; k < op->n_args; k++) args[k] = x[k].at[i * x[k].step];
        out[i] = element(op, args);
        if (out[i] != out[i]) return false;
    }
    return true;
}

/* An operation without a derivative (a comparison) needs none if the adjoints of its result are
 * zero. */
static bool passes_nothing(const struct flat_run *r, const struct flat_op *op) {
    const double *d = r->form->adj + op->out;
    for (size_t i = 0; i < op->len; i++)
        if (d[i] != 0) return false;
    return true;
}

static bool elementwise_back(const struct flat_run *r, const struct flat_op *op) {
    if (is_normal(op)) {
        normals_back(r, op);
        return true;
    }
    if (op->how && op->how != SP_CODE_ASSESS) {
        arithmetic_back(r, op);
        return true;
    }
    if (op->how ? !op->cls->num_grad : !op->cls->num_back) return passes_nothing(r, op);
    struct sp_col x[FLAT_ARGS];
    double args[FLAT_ARGS], g[FLAT_ARGS];
    const double *out = r->v + op->out, *d = r->form->adj + op->out;
    for (uint32_t k = 0; k < op->n_args; k++) x[k] = col_of(r, op->args[k]);
    for (size_t i = 0; i < op->len; i++) {
        if (d[i] == 0) continue;
        for (uint32_t k = 0; k < op->n_args; k++) args[k] = x[k].at[i * x[k].step];
        element_back(op, out[i], args, d[i], g);
        for (uint32_t k = 0; k < op->n_args; k++)
            if (x[k].adj) x[k].adj[i * x[k].step] += g[k];
    }
    return true;
}

/* ---- folds and gathers ---- */

static bool fold(const struct flat_run *r, const struct flat_op *op) {
    double x = op->cls->num(r->v + (op->args[0] & ~COLUMN), op->len);
    r->v[op->out] = x;
    return x == x;
}

static bool fold_back(const struct flat_run *r, const struct flat_op *op) {
    struct sp_col x = col_of(r, op->args[0]);
    double d = r->form->adj[op->out], *g = r->form->adj + form_n_slots(r->form) + 1;
    if (!op->cls->num_back) return false;
    if (d == 0 || !x.adj) return true;
    op->cls->num_back(r->v[op->out], x.at, op->len, d, g);
    for (size_t i = 0; i < op->len; i++) x.adj[i] += g[i];
    return true;
}

/* The sum of a density over columns, as a step. */
static bool total(const struct flat_run *r, const struct flat_op *op) {
    double args[FLAT_ARGS], sum = 0;
    struct sp_col x[FLAT_ARGS];
    for (uint32_t k = 0; k < op->n_args; k++) x[k] = col_of(r, op->args[k]);
    for (size_t i = 0; i < op->len; i++) {
        for (uint32_t k = 0; k < op->n_args; k++) args[k] = x[k].at[i * x[k].step];
        sum += element(op, args);
    }
    r->v[op->out] = sum;
    return sum == sum;
}

static bool total_back(const struct flat_run *r, const struct flat_op *op) {
    double args[FLAT_ARGS], g[FLAT_ARGS], d = r->form->adj[op->out];
    struct sp_col x[FLAT_ARGS];
    if (!op->cls->num_grad) return false;
    if (d == 0 || r->v[op->out] == -INFINITY) return true;
    for (uint32_t k = 0; k < op->n_args; k++) x[k] = col_of(r, op->args[k]);
    for (size_t i = 0; i < op->len; i++) {
        for (uint32_t k = 0; k < op->n_args; k++) args[k] = x[k].at[i * x[k].step];
        assess_back(op, 0, args, d, g);
        for (uint32_t k = 0; k < op->n_args; k++)
            if (x[k].adj) x[k].adj[i * x[k].step] += g[k];
    }
    return true;
}

static void pack(const struct flat_run *r, const struct flat_op *op) {
    const uint32_t *from = r->form->gathered + op->args[0];
    double *out = r->v + op->out;
    for (size_t i = 0; i < op->len; i++) out[i] = r->v[from[i]];
}

static void pack_back(const struct flat_run *r, const struct flat_op *op) {
    const uint32_t *to = r->form->gathered + op->args[0];
    const double *d = r->form->adj + op->out;
    for (size_t i = 0; i < op->len; i++) r->form->adj[to[i]] += d[i];
}

/* The slot that an index picks, or NO_SLOT. */
static uint32_t picked(const struct flat_run *r, const struct flat_op *op) {
    double i = r->v[op->args[1]];
    if (!(i >= 0 && i < op->len) || i != floor(i)) return NO_SLOT;
    return r->form->gathered[op->args[0] + (uint32_t)i];
}

static bool pick(const struct flat_run *r, const struct flat_op *op) {
    uint32_t slot = picked(r, op);
    if (slot != NO_SLOT) r->v[op->out] = r->v[slot];
    return slot != NO_SLOT;
}

/* ---- blocks ---- */

static void block_args(const struct flat_run *r, const struct flat_op *op, struct sp_block *args) {
    const uint32_t *shapes = op_shapes(r->form, op);
    for (uint32_t i = 0; i < op->n_args; i++) args[i] = shape_block(r, shapes[i]);
}

static bool block(const struct flat_run *r, const struct flat_op *op) {
    struct sp_block args[FLAT_ARGS], out = shape_block(r, op->out);
    block_args(r, op, args);
    return op->cls->block(args, op->n_args, (double *)out.at);
}

static bool block_back(const struct flat_run *r, const struct flat_op *op) {
    struct sp_block args[FLAT_ARGS], out = shape_block(r, op->out);
    if (!op->cls->block_back) return false;
    block_args(r, op, args);
    op->cls->block_back(args, op->n_args, out.at, out.adj);
    return true;
}

bool columns_run(const struct flat_run *r, const struct flat_op *op) {
    switch ((enum flat_code)op->code) {
    case FLAT_COLS: return elementwise(r, op);
    case FLAT_FOLD: return fold(r, op);
    case FLAT_TOTAL: return total(r, op);
    case FLAT_PACK: pack(r, op); return true;
    case FLAT_PICK: return pick(r, op);
    default: return block(r, op);
    }
}

bool columns_back(const struct flat_run *r, const struct flat_op *op) {
    uint32_t slot;
    switch ((enum flat_code)op->code) {
    case FLAT_COLS: return elementwise_back(r, op);
    case FLAT_FOLD: return fold_back(r, op);
    case FLAT_TOTAL: return total_back(r, op);
    case FLAT_PACK: pack_back(r, op); return true;
    case FLAT_PICK:
        slot = picked(r, op);
        if (slot != NO_SLOT) r->form->adj[slot] += r->form->adj[op->out];
        return true;
    default: return block_back(r, op);
    }
}

/* ---- densities ---- */

/* Evaluates the elements one by one with the row's numeric forms. Missing values weigh nothing. */
static double each_density(const struct flat_op *op, const struct sp_col *x, bool gradient) {
    double args[FLAT_ARGS], g[FLAT_ARGS + 1], sum = 0;
    if (gradient && !op->cls->num_grad) return NAN;
    for (size_t i = 0; i < op->len; i++) {
        double v = x[0].at[i * x[0].step];
        if (x[0].step && isnan(v)) continue;
        for (uint32_t k = 0; k < op->n_args; k++) args[k] = x[1 + k].at[i * x[1 + k].step];
        sum += op->cls->num_log_density(v, args, op->n_args);
        if (!gradient) continue;
        if (!(sum > -INFINITY)) return sum;
        for (uint32_t k = 0; k <= op->n_args; k++) g[k] = 0;
        op->cls->num_grad(v, args, op->n_args, g);
        for (uint32_t k = 0; k <= op->n_args; k++)
            if (x[k].adj) x[k].adj[i * x[k].step] += g[k];
    }
    return sum;
}

static bool some_missing(const struct sp_col *x, size_t n) {
    for (size_t i = 0; x->step && i < n; i++)
        if (isnan(x->at[i])) return true;
    return false;
}

double columns_density(const struct flat_run *r, const struct flat_op *op, bool gradient) {
    struct sp_col x[FLAT_ARGS + 1];
    x[0] = col_of(r, op->out);
    for (uint32_t k = 0; k < op->n_args; k++) x[1 + k] = col_of(r, op->args[k]);
    for (uint32_t k = 0; k <= op->n_args && !gradient; k++) x[k].adj = NULL;
    if (op->cls->cols && !(r->form->missing && some_missing(&x[0], op->len)))
        return op->cls->cols(op->len, x, op->n_args);
    return each_density(op, x, gradient);
}

double columns_one(const struct flat_run *r, const struct flat_op *op, uint32_t i) {
    struct sp_col v = col_of(r, op->out);
    double args[FLAT_ARGS];
    for (uint32_t k = 0; k < op->n_args; k++) {
        struct sp_col x = col_of(r, op->args[k]);
        args[k] = x.at[i * x.step];
    }
    return op->cls->num_log_density(v.at[i * v.step], args, op->n_args);
}
