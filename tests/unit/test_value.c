/* SPDX-License-Identifier: Apache-2.0
 *
 * Values: counting, equality, hashing, order, sequences, dictionaries, both printers.
 */
#include "support/check.h"

#include "language/value/value.h"

static struct sym_table syms;

static value N(double x) {
    return value_num(x);
}

static value S(const char *s) {
    return value_sym(sym_cstr(&syms, s));
}

/* Array of the given owned values; swallows them. */
static value arr_take(size_t n, const value *at) {
    value v = value_array(at, n);
    for (size_t i = 0; i < n; i++) value_unref(at[i]);
    return v;
}
#define ARR(...) arr_take(sizeof((value[]){__VA_ARGS__}) / sizeof(value), (value[]){__VA_ARGS__})

static value list_take(size_t n, const value *at) {
    value v = value_list(at, n);
    for (size_t i = 0; i < n; i++) value_unref(at[i]);
    return v;
}
#define LIST(...) list_take(sizeof((value[]){__VA_ARGS__}) / sizeof(value), (value[]){__VA_ARGS__})

static value VEC2(double x, double y) {
    return value_vector((double[]){x, y}, 2);
}

static void check_print_take(value v, const char *text, const char *json) {
    struct buf b = BUF_INIT;
    value_print(v, &b);
    assert_string_equal(b.data, text);
    buf_reset(&b);
    value_print_json(v, &b);
    assert_string_equal(b.data, json);
    buf_release(&b);
    value_unref(v);
}

static void test_print(void **state) {
    check_print_take(N(1), "1", "1");
    check_print_take(N(-0.0), "0", "0");
    check_print_take(N(0.1), "0.1", "0.1");
    check_print_take(N(1.0 / 3), "0.3333333333333333", "0.3333333333333333");
    check_print_take(N(1e300), "1e+300", "1e+300");
    check_print_take(N(INFINITY), "inf", "\"inf\"");
    check_print_take(N(-INFINITY), "-inf", "\"-inf\"");
    check_print_take(N(NAN), "nan", "\"nan\"");
    check_print_take(value_bool(true), "true", "true");
    check_print_take(value_atom(3), "atom<3>", "\"atom<3>\"");
    check_print_take(S("kse"), "kse", "\"kse\"");
    check_print_take(value_cstr("a\"b\n"), "\"a\\\"b\\n\"", "\"a\\\"b\\n\"");
    check_print_take(NIL, "()", "[]");
    check_print_take(ARR(N(1), value_cstr("x"), NIL), "[1, \"x\", ()]", "[1, \"x\", []]");
    check_print_take(LIST(N(1), N(2)), "(1, 2)", "[1, 2]");
    check_print_take(value_pair(N(1), N(2)), "(1 . 2)", "\"(1 . 2)\"");
    check_print_take(VEC2(1, 2.5), "[1, 2.5]", "[1, 2.5]");
    check_print_take(value_ref_to(N(2), NULL), "<ref 2>", "\"<ref 2>\"");
    value m = value_matrix_new(2, 3);
    for (size_t i = 0; i < 6; i++) m.u.matrix->at[i] = (double)i;
    check_print_take(m, "[[0, 2, 4], [1, 3, 5]]", "[[0, 2, 4], [1, 3, 5]]");
    value s = value_cstr("a"), kv[] = {s, N(1), N(2), S("b")};
    value d = value_dict(kv, 2);
    value_unref(s);
    check_print_take(d, "{\"a\": 1, 2: b}", "{\"a\": 1, \"2\": \"b\"}");
    assert_int_equal(value_live_count(), 0);
}

/* a == b, or not, with hash and order in agreement. */
static void check_equal_take(value a, value b, bool same) {
    assert_int_equal(value_equal(a, b), same);
    assert_int_equal(value_equal(b, a), same);
    if (same) {
        assert_true(value_hash(a) == value_hash(b));
        assert_int_equal(value_compare(a, b), 0);
    } else {
        assert_true(value_compare(a, b) != 0);
        assert_int_equal(value_compare(a, b), -value_compare(b, a));
    }
    value_unref(a);
    value_unref(b);
}

static void test_equal(void **state) {
    check_equal_take(N(1), N(1), true);
    check_equal_take(N(0.0), N(-0.0), true);
    check_equal_take(N(1), N(2), false);
    check_equal_take(N(1), value_bool(true), false);
    check_equal_take(N(1), value_atom(1), false);
    check_equal_take(value_cstr("a"), S("a"), false);
    check_equal_take(value_cstr("a"), value_cstr("a"), true);
    check_equal_take(value_cstr("a"), value_cstr("ab"), false);
    check_equal_take(S("a"), S("a"), true);
    check_equal_take(NIL, NIL, true);
    check_equal_take(ARR(N(1), N(2)), ARR(N(1), N(2)), true);
    check_equal_take(ARR(N(1), N(2)), VEC2(1, 2), true);
    check_equal_take(ARR(N(1), value_bool(true)), VEC2(1, 1), false);
    check_equal_take(LIST(N(1), N(2)), VEC2(1, 2), false);
    check_equal_take(LIST(N(1), N(2)), LIST(N(1), N(2)), true);
    check_equal_take(LIST(N(1), N(2)), LIST(N(1)), false);
    check_equal_take(ARR(ARR(N(1)), NIL), ARR(ARR(N(1)), NIL), true);
    check_equal_take(ARR(ARR(N(1)), NIL), ARR(ARR(N(2)), NIL), false);
    check_equal_take(value_ref_to(N(1), NULL), value_ref_to(N(1), NULL), true);
    assert_true(value_equal(N(NAN), N(NAN))); /* as keys; under == nothing equals it */
    assert_true(value_hash(N(NAN)) == value_hash(N(-NAN)));
    assert_false(value_equal_arithmetic(N(NAN), N(NAN)));
    value s = value_cstr("x");
    assert_true(value_name_equal(s, S("x")));
    assert_false(value_name_equal(s, S("y")));
    value_unref(s);
    assert_int_equal(value_live_count(), 0);
}

static void test_dict_order_does_not_matter(void **state) {
    value ab[] = {N(1), N(2), N(3), N(4)}, ba[] = {N(3), N(4), N(1), N(2)};
    value a = value_dict(ab, 2), b = value_dict(ba, 2);
    assert_true(value_equal(a, b));
    assert_true(value_hash(a) == value_hash(b));
    value_unref(a);
    value_unref(b);
}

static void test_order(void **state) {
    value str = value_cstr("a"), arr = ARR(N(0));
    value up[] = {N(-1), N(2), N(NAN), value_atom(0), value_bool(false), value_bool(true),
                  str,   arr};
    for (size_t i = 0; i < COUNT_OF(up); i++)
        for (size_t j = 0; j < COUNT_OF(up); j++)
            assert_int_equal(value_compare(up[i], up[j]), (i > j) - (i < j));
    value_unref(str);
    value_unref(arr);
}

static void test_dict(void **state) {
    enum { n = 1000 };
    value *kv = NEW_ARRAY(value, 2 * (n + 1));
    for (size_t i = 0; i < n; i++) {
        kv[2 * i] = ARR(N((double)i), value_cstr("key"));
        kv[2 * i + 1] = N((double)(i * i));
    }
    kv[2 * n] = value_ref(kv[2 * 7]); /* again: replaces */
    kv[2 * n + 1] = N(-1);
    value d = value_dict(kv, n + 1);
    assert_int_equal(d.u.dict->n, n);
    for (size_t i = 0; i < n; i++) {
        const value *v = dict_find(d.u.dict, kv[2 * i]);
        assert_non_null(v);
        assert_true(v->u.num == (i == 7 ? -1.0 : (double)(i * i)));
    }
    assert_null(dict_find(d.u.dict, N(3)));
    value_unref(d);
    values_free(kv, 2 * (n + 1));
    assert_int_equal(value_live_count(), 0);
}

static void test_seq(void **state) {
    value all[] = {LIST(N(4), N(5), N(6)), ARR(N(4), N(5), N(6)),
                   value_vector((double[]){4, 5, 6}, 3)};
    for (size_t k = 0; k < COUNT_OF(all); k++) {
        size_t n;
        value x, *items;
        double *nums;
        assert_true(seq_is(all[k]));
        assert_true(seq_length(all[k], &n));
        assert_int_equal(n, 3);
        assert_true(seq_get(all[k], 2, &x));
        assert_true(x.u.num == 6);
        assert_false(seq_get(all[k], 3, &x));
        assert_true(seq_items(all[k], &items, &n));
        assert_true(n == 3 && items[1].u.num == 5);
        values_free(items, n);
        assert_true(seq_numbers(all[k], &nums, &n));
        assert_true(n == 3 && nums[0] == 4);
        mem_free(nums);
        value_unref(all[k]);
    }
    value bad = value_pair(N(1), N(2)), text = ARR(value_cstr("a"));
    size_t n;
    double *nums;
    assert_false(seq_is(bad));
    assert_false(seq_is(N(1)));
    assert_false(seq_numbers(text, &nums, &n));
    value_unref(bad);
    value_unref(text);
    assert_int_equal(value_live_count(), 0);
}

static uint64_t hash_unmix(uint64_t x) {
    x = (x ^ x >> 33) * 0x9cb4b2f8129337dbULL;
    x = (x ^ x >> 33) * 0x4f74430c22a54005ULL;
    return x ^ x >> 33;
}

/* Pairs of numbers that have one hash where parts are joined by hash_mix, which is the same in
 * every process. */
static void test_chosen_keys(void **state) {
    enum { KEYS = 100 };
    const uint64_t golden = 0x9e3779b97f4a7c15ULL, prime = 0x100000001b3ULL;
    uint64_t hash[KEYS], all = 1;
    assert_true(hash_mix(hash_unmix(golden)) == golden);
    for (size_t n = 0, i = 1; n < KEYS; i++) {
        uint64_t first = hash_mix(0x22 * prime ^ hash_num((double)i));
        uint64_t bits = hash_unmix(hash_unmix(12345) ^ first * prime) - golden;
        double second;
        memcpy(&second, &bits, sizeof second);
        if (second != second) continue;
        assert_true(hash_mix(first * prime ^ hash_num(second)) == 12345);
        value key = ARR(N((double)i), N(second));
        hash[n++] = value_hash(key);
        value_unref(key);
    }
    for (size_t i = 1; i < KEYS; i++) all += hash[i] != hash[i - 1];
    assert_int_equal(all, KEYS);
}

/* Nesting a million deep must not exhaust the C stack. */
static void test_deep(void **state) {
    value a = NIL, b = NIL;
    for (int i = 0; i < 1000000; i++) {
        value x = value_array(&a, 1), y = value_array(&b, 1);
        value_unref(a);
        value_unref(b);
        a = x;
        b = y;
    }
    assert_true(value_equal(a, b));
    assert_int_equal(value_compare(a, b), 0);
    assert_true(value_hash(a) == value_hash(b));
    struct buf out = BUF_INIT;
    value_print(a, &out);
    assert_non_null(strstr(out.data, "[[..."));
    buf_release(&out);
    value_unref(a);
    value_unref(b);
    assert_int_equal(value_live_count(), 0);
}

static int freed;
static void box_freed(struct box *b) {
    freed++;
}

static void test_box(void **state) {
    static const struct box_class cls = {
        .name = "thing", .size = sizeof(struct box), .release = box_freed};
    struct box *b = box_new(&cls);
    value v = value_box(V_BOX, b), a = value_array(&v, 1);
    assert_string_equal(value_type_name(v), "thing");
    assert_true(value_equal(v, v));
    value_unref(v);
    assert_int_equal(freed, 0);
    check_print_take(a, "[<thing>]", "[\"<thing>\"]");
    assert_int_equal(freed, 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_print),
        cmocka_unit_test(test_equal),
        cmocka_unit_test(test_dict_order_does_not_matter),
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_dict),
        cmocka_unit_test(test_seq),
        cmocka_unit_test(test_chosen_keys),
        cmocka_unit_test(test_deep),
        cmocka_unit_test(test_box),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    sym_table_release(&syms);
    return failed;
}
