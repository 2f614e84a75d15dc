/* SPDX-License-Identifier: Apache-2.0
 *
 * Flats beside the scaffolds they are compiled from, on traces: what compiles, weights and
 * gradients of the same points, what a kept or dropped proposal leaves, the cache.
 */
#include "support/check.h"
#include "support/program.h"

#include "runtime/flat/form.h"
#include "inference/run/move.h"
#include "language/rows/protocol/adjoint.h"
#include <math.h>

static struct trace *trace_of(struct session *s) {
    return s->infer.model->p.at[0];
}

#define GP                                                                                         \
    "assume k = make_se(a, b) + make_noise(0.3); assume (fc, fe) = gpmem(proc(x) { x }, k);"       \
    "observe fe([0, 1, 2.5, 3]) = [0.1, 0.8, 0.3, -0.4];"

/* Blocks of all choices whose structure stays. */
static const char *const smooth[] = {
    "assume a = normal(0, 1); observe normal(a, 1) = 2; observe normal(2 * a, 1) = 1;",
    "assume a = normal(0, 2); assume b = gamma(2, 1); assume d = normal(a + b, b);"
    "observe normal(a * d - b / 3, exp(b)) = 1; observe poisson(b) = 3;",
    "assume f = proc(x) { tag(\"t\", 0, x * x) }; assume a = normal(0, 1); assume b = beta(2, 3);"
    "observe normal(f(a) + f(b), 1) = 0.5; observe flip(b) = true;",
    "assume a = mem(proc(i) { normal(0, i + 1) }); for (i = 0; i < 5; i++) { observe "
    "normal(a(unquote(i)) + a(2), 1) = i };",
    /* on values: arrays, sums, a vector as a choice, an index */
    "assume a = normal(0, 1); assume b = gamma(3, 1); assume v = [a, b, a * b];"
    "observe normal(lookup(v, 2) + sum(v), b) = 1; observe exactly(0, 0 - a * a) = 1;",
    "assume m = multivariate_normal([0, 1], matrix([[2, 0.5], [0.5, 1]])); assume a = normal(0, 1);"
    "observe normal(lookup(m, 0) * a, 1) = 0.4; observe normal(sum(m), 2) = 1;",
    "assume p = dirichlet([2, 3, 4]); observe categorical(p, [0, 1, 2]) = 1;"
    "observe categorical(p, [0, 1, 2]) = 2;",
    "assume a = gamma(2, 1); observe normal(min(a, 2) + max(a, 1) + abs(a) + a ** 2 + sqrt(a) + "
    "log(a) + tanh(a) + add(a, 1, 2, a, a), 1) = 3;",
    /* distributions of numbers on columns, between bounds, and their tails */
    "assume a = normal(0, 1); assume b = gamma(2, 1); assume x = vector(1, 2, 3, 4, 5, 6, 7) / 4;"
    "observe poisson_log(a + x) = vector(1, 3, 2, 4, 5, 7, 6);"
    "observe weibull(b, exp(a)) = vector(1, 3, 2, 4, 5, 7, 6);"
    "observe neg_binomial_2(exp(a + x), b) = vector(1, 0, 2, 4, 0, 7, 6);"
    "observe bernoulli_logit(a * x) = vector(1, 0, 0, 1, 1, 1, 0);"
    "observe ordered_logistic([a, b], [0, 1]) = [0, 2]; observe expon(b * x) = fill(7, 0.3);",
    "assume a = normal(0, 1, lower=-1); assume b = gamma(2, 1, 0.1, 9); assume v = normal([0, 1], "
    "b);"
    "observe normal(a + v, b, lower=0) = [1, 2]; observe poisson(b, lower=1) = [1, 2];"
    "observe exactly(0, log_ccdf([2, 3], gamma, b, 1)) = 1;",
    /* vectors and matrices: columns, folds, products, an index by data */
    "assume a = normal(0, 1); assume b = gamma(2, 1); assume x = vector(1, 2, 3, 4, 5, 6, 7, 8);"
    "observe normal(a + b * x - x / b, b) = vector(1, 3, 2, 4, 5, 7, 6, 8);"
    "observe normal(sum(exp(a * x / 8)) + logsumexp(b - x) + max(a * x), 2) = 1;",
    "assume v = normal(fill(9, 0), 1); assume s = gamma(2, 1); assume k = [0, 3, 3, 8, 1, 1, 7, 2];"
    "assume u = mapv(i -> v[i] * s, k); observe normal(u, s) = [1, 2, 3, 4, 5, 6, 7, 8];"
    "observe normal(v[k[3]] + u[2] * last(v), 1) = 2; observe normal(min(v), 1) = 0;",
    "assume b = normal([0, 1, 2], [1, 2, 1]); assume s = gamma(2, 1);"
    "assume X = matrix([[1, 2, 3], [0, 1, 0.5], [2, 2, 1], [1, 0, 1], [3, 1, 2], [1, 1, 1], [0, 2, "
    "1]]);"
    "observe normal(matrix_times_vector(X, b), s) = [1, 2, 0, 1, 2, 1, 1];"
    "observe normal(vector_dot(b, b) + sum(vector_times_matrix(b, transpose(X))), 3) = 1;"
    "observe normal(sum(row(X, 1) * b) + ravel(matrix([b, 2 * b]))[4], 1) = 1;",
    /* sequences of all kinds, rearranged; recursion of fixed shape */
    "assume a = normal(0, 1); assume b = normal(1, 1); assume l = pair(a, list(b, a * b));"
    "assume m = append([a, 2], rest(l), [first(l)]); observe normal(m[2] + m[4], 1) = 1;"
    "observe normal(sum(reverse(take(3, m))) + sum(drop(1, m)) + size(m) + second(l), 1) = 0;"
    "observe normal(lookup(matrix([[a, 1], [b, 2]]), [1, 0]), 1) = 2;",
    "assume a = gamma(4, 4); assume b = gamma(2, 4); assume h = 0.1;"
    "assume f = proc(z) { [a * z[0] - b * z[0] * z[1], b * z[0] * z[1] - z[1]] };"
    "assume z = mem(proc(t) { if (t == 0) { [a, 1] } else { let p = z(t - 1); let k = f(p);"
    " p + h * f(p + 0.5 * h * k) } }); observe normal(z(9)[0], 1) = 1;"
    "observe normal(log(z(5)[1]), 0.5) = 0.3;",
    "assume p = beta(2, 2); assume m = normal([0, 3], 1); assume y = [0.3, 2, -1, 3, 2.5];"
    "assume d = proc(t) { [-(y[t] - m[0]) ** 2, -(y[t] - m[1]) ** 2] };"
    "assume al = mem(proc(t) { if (t == 0) { d(0) } else { let a = al(t - 1);"
    " vector(logsumexp([a[0] + log(p), a[1] + log(1 - p)]),"
    " logsumexp([a[0] + log(1 - p), a[1] + log(p)])) + d(t) } });"
    "observe exactly(0, logsumexp(al(4))) = 1;",
    /* categories given sequences that stand anywhere, beside rolled columns */
    "assume p = dirichlet([2, 3, 4]); assume a = normal(0, 1); assume b = gamma(2, 1);"
    "for (i = 0; i < 12; i++) { observe categorical(p) = int_mod(i, 3); observe normal(a * i + b, "
    "b) = i };"
    "observe categorical([p[2], 0.5, b, p[0]]) = 2; observe log_categorical([a, 0, a * b]) = 2;"
    "observe log_categorical(log(p)) = 0; observe ordered_logistic(a * b, [-1, b, b + 3]) = 1;"
    "observe ordered_probit(a, [-b, b]) = 0; observe ordered_logistic(a, [b]) = 1;"
    "observe ordered_probit(2 * a, [-1, b]) = 2;",
    /* a part of a matrix */
    "assume a = gamma(2, 1); assume S = to_matrix([a + 2, a, 1, a, 3, 0.5, 1, 0.5, a * a + 2], 3, "
    "3);"
    "assume m = normal(zeros(3), 2); assume p = [0, 2];"
    "observe multivariate_normal(m[p], S[p, p]) = [1, 2]; observe normal(S[p, 1], 1) = [1, 2];"
    "factor(S[[2, 2, 0], [1, 1]][1, 0] + sum(S[1, p]));",
    /* an index that moves picks rows of a matrix and vectors of an array */
    "assume z = uniform_discrete(0, 2); assume a = normal(0, 1); assume m = dirichlet([2, 1, 1]);"
    "assume r = [m, dirichlet([1, 1, 5])]; assume X = matrix([[a, 1], [2, a * a]]);"
    "observe categorical(r[z]) = 2; observe normal(X[z], 1) = [0.5, 2];"
    "observe normal(sum(X[z]) + [a, 3][z], 1) = 1;",
    /* comparisons, and what they pick */
    "assume s = uniform_discrete(0, 12); assume e = gamma(2, 1); assume l = gamma(2, 1);"
    "for (i = 0; i < 12; i++) { observe poisson(biplex(unquote(i) < s, e, l)) = int_mod(i, 3) };"
    "observe normal(biplex(e >= l, e * l, 3) + biplex(e > 2, s, 1), 1) = 2;"
    "observe flip(biplex(s <= 6, 0.2, 0.7)) = true;",
    /* an index that moves with another choice, which is not in the block */
    "assume q = normal(fill(7, 1), 2); assume r = gamma(2, 2); assume w = normalize(exp(q));"
    "observe normal(sum(w * q) + r, 1) = 2; observe categorical(w) = 3;",
    /* what is one operation many times over: observations one by one, groups, a map */
    "assume a = normal(0, 1); assume b = normal(1, 1); assume s = gamma(3, 2);"
    "assume x = [1, 2, 0.5, 3, 4, -1, 2.5, 7, 1, 0, 2, 3];"
    "for (i = 0; i < 12; i++) { observe normal(a + b * x[i] ** 2, s * 2) = i };"
    "for (i = 0; i < 9; i++) { observe poisson(exp(a + b * unquote(i) / 9)) = i };",
    "assume m = normal(0, 1); assume t = gamma(2, 2); assume g = mem(proc(j) { normal(m, t) });"
    "for (i = 0; i < 20; i++) { observe normal(g(unquote(int_mod(i * i, 5))) + t * unquote(i), 1) "
    "= i };"
    "observe normal(g(0), 1) = 2;",
    "assume w = beta(2, 2); assume m = normal([0, 2], 1); assume y = [0, 1, 3, 2, 2, -1, 0, 4, 1];"
    "assume l = mapv(v -> logsumexp([log(w) - (v - m[0]) ** 2, log(1 - w) - (v - m[1]) ** 2]), y);"
    "observe exactly(0, sum(l)) = 1; observe normal(l[3] + l[8], 1) = -2;",
    "assume v = normal(fill(10, 0), 1); assume u = [v[0] * 2, v[1] * 2, v[2] * 2, v[3] * 2, v[4] * "
    "2, v[5] * 2, v[6] * 2, v[7] * 2, v[8] * 2, v[9] * 2]; observe normal(exp(u), 3) = [1, 2, 1, "
    "0, 3, 1, 2, 2, 1, 1];",
    /* densities as numbers */
    "assume m = normal(0, 1); assume s = gamma(2, 1); assume w = beta(2, 2);"
    "assume y = [1, 2, 0, 3, 1, 2, 4, 0.5, -1, 2];"
    "assume l = mapv(v -> logsumexp([log(w) + assess(v, normal, m, s), log(1 - w) + "
    "assess(v, student_t, 3, m, 2)]), y); observe exactly(0, sum(l)) = 1;"
    "observe normal(assess(y, normal, m, s) + assess(2, poisson, s) + assess(s, gamma, 2, 2), 9) = "
    "3;",
    /* gathered, cut, folded and scanned; products and factors of matrices */
    "assume v = normal(fill(8, 0), 1); assume s = gamma(2, 1); assume k = [7, 0, 3, 3, 1, 2];"
    "observe normal(v[k] * s + cumsum(v[1:7]), s) = [1, 2, 3, 4, 5, 6];"
    "factor(softmax(v)[2] + log_softmax(s * v)[1] + mean(diff(v)) * sd(v) + log_sum_exp(v, s)[0]);"
    "factor(log_mix(logistic(s), v[0], log1p_exp(v[1])) + variance(v) + sum(sort(v)[:3]));",
    "assume b = normal([0, 1, 2], 1); assume s = gamma(2, 1);"
    "assume X = matrix([[1, 2, 3], [0, 1, 0.5], [2, 2, 1], [1, 0, 1]]);"
    "observe normal(dot(X, b), s) = [1, 2, 0, 1]; observe normal(dot(b, b) + s, 1) = 2;"
    "observe normal(dot(b, transpose(X)), 1) = [1, 2, 0, 1];"
    "factor(sum(diagonal(dot(crossprod(X), outer(b, b)))) / 100 - X[1, 2] * s);"
    "assume L = cholesky(crossprod(X) + s * id_matrix(3)); assume z = solve_lower(L, b);"
    "factor(-0.5 * dot(z, z) - sum(log(diagonal(L))) + log_det(to_matrix([s, 1, b[0], 3], 2, 2)));",
    /* makers that absorb */
    "assume a = gamma(2, 1); assume b = gamma(3, 1);" GP,
    "assume a = gamma(2, 1); assume b = gamma(3, 1); observe normal(a * b, 1) = 2;" GP,
    "assume a = gamma(2, 1); assume b = gamma(2, 1); assume c = make_beta_bernoulli(a, b);"
    "observe c() = true; observe c() = true; observe c() = false;",
};

static const char *const others[] = {
    "assume k = flip(0.5); assume m = if (k) { normal(0, 1) } else { 2 }; observe normal(m, 1) = "
    "1;",
    "assume c = make_crp(1); assume z = c(); assume y = c(); observe normal(z + y, 1) = 2;",
    "assume a = normal(0, 1); assume t = tag(\"s\", round(a), normal(0, 1)); observe normal(t, 1) "
    "= 1;",
};

static struct flat *flat_of_all(struct trace *t) {
    struct flat *f;
    f = flat_of(t, t->choices.at, t->choices.n);
    return f;
}

/* The values of all choices, each drawn anew from its prior. */
static value *draw_values(struct trace *t, struct flat *f, struct rng *r) {
    size_t n = flat_n_principals(f);
    double w;
    value *vals = NEW_ARRAY(value, n + 1);
    struct rng kept = t->rng;
    t->rng = rng_split(r);
    assert_true(flat_open(t, f, &w));
    assert_true(flat_propose(t, f, NULL, &w, NULL));
    for (size_t i = 0; i < n; i++) vals[i] = value_ref(flat_proposed(f, i));
    flat_drop(t, f);
    t->rng = kept;
    return vals;
}

static void check_gradients(const value *a, const value *b, size_t n) {
    double x[16], y[16];
    for (size_t i = 0; i < n; i++) {
        size_t len = 1;
        if (b[i].tag != V_NUM && b[i].tag != V_NIL) assert_true(seq_length(b[i], &len));
        adj_doubles(a[i], x, len);
        adj_doubles(b[i], y, len);
        for (size_t k = 0; k < len; k++) assert_close(x[k], y[k], 1e-9);
    }
}

/* One point both ways: weight before, weight there, gradient there. */
static void compare_at(struct session *on, struct trace *t, struct flat *f, const value *vals) {
    size_t n = flat_n_principals(f);
    value *g = NEW_ARRAY(value, n), *h = NEW_ARRAY(value, n);
    double before, w, before_general, w_general;
    assert_true(flat_open(t, f, &before));
    assert_true(flat_propose(t, f, vals, &w, g));
    flat_drop(t, f);
    struct scaffold *s;
    s = scaffold_build(t, t->choices.at, t->choices.n);
    assert_int_equal(scaffold_detach(s, SCAFFOLD_FIXED, &before_general), GPM_OK);
    assert_int_equal(scaffold_regen(s, SCAFFOLD_FIXED, vals, &w_general), GPM_OK);
    if (scaffold_gradient(s, h) != GPM_OK) {
        struct buf b = BUF_INIT;
        diags_render(&on->diags, false, &b);
        fail_msg("%s", b.data);
    }
    scaffold_close(s, false);
    assert_close(before, before_general, 1e-9);
    assert_close(w, w_general, 1e-9);
    check_gradients(g, h, n);
    for (size_t i = 0; i < n; i++) value_unref(g[i]), value_unref(h[i]);
    mem_free(g);
    mem_free(h);
}

static void check_trace(struct trace *t) {
    struct buf why = BUF_INIT;
    trace_settle(t);
    if (!trace_check(t, &why)) fail_msg("%s", why.data);
    buf_release(&why);
}

static void points_weigh_the_same(void **state) {
    (void)state;
    struct rng r;
    rng_init(&r, 9, 0, 0);
    for (size_t m = 0; m < COUNT_OF(smooth); m++) {
        struct session *s = session_with(smooth[m], 5);
        struct trace *t = trace_of(s);
        struct flat *f = flat_of_all(t);
        if (!f) fail_msg("not compiled: %s", smooth[m]);
        for (int k = 0; k < 5; k++) {
            value *vals = draw_values(t, f, &r);
            double joint, likelihood, w;
            compare_at(s, t, f, vals);
            check_trace(t);
            /* kept, the whole trace says the same */
            assert_true(flat_open(t, f, &w));
            assert_true(flat_propose(t, f, vals, &w, NULL));
            flat_keep(t, f);
            check_trace(t);
            assert_int_equal(trace_log_joint(t, &joint, &likelihood), GPM_OK);
            assert_close(joint, w, 1e-9);
            for (size_t i = 0; i < flat_n_principals(f); i++)
                assert_true(value_equal(node_value(flat_principal(f, i)), vals[i]));
            values_free(vals, flat_n_principals(f));
        }
        session_done(s);
    }
}

static void structure_that_changes_is_left(void **state) {
    (void)state;
    for (size_t m = 0; m < COUNT_OF(others); m++) {
        struct session *s = session_with(others[m], 5);
        assert_null(flat_of_all(trace_of(s)));
        session_done(s);
    }
}

/* Steps of single choices between steps of all: what one flat owns another one moves. */
static void flats_of_one_and_of_many_agree(void **state) {
    (void)state;
    for (size_t m = 0; m < COUNT_OF(smooth); m++) {
        struct session *s = session_with(smooth[m], 5);
        struct trace *t = trace_of(s);
        for (int k = 0; k < 60; k++) {
            bool done, accepted;
            size_t n = t->choices.n, i = (size_t)k % (n + 1);
            struct node *const *at = i < n ? &t->choices.at[i] : t->choices.at;
            assert_int_equal(flat_mh(t, at, i < n ? 1 : n, &done, &accepted), GPM_OK);
            assert_true(done);
            if (k % 7 == 0) check_trace(t);
        }
        check_trace(t);
        session_done(s);
    }
}

/* A dozen blocks in turn are compiled once each; more than the cache holds still work. */
static void blocks_in_turn_stay_compiled(void **state) {
    (void)state;
    struct session *s =
        session_with("assume a = mem(proc(i) { normal(0, 1) }); for (i = 0; i < 25; "
                     "i++) { observe normal(a(unquote(i)), 1) = i };",
                     5);
    struct trace *t = trace_of(s);
    struct flat *first[12], *f;
    for (int round = 0; round < 3; round++)
        for (size_t i = 0; i < 24; i++) {
            bool done, accepted;
            size_t few = i % 12;
            f = flat_of(t, t->choices.at + few, 2);
            if (!round && i < 12) first[few] = f;
            assert_ptr_equal(f, first[few]);
            assert_int_equal(flat_mh(t, t->choices.at + few, 2, &done, &accepted), GPM_OK);
        }
    for (size_t i = 0; i < 24; i++) {
        bool done, accepted;
        assert_int_equal(flat_mh(t, t->choices.at + i, 2, &done, &accepted), GPM_OK);
        assert_true(done);
    }
    check_trace(t);
    session_done(s);
}

static bool holds(const struct trace *t, const struct flat *f) {
    return inner(t)->flats_structure == t->structure &&
           f->stamp >> EPOCH_BITS == inner(t)->flats->stamp >> EPOCH_BITS;
}

/* An accepted move of k exchanges what the observation reads. The flats that rest on it are
 * compiled again: of b and c, of d, which the same observation reads, and of a pair with d. Those
 * of a and e hold, and so does the flat of both. A directive throws all away. */
static void a_structural_move_elsewhere_throws_no_flat_away(void **state) {
    (void)state;
    enum { A, E, K, B, C, D };
    struct session *s = session_with(
        "assume a = normal(0, 1); assume e = gamma(2, 1); observe normal(a, e) = 1;"
        "assume k = flip(0.5); assume b = normal(0, 1); assume c = normal(0, 1);"
        "assume d = normal(0, 1); observe normal((if (k) { b } else { c }) + d, 3) = 0.5;",
        5);
    struct trace *t = trace_of(s);
    for (int moves = 0; moves < 10;) {
        bool accepted, k_was = node_value(t->choices.at[K]).u.boolean;
        struct node *apart[2] = {t->choices.at[A], t->choices.at[D]}, **at = t->choices.at;
        struct flat *of[6], *both = flat_of(t, at, 2), *mixed = flat_of(t, apart, 2);
        assert_null(flat_of(t, &at[K], 1));
        for (int i = 0; i < 6; i++)
            if (i != K) assert_non_null(of[i] = flat_of(t, &at[i], 1));
        assert_int_equal(trace_mh(t, &at[K], 1, NULL, &accepted), GPM_OK);
        if (!accepted || node_value(at[K]).u.boolean == k_was) continue;
        moves++;
        assert_true(holds(t, of[A]) && holds(t, of[E]) && holds(t, both));
        assert_false(holds(t, of[B]) || holds(t, of[C]) || holds(t, of[D]) || holds(t, mixed));
        check_trace(t);
    }
    struct flat *f = flat_of(t, t->choices.at, 1);
    t->structure++;
    assert_false(holds(t, f));
    session_done(s);
}

/* A point that cannot be judged changes nothing, not even the stream of random numbers. */
static void what_is_left_changes_nothing(void **state) {
    (void)state;
    struct session *s =
        session_with("assume a = normal(0, 1); force a = 1; observe normal(sqrt(a), 1) = 1;", 5);
    struct trace *t = trace_of(s);
    int left = 0;
    for (int k = 0; k < 40; k++) {
        struct rng before = t->rng;
        double at = node_value(t->choices.at[0]).u.num;
        bool done, accepted;
        assert_int_equal(flat_mh(t, t->choices.at, 1, &done, &accepted), GPM_OK);
        if (done) continue;
        left++;
        assert_memory_equal(&before, &t->rng, sizeof before);
        assert_true(node_value(t->choices.at[0]).u.num == at);
        assert_int_equal(s->diags.list.n, 0);
        (void)rng_uniform(&t->rng); /* another draw next time */
    }
    assert_true(left > 5 && left < 35);
    session_done(s);
}

/* A move meets points outside the domain (sd 0), one or several in a row: the others weigh what
 * they would alone, by the flat, and the state that stands is left alone. */
static void a_point_that_is_left_costs_no_others(void **state) {
    (void)state;
    struct session *s = session_with(
        "assume m = normal(0, 1); assume h = normal(m, 2); observe normal(0, exp(h)) = 0.3;", 5);
    struct trace *t = trace_of(s);
    struct step step = {.x = &s->infer, .t = t, .at = t->choices.at, .n = t->choices.n};
    struct move m;
    double joint, likelihood, after;
    assert_int_equal(trace_log_joint(t, &joint, &likelihood), GPM_OK);
    assert_int_equal(move_find(&step, &m), GPM_OK);
    assert_int_equal(move_open(&m), GPM_OK);
    assert_non_null(m.flat);
    for (int k = 0; k < 40; k++) {
        bool outside = k < 20 ? k % 7 == 1 : k < 30;
        double x = 0.1 * k, y = outside ? -800 : 0.3 - 0.05 * k, w;
        double z = 0.3 / exp(y), g_y = -(y - x) / 4 - 1 + z * z;
        value at[] = {value_num(x), value_num(y)}, g[2];
        assert_int_equal(move_build(&m, at, &w, g), GPM_OK);
        if (outside)
            assert_true(w == -INFINITY);
        else {
            assert_close(w,
                         -x * x / 2 - (y - x) * (y - x) / 8 - log(2) - z * z / 2 - y -
                             1.5 * log(2 * acos(-1)),
                         1e-9);
            assert_close(g[0].u.num, -x + (y - x) / 4, 1e-9);
            assert_close(g[1].u.num, g_y, 1e-9);
        }
        if (k < 20 && !outside) assert_non_null(m.flat);
        move_drop(&m);
    }
    assert_non_null(m.flat); /* after nine in a row, too */
    move_close(&m, false);
    check_trace(t);
    assert_int_equal(trace_log_joint(t, &after, &likelihood), GPM_OK);
    assert_close(after, joint, 1e-12);
    session_done(s);
}

/* Densities told apart: they add up to the weight, and the gradients of two sums whose shares add
 * up to 1 to its gradient. */
static void parts_add_up(void **state) {
    (void)state;
    enum { MOST = 64, NUMBERS = 32 };
    struct rng r;
    size_t compared = 0;
    rng_init(&r, 9, 0, 0);
    for (size_t m = 0; m < COUNT_OF(smooth); m++) {
        struct session *s = session_with(smooth[m], 5);
        struct trace *t = trace_of(s);
        struct flat *whole = flat_of_all(t), *f = flat_of_parts(t, t->choices.at, t->choices.n);
        double w, sum = 0, part[MOST], shares[MOST], x[NUMBERS], grad[NUMBERS],
                  halves[NUMBERS] = {0};
        if (f) {
            size_t n = flat_n_parts(f), n_x = flat_n_numbers(f), at = 0;
            value *vals = draw_values(t, whole, &r);
            assert_true(n <= MOST && n_x <= NUMBERS && whole != f);
            for (size_t i = 0; i < flat_n_principals(f); i++) {
                size_t len = vals[i].tag == V_NUM ? 1 : adj_count(vals[i]);
                adj_doubles(vals[i], x + at, len);
                at += len;
            }
            assert_int_equal(at, n_x);
            assert_true(flat_open(t, whole, &w) && flat_propose_numbers(t, whole, x, &w, grad));
            flat_drop(t, whole);
            assert_true(flat_open(t, f, &part[0]) && flat_weigh_parts(t, f, x, part));
            for (size_t i = 0; i < n; i++) {
                sum += part[i];
                shares[i] = i % 3 ? rng_uniform(&r) : (double)(i % 2);
            }
            assert_close(sum, w, 1e-9);
            assert_true(flat_add_gradient(t, f, x, shares, halves));
            for (size_t i = 0; i < n; i++) shares[i] = 1 - shares[i];
            assert_true(flat_add_gradient(t, f, x, shares, halves));
            for (size_t i = 0; i < n_x; i++) assert_close(halves[i], grad[i], 1e-9);
            values_free(vals, flat_n_principals(f));
            check_trace(t);
            compared++;
        }
        session_done(s);
    }
    assert_true(compared > COUNT_OF(smooth) / 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(points_weigh_the_same),
        cmocka_unit_test(structure_that_changes_is_left),
        cmocka_unit_test(a_structural_move_elsewhere_throws_no_flat_away),
        cmocka_unit_test(flats_of_one_and_of_many_agree),
        cmocka_unit_test(blocks_in_turn_stay_compiled),
        cmocka_unit_test(what_is_left_changes_nothing),
        cmocka_unit_test(a_point_that_is_left_costs_no_others),
        cmocka_unit_test(parts_add_up)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
