/* SPDX-License-Identifier: Apache-2.0
 *
 * The model of a structure: densities and gradients against the numbers of version 0.1, which had a
 * Gaussian process of its own for it (less a prior that it did not have); gradients against central
 * differences; which structures take the fast way; the noise's part, and that of rounding.
 */
#include "numeric/special/rng.h"
#include "apps/discover/rounding.h"
#include "apps/discover/smodel.h"
#include "numeric/la/blas.h"
#include "numeric/special/special.h"
#include "support/check.h"
#include "support/since_01.h"
#include <math.h>
#include <stdio.h>
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
    for (int i = 0; i < n; i++)
        s.t[i] = (struct term){.mask = (uint16_t)t[i][0], .gate = (uint16_t)t[i][1]};
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
    assert_int_equal(smodel_data_init(d, k, x, y, -INFINITY, INFINITY), GPM_OK);
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

/* A gradient after the value is the one that comes with it. */
static int check_late(const struct smodel *m, struct smodel_work *w, const double *z) {
    double g[SMODEL_MAX_PAR], late[SMODEL_MAX_PAR];
    assert_true(isfinite(smodel_eval(m, w, z, g)));
    assert_true(isfinite(smodel_eval(m, w, z, NULL)));
    if (!smodel_late(m, w)) return 0;
    assert_true(smodel_slopes(m, w, z, late));
    for (int i = 0; i < m->d; i++) assert_close(late[i], g[i], 1e-9);
    return 1;
}

static void test_gradients(void **state) {
    struct rng r;
    int late = 0;
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
            late += check_late(&m, w, z);
        }
        smodel_work_free(w);
        smodel_data_release(&d);
    }
    assert_true(late >= 20); /* whatever has a factor */
}

/* Number i of the reference's line: the log density, or a derivative, without that. */
static double without_lasting(const struct smodel *m, const double *z, const double *got, int i) {
    double there[SMODEL_MAX_PAR], h = 1e-5, up;
    if (i == 0) return got[0] - lasting(m, z);
    memcpy(there, z, sizeof there);
    there[i - 1] = z[i - 1] + h;
    up = lasting(m, there);
    there[i - 1] = z[i - 1] - h;
    return got[i] - (up - lasting(m, there)) / (2 * h);
}

/* One line for each kind of data and case: the log density, then its gradient. */
static void test_version_01(void **state) {
    FILE *f = fopen(SOURCE_DIR "/tests/unit/smodel_reference.txt", "r");
    struct rng r;
    rng_init(&r, 4, 0, 0);
    assert_non_null(f);
    for (int kind = 0; kind < 4; kind++) {
        struct smodel_data d;
        data_make(&d, 90, kind);
        struct smodel_work *w = smodel_work_new(&d);
        for (size_t c = 0; c < COUNT_OF(cases); c++) {
            struct structure s = make(kind % 2, cases[c].change, cases[c].n, cases[c].t);
            struct smodel m;
            smodel_init(&m, &d, &s);
            double z[SMODEL_MAX_PAR] = {0}, got[1 + SMODEL_MAX_PAR], want, scale = 1;
            start(&m, z, &r);
            got[0] = smodel_eval(&m, w, z, got + 1);
            assert_close(smodel_eval(&m, w, z, NULL), got[0], 1e-9);
            for (int i = 0; i <= m.d; i++) scale = fmax(scale, fabs(got[i]));
            for (int i = 0; i <= m.d; i++) {
                double then = without_lasting(&m, z, got, i);
                assert_int_equal(fscanf(f, "%lf", &want), 1);
                if (!(fabs(then - want) <= 1e-9 * scale))
                    fail_msg("data %d case %zu number %d: %.17g, was %.17g", kind, c, i, then,
                             want);
            }
        }
        smodel_work_free(w);
        smodel_data_release(&d);
    }
    fclose(f);
}

/* A pattern that acts in a part of the series comes back within it, whichever part it is. */
static void test_returning(void **state) {
    static const unsigned gates[] = {GATE_BEFORE, GATE_AFTER, GATE_INSIDE, GATE_OUTSIDE};
    struct smodel_data d;
    data_make(&d, 60, 0);
    struct smodel_work *w = smodel_work_new(&d);
    for (size_t i = 0; i < COUNT_OF(gates); i++) {
        const unsigned gated[1][2] = {{PER, gates[i]}}, plain[1][2] = {{PER}};
        struct structure s =
            make(0, gates[i] < GATE_INSIDE ? CHANGE_POINT : CHANGE_WINDOW, 1, gated);
        struct structure s0 = make(0, 0, 1, plain);
        struct smodel m, m0;
        smodel_init(&m, &d, &s);
        smodel_init(&m0, &d, &s0);
        double z[SMODEL_MAX_PAR] = {0}, z0[SMODEL_MAX_PAR] = {0}, more[2];
        smodel_prior_draw_hint(&m, z);
        int at = m.term[0].par[SPAR_PERIOD], at0 = m0.term[0].par[SPAR_PERIOD];
        double share = acting(&m, 0, z);
        for (int k = 0; k < 2; k++) { /* five periods, and one and a half */
            z[at] = smodel_unvalue(&m, at, share / (k ? 1.5 : 5));
            z0[at0] = smodel_unvalue(&m0, at0, share / (k ? 1.5 : 5));
            check_gradient(&m, w, z);
            more[k] = smodel_log_prior(&m, z, NULL) - smodel_log_prior(&m0, z0, NULL);
        }
        assert_close(more[1] - more[0], norm_log_cdf(log(0.75) / 0.2), 1e-4);
    }
    smodel_work_free(w);
    smodel_data_release(&d);
}

/* What search calls fast needs no factor. */
static void test_fast(void **state) {
    int fast = 0;
    for (int kind = 0; kind < 4; kind++) {
        struct smodel_data d;
        data_make(&d, 90, kind);
        struct smodel_work *w = smodel_work_new(&d);
        for (size_t c = 0; c < COUNT_OF(cases); c++) {
            struct structure s = make(0, cases[c].change, cases[c].n, cases[c].t);
            struct smodel m;
            struct gp *g;
            smodel_init(&m, &d, &s);
            double z[SMODEL_MAX_PAR] = {0}, grad[SMODEL_MAX_PAR];
            smodel_prior_draw_hint(&m, z);
            assert_int_equal(smodel_condition(&m, w, z, &g), GPM_OK);
            assert_true(isfinite(smodel_eval(&m, w, z, grad)));
            if (m.fast) assert_string_not_equal(gp_method(g), "Cholesky");
            fast += m.fast;
        }
        smodel_work_free(w);
        smodel_data_release(&d);
    }
    assert_int_equal(fast, 11 + 11);
}

/* Noise whose size grows: sigma^2 + floor + s^2 12 (t - c)^2, and no part of the signal. */
static void test_noise(void **state) {
    struct smodel_data d;
    data_make(&d, 40, 0);
    const unsigned t[2][2] = {{LIN | WN}, {SE}};
    struct structure s = make(0, 0, 2, t);
    struct smodel m;
    smodel_init(&m, &d, &s);
    double z[SMODEL_MAX_PAR] = {0}, at[2] = {0.25, 1.5}, var[2], want;
    smodel_prior_draw_hint(&m, z);
    assert_int_equal(smodel_noise_vars(&m, z, at, 2, var), GPM_OK);
    for (int i = 0; i < 2; i++) {
        want = exp(-3.2) + 1e-8 + 12 * exp(-1.4) * (at[i] - 0.5) * (at[i] - 0.5);
        assert_close(var[i], want, 1e-12);
    }
    struct kern *k = smodel_kernel(&m, z, SMODEL_SIGNAL);
    assert_int_equal(kern_eval(k, at, at, 1, &want), GPM_OK);
    assert_close(want, 1 + exp(-1.4), 1e-12);
    kern_unref(k);
    smodel_data_release(&d);
}

/* Every time twice: more values than points of the grid. Version 0.1 wrote beyond its workspace. */
static void test_twins(void **state) {
    double x[60], y[60], value;
    struct rng r;
    struct smodel_data d;
    rng_init(&r, 9, 0, 0);
    for (int i = 0; i < 60; i++) x[i] = i / 2, y[i] = sin(x[i]) + rng_normal(&r);
    assert_int_equal(smodel_data_init(&d, 60, x, y, -INFINITY, INFINITY), GPM_OK);
    assert_true(d.grid && !d.regular && d.ng < d.n);
    struct smodel_work *w = smodel_work_new(&d);
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        struct structure s = make(0, cases[c].change, cases[c].n, cases[c].t);
        struct smodel m;
        smodel_init(&m, &d, &s);
        double z[SMODEL_MAX_PAR] = {0}, grad[SMODEL_MAX_PAR];
        start(&m, z, &r);
        struct kern *k = smodel_kernel(&m, z, SMODEL_ALL);
        struct gp *g = gp_new(1, k, NULL, sqrt(exp(2 * z[0]) + 1e-8), NULL);
        gp_set_apart(g);
        gp_set_ways(g, GP_FACTORS);
        assert_int_equal(gp_add(g, GP_MEASURED, d.t, m.y, 60), GPM_OK);
        assert_int_equal(gp_logml(g, &value), GPM_OK);
        assert_close(smodel_eval(&m, w, z, grad) - smodel_log_prior(&m, z, NULL), value, 1e-9);
        check_gradient(&m, w, z);
        gp_free(g);
        kern_unref(k);
    }
    smodel_work_free(w);
    smodel_data_release(&d);
}

/* A subset keeps span, step and the meaning of parameters: its density is that of the same points
 * given directly, and every chosen point is a point of the whole. */
static void test_subset(void **state) {
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
        double z[SMODEL_MAX_PAR] = {0}, value;
        smodel_prior_draw_hint(&m, z);
        struct kern *k = smodel_kernel(&m, z, SMODEL_ALL);
        struct gp *g = gp_new(1, k, NULL, sqrt(exp(2 * z[0]) + 1e-8), NULL);
        gp_set_ways(g, GP_FACTORS);
        assert_int_equal(gp_add(g, GP_MEASURED, part.t, m.y, 40), GPM_OK);
        assert_int_equal(gp_logml(g, &value), GPM_OK);
        assert_close(smodel_eval(&m, w, z, NULL) - smodel_log_prior(&m, z, NULL), value, 1e-9);
        gp_free(g);
        kern_unref(k);
        smodel_work_free(w);
        smodel_data_release(&part);
        smodel_data_release(&d);
    }
}

static void test_order_of_copies(void **state) {
    struct smodel_data d;
    data_make(&d, 30, 0);
    const unsigned t[2][2] = {{SE, 0}, {SE, 0}};
    struct structure s = make(0, 0, 2, t);
    struct smodel m;
    smodel_init(&m, &d, &s);
    assert_close(m.log_copies, log(2), 1e-15);
    double z[] = {-1, 0.5, 2, 0.7, -2};
    assert_false(smodel_ordered(&m, z));
    smodel_order(&m, z);
    assert_true(smodel_ordered(&m, z));
    assert_close(z[1], 0.7, 1e-15);
    assert_close(z[2], -2, 1e-15);
    smodel_data_release(&d);
}

/* Two regressors, the second one smooth, and a shared prior: the likelihood is that of the matrix
 * with their effects added, written out; gradients are those of differences. */
static void test_regressors(void **state) {
    enum { N = 40 };
    static const struct hyper_priors shared = {
        .at = {{LIN, SPAR_SD, -0.4, 0.3}, {0, SPAR_NOISE, -1, 0.5}}, .n = 2};
    double x[N], z[2 * N];
    struct rng r;
    rng_init(&r, 5, 0, 0);
    for (int i = 0; i < N; i++) {
        x[i] = i;
        z[2 * i] = 3 + 2 * rng_normal(&r);
        z[2 * i + 1] = rng_normal(&r);
    }
    const struct regressors reg = {.n = 2, .smooth = {false, true}, .rows = N, .x = x, .z = z};
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        struct smodel_data d, plain;
        struct structure s = make(0, cases[c].change, cases[c].n, cases[c].t);
        struct smodel m, m0;
        double par[SMODEL_MAX_PAR] = {0}, k[N * N], y[N], ld = 0, q = 0;
        data_make(&plain, N, 0);
        data_make(&d, N, 0);
        d.shared = plain.shared = &shared;
        smodel_data_regressors(&d, &reg);
        smodel_init(&m, &d, &s);
        smodel_init(&m0, &plain, &s);
        assert_false(m.fast);
        start(&m, par, &r);
        struct smodel_work *w = smodel_work_new(&d);
        check_gradient(&m, w, par);
        double value = smodel_eval(&m, w, par, NULL) - smodel_log_prior(&m, par, NULL), noise[N];
        struct kern *kern = smodel_kernel(&m0, par, SMODEL_SIGNAL);
        struct kern_pts p = {.x = plain.t, .n = N, .ld = N, .dim = 1};
        assert_int_equal(kern_cross(kern, p, p, k, N), GPM_OK);
        assert_int_equal(smodel_noise_vars(&m0, par, plain.t, N, noise), GPM_OK);
        for (int i = 0; i < N; i++)
            for (int j = 0; j < N; j++) {
                const double *a = d.points + 3 * i, *b = d.points + 3 * j;
                k[i + N * j] += a[1] * b[1] + a[2] * b[2] +
                                0.25 * exp(-0.5 * (a[2] - b[2]) * (a[2] - b[2])) +
                                (i == j) * noise[i];
            }
        size_t pivot;
        assert_int_equal(la_potrf(N, k, N, &pivot), GPM_OK);
        memcpy(y, plain.y[0], sizeof y);
        la_trsv(false, N, k, N, y);
        for (int i = 0; i < N; i++) ld += log(k[i * (N + 1)]), q += y[i] * y[i];
        assert_close(value, -0.5 * q - ld - 0.5 * N * log(2 * M_PI), 1e-8);
        kern_unref(kern);
        smodel_work_free(w);
        smodel_data_release(&d);
        smodel_data_release(&plain);
    }
}

/* Counts with zeros have a root in the logarithm's place: there and back, and the Jacobian that
 * makes evidences comparable is that of the transform. */
static void check_root(size_t n, const double *x, const double *y, bool counts, double offset) {
    double sum = 0;
    struct smodel_data d, part;
    assert_int_equal(smodel_data_init(&d, n, x, y, -INFINITY, INFINITY), GPM_OK);
    assert_true(smodel_scale(&d) == LINK_ROOT && d.counts == counts && d.y[TRANSFORM_LOG]);
    assert_close(d.link[TRANSFORM_LOG].offset, offset, 1e-15);
    assert_string_equal(link_name(smodel_scale(&d)), "root");
    for (size_t i = 0; i < n; i++) {
        double v = link_to(&d.link[TRANSFORM_LOG], y[i]), h = 1e-5;
        assert_close(v, d.mean[1] + d.sd[1] * d.y[1][i], 1e-12);
        assert_close(link_back(&d.link[TRANSFORM_LOG], v), y[i], 1e-12);
        double slope = (link_to(&d.link[TRANSFORM_LOG], y[i] + h) - v) / h;
        assert_close(link_stretch(&d.link[TRANSFORM_LOG], y[i]), log(slope), 1e-4);
        sum += link_stretch(&d.link[TRANSFORM_LOG], y[i]);
    }
    assert_close(d.log_measure[1], sum - (double)n * log(d.sd[1]), 1e-9);
    assert_true(isinf(link_to(&d.link[TRANSFORM_LOG], -1)));
    assert_close(link_back(&d.link[TRANSFORM_LOG], -2), 0, 0); /* nothing below none */
    assert_int_equal(smodel_data_subset(&d, n - 3, &part), GPM_OK);
    assert_close(part.link[TRANSFORM_LOG].offset, offset, 1e-15);
    smodel_data_release(&part);
    smodel_data_release(&d);
}

static void test_root(void **state) {
    enum { N = 12 };
    double x[N], y[N] = {0, 3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5};
    struct smodel_data d;
    for (int i = 0; i < N; i++) x[i] = i;
    check_root(N, x, y, true, 0.375);
    for (int i = 0; i < N; i++) y[i] *= 2.5; /* amounts */
    check_root(N, x, y, false, 1.25);
    for (int i = 0; i < N; i++) y[i] += 1; /* no zeros: logarithms */
    assert_int_equal(smodel_data_init(&d, N, x, y, -INFINITY, INFINITY), GPM_OK);
    assert_true(smodel_scale(&d) == LINK_LOG && d.y[TRANSFORM_LOG]);
    assert_close(link_to(&d.link[TRANSFORM_LOG], 7), log(7), 0);
    smodel_data_release(&d);
}

/* What rounding leaves of a zero is one, and not 37 nats for logarithms. */
static void test_rounded_zero(void **state) {
    enum { N = 12 };
    double x[N], y[N] = {0.3, 0.2, 0.1 + 0.2 - 0.3, 0.4, 0.1, 0.5, 0.7, 0.1, 0.6, 0.2, 0.9, 0.3};
    struct smodel_data d;
    for (int i = 0; i < N; i++) x[i] = i;
    assert_true(y[2] > 0);
    assert_int_equal(smodel_data_init(&d, N, x, y, -INFINITY, INFINITY), GPM_OK);
    assert_int_equal(smodel_scale(&d), LINK_ROOT);
    assert_close(d.link[TRANSFORM_LOG].offset, 0.05, 1e-12);
    smodel_data_release(&d);
    assert_int_equal(smodel_data_init(&d, N, x, y, -INFINITY, 1), GPM_OK);
    assert_int_equal(smodel_scale(&d), LINK_BELOW);
    smodel_data_release(&d);
    y[2] = 1e-9; /* small, and no zero */
    assert_int_equal(smodel_data_init(&d, N, x, y, -INFINITY, INFINITY), GPM_OK);
    assert_true(smodel_scale(&d) == LINK_LOG && d.y[TRANSFORM_LOG]);
    smodel_data_release(&d);
}

/* Percentages have two ends: log odds in the logarithm's place. */
static void test_odds(void **state) {
    enum { N = 10 };
    double x[N], y[N] = {55, 60, 72, 81, 88, 90, 94, 95, 97.5, 99};
    struct smodel_data d, part;
    for (int i = 0; i < N; i++) x[i] = i;
    assert_int_equal(smodel_data_init(&d, N, x, y, 0, 100), GPM_OK);
    assert_string_equal(link_name(smodel_scale(&d)), "odds");
    for (int i = 0; i < N; i++) {
        double v = link_to(&d.link[TRANSFORM_LOG], y[i]), h = 1e-6;
        double slope = (link_to(&d.link[TRANSFORM_LOG], y[i] + h) - v) / h;
        assert_close(link_back(&d.link[TRANSFORM_LOG], v), y[i], 1e-10);
        assert_close(link_stretch(&d.link[TRANSFORM_LOG], y[i]), log(slope), 1e-4);
        assert_close(link_slope(&d.link[TRANSFORM_LOG], v) * slope, 1, 1e-4);
    }
    assert_true(link_to(&d.link[TRANSFORM_LOG], 100) == INFINITY);
    assert_true(link_back(&d.link[TRANSFORM_LOG], 1000) <= 100);
    assert_int_equal(smodel_data_subset(&d, 6, &part), GPM_OK);
    assert_int_equal(smodel_scale(&part), LINK_ODDS);
    smodel_data_release(&part);
    smodel_data_release(&d);
    y[3] = 104; /* no share of a whole */
    assert_int_equal(smodel_data_init(&d, N, x, y, 0, 100), GPM_OK);
    assert_int_equal(smodel_scale(&d), LINK_LOG);
    smodel_data_release(&d);
}

/* Ends: there and back, slopes, and what values can be, for every scale that ends give. */
static void test_ends(void **state) {
    enum { N = 10 };
    static const struct {
        double low, high;
        enum link_kind scale;
    } kinds[] = {{5, INFINITY, LINK_ABOVE},
                 {-INFINITY, 30, LINK_BELOW},
                 {-2, 40, LINK_ODDS},
                 {0, INFINITY, LINK_LOG},
                 {5.5, 30, LINK_LOG}};
    double x[N], y[N] = {5.5, 6, 9, 11.5, 13, 17, 16, 21, 26, 29};
    struct smodel_data d;
    for (int i = 0; i < N; i++) x[i] = i;
    for (size_t k = 0; k < COUNT_OF(kinds); k++) { /* the last: a value has reached its end */
        double low = kinds[k].low, high = kinds[k].high, h = 1e-6, jacobian = 0;
        assert_int_equal(smodel_data_init(&d, N, x, y, low, high), GPM_OK);
        assert_int_equal(smodel_scale(&d), kinds[k].scale);
        for (int i = 0; i < N; i++) {
            double v = link_to(&d.link[TRANSFORM_LOG], y[i]);
            double slope = (link_to(&d.link[TRANSFORM_LOG], y[i] + h) - v) / h;
            assert_close(link_back(&d.link[TRANSFORM_LOG], v), y[i], 1e-10);
            assert_close(link_stretch(&d.link[TRANSFORM_LOG], y[i]), log(slope), 1e-4);
            if (smodel_scale(&d) != LINK_LOG)
                assert_close(link_slope(&d.link[TRANSFORM_LOG], v) * slope, 1, 1e-4);
            jacobian += link_stretch(&d.link[TRANSFORM_LOG], y[i]);
        }
        assert_close(d.log_measure[1], jacobian - N * log(d.sd[1]), 1e-9);
        assert_true(smodel_possible(&d, -1000) >= low && smodel_possible(&d, 1000) <= high);
        assert_close(smodel_possible(&d, 12), 12, 1e-15);
        smodel_data_release(&d);
    }
}

/* Square roots of positive values: the density is that of the roots as values, the Jacobian apart;
 * means are those of max(v, 0)^2 by quadrature. Values of one sign or of a narrow range have none.
 */
static void test_power(void **state) {
    enum { N = 40 };
    double x[N], y[N], v[N], jacobian = 0;
    struct rng r;
    struct smodel_data d, roots;
    rng_init(&r, 11, 0, 0);
    for (int i = 0; i < N; i++) {
        x[i] = i;
        v[i] = 4 + 0.1 * i + 0.3 * rng_normal(&r);
        y[i] = v[i] * v[i];
        jacobian -= log(2 * v[i]);
    }
    assert_int_equal(smodel_data_init(&d, N, x, y, -INFINITY, INFINITY), GPM_OK);
    assert_int_equal(smodel_data_init(&roots, N, x, v, -INFINITY, INFINITY), GPM_OK);
    assert_close(d.log_measure[TRANSFORM_POWER], roots.log_measure[0] + jacobian, 1e-9);
    for (int i = 0; i < N; i++) {
        assert_close(link_to(&d.link[TRANSFORM_POWER], y[i]), v[i], 1e-12);
        assert_close(link_back(&d.link[TRANSFORM_POWER], v[i]), y[i], 1e-10);
        assert_close(link_stretch(&d.link[TRANSFORM_POWER], y[i]), -log(2 * v[i]), 1e-12);
        assert_close(link_slope(&d.link[TRANSFORM_POWER], v[i]), 2 * v[i], 1e-12);
    }
    struct structure s = make(TRANSFORM_POWER, 0, 2, cases[2].t), plain = make(0, 0, 2, cases[2].t);
    struct smodel m, p;
    struct smodel_work *w = smodel_work_new(&d), *u = smodel_work_new(&roots);
    double z[SMODEL_MAX_PAR] = {0};
    smodel_init(&m, &d, &s);
    smodel_init(&p, &roots, &plain);
    smodel_prior_draw_hint(&m, z);
    assert_close(smodel_eval(&m, w, z, NULL), smodel_eval(&p, u, z, NULL), 1e-9);
    smodel_work_free(w);
    smodel_work_free(u);
    for (double mean = -2; mean <= 3; mean += 0.5) {
        double sum = 0, h = 1e-3, sd = 0.8;
        for (double q = h / 2; q < 9; q += h)
            sum += h * q * q * exp(-0.5 * pow((q - mean) / sd, 2)) / (sd * sqrt(2 * M_PI));
        assert_close(link_mean(&d.link[TRANSFORM_POWER], mean, sd * sd), sum, 1e-6);
    }
    assert_close(link_back(&d.link[TRANSFORM_POWER], -1), 0, 0);
    assert_true(link_stretch(&d.link[TRANSFORM_POWER], 0) == -INFINITY);
    smodel_data_release(&d);
    smodel_data_release(&roots);
    for (int kind = 0; kind < 2; kind++) {
        for (int i = 0; i < N; i++) y[i] = v[i] + (kind ? -5 : 50);
        assert_int_equal(smodel_data_init(&d, N, x, y, -INFINITY, INFINITY), GPM_OK);
        assert_null(d.y[TRANSFORM_POWER]);
        smodel_data_release(&d);
    }
}

/* Few levels, and the ends of ratings. */
static double written(const struct smodel_data *d, double y) {
    struct mixture_written w = smodel_written(d);
    return mixture_as_written(&w, y);
}

static void test_levels(void **state) {
    enum { N = 60 };
    double y[N], a = -1, b = -1;
    for (int i = 0; i < N; i++) y[i] = 1 + (i / 2 * 7) % 5; /* 1..5, each as often */
    assert_close(rounding_levels(N, y), 1, 0);
    assert_true(rounding_rating(N, y, "value", &a, &b) && a == 1 && b == 5);
    assert_close(rounding_levels(10, y), 0, 0); /* ten values tell of no levels */
    y[0] = y[1] = 0; /* counts as well, unless their name speaks of ratings */
    assert_false(rounding_rating(N, y, "value", &a, &b));
    assert_true(rounding_rating(N, y, "mood", &a, &b) && a == 0 && b == 5);
    for (int i = 0; i < N; i++) y[i] = fmin(y[i], 3);
    assert_close(rounding_levels(N, y), 1, 0);
    assert_false(rounding_rating(N, y, "rating", &a, &b)); /* scales end with 5, 7 or 10 */
    for (int i = 0; i < N; i++) y[i] = (i / 2 * 7) % 20;
    assert_close(rounding_levels(N, y), 0, 0);
    for (int i = 0; i < N; i++) y[i] = 0.5 * ((i / 2 * 7) % 9);
    assert_close(rounding_levels(N, y), 0.5, 1e-12);
    for (int i = 0; i < N; i++) y[i] = i / 2 % 30 == 0 ? 5 : (i / 2) % 3 + 1; /* 5 is rare */
    y[7] = y[8] = 4;
    assert_false(rounding_rating(N, y, "accidents", &a, &b));
    assert_true(rounding_rating(N, y, "Pain today", &a, &b) && a == 1 && b == 5);
    struct smodel_data d = {.low = 1, .high = 5, .level_y = 1};
    assert_true(written(&d, 3.4) == 3 && written(&d, 3.6) == 4);
    assert_true(written(&d, 0.2) == 1 && written(&d, 7.9) == 5);
    d = (struct smodel_data){.low = -INFINITY, .high = INFINITY, .level_y = 0.1};
    assert_true(written(&d, 0.31) == 0.3 && written(&d, -0.68) == -0.7);
    d.level_y = 0.05;
    assert_true(written(&d, 1.14) == 1.15 && written(&d, 0.34) == 0.35);
    d.level_y = 20;
    assert_true(written(&d, 69) == 60 && written(&d, 1e9 + 3) == 1e9);
    assert_true(smodel_possible(&d, 3.4) == 3.4);
}

/* Values in steps: which ones, and noise that is at least theirs. */
static void test_rounding(void **state) {
    enum { N = 60 };
    double y[N], x[N], z[SMODEL_MAX_PAR] = {0};
    for (int i = 0; i < N; i++) x[i] = i, y[i] = i;
    assert_true(rounding_step(N, y) == 0); /* a line of whole numbers */
    for (int i = 0; i < N; i++) y[i] = (i / 4) * 0.25;
    assert_close(rounding_step(N, y), 0.05, 1e-12); /* of 1, 2 and 5 the one that has quarters */
    for (int i = 0; i < N; i++) y[i] = 1e6 + (i / 3) % 7;
    assert_close(rounding_step(N, y), 1, 1e-12);
    for (int i = 0; i < N; i++) y[i] = i < 30 ? 100 : 200;
    assert_close(rounding_step(N, y), 20, 1e-12); /* two levels say little of steps */
    for (int i = 0; i < N; i++) y[i] = 3;
    assert_true(rounding_step(N, y) == 0);
    for (int i = 0; i < N; i++) y[i] = sin(i);
    assert_true(rounding_step(N, y) == 0);

    struct rng r;
    rng_init(&r, 9, 0, 0);
    for (int i = 0; i < N; i++) y[i] = floor(5 + 0.05 * i + 0.5 * rng_normal(&r));
    for (size_t c = 0; c < COUNT_OF(cases); c++)
        for (int tr = 0; tr < 2; tr++) {
            struct structure s = make(tr, cases[c].change, cases[c].n, cases[c].t);
            struct smodel_data d, plain;
            struct smodel m, m0;
            assert_int_equal(smodel_data_init(&d, N, x, y, -INFINITY, INFINITY), GPM_OK);
            assert_int_equal(smodel_data_init(&plain, N, x, y, -INFINITY, INFINITY), GPM_OK);
            smodel_data_rounded(&d, 1);
            smodel_init(&m, &d, &s);
            smodel_init(&m0, &plain, &s);
            start(&m, z, &r);
            struct smodel_work *w = smodel_work_new(&d), *w0 = smodel_work_new(&plain);
            check_gradient(&m, w, z);
            double noise = smodel_value(&m, 0, z[0]), sd = d.sd[tr];
            if (!tr) assert_close(noise * noise, exp(2 * z[0]) + 1 / (12 * sd * sd), 1e-12);
            assert_close(smodel_unvalue(&m, 0, noise), z[0], 1e-9);
            double l = smodel_eval(&m, w, z, NULL) - smodel_log_prior(&m, z, NULL);
            z[0] = log(noise);
            double l0 = smodel_eval(&m0, w0, z, NULL) - smodel_log_prior(&m0, z, NULL);
            assert_close(l, l0, 1e-9);
            smodel_work_free(w);
            smodel_work_free(w0);
            smodel_data_release(&d);
            smodel_data_release(&plain);
        }
}

/* A part holds values as they are, and has the scales of the whole: a structure of one can be
 * evaluated on the other. Kinds: rain, whose zeros must not become -1e-15; capped values, of whose
 * zeros a part may have none; hardly ever anything, of which a part may be constant. */
static void test_subset_scales(void **state) {
    enum { N = 90, PART = 12 };
    double x[N], y[N];
    struct rng r;
    rng_init(&r, 4, 0, 0);
    for (int i = 0; i < N; i++) x[i] = i;
    for (int kind = 0; kind < 3; kind++)
        for (int rep = 0; rep < 20; rep++) {
            struct smodel_data d, part;
            for (int i = 0; i < N; i++) y[i] = fmax(0, 50 + 47.3 * rng_normal(&r));
            for (int i = 0; i < N && kind == 1; i++) y[i] = i == 5 + rep ? 0 : 0.1 + fmin(y[i], 90);
            for (int i = 0; i < N && kind == 2; i++) y[i] = i == 5 + rep ? 7.5 : 0;
            assert_int_equal(smodel_data_init(&d, N, x, y, -INFINITY, kind == 1 ? 90.1 : INFINITY),
                             GPM_OK);
            assert_int_equal(smodel_data_subset(&d, PART, &part), GPM_OK);
            for (size_t i = 0; i < part.n; i++)
                assert_true(part.values[i] == y[(int)floor(part.t[i] * (N - 1) + 0.5)]);
            for (int tr = 0; tr < TRANSFORMS; tr++) {
                assert_int_equal(part.y[tr] != NULL, d.y[tr] != NULL);
                for (size_t i = 0; i < part.n && d.y[tr]; i++) assert_true(isfinite(part.y[tr][i]));
            }
            smodel_data_release(&part);
            smodel_data_release(&d);
        }
}

/* After a switch what acted at the end is over: a function that returns to its level is there, and
 * a walk stays where it is; what had ended begins anew, as wide as its prior. */
static void test_other(void **state) {
    static const struct {
        unsigned mask, gate;
    } ends[] = {{MAT, GATE_AFTER}, {W, GATE_AFTER}, {MAT, GATE_BEFORE}};
    enum { N = 60 };
    double x[N], y[N], at = 1.1;
    struct smodel_data d;
    for (int i = 0; i < N; i++) x[i] = i, y[i] = (i >= 30 ? 5 : 0) + 0.1 * (i % 3);
    assert_int_equal(smodel_data_init(&d, N, x, y, -INFINITY, INFINITY), GPM_OK);
    struct smodel_work *w = smodel_work_new(&d);
    for (size_t k = 0; k < COUNT_OF(ends); k++) {
        const unsigned t[][2] = {{ends[k].mask, ends[k].gate}};
        struct structure s = make(0, CHANGE_POINT, 1, t);
        struct smodel m;
        struct gp *g;
        double z[SMODEL_MAX_PAR] = {0}, mean[2], var[2], sd;
        smodel_init(&m, &d, &s);
        z[0] = -3;
        if (m.term[0].par[SPAR_L] >= 0) z[m.term[0].par[SPAR_L]] = 1;
        z[m.tau] = smodel_unvalue(&m, m.tau, 0.5);
        sd = smodel_value(&m, m.term[0].par[SPAR_SD], z[m.term[0].par[SPAR_SD]]);
        assert_int_equal(smodel_condition(&m, w, z, &g), GPM_OK);
        assert_int_equal(smodel_part(&m, z, g, SMODEL_SIGNAL, &at, 1, &mean[0], &var[0]), GPM_OK);
        assert_int_equal(smodel_other(&m, z, g, &at, 1, &mean[1], &var[1]), GPM_OK);
        if (k == 0) assert_true(mean[0] > 0.5 && mean[1] < -0.5 && var[1] < 0.1);
        if (k == 1) assert_true(mean[0] > 0.5 && fabs(mean[1] - mean[0]) < 1e-9);
        if (k == 1) assert_true(fabs(var[1] - var[0]) < 1e-9);
        if (k == 2) assert_true(fabs(mean[1] - mean[0]) < 0.01 && var[1] > var[0] + 0.99 * sd * sd);
    }
    smodel_work_free(w);
    smodel_data_release(&d);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_other),
                                       cmocka_unit_test(test_gradients),
                                       cmocka_unit_test(test_ends),
                                       cmocka_unit_test(test_version_01),
                                       cmocka_unit_test(test_returning),
                                       cmocka_unit_test(test_fast),
                                       cmocka_unit_test(test_noise),
                                       cmocka_unit_test(test_twins),
                                       cmocka_unit_test(test_subset),
                                       cmocka_unit_test(test_subset_scales),
                                       cmocka_unit_test(test_order_of_copies),
                                       cmocka_unit_test(test_root),
                                       cmocka_unit_test(test_odds),
                                       cmocka_unit_test(test_rounded_zero),
                                       cmocka_unit_test(test_regressors),
                                       cmocka_unit_test(test_power),
                                       cmocka_unit_test(test_rounding),
                                       cmocka_unit_test(test_levels)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
