/* SPDX-License-Identifier: Apache-2.0
 *
 * Where names are defined, by the parser: every use in a small program is followed by hand.
 */
#include "support/check.h"

#include "gpmem/outline.h"

struct found {
    const char *text;
    char log[4000];
};

/* One line per use (not per definition): name@offset->offset. */
static void keep(void *user, const struct gpm_name_place *p) {
    struct found *f = user;
    char line[100];
    assert_true(strncmp(f->text + p->start, p->name, strlen(p->name)) == 0);
    assert_true(strncmp(f->text + p->def_start, p->name, strlen(p->name)) == 0);
    assert_true(p->whole_start <= p->def_start && p->def_end <= p->whole_end);
    if (p->start == p->def_start) return;
    snprintf(line, sizeof line, "%s@%zu->%zu ", p->name, p->start, p->def_start);
    strncat(f->log, line, sizeof f->log - strlen(f->log) - 1);
}

static void expect(const char *text, const char *log) {
    struct found f = {text, ""};
    assert_int_equal(gpm_outline(text, strlen(text), keep, &f), GPM_OK);
    assert_string_equal(f.log, log);
}

static void test_globals(void **state) {
    (void)state;
    expect("define a = 1; a + b; define a = 2; a", "a@14->7 a@35->28 ");
    expect("assume x = normal(0, 1); observe normal(x, 1) = 2;", "x@40->7 ");
    expect("assume (f, g) = gpmem(h, k); predict f(1);", "f@37->8 ");
    expect("assume f = proc() { later }; assume later = 3;", "later@20->36 ");
}

static void test_locals(void **state) {
    (void)state;
    expect("define f = proc(x) { let y = x; x + y };", "x@29->16 x@32->16 y@36->25 ");
    expect("define x = 1; (x -> x + 1)(x)", "x@20->15 x@27->7 ");
    expect("define x = 1; { let x = x; x }", "x@24->7 x@27->20 ");
    expect("for (i = 0; i < 3; i++) { i }", "i@12->5 i@19->5 i@26->5 ");
}

static void test_bad_text(void **state) {
    (void)state;
    struct found f = {"", ""};
    assert_int_equal(gpm_outline("f(", 2, keep, &f), GPM_E_USER);
    assert_int_equal(gpm_outline("", 0, keep, &f), GPM_OK);
    assert_string_equal(f.log, "");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_globals),
        cmocka_unit_test(test_locals),
        cmocka_unit_test(test_bad_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
