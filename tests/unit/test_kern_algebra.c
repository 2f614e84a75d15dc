/* SPDX-License-Identifier: Apache-2.0
 *
 * simplify, struct, contains, parse: the rules of appendix B with merged parameters, on cases and
 * on random expressions (the simplified kernel must be the same function and its structure must not
 * depend on the order of writing).
 */
#include "support/check.h"
#include "support/kernel_text.h"

#include "gp/kernel/kern_class.h"
#include "gp/kernel/kernel.h"

static uint64_t state_;
static double uniform(void) {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return (double)(state_ >> 11) * 0x1p-53;
}

static void simplifies_to(const char *from, const char *to) {
    struct kern *k = kernel_of(from), *s = kern_simplify(k);
    struct buf b = BUF_INIT;
    kern_print(s, &b);
    assert_string_equal(b.data, to);
    buf_release(&b);
    kern_unref(k);
    kern_unref(s);
}

static void rules(void **state) {
    simplifies_to("SE(sf=2, l=3) * SE(sf=3, l=4)", "SE(sf=6, l=2.4)");
    simplifies_to("SE(sf=2, l=3) * WN(sigma=5)", "WN(sigma=10)");
    simplifies_to("PER(sf=2, p=3, l=1) * WN(sigma=5)", "WN(sigma=10)");
    simplifies_to("C(sf=2) * WN(sigma=5)", "WN(sigma=10)");
    simplifies_to("WN(sigma=2) * WN(sigma=5)", "WN(sigma=10)");
    simplifies_to("LIN(sf=3) + LIN(sf=4)", "LIN(sf=5)");
    simplifies_to("LIN[0](sf=1, c=0) + LIN[0](sf=1, c=2)", "C(sf=1.4142135623730951) + "
                                                           "LIN[0](sf=1.4142135623730951, c=1)");
    simplifies_to("SE(sf=2, l=3) * C(sf=4)", "SE(sf=8, l=3)");
    simplifies_to("LIN(sf=2) * C(sf=4)", "LIN(sf=8)");
    simplifies_to("C(sf=2) * C(sf=4)", "C(sf=8)");
    simplifies_to("WN(sigma=3) + WN(sigma=4)", "WN(sigma=5)");
    simplifies_to("C(sf=3) + C(sf=4)", "C(sf=5)");
    simplifies_to("4 * SE(sf=1, l=2) * 9", "SE(sf=6, l=2)");
    simplifies_to("0 * SE(sf=1, l=2) + LIN(sf=1)", "LIN(sf=1)");
    simplifies_to("0 * SE(sf=1, l=2)", "0");
    simplifies_to("(LIN(sf=2) + SE(sf=1, l=2)) * PER(sf=3, p=1, l=1)",
                  "LIN(sf=6) * PER(sf=1, p=1, l=1) + SE(sf=3, l=2) * PER(sf=1, p=1, l=1)");
    simplifies_to("LIN(sf=2) * SE(sf=3, l=1) * WN(sigma=1)", "LIN(sf=6) * WN(sigma=1)");
    simplifies_to("gp_cov_se(l2=4) * 9", "SE(sf=3, l=2)");
    simplifies_to("LIN(sf=1) * LIN(sf=2)", "LIN(sf=2) * LIN(sf=1)"); /* x^2 x'^2 stays */
    simplifies_to("SE[0](sf=1, l=1) * SE[1](sf=1, l=1)",
                  "SE[0](sf=1, l=1) * SE[1](sf=1, l=1)"); /* different columns */
    simplifies_to("WN[0](sigma=1) * SE[1](sf=1, l=1)", "SE[1](sf=1, l=1) * WN[0](sigma=1)");
    simplifies_to("CP(LIN(sf=3) + LIN(sf=4), 4 * C(sf=2), tau=1, s=2)",
                  "CP(LIN(sf=5), C(sf=4), tau=1, s=2)");
    /* coefficients beyond the numbers: left as it is */
    simplifies_to("1e150 * RQ(sf=1e100, l=1, alpha=1) * 1e150",
                  "1e+150 * RQ(sf=1e+100, l=1, alpha=1) * 1e+150");
    simplifies_to("CP(1e150 * SE(sf=1e100, l=1), C(sf=4), tau=1, s=2)",
                  "CP(1e+150 * SE(sf=1e+100, l=1), C(sf=4), tau=1, s=2)");
}

static void structure_is(const char *from, const char *to) {
    struct kern *k = kernel_of(from);
    struct buf b = BUF_INIT;
    assert_int_equal(kern_struct(k, &b), GPM_OK);
    assert_string_equal(b.data, to);
    buf_release(&b);
    kern_unref(k);
}

static void structures(void **state) {
    structure_is("WN + SE + PER + LIN", "LIN + PER + SE + WN");
    structure_is("PER * SE + LIN + WN", "LIN + SE*PER + WN");
    structure_is("WN + SE * PER * LIN + SE + LIN", "LIN + LIN*SE*PER + SE + WN");
    structure_is("WN * LIN + SE", "LIN*WN + SE");
    structure_is("gp_cov_se(l2=1) + gp_cov_linear(origin=2) * gp_cov_periodic(l2=1, T=2)",
                 "LIN*PER + SE");
    structure_is("CP(WN + LIN, SE, tau=1) + C", "C + CP(LIN + WN, SE)");
    structure_is("RQ * LIN + MAT32[1]", "LIN*RQ + MAT32[1]");
    structure_is("gp_cov_bump * LIN + gp_cov_deltoid(1, 2)", "DELTOID + LIN*BUMP");
    struct buf b = BUF_INIT;
    assert_int_equal(kern_struct_canonical("PER*SE+ LIN", &b, NULL), GPM_OK);
    assert_string_equal(b.data, "LIN + SE*PER");
    buf_release(&b);
}

/* What a structure says can be read, for every kernel that there is. */
static void symbols_are_read_back(void **state) {
    const struct kern_class *row;
    for (size_t i = 0; (row = kern_class_at(i)); i++) {
        if (row->op == KERN_CHANGE) continue;
        struct kern *k = kernel_of(row->name);
        struct buf one = BUF_INIT, two = BUF_INIT;
        assert_int_equal(kern_struct(k, &one), GPM_OK);
        assert_int_equal(kern_struct_canonical(one.data, &two, NULL), GPM_OK);
        assert_string_equal(one.data, two.data);
        kern_unref(k);
        buf_release(&one), buf_release(&two);
    }
}

static void contains(void **state) {
    struct kern *k = kernel_of("(LIN + SE) * PER + WN");
    static const struct {
        const char *s;
        bool yes;
    } row[] = {{"PER*LIN", true}, {"LIN", false},        {"SE*PER", true},   {"WN", true},
               {"PER", false},    {"WN + PER*SE", true}, {"WN + PER", false}};
    for (size_t i = 0; i < COUNT_OF(row); i++) {
        bool yes;
        assert_int_equal(kern_contains(k, row[i].s, &yes, NULL), GPM_OK);
        assert_int_equal(yes, row[i].yes);
    }
    bool yes;
    char *why = NULL;
    assert_int_equal(kern_contains(k, "LIN +", &yes, &why), GPM_E_FORMAT);
    assert_non_null(why);
    mem_free(why);
    kern_unref(k);
}

/* A random expression and the same one with operands exchanged everywhere. */
static void random_pair(int depth, struct kern **a, struct kern **b) {
    static const char *const leaf[] = {
        "LIN(sf=%g)",   "SE(sf=%g, l=0.7)", "PER(sf=%g, p=1.3, l=0.8)",
        "WN(sigma=%g)", "C(sf=%g)",         "SE(sf=%g, l=1.9)"};
    if (depth == 0 || uniform() < 0.2) {
        char text[64];
        snprintf(text, sizeof text, leaf[(int)(uniform() * 6)], 0.5 + uniform());
        *a = kernel_of(text);
        *b = kern_ref(*a);
        return;
    }
    struct kern *l[2], *r[2];
    random_pair(depth - 1, &l[0], &l[1]);
    random_pair(depth - 1, &r[0], &r[1]);
    bool sum = uniform() < 0.5;
    *a = sum ? kern_sum(l[0], r[0]) : kern_product(l[0], r[0]);
    *b = sum ? kern_sum(r[1], l[1]) : kern_product(r[1], l[1]);
    kern_unref(l[0]), kern_unref(l[1]), kern_unref(r[0]), kern_unref(r[1]);
}

static void random_expressions(void **state) {
    state_ = 1234;
    for (int trial = 0; trial < 300; trial++) {
        struct kern *a, *b;
        random_pair(3, &a, &b);
        struct kern *s = kern_simplify(a), *again = kern_simplify(s);
        struct buf sa = BUF_INIT, sb = BUF_INIT, one = BUF_INIT, two = BUF_INIT;
        assert_int_equal(kern_struct(a, &sa), GPM_OK);
        assert_int_equal(kern_struct(b, &sb), GPM_OK);
        assert_string_equal(sa.data, sb.data); /* whatever the order */
        kern_print(s, &one);
        kern_print(again, &two);
        for (int i = 0; i < 20; i++) {
            double x = 4 * uniform() - 2, y = i % 3 ? 4 * uniform() - 2 : x, u, v, w;
            assert_int_equal(kern_eval(a, &x, &y, 1, &u), GPM_OK);
            assert_int_equal(kern_eval(s, &x, &y, 1, &v), GPM_OK);
            assert_int_equal(kern_eval(again, &x, &y, 1, &w), GPM_OK);
            assert_close(u, v, 1e-12); /* the same function */
            assert_close(u, w, 1e-12);
        }
        kern_unref(a), kern_unref(b), kern_unref(s), kern_unref(again);
        buf_release(&sa), buf_release(&sb), buf_release(&one), buf_release(&two);
    }
}

static void refuses(const char *text, const char *word) {
    struct kern *k = NULL;
    char *why = NULL;
    assert_int_equal(kern_parse(text, &k, &why), GPM_E_FORMAT);
    assert_null(k);
    if (!strstr(why, word)) print_error("%s: %s\n", text, why);
    assert_non_null(strstr(why, word));
    assert_non_null(strstr(why, "column "));
    mem_free(why);
}

static void bad_text(void **state) {
    refuses("", "expected");
    refuses("SEE(sf=1)", "did you mean SE?");
    refuses("SE(sf=1", "')'");
    refuses("SE(sf=-1)", "sf must be zero or positive");
    refuses("SE(l=0)", "l must be positive");
    refuses("SE(sf=1e200, l=1)", "sf must be between 1e-150 and 1e150 in size");
    refuses("PER(sf=1, p=1, l=1e-200)", "l must be between 1e-150 and 1e150 in size");
    refuses("LIN[0](sf=1, c=1e300)", "c must be between");
    refuses("SE(q=1)", "takes the parameters sf, l");
    refuses("SE(sf=1, sf=2)", "twice");
    refuses("SE(1, 2, 3)", "takes the parameters");
    refuses("SE + ", "expected a kernel");
    refuses("SE SE", "'+', '*' or the end");
    refuses("CP(SE)", "','");
    refuses("CP", "needs two kernels");
    refuses("SE[-1]", "whole numbers from 0");
    refuses("SE(l=[1,2", "']'");
    refuses("C(sf=[1,2])", "single number");
    refuses("POLY(degree=2.5)", "whole number");
    refuses("1e999", "finite");
    refuses("((((", "expected");
    char deep[2000];
    memset(deep, '(', sizeof deep);
    deep[sizeof deep - 1] = 0;
    refuses(deep, "too deeply");
}

static void names_and_dims(void **state) {
    struct kern *k = kernel_of("SE(sf=1, l=[1, 2]) + SE(sf=2, l=3) + LIN(sf=1)");
    static const char *const want[] = {"SE#1.sf", "SE#1.l[0]", "SE#1.l[1]",
                                       "SE#2.sf", "SE#2.l",    "LIN.sf"};
    assert_int_equal(kern_nparam(k), COUNT_OF(want));
    for (size_t i = 0; i < COUNT_OF(want); i++) {
        struct buf b = BUF_INIT;
        kern_param_name(k, i, &b);
        assert_string_equal(b.data, want[i]);
        buf_release(&b);
    }
    char *why = NULL;
    assert_int_equal(kern_check_dim(k, 2, NULL), GPM_OK);
    assert_int_equal(kern_check_dim(k, 3, &why), GPM_E_ARG);
    assert_non_null(strstr(why, "2 length scales"));
    mem_free(why);
    double theta[6], z[6], back[6];
    kern_params(k, theta);
    kern_unconstrain(k, theta, z);
    kern_constrain(k, z, back, NULL);
    for (int i = 0; i < 6; i++) assert_close(theta[i], back[i], 1e-14);
    struct kern *same = kern_with_params(k, theta, NULL);
    assert_ptr_equal(same, k);
    theta[0] = -1;
    assert_null(kern_with_params(k, theta, &why));
    assert_non_null(strstr(why, "sf"));
    mem_free(why);
    kern_unref(same);
    kern_unref(k);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rules),
        cmocka_unit_test(structures),
        cmocka_unit_test(symbols_are_read_back),
        cmocka_unit_test(contains),
        cmocka_unit_test(random_expressions),
        cmocka_unit_test(bad_text),
        cmocka_unit_test(names_and_dims),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
