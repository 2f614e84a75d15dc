/* SPDX-License-Identifier: Apache-2.0
 * Gram matrices, cross blocks, diagonals and gradient contractions; contracts in kernel.h. */
#include "gp/kern_plan.h"

#include "base/mem.h"
#include "la/vec.h"

#include <math.h>
#include <string.h>

static size_t least(size_t a, size_t b) {
    return a < b ? a : b;
}

enum gpm_status kern_diag(const struct kern *k, struct kern_pts x, double *d) {
    struct plan p;
    enum gpm_status st = plan_init(&p, k, x, x, true);
    for (size_t i = 0; i < x.n && !st; i += KERN_STRIP)
        plan_diag(&p, p.root, i, least(KERN_STRIP, x.n - i), d + i);
    if (!st) st = p.status;
    plan_release(&p);
    return st;
}

enum gpm_status kern_fill(const struct kern *k, struct kern_pts x, double *a, size_t ld) {
    struct plan p;
    double d[KERN_STRIP];
    enum gpm_status st = plan_init(&p, k, x, x, true);
    for (size_t j = 0; j < x.n && !st; j++) {
        if (j % KERN_STRIP == 0) plan_diag(&p, p.root, j, least(KERN_STRIP, x.n - j), d);
        a[j + j * ld] = d[j % KERN_STRIP];
        plan_column(&p, j);
        for (size_t i = j + 1; i < x.n; i += KERN_STRIP)
            plan_strip(&p, p.root, j, i, least(KERN_STRIP, x.n - i), a + i + j * ld);
        st = p.status;
    }
    plan_release(&p);
    return st;
}

enum gpm_status kern_cross(const struct kern *k, struct kern_pts rows, struct kern_pts cols,
                           double *a, size_t ld) {
    struct plan p;
    enum gpm_status st = rows.dim == cols.dim ? GPM_OK : GPM_E_ARG;
    if (st) return st;
    st = plan_init(&p, k, rows, cols, false);
    for (size_t j = 0; j < cols.n && !st; j++) {
        plan_column(&p, j);
        for (size_t i = 0; i < rows.n; i += KERN_STRIP)
            plan_strip(&p, p.root, j, i, least(KERN_STRIP, rows.n - i), a + i + j * ld);
        st = p.status;
    }
    plan_release(&p);
    return st;
}

enum gpm_status kern_eval(const struct kern *k, const double *x1, const double *x2, int dim,
                          double *out) {
    struct kern_pts a = {.x = x1, .n = 1, .ld = 1, .dim = dim}, b = a;
    b.x = x2;
    return kern_cross(k, a, b, out, 1);
}
