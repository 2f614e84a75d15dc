/* SPDX-License-Identifier: Apache-2.0
 * Optimising from C: a callback and a loop, a store that is gone on with; predicting run times. */
#include "support/check.h"
#include "support/tmp.h"

#include "gpmem/optimize.h"
#include "numeric/special/rng.h"
#include "apps/optimize/time_predict.h"

#include <sqlite3.h>

static int calls;
static int bowl(void *user, const double *x, double *y) {
    calls++;
    if (x[0] > *(double *)user) return 1; /* fails on one side */
    *y = (x[0] - 1) * (x[0] - 1) + (x[1] + 2) * (x[1] + 2);
    return 0;
}

static gpm_optimizer *make(const char *store, size_t budget, double *limit) {
    struct gpm_optimize_options p;
    gpm_optimize_options_init(&p);
    p.store = store;
    p.budget = budget;
    gpm_optimizer *o = gpm_optimizer_new(&p);
    assert_int_equal(gpm_optimizer_variable(o, "x=-5:5"), GPM_OK);
    assert_int_equal(gpm_optimizer_variable(o, "y=-5:5"), GPM_OK);
    gpm_optimizer_function(o, "bowl", bowl, limit);
    enum gpm_status s = gpm_optimizer_open(o);
    if (s) print_error("%s\n", gpm_optimizer_error(o));
    assert_int_equal(s, GPM_OK);
    return o;
}

static void a_callback_and_a_store(void **state) {
    double limit = 4, x[2], y, first[2];
    char path[256];
    snprintf(path, sizeof path, "%s", tmp_path("bowl.db"));
    calls = 0;
    gpm_optimizer *o = make(path, 15, &limit);
    assert_int_equal(gpm_optimizer_run(o), GPM_OK);
    assert_int_equal(calls, 15);
    gpm_optimizer_free(o);
    o = make(path, 30, &limit); /* goes on: 15 more, none twice */
    assert_int_equal(gpm_optimizer_count(o), 15);
    assert_int_equal(gpm_optimizer_run(o), GPM_OK);
    assert_int_equal(calls, 30);
    assert_true(gpm_optimizer_best(o, x, &y) && y < 1e-6);
    assert_close(x[0], 1, 1e-2);
    gpm_optimizer_free(o);
    o = make(NULL, 30, &limit); /* the same in one go, in memory: the same decisions */
    assert_int_equal(gpm_optimizer_run(o), GPM_OK);
    assert_true(gpm_optimizer_best(o, first, &y));
    assert_memory_equal(first, x, sizeof x);
    assert_non_null(strstr(gpm_optimizer_report(o, GPM_OPTIMIZE_JSON), "\"evaluations\": 30"));
    gpm_optimizer_free(o);
}

static void ask_and_tell_as_a_loop(void **state) {
    double limit = 9, x[2], y;
    gpm_optimizer *o = make(NULL, 0, &limit);
    for (int i = 0; i < 25; i++) {
        int64_t id;
        assert_int_equal(gpm_optimizer_ask(o, x, &id), GPM_OK);
        y = (x[0] - 1) * (x[0] - 1) + x[1] * x[1];
        assert_int_equal(gpm_optimizer_tell(o, id, i == 3 ? NAN : y), GPM_OK);
        if (i == 4) assert_int_equal(gpm_optimizer_tell(o, id, y), GPM_E_CONFLICT);
    }
    assert_int_equal(gpm_optimizer_tell(o, 12345, 1), GPM_E_NOT_FOUND);
    assert_true(gpm_optimizer_best(o, x, &y) && y < 1e-4);
    x[0] = 1, x[1] = 0;
    assert_int_equal(gpm_optimizer_tell_at(o, x, 0), GPM_OK);
    assert_true(gpm_optimizer_best(o, x, &y) && y == 0);
    gpm_optimizer_free(o);
}

static void mistakes_have_a_message(void **state) {
    struct gpm_optimize_options p;
    gpm_optimize_options_init(&p);
    gpm_optimizer *o = gpm_optimizer_new(&p);
    assert_int_equal(gpm_optimizer_open(o), GPM_E_ARG);
    assert_non_null(strstr(gpm_optimizer_error(o), "no variables"));
    assert_int_equal(gpm_optimizer_variable(o, "x=1"), GPM_E_ARG);
    assert_int_equal(gpm_optimizer_variable(o, "x=0:1"), GPM_OK);
    assert_int_equal(gpm_optimizer_open(o), GPM_OK);
    assert_int_equal(gpm_optimizer_run(o), GPM_E_ARG);
    assert_non_null(strstr(gpm_optimizer_error(o), "nothing to evaluate"));
    gpm_optimizer_free(o);
}

static void spoil(const char *path, const char *sql) {
    sqlite3 *db;
    assert_int_equal(
        sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, "gpmem-files"),
        SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
}

/* Somebody else wrote to the store: a level that there is not, a space of other variables. */
static void a_spoilt_store(void **state) {
    char path[256];
    const char *text;
    double x[2] = {0.5, 1};
    snprintf(path, sizeof path, "%s", tmp_path("spoilt.db"));
    struct gpm_optimize_options p;
    gpm_optimize_options_init(&p);
    p.store = path;
    gpm_optimizer *o = gpm_optimizer_new(&p);
    assert_int_equal(gpm_optimizer_variable(o, "x=0:1"), GPM_OK);
    assert_int_equal(gpm_optimizer_variable(o, "c=u,v,w"), GPM_OK);
    assert_int_equal(gpm_optimizer_open(o), GPM_OK);
    assert_int_equal(gpm_optimizer_tell_at(o, x, 3), GPM_OK);
    spoil(path, "INSERT INTO point(key, rep, x, status, y, seq) "
                "SELECT x'3fe0000000000000401c000000000000', 0, x, 2, 1, seq + 1 FROM point");
    assert_int_equal(gpm_optimizer_tell_at(o, x, 3), GPM_OK); /* reads the new row, too */
    assert_non_null(strstr(gpm_optimizer_report(o, GPM_OPTIMIZE_JSON), "\"c\": \"7\""));
    gpm_optimizer_free(o);
    gpm_memo *m = gpm_memo_new();
    assert_int_equal(gpm_memo_open(m, path, false), GPM_OK);
    assert_int_equal(gpm_memo_list(m, GPM_FORMAT_JSON, &text), GPM_OK);
    assert_non_null(strstr(text, "\"c\": \"v\""));
    assert_non_null(strstr(text, "\"c\": \"7\""));
    gpm_memo_free(m);
    spoil(path, "UPDATE state SET value = 'x=0:1' WHERE key = 'space'");
    m = gpm_memo_new();
    assert_int_equal(gpm_memo_open(m, path, false), GPM_E_FORMAT);
    assert_non_null(strstr(gpm_memo_error(m), "has 1 variables, its rows have 2"));
    gpm_memo_free(m);
}

/* Power laws with noise of 10%: the 90% interval ten times beyond the data holds the truth. */
static void run_times_extrapolate_honestly(void **state) {
    struct rng r;
    rng_init(&r, 1, 0, 0);
    const double p[3] = {0.05, 0.5, 0.95};
    int held = 0, near = 0;
    enum { RUNS = 60, N = 12 };
    for (int k = 0; k < RUNS; k++) {
        double x[N], t[N], q[3], power = 0.5 + 2 * rng_uniform(&r), at = 1e5;
        for (int i = 0; i < N; i++) {
            x[i] = 100 * pow(100, (double)i / (N - 1));
            t[i] = 1e-3 * pow(x[i] / 100, power) * exp(0.1 * rng_normal(&r));
        }
        double truth = 1e-3 * pow(at / 100, power) * exp(0.1 * rng_normal(&r));
        assert_int_equal(runtime_predict(x, t, N, 1, &at, p, 3, q), GPM_OK);
        assert_true(q[0] < q[1] && q[1] < q[2]);
        held += q[0] <= truth && truth <= q[2];
        near += fabs(log(q[1] / truth)) < 1;
    }
    assert_true(held >= 48); /* 90% of 60 is 54 */
    assert_true(near >= 54);
    double x[2] = {1, 2}, t[2] = {1, 2}, q[3];
    assert_int_equal(runtime_predict(x, t, 2, 1, x, p, 3, q), GPM_E_ARG);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_callback_and_a_store),         cmocka_unit_test(ask_and_tell_as_a_loop),
        cmocka_unit_test(mistakes_have_a_message),        cmocka_unit_test(a_spoilt_store),
        cmocka_unit_test(run_times_extrapolate_honestly),
    };
    return cmocka_run_group_tests(tests, tmp_setup, tmp_teardown);
}
