/* SPDX-License-Identifier: Apache-2.0
 *
 * assess(v, f, args...): the log density of v as a value of f(args...), an ordinary function with
 * the derivatives of the density. Compiled steps call the density's numeric form themselves
 * (SP_CODE_ASSESS).
 */
#include "language/rows/protocol/sp.h"

#include "base/mem.h"
#include "language/rows/protocol/adjoint.h"
#include <math.h>

enum { FIRST_ARG = 2 }; /* after v and f */

/* The call of f, its arguments checked; DIAG_NO_DENSITY where it has none. */
static enum gpm_status inner_call(struct sp_call *c, struct sp_call *inner) {
    const struct sp_proc *f = sp_proc_of(c->args[1]);
    if (!f || !f->cls->log_density) {
        sp_error(c, DIAG_NO_DENSITY, "assess: the procedure has no density");
        return diag_set_help(c->diags,
                             "assess takes a random primitive such as normal, or a made procedure");
    }
    *inner = *c;
    inner->cls = f->cls;
    inner->state = f->state ? f->state->data : NULL;
    inner->args = c->args + FIRST_ARG;
    inner->n = c->n - FIRST_ARG;
    inner->rng = NULL;
    if (f->sig) return sp_check_args(inner, f->sig);
    struct sp_sig sig;
    sp_sig_parse(f->cls->sig, &sig);
    return sp_check_args(inner, &sig);
}

/* Of a compound procedure the evaluator knows the density (runtime/core/density.c). */
static bool is_compound(const struct sp_call *c) {
    return c->args[1].tag == V_PROC && !sp_proc_of(c->args[1]) && c->host && c->host->density;
}

static enum gpm_status simulate_assess(struct sp_call *c, value *out) {
    struct sp_call inner;
    double logp;
    if (is_compound(c)) {
        enum gpm_status known = c->host->density(c->host, c->args[1], c->args + FIRST_ARG,
                                                 c->n - FIRST_ARG, c->args[0], &logp);
        if (!known) *out = value_num(logp);
        return known;
    }
    enum gpm_status st = inner_call(c, &inner);
    if (!st) st = inner.cls->log_density(&inner, c->args[0], &logp);
    if (!st) *out = value_num(logp);
    return st;
}

static bool wants_none(value d) {
    return d.tag == V_NIL || (d.tag == V_NUM && d.u.num == 0);
}

/* At a value of density zero there is no slope to follow. */
static enum gpm_status grad_assess(struct sp_call *c, value r, value dr, value *dargs) {
    struct sp_call inner;
    if (wants_none(dr)) return GPM_OK;
    if (is_compound(c)) {
        sp_error(c, DIAG_NO_GRADIENT,
                 "assess: the density of a compound procedure has no gradient");
        return diag_set_help(c->diags,
                             "name the random procedure itself, or use mh, slice or gibbs");
    }
    enum gpm_status st = inner_call(c, &inner);
    if (st) return st;
    if (!inner.cls->grad_density) {
        sp_error(c, DIAG_NO_GRADIENT, "assess: %s has no gradient of its density", inner.cls->name);
        return diag_set_help(c->diags, "mh, slice or gibbs need no gradients");
    }
    value *d = NEW_ARRAY(value, c->n);
    for (size_t i = 0; i < c->n; i++) d[i] = NIL;
    bool discrete = inner.cls->flags & SP_DISCRETE;
    st = inner.cls->grad_density(&inner, c->args[0], discrete ? NULL : &d[0], d + FIRST_ARG);
    if (!st && adj_num(r) > -INFINITY)
        for (size_t i = 0; i < c->n; i++) dargs[i] = adj_scaled(d[i], adj_num(dr));
    values_free(d, c->n);
    if (inner.state) dargs[1] = ABSENT; /* the parameters of a made procedure */
    return st;
}

const struct sp_class sp_assess_rows[] = {
    {SP_GROW(
         assess, assess, "(v: any, f: proc, ...args: any) -> number",
         "The log density of v as a value of f(args...), with the statistics f has now. A compound "
         "procedure has one when its value is that of one random procedure and nothing else in "
         "it is random.",
         "assess(true, flip, 1) => 0"),
     .code = SP_CODE_ASSESS},
};
const size_t sp_assess_count = COUNT_OF(sp_assess_rows);
