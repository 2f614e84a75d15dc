/* SPDX-License-Identifier: Apache-2.0
 *
 * Gaussian processes by filters: every row that has a state-space form, sums, products, weights and
 * change operators against the dense factor.
 */
#include "support/check.h"
#include "support/kernel_text.h"
#include "support/filtered.h"

#include "gp/process/gp_int.h"
#include "gp/kernel/kern_tree.h"

static const char *const kernels[] = {
    "C(sf=1.3)+MAT12(sf=0.8, l=0.7)",
    "MAT12(sf=0.8, l=0.7)",
    "MAT32(sf=1.1, l=0.6)",
    "MAT52(sf=1.1, l=0.9)",
    "WIENER(sf=0.8, x0=0)",
    "IWIENER(sf=0.8, x0=-0.5)",
    "IOU(sf=0.8, l=0.7, x0=0.1)",
    "WIENER(sf=0.8, x0=2)",
    "IOU(sf=0.8, l=0.7, x0=2)",
    "PER(sf=1, p=1.1, l=1)",
    "ZPER(sf=1, p=1.1, l=0.8)",
    "COS(sf=1, p=0.9)",
    "LIN(sf=0.5, c=0.2)+RAMP(sf=1, tau=3)+STEP(sf=0.6, tau=5, s=0.1)+MAT12(sf=0.5, l=1)",
    "LIN(sf=0.5)+WIENER(sf=0.5)+PER(sf=1, p=1, l=1.2)+C(sf=2)",
    "LIN(sf=0.5, c=1)+MAT32(sf=0.7, l=0.5)+PER(sf=1, p=1, l=1.2)",
    "IWIENER(sf=0.1)+WIENER(sf=0.5)+IOU(sf=1, l=0.5)+MAT12(sf=0.5, l=0.1)",
    "MAT32(sf=1, l=2)*PER(sf=1, p=1, l=1.5)",
    "MAT12(sf=1, l=2)*MAT52(sf=1, l=3)",
    "MAT32(sf=1, l=2)*COS(sf=1, p=0.7)",
    "PER(sf=1, p=1, l=2)*COS(sf=1, p=0.7)",
    "COS(sf=1, p=1)*COS(sf=0.8, p=1)",
    "WIENER(sf=0.7, x0=0)*MAT32(sf=1, l=1)",
    "WIENER(sf=0.7, x0=0)*COS(sf=1, p=1)",
    "LIN(sf=0.5, c=1)*MAT32(sf=1, l=1)",
    "LIN(sf=0.5, c=1)*PER(sf=1, p=1, l=1.5)",
    "RAMP(sf=0.5, tau=2)*MAT12(sf=1, l=1)",
    "CP(MAT32(sf=1, l=1), PER(sf=1, p=1, l=1.5), tau=4, s=0.2)",
    "CW(MAT12(sf=1, l=1), LIN(sf=1), tau1=2, tau2=5, s=0.2)+C(sf=1)",
    "(LIN(sf=0.3, c=0.2) + C(sf=0.4)) * (MAT32(sf=1, l=0.5) + WN(sigma=0.2))",
    "MAT32(sf=1, l=1)+LIN(sf=0.1, c=1)*WN(sigma=0.4)+WN(sigma=0.1)",
    "MAT32(sf=1, l=1)*WN(sigma=0.4)+2*MAT12(sf=1, l=0.5)",
    "0.25*gp_cov_periodic(l2=2, T=1.3)*gp_cov_linear(origin=0.4)+gp_cov_matern_32(l2=0.6)",
    /* periods of 7, 6 and 12 steps of the grid */
    "PER(sf=1, p=0.14, l=0.8)+MAT12(sf=1, l=1)",
    "LIN(sf=0.5, c=1)*ZPER(sf=1, p=0.12, l=0.9)+WIENER(sf=0.5)",
    "ZPER(sf=1, p=0.24, l=1.5)*MAT12(sf=1, l=2)+C(sf=1)",
};

static void check_against_dense(const char *text, enum layout how) {
    size_t n = 620;
    double *x = NEW_ARRAY(double, n), *y = NEW_ARRAY(double, n), a, b, ga[32], gb[32], na, nb;
    uint64_t seed = 5;
    fill(n, how, &seed, x, y);
    struct gp *f = process(text, 0.2, n, x, y), *d = process(text, 0.2, n, x, y);
    gp_set_ways(d, GP_FACTORS);
    assert_int_equal(gp_logml(f, &a), GPM_OK);
    assert_int_equal(gp_logml(d, &b), GPM_OK);
    if (!by_states(f) || fabs(a - b) > 1e-8 * fmax(1, fabs(b)))
        print_error("%s, %d: %.12g by %s, %.12g by %s\n", text, (int)how, a, gp_method(f), b,
                    gp_method(d));
    assert_true(by_states(f));
    assert_close(a, b, 1e-8);
    gp_forget(f);
    gp_forget(d);
    assert_int_equal(gp_logml_grad(f, &a, ga, &na), GPM_OK);
    assert_int_equal(gp_logml_grad(d, &b, gb, &nb), GPM_OK);
    assert_true(by_states(f));
    assert_close(a, b, 1e-8);
    for (size_t p = 0; p < kern_nparam(gp_kern(f)); p++) {
        if (kern_param_at(gp_kern(f), p)->transform == KERN_T_FIXED) continue;
        if (fabs(ga[p] - gb[p]) > 1e-6 * fmax(1, fabs(gb[p])))
            print_error("%s, %d: parameter %zu: %.12g, dense %.12g\n", text, (int)how, p, ga[p],
                        gb[p]);
        assert_close(ga[p], gb[p], 1e-6);
    }
    assert_close(na, nb, 1e-6);
    gp_free(f);
    gp_free(d);
    mem_free(x);
    mem_free(y);
}

static void every_form(void **state) {
    for (size_t i = 0; i < COUNT_OF(kernels); i++)
        for (int how = GRID; how <= SCATTERED; how++)
            check_against_dense(kernels[i], (enum layout)how);
}

/* Which filter takes a grid with 15 or 20 missing values: Chandrasekhar's where there are many
 * states, the Kalman filter elsewhere; of a kernel without a form the Toeplitz matrix. The guard
 * looks at the first events whatever is missing there. */
static void gaps_of_a_grid(void **state) {
    static const struct {
        const char *kernel, *filter;
        double noise;
    } at[] = {
        {"MAT12(sf=1, l=2)*PER(sf=1, p=1.1, l=1.5)", "Chandrasekhar", 0.2},
        {"MAT12(sf=0.8, l=0.7)+WIENER(sf=0.5)", "Kalman", 0.2},
        {"SE(sf=1, l=0.7)+LIN(sf=1)", "Toeplitz", 0.2},
        {"PER(sf=1000, p=1.1, l=0.8)+MAT52(sf=1000, l=1000)", "Kalman", 0.01},
    };
    for (size_t i = 0; i < COUNT_OF(at); i++)
        for (size_t first = 0; first < 2; first++) {
            size_t n = 2400;
            double *x = NEW_ARRAY(double, n), *y = NEW_ARRAY(double, n), a, b;
            uint64_t seed = 6;
            fill(n, GRID, &seed, x, y);
            for (size_t k = 0; k < n; k++) /* singly; or most of them together at the beginning */
                x[k] += 0.02 * (double)(first ? (k > 2) * 20 : k / 160);
            struct gp *g = any_process(at[i].kernel, at[i].noise, n, x, y),
                      *d = process(at[i].kernel, at[i].noise, n, x, y);
            gp_set_ways(d, GP_FACTORS);
            assert_int_equal(gp_logml(g, &a), GPM_OK);
            assert_int_equal(gp_logml(d, &b), GPM_OK);
            const char *method =
                by_states(g) ? gp_current(g)->kept.run->filter->name : gp_method(g);
            if (!strstr(method, at[i].filter)) fail_msg("%s: by %s", at[i].kernel, method);
            if (at[i].noise > 0.1) assert_close(a, b, 1e-8);
            gp_free(g);
            gp_free(d);
            mem_free(x);
            mem_free(y);
        }
}

/* Lines on further columns of the inputs are regressors beside the states of the first one:
 * likelihood, slopes, predictions, parts and covariances against the dense factor. Points at a
 * measured time have other columns, or the same. */
static const char *const several[] = {
    "MAT32(sf=1, l=1, dims=[0])+LIN(sf=0.7, c=0.2, dims=[1])+LIN(sf=1, dims=[2])",
    "C(sf=1)+LIN(sf=0.5, c=1, dims=[0])+ZPER(sf=1, p=1, l=0.8, dims=[0])+WIENER(sf=0.5, "
    "dims=[0])+LIN(sf=1, dims=[1])",
    "IOU(sf=0.8, l=0.7, dims=[0])+LIN(sf=1, c=0.3, dims=[1])*LIN(sf=0.6, c=1, dims=[2])",
    "MAT12(sf=1, l=2, dims=[0])+LIN(sf=1, dims=[1])*LIN(sf=0.6, c=1, dims=[0])+"
    "LIN(sf=0.1, c=1, dims=[0])*WN(sigma=0.4)",
};

static void check_several(const char *text, enum layout how) {
    enum { N = 620, M = 40, D = 3 };
    double t[N], y[N], x[N * D], at[M * D], a, b, ga[32], gb[32], na, nb;
    double m1[M], m2[M], v1[M], v2[M], c1[M * M], c2[M * M];
    uint64_t seed = 21;
    fill(N, how, &seed, t, y);
    for (size_t i = 0; i < N; i++) {
        double row[D] = {t[i], normal(&seed), i % 7 == 3};
        memcpy(x + i * D, row, sizeof row);
        y[i] += 0.8 * row[1] - 0.5 * row[2];
    }
    for (size_t i = 0; i < M; i++) {
        double row[D] = {i < 20 ? t[i * 31] : 0.21 * (double)i, normal(&seed), i % 2};
        memcpy(at + i * D, i % 3 == 0 && i < 20 ? x + i * 31 * D : row, sizeof row);
    }
    struct kern *k = kernel_of(text);
    struct gp *g[2];
    for (int i = 0; i < 2; i++) {
        g[i] = gp_new(D, k, NULL, 0.2, NULL);
        assert_non_null(g[i]);
        assert_int_equal(gp_add(g[i], GP_MEASURED, x, y, N), GPM_OK);
    }
    gp_set_filtered(g[0], 100); /* on a grid Toeplitz matrices are faster for so few */
    gp_set_ways(g[1], GP_FACTORS);
    assert_int_equal(gp_logml_grad(g[0], &a, ga, &na), GPM_OK);
    assert_int_equal(gp_logml_grad(g[1], &b, gb, &nb), GPM_OK);
    if (!by_states(g[0])) print_error("%s, %d: by %s\n", text, (int)how, gp_method(g[0]));
    assert_true(by_states(g[0]) && !by_states(g[1]));
    assert_close(a, b, 1e-8);
    assert_close(na, nb, 1e-6);
    for (size_t p = 0; p < kern_nparam(k); p++)
        if (kern_param_at(k, p)->transform != KERN_T_FIXED) assert_close(ga[p], gb[p], 1e-6);
    assert_int_equal(gp_predict(g[0], at, M, GP_MEASURED, m1, v1), GPM_OK);
    assert_int_equal(gp_predict(g[1], at, M, GP_MEASURED, m2, v2), GPM_OK);
    for (size_t i = 0; i < M; i++) {
        assert_close(m1[i], m2[i], 1e-7);
        assert_close(v1[i], v2[i], 1e-7);
    }
    for (size_t q = 0; q < k->nkids; q++) {
        assert_int_equal(gp_component(g[0], k->kid[q], at, M, m1, v1), GPM_OK);
        assert_int_equal(gp_component(g[1], k->kid[q], at, M, m2, v2), GPM_OK);
        for (size_t i = 0; i < M; i++) {
            assert_close(m1[i], m2[i], 1e-7);
            assert_close(v1[i], v2[i], 1e-7);
        }
        if (strstr(text, "WN") && q + 1 == k->nkids) continue; /* a filter has no such covariance */
        assert_int_equal(gp_component_cov(g[0], k->kid[q], at, M, m1, c1, M), GPM_OK);
        assert_int_equal(gp_component_cov(g[1], k->kid[q], at, M, m2, c2, M), GPM_OK);
        for (size_t i = 0; i < M; i++) {
            assert_close(m1[i], m2[i], 1e-7);
            for (size_t j = 0; j <= i; j++) assert_close(c1[i + j * M], c2[i + j * M], 1e-7);
        }
    }
    assert_true(by_states(g[0]));
    gp_free(g[0]);
    gp_free(g[1]);
    kern_unref(k);
}

static void further_columns(void **state) {
    for (size_t i = 0; i < COUNT_OF(several); i++)
        for (int how = GRID; how <= SCATTERED; how++) check_several(several[i], (enum layout)how);
}

/* A smooth function of another column, a product of a state with a line on it, a kernel of all
 * columns, a time twice: there the filter does not serve, and the answer is the dense one. */
static void columns_without_form(void **state) {
    static const char *const none[] = {
        "MAT32(sf=1, l=1, dims=[0])+SE(sf=0.7, l=1, dims=[1])",
        "MAT32(sf=1, l=1, dims=[0])+MAT32(sf=0.7, l=1, dims=[1])",
        "MAT32(sf=1, l=1, dims=[0])*LIN(sf=1, dims=[1])",
        "MAT32(sf=1, l=1)+LIN(sf=1, dims=[1])",
        "MAT32(sf=1, l=1, dims=[0])+LIN(sf=1, dims=[1])",
    };
    enum { N = 400 };
    double x[N * 2], y[N], t[N], value;
    uint64_t seed = 3;
    fill(N, GRID, &seed, t, y);
    for (size_t q = 0; q < COUNT_OF(none); q++) {
        bool twice = q + 1 == COUNT_OF(none);
        for (size_t i = 0; i < N; i++)
            x[2 * i] = twice && i == 7 ? t[6] : t[i], x[2 * i + 1] = normal(&seed);
        struct kern *k = kernel_of(none[q]);
        struct gp *g = gp_new(2, k, NULL, 0.2, NULL);
        assert_int_equal(gp_add(g, GP_MEASURED, x, y, N), GPM_OK);
        assert_int_equal(gp_logml(g, &value), GPM_OK);
        assert_false(by_states(g));
        gp_free(g);
        kern_unref(k);
    }
}

/* Times to predict at: between the data, before and after them, some of the data's own. */
static size_t ask(size_t n, const double *x, double *at) {
    size_t m = 0;
    for (size_t i = 0; i < n; i += 41) at[m++] = x[i];
    for (int i = 0; i < 25; i++) at[m++] = -1.3 + 0.77 * i;
    return m;
}

/* Mean and variance, of the whole and of parts, and the joint covariance. */
static void check_posterior(const char *text, enum layout how) {
    enum { N = 620, M = 60 };
    double x[N], y[N], at[M], m1[M], m2[M], v1[M], v2[M], c1[M * M], c2[M * M];
    uint64_t seed = 9;
    fill(N, how, &seed, x, y);
    size_t m = ask(N, x, at);
    struct gp *f = process(text, 0.2, N, x, y), *d = process(text, 0.2, N, x, y);
    gp_set_ways(d, GP_FACTORS);
    assert_int_equal(gp_predict(f, at, m, GP_MEASURED, m1, v1), GPM_OK);
    assert_int_equal(gp_predict(d, at, m, GP_MEASURED, m2, v2), GPM_OK);
    for (size_t i = 0; i < m; i++) {
        if (fabs(m1[i] - m2[i]) > 1e-8 || fabs(v1[i] - v2[i]) > 1e-8 * fmax(1, v2[i]))
            print_error("%s, %d: at %g mean %.12g %.12g, variance %.12g %.12g\n", text, (int)how,
                        at[i], m1[i], m2[i], v1[i], v2[i]);
        assert_close(m1[i], m2[i], 1e-8);
        assert_close(v1[i], v2[i], 1e-8);
    }
    bool white = strstr(text, "WN"); /* points with their own noise have no joint one by a filter */
    if (white) gp_set_ways(f, GP_FACTORS);
    assert_int_equal(gp_predict_cov(f, at, m, GP_LATENT, m1, c1, M), GPM_OK);
    gp_set_ways(f, GP_FILTERS);
    assert_int_equal(gp_predict_cov(d, at, m, GP_LATENT, m2, c2, M), GPM_OK);
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < m; j++) assert_close(c1[i + j * M], c2[i + j * M], 1e-8);
    for (size_t k = 0; k < kern_nparts(gp_kern(f), KERN_SUM); k++) {
        const struct kern *part = kern_part(gp_kern(f), KERN_SUM, k);
        assert_int_equal(gp_component(f, part, at, m, m1, v1), GPM_OK);
        assert_int_equal(gp_component(d, part, at, m, m2, v2), GPM_OK);
        for (size_t i = 0; i < m; i++) {
            assert_close(m1[i], m2[i], 1e-8);
            assert_close(v1[i], v2[i], 1e-8);
        }
    }
    assert_false(gp_current(f)->have_factor);
    gp_free(f);
    gp_free(d);
}

static void posteriors(void **state) {
    for (size_t i = 0; i < COUNT_OF(kernels); i++)
        check_posterior(kernels[i], i % 2 ? SCATTERED : i % 3 ? GRID : GAPS);
}

/* Appending equals starting again, and does not start again. */
static void check_appending(const char *text, enum layout how) {
    enum { N = 700, FIRST = 620 };
    double x[N], y[N], a, b;
    uint64_t seed = 3;
    fill(N, how, &seed, x, y);
    struct gp *f = process(text, 0.2, FIRST, x, y);
    assert_int_equal(gp_logml(f, &a), GPM_OK);
    assert_true(by_states(f));
    for (size_t i = FIRST; i < N; i += i % 3 + 1) {
        size_t more = i + i % 3 + 1 < N ? i % 3 + 1 : N - i;
        assert_int_equal(gp_add(f, GP_MEASURED, x + i, y + i, more), GPM_OK);
        assert_int_equal(gp_logml(f, &a), GPM_OK);
        if (how != GAPS) assert_int_equal(gp_current(f)->kept.n, i + more);
    }
    struct gp *g = process(text, 0.2, N, x, y);
    assert_int_equal(gp_logml(g, &b), GPM_OK);
    assert_close(a, b, 1e-9);
    double at = x[300] + 0.001, value = 1; /* and in the middle */
    assert_int_equal(gp_add(f, GP_MEASURED, &at, &value, 1), GPM_OK);
    assert_int_equal(gp_add(g, GP_MEASURED, &at, &value, 1), GPM_OK);
    gp_set_ways(g, GP_FACTORS);
    assert_int_equal(gp_logml(f, &a), GPM_OK);
    assert_int_equal(gp_logml(g, &b), GPM_OK);
    assert_close(a, b, 1e-8);
    assert_int_equal(gp_remove(f, GP_MEASURED, &at, value), GPM_OK);
    assert_int_equal(gp_remove(g, GP_MEASURED, &at, value), GPM_OK);
    assert_int_equal(gp_logml(f, &a), GPM_OK);
    assert_int_equal(gp_logml(g, &b), GPM_OK);
    assert_close(a, b, 1e-8);
    gp_free(f);
    gp_free(g);
}

static void appending(void **state) {
    for (int how = GRID; how <= SCATTERED; how++) {
        check_appending("LIN(sf=0.5, c=1)+MAT32(sf=0.7, l=0.5)+PER(sf=1, p=1, l=1.2)",
                        (enum layout)how);
        check_appending("WIENER(sf=0.5, x0=0)+C(sf=1)+WN(sigma=0.1)", (enum layout)how);
        check_appending("CP(MAT12(sf=1, l=1), IOU(sf=1, l=1), tau=12, s=1)", (enum layout)how);
    }
}

/* A week of days is seven values, however sharp it is; also with days that are missing. Points that
 * follow on the grid and points between it. */
static void whole_periods(void **state) {
    enum { N = 720, FIRST = 700 };
    static const char text[] = "ZPER(sf=1, p=0.14, l=0.2)+LIN(sf=0.3)+MAT12(sf=1, l=1)";
    double x[N], y[N], a, b;
    for (int how = GRID; how <= GAPS; how++)
        for (int off = 0; off < 2; off++) {
            uint64_t seed = 4;
            fill(N, (enum layout)how, &seed, x, y);
            x[N - 1] += off * 0.007;
            struct gp *f = process(text, 0.2, FIRST, x, y), *d = process(text, 0.2, N, x, y);
            gp_set_ways(d, GP_FACTORS);
            assert_int_equal(gp_logml(f, &a), GPM_OK);
            assert_string_equal(gp_method(f), "state space (9 states)");
            assert_int_equal(gp_add(f, GP_MEASURED, x + FIRST, y + FIRST, N - FIRST), GPM_OK);
            assert_int_equal(gp_logml(f, &a), GPM_OK);
            assert_int_equal(gp_logml(d, &b), GPM_OK);
            assert_true(by_states(f));
            assert_close(a, b, 1e-8);
            double at = x[N - 1] + 0.013, m1, m2, v1, v2;
            assert_int_equal(gp_predict(f, &at, 1, GP_MEASURED, &m1, &v1), GPM_OK);
            assert_int_equal(gp_predict(d, &at, 1, GP_MEASURED, &m2, &v2), GPM_OK);
            assert_close(m1, m2, 1e-8);
            assert_close(v1, v2, 1e-8);
            gp_free(f);
            gp_free(d);
        }
}

/* Many new pairs at once, with data and without, measured and of the function itself. */
static void conditional(void **state) {
    enum { N = 700, FIRST = 100 };
    double x[N], y[N], a, b;
    uint64_t seed = 13;
    fill(N, SCATTERED, &seed, x, y);
    static const char text[] = "LIN(sf=0.5)+MAT12(sf=0.7, l=0.5)+COS(sf=1, p=1)";
    for (int known = 0; known < 2; known++)
        for (int target = GP_LATENT; target <= GP_MEASURED; target++) {
            struct gp *g = process(text, 0.2, known ? FIRST : 0, x, y), *d;
            d = process(text, 0.2, known ? FIRST : 0, x, y);
            gp_set_ways(d, GP_FACTORS);
            enum gp_target t = (enum gp_target)target;
            assert_int_equal(gp_conditional(g, t, x + FIRST, y + FIRST, N - FIRST, &a), GPM_OK);
            assert_int_equal(gp_conditional(d, t, x + FIRST, y + FIRST, N - FIRST, &b), GPM_OK);
            assert_close(a, b, 1e-8);
            assert_false(gp_current(g)->have_factor);
            gp_free(g);
            gp_free(d);
        }
}

/* ---- low noise: long double is the judge ---- */

enum form { MAT12, MAT32, MAT52, PERIODIC, WALK, DRIFT, DAMPED, LINE, CONSTANT };
struct part {
    enum form form;
    double sf, a, b; /* length or period; shape or origin */
};

static long double part_value(const struct part *p, long double x, long double y) {
    long double d = fabsl(x - y), m = fminl(x, y), l = p->a, r = sqrtl(3) * d / l,
                u = sqrtl(5) * d / l;
    long double s = sinl((long double)M_PIl * d / l), v = p->sf;
    v *= v;
    switch (p->form) {
    case MAT12: return v * expl(-d / l);
    case MAT32: return v * (1 + r) * expl(-r);
    case MAT52: return v * (1 + u + u * u / 3) * expl(-u);
    case PERIODIC: return v * expl(-2 * s * s / ((long double)p->b * p->b));
    case WALK: return v * m;
    case DRIFT: return v * (m * m * m / 3 + d * m * m / 2);
    case DAMPED: return v * l * l * (2 * m / l - 1 + expl(-x / l) + expl(-y / l) - expl(-d / l));
    case LINE: return v * (x - p->a) * (y - p->a);
    default: return v;
    }
}

static void part_text(const struct part *p, char *out, size_t room) {
    static const char *const name[] = {
        "MAT12(sf=%g, l=%g)",     "MAT32(sf=%g, l=%g)", "MAT52(sf=%g, l=%g)",
        "PER(sf=%g, p=%g, l=%g)", "WIENER(sf=%g)",      "IWIENER(sf=%g)",
        "IOU(sf=%g, l=%g)",       "LIN(sf=%g, c=%g)",   "C(sf=%g)"};
    snprintf(out, room, name[p->form], p->sf, p->a, p->b);
}

static long double judge(const struct part *part, size_t parts, double variance, size_t n,
                         const double *x, const double *y) {
    long double *l = malloc(n * n * sizeof *l), *w = malloc(n * sizeof *w), sum = 0;
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j <= i; j++) {
            long double z = i == j ? variance : 0;
            for (size_t p = 0; p < parts; p++) z += part_value(&part[p], x[i], x[j]);
            for (size_t k = 0; k < j; k++) z -= l[i * n + k] * l[j * n + k];
            if (i == j) assert_true(z > 0);
            l[i * n + j] = i == j ? sqrtl(z) : z / l[j * n + j];
        }
        w[i] = y[i];
        for (size_t k = 0; k < i; k++) w[i] -= l[i * n + k] * w[k];
        w[i] /= l[i * n + i];
        sum += w[i] * w[i] + 2 * logl(l[i * n + i]);
    }
    free(l);
    free(w);
    return -(sum + (long double)n * logl(2 * (long double)M_PIl)) / 2;
}

/* Data of the model: a draw of it, so that the likelihood is of the usual size. */
static void draw_data(const struct gp *from, size_t n, const double *x, uint64_t *seed, double *y) {
    struct kern *k = kern_ref(gp_kern(from));
    struct gp *g = gp_new(1, k, NULL, gp_noise(from), NULL);
    double *z = NEW_ARRAY(double, n);
    for (size_t i = 0; i < n; i++) z[i] = normal(seed);
    assert_int_equal(gp_sample(g, x, n, GP_MEASURED, z, y), GPM_OK);
    mem_free(z);
    gp_free(g);
    kern_unref(k);
}

struct low {
    struct part part[3];
    size_t parts;
    double variance;
    bool breaks;  /* Chandrasekhar's filter loses digits */
    double wrong; /* and is off by this much at least */
};

/* What Chandrasekhar's filter says when nobody asks whether it may, and whether it may. */
static double unguarded(struct gp *g, bool *may) {
    struct gp_series e;
    struct st_run r;
    bool ok;
    const char *why;
    assert_true(gp_series_model(g, gp_current(g), true, 0, ST_STATES_MAX, &e, &why) && e.grid);
    assert_int_equal(gp_series_fill(g, gp_current(g), &e), GPM_OK);
    assert_int_equal(st_run_guard(&e.m, &e.x, may), GPM_OK);
    assert_int_equal(st_run_init(&r, &e.m, &e.x, ST_GRID), GPM_OK);
    assert_int_equal(st_run_value(&r, NULL, &ok), GPM_OK);
    st_run_release(&r);
    gp_series_release(&e);
    return ok ? r.logml : INFINITY;
}

static void check_low(const struct low *c, enum layout how) {
    enum { MOST = 302 };
    bool many = c->part[c->parts - 1].form == PERIODIC; /* states: a short series has no filter */
    size_t n = how == GRID || many ? MOST : 150;        /* long double is slow */
    double x[MOST], y[MOST], a, b;
    char text[300] = "", one[100];
    uint64_t seed = 17;
    fill(n, how, &seed, x, y);
    for (size_t i = 0; i < c->parts; i++) {
        part_text(&c->part[i], one, sizeof one);
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s", i ? " + " : "", one);
    }
    struct gp *f = process(text, sqrt(c->variance), n, x, y);
    draw_data(f, n, x, &seed, y);
    gp_free(f);
    f = process(text, sqrt(c->variance), n, x, y);
    struct gp *d = process(text, sqrt(c->variance), n, x, y);
    gp_set_ways(d, GP_FACTORS);
    double noise = sqrt(c->variance),
           truth = (double)judge(c->part, c->parts, noise * noise, n, x, y);
    assert_int_equal(gp_logml(f, &a), GPM_OK);
    bool dense = gp_logml(d, &b) == GPM_OK;
    double off = fabs(a - truth), theirs = dense ? fabs(b - truth) : INFINITY;
    bool kalman = by_states(f) && gp_current(f)->kept.run->filter == &st_kalman, may = true;
    double alone = how == GRID ? fabs(unguarded(f, &may) - truth) : INFINITY;
    if (!(alone > c->wrong)) print_error("%s: off by %g without the guard\n", text, alone);
    assert_true(c->wrong == 0 || alone > c->wrong);
    print_message("%-70s %8g %d: %.6f, off %.2g (%s%s), dense %.2g\n", text, c->variance, (int)how,
                  truth, off, gp_method(f), kalman ? ", Kalman" : "", theirs);
    assert_true(off <= fmax(1e-8 * fmax(1, fabs(truth)), theirs));
    if (how == GRID) assert_true(may != c->breaks);
    gp_free(f);
    gp_free(d);
}

static void low_noise(void **state) {
    static const struct low cases[] = {
        {{{MAT32, 1, 1, 0}}, 1, 1e-2, false, 0},
        {{{MAT32, 1, 1, 0}}, 1, 1e-6, false, 0},
        {{{MAT32, 1, 1, 0}}, 1, 1e-10, false, 0},
        {{{MAT32, 1, 1e3, 0}}, 1, 1e-6, true, 0},
        {{{MAT32, 1, 1e3, 0}}, 1, 1e-10, true, 0},
        {{{MAT52, 1, 1, 0}}, 1, 1e-6, true, 0},
        {{{MAT52, 1, 1, 0}}, 1, 1e-10, true, 0},
        {{{MAT52, 1e3, 1e4, 0}}, 1, 1e-6, true, 10},
        {{{MAT12, 1, 1, 0}}, 1, 1e-10, false, 0},
        {{{PERIODIC, 1, 1, 1}}, 1, 1e-2, false, 0},
        {{{PERIODIC, 1, 1, 1}}, 1, 1e-6, true, 0},
        {{{MAT12, 0.3, 1, 0}, {PERIODIC, 1, 1, 1}}, 2, 1e-6, false, 0},
        {{{WALK, 0.01, 0, 0}, {PERIODIC, 1e3, 1, 1}}, 2, 1e-4, true, 0},
        {{{WALK, 1, 0, 0}}, 1, 1e-6, false, 0},
        {{{DRIFT, 1, 0, 0}}, 1, 1e-6, false, 0},
        {{{DAMPED, 1, 1e3, 0}}, 1, 1e-4, false, 0},
        {{{DAMPED, 1, 1, 0}}, 1, 1e-8, false, 0},
        {{{CONSTANT, 1e3, 0, 0}, {MAT32, 1, 1, 0}}, 2, 1e-6, false, 0},
        {{{LINE, 1e3, -1e3, 0}, {MAT32, 1, 1, 0}}, 2, 1e-2, false, 0},
        {{{LINE, 1, 0, 0}, {MAT32, 1, 1, 0}, {PERIODIC, 1, 1, 1}}, 3, 1e-2, false, 0},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        check_low(&cases[i], GRID);
        check_low(&cases[i], SCATTERED);
    }
}

/* ---- joint draws ---- */

/* More points than are drawn from a matrix: means, variances and a covariance of many draws are
 * those of the dense posterior. */
static void draws(void **state) {
    enum { N = 300, M = 520, DRAWS = 250, LOOK = 6 };
    static const char *const text[] = {
        "LIN(sf=0.5, c=1)+MAT32(sf=0.7, l=0.5)+COS(sf=1, p=1)",
        "IOU(sf=1, l=1)+C(sf=1)+WN(sigma=0.3)",
        "CP(MAT12(sf=1, l=1), LIN(sf=1)*MAT32(sf=0.3, l=1), tau=3, s=0.5)"};
    static const size_t look[LOOK] = {0, 1, 77, 260, 500, M - 1};
    double x[N], y[N], at[M], z[M], f[M], sum[LOOK], cross[LOOK][LOOK], mean[LOOK],
        cov[LOOK * LOOK], ask[LOOK];
    uint64_t seed = 21;
    fill(N, SCATTERED, &seed, x, y);
    for (size_t i = 0; i < M; i++) at[i] = -0.5 + 0.0141 * (double)i;
    for (size_t i = 0; i < LOOK; i++) ask[i] = at[look[i]];
    for (size_t k = 0; k < 2 * COUNT_OF(text); k++) { /* of the posterior, then of the prior */
        const char *kernel = text[k % COUNT_OF(text)];
        size_t n = k < COUNT_OF(text) ? N : 0;
        struct gp *g = process(kernel, 0.2, n, x, y), *d = process(kernel, 0.2, n, x, y);
        gp_set_ways(d, GP_FACTORS);
        assert_int_equal(gp_predict_cov(d, ask, LOOK, GP_LATENT, mean, cov, LOOK), GPM_OK);
        memset(sum, 0, sizeof sum);
        memset(cross, 0, sizeof cross);
        for (int r = 0; r < DRAWS; r++) {
            for (size_t i = 0; i < M; i++) z[i] = normal(&seed);
            assert_int_equal(gp_sample(g, at, M, GP_LATENT, z, f), GPM_OK);
            for (size_t i = 0; i < LOOK; i++) {
                double e = f[look[i]] - mean[i];
                sum[i] += e;
                for (size_t j = 0; j < LOOK; j++) cross[i][j] += e * (f[look[j]] - mean[j]);
            }
        }
        assert_false(gp_current(g)->have_factor);
        for (size_t i = 0; i < LOOK; i++) {
            double v = cov[i * (LOOK + 1)];
            assert_true(fabs(sum[i] / DRAWS) < 4.5 * sqrt(v / DRAWS));
            for (size_t j = 0; j < LOOK; j++) { /* var of e_i e_j = v_i v_j + c^2 */
                double c = cov[i + j * LOOK], sd = sqrt((v * cov[j * (LOOK + 1)] + c * c) / DRAWS);
                assert_true(fabs(cross[i][j] / DRAWS - c) < 5 * sd);
            }
        }
        gp_free(g);
        gp_free(d);
    }
}

/* ---- which way is taken ---- */

static void chosen(void **state) {
    static const struct {
        const char *kernel;
        double noise;
        bool states;
    } cases[] = {{"LIN(sf=1)+WIENER(sf=1)", 0.3, true},
                 {"LIN(sf=1)+MAT32(sf=1, l=1)+PER(sf=1, p=1, l=1)", 0.3, true},
                 {"CP(MAT12(sf=1, l=1), LIN(sf=1)*MAT32(sf=0.3, l=1), tau=3, s=0.5)", 0.3, true},
                 {"LIN(sf=1)*WN(sigma=0.1)+IOU(sf=1, l=1)", 0.3, true},
                 {"SE(sf=1, l=1)", 0.3, true},
                 {"SE(sf=1, l=1)*PER(sf=1, p=1, l=1.5)+WIENER(sf=1)", 0.3, true},
                 {"SE(sf=100, l=1)", 0.3, false}, /* the noise is too small for its form */
                 {"RQ(sf=1, l=1, alpha=1)", 0.3, false}};
    size_t n = 8200;
    double *x = NEW_ARRAY(double, n), *y = NEW_ARRAY(double, n), a;
    uint64_t seed = 2;
    fill(n, SCATTERED, &seed, x, y);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct gp *g = any_process(cases[i].kernel, cases[i].noise, n, x, y);
        assert_int_equal(gp_logml(g, &a), GPM_OK);
        assert_true(by_states(g) == cases[i].states);
        bool se = strstr(cases[i].kernel, "SE(") && cases[i].states;
        assert_true(!strstr(gp_method(g), "SE by order 8") == !se);
        assert_true(!cases[i].states || (gp_approx_error(g) > 0) == se);
        gp_free(g);
    }
    /* below GP_EXACT_MAX nobody uses SE's form */
    struct gp *g = any_process("SE(sf=1, l=1)", 0.3, 1000, x, y);
    assert_int_equal(gp_logml(g, &a), GPM_OK);
    assert_string_equal(gp_method(g), "Cholesky");
    gp_free(g);
    mem_free(x);
    mem_free(y);
}

/* SE by its form is as near to the exact value as it says. */
static void smooth_form(void **state) {
    enum { N = 900 };
    double x[N], y[N], noise[N], exact, sd = 0.1;
    uint64_t seed = 8;
    fill(N, SCATTERED, &seed, x, y);
    for (size_t i = 0; i < N; i++) noise[i] = sd * sd;
    struct gp *g = process("SE(sf=1, l=0.3)+C(sf=1)", sd, N, x, y);
    assert_int_equal(gp_logml(g, &exact), GPM_OK);
    struct st_model m;
    struct st_run r;
    struct st_series s = {.n = N, .x = x, .y = y, .noise = noise};
    bool ok;
    struct st_scope scope = {x[0], x[N - 1], sd * sd, N, ST_STATES_MAX, 0};
    assert_true(st_model_init(&m, gp_kern(g), &scope));
    assert_int_equal(st_run_init(&r, &m, &s, ST_STEPS), GPM_OK);
    assert_int_equal(st_run_value(&r, NULL, &ok), GPM_OK);
    assert_true(ok);
    double bound = gp_form_error(&r, sd * sd);
    print_message("SE by order 8: %.9g, exact %.9g, bound %.2g\n", r.logml, exact, bound);
    assert_true(fabs(r.logml - exact) < bound);
    assert_true(bound < 1);
    st_run_release(&r);
    st_model_release(&m);
    gp_free(g);
}

/* Times that are far from each other, as days are: what lines and walks become there is what the
 * harmonics that are left out must be small beside. */
static void growing_waves(void **state) {
    static const char *const kinds[] = {
        "LIN(sf=0.0003, c=-4000)*ZPER(sf=9, p=456, l=0.2)+MAT12(sf=1, l=1000)",
        "WIENER(sf=0.1, x0=-1)*PER(sf=9, p=456, l=0.5)+LIN(sf=0.001)",
    };
    enum { N = 900 };
    double x[N], y[N], a, b;
    uint64_t seed = 4;
    for (size_t q = 0; q < COUNT_OF(kinds); q++) {
        for (size_t i = 0; i < N; i++) {
            x[i] = 78 * ((double)i + 0.7 * uniform(&seed));
            y[i] = 0.0003 * x[i] * sin(x[i] * (2 * M_PI / 456)) + 0.04 * normal(&seed);
        }
        struct gp *f = process(kinds[q], 0.04, N, x, y), *d = process(kinds[q], 0.04, N, x, y);
        gp_set_ways(d, GP_FACTORS);
        assert_int_equal(gp_logml(f, &a), GPM_OK);
        assert_int_equal(gp_logml(d, &b), GPM_OK);
        assert_true(by_states(f) && !by_states(d));
        if (fabs(a - b) > 1e-7 * fabs(b)) print_error("%s: %.12g %.12g\n", kinds[q], a, b);
        assert_close(a, b, 1e-7);
        gp_free(f);
        gp_free(d);
    }
}

/* Harmonics a million times as large as the noise: more data leave as many digits as all of them
 * at once do. */
static void appending_quietly(void **state) {
    enum { N = 900, FIRST = 890 };
    double x[N], y[N], a, b;
    uint64_t seed = 7;
    fill(N, SCATTERED, &seed, x, y);
    for (size_t i = 0; i < N; i++) y[i] = 1000 * sin(2 * M_PI / 1.1 * x[i]) + 1e-3 * normal(&seed);
    const char *text = "PER(sf=10000, p=1.1, l=1)+LIN(sf=100)";
    struct gp *f = process(text, 1e-3, FIRST, x, y), *g = process(text, 1e-3, N, x, y);
    assert_int_equal(gp_logml(f, &a), GPM_OK);
    for (size_t i = FIRST; i < N; i++) {
        assert_int_equal(gp_add(f, GP_MEASURED, x + i, y + i, 1), GPM_OK);
        assert_int_equal(gp_logml(f, &a), GPM_OK);
    }
    assert_int_equal(gp_logml(g, &b), GPM_OK);
    assert_true(by_states(f) && by_states(g));
    assert_close(a, b, 1e-9);
    gp_free(f);
    gp_free(g);
}

/* Every large allocation of a filter fails in turn: a status comes back, nothing leaks, and the
 * next try has the answer. */
static void out_of_memory(void **state) {
    enum { N = 400 };
    double x[N], y[N], want, a, slopes[16], dnoise, at[3] = {0.5, 1.1, 9}, mean[3], var[3];
    uint64_t seed = 2;
    for (int how = GRID; how <= SCATTERED; how++) {
        fill(N, (enum layout)how, &seed, x, y);
        struct gp *g = process("PER(sf=1, p=1.1, l=1)+MAT12(sf=1, l=1)+LIN(sf=1)", 0.2, N, x, y);
        assert_int_equal(gp_logml(g, &want), GPM_OK);
        for (int nth = 1; nth < 60; nth++) {
            gp_forget(g);
            mem_fail_nth_try(nth);
            enum gpm_status st = gp_logml_grad(g, &a, slopes, &dnoise);
            if (!st) st = gp_predict(g, at, 3, GP_MEASURED, mean, var);
            mem_fail_nth_try(0);
            assert_true(st == GPM_OK || st == GPM_E_NOMEM);
            gp_forget(g);
            assert_int_equal(gp_logml(g, &a), GPM_OK);
            assert_true(by_states(g));
            assert_close(a, want, 1e-12);
        }
        gp_free(g);
    }
}

/* Filters or nothing: of many inputs every likelihood is a filter's and has its parts; what no
 * filter serves, or only a slow one, is refused, and so is the prediction. */
static void filtered(void **state) {
    enum { N = 2500, LIMIT = 2000 };
    static const struct {
        const char *text;
        bool served;
    } cases[] = {{"SE(sf=1, l=0.3)+LIN(sf=1)", true},
                 {"PER(sf=1, p=0.05, l=1)+LIN(sf=1)", true},
                 {"PER(sf=1, p=0.05, l=0.01)+LIN(sf=1)", false},    /* hundreds of harmonics */
                 {"SE(sf=1, l=2)*PER(sf=1, p=0.05, l=0.2)", false}, /* eight states for each */
                 {"RQ(sf=1, l=0.3, alpha=1)", false}};
    double *x = NEW_ARRAY(double, 2 * N), *y = x + N, at[] = {0.5, 1.1}, value, mean[2], var[2];
    double slopes[16], dnoise;
    uint64_t seed = 12;
    fill(N, GRID, &seed, x, y);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct gp *g = process(cases[i].text, 0.3, N, x, y);
        gp_set_ways(g, GP_EXACT_WAYS);
        gp_set_filtered(g, LIMIT);
        enum gpm_status want = cases[i].served ? GPM_OK : GPM_E_LIMIT;
        assert_int_equal(gp_logml(g, &value), want);
        if (cases[i].served) assert_non_null(strstr(gp_method(g), "state space"));
        gp_forget(g);
        assert_int_equal(gp_logml_grad(g, &value, slopes, &dnoise), want);
        assert_int_equal(gp_predict(g, at, 2, GP_LATENT, mean, var), want);
        assert_int_equal(gp_component(g, gp_kern(g), at, 2, mean, var), want);
        assert_false(gp_current(g)->have_factor);
        gp_set_filtered(g, N); /* as many as are factored: as without the limit */
        assert_int_equal(gp_logml(g, &value), GPM_OK);
        gp_free(g);
    }
    mem_free(x);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_form),      cmocka_unit_test(gaps_of_a_grid),
        cmocka_unit_test(further_columns), cmocka_unit_test(columns_without_form),
        cmocka_unit_test(posteriors),      cmocka_unit_test(appending),
        cmocka_unit_test(conditional),     cmocka_unit_test(low_noise),
        cmocka_unit_test(draws),           cmocka_unit_test(chosen),
        cmocka_unit_test(growing_waves),   cmocka_unit_test(appending_quietly),
        cmocka_unit_test(out_of_memory),   cmocka_unit_test(smooth_form),
        cmocka_unit_test(filtered),        cmocka_unit_test(whole_periods),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
