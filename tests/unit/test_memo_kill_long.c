/* SPDX-License-Identifier: Apache-2.0
 * label: slow
 * Two hundred kills of four workers on one store. */
#include "support/memo_kill.h"

static void two_hundred_kills(void **state) {
    kill_run(200, 4, 100);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(two_hundred_kills)};
    return cmocka_run_group_tests(tests, tmp_setup, tmp_teardown);
}
