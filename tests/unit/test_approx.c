/* SPDX-License-Identifier: Apache-2.0
 *
 * Approximations against the exact GP: they are exact when their size covers the data, close when
 * the function suits them, and named.
 */
#include "support/check.h"

#include "gp/process/gp.h"

static uint64_t state_;
static double uniform(void) {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return (double)(state_ >> 11) * 0x1p-53;
}

struct result {
    double logml, mean[20], var[20], cov[400];
    const char *method;
};

static void run(const char *text, int dim, const double *x, const double *y, size_t n, double noise,
                enum gp_approx kind, size_t size, struct result *r) {
    struct kern *k = NULL;
    assert_int_equal(kern_parse(text, &k, NULL), GPM_OK);
    struct gp *g = gp_new(dim, k, NULL, noise, NULL);
    double xs[40];
    gp_set_ways(g, GP_FACTORS);
    gp_set_approx(g, kind, size);
    assert_int_equal(gp_add(g, GP_MEASURED, x, y, n), GPM_OK);
    assert_int_equal(gp_logml(g, &r->logml), GPM_OK);
    for (int i = 0; i < 20 * dim; i++) xs[i] = 0.3 + 0.47 * i / dim;
    assert_int_equal(gp_predict(g, xs, 20, GP_LATENT, r->mean, r->var), GPM_OK);
    assert_int_equal(gp_predict_cov(g, xs, 20, GP_LATENT, NULL, r->cov, 20), GPM_OK);
    r->method = gp_method(g);
    gp_free(g);
    kern_unref(k);
}

static void same(const struct result *a, const struct result *b, double tol) {
    assert_close(a->logml, b->logml, tol);
    for (int i = 0; i < 20; i++) {
        assert_close(a->mean[i], b->mean[i], tol);
        assert_close(a->var[i], b->var[i], tol);
        assert_close(a->cov[i * 21], b->cov[i * 21], tol);
    }
}

/* Size >= n: nothing is left out. */
static void covering(void **state) {
    double x[300], y[150];
    struct result exact, got;
    for (int dim = 1; dim <= 2; dim++) {
        state_ = 3;
        for (int i = 0; i < 300; i++) x[i] = 10 * uniform();
        for (int i = 0; i < 150; i++) y[i] = sin(x[i * dim]) + 0.2 * uniform();
        run("SE(sf=1, l=1) + WN(sigma=0.2)", dim, x, y, 150, 0.1, GP_EXACT, 0, &exact);
        assert_string_equal(exact.method, "Cholesky");
        run("SE(sf=1, l=1) + WN(sigma=0.2)", dim, x, y, 150, 0.1, GP_VECCHIA, 400, &got);
        assert_string_equal(got.method, "Vecchia (block neighbours)");
        same(&got, &exact, 1e-7);
        run("SE(sf=1, l=1) + WN(sigma=0.2)", dim, x, y, 150, 0.1, GP_INDUCING, 150, &got);
        assert_string_equal(got.method, "inducing points (FITC)");
        same(&got, &exact, 1e-5); /* the inducing matrix needs jitter */
    }
}

static void suited(void **state) {
    static double x[1500], y[1500];
    struct result exact, got;
    state_ = 4;
    for (int i = 0; i < 1500; i++) x[i] = 10 * uniform(), y[i] = sin(3 * x[i]) + 0.4 * uniform();
    run("SE(sf=1, l=0.7)", 1, x, y, 1500, 0.2, GP_EXACT, 0, &exact);
    run("SE(sf=1, l=0.7)", 1, x, y, 1500, 0.2, GP_INDUCING, 100, &got);
    same(&got, &exact, 1e-6);
    run("MAT12(sf=1, l=0.5)", 1, x, y, 1500, 0.2, GP_EXACT, 0, &exact);
    run("MAT12(sf=1, l=0.5)", 1, x, y, 1500, 0.2, GP_VECCHIA, 250, &got);
    same(&got, &exact, 2e-3);
    /* Markov without noise: one neighbour says it all. */
    run("MAT12(sf=1, l=0.5)", 1, x, y, 1500, 0, GP_EXACT, 0, &exact);
    run("MAT12(sf=1, l=0.5)", 1, x, y, 1500, 0, GP_VECCHIA, 20, &got);
    same(&got, &exact, 1e-7);
}

static void automatic(void **state) {
    size_t n = 9000;
    double *x = malloc(n * sizeof *x), *y = malloc(n * sizeof *y), lm, g[2], dn, f[2], m, v, at = 5;
    state_ = 5;
    for (size_t i = 0; i < n; i++) x[i] = 100 * uniform(), y[i] = sin(x[i]) + 0.2 * uniform();
    struct kern *smooth = NULL, *rough = NULL;
    assert_int_equal(kern_parse("SE(sf=1, l=2)", &smooth, NULL), GPM_OK);
    assert_int_equal(kern_parse("MAT12(sf=1, l=2)", &rough, NULL), GPM_OK);
    struct gp *p = gp_new(1, smooth, NULL, 0.2, NULL);
    gp_set_ways(p, GP_FACTORS); /* filters would serve, exactly */
    assert_int_equal(gp_add(p, GP_MEASURED, x, y, n), GPM_OK);
    assert_int_equal(gp_logml(p, &lm), GPM_OK);
    assert_string_equal(gp_method(p), "inducing points (FITC)");
    assert_int_equal(gp_predict(p, &at, 1, GP_LATENT, &m, &v), GPM_OK);
    assert_close(m, sin(5) + 0.1, 0.05);
    assert_int_equal(gp_loo(p, NULL, NULL, &lm), GPM_E_LIMIT);
    assert_int_equal(gp_logml_grad(p, &lm, g, &dn), GPM_OK);
    for (int s = 0; s < 2; s++)
        assert_int_equal(gp_propose(p, smooth, NULL, s ? 0.2 - 1e-4 : 0.2 + 1e-4, &f[s]), GPM_OK);
    assert_close(dn, (f[0] - f[1]) / 2e-4, 1e-4);
    assert_int_equal(gp_set_model(p, rough, NULL, 0.2), GPM_OK);
    assert_int_equal(gp_logml(p, &lm), GPM_OK);
    assert_string_equal(gp_method(p), "Vecchia (block neighbours)");
    struct buf text = BUF_INIT;
    assert_int_equal(gp_report(p, &text), GPM_OK);
    assert_non_null(strstr(text.data, "Vecchia"));
    buf_release(&text);
    gp_free(p);
    kern_unref(smooth);
    kern_unref(rough);
    free(x), free(y);
}

/* Log likelihood of data like a random walk with a trend and a cycle, and the error it admits. */
static double walk_logml(const char *text, size_t n, enum gp_approx kind, size_t size,
                         double *error, const char **method) {
    double *x = malloc(n * sizeof *x), *y = malloc(n * sizeof *y), walk = 0, lm = 0;
    struct kern *k = NULL;
    state_ = 6;
    for (size_t i = 0; i < n; i++) {
        double noise = uniform() + uniform() + uniform() - 1.5;
        x[i] = ((double)i + 0.3 * uniform()) / (double)n;
        walk += (uniform() - 0.5) * sqrt(12.0 / (double)n);
        y[i] = walk + 2 * x[i] + sin(40 * x[i]) + 0.2 * noise;
    }
    assert_int_equal(kern_parse(text, &k, NULL), GPM_OK);
    struct gp *g = gp_new(1, k, NULL, 0.1, NULL);
    gp_set_ways(g, GP_FACTORS);
    gp_set_approx(g, kind, size);
    assert_int_equal(gp_add(g, GP_MEASURED, x, y, n), GPM_OK);
    assert_int_equal(gp_logml(g, &lm), GPM_OK);
    *error = gp_approx_error(g);
    *method = gp_method(g);
    gp_free(g);
    kern_unref(k);
    free(x), free(y);
    return lm;
}

/* An approximation that is off by more than a nat says so; one that is exact does not cry. */
static void errors_are_admitted(void **state) {
    static const char *const kernels[] = {
        "LIN(sf=1) + WIENER(sf=1)", "LIN(sf=1) + MAT32(sf=0.3, l=0.01) + PER(sf=1, p=0.157, l=1)",
        "SE(sf=1, l=0.3) * PER(sf=1, p=0.157, l=1) + WIENER(sf=1)", "MAT12(sf=1, l=0.1)",
        "SE(sf=1, l=0.05)"};
    for (size_t i = 0; i < COUNT_OF(kernels); i++)
        for (int kind = GP_INDUCING; kind <= GP_VECCHIA; kind++) {
            double error, none;
            const char *method;
            double exact = walk_logml(kernels[i], 1500, GP_EXACT, 0, &none, &method);
            double got = walk_logml(kernels[i], 1500, (enum gp_approx)kind, 40, &error, &method);
            double off = fabs(got - exact);
            if (off > 1 && !(error > GP_ERROR_SMALL && error > off / 4))
                fail_msg("%s by %s is off by %g, admits %g", kernels[i], method, off, error);
            if (off < 1e-3 && error > GP_ERROR_SMALL)
                fail_msg("%s by %s is off by %g, claims %g", kernels[i], method, off, error);
            print_message("%s by %s: off by %.3g, admits %.3g\n", kernels[i], method, off, error);
            assert_true(none == 0);
        }
}

/* A function rough beside the noise has neighbours, however little that is of its variance. */
static void automatic_compares_with_noise(void **state) {
    double error;
    const char *method;
    walk_logml("LIN(sf=1) + WIENER(sf=1)", 8200, GP_AUTO, 0, &error, &method);
    assert_string_equal(method, "Vecchia (block neighbours)");
    assert_true(error < GP_ERROR_SMALL);
}

/* On a regular grid too, where a faster exact way exists. */
static void request_wins(void **state) {
    double x[100], y[100], lm;
    struct kern *k = NULL;
    for (int i = 0; i < 100; i++) x[i] = i, y[i] = sin(0.3 * i);
    assert_int_equal(kern_parse("SE(sf=1, l=5)", &k, NULL), GPM_OK);
    struct gp *g = gp_new(1, k, NULL, 0.1, NULL);
    gp_set_approx(g, GP_VECCHIA, 30);
    assert_int_equal(gp_add(g, GP_MEASURED, x, y, 100), GPM_OK);
    assert_int_equal(gp_logml(g, &lm), GPM_OK);
    assert_string_equal(gp_method(g), "Vecchia (block neighbours)");
    gp_free(g);
    kern_unref(k);
}

/* ---- gradients ---- */

/* The log likelihood with one parameter moved: those of the kernel, the noise, then the mean's. */
static double moved(struct gp *g, const struct kern *k, const double *b, double noise, size_t at,
                    double by) {
    double theta[16], mean[3], lm;
    size_t np = kern_nparam(k), dim = (size_t)gp_dim(g);
    kern_params(k, theta);
    memcpy(mean, b, sizeof mean);
    if (at < np)
        theta[at] += by;
    else if (at == np)
        noise += by;
    else
        mean[at - np - 1] += by;
    struct kern *q = kern_with_params(k, theta, NULL);
    struct mean *m = mean_linear(mean[0], mean + 1, dim);
    assert_non_null(q);
    assert_int_equal(gp_propose(g, q, m, noise, &lm), GPM_OK);
    gp_reject(g);
    kern_unref(q);
    mean_unref(m);
    return lm;
}

/* Central differences of fourth order with two steps, and what they tend to. */
static double slope_of(struct gp *g, const struct kern *k, const double *b, double noise, size_t at,
                       double value) {
    double d[2], h = 2e-3 * fmax(0.05, fabs(value));
    for (int i = 0; i < 2; i++, h /= 2)
        d[i] = (8 * (moved(g, k, b, noise, at, h) - moved(g, k, b, noise, at, -h)) -
                (moved(g, k, b, noise, at, 2 * h) - moved(g, k, b, noise, at, -2 * h))) /
               (12 * h);
    return d[1] + (d[1] - d[0]) / 15;
}

static double worst_;

static void compare_slopes(struct gp *g, const struct kern *k, const double *b, double noise,
                           const char *text) {
    double slope[24] = {0}, theta[24], lm, again;
    size_t np = kern_nparam(k), all = np + 2 + (size_t)gp_dim(g);
    kern_params(k, theta);
    theta[np] = noise;
    memcpy(theta + np + 1, b, 3 * sizeof *b);
    assert_int_equal(gp_grad_weighted(g, 1, &lm, slope, slope + np + 1, slope + np), GPM_OK);
    assert_int_equal(gp_logml(g, &again), GPM_OK);
    assert_true(lm == again);
    for (size_t i = 0; i < all; i++) {
        if (i < np && kern_param_at(k, i)->transform == KERN_T_FIXED) continue;
        if (i == np && noise == 0) continue;
        double want = slope_of(g, k, b, noise, i, theta[i]), scale = fmax(1, fabs(want));
        if (!(fabs(slope[i] - want) <= 1e-6 * scale))
            fail_msg("%s, %s, noise %g: slope %zu is %.10g, differences %.10g", text, gp_method(g),
                     noise, i, slope[i], want);
        worst_ = fmax(worst_, fabs(slope[i] - want) / scale);
    }
}

static void slopes_with(const char *text, int dim, enum gp_approx kind, double noise) {
    enum { N = 300 };
    static double x[2 * N], y[N];
    double b[3] = {0.3, -0.2, 0.1};
    struct kern *k = NULL;
    state_ = 8;
    for (int i = 0; i < N; i++) {
        for (int c = 0; c < dim; c++) x[i * dim + c] = 5 * uniform() + 0.1;
        y[i] = sin(2 * x[i * dim]) + 0.3 * x[i * dim + dim - 1] + 0.4 * uniform();
    }
    assert_int_equal(kern_parse(text, &k, NULL), GPM_OK);
    struct mean *m = mean_linear(b[0], b + 1, (size_t)dim);
    struct gp *g = gp_new(dim, k, m, noise, NULL);
    gp_set_approx(g, kind, kind == GP_INDUCING ? 24 : 40);
    assert_int_equal(gp_add(g, GP_MEASURED, x, y, N), GPM_OK);
    for (int i = 0; i < 20; i++) y[i] += 0.1; /* replicates */
    if (noise > 0) assert_int_equal(gp_add(g, GP_MEASURED, x, y, 20), GPM_OK);
    if (noise > 0 && kind == GP_VECCHIA) /* values of the function itself */
        assert_int_equal(gp_add(g, GP_LATENT, x + 30 * dim, y + 30, 3), GPM_OK);
    compare_slopes(g, k, b, noise, text);
    gp_free(g);
    kern_unref(k);
    mean_unref(m);
}

static void slopes_are_those_of_the_likelihood(void **state) {
    static const struct {
        const char *text;
        int dim;
    } of[] = {{"SE(sf=1, l=0.3)", 1},
              {"MAT32(sf=1.2, l=0.9)", 1},
              {"LIN(sf=0.7) + WIENER(sf=1)", 1},
              {"SE(sf=1, l=2) * PER(sf=1.1, p=1.7, l=0.8)", 1},
              {"WN(sigma=0.3) + SE(sf=1, l=1) + WN(sigma=0.2) + RQ(sf=0.5, l=2)", 1},
              {"CP(SE(sf=1, l=0.8), LIN(sf=1) + MAT52(sf=1, l=1), tau=2.3, s=0.5)", 1},
              {"SE(sf=1, l=[0.9, 2.1])", 2},
              {"MAT32(sf=1, l=[1.5, 2.5]) + LIN(sf=0.3, dims=[1])", 2}};
    static const double noise[] = {0.5, 0.1, 0.05};
    for (size_t i = 0; i < COUNT_OF(of); i++)
        for (int kind = GP_INDUCING; kind <= GP_VECCHIA; kind++)
            for (size_t j = 0; j < COUNT_OF(noise); j++)
                slopes_with(of[i].text, of[i].dim, (enum gp_approx)kind, noise[j]);
    slopes_with("MAT12(sf=1.2, l=0.9)", 1, GP_VECCHIA, 0); /* exact values alone */
    print_message("slopes differ by %.1e at most\n", worst_);
}

/* The gradient of a proposed model leaves both models where they are. */
static void slopes_of_a_proposal(void **state) {
    double x[100], y[100], was, lm, got, back, dk[2], same[2];
    struct kern *k = NULL, *q = NULL;
    for (int i = 0; i < 100; i++) x[i] = i, y[i] = sin(0.3 * i);
    assert_int_equal(kern_parse("SE(sf=1, l=5)", &k, NULL), GPM_OK);
    assert_int_equal(kern_parse("SE(sf=2, l=4)", &q, NULL), GPM_OK);
    for (int kind = GP_INDUCING; kind <= GP_VECCHIA; kind++) {
        struct gp *g = gp_new(1, k, NULL, 0.1, NULL);
        gp_set_approx(g, (enum gp_approx)kind, 30);
        assert_int_equal(gp_add(g, GP_MEASURED, x, y, 100), GPM_OK);
        assert_int_equal(gp_logml(g, &was), GPM_OK);
        assert_int_equal(gp_propose(g, q, NULL, 0.2, &lm), GPM_OK);
        assert_int_equal(gp_logml_grad(g, &got, dk, NULL), GPM_OK);
        assert_true(got == lm);
        assert_int_equal(gp_logml(g, &back), GPM_OK);
        assert_true(back == was && kern_equal(gp_kern(g), k));
        gp_accept(g);
        assert_true(kern_equal(gp_kern(g), q) && gp_noise(g) == 0.2);
        assert_int_equal(gp_logml_grad(g, &got, same, NULL), GPM_OK);
        assert_true(got == lm && same[0] == dk[0] && same[1] == dk[1]);
        gp_free(g);
    }
    kern_unref(k);
    kern_unref(q);
}

/* Other outputs are not answered with the likelihood of those before. */
static void other_outputs(void **state) {
    double x[100], y[100], lm, fresh;
    struct kern *k = NULL;
    assert_int_equal(kern_parse("SE(sf=1, l=5)", &k, NULL), GPM_OK);
    for (int kind = GP_INDUCING; kind <= GP_VECCHIA; kind++) {
        for (int i = 0; i < 100; i++) x[i] = i, y[i] = sin(0.3 * i);
        struct gp *g = gp_new(1, k, NULL, 0.1, NULL);
        gp_set_approx(g, (enum gp_approx)kind, 30);
        assert_int_equal(gp_add(g, GP_MEASURED, x, y, 100), GPM_OK);
        assert_int_equal(gp_logml(g, &lm), GPM_OK);
        for (int i = 0; i < 100; i++) y[i] = cos(0.2 * i);
        gp_clear(g);
        assert_int_equal(gp_add(g, GP_MEASURED, x, y, 100), GPM_OK);
        assert_int_equal(gp_logml(g, &lm), GPM_OK);
        gp_forget(g);
        assert_int_equal(gp_logml(g, &fresh), GPM_OK);
        assert_true(lm == fresh);
        gp_free(g);
    }
    kern_unref(k);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(covering),
                                       cmocka_unit_test(suited),
                                       cmocka_unit_test(automatic),
                                       cmocka_unit_test(errors_are_admitted),
                                       cmocka_unit_test(automatic_compares_with_noise),
                                       cmocka_unit_test(request_wins),
                                       cmocka_unit_test(slopes_are_those_of_the_likelihood),
                                       cmocka_unit_test(slopes_of_a_proposal),
                                       cmocka_unit_test(other_outputs)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
