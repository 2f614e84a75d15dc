/* SPDX-License-Identifier: Apache-2.0
 *
 * Diagnostics of draws against R's package posterior 1.4.0 (the numbers below), and the writers of
 * draws. The series are autoregressions on a small generator that R reproduces exactly;
 * tests/stat/test_posterior_r.c runs R itself.
 */
#include "support/check.h"
#include "support/series.h"

#include "numeric/posterior/draws.h"

/* mean, sd, mcse_mean, q5, q50, q95, rhat, ess_bulk, ess_tail, ess_mean */
enum { FIGURES = 10 };
static const struct {
    int kind;
    double phi;
    size_t chains, n;
    double shift, seed, expect[FIGURES];
} cases[] = {
    {0,
     0.3,
     4,
     250,
     0,
     1,
     {0.00411866626189624, 1.03533884921538, 0.048015151714682, -1.65457569641895,
      0.0186988843004581, 1.71684979175794, 1.00096441480239, 464.064089067288, 656.164846862421,
      464.952310233465}},
    {0,
     0.9,
     4,
     1000,
     2,
     2,
     {0.349836370840178, 2.31038713416738, 0.467341468698791, -3.47935162080276, 0.3891217455158,
      4.14408476394478, 1.12899883807328, 24.3913500544382, 194.375293447647, 24.4399817207847}},
    {0,
     -0.5,
     1,
     101,
     0,
     3,
     {-0.149611474067931, 1.12575974328988, 0.0796032348467101, -1.78491458931698,
      -0.0474169642079854, 1.52372794623677, 0.990066358866589, 200, 112.135780940889, 200}},
    {1,
     0.5,
     2,
     60,
     0,
     4,
     {-0.225, 2.13203851637209, 0.33971878936894, -3.05, -1, 3, 1.01561153023378, 41.5589096227343,
      31.8525750549182, 39.3868234963737}},
    {2,
     0.2,
     3,
     333,
     0,
     5,
     {0.0397880184135747, 4.37195047368817, 0.172531861219554, -5.52053850820326,
      9.64457514822105e-06, 4.61328928876619, 1.00276690240901, 556.5885008104, 787.06463539594,
      642.11357622638}},
    {0,
     -0.97,
     4,
     200,
     0,
     6,
     {-0.00829452253677929, 4.11238146837094, 0.0853332233802084, -6.93874129870563,
      -0.156929514474302, 6.78889699352683, 1.1743540104248, 2322.47198959356, 109.659697327685,
      2322.47198959356}},
    {0,
     0.999,
     2,
     500,
     0,
     7,
     {0.47990090097696, 13.1218163666531, 8.48037465335289, -21.6198098713369, 0.646959258101202,
      17.6859336481606, 1.87118357064928, 2.89237311540122, 12.0044430902618, 2.39418570163403}},
    {0,
     0,
     2,
     7,
     0,
     8,
     {-0.732920301288529, 1.0125484374376, 0.413371168595755, -2.14705457927056, -0.795999703368172,
      1.13294161280288, 1.24631905349226, 6, 6, 6}},
};

static void summarise(const double *x, size_t chains, size_t n, struct draws_summary *s) {
    struct draws_tables *t = draws_tables_new();
    draws_summarise(t, x, NULL, chains, n, s);
    struct draws_summary again;
    draws_summarise(t, x, NULL, chains, n, &again); /* by tables that are there */
    assert_memory_equal(s, &again, sizeof again);
    draws_tables_free(t);
}

static void figures_agree_with_posterior(void **state) {
    static const char *const names[] = {"mean", "sd",   "mcse_mean", "q5",       "q50",
                                        "q95",  "rhat", "ess_bulk",  "ess_tail", "ess_mean"};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        size_t c = cases[i].chains, n = cases[i].n;
        double *x = series(cases[i].kind, cases[i].phi, c, n, cases[i].shift, cases[i].seed);
        struct draws_summary s;
        summarise(x, c, n, &s);
        double got[FIGURES] = {s.mean, s.sd,   s.mcse_mean, s.q5,       s.median,
                               s.q95,  s.rhat, s.ess_bulk,  s.ess_tail, draws_ess_mean(x, c, n)};
        for (size_t k = 0; k < FIGURES; k++) {
            double want = cases[i].expect[k];
            if (fabs(got[k] - want) > 1e-8 * fmax(1e-3, fabs(want)))
                fail_msg("case %zu, %s: %.15g, posterior has %.15g", i, names[k], got[k], want);
        }
        mem_free(x);
    }
}

static void useless_draws_give_nan_and_a_complaint(void **state) {
    double still[20], wild[20];
    for (int i = 0; i < 20; i++) still[i] = 3, wild[i] = i == 7 ? INFINITY : i;
    struct draws_summary s;
    struct buf b = BUF_INIT;
    summarise(still, 2, 10, &s);
    assert_true(isnan(s.rhat) && isnan(s.ess_bulk) && isnan(s.ess_tail));
    assert_int_equal(draws_complain(&s, still, NULL, 2, 10, "x", &b), 1);
    assert_non_null(strstr(b.data, "x: the same in every draw"));
    summarise(wild, 2, 10, &s);
    assert_int_equal(draws_complain(&s, wild, NULL, 2, 10, "y", &b), 1);
    assert_non_null(strstr(b.data, "y: some draws are not finite"));
    summarise(wild, 0, 0, &s);
    assert_true(isnan(s.mean));
    summarise(wild, 1, 1, &s);
    assert_true(s.mean == 0 && isnan(s.sd));
    buf_release(&b);
}

static void unmixed_chains_are_named(void **state) {
    double *x = series(0, 0.9, 4, 1000, 2, 2);
    struct draws_summary s;
    struct buf b = BUF_INIT;
    summarise(x, 4, 1000, &s);
    assert_int_equal(draws_complain(&s, x, NULL, 4, 1000, "mu", &b), 3);
    assert_non_null(strstr(b.data, "mu: chains have not mixed, R-hat 1.129"));
    buf_release(&b);
    mem_free(x);
    x = series(0, 0, 4, 1000, 0, 9);
    summarise(x, 4, 1000, &s);
    assert_int_equal(draws_complain(&s, x, NULL, 4, 1000, "mu", &b), 0);
    mem_free(x);
}

/* Equal weights are none, and an integer weight is as many draws; what has weight 0 is not looked
 * at. */
static void weights_are_repeated_draws(void **state) {
    enum { N = 2000 };
    double *x = series(1, 0.3, 4, N, 0, 5), w[4 * N];
    struct draws_tables *t = draws_tables_new();
    struct draws_summary plain, same, twice;
    for (size_t i = 0; i < 4 * N; i++) w[i] = 0.7;
    draws_summarise(t, x, NULL, 4, N, &plain);
    draws_summarise(t, x, w, 4, N, &same);
    assert_true(fabs(same.mean - plain.mean) < 1e-12 && fabs(same.sd - plain.sd) < 1e-12);
    assert_true(fabs(same.mcse_mean / plain.mcse_mean - 1) < 1e-3);
    assert_true(fabs(same.rhat - plain.rhat) < 1e-6 && same.median == plain.median);
    assert_true(fabs(same.ess_bulk / plain.ess_bulk - 1) < 0.02);
    double sum = 0, n = 0;
    for (size_t i = 0; i < 4 * N; i++) {
        w[i] = (double)(i % 3);
        if (i % 3 == 0) x[i] = NAN;
        for (size_t k = 0; k < i % 3; k++) sum += x[i], n++;
    }
    draws_summarise(t, x, w, 4, N, &twice);
    assert_true(fabs(twice.mean - sum / n) < 1e-12 && twice.ess_bulk < draws_worth(w, 4 * N) + 1);
    assert_true(twice.mcse_mean > plain.mcse_mean && twice.rhat < 1.05);
    draws_tables_free(t);
    mem_free(x);
}

static void columns_join(void **state) {
    static const char *const one[] = {"x[2]", "n", "x[2]"}, *const two[] = {"x[10]", "x[1]"};
    struct draw_table d;
    struct buf b = BUF_INIT;
    draw_table_init(&d, 1);
    draw_table_push(&d, 0, one, (double[]){1, 2, 3}, 3);
    draw_table_push(&d, 0, two, (double[]){4, 5}, 2);
    draw_table_push(&d, 0, NULL, NULL, 0);
    draw_table_arrange(&d);
    draw_table_json(&d, &b);
    assert_string_equal(b.data, "{\"chains\": 1, \"rows\": 3, \"draws\": {\"x[1]\": [[null, 5, "
                                "null]], \"x[2]\": [[1, null, null]], \"x[2]\": [[3, null, null]], "
                                "\"x[10]\": [[null, 4, null]], \"n\": [[2, null, null]]}}\n");
    assert_true(number_is_absent(draw_table_at(&d, 0, 2, 0)) && !number_is_absent(NAN));
    buf_release(&b);
    draw_table_release(&d);
}

static void table_of(struct draw_table *d) {
    static const char *const names[] = {"mu", "w[1,2]", "prt. id"};
    draw_table_init(d, 2);
    for (int i = 0; i < 3; i++) {
        draw_table_push(d, 0, names, (double[]){i, 0.1 * i, 1}, 3);
        draw_table_push(d, 1, names, (double[]){-i, i == 1 ? NAN : 0.5, 2}, 3);
    }
    draw_table_push(d, 1, names, (double[]){9, 9, 9}, 3); /* one row more than the other chain */
}

static void writers_write(void **state) {
    struct draw_table d;
    struct buf b = BUF_INIT;
    table_of(&d);
    assert_int_equal(draw_table_rows(&d), 3);
    draw_table_json(&d, &b);
    assert_string_equal(b.data, "{\"chains\": 2, \"rows\": 3, \"draws\": {\"mu\": [[0, 1, 2], [0, "
                                "-1, -2]], \"w[1,2]\": [[0, 0.1, 0.2], [0.5, null, 0.5]], "
                                "\"prt. id\": [[1, 1, 1], [2, 2, 2]]}}\n");
    buf_release(&b);
    draw_table_release(&d);
}

static void summaries_hold_every_column(void **state) {
    static const char *const names[] = {"a", "b"};
    struct draw_table d;
    struct buf b = BUF_INIT;
    draw_table_init(&d, 4);
    double *x = series(0, 0.3, 4, 250, 0, 1);
    for (size_t c = 0; c < 4; c++)
        for (size_t i = 0; i < 250; i++)
            draw_table_push(&d, c, names, (double[]){x[c * 250 + i], 1}, 2);
    draw_table_summary(&d, &b);
    assert_string_equal(
        b.data,
        "               mean      mcse         sd         5%        50%        95%  ess_bulk  "
        "ess_tail   rhat\n"
        "a          0.004119     0.048      1.035     -1.655     0.0187      1.717       464       "
        "656  1.001\n"
        "b                 1         -          0          1          1          1         -       "
        " "
        " -      -\n"
        "b: the same in every draw; it is known exactly, or no transition that touches "
        "it was accepted\n");
    buf_reset(&b);
    draw_table_summary_json(&d, &b);
    assert_non_null(strstr(b.data, "{\"a\": {\"mean\": 0.0041186"));
    assert_non_null(strstr(b.data, "\"rhat\": null}}\n"));
    buf_release(&b);
    mem_free(x);
    draw_table_release(&d);
}

/* The diagonal of a correlation matrix, as names are in a session and in files; a name that is
 * stuck as a whole is another thing. */
static void known_parts_are_no_complaint(void **state) {
    static const char *const names[][4] = {{"r[1,1]", "r[2,1]", "stuck[1]", "stuck[2]"},
                                           {"r.1.1", "r.2.1", "stuck.1", "stuck.2"}};
    double *x = series(0, 0.3, 1, 1000, 0, 1);
    for (size_t k = 0; k < COUNT_OF(names); k++) {
        struct draw_table d;
        struct buf b = BUF_INIT;
        draw_table_init(&d, 1);
        for (size_t i = 0; i < 1000; i++)
            draw_table_push(&d, 0, names[k], (double[]){1, x[i], 3, 4}, 4);
        draw_table_complain(&d, &b);
        assert_null(strstr(b.data, names[k][0]));
        for (size_t j = 2; j < 4; j++) {
            const char *said = strstr(b.data, names[k][j]);
            assert_non_null(said);
            assert_memory_equal(said + strlen(names[k][j]), ": the same", 10);
        }
        buf_release(&b);
        draw_table_release(&d);
    }
    mem_free(x);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_parts_are_no_complaint),
        cmocka_unit_test(figures_agree_with_posterior),
        cmocka_unit_test(useless_draws_give_nan_and_a_complaint),
        cmocka_unit_test(unmixed_chains_are_named),
        cmocka_unit_test(weights_are_repeated_draws),
        cmocka_unit_test(columns_join),
        cmocka_unit_test(writers_write),
        cmocka_unit_test(summaries_hold_every_column),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
