/* SPDX-License-Identifier: Apache-2.0
 *
 * The O(n^2) likelihood and gradient on regular grids against the dense factorisation: random
 * kernel expressions with missing points, repeated measurements, means and weights agree to 1e-9;
 * with decreasing noise the two agree as well as the condition of the matrix allows, and the fast
 * way hands over before it gets worse. When a filter takes its place.
 */
#include "support/check.h"
#include "support/kernel_text.h"

#include "base/mem.h"
#include "gp/process/gp.h"

static uint64_t state_;
static double uniform(void) {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return (double)(state_ >> 11) * 0x1p-53;
}

static double likelihood(const char *text, const double *x, const double *y, size_t n, double noise,
                         bool structured, const char **method) {
    struct kern *k = NULL;
    double lm = NAN;
    assert_int_equal(kern_parse(text, &k, NULL), GPM_OK);
    struct gp *g = gp_new(1, k, NULL, noise, NULL);
    gp_set_ways(g, structured ? GP_TOEPLITZ | GP_FACTORS : GP_FACTORS);
    assert_int_equal(gp_add(g, GP_MEASURED, x, y, n), GPM_OK);
    enum gpm_status st = gp_logml(g, &lm);
    assert_true(st == GPM_OK || st == GPM_E_NOT_PD);
    *method = gp_method(g);
    gp_free(g);
    kern_unref(k);
    return lm;
}

static void agrees(void **state) {
    static const char *const kern[] = {
        "SE(sf=1, l=%g)", "LIN(sf=0.3) + SE(sf=1, l=%g) * PER(sf=1, p=1.1, l=1)",
        "LIN(sf=0.3, c=2) + RAMP(sf=0.4, tau=3) + MAT32(sf=1, l=%g) + C(sf=3) + STEP(sf=1, tau=2)",
        "4 * gp_cov_linear(origin=1) * LIN(sf=0.1) + RQ(sf=1, l=%g, alpha=1) + WN(sigma=0.01)"};
    double x[200], y[200];
    int fast = 0, slow = 0;
    state_ = 5;
    for (int c = 0; c < 4; c++)
        for (int e = 0; e < 7; e++)
            for (int l = 0; l < 3; l++) {
                char text[200];
                const char *how, *dense;
                snprintf(text, sizeof text, kern[c], 0.1 * pow(5, l));
                for (int i = 0; i < 200; i++) {
                    x[i] = 1 + 0.05 * i;
                    y[i] = sin(3 * x[i]) + uniform();
                }
                double noise = pow(10, -e);
                double a = likelihood(text, x, y, 200, noise, true, &how);
                double b = likelihood(text, x, y, 200, noise, false, &dense);
                assert_string_equal(dense, "Cholesky");
                bool toeplitz = strcmp(how, "Toeplitz") == 0;
                fast += toeplitz;
                slow += !toeplitz;
                /* With next to no noise two dense factorisations (one filled by lag) differ by
                 * 1e-7 to 3e-3: the matrix is that ill-conditioned. */
                if (noise >= 1e-3)
                    assert_close(a, b, 1e-7);
                else if (toeplitz)
                    assert_close(a, b, 1e-5);
            }
    assert_true(fast > 40 && slow >= 8);
}

static void falls_back(void **state) {
    static const char *const kern[] = {"LIN(sf=1) * SE(sf=1, l=1)", "WIENER(sf=1, x0=0.2)",
                                       "CP(SE, LIN, tau=3, s=1)"};
    double x[60], y[60];
    const char *how;
    state_ = 6;
    for (int i = 0; i < 60; i++) x[i] = 0.1 * (i + 1), y[i] = uniform();
    for (int c = 0; c < 3; c++) {
        double a = likelihood(kern[c], x, y, 60, 0.3, true, &how);
        assert_string_equal(how, "Cholesky");
        double b = likelihood(kern[c], x, y, 60, 0.3, false, &how);
        assert_close(a, b, 1e-10);
    }
    x[30] += 0.01; /* not regular */
    likelihood("SE(sf=1, l=1)", x, y, 60, 0.3, true, &how);
    assert_string_equal(how, "Cholesky");
}

/* Data that arrive after a likelihood without a factor. */
static void later_data(void **state) {
    double x[60], y[60], a, b;
    struct kern *k = NULL;
    state_ = 7;
    for (int i = 0; i < 60; i++) x[i] = 0.1 * i, y[i] = uniform();
    assert_int_equal(kern_parse("SE(sf=1, l=1)", &k, NULL), GPM_OK);
    struct gp *g = gp_new(1, k, NULL, 0.3, NULL), *h = gp_new(1, k, NULL, 0.3, NULL);
    gp_set_ways(g, GP_TOEPLITZ | GP_FACTORS);
    gp_set_ways(h, GP_FACTORS);
    for (size_t n = 0; n < 60; n += 30) {
        assert_int_equal(gp_add(g, GP_MEASURED, x + n, y + n, 30), GPM_OK);
        assert_int_equal(gp_add(h, GP_MEASURED, x + n, y + n, 30), GPM_OK);
        assert_int_equal(gp_logml(g, &a), GPM_OK);
        assert_int_equal(gp_logml(h, &b), GPM_OK);
        assert_string_equal(gp_method(g), "Toeplitz");
        assert_close(a, b, 1e-10);
    }
    assert_int_equal(gp_remove(g, GP_MEASURED, x + 59, y[59]), GPM_OK);
    assert_int_equal(gp_remove(h, GP_MEASURED, x + 59, y[59]), GPM_OK);
    assert_int_equal(gp_logml(g, &a), GPM_OK);
    assert_int_equal(gp_logml(h, &b), GPM_OK);
    assert_close(a, b, 1e-10);
    gp_free(g);
    gp_free(h);
    kern_unref(k);
}

/* ---- random expressions ---- */

#define MOST 330

static double between(double a, double b) {
    return a + (b - a) * uniform();
}

/* One term; w: walks may stand there. */
static void random_term(struct buf *b) {
    double sf = between(0.3, 2), l = exp(between(-2, 1)), p = between(0.7, 2);
    switch ((int)(uniform() * 17)) {
    case 0: buf_printf(b, "SE(sf=%g, l=%g)", sf, l); break;
    case 1: buf_printf(b, "SE(sf=%g, l=%g) * PER(sf=1.2, p=%g, l=0.9)", sf, l, p); break;
    case 2: buf_printf(b, "SE(sf=%g, l=2) * ZPER(sf=0.8, p=%g, l=0.7)", sf, p); break;
    case 3: buf_printf(b, "MAT32(sf=%g, l=%g) * 1.5", sf, l); break;
    case 4: buf_printf(b, "RQ(sf=%g, l=%g, alpha=0.8)", sf, l); break;
    case 5: buf_printf(b, "GE(sf=%g, l=%g, gamma=1.2)", sf, l); break;
    case 6: buf_printf(b, "gp_cov_se(l2=%g) * 0.7", l * l); break;
    case 7: buf_printf(b, "LIN(sf=%g, c=%g)", sf, between(0, 5)); break;
    case 8: buf_printf(b, "2 * gp_cov_linear(origin=%g) * LIN(sf=0.2)", between(0, 5)); break;
    case 9: buf_printf(b, "RAMP(sf=%g, tau=%g)", sf, between(1, 4)); break;
    case 10: buf_printf(b, "STEP(sf=%g, tau=%g, s=0.3)", sf, between(1, 4)); break;
    case 11: buf_printf(b, "STEP(sf=%g, tau=2) * LIN(sf=0.4, c=1) * C(sf=2)", sf); break;
    case 12: buf_printf(b, "WIENER(sf=%g, x0=%g)", sf, between(-1, 0)); break;
    case 13: buf_printf(b, "0.6 * WIENER(sf=%g, x0=0)", sf); break;
    case 15: buf_printf(b, "IOU(sf=%g, l=%g, x0=0.5)", sf, l); break;
    case 14: buf_printf(b, "IWIENER(sf=%g, x0=%g)", sf, between(-1, 0)); break;
    default: buf_printf(b, "C(sf=%g) + WN(sigma=0.2) + 0.9", sf); break;
    }
}

struct slopes {
    double logml, kern[64], mean[2], noise;
};

static void slopes_of(const char *text, const double *x, const double *y, size_t n, double noise,
                      double weight, bool structured, struct slopes *out) {
    struct kern *k = kernel_of(text);
    double value;
    double slope = -0.2;
    struct mean *mean = mean_linear(0.3, &slope, 1);
    struct gp *g = gp_new(1, k, mean, noise, NULL);
    gp_set_ways(g, structured ? GP_TOEPLITZ | GP_FACTORS : GP_FACTORS);
    assert_true(kern_nparam(k) <= 64);
    assert_int_equal(gp_add(g, GP_MEASURED, x, y, n), GPM_OK);
    assert_int_equal(gp_logml(g, &value), GPM_OK);
    if (structured) assert_string_equal(gp_method(g), "Toeplitz");
    memset(out, 0, sizeof *out);
    assert_int_equal(gp_grad_weighted(g, weight, &out->logml, out->kern, out->mean, &out->noise),
                     GPM_OK);
    assert_string_equal(gp_method(g), structured ? "Toeplitz" : "Cholesky");
    assert_close(value, out->logml, 1e-9);
    gp_free(g);
    mean_unref(mean);
    kern_unref(k);
}

/* To 1e-9 of the largest slope: parts of one sum cancel in the others. */
static void same_slopes(const char *text, const struct slopes *a, const struct slopes *b) {
    double scale = fabs(b->noise) + 1;
    const double *va = &a->logml, *vb = &b->logml;
    for (int i = 0; i < 64; i++) scale = fmax(scale, fabs(b->kern[i]));
    for (size_t i = 0; i < sizeof *a / sizeof(double); i++)
        if (!(fabs(va[i] - vb[i]) <= 1e-9 * scale))
            fail_msg("%s: number %zu is %.17g, densely %.17g", text, i, va[i], vb[i]);
}

/* A grid of 60 to 130 points, or 200 more, in any order, some missing, some measured more than
 * once. */
static size_t random_series(bool large, double *x, double *y) {
    size_t grid = 60 + (size_t)(uniform() * 65) + 200 * large, n = 0, gaps = 0, repeats = 0;
    double step = between(0.03, 0.06);
    for (size_t i = 0; i < grid; i++) {
        bool inner = i > 0 && i + 1 < grid;
        if (inner && gaps < 4 && uniform() < 0.04) {
            gaps++;
            continue;
        }
        size_t times = inner && repeats < 4 && uniform() < 0.04 ? 2 + (size_t)(2 * uniform()) : 1;
        repeats += times > 1;
        for (; times > 0; times--, n++) {
            x[n] = 0.5 + step * (double)i;
            y[n] = sin(3 * x[n]) + 0.4 * x[n] + between(-1, 1);
        }
    }
    for (size_t i = n; i-- > 1 && n % 2;) { /* every other series shuffled */
        size_t j = (size_t)(uniform() * (double)(i + 1));
        double a = x[i], b = y[i];
        x[i] = x[j], y[i] = y[j];
        x[j] = a, y[j] = b;
    }
    return n;
}

static void random_expressions(void **state) {
    double x[2 * MOST], y[2 * MOST];
    state_ = 8;
    for (int round = 0; round < 150; round++) {
        struct buf text = BUF_INIT;
        struct slopes fast, dense;
        size_t n = random_series(round % 4 == 3, x, y); /* many right hand sides go by blocks */
        int terms = 1 + (int)(uniform() * 4);
        for (int t = 0; t < terms; t++) {
            if (t) buf_puts(&text, " + ");
            random_term(&text);
        }
        double noise = pow(10, between(-1.3, 0)), weight = round % 3 ? 1 : between(0.5, 2);
        slopes_of(text.data, x, y, n, noise, weight, true, &fast);
        slopes_of(text.data, x, y, n, noise, weight, false, &dense);
        same_slopes(text.data, &fast, &dense);
        buf_release(&text);
    }
}

/* Other columns beside the grid: lines on them are of rank one; what is not, or is a kernel of all
 * columns, is dense. */
static void columns_beside(void **state) {
    enum { N = 70 };
    static const struct {
        const char *text;
        bool fast;
    } kern[] = {
        {"C(sf=1) + SE[0](sf=1, l=0.4) + LIN[1](sf=1)", true},
        {"LIN[2](sf=0.7) + WIENER[0](sf=1) + LIN[1](sf=1) + PER[0](sf=0.5, l=1, p=0.8)", true},
        {"LIN[0](sf=1) * LIN[2](sf=0.5, c=0.3) + MAT32[0](sf=1, l=0.5) + WN(sigma=0.3)", true},
        {"IWIENER[0](sf=1) + LIN[1](sf=1) + LIN[0](sf=2)", true},
        {"SE[1](sf=1, l=0.4) + SE[0](sf=1, l=0.4)", false},
        {"SE(sf=1, l=0.4)", false},
        {"SE[0](sf=1, l=0.4) + LIN(sf=1)", false},
        {"SE[0](sf=1, l=0.4) * LIN[1](sf=1)", false},
    };
    double x[3 * N], y[N];
    state_ = 11;
    for (size_t i = 0; i < N; i++) {
        x[3 * i] = 0.1 * (double)(i + (i > 30)); /* one is missing */
        x[3 * i + 1] = between(-1, 1);
        x[3 * i + 2] = i % 9 == 4;
        y[i] = sin(3 * x[3 * i]) + 2 * x[3 * i + 1] - x[3 * i + 2] + between(-0.5, 0.5);
    }
    for (size_t t = 0; t < COUNT_OF(kern); t++) {
        struct slopes out[2];
        struct kern *k = kernel_of(kern[t].text);
        memset(out, 0, sizeof out);
        for (int way = 0; way < 2; way++) {
            struct gp *g = gp_new(3, k, NULL, 0.4, NULL);
            gp_set_ways(g, way ? GP_TOEPLITZ | GP_FACTORS : GP_FACTORS);
            assert_int_equal(gp_add(g, GP_MEASURED, x, y, N), GPM_OK);
            assert_int_equal(
                gp_grad_weighted(g, 1, &out[way].logml, out[way].kern, NULL, &out[way].noise),
                GPM_OK);
            assert_string_equal(gp_method(g), way && kern[t].fast ? "Toeplitz" : "Cholesky");
            gp_free(g);
        }
        same_slopes(kern[t].text, &out[1], &out[0]);
        kern_unref(k);
    }
}

static struct gp *grid_process(const char *kernel, double noise, size_t n, const double *x,
                               const double *y) {
    struct kern *k = kernel_of(kernel);
    struct gp *g = gp_new(1, k, NULL, noise, NULL);
    kern_unref(k);
    assert_int_equal(gp_add(g, GP_MEASURED, x, y, n), GPM_OK);
    return g;
}

/* On a grid: short series by a Toeplitz matrix, long ones by a filter, which serves as well where
 * the matrix has no digits, and where data are added to a likelihood that is known. Whichever it
 * was, the quadratic form is that of the dense factor. */
static void chosen_on_a_grid(void **state) {
    enum { LONGEST = 3000 };
    static const char few[] = "C(sf=1)+MAT12(sf=0.8, l=0.7)",
                      many[] = "C(sf=1)+MAT12(sf=0.8, l=0.7)+ZPER(sf=1, p=1.1, l=0.5)";
    static const struct {
        const char *kernel, *method;
        double noise;
        size_t n, more;
    } at[] = {
        {few, "Toeplitz", 0.2, 400, 0},
        {many, "Toeplitz", 0.2, 1200, 0},
        {few, "state space", 0.2, 1200, 0},
        {many, "state space", 0.2, LONGEST, 0},
        {few, "state space", 0.2, 400, 2},
        {many, "state space", 0.2, 1200, 2},
        {"MAT32(sf=1, l=1000)", "state space", 1e-5, 400, 0},
    };
    double *x = NEW_ARRAY(double, LONGEST), *y = NEW_ARRAY(double, LONGEST), a, b, qa, qb;
    state_ = 2;
    for (size_t i = 0; i < LONGEST; i++) {
        x[i] = 0.02 * (double)i;
        y[i] = sin(x[i]) + between(-0.5, 0.5);
    }
    for (size_t i = 0; i < COUNT_OF(at); i++) {
        size_t n = at[i].n;
        struct gp *g = grid_process(at[i].kernel, at[i].noise, n, x, y), *d;
        assert_int_equal(gp_logml(g, &a), GPM_OK);
        for (size_t k = 0; k < at[i].more; k++, n++) {
            assert_int_equal(gp_add(g, GP_MEASURED, x + n, y + n, 1), GPM_OK);
            assert_int_equal(gp_logml(g, &a), GPM_OK);
        }
        if (strncmp(gp_method(g), at[i].method, strlen(at[i].method)))
            fail_msg("%s, %zu: by %s", at[i].kernel, n, gp_method(g));
        assert_int_equal(gp_quadratic(g, false, &qa), GPM_OK);
        assert_false(gp_factored(g));
        if (n < LONGEST && at[i].noise > 0.1) {
            d = grid_process(at[i].kernel, at[i].noise, n, x, y);
            gp_set_ways(d, GP_FACTORS);
            assert_int_equal(gp_logml(d, &b), GPM_OK);
            assert_int_equal(gp_quadratic(d, false, &qb), GPM_OK);
            assert_close(a, b, 1e-8);
            assert_close(qa, qb, 1e-8);
            gp_free(d);
        }
        gp_free(g);
    }
    mem_free(x);
    mem_free(y);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees),         cmocka_unit_test(falls_back),
        cmocka_unit_test(later_data),     cmocka_unit_test(random_expressions),
        cmocka_unit_test(columns_beside), cmocka_unit_test(chosen_on_a_grid)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
