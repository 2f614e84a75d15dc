/* SPDX-License-Identifier: Apache-2.0
 *
 * Running compiled procedures of numbers, forwards and backwards; see numeric.h. */
#include "language/rows/protocol/numeric.h"

#include <string.h>

void numeric_unref(struct numeric *f) {
    if (!f || --f->refs) return;
    vec_release(&f->ops);
    vec_release(&f->extra);
    mem_free(f->out);
    mem_free(f->v);
    mem_free(f->why);
    value_unref(f->proc);
    values_free(f->like, f->n_args);
    mem_free(f);
}

/* ---- shapes ---- */

bool numeric_flatten(value v, double *out, size_t *n) {
    if (v.tag == V_NUM || v.tag == V_BOOL) {
        if (out) out[*n] = v.tag == V_NUM ? v.u.num : (double)v.u.boolean;
        ++*n;
        return true;
    }
    if (v.tag == V_MATRIX) {
        const struct matrix_obj *m = v.u.matrix;
        for (size_t i = 0; out && i < m->rows; i++)
            for (size_t j = 0; j < m->cols; j++) out[*n + i * m->cols + j] = m->at[i + j * m->rows];
        *n += m->rows * m->cols;
        return true;
    }
    if (!seq_is(v)) return false;
    struct seq_walk w = {v, 0};
    for (value item; seq_next(&w, &item);)
        if (!numeric_flatten(item, out, n)) return false;
    return true;
}

value numeric_shaped(value like, const double **at, bool adjoint) {
    size_t n = 0, i = 0;
    if (like.tag == V_MATRIX) {
        value v = value_matrix_new(like.u.matrix->rows, like.u.matrix->cols);
        struct matrix_obj *m = v.u.matrix;
        for (; i < m->rows; i++)
            for (size_t j = 0; j < m->cols; j++) m->at[i + j * m->rows] = *(*at)++;
        return v;
    }
    if (!seq_length(like, &n)) return value_num(*(*at)++);
    if (like.tag == V_VECTOR) {
        *at += n;
        return value_vector(*at - n, n);
    }
    value *items = NEW_ARRAY(value, n ? n : 1);
    struct seq_walk w = {like, 0};
    for (value item; seq_next(&w, &item);) items[i++] = numeric_shaped(item, at, adjoint);
    value v = seq_like_take(adjoint ? (value){.tag = V_ARRAY} : like, items, n);
    mem_free(items);
    return v;
}

/* ---- forwards ---- */

/* The operands of a row; few are in `small`, followed by room for as many. */
enum { SMALL = 16 };

static double *row_begin(const struct numeric *f, const struct numeric_op *op, double *small,
                         const uint32_t **slots) {
    double *args = op->n_args <= SMALL ? small : NEW_ARRAY(double, 2 * (size_t)op->n_args);
    *slots = op->n_args <= NUMERIC_ARGS ? op->args : f->extra.at + op->args[0];
    for (uint32_t i = 0; i < op->n_args; i++) args[i] = f->v[(*slots)[i]];
    return args;
}

static double run_row(const struct numeric *f, const struct numeric_op *op) {
    const uint32_t *slots;
    double small[SMALL], *args = row_begin(f, op, small, &slots);
    double y = op->u.cls->num(args, op->n_args);
    if (args != small) mem_free(args);
    return y;
}

static void run_ops(const struct numeric *f, double *v) {
    double *to = v + f->n_in;
    for (const struct numeric_op *op = f->ops.at, *end = op + f->ops.n; op < end; op++, to++) {
        const uint32_t *a = op->args;
        switch ((enum numeric_op_code)op->code) {
        case NUMERIC_CONSTANT: break; /* set once */
        case NUMERIC_ADD: *to = v[a[0]] + v[a[1]]; break;
        case NUMERIC_SUB: *to = v[a[0]] - v[a[1]]; break;
        case NUMERIC_MUL: *to = v[a[0]] * v[a[1]]; break;
        case NUMERIC_DIV: *to = v[a[0]] / v[a[1]]; break;
        case NUMERIC_SELECT: *to = v[a[0]] != 0 ? v[a[1]] : v[a[2]]; break;
        case NUMERIC_ROW: *to = run_row(f, op); break;
        }
    }
}

static enum gpm_status wrong_result(struct sp_call *c, const struct numeric *f, value got) {
    return sp_error(c, DIAG_SHAPE, "%s: the procedure must give %zu number%s, got %s", c->cls->name,
                    f->n_out, f->n_out == 1 ? "" : "s", SHOW(got));
}

/* Without code: a call on values. */
static enum gpm_status run_values(struct sp_call *c, struct numeric *f, const double *in,
                                  double *out) {
    value *args = NEW_ARRAY(value, f->n_args + 1), got;
    size_t n = 0;
    for (size_t i = 0; i < f->n_args; i++) args[i] = numeric_shaped(f->like[i], &in, false);
    enum gpm_status st = c->host->apply(c->host, f->proc, args, f->n_args, &got);
    values_free(args, f->n_args);
    if (st != GPM_OK) return st;
    if (!numeric_flatten(got, NULL, &n) || n != f->n_out) st = wrong_result(c, f, got);
    n = 0;
    if (st == GPM_OK) numeric_flatten(got, out, &n);
    value_unref(got);
    return st;
}

enum gpm_status numeric_run(struct sp_call *c, struct numeric *f, const double *in, double *out) {
    if (!f->out) return run_values(c, f, in, out);
    if (f->n_in) memcpy(f->v, in, f->n_in * sizeof *in);
    run_ops(f, f->v);
    for (size_t i = 0; i < f->n_out; i++) out[i] = f->v[f->out[i]];
    return GPM_OK;
}

/* ---- backwards ---- */

static void back_row(const struct numeric *f, const struct numeric_op *op, double y, double d) {
    const uint32_t *slots;
    if (!op->u.cls->num_back) return; /* comparisons: no slope */
    double small[2 * SMALL], *args = row_begin(f, op, small, &slots), *g = args + op->n_args;
    op->u.cls->num_back(y, args, op->n_args, d, g);
    for (uint32_t i = 0; i < op->n_args; i++) f->adj[slots[i]] += g[i];
    if (args != small) mem_free(args);
}

/* A branch not taken gets no adjoint, so its contents (perhaps NaN) do no harm. */
void numeric_back(struct numeric *f, const double *d, double *din) {
    const double *v = f->v;
    double *adj = f->adj;
    memset(adj, 0, (f->n_in + f->ops.n) * sizeof *adj);
    for (size_t i = 0; i < f->n_out; i++) adj[f->out[i]] += d[i];
    for (size_t i = f->ops.n; i-- > 0;) {
        const struct numeric_op *op = &f->ops.at[i];
        const uint32_t *a = op->args;
        double x = adj[f->n_in + i], y = v[f->n_in + i];
        if (x == 0) continue;
        switch ((enum numeric_op_code)op->code) {
        case NUMERIC_CONSTANT: break;
        case NUMERIC_ADD: adj[a[0]] += x, adj[a[1]] += x; break;
        case NUMERIC_SUB: adj[a[0]] += x, adj[a[1]] -= x; break;
        case NUMERIC_MUL: adj[a[0]] += x * v[a[1]], adj[a[1]] += x * v[a[0]]; break;
        case NUMERIC_DIV: adj[a[0]] += x / v[a[1]], adj[a[1]] -= x * y / v[a[1]]; break;
        case NUMERIC_SELECT: adj[a[v[a[0]] != 0 ? 1 : 2]] += x; break;
        case NUMERIC_ROW: back_row(f, op, y, x); break;
        }
    }
    for (size_t i = 0; i < f->n_in; i++) din[i] += adj[i];
}
