/* SPDX-License-Identifier: Apache-2.0
 *
 * Every row of the tables is called with random arguments, of the wrong number, type, shape and
 * domain as often as not: the answer is a value or a diagnostic, never a crash, a leak or another
 * status. Gradients of what succeeds must not fail either. Runs under the sanitizers.
 */
#include "base/map.h"
#include "support/call.h"

#include "numeric/special/rng.h"
#include "language/rows/protocol/adjoint.h"

static double pick_number(struct rng *r) {
    static const double odd[] = {0,   -0.0,   1,     -1,    0.5,      2,         3,   10,
                                 1.5, 1e-300, 1e300, -7.25, INFINITY, -INFINITY, NAN, 100};
    uint64_t k = rng_below(r, COUNT_OF(odd) + 8);
    return k < COUNT_OF(odd) ? odd[k] : rng_below(r, 3) ? (double)rng_below(r, 5) : rng_normal(r);
}

static value pick(struct call_env *e, struct rng *r, int depth);

static value pick_seq(struct call_env *e, struct rng *r, int depth) {
    value items[6];
    size_t n = rng_below(r, 5), kind = rng_below(r, 4);
    bool numbers = rng_below(r, 3) != 0;
    for (size_t i = 0; i < n; i++)
        items[i] = numbers ? value_num(pick_number(r)) : pick(e, r, depth - 1);
    value v = kind == 0 ? value_list(items, n) : value_array(items, n);
    for (size_t i = 0; i < n; i++) value_unref(items[i]);
    if (kind == 1 && numbers) {
        double *x;
        if (seq_numbers(v, &x, &n)) {
            value_set_take(&v, value_vector(x, n));
            mem_free(x);
        }
    }
    return v;
}

static value pick_matrix(struct rng *r) {
    size_t m = rng_below(r, 4), n = rng_below(r, 3) ? m : rng_below(r, 4);
    value v = value_matrix_new(m, n);
    bool tame = rng_below(r, 2);
    for (size_t i = 0; i < m * n; i++) v.u.matrix->at[i] = tame ? rng_normal(r) : pick_number(r);
    return v;
}

static value pick(struct call_env *e, struct rng *r, int depth) {
    static const char *const words[] = {"", "a", "b\"\n", "longer text"};
    static const char *const procs[] = {"add", "exp", "normal", "flip"};
    switch (depth > 0 ? rng_below(r, 14) : rng_below(r, 6)) {
    case 0:
    case 1:
    case 2: return value_num(pick_number(r));
    case 3: return value_bool(rng_below(r, 2));
    case 4: return value_cstr(words[rng_below(r, COUNT_OF(words))]);
    case 5: return value_sym(sym_cstr(&e->syms, "s"));
    case 6:
    case 7:
    case 8: return pick_seq(e, r, depth);
    case 9: return pick_matrix(r);
    case 10: {
        value k = pick(e, r, 0), x = pick(e, r, 0);
        value d = value_dict((value[]){k, x}, 1);
        value_unref(k);
        value_unref(x);
        return d;
    }
    case 11: return sp_builtin_value((size_t)sp_index_number(procs[rng_below(r, COUNT_OF(procs))]));
    case 12: return value_atom((double)rng_below(r, 3));
    default: return value_pair_take(value_num(1), pick(e, r, 0));
    }
}

static void check_gradient(struct sp_call *c, value out, struct rng *r) {
    value dargs[8];
    for (size_t i = 0; i < c->n; i++) dargs[i] = NIL;
    enum gpm_status st = c->cls->grad_simulate(c, out, rng_below(r, 4) ? out : NIL, dargs);
    if (st != GPM_OK && st != GPM_E_USER) fail_msg("%s: gradient status %d", c->cls->name, (int)st);
    for (size_t i = 0; i < c->n; i++) value_unref(dargs[i]);
}

/* Density, its gradient, support and values of a random row, at any value whatever. */
static void check_density(struct call_env *e, struct sp_call *c, struct rng *r) {
    value v = pick(e, r, 2), dv = NIL, dargs[8], *vals;
    double lp = 0;
    size_t n;
    struct sp_support support;
    enum gpm_status st = c->cls->log_density(c, v, &lp);
    if (st != GPM_OK && st != GPM_E_USER) fail_msg("%s: density status %d", c->cls->name, (int)st);
    if (st == GPM_OK && isnan(lp)) {
        for (size_t i = 0; i < c->n; i++) print_message("argument %s\n", SHOW(c->args[i]));
        fail_msg("%s: density nan at %s", c->cls->name, SHOW(v));
    }
    for (size_t i = 0; i < c->n; i++) dargs[i] = NIL;
    if (st == GPM_OK && isfinite(lp) && c->cls->grad_density) {
        st = c->cls->grad_density(c, v, &dv, dargs);
        if (st != GPM_OK && st != GPM_E_USER)
            fail_msg("%s: gradient status %d", c->cls->name, (int)st);
    }
    if (c->cls->support) c->cls->support(c, &support);
    if (c->cls->enumerate && c->cls->enumerate(c, &vals, &n) == GPM_OK) values_free(vals, n);
    value_unref(dv);
    for (size_t i = 0; i < c->n; i++) value_unref(dargs[i]);
    value_unref(v);
}

/* A made procedure: draws, takes values in and out again. */
static void check_made(struct call_env *e, const struct sp_proc *m, struct rng *r) {
    struct sp_sig sig;
    value args[8], v = NIL;
    sp_sig_parse(m->cls->sig, &sig);
    size_t n = sig.n_min < 6 ? sig.n_min : 6;
    for (size_t i = 0; i < n; i++) args[i] = pick(e, r, 2);
    struct sp_call c = {.cls = m->cls,
                        .args = args,
                        .n = n,
                        .state = m->state->data,
                        .rng = r,
                        .diags = &e->diags,
                        .host = &e->host};
    enum gpm_status st = sp_check_args(&c, &sig);
    if (!st && m->cls->simulate) st = m->cls->simulate(&c, &v);
    if (!st && m->cls->incorporate) {
        st = m->cls->incorporate(&c, v);
        if (!st && m->cls->log_density) check_density(e, &c, r);
        if (!st && m->cls->unincorporate(&c, v) != GPM_OK)
            fail_msg("%s: cannot be taken out", m->cls->name);
    }
    if (st != GPM_OK && st != GPM_E_USER) fail_msg("%s: status %d", m->cls->name, (int)st);
    value_unref(v);
    for (size_t i = 0; i < n; i++) value_unref(args[i]);
}

/* One call; true when it gave a value. */
static bool one_call(struct call_env *e, size_t row, struct rng *r) {
    const struct sp_class *cls = sp_index_at(row);
    const struct sp_sig *sig = sp_index_sig(row);
    value args[8], out = NIL;
    size_t most = sig->n_max < 6 ? sig->n_max + 1 : 6, n = rng_below(r, most + 1);
    if (rng_below(r, 4) && sig->n_min <= 6) n = sig->n_min;
    for (size_t i = 0; i < n; i++) args[i] = pick(e, r, 2);
    struct sp_call c = {
        .cls = cls, .args = args, .n = n, .rng = r, .diags = &e->diags, .host = &e->host};
    enum gpm_status st = sp_check_args(&c, sig);
    if (!st) st = cls->simulate(&c, &out);
    if (st != GPM_OK && st != GPM_E_USER) fail_msg("%s: status %d", cls->name, (int)st);
    if (st == GPM_E_USER && e->diags.list.n == 0) fail_msg("%s: no diagnostic", cls->name);
    if (!st) {
        struct buf b = BUF_INIT;
        value_print(out, &b);
        value_print_json(out, &b);
        buf_release(&b);
        if (cls->grad_simulate) check_gradient(&c, out, r);
        if (cls->log_density) check_density(e, &c, r);
        if (sp_made_of(out)) check_made(e, sp_made_of(out), r);
    }
    value_unref(out);
    for (size_t i = 0; i < n; i++) value_unref(args[i]);
    diags_rewind(&e->diags, 0);
    return st == GPM_OK;
}

enum { CALLS = 1500 };

static void any_arguments_give_a_value_or_a_diagnostic(void **state) {
    struct call_env e;
    struct rng r;
    call_env_init(&e);
    for (size_t row = 0; row < sp_index_count(); row++) {
        const struct sp_class *cls = sp_index_at(row);
        if (!cls->simulate || (cls->flags & SP_CALLS)) continue;
        size_t fine = 0;
        rng_init(&r, hash_bytes(cls->name, strlen(cls->name), 0), 0,
                 0); /* what a row is given does not hang on the others */
        for (int k = 0; k < CALLS || (!fine && k < 10 * CALLS); k++) fine += one_call(&e, row, &r);
        static const char *const needy[] = {
            "value_error", "_range",     "parse",     "command", "csv_lookup",
            "read_csv",    "read_table", "read_json", "support", "probabilities"};
        bool hard = false; /* it always fails, or needs text, a file, a permission or a value that
                              only an operator gives */
        for (size_t k = 0; k < COUNT_OF(needy); k++) hard |= strcmp(cls->name, needy[k]) == 0;
        if (fine == 0 && !hard && sp_index_sig(row)->n_min < 2)
            fail_msg("%s: no call succeeded", cls->name);
        if (value_live_count() != 0) fail_msg("%s leaks values", cls->name);
    }
    call_env_release(&e);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_arguments_give_a_value_or_a_diagnostic),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
