/* SPDX-License-Identifier: Apache-2.0
 *
 * Compiled steps and the way back from them: a session in which instructions failed half way
 * goes on exactly like one that never saw them, and one long instruction is many short ones.
 */
#include "support/check.h"
#include "support/session.h"

#include <stdlib.h>
#include <string.h>

static const char *run(struct kept_session *a, const char *text) {
    buf_reset(&a->out);
    if (gpm_run_text(a->s, "test", text, strlen(text))) fail_msg("%s", gpm_last_error(a->s));
    return a->out.data;
}

static const struct {
    const char *model, *state;
} models[] = {
    /* dense: products and sums of several choices, copies by tags and calls, owned observations */
    {"assume x = mem(proc(i) { if (i == 0) { normal(0, 1) } else { normal(x(i - 1), 1) } });"
     "assume twice = proc(a) { 2 * a };"
     "assume s = tag(\"s\", 0, x(1) * x(2) + twice(x(3)));"
     "for (i = 0; i < 12; i++) { observe normal(twice(x(unquote(i))), 1) = sin(i) };"
     "observe normal(s, 1) = 2;",
     "[s, x(0), x(1), x(5), x(11)]"},
    /* shared parameters, a choice that is a Boolean, a discrete observation that is owned */
    {"assume a = normal(0, 1); assume b = gamma(2, 1); assume c = flip(0.4); assume p = beta(2, 2);"
     "assume d = normal(a + b, b);"
     "observe normal(a * 3, b) = 1; observe normal(d / b, 2) = 0.3; observe flip(p) = true;"
     "observe poisson(b) = 3; observe normal(a, 1) = 0.2;",
     "[a, b, c, d, p]"},
    /* part of the moves change the structure */
    {"assume k = flip(0.5); assume m = normal(0, 2); assume w = if (k) { normal(m, 1) } else { "
     "gamma(1, 1) }; for (i = 0; i < 5; i++) { observe normal(w + m, 1) = i };",
     "[k, m, w]"},
    /* a maker that absorbs: its state is put back too */
    {"assume a = gamma(2, 1); assume b = gamma(3, 1); assume k = make_se(a, b) + make_noise(0.3);"
     "assume (fc, fe) = gpmem(proc(x) { x }, k); observe fe([0, 1, 2.5, 3]) = [0.1, 0.8, 0.3, "
     "-0.4];",
     "[a, b]"},
    /* several particles */
    {"assume a = normal(0, 1); assume b = normal(a, 1); resample(3); observe normal(a + b, 1) = 2; "
     "observe normal(b, 1) = 1;",
     "[a, b]"},
    /* that share a past, and a memo table in it */
    {"assume s = gamma(2, 1); assume x = mem(proc(t) { if (t == 0) { normal(0, s) } else { "
     "normal(x(t - 1), 1) } }); resample(4); observe normal(x(0), 1) = 1; resample(4);"
     "observe normal(x(1), 1) = 2; assume y = x(1) + x(2); resample(3);",
     "[s, x(0), x(1), y]"},
};

/* What stays of an instruction that fails: its transitions up to the first other change. */
static const struct {
    const char *failing, *stays;
} failures[] = {
    {"infer do(observe normal(0, 1) = 0.5, mh(\"nope\", one, 1));", ""},
    {"infer do(add_particle(0), observe normal(0, 1) = 0.5, mh(default, one, 5), "
     "mh(\"nope\", one, 1));",
     ""},
    {"infer do(resample(5), mh(default, one, 2), sample normal(0, 1), mh(\"nope\", one, 1));", ""},
    {"infer do(mh(default, one, 60), mh(\"nope\", one, 1));", "mh(default, one, 60)"},
    {"infer do(mh(default, one, 1), mh(default, one, 1), mh(\"nope\", one, 1));",
     "mh(default, one, 1), mh(default, one, 1)"},
    {"infer do(mh(default, one, 60), hmc(\"nope\", all, 0.1, 3, 1));", "mh(default, one, 60)"},
    {"infer do(hmc(default, all, 0.05, 3, 4), mh(default, one, 20), mh(\"nope\", one, 1));",
     "hmc(default, all, 0.05, 3, 4), mh(default, one, 20)"},
    {"infer do(nuts(default, all, 3, 4), gradient_ascent(default, all, 0.001, 2, 2), "
     "mh(\"nope\", one, 1));",
     "nuts(default, all, 3, 4), gradient_ascent(default, all, 0.001, 2, 2)"},
    {"infer do(laplace_mh(default, all, 2), mh(default, all, 5), mh(\"nope\", one, 1));",
     "laplace_mh(default, all, 2), mh(default, all, 5)"},
    {"infer do(mh(default, one, 60), s <- sample [1, normal(0, 1)], mh(default, one, 9), "
     "hmc(default, all, 0.05, 2, 2), mh(\"nope\", one, 1));",
     "mh(default, one, 60), s <- sample [1, normal(0, 1)], mh(default, one, 9), "
     "hmc(default, all, 0.05, 2, 2)"},
    {"infer do(mh(default, one, 60), assume z = normal(0, 1), observe normal(z, 1) = 2, "
     "mh(default, one, 60), mh(\"nope\", one, 1));",
     "mh(default, one, 60)"},
    {"infer do(mh(default, one, 7), resample(3), mh(default, one, 2), mh(\"nope\", one, 1));",
     "mh(default, one, 7)"},
    {"infer repeat(100, do(mh(default, one, 3), mh(\"nope\", one, 1)));", "mh(default, one, 3)"},
};

static void check_state(struct kept_session *a, struct kept_session *b, const char *state) {
    char text[256];
    snprintf(text, sizeof text, "sample %s;", state);
    char *expected = strdup(run(b, text));
    assert_string_equal(run(a, text), expected);
    free(expected);
    double there = strtod(run(b, "log_joint_at(default, all)") + 1, NULL);
    assert_close(strtod(run(a, "log_joint_at(default, all)") + 1, NULL), there, 1e-10);
}

static void failed_instructions_leave_complete_transitions(void **state) {
    (void)state;
    for (size_t m = 0; m < sizeof models / sizeof *models; m++)
        for (size_t i = 0; i < sizeof failures / sizeof *failures; i++) {
            struct kept_session *a = kept_session_new(7), *b = kept_session_new(7);
            for (int k = 0; k < 2; k++) {
                const char *text = k ? "infer mh(default, one, 40);" : models[m].model;
                run(a, text), run(b, text);
                const char *failing = failures[i].failing;
                char stays[256];
                if (!gpm_run_text(a->s, "test", failing, strlen(failing)))
                    fail_msg("%s did not fail", failing);
                assert_non_null(strstr(gpm_last_error(a->s), "E0501"));
                snprintf(stays, sizeof stays, "infer do(%s, pass);", failures[i].stays);
                if (*failures[i].stays) run(b, stays);
                check_state(a, b, models[m].state);
            }
            run(a, "infer mh(default, one, 200);"), run(b, "infer mh(default, one, 200);");
            check_state(a, b, models[m].state);
            kept_session_free(a);
            kept_session_free(b);
        }
}

/* An observation that leaves a variable with data of its own, found out after the variable was
 * drawn anew and what is computed from it: both are put back. */
static void an_observation_that_cannot_leave_stays(void **state) {
    (void)state;
    const char *model = "assume b = tag(\"b\", 0, flip(0.5)); assume y = normal(0, 1); assume w = "
                        "normal(2, 1); assume twice = 2 * y; force b = true;"
                        "observe if (b) { y } else { w } = 0.8; observe normal(y, 1) = 3;";
    struct kept_session *a = kept_session_new(7), *b = kept_session_new(7);
    run(a, model), run(b, model);
    const char *moves = "infer mh(\"b\", 0, 50);";
    assert_int_not_equal(gpm_run_text(a->s, "test", moves, strlen(moves)), GPM_OK);
    assert_non_null(strstr(gpm_last_error(a->s), "E0406"));
    check_state(a, b, "[b, y, w, twice]");
    kept_session_free(a);
    kept_session_free(b);
}

/* What flats leave for trace_settle, and read again after it, makes no difference. */
static void many_steps_are_as_many_instructions(void **state) {
    (void)state;
    for (size_t m = 0; m < sizeof models / sizeof *models; m++) {
        struct kept_session *a = kept_session_new(7), *b = kept_session_new(7);
        run(a, models[m].model), run(b, models[m].model);
        run(a, "infer mh(default, one, 300);");
        for (int i = 0; i < 300; i++) run(b, "infer mh(default, one, 1);");
        check_state(a, b, models[m].state);
        kept_session_free(a);
        kept_session_free(b);
    }
}

/* A function of the host that asks its session to stop when it is called for the n-th time. */
struct stopper {
    gpm_session *s;
    int left;
};

static int same_and_stop(void *user, const double *x, size_t n, double *y, char *err, size_t size) {
    struct stopper *at = user;
    (void)n, (void)err, (void)size;
    if (!--at->left) gpm_interrupt(at->s);
    *y = x[0];
    return 0;
}

/* A stop may come between any two evaluations: what was half done is given back once, the model is
 * whole, and the session goes on. (The sanitizers watch.) */
static void a_stop_anywhere_leaves_the_model_whole(void **state) {
    (void)state;
    static const char *const moves[] = {"pgibbs(\"x\", ordered, 5, 2)",
                                        "func_pmap(\"x\", ordered, 5, 2)",
                                        "particle_filter(\"x\", ordered, 5, 2)",
                                        "mh(default, one, 20)",
                                        "mh(default, all, 5)",
                                        "gibbs(\"z\", each, 2)",
                                        "emap(\"z\", all, 2)",
                                        "slice(\"x\", one, 1, 20, 4)",
                                        "rejection(\"x\", one, 2)",
                                        "drift(\"x\", all, 0.5, 5)",
                                        "resample(4)"};
    const char *model =
        "assume z = tag(\"z\", 0, flip(0.5)); assume x = mem(proc(t) { tag(\"x\", t, if (t == 0) { "
        "normal(0, 1) } else { normal(same(x(t - 1)), 1) }) });"
        "for (t = 0; t < 5; t++) { observe normal(x(t) + real(z), 1) = t };";
    for (size_t m = 0; m < sizeof moves / sizeof *moves; m++)
        for (int n = 1, stopped = 1; stopped && n < 200; n += n < 60 ? 1 : 7) {
            struct kept_session *a = kept_session_new(7);
            struct stopper at = {.s = a->s};
            char text[200];
            snprintf(text, sizeof text, "infer do(%s, %s);", moves[m], moves[m]);
            assert_int_equal(
                gpm_bind_function(a->s, "same", "(x: real) -> real", same_and_stop, &at), GPM_OK);
            run(a, model);
            at.left = n;
            enum gpm_status st = gpm_run_text(a->s, "test", text, strlen(text));
            stopped = gpm_stopped(a->s);
            if (st != GPM_OK && !stopped) fail_msg("%s: %s", text, gpm_last_error(a->s));
            at.left = 0;
            run(a, "checkInvariants(); infer pgibbs(\"x\", ordered, 3, 1); checkInvariants();");
            kept_session_free(a);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stop_anywhere_leaves_the_model_whole),
        cmocka_unit_test(failed_instructions_leave_complete_transitions),
        cmocka_unit_test(an_observation_that_cannot_leave_stays),
        cmocka_unit_test(many_steps_are_as_many_instructions)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
