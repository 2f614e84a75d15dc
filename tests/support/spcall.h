/* SPDX-License-Identifier: Apache-2.0
 *
 * Calling rows of the procedure tables from tests, without an evaluator, and the statistics that
 * the conformance tests share.
 */
#ifndef SUPPORT_SPCALL_H
#define SUPPORT_SPCALL_H
#include "support/call.h"
#include "support/check.h"
#include "support/incomplete_gamma.h"

#include "language/lang/source.h"
#include "numeric/special/rng.h"
#include "numeric/special/special.h"
#include "language/rows/protocol/sp.h"

enum { CALL_ARGS = 8 };
struct call {
    struct sp_call c;
    value args[CALL_ARGS]; /* owned */
    struct diags diags;
    struct rng rng;
};

/* Starts a call of the row `name`; args are taken over. The seed keys the generator. */
static inline void call_init(struct call *k, const char *name, const value *args, size_t n,
                             uint64_t seed) {
    memset(k, 0, sizeof *k);
    rng_init(&k->rng, seed, 0, 0);
    for (size_t i = 0; i < n; i++) k->args[i] = args[i];
    k->c = (struct sp_call){
        .args = k->args, .n = n, .rng = &k->rng, .diags = &k->diags, .cls = sp_index_find(name)};
    if (!k->c.cls) fail_msg("no procedure called %s", name);
}

/* Starts a call with arguments written as text (call.h), checked by the row's signature; a bare
 * symbol stands for the procedure of that name. */
static inline void call_start(struct call *k, struct call_env *e, const char *name,
                              const char *args, uint64_t seed) {
    struct sp_sig sig;
    call_init(k, name, NULL, 0, seed);
    k->c.n = read_values(e, args, k->args, CALL_ARGS);
    for (size_t i = 0; i < k->c.n; i++) {
        long row = k->args[i].tag == V_SYM ? sp_index_number(k->args[i].u.sym->text) : -1;
        if (row >= 0) value_set_take(&k->args[i], sp_builtin_value((size_t)row));
    }
    sp_sig_parse(k->c.cls->sig, &sig);
    assert_int_equal(sp_check_args(&k->c, &sig), GPM_OK);
}

static inline void call_release(struct call *k) {
    for (size_t i = 0; i < k->c.n; i++) value_unref(k->args[i]);
    diags_release(&k->diags);
}

/* Log density of v; a failing call fails the test. */
static inline double call_lp(struct call *k, value v) {
    double lp = NAN;
    enum gpm_status st = k->c.cls->log_density(&k->c, v, &lp);
    if (st != GPM_OK) {
        if (k->diags.list.n) print_error("%s\n", k->diags.list.at[0]->message);
        fail_msg("log density of %s failed", k->c.cls->name);
    }
    return lp;
}

static inline value call_draw(struct call *k) {
    value v = NIL;
    enum gpm_status st = k->c.cls->simulate(&k->c, &v);
    if (st != GPM_OK) {
        if (k->diags.list.n) print_error("%s\n", k->diags.list.at[0]->message);
        fail_msg("simulating %s failed", k->c.cls->name);
    }
    return v;
}

static inline double as_double(value v) {
    return v.tag == V_BOOL ? v.u.boolean : v.u.num;
}

/* p-value of counts against expected probabilities; cells of small expectation are pooled. */
static inline double chi2_p(const double *count, const double *prob, size_t cells, double total) {
    double chi2 = 0, pool_c = 0, pool_e = 0;
    size_t used = 0;
    for (size_t i = 0; i < cells; i++) {
        double e = prob[i] * total;
        if (e < 5) {
            pool_c += count[i];
            pool_e += e;
            continue;
        }
        chi2 += (count[i] - e) * (count[i] - e) / e;
        used++;
    }
    if (pool_e > 1e-9) {
        double e = fmax(pool_e, 0.5);
        chi2 += (pool_c - pool_e) * (pool_c - pool_e) / e;
        used++;
    } else if (pool_c > 0)
        return 0;
    return used > 1 ? gamma_q(0.5 * (double)(used - 1), 0.5 * chi2) : 1;
}
#endif
