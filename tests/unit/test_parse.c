/* SPDX-License-Identifier: Apache-2.0
 *
 * The parser and the resolver: precedence and desugaring as seen by the printer, frames and slots,
 * the two dialects, the paper's listings as printed, recovery, limits, and print/parse round trips.
 */
#include "language/lang/ast.h"
#include "support/check.h"
#include "support/parsed.h"
#include <glob.h>

static void assert_prints(const char *text, const char *want) {
    struct parsed p;
    struct buf b = BUF_INIT;
    parsed_init(&p);
    if (parsed_add(&p, text, strlen(text), false)) {
        diags_render(&p.diags, false, &b);
        print_error("%s\n%s", text, b.data);
        fail();
    }
    ast_print(p.program, &b);
    assert_string_equal(b.data, want);
    buf_release(&b);
    parsed_release(&p);
}

/* The codes of all diagnostics, in order, such as "E0107 E0108". */
static void assert_codes(const char *text, const char *want) {
    struct parsed p;
    struct buf b = BUF_INIT;
    parsed_init(&p);
    (void)parsed_add(&p, text, strlen(text), false);
    for (size_t i = 0; i < p.diags.list.n; i++)
        buf_printf(&b, "%s%s%s", i ? " " : "", p.diags.list.at[i]->warning ? "w" : "",
                   diag_code_text(p.diags.list.at[i]->code));
    if (strcmp(b.data, want) != 0) print_error("in: %s\n", text);
    assert_string_equal(b.data, want);
    assert_int_equal(p.st, diags_errors(&p.diags) ? GPM_E_USER : GPM_OK);
    buf_release(&b);
    parsed_release(&p);
}

static void test_precedence(void **state) {
    assert_prints("1 + 2 * 3", "(1 + (2 * 3));\n");
    assert_prints("1 - 2 - 3", "((1 - 2) - 3);\n");
    assert_prints("2 ** 3 ** 2", "(2 ** (3 ** 2));\n");
    assert_prints("-2 ** 2", "(0 - (2 ** 2));\n");
    assert_prints("2 ** -1", "(2 ** (-1));\n");
    assert_prints("-x * y", "((0 - x) * y);\n");
    assert_prints("- -1", "1;\n");
    assert_prints("a < b == c < d", "((a < b) == (c < d));\n");
    assert_prints("a || b && c", "if (a) { true } else { if (b) { c } else { false } };\n");
    assert_prints("a or b and c", "if (a) { true } else { if (b) { c } else { false } };\n");
    assert_prints("1 add 2 MUL 3 eq 4", "((1 + (2 * 3)) == 4);\n");
    assert_prints("a[1][2](3)", "(((a)[1])[2])(3);\n");
    assert_prints("f(x)(y)", "(f(x))(y);\n");
    assert_prints("x -> y -> x + y", "proc(x) { proc(y) { (x + y) } };\n");
    assert_prints("(x, y) ~> x", "proc(x, y) { x };\n");
    assert_prints("() -> 1", "proc() { 1 };\n");
    assert_prints("(1 + 4) / 2 ** 2 + 32", "(((1 + 4) / (2 ** 2)) + 32);\n");
}

static void test_names_and_calls(void **state) {
    assert_prints("add(1, 2)", "add(1, 2);\n");
    assert_prints("lte(1, 2)", "lte(1, 2);\n");
    assert_prints("and(a, b, c)", "if (a) { if (b) { c } else { false } } else { false };\n");
    assert_prints("or(a, b)", "if (a) { true } else { b };\n");
    assert_prints("f(x: 1, y=2, 3)", "f(x: 1, y=2, 3);\n");
    assert_prints("gradient-ascent(scope=\"s\")", "gradient_ascent(scope=\"s\");\n");
    assert_prints("f (12.6)", "f(12.6);\n");
    assert_prints("n<3", "(n < 3);\n");
    assert_prints("integer<3> + atom<2>", "(3 + atom<2>);\n");
    assert_prints("name<foo>", "quote(foo);\n");
    assert_prints("sample + 1; f(sample, force); load",
                  "sample 1;\nf((sample), (force));\n(load);\n");
    assert_prints("TRUE && False", "if (true) { false } else { false };\n");
}

static void test_sequences(void **state) {
    assert_prints("[1, 2,]", "[1, 2];\n");
    assert_prints("(1, 2); (1, ); (); ((1, 2,))[0]; (1)",
                  "(1, 2);\n(1,);\n();\n((1, 2))[0];\n1;\n");
    assert_prints("array(-20, ..., 20)", "[(-20), ..., 20];\n");
    assert_prints("[0, 2, ..., 10]", "[0, 2, ..., 10];\n");
    assert_prints("list(1, ..., 3); vector(1, ..., 3)", "list(1, ..., 3);\nvector(1, ..., 3);\n");
    assert_prints("array(1, 2)", "array(1, 2);\n");
}

static void test_blocks(void **state) {
    assert_prints("{ x = 1; x }", "{ let x = 1; x };\n");
    assert_prints("{ 1 }", "1;\n");
    assert_prints("{ a; b }", "{ a; b };\n");
    assert_prints("{ a; }", "{ a; pass };\n");
    assert_prints("do(a, x <- b, c)", "{ a; x <- b; c };\n");
    assert_prints("do(a)", "do(a);\n");
    assert_prints("begin()", "pass;\n");
    assert_prints("{ letrec f = 1; and g = 2; f }", "{ letrec f = 1; and g = 2; f };\n");
    assert_prints("{ let (a, b) = v; a }", "{ let (a, b) = v; a };\n");
    assert_prints("if (a = 3; a > 2) { a = 5; a } else { 0 }",
                  "if ({ let a = 3; (a > 2) }) { { let a = 5; a } } else { 0 };\n");
    assert_prints("if f(l) { 1 } else if (a) == b { 2 } else { 3 }",
                  "if (f(l)) { 1 } else { if ((a == b)) { 2 } else { 3 } };\n");
    assert_prints("x = 1; let y = 2; define z ~ 3",
                  "define x = 1;\ndefine y = 2;\ndefine z = 3;\n");
    assert_prints("letrec f = 1; and g = 2", "define f = 1;\ndefine g = 2;\n");
}

static void test_block_kinds(void **state) {
    static const struct {
        const char *text;
        bool action;
    } rows[] = {{"{ x = 1; y = 2; x }", false}, {"{ x = 1; letrec y = 2; x }", false},
                {"{ x = 1; a; b }", true},      {"{ observe x = 1; predict y }", true},
                {"{ x <- a; b }", true},        {"do(x = 1, a)", true}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct parsed p;
        parsed_init(&p);
        assert_int_equal(parsed_add(&p, rows[i].text, strlen(rows[i].text), false), GPM_OK);
        assert_int_equal(p.program->kids[0]->kind, AST_BLOCK);
        assert_int_equal(p.program->kids[0]->u.block.action, rows[i].action);
        parsed_release(&p);
    }
}

static void test_directives(void **state) {
    assert_prints("assume x = 1; ASSUME (x, y) = e; assume $n = 2; assume(x, 1); assume(x, 1, l)",
                  "assume x = 1;\nassume (x, y) = e;\nassume $(n) = 2;\nassume x = 1;\n"
                  "l: assume x = 1;\n");
    assert_prints(
        "observe f(x) = 3; observe (f)(x) = 3; observe(f(x), 3, l); l: observe x ~ 1",
        "observe f(x) = 3;\nobserve f(x) = 3;\nl: observe f(x) = 3;\nl: observe x = 1;\n");
    assert_prints("sample (x) * 2 + 1; sample(x); run(sample(x)); sample add(1, 2)",
                  "sample ((x * 2) + 1);\nsample x;\nrun((sample x));\nsample add(1, 2);\n");
    assert_prints("predict (x, l); predict f (1); force x = 1; force(x, 1); infer (a)",
                  "l: predict x;\npredict f(1);\nforce x = 1;\nforce x = 1;\ninfer a;\n");
    assert_prints("collect(x, labelled(y, z), labelled(y, \"a b\"))",
                  "collect(x, labelled(y, \"z\"), labelled(y, \"a b\"));\n");
    assert_prints("sample_all(x); predict_all(x); extract_stats(f)",
                  "sample_all(x);\npredict_all(x);\nextract_stats(f);\n");
    assert_prints("observe ((a, b)) = c", "observe ((a, b)) = c;\n");
    assert_prints("load \"a.vnts\"", "load \"a.vnts\";\n");
    assert_prints("do(y <- l: predict x, return(y))", "{ y <- (l: predict x); return(y) };\n");
}

static void test_tags_and_paths(void **state) {
    assert_prints("tag(scope=\"s\", e); tag(scope=\"s\", block=b, e); tag(\"s\", b, e)",
                  "tag(scope=\"s\", e);\ntag(\"s\", b, e);\ntag(\"s\", b, e);\n");
    assert_prints("tag(scope: s, block: b, e)", "tag(s, b, e);\n");
    assert_prints("a || b #t #u:1",
                  "tag(quote(u), 1, tag(quote(t), \"default\", if (a) { true } else { b }));\n");
    assert_prints("tag_exclude(s, e)", "tag_exclude(s, e);\n");
    assert_prints("f(/?foo==2/x/*)", "f((/?foo==2/(x)/*));\n");
}

static void test_quoting(void **state) {
    assert_prints("quote(f(x + 1))", "quote(f((x + 1)));\n");
    assert_prints("[| f($x, unquote(y)) |]", "quasiquote(f($(x), unquote(y)));\n");
    assert_prints("sample quote(unquote(x))", "sample $(x);\n");
    assert_codes("unquote(x)", "E0116");
    assert_codes("1 + $x", "E0116");
    assert_codes("[| [| x |] |]", "E0116");
    assert_codes("sample unquote(unquote(x))", "E0116");
}

static void test_missing_semicolon_before_instruction(void **state) {
    assert_prints("define a = f(1)\n\ninfer a", "define a = f(1);\ninfer a;\n");
    assert_prints("for (n = 0; n < 2; n++) { predict n } sample x",
                  "for (n = 0; (n < 2); n = (n + 1)) { predict n };\nsample x;\n");
    assert_codes("define a = f(1) infer a", "E0107");
    assert_codes("a = 1\nb = 2", "wE0117"); /* the grammar's `;` is compulsory, but forgiven */
    assert_codes("assume a = 1\n\nsample a;", "wE0117");
    assert_codes("f = proc(x) {\n y = x\n y }", "wE0117");
    assert_codes("define a = f(1)\ninfer a;", "wE0117");
    assert_codes("assume x = (1 + 2));", "wE0109");
    assert_codes("f = proc(x) { (x)) }", "wE0109");
    assert_codes("x = (1 + 2)) * 3;", "E0109");
}

/* ---- resolution ---- */

static const struct ast *find_name(const struct ast *a, const char *name) {
    if (!a) return NULL;
    if (a->kind == AST_NAME && strcmp(a->u.name.sym->text, name) == 0) return a;
    const struct ast *found = NULL;
    for (uint32_t i = 0; i < a->n && !found; i++) found = find_name(a->kids[i], name);
    return found;
}

static void assert_slot(const char *text, const char *name, int depth, int slot,
                        bool global_first) {
    struct parsed p;
    parsed_init(&p);
    assert_int_equal(parsed_add(&p, text, strlen(text), false), GPM_OK);
    const struct ast *a = find_name(p.program, name);
    assert_non_null(a);
    assert_int_equal(a->u.name.depth, depth);
    if (depth >= 0) assert_int_equal(a->u.name.slot, slot);
    assert_int_equal(a->u.name.global_first, global_first);
    parsed_release(&p);
}

static void test_resolve(void **state) {
    assert_slot("x = 1; x", "x", -1, 0, false);
    assert_slot("proc(a, x) { x }", "x", 0, 1, false);
    assert_slot("proc(x) { proc() { x } }", "x", 1, 0, false);
    assert_slot("proc(x) { { y = 1; x } }", "x", 1, 0, false);
    assert_slot("proc(x) { { y } }", "y", -1, 0, false);
    assert_slot("{ a = 1; x = 2; x }", "x", 0, 1, false);
    assert_slot("proc(x) { { x = x; 1 } }", "x", 1, 0, false); /* the outer one */
    assert_slot("{ x = 1; x = 2; x }", "x", 0, 1, false);
    assert_slot("{ letrec f = g; and g = 1; f }", "g", 0, 1, false);
    assert_slot("{ x <- a; f(x) }", "x", 0, 0, false);
    assert_slot("proc(x) { do(a, b(x)) }", "x", 0, 0, false); /* no names: no frame */
    assert_slot("proc(x) { sample f(x) }", "x", 1, 0, true);  /* through the model's frame */
    assert_slot("proc(x) { sample unquote(x) }", "x", 0, 0, false);
    assert_slot("sample proc(x) { x }", "x", 0, 0, false);
    assert_slot("for (n = 0; 1; n = 2) { k }; k", "k", -1, 0, false);
    assert_slot("for (i = 0; i < 2; i++) { predict f(i) }", "i", 0, 0, false);
    assert_slot("proc(x) { quote(x) }", "x", -1, 0, false);  /* data */
    assert_slot("proc(add) { 1 + 2 }", "add", -1, 0, false); /* + is the builtin */
}

/* The loop variable is seen directly inside a model; the first name `i` met is the condition's. */
static void test_resolve_loop_in_model(void **state) {
    struct parsed p;
    const char *text = "for (i = 0; true; i = 1) { predict f(i) }";
    parsed_init(&p);
    assert_int_equal(parsed_add(&p, text, strlen(text), false), GPM_OK);
    const struct ast *i = find_name(p.program->kids[0]->kids[3], "i");
    assert_int_equal(i->u.name.depth, 1);
    assert_false(i->u.name.global_first);
    parsed_release(&p);
}

static void test_resolve_unquote_depth(void **state) {
    struct parsed p;
    const char *text = "sample proc(a) { { b = $x; unquote(y) } }";
    parsed_init(&p);
    assert_int_equal(parsed_add(&p, text, strlen(text), false), GPM_OK);
    const struct ast *m = p.program->kids[0]->kids[0];
    assert_int_equal(m->kind, AST_MODEL);
    assert_int_equal(m->u.model.n_splices, 2);
    for (uint32_t i = 0; i < 2; i++) {
        assert_int_equal(m->u.model.splices[i]->u.unquote.slot, i);
        assert_int_equal(m->u.model.splices[i]->u.unquote.depth, 2);
    }
    assert_true(m->u.model.splices[0]->u.unquote.constant);
    parsed_release(&p);
}

/* ---- errors ---- */

static void test_recovery(void **state) {
    assert_codes("1 + ; 2 + ; 3", "E0107 E0107");
    assert_codes("f(1, 2; g(3; 4", "E0108 E0108");
    assert_codes("assume(x", "E0108"); /* the end of the text closes nothing */
    assert_codes("proc(x) { x + ; y }; 1 +", "E0107 E0107");
    assert_codes("{ (1 + ; 2; 3) }", "E0107");
    assert_codes("x = \"abc", "E0103");
    assert_codes("/** abc", "E0105");
    assert_codes("a @ b c d; 1", "E0102");
    assert_codes("\"a\\q\"; 12x; 2", "E0104 E0106");
    assert_codes("if (a) { 1 }; if (b) { 2 } els { 3 }", "E0110 E0110");
    assert_codes("f(a=1, a=2); proc(x, x) { 1 }", "E0113 E0114");
    assert_codes("[..., 1]; [1, ...]; f(1, ..., 2); [1, ..., 2, ..., 3]",
                 "E0115 E0115 E0115 E0115");
    assert_codes("assume (f, g) = h(1)); 2", "wE0109");
    assert_codes("f(1)); 2", "wE0109");
    assert_codes("{ x = 1 }; { x <- 1 }; x <- 2; true = 1", "E0112 E0112 E0112 E0112");
    assert_codes("assume y = sample x; assume y = { a; b }", "E0408 E0408");
    assert_codes("1 +;1 +;1 +;1 +;1 +;1 +;1 +;1 +;1 +;1 +;1 +;1 +;",
                 "E0107 E0107 E0107 E0107 E0107 E0107 E0107 E0107 E0107 E0107");
    assert_codes("}", "E0109");
    assert_codes(")", "E0109");
}

static void test_interactive_incomplete(void **state) {
    static const char *const open[] = {"f(1, ", "{ x = 1;",   "1 +",          "\"abc",
                                       "/** x", "assume x =", "if (a) { 1 }", "proc(x) {",
                                       "[1, 2", "let",        "observe x"};
    static const char *const wrong[] = {"f(1;",        "1 + ;",    "12x",    "{ x = 1 }",
                                        "f(a=1, a=2)", "[1, ...]", "tag(1)", "proc() {}",
                                        "1 = 2",       "x <- 2",   "1 2",    "else"};
    for (size_t i = 0; i < COUNT_OF(open); i++) {
        struct parsed p;
        parsed_init(&p);
        if (parsed_add(&p, open[i], strlen(open[i]), true) != GPM_E_INCOMPLETE)
            fail_msg("not incomplete: %s", open[i]);
        assert_int_equal(p.diags.list.n, 0);
        parsed_release(&p);
    }
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        struct parsed p;
        parsed_init(&p);
        assert_int_equal(parsed_add(&p, wrong[i], strlen(wrong[i]), true), GPM_E_USER);
        parsed_release(&p);
    }
}

static char *repeat_text(const char *a, size_t n, const char *mid, const char *b) {
    struct buf s = BUF_INIT;
    for (size_t i = 0; i < n; i++) buf_puts(&s, a);
    buf_puts(&s, mid);
    for (size_t i = 0; i < n; i++) buf_puts(&s, b);
    return buf_take(&s);
}

static void test_depth(void **state) {
    static const char *const rows[][3] = {{"(", "1", ")"},
                                          {"[", "1", "]"},
                                          {"f(", "1", ")"},
                                          {"-", "1", ""},
                                          {"{", "1", "}"},
                                          {"x->", "1", ""},
                                          {"2**", "1", ""},
                                          {"a[", "1", "]"},
                                          {"", "a", "[0]"},
                                          {"", "a", "(0)"},
                                          {"", "1", " #t"},
                                          {"quote(", "1", ")"},
                                          {"if (a) {1} else ", "{1}", ""},
                                          {"if (", "1", ") {1} else {1}"},
                                          {"proc(x) {", "1", "}"},
                                          {"1-(", "1", ")"},
                                          {"", "1", "-1"},
                                          {"do(", "1", ")"},
                                          {"a && (", "b", ")"},
                                          {"", "a", "&& b"}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        char *deep = repeat_text(rows[i][0], 100000, rows[i][1], rows[i][2]);
        char *fine = repeat_text(rows[i][0], 500, rows[i][1], rows[i][2]);
        struct parsed p;
        parsed_init(&p);
        assert_int_equal(parsed_add(&p, deep, strlen(deep), false), GPM_E_USER);
        assert_int_equal(p.diags.list.at[0]->code, DIAG_TOO_DEEP);
        diags_rewind(&p.diags, 0);
        if (parsed_add(&p, fine, strlen(fine), false)) fail_msg("refused: %s...", rows[i][0]);
        parsed_release(&p);
        mem_free(deep);
        mem_free(fine);
    }
}

static void test_long_sum(void **state) {
    char *s = repeat_text("", 100000, "1", " + x");
    struct parsed p;
    struct buf b = BUF_INIT;
    parsed_init(&p);
    assert_int_equal(parsed_add(&p, s, strlen(s), false), GPM_OK);
    const struct ast *first = p.program->kids[0];
    ast_print(p.program, &b);
    assert_int_equal(parsed_add(&p, b.data, b.len, false), GPM_OK);
    assert_true(tree_equal(first, p.program->kids[0]));
    buf_release(&b);
    parsed_release(&p);
    mem_free(s);
}

static void test_bad_bytes(void **state) {
    struct parsed p;
    parsed_init(&p);
    assert_int_equal(parsed_add(&p, "1 + \0 2", 7, false), GPM_E_USER);
    assert_int_equal(p.diags.list.at[0]->code, DIAG_BAD_ENCODING);
    assert_int_equal(p.diags.list.at[0]->at.start, 4);
    assert_int_equal(parsed_add(&p, "1 \xFF", 3, false), GPM_E_USER);
    assert_int_equal(p.diags.list.at[1]->code, DIAG_BAD_ENCODING);
    parsed_release(&p);
}

/* ---- whole programs ---- */

/* print(parse(text)) parses to an equal tree, and prints to itself. */
static void assert_round_trip(const char *path, const char *text, size_t len) {
    struct parsed p;
    struct buf once = BUF_INIT, twice = BUF_INIT;
    parsed_init(&p);
    if (parsed_add(&p, text, len, false) == GPM_OK) {
        struct ast *first = p.program;
        ast_print(first, &once);
        if (parsed_add(&p, once.data, once.len, false) != GPM_OK || !tree_equal(first, p.program))
            fail_msg("%s: printed form differs:\n%s", path, once.data);
        ast_print(p.program, &twice);
        assert_string_equal(once.data, twice.data);
    } else if (!strstr(path, "14_errors/syntax")) {
        diags_render(&p.diags, false, &once);
        fail_msg("%s:\n%s", path, once.data);
    }
    buf_release(&once);
    buf_release(&twice);
    parsed_release(&p);
}

static void test_conformance_programs(void **state) {
    glob_t g;
    assert_int_equal(glob(SOURCE_DIR "/tests/conform/suite/*/*.vnts", 0, NULL, &g), 0);
    for (size_t i = 0; i < g.gl_pathc; i++) {
        size_t len;
        char *text = read_whole(g.gl_pathv[i], &len);
        assert_non_null(text);
        assert_round_trip(g.gl_pathv[i], text, len);
        mem_free(text);
    }
    print_message("%zu programs\n", g.gl_pathc);
    globfree(&g);
}

/* Every program of the paper's listings parses as printed (without the line numbers that LaTeX
 * sets). */
static void test_paper_listings(void **state) {
    size_t len, n = 0;
    char *all = read_whole(SOURCE_DIR "/tests/conform/paper_listings.txt", &len);
    assert_non_null(all);
    for (char *s = all, *end; s; s = end ? end + 5 : NULL, n++) {
        end = strstr(s, "\n---\n");
        if (end) *end = '\0';
        assert_round_trip("listing", s, strlen(s));
    }
    assert_int_equal(n, 11);
    mem_free(all);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_precedence),
        cmocka_unit_test(test_names_and_calls),
        cmocka_unit_test(test_sequences),
        cmocka_unit_test(test_blocks),
        cmocka_unit_test(test_block_kinds),
        cmocka_unit_test(test_directives),
        cmocka_unit_test(test_tags_and_paths),
        cmocka_unit_test(test_quoting),
        cmocka_unit_test(test_missing_semicolon_before_instruction),
        cmocka_unit_test(test_resolve),
        cmocka_unit_test(test_resolve_loop_in_model),
        cmocka_unit_test(test_resolve_unquote_depth),
        cmocka_unit_test(test_recovery),
        cmocka_unit_test(test_interactive_incomplete),
        cmocka_unit_test(test_depth),
        cmocka_unit_test(test_long_sum),
        cmocka_unit_test(test_bad_bytes),
        cmocka_unit_test(test_conformance_programs),
        cmocka_unit_test(test_paper_listings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
