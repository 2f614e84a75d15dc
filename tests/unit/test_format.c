/* SPDX-License-Identifier: Apache-2.0
 *
 * The layout of programs: what it looks like; that the tree stays what it was and the layout is its
 * own, for every program of the tree as it is and with its blanks thrown about.
 */
#include "support/check.h"

#include "base/mem.h"
#include "language/lang/format.h"
#include "numeric/special/rng.h"
#include "support/parsed.h"
#include <ftw.h>

static void expect(const char *text, const char *laid_out) {
    struct buf b = BUF_INIT;
    format_text(text, strlen(text), &b);
    assert_string_equal(b.data, laid_out);
    buf_release(&b);
}

static void test_blanks(void **state) {
    expect("assume  x=normal( 0,1 ) ;", "assume x = normal(0, 1);\n");
    expect("a+b*-c ; x- -1; - 2**2; !=", "a + b * -c; x - -1; -2 ** 2; !=\n");
    expect("tag( scope = \"s\" , block =b, e )", "tag(scope=\"s\", block=b, e)\n");
    expect("for(i=0;i<3;i ++){print (i)}", "for (i = 0; i < 3; i++) { print(i) }\n");
    expect("predict f_compute (12.6);", "predict f_compute(12.6);\n");
    expect("sample (x+1)*2; sample(x)", "sample (x + 1) * 2; sample(x)\n");
    expect("a [ 1 ] [2]; [1,2 , ...,9]", "a[1][2]; [1, 2, ..., 9]\n");
    expect("x->x+1; (a,b)->a", "x -> x + 1; (a, b) -> a\n");
    expect("d:observe x=$ y; ${ j }; $(3)", "d: observe x = $y; ${j}; $(3)\n");
    expect("x #t : 3; [|a+1|]", "x #t:3; [| a + 1 |]\n");
    expect("infer mh(/?t==3/*, 1)", "infer mh(/?t==3/*, 1)\n");
    expect("a/b; prob(LIN  &!(SE*PER),m)", "a / b; prob(LIN  &!(SE*PER), m)\n");
    expect("integer<3>; n<3", "integer<3>; n < 3\n");
}

static void test_lines(void **state) {
    expect("\n\nf(a,\nb);\n\n\n\ng()", "f(a,\n  b);\n\ng()\n");
    expect("infer repeat(9,do(pass,\nmh(a),\n      mh(b)));",
           "infer repeat(9, do(pass,\n  mh(a),\n  mh(b)));\n");
    expect("define f = proc(x) {\nlet y = x;\n\n  y\n};",
           "define f = proc(x) {\n  let y = x;\n\n  y\n};\n");
    expect("if (a) {\n\n1\n} else {\n2 }", "if (a) {\n  1\n} else {\n  2 }\n");
    expect("assume x =\nnormal(0,\n1);\ny", "assume x =\n  normal(0,\n    1);\ny\n");
    expect("f([\n1\n],\n2)", "f([\n  1\n],\n  2)\n");
    expect("define a = \"x\n  y\"; b  // c", "define a = \"x\n  y\"; b  // c\n");
}

static void test_comments(void **state) {
    expect("  // a \nx;// b\ny ;   // c\n", "// a\nx; // b\ny;    // c\n");
    expect("long_name = 1+1;  // c", "long_name = 1 + 1;  // c\n");
    expect("{\n// a\nx\n// b\n}", "{\n  // a\n  x\n  // b\n}\n");
    expect("/** a\n   b **/ x", "/** a\n   b **/ x\n");
    expect("f(a, // one\nb)", "f(a, // one\n  b)\n");
}

/* ---- programs of the tree ---- */

static size_t n_programs;

static void keeps_meaning(const char *path, const char *text, size_t len) {
    struct parsed p;
    struct buf a = BUF_INIT, b = BUF_INIT;
    parsed_init(&p);
    if (parsed_add(&p, text, len, false) == GPM_OK) {
        const struct ast *before = p.program;
        format_text(text, len, &a);
        if (parsed_add(&p, a.data, a.len, false) != GPM_OK || !tree_equal(before, p.program))
            fail_msg("%s: another tree\n%s", path, a.data);
        format_text(a.data, a.len, &b);
        if (strcmp(a.data, b.data) != 0) fail_msg("%s: laid out again\n%s", path, b.data);
        n_programs++;
    }
    buf_release(&a);
    buf_release(&b);
    parsed_release(&p);
}

/* Blanks become other blanks. What no longer parses, or means something else, is not looked at but
 * by itself. */
static void throw_about(char *text, size_t len, struct rng *rng) {
    static const char blanks[] = " \t\n  ";
    for (size_t i = 0; i < len; i++)
        if (strchr(" \t\n", text[i]) && rng_uniform(rng) < 0.2)
            text[i] = blanks[rng_below(rng, sizeof blanks - 1)];
}

static int one_file(const char *path, const struct stat *st, int flag, struct FTW *at) {
    size_t len, n = strlen(path);
    struct rng rng;
    if (flag == FTW_D && strncmp(path + at->base, "build", 5) == 0) return FTW_SKIP_SUBTREE;
    if (flag != FTW_F || n < 5 || strcmp(path + n - 5, ".vnts") != 0) return FTW_CONTINUE;
    char *text = read_whole(path, &len);
    assert_non_null(text);
    keeps_meaning(path, text, len);
    rng_init(&rng, 1, 0, 0);
    for (int i = 0; i < 5 && len < 20000; i++) {
        throw_about(text, len, &rng);
        keeps_meaning(path, text, len);
    }
    mem_free(text);
    return FTW_CONTINUE;
}

static void test_programs_of_the_tree(void **state) {
    assert_int_equal(nftw(SOURCE_DIR, one_file, 10, FTW_ACTIONRETVAL | FTW_PHYS), 0);
    assert_true(n_programs > 500);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_blanks),
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_comments),
        cmocka_unit_test(test_programs_of_the_tree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
