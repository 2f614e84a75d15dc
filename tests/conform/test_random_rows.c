/* SPDX-License-Identifier: Apache-2.0
 *
 * Every scalar random procedure: log densities against scipy, densities that integrate or sum to
 * one over the declared support, samplers that agree with the densities, gradients against
 * differences, bounds that bound, domains that are enforced.
 */
#include "support/spcall.h"

/* Log densities computed with scipy.stats 1.10. */
static const struct {
    const char *name;
    size_t n;
    double args[4], x, expect;
} scipy_rows[] = {
    {"normal", 2, {0.5, 2.0}, 0.5, -1.612085713764618},
    {"normal", 2, {0.5, 2.0}, -3.0, -3.143335713764618},
    {"normal", 2, {0.5, 2.0}, 40.0, -196.64333571376463},
    {"normal", 2, {-1000.0, 0.001}, -1000.001, 5.4888167458011115},
    {"gamma", 2, {0.4, 2.0}, 1e-05, 6.388316333504331},
    {"gamma", 2, {0.4, 2.0}, 0.3, -0.3970352628822441},
    {"gamma", 2, {0.4, 2.0}, 7.0, -15.686965034910992},
    {"gamma", 2, {250.0, 3.0}, 80.0, -2.7460666721668163},
    {"inv_gamma", 2, {5.0, 3.0}, 0.1, -13.869481829043123},
    {"inv_gamma", 2, {5.0, 3.0}, 0.6, 0.37996135558854816},
    {"inv_gamma", 2, {5.0, 3.0}, 20.0, -15.809386028331343},
    {"expon", 1, {2.5}, 0.0, 0.916290731874155},
    {"expon", 1, {2.5}, 0.2, 0.416290731874155},
    {"expon", 1, {2.5}, 9.0, -21.583709268125844},
    {"beta", 2, {0.5, 0.5}, 0.0001, 3.460490302638858},
    {"beta", 2, {0.5, 0.5}, 0.3, -0.36440601171706566},
    {"beta", 2, {0.5, 0.5}, 0.999, 2.30964800380846},
    {"beta", 2, {300.0, 20.0}, 0.95, 3.1001972288821094},
    {"uniform_continuous", 2, {-2.0, 4.5}, -2.0, -1.8718021769015913},
    {"uniform_continuous", 2, {-2.0, 4.5}, 0.0, -1.8718021769015913},
    {"uniform_continuous", 2, {-2.0, 4.5}, 4.5, -1.8718021769015913},
    {"student_t", 1, {3.0}, 0.0, -1.0008888496235098},
    {"student_t", 1, {3.0}, -2.5, -3.252911375335958},
    {"student_t", 1, {3.0}, 100.0, -17.22494492625765},
    {"student_t", 3, {10000.0, 1.0, 2.0}, 3.0, -2.1121357129291534},
    {"student_t", 3, {0.7, -1.0, 0.5}, 4.0, -4.7523640331772645},
    {"laplace", 2, {-3.0, 2.0}, -3.0, -1.3862943611198906},
    {"laplace", 2, {-3.0, 2.0}, 1.0, -3.386294361119891},
    {"laplace", 2, {-3.0, 2.0}, -50.0, -24.886294361119887},
    {"lognormal", 2, {0.3, 0.8}, 0.1, -3.6849670500486233},
    {"lognormal", 2, {0.3, 0.8}, 1.5, -1.1099498470519606},
    {"lognormal", 2, {0.3, 0.8}, 30.0, -11.610605801074653},
    {"vonmises", 2, {0.5, 2.0}, 0.5, -0.6618706078923016},
    {"vonmises", 2, {0.5, 2.0}, -2.0, -4.2641578389861685},
    {"vonmises", 2, {0.5, 2.0}, 3.0, -4.2641578389861685},
    {"vonmises", 2, {1.0, 400.0}, 1.05, 1.5765850066895752},
    {"vonmises", 2, {1.0, 0.0}, 2.0, -1.8378770664093453},
    {"log_beta", 2, {0.5, 2.0}, -8.0, -4.288017591359857},
    {"log_beta", 2, {0.5, 2.0}, -0.7, -1.3240230752601663},
    {"log_beta", 2, {0.5, 2.0}, -0.001, -7.1964373097673935},
    {"log_odds_beta", 2, {0.5, 2.0}, -6.0, -3.293871285296107},
    {"log_odds_beta", 2, {0.5, 2.0}, 0.4, -2.3702202034516624},
    {"log_odds_beta", 2, {0.5, 2.0}, 3.0, -6.409150451386142},
    {"log_beta", 2, {3.0, 4.0}, -8.0, -19.90666199450213},
    {"log_beta", 2, {3.0, 4.0}, -0.7, -0.0646784462030554},
    {"log_beta", 2, {3.0, 4.0}, -0.001, -16.633421149724736},
    {"log_odds_beta", 2, {3.0, 4.0}, -6.0, -13.922985233742013},
    {"log_odds_beta", 2, {3.0, 4.0}, 0.4, -1.0967622045775687},
    {"log_odds_beta", 2, {3.0, 4.0}, 3.0, -8.245766898794106},
    {"log_odds_uniform", 0, {0}, -5.0, -5.0134306969782365},
    {"log_odds_uniform", 0, {0}, 0.0, -1.3862943611198906},
    {"log_odds_uniform", 0, {0}, 0.7, -1.5063720977709159},
    {"log_odds_uniform", 0, {0}, 30.0, -30.00000000000019},
    {"bernoulli", 1, {0.3}, 0.0, -0.35667494393873245},
    {"bernoulli", 1, {0.3}, 1.0, -1.2039728043259361},
    {"bernoulli", 0, {0}, 1.0, -0.6931471805599453},
    {"flip", 1, {0.3}, 0.0, -0.35667494393873245},
    {"flip", 1, {0.3}, 1.0, -1.2039728043259361},
    {"log_flip", 1, {-1.5}, 0.0, -0.25248245892545396},
    {"log_flip", 1, {-1.5}, 1.0, -1.5},
    {"log_odds_flip", 1, {0.8}, 0.0, -1.1711006659477778},
    {"log_odds_flip", 1, {0.8}, 1.0, -0.37110066594777763},
    {"binomial", 2, {4.0, 0.3}, 0.0, -1.4266997757549298},
    {"binomial", 2, {4.0, 0.3}, 2.0, -1.329536027301282},
    {"binomial", 2, {4.0, 0.3}, 4.0, -4.8158912173037445},
    {"binomial", 2, {10000.0, 0.6}, 6010.0, -4.830997171168292},
    {"binomial", 2, {5.0, 0.0}, 0.0, 0.0},
    {"poisson", 1, {5.0}, 0.0, -5.0},
    {"poisson", 1, {5.0}, 4.0, -1.7403021806115446},
    {"poisson", 1, {5.0}, 30.0, -31.37509897580715},
    {"poisson", 1, {10000.0}, 10100.0, -6.027433752431534},
    {"poisson", 1, {0.02}, 1.0, -3.932023005428146},
    {"geometric", 1, {0.2}, 0.0, -1.6094379124341003},
    {"geometric", 1, {0.2}, 7.0, -3.1714427716335685},
    {"negative_binomial", 2, {2.5, 0.3}, 0.0, -3.0099320108148397},
    {"negative_binomial", 2, {2.5, 0.3}, 6.0, -2.464648499629258},
    {"negative_binomial", 2, {40.0, 0.7}, 12.0, -2.924053581268474},
    {"uniform_discrete", 2, {-2.0, 5.0}, -2.0, -1.9459101490553132},
    {"uniform_discrete", 2, {-2.0, 5.0}, 4.0, -1.9459101490553132},
};

static void start(struct call *k, const char *name, const double *args, size_t n, uint64_t seed) {
    value vals[CALL_ARGS];
    for (size_t i = 0; i < n; i++) vals[i] = value_num(args[i]);
    call_init(k, name, vals, n, seed);
}

static value value_for(const struct sp_class *cls, double x) {
    return strstr(cls->name, "flip") ? value_bool(x != 0) : value_num(x);
}

static void log_densities_agree_with_scipy(void **state) {
    for (size_t i = 0; i < COUNT_OF(scipy_rows); i++) {
        struct call k;
        start(&k, scipy_rows[i].name, scipy_rows[i].args, scipy_rows[i].n, 1);
        double x = scipy_rows[i].x, got = call_lp(&k, value_for(k.c.cls, x));
        /* scipy subtracts lgammas; ours keep a few more digits for large parameters */
        if (fabs(got - scipy_rows[i].expect) > 1e-9 * fmax(1, fabs(got)))
            fail_msg("row %zu: %s at %g: %.17g, scipy has %.17g", i, scipy_rows[i].name, x, got,
                     scipy_rows[i].expect);
        assert_true(k.c.cls->num_log_density(x, scipy_rows[i].args, k.c.n) == got);
        call_release(&k);
    }
}

/* Parameters at which the rest is tested. lo..hi: where the bulk lies, for quadrature. */
static const struct dist_case {
    const char *name;
    size_t n;
    double args[5], centre, scale;
} cases[] = {
    {"normal", 2, {0.5, 2}, 0.5, 2},
    {"gamma", 2, {0.4, 2}, 0, 0.3},
    {"gamma", 2, {7.5, 0.5}, 0, 10},
    {"inv_gamma", 2, {5, 3}, 0, 1},
    {"inv_gamma", 2, {0.8, 1}, 0, 1},
    {"expon", 1, {2.5}, 0, 0.5},
    {"beta", 2, {0.5, 0.5}, 0, 0},
    {"beta", 2, {3, 1.2}, 0, 0},
    {"log_beta", 2, {0.5, 2}, 0, 1},
    {"log_beta", 2, {3, 4}, 0, 1},
    {"log_beta", 4, {3, 4, -2, -0.1}, 0, 0},
    {"log_odds_beta", 2, {0.3, 2}, -1, 2},
    {"log_odds_uniform", 0, {0}, 0, 1},
    {"uniform_continuous", 2, {-2, 4.5}, 0, 0},
    {"student_t", 1, {3}, 0, 1},
    {"student_t", 2, {5, 2}, 2, 1},
    {"student_t", 3, {1.2, -1, 0.5}, -1, 0.5},
    {"laplace", 2, {-3, 2}, -3, 2},
    {"lognormal", 2, {0.3, 0.8}, 0, 1},
    {"vonmises", 2, {0.5, 2}, 0, 0},
    {"vonmises", 2, {-2, 0.3}, 0, 0},
    {"vonmises", 2, {3, 30}, 0, 0},
    {"cauchy", 2, {-1, 0.5}, -1, 0.5},
    {"logistic_distribution", 2, {2, 0.7}, 2, 1},
    {"gumbel", 2, {2, 0.7}, 2, 1},
    {"half_normal", 1, {1.5}, 0, 1},
    {"half_cauchy", 1, {1.5}, 0, 1},
    {"half_student_t", 2, {3, 1.5}, 0, 1},
    {"skew_normal", 3, {0.3, 2, 4}, 1, 2},
    {"skew_normal", 3, {0.3, 2, -0.6}, 0, 2},
    {"skew_double_exponential", 3, {1, 2, 0.3}, 1, 2},
    {"exp_mod_normal", 3, {1, 0.5, 0.8}, 1, 1},
    {"exp_mod_normal", 3, {1, 2, 5}, 1, 2},
    {"wiener", 4, {2, 0.2, 0.5, 0.3}, 0, 1},
    {"wiener", 4, {1.5, 0.05, 0.9, -2}, 0, 0.5},
    {"wiener", 4, {0.8, 0.1, 0.3, 6}, 0, 0.3},
    {"weibull", 2, {0.7, 2}, 0, 1},
    {"weibull", 2, {3, 2}, 0, 2},
    {"frechet", 2, {1.5, 2}, 0, 2},
    {"rayleigh", 1, {2}, 0, 2},
    {"loglogistic", 2, {2, 1.5}, 0, 2},
    {"pareto", 2, {0.5, 1.5}, 0, 1},
    {"pareto_type_2", 3, {-1, 2, 1.5}, 0, 1},
    {"chi_square", 1, {3.5}, 0, 3},
    {"inv_chi_square", 1, {3.5}, 0, 0.3},
    {"scaled_inv_chi_square", 2, {3.5, 2}, 0, 4},
    {"beta_proportion", 2, {0.3, 5}, 0, 0},
    {"normal", 4, {0.5, 2, 1, 3}, 0, 0},
    {"normal", 4, {0, 1, 6, 40}, 0, 0},
    {"normal", 3, {0.5, 2, -1}, 0, 2},
    {"normal", 4, {0.5, 2, -INFINITY, -1}, 0, 2},
    {"gamma", 4, {2.5, 2, 0.5, 3}, 0, 0},
    {"gamma", 3, {0.7, 2, 4}, 0, 0.5},
    {"student_t", 5, {3, 0, 1, -2, 5}, 0, 0},
    {"beta", 4, {2, 3, 0.2, 0.6}, 0, 0},
    {"cauchy", 4, {0, 1, -1, 4}, 0, 0},
    {"weibull", 4, {1.5, 2, 1, 3}, 0, 0},
    {"pareto", 4, {0.5, 1.5, 1, 3}, 0, 0},
    {"pareto_type_2", 5, {-1, 2, 1.5, 0, 3}, 0, 0},
    {"lognormal", 4, {0.3, 0.8, 1, 3}, 0, 0},
    {"inv_gamma", 4, {3, 2, 0.5, 3}, 0, 0},
    {"uniform_continuous", 4, {-2, 4.5, -1, 3}, 0, 0},
    {"loglogistic", 4, {2, 1.5, 1, 3}, 0, 0},
    {"half_normal", 3, {1.5, 1, 3}, 0, 0},
    {"exp_mod_normal", 5, {1, 0.5, 0.8, 0, 3}, 0, 0},
    {"skew_double_exponential", 5, {1, 2, 0.3, 0, 3}, 0, 0},
    {"flip", 1, {0.3}, 0, 0},
    {"flip", 0, {0}, 0, 0},
    {"bernoulli_logit", 1, {0.8}, 0, 0},
    {"bernoulli", 1, {0.8}, 0, 0},
    {"bernoulli", 0, {0}, 0, 0},
    {"log_flip", 1, {-1.5}, 0, 0},
    {"log_odds_flip", 1, {0.8}, 0, 0},
    {"binomial", 2, {4, 0.3}, 0, 0},
    {"binomial", 2, {60, 0.45}, 0, 0},
    {"binomial", 2, {200, 0.9}, 0, 0},
    {"binomial", 2, {1000, 0.002}, 0, 0},
    {"poisson", 1, {3.5}, 0, 0},
    {"poisson", 1, {40}, 0, 0},
    {"geometric", 1, {0.2}, 0, 0},
    {"negative_binomial", 2, {2.5, 0.3}, 0, 0},
    {"uniform_discrete", 2, {-2, 5}, 0, 0},
    {"binomial_logit", 2, {60, 0.4}, 0, 0},
    {"beta_binomial", 3, {12, 2, 1.5}, 0, 0},
    {"hypergeometric", 3, {12, 20, 15}, 0, 0},
    {"hypergeometric", 3, {300, 200, 500}, 0, 0},
    {"poisson_log", 1, {1.2}, 0, 0},
    {"neg_binomial", 2, {2.5, 0.6}, 0, 0},
    {"neg_binomial_2", 2, {4, 2.5}, 0, 0},
    {"neg_binomial_2_log", 2, {1.5, 2.5}, 0, 0},
    {"beta_neg_binomial", 3, {2, 12, 3}, 0, 0},
    {"poisson", 3, {3.5, 2, 7}, 0, 0},
    {"poisson", 2, {3.5, 12}, 0, 0},
    {"binomial", 4, {60, 0.45, 20, 25}, 0, 0},
    {"neg_binomial_2", 4, {4, 2.5, 1, 9}, 0, 0},
};

/* Vector and object-valued rows have their own tests. */
static const char *const elsewhere[] = {
    "categorical",  "log_categorical",  "uniform_categorical", "exactly",
    "permute",      "ordered_logistic", "ordered_probit",      "flat",
    "flat_positive"};

static bool listed(const char *name) {
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        if (!strcmp(cases[i].name, name)) return true;
    for (size_t i = 0; i < COUNT_OF(elsewhere); i++)
        if (!strcmp(elsewhere[i], name)) return true;
    return false;
}

static void every_random_row_has_a_case(void **state) {
    for (size_t i = 0; i < sp_index_count(); i++) {
        const struct sp_class *cls = sp_index_at(i);
        if (!(cls->flags & SP_RANDOM) || cls->flags & (SP_MAKER | SP_VECTOR | SP_HIDDEN) ||
            listed(cls->name))
            continue;
        fail_msg("random procedure %s is not in this test", cls->name);
    }
}

/* ---- continuous: x(t) runs through the support for t in [-TOP, TOP] at double-exponential speed,
 * so that heavy tails and integrable singularities at the ends are reached. */
#define TOP 4.0
enum { PANELS = 4000, BINS = 40, DRAWS = 20000 };

/* Draws between bounds take as long as many without. */
static int draws_of(const struct call *k) {
    return k->c.cls->num_args && k->c.n > k->c.cls->num_args ? DRAWS / 10 : DRAWS;
}

static double map_x(const struct dist_case *d, struct sp_support s, double t, double *dx) {
    double u = 0.5 * M_PI * sinh(t), du = 0.5 * M_PI * cosh(t);
    bool low = isfinite(s.lo), high = isfinite(s.hi);
    if (low && high) {
        double w = s.hi - s.lo, sech = 1 / cosh(u);
        *dx = 0.5 * w * sech * sech * du;
        return u < 0 ? s.lo + w / (1 + exp(-2 * u)) : s.hi - w / (1 + exp(2 * u));
    }
    if (low || high) {
        double e = d->scale * exp(low ? u : -u);
        *dx = e * du;
        return low ? s.lo + e : s.hi - e;
    }
    *dx = d->scale * cosh(u) * du;
    return d->centre + d->scale * sinh(u);
}

/* Probability of one panel, by three Gauss-Legendre points. */
static double panel(const struct dist_case *d, struct call *k, struct sp_support s, double t0,
                    double h) {
    static const double at[] = {-0.7745966692414834, 0, 0.7745966692414834};
    static const double w[] = {5.0 / 9, 8.0 / 9, 5.0 / 9};
    double sum = 0, dx;
    for (int i = 0; i < 3; i++) {
        double x = map_x(d, s, t0 + 0.5 * h * (1 + at[i]), &dx);
        double p = exp(call_lp(k, value_num(x)));
        if (isfinite(p) && isfinite(dx) && p > 0) sum += 0.5 * h * w[i] * p * dx;
    }
    return sum;
}

static void check_continuous(const struct dist_case *d, size_t seed) {
    struct call k;
    struct sp_support s;
    start(&k, d->name, d->args, d->n, seed);
    assert_int_equal(k.c.cls->support(&k.c, &s), GPM_OK);
    double edge[BINS + 1], prob[BINS] = {0}, count[BINS] = {0}, total = 0, dx;
    double h = 2 * TOP / PANELS;
    size_t bin = 0;
    for (int i = 0; i < PANELS; i++) {
        double p = panel(d, &k, s, -TOP + i * h, h);
        total += p;
        prob[bin] += p;
        if (bin < BINS - 1 && total > (double)(bin + 1) / BINS)
            edge[++bin] = map_x(d, s, -TOP + (i + 1) * h, &dx);
    }
    if (fabs(total - 1) > 2e-6) fail_msg("%s: the density integrates to %.12g", d->name, total);
    for (int i = 0; i < draws_of(&k); i++) {
        double x = as_double(call_draw(&k));
        assert_true(call_lp(&k, value_num(x)) > -INFINITY);
        size_t b = 0;
        while (b < bin && x > edge[b + 1]) b++;
        count[b]++;
    }
    double p = chi2_p(count, prob, bin + 1, draws_of(&k));
    if (p < P_VALUE_MIN) print_error("%s(%g, %g)\n", d->name, d->args[0], d->args[1]);
    assert_p_value(p, seed);
    call_release(&k);
}

/* ---- discrete: enumerate, or count up until the tail is nothing */
static void check_discrete(const struct dist_case *d, size_t seed) {
    enum { CELLS = 2000 };
    static double prob[CELLS], count[CELLS];
    struct call k;
    start(&k, d->name, d->args, d->n, seed);
    memset(prob, 0, sizeof prob);
    memset(count, 0, sizeof count);
    double total = 0, lowest = 0;
    if (k.c.cls->enumerate) {
        value *vals;
        size_t n;
        assert_int_equal(k.c.cls->enumerate(&k.c, &vals, &n), GPM_OK);
        for (size_t i = 0; i < n; i++) lowest = fmin(lowest, as_double(vals[i]));
        for (size_t i = 0; i < n; i++) {
            double p = exp(call_lp(&k, vals[i]));
            prob[(size_t)(as_double(vals[i]) - lowest)] += p;
            total += p;
        }
        values_free(vals, n);
    } else
        for (size_t i = 0; i < CELLS; i++)
            total += prob[i] = exp(call_lp(&k, value_num((double)i)));
    if (fabs(total - 1) > 1e-11) fail_msg("%s: the density sums to %.15g", d->name, total);
    for (int i = 0; i < draws_of(&k); i++) {
        value v = call_draw(&k);
        assert_int_equal(v.tag, strstr(d->name, "flip") ? V_BOOL : V_NUM);
        count[(size_t)(as_double(v) - lowest)]++;
    }
    double p = chi2_p(count, prob, CELLS, draws_of(&k));
    if (p < P_VALUE_MIN) print_error("%s(%g, %g)\n", d->name, d->args[0], d->args[1]);
    assert_p_value(p, seed);
    assert_true(call_lp(&k, value_num(0.5)) == -INFINITY);
    call_release(&k);
}

static void densities_are_normalised_and_sampled(void **state) {
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const struct sp_class *cls = sp_index_find(cases[i].name);
        assert_non_null(cls);
        if (cls->flags & SP_DISCRETE)
            check_discrete(&cases[i], 100 + i);
        else
            check_continuous(&cases[i], 100 + i);
    }
}

/* ---- gradients */
static double grad_of(value v) {
    assert_true(v.tag == V_NIL || v.tag == V_NUM);
    return v.tag == V_NUM ? v.u.num : 0;
}

/* Parameters that are whole numbers, as the bounds of whole numbers are. */
static bool counts(const struct sp_class *cls, const struct sp_sig *sig, size_t i) {
    static const char *const whole[] = {"n", "draws", "good", "bad", "low", "high"};
    if (!(cls->flags & SP_DISCRETE)) return false;
    for (size_t k = 0; k < COUNT_OF(whole); k++)
        if (!strcmp(sig->params[i].name, whole[k])) return true;
    return cls->num_args && i >= cls->num_args;
}

static void check_grad(const struct dist_case *d, struct call *k, double x) {
    const struct sp_class *cls = k->c.cls;
    value dv = NIL, dargs[CALL_ARGS] = {{0}};
    assert_int_equal(cls->grad_density(&k->c, value_for(cls, x), &dv, dargs), GPM_OK);
    struct sp_sig sig;
    sp_sig_parse(cls->sig, &sig);
    for (size_t j = 0; j <= d->n; j++) {
        if (j == 0 && cls->flags & SP_DISCRETE) continue;
        if (j && (counts(cls, &sig, j - 1) || isinf(d->args[j - 1]))) continue;
        double at = j ? d->args[j - 1] : x, h = at == 0 ? 1e-6 : 1e-5 * fabs(at), lp[2];
        for (int side = 0; side < 2; side++) {
            double moved = at + (side ? h : -h);
            if (j) k->args[j - 1] = value_num(moved);
            lp[side] = call_lp(k, j ? value_for(cls, x) : value_num(moved));
            if (j) k->args[j - 1] = value_num(at);
        }
        double diff = (lp[1] - lp[0]) / (2 * h), got = grad_of(j ? dargs[j - 1] : dv);
        if (!(fabs(diff - got) <= 2e-5 * fmax(1, fmax(fabs(diff), fabs(got)))))
            fail_msg("%s at %g, coordinate %zu: gradient %.12g, difference %.12g", d->name, x, j,
                     got, diff);
    }
}

static void gradients_agree_with_differences(void **state) {
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct call k;
        start(&k, cases[i].name, cases[i].args, cases[i].n, 7 + i);
        assert_non_null(k.c.cls->grad_density);
        for (int rep = 0; rep < 10; rep++) {
            double x = as_double(call_draw(&k));
            if (!strncmp(cases[i].name, "beta", 4) && !(k.c.cls->flags & SP_DISCRETE))
                x = fmin(fmax(x, 1e-3), 1 - 1e-3);
            check_grad(&cases[i], &k, x);
        }
        call_release(&k);
    }
}

/* ---- bounds: whatever the coordinates that vary do, the density stays below; with the value alone
 * varying the bound is nearly reached */
static void check_bound(const struct dist_case *d, struct call *k, uint64_t varies, double x) {
    double bound, best = -INFINITY;
    enum gpm_status st = k->c.cls->log_bound(&k->c, value_for(k->c.cls, x), varies, &bound);
    if (st == GPM_E_NOT_FOUND) return;
    assert_int_equal(st, GPM_OK);
    for (int rep = 0; rep < 400; rep++) {
        double y = varies & 1 ? as_double(call_draw(k)) : x;
        value kept[CALL_ARGS];
        memcpy(kept, k->args, sizeof kept);
        for (size_t j = 0; j < d->n; j++)
            if (varies >> (j + 1) & 1) k->args[j].u.num *= exp(2 * rng_normal(&k->rng));
        double lp;
        enum gpm_status there = k->c.cls->log_density(&k->c, value_for(k->c.cls, y), &lp);
        memcpy(k->args, kept, sizeof kept);
        if (there != GPM_OK) continue; /* no such parameters */
        if (lp > bound + 1e-9) fail_msg("%s: density %g above its bound %g", d->name, lp, bound);
        if (lp > best) best = lp;
    }
    if (varies == 0) assert_close(bound, best, 1e-12);
    bool continuous = !(k->c.cls->flags & SP_DISCRETE);
    if (varies == 1 && continuous && best < bound - 0.2) fail_msg("%s: loose bound", d->name);
}

static void bounds_hold(void **state) {
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct call k;
        start(&k, cases[i].name, cases[i].args, cases[i].n, 7 + i);
        /* a row may do without: rejection then asks for a bound */
        for (uint64_t varies = 0; k.c.cls->log_bound && varies < (2u << cases[i].n); varies++)
            for (int rep = 0; rep < 3; rep++)
                check_bound(&cases[i], &k, varies, as_double(call_draw(&k)));
        call_release(&k);
    }
}

/* The cases that the language guide names. */
static void normal_bound_from_sd_or_distance(void **state) {
    struct call k;
    double b;
    start(&k, "normal", (double[]){1, 2}, 2, 1);
    assert_int_equal(k.c.cls->log_bound(&k.c, value_num(4), 2, &b), GPM_OK); /* mean */
    assert_close(b, -log(2) - LOG_SQRT_2PI, 1e-14);
    assert_int_equal(k.c.cls->log_bound(&k.c, value_num(4), 4, &b), GPM_OK); /* sd: |x - mu| = 3 */
    assert_close(b, -log(3) - LOG_SQRT_2PI - 0.5, 1e-14);
    assert_int_equal(k.c.cls->log_bound(&k.c, value_num(4), 6, &b), GPM_E_NOT_FOUND);
    assert_int_equal(k.c.cls->log_bound(&k.c, value_num(1), 4, &b), GPM_E_NOT_FOUND);
    call_release(&k);
}

/* ---- domains */
static const struct {
    const char *name;
    size_t n;
    double args[4];
} bad[] = {
    {"bernoulli", 1, {1.5}},
    {"flip", 1, {-0.1}},
    {"gamma", 2, {-1, 2}},
    {"gamma", 2, {1, 0}},
    {"inv_gamma", 2, {0, 1}},
    {"expon", 1, {0}},
    {"beta", 2, {1, -1}},
    {"normal", 2, {0, 0}},
    {"normal", 2, {0, -1}},
    {"uniform_continuous", 2, {2, 2}},
    {"uniform_continuous", 2, {3, 2}},
    {"uniform_discrete", 2, {3, 3}},
    {"uniform_discrete", 2, {4, 3}},
    {"uniform_discrete", 2, {0.5, 3}},
    {"student_t", 1, {0}},
    {"student_t", 3, {1, 0, 0}},
    {"laplace", 2, {0, 0}},
    {"lognormal", 2, {0, -2}},
    {"vonmises", 2, {0, -1}},
    {"log_flip", 1, {0.1}},
    {"binomial", 2, {-1, 0.5}},
    {"binomial", 2, {2.5, 0.5}},
    {"binomial", 2, {3, 1.5}},
    {"poisson", 1, {-1}},
    {"geometric", 1, {0}},
    {"negative_binomial", 2, {0, 0.5}},
    {"cauchy", 2, {0, 0}},
    {"half_normal", 1, {-1}},
    {"half_student_t", 2, {0, 1}},
    {"skew_normal", 3, {0, 0, 1}},
    {"skew_double_exponential", 3, {0, 1, 1}},
    {"exp_mod_normal", 3, {0, 1, 0}},
    {"wiener", 4, {0, 0, 0.5, 1}},
    {"wiener", 4, {1, 0, 1, 1}},
    {"wiener", 4, {1, -1, 0.5, 1}},
    {"weibull", 2, {0, 1}},
    {"frechet", 2, {1, 0}},
    {"rayleigh", 1, {0}},
    {"loglogistic", 2, {1, 0}},
    {"pareto", 2, {0, 1}},
    {"pareto_type_2", 3, {0, 0, 1}},
    {"scaled_inv_chi_square", 2, {1, 0}},
    {"beta_proportion", 2, {0, 1}},
    {"beta_binomial", 3, {2, 0, 1}},
    {"hypergeometric", 3, {5, 2, 2}},
    {"neg_binomial_2", 2, {1, 0}},
    {"neg_binomial_2_log", 2, {1, 0}},
    {"beta_neg_binomial", 3, {0, 1, 1}},
};

/* Bounds that leave nothing, and bounds beyond the doubles' tails, where there is nothing to say.
 */
static const struct {
    const char *name;
    size_t n;
    double args[4];
} nothing_between[] = {
    {"normal", 4, {0, 1, 2, 1}},         {"normal", 4, {0, 1, 1, 1}},
    {"gamma", 4, {1, 1, -2, -1}},        {"poisson", 4, {1, 0.2, 0.8}},
    {"normal", 4, {0, 1, 1e200, 2e200}},
};

static void bounds_with_nothing_between_are_errors(void **state) {
    for (size_t i = 0; i < COUNT_OF(nothing_between); i++) {
        struct call k;
        value v;
        double lp;
        size_t n = nothing_between[i].n - (i == 3);
        start(&k, nothing_between[i].name, nothing_between[i].args, n, 1);
        assert_int_equal(k.c.cls->simulate(&k.c, &v), GPM_E_USER);
        assert_non_null(strstr(k.diags.list.at[0]->message, "no probability between"));
        assert_int_equal(k.c.cls->log_density(&k.c, value_num(1), &lp), GPM_E_USER);
        call_release(&k);
    }
}

static void bad_parameters_are_domain_errors(void **state) {
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        struct call k;
        value v;
        double lp;
        struct sp_sig sig;
        start(&k, bad[i].name, bad[i].args, bad[i].n, 1);
        sp_sig_parse(k.c.cls->sig, &sig);
        enum gpm_status st = sp_check_args(&k.c, &sig);
        if (st == GPM_OK) st = k.c.cls->simulate(&k.c, &v);
        if (st != GPM_E_USER) fail_msg("%s(%g, ...) was accepted", bad[i].name, bad[i].args[0]);
        assert_int_equal(k.diags.list.at[0]->code, DIAG_DOMAIN);
        /* also when a proposal brings the parameters and nobody has checked them */
        assert_int_equal(k.c.cls->log_density(&k.c, value_num(1), &lp), GPM_E_USER);
        assert_true(isnan(k.c.cls->num_log_density(1, bad[i].args, bad[i].n)));
        assert_true(isnan(k.c.cls->num_sample(&k.rng, bad[i].args, bad[i].n)));
        call_release(&k);
    }
}

static void outside_the_support_is_minus_infinity(void **state) {
    static const struct {
        const char *name;
        size_t n;
        double args[2], x;
    } out[] = {{"uniform_discrete", 2, {2, 5}, 5},
               {"uniform_continuous", 2, {0, 4}, -1},
               {"gamma", 2, {2, 4}, -1},
               {"gamma", 2, {2, 4}, 0},
               {"beta", 2, {2, 5}, 1.5},
               {"beta", 2, {2, 5}, 0},
               {"binomial", 2, {5, 0.25}, 6},
               {"binomial", 2, {5, 0.25}, 2.5},
               {"expon", 1, {1}, -0.5},
               {"lognormal", 2, {0, 1}, 0},
               {"inv_gamma", 2, {1, 1}, 0},
               {"poisson", 1, {3}, -1},
               {"log_beta", 2, {1, 1}, 0.1},
               {"normal", 2, {0, 1}, INFINITY},
               {"gamma", 2, {2, 4}, INFINITY},
               {"bernoulli", 1, {0.5}, 2}};
    for (size_t i = 0; i < COUNT_OF(out); i++) {
        struct call k;
        start(&k, out[i].name, out[i].args, out[i].n, 1);
        assert_true(call_lp(&k, value_num(out[i].x)) == -INFINITY);
        call_release(&k);
    }
}

static void wrong_types_are_errors(void **state) {
    struct call k;
    double lp;
    start(&k, "normal", (double[]){0, 1}, 2, 1);
    value s = value_cstr("abc");
    assert_int_equal(k.c.cls->log_density(&k.c, s, &lp), GPM_E_USER);
    assert_int_equal(k.diags.list.at[0]->code, DIAG_TYPE);
    value_unref(s);
    call_release(&k);
}

/* ---- improper: density 1 between the bounds, starts inside them */
static void flat_is_one_between_its_bounds(void **state) {
    static const struct {
        size_t n;
        double args[2], inside, outside;
    } flats[] = {{0, {0}, 1e300, INFINITY},
                 {1, {2}, 2.5, 1.5},
                 {2, {-INFINITY, 3}, -1e10, 3.5},
                 {2, {-1, 3}, 0, 4}};
    for (size_t i = 0; i < COUNT_OF(flats); i++) {
        struct call k;
        start(&k, "flat", flats[i].args, flats[i].n, 8);
        assert_true(k.c.cls->flags & SP_IMPROPER);
        assert_true(call_lp(&k, value_num(flats[i].inside)) == 0);
        assert_true(call_lp(&k, value_num(flats[i].outside)) == -INFINITY);
        for (int rep = 0; rep < 100; rep++) assert_true(call_lp(&k, call_draw(&k)) == 0);
        call_release(&k);
    }
    struct call k;
    value args[] = {value_num(0), value_num(1), value_num(3)}, v;
    call_init(&k, "flat", args, 3, 8);
    v = call_draw(&k);
    assert_true(v.tag == V_VECTOR && v.u.vector->n == 3 && call_lp(&k, v) == 0);
    value_unref(v);
    double lp;
    assert_int_equal(k.c.cls->log_density(&k.c, value_num(0.5), &lp), GPM_E_USER);
    call_release(&k);
    start(&k, "flat", (double[]){2, 1}, 2, 8);
    assert_int_equal(k.c.cls->simulate(&k.c, &v), GPM_E_USER);
    call_release(&k);
}

/* ---- columns: what compiled steps run instead of one element after the other */
static void check_columns(const struct dist_case *d, const struct sp_class *cls, bool shared) {
    enum { N = 300 };
    static double at[6][N], adj[6][N];
    struct sp_col col[6];
    struct rng r;
    double want[6][N] = {{0}}, sum = 0;
    rng_init(&r, 9, 0, 0);
    memset(adj, 0, sizeof adj);
    for (size_t j = 0; j <= d->n; j++) {
        for (size_t i = 0; i < N; i++) /* parameters near those of the case */
            at[j][i] = j ? d->args[j - 1] + (shared ? 0 : 0.1 * rng_uniform(&r)) : 0;
        col[j] = (struct sp_col){at[j], j && shared ? 0 : 1, adj[j]};
    }
    for (size_t i = 0; i < N; i++) {
        double a[5], g[6] = {0};
        for (size_t j = 0; j < d->n; j++) a[j] = at[j + 1][i * col[j + 1].step];
        at[0][i] = cls->num_sample(&r, a, d->n);
        sum += cls->num_log_density(at[0][i], a, d->n);
        cls->num_grad(at[0][i], a, d->n, g);
        for (size_t j = 0; j <= d->n; j++) want[j][i * col[j].step] += g[j];
    }
    assert_close(cls->cols(N, col, d->n), sum, 1e-12 * fabs(sum));
    for (size_t j = (cls->flags & SP_DISCRETE) != 0; j <= d->n; j++)
        for (size_t i = 0; i < (col[j].step ? N : 1); i++)
            assert_close(adj[j][i], want[j][i], 1e-10 * fmax(1, fabs(want[j][i])));
    at[0][0] = 0.5; /* no value of a discrete one: NaN, or -inf, and the slow path judges */
    if (cls->flags & SP_DISCRETE) assert_false(isfinite(cls->cols(N, col, d->n)));
}

static void columns_agree_with_elements(void **state) {
    size_t seen = 0;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const struct sp_class *cls = sp_index_find(cases[i].name);
        if (!cls->cols || (cls->num_args && cases[i].n > cls->num_args)) continue;
        check_columns(&cases[i], cls, false);
        check_columns(&cases[i], cls, true);
        seen++;
    }
    assert_true(seen >= 3);
}

/* ---- sequences: densities and gradients are those of the elements, added up */
static void check_sequence(const struct dist_case *d, bool vectors) {
    enum { N = 3 };
    struct call one, k;
    double lp = 0, want[CALL_ARGS + 1][N], x[N];
    value args[CALL_ARGS], dv, dargs[CALL_ARGS] = {{0}}, part[CALL_ARGS];
    start(&one, d->name, d->args, d->n, 3);
    bool coin = call_draw(&one).tag == V_BOOL;
    for (size_t i = 0; i < N; i++) { /* the first argument is a sequence, the others stay numbers */
        one.args[0] = value_num(d->args[0] * (d->n > 2 || i == 0 ? 1 : 1 + 0.001 * (double)i));
        if (one.c.cls->flags & SP_DISCRETE) one.args[0] = value_num(d->args[0]);
        value v = call_draw(&one);
        x[i] = as_double(v);
        lp += call_lp(&one, v);
        assert_int_equal(one.c.cls->grad_density(&one.c, v, &dv, part), GPM_OK);
        want[0][i] = grad_of(dv);
        for (size_t j = 0; j < d->n; j++) want[1 + j][i] = grad_of(part[j]);
        if (i == 0) args[0] = vectors ? value_vector_new(N) : value_array_new(N);
        if (vectors)
            args[0].u.vector->at[i] = one.args[0].u.num;
        else
            args[0].u.array->at[i] = one.args[0];
    }
    for (size_t j = 1; j < d->n; j++) args[j] = value_num(d->args[j]);
    call_init(&k, d->name, args, d->n, 4);
    value v = call_draw(&k), xs = value_vector(x, N);
    size_t n;
    assert_true(seq_length(v, &n) && n == N);
    assert_int_equal(v.tag, vectors && !coin ? V_VECTOR : V_ARRAY);
    value_unref(v);
    assert_close(call_lp(&k, xs), lp, 1e-12 * fmax(1, fabs(lp)));
    assert_int_equal(k.c.cls->grad_density(&k.c, xs, &dv, dargs), GPM_OK);
    for (size_t i = 0; i < N; i++) {
        if (!(k.c.cls->flags & SP_DISCRETE)) assert_close(dv.u.vector->at[i], want[0][i], 1e-12);
        assert_close(dargs[0].u.vector->at[i], want[1][i], 1e-12 * fmax(1, fabs(want[1][i])));
    }
    for (size_t j = 1; j < d->n; j++) {
        double sum = want[1 + j][0] + want[1 + j][1] + want[1 + j][2];
        assert_close(grad_of(dargs[j]), sum, 1e-12 * fmax(1, fabs(sum)));
    }
    value_unref(dv), value_unref(dargs[0]), value_unref(xs);
    call_release(&k);
    call_release(&one);
}

static void every_row_takes_sequences(void **state) {
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const struct sp_class *cls = sp_index_find(cases[i].name);
        assert_true(cls->flags & SP_LIFTS);
        if (cases[i].n == 0) continue;
        check_sequence(&cases[i], false);
        check_sequence(&cases[i], true);
    }
}

static void sequences_of_other_lengths_are_errors(void **state) {
    struct call k;
    value v;
    double lp, xs[] = {1, 2, 3};
    value args[] = {value_vector(xs, 3), value_vector(xs, 2)};
    call_init(&k, "gamma", args, 2, 5);
    assert_int_equal(k.c.cls->simulate(&k.c, &v), GPM_E_USER);
    assert_int_equal(k.diags.list.at[0]->code, DIAG_SHAPE);
    assert_non_null(strstr(k.diags.list.at[0]->message, "shape has 3 elements but rate has 2"));
    call_release(&k);
    value few[] = {value_vector(xs, 3), value_num(1)};
    call_init(&k, "gamma", few, 2, 5);
    v = value_vector(xs, 2);
    assert_int_equal(k.c.cls->log_density(&k.c, v, &lp), GPM_E_USER);
    assert_int_equal(k.diags.list.at[0]->code, DIAG_SHAPE);
    assert_int_equal(k.c.cls->log_density(&k.c, value_num(1), &lp), GPM_E_USER);
    value_unref(v);
    call_release(&k);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(log_densities_agree_with_scipy),
        cmocka_unit_test(every_random_row_has_a_case),
        cmocka_unit_test(densities_are_normalised_and_sampled),
        cmocka_unit_test(gradients_agree_with_differences),
        cmocka_unit_test(bounds_hold),
        cmocka_unit_test(normal_bound_from_sd_or_distance),
        cmocka_unit_test(bad_parameters_are_domain_errors),
        cmocka_unit_test(bounds_with_nothing_between_are_errors),
        cmocka_unit_test(outside_the_support_is_minus_infinity),
        cmocka_unit_test(wrong_types_are_errors),
        cmocka_unit_test(flat_is_one_between_its_bounds),
        cmocka_unit_test(columns_agree_with_elements),
        cmocka_unit_test(every_row_takes_sequences),
        cmocka_unit_test(sequences_of_other_lengths_are_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
