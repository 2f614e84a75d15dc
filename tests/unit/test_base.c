/* SPDX-License-Identifier: Apache-2.0
 * Arena, buffer, map and symbols. */
#include "support/check.h"

#include "base/cores.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/map.h"
#include "base/pmap.h"
#include "base/sym.h"

static void map_survives_random_put_and_del(void **state) {
    struct map m = {0};
    static char there[512];
    uint64_t x = 1;
    for (int step = 0; step < 200000; step++) {
        x = x * 6364136223846793005ULL + 1442695040888963407ULL;
        unsigned key = (unsigned)(x >> 40) & 511;
        if (x >> 63) {
            map_put(&m, key, &there[key]);
            there[key] = 1;
        } else {
            assert_int_equal(map_del(&m, key) != NULL, there[key]);
            there[key] = 0;
        }
    }
    size_t n = 0;
    for (unsigned k = 0; k < 512; k++) {
        assert_int_equal(map_get(&m, k) != NULL, there[k]);
        n += (size_t)there[k];
    }
    assert_int_equal(m.n, n);
    map_release(&m);
}

/* Versions stay as they were whatever is put into those made from them. */
static size_t longest_run(const struct map *m) {
    size_t run = 0, longest = 0;
    for (size_t i = 0; i < 2 * m->cap; i++) {
        run = m->slots[i & (m->cap - 1)].val ? run + 1 : 0;
        longest = run > longest ? run : longest;
    }
    return longest;
}

/* Keys, and names, that would all meet in one place by hash_mix and hash_bytes, which are the same
 * in every process. */
static void chosen_keys_do_not_meet(void **state) {
    enum { KEYS = 2000, PLACES = 4096 };
    struct map m = {0};
    struct sym_table t = {0};
    uint64_t key = 0;
    for (size_t n = 0; n < KEYS; key++)
        if (hash_mix(key) % PLACES == 7) map_put(&m, key, &m), n++;
    for (size_t n = 0, name = 0; n < KEYS; name++) {
        char text[20];
        int len = snprintf(text, sizeof text, "x%zx", name);
        if (hash_mix(hash_bytes(text, (size_t)len, 0)) % PLACES == 7)
            sym_intern(&t, text, (size_t)len), n++;
    }
    assert_int_equal(m.n, KEYS);
    assert_true(longest_run(&m) < KEYS / 5);
    assert_int_equal(t.map.n, KEYS);
    assert_true(longest_run(&t.map) < KEYS / 5);
    map_release(&m);
    sym_table_release(&t);
}

static void versions_of_a_map_do_not_disturb_each_other(void **state) {
    enum { KEYS = 300, VERSIONS = 40 };
    static char there[VERSIONS][KEYS], mark[KEYS];
    struct pmap *version[VERSIONS] = {NULL};
    uint64_t x = 7;
    for (int v = 1; v < VERSIONS; v++) {
        int from = v - 1 - (v > 3 ? v % 3 : 0);
        version[v] = pmap_ref(version[from]);
        memcpy(there[v], there[from], KEYS);
        for (int step = 0; step < 60; step++) {
            x = x * 6364136223846793005ULL + 1442695040888963407ULL;
            unsigned key = (unsigned)(x >> 40) % KEYS;
            there[v][key] = (x >> 61) != 0;
            version[v] = pmap_put(version[v], key, there[v][key] ? &mark[key] : NULL);
        }
    }
    for (int v = 0; v < VERSIONS; v++) {
        for (unsigned k = 0; k < KEYS; k++)
            assert_ptr_equal(pmap_get(version[v], k), there[v][k] ? &mark[k] : NULL);
        pmap_unref(version[v]);
    }
}

static void numbers_print_shortest(void **state) {
    const struct {
        double x;
        const char *text;
    } cases[] = {{0.1, "0.1"},      {1.0 / 3, "0.3333333333333333"},    {3, "3"},     {-0.0, "0"},
                 {1e300, "1e+300"}, {1548008755920.0, "1548008755920"}, {2.60, "2.6"}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct buf b = BUF_INIT;
        buf_number(&b, cases[i].x);
        assert_string_equal(b.data, cases[i].text);
        buf_release(&b);
    }
}

static void json_fields_are_separated_and_escaped(void **state) {
    struct buf b = BUF_INIT, why = BUF_INIT;
    char name[] = "a \"b\"\n";
    bool yes = true;
    size_t n = 3;
    const double v[] = {1, NAN, 0.1};
    buf_putc(&b, '{');
    JSON(&b, FIELD("text", name), FIELD("none", (const char *)NULL), FIELD("n", n));
    JSON(&b, FIELD("yes", yes), FIELD("inf", INFINITY), FIELD(name, -0.5));
    buf_puts(&b, ",\n ");
    json_numbers(&b, "v", 3, v);
    json_numbers(&b, "empty", 0, v);
    buf_putc(&b, '}');
    assert_string_equal(b.data,
                        "{\"text\": \"a \\\"b\\\"\\n\", \"none\": \"\", \"n\": 3, \"yes\": true, "
                        "\"inf\": null, \"a \\\"b\\\"\\n\": -0.5,\n \"v\": [1, null, 0.1], "
                        "\"empty\": []}");
    assert_int_equal(buf_fail(&why, GPM_E_ARG, "%s: %d", "x", 7), GPM_E_ARG);
    assert_string_equal(why.data, "x: 7");
    buf_release(&b);
    buf_release(&why);
}

static void arena_keeps_what_it_gave(void **state) {
    struct arena a = {0};
    char *p = arena_strndup(&a, "hello", 4);
    for (int i = 0; i < 1000; i++) memset(arena_alloc(&a, 1000), 1, 1000);
    assert_string_equal(p, "hell");
    arena_release(&a);
}

static void symbols_are_unique(void **state) {
    struct sym_table t = {0};
    struct sym *a = sym_cstr(&t, "alpha");
    assert_ptr_equal(a, sym_intern(&t, "alphabet", 5));
    assert_ptr_not_equal(a, sym_cstr(&t, "beta"));
    sym_table_release(&t);
}

/* The words of cpu.max, or of the two files of cgroup version 1; whole processors, rounded up. */
static void quotas_become_processors(void **state) {
    assert_int_equal(cores_of_quota("max", "100000"), 0);
    assert_int_equal(cores_of_quota("-1", "100000"), 0);
    assert_int_equal(cores_of_quota("", ""), 0);
    assert_int_equal(cores_of_quota("200000", "100000"), 2);
    assert_int_equal(cores_of_quota("150000", "100000"), 2);
    assert_int_equal(cores_of_quota("1000", "100000"), 1);
    assert_int_equal(cores_of_quota("1000", "0"), 0);
    assert_true(cores_available() >= 1);
}

/* The sanitizers stop where nothing is copied from nowhere. */
static void nothing_can_be_added(void **state) {
    struct buf b = BUF_INIT;
    buf_add(&b, NULL, 0);
    buf_add(&b, "one", 3);
    buf_add(&b, NULL, 0);
    assert_string_equal(b.data, "one");
    buf_release(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quotas_become_processors),
        cmocka_unit_test(map_survives_random_put_and_del),
        cmocka_unit_test(chosen_keys_do_not_meet),
        cmocka_unit_test(versions_of_a_map_do_not_disturb_each_other),
        cmocka_unit_test(numbers_print_shortest),
        cmocka_unit_test(json_fields_are_separated_and_escaped),
        cmocka_unit_test(arena_keeps_what_it_gave),
        cmocka_unit_test(nothing_can_be_added),
        cmocka_unit_test(symbols_are_unique),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
