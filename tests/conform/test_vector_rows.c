/* SPDX-License-Identifier: Apache-2.0
 *
 * Random procedures on vectors, matrices and objects: densities against scipy and by quadrature,
 * samplers against known distributions of functions of the draw, gradients against differences,
 * choices and permutations against their probabilities.
 */
#include "support/call.h"
#include "support/spcall.h"

#define COV "m[[2, 0.5, 0.3], [0.5, 1, -0.2], [0.3, -0.2, 1.5]]"

#define FACTOR "m[[1.4, 0, 0], [0.5, 1, 0], [0.3, -0.2, 1.5]]"
#define LOWER  "m[[1.2, 0, 0], [-0.4, 0.8, 0], [0.1, 0.3, 1.1]]"
#define CORR   "m[[1, 0.3, -0.2], [0.3, 1, 0.4], [-0.2, 0.4, 1]]"
#define CORR_FACTOR                                                                                \
    "m[[1, 0, 0], [0.3, 0.9539392014169457, 0], [-0.2, 0.4822110248920824, 0.8529200006287386]]"

static struct call_env env;

static int setup(void **state) {
    call_env_init(&env);
    return 0;
}

static int teardown(void **state) {
    call_env_release(&env);
    return 0;
}

static void start(struct call *k, const char *name, const char *args, uint64_t seed) {
    call_start(k, &env, name, args, seed);
}

static value text_value(const char *text) {
    value v;
    assert_int_equal(read_values(&env, text, &v, 1), 1);
    return v;
}

/* name, arguments, value, log density (scipy.stats 1.10, or by hand for the choices) */
static const struct {
    const char *name, *args, *value;
    double expect;
} rows[] = {
    {"multivariate_normal", "[1, 2, -1], " COV, "[0.3, 2.2, 0]", -3.9426930188032867},
    {"wishart", COV ", 5.5", "m[[3, 0.4, 0.1], [0.4, 2, 0.6], [0.1, 0.6, 4]]", -11.600957149228915},
    {"inv_wishart", COV ", 5.5", "m[[3, 0.4, 0.1], [0.4, 2, 0.6], [0.1, 0.6, 4]]",
     -21.0872889751319},
    {"multivariate_normal", "m[[1, 2, -1], [0, 0, 0.5]], " COV, "m[[0.3, 2.2, 0], [1, -1, 2]]",
     -8.613757645122229},
    {"multivariate_normal_cholesky", "[1, 2, -1], " FACTOR, "[0.3, 2.2, 0]", -4.0666918332322854},
    {"multivariate_normal_precision", "[1, 2, -1], " COV, "[0.3, 2.2, 0]", -3.260123984182579},
    {"multivariate_student_t", "3.5, [1, 2, -1], " COV, "[0.3, 2.2, 0]", -4.170862785109971},
    {"multivariate_student_t_cholesky", "3.5, [1, 2, -1], " FACTOR, "[0.3, 2.2, 0]",
     -4.231427001078368},
    {"wishart_cholesky", FACTOR ", 5.5", LOWER, -11.044425232858295},
    {"inv_wishart_cholesky", FACTOR ", 5.5", LOWER, -5.384276398620337},
    {"wishart_cholesky", FACTOR ", 5.5", COV, -INFINITY},
    {"lkj_corr", "3, 2.5", CORR, -0.9117122596805087}, /* constant: equation 16 of the paper */
    {"lkj_corr", "3, 2.5", COV, -INFINITY},
    {"lkj_corr", "2, 1", "m[[1, 1.5], [1.5, 1]]", -INFINITY},
    {"lkj_corr_cholesky", "3, 2.5", CORR_FACTOR, -0.9588675994161294},
    {"lkj_corr_cholesky", "3, 2.5", LOWER, -INFINITY},
    {"flat_simplex", "3", "[0.1, 0.3, 0.6]", 0.6931471805599453},
    {"zero_sum_normal", "3, 2", "[1, 0.5, -1.5]", -3.112365283195181}, /* by the covariance */
    {"zero_sum_normal", "3, 2", "[1, 0.5, 2]", -INFINITY},
    {"flat_zero_sum", "3", "[1, 0.5, -1.5]", 0},
    {"flat_ordered", "3", "[-1, 0.5, 2]", 0},
    {"flat_ordered", "3", "[-1, 2, 0.5]", -INFINITY},
    {"flat_positive_ordered", "3", "[0.2, 0.5, 2]", 0},
    {"flat_positive_ordered", "3", "[-1, 0.5, 2]", -INFINITY},
    {"flat_cov", "3", COV, 0},
    {"flat_cov", "2", "m[[1, 1.5], [1.5, 1]]", -INFINITY},
    {"flat_cov_cholesky", "3", LOWER, 0},
    {"flat_cov_cholesky", "3", COV, -INFINITY},
    {"flat_corr", "3", CORR, -1.5963125911388550},                 /* their volume is pi^2 / 2 */
    {"flat_corr_cholesky", "3", CORR_FACTOR, -1.8378770664093453}, /* 2 pi */
    {"flat_unit_vector", "3", "[0, 0.6, -0.8]", -2.5310242469692907},
    {"flat_unit_vector", "3", "[0, 0.6, -0.7]", -INFINITY},
    {"ordered_draws", "3, normal, 1, 2", "[-1, 0.5, 2]", -3.7007476720657997},
    {"ordered_draws", "3, normal, 1, 2", "[-1, 2, 0.5]", -INFINITY},
    {"ordered_draws", "2, gamma, 2.5, 2", "[0.5, 2]", -1.4104826575861664},
    {"ordered_draws", "2, gamma, 2.5, 2", "[-0.5, 2]", -INFINITY},
    {"dirichlet", "[0.5, 2, 3.5]", "[0.1, 0.3, 0.6]", 1.6844088802663815},
    {"symmetric_dirichlet", "0.7, 4", "[0.1, 0.2, 0.3, 0.4]", 1.282919768349552},
    {"ordered_logistic", "[0.3, 1, -2], [-1, 0.5, 2]", "[0, 1, 3]", -6.912645835899336},
    {"ordered_probit", "[0.3, 1, -2], [-1, 0.5, 2]", "[0, 1, 3]", -13.947711842705662},
    {"ordered_logistic", "800, [-1, 0.5]", "1", -799.7524824589254},
    {"ordered_logistic", "0, [1]", "2", -INFINITY},
    {"multinomial", "10, [0.2, 0.7, 0.3]", "[2, 3, 5]", -4.299966065748153},
    {"multinomial", "10, [0.2, 0.7, 0.3]", "[2, 3, 4]", -INFINITY},
    {"categorical", "[1, 3]", "1", -0.2876820724517809},
    {"categorical", "v[0.2, 0.3, 0.5], [\"a\", \"b\", \"a\"]", "\"a\"", -0.35667494393873245},
    {"categorical", "[0.5, 0.5], [1, 2]", "7", -INFINITY},
    {"log_categorical", "[-1000, -1001]", "1", -1.3132616875182228},
    {"log_categorical", "[0, 0, 0], (5, 6, 5)", "5", -0.40546510810816444},
    {"uniform_categorical", "[1, 2, 1, 3]", "1", -0.6931471805599453},
    {"exactly", "[1, 2]", "[1, 2]", 0},
    {"exactly", "3", "4", -INFINITY},
    {"exactly", "3, -7", "4", -7},
    {"permute", "(1, 2, 3)", "(3, 1, 2)", -1.791759469228055},
    {"permute", "(1, 2, 1)", "(1, 1, 2)", -1.0986122886681098},
    {"permute", "(1, 2, 3)", "(3, 1, 1)", -INFINITY},
    {"permute", "(1, 2, 3)", "(3, 1)", -INFINITY},
};

static void log_densities_agree_with_references(void **state) {
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct call k;
        start(&k, rows[i].name, rows[i].args, 1);
        value v = text_value(rows[i].value);
        double lp = call_lp(&k, v);
        if (lp != rows[i].expect && fabs(lp - rows[i].expect) > 1e-12 * fmax(1, fabs(lp)))
            fail_msg("row %zu, %s: %.17g, expected %.17g", i, rows[i].name, lp, rows[i].expect);
        value_unref(v);
        call_release(&k);
    }
}

/* ---- normalisation by quadrature: two free coordinates */
static void two_dimensional_densities_integrate_to_one(void **state) {
    struct call k;
    double sum = 0, x[3], h = 0.05;
    start(&k, "multivariate_normal", "[1, -1], m[[2, 0.7], [0.7, 1]]", 1);
    for (x[0] = -11; x[0] < 13; x[0] += h)
        for (x[1] = -9; x[1] < 7; x[1] += h) {
            value v = value_vector(x, 2);
            sum += exp(call_lp(&k, v)) * h * h;
            value_unref(v);
        }
    assert_close(sum, 1, 1e-9);
    call_release(&k);
    /* midpoints on the triangle; alphas above 2, so that the edges are smooth */
    start(&k, "dirichlet", "[3, 4, 3.5]", 1);
    sum = 0, h = 1.0 / 400;
    for (x[0] = h / 2; x[0] < 1; x[0] += h)
        for (x[1] = h / 2; x[0] + x[1] < 1; x[1] += h) {
            x[2] = 1 - x[0] - x[1];
            value v = value_vector(x, 3);
            sum += exp(call_lp(&k, v)) * h * h;
            value_unref(v);
        }
    assert_close(sum, 1, 1e-4);
    call_release(&k);
}

/* 1 x 1 Wishart matrices are gamma and inverse gamma variables. */
static void small_wisharts_are_gammas(void **state) {
    static const char *const pairs[][3] = {{"wishart", "gamma", "2.5, 0.25"},
                                           {"inv_wishart", "inv_gamma", "2.5, 1"}};
    for (int i = 0; i < 2; i++) {
        struct call a, b;
        start(&a, pairs[i][0], "[[2]], 5", 1);
        start(&b, pairs[i][1], pairs[i][2], 1);
        for (double x = 0.1; x < 9; x += 0.7) {
            value m = value_matrix_new(1, 1);
            m.u.matrix->at[0] = x;
            assert_close(call_lp(&a, m), call_lp(&b, value_num(x)), 1e-13);
            value_unref(m);
        }
        call_release(&a);
        call_release(&b);
    }
}

/* ---- samplers: a function of the draw with a known distribution function */
enum { DRAWS = 20000, BINS = 40 };

static void uniform_bins(double (*to_unit)(struct call *, value), struct call *k, uint64_t seed) {
    double count[BINS] = {0}, prob[BINS];
    for (int i = 0; i < DRAWS; i++) {
        value v = call_draw(k);
        double u = to_unit(k, v);
        assert_true(u >= 0 && u <= 1);
        count[(int)fmin(BINS - 1, u * BINS)]++;
        value_unref(v);
    }
    for (int i = 0; i < BINS; i++) prob[i] = 1.0 / BINS;
    assert_p_value(chi2_p(count, prob, BINS, DRAWS), seed);
}

/* x'K^-1 x ~ chi-squared(3): from the density, -2 (lp - lp at the mean) */
static double mvn_distance(struct call *k, value v) {
    double d = -2 * (call_lp(k, v) - call_lp(k, k->args[0]));
    return gamma_p(1.5, fmax(0, 0.5 * d));
}
/* x0 + x1 ~ normal(3, sqrt(2 + 1 + 2 * 0.5)) */
static double mvn_sum(struct call *k, value v) {
    return norm_cdf((v.u.vector->at[0] + v.u.vector->at[1] - 3) / 2);
}
/* The first component of a Dirichlet is beta(alpha_1, rest). */
static double dir_first(struct call *k, value v) {
    assert_true(v.u.obj->flags & OBJ_SIMPLEX);
    return beta_inc(0.5, 5.5, v.u.vector->at[0]);
}
static double dir_last(struct call *k, value v) {
    return beta_inc(3.5, 2.5, v.u.vector->at[2]);
}
/* X_11 / V_11 ~ chi-squared(dof); V_11 = 2, V_33 = 1.5 */
static double wishart_first(struct call *k, value v) {
    return gamma_p(2.75, 0.5 * v.u.matrix->at[0] / 2);
}
static double wishart_last(struct call *k, value v) {
    return gamma_p(2.75, 0.5 * v.u.matrix->at[8] / 1.5);
}
/* A diagonal element of an inverse Wishart is inv_gamma((dof - p + 1) / 2, S_ii / 2). */
static double inv_wishart_second(struct call *k, value v) {
    return gamma_q(1.75, 0.5 * 1 / v.u.matrix->at[4]);
}

/* A diagonal element of its factor, squared: chi-squared(dof - 2) for the last of three (Bartlett),
 * the scale's last pivot being 1.5^2. */
static double wishart_factor_last(struct call *k, value v) {
    return gamma_p(1.75, 0.5 * pow(v.u.matrix->at[8] / 1.5, 2));
}
/* Every correlation r: (r + 1) / 2 ~ beta(eta - 1 + d/2, the same), whichever it is. */
static double lkj_first(struct call *k, value v) {
    return beta_inc(3.3, 3.3, (v.u.matrix->at[1] + 1) / 2);
}
static double lkj_last(struct call *k, value v) {
    return beta_inc(3.3, 3.3, (v.u.matrix->at[3 + 2 * 4] + 1) / 2);
}
/* The same of the factor: r of the last two rows is the product of these. */
static double lkj_factor_last(struct call *k, value v) {
    const double *l = v.u.matrix->at;
    double r = 0;
    for (int j = 0; j < 4; j++) r += l[3 + j * 4] * l[2 + j * 4];
    return beta_inc(3.3, 3.3, (r + 1) / 2);
}
/* The first row that is not alone is uniform on (-1, 1); the length of the next one's free part has
 * a uniform square. */
static double balls_second(struct call *k, value v) {
    return (v.u.matrix->at[1] + 1) / 2;
}
static double balls_third(struct call *k, value v) {
    return 1 - pow(v.u.matrix->at[8], 2);
}
/* Archimedes: a coordinate of the sphere is uniform. */
static double sphere_last(struct call *k, value v) {
    return (v.u.vector->at[2] + 1) / 2;
}
/* Its variance is sd^2 (1 - 1/n). */
static double zero_sum_last(struct call *k, value v) {
    return norm_cdf(v.u.vector->at[3] / (1.5 * sqrt(0.75)));
}
/* Order statistics of uniforms: the i-th of n is beta(i, n + 1 - i). */
static double second_of_four(struct call *k, value v) {
    return beta_inc(2, 3, norm_cdf((v.u.vector->at[1] - 1) / 2));
}
static double last_of_four(struct call *k, value v) {
    return beta_inc(4, 1, norm_cdf((v.u.vector->at[3] - 1) / 2));
}
/* Q / 3 ~ F(3, 4): with y = Q / (Q + 4), beta(1.5, 2) */
static double student_distance(struct call *k, value v) {
    double lp = call_lp(k, v) - call_lp(k, k->args[1]);
    return beta_inc(1.5, 2, -expm1(lp / 3.5));
}

static void draws_have_known_projections(void **state) {
    static const struct {
        const char *name, *args;
        double (*to_unit)(struct call *, value);
    } cases[] = {
        {"multivariate_normal", "[1, 2, -1], " COV, mvn_distance},
        {"multivariate_normal", "[1, 2, -1], " COV, mvn_sum},
        {"dirichlet", "[0.5, 2, 3.5]", dir_first},
        {"dirichlet", "[0.5, 2, 3.5]", dir_last},
        {"wishart", COV ", 5.5", wishart_first},
        {"wishart", COV ", 5.5", wishart_last},
        {"inv_wishart", COV ", 5.5", inv_wishart_second},
        {"multivariate_normal_cholesky", "[1, 2, -1], " FACTOR, mvn_distance},
        {"multivariate_normal_precision", "[1, 2, -1], " COV, mvn_distance},
        {"multivariate_student_t", "4, [1, 2, -1], " COV, student_distance},
        {"multivariate_student_t_cholesky", "4, [1, 2, -1], " FACTOR, student_distance},
        {"wishart_cholesky", FACTOR ", 5.5", wishart_factor_last},
        {"lkj_corr", "4, 2.3", lkj_first},
        {"lkj_corr", "4, 2.3", lkj_last},
        {"lkj_corr_cholesky", "4, 2.3", lkj_factor_last},
        {"flat_corr_cholesky", "3", balls_second},
        {"flat_corr_cholesky", "3", balls_third},
        {"flat_unit_vector", "3", sphere_last},
        {"zero_sum_normal", "4, 1.5", zero_sum_last},
        {"ordered_draws", "4, normal, 1, 2", second_of_four},
        {"ordered_draws", "4, normal, 1, 2", last_of_four},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct call k;
        start(&k, cases[i].name, cases[i].args, 300 + i);
        uniform_bins(cases[i].to_unit, &k, 300 + i);
        call_release(&k);
    }
}

/* Ordered categories, and one count of several, against their probabilities. */
static void categories_are_drawn_by_their_probabilities(void **state) {
    enum { CELLS = 13 };
    static const struct {
        const char *name, *args;
        size_t cells;
    } cases[] = {{"ordered_logistic", "0.7, [-1, 0.5, 2]", 4},
                 {"ordered_probit", "0.7, [-1, 0.5, 2]", 4},
                 {"multinomial", "12, [1, 2, 5]", CELLS}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct call k;
        double count[CELLS] = {0}, prob[CELLS], total = 0;
        start(&k, cases[i].name, cases[i].args, 50 + i);
        for (size_t j = 0; j < cases[i].cells; j++) {
            double x = (double)j; /* the first count is binomial(12, 1/8) */
            prob[j] = i < 2 ? exp(call_lp(&k, value_num(x)))
                            : exp(log_choose(12, x) + x * log(1.0 / 8) + (12 - x) * log(7.0 / 8));
            total += prob[j];
        }
        assert_close(total, 1, 1e-12);
        for (int d = 0; d < DRAWS; d++) {
            value v = call_draw(&k);
            if (i == 2)
                assert_close(v.u.vector->at[0] + v.u.vector->at[1] + v.u.vector->at[2], 12, 0);
            count[(size_t)(i < 2 ? v.u.num : v.u.vector->at[0])]++;
            value_unref(v);
        }
        assert_p_value(chi2_p(count, prob, cases[i].cells, DRAWS), 50 + i);
        call_release(&k);
    }
}

/* ---- gradients: every number of value and arguments; symmetric matrices move both elements */
static size_t slots_of(value *v, double **slots) {
    size_t n = 0;
    if (v->tag == V_NUM) slots[n++] = &v->u.num;
    if (v->tag == V_VECTOR)
        for (; n < v->u.vector->n; n++) slots[n] = &v->u.vector->at[n];
    if (v->tag == V_ARRAY)
        for (; n < v->u.array->n && v->u.array->at[n].tag == V_NUM; n++)
            slots[n] = &v->u.array->at[n].u.num;
    if (v->tag == V_MATRIX)
        for (; n < v->u.matrix->rows * v->u.matrix->cols; n++) slots[n] = &v->u.matrix->at[n];
    return n;
}

/* How a part may be moved: each number alone, a symmetric matrix by pairs, a factor below its
 * diagonal, a simplex with its last share as the other end, or not at all. */
enum how { ALONE, SYMMETRIC, LOWER_PART, SIMPLEX, FIXED };

static void check_part(struct call *k, value at, value *moved, value grad, enum how how) {
    double *x[16], *g[16];
    bool simplex = how == SIMPLEX;
    size_t n = slots_of(moved, x), rows_n = moved->tag == V_MATRIX ? moved->u.matrix->rows : 0;
    if (grad.tag == V_NIL || how == FIXED) return;
    assert_int_equal(slots_of(&grad, g), n);
    for (size_t i = 0; i + simplex < n; i++) {
        if (how == LOWER_PART && i % rows_n < i / rows_n) continue;
        size_t twin = how == SYMMETRIC ? i / rows_n + i % rows_n * rows_n : simplex ? n - 1 : i;
        double h = 1e-5, lp[2], want = *g[i];
        if (simplex)
            want -= *g[twin]; /* along the simplex: one up, the last down */
        else if (twin != i)
            want += *g[twin];
        for (int side = 0; side < 2; side++) {
            double by = side ? h : -h, a = *x[i], b = *x[twin];
            *x[i] += by;
            if (twin != i) *x[twin] += simplex ? -by : by;
            lp[side] = call_lp(k, at);
            *x[i] = a, *x[twin] = b;
        }
        double diff = (lp[1] - lp[0]) / (2 * h);
        if (fabs(diff - want) > 1e-5 * fmax(1, fabs(want)))
            fail_msg("%s, element %zu: gradient %.10g, difference %.10g", k->c.cls->name, i, want,
                     diff);
    }
}

static void gradients_agree_with_differences(void **state) {
    static const struct {
        const char *name, *args, *value;
        enum how value_moves, arg_moves[3];
    } cases[] = {
        {"ordered_logistic", "v[0.3, 1, -2], v[-1, 0.5, 2]", "v[0, 1, 3]", FIXED, {ALONE, ALONE}},
        {"ordered_probit", "v[0.3, 1, -2], v[-1, 0.5, 2]", "v[0, 1, 3]", FIXED, {ALONE, ALONE}},
        {"ordered_probit", "0.3, v[-1, 0.5, 2]", "2", FIXED, {ALONE, ALONE}},
        {"multinomial", "10, v[0.2, 0.7, 0.3]", "v[2, 3, 5]", FIXED, {FIXED, ALONE}},
        {"multivariate_normal", "v[1, 2, -1], " COV, "v[0.3, 2.2, 0]", ALONE, {ALONE, SYMMETRIC}},
        {"multivariate_normal",
         "m[[1, 2, -1], [0, 0, 0.5]], " COV,
         "m[[0.3, 2.2, 0], [1, -1, 2]]",
         ALONE,
         {ALONE, SYMMETRIC}},
        {"multivariate_normal_cholesky",
         "m[[1, 2, -1], [0, 0, 0.5]], " FACTOR,
         "m[[0.3, 2.2, 0], [1, -1, 2]]",
         ALONE,
         {ALONE, LOWER_PART}},
        {"multivariate_normal_precision",
         "m[[1, 2, -1], [0, 0, 0.5]], " COV,
         "m[[0.3, 2.2, 0], [1, -1, 2]]",
         ALONE,
         {ALONE, SYMMETRIC}},
        {"multivariate_student_t",
         "3.5, m[[1, 2, -1], [0, 0, 0.5]], " COV,
         "m[[0.3, 2.2, 0], [1, -1, 2]]",
         ALONE,
         {ALONE, ALONE, SYMMETRIC}},
        {"multivariate_student_t_cholesky",
         "3.5, v[1, 2, -1], " FACTOR,
         "v[0.3, 2.2, 0]",
         ALONE,
         {ALONE, ALONE, LOWER_PART}},
        {"wishart",
         COV ", 5.5",
         "m[[3, 0.4, 0.1], [0.4, 2, 0.6], [0.1, 0.6, 4]]",
         SYMMETRIC,
         {SYMMETRIC}},
        {"inv_wishart",
         COV ", 5.5",
         "m[[3, 0.4, 0.1], [0.4, 2, 0.6], [0.1, 0.6, 4]]",
         SYMMETRIC,
         {SYMMETRIC}},
        {"wishart_cholesky", FACTOR ", 5.5", LOWER, LOWER_PART, {LOWER_PART}},
        {"inv_wishart_cholesky", FACTOR ", 5.5", LOWER, LOWER_PART, {LOWER_PART}},
        {"lkj_corr", "3, 2.5", CORR, FIXED, {FIXED}},
        {"lkj_corr_cholesky", "3, 2.5", CORR_FACTOR, FIXED, {FIXED}},
        {"ordered_draws", "3, normal, 1, 2", "v[-1, 0.5, 2]", ALONE, {FIXED, FIXED}},
        {"ordered_draws", "2, gamma, 2.5, 2", "v[0.5, 2]", ALONE, {FIXED, FIXED}},
        {"dirichlet", "v[0.5, 2, 3.5]", "v[0.1, 0.3, 0.6]", SIMPLEX, {ALONE}},
        {"zero_sum_normal", "3, 2", "v[1, 0.5, -1.5]", SIMPLEX, {FIXED}},
        {"symmetric_dirichlet", "0.7, 4", "v[0.1, 0.2, 0.3, 0.4]", SIMPLEX, {ALONE, FIXED}},
        {"categorical", "v[0.2, 0.3, 0.9]", "1", FIXED, {ALONE}},
        {"categorical", "v[0.2, 0.3, 0.9], [\"a\", \"b\", \"a\"]", "\"a\"", FIXED, {ALONE}},
        {"log_categorical", "v[0.2, -0.3, 0.9], [\"a\", \"b\", \"a\"]", "\"a\"", FIXED, {ALONE}},
        {"exactly", "3, -7", "4", FIXED, {ALONE}},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct call k;
        start(&k, cases[i].name, cases[i].args, 1);
        value v = text_value(cases[i].value), dv = NIL, dargs[CALL_ARGS] = {NIL};
        assert_int_equal(k.c.cls->grad_density(&k.c, v, &dv, dargs), GPM_OK);
        check_part(&k, v, &v, dv, cases[i].value_moves);
        for (size_t j = 0; j < k.c.n; j++) {
            check_part(&k, v, &k.args[j], dargs[j], j < 3 ? cases[i].arg_moves[j] : ALONE);
            value_unref(dargs[j]);
        }
        value_unref(dv);
        value_unref(v);
        call_release(&k);
    }
}

/* ---- choices: enumerated values, their probabilities and the draws agree */
static void choices_agree_with_their_probabilities(void **state) {
    static const struct {
        const char *name, *args;
        size_t n; /* values of positive probability */
    } cases[] = {
        {"categorical", "[1, 3, 0, 2]", 3},
        {"categorical", "v[0.2, 0.3, 0.5], [\"a\", \"b\", \"a\"]", 2},
        {"log_categorical", "[0, -1, 1]", 3},
        {"log_categorical", "[-700, -701, -702], [1, 2, 2]", 2},
        {"uniform_categorical", "[1, 2, 1, 3]", 3},
        {"exactly", "[1, 2]", 1},
        {"permute", "(1, 2, 3, 4)", 24},
        {"permute", "[1, 2, 1]", 3},
        {"permute", "v[3, 1, 2]", 6},
        {"permute", "[]", 1},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct call k;
        value *vals;
        size_t n;
        double count[32] = {0}, prob[32], sum = 0;
        start(&k, cases[i].name, cases[i].args, 400 + i);
        assert_int_equal(k.c.cls->enumerate(&k.c, &vals, &n), GPM_OK);
        assert_int_equal(n, cases[i].n);
        for (size_t j = 0; j < n; j++) sum += prob[j] = exp(call_lp(&k, vals[j]));
        assert_close(sum, 1, 1e-13);
        for (int r = 0; r < DRAWS; r++) {
            value v = call_draw(&k);
            size_t j = 0;
            while (j < n && !value_equal(vals[j], v)) j++;
            assert_true(j < n && vals[j].tag == v.tag);
            count[j]++;
            value_unref(v);
        }
        assert_p_value(chi2_p(count, prob, n, DRAWS), 400 + i);
        values_free(vals, n);
        call_release(&k);
    }
}

static void too_many_permutations_are_not_enumerated(void **state) {
    struct call k;
    value *vals;
    size_t n;
    start(&k, "permute", "[1, 2, 3, 4, 5, 6, 7, 8]", 1);
    assert_int_equal(k.c.cls->enumerate(&k.c, &vals, &n), GPM_E_USER);
    assert_int_equal(k.diags.list.at[0]->code, DIAG_NOT_ENUMERABLE);
    call_release(&k);
}

static void bounds_hold(void **state) {
    static const char *const cases[][2] = {{"multivariate_normal", "[1, 2, -1], " COV},
                                           {"multivariate_normal_cholesky", "[1, 2, -1], " FACTOR},
                                           {"multivariate_student_t", "3, [1, 2, -1], " COV},
                                           {"dirichlet", "[1.5, 2, 3.5]"},
                                           {"symmetric_dirichlet", "1, 4"}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct call k;
        double bound;
        start(&k, cases[i][0], cases[i][1], 1);
        assert_int_equal(k.c.cls->log_bound(&k.c, NIL, 1, &bound), GPM_OK);
        for (int r = 0; r < 1000; r++) {
            value v = call_draw(&k);
            assert_true(call_lp(&k, v) <= bound + 1e-9);
            value_unref(v);
        }
        uint64_t last = 1u << k.c.n;
        assert_int_equal(k.c.cls->log_bound(&k.c, NIL, 1 | last, &bound), GPM_E_NOT_FOUND);
        call_release(&k);
    }
}

static void bad_arguments_are_errors(void **state) {
    static const char *const bad[][3] = {
        {"categorical", "[]", "E0206"},
        {"categorical", "[0, 0]", "E0206"},
        {"categorical", "[1, -1]", "E0206"},
        {"categorical", "[1, 2], [1]", "E0213"},
        {"categorical", "[\"a\"]", "E0205"},
        {"uniform_categorical", "[]", "E0206"},
        {"dirichlet", "[1, 0]", "E0206"},
        {"symmetric_dirichlet", "1, 0", "E0206"},
        {"multivariate_normal", "[0, 0], [[1]]", "E0213"},
        {"multivariate_normal", "[0, 0], [[1, 2], [2, 1]]", "E0206"},
        {"multivariate_normal", "[0, 0], [[1, 2], [0, 1]]", "E0206"},
        {"multivariate_normal", "[0, 0], 3", "E0205"},
        {"wishart", "[[1, 0], [0, 1]], 0.5", "E0206"},
        {"wishart", "[[1, 0]], 3", "E0213"},
        {"inv_wishart", "[[0, 0], [0, 0]], 3", "E0206"},
        {"permute", "5", "E0205"},
        {"multivariate_normal", "3, [[1]]", "E0205"},
        {"multivariate_normal_cholesky", "[0, 0], [[1, 2], [0, 1]]", "E0206"},
        {"multivariate_normal_cholesky", "[0, 0], [[1, 0], [1, 0]]", "E0206"},
        {"multivariate_normal_precision", "[0, 0], [[1, 2], [2, 1]]", "E0206"},
        {"multivariate_student_t", "3, [0, 0], [[1]]", "E0213"},
        {"wishart_cholesky", "[[1, 0], [0, 1]], 0.5", "E0206"},
        {"wishart_cholesky", "[[1, 0]], 3", "E0213"},
        {"lkj_corr", "0, 1", "E0206"},
        {"lkj_corr", "100000, 1", "E0206"},
        {"lkj_corr_cholesky", "3, 0", "E0206"},
        {"flat_unit_vector", "0", "E0206"},
        {"ordered_draws", "3, 4", "E0205"},
    };
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        char *text = call_text(&env, bad[i][0], bad[i][1]);
        if (strncmp(text, "error ", 6) || strncmp(text + 6, bad[i][2], 5))
            fail_msg("%s(%s): %s, expected %s", bad[i][0], bad[i][1], text, bad[i][2]);
        mem_free(text);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(log_densities_agree_with_references),
        cmocka_unit_test(two_dimensional_densities_integrate_to_one),
        cmocka_unit_test(small_wisharts_are_gammas),
        cmocka_unit_test(draws_have_known_projections),
        cmocka_unit_test(categories_are_drawn_by_their_probabilities),
        cmocka_unit_test(gradients_agree_with_differences),
        cmocka_unit_test(choices_agree_with_their_probabilities),
        cmocka_unit_test(too_many_permutations_are_not_enumerated),
        cmocka_unit_test(bounds_hold),
        cmocka_unit_test(bad_arguments_are_errors),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
