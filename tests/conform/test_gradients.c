/* SPDX-License-Identifier: Apache-2.0
 *
 * Gradients of every deterministic row that has one, against central differences. Each case gives
 * the arguments as text; all numbers in them are varied. A row with grad_simulate and no case here
 * fails the test.
 */
#include "support/call.h"

#include "language/rows/protocol/adjoint.h"
#include "support/check.h"

static const struct {
    const char *name, *args;
} cases[] = {
    {"add", "1.5, 2.5, -3"},
    {"add", "v[1, 2, 3], 0.5, [4, 5, 6]"},
    {"add", "m[[1, 2], [3, 4]], m[[5, 6], [7, 8]], 2"},
    {"add", "(1, 2), v[3, 4]"},
    {"mul", "1.5, 2.5, -3"},
    {"mul", "0, 2.5, -3"},
    {"mul", "v[1, 2, 3], 0.5, [4, 5, 6]"},
    {"mul", "m[[1, 2], [3, 4]], m[[5, 6], [7, 8]]"},
    {"mul", "2, (1, 2)"},
    {"sub", "1.5, 2.5"},
    {"sub", "v[4, 7], 1"},
    {"sub", "1, [4, 7]"},
    {"div", "1.5, -2.5"},
    {"div", "v[1, 2], 4"},
    {"div", "3, v[1, 2]"},
    {"pow", "1.5, 2.5"},
    {"pow", "v[1, 2], 3"},
    {"pow", "2, v[0, -1.5]"},
    {"min", "3, 4, 5"},
    {"min", "[3, 1, 2]"},
    {"max", "3, 4"},
    {"max", "v[3, 1], v[2, 5]"},
    {"max", "[3, 9, 2]"},
    {"atan2", "1, -2"},
    {"atan2", "-0.5, 0.3"},
    {"hypot", "3, -4"},
    {"floor", "1.3"},
    {"ceil", "1.3"},
    {"round", "1.3"},
    {"signum", "-1.3"},
    {"abs", "-1.3"},
    {"abs", "v[-1, 2]"},
    {"negate", "3"},
    {"sqrt", "2"},
    {"exp", "0.7"},
    {"exp", "m[[1, 0], [-1, 0.5]]"},
    {"expm1", "0.7"},
    {"log", "3"},
    {"log", "[1, 2, 3]"},
    {"log1p", "0.7"},
    {"log10", "3"},
    {"log2", "3"},
    {"sin", "0.7"},
    {"cos", "0.7"},
    {"tan", "0.7"},
    {"asin", "0.3"},
    {"acos", "0.3"},
    {"atan", "0.3"},
    {"sinh", "0.7"},
    {"cosh", "0.7"},
    {"tanh", "0.7"},
    {"logistic", "0.3"},
    {"logistic", "v[-20, 2]"},
    {"log_logistic", "0.3"},
    {"log_logistic", "-30"},
    {"logit", "0.3"},
    {"logit_exp", "-0.3"},
    {"logit_exp", "-3"},
    {"lgamma", "2.7"},
    {"biplex", "true, 1, 2"},
    {"biplex", "false, 1, v[2, 3]"},
    {"real", "1.5"},
    {"probability", "0.4"},
    {"list", "1, 2, 3"},
    {"list", "1, [2, 3]"},
    {"array", "1, 2, 3"},
    {"vector", "1, 2, 3"},
    {"pair", "1, (2, 3)"},
    {"pair", "1, 2"},
    {"first", "[4, 5]"},
    {"first", "(4, 5)"},
    {"first", "(4 . 5)"},
    {"second", "v[4, 5, 6]"},
    {"last", "[4, 5, 6]"},
    {"last", "m[[1, 2], [3, 4], [5, 6]]"},
    {"rest", "(4, 5, 6)"},
    {"rest", "v[4, 5, 6]"},
    {"rest", "(4 . 5)"},
    {"lookup", "[4, 5, 6], 1"},
    {"lookup", "(4, 5, 6), 2"},
    {"lookup", "m[[1, 2], [3, 4]], (1, 0)"},
    {"lookup", "m[[1, 2], [3, 4]], 1"},
    {"lookup", "[4, 5, 6], [2, 0, 2]"},
    {"lookup", "v[4, 5, 6], v[1, 1]"},
    {"lookup", "((4, 1), [5, 3], 6), (1, 0)"},
    {"lookup", "m[[1, 2], [3, 4]], 1, 0"},
    {"lookup", "[[1, 2], (3, 4)], 1, 0"},
    {"subsequence", "[4, 5, 6, 7], 1, 3"},
    {"subsequence", "v[4, 5, 6, 7], 2"},
    {"subsequence", "(4, 5, 6, 7), 0, 1"},
    {"subsequence", "m[[1, 2], [3, 4], [5, 6]], 1, 3"},
    {"to_list", "[1, 2]"},
    {"to_list", "m[[1, 2], [3, 4]]"},
    {"to_array", "(1, 2)"},
    {"to_vector", "(1, 2)"},
    {"take", "2, [4, 5, 6]"},
    {"take", "1, m[[1, 2], [3, 4]]"},
    {"drop", "1, m[[1, 2], [3, 4], [5, 6]]"},
    {"drop", "1, (4, 5, 6)"},
    {"reverse", "[1, 2, 3]"},
    {"append", "[1, 2], (3), v[4, 5]"},
    {"linspace", "0.5, 2, 4"},
    {"linspace", "0.5, 2, 1"},
    {"fill", "3, 7"},
    {"fill", "2, [7, 8]"},
    {"sum", "[1, 2, 3.5]"},
    {"logsumexp", "[0, 1, 2]"},
    {"logsumexp", "v[1000, 1001]"},
    {"normalize", "[1, 3, 2]"},
    {"max_of_array", "[3, 9, 2]"},
    {"min_of_array", "(3, 9, 2)"},
    {"matrix", "[[1, 2], [3, 4]]"},
    {"diag_matrix", "[1, 2]"},
    {"transpose", "m[[1, 2, 3], [4, 5, 6]]"},
    {"row", "m[[1, 2, 3], [4, 5, 6]], 1"},
    {"col", "m[[1, 2, 3], [4, 5, 6]], 2"},
    {"ravel", "m[[1, 2, 3], [4, 5, 6]]"},
    {"matrix_trace", "m[[1, 2], [3, 4]]"},
    {"vector_add", "v[1, 2], [3, 4]"},
    {"matrix_add", "m[[1, 2]], m[[3, 4]]"},
    {"hadamard", "v[1, 2], v[3, 4]"},
    {"scale_vector", "2, v[3, 4]"},
    {"scale_matrix", "2, m[[3, 4]]"},
    {"vector_dot", "v[1, 7], (3, 4)"},
    {"matrix_mul", "m[[1, 2, 3], [4, 5, 6]], m[[1, 2], [0, 1], [2, 2]]"},
    {"matrix_mul", "[[1, 2], [3, 4]], m[[1], [2]]"},
    {"matrix_times_vector", "m[[1, 2, 3], [4, 5, 6]], v[1, 0, 2]"},
    {"vector_times_matrix", "[1, 2], m[[1, 2, 3], [4, 5, 6]]"},
    {"matrix_inverse", "m[[2, 1, 0], [0, 3, 1], [1, 0, 4]]"},
    {"matrix_solve", "m[[2, 1], [0.5, 3]], v[1, -1]"},
    {"matrix_solve", "m[[2, 1], [0.5, 3]], m[[1, 2, 3], [0, 1, 5]]"},
    {"log_sum_exp", "[0, 1, 2]"},
    {"log_sum_exp", "v[1, 2], 1.5"},
    {"log_sum_exp", "0.5, -1, 2, 3, 4"},
    {"prod", "[2, 0, 4]"},
    {"log_diff_exp", "2, 1"},
    {"log_diff_exp", "v[2, 3], 1.5"},
    {"log_mix", "0.3, -1, 2"},
    {"log_mix", "v[0.3, 0.9], v[-1, 0], 2"},
    {"log1m", "0.3"},
    {"log1m_exp", "-0.3"},
    {"log1m_exp", "-3"},
    {"log1p_exp", "v[-2, 3]"},
    {"inv_logit", "0.3"},
    {"log_inv_logit", "-3"},
    {"log1m_inv_logit", "0.3"},
    {"cloglog", "0.3"},
    {"inv_cloglog", "-0.3"},
    {"Phi", "v[-1.2, 0.3]"},
    {"log_Phi", "-8"},
    {"log_Phi", "1"},
    {"inv_Phi", "0.02"},
    {"Phi_approx", "0.7"},
    {"erf", "0.4"},
    {"erfc", "1.4"},
    {"tgamma", "2.7"},
    {"digamma", "0.3"},
    {"digamma", "-1.6"},
    {"lbeta", "2.5, 0.7"},
    {"lbeta", "v[2.5, 30], 12"},
    {"lchoose", "9.5, 3.2"},
    {"choose", "5, 2"},
    {"log_rising_factorial", "2.5, 3.5"},
    {"log_falling_factorial", "7.5, 3.5"},
    {"lmultiply", "2, 3"},
    {"square", "-3"},
    {"cbrt", "2"},
    {"inv", "-3"},
    {"inv_sqrt", "3"},
    {"inv_square", "-1.5"},
    {"exp2", "1.5"},
    {"asinh", "0.7"},
    {"acosh", "1.7"},
    {"atanh", "0.7"},
    {"step", "0.7"},
    {"trunc", "-1.3"},
    {"fdim", "3, 1"},
    {"fmod", "7.5, 2"},
    {"fma", "2, 3, v[4, 5]"},
    {"mean", "[1, 2, 6]"},
    {"variance", "(1, 2, 6, 3)"},
    {"sd", "v[1, 2, 6]"},
    {"cumsum", "[1, 2, 6]"},
    {"diff", "(1, 4, 9, 2)"},
    {"softmax", "[1, 2, 0.5]"},
    {"log_softmax", "v[1, 2, 0.5]"},
    {"sort", "[3, 1, 2]"},
    {"sort", "v[3, 1, 2, 7, -1]"},
    {"to_matrix", "[1, 2, 3, 4, 5, 6], 2, 3"},
    {"diagonal", "m[[1, 2, 3], [4, 5, 6]]"},
    {"diag_pre_multiply", "v[2, 3], m[[1, 2, 3], [4, 5, 6]]"},
    {"diag_post_multiply", "[[1, 2, 3], [4, 5, 6]], (2, 3, 4)"},
    {"crossprod", "m[[1, 2, 3], [4, 5, 6]]"},
    {"tcrossprod", "m[[1, 2, 3], [4, 5, 6]]"},
    {"dot", "v[1, 2], [3, 4]"},
    {"dot", "m[[1, 2, 3], [4, 5, 6]], v[1, 0, 2]"},
    {"dot", "(1, 2), m[[1, 2, 3], [4, 5, 6]]"},
    {"dot", "m[[1, 2], [4, 5]], [[1, 0], [2, 2]]"},
    {"outer", "[1, 2], v[3, 4, 5]"},
    {"matrix_det", "m[[2, 1, 0], [0, 3, 1], [1, 0, 4]]"},
    {"log_det", "m[[2, 1, 0], [0, 3, 1], [1, 0, 4]]"},
    {"log_det", "[[2, 5], [3, 4]]"},
    {"cholesky", "m[[4, 2, 0.5], [2, 5, 1], [0.5, 1, 3]]"},
    {"cholesky", "[[4, 2], [2, 5]]"},
    {"solve_lower", "m[[2, 0, 0], [1, 3, 0], [0.5, -1, 4]], v[1, 2, 3]"},
    {"solve_lower", "m[[2, 9], [1, 3]], m[[1, 2], [3, 4]]"},
    {"solve_upper", "m[[2, 1, 0.5], [0, 3, -1], [0, 0, 4]], [1, 2, 3]"},
    {"solve_upper", "m[[2, 1], [9, 3]], m[[1, 2], [3, 4]]"},
    {"quad_form", "m[[2, 1], [0.5, 3]], v[1, -1]"},
    {"quad_form", "m[[2, 1], [0.5, 3]], m[[1, 2, 3], [0, 1, 5]]"},
    {"eigenvalues_sym", "m[[4, 2, 0.5], [2, 5, 1], [0.5, 1, 3]]"},
    {"eigenvectors_sym", "m[[4, 2, 0.5], [2, 5, 1], [0.5, 1, 3]]"},
    {"interpolate", "[0, 1, 3, 4.5], [5, 6, 2, 3], 2.2"},
    {"interpolate", "[0, 1, 3, 4.5], [5, 6, 2, 3], v[0.3, 1.7, 2.2, 4]"},
    {"interpolate", "[0, 1, 3, 4.5], v[5, 6, 2, 3], 2.2, \"spline\""},
    {"interpolate", "[0, 1, 3, 4.5, 7], [5, 6, 2, 3, 9], [0.3, 1.7, 2.2, 4, 6.9], \"spline\""},
    {"interpolate", "[0, 1], [5, 6], 0.4, \"spline\""},
    {"interpolate", "[0, 1, 4], [5, 6, 8], 0.4, \"spline\""},
    {"convolve", "[1, 2, 3.5], v[4, -1]"},
    {"debug", "\"x\", 3"},
};

/* Rows without a case: simplex checks its sum, which varying one number breaks; ode_solve takes a
 * procedure (stat/run_gradients.py has it). */
static const char *const exempt[] = {"simplex", "ode_solve"};

/* Moves number k of a value by h (counted over the whole value); *k goes down as numbers pass. */
static value nudge(value v, size_t *k, double h) {
    value out;
    switch (v.tag) {
    case V_NUM: return value_num((*k)-- == 0 ? v.u.num + h : v.u.num);
    case V_VECTOR:
        out = value_vector(v.u.vector->at, v.u.vector->n);
        for (size_t i = 0; i < v.u.vector->n; i++)
            if ((*k)-- == 0) out.u.vector->at[i] += h;
        return out;
    case V_MATRIX:
        out = value_matrix_new(v.u.matrix->rows, v.u.matrix->cols);
        for (size_t i = 0; i < v.u.matrix->rows * v.u.matrix->cols; i++)
            out.u.matrix->at[i] = v.u.matrix->at[i] + ((*k)-- == 0 ? h : 0);
        return out;
    case V_ARRAY:
        out = value_array_new(v.u.array->n);
        for (size_t i = 0; i < v.u.array->n; i++)
            out.u.array->at[i] = nudge(v.u.array->at[i], k, h);
        return out;
    case V_PAIR: {
        value first = nudge(v.u.pair->first, k, h);
        return value_pair_take(first, nudge(v.u.pair->rest, k, h));
    }
    default: return value_ref(v);
    }
}

static size_t count_numbers(value v) {
    size_t n = 0;
    switch (v.tag) {
    case V_NUM: return 1;
    case V_VECTOR: return v.u.vector->n;
    case V_MATRIX: return v.u.matrix->rows * v.u.matrix->cols;
    case V_ARRAY:
        for (size_t i = 0; i < v.u.array->n; i++) n += count_numbers(v.u.array->at[i]);
        return n;
    case V_PAIR: return count_numbers(v.u.pair->first) + count_numbers(v.u.pair->rest);
    default: return 0;
    }
}

/* A made-up adjoint of the shape of a result: weight 1 + 0.37 k for number k of it. */
static value weights_like(value v, size_t *k) {
    value out, *items;
    size_t n;
    switch (v.tag) {
    case V_NUM: return value_num(1 + 0.37 * (double)(*k)++);
    case V_VECTOR:
        out = value_vector_new(v.u.vector->n);
        for (size_t i = 0; i < v.u.vector->n; i++) out.u.vector->at[i] = 1 + 0.37 * (double)(*k)++;
        return out;
    case V_MATRIX:
        out = value_matrix_new(v.u.matrix->rows, v.u.matrix->cols);
        for (size_t i = 0; i < v.u.matrix->rows * v.u.matrix->cols; i++)
            out.u.matrix->at[i] = 1 + 0.37 * (double)(*k)++;
        return out;
    default: break;
    }
    if (v.tag == V_PAIR && !seq_is(v)) { /* (a . b) */
        out = value_array_new(2);
        out.u.array->at[0] = weights_like(v.u.pair->first, k);
        out.u.array->at[1] = weights_like(v.u.pair->rest, k);
        return out;
    }
    assert_true(seq_items(v, &items, &n));
    out = value_array_new(n);
    for (size_t i = 0; i < n; i++) out.u.array->at[i] = weights_like(items[i], k);
    values_free(items, n);
    return out;
}

/* The number that the made-up adjoint is the derivative of: sum of weight times number. */
static double weighted(value v, size_t *k) {
    double s = 0;
    switch (v.tag) {
    case V_NUM: return (1 + 0.37 * (double)(*k)++) * v.u.num;
    case V_VECTOR:
        for (size_t i = 0; i < v.u.vector->n; i++)
            s += (1 + 0.37 * (double)(*k)++) * v.u.vector->at[i];
        return s;
    case V_MATRIX:
        for (size_t i = 0; i < v.u.matrix->rows * v.u.matrix->cols; i++)
            s += (1 + 0.37 * (double)(*k)++) * v.u.matrix->at[i];
        return s;
    case V_ARRAY:
        for (size_t i = 0; i < v.u.array->n; i++) s += weighted(v.u.array->at[i], k);
        return s;
    case V_PAIR: s = weighted(v.u.pair->first, k); return s + weighted(v.u.pair->rest, k);
    default: return 0;
    }
}

/* The numbers of an adjoint of `v`, in the order nudge counts them. */
static void adjoint_numbers(value v, value d, double **out) {
    value part;
    switch (v.tag) {
    case V_NUM: *(*out)++ = adj_num(d); return;
    case V_VECTOR:
        adj_doubles(d, *out, v.u.vector->n);
        *out += v.u.vector->n;
        return;
    case V_MATRIX:
        adj_doubles(d, *out, v.u.matrix->rows * v.u.matrix->cols);
        *out += v.u.matrix->rows * v.u.matrix->cols;
        return;
    case V_ARRAY:
        for (size_t i = 0; i < v.u.array->n; i++) {
            part = adj_item(d, i);
            adjoint_numbers(v.u.array->at[i], part, out);
            value_unref(part);
        }
        return;
    case V_PAIR:
        for (size_t i = 0; v.tag == V_PAIR || v.tag == V_NUM; i++) {
            part = adj_item(d, i);
            adjoint_numbers(v.tag == V_PAIR ? v.u.pair->first : v, part, out);
            value_unref(part);
            if (v.tag == V_NUM) return;
            v = v.u.pair->rest;
        }
        return;
    default: return;
    }
}

static double value_at(struct call_env *e, const struct sp_class *cls, const value *args,
                       size_t n) {
    value out;
    size_t k = 0;
    assert_int_equal(call_row(e, cls, args, n, &out), GPM_OK);
    double s = weighted(out, &k);
    value_unref(out);
    return s;
}

/* Central difference in number k of argument j, or NaN where the call refuses the moved number (an
 * index, a count): such arguments have no derivative. */
static double difference(struct call_env *e, const struct sp_class *cls, value *args, size_t n,
                         size_t j, size_t k) {
    double h = 1e-5, f[2];
    value old = args[j];
    for (int side = 0; side < 2; side++) {
        size_t at = k;
        args[j] = nudge(old, &at, side ? h : -h);
        f[side] = value_at(e, cls, args, n);
        value_unref(args[j]);
    }
    args[j] = old;
    return (f[1] - f[0]) / (2 * h);
}

/* Parameters that are places and sizes, not quantities. */
static bool is_discrete(const struct sp_class *cls, size_t j) {
    static const struct {
        const char *name;
        size_t j;
    } places[] = {{"lookup", 1}, {"lookup", 2}, {"subsequence", 1}, {"subsequence", 2},
                  {"take", 0},   {"drop", 0},   {"linspace", 2},    {"fill", 0},
                  {"row", 1},    {"col", 1},    {"to_matrix", 1},   {"to_matrix", 2}};
    for (size_t i = 0; i < COUNT_OF(places); i++)
        if (strcmp(places[i].name, cls->name) == 0 && places[i].j == j) return true;
    return false;
}

static void check_case(struct call_env *e, const char *name, const char *text) {
    const struct sp_class *cls = sp_index_find(name);
    value args[16], dargs[16], out;
    size_t n = read_values(e, text, args, COUNT_OF(args)), k = 0;
    assert_non_null(cls);
    assert_int_equal(call_row(e, cls, args, n, &out), GPM_OK);
    value dr = weights_like(out, &k);
    for (size_t j = 0; j < n; j++) dargs[j] = NIL;
    struct sp_call c = {.cls = cls, .args = args, .n = n, .diags = &e->diags, .host = &e->host};
    assert_int_equal(cls->grad_simulate(&c, out, dr, dargs), GPM_OK);
    for (size_t j = 0; j < n; j++) {
        size_t m = count_numbers(args[j]);
        double got[64], *to = got;
        assert_true(m <= COUNT_OF(got));
        adjoint_numbers(args[j], dargs[j], &to);
        for (size_t i = 0; i < m && !is_discrete(cls, j); i++) {
            double want = difference(e, cls, args, n, j, i);
            if (!(fabs(got[i] - want) <= 1e-6 * fmax(1, fabs(want))))
                fail_msg("%s(%s): argument %zu, number %zu: gradient %.12g, difference %.12g", name,
                         text, j, i, got[i], want);
        }
        value_unref(dargs[j]);
    }
    /* a zero adjoint gives zero adjoints, and no error */
    for (size_t j = 0; j < n; j++) dargs[j] = NIL;
    assert_int_equal(cls->grad_simulate(&c, out, NIL, dargs), GPM_OK);
    for (size_t j = 0; j < n; j++) {
        double got[64], *to = got;
        adjoint_numbers(args[j], dargs[j], &to);
        for (double *x = got; x < to; x++) assert_true(*x == 0);
        value_unref(dargs[j]);
        value_unref(args[j]);
    }
    value_unref(dr);
    value_unref(out);
}

static void gradients_equal_differences(void **state) {
    struct call_env e;
    call_env_init(&e);
    for (size_t i = 0; i < COUNT_OF(cases); i++) check_case(&e, cases[i].name, cases[i].args);
    call_env_release(&e);
    assert_int_equal(value_live_count(), 0);
}

static bool is_tested(const char *name) {
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        if (strcmp(cases[i].name, name) == 0) return true;
    for (size_t i = 0; i < COUNT_OF(exempt); i++)
        if (strcmp(exempt[i], name) == 0) return true;
    return false;
}

extern const struct sp_class sp_arith_rows[], sp_compare_rows[], sp_types_rows[], sp_list_rows[],
    sp_seq_rows[], sp_matrix_rows[], sp_misc_rows[], sp_functions_rows[], sp_vectors_rows[],
    sp_solve_rows[];
extern const size_t sp_arith_count, sp_compare_count, sp_types_count, sp_list_count, sp_seq_count,
    sp_matrix_count, sp_misc_count, sp_functions_count, sp_vectors_count, sp_solve_count;

/* Of the families of this test; others bring their own. */
static bool is_ours(const struct sp_class *row) {
    const struct {
        const struct sp_class *rows;
        size_t n;
    } ours[] = {{sp_arith_rows, sp_arith_count},     {sp_compare_rows, sp_compare_count},
                {sp_types_rows, sp_types_count},     {sp_list_rows, sp_list_count},
                {sp_seq_rows, sp_seq_count},         {sp_matrix_rows, sp_matrix_count},
                {sp_misc_rows, sp_misc_count},       {sp_functions_rows, sp_functions_count},
                {sp_vectors_rows, sp_vectors_count}, {sp_solve_rows, sp_solve_count}};
    for (size_t i = 0; i < COUNT_OF(ours); i++)
        if (row >= ours[i].rows && row < ours[i].rows + ours[i].n) return true;
    return false;
}

static void every_gradient_is_tested(void **state) {
    for (size_t i = 0; i < sp_index_count(); i++) {
        const struct sp_class *c = sp_index_at(i);
        if (c->grad_simulate && is_ours(c) && !is_tested(c->name))
            fail_msg("%s has a gradient that no case checks", c->name);
    }
}

/* The fast scalar function of a row is the row. */
static void num_agrees_with_simulate(void **state) {
    struct call_env e;
    call_env_init(&e);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const struct sp_class *cls = sp_index_find(cases[i].name);
        value args[16], out;
        double x[16];
        size_t n = read_values(&e, cases[i].args, args, COUNT_OF(args));
        bool scalars = cls->num != NULL;
        for (size_t j = 0; j < n && scalars; j++) {
            scalars = args[j].tag == V_NUM;
            x[j] = args[j].u.num;
        }
        if (scalars) {
            assert_int_equal(call_row(&e, cls, args, n, &out), GPM_OK);
            assert_true(out.tag == V_NUM && out.u.num == cls->num(x, n));
        }
        for (size_t j = 0; j < n; j++) value_unref(args[j]);
    }
    call_env_release(&e);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_equal_differences),
        cmocka_unit_test(every_gradient_is_tested),
        cmocka_unit_test(num_agrees_with_simulate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
