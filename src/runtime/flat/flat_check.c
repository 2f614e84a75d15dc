/* SPDX-License-Identifier: Apache-2.0
 *
 * Test builds repeat some flat evaluations through a scaffold: the point must have the same weight
 * and gradient. */
#include "runtime/flat/form.h"

#include "language/rows/protocol/adjoint.h"
#include <float.h>
#include <math.h>

#ifdef GPMEM_CHECKS
/* PROBES: number of neighbouring points tried when the two differ, each up to REACH ulps away. */
enum { PROBES = 64, REACH = 256 };

static bool near(double a, double b) {
    return a == b || fabs(a - b) <= 1e-6 * (1 + fabs(a) + fabs(b));
}

static enum gpm_status differs(struct trace *t, const char *what, double flat, double general) {
    return diag_raise(t->core->diags, DIAG_NAN, NO_SPAN,
                      "trace check: %s by a flat %.17g, through a scaffold %.17g", what, flat,
                      general);
}

/* A point of a flat, to be weighed through a scaffold. */
struct point {
    struct trace *t;
    struct node **at;
    size_t n;
    const value *vals;
    bool gradient;
    const struct placing *placing;
    size_t n_x; /* number of numeric elements in all values */
};

static size_t numbers_in(value v) {
    size_t n = 0;
    if (v.tag == V_MATRIX) return v.u.matrix->rows * v.u.matrix->cols;
    if (v.tag == V_NUM) return 1;
    return seq_length(v, &n) ? n : 0;
}

/* The weight and, if wanted and available, the gradient (NaN: unavailable) in all numbers. Probe 0
 * is the point itself; other probes move each number separately. */
static enum gpm_status weigh(const struct point *p, int probe, double *weight, double *grad) {
    struct scaffold *s;
    double w_old;
    value *moved = NEW_ARRAY(value, p->n + 1), *slopes = NEW_ARRAY(value, p->n + 1);
    for (size_t i = 0; i < p->n; i++) {
        double units =
            probe ? (double)(hash_mix((uint64_t)probe << 32 | i) % (2 * REACH)) - REACH : 0;
        bool number = p->vals[i].tag == V_NUM;
        moved[i] = number ? value_num(p->vals[i].u.num * (1 + units * DBL_EPSILON)) : p->vals[i];
    }
    for (size_t i = 0; i < p->n_x; i++) grad[i] = NAN;
    enum gpm_status st = scaffold_open(p->t, p->at, p->n, SCAFFOLD_FIXED, &w_old, &s);
    if (st == GPM_OK) {
        scaffold_set_placing(s, p->placing);
        st = scaffold_regen(s, SCAFFOLD_FIXED, moved, weight);
        bool wanted = st == GPM_OK && p->gradient && scaffold_built(s) && isfinite(*weight);
        if (wanted) st = scaffold_gradient(s, slopes);
        for (size_t i = 0; wanted && st == GPM_OK && i < p->n; i++) {
            adj_doubles(slopes[i], grad, numbers_in(p->vals[i]));
            grad += numbers_in(p->vals[i]);
            value_unref(slopes[i]);
        }
        scaffold_close(s, false);
    }
    mem_free(moved);
    mem_free(slopes);
    return st;
}

/* Can rounding alone explain the flat's number (weight: SIZE_MAX, or slope i)? Matrices that are
 * singular up to rounding (a linear kernel without noise) give different values at every
 * neighbouring point, with or without jitter. There the two ways cannot agree. The number must lie
 * within the neighbours' range, widened by that range. */
static enum gpm_status rounding_explains(const struct point *p, size_t i, double flat, bool *out) {
    double lo = INFINITY, hi = -INFINITY, weight, *grad = NEW_ARRAY(double, p->n_x + 1);
    enum gpm_status st = GPM_OK;
    for (int k = 0; k <= PROBES && st == GPM_OK; k++) {
        st = weigh(p, k, &weight, grad);
        double v = i == SIZE_MAX ? weight : grad[i];
        lo = fmin(lo, v);
        hi = fmax(hi, v);
    }
    *out = st == GPM_OK && flat >= lo - (hi - lo) && flat <= hi + (hi - lo);
    mem_free(grad);
    return st;
}

/* Compares one number; it is an error if rounding does not explain the difference. */
static enum gpm_status compare(const struct point *p, size_t i, double flat, double general) {
    bool same = near(flat, general);
    enum gpm_status st = same ? GPM_OK : rounding_explains(p, i, flat, &same);
    if (st != GPM_OK || same) return st;
    return differs(p->t, i == SIZE_MAX ? "a weight" : "a gradient", flat, general);
}

/* No proposal may be active, before or after; flats must be opened again. */
enum gpm_status flat_check(struct trace *t, const struct flat *f, const value *vals, double weight,
                           const value *grads) {
    size_t n = flat_n_principals(f);
    struct point p = {t, NEW_ARRAY(struct node *, n + 1), n, vals, grads != NULL, f->form->placing,
                      0};
    for (size_t i = 0; i < n; i++) {
        p.at[i] = flat_principal(f, i);
        p.n_x += numbers_in(vals[i]);
    }
    double general, *slopes = NEW_ARRAY(double, 2 * p.n_x + 1), *ours = slopes + p.n_x, *to = ours;
    for (size_t i = 0; grads && i < n; to += numbers_in(vals[i++]))
        adj_doubles(grads[i], to, numbers_in(vals[i]));
    enum gpm_status st = weigh(&p, 0, &general, slopes);
    if (st == GPM_OK) st = compare(&p, SIZE_MAX, weight, general);
    /* Weights that differ by rounding come from two different factors, so their slopes differ,
     * too. */
    for (size_t i = 0; i < p.n_x && st == GPM_OK && near(weight, general); i++)
        if (!isnan(slopes[i])) st = compare(&p, i, ours[i], slopes[i]);
    mem_free(p.at);
    mem_free(slopes);
    return st;
}
#endif
