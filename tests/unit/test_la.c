/* SPDX-License-Identifier: Apache-2.0
 *
 * Linear algebra: vector primitives of every instruction set this machine has against libm, factor
 * and inverse against definitions at awkward sizes, random changes of a factor against building it
 * from scratch, the jitter ladder, the optimiser.
 */
#include "support/check.h"

#include "numeric/la/blas.h"
#include "numeric/la/chol.h"
#include "numeric/optim/optim.h"
#include "numeric/la/vec_ops.h"

#include <float.h>

static uint64_t state_;
static double uniform(void) {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return (double)(state_ >> 11) * 0x1p-53;
}

static double ulps(double got, double want) {
    if (got == want) return 0;
    return fabs(got - want) / (nextafter(fabs(want), INFINITY) - fabs(want));
}

static void exponentials(void **state) {
    const struct vec_ops *v;
    for (int i = 0; (v = vec_ops_at(i)); i++) {
        double worst = 0, worst_log = 0, x[7], y[7];
        state_ = 1;
        for (int rep = 0; rep < 60000; rep++) {
            for (int k = 0; k < 7; k++) {
                double u = uniform();
                x[k] = rep % 3 == 0 ? -708 + 1417 * u : rep % 3 == 1 ? -40 * u : 2 * u - 1;
                y[k] = x[k];
            }
            v->exp_scale(7, 1, y);
            for (int k = 0; k < 7; k++) worst = fmax(worst, ulps(y[k], (double)expl(x[k])));
            for (int k = 0; k < 7; k++)
                x[k] = y[k] = rep % 2 ? exp(1400 * uniform() - 700) : 0.5 + uniform();
            v->log(7, y);
            for (int k = 0; k < 7; k++) worst_log = fmax(worst_log, ulps(y[k], (double)logl(x[k])));
        }
        if (worst >= 1.01 || worst_log >= 1.5)
            print_error("%s: exp %.3f ulp, log %.3f ulp\n", v->name, worst, worst_log);
        assert_true(worst < 1.01); /* a result exactly between two numbers may go either way */
        assert_true(worst_log < 1.5);
        double edge[4] = {-1000, -INFINITY, 1000, 0};
        v->exp_scale(4, 1, edge);
        assert_true(edge[0] == 0 && edge[1] == 0 && edge[2] == INFINITY && edge[3] == 1);
    }
}

static void reductions(void **state) {
    const struct vec_ops *v;
    double a[101], b[101], c[101];
    state_ = 2;
    for (int i = 0; i < 101; i++) a[i] = uniform() - 0.5, b[i] = uniform(), c[i] = uniform();
    for (int i = 0; (v = vec_ops_at(i)); i++)
        for (size_t n = 0; n <= 101; n += 1 + n / 7) {
            double s = 0, d = 0, q = 0, e = 0, w = 0;
            for (size_t k = 0; k < n; k++) {
                s += a[k], d += a[k] * b[k], q += a[k] * (b[k] - 0.3) * (b[k] - 0.3);
                e += a[k] * fmin(0, b[k] * 0.2 + c[k] * 0.7 - 0.5);
                w += a[k] * (c[k] * 0.2 - b[k] * 0.7) * (a[k] - 0.1);
            }
            assert_close(v->sum(n, a), s, 1e-14);
            assert_close(v->dot(n, a, b), d, 1e-14);
            assert_close(v->dot_sqdiff(n, a, b, 0.3), q, 1e-14);
            assert_close(v->dot_cosdiff(n, a, b, c, 0.2, 0.7, 0.5), e, 1e-14);
            assert_close(v->dot_sindiff(n, a, b, c, a, 0.2, 0.7, 0.1), w, 1e-14);
        }
}

/* Squared distances over columns and the Matern kernels' exp(-sqrt(f q)), for strips of every
 * length: blocks may overlap, nothing past the end is touched. */
static void strips(void **state) {
    enum { LD = 40 };
    const struct vec_ops *v;
    double u[3 * LD], at[3] = {0.3, -0.2, 0.7}, q[LD + 1], a[LD + 1], e[LD + 1];
    state_ = 3;
    for (int i = 0; i < 3 * LD; i++) u[i] = 4 * uniform() - 2;
    for (int i = 0; (v = vec_ops_at(i)); i++)
        for (size_t n = 0; n <= LD; n++) {
            q[n] = a[n] = e[n] = -7;
            v->sqdist(n, 3, u, LD, at, q);
            memcpy(a, q, sizeof a);
            v->decay(n, a, sqrt(5), a, e);
            for (size_t k = 0; k < n; k++) {
                double sum = 0;
                for (size_t c = 0; c < 3; c++) sum += pow(u[c * LD + k] - at[c], 2);
                assert_close(q[k], sum, 1e-14);
                assert_close(a[k], sqrt(5 * sum), 1e-14);
                assert_close(e[k], exp(-sqrt(5 * sum)), 1e-14);
            }
            assert_true(q[n] == -7 && a[n] == -7 && e[n] == -7);
        }
}

/* A random covariance-like matrix: smooth part plus a diagonal. */
static double *gram(size_t n, size_t ld) {
    double *a = calloc(n * ld + 1, sizeof *a), *x = calloc(n + 1, sizeof *x);
    for (size_t i = 0; i < n; i++) x[i] = 10 * uniform();
    for (size_t j = 0; j < n; j++)
        for (size_t i = 0; i < n; i++)
            a[i + j * ld] = exp(-0.5 * (x[i] - x[j]) * (x[i] - x[j])) + 0.3 * (i == j);
    free(x);
    return a;
}

static double product_error(size_t n, const double *l, const double *k, size_t ld) {
    double worst = 0;
    for (size_t j = 0; j < n; j++)
        for (size_t i = j; i < n; i++) {
            double s = 0;
            for (size_t q = 0; q <= j; q++) s += l[i + q * ld] * l[j + q * ld];
            worst = fmax(worst, fabs(s - k[i + j * ld]));
        }
    return worst;
}

static void factors(void **state) {
    static const size_t sizes[] = {1,  2,  7,  8,  9,  20,  21,  23,  24, 25,
                                   40, 47, 48, 49, 73, 150, 319, 321, 337};
    const struct vec_ops *v;
    state_ = 3;
    for (int i = 0; (v = vec_ops_at(i)); i++)
        for (size_t s = 0; s < COUNT_OF(sizes); s++) {
            size_t n = sizes[s], ld = n + s % 3;
            double *k = gram(n, ld), *l = malloc(n * ld * sizeof *l);
            memcpy(l, k, n * ld * sizeof *l);
            assert_int_equal(v->potrf(n, l, ld), 0);
            assert_true(product_error(n, l, k, ld) < 1e-13);
            for (size_t j = 1; j < n; j++) /* upper triangle untouched */
                for (size_t r = 0; r < j; r++) assert_true(l[r + j * ld] == k[r + j * ld]);
            assert_int_equal(v->potri(n, l, ld, l, ld), 0);
            for (size_t j = 0; j < n; j += 1 + n / 20) /* K K^-1 = I, some columns */
                for (size_t r = 0; r < n; r++) {
                    double t = 0;
                    for (size_t q = 0; q < n; q++)
                        t += k[r + q * ld] * (q >= j ? l[q + j * ld] : l[j + q * ld]);
                    assert_close(t, r == j, 1e-11);
                }
            size_t at = n * 2 / 3; /* spoil one pivot: it must be named */
            memcpy(l, k, n * ld * sizeof *l);
            l[at * (ld + 1)] = -1;
            assert_int_equal(v->potrf(n, l, ld), at + 1);
            free(k), free(l);
        }
    size_t n = 2300, pivot; /* through the recursion */
    double *k = gram(n, n), *l = malloc(n * n * sizeof *l), *x = malloc(n * sizeof *x);
    memcpy(l, k, n * n * sizeof *l);
    assert_int_equal(la_potrf(n, l, n, &pivot), GPM_OK);
    for (size_t i = 0; i < n; i++) x[i] = 1;
    la_trmv(true, n, l, n, x), la_trmv(false, n, l, n, x);
    for (size_t i = 0; i < n; i += 100) {
        double t = 0;
        for (size_t q = 0; q < n; q++) t += k[i + q * n];
        assert_close(x[i], t, 1e-10);
    }
    free(k), free(l), free(x);
}

static double factor_error(const struct chol *c, const double *k, size_t ld) {
    double worst = 0;
    for (size_t j = 0; j < c->n; j++)
        for (size_t i = j; i < c->n; i++) {
            double s = 0;
            for (size_t q = 0; q <= j; q++) s += c->l[i + q * c->ld] * c->l[j + q * c->ld];
            worst = fmax(worst, fabs(s - k[i + j * ld]));
        }
    return worst;
}

/* Random append, delete, update, downdate; the matrix is kept beside. */
static void random_changes(void **state) {
    enum { MAX = 80 };
    double *pool, k[MAX * MAX], cross[MAX * 8], corner[64];
    size_t id[MAX], n = 0;
    state_ = 4;
    pool = gram(400, 400);
    struct chol c = {0};
    for (int step = 0; step < 400; step++) {
        double u = uniform(), x[MAX];
        if (u < 0.35 && n + 4 <= MAX) {
            size_t m = 1 + (size_t)(uniform() * 4);
            for (size_t q = 0; q < m; q++) {
                bool again = true;
                while (again) {
                    id[n + q] = (size_t)(uniform() * 400);
                    again = false;
                    for (size_t r = 0; r < n + q; r++) again = again || id[r] == id[n + q];
                }
                for (size_t r = 0; r <= n + q; r++)
                    k[n + q + r * MAX] = pool[id[n + q] + id[r] * 400];
            }
            for (size_t q = 0; q < m; q++) {
                for (size_t r = 0; r < n; r++) cross[r + q * MAX] = k[n + q + r * MAX];
                for (size_t r = 0; r <= q; r++) corner[q + r * 8] = k[n + q + (n + r) * MAX];
            }
            assert_int_equal(chol_append(&c, m, cross, MAX, corner, 8), GPM_OK);
            n += m;
        } else if (u < 0.6 && n > 0) {
            size_t at = (size_t)(uniform() * (double)n);
            chol_delete(&c, at);
            for (size_t j = 0; j < n - 1; j++)
                for (size_t i = j; i < n - 1; i++)
                    k[i + j * MAX] = k[i + (i >= at) + (j + (j >= at)) * MAX];
            memmove(id + at, id + at + 1, (n - at - 1) * sizeof *id);
            n--;
        } else if (n > 0) { /* update, then take most of it back */
            double y[MAX];
            for (size_t i = 0; i < n; i++) x[i] = y[i] = uniform() - 0.5;
            chol_update(&c, x);
            for (size_t i = 0; i < n; i++) x[i] = 0.9 * y[i];
            assert_int_equal(chol_downdate(&c, x), GPM_OK);
            double left = 1 - 0.81;
            for (size_t j = 0; j < n; j++)
                for (size_t i = j; i < n; i++) k[i + j * MAX] += left * y[i] * y[j];
        }
        assert_int_equal(c.n, n);
        assert_true(factor_error(&c, k, MAX) < 1e-9);
    }
    double big[MAX];
    for (size_t i = 0; i < n; i++) big[i] = 1e3;
    assert_int_equal(chol_downdate(&c, big), GPM_E_NOT_PD);
    assert_true(factor_error(&c, k, MAX) < 1e-9); /* unchanged */
    chol_release(&c);
    free(pool);
}

static void ladder(void **state) {
    double k[9] = {1, 1, 1, 0, 1, 1, 0, 0, 1}; /* rank one */
    struct chol c = {0};
    assert_int_equal(chol_build_from(&c, 3, k, 3), GPM_OK);
    assert_true(c.steps >= 1 && c.jitter >= 1e-10 && c.jitter <= 1e-8);
    assert_true(chol_condition(&c) > 1e8);
    k[4] = -1;
    assert_int_equal(chol_build_from(&c, 3, k, 3), GPM_E_NOT_PD);
    k[4] = NAN;
    assert_int_equal(chol_build_from(&c, 3, k, 3), GPM_E_NOT_PD);
    assert_int_equal(chol_build_from(&c, 0, k, 3), GPM_OK);
    assert_true(chol_logdet(&c) == 0);
    mem_fail_nth_try(1);
    assert_int_equal(chol_reserve(&c, 100), GPM_E_NOMEM);
    mem_fail_nth_try(0);
    chol_release(&c);
}

/* Kernels without noise whose matrices are singular to rounding: their pivots are the noise of the
 * summation, which can lie far above n eps max(K). The same entries with other last bits must climb
 * the ladder alike, and so have the same density. */
static void singular_alike(void **state) {
    enum { N = 36 };
    static const double scales[][3] = {/* of SE, of PER and its period, in years */
                                       {0.8240, 2.0026, 0.5298},
                                       {0.2975, 2.2916, 0.5025},
                                       {0.8917, 0.9490, 0.3264}};
    static double k[N * N];
    for (size_t s = 0; s < sizeof scales / sizeof *scales; s++) {
        const double *l = scales[s];
        double first = 0;
        for (size_t way = 0; way < 8; way++) {
            for (size_t at = 0; at < (size_t)N * N; at++) {
                size_t i = at % N, j = at / N;
                double x = 1949 + (double)i / 12, y = 1949 + (double)j / 12, d = x - y;
                double se = exp(-d * d / (2 * l[0] * l[0]));
                double per = exp(-2 * pow(sin(3.141592653589793 * d / l[2]) / l[1], 2));
                double last = (double)(((i + 1) * (j + 1) * 7 + way * (i + j)) % 3);
                k[at] = x * y * (se + per) * (1 + last * DBL_EPSILON);
            }
            struct chol c = {0};
            assert_int_equal(chol_build_from(&c, N, k, N), GPM_OK);
            assert_true(c.steps > 0);
            if (!way) first = chol_logdet(&c);
            assert_float_equal(chol_logdet(&c), first, 1e-2);
            chol_release(&c);
        }
    }
}

static double rosenbrock(void *ctx, const double *x, double *g) {
    size_t n = *(size_t *)ctx;
    double f = 0;
    for (size_t i = 0; i < n; i++) g[i] = 0;
    for (size_t i = 0; i + 1 < n; i++) {
        double a = 1 - x[i], b = x[i + 1] - x[i] * x[i];
        f += a * a + 100 * b * b;
        g[i] += -2 * a - 400 * b * x[i];
        g[i + 1] += 200 * b;
    }
    return f;
}

static double log_barrier(void *ctx, const double *x, double *g) {
    g[0] = 1 - 1 / x[0];
    return x[0] > 0 ? x[0] - log(x[0]) : INFINITY;
}

static void optimiser(void **state) {
    double x[6] = {0.2, 1, 0.3, -0.5, 2, 0}, lo[6], hi[6];
    struct optim_options o = OPTIM_OPTIONS_INIT;
    size_t n = 6;
    o.max_iter = 1000;
    assert_close(optim_minimise(rosenbrock, &n, n, x, &o), 0, 1e-8);
    for (int i = 0; i < 6; i++) assert_close(x[i], 1, 1e-4);
    for (int i = 0; i < 6; i++) x[i] = 0, lo[i] = -1, hi[i] = 0.5;
    o.lower = lo;
    o.upper = hi;
    n = 2;
    assert_close(optim_minimise(rosenbrock, &n, n, x, &o), 0.25, 1e-8);
    assert_close(x[0], 0.5, 1e-8); /* the bounded minimum of the two-dimensional case */
    assert_close(x[1], 0.25, 1e-5);
    double y = 10;
    o.lower = o.upper = NULL;
    assert_close(optim_minimise(log_barrier, NULL, 1, &y, &o), 1, 1e-9);
    assert_close(y, 1, 1e-5);
    y = -1;
    assert_true(isinf(optim_minimise(log_barrier, NULL, 1, &y, &o)));
}

/* Rosenbrock's function where gradients come late: calls of each kind, the last point valued. */
struct late_calls {
    int values, gradients, misplaced;
    double at[2];
    bool late;
};

static double late_rosenbrock(void *ctx, const double *x, double *g) {
    struct late_calls *c = ctx;
    double own[2];
    size_t n = 2;
    bool first = c->values + c->gradients == 0;
    if (g) c->misplaced += c->late && !first && memcmp(x, c->at, sizeof c->at);
    *(g ? &c->gradients : &c->values) += 1;
    memcpy(c->at, x, sizeof c->at);
    return rosenbrock(&n, x, g ? g : own);
}

static bool is_late(void *ctx) {
    return ((struct late_calls *)ctx)->late;
}

static void late_gradients(void **state) {
    struct optim_options o = OPTIM_OPTIONS_INIT;
    struct late_calls c[2] = {{.late = false}, {.late = true}};
    double x[2][2] = {{-1.2, 1}, {-1.2, 1}}, f[2];
    o.late = is_late;
    for (int k = 0; k < 2; k++) f[k] = optim_minimise(late_rosenbrock, &c[k], 2, x[k], &o);
    assert_true(f[0] == f[1] && !memcmp(x[0], x[1], sizeof x[0])); /* the same steps */
    assert_int_equal(c[1].misplaced, 0);
    assert_int_equal(c[0].values, 0);
    assert_int_equal(c[1].values + 1, c[0].gradients); /* the start has both at once */
    assert_true(c[1].gradients < c[0].gradients);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exponentials),   cmocka_unit_test(reductions),
        cmocka_unit_test(strips),         cmocka_unit_test(factors),
        cmocka_unit_test(random_changes), cmocka_unit_test(ladder),
        cmocka_unit_test(singular_alike), cmocka_unit_test(optimiser),
        cmocka_unit_test(late_gradients),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
