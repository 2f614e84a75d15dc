/* SPDX-License-Identifier: Apache-2.0
 *
 * Diagnostics as text and as JSON, byte for byte; and "did you mean".
 */
#include "language/lang/diag.h"
#include "support/check.h"

struct fixture {
    struct sources sources;
    struct diags diags;
    struct buf out;
};

static void init(struct fixture *f) {
    f->sources = (struct sources){0};
    f->diags = (struct diags){.sources = &f->sources};
    buf_init(&f->out);
}

static void release(struct fixture *f) {
    diags_release(&f->diags);
    sources_release(&f->sources);
    buf_release(&f->out);
}

static struct span span(uint32_t unit, uint32_t start, uint32_t end) {
    return (struct span){unit, start, end};
}

static void assert_rendered(struct fixture *f, const char *want) {
    diags_render(&f->diags, false, &f->out);
    assert_string_equal(f->out.data, want);
    release(f);
}

static void test_plain(void **state) {
    struct fixture f;
    init(&f);
    uint32_t u = sources_add(&f.sources, "a.vnts", "1 + 1;\nfoo + 1;\n", 16);
    assert_int_equal(diag_raise(&f.diags, DIAG_UNBOUND, span(u, 7, 10), "`%s` is not bound", "foo"),
                     GPM_E_USER);
    diag_set_help(&f.diags, "did you mean `%s`?", "for");
    diag_add_note(&f.diags, "a note");
    assert_rendered(&f, "a.vnts:2:1: error[E0201]: `foo` is not bound\n"
                        "  |\n"
                        "2 | foo + 1;\n"
                        "  | ^^^\n"
                        "  = note: a note\n"
                        "  = help: did you mean `for`?\n");
}

static void test_labels_and_gutter(void **state) {
    struct fixture f;
    struct buf text = BUF_INIT;
    init(&f);
    for (int i = 1; i <= 12; i++) buf_printf(&text, "line %d x\n", i);
    uint32_t u = sources_add(&f.sources, "a", text.data, text.len);
    uint32_t at = (uint32_t)(strstr(text.data, "line 12") - text.data);
    (void)diag_raise(&f.diags, DIAG_DUPLICATE_NAME, span(u, at, at + 4), "twice");
    diag_add_label(&f.diags, span(u, 5, 6), "first here");
    diag_add_label(&f.diags, span(u, at + 8, at + 9), "same line");
    buf_release(&text);
    assert_rendered(&f, "a:12:1: error[E0401]: twice\n"
                        "   |\n"
                        " 1 | line 1 x\n"
                        "   |      - first here\n"
                        "...\n"
                        "12 | line 12 x\n"
                        "   | ^^^^\n"
                        "   |         - same line\n");
}

static void test_calls(void **state) {
    struct fixture f;
    init(&f);
    uint32_t u = sources_add(&f.sources, "a", "f(g(1));", 8);
    (void)diag_raise(&f.diags, DIAG_TYPE, NO_SPAN, "wrong");
    diag_place(&f.diags, span(u, 4, 5));
    diag_place(&f.diags, span(u, 0, 1)); /* it has one already */
    diag_add_call(&f.diags, span(u, 2, 6), "in g, called");
    diag_add_call(&f.diags, NO_SPAN, "in f");
    assert_rendered(&f, "a:1:5: error[E0205]: wrong\n"
                        "  |\n"
                        "1 | f(g(1));\n"
                        "  |     ^\n"
                        "  = in g, called at a:1:3\n"
                        "  = in f\n");
}

static void test_deep_chain_is_cut(void **state) {
    struct fixture f;
    init(&f);
    (void)diag_raise(&f.diags, DIAG_RECURSION, NO_SPAN, "too deep");
    for (int i = 0; i < 100; i++) diag_add_call(&f.diags, NO_SPAN, "call %d", i);
    diags_render(&f.diags, false, &f.out);
    assert_non_null(strstr(f.out.data, "  = call 0\n"));
    assert_non_null(strstr(f.out.data, "  = call 9\n  = ... 84 more calls\n  = call 94\n"));
    assert_non_null(strstr(f.out.data, "  = call 99\n"));
    assert_null(strstr(f.out.data, "call 50"));
    release(&f);
}

static void test_repeated_calls(void **state) {
    struct fixture f;
    init(&f);
    (void)diag_raise(&f.diags, DIAG_RECURSION, NO_SPAN, "too deep");
    for (int i = 0; i < 100; i++) diag_add_call(&f.diags, NO_SPAN, "in f");
    diag_add_call(&f.diags, NO_SPAN, "in g");
    assert_rendered(&f, "error[E0220]: too deep\n"
                        "  = in f, 10 times\n"
                        "  = ... 85 more calls\n"
                        "  = in f, 5 times\n"
                        "  = in g\n");
}

static void test_widths(void **state) {
    struct fixture f;
    const char *text = "\t\xE6\x97\xA5\xC3\xA9 x"; /* tab, a wide character, a narrow one */
    init(&f);
    uint32_t u = sources_add(&f.sources, "a", text, strlen(text));
    (void)diag_raise(&f.diags, DIAG_UNBOUND, span(u, 7, 8), "here");
    assert_rendered(&f, "a:1:5: error[E0201]: here\n"
                        "  |\n"
                        "1 |     \xE6\x97\xA5\xC3\xA9 x\n"
                        "  |         ^\n");
}

static void test_unprintable(void **state) {
    struct fixture f;
    init(&f);
    uint32_t u = sources_add(&f.sources, "a", "x\xFF\x1By", 4);
    (void)diag_raise(&f.diags, DIAG_BAD_ENCODING, span(u, 1, 2), "bad");
    assert_rendered(&f, "a:1:2: error[E0101]: bad\n"
                        "  |\n"
                        "1 | x\xEF\xBF\xBD\xEF\xBF\xBDy\n"
                        "  |  ^\n");
}

static void test_long_line(void **state) {
    struct fixture f;
    enum { N = 1000000 };
    char *text = mem_alloc(N);
    init(&f);
    memset(text, 'x', N);
    uint32_t u = sources_add(&f.sources, "a", text, N);
    (void)diag_raise(&f.diags, DIAG_UNBOUND, span(u, 500000, 500002), "here");
    diags_render(&f.diags, false, &f.out);
    assert_true(f.out.len < 400);
    assert_non_null(strstr(f.out.data, "  |                                            ^^\n"));
    mem_free(text);
    release(&f);
}

static void test_multi_line_span(void **state) {
    struct fixture f;
    init(&f);
    uint32_t u = sources_add(&f.sources, "a", "f(1,\n  2)", 9);
    (void)diag_raise(&f.diags, DIAG_ARITY, span(u, 0, 9), "two lines");
    assert_rendered(&f, "a:1:1: error[E0203]: two lines\n"
                        "  |\n"
                        "1 | f(1,\n"
                        "  | ^^^^\n");
}

static void test_other_unit(void **state) {
    struct fixture f;
    init(&f);
    uint32_t a = sources_add(&f.sources, "a", "x", 1), b = sources_add(&f.sources, "b", "y\nz", 3);
    (void)diag_raise(&f.diags, DIAG_DUPLICATE_NAME, span(a, 0, 1), "again");
    diag_add_label(&f.diags, span(b, 2, 3), "first bound here");
    assert_rendered(&f, "a:1:1: error[E0401]: again\n"
                        "  |\n"
                        "1 | x\n"
                        "  | ^\n"
                        "  = b:2:1: first bound here\n");
}

static void test_end_of_text(void **state) {
    struct fixture f;
    init(&f);
    uint32_t u = sources_add(&f.sources, "a", "x +\n", 4);
    (void)diag_raise(&f.diags, DIAG_UNEXPECTED_TOKEN, span(u, 4, 4), "end");
    assert_rendered(&f, "a:2:1: error[E0107]: end\n"
                        "  |\n"
                        "2 |\n"
                        "  | ^\n");
}

static void test_at_most_ten(void **state) {
    struct fixture f;
    init(&f);
    for (int i = 0; i < 20; i++) {
        (void)diag_raise(&f.diags, DIAG_UNBOUND, NO_SPAN, "number %d", i);
        diag_set_help(&f.diags, "help %d", i);
    }
    assert_int_equal(f.diags.list.n, 10);
    assert_string_equal(f.diags.list.at[9]->parts[DIAG_HELP].at[0].text, "help 9");
    diags_rewind(&f.diags, 0);
    for (int i = 0; i < 20; i++) diag_warn(&f.diags, DIAG_UNOPENED, NO_SPAN, "odd %d", i);
    (void)diag_raise(&f.diags, DIAG_UNBOUND, NO_SPAN, "wrong"); /* warnings do not hide it */
    assert_int_equal(f.diags.list.n, 11);
    assert_int_equal(diags_errors(&f.diags), 1);
    release(&f);
}

static void test_long_text_is_cut(void **state) {
    struct fixture f;
    struct buf name = BUF_INIT;
    init(&f);
    for (int i = 0; i < 1000; i++) buf_puts(&name, "\xC3\xA9");
    (void)diag_raise(&f.diags, DIAG_UNBOUND, NO_SPAN, "`%s` is not bound", name.data);
    const char *text = f.diags.list.at[0]->message;
    assert_int_equal(strlen(text), 1000 + 3 - 1); /* not inside a character */
    assert_string_equal(text + strlen(text) - 3, "...");
    buf_release(&name);
    release(&f);
}

static void test_warning_and_colour(void **state) {
    struct fixture f;
    init(&f);
    diag_warn(&f.diags, DIAG_UNOPENED, NO_SPAN, "odd");
    assert_int_equal(diags_errors(&f.diags), 0);
    diags_render(&f.diags, true, &f.out);
    assert_non_null(strstr(f.out.data, "warning[E0109]"));
    assert_non_null(strstr(f.out.data, "\033["));
    release(&f);
}

static void test_json(void **state) {
    struct fixture f;
    init(&f);
    uint32_t u = sources_add(&f.sources, "a\"b", "x\nfoo", 5);
    (void)diag_raise(&f.diags, DIAG_UNBOUND, span(u, 2, 5), "say \"%s\"", "foo");
    diag_add_label(&f.diags, span(u, 0, 1), "l");
    diag_add_note(&f.diags, "n");
    diag_set_help(&f.diags, "h");
    diag_add_call(&f.diags, NO_SPAN, "c");
    (void)diag_raise(&f.diags, DIAG_FILE, NO_SPAN, "no place");
    diags_render_json(&f.diags, &f.out);
    assert_string_equal(
        f.out.data,
        "{\"severity\":\"error\",\"code\":\"E0201\",\"message\":\"say "
        "\\\"foo\\\"\",\"file\":\"a\\\"b\","
        "\"line\":2,\"column\":1,\"end_line\":2,\"end_column\":4,"
        "\"labels\":[{\"text\":\"l\",\"file\":\"a\\\"b\",\"line\":1,\"column\":1,\"end_line\":1,"
        "\"end_column\":2}],\"notes\":[\"n\"],\"help\":\"h\",\"calls\":[{\"text\":\"c\"}]}\n"
        "{\"severity\":\"error\",\"code\":\"E0701\",\"message\":\"no place\",\"labels\":[],"
        "\"notes\":[],\"calls\":[]}\n");
    release(&f);
}

static void test_suggest(void **state) {
    static const char *const names[] = {"normal", "gamma", "beta",     "Flip",
                                        "size",   "x",     "lognormal"};
    assert_string_equal(suggest_nearest("normall", names, COUNT_OF(names)), "normal");
    assert_string_equal(suggest_nearest("nromal", names, COUNT_OF(names)), "normal");
    assert_string_equal(suggest_nearest("GAMMA", names, COUNT_OF(names)), "gamma");
    assert_string_equal(suggest_nearest("flip", names, COUNT_OF(names)), "Flip");
    assert_string_equal(suggest_nearest("siez", names, COUNT_OF(names)), "size");
    static const char *const equals[] = {"mass", "map"};
    assert_string_equal(suggest_nearest("mas", equals, COUNT_OF(equals)), "mass");
    assert_null(suggest_nearest("quux", names, COUNT_OF(names)));
    assert_null(suggest_nearest("y", names, COUNT_OF(names)));
    assert_null(suggest_nearest("", names, COUNT_OF(names)));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plain),
        cmocka_unit_test(test_labels_and_gutter),
        cmocka_unit_test(test_calls),
        cmocka_unit_test(test_deep_chain_is_cut),
        cmocka_unit_test(test_widths),
        cmocka_unit_test(test_unprintable),
        cmocka_unit_test(test_long_line),
        cmocka_unit_test(test_multi_line_span),
        cmocka_unit_test(test_other_unit),
        cmocka_unit_test(test_end_of_text),
        cmocka_unit_test(test_at_most_ten),
        cmocka_unit_test(test_warning_and_colour),
        cmocka_unit_test(test_json),
        cmocka_unit_test(test_suggest),
        cmocka_unit_test(test_long_text_is_cut),
        cmocka_unit_test(test_repeated_calls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
