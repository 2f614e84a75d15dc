/* SPDX-License-Identifier: Apache-2.0
 *
 * The paper's program: 49 structures with their prior, and the evidence of the kernel WN, one
 * parameter, against a fine sum.
 */
#include "apps/discover/paper.h"
#include "support/check.h"

static void make_noise(struct series *s, size_t n) {
    struct rng r;
    rng_init(&r, 8, 0, 0);
    memset(s, 0, sizeof *s);
    s->n = n;
    s->x = NEW_ARRAY(double, n);
    s->y = NEW_ARRAY(double, n);
    s->name = mem_strdup("test");
    for (size_t i = 0; i < n; i++) {
        s->x[i] = (double)i;
        s->y[i] = rng_normal(&r);
    }
}

static const struct {
    const char *text;
    double prior; /* given that the selection is not empty */
} known[] = {{"WN", 0.156},
             {"LIN*WN", 0.076},
             {"LIN + PER + SE + WN", 0.0083},
             {"LIN + SE*PER + WN", 0.0028}};

/* Log evidence of noise on n values of standard deviation sd. */
static double noise_evidence(double n, double sd) {
    double sum = 0;
    for (double z = -4; z < 6; z += 0.001) {
        double th = exp(z);
        sum += 0.001 * exp(-0.5 * n * sd * sd / (th * th) - n * z - 0.5 * n * log(2 * M_PI) +
                           5 * z - th - lgamma(5));
    }
    return log(sum);
}

static void test_program(void **state) {
    struct series s;
    struct series_options read = {.max_points = 1000};
    struct paper p;
    struct buf err = BUF_INIT;
    struct paper_options o = {.x_scale = 1, .y_sd = 4, .seed = 3};
    double total = 0, mass = 0, prior[COUNT_OF(known)] = {0};
    bool found = false;
    make_noise(&s, 24);
    enum gpm_status st = paper_run(&p, &s, &read, &o, &err);
    if (st != GPM_OK) print_error("%s\n", err.data);
    assert_int_equal(st, GPM_OK);
    assert_int_equal(p.post->structures.n, 49);
    for (size_t i = 0; i < p.post->search->n; i++) {
        const struct evidence *e = p.post->search->at[i];
        total += e->prior;
        for (size_t k = 0; k < COUNT_OF(known); k++)
            if (!strcmp(known[k].text, e->text)) prior[k] += e->prior;
        if (!strcmp(e->derived, "WN") && !e->rough)
            found = fabs(e->logz - noise_evidence(24, 4)) < 0.1;
    }
    assert_true(found);
    assert_close(total, 15.0 / 16, 1e-9);
    for (size_t k = 0; k < COUNT_OF(known); k++)
        assert_true(fabs(prior[k] / total - known[k].prior) < 0.0006);
    for (size_t k = 0; k < p.post->structures.n; k++) mass += p.post->structures.at[k].p;
    assert_close(mass, 1, 1e-9);
    paper_release(&p);
    buf_release(&err);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_program)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
