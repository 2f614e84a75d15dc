/* SPDX-License-Identifier: Apache-2.0
 * Special functions against mpmath (40 digits), and the generator against its own promises. */
#include "support/check.h"
#include "support/incomplete_gamma.h"

#include "numeric/special/rng.h"
#include "numeric/special/special.h"

enum fn {
    F_DIGAMMA,
    F_LBETA,
    F_LGAMMA_MULTI,
    F_ERFCX,
    F_NORM_LOG_CDF,
    F_NORM_QUANTILE,
    F_BETA_INC,
    F_I0E,
    F_I1E,
    F_LOG1MEXP,
    F_LOG1PEXP,
    F_LOG_CHOOSE
};
static const struct {
    enum fn f;
    double x[3], expect;
} rows[] = {
    {F_DIGAMMA, {1e-08}, -100000000.577215646},
    {F_DIGAMMA, {0.3}, -3.50252422220013312},
    {F_DIGAMMA, {1.0}, -0.577215664901532861},
    {F_DIGAMMA, {1.4616}, -0.0000311062512303416497},
    {F_DIGAMMA, {5.5}, 1.61109314858175112},
    {F_DIGAMMA, {10.0}, 2.25175258906672111},
    {F_DIGAMMA, {1000.0}, 6.90725519564881205},
    {F_DIGAMMA, {100000000.0}, 18.4206807389523655},
    {F_DIGAMMA, {-0.5}, 0.0364899739785765206},
    {F_DIGAMMA, {-3.3}, 3.62035346059212579},
    {F_LBETA, {0.001, 2.0}, 6.9067557786490535},
    {F_LBETA, {0.5, 0.5}, 1.14472988584940017},
    {F_LBETA, {3.0, 9.0}, -6.2045577625686903},
    {F_LBETA, {2.0, 15.0}, -5.4806389233419913},
    {F_LBETA, {12.0, 11.0}, -15.8644609328858227},
    {F_LBETA, {100000.0, 1000000.0}, -335104.496952430384},
    {F_LBETA, {0.01, 1000000000.0}, 4.39224721967750759},
    {F_LBETA, {3.0, 1000000000000000.0}, -102.923182004172113},
    {F_LGAMMA_MULTI, {3.0, 2.0}, 1.55019499395756456},
    {F_LGAMMA_MULTI, {10.5, 4.0}, 52.4705786805759525},
    {F_ERFCX, {-20.0}, 1.04429393795282879e+174},
    {F_ERFCX, {-5.0}, 144009798674.66104},
    {F_ERFCX, {-0.3}, 1.45374923284276555},
    {F_ERFCX, {0.0}, 1.0},
    {F_ERFCX, {0.7}, 0.525930337349440958},
    {F_ERFCX, {3.3}, 0.164007297572932631},
    {F_ERFCX, {12.0}, 0.0468542210148937626},
    {F_ERFCX, {24.9}, 0.0226399877760495063},
    {F_ERFCX, {25.1}, 0.0224598758175813882},
    {F_ERFCX, {300.0}, 0.00188062149737806449},
    {F_NORM_LOG_CDF, {-40.0}, -804.608442013753788},
    {F_NORM_LOG_CDF, {-9.0}, -43.6281491133321155},
    {F_NORM_LOG_CDF, {-5.1}, -15.5884870918714657},
    {F_NORM_LOG_CDF, {-4.9}, -14.5511826893553126},
    {F_NORM_LOG_CDF, {-1.0}, -1.84102164500926351},
    {F_NORM_LOG_CDF, {0.5}, -0.368946415288656393},
    {F_NORM_LOG_CDF, {6.0}, -9.86587645524375732e-10},
    {F_NORM_QUANTILE, {1e-300}, -37.0470962993611992},
    {F_NORM_QUANTILE, {1e-20}, -9.26234008979840758},
    {F_NORM_QUANTILE, {1e-05}, -4.26489079392282461},
    {F_NORM_QUANTILE, {0.01}, -2.32634787404084109},
    {F_NORM_QUANTILE, {0.3}, -0.524400512708040816},
    {F_NORM_QUANTILE, {0.5}, 0.0},
    {F_NORM_QUANTILE, {0.975}, 1.95996398454005386},
    {F_BETA_INC, {0.5, 0.5, 0.1}, 0.204832764699133458},
    {F_BETA_INC, {2.0, 3.0, 0.9}, 0.996300000000000002},
    {F_BETA_INC, {30.0, 10.0, 0.7}, 0.224129749180836435},
    {F_BETA_INC, {0.1, 8.0, 1e-06}, 0.323210214510342337},
    {F_BETA_INC, {200.0, 300.0, 0.41}, 0.677628164772178949},
    {F_I0E, {0.0}, 1.0},
    {F_I1E, {0.0}, 0.0},
    {F_I0E, {0.001}, 0.999000749583515559},
    {F_I1E, {0.001}, 0.000499500312354221347},
    {F_I0E, {0.5}, 0.645035270449150068},
    {F_I1E, {0.5}, 0.156420803184871697},
    {F_I0E, {4.0}, 0.207001921223986698},
    {F_I1E, {4.0}, 0.178750839502435327},
    {F_I0E, {19.9}, 0.0900085888643895973},
    {F_I1E, {19.9}, 0.0877171021317061011},
    {F_I0E, {20.1}, 0.089553763620613444},
    {F_I1E, {20.1}, 0.087296851843201592},
    {F_I0E, {100.0}, 0.0399443792990966826},
    {F_I1E, {100.0}, 0.0397441530251302527},
    {F_I0E, {1000000.0}, 0.000398942330269245779},
    {F_I1E, {1000000.0}, 0.000398942130798030776},
    {F_I1E, {-2.0}, -0.215269289248937659},
    {F_LOG1MEXP, {1e-10}, -23.0258509299904568},
    {F_LOG1MEXP, {0.5}, -0.932752129567188572},
    {F_LOG1MEXP, {0.7}, -0.686341002808385153},
    {F_LOG1MEXP, {40.0}, -4.248354255291589e-18},
    {F_LOG1PEXP, {-40.0}, 4.24835425529158899e-18},
    {F_LOG1PEXP, {-1.0}, 0.313261687518222834},
    {F_LOG1PEXP, {0.0}, 0.693147180559945309},
    {F_LOG1PEXP, {40.0}, 40.0},
    {F_LOG_CHOOSE, {50.0, 20.0}, 31.4839141421893827},
    {F_LOG_CHOOSE, {1000000.0, 3.0}, 39.6547692046622673},
};

static double call(enum fn f, const double *x) {
    switch (f) {
    case F_DIGAMMA: return digamma(x[0]);
    case F_LBETA: return log_beta_fn(x[0], x[1]);
    case F_LGAMMA_MULTI: return log_gamma_multi(x[0], (size_t)x[1]);
    case F_ERFCX: return erfcx(x[0]);
    case F_NORM_LOG_CDF: return norm_log_cdf(x[0]);
    case F_NORM_QUANTILE: return norm_quantile(x[0]);
    case F_BETA_INC: return beta_inc(x[0], x[1], x[2]);
    case F_I0E: return bessel_i0e(x[0]);
    case F_I1E: return bessel_i1e(x[0]);
    case F_LOG1MEXP: return log1mexp(x[0]);
    case F_LOG1PEXP: return log1pexp(x[0]);
    case F_LOG_CHOOSE: return log_choose(x[0], x[1]);
    }
    return NAN;
}

static void values_agree_with_mpmath(void **state) {
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        double got = call(rows[i].f, rows[i].x), want = rows[i].expect;
        double err = fabs(got - want) / fmax(fabs(want), 1e-300);
        if (want == 0) err = fabs(got);
        if (rows[i].f == F_DIGAMMA && fabs(got - want) < 1e-15) err = 0; /* beside its root */
        if (!(err < 2e-13)) {
            print_error("row %zu (function %d at %g, %g, %g): %.17g, expected %.17g\n", i,
                        (int)rows[i].f, rows[i].x[0], rows[i].x[1], rows[i].x[2], got, want);
            fail();
        }
    }
}

static void sums_in_the_log_domain(void **state) {
    double x[] = {-1000, -1000.5, -INFINITY};
    assert_close(logsumexp(x, 3), -1000 + log1p(exp(-0.5)), 1e-15);
    assert_true(logsumexp(x, 0) == -INFINITY);
    assert_true(logsumexp(x + 2, 1) == -INFINITY);
    assert_true(logaddexp(-INFINITY, -INFINITY) == -INFINITY);
    assert_close(logaddexp(-1000, -1001), -1000 + log1p(exp(-1)), 1e-15);
    assert_true(xlogy(0, 0) == 0);
    assert_true(isnan(digamma(-2)));
}

/* The first block for key 0 and counter 0 is Random123's published known answer. */
static void philox_known_answer(void **state) {
    struct rng r;
    rng_init(&r, 0, 0, 0);
    const uint32_t kat[] = {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8};
    for (int i = 0; i < 4; i++) assert_int_equal(rng_u32(&r), kat[i]);
    rng_init(&r, 0xffffffffffffffffULL, 0xffffffff, 0xffffffff);
    r.counter = 0xffffffffffffffffULL;
    assert_int_equal(rng_u32(&r), 0x408f276d);
}

static void seeds_chains_and_streams_differ(void **state) {
    struct rng a, b;
    const struct {
        uint64_t seed;
        uint32_t chain, stream;
    } keys[] = {{1, 0, 0}, {2, 0, 0}, {1, 1, 0}, {1, 0, 1}};
    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        for (size_t j = 0; j < COUNT_OF(keys); j++) {
            rng_init(&a, keys[i].seed, keys[i].chain, keys[i].stream);
            rng_init(&b, keys[j].seed, keys[j].chain, keys[j].stream);
            int same = 0;
            for (int k = 0; k < 16; k++) same += rng_u64(&a) == rng_u64(&b);
            assert_int_equal(same, i == j ? 16 : 0);
        }
    }
    struct rng c = rng_split(&a), d = rng_split(&a);
    assert_true(rng_u64(&c) != rng_u64(&d));
}

static void uniforms_fill_their_cells(void **state) {
    struct rng r;
    rng_init(&r, 7, 0, 0);
    enum { N = 200000, CELLS = 50 };
    double count[CELLS] = {0}, below[7] = {0}, chi2 = 0, chi2_below = 0;
    for (int i = 0; i < N; i++) {
        double u = rng_uniform(&r);
        assert_true(u > 0 && u < 1);
        count[(int)(u * CELLS)]++;
        below[rng_below(&r, 7)]++;
    }
    for (int i = 0; i < CELLS; i++) chi2 += pow(count[i] - N / CELLS, 2) / (N / CELLS);
    for (int i = 0; i < 7; i++) chi2_below += pow(below[i] - N / 7.0, 2) / (N / 7.0);
    assert_p_value(gamma_q((CELLS - 1) / 2.0, chi2 / 2), 7);
    assert_p_value(gamma_q(3, chi2_below / 2), 7);
}

/* The extremes of the word map strictly inside the unit interval. */
static void uniform_ends_are_open(void **state) {
    assert_true(((double)(UINT64_MAX >> 12) + 0.5) * 0x1p-52 < 1);
    assert_true((0.0 + 0.5) * 0x1p-52 > 0);
}

static void normals_have_normal_cells(void **state) {
    struct rng r;
    rng_init(&r, 11, 3, 0);
    enum { N = 200000, CELLS = 40 };
    double count[CELLS] = {0}, expo[CELLS] = {0}, chi2 = 0, chi2_expo = 0;
    for (int i = 0; i < N; i++) {
        count[(int)(norm_cdf(rng_normal(&r)) * CELLS)]++;
        expo[(int)(exp(-rng_exponential(&r)) * CELLS)]++;
    }
    for (int i = 0; i < CELLS; i++) {
        chi2 += pow(count[i] - N / CELLS, 2) / (N / CELLS);
        chi2_expo += pow(expo[i] - N / CELLS, 2) / (N / CELLS);
    }
    assert_p_value(gamma_q((CELLS - 1) / 2.0, chi2 / 2), 11);
    assert_p_value(gamma_q((CELLS - 1) / 2.0, chi2_expo / 2), 11);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_agree_with_mpmath),
        cmocka_unit_test(sums_in_the_log_domain),
        cmocka_unit_test(philox_known_answer),
        cmocka_unit_test(seeds_chains_and_streams_differ),
        cmocka_unit_test(uniforms_fill_their_cells),
        cmocka_unit_test(uniform_ends_are_open),
        cmocka_unit_test(normals_have_normal_cells),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
