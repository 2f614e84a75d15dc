/* SPDX-License-Identifier: Apache-2.0
 *
 * Extreme parameters, from 1e-310 to 1e308: every distribution, maker and kernel row either gives a
 * number that is right, or an error. Densities are compared with the formula in long double, whose
 * exponents reach beyond; draws lie in the support; made procedures are tried after extreme data;
 * kernels obey k(sf) = sf^2 k(1) and Cauchy-Schwarz.
 */
#include "support/call.h"
#include "support/spcall.h"

#include "gp/kernel/kernel.h"
#include "gp/kernel/kern_class.h"
#include <float.h>

static const double sizes[] = {1e-310, 1e-200, 1e-100, 1e-20, 1e-5,  0.3,  1,
                               7,      1e5,    1e20,   1e100, 1e200, 1e308};
enum { SIZES = COUNT_OF(sizes) };

/* ---- distributions: the terms of the log density, whose sizes bound the rounding error ---- */

typedef long double real;
struct terms {
    real sum, size;
};

static void add(struct terms *t, real x) {
    t->sum += x;
    t->size += fabsl(x);
}

static void normal_terms(struct terms *t, real x, const double *a) {
    real z = (x - a[0]) / a[1];
    add(t, -logl((real)a[1]) - 0.5L * logl(2 * acosl(-1)));
    add(t, -0.5L * z * z);
}
static void gamma_terms(struct terms *t, real x, const double *a) {
    add(t, a[0] * logl((real)a[1]));
    add(t, -lgammal((real)a[0]));
    add(t, ((real)a[0] - 1) * logl(x));
    add(t, -(real)a[1] * x);
}
static void inv_gamma_terms(struct terms *t, real x, const double *a) {
    add(t, a[0] * logl((real)a[1]));
    add(t, -lgammal((real)a[0]));
    add(t, -((real)a[0] + 1) * logl(x));
    add(t, -(real)a[1] / x);
}
static void expon_terms(struct terms *t, real x, const double *a) {
    add(t, logl((real)a[0]));
    add(t, -(real)a[0] * x);
}
static void laplace_terms(struct terms *t, real x, const double *a) {
    add(t, -logl(2 * (real)a[1]));
    add(t, -fabsl(x - a[0]) / a[1]);
}
static void lognormal_terms(struct terms *t, real x, const double *a) {
    normal_terms(t, logl(x), a);
    add(t, -logl(x));
}
static void student_terms(struct terms *t, real x, const double *a) {
    real z = (x - a[1]) / a[2], nu = a[0];
    add(t, lgammal((nu + 1) / 2));
    add(t, -lgammal(nu / 2));
    add(t, -0.5L * logl(nu * acosl(-1)) - logl((real)a[2]));
    add(t, -(nu + 1) / 2 * log1pl(z * z / nu));
}
static void poisson_terms(struct terms *t, real x, const double *a) {
    add(t, x * logl((real)a[0]));
    add(t, -(real)a[0]);
    add(t, -lgammal(x + 1));
}

static const struct {
    const char *name;
    int n;            /* parameters */
    unsigned located; /* bit i: parameter i is a location, of any sign */
    bool positive, whole;
    void (*terms)(struct terms *t, real x, const double *a);
} dists[] = {
    {"normal", 2, 1, false, false, normal_terms},
    {"gamma", 2, 0, true, false, gamma_terms},
    {"inv_gamma", 2, 0, true, false, inv_gamma_terms},
    {"expon", 1, 0, true, false, expon_terms},
    {"laplace", 2, 1, false, false, laplace_terms},
    {"lognormal", 2, 1, true, false, lognormal_terms},
    {"student_t", 3, 2, false, false, student_terms},
    {"poisson", 1, 0, true, true, poisson_terms},
};

static unsigned failures;

static void complain(const char *name, const double *a, int n, double x, double got, real want) {
    if (failures++ > 20) return;
    print_error("%s(", name);
    for (int i = 0; i < n; i++) print_error("%s%g", i ? ", " : "", a[i]);
    print_error(") at %g: %.15g, exact %.15Lg\n", x, got, want);
}

static void check_density(size_t d, struct sp_call *c, const double *a, double x) {
    double lp = NAN;
    enum gpm_status st = c->cls->log_density(c, value_num(x), &lp);
    struct terms t = {0, 1};
    if (st == GPM_E_USER) return;
    dists[d].terms(&t, x, a);
    if (t.sum != t.sum) return; /* beyond long double too */
    bool ok = t.sum < -1.7e308L  ? lp < -1e307
              : t.sum > 1.7e308L ? false
              : t.size > 1e300L  ? !isnan(lp)
                                 : fabsl(lp - t.sum) <= 1e-10L * t.size;
    if (!ok) complain(dists[d].name, a, dists[d].n, x, lp, t.sum);
}

static void check_draw(size_t d, struct sp_call *c, const double *a) {
    value v = NIL;
    enum gpm_status st = sp_simulate(c, &v);
    if (st == GPM_E_USER) return;
    assert_int_equal(st, GPM_OK);
    double x = v.u.num;
    if (!isfinite(x) || (dists[d].positive && x < 0) || (dists[d].whole && x != floor(x)))
        complain(dists[d].name, a, dists[d].n, x, x, 0);
}

/* Calls fn for every combination of sizes, of both signs for locations. */
static void densities(void **state) {
    failures = 0;
    size_t tried = 0;
    for (size_t d = 0; d < COUNT_OF(dists); d++) {
        size_t combos = 1;
        for (int i = 0; i < dists[d].n; i++) combos *= 2 * SIZES;
        for (size_t k = 0; k < combos; k++) {
            double a[3];
            bool skip = false;
            size_t rest = k;
            for (int i = 0; i < dists[d].n; i++, rest /= 2 * SIZES) {
                size_t at = rest % (2 * SIZES);
                a[i] = at < SIZES ? sizes[at] : -sizes[at - SIZES];
                skip |= a[i] < 0 && !(dists[d].located >> i & 1);
            }
            if (skip) continue;
            value args[3];
            for (int i = 0; i < dists[d].n; i++) args[i] = value_num(a[i]);
            struct call c;
            call_init(&c, dists[d].name, args, (size_t)dists[d].n, k);
            check_draw(d, &c.c, a);
            for (size_t i = 0; i < SIZES; i++) {
                double x = dists[d].whole ? floor(sizes[i]) : sizes[i];
                check_density(d, &c.c, a, x);
                if (!dists[d].positive) check_density(d, &c.c, a, -x);
                tried++;
            }
            diags_rewind(&c.diags, 0);
            call_release(&c);
        }
    }
    assert_true(tried > 10000);
    assert_int_equal(failures, 0);
}

/* ---- makers: extreme parameters, then extreme data, then draws and densities ---- */

static void assert_nan_free(double lp, const char *name) {
    if (isnan(lp)) fail_msg("%s: a density is nan", name);
}

static void try_made(struct call *k, value made, const char *name) {
    struct sp_proc *m = sp_made_of(made);
    if (!m || !(m->cls->flags & SP_RANDOM) || strcmp(m->cls->sig, "() -> any") == 0) return;
    if (strncmp(m->cls->sig, "()", 2) != 0) return; /* called without arguments here */
    struct sp_call c = {.cls = m->cls, .state = m->state->data, .rng = &k->rng, .diags = &k->diags};
    bool coin = strstr(m->cls->sig, "bool"), vector = strstr(m->cls->sig, "vector");
    for (size_t i = 0; i < SIZES; i++) {
        double x = coin                           ? (double)(i % 2)
                   : strstr(m->cls->sig, "count") ? floor(sizes[i])
                                                  : sizes[i];
        value v = vector ? value_vector((double[]){x, -x}, 2) : value_num(x), drawn = NIL;
        double lp = 0;
        if (c.cls->log_density(&c, v, &lp) == GPM_OK) assert_nan_free(lp, name);
        bool in = c.cls->incorporate && c.cls->incorporate(&c, v) == GPM_OK;
        if (sp_simulate(&c, &drawn) == GPM_OK) {
            if (value_has_nan(drawn)) fail_msg("%s draws nan after %g", name, x);
            if (in && drawn.tag == V_NUM && fabs(drawn.u.num) == DBL_MAX && fabs(x) > 1e160)
                fail_msg("%s draws the largest number after %g", name, x); /* an overflow, cut */
            if (c.cls->log_density(&c, drawn, &lp) == GPM_OK && isnan(lp))
                fail_msg("%s: nan density after %g", name, x);
        }
        value_unref(drawn);
        if (in) assert_int_equal(c.cls->unincorporate(&c, v), GPM_OK);
        value_unref(v);
    }
    diags_rewind(&k->diags, 0);
}

static void makers(void **state) {
    size_t made_count = 0;
    struct sp_sig known;
    sp_sig_parse("(a: real, b: positive, c: probability, d: nonneg) -> any", &known);
    for (size_t row = 0; row < sp_index_count(); row++) {
        const struct sp_class *cls = sp_index_at(row);
        struct sp_sig sig;
        sp_sig_parse(cls->sig, &sig);
        bool numbers = (cls->flags & SP_MAKER) && cls->simulate && sig.n_min > 0 && sig.n_min <= 4;
        for (size_t i = 0; i < sig.n_min; i++) {
            bool number = false;
            for (size_t k = 0; k < known.n_params; k++)
                number |= sig.params[i].type == known.params[k].type;
            numbers &= number;
        }
        for (size_t rep = 0; numbers && rep < 800; rep++) {
            value args[4], made = NIL;
            size_t rest = rep * 7919;
            for (size_t i = 0; i < sig.n_min; i++, rest /= SIZES)
                args[i] = value_num(sizes[rest % SIZES]);
            struct call k;
            call_init(&k, cls->name, args, sig.n_min, rep);
            if (sp_check_args(&k.c, &sig) == GPM_OK && cls->simulate(&k.c, &made) == GPM_OK) {
                made_count++;
                try_made(&k, made, cls->name);
            }
            value_unref(made);
            call_release(&k);
        }
    }
    assert_true(made_count > 1000);
}

/* ---- kernels ---- */

static void check_kernel(const struct kern_class *row, const double *par) {
    static const double x[] = {0, 0.3, 1, 1.7, 1e5};
    struct kern *k = kern_leaf(row, par, NULL);
    if (!k) return;
    double unit[KERN_MAX_PAR], m[5][5], one = 0;
    memcpy(unit, par, sizeof unit);
    unit[0] = 1;
    bool squared = row->amp == KERN_AMP_SQUARE;
    struct kern *u = squared ? kern_leaf(row, unit, NULL) : NULL;
    for (int i = 0; i < 5; i++)
        for (int j = 0; j < 5; j++) {
            assert_int_equal(kern_eval(k, &x[i], &x[j], 1, &m[i][j]), GPM_OK);
            if (u) assert_int_equal(kern_eval(u, &x[i], &x[j], 1, &one), GPM_OK);
            double want = par[0] * par[0] * one;
            bool ok = !isnan(m[i][j]) && !(isinf(m[i][j]) && par[0] < 1e100);
            if (u && isfinite(want)) ok &= fabs(m[i][j] - want) <= 1e-12 * fabs(want) + 1e-307;
            if (!ok) complain(row->name, par, row->npar, x[i] - x[j], m[i][j], want);
        }
    for (int i = 0; i < 5; i++)
        for (int j = 0; j < i; j++) {
            double bound = sqrt(m[i][i]) * sqrt(m[j][j]) * (1 + 1e-9) + 1e-160;
            if (!row->not_psd && !(fabs(m[i][j]) <= bound))
                complain(row->name, par, row->npar, x[i] - x[j], m[i][j], bound);
        }
    kern_unref(u);
    kern_unref(k);
}

static void kernels(void **state) {
    failures = 0;
    const struct kern_class *row;
    for (size_t r = 0; (row = kern_class_at(r)); r++) {
        if (row->op != KERN_LEAF) continue;
        for (size_t p = 0; p < row->npar; p++)
            for (size_t i = 0; i < SIZES; i++) {
                double par[KERN_MAX_PAR] = {0};
                for (size_t q = 0; q < row->npar; q++) par[q] = row->par[q].fallback;
                par[p] = sizes[i];
                check_kernel(row, par);
            }
    }
    assert_int_equal(failures, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(densities), cmocka_unit_test(makers),
                                       cmocka_unit_test(kernels)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
