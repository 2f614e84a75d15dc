/* SPDX-License-Identifier: Apache-2.0
 *
 * The library without applications (GPMEM_APPS=OFF) runs programs, and says of an application's
 * operator that there is none. tests/CMakeLists.txt links this test from the objects that such a
 * library has. */
#include "support/check.h"

#include <gpmem/gpmem.h>

static void keep(void *user, int stream, const char *text, size_t len) {
    (void)stream;
    strncat(user, text, len);
}

static enum gpm_status run(const char *program, char *out, char *error, size_t room) {
    struct gpm_options opt;
    gpm_options_init(&opt);
    opt.write = keep;
    opt.user = out;
    out[0] = '\0';
    gpm_session *s = gpm_session_new(&opt);
    enum gpm_status st = gpm_run_text(s, "program", program, strlen(program));
    snprintf(error, room, "%s", st == GPM_OK ? "" : gpm_last_error(s));
    gpm_session_free(s);
    return st;
}

static void programs_run_without_applications(void **state) {
    (void)state;
    char out[4096], error[4096];
    assert_int_equal(run("assume f = gpmem(proc(x) { x }, make_se(1, 1));"
                         "assume a = normal(0, 1); assume z = flip(0.5);"
                         "observe normal(a + (if (z) { 1 } else { 0 }), 0.1) = 1;"
                         "infer mh(default, one, 200); infer nuts(default, all, 20); print(1 + 1);",
                         out, error, sizeof error),
                     GPM_OK);
    assert_non_null(strstr(out, "2"));
}

static void operators_of_applications_are_unknown(void **state) {
    (void)state;
    char out[4096], error[4096];
    assert_int_equal(run("infer search(\"x\", \"is periodic\");", out, error, sizeof error),
                     GPM_E_USER);
    assert_non_null(strstr(error, "search"));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(programs_run_without_applications),
                                       cmocka_unit_test(operators_of_applications_are_unknown)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
