/* SPDX-License-Identifier: Apache-2.0
 *
 * The model of a structure: gradients against central differences, the Toeplitz path against the
 * dense one, cross-covariances against the likelihood's matrix.
 */
#include "la/blas.h"
#include "math/rng.h"
#include "discover/smodel_priv.h"
#include "support/check.h"
#include <math.h>
#include <string.h>

enum {
    LIN = 1,
    SE = 2,
    PER = 4,
    IW = 8,
    MAT = 16,
    RAMP = 32,
    RQ = 64,
    STEP = 128,
    W = 256,
    WN = 512
};

static struct structure make(int transform, int change, int n, const unsigned (*t)[2]) {
    struct structure s;
    memset(&s, 0, sizeof s);
    s.transform = (uint8_t)transform;
    s.change = (uint8_t)change;
    s.n = (uint8_t)n;
    for (int i = 0; i < n; i++) s.t[i] = (struct term){(uint16_t)t[i][0], (uint16_t)t[i][1]};
    structure_canonical(&s);
    return s;
}

static const struct {
    int change, n;
    unsigned t[4][2];
} cases[] = {
    {0, 0, {{0}}},
    {0, 1, {{LIN}}},
    {0, 2, {{LIN}, {SE}}},
    {0, 3, {{LIN}, {SE | PER}, {PER}}},
    {0, 2, {{SE}, {SE}}},
    {0, 2, {{LIN | SE}, {LIN | PER}}},
    {0, 2, {{LIN | SE | PER}, {LIN | WN}}},
    {0, 3, {{W}, {IW}, {PER}}},
    {0, 3, {{W}, {LIN}, {SE | PER}}},
    {0, 3, {{IW}, {SE}, {RAMP}}},
    {0, 4, {{W}, {IW}, {LIN}, {PER}}},
    {0, 3, {{RAMP}, {STEP}, {MAT}}},
    {0, 2, {{RQ | PER}, {RQ}}},
    {1, 3, {{LIN, GATE_BEFORE}, {SE, GATE_AFTER}, {PER}}},
    {2, 3, {{LIN | PER, GATE_INSIDE}, {W, GATE_OUTSIDE}, {IW, GATE_INSIDE}}},
};

/* 0: a grid; 1: with gaps; 2: irregular; 3: a quarter of a grid's points, one of them twice;
 * 4: a grid of which every point is there three times, so that it is shorter than the data. */
static void data_make(struct smodel_data *d, size_t n, int kind) {
    double x[200], y[200];
    struct rng r;
    rng_init(&r, 7, 0, 0);
    size_t k = 0;
    for (size_t i = 0; i < n; i++) {
        if (kind == 1 && (i == 5 || i == 6 || i == 20)) continue; /* gaps */
        x[k] = kind == 2 ? (double)i + 0.8 * rng_uniform(&r) : (double)i;
        if (kind == 4) x[k] = (double)(i / 3);
        if (kind == 3) x[k] = i == 30 ? x[k - 1] : 4 * x[k] - floor(3.5 * rng_uniform(&r));
        y[k] = 10 + 0.02 * x[k] + sin(x[k] * 0.5) + 0.3 * rng_normal(&r);
        k++;
    }
    assert_int_equal(smodel_data_init(d, k, x, y), GPM_OK);
    assert_int_equal(d->grid, kind != 2);
    assert_int_equal(d->regular, kind < 2);
}

static void start(const struct smodel *m, double *z, struct rng *r) {
    smodel_prior_draw_hint(m, z);
    for (int i = 0; i < m->d; i++) z[i] += 0.3 * rng_normal(r);
}

static void check_gradient(const struct smodel *m, struct smodel_work *w, const double *z0) {
    double z[SMODEL_MAX_PAR], g[SMODEL_MAX_PAR];
    memcpy(z, z0, sizeof z);
    double f = smodel_eval(m, w, z, g);
    assert_true(isfinite(f));
    for (int i = 0; i < m->d; i++) {
        /* a ramp's kink passes over data points: a tiny step stays between them */
        double h = 1e-6, a, b;
        z[i] = z0[i] + h;
        a = smodel_eval(m, w, z, NULL);
        z[i] = z0[i] - h;
        b = smodel_eval(m, w, z, NULL);
        z[i] = z0[i];
        double fd = (a - b) / (2 * h);
        if (fabs(fd - g[i]) > 1e-4 * (1 + fabs(fd)))
            fail_msg("parameter %d kind %d: gradient %.9g difference %.9g", i, m->par[i].kind, g[i],
                     fd);
    }
}

static void test_gradients(void **state) {
    UNUSED(state);
    struct rng r;
    rng_init(&r, 3, 0, 0);
    for (int kind = 0; kind < 5; kind++) {
        struct smodel_data d;
        data_make(&d, 60, kind);
        struct smodel_work *w = smodel_work_new(&d);
        for (size_t c = 0; c < COUNT_OF(cases); c++) {
            struct structure s = make(0, cases[c].change, cases[c].n, cases[c].t);
            struct smodel m;
            smodel_init(&m, &d, &s);
            double z[SMODEL_MAX_PAR] = {0};
            start(&m, z, &r);
            check_gradient(&m, w, z);
        }
        smodel_work_free(w);
        smodel_data_release(&d);
    }
}

static void test_toeplitz_equals_dense(void **state) {
    UNUSED(state);
    struct rng r;
    rng_init(&r, 4, 0, 0);
    int fast = 0;
    for (int kind = 0; kind < 2; kind++) {
        struct smodel_data d;
        data_make(&d, 90, kind);
        struct smodel_work *w = smodel_work_new(&d);
        for (size_t c = 0; c < COUNT_OF(cases); c++) {
            struct structure s = make(1, cases[c].change, cases[c].n, cases[c].t);
            struct smodel m, slow;
            smodel_init(&m, &d, &s);
            slow = m;
            slow.toeplitz = false;
            double z[SMODEL_MAX_PAR] = {0}, g[SMODEL_MAX_PAR], h[SMODEL_MAX_PAR];
            start(&m, z, &r);
            bool ok = false;
            if (m.toeplitz) smodel_toeplitz(&m, w, z, NULL, &ok);
            fast += ok;
            double a = smodel_eval(&m, w, z, g), b = smodel_eval(&slow, w, z, h);
            assert_close(a, b, 1e-8);
            for (int i = 0; i < m.d; i++)
                if (fabs(g[i] - h[i]) > 1e-6 * (1 + fabs(h[i])))
                    fail_msg("case %zu par %d: %g %g", c, i, g[i], h[i]);
        }
        smodel_work_free(w);
        smodel_data_release(&d);
    }
    assert_int_equal(fast, 11 + 11);
}

/* The matrix by smodel_cross, its Gaussian density by a plain Cholesky. */
static void check_cross(int kind) {
    struct rng r;
    rng_init(&r, 5, 0, 0);
    struct smodel_data d;
    data_make(&d, 40, kind);
    struct smodel_work *w = smodel_work_new(&d);
    double *k = NEW_ARRAY(double, d.n *d.n), *v = NEW_ARRAY(double, d.n);
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        struct structure s = make(0, cases[c].change, cases[c].n, cases[c].t);
        struct smodel m;
        smodel_init(&m, &d, &s);
        double z[SMODEL_MAX_PAR] = {0}, ld = 0;
        size_t pivot;
        start(&m, z, &r);
        smodel_cross(&m, z, -1, d.t, d.n, d.t, d.n, k, d.n);
        for (size_t i = 0; i < d.n; i++) k[i + i * d.n] += smodel_noise_var(&m, z, d.t[i]);
        assert_int_equal(la_potrf(d.n, k, d.n, &pivot), GPM_OK);
        memcpy(v, m.y, d.n * sizeof *v);
        la_trsv(false, d.n, k, d.n, v);
        for (size_t i = 0; i < d.n; i++) ld += log(k[i + i * d.n]);
        double want = -0.5 * la_dot(d.n, v, v) - ld - 0.5 * (double)d.n * log(2 * M_PI);
        assert_close(smodel_eval(&m, w, z, NULL) - smodel_log_prior(&m, z, NULL), want, 1e-9);
    }
    mem_free(k);
    mem_free(v);
    smodel_work_free(w);
    smodel_data_release(&d);
}

static void test_cross_matches_likelihood(void **state) {
    UNUSED(state);
    check_cross(2);
    check_cross(4);
}

/* A subset keeps span, step and the meaning of parameters: its density is that of the same points
 * given directly, and every chosen point is a point of the whole. */
static void test_subset(void **state) {
    UNUSED(state);
    for (int kind = 0; kind < 3; kind += 2) {
        struct smodel_data d, part;
        data_make(&d, 120, kind);
        assert_int_equal(smodel_data_subset(&d, 40, &part), GPM_OK);
        assert_int_equal(part.n, 40);
        assert_int_equal(part.grid, d.grid);
        assert_close(part.dt, d.dt, 1e-15);
        assert_close(part.t[0], 0, 0);
        assert_close(part.t[39], 1, 1e-12);
        struct smodel_work *w = smodel_work_new(&part);
        const unsigned t[2][2] = {{SE | PER, 0}, {W, 0}};
        struct structure s = make(0, 0, 2, t);
        struct smodel m;
        smodel_init(&m, &part, &s);
        double z[SMODEL_MAX_PAR] = {0}, *k = NEW_ARRAY(double, 1600), v[40], ld = 0;
        size_t pivot;
        smodel_prior_draw_hint(&m, z);
        smodel_cross(&m, z, -1, part.t, 40, part.t, 40, k, 40);
        for (size_t i = 0; i < 40; i++) k[i + i * 40] += smodel_noise_var(&m, z, part.t[i]);
        assert_int_equal(la_potrf(40, k, 40, &pivot), GPM_OK);
        memcpy(v, m.y, sizeof v);
        la_trsv(false, 40, k, 40, v);
        for (size_t i = 0; i < 40; i++) ld += log(k[i + i * 40]);
        assert_close(smodel_eval(&m, w, z, NULL) - smodel_log_prior(&m, z, NULL),
                     -0.5 * la_dot(40, v, v) - ld - 20 * log(2 * M_PI), 1e-9);
        mem_free(k);
        smodel_work_free(w);
        smodel_data_release(&part);
        smodel_data_release(&d);
    }
}

static void test_order_of_copies(void **state) {
    UNUSED(state);
    struct smodel_data d;
    data_make(&d, 30, 0);
    const unsigned t[2][2] = {{SE, 0}, {SE, 0}};
    struct structure s = make(0, 0, 2, t);
    struct smodel m;
    smodel_init(&m, &d, &s);
    assert_close(m.log_copies, log(2), 1e-15);
    double z[] = {-1, 0.5, 2, 0.7, -2};
    assert_false(smodel_ordered(&m, z));
    assert_true(smodel_order(&m, z));
    assert_true(smodel_ordered(&m, z));
    assert_close(z[1], 0.7, 1e-15);
    assert_close(z[2], -2, 1e-15);
    smodel_data_release(&d);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gradients), cmocka_unit_test(test_toeplitz_equals_dense),
        cmocka_unit_test(test_cross_matches_likelihood), cmocka_unit_test(test_order_of_copies),
        cmocka_unit_test(test_subset)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
