/* SPDX-License-Identifier: Apache-2.0
 *
 * Transforms to unconstrained space: each against numerical derivatives of itself, there and back,
 * at its bounds and far out.
 */
#include "support/check.h"

#include "inference/hmc/constrain.h"
#include "numeric/special/rng.h"
#include <float.h>

enum { MOST = 25 };

static const struct {
    enum sp_support_kind kind;
    double lo, hi;
    size_t n;
} cases[] = {
    {SUPPORT_REAL, 0, 0, 3},
    {SUPPORT_POSITIVE, -2, 0, 3},
    {SUPPORT_INTERVAL, -INFINITY, 5, 3},
    {SUPPORT_INTERVAL, -1, 4, 3},
    {SUPPORT_ORDERED, -INFINITY, INFINITY, 4},
    {SUPPORT_ORDERED, 0, INFINITY, 4},
    {SUPPORT_ORDERED, -INFINITY, 3, 4},
    {SUPPORT_ORDERED, -1, 2, 4},
    {SUPPORT_SIMPLEX, 0, 1, 2},
    {SUPPORT_SIMPLEX, 0, 1, 5},
    {SUPPORT_ZERO_SUM, 0, 0, 5},
    {SUPPORT_UNIT_VECTOR, 0, 0, 4},
    {SUPPORT_CORR, 0, 0, 4},
    {SUPPORT_CORR, 0, 0, 16},
    {SUPPORT_CORR_FACTOR, 0, 0, 16},
    {SUPPORT_COV, 0, 0, 9},
    {SUPPORT_COV_FACTOR, 0, 0, 9},
};

static struct constraint of_case(size_t i) {
    struct sp_support s = {.kind = cases[i].kind, .lo = cases[i].lo, .hi = cases[i].hi};
    return constraint_of(&s, cases[i].n);
}

static void point(size_t n, double scale, double *z) {
    for (size_t k = 0; k < n; k++) z[k] = scale * sin(1.7 * (double)k + 0.4);
}

/* Places in x of the numbers whose Lebesgue measure the density is of. */
static size_t free_numbers(const struct constraint *c, size_t *at) {
    size_t n = 0, d = (size_t)rint(sqrt((double)c->n_x));
    bool corr = c->kind == SUPPORT_CORR || c->kind == SUPPORT_CORR_FACTOR;
    if (c->kind < SUPPORT_CORR)
        for (size_t k = 0; k < c->n_z; k++) at[n++] = k;
    else
        for (size_t j = 0; j < d; j++)
            for (size_t i = corr ? j + 1 : j; i < d; i++) at[n++] = i + j * d;
    return n;
}

/* log |det a|, by elimination with pivots */
static double log_det(double a[MOST][MOST], size_t n) {
    double sum = 0;
    for (size_t k = 0; k < n; k++) {
        size_t top = k;
        for (size_t i = k; i < n; i++)
            if (fabs(a[i][k]) > fabs(a[top][k])) top = i;
        for (size_t j = 0; j < n; j++) {
            double t = a[k][j];
            a[k][j] = a[top][j], a[top][j] = t;
        }
        sum += log(fabs(a[k][k]));
        for (size_t i = k + 1; i < n; i++)
            for (size_t j = n; j-- > k;) a[i][j] -= a[i][k] / a[k][k] * a[k][j];
    }
    return sum;
}

static void log_jacobians_are_those_of_the_map(void **state) {
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct constraint c = of_case(i);
        double z[MOST], x[2][MOST], a[MOST][MOST], h = 1e-5;
        size_t at[MOST], n = free_numbers(&c, at);
        if (c.kind == SUPPORT_UNIT_VECTOR) continue;
        assert_int_equal(n, c.n_z);
        point(n, 1, z);
        for (size_t k = 0; k < n; k++) {
            double old = z[k];
            for (int side = 0; side < 2; side++) {
                z[k] = side ? old + h : old - h;
                (void)constraint_to_x(&c, z, x[side]);
            }
            z[k] = old;
            for (size_t j = 0; j < n; j++) a[j][k] = (x[1][at[j]] - x[0][at[j]]) / (2 * h);
        }
        assert_close(constraint_to_x(&c, z, x[0]), log_det(a, n), 1e-8);
    }
}

/* The length of the z of a unit vector has a density: dz = r^(n-1) dr dx. */
static void the_length_of_a_unit_vector_is_a_variable(void **state) {
    for (size_t n = 1; n < 6; n++) {
        struct constraint c = constraint_of(&(struct sp_support){.kind = SUPPORT_UNIT_VECTOR}, n);
        double z[MOST] = {0}, x[MOST], sum = 0, h = 1e-3;
        for (double r = h / 2; r < 12; r += h) {
            z[n - 1] = -r;
            sum += h * exp(constraint_to_x(&c, z, x)) * pow(r, (double)n - 1);
            assert_true(x[n - 1] == -1);
        }
        assert_close(sum, 1, 1e-6);
    }
}

/* f(x) = sum of (k + 1) x_k + sin(x_k): its gradient in z, with and without that of the Jacobian.
 */
static double value_of(const struct constraint *c, const double *z, bool jacobian) {
    double x[MOST], log_j = constraint_to_x(c, z, x), f = jacobian ? log_j : 0;
    for (size_t k = 0; k < c->n_x; k++) f += (double)(k + 1) * x[k] + sin(x[k]);
    return f;
}

static void gradients_are_pulled_back(void **state) {
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        for (int jacobian = 0; jacobian < 2; jacobian++) {
            struct constraint c = of_case(i);
            double z[MOST], x[MOST], gx[MOST], gz[MOST], h = 1e-5;
            point(c.n_z, 1.3, z);
            (void)constraint_to_x(&c, z, x);
            for (size_t k = 0; k < c.n_x; k++) gx[k] = (double)(k + 1) + cos(x[k]);
            constraint_pull(&c, z, x, gx, jacobian, gz);
            for (size_t k = 0; k < c.n_z; k++) {
                double old = z[k], f[2];
                for (int side = 0; side < 2; side++) {
                    z[k] = side ? old + h : old - h;
                    f[side] = value_of(&c, z, jacobian);
                }
                z[k] = old;
                double want = (f[1] - f[0]) / (2 * h);
                if (!(fabs(gz[k] - want) <= 1e-6 * fmax(1, fabs(want))))
                    fail_msg("case %zu, number %zu: %.12g, difference %.12g", i, k, gz[k], want);
            }
        }
}

static void z_comes_back(void **state) {
    struct rng rng;
    rng_init(&rng, 5, 0, 0);
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        for (double scale = 0; scale < 4; scale++) {
            struct constraint c = of_case(i);
            double z[MOST], x[MOST], back[MOST], again[MOST];
            point(c.n_z, scale, z);
            if (c.kind == SUPPORT_UNIT_VECTOR) z[0] += 1;
            (void)constraint_to_x(&c, z, x);
            assert_true(constraint_to_z(&c, x, &rng, back));
            (void)constraint_to_x(&c, back, again);
            for (size_t k = 0; k < c.n_x; k++) assert_close(again[k], x[k], 1e-9);
            for (size_t k = 0; k < c.n_z && c.kind != SUPPORT_UNIT_VECTOR; k++)
                assert_close(back[k], z[k], 1e-6);
        }
}

/* However far out z is, x lies inside, its z is finite again, and so is the gradient there. */
static void nothing_stands_on_a_bound(void **state) {
    struct rng rng;
    rng_init(&rng, 6, 0, 0);
    static const double far[] = {-1e4, -800, -40, 40, 300};
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        for (size_t k = 0; k < COUNT_OF(far); k++) {
            struct constraint c = of_case(i);
            double z[MOST], x[MOST], gx[MOST], gz[MOST];
            bool grows = c.kind == SUPPORT_ORDERED || c.kind >= SUPPORT_COV;
            if (grows && far[k] > 100) continue; /* sums of exp z leave the doubles */
            for (size_t j = 0; j < c.n_z; j++) z[j] = far[k], gx[j] = 1;
            for (size_t j = 0; j < c.n_x; j++) gx[j] = 1;
            assert_true(isfinite(constraint_to_x(&c, z, x)));
            for (size_t j = 0; j < c.n_x && c.kind <= SUPPORT_ORDERED; j++)
                assert_true(x[j] > c.lo && x[j] < c.hi);
            constraint_pull(&c, z, x, gx, true, gz);
            bool steep = !isfinite(c.lo) && isfinite(c.hi) && far[k] < -700; /* exp -z overflows */
            for (size_t j = 0; j < c.n_z && !steep; j++)
                if (!isfinite(gz[j])) fail_msg("case %zu at %g: gradient %g", i, far[k], gz[j]);
            if (c.kind == SUPPORT_CORR && far[k] < 40) continue; /* singular beyond any jitter */
            if (!constraint_to_z(&c, x, &rng, z)) fail_msg("case %zu at %g", i, far[k]);
            for (size_t j = 0; j < c.n_z; j++) assert_true(isfinite(z[j]));
        }
}

static void values_on_a_bound_have_a_start(void **state) {
    struct rng rng;
    rng_init(&rng, 7, 0, 0);
    static const struct {
        enum sp_support_kind kind;
        double lo, hi;
        size_t n;
        double x[4];
        bool ok;
    } rows[] = {
        {SUPPORT_INTERVAL, 0, 100, 1, {100}, true},
        {SUPPORT_INTERVAL, 0, 100, 1, {0}, true},
        {SUPPORT_INTERVAL, 0, 100, 1, {101}, false},
        {SUPPORT_POSITIVE, 0, 0, 2, {0, 1}, true},
        {SUPPORT_POSITIVE, 0, 0, 1, {-1}, false},
        {SUPPORT_INTERVAL, -INFINITY, 2, 2, {2, 1}, true},
        {SUPPORT_REAL, 0, 0, 1, {INFINITY}, false},
        {SUPPORT_ORDERED, -INFINITY, INFINITY, 3, {1, 1, 2}, true},
        {SUPPORT_ORDERED, -INFINITY, INFINITY, 3, {1, 0, 2}, false},
        {SUPPORT_SIMPLEX, 0, 0, 3, {0, 0, 1}, true},
        {SUPPORT_SIMPLEX, 0, 0, 3, {-0.5, 0.5, 1}, false},
        {SUPPORT_UNIT_VECTOR, 0, 0, 2, {0.6, 0.8}, true},
        {SUPPORT_UNIT_VECTOR, 0, 0, 2, {0.6, 0.9}, false},
        {SUPPORT_CORR, 0, 0, 4, {1, 1, 1, 1}, true},
        {SUPPORT_CORR, 0, 0, 4, {1, 2, 2, 1}, false},
        {SUPPORT_COV, 0, 0, 4, {4, 2, 2, 1}, true},
        {SUPPORT_COV, 0, 0, 4, {-1, 0, 0, 1}, false},
        {SUPPORT_COV_FACTOR, 0, 0, 4, {1, 2, 0, -1}, false},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct sp_support s = {.kind = rows[i].kind, .lo = rows[i].lo, .hi = rows[i].hi};
        struct constraint c = constraint_of(&s, rows[i].n);
        double z[MOST] = {0};
        if (constraint_to_z(&c, rows[i].x, &rng, z) != rows[i].ok) fail_msg("row %zu", i);
        for (size_t k = 0; rows[i].ok && k < c.n_z; k++) assert_true(isfinite(z[k]));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(log_jacobians_are_those_of_the_map),
        cmocka_unit_test(the_length_of_a_unit_vector_is_a_variable),
        cmocka_unit_test(gradients_are_pulled_back),
        cmocka_unit_test(z_comes_back),
        cmocka_unit_test(nothing_stands_on_a_bound),
        cmocka_unit_test(values_on_a_bound_have_a_start),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
