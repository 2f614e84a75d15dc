/* SPDX-License-Identifier: Apache-2.0
 * The optimiser as its callers see it: spaces, regret, determinism, resuming, batches, failures. */
#include "support/check.h"

#include "numeric/special/rng.h"
#include "apps/optimize/bo_priv.h"

static struct bo_space make_space(const char *text) {
    struct bo_space s;
    struct buf err = BUF_INIT;
    if (bo_space_parse(&s, text, &err)) print_error("%s\n", err.data);
    assert_int_equal(err.len, 0);
    return s;
}

static double branin(const double *x) {
    double a = x[1] - 5.1 / (4 * M_PI * M_PI) * x[0] * x[0] + 5 / M_PI * x[0] - 6;
    return a * a + 10 * (1 - 1 / (8 * M_PI)) * cos(x[0]) + 10 - 0.39788735772973816;
}

static void spaces_map_there_and_back(void **state) {
    struct bo_space s =
        make_space("x=-5:10\nkind=lin,rbf,poly\nn=1:100:int\nc=1e-4:10:log\nm=2:64:log:int\n");
    assert_int_equal(s.d, 4);
    assert_int_equal(s.n_cat, 1);
    double x[5] = {2.5, 2, 37, 0.03, 17}, u[5], back[5];
    bo_space_to_unit(&s, x, u);
    bo_space_from_unit(&s, u, back);
    for (int j = 0; j < 5; j++) assert_close(back[j], x[j], 1e-14);
    assert_true(bo_space_inside(&s, back));
    struct buf text = BUF_INIT, err = BUF_INIT;
    bo_space_text(&s, &text);
    assert_string_equal(
        text.data, "x=-5:10\nkind=lin,rbf,poly\nn=1:100:int\nc=0.0001:10:log\nm=2:64:log:int\n");
    assert_int_equal(bo_space_read(&s, 1, "rbf", &x[0], &err), GPM_OK);
    assert_true(x[0] == 1);
    assert_int_equal(bo_space_read(&s, 1, "sigmoid", &x[0], &err), GPM_E_ARG);
    assert_int_equal(bo_space_read(&s, 0, "11", &x[0], &err), GPM_E_ARG);
    assert_int_equal(bo_space_read(&s, 2, "1.5", &x[0], &err), GPM_E_ARG);
    const char *const bad[] = {"x",       "=1:2",       "x=2:1",   "x=1:1", "x=0:1:log",
                               "x=a",     "x=1:2:cube", "x=a,,b",  "x=a,a", "2x=0:1",
                               "x=1:inf", "x=1:2junk",  "kind=0:1"};
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        buf_reset(&err);
        assert_int_equal(bo_space_add(&s, bad[i][0] == 'k' ? bad[i] : bad[i], &err), GPM_E_ARG);
        assert_true(err.len > 0);
        assert_int_equal(s.n, 5);
    }
    buf_release(&text);
    buf_release(&err);
    bo_space_release(&s);
}

/* Runs n evaluations of f; returns the best value. */
static double minimise(struct bo *b, double (*f)(const double *), int n) {
    double x[8], best = INFINITY;
    for (int i = 0; i < n; i++) {
        assert_int_equal(bo_ask(b, x), GPM_OK);
        assert_true(bo_space_inside(b->space, x));
        double y = f(x);
        bo_tell_all(b, x, &y);
        if (y < best) best = y; /* fmin of a NaN is NaN under valgrind on arm64 */
    }
    return best;
}

static void branin_to_many_digits(void **state) {
    struct bo_space s = make_space("x=-5:10\ny=0:15\n");
    for (uint64_t seed = 1; seed <= 3; seed++) {
        struct bo *b = bo_new(&s, NULL, seed);
        assert_true(minimise(b, branin, 50) < 1e-6);
        double x[2], y, first[2], total[2], share_sd[2];
        assert_true(bo_best(b, x, &y) && y < 1e-6);
        struct bo_summary sum;
        assert_true(bo_summarise(b, &sum));
        assert_int_equal(b->n_initial + b->n_local + b->n_global, 50);
        assert_true(bo_sensitivity(b, first, total, share_sd));
        assert_true(total[0] >= first[0] - 0.1 && total[0] > 0.2 && total[0] <= 1);
        double p[3] = {0.05, 0.5, 0.95}, q[3];
        assert_true(bo_quantiles(b, 0, x, 1, p, 3, q));
        assert_true(q[0] <= q[1] && q[1] <= q[2] && fabs(q[1] - y) < 0.1);
        bo_free(b);
    }
    bo_space_release(&s);
}

static void every_acquisition_works(void **state) {
    struct bo_space s = make_space("x=-5:10\ny=0:15\n");
    for (int a = GPM_ACQ_DEFAULT; a <= GPM_ACQ_UCB; a++)
        for (int mcmc = 0; mcmc < 2; mcmc++) {
            struct gpm_optimize_options opt = {
                .acquisition = (enum gpm_acquisition)a, .mcmc = mcmc, .no_local = true};
            struct bo *b = bo_new(&s, &opt, 3);
            assert_true(minimise(b, branin, 40) < 0.3);
            bo_free(b);
        }
    bo_space_release(&s);
}

/* Interrupted anywhere and resumed from the state, the run asks the very same points. */
static void a_resumed_run_is_the_same_run(void **state) {
    struct bo_space s = make_space("x=-5:10\ny=0:15\n");
    struct buf saved = BUF_INIT;
    double xs[60][2], x[2];
    size_t told;
    struct bo *b = bo_new(&s, NULL, 11);
    for (int i = 0; i < 60; i++) {
        assert_int_equal(bo_ask(b, xs[i]), GPM_OK);
        if (i == 37) bo_state_save(b, &saved); /* point 37 is in flight */
        bo_tell_all(b, xs[i], (double[]){branin(xs[i])});
    }
    bo_free(b);
    b = bo_new(&s, NULL, 11);
    assert_true(bo_state_told(saved.data, &told));
    assert_int_equal(told, 37);
    for (int i = 0; i < 37; i++) bo_tell_all(b, xs[i], (double[]){branin(xs[i])});
    assert_true(bo_state_load(b, saved.data));
    bo_set_pending(b, xs[37], 1);
    bo_tell_all(b, xs[37], (double[]){branin(xs[37])});
    for (int i = 38; i < 60; i++) {
        assert_int_equal(bo_ask(b, x), GPM_OK);
        assert_memory_equal(x, xs[i], sizeof x);
        bo_tell_all(b, x, (double[]){branin(x)});
    }
    struct buf junk = BUF_INIT; /* a damaged state is refused */
    buf_add(&junk, saved.data, saved.len / 2);
    assert_false(bo_state_load(b, junk.data));
    struct bo *c = bo_new(&s, NULL, 11);
    for (int i = 0; i < 37; i++) bo_tell_all(c, xs[i], (double[]){branin(xs[i])});
    assert_false(bo_state_load(c, "nonsense"));
    assert_false(bo_state_load(c, junk.data));
    bo_free(b);
    bo_free(c);
    buf_release(&junk);
    buf_release(&saved);
    bo_space_release(&s);
}

static void batches_have_no_duplicates(void **state) {
    struct bo_space s = make_space("x=-5:10\ny=0:15\n");
    struct bo *b = bo_new(&s, NULL, 4);
    double xs[80][2], best = INFINITY;
    for (int round = 0; round < 20; round++) {
        for (int j = 0; j < 4; j++) assert_int_equal(bo_ask(b, xs[4 * round + j]), GPM_OK);
        assert_int_equal(b->pending.n, 4 * 2); /* four points of two numbers */
        for (int j = 3; j >= 0; j--) {
            double *x = xs[4 * round + j], y = branin(x);
            bo_tell_all(b, x, &y);
            if (y < best) best = y; /* fmin of a NaN is NaN under valgrind on arm64 */
        }
    }
    for (int i = 0; i < 80; i++)
        for (int j = 0; j < i; j++) assert_false(xs[i][0] == xs[j][0] && xs[i][1] == xs[j][1]);
    assert_true(best < 1e-4);
    bo_free(b);
    bo_space_release(&s);
}

/* minimum -2 at kind = b, n = 7, c = 0.01 */
static double mixed(const double *x) {
    double k = x[0] == 1 ? 0 : 1 + x[0], n = (x[1] - 7) / 10, c = log10(x[2]) + 2;
    return k + n * n + c * c - 2;
}

static void mixed_variables(void **state) {
    struct bo_space s = make_space("kind=a,b,c\nn=0:50:int\nc=1e-5:10:log\n");
    for (uint64_t seed = 1; seed <= 3; seed++) {
        struct bo *b = bo_new(&s, NULL, seed);
        assert_true(minimise(b, mixed, 60) < -1.99);
        bo_free(b);
    }
    bo_space_release(&s);
    /* a finite space is exhausted, each point once */
    s = make_space("kind=a,b,c\nn=0:3:int\n");
    struct bo *b = bo_new(&s, NULL, 1);
    double x[2], seen[12][2];
    for (int i = 0; i < 12; i++) {
        assert_int_equal(bo_ask(b, seen[i]), GPM_OK);
        for (int j = 0; j < i; j++)
            assert_false(seen[i][0] == seen[j][0] && seen[i][1] == seen[j][1]);
        bo_tell_all(b, seen[i], (double[]){seen[i][0] + seen[i][1]});
    }
    assert_int_equal(bo_ask(b, x), GPM_E_LIMIT);
    bo_free(b);
    bo_space_release(&s);
}

static double crashy(const double *x) { /* fails on a disc that hides one of the three minima */
    double a = x[0] + M_PI, c = x[1] - 12.275;
    return a * a + c * c < 9 ? NAN : branin(x);
}

static void failures_are_learnt_not_repeated(void **state) {
    struct bo_space s = make_space("x=-5:10\ny=0:15\n");
    for (uint64_t seed = 1; seed <= 3; seed++) {
        struct bo *b = bo_new(&s, NULL, seed);
        assert_true(minimise(b, crashy, 60) < 1e-4);
        size_t failed = 0;
        for (size_t i = 0; i < b->points.n; i++) failed += !b->points.at[i].count;
        assert_true(failed < 25);
        bo_free(b);
    }
    struct bo *b = bo_new(&s, NULL, 9); /* nothing but failures: never a crash, never twice */
    double x[40][2];
    for (int i = 0; i < 40; i++) {
        assert_int_equal(bo_ask(b, x[i]), GPM_OK);
        for (int j = 0; j < i; j++) assert_false(x[i][0] == x[j][0] && x[i][1] == x[j][1]);
        bo_tell_all(b, x[i], (double[]){NAN});
    }
    assert_false(bo_best(b, x[0], x[1]));
    bo_free(b);
    bo_space_release(&s);
}

static uint64_t noise_state = 1;
static double noisy_quadratic(const double *x) {
    double e = 0;
    for (int i = 0; i < 12; i++) {
        noise_state = noise_state * 6364136223846793005ULL + 1442695040888963407ULL;
        e += (double)(noise_state >> 11) / 9007199254740992.0 - 0.5;
    }
    return (x[0] - 0.3) * (x[0] - 0.3) * 4 + 0.1 * e;
}

static void noise_is_estimated_and_averaged(void **state) {
    struct bo_space s = make_space("x=0:1\n");
    struct gpm_optimize_options opt = {.noisy = true, .mcmc = -1};
    struct bo *b = bo_new(&s, &opt, 5);
    minimise(b, noisy_quadratic, 80);
    double x[1], mean, sd;
    struct bo_summary sum;
    assert_true(bo_recommend(b, x, &mean, &sd));
    assert_true(fabs(x[0] - 0.3) < 0.12);
    assert_true(fabs(mean) < 0.1 && sd > 0 && sd < 0.1);
    assert_true(bo_summarise(b, &sum));
    assert_true(sum.noise_sd > 0.05 && sum.noise_sd < 0.2);
    bo_free(b);
    bo_space_release(&s);
}

/* How often the 90% interval of the recommended value holds the truth there, over seeds; the noise
 * found, as a multiple of the true one, geometric mean. */
static double interval_holds(const char *space, double (*f)(const double *), double noise_sd,
                             int budget, int seeds, double *noise) {
    struct bo_space s = make_space(space);
    struct gpm_optimize_options opt = {.noisy = true, .mcmc = -1};
    int held = 0;
    double log_noise = 0;
    for (int seed = 1; seed <= seeds; seed++) {
        struct bo *b = bo_new(&s, &opt, (uint64_t)seed);
        struct bo_summary sum;
        struct rng r;
        double x[3], mean, sd;
        rng_init(&r, (uint64_t)seed, 77, 0);
        for (int i = 0; i < budget; i++) {
            assert_int_equal(bo_ask(b, x), GPM_OK);
            bo_tell_all(b, x, (double[]){f(x) + noise_sd * rng_normal(&r)});
        }
        assert_true(bo_recommend(b, x, &mean, &sd));
        held += fabs(f(x) - mean) <= 1.645 * sd;
        assert_true(bo_summarise(b, &sum));
        log_noise += log(sum.noise_sd / noise_sd) / seeds;
        bo_free(b);
    }
    bo_space_release(&s);
    *noise = exp(log_noise);
    return (double)held / seeds;
}

static double nothing(const double *x) {
    return 0;
}

/* At small budgets too: what was seen by luck is not believed. */
static void noisy_answers_are_honest(void **state) {
    static const struct {
        const char *space;
        double (*f)(const double *);
        double noise_sd;
    } cases[] = {
        {"x=0:1\n", nothing, 1}, {"x=0:1\ny=0:1\n", nothing, 1}, {"x=-5:10\ny=0:15\n", branin, 5}};
    double all = 0;
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        double pooled = 0, noise;
        for (int budget = 10; budget <= 25; budget += 15) {
            double held =
                interval_holds(cases[c].space, cases[c].f, cases[c].noise_sd, budget, 50, &noise);
            pooled += held / 2;
            print_message("%zu: budget %d, held %.2f, noise %.2f\n", c, budget, held, noise);
            assert_true(noise > 0.5 && noise < 2);
        }
        assert_true(pooled >= 0.8 && pooled <= 0.97);
        all += pooled / COUNT_OF(cases);
    }
    assert_true(all >= 0.8 && all <= 0.95);
}

static double cone(const double *x) {
    return sqrt((x[0] - 0.3) * (x[0] - 0.3) + (x[1] - 0.6) * (x[1] - 0.6) +
                (x[2] - 0.55) * (x[2] - 0.55));
}

/* Of a minimum with a tip, too: a smooth model cuts it off and is sure of itself. */
static void sharp_minima_are_told_honestly(void **state) {
    double noise, held = interval_holds("x=0:1\ny=0:1\nz=0:1\n", cone, 0.02, 80, 30, &noise);
    print_message("a cone: held %.2f, noise %.2f\n", held, noise);
    assert_true(held >= 0.8);
    assert_true(noise > 0.5 && noise < 2);
}

/* What an evaluation is worth: by how much it lowers the least mean, from the joint posterior by
 * quadrature over what it may say. The evaluated points are among the places. */
static void an_evaluation_is_worth_what_it_lowers(void **state) {
    enum { N = 12, STEPS = 20000 };
    struct bo_space s = make_space("x=0:1\n");
    struct gpm_optimize_options opt = {.noisy = true, .mcmc = -1};
    struct bo *b = bo_new(&s, &opt, 3);
    noise_state = 7;
    minimise(b, noisy_quadratic, 6);
    struct bo_output *o = bo_lead(b);
    assert_int_equal(bo_ensure_model(o), GPM_OK);
    double at[N], mean[N], cov[N * N], worth[N], largest = 0;
    for (int i = 0; i < N; i++) at[i] = i % 3 ? 0.2 + 0.02 * i : b->points.at[i / 3].u[0];
    assert_true(bo_worth(o, at, N, N, worth));
    assert_int_equal(gp_predict_cov(o->model.gp, at, N, GP_LATENT, mean, cov, N), GPM_OK);
    for (int i = 0; i < N; i++) {
        double noise = bo_noise_sd_at(o, &at[i]), all = sqrt(cov[i * N + i] + noise * noise);
        double now = INFINITY, then = 0, wide = 16.0 / STEPS;
        for (int j = 0; j < N; j++) now = fmin(now, mean[j]);
        for (int k = 0; k < STEPS; k++) {
            double z = -8 + (k + 0.5) * wide, low = INFINITY;
            for (int j = 0; j < N; j++) low = fmin(low, mean[j] + cov[i * N + j] / all * z);
            then += wide * low * exp(-0.5 * z * z) / sqrt(2 * M_PI);
        }
        assert_true(worth[i] >= 0);
        assert_true(fabs(worth[i] - (now - then)) < 1e-6);
        largest = fmax(largest, worth[i]);
    }
    print_message("largest %g\n", largest);
    assert_true(largest > 1e-6);
    bo_free(b);
    bo_space_release(&s);
}

/* Noise that nobody spoke of: the best point is evaluated again and the difference is seen; a rough
 * function without noise is exact. */
static void noise_is_noticed(void **state) {
    struct bo_space s = make_space("x=0:1\ny=0:1\n");
    for (int noisy = 0; noisy < 2; noisy++) {
        struct bo *b = bo_new(&s, NULL, 3);
        struct rng r;
        double x[2], sd;
        rng_init(&r, 5, 0, 0);
        for (int i = 0; i < 30; i++) {
            assert_int_equal(bo_ask(b, x), GPM_OK);
            double y = (x[0] - 0.3) * (x[0] - 0.3) + (x[1] - 0.6) * (x[1] - 0.6);
            bo_tell_all(b, x,
                        (double[]){y + (noisy ? 0.05 * rng_normal(&r)
                                              : 0.02 * sin(40 * x[0] + 30 * x[1]))});
        }
        assert_int_equal(bo_noise_seen(b, &sd), noisy);
        if (noisy) assert_true(sd > 0.002 && sd < 0.3);
        bo_free(b);
    }
    bo_space_release(&s);
}

/* One repetition answers: while it is under way, be it at another worker, there is no second. */
static void noise_is_looked_for_once(void **state) {
    struct bo_space s = make_space("x=0:1\ny=0:1\n");
    struct bo *b = bo_new(&s, NULL, 3);
    struct rng r;
    double x[2], held[2];
    int repeated = 0;
    rng_init(&r, 5, 0, 0);
    for (int i = 0; i < 45; i++) {
        assert_int_equal(bo_ask(b, x), GPM_OK);
        if (bo_find(b, x) != SIZE_MAX) { /* it takes its time */
            if (repeated++ == 0) memcpy(held, x, sizeof held);
        } else {
            double y = (x[0] - 0.3) * (x[0] - 0.3) + (x[1] - 0.6) * (x[1] - 0.6);
            bo_tell_all(b, x, (double[]){y + 0.05 * rng_normal(&r)});
        }
        if (repeated) bo_set_pending(b, held, 1);
    }
    assert_int_equal(repeated, 1);
    bo_free(b);
    bo_space_release(&s);
}

static double sphere30(const double *x) {
    double s = 0;
    for (int i = 0; i < 30; i++) s += (x[i] - 0.6) * (x[i] - 0.6);
    return s;
}

static void thirty_dimensions_use_a_trust_region(void **state) {
    struct buf text = BUF_INIT;
    for (int i = 0; i < 30; i++) buf_printf(&text, "x%d=0:1\n", i);
    struct bo_space s = make_space(text.data);
    struct bo *b = bo_new(&s, NULL, 2);
    double x[30], best = INFINITY, first = 0;
    for (int i = 0; i < 80; i++) {
        assert_int_equal(bo_ask(b, x), GPM_OK);
        double y = sphere30(x);
        if (i < 13) first = best;
        bo_tell_all(b, x, &y);
        if (y < best) best = y; /* fmin of a NaN is NaN under valgrind on arm64 */
    }
    assert_true(best < 0.4 * first);
    bo_free(b);
    bo_space_release(&s);
    buf_release(&text);
}

/* Branin with a valley that lies elsewhere the less an evaluation costs (the last variable). */
static double cheap_branin(const double *x) {
    double a = x[1] - (5.1 / (4 * M_PI * M_PI) - 0.1 * (1 - x[2])) * x[0] * x[0];
    a += 5 / M_PI * x[0] - 6;
    return a * a + 10 * (1 - 1 / (8 * M_PI)) * cos(x[0]) + 10 - 0.39788735772973816;
}

/* What ten full evaluations buy, in values of full cost: most of it is spent on those. */
static void less_cost_tells_of_the_function_meant(void **state) {
    struct bo_space s = make_space("x=-5:10\ny=0:15\ns=0.05:1:fidelity\n");
    int found = 0;
    for (uint64_t seed = 301; seed <= 320; seed++) {
        struct bo *b = bo_new(&s, NULL, seed);
        double x[3], best = INFINITY, cost = 0, cheap = 0;
        while (cost < 10) {
            assert_int_equal(bo_ask(b, x), GPM_OK);
            double y = cheap_branin(x);
            bo_tell_all(b, x, &y);
            cost += x[2];
            if (x[2] < 1)
                cheap += x[2];
            else
                best = fmin(best, y);
        }
        assert_true(cheap > 0.5 && cheap < 5);
        found += best < 0.4;
        bo_free(b);
    }
    assert_true(found >= 11);
    bo_space_release(&s);
}

static double constant(const double *x) {
    return 3;
}
static double huge(const double *x) {
    return 1e300 * (x[0] + x[1]) - 5e299;
}

static void degenerate_functions_do_no_harm(void **state) {
    struct bo_space s = make_space("x=-5:10\ny=0:15\n");
    struct bo *b = bo_new(&s, NULL, 1);
    assert_true(minimise(b, constant, 40) == 3);
    bo_free(b);
    b = bo_new(&s, NULL, 1);
    assert_true(minimise(b, huge, 40) < -5e300);
    bo_free(b);
    bo_space_release(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spaces_map_there_and_back),
        cmocka_unit_test(branin_to_many_digits),
        cmocka_unit_test(every_acquisition_works),
        cmocka_unit_test(a_resumed_run_is_the_same_run),
        cmocka_unit_test(batches_have_no_duplicates),
        cmocka_unit_test(mixed_variables),
        cmocka_unit_test(failures_are_learnt_not_repeated),
        cmocka_unit_test(noise_is_estimated_and_averaged),
        cmocka_unit_test(noisy_answers_are_honest),
        cmocka_unit_test(sharp_minima_are_told_honestly),
        cmocka_unit_test(an_evaluation_is_worth_what_it_lowers),
        cmocka_unit_test(noise_is_noticed),
        cmocka_unit_test(noise_is_looked_for_once),
        cmocka_unit_test(thirty_dimensions_use_a_trust_region),
        cmocka_unit_test(less_cost_tells_of_the_function_meant),
        cmocka_unit_test(degenerate_functions_do_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
