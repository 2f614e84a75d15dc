/* SPDX-License-Identifier: Apache-2.0
 * Constrained minimisation on problems whose solutions are known (Hock and Schittkowski 1981), and
 * quadratic programs against the conditions of Karush, Kuhn and Tucker. */
#include "support/check.h"

#include "numeric/optim/sqp.h"
#include "numeric/special/rng.h"

/* HS 43 (Rosen-Suzuki): -44 at (0, 1, 2, -1). */
static bool hs43(void *ctx, const double *x, double *f, double *c, double *gf, double *J) {
    (void)ctx;
    double a = x[0], b = x[1], d = x[2], e = x[3];
    *f = a * a + b * b + 2 * d * d + e * e - 5 * a - 5 * b - 21 * d + 7 * e;
    c[0] = a * a + b * b + d * d + e * e + a - b + d - e - 8;
    c[1] = a * a + 2 * b * b + d * d + 2 * e * e - a - e - 10;
    c[2] = 2 * a * a + b * b + d * d + 2 * a - b - e - 5;
    if (!gf) return true;
    double g[4] = {2 * a - 5, 2 * b - 5, 4 * d - 21, 2 * e + 7};
    double j[12] = {2 * a + 1, 2 * b - 1, 2 * d + 1, 2 * e - 1, 2 * a - 1, 4 * b,
                    2 * d,     4 * e - 1, 4 * a + 2, 2 * b - 1, 2 * d,     -1};
    memcpy(gf, g, sizeof g);
    memcpy(J, j, sizeof j);
    return true;
}

static void rosen_suzuki(void **state) {
    (void)state;
    double low[4] = {-5, -5, -5, -5}, upp[4] = {5, 5, 5, 5}, x[4] = {0}, lambda[3];
    struct sqp_options opt = {.max_iter = 60, .step_cap = 2, .tol = 1e-9, .low = low, .upp = upp};
    struct sqp_result r;
    assert_int_equal(sqp_minimise(hs43, NULL, 4, 3, x, &opt, lambda, &r), GPM_OK);
    assert_true(fabs(r.f + 44) < 1e-6 && r.violation < 1e-8);
    assert_true(fabs(x[0]) < 1e-3 && fabs(x[1] - 1) < 1e-3 && fabs(x[2] - 2) < 1e-3);
    assert_true(fabs(lambda[0] - 1) < 1e-2 && fabs(lambda[2] - 2) < 1e-2 && lambda[1] < 1e-6);
}

/* Two bounds that exclude each other: the result lies between them. */
static bool impossible(void *ctx, const double *x, double *f, double *c, double *gf, double *J) {
    (void)ctx;
    *f = x[0];
    c[0] = x[0] - 0.2;
    c[1] = 0.6 - x[0];
    if (gf) gf[0] = 1, J[0] = 1, J[1] = -1;
    return true;
}

static void nothing_feasible(void **state) {
    (void)state;
    double low = 0, upp = 1, x = 1;
    struct sqp_options opt = {
        .max_iter = 40, .step_cap = .2, .tol = 1e-9, .low = &low, .upp = &upp};
    struct sqp_result r;
    assert_int_equal(sqp_minimise(impossible, NULL, 1, 2, &x, &opt, NULL, &r), GPM_OK);
    assert_true(fabs(r.violation - 0.4) < 1e-6 && x > 0.2 - 1e-6 && x < 0.6 + 1e-6);
}

/* Random convex programs: stationary, feasible, multipliers >= 0 and complementary. */
static void quadratic_programs(void **state) {
    (void)state;
    enum { N = 5, K = 9 };
    struct rng r;
    rng_init(&r, 3, 0, 0);
    for (int trial = 0; trial < 200; trial++) {
        double M[N * N], B[N * N], F[N * N], g[N], A[K * N], b[K], p[N], u[K];
        for (int i = 0; i < N * N; i++) M[i] = rng_normal(&r);
        for (int i = 0; i < N; i++)
            for (int j = 0; j < N; j++) {
                B[i * N + j] = i == j ? 0.1 : 0;
                for (int k = 0; k < N; k++) B[i * N + j] += M[i * N + k] * M[j * N + k];
            }
        for (int i = 0; i < N; i++) g[i] = 3 * rng_normal(&r);
        for (int i = 0; i < K * N; i++) A[i] = rng_normal(&r);
        for (int i = 0; i < K; i++) b[i] = -rng_uniform(&r); /* 0 is feasible */
        memcpy(F, B, sizeof B);
        assert_int_equal(sqp_quadratic(N, F, g, K, A, b, p, u), GPM_OK);
        for (int j = 0; j < N; j++) {
            double s = g[j];
            for (int i = 0; i < N; i++) s += B[j * N + i] * p[i];
            for (int i = 0; i < K; i++) s -= A[i * N + j] * u[i];
            assert_true(fabs(s) < 1e-8);
        }
        for (int i = 0; i < K; i++) {
            double slack = -b[i];
            for (int j = 0; j < N; j++) slack += A[i * N + j] * p[j];
            assert_true(slack > -1e-9 && u[i] >= 0 && fabs(u[i] * slack) < 1e-7);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rosen_suzuki),
        cmocka_unit_test(nothing_feasible),
        cmocka_unit_test(quadratic_programs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
