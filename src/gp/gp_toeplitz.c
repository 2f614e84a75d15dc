/* SPDX-License-Identifier: Apache-2.0
 *
 * Schur's algorithm. With t the first column of T and u = t / sqrt(t_0), v = u but v_0 = 0, the
 * columns of L are, for k = 0, 1, ...: L(k.., k) = u; shift u down by one row; rho = v_k / u_k;
 * u = (u - rho v) / sqrt(1 - rho^2), v = sqrt(1 - rho^2) v - rho u  (the mixed form, which is
 * stable). L is never stored: each right-hand side is eliminated on the way, z_k = y_k / L_kk, y -=
 * z_k L(., k). With Z = L^-1 [r, B]: r'K^-1 r = z'z - h'G^-1 h,  log|K| = 2 sum log L_kk + log|G|,
 * G = I + Zb'Zb,  h = Zb'z.
 */
#include "gp/gp_toeplitz.h"

#include "gp/kern_class.h"
#include "gp/kern_leaf.h"

#include "base/mem.h"
#include "base/vec.h"
#include "la/blas.h"
#include "la/vec.h"

#include <math.h>
#include <string.h>

#define MAX_RANK 6
/* When the recursion is trusted, relative to t_0 and calibrated in tests/unit/test_toeplitz.c:
 * white noise of at least FLOOR_MIN bounds the smallest eigenvalue from below; without it every
 * conditional variance must stay above PIVOT_MIN (rough kernels). Otherwise the dense factor is
 * used. */
#define FLOOR_MIN 1e-7
#define PIVOT_MIN 1e-4

struct job {
    struct kern_pts x;
    VEC(struct kern *) stationary; /* borrowed terms */
    size_t rank;
    double floor;            /* white noise variance in T */
    double *z[1 + MAX_RANK]; /* right-hand sides, later L^-1 of them */
};

static const struct kern *resolve(const struct kern *k) {
    return k->op == KERN_ALIAS ? k->kid[0] : k;
}

static bool rank_one(const struct kern *k) {
    k = resolve(k);
    return k->op == KERN_LEAF && k->cls->rank_one;
}

static bool constant(const struct kern *k) {
    return k->op == KERN_LEAF && k->cls->algebra == KERN_ALG_CONST;
}

/* b *= sqrt(amplitude) * feature */
static void apply_factor(const struct kern *k, struct kern_pts x, double *b, double *tmp) {
    double a = sqrt(kern_amplitude(resolve(k)));
    k = resolve(k);
    if (constant(k))
        for (size_t i = 0; i < x.n; i++) tmp[i] = 1;
    else
        k->cls->prepare(k, x, tmp, x.n);
    for (size_t i = 0; i < x.n; i++) b[i] *= a * tmp[i];
}

/* Sorts a term: stationary, low rank (adds a column), or neither. */
static bool take_term(struct job *j, struct kern *k) {
    if (k->stationary && !k->callback) {
        vec_push(&j->stationary, k);
        if (k->op == KERN_LEAF && k->cls->algebra == KERN_ALG_WN) j->floor += kern_amplitude(k);
        return true;
    }
    size_t n = k->op == KERN_PRODUCT ? k->nkids : 1;
    for (size_t i = 0; i < n; i++) {
        const struct kern *f = k->op == KERN_PRODUCT ? k->kid[i] : k;
        if (!rank_one(f) && !constant(f)) return false;
    }
    if (j->rank == MAX_RANK) return false;
    double *b = NEW_ARRAY(double, j->x.n), *tmp = NEW_ARRAY(double, j->x.n);
    for (size_t i = 0; i < j->x.n; i++) b[i] = 1;
    for (size_t i = 0; i < n; i++)
        apply_factor(k->op == KERN_PRODUCT ? k->kid[i] : k, j->x, b, tmp);
    mem_free(tmp);
    j->z[++j->rank] = b;
    return true;
}

/* First column of T. */
static enum gpm_status first_column(struct job *j, double noise, double *t) {
    struct kern_pts one = j->x;
    one.n = 1;
    enum gpm_status st = GPM_OK;
    memset(t, 0, j->x.n * sizeof *t);
    if (j->stationary.n) {
        struct kern *sum = kern_nary(KERN_SUM, j->stationary.at, j->stationary.n);
        st = kern_cross(sum, j->x, one, t, j->x.n);
        kern_unref(sum);
    }
    t[0] += noise * noise;
    return st;
}

/* Runs the recursion; false when a pivot gets too small. */
static bool schur(struct job *j, double *u, double *v, double *logdet) {
    const struct vec_ops *ops = vec_ops();
    size_t n = j->x.n;
    double t0 = u[0], root = sqrt(t0), *y[1 + MAX_RANK], sum = 0;
    double least = j->floor >= FLOOR_MIN * t0 ? 0 : PIVOT_MIN * t0;
    if (!(t0 > 0)) return false;
    for (size_t i = 0; i < n; i++) v[i] = u[i] /= root;
    for (size_t c = 0; c <= j->rank; c++) {
        y[c] = j->z[c];
        double z = y[c][0] /= u[0];
        ops->axpy(n - 1, -z, u + 1, y[c] + 1);
    }
    sum += log(u[0]);
    for (size_t k = 1; k < n; k++) {
        double rho = v[k] / u[0], q = (1 - rho) * (1 + rho);
        if (!(q > 0)) return false;
        double f = 1 / sqrt(q), pivot = (u[0] - rho * v[k]) * f;
        if (!(pivot * pivot > least)) return false;
        /* Row k + i of the new column is at u[i]; y[c] + k is what is left of the right-hand side.
         */
        double z = y[0][k] / pivot;
        ops->schur(n - k, rho, f, z, u, v + k, y[0] + k);
        y[0][k] = z;
        for (size_t c = 1; c <= j->rank; c++) {
            z = y[c][k] / pivot;
            ops->axpy(n - k, -z, u, y[c] + k);
            y[c][k] = z;
        }
        sum += log(pivot);
    }
    *logdet = 2 * sum;
    return true;
}

/* The low-rank correction. */
static bool correct(struct job *j, double *quad, double *logdet) {
    size_t n = j->x.n, r = j->rank, bad = 0;
    double g[MAX_RANK * MAX_RANK], h[MAX_RANK];
    *quad = la_dot(n, j->z[0], j->z[0]);
    if (r == 0) return true;
    for (size_t b = 0; b < r; b++) {
        h[b] = la_dot(n, j->z[b + 1], j->z[0]);
        for (size_t a = b; a < r; a++)
            g[a + b * r] = (a == b) + la_dot(n, j->z[a + 1], j->z[b + 1]);
    }
    if (la_potrf(r, g, r, &bad)) return false;
    la_trsv(false, r, g, r, h);
    *quad -= la_dot(r, h, h);
    for (size_t a = 0; a < r; a++) *logdet += 2 * log(g[a * (r + 1)]);
    return true;
}

enum gpm_status gp_toeplitz(const struct kern *k, struct kern_pts x, double noise, const double *r,
                            bool *done, double *quad, double *logdet) {
    struct job j = {.x = x, .floor = noise * noise};
    size_t n = k->op == KERN_SUM ? k->nkids : 1;
    bool fits = x.dim == 1 && x.step > 0;
    enum gpm_status st = GPM_OK;
    *done = false;
    for (size_t i = 0; i < n && fits; i++)
        fits = take_term(&j, k->op == KERN_SUM ? k->kid[i] : (struct kern *)k);
    if (fits) {
        double *u = NEW_ARRAY(double, 2 * x.n);
        j.z[0] = NEW_ARRAY(double, x.n);
        memcpy(j.z[0], r, x.n * sizeof *r);
        st = first_column(&j, noise, u);
        *done = !st && schur(&j, u, u + x.n, logdet) && correct(&j, quad, logdet);
        mem_free(u);
    }
    for (size_t i = 0; i <= MAX_RANK; i++) mem_free(j.z[i]);
    vec_release(&j.stationary);
    return st;
}
