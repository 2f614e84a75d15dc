/* SPDX-License-Identifier: Apache-2.0
 *
 * Programs compiled with an older or newer header than the library: option structs that end earlier
 * or later than the library's own. */
#include "gpmem/discover.h"
#include "gpmem/gp.h"
#include "gpmem/gpmem.h"
#include "gpmem/optimize.h"
#include "gpmem/regress.h"
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

/* Numbers that stand for one of few things: none of them is taken for another. */
static void test_choices(void **state) {
    (void)state;
    static const char csv[] = "a,y\n1,2\n2,3\n3,5\n4,4\n5,7\n6,6\n7,9\n8,8\n";
    static const int none[] = {-1, 7, 1 << 30};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        struct gpm_regress_options r;
        gpm_regress_options_init(&r);
        r.decimal = none[i];
        gpm_regression *g = gpm_regression_new();
        assert_int_equal(gpm_regression_read_text(g, "t", csv, sizeof csv - 1, &r), GPM_E_ARG);
        gpm_regression_free(g);
        for (int k = 0; k < 2; k++) {
            struct gpm_discover_options o;
            gpm_discover_options_init(&o);
            if (k)
                o.log = (enum gpm_discover_log)none[i];
            else
                o.decimal = (enum gpm_discover_decimal)none[i];
            gpm_discovery *d = gpm_discover_new();
            assert_int_equal(gpm_discover_run_text(d, "t", csv, sizeof csv - 1, &o), GPM_E_ARG);
            gpm_discover_free(d);
        }
        for (int k = 0; k < 2; k++) {
            struct gpm_optimize_options o;
            gpm_optimize_options_init(&o);
            if (k)
                o.mcmc = none[i] < 0 ? -2 : none[i];
            else
                o.acquisition = (enum gpm_acquisition)none[i];
            gpm_optimizer *p = gpm_optimizer_new(&o);
            assert_int_equal(gpm_optimizer_variable(p, "x=0:1"), GPM_OK);
            assert_int_equal(gpm_optimizer_open(p), GPM_E_ARG);
            gpm_optimizer_free(p);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_choices),
        cmocka_unit_test(test_shorter),
        cmocka_unit_test(test_longer),
        cmocka_unit_test(test_defaults_of_unknown_members),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
