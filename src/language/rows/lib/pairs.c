/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header.
 */
#include "language/rows/lib/pairs.h"

#include "base/mem.h"
#include "language/rows/protocol/adjoint.h"

bool mat_is_vector(value v) {
    double *x = NULL;
    size_t n;
    bool yes = v.tag != V_MATRIX && seq_numbers(v, &x, &n);
    mem_free(x);
    return yes;
}

enum gpm_status mat_pair_read(struct sp_call *c, struct mat_pair *p, const char kinds[2],
                              const char *a, const char *b) {
    p->kinds[0] = kinds[0];
    p->kinds[1] = kinds[1];
    enum gpm_status st = mat_factor(&p->a, c, 0, a, kinds[0]);
    return st ? st : mat_factor(&p->b, c, 1, b, kinds[1]);
}

static void pair_release(struct mat_pair *p) {
    mat_arg_release(&p->a);
    mat_arg_release(&p->b);
}

static enum gpm_status pair_init(struct sp_call *c, struct mat_pair *p) {
    const struct mat_pair_row *row = c->cls->of;
    *p = (struct mat_pair){0};
    enum gpm_status st = row->read(c, p);
    if (!st) st = sp_check_size(c, (double)p->rows * (double)p->cols, sizeof(double));
    if (st) pair_release(p);
    return st;
}

enum gpm_status simulate_of_pair(struct sp_call *c, value *out) {
    const struct mat_pair_row *row = c->cls->of;
    struct mat_pair p;
    enum gpm_status st = pair_init(c, &p);
    if (st) return st;
    double one = 0, *to = &one;
    value v = NIL;
    if (p.gives == GIVES_MATRIX) {
        v = value_matrix_new(p.rows, p.cols);
        to = v.u.matrix->at;
    } else if (p.gives == GIVES_VECTOR) {
        v = value_vector_new(p.rows * p.cols);
        to = v.u.vector->at;
    }
    st = row->value(c, &p, to);
    if (st)
        value_unref(v);
    else
        *out = p.gives == GIVES_NUMBER ? value_num(one) : v;
    pair_release(&p);
    return st;
}

static const double *numbers_of(const value *r) {
    return r->tag == V_MATRIX ? r->u.matrix->at : r->tag == V_VECTOR ? r->u.vector->at : &r->u.num;
}

enum gpm_status grad_of_pair(struct sp_call *c, value r, value dr, value *dargs) {
    const struct mat_pair_row *row = c->cls->of;
    struct mat_pair p;
    enum gpm_status st = pair_init(c, &p);
    if (st) return st;
    size_t n = p.rows * p.cols, n_a = p.a.rows * p.a.cols, n_b = p.b.rows * p.b.cols;
    double *d = mem_zalloc((n + n_a + n_b + 1) * sizeof *d), *da = d + n, *db = da + n_a;
    if (p.gives == GIVES_MATRIX)
        mat_adjoint_numbers(dr, p.rows, p.cols, d);
    else
        adj_doubles(dr, d, n);
    st = row->back(c, &p, numbers_of(&r), d, da, db);
    if (!st) {
        dargs[0] = mat_factor_adjoint(&p.a, c->args[0], p.kinds[0], da);
        dargs[1] = mat_factor_adjoint(&p.b, c->args[1], p.kinds[1], db);
    }
    mem_free(d);
    pair_release(&p);
    return st;
}
