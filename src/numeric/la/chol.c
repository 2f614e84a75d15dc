/* SPDX-License-Identifier: Apache-2.0
 * Cholesky factor object; contracts in chol.h. */
#include "numeric/la/chol.h"
#include "numeric/la/vec_ops.h"

#include "base/work.h"
#include "base/mem.h"
#include "numeric/la/blas.h"
#include "numeric/la/mat.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

void chol_release(struct chol *c) {
    mem_free(c->l);
    memset(c, 0, sizeof *c);
}

static void copy_lower(size_t n, const double *from, size_t ldf, double *to, size_t ldt) {
    size_t steps = 0;
    for (size_t j = 0; j < n && !work_steps(&steps, n / 8); j++)
        memcpy(to + j + j * ldt, from + j + j * ldf, (n - j) * sizeof *to);
}

/* Memory of the machine. A larger allocation may succeed, and the process be killed later. */
static size_t ram_kib(void) {
    long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    return pages > 0 && size > 0 ? (size_t)pages * (size_t)(size / 1024) : SIZE_MAX;
}

enum gpm_status chol_reserve(struct chol *c, size_t n) {
    if (n <= c->ld && c->l) return GPM_OK;
    size_t want = mat_ld(c->n && n < 2 * c->n ? 2 * c->n : n < 8 ? 8 : n);
    if (want > (size_t)1 << 24 || (want > 2048 && want * want / 1024 > ram_kib() / 8))
        return GPM_E_NOMEM;
    double *l = mem_try_doubles(want * want);
    if (!l && mat_ld(n) < want) {
        want = mat_ld(n);
        l = mem_try_doubles(want * want);
    }
    if (!l) return GPM_E_NOMEM;
    copy_lower(c->n, c->l, c->ld, l, want);
    mem_free(c->l);
    c->l = l;
    c->ld = want;
    return GPM_OK;
}

enum gpm_status chol_copy(struct chol *dst, const struct chol *src) {
    dst->n = 0;
    dst->changes++;
    enum gpm_status st = chol_reserve(dst, src->n);
    if (st) return st;
    copy_lower(src->n, src->l, src->ld, dst->l, dst->ld);
    dst->n = src->n;
    dst->jitter = src->jitter;
    dst->steps = src->steps;
    return GPM_OK;
}

/* Largest and mean diagonal element; false if one is not finite. */
static bool diag_scale(const double *a, size_t n, size_t ld, double *max, double *mean) {
    *max = *mean = 0;
    for (size_t i = 0; i < n; i++) {
        *max = fmax(*max, a[i + i * ld]);
        *mean += a[i + i * ld];
    }
    *mean /= (double)(n ? n : 1);
    return isfinite(*mean);
}

/* The computed factor is that of K + E with |E| about eps max(K). E changes the density by a share
 * of eps max(K) tr(K^-1). Above this limit another order of summation gives another density; near 1
 * one order has a factor and another does not. */
#define ROUNDING_SHARE 0.01

/* A pivot above this share of the largest variance needs no further test. It equals w'Kw with the
 * weights w of a prediction from the rows before it, so E changes it by eps max(K) w'w. Weights of
 * smooth functions are binomial, and the sum of their squares is below 4^n. */
bool chol_pivot_clear(size_t n, double least, double max) {
    double part = n > 14 ? 1e-4 : (double)(n << 2 * n) * (DBL_EPSILON / ROUNDING_SHARE);
    return least * least > part * max;
}

/* With random signs s, s'K^-1 s = |L^-1 s|^2 estimates tr(K^-1) (Hutchinson 1990). The signs are
 * fixed, so the decision depends on the matrix alone. */
void chol_signs(size_t n, double *s) {
    for (size_t i = 0; i < n; i++) s[i] = (uint32_t)(i + 1) * 2654435761u >> 31 ? 1 : -1;
}

bool chol_rounding_small(size_t n, const double *solved, double max) {
    return DBL_EPSILON * max * vec_ops()->dot(n, solved, solved) < ROUNDING_SHARE;
}

static bool rounding_small(const struct chol *c, size_t n, double max) {
    double *s = NEW_ARRAY(double, n);
    chol_signs(n, s);
    la_trsv(false, n, c->l, c->ld, s);
    bool small = chol_rounding_small(n, s, max);
    mem_free(s);
    return small;
}

/* Is the factor of n rows sound, given that the rows before `from` are? c->pivot: the row that
 * failed. */
static bool pivots_sound(struct chol *c, size_t from, size_t n, double max) {
    double least = INFINITY;
    for (size_t i = from; i < n; i++) {
        double d = c->l[i + i * c->ld];
        if (d >= least && isfinite(d)) continue;
        c->pivot = i;
        if (!isfinite(d)) return false;
        least = d;
    }
    return chol_pivot_clear(n, least, max) || rounding_small(c, n, max);
}

static enum gpm_status try_rung(struct chol *c, size_t n, chol_fill_fn fill, void *ctx,
                                double relative) {
    double max, mean;
    enum gpm_status st = fill(ctx, c->l, n, c->ld);
    if (st) return st;
    if (!diag_scale(c->l, n, c->ld, &max, &mean)) return GPM_E_ARG;
    double jitter = relative * (mean > 0 ? mean : 1);
    if (relative > 0)
        for (size_t i = 0; i < n; i++) c->l[i + i * c->ld] += jitter;
    c->jitter = jitter;
    st = la_potrf(n, c->l, c->ld, &c->pivot);
    if (!st && !pivots_sound(c, 0, n, max)) st = GPM_E_NOT_PD;
    return st;
}

enum gpm_status chol_build(struct chol *c, size_t n, chol_fill_fn fill, void *ctx) {
    c->n = 0;
    c->jitter = 0;
    c->steps = 0;
    c->changes++;
    enum gpm_status st = chol_reserve(c, n);
    if (st) return st;
    double relative = 0;
    while ((st = try_rung(c, n, fill, ctx, relative)) == GPM_E_NOT_PD) {
        relative = relative > 0 ? relative * 10 : CHOL_JITTER_FIRST;
        if (relative > CHOL_JITTER_LAST * 1.5) return st;
        c->steps++;
    }
    if (st == GPM_E_ARG) return GPM_E_NOT_PD; /* infinite or NaN diagonal: jitter does not help */
    if (!st) c->n = n;
    return st;
}

struct stored {
    const double *k;
    size_t ld;
};
static enum gpm_status fill_stored(void *ctx, double *a, size_t n, size_t ld) {
    struct stored *s = ctx;
    copy_lower(n, s->k, s->ld, a, ld);
    return GPM_OK;
}

enum gpm_status chol_build_from(struct chol *c, size_t n, const double *k, size_t ldk) {
    struct stored s = {k, ldk};
    return chol_build(c, n, fill_stored, &s);
}

/* [L 0; B' M][L 0; B' M]' : B = L^-1 K(old,new), MM' = K(new,new) - B'B. */
static enum gpm_status append_solved(struct chol *c, size_t m, const double *b, size_t ldb,
                                     double *corner, size_t ldcorner) {
    size_t n = c->n, pivot = 0;
    double max = 0;
    enum gpm_status st = chol_reserve(c, n + m);
    if (st) return st;
    for (size_t i = 0; i < m; i++) {
        corner[i + i * ldcorner] += c->jitter;
        max = fmax(max, corner[i + i * ldcorner]);
    }
    if (n) la_syrk(true, m, n, -1, b, ldb, 1, corner, ldcorner);
    st = la_potrf(m, corner, ldcorner, &pivot);
    c->pivot = n + pivot;
    if (st) return st;
    for (size_t j = 0; j < n; j++)
        for (size_t i = 0; i < m; i++) c->l[n + i + j * c->ld] = b[j + i * ldb];
    copy_lower(m, corner, ldcorner, c->l + n + n * c->ld, c->ld);
    if (!pivots_sound(c, n, n + m, max)) return GPM_E_NOT_PD;
    c->n += m;
    c->changes++;
    return GPM_OK;
}

enum gpm_status chol_append(struct chol *c, size_t m, double *cross, size_t ldcross, double *corner,
                            size_t ldcorner) {
    la_trsm(false, c->n, m, c->l, c->ld, cross, ldcross);
    return append_solved(c, m, cross, ldcross, corner, ldcorner);
}

enum gpm_status chol_append_solved(struct chol *c, const double *v, double corner) {
    return append_solved(c, 1, v, c->n, &corner, 1);
}

/* Factor of LL' + sign xx' by Givens-like rotations, column by column (Gill, Golub, Murray and
 * Saunders 1974, method C1). */
static void rotate(double *l, size_t n, size_t ld, double sign, double *x) {
    for (size_t k = 0; k < n; k++) {
        if (x[k] == 0) continue;
        double *col = l + k * ld, d = col[k], q = (d - x[k]) * (d + x[k]);
        double r = sign > 0 ? hypot(d, x[k]) : sqrt(q > 0 ? q : DBL_MIN);
        double cs = r / d, s = x[k] / d, inv = d / r;
        col[k] = r;
        for (size_t i = k + 1; i < n; i++) {
            double v = (col[i] + sign * s * x[i]) * inv;
            x[i] = cs * x[i] - s * v;
            col[i] = v;
        }
    }
}

void chol_update(struct chol *c, double *x) {
    c->changes++;
    rotate(c->l, c->n, c->ld, 1, x);
}

/* LL' - xx' = L (I - pp') L' with Lp = x is positive definite exactly if p'p < 1. This is checked
 * first, so a failure leaves the factor unchanged. */
enum gpm_status chol_downdate(struct chol *c, double *x) {
    size_t n = c->n;
    double *p = NEW_ARRAY(double, n + 1);
    memcpy(p, x, n * sizeof *p);
    la_trsv(false, n, c->l, c->ld, p);
    double rest = 1 - vec_ops()->dot(n, p, p);
    mem_free(p);
    if (!(rest > (double)n * DBL_EPSILON)) return GPM_E_NOT_PD;
    c->changes++;
    rotate(c->l, n, c->ld, -1, x);
    return GPM_OK;
}

/* Without row i: L33 L33' + l l' is the new trailing block, l the column below the deleted pivot.
 */
void chol_delete(struct chol *c, size_t i) {
    size_t n = c->n, ld = c->ld, below = n - i - 1;
    double *x = NEW_ARRAY(double, below + 1);
    memcpy(x, c->l + i + 1 + i * ld, below * sizeof *x);
    for (size_t j = 0; j < i; j++) /* rows above the block shift up in place */
        memmove(c->l + i + j * ld, c->l + i + 1 + j * ld, below * sizeof *x);
    for (size_t j = i + 1; j < n; j++)
        memmove(c->l + (j - 1) + (j - 1) * ld, c->l + j + j * ld, (n - j) * sizeof *x);
    c->n = n - 1;
    c->changes++;
    rotate(c->l + i + i * ld, below, ld, 1, x);
    mem_free(x);
}

void chol_solve_l(const struct chol *c, double *b, size_t nrhs, size_t ldb) {
    la_trsm(false, c->n, nrhs, c->l, c->ld, b, ldb);
}

void chol_solve_lt(const struct chol *c, double *b, size_t nrhs, size_t ldb) {
    la_trsm(true, c->n, nrhs, c->l, c->ld, b, ldb);
}

void chol_solve(const struct chol *c, double *b, size_t nrhs, size_t ldb) {
    chol_solve_l(c, b, nrhs, ldb);
    chol_solve_lt(c, b, nrhs, ldb);
}

/* One logarithm per product of pivots, which must stay within range. */
double chol_logdet(const struct chol *c) {
    double sum = 0, product = 1;
    for (size_t i = 0; i < c->n; i++) {
        product *= c->l[i + i * c->ld]; /* a single root of a double cannot leave the range */
        if (product > 1e-150 && product < 1e150) continue;
        sum += log(product);
        product = 1;
    }
    return 2 * (sum + log(product));
}

/* Power iteration on LL' and on its inverse. A dozen steps give one or two digits, enough for a
 * message. */
double chol_condition(const struct chol *c) {
    size_t n = c->n;
    if (n == 0) return 1;
    double *v = NEW_ARRAY(double, n), top = 0, low = 0;
    for (int inverse = 0; inverse < 2; inverse++) {
        for (size_t i = 0; i < n; i++) v[i] = 1 + 0.37 * (double)((i * 2654435761u) % 97) / 97;
        double norm = 0;
        for (int it = 0; it < 12; it++) {
            double s = 1 / sqrt(vec_ops()->dot(n, v, v));
            for (size_t i = 0; i < n; i++) v[i] *= s;
            if (inverse)
                chol_solve(c, v, 1, n);
            else
                la_trmv(true, n, c->l, c->ld, v), la_trmv(false, n, c->l, c->ld, v);
            norm = sqrt(vec_ops()->dot(n, v, v));
        }
        if (inverse)
            low = norm;
        else
            top = norm;
    }
    mem_free(v);
    return top * low;
}

void chol_inverse(const struct chol *c, double *a, size_t lda) {
    la_inverse(c->n, c->l, c->ld, a, lda);
}
