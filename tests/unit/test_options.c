/* SPDX-License-Identifier: Apache-2.0
 *
 * Programs compiled with an older or newer header than the library: option structs that end earlier
 * or later than the library's own. */
#include "gpmem/gp.h"
#include "gpmem/gpmem.h"
#include "support/check.h"
#include <string.h>

/* struct gpm_options as a header with two members would have it, and what the program keeps behind.
 */
struct early {
    size_t size;
    uint64_t seed;
    unsigned char behind[sizeof(struct gpm_options)];
};

static void test_shorter(void **state) {
    (void)state;
    struct early e;
    memset(&e, 0x5a, sizeof e);
    size_t known = offsetof(struct early, behind);
    gpm_options_init_sized((struct gpm_options *)&e, known);
    assert_int_equal(e.size, known);
    assert_int_equal(e.seed, 1);
    for (size_t i = 0; i < sizeof e.behind; i++) assert_int_equal(e.behind[i], 0x5a);
    gpm_session *s = gpm_session_new((struct gpm_options *)&e);
    assert_int_equal(gpm_run_text(s, "t", "1 + 1", 5), GPM_OK);
    gpm_session_free(s);
}

static void test_longer(void **state) {
    (void)state;
    struct {
        struct gpm_options known;
        double later;
    } o;
    memset(&o, 0x5a, sizeof o);
    gpm_options_init_sized(&o.known, sizeof o);
    assert_int_equal(o.known.size, sizeof o);
    assert_int_equal(o.known.jobs, 1);
    assert_true(o.later == 0);
    gpm_session *s = gpm_session_new(&o.known);
    assert_int_equal(gpm_run_text(s, "t", "1 + 1", 5), GPM_OK);
    gpm_session_free(s);
}

static void test_defaults_of_unknown_members(void **state) {
    (void)state;
    /* knows the seed and the number of starts, not the range, whose default is not 0 */
    struct gpm_gp_fit_options o;
    gpm_gp_fit_options_init(&o);
    o.size = offsetof(struct gpm_gp_fit_options, keep_noise);
    o.range = 0; /* would be refused */
    double x[] = {0, 1, 2, 3}, y[] = {0.1, 0.9, 2.2, 2.8};
    gpm_gp *g = gpm_gp_new();
    assert_int_equal(gpm_gp_model(g, 1, "SE(sf=1, l=1)", 0.1), GPM_OK);
    assert_int_equal(gpm_gp_add(g, x, y, 4), GPM_OK);
    assert_int_equal(gpm_gp_fit(g, &o), GPM_OK);
    o.size = sizeof o;
    assert_int_equal(gpm_gp_fit(g, &o), GPM_E_ARG);
    gpm_gp_free(g);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shorter),
        cmocka_unit_test(test_longer),
        cmocka_unit_test(test_defaults_of_unknown_members),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
