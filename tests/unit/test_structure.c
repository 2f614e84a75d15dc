/* SPDX-License-Identifier: Apache-2.0
 *
 * Structures: canonical form, text, grammar and neighbourhood; queries over them.
 */
#include "gp/kernel/kern_query.h"
#include "apps/discover/structure.h"
#include "support/check.h"
#include "support/structure_text.h"

static void test_text(void **state) {
    static const char *const pairs[][2] = {
        {"WN + PER*SE + LIN", "LIN + SE*PER + WN"},
        {"SE + PER + LIN + WN", "LIN + PER + SE + WN"},
        {"w + iw + per*lin*se", "IWIENER + LIN*SE*PER + WIENER + WN"},
        {"WN*LIN + SE + SE", "LIN*WN + SE + SE + WN"},
        {"WN", "WN"}};
    for (size_t i = 0; i < COUNT_OF(pairs); i++) {
        struct structure s = structure_of(pairs[i][0]);
        struct buf b = BUF_INIT;
        structure_print(&s, &b);
        assert_string_equal(b.data, pairs[i][1]);
        struct structure again = structure_of(b.data);
        assert_true(structure_equal(&s, &again));
        buf_release(&b);
    }
}

struct seen {
    struct structure s[200];
    size_t n;
};

static void collect(void *ctx, const struct structure *s) {
    struct seen *x = ctx;
    for (size_t i = 0; i < x->n; i++)
        if (structure_equal(&x->s[i], s)) return;
    assert_true(x->n < 200);
    x->s[x->n++] = *s;
}

static bool is_in(const struct seen *x, const char *text) {
    struct structure s = structure_of(text);
    for (size_t i = 0; i < x->n; i++)
        if (structure_equal(&x->s[i], &s)) return true;
    return false;
}

static void test_neighbours(void **state) {
    struct grammar g;
    grammar_init(&g, 0, false, false);
    struct structure s = structure_of("SE + PER + WN");
    struct seen x = {.n = 0};
    grammar_neighbours(&g, &s, collect, &x);
    assert_true(is_in(&x, "PER + WN"));            /* deletion */
    assert_true(is_in(&x, "LIN + PER + WN"));      /* replacement */
    assert_true(is_in(&x, "SE*PER + SE + WN"));    /* multiplication */
    assert_true(is_in(&x, "LIN + SE + PER + WN")); /* addition */
    assert_true(is_in(&x, "SE + SE + PER + WN"));  /* two time scales */
    assert_false(is_in(&x, "SE + PER + WN"));
    for (size_t i = 0; i < x.n; i++) assert_true(grammar_allows(&g, &x.s[i]));
}

static double log_prior_of(const char *text) {
    struct grammar g;
    struct structure s = structure_of(text);
    grammar_init(&g, 0, false, false);
    return grammar_log_prior(&g, &s);
}

/* What goes on from the end of the data is favoured by a nat, a slope that lasts for ever costs
 * two more than another factor. */
static void test_prior(void **state) {
    double one = log_prior_of("SE + WN") - log_prior_of("WN");
    assert_close(one, -2, 1e-12);
    assert_close(log_prior_of("LIN + SE*PER + WN"), 3 * one, 1e-12);
    assert_close(log_prior_of("W + WN"), one + 1, 1e-12);
    assert_close(log_prior_of("IOU + W + WN"), 2 * one + 2, 1e-12);
    assert_close(log_prior_of("IW + WN"), 2 * one, 1e-12);
}

/* Every structure of the grammar can be reached from the seeds, and moves can be undone: deletions
 * and additions are each other's inverse. */
static void test_moves_connect(void **state) {
    struct grammar g;
    grammar_init(&g, 0, false, false);
    struct structure target = structure_of("LIN*SE*PER + IW + W + WN*LIN");
    struct structure s;
    memset(&s, 0, sizeof s);
    const char *path[] = {"SE*PER", "LIN*SE*PER", "LIN*SE*PER + IW", "LIN*SE*PER + IW + W",
                          "LIN*SE*PER + IW + W + LIN*WN"};
    for (size_t i = 0; i < COUNT_OF(path); i++) {
        struct seen x = {.n = 0};
        if (i)
            grammar_neighbours(&g, &s, collect, &x);
        else
            grammar_seeds(&g, 0, collect, &x);
        assert_true(is_in(&x, path[i]));
        s = structure_of(path[i]);
    }
    assert_true(structure_equal(&s, &target));
}

/* A level that moves in a window alone: instead of a term that moves, or beside all of them. */
static void moves_to(const struct grammar *g, const char *from, int i, const char *to) {
    struct structure s = structure_of(from), v;
    struct buf b = BUF_INIT;
    buf_puts(&b, "none");
    if (grammar_moves(g, &s, i, GATE_INSIDE, &v)) {
        buf_reset(&b);
        structure_print(&v, &b);
    }
    assert_string_equal(b.data, to);
    buf_release(&b);
}

static void test_moves_in_part(void **state) {
    struct grammar g;
    grammar_init(&g, 0, false, false);
    moves_to(&g, "IOU + WN", 0, "CW(MAT12, C) + WN");
    moves_to(&g, "LIN*SE + WN", 0, "CW(MAT12, C) + WN");
    moves_to(&g, "SE*PER + IOU + WN", 2, "CW(MAT12, C) + IOU + SE*PER + WN");
    moves_to(&g, "SE*PER + WN", 0, "none"); /* a pattern is no level */
    moves_to(&g, "LIN + WN", 1, "none");    /* what bends nowhere has noise of another size */
    moves_to(&g, "LIN + IOU + SE + PER + WN", 4, "none"); /* full */
    g.steady = true; /* innovations of counts have the size of their mean */
    moves_to(&g, "IOU + WN", 0, "none");
}

/* One pattern that changes becomes several that last; the first keeps its period of the calendar.
 */
static void test_patterns(void **state) {
    struct grammar g;
    struct structure s = structure_of("LIN + SE*PER + WN"), v,
                     want = structure_of("LIN + PER + PER + PER + WN");
    grammar_init(&g, 0, false, false);
    assert_true(grammar_patterns(&g, &s, 1, 3, &v));
    assert_true(structure_equal(&v, &want));
    assert_false(grammar_patterns(&g, &s, 1, 4, &v)); /* too many that recur */
    s.t[1].at = 1;
    assert_false(grammar_patterns(&g, &s, 1, 2, &v)); /* there is no calendar */
    grammar_calendar(&g, 1, 1);
    assert_true(grammar_patterns(&g, &s, 1, 2, &v));
    assert_int_equal(v.n, 3);
    assert_int_equal(v.t[1].at + v.t[2].at, 1);
    s = structure_of("LIN + SE + WIENER + SE*PER + WN");
    assert_false(grammar_patterns(&g, &s, 3, 2, &v)); /* too many terms */
}

/* One term too many is a structure that nothing allows; what stands behind it is left alone. */
static void test_too_many(void **state) {
    struct {
        struct structure s;
        struct term behind;
    } x = {structure_of("LIN + SE + WIENER + PER + WN"), {0}};
    struct grammar g;
    grammar_init(&g, 0, false, false);
    x.s.t[STRUCTURE_MAX_TERMS - 1] = x.s.t[0];
    for (x.s.n = STRUCTURE_MAX_TERMS; x.s.n <= STRUCTURE_MAX_TERMS + 1; x.s.n++) {
        structure_canonical(&x.s);
        assert_true(x.s.t[0].mask && !x.behind.mask);
    }
    assert_false(grammar_allows(&g, &x.s));
}

/* What the search visits is sound, and stays so from move to move; what it cannot reach is not. */
static void all_sound(void *ctx, const struct structure *s) {
    assert_true(structure_sound(s, 1));
}

static void test_sound(void **state) {
    struct grammar g;
    grammar_init(&g, FACTOR_BIT(FACTOR_MAX) - 1, true, true);
    struct structure s = structure_of("LIN + SE*PER + LIN*WN");
    s.change = CHANGE_WINDOW;
    s.t[0].gate = GATE_INSIDE;
    structure_canonical(&s);
    grammar_seeds(&g, TRANSFORM_LOG, all_sound, NULL);
    grammar_neighbours(&g, &s, all_sound, NULL);
    struct structure bad[] = {s, s, s, s, s};
    bad[0].change = CHANGE_NONE;
    bad[1].change = CHANGE_POINT;
    bad[2].t[2].gate = 8;
    bad[3].t[1].mask = (uint16_t)factors_of(KERN_ROLE_WALK);
    bad[4].t[0].mask = 0;
    for (size_t i = 0; i < COUNT_OF(bad); i++) assert_false(structure_sound(&bad[i], 1));
    struct term swap = s.t[0];
    s.t[0] = s.t[1];
    s.t[1] = swap;
    assert_false(structure_sound(&s, 1)); /* not canonical */
}

/* seen: the text in which motifs are looked for; NULL: the same. */
static bool holds_seen(const char *query, const char *text, const char *seen) {
    struct arena a = {0};
    struct kern_query *q;
    struct buf err = BUF_INIT;
    struct structure s = structure_of(text);
    enum gpm_status st = kern_query_parse(query, &a, &q, &err);
    if (st != GPM_OK) fail_msg("%s", err.data);
    struct buf b = BUF_INIT;
    structure_print(&s, &b);
    bool r = seen ? kern_query_holds_seen(q, b.data, seen) : kern_query_holds_text(q, b.data);
    buf_release(&b);
    arena_release(&a);
    buf_release(&err);
    return r;
}

static bool holds(const char *query, const char *text) {
    return holds_seen(query, text, NULL);
}

static void test_queries(void **state) {
    const char *s = "LIN + SE*PER + WN";
    assert_true(holds("LIN & (WN | LIN*WN)", s));
    assert_true(holds("lin and (wn or lin*wn)", s));
    assert_true(holds("PER*SE", s));
    assert_true(holds("LIN + PER*SE", s));
    assert_false(holds("LIN + PER", s));
    assert_false(holds("PER", s)); /* not a global component by itself */
    assert_true(holds("NOT PER && !SE", s));
    assert_true(holds("trend & recurring pattern & noise", s));
    assert_true(holds("recurring-pattern", s));
    assert_false(holds("heteroskedastic noise", s));
    assert_true(holds("heteroskedastic_noise", "LIN*WN + SE"));
    assert_true(holds("SE*WN", s)); /* is WN */
    assert_false(holds("!(LIN | SE) ", s));
    assert_true(holds("LIN | SE & PER", s)); /* & binds closer */
    assert_true(holds("random walk", "W + LIN"));
    assert_true(holds("IW", "IW + LIN"));
    assert_true(holds("ou & !mat", "MAT12 + LIN"));
    assert_true(holds("trend & !smooth", "LIN*SE + WN"));
    /* components are those of the structure, motifs what they amount to */
    assert_true(holds_seen("LIN*SE & smooth & !trend & !SE", "LIN*SE + WN", "SE + WN"));
}

static void test_query_errors(void **state) {
    static const char *const bad[] = {"",    "LIN &",  "LIN LIN", "(LIN",
                                      "FOO", "LIN * ", "& LIN",   "!"};
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        struct arena a = {0};
        struct kern_query *q;
        struct buf err = BUF_INIT;
        assert_int_equal(kern_query_parse(bad[i], &a, &q, &err), GPM_E_FORMAT);
        assert_non_null(strstr(err.data, "column"));
        arena_release(&a);
        buf_release(&err);
    }
    struct buf deep = BUF_INIT, err = BUF_INIT;
    for (int i = 0; i < 5000; i++) buf_putc(&deep, '(');
    struct arena a = {0};
    struct kern_query *q;
    assert_int_equal(kern_query_parse(deep.data, &a, &q, &err), GPM_E_FORMAT);
    arena_release(&a);
    buf_release(&deep);
    buf_release(&err);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text),         cmocka_unit_test(test_neighbours),
        cmocka_unit_test(test_prior),        cmocka_unit_test(test_moves_connect),
        cmocka_unit_test(test_sound),        cmocka_unit_test(test_queries),
        cmocka_unit_test(test_query_errors), cmocka_unit_test(test_moves_in_part),
        cmocka_unit_test(test_patterns),     cmocka_unit_test(test_too_many)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
