/* SPDX-License-Identifier: Apache-2.0
 *
 * The lexer alone: kinds, values, comments, typed literals, and what it calls wrong.
 */
#include "language/lang/lex.h"
#include "support/check.h"

/* The kinds of all tokens, one letter each. */
static void kinds(const char *text, char *out) {
    struct lexer lx;
    lex_init(&lx, text, (uint32_t)strlen(text));
    for (;;) {
        struct token t = lex_next(&lx);
        if (t.kind == TOK_EOF) break;
        *out++ = t.err                  ? '!'
                 : t.kind == TOK_NAME   ? (t.word ? 'w' : 'n')
                 : t.kind == TOK_NUMBER ? '1'
                 : t.kind == TOK_STRING ? 's'
                 : t.kind == TOK_TYPED  ? 't'
                                        : 'p';
    }
    *out = '\0';
}

static void assert_kinds(const char *text, const char *want) {
    char got[256];
    kinds(text, got);
    assert_string_equal(got, want);
}

static struct token first(const char *text) {
    struct lexer lx;
    lex_init(&lx, text, (uint32_t)strlen(text));
    return lex_next(&lx);
}

static void test_kinds(void **state) {
    assert_kinds("assume x = 12.5;", "wnp1p");
    assert_kinds("ASSUME Sample fOrce foo", "wwwn");
    assert_kinds("a<-b a<~b x~>y x->y", "npnnpnnpnnpn");
    assert_kinds("a||b&&c==d!=e<=f>=g**h", "npnpnpnpnpnpnpn");
    assert_kinds("[| x |] ... ++", "pnppp");
    assert_kinds("", "");
    assert_kinds("\xEF\xBB\xBFx", "n"); /* byte order mark */
}

static void test_numbers(void **state) {
    static const struct {
        const char *text;
        double value;
        uint32_t len;
    } rows[] = {{"12", 12, 2},          {"3.", 3, 2},   {".5", .5, 2}, {"1.5e-3", 1.5e-3, 6},
                {"1E+2", 100, 4},       {"1...", 1, 1}, {"2. ", 2, 2}, {"1.e2", 100, 4},
                {"1e5+", 1e5, 3},       {"0", 0, 1},    {"007", 7, 3}, {"1..2", 1, 2},
                {"4.9e-324", 5e-324, 8}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct lexer lx;
        lex_init(&lx, rows[i].text, (uint32_t)strlen(rows[i].text));
        struct token t = lex_next(&lx);
        assert_int_equal(t.kind, TOK_NUMBER);
        assert_int_equal(t.end - t.start, rows[i].len);
        assert_true(lex_number(&lx, &t) == rows[i].value);
    }
    assert_int_equal(first("12abc").err, LEX_NUMBER_LETTER);
    assert_int_equal(first("1e").err, LEX_NUMBER_LETTER);
    assert_int_equal(first("0x1F").err, LEX_NUMBER_HEX);
    assert_int_equal(first("1e999").err, LEX_NUMBER_RANGE);
}

static void assert_string(const char *text, const char *want, size_t n) {
    struct lexer lx;
    struct buf b = BUF_INIT;
    lex_init(&lx, text, (uint32_t)strlen(text));
    struct token t = lex_next(&lx);
    assert_int_equal(t.kind, TOK_STRING);
    assert_int_equal(t.err, LEX_OK);
    lex_string(&lx, &t, &b);
    assert_int_equal(b.len, n);
    assert_memory_equal(b.data, want, n);
    buf_release(&b);
}

static void test_strings(void **state) {
    assert_string("\"abc\"", "abc", 3);
    assert_string("\"a\\\"b\\\\c\\/\"", "a\"b\\c/", 6);
    assert_string("\"\\b\\f\\n\\r\\t\"", "\b\f\n\r\t", 5);
    assert_string("\"\\101\\000x\"", "A\0x", 3);
    assert_string("\"\\351\"", "\xC3\xA9", 2); /* U+00E9 */
    assert_string("\"two\nlines\"", "two\nlines", 9);
    assert_string("\"\"", "", 0);
    assert_int_equal(first("\"abc").err, LEX_STRING_OPEN);
    assert_int_equal(first("\"abc\\\"").err, LEX_STRING_OPEN);
    assert_int_equal(first("\"abc\\").err, LEX_STRING_OPEN);
    assert_int_equal(first("\"a\\qb\"").err, LEX_ESCAPE);
    assert_int_equal(first("\"a\\9\"").err, LEX_ESCAPE);
}

static void test_comments(void **state) {
    assert_kinds("a // b c\n d", "nn");
    assert_kinds("a /** x /** y **/ z **/ b", "nn");
    assert_kinds("a //", "n");
    assert_kinds("/** **/", "");
    assert_int_equal(first("/** open").err, LEX_COMMENT_OPEN);
    assert_int_equal(first("/** /** **/").err, LEX_COMMENT_OPEN);
    assert_int_equal(first("/**").err, LEX_COMMENT_OPEN);
}

static void test_typed_literals(void **state) {
    assert_kinds("integer<3> atom<2> real<1.5> count<4> probability<.5> name<foo>", "tttttt");
    assert_kinds("integer< -3 > real<+1>", "tt");
    assert_kinds("n<3", "np1");
    assert_kinds("n<3>x", "np1pn");
    assert_kinds("integer<x>", "npnp"); /* a comparison */
    assert_kinds("integer <3>", "np1p");
    assert_kinds("count<4", "np1");
    assert_kinds("integer<3", "np1");
    assert_int_equal(first("integer<2.5>").err, LEX_TYPED_VALUE);
    assert_int_equal(first("probability<1.5>").err, LEX_TYPED_VALUE);
    assert_int_equal(first("count<-1>").err, LEX_TYPED_VALUE);
}

static void test_hyphenated_name(void **state) {
    assert_kinds("gradient-ascent(x)", "npnp");
    assert_kinds("gradient-ascents", "npn");
    assert_kinds("gradient - ascent", "npn");
    assert_kinds("my_gradient-ascent", "npn");
}

static void test_newline_flag(void **state) {
    struct lexer lx;
    lex_init(&lx, "a b\n c /** \n **/ d", 17);
    assert_true(lex_next(&lx).newline);
    assert_false(lex_next(&lx).newline);
    assert_true(lex_next(&lx).newline);
}

static void test_utf8(void **state) {
    static const struct {
        const char *text;
        size_t len, bad;
    } rows[] = {
        {"abc", 3, 3},
        {"\xC3\xA9", 2, 2},
        {"\xE2\x82\xAC\xF0\x9F\x98\x80", 7, 7},
        {"a\xC3", 2, 1},            /* cut short */
        {"\xC0\x80", 2, 0},         /* overlong */
        {"\xE0\x80\x80", 3, 0},     /* overlong */
        {"\xED\xA0\x80", 3, 0},     /* surrogate */
        {"\xF4\x90\x80\x80", 4, 0}, /* above 10FFFF */
        {"\xFF", 1, 0},
        {"ab\0c", 4, 2},
        {"ok\x80", 3, 2},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        assert_int_equal(utf8_check(rows[i].text, rows[i].len), rows[i].bad);
}

static void test_strange_characters(void **state) {
    assert_kinds("a @@@ b", "n!n");
    assert_kinds("a \xC3\xA9\xC3\xA9 b", "n!n");
    assert_kinds("\x01", "!");
    assert_kinds(".", "!");
    assert_kinds("a & b", "n!n");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kinds),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_strings),
        cmocka_unit_test(test_comments),
        cmocka_unit_test(test_typed_literals),
        cmocka_unit_test(test_hyphenated_name),
        cmocka_unit_test(test_newline_flag),
        cmocka_unit_test(test_utf8),
        cmocka_unit_test(test_strange_characters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
