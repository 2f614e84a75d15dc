/* SPDX-License-Identifier: Apache-2.0
 *
 * Distributions on doubles: the same seed gives the same draws on every compiler (to the accuracy
 * of the mathematical library), extreme parameters stay in the support, helpers draw what they say.
 * Densities, gradients and samplers are tested through their rows in tests/conform. */
#include "support/check.h"
#include "support/incomplete_gamma.h"

#include "numeric/dist/dist.h"
#include "numeric/special/special.h"
#include "language/rows/protocol/sp.h"

/* The law of a row. */
#define BY_ROW(NAME)                                                                               \
    static double dist_##NAME##_lp(double x, const double *a, size_t n) {                          \
        return sp_index_find(#NAME)->num_log_density(x, a, n);                                     \
    }                                                                                              \
    static double dist_##NAME##_draw(struct rng *r, const double *a, size_t n) {                   \
        return sp_index_find(#NAME)->num_sample(r, a, n);                                          \
    }
BY_ROW(laplace)
BY_ROW(hypergeometric)

#define CASE(name, n, ...)                                                                         \
    { #name, dist_##name##_draw, dist_##name##_lp, {__VA_ARGS__ }, n }

/* The tenth draw of generator (42, 1, 2). */
static const struct {
    const char *name;
    dist_draw_fn *draw;
    dist_lp_fn *lp;
    double a[3];
    size_t n;
} seeded[] = {CASE(normal, 2, 0, 1),
              CASE(gamma, 2, 0.4, 2),
              CASE(gamma, 2, 7, 1),
              CASE(inv_gamma, 2, 5, 3),
              CASE(expon, 1, 2),
              CASE(beta, 2, 0.5, 0.5),
              CASE(log_beta, 2, 0.5, 2),
              CASE(log_odds_beta, 2, 1, 2),
              CASE(uniform, 2, 1, 2),
              CASE(student_t, 3, 3, 0, 1),
              CASE(laplace, 2, 0, 1),
              CASE(lognormal, 2, 0, 1),
              CASE(vonmises, 2, 0.5, 2),
              CASE(bernoulli, 1, 0.3),
              CASE(binomial, 2, 4, 0.3),
              CASE(binomial, 2, 200, 0.4),
              CASE(poisson, 1, 3),
              CASE(poisson, 1, 50),
              CASE(uniform_discrete, 2, 0, 10),
              CASE(neg_binomial, 2, 3, 0.3),
              CASE(geometric, 1, 0.2)};
static const double tenth[] = {0.32508318003738385,
                               0.049164238661696717,
                               3.6190280144342442,
                               1.3557658897189968,
                               0.17888818739059106,
                               0.0091988675594559758,
                               -0.30007460026489924,
                               0.29515525586191438,
                               1.6992294228569031,
                               0.1434148969529474,
                               -0.50826032647948771,
                               1.384145774489755,
                               0.73276848693420482,
                               0,
                               2,
                               83,
                               2,
                               53,
                               8,
                               4,
                               1};

static void a_seed_fixes_the_draws(void **state) {
    for (size_t i = 0; i < COUNT_OF(seeded); i++) {
        struct rng r;
        double x = 0;
        rng_init(&r, 42, 1, 2);
        for (int k = 0; k < 10; k++) x = seeded[i].draw(&r, seeded[i].a, seeded[i].n);
        if (fabs(x - tenth[i]) > 1e-12)
            fail_msg("%s: %.17g, expected %.17g", seeded[i].name, x, tenth[i]);
    }
}

/* Parameters at the edge of what doubles hold: draws are finite and have a finite density. */
static void extreme_parameters_stay_in_the_support(void **state) {
    static const struct {
        dist_draw_fn *draw;
        dist_lp_fn *lp;
        double a[3];
        size_t n;
    } cases[] = {
        {dist_gamma_draw, dist_gamma_lp, {1e-4, 1}, 2},
        {dist_gamma_draw, dist_gamma_lp, {1e9, 1e-3}, 2},
        {dist_inv_gamma_draw, dist_inv_gamma_lp, {1e-3, 1}, 2},
        {dist_beta_draw, dist_beta_lp, {1e-3, 1e-3}, 2},
        {dist_beta_draw, dist_beta_lp, {1e6, 1e-2}, 2},
        {dist_log_beta_draw, dist_log_beta_lp, {1e-3, 1e-3}, 2},
        {dist_log_odds_beta_draw, dist_log_odds_beta_lp, {1e-3, 1e3}, 2},
        {dist_student_t_draw, dist_student_t_lp, {0.05, 0, 1}, 3},
        {dist_lognormal_draw, dist_lognormal_lp, {0, 200}, 2},
        {dist_vonmises_draw, dist_vonmises_lp, {3, 1e8}, 2},
        {dist_vonmises_draw, dist_vonmises_lp, {3, 1e-7}, 2},
        {dist_uniform_draw, dist_uniform_lp, {-1e300, 1e300}, 2},
        {dist_binomial_draw, dist_binomial_lp, {1e9, 1e-9}, 2},
        {dist_binomial_draw, dist_binomial_lp, {1e9, 0.999}, 2},
        {dist_hypergeometric_draw, dist_hypergeometric_lp, {1e15, 1e15, 1e15}, 3},
        {dist_poisson_draw, dist_poisson_lp, {1e9}, 1},
        {dist_poisson_draw, dist_poisson_lp, {1e-12}, 1},
        {dist_neg_binomial_draw, dist_neg_binomial_lp, {1e-3, 1e-3}, 2},
    };
    struct rng r;
    rng_init(&r, 5, 0, 0);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        for (int k = 0; k < 2000; k++) {
            double x = cases[i].draw(&r, cases[i].a, cases[i].n);
            double lp = cases[i].lp(x, cases[i].a, cases[i].n);
            if (!isfinite(x) || !isfinite(lp)) fail_msg("case %zu: density of %g is %g", i, x, lp);
        }
    }
}

/* Values by Stirling's series in 60 digits. */
static void large_hypergeometric_densities(void **state) {
    static const struct {
        double k, a[3], lp;
    } cases[] = {
        {500000010000000, {1e15, 1e15, 1e15}, -17.548605959820097},
        {480, {1000, 1e6, 1e6}, -4.479482493023627},
        {29000, {1e6, 3e5, 1e7}, -6.303258119520224},
        {0, {5, 1e9, 1e9}, -3.4657359077997265},
        {1, {1e12, 10, 1e13}, -0.9482446409199368},
        {999999, {1999997, 1e6, 1e6}, -0.9808287530116012},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        double lp = dist_hypergeometric_lp(cases[i].k, cases[i].a, 3);
        if (!(fabs(lp - cases[i].lp) < 1e-9)) fail_msg("case %zu: %.15g", i, lp);
    }
}

/* The mean and the variance of many draws. */
static void large_hypergeometric_draws(void **state) {
    enum { DRAWS = 20000 };
    const double a[] = {1e5, 1e6, 2e6}, mean = 1e5 / 3, sd = 146.56564618619774;
    double sum = 0, square = 0;
    struct rng r;
    rng_init(&r, 3, 0, 0);
    for (int i = 0; i < DRAWS; i++) {
        double z = (dist_hypergeometric_draw(&r, a, 3) - mean) / sd;
        sum += z;
        square += z * z;
    }
    assert_true(fabs(sum / DRAWS) < 4 / sqrt(DRAWS));
    assert_true(fabs(square / DRAWS - 1) < 4 * sqrt(2.0 / DRAWS));
}

static void indexes_follow_their_weights(void **state) {
    const double w[] = {0, 3, 1, 0, 6, 0};
    double logw[6], a[6] = {0}, b[6] = {0}, chi2_a = 0, chi2_b = 0;
    enum { DRAWS = 50000 };
    struct rng r;
    rng_init(&r, 9, 0, 0);
    for (int i = 0; i < 6; i++) logw[i] = log(w[i]) - 2000;
    for (int i = 0; i < DRAWS; i++) a[draw_index(&r, w, 6)]++, b[draw_log_index(&r, logw, 6)]++;
    for (int i = 0; i < 6; i++) {
        double e = w[i] / 10 * DRAWS;
        if (e == 0)
            assert_true(a[i] == 0 && b[i] == 0);
        else
            chi2_a += pow(a[i] - e, 2) / e, chi2_b += pow(b[i] - e, 2) / e;
    }
    assert_p_value(gamma_q(1, chi2_a / 2), 9);
    assert_p_value(gamma_q(1, chi2_b / 2), 9);
}

static void log_gammas_are_gammas(void **state) {
    enum { DRAWS = 50000, CELLS = 50 };
    double count[CELLS] = {0}, chi2 = 0;
    struct rng r;
    rng_init(&r, 10, 0, 0);
    for (int i = 0; i < DRAWS; i++)
        count[(int)(CELLS * gamma_p(0.3, exp(draw_log_gamma(&r, 0.3))))]++;
    for (int i = 0; i < CELLS; i++) chi2 += pow(count[i] - DRAWS / CELLS, 2) / (DRAWS / CELLS);
    assert_p_value(gamma_q((CELLS - 1) / 2.0, chi2 / 2), 10);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_seed_fixes_the_draws),
        cmocka_unit_test(extreme_parameters_stay_in_the_support),
        cmocka_unit_test(large_hypergeometric_densities),
        cmocka_unit_test(large_hypergeometric_draws),
        cmocka_unit_test(indexes_follow_their_weights),
        cmocka_unit_test(log_gammas_are_gammas),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
