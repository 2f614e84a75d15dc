/* SPDX-License-Identifier: Apache-2.0
 * Killing the workers of one store: a short run; test_memo_kill_long has the 200 kills. */
#include "support/memo_kill.h"

static void forty_kills(void **state) {
    kill_run(40, 4, 0);
}

/* Eight processes, nobody killed: each point evaluated once. */
static void eight_processes_evaluate_each_point_once(void **state) {
    pid_t pid[8];
    char db[256], log[256];
    snprintf(db, sizeof db, "%s", store_path("eight.db"));
    snprintf(log, sizeof log, "%s", tmp_path("eight.log"));
    for (int w = 0; w < 8; w++)
        if ((pid[w] = fork()) == 0) kill_worker(db, log, 50);
    for (int w = 0; w < 8; w++) {
        int status;
        waitpid(pid[w], &status, 0);
        assert_int_equal(status, 0);
    }
    static int evaluated[KILL_POINTS];
    FILE *f = fopen(log, "r");
    char kind;
    int i;
    double y;
    while (fscanf(f, " %c %d %lf", &kind, &i, &y) == 3) evaluated[i] += kind == 'E';
    fclose(f);
    for (i = 0; i < KILL_POINTS; i++) assert_int_equal(evaluated[i], 1);
}

/* With an argument: without the kills. */
int main(int argc, char **argv) {
    const struct CMUnitTest together[] = {
        cmocka_unit_test(eight_processes_evaluate_each_point_once),
    };
    const struct CMUnitTest kills[] = {cmocka_unit_test(forty_kills)};
    int failed = argc > 1 ? 0 : cmocka_run_group_tests(kills, tmp_setup, tmp_teardown);
    return failed + cmocka_run_group_tests(together, tmp_setup, tmp_teardown);
}
