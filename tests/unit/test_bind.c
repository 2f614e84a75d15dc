/* SPDX-License-Identifier: Apache-2.0
 *
 * Source functions through the public runtime: callbacks of the embedding program, bare and under
 * gpmem, with and without a store; shared objects; what happens when they fail. */
#include "support/check.h"
#include "support/tmp.h"

#include "base/buf.h"
#include "gpmem/gpmem.h"
#include <math.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

struct fixture {
    gpm_session *s;
    struct buf out;
    int calls;
};

static void keep(void *user, int stream, const char *text, size_t len) {
    struct fixture *f = user;
    if (stream == 1) buf_add(&f->out, text, len);
}

static void start(struct fixture *f, bool write) {
    struct gpm_options o;
    gpm_options_init(&o);
    *f = (struct fixture){0};
    buf_init(&f->out);
    o.write = keep;
    o.user = f;
    o.allow_write = write;
    f->s = gpm_session_new(&o);
}

static void end(struct fixture *f) {
    gpm_session_free(f->s);
    buf_release(&f->out);
}

static enum gpm_status run(struct fixture *f, const char *text) {
    buf_reset(&f->out);
    return gpm_run_text(f->s, "test", text, strlen(text));
}

static void expect(struct fixture *f, const char *text, const char *want) {
    enum gpm_status st = run(f, text);
    if (st != GPM_OK) fail_msg("%s\n%s", text, gpm_last_error(f->s));
    assert_string_equal(f->out.data, want);
}

static void expect_error(struct fixture *f, const char *text, const char *part) {
    assert_int_not_equal(run(f, text), GPM_OK);
    if (!strstr(gpm_last_error(f->s), part)) fail_msg("no '%s' in: %s", part, gpm_last_error(f->s));
}

static int square(void *user, const double *x, size_t n, double *y, char *err, size_t size) {
    struct fixture *f = user;
    f->calls++;
    *y = 0;
    for (size_t i = 0; i < n; i++) *y += x[i] * x[i];
    if (x[0] == 13) snprintf(err, size, "unlucky");
    if (x[0] == 14) *y = NAN;
    return x[0] == 13;
}

/* Two calls at once, or it waits in vain: each waits until another has begun. */
static atomic_int inside, most;

static int together(void *user, const double *x, size_t n, double *y, char *err, size_t size) {
    int now = atomic_fetch_add(&inside, 1) + 1, top = atomic_load(&most);
    while (now > top && !atomic_compare_exchange_weak(&most, &top, now)) continue;
    struct timespec pause = {0, 2 * 1000 * 1000};
    for (int i = 0; i < 30000 && atomic_load(&most) < 2; i++) nanosleep(&pause, NULL);
    *y = 2 * x[0];
    if (x[0] == 13) snprintf(err, size, "unlucky");
    atomic_fetch_sub(&inside, 1);
    return n == 1 && x[0] == 13;
}

/* A callback that may be called from several threads is, jobs at a time; results in input order. */
static void parallel(void **state) {
    struct fixture f;
    struct gpm_options o;
    gpm_options_init(&o);
    f = (struct fixture){0};
    buf_init(&f.out);
    o.write = keep;
    o.user = &f;
    o.jobs = 3;
    f.s = gpm_session_new(&o);
    assert_int_equal(gpm_bind_parallel(f.s, "f", "(x: real) -> real", together, NULL), GPM_OK);
    expect(&f, "assume (c, e) = gpmem(f, make_squaredexp(1, 1)); predict c([5, 1, 4, 1, 3, 2]);",
           "[10, 2, 8, 2, 6, 4]\n");
    assert_true(atomic_load(&most) >= 2 && atomic_load(&most) <= 3);
    expect_error(&f, "predict c([7, 13, 8]);", "unlucky");
    expect(&f, "predict c([8, 7]);", "[16, 14]\n");
    end(&f);
}

static void bare(void **state) {
    struct fixture f;
    start(&f, false);
    assert_int_equal(gpm_bind_function(f.s, "sq", "(x: real) -> real", square, &f), GPM_OK);
    assert_int_equal(gpm_bind_function(f.s, "sum2", "(x: real, y: number) -> number", square, &f),
                     GPM_OK);
    expect(&f, "sq(3); sum2(3, 4); sum2([3, 4]); assume a = sq(2); sample a + 1;",
           "9\n25\n25\n5\n");
    expect_error(&f, "sq(13)", "unlucky");
    expect_error(&f, "sq(13)", "E0606");
    expect_error(&f, "sq(14)", "it gave nan");
    expect_error(&f, "sq(1, 2)", "takes 1 number, got 2");
    expect_error(&f, "sq(\"a\")", "takes numbers");
    end(&f);
}

static void signatures(void **state) {
    struct fixture f;
    start(&f, false);
    const char *bad[] = {"",
                         "(",
                         "()",
                         "() -> real",
                         "(x) -> real",
                         "(x: real)",
                         "(x: real,) -> real",
                         "(x: text) -> real",
                         "(x: real) -> text",
                         "(x: real) -> real x"};
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        assert_int_equal(gpm_bind_function(f.s, "g", bad[i], square, &f), GPM_E_ARG);
        assert_non_null(strstr(gpm_last_error(f.s), "signature"));
    }
    assert_int_equal(gpm_bind_function(f.s, "1g", "(x: real) -> real", square, &f), GPM_E_ARG);
    assert_int_equal(gpm_bind_function(f.s, "a b", "(x: real) -> real", square, &f), GPM_E_ARG);
    expect_error(&f, "g(1)", "g");
    end(&f);
}

static void memoized(void **state) {
    struct fixture f;
    start(&f, false);
    assert_int_equal(gpm_bind_function(f.s, "sq", "(x: real) -> real", square, &f), GPM_OK);
    expect(&f,
           "assume (c, e) = gpmem(sq, make_squaredexp(1, 1)); predict c([1, 2, 1, -0, 0]); predict "
           "c(2);",
           "[1, 4, 1, 0, 0]\n4\n");
    assert_int_equal(f.calls, 3);
    expect_error(&f, "predict c([5, 13, 6])", "unlucky");
    assert_int_equal(f.calls, 6); /* a failure does not lose the others */
    expect_error(&f, "assume (ci, ei) = gpmem(x -> 1 / 0, make_squaredexp(1, 1)); predict ci(1);",
                 "not a finite number");
    expect(&f, "predict c([5, 6])", "[25, 36]\n");
    assert_int_equal(f.calls, 6);
    expect(&f, "size(run(extract_stats(e)));", "5\n");
    end(&f);
}

static void stored(void **state) {
    struct buf text = BUF_INIT;
    buf_printf(&text,
               "assume (c, e) = gpmem(sq, make_squaredexp(1, 1), dim=1, store=\"%s\");"
               "predict c([1, 2, 3]);",
               tmp_path("runs.db"));
    int calls[] = {3, 0};
    for (int i = 0; i < 2; i++) {
        struct fixture f;
        start(&f, true);
        assert_int_equal(gpm_bind_function(f.s, "sq", "(x: real) -> real", square, &f), GPM_OK);
        expect(&f, text.data, "[1, 4, 9]\n");
        assert_int_equal(f.calls, calls[i]);
        end(&f);
    }
    struct fixture f;
    start(&f, true); /* another function, another number of inputs, no permission */
    assert_int_equal(gpm_bind_function(f.s, "sq", "(x: real, y: real) -> real", square, &f),
                     GPM_OK);
    expect_error(&f, text.data, "dim= says 1");
    end(&f);
    start(&f, false);
    assert_int_equal(gpm_bind_function(f.s, "sq", "(x: real) -> real", square, &f), GPM_OK);
    expect_error(&f, text.data, "--allow-write");
    end(&f);
    buf_release(&text);
}

/* Keeps what it is given and replies with the text that it finds at `user`. */
struct host {
    char args[400];
    const char *reply;
    int calls, status;
};

static int answer(void *user, const char *args, const char **result, char *err, size_t size) {
    struct host *h = user;
    h->calls++;
    snprintf(h->args, sizeof h->args, "%s", args);
    if (h->status) snprintf(err, size, "the line is busy");
    *result = h->reply;
    return h->status;
}

static void called_back(void **state) {
    struct fixture f;
    struct host h = {.reply = "[1, -2.5]"}, other = {.reply = "\"b\""};
    start(&f, false);
    expect_error(&f, "infer call_back(\"show\", 1);", "no callback is bound to the name `show`");
    assert_int_equal(gpm_bind_callback(f.s, "", answer, &h), GPM_E_ARG);
    assert_int_equal(gpm_bind_callback(f.s, "show", answer, &h), GPM_OK);
    assert_int_equal(gpm_bind_callback(f.s, "other", answer, &other), GPM_OK);
    expect(&f, "assume x = 3; call_back(show, x, [x, \"s\"], flip(1)); infer call_back(\"show\");",
           "[1, -2.5]\n");
    assert_int_equal(h.calls, 2);
    assert_string_equal(h.args, "[]");
    expect(&f, "define b = run(call_back(other, x + unquote(2))); b;", "\"b\"\n");
    assert_string_equal(other.args, "[[5]]");
    expect(&f, "infer resample(3); infer do(y <- call_back(show, x), assert(size(y) == 2));", "");
    assert_string_equal(h.args, "[[3, 3, 3]]");
    h.reply = NULL;
    expect(&f, "define n = \"show\"; run(call_back($n, x));", "()\n");
    expect_error(&f, "infer call_back(shown);", "callbacks of this session: show, other");
    h.reply = "1; 2";
    expect_error(&f, "infer call_back(show);", "must be one expression");
    h.reply = "1 +";
    expect_error(&f, "infer call_back(show);", "reply of a callback");
    h.status = 1;
    expect_error(&f, "infer call_back(show);", "the callback `show` failed: the line is busy");
    expect_error(&f, "assume z = call_back(show);", "call_back");
    end(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(called_back), cmocka_unit_test(parallel),
                                       cmocka_unit_test(bare),        cmocka_unit_test(signatures),
                                       cmocka_unit_test(memoized),    cmocka_unit_test(stored)};
    return cmocka_run_group_tests(tests, tmp_setup, tmp_teardown);
}
