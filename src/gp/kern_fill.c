/* SPDX-License-Identifier: Apache-2.0
 * Gram matrices, cross blocks, diagonals and gradient contractions; contracts in kernel.h. */
#include "gp/kern_plan.h"

#include "base/mem.h"
#include "la/vec.h"

#include <math.h>
#include <string.h>

enum gpm_status kern_diag(const struct kern *k, struct kern_pts x, double *d) {
    struct plan p;
    enum gpm_status st = plan_init(&p, k, x, x, true);
    for (size_t i = 0; i < x.n && !st; i += KERN_STRIP)
        plan_diag(&p, p.root, i, plan_width(&p, i), d + i);
    if (!st) st = p.status;
    plan_release(&p);
    return st;
}

/* The one part of the plan that is not zero off the diagonal, when it is a leaf with an
 * exponential; else NULL. */
static struct plan_node *lone_exponential(struct plan_node *q) {
    while (q->k->op == KERN_SUM && !q->lag) {
        struct plan_node *rest = NULL;
        for (size_t i = 0; i < q->nkids; i++) {
            if (q->kid[i]->zero_off) continue;
            if (rest) return NULL;
            rest = q->kid[i];
        }
        if (!rest) return NULL;
        q = rest;
    }
    return q->k->op == KERN_LEAF && q->k->cls->expo && !q->lag ? q : NULL;
}

/* A small matrix as one strip: the exponents of all columns one after the other, one exponential
 * over them. Optimisers live here: a column of ten numbers does not pay for the calls. */
static void fill_small(struct plan *p, struct plan_node *q, double *a, size_t ld) {
    double e[KERN_STRIP], *to = e;
    size_t n = p->rows.n;
    memset(e, 0, n * (n - 1) / 2 * sizeof *e);
    for (size_t j = 0; j + 1 < n; to += n - ++j) {
        struct kern_strip s = {q->row_f + j + 1, n, q->col, n - j - 1, q->nf};
        for (int f = 0; f < q->nf; f++) q->col[f] = q->row_f[(size_t)f * n + j];
        q->k->cls->expo(q->k, &s, to);
    }
    p->v->exp_scale(n * (n - 1) / 2, q->amp, e);
    to = e;
    for (size_t j = 0; j + 1 < n; to += n - ++j)
        memcpy(a + j + 1 + j * ld, to, (n - j - 1) * sizeof *a);
}

enum gpm_status kern_fill(const struct kern *k, struct kern_pts x, double *a, size_t ld) {
    struct plan p;
    double d[KERN_STRIP];
    enum gpm_status st = plan_init(&p, k, x, x, true);
    if (!st && x.n * (x.n - 1) / 2 <= KERN_STRIP) {
        struct plan_node *only = x.n ? lone_exponential(p.root) : NULL;
        if (only) {
            fill_small(&p, only, a, ld);
            plan_diag(&p, p.root, 0, x.n, d);
            for (size_t j = 0; j < x.n; j++) a[j * (ld + 1)] = d[j];
            plan_release(&p);
            return GPM_OK;
        }
    }
    for (size_t j = 0; j < x.n && !st; j++) {
        if (j % KERN_STRIP == 0) plan_diag(&p, p.root, j, plan_width(&p, j), d);
        a[j + j * ld] = d[j % KERN_STRIP];
        st = plan_values(&p, j, j + 1, a + j + 1 + j * ld);
    }
    plan_release(&p);
    return st;
}

enum gpm_status kern_cross(const struct kern *k, struct kern_pts rows, struct kern_pts cols,
                           double *a, size_t ld) {
    struct plan p;
    enum gpm_status st = rows.dim == cols.dim ? GPM_OK : GPM_E_ARG;
    if (st) return st;
    if (rows.n == 1 && cols.n > 1 && ld == 1 && !k->callback) { /* symmetric: one strip */
        struct kern_pts one = rows;
        rows = cols;
        cols = one;
    }
    st = plan_init(&p, k, rows, cols, false);
    for (size_t j = 0; j < cols.n && !st; j++) st = plan_values(&p, j, 0, a + j * ld);
    plan_release(&p);
    return st;
}

enum gpm_status kern_eval(const struct kern *k, const double *x1, const double *x2, int dim,
                          double *out) {
    struct kern_pts a = {.x = x1, .n = 1, .ld = 1, .dim = dim}, b = a;
    b.x = x2;
    return kern_cross(k, a, b, out, 1);
}
