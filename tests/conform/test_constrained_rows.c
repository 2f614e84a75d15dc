/* SPDX-License-Identifier: Apache-2.0
 *
 * Continuous random procedures on vectors and matrices, in the unconstrained space of their
 * support: the draw is a point of it, the gradient of density and Jacobian is that of differences,
 * and draw, density and Jacobian belong together: with q any density, the mean of q(z) / p(z) over
 * draws z of p is 1 (not where the prior is improper, which says so).
 *
 * A row without a case here fails the test.
 */
#include "support/call.h"
#include "support/spcall.h"

#include "inference/hmc/constrain.h"
#include "language/rows/protocol/adjoint.h"

#define COV    "m[[2, 0.5, 0.3], [0.5, 1, -0.2], [0.3, -0.2, 1.5]]"
#define FACTOR "m[[1.4, 0, 0], [0.5, 1, 0], [0.3, -0.2, 1.5]]"
#define MEANS  "m[[1, 2, -1], [0, 0, 0.5]]"

static const struct {
    const char *name, *args;
} cases[] = {
    {"dirichlet", "v[0.5, 2, 3.5]"},
    {"dirichlet", "v[1.5, 2, 3.5, 1, 1]"},
    {"symmetric_dirichlet", "0.7, 4"},
    {"multivariate_normal", "v[1, 2, -1], " COV},
    {"multivariate_normal", MEANS ", " COV},
    {"multivariate_normal_cholesky", "v[1, 2, -1], " FACTOR},
    {"multivariate_normal_cholesky", MEANS ", " FACTOR},
    {"multivariate_normal_precision", "v[1, 2, -1], " COV},
    {"multivariate_normal_precision", MEANS ", " COV},
    {"multivariate_student_t", "3.5, v[1, 2, -1], " COV},
    {"multivariate_student_t", "3.5, " MEANS ", " COV},
    {"multivariate_student_t_cholesky", "3.5, v[1, 2, -1], " FACTOR},
    {"wishart", COV ", 5.5"},
    {"inv_wishart", COV ", 5.5"},
    {"wishart_cholesky", FACTOR ", 5.5"},
    {"inv_wishart_cholesky", FACTOR ", 5.5"},
    {"lkj_corr", "1, 2.3"},
    {"lkj_corr", "2, 0.7"},
    {"lkj_corr", "4, 2.3"},
    {"lkj_corr_cholesky", "2, 0.7"},
    {"lkj_corr_cholesky", "4, 2.3"},
    {"flat_simplex", "4"},
    {"zero_sum_normal", "1, 1.5"},
    {"zero_sum_normal", "4, 1.5"},
    {"flat_zero_sum", "4"},
    {"flat_ordered", "4"},
    {"flat_positive_ordered", "4"},
    {"flat_cov", "3"},
    {"flat_cov_cholesky", "3"},
    {"flat_corr", "3"},
    {"flat_corr_cholesky", "4"},
    {"flat_unit_vector", "2"},
    {"flat_unit_vector", "4"},
    {"ordered_draws", "4, normal, 1, 2"},
    {"ordered_draws", "3, gamma, 2.5, 2"},
    {"ordered_draws", "3, uniform_continuous, -1, 2"},
    {"ordered_draws", "1, beta, 2, 3"},
};

static struct call_env env;

static int setup(void **state) {
    call_env_init(&env);
    return 0;
}

static int teardown(void **state) {
    call_env_release(&env);
    return 0;
}

static void start(struct call *k, size_t i, uint64_t seed) {
    call_start(k, &env, cases[i].name, cases[i].args, seed);
}

enum { MOST = 36 };

static size_t numbers_of(value v) {
    return v.tag == V_MATRIX ? v.u.matrix->rows * v.u.matrix->cols : v.u.vector->n;
}

static value with_numbers(value shape, const double *x) {
    return shape.tag == V_MATRIX ? value_matrix(x, shape.u.matrix->rows, shape.u.matrix->cols)
                                 : value_vector(x, shape.u.vector->n);
}

static struct constraint constraint_for(struct call *k, value v) {
    struct sp_support s = {.kind = SUPPORT_REAL};
    assert_int_equal(k->c.cls->support(&k->c, &s), GPM_OK);
    assert_true(numbers_of(v) <= MOST);
    return constraint_of(&s, numbers_of(v));
}

/* log density of z */
static double lp_at(struct call *k, const struct constraint *to, value shape, const double *z) {
    double x[MOST], log_j = constraint_to_x(to, z, x);
    value v = with_numbers(shape, x);
    double lp = call_lp(k, v) + log_j;
    value_unref(v);
    return lp;
}

static void gradients_agree_with_differences(void **state) {
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct call k;
        start(&k, i, 10 + i);
        value v = call_draw(&k), dv = NIL, dargs[CALL_ARGS] = {NIL};
        struct constraint to = constraint_for(&k, v);
        double x[MOST], z[MOST], gx[MOST], gz[MOST], h = 1e-5;
        adj_doubles(v, x, to.n_x);
        assert_true(constraint_to_z(&to, x, &k.rng, z));
        for (size_t j = 0; j < to.n_z; j++) z[j] *= 0.8; /* away from the edges */
        (void)constraint_to_x(&to, z, x);
        value at = with_numbers(v, x);
        assert_int_equal(k.c.cls->grad_density(&k.c, at, &dv, dargs), GPM_OK);
        adj_doubles(dv, gx, to.n_x);
        constraint_pull(&to, z, x, gx, true, gz);
        for (size_t j = 0; j < to.n_z; j++) {
            double old = z[j], lp[2];
            for (int side = 0; side < 2; side++) {
                z[j] = side ? old + h : old - h;
                lp[side] = lp_at(&k, &to, v, z);
            }
            z[j] = old;
            double want = (lp[1] - lp[0]) / (2 * h);
            if (!(fabs(gz[j] - want) <= 2e-6 * fmax(1, fabs(want))))
                fail_msg("%s(%s), number %zu of z: gradient %.10g, difference %.10g", cases[i].name,
                         cases[i].args, j, gz[j], want);
        }
        for (size_t j = 0; j < k.c.n; j++) value_unref(dargs[j]);
        value_unref(dv);
        value_unref(at);
        value_unref(v);
        call_release(&k);
    }
}

enum { DRAWS = 8000 };

static void draws_densities_and_jacobians_belong_together(void **state) {
    double *all = malloc(sizeof(double) * DRAWS * (MOST + 1));
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct call k;
        double mean[MOST] = {0}, sd[MOST] = {0}, sum = 0, squares = 0;
        struct constraint to = {0};
        start(&k, i, 500 + i);
        for (int r = 0; r < DRAWS && !(k.c.cls->flags & SP_IMPROPER); r++) {
            value v = call_draw(&k);
            double x[MOST], *z = all + r * (MOST + 1);
            to = constraint_for(&k, v);
            adj_doubles(v, x, to.n_x);
            assert_true(constraint_to_z(&to, x, &k.rng, z));
            z[MOST] = call_lp(&k, v) + constraint_to_x(&to, z, x);
            for (size_t j = 0; j < to.n_z; j++)
                mean[j] += z[j] / DRAWS, sd[j] += z[j] * z[j] / DRAWS;
            value_unref(v);
        }
        for (size_t j = 0; j < to.n_z; j++) sd[j] = 0.6 * sqrt(sd[j] - mean[j] * mean[j]);
        for (int r = 0; r < DRAWS; r++) {
            const double *z = all + r * (MOST + 1);
            double log_q = 0;
            for (size_t j = 0; j < to.n_z; j++)
                log_q -= 0.5 * pow((z[j] - mean[j]) / sd[j], 2) + log(sd[j]) + 0.5 * log(2 * M_PI);
            double w = exp(log_q - z[MOST]);
            sum += w, squares += w * w;
        }
        double got = sum / DRAWS, error = sqrt((squares / DRAWS - got * got) / DRAWS);
        bool improper = k.c.cls->flags & SP_IMPROPER;
        if (!improper && (!(fabs(got - 1) <= 5 * error + 1e-9) || error > 0.2))
            fail_msg("%s(%s): mean ratio %g, error %g", cases[i].name, cases[i].args, got, error);
        call_release(&k);
    }
    free(all);
}

static void every_row_has_a_case(void **state) {
    for (size_t i = 0; i < sp_index_count(); i++) {
        const struct sp_class *c = sp_index_at(i);
        bool found = false;
        if (!(c->flags & SP_RANDOM) || !(c->flags & SP_VECTOR) || c->flags & SP_DISCRETE) continue;
        for (size_t j = 0; j < COUNT_OF(cases); j++) found |= !strcmp(cases[j].name, c->name);
        if (!found) fail_msg("%s: no case tries it", c->name);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_has_a_case),
        cmocka_unit_test(gradients_agree_with_differences),
        cmocka_unit_test(draws_densities_and_jacobians_belong_together),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
