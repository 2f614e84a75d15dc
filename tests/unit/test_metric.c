/* SPDX-License-Identifier: Apache-2.0
 *
 * Metrics of Hamiltonian Monte Carlo: what they learn from points of a normal distribution and
 * their gradients, and that velocities and momenta belong together. */
#include "inference/hmc/metric.h"
#include "numeric/la/blas.h"
#include "support/check.h"
#include <math.h>
#include <string.h>

enum { N = 12, POINTS = 40 };

/* S = D (I + 8 u u') D with u of length 1: scales that differ, one long direction. */
static double covariance(size_t i, size_t j) {
    double u = 1 / sqrt(N), d = pow(10, (double)i - 5) * pow(10, (double)j - 5);
    return d * ((i == j ? 1 : 0) + 8 * u * u);
}

/* z = L e and the gradient -S^-1 z. */
static void draw(const double *l, struct rng *rng, double *z, double *g) {
    for (size_t i = 0; i < N; i++) z[i] = rng_normal(rng);
    la_trmv(false, N, l, N, z);
    memcpy(g, z, N * sizeof *g);
    la_trsv(false, N, l, N, g);
    la_trsv(true, N, l, N, g);
    for (size_t i = 0; i < N; i++) g[i] = -g[i];
}

static void factor(double *l) {
    size_t pivot;
    for (size_t j = 0; j < N; j++)
        for (size_t i = 0; i < N; i++) l[i + j * N] = covariance(i, j);
    assert_int_equal(la_potrf(N, l, N, &pivot), GPM_OK);
}

static void teach(struct metric *m, size_t points) {
    double l[N * N], z[N], g[N];
    struct rng rng;
    rng_init(&rng, 4, 1, 1);
    factor(l);
    for (size_t k = 0; k < points; k++) {
        draw(l, &rng, z, g);
        metric_note(m, z, g);
    }
    assert_true(metric_learn(m));
}

/* Largest error of M^-1 as a covariance, in units of the standard deviations. */
static double error_of(const struct metric *m) {
    double worst = 0;
    for (size_t j = 0; j < N; j++) {
        double p[N] = {0}, v[N];
        p[j] = 1;
        metric_velocity(m, p, v);
        for (size_t i = 0; i < N; i++)
            worst = fmax(worst,
                         fabs(v[i] - covariance(i, j)) / sqrt(covariance(i, i) * covariance(j, j)));
    }
    return worst;
}

/* E p p' = M, so E v p' = 1: velocities and momenta of one metric. */
static void momenta_fit(const struct metric *m) {
    enum { DRAWS = 20000 };
    double sum[N * N] = {0}, p[N], v[N];
    struct rng rng;
    rng_init(&rng, 5, 1, 1);
    for (int k = 0; k < DRAWS; k++) {
        metric_momentum(m, &rng, p);
        metric_velocity(m, p, v);
        for (size_t i = 0; i < N; i++) sum[i + i * N] += v[i] * p[i] / DRAWS;
    }
    for (size_t i = 0; i < N; i++) {
        double one = sum[i + i * N];
        assert_true(fabs(one - 1) < 0.1);
    }
}

/* The variance of p'z under the metric, as a share of the true one: the farthest from 1 over
 * directions of all kinds, the long one among them. */
static double worst_share(const struct metric *m) {
    double worst = 1;
    struct rng rng;
    rng_init(&rng, 6, 1, 1);
    for (int k = 0; k < 1000; k++) {
        double p[N], v[N], is = 0, ought = 0;
        for (size_t i = 0; i < N; i++) p[i] = (k ? rng_normal(&rng) : 1) / pow(10, (double)i - 5);
        metric_velocity(m, p, v);
        for (size_t i = 0; i < N; i++) is += v[i] * p[i];
        for (size_t i = 0; i < N; i++)
            for (size_t j = 0; j < N; j++) ought += p[i] * covariance(i, j) * p[j];
        worst = fmax(worst, fmax(is / ought, ought / is));
    }
    return worst;
}

/* Points and gradients of a normal distribution say its covariance, once they span the space; what
 * is wrong by less than a factor of 2 is left to the diagonal. */
static void low_rank_knows_the_long_direction(void **state) {
    (void)state;
    struct metric m;
    metric_init(&m, METRIC_DIAG, N);
    teach(&m, POINTS);
    assert_true(worst_share(&m) > 3); /* what a diagonal cannot know */
    metric_release(&m);
    metric_init(&m, METRIC_LOW_RANK, N);
    momenta_fit(&m);
    teach(&m, POINTS);
    assert_true(m.rank >= 1);
    double share = worst_share(&m);
    if (!(share < 2.01)) fail_msg("low_rank is wrong by a factor of %g", share);
    momenta_fit(&m);
    metric_release(&m);
}

static void dense_is_near(void **state) {
    (void)state;
    struct metric m;
    metric_init(&m, METRIC_DENSE, N);
    teach(&m, 20000);
    double error = error_of(&m);
    if (!(error < 0.05)) fail_msg("dense is wrong by %g", error);
    momenta_fit(&m);
    teach(&m, 6); /* fewer points than numbers */
    momenta_fit(&m);
    metric_release(&m);
}

/* The best diagonal in between those of S and of the inverse of S^-1: scales come out in order. */
static void diag_knows_scales(void **state) {
    (void)state;
    struct metric m;
    metric_init(&m, METRIC_DIAG, N);
    teach(&m, POINTS);
    momenta_fit(&m);
    for (size_t i = 0; i < N; i++) {
        double ratio = m.diag[i] / covariance(i, i);
        assert_true(ratio > 0.2 && ratio < 2);
    }
    metric_release(&m);
}

/* Nothing moved, or too little was seen: what was known stays. */
static void standing_still_teaches_nothing(void **state) {
    (void)state;
    static const enum metric_kind kinds[] = {METRIC_DIAG, METRIC_DENSE, METRIC_LOW_RANK};
    double z[N] = {3}, g[N] = {1}, p[N] = {1}, v[N];
    for (size_t k = 0; k < 3; k++) {
        struct metric m;
        metric_init(&m, kinds[k], N);
        for (int i = 0; i < 30; i++) metric_note(&m, z, g);
        assert_false(metric_learn(&m));
        metric_note(&m, z, g);
        assert_false(metric_learn(&m));
        metric_velocity(&m, p, v);
        for (size_t i = 0; i < N; i++) assert_true(v[i] == p[i]);
        metric_release(&m);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(low_rank_knows_the_long_direction), cmocka_unit_test(dense_is_near),
        cmocka_unit_test(diag_knows_scales), cmocka_unit_test(standing_still_teaches_nothing)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
