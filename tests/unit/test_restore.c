/* SPDX-License-Identifier: Apache-2.0
 *
 * Steps on the way back that cannot fail but for a mistake (core_must): in every build a failure
 * ends the instruction with an internal error, and its guard puts the model back.
 */
#include "support/check.h"

#include "front/session/session.h"

#include <string.h>

/* A random procedure with statistics that fail at will: it gives 0, 1, 2, ... and its n-th entry
 * into, or exit from, the statistics is refused. */
static double next_draw;
static int fail_in, fail_out; /* 0: never */

static enum gpm_status draw(struct sp_call *c, value *out) {
    *out = value_num(next_draw++);
    return GPM_OK;
}
static enum gpm_status density(struct sp_call *c, value v, double *out) {
    *out = 0;
    return GPM_OK;
}
static enum gpm_status enter(struct sp_call *c, value v) {
    return fail_in && --fail_in == 0 ? GPM_E_ARG : GPM_OK;
}
static enum gpm_status leave(struct sp_call *c, value v) {
    return fail_out && --fail_out == 0 ? GPM_E_ARG : GPM_OK;
}
static const struct sp_class fragile = {.name = "fragile",
                                        .sig = "() -> number",
                                        .flags = SP_RANDOM,
                                        .simulate = draw,
                                        .log_density = density,
                                        .incorporate = enter,
                                        .unincorporate = leave};

static enum gpm_status run(struct session *s, const char *text) {
    diags_rewind(&s->diags, 0);
    return session_run(s, "test", text, strlen(text));
}

static void begin(struct session *s, struct sp_sig *sig) {
    assert_int_equal(session_init(s, 1, 0), GPM_OK);
    s->core.watch_memory = true;
    sp_sig_parse(fragile.sig, sig);
    struct sp_proc *b = NEW(struct sp_proc);
    box_init(&b->box, &sp_proc_class);
    b->cls = &fragile;
    b->sig = sig;
    core_bind_builtin(&s->core, "fragile", value_box(V_PROC, &b->box));
    next_draw = 0;
    fail_in = fail_out = 0;
    /* 0 is observed nearly without noise, so that every proposal is refused; in a model without a
     * maker nobody would be told of values */
    assert_int_equal(run(s, "assume maker = make_beta_bernoulli(1, 1); assume x = fragile(); "
                            "observe normal(x, 0.01) = 0;"),
                     GPM_OK);
}

static void stands(struct session *s) {
    assert_int_equal(run(s, "infer do(mh(default, one, 3), v <- sample x, assert(v == 0));"),
                     GPM_OK);
}

/* What fails: the return of the old value, or the exit of the refused one. */
static void failures_are_seen(int in, int out) {
    struct session s;
    struct sp_sig sig;
    begin(&s, &sig);
    stands(&s);
    fail_in = in;
    fail_out = out;
    assert_int_equal(run(&s, "infer do(mh(default, one, 1), pass);"), GPM_E_USER);
    bool internal = false;
    for (size_t i = 0; i < s.diags.list.n; i++)
        internal = internal || s.diags.list.at[i]->code == DIAG_INTERNAL ||
                   strstr(s.diags.list.at[i]->message, "trace check") != NULL; /* test builds */
    assert_true(internal);
    fail_in = fail_out = 0;
    stands(&s); /* from the guard's copy */
    session_release(&s);
}

static void entries(void **state) {
    failures_are_seen(2, 0);
}
static void exits(void **state) {
    failures_are_seen(0, 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(entries), cmocka_unit_test(exits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
