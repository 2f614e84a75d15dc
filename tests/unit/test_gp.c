/* SPDX-License-Identifier: Apache-2.0
 *
 * The GP object against dense formulas written out here: likelihood, gradient, prediction,
 * conditional density, leave-one-out, replicates, proposals, random sequences of additions and
 * removals, degenerate inputs.
 */
#include "support/check.h"
#include "support/kernel_text.h"

#include "gp/process/gp.h"
#include "gp/process/gp_way.h"
#include "base/file.h"
#include "numeric/la/blas.h"
#include "numeric/la/vec_ops.h"

static uint64_t state_;
static double uniform(void) {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return (double)(state_ >> 11) * 0x1p-53;
}
static double normal(void) {
    return sqrt(-2 * log(1 - uniform())) * cos(2 * M_PI * uniform());
}

static struct gp *make(const char *kernel, int dim, double noise) {
    struct kern *k = kernel_of(kernel);
    struct gp *g = gp_new(dim, k, NULL, noise, NULL);
    kern_unref(k);
    assert_non_null(g);
    return g;
}

/* log N(y; 0, K + noise^2 I) over pairs, each pair its own row: no grouping, plain Cholesky. Exact
 * pairs (may be NULL: none) have no noise. */
static double dense_mixed(const char *kernel, const double *x, const double *y, const bool *exact,
                          size_t n, int dim, double noise) {
    struct kern *k = kernel_of(kernel);
    double *a = calloc(n * n + 1, sizeof *a), *t = calloc(n * (size_t)dim + 1, sizeof *t), s = 0;
    for (size_t i = 0; i < n; i++)
        for (int c = 0; c < dim; c++) t[i + (size_t)c * n] = x[i * (size_t)dim + (size_t)c];
    struct kern_pts p = {.x = t, .n = n, .ld = n, .dim = dim};
    assert_int_equal(kern_cross(k, p, p, a, n ? n : 1), GPM_OK);
    for (size_t i = 0; i < n; i++)
        if (!exact || !exact[i]) a[i * (n + 1)] += noise * noise;
    double *z = calloc(n + 1, sizeof *z);
    for (size_t j = 0; j < n; j++) { /* textbook */
        for (size_t q = 0; q < j; q++)
            for (size_t i = j; i < n; i++) a[i + j * n] -= a[i + q * n] * a[j + q * n];
        assert_true(a[j * (n + 1)] > 0);
        double d = sqrt(a[j * (n + 1)]);
        for (size_t i = j; i < n; i++) a[i + j * n] /= d;
        z[j] = y[j];
        for (size_t q = 0; q < j; q++) z[j] -= a[j + q * n] * z[q];
        z[j] /= d;
        s -= 0.5 * z[j] * z[j] + log(d) + 0.5 * log(2 * M_PI);
    }
    free(a), free(t), free(z);
    kern_unref(k);
    return s;
}

static double dense_logml(const char *kernel, const double *x, const double *y, size_t n, int dim,
                          double noise) {
    return dense_mixed(kernel, x, y, NULL, n, dim, noise);
}

static const char *const LINPER =
    "LIN(sf=0.5) + SE(sf=1.2, l=1.5) * PER(sf=1, p=0.9, l=0.8) + WN(sigma=0.3)";

static void likelihood(void **state) {
    static const char *const kern[] = {"SE(sf=1.1, l=0.7) + WN(sigma=0.4)", LINPER};
    double x[120], y[60], got;
    state_ = 1;
    for (int dim = 1; dim <= 2; dim++)
        for (size_t c = 0; c < 2; c++) {
            for (int i = 0; i < 120; i++) x[i] = 4 * uniform();
            for (int i = 0; i < 60; i++) y[i] = normal();
            struct gp *g = make(kern[c], dim, 0.2);
            assert_int_equal(gp_add(g, GP_MEASURED, x, y, 60), GPM_OK);
            assert_int_equal(gp_logml(g, &got), GPM_OK);
            assert_close(got, dense_logml(kern[c], x, y, 60, dim, 0.2), 1e-11);
            gp_free(g);
        }
}

/* Random additions (some at known inputs) and removals, the factor kept all along. A prediction at
 * one point, often the next one to be added, leaves a solve behind that the addition may use. */
static void random_changes(void **state) {
    double x[400], y[400], got;
    state_ = 5;
    for (int trial = 0; trial < 6; trial++) {
        double noise = trial % 2 ? 0.25 : 0;
        struct gp *g = make(LINPER, 1, noise);
        size_t n = 0;
        for (int step = 0; step < 120; step++) {
            if (n > 0 && uniform() < 0.35) {
                size_t i = (size_t)(uniform() * (double)n);
                assert_int_equal(gp_remove(g, GP_MEASURED, x + i, y[i]), GPM_OK);
                memmove(x + i, x + i + 1, (n - i - 1) * sizeof *x);
                memmove(y + i, y + i + 1, (n - i - 1) * sizeof *y);
                n--;
            } else {
                size_t m = 1 + (size_t)(uniform() * 3);
                for (size_t k = 0; k < m; k++) {
                    x[n + k] = noise > 0 && n && uniform() < 0.3
                                   ? x[(size_t)(uniform() * (double)n)]
                                   : 5 * uniform();
                    y[n + k] = normal();
                }
                double mean, var;
                if (uniform() < 0.7)
                    assert_int_equal(gp_predict(g, x + n, 1, GP_LATENT, &mean, &var), GPM_OK);
                if (uniform() < 0.2 && n) {
                    assert_int_equal(gp_remove(g, GP_MEASURED, x, y[0]), GPM_OK);
                    assert_int_equal(gp_add(g, GP_MEASURED, x, y, 1), GPM_OK);
                }
                assert_int_equal(gp_add(g, GP_MEASURED, x + n, y + n, m), GPM_OK);
                n += m;
            }
            assert_int_equal(gp_logml(g, &got), GPM_OK);
            if (step % 10 == 9) {
                assert_int_equal(gp_npairs(g), n);
                /* WN is by value of x: the dense formula has it too, through kern_cross. */
                assert_close(got, dense_logml(LINPER, x, y, n, 1, noise), 1e-8);
                assert_true(gp_current(g)->have_factor);
            }
        }
        gp_free(g);
    }
}

/* Measurements and exact values of the function, mixed, in random order of adding and removing;
 * then the same from a copy, and the slope in the noise by differences. */
static void exact_values(void **state) {
    enum { MOST = 60 };
    static const char *const kernel = "SE(sf=1, l=0.7) + LIN(sf=0.5)";
    double x[MOST], y[MOST], noise = 0.3, got;
    bool exact[MOST];
    state_ = 21;
    struct gp *g = make(kernel, 1, noise);
    size_t n = 0;
    for (int step = 0; step < 150; step++) {
        if (n == MOST || (n > 0 && uniform() < 0.4)) {
            size_t i = (size_t)(uniform() * (double)n);
            assert_int_equal(gp_remove(g, exact[i] ? GP_MEASURED : GP_LATENT, x + i, y[i]),
                             GPM_E_NOT_FOUND);
            assert_int_equal(gp_remove(g, exact[i] ? GP_LATENT : GP_MEASURED, x + i, y[i]), GPM_OK);
            n--;
            x[i] = x[n], y[i] = y[n], exact[i] = exact[n];
        } else {
            exact[n] = uniform() < 0.2;
            bool repeat = n && !exact[n] && uniform() < 0.5;
            x[n] = repeat ? x[(size_t)(uniform() * (double)n)] : 12 * uniform();
            y[n] = normal();
            enum gp_target as = exact[n] ? GP_LATENT : GP_MEASURED;
            double before, next;
            assert_int_equal(gp_logml(g, &before), GPM_OK);
            assert_int_equal(gp_conditional(g, as, x + n, y + n, 1, &next), GPM_OK);
            assert_int_equal(gp_add(g, as, x + n, y + n, 1), GPM_OK);
            n++;
            assert_int_equal(gp_logml(g, &got), GPM_OK);
            assert_close(got, before + next, 1e-7);
        }
        assert_int_equal(gp_logml(g, &got), GPM_OK);
        assert_close(got, dense_mixed(kernel, x, y, exact, n, 1, noise), 1e-7);
    }
    struct gp *copy;
    double a, b, slope, dkern[8], h = 1e-5;
    assert_int_equal(gp_copy(g, &copy), GPM_OK);
    assert_int_equal(gp_logml(copy, &a), GPM_OK);
    assert_close(a, got, 1e-9);
    assert_int_equal(gp_logml_grad(g, &got, dkern, &slope), GPM_OK);
    a = dense_mixed(kernel, x, y, exact, n, 1, noise + h);
    b = dense_mixed(kernel, x, y, exact, n, 1, noise - h);
    assert_close(slope, (a - b) / (2 * h), 1e-4 * fabs(slope));
    gp_free(copy);
    gp_free(g);
}

static void gradient(void **state) {
    double x[40], y[40], lm, g[16], dn, theta[16];
    for (int kind = 0; kind < 3; kind++) {
        state_ = 9 + (uint64_t)kind;
        for (int i = 0; i < 40; i++) {
            x[i] = kind == 2 ? 0.1 * i : 4 * uniform();
            y[i] = sin(3 * x[i]) + 0.3 * normal();
        }
        if (kind == 1) x[3] = x[7] = x[8];
        struct kern *k = kernel_of(LINPER);
        size_t np = kern_nparam(k);
        struct gp *p = gp_new(1, k, NULL, 0.3, NULL);
        assert_int_equal(gp_add(p, GP_MEASURED, x, y, 40), GPM_OK);
        assert_int_equal(gp_logml_grad(p, &lm, g, &dn), GPM_OK);
        kern_params(k, theta);
        for (size_t i = 0; i <= np; i++) {
            double f[2], h = 1e-5;
            for (int s = 0; s < 2; s++) {
                double t[16], nz = 0.3;
                memcpy(t, theta, sizeof t);
                if (i < np)
                    t[i] += s ? -h : h;
                else
                    nz += s ? -h : h;
                struct kern *q = kern_with_params(k, t, NULL);
                assert_int_equal(gp_propose(p, q, NULL, nz, &f[s]), GPM_OK);
                kern_unref(q);
            }
            assert_close((f[0] - f[1]) / (2 * h), i < np ? g[i] : dn, 1e-6);
        }
        gp_free(p);
        kern_unref(k);
    }
}

static void proposals(void **state) {
    double x[30], y[30], before, lm, after;
    state_ = 21;
    for (int i = 0; i < 30; i++) x[i] = uniform() * 3, y[i] = normal();
    struct gp *g = make("SE(sf=1, l=0.5)", 1, 0.5);
    assert_int_equal(gp_add(g, GP_MEASURED, x, y, 30), GPM_OK);
    assert_int_equal(gp_logml(g, &before), GPM_OK);
    struct kern *k = kernel_of("SE(sf=1, l=0.7)");
    struct mean *m = mean_const(0.4);
    assert_int_equal(gp_propose(g, k, m, 0.6, &lm), GPM_OK);
    gp_reject(g);
    assert_int_equal(gp_logml(g, &after), GPM_OK);
    assert_true(before == after);
    assert_int_equal(gp_propose(g, k, m, 0.6, &lm), GPM_OK);
    gp_accept(g);
    assert_int_equal(gp_logml(g, &after), GPM_OK);
    assert_true(lm == after && gp_noise(g) == 0.6 && gp_kern(g) == k);
    for (int i = 0; i < 30; i++) y[i] -= 0.4;
    assert_close(after, dense_logml("SE(sf=1, l=0.7)", x, y, 30, 1, 0.6), 1e-11);
    /* An accepted proposal dies with a change of data. */
    struct kern *k2 = kernel_of("LIN(sf=1)");
    assert_int_equal(gp_propose(g, k2, NULL, 1, &lm), GPM_OK);
    double nx = 9, ny = 0;
    assert_int_equal(gp_add(g, GP_MEASURED, &nx, &ny, 1), GPM_OK);
    gp_accept(g);
    assert_true(gp_kern(g) == k);
    kern_unref(k);
    kern_unref(k2);
    mean_unref(m);
    gp_free(g);
}

/* One parameter at a time, as a chain does; the cache must never show. */
static void cached_terms(void **state) {
    double x[50], y[50], theta[16], with, without;
    state_ = 33;
    for (int i = 0; i < 50; i++) x[i] = uniform() * 3, y[i] = normal();
    struct kern *k =
        kernel_of("SE(sf=1, l=0.5) + SE(sf=1, l=2) * PER(sf=1, p=0.8, l=1) * LIN(sf=1) + "
                  "RQ(sf=1, l=1, alpha=1) + WN(sigma=0.3)");
    struct gp *a = gp_new(1, k, NULL, 0.1, NULL), *b = gp_new(1, k, NULL, 0.1, NULL);
    gp_set_budget(b, 0);
    gp_set_budget(a, 3 * 50 * 49 / 2 * 8); /* room for three terms: evictions happen */
    assert_int_equal(gp_add(a, GP_MEASURED, x, y, 50), GPM_OK);
    assert_int_equal(gp_add(b, GP_MEASURED, x, y, 50), GPM_OK);
    kern_params(k, theta);
    for (int it = 0; it < 200; it++) {
        double old[16];
        memcpy(old, theta, sizeof old);
        theta[(size_t)(uniform() * (double)kern_nparam(k))] *= exp(0.3 * normal());
        struct kern *q = kern_with_params(k, theta, NULL);
        assert_int_equal(gp_propose(a, q, NULL, 0.1, &with), GPM_OK);
        assert_int_equal(gp_propose(b, q, NULL, 0.1, &without), GPM_OK);
        assert_close(with, without, 1e-9);
        if (uniform() < 0.5)
            gp_accept(a), gp_accept(b);
        else
            memcpy(theta, old, sizeof old);
        kern_unref(q);
    }
    gp_free(a);
    gp_free(b);
    kern_unref(k);
}

/* p(y1, y2) = p(y1) p(y2 | y1) ties the conditional to the likelihood. */
static void conditional(void **state) {
    double x[20], y[20], a, b, c;
    state_ = 8;
    for (int i = 0; i < 20; i++) x[i] = uniform() * 3, y[i] = normal();
    x[15] = x[2];
    struct gp *g = make("SE(sf=1, l=0.5) + C(sf=2)", 1, 0.4);
    assert_int_equal(gp_add(g, GP_MEASURED, x, y, 12), GPM_OK);
    assert_int_equal(gp_logml(g, &a), GPM_OK);
    assert_int_equal(gp_conditional(g, GP_MEASURED, x + 12, y + 12, 8, &b), GPM_OK);
    assert_int_equal(gp_add(g, GP_MEASURED, x + 12, y + 12, 8), GPM_OK);
    assert_int_equal(gp_logml(g, &c), GPM_OK);
    assert_close(a + b, c, 1e-10);
    gp_free(g);
}

static void prediction(void **state) {
    /* Two points, SE(sf=2, l=1), by hand: conformance case mean 5 + SE(2, 1), g(0) = 6. */
    double x0 = 0, y0 = 6, x1 = 1, m, v, lp, y1 = 5.5;
    struct kern *k = kernel_of("SE(sf=2, l=1)");
    struct mean *mean = mean_const(5);
    struct gp *g = gp_new(1, k, mean, 0, NULL);
    assert_int_equal(gp_add(g, GP_MEASURED, &x0, &y0, 1), GPM_OK);
    assert_int_equal(gp_predict(g, &x1, 1, GP_LATENT, &m, &v), GPM_OK);
    double e = exp(-0.5), pm = 5 + e, pv = 4 * (1 - e * e);
    assert_close(m, pm, 1e-12);
    assert_close(v, pv, 1e-12);
    assert_int_equal(gp_conditional(g, GP_MEASURED, &x1, &y1, 1, &lp), GPM_OK);
    assert_close(lp, -0.5 * (log(2 * M_PI * pv) + (y1 - pm) * (y1 - pm) / pv), 1e-12);
    assert_int_equal(gp_predict(g, &x0, 1, GP_LATENT, &m, &v), GPM_OK);
    assert_close(m, 6, 1e-9);
    assert_true(v >= 0 && v < 1e-9);
    gp_free(g);
    kern_unref(k);
    mean_unref(mean);
}

/* Joint draws have the predicted mean and covariance. */
static void draws(void **state) {
    double x[5] = {0, 1, 2, 3, 4}, y[5] = {1, -1, 0.5, 2, 0}, xs[3] = {0.5, 2.2, 6};
    double mean[3], cov[9], z[3], f[3], sum[3] = {0}, sq[9] = {0};
    state_ = 77;
    struct gp *g = make("SE(sf=1, l=1)", 1, 0.3);
    assert_int_equal(gp_add(g, GP_MEASURED, x, y, 5), GPM_OK);
    for (int target = 0; target < 2; target++) {
        memset(sum, 0, sizeof sum);
        memset(sq, 0, sizeof sq);
        assert_int_equal(gp_predict_cov(g, xs, 3, target, mean, cov, 3), GPM_OK);
        enum { R = 20000 };
        for (int r = 0; r < R; r++) {
            for (int i = 0; i < 3; i++) z[i] = normal();
            assert_int_equal(gp_sample(g, xs, 3, target, z, f), GPM_OK);
            for (int i = 0; i < 3; i++) {
                sum[i] += f[i] - mean[i];
                for (int j = 0; j < 3; j++) sq[i + 3 * j] += (f[i] - mean[i]) * (f[j] - mean[j]);
            }
        }
        for (int i = 0; i < 3; i++) { /* five standard errors */
            assert_true(fabs(sum[i] / R) < 5 * sqrt(cov[4 * i] / R));
            for (int j = 0; j < 3; j++)
                assert_true(fabs(sq[i + 3 * j] / R - cov[i + 3 * j]) <
                            5 * sqrt(2 * cov[4 * i] * cov[4 * j] / R));
        }
    }
    gp_free(g);
}

static void leave_one_out(void **state) {
    double x[12], y[12], mean[12], var[12], lp, total = 0;
    state_ = 3;
    for (int i = 0; i < 12; i++) x[i] = uniform() * 3, y[i] = normal();
    x[5] = x[6] = x[1];
    struct gp *g = make("SE(sf=1, l=0.5) + C(sf=1)", 1, 0.4);
    assert_int_equal(gp_add(g, GP_MEASURED, x, y, 12), GPM_OK);
    assert_int_equal(gp_loo(g, mean, var, &lp), GPM_OK);
    for (size_t i = 0; i < 12; i++) {
        double m, v;
        struct gp *h = NULL;
        assert_int_equal(gp_copy(g, &h), GPM_OK);
        assert_int_equal(gp_remove(h, GP_MEASURED, x + i, y[i]), GPM_OK);
        assert_int_equal(gp_predict(h, x + i, 1, GP_MEASURED, &m, &v), GPM_OK);
        assert_close(mean[i], m, 1e-9);
        assert_close(var[i], v, 1e-9);
        total -= 0.5 * (log(2 * M_PI * v) + (y[i] - m) * (y[i] - m) / v);
        gp_free(h);
    }
    assert_close(lp, total, 1e-9);
    gp_free(g);
}

static void repeated_inputs(void **state) {
    double x[3] = {0, 0, 1}, y[3] = {1, 1, 2}, lm, ref, lp, other = 3, f[3], z[3] = {0.3, 1, -1};
    struct gp *g = make("SE(sf=2, l=1)", 1, 0);
    assert_int_equal(gp_add(g, GP_MEASURED, x, y, 3), GPM_OK);
    assert_int_equal(gp_n(g), 2);
    assert_int_equal(gp_npairs(g), 3);
    assert_int_equal(gp_logml(g, &lm), GPM_OK);
    double x2[2] = {0, 1}, y2[2] = {1, 2};
    ref = dense_logml("SE(sf=2, l=1)", x2, y2, 2, 1, 0);
    assert_close(lm, ref, 1e-12); /* the repeat adds nothing */
    assert_int_equal(gp_conditional(g, GP_MEASURED, x, y, 1, &lp), GPM_OK);
    assert_true(lp == 0);
    assert_int_equal(gp_conditional(g, GP_MEASURED, x, &other, 1, &lp), GPM_OK);
    assert_true(lp == -INFINITY);
    assert_int_equal(gp_add(g, GP_MEASURED, x, &other, 1), GPM_OK); /* a contradiction */
    assert_int_equal(gp_logml(g, &lm), GPM_OK);
    assert_true(lm == -INFINITY);
    assert_int_equal(gp_remove(g, GP_MEASURED, x, other), GPM_OK); /* taken back */
    assert_int_equal(gp_logml(g, &lm), GPM_OK);
    assert_close(lm, ref, 1e-12);
    gp_clear(g);
    double xs[3] = {1, 1, 2};
    assert_int_equal(gp_sample(g, xs, 3, GP_LATENT, z, f), GPM_OK);
    assert_true(f[0] == f[1]);
    gp_free(g);
}

/* Parts of the function: their means add up to that of the whole, which knows nothing of the mean
 * function; white noise by pair; whitened residuals have the quadratic form as their length. */
static void parts(void **state) {
    double x[30], y[30], at[3] = {0.43, 2.27, 5}, whole[3], sum[3] = {0}, mean[3], var[3], e[30], q;
    state_ = 31;
    for (int i = 0; i < 30; i++) {
        x[i] = floor(4 * uniform() * 10) / 10; /* some are equal */
        y[i] = sin(x[i]) + 0.3 * normal();
    }
    struct gp *g = make("SE(sf=1, l=0.8) + LIN(sf=0.5) + LIN(sf=0.3, c=1) * WN(sigma=0.4)", 1, 0.2);
    gp_set_apart(g);
    assert_int_equal(gp_add(g, GP_MEASURED, x, y, 30), GPM_OK);
    assert_int_equal(gp_n(g), 30);
    assert_int_equal(gp_remove(g, GP_MEASURED, x, y[0]), GPM_E_ARG);
    assert_int_equal(gp_predict(g, at, 3, GP_LATENT, whole, NULL), GPM_OK);
    static const char *const part[] = {"SE(sf=1, l=0.8)", "LIN(sf=0.5)"};
    for (int k = 0; k < 2; k++) {
        struct kern *one = kernel_of(part[k]);
        double cov[9], own[3];
        assert_int_equal(gp_component(g, one, at, 3, mean, var), GPM_OK);
        assert_int_equal(gp_component_cov(g, one, at, 3, own, cov, 3), GPM_OK);
        for (int i = 0; i < 3; i++) {
            sum[i] += mean[i];
            assert_close(own[i], mean[i], 1e-12);
            assert_close(cov[4 * i], var[i], 1e-10);
            for (int j = 0; j < 3; j++) assert_close(cov[i + 3 * j], cov[j + 3 * i], 0);
            /* a line without an intercept is known everywhere by its slope: cov = sqrt(var var) */
            if (k == 1) assert_close(cov[i + 3], sqrt(var[i] * var[1]), 1e-9);
            assert_true(var[i] > 0 && var[i] < 9);
        }
        kern_unref(one);
    }
    for (int i = 0; i < 3; i++) assert_close(sum[i], whole[i], 1e-12);
    assert_int_equal(gp_innovations(g, e), GPM_OK);
    assert_int_equal(gp_quadratic(g, false, &q), GPM_OK);
    assert_close(vec_ops()->dot(30, e, e), q, 1e-12);
    /* by pair: the matrix with [i = j] instead of [x = x'], written out */
    double a[900], ld = 0, value;
    struct kern *smooth = kernel_of("SE(sf=1, l=0.8) + LIN(sf=0.5)");
    struct kern_pts p = {.x = x, .n = 30, .ld = 30, .dim = 1};
    assert_int_equal(kern_cross(smooth, p, p, a, 30), GPM_OK);
    for (int i = 0; i < 30; i++) a[31 * i] += 0.04 + 0.09 * 0.16 * (x[i] - 1) * (x[i] - 1);
    size_t pivot;
    assert_int_equal(la_potrf(30, a, 30, &pivot), GPM_OK);
    memcpy(e, y, sizeof e);
    la_trsv(false, 30, a, 30, e);
    for (int i = 0; i < 30; i++) ld += log(a[31 * i]);
    assert_int_equal(gp_logml(g, &value), GPM_OK);
    assert_close(value, -0.5 * vec_ops()->dot(30, e, e) - ld - 15 * log(2 * M_PI), 1e-11);
    kern_unref(smooth);
    gp_free(g);
}

static void degenerate(void **state) {
    double lm, m, v, x = 2, y = 1.5, z = 0.7, f, big[40], yb[40], gr[4], dn;
    struct gp *g = make("SE(sf=2, l=1)", 1, 0);
    assert_int_equal(gp_logml(g, &lm), GPM_OK);
    assert_true(lm == 0);
    assert_int_equal(gp_predict(g, &x, 1, GP_LATENT, &m, &v), GPM_OK);
    assert_true(m == 0 && v == 4);
    assert_int_equal(gp_sample(g, &x, 1, GP_LATENT, &z, &f), GPM_OK);
    assert_close(f, 1.4, 1e-12);
    assert_int_equal(gp_logml_grad(g, &lm, gr, &dn), GPM_OK);
    assert_int_equal(gp_add(g, GP_MEASURED, &x, &y, 1), GPM_OK);
    assert_int_equal(gp_logml(g, &lm), GPM_OK);
    assert_close(lm, -0.5 * (log(2 * M_PI * 4) + 2.25 / 4), 1e-13);
    double bad = NAN;
    assert_int_equal(gp_add(g, GP_MEASURED, &bad, &y, 1), GPM_E_ARG);
    assert_int_equal(gp_remove(g, GP_MEASURED, &x, 9), GPM_E_NOT_FOUND);
    gp_clear(g);
    /* Smooth and dense without noise: singular in double precision. The ladder must cope. */
    for (int i = 0; i < 40; i++) big[i] = 0.001 * i, yb[i] = sin(big[i]);
    assert_int_equal(gp_add(g, GP_MEASURED, big, yb, 40), GPM_OK);
    assert_int_equal(gp_logml(g, &lm), GPM_OK);
    assert_true(isfinite(lm));
    struct buf text = BUF_INIT;
    assert_int_equal(gp_report(g, &text), GPM_OK);
    assert_non_null(strstr(text.data, " was added to the diagonal"));
    const char *condition = strstr(text.data, "condition about ");
    assert_true(condition && strtod(condition + strlen("condition about "), NULL) > 1e8);
    assert_non_null(strstr(text.data, "nearest inputs"));
    assert_non_null(strstr(text.data, "(distance 0.001)"));
    assert_non_null(strstr(text.data, "SE(sf=2, l=1)"));
    buf_release(&text);
    for (int i = 0; i < 40; i++) {
        x = -0.5 + 0.05 * i;
        assert_int_equal(gp_predict(g, &x, 1, GP_LATENT, &m, &v), GPM_OK);
        assert_true(v >= 0 && isfinite(m));
    }
    gp_free(g);
    /* Wild scales. */
    g = make("SE(sf=1e6, l=1e-8) + LIN(sf=1e-9)", 1, 1e-7);
    for (int i = 0; i < 40; i++) big[i] = 1e12 + 1e3 * i, yb[i] = 1e6 * normal();
    assert_int_equal(gp_add(g, GP_MEASURED, big, yb, 40), GPM_OK);
    assert_int_equal(gp_logml(g, &lm), GPM_OK);
    assert_true(isfinite(lm));
    gp_free(g);
    /* A matrix that no jitter mends: a proposal of probability zero, and draws still work. */
    g = make("gp_cov_delta(tol2=1.5)", 1, 0);
    for (int i = 0; i < 6; i++) big[i] = i, yb[i] = i;
    assert_int_equal(gp_add(g, GP_MEASURED, big, yb, 6), GPM_OK);
    assert_int_equal(gp_logml(g, &lm), GPM_E_NOT_PD);
    assert_true(lm == -INFINITY);
    gp_clear(g);
    double zz[6] = {1, -1, 2, 0.1, 0.2, -2}, ff[6];
    assert_int_equal(gp_sample(g, big, 6, GP_LATENT, zz, ff), GPM_OK);
    for (int i = 0; i < 6; i++) assert_true(isfinite(ff[i]));
    gp_free(g);
}

static enum gpm_status my_kernel(void *user, const double *a, const double *b, int dim,
                                 double *out) {
    double d = a[0] - b[0];
    ++*(int *)user;
    if (a[0] > 100) return GPM_E_USER;
    *out = exp(-d * d / 2);
    return GPM_OK;
}
static enum gpm_status my_mean(void *user, const double *x, int dim, double *out) {
    *out = 2 * x[0];
    return GPM_OK;
}

static void callbacks(void **state) {
    double x[10], y[10], a, b, v[2], m[2], far = 101;
    int calls = 0;
    state_ = 4;
    for (int i = 0; i < 10; i++) x[i] = uniform() * 3, y[i] = normal();
    struct kern *k = kern_callback(my_kernel, &calls, NULL, "mine"),
                *wn = kernel_of("WN(sigma=0.5)");
    struct kern *sum = kern_sum(k, wn), *se = kernel_of("SE(sf=1, l=1) + WN(sigma=0.5)");
    struct mean *mean = mean_callback(my_mean, NULL, NULL, "two x");
    double slope = 2;
    struct mean *line = mean_linear(0, &slope, 1);
    struct gp *g = gp_new(1, sum, mean, 0.1, NULL), *h = gp_new(1, se, line, 0.1, NULL);
    assert_int_equal(gp_add(g, GP_MEASURED, x, y, 10), GPM_OK);
    assert_int_equal(gp_add(h, GP_MEASURED, x, y, 10), GPM_OK);
    assert_int_equal(gp_logml(g, &a), GPM_OK);
    assert_int_equal(gp_logml(h, &b), GPM_OK);
    assert_close(a, b, 1e-12);
    assert_true(calls > 0);
    double at = 1.1;
    assert_int_equal(gp_predict(g, &at, 1, GP_LATENT, &m[0], &v[0]), GPM_OK);
    assert_int_equal(gp_predict(h, &at, 1, GP_LATENT, &m[1], &v[1]), GPM_OK);
    assert_close(m[0], m[1], 1e-12);
    assert_close(v[0], v[1], 1e-12);
    assert_int_equal(gp_predict(g, &far, 1, GP_LATENT, &m[0], &v[0]), GPM_E_USER);
    kern_unref(k), kern_unref(wn), kern_unref(sum), kern_unref(se);
    mean_unref(mean), mean_unref(line);
    gp_free(g), gp_free(h);
}

/* Every large allocation fails in turn: a status comes back and nothing leaks. */
static void out_of_memory(void **state) {
    double x[30], y[30], lm, m[4], xs[4] = {0, 1, 2, 3}, z[4] = {1, 2, 3, 4};
    state_ = 6;
    for (int i = 0; i < 30; i++) x[i] = uniform() * 3, y[i] = normal();
    for (int nth = 1; nth < 12; nth++) {
        struct gp *g = make("SE(sf=1, l=0.5)", 1, 0.5), *c = NULL;
        mem_fail_nth_try(nth);
        enum gpm_status st = gp_add(g, GP_MEASURED, x, y, 30);
        if (!st) st = gp_logml(g, &lm);
        if (!st) st = gp_sample(g, xs, 4, GP_LATENT, z, m);
        if (!st) st = gp_copy(g, &c);
        mem_fail_nth_try(0);
        assert_true(st == GPM_OK || st == GPM_E_NOMEM);
        gp_free(c);
        gp_free(g);
    }
}

/* log of the integral of N(y; mu, s2 C) over mu, and over log s2, by the trapezoid rule; C holds
 * the noise of every pair. */
static double log_integral(const double *c, const double *y, size_t n, unsigned which) {
    struct chol f = {0};
    double one[8], r[8], q = 0, zb = 0, zz = 0, sum = 0;
    assert_int_equal(chol_build_from(&f, n, c, n), GPM_OK);
    for (size_t i = 0; i < n; i++) one[i] = 1, r[i] = y[i];
    chol_solve_l(&f, one, 1, n);
    chol_solve_l(&f, r, 1, n);
    for (size_t i = 0; i < n; i++) q += one[i] * one[i], zb += one[i] * r[i], zz += r[i] * r[i];
    int steps = which & GP_SCALE ? 4000 : 0, means = which & GP_MEAN ? 4000 : 0;
    double center = zb / q;
    for (int s = 0; s <= steps; s++) {
        double ls = steps ? -14 + 30.0 * s / steps : 0, s2 = exp(ls), half = 12 * sqrt(s2 / q);
        double inner = 0, h = means ? 2 * half / means : 1;
        for (int m = 0; m <= means; m += 1) {
            double mu = means ? center - half + h * m : 0;
            inner += h * exp(-0.5 * ((zz - 2 * mu * zb + mu * mu * q) / s2 +
                                     (double)n * log(2 * M_PI * s2) + chol_logdet(&f)));
        }
        sum += (steps ? 30.0 / steps : 1) * inner;
    }
    chol_release(&f);
    return log(sum);
}

/* Integrated mean and scale: the likelihood against quadrature, with replicates; its gradient and
 * the point's against differences; one point against the batch. */
static void integrated(void **state) {
    const double x[5] = {0.1, 0.7, 0.7, 1.6, 2.2}, y[5] = {3.1, 2.2, 2.5, 4.0, 4.4}, noise = 0.4;
    for (unsigned which = GP_MEAN; which <= (GP_MEAN | GP_SCALE); which++) {
        struct kern *k = kernel_of("MAT52(sf=1.2, l=0.8)");
        struct gp *g = gp_new(1, k, NULL, noise, NULL);
        double c[25], logml, again, grad[2], dn, d1, d2;
        gp_set_integrated(g, which);
        assert_int_equal(gp_add(g, GP_MEASURED, x, y, 5), GPM_OK);
        for (int i = 0; i < 5; i++)
            for (int j = 0; j < 5; j++) {
                assert_int_equal(kern_eval(k, &x[i], &x[j], 1, &c[5 * i + j]), GPM_OK);
                if (i == j) c[5 * i + j] += noise * noise;
            }
        assert_int_equal(gp_logml(g, &logml), GPM_OK);
        assert_close(logml, log_integral(c, y, 5, which), 1e-6);
        assert_int_equal(gp_logml_grad(g, &again, grad, &dn), GPM_OK);
        assert_close(again, logml, 1e-12);
        const double theta[2] = {1.2, 0.8}, h = 1e-5;
        for (int p = 0; p < 3; p++) {
            double v[2];
            for (int side = 0; side < 2; side++) {
                double t[2] = {theta[0], theta[1]}, s = noise, e = side ? -h : h;
                if (p < 2)
                    t[p] += e;
                else
                    s += e;
                struct kern *moved = kern_with_params(k, t, NULL);
                assert_int_equal(gp_propose(g, moved, NULL, s, &v[side]), GPM_OK);
                gp_reject(g);
                kern_unref(moved);
            }
            assert_close(p < 2 ? grad[p] : dn, (v[0] - v[1]) / (2 * h), 1e-6);
        }
        double at[3] = {1.1, 1.1 + h, 1.1 - h}, m[3], v[3], pm, pv, dm, dv;
        assert_int_equal(gp_predict(g, at, 3, GP_LATENT, m, v), GPM_OK);
        assert_int_equal(gp_point(g, at, &pm, &pv), GPM_OK);
        assert_int_equal(gp_point_slope(g, 1, 0, &dm), GPM_OK);
        assert_int_equal(gp_point_slope(g, 0, 1, &dv), GPM_OK);
        assert_close(pm, m[0], 1e-12);
        assert_close(pv, v[0], 1e-11);
        assert_close(dm, (m[1] - m[2]) / (2 * h), 1e-6);
        double slope;
        assert_int_equal(gp_mean_slope(g, at, &pm, &slope), GPM_OK);
        assert_close(pm, m[0], 1e-12);
        assert_close(slope, dm, 1e-12);
        assert_close(dv, (v[1] - v[2]) / (2 * h), 1e-5);
        double up[5]; /* shifted and scaled data: the likelihood loses what the units say */
        for (int i = 0; i < 5; i++)
            up[i] = (which & GP_SCALE ? 3 * y[i] : y[i]) + (which & GP_MEAN ? 7 : 0);
        gp_clear(g);
        assert_int_equal(gp_add(g, GP_MEASURED, x, up, 5), GPM_OK);
        assert_int_equal(gp_logml(g, &d1), GPM_OK);
        d2 = which & GP_SCALE ? gp_dof(g) * log(3) : 0;
        assert_close(d1, logml - d2, 1e-10);
        gp_free(g);
        kern_unref(k);
    }
}

/* A point that comes costs its own row: whether all of them lie on a grid, for which they are
 * sorted, is asked when kernels among themselves are needed, not at every prediction. */
static void points_one_by_one(void **state) {
    struct gp *g = make("SE(sf=1, l=2)+WN(sigma=0.3)", 1, 0.1);
    for (int i = 0; i < 40; i++) {
        double x = 10 * uniform(), y = sin(x), at = x + 0.01, mean, var;
        assert_int_equal(gp_add(g, GP_MEASURED, &x, &y, 1), GPM_OK);
        if (i > 3) assert_false(g->places.known);
        assert_int_equal(gp_predict(g, &at, 1, GP_LATENT, &mean, &var), GPM_OK);
        if (i > 3) assert_false(g->places.known);
    }
    gp_free(g);
}

/* docs/gp.md shows what each way can do. */
static void table_of_ways(void **state) {
    struct buf page = BUF_INIT, row = BUF_INIT;
    assert_int_equal(file_read(SOURCE_DIR "/docs/gp.md", FILE_GIVEN, FILE_TEXT_MAX, &page), GPM_OK);
    for (size_t i = 0;; i++) {
        const struct gp_way *w = i ? gp_way_at(i - 1) : NULL;
        if (i && !w) break;
        buf_reset(&row);
        gp_way_print(w, &row);
        print_message("%s\n", row.data);
        if (!strstr(page.data, row.data)) fail_msg("docs/gp.md lacks the row above");
    }
    buf_release(&page);
    buf_release(&row);
}

/* What no way serves is refused with the reason of each. */
static void refusals(void **state) {
    enum { N = 40 };
    struct gp *g = make("RQ(sf=1, l=1, alpha=1)", 1, 0.1);
    struct buf why = BUF_INIT;
    double x[N], y[N], value;
    for (int i = 0; i < N; i++) x[i] = 10 * uniform(), y[i] = sin(x[i]);
    assert_int_equal(gp_add(g, GP_MEASURED, x, y, N), GPM_OK);
    gp_set_ways(g, GP_TOEPLITZ | GP_FILTERS);
    gp_set_approx(g, GP_EXACT, 0);
    assert_int_equal(gp_logml(g, &value), GPM_E_LIMIT);
    gp_refusal(g, &why);
    assert_non_null(strstr(why.data, "Toeplitz: the inputs are no regular grid"));
    assert_non_null(strstr(why.data, "filters: the kernel has no form"));
    buf_reset(&why);
    gp_set_ways(g, GP_EXACT_WAYS);
    gp_set_approx(g, GP_VECCHIA, 10);
    assert_int_equal(gp_component(g, gp_kern(g), x, 1, &value, NULL), GPM_E_LIMIT);
    gp_refusal(g, &why);
    assert_non_null(strstr(why.data, "Vecchia (block neighbours): parts"));
    buf_release(&why);
    gp_free(g);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(likelihood),
        cmocka_unit_test(random_changes),
        cmocka_unit_test(exact_values),
        cmocka_unit_test(gradient),
        cmocka_unit_test(proposals),
        cmocka_unit_test(cached_terms),
        cmocka_unit_test(conditional),
        cmocka_unit_test(prediction),
        cmocka_unit_test(draws),
        cmocka_unit_test(leave_one_out),
        cmocka_unit_test(repeated_inputs),
        cmocka_unit_test(parts),
        cmocka_unit_test(degenerate),
        cmocka_unit_test(callbacks),
        cmocka_unit_test(out_of_memory),
        cmocka_unit_test(integrated),
        cmocka_unit_test(points_one_by_one),
        cmocka_unit_test(table_of_ways),
        cmocka_unit_test(refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
