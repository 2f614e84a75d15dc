/* SPDX-License-Identifier: Apache-2.0
 *
 * The paper's grammar: 94 kernels, 49 structures, the prior; gradients of its density against
 * differences; the posterior of a small series against brute-force integration.
 */
#include "la/blas.h"
#include "discover/paper.h"
#include "support/check.h"

static void test_grammar(void **state) {
    UNUSED(state);
    struct paper_grammar g;
    paper_grammar_init(&g);
    assert_int_equal(g.n_kernels, 94);
    assert_int_equal(g.n_structures, 49);
    double sum = 0;
    static const struct {
        const char *text;
        double prior; /* of structure.md, conditioned on a non-empty selection */
    } known[] = {{"WN", 0.156},
                 {"LIN*WN", 0.076},
                 {"LIN + PER + SE + WN", 0.0083},
                 {"LIN + SE*PER + WN", 0.0028}};
    for (int k = 0; k < g.n_structures; k++) {
        sum += g.structure[k].prior;
        for (size_t i = 0; i < COUNT_OF(known); i++)
            if (!strcmp(known[i].text, g.structure[k].text))
                assert_true(fabs(g.structure[k].prior - known[i].prior) < 0.0006);
    }
    assert_close(sum, 1, 1e-12);
    paper_grammar_release(&g);
}

static void make_series(struct series *s, size_t n, bool grid) {
    struct rng r;
    rng_init(&r, 5, 0, 0);
    memset(s, 0, sizeof *s);
    s->n = n;
    s->x = NEW_ARRAY(double, n);
    s->y = NEW_ARRAY(double, n);
    s->name = mem_strdup("test");
    for (size_t i = 0; i < n; i++) {
        s->x[i] = (double)i + (grid ? 0 : 0.7 * rng_uniform(&r));
        s->y[i] = 0.4 * s->x[i] + 3 * sin(s->x[i] * M_PI / 2) + rng_normal(&r);
    }
}

static void check_kernel(const struct paper_data *d, const struct paper_kernel *k,
                         struct paper_work *w, struct rng *r) {
    int par[PAPER_PARS], n = paper_pars(k, par);
    double z[PAPER_PARS], g[PAPER_PARS], h = 1e-6;
    for (int i = 0; i < n; i++) z[i] = 1 + 0.4 * rng_normal(r);
    if (!isfinite(paper_eval(d, k, w, z, g))) return; /* noiseless kernels may be singular */
    if (!(k->leaves & FACTOR_BIT(FACTOR_WN))) return; /* differences lose all digits there */
    for (int i = 0; i < n; i++) {
        double z0 = z[i];
        z[i] = z0 + h;
        double a = paper_eval(d, k, w, z, NULL);
        z[i] = z0 - h;
        double b = paper_eval(d, k, w, z, NULL);
        z[i] = z0;
        double fd = (a - b) / (2 * h);
        if (fabs(fd - g[i]) > 1e-4 * (1 + fabs(fd)))
            fail_msg("parameter %d: %g %g", par[i], g[i], fd);
    }
}

static void test_gradients(void **state) {
    UNUSED(state);
    struct paper_grammar g;
    paper_grammar_init(&g);
    for (int grid = 0; grid < 2; grid++) {
        struct series s;
        struct paper_data d;
        struct paper_options o = {.x_scale = 1, .y_sd = 3};
        struct rng r;
        rng_init(&r, 6, 0, 0);
        make_series(&s, 30, grid);
        paper_data_init(&d, &s, &o);
        assert_int_equal(d.grid, grid);
        struct paper_work *w = paper_work_new(&d);
        for (int i = 0; i < g.n_kernels; i++) check_kernel(&d, &g.kernel[i], w, &r);
        paper_work_free(w);
        paper_data_release(&d);
        series_release(&s);
    }
    paper_grammar_release(&g);
}

/* Evidence of the kernel WN: one parameter, so a fine sum over log sigma is exact. */
static void test_evidence_of_noise(void **state) {
    UNUSED(state);
    struct series s;
    make_series(&s, 24, true);
    struct rng noise;
    rng_init(&noise, 8, 0, 0);
    for (size_t i = 0; i < s.n; i++) s.y[i] = rng_normal(&noise);
    struct paper_result r;
    struct buf err = BUF_INIT;
    struct paper_options o = {
        .x_scale = 1, .y_sd = 4, .seed = 3, .threads = 2, .draws = 2000, .steps = 200};
    assert_int_equal(paper_run(&r, &s, &o, &err), GPM_OK);
    double yy = 0, sum = 0, n = 24;
    for (size_t i = 0; i < r.data.n; i++) yy += r.data.y[i] * r.data.y[i];
    for (double z = -4; z < 6; z += 0.001) {
        double th = exp(z);
        sum += 0.001 * exp(-0.5 * yy / (th * th) - n * z - 0.5 * n * log(2 * M_PI) + 5 * z - th -
                           lgamma(5));
    }
    bool found = false;
    for (int i = 0; i < r.g.n_kernels; i++)
        if (r.g.kernel[i].n == 1 && r.g.kernel[i].leaves == FACTOR_BIT(FACTOR_WN) && !r.e[i].rough)
            found = fabs(r.e[i].logz - log(sum)) < 0.1;
    assert_true(found);
    double total = 0;
    for (int k = 0; k < r.g.n_structures; k++) total += r.g.structure[k].p;
    assert_close(total, 1, 1e-9);
    paper_release(&r);
    series_release(&s);
    buf_release(&err);
}

int main(void) {
    la_init();
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_grammar),
                                       cmocka_unit_test(test_gradients),
                                       cmocka_unit_test(test_evidence_of_noise)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
