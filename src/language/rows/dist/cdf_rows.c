/* SPDX-License-Identifier: Apache-2.0
 *
 * Distribution functions of the random procedures that have tails: log_cdf, log_ccdf, inverse_cdf.
 * Their second argument is the procedure, then come its arguments, as in assess. Sequences are
 * events about independent elements: all of them at most, or all of them above.
 */
#include "language/rows/dist/columns.h"
#include <math.h>

enum { LOWER, UPPER }; /* variants */

/* The call of the distribution: log_cdf(x, dist, ...) without its first two arguments. */
static enum gpm_status inner_call(struct sp_call *c, struct sp_call *of) {
    struct sp_proc *p = sp_proc_of(c->args[1]);
    bool scalar = p && p->cls->simulate == sp_scalar_simulate;
    const struct scalar_family *f = scalar ? p->cls->of : NULL;
    struct sp_sig sig;
    if (!f || !f->tails)
        return sp_error(c, DIAG_NO_DENSITY, "%s: the distribution function of %s is not known",
                        c->cls->name, p ? p->cls->name : SHOW(c->args[1]));
    *of = *c;
    of->cls = p->cls;
    of->args = c->args + 2;
    of->n = c->n - 2;
    sp_sig_parse(p->cls->sig, &sig);
    enum gpm_status st = sp_check_args(of, &sig);
    if (st == GPM_OK && of->n > p->cls->num_args)
        st = sp_error(c, DIAG_ARITY, "%s: %s takes %zu arguments here, without bounds",
                      c->cls->name, p->cls->name, p->cls->num_args);
    return st;
}

/* Where the event lies: at most x, or above it. */
static void event(int variant, const struct law *w, double x, double *lo, double *hi) {
    *lo = variant == LOWER ? -INFINITY : w->whole ? floor(x) + 1 : x;
    *hi = variant == LOWER ? x : INFINITY;
}

static double log_probability(int variant, const struct sp_class *cls, double x, const double *a) {
    struct law w = law_of(cls, a);
    double lo, hi;
    event(variant, &w, x, &lo, &hi);
    if (isnan(w.lp(isfinite(x) ? x : 0, a, w.n))) return NAN;
    return law_log_mass(&w, lo, hi);
}

/* The distribution, its parameters and the values, as columns. */
struct tail {
    struct sp_call of;
    struct arg_columns q;
    struct column x;
};

static void tail_release(struct tail *t) {
    column_release(&t->x);
    columns_release(&t->q, t->of.n);
}

static enum gpm_status tail_init(struct sp_call *c, struct tail *t) {
    enum gpm_status st = inner_call(c, &t->of);
    if (st == GPM_OK) st = columns_init(&t->of, &t->q);
    if (st != GPM_OK) return st;
    st = columns_value(&t->of, c->args[0], &t->q, &t->x);
    if (st != GPM_OK) tail_release(t);
    return st;
}

static enum gpm_status tail_simulate(struct sp_call *c, value *out) {
    struct tail t;
    double a[SP_MAX_PARAMS], sum = 0;
    enum gpm_status st = tail_init(c, &t);
    if (st != GPM_OK) return st;
    for (size_t i = 0; st == GPM_OK && i < t.q.n; i++) {
        columns_element(&t.q, t.of.n, i, a);
        st = columns_check(&t.of, a);
        if (st == GPM_OK)
            sum += log_probability(c->cls->variant, t.of.cls, t.x.at[i * t.x.step], a);
    }
    if (st == GPM_OK && isnan(sum))
        st = sp_error(c, DIAG_DOMAIN, "%s: the parameters of %s are outside its domain",
                      c->cls->name, t.of.cls->name);
    if (st == GPM_OK) *out = value_num(sum);
    tail_release(&t);
    return st;
}

static void tail_grad(int variant, const struct sp_call *c, double x, const double *a, double *g) {
    struct law w = law_of(c->cls, a);
    double lo, hi, d[LAW_PARAMS + 2];
    event(variant, &w, x, &lo, &hi);
    law_mass_grad(&w, lo, hi, law_log_mass(&w, lo, hi), d);
    g[0] = d[w.n + (variant == LOWER)];
    for (size_t i = 0; i < c->n; i++) g[1 + i] = d[i];
}

static void lower_grad(const struct sp_call *c, double x, const double *a, double *g) {
    tail_grad(LOWER, c, x, a, g);
}

static void upper_grad(const struct sp_call *c, double x, const double *a, double *g) {
    tail_grad(UPPER, c, x, a, g);
}

/* d times the gradient. */
static value scaled(value g_taken, double d) {
    if (g_taken.tag == V_NUM) return value_num(d * g_taken.u.num);
    for (size_t i = 0; g_taken.tag == V_VECTOR && i < g_taken.u.vector->n; i++)
        g_taken.u.vector->at[i] *= d;
    return g_taken;
}

static enum gpm_status tail_back(struct sp_call *c, value result, value dresult, value *dargs) {
    struct tail t;
    value d[SP_MAX_PARAMS + 1];
    if (dresult.tag != V_NUM) return GPM_OK;
    enum gpm_status st = tail_init(c, &t);
    if (st != GPM_OK) return st;
    columns_gradient(&t.of, &t.q, &t.x, c->cls->variant == LOWER ? lower_grad : upper_grad, d);
    dargs[0] = scaled(d[0], dresult.u.num);
    for (size_t i = 0; i < t.of.n; i++) dargs[2 + i] = scaled(d[1 + i], dresult.u.num);
    tail_release(&t);
    return GPM_OK;
}

static enum gpm_status inverse_simulate(struct sp_call *c, value *out) {
    struct sp_call of;
    struct arg_columns q;
    double a[SP_MAX_PARAMS], p = sp_num(c, 0);
    if (!(p > 0 && p < 1))
        return sp_error(c, DIAG_DOMAIN, "%s: p must be above 0 and below 1, got %g", c->cls->name,
                        p);
    enum gpm_status st = inner_call(c, &of);
    if (st == GPM_OK) st = columns_init(&of, &q);
    if (st != GPM_OK) return st;
    if (q.many)
        st = sp_error(c, DIAG_TYPE, "%s: the parameters of %s must be numbers", c->cls->name,
                      of.cls->name);
    columns_element(&q, of.n, 0, a);
    if (st == GPM_OK) st = columns_check(&of, a);
    columns_release(&q, of.n);
    if (st != GPM_OK) return st;
    struct law w = law_of(of.cls, a);
    double x = isnan(w.lp(0, a, w.n)) ? NAN : law_quantile(&w, log(p), log1p(-p));
    if (isnan(x))
        return sp_error(c, DIAG_DOMAIN, "%s: the parameters of %s are outside its domain",
                        c->cls->name, of.cls->name);
    *out = value_num(x);
    return GPM_OK;
}

const struct sp_class sp_cdf_rows[] = {
    {.name = "log_cdf",
     .sig = "(x: any, dist: proc, ...parameters: any) -> real",
     .doc = "log of the probability that a draw is at most x, for censored data; of sequences: "
            "that all are",
     .example = "log_cdf(0, normal, 0, 1) => -0.6931471805599453",
     .variant = LOWER,
     .simulate = tail_simulate,
     .grad_simulate = tail_back},
    {.name = "log_ccdf",
     .sig = "(x: any, dist: proc, ...parameters: any) -> real",
     .doc = "log of the probability that a draw is above x; of sequences: that all are",
     .example = "log_ccdf(3, expon, 2) => -6",
     .variant = UPPER,
     .simulate = tail_simulate,
     .grad_simulate = tail_back},
    {.name = "inverse_cdf",
     .sig = "(p: probability, dist: proc, ...parameters: any) -> real",
     .doc = "the x that a draw is at most with probability p",
     .example = "inverse_cdf(0.5, normal, 3, 1) => 3",
     .simulate = inverse_simulate},
};
const size_t sp_cdf_count = COUNT_OF(sp_cdf_rows);
