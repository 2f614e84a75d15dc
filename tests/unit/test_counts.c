/* SPDX-License-Identifier: Apache-2.0
 *
 * Few counts: the density of a structure's parameters against central differences and against an
 * integral over the rate; the posterior by normal values in the counts' place against the mode.
 */
#include "apps/discover/smodel.h"
#include "gp/way/gp_laplace.h"
#include "numeric/special/special.h"
#include "support/check.h"
#include <math.h>
#include <string.h>

static double by_hand(double rate, double size, double k) {
    double q = rate / (rate + size);
    return exp(lgamma(k + size) - lgamma(size) - lgamma(k + 1) + k * log(q) + size * log1p(-q));
}

enum { N = 40 };

static void few(struct smodel_data *d) {
    static const double y[N] = {0, 1, 0, 2, 1, 0, 0, 3, 1, 2, 0, 0, 1, 4, 2, 0, 0, 1, 3, 5,
                                2, 0, 1, 1, 6, 3, 0, 2, 1, 4, 7, 2, 1, 0, 3, 5, 9, 4, 2, 1};
    double x[N];
    for (int i = 0; i < N; i++) x[i] = 2000 + i;
    assert_int_equal(smodel_data_init(d, N, x, y, -INFINITY, INFINITY), GPM_OK);
    assert_true(smodel_few_counts(d));
    smodel_data_rates(d);
    assert_int_equal(smodel_scale(d), LINK_RATE);
    for (int i = 0; i < N; i++) assert_close(d->values[i], y[i], 0);
}

static struct structure of(unsigned a, unsigned b) {
    struct structure s;
    memset(&s, 0, sizeof s);
    s.transform = TRANSFORM_LOG;
    s.n = (uint8_t)((a != 0) + (b != 0));
    s.t[0].mask = (uint16_t)a;
    s.t[1].mask = (uint16_t)b;
    structure_canonical(&s);
    return s;
}

static unsigned named(const char *name) {
    return FACTOR_BIT(factor_find(name, strlen(name)));
}

static void test_gradient(void **state) {
    struct smodel_data d;
    few(&d);
    const struct structure s[] = {of(0, 0), of(named("LIN"), 0), of(named("LIN"), named("PER")),
                                  of(named("SE"), named("WIENER"))};
    struct smodel_work *w = smodel_work_new(&d);
    for (size_t c = 0; c < COUNT_OF(s); c++) {
        struct smodel m;
        double z[SMODEL_MAX_PAR], grad[SMODEL_MAX_PAR], h = 1e-5;
        smodel_init(&m, &d, &s[c]);
        smodel_prior_draw_hint(&m, z);
        double at = smodel_eval(&m, w, z, grad);
        assert_true(isfinite(at));
        assert_close(smodel_eval(&m, w, z, NULL), at, 1e-10);
        for (int i = 0; i < m.d; i++) {
            double keep = z[i], up, down;
            z[i] = keep + h;
            up = smodel_eval(&m, w, z, NULL);
            z[i] = keep - h;
            down = smodel_eval(&m, w, z, NULL);
            z[i] = keep;
            assert_close(grad[i], (up - down) / (2 * h), 2e-4);
        }
    }
    smodel_work_free(w);
    smodel_data_release(&d);
}

/* Without terms the rate is one number: its density is an integral that a sum can do. */
static void test_evidence(void **state) {
    struct smodel_data d;
    few(&d);
    struct structure s = of(0, 0);
    struct smodel m;
    smodel_init(&m, &d, &s);
    double z[SMODEL_MAX_PAR], sum = 0, step = 0.002;
    smodel_prior_draw_hint(&m, z);
    double size = smodel_count_size(&m, z);
    assert_close(size, 1 / pow(exp(z[0]) * d.sd[0] / d.mean[0], 2), 1e-9);
    for (double u = -4; u < 4; u += step) { /* the constant of the structure is N(0, 1) */
        double l = -0.5 * u * u - 0.5 * log(2 * M_PI);
        double rate = exp(d.mean[1] + d.sd[1] * u);
        for (int i = 0; i < N; i++) l += log(by_hand(rate, size, d.values[i]));
        sum += exp(l + 80) * step;
    }
    struct smodel_work *w = smodel_work_new(&d);
    double got = smodel_eval(&m, w, z, NULL) - smodel_log_prior(&m, z, NULL);
    assert_close(got, log(sum) - 80, 0.02); /* Laplace's error with 40 values */
    smodel_work_free(w);
    smodel_data_release(&d);
}

/* The function at the data: the mode, and the covariance L B^-1 L' there. */
static void test_in_their_place(void **state) {
    struct smodel_data d;
    few(&d);
    struct structure s = of(named("LIN"), named("PER"));
    struct smodel m;
    smodel_init(&m, &d, &s);
    double z[SMODEL_MAX_PAR], mean[N], var[N], f[N], *cov = mem_try_doubles(N * N);
    struct gp *g;
    smodel_prior_draw_hint(&m, z);
    struct smodel_work *w = smodel_work_new(&d);
    assert_int_equal(smodel_condition(&m, w, z, &g), GPM_OK);
    assert_int_equal(smodel_part(&m, z, g, SMODEL_SIGNAL, d.t, N, mean, var), GPM_OK);
    assert_int_equal(gp_laplace_predict(w->rate, d.t, N, f, cov), GPM_OK);
    for (int i = 0; i < N; i++) {
        assert_close(d.mean[1] + d.sd[1] * mean[i], f[i], 1e-5);
        assert_close(d.sd[1] * d.sd[1] * var[i], cov[i * (N + 1)], 1e-4);
    }
    mem_free(cov);
    smodel_work_free(w);
    smodel_data_release(&d);
}

/* The likelihood alone factors no B = 1 + L'WL, which is filled in O(n^3); where a gradient asks
 * for it, it has the determinant that was counted, and the mode is one: L'g = u. */
static void test_two_ways(void **state) {
    struct smodel_data d;
    few(&d);
    struct structure s = of(named("LIN"), named("PER"));
    struct smodel m;
    smodel_init(&m, &d, &s);
    double z[SMODEL_MAX_PAR], grad[SMODEL_MAX_PAR], up[N];
    smodel_prior_draw_hint(&m, z);
    struct smodel_work *w = smodel_work_new(&d);
    double value = smodel_eval(&m, w, z, NULL);
    const struct laplace_model *l = &w->rate->model;
    assert_true(l->solved && !l->curved && !l->b.n && l->c.n == N);
    double counted = chol_logdet(&l->c);
    assert_close(smodel_eval(&m, w, z, grad), value, 1e-12);
    assert_true(l->curved && l->b.n == N);
    assert_close(chol_logdet(&l->b), counted, 1e-10);
    for (int i = 0; i < N; i++) up[i] = l->at[i].slope;
    gp_white_times(&l->white, true, up);
    for (int i = 0; i < N; i++) assert_close(up[i], l->u[i], 1e-7);
    smodel_work_free(w);
    smodel_data_release(&d);
}

/* Wherever the density is a number, so is its gradient: no sampler stops far out in the prior. */
static void test_far_out(void **state) {
    static const char *const likelihoods[] = {"bernoulli", "poisson"};
    enum { M = 120 };
    int numbers = 0, none = 0;
    for (int c = 0; c < 2 * 60; c++) {
        struct gp_laplace g = {.dim = 1};
        char text[120], *why = NULL;
        double sf = pow(10, c / 2 * 0.2), logml, dkern[8], none_of[2];
        snprintf(text, sizeof text, "4 + LIN(sf=%g) + SE(sf=%g, l=0.3)", sf, sf / 3);
        assert_int_equal(kern_parse(text, &g.model.kern, &why), GPM_OK);
        g.model.likelihood = gp_likelihood_find(likelihoods[c % 2]);
        for (int i = 0; i < M; i++) {
            double x = (i - M / 2) / 30.0;
            vec_push(&g.x, x);
            vec_push(&g.pairs, ((struct laplace_pair){.y = x + 0.7 * sin(9 * i) > 0}));
        }
        assert_int_equal(gp_laplace_logml(&g, &logml), GPM_OK);
        if (isfinite(logml)) {
            numbers++;
            assert_int_equal(gp_laplace_gradient(&g, dkern, NULL, none_of), GPM_OK);
            for (size_t i = 0; i < kern_nparam(g.model.kern); i++) assert_true(isfinite(dkern[i]));
        } else
            none++;
        gp_laplace_release(&g);
    }
    assert_true(numbers > 50 && none > 10);
}

/* Many values that are known exactly weigh much, and are no reason to give up. */
static void test_many_exact(void **state) {
    struct gp_laplace g = {.dim = 1};
    char *why = NULL;
    double logml, dkern[4], none_of[2];
    assert_int_equal(kern_parse("MAT12(sf=1.5, l=0.2)", &g.model.kern, &why), GPM_OK);
    g.model.likelihood = gp_likelihood_find("bernoulli");
    for (int i = 0; i < 520; i++) {
        vec_push(&g.x, i / 10.0);
        vec_push(&g.pairs, ((struct laplace_pair){.y = i % 13 ? sin(i) : 1, .exact = i % 13}));
    }
    assert_int_equal(gp_laplace_logml(&g, &logml), GPM_OK);
    assert_true(isfinite(logml));
    assert_int_equal(gp_laplace_gradient(&g, dkern, NULL, none_of), GPM_OK);
    gp_laplace_release(&g);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gradient),       cmocka_unit_test(test_evidence),
        cmocka_unit_test(test_in_their_place), cmocka_unit_test(test_two_ways),
        cmocka_unit_test(test_far_out),        cmocka_unit_test(test_many_exact)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
