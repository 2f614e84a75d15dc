/* SPDX-License-Identifier: Apache-2.0
 *
 * Numbers as text (base/number.h), and that a text given with its length is not read beyond it:
 * every text here ends where the memory ends. tests/cli/run_locale.py tries them under locales.
 */
#include "support/check.h"

#include "base/number.h"
#include "gpmem/draws.h"
#include <math.h>
#include <sys/mman.h>
#include <unistd.h>

/* A copy of the text whose last byte is the last of its page; the next page cannot be read. */
struct edge {
    char *base, *text;
    size_t page, n;
};

static struct edge at_the_edge(const char *text) {
    struct edge e = {.page = (size_t)sysconf(_SC_PAGESIZE), .n = strlen(text)};
    e.base = mmap(NULL, 2 * e.page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(e.base != MAP_FAILED && e.n <= e.page);
    assert_int_equal(mprotect(e.base + e.page, e.page, PROT_NONE), 0);
    e.text = e.base + e.page - e.n;
    memcpy(e.text, text, e.n);
    return e;
}

static void unmap(struct edge *e) {
    munmap(e->base, 2 * e->page);
}

static void parses_whole_texts(void **state) {
    static const struct {
        const char *text;
        double x;
    } good[] = {{"1.5", 1.5},      {"-.25", -0.25},    {"1e3", 1000}, {"1e-400", 0},    {" 2.0", 2},
                {"inf", INFINITY}, {"5e-324", 5e-324}, {"1.", 1},     {"+7.125", 7.125}};
    static const char *const bad[] = {"",  "1,5", "1.5 ", "1.5.", "x",       "1e",    "-",
                                      ".", "--1", " ",    "0x10", "0x1.8p1", "1e999", "-2e400"};
    double x;
    for (size_t i = 0; i < COUNT_OF(good); i++) {
        struct edge e = at_the_edge(good[i].text);
        assert_true(number_parse(e.text, e.n, &x));
        assert_true(x == good[i].x);
        unmap(&e);
    }
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        struct edge e = at_the_edge(bad[i]);
        assert_false(number_parse(e.text, e.n, &x));
        unmap(&e);
    }
    assert_true(number_parse("12", 1, &x) && x == 1);
    assert_false(number_parse("1\0002", 3, &x));
}

/* Plain decimals are read as strtod reads them: 17 digits of numbers of all sizes, decimals near
 * and at the middle between two doubles, many digits, zeros before and behind. */
static void plain_decimals_read_as_strtod(void **state) {
    static const char *const texts[] = {"9007199254740993",
                                        "9007199254740992.5",
                                        "9007199254740993.0",
                                        "0.5",
                                        "-0.1",
                                        "18014398509481990",
                                        "18014398509481986",
                                        "0.000000000000000000000000001",
                                        "999999999999999999",
                                        "0.99999999999999999",
                                        "4503599627370496.5",
                                        "4503599627370497.5",
                                        "100000000000000000",
                                        "00012.50",
                                        "123456789012345678.9",
                                        "1.7976931348623157",
                                        "0.30000000000000004",
                                        "72057594037927945",
                                        "-72057594037927937",
                                        "0.0",
                                        "-0"};
    char text[64];
    double x;
    uint64_t bits = 5;
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        assert_true(number_parse(texts[i], strlen(texts[i]), &x));
        assert_true(x == strtod(texts[i], NULL) && signbit(x) == signbit(strtod(texts[i], NULL)));
    }
    for (size_t i = 0; i < 60000; i++) {
        bits = bits * 6364136223846793005u + 1442695040888963407u;
        int point = (int)(bits >> 59) % 28, digits = 1 + (int)(bits >> 40) % 18;
        uint64_t d = (bits >> 1) % (uint64_t)pow(10, digits);
        if (i % 2) { /* what number_exact writes */
            number_exact(text, (i % 4 == 1 ? 1 : -1) * (double)d * pow(10, -point));
        } else {
            char all[64];
            int n = snprintf(all, sizeof all, "%0*llu", point + 1, (unsigned long long)d);
            snprintf(text, sizeof text, "%.*s.%s", n - point, all, all + n - point);
        }
        assert_true(number_parse(text, strlen(text), &x));
        assert_true(x == strtod(text, NULL));
    }
}

static void shortest_reads_back(void **state) {
    static const struct {
        double x;
        const char *text;
    } cases[] = {{0.1, "0.1"},
                 {-0.0, "0"},
                 {1e15, "1e+15"},
                 {1.0 / 3, "0.3333333333333333"},
                 {5e-324, "5e-324"},
                 {1e22, "1e+22"},
                 {-INFINITY, "-inf"},
                 {NAN, "nan"},
                 {123456789, "123456789"},
                 {2.5e-5, "2.5e-05"}};
    char text[NUMBER_TEXT];
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        number_shortest(text, cases[i].x);
        assert_string_equal(text, cases[i].text);
    }
    /* random bit patterns; the longest text fits */
    uint64_t bits = 1;
    for (int i = 0; i < 20000; i++) {
        double x;
        bits = bits * 6364136223846793005u + 1442695040888963407u;
        memcpy(&x, &bits, sizeof x);
        if (!isfinite(x)) continue;
        number_shortest(text, x);
        assert_true(strlen(text) < NUMBER_TEXT - 1 && number_read(text, NULL) == x);
    }
}

/* Byte for byte as printf: numbers of all sizes, halves between two 17-digit decimals, powers. */
static void exact_text_is_that_of_printf(void **state) {
    static const double sizes[] = {1,
                                   1e-10,
                                   9.9999999999999999e-11,
                                   1e-5,
                                   9.5e-5,
                                   1e-4,
                                   0.1,
                                   0.5,
                                   10,
                                   1e14,
                                   999999999999999.9,
                                   1e15,
                                   1e16,
                                   0.30000000000000004,
                                   4503599627370497.5,
                                   281474976710656.25,
                                   100,
                                   12345678};
    char want[64], got[NUMBER_TEXT];
    uint64_t bits = 3;
    for (size_t i = 0; i < 60000; i++) {
        bits = bits * 6364136223846793005u + 1442695040888963407u;
        double x = sizes[i % COUNT_OF(sizes)];
        if (i >= COUNT_OF(sizes)) x *= (double)(bits >> 40) / 4194304; /* few bits: exact halves */
        if (i % 3 == 1) memcpy(&x, &bits, sizeof x);
        if (i % 5 == 1) x = -x * pow(10, (double)(bits >> 60) - 8);
        number_snprintf(want, sizeof want, "%.17g", x);
        assert_int_equal(number_exact(got, x), strlen(want));
        assert_string_equal(got, want);
    }
}

static void draws_stop_at_their_length(void **state) {
    static const struct {
        const char *text, *err; /* NULL: fine */
    } cases[] = {
        {"a,b\n1.5,2\n", NULL},
        {"a,b\n1.5,2", NULL}, /* the last row was cut off: not there */
        {"a,b\r\n1.5,nan\r\n", NULL},
        {"a,b\n1,\n", NULL}, /* an empty cell is an absent value */
        {"a,b\n1, \n", "line 2: a number is missing or malformed"},
        {"a,b\n1\n", "line 2: the number of columns is wrong"},
        {"a,b\n1,2,3\n", "line 2: the number of columns is wrong"},
        {"a,b\n1,2x\n", "line 2: a number is missing or malformed"},
        {"a", "line 0: there is no header"},
        {"", "line 0: there is no header"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct edge e = at_the_edge(cases[i].text);
        char err[200] = "";
        gpm_draws *d = gpm_draws_new();
        enum gpm_status st = gpm_draws_add_csv(d, e.text, e.n, err, sizeof err);
        assert_int_equal(st, cases[i].err ? GPM_E_FORMAT : GPM_OK);
        assert_string_equal(err, cases[i].err ? cases[i].err : "");
        gpm_draws_free(d);
        unmap(&e);
    }
}

/* A text that was refused leaves nothing behind: the next one brings its own columns. */
static void refused_draws_leave_no_columns(void **state) {
    gpm_draws *d = gpm_draws_new();
    char err[200] = "";
    const char *bad = "a,b\n1\n", *good = "x\n1\n2\n";
    assert_int_equal(gpm_draws_add_csv(d, bad, strlen(bad), err, sizeof err), GPM_E_FORMAT);
    assert_int_equal(gpm_draws_add_csv(d, good, strlen(good), err, sizeof err), GPM_OK);
    assert_int_equal(gpm_draws_columns(d), 1);
    assert_int_equal(gpm_draws_rows(d), 2);
    gpm_draws_free(d);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parses_whole_texts),
        cmocka_unit_test(plain_decimals_read_as_strtod),
        cmocka_unit_test(shortest_reads_back),
        cmocka_unit_test(exact_text_is_that_of_printf),
        cmocka_unit_test(draws_stop_at_their_length),
        cmocka_unit_test(refused_draws_leave_no_columns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
