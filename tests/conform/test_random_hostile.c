/* SPDX-License-Identifier: Apache-2.0
 *
 * Every random procedure and maker with arguments and values of any kind: what passes the signature
 * either works (and gives no NaN) or fails with a diagnostic. Runs under the sanitizers too.
 */
#include "support/call.h"
#include "support/spcall.h"

static const char *const pieces[] = {"0",
                                     "1",
                                     "-1",
                                     "0.5",
                                     "1e300",
                                     "-1e300",
                                     "1e-320",
                                     "3",
                                     "7.5",
                                     "true",
                                     "\"s\"",
                                     "[]",
                                     "[1]",
                                     "[1, 2]",
                                     "[0.5, 0.5]",
                                     "[0, 0]",
                                     "[[1]]",
                                     "[[1, 0], [0, 1]]",
                                     "[[1, 2], [3]]",
                                     "[[0.5, 0.1], [0.5, 0.9]]",
                                     "m[[2, 0.5], [0.5, 1]]",
                                     "m[[1, 2], [2, 1]]",
                                     "v[1, 2]",
                                     "v[0.3, 0.7]",
                                     "(1, 2, 3)",
                                     "()",
                                     "inf",
                                     "nan",
                                     "word",
                                     "1e18",
                                     "123456789012",
                                     "[\"a\", \"b\"]",
                                     "[1, [2]]",
                                     "{1: 2}",
                                     "atom<3>",
                                     "[nan, 1]",
                                     "[inf, 1]",
                                     "[-inf, 0]"};

static value any_value(struct call_env *env, struct rng *r) {
    const char *text = pieces[rng_below(r, COUNT_OF(pieces))];
    return read_value(env, &text);
}

static void judge(enum gpm_status st, const struct call *k, const char *what, const value *args,
                  size_t n) {
    if (st == GPM_OK || st == GPM_E_NOT_FOUND) return;
    if (st == GPM_E_USER && k->diags.list.n > 0) return;
    struct buf b = BUF_INIT;
    for (size_t i = 0; i < n; i++) value_print(args[i], &b), buf_putc(&b, ' ');
    fail_msg("%s, %s: status %d without a diagnostic; arguments %s", k->c.cls->name, what, (int)st,
             b.data);
}

static void check_number(double x, const struct sp_call *c, const char *what) {
    if (isnan(x)) fail_msg("%s: %s is NaN", c->cls->name, what);
}

/* Everything a call can be asked for. */
static void exercise(struct call *k, struct sp_call *c, struct call_env *env) {
    value out = NIL, v = any_value(env, &k->rng), *vals, dv = NIL, dargs[CALL_ARGS] = {NIL};
    double lp = 0;
    size_t n;
    struct sp_support sup;
    enum gpm_status st = c->cls->simulate(c, &out);
    judge(st, k, "simulate", c->args, c->n);
    if (st == GPM_OK && out.tag == V_NUM && !(c->cls->flags & SP_DISCRETE))
        check_number(out.u.num, c, "the draw");
    if (st == GPM_OK && c->cls->log_density) {
        judge(c->cls->log_density(c, out, &lp), k, "log density of a draw", c->args, c->n);
        check_number(lp, c, "the density of a draw");
    }
    lp = 0;
    if (c->cls->log_density) {
        judge(c->cls->log_density(c, v, &lp), k, "log density", c->args, c->n);
        check_number(lp, c, "a density");
    }
    if (c->cls->support) judge(c->cls->support(c, &sup), k, "support", c->args, c->n);
    if (c->cls->enumerate && (st = c->cls->enumerate(c, &vals, &n)) == GPM_OK) values_free(vals, n);
    for (uint64_t varies = 0; c->cls->log_bound && varies < 4; varies++)
        judge(c->cls->log_bound(c, v, varies, &lp), k, "bound", c->args, c->n);
    if (st == GPM_OK && c->cls->grad_density &&
        c->cls->grad_density(c, out, &dv, dargs) == GPM_OK) {
        value_unref(dv);
        for (size_t i = 0; i < c->n; i++) value_unref(dargs[i]);
    }
    if (st == GPM_OK && c->cls->incorporate && c->cls->incorporate(c, v) == GPM_OK)
        judge(c->cls->unincorporate(c, v), k, "unincorporate", c->args, c->n);
    value_unref(out);
    value_unref(v);
}

static void apply_made(struct call *k, value proc, struct call_env *env) {
    struct sp_proc *m = sp_made_of(proc);
    struct sp_sig sig;
    value arg = any_value(env, &k->rng);
    sp_sig_parse(m->cls->sig, &sig);
    struct sp_call c = {.cls = m->cls,
                        .state = m->state->data,
                        .rng = &k->rng,
                        .diags = &k->diags,
                        .args = &arg,
                        .n = sig.n_min};
    if (sp_check_args(&c, &sig) == GPM_OK) exercise(k, &c, env);
    value_unref(arg);
}

static bool of_interest(const struct sp_class *cls) {
    if (cls->flags & SP_CALLS || !cls->simulate) return false;
    return cls->flags & SP_RANDOM || (cls->flags & SP_MAKER && strncmp(cls->name, "make_", 5) == 0);
}

static void nothing_crashes_or_gives_nan(void **state) {
    struct call_env env;
    struct rng r;
    call_env_init(&env);
    rng_init(&r, 2026, 0, 0);
    size_t accepted = 0;
    for (size_t row = 0; row < sp_index_count(); row++) {
        const struct sp_class *cls = sp_index_at(row);
        if (!of_interest(cls) || strstr(cls->name, "gp")) continue;
        struct sp_sig sig;
        sp_sig_parse(cls->sig, &sig);
        for (int rep = 0; rep < 600; rep++) {
            struct call k;
            value args[CALL_ARGS];
            size_t most = sig.n_max < CALL_ARGS ? sig.n_max : CALL_ARGS;
            size_t n = sig.n_min + rng_below(&r, most - sig.n_min + 1);
            for (size_t i = 0; i < n; i++) args[i] = any_value(&env, &r);
            call_init(&k, cls->name, args, n, rng_u64(&r));
            if (sp_check_args(&k.c, &sig) == GPM_OK) {
                value made = NIL;
                accepted++;
                exercise(&k, &k.c, &env);
                if (cls->flags & SP_MAKER && cls->simulate(&k.c, &made) == GPM_OK)
                    apply_made(&k, made, &env);
                value_unref(made);
            }
            call_release(&k);
        }
    }
    assert_true(accepted > 2000);
    call_env_release(&env);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(nothing_crashes_or_gives_nan)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
