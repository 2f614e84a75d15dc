/* SPDX-License-Identifier: Apache-2.0
 *
 * Choices whose transform follows their arguments: between bounds that are other choices, and
 * centred by degrees around them. By flats and through scaffolds the log density must have its
 * gradient, differ from that of the values by the log Jacobian alone, and lead there and back.
 */
#include "support/check.h"
#include "support/program.h"

#include "inference/hmc/placed.h"

enum { MOST = 64 };

static const char *const programs[] = {
    /* bounds */
    "assume a = flat(lower=0, upper=1); assume b = flat(lower=0, upper=1 - a);"
    "observe normal(a + b, 0.1) = 0.9;",
    "assume y = gamma(2, 1); assume x = uniform_continuous(0, y); assume w = "
    "uniform_continuous(-x, y);"
    "observe normal(x * y + w, 1) = 2;",
    "assume m = normal(0, 1); assume x = normal(1, 2, lower=m); assume z = normal(m, exp(x / 9), "
    "upper=x);"
    "observe normal(x + z, 1) = 2;",
    "assume m = gamma(3, 1); assume x = pareto(m, 2); observe normal(x, 1) = 2;",
    "assume m = normal(0, 1); assume s = gamma(3, 1);"
    "assume v = uniform_continuous([m, 0, m - 1], [m + s, s, m + 2]); assume u = normal(fill(7, "
    "m), s, lower=m);"
    "observe normal(v, 1) = [0, 1, 2]; observe normal(sum(u), 1) = 3;",
    /* degrees */
    "assume m = normal(0, 3); assume s = gamma(2, 1); assume x = normal(m, s); observe normal(x, "
    "1) = 2;",
    "assume m = normal(0, 3); assume s = gamma(2, 1); assume x = normal(fill(8, m), s);"
    "observe normal(x, vector(1, 2, 3, 4, 5, 6, 7, 8)) = vector(3, 1, 4, 1, 5, 9, 2, 6);",
    "assume s = gamma(2, 1); assume x = normal(vector(1, 2, 3, 4, 5, 6, 7), s); assume y = "
    "student_t(4, x, exp(x));"
    "observe normal(sum(y), 1) = 2;",
    "assume s = gamma(2, 1); assume h = mem(t -> if (t == 0) { normal(0, s) } else { normal(0.9 * "
    "h(t - 1), s) });"
    "for (t = 0; t < 6; t++) { observe normal(0, exp(h(t))) = t / 3 };",
    "assume m = cauchy(0, 1); assume g = mem(i -> laplace(m, exp(m))); for (i = 0; i < 12; i++) { "
    "observe poisson(exp(g(i) "
    "/ 9)) = i };",
};

static struct continuous *open_all(struct session *s, bool generally, const double *by) {
    struct infer_state *x = &s->infer;
    struct trace *t = x->model->p.at[0];
    struct step step = {.x = x, .t = t, .at = t->choices.at, .n = t->choices.n};
    struct continuous *c = calloc(1, sizeof *c);
    assert_int_equal(continuous_open(&step, true, c), GPM_OK);
    assert_true(c->n_z > 1 && c->n_z <= MOST && c->placed);
    if (generally) assert_int_equal(move_generally(&c->m), GPM_OK);
    assert_int_equal(continuous_centre(c, by), GPM_OK);
    return c;
}

static double weigh(struct continuous *c, const double *z, double *g) {
    double logp;
    assert_int_equal(continuous_eval(c, z, &logp, g), GPM_OK);
    return logp;
}

static void check_gradient(struct continuous *c, const char *program) {
    double z[MOST], g[MOST], h = 1e-5;
    for (size_t i = 0; i < c->n_z; i++) z[i] = c->old[i] + 0.3 * sin(1 + 3 * (double)i);
    double at = weigh(c, z, g);
    assert_true(isfinite(at));
    for (size_t i = 0; i < c->n_z; i++) {
        double keep = z[i], up, down;
        z[i] = keep + h;
        up = weigh(c, z, NULL);
        z[i] = keep - h;
        down = weigh(c, z, NULL);
        z[i] = keep;
        double want = (up - down) / (2 * h);
        if (!(fabs(g[i] - want) < 1e-5 * (1 + fabs(want) + fabs(at))))
            fail_msg("%s\n at number %zu: %.12g, difference %.12g", program, i, g[i], want);
    }
}

/* At any point: what is built weighs what was evaluated, and opening it again finds z and the same
 * weight. */
static void check_there_and_back(struct session *s, bool generally, const double *by) {
    struct continuous *c = open_all(s, generally, by);
    double z[MOST], logp;
    assert_close(weigh(c, c->old, NULL), c->w_old, 1e-9);
    for (size_t i = 0; i < c->n_z; i++) z[i] = c->old[i] + 0.2 * cos(2 * (double)i);
    assert_int_equal(continuous_build(c, z, &logp), GPM_OK);
    assert_close(logp, weigh(c, z, NULL), 1e-9);
    assert_int_equal(continuous_build(c, z, &logp), GPM_OK);
    continuous_close(c, true);
    free(c);
    c = open_all(s, !generally, by);
    assert_close(c->w_old, logp, 1e-9);
    for (size_t i = 0; i < c->n_z; i++) assert_close(c->old[i], z[i], 1e-7);
    continuous_close(c, false);
    free(c);
}

static void each_program(void **state) {
    for (size_t p = 0; p < COUNT_OF(programs); p++)
        for (size_t mode = 0; mode < 8; mode++) {
            double by[MOST];
            static const double degrees[] = {1, 0, 0.5};
            for (size_t i = 0; i < MOST; i++) by[i] = degrees[mode / 2 < 3 ? mode / 2 : i % 3];
            struct session *s = session_with(programs[p], 7);
            struct continuous *c = open_all(s, mode % 2, by);
            check_gradient(c, programs[p]);
            continuous_close(c, false);
            free(c);
            check_there_and_back(s, mode % 2, by);
            session_done(s);
        }
}

/* The same state has the same log weight but for the log Jacobian, whatever the degree. */
static void the_measure_is_kept(void **state) {
    struct session *s = session_with(programs[6], 7);
    double ones[MOST], zeros[MOST] = {0};
    for (size_t i = 0; i < MOST; i++) ones[i] = 1;
    struct continuous *c = open_all(s, false, ones);
    double centred = c->w_old - continuous_log_jacobian(c, c->old);
    continuous_close(c, false);
    free(c);
    c = open_all(s, false, zeros);
    assert_close(c->w_old - continuous_log_jacobian(c, c->old), centred, 1e-10);
    continuous_close(c, false);
    free(c);
    session_done(s);
}

/* Draws of the prior are shown as z. */
static void prior_draws_are_placed(void **state) {
    for (size_t p = 1; p < COUNT_OF(programs); p++)
        for (int generally = 0; generally < 2; generally++) {
            struct session *s = session_with(programs[p], 7);
            double by[MOST] = {0}, z[MOST], logp;
            struct continuous *c = open_all(s, generally, by);
            bool ok = false;
            assert_int_equal(continuous_prior(c, z, NULL, &ok), GPM_OK);
            if (ok && weigh(c, z, NULL) > -INFINITY) {
                assert_int_equal(continuous_build(c, z, &logp), GPM_OK);
                continuous_close(c, true);
                free(c);
                c = open_all(s, generally, by);
                for (size_t i = 0; i < c->n_z; i++) assert_close(c->old[i], z[i], 1e-6);
            }
            continuous_close(c, false);
            free(c);
            session_done(s);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_program),
        cmocka_unit_test(the_measure_is_kept),
        cmocka_unit_test(prior_draws_are_placed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
