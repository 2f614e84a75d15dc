/* SPDX-License-Identifier: Apache-2.0
 *
 * Functions given by points: interpolation, linear or by a natural cubic spline, and convolution.
 * All have gradients in all their numbers.
 *
 * On the piece from x_i to x_{i+1} = x_i + h, with a = (x_{i+1} - x) / h and b = 1 - a:
 *
 *     y(x) = a y_i + b y_{i+1} + ((a^3 - a) m_i + (b^3 - b) m_{i+1}) h^2 / 6
 *
 * where m are the second derivatives at the knots, 0 for lines. For the spline m_0 = m_n = 0 and
 *
 *     h_{i-1} m_{i-1} + 2 (h_{i-1} + h_i) m_i + h_i m_{i+1} = 6 (s_i - s_{i-1}),
 *
 * s_i = (y_{i+1} - y_i) / h_i: a symmetric system T m = r, which the way back solves once more.
 */
#include "language/rows/lib/args.h"

#include "base/mem.h"
#include "base/work.h"
#include "language/rows/protocol/adjoint.h"
#include <math.h>
#include <string.h>

enum { ARG_XS, ARG_YS, ARG_X, ARG_METHOD };

struct knots {
    size_t n;
    double *xs, *ys, *m; /* m NULL: lines */
};

static void knots_release(struct knots *k) {
    mem_free(k->xs);
    mem_free(k->ys);
    mem_free(k->m);
}

/* Solves T z = z in place; T's rows and columns of the inner knots are 1 to n - 2, and z is 0 at
 * the ends. Diagonally dominant: no pivots (Thomas' algorithm). */
static void solve_spline(const struct knots *k, double *z) {
    const double *x = k->xs;
    double *upper = NEW_ARRAY(double, k->n);
    z[0] = z[k->n - 1] = 0;
    upper[0] = 0;
    for (size_t i = 1; i + 1 < k->n; i++) {
        double below = x[i] - x[i - 1], above = x[i + 1] - x[i];
        double pivot = 2 * (below + above) - (i > 1 ? below * upper[i - 1] : 0);
        upper[i] = above / pivot;
        z[i] = (z[i] - (i > 1 ? below * z[i - 1] : 0)) / pivot;
    }
    for (size_t i = k->n - 2; i > 1; i--) z[i - 1] -= upper[i - 1] * z[i];
    mem_free(upper);
}

static double slope_at(const struct knots *k, size_t i) {
    return (k->ys[i + 1] - k->ys[i]) / (k->xs[i + 1] - k->xs[i]);
}

static void bend(struct knots *k) {
    k->m = mem_zalloc(k->n * sizeof *k->m);
    for (size_t i = 1; i + 1 < k->n; i++) k->m[i] = 6 * (slope_at(k, i) - slope_at(k, i - 1));
    if (k->n > 2) solve_spline(k, k->m);
}

static enum gpm_status read_knots(struct sp_call *c, struct knots *k) {
    size_t n_ys;
    k->xs = sp_numbers(c, ARG_XS, &k->n);
    k->ys = sp_numbers(c, ARG_YS, &n_ys);
    if (k->n != n_ys || k->n < 2)
        return sp_error(c, DIAG_SHAPE,
                        "%s: xs and ys must have the same number of elements, two or more; they "
                        "have %zu and %zu",
                        c->cls->name, k->n, n_ys);
    for (size_t i = 0; i + 1 < k->n; i++)
        if (!(k->xs[i] < k->xs[i + 1]))
            return sp_error(c, DIAG_DOMAIN, "%s: xs must grow: element %zu is %.15g after %.15g",
                            c->cls->name, i + 1, k->xs[i + 1], k->xs[i]);
    if (!sp_given(c, ARG_METHOD)) return GPM_OK;
    value m = c->args[ARG_METHOD];
    const char *text = value_text(m);
    if (!strcmp(text, "spline"))
        bend(k);
    else if (strcmp(text, "linear"))
        return sp_type_error(c, m, "method must be \"linear\" or \"spline\"");
    return GPM_OK;
}

/* The piece that x lies in: the last knot belongs to the last one. */
static size_t piece_of(const struct knots *k, double x) {
    size_t lo = 0, hi = k->n - 1;
    while (hi - lo > 1) {
        size_t mid = (lo + hi) / 2;
        *(k->xs[mid] <= x ? &lo : &hi) = mid;
    }
    return lo;
}

static enum gpm_status check_inside(struct sp_call *c, const struct knots *k, double x) {
    if (x >= k->xs[0] && x <= k->xs[k->n - 1]) return GPM_OK;
    return sp_error(c, DIAG_DOMAIN,
                    "%s: x = %.15g lies outside xs, which reach from %.15g to %.15g", c->cls->name,
                    x, k->xs[0], k->xs[k->n - 1]);
}

static double value_at(const struct knots *k, double x) {
    size_t i = piece_of(k, x);
    double h = k->xs[i + 1] - k->xs[i], a = (k->xs[i + 1] - x) / h, b = (x - k->xs[i]) / h;
    double y = a * k->ys[i] + b * k->ys[i + 1];
    if (!k->m) return y;
    return y + ((a * a * a - a) * k->m[i] + (b * b * b - b) * k->m[i + 1]) * h * h / 6;
}

static enum gpm_status simulate_interpolate(struct sp_call *c, value *out) {
    struct knots k = {0};
    double *x = NULL, *y;
    size_t n = 1;
    bool one = c->args[ARG_X].tag == V_NUM;
    enum gpm_status st = read_knots(c, &k);
    if (st == GPM_OK && !one && !seq_numbers(c->args[ARG_X], &x, &n))
        st = sp_type_error(c, c->args[ARG_X], "x must be a number or a sequence of numbers");
    if (st == GPM_OK && one) {
        x = NEW(double);
        *x = sp_num(c, ARG_X);
    }
    for (size_t i = 0; i < n && st == GPM_OK; i++) st = check_inside(c, &k, x[i]);
    if (st == GPM_OK) {
        value v = value_vector_new(n);
        y = v.u.vector->at;
        for (size_t i = 0; i < n; i++) y[i] = value_at(&k, x[i]);
        *out = one ? value_num(y[0]) : v;
        if (one) value_unref(v);
    }
    mem_free(x);
    knots_release(&k);
    return st;
}

/* Adjoints of knots, values, second derivatives. */
struct knot_adjoints {
    double *xs, *ys, *m;
};

/* The adjoint of x for d of y(x); those of the knots grow. */
static double point_back(const struct knots *k, double x, double d, struct knot_adjoints *to) {
    size_t i = piece_of(k, x);
    double h = k->xs[i + 1] - k->xs[i], a = (k->xs[i + 1] - x) / h, b = (x - k->xs[i]) / h;
    double da = d * k->ys[i], db = d * k->ys[i + 1], dh = 0;
    to->ys[i] += d * a;
    to->ys[i + 1] += d * b;
    if (k->m) {
        double p = a * a * a - a, q = b * b * b - b, w = d * h * h / 6;
        to->m[i] += w * p;
        to->m[i + 1] += w * q;
        da += w * (3 * a * a - 1) * k->m[i];
        db += w * (3 * b * b - 1) * k->m[i + 1];
        dh += d * (p * k->m[i] + q * k->m[i + 1]) * h / 3;
    }
    dh -= (da * a + db * b) / h;
    to->xs[i + 1] += da / h + dh;
    to->xs[i] -= db / h + dh;
    return (db - da) / h;
}

/* m = T^-1 r: with z = T^-1 dm the adjoint of r is z, that of T is -z m'. */
static void bend_back(const struct knots *k, struct knot_adjoints *to) {
    double *z = to->m;
    solve_spline(k, z);
    for (size_t i = 0; i + 1 < k->n; i++) { /* what the width of piece i does */
        double h = k->xs[i + 1] - k->xs[i], ds = 6 * (z[i] - z[i + 1]), m = k->m[i],
               up = k->m[i + 1];
        double dh = -ds * slope_at(k, i) / h;
        dh -= 2 * z[i] * m + 2 * z[i + 1] * up + z[i] * up + z[i + 1] * m;
        to->ys[i + 1] += ds / h;
        to->ys[i] -= ds / h;
        to->xs[i + 1] += dh;
        to->xs[i] -= dh;
    }
}

static enum gpm_status grad_interpolate(struct sp_call *c, value r, value dr, value *dargs) {
    struct knots k = {0};
    double *x = NULL;
    size_t n = 1;
    bool one = c->args[ARG_X].tag == V_NUM;
    if (dr.tag == V_NIL) return GPM_OK;
    enum gpm_status st = read_knots(c, &k);
    if (st == GPM_OK && !one && !seq_numbers(c->args[ARG_X], &x, &n)) st = GPM_E_ARG;
    if (st == GPM_OK) {
        struct knot_adjoints to = {.xs = mem_zalloc((3 * k.n + n) * sizeof(double))};
        to.ys = to.xs + k.n;
        to.m = to.ys + k.n;
        double *d = to.m + k.n, number = one ? sp_num(c, ARG_X) : 0;
        adj_doubles(dr, d, n);
        for (size_t i = 0; i < n; i++) d[i] = point_back(&k, one ? number : x[i], d[i], &to);
        if (k.m && k.n > 2) bend_back(&k, &to);
        dargs[ARG_XS] = value_vector(to.xs, k.n);
        dargs[ARG_YS] = value_vector(to.ys, k.n);
        dargs[ARG_X] = one ? value_num(d[0]) : value_vector(d, n);
        mem_free(to.xs);
    }
    mem_free(x);
    knots_release(&k);
    return st;
}

/* ---- convolution ---- */

struct two {
    double *a, *b;
    size_t n, m;
};

static void read_two(struct sp_call *c, struct two *t) {
    t->a = sp_numbers(c, 0, &t->n);
    t->b = sp_numbers(c, 1, &t->m);
}

static void two_release(struct two *t) {
    mem_free(t->a);
    mem_free(t->b);
}

/* c_k = sum_i a_i b_{k-i}, of n + m - 1 elements; none of an empty sequence. */
static enum gpm_status simulate_convolve(struct sp_call *c, value *out) {
    struct two t;
    read_two(c, &t);
    size_t n = t.n && t.m ? t.n + t.m - 1 : 0;
    *out = value_vector_new(n);
    double *to = out->u.vector->at;
    if (n) memset(to, 0, n * sizeof *to);
    size_t steps = 0;
    for (size_t i = 0; i < t.n && !work_steps(&steps, t.m); i++)
        for (size_t j = 0; j < t.m; j++) to[i + j] += t.a[i] * t.b[j];
    two_release(&t);
    return GPM_OK;
}

static enum gpm_status grad_convolve(struct sp_call *c, value r, value dr, value *dargs) {
    struct two t;
    if (dr.tag == V_NIL) return GPM_OK;
    read_two(c, &t);
    size_t n = t.n && t.m ? t.n + t.m - 1 : 0;
    double *d = NEW_ARRAY(double, n + 1), *da = mem_zalloc((t.n + t.m + 1) * sizeof *da);
    double *db = da + t.n;
    adj_doubles(dr, d, n);
    size_t steps = 0;
    for (size_t i = 0; i < t.n && !work_steps(&steps, t.m); i++)
        for (size_t j = 0; j < t.m; j++) {
            da[i] += d[i + j] * t.b[j];
            db[j] += d[i + j] * t.a[i];
        }
    dargs[0] = value_vector(da, t.n);
    dargs[1] = value_vector(db, t.m);
    mem_free(d);
    mem_free(da);
    two_release(&t);
    return GPM_OK;
}

const struct sp_class sp_interpolate_rows[] = {
    {SP_GROW(interpolate, interpolate, "(xs: numbers, ys: numbers, x: any, method?: name) -> any",
             "The function through the points (xs, ys) at x, a number or a sequence of numbers: by "
             "lines, or with method=\"spline\" by a natural cubic spline. xs must grow, and x lie "
             "between the first and the last.",
             "interpolate([0, 1, 3], [5, 6, 2], [0.5, 2]) => [5.5, 4]")},
    {SP_GROW(convolve, convolve, "(a: numbers, b: numbers) -> vector",
             "The discrete convolution of two sequences: element k is the sum of a[i] b[k - i].",
             "convolve([1, 2], [1, 10, 100]) => [1, 12, 120, 200]")},
};
const size_t sp_interpolate_count = COUNT_OF(sp_interpolate_rows);
