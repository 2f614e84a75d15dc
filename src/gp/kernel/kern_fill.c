/* SPDX-License-Identifier: Apache-2.0
 * Gram matrices, cross blocks, diagonals and gradient contractions; contracts in kernel.h. */
#include "gp/kernel/kern_leaf.h"
#include "gp/kernel/kern_plan.h"

#include "numeric/la/vec_ops.h"

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

/* The only part of a sum that is not white noise, if it is a leaf with an exponential; otherwise
 * NULL. *white: the variance of the white noise. */
static const struct kern *lone_exponential(const struct kern *k, double *white) {
    const struct kern *rest = NULL;
    *white = 0;
    for (size_t i = 0; i < kern_nparts(k, KERN_SUM); i++) {
        const struct kern *part = kern_part(k, KERN_SUM, i);
        if (kern_is_white(part) && !part->ncol)
            *white += kern_amplitude(part);
        else if (rest)
            return NULL;
        else
            rest = part;
    }
    return rest && rest->op == KERN_LEAF && rest->cls->expo ? rest : NULL;
}

/* A small matrix as one strip, without a plan: the exponents of all columns in sequence, with one
 * exponential over them. Optimisers need this, since a column of ten numbers does not repay the
 * calls. False: use the general method. */
static bool fill_small(const struct kern *k, struct kern_pts x, double *a, size_t ld) {
    double e[KERN_STRIP], f[KERN_STRIP], col[KERN_STRIP], white, *to = e;
    size_t n = x.n, all = (n * (n - 1) / 2 + 7) & ~(size_t)7; /* whole vectors */
    if (n == 0 || all > KERN_STRIP || !x.distinct || x.step > 0) return false;
    const struct kern *leaf = lone_exponential(k, &white);
    int nf = leaf ? leaf->cls->features * leaf_dim(leaf, x.dim) : 0;
    if (!leaf || (size_t)nf * n > KERN_STRIP) return false;
    double amp = kern_amplitude(leaf);
    leaf_prepare(leaf, x, f, n);
    memset(e, 0, all * sizeof *e);
    for (size_t j = 0; j + 1 < n; to += n - ++j) {
        struct kern_strip s = {f + j + 1, n, col, n - j - 1, nf, NULL, false};
        for (int c = 0; c < nf; c++) col[c] = f[(size_t)c * n + j];
        leaf->cls->expo(leaf, &s, to);
    }
    vec_ops()->exp_scale(all, amp, e);
    to = e;
    for (size_t j = 0; j < n; to += n - ++j) {
        a[j * (ld + 1)] = amp + white;
        memcpy(a + j + 1 + j * ld, to, (n - j - 1) * sizeof *a);
    }
    return true;
}

enum gpm_status kern_fill(const struct kern *k, struct kern_pts x, double *a, size_t ld) {
    struct plan p;
    double d[KERN_STRIP];
    enum gpm_status st = kern_check_dim(k, x.dim, NULL);
    if (st || fill_small(k, x, a, ld)) return st;
    st = plan_init(&p, k, x, x, true);
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
