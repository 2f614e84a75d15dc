/* SPDX-License-Identifier: Apache-2.0
 * Evaluations that give several numbers: bounds, several objectives, the front's volume. */
#include "support/check.h"

#include "apps/optimize/bo_priv.h"
#include "apps/optimize/pareto.h"

#define FREE (-INFINITY), INFINITY

static struct bo_space make_space(const char *text) {
    struct bo_space s;
    struct buf err = BUF_INIT;
    assert_int_equal(bo_space_parse(&s, text, &err), GPM_OK);
    buf_release(&err);
    return s;
}

typedef void numbers_fn(const double *x, double *y);

static void run(struct bo *b, numbers_fn *f, int n) {
    double x[8], y[8];
    for (int i = 0; i < n; i++) {
        assert_int_equal(bo_ask(b, x), GPM_OK);
        assert_true(bo_space_inside(b->space, x));
        f(x, y);
        bo_tell_all(b, x, y);
    }
}

/* The least x + y outside of a curved border: 0.59979 (Gramacy et al. 2016). */
static void gramacy(const double *x, double *y) {
    y[0] = x[0] + x[1];
    y[1] = 1.5 - x[0] - 2 * x[1] - 0.5 * sin(2 * M_PI * (x[0] * x[0] - 2 * x[1]));
    y[2] = x[0] * x[0] + x[1] * x[1] - 1.5;
}
static void gramacy_up(const double *x, double *y) { /* the same, turned over */
    gramacy(x, y);
    for (int k = 0; k < 3; k++) y[k] = -y[k];
}

static void bounds_are_kept(void **state) {
    (void)state;
    struct bo_space s = make_space("x=0:1\ny=0:1\n");
    const struct bo_goal down[] = {{1, FREE, NAN}, {0, -INFINITY, 0, NAN}, {0, -INFINITY, 0, NAN}};
    const struct bo_goal up[] = {{-1, FREE, NAN}, {0, 0, INFINITY, NAN}, {0, 0, INFINITY, NAN}};
    double x[2], y[3], z[3];
    struct bo *b = bo_new_goals(&s, NULL, down, 3, 2), *c = bo_new_goals(&s, NULL, up, 3, 2);
    run(b, gramacy, 80);
    run(c, gramacy_up, 80);
    assert_true(bo_best(b, x, y) && bo_feasible(b, y));
    assert_true(y[0] < 0.61 && y[1] <= 0 && y[2] <= 0);
    assert_true(bo_best(c, x, z) && bo_feasible(c, z));
    assert_true(z[0] > -0.61 && z[1] >= 0);
    bo_free(b);
    bo_free(c);
    bo_space_release(&s);
}

/* The welded beam (Rao 1996): stresses of 10^4 to 10^7, and the least cost, 1.72485, at the end of
 * a narrow valley between two of them. */
static void welded_beam(const double *x, double *y) {
    double h = x[0], l = x[1], t = x[2], b = x[3], P = 6000, L = 14, E = 30e6, G = 12e6;
    double R2 = l * l / 4 + (h + t) * (h + t) / 4, J = 2 * M_SQRT2 * h * l * (R2 - l * l / 6);
    double t1 = P / (M_SQRT2 * h * l), t2 = P * (L + l / 2) * sqrt(R2) / J;
    y[0] = 1.10471 * h * h * l + 0.04811 * t * b * (14 + l);
    y[1] = sqrt(t1 * t1 + t1 * t2 * l / sqrt(R2) + t2 * t2) - 13600;
    y[2] = 6 * P * L / (b * t * t) - 30000;
    y[3] = h - b;
    y[4] = 4 * P * L * L * L / (E * t * t * t * b) - 0.25;
    y[5] = P - 4.013 * E * t * b * b * b / 6 / (L * L) * (1 - t / (2 * L) * sqrt(E / (4 * G)));
}

static void valleys_between_bounds_are_followed(void **state) {
    (void)state;
    struct bo_space s = make_space("h=0.125:10\nl=0.1:10\nt=0.1:10\nb=0.1:10\n");
    struct bo_goal goals[6] = {{1, FREE, NAN}};
    int found = 0;
    for (int k = 1; k < 6; k++) goals[k] = (struct bo_goal){0, -INFINITY, 0, NAN};
    for (uint64_t seed = 201; seed <= 208; seed++) {
        double x[4], y[6];
        struct bo *b = bo_new_goals(&s, NULL, goals, 6, seed);
        run(b, welded_beam, 100);
        assert_true(bo_best(b, x, y));
        print_message("seed %d: %g\n", (int)seed, y[0]);
        found += bo_feasible(b, y) && y[0] <= 1.01 * 1.7248523;
        bo_free(b);
    }
    assert_true(found >= 7);
    bo_space_release(&s);
}

/* Two bounds on one number that hold in a ring of width 0.002 only: found from nothing feasible,
 * and the least x in it. */
static void ring(const double *x, double *y) {
    y[0] = x[0];
    y[1] = x[0] * x[0] + x[1] * x[1];
}
static void equality_by_tolerance(void **state) {
    (void)state;
    struct bo_space s = make_space("x=0:1\ny=0:0.8\n");
    const struct bo_goal goals[] = {{1, FREE, NAN}, {0, 0.999, 1.001, NAN}};
    double x[2], y[2];
    struct bo *b = bo_new_goals(&s, NULL, goals, 2, 1);
    run(b, ring, 12);
    assert_true(bo_best(b, x, y));
    run(b, ring, 40);
    assert_true(bo_best(b, x, y) && bo_feasible(b, y));
    assert_true(fabs(y[0] - sqrt(0.999 - 0.64)) < 1e-3);
    bo_free(b);
    bo_space_release(&s);
}

/* Nothing can be feasible: it goes on, and the best is what breaks the bound least. */
static void hopeless(const double *x, double *y) {
    y[0] = x[0];
    y[1] = 1 + (x[0] - 0.3) * (x[0] - 0.3);
}
static void nothing_feasible(void **state) {
    (void)state;
    struct bo_space s = make_space("x=0:1\n");
    const struct bo_goal goals[] = {{1, FREE, NAN}, {0, -INFINITY, 0, NAN}};
    double x[1], y[2];
    struct bo *b = bo_new_goals(&s, NULL, goals, 2, 1);
    run(b, hopeless, 25);
    assert_true(bo_best(b, x, y) && !bo_feasible(b, y));
    assert_true(fabs(x[0] - 0.3) < 1e-2);
    bo_free(b);
    bo_space_release(&s);
}

static void two_parabolas(const double *x, double *y) {
    y[0] = x[0] * x[0] + x[1] * x[1];
    y[1] = (x[0] - 1) * (x[0] - 1) + x[1] * x[1];
}
static void front_is_found(void **state) {
    (void)state;
    struct bo_space s = make_space("x=-1:2\ny=-1:1\n");
    const struct bo_goal goals[] = {{1, FREE, 1.1}, {1, FREE, 1.1}};
    const double ref[] = {1.1, 1.1};
    struct bo *b = bo_new_goals(&s, NULL, goals, 2, 3);
    double y[120];
    run(b, two_parabolas, 60);
    for (size_t i = 0; i < 60; i++) memcpy(y + 2 * i, b->points.at[i].y, 2 * sizeof *y);
    /* of the curve (t^2, (1 - t)^2): 1.21 - 0.01 - the area below it */
    double all = 1.1 * 1.1 - (0.1 * 0 + 1.0 / 6), got = pareto_volume(y, 60, 2, ref);
    assert_true(got > 0.975 * all && got <= all);
    bo_free(b);
    bo_space_release(&s);
}

/* Volumes by counting points of a fine grid, derivatives by differences. */
static void volumes(void **state) {
    (void)state;
    enum { N = 6, GRID = 60 };
    struct rng r;
    rng_init(&r, 5, 0, 0);
    for (int m = 2; m <= 3; m++) {
        double p[N * 3], ref[3] = {1, 1, 1}, y[3], slope[3];
        for (int i = 0; i < N * m; i++) p[i] = rng_uniform(&r);
        size_t hit = 0, total = m == 2 ? GRID * GRID : GRID * GRID * GRID;
        for (size_t c = 0; c < total; c++) {
            double at[3] = {((double)(c % GRID) + .5) / GRID,
                            ((double)(c / GRID % GRID) + .5) / GRID,
                            ((double)(c / GRID / GRID) + .5) / GRID};
            bool under = false;
            for (int i = 0; i < N && !under; i++) {
                under = true;
                for (int k = 0; k < m; k++) under = under && p[i * m + k] <= at[k];
            }
            hit += under;
        }
        assert_true(fabs(pareto_volume(p, N, m, ref) - (double)hit / (double)total) < 0.02);
        for (int k = 0; k < m; k++) y[k] = 0.2 + 0.1 * k;
        double v = pareto_added(p, N, m, ref, y, slope);
        assert_true(v > 0);
        for (int k = 0; k < m; k++) {
            double h = 1e-6, t[3];
            memcpy(t, y, sizeof t);
            t[k] += h;
            double up = pareto_added(p, N, m, ref, t, NULL);
            assert_true(fabs((up - v) / h - slope[k]) < 1e-4);
        }
    }
}

/* Two hills whose tops are (1, 0) and (-1, 1), below x + y = 1: each top is an end of the front. */
static void two_tops(const double *x, double *y) {
    y[0] = (x[0] - 1) * (x[0] - 1) + x[1] * x[1];
    y[1] = (x[0] + 1) * (x[0] + 1) + (x[1] - 1) * (x[1] - 1);
    y[2] = x[0] + x[1] - 1;
}

/* Nobody said how far the front is of use: then both of its ends are found. By volume alone they
 * were still at 0.3 to 0.5 of 5 after 60 evaluations. */
static void ends_of_a_front_are_found(void **state) {
    (void)state;
    struct bo_space s = make_space("x=-3:3\ny=-3:3\n");
    const struct bo_goal goals[] = {{1, FREE, NAN}, {1, FREE, NAN}, {0, -INFINITY, 0, NAN}};
    for (uint64_t seed = 1; seed <= 4; seed++) {
        struct bo *b = bo_new_goals(&s, NULL, goals, 3, seed);
        double least[2] = {INFINITY, INFINITY};
        run(b, two_tops, 40);
        for (size_t i = 0; i < b->points.n; i++)
            for (int k = 0; k < 2; k++)
                if (b->points.at[i].y[2] <= 0) least[k] = fmin(least[k], b->points.at[i].y[k]);
        assert_true(least[0] < 0.05 && least[1] < 0.05);
        bo_front_update(b, NULL);
        assert_true(b->front.n >= 10);
        bo_free(b);
    }
    bo_space_release(&s);
}

/* A run that is stopped, saved, loaded and gone on with asks the same points. */
static void goes_on_as_if_never_interrupted(void **state) {
    (void)state;
    struct bo_space s = make_space("x=0:1\ny=0:1\n");
    const struct bo_goal goals[] = {{1, FREE, NAN}, {0, -INFINITY, 0, NAN}, {1, -INFINITY, 0, NAN}};
    double x[40][2], y[3], again[2];
    struct buf saved = BUF_INIT;
    struct bo *b = bo_new_goals(&s, NULL, goals, 3, 7), *c = bo_new_goals(&s, NULL, goals, 3, 7);
    for (int i = 0; i < 40; i++) {
        if (i == 25) bo_state_save(b, &saved);
        assert_int_equal(bo_ask(b, x[i]), GPM_OK);
        gramacy(x[i], y);
        bo_tell_all(b, x[i], y);
        if (i < 25) bo_tell_all(c, x[i], y);
    }
    assert_true(bo_state_load(c, saved.data));
    for (int i = 25; i < 40; i++) {
        assert_int_equal(bo_ask(c, again), GPM_OK);
        assert_memory_equal(again, x[i], sizeof again);
        gramacy(again, y);
        bo_tell_all(c, again, y);
    }
    buf_release(&saved);
    bo_free(b);
    bo_free(c);
    bo_space_release(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bounds_are_kept),
        cmocka_unit_test(valleys_between_bounds_are_followed),
        cmocka_unit_test(equality_by_tolerance),
        cmocka_unit_test(nothing_feasible),
        cmocka_unit_test(front_is_found),
        cmocka_unit_test(volumes),
        cmocka_unit_test(ends_of_a_front_are_found),
        cmocka_unit_test(goes_on_as_if_never_interrupted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
