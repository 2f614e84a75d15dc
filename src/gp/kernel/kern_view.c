/* SPDX-License-Identifier: Apache-2.0
 * A kernel between fixed points and one new point at a time; contract in kernel.h. */
#include "gp/kernel/kern_plan.h"

#include "base/mem.h"
#include "numeric/la/vec_ops.h"

#include <math.h>
#include <string.h>

struct kern_view {
    struct kern *kern;
    struct plan plan; /* cols: the single point x */
    double *x, *row;  /* the point; a row, for differences */
    const double *w;  /* weights, for differences */
};

struct kern_view *kern_view_new(const struct kern *k, struct kern_pts rows) {
    struct kern_view *v = NEW(struct kern_view);
    v->kern = kern_ref(k);
    v->x = mem_zalloc(((size_t)rows.dim + 1) * sizeof(double));
    v->row = NEW_ARRAY(double, rows.n + 1);
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

static void move_to(struct kern_view *v, const double *x) {
    memcpy(v->x, x, (size_t)v->plan.rows.dim * sizeof *x);
    plan_move(&v->plan);
}

enum gpm_status kern_view_row(struct kern_view *v, const double *x, double *out) {
    move_to(v, x);
    enum gpm_status st = plan_values(&v->plan, 0, 0, out);
    v->plan.status = GPM_OK;
    return st;
}

enum gpm_status kern_differences(kern_point_fn fn, void *ctx, const double *x, int dim, double size,
                                 double *grad) {
    double *at = NEW_ARRAY(double, (size_t)dim + 1), f[2];
    enum gpm_status st = GPM_OK;
    memcpy(at, x, (size_t)dim * sizeof *at);
    for (int c = 0; c < dim && !st; c++) {
        double h = 6e-6 * fmax(size, fabs(x[c]));
        for (int side = 0; side < 2 && !st; side++) {
            at[c] = x[c] + (side ? -h : h);
            st = fn(ctx, at, &f[side]);
        }
        at[c] = x[c];
        grad[c] = (f[0] - f[1]) / (2 * h);
    }
    mem_free(at);
    return st;
}

/* sum_i w_i k(x_i, x) */
static enum gpm_status weighted(void *ctx, const double *x, double *f) {
    struct kern_view *v = ctx;
    enum gpm_status st = kern_view_row(v, x, v->row);
    *f = vec_ops()->dot(v->plan.rows.n, v->w, v->row);
    return st;
}

enum gpm_status kern_view_slope(struct kern_view *v, const double *x, const double *w, double *f,
                                double *g) {
    int dim = v->plan.rows.dim;
    if (v->kern->slopes) {
        move_to(v, x);
        memset(g, 0, (size_t)dim * sizeof *g);
        *f = plan_slope(&v->plan, w, g);
        return GPM_OK;
    }
    v->w = w;
    enum gpm_status st = weighted(v, x, f);
    return st ? st : kern_differences(weighted, v, x, dim, 1e-3, g);
}
