/* SPDX-License-Identifier: Apache-2.0
 * A kernel against fixed points, one new point at a time; contract in kernel.h. */
#include "gp/kern_plan.h"

#include "base/mem.h"
#include "la/vec.h"

#include <math.h>
#include <string.h>

struct kern_view {
    struct kern *kern;
    struct plan plan; /* columns: the one point x */
    double *x, *row;  /* the point; a row, for differences */
    bool slopes;      /* every leaf has its derivative in the point */
};

static bool has_slopes(const struct kern *k) {
    if (k->op == KERN_ALIAS) return has_slopes(k->kid[0]);
    if (k->op == KERN_LEAF) return k->cls->slope != NULL;
    if (k->op != KERN_SUM && k->op != KERN_PRODUCT) return false;
    for (size_t i = 0; i < k->nkids; i++)
        if (!has_slopes(k->kid[i])) return false;
    return true;
}

struct kern_view *kern_view_new(const struct kern *k, struct kern_pts rows) {
    struct kern_view *v = NEW(struct kern_view);
    v->kern = kern_ref(k);
    v->x = mem_zalloc(((size_t)rows.dim + 1) * sizeof(double));
    v->row = NEW_ARRAY(double, rows.n + 1);
    v->slopes = has_slopes(k);
    struct kern_pts one = {.x = v->x, .n = 1, .ld = 1, .dim = rows.dim};
    if (plan_init(&v->plan, k, rows, one, false) == GPM_OK) return v;
    kern_view_free(v);
    return NULL;
}

void kern_view_free(struct kern_view *v) {
    if (!v) return;
    plan_release(&v->plan);
    kern_unref(v->kern);
    mem_free(v->x);
    mem_free(v->row);
    mem_free(v);
}

enum gpm_status kern_view_row(struct kern_view *v, const double *x, double *out) {
    struct plan *p = &v->plan;
    size_t n = p->rows.n;
    memcpy(v->x, x, (size_t)p->rows.dim * sizeof *x);
    plan_move(p);
    for (size_t i = 0; i < n; i += KERN_STRIP)
        plan_strip(p, p->root, 0, i, n - i < KERN_STRIP ? n - i : KERN_STRIP, out + i);
    enum gpm_status st = p->status;
    p->status = GPM_OK;
    return st;
}

/* Central differences of sum_i w_i k(x_i, x), with a step that balances truncation and rounding. */
static enum gpm_status differences(struct kern_view *v, const double *w, double *g) {
    size_t dim = (size_t)v->plan.rows.dim, n = v->plan.rows.n;
    double *x = NEW_ARRAY(double, 2 * dim + 1), *keep = x + dim;
    enum gpm_status st = GPM_OK;
    memcpy(keep, v->x, dim * sizeof *x);
    for (size_t c = 0; c < dim && !st; c++) {
        double h = 6e-6 * fmax(1e-3, fabs(keep[c])), f[2] = {0};
        memcpy(x, keep, dim * sizeof *x);
        for (int side = 0; side < 2 && !st; side++) {
            x[c] = keep[c] + (side ? -h : h);
            st = kern_view_row(v, x, v->row);
            f[side] = vec_ops()->dot(n, w, v->row);
        }
        g[c] = (f[0] - f[1]) / (2 * h);
    }
    if (!st) st = kern_view_row(v, keep, v->row);
    mem_free(x);
    return st;
}

enum gpm_status kern_view_slope(struct kern_view *v, const double *w, double *g) {
    if (!v->slopes) return differences(v, w, g);
    memset(g, 0, (size_t)v->plan.rows.dim * sizeof *g);
    plan_slope(&v->plan, w, g);
    return GPM_OK;
}
